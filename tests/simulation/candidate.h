/*
 * Candidates, beside the contenders and for the same resources: each a thread of the simulated
 * application with an election, turn after turn, and judged as oracle.h does. Who leads has nobody
 * before it in the queue, or had when its session ended; terms rise; each term is told as elected
 * once, and as lost once if it is.
 */
#pragma once

#include "nodes.h"
#include "plan.h"
#include "testing/world.h"

void candidates_begin(const run_plan *plan);

/** Starts those of a client that is open, and stays so until they are done or it closes. */
void candidates_start(unsigned client, zkl_client *handle, zkl_process *process,
                      const bool *client_closes);
/** Whether the plan has any for it. */
bool candidates_are_of(unsigned client);
bool candidates_are_done(unsigned client);
void candidates_wait(unsigned client, int64_t until_us);
/** They lead no more from here on. */
void candidates_client_closes(unsigned client);

/** A session is about to delete a node of its own. */
void candidates_deleted(const node_record *node);
/** What observers must be told of the candidate that leads, or has led, with this node; NULL: it is
 *  not known to be one's. */
const char *candidates_text(const node_record *node);
/** Says who is not done, where the client has not died. */
void candidates_name_the_stuck(void);
