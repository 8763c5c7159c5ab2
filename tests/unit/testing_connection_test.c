/* The client's end of the simulated ensemble: what libzookeeper does when connections come and go.
 */
#include <stdio.h>
#include <string.h>

#include "support/caller.h"

enum { TIMEOUT_MS = 600 };

static zkl_ensemble *ensemble;

static void begin(void) {
    ensemble = caller_world_begin(1, NULL);
}

static void open_connected(caller *self) {
    caller_open(self, TIMEOUT_MS);
    run_ms(5);
    EXPECT_LOG(self, "connected");
}

static void make_nodes(void) {
    (void)zkl_ensemble_create(ensemble, 0, "/p", "", false, false, NULL, 0);
    (void)zkl_ensemble_create(ensemble, 0, "/p/a", "", false, false, NULL, 0);
    (void)zkl_ensemble_create(ensemble, 0, "/p/b", "", false, false, NULL, 0);
    run_ms(2);
}

/* ---- Requests -------------------------------------------------------------------------------- */

TEST(requests_are_answered_in_their_order) {
    caller self;
    begin();
    open_connected(&self);
    caller_create(&self, "/p/n-");
    caller_make_parent(&self, "/p");
    caller_make_parent(&self, "/p");
    caller_create(&self, "/p/n-");
    caller_list(&self, "/p");
    caller_exists(&self, "/p/n-0000000000", 0);
    caller_delete(&self, "/p/n-0000000000");
    caller_exists(&self, "/p/n-0000000000", 0);
    caller_unwatch(&self, "/p");
    EXPECT_NO_LOG(&self);
    run_ms(20);
    EXPECT_LOG(&self, "create NO_NODE", "parent OK", "parent OK", "create OK /p/n-0000000000",
               "list OK n-0000000000", "exists OK", "delete OK", "exists NO_NODE", "unwatch OK");
    caller_close(&self);
    caller_world_end();
}

TEST(requests_made_before_there_is_a_connection_wait_for_it) {
    caller self;
    begin();
    caller_open(&self, TIMEOUT_MS);
    EXPECT_INT(caller_make_parent(&self, "/p"), ZKL_OUTCOME_OK);
    EXPECT_INT(caller_list(&self, "/p"), ZKL_OUTCOME_OK);
    run_ms(20);
    EXPECT_LOG(&self, "connected", "parent OK", "list OK");
    caller_close(&self);
    caller_world_end();
}

TEST(requests_are_lost_with_an_attempt_to_connect_that_fails) {
    caller self;
    begin();
    for (uint32_t i = 0; i < 3; i++) {
        zkl_ensemble_refuse_connections(ensemble, i, 50 * MS);
    }
    caller_open(&self, TIMEOUT_MS);
    caller_list(&self, "/");
    run_ms(5);
    EXPECT_LOG(&self, "list UNKNOWN");
    run_ms(100);
    EXPECT_LOG(&self, "connected");
    caller_close(&self);
    caller_world_end();
}

TEST(lost_connection_is_told_before_the_requests_that_it_loses) {
    caller self;
    begin();
    open_connected(&self);
    int64_t session_id = self.session_id;
    caller_make_parent(&self, "/p");
    caller_list(&self, "/");
    EXPECT(zkl_ensemble_cut(ensemble, session_id, ZKL_CUT_REQUESTS_LOST));
    run_ms(50);
    EXPECT_LOG(&self, "connecting", "parent UNKNOWN", "list UNKNOWN", "connected");
    EXPECT_INT(self.session_id, session_id);
    caller_list(&self, "/");
    run_ms(5);
    EXPECT_LOG(&self, "list OK");
    caller_close(&self);
    caller_world_end();
}

TEST(request_whose_reply_is_lost_was_carried_out) {
    caller self;
    begin();
    open_connected(&self);
    caller_make_parent(&self, "/p");
    EXPECT(zkl_ensemble_cut(ensemble, self.session_id, ZKL_CUT_REPLIES_LOST));
    run_ms(50);
    EXPECT_LOG(&self, "connecting", "parent UNKNOWN", "connected");
    caller_list(&self, "/");
    run_ms(5);
    EXPECT_LOG(&self, "list OK p");
    caller_close(&self);
    caller_world_end();
}

TEST(reply_that_is_on_its_way_is_lost_with_its_connection) {
    caller self;
    begin();
    open_connected(&self);
    caller_list(&self, "/");
    zkl_world_sleep_us(150); /* the server has it at 100, and the client the answer at 200 */
    EXPECT_INT(zkl_ensemble_request_count(ensemble, self.session_id, ZKL_CALL_LIST), 1);
    EXPECT(zkl_ensemble_cut(ensemble, self.session_id, ZKL_CUT_REPLIES_LOST));
    run_ms(50);
    EXPECT_LOG(&self, "connecting", "list UNKNOWN", "connected");
    caller_close(&self);
    caller_world_end();
}

TEST(next_round_of_attempts_comes_after_a_sixtieth_of_the_timeout) {
    caller self;
    begin();
    for (uint32_t i = 0; i < 3; i++) {
        zkl_ensemble_refuse_connections(ensemble, i, 15 * MS);
    }
    caller_open(&self, TIMEOUT_MS);
    run_ms(2); /* all three have turned it away */
    caller_list(&self, "/");
    run_ms(6);
    EXPECT_NO_LOG(&self);
    run_ms(4); /* 10 ms have passed */
    EXPECT_LOG(&self, "list UNKNOWN");
    caller_close(&self);
    caller_world_end();
}

TEST(request_that_cannot_be_sent_is_refused_at_once) {
    caller self;
    zkl_ensemble_options options = caller_options();
    options.rates.not_sent = 1000000;
    ensemble = caller_world_begin(1, &options);
    open_connected(&self);
    EXPECT_INT(caller_list(&self, "/"), ZKL_OUTCOME_NOT_NOW);
    EXPECT_INT(caller_create(&self, "/n-"), ZKL_OUTCOME_NOT_NOW);
    run_ms(5);
    EXPECT_NO_LOG(&self);
    caller_close(&self);
    caller_world_end();
}

/* ---- Being alive ------------------------------------------------------------------------------
 */

TEST(idle_session_is_kept_by_pings) {
    caller self;
    begin();
    open_connected(&self);
    run_ms(20LL * TIMEOUT_MS);
    EXPECT_NO_LOG(&self);
    uint64_t pings = zkl_ensemble_request_count(ensemble, self.session_id, ZKL_CALL_PING);
    EXPECT(pings >= 55 && pings <= 61);
    caller_close(&self);
    caller_world_end();
}

TEST(requests_take_the_place_of_pings) {
    caller self;
    begin();
    open_connected(&self);
    for (int i = 0; i < 20; i++) {
        caller_list(&self, "/");
        run_ms(TIMEOUT_MS / 4);
    }
    EXPECT_INT(zkl_ensemble_request_count(ensemble, self.session_id, ZKL_CALL_PING), 0);
    EXPECT_INT(zkl_ensemble_request_count(ensemble, self.session_id, ZKL_CALL_LIST), 20);
    caller_close(&self);
    caller_world_end();
}

TEST(silence_is_noticed_after_two_thirds_of_the_timeout) {
    caller self;
    begin();
    open_connected(&self);
    caller_list(&self, "/");
    run_ms(1);
    caller_forget_log(&self);
    EXPECT(zkl_ensemble_cut(ensemble, self.session_id, ZKL_CUT_SILENT));
    run_ms(TIMEOUT_MS * 2 / 3 - 2);
    EXPECT_NO_LOG(&self);
    run_ms(20);
    EXPECT_LOG(&self, "connecting", "connected");
    caller_close(&self);
    caller_world_end();
}

/* ---- The end of the session ------------------------------------------------------------------ */

TEST(session_that_is_ended_breaks_its_connection_and_is_told_at_the_next) {
    caller self;
    begin();
    open_connected(&self);
    (void)zkl_ensemble_expire(ensemble, self.session_id);
    caller_list(&self, "/nothing");
    run_ms(50);
    EXPECT_LOG(&self, "list NO_NODE", "connecting", "expired");
    EXPECT_INT(caller_list(&self, "/"), ZKL_OUTCOME_SESSION_OVER);
    run_ms(10LL * TIMEOUT_MS);
    EXPECT_NO_LOG(&self);
    caller_close(&self);
    caller_world_end();
}

/* Servers close the connection with what still waits to be sent. */
TEST(client_hears_of_its_own_nodes_at_the_end_of_its_session_or_not) {
    int heard = 0;
    enum { SEEDS = 40 };
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        caller self;
        ensemble = caller_world_begin(seed, NULL);
        make_nodes();
        open_connected(&self);
        caller_create(&self, "/p/n-");
        caller_exists(&self, "/p/n-0000000002", 1);
        run_ms(5);
        EXPECT_LOG(&self, "create OK /p/n-0000000002", "exists OK");
        (void)zkl_ensemble_expire(ensemble, self.session_id);
        run_ms(50);
        if (strstr(self.log, "watch") != NULL) {
            EXPECT_LOG(&self, "watch 1 deleted", "connecting", "expired");
            heard++;
        } else {
            EXPECT_LOG(&self, "connecting", "expired");
        }
        caller_close(&self);
        caller_world_end();
    }
    EXPECT(heard > 0 && heard < SEEDS);
}

TEST(reply_that_is_lost_when_it_is_answered_is_of_a_request_that_was_carried_out) {
    enum { SEEDS = 40 };
    zkl_ensemble_options options = zkl_ensemble_defaults(); /* whose commits can be slow */
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        caller self;
        ensemble = caller_world_begin(seed, &options);
        make_nodes();
        caller_open(&self, 10 * TIMEOUT_MS);
        run_ms(20);
        EXPECT_LOG(&self, "connected");
        zkl_ensemble_cut_next(ensemble, self.session_id, ZKL_CALL_CREATE, ZKL_CUT_WHEN_ANSWERED, 0);
        caller_create(&self, "/p/n-");
        run_ms(500);
        caller_delete(&self, "/nothing");
        caller_list(&self, "/p");
        run_ms(50);
        EXPECT_LOG(&self, "connecting", "create UNKNOWN", "connected", "delete NO_NODE",
                   "list OK a b n-0000000002");
        caller_close(&self);
        caller_world_end();
    }
}

TEST(contenders_reply_is_lost_only_of_a_create_that_has_made_its_node) {
    caller self;
    begin();
    make_nodes();
    open_connected(&self);
    zkl_ensemble_cut_next_contender(ensemble, self.session_id, ZKL_CUT_WHEN_ANSWERED);
    caller_create(&self, "/nowhere/n-");
    run_ms(50);
    caller_make_parent(&self, "/p/other");
    run_ms(50);
    EXPECT_LOG(&self, "create NO_NODE", "parent OK");
    zkl_ensemble_throttle(ensemble, 0, 100 * MS);
    zkl_ensemble_throttle(ensemble, 1, 100 * MS);
    zkl_ensemble_throttle(ensemble, 2, 100 * MS);
    caller_create(&self, "/p/n-");
    run_ms(150);
    EXPECT_LOG(&self, "create NOT_NOW");
    caller_create(&self, "/p/n-");
    run_ms(500);
    EXPECT_LOG(&self, "connecting", "create UNKNOWN", "connected");
    caller_create(&self, "/p/n-");
    run_ms(50);
    EXPECT_LOG(&self, "create OK /p/n-0000000004");
    caller_close(&self);
    caller_world_end();
}

TEST(requests_that_wait_for_a_session_that_is_over_are_told_after_its_end) {
    caller self;
    begin();
    open_connected(&self);
    (void)zkl_ensemble_expire(ensemble, self.session_id);
    while (self.log[0] == '\0') {
        zkl_world_sleep_us(50);
    }
    EXPECT_LOG(&self, "connecting");
    caller_list(&self, "/");
    run_ms(50);
    EXPECT_LOG(&self, "expired", "list SESSION_OVER");
    caller_close(&self);
    caller_world_end();
}

TEST(another_session_can_be_opened_after_the_end_of_one) {
    caller self;
    begin();
    open_connected(&self);
    int64_t first = self.session_id;
    (void)zkl_ensemble_expire(ensemble, first);
    run_ms(50);
    zkl_connection_close(self.connection);
    caller_forget_log(&self);
    EXPECT_INT(zkl_connection_open(self.connection, "here:1", TIMEOUT_MS), ZKL_OK);
    run_ms(50);
    EXPECT_LOG(&self, "connected");
    EXPECT(self.session_id != first);
    caller_close(&self);
    caller_world_end();
}

TEST(close_ends_the_session_and_answers_what_is_open) {
    caller self;
    begin();
    open_connected(&self);
    int64_t session_id = self.session_id;
    caller_make_parent(&self, "/p");
    caller_create(&self, "/p/n-");
    run_ms(5);
    caller_forget_log(&self);
    caller_list(&self, "/p");
    caller_delete(&self, "/p/n-0000000000");
    zkl_connection_close(self.connection);
    EXPECT_LOG(&self, "list SESSION_OVER", "delete SESSION_OVER");
    run_ms(5);
    EXPECT(!zkl_ensemble_session_is_alive(ensemble, session_id));
    EXPECT(zkl_tree_find(zkl_ensemble_tree(ensemble), "/p/n-0000000000", ZKL_LATEST_ZXID) == NULL);
    EXPECT_INT(caller_list(&self, "/p"), ZKL_OUTCOME_SESSION_OVER);
    caller_close(&self);
    caller_world_end();
}

TEST(close_without_an_answer_takes_a_second_and_a_half) {
    caller self;
    begin();
    caller_open(&self, 10 * TIMEOUT_MS);
    run_ms(5);
    EXPECT(zkl_ensemble_cut(ensemble, self.session_id, ZKL_CUT_SILENT));
    int64_t begun_us = zkl_world_now_us();
    caller_close(&self);
    EXPECT_INT(zkl_world_now_us() - begun_us, 1500 * MS);
    caller_world_end();
}

TEST(nothing_is_told_of_a_session_that_was_given_up) {
    caller self;
    begin();
    make_nodes();
    open_connected(&self);
    caller_exists(&self, "/p/a", 1);
    run_ms(2);
    EXPECT_LOG(&self, "exists OK");
    caller_list(&self, "/p");
    zkl_connection_abandon(self.connection);
    EXPECT_INT(caller_list(&self, "/"), ZKL_OUTCOME_SESSION_OVER);
    (void)zkl_ensemble_delete(ensemble, "/p/a");
    (void)zkl_ensemble_expire(ensemble, self.session_id);
    run_ms(50);
    EXPECT_LOG(&self, "list OK a b"); /* but requests are answered */
    caller_close(&self);
    caller_world_end();
}

/* ---- Watches --------------------------------------------------------------------------------- */

TEST(watches_are_set_again_and_tell_what_was_missed) {
    caller self;
    begin();
    make_nodes();
    uint32_t follower = (zkl_ensemble_leader(ensemble) + 1) % 3;
    caller_open_on(&self, TIMEOUT_MS, follower);
    caller_exists(&self, "/p/a", 1);
    caller_exists(&self, "/p/b", 2);
    caller_exists(&self, "/p/c", 3);
    caller_exists(&self, "/p/d", 4);
    run_ms(2);
    EXPECT_LOG(&self, "exists OK", "exists OK", "exists NO_NODE", "exists NO_NODE");
    zkl_ensemble_stop_server(ensemble, follower);
    (void)zkl_ensemble_delete(ensemble, "/p/a");
    (void)zkl_ensemble_create(ensemble, 0, "/p/c", "", false, false, NULL, 0);
    run_ms(400);
    /* In any order. */
    EXPECT(strstr(self.log, "watch 1 deleted\n") != NULL);
    EXPECT(strstr(self.log, "watch 3 changed\n") != NULL);
    EXPECT(strstr(self.log, "watch 2") == NULL && strstr(self.log, "watch 4") == NULL);
    EXPECT_INT(zkl_ensemble_watch_count(ensemble, self.session_id), 2);
    caller_forget_log(&self);
    (void)zkl_ensemble_delete(ensemble, "/p/b");
    (void)zkl_ensemble_create(ensemble, 0, "/p/d", "", false, false, NULL, 0);
    run_ms(5);
    EXPECT_LOG(&self, "watch 2 deleted", "watch 4 changed");
    caller_close(&self);
    caller_world_end();
}

TEST(node_that_was_made_anew_meanwhile_is_a_change) {
    caller self;
    begin();
    make_nodes();
    open_connected(&self);
    caller_exists(&self, "/p/a", 1);
    run_ms(2);
    caller_forget_log(&self);
    EXPECT(zkl_ensemble_cut(ensemble, self.session_id, ZKL_CUT_REQUESTS_LOST));
    (void)zkl_ensemble_delete(ensemble, "/p/a");
    (void)zkl_ensemble_create(ensemble, 0, "/p/a", "", false, false, NULL, 0);
    run_ms(50);
    EXPECT_LOG(&self, "connecting", "connected", "watch 1 changed");
    caller_close(&self);
    caller_world_end();
}

TEST(watch_whose_reply_was_lost_is_not_set_again) {
    caller self;
    begin();
    make_nodes();
    open_connected(&self);
    caller_exists(&self, "/p/a", 1);
    EXPECT(zkl_ensemble_cut(ensemble, self.session_id, ZKL_CUT_REPLIES_LOST));
    run_ms(50);
    EXPECT_LOG(&self, "connecting", "exists UNKNOWN", "connected");
    run_ms(400); /* the old connection's server has noticed as well */
    EXPECT_INT(zkl_ensemble_watch_count(ensemble, self.session_id), 0);
    (void)zkl_ensemble_delete(ensemble, "/p/a");
    run_ms(5);
    EXPECT_NO_LOG(&self);
    caller_close(&self);
    caller_world_end();
}

TEST(all_who_watch_a_path_are_told_once) {
    caller self;
    begin();
    make_nodes();
    open_connected(&self);
    caller_exists(&self, "/p/a", 1);
    caller_exists(&self, "/p/a", 2);
    run_ms(2);
    EXPECT_INT(zkl_ensemble_watch_count(ensemble, self.session_id), 1);
    caller_forget_log(&self);
    (void)zkl_ensemble_delete(ensemble, "/p/a");
    (void)zkl_ensemble_create(ensemble, 0, "/p/a", "", false, false, NULL, 0);
    run_ms(5);
    EXPECT_LOG(&self, "watch 1 deleted", "watch 2 deleted");
    EXPECT_INT(zkl_ensemble_watch_count(ensemble, self.session_id), 0);
    EXPECT(zkl_ensemble_cut(ensemble, self.session_id, ZKL_CUT_REQUESTS_LOST));
    run_ms(50);
    EXPECT_LOG(&self, "connecting", "connected");
    EXPECT_INT(zkl_ensemble_watch_count(ensemble, self.session_id), 0);
    caller_close(&self);
    caller_world_end();
}

TEST(removed_watches_are_gone_at_both_ends) {
    caller self;
    begin();
    make_nodes();
    open_connected(&self);
    caller_exists(&self, "/p/a", 1);
    caller_exists(&self, "/p/none", 2);
    caller_unwatch(&self, "/p/a");
    caller_unwatch(&self, "/p/none");
    run_ms(2);
    EXPECT_LOG(&self, "exists OK", "exists NO_NODE", "unwatch OK", "unwatch OK");
    EXPECT_INT(zkl_ensemble_watch_count(ensemble, self.session_id), 0);
    EXPECT(zkl_ensemble_cut(ensemble, self.session_id, ZKL_CUT_REQUESTS_LOST));
    (void)zkl_ensemble_delete(ensemble, "/p/a");
    (void)zkl_ensemble_create(ensemble, 0, "/p/none", "", false, false, NULL, 0);
    run_ms(50);
    EXPECT_LOG(&self, "connecting", "connected");
    caller_close(&self);
    caller_world_end();
}

/* ---- Processes that stop, news that repeats -------------------------------------------------- */

TEST(stopped_process_gets_what_has_come_in_order_when_it_goes_on) {
    caller self;
    begin();
    make_nodes();
    zkl_process *process = zkl_process_begin(0);
    zkl_process *before = zkl_process_enter(process);
    open_connected(&self);
    (void)zkl_process_enter(before);
    caller_exists(&self, "/p/a", 1);
    run_ms(2);
    EXPECT_LOG(&self, "exists OK");
    zkl_process_stop(process);
    caller_list(&self, "/p");
    (void)zkl_ensemble_delete(ensemble, "/p/a");
    run_ms(10LL * TIMEOUT_MS);
    EXPECT_NO_LOG(&self);
    EXPECT(!zkl_ensemble_session_is_alive(ensemble, self.session_id));
    zkl_process_continue(process);
    run_ms(50);
    /* What came before the end of the session is read first. */
    EXPECT_LOG(&self, "list OK a b", "watch 1 deleted", "connecting", "expired");
    caller_close(&self);
    caller_world_end();
}

TEST(process_that_goes_on_reads_what_has_come_before_it_looks_at_the_clock) {
    caller self;
    begin();
    make_nodes();
    zkl_process *process = zkl_process_begin(0);
    zkl_process *before = zkl_process_enter(process);
    open_connected(&self);
    (void)zkl_process_enter(before);
    caller_exists(&self, "/p/a", 1);
    run_ms(2);
    EXPECT_LOG(&self, "exists OK");
    zkl_process_stop(process);
    run_ms(TIMEOUT_MS * 3 / 4); /* it would have given the connection up by now */
    (void)zkl_ensemble_delete(ensemble, "/p/a");
    run_ms(5);
    zkl_process_continue(process);
    run_ms(5);
    EXPECT_LOG(&self, "watch 1 deleted");
    caller_close(&self);
    caller_world_end();
}

TEST(news_can_be_repeated) {
    caller self;
    begin();
    open_connected(&self);
    EXPECT(zkl_ensemble_repeat_news(ensemble, self.session_id));
    run_ms(2);
    EXPECT_LOG(&self, "connected");
    caller_close(&self);
    caller_world_end();
    zkl_ensemble_options options = caller_options();
    options.rates.news_repeated = 1000000;
    ensemble = caller_world_begin(1, &options);
    caller_open(&self, TIMEOUT_MS);
    run_ms(5);
    EXPECT(zkl_ensemble_cut(ensemble, self.session_id, ZKL_CUT_REQUESTS_LOST));
    run_ms(50);
    EXPECT_LOG(&self, "connected", "connected", "connecting", "connecting", "connected",
               "connected");
    caller_close(&self);
    caller_world_end();
}
