/*
 * Who sees whom: Curator's and kazoo's own locks, each in a process of its own, beside ours on the
 * same resource. docs/internals/protocol.md has the table. What does not see the other is granted
 * beside it: these tests are the counter-examples too.
 */
#include "support/process.h"
#include "support/scene.h"
#include "support/servers.h"

/* For what must not happen; it would come within a few round trips. */
#define QUIET_MS 500

enum { EXCLUSIVE, READ, WRITE, MODES };

static const zkl_mode modes[MODES] = { ZKL_EXCLUSIVE, ZKL_READ, ZKL_WRITE };

/* What another library's lock does while ours is held: its exclusive lock (Curator's
 * InterProcessMutex, kazoo's Lock), its reader, its writer. */
typedef bool expectation[MODES];

struct stage {
    struct scene scene;
    struct process other;
    zkl_client *client;
    zkl_lock *lock;
};

static void stage_begin(struct stage *stage, const char *stem) {
    scene_begin(&stage->scene, stem);
    stage->client = client_open(servers_hosts(), LONG_SESSION_MS);
    stage->lock = lock_open(stage->client, stage->scene.resource);
}

static void begin_with_curator(struct stage *stage, const char *stem) {
    stage_begin(stage, stem);
    process_start_curator(&stage->other, servers_hosts(), stage->scene.path);
}

static void begin_with_kazoo(struct stage *stage, const char *stem, char *const patterns[]) {
    stage_begin(stage, stem);
    process_start_kazoo(&stage->other, servers_hosts(), stage->scene.path, patterns);
}

static void stage_end(struct stage *stage) {
    process_end(&stage->other);
    zkl_lock_close(stage->lock);
    client_close(stage->client);
    scene_end(&stage->scene);
}

/* Ours is held, and the other asks for its own: by each of its modes. */
static void assert_waits_for_ours(struct stage *stage, zkl_mode ours, const expectation waits) {
    for (int theirs = EXCLUSIVE; theirs < MODES; theirs++) {
        zkl_grant grant = ZKL_GRANT_INIT;
        ASSERT_STATUS(zkl_lock_acquire(stage->lock, ours, PATIENCE_MS, NULL), ZKL_OK);
        int64_t timeout_ms = waits[theirs] ? QUIET_MS : PATIENCE_MS;
        int status = process_acquire(&stage->other, modes[theirs], timeout_ms, &grant);
        ASSERT_STATUS(status, waits[theirs] ? ZKL_TIMEOUT : ZKL_OK);
        ASSERT_STATUS(zkl_lock_verify(stage->lock, PATIENCE_MS), ZKL_OK);
        if (status == ZKL_OK) { /* both of them, at this moment */
            ASSERT_STATUS(process_release(&stage->other), ZKL_OK);
        }
        ASSERT_STATUS(zkl_lock_release(stage->lock, PATIENCE_MS), ZKL_OK);
        WAIT_UNTIL(scene_queue(&stage->scene) == 0);
    }
}

/* The other holds, and ours tries: it sees everything that has a sequence number. */
static void assert_ours_waits_for_all(struct stage *stage) {
    for (int theirs = EXCLUSIVE; theirs < MODES; theirs++) {
        zkl_grant grant = ZKL_GRANT_INIT;
        ASSERT_STATUS(process_acquire(&stage->other, modes[theirs], PATIENCE_MS, &grant), ZKL_OK);
        for (int ours = EXCLUSIVE; ours < MODES; ours++) {
            int expected = ours == READ && theirs == READ ? ZKL_OK : ZKL_BUSY;
            int status = zkl_lock_acquire(stage->lock, modes[ours], 0, NULL);
            ASSERT_STATUS(status, expected);
            if (status == ZKL_OK) {
                ASSERT_STATUS(zkl_lock_release(stage->lock, PATIENCE_MS), ZKL_OK);
            }
        }
        ASSERT_STATUS(process_release(&stage->other), ZKL_OK);
        WAIT_UNTIL(scene_queue(&stage->scene) == 0);
    }
}

/* ---- Ours ------------------------------------------------------------------------------- */

static void ours_waits_for_every_lock_of_curator(void) {
    struct stage stage;
    begin_with_curator(&stage, "ours-curator");
    assert_ours_waits_for_all(&stage);
    stage_end(&stage);
}

static void ours_waits_for_every_lock_of_kazoo(void) {
    struct stage stage;
    begin_with_kazoo(&stage, "ours-kazoo", (char *[]){ NULL });
    assert_ours_waits_for_all(&stage);
    stage_end(&stage);
}

/* ---- Curator ---------------------------------------------------------------------------- */

static void curators_mutex_sees_the_exclusive_lock_and_its_pair_does_not(void) {
    static const expectation waits = { true, false, false };
    struct stage stage;
    begin_with_curator(&stage, "curator-exclusive");
    assert_waits_for_ours(&stage, ZKL_EXCLUSIVE, waits);
    stage_end(&stage);
}

static void curators_pair_sees_the_writer_and_its_mutex_does_not(void) {
    static const expectation waits = { false, true, true };
    struct stage stage;
    begin_with_curator(&stage, "curator-write");
    assert_waits_for_ours(&stage, ZKL_WRITE, waits);
    stage_end(&stage);
}

static void curators_writer_sees_the_reader_and_its_mutex_does_not(void) {
    static const expectation waits = { false, false, true };
    struct stage stage;
    begin_with_curator(&stage, "curator-read");
    assert_waits_for_ours(&stage, ZKL_READ, waits);
    stage_end(&stage);
}

/* ---- kazoo ------------------------------------------------------------------------------ */

static char lock_pattern[] = "lock-";
static char reader_pattern[] = "__READ__";
static char writer_pattern[] = "__WRIT__";

static void kazoos_default_lock_is_granted_beside_ours(void) {
    static const expectation waits = { false, false, false };
    struct stage stage;
    begin_with_kazoo(&stage, "kazoo-default", (char *[]){ NULL });
    for (int ours = EXCLUSIVE; ours < MODES; ours++) {
        assert_waits_for_ours(&stage, modes[ours], waits);
    }
    stage_end(&stage);
}

static void kazoos_lock_with_our_pattern_waits_for_the_exclusive_lock(void) {
    static const expectation waits = { true, true, true };
    static const expectation does_not = { false, false, false };
    struct stage stage;
    begin_with_kazoo(&stage, "kazoo-lock", (char *[]){ lock_pattern, NULL });
    assert_waits_for_ours(&stage, ZKL_EXCLUSIVE, waits);
    assert_waits_for_ours(&stage, ZKL_WRITE, does_not);
    stage_end(&stage);
}

/* Its reader waits for ours too, as it cannot tell that they could share. */
static void kazoos_lock_with_all_our_patterns_waits_for_each_of_ours(void) {
    static const expectation waits = { true, true, true };
    struct stage stage;
    begin_with_kazoo(&stage, "kazoo-all",
                     (char *[]){ lock_pattern, reader_pattern, writer_pattern, NULL });
    for (int ours = EXCLUSIVE; ours < MODES; ours++) {
        assert_waits_for_ours(&stage, modes[ours], waits);
    }
    stage_end(&stage);
}

/* With all our patterns, and with none; and Curator's. */
static void permits_are_seen_by_none_of_them(void) {
    static const expectation waits = { false, false, false };
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    options.permits = 2;
    for (int library = 0; library < 2; library++) {
        struct stage stage;
        if (library == 0) {
            begin_with_curator(&stage, "permit-curator");
        } else {
            begin_with_kazoo(&stage, "permit-kazoo",
                             (char *[]){ lock_pattern, reader_pattern, writer_pattern, NULL });
        }
        zkl_lock_close(stage.lock);
        stage.lock = NULL;
        ASSERT_STATUS(zkl_lock_open(stage.client, stage.scene.resource, &options, &stage.lock),
                      ZKL_OK);
        assert_waits_for_ours(&stage, ZKL_EXCLUSIVE, waits);
        stage_end(&stage);
    }
}

static void exclusion_holds_between_kazoo_with_our_pattern_and_ours(void) {
    struct stage stage;
    struct waiter waiter;
    zkl_grant theirs = ZKL_GRANT_INIT;
    begin_with_kazoo(&stage, "kazoo-turns", (char *[]){ lock_pattern, NULL });
    for (int turn = 0; turn < 5; turn++) {
        ASSERT_STATUS(zkl_lock_acquire(stage.lock, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
        process_tell(&stage.other, "acquire %d %d\n", (int)ZKL_EXCLUSIVE, PATIENCE_MS);
        WAIT_UNTIL(scene_queue(&stage.scene) == 2);
        CU_ASSERT_FALSE(process_has_answered(&stage.other));
        ASSERT_STATUS(zkl_lock_release(stage.lock, PATIENCE_MS), ZKL_OK);
        ASSERT_STATUS(process_answer_grant(&stage.other, &theirs), ZKL_OK);
        waiter_start(&waiter, stage.lock, ZKL_EXCLUSIVE, PATIENCE_MS);
        WAIT_UNTIL(scene_queue(&stage.scene) == 2);
        CU_ASSERT_FALSE(waiter_is_done(&waiter));
        ASSERT_STATUS(process_release(&stage.other), ZKL_OK);
        ASSERT_STATUS(waiter_join(&waiter), ZKL_OK);
        ASSERT_STATUS(zkl_lock_release(stage.lock, PATIENCE_MS), ZKL_OK);
    }
    stage_end(&stage);
}

int main(int argc, char **argv) {
    static const struct test_case tests[] = {
        TEST_CASE(ours_waits_for_every_lock_of_curator),
        TEST_CASE(ours_waits_for_every_lock_of_kazoo),
        TEST_CASE(curators_mutex_sees_the_exclusive_lock_and_its_pair_does_not),
        TEST_CASE(curators_pair_sees_the_writer_and_its_mutex_does_not),
        TEST_CASE(curators_writer_sees_the_reader_and_its_mutex_does_not),
        TEST_CASE(kazoos_default_lock_is_granted_beside_ours),
        TEST_CASE(kazoos_lock_with_our_pattern_waits_for_the_exclusive_lock),
        TEST_CASE(kazoos_lock_with_all_our_patterns_waits_for_each_of_ours),
        TEST_CASE(permits_are_seen_by_none_of_them),
        TEST_CASE(exclusion_holds_between_kazoo_with_our_pattern_and_ours),
    };
    return run_tests(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
