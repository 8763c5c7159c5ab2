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

/** One order more, and one unit less than was seen; with a token only if the fence has that one. */
shop_answer shop_sell(const char *product, const char *order, const shop_sight *sight,
                      int64_t token, bool in_transaction);

/** The order alone, for a mechanism that has taken the unit by itself. */
shop_answer shop_note(const char *product, const char *order, const shop_sight *sight,
                      int64_t token);
