/*
 * All that the protocol needs of the world, as one table: requests to ZooKeeper, a clock, and
 * random numbers. The library uses connection_libzookeeper.c; the library for tests has a simulated
 * ensemble in its place.
 */
#pragma once

#include "recipe/request_types.h"
#include "telemetry/metrics.h"
#include "telemetry/session_news.h"

/** What a transaction can do; ZooKeeper's multi. The flags of creates are also ZooKeeper's. */
typedef enum zkl_multi_kind {
    ZKL_MULTI_CREATE_PERSISTENT = ZKL_CREATE_PERSISTENT,
    ZKL_MULTI_CREATE_EPHEMERAL = ZKL_CREATE_EPHEMERAL,
    ZKL_MULTI_CREATE_PERSISTENT_SEQUENTIAL = ZKL_CREATE_SEQUENTIAL,
    ZKL_MULTI_CREATE_EPHEMERAL_SEQUENTIAL = ZKL_CREATE_EPHEMERAL | ZKL_CREATE_SEQUENTIAL,
    ZKL_MULTI_CHECK, /* that the node is there, and of that version */
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

/** What happened to a node that is watched, or to its children. */
typedef enum zkl_watch_event {
    ZKL_WATCH_EVENT_CREATED,
    ZKL_WATCH_EVENT_CHANGED, /* its data were set */
    ZKL_WATCH_EVENT_DELETED,
    ZKL_WATCH_EVENT_CHILDREN
} zkl_watch_event;

/** How a request ended, and what it brought. Strings live during the callback. */
typedef struct zkl_reply {
    zkl_outcome outcome;
    int status;       /* REFUSED: which zkl_status tells why; SESSION_OVER, as the servers want
                         another authentication: ZKL_AUTH_FAILED */
    bool moved;       /* UNKNOWN: the server says that the session is at another one */
    const char *path; /* create: the full path that was made */
    int64_t zxid;     /* create, exists, get: the node's czxid */
    int64_t ephemeral_owner; /* exists, get: the session that owns the node; 0: none */
    zkl_children children;   /* list */
    int32_t version;         /* exists, get, set: how often the node's data were set */
    const char *data;        /* get: any bytes; get ACL: as base/acl_text.h writes it; no NUL behind
                                them; NULL: none */
    size_t data_length;      /* exists (without the data), get, get ACL */
    int64_t made_ms;         /* get: since 1970, by the leader's clock, as is the next */
    int64_t changed_ms;      /* get: when its data were set; made_ms: never */
    int64_t children_zxid;   /* get: of the last create or deletion of a child */
    int32_t child_count;     /* get */
    /* transact: one result for each operation, if the servers have decided; else NULL. */
    const zkl_multi_result *results;
    size_t result_count;
    size_t failed; /* transact that was decided, but not applied: the operation that failed */
    int tag;       /* the operation's */
} zkl_reply;

typedef void zkl_reply_callback(void *arg, const zkl_reply *reply);

/** Callbacks of a connection. All run with the client's mutex held. */
typedef struct zkl_listener {
    void *arg;
    const zkl_security *options; /* of TLS and SASL; NULL: neither */
    void (*session)(void *arg, const zkl_session_news *news);
    void (*watch_fired)(void *arg, uint64_t watch_id, zkl_watch_event event);
    void (*answered)(void *arg); /* a request is over */
    bool is_anonymous;           /* next_credential has none, until zkl_connection_renew */
    /* Who the client is; NULL: nobody in particular. Gives one credential after the other, which
     * must live until the next call; false: there is no more. Without the mutex. */
    bool (*next_credential)(void *arg, size_t index, zkl_credential *credential);
    /* The next one is awaited: call zkl_connection_introduce. NULL with next_credential. */
    void (*awaits_credential)(void *arg);
} zkl_listener;

typedef struct zkl_operations zkl_operations;

/** One request to the servers. All that it points to need only live while it is sent. */
typedef struct zkl_operation {
    zkl_operation_kind kind;
    const char *path;  /* all but TRANSACTION */
    const char *data;  /* CREATE, SET */
    const char *acl;   /* SET_ACL, and of what it creates, as base/acl_text.h reads it; NULL:
                          open to all */
    int32_t version;   /* SET: only data of this version are replaced; ZKL_ANY_VERSION */
    bool container;    /* CREATE_PARENT: the servers delete it (from 3.5 on) some time
                          after its last child has gone */
    uint64_t watch_id; /* WATCH; LIST_CHILDREN: 0, no watch */
    zkl_watch_kind watch_kind;      /* REMOVE_WATCHES */
    const zkl_multi_operation *all; /* TRANSACTION */
    size_t count;
    int tag;    /* the caller's, for the reply */
    bool lasts; /* what it does outlives the session, and so its reply counts when that is over */
} zkl_operation;

/**
 * Every function is called with the client's mutex held, and does not block.
 *
 * A request that was sent off returns ZKL_OUTCOME_OK: `done` is then called exactly once, later,
 * with the mutex held. Otherwise the outcome is returned, and `done` is never called. Replies,
 * watches and session news arrive in the order in which ZooKeeper sent them.
 *
 * - CREATE makes an ephemeral sequential node, CREATE_PARENT a persistent one: there a node that
 *   exists already is as good as one that was made.
 * - LIST_CHILDREN leaves a watch on the children with OK, and with nothing else; WATCH leaves one
 *   on the node in both cases, OK and NO_NODE. REMOVE_WATCHES removes all our watches of a kind on
 *   a path; NO_NODE: there was none.
 * - TRANSACTION (ZooKeeper's multi) does all of its operations or none, in their order, at one
 *   zxid. OK: applied. Where one fails, the outcome of the whole is that one's, which `failed`
 *   names, and that of all others is NOT_NOW; nothing was applied. Without results nothing is known
 *   of single operations: UNKNOWN (the reply was lost), NOT_NOW or SESSION_OVER.
 */
typedef struct zkl_operations_table {
    zkl_outcome (*send)(zkl_operations *self, const zkl_operation *operation,
                        zkl_reply_callback *done, void *arg);
    /* Goes on while the machine sleeps, and never back. */
    int64_t (*now_ms)(zkl_operations *self);
    bool (*random)(zkl_operations *self, void *bytes, size_t size); /* at most 256 */
    /* Why the latest attempts to connect failed, for people: "127.0.0.1:2181: Connection refused";
     * or which credential was refused, while they were given. Empty where that is not known. */
    void (*describe_failure)(zkl_operations *self, char *text, size_t size);
    /* The client forgets its watches of that kind on the path: it sets them again on no later
     * connection. Servers are not asked, and what is under way stays. */
    void (*forget_watches)(zkl_operations *self, const char *path, zkl_watch_kind kind);
} zkl_operations_table;

struct zkl_operations {
    const zkl_operations_table *table;
};
