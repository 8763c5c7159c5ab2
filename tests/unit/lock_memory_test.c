/*
 * What a lock costs of memory: bytes and allocations of our own, counted and never timed. What
 * libzookeeper allocates beside them is not known here: the simulated servers stand in for it.
 */
#include <stdio.h>

#include "support/heap.h"
#include "support/unit.h"
#include "telemetry/recorder.h"
#include "zklock/testing.h"
#include "zklock/zklock.h"

enum {
    LOCKS = 500,
    HELD_BYTES_MAX = 1280,
    WAITING_BYTES_MAX = 1500,
    PAIR_ALLOCATIONS_MAX = 8,
    SOON_MS = 2000,
    WAIT_MS = 60000
};

static zkl_client *client;
static zkl_lock *locks[LOCKS];
static int told;

static void begin(void) {
    zkl_recorder_listen(NULL); /* it would keep every line */
    zkl_testing_begin(NULL);
    EXPECT_INT(zkl_client_open("server:2181", NULL, &client), ZKL_OK);
}

static void end(void) {
    for (int i = 0; i < LOCKS; i++) {
        zkl_lock_close(locks[i]);
        locks[i] = NULL;
    }
    EXPECT_INT(zkl_client_close(client, WAIT_MS), ZKL_OK);
    zkl_testing_end();
}

static void expect_each(const char *what, size_t before, size_t most) {
    size_t each = (heap_bytes() - before) / LOCKS;
    printf("\n    %zu bytes for each %s ", each, what);
    EXPECT(each <= most);
}

static void open_and_acquire(int i) {
    char resource[32];
    snprintf(resource, sizeof(resource), "stock-%06d", i);
    EXPECT_INT(zkl_lock_open(client, resource, NULL, &locks[i]), ZKL_OK);
    EXPECT_INT(zkl_lock_acquire(locks[i], ZKL_EXCLUSIVE, ZKL_FOREVER, NULL), ZKL_OK);
}

TEST(lock_that_is_held_costs_little) {
    begin();
    size_t before = heap_bytes();
    for (int i = 0; i < LOCKS; i++) {
        open_and_acquire(i);
    }
    zkl_testing_sleep(1000); /* all replies are in */
    expect_each("lock that is held", before, HELD_BYTES_MAX);
    end();
}

static void on_acquired(void *arg, int status, const zkl_grant *grant) {
    (void)arg;
    EXPECT_INT(status, ZKL_CANCELLED);
    EXPECT(grant == NULL);
    told++;
}

TEST(lock_that_waits_in_a_queue_costs_little) {
    char node[ZKL_NODE_PATH_SIZE];
    begin();
    zkl_testing_add_contender("/locks/stock", ZKL_EXCLUSIVE, node);
    size_t before = heap_bytes();
    told = 0;
    for (int i = 0; i < LOCKS; i++) {
        EXPECT_INT(zkl_lock_open(client, "stock", NULL, &locks[i]), ZKL_OK);
        EXPECT_INT(
            zkl_lock_acquire_async(locks[i], ZKL_EXCLUSIVE, ZKL_FOREVER, NULL, on_acquired, NULL),
            ZKL_OK);
    }
    zkl_testing_sleep(WAIT_MS);
    EXPECT_INT(zkl_testing_count_children("/locks/stock"), LOCKS + 1);
    expect_each("lock that waits", before, WAITING_BYTES_MAX);
    end();
    EXPECT_INT(told, LOCKS);
}

static void pair(void) {
    EXPECT_INT(zkl_lock_acquire(locks[0], ZKL_EXCLUSIVE, ZKL_FOREVER, NULL), ZKL_OK);
    EXPECT_INT(zkl_lock_release(locks[0], ZKL_FOREVER), ZKL_OK);
}

TEST(acquire_and_release_allocate_little_and_keep_nothing) {
    begin();
    EXPECT_INT(zkl_lock_open(client, "stock", NULL, &locks[0]), ZKL_OK);
    pair();
    zkl_testing_sleep(1000);
    size_t bytes = heap_bytes();
    size_t before = heap_allocations();
    pair();
    zkl_testing_sleep(1000);
    printf("\n    %zu allocations ", heap_allocations() - before);
    EXPECT(heap_allocations() - before <= PAIR_ALLOCATIONS_MAX);
    EXPECT_INT(heap_bytes(), bytes);
    end();
}

/* ---- Without memory ----------------------------------------------------------------------- */

static void leave(void *node) {
    zkl_testing_sleep(SOON_MS);
    EXPECT_INT(zkl_testing_delete_node(node), 1);
}

static int wait_behind_another(void) {
    char node[ZKL_NODE_PATH_SIZE];
    zkl_testing_add_contender("/locks/stock", ZKL_EXCLUSIVE, node);
    zkl_testing_task *task = zkl_testing_start(leave, node);
    int status = zkl_lock_acquire(locks[0], ZKL_EXCLUSIVE, WAIT_MS, NULL);
    zkl_testing_join(task);
    if (status == ZKL_OK) {
        EXPECT_INT(zkl_lock_release(locks[0], WAIT_MS), ZKL_OK);
    }
    return status;
}

TEST(acquire_that_waits_without_memory_is_granted_or_says_so) {
    begin();
    EXPECT_INT(zkl_lock_open(client, "stock", NULL, &locks[0]), ZKL_OK);
    size_t count = 0;
    do {
        heap_fail_after(count++);
        int status = wait_behind_another();
        EXPECT(status == ZKL_OK || status == ZKL_NO_MEMORY || status == ZKL_SYSTEM);
    } while (heap_fail_no_more());
    EXPECT(count > 5);
    end();
}

int main(void) {
    return unit_main("lock_memory");
}
