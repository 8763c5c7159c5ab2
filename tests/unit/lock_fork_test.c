/*
 * Handles in a forked child: every function says ZKL_FORKED, without a lock and
 * without a change, and the parent goes on. The child is forked while another
 * thread has the client's mutex, which there nobody ever gives back: a call that
 * takes it hangs until the alarm.
 */
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/lock_desk.h"

enum { CHILD_SECONDS = 20 };

static sem_t taken;
static sem_t give_back;

static int take_mutex(lock_desk *desk) {
    desk_enter(desk);
    sem_post(&taken);
    while (sem_wait(&give_back) != 0) {
    }
    desk_leave(desk);
    return ZKL_OK;
}

/* What the child does: 0, or the number of its first call that went wrong. */
typedef int child_function(lock_desk *desk);

static int run_in_child(lock_desk *desk, child_function *function) {
    pid_t child = fork();
    if (child == 0) {
        alarm(CHILD_SECONDS);
        _exit(function(desk));
    }
    int status = -1;
    EXPECT_INT(waitpid(child, &status, 0), child);
    EXPECT(WIFEXITED(status)); /* it did not hang */
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int run_in_child_while_locked(lock_desk *desk, child_function *function) {
    sem_init(&taken, 0, 0);
    sem_init(&give_back, 0, 0);
    desk_begin(desk, take_mutex, 0);
    while (sem_wait(&taken) != 0) {
    }
    int result = run_in_child(desk, function);
    sem_post(&give_back);
    EXPECT_INT(desk_join(desk), ZKL_OK);
    sem_destroy(&taken);
    sem_destroy(&give_back);
    return result;
}

/* ---- The child ---------------------------------------------------------------- */

static int first_wrong(const int *statuses, int count) {
    for (int i = 0; i < count; i++) {
        if (statuses[i] != ZKL_FORKED) {
            return i + 1;
        }
    }
    return 0;
}

static void on_acquired(void *arg, int status, const zkl_grant *grant) {
    (void)arg;
    (void)status;
    (void)grant;
    abort(); /* the call was refused */
}

static void on_ended(void *arg, int status) {
    (void)arg;
    (void)status;
    abort(); /* likewise */
}

static int call_everything(lock_desk *desk) {
    zkl_lock *other = desk->lock;
    zkl_grant grant = ZKL_GRANT_INIT;
    zkl_lock_information lock = ZKL_LOCK_INFORMATION_INIT;
    zkl_client_information client = ZKL_CLIENT_INFORMATION_INIT;
    int64_t left = -99;
    int descriptor = -1;
    size_t length = 99;
    const int statuses[] = {
        zkl_lock_open(desk->client, "other", NULL, &other),
        zkl_lock_acquire(desk->lock, ZKL_EXCLUSIVE, 0, &grant),
        zkl_lock_acquire(desk->lock, ZKL_EXCLUSIVE, ZKL_FOREVER, NULL),
        zkl_lock_acquire_async(desk->lock, ZKL_EXCLUSIVE, 0, NULL, on_acquired, NULL),
        zkl_lock_release_async(desk->lock, 0, NULL, NULL, NULL),
        zkl_lock_downgrade_async(desk->lock, 0, NULL, on_ended, NULL),
        zkl_lock_try_upgrade_async(desk->lock, NULL, on_acquired, NULL),
        zkl_lock_verify_async(desk->lock, 1000, on_ended, NULL),
        zkl_client_event_descriptor(desk->client, &descriptor),
        zkl_client_dispatch(desk->client, NULL),
        zkl_lock_cancel(desk->lock),
        zkl_client_write_record(desk->client, "/nowhere/record"),
        zkl_lock_check(desk->lock, NULL),
        zkl_lock_check(desk->lock, &left),
        zkl_lock_info(desk->lock, &lock),
        zkl_lock_release(desk->lock, 0),
        zkl_lock_release(desk->lock, ZKL_FOREVER),
        zkl_client_info(desk->client, &client),
        zkl_client_metrics(desk->client, NULL, 0, &length),
        zkl_client_close(desk->client, 0),
        zkl_client_close(desk->client, 1000),
    };
    int wrong = first_wrong(statuses, (int)COUNT_OF(statuses));
    if (wrong == 0 && (other != NULL || left != 0 || grant.token != 0 || length != 0)) {
        return 100;
    }
    return wrong;
}

static int close_handles(lock_desk *desk) {
    {
        ZKL_CLOSE_AT_SCOPE_END zkl_lock *closed = desk->lock;
        ZKL_RELEASE_AT_SCOPE_END zkl_lock *released = desk->lock;
        (void)closed;
        (void)released;
    }
    zkl_lock_close(desk->lock);
    zkl_lock_close(desk->lock); /* it did nothing, so once more is fine */
    return zkl_lock_check(desk->lock, NULL) == ZKL_FORKED ? 0 : 1;
}

static int open_own_client(lock_desk *desk) {
    (void)desk;
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    zkl_client *client = NULL;
    zkl_lock *lock = NULL;
    if (zkl_client_open("h:1", &options, &client) != ZKL_OK) {
        return 1;
    }
    if (zkl_lock_open(client, "stock", NULL, &lock) != ZKL_OK) {
        return 2;
    }
    if (zkl_lock_check(lock, NULL) != ZKL_NOT_HELD) {
        return 3;
    }
    zkl_lock_close(lock);
    return zkl_client_close(client, 0) == ZKL_OK ? 0 : 4;
}

/* ---- The parent ------------------------------------------------------------------ */

TEST(every_call_of_a_child_says_forked_and_takes_no_lock) {
    lock_desk *desk = desk_open(NULL);
    EXPECT_INT(run_in_child_while_locked(desk, call_everything), 0);
    desk_hold(desk);
    EXPECT_INT(run_in_child_while_locked(desk, call_everything), 0);
    desk_close(desk);
}

TEST(close_and_scope_helpers_do_nothing_in_a_child) {
    lock_desk *desk = desk_open(NULL);
    desk_hold(desk);
    EXPECT_INT(run_in_child_while_locked(desk, close_handles), 0);
    desk_close(desk);
}

TEST(handle_that_lost_its_lock_is_forked_as_well) {
    lock_desk *desk = desk_open(NULL);
    desk_hold(desk);
    desk_expire(desk);
    EXPECT_INT(run_in_child_while_locked(desk, call_everything), 0);
    EXPECT_INT(run_in_child_while_locked(desk, close_handles), 0);
    EXPECT_INT(zkl_lock_release(desk->lock, 0), ZKL_LOST);
    desk_close(desk);
}

static void on_news(void *arg, const zkl_lock_event *event) {
    (void)event;
    atomic_fetch_add((atomic_int *)arg, 1);
}

TEST(parent_goes_on_as_before) {
    atomic_int told = 0;
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    options.reentrant = 1;
    options.state_callback = on_news;
    options.state_arg = &told;
    lock_desk *desk = desk_open(&options);
    desk_hold(desk);
    desk_forget_heard(desk);
    EXPECT_INT(run_in_child(desk, call_everything), 0);
    EXPECT_INT(run_in_child(desk, close_handles), 0);
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_OK);
    EXPECT_INT(desk_do(desk, desk_acquire, 0), ZKL_OK);
    EXPECT_INT(desk_do(desk, desk_release, 0), ZKL_OK);
    DESK_HEARD(desk, "");
    EXPECT_INT(desk_do(desk, desk_release, 0), ZKL_OK);
    DESK_HEARD(desk, "remove /app/locks/stock/#1-" DESK_NODE);
    desk_answer_remove(desk);
    desk_hold(desk);
    desk_expire(desk);
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_LOST);
    (void)desk_close_client(desk); /* tells what is queued; to close the handle first would not */
    EXPECT_INT(atomic_load(&told), 1);
    desk_close(desk);
}

TEST(child_may_open_a_client_of_its_own) {
    lock_desk *desk = desk_open(NULL);
    EXPECT_INT(run_in_child(desk, open_own_client), 0);
    desk_close(desk);
}
