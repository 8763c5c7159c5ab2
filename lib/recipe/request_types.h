/*
 * The events, the actions and the state of a request: what it is told, what it asks for, and what
 * it knows. request.h has the function that takes a request from one state to the next.
 */
#pragma once

#include "recipe/fields.h"

/** Requests do not use a sequence this near to 2^31: there the servers' counter
 *  sticks and the order is lost. They wait until the resource is empty, delete its
 *  node, and begin again, with the sequence 0. */
#define ZKL_SEQUENCE_LIMIT (INT32_MAX - (1 << 20))

/** How an operation ended. */
#define ZKL_OUTCOME_LIST(OUTCOME)                                                                  \
    OUTCOME(OK)                                                                                    \
    OUTCOME(NO_NODE)      /* the node, or the parent of the node, does not exist */                \
    OUTCOME(UNKNOWN)      /* the reply was lost: applied, not applied, or applied later */         \
    OUTCOME(NOT_NOW)      /* not applied; the same again later may be */                           \
    OUTCOME(REFUSED)      /* not applied, and never will be: see the event's status */             \
    OUTCOME(SESSION_OVER) /* not applied, or gone with the session */                              \
    OUTCOME(NOT_EMPTY)    /* a deletion, not applied: the node has children */

#define ZKL_OUTCOME_(name) ZKL_OUTCOME_##name,
typedef enum zkl_outcome { ZKL_OUTCOME_LIST(ZKL_OUTCOME_) } zkl_outcome;

/** What a request asks for, and the event that answers it, which has an outcome. An answer that
 *  nobody awaits is ignored. */
#define ZKL_OPERATION_LIST(OPERATION)                                                              \
    /* an ephemeral sequential node; node: its prefix. OK: node, zxid (0: not known) */            \
    OPERATION(CREATE, CREATED)                                                                     \
    /* the children of the resource. OK: children, fresh */                                        \
    OPERATION(LIST, LISTED)                                                                        \
    /* the resource's node, or the one `level` levels above it. OK: it is there; NO_NODE: the one  \
     * above it is missing */                                                                      \
    OPERATION(MAKE_PARENT, PARENT_MADE)                                                            \
    /* the deletion of any of the n nearest in its way in the event's list (contenders.h), of      \
     * which node is the nearest. OK: all watches are armed; NO_NODE: one of the nodes is gone */  \
    OPERATION(WATCH, WATCHED)                                                                      \
    /* node: whose owner and czxid to read. OK: zxid, own_session; NO_NODE */                      \
    OPERATION(INSPECT, INSPECTED)                                                                  \
    /* node. OK, NO_NODE: it is gone */                                                            \
    OPERATION(DELETE, DELETED)                                                                     \
    /* in one transaction set the data of node, ours, and delete it: so whoever waits for it hears \
     * that its holder has released it. OK, NO_NODE: it is gone */                                 \
    OPERATION(HAND_OVER, HANDED_OVER)                                                              \
    /* any committed write; what was sent before is then decided. OK: it is done */                \
    OPERATION(SETTLE, SETTLED)                                                                     \
    /* node: ours, to hear of it when somebody deletes it. OK: the watch is armed on the node of   \
     * zxid (0: not known), own_session; NO_NODE: our node is gone */                              \
    OPERATION(WATCH_OWN, OWN_WATCHED)                                                              \
    /* the resource's node, if it has no children and nobody has written to it since it was        \
     * inspected. OK, NO_NODE: it is gone; NOT_EMPTY: it is in use */                              \
    OPERATION(REMOVE_PARENT, PARENT_REMOVED)                                                       \
    /* the resource's node, or the one `level` levels above it: its czxid, and whether it holds    \
     * data. OK: zxid, holds_data; NO_NODE */                                                      \
    OPERATION(INSPECT_PARENT, PARENT_INSPECTED)                                                    \
    /* in one transaction make node, and delete ours. OK: our node is now the reader's; NO_NODE:   \
     * ours is gone */                                                                             \
    OPERATION(DOWNGRADE, DOWNGRADED)                                                               \
    /* pause, longer each time, with jitter. The answer has no outcome: the pause is over */       \
    OPERATION(BACK_OFF, BACKED_OFF)

/** What else a request is told. */
#define ZKL_NEWS_LIST(NEWS)                                                                        \
    NEWS(WATCH_FIRED)     /* deleted, data_set, fresh; of several watches the first, and none is   \
                             left */                                                               \
    NEWS(OWN_WATCH_FIRED) /* something happened to our own node */                                 \
    NEWS(PROBE) /* time to look after our own node; comes once in each period of the session, in   \
                   which a lease can be earned */                                                  \
    NEWS(LEASE_BEGUN)   /* the session has a lease that is long enough for a grant */              \
    NEWS(LEASE_THIN)    /* it runs, but for too short a time to be granted anything */             \
    NEWS(LEASE_ENDED)   /* the session's lease has run out */                                      \
    NEWS(HOLD_LIMIT)    /* the lock has been held for as long as it may be */                      \
    NEWS(CONNECTED)     /* the session has a (new) connection */                                   \
    NEWS(DISCONNECTED)  /* the connection of the session is lost */                                \
    NEWS(UNPROTECTED)   /* a new session, not connected yet, cannot protect its nodes */           \
    NEWS(SESSION_ENDED) /* guid: a fresh one for the next session, NULL: there is none */          \
    /* The user's, and the deadline's. */                                                          \
    NEWS(TIMED_OUT)                                                                                \
    NEWS(CANCELLED) /* status: the verdict */                                                      \
    NEWS(RELEASED)                                                                                 \
    NEWS(DOWNGRADE) /* hold what is held for writing for reading */

#define ZKL_EVENT_(name) ZKL_EVENT_##name,
#define ZKL_EVENT_OF_(asked, answered) ZKL_EVENT_##answered,
typedef enum zkl_event_kind {
    ZKL_EVENT_START,
    ZKL_OPERATION_LIST(ZKL_EVENT_OF_) ZKL_NEWS_LIST(ZKL_EVENT_)
} zkl_event_kind;

/** What a request asks for that has no answer. */
#define ZKL_ORDER_LIST(ORDER)                                                                      \
    ORDER(UNWATCH)         /* forget that watch, or those */                                       \
    ORDER(UNWATCH_OWN)     /* forget that watch */                                                 \
    ORDER(GRANT)           /* the verdict: held */                                                 \
    ORDER(FAIL)            /* the verdict: status */                                               \
    ORDER(LOSE)            /* the lock that was granted is lost; status: why */                    \
    ORDER(DOWNGRADE_ENDED) /* the verdict of a downgrade: status */                                \
    ORDER(REJOIN)          /* news: the place in the queue was lost, it joins again */             \
    ORDER(REPORT)          /* news: node, a child of unknown kind, is in the way */                \
    ORDER(WARN)            /* news: the server refuses to delete our node; status: why */          \
    ORDER(END)             /* the last action of all */

#define ZKL_ACTION_(name) ZKL_ACTION_##name,
#define ZKL_ACTION_OF_(asked, answered) ZKL_ACTION_##asked,
typedef enum zkl_action_kind {
    ZKL_OPERATION_LIST(ZKL_ACTION_OF_) ZKL_ORDER_LIST(ZKL_ACTION_)
} zkl_action_kind;

typedef zkl_outcome zkl_field_OUTCOME;

#define ZKL_EVENT_FIELDS(FIELD, of)                                                                \
    FIELD(of, OUTCOME, outcome)                                                                    \
    FIELD(of, STATUS, status)    /* REFUSED: why; CANCELLED: the verdict */                        \
    FIELD(of, STRING, node)      /* CREATED: the name that the server gave */                      \
    FIELD(of, NUMBER, zxid)      /* CREATED, INSPECTED, ..._WATCHED: the node's czxid */           \
    FIELD(of, FLAG, own_session) /* likewise: its owner is our session; WATCH_FIRED:               \
                                    another request of our session made it */                      \
    FIELD(of, FLAG, holds_data)  /* PARENT_INSPECTED: somebody has written to it */                \
    FIELD(of, FLAG, deleted)     /* WATCH_FIRED: the node was deleted, */                          \
    FIELD(of, FLAG, data_set)    /* or its data were set */                                        \
    FIELD(of, FLAG, fresh) /* WATCH_FIRED, LISTED: our session cannot have expired since this was  \
                              sent */                                                              \
    FIELD(of, CHILDREN, children)                                                                  \
    FIELD(of, STRING, guid) /* SESSION_ENDED */

typedef struct zkl_event {
    zkl_event_kind kind;
    ZKL_EVENT_FIELDS(ZKL_FIELD, )
} zkl_event;

#define ZKL_ACTION_FIELDS(FIELD, of)                                                               \
    FIELD(of, STRING, node) /* valid until the next step, or as long as the event's strings */     \
    FIELD(of, COUNT, level) /* MAKE_PARENT, INSPECT_PARENT: above the resource */                  \
    FIELD(of, STATUS, status)

typedef struct zkl_action {
    zkl_action_kind kind;
    ZKL_ACTION_FIELDS(ZKL_FIELD, )
} zkl_action;

/** The most actions that one step can ask for. */
#define ZKL_ACTIONS_MAX 8

typedef struct zkl_actions {
    size_t count;
    zkl_action list[ZKL_ACTIONS_MAX];
    char prefix[ZKL_NODE_NAME_SIZE]; /* the node of a CREATE */
    bool overflowed; /* there were more, which no request asks for: the recipe is broken */
} zkl_actions;

/** What the user wants. */
#define ZKL_REQUEST_OPTIONS(FIELD, of)                                                             \
    FIELD(of, MODE, mode) /* after a downgrade ZKL_READ */                                         \
    FIELD(of, COUNT, permits)                                                                      \
    FIELD(of, COUNT, depth)       /* of the resource's path: names in it */                        \
    FIELD(of, COUNT, max_waiting) /* fail if this many others wait before us; 0: no limit */       \
    FIELD(of, FLAG, is_member)    /* of a set: see below */                                        \
    FIELD(of, FLAG, only_try)     /* give up rather than wait */                                   \
    FIELD(of, FLAG, fail_on_session_expiry) /* rather than join again in the next session */       \
    FIELD(of, FLAG, needs_lease)            /* is granted only while the session has a lease */    \
    FIELD(of, FLAG, lent)                   /* its node is kept and lent: lending.h */             \
    FIELD(of, STRING, companion) /* a node of the same owner that is not in its way, and without   \
                                  which nothing is granted. It outlives the request */

/*
 * One transaction makes the nodes of all members of a set, so that a request which waits for
 * one waits backwards only. So a member never makes a node when another may have
 * one: it does not join again, as alone it would be behind those who wait for the
 * others; its create is not also the barrier of a lost one; and the zxid of its
 * node is not known until it is inspected.
 */

/** What it knows of its session. */
#define ZKL_REQUEST_SESSION(FIELD, of)                                                             \
    FIELD(of, FLAG, connected)                                                                     \
    FIELD(of, FLAG, lease_runs) /* for long enough for a grant */                                  \
    FIELD(of, FLAG, settled)    /* a committed write went through after the lost create */         \
    FIELD(of, GUID, guid)       /* a fresh UUID for each session, by which our nodes are named */

#define ZKL_OWN_NODE_LIST(OWN_NODE)                                                                \
    OWN_NODE(NONE)                                                                                 \
    OWN_NODE(UNSURE) /* a create was sent, its reply lost */                                       \
    OWN_NODE(OURS)

#define ZKL_OWN_NODE_(name) ZKL_OWN_NODE_##name,
typedef enum zkl_own_node { ZKL_OWN_NODE_LIST(ZKL_OWN_NODE_) } zkl_own_node;

/** Its place in the queue. */
#define ZKL_REQUEST_OWN(FIELD, of)                                                                 \
    FIELD(of, OWN_NODE, state)                                                                     \
    FIELD(of, FLAG, to_watch)   /* its watch was asked for; until it is armed, probes ask again */ \
    FIELD(of, FLAG, watched)    /* its watch is armed, as the servers of this connection said */   \
    FIELD(of, FLAG, downgraded) /* zxid is that of the writer's node before it */                  \
    FIELD(of, FLAG, hands_over) /* it was held when it was released: say so */                     \
    FIELD(of, NUMBER, zxid)                                                                        \
    FIELD(of, NAME, node)

/** What a lost create may have left behind. */
#define ZKL_REQUEST_LOST(FIELD, of)                                                                \
    FIELD(of, FLAG, twins)       /* perhaps a second node of ours */                               \
    FIELD(of, FLAG, unconfirmed) /* `node` has our GUID, to be inspected */                        \
    FIELD(of, FLAG, is_answer)   /* the reply to our create has named it: it is ours */            \
    FIELD(of, FLAG, surplus)     /* `node` is ours too, to be deleted */                           \
    FIELD(of, NAME, node)        /* neither: up to here, those inspected were somebody else's */

/** How it waits. */
#define ZKL_REQUEST_WAIT(FIELD, of)                                                                \
    FIELD(of, FLAG, way_was_free) /* try, and where few may wait: the first list showed no reason  \
                                     to fail */                                                    \
    FIELD(of, FLAG, watching)     /* who is in its way */                                          \
    FIELD(of, FLAG, next_in_line) /* when the blocker is deleted nobody is left before us */       \
    FIELD(of, FLAG, is_told)      /* when the blocker's data are set its holder has released it */

/** What did not work, or has to be done before anything else. */
#define ZKL_REQUEST_RETRY(FIELD, of)                                                               \
    FIELD(of, FLAG, pause)                                                                         \
    FIELD(of, FLAG, probed_in_vain) /* try: the session was probed once while it waited for the    \
                                       lease */                                                    \
    FIELD(of, COUNT, rejoins)       /* without a node coming of it */

/** The resource's node, and those above it. */
#define ZKL_REQUEST_PARENTS(FIELD, of)                                                             \
    FIELD(of, FLAG, missing) /* make it before anything else */                                    \
    FIELD(of, COUNT, level)  /* that is being made */                                              \
    FIELD(of, COUNT, made)   /* without a node coming of it */

#define ZKL_REQUEST_DOWNGRADE(FIELD, of)                                                           \
    FIELD(of, FLAG, wanted)                                                                        \
    FIELD(of, FLAG, unsure) /* its reply was lost; lost.node is the reader that was to come */

#define ZKL_REQUEST_VERDICT(FIELD, of)                                                             \
    FIELD(of, FLAG, given)                                                                         \
    FIELD(of, STATUS, late) /* given when our node is gone; ZKL_OK: none */

/** What was told, once is enough. */
#define ZKL_REQUEST_TOLD(FIELD, of)                                                                \
    FIELD(of, FLAG, unknown)                                                                       \
    FIELD(of, FLAG, refusal)

#define ZKL_STAGE_LIST(STAGE)                                                                      \
    STAGE(JOINING) /* joins the queue, and waits in it */                                          \
    STAGE(FIRST)   /* nobody is in its way: waits for a lease */                                   \
    STAGE(HELD)                                                                                    \
    STAGE(KEPT)    /* lost, but our node stays until it is released */                             \
    STAGE(LEAVING) /* from here on it wants nothing but to be gone */                              \
    STAGE(ENDED)

#define ZKL_STAGE_(name) ZKL_STAGE_##name,
typedef enum zkl_request_stage { ZKL_STAGE_LIST(ZKL_STAGE_) } zkl_request_stage;

#define ZKL_REQUEST_SELF(FIELD, of)                                                                \
    FIELD(of, STAGE, stage)                                                                        \
    FIELD(of, FLAG, draining)    /* the resource's sequence is used up: its node must go first */  \
    FIELD(of, BITS, outstanding) /* operations whose answer is awaited, by the bit of each */

typedef zkl_own_node zkl_field_OWN_NODE;
typedef zkl_request_stage zkl_field_STAGE;

/** The last is what its fields are called with. */
#define ZKL_REQUEST_PARTS(PART)                                                                    \
    PART(OPTIONS, options, options.)                                                               \
    PART(SESSION, session, session.)                                                               \
    PART(OWN, own, own.)                                                                           \
    PART(LOST, lost, lost.)                                                                        \
    PART(WAIT, wait, wait.)                                                                        \
    PART(RETRY, retry, retry.)                                                                     \
    PART(PARENTS, parents, parents.)                                                               \
    PART(DOWNGRADE, downgrade, downgrade.)                                                         \
    PART(VERDICT, verdict, verdict.)                                                               \
    PART(TOLD, told, told.)

#define PART(LIST, name, of)                                                                       \
    typedef struct zkl_request_##name {                                                            \
        ZKL_REQUEST_##LIST(ZKL_FIELD, )                                                            \
    } zkl_request_##name;
ZKL_REQUEST_PARTS(PART)
#undef PART

/** Read its fields freely; only the recipe writes them. */
typedef struct zkl_request {
    ZKL_REQUEST_SELF(ZKL_FIELD, )
#define PART(LIST, name, of) zkl_request_##name name;
    ZKL_REQUEST_PARTS(PART)
#undef PART
} zkl_request;
