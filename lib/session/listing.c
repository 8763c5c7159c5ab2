#include "session/listing.h"

#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>
#include <utlist.h>

/* There is one for each path with a list under way, or just answered. */
struct zkl_listing {
    zkl_listings *listings;
    zkl_list_waiter *served; /* by the list under way */
    zkl_list_waiter *later;  /* by the one after it */
    bool under_way;
    bool answering;  /* its waiters are being told */
    uint64_t number; /* of the list under way */
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

static void free_if_idle(zkl_listing *listing) {
    if (!listing->under_way && !listing->answering) {
        HASH_DELETE(hh, listing->listings->by_path, listing);
        free(listing);
    }
}

static void on_listed(void *arg, const zkl_reply *reply);

static bool one_must_settle(const zkl_list_waiter *waiters) {
    for (const zkl_list_waiter *waiter = waiters; waiter != NULL; waiter = waiter->next) {
        if (waiter->must_settle != NULL && waiter->must_settle(waiter->arg)) {
            return true;
        }
    }
    return false;
}

/* A path has one watch on its children, and so one waiter who brings it. */
static uint64_t find_watch(const zkl_list_waiter *waiters) {
    for (const zkl_list_waiter *waiter = waiters; waiter != NULL; waiter = waiter->next) {
        if (waiter->watch_id != 0) {
            return waiter->watch_id;
        }
    }
    return 0;
}

/* For all who wait for the next one. */
static zkl_outcome send(zkl_listing *listing) {
    zkl_listings *listings = listing->listings;
    zkl_outcome outcome =
        one_must_settle(listing->later) ? listings->settle(listings->arg) : ZKL_OUTCOME_OK;
    if (outcome != ZKL_OUTCOME_OK) {
        return outcome;
    }
    const zkl_operation list = { .kind = ZKL_OPERATION_LIST_CHILDREN,
                                 .path = listing->path,
                                 .watch_id = find_watch(listing->later) };
    outcome = zkl_send(listings->sender, &list, on_listed, listing);
    if (outcome == ZKL_OUTCOME_OK) {
        listing->under_way = true;
        listing->number = ++listings->sent;
        listing->served = listing->later;
        listing->later = NULL;
    }
    return outcome;
}

/* ---- Its answer ------------------------------------------------------------ */

/* A waiter may be gone when it has been told. */
static void tell(zkl_list_waiter *waiters, const zkl_list_answer *answer) {
    while (waiters != NULL) {
        zkl_list_waiter *waiter = waiters;
        DL_DELETE(waiters, waiter);
        waiter->listed(waiter->arg, answer);
    }
}

static zkl_list_waiter *take(zkl_list_waiter **waiters) {
    zkl_list_waiter *taken = *waiters;
    *waiters = NULL;
    return taken;
}

static void tell_children(zkl_listing *listing, zkl_outcome outcome, zkl_children children) {
    zkl_list_answer answer = { .outcome = outcome };
    zkl_neighbour *room = calloc(children.count > 0 ? children.count : 1, sizeof(*room));
    if (room != NULL) {
        answer.children = zkl_contenders_read(children, room);
    } else {
        answer.outcome = ZKL_OUTCOME_NOT_NOW;
    }
    tell(take(&listing->served), &answer);
    free(room);
}

static void tell_failure(zkl_listing *listing, zkl_outcome outcome, int status) {
    tell(take(&listing->served), &(zkl_list_answer){ .outcome = outcome, .status = status });
}

/* What has ended with the connection or the session is over for all who wait: the next list must
 * not be sent on another one. */
static void tell_end(zkl_listing *listing, zkl_outcome outcome) {
    DL_CONCAT(listing->served, listing->later);
    listing->later = NULL;
    tell_failure(listing, outcome, ZKL_OK);
}

static void answer_all(zkl_listing *listing, const zkl_reply *reply) {
    if (reply->outcome == ZKL_OUTCOME_OK || reply->outcome == ZKL_OUTCOME_NO_NODE) {
        tell_children(listing, reply->outcome, reply->children);
    } else if (reply->outcome == ZKL_OUTCOME_UNKNOWN ||
               reply->outcome == ZKL_OUTCOME_SESSION_OVER) {
        tell_end(listing, reply->outcome);
    } else {
        tell_failure(listing, reply->outcome, reply->status);
    }
}

/* What is asked for while the answer is told, by those who are told of it above all, is one more
 * list for all of them. */
static void on_listed(void *arg, const zkl_reply *reply) {
    zkl_listing *listing = arg;
    listing->under_way = false;
    listing->answering = true;
    answer_all(listing, reply);
    while (listing->later != NULL && !listing->under_way) {
        zkl_outcome outcome = send(listing);
        if (outcome != ZKL_OUTCOME_OK) {
            tell_end(listing, outcome);
        }
    }
    listing->answering = false;
    free_if_idle(listing);
}

/* ---- Questions ------------------------------------------------------------- */

static bool serves(const zkl_listing *listing, const zkl_list_waiter *waiter) {
    return listing->under_way && listing->number > waiter->after && waiter->watch_id == 0;
}

zkl_outcome zkl_listings_ask(zkl_listings *listings, const char *path, zkl_list_waiter *waiter) {
    zkl_listing *listing = NULL;
    HASH_FIND(hh, listings->by_path, path, (unsigned)strlen(path), listing);
    if (listing == NULL) {
        listing = make(listings, path);
    }
    if (listing == NULL) {
        return ZKL_OUTCOME_NOT_NOW;
    }
    if (serves(listing, waiter)) {
        DL_APPEND(listing->served, waiter);
        return ZKL_OUTCOME_OK;
    }
    DL_APPEND(listing->later, waiter);
    if (listing->under_way || listing->answering) {
        return ZKL_OUTCOME_OK;
    }
    zkl_outcome outcome = send(listing);
    if (outcome != ZKL_OUTCOME_OK) {
        listing->later = NULL;
        free_if_idle(listing);
    }
    return outcome;
}
