#include "shop.h"

#include "database.h"
#include "mechanism.h"

#include <inttypes.h>
#include <stdio.h>

static shop_answer changed(int64_t rows) {
    return rows == 1 ? SHOP_DONE : rows == 0 ? SHOP_REFUSED : SHOP_UNKNOWN;
}

shop_answer shop_claim(const char *product, int64_t token) {
    return changed(database_run("UPDATE stock SET fence = %" PRId64
                                " WHERE product = '%s' AND fence <= %" PRId64,
                                token, product, token));
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

static shop_answer take_units(const shop_order *order, const shop_sight *sight, int64_t token) {
    char fence[64] = "";
    if (the_mechanism.sell != NULL) {
        return changed(the_mechanism.sell(order->product, order->units, sight->units));
    }
    if (token != LOCK_NO_TOKEN) {
        (void)snprintf(fence, sizeof fence, " AND fence = %" PRId64, token);
    }
    return changed(database_run("UPDATE stock SET units = %" PRId64 " WHERE product = '%s'%s",
                                sight->units - order->units, order->product, fence));
}

static shop_answer note_order(const shop_order *order, const shop_sight *sight, int64_t token) {
    int64_t rows =
        database_run("INSERT INTO sale (id, product, units, units_seen, token, read_at, written_at)"
                     " VALUES ('%s', '%s', %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 ", %s)",
                     order->id, order->product, order->units, sight->units, token, sight->at_us,
                     database_now_us);
    return rows == 1 ? SHOP_DONE : SHOP_UNKNOWN;
}

shop_answer shop_sell(const shop_order *order, const shop_sight *sight, int64_t token,
                      bool commits) {
    if (!the_mechanism.holds_transaction && database_run("BEGIN") < 0) {
        return SHOP_UNKNOWN;
    }
    shop_answer answer = take_units(order, sight, token);
    if (answer == SHOP_DONE) {
        answer = note_order(order, sight, token);
    }
    /* A release commits what is open: nothing may be left of a sale that has failed. */
    if (answer != SHOP_DONE) {
        (void)database_run("ROLLBACK");
        return answer;
    }
    bool stays_open = the_mechanism.holds_transaction && !commits;
    return !stays_open && database_run("COMMIT") < 0 ? SHOP_UNKNOWN : SHOP_DONE;
}
