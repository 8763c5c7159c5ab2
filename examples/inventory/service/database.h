/*
 * A connection to the database: SQLite (a file), or PostgreSQL (a URL). The statements are the same
 * for both, with the parameters $1, $2 and so on.
 *
 * One thread at a time uses a connection. Nothing here knows what the tables are for.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct database database;

/** The longest that a statement waits for a lock, or for the server's answer. */
enum { DATABASE_WAIT_MS = 5000 };

typedef enum database_status {
    DATABASE_OK,
    DATABASE_EXISTS, /* a row with that key exists already: nothing was written */
    DATABASE_ERROR   /* see database_error. A COMMIT may have been carried out */
} database_status;

/** A parameter: the text, or, if that is NULL, the number. */
typedef struct database_value {
    const char *text;
    int64_t number;
} database_value;

/** One row of a result, valid during the callback. */
typedef struct database_row {
    const database *of;
    int number;
} database_row;

/** Returns a column's value as text, or as a number. */
const char *database_row_text(const database_row *row, int column);
int64_t database_row_number(const database_row *row, int column);

typedef void database_row_callback(void *arg, const database_row *row);

/** A statement, its parameters, and what takes its rows. */
typedef struct database_call {
    const char *sql; /* valid as long as the program: it is prepared once for each connection */
    const database_value *values;
    size_t count;
    database_row_callback *row; /* called for each row; NULL: rows are ignored */
    void *arg;
} database_call;

/** Opens a connection. `where`: "postgresql://...", or the path of a file. Close *opened in any
 *  case. It is NULL if there is no memory. */
database_status database_open(const char *where, database **opened);
void database_close(database *self);

/** Lets each call fail at once from now on, and write nothing: for work that nobody waits for. */
void database_give_up(database *self);
/** Cuts the whole process off from its database, or ends that: meanwhile each call fails, and what
 * a transaction has written is rolled back. Any thread. For demonstrations. */
void database_cut(bool cut);

/** Returns what went wrong last, for people. */
const char *database_error(const database *self);

/** Runs one statement. *changed (may be NULL) receives how many rows it has changed. Outside a
 *  transaction it may be run twice, if the connection is lost: so the statement must allow that. */
database_status database_run(database *self, const database_call *call, int64_t *changed);

/** Runs statements without parameters and results, such as those of a schema, with ; between them.
 */
database_status database_execute(database *self, const char *sql);

/** Begins a transaction. With SQLite only one connection at a time can be in one. A connection that
 *  was lost in the last transaction is made again. */
database_status database_begin(database *self);
/** Ends the transaction. */
database_status database_commit(database *self);
void database_roll_back(database *self);

/** A kind of database. */
typedef struct database_kind {
    database *(*open)(const char *where, database_status *status);
    void (*close)(database *self);
    const char *(*error)(const database *self);
    database_status (*run)(database *self, const database_call *call, int64_t *changed);
    database_status (*execute)(database *self, const char *sql);
    const char *(*row_text)(const database_row *row, int column);
    const char *begin; /* the statement that begins a transaction */
} database_kind;

extern const database_kind database_sqlite;
extern const database_kind database_postgresql;

/** The first field of each kind's own struct. */
struct database {
    const database_kind *kind;
    bool is_given_up;
};
