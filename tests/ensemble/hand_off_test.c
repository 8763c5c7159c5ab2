/*
 * How many requests an acquire takes, and the hand-off: whoever waits is granted by the
 * word of the holder that releases, or, next in line, by the deletion of its node. Each of the
 * conditions of docs/internals/protocol.md meets the fault that it is for.
 */
#include "support/process.h"
#include "support/proxy.h"
#include "support/scene.h"
#include "support/servers.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

/* No probe of the session comes between the requests that are counted. */
#define QUIET_SESSION_MS 60000

/* For what must not happen; a wrong grant would come within a round trip. */
#define QUIET_MS 300

/* ---- Requests -------------------------------------------------------------- */

/* A client whose requests are counted, and another who competes with it. */
struct count {
    struct scene scene;
    struct proxy *proxy;
    zkl_client *client;
    zkl_client *others_client;
    zkl_lock *lock;
    zkl_lock *other;
};

/* The resource is there from now on: making it is not counted. */
static void count_begin(struct count *count, const char *stem) {
    scene_begin(&count->scene, stem);
    raw_make(count->scene.raw, "/locks");
    raw_make(count->scene.raw, count->scene.path);
    count->proxy = proxy_start(0);
    count->client = client_open(proxy_hosts(count->proxy), QUIET_SESSION_MS);
    count->others_client = client_open(servers_hosts(), LONG_SESSION_MS);
    count->lock = lock_open(count->client, count->scene.resource);
    count->other = lock_open(count->others_client, count->scene.resource);
}

static void count_end(struct count *count) {
    zkl_lock_close(count->lock);
    zkl_lock_close(count->other);
    client_close(count->client);
    client_close(count->others_client);
    proxy_stop(count->proxy);
    scene_end(&count->scene);
}

static void acquire_that_nobody_contends_takes_two_requests_and_its_release_one(void) {
    struct count count;
    count_begin(&count, "requests");
    for (int i = 0; i < 3; i++) {
        int before = proxy_requests(count.proxy);
        ASSERT_STATUS(zkl_lock_acquire(count.lock, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
        ASSERT_NUMBER(proxy_requests(count.proxy) - before, 2);
        ASSERT_STATUS(zkl_lock_release(count.lock, PATIENCE_MS), ZKL_OK);
        ASSERT_NUMBER(proxy_requests(count.proxy) - before, 3);
    }
    count_end(&count);
}

/* Create, list, and a watch on the holder's node and on its own. */
#define REQUESTS_TO_WAIT 4

static void hand_off_takes_no_request(const char *stem, zkl_mode holders, zkl_mode mode) {
    struct count count;
    struct waiter waiter;
    count_begin(&count, stem);
    ASSERT_STATUS(zkl_lock_acquire(count.other, holders, PATIENCE_MS, NULL), ZKL_OK);
    int before = proxy_requests(count.proxy);
    waiter_start(&waiter, count.lock, mode, PATIENCE_MS);
    WAIT_UNTIL(proxy_requests(count.proxy) - before == REQUESTS_TO_WAIT);
    WAIT_UNTIL(scene_watches(&count.scene) == 1);
    STAYS(!waiter_is_done(&waiter), QUIET_MS);
    ASSERT_STATUS(zkl_lock_release(count.other, PATIENCE_MS), ZKL_OK);
    ASSERT_STATUS(waiter_join(&waiter), ZKL_OK);
    STAYS(proxy_requests(count.proxy) - before == REQUESTS_TO_WAIT, QUIET_MS);
    ASSERT_STATUS(zkl_lock_check(count.lock, NULL), ZKL_OK);
    count_end(&count);
}

static void waiter_next_in_line_is_granted_with_no_further_request(void) {
    hand_off_takes_no_request("hand-off", ZKL_EXCLUSIVE, ZKL_EXCLUSIVE);
}

static void writer_behind_one_reader_is_granted_with_no_further_request(void) {
    hand_off_takes_no_request("hand-off-reader", ZKL_READ, ZKL_WRITE);
}

static void readers_behind_a_writer_are_granted_with_no_further_request(void) {
    hand_off_takes_no_request("hand-off-writer", ZKL_WRITE, ZKL_READ);
}

/* With two before it nobody is next in line: each release says so to the next. */
static void waiter_behind_a_queue_is_granted_with_no_further_request(void) {
    struct count count;
    struct waiter first;
    struct waiter second;
    count_begin(&count, "hand-off-queue");
    zkl_lock *between = lock_open(count.others_client, count.scene.resource);
    ASSERT_STATUS(zkl_lock_acquire(count.other, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
    waiter_start(&first, between, ZKL_EXCLUSIVE, PATIENCE_MS);
    WAIT_UNTIL(scene_queue(&count.scene) == 2);
    int before = proxy_requests(count.proxy);
    waiter_start(&second, count.lock, ZKL_EXCLUSIVE, PATIENCE_MS);
    WAIT_UNTIL(proxy_requests(count.proxy) - before == REQUESTS_TO_WAIT);
    ASSERT_STATUS(zkl_lock_release(count.other, PATIENCE_MS), ZKL_OK);
    ASSERT_STATUS(waiter_join(&first), ZKL_OK);
    STAYS(!waiter_is_done(&second), QUIET_MS);
    ASSERT_STATUS(zkl_lock_release(between, PATIENCE_MS), ZKL_OK);
    ASSERT_STATUS(waiter_join(&second), ZKL_OK);
    STAYS(proxy_requests(count.proxy) - before == REQUESTS_TO_WAIT, QUIET_MS);
    zkl_lock_close(between);
    count_end(&count);
}

/* ---- A fired watch that is no deletion --------------------------------------- */

static void data_of_the_blocker_changed_the_waiter_goes_on_waiting(void) {
    struct count count;
    struct waiter waiter;
    zkl_grant grant = ZKL_GRANT_INIT;
    count_begin(&count, "blocker-changed");
    zkl_client *client = client_open_unprotected(servers_hosts(), LONG_SESSION_MS);
    zkl_lock *lock = lock_open(client, count.scene.resource);
    ASSERT_STATUS(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, PATIENCE_MS, &grant), ZKL_OK);
    waiter_start(&waiter, count.lock, ZKL_EXCLUSIVE, PATIENCE_MS);
    for (int i = 0; i < 3; i++) {
        WAIT_UNTIL(scene_watches_on(&count.scene, grant.node) == 1);
        raw_write(count.scene.raw, grant.node, i);
    }
    WAIT_UNTIL(scene_watches_on(&count.scene, grant.node) == 1);
    STAYS(!waiter_is_done(&waiter), QUIET_MS);
    ASSERT_STATUS(zkl_lock_release(lock, PATIENCE_MS), ZKL_OK);
    ASSERT_STATUS(waiter_join(&waiter), ZKL_OK);
    zkl_lock_close(lock);
    client_close(client);
    count_end(&count);
}

/* ---- Curator's writer that becomes a reader ------------------------------------ */

#define CURATORS_WRITER "_c_0a1b2c3d-4e5f-4678-9abc-def012345678-__WRIT__"
#define CURATORS_READER "_c_1b2c3d4e-5f60-4789-abcd-ef0123456789-__READ__"

/* As Curator does it: the reader's node takes the sequence of the writer's, and
 * then the writer's goes. Nobody can have been between the two. */
static void downgrade(struct scene *scene, const char *writer, char *reader, size_t size) {
    char path[ZKL_NODE_PATH_SIZE];
    snprintf(path, sizeof path, "%s/" CURATORS_READER "%s", scene->path,
             writer + strlen(writer) - 10);
    raw_make_ephemeral(scene->raw, path, false, reader, size);
    raw_delete(scene->raw, writer);
}

static void curators_writer_enters(struct scene *scene, char *writer, size_t size) {
    char path[ZKL_NODE_PATH_SIZE];
    snprintf(path, sizeof path, "%s/" CURATORS_WRITER, scene->path);
    raw_make_ephemeral(scene->raw, path, true, writer, size);
}

static void writer_behind_a_curator_writer_that_becomes_a_reader_waits_for_the_reader(void) {
    struct count count;
    struct waiter waiter;
    char writer[ZKL_NODE_PATH_SIZE];
    char reader[ZKL_NODE_PATH_SIZE];
    count_begin(&count, "downgrade");
    curators_writer_enters(&count.scene, writer, sizeof writer);
    waiter_start(&waiter, count.lock, ZKL_WRITE, PATIENCE_MS);
    WAIT_UNTIL(scene_watches_on(&count.scene, writer) == 1);
    downgrade(&count.scene, writer, reader, sizeof reader);
    WAIT_UNTIL(waiter_is_done(&waiter) || scene_watches_on(&count.scene, reader) == 1);
    STAYS(!waiter_is_done(&waiter), QUIET_MS);
    raw_delete(count.scene.raw, reader);
    ASSERT_STATUS(waiter_join(&waiter), ZKL_OK);
    count_end(&count);
}

static void reader_behind_a_curator_writer_that_becomes_a_reader_is_granted(void) {
    struct count count;
    struct waiter waiter;
    char writer[ZKL_NODE_PATH_SIZE];
    char reader[ZKL_NODE_PATH_SIZE];
    count_begin(&count, "downgrade-reader");
    curators_writer_enters(&count.scene, writer, sizeof writer);
    waiter_start(&waiter, count.lock, ZKL_READ, PATIENCE_MS);
    WAIT_UNTIL(scene_watches_on(&count.scene, writer) == 1);
    downgrade(&count.scene, writer, reader, sizeof reader);
    ASSERT_STATUS(waiter_join(&waiter), ZKL_OK);
    raw_delete(count.scene.raw, reader);
    count_end(&count);
}

/* ---- A waiter that is not what it was ------------------------------------------- */

/* A holder, a process that waits right behind it, and another contender. */
struct sleeper {
    struct scene scene;
    zkl_client *client;
    zkl_lock *holder;
    zkl_lock *lock;
    struct waiter other;
    struct process process;
};

struct tally {
    int64_t session_id;
    int watches;
};

static void count_if_of_session(void *arg, const char *node, int64_t session_id) {
    struct tally *tally = arg;
    (void)node;
    tally->watches += session_id == tally->session_id;
}

static int watches_of_the_process(struct sleeper *sleeper) {
    struct tally tally = { sleeper->process.session_id, 0 };
    servers_visit_watches(sleeper->scene.path, count_if_of_session, &tally);
    return tally.watches;
}

static void sleeper_begin(struct sleeper *sleeper, const char *stem, int32_t session_timeout_ms) {
    scene_begin(&sleeper->scene, stem);
    const struct process_options options = {
        .hosts = servers_hosts(),
        .resource = sleeper->scene.resource,
        .session_timeout_ms = session_timeout_ms,
    };
    sleeper->client = client_open(servers_hosts(), LONG_SESSION_MS);
    sleeper->holder = lock_open(sleeper->client, sleeper->scene.resource);
    sleeper->lock = lock_open(sleeper->client, sleeper->scene.resource);
    ASSERT_STATUS(zkl_lock_acquire(sleeper->holder, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
    process_start(&sleeper->process, &options);
    process_tell(&sleeper->process, "acquire %d %d\n", (int)ZKL_EXCLUSIVE, 2 * PATIENCE_MS);
    WAIT_UNTIL(watches_of_the_process(sleeper) == 2); /* the holder's node, and its own */
    process_signal(&sleeper->process, SIGSTOP);
}

static void other_enters(struct sleeper *sleeper) {
    int queued = scene_queue(&sleeper->scene);
    waiter_start(&sleeper->other, sleeper->lock, ZKL_EXCLUSIVE, PATIENCE_MS);
    WAIT_UNTIL(scene_queue(&sleeper->scene) == queued + 1);
}

/* The process goes on while the other holds, and is granted after it. */
static void assert_the_process_waits_for_the_other(struct sleeper *sleeper) {
    zkl_grant grant;
    ASSERT_STATUS(waiter_join(&sleeper->other), ZKL_OK);
    process_signal(&sleeper->process, SIGCONT);
    WAIT_UNTIL(process_has_answered(&sleeper->process) || scene_queue(&sleeper->scene) == 2);
    STAYS(!process_has_answered(&sleeper->process), QUIET_MS);
    ASSERT_STATUS(zkl_lock_check(sleeper->lock, NULL), ZKL_OK);
    ASSERT_STATUS(zkl_lock_release(sleeper->lock, PATIENCE_MS), ZKL_OK);
    ASSERT_STATUS(process_answer_grant(&sleeper->process, &grant), ZKL_OK);
    CU_ASSERT_TRUE(grant.token > sleeper->other.grant.token);
}

static void sleeper_end(struct sleeper *sleeper) {
    process_end(&sleeper->process);
    zkl_lock_close(sleeper->lock);
    zkl_lock_close(sleeper->holder);
    client_close(sleeper->client);
    scene_end(&sleeper->scene);
}

/* It reads both pieces of news at once: its node is gone, then its blocker's. */
static void waiter_whose_node_was_deleted_is_not_handed_what_another_was_granted(void) {
    struct sleeper sleeper;
    sleeper_begin(&sleeper, "deleted-waiter", QUIET_SESSION_MS);
    raw_delete_last_child(sleeper.scene.raw, sleeper.scene.path);
    other_enters(&sleeper);
    ASSERT_STATUS(zkl_lock_release(sleeper.holder, PATIENCE_MS), ZKL_OK);
    assert_the_process_waits_for_the_other(&sleeper);
    sleeper_end(&sleeper);
}

/* The lock was its own while it was stopped, until its session expired. The news
 * of that lies before the news of the expiry. */
static void waiter_stopped_past_its_session_is_not_handed_what_another_was_granted(void) {
    struct sleeper sleeper;
    sleeper_begin(&sleeper, "stopped-waiter", SHORT_SESSION_MS);
    other_enters(&sleeper);
    ASSERT_STATUS(zkl_lock_release(sleeper.holder, PATIENCE_MS), ZKL_OK);
    assert_the_process_waits_for_the_other(&sleeper);
    sleeper_end(&sleeper);
}

int main(int argc, char **argv) {
    static const struct test_case tests[] = {
        TEST_CASE(acquire_that_nobody_contends_takes_two_requests_and_its_release_one),
        TEST_CASE(waiter_next_in_line_is_granted_with_no_further_request),
        TEST_CASE(writer_behind_one_reader_is_granted_with_no_further_request),
        TEST_CASE(readers_behind_a_writer_are_granted_with_no_further_request),
        TEST_CASE(waiter_behind_a_queue_is_granted_with_no_further_request),
        TEST_CASE(data_of_the_blocker_changed_the_waiter_goes_on_waiting),
        TEST_CASE(writer_behind_a_curator_writer_that_becomes_a_reader_waits_for_the_reader),
        TEST_CASE(reader_behind_a_curator_writer_that_becomes_a_reader_is_granted),
        TEST_CASE(waiter_whose_node_was_deleted_is_not_handed_what_another_was_granted),
        TEST_CASE(waiter_stopped_past_its_session_is_not_handed_what_another_was_granted),
    };
    return run_tests(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
