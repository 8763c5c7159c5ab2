/*
 * What a waiter trusts in when its connection is another one: its watches may not have been set
 * again. Servers may turn that away, as libzookeeper tells nobody, and the exists of zklock as
 * well; and where a client has other credentials, its new handle has no watches.
 */
#include "client/client.h"
#include "handle/lock.h"
#include "support/unit.h"
#include "testing/ensemble.h"
#include "testing/testing.h"
#include "zklock/testing.h"

enum { SESSION_MS = 12000, SOON_MS = 500, SEEDS = 100, OFTEN = 500000 };

typedef struct contender {
    zkl_client *client;
    zkl_lock *lock;
    int status;
} contender;

static contender holder, quitter, waiter, last;
static void (*move)(void); /* the waiter to another connection */

static void open_contender(contender *self) {
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    options.session_timeout_ms = SESSION_MS;
    self->status = ZKL_PENDING;
    EXPECT_INT(zkl_client_open("server:2181", &options, &self->client), ZKL_OK);
    EXPECT_INT(zkl_lock_open(self->client, "stock", NULL, &self->lock), ZKL_OK);
}

static void close_contender(contender *self) {
    zkl_lock_close(self->lock);
    EXPECT_INT(zkl_client_close(self->client, SESSION_MS), ZKL_OK);
}

static void acquire(void *arg) {
    contender *self = arg;
    self->status = zkl_lock_acquire(self->lock, ZKL_EXCLUSIVE, ZKL_FOREVER, NULL);
}

static int are_queued(void *count) {
    return zkl_testing_count_children("/locks/stock") == *(size_t *)count;
}

static void join(contender *self, size_t count) {
    zkl_testing_start(acquire, self);
    EXPECT(zkl_testing_wait_until(are_queued, &count, SESSION_MS));
    zkl_testing_sleep(SOON_MS); /* until its watches are armed */
}

static zkl_session *session_of(const contender *self) {
    return &self->client->sessions->session;
}

static int is_cut(void *self) {
    return !session_of(self)->connected;
}

static int is_back(void *self) {
    return session_of(self)->connected;
}

/* Any request, by chance. */
static void throttle(uint32_t per_million) {
    zkl_ensemble_set_rates(zkl_ensemble_current(),
                           &(zkl_ensemble_rates){ .throttled = per_million });
}

static void move_by_a_cut(void) {
    throttle(OFTEN);
    zkl_testing_disconnect(waiter.client, 5);
}

/* On the new handle something is written first of all. */
static void move_by_other_credentials(void) {
    EXPECT_INT(zkl_client_set_credentials(waiter.client, NULL, 0), ZKL_OK);
}

/* The servers turn away some of what it asks for at first. */
static void move_the_waiter(void) {
    move();
    EXPECT(zkl_testing_wait_until(is_cut, &waiter, SESSION_MS));
    EXPECT(zkl_testing_wait_until(is_back, &waiter, SESSION_MS));
    throttle(OFTEN);
    zkl_testing_sleep(3);
    throttle(0);
}

/* The one before the waiter gives up: so it watches the holder, on the new connection. Its own node
 * is deleted by hand, so it is the last one's turn. */
static void own_node_is_deleted(void *unused) {
    (void)unused;
    char path[ZKL_NODE_PATH_SIZE];
    open_contender(&holder);
    open_contender(&quitter);
    open_contender(&waiter);
    open_contender(&last);
    acquire(&holder);
    join(&quitter, 2);
    join(&waiter, 3);
    join(&last, 4);
    move_the_waiter();
    EXPECT_INT(zkl_lock_cancel(quitter.lock), ZKL_OK);
    zkl_testing_sleep(200);
    zkl_request_runner_node_path(waiter.lock->members[0].runner, path);
    EXPECT(zkl_testing_delete_node(path));
    zkl_testing_sleep(200);
    EXPECT_INT(zkl_lock_release(holder.lock, SESSION_MS), ZKL_OK);
    zkl_testing_sleep(200);
    bool both = zkl_lock_check(waiter.lock, NULL) == ZKL_OK && last.status == ZKL_OK;
    unit_check(!both, __FILE__, __LINE__, "seed %d: two holders", (int)zkl_testing_seed());
    close_contender(&holder);
    close_contender(&quitter);
    close_contender(&waiter);
    close_contender(&last);
}

static void holder_releases(void *unused) {
    (void)unused;
    open_contender(&holder);
    open_contender(&waiter);
    acquire(&holder);
    join(&waiter, 2);
    move_the_waiter();
    EXPECT_INT(zkl_lock_release(holder.lock, SESSION_MS), ZKL_OK);
    zkl_testing_sleep(SOON_MS);
    EXPECT_INT(waiter.status, ZKL_OK);
    close_contender(&holder);
    close_contender(&waiter);
}

/* The holder stays: only the waiter's own watch can tell. */
static void own_node_is_deleted_behind_a_holder(void *unused) {
    (void)unused;
    char path[ZKL_NODE_PATH_SIZE];
    size_t both = 2;
    open_contender(&holder);
    open_contender(&waiter);
    acquire(&holder);
    join(&waiter, both);
    move_the_waiter();
    zkl_request_runner_node_path(waiter.lock->members[0].runner, path);
    EXPECT(zkl_testing_delete_node(path));
    EXPECT(zkl_testing_wait_until(are_queued, &both, SESSION_MS / 2));
    close_contender(&holder);
    close_contender(&waiter);
}

static void run(void (*test)(void *), void (*move_by)(void)) {
    move = move_by;
    zkl_testing_run_seeds(1, SEEDS, NULL, test, NULL);
}

TEST(own_watch_that_no_server_has_set_again_grants_nothing) {
    run(own_node_is_deleted, move_by_a_cut);
}

TEST(own_watch_that_a_new_handle_lacks_grants_nothing) {
    run(own_node_is_deleted, move_by_other_credentials);
}

/* Not only with the session's pulse, a third of its timeout later. */
TEST(release_is_heard_soon_though_no_server_has_set_the_watch_again) {
    run(holder_releases, move_by_a_cut);
}

TEST(release_is_heard_soon_though_a_new_handle_lacks_the_watch) {
    run(holder_releases, move_by_other_credentials);
}

TEST(waiter_whose_node_is_deleted_joins_again_though_no_server_has_set_its_watch_again) {
    run(own_node_is_deleted_behind_a_holder, move_by_a_cut);
}

TEST(waiter_whose_node_is_deleted_joins_again_though_a_new_handle_lacks_its_watch) {
    run(own_node_is_deleted_behind_a_holder, move_by_other_credentials);
}
