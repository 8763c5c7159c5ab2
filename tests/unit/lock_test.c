/*
 * The lock handle: what its blocking calls return, over scripted operations.
 * The client is put together by hand, without threads and without a server; the
 * acquire runs in a thread of its own, and the test answers for ZooKeeper. The
 * test waits for that thread's requests, never for a time.
 */
#include "client.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/fake_operations.h"
#include "support/unit.h"
#include "threads.h"

enum { SESSION_ID = 77 };

typedef struct lock_desk {
    fake_operations fake;
    zkl_client *client;
    zkl_lock *lock;
    pthread_cond_t called; /* the fake was asked for something */
    pthread_t thread;      /* of the blocking call */
    zkl_mode mode;
    int64_t timeout_ms;
    zkl_grant grant;
    int status; /* what the blocking call returned */
} lock_desk;

static void on_called(void *arg) {
    lock_desk *desk = arg;
    pthread_cond_broadcast(&desk->called);
}

/* ---- A client without threads ------------------------------------------------ */

static void enter(lock_desk *desk) {
    pthread_mutex_lock(&desk->client->mutex);
}

static void leave(lock_desk *desk) {
    pthread_mutex_unlock(&desk->client->mutex);
}

static void tell(lock_desk *desk, zkl_session_state state) {
    zkl_session_news news = { .state = state, .session_id = SESSION_ID, .timeout_ms = 10000 };
    enter(desk);
    zkl_session_on_news(&desk->client->sessions->session, &news);
    leave(desk);
}

static zkl_client *make_client(fake_operations *fake) {
    zkl_client *client = calloc(1, sizeof(*client));
    if (client == NULL) {
        abort();
    }
    pthread_mutex_init(&client->mutex, NULL);
    zkl_condition_begin(&client->changed);
    zkl_condition_begin(&client->timers_changed);
    client->references = 1;
    client->chroot = strdup("/app");
    client->lock_root = strdup("/locks");
    client->label = strdup("label");
    client->identity = strdup("host=h\n");
    client->process = getpid();
    client->full_lock_root = strdup("/app/locks");
    client->sessions = calloc(1, sizeof(*client->sessions));
    if (client->sessions == NULL) {
        abort();
    }
    zkl_session_begin(&client->sessions->session,
                      &(zkl_session_options){ .operations = &fake->operations,
                                              .identity = client->identity,
                                              .label = client->label,
                                              .lock_root = client->full_lock_root });
    return client;
}

static lock_desk *open_offline_desk(const zkl_lock_options *options) {
    static lock_desk desk;
    memset(&desk, 0, sizeof(desk));
    pthread_cond_init(&desk.called, NULL);
    fake_begin(&desk.fake);
    desk.fake.called = on_called;
    desk.fake.called_arg = &desk;
    desk.grant = (zkl_grant)ZKL_GRANT_INIT;
    desk.client = make_client(&desk.fake);
    EXPECT_INT(zkl_lock_open(desk.client, "stock", options, &desk.lock), ZKL_OK);
    return &desk;
}

static lock_desk *open_desk(void) {
    lock_desk *desk = open_offline_desk(NULL);
    tell(desk, ZKL_SESSION_STATE_CONNECTED);
    return desk;
}

static void close_desk(lock_desk *desk) {
    zkl_lock_close(desk->lock);
    tell(desk, ZKL_SESSION_STATE_EXPIRED);
    enter(desk);
    fake_answer_all(&desk->fake, ZKL_OUTCOME_SESSION_OVER);
    EXPECT_INT(desk->client->sessions->session.runner_count, 0);
    desk->fake.heard[0] = '\0';
    fake_end(&desk->fake);
    leave(desk);
    zkl_session_destroy(&desk->client->sessions->session);
    free(desk->client->sessions);
    desk->client->sessions = NULL;
    zkl_client_drop(desk->client);
    pthread_cond_destroy(&desk->called);
}

/* ---- Blocking calls, and the answers of a server --------------------------------- */

static void *run_acquire(void *arg) {
    lock_desk *desk = arg;
    desk->status = zkl_lock_acquire(desk->lock, desk->mode, desk->timeout_ms, &desk->grant);
    return NULL;
}

static void *run_release(void *arg) {
    lock_desk *desk = arg;
    desk->status = zkl_lock_release(desk->lock, desk->timeout_ms);
    return NULL;
}

static void begin(lock_desk *desk, void *(*run)(void *), int64_t timeout_ms) {
    desk->timeout_ms = timeout_ms;
    EXPECT_INT(pthread_create(&desk->thread, NULL, run, desk), 0);
}

static int join(lock_desk *desk) {
    pthread_join(desk->thread, NULL);
    return desk->status;
}

/* Waits until the other thread has sent so many requests; enters. */
static void enter_at_calls(lock_desk *desk, size_t calls) {
    enter(desk);
    while (desk->fake.call_count < calls) {
        pthread_cond_wait(&desk->called, &desk->client->mutex);
    }
}

static void answer_create(lock_desk *desk, const char *rest, int64_t zxid) {
    char name[FAKE_NAME_SIZE];
    char path[FAKE_NAME_SIZE + 32];
    fake_name(name, desk->fake.guids, rest);
    snprintf(path, sizeof(path), "/app/locks/stock/%s", name);
    FAKE_ANSWER(&desk->fake, "create", .path = path, .zxid = zxid);
}

static void answer_list(lock_desk *desk, const char *own_rest, const char *other) {
    char own[FAKE_NAME_SIZE];
    fake_name(own, desk->fake.guids, own_rest);
    const char *names[] = { own, other };
    FAKE_ANSWER(&desk->fake, "list", .children = { names, other != NULL ? 2 : 1 });
}

static void hold(lock_desk *desk) {
    begin(desk, run_acquire, ZKL_FOREVER);
    enter_at_calls(desk, 2);
    answer_create(desk, "lock-0000000003", 4711);
    answer_list(desk, "lock-0000000003", NULL);
    leave(desk);
    EXPECT_INT(join(desk), ZKL_OK);
}

static void answer_remove(lock_desk *desk) {
    enter(desk);
    FAKE_ANSWER(&desk->fake, "remove", .outcome = ZKL_OUTCOME_OK);
    leave(desk);
}

/* ---- Acquire ---------------------------------------------------------------------- */

static void acquire_returns_with_the_grant(void) {
    lock_desk *desk = open_desk();
    begin(desk, run_acquire, ZKL_FOREVER);
    enter_at_calls(desk, 2);
    FAKE_HEARD(&desk->fake, "create /app/locks/stock/#1-lock-; list /app/locks/stock");
    answer_create(desk, "lock-0000000003", 4711);
    desk->fake.now_ms += 25;
    answer_list(desk, "lock-0000000003", NULL);
    leave(desk);
    EXPECT_INT(join(desk), ZKL_OK);
    EXPECT_INT(desk->grant.token, 4711);
    EXPECT_INT(desk->grant.mode, ZKL_EXCLUSIVE);
    EXPECT_INT(desk->grant.waited_ms, 25);
    EXPECT_TEXT(desk->grant.node,
                "/app/locks/stock/_c_11111111-1111-4111-9111-111111111111-lock-0000000003");
    close_desk(desk);
}

static void grant_tells_the_mode(void) {
    static const zkl_mode modes[] = { ZKL_READ, ZKL_WRITE };
    static const char *const rests[] = { "__READ__0000000001", "__WRIT__0000000001" };
    for (size_t i = 0; i < COUNT_OF(modes); i++) {
        lock_desk *desk = open_desk();
        desk->mode = modes[i];
        begin(desk, run_acquire, ZKL_FOREVER);
        enter_at_calls(desk, 2);
        answer_create(desk, rests[i], 1);
        answer_list(desk, rests[i], NULL);
        leave(desk);
        EXPECT_INT(join(desk), ZKL_OK);
        EXPECT_INT(desk->grant.mode, modes[i]);
        close_desk(desk);
    }
}

static void absolute_resource_stands_below_the_chroot_only(void) {
    lock_desk *desk = open_desk();
    zkl_lock_close(desk->lock);
    EXPECT_INT(zkl_lock_open(desk->client, "/a/b", NULL, &desk->lock), ZKL_OK);
    begin(desk, run_acquire, 0);
    enter_at_calls(desk, 1);
    FAKE_HEARD(&desk->fake, "list /app/a/b");
    leave(desk);
    tell(desk, ZKL_SESSION_STATE_CONNECTING);
    EXPECT_INT(join(desk), ZKL_DISCONNECTED);
    close_desk(desk);
}

static void deadline_ends_the_acquire(void) {
    lock_desk *desk = open_desk();
    begin(desk, run_acquire, 500);
    enter_at_calls(desk, 2);
    desk->fake.now_ms += 500;
    zkl_timers_fire_due(&desk->client->sessions->session.timers, desk->fake.now_ms);
    leave(desk);
    EXPECT_INT(join(desk), ZKL_TIMEOUT);
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_NOT_HELD);
    close_desk(desk);
}

static void try_returns_without_a_wait(void) {
    lock_desk *desk = open_offline_desk(NULL);
    EXPECT_INT(zkl_lock_acquire(desk->lock, ZKL_EXCLUSIVE, 0, NULL), ZKL_DISCONNECTED);
    tell(desk, ZKL_SESSION_STATE_CONNECTED);
    begin(desk, run_acquire, 0);
    enter_at_calls(desk, 1);
    const char *names[] = { "lock-0000000001" };
    FAKE_ANSWER(&desk->fake, "list", .children = { names, 1 });
    leave(desk);
    EXPECT_INT(join(desk), ZKL_BUSY);
    close_desk(desk);
}

static void acquire_refuses_bad_arguments_and_changes_nothing(void) {
    lock_desk *desk = open_desk();
    zkl_grant grant = ZKL_GRANT_INIT;
    EXPECT_INT(zkl_lock_acquire(desk->lock, (zkl_mode)7, 0, NULL), ZKL_INVALID_MODE);
    EXPECT_INT(zkl_lock_acquire(desk->lock, ZKL_READ, -2, NULL), ZKL_INVALID_TIMEOUT);
    grant.struct_size--;
    EXPECT_INT(zkl_lock_acquire(desk->lock, ZKL_READ, 0, &grant), ZKL_INVALID_STRUCT_SIZE);
    EXPECT_INT(zkl_lock_release(desk->lock, -2), ZKL_INVALID_TIMEOUT);
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_NOT_HELD);
    FAKE_HEARD(&desk->fake, "");
    close_desk(desk);
}

static void acquire_without_random_numbers_leaves_the_handle_idle(void) {
    lock_desk *desk = open_desk();
    desk->fake.random_fails = true;
    EXPECT_INT(zkl_lock_acquire(desk->lock, ZKL_EXCLUSIVE, 0, NULL), ZKL_SYSTEM);
    desk->fake.random_fails = false;
    hold(desk);
    close_desk(desk);
}

static void expiry_fails_the_acquire_where_asked_for(void) {
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    options.fail_on_session_expiry = 1;
    lock_desk *desk = open_offline_desk(&options);
    tell(desk, ZKL_SESSION_STATE_CONNECTED);
    begin(desk, run_acquire, ZKL_FOREVER);
    enter_at_calls(desk, 2);
    leave(desk);
    tell(desk, ZKL_SESSION_STATE_EXPIRED);
    EXPECT_INT(join(desk), ZKL_SESSION_EXPIRED);
    close_desk(desk);
}

static void lock_lost_before_its_acquire_returned_was_never_held(void) {
    lock_desk *desk = open_desk();
    begin(desk, run_acquire, ZKL_FOREVER);
    enter_at_calls(desk, 2);
    answer_create(desk, "lock-0000000003", 1);
    answer_list(desk, "lock-0000000003", NULL);
    zkl_session_news expired = { .state = ZKL_SESSION_STATE_EXPIRED };
    zkl_session_on_news(&desk->client->sessions->session, &expired); /* the mutex is still ours */
    leave(desk);
    EXPECT_INT(join(desk), ZKL_SESSION_EXPIRED);
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_NOT_HELD);
    EXPECT_INT(zkl_lock_release(desk->lock, 0), ZKL_NOT_HELD);
    close_desk(desk);
}

static void failed_authentication_fails_this_acquire_and_the_next(void) {
    lock_desk *desk = open_offline_desk(NULL);
    tell(desk, ZKL_SESSION_STATE_AUTH_FAILED);
    EXPECT_INT(zkl_lock_acquire(desk->lock, ZKL_EXCLUSIVE, ZKL_FOREVER, NULL), ZKL_AUTH_FAILED);
    EXPECT_INT(zkl_lock_acquire(desk->lock, ZKL_EXCLUSIVE, 0, NULL), ZKL_AUTH_FAILED);
    close_desk(desk);
}

/* ---- One handle is one contender ------------------------------------------------------ */

static void held_handle_cannot_acquire_again_until_released(void) {
    lock_desk *desk = open_desk();
    hold(desk);
    EXPECT_INT(zkl_lock_acquire(desk->lock, ZKL_READ, 0, NULL), ZKL_ALREADY_HELD);
    EXPECT_INT(zkl_lock_release(desk->lock, 0), ZKL_OK);
    answer_remove(desk);
    hold(desk);
    close_desk(desk);
}

static void handle_in_an_acquire_is_in_use(void) {
    lock_desk *desk = open_desk();
    begin(desk, run_acquire, ZKL_FOREVER);
    enter_at_calls(desk, 2);
    leave(desk);
    EXPECT_INT(zkl_lock_acquire(desk->lock, ZKL_EXCLUSIVE, 0, NULL), ZKL_HANDLE_IN_USE);
    EXPECT_INT(zkl_lock_release(desk->lock, 0), ZKL_HANDLE_IN_USE);
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_NOT_HELD);
    EXPECT_INT(zkl_lock_cancel(desk->lock), ZKL_OK);
    EXPECT_INT(join(desk), ZKL_CANCELLED);
    close_desk(desk);
}

static void handle_in_a_release_is_in_use(void) {
    lock_desk *desk = open_desk();
    hold(desk);
    begin(desk, run_release, ZKL_FOREVER);
    enter_at_calls(desk, 1);
    leave(desk);
    EXPECT_INT(zkl_lock_acquire(desk->lock, ZKL_EXCLUSIVE, 0, NULL), ZKL_HANDLE_IN_USE);
    EXPECT_INT(zkl_lock_release(desk->lock, 0), ZKL_HANDLE_IN_USE);
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_NOT_HELD);
    answer_remove(desk);
    EXPECT_INT(join(desk), ZKL_OK);
    close_desk(desk);
}

static void cancel_is_for_those_who_wait(void) {
    lock_desk *desk = open_desk();
    EXPECT_INT(zkl_lock_cancel(desk->lock), ZKL_NOT_WAITING);
    hold(desk);
    EXPECT_INT(zkl_lock_cancel(desk->lock), ZKL_NOT_WAITING);
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_OK);
    close_desk(desk);
}

static void cancel_after_the_grant_comes_too_late(void) {
    lock_desk *desk = open_desk();
    begin(desk, run_acquire, ZKL_FOREVER);
    enter_at_calls(desk, 2);
    answer_create(desk, "lock-0000000003", 1);
    answer_list(desk, "lock-0000000003", NULL);
    leave(desk);
    EXPECT_INT(zkl_lock_cancel(desk->lock), ZKL_NOT_WAITING);
    EXPECT_INT(join(desk), ZKL_OK);
    close_desk(desk);
}

/* ---- Check -------------------------------------------------------------------------------- */

static void check_follows_the_session(void) {
    lock_desk *desk = open_desk();
    int64_t lease_left_ms = 5;
    EXPECT_INT(zkl_lock_check(desk->lock, &lease_left_ms), ZKL_NOT_HELD);
    EXPECT_INT(lease_left_ms, -1);
    hold(desk);
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_OK);
    tell(desk, ZKL_SESSION_STATE_CONNECTING);
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_SUSPECT);
    tell(desk, ZKL_SESSION_STATE_CONNECTED);
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_OK);
    tell(desk, ZKL_SESSION_STATE_CONNECTING);
    tell(desk, ZKL_SESSION_STATE_EXPIRED);
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_LOST);
    tell(desk, ZKL_SESSION_STATE_CONNECTED);
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_LOST); /* final for this grant */
    close_desk(desk);
}

static void lost_lock_has_to_be_released_before_the_next_acquire(void) {
    lock_desk *desk = open_desk();
    hold(desk);
    tell(desk, ZKL_SESSION_STATE_EXPIRED);
    tell(desk, ZKL_SESSION_STATE_CONNECTED);
    EXPECT_INT(zkl_lock_acquire(desk->lock, ZKL_EXCLUSIVE, 0, NULL), ZKL_ALREADY_HELD);
    EXPECT_INT(zkl_lock_release(desk->lock, ZKL_FOREVER), ZKL_LOST);
    EXPECT_INT(zkl_lock_release(desk->lock, ZKL_FOREVER), ZKL_NOT_HELD);
    hold(desk);
    close_desk(desk);
}

/* ---- Release -------------------------------------------------------------------------------- */

static void release_without_a_wait_only_queues_the_delete(void) {
    lock_desk *desk = open_desk();
    hold(desk);
    desk->fake.heard[0] = '\0';
    EXPECT_INT(zkl_lock_release(desk->lock, 0), ZKL_OK);
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_NOT_HELD);
    FAKE_HEARD(&desk->fake, "remove /app/locks/stock/#1-lock-0000000003");
    EXPECT_INT(zkl_lock_release(desk->lock, 0), ZKL_NOT_HELD);
    close_desk(desk);
}

static void release_waits_for_the_confirmation(void) {
    lock_desk *desk = open_desk();
    hold(desk);
    begin(desk, run_release, ZKL_FOREVER);
    enter_at_calls(desk, 1);
    FAKE_ANSWER(&desk->fake, "remove", .outcome = ZKL_OUTCOME_NO_NODE);
    leave(desk);
    EXPECT_INT(join(desk), ZKL_OK);
    close_desk(desk);
}

static void release_that_is_not_confirmed_in_time_is_pending(void) {
    lock_desk *desk = open_desk();
    hold(desk);
    EXPECT_INT(zkl_lock_release(desk->lock, 1), ZKL_PENDING);
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_NOT_HELD);
    hold(desk); /* with another node, while the delete of the first is under way */
    EXPECT_INT(desk->fake.call_count, 1);
    close_desk(desk);
}

/* ---- Closing -----------------------------------------------------------------------------------
 */

static void close_releases_in_the_background(void) {
    lock_desk *desk = open_desk();
    hold(desk);
    desk->fake.heard[0] = '\0';
    zkl_lock_close(desk->lock);
    desk->lock = NULL;
    FAKE_HEARD(&desk->fake, "remove /app/locks/stock/#1-lock-0000000003");
    EXPECT_INT(desk->client->sessions->session.runner_count, 1);
    close_desk(desk);
}

static void close_ends_an_acquire_of_another_thread(void) {
    lock_desk *desk = open_desk();
    begin(desk, run_acquire, ZKL_FOREVER);
    enter_at_calls(desk, 2);
    leave(desk);
    zkl_lock_close(desk->lock); /* returns when that acquire has returned */
    desk->lock = NULL;
    EXPECT_INT(join(desk), ZKL_CANCELLED);
    close_desk(desk);
}

static void handle_outlives_its_client_and_says_so(void) {
    lock_desk *desk = open_desk();
    enter(desk);
    desk->client->closed = true;
    leave(desk);
    EXPECT_INT(zkl_lock_acquire(desk->lock, ZKL_EXCLUSIVE, ZKL_FOREVER, NULL), ZKL_CLOSED);
    EXPECT_INT(zkl_lock_release(desk->lock, 0), ZKL_CLOSED);
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_CLOSED);
    EXPECT_INT(zkl_lock_cancel(desk->lock), ZKL_CLOSED);
    close_desk(desk);
}

static CU_TestInfo tests[] = {
    TEST(acquire_returns_with_the_grant),
    TEST(grant_tells_the_mode),
    TEST(absolute_resource_stands_below_the_chroot_only),
    TEST(deadline_ends_the_acquire),
    TEST(try_returns_without_a_wait),
    TEST(acquire_refuses_bad_arguments_and_changes_nothing),
    TEST(acquire_without_random_numbers_leaves_the_handle_idle),
    TEST(expiry_fails_the_acquire_where_asked_for),
    TEST(lock_lost_before_its_acquire_returned_was_never_held),
    TEST(failed_authentication_fails_this_acquire_and_the_next),
    TEST(held_handle_cannot_acquire_again_until_released),
    TEST(handle_in_an_acquire_is_in_use),
    TEST(handle_in_a_release_is_in_use),
    TEST(cancel_is_for_those_who_wait),
    TEST(cancel_after_the_grant_comes_too_late),
    TEST(check_follows_the_session),
    TEST(lost_lock_has_to_be_released_before_the_next_acquire),
    TEST(release_without_a_wait_only_queues_the_delete),
    TEST(release_waits_for_the_confirmation),
    TEST(release_that_is_not_confirmed_in_time_is_pending),
    TEST(close_releases_in_the_background),
    TEST(close_ends_an_acquire_of_another_thread),
    TEST(handle_outlives_its_client_and_says_so),
    TEST_END,
};

int main(void) {
    return unit_main("lock", tests);
}
