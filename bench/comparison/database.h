/*
 * The stock's database: PostgreSQL or MariaDB, whichever file the program is linked with. One
 * connection, used by one thread; it is opened anew when it has failed.
 *
 * Statements are made of the harness's own names, which are letters, digits and "-".
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/** Says where the database is; it need not answer yet. */
void database_open(const char *address);

/** How many rows a statement has changed or given; -1: it failed, or nobody knows. */
__attribute__((format(printf, 1, 2))) int64_t database_run(const char *format, ...);

/** As database_run, for statements that give rows: up to `count` numbers of the first row go to
 * `values`. */
__attribute__((format(printf, 3, 4))) int64_t database_ask(int64_t *values, int count,
                                                           const char *format, ...);

/** Whether a transaction is open on the connection; no server is asked. */
bool database_in_transaction(void);

/** Ends what waits for the database, for ever: SIGTERM does not end a wait in there. May be called
 * in the handler of a signal. */
void database_cut(void);

/** An expression: microseconds since 1970, by the clock of the database, at this very moment. */
extern const char *const database_now_us;
