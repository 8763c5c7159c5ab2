/* What zklock/administration.h tells of striped locks, and does to them, on simulated servers. */
#include <stdio.h>
#include <string.h>

#include "base/threads.h"
#include "support/unit.h"
#include "testing/ensemble.h"
#include "testing/world.h"
#include "zklock/administration.h"
#include "zklock/striped_lock.h"

enum { US_PER_MS = 1000, SESSION_MS = 1200, WITHIN_MS = 60000, TEXT_SIZE = 1024, STRIPES = 4 };

static zkl_ensemble *ensemble;
static zkl_client *client;

static void begin(uint64_t seed) {
    zkl_world_begin(seed);
    zkl_ensemble_options options = zkl_ensemble_defaults();
    options.tick_ms = 200;
    ensemble = zkl_ensemble_begin(&options);
    zkl_client_options client_options = ZKL_CLIENT_OPTIONS_INIT;
    client_options.session_timeout_ms = SESSION_MS;
    EXPECT_INT(zkl_client_open("server:2181", &client_options, &client), ZKL_OK);
}

static void end(void) {
    EXPECT_INT(zkl_client_close(client, WITHIN_MS), ZKL_OK);
    zkl_ensemble_end();
    zkl_world_end();
}

static void sleep_ms(int64_t ms) {
    zkl_world_sleep_us(ms * US_PER_MS);
}

static bool has_node(const char *path) {
    return zkl_tree_find(zkl_ensemble_tree(ensemble), path, ZKL_LATEST_ZXID) != NULL;
}

/* ---- Striped locks ------------------------------------------------------------------------ */

static zkl_striped_lock *open_striped(const char *resource) {
    zkl_striped_lock *lock = NULL;
    EXPECT_INT(zkl_striped_lock_open(client, resource, STRIPES, NULL, &lock), ZKL_OK);
    return lock;
}

static int acquire_stripe(zkl_striped_lock *lock, int32_t stripe) {
    return zkl_striped_lock_acquire(lock, stripe, ZKL_EXCLUSIVE, WITHIN_MS, NULL);
}

static int acquire_all(zkl_striped_lock *lock) {
    return zkl_striped_lock_acquire(lock, ZKL_ALL_STRIPES, ZKL_EXCLUSIVE, WITHIN_MS, NULL);
}

static zkl_striped_lock *hold_stripe(const char *resource, int32_t stripe) {
    zkl_striped_lock *lock = open_striped(resource);
    EXPECT_INT(acquire_stripe(lock, stripe), ZKL_OK);
    return lock;
}

/* So that all of its stripes have nodes, and none is in use. */
static zkl_striped_lock *use_all_stripes(const char *resource) {
    zkl_striped_lock *lock = open_striped(resource);
    EXPECT_INT(acquire_all(lock), ZKL_OK);
    EXPECT_INT(zkl_lock_release(zkl_striped_lock_held(lock), ZKL_FOREVER), ZKL_OK);
    return lock;
}

static zkl_lock *hold(const char *resource) {
    zkl_lock *lock = NULL;
    EXPECT_INT(zkl_lock_open(client, resource, NULL, &lock), ZKL_OK);
    EXPECT_INT(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, ZKL_FOREVER, NULL), ZKL_OK);
    return lock;
}

/* ---- Lists and queues ---------------------------------------------------------------------- */

/* "hot 0; hot/stripe-0003 1" */
static void expect_resources(const char *expected) {
    char text[TEXT_SIZE] = "";
    zkl_resource_list *list = NULL;
    EXPECT_INT(zkl_resources_list(client, WITHIN_MS, &list), ZKL_OK);
    for (size_t i = 0; i < list->count; i++) {
        size_t used = strlen(text);
        snprintf(text + used, TEXT_SIZE - used, "%s%s %zu", i > 0 ? "; " : "",
                 list->resources[i]->name, list->resources[i]->contenders);
    }
    EXPECT_TEXT(text, expected);
    zkl_report_free(list);
}

TEST(stripes_are_listed_behind_their_resource) {
    begin(1);
    zkl_lock *other = hold("hot-2");
    zkl_striped_lock *one = hold_stripe("hot", 3);
    expect_resources("hot 0; hot/stripe-0003 1; hot-2 1");
    zkl_striped_lock *all = use_all_stripes("cold");
    expect_resources("cold 0; cold/stripe-0000 0; cold/stripe-0001 0; cold/stripe-0002 0; "
                     "cold/stripe-0003 0; hot 0; hot/stripe-0003 1; hot-2 1");
    zkl_striped_lock_close(all);
    zkl_striped_lock_close(one);
    zkl_lock_close(other);
    end();
}

static void revoke_and_break_the_holder(const char *resource) {
    zkl_queue *queue = NULL;
    EXPECT_INT(zkl_queue_describe(client, resource, WITHIN_MS, &queue), ZKL_OK);
    EXPECT_INT(queue->count, 1);
    const zkl_contender *holder = queue->contenders[0];
    if (holder != NULL) {
        EXPECT_INT(holder->holds, 1);
        EXPECT_INT(zkl_node_revoke(client, resource, holder->node, WITHIN_MS), ZKL_NO_PERMISSION);
        EXPECT_INT(zkl_node_break(client, resource, holder->node, WITHIN_MS), ZKL_OK);
    }
    zkl_report_free(queue);
}

TEST(stripe_is_described_and_broken_by_its_name) {
    static const char *const names[] = { "hot/stripe-0003", "/locks/hot/stripe-0003" };
    begin(3);
    zkl_striped_lock *lock = open_striped("hot");
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        EXPECT_INT(acquire_stripe(lock, 3), ZKL_OK);
        revoke_and_break_the_holder(names[i]);
        sleep_ms(SESSION_MS);
        EXPECT_INT(zkl_lock_check(zkl_striped_lock_held(lock), NULL), ZKL_LOST);
        (void)zkl_lock_release(zkl_striped_lock_held(lock), ZKL_FOREVER);
    }
    zkl_striped_lock_close(lock);
    end();
}

TEST(names_with_another_slash_are_refused) {
    begin(4);
    zkl_queue *queue = NULL;
    EXPECT_REFUSED(zkl_queue_describe(client, "hot/stripe-3", WITHIN_MS, &queue), "slash");
    EXPECT_TEXT(zkl_error_message(),
                "resource \"hot/stripe-3\": behind the slash of a name must be a stripe with four "
                "digits, as in stripe-0003 (an absolute path starts with a slash)");
    EXPECT_REFUSED(zkl_node_break(client, "hot/x", "x-0000000001", WITHIN_MS), "slash");
    EXPECT_REFUSED(zkl_node_revoke(client, "hot/x", "x-0000000001", WITHIN_MS), "slash");
    EXPECT(queue == NULL);
    end();
}

/* ---- Deadlocks ------------------------------------------------------------------------------ */

/* Two owners in tasks of their own: one holds a plain lock and then wants stripes, the other
 * holds a stripe and then wants the plain lock. */
enum { PAUSE_MS = 100, PATIENCE_MS = 2000 };

static void *lock_then_stripe(void *arg) {
    zkl_striped_lock *lock = arg;
    zkl_lock *plain = hold("A");
    sleep_ms(PAUSE_MS);
    EXPECT_INT(zkl_striped_lock_acquire(lock, 3, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_TIMEOUT);
    zkl_lock_close(plain);
    return NULL;
}

static void *lock_then_all_stripes(void *arg) {
    zkl_striped_lock *lock = arg;
    zkl_lock *plain = hold("A");
    sleep_ms(PAUSE_MS);
    EXPECT_INT(zkl_striped_lock_acquire(lock, ZKL_ALL_STRIPES, ZKL_EXCLUSIVE, PATIENCE_MS, NULL),
               ZKL_TIMEOUT);
    zkl_lock_close(plain);
    return NULL;
}

static void *stripe_then_lock(void *arg) {
    zkl_striped_lock *lock = arg;
    EXPECT_INT(acquire_stripe(lock, 3), ZKL_OK);
    sleep_ms(PAUSE_MS);
    zkl_lock_close(hold("A"));
    EXPECT_INT(zkl_lock_release(zkl_striped_lock_held(lock), ZKL_FOREVER), ZKL_OK);
    return NULL;
}

static size_t count_waits(const zkl_deadlocks *deadlocks, const char *resource) {
    size_t count = 0;
    for (size_t i = 0; i < deadlocks->deadlocks[0]->length; i++) {
        count += strcmp(deadlocks->deadlocks[0]->waits[i]->resource, resource) == 0 ? 1 : 0;
    }
    return count;
}

static void expect_circle_over_the_stripe(void) {
    zkl_deadlocks *deadlocks = NULL;
    EXPECT_INT(zkl_deadlocks_find(client, WITHIN_MS, &deadlocks), ZKL_OK);
    EXPECT_INT(deadlocks->count, 1);
    EXPECT_INT(deadlocks->deadlocks[0]->length, 2);
    EXPECT_INT(count_waits(deadlocks, "A"), 1);
    EXPECT_INT(count_waits(deadlocks, "hot/stripe-0003"), 1);
    zkl_report_free(deadlocks);
}

TEST(circle_over_a_lock_and_a_stripe_is_found_and_named) {
    static void *(*const crossers[])(void *lock) = { lock_then_stripe, lock_then_all_stripes };
    for (size_t i = 0; i < COUNT_OF(crossers); i++) {
        begin(5 + i);
        zkl_striped_lock *one = open_striped("hot");
        zkl_striped_lock *other = open_striped("hot");
        pthread_t tasks[2];
        EXPECT(zkl_thread_start(&tasks[0], crossers[i], one));
        EXPECT(zkl_thread_start(&tasks[1], stripe_then_lock, other));
        sleep_ms(5 * PAUSE_MS);
        expect_circle_over_the_stripe();
        zkl_thread_join(tasks[0]);
        zkl_thread_join(tasks[1]);
        zkl_striped_lock_close(one);
        zkl_striped_lock_close(other);
        end();
    }
}

/* ---- Parents --------------------------------------------------------------------------------- */

static void expect_removed(int64_t idle_ms, size_t expected) {
    zkl_resource_list *removed = NULL;
    EXPECT_INT(zkl_parents_remove_idle(client, idle_ms, WITHIN_MS, 0, &removed), ZKL_OK);
    EXPECT_INT(removed->count, expected);
    zkl_report_free(removed);
}

TEST(idle_stripes_are_removed_and_then_their_resource) {
    begin(7);
    zkl_striped_lock *lock = use_all_stripes("hot");
    expect_resources("hot 0; hot/stripe-0000 0; hot/stripe-0001 0; hot/stripe-0002 0; "
                     "hot/stripe-0003 0");
    expect_removed(5000, STRIPES + 1);
    EXPECT(!has_node("/locks/hot"));
    EXPECT_INT(acquire_all(lock), ZKL_OK);
    expect_removed(0, 0);
    zkl_striped_lock_close(lock);
    end();
}

static void *use_a_stripe(void *arg) {
    sleep_ms(2000);
    EXPECT_INT(acquire_stripe(arg, 2), ZKL_OK);
    EXPECT_INT(zkl_lock_release(zkl_striped_lock_held(arg), ZKL_FOREVER), ZKL_OK);
    return NULL;
}

TEST(stripe_that_was_used_meanwhile_is_not_idle) {
    begin(10);
    pthread_t task;
    zkl_striped_lock *lock = use_all_stripes("hot");
    EXPECT(zkl_thread_start(&task, use_a_stripe, lock));
    expect_removed(5000, STRIPES - 1);
    expect_resources("hot 0; hot/stripe-0002 0");
    zkl_thread_join(task);
    zkl_striped_lock_close(lock);
    end();
}

/* Longer than any pause of a contender that finds its parent missing. */
enum { ROUNDS = 30, IDLE_MS = 6000 };

static bool remover_goes_on;
static size_t resources_removed;
static unsigned inside[STRIPES];

static void enter_and_leave(int32_t stripe) {
    int32_t first = stripe == ZKL_ALL_STRIPES ? 0 : stripe;
    int32_t last = stripe == ZKL_ALL_STRIPES ? STRIPES - 1 : stripe;
    for (int32_t i = first; i <= last; i++) {
        EXPECT_INT(++inside[i], 1);
    }
    zkl_world_sleep_us((int64_t)zkl_world_random(2000));
    for (int32_t i = first; i <= last; i++) {
        inside[i]--;
    }
}

/* One, any, and, where others stay away for long enough, all of them. */
static int acquire_somehow(zkl_striped_lock *lock, bool all, zkl_grant *grant) {
    const int32_t wanted[] = { (int32_t)zkl_world_random(STRIPES), ZKL_ANY_STRIPE,
                               ZKL_ALL_STRIPES };
    return zkl_striped_lock_acquire(lock, wanted[zkl_world_random(all ? 3 : 2)], ZKL_EXCLUSIVE,
                                    WITHIN_MS, grant);
}

static void come_and_go(zkl_striped_lock *lock, bool all, uint64_t away_us) {
    for (int i = 0; i < ROUNDS; i++) {
        zkl_grant grant = ZKL_GRANT_INIT;
        EXPECT_INT(acquire_somehow(lock, all, &grant), ZKL_OK);
        enter_and_leave(grant.stripe);
        EXPECT_INT(zkl_lock_release(zkl_striped_lock_held(lock), ZKL_FOREVER), ZKL_OK);
        zkl_world_sleep_us((int64_t)zkl_world_random(away_us));
    }
}

static void *come_and_go_quickly(void *arg) {
    come_and_go(arg, false, 5 * US_PER_MS);
    return NULL;
}

static void *come_and_go_slowly(void *arg) {
    come_and_go(arg, true, (uint64_t)4 * IDLE_MS * US_PER_MS);
    return NULL;
}

static void *remove_again_and_again(void *arg) {
    const int64_t *idle_ms = arg;
    while (remover_goes_on) {
        zkl_resource_list *removed = NULL;
        EXPECT_INT(zkl_parents_remove_idle(client, *idle_ms, WITHIN_MS, 0, &removed), ZKL_OK);
        zkl_report_free(removed);
        resources_removed += has_node("/locks/hot") ? 0 : 1;
    }
    return NULL;
}

static void contend_while_idle_are_removed(void *(*contend)(void *lock), int64_t idle_ms) {
    resources_removed = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        begin(seed);
        pthread_t tasks[3];
        zkl_striped_lock *locks[2] = { open_striped("hot"), open_striped("hot") };
        remover_goes_on = true;
        EXPECT(zkl_thread_start(&tasks[0], contend, locks[0]));
        EXPECT(zkl_thread_start(&tasks[1], contend, locks[1]));
        EXPECT(zkl_thread_start(&tasks[2], remove_again_and_again, &idle_ms));
        zkl_thread_join(tasks[0]);
        zkl_thread_join(tasks[1]);
        remover_goes_on = false;
        zkl_thread_join(tasks[2]);
        zkl_striped_lock_close(locks[0]);
        zkl_striped_lock_close(locks[1]);
        end();
    }
    EXPECT(resources_removed > 0);
}

TEST(stripes_go_and_come_while_contenders_do) {
    contend_while_idle_are_removed(come_and_go_quickly, 0);
}

TEST(all_stripes_are_got_while_idle_ones_are_removed) {
    contend_while_idle_are_removed(come_and_go_slowly, IDLE_MS);
}
