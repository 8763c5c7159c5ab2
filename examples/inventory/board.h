/*
 * The board: the memory that the processes of one run share. Made before they
 * are forked. Holds what is asked, what came of it, and the gates at which
 * they wait for one another.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "gate.h"
#include "scenario.h"

enum { BOARD_NAME_SIZE = 24, BOARD_FAILURE_SIZE = 512, BOARD_REQUESTS_MAX = 2000 };

/** One request. Written by the one worker that serves it. */
struct request {
    char name[BOARD_NAME_SIZE];
    enum kind kind;
    int units;
    _Atomic int outcome; /* enum outcome */
    int64_t token;       /* of its last grant */
    int64_t waited_ns;   /* for its grants, all together */
    int64_t finished_ns; /* when, on the monotonic clock */
    int times_fenced_off;
    int quantity_seen;
    int sold_seen; /* a query's */
};

/** The results of queries beside the requests, over all readers. */
struct query_counts {
    _Atomic int made;
    _Atomic int wrong;
    _Atomic int fenced_off;
};

struct board {
    struct gate ready;    /* threads that could begin */
    struct gate start;    /* 1: begin */
    struct gate queued;   /* requests that stand in the queue (in_order) */
    struct gate finished; /* requests */
    struct gate settled;  /* purchases written or refused (without a lock) */

    /* Of a scenario that pauses its holder, in this order: */
    struct gate holder_read;
    struct gate holder_stopped;
    struct gate successor_read;
    struct gate holder_resumed;
    struct gate holder_wrote;

    _Atomic int failures;
    char failure[BOARD_FAILURE_SIZE]; /* the first one's text, */
    struct gate failure_told;         /* from here on */
    int64_t started_ns;
    int64_t session_timeout_ms; /* as negotiated with the servers */
    struct query_counts queries;

    struct request requests[BOARD_REQUESTS_MAX];
    struct gate
        rounds[BOARD_REQUESTS_MAX]; /* forced overlap: requests that have read, in each round */
};

/** Makes the board of a scenario (of at most BOARD_REQUESTS_MAX requests); NULL when there is no
 *  memory. */
struct board *board_make(const struct scenario *scenario);

void board_free(struct board *board);

/** Notes why the run cannot continue; the first text is kept. */
void board_fail(struct board *board, const char *format, ...) __attribute__((format(printf, 2, 3)));
