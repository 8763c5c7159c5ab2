#include "store.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

enum { BUSY_TIMEOUT_MS = 20000 };

/* Every statement of a connection, with its SQL, from this one list. */
#define STATEMENT_LIST(X)                                                                          \
    X(READ_QUANTITY, "SELECT quantity FROM stock")                                                 \
    X(READ_SOLD, "SELECT coalesce(sum(units), 0) FROM orders")                                     \
    X(READ_FENCE, "SELECT fence FROM stock")                                                       \
    X(CLAIM, "UPDATE stock SET fence = :token WHERE fence <= :token")                              \
    X(WRITE_UNGUARDED, "UPDATE stock SET quantity = :quantity")                                    \
    X(WRITE_CLAIMED, "UPDATE stock SET quantity = :quantity WHERE fence = :token")                 \
    X(WRITE_CHECKED_AT_WRITE,                                                                      \
      "UPDATE stock SET quantity = :quantity, fence = :token WHERE fence <= :token")               \
    X(ADD_ORDER, "INSERT INTO orders (buyer, units, token) VALUES (:buyer, :units, :token)")       \
    X(BEGIN, "BEGIN IMMEDIATE")                                                                    \
    X(COMMIT, "COMMIT")                                                                            \
    X(ROLLBACK, "ROLLBACK")

typedef enum statement {
#define STATEMENT_ENUM(name, sql) name,
    STATEMENT_LIST(STATEMENT_ENUM)
#undef STATEMENT_ENUM
        STATEMENT_COUNT
} statement;

static const char *const statement_sql[STATEMENT_COUNT] = {
#define STATEMENT_SQL(name, sql) [name] = (sql),
    STATEMENT_LIST(STATEMENT_SQL)
#undef STATEMENT_SQL
};

static const char schema_sql[] =
    "PRAGMA journal_mode = WAL;"
    "CREATE TABLE stock (quantity INTEGER NOT NULL, fence INTEGER NOT NULL DEFAULT 0);"
    "CREATE TABLE orders (id INTEGER PRIMARY KEY, buyer TEXT NOT NULL, units INTEGER NOT NULL,"
    " token INTEGER NOT NULL);";

struct store {
    sqlite3 *database;
    sqlite3_stmt *statements[STATEMENT_COUNT];
};

/* ---- Opening and closing ---------------------------------------------- */

static store_status connect_to(const char *path, int flags, struct store **opened) {
    struct store *store = calloc(1, sizeof(*store));
    *opened = store;
    if (store == NULL) {
        return STORE_ERROR;
    }
    if (sqlite3_open_v2(path, &store->database, flags, NULL) != SQLITE_OK ||
        sqlite3_busy_timeout(store->database, BUSY_TIMEOUT_MS) != SQLITE_OK) {
        return STORE_ERROR;
    }
    /* A sale need not survive a power cut of this machine; with WAL it survives a crash of any
     * process all the same. */
    int result = sqlite3_exec(store->database, "PRAGMA synchronous = NORMAL", NULL, NULL, NULL);
    return result == SQLITE_OK ? STORE_OK : STORE_ERROR;
}

static store_status fill(struct store *store, int quantity) {
    if (sqlite3_exec(store->database, schema_sql, NULL, NULL, NULL) != SQLITE_OK) {
        return STORE_ERROR;
    }
    sqlite3_stmt *insert = NULL;
    static const char sql[] = "INSERT INTO stock (quantity) VALUES (?1)";
    if (sqlite3_prepare_v2(store->database, sql, -1, &insert, NULL) != SQLITE_OK) {
        return STORE_ERROR;
    }
    sqlite3_bind_int(insert, 1, quantity);
    sqlite3_step(insert);
    return sqlite3_finalize(insert) == SQLITE_OK ? STORE_OK : STORE_ERROR;
}

store_status store_create(const char *path, int quantity) {
    struct store *store = NULL;
    store_status status = connect_to(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &store);
    if (status == STORE_OK) {
        status = fill(store, quantity);
    }
    store_close(store);
    return status;
}

store_status store_open(const char *path, struct store **opened) {
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

/* Binds only what the statement names. */
static void bind_integer(sqlite3_stmt *prepared, const char *name, int64_t value) {
    int place = sqlite3_bind_parameter_index(prepared, name);
    if (place != 0) {
        sqlite3_bind_int64(prepared, place, value);
    }
}

static void bind_text(sqlite3_stmt *prepared, const char *name, const char *value) {
    int place = sqlite3_bind_parameter_index(prepared, name);
    if (place != 0) {
        sqlite3_bind_text(prepared, place, value, -1, SQLITE_TRANSIENT);
    }
}

static store_status read_integer(struct store *store, statement which, int64_t *value) {
    sqlite3_stmt *prepared = store->statements[which];
    bool found = sqlite3_step(prepared) == SQLITE_ROW;
    if (found) {
        *value = sqlite3_column_int64(prepared, 0);
    }
    /* The reset ends the read transaction; it repeats the step's error, if there was one. */
    return sqlite3_reset(prepared) == SQLITE_OK && found ? STORE_OK : STORE_ERROR;
}

static store_status execute(struct store *store, statement which) {
    sqlite3_stmt *prepared = store->statements[which];
    sqlite3_step(prepared);
    return sqlite3_reset(prepared) == SQLITE_OK ? STORE_OK : STORE_ERROR;
}

/* Executes an UPDATE of the stock; if it changed no row, its WHERE refused it. */
static store_status execute_fenced(struct store *store, statement which) {
    if (execute(store, which) != STORE_OK) {
        return STORE_ERROR;
    }
    return sqlite3_changes(store->database) == 1 ? STORE_OK : STORE_FENCED_OFF;
}

/* ---- Reading ----------------------------------------------------------- */

static store_status read_int(struct store *store, statement which, int *value) {
    int64_t wide = 0;
    store_status status = read_integer(store, which, &wide);
    *value = (int)wide;
    return status;
}

store_status store_read_quantity(struct store *store, int *quantity) {
    return read_int(store, READ_QUANTITY, quantity);
}

store_status store_read_sold(struct store *store, int *sold) {
    return read_int(store, READ_SOLD, sold);
}

store_status store_read_fence(struct store *store, int64_t *fence) {
    return read_integer(store, READ_FENCE, fence);
}

/* ---- Writing ----------------------------------------------------------- */

store_status store_claim(struct store *store, int64_t token) {
    bind_integer(store->statements[CLAIM], ":token", token);
    return execute_fenced(store, CLAIM);
}

static store_status write_stock_and_order(struct store *store, statement write,
                                          const struct store_sale *sale) {
    sqlite3_stmt *stock = store->statements[write];
    bind_integer(stock, ":quantity", sale->quantity_left);
    bind_integer(stock, ":token", sale->token);
    store_status status = execute_fenced(store, write);
    if (status != STORE_OK) {
        return status;
    }
    sqlite3_stmt *order = store->statements[ADD_ORDER];
    bind_text(order, ":buyer", sale->buyer);
    bind_integer(order, ":units", sale->units);
    bind_integer(order, ":token", sale->token);
    return execute(store, ADD_ORDER);
}

/* The stock and the order in one transaction: a refused write of the stock refuses the order. */
static store_status sell(struct store *store, statement write, const struct store_sale *sale) {
    if (execute(store, BEGIN) != STORE_OK) {
        return STORE_ERROR;
    }
    store_status status = write_stock_and_order(store, write, sale);
    if (status == STORE_OK) {
        status = execute(store, COMMIT);
    }
    if (status != STORE_OK && sqlite3_get_autocommit(store->database) == 0) {
        (void)execute(store, ROLLBACK);
    }
    return status;
}

store_status store_sell_unguarded(struct store *store, const struct store_sale *sale) {
    return sell(store, WRITE_UNGUARDED, sale);
}

store_status store_sell_claimed(struct store *store, const struct store_sale *sale) {
    return sell(store, WRITE_CLAIMED, sale);
}

store_status store_sell_checked_at_write(struct store *store, const struct store_sale *sale) {
    return sell(store, WRITE_CHECKED_AT_WRITE, sale);
}
