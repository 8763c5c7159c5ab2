/*
 * The connection on the simulated ensemble. It does what libzookeeper_mt does, in
 * virtual time: a ping after a third of the session timeout without a request, a
 * connection given up after two thirds without an answer, and news of the session,
 * lost replies and watches in the order in which libzookeeper gives them.
 */
#include "zookeeper/connection.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "testing/client_connection.h"
#include "testing/hash.h"
#include "threads.h"
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
    if (self->state == ZKL_CLIENT_CONNECTED) {
        zkl_client_send(self, call);
    } else {
        made->unsent = call;
    }
    return made;
}

static zkl_outcome request_create(zkl_connection *self, const zkl_operation *operation,
                                  zkl_reply_callback *done, void *arg) {
    zkl_outcome outcome = look_before_sending(self);
    if (outcome != ZKL_OUTCOME_OK) {
        return outcome;
    }
    zkl_call *call = zkl_call_make_operations(ZKL_CALL_CREATE, ZKL_WRITE_CREATE, operation, 1);
    request(self, call, done, arg)->parent = !operation->sequential;
    return outcome;
}

static zkl_outcome create_ephemeral_sequential(zkl_operations *operations, const char *path,
                                               const char *data, zkl_reply_callback *done,
                                               void *arg) {
    zkl_operation operation = {
        .kind = ZKL_WRITE_CREATE,
        .path = path,
        .data = data,
        .data_size = strlen(data),
        .ephemeral = true,
        .sequential = true,
    };
    return request_create(of(operations), &operation, done, arg);
}

static zkl_outcome create_persistent(zkl_operations *operations, const char *path, bool container,
                                     zkl_reply_callback *done, void *arg) {
    zkl_operation operation = { .kind = ZKL_WRITE_CREATE, .path = path, .container = container };
    return request_create(of(operations), &operation, done, arg);
}

static zkl_outcome list_children(zkl_operations *operations, const char *path, uint64_t watch_id,
                                 zkl_reply_callback *done, void *arg) {
    zkl_connection *self = of(operations);
    zkl_outcome outcome = look_before_sending(self);
    if (outcome != ZKL_OUTCOME_OK) {
        return outcome;
    }
    zkl_call *call = zkl_call_make_path(ZKL_CALL_LIST, path);
    call->watch = watch_id != 0;
    request(self, call, done, arg)->watch_id = watch_id;
    return outcome;
}

static zkl_outcome check_exists(zkl_operations *operations, const char *path, uint64_t watch_id,
                                zkl_reply_callback *done, void *arg) {
    zkl_connection *self = of(operations);
    zkl_outcome outcome = look_before_sending(self);
    if (outcome != ZKL_OUTCOME_OK) {
        return outcome;
    }
    zkl_call *call = zkl_call_make_path(ZKL_CALL_EXISTS, path);
    call->watch = watch_id != 0;
    request(self, call, done, arg)->watch_id = watch_id;
    return outcome;
}

static zkl_outcome remove_node(zkl_operations *operations, const char *path,
                               zkl_reply_callback *done, void *arg) {
    zkl_connection *self = of(operations);
    zkl_outcome outcome = look_before_sending(self);
    if (outcome != ZKL_OUTCOME_OK) {
        return outcome;
    }
    zkl_operation operation = {
        .kind = ZKL_WRITE_DELETE,
        .path = path,
        .version = ZKL_ANY_VERSION,
    };
    request(self, zkl_call_make_operations(ZKL_CALL_DELETE, ZKL_WRITE_DELETE, &operation, 1), done,
            arg);
    return outcome;
}

static zkl_outcome remove_watches(zkl_operations *operations, const char *path, zkl_watch_kind kind,
                                  zkl_reply_callback *done, void *arg) {
    zkl_connection *self = of(operations);
    zkl_outcome outcome = look_before_sending(self);
    if (outcome != ZKL_OUTCOME_OK) {
        return outcome;
    }
    zkl_call *call = zkl_call_make_path(ZKL_CALL_REMOVE_WATCHES, path);
    call->watch_kind = kind;
    request(self, call, done, arg)->watch_kind = kind;
    return outcome;
}

static zkl_operation operation_of(const zkl_multi_operation *wanted) {
    static const zkl_write_kind kinds[] = {
        [ZKL_MULTI_CHECK] = ZKL_WRITE_CHECK,
        [ZKL_MULTI_CREATE_PERSISTENT] = ZKL_WRITE_CREATE,
        [ZKL_MULTI_CREATE_PERSISTENT_SEQUENTIAL] = ZKL_WRITE_CREATE,
        [ZKL_MULTI_CREATE_EPHEMERAL] = ZKL_WRITE_CREATE,
        [ZKL_MULTI_CREATE_EPHEMERAL_SEQUENTIAL] = ZKL_WRITE_CREATE,
        [ZKL_MULTI_SET] = ZKL_WRITE_SET,
        [ZKL_MULTI_REMOVE] = ZKL_WRITE_DELETE,
    };
    return (zkl_operation){
        .kind = kinds[wanted->kind],
        .path = wanted->path,
        .data = wanted->data,
        .data_size = wanted->size,
        .ephemeral = wanted->kind == ZKL_MULTI_CREATE_EPHEMERAL ||
                     wanted->kind == ZKL_MULTI_CREATE_EPHEMERAL_SEQUENTIAL,
        .sequential = wanted->kind == ZKL_MULTI_CREATE_PERSISTENT_SEQUENTIAL ||
                      wanted->kind == ZKL_MULTI_CREATE_EPHEMERAL_SEQUENTIAL,
        .version = wanted->version,
    };
}

static zkl_outcome transact(zkl_operations *operations, const zkl_multi_operation *wanted,
                            size_t count, zkl_reply_callback *done, void *arg) {
    zkl_connection *self = of(operations);
    zkl_outcome outcome = look_before_sending(self);
    if (outcome != ZKL_OUTCOME_OK) {
        return outcome;
    }
    zkl_operation *all = zkl_testing_allocate(count * sizeof(*all));
    for (size_t i = 0; i < count; i++) {
        all[i] = operation_of(&wanted[i]);
    }
    request(self, zkl_call_make_operations(ZKL_CALL_MULTI, ZKL_WRITE_MULTI, all, count), done, arg);
    zkl_testing_free(all);
    return outcome;
}

static zkl_outcome get_node(zkl_operations *operations, const char *path, zkl_reply_callback *done,
                            void *arg) {
    zkl_connection *self = of(operations);
    zkl_outcome outcome = look_before_sending(self);
    if (outcome != ZKL_OUTCOME_OK) {
        return outcome;
    }
    request(self, zkl_call_make_path(ZKL_CALL_GET, path), done, arg);
    return outcome;
}

static zkl_outcome set_node(zkl_operations *operations, const char *path, const char *data,
                            int32_t version, zkl_reply_callback *done, void *arg) {
    zkl_connection *self = of(operations);
    zkl_outcome outcome = look_before_sending(self);
    if (outcome != ZKL_OUTCOME_OK) {
        return outcome;
    }
    zkl_operation operation = {
        .kind = ZKL_WRITE_SET,
        .path = path,
        .data = data,
        .data_size = strlen(data),
        .version = version,
    };
    request(self, zkl_call_make_operations(ZKL_CALL_SET, ZKL_WRITE_SET, &operation, 1), done, arg);
    return outcome;
}

/* ---- Clock, random numbers ------------------------------------------------------------------- */

static int64_t now_ms(zkl_operations *operations) {
    (void)operations;
    return zkl_clock_ms();
}

static int64_t wall_clock_ms(zkl_operations *operations) {
    (void)operations;
    return zkl_wall_clock_ms();
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

/* Simulated servers have no addresses to tell of. */
static void describe_failure(zkl_operations *operations, char *text, size_t size) {
    (void)operations;
    snprintf(text, size, "%s", "");
}

/* ---- Beginning and end ----------------------------------------------------------------------- */

static const zkl_operations_table table = {
    .create_ephemeral_sequential = create_ephemeral_sequential,
    .create_persistent = create_persistent,
    .transact = transact,
    .list = list_children,
    .exists = check_exists,
    .remove = remove_node,
    .remove_watches = remove_watches,
    .get = get_node,
    .set = set_node,
    .now_ms = now_ms,
    .wall_clock_ms = wall_clock_ms,
    .random = random_bytes,
    .wake = wake,
    .describe_failure = describe_failure,
};

zkl_connection *zkl_connection_make(pthread_mutex_t *mutex, const zkl_listener *listener,
                                    void (*wake_function)(void *arg), void *wake_arg) {
    zkl_connection *self = zkl_testing_allocate(sizeof(*self));
    self->operations.table = &table;
    self->mutex = mutex;
    self->listener = *listener;
    self->wake = wake_function;
    self->wake_arg = wake_arg;
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

void zkl_connection_set_servers(zkl_connection *self, const char *addresses) {
    if (self->process != NULL) {
        zkl_client_set_servers(self, addresses);
        let_others_run(self);
        pthread_mutex_lock(self->mutex);
        if (!self->abandoned && self->state != ZKL_CLIENT_CONNECTED) {
            self->listener.session(self->listener.arg,
                                   &(zkl_session_news){ .state = ZKL_SESSION_STATE_CONNECTING });
        }
        pthread_mutex_unlock(self->mutex);
    }
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
    self->process = NULL;
}

void zkl_connection_free(zkl_connection *self) {
    zkl_testing_free(self);
}
