/*
 * Curator's own InterProcessMutex, in a process of its own, on the same resource: each waits for
 * the other, and each asks the other for the lock.
 */
#include "support/news.h"
#include "support/process.h"
#include "support/scene.h"
#include "support/servers.h"

#include <string.h>
#include <zklock/administration.h>

/* For what must not happen; it would come within a round trip. */
#define QUIET_MS 300

/* Curator's contender, and a handle of ours that keeps its news. */
struct stage {
    struct scene scene;
    struct process curator;
    zkl_client *client;
    struct news news;
    zkl_lock *lock;
};

static void stage_begin(struct stage *stage, const char *stem) {
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    scene_begin(&stage->scene, stem);
    process_start_curator(&stage->curator, servers_hosts(), stage->scene.path);
    stage->client = client_open(servers_hosts(), LONG_SESSION_MS);
    news_begin(&stage->news);
    options.state_callback = news_callback;
    options.state_arg = &stage->news;
    options.revocable = 1;
    ASSERT_STATUS(zkl_lock_open(stage->client, stage->scene.resource, &options, &stage->lock),
                  ZKL_OK);
}

static void stage_end(struct stage *stage) {
    process_end(&stage->curator);
    zkl_lock_close(stage->lock);
    client_close(stage->client);
    news_end(&stage->news);
    scene_end(&stage->scene);
}

static int64_t curator_was_asked(struct stage *stage) {
    zkl_grant answer;
    process_tell(&stage->curator, "told revoked\n");
    ASSERT_STATUS(process_answer_grant(&stage->curator, &answer), ZKL_OK);
    return answer.token;
}

/* Of one that holds, by its own word and by that of the description. */
static void revoke_first(struct stage *stage, const char *node) {
    zkl_queue *queue = NULL;
    ASSERT_STATUS(zkl_queue_describe(stage->client, stage->scene.resource, PATIENCE_MS, &queue),
                  ZKL_OK);
    const zkl_contender *first = queue->contenders[0];
    if (first == NULL) {
        give_up("nobody is in the queue of %s", stage->scene.resource);
    }
    CU_ASSERT_STRING_EQUAL(first->node, strrchr(node, '/') + 1);
    ASSERT_NUMBER(first->mode, ZKL_EXCLUSIVE);
    ASSERT_NUMBER(first->holds, 1);
    ASSERT_NUMBER(first->session_id, stage->curator.session_id);
    ASSERT_STATUS(zkl_node_revoke(stage->client, stage->scene.resource, first->node, PATIENCE_MS),
                  ZKL_OK);
    zkl_report_free(queue);
}

static void curators_holder_is_asked_by_zklock_and_lets_it_in(void) {
    struct stage stage;
    struct waiter waiter;
    zkl_grant curators;
    stage_begin(&stage, "curator-holds");
    ASSERT_STATUS(process_acquire(&stage.curator, ZKL_EXCLUSIVE, PATIENCE_MS, &curators), ZKL_OK);
    waiter_start(&waiter, stage.lock, ZKL_EXCLUSIVE, PATIENCE_MS);
    WAIT_UNTIL(scene_watches_on(&stage.scene, curators.node) >= 1);
    ASSERT_NUMBER(curator_was_asked(&stage), 0);
    revoke_first(&stage, curators.node);
    WAIT_UNTIL(curator_was_asked(&stage) == 1);
    CU_ASSERT_FALSE(waiter_is_done(&waiter));
    ASSERT_STATUS(process_release(&stage.curator), ZKL_OK);
    ASSERT_STATUS(waiter_join(&waiter), ZKL_OK);
    stage_end(&stage);
}

static int requests_told(struct stage *stage) {
    return news_count(&stage->news, ZKL_STATE_REVOKE_REQUESTED);
}

static void zklocks_holder_is_asked_by_curator_and_lets_it_in(void) {
    struct stage stage;
    zkl_grant ours = ZKL_GRANT_INIT;
    zkl_grant curators;
    stage_begin(&stage, "zklock-holds");
    ASSERT_STATUS(zkl_lock_acquire(stage.lock, ZKL_EXCLUSIVE, PATIENCE_MS, &ours), ZKL_OK);
    ASSERT_STATUS(process_acquire(&stage.curator, ZKL_EXCLUSIVE, QUIET_MS, &curators), ZKL_TIMEOUT);
    ASSERT_NUMBER(requests_told(&stage), 0);
    process_tell(&stage.curator, "revoke %s\n", ours.node);
    ASSERT_STATUS(process_answer(&stage.curator), ZKL_OK);
    WAIT_UNTIL(requests_told(&stage) == 1);
    STAYS(requests_told(&stage) == 1, QUIET_MS);
    ASSERT_NUMBER(news_last(&stage.news).token, ours.token);
    process_tell(&stage.curator, "acquire %d %d\n", (int)ZKL_EXCLUSIVE, PATIENCE_MS);
    WAIT_UNTIL(scene_queue(&stage.scene) == 2);
    CU_ASSERT_FALSE(process_has_answered(&stage.curator));
    ASSERT_STATUS(zkl_lock_verify(stage.lock, PATIENCE_MS), ZKL_OK);
    ASSERT_STATUS(zkl_lock_release(stage.lock, PATIENCE_MS), ZKL_OK);
    ASSERT_STATUS(process_answer_grant(&stage.curator, &curators), ZKL_OK);
    ASSERT_STATUS(zkl_lock_acquire(stage.lock, ZKL_EXCLUSIVE, 0, NULL), ZKL_BUSY);
    ASSERT_STATUS(process_release(&stage.curator), ZKL_OK);
    stage_end(&stage);
}

int main(int argc, char **argv) {
    static const struct test_case tests[] = {
        TEST_CASE(curators_holder_is_asked_by_zklock_and_lets_it_in),
        TEST_CASE(zklocks_holder_is_asked_by_curator_and_lets_it_in),
    };
    return run_tests(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
