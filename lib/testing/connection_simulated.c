/*
 * The connection on the simulated ensemble. It does what libzookeeper_mt does, in
 * virtual time: a ping after a third of the session timeout without a request, a
 * connection given up after two thirds without an answer, and news of the session,
 * lost replies and watches in the order in which libzookeeper gives them.
 */
#include "connection/connection.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/threads.h"
#include "testing/client_connection.h"
#include "testing/ensemble.h"
#include "testing/hash.h"
#include "zklock/zklock.h"

enum { HALF_PER_MILLION = 500000, STOPPED_US = 200000 };

static zkl_connection *of(zkl_operations *operations) {
    return (zkl_connection *)operations;
}

/* ---- Requests
 * -----------------------------------------------------------------------------------------------
 */

static bool is_usable(const zkl_connection *self) {
    return (self->state == ZKL_CLIENT_WAITING || self->state == ZKL_CLIENT_CONNECTING ||
            self->state == ZKL_CLIENT_CONNECTED) &&
           !self->abandoned && !self->closing;
}

/* What a request comes to at once: OK, it may be sent. */
static zkl_outcome look_before_sending(const zkl_connection *self) {
    if (!is_usable(self)) {
        return ZKL_OUTCOME_SESSION_OVER;
    }
    const zkl_ensemble_options *options = zkl_ensemble_get_options(zkl_ensemble_current());
    return zkl_world_chance(options->rates.not_sent) ? ZKL_OUTCOME_NOT_NOW : ZKL_OUTCOME_OK;
}

/* Takes the call. While there is no connection it waits for one; if that does not
 * come about its reply is lost. */
static zkl_client_request *request(zkl_connection *self, zkl_call *call, zkl_reply_callback *done,
                                   void *arg) {
    zkl_client_request *made = zkl_testing_allocate(sizeof(*made));
    made->kind = call->kind;
    made->xid = ++self->last_xid;
    made->done = done;
    made->arg = arg;
    call->xid = made->xid;
    DL_APPEND(self->pending, made);
    if (self->state == ZKL_CLIENT_CONNECTED && self->introduced) {
        zkl_client_send(self, call);
    } else {
        made->unsent = call;
    }
    return made;
}

static zkl_write write_of(const zkl_multi_operation *wanted, const char *acl) {
    static const zkl_write_kind kinds[] = {
        [ZKL_MULTI_CHECK] = ZKL_WRITE_CHECK,
        [ZKL_MULTI_CREATE_PERSISTENT] = ZKL_WRITE_CREATE,
        [ZKL_MULTI_CREATE_PERSISTENT_SEQUENTIAL] = ZKL_WRITE_CREATE,
        [ZKL_MULTI_CREATE_EPHEMERAL] = ZKL_WRITE_CREATE,
        [ZKL_MULTI_CREATE_EPHEMERAL_SEQUENTIAL] = ZKL_WRITE_CREATE,
        [ZKL_MULTI_SET] = ZKL_WRITE_SET,
        [ZKL_MULTI_REMOVE] = ZKL_WRITE_DELETE,
    };
    return (zkl_write){
        .kind = kinds[wanted->kind],
        .path = wanted->path,
        .data = wanted->data,
        .data_size = wanted->size,
        .acl = acl,
        .ephemeral = wanted->kind == ZKL_MULTI_CREATE_EPHEMERAL ||
                     wanted->kind == ZKL_MULTI_CREATE_EPHEMERAL_SEQUENTIAL,
        .sequential = wanted->kind == ZKL_MULTI_CREATE_PERSISTENT_SEQUENTIAL ||
                      wanted->kind == ZKL_MULTI_CREATE_EPHEMERAL_SEQUENTIAL,
        .version = wanted->version,
    };
}

static zkl_call *make_write(zkl_call_kind call, zkl_write_kind kind, const zkl_operation *wanted) {
    const char *data = wanted->data;
    zkl_write write = {
        .kind = kind,
        .path = wanted->path,
        .data = data,
        .data_size = data != NULL ? strlen(data) : 0,
        .acl = wanted->acl,
        .ephemeral = wanted->kind == ZKL_OPERATION_CREATE,
        .sequential = wanted->kind == ZKL_OPERATION_CREATE,
        .container = wanted->container,
        .version = kind == ZKL_WRITE_SET ? wanted->version : ZKL_ANY_VERSION,
    };
    return zkl_call_make_operations(call, kind, &write, 1);
}

static zkl_call *make_transaction(const zkl_operation *wanted) {
    zkl_write *all = zkl_testing_allocate(wanted->count * sizeof(*all));
    for (size_t i = 0; i < wanted->count; i++) {
        all[i] = write_of(&wanted->all[i], wanted->acl);
    }
    zkl_call *call = zkl_call_make_operations(ZKL_CALL_MULTI, ZKL_WRITE_MULTI, all, wanted->count);
    zkl_testing_free(all);
    return call;
}

static zkl_call *make_read(zkl_call_kind kind, const zkl_operation *wanted) {
    zkl_call *call = zkl_call_make_path(kind, wanted->path);
    call->watch = wanted->watch_id != 0;
    call->watch_kind = wanted->watch_kind;
    return call;
}

static zkl_call *make_call(const zkl_operation *wanted) {
    switch (wanted->kind) {
    case ZKL_OPERATION_CREATE:
    case ZKL_OPERATION_CREATE_PARENT:
        return make_write(ZKL_CALL_CREATE, ZKL_WRITE_CREATE, wanted);
    case ZKL_OPERATION_DELETE:
        return make_write(ZKL_CALL_DELETE, ZKL_WRITE_DELETE, wanted);
    case ZKL_OPERATION_SET:
        return make_write(ZKL_CALL_SET, ZKL_WRITE_SET, wanted);
    case ZKL_OPERATION_SET_ACL:
        return make_write(ZKL_CALL_SET_ACL, ZKL_WRITE_SET_ACL, wanted);
    case ZKL_OPERATION_TRANSACTION:
        return make_transaction(wanted);
    case ZKL_OPERATION_LIST_CHILDREN:
        return make_read(ZKL_CALL_LIST, wanted);
    case ZKL_OPERATION_REMOVE_WATCHES:
        return make_read(ZKL_CALL_REMOVE_WATCHES, wanted);
    case ZKL_OPERATION_GET:
        return make_read(ZKL_CALL_GET, wanted);
    case ZKL_OPERATION_GET_ACL:
        return make_read(ZKL_CALL_GET_ACL, wanted);
    default:
        return make_read(ZKL_CALL_EXISTS, wanted);
    }
}

static zkl_outcome send_operation(zkl_operations *operations, const zkl_operation *wanted,
                                  zkl_reply_callback *done, void *arg) {
    zkl_connection *self = of(operations);
    zkl_outcome outcome = look_before_sending(self);
    if (outcome == ZKL_OUTCOME_OK) {
        zkl_client_request *made = request(self, make_call(wanted), done, arg);
        made->parent = wanted->kind == ZKL_OPERATION_CREATE_PARENT;
        made->watch_id = wanted->watch_id;
        made->watch_kind = wanted->watch_kind;
    }
    return outcome;
}

static void forget_watches(zkl_operations *operations, const char *path, zkl_watch_kind kind) {
    zkl_client_watches_remove(&of(operations)->watches, path, kind);
}

/* ---- Clock, random numbers ------------------------------------------------------------------- */

static int64_t now_ms(zkl_operations *operations) {
    (void)operations;
    return zkl_clock_ms();
}

static bool random_bytes(zkl_operations *operations, void *bytes, size_t size) {
    (void)operations;
    unsigned char *next = bytes;
    for (size_t i = 0; i < size; i++) {
        next[i] = (unsigned char)zkl_world_random(UCHAR_MAX + 1);
    }
    return true;
}

/* Simulated servers have no addresses to tell of. */
static void describe_failure(zkl_operations *operations, char *text, size_t size) {
    const zkl_connection *self = of(operations);
    const char *refused = self->refused;
    snprintf(text, size, "%s%s",
             refused[0] != '\0' ? "the servers refused the credential of the scheme " : "",
             refused);
}

/* ---- Beginning and end ----------------------------------------------------------------------- */

static const zkl_operations_table table = {
    .send = send_operation,
    .now_ms = now_ms,
    .random = random_bytes,
    .describe_failure = describe_failure,
    .forget_watches = forget_watches,
};

/* Simulated servers have neither TLS nor SASL: testing.h. */
int zkl_connection_check(const zkl_security *options) {
    (void)options;
    return ZKL_OK;
}

void zkl_connection_look(zkl_connection *self) {
    (void)self;
}

bool zkl_connection_server(const zkl_connection *self, char address[ZKL_ADDRESS_SIZE]) {
    zkl_address_write(self->current, address, ZKL_ADDRESS_SIZE);
    return zkl_client_has_socket(self);
}

zkl_connection *zkl_connection_make(pthread_mutex_t *mutex, const zkl_listener *listener) {
    zkl_connection *self = zkl_testing_allocate(sizeof(*self));
    self->operations.table = &table;
    self->mutex = mutex;
    self->listener = *listener;
    return self;
}

zkl_operations *zkl_connection_operations(zkl_connection *self) {
    return &self->operations;
}

bool zkl_connection_is_idle(const zkl_connection *self) {
    return self->pending == NULL;
}

void zkl_connection_abandon(zkl_connection *self) {
    self->abandoned = true;
}

int zkl_connection_open(zkl_connection *self, const char *addresses, int32_t timeout_ms) {
    if (zkl_ensemble_current() == NULL || !zkl_machine_opens()) {
        return ZKL_SYSTEM;
    }
    self->process = zkl_process_current();
    self->abandoned = false;
    zkl_client_begin_deliveries(self);
    zkl_client_start(self, addresses, timeout_ms);
    zkl_machine_is_opening();
    return ZKL_OK;
}

/* Who asked for other servers may be stopped before it tells, until there is another connection. */
static void let_others_run(zkl_connection *self) {
    if (zkl_world_chance(HALF_PER_MILLION)) {
        zkl_world_wait_on(self, zkl_world_now_us() + STOPPED_US);
    }
}

bool zkl_connection_lacks_handle(const zkl_connection *self) {
    return self->lacks_handle;
}

int zkl_connection_renew(zkl_connection *self, const char *addresses) {
    let_others_run(self);
    pthread_mutex_lock(self->mutex);
    bool leaves = zkl_client_leave(self, addresses);
    if (leaves && !self->abandoned) {
        self->listener.session(
            self->listener.arg,
            &(zkl_session_news){ .state = ZKL_SESSION_STATE_CONNECTING, .renewed = true });
    }
    pthread_mutex_unlock(self->mutex);
    if (leaves) {
        zkl_client_connect_again(self);
    }
    self->lacks_handle = leaves && !zkl_machine_opens();
    if (self->lacks_handle) {
        zkl_world_unschedule(&self->timer);
    }
    return self->lacks_handle ? ZKL_SYSTEM : ZKL_OK;
}

bool zkl_connection_introduce(zkl_connection *self) {
    zkl_client_introduce(self);
    return true;
}

bool zkl_connection_set_servers(zkl_connection *self, const char *addresses) {
    if (self->process == NULL) {
        return false; /* it was never opened, or is closed already */
    }
    if (!zkl_client_set_servers(self, addresses)) {
        return false;
    }
    if (!self->introduced) {
        return zkl_connection_renew(self, addresses) == ZKL_OK;
    }
    let_others_run(self);
    ZKL_WITH_MUTEX(self->mutex);
    zkl_client_tell_if_closed(self);
    return true;
}

void zkl_connection_leave(zkl_connection *self, const char *addresses) {
    zkl_client_hang_up(self);
    (void)zkl_connection_set_servers(self, addresses);
    ZKL_WITH_MUTEX(self->mutex);
    zkl_client_tell_if_closed(self);
}

void zkl_connection_close(zkl_connection *self) {
    if (self->process == NULL) {
        return; /* it was never opened, or is closed already */
    }
    bool unread = zkl_client_count_open(self) > 0;
    self->closing = true;
    zkl_client_answer_all(self);
    zkl_client_stop(self, unread);
    self->closing = false;
    self->lacks_handle = false;
    self->process = NULL;
}

void zkl_connection_free(zkl_connection *self) {
    zkl_testing_free(self);
}
