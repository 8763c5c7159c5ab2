/*
 * Those who follow who leads, without being candidates. What they are told must have been so by
 * the servers' commits: leaders that were first in the queue, in the order of their terms; and
 * where all is well they must hear of each change soon.
 */
#pragma once

#include "nodes.h"
#include "plan.h"
#include "testing/world.h"

void election_observers_begin(const run_plan *plan);

/** Starts those of a client that is open. */
void election_observers_start(unsigned client, zkl_client *handle, const bool *client_closes);
/** The client is about to be closed, or is: ends those that are to end now, and waits for it. */
void election_observers_end(unsigned client, bool is_closed);
/** To be called often. */
void election_observers_look(void);

/** So long after the last fault a client is well, whatever has become of its session. */
int64_t election_observers_well_after_ms(unsigned client);

/** Whether a client of this process observes the resource of a node. */
bool election_observers_follow(uint32_t process, const node_record *node);
/** A node that was first in the queue is gone. */
void election_observers_lose_first(const node_record *node);
/** The most lists that all of them may have asked for so far, where nothing goes wrong. */
uint64_t election_observers_most_lists(void);
