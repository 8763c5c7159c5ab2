/* What must hold of nodes that are lent. */
#include <inttypes.h>
#include <string.h>

#include "oracle_records.h"

/* Where nothing goes wrong: until the news of somebody who waits is there. */
enum { NEWS_MAX_MS = 500, GRANT_TOLD_MS = 20, LENT_NODES_MAX = 256 };

typedef struct lent_node {
    const node_record *node;
    unsigned handed_on;      /* while somebody else waited */
    int64_t unused_since_us; /* while somebody else waits; -1: not so */
    int64_t granted_us;      /* to the first who held it; -1: nobody has */
    unsigned user;           /* the contender that held it last */
    int64_t user_granted_ms; /* on that one's own clock */
    int64_t used_since_us;   /* the user was told of the grant */
    int64_t idle_since_us;   /* nobody holds it any more; -1: somebody does, or nobody has */
    bool is_left;            /* all handles that it could be lent to were closed at one time */
} lent_node;

static struct {
    lent_node all[LENT_NODES_MAX];
    size_t count;
} lent;

void oracle_lending_begin(void) {
    memset(&lent, 0, sizeof(lent));
}

/* NULL: there are too many to follow. */
static lent_node *find(const node_record *node) {
    for (size_t i = 0; i < lent.count; i++) {
        if (lent.all[i].node == node) {
            return &lent.all[i];
        }
    }
    if (lent.count == LENT_NODES_MAX) {
        return NULL;
    }
    lent.all[lent.count] =
        (lent_node){ .node = node, .unused_since_us = -1, .granted_us = -1, .idle_since_us = -1 };
    return &lent.all[lent.count++];
}

static bool shares_with(unsigned contender, unsigned other) {
    const plan_contender *one = oracle_plan_of(contender);
    const plan_contender *with = oracle_plan_of(other);
    return contender != other && with->borrows && one->client == with->client &&
           one->resource == with->resource;
}

/* Those that hold, ask, or have done so since. */
bool oracle_has_local_rival(unsigned contender) {
    for (unsigned i = 0; i < oracle.plan->contender_count; i++) {
        const record *one = &oracle.records[i];
        if (oracle_plan_of(contender)->borrows && shares_with(contender, i) &&
            (one->holds || one->asking || one->left_ms >= oracle.records[contender].asked_ms)) {
            return true;
        }
    }
    return false;
}

/* A waiter of another client, that every news of it has reached. */
static bool has_old_waiter(const node_record *node) {
    const node_record *waiter = node->alive ? nodes_waiter(node) : NULL;
    return waiter != NULL && waiter->owner != node->owner &&
           zkl_world_now_us() - waiter->made_us > NEWS_MAX_MS * US_PER_MS;
}

static void note_holder(lent_node *its, unsigned contender) {
    int64_t now_us = zkl_world_now_us();
    int64_t granted_ms = oracle.records[contender].granted_ms;
    if (its->granted_us < 0 || its->user != contender || its->user_granted_ms != granted_ms) {
        its->used_since_us = now_us;
    }
    its->granted_us = its->granted_us < 0 ? now_us : its->granted_us;
    its->user = contender;
    its->user_granted_ms = granted_ms;
    its->idle_since_us = its->unused_since_us = -1;
}

/* Whoever waited before it was granted has waited for others. */
static void judge_time_of_hand_off(const lent_node *its) {
    int64_t limit_ms = oracle.plan->hand_off_ms;
    int64_t came_us = nodes_waiter(its->node)->made_us;
    int64_t waits_us = zkl_world_now_us() - (came_us > its->granted_us ? came_us : its->granted_us);
    int64_t most_us = (limit_ms + limit_ms / CLOCK_PARTS + NEWS_MAX_MS) * US_PER_MS;
    if (limit_ms > 0 && waits_us > most_us) {
        oracle_violated("%s is handed on, and others have waited for it for %" PRId64 " us",
                        its->node->name, waits_us);
    }
}

/* The bounds by which the order of the queue is bent. */
void oracle_judge_lending(unsigned contender) {
    const record *one = &oracle.records[contender];
    bool is_lent = one->node != NULL && zkl_node_name_parse(one->node->name).lent;
    if (is_lent != (one->local_number > 0) || (is_lent && !oracle_plan_of(contender)->borrows)) {
        oracle_violated("contender %u has the number %" PRId64 " of the node %s", contender,
                        one->local_number, one->node != NULL ? one->node->name : "");
    }
    lent_node *its = is_lent && plan_is_calm(oracle.plan) ? find(one->node) : NULL;
    if (its == NULL) {
        return;
    }
    note_holder(its, contender);
    if (one->local_number == 1 || one->mode == ZKL_READ || !has_old_waiter(one->node)) {
        return;
    }
    its->handed_on++;
    unsigned most = (unsigned)oracle.plan->hand_offs +
                    (oracle.plan->hand_offs == 0 && !oracle_keeps_lease(contender));
    if (its->handed_on > most) {
        oracle_violated("%s is handed on to contender %u, the %u. time since others wait",
                        one->node->name, contender, its->handed_on);
    }
    judge_time_of_hand_off(its);
}

static bool is_used(lent_node *its) {
    for (unsigned i = 0; i < oracle.plan->contender_count; i++) {
        const record *one = &oracle.records[i];
        if (one->node == its->node && one->holds) {
            note_holder(its, i);
            return true;
        }
    }
    return false;
}

static void judge_use(lent_node *its) {
    int64_t now_us = zkl_world_now_us();
    if (is_used(its)) {
        return;
    }
    its->idle_since_us =
        its->granted_us >= 0 && its->idle_since_us < 0 ? now_us : its->idle_since_us;
    if (!has_old_waiter(its->node) || nodes_blocker(its->node) != NULL) {
        its->unused_since_us = -1;
    } else if (its->unused_since_us < 0) {
        its->unused_since_us = now_us;
    } else if (now_us - its->unused_since_us > NEWS_MAX_MS * US_PER_MS) {
        oracle_violated("nobody uses %s, which is kept from others for %d ms", its->node->name,
                        (int)NEWS_MAX_MS);
    }
}

/* ---- How long it is kept -------------------------------------------------------------------- */

static int64_t kept_ms(unsigned user) {
    return oracle_keeps_lease(user) ? oracle.plan->retain_ms : 0;
}

static void judge_end_of_keeping(const lent_node *its) {
    int64_t limit_ms = kept_ms(its->user);
    int64_t idle_us = zkl_world_now_us() - its->idle_since_us;
    if (its->idle_since_us >= 0 && nodes_blocker(its->node) == NULL &&
        idle_us > (limit_ms + limit_ms / CLOCK_PARTS + NEWS_MAX_MS) * US_PER_MS) {
        oracle_violated("%s is kept though nobody has used it for %" PRId64 " us", its->node->name,
                        idle_us);
    }
}

void oracle_judge_lent_nodes(void) {
    const node_record *node;
    for (size_t i = 0; plan_is_calm(oracle.plan) && (node = nodes_at(i)) != NULL; i++) {
        if (node->alive && zkl_node_name_parse(node->name).lent && find(node) != NULL) {
            judge_use(find(node));
            judge_end_of_keeping(find(node));
        }
    }
}

/* Handles that differ in these share no node. */
static bool has_same_lender(unsigned contender, unsigned other) {
    const plan_contender *one = oracle_plan_of(contender);
    const plan_contender *with = oracle_plan_of(other);
    return (contender == other || shares_with(contender, other)) &&
           one->fail_on_session_expiry == with->fail_on_session_expiry &&
           (one->hears_news && one->revocable) == (with->hears_news && with->revocable);
}

void oracle_closes_handle(unsigned contender) {
    bool is_last = true;
    oracle.records[contender].closing = true;
    for (unsigned i = 0; i < oracle.plan->contender_count; i++) {
        const record *one = &oracle.records[i];
        is_last = is_last && !(has_same_lender(contender, i) && one->has_handle && !one->closing);
    }
    for (size_t i = 0; i < lent.count; i++) {
        lent_node *its = &lent.all[i];
        its->is_left = its->is_left || (is_last && has_same_lender(contender, its->user));
    }
}

/* Whoever comes calls it back, and may have gone again. */
static bool was_alone(const node_record *node) {
    size_t parent = (size_t)(node->name - node->path);
    const node_record *other;
    for (size_t i = 0; (other = nodes_at(i)) != NULL; i++) {
        if (other->czxid > node->czxid && strncmp(other->path, node->path, parent) == 0) {
            return false;
        }
    }
    return node->revocations == 0;
}

/* The limit counts from the grant, of which the user was told a little later. So the handle knows
 * of its end a little sooner. */
static bool was_held_for_too_long(const lent_node *its) {
    int64_t limit_ms = oracle_plan_of(its->user)->max_hold_ms;
    int64_t held_us = zkl_world_now_us() - its->used_since_us;
    return limit_ms > 0 && held_us >= (limit_ms - GRANT_TOLD_MS) * US_PER_MS;
}

/* Readers' are not all kept: where there are two, the older one is used up. */
void oracle_judge_deleted_lent_node(const node_record *node) {
    bool is_lent = plan_is_calm(oracle.plan) && zkl_node_name_parse(node->name).lent;
    lent_node *its = is_lent ? find(node) : NULL;
    if (its == NULL || its->granted_us < 0 || is_used(its) || its->is_left || !was_alone(node)) {
        return;
    }
    const record *user = &oracle.records[its->user];
    bool is_over = zkl_node_name_parse(node->name).kind == ZKL_NODE_READ || user->knows_of_loss ||
                   was_held_for_too_long(its) ||
                   oracle.clients[oracle_plan_of(its->user)->client].closes;
    int64_t idle_us = its->idle_since_us < 0 ? 0 : zkl_world_now_us() - its->idle_since_us;
    int64_t limit_ms = kept_ms(its->user);
    if (!is_over && idle_us < (limit_ms - limit_ms / CLOCK_PARTS - NEWS_MAX_MS) * US_PER_MS) {
        oracle_violated("%s is given up after %" PRId64 " us, and nobody else wants it", node->name,
                        idle_us);
    }
}
