/* Connections that break with a request: ordered, or drawn. */
#include "testing/servers.h"
#include "testing/wire.h"

static bool makes_node_of_contender(const zkl_ensemble *ensemble, const zkl_write *operation) {
    return operation->kind == ZKL_WRITE_CREATE && operation->ephemeral && operation->sequential &&
           zkl_tree_find_parent(ensemble->tree, operation->path) != NULL;
}

/* As the request by which a contender queues; the parents are there, so that it is not in vain. */
static bool makes_contender(const zkl_ensemble *ensemble, const zkl_call *call) {
    if (call->kind != ZKL_CALL_CREATE && call->kind != ZKL_CALL_MULTI) {
        return false;
    }
    for (size_t i = 0; i < call->operation_count; i++) {
        if (!makes_node_of_contender(ensemble, &call->operations[i])) {
            return false;
        }
    }
    return true;
}

/* As a set's, or a downgrade. */
static bool is_transaction_that_makes_node(const zkl_call *call) {
    return call->kind == ZKL_CALL_MULTI && call->operations[0].kind == ZKL_WRITE_CREATE &&
           call->operations[0].ephemeral;
}

static bool is_ordered_for(const zkl_server_session *session, const zkl_call *call) {
    if (!session->cut_is_next) {
        return false;
    }
    bool is_of_kind = session->cut_kind == call->kind ||
                      (session->cut == ZKL_CUT_HELD_BACK && is_transaction_that_makes_node(call));
    return session->cut_contender ? makes_contender(session->ensemble, call) : is_of_kind;
}

/* An order for a contender is carried out by a create that succeeds, and goes on until there is
 * one. */
static bool draw_ordered(zkl_server_session *session, zkl_call *call, zkl_cut *cut) {
    *cut = session->cut;
    call->late_us = session->cut_late_us;
    call->cut_when_answered = session->cut == ZKL_CUT_WHEN_ANSWERED;
    call->cut_when_made = call->cut_when_answered && session->cut_contender;
    session->cut_is_next = call->cut_when_made;
    return !call->cut_when_answered;
}

bool zkl_server_draw_cut(zkl_server_session *session, zkl_call *call, zkl_cut *cut) {
    const zkl_ensemble_options *options = &session->ensemble->options;
    const zkl_ensemble_rates *rates = &options->rates;
    if (is_ordered_for(session, call)) {
        return draw_ordered(session, call, cut);
    }
    if (call->kind == ZKL_CALL_PING) {
        return false;
    }
    if (zkl_world_chance(rates->request_lost)) {
        *cut = ZKL_CUT_REQUESTS_LOST;
        return true;
    }
    if (zkl_world_chance(rates->request_late)) {
        call->late_us = zkl_ensemble_draw(&options->slow_commit_us);
        *cut = ZKL_CUT_REPLIES_LOST;
        return true;
    }
    *cut = ZKL_CUT_REPLIES_LOST;
    return zkl_world_chance(rates->reply_lost);
}

void zkl_server_hold_back(zkl_server *server, zkl_call *call) {
    int64_t late_us = call->late_us;
    call->late_us = 0;
    call->session_id = call->wire->attachment->session->id;
    zkl_channel_send(&server->held_back, &call->message, late_us);
}

void zkl_server_go_on(void *arg, zkl_message *message) {
    zkl_server *server = arg;
    zkl_call *call = (zkl_call *)message;
    zkl_server_session *session = zkl_ensemble_find_session(server->ensemble, call->session_id);
    const zkl_attachment *attachment = session->attachments[server->number];
    bool is_back = attachment != NULL && attachment->wire != NULL && attachment->wire != call->wire;
    if (is_back) {
        zkl_call_release(call);
    } else {
        zkl_server_take_late(server, session, call);
    }
}

bool zkl_server_cuts_answer(zkl_server_session *session, const zkl_call *call) {
    if (!call->cut_when_made) {
        return call->cut_when_answered;
    }
    bool cuts = session->cut_is_next && call->error == ZKL_SERVER_ERROR_NONE;
    if (cuts) {
        session->cut_is_next = false;
    }
    return cuts;
}
