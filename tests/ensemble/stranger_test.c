/*
 * What somebody can do to sessions who may connect to a server, and may do nothing else:
 * docs/security.md, "Sessions are no secret". The stranger knows the id of a session, computes the
 * password that belongs to it, and speaks the few bytes of the protocol that it needs.
 */
#include "support/process.h"
#include "support/scene.h"
#include "support/servers.h"

#include <inttypes.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- The stranger ------------------------------------------------------------------ */

#define PASSWORD_SIZE 16
#define FRAME_MAX 256
#define XID_OF_AUTH (-4)
#define TYPE_OF_AUTH 100
#define TYPE_OF_CLOSE_SESSION (-11)

/* java.util.Random(id ^ constant).nextBytes, as ZooKeeperServer.generatePasswd has it. */
static void guess_password(int64_t session_id, unsigned char password[PASSWORD_SIZE]) {
    const uint64_t constant = 0xB3415C00;
    const uint64_t multiplier = 0x5DEECE66D;
    const uint64_t mask = (UINT64_C(1) << 48) - 1;
    uint64_t state = ((uint64_t)session_id ^ constant ^ multiplier) & mask;
    for (int i = 0; i < PASSWORD_SIZE; i += 4) {
        state = (state * multiplier + 11) & mask;
        for (int byte = 0; byte < 4; byte++) {
            password[i + byte] = (unsigned char)(state >> (16 + 8 * byte));
        }
    }
}

struct frame {
    unsigned char bytes[FRAME_MAX];
    size_t size;
};

static void put(struct frame *frame, const void *bytes, size_t size) {
    memcpy(frame->bytes + frame->size, bytes, size);
    frame->size += size;
}

static void put_number(struct frame *frame, int32_t number) {
    uint32_t big_endian = htonl((uint32_t)number);
    put(frame, &big_endian, sizeof big_endian);
}

static void put_long(struct frame *frame, int64_t number) {
    put_number(frame, (int32_t)(number >> 32));
    put_number(frame, (int32_t)number);
}

static void put_bytes(struct frame *frame, const void *bytes, size_t size) {
    put_number(frame, (int32_t)size);
    put(frame, bytes, size);
}

static int32_t number_at(const struct frame *frame, size_t place) {
    uint32_t big_endian;
    memcpy(&big_endian, frame->bytes + place, sizeof big_endian);
    return (int32_t)ntohl(big_endian);
}

static void send_frame(int fd, const struct frame *frame) {
    struct frame whole = { .size = 0 };
    put_bytes(&whole, frame->bytes, frame->size);
    if (send(fd, whole.bytes, whole.size, MSG_NOSIGNAL) != (ssize_t)whole.size) {
        give_up("the stranger cannot send");
    }
}

/* False: the server has ended the connection. */
static bool receive_frame(int fd, struct frame *frame) {
    frame->size = 0;
    if (recv(fd, frame->bytes, 4, MSG_WAITALL) != 4) {
        return false;
    }
    size_t size = (size_t)number_at(frame, 0);
    if (size > sizeof frame->bytes) {
        give_up("an answer of %zu bytes", size);
    }
    frame->size = size;
    return recv(fd, frame->bytes, size, MSG_WAITALL) == (ssize_t)size;
}

/* Continues the session of another: its socket; -1: the server says that there is none. */
static int take_session(int server, int64_t session_id, int32_t timeout_ms) {
    unsigned char password[PASSWORD_SIZE];
    struct frame frame = { .size = 0 };
    int fd = server_connect(server);
    if (fd < 0) {
        give_up("the stranger cannot connect to server %d", server);
    }
    guess_password(session_id, password);
    put_number(&frame, 0); /* the version of the protocol */
    put_long(&frame, 0);   /* the last transaction that it has seen */
    put_number(&frame, timeout_ms);
    put_long(&frame, session_id);
    put_bytes(&frame, password, sizeof password);
    send_frame(fd, &frame);
    bool is_answered = receive_frame(fd, &frame);
    bool is_granted = is_answered && number_at(&frame, 4) > 0; /* the timeout */
    if (!is_granted) {
        close(fd);
    }
    return is_granted ? fd : -1;
}

/* The session goes on without a connection. */
static void leave_session(int fd) {
    if (fd >= 0) {
        close(fd);
    }
}

/* Servers that require a digest take any. */
static void send_digest_of_nobody(int fd) {
    static const char nobody[] = "nobody:nothing";
    struct frame frame = { .size = 0 };
    put_number(&frame, XID_OF_AUTH);
    put_number(&frame, TYPE_OF_AUTH);
    put_number(&frame, 0);
    put_bytes(&frame, "digest", strlen("digest"));
    put_bytes(&frame, nobody, strlen(nobody));
    send_frame(fd, &frame);
}

static void send_close_session(int fd) {
    struct frame frame = { .size = 0 };
    put_number(&frame, 1);
    put_number(&frame, TYPE_OF_CLOSE_SESSION);
    send_frame(fd, &frame);
}

/* What a stranger does with a session of another, by way of one server. */
typedef void deed(int server, int64_t session_id);

/* For the shortest timeout that servers give. */
static void shorten_session(int server, int64_t session_id) {
    leave_session(take_session(server, session_id, 1));
}

/* Servers that require SASL do not take the end: there, it is shortened. */
static void end_session(int server, int64_t session_id) {
    int fd = take_session(server, session_id, 1);
    if (fd >= 0) {
        struct frame answer;
        send_digest_of_nobody(fd);
        send_close_session(fd);
        while (receive_frame(fd, &answer)) {
            /* Until the server ends the connection. */
        }
    }
    leave_session(fd);
}

static bool prolong_session(int server, int64_t session_id) {
    int fd = take_session(server, session_id, LONG_SESSION_MS);
    leave_session(fd);
    return fd >= 0;
}

/* ---- A holder, and another that waits ------------------------------------------------ */

struct pair {
    struct scene scene;
    zkl_client *client; /* the holder's, on a follower */
    zkl_lock *lock;
    zkl_grant grant;
    int64_t session_id;
    zkl_client *other;
    zkl_lock *other_lock;
    struct waiter waiter; /* on the leader */
};

static zkl_client *client_on(int server, int32_t lease_tick_ms) {
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    zkl_client *client = NULL;
    options.session_timeout_ms = LONG_SESSION_MS;
    options.connect_timeout_ms = PATIENCE_MS;
    options.lease_tick_ms = lease_tick_ms;
    ASSERT_STATUS(zkl_client_open(server_host(server), &options, &client), ZKL_OK);
    return client;
}

static void pair_begin(struct pair *pair, const char *stem, int32_t lease_tick_ms) {
    scene_begin(&pair->scene, stem);
    pair->client = client_on(servers_follower(), lease_tick_ms);
    pair->lock = lock_open(pair->client, pair->scene.resource);
    pair->grant = (zkl_grant)ZKL_GRANT_INIT;
    ASSERT_STATUS(zkl_lock_acquire(pair->lock, ZKL_EXCLUSIVE, PATIENCE_MS, &pair->grant), ZKL_OK);
    pair->session_id = client_information(pair->client).session_id;
    pair->other = client_on(servers_leader(), 0);
    pair->other_lock = lock_open(pair->other, pair->scene.resource);
    waiter_start(&pair->waiter, pair->other_lock, ZKL_EXCLUSIVE, 2 * PATIENCE_MS);
    WAIT_UNTIL(scene_watches_on(&pair->scene, pair->grant.node) == 1);
    ASSERT_STATUS(zkl_lock_check(pair->lock, NULL), ZKL_OK);
}

static void pair_end(struct pair *pair) {
    WAIT_UNTIL(zkl_lock_check(pair->lock, NULL) == ZKL_LOST);
    ASSERT_STATUS(zkl_lock_check(pair->other_lock, NULL), ZKL_OK);
    zkl_lock_close(pair->other_lock);
    client_close(pair->other);
    zkl_lock_close(pair->lock);
    client_close(pair->client);
    scene_end(&pair->scene);
}

/* At a server that is not the holder's. The holder may come between with a reconnect, and its
 * server with what it has heard of it before: so again, when the session should be over. */
static void stranger_acts_until_the_other_is_granted(struct pair *pair, deed *act, int server,
                                                     int64_t session_id) {
    int64_t begun_at = now_ms();
    int64_t next_at = begun_at;
    int times = 0;
    while (!waiter_is_done(&pair->waiter) && now_ms() < begun_at + PATIENCE_MS) {
        if (now_ms() >= next_at) {
            act(server, session_id);
            next_at = now_ms() + SHORT_SESSION_MS;
            times++;
        }
        nap();
    }
    ASSERT_STATUS(waiter_join(&pair->waiter), ZKL_OK);
    int64_t took_ms = pair->waiter.returned_at_ms - begun_at;
    printf("another is granted after %" PRId64 " ms of %d, at attempt %d; ", took_ms,
           LONG_SESSION_MS, times);
    CU_ASSERT_TRUE(took_ms < LONG_SESSION_MS / 2);
    /* The fence tells the two apart. */
    CU_ASSERT_TRUE(pair->waiter.grant.token > pair->grant.token);
}

/* ---- What it can do --------------------------------------------------------------------- */

/* It need not be told an id: those of one server count up. */
static void stranger_ends_the_session_of_a_holder_that_it_found_by_counting(void) {
    struct pair pair;
    pair_begin(&pair, "stranger-ends", 0);
    zkl_client *own = client_on(servers_follower(), 0);
    int64_t guess = client_information(own).session_id - 1;
    ASSERT_NUMBER(guess, pair.session_id);
    stranger_acts_until_the_other_is_granted(&pair, end_session, servers_leader(), guess);
    client_close(own);
    pair_end(&pair);
}

static void stranger_shortens_the_session_of_a_holder_that_is_connected(void) {
    struct pair pair;
    pair_begin(&pair, "stranger-shortens", 0);
    stranger_acts_until_the_other_is_granted(&pair, shorten_session, servers_leader(),
                                             pair.session_id);
    pair_end(&pair);
}

/* Again and again, as servers may still tell each other of the timeout that the dead one had. */
static void stranger_prolongs_the_session_of_a_holder_that_is_dead(void) {
    struct scene scene;
    struct process dead;
    zkl_grant grant;
    scene_begin(&scene, "stranger-prolongs");
    const struct process_options options = { .hosts = servers_hosts(),
                                             .resource = scene.resource,
                                             .session_timeout_ms = SHORT_SESSION_MS };
    process_start(&dead, &options);
    ASSERT_STATUS(process_acquire(&dead, ZKL_EXCLUSIVE, PATIENCE_MS, &grant), ZKL_OK);
    int server = servers_leader();
    process_signal(&dead, SIGKILL);
    STAYS(prolong_session(server, dead.session_id), 4 * SHORT_SESSION_MS);
    ASSERT_NUMBER(scene_queue(&scene), 1);
    end_session(server, dead.session_id);
    WAIT_UNTIL(scene_queue(&scene) == 0);
    process_end(&dead);
    scene_end(&scene);
}

/* The lease counts on nobody doing that. While no news come through, its holder goes on by it. */
static void stranger_shortens_the_session_of_a_holder_whose_lease_runs_on_in_silence(void) {
    struct pair pair;
    int64_t left_ms = 0;
    pair_begin(&pair, "stranger-lease", (int32_t)servers_tick_ms());
    int server = servers_follower();
    int other_server = servers_leader();
    server_pause(server);
    stranger_acts_until_the_other_is_granted(&pair, shorten_session, other_server, pair.session_id);
    ASSERT_STATUS(zkl_lock_check(pair.lock, &left_ms), ZKL_OK);
    CU_ASSERT_TRUE(left_ms > 0);
    WAIT_UNTIL(zkl_lock_check(pair.lock, NULL) != ZKL_OK);
    printf("both were OK for %" PRId64 " ms; ", now_ms() - pair.waiter.returned_at_ms);
    server_resume(server);
    pair_end(&pair);
}

int main(int argc, char **argv) {
    static const struct test_case tests[] = {
        TEST_CASE(stranger_ends_the_session_of_a_holder_that_it_found_by_counting),
        TEST_CASE(stranger_shortens_the_session_of_a_holder_that_is_connected),
        TEST_CASE(stranger_prolongs_the_session_of_a_holder_that_is_dead),
        TEST_CASE(stranger_shortens_the_session_of_a_holder_whose_lease_runs_on_in_silence),
    };
    return run_tests(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
