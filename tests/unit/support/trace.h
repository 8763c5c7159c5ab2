/*
 * Conversations with a request, as tests write them: a line for each event and
 * the actions that are to answer it, all of them and in order.
 *
 *     "start            -> CREATE LIST",
 *     "created me3      -> ",
 *     "listed x2 me3    -> WATCH x2",
 *     "watched OK       -> ",
 *     "watch_fired      -> LIST",      the same as "watch_fired changed"
 *     "listed me3       -> GRANT",
 *
 * Names are those of names.h. An answer says how the operation ended (OK, NO_NODE, UNKNOWN,
 * NOT_NOW, REFUSED, SESSION_OVER); "created" with a name, "listed" with names or "nobody", and
 * "inspected ours" or "inspected others" mean OK. REFUSED means that we lack the permission;
 * "REFUSED silently" does not say why. "watch_fired deleted" is the news of a deletion,
 * "watch_fired somehow" of neither a deletion nor a change, and "watch_fired deleted long_ago" may
 * be older than the session, as "listed me3 long_ago" is such a list, and "watched NO_NODE
 * long_ago" such an answer. "MAKE_PARENT 1" is for the node above the resource's, whose path has
 * three names. "created me3 in_transaction" does not say the zxid; "parent_inspected" says "older"
 * or "younger" than our node. Each step goes through the monitor.
 */
#pragma once

#include "recipe/request.h"
#include "support/unit.h"

typedef struct trace_setup {
    zkl_mode mode;
    unsigned permits;
    zkl_naming naming;
    unsigned max_waiting;
    bool is_protected;
    bool is_member;
    const char *companion; /* its short form; NULL: none */
    bool only_try;
    bool fail_on_session_expiry;
    bool needs_lease;
    bool lease_runs;   /* the lease runs at the start */
    bool disconnected; /* it is not connected at the start */
} trace_setup;

#define PLAY(setup, lines) trace_play((setup), (lines), COUNT_OF(lines), __FILE__, __LINE__)

enum { TRACE_LINES_MAX = 40 };

/** A test that is one conversation: CONVERSATION(fault_and_outcome, setup) = { lines }; */
#define CONVERSATION(name, setup)                                                                  \
    static const char *const name##_lines[TRACE_LINES_MAX];                                        \
    TEST(name) {                                                                                   \
        PLAY(setup, name##_lines);                                                                 \
    }                                                                                              \
    static const char *const name##_lines[TRACE_LINES_MAX]

/* How most conversations begin and end. */
#define JOINED(me) "start -> CREATE LIST", ("created " me " -> ")
#define GRANTED(me) JOINED(me), ("listed " me " -> GRANT")
#define WAITING(blocker, me)                                                                       \
    JOINED(me), ("listed " blocker " " me " -> WATCH " blocker " WATCH_OWN " me),                  \
        "watched OK -> ", "own_watched OK -> "
#define CREATE_LOST                                                                                \
    "start -> CREATE LIST", "disconnected -> ", "created UNKNOWN -> ", "listed UNKNOWN -> "
#define RELEASED(me) ("released -> DELETE " me), "deleted OK -> END"
/* It has lost a create, and lingers: a pause, and a last look. */
#define LINGERED "backed_off -> SETTLE LIST", "settled OK -> ", "listed nobody -> END"

/** Returns the czxid of a node in traces, which follows from its sequence. */
int64_t trace_zxid(int32_t sequence);

/** Plays a conversation, up to the first NULL. */
void trace_play(trace_setup setup, const char *const *lines, size_t count, const char *file,
                int line);
