#include "session/watch_table.h"

#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>
#include <utlist.h>

typedef enum watch_state {
    WATCH_ARMING,   /* the exists, or the list, is on its way */
    WATCH_ARMED,    /* will fire */
    WATCH_REMOVING, /* the removal is on its way, or lost and to be sent again */
    WATCH_DEAD      /* the session is over; waits for a last reply to be freed */
} watch_state;

struct zkl_watch {
    zkl_watch_table *table;
    uint64_t id;
    zkl_watch_kind kind;
    watch_state state;
    bool reply_awaited;
    bool fired_early; /* before its exists, or its list, was answered */
    bool deleted_early;
    bool list_again;   /* somebody has come since the list was asked for, */
    uint64_t asked_in; /* as an event was told; 0: at another time */
    zkl_list_waiter list;
    int32_t data_version; /* of the node, as the exists said */
    zkl_watch_waiter *waiters;
    UT_hash_handle path_handle;
    UT_hash_handle id_handle;
    char path[];
};

void zkl_watch_table_begin(zkl_watch_table *table, zkl_sender *sender, zkl_listings *listings) {
    *table = (zkl_watch_table){ .sender = sender, .listings = listings };
}

/* Its length travels with it. */
size_t zkl_watch_path_bytes(size_t length) {
    return sizeof(int32_t) + length;
}

size_t zkl_watch_table_count(const zkl_watch_table *table) {
    return HASH_CNT(id_handle, table->by_id);
}

static void forget(zkl_watch *watch) {
    HASH_DELETE(path_handle, watch->table->by_path[watch->kind], watch);
    HASH_DELETE(id_handle, watch->table->by_id, watch);
}

static void forget_and_free(zkl_watch *watch) {
    forget(watch);
    free(watch);
}

/* Takes the waiters off first: what they do next may add them again. */
static zkl_watch_waiter *detach_all(zkl_watch *watch) {
    zkl_watch_waiter *waiters = watch->waiters;
    watch->waiters = NULL;
    for (zkl_watch_waiter *waiter = waiters; waiter != NULL; waiter = waiter->next) {
        waiter->watch = NULL;
    }
    return waiters;
}

static void tell_armed(zkl_watch_waiter *waiters, zkl_outcome outcome, int status) {
    while (waiters != NULL) {
        zkl_watch_waiter *next = waiters->next;
        waiters->armed(waiters->arg, outcome, status);
        waiters = next;
    }
}

static void on_removed(void *arg, const zkl_reply *reply);
static void on_exists(void *arg, const zkl_reply *reply);
static void on_listed(void *arg, const zkl_list_answer *answer);

static void send_removal(zkl_watch *watch) {
    const zkl_operation removal = { .kind = ZKL_OPERATION_REMOVE_WATCHES,
                                    .path = watch->path,
                                    .watch_kind = watch->kind };
    watch->state = WATCH_REMOVING;
    watch->reply_awaited =
        zkl_send(watch->table->sender, &removal, on_removed, watch) == ZKL_OUTCOME_OK;
}

static zkl_outcome ask(zkl_watch *watch) {
    if (watch->kind == ZKL_WATCH_CHILDREN) {
        watch->list = (zkl_list_waiter){ .arg = watch, .listed = on_listed, .watch_id = watch->id };
        return zkl_listings_ask(watch->table->listings, watch->path, &watch->list);
    }
    const zkl_operation exists = { .kind = ZKL_OPERATION_WATCH,
                                   .path = watch->path,
                                   .watch_id = watch->id };
    return zkl_send(watch->table->sender, &exists, on_exists, watch);
}

static bool send_request(zkl_watch *watch) {
    watch->state = WATCH_ARMING;
    watch->fired_early = false;
    watch->list_again = false;
    watch->asked_in = watch->table->telling ? watch->table->events : 0;
    watch->reply_awaited = ask(watch) == ZKL_OUTCOME_OK;
    return watch->reply_awaited;
}

static bool free_if_dead(zkl_watch *watch) {
    watch->reply_awaited = false;
    if (watch->state == WATCH_DEAD) {
        free(watch);
        return true;
    }
    return false;
}

/* Somebody may have come for the path while its old watch was being removed. */
static void on_removed(void *arg, const zkl_reply *reply) {
    zkl_watch *watch = arg;
    if (free_if_dead(watch)) {
        return;
    }
    if (reply->outcome != ZKL_OUTCOME_OK && reply->outcome != ZKL_OUTCOME_REFUSED) {
        zkl_watch_waiter *waiters = detach_all(watch); /* stays, to be removed again */
        tell_armed(waiters, reply->outcome, reply->status);
    } else if (watch->waiters == NULL) {
        forget_and_free(watch);
    } else if (!send_request(watch)) {
        zkl_watch_waiter *waiters = detach_all(watch);
        forget_and_free(watch);
        tell_armed(waiters, ZKL_OUTCOME_NOT_NOW, ZKL_OK);
    }
}

static void on_exists(void *arg, const zkl_reply *reply) {
    zkl_watch *watch = arg;
    if (free_if_dead(watch)) {
        return;
    }
    bool fired_early = watch->fired_early; /* the next exists forgets it */
    watch->data_version = reply->version;
    zkl_outcome outcome = fired_early ? ZKL_OUTCOME_NO_NODE : reply->outcome;
    if (fired_early && !watch->deleted_early && watch->waiters != NULL) {
        if (send_request(watch)) {
            return; /* it fired, but the node may still be there */
        }
        outcome = ZKL_OUTCOME_NOT_NOW; /* no watch is left, whatever the reply says */
    }
    if (outcome == ZKL_OUTCOME_OK && watch->waiters != NULL) {
        watch->state = WATCH_ARMED;
        for (zkl_watch_waiter *waiter = watch->waiters, *next; waiter != NULL; waiter = next) {
            next = waiter->next;
            waiter->armed(waiter->arg, ZKL_OUTCOME_OK, ZKL_OK);
        }
        return;
    }
    zkl_watch_waiter *waiters = detach_all(watch);
    if (fired_early || outcome == ZKL_OUTCOME_OK || outcome == ZKL_OUTCOME_NO_NODE) {
        send_removal(watch);
    } else {
        forget_and_free(watch);
    }
    tell_armed(waiters, outcome, fired_early ? ZKL_OK : reply->status);
}

static void hand_list_over(const zkl_watch *watch, zkl_listed children) {
    for (zkl_watch_waiter *waiter = watch->waiters, *next; waiter != NULL; waiter = next) {
        next = waiter->next;
        waiter->listed(waiter->arg, children); /* who may leave */
    }
}

/* After a failure the watch may be there all the same, from a list before. */
static void on_listed(void *arg, const zkl_list_answer *answer) {
    zkl_watch *watch = arg;
    if (free_if_dead(watch)) {
        return;
    }
    zkl_outcome outcome = answer->outcome;
    if (outcome == ZKL_OUTCOME_OK) {
        hand_list_over(watch, answer->children);
        bool is_old = watch->fired_early || watch->list_again;
        if (watch->waiters != NULL && !is_old) {
            watch->state = WATCH_ARMED;
            return;
        }
        if (watch->waiters != NULL && send_request(watch)) {
            return;
        }
        outcome = ZKL_OUTCOME_NOT_NOW;
    }
    zkl_watch_waiter *waiters = detach_all(watch);
    send_removal(watch);
    tell_armed(waiters, outcome, answer->status);
}

static zkl_watch *make_watch(zkl_watch_table *table, const char *path, zkl_watch_kind kind) {
    size_t size = strlen(path) + 1;
    zkl_watch *watch = calloc(1, sizeof(*watch) + size);
    if (watch == NULL) {
        return NULL;
    }
    memcpy(watch->path, path, size);
    watch->table = table;
    watch->kind = kind;
    watch->id = ++table->last_id;
    HASH_ADD(path_handle, table->by_path[kind], path, (unsigned)(size - 1), watch);
    if (watch->path_handle.tbl == NULL) { /* uthash's sign of being out of memory */
        free(watch);
        return NULL;
    }
    HASH_ADD(id_handle, table->by_id, id, sizeof(watch->id), watch);
    if (watch->id_handle.tbl == NULL) {
        HASH_DELETE(path_handle, table->by_path[kind], watch);
        free(watch);
        return NULL;
    }
    return watch;
}

static zkl_watch *find_by_path(zkl_watch_table *table, const char *path, zkl_watch_kind kind) {
    zkl_watch *watch = NULL;
    HASH_FIND(path_handle, table->by_path[kind], path, (unsigned)strlen(path), watch);
    return watch;
}

static zkl_watch *make_and_send(zkl_watch_table *table, const char *path, zkl_watch_kind kind) {
    zkl_watch *watch = make_watch(table, path, kind);
    if (watch != NULL && !send_request(watch)) {
        forget_and_free(watch);
        return NULL;
    }
    return watch;
}

/* A removal that was lost comes first. */
static bool can_be_joined(zkl_watch *watch) {
    if (watch->state == WATCH_REMOVING && !watch->reply_awaited) {
        send_removal(watch);
    }
    return watch->state != WATCH_REMOVING || watch->reply_awaited;
}

static void wait_for(zkl_watch *watch, zkl_watch_waiter *waiter) {
    waiter->watch = watch;
    DL_APPEND(watch->waiters, waiter);
}

zkl_watch_added zkl_watch_table_add(zkl_watch_table *table, const char *path,
                                    zkl_watch_waiter *waiter) {
    zkl_watch *watch = find_by_path(table, path, ZKL_WATCH_NODE);
    if (watch == NULL) {
        watch = make_and_send(table, path, ZKL_WATCH_NODE);
    } else if (!can_be_joined(watch)) {
        return ZKL_WATCH_NOT_SENT;
    }
    if (watch == NULL) {
        return ZKL_WATCH_NOT_SENT;
    }
    wait_for(watch, waiter);
    return watch->state == WATCH_ARMED ? ZKL_WATCH_ARMED : ZKL_WATCH_ARMING;
}

/* All who are told of one event may ask for a list: it is one for all of them. */
static bool is_asked_for_just_now(const zkl_watch *watch) {
    return watch->table->telling && watch->asked_in == watch->table->events;
}

/* Whether a list will come that is not older than this call. */
static bool list_anew(zkl_watch *watch) {
    if (watch->state == WATCH_ARMING) {
        watch->list_again = watch->list_again || !is_asked_for_just_now(watch);
        return true;
    }
    if (watch->state == WATCH_ARMED && !send_request(watch)) {
        watch->state = WATCH_ARMED; /* as it was */
        return false;
    }
    return can_be_joined(watch);
}

zkl_watch_added zkl_watch_table_add_children(zkl_watch_table *table, const char *path,
                                             zkl_watch_waiter *waiter) {
    zkl_watch *watch = find_by_path(table, path, ZKL_WATCH_CHILDREN);
    if (watch == NULL) {
        watch = make_and_send(table, path, ZKL_WATCH_CHILDREN);
    } else if (!list_anew(watch)) {
        return ZKL_WATCH_NOT_SENT;
    }
    if (watch == NULL) {
        return ZKL_WATCH_NOT_SENT;
    }
    wait_for(watch, waiter);
    return ZKL_WATCH_ARMING;
}

int32_t zkl_watch_table_data_version(const zkl_watch_waiter *waiter) {
    return waiter->watch != NULL ? waiter->watch->data_version : 0;
}

void zkl_watch_table_remove(zkl_watch_waiter *waiter) {
    zkl_watch *watch = waiter->watch;
    if (watch == NULL) {
        return;
    }
    waiter->watch = NULL;
    DL_DELETE(watch->waiters, waiter);
    if (watch->waiters == NULL && watch->state == WATCH_ARMED) {
        send_removal(watch);
    }
}

const char *zkl_watch_table_path(const zkl_watch_waiter *waiter) {
    return waiter->watch != NULL ? waiter->watch->path : NULL;
}

void zkl_watch_table_fired(zkl_watch_table *table, uint64_t watch_id, bool deleted) {
    zkl_watch *watch = NULL;
    HASH_FIND(id_handle, table->by_id, &watch_id, sizeof(watch_id), watch);
    if (watch == NULL) {
        return;
    }
    if (watch->state == WATCH_ARMING) {
        watch->fired_early = true;
        watch->deleted_early = deleted;
        return;
    }
    if (watch->state == WATCH_REMOVING) {
        return; /* nobody waits for this one any more; its removal will be answered */
    }
    zkl_watch_waiter *waiters = detach_all(watch);
    forget_and_free(watch);
    table->events++;
    table->telling = true;
    while (waiters != NULL) {
        zkl_watch_waiter *next = waiters->next;
        waiters->fired(waiters->arg, deleted);
        waiters = next;
    }
    table->telling = false;
}

void zkl_watch_table_remove_again(zkl_watch_table *table) {
    for (zkl_watch *watch = table->by_id, *next; watch != NULL; watch = next) {
        next = watch->id_handle.next;
        if (watch->state == WATCH_REMOVING && !watch->reply_awaited) {
            send_removal(watch);
        }
    }
}

void zkl_watch_table_clear(zkl_watch_table *table) {
    for (zkl_watch *watch = table->by_id, *next; watch != NULL; watch = next) {
        next = watch->id_handle.next;
        bool armed = watch->state == WATCH_ARMED;
        zkl_watch_waiter *waiters = detach_all(watch);
        forget(watch);
        watch->state = WATCH_DEAD;
        if (!watch->reply_awaited) {
            free(watch);
        }
        if (!armed) {
            tell_armed(waiters, ZKL_OUTCOME_SESSION_OVER, ZKL_OK);
        }
    }
}
