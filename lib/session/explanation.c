#include "session/explanation.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { FAILURE_SIZE = 256 };

zkl_explanation zkl_explain_connection(const zkl_session *session) {
    zkl_explanation explanation;
    char failure[FAILURE_SIZE] = "";
    if (session->connected) {
        snprintf(explanation.text, sizeof(explanation.text), "the connection was lost");
        return explanation;
    }
    session->operations->table->describe_failure(session->operations, failure, sizeof(failure));
    snprintf(explanation.text, sizeof(explanation.text), "not connected for %" PRId64 " ms%s%s",
             zkl_session_now_ms(session) - session->unconnected_ms,
             failure[0] != '\0' ? "; last: " : "", failure);
    return explanation;
}

/* By now the request leaves, whatever it waited for. */
static zkl_explanation explain_wait(const zkl_request_runner *runner) {
    zkl_explanation explanation;
    int64_t now_ms = zkl_session_now_ms(runner->session);
    int64_t position = runner->position;
    if (position > 0) {
        snprintf(explanation.text, sizeof(explanation.text),
                 "behind %" PRId64 " request%s for %" PRId64 " ms", position,
                 position == 1 ? "" : "s", now_ms - runner->listed_ms);
    } else {
        snprintf(explanation.text, sizeof(explanation.text), "%s after %" PRId64 " ms",
                 position == 0 && runner->request.options.needs_lease
                     ? "first in the queue, but without a lease"
                     : "connected, but without an answer that tells its place in the queue",
                 now_ms - runner->started_ms);
    }
    return explanation;
}

/* What the servers would not do: to the resource's node, or to one of those above it. */
static const char *name_of_operation(zkl_event_kind answer) {
    switch (answer) {
    case ZKL_EVENT_CREATED:
    case ZKL_EVENT_DOWNGRADED:
        return "create a node below";
    case ZKL_EVENT_LISTED:
        return "list the children of";
    case ZKL_EVENT_PARENT_MADE:
        return "create";
    case ZKL_EVENT_WATCHED:
    case ZKL_EVENT_OWN_WATCHED:
    case ZKL_EVENT_INSPECTED:
        return "read a node below";
    case ZKL_EVENT_DELETED:
    case ZKL_EVENT_SETTLED: /* its write is a deletion */
        return "delete a node below";
    case ZKL_EVENT_PARENT_REMOVED:
        return "delete";
    default:
        return "read";
    }
}

static zkl_explanation explain_refusal(const zkl_request_runner *runner) {
    zkl_explanation explanation;
    size_t length = runner->refused == ZKL_EVENT_PARENT_MADE ? runner->parent_made_length
                                                             : strlen(runner->parent_path);
    snprintf(explanation.text, sizeof(explanation.text), "the servers refused to %s %.*s",
             name_of_operation(runner->refused), (int)length, runner->parent_path);
    return explanation;
}

zkl_explanation zkl_explain_verdict(const zkl_request_runner *runner, int status) {
    switch (status) {
    case ZKL_TIMEOUT:
        return explain_wait(runner);
    case ZKL_DISCONNECTED:
        return zkl_explain_connection(runner->session);
    case ZKL_NO_PERMISSION:
    case ZKL_SERVER_REFUSED:
        if (runner->refused != ZKL_EVENT_START) {
            return explain_refusal(runner);
        }
        break;
    case ZKL_PERMITS_DIFFER:
        return (zkl_explanation){ "somebody earlier in its queue asks for another number of "
                                  "permits, or for a lock" };
    default:
        break;
    }
    return (zkl_explanation){ "" };
}

zkl_request_facts zkl_request_facts_of(const zkl_request_runner *runner) {
    int64_t now_ms = zkl_session_now_ms(runner->session);
    bool was_granted = runner->granted_ms >= 0;
    return (zkl_request_facts){
        .log = runner->session->log,
        .metrics = runner->metrics,
        .resource = runner->resource,
        .label = runner->session->label,
        .parent_path = runner->parent_path,
        .node = runner->request.own.node,
        .mode = runner->request.options.mode,
        .session_id = runner->session->id,
        .waited_ms = (was_granted ? runner->granted_ms : now_ms) - runner->started_ms,
        .held_ms = was_granted ? now_ms - runner->granted_ms : -1,
        .token = runner->request.own.zxid,
    };
}

char *zkl_explanation_keep(const zkl_explanation *explanation) {
    return explanation->text[0] != '\0' ? strdup(explanation->text) : NULL;
}
