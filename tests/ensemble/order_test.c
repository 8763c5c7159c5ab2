/* First come, first served; and what the tokens say about it. */
#include "support/scene.h"
#include "support/servers.h"

#define WAITERS 9

/* Each comes when the one before it is in the queue, on another server. */
struct queue {
    struct scene scene;
    zkl_client *clients[SERVERS];
    zkl_lock *locks[WAITERS];
    struct waiter waiters[WAITERS];
};

static void queue_begin(struct queue *queue, const char *stem) {
    scene_begin(&queue->scene, stem);
    for (int i = 0; i < SERVERS; i++) {
        queue->clients[i] = client_open_on(i + 1);
    }
    for (int i = 0; i < WAITERS; i++) {
        queue->locks[i] = lock_open(queue->clients[i % SERVERS], queue->scene.resource);
        waiter_start(&queue->waiters[i], queue->locks[i], ZKL_EXCLUSIVE, PATIENCE_MS);
        WAIT_UNTIL(scene_queue(&queue->scene) == i + 1);
    }
}

static void queue_end(struct queue *queue) {
    for (int i = 0; i < WAITERS; i++) {
        zkl_lock_close(queue->locks[i]);
    }
    for (int i = 0; i < SERVERS; i++) {
        client_close(queue->clients[i]);
    }
    scene_end(&queue->scene);
}

static int returned(struct queue *queue) {
    int count = 0;
    for (int i = 0; i < WAITERS; i++) {
        count += waiter_is_done(&queue->waiters[i]) ? 1 : 0;
    }
    return count;
}

static void waiters_are_granted_in_the_order_of_arrival(void) {
    struct queue queue;
    queue_begin(&queue, "fifo");
    for (int i = 0; i < WAITERS; i++) {
        ASSERT_STATUS(waiter_join(&queue.waiters[i]), ZKL_OK);
        ASSERT_NUMBER(returned(&queue), i + 1);
        ASSERT_STATUS(zkl_lock_release(queue.locks[i], PATIENCE_MS), ZKL_OK);
    }
    queue_end(&queue);
}

static void waiter_cancelled_in_the_middle_leaves_the_others_in_order(void) {
    const int gone = 4;
    struct queue queue;
    queue_begin(&queue, "fifo-gap");
    WAIT_UNTIL(scene_watches(&queue.scene) == WAITERS - 1);
    ASSERT_STATUS(zkl_lock_cancel(queue.locks[gone]), ZKL_OK);
    ASSERT_STATUS(waiter_join(&queue.waiters[gone]), ZKL_CANCELLED);
    WAIT_UNTIL(scene_queue(&queue.scene) == WAITERS - 1);
    for (int i = 0; i < WAITERS; i++) {
        if (i != gone) {
            ASSERT_STATUS(waiter_join(&queue.waiters[i]), ZKL_OK);
            ASSERT_NUMBER(returned(&queue), i < gone ? i + 2 : i + 1);
            ASSERT_STATUS(zkl_lock_release(queue.locks[i], PATIENCE_MS), ZKL_OK);
        }
    }
    queue_end(&queue);
}

static void tokens_increase_with_every_grant(void) {
    struct queue queue;
    queue_begin(&queue, "tokens");
    int64_t last = 0;
    for (int i = 0; i < WAITERS; i++) {
        ASSERT_STATUS(waiter_join(&queue.waiters[i]), ZKL_OK);
        CU_ASSERT_TRUE(queue.waiters[i].grant.token > last);
        last = queue.waiters[i].grant.token;
        ASSERT_STATUS(zkl_lock_release(queue.locks[i], PATIENCE_MS), ZKL_OK);
    }
    zkl_grant again = ZKL_GRANT_INIT;
    ASSERT_STATUS(zkl_lock_acquire(queue.locks[0], ZKL_EXCLUSIVE, PATIENCE_MS, &again), ZKL_OK);
    CU_ASSERT_TRUE(again.token > last);
    queue_end(&queue);
}

int main(int argc, char **argv) {
    static const struct test_case tests[] = {
        TEST_CASE(waiters_are_granted_in_the_order_of_arrival),
        TEST_CASE(waiter_cancelled_in_the_middle_leaves_the_others_in_order),
        TEST_CASE(tokens_increase_with_every_grant),
    };
    return run_tests(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
