/*
 * A node that a client keeps, and lends to its handles: one after the other, readers together. A
 * pure state machine, as request.h is:
 *
 *     zkl_lending_step(lending, event, actions)
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
    EVENT(CAME)     /* a handle that wants it; only_try */                                         \
    EVENT(WENT)     /* a handle that waited */                                                     \
    EVENT(RETURNED) /* a handle that held */                                                       \
    EVENT(TURN)     /* WAKE or KEEP has asked for it; idle: it was kept for long enough */         \
    EVENT(WRITING)  /* a transaction of a holder begins */                                         \
    /* What follows may come while a request is being fed. */                                      \
    EVENT(WRITTEN)  /* the transaction is decided; lost: nobody knows how */                       \
    EVENT(GRANTED)  /* the verdict of the request */                                               \
    EVENT(ALONE)    /* a list showed nobody behind the node, and the watch on others is set */     \
    EVENT(NEWCOMER) /* that watch has fired */                                                     \
    EVENT(CALLED)   /* somebody waits behind the node, or asks for the lock */                     \
    EVENT(CUT)      /* the connection has gone */                                                  \
    EVENT(ENDED)    /* the request failed, or what was granted to it is lost */

#define ZKL_LENDING_ACTION_LIST(ACTION)                                                            \
    ACTION(LEND) /* grants it to the first `count` who wait; `number`: that of the first grant */  \
    ACTION(BUSY) /* tells the try that came that it does not wait */                               \
    ACTION(SEND_AWAY) /* sends those who wait to another loan; who holds it goes on */             \
    ACTION(GIVE_UP)   /* releases the node, and sends those who wait to another loan */            \
    ACTION(WAKE)      /* a TURN soon, when no request is being fed */                              \
    ACTION(KEEP)      /* a TURN when it was idle for as long as it may be */

#define ZKL_LENDING_STAGE_LIST(STAGE)                                                              \
    STAGE(ASKED) /* the request waits */                                                           \
    STAGE(OURS)  /* it was granted */                                                              \
    STAGE(OVER)  /* lost, refused or given up: nothing is lent any more */

#define ZKL_LENDING_EVENT_(name) ZKL_LENDING_EVENT_##name,
#define ZKL_LENDING_ACTION_(name) ZKL_LENDING_ACTION_##name,
#define ZKL_LENDING_STAGE_(name) ZKL_LENDING_STAGE_##name,
typedef enum zkl_lending_event_kind {
    ZKL_LENDING_EVENT_LIST(ZKL_LENDING_EVENT_)
} zkl_lending_event_kind;
typedef enum zkl_lending_action_kind {
    ZKL_LENDING_ACTION_LIST(ZKL_LENDING_ACTION_)
} zkl_lending_action_kind;
typedef enum zkl_lending_stage { ZKL_LENDING_STAGE_LIST(ZKL_LENDING_STAGE_) } zkl_lending_stage;
typedef zkl_lending_stage zkl_field_LENDING_STAGE;

#define ZKL_LENDING_EVENT_FIELDS(FIELD, of)                                                        \
    FIELD(of, FLAG, in_touch) /* what is known of the node is fresh, and the lease long enough */  \
    FIELD(of, FLAG, watched)  /* its watch is set, and has not fired */                            \
    FIELD(of, FLAG, late)     /* since others may want it, it was lent for as long as it may be */ \
    FIELD(of, FLAG, only_try)                                                                      \
    FIELD(of, FLAG, idle)                                                                          \
    FIELD(of, FLAG, lost)

typedef struct zkl_lending_event {
    zkl_lending_event_kind kind;
    ZKL_LENDING_EVENT_FIELDS(ZKL_FIELD, )
} zkl_lending_event;

#define ZKL_LENDING_ACTION_FIELDS(FIELD, of)                                                       \
    FIELD(of, COUNT, count)                                                                        \
    FIELD(of, NUMBER, number)

typedef struct zkl_lending_action {
    zkl_lending_action_kind kind;
    ZKL_LENDING_ACTION_FIELDS(ZKL_FIELD, )
} zkl_lending_action;

/** No step asks for more. */
#define ZKL_LENDING_ACTIONS_MAX 1

typedef struct zkl_lending_actions {
    size_t count;
    zkl_lending_action list[ZKL_LENDING_ACTIONS_MAX];
} zkl_lending_actions;

#define ZKL_LENDING_FIELDS(FIELD, of)                                                              \
    FIELD(of, FLAG, reads)          /* many may hold it */                                         \
    FIELD(of, FLAG, retains)        /* it stays when nobody holds or wants it */                   \
    FIELD(of, COUNT, hand_offs_max) /* while others want it */                                     \
    FIELD(of, LENDING_STAGE, stage)                                                                \
    FIELD(of, FLAG, alone)    /* nobody stood behind it in the last list, nor has come since */    \
    FIELD(of, FLAG, called)   /* others want it: it is to end soon */                              \
    FIELD(of, FLAG, doubtful) /* what a holder wrote may still be applied */                       \
    FIELD(of, COUNT, waiters)                                                                      \
    FIELD(of, COUNT, holders)                                                                      \
    FIELD(of, COUNT, writes)    /* that are not decided */                                         \
    FIELD(of, COUNT, handed_on) /* since it was alone */                                           \
    FIELD(of, NUMBER, number)   /* that of the last grant */

/** Read its fields freely; only the recipe writes them. */
typedef struct zkl_lending_state {
    ZKL_LENDING_FIELDS(ZKL_FIELD, )
} zkl_lending_state;

/** Makes the loan of a request that is about to be made. */
zkl_lending_state zkl_lending_begin(bool reads, bool retains, unsigned hand_offs_max);

/** Takes one event and replaces what is in `actions` by what is now to be done. */
void zkl_lending_step(zkl_lending_state *self, const zkl_lending_event *event,
                      zkl_lending_actions *actions);
