/*
 * A striped lock is cancelled while another thread begins to acquire it: between the moment from
 * which on it counts as acquiring and that in which a stripe is asked for. Threads of the machine,
 * as the simulation's never meet there, and a server that does no more than to make a session:
 * nobody is to be granted anything.
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "support/unit.h"
#include "zklock/striped_lock.h"

enum { STRIPES = 3, ROUNDS = 300, SESSION_MS = 60000, LONG_MS = 5000 };

/* ---- The server ----------------------------------------------------------------------------- */

/* A frame of ZooKeeper's: its length, then the version of the protocol, the timeout, the number of
 * the session, and its password. */
enum { FRAME_SIZE = 40, PASSWORD_SIZE = 16 };

static int listener;

static void put(unsigned char *at, uint32_t value) {
    for (int i = 0; i < 4; i++) {
        at[i] = (unsigned char)(value >> (24 - 8 * i));
    }
}

/* It answers the first thing that it hears, and is silent then. */
static void *serve(void *arg) {
    int *connection = arg;
    unsigned char question[256];
    unsigned char answer[FRAME_SIZE] = { 0 };
    put(answer, FRAME_SIZE - 4);
    put(answer + 8, SESSION_MS);
    put(answer + 16, 1);
    put(answer + 20, PASSWORD_SIZE);
    *connection = accept(listener, NULL, NULL);
    EXPECT(*connection >= 0 && read(*connection, question, sizeof(question)) > 0);
    EXPECT_INT(write(*connection, answer, sizeof(answer)), FRAME_SIZE);
    return NULL;
}

static int listen_somewhere(void) {
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof(address);
    listener = socket(AF_INET, SOCK_STREAM, 0);
    EXPECT_INT(bind(listener, (const struct sockaddr *)&address, size), 0);
    EXPECT_INT(listen(listener, 1), 0);
    EXPECT_INT(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    return ntohs(address.sin_port);
}

/* ---- The clients ---------------------------------------------------------------------------- */

static zkl_client *client;
static zkl_striped_lock *striped_lock;

static void open_client(int *connection) {
    char hosts[32];
    pthread_t server;
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    options.session_timeout_ms = SESSION_MS;
    snprintf(hosts, sizeof(hosts), "127.0.0.1:%d", listen_somewhere());
    EXPECT_INT(pthread_create(&server, NULL, serve, connection), 0);
    EXPECT_INT(zkl_client_open(hosts, &options, &client), ZKL_OK);
    EXPECT_INT(pthread_join(server, NULL), 0);
}

typedef int acquire_way(void);

static int acquire_key(void) {
    return zkl_striped_lock_acquire(striped_lock, 1, ZKL_EXCLUSIVE, LONG_MS, NULL);
}

static int acquire_any(void) {
    return zkl_striped_lock_acquire(striped_lock, ZKL_ANY_STRIPE, ZKL_EXCLUSIVE, LONG_MS, NULL);
}

static int acquire_all(void) {
    return zkl_striped_lock_acquire(striped_lock, ZKL_ALL_STRIPES, ZKL_EXCLUSIVE, LONG_MS, NULL);
}

typedef struct caller {
    acquire_way *acquire;
    int status;
} caller;

static void *call(void *arg) {
    caller *self = arg;
    self->status = self->acquire();
    return NULL;
}

/* ---- Cancels -------------------------------------------------------------------------------- */

static int64_t now_ms(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* As soon as it can be. False: it waited on all the same, up to its deadline. */
static bool cancel_ends(acquire_way *acquire) {
    caller self = { acquire, 1 };
    int64_t began_ms = now_ms();
    pthread_t thread;
    EXPECT_INT(pthread_create(&thread, NULL, call, &self), 0);
    int status = ZKL_NOT_WAITING;
    while (status == ZKL_NOT_WAITING) {
        (void)sched_yield();
        status = zkl_striped_lock_cancel(striped_lock);
    }
    EXPECT_INT(status, ZKL_OK);
    EXPECT_INT(pthread_join(thread, NULL), 0);
    EXPECT_INT(self.status, ZKL_CANCELLED);
    bool at_once = now_ms() - began_ms < LONG_MS;
    EXPECT(at_once);
    return at_once;
}

static void cancel_ends_in_each_of_many_rounds(acquire_way *acquire) {
    int connection = -1;
    open_client(&connection);
    EXPECT_INT(zkl_striped_lock_open(client, "stock", STRIPES, NULL, &striped_lock), ZKL_OK);
    for (int round = 0; round < ROUNDS && cancel_ends(acquire); round++) {
    }
    zkl_striped_lock_close(striped_lock);
    (void)close(listener);
    (void)close(connection);
    (void)zkl_client_close(client, 0);
}

TEST(cancel_just_before_the_stripe_of_a_key_is_asked_for_ends_the_acquire) {
    cancel_ends_in_each_of_many_rounds(acquire_key);
}

TEST(cancel_just_before_any_stripe_is_asked_for_ends_the_acquire) {
    cancel_ends_in_each_of_many_rounds(acquire_any);
}

TEST(cancel_just_before_all_stripes_are_asked_for_ends_the_acquire) {
    cancel_ends_in_each_of_many_rounds(acquire_all);
}
