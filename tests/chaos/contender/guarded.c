#include "guarded.h"

#include "lock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { COMMIT_MS = 5000, PATH_SIZE = RESOURCE_SIZE + 8, MARK_SIZE = WHO_SIZE + 32 };

/* The node that has the mark is made by the first who finds that it is not there. */
static int add_mark(const struct handle *handle, zkl_transaction *transaction, const char *mark) {
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s-mark", handle->resources[0]);
    return handle->has_no_mark
               ? zkl_transaction_create(transaction, path, mark, strlen(mark),
                                        ZKL_CREATE_PERSISTENT)
               : zkl_transaction_set(transaction, path, mark, strlen(mark), ZKL_ANY_VERSION);
}

static int commit(struct handle *handle, const char *mark) {
    zkl_transaction *transaction = NULL;
    zkl_transaction_result result = ZKL_TRANSACTION_RESULT_INIT;
    int status = zkl_transaction_begin(handle->lock, &transaction);
    if (status == ZKL_OK) {
        status = add_mark(handle, transaction, mark);
    }
    if (status == ZKL_OK) {
        status = zkl_transaction_commit(transaction, COMMIT_MS, &result);
    }
    zkl_transaction_free(transaction);
    if (status == ZKL_OPERATION_FAILED) {
        handle->has_no_mark = result.failed_status == ZKL_NO_NODE;
    } else if (status == ZKL_OK) {
        handle->has_no_mark = false;
    }
    return status;
}

bool guarded_commit(struct handle *handle) {
    char mark[MARK_SIZE];
    struct call call;
    call_prepare(&call, &handle->caller, "commit");
    snprintf(mark, sizeof mark, "mark=%s:%" PRId64, handle->caller.who, call.number);
    history_text(&call.line, "mark", mark);
    history_number(&call.line, "deadline_ms", COMMIT_MS);
    call_begin(&call);
    int status = commit(handle, mark);
    call_end(&call, status);
    call_note(&call);
    return status != ZKL_LOST;
}

/* One is under way for most of the time: a connection that ends mostly finds one. */
void guarded_hold(struct handle *handle) {
    enum { COMMITS_MAX = 8 };
    int64_t left = chance_between(&handle->chance, 1, COMMITS_MAX);
    while (left > 0 && guarded_commit(handle)) {
        left--;
    }
    if (left == 0) {
        lock_hold(handle);
    }
}
