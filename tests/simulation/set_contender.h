/*
 * Contenders that take several resources at once, beside the ordinary ones and for the same
 * resources: each a thread of the simulated application with a set, turn after turn, and
 * judged as oracle.h does. All of a grant are nodes of one transaction, none of which has anybody
 * before it, or had when its session ended.
 */
#pragma once

#include "nodes.h"
#include "plan.h"
#include "testing/world.h"

void set_contenders_begin(const run_plan *plan);

/** Starts those of a client that is open, and stays so until they are done or it closes. */
void set_contenders_start(unsigned client, zkl_client *handle, zkl_process *process,
                          const bool *client_closes);
/** Whether the plan has any for it. */
bool set_contenders_are_of(unsigned client);
bool set_contenders_are_done(unsigned client);
void set_contenders_wait(unsigned client, int64_t until_us);
/** Its holders are none from here on. */
void set_contenders_client_closes(unsigned client);

/** A session is about to delete a node of its own. */
void set_contenders_deleted(const node_record *node);
/** Says who is not done, where the client has not died. */
void set_contenders_name_the_stuck(void);
