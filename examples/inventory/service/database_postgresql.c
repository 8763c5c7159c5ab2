#include <inttypes.h>
#include <libpq-fe.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <utlist.h>

#include "database.h"

enum {
    VALUES_MAX = 16,
    NUMBER_SIZE = 24,
    NAME_SIZE = 32,
    SILENT_MS =
        DATABASE_WAIT_MS + 1000 /* a server that is not stopped has ended the statement before */
};

typedef struct prepared {
    const char *sql;
    char name[NAME_SIZE];
    struct prepared *next;
} prepared;

typedef struct postgresql_database {
    database base; /* first */
    PGconn *handle;
    prepared *all;
    PGresult *current; /* the result whose rows are being passed on */
    bool was_silent;   /* the server did not answer the last statement, and the connection was shut
                          down */
} postgresql_database;

static postgresql_database *postgresql_of(database *self) {
    return (postgresql_database *)self;
}

static void ignore_notice(void *arg, const char *message) {
    (void)arg;
    (void)message; /* "relation already exists, skipping" */
}

/* Opens a connection with timeouts. So a server that has vanished holds up no thread for long, nor
 * anybody's lock; and a client that was stopped in a transaction does not keep its rows. What the
 * URL says takes precedence. */
static database *open_url(const char *where, database_status *status) {
    char options[128];
    (void)snprintf(options, sizeof(options),
                   "-c idle_in_transaction_session_timeout=10000 -c statement_timeout=%d",
                   DATABASE_WAIT_MS);
    const char *const names[] = { "connect_timeout", "tcp_user_timeout", "keepalives_idle",
                                  "options",         "dbname",           NULL };
    const char *const values[] = { "5", "20000", "10", options, where, NULL };
    postgresql_database *self = calloc(1, sizeof(*self));
    if (self == NULL) {
        return NULL;
    }
    self->handle = PQconnectdbParams(names, values, 1);
    (void)PQsetNoticeProcessor(self->handle, ignore_notice, NULL);
    *status = PQstatus(self->handle) == CONNECTION_OK ? DATABASE_OK : DATABASE_ERROR;
    return &self->base;
}

static void forget_prepared(postgresql_database *self) {
    prepared *one = NULL;
    prepared *next = NULL;
    LL_FOREACH_SAFE(self->all, one, next) {
        free(one);
    }
    self->all = NULL;
}

static void close_connection(database *base) {
    postgresql_database *self = postgresql_of(base);
    forget_prepared(self);
    PQfinish(self->handle);
    free(self);
}

static const char *error(const database *base) {
    return PQerrorMessage(((const postgresql_database *)base)->handle);
}

static int64_t postgresql_now_ms(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Waits until the next result is there. A stopped server never answers: then we shut the connection
 * down, so that libpq finds it lost. */
static void wait_for_result(postgresql_database *self, int64_t until_ms) {
    struct pollfd input = { .fd = PQsocket(self->handle), .events = POLLIN };
    while (PQisBusy(self->handle) != 0) {
        int64_t left_ms = until_ms - postgresql_now_ms();
        if (!self->was_silent && (left_ms <= 0 || poll(&input, 1, (int)left_ms) == 0)) {
            self->was_silent = true;
            (void)shutdown(input.fd, SHUT_RDWR);
        }
        if (PQconsumeInput(self->handle) == 0) {
            return;
        }
    }
}

/* Returns the last result of what was sent. NULL: it could not be sent, or the connection is lost.
 */
static PGresult *take_result(postgresql_database *self, int sent) {
    int64_t until_ms = postgresql_now_ms() + SILENT_MS;
    PGresult *last = NULL;
    self->was_silent = false;
    for (PGresult *one = NULL; sent != 0; last = one) {
        wait_for_result(self, until_ms);
        one = PQgetResult(self->handle);
        if (one == NULL) {
            break;
        }
        PQclear(last);
    }
    return last;
}

/* Connects again, if the connection is lost. False: it is not; or its server has made us wait long
 * enough, and the next statement will find it lost. */
static bool reconnect(postgresql_database *self) {
    if (PQstatus(self->handle) == CONNECTION_OK || self->was_silent) {
        return false;
    }
    PQreset(self->handle);
    forget_prepared(self); /* they belong to the lost connection */
    return true;
}

static bool is_in_transaction(const postgresql_database *self) {
    PGTransactionStatusType status = PQtransactionStatus(self->handle);
    return status != PQTRANS_IDLE && status != PQTRANS_UNKNOWN;
}

static database_status postgresql_status_of(const PGresult *result) {
    ExecStatusType status = PQresultStatus(result);
    if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) {
        return DATABASE_OK;
    }
    const char *code = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    return code != NULL && strcmp(code, "23505") == 0 ? DATABASE_EXISTS : DATABASE_ERROR;
}

static const char *postgresql_prepare(postgresql_database *self, const char *sql) {
    prepared *found = NULL;
    LL_SEARCH_SCALAR(self->all, found, sql, sql);
    if (found != NULL) {
        return found->name;
    }
    found = calloc(1, sizeof(*found));
    if (found == NULL) {
        return NULL;
    }
    found->sql = sql;
    (void)snprintf(found->name, sizeof(found->name), "s%p", (void *)found);
    PGresult *result = take_result(self, PQsendPrepare(self->handle, found->name, sql, 0, NULL));
    bool is_prepared = postgresql_status_of(result) == DATABASE_OK;
    PQclear(result);
    if (!is_prepared) {
        free(found);
        return NULL;
    }
    LL_PREPEND(self->all, found);
    return found->name;
}

static database_status run_once(postgresql_database *self, const database_call *call,
                                int64_t *changed) {
    char numbers[VALUES_MAX][NUMBER_SIZE];
    const char *values[VALUES_MAX];
    *changed = 0;
    const char *name = call->count <= VALUES_MAX ? postgresql_prepare(self, call->sql) : NULL;
    if (name == NULL) {
        return DATABASE_ERROR;
    }
    for (size_t i = 0; i < call->count; i++) {
        (void)snprintf(numbers[i], NUMBER_SIZE, "%" PRId64, call->values[i].number);
        values[i] = call->values[i].text != NULL ? call->values[i].text : numbers[i];
    }
    self->current = take_result(
        self, PQsendQueryPrepared(self->handle, name, (int)call->count, values, NULL, NULL, 0));
    database_status status = postgresql_status_of(self->current);
    database_row row = { .of = &self->base };
    for (; status == DATABASE_OK && row.number < PQntuples(self->current); row.number++) {
        if (call->row != NULL) {
            call->row(call->arg, &row);
        }
    }
    *changed = strtoll(PQcmdTuples(self->current), NULL, 10);
    PQclear(self->current);
    return status;
}

static database_status execute_once(postgresql_database *self, const char *sql) {
    PGresult *result = take_result(self, PQsendQuery(self->handle, sql));
    database_status status = postgresql_status_of(result);
    PQclear(result);
    return status;
}

/* Runs a statement. If the connection turns out to be lost, runs it once more on a new one; but not
 * within a transaction, nor at its end. */
static database_status postgresql_run(database *base, const database_call *call, int64_t *changed) {
    postgresql_database *self = postgresql_of(base);
    bool may_repeat = !is_in_transaction(self);
    database_status status = run_once(self, call, changed);
    return status == DATABASE_ERROR && may_repeat && reconnect(self) ? run_once(self, call, changed)
                                                                     : status;
}

static database_status postgresql_execute(database *base, const char *sql) {
    postgresql_database *self = postgresql_of(base);
    bool may_repeat = strcmp(sql, base->kind->begin) == 0;
    database_status status = execute_once(self, sql);
    return status == DATABASE_ERROR && may_repeat && reconnect(self) ? execute_once(self, sql)
                                                                     : status;
}

static const char *row_text(const database_row *row, int column) {
    return PQgetvalue(((const postgresql_database *)row->of)->current, row->number, column);
}

const database_kind database_postgresql = { .open = open_url,
                                            .close = close_connection,
                                            .error = error,
                                            .run = postgresql_run,
                                            .execute = postgresql_execute,
                                            .row_text = row_text,
                                            .begin = "BEGIN" };
