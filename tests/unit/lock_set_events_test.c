/* What the application is told of locks that a set holds. */
#include <string.h>

#include "support/set_caller.h"
#include "zklock/administration.h"

enum { SOON_MS = 200, LONG_MS = 60000 };

static set_caller self;

static void begin(void) {
    zkl_testing_begin(NULL);
    set_open(&self, ZKL_DISPATCH_CALLER, NULL);
}

static void end(void) {
    set_close(&self);
    EXPECT_TEXT(self.heard, "");
    EXPECT_INT(zkl_testing_count_sessions(), 0);
    zkl_testing_end();
}

/* And its callback waits. */
static void begin_granted(void) {
    begin();
    set_acquire(&self, ZKL_FOREVER);
    zkl_testing_sleep(SOON_MS);
    set_expect_nodes(1, 1);
}

static void begin_held(void) {
    begin();
    self.grant = (zkl_grant)ZKL_GRANT_INIT;
    EXPECT_INT(zkl_lock_acquire(self.set, ZKL_AS_OPENED, ZKL_FOREVER, &self.grant), ZKL_OK);
}

TEST(loss_of_all_is_told_once_after_the_grant) {
    begin_granted();
    EXPECT_INT(set_dispatch(&self), 1);
    zkl_testing_expire_session(self.client);
    zkl_testing_sleep(SOON_MS);
    EXPECT_INT(set_dispatch(&self), 2);
    SET_HEARD(&self, "acquired suspect lost(-9) of stock ");
    set_release(&self, ZKL_FOREVER);
    EXPECT_INT(set_dispatch(&self), 1);
    SET_HEARD(&self, "released(-7) ");
    EXPECT_INT(zkl_lock_release(self.set, 0), ZKL_NOT_HELD);
    end();
}

TEST(loss_of_one_names_it_and_is_the_last_news) {
    begin_held();
    zkl_testing_sleep(SET_SESSION_MS); /* until it watches its nodes */
    set_delete_last_of(SET_ORDERS);
    zkl_testing_sleep(SOON_MS);
    EXPECT_INT(set_dispatch(&self), 1);
    SET_HEARD(&self, "lost(-12) of orders ");
    set_expect_nodes(1, 0);
    zkl_testing_disconnect(self.client, SOON_MS);
    zkl_testing_sleep(SET_SESSION_MS);
    zkl_testing_expire_session(self.client);
    zkl_testing_sleep(SET_SESSION_MS);
    EXPECT_INT(set_dispatch(&self), 0);
    EXPECT_INT(zkl_lock_release(self.set, 0), ZKL_LOST);
    end();
}

static void revoke_last_of(const char *resource) {
    char path[ZKL_NODE_PATH_SIZE];
    set_last_of(resource, path);
    EXPECT_INT(zkl_node_revoke(self.client, resource, strrchr(path, '/') + 1, LONG_MS), ZKL_OK);
}

TEST(holder_is_told_which_resource_is_asked_for) {
    begin_held();
    revoke_last_of(SET_ORDERS);
    zkl_testing_sleep(SET_SESSION_MS);
    revoke_last_of(SET_STOCK);
    zkl_testing_sleep(SET_SESSION_MS);
    EXPECT_INT(set_dispatch(&self), 2);
    SET_HEARD(&self, "revoke requested of orders revoke requested of stock ");
    end();
}
