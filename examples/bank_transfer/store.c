#include "store.h"

#include <sqlite3.h>
#include <stddef.h>
#include <stdlib.h>

enum { BUSY_TIMEOUT_MS = 20000 };

/* Every statement of a connection, with its SQL, from this one list. */
#define STATEMENT_LIST(X)                                                                          \
    X(CLAIM, "UPDATE account SET fence = :token WHERE id = :account AND fence <= :token")          \
    X(READ, "SELECT balance FROM account WHERE id = :account")                                     \
    X(WRITE, "UPDATE account SET balance = :balance WHERE id = :account AND fence = :token")       \
    X(ADD, "INSERT INTO transfer (id, source, target, amount)"                                     \
           " VALUES (:id, :source, :target, :amount)")                                             \
    X(HAS, "SELECT count(*) FROM transfer WHERE id = :id")                                         \
    X(TOTAL, "SELECT sum(balance) FROM account")                                                   \
    X(NEGATIVE, "SELECT count(*) FROM account WHERE balance < 0")                                  \
    X(WRONG, "SELECT count(*) FROM account WHERE balance != :balance"                              \
             " + (SELECT coalesce(sum(amount), 0) FROM transfer WHERE target = account.id)"        \
             " - (SELECT coalesce(sum(amount), 0) FROM transfer WHERE source = account.id)")       \
    X(BEGIN, "BEGIN IMMEDIATE")                                                                    \
    X(COMMIT, "COMMIT")                                                                            \
    X(ROLLBACK, "ROLLBACK")

enum statement {
#define STATEMENT_ENUM(name, sql) name,
    STATEMENT_LIST(STATEMENT_ENUM)
#undef STATEMENT_ENUM
        STATEMENT_COUNT
};

static const char *const statement_sql[STATEMENT_COUNT] = {
#define STATEMENT_SQL(name, sql) [name] = (sql),
    STATEMENT_LIST(STATEMENT_SQL)
#undef STATEMENT_SQL
};

static const char schema_sql[] =
    "PRAGMA journal_mode = WAL;"
    "CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL,"
    " fence INTEGER NOT NULL DEFAULT 0);"
    "CREATE TABLE transfer (id INTEGER PRIMARY KEY, source INTEGER NOT NULL,"
    " target INTEGER NOT NULL, amount INTEGER NOT NULL);";

struct store {
    sqlite3 *database;
    sqlite3_stmt *statements[STATEMENT_COUNT];
};

/* ---- Opening and closing ---------------------------------------------- */

static enum store_status connect_to(const char *path, int flags, struct store **opened) {
    struct store *store = calloc(1, sizeof(*store));
    *opened = store;
    if (store == NULL || sqlite3_open_v2(path, &store->database, flags, NULL) != SQLITE_OK ||
        sqlite3_busy_timeout(store->database, BUSY_TIMEOUT_MS) != SQLITE_OK) {
        return STORE_ERROR;
    }
    /* With WAL committed data survives the kill of any process, though not a power cut. */
    int result = sqlite3_exec(store->database, "PRAGMA synchronous = NORMAL", NULL, NULL, NULL);
    return result == SQLITE_OK ? STORE_OK : STORE_ERROR;
}

static enum store_status store_fill(struct store *store, int accounts, int64_t balance) {
    if (sqlite3_exec(store->database, schema_sql, NULL, NULL, NULL) != SQLITE_OK) {
        return STORE_ERROR;
    }
    for (int i = 0; i < accounts; i++) {
        char *sql = sqlite3_mprintf("INSERT INTO account (id, balance) VALUES (%d, %lld)", i,
                                    (long long)balance);
        int result = sqlite3_exec(store->database, sql, NULL, NULL, NULL);
        sqlite3_free(sql);
        if (result != SQLITE_OK) {
            return STORE_ERROR;
        }
    }
    return STORE_OK;
}

enum store_status store_create(const char *path, int accounts, int64_t balance) {
    struct store *store = NULL;
    enum store_status status = connect_to(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &store);
    if (status == STORE_OK) {
        status = store_fill(store, accounts, balance);
    }
    store_close(store);
    return status;
}

enum store_status store_open(const char *path, struct store **opened) {
    if (connect_to(path, SQLITE_OPEN_READWRITE, opened) != STORE_OK) {
        return STORE_ERROR;
    }
    for (int i = 0; i < STATEMENT_COUNT; i++) {
        if (sqlite3_prepare_v2((*opened)->database, statement_sql[i], -1, &(*opened)->statements[i],
                               NULL) != SQLITE_OK) {
            return STORE_ERROR;
        }
    }
    return STORE_OK;
}

void store_close(struct store *store) {
    if (store == NULL) {
        return;
    }
    for (int i = 0; i < STATEMENT_COUNT; i++) {
        sqlite3_finalize(store->statements[i]);
    }
    sqlite3_close(store->database);
    free(store);
}

const char *store_error(const struct store *store) {
    return store == NULL ? "out of memory" : sqlite3_errmsg(store->database);
}

/* ---- Statements -------------------------------------------------------- */

static void bind(struct store *store, enum statement which, const char *name, int64_t value) {
    sqlite3_stmt *prepared = store->statements[which];
    sqlite3_bind_int64(prepared, sqlite3_bind_parameter_index(prepared, name), value);
}

static enum store_status store_execute(struct store *store, enum statement which) {
    sqlite3_stmt *prepared = store->statements[which];
    sqlite3_step(prepared);
    return sqlite3_reset(prepared) == SQLITE_OK ? STORE_OK : STORE_ERROR;
}

/* Executes an update with a fence. If it has changed no row, its WHERE has refused it. */
static enum store_status execute_fenced(struct store *store, enum statement which) {
    if (store_execute(store, which) != STORE_OK) {
        return STORE_ERROR;
    }
    return sqlite3_changes(store->database) == 1 ? STORE_OK : STORE_FENCED_OFF;
}

static enum store_status read_number(struct store *store, enum statement which, int64_t *value) {
    sqlite3_stmt *prepared = store->statements[which];
    bool found = sqlite3_step(prepared) == SQLITE_ROW;
    if (found) {
        *value = sqlite3_column_int64(prepared, 0);
    }
    return sqlite3_reset(prepared) == SQLITE_OK && found ? STORE_OK : STORE_ERROR;
}

/* Runs `step`, which changes both accounts, in a transaction: both or none. */
static enum store_status in_transaction(struct store *store, const struct transfer *transfer,
                                        enum store_status (*step)(struct store *,
                                                                  const struct transfer *)) {
    if (store_execute(store, BEGIN) != STORE_OK) {
        return STORE_ERROR;
    }
    enum store_status status = step(store, transfer);
    if (status == STORE_OK) {
        status = store_execute(store, COMMIT);
    }
    if (status != STORE_OK && sqlite3_get_autocommit(store->database) == 0) {
        (void)store_execute(store, ROLLBACK);
    }
    return status;
}

/* ---- Transfers ---------------------------------------------------------- */

static enum store_status claim(struct store *store, const struct leg *leg) {
    bind(store, CLAIM, ":account", leg->account);
    bind(store, CLAIM, ":token", leg->token);
    return execute_fenced(store, CLAIM);
}

static enum store_status claim_both(struct store *store, const struct transfer *transfer) {
    enum store_status status = claim(store, &transfer->from);
    return status == STORE_OK ? claim(store, &transfer->to) : status;
}

static enum store_status read_balance(struct store *store, struct leg *leg) {
    bind(store, READ, ":account", leg->account);
    return read_number(store, READ, &leg->balance);
}

enum store_status store_claim_and_read(struct store *store, struct transfer *transfer) {
    enum store_status status = in_transaction(store, transfer, claim_both);
    if (status == STORE_OK) {
        status = read_balance(store, &transfer->from);
    }
    return status == STORE_OK ? read_balance(store, &transfer->to) : status;
}

static enum store_status write_balance(struct store *store, const struct leg *leg,
                                       int64_t balance) {
    bind(store, WRITE, ":account", leg->account);
    bind(store, WRITE, ":token", leg->token);
    bind(store, WRITE, ":balance", balance);
    return execute_fenced(store, WRITE);
}

static enum store_status store_add(struct store *store, const struct transfer *transfer) {
    bind(store, ADD, ":id", transfer->number);
    bind(store, ADD, ":source", transfer->from.account);
    bind(store, ADD, ":target", transfer->to.account);
    bind(store, ADD, ":amount", transfer->amount);
    return store_execute(store, ADD);
}

static enum store_status write_both(struct store *store, const struct transfer *transfer) {
    const struct leg *from = &transfer->from;
    const struct leg *to = &transfer->to;
    enum store_status status = write_balance(store, from, from->balance - transfer->amount);
    if (status == STORE_OK) {
        status = write_balance(store, to, to->balance + transfer->amount);
    }
    return status == STORE_OK ? store_add(store, transfer) : status;
}

enum store_status store_write(struct store *store, const struct transfer *transfer) {
    return in_transaction(store, transfer, write_both);
}

/* ---- The books ----------------------------------------------------------- */

enum store_status store_has(struct store *store, int number, bool *has) {
    int64_t count = 0;
    bind(store, HAS, ":id", number);
    enum store_status status = read_number(store, HAS, &count);
    *has = count > 0;
    return status;
}

enum store_status store_audit(struct store *store, int64_t first_balance, struct audit *audit) {
    bind(store, WRONG, ":balance", first_balance);
    enum store_status status = read_number(store, TOTAL, &audit->total);
    if (status == STORE_OK) {
        status = read_number(store, NEGATIVE, &audit->negative);
    }
    return status == STORE_OK ? read_number(store, WRONG, &audit->wrong) : status;
}
