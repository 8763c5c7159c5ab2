/* What a handle promises whoever uses it: threads, callbacks, forks, closes. */
#include "support/news.h"
#include "support/proxy.h"
#include "support/scene.h"
#include "support/servers.h"

#include <poll.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* For what must not happen; a wrong grant would come within a round trip. */
#define QUIET_MS 300

/* No probe of the session comes between the requests that are counted. */
#define QUIET_SESSION_MS 60000

static zkl_lock *open_with(zkl_client *client, const char *resource,
                           const zkl_lock_options *options) {
    zkl_lock *lock = NULL;
    int status = zkl_lock_open(client, resource, options, &lock);
    if (status != ZKL_OK) {
        give_up("zkl_lock_open(%s): %s", resource, zkl_strerror(status));
    }
    return lock;
}

static zkl_lock_information information_on(const zkl_lock *lock) {
    zkl_lock_information information = ZKL_LOCK_INFORMATION_INIT;
    ASSERT_STATUS(zkl_lock_info(lock, &information), ZKL_OK);
    return information;
}

/* ---- Reentrancy ---------------------------------------------------------------- */

/* A reentrant handle, whose requests are counted, and one that it competes with. */
struct reentrant {
    struct scene scene;
    struct proxy *proxy;
    zkl_client *client;
    zkl_client *others_client;
    zkl_lock *lock;
    zkl_lock *other;
};

static void reentrant_begin(struct reentrant *reentrant, const char *stem) {
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    options.reentrant = 1;
    scene_begin(&reentrant->scene, stem);
    reentrant->proxy = proxy_start(0);
    reentrant->client = client_open(proxy_hosts(reentrant->proxy), QUIET_SESSION_MS);
    reentrant->others_client = client_open(servers_hosts(), LONG_SESSION_MS);
    reentrant->lock = open_with(reentrant->client, reentrant->scene.resource, &options);
    reentrant->other = lock_open(reentrant->others_client, reentrant->scene.resource);
}

static void reentrant_end(struct reentrant *reentrant) {
    zkl_lock_close(reentrant->lock);
    zkl_lock_close(reentrant->other);
    client_close(reentrant->client);
    client_close(reentrant->others_client);
    proxy_stop(reentrant->proxy);
    scene_end(&reentrant->scene);
}

static void owner_acquires_again_without_a_request_and_releases_as_often(void) {
    const int more = 3;
    struct reentrant reentrant;
    struct waiter next;
    zkl_grant first = ZKL_GRANT_INIT;
    zkl_grant again = ZKL_GRANT_INIT;
    reentrant_begin(&reentrant, "reentrant");
    ASSERT_STATUS(zkl_lock_acquire(reentrant.lock, ZKL_WRITE, PATIENCE_MS, &first), ZKL_OK);
    waiter_start(&next, reentrant.other, ZKL_EXCLUSIVE, PATIENCE_MS);
    WAIT_UNTIL(scene_watches(&reentrant.scene) == 1);
    int requests = proxy_requests(reentrant.proxy);
    for (int i = 0; i < more; i++) {
        /* Behind the other who waits, were it a new request. */
        zkl_mode mode = i % 2 == 0 ? ZKL_READ : ZKL_WRITE;
        ASSERT_STATUS(zkl_lock_acquire(reentrant.lock, mode, PATIENCE_MS, &again), ZKL_OK);
        CU_ASSERT_TRUE(again.token == first.token);
    }
    ASSERT_NUMBER(information_on(reentrant.lock).holds, 1 + more);
    for (int i = 0; i < more; i++) {
        ASSERT_STATUS(zkl_lock_release(reentrant.lock, PATIENCE_MS), ZKL_OK);
        ASSERT_STATUS(zkl_lock_check(reentrant.lock, NULL), ZKL_OK);
    }
    ASSERT_NUMBER(proxy_requests(reentrant.proxy), requests);
    STAYS(!waiter_is_done(&next), QUIET_MS);
    ASSERT_STATUS(zkl_lock_release(reentrant.lock, PATIENCE_MS), ZKL_OK);
    ASSERT_STATUS(zkl_lock_release(reentrant.lock, PATIENCE_MS), ZKL_NOT_HELD);
    ASSERT_STATUS(waiter_join(&next), ZKL_OK);
    reentrant_end(&reentrant);
}

struct intruder {
    zkl_lock *lock;
    int acquired;
    int released;
};

static void *intrude(void *arg) {
    struct intruder *intruder = arg;
    intruder->acquired = zkl_lock_acquire(intruder->lock, ZKL_EXCLUSIVE, PATIENCE_MS, NULL);
    intruder->released = zkl_lock_release(intruder->lock, PATIENCE_MS);
    return NULL;
}

static void another_thread_can_neither_acquire_nor_release_what_the_owner_holds(void) {
    struct reentrant reentrant;
    pthread_t thread;
    reentrant_begin(&reentrant, "reentrant-thread");
    struct intruder intruder = { .lock = reentrant.lock };
    ASSERT_STATUS(zkl_lock_acquire(reentrant.lock, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
    thread_start(&thread, intrude, &intruder);
    pthread_join(thread, NULL);
    ASSERT_STATUS(intruder.acquired, ZKL_ALREADY_HELD);
    ASSERT_STATUS(intruder.released, ZKL_NOT_OWNER);
    ASSERT_STATUS(zkl_lock_check(reentrant.lock, NULL), ZKL_OK);
    ASSERT_STATUS(zkl_lock_release(reentrant.lock, PATIENCE_MS), ZKL_OK);
    reentrant_end(&reentrant);
}

static void reader_cannot_become_a_writer_and_keeps_what_it_holds(void) {
    struct reentrant reentrant;
    reentrant_begin(&reentrant, "no-upgrade");
    ASSERT_STATUS(zkl_lock_acquire(reentrant.lock, ZKL_READ, PATIENCE_MS, NULL), ZKL_OK);
    ASSERT_STATUS(zkl_lock_acquire(reentrant.lock, ZKL_WRITE, PATIENCE_MS, NULL),
                  ZKL_INVALID_ARGUMENT);
    ASSERT_STATUS(zkl_lock_acquire(reentrant.lock, ZKL_EXCLUSIVE, 0, NULL), ZKL_INVALID_ARGUMENT);
    ASSERT_STATUS(zkl_lock_acquire(reentrant.lock, ZKL_READ, PATIENCE_MS, NULL), ZKL_OK);
    ASSERT_STATUS(zkl_lock_release(reentrant.lock, PATIENCE_MS), ZKL_OK);
    ASSERT_STATUS(zkl_lock_check(reentrant.lock, NULL), ZKL_OK);
    ASSERT_STATUS(zkl_lock_release(reentrant.lock, PATIENCE_MS), ZKL_OK);
    reentrant_end(&reentrant);
}

static void expire_session(struct reentrant *reentrant) {
    clientid_t session = proxy_session(reentrant->proxy);
    raw_expire(servers_hosts(), &session);
}

static void lock_held_twice_and_lost_is_lost_until_the_second_release(void) {
    struct reentrant reentrant;
    reentrant_begin(&reentrant, "reentrant-lost");
    ASSERT_STATUS(zkl_lock_acquire(reentrant.lock, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
    ASSERT_STATUS(zkl_lock_acquire(reentrant.lock, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
    expire_session(&reentrant);
    WAIT_UNTIL(zkl_lock_check(reentrant.lock, NULL) == ZKL_LOST);
    ASSERT_STATUS(zkl_lock_acquire(reentrant.lock, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_LOST);
    ASSERT_STATUS(zkl_lock_acquire(reentrant.other, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
    ASSERT_STATUS(zkl_lock_release(reentrant.lock, PATIENCE_MS), ZKL_LOST);
    ASSERT_STATUS(zkl_lock_check(reentrant.lock, NULL), ZKL_LOST);
    ASSERT_STATUS(zkl_lock_release(reentrant.lock, PATIENCE_MS), ZKL_LOST);
    ASSERT_STATUS(zkl_lock_release(reentrant.lock, PATIENCE_MS), ZKL_NOT_HELD);
    ASSERT_STATUS(zkl_lock_check(reentrant.other, NULL), ZKL_OK);
    ASSERT_STATUS(zkl_lock_release(reentrant.other, PATIENCE_MS), ZKL_OK);
    ASSERT_STATUS(zkl_lock_acquire(reentrant.lock, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
    ASSERT_NUMBER(information_on(reentrant.lock).holds, 1);
    reentrant_end(&reentrant);
}

/* ---- One watch for all of a client ------------------------------------------------ */

static void readers_of_one_client_share_a_watch_until_the_last_one_leaves(void) {
    struct scene scene;
    zkl_lock *locks[3];
    struct waiter waiters[3];
    zkl_grant grant = ZKL_GRANT_INIT;
    scene_begin(&scene, "shared-watch");
    zkl_client *client = client_open(servers_hosts(), LONG_SESSION_MS);
    zkl_client *writers_client = client_open(servers_hosts(), LONG_SESSION_MS);
    zkl_lock *writer = lock_open(writers_client, scene.resource);
    ASSERT_STATUS(zkl_lock_acquire(writer, ZKL_WRITE, PATIENCE_MS, &grant), ZKL_OK);
    for (int i = 0; i < 3; i++) {
        locks[i] = lock_open(client, scene.resource);
        waiter_start(&waiters[i], locks[i], ZKL_READ, PATIENCE_MS);
        WAIT_UNTIL(scene_queue(&scene) == i + 2);
    }
    WAIT_UNTIL(scene_watches_on(&scene, grant.node) == 1);
    ASSERT_STATUS(zkl_lock_cancel(locks[0]), ZKL_OK);
    ASSERT_STATUS(waiter_join(&waiters[0]), ZKL_CANCELLED);
    WAIT_UNTIL(scene_queue(&scene) == 3);
    STAYS(scene_watches_on(&scene, grant.node) == 1, QUIET_MS);
    for (int i = 1; i < 3; i++) {
        ASSERT_STATUS(zkl_lock_cancel(locks[i]), ZKL_OK);
        ASSERT_STATUS(waiter_join(&waiters[i]), ZKL_CANCELLED);
    }
    WAIT_UNTIL(scene_watches_on(&scene, grant.node) == 0);
    /* And it can be had again. */
    waiter_start(&waiters[0], locks[0], ZKL_READ, PATIENCE_MS);
    WAIT_UNTIL(scene_watches_on(&scene, grant.node) == 1);
    ASSERT_STATUS(zkl_lock_release(writer, PATIENCE_MS), ZKL_OK);
    ASSERT_STATUS(waiter_join(&waiters[0]), ZKL_OK);
    for (int i = 0; i < 3; i++) {
        zkl_lock_close(locks[i]);
    }
    zkl_lock_close(writer);
    client_close(client);
    client_close(writers_client);
    scene_end(&scene);
}

/* ---- Forks --------------------------------------------------------------------------- */

/* In the child: how many calls did not say that they are none of its business. */
static int count_wrong_answers(zkl_client *client, zkl_lock *lock) {
    zkl_client_information client_info = ZKL_CLIENT_INFORMATION_INIT;
    zkl_lock_information lock_info = ZKL_LOCK_INFORMATION_INIT;
    zkl_lock *another = NULL;
    int wrong = 0;
    wrong += zkl_lock_check(lock, NULL) != ZKL_FORKED;
    wrong += zkl_lock_info(lock, &lock_info) != ZKL_FORKED;
    wrong += zkl_lock_acquire(lock, ZKL_EXCLUSIVE, 0, NULL) != ZKL_FORKED;
    wrong += zkl_lock_cancel(lock) != ZKL_FORKED;
    wrong += zkl_lock_release(lock, PATIENCE_MS) != ZKL_FORKED;
    wrong += zkl_lock_open(client, "forked", NULL, &another) != ZKL_FORKED;
    wrong += zkl_client_info(client, &client_info) != ZKL_FORKED;
    zkl_lock_close(lock);
    wrong += zkl_client_close(client, PATIENCE_MS) != ZKL_FORKED;
    return wrong;
}

static void forked_child_touches_nothing_and_the_parent_holds_on(void) {
    struct scene scene;
    struct waiter next;
    scene_begin(&scene, "fork");
    zkl_client *client = client_open(servers_hosts(), SHORT_SESSION_MS);
    zkl_client *others_client = client_open(servers_hosts(), LONG_SESSION_MS);
    zkl_lock *lock = lock_open(client, scene.resource);
    zkl_lock *other = lock_open(others_client, scene.resource);
    ASSERT_STATUS(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
    waiter_start(&next, other, ZKL_EXCLUSIVE, PATIENCE_MS);
    WAIT_UNTIL(scene_watches(&scene) == 1);
    int64_t session_id = client_information(client).session_id;
    pid_t child = fork();
    if (child == 0) {
        _exit(count_wrong_answers(client, lock));
    }
    int ended = -1;
    ASSERT_NUMBER(waitpid(child, &ended, 0), child);
    CU_ASSERT_TRUE(WIFEXITED(ended));
    ASSERT_NUMBER(WEXITSTATUS(ended), 0);
    /* Its session goes on past its timeout: nothing of it has been closed. */
    STAYS(!waiter_is_done(&next), SHORT_SESSION_MS + QUIET_MS);
    ASSERT_STATUS(zkl_lock_check(lock, NULL), ZKL_OK);
    CU_ASSERT_TRUE(client_information(client).session_id == session_id);
    ASSERT_NUMBER(client_information(client).sessions_expired, 0);
    ASSERT_STATUS(zkl_lock_release(lock, PATIENCE_MS), ZKL_OK);
    ASSERT_STATUS(waiter_join(&next), ZKL_OK);
    zkl_lock_close(lock);
    zkl_lock_close(other);
    client_close(client);
    client_close(others_client);
    scene_end(&scene);
}

/* ---- Callbacks ------------------------------------------------------------------------- */

/* What a callback found when it called the library. */
struct caller {
    zkl_client *client;
    atomic_int acquired;
    atomic_int released_with_timeout;
    atomic_int client_opened;
    atomic_int client_closed;
    atomic_int checked;
    atomic_int cancelled;
    atomic_int released;
    atomic_bool done;
};

static void call_everything(void *arg, const zkl_lock_event *event) {
    struct caller *caller = arg;
    zkl_client *opened = NULL;
    if (event->state != ZKL_STATE_LOST) {
        return;
    }
    caller->acquired = zkl_lock_acquire(event->lock, ZKL_EXCLUSIVE, PATIENCE_MS, NULL);
    caller->released_with_timeout = zkl_lock_release(event->lock, PATIENCE_MS);
    caller->client_opened = zkl_client_open(servers_hosts(), NULL, &opened);
    caller->client_closed = zkl_client_close(caller->client, PATIENCE_MS);
    caller->checked = zkl_lock_check(event->lock, NULL);
    caller->cancelled = zkl_lock_cancel(event->lock);
    caller->released = zkl_lock_release(event->lock, 0);
    atomic_store(&caller->done, true);
}

static void blocking_call_from_a_callback_is_refused_and_the_others_work(void) {
    struct scene scene;
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    scene_begin(&scene, "in-callback");
    struct caller caller = { .client = client_open(servers_hosts(), LONG_SESSION_MS) };
    options.max_hold_ms = 1;
    options.state_callback = call_everything;
    options.state_arg = &caller;
    zkl_lock *lock = open_with(caller.client, scene.resource, &options);
    /* Too late for the grant: then there was no hold, and nothing to be told. */
    int status = ZKL_HOLD_LIMIT;
    while (status == ZKL_HOLD_LIMIT) {
        status = zkl_lock_acquire(lock, ZKL_EXCLUSIVE, PATIENCE_MS, NULL);
    }
    ASSERT_STATUS(status, ZKL_OK);
    WAIT_UNTIL(atomic_load(&caller.done));
    ASSERT_STATUS(caller.acquired, ZKL_IN_CALLBACK);
    ASSERT_STATUS(caller.released_with_timeout, ZKL_IN_CALLBACK);
    ASSERT_STATUS(caller.client_opened, ZKL_IN_CALLBACK);
    ASSERT_STATUS(caller.client_closed, ZKL_IN_CALLBACK);
    ASSERT_STATUS(caller.checked, ZKL_LOST);
    ASSERT_STATUS(caller.cancelled, ZKL_NOT_WAITING);
    ASSERT_STATUS(caller.released, ZKL_LOST);
    ASSERT_STATUS(zkl_lock_check(lock, NULL), ZKL_NOT_HELD);
    zkl_lock_close(lock);
    client_close(caller.client);
    scene_end(&scene);
}

/* ---- Closes that race with losses -------------------------------------------------------- */

#define RACERS 6
#define ROUNDS 25

/* A handle of its own resource, and what must not be called once it is closed. */
struct racer {
    zkl_lock *lock;
    char resource[160];
    unsigned number;
    atomic_bool closed;
    atomic_int called_late;
    bool closes_in_callback;
    atomic_bool closed_in_callback;
    pthread_t thread;
};

static void race_callback(void *arg, const zkl_lock_event *event) {
    struct racer *racer = arg;
    atomic_fetch_add(&racer->called_late, atomic_load(&racer->closed) ? 1 : 0);
    bool gone = zkl_lock_check(event->lock, NULL) == ZKL_CLOSED;
    atomic_fetch_add(&racer->called_late, gone ? 1 : 0);
    if (racer->closes_in_callback && event->state == ZKL_STATE_LOST) {
        zkl_lock_close(event->lock);
        atomic_store(&racer->closed, true);
        atomic_store(&racer->closed_in_callback, true);
    }
}

static void pause_up_to(unsigned ms) {
    static atomic_uint count;
    /* Any sequence will do that meets early and late. */
    (void)poll(NULL, 0, (int)(atomic_fetch_add(&count, 7) % (ms + 1)));
}

static void *use_and_close(void *arg) {
    struct racer *racer = arg;
    for (int i = 0; i < 3; i++) {
        zkl_lock_information information = ZKL_LOCK_INFORMATION_INIT;
        (void)zkl_lock_info(racer->lock, &information);
        pause_up_to(3);
    }
    if (racer->number % 2 == 0) {
        (void)zkl_lock_release(racer->lock, 0);
    }
    zkl_lock_close(racer->lock);
    atomic_store(&racer->closed, true);
    return NULL;
}

static void racer_open(struct racer *racer, zkl_client *client, int64_t max_hold_ms) {
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    options.max_hold_ms = max_hold_ms;
    options.state_callback = race_callback;
    options.state_arg = racer;
    atomic_store(&racer->closed, false);
    atomic_store(&racer->closed_in_callback, false);
    racer->lock = open_with(client, racer->resource, &options);
}

struct race {
    struct scene scene;
    struct proxy *proxy;
    zkl_client *client;
    struct racer racers[RACERS];
};

static void race_begin(struct race *race, const char *stem) {
    scene_begin(&race->scene, stem);
    race->proxy = proxy_start(0);
    race->client = client_open(proxy_hosts(race->proxy), LONG_SESSION_MS);
    for (unsigned i = 0; i < RACERS; i++) {
        struct racer *racer = &race->racers[i];
        snprintf(racer->resource, sizeof racer->resource, "%s-%u", race->scene.resource, i);
        racer->number = i;
        racer->closes_in_callback = false;
        atomic_init(&racer->called_late, 0);
    }
}

static void race_end(struct race *race) {
    WAIT_UNTIL(client_information(race->client).pending_deletions == 0);
    client_close(race->client);
    for (int i = 0; i < RACERS; i++) {
        ASSERT_NUMBER(atomic_load(&race->racers[i].called_late), 0);
    }
    proxy_stop(race->proxy);
    scene_end(&race->scene);
}

static void close_racing_with_the_hold_limit_no_callback_begins_after_it(void) {
    struct race race;
    race_begin(&race, "race-limit");
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < RACERS; i++) {
            racer_open(&race.racers[i], race.client, 1 + i % 3);
            int status = zkl_lock_acquire(race.racers[i].lock, ZKL_EXCLUSIVE, PATIENCE_MS, NULL);
            CU_ASSERT_TRUE(status == ZKL_OK || status == ZKL_HOLD_LIMIT);
            thread_start(&race.racers[i].thread, use_and_close, &race.racers[i]);
        }
        for (int i = 0; i < RACERS; i++) {
            pthread_join(race.racers[i].thread, NULL);
        }
    }
    race_end(&race);
}

static void close_racing_with_the_end_of_the_session_no_callback_begins_after_it(void) {
    struct race race;
    race_begin(&race, "race-expiry");
    for (int round = 0; round < ROUNDS / 5; round++) {
        for (int i = 0; i < RACERS; i++) {
            racer_open(&race.racers[i], race.client, 0);
            ASSERT_STATUS(zkl_lock_acquire(race.racers[i].lock, ZKL_EXCLUSIVE, PATIENCE_MS, NULL),
                          ZKL_OK);
        }
        uint64_t expired = client_information(race.client).sessions_expired;
        clientid_t session = proxy_session(race.proxy);
        raw_expire(servers_hosts(), &session);
        for (int i = 0; i < RACERS; i++) {
            thread_start(&race.racers[i].thread, use_and_close, &race.racers[i]);
        }
        for (int i = 0; i < RACERS; i++) {
            pthread_join(race.racers[i].thread, NULL);
        }
        WAIT_UNTIL(client_information(race.client).sessions_expired > expired &&
                   client_information(race.client).connected);
    }
    race_end(&race);
}

static void handle_closed_in_its_own_callback_is_gone(void) {
    struct race race;
    race_begin(&race, "close-in-callback");
    for (int round = 0; round < ROUNDS; round++) {
        struct racer *racer = &race.racers[round % RACERS];
        racer->closes_in_callback = true;
        racer_open(racer, race.client, 1);
        int status = ZKL_HOLD_LIMIT;
        while (status == ZKL_HOLD_LIMIT) {
            status = zkl_lock_acquire(racer->lock, ZKL_EXCLUSIVE, PATIENCE_MS, NULL);
        }
        /* The callback may close it before the acquire has returned. */
        CU_ASSERT_TRUE(status == ZKL_OK || status == ZKL_CANCELLED);
        WAIT_UNTIL(atomic_load(&racer->closed_in_callback));
    }
    race_end(&race);
}

/* ---- After the client is closed -------------------------------------------------------------- */

static void handles_of_a_closed_client_say_closed(void) {
    struct scene scene;
    zkl_lock_information information = ZKL_LOCK_INFORMATION_INIT;
    scene_begin(&scene, "closed");
    zkl_client *client = client_open(servers_hosts(), LONG_SESSION_MS);
    zkl_lock *held = lock_open(client, scene.resource);
    zkl_lock *idle = lock_open(client, scene.resource);
    zkl_lock *locks[2] = { held, idle };
    ASSERT_STATUS(zkl_lock_acquire(held, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
    client_close(client);
    ASSERT_NUMBER(scene_queue(&scene), 0);
    for (int i = 0; i < 2; i++) {
        int64_t lease_left_ms = 1;
        ASSERT_STATUS(zkl_lock_check(locks[i], &lease_left_ms), ZKL_CLOSED);
        ASSERT_STATUS(zkl_lock_info(locks[i], &information), ZKL_CLOSED);
        ASSERT_STATUS(zkl_lock_acquire(locks[i], ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_CLOSED);
        ASSERT_STATUS(zkl_lock_acquire(locks[i], ZKL_EXCLUSIVE, 0, NULL), ZKL_CLOSED);
        ASSERT_STATUS(zkl_lock_release(locks[i], PATIENCE_MS), ZKL_CLOSED);
        ASSERT_STATUS(zkl_lock_cancel(locks[i]), ZKL_CLOSED);
        zkl_lock_close(locks[i]);
    }
    scene_end(&scene);
}

/* ---- While no server answers -------------------------------------------------------------------
 */

static void pause_all(void) {
    for (int server = 1; server <= SERVERS; server++) {
        server_pause(server);
    }
}

static void resume_all(void) {
    for (int server = 1; server <= SERVERS; server++) {
        server_resume(server);
    }
}

static void servers_paused_deadlines_hold_and_deletions_stay_pending_until_they_go_on(void) {
    const int64_t timeout_ms = 700;
    struct scene scene;
    scene_begin(&scene, "paused");
    zkl_client *client = client_open(servers_hosts(), QUIET_SESSION_MS);
    zkl_lock *held = lock_open(client, scene.resource);
    zkl_lock *lock = lock_open(client, scene.resource);
    ASSERT_STATUS(zkl_lock_acquire(held, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
    pause_all();
    int64_t begun = now_ms();
    ASSERT_STATUS(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, timeout_ms, NULL), ZKL_TIMEOUT);
    int64_t took = now_ms() - begun;
    CU_ASSERT_TRUE(took >= timeout_ms);
    CU_ASSERT_TRUE(took <= timeout_ms + SLACK_MS);
    ASSERT_NUMBER(information_on(lock).pending_deletions, 1);
    begun = now_ms();
    ASSERT_STATUS(zkl_lock_release(held, timeout_ms / 2), ZKL_PENDING);
    CU_ASSERT_TRUE(now_ms() - begun <= timeout_ms / 2 + SLACK_MS);
    ASSERT_STATUS(zkl_lock_check(held, NULL), ZKL_NOT_HELD);
    ASSERT_NUMBER(information_on(held).pending_deletions, 1);
    ASSERT_NUMBER(client_information(client).pending_deletions, 2);
    resume_all();
    WAIT_UNTIL(client_information(client).pending_deletions == 0);
    ASSERT_NUMBER(information_on(held).pending_deletions, 0);
    ASSERT_NUMBER(information_on(lock).pending_deletions, 0);
    WAIT_UNTIL(scene_queue(&scene) == 0);
    ASSERT_STATUS(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
    zkl_lock_close(held);
    zkl_lock_close(lock);
    client_close(client);
    scene_end(&scene);
}

int main(int argc, char **argv) {
    static const struct test_case tests[] = {
        TEST_CASE(owner_acquires_again_without_a_request_and_releases_as_often),
        TEST_CASE(another_thread_can_neither_acquire_nor_release_what_the_owner_holds),
        TEST_CASE(reader_cannot_become_a_writer_and_keeps_what_it_holds),
        TEST_CASE(lock_held_twice_and_lost_is_lost_until_the_second_release),
        TEST_CASE(readers_of_one_client_share_a_watch_until_the_last_one_leaves),
        TEST_CASE(forked_child_touches_nothing_and_the_parent_holds_on),
        TEST_CASE(blocking_call_from_a_callback_is_refused_and_the_others_work),
        TEST_CASE(close_racing_with_the_hold_limit_no_callback_begins_after_it),
        TEST_CASE(close_racing_with_the_end_of_the_session_no_callback_begins_after_it),
        TEST_CASE(handle_closed_in_its_own_callback_is_gone),
        TEST_CASE(handles_of_a_closed_client_say_closed),
        TEST_CASE(servers_paused_deadlines_hold_and_deletions_stay_pending_until_they_go_on),
    };
    return run_tests(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
