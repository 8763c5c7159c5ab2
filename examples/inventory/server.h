/*
 * A server: one operating-system process with one ZooKeeper session, whose
 * threads serve their share of the requests.
 */
#pragma once

#include <stdatomic.h>

#include <zklock/zklock.h>

#include "board.h"
#include "scenario.h"

/** What all servers of a run get. */
struct run_plan {
    const struct scenario *scenario;
    enum guard guard;
    const char *hosts;    /* of the ZooKeeper ensemble */
    const char *database; /* path of the store */
    const char *resource; /* name of the lock */
    struct board *board;
};

struct server {
    const struct run_plan *plan;
    int index;
    zkl_client *client;  /* NULL without a lock */
    _Atomic int current; /* the request that is being queued (in_order) */
};

/** How long a wait within a run may take: for a grant, for one another. */
enum { WAIT_TIMEOUT_MS = 60000, CLOSE_TIMEOUT_MS = 10000 };

/** Serves until the sale is over. To be called in a process of its own. Returns the process's exit
 *  status; when it is not 0, the board has the reason. */
int server_run(const struct run_plan *plan, int index);

/** Makes sure, in a process of its own, that nobody stands in the lock's queue. Returns the
 *  process's exit status. */
int server_audit_queue(const struct run_plan *plan);

/** Connects once, in a process of its own. Returns 0; 1 when no server answers; 2 when the host
 * list is wrong. Prints the reason. */
int server_check_hosts(const char *hosts);
