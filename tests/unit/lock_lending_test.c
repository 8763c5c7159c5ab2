/*
 * A node that the client keeps and lends to its handles, as stories on the simulated servers.
 */
#include <stdio.h>
#include <string.h>

#include "support/relative.h"

enum { LEASE_TICK_MS = 100, SESSION_MS = 2000, RETAIN_MS = 60000, HANDLES = 6 };

typedef struct borrower {
    zkl_lock *lock;
    zkl_mode mode;
    int64_t timeout_ms;
    zkl_grant grant;
    int status; /* of its acquire; RELATIVE_WAITS: it has not returned */
    zkl_testing_task *task;
} borrower;

static zkl_client *client; /* of the borrowers */
static borrower all[HANDLES];
static size_t opened;
static relative other; /* of another client */

static void begin(int32_t hand_offs, int64_t hand_off_ms, int64_t retain_ms) {
    zkl_client_options client_options = ZKL_CLIENT_OPTIONS_INIT;
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    zkl_testing_begin(NULL);
    client_options.session_timeout_ms = RELATIVE_SESSION_MS;
    client_options.lease_tick_ms = retain_ms > 0 ? LEASE_TICK_MS : 0;
    client_options.metrics = 1;
    options.local_hand_offs = hand_offs;
    options.local_hand_off_ms = hand_off_ms;
    options.retain_ms = retain_ms;
    EXPECT_INT(zkl_client_open("server:2181", &client_options, &client), ZKL_OK);
    for (size_t i = 0; i < HANDLES; i++) {
        all[i] = (borrower){ .grant = ZKL_GRANT_INIT };
        EXPECT_INT(zkl_lock_open(client, "stock", &options, &all[i].lock), ZKL_OK);
    }
    opened = HANDLES;
    relative_open(&other, ZKL_EXCLUSIVE, NULL);
}

static void end(void) {
    for (size_t i = 0; i < opened; i++) {
        zkl_lock_close(all[i].lock);
    }
    relative_close(&other);
    EXPECT_INT(zkl_client_close(client, RELATIVE_SESSION_MS), ZKL_OK);
    zkl_testing_expect_clean(RELATIVE_SESSION_MS);
    zkl_testing_end();
}

static int acquire(borrower *self, int64_t timeout_ms) {
    self->status = zkl_lock_acquire(self->lock, self->mode, timeout_ms, &self->grant);
    return self->status;
}

static void run(void *arg) {
    borrower *self = arg;
    (void)acquire(self, self->timeout_ms);
}

static void start(borrower *self, int64_t timeout_ms) {
    self->timeout_ms = timeout_ms;
    self->status = RELATIVE_WAITS;
    self->task = zkl_testing_start(run, self);
    zkl_testing_sleep(RELATIVE_SOON_MS);
}

static int join(borrower *self) {
    zkl_testing_join(self->task);
    return self->status;
}

static int release(borrower *self) {
    return zkl_lock_release(self->lock, ZKL_FOREVER);
}

static size_t nodes(void) {
    return zkl_testing_count_children(RELATIVE_RESOURCE);
}

static void soon(void) {
    zkl_testing_sleep(RELATIVE_SOON_MS);
}

static int64_t held_ms(const borrower *self) {
    zkl_lock_information now = ZKL_LOCK_INFORMATION_INIT;
    EXPECT_INT(zkl_lock_info(self->lock, &now), ZKL_OK);
    return now.held_ms;
}

static bool is_later(const zkl_grant *one, const zkl_grant *before) {
    return one->token > before->token ||
           (one->token == before->token && one->local_number > before->local_number);
}

/* How many requests the client has sent, but for its pulse. */
static uint64_t requests(void) {
    zkl_client_information information = ZKL_CLIENT_INFORMATION_INIT;
    uint64_t count = 0;
    EXPECT_INT(zkl_client_info(client, &information), ZKL_OK);
    static const zkl_call_kind kinds[] = { ZKL_CALL_CREATE, ZKL_CALL_DELETE, ZKL_CALL_LIST };
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        count +=
            zkl_ensemble_request_count(zkl_ensemble_current(), information.session_id, kinds[i]);
    }
    return count;
}

/* ---- Handing on ----------------------------------------------------------------------- */

TEST(lock_passes_from_handle_to_handle_without_a_request) {
    begin(10, 0, 0);
    EXPECT_INT(acquire(&all[0], ZKL_FOREVER), ZKL_OK);
    EXPECT_INT(all[0].grant.local_number, 1);
    start(&all[1], ZKL_FOREVER);
    start(&all[2], 5000);
    EXPECT_INT(nodes(), 1);
    uint64_t before = requests();
    EXPECT_INT(release(&all[0]), ZKL_OK);
    EXPECT_INT(join(&all[1]), ZKL_OK);
    EXPECT(is_later(&all[1].grant, &all[0].grant));
    EXPECT_INT(all[1].grant.token, all[0].grant.token);
    EXPECT_TEXT(all[1].grant.node, all[0].grant.node);
    EXPECT_INT(zkl_lock_verify(all[1].lock, 1000), ZKL_OK);
    EXPECT_INT(all[2].status, RELATIVE_WAITS);
    EXPECT_INT(zkl_lock_check(all[0].lock, NULL), ZKL_NOT_HELD);
    EXPECT_INT(release(&all[1]), ZKL_OK);
    EXPECT_INT(join(&all[2]), ZKL_OK);
    EXPECT_INT(all[2].grant.local_number, 3);
    EXPECT(all[2].grant.waited_ms >= RELATIVE_SOON_MS);
    EXPECT(all[2].grant.waited_ms < 2 * RELATIVE_SOON_MS);
    EXPECT_INT(held_ms(&all[2]), 0);
    EXPECT_INT(requests(), before);
    EXPECT_INT(release(&all[2]), ZKL_OK);
    soon();
    EXPECT_INT(nodes(), 0);
    end();
}

TEST(contender_elsewhere_is_overtaken_only_so_often) {
    begin(2, 0, 0);
    EXPECT_INT(acquire(&all[0], ZKL_FOREVER), ZKL_OK);
    relative_start_acquire(&other, ZKL_FOREVER);
    for (size_t i = 1; i < 5; i++) {
        start(&all[i], ZKL_FOREVER);
    }
    EXPECT_INT(release(&all[0]), ZKL_OK);
    EXPECT_INT(join(&all[1]), ZKL_OK);
    EXPECT_INT(release(&all[1]), ZKL_OK);
    EXPECT_INT(join(&all[2]), ZKL_OK);
    EXPECT_INT(other.status, RELATIVE_WAITS);
    EXPECT_INT(release(&all[2]), ZKL_OK);
    EXPECT_INT(relative_join(&other), ZKL_OK);
    soon();
    EXPECT_INT(nodes(), 2); /* the others' place is behind it */
    EXPECT_INT(all[3].status, RELATIVE_WAITS);
    EXPECT_INT(relative_release(&other), ZKL_OK);
    EXPECT_INT(join(&all[3]), ZKL_OK);
    EXPECT_INT(all[3].grant.local_number, 1);
    EXPECT(is_later(&all[3].grant, &all[2].grant));
    EXPECT(all[3].grant.token > other.grant.token);
    EXPECT_INT(release(&all[3]), ZKL_OK);
    EXPECT_INT(join(&all[4]), ZKL_OK);
    end();
}

TEST(contender_elsewhere_waits_only_for_so_long) {
    begin(1000, 1000, 0);
    EXPECT_INT(acquire(&all[0], ZKL_FOREVER), ZKL_OK);
    zkl_testing_sleep(5000); /* before anybody else wants it */
    relative_start_acquire(&other, ZKL_FOREVER);
    start(&all[1], ZKL_FOREVER);
    start(&all[2], ZKL_FOREVER);
    EXPECT_INT(release(&all[0]), ZKL_OK);
    EXPECT_INT(join(&all[1]), ZKL_OK);
    soon();
    EXPECT_INT(other.status, RELATIVE_WAITS);
    zkl_testing_sleep(500);
    EXPECT_INT(release(&all[1]), ZKL_OK);
    EXPECT_INT(relative_join(&other), ZKL_OK);
    EXPECT_INT(all[2].status, RELATIVE_WAITS);
    end();
}

TEST(waiters_with_priority_come_first) {
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    begin(10, 0, 0);
    zkl_lock_close(all[3].lock);
    options.local_hand_offs = 10;
    options.local_priority = 1;
    EXPECT_INT(zkl_lock_open(client, "stock", &options, &all[3].lock), ZKL_OK);
    EXPECT_INT(acquire(&all[0], ZKL_FOREVER), ZKL_OK);
    for (size_t i = 1; i < 4; i++) {
        start(&all[i], ZKL_FOREVER);
    }
    static const size_t order[] = { 0, 3, 1, 2 };
    for (size_t i = 1; i < COUNT_OF(order); i++) {
        EXPECT_INT(release(&all[order[i - 1]]), ZKL_OK);
        EXPECT_INT(join(&all[order[i]]), ZKL_OK);
    }
    end();
}

/* Whoever came between the list before the grant and the grant itself is in no list yet. */
TEST(grant_by_the_word_of_a_release_is_not_taken_for_being_alone) {
    char behind[ZKL_NODE_PATH_SIZE];
    begin(0, 0, RETAIN_MS);
    EXPECT_INT(relative_acquire(&other, ZKL_FOREVER), ZKL_OK);
    start(&all[0], ZKL_FOREVER);
    start(&all[1], ZKL_FOREVER);
    zkl_testing_add_contender(RELATIVE_RESOURCE, ZKL_EXCLUSIVE, behind);
    EXPECT_INT(relative_release(&other), ZKL_OK);
    EXPECT_INT(join(&all[0]), ZKL_OK);
    EXPECT_INT(release(&all[0]), ZKL_OK);
    soon();
    EXPECT_INT(all[1].status, RELATIVE_WAITS);
    EXPECT_INT(nodes(), 2);
    EXPECT_INT(zkl_testing_delete_node(behind), 1);
    EXPECT_INT(join(&all[1]), ZKL_OK);
    EXPECT_INT(all[1].grant.local_number, 1);
    end();
}

/* ---- A node that is kept --------------------------------------------------------------- */

TEST(kept_node_is_acquired_again_without_a_request) {
    begin(0, 0, RETAIN_MS);
    EXPECT_INT(acquire(&all[0], ZKL_FOREVER), ZKL_OK);
    EXPECT_INT(release(&all[0]), ZKL_OK);
    soon();
    EXPECT_INT(nodes(), 1);
    uint64_t before = requests();
    for (int i = 0; i < 100; i++) {
        zkl_grant last = all[0].grant;
        EXPECT_INT(acquire(&all[0], i % 2 == 0 ? ZKL_FOREVER : 0), ZKL_OK);
        EXPECT(is_later(&all[0].grant, &last));
        EXPECT_INT(all[0].grant.waited_ms, 0);
        EXPECT_INT(release(&all[0]), ZKL_OK);
    }
    EXPECT_INT(requests(), before);
    zkl_testing_sleep(RETAIN_MS + 1000);
    EXPECT_INT(nodes(), 0);
    EXPECT_INT(acquire(&all[0], ZKL_FOREVER), ZKL_OK);
    end();
}

TEST(kept_node_is_called_back_by_a_contender_elsewhere) {
    begin(0, 0, RETAIN_MS);
    EXPECT_INT(acquire(&all[0], ZKL_FOREVER), ZKL_OK);
    EXPECT_INT(release(&all[0]), ZKL_OK);
    soon();
    EXPECT_INT(relative_acquire(&other, 1000), ZKL_OK);
    EXPECT_INT(nodes(), 1);
    EXPECT_INT(acquire(&all[0], 0), ZKL_BUSY);
    EXPECT_INT(relative_release(&other), ZKL_OK);
    EXPECT_INT(acquire(&all[0], 1000), ZKL_OK);
    EXPECT(all[0].grant.token > other.grant.token);
    end();
}

TEST(kept_node_that_is_in_use_is_given_up_at_its_release) {
    begin(0, 0, RETAIN_MS);
    EXPECT_INT(acquire(&all[0], ZKL_FOREVER), ZKL_OK);
    soon();
    relative_start_acquire(&other, ZKL_FOREVER);
    start(&all[1], ZKL_FOREVER);
    EXPECT_INT(release(&all[0]), ZKL_OK);
    EXPECT_INT(relative_join(&other), ZKL_OK);
    EXPECT_INT(all[1].status, RELATIVE_WAITS);
    EXPECT_INT(relative_release(&other), ZKL_OK);
    EXPECT_INT(join(&all[1]), ZKL_OK);
    end();
}

TEST(try_elsewhere_calls_a_kept_node_back) {
    begin(0, 0, RETAIN_MS);
    EXPECT_INT(acquire(&all[0], ZKL_FOREVER), ZKL_OK);
    EXPECT_INT(release(&all[0]), ZKL_OK);
    soon();
    EXPECT_INT(relative_acquire(&other, 0), ZKL_BUSY);
    soon();
    EXPECT_INT(relative_acquire(&other, 0), ZKL_OK);
    end();
}

TEST(try_makes_a_node_that_is_kept) {
    begin(0, 0, RETAIN_MS);
    EXPECT_INT(acquire(&all[0], 0), ZKL_OK);
    EXPECT_INT(acquire(&all[1], 0), ZKL_BUSY);
    EXPECT_INT(release(&all[0]), ZKL_OK);
    soon();
    EXPECT_INT(nodes(), 1);
    uint64_t before = requests();
    EXPECT_INT(acquire(&all[1], 0), ZKL_OK);
    EXPECT_INT(all[1].grant.local_number, 2);
    EXPECT_INT(requests(), before);
    end();
}

TEST(kept_node_is_not_lent_while_disconnected) {
    begin(0, 0, RETAIN_MS);
    EXPECT_INT(acquire(&all[0], ZKL_FOREVER), ZKL_OK);
    EXPECT_INT(release(&all[0]), ZKL_OK);
    soon();
    zkl_testing_disconnect(client, 1000);
    zkl_testing_sleep(100);
    EXPECT_INT(acquire(&all[0], 0), ZKL_DISCONNECTED);
    EXPECT_INT(acquire(&all[0], 5000), ZKL_OK);
    EXPECT_INT(all[0].grant.local_number, 1);
    end();
}

TEST(node_is_not_lent_by_a_process_that_was_stopped) {
    begin(10, 0, 0);
    EXPECT_INT(acquire(&all[0], ZKL_FOREVER), ZKL_OK);
    start(&all[1], ZKL_FOREVER);
    zkl_testing_pause(NULL, RELATIVE_SESSION_MS - 500);
    EXPECT_INT(release(&all[0]), ZKL_OK);
    EXPECT_INT(join(&all[1]), ZKL_OK);
    EXPECT_INT(all[1].grant.local_number, 1);
    end();
}

TEST(kept_node_is_not_lent_with_the_rest_of_a_lease) {
    int64_t left_ms = RELATIVE_SESSION_MS;
    begin(0, 0, RETAIN_MS);
    EXPECT_INT(acquire(&all[0], ZKL_FOREVER), ZKL_OK);
    soon();
    zkl_testing_slow_servers(2L * RELATIVE_SESSION_MS, 2L * RELATIVE_SESSION_MS);
    while (left_ms > 50) {
        zkl_testing_sleep(10);
        EXPECT_INT(zkl_lock_check(all[0].lock, &left_ms), ZKL_OK);
    }
    EXPECT_INT(release(&all[0]), ZKL_OK);
    EXPECT(acquire(&all[1], 0) != ZKL_OK);
    zkl_testing_heal();
    EXPECT_INT(acquire(&all[1], ZKL_FOREVER), ZKL_OK);
    EXPECT_INT(all[1].grant.local_number, 1);
    end();
}

TEST(kept_node_whose_session_ends_is_made_anew) {
    begin(0, 0, RETAIN_MS);
    EXPECT_INT(acquire(&all[0], ZKL_FOREVER), ZKL_OK);
    EXPECT_INT(release(&all[0]), ZKL_OK);
    soon();
    zkl_testing_expire_session(client);
    zkl_testing_sleep(2000);
    zkl_grant last = all[0].grant;
    EXPECT_INT(acquire(&all[0], 5000), ZKL_OK);
    EXPECT(all[0].grant.token > last.token);
    end();
}

/* ---- Readers --------------------------------------------------------------------------- */

TEST(readers_of_a_client_share_one_node) {
    begin(10, 0, 0);
    for (size_t i = 0; i < 4; i++) {
        all[i].mode = ZKL_READ;
        EXPECT_INT(acquire(&all[i], i < 2 ? ZKL_FOREVER : 0), ZKL_OK);
        EXPECT_INT(all[i].grant.mode, ZKL_READ);
    }
    EXPECT_INT(nodes(), 1);
    relative_start_acquire(&other, ZKL_FOREVER);
    for (size_t i = 0; i < 4; i++) {
        EXPECT_INT(other.status, RELATIVE_WAITS);
        EXPECT_INT(release(&all[i]), ZKL_OK);
        soon();
    }
    EXPECT_INT(relative_join(&other), ZKL_OK);
    end();
}

/* Where it is not known yet whether the loan is alone, a reader's try makes another. */
TEST(reader_that_has_had_the_newer_node_gets_no_older_one) {
    begin(0, 0, RETAIN_MS);
    for (size_t i = 0; i < 3; i++) {
        all[i].mode = ZKL_READ;
    }
    EXPECT_INT(acquire(&all[0], ZKL_FOREVER), ZKL_OK);
    EXPECT_INT(acquire(&all[1], 0), ZKL_OK);
    EXPECT_INT(nodes(), 2);
    zkl_grant last = all[1].grant;
    EXPECT(last.token > all[0].grant.token);
    EXPECT_INT(release(&all[1]), ZKL_OK);
    soon();
    EXPECT_INT(acquire(&all[1], ZKL_FOREVER), ZKL_OK);
    EXPECT(is_later(&all[1].grant, &last));
    EXPECT_INT(acquire(&all[2], ZKL_FOREVER), ZKL_OK);
    EXPECT_INT(all[2].grant.token, last.token);
    EXPECT_INT(release(&all[0]), ZKL_OK);
    soon();
    EXPECT_INT(nodes(), 1); /* the older one is not kept */
    end();
}

TEST(modes_of_a_client_exclude_one_another) {
    begin(10, 0, 0);
    all[0].mode = ZKL_READ;
    all[1].mode = ZKL_WRITE;
    EXPECT_INT(acquire(&all[0], ZKL_FOREVER), ZKL_OK);
    EXPECT_INT(acquire(&all[1], 0), ZKL_BUSY);
    start(&all[1], ZKL_FOREVER);
    start(&all[2], ZKL_FOREVER);
    EXPECT_INT(nodes(), 3);
    EXPECT_INT(release(&all[0]), ZKL_OK);
    EXPECT_INT(join(&all[1]), ZKL_OK);
    EXPECT_INT(all[2].status, RELATIVE_WAITS);
    EXPECT_INT(release(&all[1]), ZKL_OK);
    EXPECT_INT(join(&all[2]), ZKL_OK);
    end();
}

/* ---- Those that wait go ----------------------------------------------------------------- */

TEST(each_has_its_own_deadline_and_cancel) {
    begin(10, 0, 0);
    EXPECT_INT(relative_acquire(&other, ZKL_FOREVER), ZKL_OK);
    start(&all[0], 1000);
    start(&all[1], 3000);
    start(&all[2], ZKL_FOREVER);
    EXPECT_INT(nodes(), 2);
    EXPECT_INT(join(&all[0]), ZKL_TIMEOUT);
    EXPECT_INT(zkl_lock_cancel(all[2].lock), ZKL_OK);
    EXPECT_INT(join(&all[2]), ZKL_CANCELLED);
    soon();
    EXPECT_INT(nodes(), 2);
    EXPECT_INT(join(&all[1]), ZKL_TIMEOUT);
    soon();
    EXPECT_INT(nodes(), 1);
    end();
}

TEST(holder_that_closes_hands_on) {
    begin(10, 0, 0);
    EXPECT_INT(acquire(&all[5], ZKL_FOREVER), ZKL_OK);
    start(&all[0], ZKL_FOREVER);
    zkl_lock_close(all[5].lock);
    opened = 5;
    EXPECT_INT(join(&all[0]), ZKL_OK);
    EXPECT_INT(nodes(), 1);
    end();
}

/* ---- Losses ----------------------------------------------------------------------------- */

TEST(holder_and_waiters_learn_of_a_node_that_is_deleted) {
    begin(10, 0, 0);
    EXPECT_INT(acquire(&all[0], ZKL_FOREVER), ZKL_OK);
    start(&all[1], ZKL_FOREVER);
    zkl_testing_sleep(RELATIVE_SESSION_MS); /* its node is watched */
    EXPECT_INT(zkl_testing_delete_node(all[0].grant.node), 1);
    EXPECT_INT(join(&all[1]), ZKL_OK);
    EXPECT_INT(zkl_lock_check(all[0].lock, NULL), ZKL_LOST);
    EXPECT(all[1].grant.token > all[0].grant.token);
    EXPECT_INT(release(&all[0]), ZKL_LOST);
    EXPECT_INT(zkl_lock_check(all[1].lock, NULL), ZKL_OK);
    end();
}

TEST(session_that_ends_while_all_wait_makes_them_wait_anew) {
    begin(10, 0, 0);
    EXPECT_INT(relative_acquire(&other, ZKL_FOREVER), ZKL_OK);
    start(&all[0], ZKL_FOREVER);
    start(&all[1], ZKL_FOREVER);
    zkl_testing_expire_session(client);
    zkl_testing_sleep(2000);
    EXPECT_INT(nodes(), 2);
    EXPECT_INT(relative_release(&other), ZKL_OK);
    EXPECT_INT(join(&all[0]), ZKL_OK);
    EXPECT_INT(release(&all[0]), ZKL_OK);
    EXPECT_INT(join(&all[1]), ZKL_OK);
    end();
}

TEST(hold_limit_is_that_of_each_holder) {
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    begin(10, 0, 0);
    zkl_lock_close(all[0].lock);
    options.local_hand_offs = 10;
    options.max_hold_ms = 1000;
    EXPECT_INT(zkl_lock_open(client, "stock", &options, &all[0].lock), ZKL_OK);
    EXPECT_INT(acquire(&all[0], ZKL_FOREVER), ZKL_OK);
    start(&all[1], ZKL_FOREVER);
    EXPECT_INT(release(&all[0]), ZKL_OK);
    EXPECT_INT(join(&all[1]), ZKL_OK);
    zkl_testing_sleep(3000);
    EXPECT_INT(zkl_lock_check(all[1].lock, NULL), ZKL_OK);
    start(&all[0], ZKL_FOREVER);
    EXPECT_INT(release(&all[1]), ZKL_OK);
    EXPECT_INT(join(&all[0]), ZKL_OK);
    start(&all[1], ZKL_FOREVER);
    zkl_testing_sleep(2000);
    EXPECT_INT(zkl_lock_check(all[0].lock, NULL), ZKL_LOST);
    EXPECT_INT(join(&all[1]), ZKL_OK);
    end();
}

/* ---- Transactions ------------------------------------------------------------------------ */

static void hear_of_commit(void *arg, int status, zkl_transaction *transaction,
                           const zkl_transaction_result *result) {
    (void)transaction;
    (void)result;
    *(int *)arg = status;
}

static zkl_transaction *commit(borrower *self, int *status) {
    zkl_transaction *transaction = NULL;
    *status = RELATIVE_WAITS;
    EXPECT_INT(zkl_transaction_begin(self->lock, &transaction), ZKL_OK);
    EXPECT_INT(zkl_transaction_set(transaction, "/locks", "x", 1, ZKL_ANY_VERSION), ZKL_OK);
    EXPECT_INT(zkl_transaction_commit_async(transaction, ZKL_FOREVER, hear_of_commit, status),
               ZKL_OK);
    return transaction;
}

TEST(lock_is_not_handed_on_before_a_transaction_is_answered) {
    int status = 0;
    begin(10, 0, 0);
    EXPECT_INT(acquire(&all[0], ZKL_FOREVER), ZKL_OK);
    start(&all[1], ZKL_FOREVER);
    zkl_testing_slow_servers(1000, 10000);
    zkl_transaction *transaction = commit(&all[0], &status);
    EXPECT_INT(release(&all[0]), ZKL_OK);
    zkl_testing_sleep(500);
    EXPECT_INT(all[1].status, RELATIVE_WAITS);
    EXPECT_INT(join(&all[1]), ZKL_OK);
    EXPECT_INT(all[1].grant.local_number, 2);
    zkl_transaction_free(transaction);
    end();
}

TEST(place_is_given_up_when_the_reply_to_a_transaction_is_lost) {
    int status = 0;
    begin(10, 0, 0);
    EXPECT_INT(acquire(&all[0], ZKL_FOREVER), ZKL_OK);
    start(&all[1], ZKL_FOREVER);
    zkl_transaction *transaction = commit(&all[0], &status);
    zkl_testing_disconnect(client, 100);
    zkl_testing_sleep(3000);
    EXPECT_INT(status, ZKL_UNKNOWN);
    EXPECT_INT(release(&all[0]), ZKL_OK);
    EXPECT_INT(join(&all[1]), ZKL_OK);
    EXPECT_INT(all[1].grant.local_number, 1);
    EXPECT(all[1].grant.token > all[0].grant.token);
    zkl_transaction_free(transaction);
    end();
}

TEST(transaction_of_an_earlier_local_grant_is_not_committed) {
    zkl_transaction *transaction = NULL;
    begin(0, 0, RETAIN_MS);
    EXPECT_INT(acquire(&all[0], ZKL_FOREVER), ZKL_OK);
    EXPECT_INT(zkl_transaction_begin(all[0].lock, &transaction), ZKL_OK);
    EXPECT_INT(release(&all[0]), ZKL_OK);
    soon();
    EXPECT_INT(acquire(&all[0], 0), ZKL_OK);
    EXPECT_INT(all[0].grant.local_number, 2);
    EXPECT_INT(zkl_transaction_commit(transaction, 1000, NULL), ZKL_LOST);
    zkl_transaction_free(transaction);
    end();
}

/* ---- What is refused ---------------------------------------------------------------------- */

static void expect_refused(zkl_lock_options options, const char *says) {
    zkl_lock *lock = NULL;
    EXPECT_REFUSED(zkl_lock_open(client, "stock", &options, &lock), says);
}

TEST(what_does_not_go_together_is_refused) {
    zkl_lock *lock = NULL;
    zkl_lock_member member = ZKL_LOCK_MEMBER_INIT;
    begin(10, 0, 0);
    zkl_lock_options given = ZKL_LOCK_OPTIONS_INIT;
    member.resource = "stock";
    given.local_hand_offs = 1;
    EXPECT_REFUSED(zkl_lock_open_set(client, &member, 1, &given, &lock), "set");
    given.permits = 1;
    expect_refused(given, "permits");
    given = (zkl_lock_options)ZKL_LOCK_OPTIONS_INIT;
    given.retain_ms = 1;
    expect_refused(given, "lease_tick_ms");
    given.retain_ms = -1;
    expect_refused(given, "retain_ms");
    given = (zkl_lock_options)ZKL_LOCK_OPTIONS_INIT;
    given.local_priority = 1;
    expect_refused(given, "local_priority");
    given.local_hand_offs = ZKL_LOCAL_HAND_OFFS_MAX + 1;
    expect_refused(given, "local_hand_offs");
    all[0].mode = ZKL_WRITE;
    EXPECT_INT(acquire(&all[0], ZKL_FOREVER), ZKL_OK);
    EXPECT_REFUSED(zkl_lock_downgrade(all[0].lock, 1000), "lent");
    end();
}

TEST(end_of_the_client_ends_all) {
    begin(10, 0, 0);
    EXPECT_INT(acquire(&all[0], ZKL_FOREVER), ZKL_OK);
    start(&all[1], ZKL_FOREVER);
    EXPECT_INT(zkl_client_close(client, RELATIVE_SESSION_MS), ZKL_OK);
    EXPECT_INT(join(&all[1]), ZKL_CLOSED);
    EXPECT_INT(release(&all[0]), ZKL_CLOSED);
    for (size_t i = 0; i < opened; i++) {
        zkl_lock_close(all[i].lock);
    }
    relative_close(&other);
    zkl_testing_expect_clean(RELATIVE_SESSION_MS);
    zkl_testing_end();
}
