/*
 * The store: accounts in a real SQLite database, and the transfers between them.
 *
 * Both accounts of a transfer are claimed with the tokens of the grant before the first read, and
 * both writes require those very tokens: so the store refuses the writes of a holder that was
 * overtaken. ../inventory/README.md says why.
 *
 * A store is one connection: one thread uses it, and it does not cross fork().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct store;

enum store_status {
    STORE_OK,
    STORE_FENCED_OFF, /* the store has seen a later holder: nothing was written */
    STORE_ERROR       /* see store_error() */
};

/** One of the two accounts of a transfer. */
struct leg {
    int account;
    int64_t token; /* that of the lock on the account */
    int64_t balance;
};

struct transfer {
    int number;
    int64_t amount;
    struct leg from;
    struct leg to;
};

/** What the database says in the end. */
struct audit {
    int64_t total;    /* the sum of all balances */
    int64_t wrong;    /* how many accounts have a balance that is not the sum of their transfers */
    int64_t negative; /* how many accounts have a negative balance */
};

/** Makes the database with that many accounts, numbered from 0, all with one balance. */
enum store_status store_create(const char *path, int accounts, int64_t balance);

/** Opens a connection. Close `*opened` in any case: on STORE_ERROR, store_error() has the reason.
 */
enum store_status store_open(const char *path, struct store **opened);
/** Closes a connection. NULL does nothing. */
void store_close(struct store *store);
/** Returns what went wrong last. */
const char *store_error(const struct store *store);

/** Claims both accounts with their tokens, and only then reads their balances. */
enum store_status store_claim_and_read(struct store *store, struct transfer *transfer);

/** Writes both new balances and the transfer, in one transaction, if both accounts are still
 *  claimed by these very tokens. */
enum store_status store_write(struct store *store, const struct transfer *transfer);

/** Finds out whether a transfer of this number was written. */
enum store_status store_has(struct store *store, int number, bool *has);
/** Adds up what the database says in the end. */
enum store_status store_audit(struct store *store, int64_t first_balance, struct audit *audit);
