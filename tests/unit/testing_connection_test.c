/* The client's end of the simulated ensemble: what libzookeeper does when connections come and go.
 */
#include <stdio.h>
#include <string.h>

#include "support/caller.h"

enum { TIMEOUT_MS = 600, LATE_MS = 300 };

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

/* ---- Being alive ------------------------------------------------------------------------------
 */

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

/* As libzookeeper's watchers do: the connection has another handle when they are called. */
TEST(nothing_is_told_of_a_handle_that_was_left) {
    caller self;
    zkl_ensemble_options options = caller_options();
    options.delivery_us = (zkl_range){ LATE_MS * MS, LATE_MS * MS };
    ensemble = caller_world_begin(1, &options);
    make_nodes();
    caller_open(&self, TIMEOUT_MS);
    run_ms(LATE_MS + 5);
    EXPECT_LOG(&self, "connected");
    caller_exists(&self, "/p/a", 1);
    run_ms(LATE_MS + 5);
    EXPECT_LOG(&self, "exists OK");
    (void)zkl_ensemble_delete(ensemble, "/p/a");
    run_ms(5);
    EXPECT_INT(zkl_connection_renew(self.connection, "here:2181"), ZKL_OK);
    run_ms(2 * LATE_MS);
    EXPECT_LOG(&self, "connecting\nconnected");
    caller_close(&self);
    caller_world_end();
}

/* ---- Processes that stop, news that repeats -------------------------------------------------- */

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
