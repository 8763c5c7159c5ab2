/*
 * How an order is served, and where zklock comes in:
 *
 * 1. a worker prepares it: was its key used already? From which segments does it take? 2. it asks
 * for the locks of these segments, all or none, and waits without a thread; 3. when it is granted,
 * a worker claims the segments with the token, reads, decides, writes,
 *      and releases;
 * 4. if it is fenced off, as another holder has the lock by then, nothing was written, and it
 *      begins again with 2;
 * 5. if there is too little in its segments, it begins again with all segments of its products.
 *
 * The key of an order that was placed is used up: the same order with that key returns the first
 * one. A refused order leaves nothing: sent again with the same key it may be placed, for example
 * after a restock.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <zklock/striped_lock.h>

#include "store.h"
#include "workers.h"

enum {
    SHOP_PATH_SIZE = ZKL_ROOT_MAX + SKU_MAX + 32,
    SHOP_FENCED_OFF_MAX = 5 /* how often an order or an inquiry is fenced off before it fails */
};

typedef enum outcome {
    OUTCOME_PLACED,
    OUTCOME_REPEATED, /* it was placed before, with the same key */
    OUTCOME_OTHER,    /* the key was used for another order */
    OUTCOME_NO_PRODUCT,
    OUTCOME_TOO_WIDE, /* its products have more segments than a set of locks may have */
    OUTCOME_SOLD_OUT,
    OUTCOME_BUSY,        /* it was not granted in time */
    OUTCOME_UNAVAILABLE, /* no connection to the ensemble, or the shop closes */
    OUTCOME_FAILED       /* see the log */
} outcome;

typedef struct order order;

/** What an order asks for, and what became of it. */
struct order {
    job work; /* first */
    order_record record;
    order_line lines[LINES_MAX]; /* a restock has one, with negative units */
    size_t line_count;
    /* The steps that somebody has put in place of the shop's own; NULL: nobody has. They are run as
     * those of a job. */
    void (*ask)(job *work, database *connection);  /* in place of shop_ask */
    void (*sell)(job *work, database *connection); /* once the locks are granted */

    outcome outcome;
    char about[SKU_MAX + 1];   /* the product that does not exist, or of which too little is left */
    int fenced_off;            /* how often */
    int64_t refused_token;     /* the token of the last refused write */
    int64_t refused_by;        /* the fence that has refused it */
    void (*done)(order *self); /* called once, in any thread; it frees the order */
    void *arg;

    /* The shop's: */
    struct shop *shop;
    zkl_lock *lock;
    bool takes_all; /* it takes all segments of its products */
    part parts[PARTS_MAX];
    size_t part_count;
    int64_t asked_ms;
};

typedef struct shop {
    _Atomic(zkl_client *) client; /* NULL: the ensemble was not reached yet */
    _Atomic int64_t connected_ms; /* when the client was last seen connected */
    workers *workers;
    const char *instance;
    int64_t patience_ms;
    bool has_plain_locks; /* Curator sees exclusive locks only, so reads take such locks too */
    const char *url;      /* of this instance's page, as the pages of others find it */
    job pulse;
    atomic_bool is_pulsing;
    _Atomic int64_t pulsed_ms; /* when it last began to write to the database */
    _Atomic int64_t wrote_ms;  /* when the database was last written; 0: never, or it fails */
} shop;

/** Serves an order, which is the shop's until `done` is called. */
void shop_serve(shop *self, order *one);

/* For steps of your own: */

/** Asks for the locks of the order's parts; a worker sells when they are granted. */
void shop_ask(job *work, database *connection);
/** Claims and reads the order's parts. False: it is finished, or begins again. */
bool shop_claim(order *self, database *connection);
/** Decides from which parts, which were read, the order takes its units. False: too little is left,
 *  and it is finished, or begins again with all parts of its products. */
bool shop_decide(order *self, database *connection);
/** Writes the order, and finishes it; or it begins again, as it was fenced off. */
void shop_write(order *self, database *connection);
/** Finishes an order for which the database has failed. what: what was to be done. */
void shop_fail(order *self, const char *what, database *connection);

/** Returns "ok", "suspect" (no connection to the ensemble: locks may be lost) or "lost" (no
 *  session, or no connection for longer than a session lasts). Any thread may call it, and some
 *  thread must do so often: each call looks whether there is a connection. */
const char *shop_health(shop *self);

/** Writes to the database, unless that has happened within a second. One thread calls it often,
 *  once the workers are ready. */
void shop_look_at_database(shop *self);
/** Tells whether the database was written lately. Any thread may call it. */
bool shop_can_write(const shop *self);

/** Returns the outcome of an acquire that failed: nothing was written. */
outcome shop_outcome_of(int status);

/** Returns what is left of the patience for what was asked for at that moment. */
int64_t shop_patience_left_ms(const shop *self, int64_t asked_ms);
/** Tells whether the patience for what was asked for at that moment is over. */
bool shop_is_too_late(const shop *self, int64_t asked_ms);
/** Writes the path of a segment's lock. It is named as a stripe is, so zklock's own tools show it.
 */
void shop_write_path(char path[SHOP_PATH_SIZE], const shop *self, const char *sku, int segment);

/** Returns the present moment. */
int64_t shop_now_ms(void);
