/*
 * An operator's view of real queues, and what he can do about them: processes in several queues
 * are described, deadlocks of theirs found, a node broken or revoked, idle parents removed.
 */
#include "support/ledger.h"
#include "support/news.h"
#include "support/process.h"
#include "support/proxy.h"
#include "support/scene.h"
#include "support/servers.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zklock/administration.h>

#define SESSION_MS 6000
/* For what must not happen; a wrong piece of news would come within a round trip. */
#define QUIET_MS 300

/* ---- The stage -------------------------------------------------------------------------- */

/* A lock root of its own, so that other tests' resources are not among those that are listed. */
struct stage {
    char root[96];
    zhandle_t *raw;
    zkl_client *operators_client;
};

static zkl_client *open_client(const char *hosts, int32_t session_timeout_ms, const char *root) {
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    zkl_client *client = NULL;
    options.session_timeout_ms = session_timeout_ms;
    options.connect_timeout_ms = PATIENCE_MS;
    options.lock_root = root;
    ASSERT_STATUS(zkl_client_open(hosts, &options, &client), ZKL_OK);
    return client;
}

static void stage_begin(struct stage *stage, const char *stem) {
    struct scene named;
    scene_begin(&named, stem);
    *stage = (struct stage){ .raw = named.raw };
    snprintf(stage->root, sizeof stage->root, "/%.90s", named.resource);
    raw_make(stage->raw, stage->root);
    stage->operators_client = open_client(servers_hosts(), LONG_SESSION_MS, stage->root);
}

#define RESOURCE_SIZE 128

/* A contender, which has another lock root, names it by its path. */
static const char *path_of(const struct stage *stage, const char *resource,
                           char path[RESOURCE_SIZE]) {
    snprintf(path, RESOURCE_SIZE, "%s/%s", stage->root, resource);
    return path;
}

/* As zklock makes them, without data. */
static void make_parent(struct stage *stage, const char *resource) {
    char path[RESOURCE_SIZE];
    ASSERT_NUMBER(
        zoo_create(stage->raw, path_of(stage, resource, path), NULL, -1, raw_acl(), 0, NULL, 0),
        ZOK);
}

static int queue_length(struct stage *stage, const char *resource) {
    char path[RESOURCE_SIZE];
    raw_catch_up(stage->raw);
    return raw_children(stage->raw, path_of(stage, resource, path));
}

static size_t remove_idle(struct stage *stage, int64_t idle_ms) {
    zkl_resource_list *removed = NULL;
    ASSERT_STATUS(
        zkl_parents_remove_idle(stage->operators_client, idle_ms, PATIENCE_MS, 0, &removed),
        ZKL_OK);
    size_t count = removed->count;
    zkl_report_free(removed);
    return count;
}

/* The operator's server may not have seen yet that a resource is idle. */
static bool all_are_removed(struct stage *stage) {
    (void)remove_idle(stage, 0);
    raw_catch_up(stage->raw);
    return raw_children(stage->raw, stage->root) == 0;
}

/* Asserts that no contender and no watch is left of any resource, and removes them. */
static void stage_end(struct stage *stage) {
    WAIT_UNTIL(servers_watches(stage->root) == 0);
    WAIT_UNTIL(all_are_removed(stage));
    client_close(stage->operators_client);
    raw_delete(stage->raw, stage->root);
    raw_close(stage->raw);
}

/* ---- Processes in a queue --------------------------------------------------------------- */

static void start_process(struct stage *stage, struct process *process, const char *resource,
                          int32_t session_timeout_ms) {
    char path[RESOURCE_SIZE];
    process_start(process, &(struct process_options){ .hosts = servers_hosts(),
                                                      .resource = path_of(stage, resource, path),
                                                      .session_timeout_ms = session_timeout_ms });
}

/* Returns when it is in the queue, behind those that were there. */
static void queue_process_of(struct stage *stage, struct process *process, const char *resource,
                             zkl_mode mode, int32_t session_timeout_ms) {
    int before = queue_length(stage, resource);
    start_process(stage, process, resource, session_timeout_ms);
    process_tell(process, "acquire %d %d\n", (int)mode, 2 * PATIENCE_MS);
    WAIT_UNTIL(queue_length(stage, resource) == before + 1);
}

static void queue_process(struct stage *stage, struct process *process, const char *resource,
                          zkl_mode mode) {
    queue_process_of(stage, process, resource, mode, LONG_SESSION_MS);
}

static zkl_queue *describe(struct stage *stage, const char *resource) {
    zkl_queue *queue = NULL;
    ASSERT_STATUS(zkl_queue_describe(stage->operators_client, resource, PATIENCE_MS, &queue),
                  ZKL_OK);
    return queue;
}

static bool queue_is_known(struct stage *stage, const char *resource, size_t count,
                           zkl_queue **queue) {
    zkl_report_free(*queue);
    *queue = describe(stage, resource);
    return (*queue)->count == count;
}

/* Once the operator's server has seen as many: it may lag behind those of the others. */
static zkl_queue *describe_all(struct stage *stage, const char *resource, size_t count) {
    zkl_queue *queue = NULL;
    WAIT_UNTIL(queue_is_known(stage, resource, count, &queue));
    if (queue->count != count) {
        give_up("there are other than %zu contenders of %s", count, resource);
    }
    return queue;
}

static const char *name_of(const char *node) {
    return strrchr(node, '/') + 1;
}

/* ---- The description ---------------------------------------------------------------------- */

static void assert_is_process(const zkl_contender *contender, const struct process *process) {
    char host[256] = "";
    char pid[16];
    (void)gethostname(host, sizeof host - 1);
    snprintf(pid, sizeof pid, "%d", (int)process->pid);
    ASSERT_NUMBER(contender->session_id, process->session_id);
    CU_ASSERT_STRING_EQUAL(contender->identity.process_id, pid);
    CU_ASSERT_STRING_EQUAL(contender->identity.host, host);
    CU_ASSERT_STRING_EQUAL(contender->identity.label, "ensemble_contender");
    CU_ASSERT_TRUE(strncmp(contender->identity.owner, pid, strlen(pid)) == 0);
    ASSERT_NUMBER(contender->revoke_requested, 0);
}

/* Each is younger than the one before it, and none older than the test. */
static void assert_ages(const zkl_queue *queue, int64_t begun_ms) {
    int64_t oldest = now_ms() - begun_ms;
    for (size_t i = 0; i < queue->count; i++) {
        const zkl_contender *contender = queue->contenders[i];
        CU_ASSERT_TRUE(contender->age_ms >= 0 && contender->age_ms <= oldest);
        oldest = contender->age_ms;
    }
}

static void queue_of_four_processes_is_described_in_its_order(void) {
    static const zkl_mode modes[] = { ZKL_EXCLUSIVE, ZKL_READ, ZKL_READ, ZKL_WRITE };
    static const size_t waits_for[] = { 0, 0, 0, 2 };
    struct stage stage;
    struct process processes[4];
    zkl_grant grant;
    stage_begin(&stage, "described");
    int64_t begun_ms = now_ms();
    for (int i = 0; i < 4; i++) {
        queue_process(&stage, &processes[i], "stock", modes[i]);
    }
    ASSERT_STATUS(process_answer_grant(&processes[0], &grant), ZKL_OK);
    zkl_queue *queue = describe_all(&stage, "stock", 4);
    assert_ages(queue, begun_ms);
    for (size_t i = 0; i < 4; i++) {
        const zkl_contender *contender = queue->contenders[i];
        assert_is_process(contender, &processes[i]);
        ASSERT_NUMBER(contender->mode, modes[i]);
        ASSERT_NUMBER(contender->sequence, (int32_t)i);
        ASSERT_NUMBER(contender->holds, i == 0);
        CU_ASSERT_STRING_EQUAL(contender->waits_for,
                               i == 0 ? "" : queue->contenders[waits_for[i]]->node);
    }
    CU_ASSERT_STRING_EQUAL(queue->contenders[0]->node, name_of(grant.node));
    ASSERT_NUMBER(queue->contenders[0]->token, grant.token);
    zkl_report_free(queue);
    for (int i = 0; i < 4; i++) {
        process_end(&processes[i]); /* each when it was granted, and lets the next one in */
    }
    stage_end(&stage);
}

static void readers_who_are_let_in_are_described_as_holders(void) {
    static const zkl_mode modes[] = { ZKL_WRITE, ZKL_READ, ZKL_READ, ZKL_WRITE };
    struct stage stage;
    struct process processes[4];
    zkl_grant grants[4];
    stage_begin(&stage, "let-in");
    for (int i = 0; i < 4; i++) {
        queue_process(&stage, &processes[i], "stock", modes[i]);
    }
    ASSERT_STATUS(process_answer_grant(&processes[0], &grants[0]), ZKL_OK);
    ASSERT_STATUS(process_release(&processes[0]), ZKL_OK);
    ASSERT_STATUS(process_answer_grant(&processes[1], &grants[1]), ZKL_OK);
    ASSERT_STATUS(process_answer_grant(&processes[2], &grants[2]), ZKL_OK);
    zkl_queue *queue = describe_all(&stage, "stock", 3);
    for (size_t i = 0; i < 2; i++) {
        ASSERT_NUMBER(queue->contenders[i]->holds, 1);
        ASSERT_NUMBER(queue->contenders[i]->token, grants[i + 1].token);
    }
    ASSERT_NUMBER(queue->contenders[2]->holds, 0);
    zkl_report_free(queue);
    ASSERT_STATUS(process_release(&processes[1]), ZKL_OK);
    ASSERT_STATUS(process_release(&processes[2]), ZKL_OK);
    ASSERT_STATUS(process_answer(&processes[3]), ZKL_OK);
    for (int i = 0; i < 4; i++) {
        process_end(&processes[i]);
    }
    stage_end(&stage);
}

static int64_t position_of(const zkl_lock *lock) {
    zkl_lock_information information = ZKL_LOCK_INFORMATION_INIT;
    ASSERT_STATUS(zkl_lock_info(lock, &information), ZKL_OK);
    return information.position;
}

/* It lists the queue again when the one before it goes. */
static void waiter_knows_its_position_in_a_queue_of_processes(void) {
    struct stage stage;
    struct process processes[3];
    struct waiter waiter;
    char path[RESOURCE_SIZE];
    stage_begin(&stage, "position");
    for (int i = 0; i < 3; i++) {
        queue_process_of(&stage, &processes[i], "stock", ZKL_EXCLUSIVE, SHORT_SESSION_MS);
    }
    zkl_lock *lock = lock_open(stage.operators_client, path_of(&stage, "stock", path));
    ASSERT_NUMBER(position_of(lock), -1);
    waiter_start(&waiter, lock, ZKL_EXCLUSIVE, 2 * PATIENCE_MS);
    WAIT_UNTIL(position_of(lock) == 3);
    process_end(&processes[0]); /* releases once it was granted, and closes */
    process_signal(&processes[2], SIGKILL);
    process_end(&processes[2]);
    WAIT_UNTIL(position_of(lock) == 1);
    process_end(&processes[1]);
    ASSERT_STATUS(waiter_join(&waiter), ZKL_OK);
    ASSERT_NUMBER(position_of(lock), -1);
    zkl_lock_close(lock);
    stage_end(&stage);
}

static zkl_resource_list *list(struct stage *stage) {
    zkl_resource_list *resources = NULL;
    ASSERT_STATUS(zkl_resources_list(stage->operators_client, PATIENCE_MS, &resources), ZKL_OK);
    return resources;
}

static void resources_are_listed_by_name_with_their_contenders(void) {
    static const char *const names[] = { "apples", "beans", "cherries" };
    static const size_t contenders[] = { 2, 0, 1 };
    struct stage stage;
    struct process processes[3];
    stage_begin(&stage, "listed");
    make_parent(&stage, names[1]);
    queue_process(&stage, &processes[0], names[2], ZKL_EXCLUSIVE);
    queue_process(&stage, &processes[1], names[0], ZKL_READ);
    queue_process(&stage, &processes[2], names[0], ZKL_READ);
    zkl_report_free(describe_all(&stage, names[0], 2));
    zkl_resource_list *resources = list(&stage);
    ASSERT_NUMBER(resources->count, 3);
    for (size_t i = 0; i < 3 && i < resources->count; i++) {
        CU_ASSERT_STRING_EQUAL(resources->resources[i]->name, names[i]);
        ASSERT_NUMBER(resources->resources[i]->contenders, (int64_t)contenders[i]);
    }
    zkl_report_free(resources);
    for (int i = 0; i < 3; i++) {
        ASSERT_STATUS(process_answer(&processes[i]), ZKL_OK);
        process_end(&processes[i]);
    }
    stage_end(&stage);
}

/* ---- Deadlocks --------------------------------------------------------------------------------
 */

enum { RING_MAX = 3 };

/* Each process holds the resource of its own number. */
struct ring {
    struct stage stage;
    size_t count;
    struct process processes[RING_MAX];
    zkl_grant grants[RING_MAX];
};

static const char *resource_of(size_t i) {
    return i == 0 ? "a" : i == 1 ? "b" : "c";
}

static void ring_begin(struct ring *ring, const char *stem, size_t count) {
    ring->count = count;
    stage_begin(&ring->stage, stem);
    for (size_t i = 0; i < count; i++) {
        start_process(&ring->stage, &ring->processes[i], resource_of(i), SHORT_SESSION_MS);
        ASSERT_STATUS(
            process_acquire(&ring->processes[i], ZKL_EXCLUSIVE, PATIENCE_MS, &ring->grants[i]),
            ZKL_OK);
    }
}

static size_t next_of(const struct ring *ring, size_t i) {
    return i + 1 < ring->count ? i + 1 : 0;
}

/* Waits for what the next one holds. Returns when the operator's server has seen it. */
static void wait_for_the_next(struct ring *ring, size_t i) {
    char path[RESOURCE_SIZE];
    const char *next = resource_of(next_of(ring, i));
    process_tell(&ring->processes[i], "also %s %d\n", path_of(&ring->stage, next, path),
                 2 * PATIENCE_MS);
    zkl_report_free(describe_all(&ring->stage, next, 2));
}

static zkl_deadlocks *find(struct ring *ring) {
    zkl_deadlocks *deadlocks = NULL;
    ASSERT_STATUS(zkl_deadlocks_find(ring->stage.operators_client, PATIENCE_MS, &deadlocks),
                  ZKL_OK);
    return deadlocks;
}

static size_t count_deadlocks(struct ring *ring) {
    zkl_deadlocks *deadlocks = find(ring);
    size_t count = deadlocks->count;
    zkl_report_free(deadlocks);
    return count;
}

static size_t process_of(const struct ring *ring, int64_t session_id) {
    size_t i = 0;
    while (i < ring->count && ring->processes[i].session_id != session_id) {
        i++;
    }
    return i;
}

/* One of them waits behind the node that the next one holds. */
static size_t assert_wait(struct ring *ring, const zkl_deadlock_wait *wait) {
    char pid[16];
    size_t i = process_of(ring, wait->session_id);
    if (i == ring->count) {
        CU_FAIL("a session that is none of theirs");
        return 0;
    }
    size_t next = next_of(ring, i);
    snprintf(pid, sizeof pid, "%d", (int)ring->processes[i].pid);
    CU_ASSERT_STRING_EQUAL(wait->identity.process_id, pid);
    CU_ASSERT_STRING_EQUAL(wait->resource, resource_of(next));
    CU_ASSERT_STRING_EQUAL(wait->behind, name_of(ring->grants[next].node));
    zkl_queue *queue = describe_all(&ring->stage, wait->resource, 2);
    CU_ASSERT_STRING_EQUAL(wait->node, queue->contenders[1]->node);
    zkl_report_free(queue);
    return i;
}

static void assert_are_one_of_all(struct ring *ring, zkl_deadlocks *deadlocks) {
    ASSERT_NUMBER(deadlocks->count, 1);
    ASSERT_NUMBER(deadlocks->are_more, 0);
    ASSERT_NUMBER(deadlocks->deadlocks[0]->length, (int64_t)ring->count);
    size_t previous = ring->count;
    for (size_t i = 0; i < deadlocks->deadlocks[0]->length; i++) {
        size_t waits = assert_wait(ring, deadlocks->deadlocks[0]->waits[i]);
        CU_ASSERT_TRUE(previous == ring->count || waits == next_of(ring, previous));
        previous = waits;
    }
    zkl_report_free(deadlocks);
}

/* The death of one is the end of it: the one that waited for it goes on. */
static void ring_end(struct ring *ring) {
    process_signal(&ring->processes[0], SIGKILL);
    ASSERT_STATUS(process_answer(&ring->processes[ring->count - 1]), ZKL_OK);
    WAIT_UNTIL(count_deadlocks(ring) == 0);
    for (size_t i = ring->count; i-- > 0;) {
        process_end(&ring->processes[i]);
    }
    stage_end(&ring->stage);
}

static void deadlock_of(const char *stem, size_t count) {
    struct ring ring;
    ring_begin(&ring, stem, count);
    for (size_t i = 0; i < count; i++) {
        ASSERT_NUMBER(count_deadlocks(&ring), 0);
        wait_for_the_next(&ring, i);
    }
    assert_are_one_of_all(&ring, find(&ring));
    ring_end(&ring);
}

static void deadlock_of_two_processes_is_found_until_one_of_them_dies(void) {
    deadlock_of("deadlock-two", 2);
}

static void deadlock_of_three_processes_is_found_until_one_of_them_dies(void) {
    deadlock_of("deadlock-three", 3);
}

/* A search in a thread of its own. */
struct search {
    zkl_client *client;
    int status;
    zkl_deadlocks *deadlocks;
    pthread_t thread;
};

static void *run_search(void *arg) {
    struct search *self = arg;
    self->status = zkl_deadlocks_find(self->client, PATIENCE_MS, &self->deadlocks);
    return NULL;
}

/* At the end it looks once more at both nodes of each wait. */
static int requests_before_the_second_look(struct search *search, struct proxy *proxy) {
    const struct proxy_plan none = { .count = 0 };
    proxy_set_plan(proxy, &none);
    (void)run_search(search);
    ASSERT_STATUS(search->status, ZKL_OK);
    const size_t looks = 2 * search->deadlocks->deadlocks[0]->length;
    zkl_report_free(search->deadlocks);
    return proxy_requests(proxy) - (int)looks;
}

static bool another_waits(struct ring *ring, const char *node) {
    zkl_queue *queue = describe(&ring->stage, "b");
    bool is = queue->count == 2 && strcmp(queue->contenders[1]->node, node) != 0;
    zkl_report_free(queue);
    return is;
}

/* Who waits for "b" does so by another node then. */
static void make_the_waiter_join_again(struct ring *ring) {
    zkl_queue *queue = describe_all(&ring->stage, "b", 2);
    const char *node = queue->contenders[1]->node;
    ASSERT_STATUS(zkl_node_break(ring->stage.operators_client, "b", node, PATIENCE_MS), ZKL_OK);
    WAIT_UNTIL(another_waits(ring, node));
    zkl_report_free(queue);
}

/* What the session before has seen proves nothing in the next: what is told is of that one alone.
 */
static void circle_is_looked_at_anew_when_the_session_ends_between_the_looks(void) {
    struct ring ring;
    ring_begin(&ring, "deadlock-sessions", 2);
    wait_for_the_next(&ring, 0);
    wait_for_the_next(&ring, 1);
    struct proxy *proxy = proxy_start(0);
    struct search search = {
        .client = open_client(proxy_hosts(proxy), SESSION_MS, ring.stage.root),
    };
    const int requests = requests_before_the_second_look(&search, proxy);
    const struct proxy_plan plan = { { { PROXY_REQUEST_LOST, requests + 1 } }, 1, true };
    proxy_set_plan(proxy, &plan);
    thread_start(&search.thread, run_search, &search);
    WAIT_UNTIL(proxy_cuts_made(proxy) == 1);
    const clientid_t session = proxy_session(proxy);
    raw_expire(servers_hosts(), &session);
    make_the_waiter_join_again(&ring);
    proxy_admit(proxy);
    pthread_join(search.thread, NULL);
    ASSERT_STATUS(search.status, ZKL_OK);
    ASSERT_NUMBER(client_information(search.client).sessions_expired, 1);
    assert_are_one_of_all(&ring, search.deadlocks);
    client_close(search.client);
    proxy_stop(proxy);
    ring_end(&ring);
}

/* ---- A lock that is broken
 * ------------------------------------------------------------------------
 */

/* A holder in the test itself, behind a proxy, which keeps its news. */
struct hold {
    struct stage stage;
    struct proxy *proxy;
    zkl_client *client;
    struct news news;
    zkl_lock *lock;
    zkl_grant grant;
};

static void hold_begin(struct hold *hold, const char *stem) {
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    stage_begin(&hold->stage, stem);
    news_begin(&hold->news);
    options.state_callback = news_callback;
    options.state_arg = &hold->news;
    options.revocable = 1;
    hold->proxy = proxy_start(0);
    hold->client = open_client(proxy_hosts(hold->proxy), SESSION_MS, hold->stage.root);
    ASSERT_STATUS(zkl_lock_open(hold->client, "stock", &options, &hold->lock), ZKL_OK);
    hold->grant = (zkl_grant)ZKL_GRANT_INIT;
    ASSERT_STATUS(zkl_lock_acquire(hold->lock, ZKL_EXCLUSIVE, PATIENCE_MS, &hold->grant), ZKL_OK);
}

static void hold_end(struct hold *hold) {
    zkl_lock_close(hold->lock);
    client_close(hold->client);
    proxy_stop(hold->proxy);
    news_end(&hold->news);
    stage_end(&hold->stage);
}

static int break_node(struct hold *hold, const char *node) {
    return zkl_node_break(hold->stage.operators_client, "stock", node, PATIENCE_MS);
}

static void holder_whose_node_is_broken_is_told_and_the_next_has_the_lock(void) {
    struct hold hold;
    struct process next;
    zkl_grant grant;
    hold_begin(&hold, "broken-holder");
    queue_process(&hold.stage, &next, "stock", ZKL_EXCLUSIVE);
    ASSERT_STATUS(break_node(&hold, name_of(hold.grant.node)), ZKL_OK);
    ASSERT_STATUS(process_answer_grant(&next, &grant), ZKL_OK);
    CU_ASSERT_TRUE(grant.token > hold.grant.token);
    WAIT_UNTIL(news_count(&hold.news, ZKL_STATE_LOST) == 1);
    ASSERT_STATUS(news_last(&hold.news).reason, ZKL_NODE_DELETED);
    ASSERT_NUMBER(news_last(&hold.news).token, hold.grant.token);
    ASSERT_STATUS(zkl_lock_check(hold.lock, NULL), ZKL_LOST);
    ASSERT_STATUS(break_node(&hold, name_of(hold.grant.node)), ZKL_NO_NODE);
    ASSERT_STATUS(process_check(&next), ZKL_OK);
    STAYS(news_count(&hold.news, ZKL_STATE_LOST) == 1, QUIET_MS);
    process_end(&next);
    hold_end(&hold);
}

/* The last of the queue is his once more. */
static bool is_last_of_three(struct hold *hold, int64_t session_id) {
    zkl_queue *queue = describe(&hold->stage, "stock");
    bool is = queue->count == 3 && queue->contenders[2]->session_id == session_id;
    zkl_report_free(queue);
    return is;
}

static void waiter_whose_node_is_broken_joins_the_queue_again_at_its_tail(void) {
    struct hold hold;
    struct process broken;
    struct process other;
    hold_begin(&hold, "broken-waiter");
    queue_process(&hold.stage, &broken, "stock", ZKL_EXCLUSIVE);
    queue_process(&hold.stage, &other, "stock", ZKL_EXCLUSIVE);
    zkl_queue *queue = describe_all(&hold.stage, "stock", 3);
    ASSERT_NUMBER(queue->contenders[1]->session_id, broken.session_id);
    ASSERT_STATUS(break_node(&hold, queue->contenders[1]->node), ZKL_OK);
    zkl_report_free(queue);
    WAIT_UNTIL(is_last_of_three(&hold, broken.session_id));
    ASSERT_STATUS(zkl_lock_release(hold.lock, PATIENCE_MS), ZKL_OK);
    ASSERT_STATUS(process_answer(&other), ZKL_OK);
    CU_ASSERT_FALSE(process_has_answered(&broken));
    ASSERT_STATUS(process_release(&other), ZKL_OK);
    ASSERT_STATUS(process_answer(&broken), ZKL_OK);
    ASSERT_NUMBER(news_count(&hold.news, ZKL_STATE_LOST), 0);
    process_end(&broken);
    process_end(&other);
    hold_end(&hold);
}

/* ---- A lock that is asked for -------------------------------------------------------------------
 */

static int revoke_node(struct hold *hold) {
    return zkl_node_revoke(hold->stage.operators_client, "stock", name_of(hold->grant.node),
                           PATIENCE_MS);
}

static int requests_told(struct hold *hold) {
    return news_count(&hold->news, ZKL_STATE_REVOKE_REQUESTED);
}

/* It has lost nothing, and lets go of its own accord. */
static void assert_told_once_and_release(struct hold *hold) {
    WAIT_UNTIL(requests_told(hold) == 1);
    STAYS(requests_told(hold) == 1, QUIET_MS);
    ASSERT_NUMBER(news_first(&hold->news, ZKL_STATE_REVOKE_REQUESTED).token, hold->grant.token);
    ASSERT_NUMBER(news_count(&hold->news, ZKL_STATE_LOST), 0);
    ASSERT_STATUS(zkl_lock_verify(hold->lock, PATIENCE_MS), ZKL_OK);
    ASSERT_STATUS(zkl_lock_release(hold->lock, PATIENCE_MS), ZKL_OK);
}

static void holder_that_is_revoked_twice_is_told_once_and_releases(void) {
    struct hold hold;
    struct process next;
    hold_begin(&hold, "revoked");
    queue_process(&hold.stage, &next, "stock", ZKL_EXCLUSIVE);
    ASSERT_STATUS(revoke_node(&hold), ZKL_OK);
    WAIT_UNTIL(requests_told(&hold) == 1);
    WAIT_UNTIL(servers_watches(hold.grant.node) == 2); /* the next one's, and its own again */
    ASSERT_STATUS(revoke_node(&hold), ZKL_OK);
    zkl_queue *queue = describe_all(&hold.stage, "stock", 2);
    ASSERT_NUMBER(queue->contenders[0]->revoke_requested, 1);
    ASSERT_NUMBER(queue->contenders[0]->holds, 1);
    ASSERT_NUMBER(queue->contenders[1]->revoke_requested, 0);
    zkl_report_free(queue);
    CU_ASSERT_FALSE(process_has_answered(&next));
    assert_told_once_and_release(&hold);
    ASSERT_STATUS(process_answer(&next), ZKL_OK);
    process_end(&next);
    ASSERT_STATUS(revoke_node(&hold), ZKL_NO_NODE);
    hold_end(&hold);
}

static void grant_after_one_that_was_revoked_can_be_revoked_anew(void) {
    struct hold hold;
    hold_begin(&hold, "revoked-anew");
    ASSERT_STATUS(revoke_node(&hold), ZKL_OK);
    assert_told_once_and_release(&hold);
    ASSERT_STATUS(zkl_lock_acquire(hold.lock, ZKL_EXCLUSIVE, PATIENCE_MS, &hold.grant), ZKL_OK);
    STAYS(requests_told(&hold) == 1, QUIET_MS);
    ASSERT_STATUS(revoke_node(&hold), ZKL_OK);
    WAIT_UNTIL(requests_told(&hold) == 2);
    ASSERT_NUMBER(news_last(&hold.news).token, hold.grant.token);
    hold_end(&hold);
}

static void holder_that_is_revoked_while_it_is_cut_off_is_told_once_it_is_back(void) {
    static const struct proxy_plan plan = { { { PROXY_REQUEST_LOST, 1 } }, 1, true };
    struct hold hold;
    hold_begin(&hold, "revoked-away");
    WAIT_UNTIL(servers_watches(hold.grant.node) == 1); /* its own, which is set again */
    proxy_set_plan(hold.proxy, &plan);
    WAIT_UNTIL(!client_information(hold.client).connected); /* the next probe is cut */
    ASSERT_STATUS(revoke_node(&hold), ZKL_OK);
    STAYS(requests_told(&hold) == 0, QUIET_MS);
    (void)proxy_end_plan(hold.proxy);
    assert_told_once_and_release(&hold);
    hold_end(&hold);
}

/* ---- Parents that nobody needs
 * -------------------------------------------------------------------- */

enum { CROWD = 3, ROUNDS = 60, ALONE = 2 };

static bool all_have_answered(struct process *crowd, int count) {
    for (int i = 0; i < count; i++) {
        if (!process_has_answered(&crowd[i])) {
            return false;
        }
    }
    return true;
}

/* As often as it can be done. */
static size_t remove_until_all_have_answered(struct stage *stage, struct process *crowd,
                                             int count) {
    size_t removed = 0;
    while (!all_have_answered(crowd, count)) {
        removed += remove_idle(stage, 0);
    }
    return removed;
}

/* It comes by the test's word, and what it asks for is idle before. */
static size_t come_alone(struct stage *stage, struct process *alone, const char *command) {
    size_t removed = 0;
    int status = ZKL_OK;
    for (int i = 0; i < ROUNDS && status == ZKL_OK; i++) {
        removed += remove_idle(stage, 0);
        process_tell(alone, "%s\n", command);
        removed += remove_until_all_have_answered(stage, alone, 1);
        status = process_answer(alone);
        ASSERT_STATUS(status, ZKL_OK);
    }
    return removed;
}

static void assert_ledger(const char *ledger, int64_t wanted) {
    int64_t number = 0;
    CU_ASSERT_TRUE(ledger_look(ledger, &number));
    ASSERT_NUMBER(number, wanted);
    ledger_remove(ledger);
}

static void end_crowd(struct process *crowd, int count) {
    for (int i = 0; i < count; i++) {
        ASSERT_STATUS(process_answer(&crowd[i]), ZKL_OK);
        process_end(&crowd[i]);
    }
}

/* Two of them share a resource, and the third has one of its own. */
static void contenders_come_and_go_while_their_parents_are_removed(void) {
    static const char *const names[CROWD] = { "shared", "shared", "alone" };
    struct stage stage;
    struct process crowd[CROWD];
    char shared[64];
    char alone[64];
    char command[128];
    stage_begin(&stage, "parents");
    ledger_make(shared);
    ledger_make(alone);
    snprintf(command, sizeof command, "count %d 1 %s", (int)ZKL_EXCLUSIVE, alone);
    for (int i = 0; i < CROWD; i++) {
        start_process(&stage, &crowd[i], names[i], LONG_SESSION_MS);
    }
    for (int i = 0; i < ALONE; i++) {
        process_tell(&crowd[i], "count %d %d %s\n", (int)ZKL_EXCLUSIVE, ROUNDS, shared);
    }
    size_t removed = come_alone(&stage, &crowd[ALONE], command);
    removed += remove_until_all_have_answered(&stage, crowd, ALONE);
    CU_ASSERT_TRUE(removed > 0);
    end_crowd(crowd, ALONE);
    process_end(&crowd[ALONE]);
    assert_ledger(shared, ALONE * ROUNDS);
    assert_ledger(alone, ROUNDS);
    stage_end(&stage);
}

static void set_comes_and_goes_while_its_parents_are_removed(void) {
    struct stage stage;
    struct process alone;
    char ledger[64];
    char other[RESOURCE_SIZE];
    char command[256];
    stage_begin(&stage, "parents-both");
    ledger_make(ledger);
    start_process(&stage, &alone, "left", LONG_SESSION_MS);
    snprintf(command, sizeof command, "count_both %s 1 %s", path_of(&stage, "right", other),
             ledger);
    CU_ASSERT_TRUE(come_alone(&stage, &alone, command) > 0);
    process_end(&alone);
    assert_ledger(ledger, ROUNDS);
    stage_end(&stage);
}

static void parents_that_are_used_or_written_to_are_not_removed(void) {
    struct stage stage;
    struct process holder;
    char path[RESOURCE_SIZE];
    stage_begin(&stage, "parents-used");
    raw_make_with(stage.raw, path_of(&stage, "written", path), "0");
    make_parent(&stage, "idle");
    queue_process(&stage, &holder, "used", ZKL_EXCLUSIVE);
    zkl_report_free(describe_all(&stage, "used", 1));
    ASSERT_NUMBER(remove_idle(&stage, QUIET_MS), 1);
    zkl_resource_list *resources = list(&stage);
    ASSERT_NUMBER(resources->count, 2);
    zkl_report_free(resources);
    ASSERT_STATUS(process_answer(&holder), ZKL_OK);
    ASSERT_STATUS(process_release(&holder), ZKL_OK);
    process_end(&holder);
    raw_delete(stage.raw, path_of(&stage, "written", path));
    stage_end(&stage);
}

int main(int argc, char **argv) {
    static const struct test_case tests[] = {
        TEST_CASE(queue_of_four_processes_is_described_in_its_order),
        TEST_CASE(readers_who_are_let_in_are_described_as_holders),
        TEST_CASE(waiter_knows_its_position_in_a_queue_of_processes),
        TEST_CASE(resources_are_listed_by_name_with_their_contenders),
        TEST_CASE(deadlock_of_two_processes_is_found_until_one_of_them_dies),
        TEST_CASE(deadlock_of_three_processes_is_found_until_one_of_them_dies),
        TEST_CASE(circle_is_looked_at_anew_when_the_session_ends_between_the_looks),
        TEST_CASE(holder_whose_node_is_broken_is_told_and_the_next_has_the_lock),
        TEST_CASE(waiter_whose_node_is_broken_joins_the_queue_again_at_its_tail),
        TEST_CASE(holder_that_is_revoked_twice_is_told_once_and_releases),
        TEST_CASE(grant_after_one_that_was_revoked_can_be_revoked_anew),
        TEST_CASE(holder_that_is_revoked_while_it_is_cut_off_is_told_once_it_is_back),
        TEST_CASE(contenders_come_and_go_while_their_parents_are_removed),
        TEST_CASE(set_comes_and_goes_while_its_parents_are_removed),
        TEST_CASE(parents_that_are_used_or_written_to_are_not_removed),
    };
    return run_tests(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
