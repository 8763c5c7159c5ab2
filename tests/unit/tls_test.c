/* TLS, on a server of the test's own: which servers a client trusts, and the files that it reads.
 * With a libzookeeper that has TLS only. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/x509.h>

#include "connection/addresses.h"
#include "connection/tls.h"
#include "support/tls_front.h"
#include "support/unit.h"
#include "zklock/zklock.h"

enum { ENOUGH_MS = TLS_ENOUGH_MS, REFUSED_MS = 400 };

/* ---- Names ----------------------------------------------------------------------------------- */

/* names: in the options; the others as tls_front_begin has them. "": it is trusted. */
static void expect_refused(const char *common_name, const char *alternative_names,
                           const char *names, const char *says) {
    tls_front front;
    tls_front_begin(&front, common_name, alternative_names);
    zkl_client_options options = tls_options();
    tls_security.tls_server_names = names;
    bool is_trusted = says[0] == '\0';
    bool is_said = false; /* once a handshake has failed */
    for (int ms = is_trusted ? ENOUGH_MS : REFUSED_MS; ms <= ENOUGH_MS && !is_said; ms *= 2) {
        options.connect_timeout_ms = ms;
        EXPECT_INT(tls_open(&front, &options), is_trusted ? ZKL_OK : ZKL_DISCONNECTED);
        is_said = strstr(zkl_error_message(), says) != NULL;
    }
    EXPECT(is_said);
    tls_front_end(&front);
}

#define NO_NAME "its certificate is for none of tls_server_names"

TEST(address_is_looked_for_among_addresses_alone) {
    (void)tls_keys_begin();
    expect_refused("server", "IP:127.0.0.1", NULL, "");
    expect_refused("server", "DNS:127.0.0.1", NULL, NO_NAME);
    expect_refused("127.0.0.1", NULL, NULL, NO_NAME);
    expect_refused("server", "IP:127.0.0.2,DNS:localhost", "127.0.0.1,[::1]:2281", NO_NAME);
    tls_keys_end();
}

TEST(name_is_looked_for_among_alternative_names_alone) {
    (void)tls_keys_begin();
    expect_refused("server", "DNS:zk1.example.com", "zk2.example.com,zk1.example.com", "");
    expect_refused("server", "DNS:*.example.com", "zk1.example.com", "");
    expect_refused("zk1.example.com", NULL, "zk1.example.com", NO_NAME);
    expect_refused("zk1.example.com", "DNS:zk2.example.com", "zk1.example.com", NO_NAME);
    tls_keys_end();
}

TEST(only_a_star_alone_stands_for_all_names) {
    (void)tls_keys_begin();
    expect_refused("server", "DNS:elsewhere", "*", "");
    expect_refused("server", "DNS:elsewhere", "*.example.com", NO_NAME);
    expect_refused("server", "DNS:elsewhere", "zk1.example.com,*", NO_NAME);
    tls_keys_end();
}

/* ---- Authorities ------------------------------------------------------------------------------
 */

static void expect_of_another_authority(const tls_front *front) {
    zkl_client_options options = tls_options();
    tls_security.tls_ca_file = tls_file("client.pem");
    bool is_said = false;
    for (int ms = REFUSED_MS; ms <= ENOUGH_MS && !is_said; ms *= 2) {
        options.connect_timeout_ms = ms;
        EXPECT_INT(tls_open(front, &options), ZKL_DISCONNECTED);
        is_said = strstr(zkl_error_message(), "its certificate is not of tls_ca_file") != NULL;
    }
    EXPECT(is_said);
}

TEST(server_of_another_authority_is_refused_even_if_the_system_trusts_that) {
    (void)tls_keys_begin();
    tls_front front;
    tls_front_begin(&front, "server", "IP:127.0.0.1");
    expect_of_another_authority(&front);
    setenv("SSL_CERT_FILE", tls_file("ca.pem"), 1);
    expect_of_another_authority(&front);
    unsetenv("SSL_CERT_FILE");
    EXPECT_INT(front.connections, 0);
    tls_front_end(&front);
    tls_keys_end();
}

/* ---- Connections that follow ----------------------------------------------------------------- */

static bool has(const atomic_int *number, int wanted) {
    for (int i = 0; i < ENOUGH_MS && *number != wanted; i++) {
        (void)usleep(1000);
    }
    return *number == wanted;
}

/* Another machine has taken its place, and then it is back. */
TEST(server_is_checked_at_each_connection_of_a_session) {
    (void)tls_keys_begin();
    tls_front front;
    zkl_client *client = NULL;
    tls_front_begin(&front, "server", "IP:127.0.0.1");
    zkl_client_options options = tls_options();
    EXPECT_INT(zkl_client_open(front.hosts, &options, &client), ZKL_OK);
    tls_front_change(&front, "server", "DNS:elsewhere");
    tls_front_hang_up(&front);
    EXPECT(has(&front.refusals, 2));
    EXPECT_INT(front.connections, 1);
    tls_front_change(&front, "server", "IP:127.0.0.1");
    EXPECT(has(&front.connections, 2));
    EXPECT_INT(zkl_client_close(client, 0), ZKL_OK);
    tls_front_end(&front);
    tls_keys_end();
}

TEST(other_servers_are_connected_to_while_the_first_one_answers) {
    (void)tls_keys_begin();
    tls_front fronts[2];
    zkl_client *client = NULL;
    tls_front_begin(&fronts[0], "server", "IP:127.0.0.1");
    tls_front_begin(&fronts[1], "server", "IP:127.0.0.1");
    zkl_client_options options = tls_options();
    EXPECT_INT(zkl_client_open(fronts[0].hosts, &options, &client), ZKL_OK);
    EXPECT_INT(zkl_client_set_hosts(client, fronts[1].hosts), ZKL_OK);
    EXPECT(has(&fronts[1].connections, 1));
    EXPECT(has(&fronts[0].client, -1));
    EXPECT_INT(zkl_client_close(client, 0), ZKL_OK);
    tls_front_end(&fronts[1]);
    tls_front_end(&fronts[0]);
    tls_keys_end();
}

static void ignore_event(zhandle_t *handle, int type, int state, const char *path, void *context) {
    (void)handle;
    (void)type;
    (void)state;
    (void)path;
    (void)context;
}

static void ignore_line(const char *line) {
    (void)line;
}

/* The second one fails once, and is then given what waits for it. */
TEST(servers_that_wait_for_a_handle_are_not_given_to_the_next_one) {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    zkl_tls *tls = NULL;
    tls_front front;
    (void)tls_keys_begin();
    tls_front_begin(&front, "server", "DNS:elsewhere");
    (void)tls_options();
    tls_security.tls_server_names = "127.0.0.1";
    zkl_transport_call call = { .addresses = "127.0.0.1:1",
                                .watcher = ignore_event,
                                .timeout_ms = SCRIPTED_SESSION_MS,
                                .log = ignore_line };
    EXPECT_INT(zkl_tls_make(&tls_security, &mutex, &tls), ZKL_OK);
    EXPECT(zkl_tls_open(tls, &call) != NULL);
    EXPECT(!zkl_tls_set_servers(tls, ZKL_ADDRESS_OF_NOBODY)); /* it has just begun */
    zkl_tls_close(tls);
    call.addresses = front.hosts;
    EXPECT(zkl_tls_open(tls, &call) != NULL);
    EXPECT(has(&front.refusals, 1));
    tls_front_change(&front, "server", "IP:127.0.0.1");
    EXPECT(has(&front.connections, 1));
    zkl_tls_close(tls);
    zkl_tls_free(tls);
    tls_front_end(&front);
    tls_keys_end();
}

/* In place of OpenSSL's. Without its mark no connection is recognised as ours, as where
 * libzookeeper has an OpenSSL of its own. */
static bool marks_are_lost;

int X509_alias_set1(X509 *x, const unsigned char *name, int len) {
    int (*set)(X509 *, const unsigned char *, int) = NULL;
    *(void **)&set = dlsym(RTLD_NEXT, "X509_alias_set1");
    return marks_are_lost ? 1 : set(x, name, len);
}

TEST(connection_that_nobody_checks_is_not_used) {
    (void)tls_keys_begin();
    tls_front front;
    tls_front_begin(&front, "server", "IP:127.0.0.1");
    zkl_client_options options = tls_options();
    setenv("SSL_CERT_FILE", tls_file("ca.pem"), 1); /* libzookeeper by itself accepts it */
    marks_are_lost = true;
    EXPECT_INT(tls_open(&front, &options), ZKL_AUTH_FAILED);
    EXPECT(strstr(zkl_error_message(), "the server's certificate could not be checked") != NULL);
    EXPECT_INT(front.connections, 1);
    marks_are_lost = false;
    unsetenv("SSL_CERT_FILE");
    EXPECT_INT(tls_open(&front, &options), ZKL_OK);
    tls_front_end(&front);
    tls_keys_end();
}

/* ---- Files ----------------------------------------------------------------------------------- */

static bool waits_for(const atomic_long *number, long wanted) {
    for (int i = 0; i < ENOUGH_MS && *number != wanted; i++) {
        (void)usleep(1000);
    }
    return *number == wanted;
}

/* libzookeeper reads them at each connection, and has a copy of ours. */
TEST(files_that_are_renewed_are_shown_at_the_next_connection_of_the_session) {
    (void)tls_keys_begin();
    tls_front front;
    zkl_client *client = NULL;
    tls_front_begin(&front, "server", "IP:127.0.0.1");
    zkl_client_options options = tls_options();
    EXPECT_INT(zkl_client_open(front.hosts, &options, &client), ZKL_OK);
    EXPECT_INT(front.serial_of_client, 2);
    tls_keys_renew(3);
    tls_front_hang_up(&front);
    EXPECT(waits_for(&front.serial_of_client, 3));
    EXPECT_INT(zkl_client_close(client, 0), ZKL_OK);
    tls_front_end(&front);
    tls_keys_end();
}

TEST(key_that_others_may_read_is_refused) {
    (void)tls_keys_begin();
    tls_front front;
    tls_front_begin(&front, "server", "IP:127.0.0.1");
    zkl_client_options options = tls_options();
    EXPECT_INT(chmod(tls_file("client.key"), 0640), 0);
    EXPECT_INT(tls_open(&front, &options), ZKL_OK);
    EXPECT_INT(chmod(tls_file("client.key"), 0604), 0);
    EXPECT_REFUSED(tls_open(&front, &options), "may be read by everybody");
    EXPECT_INT(chmod(tls_file("client.key"), 0600), 0);
    tls_front_end(&front);
    tls_keys_end();
}

/* ---- Reasons --------------------------------------------------------------------------------- */

/* libzookeeper knows of a handshake only that it failed. */
TEST(reason_of_a_refusal_is_there_as_soon_as_it_has_failed) {
    (void)tls_keys_begin();
    tls_front front;
    tls_front_begin(&front, "server", "DNS:elsewhere");
    zkl_client_options options = tls_options();
    for (int ms = 60; ms <= 400; ms += 20) {
        options.connect_timeout_ms = ms;
        EXPECT_INT(tls_open(&front, &options), ZKL_DISCONNECTED);
        EXPECT(strstr(zkl_error_message(), "Success") == NULL);
    }
    tls_front_end(&front);
    tls_keys_end();
}
