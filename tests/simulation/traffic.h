/*
 * What travels between clients and servers, judged by docs/internals/protocol.md: who is
 * woken by a deletion, how many requests an acquisition takes, and when a
 * client last heard of the servers.
 */
#pragma once

#include "nodes.h"
#include "plan.h"

void traffic_begin(const run_plan *plan);

/** How often the contenders have asked for what. */
typedef struct traffic_asked {
    uint64_t acquires;
    uint64_t tries; /* and others that look before they write */
    uint64_t leased;
    uint64_t looks; /* at who waits behind a grant, that may come of them */
    uint64_t downgrades;
    unsigned most_permits;
} traffic_asked;

/** A node is about to be deleted. */
void traffic_deletes(const node_record *node);
void traffic_delivered(const zkl_delivery *delivery);

/** When an answer, or the news of a connection, was last given to this process. */
int64_t traffic_last_heard_us(uint32_t process);

/** At the end of a run in which nothing went wrong: so many acquires, of them tries, and of them
 *  under a lease. */
void traffic_judge(const traffic_asked *asked);
