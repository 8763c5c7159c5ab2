/*
 * Observers of an election: they are told who leads at the end of each change, whatever becomes
 * of their connection, and never of an older term after a newer one that is not lost.
 */
#include <stdio.h>
#include <string.h>

#include "support/candidate.h"
#include "testing/ensemble.h"

enum {
    LONG_MS = 60000,
    PAUSE_MS = ZKL_LEADER_PAUSE_MS + CANDIDATE_SOON_MS,
    SEEDS = 150,
    TERMS_OF_A_SEED = 8,
    FAILURES_PER_MILLION = 20000
};

typedef struct watcher watcher;

struct watcher {
    zkl_client *client;
    zkl_observer *observer; /* NULL: closed */
    int status;
    int64_t term;
    int64_t session_id;
    char node[ZKL_NODE_PATH_SIZE];
    char candidate[ZKL_NOTE_MAX + 1];
    int64_t highest;
    size_t told;
    int64_t sleeps_ms; /* in its callback */
    bool leaves;       /* likewise */
};

static watcher self;
static candidate one, other;

static void leave(void) {
    zkl_observer *observer = self.observer;
    self.observer = NULL;
    zkl_observer_close(observer);
}

static void on_leader(void *arg, const zkl_leader *leader) {
    EXPECT(arg == &self);
    EXPECT(leader->term == 0 || leader->term >= self.highest);
    self.highest = leader->term > 0 ? leader->term : self.highest;
    self.status = leader->status;
    self.term = leader->term;
    self.session_id = leader->session_id;
    snprintf(self.node, sizeof(self.node), "%s", leader->node);
    snprintf(self.candidate, sizeof(self.candidate), "%s", leader->candidate);
    self.told++;
    if (self.leaves) {
        leave();
    }
    if (self.sleeps_ms > 0) {
        zkl_testing_sleep(self.sleeps_ms);
    }
}

static void observe(zkl_dispatch dispatch) {
    self = (watcher){ .term = -1 };
    zkl_testing_process_enter(zkl_testing_process_make());
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    options.session_timeout_ms = CANDIDATE_TIMEOUT_MS;
    options.dispatch = dispatch;
    EXPECT_INT(zkl_client_open("server:2181", &options, &self.client), ZKL_OK);
    EXPECT_INT(zkl_election_observe(self.client, "service", on_leader, &self, &self.observer),
               ZKL_OK);
    zkl_testing_process_enter(NULL);
}

static void begin(zkl_dispatch dispatch) {
    zkl_testing_begin(NULL);
    candidate_open(&one, "one", ZKL_DISPATCH_THREAD, false);
    candidate_open(&other, "other", ZKL_DISPATCH_THREAD, false);
    observe(dispatch);
}

static void end(void) {
    candidate_close(&one);
    candidate_close(&other);
    leave();
    EXPECT_INT(zkl_client_close(self.client, CANDIDATE_TIMEOUT_MS), ZKL_OK);
    EXPECT_INT(zkl_testing_count_sessions(), 0);
    zkl_testing_end();
}

static int is_told_of(void *arg) {
    const int64_t *term = arg;
    return self.term == *term ? 1 : 0;
}

static void expect_told(int64_t term) {
    EXPECT_INT(zkl_testing_wait_until(is_told_of, &term, PAUSE_MS), 1);
}

/* ---- Many, and how often they ask ----------------------------------------------------- */

enum { MANY = 1000, ROUNDS = 40 };

static unsigned told_of_it;

static void on_any_leader(void *arg, const zkl_leader *leader) {
    (void)arg;
    told_of_it += leader->term == one.term && leader->term > 0 ? 1 : 0;
}

/* All of them pause at once, so that each needs a timer of its session. */
TEST(thousand_observers_of_one_client_are_told) {
    zkl_observer *observers[MANY];
    begin(ZKL_DISPATCH_THREAD);
    told_of_it = 0;
    for (size_t i = 0; i < MANY; i++) {
        EXPECT_INT(zkl_election_observe(self.client, "service", on_any_leader, NULL, &observers[i]),
                   ZKL_OK);
    }
    zkl_testing_sleep(LONG_MS);
    EXPECT_INT(candidate_campaign(&one, ZKL_FOREVER), ZKL_OK);
    zkl_testing_sleep(PAUSE_MS);
    EXPECT_INT(told_of_it, MANY);
    for (size_t i = 0; i < MANY; i++) {
        zkl_observer_close(observers[i]);
    }
    end();
}

static uint64_t count_lists(void) {
    zkl_client_information information = ZKL_CLIENT_INFORMATION_INIT;
    EXPECT_INT(zkl_client_info(self.client, &information), ZKL_OK);
    return zkl_ensemble_request_count(zkl_ensemble_current(), information.session_id,
                                      ZKL_CALL_LIST);
}

static int64_t wait_for_a_list(void) {
    int64_t began_ms = zkl_testing_now_ms();
    for (uint64_t before = count_lists(); count_lists() == before;) {
        zkl_testing_sleep(1);
    }
    return zkl_testing_now_ms() - began_ms;
}

/* Observers that lost one leader together would else ask for the next one together, for ever. */
TEST(observer_pauses_for_another_time_before_each_look) {
    int64_t shortest_ms = LONG_MS;
    int64_t longest_ms = 0;
    begin(ZKL_DISPATCH_THREAD);
    expect_told(0);
    (void)wait_for_a_list();
    for (int i = 0; i < ROUNDS; i++) {
        int64_t pause_ms = wait_for_a_list();
        shortest_ms = pause_ms < shortest_ms ? pause_ms : shortest_ms;
        longest_ms = pause_ms > longest_ms ? pause_ms : longest_ms;
    }
    EXPECT(shortest_ms >= ZKL_LEADER_PAUSE_MS / 2);
    EXPECT(longest_ms <= ZKL_LEADER_PAUSE_MS + 5);
    EXPECT(longest_ms - shortest_ms > ZKL_LEADER_PAUSE_MS / 4);
    end();
}

/* ---- What is told ------------------------------------------------------------------- */

TEST(leaders_and_nobody_are_told) {
    zkl_client_information information = ZKL_CLIENT_INFORMATION_INIT;
    begin(ZKL_DISPATCH_THREAD);
    expect_told(0);
    EXPECT_INT(self.status, ZKL_OK);
    EXPECT_TEXT(self.node, "");
    EXPECT_TEXT(self.candidate, "");
    EXPECT_INT(candidate_campaign(&one, ZKL_FOREVER), ZKL_OK);
    expect_told(one.term);
    EXPECT_TEXT(self.candidate, "one");
    EXPECT_INT(zkl_client_info(one.client, &information), ZKL_OK);
    EXPECT_INT(self.session_id, information.session_id);
    EXPECT(strncmp(self.node, CANDIDATE_RESOURCE "/_c_", strlen(CANDIDATE_RESOURCE "/_c_")) == 0);
    EXPECT_INT(zkl_election_resign(one.election, ZKL_FOREVER), ZKL_OK);
    expect_told(0);
    EXPECT_INT(self.told, 3);
    zkl_testing_sleep(LONG_MS);
    EXPECT_INT(self.told, 3); /* what has not changed is not told */
    end();
}

TEST(change_during_a_callback_is_told_after_it) {
    begin(ZKL_DISPATCH_THREAD);
    expect_told(0);
    self.sleeps_ms = LONG_MS;
    EXPECT_INT(candidate_campaign(&one, ZKL_FOREVER), ZKL_OK);
    expect_told(one.term);
    EXPECT_INT(zkl_election_resign(one.election, ZKL_FOREVER), ZKL_OK);
    EXPECT_INT(candidate_campaign(&other, ZKL_FOREVER), ZKL_OK);
    zkl_testing_sleep(LONG_MS / 2);
    EXPECT_INT(self.term, one.term);
    self.sleeps_ms = 0;
    zkl_testing_sleep(LONG_MS);
    EXPECT_INT(self.term, other.term);
    EXPECT_INT(self.told, 3);
    end();
}

TEST(leader_that_dies_is_followed) {
    begin(ZKL_DISPATCH_THREAD);
    EXPECT_INT(candidate_campaign(&one, ZKL_FOREVER), ZKL_OK);
    zkl_testing_task *task = candidate_start(&other, ZKL_FOREVER);
    zkl_testing_sleep(PAUSE_MS);
    EXPECT_INT(self.term, one.term);
    zkl_testing_expire_session(one.client);
    zkl_testing_join(task);
    zkl_testing_sleep(CANDIDATE_SOON_MS);
    EXPECT_INT(self.term, other.term);
    end();
}

/* ---- Faults of its own -------------------------------------------------------------- */

static uint64_t requests_so_far(void) {
    zkl_client_information now = ZKL_CLIENT_INFORMATION_INIT;
    EXPECT_INT(zkl_client_info(self.client, &now), ZKL_OK);
    return zkl_ensemble_request_count(zkl_ensemble_current(), now.session_id, ZKL_CALL_LIST) +
           zkl_ensemble_request_count(zkl_ensemble_current(), now.session_id, ZKL_CALL_GET);
}

/* Its next session finds the leader that the last one has seen. */
TEST(leader_that_outlives_the_observers_session_is_not_asked_for_again_and_again) {
    begin(ZKL_DISPATCH_THREAD);
    EXPECT_INT(candidate_campaign(&one, ZKL_FOREVER), ZKL_OK);
    expect_told(one.term);
    zkl_testing_expire_session(self.client);
    zkl_testing_sleep(LONG_MS);
    uint64_t before = requests_so_far();
    EXPECT(before > 0);
    zkl_testing_sleep(LONG_MS);
    EXPECT_INT(requests_so_far(), before);
    EXPECT_INT(self.term, one.term);
    end();
}

/* Two candidates take turns while messages are lost; then all is well, and it must be told. */
static void last_leader_is_told_whatever_goes_wrong(void *arg) {
    (void)arg;
    observe(ZKL_DISPATCH_THREAD);
    candidate_open(&one, "one", ZKL_DISPATCH_THREAD, false);
    candidate_open(&other, "other", ZKL_DISPATCH_THREAD, false);
    zkl_testing_set_failure_rate(FAILURES_PER_MILLION);
    candidate *leader = NULL;
    for (int i = 0; i < TERMS_OF_A_SEED; i++) {
        candidate *next = i % 2 == 0 ? &one : &other;
        zkl_testing_task *task = candidate_start(next, ZKL_FOREVER);
        zkl_testing_sleep((int64_t)zkl_testing_random(1000));
        if (leader != NULL) {
            (void)zkl_election_resign(leader->election, 0);
        }
        if (zkl_testing_random(4) == 0) {
            zkl_testing_expire_session(self.client);
        }
        zkl_testing_join(task);
        EXPECT_INT(next->status, ZKL_OK);
        leader = next;
    }
    zkl_testing_heal();
    zkl_testing_sleep(LONG_MS);
    if (candidate_check(leader) == ZKL_OK) {
        EXPECT_INT(self.term, leader->term);
    }
    (void)zkl_election_resign(leader->election, ZKL_FOREVER);
    zkl_testing_sleep(PAUSE_MS);
    EXPECT_INT(self.term, 0);
    candidate_close(&one);
    candidate_close(&other);
    leave();
    EXPECT_INT(zkl_client_close(self.client, CANDIDATE_TIMEOUT_MS), ZKL_OK);
}

TEST(last_leader_is_told_with_every_seed) {
    zkl_testing_run_seeds(1, SEEDS, NULL, last_leader_is_told_whatever_goes_wrong, NULL);
}

/* ---- Close -------------------------------------------------------------------------- */

TEST(close_leaves_no_watch) {
    begin(ZKL_DISPATCH_THREAD);
    EXPECT_INT(candidate_campaign(&one, ZKL_FOREVER), ZKL_OK);
    expect_told(one.term);
    leave();
    size_t told = self.told;
    zkl_testing_sleep(CANDIDATE_SOON_MS);
    EXPECT_INT(zkl_testing_count_watches(self.client), 0);
    EXPECT_INT(zkl_election_resign(one.election, ZKL_FOREVER), ZKL_OK);
    zkl_testing_sleep(LONG_MS);
    EXPECT_INT(self.told, told);
    end();
}

TEST(close_in_the_callback) {
    begin(ZKL_DISPATCH_THREAD);
    self.leaves = true;
    expect_told(0);
    EXPECT(self.observer == NULL);
    EXPECT_INT(candidate_campaign(&one, ZKL_FOREVER), ZKL_OK);
    zkl_testing_sleep(PAUSE_MS);
    EXPECT_INT(self.told, 1);
    end();
}

TEST(close_waits_for_the_callback) {
    begin(ZKL_DISPATCH_THREAD);
    self.sleeps_ms = 1000;
    expect_told(0);
    int64_t told_ms = zkl_testing_now_ms();
    leave();
    EXPECT(zkl_testing_now_ms() - told_ms >= 900);
    end();
}

/* ---- Input -------------------------------------------------------------------------- */

TEST(bad_input_is_named) {
    zkl_observer *observer = NULL;
    begin(ZKL_DISPATCH_THREAD);
    EXPECT_INT(zkl_election_observe(NULL, "service", on_leader, NULL, &observer),
               ZKL_INVALID_ARGUMENT);
    EXPECT_INT(zkl_election_observe(one.client, NULL, on_leader, NULL, &observer),
               ZKL_INVALID_ARGUMENT);
    EXPECT_INT(zkl_election_observe(one.client, "service", NULL, NULL, &observer),
               ZKL_INVALID_ARGUMENT);
    EXPECT_TEXT(zkl_error_message(), "callback: must not be NULL");
    EXPECT_INT(zkl_election_observe(one.client, "service", on_leader, NULL, NULL),
               ZKL_INVALID_ARGUMENT);
    EXPECT_REFUSED(zkl_election_observe(one.client, "a/b", on_leader, NULL, &observer), "slash");
    EXPECT(observer == NULL);
    zkl_observer_close(NULL);
    end();
}
