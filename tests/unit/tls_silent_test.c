/* TLS and servers that say nothing. With a libzookeeper that has TLS only. */
#include <arpa/inet.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/tls_front.h"
#include "support/unit.h"
#include "zklock/zklock.h"

enum { REFUSED_MS = 400, SHORT_SESSION_MS = 4000, CLIENTS = 8, CLOSED_S = 10 };

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
    zkl_client_options options = tls_options();
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
    zkl_client_options options = tls_options();
    options.connect_timeout_ms = REFUSED_MS;
    unit_must_be_done_within(CLOSED_S);
    EXPECT_INT(zkl_client_open(hosts, &options, &client), ZKL_DISCONNECTED);
    unit_must_be_done_within(0);
    EXPECT_INT(count_clients_of(silent) > 0, true);
    close(silent);
    tls_keys_end();
}
