/* Each call of zklock/administration.h when one allocation after the other fails. */
#include "allocation.h"
#include "base/threads.h"
#include "support/unit.h"
#include "testing/ensemble.h"
#include "testing/world.h"
#include "zklock/administration.h"
#include "zklock/striped_lock.h"

enum { US_PER_MS = 1000, WITHIN_MS = 20000, ALLOCATIONS_MAX = 300 };

static zkl_client *client;

typedef int call(void);

static int describe(void) {
    zkl_queue *queue = NULL;
    int status = zkl_queue_describe(client, "stock", WITHIN_MS, &queue);
    EXPECT(status == ZKL_OK ? queue->count == 2 : queue == NULL);
    zkl_report_free(queue);
    return status;
}

static int list_resources(void) {
    zkl_resource_list *list = NULL;
    int status = zkl_resources_list(client, WITHIN_MS, &list);
    EXPECT(status == ZKL_OK ? list->count == 3 : list == NULL);
    zkl_report_free(list);
    return status;
}

static int find_deadlocks(void) {
    zkl_deadlocks *deadlocks = NULL;
    int status = zkl_deadlocks_find(client, WITHIN_MS, &deadlocks);
    EXPECT(status == ZKL_OK ? deadlocks->count == 1 : deadlocks == NULL);
    zkl_report_free(deadlocks);
    return status;
}

static int remove_idle(void) {
    zkl_resource_list *removed = NULL;
    int status = zkl_parents_remove_idle(client, 0, WITHIN_MS, 0, &removed);
    EXPECT(status == ZKL_OK ? removed->count == 0 : removed == NULL);
    zkl_report_free(removed);
    return status;
}

static int read_node(void) {
    zkl_node *node = NULL;
    int status = zkl_node_read(client, "/locks/stock", WITHIN_MS, &node);
    EXPECT((status == ZKL_OK) == (node != NULL));
    zkl_report_free(node);
    return status;
}

static int break_none(void) {
    return zkl_node_break(client, "stock", "x-lock-0000000099", WITHIN_MS);
}

/* Nothing but success, or that memory is short; until nothing fails any more. */
static void sweep(call *function, int expected) {
    uint64_t refused = 0;
    for (uint64_t i = 0; i < ALLOCATIONS_MAX; i++) {
        allocation_fail_after(i);
        int status = function();
        allocation_fail_after(ALLOCATION_NEVER);
        refused += status == ZKL_NO_MEMORY ? 1 : 0;
        EXPECT(status == expected || status == ZKL_NO_MEMORY);
    }
    EXPECT(refused > 0 && refused < ALLOCATIONS_MAX);
    EXPECT_INT(function(), expected);
}

static void *wait_in_a_task(void *lock) {
    EXPECT_INT(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, ZKL_FOREVER, NULL), ZKL_CANCELLED);
    return NULL;
}

TEST(calls_without_memory_say_so) {
    zkl_world_begin(1);
    zkl_ensemble_options options = zkl_ensemble_defaults();
    (void)zkl_ensemble_begin(&options);
    zkl_lock_options same = ZKL_LOCK_OPTIONS_INIT;
    same.owner = "a";
    zkl_lock *held = NULL;
    zkl_lock *waiting = NULL;
    zkl_striped_lock *stripe = NULL;
    pthread_t task;
    EXPECT_INT(zkl_client_open("server:2181", NULL, &client), ZKL_OK);
    EXPECT_INT(zkl_lock_open(client, "stock", &same, &held), ZKL_OK);
    EXPECT_INT(zkl_lock_open(client, "stock", &same, &waiting), ZKL_OK);
    EXPECT_INT(zkl_lock_acquire(held, ZKL_EXCLUSIVE, ZKL_FOREVER, NULL), ZKL_OK);
    EXPECT(zkl_thread_start(&task, wait_in_a_task, waiting));
    zkl_world_sleep_us((int64_t)100 * US_PER_MS);
    EXPECT_INT(zkl_striped_lock_open(client, "hot", 1, NULL, &stripe), ZKL_OK);
    EXPECT_INT(zkl_striped_lock_acquire(stripe, ZKL_ANY_STRIPE, ZKL_EXCLUSIVE, 0, NULL), ZKL_OK);
    sweep(describe, ZKL_OK);
    sweep(list_resources, ZKL_OK);
    sweep(find_deadlocks, ZKL_OK);
    sweep(remove_idle, ZKL_OK);
    sweep(break_none, ZKL_NO_NODE);
    sweep(read_node, ZKL_OK);
    EXPECT_INT(zkl_lock_cancel(waiting), ZKL_OK);
    zkl_thread_join(task);
    zkl_lock_close(waiting);
    zkl_lock_close(held);
    zkl_striped_lock_close(stripe);
    EXPECT_INT(zkl_client_close(client, WITHIN_MS), ZKL_OK);
    zkl_ensemble_end();
    zkl_world_end();
}
