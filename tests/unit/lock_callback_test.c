/*
 * The state callback: what may be done inside it, its thread, its end with the
 * handle or the client, and what is told where memory is short.
 */
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/threads.h"
#include "handle/lock.h"
#include "support/news_ear.h"

/* ---- Memory and threads that run short ------------------------------------------ */

static atomic_bool no_memory;
static atomic_int failing_allocation; /* counted from the next one; 0: none */
static atomic_bool no_threads;

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
bool __real_zkl_thread_start(pthread_t *thread, void *(*run)(void *), void *arg);
bool __wrap_zkl_thread_start(pthread_t *thread, void *(*run)(void *), void *arg);
bool __real_zkl_condition_wait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                               int64_t deadline_ms);
bool __wrap_zkl_condition_wait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                               int64_t deadline_ms);
void __real_zkl_thread_join(pthread_t thread);
void __wrap_zkl_thread_join(pthread_t thread);

void *__wrap_calloc(size_t count, size_t size) {
    bool fails = atomic_load(&no_memory) || (atomic_load(&failing_allocation) > 0 &&
                                             atomic_fetch_sub(&failing_allocation, 1) == 1);
    return fails ? NULL : __real_calloc(count, size);
}

bool __wrap_zkl_thread_start(pthread_t *thread, void *(*run)(void *), void *arg) {
    return !atomic_load(&no_threads) && __real_zkl_thread_start(thread, run, arg);
}

/* ---- Inside the callback ------------------------------------------------------------------------
 */

static void call_what_blocks(news_ear *ear, const zkl_lock_event *event) {
    zkl_client *client = NULL;
    ear->said[0] = zkl_lock_acquire(event->lock, ZKL_EXCLUSIVE, ZKL_FOREVER, NULL);
    ear->said[1] = zkl_lock_acquire(event->lock, ZKL_EXCLUSIVE, 0, NULL);
    ear->said[2] = zkl_lock_release(event->lock, ZKL_FOREVER);
    ear->said[3] = zkl_lock_release(event->lock, 1);
    ear->said[4] = zkl_client_close(ear->desk->client, 0);
    ear->said[5] = zkl_client_open("h:1", NULL, &client);
    ear->said[6] = zkl_lock_check(event->lock, NULL);
}

TEST(calls_that_block_are_refused_inside) {
    news_ear ear;
    lock_desk *desk = ear_hold(&ear);
    ear.reaction = call_what_blocks;
    desk_forget_heard(desk);
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTING);
    TOLD(desk, &ear, "suspect 4711");
    for (size_t i = 0; i < 6; i++) {
        EXPECT_INT(ear.said[i], ZKL_IN_CALLBACK);
    }
    EXPECT_INT(ear.said[6], ZKL_SUSPECT); /* and nothing has changed */
    DESK_HEARD(desk, "");
    ear_close_desk(desk, &ear);
}

static void close_inside(news_ear *ear, const zkl_lock_event *event) {
    zkl_lock_close(event->lock);
    ear->desk->lock = NULL;
}

TEST(handle_can_be_closed_inside_and_is_told_no_more) {
    news_ear ear;
    lock_desk *desk = ear_hold(&ear);
    ear.reaction = close_inside;
    ear_set_gate(&ear, true);
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTING);
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTED); /* waits to be told */
    ear_wait_until_entered(&ear, 1);
    desk_forget_heard(desk);
    ear_set_gate(&ear, false);
    TOLD(desk, &ear, "suspect 4711");
    DESK_HEARD(desk, "remove /app/locks/stock/#1-" DESK_NODE);
    ear_close_desk(desk, &ear);
}

/* ---- Threads --------------------------------------------------------------------------------- */

TEST(slow_callback_delays_nobody_and_keeps_the_order) {
    news_ear ear;
    lock_desk *desk = ear_hold(&ear);
    ear_set_gate(&ear, true);
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTING);
    ear_wait_until_entered(&ear, 1);
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTED); /* returns, with the gate shut */
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTING);
    desk_expire(desk);
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_LOST); /* ahead of its news */
    ear_set_gate(&ear, false);
    TOLD(desk, &ear, "suspect 4711; held 4711; suspect 4711; lost 4711 ZKL_SESSION_EXPIRED");
    ear_close_desk(desk, &ear);
}

/* Whether the close has come to where it waits for callbacks, or has returned without: of a handle
 * that is a condition, of a client the end of a thread. */
static struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool under_way;
    bool of_client;
    pthread_t thread;
} close_call = { .mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static void close_waits_or_returns(bool of_client) {
    pthread_mutex_lock(&close_call.mutex);
    if (close_call.under_way && close_call.of_client == of_client &&
        pthread_equal(close_call.thread, pthread_self())) {
        close_call.under_way = false;
        pthread_cond_broadcast(&close_call.changed);
    }
    pthread_mutex_unlock(&close_call.mutex);
}

static void begin_close(lock_desk *desk, desk_task *task, bool of_client) {
    pthread_mutex_lock(&close_call.mutex);
    close_call.under_way = true;
    close_call.of_client = of_client;
    close_call.thread = desk->contender;
    pthread_mutex_unlock(&close_call.mutex);
    desk_begin(desk, task, 0);
}

static void wait_until_close_waits_or_has_returned(void) {
    pthread_mutex_lock(&close_call.mutex);
    while (close_call.under_way) {
        pthread_cond_wait(&close_call.changed, &close_call.mutex);
    }
    pthread_mutex_unlock(&close_call.mutex);
}

bool __wrap_zkl_condition_wait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                               int64_t deadline_ms) {
    close_waits_or_returns(false);
    return __real_zkl_condition_wait(condition, mutex, deadline_ms);
}

void __wrap_zkl_thread_join(pthread_t thread) {
    close_waits_or_returns(true);
    __real_zkl_thread_join(thread);
}

static int close_handle(lock_desk *desk) {
    zkl_lock_close(desk->lock);
    desk->lock = NULL;
    return ZKL_OK;
}

static news_ear *closing_ear;

static int close_handle_and_look(lock_desk *desk) {
    (void)close_handle(desk);
    bool waited = ear_has_returned(closing_ear, 1);
    close_waits_or_returns(false);
    return waited ? ZKL_OK : ZKL_BUSY;
}

TEST(close_waits_for_the_callback_that_runs_and_drops_the_rest) {
    news_ear ear;
    lock_desk *desk = ear_hold(&ear);
    ear_set_gate(&ear, true);
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTING);
    ear_wait_until_entered(&ear, 1);
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTED);
    desk_enter(desk);
    fake_answer_all(&desk->fake, ZKL_OUTCOME_OK);
    desk_leave(desk);
    closing_ear = &ear;
    desk_forget_heard(desk);
    begin_close(desk, close_handle_and_look, false);
    wait_until_close_waits_or_has_returned();
    DESK_HEARD(desk, "remove /app/locks/stock/#1-" DESK_NODE); /* who is next does not wait */
    ear_set_gate(&ear, false);
    EXPECT_INT(desk_join(desk), ZKL_OK);
    TOLD(desk, &ear, "suspect 4711");
    ear_close_desk(desk, &ear);
}

/* ---- Short of memory, or of threads ---------------------------------------------------------- */

TEST(loss_is_told_though_memory_is_short) {
    news_ear ear;
    lock_desk *desk = ear_hold(&ear);
    atomic_store(&no_memory, true);
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTING);
    desk_expire(desk);
    atomic_store(&no_memory, false);
    TOLD(desk, &ear, "lost 4711 ZKL_SESSION_EXPIRED");
    ear_close_desk(desk, &ear);
}

/* It was opened with options, so they are its own. */
static void set_tell_granted(const lock_desk *desk, bool tell_granted) {
    zkl_lock_options *own = (zkl_lock_options *)desk->lock->origin->options;
    own->tell_granted = tell_granted ? 1 : 0;
}

/* A try without a connection: it ends at once where memory suffices. */
static int try_with_failing_allocation(int number, bool tell_granted) {
    news_ear ear;
    ear_begin(&ear);
    zkl_lock_options options = ear_options(&ear);
    lock_desk *desk = desk_open_offline(&options);
    set_tell_granted(desk, tell_granted);
    atomic_store(&failing_allocation, number);
    int status = zkl_lock_acquire(desk->lock, ZKL_EXCLUSIVE, 0, NULL);
    atomic_store(&failing_allocation, 0);
    set_tell_granted(desk, false);
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_NOT_HELD);
    DESK_HEARD(desk, "");
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTED);
    desk_hold(desk);
    ear_close_desk(desk, &ear);
    return status;
}

/* The first allocation that it does without. */
static int fail_each_allocation(bool tell_granted) {
    int number = 1;
    int status = try_with_failing_allocation(number, tell_granted);
    while (status == ZKL_NO_MEMORY) {
        status = try_with_failing_allocation(++number, tell_granted);
    }
    EXPECT_INT(status, ZKL_DISCONNECTED);
    return number;
}

TEST(acquire_without_memory_leaves_the_handle_idle) {
    EXPECT(fail_each_allocation(false) > 2); /* its news and its request at least */
}

TEST(memory_for_the_news_of_a_grant_is_taken_before_it) {
    EXPECT_INT(fail_each_allocation(true), fail_each_allocation(false) + 1);
}

/* ---- The same, of asynchronous calls ---------------------------------------------------- */

static atomic_int calls_told;
static atomic_int last_told;

static void on_acquired(void *arg, int status, const zkl_grant *grant) {
    (void)arg;
    (void)grant;
    atomic_store(&last_told, status);
    atomic_fetch_add(&calls_told, 1);
}

static int acquire_async(lock_desk *desk) {
    return zkl_lock_acquire_async(desk->lock, ZKL_EXCLUSIVE, 0, NULL, on_acquired, NULL);
}

/* A try without a connection, which is decided at once. */
static int try_async_with_failing_allocation(int number) {
    news_ear ear;
    ear_begin(&ear);
    zkl_lock_options options = ear_options(&ear);
    lock_desk *desk = desk_open_offline(&options);
    atomic_store(&calls_told, 0);
    atomic_store(&failing_allocation, number);
    int status = acquire_async(desk);
    atomic_store(&failing_allocation, 0);
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTED);
    (void)desk_close_client(desk); /* tells what is owed */
    EXPECT_INT(atomic_load(&calls_told), status == ZKL_OK);
    ear_close_desk(desk, &ear);
    return status;
}

TEST(asynchronous_acquire_without_memory_is_refused_and_not_told) {
    int number = 1;
    int status = try_async_with_failing_allocation(number);
    while (status == ZKL_NO_MEMORY) {
        status = try_async_with_failing_allocation(++number);
    }
    EXPECT_INT(status, ZKL_OK);
    EXPECT_INT(atomic_load(&last_told), ZKL_DISCONNECTED);
    EXPECT(number > 3); /* its callback, its news and its request at least */
}

TEST(asynchronous_call_without_a_thread_for_its_callback_is_refused) {
    lock_desk *desk = desk_open(NULL);
    atomic_store(&calls_told, 0);
    atomic_store(&no_threads, true);
    EXPECT_INT(acquire_async(desk), ZKL_SYSTEM);
    atomic_store(&no_threads, false);
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_NOT_HELD);
    desk_hold(desk);
    desk_close(desk);
    EXPECT_INT(atomic_load(&calls_told), 0);
}
