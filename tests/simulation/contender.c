#include "contender.h"

#include <stdio.h>
#include <string.h>

#include "base/threads.h"
#include "contender_calls.h"
#include "oracle.h"
#include "testing/memory.h"
#include "trace.h"

enum { US_PER_MS = 1000, PIECES_OF_A_HOLD = 3, ANSWER_MS = 1000 };

static void sleep_ms(int64_t ms) {
    zkl_world_sleep_us(ms * US_PER_MS);
}

static void on_news(void *arg, const zkl_lock_event *event) {
    contender *self = arg;
    oracle_told(self->number, event);
    if (event->state == ZKL_STATE_REVOKE_REQUESTED && self->plan->cooperates) {
        self->is_asked_to_leave = true;
    }
}

/* False: the client is closed, and there is no handle to be had. */
static bool open_handle(contender *self) {
    char resource[32];
    snprintf(resource, sizeof(resource), "resource-%u", self->plan->resource);
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    options.fail_on_session_expiry = self->plan->fail_on_session_expiry;
    options.reentrant = self->plan->reentrant;
    options.max_hold_ms = self->plan->max_hold_ms;
    options.permits = (int32_t)self->plan->permits;
    options.naming = plan_naming(self->run, self->plan);
    options.max_waiting = (int32_t)self->plan->max_waiting;
    options.resource_class = resource;
    zkl_lending lending = ZKL_LENDING_INIT;
    if (self->plan->borrows) {
        bool leases = self->run->clients[self->plan->client].lease_tick_ms > 0;
        lending.retain_ms = leases ? self->run->retain_ms : 0;
        lending.hand_offs = self->run->hand_offs;
        lending.hand_offs += lending.retain_ms + self->run->hand_offs == 0;
        lending.hand_off_ms = self->run->hand_off_ms;
        lending.priority = self->plan->priority;
        options.lending = &lending;
    }
    if (self->plan->hears_news) {
        options.state_callback = on_news;
        options.state_arg = self;
        options.tell_contended = self->plan->tell_contended;
        options.revocable = self->plan->revocable;
    }
    while (!*self->client_closes) {
        int status = zkl_lock_open(self->client, resource, &options, &self->lock);
        if (status == ZKL_OK) {
            oracle_has_handle(self->number, true);
            return true;
        }
        oracle_opened(self->number, status);
        sleep_ms(10);
    }
    return false;
}

static void close_handle(contender *self) {
    trace_call(self->number, "close");
    oracle_leaves(self->number);
    zkl_lock *lock = self->lock;
    self->lock = NULL;
    oracle_closes_handle(self->number);
    zkl_lock_close(lock);
    oracle_has_handle(self->number, false);
    oracle_closed(self->number);
}

/* ---- A turn ------------------------------------------------------------------------ */

static void on_cancel(void *arg) {
    const contender *self = arg;
    int status = zkl_lock_cancel(self->lock);
    trace_call(self->number, "cancel: %s", zkl_strerror(status));
    oracle_cancels(self->number, status);
}

/* Another task of the application, which closes the handle while its thread is in an acquire. */
static void *close_meanwhile(void *arg) {
    contender *self = arg;
    const plan_turn *turn = self->turn;
    int64_t at_us = zkl_world_now_us() + turn->close_after_ms * (int64_t)US_PER_MS;
    while (self->acquire_began_ms >= 0 && zkl_world_now_us() < at_us) {
        zkl_world_wait_on(&self->acquire_began_ms, at_us);
    }
    if (self->acquire_began_ms >= 0) {
        trace_call(self->number, "close, by another task");
        oracle_closes_meanwhile(self->number);
        self->was_closed = true;
        zkl_lock *lock = self->lock;
        self->lock = NULL;
        oracle_closes_handle(self->number);
        zkl_lock_close(lock);
        oracle_has_handle(self->number, false);
    }
    self->closer_runs = false;
    zkl_world_wake_all(&self->closer_runs);
    return NULL;
}

static void start_closer(contender *self) {
    self->was_closed = false;
    self->closer_runs = self->turn->close_after_ms >= 0;
    if (self->closer_runs) {
        (void)zkl_task_start(close_meanwhile, self);
    }
}

static void wait_for_closer(contender *self) {
    zkl_world_wake_all(&self->acquire_began_ms);
    while (self->closer_runs) {
        zkl_world_wait_on(&self->closer_runs, INT64_MAX);
    }
}

static void told_of_acquire(contender *self, int status, const zkl_grant *grant) {
    trace_call(self->number, "acquired: %s", zkl_strerror(status));
    oracle_acquired(self->number, self->lock, self->process, self->turn, status, grant);
    self->acquire_began_ms = -1;
}

static int acquire(contender *self, const plan_turn *turn) {
    zkl_world_event cancel = { .run = on_cancel, .arg = self, .process = self->process };
    if (turn->cancel_after_ms >= 0) {
        zkl_world_schedule(&cancel,
                           zkl_world_now_us() + turn->cancel_after_ms * (int64_t)US_PER_MS);
    }
    trace_call(self->number, "acquire, mode %d, timeout %lld ms", (int)turn->mode,
               (long long)turn->timeout_ms);
    self->acquire_began_ms = zkl_clock_ms();
    oracle_asks(self->number, self->lock, turn);
    start_closer(self);
    int status = contender_acquire(self, turn->mode, turn->timeout_ms, told_of_acquire);
    zkl_world_unschedule(&cancel);
    wait_for_closer(self);
    return status;
}

/* What is at once so is told later, where it is asynchronous: the client may be closed by then. */
static bool was_so_before_the_close(const contender *self, int status) {
    return self->plan->asynchronous && *self->client_closes && !self->called_closed &&
           (status == ZKL_OK || status == ZKL_LOST);
}

/* For the callback, where there is one. */
static bool had_no_memory(const contender *self, int status) {
    return self->plan->asynchronous && status == ZKL_NO_MEMORY && oracle_memory_runs_short();
}

static void told_again(contender *self, int status, const zkl_grant *grant) {
    if (!was_so_before_the_close(self, status) && !had_no_memory(self, status)) {
        oracle_acquired_again(self->number, self->plan->reentrant, status, grant);
    }
}

static int acquire_again(contender *self, const plan_turn *turn) {
    int times = 0;
    for (int i = 0; i < turn->acquire_again; i++) {
        zkl_mode mode = turn->mode == ZKL_WRITE && i % 2 == 1 ? ZKL_READ : turn->mode;
        times += contender_acquire(self, mode, turn->timeout_ms, told_again) == ZKL_OK;
    }
    return times;
}

static int commit_text(zkl_lock *lock, const char *path, const char *text) {
    zkl_transaction *transaction = NULL;
    int status = zkl_transaction_begin(lock, &transaction);
    if (status == ZKL_OK) {
        status = zkl_transaction_set(transaction, path, text, strlen(text), ZKL_ANY_VERSION);
    }
    if (status == ZKL_OK) {
        status = zkl_transaction_commit(transaction, ANSWER_MS, NULL);
    }
    zkl_transaction_free(transaction);
    return status;
}

static void ask_servers(const contender *self) {
    bool lived = oracle_guard_lives(self->number);
    int status = zkl_lock_verify(self->lock, ANSWER_MS);
    trace_call(self->number, "verified: %s", zkl_strerror(status));
    oracle_verified(self->number, lived, status);
    char path[32];
    char text[ORACLE_GUARDED_TEXT_SIZE];
    snprintf(path, sizeof(path), "/guarded-%u", self->plan->resource);
    oracle_guarded_begins(self->number, text);
    status = commit_text(self->lock, path, text);
    trace_call(self->number, "committed: %s", zkl_strerror(status));
    oracle_guarded_told(text, status);
}

static void hold(const contender *self, const plan_turn *turn) {
    for (int i = 0; i < PIECES_OF_A_HOLD && !self->is_asked_to_leave; i++) {
        sleep_ms(turn->hold_ms / PIECES_OF_A_HOLD);
        oracle_checks(self->number);
        if (turn->asks_servers) {
            ask_servers(self);
        }
    }
}

static void told_of_downgrade(contender *self, int status, const zkl_grant *grant) {
    (void)grant;
    trace_call(self->number, "downgraded: %s", zkl_strerror(status));
    oracle_downgraded(self->number, self->turn, status);
}

static void downgrade(contender *self, const plan_turn *turn) {
    trace_call(self->number, "downgrade, timeout %lld ms", (long long)turn->downgrade_timeout_ms);
    oracle_downgrades(self->number);
    (void)contender_downgrade(self, turn->downgrade_timeout_ms, told_of_downgrade);
}

static void told_of_upgrade(contender *self, int status, const zkl_grant *grant) {
    trace_call(self->number, "upgraded: %s", zkl_strerror(status));
    oracle_upgraded(self->number, status, grant);
}

static void try_upgrade(contender *self) {
    trace_call(self->number, "try to upgrade");
    oracle_upgrades(self->number);
    (void)contender_try_upgrade(self, told_of_upgrade);
}

static void change(contender *self, const plan_turn *turn) {
    if (turn->mode == ZKL_WRITE) {
        downgrade(self, turn);
    } else if (turn->mode == ZKL_READ) {
        try_upgrade(self);
    } else {
        return;
    }
    hold(self, turn);
}

/* Works on the store as docs/guarantees.md has it: claims it before it reads, and
 * requires that very token for the write. */
static void work(contender *self, const plan_turn *turn) {
    int64_t value = 0;
    bool claimed = turn->writes && oracle_store_claim(self->number, &value);
    hold(self, turn);
    if (claimed) {
        oracle_store_write(self->number, value + 1);
    }
    if (turn->changes) {
        change(self, turn);
    }
}

static void told_of_one_release(contender *self, int status, const zkl_grant *grant) {
    (void)grant;
    if (!was_so_before_the_close(self, status)) {
        oracle_released_once(self->number, status);
    }
}

static void told_of_release(contender *self, int status, const zkl_grant *grant) {
    (void)grant;
    trace_call(self->number, "released: %s", zkl_strerror(status));
    oracle_released(self->number, self->turn, status);
}

static bool leave(contender *self, const plan_turn *turn, int times) {
    if (turn->closes) {
        close_handle(self);
        return open_handle(self);
    }
    for (int i = 0; i < times; i++) {
        (void)contender_release(self, turn->release_timeout_ms, told_of_one_release);
    }
    trace_call(self->number, "release");
    oracle_leaves(self->number);
    (void)contender_release(self, turn->release_timeout_ms, told_of_release);
    return true;
}

/* The same servers by other names, wherever they are by now. */
static void rename_servers(const contender *self, const plan_turn *turn) {
    const char *hosts = turn->rest_ms % 2 == 0 ? "server:2181" : "servers:2181,others:2181";
    trace_call(self->number, "set_hosts");
    int status = zkl_client_set_hosts(self->client, hosts);
    if (status != ZKL_OK && status != ZKL_CLOSED && status != ZKL_NO_MEMORY) {
        zkl_testing_fail("set_hosts was told: %s", zkl_strerror(status));
    }
}

/* All, or the last, to which the nodes are open in each case; or one beside it that not every
 * client can take. */
static void show_credentials(const contender *self, const plan_turn *turn) {
    int32_t first = turn->rest_ms % 2 == 0 ? 0 : PLAN_CREDENTIALS - 1;
    int32_t unknown = turn->rest_ms % 8 == 0 ? 1 : 0;
    trace_call(self->number, "set_credentials");
    int status = zkl_client_set_credentials(self->client, &plan_credentials[first],
                                            PLAN_CREDENTIALS - first + unknown);
    bool may_be_refused = unknown != 0 && self->run->closed && status == ZKL_INVALID_ARGUMENT;
    if (status != ZKL_OK && status != ZKL_CLOSED && status != ZKL_NO_MEMORY && !may_be_refused) {
        zkl_testing_fail("set_credentials was told: %s", zkl_strerror(status));
    }
}

/* False: the client is closed, and there will be no more turns. */
static bool take_turn(contender *self, const plan_turn *turn) {
    sleep_ms(turn->rest_ms);
    if (self->run->renames) {
        rename_servers(self, turn);
    }
    if (self->run->rotates) {
        show_credentials(self, turn);
    }
    self->turn = turn;
    self->is_asked_to_leave = false;
    int status = acquire(self, turn);
    if (self->was_closed) {
        oracle_closed(self->number);
        return open_handle(self);
    }
    if (status == ZKL_OK) {
        int times = acquire_again(self, turn);
        work(self, turn);
        return leave(self, turn, times);
    }
    if (status == ZKL_CLOSED) {
        oracle_finds_closed(self->number, self->lock);
        return false;
    }
    return true;
}

void *contender_run(void *arg) {
    contender *self = arg;
    bool goes_on = open_handle(self);
    for (size_t i = 0; goes_on && i < self->plan->turn_count; i++) {
        if (!self->plan->turns[i].left_out) {
            goes_on = take_turn(self, &self->plan->turns[i]);
        }
    }
    if (self->lock != NULL) {
        close_handle(self);
    }
    self->done = true;
    zkl_world_wake_all(self);
    return NULL;
}
