/* A server: the sessions' requests in their order, and the transactions in theirs. */
#include <string.h>

#include "base/acl_text.h"
#include "testing/servers.h"
#include "testing/wire.h"

/* ---- Packets --------------------------------------------------------------------------------- */

zkl_packet *zkl_packet_make(zkl_packet_kind kind, zkl_call *call, zkl_log_entry *entry) {
    zkl_packet *packet = zkl_testing_allocate(sizeof(*packet));
    packet->kind = kind;
    packet->call = call;
    packet->entry = entry;
    if (call != NULL) {
        call->references++;
    }
    return packet;
}

void zkl_packet_free(zkl_packet *packet) {
    if (packet->call != NULL) {
        zkl_call_release(packet->call);
    }
    zkl_testing_free(packet);
}

void zkl_packets_free(zkl_message *list) {
    while (list != NULL) {
        zkl_message *next = list->next;
        zkl_packet_free((zkl_packet *)list);
        list = next;
    }
}

/* ---- To and from the leader ------------------------------------------------------------------ */

bool zkl_server_leads(const zkl_server *server) {
    const zkl_ensemble *ensemble = server->ensemble;
    return ensemble->in_office && ensemble->leader == server->number;
}

static void send_to_leader(zkl_server *server, zkl_packet *packet) {
    packet->link_number = server->link_number;
    if (zkl_server_leads(server)) {
        zkl_leader_receive(server->ensemble, packet);
    } else {
        zkl_channel_send(&server->to_leader, &packet->message,
                         zkl_ensemble_draw(&server->ensemble->options.link_us));
    }
}

static void arrive_at_leader(void *arg, zkl_message *message) {
    const zkl_server *server = arg;
    zkl_leader_receive(server->ensemble, (zkl_packet *)message);
}

/* ---- Attachments ----------------------------------------------------------------------------- */

static zkl_attachment *attach(zkl_server *server, zkl_server_session *session) {
    zkl_attachment *attachment = session->attachments[server->number];
    if (attachment == NULL) {
        attachment = zkl_testing_allocate(sizeof(*attachment));
        attachment->server = server;
        attachment->session = session;
        session->attachments[server->number] = attachment;
        DL_APPEND(server->attachments, attachment);
    }
    return attachment;
}

static void take_wire(zkl_attachment *attachment, zkl_wire *wire) {
    attachment->wire = wire;
    wire->attachment = attachment;
}

void zkl_server_forget_wire(zkl_wire *wire) {
    zkl_server_unwatch_all(wire);
    if (wire->attachment != NULL) {
        wire->attachment->wire = NULL;
        wire->attachment = NULL;
    }
}

static void take_call_off(zkl_attachment *attachment, zkl_call *call) {
    DL_DELETE(attachment->calls, call);
    call->attachment = NULL;
}

static void detach(zkl_attachment *attachment) {
    if (attachment->wire != NULL) {
        zkl_wire_close(attachment->wire);
    }
    while (attachment->calls != NULL) {
        zkl_call *call = attachment->calls;
        take_call_off(attachment, call);
        zkl_call_release(call);
    }
    attachment->session->attachments[attachment->server->number] = NULL;
    DL_DELETE(attachment->server->attachments, attachment);
    zkl_testing_free(attachment);
}

static void touch(zkl_attachment *attachment) {
    attachment->touched = true;
    if (zkl_server_leads(attachment->server)) {
        zkl_leader_touch(attachment->session);
    }
}

/* ---- Answers ------------------------------------------------------------------------------------
 */

static void fill_reply(zkl_answer *answer, const zkl_call *call) {
    answer->call = call->kind;
    answer->xid = call->xid;
    answer->error = call->error;
}

static zkl_answer *make_reply(const zkl_call *call) {
    zkl_answer *answer = zkl_answer_make(ZKL_ANSWER_REPLY, call->path);
    fill_reply(answer, call);
    return answer;
}

static zkl_answer *make_view(const zkl_server *server, const zkl_call *call, const zkl_node *node,
                             bool with_data) {
    zkl_node_stat stat = zkl_node_get_stat(node);
    zkl_node_view view = zkl_node_look(node, server->applied_zxid);
    size_t data_size = view.data_size;
    if (!with_data) {
        view.data_size = 0;
    }
    if (call->kind == ZKL_CALL_GET_ACL) {
        view.data = zkl_node_acl(node) != NULL ? zkl_node_acl(node) : ZKL_ACL_OPEN;
        view.data_size = data_size = strlen(view.data);
    }
    zkl_answer *answer = zkl_answer_make_view(call->path, &view);
    answer->view.data_size = data_size; /* is told without them */
    fill_reply(answer, call);
    answer->czxid = stat.czxid;
    answer->ephemeral_owner = stat.ephemeral_owner;
    return answer;
}

static void answer_write(zkl_wire *wire, const zkl_call *call) {
    zkl_answer *answer =
        call->kind == ZKL_CALL_MULTI
            ? zkl_answer_make_results(call->path, call->results, call->result_count)
            : zkl_answer_make(ZKL_ANSWER_REPLY,
                              call->made_path != NULL ? call->made_path : call->path);
    fill_reply(answer, call);
    answer->czxid = call->zxid;
    if (call->kind == ZKL_CALL_SET && call->error == ZKL_SERVER_ERROR_NONE) {
        answer->czxid = call->set_czxid;
        answer->ephemeral_owner = call->set_owner;
        answer->view = call->set_view;
    }
    zkl_wire_answer(wire, answer);
    if (call->kind == ZKL_CALL_CLOSE) {
        zkl_wire_close(wire);
    }
}

/* Servers give children in no order. */
static void shuffle(const char **names, size_t count) {
    for (size_t i = count; i > 1; i--) {
        size_t other = (size_t)zkl_world_random(i);
        const char *name = names[i - 1];
        names[i - 1] = names[other];
        names[other] = name;
    }
}

static zkl_answer *make_list(const zkl_call *call, const zkl_node *node, int64_t zxid) {
    size_t count = 0;
    size_t size = 0;
    for (const zkl_node *child = zkl_node_first_child(node, zxid); child != NULL;
         child = zkl_node_next_child(child, zxid)) {
        count++;
        size += strlen(zkl_node_last_name(child)) + 1;
    }
    size_t path_size = strlen(call->path) + 1;
    zkl_answer *answer =
        zkl_testing_allocate(sizeof(*answer) + count * sizeof(char *) + path_size + size);
    answer->kind = ZKL_ANSWER_REPLY;
    answer->call = call->kind;
    answer->xid = call->xid;
    answer->names = (const char **)(answer + 1);
    char *room = (char *)(answer->names + count);
    answer->path = memcpy(room, call->path, path_size);
    room += path_size;
    for (const zkl_node *child = zkl_node_first_child(node, zxid); child != NULL;
         child = zkl_node_next_child(child, zxid)) {
        size_t name_size = strlen(zkl_node_last_name(child)) + 1;
        memcpy(room, zkl_node_last_name(child), name_size);
        answer->names[answer->name_count++] = room;
        room += name_size;
    }
    shuffle(answer->names, answer->name_count);
    return answer;
}

static bool refuses_read(const zkl_server *server, zkl_wire *wire, zkl_call *call) {
    const zkl_node *node = zkl_tree_find(server->ensemble->tree, call->path, server->applied_zxid);
    bool refused = !zkl_rights_grant(server->ensemble, node, ZKL_PERMISSION_READ, wire->identities);
    if (refused) {
        call->error = ZKL_SERVER_ERROR_NO_PERMISSION;
        zkl_wire_answer(wire, make_reply(call));
    }
    return refused;
}

static void answer_list(zkl_server *server, zkl_wire *wire, zkl_call *call) {
    const zkl_node *node = zkl_tree_find(server->ensemble->tree, call->path, server->applied_zxid);
    if (node == NULL) {
        call->error = ZKL_SERVER_ERROR_NO_NODE;
        zkl_wire_answer(wire, make_reply(call));
    } else if (refuses_read(server, wire, call)) {
        return;
    } else {
        if (call->watch) {
            zkl_server_watch(server, wire, call->path, ZKL_WATCH_CHILDREN);
        }
        zkl_wire_answer(wire, make_list(call, node, server->applied_zxid));
    }
}

/* Of an exists and of a get. The watch of an exists stays in both cases. */
static void answer_node(zkl_server *server, zkl_wire *wire, zkl_call *call) {
    const zkl_node *node = zkl_tree_find(server->ensemble->tree, call->path, server->applied_zxid);
    if (refuses_read(server, wire, call)) {
        return;
    }
    if (call->watch) {
        zkl_server_watch(server, wire, call->path, ZKL_WATCH_NODE);
    }
    call->error = node != NULL ? ZKL_SERVER_ERROR_NONE : ZKL_SERVER_ERROR_NO_NODE;
    zkl_wire_answer(wire, node != NULL ? make_view(server, call, node, call->kind == ZKL_CALL_GET)
                                       : make_reply(call));
}

static void answer_remove_watches(zkl_server *server, zkl_wire *wire, zkl_call *call) {
    if (!zkl_server_unwatch(server, wire, call->path, call->watch_kind)) {
        call->error = ZKL_SERVER_ERROR_NO_WATCHER;
    }
    zkl_wire_answer(wire, make_reply(call));
}

static void tell_missed(zkl_wire *wire, const char *path, zkl_watch_event event) {
    zkl_answer *answer = zkl_answer_make(ZKL_ANSWER_WATCH, path);
    answer->event = event;
    zkl_wire_answer(wire, answer);
}

/* As DataTree.setWatches: what has changed since the client's last zxid fires now; what this server
 * has yet to carry out, then. */
static void set_watch_again(zkl_server *server, zkl_wire *wire, const zkl_watched *watched,
                            int64_t since_zxid) {
    const zkl_node *node =
        zkl_tree_find(server->ensemble->tree, watched->path, server->applied_zxid);
    bool of_children = watched->kind == ZKL_WATCH_CHILDREN;
    if (watched->existed && node == NULL) {
        tell_missed(wire, watched->path, ZKL_WATCH_EVENT_DELETED);
    } else if (of_children && zkl_node_look(node, server->applied_zxid).pzxid > since_zxid) {
        tell_missed(wire, watched->path, ZKL_WATCH_EVENT_CHILDREN);
    } else if (!of_children && watched->existed &&
               zkl_node_look(node, server->applied_zxid).mzxid > since_zxid) {
        tell_missed(wire, watched->path, ZKL_WATCH_EVENT_CHANGED);
    } else if (!watched->existed && node != NULL) {
        tell_missed(wire, watched->path, ZKL_WATCH_EVENT_CREATED);
    } else {
        zkl_server_watch(server, wire, watched->path, watched->kind);
    }
}

static void answer_set_watches(zkl_server *server, zkl_wire *wire, const zkl_call *call) {
    for (size_t i = 0; i < call->watched_count; i++) {
        set_watch_again(server, wire, &call->watched[i], call->last_zxid);
    }
    zkl_wire_answer(wire, make_reply(call));
}

static void answer_connected(zkl_attachment *attachment, zkl_wire *wire, const zkl_call *call) {
    zkl_server *server = attachment->server;
    take_wire(attachment, wire);
    wire->mute = server->mute_until_us > zkl_world_now_us() ||
                 zkl_world_chance(server->ensemble->options.rates.connection_mute);
    zkl_answer *answer = zkl_answer_make(ZKL_ANSWER_CONNECTED, NULL);
    answer->session_id = attachment->session->id;
    answer->timeout_ms = call->timeout_ms;
    zkl_wire_answer(wire, answer);
}

static void answer_read(zkl_server *server, zkl_wire *wire, zkl_call *call) {
    switch (call->kind) {
    case ZKL_CALL_LIST:
        answer_list(server, wire, call);
        break;
    case ZKL_CALL_EXISTS:
    case ZKL_CALL_GET:
    case ZKL_CALL_GET_ACL:
        answer_node(server, wire, call);
        break;
    case ZKL_CALL_REMOVE_WATCHES:
        answer_remove_watches(server, wire, call);
        break;
    case ZKL_CALL_SET_WATCHES:
        answer_set_watches(server, wire, call);
        break;
    default:
        zkl_wire_answer(wire, make_reply(call));
        break;
    }
}

static bool is_write(const zkl_call *call) {
    return call->kind == ZKL_CALL_CREATE || call->kind == ZKL_CALL_DELETE ||
           call->kind == ZKL_CALL_MULTI || call->kind == ZKL_CALL_SET ||
           call->kind == ZKL_CALL_SET_ACL || call->kind == ZKL_CALL_CLOSE ||
           call->kind == ZKL_CALL_CONNECT;
}

/* Before a read was looked at, or as the server turns requests away. */
static bool is_turned_away(const zkl_call *call) {
    return call->error == ZKL_SERVER_ERROR_THROTTLED ||
           (call->error != ZKL_SERVER_ERROR_NONE && !is_write(call));
}

/* A client whose session has moved is sent away without an answer (FinalRequestProcessor). */
static void answer(zkl_attachment *attachment, zkl_call *call) {
    zkl_wire *wire = call->wire;
    if (!wire->server_open) {
        return;
    }
    if (zkl_server_cuts_answer(attachment->session, call)) {
        zkl_wire_cut(wire, ZKL_CUT_REPLIES_LOST);
    }
    if (call->error == ZKL_SERVER_ERROR_SESSION_MOVED && !wire->kept) {
        zkl_wire_close(wire);
    } else if (is_turned_away(call)) {
        zkl_wire_answer(wire, make_reply(call));
    } else if (call->kind == ZKL_CALL_CONNECT) {
        answer_connected(attachment, wire, call);
    } else if (is_write(call)) {
        answer_write(wire, call);
    } else {
        answer_read(attachment->server, wire, call);
    }
}

/* Answers what can be answered: a read waits for the session's earlier writes. */
static void pump(zkl_attachment *attachment) {
    while (attachment->calls != NULL && attachment->calls->decided) {
        zkl_call *call = attachment->calls;
        take_call_off(attachment, call);
        answer(attachment, call);
        zkl_call_release(call);
    }
}

/* ---- Requests -------------------------------------------------------------------------------- */

/* The leader checks the session of each request of its own clients, the others leave that to it
 * (PrepRequestProcessor). */
static void enqueue(zkl_attachment *attachment, zkl_call *call) {
    zkl_server *server = attachment->server;
    call->attachment = attachment;
    DL_APPEND(attachment->calls, call);
    call->session_id = attachment->session->id;
    if (is_write(call) && !call->decided) {
        send_to_leader(server, zkl_packet_make(ZKL_PACKET_WRITE, call, NULL));
    } else {
        if (zkl_server_leads(server) && !call->decided) {
            call->error = zkl_leader_check_session(attachment->session, server->link_number);
        }
        call->decided = true;
    }
    pump(attachment);
}

static bool takes_connections(const zkl_server *server) {
    return server->state == ZKL_SERVER_SERVING && server->refuse_until_us <= zkl_world_now_us() &&
           !zkl_world_chance(server->ensemble->options.rates.connect_refused);
}

static int32_t negotiate(const zkl_ensemble *ensemble, int32_t timeout_ms) {
    const int32_t least_ticks = 2;
    const int32_t most_ticks = 20;
    int32_t least_ms = least_ticks * ensemble->options.tick_ms;
    int32_t most_ms = most_ticks * ensemble->options.tick_ms;
    timeout_ms = timeout_ms > least_ms ? timeout_ms : least_ms;
    return timeout_ms < most_ms ? timeout_ms : most_ms;
}

static void tell_expired(zkl_wire *wire) {
    zkl_wire_answer(wire, zkl_answer_make(ZKL_ANSWER_EXPIRED, NULL));
    zkl_wire_close(wire);
}

/* The session's earlier connection to the same server, before the leader is asked
 * (ZooKeeperServer.processConnectRequest): what comes on it later is for nobody. */
static void close_earlier_wire(zkl_server *server, zkl_server_session *session) {
    zkl_attachment *earlier = session->attachments[server->number];
    if (earlier != NULL && earlier->wire != NULL) {
        zkl_wire_close(earlier->wire);
    }
}

static void accept_connect(zkl_server *server, zkl_wire *wire, zkl_call *call) {
    if (!takes_connections(server) || call->last_zxid > server->applied_zxid) {
        zkl_call_release(call);
        zkl_wire_close(wire);
        return;
    }
    zkl_ensemble *ensemble = server->ensemble;
    call->timeout_ms = negotiate(ensemble, call->timeout_ms);
    call->write = ZKL_WRITE_CREATE_SESSION;
    if (call->session_id == 0) {
        enqueue(
            attach(server, zkl_ensemble_add_session(ensemble, server->number, call->timeout_ms)),
            call);
        return;
    }
    zkl_server_session *session = zkl_ensemble_find_session(ensemble, call->session_id);
    if (session != NULL) {
        close_earlier_wire(server, session);
        send_to_leader(server, zkl_packet_make(ZKL_PACKET_REVALIDATE, call, NULL));
    } else {
        tell_expired(wire);
    }
    zkl_call_release(call);
}

void zkl_server_take_late(zkl_server *server, zkl_server_session *session, zkl_call *call) {
    zkl_call *connect = zkl_call_make(ZKL_CALL_CONNECT, 0);
    connect->session_id = session->id;
    connect->timeout_ms = session->timeout_ms;
    connect->wire = call->wire;
    call->wire->references++;
    zkl_wire_close(call->wire);
    send_to_leader(server, zkl_packet_make(ZKL_PACKET_REVALIDATE, connect, NULL));
    zkl_call_release(connect);
    enqueue(attach(server, session), call);
}

static void on_revalidated(zkl_server *server, const zkl_call *call, bool valid) {
    zkl_server_session *session = zkl_ensemble_find_session(server->ensemble, call->session_id);
    if (!call->wire->server_open) {
        return;
    }
    if (!valid) {
        tell_expired(call->wire);
        return;
    }
    session->timeout_ms = call->timeout_ms;
    close_earlier_wire(server, session); /* two may have come at once */
    answer_connected(attach(server, session), call->wire, call);
}

static bool is_throttled(const zkl_server *server, const zkl_call *call) {
    if (call->kind > ZKL_CALL_SET_WATCHES) { /* as Request.isThrottlable */
        return false;
    }
    return server->throttle_until_us > zkl_world_now_us() ||
           zkl_world_chance(server->ensemble->options.rates.throttled);
}

/* As ZooKeeperServer.authWriteRequest, which does not look at transactions, and answers at once:
 * where earlier requests wait for their answers this one comes out of turn, and the client breaks
 * the connection. */
static bool refuses_early(const zkl_attachment *attachment, zkl_call *call) {
    const zkl_server *server = attachment->server;
    bool is_screened = call->kind == ZKL_CALL_CREATE || call->kind == ZKL_CALL_DELETE ||
                       call->kind == ZKL_CALL_SET;
    if (!server->ensemble->options.checks_early || !is_screened ||
        zkl_rights_check(server->ensemble, &call->operations[0], attachment->wire->identities,
                         server->applied_zxid) == ZKL_SERVER_ERROR_NONE) {
        return false;
    }
    if (attachment->calls != NULL) {
        zkl_wire_cut(attachment->wire, ZKL_CUT_REPLIES_LOST);
        return true;
    }
    call->error = ZKL_SERVER_ERROR_NO_PERMISSION;
    zkl_wire_answer(attachment->wire, make_reply(call));
    return true;
}

/* As ZooKeeperServer.processPacket: at once, before requests that are under way are answered. A
 * client that is refused is sent away. */
static void answer_auth(zkl_wire *wire, zkl_call *call) {
    call->error = zkl_rights_add_identity(wire, call->path, call->secret, call->secret_size);
    zkl_wire_answer(wire, make_reply(call));
    if (call->error != ZKL_SERVER_ERROR_NONE) {
        zkl_wire_close(wire);
    }
    zkl_call_release(call);
}

void zkl_server_receive(zkl_server *server, zkl_wire *wire, zkl_call *call) {
    zkl_attachment *attachment = wire->attachment;
    if (call->kind == ZKL_CALL_CONNECT) {
        accept_connect(server, wire, call);
        return;
    }
    if (attachment == NULL) {
        zkl_call_release(call);
        return;
    }
    attachment->session->requests[call->kind]++;
    touch(attachment);
    if (wire->mute && call->kind != ZKL_CALL_PING) {
        zkl_call_release(call);
        return;
    }
    zkl_cut cut = ZKL_CUT_SILENT;
    if (zkl_server_draw_cut(attachment->session, call, &cut)) {
        zkl_wire_cut(wire, cut);
        if (cut == ZKL_CUT_REQUESTS_LOST) {
            zkl_call_release(call);
            return;
        }
        if (cut == ZKL_CUT_HELD_BACK) {
            zkl_server_hold_back(server, call);
            return;
        }
    }
    if (call->kind == ZKL_CALL_AUTH) {
        answer_auth(wire, call);
        return;
    }
    if (refuses_early(attachment, call)) {
        zkl_call_release(call);
        return;
    }
    if (is_throttled(server, call)) {
        call->error = ZKL_SERVER_ERROR_THROTTLED;
        call->decided = true;
    }
    enqueue(attachment, call);
}

/* ---- Transactions ---------------------------------------------------------------------------- */

static void decide(zkl_server *server, zkl_call *call) {
    zkl_attachment *attachment = call->attachment;
    if (attachment != NULL && attachment->server == server) {
        call->decided = true;
        pump(attachment);
    }
}

/* The client of a session that this transaction ends; NULL: none, or it is not connected here. */
static zkl_attachment *ended_here(const zkl_server *server,
                                  const zkl_tree_transaction *transaction) {
    if (transaction->kind != ZKL_WRITE_CLOSE_SESSION ||
        transaction->error != ZKL_SERVER_ERROR_NONE) {
        return NULL;
    }
    const zkl_server_session *session =
        zkl_ensemble_find_session(server->ensemble, transaction->session_id);
    return session != NULL ? session->attachments[server->number] : NULL;
}

/* The connection is closed with what still waits to be sent: a client may hear of the deletion of
 * its own nodes before, or not (both seen on 3.9.3). */
static void maybe_silence(zkl_attachment *ended) {
    if (ended->wire != NULL && ended->wire->watch_count > 0 && zkl_world_random(2) == 0) {
        zkl_server_unwatch_all(ended->wire);
    }
}

static zkl_watch_event event_of(zkl_change_kind kind) {
    static const zkl_watch_event events[] = {
        [ZKL_CHANGE_CREATED] = ZKL_WATCH_EVENT_CREATED,
        [ZKL_CHANGE_SET] = ZKL_WATCH_EVENT_CHANGED,
        [ZKL_CHANGE_DELETED] = ZKL_WATCH_EVENT_DELETED,
    };
    return events[kind];
}

/* The node's own watches, and then those on the children of its parent. */
static void fire_watches(zkl_server *server, const zkl_change *change) {
    zkl_server_fire_watches(server, change->node, event_of(change->kind));
    if (change->kind != ZKL_CHANGE_SET) {
        zkl_server_fire_watches(server, zkl_node_parent(change->node), ZKL_WATCH_EVENT_CHILDREN);
    }
}

/* One that is kept is known to nobody: in ZooKeeper its place in the table of sessions was emptied
 * by the end of the session's earlier connection (seen on 3.9.3). */
static bool is_kept(const zkl_attachment *attachment) {
    return attachment->wire != NULL && attachment->wire->kept;
}

static void apply(zkl_server *server, const zkl_log_entry *entry) {
    const zkl_tree_transaction *transaction = entry->transaction;
    zkl_attachment *ended = ended_here(server, transaction);
    server->applied_zxid = transaction->zxid;
    if (ended != NULL && !is_kept(ended)) {
        maybe_silence(ended);
    }
    for (size_t i = 0; i < transaction->change_count; i++) {
        fire_watches(server, &transaction->changes[i]);
    }
    if (entry->call != NULL) {
        decide(server, entry->call);
    }
    ended = ended_here(server, transaction); /* the answer may have let it go */
    if (ended != NULL && !is_kept(ended)) {
        detach(ended);
    }
    zkl_leader_trim_log(server->ensemble);
}

static void apply_packet(void *arg, zkl_message *message) {
    zkl_packet *packet = (zkl_packet *)message;
    const zkl_log_entry *entry = packet->entry;
    zkl_packet_free(packet);
    apply(arg, entry);
}

static int64_t draw_apply_delay(const zkl_server *server) {
    const zkl_ensemble_options *options = &server->ensemble->options;
    bool slow = zkl_world_chance(options->rates.slow_apply);
    int64_t delay_us = zkl_ensemble_draw(slow ? &options->slow_apply_us : &options->apply_us);
    return delay_us + (server->slow_until_us > zkl_world_now_us() ? server->slow_by_us : 0);
}

/* In its answer to the leader's ping a server tells of the sessions it has heard from. */
static void answer_ping(zkl_server *server) {
    size_t count = 0;
    for (const zkl_attachment *one = server->attachments; one != NULL; one = one->next) {
        count += one->touched ? 1 : 0;
    }
    if (count == 0) {
        return;
    }
    zkl_packet *packet =
        zkl_testing_allocate(sizeof(*packet) + count * sizeof(zkl_server_session *));
    packet->kind = ZKL_PACKET_TOUCHES;
    for (zkl_attachment *one = server->attachments; one != NULL; one = one->next) {
        if (one->touched) {
            one->touched = false;
            packet->sessions[packet->session_count++] = one->session;
        }
    }
    send_to_leader(server, packet);
}

static void arrive_from_leader(void *arg, zkl_message *message) {
    zkl_server *server = arg;
    zkl_packet *packet = (zkl_packet *)message;
    switch (packet->kind) {
    case ZKL_PACKET_COMMIT:
        zkl_channel_send(&server->applying, &packet->message, draw_apply_delay(server));
        return;
    case ZKL_PACKET_PING:
        answer_ping(server);
        break;
    default:
        on_revalidated(server, packet->call, packet->valid);
        break;
    }
    zkl_packet_free(packet);
}

void zkl_server_send(zkl_server *server, zkl_packet *packet) {
    if (zkl_server_leads(server)) {
        arrive_from_leader(server, &packet->message);
    } else {
        zkl_channel_send(&server->from_leader, &packet->message,
                         zkl_ensemble_draw(&server->ensemble->options.link_us));
    }
}

/* ---- Coming and going ------------------------------------------------------------------------ */

void zkl_server_begin(zkl_server *server, zkl_ensemble *ensemble, uint32_t number) {
    server->ensemble = ensemble;
    server->number = number;
    server->state = ZKL_SERVER_LOOKING;
    zkl_channel_begin(&server->to_leader, arrive_at_leader, server, NULL);
    zkl_channel_begin(&server->from_leader, arrive_from_leader, server, NULL);
    zkl_channel_begin(&server->applying, apply_packet, server, NULL);
    zkl_channel_begin(&server->held_back, zkl_server_go_on, server, NULL);
}

void zkl_server_end(zkl_server *server) {
    zkl_server_stop_serving(server, ZKL_SERVER_STOPPED);
    zkl_packets_free(zkl_channel_take(&server->to_leader, 0));
    zkl_world_unschedule(&server->joining);
    zkl_world_unschedule(&server->noticing);
}

/* Some of what it has sent to the leader may still arrive there. */
static void lose_some_requests(zkl_server *server) {
    size_t count = zkl_channel_count(&server->to_leader);
    if (count > 0) {
        size_t keep = (size_t)zkl_world_random(count + 1);
        zkl_packets_free(zkl_channel_take(&server->to_leader, keep));
    }
}

void zkl_server_stop_serving(zkl_server *server, zkl_server_state state) {
    server->state = state;
    server->linked = false;
    zkl_world_unschedule(&server->noticing);
    lose_some_requests(server);
    zkl_packets_free(zkl_channel_take(&server->from_leader, 0));
    zkl_packets_free(zkl_channel_take(&server->applying, 0));
    zkl_calls_free(zkl_channel_take(&server->held_back, 0));
    while (server->attachments != NULL) {
        detach(server->attachments);
    }
    /* Those as well that were only about to get a session. */
    zkl_wire *wire = NULL;
    zkl_wire *next = NULL;
    DL_FOREACH_SAFE(server->ensemble->wires, wire, next) {
        if (wire->server == server->number) {
            zkl_wire_close(wire);
        }
    }
}

void zkl_server_start_serving(zkl_server *server) {
    zkl_ensemble *ensemble = server->ensemble;
    server->state = ZKL_SERVER_SERVING;
    server->linked = true;
    server->link_number = ++ensemble->last_link_number;
    server->applied_zxid = ensemble->zxid;
    zkl_channel_release(&server->to_leader);
    zkl_channel_release(&server->from_leader);
}
