/* The stock in PostgreSQL. */
#include "database.h"

#include <libpq-fe.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { STATEMENT_SIZE = 2048 };

const char *const database_now_us = "(extract(epoch from clock_timestamp()) * 1000000)::bigint";

static const char *address;
static PGconn *connection;
static volatile sig_atomic_t descriptor = -1;

void database_open(const char *given) {
    address = given;
}

void database_cut(void) {
    (void)shutdown(descriptor, SHUT_RDWR);
}

static bool is_connected(void) {
    if (connection != NULL && PQstatus(connection) != CONNECTION_OK) {
        descriptor = -1;
        PQfinish(connection);
        connection = NULL;
    }
    if (connection == NULL) {
        connection = PQconnectdb(address);
        descriptor = PQsocket(connection);
    }
    return PQstatus(connection) == CONNECTION_OK;
}

static int64_t read_result(PGresult *result, int64_t *values, int count) {
    switch (PQresultStatus(result)) {
    case PGRES_COMMAND_OK:
        return strtoll(PQcmdTuples(result), NULL, 10);
    case PGRES_TUPLES_OK:
        for (int i = 0; i < count && i < PQnfields(result) && PQntuples(result) > 0; i++) {
            values[i] = strtoll(PQgetvalue(result, 0, i), NULL, 10);
        }
        return PQntuples(result);
    default:
        return -1;
    }
}

static int64_t run(int64_t *values, int count, const char *format, va_list arguments) {
    char statement[STATEMENT_SIZE];
    if (!is_connected() ||
        vsnprintf(statement, sizeof statement, format, arguments) >= (int)sizeof statement) {
        return -1;
    }
    PGresult *result = PQexec(connection, statement);
    int64_t rows = read_result(result, values, count);
    PQclear(result);
    return rows;
}

bool database_in_transaction(void) {
    PGTransactionStatusType status = PQtransactionStatus(connection);
    return status == PQTRANS_INTRANS || status == PQTRANS_INERROR;
}

int64_t database_run(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int64_t rows = run(NULL, 0, format, arguments);
    va_end(arguments);
    return rows;
}

int64_t database_ask(int64_t *values, int count, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int64_t rows = run(values, count, format, arguments);
    va_end(arguments);
    return rows;
}
