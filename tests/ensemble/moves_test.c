/*
 * Servers that get other addresses, and addresses where nothing answers. The test is the resolver:
 * its names lead to proxies of the loopback range (link option --wrap).
 */
#include "support/news.h"
#include "support/proxy.h"
#include "support/scene.h"
#include "support/servers.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    SESSION_MS = 6000,
    HOLE_SOCKETS = 4,
    ADDRESS_SIZE = 32,
    PLACES = 4,
    TURNS = 4,
    OPENERS = 20
};

/* ---- The resolver --------------------------------------------------------- */

static struct {
    pthread_mutex_t mutex;
    char addresses[SERVERS + 1][ADDRESS_SIZE]; /* by number of the server */
    int looked_up;
} names = { .mutex = PTHREAD_MUTEX_INITIALIZER };

int __real_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                       struct addrinfo **found);
int __wrap_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                       struct addrinfo **found);

int __wrap_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                       struct addrinfo **found) {
    int server = 0;
    char address[ADDRESS_SIZE];
    if (sscanf(node, "server-%d.test", &server) != 1 || server < 1 || server > SERVERS) {
        return __real_getaddrinfo(node, service, hints, found);
    }
    pthread_mutex_lock(&names.mutex);
    names.looked_up++;
    snprintf(address, sizeof address, "%s", names.addresses[server]);
    pthread_mutex_unlock(&names.mutex);
    return __real_getaddrinfo(address, service, hints, found);
}

/* ---- Addresses where nothing answers -------------------------------------- */

/* A socket whose queue of connections is full: the machine drops all that come. */
struct hole {
    int sockets[HOLE_SOCKETS];
};

static void hole_begin(struct hole *hole, const char *address, int port) {
    struct sockaddr_in place = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    int yes = 1;
    (void)inet_pton(AF_INET, address, &place.sin_addr);
    for (int i = 0; i < HOLE_SOCKETS; i++) {
        hole->sockets[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    }
    (void)setsockopt(hole->sockets[0], SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(hole->sockets[0], (struct sockaddr *)&place, sizeof place) != 0 ||
        listen(hole->sockets[0], 0) != 0) {
        give_up("no hole at %s:%d", address, port);
    }
    for (int i = 1; i < HOLE_SOCKETS; i++) {
        (void)connect(hole->sockets[i], (struct sockaddr *)&place, sizeof place);
    }
}

static void hole_end(struct hole *hole) {
    for (int i = 0; i < HOLE_SOCKETS; i++) {
        close(hole->sockets[i]);
    }
}

/* ---- Servers that have names ---------------------------------------------- */

struct moving {
    struct scene scene;
    struct news news;
    struct proxy *proxies[SERVERS + 1]; /* NULL: nobody is there, or nothing answers */
    struct hole holes[PLACES][SERVERS + 1];
    bool is_hole[PLACES][SERVERS + 1];
    int port;
    char hosts[128];
    zkl_client *client;
    zkl_lock *lock;
};

static const char *address_of(int place, int server) {
    static char address[ADDRESS_SIZE];
    snprintf(address, sizeof address, "127.0.0.%d", 10 * (place + 1) + server);
    return address;
}

static void start_at(struct moving *moving, int place, int server) {
    moving->proxies[server] = proxy_start_at(server, address_of(place, server), moving->port);
    pthread_mutex_lock(&names.mutex);
    snprintf(names.addresses[server], ADDRESS_SIZE, "%s", address_of(place, server));
    pthread_mutex_unlock(&names.mutex);
}

static void stop(struct moving *moving, int server) {
    if (moving->proxies[server] != NULL) {
        proxy_stop(moving->proxies[server]);
    }
    moving->proxies[server] = NULL;
}

static void dig(struct moving *moving, int place, int server) {
    stop(moving, server);
    hole_begin(&moving->holes[place][server], address_of(place, server), moving->port);
    moving->is_hole[place][server] = true;
}

static void fill(struct moving *moving, int place, int server) {
    if (moving->is_hole[place][server]) {
        hole_end(&moving->holes[place][server]);
    }
    moving->is_hole[place][server] = false;
}

/* With a client that holds. */
static void moving_begin(struct moving *moving, const char *stem) {
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    memset(moving, 0, sizeof *moving);
    scene_begin(&moving->scene, stem);
    news_begin(&moving->news);
    for (int server = 1; server <= SERVERS; server++) {
        start_at(moving, 0, server);
        moving->port = atoi(strrchr(proxy_hosts(moving->proxies[server]), ':') + 1);
    }
    snprintf(moving->hosts, sizeof moving->hosts,
             "server-1.test:%d,server-2.test:%d,server-3.test:%d", moving->port, moving->port,
             moving->port);
    moving->client = client_open(moving->hosts, SESSION_MS);
    options.state_callback = news_callback;
    options.state_arg = &moving->news;
    ASSERT_STATUS(zkl_lock_open(moving->client, moving->scene.resource, &options, &moving->lock),
                  ZKL_OK);
    ASSERT_STATUS(zkl_lock_acquire(moving->lock, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
}

static void moving_end(struct moving *moving) {
    ASSERT_STATUS(zkl_lock_check(moving->lock, NULL), ZKL_OK);
    ASSERT_NUMBER(client_information(moving->client).sessions_expired, 0);
    ASSERT_STATUS(zkl_lock_release(moving->lock, PATIENCE_MS), ZKL_OK);
    zkl_lock_close(moving->lock);
    news_end(&moving->news);
    client_close(moving->client);
    for (int server = 1; server <= SERVERS; server++) {
        stop(moving, server);
        for (int place = 0; place < PLACES; place++) {
            fill(moving, place, server);
        }
    }
    scene_end(&moving->scene);
}

static int server_now(const struct moving *moving) {
    return servers_of_session(client_information(moving->client).session_id);
}

/* The client has lost its connection, at `since_ms`; returns how long until it has another. */
static int64_t await_connection(const struct moving *moving, int64_t since_ms) {
    WAIT_UNTIL(client_information(moving->client).connected);
    int64_t took_ms = now_ms() - since_ms;
    printf("\n    connected again after %lld ms ", (long long)took_ms);
    return took_ms;
}

/* ---- Tests ---------------------------------------------------------------- */

/* The third one is what is left of the old addresses, and restarts. */
static void move_two(const char *stem, bool leave_holes) {
    struct moving moving;
    moving_begin(&moving, stem);
    for (int turn = 1; turn < PLACES; turn++) {
        int third = server_now(&moving);
        for (int server = 1; server <= SERVERS; server++) {
            if (server != third && leave_holes) {
                dig(&moving, turn - 1, server);
            }
            if (server != third) {
                stop(&moving, server);
                start_at(&moving, turn, server);
            }
        }
        int64_t since_ms = now_ms();
        stop(&moving, third);
        WAIT_UNTIL(!client_information(moving.client).connected);
        CU_ASSERT_TRUE(await_connection(&moving, since_ms) < SESSION_MS / 2);
        CU_ASSERT_NOT_EQUAL(server_now(&moving), third);
        start_at(&moving, turn, third);
        ASSERT_NUMBER(client_information(moving.client).sessions_expired, 0);
    }
    WAIT_UNTIL(news_last(&moving.news).state == ZKL_STATE_HELD);
    moving_end(&moving);
}

static void two_servers_move_and_the_third_restarts_without_the_loss_of_a_session(void) {
    move_two("moves-refused", false);
}

static void two_servers_leave_silent_addresses_and_the_third_restarts(void) {
    move_two("moves-silent", true);
}

/* The connection breaks, and its own server alone answers. */
static void two_silent_addresses_in_a_row_do_not_end_the_session(void) {
    struct moving moving;
    int64_t longest_ms = 0;
    moving_begin(&moving, "moves-holes");
    int own = server_now(&moving);
    for (int server = 1; server <= SERVERS; server++) {
        if (server != own) {
            dig(&moving, 0, server);
        }
    }
    for (int turn = 0; turn < TURNS; turn++) {
        int64_t since_ms = now_ms();
        int suspected = news_count(&moving.news, ZKL_STATE_SUSPECT);
        stop(&moving, own);
        start_at(&moving, 0, own);
        /* It may be back within a millisecond. */
        WAIT_UNTIL(news_count(&moving.news, ZKL_STATE_SUSPECT) > suspected);
        int64_t took_ms = await_connection(&moving, since_ms);
        longest_ms = took_ms > longest_ms ? took_ms : longest_ms;
        ASSERT_NUMBER(client_information(moving.client).sessions_expired, 0);
    }
    CU_ASSERT_TRUE(longest_ms < SESSION_MS / 2);
    moving_end(&moving);
}

struct opener {
    const char *hosts;
    pthread_t thread;
    int status;
};

static void *open_and_close(void *arg) {
    struct opener *self = arg;
    zkl_client *client = NULL;
    self->status = zkl_client_open(self->hosts, NULL, &client);
    if (self->status == ZKL_OK) {
        client_close(client);
    } else {
        printf("%s\n", zkl_error_message()); /* of this thread */
    }
    return NULL;
}

/* Which server each tries first is drawn. */
static void open_many(const char *hosts) {
    struct opener openers[OPENERS];
    int64_t since_ms = now_ms();
    for (int i = 0; i < OPENERS; i++) {
        openers[i].hosts = hosts;
        CU_ASSERT_EQUAL_FATAL(pthread_create(&openers[i].thread, NULL, open_and_close, &openers[i]),
                              0);
    }
    for (int i = 0; i < OPENERS; i++) {
        pthread_join(openers[i].thread, NULL);
        ASSERT_STATUS(openers[i].status, ZKL_OK);
    }
    printf("\n    all opened after %lld ms ", (long long)(now_ms() - since_ms));
}

/* One of three, and two. */
static void silent_servers_fail_no_first_session(void) {
    struct scene scene;
    struct hole holes[2];
    char hosts[256];
    scene_begin(&scene, "moves-first");
    const char *servers = servers_hosts();
    const char *second = strchr(servers, ',') + 1;
    int length = (int)(second - servers) - 1;
    int port = atoi(strchr(servers, ':') + 1);
    hole_begin(&holes[0], "127.0.0.73", port);
    hole_begin(&holes[1], "127.0.0.74", port);
    snprintf(hosts, sizeof hosts, "127.0.0.73:%d,%.*s,%.*s", port, length, servers,
             (int)strcspn(second, ","), second);
    open_many(hosts);
    snprintf(hosts, sizeof hosts, "127.0.0.73:%d,127.0.0.74:%d,%.*s", port, port, length, servers);
    open_many(hosts);
    hole_end(&holes[0]);
    hole_end(&holes[1]);
    scene_end(&scene);
}

/* Those of the new list are at other addresses. */
static void new_hosts_take_the_session_and_its_lock_along(void) {
    struct moving moving;
    char hosts[64];
    moving_begin(&moving, "moves-hosts");
    for (int turn = 1; turn < PLACES; turn++) {
        int64_t session_id = client_information(moving.client).session_id;
        int next = server_now(&moving) % SERVERS + 1;
        stop(&moving, next);
        start_at(&moving, turn, next);
        snprintf(hosts, sizeof hosts, "%s", proxy_hosts(moving.proxies[next]));
        int64_t since_ms = now_ms();
        ASSERT_STATUS(zkl_client_set_hosts(moving.client, hosts), ZKL_OK);
        WAIT_UNTIL(servers_of_session(session_id) == next &&
                   client_information(moving.client).connected);
        printf("\n    on the new server after %lld ms ", (long long)(now_ms() - since_ms));
        WAIT_UNTIL(zkl_lock_check(moving.lock, NULL) == ZKL_OK);
        ASSERT_NUMBER(client_information(moving.client).session_id, session_id);
    }
    moving_end(&moving);
}

/* libzookeeper by itself would try one of two for ever, and without a pause. */
static void even_number_of_addresses_is_tried_to_the_last(void) {
    struct scene scene;
    scene_begin(&scene, "moves-even");
    struct proxy *proxy = proxy_start_at(1, "127.0.0.71", 0);
    int port = atoi(strrchr(proxy_hosts(proxy), ':') + 1);
    char hosts[64];
    snprintf(hosts, sizeof hosts, "127.0.0.71:%d,127.0.0.72:%d", port, port);
    zkl_client *client = client_open(hosts, SESSION_MS);
    for (int turn = 0; turn < 2 * TURNS; turn++) {
        int64_t since_ms = now_ms();
        proxy_stop(proxy);
        WAIT_UNTIL(!client_information(client).connected);
        usleep(300000); /* both refuse, some times over */
        proxy = proxy_start_at(1, turn % 2 == 0 ? "127.0.0.72" : "127.0.0.71", port);
        WAIT_UNTIL(client_information(client).connected);
        CU_ASSERT_TRUE(now_ms() - since_ms < SESSION_MS / 2);
    }
    ASSERT_NUMBER(client_information(client).sessions_expired, 0);
    client_close(client);
    proxy_stop(proxy);
    scene_end(&scene);
}

int main(int argc, char **argv) {
    static const struct test_case tests[] = {
        TEST_CASE(two_servers_move_and_the_third_restarts_without_the_loss_of_a_session),
        TEST_CASE(two_servers_leave_silent_addresses_and_the_third_restarts),
        TEST_CASE(two_silent_addresses_in_a_row_do_not_end_the_session),
        TEST_CASE(silent_servers_fail_no_first_session),
        TEST_CASE(new_hosts_take_the_session_and_its_lock_along),
        TEST_CASE(even_number_of_addresses_is_tried_to_the_last),
    };
    return run_tests(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
