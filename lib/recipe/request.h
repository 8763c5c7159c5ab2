/*
 * One acquisition of a lock, from START to END: the protocol as a pure state
 * machine. Events go in, actions come out; it does no I/O, knows no clock, no
 * threads, and allocates nothing.
 *
 *     zkl_request_step(request, event, actions)
 *
 * Two things make up its state: what the request *wants* (to join the queue and
 * hold, or to leave it), and what it *knows of its node* (there is none; its
 * create was sent and the reply lost, so there may be one; it is ours). An
 * event changes these; when no operation is outstanding, advance() names the
 * next operations that the two call for. So a request that is cancelled, or
 * times out, or is released, or lost a reply, takes the same few paths out.
 *
 * The verdict (GRANT or FAIL) is given exactly once. END comes exactly once,
 * last, when the node is known to be gone; after it the object is dead.
 */
#ifndef ZKLOCK_RECIPE_REQUEST_H
#define ZKLOCK_RECIPE_REQUEST_H

#include "recipe/queue.h"

/** Requests do not use a sequence this near to 2^31: there the servers' counter
 *  sticks and the order is lost. They wait until the resource is empty, delete its
 *  node, and begin anew, with the sequence 0. */
#define ZKL_SEQUENCE_LIMIT (INT32_MAX - (1 << 20))

/** How an operation ended. */
typedef enum zkl_outcome {
    ZKL_OUTCOME_OK,
    ZKL_OUTCOME_NO_NODE,      /* the node, or the parent of the node, does not exist */
    ZKL_OUTCOME_UNKNOWN,      /* the reply was lost: applied, not applied, or applied later */
    ZKL_OUTCOME_NOT_NOW,      /* not applied; the same again later may be */
    ZKL_OUTCOME_REFUSED,      /* not applied, and never will be: see the event's status */
    ZKL_OUTCOME_SESSION_OVER, /* not applied, or gone with the session */
    ZKL_OUTCOME_NOT_EMPTY     /* a deletion, not applied: the node has children */
} zkl_outcome;

typedef enum zkl_event_kind {
    ZKL_EVENT_START,
    /* Replies: each carries an outcome. One that nobody awaits is ignored. */
    ZKL_EVENT_CREATED,          /* OK: node, zxid (0: not known) */
    ZKL_EVENT_LISTED,           /* OK: children */
    ZKL_EVENT_PARENT_MADE,      /* OK */
    ZKL_EVENT_WATCHED,          /* OK: all watches are armed; NO_NODE: one of the nodes is gone */
    ZKL_EVENT_INSPECTED,        /* OK: zxid, own_session; NO_NODE */
    ZKL_EVENT_DELETED,          /* OK, NO_NODE: it is gone */
    ZKL_EVENT_SETTLED,          /* OK: the committed write of ACTION_SETTLE is done */
    ZKL_EVENT_OWN_WATCHED,      /* OK: the watch is armed; NO_NODE: our node is gone */
    ZKL_EVENT_PARENT_REMOVED,   /* OK, NO_NODE: it is gone; NOT_EMPTY: it is in use */
    ZKL_EVENT_PARENT_INSPECTED, /* OK: zxid, holds_data; NO_NODE */
    ZKL_EVENT_DOWNGRADED,       /* OK: our node is now the reader's; NO_NODE: ours is gone */
    ZKL_EVENT_BACKED_OFF,       /* no outcome: the pause is over */
    /* News. */
    ZKL_EVENT_WATCH_FIRED,     /* deleted, fresh; of several watches the first, and none is left */
    ZKL_EVENT_OWN_WATCH_FIRED, /* something happened to our own node */
    ZKL_EVENT_PROBE,       /* time to look after the node of a lock that is held; comes once in each
                              period of the session, in which a lease can be earned */
    ZKL_EVENT_LEASE_BEGUN, /* the session has a lease that is long enough for a grant */
    ZKL_EVENT_LEASE_THIN,  /* it runs, but for too short a time to be granted anything */
    ZKL_EVENT_LEASE_ENDED, /* the session's lease has run out */
    ZKL_EVENT_HOLD_LIMIT,  /* the lock has been held for as long as it may be */
    ZKL_EVENT_CONNECTED,   /* the session has a (new) connection */
    ZKL_EVENT_DISCONNECTED,  /* the connection of the session is lost */
    ZKL_EVENT_SESSION_ENDED, /* expired; guid: a fresh one for the next session, NULL: none to
                                be had */
    /* The user's, and the deadline's. */
    ZKL_EVENT_TIMED_OUT,
    ZKL_EVENT_CANCELLED, /* status: the verdict */
    ZKL_EVENT_RELEASED,
    ZKL_EVENT_DOWNGRADE /* hold what is held for writing for reading */
} zkl_event_kind;

typedef struct zkl_event {
    zkl_event_kind kind;
    zkl_outcome outcome;
    int status;       /* REFUSED: why; CANCELLED: the verdict */
    const char *node; /* CREATED: the name that the server gave */
    int64_t zxid;     /* CREATED, INSPECTED, PARENT_INSPECTED: the node's czxid */
    bool own_session; /* INSPECTED: the node's owner is our session */
    bool holds_data;  /* PARENT_INSPECTED: somebody has written to it */
    bool deleted;     /* WATCH_FIRED: the node was deleted, and not merely changed */
    bool fresh;       /* WATCH_FIRED: our session cannot have expired since it was sent */
    zkl_listed children;
    const char *guid; /* SESSION_ENDED */
} zkl_event;

typedef enum zkl_action_kind {
    ZKL_ACTION_CREATE,          /* an ephemeral sequential node; node: its prefix */
    ZKL_ACTION_LIST,            /* the children of the resource */
    ZKL_ACTION_MAKE_PARENT,     /* the resource and whatever is missing above it */
    ZKL_ACTION_WATCH,           /* node: whose deletion to wait for; of a permit of n that of any of
                                   the n nearest earlier ones in the event's list, of which it is one */
    ZKL_ACTION_UNWATCH,         /* forget that watch, or those; no reply */
    ZKL_ACTION_WATCH_OWN,       /* node: ours, to hear of it when somebody deletes it */
    ZKL_ACTION_UNWATCH_OWN,     /* forget that watch; no reply */
    ZKL_ACTION_INSPECT,         /* node: whose owner and czxid to read */
    ZKL_ACTION_INSPECT_PARENT,  /* the resource's node: its czxid, and whether it holds data */
    ZKL_ACTION_DELETE,          /* node */
    ZKL_ACTION_REMOVE_PARENT,   /* the resource's node, if it has no children and nobody has written
                                   to it since it was inspected */
    ZKL_ACTION_DOWNGRADE,       /* in one transaction make node, and delete ours */
    ZKL_ACTION_SETTLE,          /* any committed write; what was sent before is then decided */
    ZKL_ACTION_BACK_OFF,        /* pause, longer each time, with jitter */
    ZKL_ACTION_GRANT,           /* the verdict: held */
    ZKL_ACTION_FAIL,            /* the verdict: status */
    ZKL_ACTION_LOSE,            /* the lock that was granted is lost; status: why */
    ZKL_ACTION_DOWNGRADE_ENDED, /* the verdict of a downgrade: status */
    ZKL_ACTION_REJOIN,          /* news: the place in the queue was lost, it joins again */
    ZKL_ACTION_REPORT,          /* news: node, a child of unknown kind, is in the way */
    ZKL_ACTION_WARN,            /* news: the server refuses to delete our node; status: why */
    ZKL_ACTION_END              /* the last action of all */
} zkl_action_kind;

typedef struct zkl_action {
    zkl_action_kind kind;
    const char *node; /* valid until the next step, or as long as the event's strings */
    int status;
} zkl_action;

/** The most actions that one step can ask for. */
#define ZKL_ACTIONS_MAX 8

typedef struct zkl_actions {
    size_t count;
    zkl_action list[ZKL_ACTIONS_MAX];
    bool overflowed; /* there were more, which no request asks for: the recipe is broken */
} zkl_actions;

/** Adds one, never past the last: then it says so in `overflowed`. */
void zkl_actions_add(zkl_actions *actions, const zkl_action *action);

typedef struct zkl_request_options {
    zkl_contender_kind kind;
    unsigned max_waiting;        /* fail when so many others would wait before us; 0: no limit */
    bool is_member;              /* of a multi-lock: see below */
    bool only_try;               /* give up rather than wait */
    bool fail_on_session_expiry; /* rather than join again in the next session */
    bool needs_lease;            /* is granted only while the session has a lease */
    bool lease_runs;             /* now, and for long enough for a grant */
    const char *guid;            /* a fresh UUID */
    const char *companion;       /* a node of the same owner that is not in its way, and without
                                    which nothing is granted; NULL: none */
} zkl_request_options;

/*
 * The members of a multi-lock are made by one transaction, so that whoever waits for
 * one waits backwards only. So a member never makes a node when another may have
 * one: it does not join again, as alone it would be behind those who wait for the
 * others; its create is not also the barrier of a lost one; and the zxid of its
 * node is not known until it is inspected.
 */

typedef enum zkl_request_aim { ZKL_AIM_JOIN, ZKL_AIM_LEAVE } zkl_request_aim;

typedef enum zkl_own_node {
    ZKL_OWN_NODE_NONE,
    ZKL_OWN_NODE_UNSURE, /* a create was sent, its reply lost */
    ZKL_OWN_NODE_OURS
} zkl_own_node;

/** Read its fields freely; only this module writes them. */
typedef struct zkl_request {
    zkl_mode mode; /* after a downgrade ZKL_READ */
    unsigned permits;
    unsigned max_waiting;
    bool is_member;
    bool only_try;
    bool fail_on_session_expiry;
    bool needs_lease;
    bool lease_runs;
    bool connected;
    zkl_request_aim aim;
    zkl_own_node own_node;
    bool way_was_free;   /* try, and where few may wait: the first list showed no reason to fail */
    bool parent_missing; /* make it before anything else */
    bool must_back_off;
    bool watching;
    bool watching_own;
    bool next_in_line; /* when the blocker is deleted nobody is left before us */
    bool waits_for_lease;
    bool probed_in_vain; /* try: the session was probed once while it waited for the lease */
    bool held;
    bool keeps_node; /* lost, but our node stays until it is released */
    bool settled;    /* a committed write went through after the lost create */
    bool twins;      /* a lost create may have left a second node of ours */
    bool decided;    /* the verdict was given */
    bool ended;
    bool unknown_reported;
    bool refusal_reported;
    bool draining; /* the resource's sequence is used up: its node must go first */
    bool downgrade_wanted;
    bool downgrade_unsure; /* its reply was lost */
    int late_verdict;      /* given when our node is gone; ZKL_OK: none */
    unsigned outstanding;  /* operations whose reply is awaited, a bit each */
    unsigned parents_made; /* without a node coming of it; likewise rejoins */
    unsigned rejoins;
    int64_t zxid; /* of our node */
    char guid[ZKL_GUID_SIZE];
    char prefix[ZKL_NODE_NAME_SIZE];
    char node[ZKL_NODE_NAME_SIZE];       /* ours */
    char candidate[ZKL_NODE_NAME_SIZE];  /* has our GUID, to be inspected */
    char surplus[ZKL_NODE_NAME_SIZE];    /* ours too, to be deleted */
    char rejected[ZKL_NODE_NAME_SIZE];   /* up to here, candidates were somebody else's */
    char downgraded[ZKL_NODE_NAME_SIZE]; /* the reader that is to take our writer's place */
    char companion[ZKL_NODE_NAME_SIZE];
} zkl_request;

/** From where a request looks at a list: from its node, or from the tail. */
zkl_queue_place zkl_request_place(const zkl_request *request);

/** Prepares a request; the first event must be START. */
void zkl_request_begin(zkl_request *request, const zkl_request_options *options, bool connected);

/** Takes one event and replaces what is in `actions` by what is now to be done, in order. */
void zkl_request_step(zkl_request *request, const zkl_event *event, zkl_actions *actions);

#endif
