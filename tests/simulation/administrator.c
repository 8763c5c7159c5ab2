#include "administrator.h"

#include <stdio.h>
#include <string.h>

#include "base/threads.h"
#include "client/client.h"
#include "nodes.h"
#include "oracle.h"
#include "recipe/node_name.h"
#include "testing/world.h"
#include "trace.h"
#include "zklock/administration.h"

enum {
    RESOURCE_SIZE = 32,
    US_PER_MS = 1000,
    PAUSE_MAX_US = 400 * US_PER_MS,
    TIMEOUT_MS = 1500,
    PATH_SIZE = 256
};

static struct {
    const run_plan *plan;
    zkl_client *client;
    bool stops;
    bool done;
} administrator;

/* ---- What it is told ---------------------------------------------------------------- */

/* A call ends in one of these ways, whatever goes wrong. */
static bool may_be_told(int status) {
    return status == ZKL_OK || status == ZKL_TIMEOUT || status == ZKL_NO_MEMORY ||
           status == ZKL_NO_PERMISSION || status == ZKL_SERVER_REFUSED;
}

static void judge_status(const char *call, int status) {
    trace_event("administrator", "%s: %s", call, zkl_strerror(status));
    if (!may_be_told(status)) {
        oracle_violated("the administrator calls %s and is told: %s", call, zkl_strerror(status));
    }
}

static const node_record *find_node(const char *resource, const char *name) {
    char path[PATH_SIZE];
    snprintf(path, sizeof(path), "/locks/%s/%s", resource, name);
    return nodes_find(path);
}

static bool is_before(const zkl_queue *queue, size_t place, const char *node) {
    for (size_t i = 0; i < place; i++) {
        if (strcmp(queue->contenders[i]->node, node) == 0) {
            return true;
        }
    }
    return false;
}

/* A permit is held by as many as there are; anything else that is first, too. */
static bool holds_rightly(const zkl_contender *one, size_t place) {
    bool free = place < (one->permits > 0 ? one->permits : 1);
    bool may_share = one->mode == ZKL_READ;
    return one->holds == (free ? 1 : 0) || (may_share && one->holds == 1);
}

/* Somebody holds where anybody is; who waits does so for one that is before it. */
static void judge_queue(const zkl_queue *queue) {
    for (size_t i = 0; i < queue->count; i++) {
        const zkl_contender *one = queue->contenders[i];
        bool waits = one->waits_for[0] != '\0';
        bool right = waits ? is_before(queue, i, one->waits_for) : one->holds == 1;
        if (!right || !holds_rightly(one, i) || (waits && one->holds == 1)) {
            oracle_violated("a described queue is wrong about %s", one->node);
        }
    }
}

/* Of a node that was there when the queue was described. */
static void judge_act(const char *call, int status, const node_record *node) {
    bool is_gone = status == ZKL_NO_NODE;
    trace_event("administrator", "%s %s: %s", call, node->name, zkl_strerror(status));
    if (!is_gone && !may_be_told(status)) {
        oracle_violated("the administrator calls %s and is told: %s", call, zkl_strerror(status));
    }
    if (is_gone && node->alive) {
        oracle_violated("the administrator is told that %s is not there, and it is", node->name);
    }
}

/* All nodes of a circle were there at one moment, and each is in the way of the one before. */
static void judge_deadlock(const zkl_deadlocks *deadlocks, size_t number) {
    size_t length = deadlocks->deadlocks[number]->length;
    int64_t from_us = 0;
    int64_t until_us = INT64_MAX;
    for (size_t i = 0; i < length; i++) {
        const zkl_deadlock_wait *wait = deadlocks->deadlocks[number]->waits[i];
        const zkl_deadlock_wait *next = deadlocks->deadlocks[number]->waits[(i + 1) % length];
        const node_record *node = find_node(wait->resource, wait->node);
        const node_record *behind = find_node(wait->resource, wait->behind);
        if (node == NULL || behind == NULL || node->owner != wait->session_id ||
            behind->owner != next->session_id || !nodes_is_behind(node, behind)) {
            oracle_violated("a deadlock is told in which %s waits for %s", wait->node,
                            wait->behind);
            return;
        }
        from_us = node->made_us > from_us ? node->made_us : from_us;
        until_us = !node->alive && node->gone_us < until_us ? node->gone_us : until_us;
        until_us = !behind->alive && behind->gone_us < until_us ? behind->gone_us : until_us;
    }
    if (from_us > until_us) {
        oracle_violated("a deadlock is told of nodes that were never there together");
    }
}

/* ---- What it does ------------------------------------------------------------------- */

static zkl_queue *describe(char resource[RESOURCE_SIZE]) {
    zkl_queue *queue = NULL;
    unsigned number = (unsigned)zkl_world_random(administrator.plan->resource_count);
    snprintf(resource, RESOURCE_SIZE, "resource-%u", number);
    judge_status("describe",
                 zkl_queue_describe(administrator.client, resource, TIMEOUT_MS, &queue));
    if (queue != NULL) {
        judge_queue(queue);
    }
    return queue;
}

static void look(void) {
    char resource[RESOURCE_SIZE];
    zkl_report_free(describe(resource));
}

/* Often who holds, or is next. */
static const zkl_contender *choose(const zkl_queue *queue) {
    size_t count = queue != NULL ? queue->count : 0;
    size_t most = count > 2 && zkl_world_random(2) == 0 ? 2 : count;
    return count > 0 ? queue->contenders[(size_t)zkl_world_random(most)] : NULL;
}

static void break_node(void) {
    char resource[RESOURCE_SIZE];
    zkl_queue *queue = describe(resource);
    const zkl_contender *one = choose(queue);
    const node_record *node = one != NULL ? find_node(resource, one->node) : NULL;
    if (node != NULL) {
        nodes_let_break(node->path);
        int status = zkl_node_break(administrator.client, resource, one->node, TIMEOUT_MS);
        judge_act("break", status, node);
        if (status == ZKL_OK && node->alive) {
            oracle_violated("the administrator has broken %s, and it is there", node->name);
        }
    }
    zkl_report_free(queue);
}

/* Nobody asks for the node of a latch. */
static void judge_revocation(int status, const node_record *node) {
    if (nodes_naming(node) != ZKL_NAMING_LEADER_LATCH) {
        judge_act("revoke", status, node);
    } else if (status != ZKL_INVALID_ARGUMENT) {
        oracle_violated("the administrator asks for %s, a latch's, and is told: %s", node->name,
                        zkl_strerror(status));
    }
}

static void revoke_node(void) {
    char resource[RESOURCE_SIZE];
    zkl_queue *queue = describe(resource);
    const zkl_contender *one = choose(queue);
    const node_record *node = one != NULL ? find_node(resource, one->node) : NULL;
    if (node != NULL) {
        nodes_let_revoke(node->path);
        int status = zkl_node_revoke(administrator.client, resource, one->node, TIMEOUT_MS);
        judge_revocation(status, node);
        if (status == ZKL_OK && node->revocations == 0) {
            oracle_violated("the administrator has revoked %s, and its data is as it was",
                            node->name);
        }
    }
    zkl_report_free(queue);
}

static void on_set(void *arg, const zkl_reply *reply) {
    (void)arg;
    if (reply->outcome == ZKL_OUTCOME_OK) {
        oracle_violated("the administrator has set the data of a protected node");
    }
}

/* By no function of zklock's, as none does. */
static void set_protected(void) {
    char resource[RESOURCE_SIZE];
    zkl_queue *queue = describe(resource);
    const zkl_contender *one = choose(queue);
    const node_record *node = one != NULL ? find_node(resource, one->node) : NULL;
    if (node != NULL && !node->foreign && zkl_node_name_is_protected(one->node)) {
        const zkl_operation set = { .kind = ZKL_OPERATION_SET,
                                    .path = node->path,
                                    .data = "taken",
                                    .version = ZKL_ANY_VERSION };
        trace_event("administrator", "sets %s", one->node);
        ZKL_WITH_MUTEX(&administrator.client->mutex);
        (void)zkl_send(&administrator.client->sessions->session.sender, &set, on_set, NULL, NULL);
    }
    zkl_report_free(queue);
}

static void find_deadlocks(void) {
    zkl_deadlocks *deadlocks = NULL;
    judge_status("deadlocks", zkl_deadlocks_find(administrator.client, TIMEOUT_MS, &deadlocks));
    for (size_t i = 0; deadlocks != NULL && i < deadlocks->count; i++) {
        judge_deadlock(deadlocks, i);
    }
    zkl_report_free(deadlocks);
}

static void remove_idle(void) {
    int64_t idle_ms = (int64_t)zkl_world_random(100);
    zkl_resource_list *removed = NULL;
    judge_status("remove idle",
                 zkl_parents_remove_idle(administrator.client, idle_ms, TIMEOUT_MS, 0, &removed));
    zkl_report_free(removed);
}

static void act(void) {
    void (*acts[])(void) = {
        look,
        find_deadlocks,
        remove_idle,
        administrator.plan->breaks ? break_node : look,
        administrator.plan->revokes ? revoke_node : look,
        set_protected,
    };
    acts[zkl_world_random(sizeof(acts) / sizeof(acts[0]))]();
}

static void pause_a_while(void) {
    int64_t until_us = zkl_world_now_us() + (int64_t)zkl_world_random(PAUSE_MAX_US);
    while (!administrator.stops && zkl_world_now_us() < until_us) {
        zkl_world_wait_on(&administrator.stops, until_us);
    }
}

static void *administer(void *arg) {
    (void)arg;
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    zkl_security security = ZKL_SECURITY_INIT;
    options.label = "administrator";
    options.security = &security;
    plan_introduce(administrator.plan, &security);
    int status = ZKL_DISCONNECTED;
    while (status != ZKL_OK && !administrator.stops) {
        status = zkl_client_open("server:2181", &options, &administrator.client);
        pause_a_while();
    }
    while (!administrator.stops) {
        act();
        pause_a_while();
    }
    (void)zkl_client_close(administrator.client, 0);
    administrator.done = true;
    return NULL;
}

/* ---- Beginning and end ---------------------------------------------------------------- */

void administrator_begin(const run_plan *plan) {
    memset(&administrator, 0, sizeof(administrator));
    administrator.plan = plan;
    administrator.done = !plan->administered || plan_is_calm(plan);
    if (administrator.done) {
        return;
    }
    zkl_process *process = zkl_process_begin(0);
    nodes_let_remove_parents(zkl_process_number(process));
    zkl_process *mine = zkl_process_enter(process);
    (void)zkl_task_start(administer, NULL);
    (void)zkl_process_enter(mine);
}

void administrator_stop(void) {
    administrator.stops = true;
    zkl_world_wake_all(&administrator.stops);
}

bool administrator_is_done(void) {
    return administrator.done;
}
