/*
 * Tells the log, the metrics and the probes for tracers what becomes of requests and sessions. One
 * function for each event, called with the client's mutex held. The caller hands over the facts:
 * this file knows no requests, sessions or handles.
 */
#pragma once

#include "telemetry/log.h"
#include "telemetry/metrics.h"

/** Of a request. */
typedef struct zkl_request_facts {
    zkl_log *log;               /* NULL: none */
    zkl_class_metrics *metrics; /* NULL: it is not counted */
    zkl_mode mode;
    const char *parent_path;
    const char *node;      /* its name below that; "": it has none */
    zkl_log_record record; /* all else that the log tells of it, but for what happens now */
} zkl_request_facts;

/* ---- A request, in the order of its life ------------------------------------------ */

void zkl_telemetry_begun(zkl_request_facts request);
/** It waits for a node, and is about to watch it. */
void zkl_telemetry_queued(zkl_request_facts request, const char *behind);
/** A child of unknown kind is in its way. */
void zkl_telemetry_unknown_child(zkl_request_facts request, const char *node);
/** Its place in the queue is lost; it joins again. */
void zkl_telemetry_rejoined(zkl_request_facts request);
/** The verdict, also of one that could not begin: ZKL_OK is a grant. `why` explains another one;
 * "": the status says all. */
void zkl_telemetry_decided(zkl_request_facts request, int status, const char *why);
/** It held until now, and is given back. */
void zkl_telemetry_released(zkl_request_facts request);
/** It held until now. */
void zkl_telemetry_lost(zkl_request_facts request, int status);
/** A lock that was lost before is given back. */
void zkl_telemetry_lost_released(zkl_request_facts request);
/** The servers refuse to delete its node. */
void zkl_telemetry_not_deleted(zkl_request_facts request, int status);

/* ---- A session ------------------------------------------------------------------------ */

/** Of a session. */
typedef struct zkl_session_facts {
    zkl_log *log;
    zkl_metrics *metrics;
    const char *label;
    int64_t id;
} zkl_session_facts;

void zkl_telemetry_connected(zkl_session_facts session, bool is_new);
void zkl_telemetry_disconnected(zkl_session_facts session);
void zkl_telemetry_expired(zkl_session_facts session);
/** A server says that it has moved. */
void zkl_telemetry_moved(zkl_session_facts session);
void zkl_telemetry_auth_failed(zkl_session_facts session);
/** Those of zkl_client_set_credentials are not shown. */
void zkl_telemetry_credentials_refused(zkl_session_facts session);
/** It is warned of once for each session. */
void zkl_telemetry_unsupported_servers(zkl_session_facts session);
/** Its timeout is short for a lease; `message` says so. */
void zkl_telemetry_short_session(zkl_session_facts session, const char *message);
