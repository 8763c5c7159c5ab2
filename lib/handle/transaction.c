#include "handle/transaction.h"

#include <stdlib.h>
#include <string.h>

#include "base/error_message.h"
#include "base/handles.h"
#include "base/pool.h"
#include "base/threads.h"
#include "base/validation.h"
#include "recipe/node_name.h"

/* ---- Building ----------------------------------------------------------------- */

int zkl_transaction_check_handle(const zkl_transaction *transaction) {
    ZKL_TRY(zkl_handle_check("transaction", transaction));
    ZKL_TRY(zkl_handle_check("lock", transaction->lock));
    if (atomic_load(&transaction->outstanding)) {
        zkl_error_note("transaction", "", "it belongs to the commit that is outstanding");
        return ZKL_HANDLE_IN_USE;
    }
    return ZKL_OK;
}

static int check_room(const zkl_transaction *transaction, size_t bytes) {
    ZKL_TRY(zkl_validate_range("number of operations",
                               (int64_t)(transaction->count - transaction->guards) + 1, 1,
                               ZKL_TRANSACTION_OPERATIONS_MAX));
    if (bytes > ZKL_TRANSACTION_BYTES_MAX - transaction->bytes) {
        return zkl_refuse("transaction", "", "paths and data exceed ZKL_TRANSACTION_BYTES_MAX");
    }
    return ZKL_OK;
}

static bool grow(zkl_transaction *transaction, size_t more) {
    size_t size = (transaction->count + more) * sizeof(*transaction->operations);
    zkl_multi_operation *operations = realloc(transaction->operations, size);
    if (operations != NULL) {
        transaction->operations = operations;
    }
    return operations != NULL;
}

/* Copies what the operation points to. The path begins with the chroot then. */
static bool copy_operation(zkl_transaction *transaction, zkl_multi_operation *operation) {
    const char *data = zkl_pool_copy(&transaction->copies, operation->data, operation->size);
    operation->data = operation->size > 0 ? data : NULL;
    operation->path = zkl_pool_print(&transaction->copies, "%s%s",
                                     transaction->lock->client->chroot, operation->path);
    return data != NULL && operation->path != NULL;
}

static int check_may_be_set(const char *path) {
    return zkl_node_name_is_protected(strrchr(path, '/') + 1)
               ? zkl_refuse("path", path, "is that of a protected node, whose data nobody may set")
               : ZKL_OK;
}

static int add_operation(zkl_transaction *transaction, zkl_multi_operation operation) {
    zkl_error_clear();
    ZKL_TRY(zkl_transaction_check_handle(transaction));
    ZKL_TRY(zkl_validate_path("path", operation.path, ZKL_TRANSACTION_PATH_MAX));
    ZKL_TRY(operation.kind == ZKL_MULTI_SET ? check_may_be_set(operation.path) : ZKL_OK);
    if (operation.size > 0) {
        ZKL_TRY(zkl_validate_pointer("data", operation.data));
    }
    ZKL_TRY(zkl_validate_range("version", operation.version, ZKL_ANY_VERSION, INT32_MAX));
    size_t fixed = strlen(transaction->lock->client->chroot) + strlen(operation.path) +
                   ZKL_TRANSACTION_OVERHEAD;
    size_t bytes = operation.size < SIZE_MAX - fixed ? operation.size + fixed : SIZE_MAX;
    ZKL_TRY(check_room(transaction, bytes));
    if (!grow(transaction, 1) || !copy_operation(transaction, &operation)) {
        return ZKL_NO_MEMORY;
    }
    transaction->operations[transaction->count++] = operation;
    transaction->bytes += bytes;
    return ZKL_OK;
}

int zkl_transaction_create(zkl_transaction *transaction, const char *path, const void *data,
                           size_t size, int flags) {
    zkl_error_clear();
    ZKL_TRY(zkl_validate_range("flags", flags, 0, ZKL_CREATE_EPHEMERAL | ZKL_CREATE_SEQUENTIAL));
    return add_operation(
        transaction, (zkl_multi_operation){
                         .kind = (zkl_multi_kind)flags, .path = path, .data = data, .size = size });
}

int zkl_transaction_set(zkl_transaction *transaction, const char *path, const void *data,
                        size_t size, int32_t version) {
    return add_operation(
        transaction,
        (zkl_multi_operation){
            .kind = ZKL_MULTI_SET, .path = path, .data = data, .size = size, .version = version });
}

int zkl_transaction_delete(zkl_transaction *transaction, const char *path, int32_t version) {
    return add_operation(
        transaction,
        (zkl_multi_operation){ .kind = ZKL_MULTI_REMOVE, .path = path, .version = version });
}

int zkl_transaction_check(zkl_transaction *transaction, const char *path, int32_t version) {
    return add_operation(
        transaction,
        (zkl_multi_operation){ .kind = ZKL_MULTI_CHECK, .path = path, .version = version });
}

/* ---- Its beginning and end ------------------------------------------------------- */

static void free_transaction(zkl_transaction *transaction) {
    zkl_pool_free(&transaction->copies);
    free(transaction->operations);
    free(transaction);
}

/* The bytes of each guard of a set but the first, for which there is always room. */
enum { GUARD_BYTES = ZKL_NODE_PATH_SIZE + ZKL_TRANSACTION_OVERHEAD };

int zkl_transaction_make(zkl_lock *lock, zkl_transaction **result) {
    zkl_transaction *transaction =
        calloc(1, sizeof(*transaction) + lock->count * sizeof(transaction->nodes[0]));
    if (transaction == NULL || !grow(transaction, lock->count)) {
        free(transaction);
        return ZKL_NO_MEMORY;
    }
    transaction->lock = lock;
    transaction->token = lock->grant.token;
    transaction->local_number = lock->attempt.local_number;
    transaction->count = transaction->guards = lock->count;
    transaction->bytes = ((size_t)lock->count - 1) * GUARD_BYTES;
    for (size_t i = 0; i < lock->count; i++) {
        transaction->operations[i] = (zkl_multi_operation){ .kind = ZKL_MULTI_CHECK,
                                                            .path = transaction->nodes[i],
                                                            .version = ZKL_ANY_VERSION };
    }
    atomic_init(&transaction->outstanding, false);
    atomic_init(&transaction->keepers, 1);
    *result = transaction;
    return ZKL_OK;
}

int zkl_transaction_begin(zkl_lock *lock, zkl_transaction **result) {
    ZKL_BEGIN_CALL;
    ZKL_TRY(zkl_validate_pointer("transaction", result));
    *result = NULL;
    ZKL_TRY(zkl_handle_check("lock", lock));
    ZKL_WITH_MUTEX(&lock->client->mutex);
    ZKL_TRY(zkl_lock_check_held(lock));
    ZKL_TRY(zkl_transaction_make(lock, result));
    zkl_handle_open("transaction", &(*result)->open);
    return ZKL_OK;
}

void zkl_transaction_drop(zkl_transaction *transaction) {
    if (atomic_fetch_sub(&transaction->keepers, 1) == 1) {
        free_transaction(transaction);
    }
}

void zkl_transaction_free(zkl_transaction *transaction) {
    if (zkl_handle_is_open("transaction", transaction)) {
        zkl_handle_close(&transaction->open);
        zkl_transaction_drop(transaction);
    }
}

/* ---- After its commit ------------------------------------------------------------ */

const char *zkl_transaction_created_path(const zkl_transaction *transaction, int operation) {
    const char *path = NULL;
    if (transaction != NULL && transaction->over && transaction->status == ZKL_OK &&
        operation >= 0 && (size_t)operation < transaction->count - transaction->guards) {
        path = transaction->operations[transaction->guards + (size_t)operation].path;
    }
    return path != NULL ? path : "";
}
