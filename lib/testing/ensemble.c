/* What the outside tells the ensemble, and asks it. */
#include "testing/ensemble.h"

#include <stdio.h>
#include <string.h>

#include "testing/machine.h"
#include "testing/servers.h"
#include "testing/wire.h"

static zkl_ensemble *current;

zkl_ensemble_options zkl_ensemble_defaults(void) {
    return (zkl_ensemble_options){
        .servers = 3,
        .tick_ms = 2000,
        .container_ms = 60000,
        .sync_limit_ticks = 5,
        .message_us = { 100, 500 },
        .link_us = { 100, 500 },
        .commit_us = { 300, 2000 },
        .apply_us = { 0, 500 },
        .delivery_us = { 0, 0 },
        .election_us = { 200 * ZKL_US_PER_MS, 1500 * ZKL_US_PER_MS },
        .join_us = { 5 * ZKL_US_PER_MS, 200 * ZKL_US_PER_MS },
        .slow_message_us = { 5 * ZKL_US_PER_MS, 300 * ZKL_US_PER_MS },
        .slow_commit_us = { 20 * ZKL_US_PER_MS, 1500 * ZKL_US_PER_MS },
        .slow_apply_us = { 5 * ZKL_US_PER_MS, 500 * ZKL_US_PER_MS },
        .slow_delivery_us = { 1 * ZKL_US_PER_MS, 300 * ZKL_US_PER_MS },
        .rates.close_reset = 500000,
    };
}

int64_t zkl_ensemble_draw(const zkl_range *range) {
    return range->low == range->high ? range->low
                                     : zkl_world_random_between(range->low, range->high);
}

int64_t zkl_ensemble_tick_us(const zkl_ensemble *ensemble) {
    return (int64_t)ensemble->options.tick_ms * ZKL_US_PER_MS;
}

/* ---- Beginning and end ----------------------------------------------------------------------- */

static void on_join(void *arg) {
    zkl_server *server = arg;
    if (server->state == ZKL_SERVER_LOOKING && !server->cut_off && server->ensemble->in_office) {
        zkl_server_start_serving(server);
        zkl_leader_review_quorum(server->ensemble);
    }
}

static void on_noticed(void *arg) {
    zkl_server *server = arg;
    if (zkl_server_leads(server)) {
        zkl_leader_step_down(server->ensemble);
    } else {
        zkl_server_stop_serving(server, ZKL_SERVER_LOOKING);
    }
}

zkl_ensemble *zkl_ensemble_begin(const zkl_ensemble_options *options) {
    if (current != NULL) {
        zkl_testing_fail("the ensemble before must be ended, and that before its world");
    }
    if (options->servers < 1 || options->servers > ZKL_SERVERS_MAX) {
        zkl_testing_fail("an ensemble has 1 to %d servers, not %u", ZKL_SERVERS_MAX,
                         (unsigned)options->servers);
    }
    zkl_ensemble *ensemble = zkl_testing_allocate(sizeof(*ensemble));
    current = ensemble;
    ensemble->options = *options;
    ensemble->tree = zkl_tree_make();
    for (uint32_t i = 0; i < options->servers; i++) {
        zkl_server *server = &ensemble->servers[i];
        zkl_server_begin(server, ensemble, i);
        server->joining.run = on_join;
        server->joining.arg = server;
        server->noticing.run = on_noticed;
        server->noticing.arg = server;
    }
    zkl_leader_begin(ensemble);
    zkl_machine_begin();
    return ensemble;
}

static void free_sessions(zkl_ensemble *ensemble) {
    zkl_server_session *session = NULL;
    zkl_server_session *next = NULL;
    HASH_ITER(hh, ensemble->sessions_by_id, session, next) {
        HASH_DELETE(hh, ensemble->sessions_by_id, session);
        zkl_world_unschedule(&session->expiry);
        zkl_testing_free(session);
    }
}

void zkl_ensemble_end(void) {
    zkl_ensemble *ensemble = current;
    current = NULL;
    if (ensemble == NULL) {
        return;
    }
    for (uint32_t i = 0; i < ensemble->options.servers; i++) {
        zkl_server_end(&ensemble->servers[i]);
    }
    zkl_leader_end(ensemble);
    zkl_wires_end(ensemble);
    free_sessions(ensemble);
    zkl_rights_end(ensemble);
    zkl_tree_free(ensemble->tree);
    zkl_testing_free(ensemble);
}

zkl_ensemble *zkl_ensemble_current(void) {
    return current;
}

const zkl_ensemble_options *zkl_ensemble_get_options(const zkl_ensemble *ensemble) {
    return &ensemble->options;
}

void zkl_ensemble_tell_delivered(const zkl_delivery *delivery) {
    if (current != NULL && current->options.hooks.delivered != NULL) {
        current->options.hooks.delivered(current->options.hooks.arg, delivery);
    }
}

/* ---- Sessions -------------------------------------------------------------------------------- */

zkl_server_session *zkl_ensemble_find_session(const zkl_ensemble *ensemble, int64_t session_id) {
    zkl_server_session *session = NULL;
    HASH_FIND(hh, ensemble->sessions_by_id, &session_id, sizeof(session_id), session);
    return session;
}

zkl_server_session *zkl_ensemble_add_session(zkl_ensemble *ensemble, uint32_t server,
                                             int32_t timeout_ms) {
    const int server_bits = 56; /* as ZooKeeper's: the server's number comes first */
    const int64_t spread = 0x10000;
    zkl_server_session *session = zkl_testing_allocate(sizeof(*session));
    session->ensemble = ensemble;
    session->id = ((int64_t)(server + 1) << server_bits) + ++ensemble->sessions_made * spread;
    session->timeout_ms = timeout_ms;
    zkl_leader_prepare_session(session);
    HASH_ADD(hh, ensemble->sessions_by_id, id, sizeof(session->id), session);
    if (ensemble->last_session != NULL) {
        ensemble->last_session->next_made = session;
    } else {
        ensemble->first_session = session;
    }
    ensemble->last_session = session;
    return session;
}

/* ---- Faults of servers -------------------------------------------------------------------------
 */

static zkl_server *server_of(zkl_ensemble *ensemble, uint32_t number) {
    if (number >= ensemble->options.servers) {
        zkl_testing_fail("there is no server %u", (unsigned)number);
    }
    return &ensemble->servers[number];
}

void zkl_ensemble_stop_server(zkl_ensemble *ensemble, uint32_t number) {
    zkl_server *server = server_of(ensemble, number);
    if (server->state == ZKL_SERVER_STOPPED) {
        return;
    }
    bool led = zkl_server_leads(server);
    zkl_server_stop_serving(server, ZKL_SERVER_STOPPED);
    if (led) {
        zkl_leader_step_down(ensemble);
    }
    zkl_leader_review_quorum(ensemble);
}

void zkl_ensemble_start_server(zkl_ensemble *ensemble, uint32_t number) {
    zkl_server *server = server_of(ensemble, number);
    if (server->state == ZKL_SERVER_STOPPED) {
        server->state = ZKL_SERVER_LOOKING;
        zkl_leader_let_join(server);
        zkl_leader_review_quorum(ensemble);
    }
}

void zkl_ensemble_cut_off_server(zkl_ensemble *ensemble, uint32_t number) {
    zkl_server *server = server_of(ensemble, number);
    if (server->cut_off) {
        return;
    }
    server->cut_off = true;
    zkl_channel_hold(&server->to_leader);
    zkl_channel_hold(&server->from_leader);
    if (server->state == ZKL_SERVER_SERVING) {
        /* It has last heard of the leader within half a tick. */
        int64_t tick_us = zkl_ensemble_tick_us(ensemble);
        int64_t limit_us = ensemble->options.sync_limit_ticks * tick_us;
        int64_t since_us = (int64_t)zkl_world_random((uint64_t)tick_us / 2 + 1);
        zkl_world_schedule(&server->noticing, zkl_world_now_us() + limit_us - since_us);
    }
    zkl_leader_review_quorum(ensemble);
}

void zkl_ensemble_mend_server(zkl_ensemble *ensemble, uint32_t number) {
    zkl_server *server = server_of(ensemble, number);
    if (!server->cut_off) {
        return;
    }
    server->cut_off = false;
    zkl_world_unschedule(&server->noticing);
    if (server->state == ZKL_SERVER_SERVING && !server->linked) {
        zkl_server_stop_serving(server, ZKL_SERVER_LOOKING);
    }
    zkl_channel_release(&server->to_leader);
    zkl_channel_release(&server->from_leader);
    if (server->state == ZKL_SERVER_LOOKING) {
        zkl_leader_let_join(server);
    }
    zkl_leader_review_quorum(ensemble);
}

void zkl_ensemble_slow_server(zkl_ensemble *ensemble, uint32_t number, int64_t by_us,
                              int64_t for_us) {
    zkl_server *server = server_of(ensemble, number);
    server->slow_by_us = by_us;
    server->slow_until_us = zkl_world_now_us() + for_us;
}

void zkl_ensemble_refuse_connections(zkl_ensemble *ensemble, uint32_t server, int64_t for_us) {
    server_of(ensemble, server)->refuse_until_us = zkl_world_now_us() + for_us;
}

void zkl_ensemble_mute_connections(zkl_ensemble *ensemble, uint32_t server, int64_t for_us) {
    server_of(ensemble, server)->mute_until_us = zkl_world_now_us() + for_us;
}

void zkl_ensemble_throttle(zkl_ensemble *ensemble, uint32_t server, int64_t for_us) {
    server_of(ensemble, server)->throttle_until_us = zkl_world_now_us() + for_us;
}

void zkl_ensemble_change_leader(zkl_ensemble *ensemble) {
    zkl_leader_step_down(ensemble);
}

void zkl_ensemble_slow_commits(zkl_ensemble *ensemble, int64_t by_us, int64_t for_us) {
    ensemble->slow_by_us = by_us;
    ensemble->slow_until_us = zkl_world_now_us() + for_us;
}

void zkl_ensemble_set_rates(zkl_ensemble *ensemble, const zkl_ensemble_rates *rates) {
    ensemble->options.rates = *rates;
}

static void heal_server(zkl_server *server) {
    zkl_ensemble_mend_server(server->ensemble, server->number);
    zkl_ensemble_start_server(server->ensemble, server->number);
    server->slow_until_us = 0;
    server->refuse_until_us = 0;
    server->mute_until_us = 0;
    server->throttle_until_us = 0;
}

void zkl_ensemble_heal(zkl_ensemble *ensemble) {
    ensemble->options.rates = (zkl_ensemble_rates){ 0 };
    ensemble->slow_until_us = 0;
    zkl_rights_grant_again(ensemble);
    zkl_machine_heal();
    for (uint32_t i = 0; i < ensemble->options.servers; i++) {
        heal_server(&ensemble->servers[i]);
    }
    for (zkl_server_session *session = ensemble->first_session; session != NULL;
         session = session->next_made) {
        session->cut_is_next = false;
    }
}

bool zkl_ensemble_has_leader(const zkl_ensemble *ensemble) {
    return ensemble->in_office;
}

uint32_t zkl_ensemble_leader(const zkl_ensemble *ensemble) {
    return ensemble->leader;
}

uint32_t zkl_ensemble_server_count(const zkl_ensemble *ensemble) {
    return ensemble->options.servers;
}

bool zkl_ensemble_server_serves(const zkl_ensemble *ensemble, uint32_t server) {
    return ensemble->servers[server].state == ZKL_SERVER_SERVING;
}

/* ---- Faults of connections and sessions ---------------------------------------------------------
 */

static zkl_wire *wire_of(const zkl_ensemble *ensemble, int64_t session_id) {
    const zkl_server_session *session = zkl_ensemble_find_session(ensemble, session_id);
    for (uint32_t i = 0; session != NULL && i < ensemble->options.servers; i++) {
        const zkl_attachment *attachment = session->attachments[i];
        zkl_wire *wire = attachment != NULL ? attachment->wire : NULL;
        if (wire != NULL && wire->client_open && !wire->breaking) {
            return wire;
        }
    }
    return NULL;
}

bool zkl_ensemble_cut(zkl_ensemble *ensemble, int64_t session_id, zkl_cut cut) {
    zkl_wire *wire = wire_of(ensemble, session_id);
    if (wire != NULL) {
        zkl_wire_cut(wire, cut);
    }
    return wire != NULL;
}

void zkl_ensemble_cut_next(zkl_ensemble *ensemble, int64_t session_id, zkl_call_kind kind,
                           zkl_cut cut, int64_t late_us) {
    zkl_server_session *session = zkl_ensemble_find_session(ensemble, session_id);
    if (session != NULL) {
        session->cut_is_next = true;
        session->cut_contender = false;
        session->cut_kind = kind;
        session->cut = cut;
        session->cut_late_us = late_us;
    }
}

void zkl_ensemble_cut_next_contender(zkl_ensemble *ensemble, int64_t session_id, zkl_cut cut) {
    zkl_server_session *session = zkl_ensemble_find_session(ensemble, session_id);
    zkl_ensemble_cut_next(ensemble, session_id, ZKL_CALL_CREATE, cut, 0);
    if (session != NULL) {
        session->cut_contender = true;
    }
}

bool zkl_ensemble_expire(zkl_ensemble *ensemble, int64_t session_id) {
    zkl_server_session *session = zkl_ensemble_find_session(ensemble, session_id);
    return session != NULL && zkl_leader_expire(session);
}

bool zkl_ensemble_move(zkl_ensemble *ensemble, int64_t session_id) {
    zkl_server_session *session = zkl_ensemble_find_session(ensemble, session_id);
    bool moves = session != NULL && session->tracked && ensemble->in_office;
    if (moves) {
        session->owner = ++ensemble->last_link_number; /* that of nobody here */
    }
    return moves;
}

bool zkl_ensemble_keep_connection(zkl_ensemble *ensemble, int64_t session_id) {
    zkl_wire *wire = wire_of(ensemble, session_id);
    if (wire != NULL) {
        wire->kept = true;
    }
    return wire != NULL;
}

static bool ask_client(zkl_ensemble *ensemble, int64_t session_id, zkl_answer_kind kind) {
    zkl_wire *wire = wire_of(ensemble, session_id);
    if (wire != NULL) {
        zkl_wire_answer(wire, zkl_answer_make(kind, NULL));
    }
    return wire != NULL;
}

bool zkl_ensemble_repeat_news(zkl_ensemble *ensemble, int64_t session_id) {
    return ask_client(ensemble, session_id, ZKL_ANSWER_REPEAT_NEWS);
}

bool zkl_ensemble_replace_connection(zkl_ensemble *ensemble, int64_t session_id) {
    return ask_client(ensemble, session_id, ZKL_ANSWER_REPLACE);
}

/* ---- By hand --------------------------------------------------------------------------------- */

/* `results`: one for each operation of the call. */
static zkl_server_error write_by_hand(zkl_ensemble *ensemble, int64_t session_id, zkl_call *call,
                                      zkl_operation_result *results) {
    call->session_id = session_id;
    const zkl_tree_transaction *transaction = zkl_leader_commit_now(ensemble, call);
    if (transaction == NULL) {
        return ZKL_SERVER_ERROR_THROTTLED;
    }
    memcpy(results, transaction->results, transaction->result_count * sizeof(*results));
    return transaction->error;
}

int64_t zkl_ensemble_make_session(zkl_ensemble *ensemble) {
    zkl_server_session *session = zkl_ensemble_add_session(ensemble, ensemble->leader, 0);
    session->foreign = true;
    session->tracked = true;
    zkl_call *call = zkl_call_make(ZKL_CALL_CONNECT, 0);
    call->write = ZKL_WRITE_CREATE_SESSION;
    call->session_id = session->id;
    return zkl_leader_commit_now(ensemble, call) != NULL ? session->id : 0;
}

zkl_server_error zkl_ensemble_create(zkl_ensemble *ensemble, int64_t session_id, const char *path,
                                     const char *data, bool ephemeral, bool sequential, char *made,
                                     size_t made_size) {
    zkl_write operation = {
        .kind = ZKL_WRITE_CREATE,
        .path = path,
        .data = data,
        .data_size = data != NULL ? strlen(data) : 0,
        .ephemeral = ephemeral,
        .sequential = sequential,
    };
    zkl_operation_result result = { .path = NULL };
    zkl_call *call = zkl_call_make_operations(ZKL_CALL_CREATE, ZKL_WRITE_CREATE, &operation, 1);
    zkl_server_error error = write_by_hand(ensemble, session_id, call, &result);
    if (made != NULL && result.path != NULL) {
        snprintf(made, made_size, "%s", result.path);
    }
    return error;
}

zkl_server_error zkl_ensemble_delete(zkl_ensemble *ensemble, const char *path) {
    zkl_write operation = {
        .kind = ZKL_WRITE_DELETE,
        .path = path,
        .version = ZKL_ANY_VERSION,
    };
    zkl_operation_result result;
    zkl_call *call = zkl_call_make_operations(ZKL_CALL_DELETE, ZKL_WRITE_DELETE, &operation, 1);
    return write_by_hand(ensemble, 0, call, &result);
}

zkl_server_error zkl_ensemble_set_data(zkl_ensemble *ensemble, const char *path, const char *data) {
    zkl_write operation = {
        .kind = ZKL_WRITE_SET,
        .path = path,
        .data = data,
        .data_size = strlen(data),
        .version = ZKL_ANY_VERSION,
    };
    zkl_operation_result result;
    zkl_call *call = zkl_call_make_operations(ZKL_CALL_SET, ZKL_WRITE_SET, &operation, 1);
    return write_by_hand(ensemble, 0, call, &result);
}

zkl_server_error zkl_ensemble_multi(zkl_ensemble *ensemble, int64_t session_id,
                                    const zkl_write *operations, size_t count,
                                    zkl_operation_result *results) {
    zkl_call *call = zkl_call_make_operations(ZKL_CALL_MULTI, ZKL_WRITE_MULTI, operations, count);
    return write_by_hand(ensemble, session_id, call, results);
}

bool zkl_ensemble_set_creates(zkl_ensemble *ensemble, const char *path, int32_t creates) {
    return zkl_tree_set_creates(ensemble->tree, path, creates);
}

/* ---- What is so ------------------------------------------------------------------------------ */

const zkl_tree *zkl_ensemble_tree(const zkl_ensemble *ensemble) {
    return ensemble->tree;
}

int64_t zkl_ensemble_committed_zxid(const zkl_ensemble *ensemble) {
    return ensemble->zxid;
}

int64_t zkl_ensemble_applied_zxid(const zkl_ensemble *ensemble, uint32_t server) {
    return ensemble->servers[server].applied_zxid;
}

bool zkl_ensemble_session_is_alive(const zkl_ensemble *ensemble, int64_t session_id) {
    return zkl_tree_has_session(ensemble->tree, session_id);
}

int32_t zkl_ensemble_session_timeout_ms(const zkl_ensemble *ensemble, int64_t session_id) {
    const zkl_server_session *session = zkl_ensemble_find_session(ensemble, session_id);
    return session != NULL ? session->timeout_ms : 0;
}

int32_t zkl_ensemble_session_server(const zkl_ensemble *ensemble, int64_t session_id) {
    const zkl_wire *wire = wire_of(ensemble, session_id);
    return wire != NULL ? (int32_t)wire->server : -1;
}

size_t zkl_ensemble_watch_count(const zkl_ensemble *ensemble, int64_t session_id) {
    const zkl_server_session *session = zkl_ensemble_find_session(ensemble, session_id);
    size_t count = 0;
    for (uint32_t i = 0; session != NULL && i < ensemble->options.servers; i++) {
        const zkl_attachment *attachment = session->attachments[i];
        if (attachment != NULL && attachment->wire != NULL) {
            count += attachment->wire->watch_count;
        }
    }
    return count;
}

uint64_t zkl_ensemble_request_count(const zkl_ensemble *ensemble, int64_t session_id,
                                    zkl_call_kind kind) {
    const zkl_server_session *session = zkl_ensemble_find_session(ensemble, session_id);
    return session != NULL ? session->requests[kind] : 0;
}

int64_t zkl_ensemble_session_at(const zkl_ensemble *ensemble, size_t index) {
    const zkl_server_session *session = ensemble->first_session;
    while (session != NULL && (session->foreign || index > 0)) {
        index -= session->foreign ? 0 : 1;
        session = session->next_made;
    }
    return session != NULL ? session->id : 0;
}
