/*
 * Semaphores, limits of a queue, and resources whose sequence is used up, as stories on the
 * simulated servers.
 */
#include <stdlib.h>
#include <string.h>

#include "support/relative.h"

enum { CONTENDERS = 5, NEAR_THE_END = 3 };

static relative all[CONTENDERS];

static void begin(void) {
    zkl_testing_begin(NULL);
}

static void end(size_t opened) {
    for (size_t i = 0; i < opened; i++) {
        relative_close(&all[i]);
    }
    zkl_testing_expect_clean(RELATIVE_SESSION_MS);
    EXPECT_INT(zkl_testing_count_sessions(), 0);
    zkl_testing_end();
}

/* ---- Semaphores ----------------------------------------------------------------------- */

static void begin_semaphore(size_t contenders) {
    begin();
    for (size_t i = 0; i < contenders; i++) {
        relative_open_permit(&all[i], 2);
    }
}

TEST(third_contender_waits_for_one_of_two_permits) {
    for (size_t leaver = 0; leaver < 2; leaver++) {
        begin_semaphore(3);
        EXPECT_INT(relative_acquire(&all[0], ZKL_FOREVER), ZKL_OK);
        EXPECT_INT(relative_acquire(&all[1], 0), ZKL_OK);
        EXPECT_INT(all[1].grant.mode, ZKL_EXCLUSIVE);
        EXPECT_INT(relative_acquire(&all[2], 0), ZKL_BUSY);
        relative_start_acquire(&all[2], ZKL_FOREVER);
        EXPECT_INT(all[2].status, RELATIVE_WAITS);
        EXPECT_INT(zkl_testing_count_watches(all[2].client), 2);
        EXPECT_INT(relative_release(&all[leaver]), ZKL_OK);
        EXPECT_INT(relative_join(&all[2]), ZKL_OK);
        zkl_testing_sleep(RELATIVE_SOON_MS);
        EXPECT_INT(zkl_testing_count_watches(all[2].client), 0); /* that of the other is gone */
        end(3);
    }
}

TEST(permits_go_on_in_the_order_of_the_queue) {
    begin_semaphore(5);
    EXPECT_INT(relative_acquire(&all[0], 0), ZKL_OK);
    EXPECT_INT(relative_acquire(&all[1], 0), ZKL_OK);
    for (size_t i = 2; i < 5; i++) {
        relative_start_acquire(&all[i], ZKL_FOREVER);
    }
    EXPECT_INT(relative_release(&all[1]), ZKL_OK);
    EXPECT_INT(relative_join(&all[2]), ZKL_OK);
    EXPECT_INT(all[3].status, RELATIVE_WAITS);
    EXPECT_INT(relative_release(&all[2]), ZKL_OK); /* before the first */
    EXPECT_INT(relative_join(&all[3]), ZKL_OK);
    EXPECT_INT(all[4].status, RELATIVE_WAITS);
    EXPECT_INT(relative_release(&all[0]), ZKL_OK);
    EXPECT_INT(relative_join(&all[4]), ZKL_OK);
    end(5);
}

/* Whoever is in the middle of the queue leaves it: nobody is granted, and none is forgotten. */
TEST(waiter_for_a_permit_that_leaves_wakes_nobody_for_good) {
    begin_semaphore(4);
    EXPECT_INT(relative_acquire(&all[0], 0), ZKL_OK);
    EXPECT_INT(relative_acquire(&all[1], 0), ZKL_OK);
    relative_start_acquire(&all[2], ZKL_FOREVER);
    relative_start_acquire(&all[3], ZKL_FOREVER);
    EXPECT_INT(zkl_lock_cancel(all[2].lock), ZKL_OK);
    EXPECT_INT(relative_join(&all[2]), ZKL_CANCELLED);
    zkl_testing_sleep(RELATIVE_SOON_MS);
    EXPECT_INT(all[3].status, RELATIVE_WAITS);
    EXPECT_INT(zkl_testing_count_watches(all[3].client), 2);
    EXPECT_INT(relative_release(&all[0]), ZKL_OK);
    EXPECT_INT(relative_join(&all[3]), ZKL_OK);
    end(4);
}

/* Each wait for one of so many may come to watch them all; who holds watches nobody. */
TEST(one_client_holds_as_many_permits_as_there_are) {
    enum { PERMITS = 300 };
    zkl_lock *locks[PERMITS];
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    begin_semaphore(0);
    relative_open_permit(&all[0], PERMITS);
    options.permits = PERMITS;
    for (size_t i = 0; i < PERMITS; i++) {
        EXPECT_INT(zkl_lock_open(all[0].client, "stock", &options, &locks[i]), ZKL_OK);
        EXPECT_INT(zkl_lock_acquire(locks[i], ZKL_EXCLUSIVE, ZKL_FOREVER, NULL), ZKL_OK);
    }
    EXPECT_INT(relative_acquire(&all[0], 0), ZKL_BUSY);
    zkl_client_information information = ZKL_CLIENT_INFORMATION_INIT;
    EXPECT_INT(zkl_client_info(all[0].client, &information), ZKL_OK);
    EXPECT_INT(information.sessions, 1);
    for (size_t i = 0; i < PERMITS; i++) {
        zkl_lock_close(locks[i]);
    }
    end(1);
}

TEST(modes_and_permits_belong_together) {
    begin();
    relative_open_permit(&all[0], 2);
    relative_open(&all[1], ZKL_EXCLUSIVE, NULL);
    EXPECT_REFUSED(zkl_lock_acquire(all[0].lock, ZKL_READ, 0, NULL), "mode 1");
    EXPECT_REFUSED(zkl_lock_acquire(all[0].lock, ZKL_WRITE, 0, NULL), "mode 2");
    EXPECT(zkl_error_message()[0] != '\0');
    static const int32_t wrong[] = { -1, INT32_MIN, ZKL_PERMITS_MAX + 1, INT32_MAX };
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
        zkl_lock *lock = NULL;
        options.permits = wrong[i];
        EXPECT_REFUSED(zkl_lock_open(all[0].client, "stock", &options, &lock), "permits");
        options.permits = 0;
        options.max_waiting = wrong[i] == ZKL_PERMITS_MAX + 1 ? ZKL_WAITING_MAX + 1 : wrong[i];
        EXPECT_REFUSED(zkl_lock_open(all[0].client, "stock", &options, &lock), "max_waiting");
        EXPECT(lock == NULL);
    }
    end(2);
}

/* ---- A sequence that is used up ----------------------------------------------------------- */

static void wear_out(void) {
    zkl_ensemble *ensemble = zkl_ensemble_current();
    EXPECT(zkl_ensemble_set_creates(ensemble, RELATIVE_RESOURCE, INT32_MAX - NEAR_THE_END));
}

/* The digits at the end of its node's name. */
static long sequence_of(const relative *self) {
    size_t length = strlen(self->grant.node);
    return strtol(self->grant.node + length - 10, NULL, 10);
}

TEST(resource_that_is_used_up_and_never_empty_says_so_at_the_deadline) {
    begin();
    relative_open(&all[0], ZKL_EXCLUSIVE, NULL);
    char node[ZKL_NODE_PATH_SIZE];
    zkl_testing_add_contender(RELATIVE_RESOURCE, ZKL_READ, NULL);
    EXPECT(zkl_ensemble_set_creates(zkl_ensemble_current(), RELATIVE_RESOURCE, INT32_MAX - 9));
    zkl_testing_add_contender(RELATIVE_RESOURCE, ZKL_EXCLUSIVE, node);
    EXPECT_INT(relative_acquire(&all[0], 20000), ZKL_SEQUENCE_EXHAUSTED);
    EXPECT_INT(relative_acquire(&all[0], 0), ZKL_BUSY);
    zkl_testing_sleep(RELATIVE_SOON_MS);
    EXPECT_INT(zkl_testing_count_children(RELATIVE_RESOURCE), 2);
    end(1);
}

static void make_used_up_resource(void) {
    EXPECT_INT(relative_acquire(&all[0], ZKL_FOREVER), ZKL_OK);
    EXPECT_INT(relative_release(&all[0]), ZKL_OK);
    wear_out();
}

TEST(try_of_a_resource_that_is_used_up_begins_it_anew) {
    begin();
    relative_open(&all[0], ZKL_EXCLUSIVE, NULL);
    make_used_up_resource();
    EXPECT_INT(relative_acquire(&all[0], 0), ZKL_OK);
    EXPECT(sequence_of(&all[0]) < 1000);
    end(1);
}

/* Each of its requests has time to make a node and to delete it, but for no more. */
TEST(whoever_has_little_time_begins_a_resource_anew_that_is_used_up) {
    enum { ROUNDS = 20 };
    begin();
    relative_open(&all[0], ZKL_EXCLUSIVE, NULL);
    make_used_up_resource();
    int status = ZKL_SEQUENCE_EXHAUSTED;
    for (size_t i = 0; i < ROUNDS && status != ZKL_OK; i++) {
        status = relative_acquire(&all[0], 3);
        zkl_testing_sleep(RELATIVE_SOON_MS);
    }
    EXPECT_INT(status, ZKL_OK);
    end(1);
}

TEST(resource_that_holds_data_is_not_deleted_when_it_is_used_up) {
    begin();
    relative_open(&all[0], ZKL_EXCLUSIVE, NULL);
    make_used_up_resource();
    zkl_ensemble *ensemble = zkl_ensemble_current();
    EXPECT_INT(zkl_ensemble_set_data(ensemble, RELATIVE_RESOURCE, "an application's"),
               ZKL_SERVER_ERROR_NONE);
    EXPECT_INT(relative_acquire(&all[0], ZKL_FOREVER), ZKL_SEQUENCE_EXHAUSTED);
    EXPECT_INT(relative_acquire(&all[0], 0), ZKL_SEQUENCE_EXHAUSTED);
    zkl_testing_sleep(RELATIVE_SOON_MS);
    EXPECT(zkl_ensemble_set_creates(ensemble, RELATIVE_RESOURCE, 0)); /* it is still there */
    EXPECT_INT(relative_acquire(&all[0], ZKL_FOREVER), ZKL_OK);
    end(1);
}
