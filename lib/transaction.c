#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "callback_queue.h"
#include "commit.h"
#include "handles.h"
#include "input.h"
#include "threads.h"

struct zkl_transaction {
    zkl_handle open; /* first */
    zkl_lock *lock;
    int64_t token;                   /* of the grant that it was begun under */
    zkl_multi_operation *operations; /* the guard first; of the others, paths and data are copies */
    char **made;                     /* the paths that creates made, without the chroot */
    size_t count;
    size_t capacity;
    size_t bytes;
    bool over;               /* it was applied, or may have been */
    atomic_bool outstanding; /* it belongs to an asynchronous commit */
    atomic_uint keepers;     /* the application, and such a commit until it has been told */
};

/* ---- Building ----------------------------------------------------------------- */

static int check_handle(const zkl_transaction *transaction) {
    int status = zkl_handle_check("transaction", transaction);
    if (status == ZKL_OK) {
        status = zkl_handle_check("lock", transaction->lock);
    }
    if (status == ZKL_OK && atomic_load(&transaction->outstanding)) {
        zkl_input_note("transaction", "", "it belongs to the commit that is outstanding");
        return ZKL_HANDLE_IN_USE;
    }
    return status == ZKL_OK ? zkl_client_check_process(transaction->lock->client) : status;
}

static int check_version(int32_t version) {
    return zkl_input_check_range("version", version, ZKL_ANY_VERSION, INT32_MAX,
                                 ZKL_INVALID_ARGUMENT);
}

static int check_room(const zkl_transaction *transaction, size_t bytes) {
    size_t others = transaction->count - 1; /* without the guard */
    int status = zkl_input_check_range("number of operations", (int64_t)others + 1, 1,
                                       ZKL_TRANSACTION_OPERATIONS_MAX, ZKL_TRANSACTION_TOO_LARGE);
    if (status == ZKL_OK && bytes > ZKL_TRANSACTION_BYTES_MAX - transaction->bytes) {
        zkl_input_note("transaction", "", "paths and data exceed ZKL_TRANSACTION_BYTES_MAX");
        status = ZKL_TRANSACTION_TOO_LARGE;
    }
    return status;
}

static bool grow(zkl_transaction *transaction) {
    if (transaction->count < transaction->capacity) {
        return true;
    }
    size_t capacity = 2 * transaction->capacity;
    zkl_multi_operation *operations =
        realloc(transaction->operations, capacity * sizeof(*operations));
    if (operations == NULL) {
        return false;
    }
    transaction->operations = operations;
    char **made = realloc(transaction->made, capacity * sizeof(*made));
    if (made == NULL) {
        return false;
    }
    transaction->made = made;
    transaction->capacity = capacity;
    return true;
}

/* In one piece: the data, then the path with the chroot, by which it is freed. */
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
    zkl_input_clear();
    int status = check_handle(transaction);
    if (status == ZKL_OK) {
        status = zkl_input_check_pointer("path", operation.path);
    }
    if (status == ZKL_OK) {
        status = zkl_input_check_node_path(operation.path);
    }
    if (status == ZKL_OK && operation.size > 0) {
        status = zkl_input_check_pointer("data", operation.data);
    }
    if (status == ZKL_OK) {
        status = check_version(operation.version);
    }
    if (status != ZKL_OK) {
        return status;
    }
    const char *chroot = transaction->lock->client->chroot;
    size_t fixed = strlen(chroot) + strlen(operation.path) + ZKL_TRANSACTION_OVERHEAD;
    size_t bytes = operation.size < SIZE_MAX - fixed ? operation.size + fixed : SIZE_MAX;
    status = check_room(transaction, bytes);
    if (status != ZKL_OK) {
        return status;
    }
    if (!grow(transaction) || !copy_strings(&operation, chroot)) {
        return ZKL_NO_MEMORY;
    }
    transaction->made[transaction->count] = NULL;
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
    zkl_input_clear();
    int status = zkl_input_check_range(
        "flags", flags, 0, ZKL_CREATE_EPHEMERAL | ZKL_CREATE_SEQUENTIAL, ZKL_INVALID_ARGUMENT);
    if (status != ZKL_OK) {
        return status;
    }
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
    for (size_t i = 1; i < transaction->count; i++) {
        free((char *)transaction->operations[i].path);
        free(transaction->made[i]);
    }
    free(transaction->operations);
    free(transaction->made);
    free(transaction);
}

static zkl_transaction *make_transaction(zkl_lock *lock, int64_t token) {
    enum { FIRST_CAPACITY = 8 };
    zkl_transaction *transaction = calloc(1, sizeof(*transaction));
    if (transaction == NULL) {
        return NULL;
    }
    transaction->lock = lock;
    atomic_init(&transaction->outstanding, false);
    atomic_init(&transaction->keepers, 1);
    transaction->capacity = FIRST_CAPACITY;
    transaction->operations = calloc(FIRST_CAPACITY, sizeof(*transaction->operations));
    transaction->made = calloc(FIRST_CAPACITY, sizeof(*transaction->made));
    if (transaction->operations == NULL || transaction->made == NULL) {
        free_transaction(transaction);
        return NULL;
    }
    transaction->token = token;
    transaction->count = 1; /* the guard, which each commit fills in */
    return transaction;
}

int zkl_transaction_begin(zkl_lock *lock, zkl_transaction **result) {
    ZKL_NOT_CANCELLED;
    zkl_input_clear();
    int status = zkl_input_check_pointer("transaction", result);
    if (status != ZKL_OK) {
        return status;
    }
    *result = NULL;
    status = zkl_lock_check_handle(lock);
    if (status != ZKL_OK) {
        return status;
    }
    pthread_mutex_lock(&lock->client->mutex);
    status = zkl_lock_check_held(lock);
    int64_t token = lock->token;
    pthread_mutex_unlock(&lock->client->mutex);
    if (status != ZKL_OK) {
        return status;
    }
    *result = make_transaction(lock, token);
    if (*result == NULL) {
        return ZKL_NO_MEMORY;
    }
    zkl_handle_open(&(*result)->open);
    return ZKL_OK;
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

typedef struct committing {
    zkl_commit_wait wait;
    zkl_transaction *transaction;
    zkl_transaction_result result;
} committing;

/* What an asynchronous one owes the application. */
typedef struct commit_completion {
    zkl_lock_completion base;
    committing its;
    zkl_transaction_callback *callback;
} commit_completion;

static int check_commit(const zkl_transaction *transaction, int64_t timeout_ms) {
    int status = check_handle(transaction);
    if (status == ZKL_OK && timeout_ms != ZKL_FOREVER) {
        status = zkl_input_check_range("timeout_ms", timeout_ms, 1, INT64_MAX, ZKL_INVALID_TIMEOUT);
    }
    return status;
}

static int check_not_over(const zkl_transaction *transaction) {
    if (transaction->over) {
        zkl_input_note("transaction", "", "it was committed already");
        return ZKL_INVALID_ARGUMENT;
    }
    return ZKL_OK;
}

/* Where there is no memory for a path, none is told: the write is done all the same. */
static void keep_made(zkl_transaction *transaction, const zkl_multi_result *results) {
    size_t chroot_length = strlen(transaction->lock->client->chroot);
    for (size_t i = 0; i < transaction->count; i++) {
        const char *path = results[i].path;
        transaction->made[i] = path != NULL ? strdup(path + chroot_length) : NULL;
    }
}

/* A later grant is no help: what was read under the one before proves nothing. A downgrade goes on
 * with the same. */
static bool is_of_its_grant(const zkl_transaction *transaction) {
    return transaction->lock->token == transaction->token;
}

static void on_committed(zkl_commit_wait *wait, const zkl_commit_result *told) {
    committing *self = (committing *)wait;
    if (told->status == ZKL_OK) {
        keep_made(self->transaction, told->results);
    }
    if (told->status == ZKL_OPERATION_FAILED) {
        self->result.failed_operation = (int)told->failed - 1;
        self->result.failed_status = told->failed_status;
    }
}

static int begin_commit(committing *self, zkl_transaction *transaction,
                        zkl_lock_completion *completion) {
    zkl_lock *lock = transaction->lock;
    *self = (committing){ .wait = { .lock = lock,
                                    .completion = completion,
                                    .operations = transaction->operations,
                                    .count = transaction->count,
                                    .token = transaction->token,
                                    .ended = on_committed },
                          .transaction = transaction,
                          .result = ZKL_TRANSACTION_RESULT_INIT };
    int status = zkl_lock_check_held(lock);
    if (status == ZKL_OK && !is_of_its_grant(transaction)) {
        status = ZKL_LOST;
    }
    if (status != ZKL_OK) {
        return status;
    }
    return zkl_commit_begin(&self->wait);
}

static int end_commit(committing *self) {
    int status = zkl_commit_end(&self->wait);
    self->transaction->over = status == ZKL_OK || status == ZKL_UNKNOWN;
    return status;
}

static int commit(zkl_transaction *transaction, int64_t timeout_ms,
                  zkl_transaction_result *result) {
    committing self;
    int status = begin_commit(&self, transaction, NULL);
    if (status == ZKL_OK) {
        zkl_commit_wait_for(&self.wait, timeout_ms);
        status = end_commit(&self);
    }
    *result = self.result;
    return status;
}

int zkl_transaction_commit(zkl_transaction *transaction, int64_t timeout_ms,
                           zkl_transaction_result *result) {
    ZKL_NOT_CANCELLED;
    zkl_input_clear();
    int status = check_commit(transaction, timeout_ms);
    if (status == ZKL_OK && result != NULL) {
        status = zkl_input_check_struct_size("zkl_transaction_result", result->struct_size,
                                             sizeof(*result));
    }
    if (status == ZKL_OK && zkl_callback_is_running()) {
        status = ZKL_IN_CALLBACK;
    }
    if (status == ZKL_OK) {
        status = check_not_over(transaction);
    }
    if (status != ZKL_OK) {
        return status;
    }
    zkl_transaction_result told = ZKL_TRANSACTION_RESULT_INIT;
    zkl_lock *lock = transaction->lock;
    pthread_mutex_lock(&lock->client->mutex);
    zkl_lock_enter(lock);
    status = zkl_lock_note_returned(lock, __func__, commit(transaction, timeout_ms, &told));
    zkl_lock_leave(lock);
    pthread_mutex_unlock(&lock->client->mutex);
    if (result != NULL) {
        *result = told;
    }
    return status;
}

static int end_asynchronous_commit(zkl_lock_completion *completion) {
    return end_commit(&((commit_completion *)completion)->its);
}

/* From here on it is the application's again. */
static void tell_committed(const zkl_lock_completion *completion) {
    const commit_completion *self = (const commit_completion *)completion;
    zkl_transaction *transaction = self->its.transaction;
    atomic_store(&transaction->outstanding, false);
    self->callback(completion->arg, completion->base.status, transaction, &self->its.result);
    drop(transaction);
}

static int commit_asynchronously(zkl_transaction *transaction, int64_t timeout_ms,
                                 zkl_transaction_callback *callback, void *arg) {
    zkl_lock_completion *completion = NULL;
    int status = zkl_lock_completion_make(transaction->lock, sizeof(commit_completion),
                                          "zkl_transaction_commit_async", arg, &completion);
    if (status != ZKL_OK) {
        return status;
    }
    commit_completion *self = (commit_completion *)completion;
    self->callback = callback;
    completion->tell = tell_committed;
    completion->end = end_asynchronous_commit;
    status = begin_commit(&self->its, transaction, completion);
    if (status != ZKL_OK) {
        zkl_lock_completion_unmake(completion);
        return status;
    }
    atomic_store(&transaction->outstanding, true);
    (void)atomic_fetch_add(&transaction->keepers, 1);
    zkl_commit_leave_to_callback(&self->its.wait, timeout_ms);
    return ZKL_OK;
}

int zkl_transaction_commit_async(zkl_transaction *transaction, int64_t timeout_ms,
                                 zkl_transaction_callback *callback, void *arg) {
    ZKL_NOT_CANCELLED;
    zkl_input_clear();
    int status = check_commit(transaction, timeout_ms);
    if (status == ZKL_OK) {
        status = zkl_input_check_pointer("callback", (const void *)(uintptr_t)callback);
    }
    if (status == ZKL_OK) {
        status = check_not_over(transaction);
    }
    if (status != ZKL_OK) {
        return status;
    }
    zkl_lock *lock = transaction->lock;
    pthread_mutex_lock(&lock->client->mutex);
    status = commit_asynchronously(transaction, timeout_ms, callback, arg);
    if (status != ZKL_OK) {
        (void)zkl_lock_note_returned(lock, __func__, status);
    }
    pthread_mutex_unlock(&lock->client->mutex);
    return status;
}

const char *zkl_transaction_created_path(const zkl_transaction *transaction, int operation) {
    bool is_one =
        transaction != NULL && operation >= 0 && (size_t)operation + 1 < transaction->count;
    const char *path = is_one ? transaction->made[operation + 1] : NULL;
    return path != NULL ? path : "";
}
