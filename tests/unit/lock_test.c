/*
 * The lock handle: what its blocking calls return, over scripted operations.
 */
#include <sched.h>
#include <stdio.h>

#include "handle/lock.h"
#include "support/lock_desk.h"

/* ---- Acquire ---------------------------------------------------------------------- */

TEST(acquire_returns_with_the_grant) {
    lock_desk *desk = desk_open(NULL);
    desk_begin(desk, desk_acquire, ZKL_FOREVER);
    desk_enter_at_calls(desk, 2);
    FAKE_HEARD(&desk->fake, "create /app/locks/stock/#1-lock-; list /app/locks/stock");
    desk_answer_create(desk, "lock-0000000003", 4711);
    desk->fake.now_ms += 25;
    desk_answer_list(desk, "lock-0000000003", NULL);
    desk_leave(desk);
    EXPECT_INT(desk_join(desk), ZKL_OK);
    EXPECT_INT(desk->grant.token, 4711);
    EXPECT_INT(desk->grant.mode, ZKL_EXCLUSIVE);
    EXPECT_INT(desk->grant.waited_ms, 25);
    EXPECT_TEXT(desk->grant.node,
                "/app/locks/stock/_c_11111111-1111-4111-9111-111111111111-lock-0000000003");
    desk_close(desk);
}

TEST(absolute_resource_stands_below_the_chroot_only) {
    lock_desk *desk = desk_open(NULL);
    zkl_lock_close(desk->lock);
    EXPECT_INT(zkl_lock_open(desk->client, "/a/b", NULL, &desk->lock), ZKL_OK);
    desk_begin(desk, desk_acquire, 0);
    desk_enter_at_calls(desk, 1);
    FAKE_HEARD(&desk->fake, "list /app/a/b");
    desk_leave(desk);
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTING);
    EXPECT_INT(desk_join(desk), ZKL_DISCONNECTED);
    desk_close(desk);
}

TEST(deadline_ends_the_acquire) {
    lock_desk *desk = desk_open(NULL);
    desk_begin(desk, desk_acquire, 500);
    desk_enter_at_calls(desk, 2);
    desk->fake.now_ms += 499;
    zkl_timers_fire_due(&desk->client->timers, desk->fake.now_ms);
    EXPECT_INT(desk->lock->attempt.verdict, ZKL_PENDING);
    desk->fake.now_ms += 1;
    zkl_timers_fire_due(&desk->client->timers, desk->fake.now_ms);
    desk_leave(desk);
    EXPECT_INT(desk_join(desk), ZKL_TIMEOUT);
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_NOT_HELD);
    desk_close(desk);
}

/* The message is that of the thread that acquires. */
static char message[256];

static int acquire_and_keep_the_message(lock_desk *desk) {
    int status = desk_acquire(desk);
    snprintf(message, sizeof(message), "%s", zkl_error_message());
    return status;
}

TEST(refusal_names_the_node_that_was_not_made) {
    lock_desk *desk = desk_open(NULL);
    desk_begin(desk, acquire_and_keep_the_message, ZKL_FOREVER);
    desk_enter_at_calls(desk, 2);
    FAKE_ANSWER(&desk->fake, "create", .outcome = ZKL_OUTCOME_NO_NODE);
    FAKE_ANSWER(&desk->fake, "list", .outcome = ZKL_OUTCOME_NO_NODE);
    FAKE_ANSWER(&desk->fake, "make", .outcome = ZKL_OUTCOME_NO_NODE); /* nor that above it */
    FAKE_ANSWER(&desk->fake, "make", .outcome = ZKL_OUTCOME_REFUSED, .status = ZKL_NO_PERMISSION);
    FAKE_ANSWER(&desk->fake, "exists", .outcome = ZKL_OUTCOME_NO_NODE);
    desk_leave(desk);
    EXPECT_INT(desk_join(desk), ZKL_NO_PERMISSION);
    EXPECT_TEXT(message, "resource \"stock\": the servers refused to create /app/locks");
    desk_close(desk);
}

TEST(expiry_fails_the_acquire_where_asked_for) {
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    options.fail_on_session_expiry = 1;
    lock_desk *desk = desk_open_offline(&options);
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTED);
    desk_begin(desk, desk_acquire, ZKL_FOREVER);
    desk_enter_at_calls(desk, 2);
    desk_leave(desk);
    desk_tell(desk, ZKL_SESSION_STATE_EXPIRED);
    EXPECT_INT(desk_join(desk), ZKL_SESSION_EXPIRED);
    desk_close(desk);
}

TEST(failed_authentication_fails_this_acquire_and_the_next) {
    lock_desk *desk = desk_open_offline(NULL);
    desk_tell(desk, ZKL_SESSION_STATE_AUTH_FAILED);
    EXPECT_INT(zkl_lock_acquire(desk->lock, ZKL_EXCLUSIVE, ZKL_FOREVER, NULL), ZKL_AUTH_FAILED);
    EXPECT_INT(zkl_lock_acquire(desk->lock, ZKL_EXCLUSIVE, 0, NULL), ZKL_AUTH_FAILED);
    desk_close(desk);
}

/* ---- One handle is one contender ------------------------------------------------------ */

TEST(held_handle_cannot_acquire_again_until_released) {
    lock_desk *desk = desk_open(NULL);
    desk_hold(desk);
    EXPECT_INT(zkl_lock_acquire(desk->lock, ZKL_READ, 0, NULL), ZKL_ALREADY_HELD);
    EXPECT_INT(zkl_lock_release(desk->lock, 0), ZKL_OK);
    desk_answer_remove(desk);
    desk_hold(desk);
    desk_close(desk);
}

TEST(cancel_is_for_those_who_wait) {
    lock_desk *desk = desk_open(NULL);
    EXPECT_INT(zkl_lock_cancel(desk->lock), ZKL_NOT_WAITING);
    desk_hold(desk);
    EXPECT_INT(zkl_lock_cancel(desk->lock), ZKL_NOT_WAITING);
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_OK);
    desk_close(desk);
}

/* ---- Check -------------------------------------------------------------------------------- */

TEST(check_follows_the_session) {
    lock_desk *desk = desk_open(NULL);
    int64_t lease_left_ms = 5;
    EXPECT_INT(zkl_lock_check(desk->lock, &lease_left_ms), ZKL_NOT_HELD);
    EXPECT_INT(lease_left_ms, -1);
    desk_hold(desk);
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_OK);
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTING);
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_SUSPECT);
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTED);
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_OK);
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTING);
    desk_tell(desk, ZKL_SESSION_STATE_EXPIRED);
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_LOST);
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTED);
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_LOST); /* final for this grant */
    desk_close(desk);
}

TEST(lost_lock_has_to_be_released_before_the_next_acquire) {
    lock_desk *desk = desk_open(NULL);
    desk_hold(desk);
    desk_tell(desk, ZKL_SESSION_STATE_EXPIRED);
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTED);
    EXPECT_INT(zkl_lock_acquire(desk->lock, ZKL_EXCLUSIVE, 0, NULL), ZKL_ALREADY_HELD);
    EXPECT_INT(zkl_lock_release(desk->lock, ZKL_FOREVER), ZKL_LOST);
    EXPECT_INT(zkl_lock_release(desk->lock, ZKL_FOREVER), ZKL_NOT_HELD);
    desk_hold(desk);
    desk_close(desk);
}

/* ---- Release -------------------------------------------------------------------------------- */

TEST(release_without_a_wait_only_queues_the_delete) {
    lock_desk *desk = desk_open(NULL);
    desk_hold(desk);
    desk->fake.heard[0] = '\0';
    EXPECT_INT(zkl_lock_release(desk->lock, 0), ZKL_OK);
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_NOT_HELD);
    FAKE_HEARD(&desk->fake, "remove /app/locks/stock/#1-lock-0000000003");
    EXPECT_INT(zkl_lock_release(desk->lock, 0), ZKL_NOT_HELD);
    desk_close(desk);
}

TEST(release_waits_for_the_confirmation) {
    lock_desk *desk = desk_open(NULL);
    desk_hold(desk);
    desk_begin(desk, desk_release, ZKL_FOREVER);
    desk_enter_at_calls(desk, 1);
    FAKE_ANSWER(&desk->fake, "remove", .outcome = ZKL_OUTCOME_NO_NODE);
    desk_leave(desk);
    EXPECT_INT(desk_join(desk), ZKL_OK);
    desk_close(desk);
}

TEST(release_that_is_not_confirmed_in_time_is_pending) {
    lock_desk *desk = desk_open(NULL);
    desk_hold(desk);
    desk_begin(desk, desk_release, 500);
    desk_enter_at_calls(desk, 1);
    desk_leave(desk);
    desk_pass(desk, 500);
    EXPECT_INT(desk_join(desk), ZKL_PENDING);
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_NOT_HELD);
    desk_hold(desk); /* with another node, while the delete of the first is under way */
    EXPECT_INT(desk->fake.call_count, 1);
    desk_close(desk);
}

/* ---- Closing ------------------------------------------------------------------------------ */

TEST(close_ends_an_acquire_of_another_thread) {
    lock_desk *desk = desk_open(NULL);
    desk_begin(desk, desk_acquire, ZKL_FOREVER);
    desk_enter_at_calls(desk, 2);
    desk_leave(desk);
    zkl_lock_close(desk->lock); /* returns when that acquire has returned */
    desk->lock = NULL;
    EXPECT_INT(desk_join(desk), ZKL_CANCELLED);
    desk_close(desk);
}

TEST(handle_outlives_its_client_and_says_so) {
    lock_desk *desk = desk_open(NULL);
    desk_hold(desk);
    EXPECT_INT(desk_close_client(desk), ZKL_PENDING); /* nobody has confirmed the deletion */
    zkl_lock_information information = ZKL_LOCK_INFORMATION_INIT;
    EXPECT_INT(zkl_lock_acquire(desk->lock, ZKL_EXCLUSIVE, ZKL_FOREVER, NULL), ZKL_CLOSED);
    EXPECT_INT(zkl_lock_release(desk->lock, 0), ZKL_CLOSED);
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_CLOSED);
    EXPECT_INT(zkl_lock_info(desk->lock, &information), ZKL_CLOSED);
    EXPECT_INT(zkl_lock_cancel(desk->lock), ZKL_CLOSED);
    desk_close(desk);
}

static void count_told(void *arg, int status, const zkl_grant *grant) {
    unsigned *told = arg;
    (void)status;
    (void)grant;
    (*told)++;
}

/* Nobody would end it any more. */
TEST(closed_client_starts_no_thread_for_callbacks) {
    lock_desk *desk = desk_open(NULL);
    const zkl_client *client = desk->client;
    unsigned told = 0;
    (void)desk_close_client(desk);
    EXPECT_INT(
        zkl_lock_acquire_async(desk->lock, ZKL_EXCLUSIVE, ZKL_FOREVER, NULL, count_told, &told),
        ZKL_CLOSED);
    EXPECT(client->callbacks == NULL);
    EXPECT_INT(told, 0);
    desk_close(desk);
}

/* The servers go on with the session, as far as anybody knows. */
TEST(close_after_a_failed_authentication_is_not_confirmed) {
    lock_desk *desk = desk_open(NULL);
    desk_hold(desk);
    desk_tell(desk, ZKL_SESSION_STATE_AUTH_FAILED);
    EXPECT_INT(desk_close_client(desk), ZKL_PENDING);
    desk_close(desk);
}

/* The client is open, and the node stays until its session has timed out. */
TEST(release_that_a_failed_authentication_cuts_short_is_not_confirmed) {
    lock_desk *desk = desk_open(NULL);
    desk_hold(desk);
    desk_begin(desk, desk_release, ZKL_FOREVER);
    desk_enter_at_calls(desk, 1);
    desk_leave(desk);
    desk_tell(desk, ZKL_SESSION_STATE_AUTH_FAILED);
    desk_enter(desk);
    FAKE_ANSWER(&desk->fake, "remove", .outcome = ZKL_OUTCOME_SESSION_OVER);
    desk_leave(desk);
    EXPECT_INT(desk_join(desk), ZKL_PENDING);
    desk_close(desk);
}

TEST(acquire_that_is_granted_when_its_client_closes_has_nothing) {
    lock_desk *desk = desk_open(NULL);
    desk_begin(desk, desk_acquire, ZKL_FOREVER);
    desk_enter_at_calls(desk, 2);
    desk_grant(desk);
    desk->client->closed = true; /* the mutex is still ours */
    desk_leave(desk);
    EXPECT_INT(desk_join(desk), ZKL_CLOSED);
    desk_enter(desk);
    desk->client->closed = false; /* so that it can be closed in earnest */
    desk_leave(desk);
    desk_close(desk);
}

static int close_client_patiently(lock_desk *desk) {
    return zkl_client_close(desk->client, desk->timeout_ms);
}

TEST(handle_of_a_client_that_closes_is_not_opened) {
    lock_desk *desk = desk_open(NULL);
    zkl_lock *late = desk->lock;
    desk_hold(desk);
    desk_begin(desk, close_client_patiently, INT64_MAX);
    desk_enter_at_calls(desk, 1); /* it waits for the deletion */
    desk_leave(desk);
    EXPECT_INT(zkl_lock_open(desk->client, "stock", NULL, &late), ZKL_CLOSED);
    EXPECT(late == NULL);
    desk_enter(desk);
    FAKE_ANSWER(&desk->fake, "remove /app/locks/stock", .outcome = ZKL_OUTCOME_OK);
    pthread_cond_broadcast(&desk->client->changed); /* as the service does */
    desk_leave(desk);
    EXPECT_INT(desk_join(desk), ZKL_OK);
    desk->client = NULL;
    desk_close(desk);
}
