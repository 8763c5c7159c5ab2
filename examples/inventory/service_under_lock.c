/*
 * The same service under zklock.
 *
 * The holder claims the row with its token BEFORE it reads, and its write
 * requires that very token. It does not ask zkl_lock_check() before it writes:
 * a process may be stopped between any check and the write that follows, so
 * the store has to decide. (A service that can save work by it may ask.)
 */
#include "clock.h"
#include "service.h"

static bool fences_right(const struct contender *contender) {
    return contender->server->plan->guard == GUARD_ZKLOCK;
}

/* ---- Order and pauses that a scenario asks for ------------------------- */

/* In order: a request queues when the one before it stands in the queue. */
static bool await_turn(struct contender *contender, int index) {
    const struct run_plan *plan = contender->server->plan;
    if (plan->scenario->in_order) {
        contender->server->current = index;
        return contender_await(contender, &plan->board->queued, index,
                               "the request before it to stand in the queue");
    }
    if (plan->scenario->pauses_holder && index == 1) {
        return contender_await(contender, &plan->board->holder_stopped, 1,
                               "the holder to be stopped");
    }
    return true;
}

/* In order: the first holder begins when all the others stand in the queue behind it. */
static bool await_queue(struct contender *contender, int index) {
    const struct run_plan *plan = contender->server->plan;
    if (!plan->scenario->in_order) {
        return true;
    }
    gate_raise_to(&plan->board->queued, (uint32_t)index + 1);
    return contender_await(contender, &plan->board->queued, plan->scenario->requests,
                           "all requests to stand in the queue");
}

/* The holder is stopped here until its successor has read; the successor goes on when the holder
 * has tried to write. */
static bool pause_after_read(struct contender *contender, int index) {
    const struct run_plan *plan = contender->server->plan;
    if (!plan->scenario->pauses_holder) {
        return true;
    }
    if (index == 0) {
        gate_raise(&plan->board->holder_read);
        return contender_await(contender, &plan->board->holder_resumed, 1,
                               "the holder to be resumed");
    }
    gate_raise(&plan->board->successor_read);
    return contender_await(contender, &plan->board->holder_wrote, 1,
                           "the resumed holder to have tried to write");
}

/* ---- One attempt, while the lock is held ------------------------------- */

static store_status write_sale(struct contender *contender, const struct request *request) {
    struct store_sale sale = { .buyer = request->name,
                               .units = request->units,
                               .quantity_left = request->quantity_seen - request->units,
                               .token = request->token };
    return fences_right(contender) ? store_sell_claimed(contender->store, &sale)
                                   : store_sell_checked_at_write(contender->store, &sale);
}

static store_status claim(struct contender *contender, const struct request *request) {
    return fences_right(contender) ? store_claim(contender->store, request->token) : STORE_OK;
}

static store_status purchase(struct contender *contender, struct request *request, int index) {
    store_status status = claim(contender, request);
    if (status == STORE_OK) {
        status = store_read_quantity(contender->store, &request->quantity_seen);
    }
    if (status != STORE_OK) {
        return status;
    }
    if (!pause_after_read(contender, index)) {
        return STORE_ERROR;
    }
    if (request->quantity_seen < request->units) {
        request->outcome = REFUSED;
        return STORE_OK;
    }
    status = write_sale(contender, request);
    if (status == STORE_OK) {
        request->outcome = SERVED;
    }
    return status;
}

/* What is left and what is sold, in two steps. A reader never raises the fence; it only makes sure,
 * after its last read, that no later writer has claimed the stock in between. */
static store_status read_both(struct contender *contender, int64_t token, int *quantity,
                              int *sold) {
    int64_t fence = 0;
    store_status status = store_read_quantity(contender->store, quantity);
    if (status == STORE_OK) {
        status = store_read_sold(contender->store, sold);
    }
    if (status == STORE_OK) {
        status = store_read_fence(contender->store, &fence);
    }
    return status == STORE_OK && fence > token ? STORE_FENCED_OFF : status;
}

static store_status query(struct contender *contender, struct request *request) {
    store_status status =
        read_both(contender, request->token, &request->quantity_seen, &request->sold_seen);
    if (status == STORE_OK) {
        request->outcome = ANSWERED;
    }
    return status;
}

static bool acquire_for(struct contender *contender, struct request *request) {
    zkl_grant grant;
    int64_t begun_ns = clock_now_ns();
    if (!contender_acquire(contender, request->kind == PURCHASE ? ZKL_WRITE : ZKL_READ, &grant)) {
        return false;
    }
    request->waited_ns += clock_now_ns() - begun_ns;
    request->token = grant.token;
    return true;
}

/* ---- The service ------------------------------------------------------- */

static store_status attempt(struct contender *contender, struct request *request, int index) {
    if (!await_turn(contender, index) || !acquire_for(contender, request) ||
        !await_queue(contender, index)) {
        return STORE_ERROR;
    }
    store_status status =
        request->kind == PURCHASE ? purchase(contender, request, index) : query(contender, request);
    status = contender_checked(contender, status, "serve a request");
    if (contender->server->plan->scenario->pauses_holder && index == 0) {
        gate_raise(&contender->server->plan->board->holder_wrote);
    }
    return contender_release(contender) ? status : STORE_ERROR;
}

bool serve_under_lock(struct contender *contender, int index) {
    struct request *request = &contender->server->plan->board->requests[index];
    for (;;) {
        store_status status = attempt(contender, request, index);
        if (status != STORE_FENCED_OFF) {
            return status == STORE_OK;
        }
        /* The lock had passed on: nothing was written, and the request queues again. */
        request->times_fenced_off++;
    }
}

bool query_under_lock(struct contender *contender) {
    const struct run_plan *plan = contender->server->plan;
    zkl_grant grant;
    if (!contender_acquire(contender, ZKL_READ, &grant)) {
        return false;
    }
    int quantity = 0;
    int sold = 0;
    store_status status = read_both(contender, grant.token, &quantity, &sold);
    struct query_counts *counts = &plan->board->queries;
    if (status == STORE_FENCED_OFF) {
        atomic_fetch_add(&counts->fenced_off, 1);
    } else {
        atomic_fetch_add(&counts->made, 1);
        atomic_fetch_add(&counts->wrong, quantity + sold == plan->scenario->stock ? 0 : 1);
    }
    status = contender_checked(contender, status, "query the stock");
    return contender_release(contender) && status != STORE_ERROR;
}
