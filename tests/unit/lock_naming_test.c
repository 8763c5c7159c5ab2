/*
 * Handles whose nodes have the names of kazoo or of Curator's LeaderLatch, as stories on the
 * simulated servers.
 */
#include <string.h>

#include "support/borrower.h"
#include "zklock/administration.h"
#include "zklock/election.h"

enum { LONG_MS = 60000 };

static relative one, other;

static zkl_lock_options of(zkl_naming naming) {
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    options.naming = naming;
    return options;
}

static void begin(zkl_mode mode, zkl_naming naming, zkl_mode other_mode, zkl_naming others) {
    zkl_lock_options options = of(naming);
    zkl_lock_options other_options = of(others);
    zkl_testing_begin(NULL);
    relative_open(&one, mode, &options);
    relative_open(&other, other_mode, &other_options);
}

static void end(void) {
    relative_close(&one);
    relative_close(&other);
    zkl_testing_expect_clean(RELATIVE_SESSION_MS);
    zkl_testing_end();
}

/* Tells whether a node's name has this between its UUID and its sequence. */
static bool has_marker(const char *node, const char *marker, size_t uuid_length) {
    const char *name = strrchr(node, '/') + 1;
    return strlen(name) == uuid_length + strlen(marker) + 10 &&
           strncmp(name + uuid_length, marker, strlen(marker)) == 0;
}

TEST(nodes_have_the_names_that_are_asked_for) {
    begin(ZKL_EXCLUSIVE, ZKL_NAMING_KAZOO, ZKL_EXCLUSIVE, ZKL_NAMING_LEADER_LATCH);
    EXPECT_INT(relative_acquire(&one, LONG_MS), ZKL_OK);
    EXPECT(has_marker(one.grant.node, "__lock__", 32));
    EXPECT_INT(relative_release(&one), ZKL_OK);
    one.mode = ZKL_READ;
    EXPECT_INT(relative_acquire(&one, LONG_MS), ZKL_OK);
    EXPECT(has_marker(one.grant.node, "__rlock__", 32));
    EXPECT_INT(relative_release(&one), ZKL_OK);
    EXPECT_INT(relative_acquire(&other, LONG_MS), ZKL_OK);
    EXPECT(has_marker(other.grant.node, "-latch-", 3 + 36));
    end();
}

/* By the event alone: without a list after the release. */
TEST(release_is_handed_over_between_kazoos_names) {
    begin(ZKL_EXCLUSIVE, ZKL_NAMING_KAZOO, ZKL_WRITE, ZKL_NAMING_KAZOO);
    EXPECT_INT(relative_acquire(&one, LONG_MS), ZKL_OK);
    relative_start_acquire(&other, LONG_MS);
    zkl_testing_sleep(RELATIVE_SOON_MS);
    uint64_t lists = relative_count(&other, ZKL_CALL_LIST);
    EXPECT_INT(relative_release(&one), ZKL_OK);
    EXPECT_INT(relative_join(&other), ZKL_OK);
    EXPECT_INT(relative_count(&other, ZKL_CALL_LIST), lists);
    EXPECT(other.grant.token > one.grant.token);
    end();
}

TEST(handle_with_the_names_of_curator_waits_for_one_with_kazoos) {
    begin(ZKL_EXCLUSIVE, ZKL_NAMING_KAZOO, ZKL_READ, ZKL_NAMING_CURATOR);
    EXPECT_INT(relative_acquire(&one, LONG_MS), ZKL_OK);
    EXPECT_INT(relative_acquire(&other, 0), ZKL_BUSY);
    relative_start_acquire(&other, LONG_MS);
    zkl_testing_sleep(RELATIVE_SOON_MS);
    EXPECT_INT(other.status, RELATIVE_WAITS);
    EXPECT_INT(relative_release(&one), ZKL_OK);
    EXPECT_INT(relative_join(&other), ZKL_OK);
    end();
}

TEST(handle_with_kazoos_names_is_refused_behind_one_with_curators) {
    begin(ZKL_EXCLUSIVE, ZKL_NAMING_CURATOR, ZKL_EXCLUSIVE, ZKL_NAMING_KAZOO);
    EXPECT_INT(relative_acquire(&one, LONG_MS), ZKL_OK);
    EXPECT_INT(relative_acquire(&other, 0), ZKL_USED_DIFFERENTLY);
    EXPECT_INT(relative_acquire(&other, LONG_MS), ZKL_USED_DIFFERENTLY);
    EXPECT_TEXT(zkl_error_message(), "resource \"stock\": an earlier request in its queue does not "
                                     "have the names of kazoo, which would not wait for it");
    EXPECT_INT(relative_release(&one), ZKL_OK);
    zkl_testing_sleep(RELATIVE_SOON_MS);
    EXPECT_INT(zkl_testing_count_children(RELATIVE_RESOURCE), 0);
    EXPECT_INT(relative_acquire(&other, LONG_MS), ZKL_OK);
    end();
}

/* Its waiters may take the end of a node that is named "__lock__" for a release; and there may be a
 * reader in its place. */
TEST(downgrade_of_a_writer_with_kazoos_names_is_refused) {
    begin(ZKL_WRITE, ZKL_NAMING_KAZOO, ZKL_READ, ZKL_NAMING_KAZOO);
    EXPECT_INT(relative_acquire(&one, LONG_MS), ZKL_OK);
    EXPECT_REFUSED(zkl_lock_downgrade(one.lock, LONG_MS), "naming");
    EXPECT_INT(relative_info(&one).mode, ZKL_WRITE);
    EXPECT_INT(relative_acquire(&other, 0), ZKL_BUSY);
    EXPECT_INT(relative_release(&one), ZKL_OK);
    EXPECT_INT(relative_acquire(&other, LONG_MS), ZKL_OK);
    EXPECT_INT(zkl_lock_downgrade(other.lock, LONG_MS), ZKL_OK); /* reads already */
    end();
}

TEST(reader_with_kazoos_names_is_upgraded_to_its_lock) {
    begin(ZKL_READ, ZKL_NAMING_KAZOO, ZKL_READ, ZKL_NAMING_KAZOO);
    EXPECT_INT(relative_acquire(&one, LONG_MS), ZKL_OK);
    int64_t token = one.grant.token;
    EXPECT_INT(zkl_lock_try_upgrade(one.lock, &one.grant), ZKL_OK);
    EXPECT(has_marker(one.grant.node, "__lock__", 32));
    EXPECT(one.grant.token > token);
    EXPECT_INT(relative_acquire(&other, 0), ZKL_BUSY);
    end();
}

TEST(handles_with_other_names_do_not_borrow_the_same_node) {
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    zkl_lending lending = ZKL_LENDING_INIT;
    borrowers_begin(10, 0, 0);
    lending.hand_offs = 10;
    options.lending = &lending;
    options.naming = ZKL_NAMING_KAZOO;
    borrower_open_again(&handles[0], &options);
    borrower_open_again(&handles[1], &options);
    EXPECT_INT(borrower_acquire(&handles[0], LONG_MS), ZKL_OK);
    EXPECT(has_marker(handles[0].grant.node, "__lock__", 32));
    borrower_start(&handles[1], LONG_MS);
    borrower_start(&handles[2], LONG_MS);
    EXPECT_INT(borrowers_nodes(), 2);
    EXPECT_INT(borrower_release(&handles[0]), ZKL_OK);
    EXPECT_INT(borrower_join(&handles[1]), ZKL_OK);
    EXPECT_TEXT(handles[1].grant.node, handles[0].grant.node);
    EXPECT_INT(borrower_release(&handles[1]), ZKL_OK);
    EXPECT_INT(borrower_join(&handles[2]), ZKL_OK);
    EXPECT(has_marker(handles[2].grant.node, "-lock-", 3 + 36));
    borrowers_end();
}

TEST(candidate_has_the_names_of_a_latch) {
    zkl_election *election = NULL;
    zkl_election_options options = ZKL_ELECTION_OPTIONS_INIT;
    begin(ZKL_EXCLUSIVE, ZKL_NAMING_LEADER_LATCH, ZKL_EXCLUSIVE, ZKL_NAMING_KAZOO);
    options.naming = ZKL_NAMING_LEADER_LATCH;
    EXPECT_INT(zkl_election_open(other.client, "stock", &options, &election), ZKL_OK);
    EXPECT_INT(relative_acquire(&one, LONG_MS), ZKL_OK);
    EXPECT_INT(zkl_election_campaign(election, 0, NULL), ZKL_BUSY);
    EXPECT_INT(relative_release(&one), ZKL_OK);
    EXPECT_INT(zkl_election_campaign(election, LONG_MS, NULL), ZKL_OK);
    EXPECT_INT(relative_acquire(&one, 0), ZKL_BUSY); /* refused behind other names */
    zkl_election_close(election);
    zkl_testing_sleep(RELATIVE_SOON_MS);
    options.reserved = 1;
    EXPECT_REFUSED(zkl_election_open(other.client, "stock", &options, &election), "reserved");
    options.reserved = 0;
    options.naming = (zkl_naming)-1;
    EXPECT_REFUSED(zkl_election_open(other.client, "stock", &options, &election), "naming");
    end();
}

static void never_called(void *arg, int64_t term) {
    (void)arg;
    (void)term;
    EXPECT(false);
}

static void ignore_news(void *arg, const zkl_lock_event *event) {
    (void)arg;
    (void)event;
}

/* A latch that waits hears of a change, ignores it, and has no watch left for the deletion. */
TEST(nobody_asks_for_what_a_latch_may_wait_for) {
    zkl_lock *lock = NULL;
    zkl_election *election = NULL;
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    zkl_election_options its_options = ZKL_ELECTION_OPTIONS_INIT;
    begin(ZKL_EXCLUSIVE, ZKL_NAMING_LEADER_LATCH, ZKL_EXCLUSIVE, ZKL_NAMING_KAZOO);
    options.naming = ZKL_NAMING_LEADER_LATCH;
    options.revocable = 1;
    options.state_callback = ignore_news;
    EXPECT_REFUSED(zkl_lock_open(one.client, "stock", &options, &lock), "revocable");
    its_options.naming = ZKL_NAMING_LEADER_LATCH;
    its_options.resignation_asked = never_called;
    EXPECT_REFUSED(zkl_election_open(one.client, "stock", &its_options, &election), "revocable");
    EXPECT_REFUSED(zkl_node_revoke(one.client, "stock",
                                   "_c_0a1b2c3d-4e5f-4678-9abc-def012345678-latch-0000000001",
                                   1000),
                   "LeaderLatch");
    end();
}

/* ---- Semaphores of other libraries -------------------------------------------------------- */

static void make(int64_t session_id, const char *path) {
    EXPECT_INT(zkl_ensemble_create(zkl_ensemble_current(), session_id, path, NULL, session_id != 0,
                                   false, NULL, 0),
               ZKL_SERVER_ERROR_NONE);
}

/* A lock goes on: its resource may have resources of such names below it. */
static void expect_refused_for_permits_only(void) {
    zkl_lock *permit = NULL;
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    options.permits = 2;
    EXPECT_INT(zkl_lock_open(one.client, "stock", &options, &permit), ZKL_OK);
    EXPECT_INT(zkl_lock_acquire(permit, ZKL_EXCLUSIVE, 0, NULL), ZKL_USED_DIFFERENTLY);
    EXPECT_INT(zkl_lock_acquire(permit, ZKL_EXCLUSIVE, LONG_MS, NULL), ZKL_USED_DIFFERENTLY);
    EXPECT(strstr(zkl_error_message(), "a semaphore of Curator or kazoo") != NULL);
    zkl_lock_close(permit);
    EXPECT_INT(relative_acquire(&one, LONG_MS), ZKL_OK);
    EXPECT_INT(relative_release(&one), ZKL_OK);
}

static void begin_with_semaphore(void) {
    begin(ZKL_EXCLUSIVE, ZKL_NAMING_CURATOR, ZKL_EXCLUSIVE, ZKL_NAMING_KAZOO);
    EXPECT_INT(relative_acquire(&one, LONG_MS), ZKL_OK); /* makes the resource */
    EXPECT_INT(relative_release(&one), ZKL_OK);
}

TEST(permits_beside_curators_semaphore_are_refused) {
    begin_with_semaphore();
    make(0, RELATIVE_RESOURCE "/leases");
    make(0, RELATIVE_RESOURCE "/locks");
    expect_refused_for_permits_only();
    end();
}

TEST(permits_beside_a_lease_of_kazoo_are_refused) {
    begin_with_semaphore();
    make(zkl_ensemble_make_session(zkl_ensemble_current()),
         RELATIVE_RESOURCE "/0123456789ab4cde8f01230123456789");
    expect_refused_for_permits_only();
    end();
}

/* ---- What is refused ---------------------------------------------------------------------- */

TEST(naming_that_does_not_go_with_the_other_options_is_refused) {
    zkl_lock *lock = NULL;
    zkl_lock_member member = ZKL_LOCK_MEMBER_INIT;
    begin(ZKL_EXCLUSIVE, ZKL_NAMING_LEADER_LATCH, ZKL_EXCLUSIVE, ZKL_NAMING_KAZOO);
    zkl_lock_options options = of((zkl_naming)3);
    EXPECT_REFUSED(zkl_lock_open(one.client, "stock", &options, &lock), "naming 3");
    options = of(ZKL_NAMING_KAZOO);
    options.permits = 2;
    EXPECT_REFUSED(zkl_lock_open(one.client, "stock", &options, &lock), "permits");
    options.permits = 0;
    member.resource = "stock";
    member.permits = 2;
    EXPECT_REFUSED(zkl_lock_open_set(one.client, &member, 1, &options, &lock), "permits");
    options.naming = ZKL_NAMING_LEADER_LATCH;
    member.permits = 0;
    member.mode = ZKL_READ;
    EXPECT_REFUSED(zkl_lock_open_set(one.client, &member, 1, &options, &lock), "mode 1");
    one.mode = ZKL_READ;
    EXPECT_REFUSED(relative_acquire(&one, LONG_MS), "mode 1");
    one.mode = ZKL_WRITE;
    EXPECT_REFUSED(relative_acquire(&one, LONG_MS), "mode 2");
    end();
}

TEST(set_has_the_names_that_are_asked_for) {
    zkl_lock *set = NULL;
    zkl_lock_member members[] = { ZKL_LOCK_MEMBER_INIT, ZKL_LOCK_MEMBER_INIT };
    zkl_grant grant = ZKL_GRANT_INIT;
    begin(ZKL_READ, ZKL_NAMING_KAZOO, ZKL_READ, ZKL_NAMING_KAZOO);
    zkl_lock_options options = of(ZKL_NAMING_KAZOO);
    members[0].resource = "stock";
    members[0].mode = ZKL_WRITE;
    members[1].resource = "orders";
    members[1].mode = ZKL_READ;
    EXPECT_INT(zkl_lock_open_set(one.client, members, 2, &options, &set), ZKL_OK);
    EXPECT_INT(zkl_lock_acquire(set, ZKL_AS_OPENED, LONG_MS, &grant), ZKL_OK);
    EXPECT(has_marker(grant.node, "__lock__", 32));
    EXPECT_INT(relative_acquire(&other, 0), ZKL_BUSY);
    zkl_lock_close(set);
    end();
}
