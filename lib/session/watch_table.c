#include "session/watch_table.h"

#include <stdlib.h>
#include <string.h>

#include <uthash.h>
#include <utlist.h>

typedef enum watch_state {
    WATCH_NEW,     /* nothing was asked for */
    WATCH_ARMING,  /* the exists, or the list, is on its way */
    WATCH_ARMED,   /* will fire: the servers have said so on this connection */
    WATCH_REMOVING /* the removal is on its way, or lost and to be sent again */
} watch_state;

/* There are as many watches as locks that are held or waited for: so a watch is small. */
struct zkl_watch {
    zkl_watch_table *table;
    uint64_t id;
    zkl_sent *under_way; /* the exists, or the removal; NULL: none is */
    zkl_watch_waiter *waiters;
    zkl_watch *next;            /* in its bucket */
    uint32_t zxid_low;          /* half of the node's czxid, as the exists said, which is enough */
    unsigned data_version : 16; /* of the node, as the exists said, or UINT16_MAX */
    zkl_watch_kind kind : 4;
    watch_state state : 4;
    /* it had been asked for before: a server may have it, whatever the answer */
    bool may_stand : 1;
    bool is_forgotten : 1; /* libzookeeper has forgotten it since it was asked for */
    bool is_ours : 1;      /* our session owns the node */
    /* the waiter for the list, if the watch is on children. Behind it: the path */
    zkl_list_waiter list[];
};

/* Counts the length too, which travels with the path. */
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

/* Returns the watch after this one in the whole table; after NULL the first. */
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

/* Returns the waiter for news of children that it is. NULL: it waits for news of a node. */
static zkl_children_waiter *of_children(zkl_watch_waiter *waiter) {
    return waiter->listener->listed != NULL ? (zkl_children_waiter *)waiter : NULL;
}

static void leave_watch(zkl_watch_waiter *waiter) {
    waiter->watch = NULL;
    if (of_children(waiter) != NULL) {
        zkl_listings_withdraw(&of_children(waiter)->list);
    }
}

/* Takes waiters off before they are told anything: what they do next may add them again. */
static zkl_watch_waiter *detach_waiters(zkl_watch *watch, bool only_heard) {
    zkl_watch_waiter *detached = NULL;
    zkl_watch_waiter **end = &detached;
    zkl_watch_waiter **link = &watch->waiters;
    while (*link != NULL) {
        zkl_watch_waiter *waiter = *link;
        if (waiter->heard_armed || !only_heard) {
            *link = waiter->next;
            *end = waiter;
            end = &waiter->next;
            leave_watch(waiter);
        } else {
            link = &waiter->next;
        }
    }
    *end = NULL;
    return detached;
}

static zkl_watch_waiter *detach_all(zkl_watch *watch) {
    return detach_waiters(watch, false);
}

/* Tells a waiter whether its watch is armed. One that had heard so before looks instead: the event
 * grants nothing. */
static void tell_waiter(zkl_watch_waiter *waiter, zkl_outcome outcome, int status) {
    const zkl_watch_listener *listener = waiter->listener;
    bool had_heard = waiter->heard_armed;
    waiter->heard_armed = outcome == ZKL_OUTCOME_OK;
    if (listener->listed != NULL) {
        listener->listed(waiter->arg, &(zkl_list_answer){ .outcome = outcome, .status = status });
    } else if (had_heard) {
        listener->fired(waiter->arg, ZKL_WATCH_EVENT_CREATED);
    } else {
        listener->armed(waiter->arg, outcome, status);
    }
}

static void tell_all(zkl_watch_waiter *waiters, zkl_outcome outcome, int status) {
    for (zkl_watch_waiter *waiter = waiters, *next; waiter != NULL; waiter = next) {
        next = waiter->next;
        tell_waiter(waiter, outcome, status);
    }
}

static void tell_newcomers(const zkl_watch *watch) {
    for (zkl_watch_waiter *waiter = watch->waiters, *next; waiter != NULL; waiter = next) {
        next = waiter->next;
        if (!waiter->heard_armed) {
            tell_waiter(waiter, ZKL_OUTCOME_OK, ZKL_OK);
        }
    }
}

/* ---- Requests ------------------------------------------------------------------------ */

static void send_removal(zkl_watch *watch);

/* Forgets the watch, or has libzookeeper forget it first. Where the server has none, as it has
 * dropped its event or was never asked to set it again, libzookeeper keeps its own part
 * (lz-own-part), and would set it again on each new connection. Nobody has asked for the path
 * since, so no newer watch goes with it. It may just have been set on a connection that we have not
 * heard of: that one is removed then. What was turned away or lost stays, to be sent again. */
static void on_removed(void *arg, const zkl_reply *reply) {
    zkl_watch *watch = arg;
    zkl_operations *operations = watch->table->sender->operations;
    bool is_none = reply->outcome == ZKL_OUTCOME_NO_NODE;
    if (is_none && !watch->is_forgotten) {
        watch->is_forgotten = true;
        operations->table->forget_watches(operations, path_of(watch), watch->kind);
        send_removal(watch);
    } else if (is_none || reply->outcome == ZKL_OUTCOME_OK ||
               reply->outcome == ZKL_OUTCOME_REFUSED) {
        forget_and_free(watch);
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

/* Takes the answer to what should arm the watch. Nobody may wait any more. Where it was armed on
 * another connection it stands now, or those who had heard so look, as they do where the node has
 * changed meanwhile. */
static void conclude(zkl_watch *watch, zkl_outcome outcome, int status, bool has_changed) {
    bool stands = outcome == ZKL_OUTCOME_OK;
    bool is_left = stands || outcome == ZKL_OUTCOME_NO_NODE;
    zkl_watch_waiter *off = stands && !has_changed ? NULL : detach_waiters(watch, stands);
    if (watch->waiters != NULL) {
        watch->state = WATCH_ARMED;
        if (watch->kind == ZKL_WATCH_NODE) {
            tell_newcomers(watch);
        }
    } else if (is_left || watch->may_stand) {
        send_removal(watch);
    } else {
        forget_and_free(watch);
    }
    tell_all(off, outcome, status);
}

static unsigned version_of(const zkl_reply *reply) {
    return reply->version < UINT16_MAX ? (unsigned)reply->version : UINT16_MAX;
}

static void on_exists(void *arg, const zkl_reply *reply) {
    zkl_watch *watch = arg;
    uint32_t zxid_low = (uint32_t)reply->zxid;
    unsigned version = version_of(reply);
    bool has_changed = zxid_low != watch->zxid_low || version != watch->data_version;
    watch->zxid_low = zxid_low;
    watch->is_ours = reply->ephemeral_owner == watch->table->sender->session_id;
    watch->data_version = version & UINT16_MAX;
    conclude(watch, reply->outcome, reply->status, has_changed);
}

static void on_arming_list(void *arg, const zkl_list_answer *answer) {
    conclude(arg, answer->outcome, answer->status, false);
}

static uint64_t id_of(const void *arg) {
    return ((const zkl_watch *)arg)->id;
}

static const zkl_list_listener list_listener = { .listed = on_arming_list, .watch_id = id_of };

static zkl_outcome ask_to_watch(zkl_watch *watch) {
    if (watch->kind == ZKL_WATCH_CHILDREN) {
        watch->list[0] = (zkl_list_waiter){ .arg = watch,
                                            .listener = &list_listener,
                                            .after = zkl_listings_mark(watch->table->listings) };
        return zkl_listings_ask(watch->table->listings, path_of(watch), watch->list);
    }
    const zkl_operation exists = { .kind = ZKL_OPERATION_WATCH,
                                   .path = path_of(watch),
                                   .watch_id = watch->id };
    return zkl_send(watch->table->sender, &exists, on_exists, watch, &watch->under_way);
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

/* Asks for the watch. A removal that is under way arrives before what is asked for now, and so does
 * not touch that. */
static bool arm(zkl_watch *watch) {
    watch->may_stand = watch->state != WATCH_NEW;
    zkl_sent_forget(&watch->under_way);
    if (ask_to_watch(watch) == ZKL_OUTCOME_OK) {
        watch->is_forgotten = false;
        watch->state = WATCH_ARMING;
        return true;
    }
    if (!watch->may_stand) {
        forget_and_free(watch);
    }
    return false;
}

/* Returns the watch for a path. NULL: out of memory, or it cannot be sent. */
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

static bool add_waiter(zkl_watch_table *table, const char *path, zkl_watch_kind kind,
                       zkl_watch_waiter *waiter) {
    waiter->watch = find_or_arm(table, path, kind);
    if (waiter->watch != NULL) {
        LL_APPEND(waiter->watch->waiters, waiter);
    }
    return waiter->watch != NULL;
}

void zkl_watch_table_add(zkl_watch_table *table, const char *path, zkl_watch_waiter *waiter) {
    if (waiter->watch != NULL && strcmp(path_of(waiter->watch), path) != 0) {
        zkl_watch_table_remove(waiter);
    }
    waiter->heard_armed = false;
    if (waiter->watch == NULL && !add_waiter(table, path, ZKL_WATCH_NODE, waiter)) {
        tell_waiter(waiter, ZKL_OUTCOME_NOT_NOW, ZKL_OK);
    } else if (waiter->watch->state == WATCH_ARMED) {
        tell_waiter(waiter, ZKL_OUTCOME_OK, ZKL_OK);
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

/* Asks for a list that is no older than the watch, and was sent after the waiter's reason to look.
 * While an event is reported that reason is the event, for all waiters that hear of it: the first
 * of them sets the watch again, and the others share its list. (A list that was under way before
 * the event does not serve them.) */
void zkl_watch_table_add_children(zkl_watch_table *table, const char *path,
                                  zkl_children_waiter *self) {
    uint64_t after =
        table->reporting_event ? table->event_mark : zkl_listings_mark(table->listings);
    bool is_added = add_waiter(table, path, ZKL_WATCH_CHILDREN, &self->waiter);
    if (is_added && self->waiter.watch->list[0].after > after) {
        after = self->waiter.watch->list[0].after;
    }
    self->list = (zkl_list_waiter){ .arg = self, .listener = &children_listener, .after = after };
    if (!is_added || zkl_listings_ask(table->listings, path, &self->list) != ZKL_OUTCOME_OK) {
        on_children(self, &(zkl_list_answer){ .outcome = ZKL_OUTCOME_NOT_NOW });
    }
}

zkl_watched_node zkl_watch_table_node(const zkl_watch_waiter *waiter) {
    const zkl_watch *watch = waiter->watch;
    zkl_watched_node node = { .zxid_low = 0 };
    if (watch != NULL) {
        node.zxid_low = watch->zxid_low;
        node.own_session = watch->is_ours;
        node.data_version = watch->data_version;
    }
    return node;
}

void zkl_watch_table_remove(zkl_watch_waiter *waiter) {
    zkl_watch *watch = waiter->watch;
    if (watch == NULL) {
        return;
    }
    leave_watch(waiter);
    LL_DELETE(watch->waiters, waiter);
    if (watch->waiters == NULL && watch->state == WATCH_ARMED) {
        send_removal(watch);
    }
}

/* ---- What the session tells ------------------------------------------------------------- */

static void tell_fired(zkl_watch_table *table, zkl_watch_waiter *waiters, zkl_watch_event event) {
    table->event_mark = zkl_listings_mark(table->listings);
    table->reporting_event = true;
    for (zkl_watch_waiter *waiter = waiters, *next; waiter != NULL; waiter = next) {
        next = waiter->next;
        waiter->listener->fired(waiter->arg, event);
    }
    table->reporting_event = false;
}

/* Ignores what fires before it is armed: news of the session come in order, so that is older than
 * the reply that is awaited, which shows what has happened. */
void zkl_watch_table_fired(zkl_watch_table *table, uint64_t watch_id, zkl_watch_event event) {
    zkl_watch *watch = NULL;
    LL_SEARCH_SCALAR(*bucket_of(table, watch_id), watch, id, watch_id);
    if (watch == NULL || watch->state != WATCH_ARMED) {
        if (watch != NULL && watch->state == WATCH_REMOVING) {
            watch->is_forgotten = true;
        }
        return;
    }
    zkl_watch_waiter *waiters = detach_all(watch);
    forget_and_free(watch);
    tell_fired(table, waiters, event);
}

/* ---- Another connection ------------------------------------------------------------------ */

/* Asks for a watch again. libzookeeper sets its watches again, but nobody says whether it did
 * (lz-set-watches): a server may turn that away as any request; it drops the events of a node
 * that may not be read any more; and a new handle has no watches. What fires before the answer
 * is in it. */
static void arm_again(zkl_watch *watch) {
    if (watch->kind == ZKL_WATCH_CHILDREN) {
        zkl_watch_waiter *waiters = detach_all(watch);
        send_removal(watch);
        tell_fired(watch->table, waiters, ZKL_WATCH_EVENT_CREATED);
    } else if (!arm(watch)) {
        conclude(watch, ZKL_OUTCOME_NOT_NOW, ZKL_OK, false);
    }
}

static void review(zkl_watch_table *table, zkl_watch_kind kind, bool is_new_connection) {
    for (zkl_watch *watch = find_next(table, NULL), *next; watch != NULL; watch = next) {
        next = find_next(table, watch);
        if (watch->kind != kind) {
            continue;
        }
        if (watch->state == WATCH_REMOVING && watch->under_way == NULL) {
            send_removal(watch);
        } else if (watch->state == WATCH_ARMED && is_new_connection) {
            arm_again(watch);
        }
    }
}

/* Reviews nodes first: a list that tells a holder who is behind it comes after the watch on its
 * own. */
void zkl_watch_table_review(zkl_watch_table *table, bool is_new_connection) {
    review(table, ZKL_WATCH_NODE, is_new_connection);
    review(table, ZKL_WATCH_CHILDREN, is_new_connection);
}

void zkl_watch_table_clear(zkl_watch_table *table) {
    for (zkl_watch *watch = find_next(table, NULL), *next; watch != NULL; watch = next) {
        next = find_next(table, watch);
        bool armed = watch->state == WATCH_ARMED;
        (void)detach_waiters(watch, true);
        zkl_watch_waiter *waiters = detach_all(watch);
        forget_and_free(watch);
        if (!armed) {
            tell_all(waiters, ZKL_OUTCOME_SESSION_OVER, ZKL_OK);
        }
    }
}
