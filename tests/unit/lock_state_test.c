/*
 * What zkl_lock_check and zkl_lock_info say of a handle, and who wins where a
 * grant, a loss, a release and a cancel meet.
 */
#include "base/threads.h"
#include "support/lock_desk.h"

/* With a session timeout of 10 s the lease of a new session ends after the
 * timeout less a third of it and a thousandth; silence is two thirds of it. */
enum { TICK_MS = 2000, LEASE_MS = 10000 - 3333 - 10, SILENCE_MS = 2 * 3333 };

static lock_desk *open_with_lease(void) {
    return desk_open_with(&(desk_options){ .lease_tick_ms = TICK_MS });
}

static lock_desk *open_with_hold_limit(int64_t max_hold_ms) {
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    options.max_hold_ms = max_hold_ms;
    return desk_open(&options);
}

static zkl_lock_information information_of(lock_desk *desk) {
    zkl_lock_information information = ZKL_LOCK_INFORMATION_INIT;
    EXPECT_INT(zkl_lock_info(desk->lock, &information), ZKL_OK);
    EXPECT_INT(information.struct_size, sizeof(information));
    return information;
}

/* Nothing is said of a grant where there is none. */
static void expect_no_grant(const zkl_lock_information *information) {
    EXPECT_INT(information->lost_reason, ZKL_OK);
    EXPECT_INT(information->mode, 0);
    EXPECT_INT(information->token, 0);
    EXPECT_INT(information->holds, 0);
    EXPECT_INT(information->held_ms, 0);
}

static int64_t lease_left(lock_desk *desk, int expected_status) {
    int64_t left = -99;
    EXPECT_INT(zkl_lock_check(desk->lock, &left), expected_status);
    EXPECT_INT(information_of(desk).lease_left_ms, left);
    return left;
}

/* ---- Check ------------------------------------------------------------------------ */

TEST(silence_of_two_thirds_of_the_timeout_is_suspect) {
    lock_desk *desk = desk_open(NULL);
    desk_hold(desk);
    desk_stand_still(desk, SILENCE_MS - 1);
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_OK);
    desk_stand_still(desk, 1);
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_SUSPECT);
    EXPECT_INT(information_of(desk).state, ZKL_STATE_SUSPECT);
    desk_close(desk);
}

TEST(lock_is_lost_with_its_lease_though_no_timer_fired) {
    lock_desk *desk = open_with_lease();
    desk_hold(desk);
    desk_stand_still(desk, LEASE_MS - 1);
    EXPECT_INT(lease_left(desk, ZKL_OK), 1);
    desk_stand_still(desk, 1);
    EXPECT_INT(lease_left(desk, ZKL_LOST), 0);
    EXPECT_INT(information_of(desk).lost_reason, ZKL_LEASE_ENDED);
    desk_close(desk);
}

/* ---- Information --------------------------------------------------------------------- */

TEST(waiting_handle_is_acquiring) {
    lock_desk *desk = desk_open(NULL);
    desk_begin(desk, desk_acquire, ZKL_FOREVER);
    desk_enter_at_calls(desk, 2);
    desk_leave(desk);
    zkl_lock_information information = information_of(desk);
    EXPECT_INT(information.state, ZKL_STATE_ACQUIRING);
    EXPECT_INT(information.pending_deletions, 0);
    expect_no_grant(&information);
    desk_enter(desk);
    desk_grant(desk);
    desk_leave(desk);
    EXPECT_INT(desk_join(desk), ZKL_OK);
    desk_close(desk);
}

TEST(position_is_told_from_the_list_until_the_place_is_lost) {
    lock_desk *desk = desk_open(NULL);
    desk_begin(desk, desk_acquire, ZKL_FOREVER);
    desk_enter_at_calls(desk, 2);
    desk_leave(desk);
    EXPECT_INT(information_of(desk).position, -1);
    desk_enter(desk);
    desk_answer_create(desk, DESK_NODE, DESK_TOKEN);
    desk_answer_list(desk, DESK_NODE, "x-lock-0000000002");
    desk_leave(desk);
    EXPECT_INT(information_of(desk).position, 1);
    desk_expire(desk);
    EXPECT_INT(information_of(desk).position, -1);
    EXPECT_INT(zkl_lock_cancel(desk->lock), ZKL_OK);
    EXPECT_INT(desk_join(desk), ZKL_CANCELLED);
    EXPECT_INT(information_of(desk).position, -1);
    desk_close(desk);
}

TEST(held_lock_is_told_in_full) {
    lock_desk *desk = desk_open(NULL);
    desk->mode = ZKL_WRITE;
    desk_hold(desk);
    zkl_lock_information information = information_of(desk);
    EXPECT_INT(information.state, ZKL_STATE_HELD);
    EXPECT_INT(information.lost_reason, ZKL_OK);
    EXPECT_INT(information.mode, ZKL_WRITE);
    EXPECT_INT(information.token, DESK_TOKEN);
    EXPECT_INT(information.holds, 1);
    EXPECT_INT(information.pending_deletions, 0);
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTING);
    information = information_of(desk);
    EXPECT_INT(information.state, ZKL_STATE_SUSPECT);
    EXPECT_INT(information.mode, ZKL_WRITE);
    EXPECT_INT(information.token, DESK_TOKEN);
    EXPECT_INT(information.holds, 1);
    desk_close(desk);
}

/* ---- Losses, and what is left to do after them ------------------------------------------- */

TEST(node_of_a_lost_lease_stays_until_the_release) {
    lock_desk *desk = open_with_lease();
    desk_hold(desk);
    desk_forget_heard(desk);
    desk_stand_still(desk, LEASE_MS);
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_LOST);
    EXPECT_INT(information_of(desk).pending_deletions, 0);
    DESK_HEARD(desk, "");
    EXPECT_INT(zkl_lock_release(desk->lock, ZKL_FOREVER), ZKL_LOST); /* without a wait */
    DESK_HEARD(desk, "remove /app/locks/stock/#1-" DESK_NODE);
    EXPECT_INT(information_of(desk).pending_deletions, 1);
    desk_close(desk);
}

TEST(lock_held_for_too_long_is_lost_and_its_node_deleted) {
    lock_desk *desk = open_with_hold_limit(500);
    desk_hold(desk);
    desk_forget_heard(desk);
    desk_pass(desk, 499);
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_OK);
    desk_pass(desk, 1);
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_LOST);
    EXPECT_INT(information_of(desk).lost_reason, ZKL_HOLD_LIMIT);
    EXPECT_INT(information_of(desk).pending_deletions, 1);
    DESK_HEARD(desk, "remove /app/locks/stock/#1-" DESK_NODE);
    desk_answer_remove(desk);
    EXPECT_INT(information_of(desk).pending_deletions, 0);
    EXPECT_INT(zkl_lock_release(desk->lock, 0), ZKL_LOST);
    DESK_HEARD(desk, ""); /* nothing is left to delete */
    desk_close(desk);
}

TEST(hold_limit_is_for_each_grant_and_ends_with_the_release) {
    lock_desk *desk = open_with_hold_limit(500);
    desk_hold(desk);
    EXPECT_INT(zkl_lock_release(desk->lock, 0), ZKL_OK);
    desk_answer_remove(desk);
    desk_pass(desk, 400);
    desk_hold(desk);
    desk_pass(desk, 400); /* 800 since the first */
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_OK);
    desk_pass(desk, 100);
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_LOST);
    desk_close(desk);
}

/* ---- Who comes first wins -------------------------------------------------------------------- */

TEST(grant_after_the_cancel_is_given_back) {
    lock_desk *desk = desk_open(NULL);
    desk_begin(desk, desk_acquire, ZKL_FOREVER);
    desk_enter_at_calls(desk, 2);
    desk_leave(desk);
    EXPECT_INT(zkl_lock_cancel(desk->lock), ZKL_OK);
    desk_enter(desk);
    desk->fake.heard[0] = '\0';
    desk_grant(desk);
    FAKE_HEARD(&desk->fake, "remove /app/locks/stock/#1-" DESK_NODE);
    desk_leave(desk);
    EXPECT_INT(desk_join(desk), ZKL_CANCELLED);
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_NOT_HELD);
    desk_close(desk);
}

/* With the client's mutex held from the grant to the loss, so that the acquire
 * cannot return in between. */
typedef void lose_function(lock_desk *desk);

static void expire(lock_desk *desk) {
    zkl_session_on_news(&desk->client->sessions->session,
                        &(zkl_session_news){ .state = ZKL_SESSION_STATE_EXPIRED });
}

static void end_lease(lock_desk *desk) {
    desk->fake.now_ms += LEASE_MS; /* and no timer fires */
}

static void reach_hold_limit(lock_desk *desk) {
    desk->fake.now_ms += 500;
    zkl_timers_fire_due(&desk->client->timers, desk->fake.now_ms);
}

static void delete_node(lock_desk *desk) {
    desk->fake.now_ms += 3333;
    zkl_timers_fire_due(&desk->client->timers, desk->fake.now_ms);
    FAKE_ANSWER(&desk->fake, "watch /app/locks/stock", .outcome = ZKL_OUTCOME_NO_NODE);
}

TEST(lock_lost_before_its_acquire_returned_was_never_held) {
    static const struct {
        lose_function *lose;
        int reason;
        int64_t max_hold_ms;
        bool leaves_node;
    } rows[] = {
        { expire, ZKL_SESSION_EXPIRED, 0, false },
        { end_lease, ZKL_LEASE_ENDED, 0, true },
        { reach_hold_limit, ZKL_HOLD_LIMIT, 500, true },
        { delete_node, ZKL_NODE_DELETED, 0, false },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
        options.max_hold_ms = rows[i].max_hold_ms;
        lock_desk *desk = desk_open_with(&(desk_options){ &options, .lease_tick_ms = TICK_MS });
        desk_begin(desk, desk_acquire, ZKL_FOREVER);
        desk_enter_at_calls(desk, 2);
        desk_grant(desk);
        rows[i].lose(desk);
        desk_leave(desk);
        EXPECT_INT(desk_join(desk), rows[i].reason);
        EXPECT_INT(desk->grant.token, 0);
        EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_NOT_HELD);
        zkl_lock_information information = information_of(desk);
        EXPECT_INT(information.state, ZKL_STATE_IDLE);
        EXPECT_INT(information.pending_deletions, rows[i].leaves_node ? 1 : 0);
        expect_no_grant(&information);
        EXPECT_INT(zkl_lock_release(desk->lock, 0), ZKL_NOT_HELD);
        desk_close(desk);
    }
}
