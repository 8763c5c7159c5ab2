/*
 * The asynchronous calls: each that was accepted is told exactly once, whatever it
 * meets: cancel, loss, the close of the handle or of the client.
 */
#include <stdio.h>
#include <stdlib.h>

#include "support/async_caller.h"

enum { SOON_MS = 200, LONG_MS = 60000 };

static async_caller self;

static void begin(zkl_dispatch dispatch) {
    zkl_testing_begin(NULL);
    async_open(&self, dispatch, NULL);
}

static void end(void) {
    async_close(&self);
    EXPECT_TEXT(self.heard, ""); /* nothing comes twice, or late */
    EXPECT_INT(zkl_testing_count_sessions(), 0);
    zkl_testing_end();
}

/* Granted, and its callback waits: in a client that is dispatched. */
static void begin_granted(void) {
    begin(ZKL_DISPATCH_CALLER);
    async_acquire(&self, ZKL_FOREVER);
    zkl_testing_sleep(SOON_MS);
    EXPECT_INT(zkl_testing_count_children(ASYNC_RESOURCE), 1);
}

static void begin_held(zkl_dispatch dispatch) {
    begin(dispatch);
    EXPECT_INT(zkl_lock_acquire(self.lock, ZKL_EXCLUSIVE, ZKL_FOREVER, NULL), ZKL_OK);
}

/* Somebody else holds it. */
static void begin_waiting(zkl_dispatch dispatch, int64_t timeout_ms,
                          char node[ZKL_NODE_PATH_SIZE]) {
    begin(dispatch);
    zkl_testing_add_contender(ASYNC_RESOURCE, ZKL_EXCLUSIVE, node);
    async_acquire(&self, timeout_ms);
    zkl_testing_sleep(SOON_MS);
}

/* ---- Acquire ------------------------------------------------------------------------ */

TEST(acquire_is_granted_in_the_callback_and_released_in_another) {
    begin(ZKL_DISPATCH_THREAD);
    async_acquire(&self, ZKL_FOREVER);
    EXPECT_TEXT(self.heard, "");
    EXPECT_INT(zkl_testing_wait_for_state(self.lock, ZKL_STATE_ACQUIRING, 0), 1);
    async_wait(&self);
    ASYNC_HEARD(&self, "acquired ");
    EXPECT_INT(zkl_lock_check(self.lock, NULL), ZKL_OK);
    EXPECT(self.grant.token > 0);
    EXPECT_INT(self.grant.mode, ZKL_EXCLUSIVE);
    async_release(&self, ZKL_FOREVER);
    EXPECT_INT(zkl_lock_check(self.lock, NULL), ZKL_NOT_HELD);
    async_wait(&self);
    ASYNC_HEARD(&self, "released ");
    EXPECT_INT(zkl_testing_count_children(ASYNC_RESOURCE), 0);
    end();
}

static int acquire(zkl_mode mode, int64_t timeout_ms) {
    return zkl_lock_acquire_async(self.lock, mode, timeout_ms, NULL, async_on_acquired, &self);
}

static int release(int64_t timeout_ms) {
    return zkl_lock_release_async(self.lock, timeout_ms, NULL, async_on_released, &self);
}

TEST(refused_calls_are_not_told) {
    char node[ZKL_NODE_PATH_SIZE];
    begin(ZKL_DISPATCH_THREAD);
    EXPECT_INT(zkl_lock_acquire_async(NULL, ZKL_READ, 0, NULL, async_on_acquired, &self),
               ZKL_INVALID_ARGUMENT);
    EXPECT_INT(zkl_lock_acquire_async(self.lock, ZKL_READ, 0, NULL, NULL, &self),
               ZKL_INVALID_ARGUMENT);
    EXPECT_TEXT(zkl_error_message(), "callback: must not be NULL");
    EXPECT_REFUSED(acquire((zkl_mode)7, 0), "mode");
    EXPECT_REFUSED(acquire(ZKL_READ, -2), "timeout_ms");
    EXPECT_REFUSED(release(-2), "timeout_ms");
    EXPECT_INT(zkl_lock_release_async(NULL, 0, NULL, NULL, NULL), ZKL_INVALID_ARGUMENT);
    EXPECT_INT(release(0), ZKL_NOT_HELD);
    EXPECT_INT(zkl_lock_acquire(self.lock, ZKL_WRITE, 0, NULL), ZKL_OK);
    EXPECT_INT(acquire(ZKL_WRITE, 0), ZKL_ALREADY_HELD);
    EXPECT_INT(zkl_lock_release(self.lock, ZKL_FOREVER), ZKL_OK);
    zkl_testing_add_contender(ASYNC_RESOURCE, ZKL_EXCLUSIVE, node);
    EXPECT_INT(acquire(ZKL_WRITE, ZKL_FOREVER), ZKL_OK);
    EXPECT_INT(acquire(ZKL_WRITE, ZKL_FOREVER), ZKL_HANDLE_IN_USE);
    EXPECT_INT(zkl_lock_acquire(self.lock, ZKL_WRITE, ZKL_FOREVER, NULL), ZKL_HANDLE_IN_USE);
    EXPECT_INT(release(0), ZKL_HANDLE_IN_USE);
    zkl_testing_sleep(SOON_MS);
    EXPECT_TEXT(self.heard, "");
    EXPECT_INT(zkl_lock_cancel(self.lock), ZKL_OK);
    async_wait(&self);
    ASYNC_HEARD(&self, "acquired(-3) ");
    end();
}

/* ---- Races ---------------------------------------------------------------------------- */

TEST(cancel_before_the_grant_wins) {
    char node[ZKL_NODE_PATH_SIZE];
    begin_waiting(ZKL_DISPATCH_CALLER, ZKL_FOREVER, node);
    EXPECT_INT(zkl_lock_cancel(self.lock), ZKL_OK);
    EXPECT_INT(zkl_lock_cancel(self.lock), ZKL_NOT_WAITING);
    EXPECT_INT(zkl_testing_delete_node(node), 1);
    zkl_testing_sleep(SOON_MS);
    EXPECT_INT(async_dispatch(&self), 1);
    ASYNC_HEARD(&self, "acquired(-3) ");
    EXPECT_INT(zkl_testing_count_children(ASYNC_RESOURCE), 0);
    end();
}

TEST(cancel_after_the_grant_is_too_late) {
    begin_granted();
    EXPECT_INT(zkl_lock_cancel(self.lock), ZKL_NOT_WAITING);
    EXPECT_INT(async_dispatch(&self), 1);
    ASYNC_HEARD(&self, "acquired ");
    end();
}

TEST(lock_lost_before_its_callback_was_never_held) {
    begin_granted();
    zkl_testing_expire_session(self.client);
    zkl_testing_sleep(SOON_MS);
    EXPECT_INT(zkl_lock_check(self.lock, NULL), ZKL_NOT_HELD);
    EXPECT_INT(async_dispatch(&self), 1); /* and no news of it */
    ASYNC_HEARD(&self, "acquired(-9) ");
    async_acquire(&self, ZKL_FOREVER);
    zkl_testing_sleep(SOON_MS);
    EXPECT_INT(async_dispatch(&self), 1);
    ASYNC_HEARD(&self, "acquired ");
    end();
}

TEST(loss_is_told_after_the_grant) {
    begin_granted();
    EXPECT_INT(async_dispatch(&self), 1);
    zkl_testing_expire_session(self.client);
    zkl_testing_sleep(SOON_MS);
    EXPECT_INT(async_dispatch(&self), 2);
    ASYNC_HEARD(&self, "acquired suspect lost(-9) ");
    async_release(&self, ZKL_FOREVER);
    EXPECT_INT(async_dispatch(&self), 1);
    ASYNC_HEARD(&self, "released(-7) ");
    EXPECT_INT(release(0), ZKL_NOT_HELD);
    end();
}

/* ---- Close of the handle ---------------------------------------------------------------- */

static void closed_handle_is_told_cancelled_by(zkl_dispatch dispatch) {
    char node[ZKL_NODE_PATH_SIZE];
    begin_waiting(dispatch, ZKL_FOREVER, node);
    async_close_handle(&self);
    EXPECT_TEXT(self.heard, ""); /* not inside of it */
    if (dispatch == ZKL_DISPATCH_CALLER) {
        EXPECT_INT(async_dispatch(&self), 1);
    }
    async_wait(&self);
    ASYNC_HEARD(&self, "acquired(-3) ");
    zkl_testing_sleep(SOON_MS);
    EXPECT_INT(zkl_testing_count_children(ASYNC_RESOURCE), 1);
    end();
}

TEST(handle_closed_while_it_waits_is_told_cancelled) {
    closed_handle_is_told_cancelled_by(ZKL_DISPATCH_THREAD);
    closed_handle_is_told_cancelled_by(ZKL_DISPATCH_CALLER);
}

TEST(handle_closed_between_grant_and_callback_gives_the_lock_back) {
    begin_granted();
    async_close_handle(&self);
    zkl_testing_sleep(SOON_MS);
    EXPECT_INT(zkl_testing_count_children(ASYNC_RESOURCE), 0);
    EXPECT_INT(async_dispatch(&self), 1);
    ASYNC_HEARD(&self, "acquired(-3) ");
    end();
}

TEST(handle_closed_in_its_release_is_told_pending_or_done) {
    begin_held(ZKL_DISPATCH_CALLER);
    async_release(&self, ZKL_FOREVER);
    async_close_handle(&self);
    EXPECT_INT(async_dispatch(&self), 1);
    ASYNC_HEARD(&self, "released(-13) ");
    zkl_testing_sleep(SOON_MS);
    EXPECT_INT(zkl_testing_count_children(ASYNC_RESOURCE), 0);
    end();
    begin_held(ZKL_DISPATCH_CALLER);
    async_release(&self, ZKL_FOREVER);
    zkl_testing_sleep(SOON_MS);
    async_close_handle(&self);
    EXPECT_INT(async_dispatch(&self), 1);
    ASYNC_HEARD(&self, "released ");
    end();
}

static void react_by_close(async_caller *caller) {
    caller->react = NULL;
    async_close_handle(&self);
}

TEST(handle_can_be_closed_in_its_own_callback) {
    begin(ZKL_DISPATCH_THREAD);
    self.react = react_by_close;
    async_acquire(&self, ZKL_FOREVER);
    async_wait(&self);
    zkl_testing_sleep(SOON_MS);
    ASYNC_HEARD(&self, "acquired ");
    EXPECT_INT(zkl_testing_count_children(ASYNC_RESOURCE), 0);
    end();
    begin_held(ZKL_DISPATCH_THREAD);
    self.react = react_by_close;
    async_release(&self, ZKL_FOREVER);
    async_wait(&self);
    zkl_testing_sleep(SOON_MS);
    ASYNC_HEARD(&self, "released ");
    end();
}

static void react_slowly(async_caller *caller) {
    caller->said = 1;
    zkl_testing_sleep(5000);
    caller->said = zkl_lock_check(caller->lock, NULL);
}

static void react_slowly_and_try_again(async_caller *caller) {
    react_slowly(caller);
    EXPECT_INT(caller->said, ZKL_OK);
    caller->said = release(0);
    EXPECT_INT(caller->said, ZKL_OK);
    caller->react = NULL;
    caller->said = acquire(ZKL_EXCLUSIVE, ZKL_FOREVER);
}

TEST(close_waits_for_a_callback_that_runs) {
    begin(ZKL_DISPATCH_THREAD);
    self.react = react_slowly;
    async_acquire(&self, ZKL_FOREVER);
    async_wait(&self);
    EXPECT_INT(self.said, 1);
    zkl_lock_close(self.lock);
    EXPECT_INT(self.said, ZKL_OK); /* the handle was there for all of it */
    self.lock = NULL;
    ASYNC_HEARD(&self, "acquired ");
    end();
}

TEST(callback_that_close_waits_for_begins_no_acquire) {
    begin(ZKL_DISPATCH_THREAD);
    self.react = react_slowly_and_try_again;
    async_acquire(&self, ZKL_FOREVER);
    async_wait(&self);
    zkl_lock_close(self.lock);
    EXPECT_INT(self.said, ZKL_HANDLE_IN_USE);
    self.lock = NULL;
    zkl_testing_sleep(SOON_MS);
    ASYNC_HEARD(&self, "acquired released "); /* of the release in it */
    EXPECT_INT(zkl_testing_count_children(ASYNC_RESOURCE), 0);
    end();
}

/* ---- Close of the client ------------------------------------------------------------------ */

static void client_close_tells_who_waits(zkl_dispatch dispatch) {
    char node[ZKL_NODE_PATH_SIZE];
    begin_waiting(dispatch, ZKL_FOREVER, node);
    zkl_client *client = self.client;
    self.client = NULL;
    EXPECT_INT(zkl_client_close(client, LONG_MS), ZKL_OK);
    ASYNC_HEARD(&self, "acquired(-29) ");
    EXPECT_INT(acquire(ZKL_READ, 0), ZKL_CLOSED);
    EXPECT_INT(release(0), ZKL_CLOSED);
    EXPECT_INT(zkl_testing_count_children(ASYNC_RESOURCE), 1);
    end();
}

TEST(callbacks_are_called_before_client_close_returns) {
    client_close_tells_who_waits(ZKL_DISPATCH_THREAD);
    client_close_tells_who_waits(ZKL_DISPATCH_CALLER);
}

TEST(release_under_way_is_told_in_client_close) {
    begin_held(ZKL_DISPATCH_CALLER);
    zkl_testing_stop_servers();
    zkl_testing_sleep(SOON_MS);
    self.heard[0] = '\0';
    async_release(&self, ZKL_FOREVER);
    EXPECT_INT(zkl_client_close(self.client, 0), ZKL_PENDING);
    self.client = NULL;
    EXPECT_TEXT(self.heard, "suspect released(-29) ");
    self.heard[0] = '\0';
    zkl_lock_close(self.lock);
    zkl_testing_end();
}

static int closed_ms;

static void react_by_note(async_caller *caller) {
    caller->said = (int)zkl_testing_now_ms();
}

TEST(who_waits_is_told_before_the_servers_are_waited_for) {
    char node[ZKL_NODE_PATH_SIZE];
    begin_waiting(ZKL_DISPATCH_CALLER, ZKL_FOREVER, node);
    zkl_testing_stop_servers();
    self.react = react_by_note;
    closed_ms = (int)zkl_testing_now_ms();
    EXPECT_INT(zkl_client_close(self.client, 5000), ZKL_PENDING);
    self.client = NULL;
    EXPECT_INT(self.said, closed_ms);
    EXPECT(zkl_testing_now_ms() >= closed_ms + 5000);
    ASYNC_HEARD(&self, "acquired(-29) ");
    zkl_lock_close(self.lock);
    zkl_testing_end();
}

/* ---- Release ---------------------------------------------------------------------------------
 */

TEST(release_is_told_pending_when_it_takes_too_long) {
    begin_held(ZKL_DISPATCH_THREAD);
    zkl_testing_disconnect(self.client, 3000);
    zkl_testing_sleep(0);
    self.heard[0] = '\0';
    int64_t began_ms = zkl_testing_now_ms();
    async_release(&self, 1000);
    EXPECT_INT(zkl_testing_wait_for_state(self.lock, ZKL_STATE_RELEASING, 0), 1);
    zkl_testing_sleep(900);
    self.heard[0] = '\0'; /* news of the connection */
    async_wait(&self);
    EXPECT(zkl_testing_now_ms() - began_ms >= 1000);
    EXPECT(zkl_testing_now_ms() - began_ms <= 1050);
    ASYNC_HEARD(&self, "released(-13) ");
    zkl_testing_sleep(5000);
    EXPECT_INT(zkl_testing_count_children(ASYNC_RESOURCE), 0); /* it went on */
    end();
}

static void release_and_wait_in_the_callback(async_caller *caller) {
    caller->react = NULL;
    EXPECT_INT(zkl_lock_release(caller->lock, 1), ZKL_IN_CALLBACK);
    caller->said = zkl_lock_check(caller->lock, NULL);
}

TEST(release_that_is_refused_has_released_nothing) {
    begin(ZKL_DISPATCH_THREAD);
    self.said = ZKL_CLOSED;
    self.react = release_and_wait_in_the_callback;
    async_acquire(&self, ZKL_FOREVER);
    async_wait(&self);
    EXPECT_INT(self.said, ZKL_OK);
    EXPECT_REFUSED(zkl_lock_release(self.lock, -2), "timeout_ms");
    EXPECT_REFUSED(zkl_lock_release_async(self.lock, -2, NULL, NULL, NULL), "timeout_ms");
    EXPECT_INT(zkl_lock_check(self.lock, NULL), ZKL_OK);
    EXPECT_INT(zkl_testing_count_children(ASYNC_RESOURCE), 1);
    ASYNC_HEARD(&self, "acquired ");
    end();
}

/* The memory of the one is the other's by then. */
TEST(deadline_of_a_release_ends_with_it) {
    char node[ZKL_NODE_PATH_SIZE];
    begin_held(ZKL_DISPATCH_THREAD);
    async_release(&self, 1000);
    async_wait(&self);
    ASYNC_HEARD(&self, "released ");
    zkl_testing_add_contender(ASYNC_RESOURCE, ZKL_EXCLUSIVE, node);
    async_acquire(&self, ZKL_FOREVER);
    zkl_testing_sleep(5000);
    EXPECT_TEXT(self.heard, "");
    EXPECT_INT(zkl_testing_delete_node(node), 1);
    async_wait(&self);
    ASYNC_HEARD(&self, "acquired ");
    end();
}

TEST(release_that_does_not_wait_is_told_at_once) {
    begin_held(ZKL_DISPATCH_CALLER);
    async_release(&self, 0);
    EXPECT_INT(async_dispatch(&self), 1);
    ASYNC_HEARD(&self, "released ");
    EXPECT_INT(zkl_testing_count_children(ASYNC_RESOURCE), 1);
    end();
}

TEST(release_without_a_callback_tells_nobody) {
    begin_held(ZKL_DISPATCH_CALLER);
    EXPECT_INT(zkl_lock_release_async(self.lock, ZKL_FOREVER, NULL, NULL, NULL), ZKL_OK);
    EXPECT_INT(zkl_lock_release_async(self.lock, ZKL_FOREVER, NULL, NULL, NULL), ZKL_NOT_HELD);
    zkl_testing_sleep(SOON_MS);
    EXPECT_INT(zkl_testing_count_children(ASYNC_RESOURCE), 0);
    EXPECT_INT(async_dispatch(&self), 0);
    end();
}

/* ---- Owners --------------------------------------------------------------------------------- */

static const char one;
static const char other;

static int acquire_as(const void *owner, zkl_mode mode) {
    return zkl_lock_acquire_async(self.lock, mode, ZKL_FOREVER, owner, async_on_acquired, &self);
}

static int release_as(const void *owner) {
    return zkl_lock_release_async(self.lock, 0, owner, async_on_released, &self);
}

static void begin_owned(void) {
    zkl_testing_begin(NULL);
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    options.reentrant = 1;
    async_open(&self, ZKL_DISPATCH_CALLER, &options);
    EXPECT_INT(acquire_as(&one, ZKL_READ), ZKL_OK);
    zkl_testing_sleep(SOON_MS);
    EXPECT_INT(async_dispatch(&self), 1);
    ASYNC_HEARD(&self, "acquired ");
}

static uint32_t holds(void) {
    zkl_lock_information information = ZKL_LOCK_INFORMATION_INIT;
    EXPECT_INT(zkl_lock_info(self.lock, &information), ZKL_OK);
    return information.holds;
}

TEST(reentrant_handle_counts_for_the_owner_who_says_so) {
    begin_owned();
    zkl_grant first = self.grant;
    EXPECT_INT(acquire_as(&one, ZKL_READ), ZKL_OK);
    EXPECT_INT(acquire_as(&one, ZKL_READ), ZKL_OK);
    EXPECT_TEXT(self.heard, "");
    EXPECT_INT(async_dispatch(&self), 2);
    ASYNC_HEARD(&self, "acquired acquired ");
    EXPECT_INT(self.grant.token, first.token);
    EXPECT_TEXT(self.grant.node, first.node);
    EXPECT_REFUSED(acquire_as(&one, ZKL_WRITE), "mode");
    for (uint32_t left = 3; left > 0; left--) {
        EXPECT_INT(holds(), left);
        EXPECT_INT(release_as(&one), ZKL_OK);
    }
    EXPECT_INT(holds(), 0);
    EXPECT_INT(async_dispatch(&self), 3);
    ASYNC_HEARD(&self, "released released released ");
    end();
}

TEST(repeated_acquire_that_is_told_the_loss_is_not_counted) {
    begin_owned();
    EXPECT_INT(acquire_as(&one, ZKL_READ), ZKL_OK);
    EXPECT_INT(acquire_as(&one, ZKL_READ), ZKL_OK);
    EXPECT_INT(holds(), 3);
    zkl_testing_expire_session(self.client);
    EXPECT_INT(zkl_testing_wait_for_state(self.lock, ZKL_STATE_LOST, LONG_MS), 1);
    (void)async_dispatch(&self);
    EXPECT_INT(holds(), 1);
    EXPECT(strstr(self.heard, "acquired ") == NULL);
    self.heard[0] = '\0';
    EXPECT_INT(release_as(&one), ZKL_OK);
    EXPECT_INT(holds(), 0);
    (void)async_dispatch(&self);
    self.heard[0] = '\0';
    EXPECT_INT(acquire_as(&one, ZKL_READ), ZKL_OK); /* it is idle: this one asks the servers */
    zkl_testing_sleep(SOON_MS);
    (void)async_dispatch(&self);
    ASYNC_HEARD(&self, "acquired ");
    end();
}

TEST(others_than_the_owner_can_neither_acquire_nor_release) {
    begin_owned();
    EXPECT_INT(acquire_as(&other, ZKL_READ), ZKL_ALREADY_HELD);
    EXPECT_INT(acquire_as(NULL, ZKL_READ), ZKL_ALREADY_HELD);
    EXPECT_INT(release_as(&other), ZKL_NOT_OWNER);
    EXPECT_INT(release_as(NULL), ZKL_NOT_OWNER);
    EXPECT_INT(zkl_lock_acquire(self.lock, ZKL_READ, 0, NULL), ZKL_ALREADY_HELD);
    EXPECT_INT(zkl_lock_release(self.lock, 0), ZKL_NOT_OWNER);
    EXPECT_INT(release_as(&one), ZKL_OK);
    EXPECT_INT(async_dispatch(&self), 1);
    ASYNC_HEARD(&self, "released ");
    EXPECT_INT(zkl_lock_acquire(self.lock, ZKL_READ, LONG_MS, NULL), ZKL_OK);
    EXPECT_INT(acquire_as(NULL, ZKL_READ), ZKL_ALREADY_HELD); /* a thread holds it */
    EXPECT_INT(release_as(NULL), ZKL_NOT_OWNER);
    EXPECT_INT(zkl_lock_release(self.lock, LONG_MS), ZKL_OK);
    end();
}

TEST(hold_that_was_closed_before_its_callback_was_not_acquired_again) {
    begin_owned();
    EXPECT_INT(acquire_as(&one, ZKL_READ), ZKL_OK);
    async_close_handle(&self);
    EXPECT_INT(async_dispatch(&self), 1);
    ASYNC_HEARD(&self, "acquired(-3) ");
    end();
}

/* The callback of an earlier hold comes late: a thread holds the lock by then. */
TEST(hold_of_a_grant_that_is_over_is_none_of_the_next) {
    begin_owned();
    int64_t token = self.grant.token;
    EXPECT_INT(acquire_as(&one, ZKL_READ), ZKL_OK);
    EXPECT_INT(release_as(&one), ZKL_OK);
    EXPECT_INT(release_as(&one), ZKL_OK);
    EXPECT_INT(zkl_lock_acquire(self.lock, ZKL_READ, LONG_MS, &self.grant), ZKL_OK);
    EXPECT(self.grant.token > token);
    EXPECT_INT(async_dispatch(&self), 3);
    ASYNC_HEARD(&self, "acquired(-7) released released ");
    EXPECT_INT(holds(), 1);
    EXPECT_INT(zkl_lock_release(self.lock, LONG_MS), ZKL_OK);
    EXPECT_INT(zkl_testing_count_children(ASYNC_RESOURCE), 0);
    end();
}

/* It is acquired once more while the callback of the upgrade waits, before that of the hold. */
TEST(hold_that_an_upgrade_overtakes_is_told_with_the_writers_token) {
    begin_owned();
    int64_t token = self.grant.token;
    EXPECT_INT(zkl_lock_try_upgrade_async(self.lock, &one, async_on_upgraded, &self), ZKL_OK);
    zkl_testing_sleep(SOON_MS);
    EXPECT_INT(acquire_as(&one, ZKL_READ), ZKL_OK);
    EXPECT_INT(async_dispatch(&self), 2);
    ASYNC_HEARD(&self, "upgraded acquired ");
    EXPECT(self.grant.token > token);
    EXPECT_INT(self.grant.mode, ZKL_WRITE);
    EXPECT_INT(holds(), 2);
    EXPECT_INT(release_as(&one), ZKL_OK);
    EXPECT_INT(release_as(&one), ZKL_OK);
    EXPECT_INT(async_dispatch(&self), 2);
    ASYNC_HEARD(&self, "released released ");
    zkl_testing_sleep(SOON_MS);
    EXPECT_INT(zkl_testing_count_children(ASYNC_RESOURCE), 0);
    end();
}

/* ---- Many -------------------------------------------------------------------------------------
 */

enum { MANY = 5000, MANY_RESOURCES = 250 };

typedef struct request {
    zkl_lock *lock;
    unsigned resource;
    unsigned granted;
    unsigned released;
} request;

static request *requests;
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
    EXPECT_INT(++holders[its->resource], 1);
    its->granted++;
    holders[its->resource]--;
    EXPECT_INT(zkl_lock_release_async(its->lock, ZKL_FOREVER, NULL, on_many_released, its), ZKL_OK);
}

static int all_are_done(void *arg) {
    (void)arg;
    return done == MANY;
}

static void begin_many(request *its, unsigned number) {
    char resource[32];
    its->resource = number % MANY_RESOURCES;
    snprintf(resource, sizeof(resource), "many-%u", its->resource);
    EXPECT_INT(zkl_lock_open(self.client, resource, NULL, &its->lock), ZKL_OK);
    EXPECT_INT(
        zkl_lock_acquire_async(its->lock, ZKL_EXCLUSIVE, ZKL_FOREVER, NULL, on_many_granted, its),
        ZKL_OK);
}

TEST(five_thousand_requests_of_one_client_are_granted_once_each) {
    begin(ZKL_DISPATCH_THREAD);
    requests = calloc(MANY, sizeof(*requests));
    done = 0;
    for (unsigned i = 0; i < MANY; i++) {
        begin_many(&requests[i], i);
    }
    EXPECT_INT(zkl_testing_wait_until(all_are_done, NULL, 3000000), 1);
    for (unsigned i = 0; i < MANY; i++) {
        EXPECT_INT(requests[i].granted, 1);
        EXPECT_INT(requests[i].released, 1);
        zkl_lock_close(requests[i].lock);
    }
    free(requests);
    end();
}
