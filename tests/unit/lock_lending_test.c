/*
 * A node that the client keeps and lends to its handles, as stories on the simulated servers.
 */
#include <stdio.h>
#include <string.h>

#include "support/borrower.h"

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

/* ---- Handing on ----------------------------------------------------------------------- */

TEST(lock_passes_from_handle_to_handle_without_a_request) {
    borrowers_begin(10, 0, 0);
    EXPECT_INT(borrower_acquire(&handles[0], ZKL_FOREVER), ZKL_OK);
    EXPECT_INT(handles[0].grant.local_number, 1);
    borrower_start(&handles[1], ZKL_FOREVER);
    borrower_start(&handles[2], 5000);
    EXPECT_INT(borrowers_nodes(), 1);
    uint64_t before = borrowers_requests();
    EXPECT_INT(borrower_release(&handles[0]), ZKL_OK);
    EXPECT_INT(borrower_join(&handles[1]), ZKL_OK);
    EXPECT(is_later(&handles[1].grant, &handles[0].grant));
    EXPECT_INT(handles[1].grant.token, handles[0].grant.token);
    EXPECT_TEXT(handles[1].grant.node, handles[0].grant.node);
    EXPECT_INT(zkl_lock_verify(handles[1].lock, 1000), ZKL_OK);
    EXPECT_INT(handles[2].status, RELATIVE_WAITS);
    EXPECT_INT(zkl_lock_check(handles[0].lock, NULL), ZKL_NOT_HELD);
    EXPECT_INT(borrower_release(&handles[1]), ZKL_OK);
    EXPECT_INT(borrower_join(&handles[2]), ZKL_OK);
    EXPECT_INT(handles[2].grant.local_number, 3);
    EXPECT(handles[2].grant.waited_ms >= RELATIVE_SOON_MS);
    EXPECT(handles[2].grant.waited_ms < 2 * RELATIVE_SOON_MS);
    EXPECT_INT(held_ms(&handles[2]), 0);
    EXPECT_INT(borrowers_requests(), before);
    EXPECT_INT(borrower_release(&handles[2]), ZKL_OK);
    soon();
    EXPECT_INT(borrowers_nodes(), 0);
    borrowers_end();
}

TEST(contender_elsewhere_is_overtaken_only_so_often) {
    borrowers_begin(2, 0, 0);
    EXPECT_INT(borrower_acquire(&handles[0], ZKL_FOREVER), ZKL_OK);
    relative_start_acquire(&rival, ZKL_FOREVER);
    for (size_t i = 1; i < 5; i++) {
        borrower_start(&handles[i], ZKL_FOREVER);
    }
    EXPECT_INT(borrower_release(&handles[0]), ZKL_OK);
    EXPECT_INT(borrower_join(&handles[1]), ZKL_OK);
    EXPECT_INT(borrower_release(&handles[1]), ZKL_OK);
    EXPECT_INT(borrower_join(&handles[2]), ZKL_OK);
    EXPECT_INT(rival.status, RELATIVE_WAITS);
    EXPECT_INT(borrower_release(&handles[2]), ZKL_OK);
    EXPECT_INT(relative_join(&rival), ZKL_OK);
    soon();
    EXPECT_INT(borrowers_nodes(), 2); /* the others' place is behind it */
    EXPECT_INT(handles[3].status, RELATIVE_WAITS);
    EXPECT_INT(relative_release(&rival), ZKL_OK);
    EXPECT_INT(borrower_join(&handles[3]), ZKL_OK);
    EXPECT_INT(handles[3].grant.local_number, 1);
    EXPECT(is_later(&handles[3].grant, &handles[2].grant));
    EXPECT(handles[3].grant.token > rival.grant.token);
    EXPECT_INT(borrower_release(&handles[3]), ZKL_OK);
    EXPECT_INT(borrower_join(&handles[4]), ZKL_OK);
    borrowers_end();
}

TEST(contender_elsewhere_waits_only_for_so_long) {
    borrowers_begin(1000, 1000, 0);
    EXPECT_INT(borrower_acquire(&handles[0], ZKL_FOREVER), ZKL_OK);
    zkl_testing_sleep(5000); /* before anybody else wants it */
    relative_start_acquire(&rival, ZKL_FOREVER);
    borrower_start(&handles[1], ZKL_FOREVER);
    borrower_start(&handles[2], ZKL_FOREVER);
    EXPECT_INT(borrower_release(&handles[0]), ZKL_OK);
    EXPECT_INT(borrower_join(&handles[1]), ZKL_OK);
    soon();
    EXPECT_INT(rival.status, RELATIVE_WAITS);
    zkl_testing_sleep(500);
    EXPECT_INT(borrower_release(&handles[1]), ZKL_OK);
    EXPECT_INT(relative_join(&rival), ZKL_OK);
    EXPECT_INT(handles[2].status, RELATIVE_WAITS);
    borrowers_end();
}

TEST(waiters_with_priority_come_first) {
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    borrowers_begin(10, 0, 0);
    zkl_lock_close(handles[3].lock);
    options.lending = &(zkl_lending){ sizeof(zkl_lending), .hand_offs = 10, .priority = 1 };
    EXPECT_INT(zkl_lock_open(lending_client, "stock", &options, &handles[3].lock), ZKL_OK);
    EXPECT_INT(borrower_acquire(&handles[0], ZKL_FOREVER), ZKL_OK);
    for (size_t i = 1; i < 4; i++) {
        borrower_start(&handles[i], ZKL_FOREVER);
    }
    static const size_t order[] = { 0, 3, 1, 2 };
    for (size_t i = 1; i < COUNT_OF(order); i++) {
        EXPECT_INT(borrower_release(&handles[order[i - 1]]), ZKL_OK);
        EXPECT_INT(borrower_join(&handles[order[i]]), ZKL_OK);
    }
    borrowers_end();
}

/* Whoever came between the list before the grant and the grant itself is in no list yet. */
TEST(grant_by_the_word_of_a_release_is_not_taken_for_being_alone) {
    char behind[ZKL_NODE_PATH_SIZE];
    borrowers_begin(0, 0, BORROWER_RETAIN_MS);
    EXPECT_INT(relative_acquire(&rival, ZKL_FOREVER), ZKL_OK);
    borrower_start(&handles[0], ZKL_FOREVER);
    borrower_start(&handles[1], ZKL_FOREVER);
    zkl_testing_add_contender(RELATIVE_RESOURCE, ZKL_EXCLUSIVE, behind);
    EXPECT_INT(relative_release(&rival), ZKL_OK);
    EXPECT_INT(borrower_join(&handles[0]), ZKL_OK);
    EXPECT_INT(borrower_release(&handles[0]), ZKL_OK);
    soon();
    EXPECT_INT(handles[1].status, RELATIVE_WAITS);
    EXPECT_INT(borrowers_nodes(), 2);
    EXPECT_INT(zkl_testing_delete_node(behind), 1);
    EXPECT_INT(borrower_join(&handles[1]), ZKL_OK);
    EXPECT_INT(handles[1].grant.local_number, 1);
    borrowers_end();
}

/* ---- A node that is kept --------------------------------------------------------------- */

TEST(kept_node_is_acquired_again_without_a_request) {
    borrowers_begin(0, 0, BORROWER_RETAIN_MS);
    EXPECT_INT(borrower_acquire(&handles[0], ZKL_FOREVER), ZKL_OK);
    EXPECT_INT(borrower_release(&handles[0]), ZKL_OK);
    soon();
    EXPECT_INT(borrowers_nodes(), 1);
    uint64_t before = borrowers_requests();
    for (int i = 0; i < 100; i++) {
        zkl_grant last = handles[0].grant;
        EXPECT_INT(borrower_acquire(&handles[0], i % 2 == 0 ? ZKL_FOREVER : 0), ZKL_OK);
        EXPECT(is_later(&handles[0].grant, &last));
        EXPECT_INT(handles[0].grant.waited_ms, 0);
        EXPECT_INT(borrower_release(&handles[0]), ZKL_OK);
    }
    EXPECT_INT(borrowers_requests(), before);
    zkl_testing_sleep(BORROWER_RETAIN_MS + 1000);
    EXPECT_INT(borrowers_nodes(), 0);
    EXPECT_INT(borrower_acquire(&handles[0], ZKL_FOREVER), ZKL_OK);
    borrowers_end();
}

TEST(kept_node_is_called_back_by_a_contender_elsewhere) {
    borrowers_begin(0, 0, BORROWER_RETAIN_MS);
    EXPECT_INT(borrower_acquire(&handles[0], ZKL_FOREVER), ZKL_OK);
    EXPECT_INT(borrower_release(&handles[0]), ZKL_OK);
    soon();
    EXPECT_INT(relative_acquire(&rival, 1000), ZKL_OK);
    EXPECT_INT(borrowers_nodes(), 1);
    EXPECT_INT(borrower_acquire(&handles[0], 0), ZKL_BUSY);
    EXPECT_INT(relative_release(&rival), ZKL_OK);
    EXPECT_INT(borrower_acquire(&handles[0], 1000), ZKL_OK);
    EXPECT(handles[0].grant.token > rival.grant.token);
    borrowers_end();
}

TEST(kept_node_that_is_in_use_is_given_up_at_its_release) {
    borrowers_begin(0, 0, BORROWER_RETAIN_MS);
    EXPECT_INT(borrower_acquire(&handles[0], ZKL_FOREVER), ZKL_OK);
    soon();
    relative_start_acquire(&rival, ZKL_FOREVER);
    borrower_start(&handles[1], ZKL_FOREVER);
    EXPECT_INT(borrower_release(&handles[0]), ZKL_OK);
    EXPECT_INT(relative_join(&rival), ZKL_OK);
    EXPECT_INT(handles[1].status, RELATIVE_WAITS);
    EXPECT_INT(relative_release(&rival), ZKL_OK);
    EXPECT_INT(borrower_join(&handles[1]), ZKL_OK);
    borrowers_end();
}

TEST(try_elsewhere_calls_a_kept_node_back) {
    borrowers_begin(0, 0, BORROWER_RETAIN_MS);
    EXPECT_INT(borrower_acquire(&handles[0], ZKL_FOREVER), ZKL_OK);
    EXPECT_INT(borrower_release(&handles[0]), ZKL_OK);
    soon();
    EXPECT_INT(relative_acquire(&rival, 0), ZKL_BUSY);
    soon();
    EXPECT_INT(relative_acquire(&rival, 0), ZKL_OK);
    borrowers_end();
}

TEST(try_makes_a_node_that_is_kept) {
    borrowers_begin(0, 0, BORROWER_RETAIN_MS);
    EXPECT_INT(borrower_acquire(&handles[0], 0), ZKL_OK);
    EXPECT_INT(borrower_acquire(&handles[1], 0), ZKL_BUSY);
    EXPECT_INT(borrower_release(&handles[0]), ZKL_OK);
    soon();
    EXPECT_INT(borrowers_nodes(), 1);
    uint64_t before = borrowers_requests();
    EXPECT_INT(borrower_acquire(&handles[1], 0), ZKL_OK);
    EXPECT_INT(handles[1].grant.local_number, 2);
    EXPECT_INT(borrowers_requests(), before);
    borrowers_end();
}

TEST(kept_node_is_not_lent_while_disconnected) {
    borrowers_begin(0, 0, BORROWER_RETAIN_MS);
    EXPECT_INT(borrower_acquire(&handles[0], ZKL_FOREVER), ZKL_OK);
    EXPECT_INT(borrower_release(&handles[0]), ZKL_OK);
    soon();
    zkl_testing_disconnect(lending_client, 1000);
    zkl_testing_sleep(100);
    EXPECT_INT(borrower_acquire(&handles[0], 0), ZKL_DISCONNECTED);
    EXPECT_INT(borrower_acquire(&handles[0], 5000), ZKL_OK);
    EXPECT_INT(handles[0].grant.local_number, 1);
    borrowers_end();
}

TEST(node_is_not_lent_by_a_process_that_was_stopped) {
    borrowers_begin(10, 0, 0);
    EXPECT_INT(borrower_acquire(&handles[0], ZKL_FOREVER), ZKL_OK);
    borrower_start(&handles[1], ZKL_FOREVER);
    zkl_testing_pause(NULL, RELATIVE_SESSION_MS - 500);
    EXPECT_INT(borrower_release(&handles[0]), ZKL_OK);
    EXPECT_INT(borrower_join(&handles[1]), ZKL_OK);
    EXPECT_INT(handles[1].grant.local_number, 1);
    borrowers_end();
}

TEST(kept_node_is_not_lent_with_the_rest_of_a_lease) {
    int64_t left_ms = RELATIVE_SESSION_MS;
    borrowers_begin(0, 0, BORROWER_RETAIN_MS);
    EXPECT_INT(borrower_acquire(&handles[0], ZKL_FOREVER), ZKL_OK);
    soon();
    zkl_testing_slow_servers(2L * RELATIVE_SESSION_MS, 2L * RELATIVE_SESSION_MS);
    while (left_ms > 50) {
        zkl_testing_sleep(10);
        EXPECT_INT(zkl_lock_check(handles[0].lock, &left_ms), ZKL_OK);
    }
    EXPECT_INT(borrower_release(&handles[0]), ZKL_OK);
    EXPECT(borrower_acquire(&handles[1], 0) != ZKL_OK);
    zkl_testing_heal();
    EXPECT_INT(borrower_acquire(&handles[1], ZKL_FOREVER), ZKL_OK);
    EXPECT_INT(handles[1].grant.local_number, 1);
    borrowers_end();
}

TEST(kept_node_whose_session_ends_is_made_anew) {
    borrowers_begin(0, 0, BORROWER_RETAIN_MS);
    EXPECT_INT(borrower_acquire(&handles[0], ZKL_FOREVER), ZKL_OK);
    EXPECT_INT(borrower_release(&handles[0]), ZKL_OK);
    soon();
    zkl_testing_expire_session(lending_client);
    zkl_testing_sleep(2000);
    zkl_grant last = handles[0].grant;
    EXPECT_INT(borrower_acquire(&handles[0], 5000), ZKL_OK);
    EXPECT(handles[0].grant.token > last.token);
    borrowers_end();
}

/* ---- Readers --------------------------------------------------------------------------- */

TEST(readers_of_a_client_share_one_node) {
    borrowers_begin(10, 0, 0);
    for (size_t i = 0; i < 4; i++) {
        handles[i].mode = ZKL_READ;
        EXPECT_INT(borrower_acquire(&handles[i], i < 2 ? ZKL_FOREVER : 0), ZKL_OK);
        EXPECT_INT(handles[i].grant.mode, ZKL_READ);
    }
    EXPECT_INT(borrowers_nodes(), 1);
    relative_start_acquire(&rival, ZKL_FOREVER);
    for (size_t i = 0; i < 4; i++) {
        EXPECT_INT(rival.status, RELATIVE_WAITS);
        EXPECT_INT(borrower_release(&handles[i]), ZKL_OK);
        soon();
    }
    EXPECT_INT(relative_join(&rival), ZKL_OK);
    borrowers_end();
}

/* Where it is not known yet whether the loan is alone, a reader's try makes another. */
TEST(reader_that_has_had_the_newer_node_gets_no_older_one) {
    borrowers_begin(0, 0, BORROWER_RETAIN_MS);
    for (size_t i = 0; i < 3; i++) {
        handles[i].mode = ZKL_READ;
    }
    EXPECT_INT(borrower_acquire(&handles[0], ZKL_FOREVER), ZKL_OK);
    EXPECT_INT(borrower_acquire(&handles[1], 0), ZKL_OK);
    EXPECT_INT(borrowers_nodes(), 2);
    zkl_grant last = handles[1].grant;
    EXPECT(last.token > handles[0].grant.token);
    EXPECT_INT(borrower_release(&handles[1]), ZKL_OK);
    soon();
    EXPECT_INT(borrower_acquire(&handles[1], ZKL_FOREVER), ZKL_OK);
    EXPECT(is_later(&handles[1].grant, &last));
    EXPECT_INT(borrower_acquire(&handles[2], ZKL_FOREVER), ZKL_OK);
    EXPECT_INT(handles[2].grant.token, last.token);
    EXPECT_INT(borrower_release(&handles[0]), ZKL_OK);
    soon();
    EXPECT_INT(borrowers_nodes(), 1); /* the older one is not kept */
    borrowers_end();
}

TEST(modes_of_a_client_exclude_one_another) {
    borrowers_begin(10, 0, 0);
    handles[0].mode = ZKL_READ;
    handles[1].mode = ZKL_WRITE;
    EXPECT_INT(borrower_acquire(&handles[0], ZKL_FOREVER), ZKL_OK);
    EXPECT_INT(borrower_acquire(&handles[1], 0), ZKL_BUSY);
    borrower_start(&handles[1], ZKL_FOREVER);
    borrower_start(&handles[2], ZKL_FOREVER);
    EXPECT_INT(borrowers_nodes(), 3);
    EXPECT_INT(borrower_release(&handles[0]), ZKL_OK);
    EXPECT_INT(borrower_join(&handles[1]), ZKL_OK);
    EXPECT_INT(handles[2].status, RELATIVE_WAITS);
    EXPECT_INT(borrower_release(&handles[1]), ZKL_OK);
    EXPECT_INT(borrower_join(&handles[2]), ZKL_OK);
    borrowers_end();
}

/* ---- Those that wait go ----------------------------------------------------------------- */

TEST(each_has_its_own_deadline_and_cancel) {
    borrowers_begin(10, 0, 0);
    EXPECT_INT(relative_acquire(&rival, ZKL_FOREVER), ZKL_OK);
    borrower_start(&handles[0], 1000);
    borrower_start(&handles[1], 3000);
    borrower_start(&handles[2], ZKL_FOREVER);
    EXPECT_INT(borrowers_nodes(), 2);
    EXPECT_INT(borrower_join(&handles[0]), ZKL_TIMEOUT);
    EXPECT_INT(zkl_lock_cancel(handles[2].lock), ZKL_OK);
    EXPECT_INT(borrower_join(&handles[2]), ZKL_CANCELLED);
    soon();
    EXPECT_INT(borrowers_nodes(), 2);
    EXPECT_INT(borrower_join(&handles[1]), ZKL_TIMEOUT);
    soon();
    EXPECT_INT(borrowers_nodes(), 1);
    borrowers_end();
}

static void note_status(void *arg, int status, const zkl_grant *grant) {
    int *told = arg;
    (void)grant;
    *told = status;
}

/* The application may run that callback much later. */
TEST(waiter_whose_time_is_over_is_lent_nothing_before_its_callback_runs) {
    int told = RELATIVE_WAITS;
    borrowers_begin_dispatching(10);
    EXPECT_INT(borrower_acquire(&handles[0], ZKL_FOREVER), ZKL_OK);
    EXPECT_INT(zkl_lock_acquire_async(handles[1].lock, ZKL_EXCLUSIVE, RELATIVE_SOON_MS, NULL,
                                      note_status, &told),
               ZKL_OK);
    borrower_start(&handles[2], ZKL_FOREVER);
    soon();
    EXPECT_INT(borrower_release(&handles[0]), ZKL_OK);
    soon();
    EXPECT_INT(handles[2].status, ZKL_OK);
    EXPECT_INT(zkl_client_dispatch(lending_client, NULL), ZKL_OK);
    EXPECT_INT(told, ZKL_TIMEOUT);
    EXPECT_INT(borrower_join(&handles[2]), ZKL_OK);
    borrowers_end();
}

TEST(grant_at_once_is_kept_beyond_the_time_of_its_acquire) {
    int told = RELATIVE_WAITS;
    borrowers_begin_dispatching(10);
    handles[0].mode = ZKL_READ;
    EXPECT_INT(borrower_acquire(&handles[0], ZKL_FOREVER), ZKL_OK);
    soon();
    EXPECT_INT(zkl_lock_acquire_async(handles[1].lock, ZKL_READ, RELATIVE_SOON_MS, NULL,
                                      note_status, &told),
               ZKL_OK);
    EXPECT_INT(zkl_client_dispatch(lending_client, NULL), ZKL_OK);
    EXPECT_INT(told, ZKL_OK);
    zkl_testing_sleep(2 * RELATIVE_SOON_MS);
    EXPECT_INT(zkl_lock_check(handles[1].lock, NULL), ZKL_OK);
    borrowers_end();
}

TEST(holder_that_closes_hands_on) {
    borrowers_begin(10, 0, 0);
    EXPECT_INT(borrower_acquire(&handles[5], ZKL_FOREVER), ZKL_OK);
    borrower_start(&handles[0], ZKL_FOREVER);
    zkl_lock_close(handles[5].lock);
    handles_open = 5;
    EXPECT_INT(borrower_join(&handles[0]), ZKL_OK);
    EXPECT_INT(borrowers_nodes(), 1);
    borrowers_end();
}

/* ---- Losses ----------------------------------------------------------------------------- */

TEST(holder_and_waiters_learn_of_a_node_that_is_deleted) {
    borrowers_begin(10, 0, 0);
    EXPECT_INT(borrower_acquire(&handles[0], ZKL_FOREVER), ZKL_OK);
    borrower_start(&handles[1], ZKL_FOREVER);
    zkl_testing_sleep(RELATIVE_SESSION_MS); /* its node is watched */
    EXPECT_INT(zkl_testing_delete_node(handles[0].grant.node), 1);
    EXPECT_INT(borrower_join(&handles[1]), ZKL_OK);
    EXPECT_INT(zkl_lock_check(handles[0].lock, NULL), ZKL_LOST);
    EXPECT(handles[1].grant.token > handles[0].grant.token);
    EXPECT_INT(borrower_release(&handles[0]), ZKL_LOST);
    EXPECT_INT(zkl_lock_check(handles[1].lock, NULL), ZKL_OK);
    borrowers_end();
}

TEST(session_that_ends_while_all_wait_makes_them_wait_anew) {
    borrowers_begin(10, 0, 0);
    EXPECT_INT(relative_acquire(&rival, ZKL_FOREVER), ZKL_OK);
    borrower_start(&handles[0], ZKL_FOREVER);
    borrower_start(&handles[1], ZKL_FOREVER);
    zkl_testing_expire_session(lending_client);
    zkl_testing_sleep(2000);
    EXPECT_INT(borrowers_nodes(), 2);
    EXPECT_INT(relative_release(&rival), ZKL_OK);
    EXPECT_INT(borrower_join(&handles[0]), ZKL_OK);
    EXPECT_INT(borrower_release(&handles[0]), ZKL_OK);
    EXPECT_INT(borrower_join(&handles[1]), ZKL_OK);
    borrowers_end();
}

TEST(hold_limit_is_that_of_each_holder) {
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    borrowers_begin(10, 0, 0);
    zkl_lock_close(handles[0].lock);
    options.lending = &(zkl_lending){ sizeof(zkl_lending), .hand_offs = 10 };
    options.max_hold_ms = 1000;
    EXPECT_INT(zkl_lock_open(lending_client, "stock", &options, &handles[0].lock), ZKL_OK);
    EXPECT_INT(borrower_acquire(&handles[0], ZKL_FOREVER), ZKL_OK);
    borrower_start(&handles[1], ZKL_FOREVER);
    EXPECT_INT(borrower_release(&handles[0]), ZKL_OK);
    EXPECT_INT(borrower_join(&handles[1]), ZKL_OK);
    zkl_testing_sleep(3000);
    EXPECT_INT(zkl_lock_check(handles[1].lock, NULL), ZKL_OK);
    borrower_start(&handles[0], ZKL_FOREVER);
    EXPECT_INT(borrower_release(&handles[1]), ZKL_OK);
    EXPECT_INT(borrower_join(&handles[0]), ZKL_OK);
    borrower_start(&handles[1], ZKL_FOREVER);
    zkl_testing_sleep(2000);
    EXPECT_INT(zkl_lock_check(handles[0].lock, NULL), ZKL_LOST);
    EXPECT_INT(borrower_join(&handles[1]), ZKL_OK);
    borrowers_end();
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
    borrowers_begin(10, 0, 0);
    EXPECT_INT(borrower_acquire(&handles[0], ZKL_FOREVER), ZKL_OK);
    borrower_start(&handles[1], ZKL_FOREVER);
    zkl_testing_slow_servers(1000, 10000);
    zkl_transaction *transaction = commit(&handles[0], &status);
    EXPECT_INT(borrower_release(&handles[0]), ZKL_OK);
    zkl_testing_sleep(500);
    EXPECT_INT(handles[1].status, RELATIVE_WAITS);
    EXPECT_INT(borrower_join(&handles[1]), ZKL_OK);
    EXPECT_INT(handles[1].grant.local_number, 2);
    zkl_transaction_free(transaction);
    borrowers_end();
}

TEST(place_is_given_up_when_the_reply_to_a_transaction_is_lost) {
    int status = 0;
    borrowers_begin(10, 0, 0);
    EXPECT_INT(borrower_acquire(&handles[0], ZKL_FOREVER), ZKL_OK);
    borrower_start(&handles[1], ZKL_FOREVER);
    zkl_transaction *transaction = commit(&handles[0], &status);
    zkl_testing_disconnect(lending_client, 100);
    zkl_testing_sleep(3000);
    EXPECT_INT(status, ZKL_UNKNOWN);
    EXPECT_INT(borrower_release(&handles[0]), ZKL_OK);
    EXPECT_INT(borrower_join(&handles[1]), ZKL_OK);
    EXPECT_INT(handles[1].grant.local_number, 1);
    EXPECT(handles[1].grant.token > handles[0].grant.token);
    zkl_transaction_free(transaction);
    borrowers_end();
}

TEST(transaction_of_an_earlier_local_grant_is_not_committed) {
    zkl_transaction *transaction = NULL;
    borrowers_begin(0, 0, BORROWER_RETAIN_MS);
    EXPECT_INT(borrower_acquire(&handles[0], ZKL_FOREVER), ZKL_OK);
    EXPECT_INT(zkl_transaction_begin(handles[0].lock, &transaction), ZKL_OK);
    EXPECT_INT(borrower_release(&handles[0]), ZKL_OK);
    soon();
    EXPECT_INT(borrower_acquire(&handles[0], 0), ZKL_OK);
    EXPECT_INT(handles[0].grant.local_number, 2);
    EXPECT_INT(zkl_transaction_commit(transaction, 1000, NULL), ZKL_LOST);
    zkl_transaction_free(transaction);
    borrowers_end();
}

/* ---- What is refused ---------------------------------------------------------------------- */

static void expect_refused(zkl_lock_options options, const char *says) {
    zkl_lock *lock = NULL;
    EXPECT_REFUSED(zkl_lock_open(lending_client, "stock", &options, &lock), says);
}

TEST(what_does_not_go_together_is_refused) {
    zkl_lock *lock = NULL;
    zkl_lock_member member = ZKL_LOCK_MEMBER_INIT;
    borrowers_begin(10, 0, 0);
    zkl_lock_options given = ZKL_LOCK_OPTIONS_INIT;
    zkl_lending lending = ZKL_LENDING_INIT;
    member.resource = "stock";
    given.lending = &lending;
    expect_refused(given, "needs hand_offs or retain_ms");
    lending.priority = 1;
    lending.hand_off_ms = 1;
    expect_refused(given, "needs hand_offs or retain_ms");
    lending.hand_offs = 1;
    EXPECT_REFUSED(zkl_lock_open_set(lending_client, &member, 1, &given, &lock), "set");
    given.permits = 1;
    expect_refused(given, "permits");
    given.permits = 0;
    lending.retain_ms = 1;
    expect_refused(given, "lease_tick_ms");
    lending.retain_ms = -1;
    expect_refused(given, "retain_ms");
    lending.retain_ms = 0;
    lending.hand_off_ms = -1;
    expect_refused(given, "hand_off_ms");
    lending.hand_offs = ZKL_HAND_OFFS_MAX + 1;
    expect_refused(given, "hand_offs");
    lending = (zkl_lending)ZKL_LENDING_INIT;
    lending.struct_size--;
    expect_refused(given, "zkl_lending: struct_size");
    handles[0].mode = ZKL_WRITE;
    EXPECT_INT(borrower_acquire(&handles[0], ZKL_FOREVER), ZKL_OK);
    EXPECT_REFUSED(zkl_lock_downgrade(handles[0].lock, 1000), "lent");
    borrowers_end();
}

TEST(end_of_the_client_ends_all) {
    borrowers_begin(10, 0, 0);
    EXPECT_INT(borrower_acquire(&handles[0], ZKL_FOREVER), ZKL_OK);
    borrower_start(&handles[1], ZKL_FOREVER);
    EXPECT_INT(zkl_client_close(lending_client, RELATIVE_SESSION_MS), ZKL_OK);
    EXPECT_INT(borrower_join(&handles[1]), ZKL_CLOSED);
    EXPECT_INT(borrower_release(&handles[0]), ZKL_CLOSED);
    for (size_t i = 0; i < handles_open; i++) {
        zkl_lock_close(handles[i].lock);
    }
    relative_close(&rival);
    zkl_testing_expect_clean(RELATIVE_SESSION_MS);
    zkl_testing_end();
}

/* The client's sessions are gone by then. */
TEST(waiter_whose_thread_wakes_after_the_end_of_its_client_is_told_of_it) {
    borrowers_begin(10, 0, 0);
    EXPECT_INT(borrower_acquire(&handles[0], ZKL_FOREVER), ZKL_OK);
    zkl_testing_process *stopped = zkl_testing_process_make();
    zkl_testing_process_enter(stopped);
    borrower_start(&handles[1], ZKL_FOREVER);
    zkl_testing_process_enter(NULL);
    zkl_testing_pause(stopped, 10L * RELATIVE_SESSION_MS);
    EXPECT_INT(zkl_client_close(lending_client, RELATIVE_SESSION_MS), ZKL_OK);
    lending_client = NULL;
    EXPECT_INT(handles[1].status, RELATIVE_WAITS);
    EXPECT_INT(borrower_join(&handles[1]), ZKL_CLOSED);
    borrowers_end();
}
