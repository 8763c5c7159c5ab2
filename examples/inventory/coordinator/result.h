/* What came of one run: counted from the order rows, then judged. */
#pragma once

#include <stdbool.h>

#include "../board.h"
#include "../scenario.h"
#include "../server.h"

enum { RESULT_PROBLEM_SIZE = BOARD_FAILURE_SIZE };

struct result {
    const struct scenario *scenario;
    enum guard guard;
    bool complete;                     /* the run came to its end */
    char problem[RESULT_PROBLEM_SIZE]; /* why it is not as it must be */
    int sold;                          /* units, by the order rows */
    int quantity_left;                 /* units, by the stock row */
    int refused;                       /* requests */
    int oversold;                      /* units sold that never were in stock */
    int fenced_off;                    /* writes and reads refused for their token */
    int queries;
    int wrong_queries; /* what is left and what is sold did not add up to the stock */
    double seconds;
    double requests_per_second;
    double wait_p50_ms;
    double wait_p99_ms;
};

/** Notes why a result is not as it must be; the first text is kept. */
void result_blame(struct result *result, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** Whether the run is complete and came as it must. */
bool result_is_right(const struct result *result);

/** Counts a run that is over, from its database and its board, and judges it. */
void result_collect(struct result *result, const struct run_plan *plan);
