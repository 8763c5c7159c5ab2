/*
 * All that the protocol needs of the world, as one table: requests to
 * ZooKeeper, a clock, random numbers, and a wake-up for timers. The library
 * runs on connection_libzookeeper.c; a simulated ensemble can take its place
 * under the same code.
 */
#ifndef ZKLOCK_ZOOKEEPER_OPERATIONS_H
#define ZKLOCK_ZOOKEEPER_OPERATIONS_H

#include "recipe/request.h"

/** What a transaction can do; ZooKeeper's multi. */
typedef enum zkl_multi_kind {
    ZKL_MULTI_CHECK, /* that the node is there, and of that version */
    ZKL_MULTI_CREATE_PERSISTENT,
    ZKL_MULTI_CREATE_PERSISTENT_SEQUENTIAL,
    ZKL_MULTI_CREATE_EPHEMERAL,
    ZKL_MULTI_CREATE_EPHEMERAL_SEQUENTIAL,
    ZKL_MULTI_SET,
    ZKL_MULTI_REMOVE
} zkl_multi_kind;

typedef struct zkl_multi_operation {
    zkl_multi_kind kind;
    const char *path;
    const void *data; /* creates, set; NULL where size is 0 */
    size_t size;
    int32_t version; /* check, set, remove; ZKL_ANY_VERSION */
} zkl_multi_operation;

/** What became of one operation. */
typedef struct zkl_multi_result {
    zkl_outcome outcome;
    int status;       /* of the one that failed: which zkl_status tells why */
    const char *path; /* creates, of a transaction that was applied: the full path that was made */
} zkl_multi_result;

/** What a watch tells of. */
typedef enum zkl_watch_kind {
    ZKL_WATCH_NODE,     /* the node is made, deleted, or its data are set */
    ZKL_WATCH_CHILDREN, /* a child is made or deleted, or the node itself is deleted */
    ZKL_WATCH_KINDS
} zkl_watch_kind;

/** How a request ended, and what it brought. Strings live during the callback. */
typedef struct zkl_reply {
    zkl_outcome outcome;
    int status;       /* REFUSED: which zkl_status tells why; SESSION_OVER, as the servers want
                         another authentication: ZKL_AUTH_FAILED */
    const char *path; /* create: the full path that was made */
    int64_t zxid;     /* create, exists, get: the node's czxid */
    int64_t ephemeral_owner; /* exists, get: the session that owns the node; 0: none */
    zkl_children children;   /* list */
    int32_t version;         /* exists, get, set: how often the node's data were set */
    const char *data;        /* get: any bytes, and no NUL behind them; NULL: none */
    size_t data_length;      /* exists (without the data), get */
    int64_t made_ms;         /* get: since 1970, by the leader's clock, as is the next */
    int64_t changed_ms;      /* get: when its data were set; made_ms: never */
    int64_t children_zxid;   /* get: of the last create or deletion of a child */
    int32_t child_count;     /* get */
    /* transact: one result for each operation, if the servers have decided; else NULL. */
    const zkl_multi_result *results;
    size_t result_count;
    size_t failed; /* transact that was decided, but not applied: the operation that failed */
} zkl_reply;

typedef void zkl_reply_callback(void *arg, const zkl_reply *reply);

typedef enum zkl_session_state {
    ZKL_SESSION_STATE_CONNECTING,
    ZKL_SESSION_STATE_CONNECTED,
    ZKL_SESSION_STATE_EXPIRED,    /* this object is finished: close it, open another */
    ZKL_SESSION_STATE_AUTH_FAILED /* likewise, but another would fare no better */
} zkl_session_state;

typedef struct zkl_session_news {
    zkl_session_state state;
    int64_t session_id; /* CONNECTED */
    int32_t timeout_ms; /* CONNECTED: as negotiated */
} zkl_session_news;

/** Whom to tell. All run with the client's mutex held. */
typedef struct zkl_listener {
    void *arg;
    void (*session)(void *arg, const zkl_session_news *news);
    void (*watch_fired)(void *arg, uint64_t watch_id, bool deleted);
    void (*answered)(void *arg); /* a request has been, or all that were left; may be NULL */
} zkl_listener;

typedef struct zkl_operations zkl_operations;

/**
 * Every function is called with the client's mutex held, and does not block.
 *
 * Requests return ZKL_OUTCOME_OK when they were sent off: `done` is then called
 * exactly once, later, with the mutex held. Otherwise they return the outcome,
 * and `done` is never called. Replies, watches and session news arrive in the
 * order in which ZooKeeper sent them.
 */
typedef struct zkl_operations_table {
    zkl_outcome (*create_ephemeral_sequential)(zkl_operations *self, const char *path,
                                               const char *data, zkl_reply_callback *done,
                                               void *arg);
    /* A node that exists already is as good as one that was made. A container (of servers from
     * 3.5 on) is deleted by them some time after its last child has gone. */
    zkl_outcome (*create_persistent)(zkl_operations *self, const char *path, bool container,
                                     zkl_reply_callback *done, void *arg);
    /* All of the operations or none, in their order, at one zxid (ZooKeeper's multi). OK: applied.
     * Where one fails, the outcome of the whole is that one's, which `failed` names, and that of
     * all others is NOT_NOW; nothing was applied. Without results nothing is known of single
     * operations: UNKNOWN (the reply was lost), NOT_NOW or SESSION_OVER. All that is passed in
     * need only live during the call. */
    zkl_outcome (*transact)(zkl_operations *self, const zkl_multi_operation *operations,
                            size_t count, zkl_reply_callback *done, void *arg);
    /* watch_id 0: no watch. Else a watch on the children is left with OK, and with nothing else. */
    zkl_outcome (*list)(zkl_operations *self, const char *path, uint64_t watch_id,
                        zkl_reply_callback *done, void *arg);
    /* watch_id 0: no watch. Else one on the node is left in both cases, OK and NO_NODE. */
    zkl_outcome (*exists)(zkl_operations *self, const char *path, uint64_t watch_id,
                          zkl_reply_callback *done, void *arg);
    zkl_outcome (*remove)(zkl_operations *self, const char *path, zkl_reply_callback *done,
                          void *arg);
    /* Removes all our watches of a kind on a path; that there was none is fine. */
    zkl_outcome (*remove_watches)(zkl_operations *self, const char *path, zkl_watch_kind kind,
                                  zkl_reply_callback *done, void *arg);
    zkl_outcome (*get)(zkl_operations *self, const char *path, zkl_reply_callback *done, void *arg);
    /* Replaces the data, if they are of this version; ZKL_ANY_VERSION: of any. */
    zkl_outcome (*set)(zkl_operations *self, const char *path, const char *data, int32_t version,
                       zkl_reply_callback *done, void *arg);
    /* Goes on while the machine sleeps, and never back. */
    int64_t (*now_ms)(zkl_operations *self);
    /* Since 1970 in UTC, for people to read. */
    int64_t (*wall_clock_ms)(zkl_operations *self);
    bool (*random)(zkl_operations *self, void *bytes, size_t size);
    /* The earliest timer has changed: somebody must look at the timers again. */
    void (*wake)(zkl_operations *self);
    /* Why the latest attempts to connect failed, for people: "127.0.0.1:2181: Connection refused".
     * Empty where that is not known. */
    void (*describe_failure)(zkl_operations *self, char *text, size_t size);
} zkl_operations_table;

struct zkl_operations {
    const zkl_operations_table *table;
};

#endif
