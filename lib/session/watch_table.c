#include "session/watch_table.h"

#include <stdlib.h>
#include <string.h>

#include <uthash.h>
#include <utlist.h>

typedef enum watch_state {
    WATCH_NEW,     /* nothing was asked for */
    WATCH_ARMING,  /* the exists, or the list, is on its way */
    WATCH_ARMED,   /* will fire */
    WATCH_REMOVING /* the removal is on its way, or lost and to be sent again */
} watch_state;

/* There are as many as there are locks that are held or waited for: so it is small. */
struct zkl_watch {
    zkl_watch_table *table;
    uint64_t id;
    zkl_sent *under_way; /* the exists, or the removal */
    zkl_watch_waiter *waiters;
    zkl_watch *next;      /* in its bucket */
    int32_t data_version; /* of the node, as the exists said */
    zkl_watch_kind kind : 8;
    watch_state state : 8;
    bool was_removing;      /* when it was asked for: the server may have it still */
    bool is_doubtful;       /* whether it would fire: it was armed on another connection */
    zkl_list_waiter list[]; /* of a watch on children: of the list. Behind it: the path */
};

/* Its length travels with it. */
size_t zkl_watch_path_bytes(size_t length) {
    return sizeof(int32_t) + length;
}

size_t zkl_watch_table_count(const zkl_watch_table *table) {
    return table->count;
}

static char *path_of(zkl_watch *watch) {
    return (char *)(watch->list + (watch->kind == ZKL_WATCH_CHILDREN ? 1 : 0));
}

static zkl_watch **bucket_of(zkl_watch_table *table, uint64_t id) {
    return &table->buckets[id % ZKL_WATCH_BUCKETS];
}

/* Of all; NULL: the first. */
static zkl_watch *find_next(zkl_watch_table *table, const zkl_watch *watch) {
    zkl_watch *next = watch != NULL ? watch->next : NULL;
    size_t bucket = watch != NULL ? watch->id % ZKL_WATCH_BUCKETS + 1 : 0;
    for (; next == NULL && bucket < ZKL_WATCH_BUCKETS; bucket++) {
        next = table->buckets[bucket];
    }
    return next;
}

static void forget_and_free(zkl_watch *watch) {
    LL_DELETE(*bucket_of(watch->table, watch->id), watch);
    watch->table->count--;
    zkl_sent_forget(&watch->under_way);
    if (watch->kind == ZKL_WATCH_CHILDREN) {
        zkl_listings_withdraw(watch->list);
    }
    free(watch);
}

/* NULL: it waits for news of a node. */
static zkl_children_waiter *of_children(zkl_watch_waiter *waiter) {
    return waiter->listener->listed != NULL ? (zkl_children_waiter *)waiter : NULL;
}

static void leave(zkl_watch_waiter *waiter) {
    waiter->watch = NULL;
    if (of_children(waiter) != NULL) {
        zkl_listings_withdraw(&of_children(waiter)->list);
    }
}

/* Takes the waiters off first: what they do next may add them again. */
static zkl_watch_waiter *detach_all(zkl_watch *watch) {
    zkl_watch_waiter *waiters = watch->waiters;
    watch->waiters = NULL;
    for (zkl_watch_waiter *waiter = waiters; waiter != NULL; waiter = waiter->next) {
        leave(waiter);
    }
    return waiters;
}

static void tell_armed(zkl_watch_waiter *waiters, zkl_outcome outcome, int status) {
    for (zkl_watch_waiter *waiter = waiters, *next; waiter != NULL; waiter = next) {
        next = waiter->next;
        const zkl_watch_listener *listener = waiter->listener;
        if (listener->listed != NULL) {
            listener->listed(waiter->arg,
                             &(zkl_list_answer){ .outcome = outcome, .status = status });
        } else {
            listener->armed(waiter->arg, outcome, status);
        }
    }
}

/* ---- Requests ------------------------------------------------------------------------ */

/* What was turned away or lost stays, to be sent again. */
static void on_removed(void *arg, const zkl_reply *reply) {
    if (reply->outcome == ZKL_OUTCOME_OK || reply->outcome == ZKL_OUTCOME_REFUSED) {
        forget_and_free(arg);
    }
}

static void send_removal(zkl_watch *watch) {
    const zkl_operation removal = { .kind = ZKL_OPERATION_REMOVE_WATCHES,
                                    .path = path_of(watch),
                                    .watch_kind = watch->kind };
    watch->state = WATCH_REMOVING;
    zkl_sent_forget(&watch->under_way);
    (void)zkl_send(watch->table->sender, &removal, on_removed, watch, &watch->under_way);
}

/* Nobody may wait any more. */
static void conclude(zkl_watch *watch, zkl_outcome outcome, int status) {
    if (outcome == ZKL_OUTCOME_OK && watch->waiters != NULL) {
        watch->state = WATCH_ARMED;
        watch->is_doubtful = false;
        if (watch->kind == ZKL_WATCH_NODE) {
            tell_armed(watch->waiters, ZKL_OUTCOME_OK, ZKL_OK);
        }
        return;
    }
    zkl_watch_waiter *waiters = detach_all(watch);
    bool is_left = outcome == ZKL_OUTCOME_OK || outcome == ZKL_OUTCOME_NO_NODE;
    if (is_left || watch->was_removing) {
        send_removal(watch);
    } else {
        forget_and_free(watch);
    }
    tell_armed(waiters, outcome, status);
}

static void on_exists(void *arg, const zkl_reply *reply) {
    zkl_watch *watch = arg;
    watch->data_version = reply->version;
    conclude(watch, reply->outcome, reply->status);
}

static void on_listed(void *arg, const zkl_list_answer *answer) {
    conclude(arg, answer->outcome, answer->status);
}

static uint64_t id_of(const void *arg) {
    return ((const zkl_watch *)arg)->id;
}

static const zkl_list_listener list_listener = { .listed = on_listed, .watch_id = id_of };

static zkl_outcome send_exists(zkl_watch *watch, zkl_reply_callback *done) {
    const zkl_operation exists = { .kind = ZKL_OPERATION_WATCH,
                                   .path = path_of(watch),
                                   .watch_id = watch->id };
    return zkl_send(watch->table->sender, &exists, done, watch, &watch->under_way);
}

static zkl_outcome ask(zkl_watch *watch) {
    if (watch->kind == ZKL_WATCH_CHILDREN) {
        watch->list[0] = (zkl_list_waiter){ .arg = watch,
                                            .listener = &list_listener,
                                            .after = zkl_listings_mark(watch->table->listings) };
        return zkl_listings_ask(watch->table->listings, path_of(watch), watch->list);
    }
    return send_exists(watch, on_exists);
}

/* ---- Waiters ------------------------------------------------------------------------- */

static zkl_watch *make_watch(zkl_watch_table *table, const char *path, zkl_watch_kind kind,
                             unsigned hash) {
    size_t list = kind == ZKL_WATCH_CHILDREN ? sizeof(zkl_list_waiter) : 0;
    size_t size = strlen(path) + 1;
    zkl_watch *watch = calloc(1, sizeof(*watch) + list + size);
    if (watch != NULL) {
        watch->table = table;
        watch->kind = kind;
        table->last_id += ZKL_WATCH_BUCKETS;
        watch->id = table->last_id + hash % ZKL_WATCH_BUCKETS;
        memcpy(path_of(watch), path, size);
        LL_PREPEND(*bucket_of(table, hash), watch);
        table->count++;
    }
    return watch;
}

/* A removal that is under way arrives before what is asked for now, and so leaves that alone. */
static bool arm(zkl_watch *watch) {
    watch->was_removing = watch->state == WATCH_REMOVING;
    zkl_sent_forget(&watch->under_way);
    if (ask(watch) == ZKL_OUTCOME_OK) {
        watch->state = WATCH_ARMING;
        return true;
    }
    if (!watch->was_removing) {
        forget_and_free(watch);
    }
    return false;
}

/* NULL: out of memory, or it cannot be sent. */
static zkl_watch *find_or_arm(zkl_watch_table *table, const char *path, zkl_watch_kind kind) {
    unsigned hash = 0;
    HASH_VALUE(path, strlen(path), hash);
    zkl_watch *watch = *bucket_of(table, hash);
    while (watch != NULL && (watch->kind != kind || strcmp(path_of(watch), path) != 0)) {
        watch = watch->next;
    }
    if (watch == NULL) {
        watch = make_watch(table, path, kind, hash);
    }
    bool is_set = watch != NULL && (watch->state == WATCH_ARMING || watch->state == WATCH_ARMED);
    return watch == NULL || is_set || arm(watch) ? watch : NULL;
}

static bool add(zkl_watch_table *table, const char *path, zkl_watch_kind kind,
                zkl_watch_waiter *waiter) {
    waiter->watch = find_or_arm(table, path, kind);
    if (waiter->watch != NULL) {
        DL_APPEND(waiter->watch->waiters, waiter);
    }
    return waiter->watch != NULL;
}

void zkl_watch_table_add(zkl_watch_table *table, const char *path, zkl_watch_waiter *waiter) {
    if (!add(table, path, ZKL_WATCH_NODE, waiter)) {
        waiter->listener->armed(waiter->arg, ZKL_OUTCOME_NOT_NOW, ZKL_OK);
    } else if (waiter->watch->state == WATCH_ARMED) {
        waiter->listener->armed(waiter->arg, ZKL_OUTCOME_OK, ZKL_OK);
    }
}

static void on_children(void *arg, const zkl_list_answer *answer) {
    zkl_children_waiter *self = arg;
    if (answer->outcome != ZKL_OUTCOME_OK) {
        zkl_watch_table_remove(&self->waiter);
    }
    self->waiter.listener->listed(self->waiter.arg, answer);
}

static const zkl_list_listener children_listener = { .listed = on_children };

/* The list is no older than the watch, and was sent after the waiter's reason to look. While an
 * event is told that reason is the event, for all waiters that are told of it: the first of them
 * sets the watch again, and the others share its list. (A list that was under way before the event
 * does not serve them.) */
void zkl_watch_table_add_children(zkl_watch_table *table, const char *path,
                                  zkl_children_waiter *self) {
    uint64_t after = table->telling ? table->event_mark : zkl_listings_mark(table->listings);
    bool is_added = add(table, path, ZKL_WATCH_CHILDREN, &self->waiter);
    if (is_added && self->waiter.watch->list[0].after > after) {
        after = self->waiter.watch->list[0].after;
    }
    self->list = (zkl_list_waiter){ .arg = self, .listener = &children_listener, .after = after };
    if (!is_added || zkl_listings_ask(table->listings, path, &self->list) != ZKL_OUTCOME_OK) {
        on_children(self, &(zkl_list_answer){ .outcome = ZKL_OUTCOME_NOT_NOW });
    }
}

int32_t zkl_watch_table_data_version(const zkl_watch_waiter *waiter) {
    return waiter->watch != NULL ? waiter->watch->data_version : 0;
}

void zkl_watch_table_remove(zkl_watch_waiter *waiter) {
    zkl_watch *watch = waiter->watch;
    if (watch == NULL) {
        return;
    }
    leave(waiter);
    DL_DELETE(watch->waiters, waiter);
    if (watch->waiters == NULL && watch->state == WATCH_ARMED) {
        send_removal(watch);
    }
}

/* ---- What the session tells ------------------------------------------------------------- */

static void tell_fired(zkl_watch_table *table, zkl_watch_waiter *waiters, zkl_watch_event event) {
    table->event_mark = zkl_listings_mark(table->listings);
    table->telling = true;
    for (zkl_watch_waiter *waiter = waiters, *next; waiter != NULL; waiter = next) {
        next = waiter->next;
        waiter->listener->fired(waiter->arg, event);
    }
    table->telling = false;
}

/* News of the session come in order: what fires before it is armed is older than the reply that is
 * awaited, which shows what has happened. */
void zkl_watch_table_fired(zkl_watch_table *table, uint64_t watch_id, zkl_watch_event event) {
    zkl_watch *watch = NULL;
    LL_SEARCH_SCALAR(*bucket_of(table, watch_id), watch, id, watch_id);
    if (watch == NULL || watch->state != WATCH_ARMED) {
        return;
    }
    zkl_watch_waiter *waiters = detach_all(watch);
    if (watch->under_way != NULL) { /* an exists, which leaves another */
        send_removal(watch);
    } else {
        forget_and_free(watch);
    }
    tell_fired(table, waiters, event);
}

/* ---- Another connection ------------------------------------------------------------------ */

/* What the waiters know may be out of date: they look. The event grants nothing. */
static void give_up(zkl_watch *watch) {
    zkl_watch_waiter *waiters = detach_all(watch);
    send_removal(watch);
    tell_fired(watch->table, waiters, ZKL_WATCH_EVENT_CREATED);
}

static void on_seen_again(void *arg, const zkl_reply *reply) {
    zkl_watch *watch = arg;
    bool is_known = reply->outcome != ZKL_OUTCOME_UNKNOWN &&
                    reply->outcome != ZKL_OUTCOME_NOT_NOW &&
                    reply->outcome != ZKL_OUTCOME_SESSION_OVER;
    watch->is_doubtful = !is_known;
    if (is_known && (reply->outcome != ZKL_OUTCOME_OK || reply->version != watch->data_version)) {
        give_up(watch);
    }
}

/* libzookeeper sets its watches again, but the servers drop the events of one that may not be read
 * any more, silently; only an exists is refused. And a new handle has no watches. */
static void look_again(zkl_watch *watch) {
    if (watch->kind == ZKL_WATCH_CHILDREN) {
        give_up(watch);
    } else if (watch->under_way == NULL) {
        (void)send_exists(watch, on_seen_again);
    }
}

void zkl_watch_table_review(zkl_watch_table *table, bool is_new_connection) {
    for (zkl_watch *watch = find_next(table, NULL), *next; watch != NULL; watch = next) {
        next = find_next(table, watch);
        watch->is_doubtful = watch->is_doubtful || is_new_connection;
        if (watch->state == WATCH_REMOVING && watch->under_way == NULL) {
            send_removal(watch);
        } else if (watch->state == WATCH_ARMED && watch->is_doubtful) {
            look_again(watch);
        }
    }
}

void zkl_watch_table_clear(zkl_watch_table *table) {
    for (zkl_watch *watch = find_next(table, NULL), *next; watch != NULL; watch = next) {
        next = find_next(table, watch);
        bool armed = watch->state == WATCH_ARMED;
        zkl_watch_waiter *waiters = detach_all(watch);
        forget_and_free(watch);
        if (!armed) {
            tell_armed(waiters, ZKL_OUTCOME_SESSION_OVER, ZKL_OK);
        }
    }
}
