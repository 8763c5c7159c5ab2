/* The leader: the order of all writes, the end of sessions, and who is the next. */
#include <string.h>

#include "base/threads.h"
#include "testing/servers.h"
#include "testing/wire.h"

enum { EPOCH_BITS = 32, IN_HAND_MAX_US = 5 * ZKL_US_PER_MS };

/* ---- Sessions -------------------------------------------------------------------------------- */

/* As ZooKeeper's ExpiryQueue: sessions end in batches, once a tick. */
static int64_t round_up_to_tick(const zkl_ensemble *ensemble, int64_t at_us) {
    int64_t tick_us = zkl_ensemble_tick_us(ensemble);
    return ensemble->term_begun_us + ((at_us - ensemble->term_begun_us) / tick_us + 1) * tick_us;
}

static void on_expiry(void *arg) {
    zkl_server_session *session = arg;
    if (!session->tracked || !session->ensemble->in_office) {
        return;
    }
    if (session->expires_us > zkl_world_now_us()) {
        zkl_world_schedule(&session->expiry, session->expires_us);
    } else {
        (void)zkl_leader_expire(session);
    }
}

void zkl_leader_touch(zkl_server_session *session) {
    if (!session->tracked || session->foreign) {
        return;
    }
    int64_t ends_us = zkl_world_now_us() + (int64_t)session->timeout_ms * ZKL_US_PER_MS;
    int64_t expires_us = round_up_to_tick(session->ensemble, ends_us);
    if (expires_us > session->expires_us) {
        session->expires_us = expires_us;
    }
    if (session->expiry.place == 0) {
        zkl_world_schedule(&session->expiry, session->expires_us);
    }
}

static void track(zkl_server_session *session) {
    session->tracked = true;
    session->owner = 0;
    zkl_world_unschedule(&session->expiry);
    zkl_leader_touch(session);
}

/* ---- Committing ------------------------------------------------------------------------------ */

/* The leader's own deletion of a container is nobody's. */
static void note_refusals(const zkl_ensemble *ensemble, const zkl_call *call) {
    for (size_t i = 0; call->wire != NULL && i < call->operation_count; i++) {
        zkl_write *operation = &call->operations[i];
        operation->refusal =
            zkl_rights_check(ensemble, operation, call->wire->identities, ZKL_LATEST_ZXID);
    }
}

/* The end of a session deletes its nodes in no order. */
static void shuffle(zkl_change *changes, size_t count) {
    for (size_t i = count; i > 1; i--) {
        size_t other = (size_t)zkl_world_random(i);
        zkl_change change = changes[i - 1];
        changes[i - 1] = changes[other];
        changes[other] = change;
    }
}

static zkl_tree_transaction *write_to_tree(zkl_ensemble *ensemble, const zkl_call *call) {
    zkl_write_request request = {
        .kind = call->write,
        .session_id = call->session_id,
        .time_ms = zkl_wall_clock_ms(),
        .timeout_ms = call->timeout_ms,
        .operations = call->operations,
        .operation_count = call->operation_count,
        .refusal = call->refusal,
        .identities = call->wire != NULL ? call->wire->identities : NULL,
        .seen_zxid = call->seen_zxid,
    };
    zkl_tree_transaction *transaction = zkl_tree_write(ensemble->tree, &request, ++ensemble->zxid);
    if (transaction->kind == ZKL_WRITE_CLOSE_SESSION) {
        shuffle(transaction->changes, transaction->change_count);
    }
    return transaction;
}

static void note_end_of_session(zkl_ensemble *ensemble, const zkl_tree_transaction *transaction) {
    if (transaction->kind != ZKL_WRITE_CLOSE_SESSION ||
        transaction->error != ZKL_SERVER_ERROR_NONE) {
        return;
    }
    zkl_server_session *session = zkl_ensemble_find_session(ensemble, transaction->session_id);
    session->over = true;
    session->tracked = false;
    zkl_world_unschedule(&session->expiry);
}

static void note_result(zkl_call *call, const zkl_tree_transaction *transaction) {
    call->error = transaction->error;
    call->zxid = transaction->zxid;
    call->results = transaction->results;
    call->result_count = transaction->result_count;
    call->made_path = transaction->result_count > 0 ? transaction->results[0].path : NULL;
    if (call->write == ZKL_WRITE_SET && call->error == ZKL_SERVER_ERROR_NONE) {
        const zkl_node *node = transaction->changes[0].node;
        zkl_node_stat stat = zkl_node_get_stat(node);
        call->set_czxid = stat.czxid;
        call->set_owner = stat.ephemeral_owner;
        call->set_view = zkl_node_look(node, transaction->zxid);
        call->set_view.data = NULL; /* no answer to a set has them */
        call->set_view.data_size = 0;
    }
}

static void append_to_log(zkl_ensemble *ensemble, zkl_tree_transaction *transaction,
                          zkl_call *call) {
    zkl_log_entry *entry = zkl_testing_allocate(sizeof(*entry));
    entry->transaction = transaction;
    entry->call = call;
    if (ensemble->log_last != NULL) {
        ensemble->log_last->next = entry;
    } else {
        ensemble->log_first = entry;
    }
    ensemble->log_last = entry;
    for (uint32_t i = 0; i < ensemble->options.servers; i++) {
        if (ensemble->servers[i].linked) {
            zkl_server_send(&ensemble->servers[i], zkl_packet_make(ZKL_PACKET_COMMIT, NULL, entry));
        }
    }
}

/* Takes the caller's reference. */
static const zkl_tree_transaction *commit(zkl_ensemble *ensemble, zkl_call *call) {
    zkl_tree_transaction *transaction = write_to_tree(ensemble, call);
    ensemble->committed_us = zkl_world_now_us();
    note_end_of_session(ensemble, transaction);
    note_result(call, transaction);
    append_to_log(ensemble, transaction, call);
    const zkl_ensemble_hooks *hooks = &ensemble->options.hooks;
    if (hooks->committed != NULL) {
        hooks->committed(hooks->arg, transaction);
    }
    return transaction;
}

static void commit_next(void *arg, zkl_message *message) {
    zkl_call *call = (zkl_call *)message;
    note_refusals(arg, call);
    commit(arg, call);
}

const zkl_tree_transaction *zkl_leader_commit_now(zkl_ensemble *ensemble, zkl_call *call) {
    if (!ensemble->in_office) {
        zkl_call_release(call);
        return NULL;
    }
    call->seen_zxid = ensemble->zxid;
    return commit(ensemble, call);
}

void zkl_leader_trim_log(zkl_ensemble *ensemble) {
    int64_t seen_by_all = ensemble->zxid;
    for (uint32_t i = 0; i < ensemble->options.servers; i++) {
        const zkl_server *server = &ensemble->servers[i];
        if (server->state == ZKL_SERVER_SERVING && server->applied_zxid < seen_by_all) {
            seen_by_all = server->applied_zxid;
        }
    }
    while (ensemble->log_first != NULL && ensemble->log_first->transaction->zxid <= seen_by_all) {
        zkl_log_entry *entry = ensemble->log_first;
        ensemble->log_first = entry->next;
        if (ensemble->log_first == NULL) {
            ensemble->log_last = NULL;
        }
        zkl_call_release(entry->call);
        zkl_tree_transaction_free(entry->transaction);
        zkl_testing_free(entry);
    }
    zkl_tree_forget(ensemble->tree, seen_by_all);
}

/* ---- Numbering ---------------------------------------------------------------------------------
 */

static int64_t draw_commit_delay(const zkl_ensemble *ensemble, const zkl_call *call) {
    const zkl_ensemble_options *options = &ensemble->options;
    bool slow = zkl_world_chance(options->rates.slow_commit);
    int64_t delay_us = zkl_ensemble_draw(slow ? &options->slow_commit_us : &options->commit_us);
    bool slow_disks = ensemble->slow_until_us > zkl_world_now_us();
    return delay_us + call->late_us + (slow_disks ? ensemble->slow_by_us : 0);
}

zkl_server_error zkl_leader_check_session(zkl_server_session *session, uint32_t link_number) {
    if (!session->tracked) {
        return ZKL_SERVER_ERROR_SESSION_EXPIRED;
    }
    if (session->owner != 0 && session->owner != link_number) {
        return ZKL_SERVER_ERROR_SESSION_MOVED;
    }
    session->owner = link_number;
    return ZKL_SERVER_ERROR_NONE;
}

static bool counts_on(const zkl_ensemble *ensemble, const zkl_call *call) {
    bool found = false;
    for (size_t i = 0; i < call->operation_count; i++) {
        const zkl_write *operation = &call->operations[i];
        found |= operation->kind == ZKL_WRITE_CREATE &&
                 zkl_tree_counts_on(ensemble->tree, operation->path, ensemble->zxid);
    }
    return found;
}

/* A follower may have carried out the last transaction, and have answered, before the leader has:
 * who was answered then asks for the next while the leader still has that one in hand. Nothing is
 * drawn where it makes no difference. */
static int64_t draw_seen_zxid(zkl_ensemble *ensemble, const zkl_call *call) {
    if (ensemble->carried_out_zxid < ensemble->zxid && call->wire->server != ensemble->leader &&
        zkl_world_now_us() - ensemble->committed_us <= IN_HAND_MAX_US &&
        counts_on(ensemble, call)) {
        if (zkl_world_random(2) == 0) {
            return ensemble->zxid - 1;
        }
        ensemble->carried_out_zxid = ensemble->zxid;
    }
    return ensemble->zxid;
}

/* The order in which this is called is that of the zxids. */
static void number(zkl_ensemble *ensemble, zkl_call *call, uint32_t link_number) {
    zkl_server_session *session = zkl_ensemble_find_session(ensemble, call->session_id);
    if (call->write == ZKL_WRITE_CREATE_SESSION) {
        track(session);
    }
    call->refusal = zkl_leader_check_session(session, link_number);
    if (call->write == ZKL_WRITE_CLOSE_SESSION && session->tracked) {
        call->refusal = ZKL_SERVER_ERROR_NONE; /* by whatever connection (PrepRequestProcessor) */
        session->tracked = false;
    }
    call->seen_zxid = draw_seen_zxid(ensemble, call);
    call->references++;
    zkl_channel_send(&ensemble->pipeline, &call->message, draw_commit_delay(ensemble, call));
}

bool zkl_leader_expire(zkl_server_session *session) {
    zkl_ensemble *ensemble = session->ensemble;
    if (!session->tracked || !ensemble->in_office) {
        return false;
    }
    session->tracked = false;
    zkl_call *call = zkl_call_make(ZKL_CALL_CLOSE, 0);
    call->write = ZKL_WRITE_CLOSE_SESSION;
    call->session_id = session->id;
    call->seen_zxid = ensemble->zxid;
    zkl_channel_send(&ensemble->pipeline, &call->message, draw_commit_delay(ensemble, call));
    return true;
}

static void revalidate(zkl_ensemble *ensemble, zkl_call *call, uint32_t link_number) {
    zkl_server_session *session = zkl_ensemble_find_session(ensemble, call->session_id);
    bool valid = session->tracked;
    if (valid) {
        session->owner = link_number;
        session->timeout_ms = call->timeout_ms;
        zkl_leader_touch(session);
    }
    zkl_packet *packet = zkl_packet_make(ZKL_PACKET_REVALIDATED, call, NULL);
    packet->valid = valid;
    zkl_server_send(&ensemble->servers[call->wire->server], packet);
}

void zkl_leader_receive(zkl_ensemble *ensemble, zkl_packet *packet) {
    if (ensemble->in_office) {
        switch (packet->kind) {
        case ZKL_PACKET_WRITE:
            number(ensemble, packet->call, packet->link_number);
            break;
        case ZKL_PACKET_REVALIDATE:
            revalidate(ensemble, packet->call, packet->link_number);
            break;
        default:
            for (size_t i = 0; i < packet->session_count; i++) {
                zkl_leader_touch(packet->sessions[i]);
            }
            break;
        }
    }
    zkl_packet_free(packet);
}

/* ---- The leader's clock ---------------------------------------------------------------------- */

/* As ContainerManager: asks for the deletion, which fails where a child has come meanwhile. One at
 * a time, as there are few. */
static void look_for_empty_container(zkl_ensemble *ensemble) {
    int64_t interval_us = ensemble->options.container_ms * ZKL_US_PER_MS;
    if (zkl_world_now_us() - ensemble->containers_seen_us < interval_us) {
        return;
    }
    ensemble->containers_seen_us = zkl_world_now_us();
    const zkl_node *node = zkl_tree_find_empty_container(ensemble->tree);
    if (node == NULL) {
        return;
    }
    zkl_write operation = {
        .kind = ZKL_WRITE_DELETE,
        .path = zkl_node_path(node),
        .version = ZKL_ANY_VERSION,
    };
    zkl_call *call = zkl_call_make_operations(ZKL_CALL_DELETE, ZKL_WRITE_DELETE, &operation, 1);
    call->seen_zxid = ensemble->zxid;
    zkl_channel_send(&ensemble->pipeline, &call->message, draw_commit_delay(ensemble, call));
}

static void ping_servers(void *arg) {
    zkl_ensemble *ensemble = arg;
    for (uint32_t i = 0; i < ensemble->options.servers; i++) {
        zkl_server *server = &ensemble->servers[i];
        if (server->linked && !zkl_server_leads(server)) { /* cut off, it hears of it later */
            zkl_server_send(server, zkl_packet_make(ZKL_PACKET_PING, NULL, NULL));
        }
    }
    look_for_empty_container(ensemble);
    zkl_world_schedule(&ensemble->pinging, zkl_world_now_us() + zkl_ensemble_tick_us(ensemble) / 2);
}

/* ---- Elections ------------------------------------------------------------------------------- */

static bool is_majority(const zkl_ensemble *ensemble, uint32_t count) {
    return count > ensemble->options.servers / 2;
}

static uint32_t count_reachable(const zkl_ensemble *ensemble) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < ensemble->options.servers; i++) {
        const zkl_server *server = &ensemble->servers[i];
        count += server->state != ZKL_SERVER_STOPPED && !server->cut_off ? 1 : 0;
    }
    return count;
}

void zkl_leader_review_quorum(zkl_ensemble *ensemble) {
    if (!ensemble->in_office) {
        return;
    }
    if (!ensemble->servers[ensemble->leader].cut_off &&
        is_majority(ensemble, count_reachable(ensemble))) {
        zkl_world_unschedule(&ensemble->losing_quorum);
        zkl_channel_release(&ensemble->pipeline);
        return;
    }
    zkl_channel_hold(&ensemble->pipeline);
    if (ensemble->losing_quorum.place == 0) {
        int64_t limit_us = ensemble->options.sync_limit_ticks * zkl_ensemble_tick_us(ensemble);
        zkl_world_schedule(&ensemble->losing_quorum, zkl_world_now_us() + limit_us);
    }
}

static void on_quorum_lost(void *arg) {
    zkl_leader_step_down(arg);
}

/* Of what was numbered, a part may have reached the next leader. */
static void divide_pipeline(zkl_ensemble *ensemble) {
    size_t keep = (size_t)zkl_world_random(zkl_channel_count(&ensemble->pipeline) + 1);
    zkl_message *lost = zkl_channel_take(&ensemble->pipeline, keep);
    while (lost != NULL) {
        zkl_message *next = lost->next;
        zkl_call_release((zkl_call *)lost);
        lost = next;
    }
    zkl_channel_hold(&ensemble->pipeline);
}

static void leave_leader(zkl_server *server) {
    zkl_packets_free(zkl_channel_take(&server->to_leader, 0));
    server->linked = false;
    bool leads_alone = server->ensemble->leader == server->number;
    if (server->state == ZKL_SERVER_SERVING && (!server->cut_off || leads_alone)) {
        zkl_server_stop_serving(server, ZKL_SERVER_LOOKING);
    }
}

static void schedule_election(zkl_ensemble *ensemble, int64_t delay_us) {
    zkl_world_schedule(&ensemble->election, zkl_world_now_us() + delay_us);
}

void zkl_leader_step_down(zkl_ensemble *ensemble) {
    if (!ensemble->in_office) {
        return;
    }
    ensemble->in_office = false;
    zkl_world_unschedule(&ensemble->pinging);
    zkl_world_unschedule(&ensemble->losing_quorum);
    divide_pipeline(ensemble);
    for (uint32_t i = 0; i < ensemble->options.servers; i++) {
        leave_leader(&ensemble->servers[i]);
    }
    schedule_election(ensemble, zkl_ensemble_draw(&ensemble->options.election_us));
}

static bool is_candidate(const zkl_server *server) {
    return server->state == ZKL_SERVER_LOOKING && !server->cut_off;
}

static zkl_server *draw_candidate(zkl_ensemble *ensemble, uint32_t count) {
    uint32_t skip = (uint32_t)zkl_world_random(count);
    zkl_server *server = ensemble->servers;
    while (!is_candidate(server) || skip > 0) {
        skip -= is_candidate(server) ? 1 : 0;
        server++;
    }
    return server;
}

/* A new leader gives each session its full timeout. */
static void track_all_sessions(zkl_ensemble *ensemble) {
    for (zkl_server_session *session = ensemble->first_session; session != NULL;
         session = session->next_made) {
        session->tracked = false;
        if (zkl_tree_has_session(ensemble->tree, session->id)) {
            track(session);
        }
    }
}

static void commit_inherited(zkl_ensemble *ensemble) {
    zkl_message *list = zkl_channel_take(&ensemble->pipeline, 0);
    while (list != NULL) {
        zkl_message *next = list->next;
        commit_next(ensemble, list);
        list = next;
    }
    zkl_channel_release(&ensemble->pipeline);
}

void zkl_leader_let_join(zkl_server *server) {
    zkl_world_schedule(&server->joining,
                       zkl_world_now_us() + zkl_ensemble_draw(&server->ensemble->options.join_us));
}

static void take_office(zkl_ensemble *ensemble, zkl_server *leader) {
    ensemble->leader = leader->number;
    commit_inherited(ensemble);
    ensemble->in_office = true;
    ensemble->zxid = ((ensemble->zxid >> EPOCH_BITS) + 1) << EPOCH_BITS;
    ensemble->term_begun_us = zkl_world_now_us();
    zkl_world_unschedule(&leader->joining);
    zkl_server_start_serving(leader);
    track_all_sessions(ensemble);
    zkl_leader_trim_log(ensemble);
    for (uint32_t i = 0; i < ensemble->options.servers; i++) {
        if (is_candidate(&ensemble->servers[i])) {
            zkl_leader_let_join(&ensemble->servers[i]);
        }
    }
    ping_servers(ensemble);
    zkl_leader_review_quorum(ensemble);
}

static void elect(void *arg) {
    zkl_ensemble *ensemble = arg;
    uint32_t count = 0;
    for (uint32_t i = 0; i < ensemble->options.servers; i++) {
        count += is_candidate(&ensemble->servers[i]) ? 1 : 0;
    }
    if (is_majority(ensemble, count)) {
        take_office(ensemble, draw_candidate(ensemble, count));
    } else {
        schedule_election(ensemble, zkl_ensemble_tick_us(ensemble));
    }
}

/* ---- Beginning and end ----------------------------------------------------------------------- */

static void set_event(zkl_world_event *event, void (*run)(void *arg), void *arg) {
    event->run = run;
    event->arg = arg;
}

void zkl_leader_prepare_session(zkl_server_session *session) {
    set_event(&session->expiry, on_expiry, session);
}

void zkl_leader_begin(zkl_ensemble *ensemble) {
    zkl_channel_begin(&ensemble->pipeline, commit_next, ensemble, NULL);
    set_event(&ensemble->pinging, ping_servers, ensemble);
    set_event(&ensemble->election, elect, ensemble);
    set_event(&ensemble->losing_quorum, on_quorum_lost, ensemble);
    take_office(ensemble, &ensemble->servers[zkl_world_random(ensemble->options.servers)]);
    for (uint32_t i = 0; i < ensemble->options.servers; i++) {
        zkl_server *server = &ensemble->servers[i];
        if (server->state == ZKL_SERVER_LOOKING) {
            zkl_world_unschedule(&server->joining);
            zkl_server_start_serving(server);
        }
    }
}

void zkl_leader_end(zkl_ensemble *ensemble) {
    zkl_world_unschedule(&ensemble->pinging);
    zkl_world_unschedule(&ensemble->election);
    zkl_world_unschedule(&ensemble->losing_quorum);
    zkl_message *call = zkl_channel_take(&ensemble->pipeline, 0);
    while (call != NULL) {
        zkl_message *next = call->next;
        zkl_call_release((zkl_call *)call);
        call = next;
    }
    zkl_leader_trim_log(ensemble); /* no server serves any more: all of it */
}
