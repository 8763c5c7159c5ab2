/*
 * Who asks for something beside the contenders, and what it may be told: what set-contenders and
 * candidates have in common. Judged by the same rules as contenders are (oracle_verdicts.c), if
 * less closely.
 */
#pragma once

#include "nodes.h"
#include "plan.h"

typedef struct asker {
    const char *name;
    unsigned number; /* in traces and violations */
    unsigned client;
    bool fail_on_session_expiry;
    bool hears_of_loss; /* before it was told that it has what it asked for; or it asks again */
    bool asynchronous;  /* it is told by a callback, which may be late */
    int64_t max_hold_ms;
    const bool *client_closes;
    bool called_closed; /* the client was about to be closed when it asked */
    bool cancelled;     /* somebody was told that what it asks for is */
    bool closes;        /* its handle, while it waits */
    bool closed;
    int64_t asked_ms; /* on its own clock */
    int64_t stopped_us;
    uint64_t sessions_ended; /* of its client, when it asked */
} asker;

/** For how long its process has been stopped so far. */
int64_t asker_stopped_us(const asker *self);
/** It asks now. */
void asker_begins(asker *self);
/** What it was told. */
void asker_judge_verdict(const asker *self, const plan_turn *turn, int status);
/** It was granted with this node. */
void asker_judge_node(const asker *self, const node_record *node);
/** What it was told when it gave back what it has. */
void asker_judge_release(const asker *self, const plan_turn *turn, bool knows_of_loss, int status);

/** Whether the plan has such a fault. */
bool asker_plan_has(const run_plan *plan, plan_fault_kind kind);
