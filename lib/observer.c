#include "observer.h"

#include "explanation.h"
#include "probes.h"

ZKL_PROBE_COUNTER(begin);
ZKL_PROBE_COUNTER(queued);
ZKL_PROBE_COUNTER(acquired);
ZKL_PROBE_COUNTER(not_acquired);
ZKL_PROBE_COUNTER(released);
ZKL_PROBE_COUNTER(lost);

static int64_t waited_ms(const zkl_request_runner *runner) {
    int64_t until =
        runner->granted_ms >= 0 ? runner->granted_ms : zkl_session_now_ms(runner->session);
    return until - runner->started_ms;
}

static int64_t held_ms(const zkl_request_runner *runner) {
    return zkl_session_now_ms(runner->session) - runner->granted_ms;
}

static void log_request(const zkl_request_runner *runner, zkl_log_level level, zkl_log_event event,
                        const char *behind, int status) {
    if (!zkl_log_wants(runner->session->log, level)) {
        return;
    }
    char node[ZKL_NODE_PATH_SIZE];
    zkl_request_runner_node_path(runner, node, sizeof(node));
    zkl_log_record record = zkl_log_record_begin(level, event);
    record.resource = runner->resource;
    record.owner = runner->session->label;
    record.node = node;
    record.behind = behind;
    record.status = status;
    record.session_id = runner->session->id;
    record.waited_ms = waited_ms(runner);
    zkl_explanation why = { "" };
    if (event == ZKL_LOG_NOT_ACQUIRED) {
        why = zkl_explain_verdict(runner, status);
    }
    record.message = why.text;
    if (runner->granted_ms >= 0) {
        record.held_ms = held_ms(runner);
        record.token = runner->request.own.zxid;
    }
    zkl_log_write(runner->session->log, &record);
}

/* ---- A request, in the order of its life ------------------------------------------ */

void zkl_observe_not_begun(const zkl_client *client, zkl_class_metrics *metrics,
                           const char *resource, int status) {
    zkl_log_record record = zkl_log_record_begin(ZKL_LOG_INFO, ZKL_LOG_NOT_ACQUIRED);
    record.resource = resource;
    record.owner = client->label;
    record.status = status;
    record.session_id = client->sessions->session.id;
    record.waited_ms = 0;
    zkl_log_write(client->log, &record);
    zkl_metrics_decided(metrics, status, 0);
    if (ZKL_PROBE_IS_WATCHED(not_acquired)) {
        ZKL_PROBE4(not_acquired, resource, "", (int64_t)0, status);
    }
}

void zkl_observe_begun(const zkl_request_runner *runner) {
    log_request(runner, ZKL_LOG_DEBUG, ZKL_LOG_BEGIN, "", ZKL_OK);
    if (ZKL_PROBE_IS_WATCHED(begin)) {
        ZKL_PROBE2(begin, runner->resource, (int)runner->request.options.mode);
    }
}

void zkl_observe_queued(const zkl_request_runner *runner, const char *behind) {
    log_request(runner, ZKL_LOG_DEBUG, ZKL_LOG_QUEUED, behind, ZKL_OK);
    if (ZKL_PROBE_IS_WATCHED(queued)) {
        ZKL_PROBE4(queued, runner->resource, runner->request.own.node, behind, waited_ms(runner));
    }
}

void zkl_observe_retry(const zkl_request_runner *runner) {
    if (runner->metrics != NULL) {
        runner->metrics->retries++;
    }
}

void zkl_observe_unknown_child(const zkl_request_runner *runner, const char *node) {
    log_request(runner, ZKL_LOG_WARN, ZKL_LOG_UNKNOWN_CHILD, node, ZKL_OK);
}

void zkl_observe_rejoined(const zkl_request_runner *runner) {
    log_request(runner, ZKL_LOG_WARN, ZKL_LOG_REJOINED, "", ZKL_OK);
    if (runner->metrics != NULL) {
        runner->metrics->rejoins++;
    }
}

void zkl_observe_decided(const zkl_request_runner *runner, int status) {
    log_request(runner, ZKL_LOG_INFO, status == ZKL_OK ? ZKL_LOG_ACQUIRED : ZKL_LOG_NOT_ACQUIRED,
                "", status);
    if (runner->metrics != NULL) {
        zkl_metrics_decided(runner->metrics, status, waited_ms(runner));
    }
    if (status == ZKL_OK && ZKL_PROBE_IS_WATCHED(acquired)) {
        ZKL_PROBE4(acquired, runner->resource, runner->request.own.node, waited_ms(runner),
                   runner->request.own.zxid);
    } else if (status != ZKL_OK && ZKL_PROBE_IS_WATCHED(not_acquired)) {
        ZKL_PROBE4(not_acquired, runner->resource, runner->request.own.node, waited_ms(runner),
                   status);
    }
}

void zkl_observe_released(const zkl_request_runner *runner) {
    log_request(runner, ZKL_LOG_INFO, ZKL_LOG_RELEASED, "", ZKL_OK);
    if (runner->metrics != NULL) {
        zkl_metrics_released(runner->metrics, held_ms(runner));
    }
    if (ZKL_PROBE_IS_WATCHED(released)) {
        ZKL_PROBE4(released, runner->resource, runner->request.own.node, held_ms(runner),
                   runner->request.own.zxid);
    }
}

void zkl_observe_lost(const zkl_request_runner *runner, int status) {
    log_request(runner, ZKL_LOG_ERROR, ZKL_LOG_LOST, "", status);
    if (runner->metrics != NULL) {
        zkl_metrics_lost(runner->metrics, status, held_ms(runner));
    }
    if (ZKL_PROBE_IS_WATCHED(lost)) {
        ZKL_PROBE5(lost, runner->resource, runner->request.own.node, held_ms(runner),
                   runner->request.own.zxid, status);
    }
}

/* Its request is over, or goes on without a verdict to give: what is left to tell is
 * that the holder knows. */
void zkl_observe_lost_released(const zkl_client *client, const zkl_request_runner *runner,
                               const char *resource, int64_t granted_ms, int64_t token) {
    const zkl_session *first = &client->sessions->session;
    zkl_log_record record = zkl_log_record_begin(ZKL_LOG_INFO, ZKL_LOG_RELEASED);
    record.resource = resource;
    record.owner = client->label;
    record.status = ZKL_LOST;
    record.session_id = runner != NULL ? runner->session->id : first->id;
    record.held_ms = zkl_session_now_ms(first) - granted_ms;
    record.token = token;
    zkl_log_write(client->log, &record);
}

void zkl_observe_not_deleted(const zkl_request_runner *runner, int status) {
    log_request(runner, ZKL_LOG_WARN, ZKL_LOG_NOT_DELETED, "", status);
}

/* ---- A session ------------------------------------------------------------------------ */

static void log_session(const zkl_session *session, zkl_log_level level, zkl_log_event event,
                        int status, const char *message) {
    zkl_log_record record = zkl_log_record_begin(level, event);
    record.owner = session->label;
    record.session_id = session->id;
    record.status = status;
    record.message = message;
    zkl_log_write(session->log, &record);
}

void zkl_observe_connected(const zkl_session *session, bool is_new) {
    log_session(session, ZKL_LOG_INFO, ZKL_LOG_CONNECTED, ZKL_OK, "");
    zkl_metrics *metrics = session->metrics;
    if (metrics != NULL) {
        uint64_t *count = is_new ? &metrics->sessions_opened : &metrics->reconnects;
        (*count)++;
    }
}

void zkl_observe_disconnected(const zkl_session *session) {
    log_session(session, ZKL_LOG_WARN, ZKL_LOG_DISCONNECTED, ZKL_SUSPECT, "");
    if (session->metrics != NULL) {
        session->metrics->disconnections++;
    }
}

void zkl_observe_expired(const zkl_session *session) {
    log_session(session, ZKL_LOG_WARN, ZKL_LOG_SESSION_EXPIRED, ZKL_SESSION_EXPIRED, "");
    if (session->metrics != NULL) {
        session->metrics->sessions_expired++;
    }
}

void zkl_observe_auth_failed(const zkl_session *session) {
    log_session(session, ZKL_LOG_ERROR, ZKL_LOG_AUTH_FAILED, ZKL_AUTH_FAILED, "");
}

void zkl_observe_short_session(const zkl_session *session, const char *message) {
    log_session(session, ZKL_LOG_WARN, ZKL_LOG_SHORT_SESSION, ZKL_OK, message);
}
