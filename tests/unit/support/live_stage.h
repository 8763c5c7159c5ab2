/*
 * A stage (run_stage.h) that also notes the session's own requests: its probes and the writes for
 * its lease. The session's timeout is 9,000 ms, so it is probed every 3,000; where a lease is kept,
 * the servers' tick is 1,000.
 */
#pragma once

#include "support/run_stage.h"

enum { SESSION_TIMEOUT_MS = 9000, PERIOD_MS = 3000, TICK_MS = 1000 };
enum { MARGIN_MS = PERIOD_MS + 9, LEASE_MS = SESSION_TIMEOUT_MS - MARGIN_MS };
enum { CONNECTING_MS = 100 };              /* how long connecting takes */
enum { WRITE_DUE_MS = TICK_MS + 187 + 1 }; /* after the answer to a probe */

#define OWN_NODE "/r/#1-lock-0000000003"
#define PROBE "exists /locks"
#define WRITE "check /locks"

/** Opens a stage that is connected. lease_tick_ms: 0: no lease is kept. */
run_stage *live_open(int32_t lease_tick_ms);
/** Releases what is held, answers all calls, and closes. */
void live_finish(run_stage *stage);

int64_t live_lease_left(const run_stage *stage);
bool live_is_fresh(const run_stage *stage);
bool live_is_silent(const run_stage *stage);

/** Lets milliseconds pass one by one, while a good server answers at once. Adds the probes to
 *  *probes, and returns how many writes there were. */
unsigned live_pass_served(run_stage *stage, int64_t ms, unsigned *probes);

/** Lets time pass without a timer firing, as if the process were stopped. */
void live_stop_for(run_stage *stage, int64_t ms);
