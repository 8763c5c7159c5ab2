/*
 * The oracle's record of every node and session that the servers have ever
 * committed, made from their transactions: which request a node belongs to, who
 * is before whom, what was deleted by hand, and what was left behind.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "testing/ensemble.h"

typedef struct node_record {
    char *path;
    const char *name; /* its last part */
    int64_t czxid;
    int64_t owner; /* the session; 0: persistent */
    bool alive;
    bool had_to_wait;     /* a conflicting node was before it when it was made */
    bool by_hand;         /* somebody deleted it, or ended its session, on purpose */
    bool foreign;         /* of a session that no client of ours has opened */
    bool replaces;        /* and in the place of one of ours, under its name: no contender's */
    char upgraded_by[37]; /* the GUID of its contender's request to write; empty: there is none */
    char *blocked_by;     /* when it went: who was before it, empty: nobody */
    int64_t made_us;
    int64_t gone_us;
    unsigned revocations; /* how often somebody has asked for it, */
    int64_t revoked_us;   /* ... for the first time; -1: nobody has */
} node_record;

/** `on_step` is called after every transaction and every delivery. */
/** `sequences_end`: the resources begin with a sequence that is almost used up. */
void nodes_begin(void (*on_step)(void), bool sequences_end);
/** What the ensemble is to be begun with. */
zkl_ensemble_hooks nodes_hooks(void);
void nodes_end(void);

/** Whether it is a request that a reader, or a writer, cannot hold a lock along with. */
bool nodes_conflicts(const node_record *node, bool reads);
/** Whether its sequence is one of the last before 2^31, where the servers' counter sticks. */
bool nodes_is_near_the_end(const node_record *node);
/** The latest node with this path, or NULL; not that of a stranger in the place of one of ours. */
const node_record *nodes_find(const char *path);
/** Whosever it is: lists and checks know no more than a name. */
const node_record *nodes_find_latest(const char *path);
/** The name of a living node on account of which this one must wait, or leave; or NULL. */
const char *nodes_blocker(const node_record *node);
/** Who is before one that was granted, or was when it went; NULL: nobody. Where a node of the queue
 * was replaced that is not known: lists show the other one, and it is nobody's. */
const char *nodes_wrongly_passed(const node_record *node);
/** Whether it waits for that one, if it waits: the nearest, or one of a permit's n nearest. */
bool nodes_watches(const node_record *node, const node_record *other);
/** Whether it comes later, and has to wait for that one's end, or for a permit. */
bool nodes_comes_behind(const node_record *holder, const node_record *other);
/** A living one that does, and waits; NULL: there is none. */
const node_record *nodes_waiter(const node_record *holder);
/** Of its semaphore; 0: it is for a lock. */
unsigned nodes_permits(const node_record *node);
/** Whose names it has; of a kind that nobody knows ZKL_NAMING_CURATOR. */
zkl_naming nodes_naming(const node_record *node);
/** The request that is first under a parent, whose path ends in a slash; NULL: there is none. */
const node_record *nodes_first(const char *parent);
/** Whether all requests that were before it have gone, or went before it did. */
bool nodes_was_first(const node_record *node);
/** The contender of this reader upgrades, with a request with this GUID. */
void nodes_upgrades(const node_record *reader, const char *guid);
/** The reader's node that has taken the place of a writer's that is gone, or of one that a stranger
 * had put there so shortly before; or NULL. */
const node_record *nodes_downgraded(const node_record *writer, int64_t unseen_max_us);
/** Whether that one is before it, or was, and conflicts; of permits also where it need not wait,
 * and of one owner that upgrades, too. */
bool nodes_is_behind(const node_record *node, const node_record *other);
/** By number, in the order of their making; NULL: no more. */
const node_record *nodes_at(size_t number);
/** An earlier node of the same request, which its session has deleted; or NULL. */
const node_record *nodes_given_up_for(const node_record *node);
/** Whether the servers have ended this session because it had timed out. */
bool nodes_session_ended(int64_t session_id);

/** Whether its client was told that it has expired, which may be a little earlier. */
bool nodes_session_told_expired(int64_t session_id);
/** When it was; INT64_MAX: it was not. */
int64_t nodes_session_told_expired_us(int64_t session_id);

/** Clients of this process may remove nodes that belong to no session. */
void nodes_let_remove_parents(uint32_t process);
/** Clients of that process may also break this node, or ask for it; from now on. */
void nodes_let_break(const char *path);
void nodes_let_revoke(const char *path);
/** That of its client; 0: none has heard of it. */
uint32_t nodes_session_process(int64_t session_id);

/** The leader has begun to end it, as somebody asked for; it is by hand once this is committed. */
void nodes_ends_by_hand(int64_t session_id);

/** Whether somebody was told since then that a request came by an earlier connection of its
 * session. */
bool nodes_session_moved_since(int64_t us);

/** Whether no node and no watch of a request is left. */
bool nodes_are_gone(void);
/** Says which are left. */
void nodes_judge_quiescence(void);
