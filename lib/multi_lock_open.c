#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "input.h"
#include "metrics.h"
#include "multi_lock.h"
#include "threads.h"

/* ---- Input -------------------------------------------------------------------------------- */

static int check_member(const zkl_multi_lock_member *member) {
    int status = zkl_input_check_range("struct_size of a member", (int64_t)member->struct_size,
                                       sizeof(*member), sizeof(*member)); /* they are an array */
    if (status == ZKL_OK) {
        status = zkl_input_check_pointer("resource", member->resource);
    }
    if (status == ZKL_OK) {
        status = zkl_input_check_resource(member->resource);
    }
    if (status == ZKL_OK) {
        status = zkl_input_check_range("permits", member->permits, 0, ZKL_PERMITS_MAX);
    }
    return status == ZKL_OK ? zkl_input_check_mode(member->mode, (unsigned)member->permits)
                            : status;
}

static int check_members(const zkl_multi_lock_member *members, size_t count) {
    int status = zkl_input_check_pointer("members", members);
    if (status == ZKL_OK) {
        status = zkl_input_check_range("count", count > INT32_MAX ? INT32_MAX : (int64_t)count, 1,
                                       ZKL_MULTI_LOCK_MEMBERS_MAX);
    }
    for (size_t i = 0; status == ZKL_OK && i < count; i++) {
        status = check_member(&members[i]);
    }
    return status;
}

static int check_options(const zkl_multi_lock_options *options) {
    int status = zkl_input_check_range("max_hold_ms", options->max_hold_ms, 0, INT64_MAX);
    if (status == ZKL_OK) {
        status =
            zkl_input_check_range("fail_on_session_expiry", options->fail_on_session_expiry, 0, 1);
    }
    if (status == ZKL_OK) {
        status = zkl_input_check_range("reserved", options->reserved, 0, 0);
    }
    if (status == ZKL_OK && options->resource_class != NULL) {
        status = zkl_input_check_resource_class(options->resource_class);
    }
    if (status == ZKL_OK && options->owner != NULL) {
        status = zkl_input_check_owner(options->owner);
    }
    return status;
}

static int check_input(zkl_client *client, const zkl_multi_lock_member *members, size_t count,
                       const zkl_multi_lock_options *given, zkl_multi_lock_options *options) {
    int status = zkl_handle_check("client", client);
    if (status == ZKL_OK) {
        status = zkl_input_read_options("zkl_multi_lock_options", given, options, sizeof(*options));
    }
    if (status == ZKL_OK) {
        status = check_options(options);
    }
    if (status == ZKL_OK) {
        status = check_members(members, count);
    }
    return status;
}

/* ---- Opening and closing ------------------------------------------------------------------ */

static void free_multi_lock(zkl_multi_lock *self) {
    for (size_t i = 0; i < self->count; i++) {
        free(self->members[i].resource);
        free(self->members[i].path);
    }
    zkl_condition_end(&self->changed);
    free(self->last_news);
    free(self->why);
    free(self);
}

static bool fill_member(zkl_multi_lock *self, multi_member *member,
                        const zkl_multi_lock_member *given) {
    char path[ZKL_PARENT_PATH_SIZE];
    zkl_client_resource_path(self->client, given->resource, path);
    member->multi_lock = self;
    member->resource = strdup(given->resource);
    member->path = strdup(path);
    member->kind = (zkl_contender_kind){ given->mode, (unsigned)given->permits };
    return member->resource != NULL && member->path != NULL;
}

/* By their paths: an absolute name and a relative one may be the same resource. */
static int check_duplicates(const zkl_multi_lock *self) {
    for (size_t i = 1; i < self->count; i++) {
        for (size_t k = 0; k < i; k++) {
            if (strcmp(self->members[i].path, self->members[k].path) == 0) {
                return zkl_input_refuse("resource", self->members[i].resource,
                                        "is named twice: a multi-lock would wait for itself");
            }
        }
    }
    return ZKL_OK;
}

static int make(zkl_client *client, const zkl_multi_lock_member *members, size_t count,
                const zkl_multi_lock_options *options, zkl_multi_lock **result) {
    zkl_multi_lock *self = calloc(1, sizeof(*self) + count * sizeof(self->members[0]));
    if (self == NULL) {
        return ZKL_NO_MEMORY;
    }
    self->client = client;
    self->count = count;
    self->fail_on_session_expiry = options->fail_on_session_expiry != 0;
    self->max_hold_ms = options->max_hold_ms;
    zkl_condition_begin(&self->changed);
    int status = ZKL_OK;
    for (size_t i = 0; i < count && status == ZKL_OK; i++) {
        status = fill_member(self, &self->members[i], &members[i]) ? ZKL_OK : ZKL_NO_MEMORY;
    }
    if (status == ZKL_OK) {
        status = check_duplicates(self);
    }
    if (status != ZKL_OK) {
        free_multi_lock(self);
        return status;
    }
    *result = self;
    return ZKL_OK;
}

static int open_teller(zkl_multi_lock *self, const zkl_multi_lock_options *options) {
    zkl_lock_audience audience = { .multi_lock = self,
                                   .multi_lock_callback = options->state_callback,
                                   .arg = options->state_arg };
    return zkl_lock_teller_open(self->client, &audience, &self->teller);
}

/* The handle keeps the client's memory from here on. */
static int attach(zkl_multi_lock *self, const zkl_multi_lock_options *options) {
    zkl_client *client = self->client;
    pthread_mutex_lock(&client->mutex);
    int status = client->closed ? ZKL_CLOSED : ZKL_OK;
    if (status == ZKL_OK && options->state_callback != NULL) {
        status = open_teller(self, options);
    }
    if (status == ZKL_OK) {
        const char *class = options->resource_class;
        self->metrics = zkl_metrics_class(client->metrics, class != NULL ? class : "");
        self->id = ++client->last_lock_id;
        self->has_owner = options->owner != NULL;
        snprintf(self->owner_text, sizeof(self->owner_text), "%s",
                 self->has_owner ? options->owner : "");
        DL_APPEND(client->multi_locks, self);
        zkl_client_keep(client);
    }
    pthread_mutex_unlock(&client->mutex);
    return status;
}

int zkl_multi_lock_open(zkl_client *client, const zkl_multi_lock_member *members, size_t count,
                        const zkl_multi_lock_options *given, zkl_multi_lock **result) {
    ZKL_NOT_CANCELLED;
    zkl_input_clear();
    zkl_multi_lock_options options = ZKL_MULTI_LOCK_OPTIONS_INIT;
    int status = zkl_input_check_pointer("multi_lock", result);
    if (status != ZKL_OK) {
        return status;
    }
    *result = NULL;
    zkl_multi_lock *self = NULL;
    status = check_input(client, members, count, given, &options);
    if (status == ZKL_OK) {
        status = make(client, members, count, &options, &self);
    }
    if (status != ZKL_OK) {
        return status;
    }
    status = attach(self, &options);
    if (status != ZKL_OK) {
        free_multi_lock(self);
        return status;
    }
    zkl_handle_open(&self->open);
    *result = self;
    return ZKL_OK;
}

void zkl_multi_lock_close(zkl_multi_lock *self) {
    ZKL_NOT_CANCELLED;
    if (!zkl_handle_is_ours(self)) {
        return;
    }
    zkl_client *client = self->client;
    pthread_mutex_lock(&client->mutex);
    self->closing = true;
    zkl_multi_lock_call_off(self);
    zkl_condition_broadcast(&self->changed);
    zkl_completions_let_close(self->completions);
    while (self->threads > 0) {
        zkl_condition_wait(&self->changed, &client->mutex, INT64_MAX);
    }
    zkl_completions_leave(self->completions);
    zkl_multi_lock_leave_all(self);
    DL_DELETE(client->multi_locks, self);
    pthread_mutex_unlock(&client->mutex);
    zkl_lock_teller_close(self->teller);
    zkl_handle_close(&self->open);
    free_multi_lock(self);
    zkl_client_drop(client);
}
