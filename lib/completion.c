#include "completion.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "callback_queue.h"
#include "input.h"
#include "threads.h"

/* The handle explains itself in the thread's message, which may be that of a thread that closes it.
 * Without memory there is none. */
static void settle(zkl_completion *self) {
    char before[ZKL_MESSAGE_SIZE];
    if (self->is_settled) {
        return;
    }
    snprintf(before, sizeof(before), "%s", zkl_input_message());
    zkl_input_clear();
    self->is_settled = true;
    self->kind->settle(self);
    self->message = zkl_input_message()[0] != '\0' ? strdup(zkl_input_message()) : NULL;
    zkl_input_set(before);
}

/* ---- The callback ----------------------------------------------------------------- */

static void begin_callback(zkl_completion *self) {
    settle(self);
    self->runs_on = zkl_thread_number();
    self->kind->enter(self->handle);
}

static void forget_handle(zkl_completion *self) {
    DL_DELETE(*self->all, self);
    self->handle = NULL;
}

static void end_callback(zkl_completion *self) {
    void *handle = self->handle;
    forget_handle(self);
    self->kind->leave(handle);
}

static void deliver(zkl_callback *callback) {
    zkl_completion *self = (zkl_completion *)callback;
    zkl_client *client = self->client;
    pthread_mutex_lock(&client->mutex);
    if (self->handle != NULL) {
        begin_callback(self);
    }
    zkl_input_set(self->message);
    if (self->status == ZKL_LEASE_IMPOSSIBLE) {
        zkl_client_note_lease_impossible(client);
    }
    pthread_mutex_unlock(&client->mutex);
    self->kind->tell(self);
    pthread_mutex_lock(&client->mutex);
    if (self->handle != NULL) {
        end_callback(self);
    }
    pthread_mutex_unlock(&client->mutex);
    free(self->message);
    free(self);
}

void zkl_completion_post(zkl_completion *self) {
    if (!self->posted) {
        self->posted = true;
        zkl_callback_queue_post(self->client->callbacks, &self->callback);
    }
}

/* ---- Beginning and end ------------------------------------------------------------ */

int zkl_completion_make(zkl_client *client, void *handle, zkl_completion **all,
                        const zkl_completion_kind *kind, size_t size, zkl_completion **result) {
    if (client->closed) {
        return ZKL_CLOSED; /* its queue may be no more */
    }
    if (zkl_client_callbacks(client) == NULL) {
        return ZKL_SYSTEM;
    }
    zkl_completion *self = calloc(1, size);
    if (self == NULL) {
        return ZKL_NO_MEMORY;
    }
    self->callback.run = deliver;
    self->kind = kind;
    self->client = client;
    self->handle = handle;
    self->all = all;
    DL_APPEND(*all, self);
    *result = self;
    return ZKL_OK;
}

void zkl_completion_unmake(zkl_completion *self) {
    forget_handle(self);
    free(self);
}

void zkl_completions_let_close(zkl_completion *all) {
    for (zkl_completion *self = all, *next; self != NULL; self = next) {
        next = self->next;
        if (self->runs_on == zkl_thread_number()) {
            end_callback(self);
        }
    }
}

void zkl_completions_leave(zkl_completion *all) {
    for (zkl_completion *self = all, *next; self != NULL; self = next) {
        next = self->next;
        settle(self);
        zkl_completion_post(self);
        forget_handle(self);
    }
}
