#include "telemetry/telemetry.h"

#include <stdio.h>

#include "telemetry/probes.h"

ZKL_PROBE_COUNTER(begin);
ZKL_PROBE_COUNTER(queued);
ZKL_PROBE_COUNTER(acquired);
ZKL_PROBE_COUNTER(not_acquired);
ZKL_PROBE_COUNTER(released);
ZKL_PROBE_COUNTER(lost);

static void log_request(const zkl_request_facts *request, zkl_log_level level, zkl_log_event event,
                        int status) {
    if (!zkl_log_wants(request->log, level)) {
        return;
    }
    char node[ZKL_NODE_PATH_SIZE] = "";
    if (request->node[0] != '\0') {
        snprintf(node, sizeof(node), "%s/%s", request->parent_path, request->node);
    }
    zkl_log_record record = request->record;
    record.node = node;
    zkl_log_write(request->log, level, event, status, &record);
}

/* ---- A request, in the order of its life ------------------------------------------ */

void zkl_telemetry_begun(zkl_request_facts request) {
    log_request(&request, ZKL_LOG_DEBUG, ZKL_LOG_BEGIN, ZKL_OK);
    ZKL_PROBE(begin, 2, request.record.resource, (int)request.mode);
}

void zkl_telemetry_queued(zkl_request_facts request, const char *behind) {
    request.record.behind = behind;
    log_request(&request, ZKL_LOG_DEBUG, ZKL_LOG_QUEUED, ZKL_OK);
    ZKL_PROBE(queued, 4, request.record.resource, request.node, behind, request.record.waited_ms);
}

void zkl_telemetry_unknown_child(zkl_request_facts request, const char *node) {
    request.record.behind = node;
    log_request(&request, ZKL_LOG_WARN, ZKL_LOG_UNKNOWN_CHILD, ZKL_OK);
}

void zkl_telemetry_rejoined(zkl_request_facts request) {
    log_request(&request, ZKL_LOG_WARN, ZKL_LOG_REJOINED, ZKL_OK);
    ZKL_COUNT(request.metrics, rejoins);
}

void zkl_telemetry_decided(zkl_request_facts request, int status, const char *why) {
    request.record.message = why;
    log_request(&request, ZKL_LOG_INFO, status == ZKL_OK ? ZKL_LOG_ACQUIRED : ZKL_LOG_NOT_ACQUIRED,
                status);
    zkl_metrics_decided(request.metrics, status, request.record.waited_ms);
    if (status == ZKL_OK) {
        ZKL_PROBE(acquired, 4, request.record.resource, request.node, request.record.waited_ms,
                  request.record.token);
    } else {
        ZKL_PROBE(not_acquired, 4, request.record.resource, request.node, request.record.waited_ms,
                  status);
    }
}

void zkl_telemetry_released(zkl_request_facts request) {
    log_request(&request, ZKL_LOG_INFO, ZKL_LOG_RELEASED, ZKL_OK);
    zkl_metrics_released(request.metrics, request.record.held_ms);
    ZKL_PROBE(released, 4, request.record.resource, request.node, request.record.held_ms,
              request.record.token);
}

void zkl_telemetry_lost(zkl_request_facts request, int status) {
    log_request(&request, ZKL_LOG_ERROR, ZKL_LOG_LOST, status);
    zkl_metrics_lost(request.metrics, status, request.record.held_ms);
    ZKL_PROBE(lost, 5, request.record.resource, request.node, request.record.held_ms,
              request.record.token, status);
}

void zkl_telemetry_lost_released(zkl_request_facts request) {
    log_request(&request, ZKL_LOG_INFO, ZKL_LOG_RELEASED, ZKL_LOST);
}

void zkl_telemetry_not_deleted(zkl_request_facts request, int status) {
    log_request(&request, ZKL_LOG_WARN, ZKL_LOG_NOT_DELETED, status);
}

/* ---- A session ------------------------------------------------------------------------ */

static void log_session(zkl_session_facts session, zkl_log_level level, zkl_log_event event,
                        int status, const char *message) {
    zkl_log_record record = zkl_log_record_begin(session.label, session.id);
    record.message = message;
    zkl_log_write(session.log, level, event, status, &record);
}

void zkl_telemetry_connected(zkl_session_facts session, bool is_new) {
    log_session(session, ZKL_LOG_INFO, ZKL_LOG_CONNECTED, ZKL_OK, "");
    if (session.metrics != NULL) {
        (*(is_new ? &session.metrics->sessions_opened : &session.metrics->reconnects))++;
    }
}

void zkl_telemetry_disconnected(zkl_session_facts session) {
    log_session(session, ZKL_LOG_WARN, ZKL_LOG_DISCONNECTED, ZKL_SUSPECT, "");
    ZKL_COUNT(session.metrics, disconnections);
}

void zkl_telemetry_expired(zkl_session_facts session) {
    log_session(session, ZKL_LOG_WARN, ZKL_LOG_SESSION_EXPIRED, ZKL_SESSION_EXPIRED, "");
    ZKL_COUNT(session.metrics, sessions_expired);
}

void zkl_telemetry_moved(zkl_session_facts session) {
    log_session(session, ZKL_LOG_WARN, ZKL_LOG_SESSION_MOVED, ZKL_SUSPECT,
                "the session is used at another server, and not by this client: somebody knows "
                "its id, or a server that was slow has taken an old connection for a new one");
    ZKL_COUNT(session.metrics, sessions_moved);
}

void zkl_telemetry_auth_failed(zkl_session_facts session) {
    log_session(session, ZKL_LOG_ERROR, ZKL_LOG_AUTH_FAILED, ZKL_AUTH_FAILED, "");
}

void zkl_telemetry_credentials_refused(zkl_session_facts session) {
    log_session(session, ZKL_LOG_ERROR, ZKL_LOG_CREDENTIALS_REFUSED, ZKL_INVALID_ARGUMENT,
                "the new credentials are not shown, and the session goes on with the old ones: "
                "one is no digest in plain ASCII, while nodes are protected and node_acl or "
                "parent_acl has the scheme auth; see docs/security.md");
}

void zkl_telemetry_unsupported_servers(zkl_session_facts session) {
    log_session(
        session, ZKL_LOG_WARN, ZKL_LOG_UNSUPPORTED_SERVERS, ZKL_OK,
        "the servers are not Apache ZooKeeper (they gave the session no password, as "
        "ClickHouse Keeper does): a lock does not survive a reconnect, and more is missing; "
        "see docs/servers.md");
}

void zkl_telemetry_short_session(zkl_session_facts session, const char *message) {
    log_session(session, ZKL_LOG_WARN, ZKL_LOG_SHORT_SESSION, ZKL_OK, message);
}
