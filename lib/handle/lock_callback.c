#include "handle/lock_callback.h"

#include <stdlib.h>

#include <utlist.h>

#include "base/threads.h"

/* ---- Threads that wait ------------------------------------------------------------ */

struct zkl_lock_wait {
    pthread_cond_t over;
    struct zkl_lock_wait *next;
};

void zkl_lock_callbacks_wait(zkl_lock_callbacks *all) {
    struct zkl_lock_wait wait;
    zkl_condition_begin(&wait.over);
    LL_PREPEND(all->waits, &wait);
    (void)zkl_condition_wait(&wait.over, &all->client->mutex, INT64_MAX);
    LL_DELETE(all->waits, &wait);
    zkl_condition_end(&wait.over);
}

void zkl_lock_callbacks_wake(const zkl_lock_callbacks *all) {
    for (struct zkl_lock_wait *wait = all->waits; wait != NULL; wait = wait->next) {
        zkl_condition_broadcast(&wait->over);
    }
}

void zkl_lock_callbacks_leave(zkl_lock_callbacks *all) {
    all->inside--;
    if (all->closing) {
        zkl_lock_callbacks_wake(all);
    }
}

/* ---- One of them ------------------------------------------------------------------ */

void zkl_lock_callback_forget(zkl_lock_callback *self) {
    DL_DELETE(self->all->owed, self);
    self->all = NULL;
}

static void begin_running(zkl_lock_callback *self) {
    self->kind->collect(self);
    self->all->running = self;
    self->all->runs_on = zkl_thread_number();
    self->all->inside++;
}

static void end_running(zkl_lock_callback *self) {
    zkl_lock_callbacks *all = self->all;
    all->running = NULL;
    if (!self->kind->stays || all->closing) {
        zkl_lock_callback_forget(self);
    }
    zkl_lock_callbacks_leave(all);
}

static void run_queued(zkl_callback *queued) {
    zkl_lock_callback *self = (zkl_lock_callback *)queued;
    zkl_client *client = self->client;
    pthread_mutex_lock(&client->mutex);
    self->posted = false;
    if (self->all != NULL) {
        begin_running(self);
    }
    pthread_mutex_unlock(&client->mutex);
    self->kind->call_application(self);
    pthread_mutex_lock(&client->mutex);
    if (self->all != NULL) {
        end_running(self);
    }
    bool is_over = self->all == NULL && !self->posted;
    pthread_mutex_unlock(&client->mutex);
    if (is_over) {
        free(self);
    }
}

void zkl_lock_callback_owe(zkl_lock_callbacks *all, zkl_lock_callback *self,
                           const zkl_lock_callback_kind *kind) {
    self->queued.run = run_queued;
    self->kind = kind;
    self->client = all->client;
    self->all = all;
    DL_APPEND(all->owed, self);
}

void zkl_lock_callback_post(zkl_lock_callback *self) {
    if (!self->posted) {
        self->posted = true;
        (void)zkl_callback_queue_post(self->client->callbacks, &self->queued, SIZE_MAX);
    }
}

/* ---- The end of the handle -------------------------------------------------------- */

void zkl_lock_callbacks_close(zkl_lock_callbacks *all) {
    all->closing = true;
    zkl_lock_callbacks_wake(all);
    if (all->running != NULL && all->runs_on == zkl_thread_number()) {
        end_running(all->running); /* it closes its own handle, and is not waited for */
    }
    while (all->inside > 0) {
        zkl_lock_callbacks_wait(all);
    }
    for (zkl_lock_callback *one = all->owed, *next; one != NULL; one = next) {
        next = one->next;
        one->kind->collect(one);
        zkl_lock_callback_forget(one);
        if (!one->posted) {
            free(one);
        }
    }
}
