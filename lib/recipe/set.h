/*
 * The requests of one acquire: one for each resource of a lock, which hold together or not at all.
 * A pure state machine, as request.h is:
 *
 *     zkl_set_step(set, event, actions)
 *
 * A lock of one resource is decided when its request is. The members of a set are all granted, or
 * all give up. When one member has lost its place, all of them leave, and join again when their
 * nodes are gone: a new node would have to wait behind an old one of ours.
 *
 * A member's events come while its request is being fed, when no other request may be fed. So what
 * its failure leads to is done in the next TURN, for which WAKE asks. The call keeps the
 * deadline, and tells of its end.
 */
#pragma once

#include "recipe/fields.h"

#define ZKL_SET_EVENT_LIST(EVENT)                                                                  \
    EVENT(MEMBER_GRANTED) /* the verdict of a request */                                           \
    EVENT(MEMBER_FAILED)  /* the verdict of a request; status: why */                              \
    EVENT(MEMBER_LOST)    /* what was granted to it is lost; status: why */                        \
    EVENT(MEMBER_ENDED)   /* its request is over, and its node is gone */                          \
    EVENT(TURN)           /* WAKE has asked for it */                                              \
    EVENT(TIMED_OUT)      /* the time of its call is over. connected */                            \
    EVENT(CALLED_OFF)    /* by the user, or the requests could not be made; status: the verdict */ \
    EVENT(CLIENT_CLOSES) /* it ends the requests itself */

#define ZKL_SET_ACTION_LIST(ACTION)                                                                \
    ACTION(GRANT)    /* the verdict: all members hold */                                           \
    ACTION(FAIL)     /* the verdict: status. late: there was no time to join again */              \
    ACTION(LOSE)     /* what was granted is lost, or a part of it; status: why. Comes once */      \
    ACTION(WAKE)     /* a TURN soon, when no request is being fed */                               \
    ACTION(TIME_OUT) /* tells the members that wait that their time is over: they fail */          \
    ACTION(LEAVE)    /* releases the members that hold, and cancels the others */                  \
    ACTION(LET_GO)   /* leaves the requests to themselves until their nodes are gone */            \
    ACTION(JOIN)     /* makes a request for each member. The last action of a step */

#define ZKL_SET_STAGE_LIST(STAGE)                                                                  \
    STAGE(WAITING) /* it waits for the verdicts of its members */                                  \
    STAGE(FAILED)  /* one of them has failed: see `failure` */                                     \
    STAGE(LEAVING) /* it joins again when its nodes are gone */                                    \
    STAGE(HELD)                                                                                    \
    STAGE(OVER) /* failed, or lost */

#define ZKL_SET_EVENT_(name) ZKL_SET_EVENT_##name,
#define ZKL_SET_ACTION_(name) ZKL_SET_ACTION_##name,
#define ZKL_SET_STAGE_(name) ZKL_SET_STAGE_##name,
typedef enum zkl_set_event_kind { ZKL_SET_EVENT_LIST(ZKL_SET_EVENT_) } zkl_set_event_kind;
typedef enum zkl_set_action_kind { ZKL_SET_ACTION_LIST(ZKL_SET_ACTION_) } zkl_set_action_kind;
typedef enum zkl_set_stage { ZKL_SET_STAGE_LIST(ZKL_SET_STAGE_) } zkl_set_stage;
typedef zkl_set_stage zkl_field_SET_STAGE;

#define ZKL_SET_EVENT_FIELDS(FIELD, of)                                                            \
    FIELD(of, STATUS, status)                                                                      \
    FIELD(of, FLAG, connected)

typedef struct zkl_set_event {
    zkl_set_event_kind kind;
    ZKL_SET_EVENT_FIELDS(ZKL_FIELD, )
} zkl_set_event;

#define ZKL_SET_ACTION_FIELDS(FIELD, of)                                                           \
    FIELD(of, STATUS, status)                                                                      \
    FIELD(of, FLAG, late)

typedef struct zkl_set_action {
    zkl_set_action_kind kind;
    ZKL_SET_ACTION_FIELDS(ZKL_FIELD, )
} zkl_set_action;

/** The most actions that one step can ask for. */
#define ZKL_SET_ACTIONS_MAX 3

typedef struct zkl_set_actions {
    size_t count;
    zkl_set_action list[ZKL_SET_ACTIONS_MAX];
} zkl_set_actions;

#define ZKL_SET_FIELDS(FIELD, of)                                                                  \
    FIELD(of, COUNT, size)                  /* members */                                          \
    FIELD(of, FLAG, only_try)               /* it fails rather than join again */                  \
    FIELD(of, FLAG, fail_on_session_expiry) /* it fails when its session ends */                   \
    FIELD(of, SET_STAGE, stage)                                                                    \
    FIELD(of, COUNT, granted)                                                                      \
    FIELD(of, COUNT, under_way) /* how many requests have not ended */                             \
    FIELD(of, STATUS, failure)  /* that of the first member that failed; ZKL_OK: none has */

/** Read its fields freely; only the recipe writes them. */
typedef struct zkl_set {
    ZKL_SET_FIELDS(ZKL_FIELD, )
} zkl_set;

/** Returns a set whose requests are about to be made. size: at least 1. */
zkl_set zkl_set_begin(unsigned size, bool only_try, bool fail_on_session_expiry);

/** Takes one event, and writes into `actions` what is to be done now, in order. */
void zkl_set_step(zkl_set *set, const zkl_set_event *event, zkl_set_actions *actions);
