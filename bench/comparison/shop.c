#include "shop.h"

#include "database.h"
#include "mechanism.h"

#include <inttypes.h>
#include <stdio.h>

shop_answer shop_claim(const char *product, int64_t token) {
    int64_t rows = database_run("UPDATE stock SET fence = %" PRId64
                                " WHERE product = '%s' AND fence <= %" PRId64,
                                token, product, token);
    return rows == 1 ? SHOP_DONE : rows == 0 ? SHOP_REFUSED : SHOP_UNKNOWN;
}

shop_answer shop_read(const char *product, shop_sight *sight) {
    int64_t seen[2] = { 0, 0 };
    int64_t rows = database_ask(seen, 2, "SELECT units, %s FROM stock WHERE product = '%s'",
                                database_now_us, product);
    sight->units = seen[0];
    sight->at_us = seen[1];
    return rows == 1 ? SHOP_DONE : SHOP_UNKNOWN;
}

shop_answer shop_has(const char *order, bool *has) {
    int64_t rows = database_run("SELECT 1 FROM sale WHERE id = '%s'", order);
    *has = rows > 0;
    return rows >= 0 ? SHOP_DONE : SHOP_UNKNOWN;
}

shop_answer shop_note(const char *product, const char *order, const shop_sight *sight,
                      int64_t token) {
    int64_t rows =
        database_run("INSERT INTO sale (id, product, units_seen, token, read_at, written_at)"
                     " VALUES ('%s', '%s', %" PRId64 ", %" PRId64 ", %" PRId64 ", %s)",
                     order, product, sight->units, token, sight->at_us, database_now_us);
    return rows == 1 ? SHOP_DONE : SHOP_UNKNOWN;
}

static shop_answer write_down(const char *product, const char *order, const shop_sight *sight,
                              int64_t token) {
    char fence[64] = "";
    if (token != LOCK_NO_TOKEN) {
        (void)snprintf(fence, sizeof fence, " AND fence = %" PRId64, token);
    }
    int64_t rows = database_run("UPDATE stock SET units = %" PRId64 " WHERE product = '%s'%s",
                                sight->units - 1, product, fence);
    if (rows != 1) {
        return rows == 0 ? SHOP_REFUSED : SHOP_UNKNOWN;
    }
    return shop_note(product, order, sight, token);
}

shop_answer shop_sell(const char *product, const char *order, const shop_sight *sight,
                      int64_t token, bool in_transaction) {
    if (!in_transaction && database_run("BEGIN") < 0) {
        return SHOP_UNKNOWN;
    }
    shop_answer answer = write_down(product, order, sight, token);
    if (in_transaction) {
        return answer;
    }
    if (answer != SHOP_DONE) {
        (void)database_run("ROLLBACK");
        return answer;
    }
    return database_run("COMMIT") < 0 ? SHOP_UNKNOWN : SHOP_DONE;
}
