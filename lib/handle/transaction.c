#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error_message.h"
#include "base/handles.h"
#include "base/threads.h"
#include "base/validation.h"
#include "handle/commit.h"

struct zkl_transaction {
    zkl_handle open; /* first */
    zkl_lock *lock;
    int64_t token; /* of the grant under which it was begun */
    /* Their paths and data are copies; after the commit the paths are those that creates made,
     * without the chroot. */
    zkl_multi_operation *operations;
    size_t count;
    size_t capacity;
    size_t bytes;
    bool over;               /* applied, or perhaps applied */
    size_t applied;          /* how many operations were applied */
    atomic_bool outstanding; /* it belongs to an asynchronous commit */
    atomic_uint keepers; /* the application, and such a commit until its callback has returned */
};

/* ---- Building ----------------------------------------------------------------- */

static int check_handle(const zkl_transaction *transaction) {
    ZKL_TRY(zkl_handle_check("transaction", transaction));
    ZKL_TRY(zkl_handle_check("lock", transaction->lock));
    if (atomic_load(&transaction->outstanding)) {
        zkl_error_note("transaction", "", "it belongs to the commit that is outstanding");
        return ZKL_HANDLE_IN_USE;
    }
    return ZKL_OK;
}

static int check_room(const zkl_transaction *transaction, size_t bytes) {
    ZKL_TRY(zkl_validate_range("number of operations", (int64_t)transaction->count + 1, 1,
                               ZKL_TRANSACTION_OPERATIONS_MAX));
    if (bytes > ZKL_TRANSACTION_BYTES_MAX - transaction->bytes) {
        return zkl_refuse("transaction", "", "paths and data exceed ZKL_TRANSACTION_BYTES_MAX");
    }
    return ZKL_OK;
}

static bool grow(zkl_transaction *transaction) {
    enum { FIRST_CAPACITY = 8 };
    if (transaction->count < transaction->capacity) {
        return true;
    }
    size_t capacity = transaction->count > 0 ? 2 * transaction->count : FIRST_CAPACITY;
    zkl_multi_operation *operations =
        realloc(transaction->operations, capacity * sizeof(*operations));
    if (operations != NULL) {
        transaction->operations = operations;
        transaction->capacity = capacity;
    }
    return operations != NULL;
}

/* One allocation, which is freed by its path: the path with the chroot, then the data. */
static bool copy_strings(zkl_multi_operation *operation, const char *chroot) {
    size_t chroot_length = strlen(chroot);
    size_t path_size = strlen(operation->path) + 1;
    char *copy = malloc(chroot_length + path_size + operation->size);
    if (copy == NULL) {
        return false;
    }
    snprintf(copy, chroot_length + path_size, "%s%s", chroot, operation->path);
    char *data = copy + chroot_length + path_size;
    if (operation->size > 0) {
        memcpy(data, operation->data, operation->size);
    }
    operation->path = copy;
    operation->data = operation->size > 0 ? data : NULL;
    return true;
}

static int add(zkl_transaction *transaction, zkl_multi_operation operation) {
    zkl_error_clear();
    ZKL_TRY(check_handle(transaction));
    ZKL_TRY(zkl_validate_node_path(operation.path));
    if (operation.size > 0) {
        ZKL_TRY(zkl_validate_pointer("data", operation.data));
    }
    ZKL_TRY(zkl_validate_range("version", operation.version, ZKL_ANY_VERSION, INT32_MAX));
    const char *chroot = transaction->lock->client->chroot;
    size_t fixed = strlen(chroot) + strlen(operation.path) + ZKL_TRANSACTION_OVERHEAD;
    size_t bytes = operation.size < SIZE_MAX - fixed ? operation.size + fixed : SIZE_MAX;
    ZKL_TRY(check_room(transaction, bytes));
    if (!grow(transaction) || !copy_strings(&operation, chroot)) {
        return ZKL_NO_MEMORY;
    }
    transaction->operations[transaction->count++] = operation;
    transaction->bytes += bytes;
    return ZKL_OK;
}

int zkl_transaction_create(zkl_transaction *transaction, const char *path, const void *data,
                           size_t size, int flags) {
    static const zkl_multi_kind kinds[] = {
        [ZKL_CREATE_PERSISTENT] = ZKL_MULTI_CREATE_PERSISTENT,
        [ZKL_CREATE_EPHEMERAL] = ZKL_MULTI_CREATE_EPHEMERAL,
        [ZKL_CREATE_SEQUENTIAL] = ZKL_MULTI_CREATE_PERSISTENT_SEQUENTIAL,
        [ZKL_CREATE_EPHEMERAL | ZKL_CREATE_SEQUENTIAL] = ZKL_MULTI_CREATE_EPHEMERAL_SEQUENTIAL,
    };
    zkl_error_clear();
    ZKL_TRY(zkl_validate_range("flags", flags, 0, ZKL_CREATE_EPHEMERAL | ZKL_CREATE_SEQUENTIAL));
    return add(transaction, (zkl_multi_operation){
                                .kind = kinds[flags], .path = path, .data = data, .size = size });
}

int zkl_transaction_set(zkl_transaction *transaction, const char *path, const void *data,
                        size_t size, int32_t version) {
    return add(
        transaction,
        (zkl_multi_operation){
            .kind = ZKL_MULTI_SET, .path = path, .data = data, .size = size, .version = version });
}

int zkl_transaction_delete(zkl_transaction *transaction, const char *path, int32_t version) {
    return add(transaction,
               (zkl_multi_operation){ .kind = ZKL_MULTI_REMOVE, .path = path, .version = version });
}

int zkl_transaction_check(zkl_transaction *transaction, const char *path, int32_t version) {
    return add(transaction,
               (zkl_multi_operation){ .kind = ZKL_MULTI_CHECK, .path = path, .version = version });
}

/* ---- Beginning and end ---------------------------------------------------------- */

static void free_transaction(zkl_transaction *transaction) {
    for (size_t i = 0; i < transaction->count; i++) {
        free((char *)transaction->operations[i].path);
    }
    free(transaction->operations);
    free(transaction);
}

/* The bytes of each guard of a set but the first, for which there is always room. */
enum { GUARD_BYTES = ZKL_NODE_PATH_SIZE + ZKL_TRANSACTION_OVERHEAD };

static zkl_transaction *make_transaction(zkl_lock *lock) {
    zkl_transaction *transaction = calloc(1, sizeof(*transaction));
    if (transaction != NULL) {
        transaction->lock = lock;
        transaction->token = lock->grant.token;
        transaction->bytes = (lock->count - 1) * GUARD_BYTES;
        atomic_init(&transaction->outstanding, false);
        atomic_init(&transaction->keepers, 1);
        zkl_handle_open(&transaction->open);
    }
    return transaction;
}

int zkl_transaction_begin(zkl_lock *lock, zkl_transaction **result) {
    ZKL_BEGIN_CALL;
    ZKL_TRY(zkl_validate_pointer("transaction", result));
    *result = NULL;
    ZKL_TRY(zkl_handle_check("lock", lock));
    ZKL_WITH_MUTEX(&lock->client->mutex);
    ZKL_TRY(zkl_lock_check_held(lock));
    *result = make_transaction(lock);
    return *result != NULL ? ZKL_OK : ZKL_NO_MEMORY;
}

static void drop(zkl_transaction *transaction) {
    if (atomic_fetch_sub(&transaction->keepers, 1) == 1) {
        free_transaction(transaction);
    }
}

void zkl_transaction_free(zkl_transaction *transaction) {
    if (zkl_handle_is_open(transaction)) {
        zkl_handle_close(&transaction->open);
        drop(transaction);
    }
}

/* ---- Committing ------------------------------------------------------------------ */

typedef struct transaction_call {
    zkl_commit_call base; /* first */
    zkl_transaction *transaction;
} transaction_call;

/* Without memory for a path that path is left out: the write has been done. */
static void on_committed(zkl_commit_call *base, const zkl_multi_result *results) {
    zkl_transaction *transaction = ((transaction_call *)base)->transaction;
    size_t chroot_length = strlen(transaction->lock->client->chroot);
    transaction->applied = base->status == ZKL_OK ? transaction->count : 0;
    for (size_t i = 0; i < transaction->applied; i++) {
        const char *made = results[i].path;
        free((char *)transaction->operations[i].path);
        transaction->operations[i].path = made != NULL ? strdup(made + chroot_length) : NULL;
    }
}

/* A later grant does not do: what was read under the earlier one may have changed since. A
 * downgrade keeps the token. */
static int begin(zkl_lock_call *call) {
    transaction_call *self = (transaction_call *)call;
    zkl_transaction *transaction = self->transaction;
    self->base.operations = transaction->operations;
    self->base.count = transaction->count;
    self->base.token = transaction->token;
    self->base.ended = on_committed;
    if (transaction->over) {
        return zkl_refuse("transaction", "", "it was committed already");
    }
    ZKL_TRY(zkl_lock_check_held(call->lock));
    if (transaction->token != call->lock->grant.token) {
        return ZKL_LOST;
    }
    ZKL_TRY(zkl_commit_begin(&self->base));
    if (call->application.committed != NULL) {
        atomic_store(&transaction->outstanding, true);
        (void)atomic_fetch_add(&transaction->keepers, 1);
    }
    return ZKL_OK;
}

static int end(zkl_lock_call *call) {
    int status = zkl_commit_end((zkl_commit_call *)call);
    ((transaction_call *)call)->transaction->over = status == ZKL_OK || status == ZKL_UNKNOWN;
    return status;
}

/* In the callback the transaction belongs to the application again. */
static void tell(const zkl_lock_call *call) {
    const transaction_call *self = (const transaction_call *)call;
    zkl_transaction *transaction = self->transaction;
    atomic_store(&transaction->outstanding, false);
    call->application.committed(call->arg, call->status, transaction, &self->base.result);
    drop(transaction);
}

static const zkl_lock_call_kind kind = {
    .shortest_ms = 1, .begin = begin, .end = end, .expire = zkl_commit_expire, .tell = tell
};

int zkl_transaction_commit(zkl_transaction *transaction, int64_t timeout_ms,
                           zkl_transaction_result *result) {
    ZKL_BEGIN_CALL;
    transaction_call self = { .transaction = transaction,
                              .base.result = ZKL_TRANSACTION_RESULT_INIT };
    self.base.call = zkl_call_of_thread(NULL, &kind, __func__, timeout_ms);
    ZKL_TRY(check_handle(transaction));
    if (result != NULL) {
        ZKL_TRY(zkl_validate_struct_size("zkl_transaction_result", result->struct_size,
                                         sizeof(*result)));
    }
    self.base.call.lock = transaction->lock;
    int status = zkl_call_wait(&self.base.call, true);
    if (result != NULL) {
        zkl_struct_fill(result, &self.base.result);
    }
    return status;
}

int zkl_transaction_commit_async(zkl_transaction *transaction, int64_t timeout_ms,
                                 zkl_transaction_callback *callback, void *arg) {
    ZKL_BEGIN_CALL;
    transaction_call self = { .transaction = transaction,
                              .base.result = ZKL_TRANSACTION_RESULT_INIT };
    self.base.call = zkl_call_of_callback(NULL, &kind, __func__, timeout_ms, NULL, arg);
    self.base.call.application.committed = callback;
    ZKL_TRY(check_handle(transaction));
    self.base.call.lock = transaction->lock;
    return zkl_call_start(&self.base.call, sizeof(self));
}

const char *zkl_transaction_created_path(const zkl_transaction *transaction, int operation) {
    bool is_one = transaction != NULL && operation >= 0 && (size_t)operation < transaction->applied;
    const char *path = is_one ? transaction->operations[operation].path : NULL;
    return path != NULL ? path : "";
}
