/*
 * What the shop keeps in the database: products, of which each is in one or more segments; orders;
 * and writes that were refused because their token was old.
 *
 * Each segment is a row with a fence: the token of the last holder that has claimed it. Claiming
 * reads the quantity in the same statement. From then on no earlier holder can write, so what was
 * read stays true until it is written.
 */
#pragma once

#include "database.h"

enum {
    SKU_MAX = 64,
    KEY_MAX = 64,
    NAME_MAX_BYTES = 200,
    LINES_MAX = 16,    /* of an order */
    SEGMENTS_MAX = 32, /* of a product */
    PARTS_MAX = 64,    /* segments that one order takes from: ZKL_LOCK_MEMBERS_MAX */
    UNITS_MAX = 1000000
};

typedef enum store_status {
    STORE_OK,
    STORE_FENCED_OFF, /* a later holder has claimed it: nothing was written */
    STORE_EXISTS,     /* that key, or product, is there already: nothing was written */
    STORE_NOT_FOUND,
    STORE_ERROR /* see database_error */
} store_status;

typedef struct product {
    char sku[SKU_MAX + 1];
    char name[NAME_MAX_BYTES + 1];
    int segments;
    int64_t stocked; /* ever */
    int64_t left;
    int64_t sold;
} product;

typedef struct order_line {
    char sku[SKU_MAX + 1];
    int64_t units;
} order_line;

/** A segment from which an order takes units; a restock brings units, which are negative here. */
typedef struct part {
    size_t line; /* of the order */
    const char *sku;
    int segment;
    int64_t quantity; /* as it was read */
    int64_t takes;
} part;

/** What is written of an order. */
typedef struct order_record {
    char key[KEY_MAX + 1];
    char buyer[NAME_MAX_BYTES + 1];
    char instance[NAME_MAX_BYTES + 1];
    char content[LINES_MAX * (SKU_MAX + 16)]; /* its lines as text: whether it is the same order */
    int64_t token;
} order_record;

/** Looks whether all tables are there, and makes what is missing. */
store_status store_make_tables(database *self);

/** The units are spread over the segments. */
store_status store_add_product(database *self, const product *one);
store_status store_find_product(database *self, const char *sku, product *found);
/** In one statement, so that they fit each other. */
store_status store_list_products(database *self, void (*tell)(void *arg, const product *one),
                                 void *arg);
/** What is left in each segment, from 0 on; -1: there is no such segment. A hint: nobody has
 *  claimed anything. */
store_status store_look_at_segments(database *self, const char *sku, int64_t left[SEGMENTS_MAX]);
/** The highest fence of a product's segments. */
store_status store_find_fence(database *self, const char *sku, int64_t *fence);

store_status store_find_order(database *self, const char *key, order_record *found);
/** The latest first. */
store_status store_list_orders(database *self, int64_t limit,
                               void (*tell)(void *arg, const order_record *one, int64_t units),
                               void *arg);

/** Claims the parts for the token and reads them, all or none. */
store_status store_claim(database *self, int64_t token, part *parts, size_t count);
/** Reads the parts and claims nothing: what a service without a lock does. */
store_status store_read(database *self, part *parts, size_t count);
/** Writes the order and what is left, in one transaction: only where each part is still claimed by
 *  its token. */
store_status store_write(database *self, const order_record *order, const order_line *lines,
                         const part *parts, size_t count);
/** The same, whatever happened meanwhile. */
store_status store_write_unguarded(database *self, const order_record *order,
                                   const order_line *lines, const part *parts, size_t count);

/** For people: this write was refused. */
store_status store_note_refusal(database *self, const char *sku, const order_record *order,
                                int64_t fence);
/** The latest first. */
store_status store_list_refusals(database *self, int64_t limit,
                                 void (*tell)(void *arg, const order_record *one, const char *sku,
                                              int64_t fence),
                                 void *arg);

/** For people: where this instance can be seen. A URL, or ":PORT" at the host of who asks. To be
 *  called often: it shows that the database can be written. */
store_status store_note_instance(database *self, const char *name, const char *url);
store_status store_forget_instance(database *self, const char *name);
/** By name; also those that were killed. */
store_status store_list_instances(database *self,
                                  void (*tell)(void *arg, const char *name, const char *url),
                                  void *arg);
