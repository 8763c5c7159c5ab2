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

/** So long at most a statement waits for a lock, or a server for an answer. */
enum { DATABASE_WAIT_MS = 5000 };

typedef enum database_status {
    DATABASE_OK,
    DATABASE_EXISTS, /* there is a row with that key already: nothing was written */
    DATABASE_ERROR   /* see database_error; of a COMMIT: it may have been carried out */
} database_status;

/** A parameter: a text, or, where that is NULL, a number. */
typedef struct database_value {
    const char *text;
    int64_t number;
} database_value;

/** One row of a result. Valid during the callback. */
typedef struct database_row {
    const database *of;
    int number;
} database_row;

const char *database_row_text(const database_row *row, int column);
int64_t database_row_number(const database_row *row, int column);

typedef void database_row_callback(void *arg, const database_row *row);

/** A statement, and what it is given. */
typedef struct database_call {
    const char *sql; /* lives as long as the program: it is prepared once for each connection */
    const database_value *values;
    size_t count;
    database_row_callback *row; /* for each row; NULL: there are none */
    void *arg;
} database_call;

/** `where`: "postgresql://...", or the path of a file. *opened is to be closed in any case; NULL:
 * no memory. */
database_status database_open(const char *where, database **opened);
void database_close(database *self);

/** From now on each call fails at once, and nothing is written: for work that nobody waits for. */
void database_give_up(database *self);

/** What went wrong last, for people. */
const char *database_error(const database *self);

/** Runs one statement. *changed (may be NULL) receives how many rows it has changed. Outside a
 *  transaction it may be run twice, where a connection is lost: so it must bear that. */
database_status database_run(database *self, const database_call *call, int64_t *changed);

/** Statements without parameters and results, such as those of a schema, with ; between them. */
database_status database_execute(database *self, const char *sql);

/** A transaction (of SQLite only one connection at a time can be in one); its end. A connection
 * that was lost in it is made again by the next database_begin. */
database_status database_begin(database *self);
database_status database_commit(database *self);
void database_roll_back(database *self);

/** What a kind of database is. Each has one of these. */
typedef struct database_kind {
    database *(*open)(const char *where, database_status *status);
    void (*close)(database *self);
    const char *(*error)(const database *self);
    database_status (*run)(database *self, const database_call *call, int64_t *changed);
    database_status (*execute)(database *self, const char *sql);
    const char *(*row_text)(const database_row *row, int column);
    const char *begin; /* the statement */
} database_kind;

extern const database_kind database_sqlite;
extern const database_kind database_postgresql;

/** The first field of each kind's own struct. */
struct database {
    const database_kind *kind;
    bool is_given_up;
};
