/*
 * What a handle says though no timer has fired: a process that was stopped gets
 * its timers late, and the clock goes on while one looks at it.
 */
#include <string.h>

#include "support/lock_desk.h"

/* The lease of a new session, as in lock_state_test.c. */
enum { TICK_MS = 2000, LEASE_MS = 10000 - 3333 - 10, HOLD_MS = 500 };

static lock_desk *open_with(int64_t max_hold_ms, int32_t lease_tick_ms, int reentrant) {
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    options.max_hold_ms = max_hold_ms;
    options.reentrant = reentrant;
    return desk_open_with(&(desk_options){ &options, .lease_tick_ms = lease_tick_ms });
}

static zkl_lock_information information_of(lock_desk *desk) {
    zkl_lock_information information = ZKL_LOCK_INFORMATION_INIT;
    EXPECT_INT(zkl_lock_info(desk->lock, &information), ZKL_OK);
    return information;
}

/* A holder at its limit, and nothing has told it so. */
static lock_desk *hold_to_the_limit(int reentrant) {
    lock_desk *desk = open_with(HOLD_MS, 0, reentrant);
    desk_hold(desk);
    desk_forget_heard(desk);
    desk_stand_still(desk, HOLD_MS);
    return desk;
}

static void expect_node_is_deleted(lock_desk *desk) {
    DESK_HEARD(desk, "remove /app/locks/stock/#1-" DESK_NODE);
    desk_close(desk);
}

/* ---- The hold limit ------------------------------------------------------------------ */

TEST(check_finds_the_hold_limit_though_no_timer_fired) {
    lock_desk *desk = open_with(HOLD_MS, 0, 0);
    desk_hold(desk);
    desk_forget_heard(desk);
    desk_stand_still(desk, HOLD_MS - 1);
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_OK);
    desk_stand_still(desk, 1);
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_LOST);
    EXPECT_INT(information_of(desk).lost_reason, ZKL_HOLD_LIMIT);
    expect_node_is_deleted(desk);
}

TEST(release_finds_the_hold_limit_though_no_timer_fired) {
    lock_desk *desk = hold_to_the_limit(0);
    EXPECT_INT(zkl_lock_release(desk->lock, 0), ZKL_LOST);
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_NOT_HELD);
    expect_node_is_deleted(desk);
}

TEST(reentrant_acquire_finds_the_hold_limit_though_no_timer_fired) {
    lock_desk *desk = hold_to_the_limit(1);
    EXPECT_INT(desk_do(desk, desk_acquire, 0), ZKL_LOST);
    EXPECT_INT(information_of(desk).holds, 1);
    expect_node_is_deleted(desk);
}

/* The granted thread comes to run only when its time is over. */
TEST(acquire_finds_the_hold_limit_before_it_returns) {
    lock_desk *desk = open_with(HOLD_MS, 0, 0);
    desk_begin(desk, desk_acquire, ZKL_FOREVER);
    desk_enter_at_calls(desk, 2);
    desk_grant(desk);
    desk->fake.heard[0] = '\0';
    desk->fake.now_ms += HOLD_MS; /* the mutex is still ours */
    desk_leave(desk);
    EXPECT_INT(desk_join(desk), ZKL_HOLD_LIMIT);
    EXPECT_INT(desk->grant.token, 0);
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_NOT_HELD);
    expect_node_is_deleted(desk);
}

/* ---- The hold limit after a lost lease ------------------------------------------------- */

/* The node that keeps others out after the lease does so no longer than it may. */
static lock_desk *lose_the_lease(int64_t max_hold_ms) {
    lock_desk *desk = open_with(max_hold_ms, TICK_MS, 0);
    desk_hold(desk);
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTING);
    desk_pass(desk, LEASE_MS);
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_LOST);
    EXPECT_INT(information_of(desk).pending_deletions, 0);
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTED);
    desk_forget_heard(desk);
    return desk;
}

static bool deletion_was_heard(lock_desk *desk) {
    desk_enter(desk);
    bool heard = strstr(desk->fake.heard, "remove /app/locks/stock/#1-" DESK_NODE) != NULL;
    desk_leave(desk);
    return heard;
}

TEST(check_after_a_lost_lease_finds_the_hold_limit_though_no_timer_fired) {
    lock_desk *desk = lose_the_lease(20000);
    desk_stand_still(desk, 20000 - LEASE_MS);
    EXPECT(!deletion_was_heard(desk));
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_LOST);
    EXPECT(deletion_was_heard(desk));
    desk_close(desk);
}

/* ---- A clock that goes on while one looks at it ------------------------------------------ */

static const zkl_operations_table *still;

static int64_t now_that_goes_on(zkl_operations *self) {
    ((fake_operations *)self)->now_ms++;
    return still->now_ms(self);
}

/* By 1 ms with each look. */
static void let_the_clock_go_on(lock_desk *desk) {
    static zkl_operations_table going;
    desk_enter(desk);
    still = desk->fake.operations.table;
    going = *still;
    going.now_ms = now_that_goes_on;
    desk->fake.operations.table = &going;
    desk_leave(desk);
}

static lock_desk *hold_until_before_the_end_of_the_lease(int64_t before_ms) {
    lock_desk *desk = open_with(0, TICK_MS, 0);
    desk_hold(desk);
    desk_stand_still(desk, LEASE_MS - before_ms);
    let_the_clock_go_on(desk);
    return desk;
}

static void close_with_a_still_clock(lock_desk *desk) {
    desk_enter(desk);
    desk->fake.operations.table = still;
    desk_leave(desk);
    desk_close(desk);
}

TEST(lease_that_ends_within_info_is_lost_and_not_suspect) {
    for (int64_t before_ms = 1; before_ms < 12; before_ms++) {
        lock_desk *desk = hold_until_before_the_end_of_the_lease(before_ms);
        zkl_lock_information information = information_of(desk);
        bool lost = information.state == ZKL_STATE_LOST;
        unit_check(lost == (information.lost_reason == ZKL_LEASE_ENDED) &&
                       lost == (information.lease_left_ms == 0) &&
                       (lost || information.state == ZKL_STATE_HELD),
                   __FILE__, __LINE__, "%d ms before the end: state %d, reason %d, %d ms left",
                   (int)before_ms, (int)information.state, information.lost_reason,
                   (int)information.lease_left_ms);
        close_with_a_still_clock(desk);
    }
}

TEST(lease_that_ends_within_check_is_lost_with_nothing_left) {
    for (int64_t before_ms = 1; before_ms < 12; before_ms++) {
        lock_desk *desk = hold_until_before_the_end_of_the_lease(before_ms);
        int64_t left = -99;
        int status = zkl_lock_check(desk->lock, &left);
        unit_check(status == (left > 0 ? ZKL_OK : ZKL_LOST), __FILE__, __LINE__,
                   "%d ms before the end: status %d, %d ms left", (int)before_ms, status,
                   (int)left);
        close_with_a_still_clock(desk);
    }
}

static void keep_time_waited(void *arg, const zkl_log_record *record) {
    if (record->event == ZKL_LOG_ACQUIRED) {
        *(int64_t *)arg = record->waited_ms;
    }
}

TEST(log_and_grant_tell_the_same_time_waited) {
    int64_t waited_ms = -1;
    lock_desk *desk =
        desk_open_with(&(desk_options){ .log_callback = keep_time_waited, .log_arg = &waited_ms });
    let_the_clock_go_on(desk);
    desk_hold(desk);
    int64_t told_ms = desk->grant.waited_ms;
    close_with_a_still_clock(desk);
    EXPECT_INT(waited_ms, told_ms);
    EXPECT(waited_ms > 0);
}

/* ---- Changes of mode ------------------------------------------------------------------- */

static int try_upgrade(lock_desk *desk) {
    return zkl_lock_try_upgrade(desk->lock, NULL);
}

/* The process is stopped after the answer is there, and before the thread that waits for it runs.
 */
TEST(upgrade_finds_the_hold_limit_though_no_timer_fired) {
    lock_desk *desk = open_with(HOLD_MS, 0, 0);
    desk->mode = ZKL_READ;
    desk_hold(desk);
    desk_begin(desk, try_upgrade, 0);
    desk_enter_at_calls(desk, 1); /* its list */
    FAKE_ANSWER(&desk->fake, "list", .outcome = ZKL_OUTCOME_REFUSED, .status = ZKL_NO_PERMISSION);
    desk->fake.now_ms += HOLD_MS;
    desk_leave(desk);
    EXPECT_INT(desk_join(desk), ZKL_LOST);
    desk_close(desk);
}
