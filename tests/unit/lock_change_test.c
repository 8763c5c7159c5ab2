/*
 * Downgrades and upgrades of what is held, as stories on the simulated servers: beside others
 * that wait, with lost replies, and against release, loss and close.
 */
#include <stdio.h>
#include <string.h>

#include "client/client.h"
#include "support/relative.h"

enum { LONG_MS = 60000 };

static relative writer, reader, other;
static relative *const all[] = { &writer, &reader, &other };
static size_t opened;

static relative *open_one(relative *self, zkl_mode mode, const zkl_lock_options *options) {
    relative_open(self, mode, options);
    opened++;
    return self;
}

static void begin(void) {
    zkl_testing_begin(NULL);
    opened = 0;
}

static void end(void) {
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        if (all[i]->client != NULL && opened > 0) {
            relative_close(all[i]);
            all[i]->client = NULL;
            opened--;
        }
    }
    zkl_testing_expect_clean(RELATIVE_SESSION_MS);
    zkl_testing_sleep(RELATIVE_SOON_MS);
    EXPECT_INT(zkl_testing_count_sessions(), 0);
    zkl_testing_end();
}

static void begin_held(zkl_mode mode, const zkl_lock_options *options) {
    begin();
    open_one(&writer, mode, options);
    EXPECT_INT(relative_acquire(&writer, ZKL_FOREVER), ZKL_OK);
}

static zkl_lock_options reentrant(void) {
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    options.reentrant = 1;
    return options;
}

static void lose_next_multi(zkl_cut cut, int64_t late_us) {
    zkl_ensemble_cut_next(zkl_ensemble_current(), relative_session(&writer), ZKL_CALL_MULTI, cut,
                          late_us);
}

static void expect_holds_for_reading(int64_t token) {
    EXPECT_INT(relative_info(&writer).mode, ZKL_READ);
    EXPECT_INT(relative_info(&writer).token, token);
    EXPECT_INT(relative_info(&writer).state, ZKL_STATE_HELD);
    zkl_testing_sleep(RELATIVE_SOON_MS);
    EXPECT_INT(zkl_lock_verify(writer.lock, LONG_MS), ZKL_OK);
}

/* In the writer's place, with its token; its node is watched at once. */
static void expect_reader(int64_t token) {
    expect_holds_for_reading(token);
    EXPECT_INT(zkl_testing_count_watches(writer.client), 1);
}

/* ---- Downgrade ---------------------------------------------------------------------------- */

TEST(downgrade_lets_readers_in_and_no_writer) {
    begin_held(ZKL_WRITE, NULL);
    open_one(&reader, ZKL_READ, NULL);
    open_one(&other, ZKL_WRITE, NULL);
    relative_start_acquire(&reader, ZKL_FOREVER);
    relative_start_acquire(&other, ZKL_FOREVER);
    int64_t token = writer.grant.token;
    EXPECT_INT(zkl_lock_downgrade(writer.lock, ZKL_FOREVER), ZKL_OK);
    EXPECT_INT(relative_join(&reader), ZKL_OK);
    expect_reader(token);
    EXPECT(reader.grant.token > token);
    EXPECT_INT(relative_release(&reader), ZKL_OK);
    zkl_testing_sleep(RELATIVE_SOON_MS);
    EXPECT_INT(other.status, RELATIVE_WAITS);
    EXPECT_INT(relative_release(&writer), ZKL_OK);
    EXPECT_INT(relative_join(&other), ZKL_OK);
    end();
}

TEST(downgrade_whose_reply_is_lost_is_found_out) {
    static const zkl_cut cuts[] = { ZKL_CUT_REQUESTS_LOST, ZKL_CUT_WHEN_ANSWERED };
    for (size_t i = 0; i < COUNT_OF(cuts); i++) {
        begin_held(ZKL_WRITE, NULL);
        lose_next_multi(cuts[i], 0);
        EXPECT_INT(zkl_lock_downgrade(writer.lock, ZKL_FOREVER), ZKL_OK);
        EXPECT_INT(relative_count(&writer, ZKL_CALL_MULTI), i == 0 ? 3 : 2); /* one to settle it */
        expect_reader(writer.grant.token);
        EXPECT_INT(zkl_testing_count_children(RELATIVE_RESOURCE), 1);
        EXPECT_INT(relative_release(&writer), ZKL_OK);
        EXPECT_INT(zkl_testing_count_children(RELATIVE_RESOURCE), 0);
        end();
    }
}

/* The writer may not make the reader's node any more when the transaction comes after all. */
TEST(downgrade_that_was_held_back_takes_the_lock_from_a_writer) {
    begin_held(ZKL_WRITE, NULL);
    lose_next_multi(ZKL_CUT_HELD_BACK, RELATIVE_SESSION_MS * 1000LL);
    zkl_ensemble_withhold(zkl_ensemble_current(), RELATIVE_RESOURCE, ZKL_RIGHT_CREATE,
                          RELATIVE_SESSION_MS * 500LL);
    EXPECT_INT(zkl_lock_downgrade(writer.lock, ZKL_FOREVER), ZKL_NO_PERMISSION);
    EXPECT_INT(relative_info(&writer).state, ZKL_STATE_HELD);
    zkl_testing_sleep(2 * RELATIVE_SESSION_MS);
    EXPECT_INT(relative_info(&writer).state, ZKL_STATE_LOST);
    EXPECT_INT(relative_release(&writer), ZKL_LOST);
    zkl_testing_sleep(RELATIVE_SOON_MS);
    EXPECT_INT(zkl_testing_count_children(RELATIVE_RESOURCE), 0);
    end();
}

TEST(downgrade_goes_on_after_its_time_and_is_no_way_back) {
    zkl_lock_options options = reentrant();
    begin_held(ZKL_WRITE, &options);
    zkl_testing_disconnect(writer.client, 3000);
    EXPECT_INT(zkl_lock_downgrade(writer.lock, 50), ZKL_PENDING);
    EXPECT_INT(relative_info(&writer).mode, ZKL_WRITE);
    EXPECT_INT(zkl_lock_try_upgrade(writer.lock, NULL), ZKL_HANDLE_IN_USE);
    EXPECT_REFUSED(zkl_lock_acquire(writer.lock, ZKL_WRITE, 0, NULL), "mode");
    EXPECT_INT(zkl_lock_acquire(writer.lock, ZKL_READ, 0, NULL), ZKL_OK);
    EXPECT_INT(zkl_lock_downgrade(writer.lock, 0), ZKL_PENDING);
    EXPECT_INT(zkl_lock_downgrade(writer.lock, ZKL_FOREVER), ZKL_OK);
    expect_reader(writer.grant.token);
    EXPECT_INT(relative_info(&writer).holds, 2);
    EXPECT_INT(relative_count(&writer, ZKL_CALL_MULTI), 2); /* and that of verify */
    EXPECT_INT(relative_release(&writer), ZKL_OK);
    EXPECT_INT(relative_release(&writer), ZKL_OK);
    end();
}

TEST(refused_downgrade_leaves_the_writer) {
    begin_held(ZKL_WRITE, NULL);
    zkl_ensemble_withhold(zkl_ensemble_current(), RELATIVE_RESOURCE, ZKL_RIGHT_CREATE, 1000 * 1000);
    EXPECT_INT(zkl_lock_downgrade(writer.lock, ZKL_FOREVER), ZKL_NO_PERMISSION);
    EXPECT_INT(relative_info(&writer).mode, ZKL_WRITE);
    zkl_testing_sleep(2000);
    EXPECT_INT(zkl_lock_downgrade(writer.lock, ZKL_FOREVER), ZKL_OK);
    expect_reader(writer.grant.token);
    end();
}

static void on_refused(void *arg, int status) {
    *(int *)arg = status;
}

/* Nothing else is asked of the servers then, for a third of the session's timeout. */
TEST(refused_downgrade_keeps_no_verification_waiting) {
    int status = ZKL_OK;
    begin_held(ZKL_WRITE, NULL);
    zkl_testing_sleep(RELATIVE_SESSION_MS / 2);
    zkl_ensemble_withhold(zkl_ensemble_current(), RELATIVE_RESOURCE, ZKL_RIGHT_CREATE, 1000 * 1000);
    int64_t began_ms = zkl_testing_now_ms();
    EXPECT_INT(zkl_lock_downgrade_async(writer.lock, ZKL_FOREVER, NULL, on_refused, &status),
               ZKL_OK);
    EXPECT_INT(zkl_lock_verify(writer.lock, ZKL_FOREVER), ZKL_OK);
    EXPECT(zkl_testing_now_ms() - began_ms < RELATIVE_SOON_MS);
    EXPECT_INT(status, ZKL_NO_PERMISSION);
    end();
}

static int verified;

static void verify(void *arg) {
    (void)arg;
    verified = zkl_lock_verify(writer.lock, LONG_MS);
}

/* It asks for the writer's node, which the downgrade that is before it has replaced. */
TEST(verify_beside_a_downgrade_finds_the_lock_held) {
    begin_held(ZKL_WRITE, NULL);
    relative_start_downgrade(&writer, ZKL_FOREVER);
    zkl_testing_task *task = zkl_testing_start(verify, NULL);
    EXPECT_INT(relative_join(&writer), ZKL_OK);
    zkl_testing_join(task);
    EXPECT_INT(verified, ZKL_OK);
    end();
}

/* ---- Upgrade ------------------------------------------------------------------------------ */

TEST(reader_that_is_alone_upgrades_with_a_greater_token) {
    begin_held(ZKL_READ, NULL);
    zkl_grant before = writer.grant;
    zkl_testing_sleep(1000);
    EXPECT_INT(zkl_lock_try_upgrade(writer.lock, &writer.grant), ZKL_OK);
    EXPECT(writer.grant.token > before.token);
    EXPECT_INT(writer.grant.mode, ZKL_WRITE);
    EXPECT_INT(relative_info(&writer).mode, ZKL_WRITE);
    EXPECT_INT(relative_info(&writer).token, writer.grant.token);
    EXPECT_INT(relative_info(&writer).held_ms, 0);
    zkl_testing_sleep(RELATIVE_SOON_MS);
    EXPECT_INT(zkl_testing_count_children(RELATIVE_RESOURCE), 1);
    EXPECT_INT(zkl_lock_verify(writer.lock, LONG_MS), ZKL_OK);
    EXPECT_INT(zkl_lock_try_upgrade(writer.lock, NULL), ZKL_OK); /* it is one already */
    EXPECT_INT(zkl_lock_downgrade(writer.lock, ZKL_FOREVER), ZKL_OK);
    expect_reader(writer.grant.token);
    end();
}

static void expect_note(const char *node) {
    const zkl_tree *tree = zkl_ensemble_tree(zkl_ensemble_current());
    const zkl_node *found = zkl_tree_find(tree, node, INT64_MAX - 1);
    EXPECT(found != NULL && strstr(zkl_node_data(found), "\nnote=10.0.0.1:80\n") != NULL);
}

TEST(note_goes_with_the_lock_through_its_changes) {
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    options.note = "10.0.0.1:80";
    begin_held(ZKL_READ, &options);
    expect_note(writer.grant.node);
    EXPECT_INT(zkl_lock_try_upgrade(writer.lock, &writer.grant), ZKL_OK);
    expect_note(writer.grant.node);
    end();
}

static int64_t held_tokens[4];
static int held_count;

static void keep_held(void *arg, const zkl_lock_event *news) {
    (void)arg;
    if (news->state == ZKL_STATE_HELD && held_count < 4) {
        held_tokens[held_count++] = news->token;
    }
}

TEST(upgrade_is_told_as_the_grant_that_it_is) {
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    options.state_callback = keep_held;
    options.tell_granted = 1;
    held_count = 0;
    begin_held(ZKL_READ, &options);
    int64_t readers = writer.grant.token;
    EXPECT_INT(zkl_lock_try_upgrade(writer.lock, &writer.grant), ZKL_OK);
    zkl_testing_sleep(RELATIVE_SOON_MS);
    EXPECT_INT(held_count, 2);
    EXPECT(held_tokens[0] == readers);
    EXPECT(held_tokens[1] == writer.grant.token);
    end();
}

TEST(two_readers_that_upgrade_at_once_both_stay_readers) {
    begin_held(ZKL_READ, NULL);
    open_one(&reader, ZKL_READ, NULL);
    EXPECT_INT(relative_acquire(&reader, ZKL_FOREVER), ZKL_OK);
    relative_start_upgrade(&writer);
    relative_start_upgrade(&reader);
    EXPECT_INT(relative_join(&writer), ZKL_BUSY);
    EXPECT_INT(relative_join(&reader), ZKL_BUSY);
    EXPECT_INT(zkl_lock_verify(writer.lock, LONG_MS), ZKL_OK);
    EXPECT_INT(zkl_lock_verify(reader.lock, LONG_MS), ZKL_OK);
    EXPECT_INT(zkl_testing_count_children(RELATIVE_RESOURCE), 2);
    end();
}

/* Others may have written since then: what was read does not count any more. */
TEST(upgrade_of_a_reader_whose_node_is_gone_is_lost) {
    begin_held(ZKL_READ, NULL);
    relative_start_upgrade(&writer);
    EXPECT_INT(zkl_testing_delete_node(writer.grant.node), 1);
    EXPECT_INT(relative_join(&writer), ZKL_LOST);
    zkl_testing_sleep(RELATIVE_SESSION_MS);
    EXPECT_INT(zkl_testing_count_children(RELATIVE_RESOURCE), 0);
    EXPECT_INT(relative_release(&writer), ZKL_LOST);
    end();
}

/* The process is stopped when the reply is there, for longer than the lock may be held. */
TEST(upgrade_that_returns_after_the_limit_says_lost) {
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    options.max_hold_ms = 1000;
    begin_held(ZKL_READ, &options);
    relative_start_upgrade(&writer);
    zkl_testing_pause(NULL, 2000);
    EXPECT_INT(relative_join(&writer), ZKL_LOST);
    EXPECT_INT(relative_release(&writer), ZKL_LOST);
    zkl_testing_sleep(RELATIVE_SOON_MS);
    EXPECT_INT(zkl_testing_count_children(RELATIVE_RESOURCE), 0);
    end();
}

TEST(one_change_at_a_time) {
    begin_held(ZKL_READ, NULL);
    relative_start_upgrade(&writer);
    EXPECT_INT(zkl_lock_try_upgrade(writer.lock, NULL), ZKL_HANDLE_IN_USE);
    EXPECT_INT(zkl_lock_downgrade(writer.lock, 0), ZKL_HANDLE_IN_USE);
    EXPECT_INT(relative_join(&writer), ZKL_OK);
    end();
}

/* ---- Bad input ------------------------------------------------------------------------------ */

TEST(changes_refuse_bad_input) {
    begin_held(ZKL_EXCLUSIVE, NULL);
    EXPECT_INT(zkl_lock_downgrade(NULL, 0), ZKL_INVALID_ARGUMENT);
    EXPECT_INT(zkl_lock_try_upgrade(NULL, NULL), ZKL_INVALID_ARGUMENT);
    EXPECT_REFUSED(zkl_lock_downgrade(writer.lock, -2), "timeout_ms");
    EXPECT(strstr(zkl_error_message(), "timeout_ms") != NULL);
    EXPECT_REFUSED(zkl_lock_downgrade(writer.lock, 0), "mode");
    EXPECT(strstr(zkl_error_message(), "exclusive") != NULL);
    EXPECT_REFUSED(zkl_lock_try_upgrade(writer.lock, NULL), "mode");
    zkl_grant grant = { .struct_size = 1 };
    EXPECT_REFUSED(zkl_lock_try_upgrade(writer.lock, &grant), "struct_size");
    EXPECT_INT(relative_release(&writer), ZKL_OK);
    EXPECT_INT(zkl_lock_downgrade(writer.lock, 0), ZKL_NOT_HELD);
    EXPECT_INT(zkl_lock_try_upgrade(writer.lock, NULL), ZKL_NOT_HELD);
    end();
}

TEST(changes_of_a_reentrant_handle_are_its_owners) {
    zkl_lock_options options = reentrant();
    begin();
    open_one(&writer, ZKL_WRITE, &options);
    relative_start_acquire(&writer, ZKL_FOREVER);
    EXPECT_INT(relative_join(&writer), ZKL_OK);
    EXPECT_INT(zkl_lock_downgrade(writer.lock, ZKL_FOREVER), ZKL_NOT_OWNER);
    EXPECT_INT(zkl_lock_try_upgrade(writer.lock, NULL), ZKL_NOT_OWNER);
    EXPECT_INT(relative_info(&writer).mode, ZKL_WRITE);
    end();
}
