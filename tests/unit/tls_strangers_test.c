/* What zklock's TLS leaves alone: the application's own use of OpenSSL, on all of its threads, and
 * in its forks. With a libzookeeper that has TLS only. */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "support/tls_front.h"
#include "support/unit.h"
#include "zklock/zklock.h"

enum { TRIES_MS = 1500, SHORT_MS = 300, FORK_S = 4, REASON = 77 };

/* ---- Connections of the application ---------------------------------------------------------- */

static atomic_bool ours_connects;
static int status_of_ours;
static atomic_int progress;

static void note_progress(const SSL *ssl, int where, int value) {
    (void)ssl;
    (void)where;
    (void)value;
    progress++;
}

/* For as long as it lasts libzookeeper may be making a context. */
static void *connect_to_nobody(void *arg) {
    zkl_client_options options = tls_options();
    zkl_client *client = NULL;
    (void)arg;
    options.connect_timeout_ms = TRIES_MS;
    status_of_ours = zkl_client_open("127.0.0.1:1", &options, &client);
    ours_connects = false;
    return NULL;
}

/* With the very files of ours. */
static SSL_CTX *make_context(void) {
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    EXPECT_INT(SSL_CTX_use_certificate_chain_file(context, tls_file("client.pem")), 1);
    EXPECT_INT(SSL_CTX_use_PrivateKey_file(context, tls_file("client.key"), SSL_FILETYPE_PEM), 1);
    SSL_CTX_set_info_callback(context, note_progress);
    return context;
}

static int connect_to(const char *hosts) {
    struct sockaddr_in address = { .sin_family = AF_INET };
    int connected = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    address.sin_port = htons((uint16_t)strtoul(strchr(hosts, ':') + 1, NULL, 10));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_INT(connect(connected, (struct sockaddr *)&address, sizeof(address)), 0);
    return connected;
}

/* The server's certificate is for nobody that a client of ours would accept; this one asks not. */
static void expect_left_alone(const tls_front *front) {
    SSL_CTX *context = make_context();
    SSL *ssl = SSL_new(context);
    int server = connect_to(front->hosts);
    EXPECT(SSL_CTX_get_info_callback(context) == note_progress);
    EXPECT_INT(SSL_set_fd(ssl, server), 1);
    progress = 0;
    EXPECT_INT(SSL_connect(ssl), 1);
    EXPECT(progress > 0);
    SSL_free(ssl);
    (void)close(server);
    SSL_CTX_free(context);
}

static void *free_context(void *context) {
    SSL_CTX_free(context);
    return NULL;
}

/* One that was made here, and is freed elsewhere, before this thread makes an SSL of another. */
static void free_on_another_thread(void) {
    pthread_t thread;
    SSL_CTX *kept = make_context();
    SSL_CTX *context = make_context();
    EXPECT_INT(pthread_create(&thread, NULL, free_context, context), 0);
    EXPECT_INT(pthread_join(thread, NULL), 0);
    SSL_free(SSL_new(kept));
    SSL_CTX_free(kept);
}

TEST(connections_of_the_application_are_left_alone_while_ours_connects) {
    pthread_t thread;
    tls_front front;
    int turns = 0;
    (void)tls_keys_begin();
    tls_front_begin(&front, "elsewhere", "DNS:elsewhere");
    ours_connects = true;
    EXPECT_INT(pthread_create(&thread, NULL, connect_to_nobody, NULL), 0);
    for (; ours_connects; turns++) {
        expect_left_alone(&front);
        free_on_another_thread();
    }
    EXPECT(turns > 2);
    EXPECT_INT(pthread_join(thread, NULL), 0);
    EXPECT_INT(status_of_ours, ZKL_DISCONNECTED);
    tls_front_end(&front);
    tls_keys_end();
}

/* ---- Threads of the application -------------------------------------------------------------- */

TEST(errors_that_openssl_keeps_for_a_thread_are_still_there_after_our_calls) {
    tls_front front;
    (void)tls_keys_begin();
    tls_front_begin(&front, "server", "IP:127.0.0.1");
    zkl_client_options options = tls_options();
    zkl_security bad_security = tls_security;
    zkl_client_options bad = options;
    bad.security = &bad_security;
    bad_security.tls_ca_file = "/nowhere/ca.pem";
    ERR_raise(ERR_LIB_USER, REASON);
    EXPECT_REFUSED(tls_open(&front, &bad), "cannot be read: No such file");
    EXPECT_INT(tls_open(&front, &options), ZKL_OK);
    EXPECT_INT(ERR_GET_REASON(ERR_peek_error()), REASON);
    EXPECT_INT(ERR_GET_REASON(ERR_peek_last_error()), REASON);
    ERR_clear_error();
    tls_front_end(&front);
    tls_keys_end();
}

/* ---- Forks ----------------------------------------------------------------------------------- */

/* It ends as any program does. */
static void be_a_fork(const char *hosts) {
    zkl_client_options options = tls_options();
    zkl_client *client = NULL;
    alarm(FORK_S);
    exit(zkl_client_open(hosts, &options, &client) == ZKL_OK &&
                 zkl_client_close(client, 0) == ZKL_OK
             ? EXIT_SUCCESS
             : EXIT_FAILURE);
}

TEST(fork_uses_tls_and_exits_while_its_parent_stays_connected) {
    tls_front fronts[2];
    zkl_client *client = NULL;
    int status = -1;
    (void)tls_keys_begin();
    tls_front_begin(&fronts[0], "server", "IP:127.0.0.1");
    tls_front_begin(&fronts[1], "server", "IP:127.0.0.1");
    zkl_client_options options = tls_options();
    EXPECT_INT(zkl_client_open(fronts[0].hosts, &options, &client), ZKL_OK);
    pid_t process = fork();
    if (process == 0) {
        be_a_fork(fronts[1].hosts);
    }
    EXPECT_INT(waitpid(process, &status, 0), process);
    EXPECT_INT(status, 0); /* 14: it has waited for threads that it does not have */
    EXPECT_INT(fronts[1].connections, 1);
    (void)usleep(SHORT_MS * 1000);
    EXPECT(fronts[0].client >= 0);
    EXPECT_INT(fronts[0].connections, 1);
    EXPECT_INT(zkl_client_close(client, 0), ZKL_OK);
    tls_front_end(&fronts[1]);
    tls_front_end(&fronts[0]);
    tls_keys_end();
}
