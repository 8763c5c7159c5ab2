#include "handle/call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/callback_queue.h"
#include "base/error_message.h"
#include "base/threads.h"
#include "base/validation.h"
#include "handle/lock_events.h"
#include "telemetry/record_file.h"

/* ---- What both ways of waiting share ------------------------------------------------------ */

zkl_lock_call zkl_call_of_thread(zkl_lock *lock, const zkl_lock_call_kind *kind,
                                 const char *function, int64_t timeout_ms) {
    return (zkl_lock_call){ .kind = kind,
                            .function = function,
                            .lock = lock,
                            .owner = { .thread = zkl_thread_number() },
                            .timeout_ms = timeout_ms };
}

zkl_lock_call zkl_call_of_callback(zkl_lock *lock, const zkl_lock_call_kind *kind,
                                   const char *function, int64_t timeout_ms, const void *owner,
                                   void *arg) {
    zkl_lock_call call = zkl_call_of_thread(lock, kind, function, timeout_ms);
    call.owner = (zkl_lock_owner){ .token = owner };
    call.arg = arg;
    return call;
}

int zkl_call_check(const zkl_lock_call *call) {
    int64_t lowest = call->kind->shortest_ms == 0 ? ZKL_FOREVER : call->kind->shortest_ms;
    ZKL_TRY(zkl_handle_check("lock", call->lock));
    ZKL_TRY(call->kind->check != NULL ? call->kind->check(call) : ZKL_OK);
    return call->timeout_ms == ZKL_FOREVER
               ? ZKL_OK
               : zkl_validate_range("timeout_ms", call->timeout_ms, lowest, INT64_MAX);
}

/* Reports the status of a call that has ended, or was refused. */
static void note_status(const zkl_lock_call *call, int status) {
    zkl_lock_note_returned(call->lock, call->function, status);
    if (status == ZKL_LEASE_IMPOSSIBLE) {
        zkl_client_note_lease_impossible(call->lock->client);
    }
}

static void collect_status(zkl_lock_call *call) {
    if (call->state < ZKL_CALL_ANSWERED) {
        call->status = call->kind->collect_status(call);
    }
    call->state = ZKL_CALL_COLLECTED;
    note_status(call, call->status);
}

/* Returns the timer behind the call of a callback whose time is limited. NULL: it is not limited,
 * or a thread waits, which has its timer on its stack. */
static zkl_timer *limit_of(zkl_lock_call *call) {
    bool is_limited = call->application.ended != NULL && call->timeout_ms > 0;
    return is_limited ? (zkl_timer *)(call + 1) : NULL;
}

static void finish(zkl_lock_call *call, zkl_lock_call_state state) {
    if (call == NULL || call->state != ZKL_CALL_WAITS) {
        return;
    }
    call->state = state;
    if (limit_of(call) != NULL) {
        zkl_timer_stop(limit_of(call));
    }
    if (call->application.ended == NULL) {
        zkl_lock_callbacks_wake(&call->lock->calls);
    } else {
        zkl_lock_callback_post(&call->callback);
    }
}

void zkl_call_over(zkl_lock_call *call) {
    finish(call, ZKL_CALL_OVER);
}

void zkl_call_answer(zkl_lock_call *call, int status) {
    call->status = status;
    finish(call, ZKL_CALL_ANSWERED);
}

/* ---- Its time ----------------------------------------------------------------------------- */

static void collect_call(zkl_lock_callback *callback);

/* Ends the call at its deadline: nothing happens after that, even if its callback runs late. The
 * call of a thread that has not woken yet may be over already. */
static void on_limit(void *arg) {
    zkl_lock_call *call = arg;
    if (call->kind->time_out != NULL) {
        call->kind->time_out(call);
    } else if (call->application.ended == NULL) {
        zkl_call_over(call);
    } else {
        collect_call(&call->callback);
    }
}

/* Sets the call's timer among those of the first session: any session's would do. */
static void set_limit(zkl_lock_call *call, zkl_timer *limit) {
    if (call->timeout_ms == 0) {
        on_limit(call);
    } else if (call->timeout_ms != ZKL_FOREVER) {
        *limit = (zkl_timer){ .fire = on_limit, .arg = call };
        zkl_session_set_timer(&call->lock->client->sessions->session, limit, call->timeout_ms);
    }
}

/* ---- A thread waits ----------------------------------------------------------------------- */

static void wait_until_over(zkl_lock_call *call) {
    zkl_lock_callbacks *calls = &call->lock->calls;
    zkl_timer limit = { .timers = NULL };
    if (call->state == ZKL_CALL_WAITS) {
        set_limit(call, &limit);
    }
    while (call->state == ZKL_CALL_WAITS && !calls->closing) {
        zkl_lock_callbacks_wait(calls);
    }
    zkl_timer_stop(&limit);
}

int zkl_call_wait(zkl_lock_call *call, bool can_wait) {
    ZKL_TRY(zkl_call_check(call));
    ZKL_TRY(can_wait ? zkl_check_may_wait() : ZKL_OK);
    ZKL_WITH_MUTEX(&call->lock->client->mutex);
    call->lock->calls.inside++;
    int status = call->kind->begin(call);
    if (status == ZKL_OK) {
        wait_until_over(call);
        collect_status(call);
        status = call->status;
    } else {
        note_status(call, status);
    }
    zkl_lock_callbacks_leave(&call->lock->calls);
    return status;
}

int zkl_call_wait_for_grant(zkl_lock_call *call, zkl_grant *grant) {
    zkl_grant granted = ZKL_GRANT_INIT;
    ZKL_TRY(zkl_validate_struct_size("zkl_grant", grant, sizeof(*grant)));
    call->granted = grant != NULL ? &granted : NULL;
    int status = zkl_call_wait(call, true);
    if (status == ZKL_OK && grant != NULL) {
        zkl_struct_fill(grant, &granted);
    }
    return status;
}

/* ---- A callback is owed ------------------------------------------------------------------- */

/* Collects the status for the callback. `collect_status` leaves its message in that of the running
 * thread, which may be one that closes the handle: so the message is moved into the call, and the
 * thread keeps its own. Without memory the callback has no message. */

static void collect_call(zkl_lock_callback *callback) {
    zkl_lock_call *call = (zkl_lock_call *)callback;
    char before[ZKL_MESSAGE_SIZE];
    zkl_call_over(call);
    if (call->state == ZKL_CALL_COLLECTED) {
        return;
    }
    snprintf(before, sizeof(before), "%s", zkl_error_message());
    zkl_error_clear();
    collect_status(call);
    call->message = zkl_error_message()[0] != '\0' ? strdup(zkl_error_message()) : NULL;
    zkl_error_set(before);
}

static void call_back(zkl_lock_callback *callback) {
    zkl_lock_call *call = (zkl_lock_call *)callback;
    zkl_assert(callback->client->recorder,
               limit_of(call) == NULL || limit_of(call)->timers == NULL);
    zkl_error_set(call->message);
    free(call->message);
    if (call->kind->call_application != NULL) {
        call->kind->call_application(call);
    } else if (call->kind->obtains_grant) {
        call->application.acquired(call->arg, call->status,
                                   call->status == ZKL_OK ? call->granted : NULL);
    } else {
        call->application.ended(call->arg, call->status);
    }
}

static const zkl_lock_callback_kind callback_kind = { .collect = collect_call,
                                                      .call_application = call_back };

/* Copies the call. Behind the copy are its timer, if its time is limited, and room for its grant,
 * if its kind needs that. An acquire is granted just before its callback runs, unless the handle is
 * being closed: so its grant is in the client. */
static int make(const zkl_lock_call *given, zkl_lock_call **result) {
    zkl_client *client = given->lock->client;
    size_t room = given->kind->room;
    size_t limit = given->timeout_ms != ZKL_FOREVER ? sizeof(zkl_timer) : 0;
    ZKL_TRY(zkl_client_need_callbacks(client));
    zkl_lock_call *call = calloc(1, sizeof(*call) + limit + room);
    ZKL_TRY(zkl_made(call));
    *call = *given;
    if (call->kind->obtains_grant) {
        call->granted = room > 0 ? (zkl_grant *)((char *)(call + 1) + limit) : &client->granted;
    }
    zkl_lock_callback_owe(&call->lock->calls, &call->callback, &callback_kind);
    *result = call;
    return ZKL_OK;
}

static int start_call(zkl_lock_call *call) {
    int status = call->kind->begin(call);
    if (status != ZKL_OK) {
        zkl_lock_callback_forget(&call->callback);
        free(call);
    } else if (call->state == ZKL_CALL_WAITS) {
        set_limit(call, limit_of(call));
    }
    return status;
}

int zkl_call_start(const zkl_lock_call *given) {
    zkl_lock_call *call = NULL;
    ZKL_TRY(zkl_call_check(given));
    ZKL_TRY(zkl_validate_pointer("callback", (const void *)(uintptr_t)given->application.ended));
    ZKL_WITH_MUTEX(&given->lock->client->mutex);
    int status = make(given, &call);
    if (status == ZKL_OK) {
        status = start_call(call);
    } else if (status != ZKL_CLOSED && given->kind->obtains_grant) {
        zkl_lock_note_not_begun(given->lock, 0, status);
    }
    if (status != ZKL_OK) {
        note_status(given, status);
    }
    return status;
}
