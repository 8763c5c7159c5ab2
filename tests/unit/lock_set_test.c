/*
 * Sets on simulated servers: all or none, in one transaction, and no circle of
 * waiting, whatever order callers name their resources in.
 */
#include "zklock/zklock.h"

#include <stdio.h>
#include <stdlib.h>

#include "support/async_caller.h"
#include "testing/ensemble.h"

enum { SESSION_MS = 4000, SOON_MS = 200, LONG_MS = 60000 };

typedef struct caller {
    zkl_client *client;
    zkl_lock *set;
    int64_t timeout_ms;
    int status;
    zkl_grant grant;
} caller;

static zkl_lock *open_two(zkl_client *client, const char *one, const char *other) {
    zkl_lock_member members[] = { ZKL_LOCK_MEMBER_INIT, ZKL_LOCK_MEMBER_INIT };
    members[0].resource = one;
    members[1].resource = other;
    zkl_lock *set = NULL;
    EXPECT_INT(zkl_lock_open_set(client, members, 2, NULL, &set), ZKL_OK);
    return set;
}

static zkl_client *open_client(int32_t lease_tick_ms) {
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    options.session_timeout_ms = SESSION_MS;
    options.lease_tick_ms = lease_tick_ms;
    zkl_client *client = NULL;
    EXPECT_INT(zkl_client_open("server:2181", &options, &client), ZKL_OK);
    return client;
}

static void open_caller(caller *self, const char *one, const char *other) {
    *self = (caller){ .timeout_ms = ZKL_FOREVER, .status = 1 };
    self->grant = (zkl_grant)ZKL_GRANT_INIT;
    self->client = open_client(0);
    self->set = open_two(self->client, one, other);
}

static void close_caller(caller *self) {
    zkl_lock_close(self->set);
    EXPECT_INT(zkl_client_close(self->client, LONG_MS), ZKL_OK);
}

static void acquire(void *arg) {
    caller *self = arg;
    self->status = zkl_lock_acquire(self->set, ZKL_AS_OPENED, self->timeout_ms, &self->grant);
}

static void begin(caller *self) {
    zkl_testing_begin(NULL);
    open_caller(self, "stock", "orders");
}

static void end(caller *self) {
    close_caller(self);
    zkl_testing_expect_clean(LONG_MS);
    zkl_testing_end();
}

/* ---- All ------------------------------------------------------------------------------------ */

TEST(all_are_held_with_one_token_and_released) {
    caller self;
    begin(&self);
    acquire(&self);
    EXPECT_INT(self.status, ZKL_OK);
    EXPECT(self.grant.token > 0);
    set_expect_nodes(1, 1);
    EXPECT_INT(zkl_lock_check(self.set, NULL), ZKL_OK);
    EXPECT_INT(zkl_lock_release(self.set, ZKL_FOREVER), ZKL_OK);
    set_expect_nodes(0, 0);
    EXPECT_INT(zkl_lock_check(self.set, NULL), ZKL_NOT_HELD);
    end(&self);
}

/* ---- Or none -------------------------------------------------------------------------------- */

TEST(try_that_finds_one_of_them_taken_leaves_nothing) {
    caller self;
    begin(&self);
    char other[ZKL_NODE_PATH_SIZE];
    zkl_testing_add_contender(SET_ORDERS, ZKL_EXCLUSIVE, other);
    self.timeout_ms = 0;
    acquire(&self);
    EXPECT_INT(self.status, ZKL_BUSY);
    zkl_testing_sleep(SOON_MS);
    EXPECT_INT(zkl_testing_count_children(SET_ORDERS), 1);
    EXPECT_INT(zkl_testing_delete_node(other), 1);
    zkl_testing_sleep(SOON_MS); /* until our server knows */
    acquire(&self);
    EXPECT_INT(self.status, ZKL_OK);
    end(&self);
}

TEST(deadline_that_passes_leaves_nothing) {
    caller self;
    begin(&self);
    char other[ZKL_NODE_PATH_SIZE];
    zkl_testing_add_contender(SET_ORDERS, ZKL_EXCLUSIVE, other);
    self.timeout_ms = SOON_MS;
    acquire(&self);
    EXPECT_INT(self.status, ZKL_TIMEOUT);
    zkl_testing_sleep(SOON_MS);
    set_expect_nodes(0, 1);
    EXPECT_INT(zkl_testing_delete_node(other), 1);
    end(&self);
}

/* Whichever of them it is: a caller would try again where the servers had only turned it away. */
TEST(member_that_is_forbidden_is_told_as_such_to_a_try_and_to_who_waits) {
    static const char *const forbidden[] = { SET_STOCK, SET_ORDERS };
    static const int64_t timeouts_ms[] = { 0, LONG_MS };
    for (size_t i = 0; i < 4; i++) {
        caller self;
        begin(&self);
        acquire(&self); /* the resources are there */
        EXPECT_INT(zkl_lock_release(self.set, ZKL_FOREVER), ZKL_OK);
        zkl_ensemble_withhold(zkl_ensemble_current(), forbidden[i / 2], ZKL_RIGHT_CREATE,
                              LONG_MS * 1000LL);
        self.timeout_ms = timeouts_ms[i % 2];
        acquire(&self);
        EXPECT_INT(self.status, ZKL_NO_PERMISSION);
        zkl_testing_sleep(SOON_MS);
        set_expect_nodes(0, 0);
        end(&self);
    }
}

/* ---- A transaction that is lost, and comes late -----------------------------------------------
 */

TEST(nodes_of_a_transaction_that_was_held_back_do_not_stay) {
    caller self;
    begin(&self);
    acquire(&self); /* the resources are there */
    EXPECT_INT(zkl_lock_release(self.set, ZKL_FOREVER), ZKL_OK);
    zkl_ensemble_cut_next(zkl_ensemble_current(),
                          zkl_ensemble_session_at(zkl_ensemble_current(), 0), ZKL_CALL_CREATE,
                          ZKL_CUT_HELD_BACK, SESSION_MS * 1000LL);
    acquire(&self);
    EXPECT_INT(self.status, ZKL_OK);
    zkl_testing_sleep(SESSION_MS);
    set_expect_nodes(2, 2);
    EXPECT_INT(zkl_lock_release(self.set, ZKL_FOREVER), ZKL_OK);
    zkl_testing_sleep(SOON_MS);
    set_expect_nodes(0, 0);
    end(&self);
}

/* ---- Circles -------------------------------------------------------------------------------- */

typedef struct two_locks {
    zkl_client *client;
    zkl_lock *locks[2];
    int status;
} two_locks;

/* ---- Failures ------------------------------------------------------------------------------- */

TEST(one_deadline_is_over_all_attempts) {
    caller self;
    begin(&self);
    char other[ZKL_NODE_PATH_SIZE];
    zkl_testing_add_contender(SET_STOCK, ZKL_EXCLUSIVE, other);
    self.timeout_ms = LONG_MS;
    zkl_testing_task *task = zkl_testing_start(acquire, &self);
    zkl_testing_sleep(LONG_MS / 2);
    zkl_testing_expire_session(self.client);
    zkl_testing_sleep(LONG_MS / 2 + SOON_MS);
    EXPECT_INT(self.status, ZKL_TIMEOUT);
    EXPECT_INT(zkl_testing_delete_node(other), 1);
    zkl_testing_join(task);
    end(&self);
}

/* The servers take long to delete the other node, without which it does not join again. */
TEST(deadline_of_who_leaves_a_lost_place_is_no_lost_connection) {
    caller self;
    begin(&self);
    char other[ZKL_NODE_PATH_SIZE];
    zkl_testing_add_contender(SET_ORDERS, ZKL_EXCLUSIVE, other);
    self.timeout_ms = SESSION_MS / 2;
    zkl_testing_task *task = zkl_testing_start(acquire, &self);
    zkl_testing_sleep(SOON_MS);
    set_delete_last_of(SET_STOCK);
    zkl_testing_slow_servers(SESSION_MS / 2, SESSION_MS / 2);
    zkl_testing_join(task);
    EXPECT_INT(self.status, ZKL_TIMEOUT);
    EXPECT_INT(zkl_testing_delete_node(other), 1);
    end(&self);
}

/* Who has lost the reply finds one of its two nodes, and nothing else may wait for that one. */
TEST(half_that_is_left_of_a_lost_transaction_is_given_up) {
    caller self;
    begin(&self);
    acquire(&self); /* the resources are there */
    EXPECT_INT(zkl_lock_release(self.set, ZKL_FOREVER), ZKL_OK);
    zkl_testing_lose_reply(self.client, ZKL_TESTING_CREATE, 1);
    zkl_testing_task *task = zkl_testing_start(acquire, &self);
    while (zkl_testing_count_children(SET_ORDERS) == 0) {
        zkl_testing_sleep(1);
    }
    set_delete_last_of(SET_ORDERS);
    zkl_testing_join(task);
    EXPECT_INT(self.status, ZKL_OK);
    set_expect_nodes(1, 1);
    EXPECT_INT(zkl_lock_check(self.set, NULL), ZKL_OK);
    end(&self);
}

TEST(lease_runs_for_all) {
    zkl_testing_begin(NULL);
    zkl_client *client = open_client(100);
    zkl_lock *set = open_two(client, "stock", "orders");
    EXPECT_INT(zkl_lock_acquire(set, ZKL_AS_OPENED, LONG_MS, NULL), ZKL_OK);
    int64_t left = 0;
    EXPECT_INT(zkl_lock_check(set, &left), ZKL_OK);
    EXPECT(left > 0);
    zkl_testing_stop_servers();
    zkl_testing_sleep(SESSION_MS);
    EXPECT_INT(zkl_lock_check(set, &left), ZKL_LOST);
    EXPECT_INT(left, 0);
    zkl_testing_start_servers();
    EXPECT_INT(zkl_lock_release(set, LONG_MS), ZKL_LOST);
    zkl_lock_close(set);
    EXPECT_INT(zkl_client_close(client, LONG_MS), ZKL_OK);
    zkl_testing_end();
}

TEST(client_that_counts_does_so_without_a_resource_class) {
    zkl_testing_begin(NULL);
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    options.metrics = 1;
    zkl_client *client = NULL;
    EXPECT_INT(zkl_client_open("server:2181", &options, &client), ZKL_OK);
    zkl_lock *first = open_two(client, "stock", "orders");
    zkl_lock *second = open_two(client, "orders", "stock");
    EXPECT_INT(zkl_lock_acquire(first, ZKL_AS_OPENED, LONG_MS, NULL), ZKL_OK);
    zkl_lock_close(first);
    zkl_lock_close(second);
    EXPECT_INT(zkl_client_close(client, LONG_MS), ZKL_OK);
    zkl_testing_end();
}

/* ---- Input ---------------------------------------------------------------------------------- */

TEST(bad_input_is_refused) {
    zkl_testing_begin(NULL);
    zkl_client *client = open_client(0);
    zkl_lock_member members[] = { ZKL_LOCK_MEMBER_INIT, ZKL_LOCK_MEMBER_INIT };
    zkl_lock *set = NULL;
    members[0].resource = "stock";
    members[1].resource = "/locks/stock";
    EXPECT_REFUSED(zkl_lock_open_set(client, members, 2, NULL, &set), "twice");
    EXPECT(set == NULL);
    EXPECT(zkl_error_message()[0] != '\0');
    EXPECT_INT(zkl_lock_open_set(client, members, 0, NULL, &set), ZKL_INVALID_ARGUMENT);
    EXPECT_INT(zkl_lock_open_set(client, NULL, 2, NULL, &set), ZKL_INVALID_ARGUMENT);
    EXPECT_INT(zkl_lock_open_set(NULL, members, 1, NULL, &set), ZKL_INVALID_ARGUMENT);
    EXPECT_INT(zkl_lock_open_set(client, members, 1, NULL, NULL), ZKL_INVALID_ARGUMENT);
    EXPECT_INT(zkl_lock_open_set(client, members, ZKL_LOCK_MEMBERS_MAX + 1, NULL, &set),
               ZKL_INVALID_ARGUMENT);
    members[1].resource = "a/b";
    EXPECT_REFUSED(zkl_lock_open_set(client, members, 2, NULL, &set), "slash");
    members[1].resource = "orders";
    members[1].mode = ZKL_READ;
    members[1].permits = 2;
    EXPECT_REFUSED(zkl_lock_open_set(client, members, 2, NULL, &set), "mode");
    members[1].permits = -1;
    EXPECT_REFUSED(zkl_lock_open_set(client, members, 2, NULL, &set), "permits");
    members[1].permits = 0;
    members[1].struct_size = 1;
    EXPECT_REFUSED(zkl_lock_open_set(client, members, 2, NULL, &set), "struct_size");
    EXPECT_INT(zkl_lock_open_set(client, members, 1, NULL, &set), ZKL_OK);
    EXPECT_REFUSED(zkl_lock_acquire(set, ZKL_AS_OPENED, -2, NULL), "timeout_ms");
    EXPECT_REFUSED(zkl_lock_release(set, -2), "timeout_ms");
    EXPECT_INT(zkl_lock_release(set, 0), ZKL_NOT_HELD);
    EXPECT_INT(zkl_lock_acquire(NULL, ZKL_AS_OPENED, 0, NULL), ZKL_INVALID_ARGUMENT);
    zkl_lock_close(set);
    zkl_lock_close(NULL);
    EXPECT_INT(zkl_client_close(client, LONG_MS), ZKL_OK);
    EXPECT_INT(zkl_testing_count_sessions(), 0);
    zkl_testing_end();
}

/* ---- Sequences that are used up ------------------------------------------------------------- */

static void wear_out(const char *path) {
    EXPECT(zkl_ensemble_set_creates(zkl_ensemble_current(), path, INT32_MAX - 9));
}

static void begin_with_one_used_up(caller *self) {
    begin(self);
    acquire(self); /* makes the resources */
    EXPECT_INT(self->status, ZKL_OK);
    EXPECT_INT(zkl_lock_release(self->set, ZKL_FOREVER), ZKL_OK);
    wear_out("/locks/orders");
}

TEST(resources_that_are_used_up_begin_anew_and_all_are_held) {
    caller self;
    begin_with_one_used_up(&self);
    wear_out("/locks/stock");
    self.timeout_ms = LONG_MS;
    acquire(&self);
    EXPECT_INT(self.status, ZKL_OK);
    end(&self);
}

/* The next one finds it as good as new. */
TEST(try_of_a_resource_that_is_used_up_begins_it_anew) {
    caller self;
    begin_with_one_used_up(&self);
    self.timeout_ms = 0;
    acquire(&self);
    EXPECT_INT(self.status, ZKL_SEQUENCE_EXHAUSTED);
    zkl_testing_sleep(SOON_MS);
    acquire(&self);
    EXPECT_INT(self.status, ZKL_OK);
    end(&self);
}
