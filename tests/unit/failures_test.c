/* What is made of libzookeeper's lines; and an open to ports where no ZooKeeper server is. */
#include "connection/failures.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/unit.h"
#include "zklock/zklock.h"

enum { TEXT_SIZE = 256 };

#define AT "2026-01-01 10:00:00,1:1(0x1):"
#define NO_SESSION                                                                                 \
    "accepts connections, but gives no session (no ZooKeeper server, or one without a quorum)"

static const char *find(const char *addresses) {
    static char text[TEXT_SIZE];
    zkl_failures_find(addresses, text, sizeof(text));
    return text;
}

static void refuse(const char *address) {
    char line[2 * TEXT_SIZE];
    snprintf(line, sizeof(line),
             AT "ZOO_ERROR@check_events@1: Socket %s zk retcode=-4, errno=111(Connection refused): "
                "server refused to accept the client",
             address);
    zkl_failures_take_line(line);
}

/* ---- Lines ---------------------------------------------------------------------------- */

TEST(latest_failure_of_our_own_addresses_is_found) {
    refuse("10.0.0.1:2181");
    refuse("10.0.0.9:2181");
    EXPECT_TEXT(find("10.0.0.1:2181,10.0.0.2:2181"), "10.0.0.1:2181: Connection refused");
    zkl_failures_take_line(AT "ZOO_ERROR@f@1: Socket 10.0.0.2:2181 zk retcode=-7, "
                              "errno=110(Connection timed out): connection timed out");
    EXPECT_TEXT(find("10.0.0.1:2181,10.0.0.2:2181"), "10.0.0.2:2181: Connection timed out");
    EXPECT_TEXT(find("10.0.0.3:2181"), "");
    EXPECT_TEXT(find("10.0.0.1:21"), "");
    EXPECT_TEXT(find(""), "");
    zkl_failures_forget("10.0.0.2:2181,10.0.0.9:2181");
    EXPECT_TEXT(find("10.0.0.1:2181,10.0.0.2:2181,10.0.0.9:2181"),
                "10.0.0.1:2181: Connection refused");
    refuse("::1:2181");
    EXPECT_TEXT(find("::1:2181"), "::1:2181: Connection refused");
}

/* A handshake of TLS. */
TEST(failure_without_a_reason_takes_the_place_of_none) {
    const char *line = AT "ZOO_ERROR@f@1: Socket 10.0.4.1:2181 zk retcode=-15, errno=0(Success): "
                          "error in ssl connect";
    zkl_failures_take_line(line);
    EXPECT_TEXT(find("10.0.4.1:2181"), "");
    refuse("10.0.4.1:2181");
    zkl_failures_take_line(line);
    EXPECT_TEXT(find("10.0.4.1:2181"), "10.0.4.1:2181: Connection refused");
}

TEST(connection_that_is_accepted_and_gives_no_session_says_so) {
    zkl_failures_take_line(AT "ZOO_INFO@f@1: initiated connection to server 10.0.1.1:2181");
    EXPECT_TEXT(find("10.0.1.1:2181"), "10.0.1.1:2181: " NO_SESSION);
    zkl_failures_take_line(AT "ZOO_ERROR@f@1: Socket 10.0.1.1:2181 zk retcode=-4, "
                              "errno=104(Connection reset by peer): failed while receiving");
    EXPECT_TEXT(find("10.0.1.1:2181"), "10.0.1.1:2181: " NO_SESSION);
    refuse("10.0.1.1:2181"); /* it is gone */
    EXPECT_TEXT(find("10.0.1.1:2181"), "10.0.1.1:2181: Connection refused");
    zkl_failures_take_line(AT "ZOO_INFO@f@1: initiated connection to server 10.0.1.1:2181");
    zkl_failures_take_line(AT "ZOO_INFO@f@1: session establishment complete on server "
                              "10.0.1.1:2181, sessionId=0x1, negotiated timeout=10000 ");
    EXPECT_TEXT(find("10.0.1.1:2181"), "");
    zkl_failures_take_line(AT "ZOO_ERROR@f@1: Socket 10.0.1.1:2181 zk retcode=-4, "
                              "errno=112(Host is down): failed while receiving");
    EXPECT_TEXT(find("10.0.1.1:2181"), "10.0.1.1:2181: Host is down");
}

TEST(other_lines_say_nothing) {
    static const char *const lines[] = {
        "",
        "initiated connection to server ",
        "Socket  zk retcode=-4, errno=1(x): y",
        "Socket 10.0.2.1:2181 is here",
        " zk retcode=-4 of nobody",
        (AT "ZOO_WARN@f@1: Delaying connection after exhaustively trying all servers "
            "[10.0.2.1:2181]"),
    };
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        zkl_failures_take_line(lines[i]);
    }
    zkl_failures_take_line("Socket 10.0.2.2:2181 zk retcode=-4"); /* and no errno */
    EXPECT_TEXT(find("10.0.2.1:2181,10.0.2.2:2181"), "");
}

TEST(latest_of_many_addresses_are_kept) {
    char address[TEXT_SIZE];
    for (int i = 0; i < 100; i++) {
        snprintf(address, sizeof(address), "10.0.3.%d:2181", i);
        refuse(address);
    }
    EXPECT_TEXT(find("10.0.3.99:2181,10.0.3.0:2181"), "10.0.3.99:2181: Connection refused");
    EXPECT_TEXT(find("10.0.3.0:2181"), "");
}

/* ---- Ports of this machine ------------------------------------------------------------ */

/* Bound to a port of its own, and listening or not. */
static int open_port(bool listens, char hosts[TEXT_SIZE]) {
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof(address);
    int port = socket(AF_INET, SOCK_STREAM, 0);
    bool good = port >= 0 && bind(port, (struct sockaddr *)&address, size) == 0 &&
                getsockname(port, (struct sockaddr *)&address, &size) == 0 &&
                (!listens || listen(port, 8) == 0);
    EXPECT(good);
    snprintf(hosts, TEXT_SIZE, "127.0.0.1:%d", (int)ntohs(address.sin_port));
    return port;
}

static void expect_not_opened(const char *hosts, const char *last) {
    zkl_client *client = NULL;
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    char behind[2 * TEXT_SIZE];
    options.connect_timeout_ms = 300;
    snprintf(behind, sizeof(behind), " ms; last: %s: %s", hosts, last);
    EXPECT_INT(zkl_client_open(hosts, &options, &client), ZKL_DISCONNECTED);
    const char *message = zkl_error_message();
    EXPECT(strstr(message, "host list \"127.0.0.1:") == message);
    EXPECT(strstr(message, "\": not connected for ") != NULL);
    const char *found = strstr(message, " ms; ");
    EXPECT_TEXT(found != NULL ? found : message, behind);
}

TEST(open_to_a_port_without_a_server_names_the_cause) {
    char hosts[TEXT_SIZE];
    int port = open_port(false, hosts);
    expect_not_opened(hosts, "Connection refused");
    (void)close(port);
}

/* The kernel accepts for it. */
TEST(open_to_another_service_says_that_it_gives_no_session) {
    char hosts[TEXT_SIZE];
    int port = open_port(true, hosts);
    expect_not_opened(hosts, NO_SESSION);
    (void)close(port);
}
