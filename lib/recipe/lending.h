/*
 * A node that a client keeps, and lends to its handles: one after the other, readers together. A
 * pure state machine, as request.h is:
 *
 *     action = zkl_lending_step(lending, event)
 *
 * It lends without a limit while nobody else wants the lock, and only so often, and for so long,
 * once somebody does. docs/internals/lending.md says why that is right.
 *
 * News come while the request, or another, is being fed. So what ends the loan is then done in the
 * next TURN, for which WAKE asks.
 */
#pragma once

#include "recipe/fields.h"

#define ZKL_LENDING_EVENT_LIST(EVENT)                                                              \
    EVENT(CAME)     /* one who wants it; only_try */                                               \
    EVENT(WENT)     /* one who waited */                                                           \
    EVENT(RETURNED) /* one who held */                                                             \
    EVENT(TURN)     /* that WAKE or KEEP has asked for; idle: it was kept for long enough */       \
    EVENT(WRITING)  /* a transaction of a holder begins */                                         \
    /* What follows may come while a request is being fed. */                                      \
    EVENT(WRITTEN)  /* it is decided; lost: nobody knows how */                                    \
    EVENT(GRANTED)  /* the request was */                                                          \
    EVENT(ALONE)    /* a list showed nobody behind the node, and the watch on others is set */     \
    EVENT(NEWCOMER) /* it fired */                                                                 \
    EVENT(CALLED)   /* somebody waits behind the node, or asks for the lock */                     \
    EVENT(CUT)      /* the connection has gone */                                                  \
    EVENT(ENDED)    /* the request failed, or what was granted to it is lost */

#define ZKL_LENDING_ACTION_LIST(ACTION)                                                            \
    ACTION(NOTHING)                                                                                \
    ACTION(LEND) /* it is granted to the first `count` who wait; `number`: of the first grant */   \
    ACTION(BUSY) /* the try that came does not wait */                                             \
    ACTION(SEND_AWAY) /* those who wait look for another loan; who holds it goes on */             \
    ACTION(GIVE_UP)   /* the node is released; those who wait look for another loan */             \
    ACTION(WAKE)      /* a TURN soon, when no request is being fed */                              \
    ACTION(KEEP)      /* a TURN when it was idle for as long as it may be */

#define ZKL_LENDING_EVENT_(name) ZKL_LENDING_EVENT_##name,
#define ZKL_LENDING_ACTION_(name) ZKL_LENDING_ACTION_##name,
typedef enum zkl_lending_event_kind {
    ZKL_LENDING_EVENT_LIST(ZKL_LENDING_EVENT_)
} zkl_lending_event_kind;
typedef enum zkl_lending_action_kind {
    ZKL_LENDING_ACTION_LIST(ZKL_LENDING_ACTION_)
} zkl_lending_action_kind;

typedef struct zkl_lending_event {
    zkl_lending_event_kind kind;
    bool in_touch; /* what is known of the node is fresh, and the lease is long enough */
    bool watched;  /* its watch is set, and has not fired */
    bool late;     /* since others may want it, it was lent for as long as it may be */
    bool only_try, idle, lost;
} zkl_lending_event;

typedef struct zkl_lending_action {
    zkl_lending_action_kind kind;
    unsigned count;
    int64_t number;
} zkl_lending_action;

typedef enum zkl_lending_stage {
    ZKL_LENDING_ASKED, /* the request waits */
    ZKL_LENDING_OURS,  /* it was granted */
    ZKL_LENDING_OVER   /* lost, refused or given up: nothing is lent any more */
} zkl_lending_stage;

/** Read its fields freely; only the recipe writes them. */
typedef struct zkl_lending_state {
    bool reads;             /* many may hold it */
    bool retains;           /* it stays when nobody holds or wants it */
    unsigned hand_offs_max; /* while others want it */
    zkl_lending_stage stage;
    bool alone;
    bool called;
    bool doubtful; /* what a holder wrote may still be applied */
    unsigned waiters, holders, writes;
    unsigned handed_on; /* since it was alone */
    int64_t number;     /* of the last grant */
} zkl_lending_state;

/** Of a request that is about to be made. */
zkl_lending_state zkl_lending_begin(bool reads, bool retains, unsigned hand_offs_max);

/** Takes one event, and returns what is now to be done. */
zkl_lending_action zkl_lending_step(zkl_lending_state *self, const zkl_lending_event *event);
