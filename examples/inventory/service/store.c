#include "store.h"

#include <stdio.h>
#include <string.h>

static const char schema[] =
    "CREATE TABLE IF NOT EXISTS products (sku TEXT PRIMARY KEY, name TEXT NOT NULL,"
    " segments INTEGER NOT NULL CHECK (segments BETWEEN 1 AND 32), stocked BIGINT NOT NULL);"
    "CREATE TABLE IF NOT EXISTS segments (sku TEXT NOT NULL, segment INTEGER NOT NULL,"
    " quantity BIGINT NOT NULL, fence BIGINT NOT NULL DEFAULT 0, sold BIGINT,"
    " PRIMARY KEY (sku, segment));"
    "CREATE TABLE IF NOT EXISTS orders (key TEXT PRIMARY KEY, buyer TEXT NOT NULL,"
    " instance TEXT NOT NULL, content TEXT NOT NULL, token BIGINT NOT NULL, number BIGINT NOT "
    "NULL);"
    "CREATE TABLE IF NOT EXISTS order_parts (key TEXT NOT NULL, sku TEXT NOT NULL,"
    " segment INTEGER NOT NULL, units BIGINT NOT NULL, PRIMARY KEY (key, sku, segment));"
    "CREATE INDEX IF NOT EXISTS orders_by_number ON orders (number);"
    "CREATE INDEX IF NOT EXISTS parts_by_sku ON order_parts (sku);"
    "CREATE TABLE IF NOT EXISTS refusals (number BIGINT NOT NULL, sku TEXT NOT NULL, key TEXT NOT "
    "NULL,"
    " instance TEXT NOT NULL, token BIGINT NOT NULL, fence BIGINT NOT NULL);"
    "CREATE TABLE IF NOT EXISTS instances (name TEXT PRIMARY KEY, url TEXT NOT NULL, beat BIGINT)";

/* Add the columns that tables of earlier versions lack. `sold` stays NULL until something of the
 * segment is sold, see SOLD. */
static const char *const later_columns[] = { "ALTER TABLE segments ADD COLUMN sold BIGINT",
                                             "ALTER TABLE instances ADD COLUMN beat BIGINT" };

/* This fails if a table or a column is missing. */
static const char look[] =
    "SELECT p.stocked, s.sold, o.number, t.units, r.fence, i.beat FROM products p, segments s,"
    " orders o, order_parts t, refusals r, instances i LIMIT 0";

/* Makes the tables, unless they exist: a role that may not make tables can use them. Two instances
 * that make them at once may collide on PostgreSQL: then the other one has made them. */
store_status store_make_tables(database *self) {
    if (database_execute(self, look) == DATABASE_OK) {
        return STORE_OK;
    }
    if (database_execute(self, schema) != DATABASE_OK ||
        database_execute(self, look) != DATABASE_OK) {
        for (size_t i = 0; i < sizeof(later_columns) / sizeof(later_columns[0]); i++) {
            (void)database_execute(self, later_columns[i]); /* it fails where the column is there */
        }
    }
    return database_execute(self, look) == DATABASE_OK ? STORE_OK : STORE_ERROR;
}

/* ---- Statements ------------------------------------------------------------------------------ */

#define TEXT(given) ((database_value){ .text = (given) })
#define NUMBER(given) ((database_value){ .number = (given) })

static store_status store_status_of(database_status status) {
    return status == DATABASE_OK       ? STORE_OK
           : status == DATABASE_EXISTS ? STORE_EXISTS
                                       : STORE_ERROR;
}

static store_status change(database *self, const char *sql, const database_value *values,
                           size_t count, int64_t *changed) {
    const database_call call = { .sql = sql, .values = values, .count = count };
    return store_status_of(database_run(self, &call, changed));
}

static store_status query(database *self, const char *sql, const database_value *values,
                          size_t count, database_row_callback *row, void *arg) {
    const database_call call = { sql, values, count, row, arg };
    return store_status_of(database_run(self, &call, NULL));
}

static void copy_column(char *room, size_t size, const database_row *row, int column) {
    (void)snprintf(room, size, "%s", database_row_text(row, column));
}

/* Ends the transaction as the status says. */
static store_status store_end(database *self, store_status status) {
    if (status == STORE_OK) {
        status = store_status_of(database_commit(self));
    }
    if (status != STORE_OK) {
        database_roll_back(self);
    }
    return status;
}

/* ---- Products -------------------------------------------------------------------------------- */

static store_status add_segments(database *self, const product *one) {
    store_status status = STORE_OK;
    for (int i = 0; i < one->segments && status == STORE_OK; i++) {
        int64_t each = one->stocked / one->segments + (i < one->stocked % one->segments ? 1 : 0);
        const database_value values[] = { TEXT(one->sku), NUMBER(i), NUMBER(each) };
        status = change(self,
                        "INSERT INTO segments (sku, segment, quantity, sold)"
                        " VALUES ($1, $2, $3, 0)",
                        values, 3, NULL);
    }
    return status;
}

store_status store_add_product(database *self, const product *one) {
    if (database_begin(self) != DATABASE_OK) {
        return STORE_ERROR;
    }
    const database_value values[] = { TEXT(one->sku), TEXT(one->name), NUMBER(one->segments),
                                      NUMBER(one->stocked) };
    store_status status =
        change(self, "INSERT INTO products (sku, name, segments, stocked) VALUES ($1, $2, $3, $4)",
               values, 4, NULL);
    return store_end(self, status == STORE_OK ? add_segments(self, one) : status);
}

/* What was sold of a segment. If the column is NULL it is counted from the orders. */
#define SOLD                                                                                       \
    "coalesce(sold, (SELECT coalesce(sum(o.units), 0) FROM order_parts o"                          \
    " WHERE o.sku = segments.sku AND o.segment = segments.segment AND o.units > 0))"

#define PRODUCT_COLUMNS                                                                            \
    "SELECT p.sku, p.name, p.segments, p.stocked,"                                                 \
    " (SELECT coalesce(sum(quantity), 0) FROM segments WHERE segments.sku = p.sku),"               \
    " (SELECT coalesce(sum(" SOLD "), 0) FROM segments WHERE segments.sku = p.sku)"                \
    " FROM products p "

static product product_of(const database_row *row) {
    product one = { .segments = (int)database_row_number(row, 2),
                    .stocked = database_row_number(row, 3),
                    .left = database_row_number(row, 4),
                    .sold = database_row_number(row, 5) };
    copy_column(one.sku, sizeof(one.sku), row, 0);
    copy_column(one.name, sizeof(one.name), row, 1);
    return one;
}

static void take_product(void *arg, const database_row *row) {
    *(product *)arg = product_of(row);
}

store_status store_find_product(database *self, const char *sku, product *found) {
    const database_value values[] = { TEXT(sku) };
    found->segments = 0;
    store_status status =
        query(self, PRODUCT_COLUMNS "WHERE p.sku = $1", values, 1, take_product, found);
    return status == STORE_OK && found->segments == 0 ? STORE_NOT_FOUND : status;
}

typedef struct product_list {
    void (*tell)(void *arg, const product *one);
    void *arg;
} product_list;

static void tell_product(void *arg, const database_row *row) {
    const product_list *list = arg;
    product one = product_of(row);
    list->tell(list->arg, &one);
}

store_status store_list_products(database *self, void (*tell)(void *arg, const product *one),
                                 void *arg) {
    product_list list = { tell, arg };
    return query(self, PRODUCT_COLUMNS "ORDER BY p.sku", NULL, 0, tell_product, &list);
}

static void take_segment(void *arg, const database_row *row) {
    int64_t *left = arg;
    int64_t segment = database_row_number(row, 0);
    if (segment >= 0 && segment < SEGMENTS_MAX) {
        left[segment] = database_row_number(row, 1);
    }
}

store_status store_look_at_segments(database *self, const char *sku, int64_t left[SEGMENTS_MAX]) {
    const database_value values[] = { TEXT(sku) };
    for (int i = 0; i < SEGMENTS_MAX; i++) {
        left[i] = -1;
    }
    return query(self, "SELECT segment, quantity FROM segments WHERE sku = $1", values, 1,
                 take_segment, left);
}

static void take_number(void *arg, const database_row *row) {
    *(int64_t *)arg = database_row_number(row, 0);
}

store_status store_find_fence(database *self, const char *sku, int64_t *fence) {
    const database_value values[] = { TEXT(sku) };
    *fence = 0;
    return query(self, "SELECT max(fence) FROM segments WHERE sku = $1", values, 1, take_number,
                 fence);
}

/* ---- Orders ---------------------------------------------------------------------------------- */

static void take_order(void *arg, const database_row *row) {
    order_record *found = arg;
    copy_column(found->key, sizeof(found->key), row, 0);
    copy_column(found->buyer, sizeof(found->buyer), row, 1);
    copy_column(found->instance, sizeof(found->instance), row, 2);
    copy_column(found->content, sizeof(found->content), row, 3);
    found->token = database_row_number(row, 4);
}

store_status store_find_order(database *self, const char *key, order_record *found) {
    const database_value values[] = { TEXT(key) };
    found->key[0] = '\0';
    store_status status =
        query(self, "SELECT key, buyer, instance, content, token FROM orders WHERE key = $1",
              values, 1, take_order, found);
    return status == STORE_OK && found->key[0] == '\0' ? STORE_NOT_FOUND : status;
}

typedef struct order_list {
    void (*tell)(void *arg, const order_record *one, int64_t units);
    void *arg;
} order_list;

static void tell_order(void *arg, const database_row *row) {
    const order_list *list = arg;
    order_record one;
    take_order(&one, row);
    list->tell(list->arg, &one, database_row_number(row, 5));
}

store_status store_list_orders(database *self, int64_t limit,
                               void (*tell)(void *arg, const order_record *one, int64_t units),
                               void *arg) {
    const database_value values[] = { NUMBER(limit) };
    order_list list = { tell, arg };
    return query(self,
                 "SELECT o.key, o.buyer, o.instance, o.content, o.token,"
                 " (SELECT coalesce(sum(p.units), 0) FROM order_parts p WHERE p.key = o.key)"
                 " FROM orders o ORDER BY o.number DESC LIMIT $1",
                 values, 1, tell_order, &list);
}

/* ---- Selling --------------------------------------------------------------------------------- */

/* Claims a part and reads it in one statement, so that no read comes before the claim. */
static store_status claim_one(database *self, int64_t token, part *one) {
    const database_value values[] = { TEXT(one->sku), NUMBER(one->segment), NUMBER(token) };
    one->quantity = -1;
    store_status status =
        query(self,
              "UPDATE segments SET fence = $3 WHERE sku = $1 AND segment = $2 AND fence <= $3"
              " RETURNING quantity",
              values, 3, take_number, &one->quantity);
    return status == STORE_OK && one->quantity < 0 ? STORE_FENCED_OFF : status;
}

store_status store_claim(database *self, int64_t token, part *parts, size_t count) {
    if (database_begin(self) != DATABASE_OK) {
        return STORE_ERROR;
    }
    store_status status = STORE_OK;
    for (size_t i = 0; i < count && status == STORE_OK; i++) {
        status = claim_one(self, token, &parts[i]);
    }
    return store_end(self, status);
}

static const char guarded[] = "UPDATE segments SET quantity = $3, sold = " SOLD " + $5"
                              " WHERE sku = $1 AND segment = $2 AND fence = $4";
static store_status write_part(database *self, const order_record *order, const part *one) {
    int64_t changed = 0;
    const database_value left[] = { TEXT(one->sku), NUMBER(one->segment),
                                    NUMBER(one->quantity - one->takes), NUMBER(order->token),
                                    NUMBER(one->takes > 0 ? one->takes : 0) };
    store_status status = change(self, guarded, left, 5, &changed);
    if (status == STORE_OK && changed == 0) {
        return STORE_FENCED_OFF;
    }
    const database_value taken[] = { TEXT(order->key), TEXT(one->sku), NUMBER(one->segment),
                                     NUMBER(one->takes) };
    return status == STORE_OK
               ? change(
                     self,
                     "INSERT INTO order_parts (key, sku, segment, units) VALUES ($1, $2, $3, $4)",
                     taken, 4, NULL)
               : status;
}

/* Adds what a restock brings to what was ever in stock. */
static store_status write_stocked(database *self, const order_line *lines, const part *one) {
    const database_value values[] = { TEXT(lines[one->line].sku), NUMBER(-one->takes) };
    return one->takes < 0
               ? change(self, "UPDATE products SET stocked = stocked + $2 WHERE sku = $1", values,
                        2, NULL)
               : STORE_OK;
}

/* Writes an order, and its parts. The order comes first: if its key exists, nothing else is looked
 * at. */
static store_status write_all(database *self, const order_record *order, const order_line *lines,
                              const part *parts, size_t count) {
    const database_value values[] = { TEXT(order->key), TEXT(order->buyer), TEXT(order->instance),
                                      TEXT(order->content), NUMBER(order->token) };
    store_status status =
        change(self,
               "INSERT INTO orders (key, buyer, instance, content, token, number)"
               " VALUES ($1, $2, $3, $4, $5, (SELECT coalesce(max(number), 0) + 1 FROM orders))",
               values, 5, NULL);
    for (size_t i = 0; i < count && status == STORE_OK; i++) {
        status = parts[i].takes != 0 ? write_part(self, order, &parts[i]) : STORE_OK;
        status = status == STORE_OK ? write_stocked(self, lines, &parts[i]) : status;
    }
    return status;
}

store_status store_write(database *self, const order_record *order, const order_line *lines,
                         const part *parts, size_t count) {
    if (database_begin(self) != DATABASE_OK) {
        return STORE_ERROR;
    }
    return store_end(self, write_all(self, order, lines, parts, count));
}

store_status store_note_refusal(database *self, const char *sku, const order_record *order,
                                int64_t fence) {
    const database_value values[] = { TEXT(sku), TEXT(order->key), TEXT(order->instance),
                                      NUMBER(order->token), NUMBER(fence) };
    return change(self,
                  "INSERT INTO refusals (number, sku, key, instance, token, fence) VALUES"
                  " ((SELECT coalesce(max(number), 0) + 1 FROM refusals), $1, $2, $3, $4, $5)",
                  values, 5, NULL);
}

/* ---- Instances ------------------------------------------------------------------------------- */

/* These change nothing, but wait for whoever has locked a table that orders are written to. */
static const char *const touches[] = { "UPDATE segments SET fence = fence WHERE 1 = 0",
                                       "UPDATE orders SET token = token WHERE 1 = 0",
                                       "UPDATE order_parts SET units = units WHERE 1 = 0" };

/* Notes the instance. The row is deleted first, as SQLite does not write a row that stays as it is.
 */
store_status store_note_instance(database *self, const char *name, const char *url, int64_t beat) {
    const database_value values[] = { TEXT(name), TEXT(url), NUMBER(beat) };
    if (database_begin(self) != DATABASE_OK) {
        return STORE_ERROR;
    }
    store_status status = change(self, "DELETE FROM instances WHERE name = $1", values, 1, NULL);
    for (size_t i = 0; i < sizeof(touches) / sizeof(touches[0]) && status == STORE_OK; i++) {
        status = change(self, touches[i], NULL, 0, NULL);
    }
    return store_end(self,
                     status == STORE_OK
                         ? change(self,
                                  "INSERT INTO instances (name, url, beat) VALUES ($1, $2, $3)"
                                  " ON CONFLICT (name) DO UPDATE SET url = $2, beat = $3",
                                  values, 3, NULL)
                         : status);
}

store_status store_forget_instance(database *self, const char *name) {
    const database_value values[] = { TEXT(name) };
    return change(self, "DELETE FROM instances WHERE name = $1", values, 1, NULL);
}

typedef struct instance_list {
    void (*tell)(void *arg, const char *name, const char *url, int64_t beat);
    void *arg;
} instance_list;

static void tell_instance(void *arg, const database_row *row) {
    const instance_list *list = arg;
    list->tell(list->arg, database_row_text(row, 0), database_row_text(row, 1),
               database_row_number(row, 2));
}

store_status store_list_instances(database *self,
                                  void (*tell)(void *arg, const char *name, const char *url,
                                               int64_t beat),
                                  void *arg) {
    instance_list list = { tell, arg };
    return query(self, "SELECT name, url, beat FROM instances ORDER BY name", NULL, 0,
                 tell_instance, &list);
}
