/* What must hold of the news that somebody waits behind a holder. */
#include <inttypes.h>

#include "handle/lock.h"
#include "oracle_records.h"

/* Where nothing goes wrong; else a list that was lost is asked for again after a third of the
 * session's timeout. */
enum { CALM_MAX_MS = 500, MORE_MS = 200 };

/* ---- Who is told ---------------------------------------------------------------------------- */

/* Both were there at one time, and it had to wait. */
static bool has_waited_behind(const node_record *other, const node_record *holder) {
    return nodes_comes_behind(holder, other) && other->had_to_wait &&
           (other->alive || other->gone_us >= holder->made_us) &&
           (holder->alive || other->made_us <= holder->gone_us);
}

static bool somebody_has_waited_behind(const node_record *holder) {
    const node_record *other;
    for (size_t i = 0; (other = nodes_at(i)) != NULL; i++) {
        if (has_waited_behind(other, holder)) {
            return true;
        }
    }
    return false;
}

/* A set's nodes have a czxid in common, but it tells nobody. */
static const node_record *node_of_token(int64_t token) {
    const node_record *node = NULL;
    for (size_t i = 0; (node = nodes_at(i)) != NULL && node->czxid != token; i++) {
    }
    return node;
}

static bool is_justified(const node_record *holder) {
    if (holder == NULL) {
        return false;
    }
    const node_record *reader = oracle_reader_after(holder);
    return somebody_has_waited_behind(holder) ||
           somebody_has_waited_behind(nodes_find_latest(holder->path)) ||
           (reader != NULL && somebody_has_waited_behind(reader));
}

void oracle_judge_contended(unsigned contender, const zkl_lock_event *event) {
    record *one = &oracle.records[contender];
    const plan_contender *plan = oracle_plan_of(contender);
    oracle.contended++;
    if (!plan->tell_contended) {
        oracle_violated("contender %u is told of contention, and did not ask for it", contender);
    }
    if (oracle_pair(event->token, event->local_number) == one->contended_pair) {
        oracle_violated("contender %u is told twice that one grant is contended", contender);
    }
    if (plan->asynchronous && one->asking && event->token > one->token) {
        oracle_violated("contender %u is told that a grant is contended before it has it",
                        contender);
    }
    if (!is_justified(node_of_token(event->token))) {
        oracle_violated("contender %u is told that somebody waits behind token %" PRId64
                        ", and nobody has",
                        contender, event->token);
    }
    one->contended_pair = oracle_pair(event->token, event->local_number);
}

/* ---- Who should be -------------------------------------------------------------------------- */

static bool is_well(const record *one) {
    const zkl_session *session = one->lock->members[0].runner->sender.session;
    if (zkl_process_is_stopped(one->process) || !session->connected) {
        return false;
    }
    zkl_process *mine = zkl_process_enter(one->process);
    bool silent = zkl_liveness_is_silent(&session->liveness);
    (void)zkl_process_enter(mine);
    return !silent;
}

/* How long its connection has been there, which may have been another at the last look. */
static int64_t connected_us(const record *one) {
    const zkl_session *session = one->lock->members[0].runner->sender.session;
    zkl_process *mine = zkl_process_enter(one->process);
    int64_t ms = zkl_session_now_ms(session) - session->connected_ms;
    (void)zkl_process_enter(mine);
    return ms * US_PER_MS;
}

static bool holds(const record *one) {
    const zkl_request_runner *runner = one->holds ? one->lock->members[0].runner : NULL;
    return runner != NULL && one->lock->state == ZKL_STATE_HELD &&
           runner->request.stage == ZKL_STAGE_HELD && !runner->request.downgrade.wanted &&
           !one->upgrading && one->node != NULL && one->node->alive;
}

/* As far as nothing stands against it. */
static bool is_to_be_told(unsigned contender) {
    const record *one = &oracle.records[contender];
    bool quiet = plan_is_calm(oracle.plan) || oracle.healed_us != INT64_MAX;
    return oracle_plan_of(contender)->tell_contended && quiet && !oracle_memory_runs_short() &&
           holds(one) && is_well(one) && one->contended_pair != one->pair &&
           nodes_waiter(one->node) != NULL;
}

void oracle_judge_contention(unsigned contender) {
    record *one = &oracle.records[contender];
    if (!is_to_be_told(contender)) {
        one->contended_since_us = -1;
        return;
    }
    int64_t now_us = zkl_world_now_us();
    if (one->contended_since_us < 0 || one->contended_since_us < now_us - connected_us(one)) {
        one->contended_since_us = now_us;
    }
    int64_t most_ms = plan_is_calm(oracle.plan)
                          ? CALM_MAX_MS
                          : one->lock->members[0].runner->sender.session->timeout_ms + MORE_MS;
    if (now_us - one->contended_since_us > most_ms * US_PER_MS) {
        oracle_violated("contender %u holds, %s waits behind it, and for %" PRId64
                        " ms it was not told",
                        contender, nodes_waiter(one->node)->name, most_ms);
    }
}
