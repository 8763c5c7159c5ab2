/* Clients and handles that are closed in the middle of other calls, by the public interface. */
#include <stdio.h>

#include "client/client.h"
#include "session/request_runner.h"
#include "support/unit.h"
#include "zklock/election.h"
#include "zklock/testing.h"
#include "zklock/zklock.h"

enum {
    SEEDS = 20,
    ACQUIRES = 20,
    SESSION_MS = 10000,
    SOON_MS = 200,
    AT_ONCE_MS = 1,       /* a thread that is woken */
    DRAIN_MS = 1000,      /* that a close takes beyond its timeout for replies, */
    END_SESSION_MS = 5000 /* and for the end of the session */
};

#define STOCK "/locks/stock"

static zkl_client *client;

static void begin(uint64_t seed) {
    zkl_testing_options options = ZKL_TESTING_OPTIONS_INIT;
    zkl_client_options given = ZKL_CLIENT_OPTIONS_INIT;
    options.seed = seed;
    given.session_timeout_ms = SESSION_MS;
    zkl_testing_begin(&options);
    EXPECT_INT(zkl_client_open("server:2181", &given, &client), ZKL_OK);
}

static zkl_lock *open_lock(const char *resource) {
    zkl_lock *lock = NULL;
    EXPECT_INT(zkl_lock_open(client, resource, NULL, &lock), ZKL_OK);
    return lock;
}

/* ---- The connection ------------------------------------------------------------------------- */

static void on_acquired(void *arg, int status, const zkl_grant *grant) {
    int *told = arg;
    (void)grant;
    EXPECT(status == ZKL_CLOSED || status == ZKL_OK);
    (*told)++;
}

/* The requests are sent, and some of them answered. */
static void begin_acquires(zkl_lock *locks[ACQUIRES], int *told, int64_t for_ms) {
    for (int i = 0; i < ACQUIRES; i++) {
        locks[i] = open_lock("stock");
        EXPECT_INT(
            zkl_lock_acquire_async(locks[i], ZKL_EXCLUSIVE, ZKL_FOREVER, NULL, on_acquired, told),
            ZKL_OK);
    }
    zkl_testing_sleep(for_ms);
}

static void end_acquires(zkl_lock *locks[ACQUIRES], int told) {
    EXPECT_INT(told, ACQUIRES);
    for (int i = 0; i < ACQUIRES; i++) {
        zkl_lock_close(locks[i]);
    }
    zkl_testing_end();
}

TEST(close_with_requests_under_way_leaves_no_node) {
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        zkl_lock *locks[ACQUIRES];
        int told = 0;
        begin(seed);
        begin_acquires(locks, &told, (int64_t)seed % 5);
        EXPECT_INT(zkl_client_close(client, 0), ZKL_OK);
        EXPECT_INT(zkl_testing_count_children(STOCK), 0);
        EXPECT_INT(zkl_testing_count_sessions(), 0);
        end_acquires(locks, told);
    }
}

/* The replies may never come. */
TEST(close_waits_for_replies_no_longer_than_its_bound) {
    zkl_lock *locks[ACQUIRES];
    int told = 0;
    begin(1);
    begin_acquires(locks, &told, 1);
    zkl_testing_partition(client, 100 * SESSION_MS);
    int64_t begun_ms = zkl_testing_now_ms();
    EXPECT_INT(zkl_client_close(client, 0), ZKL_PENDING);
    EXPECT(zkl_testing_now_ms() - begun_ms <= DRAIN_MS + END_SESSION_MS);
    end_acquires(locks, told);
}

/* ---- Handles that are closed in the middle of other calls ------------------------------------ */

/* Nobody is answered: what is asked before the client has found out is sent, and waits for its
 * answer; later nothing is sent. */
typedef enum outage { UNANSWERED, DISCONNECTED } outage;

typedef struct other_call {
    int (*call)(void);
    void (*close)(void);
    int status;       /* that it returned */
    int64_t ended_ms; /* when it returned */
} other_call;

static zkl_lock *lock;
static zkl_lock *set;
static zkl_election *election;

static void hold(void) {
    zkl_lock_member members[2] = { ZKL_LOCK_MEMBER_INIT, ZKL_LOCK_MEMBER_INIT };
    members[0].resource = "orders";
    members[1].resource = "invoices";
    lock = open_lock("stock");
    EXPECT_INT(zkl_lock_acquire(lock, ZKL_WRITE, ZKL_FOREVER, NULL), ZKL_OK);
    EXPECT_INT(zkl_lock_open_set(client, members, 2, NULL, &set), ZKL_OK);
    EXPECT_INT(zkl_lock_acquire(set, ZKL_AS_OPENED, ZKL_FOREVER, NULL), ZKL_OK);
    EXPECT_INT(zkl_election_open(client, "leader", NULL, &election), ZKL_OK);
    EXPECT_INT(zkl_election_campaign(election, ZKL_FOREVER, NULL), ZKL_OK);
}

static void cut_off(outage how) {
    if (how == DISCONNECTED) {
        zkl_testing_stop_servers();
    } else {
        zkl_testing_partition(client, SESSION_MS / 2);
    }
    zkl_testing_sleep(SOON_MS);
}

static int release_for_ever(void) {
    return zkl_lock_release(lock, ZKL_FOREVER);
}

static int verify_for_ever(void) {
    return zkl_lock_verify(lock, ZKL_FOREVER);
}

static int downgrade_for_ever(void) {
    return zkl_lock_downgrade(lock, ZKL_FOREVER);
}

static int commit_for_ever(void) {
    zkl_transaction *transaction = NULL;
    EXPECT_INT(zkl_transaction_begin(lock, &transaction), ZKL_OK);
    int status = zkl_transaction_commit(transaction, ZKL_FOREVER, NULL);
    zkl_transaction_free(transaction);
    return status;
}

static int release_all_for_ever(void) {
    return zkl_lock_release(set, ZKL_FOREVER);
}

static int resign_for_ever(void) {
    return zkl_election_resign(election, ZKL_FOREVER);
}

static void close_lock(void) {
    zkl_lock_close(lock);
    lock = NULL;
}

static void close_set(void) {
    zkl_lock_close(set);
    set = NULL;
}

static void close_election(void) {
    zkl_election_close(election);
    election = NULL;
}

static void make_call(void *arg) {
    other_call *self = arg;
    self->status = self->call();
    self->ended_ms = zkl_testing_now_ms();
}

static void close_handles(void) {
    close_lock();
    close_set();
    close_election();
}

static void close_ends(int (*call)(void), void (*close)(void), outage how, int status) {
    other_call other = { .call = call };
    begin(1);
    hold();
    cut_off(how);
    zkl_testing_task *task = zkl_testing_start(make_call, &other);
    zkl_testing_sleep(SOON_MS);
    EXPECT_INT(zkl_testing_has_ended(task), 0);
    int64_t begun_ms = zkl_testing_now_ms();
    close();
    EXPECT(zkl_testing_now_ms() - begun_ms <= AT_ONCE_MS);
    EXPECT_INT(zkl_testing_has_ended(task), 1);
    EXPECT_INT(other.status, status);
    zkl_testing_start_servers();
    EXPECT_INT(zkl_client_close(client, 10 * SESSION_MS), ZKL_OK);
    close_handles();
    EXPECT_INT(zkl_testing_count_children(STOCK), 0);
    zkl_testing_end();
}

TEST(close_ends_a_release_without_servers) {
    close_ends(release_for_ever, close_lock, UNANSWERED, ZKL_PENDING);
    close_ends(release_for_ever, close_lock, DISCONNECTED, ZKL_PENDING);
}

TEST(close_ends_a_verification_without_servers) {
    close_ends(verify_for_ever, close_lock, UNANSWERED, ZKL_SUSPECT);
    close_ends(verify_for_ever, close_lock, DISCONNECTED, ZKL_CANCELLED);
}

TEST(close_ends_a_downgrade_without_servers) {
    close_ends(downgrade_for_ever, close_lock, UNANSWERED, ZKL_NOT_HELD);
    close_ends(downgrade_for_ever, close_lock, DISCONNECTED, ZKL_NOT_HELD);
}

TEST(close_ends_a_commit_without_servers) {
    close_ends(commit_for_ever, close_lock, UNANSWERED, ZKL_UNKNOWN);
    close_ends(commit_for_ever, close_lock, DISCONNECTED, ZKL_CANCELLED);
}

TEST(close_ends_a_release_of_all_without_servers) {
    close_ends(release_all_for_ever, close_set, UNANSWERED, ZKL_PENDING);
    close_ends(release_all_for_ever, close_set, DISCONNECTED, ZKL_PENDING);
}

TEST(close_ends_a_resignation_without_servers) {
    close_ends(resign_for_ever, close_election, UNANSWERED, ZKL_PENDING);
    close_ends(resign_for_ever, close_election, DISCONNECTED, ZKL_PENDING);
}

enum { RELEASE_MS = DRAIN_MS + 5 * SOON_MS };

static int release_in_time(void) {
    return zkl_lock_release(lock, RELEASE_MS);
}

/* No server answers, and so the end of the session may take longer than the release. */
static int release_while_the_client_closes(uint64_t seed) {
    other_call other = { .call = release_in_time };
    begin(seed);
    hold();
    cut_off(UNANSWERED);
    int64_t begun_ms = zkl_testing_now_ms();
    zkl_testing_task *task = zkl_testing_start(make_call, &other);
    zkl_testing_sleep(SOON_MS);
    EXPECT_INT(zkl_client_close(client, 0), ZKL_PENDING);
    zkl_testing_join(task);
    EXPECT(other.ended_ms - begun_ms <= RELEASE_MS + AT_ONCE_MS);
    close_handles();
    zkl_testing_end();
    return other.status;
}

TEST(deadline_of_a_release_passes_while_the_sessions_of_its_client_end) {
    int pending = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        int status = release_while_the_client_closes(seed);
        EXPECT(status == ZKL_PENDING || status == ZKL_CLOSED);
        pending += status == ZKL_PENDING ? 1 : 0;
    }
    EXPECT(pending > 0);
}

/* ---- Several sessions, and such as were given up --------------------------------------------- */

enum { CROWD = 480, NAME_LENGTH = 500 }; /* more than one session watches for */

static zkl_lock *crowd[CROWD];

static void name_one(char name[NAME_LENGTH + 1], int number) {
    snprintf(name, NAME_LENGTH + 1, "%0*d", NAME_LENGTH, number);
}

static size_t count_nodes(int number) {
    char name[NAME_LENGTH + 1];
    char path[NAME_LENGTH + 16];
    name_one(name, number);
    snprintf(path, sizeof(path), "/locks/%s", name);
    return zkl_testing_count_children(path);
}

/* The last ones are requests of a second session. */
static void acquire_crowd(void) {
    zkl_client_information information = ZKL_CLIENT_INFORMATION_INIT;
    for (int i = 0; i < CROWD; i++) {
        char name[NAME_LENGTH + 1];
        name_one(name, i);
        crowd[i] = open_lock(name);
        EXPECT_INT(zkl_lock_acquire(crowd[i], ZKL_EXCLUSIVE, ZKL_FOREVER, NULL), ZKL_OK);
    }
    EXPECT_INT(zkl_client_info(client, &information), ZKL_OK);
    EXPECT_INT(information.sessions, 2);
}

static void release_crowd(int from, int to) {
    for (int i = from; i < to; i++) {
        EXPECT_INT(zkl_lock_release(crowd[i], 0), ZKL_OK);
    }
    zkl_testing_sleep(SOON_MS);
}

static void end_crowd(void) {
    for (int i = 0; i < CROWD; i++) {
        zkl_lock_close(crowd[i]);
    }
    zkl_testing_end();
}

TEST(close_waits_for_the_requests_of_each_session) {
    const int64_t slow_ms = 3000;
    begin(1);
    acquire_crowd();
    release_crowd(0, CROWD - 1);
    zkl_testing_slow_servers(slow_ms, 10 * SESSION_MS);
    int64_t begun_ms = zkl_testing_now_ms();
    EXPECT_INT(zkl_client_close(client, SESSION_MS), ZKL_OK);
    EXPECT(zkl_testing_now_ms() - begun_ms >= slow_ms);
    EXPECT_INT(count_nodes(CROWD - 1), 0);
    end_crowd();
}

static void on_any(void *arg, int status, const zkl_grant *grant) {
    (void)arg;
    (void)status;
    (void)grant;
}

/* Behind a contender that stays. */
static void wait_in_vain(zkl_lock *one, const char *path) {
    zkl_testing_add_contender(path, ZKL_EXCLUSIVE, NULL);
    EXPECT_INT(zkl_lock_acquire_async(one, ZKL_EXCLUSIVE, ZKL_FOREVER, NULL, on_any, NULL), ZKL_OK);
    zkl_testing_sleep(SOON_MS);
    EXPECT_INT(zkl_testing_count_children(path), 2);
}

static int has_joined_again(void *path) {
    return zkl_testing_count_children(path) == 3;
}

/* As liveness.c does it with a session that says nothing. Returns when it has joined again, beside
 * the node that it has left behind. */
static void let_be_given_up(const zkl_client_session *one, char *path) {
    zkl_testing_disconnect(client, SOON_MS);
    zkl_testing_sleep(1);
    pthread_mutex_lock(&client->mutex);
    one->session.abandon(one->session.arg);
    pthread_mutex_unlock(&client->mutex);
    EXPECT(zkl_testing_wait_until(has_joined_again, path, SESSION_MS));
}

TEST(close_is_pending_when_a_second_session_was_given_up) {
    char name[NAME_LENGTH + 1];
    char path[NAME_LENGTH + 16];
    begin(1);
    acquire_crowd();
    name_one(name, CROWD - 1);
    snprintf(path, sizeof(path), "/locks/%s", name);
    int in_first = (int)(ZKL_WATCHED_BYTES_MAX / zkl_request_runner_watched_bytes(path, 0, false));
    release_crowd(in_first, CROWD);
    wait_in_vain(crowd[CROWD - 1], path);
    let_be_given_up(client->sessions->next, path);
    zkl_testing_sleep(SOON_MS);
    release_crowd(0, in_first);
    EXPECT_INT(zkl_client_close(client, 0), ZKL_PENDING);
    EXPECT_INT(zkl_testing_count_children(path), 2);
    end_crowd();
}

/* The servers end it when it has been silent for its timeout, and then with their next tick. */
static int close_after_a_session_was_given_up(int64_t after_ms) {
    char path[] = STOCK;
    begin(1);
    lock = open_lock("stock");
    wait_in_vain(lock, path);
    let_be_given_up(client->sessions, path);
    zkl_testing_sleep(after_ms);
    int status = zkl_client_close(client, 0);
    EXPECT(status == ZKL_OK || status == ZKL_PENDING);
    EXPECT(status == ZKL_PENDING || zkl_testing_count_children(path) == 1);
    zkl_lock_close(lock);
    zkl_testing_end();
    return status;
}

TEST(close_says_ok_only_when_the_session_that_was_given_up_has_ended) {
    for (int64_t after_ms = 0; after_ms < 2 * SESSION_MS; after_ms += SOON_MS) {
        (void)close_after_a_session_was_given_up(after_ms);
    }
    EXPECT_INT(close_after_a_session_was_given_up(0), ZKL_PENDING);
    EXPECT_INT(close_after_a_session_was_given_up(3 * SESSION_MS), ZKL_OK);
}

/* Given the time, it waits for that. */
TEST(close_waits_for_the_end_of_a_session_that_was_given_up) {
    char path[] = STOCK;
    begin(1);
    lock = open_lock("stock");
    wait_in_vain(lock, path);
    let_be_given_up(client->sessions, path);
    EXPECT_INT(zkl_client_close(client, 3 * SESSION_MS), ZKL_OK);
    EXPECT_INT(zkl_testing_count_children(path), 1);
    zkl_lock_close(lock);
    zkl_testing_end();
}

/* Long ago: its nodes have gone, and the client has been connected for long. */
/* Reconnected just now, without servers, or connected all the time. */
static int close_long_after_a_session_was_given_up(int how, int64_t *took_ms) {
    char path[] = STOCK;
    begin(1);
    lock = open_lock("stock");
    wait_in_vain(lock, path);
    let_be_given_up(client->sessions, path);
    zkl_lock_close(lock);
    zkl_testing_sleep(20 * SESSION_MS);
    EXPECT_INT(zkl_testing_count_children(path), 1);
    if (how == 0) {
        zkl_testing_disconnect(client, SOON_MS);
        zkl_testing_sleep(5 * SOON_MS);
    } else if (how == 1) {
        zkl_testing_stop_servers();
        zkl_testing_sleep(SESSION_MS);
    }
    int64_t begun_ms = zkl_testing_now_ms();
    int status = zkl_client_close(client, SESSION_MS);
    *took_ms = zkl_testing_now_ms() - begun_ms;
    zkl_testing_end();
    return status;
}

TEST(close_long_after_a_give_up_says_ok) {
    int64_t took_ms = 0;
    for (int how = 0; how < 3; how++) {
        EXPECT_INT(close_long_after_a_session_was_given_up(how, &took_ms), ZKL_OK);
        EXPECT(took_ms < SESSION_MS);
    }
}

/* ---- A lost create that may come later ------------------------------------------------------ */

static void lose_create(void) {
    lock = open_lock("stock");
    EXPECT_INT(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, ZKL_FOREVER, NULL), ZKL_OK);
    EXPECT_INT(zkl_lock_release(lock, ZKL_FOREVER), ZKL_OK);
    EXPECT(client->sessions->session.runners == NULL);
    zkl_testing_lose_reply(client, ZKL_TESTING_CREATE, 0);
    EXPECT_INT(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, ZKL_FOREVER, NULL), ZKL_OK);
}

static uint64_t count_pending(void) {
    zkl_client_information information = ZKL_CLIENT_INFORMATION_INIT;
    EXPECT_INT(zkl_client_info(client, &information), ZKL_OK);
    return information.pending_deletions;
}

TEST(release_and_close_do_not_wait_for_a_request_that_lingers) {
    begin(1);
    lose_create();
    int64_t begun_ms = zkl_testing_now_ms();
    EXPECT_INT(zkl_lock_release(lock, ZKL_FOREVER), ZKL_OK);
    EXPECT(client->sessions->session.runners != NULL);
    EXPECT_INT(count_pending(), 0);
    EXPECT_INT(zkl_client_close(client, 10 * SESSION_MS), ZKL_OK);
    EXPECT(zkl_testing_now_ms() - begun_ms <= SOON_MS);
    close_lock();
    zkl_testing_end();
}

TEST(close_does_not_wait_for_a_request_that_begins_to_linger) {
    begin(1);
    lose_create();
    int64_t begun_ms = zkl_testing_now_ms();
    EXPECT_INT(zkl_client_close(client, 10 * SESSION_MS), ZKL_OK);
    EXPECT(zkl_testing_now_ms() - begun_ms <= SOON_MS);
    EXPECT_INT(zkl_testing_count_children(STOCK), 0);
    close_lock();
    zkl_testing_end();
}

TEST(request_that_lingers_is_gone_in_the_end) {
    begin(1);
    lose_create();
    EXPECT_INT(zkl_lock_release(lock, ZKL_FOREVER), ZKL_OK);
    zkl_testing_sleep(5 * SESSION_MS - SOON_MS);
    EXPECT(client->sessions->session.runners != NULL);
    zkl_testing_sleep(2 * SOON_MS);
    EXPECT(client->sessions->session.runners == NULL);
    close_lock();
    EXPECT_INT(zkl_client_close(client, 10 * SESSION_MS), ZKL_OK);
    zkl_testing_end();
}
