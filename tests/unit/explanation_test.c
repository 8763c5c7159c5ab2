/*
 * What zkl_error_message says of a call that the servers, or their silence, have failed: to the
 * thread that waits, and in callbacks.
 */
#include <stdio.h>
#include <string.h>

#include "support/async_caller.h"
#include "testing/ensemble.h"
#include "zklock/election.h"
#include "zklock/striped_lock.h"
#include "zklock/zklock.h"

enum { SOON_MS = 200, WAIT_MS = 10000, LONG_MS = 60000, CLOSE_MS = 50, SAID_SIZE = 256 };

static async_caller self;
static char said[SAID_SIZE];

static void begin(zkl_dispatch dispatch) {
    zkl_testing_begin(NULL);
    async_open(&self, dispatch, NULL);
    said[0] = '\0';
}

static void end(void) {
    async_close(&self);
    zkl_testing_end();
}

static void keep_message(async_caller *caller) {
    (void)caller;
    snprintf(said, sizeof(said), "%s", zkl_error_message());
}

/* "<before><a number near ms> ms<behind>" */
static void expect_said(const char *text, const char *before, int64_t ms, const char *behind,
                        int line) {
    long long told = -1;
    char rest[SAID_SIZE] = "";
    bool begins = strncmp(text, before, strlen(before)) == 0;
    int found = begins ? sscanf(text + strlen(before), "%lld ms%255[^\n]", &told, rest) : 0;
    bool near = found >= 1 && told >= ms - CLOSE_MS && told <= ms + CLOSE_MS;
    unit_check(near && strcmp(rest, behind) == 0, __FILE__, line,
               "it says \"%s\", not \"%s%lld ms%s\"", text, before, (long long)ms, behind);
}

#define EXPECT_SAID(text, before, ms, behind)                                                      \
    expect_said((text), (before), (ms), (behind), __LINE__)

/* ---- A deadline ----------------------------------------------------------------------- */

TEST(timeout_says_behind_how_many_and_for_how_long) {
    char node[ZKL_NODE_PATH_SIZE];
    begin(ZKL_DISPATCH_THREAD);
    zkl_testing_add_contender(ASYNC_RESOURCE, ZKL_EXCLUSIVE, node);
    EXPECT_INT(zkl_lock_acquire(self.lock, ZKL_EXCLUSIVE, WAIT_MS, NULL), ZKL_TIMEOUT);
    EXPECT_SAID(zkl_error_message(), "resource \"stock\": behind 1 request for ", WAIT_MS, "");
    zkl_testing_add_contender(ASYNC_RESOURCE, ZKL_READ, node);
    EXPECT_INT(zkl_lock_acquire(self.lock, ZKL_EXCLUSIVE, 1000, NULL), ZKL_TIMEOUT);
    EXPECT_SAID(zkl_error_message(), "resource \"stock\": behind 2 requests for ", 1000, "");
    EXPECT_INT(zkl_lock_acquire(self.lock, ZKL_EXCLUSIVE, 0, NULL), ZKL_BUSY);
    EXPECT_TEXT(zkl_error_message(), ""); /* not the last one's */
    end();
}

TEST(deadline_without_a_connection_has_a_status_of_its_own_and_says_for_how_long) {
    begin(ZKL_DISPATCH_THREAD);
    zkl_testing_stop_servers();
    zkl_testing_sleep(SOON_MS);
    EXPECT_INT(zkl_lock_acquire(self.lock, ZKL_EXCLUSIVE, WAIT_MS, NULL), ZKL_DISCONNECTED);
    EXPECT_SAID(zkl_error_message(), "resource \"stock\": not connected for ", WAIT_MS + SOON_MS,
                "");
    zkl_testing_start_servers();
    end();
}

/* Nothing was held for so long that a lease has to be earned first. */
TEST(deadline_without_a_lease_says_that_nobody_is_before_us) {
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    zkl_client *client = NULL;
    zkl_lock *lock = NULL;
    options.lease_tick_ms = 2000;
    options.session_timeout_ms = 20000;
    begin(ZKL_DISPATCH_THREAD);
    EXPECT_INT(zkl_client_open("server:2181", &options, &client), ZKL_OK);
    EXPECT_INT(zkl_lock_open(client, "stock", NULL, &lock), ZKL_OK);
    zkl_testing_sleep(LONG_MS);
    EXPECT_INT(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, 1000, NULL), ZKL_TIMEOUT);
    EXPECT_SAID(zkl_error_message(),
                "resource \"stock\": first in the queue, but without a lease after ", 1000, "");
    zkl_lock_close(lock);
    EXPECT_INT(zkl_client_close(client, LONG_MS), ZKL_OK);
    end();
}

TEST(full_queue_says_behind_how_many) {
    zkl_lock *impatient = NULL;
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    char node[ZKL_NODE_PATH_SIZE];
    options.max_waiting = 1;
    begin(ZKL_DISPATCH_THREAD);
    zkl_testing_add_contender(ASYNC_RESOURCE, ZKL_EXCLUSIVE, node);
    zkl_testing_add_contender(ASYNC_RESOURCE, ZKL_EXCLUSIVE, node);
    EXPECT_INT(zkl_lock_open(self.client, "stock", &options, &impatient), ZKL_OK);
    EXPECT_INT(zkl_lock_acquire(impatient, ZKL_EXCLUSIVE, WAIT_MS, NULL), ZKL_QUEUE_FULL);
    EXPECT_SAID(zkl_error_message(), "resource \"stock\": behind 2 requests for ", 0, "");
    zkl_lock_close(impatient);
    end();
}

/* The node of what is held cannot be checked while nobody answers. */
TEST(verification_that_is_not_sent_or_not_answered_says_why) {
    begin(ZKL_DISPATCH_THREAD);
    EXPECT_INT(zkl_lock_acquire(self.lock, ZKL_EXCLUSIVE, WAIT_MS, NULL), ZKL_OK);
    zkl_testing_slow_servers(1000, 1000);
    EXPECT_INT(zkl_lock_verify(self.lock, 100), ZKL_SUSPECT);
    EXPECT_TEXT(zkl_error_message(),
                "resource \"stock\": there was no reply: the connection was lost or silent");
    zkl_testing_sleep(WAIT_MS);
    EXPECT_INT(zkl_lock_verify(self.lock, WAIT_MS), ZKL_OK);
    EXPECT_TEXT(zkl_error_message(), "");
    zkl_testing_stop_servers();
    zkl_testing_sleep(SOON_MS);
    EXPECT_INT(zkl_lock_verify(self.lock, 1000), ZKL_SUSPECT);
    EXPECT_SAID(zkl_error_message(), "resource \"stock\": nothing was sent: not connected for ",
                1000 + SOON_MS, "");
    self.react = keep_message;
    self.heard[0] = '\0'; /* what the state callback heard */
    EXPECT_INT(zkl_lock_verify_async(self.lock, 1000, async_on_verified, &self), ZKL_OK);
    async_wait(&self);
    ASYNC_HEARD(&self, "verified(-8) ");
    EXPECT_SAID(said, "resource \"stock\": nothing was sent: not connected for ", 2000 + SOON_MS,
                "");
    zkl_testing_start_servers();
    end();
}

/* ---- A refusal ------------------------------------------------------------------------ */

TEST(refused_request_names_its_path_and_operation) {
    zkl_lock *other = NULL;
    begin(ZKL_DISPATCH_THREAD);
    EXPECT_INT(zkl_lock_acquire(self.lock, ZKL_EXCLUSIVE, WAIT_MS, NULL), ZKL_OK);
    EXPECT_INT(zkl_lock_release(self.lock, WAIT_MS), ZKL_OK);
    zkl_ensemble_withhold(zkl_ensemble_current(), "/locks", ZKL_RIGHT_CREATE, ZKL_FOREVER);
    zkl_ensemble_withhold(zkl_ensemble_current(), ASYNC_RESOURCE, ZKL_RIGHT_CREATE, ZKL_FOREVER);
    EXPECT_INT(zkl_lock_open(self.client, "other", NULL, &other), ZKL_OK);
    EXPECT_INT(zkl_lock_acquire(other, ZKL_EXCLUSIVE, WAIT_MS, NULL), ZKL_NO_PERMISSION);
    EXPECT_TEXT(zkl_error_message(),
                "resource \"other\": the servers refused to create /locks/other");
    self.react = keep_message;
    async_acquire(&self, WAIT_MS);
    async_wait(&self);
    ASYNC_HEARD(&self, "acquired(-32) ");
    EXPECT_TEXT(said,
                "resource \"stock\": the servers refused to create a node below /locks/stock");
    zkl_lock_close(other);
    end();
}

/* ---- Callbacks ------------------------------------------------------------------------ */

TEST(callback_has_the_message_of_its_call) {
    char node[ZKL_NODE_PATH_SIZE];
    begin(ZKL_DISPATCH_THREAD);
    zkl_testing_add_contender(ASYNC_RESOURCE, ZKL_EXCLUSIVE, node);
    self.react = keep_message;
    async_acquire(&self, 1000);
    async_wait(&self);
    ASYNC_HEARD(&self, "acquired(-2) ");
    EXPECT_SAID(said, "resource \"stock\": behind 1 request for ", 1000, "");
    EXPECT_INT(zkl_testing_delete_node(node), 1);
    async_acquire(&self, 1000);
    async_wait(&self);
    ASYNC_HEARD(&self, "acquired ");
    EXPECT_TEXT(said, "");
    end();
}

TEST(callback_says_why_permits_differ) {
    zkl_lock *permit = NULL;
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    char node[ZKL_NODE_PATH_SIZE];
    begin(ZKL_DISPATCH_THREAD);
    zkl_testing_add_contender("/locks/other", ZKL_EXCLUSIVE, node);
    options.permits = 2;
    EXPECT_INT(zkl_lock_open(self.client, "other", &options, &permit), ZKL_OK);
    self.react = keep_message;
    EXPECT_INT(
        zkl_lock_acquire_async(permit, ZKL_EXCLUSIVE, WAIT_MS, NULL, async_on_acquired, &self),
        ZKL_OK);
    async_wait(&self);
    ASYNC_HEARD(&self, "acquired(-36) ");
    EXPECT_TEXT(said,
                "resource \"other\": an earlier request in its queue asks for another number of "
                "permits, or for a lock; or the resource is a semaphore of Curator or kazoo");
    zkl_lock_close(permit);
    end();
}

/* The callback before it was told of a failure. */
TEST(news_have_no_message_of_another_call) {
    zkl_lock *other = NULL;
    char node[ZKL_NODE_PATH_SIZE];
    begin(ZKL_DISPATCH_THREAD);
    EXPECT_INT(zkl_lock_acquire(self.lock, ZKL_EXCLUSIVE, WAIT_MS, NULL), ZKL_OK);
    EXPECT_INT(zkl_lock_open(self.client, "other", NULL, &other), ZKL_OK);
    zkl_testing_add_contender("/locks/other", ZKL_EXCLUSIVE, node);
    self.react = keep_message;
    EXPECT_INT(zkl_lock_acquire_async(other, ZKL_EXCLUSIVE, 1000, NULL, async_on_acquired, &self),
               ZKL_OK);
    async_wait(&self);
    EXPECT(said[0] != '\0');
    ASYNC_HEARD(&self, "acquired(-2) ");
    zkl_testing_disconnect(self.client, 100);
    async_wait(&self);
    EXPECT(strstr(self.heard, "suspect") != NULL);
    EXPECT_TEXT(said, "");
    zkl_lock_close(other);
    end();
}
