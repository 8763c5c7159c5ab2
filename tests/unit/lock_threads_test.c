/*
 * Handles of one client in several threads: for ThreadSanitizer, which sees what is read or written
 * outside of the client's mutex. So that nothing else orders the threads, they tell each other by
 * relaxed flags only.
 */
#include <sched.h>
#include <stdatomic.h>

#include "support/lock_desk.h"

static atomic_bool has_returned;
static atomic_bool may_go_on;
static zkl_lock *another;

static void set(atomic_bool *flag) {
    atomic_store_explicit(flag, true, memory_order_relaxed);
}

static void wait_for(atomic_bool *flag) {
    while (!atomic_load_explicit(flag, memory_order_relaxed)) {
        (void)sched_yield();
    }
}

static void clear_flags(void) {
    atomic_store(&has_returned, false);
    atomic_store(&may_go_on, false);
}

static int acquire_and_wait(lock_desk *desk) {
    int status = desk_acquire(desk);
    set(&has_returned);
    wait_for(&may_go_on);
    return status;
}

TEST(grant_is_read_before_anything_else_can_become_of_it) {
    lock_desk *desk = desk_open(NULL);
    clear_flags();
    desk_begin(desk, acquire_and_wait, ZKL_FOREVER);
    desk_enter_at_calls(desk, 2);
    desk_grant(desk);
    desk_leave(desk);
    wait_for(&has_returned);
    desk_expire(desk);
    set(&may_go_on);
    EXPECT_INT(desk_join(desk), ZKL_OK);
    EXPECT_INT(desk->grant.token, DESK_TOKEN);
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_LOST);
    desk_close(desk);
}

/* Returns, and does nothing else, before the test has opened and closed a handle of its own. */
static int open_and_wait(lock_desk *desk) {
    int status = zkl_lock_open(desk->client, "another", NULL, &another);
    set(&has_returned);
    wait_for(&may_go_on);
    return status;
}

static int close_and_wait(lock_desk *desk) {
    (void)desk;
    zkl_lock_close(another);
    set(&has_returned);
    wait_for(&may_go_on);
    return ZKL_OK;
}

static void do_beside_another_handle(lock_desk *desk, desk_task *task) {
    zkl_lock *mine = NULL;
    clear_flags();
    desk_begin(desk, task, 0);
    wait_for(&has_returned);
    EXPECT_INT(zkl_lock_open(desk->client, "mine", NULL, &mine), ZKL_OK);
    zkl_lock_close(mine);
    set(&may_go_on);
    EXPECT_INT(desk_join(desk), ZKL_OK);
}

TEST(handles_of_two_threads_are_counted_once_each) {
    lock_desk *desk = desk_open(NULL);
    do_beside_another_handle(desk, open_and_wait);
    EXPECT_INT(desk->client->references, 3); /* its own, and those of two handles */
    do_beside_another_handle(desk, close_and_wait);
    EXPECT_INT(desk->client->references, 2);
    desk_close(desk);
}
