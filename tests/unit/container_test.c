/* Containers: nodes that the servers delete some time after their last child has gone. */
#include "base/threads.h"
#include "support/caller.h"
#include "zklock/zklock.h"

enum { CONTAINER_MS = 1000, ENOUGH_MS = 5000 };

static zkl_ensemble *ensemble;

static void begin(void) {
    zkl_ensemble_options options = caller_options();
    options.container_ms = CONTAINER_MS;
    ensemble = caller_world_begin(1, &options);
}

static bool is_there(const char *path) {
    return zkl_tree_find(zkl_ensemble_tree(ensemble), path, ZKL_LATEST_ZXID) != NULL;
}

static zkl_lock *open_lock(int32_t container_parents, zkl_client **client) {
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    options.session_timeout_ms = 600;
    options.container_parents = container_parents;
    zkl_lock *lock = NULL;
    EXPECT_INT(zkl_client_open("server:2181", &options, client), ZKL_OK);
    EXPECT_INT(zkl_lock_open(*client, "stock", NULL, &lock), ZKL_OK);
    return lock;
}

static void hold_and_release(zkl_lock *lock) {
    EXPECT_INT(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, ENOUGH_MS, NULL), ZKL_OK);
    run_ms(3 * CONTAINER_MS);
    EXPECT(is_there("/locks/stock"));
    EXPECT_INT(zkl_lock_release(lock, ENOUGH_MS), ZKL_OK);
    run_ms(3 * CONTAINER_MS);
}

TEST(resource_of_a_client_with_container_parents_goes_after_its_use) {
    begin();
    zkl_client *client = NULL;
    zkl_lock *lock = open_lock(1, &client);
    for (int i = 0; i < 2; i++) {
        hold_and_release(lock);
        EXPECT(!is_there("/locks/stock"));
        EXPECT(is_there("/locks"));
    }
    zkl_lock_close(lock);
    EXPECT_INT(zkl_client_close(client, ENOUGH_MS), ZKL_OK);
    caller_world_end();
}

TEST(resource_of_other_clients_stays) {
    begin();
    zkl_client *client = NULL;
    zkl_lock *lock = open_lock(0, &client);
    hold_and_release(lock);
    EXPECT(is_there("/locks/stock"));
    zkl_lock_close(lock);
    EXPECT_INT(zkl_client_close(client, ENOUGH_MS), ZKL_OK);
    caller_world_end();
}

TEST(option_is_zero_or_one) {
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    options.container_parents = 2;
    zkl_client *client = NULL;
    EXPECT_INT(zkl_client_open("server:2181", &options, &client), ZKL_INVALID_ARGUMENT);
    EXPECT_TEXT(zkl_error_message(), "container_parents 2: must be from 0 to 1");
}
