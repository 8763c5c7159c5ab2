/*
 * Sells one ticket from SQLite, under a lock and fenced: fenced_sqlite HOSTS [DATABASE]
 *
 * The holder claims the row with its token before it reads, and writes only while the row is
 * claimed by that very token. So a holder that was stopped for longer than its session lasts, and
 * wakes up here, writes nothing. (NOT NULL matters: a fence that is NULL is not <= any token, and
 * would never be claimed.)
 */
#include <sqlite3.h>
#include <zklock/zklock.h>

#include "../example.h"

enum { PATIENCE_MS = 30000 };

static const char table[] =
    "CREATE TABLE IF NOT EXISTS tickets"
    " (id INTEGER PRIMARY KEY, left_over INTEGER NOT NULL, fence INTEGER NOT NULL DEFAULT 0);"
    "INSERT OR IGNORE INTO tickets (id, left_over) VALUES (1, 3);";

/* Runs a statement with one number; returns the number that it returns, or -1: no row was fit. */
static int64_t run_sql(sqlite3 *database, const char *sql, int64_t token) {
    sqlite3_stmt *statement = NULL;
    int64_t result = -1;
    if (sqlite3_prepare_v2(database, sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_bind_int64(statement, 1, token) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW) {
        result = sqlite3_column_int64(statement, 0);
    }
    (void)sqlite3_finalize(statement);
    return result;
}

static void sell(sqlite3 *database, int64_t token) {
    int64_t left = run_sql(
        database, "UPDATE tickets SET fence = ?1 WHERE fence <= ?1 RETURNING left_over", token);
    if (left == 0) {
        puts("sold out");
    } else if (left < 0 ||
               run_sql(database,
                       "UPDATE tickets SET left_over = left_over - 1 WHERE fence = ?1 RETURNING 1",
                       token) < 0) {
        puts("fenced off: a later holder has claimed the tickets");
    } else {
        printf("sold one of %lld, with token %lld\n", (long long)left, (long long)token);
    }
}

static int fenced_sqlite_run(zkl_client *client, int argc, char **argv) {
    sqlite3 *database = NULL;
    zkl_grant grant = ZKL_GRANT_INIT;
    ZKL_CLOSE_AT_SCOPE_END zkl_lock *lock = NULL; /* the close releases it */
    int status = zkl_lock_open(client, "tickets", NULL, &lock);
    if (status == ZKL_OK) {
        status = zkl_lock_acquire(lock, ZKL_EXCLUSIVE, PATIENCE_MS, &grant);
    }
    if (status == ZKL_OK && sqlite3_open(argc > 2 ? argv[2] : ":memory:", &database) == SQLITE_OK &&
        sqlite3_exec(database, table, NULL, NULL, NULL) == SQLITE_OK) {
        sell(database, grant.token);
    }
    (void)sqlite3_close(database);
    return status;
}

int main(int argc, char **argv) {
    return run_example(argc, argv, NULL, fenced_sqlite_run);
}
