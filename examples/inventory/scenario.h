/*
 * The scenarios: what is in stock, who comes, in which order, and what must
 * come of it under a lock.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/** What protects the stock in one run. */
enum guard {
    GUARD_NONE,          /* nothing: the naive service */
    GUARD_ZKLOCK,        /* zklock; the holder claims the row before it reads */
    GUARD_CHECK_AT_WRITE /* zklock; the token is checked at the write alone (wrong) */
};

enum kind { PURCHASE, QUERY };

enum outcome {
    UNDECIDED, /* not yet; at the end of a run: never */
    SERVED,
    REFUSED, /* too little in stock */
    ANSWERED /* a query */
};

/** One buyer, and the result that it must get under a lock. */
struct customer {
    const char *name;
    enum kind kind;
    int units;
    enum outcome expected;
};

enum { SCENARIO_GUARDS_MAX = 2 };

struct scenario {
    const char *name;
    const char *summary;
    int stock;
    int servers;            /* processes, each with its own ZooKeeper session */
    int workers_per_server; /* threads, each with its own lock handle and connection */
    int readers_per_server; /* threads that query for as long as the sale lasts */
    int requests;
    const struct customer *customers; /* one a request; NULL: each buys one unit */
    int session_timeout_ms;
    int sold_under_lock;
    int guard_count;
    enum guard guards[SCENARIO_GUARDS_MAX];
    bool in_order;      /* each queues only after the one before it has */
    bool pauses_holder; /* the first holder is stopped past its session */
};

extern const struct scenario scenarios[];
extern const size_t scenario_count;

/** The scenario of that name, or NULL. */
const struct scenario *scenario_find(const char *name);

/** How many threads serve requests, over all servers. */
int scenario_workers(const struct scenario *scenario);

/** What a guard is called in the table. Static. */
const char *guard_name(enum guard guard);

/** Whether a run under this guard must oversell, as opposed to must not. */
bool guard_must_oversell(enum guard guard);
