/* How a handle of libzookeeper is opened, whichever way its connections go. */
#pragma once

#include <zookeeper/zookeeper.h>

#include "connection/operations.h"

/** What zookeeper_init2 takes. */
typedef struct zkl_transport_call {
    const char *addresses;
    watcher_fn watcher;
    int32_t timeout_ms;
    const clientid_t *session; /* NULL: a new one */
    void *context;
    log_callback_fn log;
} zkl_transport_call;
