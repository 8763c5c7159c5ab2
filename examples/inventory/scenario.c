#include "scenario.h"

#include <string.h>

enum {
    SESSION_TIMEOUT_MS = 10000,
    /* Short, because the pause must outlast it. The servers may raise it to two of their ticks. */
    PAUSED_SESSION_TIMEOUT_MS = 2000
};

#define COUNT_OF(array) ((int)(sizeof(array) / sizeof((array)[0])))

/* B comes between A and C, wants more than A has left, and must not keep C from being served. */
static const struct customer abc[] = {
    { "A", PURCHASE, 1, SERVED },
    { "B", PURCHASE, 2, REFUSED },
    { "C", PURCHASE, 1, SERVED },
};

/* The query must see the first purchase and not the second. The last buyer finds nothing left;
 * without a lock it reads what the first one read, and is sold a unit that is not there. */
static const struct customer write_read_write[] = {
    { "writer 1", PURCHASE, 1, SERVED },
    { "reader", QUERY, 0, ANSWERED },
    { "writer 2", PURCHASE, 1, SERVED },
    { "late buyer", PURCHASE, 1, REFUSED },
};

static const struct customer stopped_and_successor[] = {
    { "stopped", PURCHASE, 1, REFUSED },
    { "successor", PURCHASE, 1, SERVED },
};

const struct scenario scenarios[] = {
    { .name = "hair-dryers",
      .summary = "2 hair dryers; A wants 1, B wants 2, C wants 1, in this order",
      .stock = 2,
      .servers = 3,
      .workers_per_server = 1,
      .requests = COUNT_OF(abc),
      .customers = abc,
      .in_order = true,
      .session_timeout_ms = SESSION_TIMEOUT_MS,
      .sold_under_lock = 2,
      .guard_count = 2,
      .guards = { GUARD_NONE, GUARD_ZKLOCK } },
    { .name = "hair-dryers-rush",
      .summary = "2 hair dryers and 5 buyers at once",
      .stock = 2,
      .servers = 5,
      .workers_per_server = 1,
      .requests = 5,
      .session_timeout_ms = SESSION_TIMEOUT_MS,
      .sold_under_lock = 2,
      .guard_count = 2,
      .guards = { GUARD_NONE, GUARD_ZKLOCK } },
    { .name = "seven-units",
      .summary = "7 units and 9 requests on 3 servers",
      .stock = 7,
      .servers = 3,
      .workers_per_server = 3,
      .requests = 9,
      .session_timeout_ms = SESSION_TIMEOUT_MS,
      .sold_under_lock = 7,
      .guard_count = 2,
      .guards = { GUARD_NONE, GUARD_ZKLOCK } },
    { .name = "one-ticket",
      .summary = "1 ticket and 50 buyers on 10 servers",
      .stock = 1,
      .servers = 10,
      .workers_per_server = 5,
      .requests = 50,
      .session_timeout_ms = SESSION_TIMEOUT_MS,
      .sold_under_lock = 1,
      .guard_count = 2,
      .guards = { GUARD_NONE, GUARD_ZKLOCK } },
    { .name = "big-sale",
      .summary = "500 units and 2,000 orders on 8 servers, with readers under read locks",
      .stock = 500,
      .servers = 8,
      .workers_per_server = 4,
      .readers_per_server = 1,
      .requests = 2000,
      .session_timeout_ms = SESSION_TIMEOUT_MS,
      .sold_under_lock = 500,
      .guard_count = 2,
      .guards = { GUARD_NONE, GUARD_ZKLOCK } },
    { .name = "query-between",
      .summary = "2 units; purchase, query, purchase in this order, and a late buyer",
      .stock = 2,
      .servers = 4,
      .workers_per_server = 1,
      .requests = COUNT_OF(write_read_write),
      .customers = write_read_write,
      .in_order = true,
      .session_timeout_ms = SESSION_TIMEOUT_MS,
      .sold_under_lock = 2,
      .guard_count = 2,
      .guards = { GUARD_NONE, GUARD_ZKLOCK } },
    { .name = "paused-holder",
      .summary = "1 unit; a holder is stopped after its read until its successor has read",
      .stock = 1,
      .servers = 2,
      .workers_per_server = 1,
      .requests = COUNT_OF(stopped_and_successor),
      .customers = stopped_and_successor,
      .pauses_holder = true,
      .session_timeout_ms = PAUSED_SESSION_TIMEOUT_MS,
      .sold_under_lock = 1,
      .guard_count = 2,
      .guards = { GUARD_CHECK_AT_WRITE, GUARD_ZKLOCK } },
};

const size_t scenario_count = sizeof(scenarios) / sizeof(scenarios[0]);

const struct scenario *scenario_find(const char *name) {
    for (size_t i = 0; i < scenario_count; i++) {
        if (strcmp(scenarios[i].name, name) == 0) {
            return &scenarios[i];
        }
    }
    return NULL;
}

int scenario_workers(const struct scenario *scenario) {
    return scenario->servers * scenario->workers_per_server;
}

const char *guard_name(enum guard guard) {
    switch (guard) {
    case GUARD_NONE:
        return "no lock";
    case GUARD_ZKLOCK:
        return "zklock";
    case GUARD_CHECK_AT_WRITE:
        return "check at write";
    }
    return "unknown";
}

bool guard_must_oversell(enum guard guard) {
    return guard != GUARD_ZKLOCK;
}
