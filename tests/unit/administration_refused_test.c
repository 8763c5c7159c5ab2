/* zklock/administration.h where a node of others may not be read: it is skipped and named, and the
 * others are looked at. On simulated servers. */
#include <stdio.h>
#include <string.h>

#include "base/threads.h"
#include "support/unit.h"
#include "testing/ensemble.h"
#include "testing/world.h"
#include "zklock/administration.h"

enum { US_PER_MS = 1000, WITHIN_MS = 60000 };

static zkl_ensemble *ensemble;
static zkl_client *client;

static void create(int64_t session_id, const char *path, const char *data) {
    EXPECT_INT(
        zkl_ensemble_create(ensemble, session_id, path, data, session_id != 0, false, NULL, 0),
        ZKL_SERVER_ERROR_NONE);
    zkl_world_sleep_us((int64_t)100 * US_PER_MS); /* until all servers know of it */
}

static void make(const char *path) {
    create(0, path, NULL);
}

static void begin(uint64_t seed) {
    zkl_world_begin(seed);
    zkl_ensemble_options options = zkl_ensemble_defaults();
    ensemble = zkl_ensemble_begin(&options);
    EXPECT_INT(zkl_client_open("server:2181", NULL, &client), ZKL_OK);
    make("/locks");
    make("/locks/a");
    make("/locks/b");
}

static void end(void) {
    EXPECT_INT(zkl_client_close(client, WITHIN_MS), ZKL_OK);
    zkl_ensemble_end();
    zkl_world_end();
}

static void hide(const char *path) {
    zkl_ensemble_withhold(ensemble, path, ZKL_RIGHT_READ, ZKL_FOREVER);
}

/* The names of contenders are short here: "x-lock-0000000001". */
static void add_contender(int64_t session_id, const char *path) {
    create(session_id, path, "owner=1\n");
}

/* Two sessions that wait for each other. */
static void add_circle(void) {
    int64_t one = zkl_ensemble_make_session(ensemble);
    int64_t two = zkl_ensemble_make_session(ensemble);
    add_contender(one, "/locks/a/x-lock-0000000001");
    add_contender(two, "/locks/b/x-lock-0000000001");
    add_contender(one, "/locks/b/x-lock-0000000002");
    add_contender(two, "/locks/a/x-lock-0000000002");
}

static void expect_message(const char *expected) {
    EXPECT_TEXT(zkl_error_message(), expected);
}

TEST(resource_that_may_not_be_read_is_listed_with_its_status) {
    begin(1);
    zkl_resource_list *list = NULL;
    make("/locks/c");
    add_contender(zkl_ensemble_make_session(ensemble), "/locks/c/x-lock-0000000001");
    hide("/locks/b");
    EXPECT_INT(zkl_resources_list(client, WITHIN_MS, &list), ZKL_NO_PERMISSION);
    expect_message("path \"/locks/b\": the servers refused the request");
    EXPECT_INT(list->count, 3);
    EXPECT_TEXT(list->resources[1]->name, "b");
    EXPECT_INT(list->resources[1]->status, ZKL_NO_PERMISSION);
    EXPECT_INT(list->resources[2]->status, ZKL_OK);
    EXPECT_INT(list->resources[2]->contenders, 1);
    zkl_report_free(list);
    hide("/locks/c");
    EXPECT_INT(zkl_resources_list(client, WITHIN_MS, &list), ZKL_NO_PERMISSION);
    expect_message("path \"/locks/b\": the servers refused the request, and 1 more");
    zkl_report_free(list);
    hide("/locks");
    EXPECT_INT(zkl_resources_list(client, WITHIN_MS, &list), ZKL_NO_PERMISSION);
    EXPECT(list == NULL);
    end();
}

TEST(contender_that_may_not_be_read_keeps_its_place_in_the_queue) {
    begin(2);
    zkl_queue *queue = NULL;
    add_circle();
    hide("/locks/a/x-lock-0000000001");
    EXPECT_INT(zkl_queue_describe(client, "a", WITHIN_MS, &queue), ZKL_NO_PERMISSION);
    expect_message("path \"/locks/a/x-lock-0000000001\": the servers refused the request");
    EXPECT_INT(queue->count, 2);
    const zkl_contender *hidden = queue->contenders[0];
    EXPECT_TEXT(hidden->node, "x-lock-0000000001");
    EXPECT(hidden->holds == 1 && hidden->age_ms == 0 && hidden->token == 0);
    EXPECT_TEXT(hidden->identity.owner, "");
    EXPECT_INT(hidden->status, ZKL_NO_PERMISSION);
    EXPECT_TEXT(queue->contenders[1]->waits_for, hidden->node);
    EXPECT_TEXT(queue->contenders[1]->identity.owner, "1");
    EXPECT_INT(queue->contenders[1]->status, ZKL_OK);
    zkl_report_free(queue);
    end();
}

TEST(circle_is_found_beside_what_may_not_be_read) {
    begin(3);
    zkl_deadlocks *deadlocks = NULL;
    add_circle();
    make("/locks/c");
    add_contender(zkl_ensemble_make_session(ensemble), "/locks/b/x-lock-0000000003");
    hide("/locks/b/x-lock-0000000003");
    hide("/locks/c");
    EXPECT_INT(zkl_deadlocks_find(client, WITHIN_MS, &deadlocks), ZKL_NO_PERMISSION);
    expect_message("path \"/locks/c\": the servers refused the request");
    EXPECT_INT(deadlocks->count, 1);
    EXPECT_INT(deadlocks->deadlocks[0]->length, 2);
    EXPECT_INT(deadlocks->skipped_count, 2);
    EXPECT_TEXT(deadlocks->skipped[0], "c");
    EXPECT_TEXT(deadlocks->skipped[1], "b/x-lock-0000000003");
    EXPECT(deadlocks->skipped[2] == NULL);
    zkl_report_free(deadlocks);
    end();
}

/* The nodes of two sessions have one owner where neither can be read. */
TEST(no_circle_is_made_of_nodes_that_may_not_be_read) {
    begin(4);
    zkl_deadlocks *deadlocks = NULL;
    int64_t one = zkl_ensemble_make_session(ensemble);
    add_contender(one, "/locks/a/x-lock-0000000001");
    add_contender(zkl_ensemble_make_session(ensemble), "/locks/a/x-lock-0000000002");
    add_contender(zkl_ensemble_make_session(ensemble), "/locks/b/x-lock-0000000001");
    add_contender(one, "/locks/b/x-lock-0000000002");
    hide("/locks/a/x-lock-0000000002");
    hide("/locks/b/x-lock-0000000001");
    EXPECT_INT(zkl_deadlocks_find(client, WITHIN_MS, &deadlocks), ZKL_NO_PERMISSION);
    EXPECT_INT(deadlocks->count, 0);
    EXPECT_INT(deadlocks->skipped_count, 2);
    zkl_report_free(deadlocks);
    end();
}

static void *hide_in_a_task(void *arg) {
    zkl_world_sleep_us((int64_t)zkl_world_random(4000));
    hide(arg);
    return NULL;
}

TEST(node_that_may_not_be_read_any_more_at_the_second_look_ends_its_circle_only) {
    static char path[] = "/locks/b/x-lock-0000000002";
    size_t hidden_between = 0;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        begin(seed);
        zkl_deadlocks *deadlocks = NULL;
        pthread_t task;
        add_circle();
        EXPECT(zkl_thread_start(&task, hide_in_a_task, path));
        int status = zkl_deadlocks_find(client, WITHIN_MS, &deadlocks);
        EXPECT(deadlocks != NULL && (status == ZKL_OK || deadlocks->skipped_count == 1));
        hidden_between += status == ZKL_OK && deadlocks->count == 0 ? 1 : 0;
        zkl_report_free(deadlocks);
        zkl_thread_join(task);
        end();
    }
    EXPECT(hidden_between > 0);
}

TEST(idle_parents_beside_one_that_may_not_be_read_are_removed) {
    begin(5);
    zkl_resource_list *removed = NULL;
    make("/locks/c");
    hide("/locks/b");
    EXPECT_INT(zkl_parents_remove_idle(client, 1000, WITHIN_MS, 0, &removed), ZKL_NO_PERMISSION);
    expect_message("path \"/locks/b\": the servers refused the request");
    EXPECT_INT(removed->count, 2);
    EXPECT_TEXT(removed->resources[0]->name, "a");
    EXPECT_TEXT(removed->resources[1]->name, "c");
    zkl_report_free(removed);
    EXPECT(zkl_tree_find(zkl_ensemble_tree(ensemble), "/locks/b", ZKL_LATEST_ZXID) != NULL);
    end();
}
