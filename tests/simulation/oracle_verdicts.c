/* Whether what who asks or releases was told could be so: not only at all, but at that moment. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "asker.h"
#include "base/threads.h"
#include "candidate.h"
#include "closer.h"
#include "handle/lock.h"
#include "oracle_records.h"
#include "recipe/lease.h"
#include "recipe/node_name.h"
#include "set_contender.h"

enum {
    TRY_MAX_MS = 1000,    /* with servers that are well */
    IN_THE_WAY_MS = 1000, /* for so long that every list shows it */
    LAG_MAX_MS = 100,     /* of a server that is well */
    STALE_MAX_MS = 5000,  /* of one that is slow, or cut off and has not noticed */
    ROUNDING_MS = 1
};

/* ---- Refusals ------------------------------------------------------------------------- */

/* Who borrows may wait for a request that another has made before. */
static int64_t began_us(const record *one) {
    bool borrows = oracle_plan_of((unsigned)(one - oracle.records))->borrows;
    return one->asked_us - (borrows ? STALE_MAX_MS * (int64_t)US_PER_MS : 0);
}

/* Of a set of kinds, a bit each; while the request was under way. */
bool oracle_went_wrong_meanwhile(const record *one, unsigned kinds) {
    for (size_t i = 0; i < oracle.plan->fault_count; i++) {
        const plan_fault *fault = &oracle.plan->faults[i];
        int64_t from_us = fault->at_ms * (int64_t)US_PER_MS;
        int64_t until_us = from_us + fault->duration_ms * (int64_t)US_PER_MS;
        if (!fault->left_out && (kinds >> fault->kind & 1U) != 0 && from_us <= zkl_world_now_us() &&
            until_us >= began_us(one)) {
            return true;
        }
    }
    return false;
}

/* Who waits asks again; a try does not wait. A connection that is replaced is told of only when the
 * next one stands, so until then its requests are lost on one that seems to be there; who was
 * stopped when that happened comes to it later. */
static bool was_turned_away(unsigned contender, const plan_turn *turn) {
    const record *one = &oracle.records[contender];
    const unsigned kinds =
        1U << PLAN_THROTTLE | 1U << PLAN_ALLOCATION | 1U << PLAN_REPLACE_CONNECTION;
    bool comes_later =
        oracle_stopped_us_of(contender) > 0 && asker_plan_has(oracle.plan, PLAN_REPLACE_CONNECTION);
    return turn->timeout_ms == 0 &&
           (oracle.plan->strange_ppm > 0 || oracle.plan->renames || oracle.plan->rotates ||
            nodes_session_moved_since(one->asked_us) || comes_later ||
            oracle_went_wrong_meanwhile(one, kinds));
}

static bool is_of_request(const record *one, const node_record *node) {
    return one->guid[0] != '\0' && zkl_node_name_has_guid(node->name, one->guid);
}

static bool was_deleted_by_hand(const record *one) {
    const node_record *node;
    for (size_t i = 0; (node = nodes_at(i)) != NULL; i++) {
        if (is_of_request(one, node) && node->by_hand && !node->alive) {
            return true;
        }
    }
    return false;
}

static bool is_of_resource(unsigned contender, const node_record *node) {
    char parent[64];
    int length = snprintf(parent, sizeof(parent), "/locks/resource-%u/",
                          oracle_plan_of(contender)->resource);
    return strncmp(node->path, parent, (size_t)length) == 0;
}

/* Of the request, or, where it is an upgrade, the reader's. */
static bool is_own(const record *one, const node_record *node) {
    return (is_of_request(one, node) && !node->replaces) || (one->upgrading && one->node == node);
}

/* A server that lags may show it for a while after its end. */
static bool was_there(unsigned contender, const node_record *node) {
    const record *one = &oracle.records[contender];
    bool is_well = plan_is_by_hand(oracle.plan) || plan_is_answered(oracle.plan);
    int64_t lag_us = (is_well ? LAG_MAX_MS : STALE_MAX_MS) * (int64_t)US_PER_MS;
    return (node->alive || node->gone_us >= one->asked_us - lag_us) &&
           is_of_resource(contender, node) && !is_own(one, node);
}

static size_t count_there(unsigned contender, bool reads) {
    size_t count = 0;
    const node_record *node;
    for (size_t i = 0; (node = nodes_at(i)) != NULL; i++) {
        count += was_there(contender, node) && nodes_conflicts(node, reads) ? 1 : 0;
    }
    return count;
}

static bool was_unlike_there(unsigned contender) {
    const plan_contender *its = oracle_plan_of(contender);
    zkl_naming naming = plan_naming(oracle.plan, its);
    const node_record *node;
    for (size_t i = 0; (node = nodes_at(i)) != NULL; i++) {
        if (was_there(contender, node) && nodes_conflicts(node, false) &&
            (nodes_permits(node) != its->permits || nodes_naming(node) != naming)) {
            return true;
        }
    }
    return false;
}

/* At least as many, where somebody waits. */
static size_t least_holding(unsigned contender) {
    unsigned permits = oracle_plan_of(contender)->permits;
    return permits > 0 ? permits : 1;
}

static bool may_be_full(unsigned contender) {
    unsigned limit = oracle_plan_of(contender)->max_waiting;
    return limit > 0 && count_there(contender, false) >= limit + least_holding(contender);
}

/* Where nothing goes wrong a connection that is made lasts. (A further session of the client may
 * only be about to connect.) */
static bool was_disconnected(unsigned contender) {
    const plan_client *client = &oracle.plan->clients[oracle_plan_of(contender)->client];
    return !plan_is_calm(oracle.plan) || client->watched_bytes_max > 0 ||
           !oracle.records[contender].was_connected || !oracle_is_connected(contender);
}

static bool is_timed_out(const record *one, const plan_turn *turn) {
    return turn->timeout_ms > 0 && zkl_clock_ms() - one->asked_ms >= turn->timeout_ms - ROUNDING_MS;
}

/* A try waits for one from one probe to the next, which is long enough where all is well. */
static bool got_no_lease(unsigned contender, const plan_turn *turn) {
    const plan_client *client = &oracle.plan->clients[oracle_plan_of(contender)->client];
    int64_t took_ms = zkl_clock_ms() - oracle.records[contender].asked_ms;
    bool is_well = plan_is_by_hand(oracle.plan) || plan_is_answered(oracle.plan);
    return turn->timeout_ms == 0 && client->lease_tick_ms > 0 && !is_well &&
           took_ms >= zkl_lease_probe_period(client->session_timeout_ms) - ROUNDING_MS;
}

static bool may_be_told(unsigned contender, const plan_turn *turn, int status) {
    const record *one = &oracle.records[contender];
    switch (status) {
    case ZKL_OK:
        return true;
    case ZKL_BUSY:
        return turn->timeout_ms == 0 &&
               (count_there(contender, turn->mode == ZKL_READ) >= least_holding(contender) ||
                oracle_has_local_rival(contender));
    case ZKL_QUEUE_FULL:
        return !one->upgrading && may_be_full(contender);
    case ZKL_USED_DIFFERENTLY:
        return (oracle_plan_of(contender)->permits > 0 ||
                plan_naming(oracle.plan, oracle_plan_of(contender)) != ZKL_NAMING_CURATOR) &&
               was_unlike_there(contender);
    case ZKL_DISCONNECTED:
        return (turn->timeout_ms == 0 || is_timed_out(one, turn)) && was_disconnected(contender);
    case ZKL_TIMEOUT:
        return is_timed_out(one, turn);
    case ZKL_CANCELLED:
        return one->cancelled;
    case ZKL_LEASE_ENDED:
        return oracle_keeps_lease(contender);
    case ZKL_HOLD_LIMIT:
        return oracle_plan_of(contender)->max_hold_ms > 0;
    case ZKL_SEQUENCE_EXHAUSTED:
        return oracle.plan->first_sequence_to_end >= 0 &&
               (turn->timeout_ms == 0 || is_timed_out(one, turn));
    case ZKL_NO_MEMORY:
        return oracle_memory_runs_short();
    case ZKL_SYSTEM: /* no queue, and so no thread, for the callback */
        return oracle_plan_of(contender)->asynchronous && oracle_memory_runs_short();
    case ZKL_SESSION_EXPIRED:
        return oracle_sessions_ended(contender) > one->sessions_ended;
    case ZKL_NODE_DELETED:
        return was_deleted_by_hand(one) ||
               (one->upgrading && one->node != NULL && one->node->by_hand);
    case ZKL_NO_PERMISSION:
        return oracle_went_wrong_meanwhile(one, 1U << PLAN_REFUSE) ||
               plan_lacks_rights(oracle.plan);
    case ZKL_SERVER_REFUSED:
        return was_turned_away(contender, turn) || got_no_lease(contender, turn);
    default:
        return false;
    }
}

/* ---- In time ---------------------------------------------------------------------------- */

/* One deadline over all: a stop of the process is all that may make it late. (Simulated waits
 * pass by the clock of the world; on one that is fast they take longer.) */
static void judge_deadline(unsigned contender, const plan_turn *turn) {
    const record *one = &oracle.records[contender];
    if (turn->timeout_ms <= 0 || oracle_may_begin_late(contender)) {
        return;
    }
    int64_t took_ms = zkl_clock_ms() - one->asked_ms;
    int64_t stopped_us = oracle_stopped_us_of(contender) - one->stopped_us;
    int64_t within_ms = turn->timeout_ms + turn->timeout_ms / CLOCK_PARTS + LATE_MAX_MS;
    if (took_ms > within_ms + stopped_us / US_PER_MS) {
        oracle_violated("contender %u asked for %" PRId64 " ms and got its answer after %" PRId64,
                        contender, turn->timeout_ms, took_ms);
    }
}

/* Whichever of grant, cancel and timeout comes first wins. */
static void judge_cancel(unsigned contender, int status) {
    const record *one = &oracle.records[contender];
    if (!one->cancelled) {
        return;
    }
    int64_t stopped_us = oracle_stopped_us_of(contender) - one->cancelled_stopped_us;
    int64_t took_ms = zkl_clock_ms() - one->cancelled_ms - stopped_us / US_PER_MS;
    if (status != ZKL_CANCELLED || took_ms > LATE_MAX_MS) {
        oracle_violated("contender %u was cancelled, and %" PRId64 " ms later it was told: %s",
                        contender, took_ms, zkl_strerror(status));
    }
}

/* ---- Tries ------------------------------------------------------------------------------ */

/* Whether it has been there for all the time, and long before it: every list shows it. */
static bool was_there_all_along(unsigned contender, const node_record *node) {
    const record *one = &oracle.records[contender];
    return node->alive && is_of_resource(contender, node) && !is_own(one, node) &&
           node->made_us < one->asked_us - IN_THE_WAY_MS * US_PER_MS;
}

static size_t count_all_along(unsigned contender, bool reads) {
    size_t count = 0;
    const node_record *node;
    for (size_t i = 0; (node = nodes_at(i)) != NULL; i++) {
        count += was_there_all_along(contender, node) && nodes_conflicts(node, reads) ? 1 : 0;
    }
    return count;
}

/* Who lends a node learns of a try by the try's own node alone. */
static bool only_lent_all_along(unsigned contender, bool reads) {
    const node_record *node;
    for (size_t i = 0; (node = nodes_at(i)) != NULL; i++) {
        if (was_there_all_along(contender, node) && nodes_conflicts(node, reads) &&
            !zkl_node_name_parse(node->name).lent) {
            return false;
        }
    }
    return true;
}

/* One that is for a lock, or another semaphore. */
static const node_record *unlike_all_along(unsigned contender) {
    unsigned permits = oracle_plan_of(contender)->permits;
    const node_record *node;
    for (size_t i = 0; permits > 0 && (node = nodes_at(i)) != NULL; i++) {
        if (was_there_all_along(contender, node) && nodes_conflicts(node, false) &&
            nodes_permits(node) != permits) {
            return node;
        }
    }
    return NULL;
}

/* Of those that do not read only one holds. */
static bool was_full_all_along(unsigned contender) {
    unsigned limit = oracle_plan_of(contender)->max_waiting;
    return limit > 0 && count_all_along(contender, true) >= limit + least_holding(contender);
}

static bool is_alone_in_its_client(unsigned contender) {
    for (unsigned i = 0; i < oracle.plan->contender_count; i++) {
        if (i != contender && oracle_plan_of(i)->client == oracle_plan_of(contender)->client) {
            return false;
        }
    }
    unsigned client = oracle_plan_of(contender)->client;
    return !set_contenders_are_of(client) && !candidates_are_of(client) && !closer_is_of(client);
}

static bool has_made_a_node(unsigned contender) {
    uint32_t process =
        zkl_process_number(oracle.clients[oracle_plan_of(contender)->client].process);
    const node_record *node;
    for (size_t i = 0; (node = nodes_at(i)) != NULL; i++) {
        if (node->owner != 0 && nodes_session_process(node->owner) == process &&
            node->made_us >= oracle.records[contender].asked_us) {
            return true;
        }
    }
    return false;
}

static int64_t longest_wait_for_lease(unsigned contender) {
    const plan_client *client = &oracle.plan->clients[oracle_plan_of(contender)->client];
    return client->lease_tick_ms > 0 ? client->session_timeout_ms : 0;
}

/* A try does not wait, but for a lease, and does not write where a look is enough. */
static void judge_try(unsigned contender, const plan_turn *turn, int status) {
    if (turn->timeout_ms != 0 || !plan_is_answered(oracle.plan)) {
        return;
    }
    int64_t took_ms = zkl_clock_ms() - oracle.records[contender].asked_ms;
    if (took_ms > TRY_MAX_MS + longest_wait_for_lease(contender)) {
        oracle_violated("contender %u tried, and got its answer after %" PRId64 " ms", contender,
                        took_ms);
    }
    size_t in_the_way = count_all_along(contender, turn->mode == ZKL_READ);
    bool calls_back = only_lent_all_along(contender, turn->mode == ZKL_READ);
    if (status == ZKL_BUSY && !calls_back && plan_is_calm(oracle.plan) &&
        is_alone_in_its_client(contender) && has_made_a_node(contender) &&
        in_the_way >= least_holding(contender)) {
        oracle_violated("contender %u tried and made a node, though %zu were in its way all along",
                        contender, in_the_way);
    }
}

/* ---- Who must not wait ------------------------------------------------------------------ */

static void judge_patience_in_queue(unsigned contender, const plan_turn *turn, int status) {
    bool waited = status == ZKL_TIMEOUT && turn->timeout_ms > TRY_MAX_MS;
    if (!plan_is_calm(oracle.plan)) {
        return;
    }
    if (waited && was_full_all_along(contender)) {
        oracle_violated("contender %u has waited in a queue that was too long all along",
                        contender);
    }
    if (waited && unlike_all_along(contender) != NULL) {
        oracle_violated("contender %u has waited for a permit, though %s was there all along",
                        contender, unlike_all_along(contender)->name);
    }
    if (status == ZKL_QUEUE_FULL && is_alone_in_its_client(contender) &&
        has_made_a_node(contender) && was_full_all_along(contender)) {
        oracle_violated("contender %u made a node in a queue that was too long all along",
                        contender);
    }
}

void oracle_judge_verdict(unsigned contender, const plan_turn *turn, int status) {
    if (!may_be_told(contender, turn, status)) {
        oracle_violated("contender %u was told: %s", contender, zkl_strerror(status));
    }
    judge_deadline(contender, turn);
    judge_cancel(contender, status);
    judge_try(contender, turn, status);
    judge_patience_in_queue(contender, turn, status);
}

/* ---- Releases --------------------------------------------------------------------------- */

/* By the client, for want of an answer: the servers have not said so. Of one that is being
 * closed it is not known. */
static bool is_given_up(unsigned contender) {
    const record *one = &oracle.records[contender];
    bool closes = oracle.clients[oracle_plan_of(contender)->client].closes;
    return (closes || oracle_sessions_ended(contender) > one->sessions_ended) &&
           (one->node == NULL || !nodes_session_told_expired(one->node->owner));
}

static bool may_be_pending(unsigned contender, const plan_turn *turn) {
    const record *one = &oracle.records[contender];
    int64_t timeout_ms = turn->release_timeout_ms;
    bool timed_out = timeout_ms > 0 && zkl_clock_ms() - one->left_ms >= timeout_ms - ROUNDING_MS;
    return timed_out || (timeout_ms != 0 && is_given_up(contender));
}

void oracle_judge_release(unsigned contender, const plan_turn *turn, int status) {
    const record *one = &oracle.records[contender];
    bool fine = status == ZKL_OK || status == ZKL_LOST ||
                (status == ZKL_PENDING && may_be_pending(contender, turn));
    if (!fine) {
        oracle_violated("contender %u released and was told: %s", contender, zkl_strerror(status));
    }
    if (one->knows_of_loss && status != ZKL_LOST) {
        oracle_violated("contender %u knew that its lock was lost, and release said: %s", contender,
                        zkl_strerror(status));
    }
    bool confirmed = status == ZKL_OK && turn->release_timeout_ms != 0;
    bool is_shared = oracle_plan_of(contender)->borrows && one->local_number > 0;
    if (confirmed && !is_shared && one->node != NULL && one->node->alive &&
        !nodes_session_told_expired(one->node->owner)) {
        oracle_violated("contender %u was told that it has released, but %s is still there",
                        contender, one->node->name);
    }
}
