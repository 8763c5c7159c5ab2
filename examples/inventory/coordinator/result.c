#include "result.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "../clock.h"
#include "../store.h"

void result_blame(struct result *result, const char *format, ...) {
    if (result->problem[0] != '\0') {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    /* clang-tidy 14 is wrong about va_list in all but the first file that it is given. */
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
    (void)vsnprintf(result->problem, sizeof(result->problem), format, arguments);
    va_end(arguments);
}

/* ---- Counting ---------------------------------------------------------- */

static void read_books(struct result *result, const struct run_plan *plan) {
    struct store *store = NULL;
    if (store_open(plan->database, &store) != STORE_OK ||
        store_read_sold(store, &result->sold) != STORE_OK ||
        store_read_quantity(store, &result->quantity_left) != STORE_OK) {
        result_blame(result, "read the books: %s", store_error(store));
    }
    store_close(store);
    int beyond = result->sold - plan->scenario->stock;
    result->oversold = beyond > 0 ? beyond : 0;
}

static bool is_consistent(const struct request *query, const struct scenario *scenario) {
    return query->quantity_seen + query->sold_seen == scenario->stock;
}

static void count_requests(struct result *result, const struct run_plan *plan) {
    struct board *board = plan->board;
    result->queries = board->queries.made;
    result->wrong_queries = board->queries.wrong;
    result->fenced_off = board->queries.fenced_off;
    for (int i = 0; i < plan->scenario->requests; i++) {
        const struct request *request = &board->requests[i];
        result->refused += request->outcome == REFUSED ? 1 : 0;
        result->fenced_off += request->times_fenced_off;
        if (request->outcome == ANSWERED) {
            result->queries++;
            result->wrong_queries += is_consistent(request, plan->scenario) ? 0 : 1;
        }
    }
}

static void time_run(struct result *result, const struct run_plan *plan) {
    int64_t last_ns = plan->board->started_ns;
    for (int i = 0; i < plan->scenario->requests; i++) {
        int64_t finished_ns = plan->board->requests[i].finished_ns;
        last_ns = finished_ns > last_ns ? finished_ns : last_ns;
    }
    result->seconds = (double)(last_ns - plan->board->started_ns) / (1000.0 * NS_PER_MS);
    if (result->seconds > 0) {
        result->requests_per_second = plan->scenario->requests / result->seconds;
    }
}

static int compare_waits(const void *left, const void *right) {
    int64_t a = *(const int64_t *)left;
    int64_t b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

/* The nearest rank: the smallest wait that at least `percent` of all do not exceed. */
static double percentile_ms(const int64_t *sorted_ns, int count, int percent) {
    int rank = (count * percent + 99) / 100;
    return (double)sorted_ns[rank - 1] / NS_PER_MS;
}

static void time_waits(struct result *result, const struct run_plan *plan) {
    int64_t waits_ns[BOARD_REQUESTS_MAX] = { 0 };
    int count = plan->scenario->requests;
    for (int i = 0; i < count; i++) {
        waits_ns[i] = plan->board->requests[i].waited_ns;
    }
    qsort(waits_ns, (size_t)count, sizeof(waits_ns[0]), compare_waits);
    result->wait_p50_ms = percentile_ms(waits_ns, count, 50);
    result->wait_p99_ms = percentile_ms(waits_ns, count, 99);
}

/* ---- Judging ----------------------------------------------------------- */

static void judge_all_decided(struct result *result, const struct run_plan *plan) {
    for (int i = 0; i < plan->scenario->requests; i++) {
        if (plan->board->requests[i].outcome == UNDECIDED) {
            result_blame(result, "%s got no answer", plan->board->requests[i].name);
        }
    }
}

static bool asks_queries(const struct scenario *scenario) {
    for (int i = 0; scenario->customers != NULL && i < scenario->requests; i++) {
        if (scenario->customers[i].kind == QUERY) {
            return true;
        }
    }
    return false;
}

static void judge_oversold(struct result *result) {
    if (result->oversold == 0) {
        result_blame(result, "did not oversell, although nothing prevented it");
    }
    if (result->guard == GUARD_NONE && asks_queries(result->scenario) &&
        result->wrong_queries == 0) {
        result_blame(result, "the query was right, although nothing protected it");
    }
}

/* Tokens follow the queue: when they rise from request to request, so did the queue. */
static void judge_order(struct result *result, const struct run_plan *plan) {
    const struct request *requests = plan->board->requests;
    for (int i = 1; i < plan->scenario->requests; i++) {
        if (requests[i].token <= requests[i - 1].token) {
            result_blame(result, "%s did not queue after %s", requests[i].name,
                         requests[i - 1].name);
        }
    }
}

/* Each one's own result; a query in order sees exactly the purchases before it. */
static void judge_customers(struct result *result, const struct run_plan *plan) {
    int sold = 0;
    for (int i = 0; i < plan->scenario->requests; i++) {
        const struct customer *customer = &plan->scenario->customers[i];
        const struct request *request = &plan->board->requests[i];
        if (request->outcome != (int)customer->expected) {
            result_blame(result, "%s was %s", customer->name,
                         request->outcome == SERVED ? "served" : "refused");
        }
        if (customer->kind == QUERY && request->sold_seen != sold) {
            result_blame(result, "%s saw %d sold instead of %d", customer->name, request->sold_seen,
                         sold);
        }
        sold += customer->expected == SERVED ? customer->units : 0;
    }
}

static void judge_locked(struct result *result, const struct run_plan *plan) {
    const struct scenario *scenario = plan->scenario;
    if (result->oversold > 0) {
        result_blame(result, "oversold by %d", result->oversold);
    }
    if (result->sold != scenario->sold_under_lock) {
        result_blame(result, "sold %d instead of %d", result->sold, scenario->sold_under_lock);
    }
    if (result->sold + result->quantity_left != scenario->stock) {
        result_blame(result, "%d sold and %d left do not make %d", result->sold,
                     result->quantity_left, scenario->stock);
    }
    if (result->wrong_queries > 0) {
        result_blame(result, "%d queries were wrong", result->wrong_queries);
    }
    if (scenario->in_order) {
        judge_order(result, plan);
    }
    if (scenario->customers != NULL) {
        judge_customers(result, plan);
    }
    if (scenario->pauses_holder && result->fenced_off == 0) {
        result_blame(result, "the stopped holder's write was not fenced off");
    }
}

bool result_is_right(const struct result *result) {
    return result->complete && result->problem[0] == '\0';
}

void result_collect(struct result *result, const struct run_plan *plan) {
    result->complete = true;
    read_books(result, plan);
    count_requests(result, plan);
    time_run(result, plan);
    time_waits(result, plan);
    judge_all_decided(result, plan);
    if (guard_must_oversell(plan->guard)) {
        judge_oversold(result);
    } else {
        judge_locked(result, plan);
    }
}
