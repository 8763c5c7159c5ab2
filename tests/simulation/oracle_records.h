/* What the oracle remembers of the contenders and their clients; for its own parts. */
#pragma once

#include "nodes.h"
#include "oracle.h"
#include "recipe/node_name.h"

enum {
    VIOLATION_SIZE = 600,
    US_PER_MS = 1000,
    LATE_MAX_MS = 5,
    CLOCK_PARTS = 1000 /* one of so many is what the clock of a process may be fast */
};

/* What a contender believes, as it was told by the library. */
typedef struct record {
    zkl_lock *lock;
    zkl_process *process;
    const node_record *node; /* of its grant */
    bool holds;              /* granted, and it has not begun to leave */
    bool knows_of_loss;      /* it was told LOST, one way or the other */
    zkl_mode mode;
    int64_t token;     /* the czxid of its node */
    int64_t pair;      /* its whole token, see oracle_pair */
    int64_t last_pair; /* of the grant before */
    int64_t local_number;
    int64_t asked_ms;   /* on its own clock */
    int64_t stopped_us; /* its client's, when it asked */
    int64_t asked_us;   /* in the world's time */
    int64_t granted_ms; /* on its own clock */
    int64_t granted_us;
    int64_t granted_stopped_us;
    unsigned losses_told;
    unsigned revocations_told;
    int64_t revoked_pair; /* the token of the latest news that somebody asks for it */
    bool has_handle;      /* that is open */
    bool closing;         /* it is about to be closed, or is */
    bool asked_closed;    /* its client was, when it asked */
    bool left_closed;     /* ... when it began to leave */
    bool was_closed;      /* another task closes its handle while it asks */
    int64_t closed_us;    /* when that began */
    int64_t closed_stopped_us;
    bool asking;              /* it is in an acquire */
    char guid[ZKL_GUID_SIZE]; /* of its request; empty: not yet seen */
    uint64_t sessions_ended;  /* of its client, when it asked, or when it left */
    bool was_connected;       /* its client, when it asked */
    bool cancelled;           /* somebody was told that this acquire is */
    int64_t cancelled_ms;     /* on its own clock */
    int64_t cancelled_stopped_us;
    int64_t left_ms;            /* on its own clock */
    bool downgrades;            /* it has asked for it, in this grant */
    bool downgraded;            /* `node` is the reader's */
    bool upgrading;             /* it is in the call */
    int64_t first_since_us;     /* its node has nobody to wait for; -1: it has */
    int64_t contended_pair;     /* the token of the latest grant for which it was told so */
    int64_t contended_since_us; /* it should be told, and was not; -1: it should not */
    int64_t alone_since_us;     /* it has no node, and nobody else has; -1: not so */
} record;

typedef struct client_record {
    zkl_client *client;
    zkl_process *process;
    int64_t stopped_us;
    bool closes;             /* it is about to be, or is closed */
    uint64_t sessions_ended; /* until then */
    bool closed;
    int64_t closed_us; /* when that was done */
    int64_t ends_us;   /* when it was to be closed before its contenders were done, or died; -1 */
    int64_t close_stopped_us; /* stopped_us of then */
    int64_t waits_since_us;   /* in the first session, and holds nothing; -1: it does not */
} client_record;

struct oracle_state {
    const run_plan *plan;
    bool violated;
    const char *rule;
    char violation[VIOLATION_SIZE];
    record records[PLAN_CONTENDERS_MAX];
    client_record clients[PLAN_CLIENTS_MAX];
    /* The greatest token of a grant so far whose node was alive, by resource. */
    int64_t greatest_pair[PLAN_RESOURCES_MAX];        /* of any */
    int64_t greatest_writer_pair[PLAN_RESOURCES_MAX]; /* of those that exclude readers */
    int64_t healed_us;                                /* INT64_MAX: things still go wrong */
    uint64_t grants;
    uint64_t waits;
    uint64_t sets; /* of which set-contenders were told */
    uint64_t refusals;
    uint64_t losses;
    uint64_t acquires;
    uint64_t tries; /* and others that look before they write */
    uint64_t downgrades;
    uint64_t leased;    /* acquires under a lease */
    uint64_t looks;     /* acquires of who wants to hear of contention */
    uint64_t contended; /* told so */
};

extern struct oracle_state oracle;

const plan_contender *oracle_plan_of(unsigned contender);
/** A token of two numbers as one that is ordered as they are. */
int64_t oracle_pair(int64_t token, int64_t local_number);
/** A grant of a node that is lent. */
void oracle_judge_lending(unsigned contender);
/** Whether such a node that nobody uses is kept from others, or for too long. */
void oracle_judge_lent_nodes(void);
/** Whether such a node that its session deletes should have been kept. */
void oracle_judge_deleted_lent_node(const node_record *node);
/** Whether another contender for the same node of its client was there since it asked. */
bool oracle_has_local_rival(unsigned contender);
void oracle_lending_begin(void);
/** For how long its process has been stopped so far. */
int64_t oracle_stopped_us_of(unsigned contender);
bool oracle_keeps_lease(unsigned contender);
/** Whether its calls may have to be made again before they begin, for want of memory. */
bool oracle_may_begin_late(unsigned contender);
void oracle_guarded_end(void);
/** Judges the answer to an acquire of a client or a handle that somebody closes meanwhile. True:
 *  there is no more to be judged. */
bool oracle_judge_closed_acquire(unsigned contender, int status);
/** Judges the answer to a call that began when the client was closed, if it was. True: likewise. */
bool oracle_judge_closed(unsigned contender, const char *call, int status);
/** The same for a release, which may have begun before. */
bool oracle_judge_closed_release(unsigned contender, int status);
/** It is told that somebody waits behind it. */
void oracle_judge_contended(unsigned contender, const zkl_lock_event *event);
/** Whether it should have been told by now. */
void oracle_judge_contention(unsigned contender);
/** Callbacks are for open handles of open clients. */
void oracle_judge_callback(unsigned contender);
/** Whether all is gone of clients that were closed, or have died. */
void oracle_judge_early_ends(void);

/** How many sessions of a client are over for it so far, or were when it was closed: expired, or
 *  given up. */
uint64_t oracle_count_sessions_ended(const client_record *client);
/** The same, of its client. */
uint64_t oracle_sessions_ended(unsigned contender);

/** Whether its client is, in all its sessions; one that is closed is not. */
bool oracle_is_connected(unsigned contender);
bool oracle_client_is_connected(unsigned number);

/** It asks for something, from this moment on. */
void oracle_notes_question(record *one, unsigned contender);
/** A new grant is in the record. */
void oracle_judge_grant(unsigned contender);
/** Whether it holds with a lease that runs. */
bool oracle_has_running_lease(const record *one);
/** Whether no more permits are held than there are, and all of one semaphore. */
void oracle_judge_permits(unsigned contender);
/** Whether who waits is granted when its turn has come. */
void oracle_judge_turn(unsigned contender);
/** After each step: what became of its node. */
void oracle_follow_changes(unsigned contender);
/** The reader's node that a downgrade has put in the place of a writer's that is gone, or NULL. */
const node_record *oracle_reader_after(const node_record *writer);
/** Of a set of kinds, a bit each; since it asked. */
bool oracle_went_wrong_meanwhile(const record *one, unsigned kinds);

/** What an acquire was told. */
void oracle_judge_verdict(unsigned contender, const plan_turn *turn, int status);
/** What a release was told. */
void oracle_judge_release(unsigned contender, const plan_turn *turn, int status);

/** Before a holder asks how it is with its lock. */
void oracle_judge_news_of_limit(unsigned contender);
/** When it has been answered. */
void oracle_judge_knowledge(unsigned contender, int status);
/** It was told that somebody asks for what it holds. */
void oracle_judge_revocation(unsigned contender, const zkl_lock_event *event);
/** Whether who waits, and whose node somebody has deleted, has joined again. */
void oracle_judge_place(unsigned contender);
/** Whether a client has waited for too long in a session that says nothing. */
void oracle_judge_patience(unsigned number);
