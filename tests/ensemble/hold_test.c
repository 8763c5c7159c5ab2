/* Time alone takes no lock away. */
#include "support/scene.h"
#include "support/servers.h"

static void lock_held_for_five_session_timeouts_stays_held(void) {
    struct scene scene;
    struct waiter waiter;
    scene_begin(&scene, "hold");
    zkl_client *holders_client = client_open(server_host(1), SHORT_SESSION_MS);
    zkl_client *waiters_client = client_open(server_host(2), SHORT_SESSION_MS);
    zkl_lock *holder = lock_open(holders_client, scene.resource);
    zkl_lock *lock = lock_open(waiters_client, scene.resource);
    zkl_client_information before = client_information(holders_client);
    ASSERT_NUMBER(before.session_timeout_ms, SHORT_SESSION_MS);
    ASSERT_STATUS(zkl_lock_acquire(holder, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
    waiter_start(&waiter, lock, ZKL_EXCLUSIVE, 2 * PATIENCE_MS);
    STAYS(zkl_lock_check(holder, NULL) == ZKL_OK && !waiter_is_done(&waiter),
          5 * before.session_timeout_ms);
    zkl_client_information after = client_information(holders_client);
    ASSERT_NUMBER(after.session_id, before.session_id);
    ASSERT_NUMBER(after.sessions_expired, 0);
    ASSERT_NUMBER(scene_queue(&scene), 2);
    ASSERT_STATUS(zkl_lock_release(holder, PATIENCE_MS), ZKL_OK);
    ASSERT_STATUS(waiter_join(&waiter), ZKL_OK);
    CU_ASSERT_TRUE(waiter.grant.waited_ms >= 4 * before.session_timeout_ms);
    zkl_lock_close(holder);
    zkl_lock_close(lock);
    client_close(holders_client);
    client_close(waiters_client);
    scene_end(&scene);
}

int main(int argc, char **argv) {
    static const struct test_case tests[] = {
        TEST_CASE(lock_held_for_five_session_timeouts_stays_held),
    };
    return run_tests(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
