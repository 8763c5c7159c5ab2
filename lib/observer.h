/*
 * What becomes of requests and sessions, told to all who want to know it: the log, the
 * metrics and the probes for tracers. One function for each event; each is called in
 * one place, with the client's mutex held.
 */
#ifndef ZKLOCK_OBSERVER_H
#define ZKLOCK_OBSERVER_H

#include "client.h"
#include "zookeeper/request_runner.h"

/* ---- A request, in the order of its life ------------------------------------------ */

/** An acquire could not even begin; it has no request. */
void zkl_observe_not_begun(const zkl_client *client, zkl_class_metrics *metrics,
                           const char *resource, int status);
void zkl_observe_begun(const zkl_request_runner *runner);
/** It waits for a node, and is about to watch it. */
void zkl_observe_queued(const zkl_request_runner *runner, const char *behind);
/** It pauses before it asks again. */
void zkl_observe_retry(const zkl_request_runner *runner);
/** A child of unknown kind is in its way. */
void zkl_observe_unknown_child(const zkl_request_runner *runner, const char *node);
/** Its place in the queue is lost; it joins again. */
void zkl_observe_rejoined(const zkl_request_runner *runner);
/** The verdict: ZKL_OK is a grant. */
void zkl_observe_decided(const zkl_request_runner *runner, int status);
/** It held until now, and is given back. */
void zkl_observe_released(const zkl_request_runner *runner);
/** It held until now. */
void zkl_observe_lost(const zkl_request_runner *runner, int status);
/** A lock that was lost before is given back. `runner`: NULL, its node is gone. */
void zkl_observe_lost_released(const zkl_client *client, const zkl_request_runner *runner,
                               const char *resource, int64_t granted_ms, int64_t token);
/** The servers refuse to delete its node. */
void zkl_observe_not_deleted(const zkl_request_runner *runner, int status);

/* ---- A session ------------------------------------------------------------------------ */

void zkl_observe_connected(const zkl_session *session, bool is_new);
void zkl_observe_disconnected(const zkl_session *session);
void zkl_observe_expired(const zkl_session *session);
void zkl_observe_auth_failed(const zkl_session *session);
/** Its timeout is short for a lease; `message` says so. */
void zkl_observe_short_session(const zkl_session *session, const char *message);

#endif
