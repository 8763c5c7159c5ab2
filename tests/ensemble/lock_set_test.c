/*
 * Sets on real servers: one transaction makes all nodes, whatever order they are named in
 * and whatever becomes of its request or of its reply.
 */
#include "support/ledger.h"
#include "support/process.h"
#include "support/proxy.h"
#include "support/rounds.h"
#include "support/scene.h"
#include "support/servers.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zklock/zklock.h>

#define SESSION_MS 6000
#define ENOUGH_MS (2 * SESSION_MS)
/* A stop is longer than this. */
#define HOLD_MS 500

/* ---- Two resources ------------------------------------------------------------------------ */

struct pair {
    struct scene one;
    struct scene other;
};

static void pair_begin(struct pair *pair) {
    scene_begin(&pair->one, "set-one");
    scene_begin(&pair->other, "set-other");
}

/* Asserts that no node and no watch is left of either. */
static void pair_end(struct pair *pair) {
    scene_end(&pair->one);
    scene_end(&pair->other);
}

static bool both_have(struct pair *pair, int nodes) {
    return scene_queue(&pair->one) == nodes && scene_queue(&pair->other) == nodes;
}

static bool both_are_watched(struct pair *pair) {
    return scene_watches(&pair->one) == 1 && scene_watches(&pair->other) == 1;
}

static zkl_lock *open_both_with(zkl_client *client, struct pair *pair,
                                const zkl_lock_options *options) {
    zkl_lock_member members[] = { ZKL_LOCK_MEMBER_INIT, ZKL_LOCK_MEMBER_INIT };
    members[0].resource = pair->one.resource;
    members[1].resource = pair->other.resource;
    zkl_lock *both = NULL;
    ASSERT_STATUS(zkl_lock_open_set(client, members, 2, options, &both), ZKL_OK);
    return both;
}

static zkl_lock *open_both(zkl_client *client, struct pair *pair) {
    return open_both_with(client, pair, NULL);
}

struct sole_child {
    char path[512];
    const char *parent;
    int count;
};

static void take_child(void *arg, const char *name) {
    struct sole_child *child = arg;
    snprintf(child->path, sizeof child->path, "%s/%s", child->parent, name);
    child->count++;
}

/* There is one node, and its czxid is the token. */
static void assert_token_is_of_the_node(struct scene *scene, int64_t token) {
    struct sole_child child = { .parent = scene->path };
    struct Stat stat = { 0 };
    raw_catch_up(scene->raw);
    raw_visit_children(scene->raw, scene->path, take_child, &child);
    ASSERT_NUMBER(child.count, 1);
    CU_ASSERT_TRUE(child.count == 1 && raw_stat(scene->raw, child.path, &stat));
    ASSERT_NUMBER(stat.czxid, token);
}

static void assert_one_token(struct pair *pair, int64_t token) {
    assert_token_is_of_the_node(&pair->one, token);
    assert_token_is_of_the_node(&pair->other, token);
}

/* An acquire of both in a thread of its own. */
struct patient {
    zkl_lock *both;
    int status;
    zkl_grant grant;
    pthread_t thread;
};

static void *acquire_patiently(void *arg) {
    struct patient *self = arg;
    self->status = zkl_lock_acquire(self->both, ZKL_AS_OPENED, 2 * PATIENCE_MS, &self->grant);
    return NULL;
}

static void patient_start(struct patient *patient, zkl_lock *both) {
    patient->both = both;
    patient->grant = (zkl_grant)ZKL_GRANT_INIT;
    thread_start(&patient->thread, acquire_patiently, patient);
}

static void patient_join(struct patient *patient) {
    pthread_join(patient->thread, NULL);
    ASSERT_STATUS(patient->status, ZKL_OK);
}

/* ---- All ---------------------------------------------------------------------------------- */

/* Neither the resources nor the nodes above them are there. */
static void both_are_held_with_one_token_though_nothing_was_there(void) {
    struct pair pair;
    pair_begin(&pair);
    zkl_client *client = client_open(servers_hosts(), LONG_SESSION_MS);
    zkl_lock *both = open_both(client, &pair);
    zkl_grant grant = ZKL_GRANT_INIT;
    ASSERT_STATUS(zkl_lock_acquire(both, ZKL_AS_OPENED, PATIENCE_MS, &grant), ZKL_OK);
    assert_one_token(&pair, grant.token);
    ASSERT_STATUS(zkl_lock_check(both, NULL), ZKL_OK);
    ASSERT_STATUS(zkl_lock_release(both, PATIENCE_MS), ZKL_OK);
    CU_ASSERT_TRUE(both_have(&pair, 0));
    zkl_lock_close(both);
    client_close(client);
    pair_end(&pair);
}

static void try_that_finds_one_of_them_held_leaves_nothing(void) {
    struct pair pair;
    pair_begin(&pair);
    zkl_client *client = client_open_on(1);
    zkl_lock *lock = lock_open(client, pair.other.resource);
    zkl_lock *both = open_both(client, &pair);
    ASSERT_STATUS(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
    ASSERT_STATUS(zkl_lock_acquire(both, ZKL_AS_OPENED, 0, NULL), ZKL_BUSY);
    WAIT_UNTIL(scene_queue(&pair.one) == 0 && scene_queue(&pair.other) == 1);
    zkl_lock_close(lock);
    zkl_lock_close(both);
    client_close(client);
    pair_end(&pair);
}

enum { CROWD = 4, ROUNDS = 25 };

/* Half of them name the two the other way round: one after the other this would not end. */
static void processes_that_name_them_in_opposite_orders_all_finish(void) {
    struct pair pair;
    struct process crowd[CROWD];
    char ledger[64];
    int64_t number = 0;
    pair_begin(&pair);
    ledger_make(ledger);
    for (int i = 0; i < CROWD; i++) {
        struct process_options options = { .hosts = servers_hosts(),
                                           .resource =
                                               i % 2 == 0 ? pair.one.resource : pair.other.resource,
                                           .session_timeout_ms = LONG_SESSION_MS };
        process_start(&crowd[i], &options);
    }
    for (int i = 0; i < CROWD; i++) {
        process_tell(&crowd[i], "count_both %s %d %s\n",
                     i % 2 == 0 ? pair.other.resource : pair.one.resource, ROUNDS, ledger);
    }
    for (int i = 0; i < CROWD; i++) {
        ASSERT_STATUS(process_answer(&crowd[i]), ZKL_OK);
        process_end(&crowd[i]);
    }
    CU_ASSERT_TRUE(ledger_look(ledger, &number));
    ASSERT_NUMBER(number, CROWD * ROUNDS);
    ledger_remove(ledger);
    pair_end(&pair);
}

/* ---- Failures ----------------------------------------------------------------------------- */

static void holder_that_is_killed_leaves_both_to_the_next(void) {
    struct pair pair;
    struct process holder;
    struct patient next;
    zkl_grant held;
    pair_begin(&pair);
    process_start(&holder, &(struct process_options){ .hosts = servers_hosts(),
                                                      .resource = pair.one.resource,
                                                      .session_timeout_ms = SHORT_SESSION_MS });
    process_tell(&holder, "hold_both %s\n", pair.other.resource);
    ASSERT_STATUS(process_answer_grant(&holder, &held), ZKL_OK);
    zkl_client *client = client_open_on(2);
    patient_start(&next, open_both(client, &pair));
    WAIT_UNTIL(both_have(&pair, 2) && both_are_watched(&pair));
    process_signal(&holder, SIGKILL);
    patient_join(&next);
    CU_ASSERT_TRUE(next.grant.token > held.token);
    assert_one_token(&pair, next.grant.token);
    process_end(&holder);
    zkl_lock_close(next.both);
    client_close(client);
    pair_end(&pair);
}

static void expiry_while_waiting_joins_both_queues_again(void) {
    struct pair pair;
    struct patient waiting;
    zkl_grant held = ZKL_GRANT_INIT;
    pair_begin(&pair);
    struct proxy *proxy = proxy_start(0);
    zkl_client *client = client_open(proxy_hosts(proxy), SESSION_MS);
    zkl_client *holders_client = client_open_on(1);
    zkl_lock *holder = open_both(holders_client, &pair);
    ASSERT_STATUS(zkl_lock_acquire(holder, ZKL_AS_OPENED, PATIENCE_MS, &held), ZKL_OK);
    patient_start(&waiting, open_both(client, &pair));
    WAIT_UNTIL(both_have(&pair, 2) && both_are_watched(&pair));
    clientid_t session = proxy_session(proxy);
    raw_expire(servers_hosts(), &session);
    WAIT_UNTIL(client_information(client).sessions_expired == 1 && both_have(&pair, 2));
    ASSERT_STATUS(zkl_lock_check(holder, NULL), ZKL_OK);
    ASSERT_STATUS(zkl_lock_release(holder, PATIENCE_MS), ZKL_OK);
    patient_join(&waiting);
    assert_one_token(&pair, waiting.grant.token);
    zkl_lock_close(waiting.both);
    zkl_lock_close(holder);
    client_close(client);
    client_close(holders_client);
    proxy_stop(proxy);
    pair_end(&pair);
}

/* Half of a lost transaction is no half: all of it was carried out, or nothing. */
static int acquire_with_a_cut(enum proxy_fault fault, int request) {
    struct pair pair;
    const struct proxy_plan plan = { { { fault, request } }, 1, false };
    zkl_grant grant = ZKL_GRANT_INIT;
    pair_begin(&pair);
    struct proxy *proxy = proxy_start(0);
    zkl_client *client = client_open(proxy_hosts(proxy), SESSION_MS);
    zkl_lock *both = open_both(client, &pair);
    proxy_set_plan(proxy, &plan);
    ASSERT_STATUS(zkl_lock_acquire(both, ZKL_AS_OPENED, ENOUGH_MS, &grant), ZKL_OK);
    assert_one_token(&pair, grant.token);
    ASSERT_STATUS(zkl_lock_check(both, NULL), ZKL_OK);
    ASSERT_STATUS(zkl_lock_release(both, ENOUGH_MS), ZKL_OK);
    CU_ASSERT_TRUE(both_have(&pair, 0));
    int cuts = proxy_end_plan(proxy);
    ASSERT_NUMBER(client_information(client).sessions_expired, 0);
    zkl_lock_close(both);
    client_close(client);
    proxy_stop(proxy);
    pair_end(&pair);
    return cuts;
}

/* The transaction that finds no parents; the two parents; it again; for each its node's inspection,
 * a list and the deletion. */
enum { LEAST_REQUESTS = 1 + 2 + 1 + 2 * 3 };

static void request_lost_at_every_step_leaves_no_half(void) {
    cut_at_every_request(acquire_with_a_cut, PROXY_REQUEST_LOST, LEAST_REQUESTS);
}

static void reply_lost_at_every_request_leaves_no_half(void) {
    cut_at_every_request(acquire_with_a_cut, PROXY_REPLY_LOST, LEAST_REQUESTS);
}

/* ---- A stop, and a refusal ------------------------------------------------------------------ */

/* As a debugger does it, or a machine that swaps: of this process, for a second. Which thread goes
 * on first is left to chance then; here it is the one that calls this. The others follow at
 * go_on(), or after a time: one of them may have been stopped with a mutex that the caller needs.
 * The signal is one of the few that zklock's threads do not block. */
enum { STOP_SIGNAL = SIGFPE, STOP_S = 1, STOPPED_AT_MOST_MS = 10000 };

static atomic_int stopped;
static atomic_bool going_on;

static void stop_this_thread(int signal) {
    const int error = errno;
    const int64_t until_ms = now_ms() + STOPPED_AT_MOST_MS;
    (void)signal;
    atomic_fetch_add(&stopped, 1);
    while (!atomic_load(&going_on) && now_ms() < until_ms) {
        nap();
    }
    errno = error;
}

static void stop_all_others(void) {
    DIR *threads = opendir("/proc/self/task");
    for (struct dirent *one = readdir(threads); one != NULL; one = readdir(threads)) {
        const pid_t thread = (pid_t)strtol(one->d_name, NULL, 10);
        if (thread > 0 && thread != gettid()) {
            (void)tgkill(getpid(), thread, STOP_SIGNAL);
        }
    }
    (void)closedir(threads);
}

static void stand_still(void) {
    const struct sigaction stop = { .sa_handler = stop_this_thread, .sa_flags = SA_RESTART };
    ASSERT_NUMBER(sigaction(STOP_SIGNAL, &stop, NULL), 0);
    stop_all_others();
    (void)sleep(STOP_S);
    CU_ASSERT_TRUE(atomic_load(&stopped) > 0);
}

static void go_on(void) {
    atomic_store(&going_on, true);
}

struct told {
    int times;
    int status;
};

static void on_acquired(void *arg, int status, const zkl_grant *grant) {
    struct told *told = arg;
    told->times++;
    told->status = status;
    CU_ASSERT_TRUE((grant != NULL) == (status == ZKL_OK));
}

static zkl_client *open_dispatching(int *descriptor) {
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    zkl_client *client = NULL;
    options.session_timeout_ms = LONG_SESSION_MS;
    options.dispatch = ZKL_DISPATCH_CALLER;
    ASSERT_STATUS(zkl_client_open(servers_hosts(), &options, &client), ZKL_OK);
    ASSERT_STATUS(zkl_client_event_descriptor(client, descriptor), ZKL_OK);
    return client;
}

static bool is_readable(int descriptor) {
    struct pollfd one = { .fd = descriptor, .events = POLLIN };
    return poll(&one, 1, 0) == 1;
}

static void hold_limit_that_passes_in_a_stop_between_grant_and_callback_is_the_verdict(void) {
    struct pair pair;
    pair_begin(&pair);
    int descriptor = -1;
    struct told told = { 0, ZKL_OK };
    zkl_client *client = open_dispatching(&descriptor);
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    options.max_hold_ms = HOLD_MS;
    zkl_lock *both = open_both_with(client, &pair, &options);
    ASSERT_STATUS(
        zkl_lock_acquire_async(both, ZKL_AS_OPENED, PATIENCE_MS, NULL, on_acquired, &told), ZKL_OK);
    WAIT_UNTIL(is_readable(descriptor));
    stand_still();
    ASSERT_STATUS(zkl_client_dispatch(client, NULL), ZKL_OK);
    go_on();
    ASSERT_NUMBER(told.times, 1);
    ASSERT_STATUS(told.status, ZKL_HOLD_LIMIT);
    WAIT_UNTIL(both_have(&pair, 0));
    zkl_lock_close(both);
    client_close(client);
    pair_end(&pair);
}

static void allow_in(struct scene *scene, int permissions) {
    struct ACL right = { permissions, raw_acl()->data[0].id };
    struct ACL_vector rights = { 1, &right };
    ASSERT_NUMBER(zoo_set_acl(scene->raw, scene->path, -1, &rights), ZOK);
    raw_sync(scene->raw);
}

static void assert_is_forbidden(struct pair *pair, struct scene *where, int64_t timeout_ms) {
    zkl_client *client = client_open(servers_hosts(), LONG_SESSION_MS);
    zkl_lock *both = open_both(client, pair);
    allow_in(where, ZOO_PERM_ALL & ~ZOO_PERM_CREATE);
    ASSERT_STATUS(zkl_lock_acquire(both, ZKL_AS_OPENED, timeout_ms, NULL), ZKL_NO_PERMISSION);
    allow_in(where, ZOO_PERM_ALL);
    ASSERT_STATUS(zkl_lock_acquire(both, ZKL_AS_OPENED, PATIENCE_MS, NULL), ZKL_OK);
    zkl_lock_close(both);
    client_close(client);
}

static void member_that_is_forbidden_is_told_as_such_and_not_as_something_to_try_again(void) {
    struct pair pair;
    pair_begin(&pair);
    raw_make(pair.one.raw, "/locks");
    raw_make(pair.one.raw, pair.one.path);
    raw_make(pair.other.raw, pair.other.path);
    assert_is_forbidden(&pair, &pair.one, 0);
    assert_is_forbidden(&pair, &pair.other, 0);
    assert_is_forbidden(&pair, &pair.other, PATIENCE_MS);
    WAIT_UNTIL(both_have(&pair, 0));
    pair_end(&pair);
}

int main(int argc, char **argv) {
    static const struct test_case tests[] = {
        TEST_CASE(both_are_held_with_one_token_though_nothing_was_there),
        TEST_CASE(try_that_finds_one_of_them_held_leaves_nothing),
        TEST_CASE(processes_that_name_them_in_opposite_orders_all_finish),
        TEST_CASE(holder_that_is_killed_leaves_both_to_the_next),
        TEST_CASE(expiry_while_waiting_joins_both_queues_again),
        TEST_CASE(request_lost_at_every_step_leaves_no_half),
        TEST_CASE(reply_lost_at_every_request_leaves_no_half),
        TEST_CASE(hold_limit_that_passes_in_a_stop_between_grant_and_callback_is_the_verdict),
        TEST_CASE(member_that_is_forbidden_is_told_as_such_and_not_as_something_to_try_again),
    };
    return run_tests(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
