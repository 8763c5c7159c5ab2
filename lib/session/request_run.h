/* A request that runs, as the parts of its runner know it: request_runner.h has what others do with
 * it. Everything here runs with the client's mutex held. */
#pragma once

#include "session/create_group.h"
#include "session/explanation.h"
#include "session/holder_watch.h"
#include "session/request_sender.h"
#include "session/watch_set.h"

typedef struct zkl_request_runner {
    zkl_request_sender sender; /* first */
    zkl_request request;
    zkl_list_waiter list;
    zkl_watch_set watches; /* on the nodes that it waits for */
    zkl_holder_watch holder_watch;
    zkl_timer timer; /* set to the earlier of the next two, each of which may be INT64_MAX: never */
    int64_t limit_ms; /* the hold ends then at the latest */
    int64_t pause_ends_ms;
    unsigned watched_bytes; /* what it may come to need for all of its watches */
    unsigned char back_offs;
    bool blocker_is_ours; /* the nearest that it waits for belongs to the same session */
    bool has_left;        /* its owner has been told so. Its origin counts it no more as leaving */
    bool others_are_awaited; /* others of its set are: what it holds counts for nothing yet */
    zkl_recorded_mark recorded;
    struct event_queue *queued; /* the events that arise in the step under way; NULL: none is */
    struct zkl_request_runner *prev, *next;
    zkl_neighbour nearest[]; /* room to find those that it waits for, if they may be several */
} zkl_request_runner;

/** Hands an event to the request; the runner may be gone when it returns. */
void zkl_request_runner_feed(zkl_request_runner *runner, const zkl_event *event);
