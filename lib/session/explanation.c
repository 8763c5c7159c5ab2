#include "session/explanation.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { FAILURE_SIZE = 256 };

zkl_explanation zkl_explain_connection(const zkl_session *session, const char *otherwise) {
    zkl_explanation explanation;
    char failure[FAILURE_SIZE] = "";
    if (session == NULL || session->connected) {
        snprintf(explanation.text, sizeof(explanation.text), "%s", otherwise);
    } else {
        session->operations->table->describe_failure(session->operations, failure, sizeof(failure));
        snprintf(explanation.text, sizeof(explanation.text), "not connected for %" PRId64 " ms%s%s",
                 zkl_session_now_ms(session) - session->unconnected_ms,
                 failure[0] != '\0' ? "; last: " : "", failure);
    }
    return explanation;
}

zkl_explanation zkl_explain_refusal(const zkl_session *session) {
    zkl_explanation explanation;
    session->operations->table->describe_failure(session->operations, explanation.text,
                                                 sizeof(explanation.text));
    return explanation;
}

/* Explains what the request waited for when it was called off. By now it leaves, so its state does
 * not say. */
static zkl_explanation explain_wait(const zkl_request_sender *sender) {
    zkl_explanation explanation;
    int64_t now_ms = zkl_session_now_ms(sender->session);
    int position = sender->position;
    if (position > 0) {
        snprintf(explanation.text, sizeof(explanation.text),
                 "behind %d request%s for %" PRId64 " ms", position, position == 1 ? "" : "s",
                 now_ms - sender->listed_ms);
    } else {
        snprintf(explanation.text, sizeof(explanation.text), "%s after %" PRId64 " ms",
                 position == 0 && sender->request->options.needs_lease
                     ? "first in the queue, but without a lease"
                     : "connected, but without an answer that tells its place in the queue",
                 now_ms - sender->options.began_ms);
    }
    return explanation;
}

/* What the servers would not do: to the resource's node, or to one of those above it. */
static const char *const refused_operations[] = {
    [ZKL_EVENT_CREATED] = "create a node below",
    [ZKL_EVENT_LISTED] = "list the children of",
    [ZKL_EVENT_PARENT_MADE] = "create",
    [ZKL_EVENT_WATCHED] = "read a node below",
    [ZKL_EVENT_INSPECTED] = "read a node below",
    [ZKL_EVENT_DELETED] = "delete a node below",
    [ZKL_EVENT_HANDED_OVER] = "write to a node below",
    [ZKL_EVENT_SETTLED] = "check a node above",
    [ZKL_EVENT_OWN_WATCHED] = "read a node below",
    [ZKL_EVENT_PARENT_REMOVED] = "delete",
    [ZKL_EVENT_PARENT_INSPECTED] = "read",
    [ZKL_EVENT_DOWNGRADED] = "create a node below",
};

static zkl_explanation explain_refusal(const zkl_request_sender *sender) {
    zkl_explanation explanation;
    int length = sender->refused == ZKL_EVENT_PARENT_MADE
                     ? sender->parent_made_length
                     : (int)strlen(sender->options.parent_path);
    snprintf(explanation.text, sizeof(explanation.text), "the servers refused to %s %.*s",
             refused_operations[sender->refused], length, sender->options.parent_path);
    return explanation;
}

/* Says what else the resource is used for. */
static zkl_explanation explain_use(const zkl_request *request) {
    if (request->options.permits > 0) {
        return (zkl_explanation){ "an earlier request in its queue asks for another number of "
                                  "permits, or for a lock; or the resource is a semaphore of "
                                  "Curator or kazoo" };
    }
    if (request->options.naming == ZKL_NAMING_KAZOO) {
        return (zkl_explanation){ "an earlier request in its queue does not have the names of "
                                  "kazoo, which would not wait for it" };
    }
    return (zkl_explanation){ "an earlier request in its queue does not have the names of "
                              "LeaderLatch, which would not wait for it" };
}

zkl_explanation zkl_explain_verdict(const zkl_request_sender *sender, int status) {
    switch (status) {
    case ZKL_TIMEOUT:
        return explain_wait(sender);
    case ZKL_AUTH_FAILED:
        return zkl_explain_refusal(sender->session);
    case ZKL_DISCONNECTED:
        return zkl_explain_connection(sender->session, "the connection was lost");
    case ZKL_NO_PERMISSION:
    case ZKL_QUOTA_EXCEEDED:
    case ZKL_SERVER_REFUSED:
        if (sender->refused != ZKL_EVENT_START) {
            return explain_refusal(sender);
        }
        break;
    case ZKL_BUSY:
    case ZKL_QUEUE_FULL:
        if (sender->position > 0) {
            return explain_wait(sender);
        }
        break;
    case ZKL_USED_DIFFERENTLY:
        return explain_use(sender->request);
    default:
        break;
    }
    return (zkl_explanation){ "" };
}

zkl_request_facts zkl_request_facts_make(const zkl_session *session, const zkl_run_options *options,
                                         zkl_mode mode, const zkl_request *request,
                                         int64_t granted_ms) {
    int64_t now_ms = zkl_session_now_ms(session);
    bool was_granted = granted_ms >= 0;
    zkl_request_facts facts = {
        .log = session->log,
        .metrics = options->origin->metrics,
        .mode = mode,
        .parent_path = options->parent_path,
        .node = request != NULL ? request->own.node : "",
        .record = zkl_log_record_begin(session->label, session->id),
    };
    facts.record.resource = options->resource;
    if (options->origin->options->owner != NULL) {
        facts.record.lock_owner = options->origin->options->owner;
    }
    facts.record.waited_ms = (was_granted ? granted_ms : now_ms) - options->began_ms;
    if (was_granted) {
        facts.record.held_ms = now_ms - granted_ms;
        facts.record.token = request != NULL ? request->own.zxid : 0;
    }
    return facts;
}

zkl_request_facts zkl_request_facts_of(const zkl_request_sender *sender) {
    return zkl_request_facts_make(sender->session, &sender->options, sender->request->options.mode,
                                  sender->request, sender->granted_ms);
}
