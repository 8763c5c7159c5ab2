/* What clients and servers of the simulated ensemble say to each other. */
#pragma once

#include "connection/operations.h"
#include "testing/channel.h"
#include "testing/ensemble_types.h"

typedef struct zkl_wire zkl_wire;
typedef struct zkl_attachment zkl_attachment;

/** A path that a client has a watch on, for ZKL_CALL_SET_WATCHES. */
typedef struct zkl_watched {
    const char *path;
    zkl_watch_kind kind;
    bool existed; /* when the watch was set */
} zkl_watched;

/** A request, with a count of its references. To send it is to give a reference away. */
typedef struct zkl_call {
    zkl_message message; /* first */
    unsigned references;
    zkl_call_kind kind;
    int32_t xid;
    zkl_write_kind write;
    zkl_write *operations; /* within the same memory, as all its strings */
    size_t operation_count;
    const char *path;   /* auth: the scheme */
    const char *secret; /* auth */
    size_t secret_size;
    bool watch;
    zkl_watch_kind watch_kind; /* remove watches */
    zkl_watched *watched;
    size_t watched_count;
    int64_t session_id; /* connect: 0, a new one */
    int64_t last_zxid;  /* connect, set watches: what the client has seen */
    int32_t timeout_ms; /* connect: as it wishes, then as it is granted */
    /* For the servers. */
    zkl_wire *wire;               /* by which it came; it may be closed */
    zkl_attachment *attachment;   /* NULL: its server has forgotten it */
    bool hangs_up;                /* no call: the client has closed its end */
    struct zkl_call *prev, *next; /* of the session's calls at the server */
    uint32_t link_number;         /* by which it came to the leader */
    int64_t late_us;
    bool cut_when_answered;
    bool cut_when_made; /* cut_when_answered, and only if it has succeeded */
    zkl_server_error refusal;
    int64_t seen_zxid;
    bool decided;
    zkl_server_error error;
    int64_t zxid;
    const char *made_path;
    const zkl_operation_result *results; /* multi */
    size_t result_count;
    int64_t set_czxid; /* set: what its answer says of the node */
    int64_t set_owner;
    zkl_node_view set_view;
} zkl_call;

/** `extra`: bytes for strings and the like, behind it. */
zkl_call *zkl_call_make(zkl_call_kind kind, size_t extra);
/** Of which all strings are copied, as in the other two. */
zkl_call *zkl_call_make_operations(zkl_call_kind kind, zkl_write_kind write,
                                   const zkl_write *operations, size_t count);
zkl_call *zkl_call_make_path(zkl_call_kind kind, const char *path);
zkl_call *zkl_call_make_auth(const char *scheme, const void *secret, size_t size);
zkl_call *zkl_call_make_watches(const zkl_watched *watched, size_t count);

typedef enum zkl_answer_kind {
    ZKL_ANSWER_CONNECTED,
    ZKL_ANSWER_EXPIRED,
    ZKL_ANSWER_REPLY,
    ZKL_ANSWER_WATCH,
    ZKL_ANSWER_REPEAT_NEWS, /* the client's own doing: it tells its latest news again */
    ZKL_ANSWER_REPLACE,     /* its own doing too: it goes to another server, and tells nobody */
    ZKL_ANSWER_BROKEN       /* the last one */
} zkl_answer_kind;

/** What a server says. */
typedef struct zkl_answer {
    zkl_message message; /* first */
    zkl_answer_kind kind;
    zkl_call_kind call;
    int32_t xid;
    zkl_server_error error;
    const char *path; /* within the same memory, as all its strings */
    int64_t czxid;
    int64_t ephemeral_owner;
    zkl_node_view view; /* exists, get, set */
    const char **names; /* list */
    size_t name_count;
    zkl_operation_result *results; /* multi */
    size_t result_count;
    zkl_watch_event event;
    uint32_t server;
    int64_t applied_zxid;
    int64_t session_id; /* connected */
    int32_t timeout_ms;
} zkl_answer;

zkl_answer *zkl_answer_make(zkl_answer_kind kind, const char *path);
/** A reply, with what is seen of a node, and a copy of its data. */
zkl_answer *zkl_answer_make_view(const char *path, const zkl_node_view *view);
/** A reply, with what became of each operation. */
zkl_answer *zkl_answer_make_results(const char *path, const zkl_operation_result *results,
                                    size_t count);
