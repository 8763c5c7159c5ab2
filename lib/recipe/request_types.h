/*
 * The events, the actions and the state of a request: what happens to it, what it asks for, and
 * what it knows. request.h has the function that takes a request from one state to the next.
 */
#pragma once

#include "recipe/fields.h"

/** Requests do not use a sequence this near to 2^31, where the servers' counter sticks and the
 *  order is lost. They wait until the resource is empty, delete its node, and begin again, with the
 *  sequence 0. */
#define ZKL_SEQUENCE_LIMIT (INT32_MAX - (1 << 20))

/** How an operation ended. */
#define ZKL_OUTCOME_LIST(OUTCOME)                                                                  \
    OUTCOME(OK)                                                                                    \
    OUTCOME(NO_NODE)      /* the node, or the parent of the node, does not exist */                \
    OUTCOME(UNKNOWN)      /* the reply was lost: it was applied, was not, or will be */            \
    OUTCOME(NOT_NOW)      /* not applied; the same operation may be, later */                      \
    OUTCOME(REFUSED)      /* not applied, and never will be: see the event's status */             \
    OUTCOME(SESSION_OVER) /* not applied, or undone by the session's end */                        \
    OUTCOME(NOT_EMPTY)    /* a deletion, not applied: the node has children */

#define ZKL_OUTCOME_(name) ZKL_OUTCOME_##name,
typedef enum zkl_outcome { ZKL_OUTCOME_LIST(ZKL_OUTCOME_) } zkl_outcome;

/** The operations that a request asks for, and the event that answers each, which has an outcome.
 *  An answer that nobody awaits is ignored. */
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
    /* in one transaction set the data of node, ours, and delete it: that tells its waiters that   \
     * the holder has released it. OK, NO_NODE: it is gone */                                      \
    OPERATION(HAND_OVER, HANDED_OVER)                                                              \
    /* any committed write: what was sent before it is decided then. OK: it is committed */        \
    OPERATION(SETTLE, SETTLED)                                                                     \
    /* the deletion of node, ours, by somebody else. OK: the watch is armed on the node with zxid  \
     * (0: not known) and own_session; NO_NODE: our node is gone */                                \
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
    /* a pause, longer each time, with jitter; lost.lingers: a long one. The answer has no         \
     * outcome: the pause is over */                                                               \
    OPERATION(BACK_OFF, BACKED_OFF)

/** The events that answer nothing. */
#define ZKL_NEWS_LIST(NEWS)                                                                        \
    NEWS(WATCH_FIRED)     /* deleted, data_set, fresh; of several watches the first, and none is   \
                             left */                                                               \
    NEWS(OWN_WATCH_FIRED) /* something happened to our own node */                                 \
    NEWS(PROBE)         /* it is time to look after our own node. Comes once in each period of the \
                           session's probes, in which a lease can be earned */                     \
    NEWS(LEASE_BEGUN)   /* the session has a lease that is long enough for a grant */              \
    NEWS(LEASE_THIN)    /* the session's lease is too short now for a grant */                     \
    NEWS(LEASE_ENDED)   /* the session's lease has run out */                                      \
    NEWS(HOLD_LIMIT)    /* the lock has been held for as long as it may be */                      \
    NEWS(CONNECTED)     /* the session has a (new) connection */                                   \
    NEWS(DISCONNECTED)  /* the connection of the session is lost */                                \
    NEWS(UNPROTECTED)   /* the new session, not connected yet, cannot protect its nodes */         \
    NEWS(SESSION_ENDED) /* guid: a fresh one for the next session, NULL: there is none */          \
    /* From the user, and from the deadline. */                                                    \
    NEWS(TIMED_OUT)                                                                                \
    NEWS(CANCELLED) /* status: the verdict */                                                      \
    NEWS(RELEASED)                                                                                 \
    NEWS(DOWNGRADE) /* the writer is to become a reader, and hold on */

#define ZKL_EVENT_(name) ZKL_EVENT_##name,
#define ZKL_EVENT_OF_(asked, answered) ZKL_EVENT_##answered,
typedef enum zkl_event_kind {
    ZKL_EVENT_START,
    ZKL_OPERATION_LIST(ZKL_EVENT_OF_) ZKL_NEWS_LIST(ZKL_EVENT_)
} zkl_event_kind;

/** The actions that have no answer. */
#define ZKL_ORDER_LIST(ORDER)                                                                      \
    ORDER(UNWATCH)         /* forget the watch, or watches, of WATCH */                            \
    ORDER(UNWATCH_OWN)     /* forget the watch of WATCH_OWN */                                     \
    ORDER(GRANT)           /* the verdict: the lock is held */                                     \
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
    FIELD(of, FLAG, own_session) /* CREATED, INSPECTED, ..._WATCHED: our session owns the node;    \
                                    WATCH_FIRED: another request of our session has made it */     \
    FIELD(of, FLAG, holds_data)  /* PARENT_INSPECTED: somebody has written to it */                \
    FIELD(of, FLAG, deleted)     /* WATCH_FIRED: the node was deleted */                           \
    FIELD(of, FLAG, data_set)    /* WATCH_FIRED: its data were set */                              \
    FIELD(of, FLAG, fresh) /* WATCH_FIRED, LISTED, ..._WATCHED: our session cannot have expired    \
                              since this was sent */                                               \
    FIELD(of, CHILDREN, children)                                                                  \
    FIELD(of, STRING, guid) /* SESSION_ENDED */

typedef struct zkl_event {
    zkl_event_kind kind;
    ZKL_EVENT_FIELDS(ZKL_FIELD, )
} zkl_event;

#define ZKL_ACTION_FIELDS(FIELD, of)                                                               \
    FIELD(of, STRING, node) /* valid until the next step, or as long as the event's strings */     \
    FIELD(of, COUNT, level) /* MAKE_PARENT, INSPECT_PARENT: how far above the resource */          \
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
    char prefix[ZKL_NODE_NAME_SIZE]; /* the name that CREATE's node is created by */
    bool overflowed;                 /* there were more actions than fit: the recipe is broken */
} zkl_actions;

/** What the user wants. These fields are constant but for the mode. */
#define ZKL_REQUEST_OPTIONS(FIELD, of)                                                             \
    FIELD(of, MODE, mode) /* ZKL_READ after a downgrade */                                         \
    FIELD(of, COUNT, permits)                                                                      \
    FIELD(of, NAMING, naming)                                                                      \
    FIELD(of, COUNT, depth)       /* how many names the resource's path has */                     \
    FIELD(of, COUNT, max_waiting) /* it fails if this many others wait before it; 0: no limit */   \
    FIELD(of, FLAG, is_member)    /* it is a member of a set: see below */                         \
    FIELD(of, FLAG, only_try)     /* it gives up rather than wait */                               \
    FIELD(of, FLAG, fail_on_session_expiry) /* it does not join again in the next session */       \
    FIELD(of, FLAG, needs_lease)            /* it is granted only while the session has a lease */ \
    FIELD(of, FLAG, lent)                   /* its node is kept, and lent to handles: lending.h */ \
    FIELD(of, STRING, companion) /* a node of the same owner that does not block it, and without   \
                                  which it is not granted. Its text outlives the request */

/*
 * One transaction makes the nodes of all members of a set, so that a request which waits for one
 * waits backwards only. So a member never makes a node when another may have one: it does not join
 * again, as its new node would be behind those that wait for the other members; its create is not
 * also the barrier of a lost one; and the zxid of its node is not known until it is inspected.
 */

/** What it knows of its session. */
#define ZKL_REQUEST_SESSION(FIELD, of)                                                             \
    FIELD(of, FLAG, connected)                                                                     \
    FIELD(of, FLAG, lease_runs) /* the session's lease is long enough for a grant */               \
    FIELD(of, FLAG, settled)    /* a write was committed on this connection */                     \
    FIELD(of, GUID, guid)       /* a new UUID for each session, by which our nodes are named */

#define ZKL_OWN_NODE_LIST(OWN_NODE)                                                                \
    OWN_NODE(NONE)                                                                                 \
    OWN_NODE(UNSURE) /* the reply to a create was lost */                                          \
    OWN_NODE(OURS)

#define ZKL_OWN_NODE_(name) ZKL_OWN_NODE_##name,
typedef enum zkl_own_node { ZKL_OWN_NODE_LIST(ZKL_OWN_NODE_) } zkl_own_node;

/** What it knows of its own node. */
#define ZKL_REQUEST_OWN(FIELD, of)                                                                 \
    FIELD(of, OWN_NODE, state)                                                                     \
    FIELD(of, FLAG, to_watch)   /* its watch was asked for. Until it is armed, probes ask again */ \
    FIELD(of, FLAG, watched)    /* the servers of this connection have armed its watch */          \
    FIELD(of, FLAG, downgraded) /* zxid is that of the writer's node before it */                  \
    FIELD(of, FLAG, hands_over) /* the lock was held at its release: waiters may be told */        \
    FIELD(of, NUMBER, zxid)                                                                        \
    FIELD(of, NAME, node)

/** What a lost create may have left behind. */
#define ZKL_REQUEST_LOST(FIELD, of)                                                                \
    FIELD(of, FLAG, twins)       /* there may be a second node of ours */                          \
    FIELD(of, FLAG, late)        /* one may still come: see protocol.md, "Lost replies" */         \
    FIELD(of, FLAG, lingers)     /* there is none: it pauses until none can come any more */       \
    FIELD(of, FLAG, unconfirmed) /* `node` has our GUID, and is to be inspected */                 \
    FIELD(of, FLAG, is_answer)   /* `node` is ours: the reply to our create has named it */        \
    FIELD(of, FLAG, surplus)     /* `node` is ours too, and is to be deleted */                    \
    FIELD(of, NAME, node) /* if none of these is so: nodes up to this name were inspected, and     \
                             were not ours */

/** How it waits. */
#define ZKL_REQUEST_WAIT(FIELD, of)                                                                \
    FIELD(of, FLAG, way_was_free)  /* a list has shown no reason to fail */                        \
    FIELD(of, FLAG, watching)      /* the watches of WATCH are armed */                            \
    FIELD(of, FLAG, next_in_line)  /* nobody is left before it when the blocker is deleted */      \
    FIELD(of, FLAG, hears_release) /* a change of the blocker's data says that it is released */   \
    FIELD(of, FLAG, is_free)       /* nobody is left before it: on this connection we have heard   \
                                      so of the blocker */

/** What did not work. */
#define ZKL_REQUEST_RETRY(FIELD, of)                                                               \
    FIELD(of, FLAG, pause)          /* it pauses before it asks for anything else */               \
    FIELD(of, FLAG, probed_in_vain) /* a try has waited for the lease over one probe */            \
    FIELD(of, COUNT, rejoins)       /* how often it has joined again in this session */

/** The resource's node, and those above it. */
#define ZKL_REQUEST_PARENTS(FIELD, of)                                                             \
    FIELD(of, FLAG, missing) /* one of them is made before anything else */                        \
    FIELD(of, COUNT, level)  /* how far above the resource the one is that is made */              \
    FIELD(of, COUNT, made)   /* how often it has made them since its last node */

#define ZKL_REQUEST_DOWNGRADE(FIELD, of)                                                           \
    FIELD(of, FLAG, wanted) /* the user waits for its verdict */                                   \
    FIELD(of, FLAG, unsure) /* its reply was lost; lost.node names the reader's node */

#define ZKL_REQUEST_VERDICT(FIELD, of)                                                             \
    FIELD(of, FLAG, given)                                                                         \
    FIELD(of, STATUS, late) /* the status of FAIL, once our node is gone; ZKL_OK: there is none */

/** What it has reported, which it does once. */
#define ZKL_REQUEST_REPORTED(FIELD, of)                                                            \
    FIELD(of, FLAG, unknown) /* REPORT: a child of unknown kind */                                 \
    FIELD(of, FLAG, refusal) /* WARN: the server refuses to delete our node */

#define ZKL_STAGE_LIST(STAGE)                                                                      \
    STAGE(JOINING) /* it joins the queue, and waits in it */                                       \
    STAGE(FIRST)   /* nobody is in its way; it waits for a lease */                                \
    STAGE(HELD)                                                                                    \
    STAGE(KEPT)    /* the lock is lost, but our node stays until the holder releases */            \
    STAGE(LEAVING) /* from here on it wants nothing but to be gone */                              \
    STAGE(ENDED)

#define ZKL_STAGE_(name) ZKL_STAGE_##name,
typedef enum zkl_request_stage { ZKL_STAGE_LIST(ZKL_STAGE_) } zkl_request_stage;

#define ZKL_REQUEST_SELF(FIELD, of)                                                                \
    FIELD(of, STAGE, stage)                                                                        \
    FIELD(of, FLAG, draining)    /* the resource's sequence is used up: its node must go first */  \
    FIELD(of, BITS, outstanding) /* the operations whose answer is awaited, one bit each */

typedef zkl_own_node zkl_field_OWN_NODE;
typedef zkl_request_stage zkl_field_STAGE;

/** PART(fields' list, name, what the record puts before the names of its fields). They are in the
 *  order that leaves the fewest bytes between them. */
#define ZKL_REQUEST_PARTS(PART)                                                                    \
    PART(PARENTS, parents, parents.)                                                               \
    PART(OPTIONS, options, options.)                                                               \
    PART(SESSION, session, session.)                                                               \
    PART(OWN, own, own.)                                                                           \
    PART(LOST, lost, lost.)                                                                        \
    PART(WAIT, wait, wait.)                                                                        \
    PART(DOWNGRADE, downgrade, downgrade.)                                                         \
    PART(REPORTED, reported, reported.)                                                            \
    PART(RETRY, retry, retry.)                                                                     \
    PART(VERDICT, verdict, verdict.)

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
