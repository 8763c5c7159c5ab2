/* What zklock/administration.h tells of semaphores, sets, changed modes and
 * asynchronous calls, on simulated servers. */
#include <stdio.h>
#include <string.h>

#include "base/threads.h"
#include "support/unit.h"
#include "testing/ensemble.h"
#include "testing/world.h"
#include "zklock/administration.h"
#include "zklock/striped_lock.h"
#include "zklock/zklock.h"

enum { US_PER_MS = 1000, SESSION_MS = 1200, WITHIN_MS = 60000, TEXT_SIZE = 1024 };

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

/* ---- Contenders ----------------------------------------------------------------------- */

/* A handle, what it has heard, and the task that waits with it, if one does. */
typedef struct contender {
    zkl_lock *lock;
    zkl_mode mode;
    int status;
    pthread_t task;
    char heard[TEXT_SIZE];
} contender;

static void on_news(void *arg, const zkl_lock_event *event) {
    contender *self = arg;
    size_t used = strlen(self->heard);
    snprintf(self->heard + used, TEXT_SIZE - used, "%s;", zkl_lock_state_name((int)event->state));
}

static void open_as(contender *self, const char *resource, const char *owner, zkl_mode mode,
                    int32_t permits) {
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    *self = (contender){ .mode = mode };
    options.owner = owner;
    options.permits = permits;
    options.state_callback = on_news;
    options.state_arg = self;
    EXPECT_INT(zkl_lock_open(client, resource, &options, &self->lock), ZKL_OK);
}

static void hold(contender *self, const char *resource, const char *owner, zkl_mode mode,
                 int32_t permits) {
    open_as(self, resource, owner, mode, permits);
    EXPECT_INT(zkl_lock_acquire(self->lock, mode, ZKL_FOREVER, NULL), ZKL_OK);
}

static void *wait_in_a_task(void *arg) {
    contender *self = arg;
    self->status = zkl_lock_acquire(self->lock, self->mode, ZKL_FOREVER, NULL);
    return NULL;
}

static void begin_to_wait(contender *self, const char *resource, const char *owner, zkl_mode mode,
                          int32_t permits) {
    open_as(self, resource, owner, mode, permits);
    EXPECT(zkl_thread_start(&self->task, wait_in_a_task, self));
    sleep_ms(50);
}

static void stop_waiting(contender *self) {
    (void)zkl_lock_cancel(self->lock);
    zkl_thread_join(self->task);
    zkl_lock_close(self->lock);
}

/* ---- What is told ----------------------------------------------------------------------- */

static zkl_queue *describe(const char *resource) {
    zkl_queue *queue = NULL;
    EXPECT_INT(zkl_queue_describe(client, resource, WITHIN_MS, &queue), ZKL_OK);
    return queue;
}

/* "permit first holds; permit second waits for first" */
static void expect_queue(const char *resource, const char *expected) {
    char text[TEXT_SIZE] = "";
    zkl_queue *queue = describe(resource);
    for (size_t i = 0; i < queue->count; i++) {
        const zkl_contender *one = queue->contenders[i];
        const char *before = "";
        EXPECT(one->permits == 0 || one->mode == ZKL_EXCLUSIVE);
        for (size_t k = 0; k < i; k++) {
            bool is_it = strcmp(queue->contenders[k]->node, one->waits_for) == 0;
            before = is_it ? queue->contenders[k]->identity.owner : before;
        }
        size_t used = strlen(text);
        snprintf(text + used, TEXT_SIZE - used, "%s%s %s %s%s", i > 0 ? "; " : "",
                 one->permits > 0 ? "permit" : zkl_lock_mode_name((int)one->mode),
                 one->identity.owner, one->holds ? "holds" : "waits for ", before);
    }
    EXPECT_TEXT(text, expected);
    zkl_report_free(queue);
}

static void expect_deadlocks(size_t count) {
    zkl_deadlocks *deadlocks = NULL;
    EXPECT_INT(zkl_deadlocks_find(client, WITHIN_MS, &deadlocks), ZKL_OK);
    EXPECT_INT(deadlocks->count, count);
    zkl_report_free(deadlocks);
}

/* ---- Semaphores ------------------------------------------------------------------------- */

/* Each holds a permit and waits for one of the other's: with one each they are stuck, with two
 * any other holder can let them go on. */
static size_t count_of_crosswise(uint64_t seed, int32_t permits) {
    begin(seed);
    contender held[4];
    contender a;
    contender b;
    size_t count = 0;
    for (size_t i = 0; i < (size_t)permits; i++) {
        hold(&held[count++], "one", i == 0 ? "a" : "c", ZKL_EXCLUSIVE, permits);
        hold(&held[count++], "two", i == 0 ? "b" : "c", ZKL_EXCLUSIVE, permits);
    }
    begin_to_wait(&a, "two", "a", ZKL_EXCLUSIVE, permits);
    begin_to_wait(&b, "one", "b", ZKL_EXCLUSIVE, permits);
    expect_deadlocks(permits == 1 ? 1 : 0);
    stop_waiting(&a);
    stop_waiting(&b);
    for (size_t i = 0; i < count; i++) {
        zkl_lock_close(held[i].lock);
    }
    end();
    return count;
}

TEST(permits_are_a_deadlock_only_where_there_is_one) {
    EXPECT_INT(count_of_crosswise(2, 1), 2);
    EXPECT_INT(count_of_crosswise(3, 2), 4);
}

/* As with a lock: so there are no more waits than requests. */
TEST(waiter_for_the_only_permit_is_behind_the_nearest_request) {
    begin(11);
    contender held[2];
    contender waiting[3];
    hold(&held[0], "one", "a", ZKL_EXCLUSIVE, 1);
    hold(&held[1], "two", "b", ZKL_EXCLUSIVE, 1);
    begin_to_wait(&waiting[0], "one", "c", ZKL_EXCLUSIVE, 1);
    begin_to_wait(&waiting[1], "one", "b", ZKL_EXCLUSIVE, 1);
    begin_to_wait(&waiting[2], "two", "a", ZKL_EXCLUSIVE, 1);
    zkl_deadlocks *deadlocks = NULL;
    EXPECT_INT(zkl_deadlocks_find(client, WITHIN_MS, &deadlocks), ZKL_OK);
    EXPECT_INT(deadlocks->count, 1);
    EXPECT_INT(deadlocks->deadlocks[0]->length, 3);
    zkl_report_free(deadlocks);
    for (size_t i = 0; i < 3; i++) {
        stop_waiting(&waiting[i]);
    }
    zkl_lock_close(held[0].lock);
    zkl_lock_close(held[1].lock);
    end();
}

/* ---- Changed modes ------------------------------------------------------------------------ */

TEST(downgraded_reader_holds_where_the_writer_did) {
    begin(4);
    contender first;
    contender second;
    contender third;
    hold(&first, "stock", "first", ZKL_WRITE, 0);
    begin_to_wait(&second, "stock", "second", ZKL_READ, 0);
    begin_to_wait(&third, "stock", "third", ZKL_WRITE, 0);
    EXPECT_INT(zkl_lock_downgrade(first.lock, ZKL_FOREVER), ZKL_OK);
    sleep_ms(50);
    expect_queue("stock", "read first holds; read second holds; write third waits for second");
    zkl_lock_information information = ZKL_LOCK_INFORMATION_INIT;
    EXPECT_INT(zkl_lock_info(first.lock, &information), ZKL_OK);
    zkl_queue *queue = describe("stock");
    EXPECT_INT(queue->contenders[0]->token, information.token);
    EXPECT(queue->contenders[1]->token > information.token);
    zkl_report_free(queue);
    stop_waiting(&third);
    zkl_lock_close(second.lock);
    zkl_thread_join(second.task);
    zkl_lock_close(first.lock);
    end();
}

/* ---- Asynchronous calls, sets -------------------------------------------------------- */

TEST(set_and_all_stripes_are_of_the_owner_who_is_named) {
    begin(10);
    zkl_lock_member member = ZKL_LOCK_MEMBER_INIT;
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    zkl_lock_options of_stripes = ZKL_LOCK_OPTIONS_INIT;
    zkl_lock *all = NULL;
    zkl_striped_lock *stripes = NULL;
    member.resource = "one";
    options.owner = "job-7";
    of_stripes.owner = "job-8";
    EXPECT_INT(zkl_lock_open_set(client, &member, 1, &options, &all), ZKL_OK);
    EXPECT_INT(zkl_lock_acquire(all, ZKL_AS_OPENED, ZKL_FOREVER, NULL), ZKL_OK);
    expect_queue("one", "exclusive job-7 holds");
    EXPECT_INT(zkl_striped_lock_open(client, "hot", 1, &of_stripes, &stripes), ZKL_OK);
    EXPECT_INT(zkl_striped_lock_acquire(stripes, ZKL_ALL_STRIPES, ZKL_EXCLUSIVE, ZKL_FOREVER, NULL),
               ZKL_OK);
    expect_queue("hot/stripe-0000", "exclusive job-8 holds");
    EXPECT_INT(zkl_lock_release(zkl_striped_lock_held(stripes), ZKL_FOREVER), ZKL_OK);
    EXPECT_INT(zkl_striped_lock_acquire(stripes, ZKL_ANY_STRIPE, ZKL_EXCLUSIVE, ZKL_FOREVER, NULL),
               ZKL_OK);
    expect_queue("hot/stripe-0000", "exclusive job-8 holds");
    zkl_striped_lock_close(stripes);
    zkl_lock_close(all);
    options.owner = "two\nlines";
    EXPECT_REFUSED(zkl_lock_open_set(client, &member, 1, &options, &all), "owner");
    end();
}

/* ---- Nodes with children --------------------------------------------------------------------- */

TEST(contender_with_children_is_not_broken) {
    begin(9);
    static const char *const paths[] = { "/locks", "/locks/stock", "/locks/stock/x-lock-0000000001",
                                         "/locks/stock/x-lock-0000000001/child" };
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        EXPECT_INT(zkl_ensemble_create(ensemble, 0, paths[i], NULL, false, false, NULL, 0),
                   ZKL_SERVER_ERROR_NONE);
    }
    EXPECT_INT(zkl_node_break(client, "stock", "x-lock-0000000001", WITHIN_MS), ZKL_SERVER_REFUSED);
    end();
}
