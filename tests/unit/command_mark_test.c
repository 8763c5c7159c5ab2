/* The mark of `zklock once`, on simulated servers: what is due, and what a lost reply leaves. */
#include "mark.h"

#include <stdio.h>
#include <string.h>

#include "client/client.h"
#include "support/unit.h"
#include "testing/ensemble.h"
#include "testing/world.h"
#include "zklock/administration.h"

enum {
    US_PER_MS = 1000,
    TICK_MS = 200,
    SESSION_MS = 1200,
    ENOUGH_MS = 5000,
    TOOK_MS = 7,
    PERIOD_MS = 60000 /* longer than what a test does in one */
};

#define DAY_MS INT64_C(86400000)
#define MARK "/locks/job/done"

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

static mark_content read_mark(void) {
    mark_content content;
    EXPECT_INT(mark_read(&content, client, MARK), ZKL_OK);
    return content;
}

/* Goes on to just behind the begin of the next period. */
static void await_next_period(void) {
    EXPECT_INT(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, ENOUGH_MS, &grant), ZKL_OK);
    bool due = false;
    EXPECT_INT(mark_look(&found, client, &what, &grant, &due), ZKL_OK);
    leave();
    zkl_world_sleep_us((PERIOD_MS - found.asked_ms % PERIOD_MS) * US_PER_MS);
}

/* Makes a mark as somebody else does who may. */
static mark_content mark_of_a_stranger(const char *data) {
    zkl_transaction *transaction = NULL;
    (void)is_due(NULL);
    EXPECT_INT(zkl_transaction_begin(lock, &transaction), ZKL_OK);
    EXPECT_INT(zkl_transaction_create(transaction, MARK, data, strlen(data), ZKL_CREATE_PERSISTENT),
               ZKL_OK);
    EXPECT_INT(zkl_transaction_commit(transaction, ENOUGH_MS, NULL), ZKL_OK);
    zkl_transaction_free(transaction);
    leave();
    return read_mark();
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
    EXPECT_INT(mark_read(&read, client, MARK), ZKL_OK);
    mark_content first = read;
    EXPECT(first.exists && first.has_text && first.success.ended_ms >= first.asked_ms);
    EXPECT_TEXT(first.text, "a");
    EXPECT_INT(first.success.took_ms, TOOK_MS);
    EXPECT_INT(first.failure.ended_ms, 0);
    for (int status = 3; status < 5; status++) { /* a failure replaces that before it */
        EXPECT(is_due("b"));
        mark_write_failure(&found, lock, status, 2 * TOOK_MS);
        leave();
        EXPECT_INT(mark_read(&read, client, MARK), ZKL_OK);
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
    EXPECT_INT(mark_read(&read, client, MARK), ZKL_OK);
    EXPECT_INT(read.failure.ended_ms, 0);
    end();
}

TEST(job_that_has_only_failed_is_due) {
    mark_content read;
    begin();
    EXPECT(is_due(NULL));
    mark_write_failure(&found, lock, 1, TOOK_MS);
    leave();
    EXPECT_INT(mark_read(&read, client, MARK), ZKL_OK);
    EXPECT(read.exists && read.success.ended_ms == 0 && read.failure.ended_ms > 0);
    EXPECT(is_due_later("x"));
    EXPECT(is_due_later(NULL));
    end();
}

TEST(job_is_due_once_in_each_period) {
    begin();
    what.period_ms = PERIOD_MS;
    await_next_period();
    succeed(NULL);
    EXPECT(!is_due_later(NULL));
    what.period_ms = PERIOD_MS / 60000; /* another length counts from now on */
    EXPECT(is_due_later(NULL));
    what.period_ms = PERIOD_MS;
    EXPECT(!is_due_later(NULL));
    await_next_period();
    EXPECT(is_due_later(NULL));
    end();
}

TEST(failure_keeps_the_period_of_the_success_before) {
    begin();
    what.period_ms = PERIOD_MS;
    await_next_period();
    succeed(NULL);
    mark_content first = read_mark();
    EXPECT_INT(mark_due_ms(&first), (first.asked_ms / PERIOD_MS + 1) * PERIOD_MS);
    await_next_period();
    EXPECT(is_due(NULL));
    mark_write_failure(&found, lock, 1, TOOK_MS);
    leave();
    mark_content second = read_mark();
    EXPECT(!second.has_text && second.failure.ended_ms > first.success.ended_ms);
    EXPECT_INT(second.period_ms, PERIOD_MS);
    EXPECT_INT(second.success.took_ms, TOOK_MS);
    EXPECT_INT(mark_due_ms(&second), mark_due_ms(&first));
    EXPECT(is_due_later(NULL));
    end();
}

TEST(period_is_a_day_unless_it_is_given) {
    begin();
    succeed(NULL);
    mark_content read = read_mark();
    EXPECT_INT(read.period_ms, DAY_MS);
    EXPECT(read.success.host[0] != '\0');
    EXPECT(!is_due_later(NULL));
    zkl_world_sleep_us(DAY_MS * US_PER_MS);
    EXPECT(is_due_later(NULL));
    end();
}

TEST(what_a_stranger_has_marked_is_no_time_if_it_is_none) {
    static const char *const none[] = { "asked_ms=-5\n",     "asked_ms=253402300800000\n",
                                        "asked_ms=x\n",      "xasked_ms=5\n",
                                        "text=asked_ms=5\n", "" };
    for (size_t i = 0; i < COUNT_OF(none); i++) {
        begin();
        mark_content read = mark_of_a_stranger(none[i]);
        EXPECT(read.exists && read.success.ended_ms == 0 && read.failure.ended_ms == 0);
        EXPECT_INT(read.asked_ms, 0);
        EXPECT(is_due_later(NULL));
        end();
    }
    begin();
    mark_content read =
        mark_of_a_stranger("asked_ms=5\ntook_ms=-7\nfailed_took_ms=-1000\nfailed_status=2");
    EXPECT_INT(read.asked_ms, 5);
    EXPECT_INT(read.success.took_ms, -1);
    EXPECT_INT(read.failure.took_ms, -1);
    EXPECT_INT(read.failure.status, 2);
    EXPECT(read.success.ended_ms > 5 && read.success.ended_ms == read.failure.ended_ms);
    end();
}

TEST(text_of_a_mark_is_no_other_line_and_has_an_end) {
    enum { LONG = MARK_TEXT_MAX + 900 };
    static char data[LONG + 64] = "asked_ms=5\ntext=host=";
    begin();
    mark_content read = mark_of_a_stranger("asked_ms=5\ntext=host=x\nhost=y\n");
    EXPECT_TEXT(read.text, "host=x");
    EXPECT_TEXT(read.success.host, "y");
    end();
    begin();
    memset(data + strlen(data), 'x', LONG);
    read = mark_of_a_stranger(data);
    EXPECT_INT(strlen(read.text), MARK_TEXT_MAX);
    EXPECT_TEXT(read.success.host, "");
    end();
}

TEST(moment_of_an_unknown_success_is_never_due) {
    mark_content content = { .period_ms = DAY_MS };
    EXPECT_INT(mark_due_ms(&content), 0);
    content = (mark_content){ .asked_ms = 1 };
    EXPECT_INT(mark_due_ms(&content), 0);
}

TEST(lock_that_is_gone_before_the_look_is_lost) {
    bool due = false;
    begin();
    EXPECT_INT(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, ENOUGH_MS, &grant), ZKL_OK);
    EXPECT_INT(zkl_node_break(client, "job", strrchr(grant.node, '/') + 1, ENOUGH_MS), ZKL_OK);
    EXPECT_INT(mark_look(&found, client, &what, &grant, &due), ZKL_LOST);
    EXPECT(!due);
    (void)zkl_lock_release(lock, ENOUGH_MS);
    end();
}

TEST(next_period_begins_at_midnight_and_whole_weeks_on_a_monday) {
    mark_content content = { .asked_ms = 1795765004185, .period_ms = DAY_MS }; /* a Friday */
    EXPECT_INT(mark_due_ms(&content), 1795824000000);
    content.asked_ms = 1795824000000;
    EXPECT_INT(mark_due_ms(&content), 1795824000000 + DAY_MS);
    content.period_ms = 7 * DAY_MS;
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
    mark_write_failure(&found, lock, 1, TOOK_MS);
    EXPECT_INT(read_mark().failure.ended_ms, 0);
    (void)zkl_lock_release(lock, ENOUGH_MS);
    EXPECT(is_due_later("b"));
    end();
}
