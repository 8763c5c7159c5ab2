/* zklock/administration.h on simulated servers: contenders in tasks, and others by hand. */
#include "zklock/administration.h"

#include <stdio.h>
#include <string.h>

#include "base/threads.h"
#include "client/inquiry.h"
#include "support/unit.h"
#include "testing/ensemble.h"
#include "testing/world.h"
#include "zklock/zklock.h"

enum { US_PER_MS = 1000, TICK_MS = 200, SESSION_MS = 1200, WITHIN_MS = 60000, TEXT_SIZE = 2048 };

static zkl_ensemble *ensemble;
static zkl_client *client;

static void begin(uint64_t seed) {
    zkl_world_begin(seed);
    zkl_ensemble_options options = zkl_ensemble_defaults();
    options.tick_ms = TICK_MS;
    ensemble = zkl_ensemble_begin(&options);
    zkl_client_options client_options = ZKL_CLIENT_OPTIONS_INIT;
    client_options.session_timeout_ms = SESSION_MS;
    client_options.label = "clerk";
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

static zkl_lock *open_as(const char *resource, const char *owner) {
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    zkl_lock *lock = NULL;
    options.owner = owner;
    EXPECT_INT(zkl_lock_open(client, resource, &options, &lock), ZKL_OK);
    return lock;
}

static zkl_lock *hold_as(const char *resource, const char *owner, zkl_mode mode) {
    zkl_lock *lock = open_as(resource, owner);
    EXPECT_INT(zkl_lock_acquire(lock, mode, ZKL_FOREVER, NULL), ZKL_OK);
    return lock;
}

/* A task that waits for a lock until it is cancelled. */
typedef struct waiter {
    zkl_lock *lock;
    zkl_mode mode;
    int status;
    pthread_t task;
} waiter;

static void *wait_in_a_task(void *arg) {
    waiter *self = arg;
    self->status = zkl_lock_acquire(self->lock, self->mode, ZKL_FOREVER, NULL);
    return NULL;
}

static void begin_to_wait(waiter *self, const char *resource, const char *owner, zkl_mode mode) {
    self->lock = open_as(resource, owner);
    self->mode = mode;
    EXPECT(zkl_thread_start(&self->task, wait_in_a_task, self));
    sleep_ms(50);
}

static void stop_waiting(waiter *self) {
    (void)zkl_lock_cancel(self->lock);
    zkl_thread_join(self->task);
    zkl_lock_close(self->lock);
}

/* ---- Queues ------------------------------------------------------------------------ */

/* "0 exclusive first holds; 1 read second waits for 0" */
static const char *queue_text(const zkl_queue *queue) {
    static char text[TEXT_SIZE];
    text[0] = '\0';
    for (size_t i = 0; i < queue->count; i++) {
        const zkl_contender *one = queue->contenders[i];
        size_t used = strlen(text);
        const char *number = strrchr(one->waits_for, '0');
        snprintf(text + used, TEXT_SIZE - used, "%s%d %s %s %s%s", i > 0 ? "; " : "",
                 (int)one->sequence, zkl_lock_mode_name((int)one->mode), one->identity.owner,
                 one->holds ? "holds" : "waits for ",
                 one->holds ? "" : (number != NULL ? number + 1 : "?"));
    }
    return text;
}

static zkl_queue *describe(const char *resource) {
    zkl_queue *queue = NULL;
    EXPECT_INT(zkl_queue_describe(client, resource, WITHIN_MS, &queue), ZKL_OK);
    return queue;
}

static void expect_queue(const char *resource, const char *expected) {
    zkl_queue *queue = describe(resource);
    EXPECT_TEXT(queue_text(queue), expected);
    zkl_report_free(queue);
}

static bool has_node(const char *path) {
    return zkl_tree_find(zkl_ensemble_tree(ensemble), path, ZKL_LATEST_ZXID) != NULL;
}

static void use_up_number(const char *parent) {
    char path[128];
    char made[128];
    snprintf(path, sizeof(path), "%s/x-", parent);
    EXPECT_INT(zkl_ensemble_create(ensemble, 0, path, "", false, true, made, sizeof(made)),
               ZKL_SERVER_ERROR_NONE);
    EXPECT_INT(zkl_ensemble_delete(ensemble, made), ZKL_SERVER_ERROR_NONE);
}

static void make(const char *path) {
    EXPECT_INT(zkl_ensemble_create(ensemble, 0, path, NULL, false, false, NULL, 0),
               ZKL_SERVER_ERROR_NONE);
}

TEST(queue_of_readers_and_writers_is_described_in_its_order) {
    begin(1);
    make("/locks");
    make("/locks/stock");
    use_up_number("/locks/stock");
    zkl_lock *first = hold_as("stock", "first", ZKL_READ);
    zkl_lock *second = hold_as("stock", "second", ZKL_READ);
    waiter third;
    waiter fourth;
    waiter fifth;
    begin_to_wait(&third, "stock", "third", ZKL_WRITE);
    begin_to_wait(&fourth, "stock", "fourth", ZKL_READ);
    begin_to_wait(&fifth, "stock", "fifth", ZKL_EXCLUSIVE);
    expect_queue("stock", "1 read first holds; 2 read second holds; 3 write third waits for 2; "
                          "4 read fourth waits for 3; 5 exclusive fifth waits for 4");
    stop_waiting(&fifth);
    stop_waiting(&fourth);
    stop_waiting(&third);
    zkl_lock_close(second);
    zkl_lock_close(first);
    end();
}

static int64_t session_of(void) {
    zkl_client_information information = ZKL_CLIENT_INFORMATION_INIT;
    EXPECT_INT(zkl_client_info(client, &information), ZKL_OK);
    return information.session_id;
}

TEST(contender_says_who_it_is) {
    begin(2);
    zkl_lock *lock = NULL;
    zkl_grant grant = ZKL_GRANT_INIT;
    char expected[64];
    EXPECT_INT(zkl_lock_open(client, "stock", NULL, &lock), ZKL_OK);
    EXPECT_INT(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, ZKL_FOREVER, &grant), ZKL_OK);
    sleep_ms(3000);
    zkl_queue *queue = describe("/locks/stock");
    EXPECT_INT(queue->count, 1);
    const zkl_contender *one = queue->contenders[0];
    snprintf(expected, sizeof(expected), ":%llu", (unsigned long long)zkl_thread_number());
    EXPECT_TEXT(strchr(one->identity.owner, ':'), expected);
    EXPECT_TEXT(one->identity.label, "clerk");
    EXPECT(strstr(one->identity.owner, one->identity.process_id) == one->identity.owner);
    EXPECT(one->identity.host[0] != '\0');
    EXPECT_TEXT(strrchr(grant.node, '/') + 1, one->node);
    EXPECT_INT(one->token, grant.token);
    EXPECT_INT(one->session_id, session_of());
    EXPECT(one->age_ms >= 3000 && one->age_ms < 4000);
    EXPECT_INT(one->revoke_requested, 0);
    zkl_report_free(queue);
    zkl_lock_close(lock);
    end();
}

static void add_foreign(const char *path, const char *data) {
    EXPECT_INT(zkl_ensemble_create(ensemble, zkl_ensemble_make_session(ensemble), path, data, true,
                                   false, NULL, 0),
               ZKL_SERVER_ERROR_NONE);
    sleep_ms(100); /* until all servers know of it */
}

/* Curator writes an address, kazoo an identifier, and anybody anything. */
TEST(data_of_others_are_read_as_they_come) {
    begin(4);
    make("/locks");
    make("/locks/stock");
    add_foreign("/locks/stock/_c_11111111-1111-4111-8111-111111111111-lock-0000000001", "10.0.0.7");
    add_foreign("/locks/stock/aa__rlock__0000000002", "host=\nowner=a\033[2J\nowner=b\npid");
    add_foreign("/locks/stock/strange-0000000003", NULL);
    add_foreign("/locks/stock/no_contender", "owner=x");
    zkl_queue *queue = describe("stock");
    EXPECT_TEXT(queue_text(queue), "1 exclusive  holds; 2 read a?[2J waits for 1; "
                                   "3 unknown  waits for 2");
    EXPECT_TEXT(queue->contenders[0]->identity.data, "10.0.0.7");
    EXPECT_TEXT(queue->contenders[1]->identity.process_id, "");
    EXPECT_TEXT(queue->contenders[2]->identity.data, "");
    zkl_report_free(queue);
    end();
}

typedef struct remover {
    const char *path;
    pthread_t task;
} remover;

static void *delete_in_a_task(void *arg) {
    const remover *self = arg;
    zkl_world_sleep_us((int64_t)zkl_world_random(4000));
    (void)zkl_ensemble_delete(ensemble, self->path);
    return NULL;
}

static uint64_t count_requests(zkl_call_kind kind) {
    return zkl_ensemble_request_count(ensemble, session_of(), kind);
}

/* ---- Resources, and what is done to nodes ----------------------------------------------- */

TEST(resources_are_listed_by_name_with_their_contenders) {
    begin(7);
    zkl_resource_list *list = NULL;
    EXPECT_INT(zkl_resources_list(client, WITHIN_MS, &list), ZKL_OK);
    EXPECT_INT(list->count, 0);
    zkl_report_free(list);
    zkl_lock *stock = hold_as("stock", NULL, ZKL_READ);
    zkl_lock *again = hold_as("stock", NULL, ZKL_READ);
    zkl_lock *bills = hold_as("bills", NULL, ZKL_EXCLUSIVE);
    EXPECT_INT(zkl_lock_release(bills, ZKL_FOREVER), ZKL_OK);
    EXPECT_INT(zkl_resources_list(client, WITHIN_MS, &list), ZKL_OK);
    EXPECT_INT(list->count, 2);
    EXPECT_TEXT(list->resources[0]->name, "bills");
    EXPECT_INT(list->resources[0]->contenders, 0);
    EXPECT_TEXT(list->resources[1]->name, "stock");
    EXPECT_INT(list->resources[1]->contenders, 2);
    zkl_report_free(list);
    zkl_lock_close(bills);
    zkl_lock_close(again);
    zkl_lock_close(stock);
    end();
}

TEST(broken_lock_passes_on_and_its_holder_hears_of_it) {
    begin(8);
    zkl_lock *first = hold_as("stock", "first", ZKL_EXCLUSIVE);
    waiter second;
    begin_to_wait(&second, "stock", "second", ZKL_EXCLUSIVE);
    zkl_queue *queue = describe("stock");
    EXPECT_INT(zkl_node_break(client, "stock", queue->contenders[0]->node, WITHIN_MS), ZKL_OK);
    EXPECT_INT(zkl_node_break(client, "stock", queue->contenders[0]->node, WITHIN_MS), ZKL_NO_NODE);
    zkl_report_free(queue);
    zkl_thread_join(second.task);
    EXPECT_INT(second.status, ZKL_OK);
    sleep_ms(SESSION_MS);
    EXPECT_INT(zkl_lock_check(first, NULL), ZKL_LOST);
    zkl_lock_close(second.lock);
    zkl_lock_close(first);
    end();
}

static void cut_next_delete(zkl_cut cut) {
    zkl_client_information information = ZKL_CLIENT_INFORMATION_INIT;
    EXPECT_INT(zkl_client_info(client, &information), ZKL_OK);
    zkl_ensemble_cut_next(ensemble, information.session_id, ZKL_CALL_DELETE, cut, 0);
}

/* It is sent again, and finds no node: because it has broken it. */
TEST(break_whose_reply_is_lost_has_broken_the_lock) {
    static const zkl_cut cuts[] = { ZKL_CUT_REQUESTS_LOST, ZKL_CUT_WHEN_ANSWERED };
    for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
        begin(30 + i);
        make("/locks");
        make("/locks/stock");
        make("/locks/stock/x-lock-0000000001");
        cut_next_delete(cuts[i]);
        EXPECT_INT(zkl_node_break(client, "stock", "x-lock-0000000001", WITHIN_MS), ZKL_OK);
        EXPECT(!has_node("/locks/stock/x-lock-0000000001"));
        EXPECT_INT(zkl_node_break(client, "stock", "x-lock-0000000001", WITHIN_MS), ZKL_NO_NODE);
        end();
    }
}

TEST(nothing_is_broken_but_contenders) {
    begin(9);
    make("/locks");
    make("/locks/stock");
    make("/locks/stock/notes");
    make("/locks/stock/deep");
    make("/locks/stock/deep/x-0000000001");
    static const char *const names[] = { "notes", "", ".", "deep/x-0000000001",
                                         "../stock/x-0000000001" };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        EXPECT_REFUSED(zkl_node_break(client, "stock", names[i], WITHIN_MS), "is no contender");
        EXPECT_REFUSED(zkl_node_revoke(client, "stock", names[i], WITHIN_MS), "is no contender");
    }
    EXPECT_INT(zkl_node_break(client, "stock", "x-0000000002", WITHIN_MS), ZKL_NO_NODE);
    EXPECT_INT(zkl_node_revoke(client, "stock", "x-0000000002", WITHIN_MS), ZKL_NO_NODE);
    EXPECT_TEXT(zkl_error_message(), "node \"x-0000000002\": the resource has no such node");
    EXPECT_INT(zkl_tree_node_count(zkl_ensemble_tree(ensemble)), 6);
    end();
}

/* ---- Reading a node ----------------------------------------------------------------------- */

TEST(node_is_read_as_it_was_written) {
    begin(10);
    zkl_lock *lock = hold_as("stock", "writer", ZKL_EXCLUSIVE);
    zkl_transaction *transaction = NULL;
    EXPECT_INT(zkl_transaction_begin(lock, &transaction), ZKL_OK);
    EXPECT_INT(
        zkl_transaction_create(transaction, "/locks/stock/done", "a\0b", 3, ZKL_CREATE_PERSISTENT),
        ZKL_OK);
    EXPECT_INT(
        zkl_transaction_create(transaction, "/locks/stock/mine", NULL, 0, ZKL_CREATE_EPHEMERAL),
        ZKL_OK);
    EXPECT_INT(zkl_transaction_commit(transaction, WITHIN_MS, NULL), ZKL_OK);
    zkl_transaction_free(transaction);
    zkl_node *node = NULL;
    EXPECT_INT(zkl_node_read(client, "/locks/stock/done", WITHIN_MS, &node), ZKL_OK);
    EXPECT_INT(node->size, 3);
    EXPECT(memcmp(node->data, "a\0b", 4) == 0);
    EXPECT_INT(node->version, 0);
    EXPECT_INT(node->session_id, 0);
    EXPECT(node->made_ms > 0 && node->changed_ms == node->made_ms);
    zkl_report_free(node);
    EXPECT_INT(zkl_node_read(client, "/locks/stock/mine", WITHIN_MS, &node), ZKL_OK);
    EXPECT_INT(node->size, 0);
    EXPECT_TEXT(node->data, "");
    EXPECT(node->session_id != 0);
    zkl_report_free(node);
    zkl_lock_close(lock);
    end();
}

TEST(acl_is_set_and_read_and_holds) {
    static const char closed[] = "digest:stock:nobodys-hash=:cdrwa,world:anyone:r";
    begin(12);
    zkl_node *node = NULL;
    make("/locks");
    EXPECT_INT(zkl_node_read(client, "/locks", WITHIN_MS, &node), ZKL_OK);
    EXPECT_TEXT(node->acl, "world:anyone:cdrwa");
    zkl_report_free(node);
    EXPECT_INT(zkl_node_set_acl(client, "/locks", closed, WITHIN_MS), ZKL_OK);
    EXPECT_INT(zkl_node_read(client, "/locks", WITHIN_MS, &node), ZKL_OK);
    EXPECT_TEXT(node->acl, closed);
    zkl_report_free(node);
    EXPECT_INT(zkl_node_set_acl(client, "/locks", "world:anyone:cdrwa", WITHIN_MS),
               ZKL_NO_PERMISSION);
    EXPECT(strstr(zkl_error_message(), "/locks") != NULL);
    end();
}

TEST(acl_that_is_none_is_not_set) {
    begin(13);
    EXPECT_REFUSED(zkl_node_set_acl(client, "/locks", "anyone", WITHIN_MS), "acl");
    EXPECT_INT(zkl_node_set_acl(client, "/locks", NULL, WITHIN_MS), ZKL_INVALID_ARGUMENT);
    EXPECT_REFUSED(zkl_node_set_acl(client, "locks", "world:anyone:r", WITHIN_MS), "path");
    EXPECT_INT(zkl_node_set_acl(client, "/none", "world:anyone:r", WITHIN_MS), ZKL_NO_NODE);
    EXPECT_TEXT(zkl_error_message(), "path \"/none\": there is no such node");
    end();
}

TEST(node_that_is_not_there_cannot_be_read) {
    begin(11);
    zkl_node *node = (zkl_node *)client;
    EXPECT_INT(zkl_node_read(client, "/locks/none", WITHIN_MS, &node), ZKL_NO_NODE);
    EXPECT(node == NULL);
    EXPECT_TEXT(zkl_error_message(), "path \"/locks/none\": there is no such node");
    EXPECT_REFUSED(zkl_node_read(client, "locks", WITHIN_MS, &node), "path");
    EXPECT_REFUSED(zkl_node_read(client, "/a//b", WITHIN_MS, &node), "path");
    EXPECT_INT(zkl_node_read(client, "/locks", WITHIN_MS, NULL), ZKL_INVALID_ARGUMENT);
    EXPECT_INT(zkl_node_read(client, NULL, WITHIN_MS, &node), ZKL_INVALID_ARGUMENT);
    zkl_report_free(NULL);
    end();
}

/* ---- Being asked for the lock ------------------------------------------------------------- */

typedef struct ear {
    char text[TEXT_SIZE];
} ear;

static void on_news(void *arg, const zkl_lock_event *event) {
    ear *self = arg;
    size_t used = strlen(self->text);
    snprintf(self->text + used, TEXT_SIZE - used, "%s;", zkl_lock_state_name((int)event->state));
}

static zkl_lock *open_with_ear(ear *heard) {
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    zkl_lock *lock = NULL;
    options.state_callback = on_news;
    options.state_arg = heard;
    options.revocable = 1;
    EXPECT_INT(zkl_lock_open(client, "stock", &options, &lock), ZKL_OK);
    return lock;
}

static void revoke(size_t place) {
    zkl_queue *queue = describe("stock");
    EXPECT_INT(zkl_node_revoke(client, "stock", queue->contenders[place]->node, WITHIN_MS), ZKL_OK);
    zkl_report_free(queue);
}

/* Before its node is watched, which takes a third of the session timeout, and after. */
TEST(holder_is_told_once_that_it_is_asked_for_the_lock) {
    static const int64_t waits_ms[] = { 0, 1, 100, SESSION_MS / 3, 2 * SESSION_MS };
    for (size_t i = 0; i < sizeof(waits_ms) / sizeof(waits_ms[0]); i++) {
        begin(11 + i);
        ear heard = { "" };
        zkl_lock *lock = open_with_ear(&heard);
        EXPECT_INT(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, ZKL_FOREVER, NULL), ZKL_OK);
        sleep_ms(waits_ms[i]);
        revoke(0);
        sleep_ms(SESSION_MS / 2);
        EXPECT_TEXT(heard.text, "revoke requested;");
        revoke(0);
        sleep_ms(2 * SESSION_MS);
        EXPECT_TEXT(heard.text, "revoke requested;");
        EXPECT_INT(zkl_lock_check(lock, NULL), ZKL_OK);
        zkl_queue *queue = describe("stock");
        EXPECT_INT(queue->contenders[0]->revoke_requested, 1);
        EXPECT_TEXT(queue->contenders[0]->identity.data, "__REVOKE__");
        zkl_report_free(queue);
        zkl_lock_close(lock);
        end();
    }
}

TEST(other_data_ask_for_nothing) {
    begin(16);
    ear heard = { "" };
    zkl_grant grant = ZKL_GRANT_INIT;
    zkl_lock *lock = open_with_ear(&heard);
    EXPECT_INT(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, ZKL_FOREVER, &grant), ZKL_OK);
    sleep_ms(SESSION_MS);
    EXPECT_INT(zkl_ensemble_set_data(ensemble, grant.node, "__REVOKE__ please"),
               ZKL_SERVER_ERROR_NONE);
    sleep_ms(SESSION_MS);
    EXPECT_TEXT(heard.text, "");
    EXPECT_INT(zkl_ensemble_set_data(ensemble, grant.node, "__REVOKE__"), ZKL_SERVER_ERROR_NONE);
    sleep_ms(SESSION_MS);
    EXPECT_TEXT(heard.text, "revoke requested;");
    zkl_lock_close(lock);
    end();
}

/* What is asked of the reader's node that has taken the place of the writer's is news. */
TEST(holder_that_was_asked_for_the_lock_is_asked_again_after_a_downgrade) {
    begin(18);
    ear heard = { "" };
    zkl_lock *lock = open_with_ear(&heard);
    EXPECT_INT(zkl_lock_acquire(lock, ZKL_WRITE, ZKL_FOREVER, NULL), ZKL_OK);
    sleep_ms(SESSION_MS);
    revoke(0);
    sleep_ms(SESSION_MS);
    EXPECT_TEXT(heard.text, "revoke requested;");
    EXPECT_INT(zkl_lock_downgrade(lock, ZKL_FOREVER), ZKL_OK);
    sleep_ms(SESSION_MS);
    EXPECT_TEXT(heard.text, "revoke requested;"); /* nobody has asked since */
    revoke(0);
    sleep_ms(SESSION_MS);
    EXPECT_TEXT(heard.text, "revoke requested;revoke requested;");
    EXPECT_INT(zkl_lock_check(lock, NULL), ZKL_OK);
    zkl_lock_close(lock);
    end();
}

TEST(who_is_asked_while_it_waits_is_told_when_it_holds) {
    begin(17);
    ear heard = { "" };
    zkl_lock *first = hold_as("stock", "first", ZKL_EXCLUSIVE);
    waiter second = { .lock = open_with_ear(&heard) };
    EXPECT(zkl_thread_start(&second.task, wait_in_a_task, &second));
    sleep_ms(100);
    revoke(1);
    sleep_ms(100);
    EXPECT_TEXT(heard.text, "");
    EXPECT_INT(zkl_lock_release(first, ZKL_FOREVER), ZKL_OK);
    zkl_thread_join(second.task);
    EXPECT_INT(second.status, ZKL_OK);
    sleep_ms(100);
    EXPECT_TEXT(heard.text, "revoke requested;");
    zkl_lock_close(second.lock);
    zkl_lock_close(first);
    end();
}

/* It was asked for by the node that is gone. */
TEST(who_was_asked_before_it_lost_its_place_is_not_told_when_it_holds) {
    begin(19);
    ear heard = { "" };
    char node[256];
    zkl_lock *first = hold_as("stock", "first", ZKL_EXCLUSIVE);
    waiter second = { .lock = open_with_ear(&heard) };
    EXPECT(zkl_thread_start(&second.task, wait_in_a_task, &second));
    sleep_ms(100);
    revoke(1);
    sleep_ms(100);
    zkl_queue *queue = describe("stock");
    snprintf(node, sizeof(node), "/locks/stock/%s", queue->contenders[1]->node);
    zkl_report_free(queue);
    EXPECT_INT(zkl_ensemble_delete(ensemble, node), ZKL_SERVER_ERROR_NONE);
    sleep_ms(SESSION_MS);
    EXPECT_INT(zkl_lock_release(first, ZKL_FOREVER), ZKL_OK);
    zkl_thread_join(second.task);
    EXPECT_INT(second.status, ZKL_OK);
    sleep_ms(SESSION_MS);
    EXPECT_TEXT(heard.text, "");
    zkl_lock_close(second.lock);
    zkl_lock_close(first);
    end();
}

/* ---- Deadlocks ------------------------------------------------------------------------------ */

static void expect_session_of_node(const zkl_deadlock_wait *wait) {
    char path[256];
    snprintf(path, sizeof(path), "/locks/%s/%s", wait->resource, wait->node);
    const zkl_node *node = zkl_tree_find(zkl_ensemble_tree(ensemble), path, ZKL_LATEST_ZXID);
    EXPECT(node != NULL && wait->session_id == zkl_node_get_stat(node).ephemeral_owner);
}

/* "a in stock behind ..., b in bills" */
static const char *deadlock_text(const zkl_deadlocks *deadlocks) {
    static char text[TEXT_SIZE];
    text[0] = '\0';
    for (size_t i = 0; i < deadlocks->count; i++) {
        for (size_t k = 0; k < deadlocks->deadlocks[i]->length; k++) {
            const zkl_deadlock_wait *wait = deadlocks->deadlocks[i]->waits[k];
            size_t used = strlen(text);
            expect_session_of_node(wait);
            snprintf(text + used, TEXT_SIZE - used, "%s%s in %s",
                     k > 0   ? " > "
                     : i > 0 ? "; "
                             : "",
                     wait->identity.owner, wait->resource);
        }
    }
    return text;
}

static void expect_deadlocks(const char *expected) {
    zkl_deadlocks *deadlocks = NULL;
    EXPECT_INT(zkl_deadlocks_find(client, WITHIN_MS, &deadlocks), ZKL_OK);
    EXPECT_TEXT(deadlock_text(deadlocks), expected);
    zkl_report_free(deadlocks);
}

TEST(two_that_take_two_locks_crosswise_are_found) {
    begin(19);
    expect_deadlocks("");
    zkl_lock *bills = hold_as("bills", "a", ZKL_EXCLUSIVE);
    zkl_lock *stock = hold_as("stock", "b", ZKL_EXCLUSIVE);
    expect_deadlocks("");
    waiter a;
    waiter b;
    begin_to_wait(&a, "stock", "a", ZKL_EXCLUSIVE);
    expect_deadlocks("");
    begin_to_wait(&b, "bills", "b", ZKL_EXCLUSIVE);
    expect_deadlocks("a in stock > b in bills");
    stop_waiting(&a);
    expect_deadlocks("");
    stop_waiting(&b);
    zkl_lock_close(bills);
    zkl_lock_close(stock);
    end();
}

/* One session of two owners, who each hold what the other does not want. */
TEST(owners_of_one_session_are_told_apart) {
    begin(22);
    zkl_lock *bills = hold_as("bills", "a", ZKL_EXCLUSIVE);
    zkl_lock *stock = hold_as("stock", "b", ZKL_EXCLUSIVE);
    waiter c;
    waiter d;
    begin_to_wait(&c, "stock", "c", ZKL_EXCLUSIVE);
    begin_to_wait(&d, "bills", "d", ZKL_EXCLUSIVE);
    expect_deadlocks("");
    stop_waiting(&c);
    stop_waiting(&d);
    zkl_lock_close(stock);
    zkl_lock_close(bills);
    end();
}

static void add_node(int64_t session_id, const char *path, const char *owner) {
    char data[64];
    snprintf(data, sizeof(data), "owner=%s\n", owner);
    EXPECT_INT(zkl_ensemble_create(ensemble, session_id, path, data, true, false, NULL, 0),
               ZKL_SERVER_ERROR_NONE);
    sleep_ms(100); /* until all servers know of it */
}

/* Two sessions may have owners of one name. */
TEST(owners_of_one_name_in_two_sessions_are_two) {
    begin(23);
    make("/locks");
    make("/locks/a");
    make("/locks/b");
    int64_t one = zkl_ensemble_make_session(ensemble);
    int64_t two = zkl_ensemble_make_session(ensemble);
    int64_t three = zkl_ensemble_make_session(ensemble);
    add_node(one, "/locks/a/x-lock-0000000001", "7");
    add_node(two, "/locks/a/x-lock-0000000002", "7");
    add_node(two, "/locks/b/x-lock-0000000001", "7");
    add_node(three, "/locks/b/x-lock-0000000002", "7");
    expect_deadlocks("");
    add_node(one, "/locks/b/x-lock-0000000003", "7");
    expect_deadlocks("7 in b > 7 in b > 7 in a");
    end();
}

TEST(owner_that_sessions_share_is_one) {
    begin(24);
    make("/locks");
    make("/locks/a");
    make("/locks/b");
    int64_t one = zkl_ensemble_make_session(ensemble);
    int64_t two = zkl_ensemble_make_session(ensemble);
    int64_t three = zkl_ensemble_make_session(ensemble);
    int64_t four = zkl_ensemble_make_session(ensemble);
    add_node(one, "/locks/a/x-lock-0000000001", "shared:x");
    add_node(two, "/locks/b/x-lock-0000000001", "shared:y");
    add_node(three, "/locks/a/x-lock-0000000002", "shared:y");
    expect_deadlocks("");
    add_node(four, "/locks/b/x-lock-0000000002", "shared:x");
    expect_deadlocks("shared:x in b > shared:y in a");
    end();
}

TEST(owner_waits_while_a_part_of_it_does_and_the_other_parts_go_on) {
    begin(25);
    make("/locks");
    make("/locks/a");
    make("/locks/b");
    make("/locks/c");
    int64_t one = zkl_ensemble_make_session(ensemble);
    int64_t two = zkl_ensemble_make_session(ensemble);
    add_node(one, "/locks/a/x-lock-0000000001", "shared:x");
    add_node(one, "/locks/b/x-lock-0000000001", "shared:x/1");
    add_node(one, "/locks/b/x-lock-0000000002", "shared:x/2");
    add_node(one, "/locks/b/x-lock-0000000003", "shared:x-2");
    add_node(two, "/locks/c/x-lock-0000000001", "shared:y");
    add_node(two, "/locks/a/x-lock-0000000002", "shared:y/1/1");
    expect_deadlocks("");
    add_node(one, "/locks/c/x-lock-0000000002", "shared:x/3/1");
    expect_deadlocks("shared:x/3/1 in c > shared:y/1/1 in a");
    end();
}

TEST(part_of_an_owner_that_waits_for_the_whole_is_a_deadlock) {
    begin(26);
    make("/locks");
    make("/locks/a");
    int64_t one = zkl_ensemble_make_session(ensemble);
    int64_t two = zkl_ensemble_make_session(ensemble);
    add_node(one, "/locks/a/x-lock-0000000001", "shared:x");
    add_node(two, "/locks/a/x-lock-0000000002", "shared:x/1/1");
    expect_deadlocks("shared:x/1/1 in a");
    end();
}

/* What is gone before the second look is not told. Without that look some seeds tell it. */
TEST(circle_that_is_gone_at_the_second_look_is_not_told) {
    size_t found = 0;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        begin(seed);
        make("/locks");
        make("/locks/a");
        make("/locks/b");
        int64_t one = zkl_ensemble_make_session(ensemble);
        int64_t two = zkl_ensemble_make_session(ensemble);
        add_node(one, "/locks/a/x-lock-0000000001", "1");
        add_node(two, "/locks/b/x-lock-0000000001", "2");
        add_node(one, "/locks/b/x-lock-0000000002", "1");
        add_node(two, "/locks/a/x-lock-0000000002", "2");
        remover other = { .path = "/locks/b/x-lock-0000000002" };
        EXPECT(zkl_thread_start(&other.task, delete_in_a_task, &other));
        zkl_deadlocks *deadlocks = NULL;
        uint64_t asked = count_requests(ZKL_CALL_EXISTS);
        EXPECT_INT(zkl_deadlocks_find(client, WITHIN_MS, &deadlocks), ZKL_OK);
        uint64_t looked = count_requests(ZKL_CALL_EXISTS);
        size_t count = deadlocks->count;
        EXPECT(count == 0 || looked - asked >= 4);
        found += looked - asked >= 4 && count == 0 ? 1 : 0;
        zkl_report_free(deadlocks);
        zkl_thread_join(other.task);
        expect_deadlocks("");
        end();
    }
    EXPECT(found > 0); /* circles that the first look had shown */
}

static void *end_session_in_a_task(void *arg) {
    zkl_world_sleep_us((int64_t)zkl_world_random(8000));
    (void)zkl_ensemble_expire(ensemble, *(int64_t *)arg);
    return NULL;
}

/* A session may see an older state than the one before it, where servers give them out by
 * themselves (localSessionsEnabled): two looks prove that a circle was there at one moment only if
 * they are of one session. */
TEST(circle_is_looked_at_anew_when_the_session_ends_between_the_looks) {
    size_t ended = 0;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        begin(seed);
        make("/locks");
        make("/locks/a");
        make("/locks/b");
        int64_t one = zkl_ensemble_make_session(ensemble);
        int64_t two = zkl_ensemble_make_session(ensemble);
        add_node(one, "/locks/a/x-lock-0000000001", "1");
        add_node(two, "/locks/b/x-lock-0000000001", "2");
        add_node(one, "/locks/b/x-lock-0000000002", "1");
        add_node(two, "/locks/a/x-lock-0000000002", "2");
        pthread_t task;
        int64_t first = session_of();
        EXPECT(zkl_thread_start(&task, end_session_in_a_task, &first));
        zkl_deadlocks *deadlocks = NULL;
        EXPECT_INT(zkl_deadlocks_find(client, WITHIN_MS, &deadlocks), ZKL_OK);
        EXPECT_INT(deadlocks->count, 1);
        EXPECT(count_requests(ZKL_CALL_LIST) >= 3); /* of all resources, in the session of now */
        ended += session_of() != first ? 1 : 0;
        zkl_report_free(deadlocks);
        zkl_thread_join(task);
        end();
    }
    EXPECT(ended > 0);
}

/* ---- Parents --------------------------------------------------------------------------------- */

static size_t remove_idle(int64_t idle_ms, int only_look) {
    zkl_resource_list *removed = NULL;
    EXPECT_INT(zkl_parents_remove_idle(client, idle_ms, WITHIN_MS, only_look, &removed), ZKL_OK);
    size_t count = removed->count;
    for (size_t i = 0; i < count; i++) {
        EXPECT_TEXT(removed->resources[i]->name, "idle");
    }
    zkl_report_free(removed);
    return count;
}

TEST(only_parents_that_are_idle_and_empty_are_removed) {
    begin(25);
    zkl_lock *used = hold_as("used", NULL, ZKL_EXCLUSIVE);
    zkl_lock *idle = hold_as("idle", NULL, ZKL_EXCLUSIVE);
    EXPECT_INT(zkl_lock_release(idle, ZKL_FOREVER), ZKL_OK);
    EXPECT_INT(zkl_ensemble_create(ensemble, 0, "/locks/notes", "text", false, false, NULL, 0),
               ZKL_SERVER_ERROR_NONE);
    EXPECT_INT(remove_idle(5000, 1), 1);
    EXPECT(has_node("/locks/idle"));
    EXPECT_INT(remove_idle(5000, 0), 1);
    EXPECT(!has_node("/locks/idle") && has_node("/locks/used") && has_node("/locks/notes"));
    EXPECT_INT(remove_idle(0, 0), 0);
    EXPECT_INT(zkl_lock_acquire(idle, ZKL_EXCLUSIVE, 0, NULL), ZKL_OK);
    EXPECT(has_node("/locks/idle"));
    zkl_lock_close(idle);
    zkl_lock_close(used);
    end();
}

static void *come_and_go(void *arg) {
    zkl_lock *lock = arg;
    sleep_ms(2000);
    EXPECT_INT(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, ZKL_FOREVER, NULL), ZKL_OK);
    EXPECT_INT(zkl_lock_release(lock, ZKL_FOREVER), ZKL_OK);
    return NULL;
}

TEST(parent_that_was_used_meanwhile_is_not_idle) {
    begin(26);
    pthread_t task;
    zkl_lock *lock = hold_as("stock", NULL, ZKL_EXCLUSIVE);
    EXPECT_INT(zkl_lock_release(lock, ZKL_FOREVER), ZKL_OK);
    EXPECT(zkl_thread_start(&task, come_and_go, lock));
    EXPECT_INT(remove_idle(5000, 0), 0);
    EXPECT(has_node("/locks/stock"));
    zkl_thread_join(task);
    zkl_lock_close(lock);
    end();
}

/* ---- When the servers do not answer --------------------------------------------------------- */

static void stop_all(void) {
    for (uint32_t i = 0; i < zkl_ensemble_server_count(ensemble); i++) {
        zkl_ensemble_stop_server(ensemble, i);
    }
    sleep_ms(1);
}

static int status_of_call;

static void *describe_in_a_task(void *arg) {
    zkl_queue *queue = NULL;
    status_of_call = zkl_queue_describe(arg, "stock", WITHIN_MS, &queue);
    EXPECT(queue == NULL);
    return NULL;
}

TEST(call_whose_client_is_closed_ends) {
    begin(31);
    pthread_t task;
    stop_all();
    EXPECT(zkl_thread_start(&task, describe_in_a_task, client));
    sleep_ms(10);
    int64_t began_ms = zkl_clock_ms();
    EXPECT_INT(zkl_client_close(client, 0), ZKL_OK);
    zkl_thread_join(task);
    EXPECT_INT(status_of_call, ZKL_CLOSED);
    EXPECT(zkl_clock_ms() - began_ms < WITHIN_MS / 2);
    zkl_ensemble_end();
    zkl_world_end();
}

TEST(refusal_names_the_path) {
    begin(32);
    zkl_lock *lock = hold_as("stock", NULL, ZKL_EXCLUSIVE);
    zkl_queue *queue = describe("stock");
    zkl_ensemble_withhold(ensemble, "/locks/stock", ZKL_RIGHT_DELETE, INT32_MAX);
    EXPECT_INT(zkl_node_break(client, "stock", queue->contenders[0]->node, WITHIN_MS),
               ZKL_NO_PERMISSION);
    EXPECT(strstr(zkl_error_message(), "path \"/locks/stock/_c_") == zkl_error_message());
    zkl_ensemble_heal(ensemble);
    zkl_report_free(queue);
    zkl_lock_close(lock);
    sleep_ms(SESSION_MS);
    (void)zkl_client_close(client, 0);
    zkl_ensemble_end();
    zkl_world_end();
}

TEST(bad_arguments_are_refused) {
    begin(33);
    zkl_queue *queue = NULL;
    zkl_deadlocks *deadlocks = NULL;
    EXPECT_INT(zkl_queue_describe(NULL, "stock", 1, &queue), ZKL_INVALID_ARGUMENT);
    EXPECT_INT(zkl_queue_describe(client, NULL, 1, &queue), ZKL_INVALID_ARGUMENT);
    EXPECT_INT(zkl_queue_describe(client, "stock", 1, NULL), ZKL_INVALID_ARGUMENT);
    EXPECT_REFUSED(zkl_queue_describe(client, "", 1, &queue), "must not be empty");
    EXPECT_REFUSED(zkl_queue_describe(client, "stock", 0, &queue), "timeout_ms");
    EXPECT_REFUSED(zkl_queue_describe(client, "stock", ZKL_FOREVER, &queue), "timeout_ms");
    EXPECT_INT(zkl_resources_list(client, 1, NULL), ZKL_INVALID_ARGUMENT);
    EXPECT_INT(zkl_deadlocks_find(client, 1, NULL), ZKL_INVALID_ARGUMENT);
    EXPECT_INT(zkl_deadlocks_find(NULL, 1, &deadlocks), ZKL_INVALID_ARGUMENT);
    EXPECT_INT(zkl_node_break(client, "stock", NULL, 1), ZKL_INVALID_ARGUMENT);
    EXPECT_INT(zkl_node_break(client, NULL, "x-0000000001", 1), ZKL_INVALID_ARGUMENT);
    zkl_resource_list *removed = NULL;
    EXPECT_INT(zkl_parents_remove_idle(client, 1, 10, 0, NULL), ZKL_INVALID_ARGUMENT);
    EXPECT_REFUSED(zkl_parents_remove_idle(client, 10, 10, 0, &removed), "idle_ms");
    EXPECT_REFUSED(zkl_parents_remove_idle(client, -1, 10, 0, &removed), "idle_ms");
    zkl_report_free(NULL);
    zkl_report_free(NULL);
    end();
}

TEST(call_without_servers_says_so) {
    begin(27);
    zkl_queue *queue = NULL;
    stop_all();
    EXPECT_INT(zkl_queue_describe(client, "stock", 3000, &queue), ZKL_TIMEOUT);
    EXPECT(strstr(zkl_error_message(), "servers: not connected for ") != NULL);
    end();
}

/* Whoever asked may look at the questions without the mutex from then on. */
TEST(answer_that_comes_after_the_deadline_changes_nothing) {
    begin(1);
    zkl_inquiry inquiry;
    EXPECT_INT(zkl_inquiry_begin(&inquiry, client, 20), ZKL_OK);
    zkl_question *question = zkl_inquiry_questions(&inquiry, 1);
    *question = (zkl_question){ .kind = ZKL_OPERATION_DELETE, .path = "/nobody" };
    zkl_ensemble_slow_commits(ensemble, 100 * US_PER_MS, 100 * US_PER_MS);
    EXPECT_INT(zkl_inquiry_ask(&inquiry, question, 1), ZKL_TIMEOUT);
    EXPECT_TEXT(zkl_error_message(), "servers: they have not answered in time");
    EXPECT(!question->answered);
    sleep_ms(SESSION_MS);
    EXPECT(!question->answered);
    zkl_inquiry_end(&inquiry);
    end();
}
