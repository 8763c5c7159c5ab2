/* What must hold when a client or a handle is closed while it is used, or when its process dies. */
#include <inttypes.h>

#include "base/threads.h"
#include "handle/lock.h"
#include "oracle_records.h"

enum {
    END_SESSION_MAX_MS = 10000, /* when the servers do not answer, or slowly */
    CLOSE_CALM_MS = 1000,       /* so long is enough for deletions where nothing goes wrong */
    ELECTION_MAX_MS = 10000
};

static client_record *client_of(unsigned contender) {
    return &oracle.clients[oracle_plan_of(contender)->client];
}

/* ---- Beginning and end of a close -------------------------------------------------------------
 */

void oracle_has_handle(unsigned contender, bool open) {
    oracle.records[contender].has_handle = open;
    oracle.records[contender].closing = false;
}

void oracle_ends_early(unsigned client) {
    if (!oracle.clients[client].closes) {
        oracle.clients[client].ends_us = zkl_world_now_us();
    }
}

/* Its holders are none from here on. */
void oracle_client_closes(unsigned number) {
    client_record *one = &oracle.clients[number];
    one->sessions_ended = oracle_count_sessions_ended(one);
    one->client = NULL;
    one->closes = true;
    one->ends_us = zkl_world_now_us();
    one->close_stopped_us = one->stopped_us;
    for (unsigned i = 0; i < oracle.plan->contender_count; i++) {
        if (oracle_plan_of(i)->client == number) {
            oracle.records[i].holds = false;
        }
    }
}

/* Those of sessions that have not ended for the client, too. */
static const node_record *node_left(unsigned number) {
    uint32_t process = zkl_process_number(oracle.clients[number].process);
    const node_record *node;
    for (size_t i = 0; (node = nodes_at(i)) != NULL; i++) {
        if (node->alive && node->owner != 0 && nodes_session_process(node->owner) == process) {
            return node;
        }
    }
    return NULL;
}

void oracle_client_closed(unsigned number, int status, int64_t timeout_ms, int64_t took_ms) {
    client_record *one = &oracle.clients[number];
    one->closed = true;
    one->closed_us = zkl_world_now_us();
    int64_t stopped_ms = (one->stopped_us - one->close_stopped_us) / US_PER_MS;
    if (took_ms > timeout_ms + END_SESSION_MAX_MS + stopped_ms + LATE_MAX_MS) {
        oracle_violated("client %u was closed with %" PRId64 " ms, which took %" PRId64, number,
                        timeout_ms, took_ms);
    }
    if (status != ZKL_OK && status != ZKL_PENDING) {
        oracle_violated("client %u was closed, and was told: %s", number, zkl_strerror(status));
    }
    if (status == ZKL_PENDING && timeout_ms >= CLOSE_CALM_MS && plan_is_calm(oracle.plan)) {
        oracle_violated("client %u was closed, and its nodes were not deleted within %" PRId64
                        " ms, though nothing went wrong",
                        number, timeout_ms);
    }
    const node_record *left = node_left(number);
    if (status == ZKL_OK && left != NULL && !nodes_session_told_expired(left->owner)) {
        oracle_violated("client %u was told that its nodes are deleted, but %s is still there",
                        number, left->path);
    }
}

void oracle_is_healed(void) {
    if (oracle.healed_us == INT64_MAX) {
        oracle.healed_us = zkl_world_now_us();
    }
}

/* The servers have heard of the end of the session, however short the close. */
static void judge_calm_close(unsigned number) {
    const client_record *one = &oracle.clients[number];
    const node_record *left = node_left(number);
    if (left != NULL && zkl_world_now_us() > one->closed_us + CLOSE_CALM_MS * (int64_t)US_PER_MS) {
        oracle_violated(
            "client %u was closed %d ms ago, and %s is still there, though nothing went "
            "wrong",
            number, CLOSE_CALM_MS, left->path);
    }
}

/* What is not deleted ends with the session. */
static void judge_early_end(unsigned number) {
    const client_record *one = &oracle.clients[number];
    if (one->process == NULL || one->ends_us < 0 || oracle.healed_us == INT64_MAX) {
        return;
    }
    if (one->closed && plan_is_calm(oracle.plan)) {
        judge_calm_close(number);
    }
    int64_t since_us = one->ends_us > oracle.healed_us ? one->ends_us : oracle.healed_us;
    const plan_client *plan = &oracle.plan->clients[number];
    int64_t close_ms = one->closes ? plan->close_timeout_ms + END_SESSION_MAX_MS : 0;
    int64_t within_ms =
        close_ms + plan->session_timeout_ms + 2 * oracle.plan->tick_ms + ELECTION_MAX_MS;
    const node_record *left = node_left(number);
    if (left != NULL && zkl_world_now_us() > since_us + within_ms * US_PER_MS) {
        oracle_violated("client %u has ended, and after %" PRId64 " ms %s is still there", number,
                        within_ms, left->path);
    }
}

void oracle_judge_early_ends(void) {
    for (unsigned i = 0; i < oracle.plan->client_count; i++) {
        judge_early_end(i);
    }
}

/* ---- What contenders are told of it -----------------------------------------------------------
 */

bool oracle_judge_closed(unsigned contender, const char *call, int status) {
    if (!client_of(contender)->closes) {
        return false;
    }
    if (status != ZKL_CLOSED) {
        oracle_violated("contender %u %s, its client is closed, and it was told: %s", contender,
                        call, zkl_strerror(status));
    }
    return true;
}

bool oracle_judge_closed_release(unsigned contender, int status) {
    if (oracle.records[contender].left_closed) {
        return oracle_judge_closed(contender, "released", status);
    }
    return client_of(contender)->closes && status == ZKL_CLOSED;
}

void oracle_closes_meanwhile(unsigned contender) {
    oracle.records[contender].asking = false; /* its handle will be gone before it is told */
    oracle.records[contender].was_closed = true;
    oracle.records[contender].closed_us = zkl_world_now_us();
    oracle.records[contender].closed_stopped_us = oracle_stopped_us_of(contender);
}

/* Whoever waits is told at once, whatever the servers do. */
static void judge_delay(unsigned contender, int64_t since_us, int64_t stopped_us) {
    int64_t took_us =
        zkl_world_now_us() - since_us - (oracle_stopped_us_of(contender) - stopped_us);
    if (took_us > LATE_MAX_MS * US_PER_MS) {
        oracle_violated("contender %u waits on for %" PRId64 " ms after it was sent away",
                        contender, took_us / US_PER_MS);
    }
}

/* What was decided before may come after it, but for a grant. */
bool oracle_judge_closed_acquire(unsigned contender, int status) {
    const record *one = &oracle.records[contender];
    const client_record *client = client_of(contender);
    if (client->closes && !one->asked_closed) {
        judge_delay(contender, client->ends_us, client->close_stopped_us);
    }
    if (one->was_closed) {
        judge_delay(contender, one->closed_us, one->closed_stopped_us);
    }
    if ((client->closes || one->was_closed) && status == ZKL_OK) {
        oracle_violated("contender %u was granted a lock, and was sent away before", contender);
    }
    if (client->closes && one->asked_closed) {
        return oracle_judge_closed(contender, "acquired", status);
    }
    return (client->closes && status == ZKL_CLOSED) || (one->was_closed && status == ZKL_CANCELLED);
}

static void never_told(void *arg, int status, const zkl_grant *grant) {
    (void)arg;
    (void)grant;
    oracle_violated("a call on a closed client was told: %s", zkl_strerror(status));
}

void oracle_finds_closed(unsigned contender, zkl_lock *lock) {
    zkl_lock_information information = ZKL_LOCK_INFORMATION_INIT;
    (void)oracle_judge_closed(contender, "cancelled", zkl_lock_cancel(lock));
    (void)oracle_judge_closed(contender, "released", zkl_lock_release(lock, 0));
    (void)oracle_judge_closed(contender, "checked", zkl_lock_check(lock, NULL));
    (void)oracle_judge_closed(contender, "asked", zkl_lock_info(lock, &information));
    (void)oracle_judge_closed(contender, "acquired",
                              zkl_lock_acquire(lock, ZKL_EXCLUSIVE, ZKL_FOREVER, NULL));
    (void)oracle_judge_closed(
        contender, "acquired asynchronously",
        zkl_lock_acquire_async(lock, ZKL_EXCLUSIVE, ZKL_FOREVER, NULL, never_told, NULL));
    (void)oracle_judge_closed(contender, "released asynchronously",
                              zkl_lock_release_async(lock, 0, NULL, NULL, NULL));
    (void)oracle_judge_closed(contender, "downgraded", zkl_lock_downgrade(lock, ZKL_FOREVER));
    (void)oracle_judge_closed(contender, "upgraded", zkl_lock_try_upgrade(lock, NULL));
    (void)oracle_judge_closed(contender, "upgraded asynchronously",
                              zkl_lock_try_upgrade_async(lock, NULL, never_told, NULL));
}

void oracle_judge_callback(unsigned contender) {
    if (client_of(contender)->closed) {
        oracle_violated("contender %u is told news, and its client is closed", contender);
    }
    if (!oracle.records[contender].has_handle) {
        oracle_violated("contender %u is told news of a handle that is closed", contender);
    }
}
