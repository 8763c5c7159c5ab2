#include "handle/lock_events.h"

#include <stdlib.h>

#include "base/error_message.h"

typedef struct zkl_lock_message {
    zkl_lock_callback callback; /* first */
    zkl_lock_event event;
    bool is_of_connection;
    /* the application is not called: the handle is closed, or a later event of the connection has
     * made it void */
    bool is_undone;
} zkl_lock_message;

static const zkl_lock_listener *listener;

void zkl_lock_listen(const zkl_lock_listener *whose) {
    listener = whose;
}

void zkl_lock_note_returned(const zkl_lock *lock, const char *function, int status) {
    if (listener != NULL) {
        listener->on_returned(lock, function, status);
    }
}

static int prepare_message(zkl_lock_message **message) {
    if (*message == NULL) {
        *message = calloc(1, sizeof(zkl_lock_message));
    }
    return zkl_made(*message);
}

int zkl_lock_events_prepare(zkl_lock *lock) {
    if (lock->origin->options->state_callback != NULL) {
        ZKL_TRY(prepare_message(&lock->events->for_loss));
    }
    return lock->origin->options->tell_granted != 0 ? prepare_message(&lock->events->for_grant)
                                                    : ZKL_OK;
}

/* ---- Out of the queue --------------------------------------------------------------- */

static void collect_event(zkl_lock_callback *callback) {
    zkl_lock_message *message = (zkl_lock_message *)callback;
    message->is_undone = message->is_undone || callback->all->closing;
}

static void call_state_callback(zkl_lock_callback *callback) {
    const zkl_lock_message *message = (const zkl_lock_message *)callback;
    if (!message->is_undone) {
        const zkl_lock_options *options = message->event.lock->origin->options;
        options->state_callback(options->state_arg, &message->event);
    }
}

static const zkl_lock_callback_kind event_callback_kind = { .collect = collect_event,
                                                            .call_application =
                                                                call_state_callback };

/* ---- Into the queue ----------------------------------------------------------------- */

static zkl_lock_message *of_same_grant(zkl_lock_callback *callback, const zkl_lock_event *event) {
    zkl_lock_message *message = (zkl_lock_message *)callback;
    bool waits = callback != NULL && callback->posted;
    return waits && message->is_of_connection && message->event.token == event->token &&
                   message->event.local_number == event->local_number
               ? message
               : NULL;
}

/* Tells whether an event of the connection needs no message: the last that waits says the same, or
 * both are void together. So while a callback takes its time, a connection that comes and goes
 * leaves at most two messages of a handle. */
static bool is_covered_by_what_waits(const zkl_lock_events *events, const zkl_lock_event *event) {
    zkl_lock_callback *first = events->owed.owed;
    zkl_lock_message *last = of_same_grant(first != NULL ? first->prev : NULL, event);
    if (last == NULL) {
        return false;
    }
    if (last->event.state == event->state) {
        last->is_undone = false;
        return true;
    }
    bool is_second = &last->callback != first && of_same_grant(last->callback.prev, event) != NULL;
    last->is_undone = last->is_undone || is_second;
    return last->is_undone;
}

void zkl_lock_events_post(const zkl_lock_event *event, zkl_lock_message **prepared) {
    zkl_lock *lock = event->lock;
    zkl_lock_message *message = NULL;
    bool is_of_connection =
        prepared == NULL && (event->state == ZKL_STATE_SUSPECT || event->state == ZKL_STATE_HELD);
    if (listener != NULL) {
        listener->on_event(lock, event->state, event->reason);
    }
    if (lock->origin->options->state_callback == NULL ||
        (is_of_connection && is_covered_by_what_waits(lock->events, event))) {
        return;
    }
    if (prepared != NULL) {
        message = *prepared;
        *prepared = NULL;
    }
    if (prepare_message(&message) == ZKL_OK) {
        message->event = *event;
        message->is_of_connection = is_of_connection;
        zkl_lock_callback_owe(&lock->events->owed, &message->callback, &event_callback_kind);
        zkl_lock_callback_post(&message->callback);
    }
}
