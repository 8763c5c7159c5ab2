/* An advisory lock of PostgreSQL, which ends with its connection. */
#include "old_lock.h"

#include <libpq-fe.h>
#include <stddef.h>

static PGconn *database;

bool old_lock_open(const char *server) {
    database = PQconnectdb(server);
    return PQstatus(database) == CONNECTION_OK;
}

static bool ask(const char *statement, const char *name) {
    PGresult *result = PQexecParams(database, statement, 1, NULL, &name, NULL, NULL, 0);
    bool yes = PQntuples(result) == 1 && PQgetvalue(result, 0, 0)[0] == 't';
    PQclear(result);
    return yes;
}

bool old_lock_try(const char *name) {
    return ask("SELECT pg_try_advisory_lock(hashtextextended($1, 0))", name);
}

void old_lock_release(const char *name) {
    (void)ask("SELECT pg_advisory_unlock(hashtextextended($1, 0))", name);
}
