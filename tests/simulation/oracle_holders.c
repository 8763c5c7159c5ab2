/* What who holds or waits must know, and by when. */
#include <inttypes.h>
#include <stdio.h>

#include "base/threads.h"
#include "handle/lock.h"
#include "oracle_records.h"
#include "traffic.h"

/* Of what somebody did by hand, to a client that is well; and of one's turn, where nothing goes
 * wrong. */
enum { NEWS_MAX_MS = 100, TURN_MAX_MS = 500, JOINS_AGAIN_MAX_MS = 3000 };

/* ---- What a holder must know ----------------------------------------------------------------- */

/* What was done to its node by hand: at the latest when its own watch is set. */
static bool must_know_since(const record *one, int64_t us) {
    if (!plan_is_by_hand(oracle.plan) || one->lock->members[0].runner == NULL) {
        return false;
    }
    int64_t period_us =
        one->lock->members[0].runner->sender.session->timeout_ms * (int64_t)US_PER_MS / 3;
    int64_t watched_us = one->granted_us + period_us;
    int64_t since_us = us > watched_us ? us : watched_us;
    return zkl_world_now_us() > since_us + NEWS_MAX_MS * US_PER_MS;
}

static bool must_know_of_deletion(const record *one) {
    return one->node != NULL && !one->node->alive && must_know_since(one, one->node->gone_us);
}

/* One whose node was replaced, as it has changed its mode, may be asked for either. */
static bool is_of_its_grant(const record *one, int64_t pair) {
    return one->holds && one->node != NULL && pair == one->pair && one->node->czxid == one->token;
}

void oracle_judge_revocation(unsigned contender, const zkl_lock_event *event) {
    record *one = &oracle.records[contender];
    one->revoked_pair = oracle_pair(event->token, event->local_number);
    if (!oracle.plan->revokes) {
        oracle_violated("contender %u is asked for its lock, and by nobody", contender);
    }
    if (is_of_its_grant(one, one->revoked_pair) &&
        ++one->revocations_told > one->node->revocations) {
        oracle_violated("contender %u is asked for %s, %u times, and somebody has asked %u times",
                        contender, one->node->name, one->revocations_told, one->node->revocations);
    }
}

/* In a state that was lost nobody is asked for anything. */
static void judge_news_of_revocation(unsigned contender) {
    const record *one = &oracle.records[contender];
    if (oracle_plan_of(contender)->hears_news && is_of_its_grant(one, one->pair) &&
        one->node->alive && one->node->revocations > 0 && one->revocations_told == 0 &&
        must_know_since(one, one->node->revoked_us)) {
        oracle_violated("contender %u was not told that somebody asks for %s", contender,
                        one->node->name);
    }
}

/* By the callback, too. */
static void judge_news_of_deletion(unsigned contender) {
    const record *one = &oracle.records[contender];
    if (oracle_plan_of(contender)->hears_news && one->losses_told == 0 &&
        must_know_of_deletion(one)) {
        oracle_violated("contender %u was not told by its callback that its node %s is deleted",
                        contender, one->node->name);
    }
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
    const zkl_request_runner *runner = one->lock->members[0].runner;
    if (runner == NULL) {
        return;
    }
    int64_t heard_us = traffic_last_heard_us(zkl_process_number(one->process));
    int64_t timeout_ms = runner->sender.session->timeout_ms;
    int64_t silent_ms = (zkl_world_now_us() - heard_us) / US_PER_MS;
    if (silent_ms > timeout_ms * 2 / 3 + timeout_ms / 500 + LATE_MAX_MS) {
        oracle_violated("contender %u is told that all is well, and nothing was heard for %" PRId64
                        " ms of a session of %" PRId64,
                        contender, silent_ms, timeout_ms);
    }
}

/* Where nothing goes wrong nothing is lost, but to a limit that was asked for, or to a session so
 * short that its lease hangs on each answer: with the least number of ticks, too, where it was
 * granted late in a lease. */
static void judge_loss(unsigned contender, int status) {
    const plan_client *client = &oracle.plan->clients[oracle_plan_of(contender)->client];
    bool is_short = client->session_timeout_ms <= ZKL_LEASE_TICKS_MIN * client->lease_tick_ms;
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
    judge_news_of_deletion(contender);
    if (status == ZKL_LOST) {
        return;
    }
    judge_news_of_revocation(contender);
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

/* It is lent to another contender, and was when that one was last asked. */
static bool is_held(const node_record *node) {
    for (unsigned i = 0; i < oracle.plan->contender_count; i++) {
        if (oracle.records[i].holds && oracle.records[i].node == node) {
            return true;
        }
    }
    return false;
}

/* A lost wake-up shows at once, and not only when nobody is left who could make up for it. */
void oracle_judge_turn(unsigned contender) {
    record *one = &oracle.records[contender];
    const node_record *node = one->asking ? node_of_request(one) : NULL;
    bool comes_first = plan_is_calm(oracle.plan) && !oracle_keeps_lease(contender) &&
                       node != NULL && !nodes_is_near_the_end(node) &&
                       nodes_blocker(node) == NULL && !is_held(node);
    if (!comes_first) {
        one->first_since_us = -1;
    } else if (one->first_since_us < 0) {
        one->first_since_us = zkl_world_now_us();
    } else if (zkl_world_now_us() - one->first_since_us > TURN_MAX_MS * US_PER_MS) {
        oracle_violated("contender %u waits on, and since %d ms its node %s has nobody to wait for",
                        contender, (int)TURN_MAX_MS, node->name);
    }
}

static bool has_nodes(unsigned contender) {
    char parent[64];
    snprintf(parent, sizeof(parent), "/locks/resource-%u/", oracle_plan_of(contender)->resource);
    return nodes_first(parent) != NULL;
}

static bool had_a_node(const record *one) {
    const node_record *node;
    for (size_t i = 0; one->guid[0] != '\0' && (node = nodes_at(i)) != NULL; i++) {
        if (node->by_hand && zkl_node_name_has_guid(node->name, one->guid)) {
            return true;
        }
    }
    return false;
}

/* Who was before it has gone, and so it has found out, at the latest, that its own has gone. */
void oracle_judge_place(unsigned contender) {
    record *one = &oracle.records[contender];
    bool is_alone = oracle.plan->breaks && plan_is_by_hand(oracle.plan) && one->asking &&
                    !has_nodes(contender) && had_a_node(one);
    if (!is_alone) {
        one->alone_since_us = -1;
    } else if (one->alone_since_us < 0) {
        one->alone_since_us = zkl_world_now_us();
    } else if (zkl_world_now_us() - one->alone_since_us > JOINS_AGAIN_MAX_MS * US_PER_MS) {
        oracle_violated("contender %u waits, its node was deleted %d ms ago, and it has not "
                        "joined again",
                        contender, (int)JOINS_AGAIN_MAX_MS);
    }
}

/* ---- Contenders of other libraries ------------------------------------------------------- */

void oracle_judge_peer(const char *resource_path, zkl_naming naming, bool looks_at_readers) {
    for (unsigned i = 0; i < oracle.plan->contender_count; i++) {
        const record *one = &oracle.records[i];
        char path[PLAN_QUEUE_PATH_SIZE];
        plan_queue_path(oracle.plan, oracle_plan_of(i)->resource, path);
        bool shares = strcmp(path, resource_path) == 0 && naming != ZKL_NAMING_CURATOR &&
                      plan_naming(oracle.plan, oracle_plan_of(i)) == naming;
        if (shares && one->holds && one->node->alive &&
            (looks_at_readers || one->mode != ZKL_READ)) {
            oracle_violated("a contender of another library was granted beside contender %u, which "
                            "holds with node %s",
                            i, one->node->name);
        }
    }
}

/* ---- Patience ------------------------------------------------------------------------- */

static bool waits_and_holds_nothing(const zkl_session *session) {
    for (const zkl_request_runner *one = session->runners; one != NULL; one = one->next) {
        bool holds = one->request.stage == ZKL_STAGE_HELD || one->request.stage == ZKL_STAGE_KEPT;
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
