/*
 * The connection on the simulated ensemble. It does what libzookeeper_mt does, in
 * virtual time: a ping after a third of the session timeout without a request, a
 * connection given up after two thirds without an answer, and news of the session,
 * lost replies and watches in the order in which libzookeeper gives them.
 */
#include "zookeeper/connection.h"

#include <limits.h>

#include "testing/client_watches.h"
#include "testing/hash.h"
#include "testing/wire.h"
#include "threads.h"
#include "zklock/zklock.h"

enum {
    US_PER_MS = 1000,
    PING_XID = -2,
    SET_WATCHES_XID = -8,
    CLOSE_XID = -9,
    RETRY_DIVISOR = 60, /* of the session timeout: the pause when no server was to be had */
    CLOSE_WAIT_MS = 1500
};

typedef enum connection_state {
    STATE_CLOSED,
    STATE_WAITING,    /* until it tries the next server */
    STATE_CONNECTING, /* has asked a server for a session */
    STATE_CONNECTED,
    STATE_EXPIRED
} connection_state;

/* A request of the library's, until it is answered. */
typedef struct pending {
    zkl_call_kind kind;
    int32_t xid;
    zkl_call *unsent; /* NULL: it was sent */
    bool answered;    /* the answer is on its way to `done` */
    uint64_t watch_id;
    bool parent; /* its node may exist already */
    zkl_reply_callback *done;
    void *arg;
    struct pending *prev, *next;
} pending;

/* Something on its way from the socket to the library's callback. */
typedef struct delivery {
    zkl_message message; /* first */
    zkl_delivery_kind kind;
    zkl_session_news news;
    pending *request;
    zkl_outcome lost; /* of a request without an answer */
    zkl_answer *answer;
    zkl_watch_ids watch_ids;
} delivery;

struct zkl_connection {
    zkl_operations operations; /* first: the table's functions get a pointer to it */
    pthread_mutex_t *mutex;
    zkl_listener listener;
    void (*wake)(void *arg);
    void *wake_arg;
    zkl_process *process;
    connection_state state;
    bool abandoned;
    bool closing;
    bool heard_at_close;
    zkl_wire *wire;
    int64_t session_id;
    int64_t last_zxid;
    int32_t timeout_ms;
    uint32_t servers[ZKL_SERVERS_MAX]; /* in the order in which they are tried */
    uint32_t next_server;
    int32_t last_xid;
    pending *pending;
    zkl_client_watches watches;
    int64_t last_received_us;
    int64_t last_sent_us;
    int64_t retry_us;
    zkl_world_event timer;
    zkl_channel deliveries;
    zkl_session_news latest_news;
};

static zkl_connection *of(zkl_operations *operations) {
    return (zkl_connection *)operations;
}

/* ---- Outcomes: as connection_libzookeeper.c has them --------------------------------------- */

static zkl_outcome outcome_of(zkl_server_error error) {
    switch (error) {
    case ZKL_SERVER_ERROR_NONE:
        return ZKL_OUTCOME_OK;
    case ZKL_SERVER_ERROR_NO_NODE:
        return ZKL_OUTCOME_NO_NODE;
    case ZKL_SERVER_ERROR_THROTTLED:
        return ZKL_OUTCOME_NOT_NOW;
    case ZKL_SERVER_ERROR_SESSION_EXPIRED:
        return ZKL_OUTCOME_SESSION_OVER;
    case ZKL_SERVER_ERROR_NO_PERMISSION:
    case ZKL_SERVER_ERROR_BAD_ARGUMENTS:
    case ZKL_SERVER_ERROR_NO_CHILDREN_FOR_EPHEMERALS:
    case ZKL_SERVER_ERROR_NODE_EXISTS:
    case ZKL_SERVER_ERROR_NOT_EMPTY:
        return ZKL_OUTCOME_REFUSED;
    case ZKL_SERVER_ERROR_BAD_VERSION:
    case ZKL_SERVER_ERROR_SESSION_MOVED:
    case ZKL_SERVER_ERROR_NO_WATCHER:
    case ZKL_SERVER_ERROR_ROLLED_BACK:
        break;
    }
    return ZKL_OUTCOME_UNKNOWN;
}

static bool is_as_good_as_done(const pending *request, zkl_server_error error) {
    return (request->parent && error == ZKL_SERVER_ERROR_NODE_EXISTS) ||
           (request->kind == ZKL_CALL_REMOVE_WATCHES && error == ZKL_SERVER_ERROR_NO_WATCHER);
}

static zkl_reply reply_of(const pending *request, const zkl_answer *answer) {
    zkl_server_error error =
        is_as_good_as_done(request, answer->error) ? ZKL_SERVER_ERROR_NONE : answer->error;
    zkl_reply reply = { .outcome = outcome_of(error) };
    if (reply.outcome == ZKL_OUTCOME_REFUSED) {
        reply.status =
            error == ZKL_SERVER_ERROR_NO_PERMISSION ? ZKL_NO_PERMISSION : ZKL_SERVER_REFUSED;
    }
    if (reply.outcome == ZKL_OUTCOME_OK) {
        reply.path = request->kind == ZKL_CALL_CREATE ? answer->path : NULL;
        reply.zxid = answer->czxid;
        reply.ephemeral_owner = answer->ephemeral_owner;
        reply.children = (zkl_children){ answer->names, answer->name_count };
    }
    return reply;
}

/* ---- Deliveries
 * ---------------------------------------------------------------------------------- */

static zkl_delivery delivery_of(const zkl_connection *self, zkl_delivery_kind kind) {
    return (zkl_delivery){ .kind = kind,
                           .process = zkl_process_number(self->process),
                           .session_id = self->session_id };
}

static void tell_reply(const zkl_connection *self, const pending *request,
                       const zkl_answer *answer) {
    zkl_delivery told = delivery_of(self, ZKL_DELIVERY_REPLY);
    told.call = request->kind;
    told.lost = answer == NULL;
    if (answer != NULL) {
        told.error = answer->error;
        told.path = answer->path;
        told.server = answer->server;
        told.applied_zxid = answer->applied_zxid;
    }
    zkl_ensemble_tell_delivered(&told);
}

static void finish(zkl_connection *self, pending *request, const zkl_answer *answer,
                   zkl_outcome lost) {
    DL_DELETE(self->pending, request);
    tell_reply(self, request, answer);
    zkl_reply reply = { .outcome = lost };
    if (answer != NULL) {
        reply = reply_of(request, answer);
    }
    request->done(request->arg, &reply);
    if (request->unsent != NULL) {
        zkl_call_release(request->unsent);
    }
    zkl_testing_free(request);
}

static void deliver_news(zkl_connection *self, const zkl_session_news *news) {
    static const zkl_delivery_kind kinds[] = {
        [ZKL_SESSION_STATE_CONNECTING] = ZKL_DELIVERY_CONNECTING,
        [ZKL_SESSION_STATE_CONNECTED] = ZKL_DELIVERY_CONNECTED,
        [ZKL_SESSION_STATE_EXPIRED] = ZKL_DELIVERY_EXPIRED,
    };
    if (self->abandoned || self->closing) {
        return;
    }
    zkl_delivery told = delivery_of(self, kinds[news->state]);
    zkl_ensemble_tell_delivered(&told);
    self->listener.session(self->listener.arg, news);
}

static void deliver_watch(zkl_connection *self, const delivery *item) {
    bool deleted = item->answer->event == ZKL_WATCH_EVENT_DELETED;
    for (size_t i = 0; i < item->watch_ids.count; i++) {
        if (self->abandoned || self->closing) {
            return;
        }
        zkl_delivery told = delivery_of(self, ZKL_DELIVERY_WATCH);
        told.path = item->answer->path;
        told.deleted = deleted;
        told.server = item->answer->server;
        told.applied_zxid = item->answer->applied_zxid;
        zkl_ensemble_tell_delivered(&told);
        self->listener.watch_fired(self->listener.arg, item->watch_ids.list[i], deleted);
    }
}

static void free_delivery(delivery *item) {
    zkl_testing_free(item->watch_ids.list);
    zkl_testing_free(item->answer);
    zkl_testing_free(item);
}

static void deliver(void *arg, zkl_message *message) {
    zkl_connection *self = arg;
    delivery *item = (delivery *)message;
    pthread_mutex_lock(self->mutex);
    switch (item->kind) {
    case ZKL_DELIVERY_REPLY:
        finish(self, item->request, item->answer, item->lost);
        break;
    case ZKL_DELIVERY_WATCH:
        deliver_watch(self, item);
        break;
    default:
        deliver_news(self, &item->news);
        break;
    }
    pthread_mutex_unlock(self->mutex);
    free_delivery(item);
}

static const zkl_ensemble_options *options_now(void) {
    return zkl_ensemble_get_options(zkl_ensemble_current());
}

/* By libzookeeper's completion thread, which may be late. */
static void pass_on(zkl_connection *self, delivery *item) {
    const zkl_ensemble_options *options = options_now();
    bool slow = zkl_world_chance(options->rates.slow_delivery);
    const zkl_range *range = slow ? &options->slow_delivery_us : &options->delivery_us;
    int64_t delay_us = zkl_world_random_between(range->low, range->high);
    if (delay_us == 0 && self->deliveries.first == NULL) {
        deliver(self, &item->message);
    } else {
        zkl_channel_send(&self->deliveries, &item->message, delay_us);
    }
}

static delivery *make_delivery(zkl_delivery_kind kind) {
    delivery *item = zkl_testing_allocate(sizeof(*item));
    item->kind = kind;
    return item;
}

static void pass_news_on(zkl_connection *self, const zkl_session_news *news) {
    self->latest_news = *news;
    bool twice = news->state != ZKL_SESSION_STATE_EXPIRED &&
                 zkl_world_chance(options_now()->rates.news_repeated);
    for (int i = 0; i < (twice ? 2 : 1); i++) {
        delivery *item = make_delivery(ZKL_DELIVERY_CONNECTING);
        item->news = *news;
        pass_on(self, item);
    }
}

static size_t count_open(const zkl_connection *self) {
    size_t count = 0;
    for (const pending *one = self->pending; one != NULL; one = one->next) {
        count += one->answered ? 0 : 1;
    }
    return count;
}

/* In the order in which they were made, as libzookeeper's free_completions does it.
 * What the callbacks ask for meanwhile comes behind, and is for the next connection. */
static void lose_requests(zkl_connection *self, size_t count, zkl_outcome outcome) {
    for (; count > 0; count--) {
        pending *request = self->pending;
        while (request->answered) {
            request = request->next;
        }
        request->answered = true;
        delivery *item = make_delivery(ZKL_DELIVERY_REPLY);
        item->request = request;
        item->lost = outcome;
        pass_on(self, item);
    }
}

/* ---- Connecting
 * ------------------------------------------------------------------------------------- */

static void on_answer(void *arg, zkl_answer *answer);
static void set_timer(zkl_connection *self);
static int64_t ping_us(const zkl_connection *self);

static int64_t timeout_us(const zkl_connection *self) {
    return (int64_t)self->timeout_ms * US_PER_MS;
}

static void shuffle_servers(zkl_connection *self, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        self->servers[i] = i;
    }
    for (uint32_t i = count; i > 1; i--) {
        uint32_t other = (uint32_t)zkl_world_random(i);
        uint32_t server = self->servers[i - 1];
        self->servers[i - 1] = self->servers[other];
        self->servers[other] = server;
    }
}

static void try_next_server(zkl_connection *self) {
    zkl_ensemble *ensemble = zkl_ensemble_current();
    zkl_call *call = zkl_call_make(ZKL_CALL_CONNECT, 0);
    call->session_id = self->session_id;
    call->last_zxid = self->last_zxid;
    call->timeout_ms = self->timeout_ms;
    self->state = STATE_CONNECTING;
    self->last_received_us = zkl_world_now_us();
    self->wire =
        zkl_wire_connect(self->servers[self->next_server], call, on_answer, self, self->process);
    self->next_server = (self->next_server + 1) % zkl_ensemble_server_count(ensemble);
}

/* The connection is no more, or none came about. */
static void lose_connection(zkl_connection *self) {
    bool was_connected = self->state == STATE_CONNECTED;
    size_t open = count_open(self);
    self->wire = NULL;
    self->state = STATE_WAITING;
    self->retry_us = zkl_world_now_us();
    if (self->next_server == 0) {
        self->retry_us += timeout_us(self) / RETRY_DIVISOR;
    }
    if (was_connected) {
        pass_news_on(self, &(zkl_session_news){ .state = ZKL_SESSION_STATE_CONNECTING });
    }
    lose_requests(self, open, ZKL_OUTCOME_UNKNOWN);
    set_timer(self);
}

static void send(zkl_connection *self, zkl_call *call) {
    self->last_sent_us = zkl_world_now_us();
    zkl_wire_send(self->wire, call);
}

static void send_unsent(zkl_connection *self) {
    for (pending *request = self->pending; request != NULL; request = request->next) {
        if (request->unsent != NULL && !request->answered) {
            zkl_call *call = request->unsent;
            request->unsent = NULL;
            send(self, call);
        }
    }
}

static void set_watches_again(zkl_connection *self) {
    zkl_call *call = zkl_client_watches_call(&self->watches);
    if (call != NULL) {
        call->xid = SET_WATCHES_XID;
        call->last_zxid = self->last_zxid;
        send(self, call);
    }
}

static void on_connected(zkl_connection *self, const zkl_answer *answer) {
    self->state = STATE_CONNECTED;
    self->session_id = answer->session_id;
    self->timeout_ms = answer->timeout_ms;
    self->last_sent_us = zkl_world_now_us();
    set_watches_again(self);
    send_unsent(self);
    set_timer(self);
    pass_news_on(self, &(zkl_session_news){ .state = ZKL_SESSION_STATE_CONNECTED,
                                            .session_id = self->session_id,
                                            .timeout_ms = self->timeout_ms });
}

static void on_expired(zkl_connection *self) {
    self->state = STATE_EXPIRED;
    zkl_wire *wire = self->wire;
    self->wire = NULL;
    zkl_wire_hang_up(wire);
    zkl_world_unschedule(&self->timer);
    pass_news_on(self, &(zkl_session_news){ .state = ZKL_SESSION_STATE_EXPIRED });
    lose_requests(self, count_open(self), ZKL_OUTCOME_SESSION_OVER);
}

/* ---- Answers
 * --------------------------------------------------------------------------------------------- */

static pending *first_sent(const zkl_connection *self) {
    pending *request = self->pending;
    while (request != NULL && (request->answered || request->unsent != NULL)) {
        request = request->next;
    }
    return request;
}

static void keep_watch(zkl_connection *self, const pending *request, const zkl_answer *answer) {
    if (request->kind == ZKL_CALL_EXISTS && request->watch_id != 0 &&
        (answer->error == ZKL_SERVER_ERROR_NONE || answer->error == ZKL_SERVER_ERROR_NO_NODE)) {
        zkl_client_watches_add(&self->watches, answer->path, request->watch_id,
                               answer->error == ZKL_SERVER_ERROR_NONE);
    } else if (request->kind == ZKL_CALL_REMOVE_WATCHES && answer->error == ZKL_SERVER_ERROR_NONE) {
        zkl_client_watches_remove(&self->watches, answer->path);
    }
}

static void on_reply(zkl_connection *self, zkl_answer *answer) {
    if (answer->applied_zxid > 0) {
        self->last_zxid = answer->applied_zxid;
    }
    if (answer->xid < 0) {
        zkl_testing_free(answer);
        return;
    }
    pending *request = first_sent(self);
    if (request == NULL || request->xid != answer->xid) {
        zkl_testing_fail("an answer to request %d, which is not the next", (int)answer->xid);
    }
    keep_watch(self, request, answer);
    request->answered = true;
    delivery *item = make_delivery(ZKL_DELIVERY_REPLY);
    item->request = request;
    item->answer = answer;
    pass_on(self, item);
    if (self->state == STATE_CONNECTED && ping_us(self) < self->timer.at_us) {
        set_timer(self); /* while requests were under way no ping was needed */
    }
}

static void on_watch_event(zkl_connection *self, zkl_answer *answer) {
    delivery *item = make_delivery(ZKL_DELIVERY_WATCH);
    item->answer = answer;
    item->watch_ids = zkl_client_watches_take(&self->watches, answer->path);
    pass_on(self, item);
}

/* The ensemble has ended: nothing will ever be answered. */
static void on_ensemble_ended(zkl_connection *self) {
    self->wire = NULL;
    self->state = STATE_CLOSED;
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
        on_expired(self);
    } else if (kind == ZKL_ANSWER_BROKEN) {
        lose_connection(self);
    } else {
        delivery *item = make_delivery(ZKL_DELIVERY_CONNECTING);
        item->news = self->latest_news;
        pass_on(self, item);
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
    if (self->state == STATE_WAITING) {
        return self->retry_us;
    }
    int64_t next = give_up_us(self);
    bool pings = self->state == STATE_CONNECTED && first_sent(self) == NULL;
    return pings && ping_us(self) < next ? ping_us(self) : next;
}

static void set_timer(zkl_connection *self) {
    if (self->closing || self->state == STATE_CLOSED || self->state == STATE_EXPIRED) {
        zkl_world_unschedule(&self->timer);
    } else {
        zkl_world_schedule(&self->timer, next_moment(self));
    }
}

static void send_ping(zkl_connection *self) {
    zkl_call *call = zkl_call_make(ZKL_CALL_PING, 0);
    call->xid = PING_XID;
    send(self, call);
}

static void on_timer(void *arg) {
    zkl_connection *self = arg;
    int64_t now_us = zkl_world_now_us();
    if (self->wire != NULL && zkl_channel_is_due(&self->wire->down)) {
        zkl_world_schedule(&self->timer, now_us); /* what has come is read first */
        return;
    }
    if (self->state == STATE_WAITING && self->retry_us <= now_us) {
        try_next_server(self);
    } else if (self->state != STATE_WAITING && give_up_us(self) <= now_us) {
        zkl_wire_hang_up(self->wire);
        lose_connection(self);
        return;
    } else if (self->state == STATE_CONNECTED && first_sent(self) == NULL &&
               ping_us(self) <= now_us) {
        send_ping(self);
    }
    set_timer(self);
}

/* ---- Requests
 * -----------------------------------------------------------------------------------------------
 */

static bool is_usable(const zkl_connection *self) {
    return (self->state == STATE_WAITING || self->state == STATE_CONNECTING ||
            self->state == STATE_CONNECTED) &&
           !self->abandoned && !self->closing;
}

/* Takes the call. While there is no connection it waits for one; if that does not
 * come about its reply is lost. */
static pending *request(zkl_connection *self, zkl_call *call, zkl_reply_callback *done, void *arg) {
    pending *made = zkl_testing_allocate(sizeof(*made));
    made->kind = call->kind;
    made->xid = ++self->last_xid;
    made->done = done;
    made->arg = arg;
    call->xid = made->xid;
    DL_APPEND(self->pending, made);
    if (self->state == STATE_CONNECTED) {
        send(self, call);
    } else {
        made->unsent = call;
    }
    return made;
}

static zkl_outcome request_create(zkl_connection *self, const zkl_operation *operation,
                                  zkl_reply_callback *done, void *arg) {
    if (!is_usable(self)) {
        return ZKL_OUTCOME_SESSION_OVER;
    }
    zkl_call *call = zkl_call_make_operations(ZKL_CALL_CREATE, ZKL_WRITE_CREATE, operation, 1);
    request(self, call, done, arg)->parent = !operation->sequential;
    return ZKL_OUTCOME_OK;
}

static zkl_outcome create_ephemeral_sequential(zkl_operations *operations, const char *path,
                                               const char *data, zkl_reply_callback *done,
                                               void *arg) {
    zkl_operation operation = {
        .kind = ZKL_WRITE_CREATE,
        .path = path,
        .data = data,
        .ephemeral = true,
        .sequential = true,
    };
    return request_create(of(operations), &operation, done, arg);
}

static zkl_outcome create_persistent(zkl_operations *operations, const char *path,
                                     zkl_reply_callback *done, void *arg) {
    zkl_operation operation = { .kind = ZKL_WRITE_CREATE, .path = path };
    return request_create(of(operations), &operation, done, arg);
}

static zkl_outcome list_children(zkl_operations *operations, const char *path,
                                 zkl_reply_callback *done, void *arg) {
    zkl_connection *self = of(operations);
    if (!is_usable(self)) {
        return ZKL_OUTCOME_SESSION_OVER;
    }
    request(self, zkl_call_make_path(ZKL_CALL_LIST, path), done, arg);
    return ZKL_OUTCOME_OK;
}

static zkl_outcome check_exists(zkl_operations *operations, const char *path, uint64_t watch_id,
                                zkl_reply_callback *done, void *arg) {
    zkl_connection *self = of(operations);
    if (!is_usable(self)) {
        return ZKL_OUTCOME_SESSION_OVER;
    }
    zkl_call *call = zkl_call_make_path(ZKL_CALL_EXISTS, path);
    call->watch = watch_id != 0;
    request(self, call, done, arg)->watch_id = watch_id;
    return ZKL_OUTCOME_OK;
}

static zkl_outcome remove_node(zkl_operations *operations, const char *path,
                               zkl_reply_callback *done, void *arg) {
    zkl_connection *self = of(operations);
    if (!is_usable(self)) {
        return ZKL_OUTCOME_SESSION_OVER;
    }
    zkl_operation operation = {
        .kind = ZKL_WRITE_DELETE,
        .path = path,
        .version = ZKL_ANY_VERSION,
    };
    request(self, zkl_call_make_operations(ZKL_CALL_DELETE, ZKL_WRITE_DELETE, &operation, 1), done,
            arg);
    return ZKL_OUTCOME_OK;
}

static zkl_outcome remove_watches(zkl_operations *operations, const char *path,
                                  zkl_reply_callback *done, void *arg) {
    zkl_connection *self = of(operations);
    if (!is_usable(self)) {
        return ZKL_OUTCOME_SESSION_OVER;
    }
    request(self, zkl_call_make_path(ZKL_CALL_REMOVE_WATCHES, path), done, arg);
    return ZKL_OUTCOME_OK;
}

/* ---- Clock, random numbers
 * ------------------------------------------------------------------------------------ */

static int64_t now_ms(zkl_operations *operations) {
    (void)operations;
    return zkl_clock_ms();
}

static int64_t wall_clock_ms(zkl_operations *operations) {
    const int64_t begun_ms = 1735689600000; /* every world begins with the year 2025 */
    (void)operations;
    return begun_ms + zkl_clock_ms();
}

static bool random_bytes(zkl_operations *operations, void *bytes, size_t size) {
    (void)operations;
    unsigned char *next = bytes;
    for (size_t i = 0; i < size; i++) {
        next[i] = (unsigned char)zkl_world_random(UCHAR_MAX + 1);
    }
    return true;
}

static void wake(zkl_operations *operations) {
    zkl_connection *self = of(operations);
    self->wake(self->wake_arg);
}

/* ---- Beginning and end
 * ------------------------------------------------------------------------------------------ */

static const zkl_operations_table table = {
    .create_ephemeral_sequential = create_ephemeral_sequential,
    .create_persistent = create_persistent,
    .list = list_children,
    .exists = check_exists,
    .remove = remove_node,
    .remove_watches = remove_watches,
    .now_ms = now_ms,
    .wall_clock_ms = wall_clock_ms,
    .random = random_bytes,
    .wake = wake,
};

zkl_connection *zkl_connection_make(pthread_mutex_t *mutex, const zkl_listener *listener,
                                    void (*wake_function)(void *arg), void *wake_arg) {
    zkl_connection *self = zkl_testing_allocate(sizeof(*self));
    self->operations.table = &table;
    self->mutex = mutex;
    self->listener = *listener;
    self->wake = wake_function;
    self->wake_arg = wake_arg;
    self->timer.run = on_timer;
    self->timer.arg = self;
    return self;
}

zkl_operations *zkl_connection_operations(zkl_connection *self) {
    return &self->operations;
}

void zkl_connection_abandon(zkl_connection *self) {
    self->abandoned = true;
}

int zkl_connection_open(zkl_connection *self, const char *addresses, int32_t timeout_ms) {
    (void)addresses; /* any of them leads to the one ensemble that there is */
    const zkl_ensemble *ensemble = zkl_ensemble_current();
    if (ensemble == NULL) {
        return ZKL_SYSTEM;
    }
    self->process = zkl_process_current();
    self->timer.process = self->process;
    zkl_channel_begin(&self->deliveries, deliver, self, self->process);
    shuffle_servers(self, zkl_ensemble_server_count(ensemble));
    self->state = STATE_WAITING;
    self->abandoned = false;
    self->session_id = 0;
    self->last_zxid = 0;
    self->timeout_ms = timeout_ms;
    self->next_server = 0;
    self->retry_us = zkl_world_now_us();
    set_timer(self);
    return ZKL_OK;
}

void zkl_connection_set_servers(zkl_connection *self, const char *addresses) {
    (void)self;
    (void)addresses;
}

static void answer_all(zkl_connection *self) {
    zkl_message *item = zkl_channel_take(&self->deliveries, 0);
    while (item != NULL) {
        zkl_message *next = item->next;
        free_delivery((delivery *)item);
        item = next;
    }
    pthread_mutex_lock(self->mutex);
    while (self->pending != NULL) {
        finish(self, self->pending, NULL, ZKL_OUTCOME_SESSION_OVER);
    }
    pthread_mutex_unlock(self->mutex);
}

/* Something may be heard that is not the answer to this: libzookeeper does not look. */
static void close_session(zkl_connection *self) {
    zkl_call *call = zkl_call_make(ZKL_CALL_CLOSE, 0);
    call->xid = CLOSE_XID;
    call->write = ZKL_WRITE_CLOSE_SESSION;
    send(self, call);
    int64_t until_us = zkl_world_now_us() + (int64_t)CLOSE_WAIT_MS * US_PER_MS;
    self->heard_at_close = false;
    while (!self->heard_at_close && zkl_world_now_us() < until_us) {
        zkl_world_wait_on(self, until_us);
    }
}

void zkl_connection_close(zkl_connection *self) {
    bool connected = self->state == STATE_CONNECTED;
    if (self->process == NULL) {
        return; /* it was never opened, or is closed already */
    }
    self->closing = true;
    zkl_world_unschedule(&self->timer);
    answer_all(self);
    if (connected) {
        close_session(self);
    }
    if (self->wire != NULL) {
        zkl_wire_hang_up(self->wire);
        self->wire = NULL;
    }
    zkl_client_watches_clear(&self->watches);
    self->state = STATE_CLOSED;
    self->closing = false;
    self->process = NULL;
}

void zkl_connection_free(zkl_connection *self) {
    zkl_testing_free(self);
}
