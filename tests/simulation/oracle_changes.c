/* What must hold of permits, and when who holds a lock goes on in another mode. */
#include <inttypes.h>
#include <string.h>

#include "base/threads.h"
#include "handle/lock.h"
#include "oracle_records.h"

enum {
    ROUNDING_MS = 1,
    /* Of a change at the servers, by who watches the node. */
    UNSEEN_MAX_MS = 100,
    UNSEEN_ON_A_SLOW_SERVER_MAX_MS = 5000
};

/* ---- Permits -------------------------------------------------------------------------------- */

static bool is_of_same_resource(unsigned one, unsigned other) {
    return one != other && oracle_plan_of(one)->resource == oracle_plan_of(other)->resource;
}

/* As with locks, what was deleted by hand is nobody's fault. */
static bool holds_a_permit(const record *one) {
    bool excused = one->node == NULL || one->node->by_hand;
    return one->holds && !excused && (one->node->alive || oracle_has_running_lease(one));
}

void oracle_judge_permits(unsigned contender) {
    const record *one = &oracle.records[contender];
    unsigned permits = oracle_plan_of(contender)->permits;
    unsigned others = 0;
    for (unsigned i = 0; i < oracle.plan->contender_count; i++) {
        if (!is_of_same_resource(contender, i) || !holds_a_permit(&oracle.records[i])) {
            continue;
        }
        others++;
        if (holds_a_permit(one) && oracle_plan_of(i)->permits != permits) {
            oracle_violated("contender %u holds one permit of %u, and contender %u one of %u",
                            contender, permits, i, oracle_plan_of(i)->permits);
        }
    }
    if (holds_a_permit(one) && others >= permits) {
        oracle_violated("contender %u was granted a permit of %u, and %u are held", contender,
                        permits, others);
    }
}

/* ---- What is told -----------------------------------------------------------------------------
 */

/* True: its client is closed, and there is no more to be judged. */
static bool judge_closed(unsigned contender, const char *call, int status) {
    if (oracle.records[contender].asked_closed) {
        return oracle_judge_closed(contender, call, status);
    }
    return oracle.clients[oracle_plan_of(contender)->client].closes && status == ZKL_CLOSED;
}

static int64_t took_ms(const record *one) {
    return zkl_clock_ms() - one->asked_ms;
}

/* ---- Downgrades -------------------------------------------------------------------------------
 */

void oracle_downgrades(unsigned contender) {
    record *one = &oracle.records[contender];
    oracle_notes_question(one, contender);
    one->downgrades = true;
    one->mode = ZKL_READ; /* whenever it comes to be so */
    oracle.downgrades++;
}

const node_record *oracle_reader_after(const node_record *writer) {
    bool is_well = plan_is_by_hand(oracle.plan);
    int64_t unseen_ms = is_well ? UNSEEN_MAX_MS : UNSEEN_ON_A_SLOW_SERVER_MAX_MS;
    return nodes_downgraded(writer, unseen_ms * US_PER_MS);
}

/* The reader's node comes in the transaction in which the writer's goes. */
void oracle_follow_changes(unsigned contender) {
    record *one = &oracle.records[contender];
    if (one->upgrading && one->lock->change.upgrade != NULL && one->node != NULL) {
        memcpy(one->guid, one->lock->change.upgrade->request.session.guid, sizeof(one->guid));
        nodes_upgrades(one->node, one->guid);
    }
    if (!one->downgrades || one->downgraded || one->node == NULL || one->node->alive) {
        return;
    }
    const node_record *reader = oracle_reader_after(one->node);
    if (reader != NULL) {
        one->node = reader;
        one->downgraded = true;
        one->granted_us = zkl_world_now_us();
    } else if (one->holds && !one->node->by_hand && !nodes_session_ended(one->node->owner) &&
               oracle_plan_of(contender)->max_hold_ms == 0) {
        oracle_violated("the node %s of contender %u, who downgrades, is deleted, and no reader's "
                        "has taken its place",
                        one->node->name, contender);
    }
}

/* In the writer's place, and with its token. */
static void judge_reader(unsigned contender) {
    const record *one = &oracle.records[contender];
    zkl_lock_information information = ZKL_LOCK_INFORMATION_INIT;
    (void)zkl_lock_info(one->lock, &information);
    if (information.mode != ZKL_READ || information.token != one->token) {
        oracle_violated("contender %u has downgraded, and holds for %s with token %" PRId64
                        " rather than %" PRId64,
                        contender, zkl_lock_mode_name((int)information.mode), information.token,
                        one->token);
    }
    if (!one->downgraded) {
        oracle_violated("contender %u was told that it has downgraded, and no reader's node has "
                        "taken the place of %s",
                        contender, one->node != NULL ? one->node->name : "none");
    }
}

static bool may_be_pending(const record *one, const plan_turn *turn) {
    return turn->downgrade_timeout_ms >= 0 &&
           took_ms(one) >= turn->downgrade_timeout_ms - ROUNDING_MS;
}

static void judge_deadline(unsigned contender, const plan_turn *turn) {
    const record *one = &oracle.records[contender];
    int64_t stopped_us = oracle_stopped_us_of(contender) - one->stopped_us;
    if (turn->downgrade_timeout_ms >= 0 && !oracle_may_begin_late(contender) &&
        took_ms(one) > turn->downgrade_timeout_ms + stopped_us / US_PER_MS + LATE_MAX_MS) {
        oracle_violated("contender %u downgraded with %" PRId64 " ms, which took %" PRId64,
                        contender, turn->downgrade_timeout_ms, took_ms(one));
    }
}

void oracle_downgraded(unsigned contender, const plan_turn *turn, int status) {
    record *one = &oracle.records[contender];
    if (judge_closed(contender, "downgraded", status)) {
        return;
    }
    oracle_follow_changes(contender);
    judge_deadline(contender, turn);
    if (one->knows_of_loss && status != ZKL_LOST) {
        oracle_violated("contender %u knew that its lock was lost, and downgrade said: %s",
                        contender, zkl_strerror(status));
    }
    bool refused =
        status == ZKL_NO_PERMISSION && oracle_went_wrong_meanwhile(one, 1U << PLAN_REFUSE);
    if (status == ZKL_OK) {
        judge_reader(contender);
    } else if (status == ZKL_LOST) {
        one->knows_of_loss = true; /* or its next check says otherwise */
    } else if (refused) {
        one->mode = ZKL_WRITE;
        one->downgrades = false;
    } else if (status != ZKL_PENDING || !may_be_pending(one, turn)) {
        oracle_violated("contender %u downgraded and was told: %s", contender,
                        zkl_strerror(status));
    }
}

/* ---- Upgrades ----------------------------------------------------------------------------------
 */

static const plan_turn as_a_try = { .mode = ZKL_WRITE,
                                    .cancel_after_ms = -1,
                                    .close_after_ms = -1 };

void oracle_upgrades(unsigned contender) {
    record *one = &oracle.records[contender];
    oracle_notes_question(one, contender);
    one->upgrading = true;
    oracle.acquires++;
    oracle.tries++;
    oracle.leased += oracle_keeps_lease(contender);
    oracle.looks += oracle_plan_of(contender)->tell_contended;
}

static void judge_writer(unsigned contender, const zkl_grant *grant) {
    record *one = &oracle.records[contender];
    const node_record *reader = one->node;
    one->mode = grant->mode;
    one->token = grant->token;
    one->pair = oracle_pair(grant->token, 0);
    one->node = nodes_find(grant->node);
    one->revocations_told = one->revoked_pair == one->pair ? 1 : 0;
    one->granted_ms = zkl_clock_ms();
    one->granted_us = zkl_world_now_us();
    one->granted_stopped_us = oracle_stopped_us_of(contender);
    oracle.grants++;
    if (grant->mode != ZKL_WRITE) {
        oracle_violated("contender %u has upgraded, and holds for %s", contender,
                        zkl_lock_mode_name((int)grant->mode));
    }
    oracle_judge_grant(contender);
    one->last_pair = one->pair;
    if (reader != NULL && one->node != NULL && !reader->alive &&
        !nodes_find_latest(reader->path)->replaces && reader->gone_us < one->node->made_us) {
        oracle_violated("contender %u has upgraded, and held nothing between %s and %s", contender,
                        reader->name, one->node->name);
    }
}

void oracle_upgraded(unsigned contender, int status, const zkl_grant *grant) {
    record *one = &oracle.records[contender];
    if (judge_closed(contender, "upgraded", status)) {
        one->upgrading = false;
        return;
    }
    oracle_follow_changes(contender);
    if (one->knows_of_loss && status != ZKL_LOST) {
        oracle_violated("contender %u knew that its lock was lost, and upgrade said: %s", contender,
                        zkl_strerror(status));
    }
    if (status == ZKL_LOST) {
        one->knows_of_loss = true;
    } else {
        oracle_judge_verdict(contender, &as_a_try, status);
    }
    one->upgrading = false;
    if (status == ZKL_OK) {
        judge_writer(contender, grant);
    }
}
