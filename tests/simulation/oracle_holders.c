/* What who holds or waits must know, and by when. */
#include <inttypes.h>

#include "lock.h"
#include "oracle_records.h"
#include "threads.h"
#include "traffic.h"

/* Of what somebody did by hand, to a client that is well; and of one's turn, where nothing goes
 * wrong. */
enum { NEWS_MAX_MS = 100, TURN_MAX_MS = 500 };

/* ---- What a holder must know ----------------------------------------------------------------- */

/* A node that was deleted by hand: at the latest when its own watch is set. */
static bool must_know_of_deletion(const record *one) {
    if (!plan_is_by_hand(oracle.plan) || one->node == NULL || one->node->alive ||
        one->lock->runner == NULL) {
        return false;
    }
    int64_t period_us = one->lock->runner->session->timeout_ms * (int64_t)US_PER_MS / 3;
    int64_t watched_us = one->granted_us + period_us;
    int64_t since_us = one->node->gone_us > watched_us ? one->node->gone_us : watched_us;
    return zkl_world_now_us() > since_us + NEWS_MAX_MS * US_PER_MS;
}

static bool must_know_of_expiry(const record *one) {
    if (one->node == NULL) {
        return false;
    }
    int64_t told_us = nodes_session_told_expired_us(one->node->owner);
    return told_us < INT64_MAX && zkl_world_now_us() > told_us + LATE_MAX_MS * US_PER_MS;
}

static bool must_know_of_limit(unsigned contender) {
    int64_t limit_ms = oracle_plan_of(contender)->max_hold_ms;
    return limit_ms > 0 && zkl_clock_ms() - oracle.records[contender].granted_ms > limit_ms;
}

/* A timer tells, if the process was not stopped. */
void oracle_judge_news_of_limit(unsigned contender) {
    const record *one = &oracle.records[contender];
    const plan_contender *plan = oracle_plan_of(contender);
    int64_t stopped_us = oracle_stopped_us_of(contender) - one->granted_stopped_us;
    int64_t held_ms = zkl_clock_ms() - one->granted_ms - stopped_us / US_PER_MS;
    if (plan->max_hold_ms > 0 && held_ms > plan->max_hold_ms + LATE_MAX_MS && plan->hears_news &&
        one->losses_told == 0 && !oracle_memory_runs_short()) {
        oracle_violated("contender %u may hold for %" PRId64 " ms, and after %" PRId64
                        " it was not told that it has lost the lock",
                        contender, plan->max_hold_ms, held_ms);
    }
}

/* Two thirds of the session's timeout without an answer, and the lock is suspect. */
static void judge_silence(unsigned contender) {
    const record *one = &oracle.records[contender];
    const zkl_request_runner *runner = one->lock->runner;
    if (runner == NULL) {
        return;
    }
    int64_t heard_us = traffic_last_heard_us(zkl_process_number(one->process));
    int64_t timeout_ms = runner->session->timeout_ms;
    int64_t silent_ms = (zkl_world_now_us() - heard_us) / US_PER_MS;
    if (silent_ms > timeout_ms * 2 / 3 + timeout_ms / 500 + LATE_MAX_MS) {
        oracle_violated("contender %u is told that all is well, and nothing was heard for %" PRId64
                        " ms of a session of %" PRId64,
                        contender, silent_ms, timeout_ms);
    }
}

/* Where nothing goes wrong nothing is lost, but to a limit that was asked for, or to a session so
 * short that its lease hangs on each answer. */
static void judge_loss(unsigned contender, int status) {
    const plan_client *client = &oracle.plan->clients[oracle_plan_of(contender)->client];
    bool is_short = client->session_timeout_ms < ZKL_LEASE_TICKS_MIN * client->lease_tick_ms;
    if (status == ZKL_LOST && plan_is_calm(oracle.plan) &&
        oracle_plan_of(contender)->max_hold_ms == 0 && !is_short) {
        oracle_violated("contender %u has lost its lock, and nothing went wrong", contender);
    }
}

void oracle_judge_knowledge(unsigned contender, int status) {
    const record *one = &oracle.records[contender];
    judge_loss(contender, status);
    if (status == ZKL_OK) {
        judge_silence(contender);
    }
    if (status == ZKL_LOST) {
        return;
    }
    if (must_know_of_deletion(one)) {
        oracle_violated("contender %u was not told that its node %s is deleted", contender,
                        one->node->name);
    }
    if (must_know_of_expiry(one)) {
        oracle_violated("contender %u was not told that its session has expired", contender);
    }
    if (must_know_of_limit(contender)) {
        oracle_violated("contender %u has held for too long, and check says: %s", contender,
                        zkl_strerror(status));
    }
}

/* ---- Turns ----------------------------------------------------------------------------- */

static const node_record *node_of_request(const record *one) {
    const node_record *found = NULL;
    const node_record *node;
    for (size_t i = 0; one->guid[0] != '\0' && (node = nodes_at(i)) != NULL; i++) {
        if (node->alive && zkl_node_name_has_guid(node->name, one->guid)) {
            found = node;
        }
    }
    return found;
}

/* A lost wake-up shows at once, and not only when nobody is left who could make up for it. */
void oracle_judge_turn(unsigned contender) {
    record *one = &oracle.records[contender];
    const node_record *node = one->asking ? node_of_request(one) : NULL;
    bool comes_first = plan_is_calm(oracle.plan) && !oracle_keeps_lease(contender) &&
                       node != NULL && !nodes_is_near_the_end(node) && nodes_blocker(node) == NULL;
    if (!comes_first) {
        one->first_since_us = -1;
    } else if (one->first_since_us < 0) {
        one->first_since_us = zkl_world_now_us();
    } else if (zkl_world_now_us() - one->first_since_us > TURN_MAX_MS * US_PER_MS) {
        oracle_violated("contender %u waits on, and since %d ms its node %s has nobody to wait for",
                        contender, (int)TURN_MAX_MS, node->name);
    }
}

/* ---- Patience ------------------------------------------------------------------------- */

static bool waits_and_holds_nothing(const zkl_session *session) {
    for (const zkl_request_runner *one = session->runners; one != NULL; one = one->next) {
        bool holds = one->request.held || one->request.keeps_node;
        if (holds && !one->others_are_awaited) {
            return false;
        }
    }
    return session->connected && session->runners != NULL;
}

/* A session that answers nothing is given up with the first probe after some timeouts. */
void oracle_judge_patience(unsigned number) {
    client_record *one = &oracle.clients[number];
    const zkl_session *session = &one->client->sessions->session;
    if (zkl_process_is_stopped(one->process) || !waits_and_holds_nothing(session)) {
        one->waits_since_us = -1;
        return;
    }
    int64_t now_us = zkl_world_now_us();
    if (one->waits_since_us < 0) {
        one->waits_since_us = now_us;
    }
    int64_t timeout_us = session->timeout_ms * (int64_t)US_PER_MS;
    int64_t probe_us = timeout_us / 3 + NEWS_MAX_MS * US_PER_MS;
    int64_t silent_us = now_us - traffic_last_heard_us(zkl_process_number(one->process));
    if (silent_us > ZKL_TIMEOUTS_OF_SILENCE_MAX * timeout_us + probe_us &&
        now_us - one->waits_since_us > probe_us) {
        oracle_violated("client %u waits in a session of %d ms that has said nothing for %" PRId64
                        " ms",
                        number, (int)session->timeout_ms, silent_us / US_PER_MS);
    }
}
