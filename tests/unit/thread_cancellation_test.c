/* The application cancels (pthread_cancel) a thread that is in one of our calls. */
#include <pthread.h>
#include <unistd.h>

#include "support/lock_desk.h"
#include "support/unit.h"

enum { TIME_TO_DIE_US = 50 * 1000 };

typedef struct victim {
    lock_desk *desk;
    desk_task *call;
    int status;
} victim;

/* It may have died with the client's mutex, which everybody else would wait for. */
static void on_death_in_the_call(void *arg) {
    (void)arg;
    unit_fail_for_good("the thread was cancelled inside of the call");
}

/* Its frame is left by the cancel alone, which AddressSanitizer does not see. */
__attribute__((no_sanitize("address"))) static void *make_call(void *arg) {
    victim *self = arg;
    pthread_cleanup_push(on_death_in_the_call, NULL);
    self->status = self->call(self->desk);
    pthread_cleanup_pop(0);
    pthread_testcancel();
    return NULL;
}

static int acquire_for_ever(lock_desk *desk) {
    return zkl_lock_acquire(desk->lock, ZKL_WRITE, ZKL_FOREVER, NULL);
}

static int release_for_ever(lock_desk *desk) {
    return zkl_lock_release(desk->lock, ZKL_FOREVER);
}

static int verify_for_ever(lock_desk *desk) {
    return zkl_lock_verify(desk->lock, ZKL_FOREVER);
}

/* Another handle of the client is none the worse for it; the call goes on to its own end, and the
 * thread is cancelled behind it. */
static void cancel_in(lock_desk *desk, desk_task *call, size_t requests, int status) {
    victim self = { .desk = desk, .call = call, .status = 1 };
    zkl_lock *other = NULL;
    pthread_t thread;
    void *end = NULL;
    EXPECT_INT(pthread_create(&thread, NULL, make_call, &self), 0);
    desk_enter_at_calls(desk, requests);
    desk_leave(desk);
    EXPECT_INT(pthread_cancel(thread), 0);
    usleep(TIME_TO_DIE_US); /* in the call, which nothing else ends here */
    EXPECT_INT(zkl_lock_open(desk->client, "other", NULL, &other), ZKL_OK);
    EXPECT_INT(zkl_lock_check(other, NULL), ZKL_NOT_HELD);
    zkl_lock_close(other);
    zkl_lock_close(desk->lock);
    desk->lock = NULL;
    EXPECT_INT(pthread_join(thread, &end), 0);
    EXPECT(end == PTHREAD_CANCELED);
    EXPECT_INT(self.status, status);
    desk_close(desk);
}

TEST(thread_cancelled_in_an_acquire_leaves_the_client_to_others) {
    cancel_in(desk_open(NULL), acquire_for_ever, 2, ZKL_CANCELLED);
}

TEST(thread_cancelled_in_a_release_leaves_the_client_to_others) {
    lock_desk *desk = desk_open(NULL);
    desk_hold(desk);
    cancel_in(desk, release_for_ever, 1, ZKL_PENDING);
}

TEST(thread_cancelled_in_a_verification_leaves_the_client_to_others) {
    lock_desk *desk = desk_open(NULL);
    desk_hold(desk);
    cancel_in(desk, verify_for_ever, 1, ZKL_SUSPECT);
}

/* Whoever has forbidden it finds it forbidden. */
TEST(state_of_the_thread_is_as_it_was) {
    lock_desk *desk = desk_open(NULL);
    int before = 0;
    for (int state = 0; state < 2; state++) {
        int set = state == 0 ? PTHREAD_CANCEL_DISABLE : PTHREAD_CANCEL_ENABLE;
        EXPECT_INT(pthread_setcancelstate(set, &before), 0);
        EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_NOT_HELD);
        EXPECT_INT(zkl_lock_release(desk->lock, 0), ZKL_NOT_HELD);
        EXPECT_INT(pthread_setcancelstate(set, &before), 0);
        EXPECT_INT(before, set);
    }
    desk_close(desk);
}
