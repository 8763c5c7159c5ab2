/* The stock in MariaDB. */
#include "database.h"

#include <mysql.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { STATEMENT_SIZE = 2048 };

/* SYSDATE is the moment at which it is evaluated, NOW the beginning of the statement. */
const char *const database_now_us = "CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED)";

static char host[64];
static unsigned port;
static MYSQL *connection;
static volatile sig_atomic_t descriptor = -1;

/* HOST:PORT. */
void database_open(const char *address) {
    if (sscanf(address, "%63[^:]:%u", host, &port) != 2) {
        (void)fprintf(stderr, "buyer: database '%s': must be HOST:PORT\n", address);
        exit(2);
    }
}

void database_cut(void) {
    (void)shutdown(descriptor, SHUT_RDWR);
}

static void disconnect(void) {
    if (connection != NULL) {
        descriptor = -1;
        mysql_close(connection);
        connection = NULL;
    }
}

static bool is_connected(void) {
    if (connection == NULL) {
        connection = mysql_init(NULL);
        if (connection != NULL && mysql_real_connect(connection, host, "root", NULL, "shop", port,
                                                     NULL, CLIENT_FOUND_ROWS) == NULL) {
            disconnect();
        }
        descriptor = connection != NULL ? (int)mysql_get_socket(connection) : -1;
    }
    return connection != NULL;
}

static int64_t read_result(int64_t *values, int count) {
    MYSQL_RES *result = mysql_store_result(connection);
    if (result == NULL) {
        return mysql_field_count(connection) == 0 ? (int64_t)mysql_affected_rows(connection) : -1;
    }
    int64_t rows = (int64_t)mysql_num_rows(result);
    MYSQL_ROW row = mysql_fetch_row(result);
    for (int i = 0; row != NULL && i < count && i < (int)mysql_num_fields(result); i++) {
        values[i] = row[i] == NULL ? 0 : strtoll(row[i], NULL, 10);
    }
    mysql_free_result(result);
    return rows;
}

static int64_t run(int64_t *values, int count, const char *format, va_list arguments) {
    char statement[STATEMENT_SIZE];
    if (!is_connected() ||
        vsnprintf(statement, sizeof statement, format, arguments) >= (int)sizeof statement) {
        return -1;
    }
    if (mysql_query(connection, statement) == 0) {
        return read_result(values, count);
    }
    /* 2000 and above are errors of the client: the connection is gone. */
    if (mysql_errno(connection) >= 2000) {
        disconnect();
    }
    return -1;
}

bool database_in_transaction(void) {
    return connection != NULL && (connection->server_status & SERVER_STATUS_IN_TRANS) != 0;
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
