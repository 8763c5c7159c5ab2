#include <sqlite3.h>
#include <stdlib.h>
#include <utlist.h>

#include "database.h"

typedef struct prepared {
    const char *sql;
    sqlite3_stmt *statement;
    struct prepared *next;
} prepared;

typedef struct sqlite_database {
    database base; /* first */
    sqlite3 *handle;
    prepared *all;
    sqlite3_stmt *current; /* the statement whose row is being passed on */
} sqlite_database;

static sqlite_database *sqlite_of(database *self) {
    return (sqlite_database *)self;
}

/* Opens a database with a write-ahead log: readers do not wait for a writer, and a crash of a
 * process loses nothing. A power cut may lose the last orders, but never half of one. */
static database *open_file(const char *where, database_status *status) {
    sqlite_database *self = calloc(1, sizeof(*self));
    if (self == NULL) {
        return NULL;
    }
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    bool is_open =
        sqlite3_open_v2(where, &self->handle, flags, NULL) == SQLITE_OK &&
        sqlite3_busy_timeout(self->handle, DATABASE_WAIT_MS) == SQLITE_OK &&
        sqlite3_exec(self->handle, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL", NULL,
                     NULL, NULL) == SQLITE_OK;
    *status = is_open ? DATABASE_OK : DATABASE_ERROR;
    return &self->base;
}

static void close_file(database *base) {
    sqlite_database *self = sqlite_of(base);
    prepared *one = NULL;
    prepared *next = NULL;
    LL_FOREACH_SAFE(self->all, one, next) {
        sqlite3_finalize(one->statement);
        free(one);
    }
    sqlite3_close(self->handle);
    free(self);
}

static const char *error(const database *base) {
    return sqlite3_errmsg(((const sqlite_database *)base)->handle);
}

static sqlite3_stmt *sqlite_prepare(sqlite_database *self, const char *sql) {
    prepared *found = NULL;
    LL_SEARCH_SCALAR(self->all, found, sql, sql);
    if (found != NULL) {
        return found->statement;
    }
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v3(self->handle, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL) !=
        SQLITE_OK) {
        return NULL;
    }
    found = calloc(1, sizeof(*found));
    if (found == NULL) {
        sqlite3_finalize(statement);
        return NULL;
    }
    found->sql = sql;
    found->statement = statement;
    LL_PREPEND(self->all, found);
    return statement;
}

/* Binds a parameter by its name: for SQLite $1 is a name. */
static void bind(sqlite3_stmt *statement, size_t number, const database_value *value) {
    char name[16];
    (void)sqlite3_snprintf(sizeof(name), name, "$%d", (int)number);
    int place = sqlite3_bind_parameter_index(statement, name);
    if (value->text != NULL) {
        sqlite3_bind_text(statement, place, value->text, -1, SQLITE_TRANSIENT);
    } else {
        sqlite3_bind_int64(statement, place, value->number);
    }
}

static database_status sqlite_status_of(int result) {
    bool is_there = result == SQLITE_CONSTRAINT_PRIMARYKEY || result == SQLITE_CONSTRAINT_UNIQUE;
    return result == SQLITE_OK ? DATABASE_OK : is_there ? DATABASE_EXISTS : DATABASE_ERROR;
}

static database_status sqlite_run(database *base, const database_call *call, int64_t *changed) {
    sqlite_database *self = sqlite_of(base);
    sqlite3_stmt *statement = sqlite_prepare(self, call->sql);
    if (statement == NULL) {
        return DATABASE_ERROR;
    }
    for (size_t i = 0; i < call->count; i++) {
        bind(statement, i + 1, &call->values[i]);
    }
    self->current = statement;
    *changed = 0;
    database_row row = { .of = base };
    int before = sqlite3_total_changes(self->handle);
    for (; sqlite3_step(statement) == SQLITE_ROW; row.number++) {
        if (call->row != NULL) {
            call->row(call->arg, &row);
        }
    }
    *changed = sqlite3_total_changes(self->handle) - before;
    /* The reset ends a read; it repeats the step's error, if there was one. */
    bool failed = sqlite3_reset(statement) != SQLITE_OK;
    return failed ? sqlite_status_of(sqlite3_extended_errcode(self->handle)) : DATABASE_OK;
}

static database_status sqlite_execute(database *base, const char *sql) {
    return sqlite_status_of(sqlite3_exec(sqlite_of(base)->handle, sql, NULL, NULL, NULL));
}

static const char *row_text(const database_row *row, int column) {
    const unsigned char *text =
        sqlite3_column_text(((const sqlite_database *)row->of)->current, column);
    return text != NULL ? (const char *)text : "";
}

/* IMMEDIATE: a transaction that begins to write later could be refused then. */
const database_kind database_sqlite = { .open = open_file,
                                        .close = close_file,
                                        .error = error,
                                        .run = sqlite_run,
                                        .execute = sqlite_execute,
                                        .row_text = row_text,
                                        .begin = "BEGIN IMMEDIATE" };
