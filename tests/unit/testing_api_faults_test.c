/* zklock/testing.h: each fault, and what an application sees of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/participant.h"

enum { TIMEOUT_MS = PARTICIPANT_TIMEOUT_MS, TICK_MS = 2000, SOON_MS = 200 };

static participant holder;
static participant waiter;
static zkl_testing_task *waiting;

/* One that holds, in the first process, and one that waits, in another. */
static void begin_with(int64_t limit_ms, bool lease) {
    zkl_testing_begin(NULL);
    participant_open(&holder, limit_ms, lease);
    zkl_testing_process_enter(zkl_testing_process_make());
    participant_open(&waiter, 0, false);
    zkl_testing_process_enter(NULL);
    EXPECT_INT(participant_acquire(&holder, 10000), ZKL_OK);
    waiting = participant_start(&waiter, 60000);
    zkl_testing_sleep(SOON_MS);
    EXPECT_INT(zkl_testing_count_children(PARTICIPANT_RESOURCE), 2);
}

/* The waiter has the lock now; all goes home. */
static void end_handed_over(int holders_release) {
    zkl_testing_join(waiting);
    EXPECT_INT(waiter.status, ZKL_OK);
    EXPECT(waiter.grant.token > holder.grant.token);
    EXPECT_INT(zkl_lock_release(holder.lock, TIMEOUT_MS), holders_release);
    EXPECT_INT(zkl_lock_release(waiter.lock, TIMEOUT_MS), ZKL_OK);
    zkl_testing_expect_clean(TIMEOUT_MS);
    zkl_testing_sleep(SOON_MS); /* the holder's next session may be about to begin */
    participant_close(&holder);
    participant_close(&waiter);
    EXPECT_INT(zkl_testing_count_sessions(), 0);
    zkl_testing_end();
}

/* The holder has it still. */
static void end_held(void) {
    EXPECT_INT(zkl_testing_has_ended(waiting), 0);
    EXPECT_INT(zkl_lock_check(holder.lock, NULL), ZKL_OK);
    EXPECT_INT(zkl_lock_release(holder.lock, TIMEOUT_MS), ZKL_OK);
    zkl_testing_join(waiting);
    EXPECT_INT(waiter.status, ZKL_OK);
    EXPECT_INT(zkl_lock_release(waiter.lock, TIMEOUT_MS), ZKL_OK);
    zkl_testing_expect_clean(TIMEOUT_MS);
    participant_close(&holder);
    participant_close(&waiter);
    zkl_testing_end();
}

#define LOST_BY_EXPIRY "lost(the ZooKeeper session expired) "

/* ---- Sessions and connections ------------------------------------------------------- */

static void start_servers_later(void *arg) {
    (void)arg;
    zkl_testing_sleep(TIMEOUT_MS);
    zkl_testing_start_servers();
}

static void close_waiter(void *arg) {
    (void)arg;
    participant_close(&waiter);
}

TEST(client_may_be_closed_while_its_sessions_end_waits_for_a_leader) {
    begin_with(0, false);
    EXPECT_INT(zkl_lock_cancel(waiter.lock), ZKL_OK);
    zkl_testing_join(waiting);
    EXPECT_INT(waiter.status, ZKL_CANCELLED);
    zkl_testing_sleep(SOON_MS);
    zkl_testing_stop_servers();
    zkl_testing_task *closing = zkl_testing_start(close_waiter, NULL);
    zkl_testing_task *starting = zkl_testing_start(start_servers_later, NULL);
    zkl_testing_expire_session(waiter.client);
    zkl_testing_join(closing);
    zkl_testing_join(starting);
    EXPECT_INT(zkl_testing_wait_for_state(holder.lock, ZKL_STATE_HELD, TIMEOUT_MS), 1);
    participant_close(&holder);
    zkl_testing_end();
}

/* As the header has it. */
TEST(end_of_a_session_takes_time_to_pass) {
    begin_with(0, false);
    zkl_testing_expire_session(holder.client);
    int64_t ended_ms = zkl_testing_now_ms();
    EXPECT_INT(zkl_testing_count_children(PARTICIPANT_RESOURCE), 2);
    EXPECT_INT(zkl_lock_check(holder.lock, NULL), ZKL_OK);
    EXPECT_INT(zkl_testing_wait_for_state(holder.lock, ZKL_STATE_LOST, TIMEOUT_MS), 1);
    EXPECT(zkl_testing_now_ms() - ended_ms < SOON_MS);
    end_handed_over(ZKL_LOST);
}

TEST(partition_past_the_session_is_lost) {
    begin_with(0, false);
    zkl_testing_partition(holder.client, 3LL * TIMEOUT_MS);
    zkl_testing_join(waiting);
    EXPECT_INT(zkl_lock_check(holder.lock, NULL), ZKL_SUSPECT);
    EXPECT_INT(zkl_testing_wait_for_state(holder.lock, ZKL_STATE_LOST, 4LL * TIMEOUT_MS), 1);
    EXPECT(zkl_testing_now_ms() >= 3LL * TIMEOUT_MS);
    end_handed_over(ZKL_LOST);
}

TEST(pause_past_the_session_is_found_out_afterwards) {
    begin_with(0, false);
    zkl_testing_pause(NULL, TIMEOUT_MS + 2LL * TICK_MS);
    EXPECT_INT(zkl_testing_has_ended(waiting), 1); /* it was granted meanwhile */
    EXPECT_INT(zkl_lock_check(holder.lock, NULL), ZKL_SUSPECT);
    EXPECT_INT(zkl_testing_wait_for_state(holder.lock, ZKL_STATE_LOST, 1000), 1);
    end_handed_over(ZKL_LOST);
}

/* ---- LOST for other reasons --------------------------------------------------------- */

TEST(slow_commits_end_the_lease) {
    begin_with(0, true);
    zkl_testing_slow_servers(TIMEOUT_MS, 2LL * TIMEOUT_MS);
    EXPECT_INT(zkl_testing_wait_for_state(holder.lock, ZKL_STATE_LOST, 2LL * TIMEOUT_MS), 1);
    zkl_testing_heal();
    EXPECT_INT(zkl_lock_release(holder.lock, 0), ZKL_LOST);
    end_handed_over(ZKL_NOT_HELD);
}

/* ---- Timeouts and lost replies ------------------------------------------------------ */

static size_t count(const char *text, const char *words) {
    size_t found = 0;
    for (const char *at = strstr(text, words); at != NULL; at = strstr(at + 1, words)) {
        found++;
    }
    return found;
}

/* What happens in an acquire and release, the first ones of their resource or the second, when a
 * request of them is lost. */
static char *trace_of_loss(zkl_testing_request request, int carried_out, bool fresh) {
    participant self;
    char *text = NULL;
    size_t size = 0;
    zkl_testing_begin(NULL);
    participant_open(&self, 0, false);
    if (!fresh) {
        EXPECT_INT(participant_acquire(&self, 1000), ZKL_OK);
        EXPECT_INT(zkl_lock_release(self.lock, 1000), ZKL_OK);
    }
    FILE *file = open_memstream(&text, &size);
    zkl_testing_trace_to(file);
    zkl_testing_lose_reply(self.client, request, carried_out);
    EXPECT_INT(participant_acquire(&self, 10000), ZKL_OK);
    EXPECT_INT(zkl_testing_count_children(PARTICIPANT_RESOURCE), 1);
    EXPECT_INT(zkl_lock_release(self.lock, 10000), ZKL_OK);
    EXPECT_INT(zkl_testing_count_children(PARTICIPANT_RESOURCE), 0);
    zkl_testing_trace_to(NULL);
    (void)fclose(file);
    participant_close(&self);
    zkl_testing_end();
    return text;
}

TEST(lost_create_ends_in_one_grant) {
    for (int i = 0; i < 4; i++) {
        int carried_out = i % 2;
        bool fresh = i >= 2; /* its first creates are in vain, or of other nodes */
        char *text = trace_of_loss(ZKL_TESTING_CREATE, carried_out, fresh);
        EXPECT_INT(count(text, "reply to create: lost"), 1);
        EXPECT_INT(count(strstr(text, "reply to create: lost"), "NoNode"), 0);
        EXPECT_INT(count(text, ": create /locks/stock/_c_"), 1 + carried_out);
        EXPECT_INT(count(text, "reply to delete: lost"), 0);
        free(text);
    }
}

TEST(lost_delete_makes_a_release_that_does_not_wait_pending) {
    zkl_client_information information = ZKL_CLIENT_INFORMATION_INIT;
    begin_with(0, false);
    zkl_testing_lose_reply(holder.client, ZKL_TESTING_DELETE, 0);
    EXPECT_INT(zkl_lock_release(holder.lock, 1), ZKL_PENDING);
    EXPECT_INT(zkl_client_info(holder.client, &information), ZKL_OK);
    EXPECT_INT(information.pending_deletions, 1);
    end_handed_over(ZKL_NOT_HELD);
}

/* ---- Servers ------------------------------------------------------------------------ */

TEST(election_is_a_hiccup) {
    begin_with(0, false);
    zkl_testing_elect_leader();
    EXPECT_INT(zkl_testing_wait_for_state(holder.lock, ZKL_STATE_SUSPECT, SOON_MS), 1);
    EXPECT_INT(zkl_testing_wait_for_state(holder.lock, ZKL_STATE_HELD, TIMEOUT_MS), 1);
    end_held();
}
