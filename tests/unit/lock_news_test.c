/*
 * The state callback: what is told of a lock that is held, once and in order,
 * and what may be done inside it. What an ear has heard is one text:
 *
 *     "suspect 4711; held 4711; lost 4711 ZKL_SESSION_EXPIRED"
 *
 * Its callback can be made to stand at a gate until the test opens it.
 */
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "callback_thread.h"
#include "support/lock_desk.h"
#include "threads.h"

enum { TICK_MS = 2000, LEASE_MS = 10000 - 3333 - 10, PROBE_MS = 3333, HEARD_SIZE = 512 };

/* ---- Memory and threads that run short ------------------------------------------ */

static atomic_bool no_memory;
static atomic_int failing_allocation; /* counted from the next one; 0: none */
static atomic_bool no_threads;

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
bool __real_zkl_thread_start(pthread_t *thread, void *(*run)(void *), void *arg);
bool __wrap_zkl_thread_start(pthread_t *thread, void *(*run)(void *), void *arg);

void *__wrap_calloc(size_t count, size_t size) {
    bool fails = atomic_load(&no_memory) || (atomic_load(&failing_allocation) > 0 &&
                                             atomic_fetch_sub(&failing_allocation, 1) == 1);
    return fails ? NULL : __real_calloc(count, size);
}

bool __wrap_zkl_thread_start(pthread_t *thread, void *(*run)(void *), void *arg) {
    return !atomic_load(&no_threads) && __real_zkl_thread_start(thread, run, arg);
}

/* ---- The ear ---------------------------------------------------------------------- */

typedef struct news_ear news_ear;
/* What the application does in its callback; any status of interest goes to `said`. */
typedef void news_reaction(news_ear *ear, const zkl_lock_news *news);

struct news_ear {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    char heard[HEARD_SIZE];
    size_t entered;
    size_t returned;
    bool gate_shut;
    pthread_t thread; /* of the last callback */
    bool knows_size;
    zkl_lock *lock; /* of the last news */
    news_reaction *reaction;
    lock_desk *desk;
    int said[8];
};

static const char *reason_name(int reason) {
    switch (reason) {
#define REASON(name, value, text)                                                                  \
    case name:                                                                                     \
        return #name;
        ZKL_STATUS_LIST(REASON)
#undef REASON
    default:
        return "?";
    }
}

static void note(news_ear *ear, const zkl_lock_news *news) {
    size_t length = strlen(ear->heard);
    snprintf(ear->heard + length, sizeof(ear->heard) - length, "%s%s %lld%s%s",
             length > 0 ? "; " : "", zkl_lock_state_name((int)news->state), (long long)news->token,
             news->reason != ZKL_OK ? " " : "",
             news->reason != ZKL_OK ? reason_name(news->reason) : "");
    ear->knows_size = news->struct_size == sizeof(*news);
    ear->lock = news->lock;
    ear->thread = pthread_self();
}

static void on_news(void *arg, const zkl_lock_news *news) {
    news_ear *ear = arg;
    pthread_mutex_lock(&ear->mutex);
    note(ear, news);
    ear->entered++;
    pthread_cond_broadcast(&ear->changed);
    while (ear->gate_shut) {
        pthread_cond_wait(&ear->changed, &ear->mutex);
    }
    pthread_mutex_unlock(&ear->mutex);
    if (ear->reaction != NULL) {
        ear->reaction(ear, news);
    }
    pthread_mutex_lock(&ear->mutex);
    ear->returned++;
    pthread_mutex_unlock(&ear->mutex);
}

static void begin_ear(news_ear *ear) {
    memset(ear, 0, sizeof(*ear));
    pthread_mutex_init(&ear->mutex, NULL);
    pthread_cond_init(&ear->changed, NULL);
}

static void end_ear(news_ear *ear) {
    pthread_cond_destroy(&ear->changed);
    pthread_mutex_destroy(&ear->mutex);
}

static void set_gate(news_ear *ear, bool shut) {
    pthread_mutex_lock(&ear->mutex);
    ear->gate_shut = shut;
    pthread_cond_broadcast(&ear->changed);
    pthread_mutex_unlock(&ear->mutex);
}

static void wait_until_entered(news_ear *ear, size_t times) {
    pthread_mutex_lock(&ear->mutex);
    while (ear->entered < times) {
        pthread_cond_wait(&ear->changed, &ear->mutex);
    }
    pthread_mutex_unlock(&ear->mutex);
}

static bool has_returned(news_ear *ear, size_t times) {
    pthread_mutex_lock(&ear->mutex);
    bool has = ear->returned == times;
    pthread_mutex_unlock(&ear->mutex);
    return has;
}

/* ---- A desk with an ear --------------------------------------------------------------- */

static zkl_lock_options options_for(news_ear *ear) {
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    options.state_callback = on_news;
    options.state_arg = ear;
    return options;
}

static lock_desk *open_with_ear(news_ear *ear, int32_t lease_tick_ms, int64_t max_hold_ms) {
    begin_ear(ear);
    zkl_lock_options options = options_for(ear);
    options.max_hold_ms = max_hold_ms;
    lock_desk *desk = desk_open_with(&(desk_options){ &options, .lease_tick_ms = lease_tick_ms });
    ear->desk = desk;
    return desk;
}

static lock_desk *hold_with_ear(news_ear *ear) {
    lock_desk *desk = open_with_ear(ear, 0, 0);
    desk_hold(desk);
    return desk;
}

static void close_with_ear(lock_desk *desk, news_ear *ear) {
    desk_close(desk);
    end_ear(ear);
}

typedef struct marker {
    zkl_callback callback; /* first: the thread gives a pointer to it */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool passed;
} marker;

static void pass_marker(zkl_callback *callback) {
    marker *self = (marker *)callback;
    pthread_mutex_lock(&self->mutex);
    self->passed = true;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->mutex);
}

/* Waits until all that is to be told up to now has been told. */
static void let_all_be_told(lock_desk *desk) {
    marker mark = { .callback = { .run = pass_marker } };
    pthread_mutex_init(&mark.mutex, NULL);
    pthread_cond_init(&mark.changed, NULL);
    zkl_callback_thread_post(desk->client->state_thread, &mark.callback);
    pthread_mutex_lock(&mark.mutex);
    while (!mark.passed) {
        pthread_cond_wait(&mark.changed, &mark.mutex);
    }
    pthread_mutex_unlock(&mark.mutex);
    pthread_cond_destroy(&mark.changed);
    pthread_mutex_destroy(&mark.mutex);
}

static void expect_heard(lock_desk *desk, news_ear *ear, const char *expected, int line) {
    let_all_be_told(desk);
    pthread_mutex_lock(&ear->mutex);
    unit_expect_text(ear->heard, expected, "what was told", __FILE__, line);
    ear->heard[0] = '\0';
    pthread_mutex_unlock(&ear->mutex);
}

#define TOLD(desk, ear, expected) expect_heard((desk), (ear), (expected), __LINE__)

/* ---- What is told ------------------------------------------------------------------------ */

static void connection_lost_and_back_is_suspect_and_held(void) {
    news_ear ear;
    lock_desk *desk = hold_with_ear(&ear);
    TOLD(desk, &ear, ""); /* the grant is the acquire's to tell */
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTING);
    TOLD(desk, &ear, "suspect 4711");
    EXPECT(ear.knows_size);
    EXPECT(ear.lock == desk->lock);
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTING); /* the next server does not answer either */
    TOLD(desk, &ear, "");
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTED);
    TOLD(desk, &ear, "held 4711");
    close_with_ear(desk, &ear);
}

static void expiry_is_told_once_and_is_final(void) {
    news_ear ear;
    lock_desk *desk = hold_with_ear(&ear);
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTING);
    desk_expire(desk);
    TOLD(desk, &ear, "suspect 4711; lost 4711 ZKL_SESSION_EXPIRED");
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTED);
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTING);
    desk_expire(desk);
    TOLD(desk, &ear, "");
    EXPECT_INT(zkl_lock_release(desk->lock, 0), ZKL_LOST);
    TOLD(desk, &ear, "");
    close_with_ear(desk, &ear);
}

static void answer_watch(lock_desk *desk, zkl_outcome outcome) {
    desk_enter(desk);
    FAKE_ANSWER(&desk->fake, "watch /app/locks/stock", .outcome = outcome);
    desk_leave(desk);
}

static void node_deleted_by_somebody_is_told(void) {
    news_ear ear;
    lock_desk *desk = hold_with_ear(&ear);
    desk_pass(desk, PROBE_MS);
    answer_watch(desk, ZKL_OUTCOME_OK);
    TOLD(desk, &ear, "");
    desk_enter(desk);
    zkl_session_on_watch_fired(&desk->client->sessions->session, desk->fake.last_watch_id, true);
    desk_leave(desk);
    answer_watch(desk, ZKL_OUTCOME_NO_NODE);
    TOLD(desk, &ear, "lost 4711 ZKL_NODE_DELETED");
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTING);
    desk_expire(desk);
    TOLD(desk, &ear, "");
    close_with_ear(desk, &ear);
}

static void node_that_was_only_changed_is_no_news(void) {
    news_ear ear;
    lock_desk *desk = hold_with_ear(&ear);
    desk_pass(desk, PROBE_MS);
    answer_watch(desk, ZKL_OUTCOME_OK);
    desk_enter(desk);
    zkl_session_on_watch_fired(&desk->client->sessions->session, desk->fake.last_watch_id, false);
    desk_leave(desk);
    answer_watch(desk, ZKL_OUTCOME_OK);
    TOLD(desk, &ear, "");
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_OK);
    close_with_ear(desk, &ear);
}

static void hold_limit_is_told_once(void) {
    news_ear ear;
    lock_desk *desk = open_with_ear(&ear, 0, 500);
    desk_hold(desk);
    desk_pass(desk, 500);
    TOLD(desk, &ear, "lost 4711 ZKL_HOLD_LIMIT");
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTING);
    desk_expire(desk);
    TOLD(desk, &ear, "");
    close_with_ear(desk, &ear);
}

static void end_of_the_lease_is_told_by_its_timer(void) {
    news_ear ear;
    lock_desk *desk = open_with_ear(&ear, TICK_MS, 0);
    desk_hold(desk);
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTING);
    desk_pass(desk, LEASE_MS - 1);
    TOLD(desk, &ear, "suspect 4711");
    desk_pass(desk, 1);
    TOLD(desk, &ear, "lost 4711 ZKL_LEASE_ENDED");
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTED);
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTING);
    desk_expire(desk);
    TOLD(desk, &ear, "");
    close_with_ear(desk, &ear);
}

static void end_of_the_lease_is_told_by_a_check_before_its_timer(void) {
    news_ear ear;
    lock_desk *desk = open_with_ear(&ear, TICK_MS, 0);
    desk_hold(desk);
    desk_stand_still(desk, LEASE_MS);
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_LOST);
    desk_pass(desk, 0);
    TOLD(desk, &ear, "lost 4711 ZKL_LEASE_ENDED");
    close_with_ear(desk, &ear);
}

static void each_grant_has_its_own_loss(void) {
    news_ear ear;
    lock_desk *desk = hold_with_ear(&ear);
    desk_expire(desk);
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTED);
    TOLD(desk, &ear, "lost 4711 ZKL_SESSION_EXPIRED");
    EXPECT_INT(zkl_lock_release(desk->lock, 0), ZKL_LOST);
    desk_begin(desk, desk_acquire, ZKL_FOREVER);
    desk_enter_at_calls(desk, 2);
    desk_answer_create(desk, DESK_NODE, 4712);
    desk_answer_list(desk, DESK_NODE, NULL);
    desk_leave(desk);
    EXPECT_INT(desk_join(desk), ZKL_OK);
    desk_expire(desk);
    TOLD(desk, &ear, "lost 4712 ZKL_SESSION_EXPIRED");
    close_with_ear(desk, &ear);
}

static void disconnection_between_grant_and_return_is_told_after_it(void) {
    news_ear ear;
    lock_desk *desk = open_with_ear(&ear, 0, 0);
    desk_begin(desk, desk_acquire, ZKL_FOREVER);
    desk_enter_at_calls(desk, 2);
    desk_grant(desk);
    zkl_session_on_news(&desk->client->sessions->session,
                        &(zkl_session_news){ .state = ZKL_SESSION_STATE_CONNECTING });
    desk_leave(desk);
    EXPECT_INT(desk_join(desk), ZKL_OK);
    TOLD(desk, &ear, "suspect 4711");
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_SUSPECT);
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTED);
    TOLD(desk, &ear, "held 4711");
    close_with_ear(desk, &ear);
}

/* ---- What is not told ------------------------------------------------------------------------ */

static void waiter_is_told_nothing(void) {
    news_ear ear;
    lock_desk *desk = open_with_ear(&ear, 0, 0);
    desk_begin(desk, desk_acquire, ZKL_FOREVER);
    desk_enter_at_calls(desk, 2);
    desk_leave(desk);
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTING);
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTED);
    desk_expire(desk);
    TOLD(desk, &ear, "");
    EXPECT_INT(zkl_lock_cancel(desk->lock), ZKL_OK);
    EXPECT_INT(desk_join(desk), ZKL_CANCELLED);
    TOLD(desk, &ear, "");
    close_with_ear(desk, &ear);
}

static void released_handle_is_told_nothing(void) {
    news_ear ear;
    lock_desk *desk = open_with_ear(&ear, TICK_MS, 500);
    desk_hold(desk);
    EXPECT_INT(zkl_lock_release(desk->lock, 0), ZKL_OK);
    desk_pass(desk, 500);
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTING);
    desk_pass(desk, LEASE_MS);
    desk_expire(desk);
    TOLD(desk, &ear, "");
    close_with_ear(desk, &ear);
}

static void handle_in_a_release_is_told_nothing(void) {
    news_ear ear;
    lock_desk *desk = hold_with_ear(&ear);
    desk_begin(desk, desk_release, ZKL_FOREVER);
    desk_enter_at_calls(desk, 1);
    desk_leave(desk);
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTING);
    desk_expire(desk);
    EXPECT_INT(desk_join(desk), ZKL_OK); /* gone with its session */
    TOLD(desk, &ear, "");
    close_with_ear(desk, &ear);
}

/* With the mutex held from the grant to the loss. */
static void loss_before_the_return_is_the_acquires_to_tell(void) {
    news_ear ear;
    lock_desk *desk = open_with_ear(&ear, TICK_MS, 0);
    desk_begin(desk, desk_acquire, ZKL_FOREVER);
    desk_enter_at_calls(desk, 2);
    desk_grant(desk);
    desk->fake.now_ms += LEASE_MS;
    zkl_timers_fire_due(&desk->client->sessions->session.timers, desk->fake.now_ms);
    desk_leave(desk);
    EXPECT_INT(desk_join(desk), ZKL_LEASE_ENDED);
    TOLD(desk, &ear, "");
    close_with_ear(desk, &ear);
}

static void handle_without_a_callback_needs_no_thread(void) {
    lock_desk *desk = desk_open(NULL);
    EXPECT(desk->client->state_thread == NULL);
    desk_hold(desk);
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTING);
    desk_expire(desk);
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_LOST);
    desk_close(desk);
}

/* ---- Inside the callback ------------------------------------------------------------------------
 */

static void call_what_does_not_block(news_ear *ear, const zkl_lock_news *news) {
    zkl_lock_information information = ZKL_LOCK_INFORMATION_INIT;
    zkl_client_information client = ZKL_CLIENT_INFORMATION_INIT;
    ear->said[0] = zkl_lock_check(news->lock, NULL);
    ear->said[1] = zkl_lock_info(news->lock, &information);
    ear->said[2] = (int)information.state;
    ear->said[3] = zkl_lock_cancel(news->lock);
    ear->said[4] = zkl_client_info(ear->desk->client, &client);
    ear->said[5] = zkl_lock_release(news->lock, 0);
    ear->said[6] = zkl_lock_check(news->lock, NULL);
}

static void calls_that_do_not_block_are_fine_inside(void) {
    news_ear ear;
    lock_desk *desk = hold_with_ear(&ear);
    ear.reaction = call_what_does_not_block;
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTING);
    TOLD(desk, &ear, "suspect 4711");
    EXPECT_INT(ear.said[0], ZKL_SUSPECT);
    EXPECT_INT(ear.said[1], ZKL_OK);
    EXPECT_INT(ear.said[2], ZKL_STATE_SUSPECT);
    EXPECT_INT(ear.said[3], ZKL_NOT_WAITING);
    EXPECT_INT(ear.said[4], ZKL_OK);
    EXPECT_INT(ear.said[5], ZKL_OK);
    EXPECT_INT(ear.said[6], ZKL_NOT_HELD);
    close_with_ear(desk, &ear);
}

static void call_what_blocks(news_ear *ear, const zkl_lock_news *news) {
    zkl_client *client = NULL;
    ear->said[0] = zkl_lock_acquire(news->lock, ZKL_EXCLUSIVE, ZKL_FOREVER, NULL);
    ear->said[1] = zkl_lock_acquire(news->lock, ZKL_EXCLUSIVE, 0, NULL);
    ear->said[2] = zkl_lock_release(news->lock, ZKL_FOREVER);
    ear->said[3] = zkl_lock_release(news->lock, 1);
    ear->said[4] = zkl_client_close(ear->desk->client, 0);
    ear->said[5] = zkl_client_open("h:1", NULL, &client);
    ear->said[6] = zkl_lock_check(news->lock, NULL);
}

static void calls_that_block_are_refused_inside(void) {
    news_ear ear;
    lock_desk *desk = hold_with_ear(&ear);
    ear.reaction = call_what_blocks;
    desk_forget_heard(desk);
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTING);
    TOLD(desk, &ear, "suspect 4711");
    for (size_t i = 0; i < 6; i++) {
        EXPECT_INT(ear.said[i], ZKL_IN_CALLBACK);
    }
    EXPECT_INT(ear.said[6], ZKL_SUSPECT); /* and nothing has changed */
    DESK_HEARD(desk, "");
    close_with_ear(desk, &ear);
}

static void close_inside(news_ear *ear, const zkl_lock_news *news) {
    zkl_lock_close(news->lock);
    ear->desk->lock = NULL;
}

static void handle_can_be_closed_inside_and_is_told_no_more(void) {
    news_ear ear;
    lock_desk *desk = hold_with_ear(&ear);
    ear.reaction = close_inside;
    set_gate(&ear, true);
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTING);
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTED); /* waits to be told */
    wait_until_entered(&ear, 1);
    desk_forget_heard(desk);
    set_gate(&ear, false);
    TOLD(desk, &ear, "suspect 4711");
    DESK_HEARD(desk, "remove /app/locks/stock/#1-" DESK_NODE);
    close_with_ear(desk, &ear);
}

static void lost_handle_can_be_closed_inside(void) {
    news_ear ear;
    lock_desk *desk = hold_with_ear(&ear);
    ear.reaction = close_inside;
    desk_expire(desk);
    TOLD(desk, &ear, "lost 4711 ZKL_SESSION_EXPIRED");
    EXPECT(desk->lock == NULL);
    close_with_ear(desk, &ear);
}

/* ---- Threads
 * --------------------------------------------------------------------------------------- */

static pthread_t log_thread;

static void on_log(void *arg, const zkl_log_record *record) {
    (void)record;
    log_thread = pthread_self();
    atomic_store((atomic_bool *)arg, true);
}

static void callback_has_a_thread_of_its_own(void) {
    atomic_bool logged = false;
    news_ear ear;
    begin_ear(&ear);
    zkl_lock_options options = options_for(&ear);
    lock_desk *desk =
        desk_open_with(&(desk_options){ &options, .log_callback = on_log, .log_arg = &logged });
    desk_hold(desk);
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTING);
    TOLD(desk, &ear, "suspect 4711");
    EXPECT(!pthread_equal(ear.thread, pthread_self()));
    EXPECT(!pthread_equal(ear.thread, desk->contender));
    pthread_t told_on = ear.thread;
    desk_expire(desk);
    TOLD(desk, &ear, "lost 4711 ZKL_SESSION_EXPIRED");
    EXPECT(pthread_equal(ear.thread, told_on)); /* and it is the same for all */
    desk_close(desk);                           /* delivers the log */
    EXPECT(atomic_load(&logged));
    EXPECT(!pthread_equal(log_thread, told_on));
    end_ear(&ear);
}

static void slow_callback_delays_nobody_and_keeps_the_order(void) {
    news_ear ear;
    lock_desk *desk = hold_with_ear(&ear);
    set_gate(&ear, true);
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTING);
    wait_until_entered(&ear, 1);
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTED); /* returns, with the gate shut */
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTING);
    desk_expire(desk);
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_LOST); /* ahead of its news */
    set_gate(&ear, false);
    TOLD(desk, &ear, "suspect 4711; held 4711; suspect 4711; lost 4711 ZKL_SESSION_EXPIRED");
    close_with_ear(desk, &ear);
}

static int close_handle(lock_desk *desk) {
    zkl_lock_close(desk->lock);
    desk->lock = NULL;
    return ZKL_OK;
}

/* A close that does not wait gets every chance to return before the gate opens. */
static void give_way(void) {
    for (int i = 0; i < 2000; i++) {
        sched_yield();
    }
}

static news_ear *closing_ear;

static int close_handle_and_look(lock_desk *desk) {
    (void)close_handle(desk);
    return has_returned(closing_ear, 1) ? ZKL_OK : ZKL_BUSY;
}

static void close_waits_for_the_callback_that_runs_and_drops_the_rest(void) {
    news_ear ear;
    lock_desk *desk = hold_with_ear(&ear);
    set_gate(&ear, true);
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTING);
    wait_until_entered(&ear, 1);
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTED);
    desk_enter(desk);
    fake_answer_all(&desk->fake, ZKL_OUTCOME_OK);
    desk_leave(desk);
    closing_ear = &ear;
    desk_begin(desk, close_handle_and_look, 0);
    desk_enter_at_calls(desk, 1); /* its deletion is sent: it has come as far as the wait */
    desk_leave(desk);
    give_way();
    set_gate(&ear, false);
    EXPECT_INT(desk_join(desk), ZKL_OK);
    TOLD(desk, &ear, "suspect 4711");
    close_with_ear(desk, &ear);
}

static void closed_handle_does_not_silence_the_others(void) {
    news_ear ear;
    news_ear other_ear;
    lock_desk *desk = hold_with_ear(&ear);
    zkl_lock *first = desk->lock;
    begin_ear(&other_ear);
    zkl_lock_options options = options_for(&other_ear);
    EXPECT_INT(zkl_lock_open(desk->client, "stock", &options, &desk->lock), ZKL_OK);
    desk_hold(desk); /* two may hold at this desk: the test plays the servers */
    set_gate(&ear, true);
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTING);
    wait_until_entered(&ear, 1);
    set_gate(&ear, false);
    zkl_lock_close(first);
    desk_expire(desk);
    TOLD(desk, &other_ear, "suspect 4711; lost 4711 ZKL_SESSION_EXPIRED");
    EXPECT(other_ear.lock == desk->lock);
    TOLD(desk, &ear, "suspect 4711");
    desk_close(desk);
    end_ear(&other_ear);
    end_ear(&ear);
}

static int close_client_and_look(lock_desk *desk) {
    (void)zkl_client_close(desk->client, 0);
    return has_returned(closing_ear, 2) ? ZKL_OK : ZKL_BUSY;
}

static void client_close_waits_for_the_callbacks_and_tells_no_loss(void) {
    news_ear ear;
    lock_desk *desk = hold_with_ear(&ear);
    set_gate(&ear, true);
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTING);
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTED);
    wait_until_entered(&ear, 1);
    closing_ear = &ear;
    desk_begin(desk, close_client_and_look, 0);
    give_way();
    set_gate(&ear, false);
    EXPECT_INT(desk_join(desk), ZKL_OK);
    desk->client = NULL;
    EXPECT_TEXT(ear.heard, "suspect 4711; held 4711");
    EXPECT_INT(ear.entered, 2);
    close_with_ear(desk, &ear);
}

/* ---- Short of memory, or of threads
 * -------------------------------------------------------------------- */

static void loss_is_told_though_memory_is_short(void) {
    news_ear ear;
    lock_desk *desk = hold_with_ear(&ear);
    atomic_store(&no_memory, true);
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTING);
    desk_expire(desk);
    atomic_store(&no_memory, false);
    TOLD(desk, &ear, "lost 4711 ZKL_SESSION_EXPIRED");
    close_with_ear(desk, &ear);
}

/* A try without a connection: it ends at once where memory suffices. */
static int try_with_failing_allocation(int number) {
    news_ear ear;
    begin_ear(&ear);
    zkl_lock_options options = options_for(&ear);
    lock_desk *desk = desk_open_offline(&options);
    atomic_store(&failing_allocation, number);
    int status = zkl_lock_acquire(desk->lock, ZKL_EXCLUSIVE, 0, NULL);
    atomic_store(&failing_allocation, 0);
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_NOT_HELD);
    DESK_HEARD(desk, "");
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTED);
    desk_hold(desk);
    close_with_ear(desk, &ear);
    return status;
}

static void acquire_without_memory_leaves_the_handle_idle(void) {
    int number = 1;
    int status = try_with_failing_allocation(number);
    while (status == ZKL_NO_MEMORY) {
        status = try_with_failing_allocation(++number);
    }
    EXPECT_INT(status, ZKL_DISCONNECTED);
    EXPECT(number > 2); /* its news and its request at least */
}

static void handle_without_memory_is_not_opened(void) {
    news_ear ear;
    lock_desk *desk = open_with_ear(&ear, 0, 0);
    zkl_lock_options options = options_for(&ear);
    zkl_lock *lock = desk->lock;
    atomic_store(&no_memory, true);
    int status = zkl_lock_open(desk->client, "other", &options, &lock);
    atomic_store(&no_memory, false);
    EXPECT_INT(status, ZKL_NO_MEMORY);
    EXPECT(lock == NULL);
    close_with_ear(desk, &ear);
}

static void handle_without_a_thread_for_its_callback_is_not_opened(void) {
    news_ear ear;
    begin_ear(&ear);
    zkl_lock_options options = options_for(&ear);
    lock_desk *desk = desk_open(NULL);
    zkl_lock *lock = desk->lock;
    atomic_store(&no_threads, true);
    int status = zkl_lock_open(desk->client, "other", &options, &lock);
    atomic_store(&no_threads, false);
    EXPECT_INT(status, ZKL_SYSTEM);
    EXPECT(lock == NULL);
    EXPECT_INT(zkl_lock_open(desk->client, "other", &options, &lock), ZKL_OK);
    zkl_lock_close(lock);
    close_with_ear(desk, &ear);
}

static CU_TestInfo tests[] = {
    TEST(connection_lost_and_back_is_suspect_and_held),
    TEST(expiry_is_told_once_and_is_final),
    TEST(node_deleted_by_somebody_is_told),
    TEST(node_that_was_only_changed_is_no_news),
    TEST(hold_limit_is_told_once),
    TEST(end_of_the_lease_is_told_by_its_timer),
    TEST(end_of_the_lease_is_told_by_a_check_before_its_timer),
    TEST(each_grant_has_its_own_loss),
    TEST(disconnection_between_grant_and_return_is_told_after_it),
    TEST(waiter_is_told_nothing),
    TEST(released_handle_is_told_nothing),
    TEST(handle_in_a_release_is_told_nothing),
    TEST(loss_before_the_return_is_the_acquires_to_tell),
    TEST(handle_without_a_callback_needs_no_thread),
    TEST(calls_that_do_not_block_are_fine_inside),
    TEST(calls_that_block_are_refused_inside),
    TEST(handle_can_be_closed_inside_and_is_told_no_more),
    TEST(lost_handle_can_be_closed_inside),
    TEST(callback_has_a_thread_of_its_own),
    TEST(slow_callback_delays_nobody_and_keeps_the_order),
    TEST(close_waits_for_the_callback_that_runs_and_drops_the_rest),
    TEST(closed_handle_does_not_silence_the_others),
    TEST(client_close_waits_for_the_callbacks_and_tells_no_loss),
    TEST(loss_is_told_though_memory_is_short),
    TEST(acquire_without_memory_leaves_the_handle_idle),
    TEST(handle_without_memory_is_not_opened),
    TEST(handle_without_a_thread_for_its_callback_is_not_opened),
    TEST_END,
};

int main(void) {
    return unit_main("lock news", tests);
}
