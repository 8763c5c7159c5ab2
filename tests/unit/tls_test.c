/* TLS, on a server of the test's own: which servers a client trusts, the files that it reads, and
 * the end of its process. With a libzookeeper that has TLS only. */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <openssl/x509.h>

#include "support/tls_front.h"
#include "support/unit.h"
#include "zklock/zklock.h"

enum { ENOUGH_MS = 20000, REFUSED_MS = 400, SHORT_SESSION_MS = 4000, CLIENTS = 8 };
enum { CLOSED_S = 10 };

extern char **environ;

static zkl_security security; /* of the options that were made last */

static zkl_client_options good_options(void) {
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    security = (zkl_security)ZKL_SECURITY_INIT;
    options.security = &security;
    options.session_timeout_ms = SCRIPTED_SESSION_MS;
    options.connect_timeout_ms = ENOUGH_MS;
    security.tls_ca_file = tls_file("ca.pem");
    security.tls_certificate_file = tls_file("client.pem");
    security.tls_key_file = tls_file("client.key");
    return options;
}

static int open_with(const tls_front *front, const zkl_client_options *options) {
    zkl_client *client = NULL;
    int status = zkl_client_open(front->hosts, options, &client);
    if (client != NULL) {
        EXPECT_INT(zkl_client_close(client, 0), ZKL_OK);
    }
    return status;
}

/* ---- Names ----------------------------------------------------------------------------------- */

/* names: in the options; the others as tls_front_begin has them. "": it is trusted. */
static void expect_refused(const char *common_name, const char *alternative_names,
                           const char *names, const char *says) {
    tls_front front;
    tls_front_begin(&front, common_name, alternative_names);
    zkl_client_options options = good_options();
    security.tls_server_names = names;
    bool is_trusted = says[0] == '\0';
    bool is_said = false; /* once a handshake has failed */
    for (int ms = is_trusted ? ENOUGH_MS : REFUSED_MS; ms <= ENOUGH_MS && !is_said; ms *= 2) {
        options.connect_timeout_ms = ms;
        EXPECT_INT(open_with(&front, &options), is_trusted ? ZKL_OK : ZKL_DISCONNECTED);
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
    zkl_client_options options = good_options();
    security.tls_ca_file = tls_file("client.pem");
    bool is_said = false;
    for (int ms = REFUSED_MS; ms <= ENOUGH_MS && !is_said; ms *= 2) {
        options.connect_timeout_ms = ms;
        EXPECT_INT(open_with(front, &options), ZKL_DISCONNECTED);
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

/* ---- Servers that do not answer -------------------------------------------------------------- */

/* It accepts connections, and says nothing. */
static int be_silent_at(const char *address, char hosts[32]) {
    struct sockaddr_in place = { .sin_family = AF_INET };
    socklen_t size = sizeof(place);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    EXPECT_INT(inet_pton(AF_INET, address, &place.sin_addr), 1);
    EXPECT_INT(bind(listener, (struct sockaddr *)&place, size), 0);
    EXPECT_INT(listen(listener, 64), 0);
    EXPECT_INT(getsockname(listener, (struct sockaddr *)&place, &size), 0);
    snprintf(hosts, 32, "%s:%d", address, ntohs(place.sin_port));
    return listener;
}

static int count_clients_of(int listener) {
    int count = 0;
    for (int client = accept(listener, NULL, NULL); client >= 0;
         client = accept(listener, NULL, NULL)) {
        close(client);
        count++;
    }
    return count;
}

/* libzookeeper draws the order. */
static void expect_each_tried_once(void) {
    tls_front front;
    char hosts[2][32];
    char all[128];
    zkl_client *client = NULL;
    tls_front_begin(&front, "server", "IP:127.0.0.1");
    int silent[] = { be_silent_at("127.0.0.2", hosts[0]), be_silent_at("127.0.0.3", hosts[1]) };
    snprintf(all, sizeof(all), "%s,%s,%s", hosts[0], hosts[1], front.hosts);
    zkl_client_options options = good_options();
    options.session_timeout_ms = SHORT_SESSION_MS;
    EXPECT_INT(zkl_client_open(all, &options, &client), ZKL_OK);
    for (size_t i = 0; i < 2; i++) {
        EXPECT(count_clients_of(silent[i]) <= 1);
        close(silent[i]);
    }
    EXPECT_INT(zkl_client_close(client, 0), ZKL_OK);
    tls_front_end(&front);
}

TEST(silent_servers_are_tried_once_each_before_one_that_answers) {
    (void)tls_keys_begin();
    for (int i = 0; i < CLIENTS; i++) {
        expect_each_tried_once();
    }
    tls_keys_end();
}

/* Alone, and it says nothing. */
TEST(close_is_not_held_up_by_a_handshake) {
    (void)tls_keys_begin();
    char hosts[32];
    int silent = be_silent_at("127.0.0.2", hosts);
    zkl_client *client = NULL;
    zkl_client_options options = good_options();
    options.connect_timeout_ms = REFUSED_MS;
    unit_must_be_done_within(CLOSED_S);
    EXPECT_INT(zkl_client_open(hosts, &options, &client), ZKL_DISCONNECTED);
    unit_must_be_done_within(0);
    EXPECT_INT(count_clients_of(silent) > 0, true);
    close(silent);
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
    zkl_client_options options = good_options();
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
    zkl_client_options options = good_options();
    EXPECT_INT(zkl_client_open(fronts[0].hosts, &options, &client), ZKL_OK);
    EXPECT_INT(zkl_client_set_hosts(client, fronts[1].hosts), ZKL_OK);
    EXPECT(has(&fronts[1].connections, 1));
    EXPECT(has(&fronts[0].client, -1));
    EXPECT_INT(zkl_client_close(client, 0), ZKL_OK);
    tls_front_end(&fronts[1]);
    tls_front_end(&fronts[0]);
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
    zkl_client_options options = good_options();
    setenv("SSL_CERT_FILE", tls_file("ca.pem"), 1); /* libzookeeper by itself accepts it */
    marks_are_lost = true;
    EXPECT_INT(open_with(&front, &options), ZKL_AUTH_FAILED);
    EXPECT(strstr(zkl_error_message(), "the server's certificate could not be checked") != NULL);
    EXPECT_INT(front.connections, 1);
    marks_are_lost = false;
    unsetenv("SSL_CERT_FILE");
    EXPECT_INT(open_with(&front, &options), ZKL_OK);
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
    zkl_client_options options = good_options();
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
    zkl_client_options options = good_options();
    EXPECT_INT(chmod(tls_file("client.key"), 0640), 0);
    EXPECT_INT(open_with(&front, &options), ZKL_OK);
    EXPECT_INT(chmod(tls_file("client.key"), 0604), 0);
    EXPECT_REFUSED(open_with(&front, &options), "may be read by everybody");
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
    zkl_client_options options = good_options();
    for (int ms = 60; ms <= 400; ms += 20) {
        options.connect_timeout_ms = ms;
        EXPECT_INT(open_with(&front, &options), ZKL_DISCONNECTED);
        EXPECT(strstr(zkl_error_message(), "Success") == NULL);
    }
    tls_front_end(&front);
    tls_keys_end();
}

/* ---- The end of a process ------------------------------------------------------------------- */

enum { AT_A_TIME = 6, ROUNDS = 15, STEP_US = 4000 };

static pid_t start_and_exit(const tls_front *front, const char *directory, int at_us,
                            const char *when) {
    char microseconds[16];
    char program[] = TLS_EXIT_PROGRAM;
    char *arguments[] = { program,      (char *)front->hosts, (char *)directory,
                          microseconds, (char *)when,         NULL };
    pid_t process = -1;
    snprintf(microseconds, sizeof(microseconds), "%d", at_us);
    EXPECT_INT(posix_spawn(&process, program, NULL, NULL, arguments, environ), 0);
    return process;
}

static void expect_ends(const tls_front *front, const char *directory, const char *when) {
    for (int round = 0; round < ROUNDS; round++) {
        pid_t processes[AT_A_TIME];
        for (int i = 0; i < AT_A_TIME; i++) {
            processes[i] =
                start_and_exit(front, directory, (round * AT_A_TIME + i) * STEP_US, when);
        }
        for (int i = 0; i < AT_A_TIME; i++) {
            int status = -1;
            EXPECT_INT(waitpid(processes[i], &status, 0), processes[i]);
            EXPECT_INT(status, 0); /* 139: it has crashed */
        }
    }
}

TEST(exit_while_tls_connects_crashes_no_process) {
    const char *directory = tls_keys_begin();
    tls_front refused;
    tls_front good;
    tls_front_begin(&refused, "elsewhere", "DNS:elsewhere");
    tls_front_begin(&good, "server", "IP:127.0.0.1");
    expect_ends(&refused, directory, "first");
    expect_ends(&refused, directory, "later");
    expect_ends(&good, directory, "closes");
    tls_front_end(&good);
    tls_front_end(&refused);
    tls_keys_end();
}
