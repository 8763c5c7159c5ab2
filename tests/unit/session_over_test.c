/*
 * A server that says that a session is over, or has moved, and leaves its connection open: reads
 * are answered on it, by the leader's own server nothing. Once on that one, once on another.
 */
#include <string.h>

#include "support/participant.h"
#include "testing/ensemble.h"
#include "testing/machine.h"
#include "zklock/administration.h"

enum {
    SESSION_MS = 12000,
    SOON_MS = 1000,
    ANSWERED_MS = 10,
    AFTER_A_PROBE_MS = SESSION_MS / 3 + 500
};

static participant self;

static zkl_client_information information(void) {
    zkl_client_information information = ZKL_CLIENT_INFORMATION_INIT;
    EXPECT_INT(zkl_client_info(self.client, &information), ZKL_OK);
    return information;
}

static void begin(bool on_leader) {
    zkl_testing_begin(NULL);
    uint32_t leader = zkl_ensemble_leader(zkl_ensemble_current());
    zkl_names_lead_to(UINT32_C(1) << (on_leader ? leader : (leader + 1) % 3));
    participant_open_with(&self, SESSION_MS);
}

/* It is over, or elsewhere, and the connection stands. */
static void leave_behind(bool moved) {
    int64_t session_id = information().session_id;
    EXPECT(zkl_ensemble_keep_connection(zkl_ensemble_current(), session_id));
    EXPECT(moved ? zkl_ensemble_move(zkl_ensemble_current(), session_id)
                 : zkl_ensemble_expire(zkl_ensemble_current(), session_id));
    zkl_testing_sleep(SOON_MS);
    EXPECT_INT(information().connected, 1);
    EXPECT_INT(information().sessions_expired, 0);
}

static int has_expired(void *arg) {
    (void)arg;
    return information().sessions_expired == 1;
}

static void end(void) {
    participant_close(&self);
    zkl_testing_end();
}

static void acquire_where(bool on_leader, bool moved) {
    begin(on_leader);
    leave_behind(moved);
    EXPECT_INT(participant_acquire(&self, SOON_MS), ZKL_OK);
    EXPECT_INT(information().sessions_expired, moved ? 0 : 1);
    EXPECT_INT(zkl_lock_release(self.lock, SOON_MS), ZKL_OK);
    end();
}

TEST(acquire_in_a_session_that_is_over_comes_to_the_next_one_at_once) {
    acquire_where(false, false);
    acquire_where(true, false);
}

TEST(acquire_in_a_session_that_was_moved_takes_it_back) {
    acquire_where(false, true);
    acquire_where(true, true);
}

/* A server that is not the leader's tells it by its own node alone. */
static void hold_where(bool on_leader, const char *news) {
    begin(on_leader);
    EXPECT_INT(participant_acquire(&self, 0), ZKL_OK);
    leave_behind(false);
    zkl_testing_sleep(AFTER_A_PROBE_MS);
    EXPECT_TEXT(self.news, news);
    EXPECT_INT(zkl_lock_release(self.lock, SOON_MS), ZKL_LOST);
    EXPECT_INT(participant_acquire(&self, SOON_MS), ZKL_OK);
    end();
}

TEST(holder_hears_by_a_probe_that_its_session_is_over) {
    hold_where(true, "suspect lost(the ZooKeeper session expired) ");
    hold_where(false, "lost(the lock's node was deleted by somebody else) ");
}

static void move_and_ask(void) {
    zkl_queue *queue = NULL;
    int64_t session_id = information().session_id;
    EXPECT(zkl_ensemble_keep_connection(zkl_ensemble_current(), session_id));
    EXPECT(zkl_ensemble_move(zkl_ensemble_current(), session_id));
    (void)zkl_queue_describe(self.client, "stock", ANSWERED_MS, &queue);
    zkl_report_free(queue);
}

/* The second time it waits for a second before it connects again. */
TEST(holder_is_suspect_as_soon_as_its_session_is_denied) {
    begin(true);
    EXPECT_INT(participant_acquire(&self, 0), ZKL_OK);
    move_and_ask();
    EXPECT_INT(zkl_testing_wait_for_state(self.lock, ZKL_STATE_HELD, SOON_MS), 1);
    move_and_ask();
    EXPECT_INT(zkl_lock_check(self.lock, NULL), ZKL_SUSPECT);
    EXPECT_INT(zkl_lock_release(self.lock, 2 * SOON_MS), ZKL_OK);
    end();
}

/* The holder's node is there all the time. */
TEST(holder_whose_session_was_moved_is_suspect_and_held_again) {
    begin(true);
    EXPECT_INT(participant_acquire(&self, 0), ZKL_OK);
    leave_behind(true);
    zkl_testing_sleep(AFTER_A_PROBE_MS);
    EXPECT_TEXT(self.news, "suspect held ");
    EXPECT_INT(zkl_lock_release(self.lock, SOON_MS), ZKL_OK);
    end();
}

/* ---- What an operator sees of it ------------------------------------------------------------- */

static void count_moves(void *arg, const zkl_log_record *record) {
    int *moves = arg;
    if (record->event == ZKL_LOG_SESSION_MOVED) {
        EXPECT_INT(record->level, ZKL_LOG_WARN);
        EXPECT_INT(record->session_id, information().session_id);
        (*moves)++;
    }
}

static bool counts(const char *line) {
    static char text[64 * 1024];
    size_t length = 0;
    EXPECT_INT(zkl_client_metrics(self.client, text, sizeof(text), &length), ZKL_OK);
    return strstr(text, line) != NULL;
}

static void begin_seen(int *moves) {
    zkl_testing_begin(NULL);
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    zkl_security security = ZKL_SECURITY_INIT;
    options.session_timeout_ms = SESSION_MS;
    options.security = &security;
    security.unprotected = 1;
    options.metrics = 1;
    options.log_callback = count_moves;
    options.log_arg = moves;
    EXPECT_INT(zkl_client_open("server:2181", &options, &self.client), ZKL_OK);
    EXPECT_INT(zkl_lock_open(self.client, "stock", NULL, &self.lock), ZKL_OK);
}

TEST(session_that_was_moved_is_logged_and_counted) {
    int moves = 0;
    begin_seen(&moves);
    leave_behind(true);
    EXPECT(counts("zklock_sessions_moved_total{client=\"session_over_test\"} 0"));
    EXPECT_INT(participant_acquire(&self, SOON_MS), ZKL_OK);
    EXPECT(counts("zklock_sessions_moved_total{client=\"session_over_test\"} 1"));
    EXPECT_INT(moves, 1);
    EXPECT_INT(zkl_lock_release(self.lock, SOON_MS), ZKL_OK);
    end();
}

TEST(list_of_a_queue_tells_that_the_session_is_over) {
    zkl_queue *queue = NULL;
    begin(true);
    leave_behind(false);
    (void)zkl_queue_describe(self.client, "stock", SOON_MS, &queue);
    zkl_report_free(queue);
    EXPECT_INT(zkl_testing_wait_until(has_expired, NULL, SOON_MS), 1);
    end();
}
