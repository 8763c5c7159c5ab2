#include "traffic.h"

#include <inttypes.h>
#include <string.h>

#include "election_observer.h"
#include "oracle.h"

enum {
    PROCESSES_MAX = PLAN_CLIENTS_MAX + 1,
    WAITERS_MAX = 64,
    DELETIONS_MAX = 512,
    LISTS_PER_LEASED = 3, /* it may have to wait for the lease, and again */
    PROBES_MORE = 3 /* of a session, than its periods: the first, the last, one on a connect */
};

/* Who is to hear of a deletion: the sessions of those that wait for it. */
typedef struct deletion {
    const node_record *node;
    bool was_first; /* those that observe who leads hear of it, too */
    int64_t sessions[WAITERS_MAX];
    size_t session_count;
} deletion;

static struct {
    bool calm; /* nothing goes wrong in this run */
    int64_t heard_us[PROCESSES_MAX];
    deletion deletions[DELETIONS_MAX];
    size_t deletion_count;
    uint64_t wakeups;  /* of requests */
    uint64_t changes;  /* of children, that somebody hears of */
    uint64_t too_late; /* answers to exists: the node is gone */
} traffic;

void traffic_begin(const run_plan *plan) {
    memset(&traffic, 0, sizeof(traffic));
    traffic.calm = plan_is_calm(plan);
}

/* ---- Who is woken ----------------------------------------------------------------------- */

void traffic_deletes(const node_record *node) {
    if (!traffic.calm || node == NULL || traffic.deletion_count == DELETIONS_MAX) {
        return;
    }
    deletion *its = &traffic.deletions[traffic.deletion_count++];
    its->node = node;
    its->was_first = nodes_was_first(node);
    if (its->was_first) {
        election_observers_lose_first(node);
    }
    its->sessions[its->session_count++] = node->owner;
    const node_record *other;
    for (size_t i = 0; (other = nodes_at(i)) != NULL; i++) {
        if (other->alive && other->owner != 0 && nodes_watches(other, node)) {
            traffic.wakeups++;
            if (its->session_count < WAITERS_MAX) {
                its->sessions[its->session_count++] = other->owner;
            }
        }
    }
}

static const deletion *deletion_of(const node_record *node) {
    for (size_t i = traffic.deletion_count; i > 0; i--) {
        if (traffic.deletions[i - 1].node == node) {
            return &traffic.deletions[i - 1];
        }
    }
    return NULL;
}

static bool concerns(const deletion *its, int64_t session_id) {
    for (size_t i = 0; i < its->session_count; i++) {
        if (its->sessions[i] == session_id) {
            return true;
        }
    }
    return its->was_first &&
           election_observers_follow(nodes_session_process(session_id), its->node);
}

/* No herd: only who waits for that very node hears of its deletion, and who owns it. */
static void judge_wakeup(const zkl_delivery *delivery) {
    const node_record *node = nodes_find(delivery->path);
    const deletion *its = node != NULL ? deletion_of(node) : NULL;
    if (its != NULL && !concerns(its, delivery->session_id)) {
        oracle_violated("session %" PRIx64 " is woken by the deletion of %s, and has no request "
                        "that waits for it",
                        (uint64_t)delivery->session_id, node->name);
    }
}

void traffic_delivered(const zkl_delivery *delivery) {
    bool answer =
        delivery->kind == ZKL_DELIVERY_REPLY && !delivery->lost && delivery->call != ZKL_CALL_PING;
    if (answer || delivery->kind == ZKL_DELIVERY_CONNECTED) {
        traffic.heard_us[delivery->process % PROCESSES_MAX] = zkl_world_now_us();
    }
    if (answer && delivery->call == ZKL_CALL_EXISTS) {
        traffic.too_late += delivery->error == ZKL_SERVER_ERROR_NO_NODE;
    }
    if (traffic.calm && delivery->kind == ZKL_DELIVERY_WATCH && delivery->deleted) {
        judge_wakeup(delivery);
    }
    traffic.changes += delivery->kind == ZKL_DELIVERY_WATCH && !delivery->deleted;
}

int64_t traffic_last_heard_us(uint32_t process) {
    return traffic.heard_us[process % PROCESSES_MAX];
}

/* ---- How much is asked ---------------------------------------------------------------------- */

static uint64_t count_requests(zkl_call_kind kind) {
    const zkl_ensemble *ensemble = zkl_ensemble_current();
    uint64_t count = 0;
    int64_t session_id;
    for (size_t i = 0; (session_id = zkl_ensemble_session_at(ensemble, i)) != 0; i++) {
        count += zkl_ensemble_request_count(ensemble, session_id, kind);
    }
    return count;
}

/* One each third of the timeout, by the session. */
static uint64_t most_probes(void) {
    const zkl_ensemble *ensemble = zkl_ensemble_current();
    uint64_t count = 0;
    int64_t session_id;
    for (size_t i = 0; (session_id = zkl_ensemble_session_at(ensemble, i)) != 0; i++) {
        int64_t period_us = zkl_ensemble_session_timeout_ms(ensemble, session_id) * 1000LL / 3;
        count += (uint64_t)(zkl_world_now_us() / period_us) + PROBES_MORE;
    }
    return count;
}

static uint64_t count_made(void) {
    uint64_t count = 0;
    const node_record *node;
    for (size_t i = 0; (node = nodes_at(i)) != NULL; i++) {
        count += node->owner != 0;
    }
    return count;
}

static void judge_count(const char *what, uint64_t count, uint64_t most) {
    if (count > most) {
        oracle_violated("%" PRIu64 " %s in all, and %" PRIu64 " are enough", count, what, most);
    }
}

void traffic_judge(const traffic_asked *asked) {
    if (!traffic.calm) {
        return;
    }
    /* One with each create (also with one that finds no parent), one for each time that a request
     * is woken or comes too late, and one before each try. Of who wants to hear of contention, one
     * with each grant, and one for each time that its session hears of the children. */
    uint64_t creates = count_requests(ZKL_CALL_CREATE);
    uint64_t lists = count_requests(ZKL_CALL_LIST);
    uint64_t most_lists = creates + traffic.wakeups + traffic.too_late + asked->tries +
                          asked->leased * LISTS_PER_LEASED + asked->looks +
                          (asked->looks > 0 ? traffic.changes : 0) +
                          election_observers_most_lists();
    judge_count("nodes are made", count_made(), asked->acquires + asked->downgrades);
    judge_count("lists are asked for", lists, most_lists);
    /* The blocker's watch and its own with each list, that of a holder, once more after a
     * downgrade, and the probes. For a permit of n at first n watches, and later one for each that
     * has gone: of these there are no more than wake-ups. */
    uint64_t permits = (asked->most_permits - 1) * creates;
    uint64_t gone = asked->most_permits > 1 ? traffic.wakeups + traffic.too_late : 0;
    judge_count("exists are asked for", count_requests(ZKL_CALL_EXISTS),
                2 * lists + permits + gone + asked->acquires + asked->downgrades + most_probes());
}
