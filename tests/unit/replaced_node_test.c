/*
 * Somebody deletes a contender's node and makes another under its name, in one transaction: it is
 * not ours, wherever it is seen.
 */
#include <stdio.h>
#include <string.h>

#include "support/async_caller.h"
#include "support/borrower.h"
#include "support/participant.h"
#include "testing/ensemble.h"
#include "zklock/election.h"

enum { SESSION_MS = 12000, SOON_MS = 1000, AFTER_A_PROBE_MS = SESSION_MS / 3 + 500 };

static const char lost[] = "lost(the lock's node was deleted by somebody else) ";
static participant holder;
static participant other;

/* 0: a persistent one. */
static void replace_as(int64_t session_id, const char *node) {
    zkl_ensemble *ensemble = zkl_ensemble_current();
    const zkl_write both[] = {
        { .kind = ZKL_WRITE_DELETE, .path = node, .version = ZKL_ANY_VERSION },
        { .kind = ZKL_WRITE_CREATE, .path = node, .ephemeral = session_id != 0 },
    };
    zkl_operation_result results[2];
    EXPECT_INT(zkl_ensemble_multi(ensemble, session_id, both, 2, results), ZKL_SERVER_ERROR_NONE);
}

static void replace(const char *node) {
    replace_as(0, node);
}

static void begin_with_seed(uint64_t seed) {
    zkl_testing_options options = ZKL_TESTING_OPTIONS_INIT;
    options.seed = seed;
    zkl_testing_begin(&options);
    participant_open_with(&holder, SESSION_MS);
    participant_open_with(&other, SESSION_MS);
    EXPECT_INT(participant_acquire(&holder, SOON_MS), ZKL_OK);
}

static void begin(void) {
    begin_with_seed(1);
}

static void end(void) {
    participant_close(&holder);
    participant_close(&other);
    zkl_testing_end();
}

static int64_t nobody(void) {
    return 0;
}

static int64_t stranger(void) {
    return zkl_ensemble_make_session(zkl_ensemble_current());
}

/* Who knows its password can make a node for it. */
static int64_t holders_session(void) {
    return zkl_ensemble_session_at(zkl_ensemble_current(), 0);
}

/* The holder hears of it, and not only who waits. */
static void hold_watched(int64_t (*owner)(void)) {
    begin();
    zkl_testing_task *waits = participant_start(&other, ZKL_FOREVER);
    zkl_testing_sleep(AFTER_A_PROBE_MS);
    replace_as(owner(), holder.grant.node);
    zkl_testing_sleep(SOON_MS);
    EXPECT_TEXT(holder.news, lost);
    EXPECT_INT(zkl_lock_release(holder.lock, SOON_MS), ZKL_LOST);
    zkl_testing_join(waits);
    EXPECT_INT(other.status, ZKL_OK);
    end();
}

TEST(holder_whose_node_is_replaced_has_lost_the_lock) {
    hold_watched(nobody);
    hold_watched(stranger);
    hold_watched(holders_session);
}

TEST(verify_sees_at_once_that_the_node_is_another) {
    begin();
    EXPECT_INT(zkl_lock_verify(holder.lock, SOON_MS), ZKL_OK);
    EXPECT_INT(zkl_lock_release(holder.lock, SOON_MS), ZKL_OK);
    EXPECT_INT(participant_acquire(&holder, SOON_MS), ZKL_OK);
    replace(holder.grant.node);
    EXPECT_INT(zkl_lock_verify(holder.lock, SOON_MS), ZKL_LOST);
    EXPECT_TEXT(holder.news, lost);
    (void)zkl_lock_release(holder.lock, SOON_MS);
    end();
}

/* ---- Verify, when others of the same client have seen the other node first
 * ----------------------- */

static zkl_lock *behind; /* of the holder's client */

static void wait_behind(void *arg) {
    (void)arg;
    EXPECT_INT(zkl_lock_acquire(behind, ZKL_EXCLUSIVE, ZKL_FOREVER, NULL), ZKL_OK);
}

/* The holder has not watched its node yet, but who waits behind it has, and so the first look is
 * answered at once. */
static zkl_testing_task *begin_seen_by_waiter(void) {
    begin();
    EXPECT_INT(zkl_lock_open(holder.client, "stock", NULL, &behind), ZKL_OK);
    zkl_testing_task *waits = zkl_testing_start(wait_behind, NULL);
    zkl_testing_sleep(SOON_MS);
    replace(holder.grant.node);
    zkl_testing_sleep(SOON_MS);
    EXPECT_TEXT(holder.news, "");
    return waits;
}

static void end_seen_by_waiter(zkl_testing_task *waits) {
    zkl_testing_sleep(SOON_MS);
    EXPECT(strstr(holder.news, lost) != NULL);
    EXPECT_INT(zkl_lock_release(holder.lock, SOON_MS), ZKL_LOST);
    EXPECT_INT(zkl_testing_delete_node(holder.grant.node), 1);
    zkl_testing_join(waits);
    zkl_lock_close(behind);
    end();
}

TEST(verify_that_finds_the_loss_as_it_is_sent_says_so) {
    zkl_testing_task *waits = begin_seen_by_waiter();
    EXPECT_INT(zkl_lock_verify(holder.lock, SOON_MS), ZKL_LOST);
    end_seen_by_waiter(waits);
}

static void on_leader(void *arg, const zkl_leader *leader) {
    (void)arg;
    (void)leader;
}

TEST(verify_finds_the_loss_that_an_observer_of_the_client_has_seen) {
    zkl_observer *observer = NULL;
    begin();
    EXPECT_INT(zkl_election_observe(holder.client, "stock", on_leader, NULL, &observer), ZKL_OK);
    zkl_testing_sleep(SOON_MS);
    replace(holder.grant.node);
    zkl_testing_sleep(SOON_MS);
    EXPECT_INT(zkl_lock_verify(holder.lock, SOON_MS), ZKL_LOST);
    zkl_observer_close(observer);
    (void)zkl_lock_release(holder.lock, SOON_MS);
    end();
}

/* ---- Verify, when the look at the node is turned away
 * --------------------------------------------- */

static int verify_while_half_is_turned_away(bool is_replaced) {
    zkl_ensemble *ensemble = zkl_ensemble_current();
    if (is_replaced) {
        replace(holder.grant.node);
    }
    zkl_testing_sleep(SOON_MS);
    zkl_ensemble_set_rates(ensemble, &(zkl_ensemble_rates){ .throttled = 500000 });
    int status = zkl_lock_verify(holder.lock, SOON_MS);
    zkl_ensemble_set_rates(ensemble, &(zkl_ensemble_rates){ .throttled = 0 });
    return status;
}

static void verify_many(bool is_replaced, unsigned counts[3]) {
    enum { ROUNDS = 60 };
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        begin_with_seed(seed);
        int status = verify_while_half_is_turned_away(is_replaced);
        counts[0] += status == ZKL_OK ? 1 : 0;
        counts[1] += status == ZKL_LOST ? 1 : 0;
        counts[2] += status == ZKL_SUSPECT ? 1 : 0;
        (void)zkl_lock_release(holder.lock, SOON_MS);
        end();
    }
}

TEST(check_that_passes_proves_nothing_of_a_node_that_could_not_be_looked_at) {
    unsigned replaced[3] = { 0 };
    unsigned own[3] = { 0 };
    verify_many(true, replaced);
    EXPECT_INT(replaced[0], 0);
    EXPECT(replaced[1] > 0);
    EXPECT(replaced[2] > 0);
    verify_many(false, own);
    EXPECT(own[0] > 0);
    EXPECT_INT(own[1], 0);
    EXPECT(own[2] > 0);
}

/* ---- What comes with no event -------------------------------------------------------------------
 */

/* A new handle has no watches, and the data of either node have never been set. */
TEST(node_that_was_replaced_while_nobody_heard_is_seen_on_the_next_handle) {
    begin();
    zkl_testing_sleep(AFTER_A_PROBE_MS);
    zkl_testing_partition(holder.client, SOON_MS);
    replace(holder.grant.node);
    EXPECT_INT(zkl_client_set_credentials(holder.client, NULL, 0), ZKL_OK);
    zkl_testing_sleep(AFTER_A_PROBE_MS);
    EXPECT(strstr(holder.news, lost) != NULL);
    (void)zkl_lock_release(holder.lock, SOON_MS);
    end();
}

static const char *last_of_queue(void) {
    const zkl_tree *tree = zkl_ensemble_tree(zkl_ensemble_current());
    const zkl_node *parent = zkl_tree_find(tree, PARTICIPANT_RESOURCE, ZKL_LATEST_ZXID);
    const zkl_node *last = NULL;
    for (const zkl_node *one = zkl_node_first_child(parent, ZKL_LATEST_ZXID); one != NULL;
         one = zkl_node_next_child(one, ZKL_LATEST_ZXID)) {
        last = one;
    }
    return zkl_node_path(last);
}

TEST(waiter_whose_node_is_replaced_joins_again) {
    char node[ZKL_NODE_PATH_SIZE];
    begin();
    zkl_testing_task *waits = participant_start(&other, ZKL_FOREVER);
    zkl_testing_sleep(SOON_MS);
    snprintf(node, sizeof(node), "%s", last_of_queue());
    replace(node);
    zkl_testing_sleep(SOON_MS);
    EXPECT_INT(zkl_testing_count_children(PARTICIPANT_RESOURCE), 3);
    EXPECT_INT(zkl_lock_release(holder.lock, SOON_MS), ZKL_OK);
    zkl_testing_sleep(SOON_MS);
    EXPECT_INT(zkl_testing_has_ended(waits), 0); /* it waits for the stranger's */
    EXPECT_INT(zkl_testing_delete_node(node), 1);
    zkl_testing_join(waits);
    EXPECT_INT(other.status, ZKL_OK);
    end();
}

static void hold_as(zkl_mode mode) {
    begin();
    EXPECT_INT(zkl_lock_release(holder.lock, SOON_MS), ZKL_OK);
    EXPECT_INT(zkl_lock_acquire(holder.lock, mode, SOON_MS, &holder.grant), ZKL_OK);
}

TEST(reader_that_was_a_writer_is_known_by_what_is_seen_of_it) {
    hold_as(ZKL_WRITE);
    EXPECT_INT(zkl_lock_downgrade(holder.lock, SOON_MS), ZKL_OK);
    char node[ZKL_NODE_PATH_SIZE];
    snprintf(node, sizeof(node), "%s", last_of_queue());
    zkl_testing_sleep(2 * AFTER_A_PROBE_MS);
    EXPECT_TEXT(holder.news, "");
    replace(node);
    zkl_testing_sleep(SOON_MS);
    EXPECT_TEXT(holder.news, lost);
    EXPECT_INT(zkl_lock_release(holder.lock, SOON_MS), ZKL_LOST);
    end();
}

/* It has not watched its node yet. A downgrade deletes a node by its name, and makes one that
 * nobody could tell from ours. */
TEST(writer_whose_node_was_replaced_does_not_become_a_reader) {
    hold_as(ZKL_WRITE);
    replace(holder.grant.node);
    EXPECT_INT(zkl_lock_downgrade(holder.lock, SOON_MS), ZKL_LOST);
    zkl_testing_sleep(SOON_MS);
    EXPECT_TEXT(holder.news, lost);
    EXPECT_INT(zkl_testing_count_children(PARTICIPANT_RESOURCE), 1);
    EXPECT_INT(zkl_lock_release(holder.lock, SOON_MS), ZKL_LOST);
    end();
}

/* The look was lost with its connection. */
TEST(writer_whose_node_was_replaced_while_disconnected_does_not_become_a_reader) {
    hold_as(ZKL_WRITE);
    zkl_testing_disconnect(holder.client, SOON_MS);
    replace(holder.grant.node);
    EXPECT_INT(zkl_lock_downgrade(holder.lock, 2 * SOON_MS), ZKL_LOST);
    EXPECT_INT(zkl_testing_count_children(PARTICIPANT_RESOURCE), 1);
    EXPECT_INT(zkl_lock_release(holder.lock, SOON_MS), ZKL_LOST);
    end();
}

static void turn_away(uint32_t rate) {
    zkl_ensemble_set_rates(zkl_ensemble_current(), &(zkl_ensemble_rates){ .throttled = rate });
}

/* A look that is turned away says nothing: it is repeated. */
TEST(writer_becomes_no_reader_before_its_node_was_seen) {
    enum { ALL = 1000000 };
    hold_as(ZKL_WRITE);
    replace(holder.grant.node);
    turn_away(ALL);
    EXPECT_INT(zkl_lock_downgrade(holder.lock, SOON_MS), ZKL_PENDING);
    turn_away(0);
    zkl_testing_sleep(AFTER_A_PROBE_MS);
    EXPECT_TEXT(holder.news, lost);
    EXPECT_INT(zkl_testing_count_children(PARTICIPANT_RESOURCE), 1);
    EXPECT_INT(zkl_lock_release(holder.lock, SOON_MS), ZKL_LOST);
    end();
}

/* The list that decides shows its name. */
TEST(reader_whose_node_was_replaced_does_not_become_a_writer) {
    hold_as(ZKL_READ);
    replace(holder.grant.node);
    EXPECT_INT(zkl_lock_try_upgrade(holder.lock, &holder.grant), ZKL_LOST);
    zkl_testing_sleep(SOON_MS);
    EXPECT_TEXT(holder.news, lost);
    EXPECT_INT(zkl_lock_release(holder.lock, SOON_MS), ZKL_LOST);
    EXPECT_INT(zkl_testing_count_children(PARTICIPANT_RESOURCE), 1);
    end();
}

TEST(upgrade_finds_the_loss_that_an_observer_of_the_client_has_seen) {
    zkl_observer *observer = NULL;
    hold_as(ZKL_READ);
    EXPECT_INT(zkl_election_observe(holder.client, "stock", on_leader, NULL, &observer), ZKL_OK);
    zkl_testing_sleep(SOON_MS);
    replace(holder.grant.node);
    zkl_testing_sleep(SOON_MS);
    EXPECT_INT(zkl_lock_try_upgrade(holder.lock, &holder.grant), ZKL_LOST);
    zkl_observer_close(observer);
    EXPECT_INT(zkl_lock_release(holder.lock, SOON_MS), ZKL_LOST);
    end();
}

/* What others of the client have seen is known at once. */
TEST(downgrade_finds_the_loss_that_an_observer_of_the_client_has_seen) {
    zkl_observer *observer = NULL;
    hold_as(ZKL_WRITE);
    EXPECT_INT(zkl_election_observe(holder.client, "stock", on_leader, NULL, &observer), ZKL_OK);
    zkl_testing_sleep(SOON_MS);
    replace(holder.grant.node);
    zkl_testing_sleep(SOON_MS);
    EXPECT_INT(zkl_lock_downgrade(holder.lock, SOON_MS), ZKL_LOST);
    zkl_observer_close(observer);
    EXPECT_INT(zkl_lock_release(holder.lock, SOON_MS), ZKL_LOST);
    end();
}

/* ---- Sets ------------------------------------------------------------------------------- */

static async_caller set;

static void begin_set(void) {
    zkl_testing_begin(NULL);
    async_open_set(&set, ZKL_DISPATCH_THREAD, NULL);
    set.grant = (zkl_grant)ZKL_GRANT_INIT;
    EXPECT_INT(zkl_lock_acquire(set.lock, ZKL_AS_OPENED, ZKL_FOREVER, &set.grant), ZKL_OK);
}

static void replace_last_of(const char *resource) {
    char node[ZKL_NODE_PATH_SIZE];
    set_last_of(resource, node);
    replace(node);
}

static void end_lost_set(const char *news) {
    zkl_testing_sleep(SOON_MS);
    ASYNC_HEARD(&set, news);
    EXPECT_INT(zkl_lock_release(set.lock, SOON_MS), ZKL_LOST);
    zkl_testing_sleep(SOON_MS);
    set_expect_nodes(strstr(news, "stock") != NULL, strstr(news, "orders") != NULL);
    async_close(&set);
    zkl_testing_end();
}

TEST(set_of_which_any_node_is_replaced_is_lost_and_leaves_that_node) {
    static const struct {
        const char *resource;
        const char *news;
    } rows[] = { { SET_STOCK, "lost(-12) of stock " }, { SET_ORDERS, "lost(-12) of orders " } };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        begin_set();
        zkl_testing_sleep(SET_SESSION_MS); /* until it watches its nodes */
        replace_last_of(rows[i].resource);
        end_lost_set(rows[i].news);
        begin_set();
        replace_last_of(rows[i].resource);
        EXPECT_INT(zkl_lock_verify(set.lock, SOON_MS), ZKL_LOST);
        end_lost_set(rows[i].news);
    }
}

static void acquire_set(void *arg) {
    (void)arg;
    EXPECT_INT(zkl_lock_acquire(set.lock, ZKL_AS_OPENED, ZKL_FOREVER, &set.grant), ZKL_OK);
}

TEST(set_that_waits_joins_again_behind_what_replaced_one_of_its_nodes) {
    char in_the_way[ZKL_NODE_PATH_SIZE];
    char node[ZKL_NODE_PATH_SIZE];
    zkl_testing_begin(NULL);
    async_open_set(&set, ZKL_DISPATCH_THREAD, NULL);
    zkl_testing_add_contender(SET_STOCK, ZKL_EXCLUSIVE, in_the_way);
    zkl_testing_task *waits = zkl_testing_start(acquire_set, NULL);
    zkl_testing_sleep(SET_SESSION_MS);
    set_expect_nodes(2, 1);
    set_last_of(SET_ORDERS, node);
    replace(node);
    zkl_testing_sleep(SET_SESSION_MS);
    set_expect_nodes(2, 2);
    EXPECT_INT(zkl_testing_delete_node(in_the_way), 1);
    zkl_testing_sleep(SOON_MS);
    EXPECT_INT(zkl_testing_has_ended(waits), 0);
    EXPECT_INT(zkl_testing_delete_node(node), 1);
    zkl_testing_join(waits);
    async_close(&set);
    zkl_testing_end();
}

/* ---- Nodes that a client lends -------------------------------------------------------------- */

static void delete_strangers(void) {
    EXPECT_INT(zkl_testing_delete_node(handles[0].grant.node), 1);
}

/* Who waits for it locally waits behind the stranger's. */
TEST(node_that_is_lent_is_lent_no_further_once_it_is_replaced) {
    borrowers_begin(10, 0, 0);
    EXPECT_INT(borrower_acquire(&handles[0], ZKL_FOREVER), ZKL_OK);
    borrower_start(&handles[1], ZKL_FOREVER);
    zkl_testing_sleep(RELATIVE_SESSION_MS); /* its node is watched */
    replace(handles[0].grant.node);
    zkl_testing_sleep(SOON_MS);
    EXPECT_INT(zkl_lock_check(handles[0].lock, NULL), ZKL_LOST);
    EXPECT_INT(borrower_release(&handles[0]), ZKL_LOST);
    zkl_testing_sleep(SOON_MS);
    EXPECT_INT(handles[1].status, RELATIVE_WAITS);
    delete_strangers();
    EXPECT_INT(borrower_join(&handles[1]), ZKL_OK);
    EXPECT(handles[1].grant.token > handles[0].grant.token);
    borrowers_end();
}

static void keep_node(void) {
    borrowers_begin(0, 0, BORROWER_RETAIN_MS);
    EXPECT_INT(borrower_acquire(&handles[0], ZKL_FOREVER), ZKL_OK);
    EXPECT_INT(borrower_release(&handles[0]), ZKL_OK);
    zkl_testing_sleep(SOON_MS);
    EXPECT_INT(borrower_acquire(&handles[1], 0), ZKL_OK);
    EXPECT_INT(handles[1].grant.local_number, 2);
    EXPECT_INT(borrower_release(&handles[1]), ZKL_OK);
}

static void expect_own_node_behind_the_strangers(void) {
    EXPECT_INT(borrower_acquire(&handles[1], 0), ZKL_BUSY);
    delete_strangers();
    EXPECT_INT(borrower_acquire(&handles[1], SOON_MS), ZKL_OK);
    EXPECT_INT(handles[1].grant.local_number, 1);
    EXPECT(handles[1].grant.token > handles[0].grant.token);
    borrowers_end();
}

TEST(kept_node_that_is_replaced_is_not_lent) {
    keep_node();
    replace(handles[0].grant.node);
    zkl_testing_sleep(SOON_MS);
    expect_own_node_behind_the_strangers();
}

TEST(kept_node_that_was_replaced_while_nobody_heard_is_not_lent) {
    keep_node();
    zkl_testing_partition(lending_client, SOON_MS);
    replace(handles[0].grant.node);
    EXPECT_INT(zkl_client_set_credentials(lending_client, NULL, 0), ZKL_OK);
    zkl_testing_sleep(AFTER_A_PROBE_MS);
    expect_own_node_behind_the_strangers();
}
