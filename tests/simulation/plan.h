/*
 * What one run of the simulation is to do, drawn from its seed: who contends for
 * what, and what goes wrong. It is plain data, so that parts of it can be left
 * out when a run that failed is made smaller.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "zklock/zklock.h"

enum {
    PLAN_PERMITS_MAX = 3,
    PLAN_CLIENTS_MAX = 4,
    PLAN_RESOURCES_MAX = 2,
    PLAN_CONTENDERS_MAX = 10,
    PLAN_TURNS_MAX = 4,
    PLAN_FAULTS_MAX = 44,
    PLAN_SETS_MAX = 8,
    PLAN_SET_RESOURCES = 3, /* one of them is used by nobody else; and stripes of a striped lock */
    PLAN_QUEUE_PATH_SIZE = 64,
    PLAN_CANDIDATES_MAX = 4,
    PLAN_OBSERVERS_MAX = 3
};

/** One process with one client. */
typedef struct plan_client {
    int32_t session_timeout_ms;
    int32_t lease_tick_ms; /* 0: no lease */
    int32_t rate_ppm;      /* of its clock */
    bool logs;
    bool dispatches;           /* its callbacks itself, rather than have a thread for them */
    bool containers;           /* it makes resources' nodes as such */
    int32_t watched_bytes_max; /* of each of its sessions; 0: the usual */
    int32_t closes_at_ms;      /* though its contenders may not be done; -1: when they are */
    int32_t close_timeout_ms;  /* of that */
    int32_t dies_at_ms;        /* as by kill -9; -1: it does not */
} plan_client;

/** The resource that is in stripes. */
#define PLAN_STRIPED "/locks/striped"

/** Which stripes. */
typedef enum plan_way { PLAN_BY_KEY, PLAN_ANY, PLAN_ALL, PLAN_WAYS } plan_way;

/** One acquire, and what follows it. */
typedef struct plan_turn {
    bool left_out;
    int32_t rest_ms; /* before it */
    zkl_mode mode;
    int64_t timeout_ms;
    int32_t cancel_after_ms; /* -1: nobody cancels it */
    int32_t close_after_ms;  /* -1: nobody closes the handle meanwhile */
    int32_t hold_ms;
    int32_t acquire_again; /* how often, of a reentrant handle */
    bool writes;           /* to the store, under its token */
    bool asks_servers;     /* whether it holds, and to write only then */
    bool closes;           /* the handle, rather than release the lock */
    int64_t release_timeout_ms;
    bool changes; /* the mode of what it holds: a writer downgrades, a reader tries to upgrade */
    int64_t downgrade_timeout_ms;
    plan_way way; /* of a striped lock, */
    uint32_t key;
} plan_turn;

/** One handle, and the thread that uses it. */
typedef struct plan_contender {
    bool left_out;
    unsigned client;
    unsigned resource;
    bool reentrant;
    bool fail_on_session_expiry;
    bool hears_news;
    bool tell_contended;  /* it wants to hear when somebody waits behind it */
    bool revocable;       /* may be asked for what it holds */
    bool cooperates;      /* leaves when it is */
    bool asynchronous;    /* its thread waits for a callback, rather than in the call */
    unsigned permits;     /* of the semaphore that it takes its resource for; 0: a lock */
    unsigned max_waiting; /* 0: any number */
    bool borrows;         /* its client lends it a node, as the plan has it */
    int32_t priority;     /* ... among others */
    int64_t max_hold_ms;
    size_t turn_count;
    plan_turn turns[PLAN_TURNS_MAX];
} plan_contender;

/** One set, or striped lock, and the thread that uses it; of its turns what
 *  set_contender.c knows. */
typedef struct plan_set {
    bool left_out;
    unsigned client;
    size_t resource_count;
    unsigned resources[PLAN_SET_RESOURCES]; /* in the order in which it names them */
    zkl_mode modes[PLAN_SET_RESOURCES];
    int32_t stripes;   /* it is a striped lock; 0: a set */
    bool asynchronous; /* its thread waits for a callback, rather than in the call */
    bool hears_news;
    bool fail_on_session_expiry;
    int64_t max_hold_ms;
    size_t turn_count;
    plan_turn turns[PLAN_TURNS_MAX];
} plan_set;

/** One candidate for leader, and the thread that uses it; of its turns what candidate.c knows. */
typedef struct plan_candidate {
    bool left_out;
    unsigned client;
    unsigned resource;
    bool asynchronous;
    bool resigns_when_lost; /* in the callback */
    bool comes_back;        /* to lead once more when nothing goes wrong any more */
    size_t turn_count;
    plan_turn turns[PLAN_TURNS_MAX];
} plan_candidate;

/** One who follows who leads. */
typedef struct plan_observer {
    bool left_out;
    unsigned client;
    unsigned resource;
    int32_t opens_after_ms;
    int32_t follows_ms;   /* then it is closed, and opened again; -1: until the end */
    bool closes_itself;   /* in the callback that tells it of the first leader */
    bool outlives_client; /* it is closed after it */
} plan_observer;

#define PLAN_FAULT_LIST(X)                                                                         \
    X(PLAN_CUT_CONNECTION, "cut-connection")                                                       \
    X(PLAN_CUT_SERVER_OFF, "cut-server-off")                                                       \
    X(PLAN_STOP_SERVER, "stop-server")                                                             \
    X(PLAN_STOP_ALL_SERVERS, "stop-all-servers")                                                   \
    X(PLAN_ELECT, "elect")                                                                         \
    X(PLAN_LAG, "lag")                                                                             \
    X(PLAN_EXPIRE_SESSION, "expire-session")                                                       \
    X(PLAN_STOP_PROCESS, "stop-process")                                                           \
    X(PLAN_DELETE_NODE, "delete-node")                                                             \
    X(PLAN_FOREIGN_NODE, "foreign-node")                                                           \
    X(PLAN_DELETE_PARENT, "delete-parent")                                                         \
    X(PLAN_REFUSE, "refuse")                                                                       \
    X(PLAN_THROTTLE, "throttle")                                                                   \
    X(PLAN_ALLOCATION, "allocation")                                                               \
    X(PLAN_REPEAT_NEWS, "repeat-news")                                                             \
    X(PLAN_MUTE, "mute")                                                                           \
    X(PLAN_REPLACE_CONNECTION, "replace-connection")                                               \
    X(PLAN_FAIL_NAMES, "fail-names")                                                               \
    X(PLAN_FEW_NAMES, "few-names")                                                                 \
    X(PLAN_MOVE_SERVERS, "move-servers")                                                           \
    X(PLAN_FAIL_OPENS, "fail-opens")                                                               \
    X(PLAN_OPEN_HOLES, "open-holes")                                                               \
    X(PLAN_MOVE_SOME, "move-some")                                                                 \
    X(PLAN_LEAVE_SESSION, "leave-session")                                                         \
    X(PLAN_REPLACE_NODE, "replace-node")

typedef enum plan_fault_kind {
#define PLAN_FAULT_ENUM(name, text) name,
    PLAN_FAULT_LIST(PLAN_FAULT_ENUM)
#undef PLAN_FAULT_ENUM
        PLAN_FAULT_KINDS
} plan_fault_kind;

typedef struct plan_fault {
    bool left_out;
    plan_fault_kind kind;
    int32_t at_ms;
    int32_t duration_ms;
    uint32_t target; /* which server, client, resource or child, modulo their number */
    uint32_t choice; /* among variants */
} plan_fault;

typedef struct run_plan {
    uint64_t seed;
    int32_t tick_ms; /* of the servers */
    unsigned resource_count;
    zkl_naming namings[PLAN_RESOURCES_MAX]; /* that of the contenders for a lock on it */
    size_t client_count;
    plan_client clients[PLAN_CLIENTS_MAX];
    size_t contender_count;
    plan_contender contenders[PLAN_CONTENDERS_MAX];
    int32_t stripes; /* of the striped locks among the next; 0: there are none */
    size_t set_count;
    plan_set sets[PLAN_SETS_MAX];
    size_t candidate_count;
    plan_candidate candidates[PLAN_CANDIDATES_MAX];
    size_t observer_count;
    plan_observer observers[PLAN_OBSERVERS_MAX];
    bool administered; /* somebody looks at queues, and removes idle parents */
    bool breaks;       /* ... and nodes */
    bool revokes;      /* ... and asks holders for their locks */
    size_t fault_count;
    plan_fault faults[PLAN_FAULTS_MAX];
    int32_t faults_end_ms;    /* from here on nothing goes wrong any more */
    uint32_t lost_before_ppm; /* of requests: the connection breaks before they are applied */
    uint32_t lost_after_ppm;  /* ... and after */
    uint32_t slow_ppm;        /* of messages, commits and deliveries: they take long */
    uint32_t strange_ppm;     /* of calls, connections and news: not sent, refused, repeated */
    int closer_client; /* that has a handle which is closed in the middle of its calls; -1: none */
    int32_t first_sequence_to_end; /* >= 0: so far from 2^31 the counters of the resources begin */
    uint32_t
        withheld; /* rights to the lock root, which is another team's; the resources are there */
    bool checks_early;    /* servers refuse by themselves */
    bool closed;          /* to strangers: nodes are of those who know the secret */
    bool refuses_digests; /* the servers know no digest, and so no node is protected */
    bool some_are_open;   /* every other client protects nothing */
    bool renames;         /* contenders give their clients lists of hosts */
    bool rotates;         /* ... and credentials */
    int32_t hand_offs;    /* of nodes that are lent, as the next two */
    int64_t hand_off_ms;
    int64_t retain_ms; /* by clients that keep a lease; others hand on once at least */
} run_plan;

/** Draws a plan. Ends the simulated world that there may be. */
void plan_draw(run_plan *plan, uint64_t seed);

/** The parts of a plan that can be left out: rates first, then early ends of clients. */
size_t plan_part_count(const run_plan *plan);
/** Leaves a part out, or takes it in again. False: it is not there, or was so already. */
bool plan_leave_out(run_plan *plan, size_t part, bool left_out);

/** The queues that are contended for, in one way or another: those of resources, then those of
 *  stripes. */
size_t plan_queue_count(const run_plan *plan);
void plan_queue_path(const run_plan *plan, size_t number, char path[PLAN_QUEUE_PATH_SIZE]);

/** Whose names the nodes of a contender have. */
zkl_naming plan_naming(const run_plan *plan, const plan_contender *contender);
/** Whose names contenders for a lock have in the queue with this path. */
zkl_naming plan_naming_of(const run_plan *plan, const char *path);

/** The most permits of a contender's semaphore, or 1. */
unsigned plan_most_permits(const run_plan *plan);

/** Of clients of servers that are closed to strangers: the last one is needed. Behind it is one
 *  more, of which zklock does not know what identity it gives. */
enum { PLAN_CREDENTIALS = 2 };
extern const zkl_credential plan_credentials[PLAN_CREDENTIALS + 1];
/** Who its clients are, and the ACLs of what they make. */
void plan_introduce(const run_plan *plan, zkl_security *security);

/** Writes it, without what is left out, for people to read. */
void plan_print(const run_plan *plan, FILE *file);

/** Whether a request may be refused for want of a right to the lock root. */
bool plan_lacks_rights(const run_plan *plan);

/** Whether nothing goes wrong in it. */
bool plan_is_calm(const run_plan *plan);
/** Whether nothing goes wrong but by the hands of others: news is late by no more than usual. */
bool plan_is_by_hand(const run_plan *plan);
/** Whether the servers answer every request at once, be it with a refusal. */
bool plan_is_answered(const run_plan *plan);

const char *plan_fault_name(plan_fault_kind kind);
