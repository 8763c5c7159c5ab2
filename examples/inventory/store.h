/*
 * The store: one item in a real SQLite database, and the orders for it.
 *
 * Reading the stock and writing it back are separate calls, as in the naive
 * service. The three ways of writing back differ only in their WHERE clause;
 * what that clause is worth is what this example shows.
 *
 * A store is one connection: one thread uses it, and it does not cross fork().
 */
#pragma once

#include <stdint.h>

struct store;

typedef enum store_status {
    STORE_OK,
    STORE_FENCED_OFF, /* the store has seen a later holder: nothing was written */
    STORE_ERROR       /* see store_error() */
} store_status;

/** What a purchase writes: the order, and the stock as its buyer computed it. */
struct store_sale {
    const char *buyer;
    int units;
    int quantity_left;
    int64_t token; /* 0 without a lock */
};

/** Makes the database at `path`, with `quantity` units in stock. */
store_status store_create(const char *path, int quantity);

/** Opens a connection. Close `*opened` in any case: on STORE_ERROR, store_error() has the reason.
 */
store_status store_open(const char *path, struct store **opened);

/** Closes it. NULL is allowed. */
void store_close(struct store *store);

/** What went wrong in the last call on this connection. */
const char *store_error(const struct store *store);

store_status store_read_quantity(struct store *store, int *quantity);

/** Units sold, by the order rows: the books that count. */
store_status store_read_sold(struct store *store, int *sold);

/** The greatest token that has claimed the stock. */
store_status store_read_fence(struct store *store, int64_t *fence);

/** Claims the stock for `token`, before the first read. Fenced off when a later
 *  holder has claimed it. From here on no earlier holder can write. */
store_status store_claim(struct store *store, int64_t token);

/** Writes back as the naive service does: whatever happened in between. */
store_status store_sell_unguarded(struct store *store, const struct store_sale *sale);

/** Writes back only if the stock is still claimed by this very token. */
store_status store_sell_claimed(struct store *store, const struct store_sale *sale);

/** Writes back if no later token has WRITTEN. Looks right and oversells: a later
 *  holder that has read, and not yet written, has left no trace. */
store_status store_sell_checked_at_write(struct store *store, const struct store_sale *sale);
