/*
 * Which leases a lock is granted on, and that no lock is lost while all is well:
 * whole lives of sessions, millisecond by millisecond, with a server that
 * answers (served_stage.h).
 */
#include <stdio.h>

#include "support/served_stage.h"

enum { TIMEOUT_OF_FIVE_TICKS_MS = 10000, TIMEOUT_OF_FOUR_TICKS_MS = 8000, TICK_MS = 2000 };
enum { HOLD_MS = 20000 };

/* How it is with the lock of `a`, who has got it and goes on holding it. */
static bool is_held(const served_stage *served) {
    const lock_owner *a = &served->stage->a;
    return a->verdict == ZKL_OK && a->runner != NULL && a->runner->request.stage == ZKL_STAGE_HELD;
}

static void acquire(served_stage *served) {
    EXPECT_INT(stage_start(served->stage, &served->stage->a, "/r", ZKL_FOREVER), ZKL_OK);
}

/* ---- Acquires at any time of a session's life --------------------------------------- */

/* The session is idle until then: its first lease is full, half over, nearly
 * over, or over. */
static void acquire_and_hold_from(int32_t timeout_ms, int64_t from_ms) {
    served_stage *served = served_open(timeout_ms, TICK_MS);
    served_pass_until(served, from_ms);
    acquire(served);
    served_pass(served, TICK_MS + 500);
    unit_check(served->stage->a.verdict == ZKL_OK, __FILE__, __LINE__,
               "acquired at %d ms: not granted within a tick", (int)from_ms);
    served_pass(served, HOLD_MS);
    unit_check(is_held(served), __FILE__, __LINE__, "acquired at %d ms: lost in %d ms",
               (int)from_ms, HOLD_MS);
    served_close(served);
}

TEST(lock_acquired_at_any_time_of_an_idle_session_is_not_lost_while_all_is_well) {
    for (int64_t from_ms = 0; from_ms <= TIMEOUT_OF_FIVE_TICKS_MS; from_ms += 500) {
        acquire_and_hold_from(TIMEOUT_OF_FIVE_TICKS_MS, from_ms);
    }
}

TEST(lock_acquired_at_any_time_of_a_session_of_four_ticks_is_not_lost_either) {
    for (int64_t from_ms = 0; from_ms <= TIMEOUT_OF_FOUR_TICKS_MS; from_ms += 500) {
        acquire_and_hold_from(TIMEOUT_OF_FOUR_TICKS_MS, from_ms);
    }
}

/* Between two holds the session has nothing to do, and its lease nearly runs out. */
TEST(locks_held_with_pauses_between_are_not_lost_while_all_is_well) {
    for (int64_t pause_ms = 1000; pause_ms <= 7000; pause_ms += 1000) {
        served_stage *served = served_open(TIMEOUT_OF_FIVE_TICKS_MS, TICK_MS);
        for (unsigned i = 0; i < 5; i++) {
            acquire(served);
            served_pass(served, TICK_MS + 3000);
            unit_check(is_held(served), __FILE__, __LINE__, "pauses of %d ms: lost at hold %u",
                       (int)pause_ms, i);
            stage_feed(&served->stage->a, ZKL_EVENT_RELEASED);
            served_pass(served, pause_ms);
        }
        served_close(served);
    }
}

/* ---- Sessions that are too short ----------------------------------------------------------- */

TEST(request_in_a_session_too_short_for_a_lease_is_not_started) {
    run_stage *stage = stage_open_live(TIMEOUT_OF_FIVE_TICKS_MS, 60000, NULL);
    stage_connect(stage, SESSION_ID);
    EXPECT_INT(stage_start(stage, &stage->a, "/r", ZKL_FOREVER), ZKL_LEASE_IMPOSSIBLE);
    EXPECT_INT(stage_start(stage, &stage->b, "/r", 0), ZKL_LEASE_IMPOSSIBLE); /* a try as well */
    EXPECT(stage->a.runner == NULL);
    FAKE_HEARD(&stage->fake, "");
    stage_close(stage);
}

/* Its holder may be at work. */
TEST(reconnect_too_short_for_a_lease_leaves_the_node_of_a_lost_lock) {
    served_stage *served = served_open(TIMEOUT_OF_FIVE_TICKS_MS, TICK_MS);
    lock_owner *a = &served->stage->a;
    acquire(served);
    served_pass(served, 10);
    served_disconnect(served);
    served_pass(served, TIMEOUT_OF_FIVE_TICKS_MS);
    EXPECT(a->runner->request.stage == ZKL_STAGE_KEPT);
    served_reconnect(served, 2 * TICK_MS);
    served_pass(served, 10);
    EXPECT_INT(served->node_count, 1);
    stage_feed(a, ZKL_EVENT_RELEASED);
    served_pass(served, 10);
    EXPECT(a->ended);
    EXPECT_INT(served->node_count, 0);
    served_close(served);
}
