/* zklock/testing.h: what the servers have, and what is done to it by hand. */
#include <string.h>

#include "support/participant.h"

static participant self;

static void begin(void) {
    zkl_testing_begin(NULL);
    participant_open(&self, 0, false);
}

static void end(void) {
    participant_close(&self);
    zkl_testing_end();
}

TEST(contender_by_hand_holds_until_it_is_deleted) {
    char node[ZKL_NODE_PATH_SIZE];
    begin();
    EXPECT_INT(zkl_testing_count_children(PARTICIPANT_RESOURCE), 0);
    zkl_testing_add_contender(PARTICIPANT_RESOURCE, ZKL_EXCLUSIVE, node);
    EXPECT_INT(strncmp(node, PARTICIPANT_RESOURCE "/_c_", strlen(PARTICIPANT_RESOURCE) + 4), 0);
    EXPECT_TEXT(strstr(node, "-lock-"), "-lock-0000000000");
    EXPECT_INT(participant_acquire(&self, 0), ZKL_BUSY);
    EXPECT_INT(participant_acquire(&self, 60000), ZKL_TIMEOUT);
    EXPECT_INT(zkl_testing_delete_node(node), 1);
    EXPECT_INT(zkl_testing_delete_node(node), 0);
    EXPECT_INT(participant_acquire(&self, 1000), ZKL_OK);
    end();
}

static void acquire(void *arg) {
    (void)participant_acquire(arg, 5000);
}

TEST(watches_of_waiters_are_counted_and_go_with_them) {
    char node[ZKL_NODE_PATH_SIZE];
    participant other;
    begin();
    participant_open(&other, 0, false);
    zkl_testing_add_contender(PARTICIPANT_RESOURCE, ZKL_EXCLUSIVE, node);
    size_t before = zkl_testing_count_watches(NULL);
    zkl_testing_task *waiting = zkl_testing_start(acquire, &self);
    zkl_testing_sleep(100);
    size_t own = zkl_testing_count_watches(self.client);
    EXPECT(own > 0);
    EXPECT_INT(zkl_testing_count_watches(other.client), 0);
    EXPECT_INT(zkl_testing_count_watches(NULL), before + own);
    zkl_testing_join(waiting);
    EXPECT_INT(self.status, ZKL_TIMEOUT);
    zkl_testing_expect_clean(1000);
    EXPECT_INT(zkl_testing_count_watches(NULL), 0);
    participant_close(&other);
    end();
}

TEST(clean_is_waited_for) {
    begin();
    zkl_testing_add_contender("/locks/of/others", ZKL_EXCLUSIVE, NULL); /* may stay */
    EXPECT_INT(participant_acquire(&self, 1000), ZKL_OK);
    EXPECT_INT(zkl_lock_release(self.lock, 0), ZKL_OK);
    EXPECT_INT(zkl_testing_count_children(PARTICIPANT_RESOURCE), 1);
    int64_t before_ms = zkl_testing_now_ms();
    zkl_testing_expect_clean(1000);
    EXPECT_INT(zkl_testing_count_children(PARTICIPANT_RESOURCE), 0);
    EXPECT(zkl_testing_now_ms() - before_ms < 100);
    end();
}
