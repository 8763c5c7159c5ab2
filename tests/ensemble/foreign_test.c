/*
 * Children of a resource that are not ours: those that ask for nothing, those of
 * other libraries, those of nobody knows whom, and those with a name copied from
 * ours.
 */
#include "support/proxy.h"
#include "support/scene.h"
#include "support/servers.h"

#include <stdio.h>
#include <string.h>

/* A reconnect takes a sixtieth of it. */
#define SESSION_MS 6000
/* For what must not happen; it would come within a round trip. */
#define QUIET_MS 300
#define PATH_SIZE 1024

/* ---- The stage ---------------------------------------------------------- */

/* What is logged of children of unknown kind. */
struct log {
    pthread_mutex_t mutex;
    int records;
    char behind[64];
};

/* A client behind a proxy, and foreign children beside its own. */
struct stage {
    struct scene scene; /* its raw handle is the foreigner */
    struct log log;
    struct proxy *proxy;
    zkl_client *client;
    zkl_client *others_client;
    zkl_lock *lock;
    zkl_lock *other;
};

static void note(void *arg, const zkl_log_record *record) {
    struct log *log = arg;
    if (record->event == ZKL_LOG_UNKNOWN_CHILD) {
        pthread_mutex_lock(&log->mutex);
        log->records++;
        snprintf(log->behind, sizeof log->behind, "%s", record->behind);
        pthread_mutex_unlock(&log->mutex);
    }
}

static void stage_begin(struct stage *stage, const char *stem) {
    scene_begin(&stage->scene, stem);
    pthread_mutex_init(&stage->log.mutex, NULL);
    stage->log.records = 0;
    stage->log.behind[0] = '\0';
    raw_make(stage->scene.raw, "/locks");
    raw_make(stage->scene.raw, stage->scene.path);
    stage->proxy = proxy_start(0);
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    options.session_timeout_ms = SESSION_MS;
    options.log_callback = note;
    options.log_arg = &stage->log;
    ASSERT_STATUS(zkl_client_open(proxy_hosts(stage->proxy), &options, &stage->client), ZKL_OK);
    stage->others_client = client_open(servers_hosts(), LONG_SESSION_MS);
    stage->lock = lock_open(stage->client, stage->scene.resource);
    stage->other = lock_open(stage->others_client, stage->scene.resource);
}

/* Ends the client, after which its log is complete. */
static void stage_end(struct stage *stage, int unknown_children_logged) {
    zkl_lock_close(stage->lock);
    zkl_lock_close(stage->other);
    client_close(stage->client);
    client_close(stage->others_client);
    proxy_stop(stage->proxy);
    ASSERT_NUMBER(stage->log.records, unknown_children_logged);
    pthread_mutex_destroy(&stage->log.mutex);
    scene_end(&stage->scene);
}

static void path_of(const struct stage *stage, const char *name, char path[PATH_SIZE]) {
    snprintf(path, PATH_SIZE, "%s/%s", stage->scene.path, name);
}

/* Whether the servers take such a name. */
static bool make_child(struct stage *stage, const char *name, int flags) {
    char path[PATH_SIZE];
    path_of(stage, name, path);
    int rc = raw_create(stage->scene.raw, path, flags);
    CU_ASSERT_TRUE(rc == ZOK || rc == ZBADARGUMENTS);
    return rc == ZOK;
}

static bool has_child(struct stage *stage, const char *name) {
    char path[PATH_SIZE];
    struct Stat stat;
    path_of(stage, name, path);
    return raw_stat(stage->scene.raw, path, &stat);
}

static void delete_child(struct stage *stage, const char *name) {
    char path[PATH_SIZE];
    path_of(stage, name, path);
    raw_delete(stage->scene.raw, path);
}

static void make_present(struct stage *stage, const char *name, int flags) {
    CU_ASSERT_TRUE(make_child(stage, name, flags));
}

static void acquire_and_release(zkl_lock *lock, zkl_mode mode) {
    ASSERT_STATUS(zkl_lock_acquire(lock, mode, 0, NULL), ZKL_OK);
    ASSERT_STATUS(zkl_lock_release(lock, PATIENCE_MS), ZKL_OK);
}

/* ---- Children that are no requests -------------------------------------- */

/* Nobody is in the way of anybody, but those who ask. */
static void assert_only_requests_count(struct stage *stage) {
    struct waiter waiter;
    zkl_grant grant = ZKL_GRANT_INIT;
    acquire_and_release(stage->lock, ZKL_EXCLUSIVE);
    acquire_and_release(stage->lock, ZKL_WRITE);
    acquire_and_release(stage->lock, ZKL_READ);
    ASSERT_STATUS(zkl_lock_acquire(stage->other, ZKL_WRITE, PATIENCE_MS, &grant), ZKL_OK);
    ASSERT_STATUS(zkl_lock_acquire(stage->lock, ZKL_READ, 0, NULL), ZKL_BUSY);
    waiter_start(&waiter, stage->lock, ZKL_READ, PATIENCE_MS);
    WAIT_UNTIL(scene_watches_on(&stage->scene, grant.node) == 1);
    ASSERT_NUMBER(scene_watches(&stage->scene), 1);
    ASSERT_STATUS(zkl_lock_release(stage->other, PATIENCE_MS), ZKL_OK);
    ASSERT_STATUS(waiter_join(&waiter), ZKL_OK);
    ASSERT_STATUS(zkl_lock_release(stage->lock, PATIENCE_MS), ZKL_OK);
}

/* Each of them is near to a name that means something. */
static const char *const no_requests[] = {
    "config",
    "lock-",
    "_c_",
    "-",
    "0",
    "_c_6ba7b810-9dad-41d1-80b4-00c04fd430c8",
    "_c_6ba7b810-9dad-41d1-80b4-00c04fd430c8-lock-",
    "_c_6ba7b810-9dad-41d1-80b4-00c04fd430c8-lock-000000001",
    "_c_6ba7b810-9dad-41d1-80b4-00c04fd430c8-lock-000000000x",
    "_c_6ba7b810-9dad-41d1-80b4-00c04fd430c8-__READ__",
    "lock-9999999999",
    "lock-2147483648",
    "lock-+000000001",
    "lock- 000000001",
    "lock-0x00000001",
    "lock-0000000001 ",
    "0000000001.",
    "lock-\xef\xbc\x90\xef\xbc\x90\xef\xbc\x90\xef\xbc\x90\xef\xbc\x90",
    "%s%n%d",
    "caf\xc3\xa9 cr\xc3\xa8me",
    "...",
};

#define NO_REQUESTS ((int)(sizeof no_requests / sizeof no_requests[0]))

static void children_without_a_sequence_are_ignored_and_left_alone(void) {
    struct stage stage;
    stage_begin(&stage, "no-sequence");
    for (int i = 0; i < NO_REQUESTS; i++) {
        make_present(&stage, no_requests[i], i % 2 == 0 ? ZOO_PERSISTENT : ZOO_EPHEMERAL);
    }
    assert_only_requests_count(&stage);
    ASSERT_NUMBER(scene_queue(&stage.scene), NO_REQUESTS);
    for (int i = 0; i < NO_REQUESTS; i++) {
        delete_child(&stage, no_requests[i]);
    }
    stage_end(&stage, 0);
}

/* A name with the byte in the middle; false where that makes two names. */
static bool name_with(int byte, char name[16]) {
    snprintf(name, 16, "a%cz", byte);
    return byte != '/';
}

static void children_with_any_byte_that_the_servers_take_are_ignored(void) {
    struct stage stage;
    char name[16];
    bool is_taken[256] = { false };
    int taken = 0;
    stage_begin(&stage, "any-byte");
    for (int byte = 1; byte <= 255; byte++) {
        is_taken[byte] = name_with(byte, name) && make_child(&stage, name, ZOO_EPHEMERAL);
        taken += is_taken[byte] ? 1 : 0;
    }
    CU_ASSERT_TRUE(taken >= '~' - ' '); /* of those that can be printed all but the slash */
    ASSERT_NUMBER(scene_queue(&stage.scene), taken);
    assert_only_requests_count(&stage);
    ASSERT_NUMBER(scene_queue(&stage.scene), taken);
    for (int byte = 1; byte <= 255; byte++) {
        if (is_taken[byte] && name_with(byte, name)) {
            delete_child(&stage, name);
        }
    }
    stage_end(&stage, 0);
}

static void child_with_a_very_long_name_is_ignored(void) {
    struct stage stage;
    char name[PATH_SIZE / 2 + 1];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    stage_begin(&stage, "long-name");
    make_present(&stage, name, ZOO_EPHEMERAL);
    assert_only_requests_count(&stage);
    CU_ASSERT_TRUE(has_child(&stage, name));
    delete_child(&stage, name);
    stage_end(&stage, 0);
}

/* The nested ones have names of requests, but are no children of the resource. */
static void nodes_nested_below_a_child_are_ignored_and_left_alone(void) {
    static const char *const nested[] = {
        "inner",
        "inner/_c_6ba7b810-9dad-41d1-80b4-00c04fd430c8-lock-0000000000",
        "inner/deeper",
        "inner/deeper/lock-0000000000",
    };
    struct stage stage;
    stage_begin(&stage, "nested");
    for (int i = 0; i < 4; i++) {
        make_present(&stage, nested[i], ZOO_PERSISTENT);
    }
    assert_only_requests_count(&stage);
    for (int i = 3; i >= 0; i--) {
        CU_ASSERT_TRUE(has_child(&stage, nested[i]));
        delete_child(&stage, nested[i]);
    }
    stage_end(&stage, 0);
}

/* ---- Requests of others ------------------------------------------------- */

/* It waits until the child is deleted, by whoever made it. */
static void assert_blocks(struct stage *stage, const char *child, zkl_mode mode) {
    struct waiter waiter;
    char path[PATH_SIZE];
    path_of(stage, child, path);
    waiter_start(&waiter, stage->lock, mode, PATIENCE_MS);
    WAIT_UNTIL(scene_watches_on(&stage->scene, path) == 1);
    CU_ASSERT_FALSE(waiter_is_done(&waiter));
    CU_ASSERT_TRUE(has_child(stage, child));
    raw_delete(stage->scene.raw, path);
    ASSERT_STATUS(waiter_join(&waiter), ZKL_OK);
    ASSERT_STATUS(zkl_lock_release(stage->lock, PATIENCE_MS), ZKL_OK);
}

/* Made anew for each mode: its number is below that of any that comes. */
static void assert_blocks_all(struct stage *stage, const char *child, int flags) {
    static const zkl_mode modes[] = { ZKL_EXCLUSIVE, ZKL_READ, ZKL_WRITE };
    for (int i = 0; i < 3; i++) {
        make_present(stage, child, flags);
        assert_blocks(stage, child, modes[i]);
    }
}

static void child_of_unknown_kind_counts_as_exclusive_and_is_logged_once_by_each_request(void) {
    struct stage stage;
    stage_begin(&stage, "unknown-kind");
    assert_blocks_all(&stage, "mystery0000000000", ZOO_EPHEMERAL);
    assert_blocks_all(&stage, "mystery-0000000000", ZOO_EPHEMERAL);
    stage_end(&stage, 6);
    CU_ASSERT_STRING_EQUAL(stage.log.behind, "mystery-0000000000");
}

/* Each deletion makes it list again, and meet those that are left. */
static void many_children_of_unknown_kind_are_logged_once(void) {
    struct stage stage;
    struct waiter waiter;
    char name[32];
    stage_begin(&stage, "unknown-kinds");
    for (int i = 0; i < 5; i++) {
        snprintf(name, sizeof name, "mystery-%010d", i);
        make_present(&stage, name, ZOO_EPHEMERAL);
    }
    waiter_start(&waiter, stage.lock, ZKL_READ, PATIENCE_MS);
    for (int i = 4; i >= 0; i--) {
        char path[PATH_SIZE];
        snprintf(name, sizeof name, "mystery-%010d", i);
        path_of(&stage, name, path);
        WAIT_UNTIL(scene_watches_on(&stage.scene, path) == 1);
        CU_ASSERT_FALSE(waiter_is_done(&waiter));
        delete_child(&stage, name);
    }
    ASSERT_STATUS(waiter_join(&waiter), ZKL_OK);
    stage_end(&stage, 1);
}

static void child_of_unknown_kind_that_comes_later_blocks_nobody(void) {
    struct stage stage;
    stage_begin(&stage, "unknown-later");
    make_present(&stage, "mystery-2000000000", ZOO_EPHEMERAL);
    ASSERT_STATUS(zkl_lock_acquire(stage.lock, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
    ASSERT_STATUS(zkl_lock_release(stage.lock, PATIENCE_MS), ZKL_OK);
    CU_ASSERT_TRUE(has_child(&stage, "mystery-2000000000"));
    delete_child(&stage, "mystery-2000000000");
    stage_end(&stage, 0);
}

/* Nothing but an administrator ends it; it is a request all the same. */
static void persistent_child_with_a_sequence_blocks_until_it_is_deleted(void) {
    struct stage stage;
    stage_begin(&stage, "persistent");
    assert_blocks_all(&stage, "_c_6ba7b810-9dad-41d1-80b4-00c04fd430c8-lock-0000000000",
                      ZOO_PERSISTENT);
    stage_end(&stage, 0);
}

#define KAZOO_ID "6ba7b8109dad41d180b400c04fd430c8"

static void lock_of_kazoo_blocks_all_and_is_not_unknown(void) {
    struct stage stage;
    stage_begin(&stage, "kazoo-lock");
    assert_blocks_all(&stage, KAZOO_ID "__lock__0000000000", ZOO_EPHEMERAL);
    stage_end(&stage, 0);
}

static void read_lock_of_kazoo_blocks_all_but_readers_and_is_not_unknown(void) {
    static const char child[] = KAZOO_ID "__rlock__0000000000";
    struct stage stage;
    stage_begin(&stage, "kazoo-reader");
    make_present(&stage, child, ZOO_EPHEMERAL);
    acquire_and_release(stage.lock, ZKL_READ);
    assert_blocks(&stage, child, ZKL_WRITE);
    make_present(&stage, child, ZOO_EPHEMERAL);
    assert_blocks(&stage, child, ZKL_EXCLUSIVE);
    stage_end(&stage, 0);
}

static void lock_of_kazoo_behind_ours_is_left_alone(void) {
    struct stage stage;
    char path[PATH_SIZE];
    stage_begin(&stage, "kazoo-behind");
    path_of(&stage, KAZOO_ID "__lock__", path);
    ASSERT_STATUS(zkl_lock_acquire(stage.lock, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
    raw_make_many(stage.scene.raw, path, 1);
    ASSERT_STATUS(zkl_lock_release(stage.lock, PATIENCE_MS), ZKL_OK);
    ASSERT_NUMBER(scene_queue(&stage.scene), 1);
    ASSERT_STATUS(zkl_lock_acquire(stage.lock, ZKL_READ, 0, NULL), ZKL_BUSY);
    raw_delete_last_child(stage.scene.raw, stage.scene.path);
    stage_end(&stage, 0);
}

/* ---- Names copied from ours --------------------------------------------- */

/* Three: before ours, behind it, and of another kind. */
struct copies {
    char before[128];
    char behind[128];
    char other[128];
};

/* The one child that there is, of which the create's reply was lost. */
static void read_only_child(struct stage *stage, char name[128]) {
    struct String_vector names = { 0, NULL };
    raw_catch_up(stage->scene.raw);
    ASSERT_NUMBER(zoo_get_children(stage->scene.raw, stage->scene.path, 0, &names), ZOK);
    ASSERT_NUMBER(names.count, 1);
    snprintf(name, 128, "%s", names.count > 0 ? names.data[0] : "");
    deallocate_String_vector(&names);
}

static void copy_name_of(struct stage *stage, const char *name, struct copies *copies) {
    const int guid_part = (int)strlen("_c_6ba7b810-9dad-41d1-80b4-00c04fd430c8-");
    snprintf(copies->before, sizeof copies->before, "%.*slock-0000000000", guid_part, name);
    snprintf(copies->behind, sizeof copies->behind, "%.*slock-1000000000", guid_part, name);
    snprintf(copies->other, sizeof copies->other, "%.*s__READ__1000000001", guid_part, name);
    make_present(stage, copies->before, ZOO_EPHEMERAL);
    make_present(stage, copies->behind, ZOO_EPHEMERAL);
    make_present(stage, copies->other, ZOO_EPHEMERAL);
}

static void assert_copies_are_there_and_delete_them(struct stage *stage,
                                                    const struct copies *copies) {
    STAYS(scene_queue(&stage->scene) == 3, QUIET_MS);
    CU_ASSERT_TRUE(has_child(stage, copies->before));
    CU_ASSERT_TRUE(has_child(stage, copies->behind));
    CU_ASSERT_TRUE(has_child(stage, copies->other));
    delete_child(stage, copies->before);
    delete_child(stage, copies->behind);
    delete_child(stage, copies->other);
}

/* The create is applied, and its reply lost: it will look for its GUID. */
static void lose_the_reply_of_the_create(struct stage *stage, struct waiter *waiter,
                                         struct copies *copies) {
    static const struct proxy_plan plan = { { { PROXY_REPLY_LOST, 1 } }, 1, true };
    char own[128];
    acquire_and_release(stage->lock, ZKL_EXCLUSIVE); /* ours is not the first: one fits before */
    proxy_set_plan(stage->proxy, &plan);
    waiter_start(waiter, stage->lock, ZKL_EXCLUSIVE, PATIENCE_MS);
    WAIT_UNTIL(proxy_cuts_made(stage->proxy) == 1);
    read_only_child(stage, own);
    copy_name_of(stage, own, copies);
}

static void copies_of_our_guid_are_neither_taken_nor_deleted_when_a_reply_was_lost(void) {
    struct stage stage;
    struct waiter waiter;
    struct copies copies;
    struct Stat stat = { 0 };
    char before[PATH_SIZE];
    stage_begin(&stage, "copied-guid");
    lose_the_reply_of_the_create(&stage, &waiter, &copies);
    proxy_admit(stage.proxy);
    path_of(&stage, copies.before, before);
    WAIT_UNTIL(scene_watches_on(&stage.scene, before) == 1);
    STAYS(!waiter_is_done(&waiter), QUIET_MS);
    ASSERT_NUMBER(scene_queue(&stage.scene), 1 + 3);
    delete_child(&stage, copies.before);
    ASSERT_STATUS(waiter_join(&waiter), ZKL_OK);
    bool granted =
        waiter.grant.node[0] != '\0' && raw_stat(stage.scene.raw, waiter.grant.node, &stat);
    CU_ASSERT_TRUE(granted);
    ASSERT_NUMBER(stat.czxid, waiter.grant.token);
    ASSERT_NUMBER(stat.ephemeralOwner, client_information(stage.client).session_id);
    ASSERT_STATUS(zkl_lock_release(stage.lock, PATIENCE_MS), ZKL_OK);
    make_present(&stage, copies.before, ZOO_EPHEMERAL);
    assert_copies_are_there_and_delete_them(&stage, &copies);
    stage_end(&stage, 0);
}

static void copies_of_our_guid_are_not_deleted_by_a_cancel_after_a_lost_reply(void) {
    struct stage stage;
    struct waiter waiter;
    struct copies copies;
    stage_begin(&stage, "copied-cancel");
    lose_the_reply_of_the_create(&stage, &waiter, &copies);
    ASSERT_STATUS(zkl_lock_cancel(stage.lock), ZKL_OK);
    ASSERT_STATUS(waiter_join(&waiter), ZKL_CANCELLED);
    proxy_admit(stage.proxy);
    WAIT_UNTIL(scene_queue(&stage.scene) == 3);
    assert_copies_are_there_and_delete_them(&stage, &copies);
    stage_end(&stage, 0);
}

static void copies_of_our_guid_are_not_deleted_by_a_release(void) {
    struct stage stage;
    struct copies copies;
    zkl_grant grant = ZKL_GRANT_INIT;
    stage_begin(&stage, "copied-release");
    acquire_and_release(stage.lock, ZKL_EXCLUSIVE);
    ASSERT_STATUS(zkl_lock_acquire(stage.lock, ZKL_EXCLUSIVE, PATIENCE_MS, &grant), ZKL_OK);
    copy_name_of(&stage, strrchr(grant.node, '/') + 1, &copies);
    ASSERT_STATUS(zkl_lock_check(stage.lock, NULL), ZKL_OK);
    ASSERT_STATUS(zkl_lock_release(stage.lock, PATIENCE_MS), ZKL_OK);
    assert_copies_are_there_and_delete_them(&stage, &copies);
    stage_end(&stage, 0);
}

int main(int argc, char **argv) {
    static const struct test_case tests[] = {
        TEST_CASE(children_without_a_sequence_are_ignored_and_left_alone),
        TEST_CASE(children_with_any_byte_that_the_servers_take_are_ignored),
        TEST_CASE(child_with_a_very_long_name_is_ignored),
        TEST_CASE(nodes_nested_below_a_child_are_ignored_and_left_alone),
        TEST_CASE(child_of_unknown_kind_counts_as_exclusive_and_is_logged_once_by_each_request),
        TEST_CASE(many_children_of_unknown_kind_are_logged_once),
        TEST_CASE(child_of_unknown_kind_that_comes_later_blocks_nobody),
        TEST_CASE(persistent_child_with_a_sequence_blocks_until_it_is_deleted),
        TEST_CASE(lock_of_kazoo_blocks_all_and_is_not_unknown),
        TEST_CASE(read_lock_of_kazoo_blocks_all_but_readers_and_is_not_unknown),
        TEST_CASE(lock_of_kazoo_behind_ours_is_left_alone),
        TEST_CASE(copies_of_our_guid_are_neither_taken_nor_deleted_when_a_reply_was_lost),
        TEST_CASE(copies_of_our_guid_are_not_deleted_by_a_cancel_after_a_lost_reply),
        TEST_CASE(copies_of_our_guid_are_not_deleted_by_a_release),
    };
    return run_tests(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
