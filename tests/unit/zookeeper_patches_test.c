/* The patches of tools/zookeeper-client-patches, by libzookeeper's own functions: with a
 * libzookeeper that has them only (tools/build-zookeeper-client --patched). */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <zookeeper/zookeeper.h>

#include "support/tls_front.h"
#include "support/unit.h"

enum { ENOUGH_MS = TLS_ENOUGH_MS, REFUSED_MS = 1000, SESSION_MS = 3000, CLOSED_S = 10 };

static zoo_tls_params_t good_params(void) {
    return (zoo_tls_params_t){ .ca = tls_file("ca.pem"),
                               .cert = tls_file("client.pem"),
                               .key = tls_file("client.key"),
                               .server_names = "zk.example.com,127.0.0.1",
                               .only_ca = 1 };
}

static void take_line(const char *line) {
    (void)line;
}

static zhandle_t *open_handle(const char *hosts, const zoo_tls_params_t *params) {
    zhandle_t *handle =
        zookeeper_init_tls(hosts, NULL, SESSION_MS, NULL, NULL, 0, take_line, params);
    EXPECT(handle != NULL);
    return handle;
}

static bool connects_within(zhandle_t *handle, int ms) {
    for (int i = 0; i < ms && zoo_state(handle) != ZOO_CONNECTED_STATE; i++) {
        (void)usleep(1000);
    }
    return zoo_state(handle) == ZOO_CONNECTED_STATE;
}

static bool connects(const tls_front *front, const zoo_tls_params_t *params, int ms) {
    zhandle_t *handle = open_handle(front->hosts, params);
    bool did = connects_within(handle, ms);
    EXPECT_INT(zookeeper_close(handle), ZOK);
    return did;
}

/* ---- Names and authorities --------------------------------------------------------------------
 */

TEST(certificate_must_be_for_one_of_the_names) {
    tls_front front;
    (void)tls_keys_begin();
    tls_front_begin(&front, "zk.example.com", "IP:127.0.0.1");
    zoo_tls_params_t params = good_params();
    EXPECT(connects(&front, &params, ENOUGH_MS));
    params.server_names = NULL;
    EXPECT(connects(&front, &params, ENOUGH_MS));
    params.server_names = "zk.example.com,127.0.0.2";
    EXPECT(!connects(&front, &params, REFUSED_MS));
    EXPECT(front.refusals > 0);
    tls_front_change(&front, "server", "DNS:*.example.com");
    EXPECT(connects(&front, &params, ENOUGH_MS));
    tls_front_end(&front);
    tls_keys_end();
}

TEST(authorities_of_the_system_are_trusted_only_if_that_is_asked_for) {
    tls_front front;
    (void)tls_keys_begin();
    tls_front_begin(&front, "server", "IP:127.0.0.1");
    zoo_tls_params_t params = good_params();
    params.ca = tls_file("client.pem");
    setenv("SSL_CERT_FILE", tls_file("ca.pem"), 1);
    EXPECT(!connects(&front, &params, REFUSED_MS));
    params.only_ca = 0;
    EXPECT(connects(&front, &params, ENOUGH_MS));
    unsetenv("SSL_CERT_FILE");
    tls_front_end(&front);
    tls_keys_end();
}

/* ---- The handshake's deadline ------------------------------------------------------------------
 */

/* It accepts connections, and says nothing. */
static int be_silent(char hosts[32]) {
    struct sockaddr_in place = { .sin_family = AF_INET };
    socklen_t size = sizeof(place);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_INT(inet_pton(AF_INET, "127.0.0.2", &place.sin_addr), 1);
    EXPECT_INT(bind(listener, (struct sockaddr *)&place, size), 0);
    EXPECT_INT(listen(listener, 64), 0);
    EXPECT_INT(getsockname(listener, (struct sockaddr *)&place, &size), 0);
    snprintf(hosts, 32, "127.0.0.2:%d", ntohs(place.sin_port));
    return listener;
}

TEST(server_that_says_nothing_is_left_for_the_next_one) {
    tls_front front;
    char silent_hosts[32];
    char hosts[64];
    (void)tls_keys_begin();
    tls_front_begin(&front, "server", "IP:127.0.0.1");
    int silent = be_silent(silent_hosts);
    snprintf(hosts, sizeof(hosts), "%s,%s", silent_hosts, front.hosts);
    zoo_tls_params_t params = good_params();
    zoo_deterministic_conn_order(1);
    zhandle_t *handle = open_handle(hosts, &params);
    EXPECT(connects_within(handle, ENOUGH_MS));
    EXPECT_INT(zookeeper_close(handle), ZOK);
    zoo_deterministic_conn_order(0);
    close(silent);
    tls_front_end(&front);
    tls_keys_end();
}

TEST(close_ends_a_handshake) {
    char hosts[32];
    (void)tls_keys_begin();
    int silent = be_silent(hosts);
    zoo_tls_params_t params = good_params();
    zhandle_t *handle = open_handle(hosts, &params);
    EXPECT(!connects_within(handle, REFUSED_MS));
    unit_must_be_done_within(CLOSED_S);
    EXPECT_INT(zookeeper_close(handle), ZOK);
    unit_must_be_done_within(0);
    close(silent);
    tls_keys_end();
}

/* ---- Files
 * --------------------------------------------------------------------------------------- */

static double processor_s(void) {
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

TEST(file_that_is_missing_is_looked_for_with_pauses_until_it_is_there) {
    tls_front front;
    char kept[TLS_PATH_SIZE];
    (void)tls_keys_begin();
    tls_front_begin(&front, "server", "IP:127.0.0.1");
    snprintf(kept, sizeof(kept), "%s", tls_file("kept"));
    zoo_tls_params_t params = good_params();
    EXPECT_INT(rename(params.key, kept), 0);
    double before_s = processor_s();
    zhandle_t *handle = open_handle(front.hosts, &params);
    EXPECT(!connects_within(handle, 2 * REFUSED_MS));
    EXPECT((processor_s() - before_s) * 1000 < REFUSED_MS);
    EXPECT_INT(rename(kept, params.key), 0);
    EXPECT(connects_within(handle, ENOUGH_MS));
    EXPECT_INT(zookeeper_close(handle), ZOK);
    tls_front_end(&front);
    tls_keys_end();
}
