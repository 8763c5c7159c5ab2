/*
 * Who shares a node, how long it is lent or kept, and how often: a bound that is wrong costs those
 * who share it, or those who wait elsewhere.
 */
#include <stdio.h>
#include <string.h>

#include "support/borrower.h"
#include "zklock/administration.h"

enum { HAND_OFFS = 10, HAND_OFF_MS = 2000 };

static void soon(void) {
    zkl_testing_sleep(RELATIVE_SOON_MS);
}

/* The client keeps the node of handles[0], and nobody uses it. */
static void begin_kept(void) {
    borrowers_begin(0, 0, BORROWER_RETAIN_MS);
    EXPECT_INT(borrower_acquire(&handles[0], ZKL_FOREVER), ZKL_OK);
    EXPECT_INT(borrower_release(&handles[0]), ZKL_OK);
    soon();
    EXPECT_INT(borrowers_nodes(), 1);
}

static void expect_kept(borrower *self, int64_t local_number) {
    uint64_t before = borrowers_requests();
    EXPECT_INT(borrower_acquire(self, 0), ZKL_OK);
    EXPECT_INT(self->grant.token, handles[0].grant.token);
    EXPECT_INT(self->grant.local_number, local_number);
    EXPECT_INT(borrowers_requests(), before);
    EXPECT_INT(borrower_release(self), ZKL_OK);
}

static void ignore_news(void *arg, const zkl_lock_event *event) {
    (void)event;
    (void)arg;
}

/* ---- What is told of them ------------------------------------------------------------------- */

static uint64_t deletions_of(const borrower *self) {
    zkl_lock_information now = ZKL_LOCK_INFORMATION_INIT;
    EXPECT_INT(zkl_lock_info(self->lock, &now), ZKL_OK);
    return now.pending_deletions;
}

/* Of the handles of one loan only the first has made the request. */
TEST(node_that_is_lent_is_no_deletion_of_any_handle) {
    borrowers_begin(10, 0, 0);
    EXPECT_INT(borrower_acquire(&handles[0], ZKL_FOREVER), ZKL_OK);
    borrower_start(&handles[1], ZKL_FOREVER);
    EXPECT_INT(deletions_of(&handles[1]), 0);
    EXPECT_INT(borrower_release(&handles[0]), ZKL_OK);
    EXPECT_INT(borrower_join(&handles[1]), ZKL_OK);
    EXPECT_INT(deletions_of(&handles[0]), 0);
    EXPECT_INT(deletions_of(&handles[1]), 0);
    EXPECT_INT(borrower_release(&handles[1]), ZKL_OK);
    EXPECT_INT(deletions_of(&handles[0]), 1); /* it has made the node */
    EXPECT_INT(deletions_of(&handles[1]), 0);
    zkl_testing_sleep(RELATIVE_SOON_MS);
    EXPECT_INT(deletions_of(&handles[0]), 0);
    borrowers_end();
}

TEST(deadline_without_a_connection_says_so_where_a_node_is_shared) {
    borrowers_begin(10, 0, 0);
    EXPECT_INT(borrower_acquire(&handles[0], ZKL_FOREVER), ZKL_OK);
    borrower_start(&handles[1], 1000);
    zkl_testing_disconnect(lending_client, 3000);
    EXPECT_INT(borrower_join(&handles[1]), ZKL_DISCONNECTED);
    zkl_testing_sleep(RELATIVE_SESSION_MS);
    borrowers_end();
}

static bool record_has(const char *text) {
    static char bytes[256 * 1024];
    static const char *const path = "/tmp/zklock-lending-record-test";
    EXPECT_INT(zkl_client_write_record(lending_client, path), ZKL_OK);
    FILE *file = fopen(path, "r");
    EXPECT(file != NULL);
    bytes[file != NULL ? fread(bytes, 1, sizeof(bytes) - 1, file) : 0] = '\0';
    if (file != NULL) {
        (void)fclose(file);
    }
    EXPECT_INT(remove(path), 0);
    return strstr(bytes, text) != NULL;
}

/* Who was granted a lock without a request sees why. */
TEST(record_tells_of_what_is_lent) {
    borrowers_begin(10, 0, 0);
    EXPECT_INT(borrower_acquire(&handles[0], ZKL_FOREVER), ZKL_OK);
    borrower_start(&handles[1], ZKL_FOREVER);
    EXPECT_INT(borrower_release(&handles[0]), ZKL_OK);
    EXPECT_INT(borrower_join(&handles[1]), ZKL_OK);
    EXPECT(record_has(" RETURNED in_touch watched -> LEND count=1 number=2\n"));
    handles[2].mode = ZKL_READ;
    borrower_start(&handles[2], ZKL_FOREVER);
    EXPECT(record_has(" loan=2 STEP reads hand_offs_max=10 CAME -> nothing\n"));
    EXPECT_INT(borrower_release(&handles[1]), ZKL_OK);
    EXPECT_INT(borrower_join(&handles[2]), ZKL_OK);
    borrowers_end();
}

/* A reader with a hold limit. */
TEST(grant_of_a_node_of_its_own_has_no_local_number) {
    zkl_lending lending = { .struct_size = sizeof(lending), .hand_offs = 10 };
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    borrowers_begin(10, 0, 0);
    options.lending = &lending;
    options.max_hold_ms = 60000;
    borrower_open_again(&handles[0], &options);
    handles[0].mode = ZKL_WRITE;
    EXPECT_INT(borrower_acquire(&handles[0], ZKL_FOREVER), ZKL_OK);
    EXPECT_INT(handles[0].grant.local_number, 1);
    EXPECT_INT(borrower_release(&handles[0]), ZKL_OK);
    handles[0].mode = ZKL_READ;
    EXPECT_INT(borrower_acquire(&handles[0], ZKL_FOREVER), ZKL_OK);
    EXPECT_INT(handles[0].grant.local_number, 0);
    borrowers_end();
}

static bool shows(const char *series, int value) {
    static char text[64 * 1024];
    char wanted[128];
    size_t length = 0;
    EXPECT_INT(zkl_client_metrics(lending_client, text, sizeof(text), &length), ZKL_OK);
    const char *found = strstr(text, series);
    found = found != NULL ? strstr(found, "} ") : NULL;
    snprintf(wanted, sizeof(wanted), "} %d\n", value);
    return found != NULL && strncmp(found, wanted, strlen(wanted)) == 0;
}

TEST(gauges_count_handles_and_not_the_node_that_they_share) {
    borrowers_begin(10, 0, BORROWER_RETAIN_MS);
    EXPECT_INT(borrower_acquire(&handles[0], ZKL_FOREVER), ZKL_OK);
    borrower_start(&handles[1], ZKL_FOREVER);
    borrower_start(&handles[2], ZKL_FOREVER);
    EXPECT(shows("\nzklock_held{", 1));
    EXPECT(shows("\nzklock_waiting{", 2));
    EXPECT_INT(borrower_release(&handles[0]), ZKL_OK);
    EXPECT_INT(borrower_join(&handles[1]), ZKL_OK);
    EXPECT(shows("\nzklock_held{", 1));
    EXPECT(shows("\nzklock_waiting{", 1));
    EXPECT_INT(borrower_release(&handles[1]), ZKL_OK);
    EXPECT_INT(borrower_join(&handles[2]), ZKL_OK);
    EXPECT_INT(borrower_release(&handles[2]), ZKL_OK);
    EXPECT_INT(borrowers_nodes(), 1);
    EXPECT(shows("\nzklock_held{", 0)); /* it is kept, and nobody holds it */
    EXPECT(shows("\nzklock_waiting{", 0));
    borrowers_end();
}

/* ---- Who shares a node ---------------------------------------------------------------------- */

static zkl_lending lending; /* of the options that were made last */

static zkl_lock_options kept_options(void) {
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    lending = (zkl_lending)ZKL_LENDING_INIT;
    lending.retain_ms = BORROWER_RETAIN_MS;
    options.lending = &lending;
    return options;
}

static void expect_node_of_its_own(const zkl_lock_options *options) {
    begin_kept();
    borrower_open_again(&handles[1], options);
    EXPECT_INT(borrower_acquire(&handles[1], 5000), ZKL_OK);
    EXPECT(handles[1].grant.token > handles[0].grant.token);
    EXPECT_INT(handles[1].grant.local_number, 1);
    borrowers_end();
}

TEST(handles_whose_nodes_would_differ_share_none) {
    zkl_lock_options options = kept_options();
    options.revocable = 1; /* its node is not protected */
    options.state_callback = ignore_news;
    expect_node_of_its_own(&options);
    options = kept_options();
    options.node_acl = "world:anyone:cdrwa";
    expect_node_of_its_own(&options);
    options = kept_options();
    options.parent_acl = "world:anyone:cdrwa";
    expect_node_of_its_own(&options);
}

TEST(handles_that_are_lent_to_otherwise_share_no_node) {
    zkl_lock_options options = kept_options();
    lending.hand_offs = 1;
    expect_node_of_its_own(&options);
    lending.hand_offs = 0;
    lending.retain_ms--;
    expect_node_of_its_own(&options);
    options = kept_options();
    options.fail_on_session_expiry = 1;
    expect_node_of_its_own(&options);
    options = kept_options();
    lending.hand_off_ms = 1000;
    expect_node_of_its_own(&options);
}

TEST(handles_that_differ_in_what_is_their_own_share_a_node) {
    zkl_lock_options options = kept_options();
    options.max_hold_ms = 1000;
    lending.priority = 1;
    options.state_callback = ignore_news;
    begin_kept();
    borrower_open_again(&handles[1], &options);
    expect_kept(&handles[1], 2);
    borrowers_end();
}

/* ---- Readers that cannot share it --------------------------------------------------------------
 */

static void begin_reading(int32_t hand_offs, int64_t retain_ms) {
    borrowers_begin(hand_offs, 0, retain_ms);
    for (size_t i = 0; i < BORROWERS; i++) {
        handles[i].mode = ZKL_READ;
    }
    EXPECT_INT(borrower_acquire(&handles[0], ZKL_FOREVER), ZKL_OK);
    zkl_testing_sleep(RELATIVE_SESSION_MS);
}

/* It has a node of its own, and the next one shares that. */
static void expect_reading_beside_the_first(void) {
    EXPECT_INT(borrower_join(&handles[1]), ZKL_OK);
    EXPECT(handles[1].grant.token > handles[0].grant.token);
    EXPECT_INT(zkl_lock_check(handles[0].lock, NULL), ZKL_OK);
    EXPECT_INT(borrower_acquire(&handles[2], RELATIVE_SESSION_MS), ZKL_OK);
    EXPECT_INT(handles[2].grant.token, handles[1].grant.token);
    EXPECT_INT(borrower_release(&handles[0]), ZKL_OK);
    soon();
    EXPECT_INT(borrowers_nodes(), 1);
    borrowers_end();
}

/* Until something is written nobody knows whether the session has ended meanwhile. */
TEST(reader_that_comes_after_a_reconnect_does_not_wait_for_another) {
    begin_reading(HAND_OFFS, 0);
    zkl_testing_disconnect(lending_client, 50);
    zkl_testing_sleep(RELATIVE_SESSION_MS);
    borrower_start(&handles[1], RELATIVE_SESSION_MS);
    expect_reading_beside_the_first();
}

TEST(reader_that_comes_while_disconnected_does_not_wait_for_another) {
    static const int64_t retain_ms[] = { 0, BORROWER_RETAIN_MS }; /* and with a lease */
    for (size_t i = 0; i < COUNT_OF(retain_ms); i++) {
        begin_reading(HAND_OFFS, retain_ms[i]);
        zkl_testing_disconnect(lending_client, 500);
        soon();
        borrower_start(&handles[1], RELATIVE_SESSION_MS);
        expect_reading_beside_the_first();
    }
}

TEST(reader_does_not_wait_for_another_because_a_writer_has_come_and_gone) {
    char writer[ZKL_NODE_PATH_SIZE];
    begin_reading(0, BORROWER_RETAIN_MS);
    zkl_testing_add_contender(RELATIVE_RESOURCE, ZKL_WRITE, writer);
    soon();
    EXPECT_INT(zkl_testing_delete_node(writer), 1);
    soon();
    borrower_start(&handles[1], RELATIVE_SESSION_MS);
    expect_reading_beside_the_first();
}

/* ---- How long it is kept -------------------------------------------------------------------- */

TEST(kept_node_outlives_all_its_handles_but_the_last) {
    begin_kept();
    for (size_t i = BORROWERS - 1; i > 0; i--) {
        zkl_lock_close(handles[i].lock);
        handles_open = i;
        expect_kept(&handles[0], handles[0].grant.local_number + 1);
    }
    zkl_lock_close(handles[0].lock);
    handles_open = 0;
    soon();
    EXPECT_INT(borrowers_nodes(), 0);
    borrowers_end();
}

TEST(kept_node_outlives_the_hold_limit_of_its_last_holder) {
    zkl_lock_options options = kept_options();
    options.max_hold_ms = 1000;
    begin_kept();
    borrower_open_again(&handles[1], &options);
    expect_kept(&handles[1], 2);
    zkl_testing_sleep(3 * options.max_hold_ms);
    expect_kept(&handles[2], 3);
    borrowers_end();
}

TEST(node_is_kept_from_its_release_on) {
    begin_kept();
    EXPECT_INT(borrower_acquire(&handles[0], 0), ZKL_OK);
    zkl_testing_sleep(2L * BORROWER_RETAIN_MS);
    EXPECT_INT(borrower_release(&handles[0]), ZKL_OK);
    zkl_testing_sleep(BORROWER_RETAIN_MS - 1000);
    EXPECT_INT(borrowers_nodes(), 1);
    zkl_testing_sleep(2000);
    EXPECT_INT(borrowers_nodes(), 0);
    borrowers_end();
}

/* ---- How long it is passed on --------------------------------------------------------------- */

static zkl_lock_options revocable_options(void) {
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    lending = (zkl_lending)ZKL_LENDING_INIT;
    lending.hand_offs = HAND_OFFS;
    lending.hand_off_ms = HAND_OFF_MS;
    options.lending = &lending;
    options.revocable = 1;
    options.state_callback = ignore_news;
    return options;
}

TEST(whoever_asks_for_the_lock_while_others_wait_prolongs_nothing) {
    const zkl_lock_options options = revocable_options();
    borrowers_begin(HAND_OFFS, HAND_OFF_MS, 0);
    borrower_open_again(&handles[0], &options);
    borrower_open_again(&handles[1], &options);
    EXPECT_INT(borrower_acquire(&handles[0], ZKL_FOREVER), ZKL_OK);
    relative_start_acquire(&rival, ZKL_FOREVER);
    borrower_start(&handles[1], ZKL_FOREVER);
    zkl_testing_sleep(HAND_OFF_MS / 2);
    EXPECT_INT(
        zkl_node_revoke(rival.client, "stock", strrchr(handles[0].grant.node, '/') + 1, 1000),
        ZKL_OK);
    zkl_testing_sleep(HAND_OFF_MS / 2);
    EXPECT_INT(borrower_release(&handles[0]), ZKL_OK);
    EXPECT_INT(relative_join(&rival), ZKL_OK);
    EXPECT_INT(handles[1].status, RELATIVE_WAITS);
    EXPECT_INT(relative_release(&rival), ZKL_OK);
    EXPECT_INT(borrower_join(&handles[1]), ZKL_OK);
    borrowers_end();
}

/* ---- Transactions that were never sent ------------------------------------------------------ */

TEST(lock_is_handed_on_after_a_transaction_that_was_never_sent) {
    zkl_transaction *transaction = NULL;
    borrowers_begin(HAND_OFFS, 0, BORROWER_RETAIN_MS);
    EXPECT_INT(borrower_acquire(&handles[0], ZKL_FOREVER), ZKL_OK);
    borrower_start(&handles[1], ZKL_FOREVER);
    EXPECT_INT(zkl_transaction_begin(handles[0].lock, &transaction), ZKL_OK);
    EXPECT_INT(zkl_transaction_set(transaction, "/locks", "x", 1, ZKL_ANY_VERSION), ZKL_OK);
    zkl_testing_disconnect(lending_client, 1000);
    soon();
    EXPECT_INT(zkl_transaction_commit(transaction, 300, NULL), ZKL_TIMEOUT);
    zkl_testing_sleep(RELATIVE_SESSION_MS);
    EXPECT_INT(zkl_lock_check(handles[0].lock, NULL), ZKL_OK);
    EXPECT_INT(borrower_release(&handles[0]), ZKL_OK);
    EXPECT_INT(borrower_join(&handles[1]), ZKL_OK);
    EXPECT_INT(handles[1].grant.token, handles[0].grant.token);
    EXPECT_INT(handles[1].grant.local_number, 2);
    zkl_transaction_free(transaction);
    borrowers_end();
}
