/*
 * A striped lock is cancelled while its acquire begins: as soon as it counts as acquiring, and
 * before a stripe is asked for. Whenever the library holds no mutex the test cancels, as another
 * thread might, until that is accepted.
 */
#include <pthread.h>

#include "support/unit.h"
#include "zklock/striped_lock.h"
#include "zklock/testing.h"

int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int __real_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex);

enum { STRIPES = 3, LONG_MS = 60000 };

static zkl_client *client;
static zkl_striped_lock *holder; /* of all */
static zkl_striped_lock *self;
static bool cancels; /* no cancel was accepted yet */
static int mutexes;  /* that are held, while it cancels: nobody else has a turn then */

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex) {
    mutexes += cancels ? 1 : 0;
    return __real_pthread_mutex_lock(mutex);
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex) {
    int result = __real_pthread_mutex_unlock(mutex);
    mutexes -= cancels ? 1 : 0;
    if (cancels && mutexes == 0) {
        cancels = false; /* the cancel lets mutexes go as well */
        cancels = zkl_striped_lock_cancel(self) == ZKL_NOT_WAITING;
    }
    return result;
}

static zkl_striped_lock *open_striped(void) {
    zkl_striped_lock *striped_lock = NULL;
    EXPECT_INT(zkl_striped_lock_open(client, "stock", STRIPES, NULL, &striped_lock), ZKL_OK);
    return striped_lock;
}

static void begin(void) {
    zkl_testing_begin(NULL);
    EXPECT_INT(zkl_client_open("server:2181", NULL, &client), ZKL_OK);
    holder = open_striped();
    self = open_striped();
    EXPECT_INT(zkl_striped_lock_acquire(holder, ZKL_ALL_STRIPES, ZKL_EXCLUSIVE, 0, NULL), ZKL_OK);
    mutexes = 0;
    cancels = true;
}

static void end(int status, int64_t waited_ms) {
    EXPECT(!cancels);
    EXPECT_INT(status, ZKL_CANCELLED);
    EXPECT_INT(waited_ms, 0);
    zkl_striped_lock_close(self);
    zkl_striped_lock_close(holder);
    EXPECT_INT(zkl_client_close(client, LONG_MS), ZKL_OK);
    zkl_testing_end();
}

static void cancel_just_before_a_stripe_is_asked_for_ends_the_acquire(void) {
    for (int32_t stripe = ZKL_ANY_STRIPE; stripe < STRIPES; stripe++) {
        begin();
        int64_t began_ms = zkl_testing_now_ms();
        int status = zkl_striped_lock_acquire(self, stripe, ZKL_EXCLUSIVE, LONG_MS, NULL);
        end(status, zkl_testing_now_ms() - began_ms);
    }
}

static CU_TestInfo tests[] = {
    TEST(cancel_just_before_a_stripe_is_asked_for_ends_the_acquire),
    TEST_END,
};

int main(void) {
    return unit_main("striped lock unlocked", tests);
}
