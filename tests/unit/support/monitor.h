/*
 * Watches a request from outside, and asserts after each step what must hold for every request. It
 * keeps its own account of events and actions, and reads no field of the request.
 */
#pragma once

#include "recipe/request.h"

typedef struct request_monitor {
    bool connected;
    bool watching;
    bool watching_own;
    bool needs_lease;
    bool lease_runs;
    bool keeps_node;      /* it has lost its lease, and has not been released yet */
    bool leaving;         /* it was given up, has failed, was lost or released */
    bool called_off;      /* it was timed out or cancelled before its verdict */
    bool granted;         /* its verdict was GRANT */
    bool holds;           /* it was granted, and neither released nor lost */
    bool was_released;    /* it was released while it held */
    unsigned outstanding; /* the operations whose answer is awaited, one bit each */
    unsigned verdicts;
    unsigned ends;
    unsigned steps;
} request_monitor;

request_monitor monitor_begin(const zkl_request_options *options,
                              const zkl_request_session *session);

/** Steps the request, and checks the actions. `what` is shown when something is wrong. */
void monitor_step(request_monitor *monitor, zkl_request *request, const zkl_event *event,
                  zkl_actions *actions, const char *what);

/** Returns the operation that an event answers; ZKL_ACTION_END: it answers none. */
zkl_action_kind monitor_answered_by(zkl_event_kind kind);

/** Tells whether the answer to this operation is awaited. */
bool monitor_awaits(const request_monitor *monitor, zkl_action_kind kind);
