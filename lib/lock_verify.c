#include <string.h>

#include "callback_queue.h"
#include "commit.h"
#include "input.h"
#include "threads.h"

static int check(const zkl_lock *lock, int64_t timeout_ms) {
    int status = zkl_lock_check_handle(lock);
    if (status == ZKL_OK && timeout_ms != ZKL_FOREVER) {
        status = zkl_input_check_range("timeout_ms", timeout_ms, 1, INT64_MAX, ZKL_INVALID_TIMEOUT);
    }
    if (status == ZKL_OK && zkl_callback_is_running()) {
        status = ZKL_IN_CALLBACK;
    }
    return status;
}

static void ignore(void *arg, const zkl_commit_result *result) {
    (void)arg;
    (void)result;
}

/* What was asked for, and when. */
typedef struct question {
    char node[ZKL_NODE_PATH_SIZE];
    uint64_t connections; /* that there had been */
} question;

static int ask_once(zkl_lock *lock, int64_t timeout_ms, question *asked) {
    int status = zkl_commit_check_held(lock);
    if (status != ZKL_OK) {
        return status;
    }
    asked->connections = lock->runner->session->connections;
    zkl_request_runner_node_path(lock->runner, asked->node, sizeof(asked->node));
    zkl_multi_operation guard = zkl_commit_guard(asked->node);
    return zkl_commit_and_wait(lock, &guard, 1, timeout_ms, ignore, NULL);
}

/* By a downgrade or an upgrade of another thread. */
static bool has_another_node(const zkl_lock *lock, const char *asked) {
    char node[ZKL_NODE_PATH_SIZE];
    if (lock->state != LOCK_HELD || lock->runner == NULL) {
        return false;
    }
    zkl_request_runner_node_path(lock->runner, node, sizeof(node));
    return strcmp(node, asked) != 0;
}

/* The next one may be there already when this thread comes to look. */
static bool connection_was_lost(const zkl_session *session, const question *asked) {
    return !session->connected || session->connections != asked->connections;
}

/* Nothing is written: where the reply was lost with the connection, the next is asked. */
static bool is_to_be_asked_again(const zkl_lock *lock, int status, const question *asked) {
    if (status == ZKL_LOST) {
        return has_another_node(lock, asked->node);
    }
    return status == ZKL_UNKNOWN && !lock->closing && lock->runner != NULL &&
           connection_was_lost(lock->runner->session, asked);
}

static int verify(zkl_lock *lock, int64_t timeout_ms) {
    int64_t start = zkl_clock_ms();
    int64_t left = timeout_ms;
    int status = ZKL_UNKNOWN;
    question asked = { .connections = 0 };
    do {
        status = ask_once(lock, left, &asked);
        left = timeout_ms == ZKL_FOREVER ? ZKL_FOREVER : timeout_ms - (zkl_clock_ms() - start);
    } while (is_to_be_asked_again(lock, status, &asked) && (left == ZKL_FOREVER || left > 0));
    return status == ZKL_UNKNOWN || status == ZKL_TIMEOUT ? ZKL_SUSPECT : status;
}

int zkl_lock_verify(zkl_lock *lock, int64_t timeout_ms) {
    zkl_input_clear();
    int status = check(lock, timeout_ms);
    if (status != ZKL_OK) {
        return status;
    }
    pthread_mutex_lock(&lock->client->mutex);
    zkl_lock_enter(lock);
    status = zkl_lock_note_returned(lock, __func__, verify(lock, timeout_ms));
    zkl_lock_leave(lock);
    pthread_mutex_unlock(&lock->client->mutex);
    return status;
}
