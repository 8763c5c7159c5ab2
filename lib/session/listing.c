#include "session/listing.h"

#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>
#include <utlist.h>

/* One for each path with a list under way, or whose answer is being given to the waiters. */
struct zkl_listing {
    zkl_listings *listings;
    zkl_list_waiter *served; /* those that the list under way serves */
    zkl_list_waiter *later;  /* those that the next one will serve */
    uint64_t number; /* that of the list under way; 0: its answer is being given to the waiters */
    UT_hash_handle hh;
    char path[];
};

uint64_t zkl_listings_mark(const zkl_listings *listings) {
    return listings->sent;
}

/* ---- The list under way ---------------------------------------------------- */

static zkl_listing *make(zkl_listings *listings, const char *path) {
    size_t size = strlen(path) + 1;
    zkl_listing *listing = calloc(1, sizeof(*listing) + size);
    if (listing == NULL) {
        return NULL;
    }
    memcpy(listing->path, path, size);
    listing->listings = listings;
    HASH_ADD(hh, listings->by_path, path, (unsigned)(size - 1), listing);
    if (listing->hh.tbl == NULL) { /* uthash's sign of being out of memory */
        free(listing);
        return NULL;
    }
    return listing;
}

static void forget_and_free(zkl_listing *listing) {
    HASH_DELETE(hh, listing->listings->by_path, listing);
    free(listing);
}

/* ---- Waiters ----------------------------------------------------------------- */

static void join(zkl_list_waiter **queue, zkl_list_waiter *waiter) {
    DL_APPEND(*queue, waiter);
    waiter->queue = queue;
}

void zkl_listings_withdraw(zkl_list_waiter *waiter) {
    if (waiter->queue != NULL) {
        DL_DELETE(*waiter->queue, waiter);
        waiter->queue = NULL;
    }
}

/* Lets the list under way serve all waiters. */
static void serve_all(zkl_listing *listing) {
    for (zkl_list_waiter *waiter = listing->later; waiter != NULL; waiter = waiter->next) {
        waiter->queue = &listing->served;
    }
    DL_CONCAT(listing->served, listing->later);
    listing->later = NULL;
}

static bool one_must_settle(const zkl_list_waiter *waiters) {
    for (const zkl_list_waiter *waiter = waiters; waiter != NULL; waiter = waiter->next) {
        if (waiter->listener->must_settle != NULL && waiter->listener->must_settle(waiter->arg)) {
            return true;
        }
    }
    return false;
}

/* Returns the watch that the list is to leave. A path has one watch on its children, and so at most
 * one waiter brings it. */
static uint64_t find_watch(const zkl_list_waiter *waiters) {
    for (const zkl_list_waiter *waiter = waiters; waiter != NULL; waiter = waiter->next) {
        if (waiter->listener->watch_id != NULL) {
            return waiter->listener->watch_id(waiter->arg);
        }
    }
    return 0;
}

static void on_list_reply(void *arg, const zkl_reply *reply);

/* Sends the next list, for all waiters. */
static zkl_outcome send_list(zkl_listing *listing) {
    zkl_listings *listings = listing->listings;
    zkl_outcome outcome =
        one_must_settle(listing->later) ? zkl_liveness_settle(listings->liveness) : ZKL_OUTCOME_OK;
    if (outcome != ZKL_OUTCOME_OK) {
        return outcome;
    }
    const zkl_operation list = { .kind = ZKL_OPERATION_LIST_CHILDREN,
                                 .path = listing->path,
                                 .watch_id = find_watch(listing->later) };
    outcome = zkl_send(listings->sender, &list, on_list_reply, listing, NULL);
    if (outcome == ZKL_OUTCOME_OK) {
        listing->number = ++listings->sent;
        serve_all(listing);
    }
    return outcome;
}

/* ---- Its answer ------------------------------------------------------------ */

/* Gives the answer to those that the list serves. Each may be gone when it has it. The one that
 * brought a watch hears what the servers said, as they have set it then: whether there was memory
 * for the names, which it does not read, is nothing to it. */
static void answer_served(zkl_listing *listing, const zkl_list_answer *answer,
                          zkl_outcome of_watch) {
    zkl_list_waiter *waiter = NULL;
    while ((waiter = listing->served) != NULL) {
        zkl_list_answer its = *answer;
        its.outcome = waiter->listener->watch_id != NULL ? of_watch : answer->outcome;
        zkl_listings_withdraw(waiter);
        waiter->listener->listed(waiter->arg, &its);
    }
}

static void answer_all(zkl_listing *listing, const zkl_reply *reply) {
    zkl_list_answer answer = { .outcome = reply->outcome, .status = reply->status };
    zkl_neighbour *room = calloc(reply->children.count + 1, sizeof(*room));
    if (room != NULL) {
        answer.children = zkl_contenders_read(reply->children, room);
    } else if (reply->outcome == ZKL_OUTCOME_OK) {
        answer.outcome = ZKL_OUTCOME_NOT_NOW;
    }
    answer_served(listing, &answer, reply->outcome);
    free(room);
}

/* Tells whether the connection or the session has ended, for all waiters: the next list must not be
 * sent on another connection. */
static bool is_for_all(const zkl_reply *reply) {
    return reply->outcome == ZKL_OUTCOME_UNKNOWN || reply->outcome == ZKL_OUTCOME_SESSION_OVER;
}

/* Answers the waiters. Those that ask meanwhile, as waiters do that have just been answered, share
 * the next list. */
static void on_list_reply(void *arg, const zkl_reply *reply) {
    zkl_listing *listing = arg;
    listing->number = 0;
    if (is_for_all(reply)) {
        serve_all(listing);
    }
    answer_all(listing, reply);
    while (listing->later != NULL && listing->number == 0) {
        zkl_outcome outcome = send_list(listing);
        if (outcome != ZKL_OUTCOME_OK) {
            serve_all(listing);
            answer_all(listing, &(zkl_reply){ .outcome = outcome });
        }
    }
    if (listing->number == 0) {
        forget_and_free(listing);
    }
}

/* ---- Questions ------------------------------------------------------------- */

static bool serves(const zkl_listing *listing, const zkl_list_waiter *waiter) {
    return listing->number > waiter->after && waiter->listener->watch_id == NULL;
}

zkl_outcome zkl_listings_ask(zkl_listings *listings, const char *path, zkl_list_waiter *waiter) {
    zkl_listing *listing = NULL;
    HASH_FIND(hh, listings->by_path, path, (unsigned)strlen(path), listing);
    if (listing != NULL) {
        join(serves(listing, waiter) ? &listing->served : &listing->later, waiter);
        return ZKL_OUTCOME_OK;
    }
    listing = make(listings, path);
    if (listing == NULL) {
        return ZKL_OUTCOME_NOT_NOW;
    }
    join(&listing->later, waiter);
    zkl_outcome outcome = send_list(listing);
    if (outcome != ZKL_OUTCOME_OK) {
        waiter->queue = NULL; /* nobody else is in that queue */
        forget_and_free(listing);
    }
    return outcome;
}
