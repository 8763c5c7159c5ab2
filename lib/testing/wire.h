/*
 * A connection between a client and a server of the simulated ensemble: what is
 * said on it, and how it breaks. Each side learns of that in its own time.
 */
#ifndef ZKLOCK_TESTING_WIRE_H
#define ZKLOCK_TESTING_WIRE_H

#include "session/operations.h"
#include "testing/channel.h"
#include "testing/ensemble.h"

typedef struct zkl_wire zkl_wire;
typedef struct zkl_attachment zkl_attachment;
typedef struct zkl_watch_entry zkl_watch_entry;

/** A path that a client has a watch on, for ZKL_CALL_SET_WATCHES. */
typedef struct zkl_watched {
    const char *path;
    zkl_watch_kind kind;
    bool existed; /* when the watch was set */
} zkl_watched;

/** A request. It counts who still needs it; who sends it gives his reference away. */
typedef struct zkl_call {
    zkl_message message; /* first */
    unsigned references;
    zkl_call_kind kind;
    int32_t xid;
    zkl_write_kind write;
    zkl_write *operations; /* within the same memory, as all its strings */
    size_t operation_count;
    const char *path;
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
zkl_call *zkl_call_make_watches(const zkl_watched *watched, size_t count);
void zkl_call_release(zkl_call *call);

typedef enum zkl_watch_event {
    ZKL_WATCH_EVENT_CREATED,
    ZKL_WATCH_EVENT_CHANGED,
    ZKL_WATCH_EVENT_DELETED,
    ZKL_WATCH_EVENT_CHILDREN
} zkl_watch_event;

typedef enum zkl_answer_kind {
    ZKL_ANSWER_CONNECTED,
    ZKL_ANSWER_EXPIRED,
    ZKL_ANSWER_REPLY,
    ZKL_ANSWER_WATCH,
    ZKL_ANSWER_REPEAT_NEWS, /* the client's own doing: it tells its latest news again */
    ZKL_ANSWER_REPLACE,     /* likewise: it goes to another server, and tells nobody */
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

/** Both ends' view of it; for the files of the ensemble. */
struct zkl_wire {
    zkl_ensemble *ensemble;
    uint32_t server;
    zkl_channel up;      /* calls */
    zkl_channel down;    /* answers */
    unsigned references; /* one for each end, and those of calls */
    bool client_open;
    bool server_open;
    bool breaking; /* the client will be told */
    bool mute;
    void (*answered)(void *arg, zkl_answer *answer); /* who frees it with zkl_testing_free */
    void *arg;
    zkl_attachment *attachment; /* NULL: no session, yet or any more */
    zkl_watch_entry *watches;
    size_t watch_count;
    zkl_wire *prev, *next;
};

/** Begins to connect. `answered` is called as the process, with all that is said,
 *  until ZKL_ANSWER_BROKEN or zkl_wire_hang_up; then the wire is not the caller's any more.
 *  NULL instead of an answer: the ensemble has ended, and the wire with it. */
zkl_wire *zkl_wire_connect(uint32_t server, zkl_call *connect,
                           void (*answered)(void *arg, zkl_answer *answer), void *arg,
                           zkl_process *process);
void zkl_wire_send(zkl_wire *wire, zkl_call *call);
/** The client closes it: what it has sent arrives. */
void zkl_wire_hang_up(zkl_wire *wire);

/* ---- The server's end ------------------------------------------------------------------------ */

void zkl_wire_answer(zkl_wire *wire, zkl_answer *answer);
/** The server closes it: what it has said arrives. */
void zkl_wire_close(zkl_wire *wire);

/* ---- The network ----------------------------------------------------------------------------- */

void zkl_wire_cut(zkl_wire *wire, zkl_cut cut);
/** At the ensemble's end: clients that are there are told. */
void zkl_wires_end(zkl_ensemble *ensemble);

#endif
