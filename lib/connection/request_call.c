#include "connection/request_call.h"

#include <stdlib.h>
#include <string.h>

#include "connection/access_list.h"
#include "connection/broken_replies.h"
#include "connection/return_codes.h"

/* ---- Replies -------------------------------------------------------------- */

static void answer(const void *data, const zkl_reply *reply) {
    zkl_request_call *request = (zkl_request_call *)data;
    request->answer(request, reply);
}

/* A parent that exists is as good as one that was made. */
static zkl_reply reply_of(int rc, const void *data) {
    const zkl_request_call *request = data;
    bool is_done = request->kind == ZKL_OPERATION_CREATE_PARENT && rc == ZNODEEXISTS;
    return zkl_reply_of_code(is_done ? ZOK : rc);
}

static zkl_reply reply_where(bool is_whole, int rc, const void *data) {
    if (rc == ZOK && !is_whole) {
        return (zkl_reply){ .outcome = ZKL_OUTCOME_UNKNOWN };
    }
    return reply_of(rc, data);
}

static void on_created(int rc, const char *path, const struct Stat *stat, const void *data) {
    bool is_whole = zkl_path_is_whole(path);
    zkl_reply reply = reply_where(is_whole, rc, data);
    reply.path = is_whole ? path : NULL;
    reply.zxid = rc == ZOK && stat != NULL ? stat->czxid : 0;
    answer(data, &reply);
}

static void on_listed(int rc, const struct String_vector *names, const void *data) {
    bool is_whole = zkl_names_are_whole(names);
    zkl_reply reply = reply_where(is_whole, rc, data);
    if (rc == ZOK && is_whole) {
        reply.children = (zkl_children){ (const char *const *)names->data, (size_t)names->count };
    }
    answer(data, &reply);
}

/* No value, or one of length -1: the node was made without data. How many bytes there are only
 * `value_length` says: the Stat says what the server pleases. */
static size_t length_of(const void *data, const char *value, int value_length,
                        const struct Stat *stat) {
    bool has_value = ((const zkl_request_call *)data)->kind == ZKL_OPERATION_GET;
    int length = has_value && value == NULL ? 0 : has_value ? value_length : stat->dataLength;
    return length > 0 ? (size_t)length : 0;
}

static void on_got(int rc, const char *value, int value_length, const struct Stat *stat,
                   const void *data) {
    zkl_reply reply = reply_of(rc, data);
    if (rc == ZOK && stat != NULL) {
        reply.zxid = stat->czxid;
        reply.ephemeral_owner = stat->ephemeralOwner;
        reply.version = stat->version;
        reply.made_ms = stat->ctime;
        reply.changed_ms = stat->mtime;
        reply.children_zxid = stat->pzxid;
        reply.child_count = stat->numChildren;
        reply.data_length = length_of(data, value, value_length, stat);
        reply.data = value_length > 0 ? value : NULL;
    }
    answer(data, &reply);
}

/* Of a set as well. */
static void on_exists(int rc, const struct Stat *stat, const void *data) {
    on_got(rc, NULL, 0, stat, data);
}

static void on_got_acl(int rc, struct ACL_vector *acl, struct Stat *stat, const void *data) {
    bool is_whole = zkl_acl_is_whole(acl);
    zkl_reply reply = reply_where(is_whole, rc, data);
    char *text = rc == ZOK && is_whole ? zkl_access_list_write(acl) : NULL;
    (void)stat;
    if (text != NULL) {
        reply.data = text;
        reply.data_length = strlen(text);
    } else if (rc == ZOK && is_whole) {
        reply.outcome = ZKL_OUTCOME_NOT_NOW; /* out of memory */
    }
    answer(data, &reply);
    free(text);
}

static void on_done(int rc, const void *data) {
    zkl_reply reply = reply_of(rc, data);
    answer(data, &reply);
}

/* ---- Transactions -------------------------------------------------------- */

static void on_transacted(int rc, const void *data) {
    zkl_reply reply = zkl_multi_call_reply(((const zkl_request_call *)data)->multi, rc);
    answer(data, &reply);
}

/* What it asks for has been written into the request when it returns. */
static int call_multi(zhandle_t *handle, const zkl_operation *operation,
                      zkl_request_call *request) {
    zkl_access_list access;
    zkl_multi_call *all =
        zkl_multi_call_make(operation, zkl_access_list_read(operation->acl, &access));
    request->multi = all;
    if (all == NULL) {
        return ZSYSTEMERROR;
    }
    return zoo_amulti(handle, (int)all->count, all->prepared, all->results, on_transacted, request);
}

/* ---- Calls ---------------------------------------------------------------- */

static ZooWatcherType type_of(zkl_watch_kind kind) {
    return kind == ZKL_WATCH_CHILDREN ? ZWATCHTYPE_CHILD : ZWATCHTYPE_DATA;
}

/* No other call does that (lz-local-removal), and this one asks nobody and waits for nothing. */
void zkl_call_forget_watches(zhandle_t *handle, const char *path, zkl_watch_kind kind) {
    (void)zoo_remove_all_watches(handle, path, type_of(kind), 1);
}

/* Declared as taking a pointer to the function pointer, but takes the function. */
static int call_remove_watches(zhandle_t *handle, const zkl_operation *operation,
                               zkl_request_call *request) {
    union {
        void_completion_t function;
        void_completion_t *as_declared;
    } completion = { .function = on_done };
    return zoo_aremove_all_watches(handle, operation->path, type_of(operation->watch_kind), 0,
                                   completion.as_declared, request);
}

/* The context of a watch is a number, not a pointer: libzookeeper may still have one to deliver
 * when its waiter has long gone (lz-late-watch). */
int zkl_call(zhandle_t *handle, const zkl_operation *operation, zkl_request_call *request) {
    const char *path = operation->path;
    const char *data = operation->data;
    zkl_access_list access;
    watcher_fn watcher = operation->watch_id != 0 ? request->watcher : NULL;
    void *context = (void *)(uintptr_t)operation->watch_id;
    switch (operation->kind) {
    case ZKL_OPERATION_CREATE:
        return zoo_acreate2(handle, path, data, (int)strlen(data),
                            zkl_access_list_read(operation->acl, &access),
                            ZOO_EPHEMERAL | ZOO_SEQUENCE, on_created, request);
    case ZKL_OPERATION_CREATE_PARENT:
        return zoo_acreate2(handle, path, NULL, -1, zkl_access_list_read(operation->acl, &access),
                            operation->container ? ZOO_CONTAINER : ZOO_PERSISTENT, on_created,
                            request);
    case ZKL_OPERATION_LIST_CHILDREN:
        return zoo_awget_children(handle, path, watcher, context, on_listed, request);
    case ZKL_OPERATION_EXISTS:
    case ZKL_OPERATION_WATCH:
        return zoo_awexists(handle, path, watcher, context, on_exists, request);
    case ZKL_OPERATION_DELETE:
        return zoo_adelete(handle, path, -1, on_done, request);
    case ZKL_OPERATION_REMOVE_WATCHES:
        return call_remove_watches(handle, operation, request);
    case ZKL_OPERATION_TRANSACTION:
        return call_multi(handle, operation, request);
    case ZKL_OPERATION_GET:
        return zoo_aget(handle, path, 0, on_got, request);
    case ZKL_OPERATION_SET:
        return zoo_aset(handle, path, data, (int)strlen(data), operation->version, on_exists,
                        request);
    case ZKL_OPERATION_GET_ACL:
        return zoo_aget_acl(handle, path, on_got_acl, request);
    case ZKL_OPERATION_SET_ACL:
        (void)zkl_access_list_read(operation->acl, &access);
        return zoo_aset_acl(handle, path, operation->version, &access.all, on_done, request);
    case ZKL_OPERATION_KINDS:
        break;
    }
    return ZBADARGUMENTS;
}

void zkl_call_free(zkl_request_call *request) {
    free(request->multi);
    free(request);
}
