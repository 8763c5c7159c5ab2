/* Opening and closing a lock handle. */
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "base/acl_text.h"
#include "base/error_message.h"
#include "base/threads.h"
#include "base/validation.h"
#include "handle/call.h"
#include "handle/lender.h"
#include "handle/loan.h"
#include "telemetry/metrics.h"

/* ---- Input -------------------------------------------------------------------------------- */

/* Checks the options of lending. A node that is lent is one for all handles, so it cannot be what
 * single ones want. */
static int check_lending(const zkl_lock_options *options, const zkl_lending *lending) {
    ZKL_TRY(zkl_validate_range("hand_offs", lending->hand_offs, 0, ZKL_HAND_OFFS_MAX));
    ZKL_TRY(zkl_validate_range("hand_off_ms", lending->hand_off_ms, 0, INT64_MAX));
    ZKL_TRY(zkl_validate_range("retain_ms", lending->retain_ms, 0, INT64_MAX));
    if (options->permits != 0 || options->max_waiting != 0 || options->note != NULL) {
        return zkl_refuse("option", "lending", "does not go with permits, max_waiting or note");
    }
    if (lending->hand_offs == 0 && lending->retain_ms == 0) {
        return zkl_refuse("option", "lending", "needs hand_offs or retain_ms");
    }
    return ZKL_OK;
}

/* Refuses another naming for permits: no other library shares these with us. */
static int check_naming(zkl_naming naming, int32_t permits) {
    return naming == ZKL_NAMING_CURATOR || permits == 0
               ? ZKL_OK
               : zkl_refuse("option", "naming", "does not go with permits");
}

static int check_lock_options(const zkl_lock_options *options) {
    ZKL_TRY(zkl_validate_range("fail_on_session_expiry", options->fail_on_session_expiry, 0, 1));
    ZKL_TRY(zkl_validate_range("reentrant", options->reentrant, 0, 1));
    ZKL_TRY(zkl_validate_range("max_hold_ms", options->max_hold_ms, 0, INT64_MAX));
    ZKL_TRY(zkl_validate_range("permits", options->permits, 0, ZKL_PERMITS_MAX));
    ZKL_TRY(zkl_validate_range("max_waiting", options->max_waiting, 0, ZKL_WAITING_MAX));
    ZKL_TRY(zkl_validate_range("tell_contended", options->tell_contended, 0, 1));
    ZKL_TRY(zkl_validate_range("tell_granted", options->tell_granted, 0, 1));
    ZKL_TRY(zkl_validate_range("revocable", options->revocable, 0, 1));
    ZKL_TRY(zkl_validate_range("naming", options->naming, 0, ZKL_NAMING_LEADER_LATCH));
    ZKL_TRY(check_naming(options->naming, options->permits));
    if (options->revocable != 0 && options->naming == ZKL_NAMING_LEADER_LATCH) {
        return zkl_refuse("option", "naming",
                          "is that of LeaderLatch, which does not go with revocable: a latch that "
                          "waits would miss the release of a holder that was asked");
    }
    if (options->state_callback == NULL &&
        options->tell_contended + options->tell_granted + options->revocable > 0) {
        return zkl_refuse(options->tell_contended != 0 ? "tell_contended"
                          : options->tell_granted != 0 ? "tell_granted"
                                                       : "revocable",
                          "1", "needs a state_callback, which is told");
    }
    ZKL_TRY(zkl_validate_resource_class(options->resource_class));
    ZKL_TRY(zkl_validate_text("owner", options->owner, ZKL_OWNER_MAX));
    ZKL_TRY(zkl_acl_validate("node_acl", options->node_acl));
    ZKL_TRY(zkl_acl_validate("parent_acl", options->parent_acl));
    return zkl_validate_text("note", options->note, ZKL_NOTE_MAX);
}

/* What the application asks for, in the structs of this version. */
typedef struct given_options {
    zkl_lock_options options;
    zkl_lending lending; /* of the options, which point to it, or to none */
} given_options;

static int read_lock_options(const zkl_lock_options *given, given_options *its) {
    zkl_lock_options *options = &its->options;
    *its = (given_options){ .options = ZKL_LOCK_OPTIONS_INIT, .lending = ZKL_LENDING_INIT };
    ZKL_TRY(zkl_struct_read("zkl_lock_options", given, options, sizeof(*options)));
    ZKL_TRY(check_lock_options(options));
    if (options->lending == NULL) {
        return ZKL_OK;
    }
    ZKL_TRY(zkl_struct_read("zkl_lending", options->lending, &its->lending, sizeof(its->lending)));
    options->lending = &its->lending;
    return check_lending(options, &its->lending);
}

static int check_member(const zkl_lock_member *member, zkl_naming naming) {
    ZKL_TRY(zkl_validate_resource(member->resource));
    ZKL_TRY(zkl_validate_range("permits", member->permits, 0, ZKL_PERMITS_MAX));
    ZKL_TRY(check_naming(naming, member->permits));
    return zkl_validate_mode(member->mode,
                             member->permits > 0 || naming == ZKL_NAMING_LEADER_LATCH);
}

/* Reads the members. Those of an earlier version are smaller, so struct_size is the distance
 * between them. */
static int read_members(const zkl_lock_member *given, size_t count, zkl_naming naming,
                        zkl_lock_member members[ZKL_LOCK_MEMBERS_MAX]) {
    ZKL_TRY(zkl_validate_pointer("members", given));
    ZKL_TRY(zkl_validate_range("count", count > INT32_MAX ? INT32_MAX : (int64_t)count, 1,
                               ZKL_LOCK_MEMBERS_MAX));
    for (size_t i = 0; i < count; i++) {
        members[i] = (zkl_lock_member)ZKL_LOCK_MEMBER_INIT;
        ZKL_TRY(zkl_struct_read("zkl_lock_member", (const char *)given + i * given->struct_size,
                                &members[i], sizeof(members[i])));
        ZKL_TRY(check_member(&members[i], naming));
    }
    return ZKL_OK;
}

/* ---- Opening ------------------------------------------------------------------------------ */

static void free_lock(zkl_lock *lock) {
    if (lock->events != NULL) {
        free(lock->events->for_grant);
        free(lock->events->for_loss);
        free(lock->events);
    }
    free(lock->attempt.why);
    zkl_request_origin_drop(lock->origin);
    free(lock);
}

/* Writes the path of a resource, and returns its size. NULL: it is not written. */
static size_t write_path(const zkl_client *client, const zkl_lock_member *given, char *to) {
    char path[ZKL_PARENT_PATH_SIZE];
    zkl_client_resource_path(client, given->resource, path);
    size_t size = strlen(path) + 1;
    if (to != NULL) {
        memcpy(to, path, size);
    }
    return size;
}

static void fill_members(zkl_lock *lock, const zkl_lock_member *given) {
    char *path = lock->origin->paths;
    for (size_t i = 0; i < lock->count; i++) {
        size_t size = write_path(lock->client, &given[i], path);
        lock->members[i] = (lock_member){ .lock = lock,
                                          .resource = path + size - 1 - strlen(given[i].resource),
                                          .path = path,
                                          .mode = given[i].mode,
                                          .permits = (unsigned)given[i].permits };
        path += size;
    }
}

/* Compares paths, because an absolute and a relative name may be the same resource. */
static int check_duplicates(const zkl_lock *lock) {
    for (size_t i = 1; i < lock->count; i++) {
        for (size_t k = 0; k < i; k++) {
            if (strcmp(lock->members[i].path, lock->members[k].path) == 0) {
                return zkl_refuse("resource", lock->members[i].resource,
                                  "is named twice: a set would wait for itself");
            }
        }
    }
    return ZKL_OK;
}

/* Returns the handle's own copy of the options. Most handles were given none, and have the
 * client's. The pool notes a lack of memory. */
static const zkl_lock_options *keep_options(zkl_lock *lock, const zkl_lock_options *options) {
    const zkl_lock_options *defaults = &lock->client->lock_defaults;
    if (options == NULL) {
        return defaults;
    }
    zkl_pool *texts = &lock->origin->texts;
    zkl_lock_options *own = zkl_pool_copy(texts, options, sizeof(*options));
    if (own == NULL) {
        return defaults;
    }
    own->resource_class = NULL;
    if (options->lending != NULL) {
        own->lending = zkl_pool_copy(texts, options->lending, sizeof(*options->lending));
    }
    own->owner = zkl_pool_copy_text(texts, options->owner);
    own->note = zkl_pool_copy_text(texts, options->note);
    own->node_acl = options->node_acl != NULL ? zkl_pool_copy_text(texts, options->node_acl)
                                              : defaults->node_acl;
    own->parent_acl = options->parent_acl != NULL ? zkl_pool_copy_text(texts, options->parent_acl)
                                                  : defaults->parent_acl;
    return own;
}

static int make_events(zkl_lock *lock) {
    if (lock->origin->options->state_callback == NULL) {
        return ZKL_OK;
    }
    lock->events = calloc(1, sizeof(*lock->events));
    ZKL_TRY(zkl_made(lock->events));
    lock->events->owed.client = lock->client;
    return ZKL_OK;
}

static int fill(zkl_lock *lock, const zkl_lock_member *members, const zkl_lock_options *options) {
    zkl_pool *texts = &lock->origin->texts;
    lock->origin->options = keep_options(lock, options);
    fill_members(lock, members);
    if (lock->count > 1) {
        lock->attempt.several = zkl_pool_take(texts, sizeof(*lock->attempt.several));
    } else if (lock->origin->options->lending != NULL) {
        lock->borrower = zkl_pool_take(texts, sizeof(*lock->borrower));
    }
    ZKL_TRY(zkl_pool_status(texts));
    ZKL_TRY(make_events(lock));
    return check_duplicates(lock);
}

/* Attaches the handle to its client, whose memory it keeps from here on. */
static int attach(zkl_lock *lock, const char *resource_class) {
    zkl_client *client = lock->client;
    ZKL_WITH_MUTEX(&client->mutex);
    if (client->closed) {
        return ZKL_CLOSED;
    }
    if (lock->origin->options->state_callback != NULL) {
        ZKL_TRY(zkl_client_need_callbacks(client));
    }
    ZKL_TRY(lock->borrower != NULL ? zkl_lender_find(lock) : ZKL_OK);
    lock->origin->metrics =
        zkl_metrics_class(client->metrics, resource_class != NULL ? resource_class : "");
    lock->origin->handle = ++client->last_lock_id;
    client->handle_closes = zkl_lock_client_closes;
    DL_APPEND(client->close_listeners, &lock->close_listener);
    zkl_client_keep(client);
    return ZKL_OK;
}

static int make_lock(zkl_client *client, const zkl_lock_member *members, size_t count, bool is_set,
                     const zkl_lock_options *options, zkl_lock **result) {
    zkl_lock *lock = calloc(1, sizeof(*lock) + count * sizeof(lock->members[0]));
    ZKL_TRY(zkl_made(lock));
    lock->client = lock->calls.client = client;
    lock->count = (unsigned)count;
    lock->is_set = is_set;
    lock->source = &zkl_lock_requests;
    size_t room = 0;
    for (size_t i = 0; i < count; i++) {
        room += write_path(client, &members[i], NULL);
    }
    lock->origin = zkl_request_origin_make(room);
    int status = zkl_made(lock->origin);
    if (status == ZKL_OK) {
        status = fill(lock, members, options);
    }
    if (status == ZKL_OK) {
        status = attach(lock, options != NULL ? options->resource_class : NULL);
    }
    if (status != ZKL_OK) {
        free_lock(lock);
        return status;
    }
    zkl_handle_open("lock", &lock->open);
    lock->origin->process = lock->open.process;
    *result = lock;
    return ZKL_OK;
}

/* Checks what both functions check first. */
static int begin_opening(zkl_client *client, const zkl_lock_options *given, given_options *its,
                         zkl_lock **result) {
    ZKL_TRY(zkl_validate_pointer("lock", result));
    *result = NULL;
    ZKL_TRY(zkl_handle_check("client", client));
    return read_lock_options(given, its);
}

int zkl_lock_open(zkl_client *client, const char *resource, const zkl_lock_options *given,
                  zkl_lock **result) {
    ZKL_BEGIN_CALL;
    given_options its;
    zkl_lock_member member = ZKL_LOCK_MEMBER_INIT;
    ZKL_TRY(begin_opening(client, given, &its, result));
    ZKL_TRY(zkl_validate_resource(resource));
    if (its.lending.retain_ms != 0 && client->options.lease_tick_ms == 0) {
        return zkl_refuse("option", "retain_ms", "needs a client with lease_tick_ms");
    }
    member.resource = resource;
    member.permits = its.options.permits;
    return make_lock(client, &member, 1, false, given != NULL ? &its.options : NULL, result);
}

int zkl_lock_open_set(zkl_client *client, const zkl_lock_member *given_members, size_t count,
                      const zkl_lock_options *given, zkl_lock **result) {
    ZKL_BEGIN_CALL;
    given_options its;
    zkl_lock_member members[ZKL_LOCK_MEMBERS_MAX] = { 0 };
    ZKL_TRY(begin_opening(client, given, &its, result));
    if (its.options.permits != 0 || its.options.max_waiting != 0) {
        return zkl_refuse("option", "permits or max_waiting",
                          "is not for a set: each member has its permits");
    }
    if (its.options.lending != NULL) {
        return zkl_refuse("option", "lending", "is not for a set");
    }
    ZKL_TRY(read_members(given_members, count, its.options.naming, members));
    return make_lock(client, members, count, true, given != NULL ? &its.options : NULL, result);
}

/* ---- Closing ------------------------------------------------------------------------------ */

/* Releases the lock before it waits for a state callback that runs. */
void zkl_lock_close(zkl_lock *lock) {
    ZKL_NOT_CANCELLED;
    if (!zkl_handle_is_ours("lock", lock)) {
        return;
    }
    zkl_client *client = lock->client;
    pthread_mutex_lock(&client->mutex);
    lock->calls.closing = true;
    zkl_lock_call_off(lock);
    zkl_lock_callbacks_close(&lock->calls);
    zkl_lock_give_up(lock);
    if (lock->events != NULL) {
        zkl_lock_callbacks_close(&lock->events->owed);
    }
    DL_DELETE(client->close_listeners, &lock->close_listener);
    zkl_loan_close_handle(lock);
    zkl_request_origin_drop(lock->origin); /* its requests may keep it */
    lock->origin = NULL;
    pthread_mutex_unlock(&client->mutex);
    zkl_handle_close(&lock->open);
    free_lock(lock);
    zkl_client_drop(client);
}
