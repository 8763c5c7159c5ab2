/*
 * What others do to a striped lock while its acquire begins. A cancel as soon as it counts as
 * acquiring, and before a stripe is asked for: whenever the library holds no mutex the test
 * cancels, as another thread might, until that is accepted. A fork while it holds all that it ever
 * does. And a close that has ended before the acquire looks at its handle again.
 */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/threads.h"
#include "client/client.h"
#include "support/unit.h"
#include "zklock/striped_lock.h"
#include "zklock/testing.h"

int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int __real_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex);

enum { STRIPES = 3, LONG_MS = 60000, AT_MOST_S = 60 };

static zkl_client *client;
static zkl_striped_lock *holder; /* of all */
static zkl_striped_lock *self;
static bool cancels; /* no cancel was accepted yet */
static int mutexes; /* that are held, while it cancels or is to fork: nobody else has a turn then */
static bool forks;  /* not yet done */
static uint64_t slow_thread; /* lets others have a turn each time it lets a mutex go; 0: none */

/* In a child that hangs the alarm ends it. */
static void fork_and_release(void) {
    pid_t child = fork();
    if (child == 0) {
        (void)alarm(AT_MOST_S);
        _exit(zkl_lock_release(zkl_striped_lock_held(self), 0) == ZKL_FORKED ? 0 : 1);
    }
    int how = -1;
    EXPECT_INT(waitpid(child, &how, 0), child);
    EXPECT_INT(how, 0);
}

static bool is_counting(void) {
    return cancels || forks || slow_thread != 0;
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex) {
    int result = __real_pthread_mutex_lock(mutex);
    mutexes += is_counting() ? 1 : 0;
    if (forks && mutexes == 2 && mutex == &client->mutex) {
        forks = false;
        fork_and_release();
    }
    return result;
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex) {
    int result = __real_pthread_mutex_unlock(mutex);
    mutexes -= is_counting() ? 1 : 0;
    /* The client's is let go for a wait as well, which nobody must come before. */
    if (zkl_thread_number() == slow_thread && mutexes == 0 && mutex != &client->mutex) {
        zkl_testing_sleep(1);
    }
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
}

static void end(void) {
    zkl_striped_lock_close(self);
    zkl_striped_lock_close(holder);
    EXPECT_INT(zkl_client_close(client, LONG_MS), ZKL_OK);
    zkl_testing_end();
}

TEST(cancel_just_before_a_stripe_is_asked_for_ends_the_acquire) {
    for (int32_t stripe = ZKL_ANY_STRIPE; stripe < STRIPES; stripe++) {
        begin();
        cancels = true;
        int64_t began_ms = zkl_testing_now_ms();
        EXPECT_INT(zkl_striped_lock_acquire(self, stripe, ZKL_EXCLUSIVE, LONG_MS, NULL),
                   ZKL_CANCELLED);
        EXPECT_INT(zkl_testing_now_ms() - began_ms, 0);
        EXPECT(!cancels);
        end();
    }
}

TEST(child_forked_while_an_acquire_begins_is_told_so_of_what_is_held) {
    begin();
    forks = true;
    EXPECT_INT(zkl_striped_lock_acquire(self, 0, ZKL_EXCLUSIVE, 0, NULL), ZKL_BUSY);
    EXPECT(!forks);
    end();
}

typedef struct waiter {
    uint64_t thread;
    int32_t stripe;
    bool is_slow; /* from the beginning */
    int status;
} waiter;

static void wait_for_stripe(void *arg) {
    waiter *waits = arg;
    waits->thread = zkl_thread_number();
    slow_thread = waits->is_slow ? waits->thread : 0;
    waits->status = zkl_striped_lock_acquire(self, waits->stripe, ZKL_EXCLUSIVE, LONG_MS, NULL);
}

/* While the task acquires. */
static void close_under(zkl_testing_task *task) {
    zkl_striped_lock_close(self);
    self = NULL;
    zkl_testing_join(task);
    slow_thread = 0;
}

/* While it goes from stripe to stripe, between any two holds of a mutex, and when it waits for one.
 */
TEST(acquire_that_asks_stripe_after_stripe_is_cancelled_by_a_close) {
    for (int64_t closed_after_ms = 3; closed_after_ms < 60; closed_after_ms++) {
        begin();
        waiter waits = { .stripe = ZKL_ANY_STRIPE, .is_slow = true };
        zkl_testing_task *task = zkl_testing_start(wait_for_stripe, &waits);
        zkl_testing_sleep(closed_after_ms);
        close_under(task);
        EXPECT_INT(waits.status, ZKL_CANCELLED);
        end();
    }
}

/* Nobody may close what another thread uses; but that is no use of freed memory. */
TEST(acquire_whose_handle_is_closed_meanwhile_is_cancelled) {
    for (int32_t stripe = ZKL_ANY_STRIPE; stripe < STRIPES; stripe++) {
        begin();
        waiter waits = { .stripe = stripe };
        zkl_testing_task *task = zkl_testing_start(wait_for_stripe, &waits);
        zkl_testing_sleep(1000);
        slow_thread = waits.thread;
        close_under(task);
        EXPECT_INT(waits.status, ZKL_CANCELLED);
        end();
    }
}
