/*
 * A reentrant handle: the thread that holds the lock acquires it again, and
 * releases it as often. That thread is the desk's contender; the test's own is
 * the other one.
 */
#include <string.h>

#include "support/lock_desk.h"

static lock_desk *open_reentrant(void) {
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    options.reentrant = 1;
    return desk_open(&options);
}

static int acquire_as(lock_desk *desk, zkl_mode mode) {
    desk->mode = mode;
    return desk_do(desk, desk_acquire, 0);
}

static lock_desk *hold_as(zkl_mode mode) {
    lock_desk *desk = open_reentrant();
    desk->mode = mode;
    desk_hold(desk);
    desk_forget_heard(desk);
    return desk;
}

static uint32_t holds(lock_desk *desk) {
    zkl_lock_information information = ZKL_LOCK_INFORMATION_INIT;
    EXPECT_INT(zkl_lock_info(desk->lock, &information), ZKL_OK);
    return information.holds;
}

/* ---- The owner -------------------------------------------------------------- */

TEST(owner_acquires_again_without_a_request) {
    lock_desk *desk = hold_as(ZKL_EXCLUSIVE);
    zkl_grant first = desk->grant;
    desk->grant = (zkl_grant)ZKL_GRANT_INIT;
    desk_stand_still(desk, 50);
    EXPECT_INT(desk_do(desk, desk_acquire, ZKL_FOREVER), ZKL_OK);
    DESK_HEARD(desk, "");
    EXPECT_INT(desk->grant.token, DESK_TOKEN);
    EXPECT_INT(desk->grant.mode, ZKL_EXCLUSIVE);
    EXPECT_INT(desk->grant.waited_ms, 0);
    EXPECT_TEXT(desk->grant.node, first.node);
    EXPECT(strstr(first.node, DESK_NODE) != NULL);
    desk_close(desk);
}

TEST(lock_is_held_until_the_last_of_as_many_releases) {
    lock_desk *desk = hold_as(ZKL_EXCLUSIVE);
    EXPECT_INT(desk_do(desk, desk_acquire, 0), ZKL_OK);
    EXPECT_INT(desk_do(desk, desk_acquire, 500), ZKL_OK);
    for (uint32_t left = 3; left > 1; left--) {
        EXPECT_INT(holds(desk), left);
        EXPECT_INT(desk_do(desk, desk_release, ZKL_FOREVER), ZKL_OK); /* nothing to wait for */
        EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_OK);
    }
    EXPECT_INT(holds(desk), 1);
    DESK_HEARD(desk, "");
    EXPECT_INT(desk_do(desk, desk_release, 0), ZKL_OK);
    DESK_HEARD(desk, "remove /app/locks/stock/#1-" DESK_NODE);
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_NOT_HELD);
    EXPECT_INT(desk_do(desk, desk_release, 0), ZKL_NOT_HELD);
    desk_close(desk);
}

/* ---- Modes ------------------------------------------------------------------- */

TEST(reader_may_acquire_again_for_reading_only) {
    lock_desk *desk = hold_as(ZKL_READ);
    EXPECT_INT(acquire_as(desk, ZKL_READ), ZKL_OK);
    EXPECT_REFUSED(acquire_as(desk, ZKL_WRITE), "mode");
    EXPECT_REFUSED(acquire_as(desk, ZKL_EXCLUSIVE), "mode");
    EXPECT_INT(holds(desk), 2);
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_OK);
    DESK_HEARD(desk, "");
    desk_close(desk);
}

/* ---- Other threads -------------------------------------------------------------- */

TEST(other_thread_can_neither_acquire_nor_release) {
    lock_desk *desk = hold_as(ZKL_EXCLUSIVE);
    EXPECT_INT(zkl_lock_acquire(desk->lock, ZKL_EXCLUSIVE, 0, NULL), ZKL_ALREADY_HELD);
    EXPECT_INT(zkl_lock_acquire(desk->lock, ZKL_READ, ZKL_FOREVER, NULL), ZKL_ALREADY_HELD);
    EXPECT_INT(zkl_lock_release(desk->lock, 0), ZKL_NOT_OWNER);
    EXPECT_INT(zkl_lock_release(desk->lock, ZKL_FOREVER), ZKL_NOT_OWNER);
    EXPECT_INT(holds(desk), 1);
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_OK);
    DESK_HEARD(desk, "");
    EXPECT_INT(desk_do(desk, desk_release, 0), ZKL_OK);
    desk_close(desk);
}

TEST(other_thread_cannot_release_what_was_lost) {
    lock_desk *desk = hold_as(ZKL_EXCLUSIVE);
    desk_expire(desk);
    EXPECT_INT(zkl_lock_release(desk->lock, 0), ZKL_NOT_OWNER);
    EXPECT_INT(zkl_lock_acquire(desk->lock, ZKL_EXCLUSIVE, 0, NULL), ZKL_ALREADY_HELD);
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_LOST);
    EXPECT_INT(desk_do(desk, desk_release, 0), ZKL_LOST);
    desk_close(desk);
}

TEST(handle_in_the_last_release_is_in_use) {
    lock_desk *desk = hold_as(ZKL_EXCLUSIVE);
    desk_begin(desk, desk_release, ZKL_FOREVER);
    desk_enter_at_calls(desk, 1);
    desk_leave(desk);
    EXPECT_INT(zkl_lock_release(desk->lock, 0), ZKL_HANDLE_IN_USE);
    EXPECT_INT(zkl_lock_acquire(desk->lock, ZKL_EXCLUSIVE, 0, NULL), ZKL_HANDLE_IN_USE);
    desk_answer_remove(desk);
    EXPECT_INT(desk_join(desk), ZKL_OK);
    desk_close(desk);
}

/* ---- The end of it ------------------------------------------------------------------ */

static int acquire_to_the_limit(lock_desk *desk) {
    for (uint32_t count = 1; count < ZKL_HOLDS_MAX; count++) {
        int status = zkl_lock_acquire(desk->lock, ZKL_EXCLUSIVE, 0, NULL);
        if (status != ZKL_OK) {
            return status;
        }
    }
    return ZKL_OK;
}

static int release_to_the_last(lock_desk *desk) {
    int status = ZKL_OK;
    for (uint32_t count = ZKL_HOLDS_MAX; count > 1 && status == ZKL_OK; count--) {
        status = zkl_lock_release(desk->lock, 0);
    }
    return status;
}

TEST(holds_end_at_their_limit_and_none_is_forgotten) {
    lock_desk *desk = hold_as(ZKL_EXCLUSIVE);
    EXPECT_INT(desk_do(desk, acquire_to_the_limit, 0), ZKL_OK);
    EXPECT_INT(holds(desk), 65535);
    EXPECT_INT(desk_do(desk, desk_acquire, 0), ZKL_ALREADY_HELD);
    EXPECT_INT(holds(desk), 65535);
    EXPECT_INT(desk_do(desk, release_to_the_last, 0), ZKL_OK);
    DESK_HEARD(desk, "");
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_OK);
    EXPECT_INT(desk_do(desk, desk_release, 0), ZKL_OK);
    DESK_HEARD(desk, "remove /app/locks/stock/#1-" DESK_NODE);
    desk_close(desk);
}

TEST(lock_lost_in_the_middle_is_lost_for_each_release) {
    lock_desk *desk = hold_as(ZKL_EXCLUSIVE);
    EXPECT_INT(desk_do(desk, desk_acquire, 0), ZKL_OK);
    EXPECT_INT(desk_do(desk, desk_acquire, 0), ZKL_OK);
    desk_expire(desk);
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTED);
    EXPECT_INT(desk_do(desk, desk_acquire, ZKL_FOREVER), ZKL_LOST);
    for (uint32_t left = 3; left > 0; left--) {
        EXPECT_INT(holds(desk), left);
        EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_LOST);
        EXPECT_INT(desk_do(desk, desk_release, ZKL_FOREVER), ZKL_LOST);
    }
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_NOT_HELD);
    EXPECT_INT(desk_do(desk, desk_release, 0), ZKL_NOT_HELD);
    desk_hold(desk);
    EXPECT_INT(holds(desk), 1);
    desk_close(desk);
}
