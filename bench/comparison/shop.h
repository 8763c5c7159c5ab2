/*
 * The shop: a stock and the sales of it, in the database. A sale reads how many units are left and
 * later writes one less. Whatever happens between the two is the lock's affair: this is the shop
 * that sells too much if two buyers are inside at once.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef enum shop_answer {
    SHOP_DONE,
    /** The fence knows a newer grant, or another has written what this one has seen. */
    SHOP_REFUSED,
    /** The database did not answer, or with an error: done or not. */
    SHOP_UNKNOWN
} shop_answer;

/** What is ordered. All texts live as long as the order. */
typedef struct shop_order {
    const char *id;
    const char *product;
    int64_t units;
} shop_order;

/** What a buyer has seen before its decision. */
typedef struct shop_sight {
    int64_t units;
    int64_t at_us; /* by the clock of the database */
} shop_sight;

/** Nobody writes for `product` any more with a smaller token. */
shop_answer shop_claim(const char *product, int64_t token);

shop_answer shop_read(const char *product, shop_sight *sight);

/** Whether this order stands already: for one that a lost reply has left open. */
shop_answer shop_has(const char *order, bool *has);

/** One order more, and fewer units by as many, in one transaction: those that were seen are counted
 * down, or the mechanism takes them by itself. With a token only if the fence has that one.
 * `commits` is false for a buyer that leaves open the transaction which is its lock. */
shop_answer shop_sell(const shop_order *order, const shop_sight *sight, int64_t token,
                      bool commits);
