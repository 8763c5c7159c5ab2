/* What must hold of nodes that are lent. */
#include <inttypes.h>
#include <string.h>

#include "oracle_records.h"

/* Where nothing goes wrong: until the news of somebody who waits is there. */
enum { NEWS_MAX_MS = 500, LENT_NODES_MAX = 256 };

/* A node that was lent while somebody else waited. */
typedef struct lent_node {
    const node_record *node;
    unsigned handed_on;
    int64_t unused_since_us; /* while somebody else waits; -1: not so */
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
    lent.all[lent.count] = (lent_node){ .node = node, .unused_since_us = -1 };
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

/* The bound by which the order of the queue is bent. */
void oracle_judge_lending(unsigned contender) {
    const record *one = &oracle.records[contender];
    bool is_lent = one->node != NULL && zkl_node_name_parse(one->node->name).lent;
    if (is_lent != (one->local_number > 0) || (is_lent && !oracle_plan_of(contender)->borrows)) {
        oracle_violated("contender %u has the number %" PRId64 " of the node %s", contender,
                        one->local_number, one->node != NULL ? one->node->name : "");
    }
    lent_node *its = is_lent && one->local_number > 1 ? find(one->node) : NULL;
    if (its == NULL || !plan_is_calm(oracle.plan) || one->mode == ZKL_READ ||
        !has_old_waiter(one->node)) {
        return;
    }
    its->handed_on++;
    unsigned most = (unsigned)oracle.plan->hand_offs +
                    (oracle.plan->hand_offs == 0 && !oracle_keeps_lease(contender));
    if (its->handed_on > most) {
        oracle_violated("%s is handed on to contender %u, the %u. time since others wait",
                        one->node->name, contender, its->handed_on);
    }
}

static bool is_used(const node_record *node) {
    for (unsigned i = 0; i < oracle.plan->contender_count; i++) {
        const record *one = &oracle.records[i];
        if (one->node == node && one->holds) {
            return true;
        }
    }
    return false;
}

static void judge_lent_node(lent_node *its) {
    if (!has_old_waiter(its->node) || nodes_blocker(its->node) != NULL || is_used(its->node)) {
        its->unused_since_us = -1;
    } else if (its->unused_since_us < 0) {
        its->unused_since_us = zkl_world_now_us();
    } else if (zkl_world_now_us() - its->unused_since_us > NEWS_MAX_MS * US_PER_MS) {
        oracle_violated("nobody uses %s, which is kept from others for %d ms", its->node->name,
                        (int)NEWS_MAX_MS);
    }
}

void oracle_judge_lent_nodes(void) {
    const node_record *node;
    for (size_t i = 0; plan_is_calm(oracle.plan) && (node = nodes_at(i)) != NULL; i++) {
        if (node->alive && zkl_node_name_parse(node->name).lent && find(node) != NULL) {
            judge_lent_node(find(node));
        }
    }
}
