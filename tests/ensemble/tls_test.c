/*
 * TLS, on servers that ask for the client's certificate, and on servers that pretend to be some:
 * ensemble/ensemble --local --tls --require certificate run (tests/run secure).
 */
#include "support/basics.h"
#include "support/servers.h"
#include "support/test.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/x509.h>

enum {
    TURNS = 4,
    SESSION_MS = 6000,
    CONNECT_MS = 3000,
    PATH_SIZE = 256,
    HOSTS_SIZE = 512,
    COMMAND_SIZE = 2048
};

/* ---- Clients -------------------------------------------------------------- */

static char directory[] = "/tmp/zklock-tls-XXXXXX";

static const char *secure_hosts(void) {
    return getenv("ZKLOCK_SECURE_HOSTS");
}

/* Of a server, as server_host is in clear. */
static void secure_host(int server, char host[PATH_SIZE]) {
    const char *all = secure_hosts();
    for (int i = 1; i < server; i++) {
        all = strchr(all, ',') + 1;
    }
    snprintf(host, PATH_SIZE, "%.*s", (int)strcspn(all, ","), all);
}

/* Static, eight at a time. */
static const char *key_file(const char *name) {
    static char names[8][PATH_SIZE];
    static int next;
    char *made = names[next++ % 8];
    snprintf(made, PATH_SIZE, "%s/%s", getenv("ZKLOCK_KEYS"), name);
    return made;
}

static zkl_security security; /* of the options that were made last */

static zkl_client_options good_options(void) {
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    security = (zkl_security)ZKL_SECURITY_INIT;
    options.security = &security;
    options.session_timeout_ms = SESSION_MS;
    options.connect_timeout_ms = PATIENCE_MS;
    security.tls_ca_file = key_file("ca.pem");
    security.tls_certificate_file = key_file("client.pem");
    security.tls_key_file = key_file("client.key");
    return options;
}

/* And closes it again. The thread that it is called on neither hangs nor waits longer. */
static void expect_open(const char *hosts, const zkl_client_options *given, int status,
                        const char *says) {
    zkl_client_options copy = *given;
    zkl_client *client = NULL;
    int64_t began_ms = now_ms();
    copy.connect_timeout_ms = status == ZKL_OK ? PATIENCE_MS : CONNECT_MS;
    ASSERT_STATUS(zkl_client_open(hosts, &copy, &client), status);
    CU_ASSERT(status == ZKL_OK || now_ms() - began_ms < CONNECT_MS + SLACK_MS + 1000);
    if (strstr(zkl_error_message(), says) == NULL) {
        printf("message: %s\n", zkl_error_message());
        CU_FAIL("the message says something else");
    }
    ASSERT_STATUS(zkl_client_close(client, PATIENCE_MS), ZKL_OK);
}

static void expect_refused(const char *hosts, const zkl_client_options *options, const char *says) {
    expect_open(hosts, options, ZKL_DISCONNECTED, says);
}

/* ---- Servers that are none ------------------------------------------------- */

/* It accepts connections, and says nothing. */
static int listen_silently(const char *address, int port) {
    struct sockaddr_in place = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    int yes = 1;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)inet_pton(AF_INET, address, &place.sin_addr);
    (void)setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(listener, (struct sockaddr *)&place, sizeof place) != 0 || listen(listener, 64) != 0) {
        give_up("nobody can listen at %s:%d", address, port);
    }
    return listener;
}

static int free_port(void) {
    return 30000 + (int)getpid() % 2000;
}

/* ---- Certificates ---------------------------------------------------------- */

static void right_certificates_are_accepted(void) {
    zkl_client_options options = good_options();
    expect_open(secure_hosts(), &options, ZKL_OK, "");
    security.tls_server_names = "zk.example.com,localhost";
    expect_open(secure_hosts(), &options, ZKL_OK, "");
    security.tls_server_names = "*";
    expect_open(secure_hosts(), &options, ZKL_OK, "");
}

static void server_of_another_authority_is_refused(void) {
    zkl_client_options options = good_options();
    security.tls_ca_file = key_file("stranger-ca.pem");
    expect_refused(secure_hosts(), &options, "its certificate is not of tls_ca_file");
}

static void server_of_an_authority_that_the_system_trusts_is_refused(void) {
    zkl_client_options options = good_options();
    security.tls_ca_file = key_file("stranger-ca.pem");
    setenv("SSL_CERT_FILE", key_file("ca.pem"), 1);
    expect_refused(secure_hosts(), &options, "its certificate is not of tls_ca_file");
    unsetenv("SSL_CERT_FILE");
}

static void server_of_another_name_is_refused(void) {
    zkl_client_options options = good_options();
    security.tls_server_names = "zk.example.com,127.0.0.2,[::1]";
    expect_refused(secure_hosts(), &options, "its certificate is for none of tls_server_names");
}

/* In place of OpenSSL's, which puts a mark beside the client's certificate (docs/internals/tls.md).
 * Without it no connection is recognised as ours, as where libzookeeper has an OpenSSL of its own.
 */
static bool marks_are_lost;

int X509_alias_set1(X509 *x, const unsigned char *name, int len) {
    int (*set)(X509 *, const unsigned char *, int) = NULL;
    *(void **)&set = dlsym(RTLD_NEXT, "X509_alias_set1");
    return marks_are_lost ? 1 : set(x, name, len);
}

static void connection_that_nobody_checks_is_not_used(void) {
    zkl_client_options options = good_options();
    setenv("SSL_CERT_FILE", key_file("ca.pem"), 1); /* libzookeeper by itself accepts it */
    marks_are_lost = true;
    expect_open(secure_hosts(), &options, ZKL_AUTH_FAILED,
                "the server's certificate could not be checked");
    marks_are_lost = false;
    unsetenv("SSL_CERT_FILE");
    expect_open(secure_hosts(), &options, ZKL_OK, "");
}

/* OpenSSL writes to a connection that the server has closed: that must not end the process. */
static void client_of_another_authority_is_told_so(void) {
    zkl_client_options options = good_options();
    security.tls_certificate_file = key_file("stranger.pem");
    security.tls_key_file = key_file("stranger.key");
    signal(SIGPIPE, SIG_DFL);
    expect_refused(secure_hosts(), &options, "it refused the TLS connection");
    signal(SIGPIPE, SIG_IGN);
}

static void port_without_tls_is_named(void) {
    zkl_client_options options = good_options();
    expect_refused(servers_hosts(), &options, "is it a port without TLS?");
}

/* ---- Files ------------------------------------------------------------------ */

static void run_command(const char *command) {
    if (system(command) != 0) {
        give_up("failed: %s", command);
    }
}

static void expect_invalid(const zkl_client_options *options, const char *says) {
    expect_open(secure_hosts(), options, ZKL_INVALID_ARGUMENT, says);
}

static void files_that_are_not_good_are_named(void) {
    zkl_client_options options = good_options();
    security.tls_ca_file = "/nowhere/ca.pem";
    expect_invalid(&options, "tls_ca_file \"/nowhere/ca.pem\": cannot be read: No such file");
    security.tls_ca_file = key_file("password");
    expect_invalid(&options, "has no certificate in PEM");
    options = good_options();
    security.tls_certificate_file = key_file("client.key");
    expect_invalid(&options, "tls_certificate_file");
    options = good_options();
    security.tls_key_file = key_file("client.pem");
    expect_invalid(&options, "has no private key in PEM");
    security.tls_key_file = key_file("stranger.key");
    expect_invalid(&options, "is not the key of the first certificate");
}

static void encrypted_key_is_opened_by_its_password_alone(void) {
    char command[COMMAND_SIZE];
    char file[PATH_SIZE];
    zkl_client_options options = good_options();
    snprintf(file, sizeof file, "%s/encrypted.key", directory);
    snprintf(command, sizeof command,
             "openssl pkcs8 -topk8 -in '%s' -out '%s' -passout pass:'a, b'", security.tls_key_file,
             file);
    run_command(command);
    security.tls_key_file = file;
    expect_invalid(&options, "has no private key in PEM that tls_key_password opens");
    security.tls_key_password = "another";
    expect_invalid(&options, "has no private key in PEM that tls_key_password opens");
    security.tls_key_password = "a, b";
    expect_open(secure_hosts(), &options, ZKL_OK, "");
}

/* ---- Sessions --------------------------------------------------------------- */

struct held {
    zkl_client *client;
    zkl_lock *lock;
    int64_t session;
};

static int64_t session_of(zkl_client *client) {
    zkl_client_information information = ZKL_CLIENT_INFORMATION_INIT;
    ASSERT_STATUS(zkl_client_info(client, &information), ZKL_OK);
    return information.session_id;
}

static void hold(struct held *held, const char *hosts, const zkl_client_options *options) {
    if (zkl_client_open(hosts, options, &held->client) != ZKL_OK ||
        zkl_lock_open(held->client, "tls", NULL, &held->lock) != ZKL_OK) {
        give_up("no client at %s: %s", hosts, zkl_error_message());
    }
    ASSERT_STATUS(zkl_lock_acquire(held->lock, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
    held->session = session_of(held->client);
}

static void expect_held_still(struct held *held) {
    WAIT_UNTIL(zkl_lock_verify(held->lock, PATIENCE_MS) == ZKL_OK);
    ASSERT_STATUS(zkl_lock_check(held->lock, NULL), ZKL_OK);
    ASSERT_NUMBER(session_of(held->client), held->session);
}

/* The server that this process is connected to, and its socket. 0: none. */
static int find_connection(int *found) {
    for (int socket = 3; socket < 256; socket++) {
        struct sockaddr_in peer;
        socklen_t length = sizeof peer;
        char address[PATH_SIZE];
        char host[PATH_SIZE];
        if (getpeername(socket, (struct sockaddr *)&peer, &length) != 0 ||
            peer.sin_family != AF_INET) {
            continue;
        }
        snprintf(address, sizeof address, "127.0.0.1:%d", ntohs(peer.sin_port));
        for (int server = 1; server <= SERVERS; server++) {
            secure_host(server, host);
            if (strcmp(host, address) == 0) {
                *found = socket;
                return server;
            }
        }
    }
    return 0;
}

static int connected_server(void) {
    int socket = -1;
    return find_connection(&socket);
}

static void let_go(struct held *held) {
    zkl_lock_close(held->lock);
    ASSERT_STATUS(zkl_client_close(held->client, PATIENCE_MS), ZKL_OK);
}

static void kill_server(void) {
    int server = connected_server();
    server_kill(server);
}

/* Each on an address of its own, as libzookeeper does not tell ports apart. */
static void silent_servers_cost_no_session(void) {
    struct held held;
    char hosts[HOSTS_SIZE];
    char host[PATH_SIZE];
    int socket = -1;
    int silent[] = { listen_silently("127.0.0.2", free_port()),
                     listen_silently("127.0.0.3", free_port()) };
    zkl_client_options options = good_options();
    secure_host(1, host);
    snprintf(hosts, sizeof hosts, "127.0.0.2:%d,127.0.0.3:%d,%s", free_port(), free_port(), host);
    hold(&held, hosts, &options);
    for (int i = 0; i < TURNS; i++) {
        ASSERT_NUMBER(find_connection(&socket), 1);
        (void)shutdown(socket, SHUT_RDWR);
        expect_held_still(&held);
    }
    let_go(&held);
    close(silent[0]);
    close(silent[1]);
}

static void silent_server_alone_holds_nobody_up(void) {
    int silent = listen_silently("127.0.0.2", free_port());
    char hosts[PATH_SIZE];
    zkl_client_options options = good_options();
    snprintf(hosts, sizeof hosts, "127.0.0.2:%d", free_port());
    expect_refused(hosts, &options, "not connected for");
    close(silent);
}

static double processor_time_s(void) {
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* libzookeeper would look for them at once, again and again. */
static void files_that_go_are_missed_by_nobody(void) {
    char command[COMMAND_SIZE];
    char files[3][PATH_SIZE];
    struct held held;
    zkl_client_options options = good_options();
    snprintf(command, sizeof command, "cp '%s'/*.pem '%s'/*.key '%s'", getenv("ZKLOCK_KEYS"),
             getenv("ZKLOCK_KEYS"), directory);
    run_command(command);
    snprintf(files[0], PATH_SIZE, "%s/ca.pem", directory);
    snprintf(files[1], PATH_SIZE, "%s/client.pem", directory);
    snprintf(files[2], PATH_SIZE, "%s/client.key", directory);
    security.tls_ca_file = files[0];
    security.tls_certificate_file = files[1];
    security.tls_key_file = files[2];
    hold(&held, secure_hosts(), &options);
    for (int i = 0; i < 3; i++) {
        unlink(files[i]);
    }
    double before_s = processor_time_s();
    kill_server();
    expect_held_still(&held);
    CU_ASSERT(processor_time_s() - before_s < 1.0);
    let_go(&held);
}

static void other_servers_take_the_session_over(void) {
    struct held held;
    char host[PATH_SIZE];
    zkl_client_options options = good_options();
    hold(&held, secure_hosts(), &options);
    int other = connected_server() % SERVERS + 1;
    secure_host(other, host);
    ASSERT_STATUS(zkl_client_set_hosts(held.client, host), ZKL_OK);
    WAIT_UNTIL(connected_server() == other);
    expect_held_still(&held);
    let_go(&held);
}

static void other_credentials_take_the_session_along(void) {
    struct held held;
    zkl_client_options options = good_options();
    zkl_credential credential = ZKL_CREDENTIAL_INIT;
    credential.secret = "tls:t";
    credential.size = strlen("tls:t");
    hold(&held, secure_hosts(), &options);
    for (int i = 0; i < 5; i++) {
        ASSERT_STATUS(zkl_client_set_credentials(held.client, &credential, i % 2), ZKL_OK);
        expect_held_still(&held);
    }
    let_go(&held);
}

/* The new list leads to the same servers, by a name that is not in their certificate. */
static void other_hosts_have_other_names(void) {
    struct held held;
    int socket = -1;
    char hosts[HOSTS_SIZE];
    zkl_client_options options = good_options();
    hold(&held, secure_hosts(), &options);
    snprintf(hosts, sizeof hosts, "127.1%s", strchr(secure_hosts(), ':'));
    hosts[strcspn(hosts, ",")] = '\0';
    ASSERT_STATUS(zkl_client_set_hosts(held.client, hosts), ZKL_OK);
    WAIT_UNTIL(connected_server() == 1);
    (void)find_connection(&socket);
    (void)shutdown(socket, SHUT_RDWR);
    WAIT_UNTIL(zkl_lock_check(held.lock, NULL) != ZKL_OK);
    STAYS(zkl_lock_check(held.lock, NULL) != ZKL_OK, 1000);
    ASSERT_STATUS(zkl_client_set_hosts(held.client, secure_hosts()), ZKL_OK);
    expect_held_still(&held);
    let_go(&held);
}

static void tls_and_sasl_at_once_are_refused(void) {
    zkl_client_options options = good_options();
    security.sasl_mechanism = "DIGEST-MD5";
    expect_invalid(&options, "must not be given together with tls_ca_file");
}

int main(int argc, char **argv) {
    static const struct test_case tests[] = {
        TEST_CASE(right_certificates_are_accepted),
        TEST_CASE(server_of_another_authority_is_refused),
        TEST_CASE(server_of_an_authority_that_the_system_trusts_is_refused),
        TEST_CASE(server_of_another_name_is_refused),
        TEST_CASE(connection_that_nobody_checks_is_not_used),
        TEST_CASE(client_of_another_authority_is_told_so),
        TEST_CASE(port_without_tls_is_named),
        TEST_CASE(files_that_are_not_good_are_named),
        TEST_CASE(encrypted_key_is_opened_by_its_password_alone),
        TEST_CASE(silent_servers_cost_no_session),
        TEST_CASE(silent_server_alone_holds_nobody_up),
        TEST_CASE(files_that_go_are_missed_by_nobody),
        TEST_CASE(other_servers_take_the_session_over),
        TEST_CASE(other_credentials_take_the_session_along),
        TEST_CASE(other_hosts_have_other_names),
        TEST_CASE(tls_and_sasl_at_once_are_refused),
    };
    if (secure_hosts() == NULL || getenv("ZKLOCK_KEYS") == NULL || mkdtemp(directory) == NULL) {
        give_up("run this as: ensemble/ensemble --local --tls --require certificate run COMMAND");
    }
    unsetenv("ZKLOCK_SECURE"); /* it is about its own options */
    int status = run_tests(argc, argv, tests, sizeof tests / sizeof tests[0]);
    char command[COMMAND_SIZE];
    snprintf(command, sizeof command, "rm -r '%s'", directory);
    run_command(command);
    return status;
}
