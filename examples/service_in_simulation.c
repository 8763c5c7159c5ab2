/*
 * A service with two instances of leader.c, and an operator with queue_report.c and
 * queue_operator.c, on simulated servers.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <zklock/administration.h>
#include <zklock/election.h>
#include <zklock/testing.h>

#include "simulated_waits.h"

enum { TIMEOUT_MS = 10000, SOON_MS = 10000, SEEDS = 50 };

int leader_main(int argc, char **argv);
int queue_report_main(int argc, char **argv);
int queue_operator_main(int argc, char **argv);

static char hosts[] = "any:2181";
static char service[] = "service";

/* ---- A term that is lost before its campaign is told --------------------------------- */

typedef struct owed_callback {
    zkl_campaign_callback *callback;
    void *arg;
} owed_callback;

static owed_callback owed;
static int lose_next_campaign_with; /* ZKL_OK: none */

static void tell_the_loss(void *arg) {
    int reason = lose_next_campaign_with;
    (void)arg;
    lose_next_campaign_with = ZKL_OK;
    owed.callback(owed.arg, reason, 0);
}

int __real_zkl_election_campaign_async(zkl_election *election, int64_t timeout_ms,
                                       zkl_campaign_callback *callback, void *arg);
int __wrap_zkl_election_campaign_async(zkl_election *election, int64_t timeout_ms,
                                       zkl_campaign_callback *callback, void *arg);

int __wrap_zkl_election_campaign_async(zkl_election *election, int64_t timeout_ms,
                                       zkl_campaign_callback *callback, void *arg) {
    if (lose_next_campaign_with == ZKL_OK) {
        return __real_zkl_election_campaign_async(election, timeout_ms, callback, arg);
    }
    owed = (owed_callback){ callback, arg };
    (void)zkl_testing_start(tell_the_loss, NULL);
    return ZKL_OK;
}

/* ---- The instances, and the operator's eyes ------------------------------------------------ */

static zkl_client *operators;

static void run_leader(void *arg) {
    char program[] = "leader";
    char *argv[] = { program, hosts, arg, service, NULL };
    zkl_testing_process_enter(zkl_testing_process_make());
    ZKL_TESTING_EXPECT(leader_main(4, argv) == 0);
}

typedef struct sight {
    size_t contenders;
    char first[ZKL_NODE_PATH_SIZE];
} sight;

static sight operator_look(void) {
    zkl_queue *queue = NULL;
    sight seen = { .contenders = 0 };
    ZKL_TESTING_EXPECT(zkl_queue_describe(operators, service, TIMEOUT_MS, &queue) == ZKL_OK);
    seen.contenders = queue->count;
    if (seen.contenders > 0) {
        (void)snprintf(seen.first, sizeof(seen.first), "%s", queue->contenders[0]->node);
    }
    zkl_report_free(queue);
    return seen;
}

/* Waits until both instances are in the queue, and another one leads. */
static sight expect_another_leader(const char *before) {
    int64_t until_ms = zkl_testing_now_ms() + SOON_MS;
    sight seen = operator_look();
    while (seen.contenders != 2 || strcmp(seen.first, before) == 0) {
        ZKL_TESTING_EXPECT(zkl_testing_now_ms() < until_ms);
        zkl_testing_sleep(10);
        seen = operator_look();
    }
    return seen;
}

static int operate(char *verb, char *resource, char *node) {
    char program[] = "queue_operator";
    char *argv[] = { program, hosts, verb, resource, node, NULL };
    return queue_operator_main(node != NULL ? 5 : 4, argv);
}

static int operator_report(void) {
    char program[] = "queue_report";
    char *argv[] = { program, hosts, NULL };
    return queue_report_main(2, argv);
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static void test_begin(void) {
    simulated_signal_at_ms = INT64_MAX;
    ZKL_TESTING_EXPECT(zkl_client_open(hosts, NULL, &operators) == ZKL_OK);
}

static void test_end(void) {
    simulated_signal_at_ms = 0;
    zkl_testing_expect_clean(SOON_MS);
    ZKL_TESTING_EXPECT(zkl_client_close(operators, TIMEOUT_MS) == ZKL_OK);
}

static void leader_resigns_when_asked_and_follows_when_broken(void *arg) {
    static char name_a[] = "a";
    static char name_b[] = "b";
    char revoke[] = "revoke";
    char break_it[] = "break";
    char where[] = "where";
    (void)arg;
    test_begin();
    (void)zkl_testing_start(run_leader, name_a);
    (void)zkl_testing_start(run_leader, name_b);
    sight first = expect_another_leader("");
    ZKL_TESTING_EXPECT(operator_report() == 0);
    ZKL_TESTING_EXPECT(operate(where, service, first.first) == 0);
    ZKL_TESTING_EXPECT(operate(revoke, service, first.first) == 0);
    sight second = expect_another_leader(first.first);
    ZKL_TESTING_EXPECT(operate(where, service, first.first) == 1); /* it has resigned */
    ZKL_TESTING_EXPECT(operate(break_it, service, second.first) == 0);
    (void)expect_another_leader(second.first);
    test_end();
}

/* Asks a holder that does not react, and breaks its lock. */
static void operator_asks_in_vain_and_breaks(void *arg) {
    char revoke[] = "revoke";
    char break_it[] = "break";
    char resource[] = "left-behind";
    char path[ZKL_NODE_PATH_SIZE];
    (void)arg;
    test_begin();
    zkl_testing_add_contender("/locks/left-behind", ZKL_EXCLUSIVE, path);
    char *node = strrchr(path, '/') + 1;
    ZKL_TESTING_EXPECT(operate(revoke, resource, node) == 0);
    ZKL_TESTING_EXPECT(zkl_testing_count_children("/locks/left-behind") == 1);
    ZKL_TESTING_EXPECT(operate(break_it, resource, node) == 0);
    ZKL_TESTING_EXPECT(zkl_testing_count_children("/locks/left-behind") == 0);
    ZKL_TESTING_EXPECT(operate(break_it, resource, node) == 1);
    test_end();
}

/* Two jobs that take two locks in different orders. */
typedef struct crossing {
    const char *owner;
    const char *first;
    const char *second;
} crossing;

static void cross(void *arg) {
    const crossing *self = arg;
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    zkl_lock *first = NULL;
    zkl_lock *second = NULL;
    options.owner = self->owner;
    ZKL_TESTING_EXPECT(zkl_lock_open(operators, self->first, &options, &first) == ZKL_OK);
    ZKL_TESTING_EXPECT(zkl_lock_open(operators, self->second, &options, &second) == ZKL_OK);
    ZKL_TESTING_EXPECT(zkl_lock_acquire(first, ZKL_EXCLUSIVE, ZKL_FOREVER, NULL) == ZKL_OK);
    zkl_testing_sleep(1000); /* the other has its first by now */
    /* If one gives up first, the other may get in at the last moment. */
    int status = zkl_lock_acquire(second, ZKL_EXCLUSIVE, TIMEOUT_MS, NULL);
    ZKL_TESTING_EXPECT(status == ZKL_TIMEOUT || status == ZKL_OK);
    zkl_lock_close(second);
    zkl_lock_close(first);
}

static void report_finds_a_deadlock(void *arg) {
    static crossing one = { "north", "red", "blue" };
    static crossing other = { "south", "blue", "red" };
    (void)arg;
    test_begin();
    ZKL_TESTING_EXPECT(operator_report() == 0);
    (void)zkl_testing_start(cross, &one);
    (void)zkl_testing_start(cross, &other);
    zkl_testing_sleep(TIMEOUT_MS / 2);
    ZKL_TESTING_EXPECT(operator_report() == 2);
    zkl_testing_sleep(TIMEOUT_MS); /* their deadlines end it */
    ZKL_TESTING_EXPECT(operator_report() == 0);
    test_end();
}

static void term_lost_before_it_is_told_is_campaigned_for_again(void *arg) {
    static const int reasons[] = { ZKL_SESSION_EXPIRED, ZKL_LEASE_ENDED, ZKL_NODE_DELETED };
    static char name_a[] = "a";
    static char name_b[] = "b";
    (void)arg;
    test_begin();
    lose_next_campaign_with = reasons[zkl_testing_seed() % 3];
    (void)zkl_testing_start(run_leader, name_a);
    (void)zkl_testing_start(run_leader, name_b);
    (void)expect_another_leader("");
    test_end();
}

static void operator_removes_what_nobody_uses(void *arg) {
    static char name_a[] = "a";
    char remove_idle[] = "remove-idle";
    char now[] = "0";
    char wrong[] = "soon";
    (void)arg;
    test_begin();
    zkl_testing_task *task = zkl_testing_start(run_leader, name_a);
    zkl_testing_sleep(SOON_MS);
    simulated_signal_at_ms = 0;
    zkl_testing_join(task);
    ZKL_TESTING_EXPECT(zkl_testing_count_children("/locks") == 1);
    ZKL_TESTING_EXPECT(operate(remove_idle, wrong, NULL) == 1);
    ZKL_TESTING_EXPECT(operate(remove_idle, now, NULL) == 0);
    ZKL_TESTING_EXPECT(zkl_testing_count_children("/locks") == 0);
    test_end();
}

int main(void) {
    zkl_testing_run_seeds(1, SEEDS, NULL, leader_resigns_when_asked_and_follows_when_broken, NULL);
    zkl_testing_run_seeds(1, SEEDS, NULL, term_lost_before_it_is_told_is_campaigned_for_again,
                          NULL);
    zkl_testing_run_seeds(1, SEEDS, NULL, operator_asks_in_vain_and_breaks, NULL);
    zkl_testing_run_seeds(1, SEEDS, NULL, report_finds_a_deadlock, NULL);
    zkl_testing_run_seeds(1, SEEDS, NULL, operator_removes_what_nobody_uses, NULL);
    return 0;
}
