/*
 * A process that is stopped for longer than its session lasts, while its request is on the way, and
 * that is connected to a server which is cut off from the leader: that one still shows its node,
 * and not yet who was granted meanwhile. In the simulation of zklock/testing.h, over many seeds.
 */
#include "support/participant.h"
#include "testing/ensemble.h"
#include "zklock/election.h"

enum { STOPPED_SESSION_MS = 4000, SEEDS_OBSERVED = 60, SEEDS_ALONE = 600 / SEEDS_DIVISOR };

static participant stopped;
static participant other;
static zkl_observer *observer;
static bool observes;
static unsigned granted_meanwhile; /* to the other; else the seeds show nothing */

static void on_leader(void *arg, const zkl_leader *leader) {
    (void)arg;
    (void)leader;
}

static void expect_nobody_else_holds(void) {
    bool holds = other.status == ZKL_OK && zkl_lock_check(other.lock, NULL) == ZKL_OK;
    unit_check(!(stopped.status == ZKL_OK && holds), __FILE__, __LINE__,
               "seed %llu: two hold at %lld ms", (unsigned long long)zkl_testing_seed(),
               (long long)zkl_testing_now_ms());
}

/* An observer of the same client asks for a list of its own, behind which that of the request
 * waits. */
static void acquire(void *arg) {
    (void)arg;
    if (observes) {
        EXPECT_INT(zkl_election_observe(stopped.client, "stock", on_leader, NULL, &observer),
                   ZKL_OK);
    } else {
        zkl_testing_sleep((int64_t)zkl_testing_random(3));
    }
    (void)participant_acquire(&stopped, 60000);
    expect_nobody_else_holds();
    if (stopped.status == ZKL_OK) {
        (void)zkl_lock_release(stopped.lock, 0);
    }
}

static void let_go(participant *self) {
    if (self->status == ZKL_OK) {
        (void)zkl_lock_release(self->lock, 1000);
    }
}

static void be_stopped(zkl_testing_process *process, uint32_t cut_off) {
    if (!observes) {
        zkl_testing_sleep((int64_t)zkl_testing_random(6));
        (void)zkl_lock_release(other.lock, 0);
        zkl_testing_sleep((int64_t)zkl_testing_random(6));
    }
    zkl_testing_pause(process,
                      STOPPED_SESSION_MS + (observes ? 2500 : (int64_t)zkl_testing_random(4500)));
    zkl_testing_sleep(observes ? 50 : (int64_t)zkl_testing_random(10));
    zkl_ensemble_cut_off_server(zkl_ensemble_current(), cut_off);
}

/* The other acquires while the process that was stopped goes on; then the servers are well again.
 */
static void end_story(zkl_testing_task *first) {
    zkl_testing_task *second = participant_start(&other, 60000);
    zkl_testing_sleep(9500);
    granted_meanwhile += other.status == ZKL_OK ? 1 : 0;
    zkl_ensemble_heal(zkl_ensemble_current());
    let_go(&other);
    zkl_testing_join(first);
    zkl_testing_join(second);
    let_go(&other);
    zkl_observer_close(observer);
    observer = NULL;
    participant_close(&stopped);
    participant_close(&other);
}

static void story(void *arg) {
    (void)arg;
    zkl_ensemble *ensemble = zkl_ensemble_current();
    uint32_t follower = (zkl_ensemble_leader(ensemble) + 1) % 3;
    participant_open(&other, 0, true);
    zkl_testing_process *process = zkl_testing_process_make();
    zkl_testing_process_enter(process);
    participant_open_with(&stopped, STOPPED_SESSION_MS);
    zkl_testing_process_enter(NULL);
    zkl_testing_sleep(500);
    EXPECT_INT(participant_acquire(&other, 10000), ZKL_OK);
    if (observes) {
        EXPECT_INT(zkl_lock_release(other.lock, 1000), ZKL_OK);
        zkl_testing_sleep(50);
    }
    other.status = ZKL_NOT_HELD;
    zkl_testing_process_enter(process);
    zkl_testing_task *first = zkl_testing_start(acquire, NULL);
    zkl_testing_process_enter(NULL);
    zkl_testing_sleep(0);
    zkl_testing_sleep(0);
    be_stopped(process, follower);
    end_story(first);
}

/* A waiter loses its connection, and is stopped while it makes the next one: what it hears first of
 * that one, and takes for the moment at which it was made, is as old as the stop was long. */
static void story_of_a_reconnect(void *arg) {
    (void)arg;
    zkl_ensemble *ensemble = zkl_ensemble_current();
    uint32_t follower = (zkl_ensemble_leader(ensemble) + 1) % 3;
    observes = false;
    participant_open(&other, 0, true);
    zkl_testing_process *process = zkl_testing_process_make();
    zkl_testing_process_enter(process);
    participant_open_with(&stopped, STOPPED_SESSION_MS);
    zkl_testing_process_enter(NULL);
    zkl_testing_sleep(500);
    EXPECT_INT(participant_acquire(&other, 10000), ZKL_OK);
    zkl_testing_process_enter(process);
    zkl_testing_task *first = zkl_testing_start(acquire, NULL);
    zkl_testing_process_enter(NULL);
    zkl_testing_sleep(200);
    zkl_testing_disconnect(stopped.client, 20);
    zkl_testing_sleep(20 + (int64_t)zkl_testing_random(100));
    zkl_testing_pause(process, STOPPED_SESSION_MS + (int64_t)zkl_testing_random(4500));
    zkl_testing_sleep(30);
    zkl_ensemble_slow_server(ensemble, follower, 5000000, 60000000);
    zkl_testing_sleep(2000 + (int64_t)zkl_testing_random(2000));
    (void)zkl_lock_release(other.lock, 1000);
    other.status = ZKL_NOT_HELD;
    end_story(first);
}

static void run(bool with_observer, uint64_t seeds) {
    observes = with_observer;
    granted_meanwhile = 0;
    zkl_testing_run_seeds(1, seeds, NULL, story, NULL);
    EXPECT(granted_meanwhile > seeds / 4);
}

TEST(list_that_waited_for_another_one_through_a_stop_grants_nobody_beside_a_holder) {
    run(true, SEEDS_OBSERVED);
}

TEST(list_after_a_stop_grants_nobody_beside_a_holder) {
    run(false, SEEDS_ALONE);
}

TEST(reconnect_that_was_stopped_grants_nobody_beside_a_holder) {
    enum { SEEDS = 3000 / SEEDS_DIVISOR };
    granted_meanwhile = 0;
    zkl_testing_run_seeds(1, SEEDS, NULL, story_of_a_reconnect, NULL);
    EXPECT(granted_meanwhile > SEEDS / 20);
}
