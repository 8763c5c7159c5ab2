/* Every way out of the queue leaves no node behind. */
#include "support/scene.h"
#include "support/servers.h"

/* A holder, and others who want what it has, on another client. */
struct contest {
    struct scene scene;
    zkl_client *holders_client;
    zkl_client *client;
    zkl_lock *holder;
    zkl_lock *lock;
};

static void contest_begin(struct contest *contest, const char *stem) {
    scene_begin(&contest->scene, stem);
    contest->holders_client = client_open_on(1);
    contest->client = client_open_on(2);
    contest->holder = lock_open(contest->holders_client, contest->scene.resource);
    contest->lock = lock_open(contest->client, contest->scene.resource);
    ASSERT_STATUS(zkl_lock_acquire(contest->holder, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
}

/* Only the holder's node is left in the queue, and it still holds. */
static void assert_only_the_holder_is_left(struct contest *contest) {
    WAIT_UNTIL(scene_queue(&contest->scene) == 1);
    WAIT_UNTIL(scene_watches(&contest->scene) == 0);
    ASSERT_STATUS(zkl_lock_check(contest->holder, NULL), ZKL_OK);
}

static void contest_end(struct contest *contest) {
    assert_only_the_holder_is_left(contest);
    ASSERT_STATUS(zkl_lock_release(contest->holder, PATIENCE_MS), ZKL_OK);
    zkl_lock_close(contest->holder);
    zkl_lock_close(contest->lock);
    client_close(contest->holders_client);
    client_close(contest->client);
    scene_end(&contest->scene);
}

static void pass_role_of_holder(struct contest *contest) {
    zkl_lock *holder = contest->lock;
    contest->lock = contest->holder;
    contest->holder = holder;
}

static void start_waiting(struct contest *contest, struct waiter *waiter) {
    waiter_start(waiter, contest->lock, ZKL_EXCLUSIVE, PATIENCE_MS);
    WAIT_UNTIL(scene_watches(&contest->scene) == 1);
}

static void timeout_comes_at_its_deadline_and_leaves_no_node(void) {
    const int64_t timeout_ms = 700;
    struct contest contest;
    contest_begin(&contest, "timeout");
    int64_t begun = now_ms();
    ASSERT_STATUS(zkl_lock_acquire(contest.lock, ZKL_EXCLUSIVE, timeout_ms, NULL), ZKL_TIMEOUT);
    int64_t took = now_ms() - begun;
    CU_ASSERT_TRUE(took >= timeout_ms);
    CU_ASSERT_TRUE(took <= timeout_ms + SLACK_MS);
    ASSERT_STATUS(zkl_lock_check(contest.lock, NULL), ZKL_NOT_HELD);
    contest_end(&contest);
}

static void timeout_shorter_than_a_round_trip_leaves_no_node(void) {
    struct contest contest;
    contest_begin(&contest, "timeout-short");
    for (int i = 0; i < 20; i++) {
        ASSERT_STATUS(zkl_lock_acquire(contest.lock, ZKL_EXCLUSIVE, 1, NULL), ZKL_TIMEOUT);
    }
    contest_end(&contest);
}

static void handle_that_timed_out_acquires_again(void) {
    struct contest contest;
    contest_begin(&contest, "timeout-again");
    struct waiter waiter;
    ASSERT_STATUS(zkl_lock_acquire(contest.lock, ZKL_EXCLUSIVE, 50, NULL), ZKL_TIMEOUT);
    start_waiting(&contest, &waiter);
    ASSERT_STATUS(zkl_lock_release(contest.holder, PATIENCE_MS), ZKL_OK);
    ASSERT_STATUS(waiter_join(&waiter), ZKL_OK);
    ASSERT_STATUS(zkl_lock_release(contest.lock, PATIENCE_MS), ZKL_OK);
    ASSERT_STATUS(zkl_lock_acquire(contest.holder, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
    contest_end(&contest);
}

static void cancel_from_another_thread_leaves_no_node(void) {
    struct contest contest;
    contest_begin(&contest, "cancel");
    struct waiter waiter;
    start_waiting(&contest, &waiter);
    ASSERT_STATUS(zkl_lock_cancel(contest.lock), ZKL_OK);
    ASSERT_STATUS(waiter_join(&waiter), ZKL_CANCELLED);
    ASSERT_STATUS(zkl_lock_cancel(contest.lock), ZKL_NOT_WAITING);
    contest_end(&contest);
}

static void close_of_a_handle_that_waits_cancels_and_leaves_no_node(void) {
    struct contest contest;
    contest_begin(&contest, "close-waiting");
    struct waiter waiter;
    start_waiting(&contest, &waiter);
    zkl_lock_close(contest.lock);
    contest.lock = NULL;
    ASSERT_STATUS(waiter_join(&waiter), ZKL_CANCELLED);
    contest_end(&contest);
}

static void close_of_a_handle_that_holds_passes_the_lock_on(void) {
    struct contest contest;
    contest_begin(&contest, "close-holding");
    struct waiter waiter;
    start_waiting(&contest, &waiter);
    zkl_lock_close(contest.holder);
    contest.holder = NULL;
    ASSERT_STATUS(waiter_join(&waiter), ZKL_OK);
    pass_role_of_holder(&contest);
    contest_end(&contest);
}

static void release_without_waiting_passes_the_lock_on(void) {
    struct contest contest;
    contest_begin(&contest, "release-queued");
    struct waiter waiter;
    start_waiting(&contest, &waiter);
    ASSERT_STATUS(zkl_lock_release(contest.holder, 0), ZKL_OK);
    ASSERT_STATUS(zkl_lock_check(contest.holder, NULL), ZKL_NOT_HELD);
    ASSERT_STATUS(waiter_join(&waiter), ZKL_OK);
    pass_role_of_holder(&contest);
    contest_end(&contest);
}

/* An administrator did it, say. The place is lost, the wait is not. */
static void waiter_whose_node_is_deleted_by_somebody_queues_again(void) {
    struct contest contest;
    struct waiter waiter;
    contest_begin(&contest, "node-deleted");
    start_waiting(&contest, &waiter);
    int64_t deleted_at = servers_last_zxid();
    raw_delete_last_child(contest.scene.raw, contest.scene.path);
    WAIT_UNTIL(scene_queue(&contest.scene) == 2);
    ASSERT_STATUS(zkl_lock_check(contest.holder, NULL), ZKL_OK);
    CU_ASSERT_FALSE(waiter_is_done(&waiter));
    ASSERT_STATUS(zkl_lock_release(contest.holder, PATIENCE_MS), ZKL_OK);
    ASSERT_STATUS(waiter_join(&waiter), ZKL_OK);
    CU_ASSERT_TRUE(waiter.grant.token > deleted_at);
    pass_role_of_holder(&contest);
    contest_end(&contest);
}

#define WAITERS 5

static void client_close_gives_closed_to_its_waiters_and_leaves_no_node(void) {
    struct contest contest;
    contest_begin(&contest, "client-close");
    zkl_client *client = client_open_on(3);
    zkl_lock *locks[WAITERS];
    struct waiter waiters[WAITERS];
    for (int i = 0; i < WAITERS; i++) {
        locks[i] = lock_open(client, contest.scene.resource);
        waiter_start(&waiters[i], locks[i], ZKL_EXCLUSIVE, ZKL_FOREVER);
    }
    WAIT_UNTIL(scene_queue(&contest.scene) == 1 + WAITERS);
    ASSERT_STATUS(zkl_client_close(client, PATIENCE_MS), ZKL_OK);
    for (int i = 0; i < WAITERS; i++) {
        ASSERT_STATUS(waiter_join(&waiters[i]), ZKL_CLOSED);
        ASSERT_STATUS(zkl_lock_acquire(locks[i], ZKL_EXCLUSIVE, 0, NULL), ZKL_CLOSED);
        ASSERT_STATUS(zkl_lock_release(locks[i], 0), ZKL_CLOSED);
        ASSERT_STATUS(zkl_lock_check(locks[i], NULL), ZKL_CLOSED);
        ASSERT_STATUS(zkl_lock_cancel(locks[i]), ZKL_CLOSED);
        zkl_lock_close(locks[i]);
    }
    contest_end(&contest);
}

static void client_close_with_a_held_lock_passes_it_on_at_once(void) {
    struct contest contest;
    contest_begin(&contest, "client-close-held");
    zkl_client *client = client_open_on(3);
    zkl_lock *lock = lock_open(client, contest.scene.resource);
    struct waiter next;
    ASSERT_STATUS(zkl_lock_release(contest.holder, PATIENCE_MS), ZKL_OK);
    ASSERT_STATUS(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
    waiter_start(&next, contest.holder, ZKL_EXCLUSIVE, LONG_SESSION_MS / 2);
    WAIT_UNTIL(scene_watches(&contest.scene) == 1);
    /* Which of the two is a race of the deletion's reply. */
    int status = zkl_client_close(client, 0);
    CU_ASSERT_TRUE(status == ZKL_OK || status == ZKL_PENDING);
    ASSERT_STATUS(waiter_join(&next), ZKL_OK);
    zkl_lock_close(lock);
    contest_end(&contest);
}

int main(int argc, char **argv) {
    static const struct test_case tests[] = {
        TEST_CASE(timeout_comes_at_its_deadline_and_leaves_no_node),
        TEST_CASE(timeout_shorter_than_a_round_trip_leaves_no_node),
        TEST_CASE(handle_that_timed_out_acquires_again),
        TEST_CASE(cancel_from_another_thread_leaves_no_node),
        TEST_CASE(close_of_a_handle_that_waits_cancels_and_leaves_no_node),
        TEST_CASE(close_of_a_handle_that_holds_passes_the_lock_on),
        TEST_CASE(release_without_waiting_passes_the_lock_on),
        TEST_CASE(waiter_whose_node_is_deleted_by_somebody_queues_again),
        TEST_CASE(client_close_gives_closed_to_its_waiters_and_leaves_no_node),
        TEST_CASE(client_close_with_a_held_lock_passes_it_on_at_once),
    };
    return run_tests(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
