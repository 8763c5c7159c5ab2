/* libzookeeper's I/O thread: the connection to one server after another. */
#include "testing/client_connection.h"

#include <stdio.h>
#include <string.h>

#include "testing/ensemble.h"
#include "testing/hash.h"

enum {
    PING_XID = -2,
    AUTH_XID = -4,
    SET_WATCHES_XID = -8,
    CLOSE_XID = -9,
    RETRY_DIVISOR = 60, /* of the session timeout: the pause when no server was to be had */
    CLOSE_WAIT_MS = 1500
};

/* ---- Connecting ------------------------------------------------------------------------------ */

static void on_answer(void *arg, zkl_answer *answer);
static void set_timer(zkl_connection *self);
static int64_t ping_us(const zkl_connection *self);

static int64_t timeout_us(const zkl_connection *self) {
    return (int64_t)self->timeout_ms * ZKL_CLIENT_US_PER_MS;
}

static bool is_named(const zkl_connection *self, zkl_address address) {
    for (uint32_t i = 0; i < self->server_count; i++) {
        if (self->servers[i].server == address.server && self->servers[i].place == address.place) {
            return true;
        }
    }
    return false;
}

/* The same ones, in whatever order, change nothing. */
static void take_servers(zkl_connection *self, const char *addresses) {
    zkl_address read[ZKL_SERVERS_MAX];
    uint32_t servers = zkl_ensemble_server_count(zkl_ensemble_current());
    uint32_t count = zkl_addresses_read(addresses, servers, read);
    uint32_t known = 0;
    for (uint32_t i = 0; i < count; i++) {
        known += is_named(self, read[i]) ? 1 : 0;
    }
    if (known == count && count == self->server_count) {
        return;
    }
    memcpy(self->servers, read, count * sizeof(read[0]));
    self->server_count = count;
    for (uint32_t i = count; i > 1; i--) {
        uint32_t other = (uint32_t)zkl_world_random(i);
        zkl_address server = self->servers[i - 1];
        self->servers[i - 1] = self->servers[other];
        self->servers[other] = server;
    }
    self->next_server = 0;
}

static void lose_connection(zkl_connection *self);

static void try_next_server(zkl_connection *self) {
    self->current = self->servers[self->next_server];
    self->next_server = (self->next_server + 1) % self->server_count;
    if (zkl_address_is_hole(self->current)) {
        self->state = ZKL_CLIENT_CONNECTING;
        self->last_received_us = zkl_world_now_us();
        return;
    }
    if (!zkl_address_leads_somewhere(self->current)) {
        lose_connection(self);
        return;
    }
    zkl_call *call = zkl_call_make(ZKL_CALL_CONNECT, 0);
    call->session_id = self->session_id;
    call->last_zxid = self->last_zxid;
    call->timeout_ms = self->timeout_ms;
    self->state = ZKL_CLIENT_CONNECTING;
    self->last_received_us = zkl_world_now_us();
    self->wire = zkl_wire_connect(zkl_ensemble_current(), self->current.server, call, on_answer,
                                  self, self->process);
    if (zkl_world_now_us() < self->cut_off_until_us) {
        zkl_wire_cut(self->wire, self->cut);
    }
}

void zkl_client_cut_off(zkl_connection *self, zkl_cut cut, int64_t until_us) {
    self->cut = cut;
    self->cut_off_until_us = until_us;
    if (self->wire != NULL) {
        zkl_wire_cut(self->wire, cut);
    }
}

/* The connection is no more, or none came about. */
static void lose_connection(zkl_connection *self) {
    bool was_connected = self->state == ZKL_CLIENT_CONNECTED;
    size_t open = zkl_client_count_open(self);
    self->out_of_step = false;
    self->wire = NULL;
    self->state = ZKL_CLIENT_WAITING;
    self->retry_us = zkl_world_now_us();
    if (self->next_server == 0) {
        self->retry_us += timeout_us(self) / RETRY_DIVISOR;
    }
    if (was_connected) {
        zkl_client_pass_news_on(self, &(zkl_session_news){ .state = ZKL_SESSION_STATE_CONNECTING });
    }
    zkl_client_lose_requests(self, open, ZKL_OUTCOME_UNKNOWN);
    set_timer(self);
}

void zkl_client_send(zkl_connection *self, zkl_call *call) {
    self->last_sent_us = zkl_world_now_us();
    zkl_wire_send(self->wire, call);
}

static void send_unsent(zkl_connection *self) {
    for (zkl_client_request *request = self->pending; request != NULL; request = request->next) {
        if (request->unsent != NULL && !request->answered) {
            zkl_call *call = request->unsent;
            request->unsent = NULL;
            zkl_client_send(self, call);
        }
    }
}

static void set_watches_again(zkl_connection *self) {
    zkl_call *call = zkl_client_watches_call(&self->watches);
    if (call != NULL) {
        call->xid = SET_WATCHES_XID;
        call->last_zxid = self->last_zxid;
        zkl_client_send(self, call);
    }
}

static size_t count_credentials(const zkl_connection *self) {
    size_t count = 0;
    const zkl_client_credential *one = NULL;
    DL_COUNT(self->credentials, one, count);
    return count;
}

static void forget_credential(zkl_connection *self, zkl_client_credential *credential) {
    DL_DELETE(self->credentials, credential);
    zkl_testing_free(credential->scheme);
    zkl_testing_free(credential->secret);
    zkl_testing_free(credential);
}

static void send_credential(zkl_connection *self, const zkl_client_credential *credential) {
    zkl_call *call = zkl_call_make_auth(credential->scheme, credential->secret, credential->size);
    call->xid = AUTH_XID;
    self->unanswered++;
    zkl_client_send(self, call);
}

static void begin_requests(zkl_connection *self) {
    self->introduced = true;
    set_watches_again(self);
    send_unsent(self);
    set_timer(self);
    zkl_client_pass_news_on(self, &(zkl_session_news){ .state = ZKL_SESSION_STATE_CONNECTED,
                                                       .session_id = self->session_id,
                                                       .timeout_ms = self->timeout_ms });
}

static void ask_for_credential(zkl_connection *self) {
    if (self->listener.next_credential == NULL || self->listener.is_anonymous) {
        begin_requests(self);
    } else {
        set_timer(self);
        zkl_client_pass_on(self, zkl_client_make_delivery(ZKL_DELIVERY_AWAITS_CREDENTIAL));
    }
}

void zkl_client_introduce(zkl_connection *self) {
    zkl_credential given = ZKL_CREDENTIAL_INIT;
    bool is_asked = self->state == ZKL_CLIENT_CONNECTED && !self->introduced &&
                    count_credentials(self) == self->accepted;
    if (!is_asked) {
        return;
    }
    if (!self->listener.next_credential(self->listener.arg, self->accepted, &given)) {
        begin_requests(self);
        return;
    }
    zkl_client_credential *kept = zkl_testing_allocate(sizeof(*kept));
    kept->scheme = zkl_testing_copy_text(given.scheme);
    kept->secret = zkl_testing_allocate(given.size + 1);
    memcpy(kept->secret, given.secret, given.size);
    kept->size = given.size;
    DL_APPEND(self->credentials, kept);
    send_credential(self, kept);
    set_timer(self);
}

static void on_connected(zkl_connection *self, const zkl_answer *answer) {
    self->state = ZKL_CLIENT_CONNECTED;
    self->session_id = answer->session_id;
    self->timeout_ms = answer->timeout_ms;
    self->last_sent_us = zkl_world_now_us();
    self->unanswered = 0;
    if (!self->introduced && count_credentials(self) > self->accepted) {
        forget_credential(self, self->credentials->prev); /* it is asked for again */
    }
    for (const zkl_client_credential *one = self->credentials; one != NULL; one = one->next) {
        send_credential(self, one);
    }
    if (self->introduced) {
        begin_requests(self);
    } else {
        ask_for_credential(self);
    }
}

static void end_session(zkl_connection *self, zkl_session_state state) {
    self->state = ZKL_CLIENT_EXPIRED;
    zkl_wire *wire = self->wire;
    self->wire = NULL;
    zkl_wire_hang_up(wire);
    zkl_world_unschedule(&self->timer);
    zkl_client_pass_news_on(self, &(zkl_session_news){ .state = state });
    zkl_client_lose_requests(self, zkl_client_count_open(self), ZKL_OUTCOME_SESSION_OVER);
}

/* ---- Answers --------------------------------------------------------------------------------- */

static zkl_client_request *first_sent(const zkl_connection *self) {
    zkl_client_request *request = self->pending;
    while (request != NULL && (request->answered || request->unsent != NULL)) {
        request = request->next;
    }
    return request;
}

static void keep_watch(zkl_connection *self, const zkl_client_request *request,
                       const zkl_answer *answer) {
    bool found = answer->error == ZKL_SERVER_ERROR_NONE;
    if (request->kind == ZKL_CALL_EXISTS && request->watch_id != 0 &&
        (found || answer->error == ZKL_SERVER_ERROR_NO_NODE)) {
        zkl_client_watches_add(&self->watches, answer->path, ZKL_WATCH_NODE, request->watch_id,
                               found);
    } else if (request->kind == ZKL_CALL_LIST && request->watch_id != 0 && found) {
        zkl_client_watches_add(&self->watches, answer->path, ZKL_WATCH_CHILDREN, request->watch_id,
                               true);
    } else if (request->kind == ZKL_CALL_REMOVE_WATCHES && found) {
        zkl_client_watches_remove(&self->watches, answer->path, request->watch_kind);
    }
}

/* Answers come in the order of their requests. */
static zkl_client_request *request_of(const zkl_connection *self, const zkl_answer *answer) {
    zkl_client_request *request = first_sent(self);
    if (request == NULL || request->xid != answer->xid) {
        zkl_testing_fail("an answer to request %d, which is not the next", (int)answer->xid);
    }
    return request;
}

/* libzookeeper takes no answer but to the first request that it has sent. */
static bool is_out_of_step(const zkl_connection *self, const zkl_answer *answer) {
    const zkl_client_request *request = first_sent(self);
    return self->out_of_step && request != NULL && request->xid != answer->xid;
}

static void hang_up(zkl_connection *self) {
    if (self->wire != NULL) { /* or nothing has answered */
        zkl_wire_hang_up(self->wire);
    }
    self->wire = NULL;
}

static void break_connection(zkl_connection *self) {
    hang_up(self);
    lose_connection(self);
}

/* Requests that were sent wait on for their answers, which nobody gives. */
static void replace_connection(zkl_connection *self) {
    hang_up(self);
    self->state = ZKL_CLIENT_WAITING;
    self->out_of_step = first_sent(self) != NULL;
    self->retry_us = zkl_world_now_us();
    set_timer(self);
}

static void on_introduced(zkl_connection *self, const zkl_answer *answer) {
    if (answer->error != ZKL_SERVER_ERROR_NONE) {
        if (!self->introduced) {
            snprintf(self->refused, sizeof(self->refused), "%s", self->credentials->prev->scheme);
        }
        end_session(self, ZKL_SESSION_STATE_AUTH_FAILED);
    } else if (--self->unanswered == 0 && !self->introduced) {
        self->accepted = count_credentials(self);
        ask_for_credential(self);
    }
}

static void on_reply(zkl_connection *self, zkl_answer *answer) {
    if (answer->applied_zxid > 0) {
        self->last_zxid = answer->applied_zxid;
    }
    if (answer->call == ZKL_CALL_AUTH) {
        on_introduced(self, answer);
    }
    if (answer->xid < 0) {
        zkl_testing_free(answer);
        return;
    }
    if (is_out_of_step(self, answer)) {
        zkl_testing_free(answer);
        break_connection(self);
        return;
    }
    zkl_client_request *request = request_of(self, answer);
    keep_watch(self, request, answer);
    request->answered = true;
    zkl_client_delivery *item = zkl_client_make_delivery(ZKL_DELIVERY_REPLY);
    item->request = request;
    item->answer = answer;
    zkl_client_pass_on(self, item);
    if (self->state == ZKL_CLIENT_CONNECTED && ping_us(self) < self->timer.at_us) {
        set_timer(self); /* while requests were under way no ping was needed */
    }
}

static void on_watch_event(zkl_connection *self, zkl_answer *answer) {
    zkl_client_delivery *item = zkl_client_make_delivery(ZKL_DELIVERY_WATCH);
    item->answer = answer;
    item->watch_ids = zkl_client_watches_take(&self->watches, answer->path, answer->event);
    zkl_client_pass_on(self, item);
}

/* The ensemble has ended: nothing will ever be answered. */
static void on_ensemble_ended(zkl_connection *self) {
    self->wire = NULL;
    self->state = ZKL_CLIENT_CLOSED;
    zkl_world_unschedule(&self->timer);
}

static void note_closing(zkl_connection *self, zkl_answer_kind kind) {
    if (kind == ZKL_ANSWER_BROKEN) {
        self->wire = NULL;
    }
    self->heard_at_close = true;
    zkl_world_wake_all(self);
}

static void on_answer(void *arg, zkl_answer *answer) {
    zkl_connection *self = arg;
    if (answer == NULL) {
        on_ensemble_ended(self);
        return;
    }
    zkl_answer_kind kind = answer->kind;
    self->last_received_us = zkl_world_now_us();
    if (self->closing) {
        note_closing(self, kind);
    } else if (kind == ZKL_ANSWER_REPLY) {
        on_reply(self, answer);
        return;
    } else if (kind == ZKL_ANSWER_WATCH) {
        on_watch_event(self, answer);
        return;
    } else if (kind == ZKL_ANSWER_CONNECTED) {
        on_connected(self, answer);
    } else if (kind == ZKL_ANSWER_EXPIRED) {
        end_session(self, ZKL_SESSION_STATE_EXPIRED);
    } else if (kind == ZKL_ANSWER_BROKEN) {
        lose_connection(self);
    } else if (kind == ZKL_ANSWER_REPLACE) {
        replace_connection(self);
        zkl_client_pass_news_on(self, &(zkl_session_news){ .state = ZKL_SESSION_STATE_CONNECTING });
    } else if (self->introduced) { /* else the latest are of the session before */
        zkl_client_delivery *item = zkl_client_make_delivery(ZKL_DELIVERY_CONNECTING);
        item->news = self->latest_news;
        zkl_client_pass_on(self, item);
    }
    zkl_testing_free(answer);
}

/* ---- Time
 * ---------------------------------------------------------------------------------------------------
 */

static int64_t give_up_us(const zkl_connection *self) {
    return self->last_received_us + timeout_us(self) * 2 / 3;
}

static int64_t ping_us(const zkl_connection *self) {
    return self->last_sent_us + timeout_us(self) / 3;
}

static int64_t next_moment(const zkl_connection *self) {
    if (self->state == ZKL_CLIENT_WAITING) {
        return self->retry_us;
    }
    int64_t next = give_up_us(self);
    bool pings = self->state == ZKL_CLIENT_CONNECTED && first_sent(self) == NULL;
    return pings && ping_us(self) < next ? ping_us(self) : next;
}

static void set_timer(zkl_connection *self) {
    if (self->closing || self->state == ZKL_CLIENT_CLOSED || self->state == ZKL_CLIENT_EXPIRED) {
        zkl_world_unschedule(&self->timer);
    } else {
        zkl_world_schedule(&self->timer, next_moment(self));
    }
}

static void send_ping(zkl_connection *self) {
    zkl_call *call = zkl_call_make(ZKL_CALL_PING, 0);
    call->xid = PING_XID;
    zkl_client_send(self, call);
}

static void on_timer(void *arg) {
    zkl_connection *self = arg;
    int64_t now_us = zkl_world_now_us();
    if (self->wire != NULL && zkl_channel_is_due(&self->wire->down)) {
        zkl_world_schedule(&self->timer, now_us); /* what has come is read first */
        return;
    }
    if (self->state == ZKL_CLIENT_WAITING && self->retry_us <= now_us) {
        try_next_server(self);
    } else if (self->state != ZKL_CLIENT_WAITING && give_up_us(self) <= now_us) {
        break_connection(self);
        return;
    } else if (self->state == ZKL_CLIENT_CONNECTED && ping_us(self) <= now_us) {
        send_ping(self);
    }
    set_timer(self);
}

/* Something may be heard that is not the answer to this: libzookeeper does not look. */
static void close_session(zkl_connection *self) {
    zkl_call *call = zkl_call_make(ZKL_CALL_CLOSE, 0);
    call->xid = CLOSE_XID;
    call->write = ZKL_WRITE_CLOSE_SESSION;
    zkl_client_send(self, call);
    int64_t until_us = zkl_world_now_us() + (int64_t)CLOSE_WAIT_MS * ZKL_CLIENT_US_PER_MS;
    self->heard_at_close = false;
    while (!self->heard_at_close && zkl_world_now_us() < until_us) {
        zkl_world_wait_on(self, until_us);
    }
}

static void forget_credentials(zkl_connection *self) {
    while (self->credentials != NULL) {
        forget_credential(self, self->credentials);
    }
    self->accepted = 0;
    self->introduced = false;
}

void zkl_client_start(zkl_connection *self, const char *addresses, int32_t timeout_ms) {
    self->timer.run = on_timer;
    self->timer.arg = self;
    self->timer.process = self->process;
    self->server_count = 0;
    take_servers(self, addresses);
    self->state = ZKL_CLIENT_WAITING;
    forget_credentials(self);
    self->refused[0] = '\0';
    self->session_id = 0;
    self->last_zxid = 0;
    self->timeout_ms = timeout_ms;
    self->out_of_step = false;
    self->retry_us = zkl_world_now_us();
    set_timer(self);
}

bool zkl_client_leave(zkl_connection *self, const char *addresses) {
    if (self->state == ZKL_CLIENT_CLOSED || self->state == ZKL_CLIENT_EXPIRED) {
        return false;
    }
    hang_up(self);
    self->handle++;
    self->state = ZKL_CLIENT_WAITING;
    self->listener.is_anonymous = false;
    forget_credentials(self);
    zkl_client_watches_clear(&self->watches);
    self->last_zxid = 0;
    take_servers(self, addresses);
    for (zkl_client_request *request = self->pending; request != NULL; request = request->next) {
        request->forgotten = true;
    }
    return true;
}

void zkl_client_connect_again(zkl_connection *self) {
    lose_connection(self);
    self->retry_us = zkl_world_now_us(); /* a new handle does not pause */
    set_timer(self);
}

bool zkl_client_has_socket(const zkl_connection *self) {
    return self->state == ZKL_CLIENT_CONNECTING || self->state == ZKL_CLIENT_CONNECTED;
}

void zkl_client_hang_up(zkl_connection *self) {
    if (zkl_client_has_socket(self)) {
        replace_connection(self);
    }
}

bool zkl_client_set_servers(zkl_connection *self, const char *addresses) {
    take_servers(self, addresses);
    bool leaves = zkl_client_has_socket(self) && !is_named(self, self->current);
    if (leaves) {
        replace_connection(self);
    }
    return leaves;
}

static bool is_reset(bool unread) {
    const zkl_ensemble *ensemble = zkl_ensemble_current();
    return unread && ensemble != NULL &&
           zkl_world_chance(zkl_ensemble_get_options(ensemble)->rates.close_reset);
}

void zkl_client_stop(zkl_connection *self, bool unread) {
    zkl_world_unschedule(&self->timer);
    bool was_connected = self->state == ZKL_CLIENT_CONNECTED;
    if (was_connected && is_reset(unread)) {
        zkl_wire_cut(self->wire, ZKL_CUT_REQUESTS_LOST);
    } else if (was_connected) {
        close_session(self);
    }
    hang_up(self);
    zkl_client_watches_clear(&self->watches);
    forget_credentials(self);
    self->state = ZKL_CLIENT_CLOSED;
}
