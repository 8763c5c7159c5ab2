/*
 * How an order is served, and where zklock comes in:
 *
 *   1. prepared by a worker: is it known by its key? From which segments is it to take?
 *   2. it asks for the locks of these segments, all or none, and waits without a thread;
 *   3. granted, a worker claims the segments with the token, reads, decides, writes, and releases;
 *   4. fenced off, as the lock had passed on: nothing was written, and it begins again with 2;
 *   5. too little in its segments: it begins again with all segments of its products.
 *
 * The key of an order that was placed is used up, and asking again with it returns that order. A
 * refused order leaves nothing: asked again with the same key it may be placed, for example after a
 * restock.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <zklock/zklock.h>

#include "store.h"
#include "workers.h"

typedef enum outcome {
    OUTCOME_PLACED,
    OUTCOME_REPEATED, /* it was placed before, by the same key */
    OUTCOME_OTHER,    /* the key was used for another order */
    OUTCOME_NO_PRODUCT,
    OUTCOME_TOO_WIDE, /* its products have more segments than a set of locks may have */
    OUTCOME_SOLD_OUT,
    OUTCOME_BUSY,        /* not granted in time */
    OUTCOME_UNAVAILABLE, /* no connection to the ensemble, or the shop closes */
    OUTCOME_FAILED       /* see the log */
} outcome;

typedef struct order order;

/** What is asked, and what became of it. */
struct order {
    job work; /* first */
    order_record record;
    order_line lines[LINES_MAX]; /* a restock has one, of units below 0 */
    size_t line_count;
    bool without_lock;
    int64_t pause_ms; /* the whole process is stopped for this long after its read; 0: it is not */
    int64_t think_ms; /* it waits for this long between its read and its write */

    outcome outcome;
    char about[SKU_MAX + 1];   /* the product that is not there, or of which too little is left */
    int fenced_off;            /* times */
    int64_t refused_token;     /* of the last such write, */
    int64_t refused_by;        /* and the fence that it met */
    void (*done)(order *self); /* called once, in any thread; the order is its to free */
    void *arg;

    /* The shop's: */
    struct shop *shop;
    zkl_lock *lock;
    bool takes_all; /* segments of its products */
    part parts[PARTS_MAX];
    size_t part_count;
    int64_t asked_ms;
};

typedef struct shop {
    _Atomic(zkl_client *) client; /* NULL: the ensemble was not reached yet */
    _Atomic int64_t connected_ms; /* when it was last seen to be connected */
    workers *workers;
    const char *instance;
    int64_t patience_ms;
    bool demonstration; /* orders may ask for no lock, or for a pause */
    int64_t overlap_ms; /* between read and write of an order without a lock */
    const char *url;    /* of this instance's page, as the pages of others find it */
    job pulse;
    atomic_bool is_pulsing;
    _Atomic int64_t pulsed_ms; /* when it last began to, */
    _Atomic int64_t wrote_ms;  /* and when the database was last written; 0: never, or it fails */
} shop;

/** Takes the order over. */
void shop_serve(shop *self, order *one);

/** "ok", "suspect" (no connection to the ensemble: locks may be lost) or "lost" (no session, or no
 *  connection for longer than it lasts). Static. To be called often, by any thread: each call looks
 *  whether there is a connection. */
const char *shop_health(shop *self);

/** Writes to the database, if that has not happened for a second. To be called often, by one
 * thread, when the workers are ready. */
void shop_look_at_database(shop *self);
/** Whether the database was written lately. Any thread. */
bool shop_can_write(const shop *self);

/** Whether the patience for what was asked at that time is over; the time of now. */
bool shop_is_too_late(const shop *self, int64_t asked_ms);
int64_t shop_now_ms(void);

/** What is left and what was sold of a product, read under a read lock of all its segments; a job
 * as orders are. */
typedef struct inquiry {
    job work; /* first */
    product found;
    outcome outcome; /* PLACED: found */
    int64_t token;
    int fenced_off; /* times */
    void (*done)(struct inquiry *self);
    void *arg;
    struct shop *shop;
    zkl_lock *lock;
    int64_t asked_ms;
} inquiry;

void shop_inquire(shop *self, inquiry *one);
