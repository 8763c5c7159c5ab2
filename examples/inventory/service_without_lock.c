/*
 * The naive service. Overlap is forced: nobody writes before everyone of his
 * round has read, so that a sale that can oversell does.
 */
#include "service.h"

/* The requests are dealt out in rounds, one to each worker. */
static bool meet_round(struct contender *contender, int index) {
    const struct run_plan *plan = contender->server->plan;
    int workers = scenario_workers(plan->scenario);
    int round = index / workers;
    int rest = plan->scenario->requests - round * workers;
    struct gate *have_read = &plan->board->rounds[round];
    gate_raise(have_read);
    return contender_await(contender, have_read, rest < workers ? rest : workers,
                           "the other buyers to have read");
}

static bool purchase(struct contender *contender, struct request *request, int index) {
    struct board *board = contender->server->plan->board;
    store_status status = store_read_quantity(contender->store, &request->quantity_seen);
    if (contender_checked(contender, status, "read the stock") != STORE_OK ||
        !meet_round(contender, index)) {
        return false;
    }
    enum outcome outcome = request->quantity_seen >= request->units ? SERVED : REFUSED;
    if (outcome == SERVED) {
        struct store_sale sale = { .buyer = request->name,
                                   .units = request->units,
                                   .quantity_left = request->quantity_seen - request->units };
        status = store_sell_unguarded(contender->store, &sale);
    }
    if (contender_checked(contender, status, "write the stock") != STORE_OK) {
        return false;
    }
    request->outcome = (int)outcome;
    gate_raise(&board->settled);
    return true;
}

static int count_purchases(const struct run_plan *plan) {
    int purchases = 0;
    for (int i = 0; i < plan->scenario->requests; i++) {
        purchases += plan->board->requests[i].kind == PURCHASE ? 1 : 0;
    }
    return purchases;
}

/* Reads what is left before the purchases and what is sold after them. */
static bool query(struct contender *contender, struct request *request, int index) {
    const struct run_plan *plan = contender->server->plan;
    store_status status = store_read_quantity(contender->store, &request->quantity_seen);
    if (contender_checked(contender, status, "read the stock") != STORE_OK ||
        !meet_round(contender, index) ||
        !contender_await(contender, &plan->board->settled, count_purchases(plan),
                         "the purchases around the query")) {
        return false;
    }
    status = store_read_sold(contender->store, &request->sold_seen);
    request->outcome = ANSWERED;
    return contender_checked(contender, status, "read the orders") == STORE_OK;
}

bool serve_without_lock(struct contender *contender, int index) {
    struct request *request = &contender->server->plan->board->requests[index];
    return request->kind == PURCHASE ? purchase(contender, request, index)
                                     : query(contender, request, index);
}

bool query_without_lock(struct contender *contender) {
    const struct run_plan *plan = contender->server->plan;
    int quantity = 0;
    int sold = 0;
    store_status status = store_read_quantity(contender->store, &quantity);
    if (status == STORE_OK) {
        status = store_read_sold(contender->store, &sold);
    }
    atomic_fetch_add(&plan->board->queries.made, 1);
    if (quantity + sold != plan->scenario->stock) {
        atomic_fetch_add(&plan->board->queries.wrong, 1);
    }
    return contender_checked(contender, status, "query the stock") == STORE_OK;
}
