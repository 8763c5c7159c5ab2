#include "contender.h"

static struct board *board_of(const struct contender *contender) {
    return contender->server->plan->board;
}

static bool fail_lock(struct contender *contender, const char *what, int status) {
    const char *detail = zkl_error_message();
    board_fail(board_of(contender), "server %d: %s: %s%s%s", contender->server->index + 1, what,
               zkl_strerror(status), detail[0] == '\0' ? "" : ": ", detail);
    return false;
}

bool contender_open(struct contender *contender, struct server *server) {
    *contender = (struct contender){ .server = server };
    store_status opened = store_open(server->plan->database, &contender->store);
    if (contender_checked(contender, opened, "open the database") != STORE_OK) {
        return false;
    }
    if (server->client == NULL) {
        return true;
    }
    int status = zkl_lock_open(server->client, server->plan->resource, NULL, &contender->lock);
    return status == ZKL_OK || fail_lock(contender, "open the lock", status);
}

void contender_close(struct contender *contender) {
    zkl_lock_close(contender->lock);
    store_close(contender->store);
}

bool contender_acquire(struct contender *contender, zkl_mode mode, zkl_grant *grant) {
    *grant = (zkl_grant)ZKL_GRANT_INIT;
    int status = zkl_lock_acquire(contender->lock, mode, WAIT_TIMEOUT_MS, grant);
    return status == ZKL_OK || fail_lock(contender, "acquire the lock", status);
}

bool contender_release(struct contender *contender) {
    /* 0: the library deletes the node in the background, and the next in line need not wait for
     * our round trip; closing the client waits for all of them. */
    int status = zkl_lock_release(contender->lock, 0);
    return status == ZKL_OK || status == ZKL_LOST ||
           fail_lock(contender, "release the lock", status);
}

bool contender_await(struct contender *contender, struct gate *gate, int count, const char *what) {
    if (gate_await(gate, (uint32_t)count, WAIT_TIMEOUT_MS)) {
        return true;
    }
    board_fail(board_of(contender), "server %d: waited %d s in vain for %s",
               contender->server->index + 1, WAIT_TIMEOUT_MS / 1000, what);
    return false;
}

store_status contender_checked(struct contender *contender, store_status status, const char *what) {
    if (status == STORE_ERROR) {
        board_fail(board_of(contender), "server %d: %s: %s", contender->server->index + 1, what,
                   store_error(contender->store));
    }
    return status;
}
