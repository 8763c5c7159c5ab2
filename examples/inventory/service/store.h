/*
 * What the shop keeps in the database: products, each in one or more segments; orders; and writes
 * that were refused because their token was old.
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
    PARTS_MAX = 64,    /* segments of an order: ZKL_LOCK_MEMBERS_MAX */
    UNITS_MAX = 1000000
};

typedef enum store_status {
    STORE_OK,
    STORE_FENCED_OFF, /* a later holder has claimed it: nothing was written */
    STORE_EXISTS,     /* that key, or product, exists already: nothing was written */
    STORE_NOT_FOUND,
    STORE_ERROR /* see database_error */
} store_status;

typedef struct product {
    char sku[SKU_MAX + 1];
    char name[NAME_MAX_BYTES + 1];
    int segments;
    int64_t stocked; /* how much was ever in stock */
    int64_t left;
    int64_t sold;
} product;

typedef struct order_line {
    char sku[SKU_MAX + 1];
    int64_t units;
} order_line;

/** A segment that an order takes units from. A restock takes a negative number. */
typedef struct part {
    size_t line; /* the index of the order's line */
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
    char content[LINES_MAX *
                 (SKU_MAX + 16)]; /* its lines as text, by which a repeated order is known */
    int64_t token;
} order_record;

/** Makes the tables that are missing. */
store_status store_make_tables(database *self);

/** Adds a product, and spreads its units over its segments. */
store_status store_add_product(database *self, const product *one);
/** Finds a product, with what is left and sold of it. */
store_status store_find_product(database *self, const char *sku, product *found);
/** Lists all products, in one statement, so that they are of one moment. */
store_status store_list_products(database *self, void (*tell)(void *arg, const product *one),
                                 void *arg);
/** Reads what is left in each segment, from 0 on; -1: there is no such segment. It is a hint:
 *  nothing is claimed. */
store_status store_look_at_segments(database *self, const char *sku, int64_t left[SEGMENTS_MAX]);
/** Finds the highest fence of a product's segments. */
store_status store_find_fence(database *self, const char *sku, int64_t *fence);

/** Finds the order with this key. */
store_status store_find_order(database *self, const char *key, order_record *found);
/** Lists orders, the latest first. */
store_status store_list_orders(database *self, int64_t limit,
                               void (*tell)(void *arg, const order_record *one, int64_t units),
                               void *arg);

/** Claims the parts with the token, all or none, and reads them. */
store_status store_claim(database *self, int64_t token, part *parts, size_t count);
/** Writes the order and what is left, in one transaction, if each part is still claimed with its
 *  token. */
store_status store_write(database *self, const order_record *order, const order_line *lines,
                         const part *parts, size_t count);
/** Notes a refused write, for people. */
store_status store_note_refusal(database *self, const char *sku, const order_record *order,
                                int64_t fence);
/** Notes where people can see this instance: a URL, or ":PORT" on the host of the page that they
 *  see. It is called often, each time with another beat: so others see that the instance lives, and
 *  it sees itself that the database can be written. */
store_status store_note_instance(database *self, const char *name, const char *url, int64_t beat);
/** Takes an instance off the list. */
store_status store_forget_instance(database *self, const char *name);
/** Lists instances by name, including killed ones, whose beat stays as it is. */
store_status store_list_instances(database *self,
                                  void (*tell)(void *arg, const char *name, const char *url,
                                               int64_t beat),
                                  void *arg);
