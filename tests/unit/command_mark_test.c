/* The mark of `zklock once`, on simulated servers: what is due, and what a lost reply leaves. */
#include "mark.h"

#include <stdio.h>
#include <string.h>

#include "client/client.h"
#include "support/unit.h"
#include "testing/ensemble.h"
#include "testing/world.h"
#include "zklock/administration.h"

enum { US_PER_MS = 1000, TICK_MS = 200, SESSION_MS = 1200, ENOUGH_MS = 5000, TOOK_MS = 7 };

static zkl_ensemble *ensemble;
static zkl_client *client;
static zkl_lock *lock;
static zkl_grant grant;
static job what;
static mark found;

static void begin(void) {
    zkl_world_begin(1);
    zkl_ensemble_options options = zkl_ensemble_defaults();
    options.tick_ms = TICK_MS;
    ensemble = zkl_ensemble_begin(&options);
    zkl_client_options client_options = ZKL_CLIENT_OPTIONS_INIT;
    client_options.session_timeout_ms = SESSION_MS;
    EXPECT_INT(zkl_client_open("server:2181", &client_options, &client), ZKL_OK);
    EXPECT_INT(zkl_lock_open(client, "job", NULL, &lock), ZKL_OK);
    what = (job){ .resources = { "job" }, .resource_count = 1 };
}

static void end(void) {
    zkl_lock_close(lock);
    EXPECT_INT(zkl_client_close(client, ENOUGH_MS), ZKL_OK);
    zkl_ensemble_end();
    zkl_world_end();
}

/* Under the lock, which is held from here on. */
static bool is_due(const char *text) {
    bool due = false;
    what.until_changed = text;
    grant = (zkl_grant)ZKL_GRANT_INIT;
    EXPECT_INT(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, ENOUGH_MS, &grant), ZKL_OK);
    EXPECT_INT(mark_look(&found, client, &what, &grant, &due), ZKL_OK);
    return due;
}

static void leave(void) {
    EXPECT_INT(zkl_lock_release(lock, ENOUGH_MS), ZKL_OK);
}

static void succeed(const char *text) {
    EXPECT(is_due(text));
    EXPECT_INT(mark_write(&found, client, &what, lock, TOOK_MS), ZKL_OK);
    leave();
}

static bool is_due_later(const char *text) {
    bool due = is_due(text);
    leave();
    return due;
}

TEST(job_is_due_again_with_any_other_text) {
    begin();
    succeed("1.10");
    EXPECT(!is_due_later("1.10"));
    EXPECT(is_due_later("1.1"));
    EXPECT(is_due_later("1.100"));
    EXPECT(is_due_later(""));
    end();
}

/* A mark that is there may be that of an earlier success. */
TEST(mark_whose_reply_is_lost_is_there_in_the_end) {
    static const zkl_cut cuts[] = { ZKL_CUT_REQUESTS_LOST, ZKL_CUT_WHEN_ANSWERED };
    for (size_t i = 0; i < COUNT_OF(cuts); i++) {
        begin();
        succeed("a");
        EXPECT(is_due("b"));
        zkl_ensemble_cut_next(ensemble, zkl_ensemble_session_at(ensemble, 0), ZKL_CALL_MULTI,
                              cuts[i], 0);
        EXPECT_INT(mark_write(&found, client, &what, lock, TOOK_MS), ZKL_OK);
        leave();
        EXPECT(!is_due_later("b"));
        end();
    }
}

TEST(success_is_read_back_and_kept_beside_a_failure) {
    mark_content read;
    begin();
    succeed("a");
    EXPECT_INT(mark_read(&read, client, "/locks/job/done"), ZKL_OK);
    mark_content first = read;
    EXPECT(first.exists && first.has_text && first.success.ended_ms >= first.asked_ms);
    EXPECT_TEXT(first.text, "a");
    EXPECT_INT(first.success.took_ms, TOOK_MS);
    EXPECT_INT(first.failure.ended_ms, 0);
    for (int status = 3; status < 5; status++) { /* a failure replaces that before it */
        EXPECT(is_due("b"));
        mark_write_failure(&found, lock, status, 2 * TOOK_MS);
        leave();
        EXPECT_INT(mark_read(&read, client, "/locks/job/done"), ZKL_OK);
        EXPECT_INT(read.failure.status, status);
        EXPECT_INT(read.failure.took_ms, 2 * TOOK_MS);
        EXPECT(read.failure.ended_ms >= first.success.ended_ms);
        EXPECT_INT(read.asked_ms, first.asked_ms);
        EXPECT_INT(read.token, first.token);
        EXPECT_TEXT(read.text, first.text);
        EXPECT_INT(read.success.ended_ms, first.success.ended_ms);
        EXPECT_TEXT(read.success.host, first.success.host);
    }
    EXPECT(!is_due_later("a"));
    succeed("b");
    EXPECT_INT(mark_read(&read, client, "/locks/job/done"), ZKL_OK);
    EXPECT_INT(read.failure.ended_ms, 0);
    end();
}

TEST(job_that_has_only_failed_is_due) {
    mark_content read;
    begin();
    EXPECT(is_due(NULL));
    mark_write_failure(&found, lock, 1, TOOK_MS);
    leave();
    EXPECT_INT(mark_read(&read, client, "/locks/job/done"), ZKL_OK);
    EXPECT(read.exists && read.success.ended_ms == 0 && read.failure.ended_ms > 0);
    EXPECT(is_due_later("x"));
    EXPECT(is_due_later(NULL));
    end();
}

TEST(next_period_begins_at_midnight_and_whole_weeks_on_a_monday) {
    const int64_t day_ms = 86400000;
    mark_content content = { .asked_ms = 1795765004185, .period_ms = day_ms }; /* a Friday */
    EXPECT_INT(mark_due_ms(&content), 1795824000000);
    content.asked_ms = 1795824000000;
    EXPECT_INT(mark_due_ms(&content), 1795824000000 + day_ms);
    content.period_ms = 7 * day_ms;
    EXPECT_INT(mark_due_ms(&content), 1795996800000);
    content.has_text = true;
    EXPECT_INT(mark_due_ms(&content), 0);
}

TEST(nothing_is_marked_without_the_lock) {
    begin();
    succeed("a");
    EXPECT(is_due("b"));
    EXPECT_INT(zkl_node_break(client, "job", strrchr(grant.node, '/') + 1, ENOUGH_MS), ZKL_OK);
    EXPECT_INT(mark_write(&found, client, &what, lock, TOOK_MS), ZKL_LOST);
    (void)zkl_lock_release(lock, ENOUGH_MS);
    EXPECT(is_due_later("b"));
    end();
}
