/*
 * Runs one request: performs the actions of the pure state machine as
 * operations, and hands their completions back to it as events.
 *
 * A runner lives from zkl_request_runner_start until its node is known to be
 * gone, and none can come any more: that may be long after its owner has its
 * verdict and has left.
 * Everything here runs with the client's mutex held.
 */
#pragma once

#include "session/request_run.h"

/** Starts a request, and stores it in `result` before its first step, in which it
 *  may be decided and even end. `wanted`: without depth, is_member and needs_lease. ZKL_OK, or
 * nothing was started: ZKL_NO_MEMORY, ZKL_SYSTEM (no random numbers) or ZKL_LEASE_IMPOSSIBLE. */
int zkl_request_runner_start(zkl_session *session, const zkl_request_options *wanted,
                             const zkl_run_options *options, zkl_request_runner **result);

/** Releases what is held; else calls the request off, with this verdict if it has none. The runner
 *  may be gone when it returns. */
void zkl_request_runner_leave(zkl_request_runner *runner, int status);

/** Fails the request if it waits, because its time is over. The runner may be gone when it
 *  returns. */
void zkl_request_runner_time_out(zkl_request_runner *runner);

/** Tells the request if the lock has been held for as long as it may be: the timer
 *  may be late. The runner is still there when it returns. */
void zkl_request_runner_check_hold(zkl_request_runner *runner);

/** Lets the hold of a lock that has been granted begin now, and last for max_hold_ms at most; 0:
 *  without a limit. */
void zkl_request_runner_hold_from_now(zkl_request_runner *runner, int64_t max_hold_ms);

/** Returns what a request for this resource may come to need of its session's watches: on the nodes
 *  that it waits for, on its own, and on the others of the resource. */
size_t zkl_request_runner_watched_bytes(const char *parent_path, unsigned permits,
                                        bool tells_contended);

/** Detaches the owner, which hears nothing from here on. */
void zkl_request_runner_disown(zkl_request_runner *runner);

/** Writes the full path of the request's node; empty while none is known. */
void zkl_request_runner_node_path(const zkl_request_runner *runner, char path[ZKL_NODE_PATH_SIZE]);
