#include "administrator.h"

#include <stdio.h>
#include <string.h>

#include "nodes.h"
#include "oracle.h"
#include "testing/world.h"
#include "trace.h"
#include "zklock/administration.h"

enum { US_PER_MS = 1000, PAUSE_MAX_US = 400 * US_PER_MS, TIMEOUT_MS = 1500 };

static struct {
    const run_plan *plan;
    zkl_client *client;
    bool stops;
    bool done;
} administrator;

/* ---- What it is told ---------------------------------------------------------------- */

/* A call ends in one of these ways, whatever goes wrong. */
static void judge_status(const char *call, int status) {
    bool allowed = status == ZKL_OK || status == ZKL_TIMEOUT || status == ZKL_NO_MEMORY ||
                   status == ZKL_NO_PERMISSION || status == ZKL_SERVER_REFUSED;
    trace_event("administrator", "%s: %s", call, zkl_strerror(status));
    if (!allowed) {
        oracle_violated("the administrator calls %s and is told: %s", call, zkl_strerror(status));
    }
}

static bool is_before(const zkl_queue *queue, size_t place, const char *node) {
    for (size_t i = 0; i < place; i++) {
        if (strcmp(zkl_queue_get(queue, i)->node, node) == 0) {
            return true;
        }
    }
    return false;
}

/* A permit is held by as many as there are; anything else that is first, too. */
static bool holds_rightly(const zkl_contender *one, size_t place) {
    bool free = place < (one->kind == ZKL_QUEUE_PERMIT ? one->permits : 1);
    bool may_share = one->kind == ZKL_QUEUE_READ;
    return one->holds == (free ? 1 : 0) || (may_share && one->holds == 1);
}

/* Somebody holds where anybody is; who waits does so for one that is before it. */
static void judge_queue(const zkl_queue *queue) {
    for (size_t i = 0; i < zkl_queue_count(queue); i++) {
        const zkl_contender *one = zkl_queue_get(queue, i);
        bool waits = one->waits_for[0] != '\0';
        bool right = waits ? is_before(queue, i, one->waits_for) : one->holds == 1;
        if (!right || !holds_rightly(one, i) || (waits && one->holds == 1)) {
            oracle_violated("a described queue is wrong about %s", one->node);
        }
    }
}

/* ---- What it does ------------------------------------------------------------------- */

static void describe(void) {
    char resource[32];
    zkl_queue *queue = NULL;
    unsigned number = (unsigned)zkl_world_random(administrator.plan->resource_count);
    snprintf(resource, sizeof(resource), "resource-%u", number);
    judge_status("describe",
                 zkl_queue_describe(administrator.client, resource, TIMEOUT_MS, &queue));
    judge_queue(queue);
    zkl_queue_free(queue);
}

static void find_deadlocks(void) {
    zkl_deadlocks *deadlocks = NULL;
    judge_status("deadlocks", zkl_deadlocks_find(administrator.client, TIMEOUT_MS, &deadlocks));
    zkl_deadlocks_free(deadlocks);
}

static void remove_idle(void) {
    int64_t idle_ms = (int64_t)zkl_world_random(100);
    size_t removed = 0;
    judge_status("remove idle",
                 zkl_parents_remove_idle(administrator.client, idle_ms, TIMEOUT_MS, &removed));
}

static void act(void) {
    switch (zkl_world_random(3)) {
    case 0:
        describe();
        break;
    case 1:
        find_deadlocks();
        break;
    default:
        remove_idle();
        break;
    }
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
    options.label = "administrator";
    while (administrator.client == NULL && !administrator.stops) {
        (void)zkl_client_open("server:2181", &options, &administrator.client);
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
