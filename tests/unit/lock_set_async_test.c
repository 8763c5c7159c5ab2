/*
 * The asynchronous calls of sets: each that was accepted is told exactly once, whatever it
 * meets: cancel, loss, expiry while it waits, the close of the handle or of the client.
 * And what is told of locks that a set holds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/async_caller.h"
#include "zklock/administration.h"

enum { SOON_MS = 200, LONG_MS = 60000 };

static async_caller self;
static char other[ZKL_NODE_PATH_SIZE]; /* another's node, which is in the way */

static void begin_with(zkl_dispatch dispatch, const zkl_lock_options *options) {
    zkl_testing_begin(NULL);
    async_open_set(&self, dispatch, options);
}

static void begin(zkl_dispatch dispatch) {
    begin_with(dispatch, NULL);
}

static void end(void) {
    async_close(&self);
    EXPECT_TEXT(self.heard, ""); /* nothing comes twice, or late */
    EXPECT_INT(zkl_testing_count_sessions(), 0);
    zkl_testing_end();
}

/* Granted, and its callback waits: in a client that is dispatched. */
static void begin_granted_with(const zkl_lock_options *options) {
    begin_with(ZKL_DISPATCH_CALLER, options);
    async_acquire(&self, ZKL_FOREVER);
    zkl_testing_sleep(SOON_MS);
    set_expect_nodes(1, 1);
    EXPECT_TEXT(self.heard, "");
}

static void begin_granted(void) {
    begin_granted_with(NULL);
}

static void begin_held(zkl_dispatch dispatch) {
    begin(dispatch);
    self.grant = (zkl_grant)ZKL_GRANT_INIT;
    EXPECT_INT(zkl_lock_acquire(self.lock, ZKL_AS_OPENED, ZKL_FOREVER, &self.grant), ZKL_OK);
}

/* Somebody else holds one of the two. */
static void begin_waiting_with(zkl_dispatch dispatch, int64_t timeout_ms,
                               const zkl_lock_options *options) {
    begin_with(dispatch, options);
    zkl_testing_add_contender(SET_STOCK, ZKL_EXCLUSIVE, other);
    async_acquire(&self, timeout_ms);
    zkl_testing_sleep(SOON_MS);
}

static void begin_waiting(zkl_dispatch dispatch, int64_t timeout_ms) {
    begin_waiting_with(dispatch, timeout_ms, NULL);
}

static void other_goes(void) {
    EXPECT_INT(zkl_testing_delete_node(other), 1);
}

/* ---- Acquire ------------------------------------------------------------------------------ */

/* What was granted of it, and what waits, must not wait for a loop that is late. */
TEST(acquire_that_has_failed_leaves_before_it_is_dispatched) {
    begin_waiting(ZKL_DISPATCH_CALLER, 5000);
    zkl_testing_sleep(5000);
    set_expect_nodes(1, 0);
    EXPECT_INT(async_dispatch(&self), 1);
    ASYNC_HEARD(&self, "acquired(-2) ");
    other_goes();
    end();
}

TEST(try_is_told_busy) {
    begin_waiting(ZKL_DISPATCH_CALLER, 0);
    set_expect_nodes(1, 0);
    EXPECT_INT(async_dispatch(&self), 1);
    ASYNC_HEARD(&self, "acquired(-1) ");
    other_goes();
    end();
}

/* ---- Races ---------------------------------------------------------------------------------- */

TEST(cancel_after_the_grant_is_too_late) {
    begin_granted();
    EXPECT_INT(zkl_lock_cancel(self.lock), ZKL_NOT_WAITING);
    EXPECT_INT(async_dispatch(&self), 1);
    ASYNC_HEARD(&self, "acquired ");
    end();
}

TEST(half_that_was_deleted_before_its_callback_gives_the_other_back) {
    begin_granted();
    set_delete_last_of(SET_ORDERS);
    zkl_testing_sleep(SET_SESSION_MS);
    EXPECT_INT(async_dispatch(&self), 1);
    ASYNC_HEARD(&self, "acquired(-12) ");
    zkl_testing_sleep(SOON_MS);
    set_expect_nodes(0, 0);
    end();
}

/* A process that stood still between the grant and its callback. */
TEST(hold_limit_that_passed_in_a_stop_is_the_verdict_though_no_timer_fired) {
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    options.max_hold_ms = 1000;
    begin_granted_with(&options);
    zkl_testing_pause(NULL, 3000);
    set_expect_nodes(1, 1);
    EXPECT_INT(async_dispatch(&self), 1);
    ASYNC_HEARD(&self, "acquired(-11) ");
    zkl_testing_sleep(SOON_MS);
    set_expect_nodes(0, 0);
    end();
}

/* ---- Close of the client --------------------------------------------------------------------- */

static void close_client(int64_t timeout_ms, int status) {
    zkl_client *client = self.client;
    self.client = NULL;
    EXPECT_INT(zkl_client_close(client, timeout_ms), status);
}

/* Whatever it is about at that moment: it asks, it waits, it leaves to join again. */
TEST(client_that_closes_while_its_nodes_come_and_go_tells_once) {
    for (int64_t after_ms = 0; after_ms < 40; after_ms++) {
        begin_waiting(after_ms % 2 == 0 ? ZKL_DISPATCH_THREAD : ZKL_DISPATCH_CALLER, ZKL_FOREVER);
        set_delete_last_of(SET_ORDERS);
        zkl_testing_sleep(after_ms / 2);
        zkl_testing_stop_servers();
        zkl_testing_sleep(after_ms % 3 == 0 ? 0 : SOON_MS);
        close_client(0, ZKL_PENDING);
        ASYNC_HEARD(&self, "acquired(-29) ");
        async_close_handle(&self);
        zkl_testing_end();
    }
}

/* ---- Release --------------------------------------------------------------------------------- */

TEST(release_is_told_pending_when_it_takes_too_long) {
    begin_held(ZKL_DISPATCH_CALLER);
    zkl_testing_disconnect(self.client, 3000);
    zkl_testing_sleep(SOON_MS);
    EXPECT_INT(async_dispatch(&self), 1);
    ASYNC_HEARD(&self, "suspect ");
    async_release(&self, 1000);
    zkl_testing_sleep(900);
    EXPECT_INT(async_dispatch(&self), 0);
    zkl_testing_sleep(200);
    EXPECT_INT(async_dispatch(&self), 1);
    ASYNC_HEARD(&self, "released(-13) ");
    zkl_testing_sleep(5000);
    set_expect_nodes(0, 0); /* it went on */
    end();
}

/* ---- News ------------------------------------------------------------------------------------ */

TEST(loss_of_all_is_told_once_after_the_grant) {
    begin_granted();
    EXPECT_INT(async_dispatch(&self), 1);
    zkl_testing_expire_session(self.client);
    zkl_testing_sleep(SOON_MS);
    EXPECT_INT(async_dispatch(&self), 2);
    ASYNC_HEARD(&self, "acquired suspect lost(-9) of stock ");
    async_release(&self, ZKL_FOREVER);
    EXPECT_INT(async_dispatch(&self), 1);
    ASYNC_HEARD(&self, "released(-7) ");
    EXPECT_INT(zkl_lock_release(self.lock, 0), ZKL_NOT_HELD);
    end();
}

TEST(loss_of_one_names_it_and_is_the_last_news) {
    begin_held(ZKL_DISPATCH_CALLER);
    zkl_testing_sleep(SET_SESSION_MS); /* until it watches its nodes */
    set_delete_last_of(SET_ORDERS);
    zkl_testing_sleep(SOON_MS);
    EXPECT_INT(async_dispatch(&self), 1);
    ASYNC_HEARD(&self, "lost(-12) of orders ");
    set_expect_nodes(1, 0);
    zkl_testing_disconnect(self.client, SOON_MS);
    zkl_testing_sleep(SET_SESSION_MS);
    zkl_testing_expire_session(self.client);
    zkl_testing_sleep(SET_SESSION_MS);
    EXPECT_INT(async_dispatch(&self), 0);
    EXPECT_INT(zkl_lock_release(self.lock, 0), ZKL_LOST);
    end();
}

static void revoke_last_of(const char *resource) {
    char path[ZKL_NODE_PATH_SIZE];
    set_last_of(resource, path);
    EXPECT_INT(zkl_node_revoke(self.client, resource, strrchr(path, '/') + 1, LONG_MS), ZKL_OK);
}

TEST(holder_is_told_which_resource_is_asked_for) {
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    options.revocable = 1;
    begin_with(ZKL_DISPATCH_CALLER, &options);
    EXPECT_INT(zkl_lock_acquire(self.lock, ZKL_AS_OPENED, ZKL_FOREVER, &self.grant), ZKL_OK);
    revoke_last_of(SET_ORDERS);
    zkl_testing_sleep(SET_SESSION_MS);
    revoke_last_of(SET_STOCK);
    zkl_testing_sleep(SET_SESSION_MS);
    EXPECT_INT(async_dispatch(&self), 2);
    ASYNC_HEARD(&self, "revoke requested of orders revoke requested of stock ");
    end();
}

/* ---- Many ------------------------------------------------------------------------------------ */

enum { MANY = 2000, MANY_RESOURCES = 100 };

typedef struct request {
    zkl_lock *set;
    unsigned resources[2];
    unsigned granted;
    unsigned released;
} request;

static unsigned holders[MANY_RESOURCES];
static unsigned done;

static void on_many_released(void *arg, int status) {
    request *its = arg;
    its->released += status == ZKL_OK;
    done++;
}

static void on_many_granted(void *arg, int status, const zkl_grant *grant) {
    request *its = arg;
    EXPECT_INT(status, ZKL_OK);
    EXPECT(grant != NULL);
    its->granted++;
    for (size_t i = 0; i < 2; i++) {
        EXPECT_INT(++holders[its->resources[i]], 1);
        holders[its->resources[i]]--;
    }
    EXPECT_INT(zkl_lock_release_async(its->set, ZKL_FOREVER, NULL, on_many_released, its), ZKL_OK);
}

static int all_are_done(void *arg) {
    (void)arg;
    return done == MANY;
}

/* Some name their two in one order, some in the other. */
static void begin_many(request *its, unsigned number) {
    char names[2][32];
    zkl_lock_member members[] = { ZKL_LOCK_MEMBER_INIT, ZKL_LOCK_MEMBER_INIT };
    its->resources[0] = number % MANY_RESOURCES;
    its->resources[1] = (number + (number % 2 == 0 ? 1 : MANY_RESOURCES - 1)) % MANY_RESOURCES;
    for (size_t i = 0; i < 2; i++) {
        snprintf(names[i], sizeof(names[i]), "many-%u", its->resources[i]);
        members[i].resource = names[i];
    }
    EXPECT_INT(zkl_lock_open_set(self.client, members, 2, NULL, &its->set), ZKL_OK);
    EXPECT_INT(
        zkl_lock_acquire_async(its->set, ZKL_AS_OPENED, ZKL_FOREVER, NULL, on_many_granted, its),
        ZKL_OK);
}

TEST(two_thousand_of_one_client_are_granted_once_each) {
    begin(ZKL_DISPATCH_THREAD);
    request *requests = calloc(MANY, sizeof(*requests));
    done = 0;
    for (unsigned i = 0; i < MANY; i++) {
        begin_many(&requests[i], i);
    }
    EXPECT_INT(zkl_testing_wait_until(all_are_done, NULL, 3000000), 1);
    for (unsigned i = 0; i < MANY; i++) {
        EXPECT_INT(requests[i].granted, 1);
        EXPECT_INT(requests[i].released, 1);
        zkl_lock_close(requests[i].set);
    }
    free(requests);
    end();
}
