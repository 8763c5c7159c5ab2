/* What a connection tells about its session. The record of a client contains it too. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef enum zkl_session_state {
    ZKL_SESSION_STATE_CONNECTING,
    ZKL_SESSION_STATE_CONNECTED,
    ZKL_SESSION_STATE_EXPIRED,    /* the connection is finished: close it, open another */
    ZKL_SESSION_STATE_AUTH_FAILED /* the same, but another would fare no better */
} zkl_session_state;

typedef struct zkl_session_news {
    zkl_session_state state;
    int64_t session_id; /* CONNECTED */
    int32_t timeout_ms; /* CONNECTED: as negotiated */
    bool unsupported;   /* CONNECTED: the servers are not Apache ZooKeeper */
    bool renewed;       /* CONNECTING, on another handle, which may find a server that lags */
} zkl_session_news;
