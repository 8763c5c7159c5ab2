/*
 * A lock as a buyer of the comparison sees it. Each file of families/ has one, in the shape that
 * its own documentation, or the article that spread it, gives it. buyer.c is the rest of the
 * program: it reads the stock, thinks, and writes, between `acquire` and `release`.
 *
 * Unlike a peer of the benchmark (../peer.h), a mechanism survives what its servers do: whatever
 * goes wrong is an answer, never the end of the program. Its harm is to be measured, not avoided.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/** What the lock is told. All texts live as long as the program. */
typedef struct lock_settings {
    /** HOST:PORT of each server of the lock, with commas. */
    const char *servers;
    /** Of the buyer: no other process has it. */
    const char *buyer;
    /** After so long without a sign of its holder a lock passes on, where the mechanism knows that.
     */
    int64_t timeout_ms;
    /** How many units each order of this buyer is for. */
    int64_t units;
    /** A product whose lock each order needs as well, inside the first one; or "". */
    const char *second;
    /** 1: the store looks at the grant's number; 0: nobody needs it. */
    int64_t fence;
} lock_settings;

typedef enum lock_answer {
    LOCK_GRANTED,
    /** Somebody else has it, and the time to wait is over. */
    LOCK_BUSY,
    /** A server did not answer, or with an error: the lock may be ours or not. */
    LOCK_UNKNOWN
} lock_answer;

/** The number that a grant has where its mechanism gives none. */
enum { LOCK_NO_TOKEN = -1 };

typedef struct mechanism {
    /** Prepares what `acquire` needs. A server need not answer yet. */
    void (*open)(const lock_settings *settings);
    /** Waits for `wait_ms` at most. A grant's number goes to `token`, which is LOCK_NO_TOKEN
     * before. */
    lock_answer (*acquire)(const char *product, int64_t wait_ms, int64_t *token);
    /** Gives back what `acquire` has granted; an error is passed over, as its article does. */
    void (*release)(const char *product);
    /** NULL but where the mechanism asks again, right before the write, whether it still holds. */
    bool (*still_held)(const char *product);
    /** NULL but where the write itself is the mechanism: takes so many units in place of the shop,
     * in the transaction of the sale. Returns 1: taken; 0: refused; less: nobody knows. */
    int64_t (*sell)(const char *product, int64_t units, int64_t units_seen);
    /** True where the lock is a transaction of the shop's database: the sale is written within it,
     * and its commit may end it. */
    bool holds_transaction;
    /** True where the lock is the connection's to the shop's database: locks of several products
     * have to be taken by the same process. */
    bool is_of_connection;
    /** True where `acquire` takes the lock of the second product together with the first. */
    bool takes_both;
} mechanism;

/** Each file of families/ defines it. */
extern const mechanism the_mechanism;
