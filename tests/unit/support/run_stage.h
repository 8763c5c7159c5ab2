/*
 * A session and two who acquire in it, over scripted operations. What they ask
 * of ZooKeeper and what they tell a request's owner is one text
 * (fake_operations.h); the owner's part of it is "decided <status>",
 * "lost <status>", "ended", and where it listens for that "connected" and
 * "disconnected". All requests are for "/r" unless said otherwise.
 */
#pragma once

#include "session/request_runner.h"
#include "session/session_life.h"
#include "support/fake_operations.h"
#include "support/unit.h"

enum { SESSION_ID = 77, OTHER_SESSION_ID = 78, TIMEOUT_MS = 3000 };

/* One who acquires. */
typedef struct lock_owner {
    struct run_stage *stage;
    const char *name; /* what the text calls it; "" for the only one */
    zkl_request_runner *runner;
    int64_t max_hold_ms;     /* of what it starts next */
    zkl_create_group *group; /* likewise; NULL: none */
    int verdict;             /* 1: none yet */
    unsigned verdicts;
    bool ended;
    bool disowns; /* as soon as it has its verdict, as an acquire does */
    bool listens; /* to the connection's state */
} lock_owner;

typedef struct run_stage {
    fake_operations fake;
    zkl_timers timers;
    zkl_session session;
    unsigned wakes; /* of the session's timers */
    zkl_recorder *recorder;
    int32_t session_timeout_ms; /* as the servers agree to */
    bool probes;                /* the session's own requests are heard as well */
    unsigned abandoned;         /* that the session has been, where a test counts it */
    lock_owner a, b;
} run_stage;

/* ---- The stage ------------------------------------------------------------- */

/** Without the session's own probes; connected, or not. */
run_stage *stage_open(void);
run_stage *stage_open_offline(void);
/** With them, and not connected. lease_tick_ms 0: no lease is kept. */
run_stage *stage_open_live(int32_t session_timeout_ms, int32_t lease_tick_ms, zkl_log *log);
/** Every request has ended and is freed: a sanitizer would see what is left. */
void stage_close(run_stage *stage);

void stage_connect(run_stage *stage, int64_t session_id);
void stage_tell(run_stage *stage, zkl_session_state state);
/** Forgets what was heard up to here. */
void stage_hush(run_stage *stage);

/** Time passes, and what is due fires; in one leap. */
void stage_pass(run_stage *stage, int64_t ms);
int64_t stage_next_timer_in(const run_stage *stage);

/* ---- Requests -------------------------------------------------------------- */

int stage_start(run_stage *stage, lock_owner *owner, const char *parent, int64_t timeout_ms);
void stage_feed(lock_owner *owner, zkl_event_kind kind);
/** Its node is #<last guid>-lock-0000000003, and all is answered. */
void stage_hold(run_stage *stage, lock_owner *owner);
/** Likewise; the watch on the blocker is not answered. */
void stage_wait_behind(run_stage *stage, lock_owner *owner, const char *blocker);
void stage_release(run_stage *stage, lock_owner *owner);

/* ---- Answers --------------------------------------------------------------- */

/** `rest` of the name after the n-th GUID, for example "lock-0000000003". */
void stage_created(run_stage *stage, unsigned guid, const char *rest, int64_t zxid);
/** One or two children; each is a full name, the other NULL or not. */
void stage_listed(run_stage *stage, const char *one, const char *other);
void stage_listed_own(run_stage *stage, unsigned guid, const char *rest, const char *other);
void stage_answer(run_stage *stage, const char *call, zkl_outcome outcome);
/** The watch that was asked for last. */
void stage_fire(run_stage *stage, bool deleted);

/** Ends `a`, whatever it waits for, and the test. */
void stage_cancel_and_close(run_stage *stage);
