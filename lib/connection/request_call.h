/* An operation as a call of libzookeeper, and libzookeeper's answer as a reply. */
#pragma once

#include <zookeeper/zookeeper.h>

#include "connection/multi_call.h"
#include "connection/operations.h"

typedef struct zkl_request_call zkl_request_call;

/** A request on its way. */
struct zkl_request_call {
    void *owner;
    void (*answer)(zkl_request_call *self, const zkl_reply *reply); /* the owner's */
    zkl_operation_kind kind;
    watcher_fn watcher; /* gets the events of the operation's watch */
    zkl_reply_callback *done;
    void *arg;
    zkl_multi_call *multi; /* NULL: it is no transaction */
    zkl_request_call *prev, *next;
};

/** Calls libzookeeper, and returns what that returns. ZOK: `answer` will be called, once, unless
 * the handle is closed before. */
int zkl_call(zhandle_t *handle, const zkl_operation *operation, zkl_request_call *request);

/** Has the handle forget its watches of a node. Asks no server. */
void zkl_call_forget_watches(zhandle_t *handle, const char *path, zkl_watch_kind kind);

/** Frees a request that was answered, or not sent. */
void zkl_call_free(zkl_request_call *request);
