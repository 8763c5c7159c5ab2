/* What the log callback is told of an acquisition. */
#include "support/scene.h"
#include "support/servers.h"

#include <stdio.h>
#include <string.h>

#define RECORDS 16
#define LABEL "logger 7"

/* A record, with copies of its strings. */
struct entry {
    zkl_log_event event;
    int status;
    int64_t waited_ms;
    int64_t held_ms;
    int64_t session_id;
    char owner[64];
    char node[256];
    char behind[128];
};

/* The records about one resource. */
struct journal {
    pthread_mutex_t mutex;
    const char *resource;
    int count;
    struct entry entries[RECORDS];
};

static void note(void *arg, const zkl_log_record *record) {
    struct journal *journal = arg;
    if (strcmp(record->resource, journal->resource) != 0) {
        return;
    }
    pthread_mutex_lock(&journal->mutex);
    if (journal->count < RECORDS) {
        struct entry *entry = &journal->entries[journal->count++];
        entry->event = record->event;
        entry->status = record->status;
        entry->waited_ms = record->waited_ms;
        entry->held_ms = record->held_ms;
        entry->session_id = record->session_id;
        snprintf(entry->owner, sizeof entry->owner, "%s", record->owner);
        snprintf(entry->node, sizeof entry->node, "%s", record->node);
        snprintf(entry->behind, sizeof entry->behind, "%s", record->behind);
    }
    pthread_mutex_unlock(&journal->mutex);
}

static zkl_client *open_logging_client(struct journal *journal) {
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    options.session_timeout_ms = LONG_SESSION_MS;
    options.label = LABEL;
    options.log_callback = note;
    options.log_arg = journal;
    options.log_level = ZKL_LOG_DEBUG;
    zkl_client *client = NULL;
    ASSERT_STATUS(zkl_client_open(servers_hosts(), &options, &client), ZKL_OK);
    return client;
}

/* What is meant of each event, and no other; after the client is closed. */
static void assert_events(const struct journal *journal, const zkl_log_event *wanted, int count) {
    ASSERT_NUMBER(journal->count, count);
    for (int i = 0; i < count && i < journal->count; i++) {
        CU_ASSERT_STRING_EQUAL(zkl_log_event_name((int)journal->entries[i].event),
                               zkl_log_event_name((int)wanted[i]));
        CU_ASSERT_STRING_EQUAL(journal->entries[i].owner, LABEL);
    }
}

static const char *name_of(const char *node) {
    const char *slash = strrchr(node, '/');
    return slash != NULL ? slash + 1 : node;
}

/* Someone holds the lock; the logging client wants it too. */
struct story {
    struct scene scene;
    struct journal journal;
    zkl_client *holders_client;
    zkl_client *client;
    zkl_lock *holder;
    zkl_lock *lock;
    zkl_grant holders_grant;
};

static void story_begin(struct story *story, const char *stem) {
    memset(story, 0, sizeof *story);
    scene_begin(&story->scene, stem);
    pthread_mutex_init(&story->journal.mutex, NULL);
    story->journal.resource = story->scene.resource;
    story->holders_client = client_open(servers_hosts(), LONG_SESSION_MS);
    story->client = open_logging_client(&story->journal);
    story->holder = lock_open(story->holders_client, story->scene.resource);
    story->lock = lock_open(story->client, story->scene.resource);
    story->holders_grant = (zkl_grant)ZKL_GRANT_INIT;
    ASSERT_STATUS(
        zkl_lock_acquire(story->holder, ZKL_EXCLUSIVE, PATIENCE_MS, &story->holders_grant), ZKL_OK);
}

/* Ends the logging client, after which its log is complete. */
static void story_end(struct story *story) {
    zkl_lock_close(story->lock);
    client_close(story->client);
    zkl_lock_close(story->holder);
    client_close(story->holders_client);
    pthread_mutex_destroy(&story->journal.mutex);
    scene_end(&story->scene);
}

static void log_tells_begin_queued_acquired_released_and_the_blocker(void) {
    static const zkl_log_event wanted[] = { ZKL_LOG_BEGIN, ZKL_LOG_QUEUED, ZKL_LOG_ACQUIRED,
                                            ZKL_LOG_RELEASED };
    struct story story;
    struct waiter waiter;
    story_begin(&story, "log");
    const struct entry *entries = story.journal.entries;
    int64_t session_id = client_information(story.client).session_id;
    waiter_start(&waiter, story.lock, ZKL_EXCLUSIVE, PATIENCE_MS);
    WAIT_UNTIL(scene_watches(&story.scene) == 1);
    ASSERT_STATUS(zkl_lock_release(story.holder, PATIENCE_MS), ZKL_OK);
    ASSERT_STATUS(waiter_join(&waiter), ZKL_OK);
    ASSERT_STATUS(zkl_lock_release(story.lock, PATIENCE_MS), ZKL_OK);
    story_end(&story);
    assert_events(&story.journal, wanted, 4);
    CU_ASSERT_STRING_EQUAL(entries[1].behind, name_of(story.holders_grant.node));
    CU_ASSERT_STRING_EQUAL(entries[1].node, waiter.grant.node);
    CU_ASSERT_STRING_EQUAL(entries[2].node, waiter.grant.node);
    CU_ASSERT_STRING_EQUAL(entries[2].behind, "");
    ASSERT_NUMBER(entries[2].waited_ms, waiter.grant.waited_ms);
    ASSERT_NUMBER(entries[2].session_id, session_id);
    ASSERT_STATUS(entries[3].status, ZKL_OK);
    CU_ASSERT_TRUE(entries[3].held_ms >= 0);
}

static void log_tells_why_an_acquire_gave_nothing(void) {
    static const zkl_log_event wanted[] = { ZKL_LOG_BEGIN, ZKL_LOG_QUEUED, ZKL_LOG_NOT_ACQUIRED };
    struct story story;
    story_begin(&story, "log-timeout");
    ASSERT_STATUS(zkl_lock_acquire(story.lock, ZKL_EXCLUSIVE, 500, NULL), ZKL_TIMEOUT);
    story_end(&story);
    assert_events(&story.journal, wanted, 3);
    ASSERT_STATUS(story.journal.entries[2].status, ZKL_TIMEOUT);
    CU_ASSERT_TRUE(story.journal.entries[2].waited_ms >= 500);
}

/* ---- Calls from the callback -------------------------------------------- */

struct intruder {
    _Atomic(zkl_lock *) lock;
    atomic_int acquire_status;
    atomic_int check_status;
};

static void block_in_the_callback(void *arg, const zkl_log_record *record) {
    struct intruder *intruder = arg;
    zkl_lock *lock = atomic_load(&intruder->lock);
    if (record->event == ZKL_LOG_ACQUIRED && lock != NULL) {
        atomic_store(&intruder->check_status, zkl_lock_check(lock, NULL));
        atomic_store(&intruder->acquire_status,
                     zkl_lock_acquire(lock, ZKL_EXCLUSIVE, ZKL_FOREVER, NULL));
    }
}

static void blocking_call_from_the_callback_is_refused(void) {
    struct scene scene;
    struct intruder intruder;
    scene_begin(&scene, "callback");
    atomic_init(&intruder.lock, NULL);
    atomic_init(&intruder.acquire_status, ZKL_OK);
    atomic_init(&intruder.check_status, ZKL_LOST);
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    options.log_callback = block_in_the_callback;
    options.log_arg = &intruder;
    options.log_level = ZKL_LOG_DEBUG;
    zkl_client *client = NULL;
    ASSERT_STATUS(zkl_client_open(servers_hosts(), &options, &client), ZKL_OK);
    zkl_lock *other = lock_open(client, scene.resource);
    zkl_lock *lock = lock_open(client, scene.resource);
    atomic_store(&intruder.lock, other);
    ASSERT_STATUS(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
    WAIT_UNTIL(atomic_load(&intruder.acquire_status) != ZKL_OK);
    ASSERT_STATUS(atomic_load(&intruder.acquire_status), ZKL_IN_CALLBACK);
    ASSERT_STATUS(atomic_load(&intruder.check_status), ZKL_NOT_HELD);
    zkl_lock_close(lock);
    zkl_lock_close(other);
    client_close(client);
    scene_end(&scene);
}

int main(int argc, char **argv) {
    static const struct test_case tests[] = {
        TEST_CASE(log_tells_begin_queued_acquired_released_and_the_blocker),
        TEST_CASE(log_tells_why_an_acquire_gave_nothing),
        TEST_CASE(blocking_call_from_the_callback_is_refused),
    };
    return run_tests(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
