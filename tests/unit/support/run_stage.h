/*
 * A session and two owners of requests in it, over scripted operations. What is asked of ZooKeeper,
 * and what the owners hear, is one text (fake_operations.h). An owner hears "decided <status>",
 * "lost <status>", "ended", and if it listens to the connection "connected" and "disconnected". All
 * requests are for "/r" unless a test says otherwise.
 */
#pragma once

#include "session/request_runner.h"
#include "session/session_life.h"
#include "support/fake_operations.h"
#include "support/unit.h"

enum { SESSION_ID = 77, OTHER_SESSION_ID = 78, TIMEOUT_MS = 3000 };

/* An owner of a request. */
typedef struct lock_owner {
    struct run_stage *stage;
    const char *name; /* its name in the text; "" for the only one */
    zkl_request_runner *runner;
    int64_t max_hold_ms;     /* that of the request that it starts next */
    zkl_create_group *group; /* the group of the request that it starts next; NULL: none */
    int verdict;             /* 1: there is none yet */
    unsigned verdicts;
    bool ended;
    bool disowns;       /* it disowns its request at the verdict, as an acquire does */
    bool listens;       /* it listens to the state of the connection */
    zkl_timer deadline; /* the deadline of its request, as a call keeps it */
} lock_owner;

typedef struct run_stage {
    fake_operations fake;
    zkl_timers timers;
    zkl_session session;
    unsigned wakes; /* how often the timers have asked to be woken */
    zkl_recorder *recorder;
    int32_t session_timeout_ms; /* the timeout that the servers grant */
    bool probes;                /* the session's own requests are noted too */
    unsigned abandoned;         /* how often the session was abandoned, if a test counts it */
    lock_owner a, b;
} run_stage;

/* ---- The stage ------------------------------------------------------------- */

/** Opens a stage without the session's own probes, connected or not. */
run_stage *stage_open(void);
run_stage *stage_open_offline(void);
/** Opens a stage with the session's own probes, not connected. lease_tick_ms 0: no lease is kept.
 */
run_stage *stage_open_live(int32_t session_timeout_ms, int32_t lease_tick_ms, zkl_log *log);
/** Closes a stage, on which every request must have ended and be freed. */
void stage_close(run_stage *stage);

/** Reports that the session is connected, or another state of it. */
void stage_connect(run_stage *stage, int64_t session_id);
void stage_tell(run_stage *stage, zkl_session_state state);
/** Forgets what was heard so far. */
void stage_hush(run_stage *stage);

/** Lets time pass in one leap, and fires what is due. */
void stage_pass(run_stage *stage, int64_t ms);
int64_t stage_next_timer_in(const run_stage *stage);

/* ---- Requests -------------------------------------------------------------- */

int stage_start(run_stage *stage, lock_owner *owner, const char *parent, int64_t timeout_ms);
void stage_feed(lock_owner *owner, zkl_event_kind kind);
/** Acquires the lock with the node #<last guid>-lock-0000000003, answering everything. */
void stage_hold(run_stage *stage, lock_owner *owner);
/** Waits behind a blocker with such a node. The watch on the blocker is not answered. */
void stage_wait_behind(run_stage *stage, lock_owner *owner, const char *blocker);
void stage_release(run_stage *stage, lock_owner *owner);

/* ---- Answers --------------------------------------------------------------- */

/** Answers a create. rest: the name behind the n-th GUID, for example "lock-0000000003". */
void stage_created(run_stage *stage, unsigned guid, const char *rest, int64_t zxid);
/** Answers a list with one or two children, by their full names. other: NULL: there is one child.
 */
void stage_listed(run_stage *stage, const char *one, const char *other);
void stage_listed_own(run_stage *stage, unsigned guid, const char *rest, const char *other);
void stage_answer(run_stage *stage, const char *call, zkl_outcome outcome);
/** Fires the watch that was asked for last. */
void stage_fire(run_stage *stage, bool deleted);

/** Cancels the request of `a`, whatever it waits for, and closes the stage. */
void stage_cancel_and_close(run_stage *stage);
