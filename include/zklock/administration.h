/*
 * zklock: looking at queues from outside, and acting on those of others.
 *
 * For tools and operators: who holds a lock and who waits for it, which resources
 * there are, whether owners wait for each other in a circle, and what can be done
 * about a holder that does not let go.
 *
 * All functions here block until they are done or their timeout has passed, and
 * must not be called from a zklock callback. Any thread may call them, several at
 * once as well. What they tell is what the server knows that the client is
 * connected to: a moment old, or older where that server lags behind the others.
 * A call that is under way when its client is closed returns ZKL_CLOSED.
 *
 * Each stripe of a striped lock (striped_lock.h) is a resource of its own: of "hot" these are
 * "hot/stripe-0000", "hot/stripe-0001" and so on, with four digits. By these names they are
 * told, and taken, beside all that zkl_lock_open takes; no other name with a slash is one. By an
 * absolute path a stripe is <path of the resource>/stripe-0000, and what has no node, as one ending
 * in /stripe-0 has none, is a resource without contenders.
 *
 * A result is a struct with an array of `count` (or `length`) pointers, and NULL behind them. What
 * it points to lives until the result is freed. Text that others have written (hosts, labels,
 * owners) is shown with its control characters replaced by '?', and ends at a NUL; it may be no
 * valid UTF-8.
 *
 * Each function can return, beside what is named there and what every function can
 * return: ZKL_TIMEOUT, ZKL_AUTH_FAILED, ZKL_NO_PERMISSION, ZKL_QUOTA_EXCEEDED and
 * ZKL_SERVER_REFUSED. timeout_ms is >= 1: there is no waiting for ever here. On any
 * but ZKL_OK the result is NULL.
 *
 * Copyright 2026 the zklock authors. Licensed under the Apache License 2.0.
 */
#ifndef ZKLOCK_ADMINISTRATION_H
#define ZKLOCK_ADMINISTRATION_H

#include "zklock/zklock.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- The queue of a resource --------------------------------------------- */

typedef enum zkl_queue_kind {
    ZKL_QUEUE_EXCLUSIVE = 0,
    ZKL_QUEUE_READ = 1,
    ZKL_QUEUE_WRITE = 2,
    ZKL_QUEUE_PERMIT = 3, /* of a semaphore */
    ZKL_QUEUE_UNKNOWN = 4 /* of another library; counts as exclusive */
} zkl_queue_kind;

/** The name of a kind, for example "exclusive". Static, never NULL. */
ZKL_API const char *zkl_queue_kind_name(int kind);

/** Who a contender says that it is, in its node's data; empty strings where it does
 *  not. Nodes of zklock say all of it, unless they were asked to be revoked, which
 *  replaces what they said; those of other libraries have something of their own in
 *  `data`: Curator an IP address (nothing where its lock is revocable), kazoo an identifier. */
typedef struct zkl_identity {
    const char *host;
    const char *process_id;
    const char *label; /* of the client */
    const char *owner; /* as in zkl_lock_options */
    const char *data;  /* all of it; at most the first 1,024 bytes */
} zkl_identity;

/** One contender of a queue. */
typedef struct zkl_contender {
    size_t struct_size; /* of the library's struct; later versions append */
    const char *node;   /* its name below the resource, as zkl_node_break takes it */
    zkl_queue_kind kind;
    uint32_t permits;   /* PERMIT: how many the semaphore has; else 0 */
    int32_t sequence;   /* its number in the queue; not necessarily one after the other */
    int64_t session_id; /* whose end deletes the node; 0: it is persistent, made by hand */
    int64_t token;      /* its fencing token, if it holds the lock */
    zkl_identity identity;
    int64_t age_ms;        /* since the node was made; by two clocks, the servers' and ours */
    int holds;             /* 1: nobody is in its way: it holds, or will as soon as it knows */
    int revoke_requested;  /* 1: see zkl_node_revoke */
    const char *waits_for; /* the nearest node in its way; "": none. A permit's way is free while
                              fewer than `permits` are before it */
} zkl_contender;

/** The contenders of a resource, in the order of the queue. */
typedef struct zkl_queue {
    size_t count;
    const zkl_contender *const *contenders;
} zkl_queue;

/**
 * Describes the queue of a resource: one list, and one read for each contender.
 * Contenders that went away between the two are left out, those that came are
 * not yet in it; who holds and who waits for whom is judged among those that are left. Children
 * that are no contenders are left out as well.
 *
 * resource  as for zkl_lock_open, or a stripe, as "hot/stripe-0003". One that does not exist has an
 *           empty queue; that of a striped lock itself is empty too: its stripes have the queues.
 * queue     receives the result on ZKL_OK; free it with zkl_queue_free.
 *
 * Returns ZKL_OK, or what is named above.
 */
ZKL_API int zkl_queue_describe(zkl_client *client, const char *resource, int64_t timeout_ms,
                               zkl_queue **queue);

/** NULL is fine. */
ZKL_API void zkl_queue_free(zkl_queue *queue);

/* ---- All resources ---------------------------------------------------------- */

typedef struct zkl_resource {
    size_t struct_size; /* of the library's struct; later versions append */
    const char *name;
    size_t contenders;
} zkl_resource;

typedef struct zkl_resource_list {
    size_t count;
    const zkl_resource *const *resources;
} zkl_resource_list;

/**
 * Lists the resources directly under the client's lock root, by name, each followed by those of
 * its stripes that have a node ("hot", "hot/stripe-0000", "hot/stripe-0003"), with the number of
 * the contenders of each. Resources that were named by an absolute path elsewhere are not
 * among them. One list for each resource and stripe.
 */
ZKL_API int zkl_resources_list(zkl_client *client, int64_t timeout_ms, zkl_resource_list **list);
/** NULL is fine. */
ZKL_API void zkl_resources_free(zkl_resource_list *list);

/* ---- Deadlocks -------------------------------------------------------------- */

/** Most deadlocks that one call looks for: in a tangle there can be more circles
 *  than anybody could read. */
#define ZKL_DEADLOCKS_MAX 64

/** An owner that waits for the next one of its deadlock; the last for the first. */
typedef struct zkl_deadlock_wait {
    size_t struct_size;   /* of the library's struct; later versions append */
    const char *resource; /* a name under the lock root, or a stripe, as "hot/stripe-0003" */
    const char *node;     /* of the owner that waits */
    const char *behind;   /* in its way, of the next owner */
    int64_t session_id;
    zkl_identity identity;
} zkl_deadlock_wait;

typedef struct zkl_deadlock {
    size_t struct_size; /* of the library's struct; later versions append */
    size_t length;
    const zkl_deadlock_wait *const *waits;
} zkl_deadlock;

typedef struct zkl_deadlocks {
    size_t count;
    const zkl_deadlock *const *deadlocks;
    int are_more; /* 1: ZKL_DEADLOCKS_MAX circles were found, and there may be more */
} zkl_deadlocks;

/**
 * Finds owners that wait for each other in a circle, each for a lock that the next
 * one holds or is before it in the queue for: none of them can go on before
 * another gives up.
 *
 * An owner is a session together with the owner that its node names: by default
 * the thread that acquires (see `owner` of zkl_lock_options; who acquires for several
 * jobs in one thread must name them). Of a node that names none, as those of
 * other libraries and those that were asked to be revoked, the session is taken for the
 * owner; if that session's threads wait for each other only by chance, what
 * is found may be no deadlock: look at identity.owner. One job whose nodes are in
 * several sessions is not known as one owner. Who waits for a permit of a semaphore that has
 * several goes on when any of its holders has gone, and is never part of a circle. A node whose
 * owner has given it up counts until its deletion is done. So who upgrades may be told
 * to wait for itself until its reader's node is gone.
 *
 * All resources directly under the lock root are read, and their stripes. As their lists are of
 * different moments, a circle is told only if a second look finds all of its nodes still there:
 * then they all were there between the two. It may still end by itself, when a deadline of one of
 * its owners passes. Circles are told without repetition, up to ZKL_DEADLOCKS_MAX of them.
 *
 * Reads one list for each resource and stripe, and the data of all contenders of those
 * that have more than one. It changes nothing.
 */
ZKL_API int zkl_deadlocks_find(zkl_client *client, int64_t timeout_ms, zkl_deadlocks **deadlocks);
/** NULL is fine. */
ZKL_API void zkl_deadlocks_free(zkl_deadlocks *deadlocks);

/* ---- Asking a holder to give its lock up ----------------------------------------- */

/**
 * Asks the contender that made a node to give up what it has: nothing but a request.
 * A holder of zklock is told by its state callback (ZKL_STATE_REVOKE_REQUESTED), one
 * of Curator that has called makeRevocable by its listener; kazoo and go-zookeeper
 * know no such thing.
 *
 * It replaces the node's data by __REVOKE__, as Curator's Revoker does; so who the
 * contender is cannot be read from its node any more.
 *
 * resource  as for zkl_queue_describe.
 * node      its name below the resource, as zkl_contender has it.
 *
 * Returns ZKL_OK, ZKL_NO_NODE (the resource has no such node), ZKL_INVALID_ARGUMENT (also: the
 * name is not that of a contender), or what is named above. After ZKL_TIMEOUT it may have been
 * asked, or not.
 */
ZKL_API int zkl_node_revoke(zkl_client *client, const char *resource, const char *node,
                            int64_t timeout_ms);

/* ---- Breaking a lock ------------------------------------------------------------ */

/*
 * WARNING. This is the one call that deletes a node that is another's, and it breaks
 * mutual exclusion: the holder is not stopped. Its successor is granted the lock at once,
 * while the holder works on until it hears of its loss (ZKL_NODE_DELETED), and if it
 * is stopped or cut off, for as long as it likes. Only a store that checks fencing
 * tokens is safe against that. Break a lock only when its holder is known to be gone or
 * harmless, and its session does not end by itself: ask first (zkl_node_revoke), or
 * end the process, after which its session times out.
 */

/**
 * Deletes the node of a contender, whoever it belongs to. A waiter of zklock joins
 * the queue again at its tail; a holder has lost the lock.
 *
 * resource  as for zkl_queue_describe.
 * node      its name below the resource, as zkl_contender has it.
 *
 * Returns ZKL_OK (it is gone), ZKL_NO_NODE (the resource has no such node),
 * ZKL_INVALID_ARGUMENT (also: the name is not that of a contender), or what is named
 * above. After ZKL_TIMEOUT it may have been deleted, or not.
 */
ZKL_API int zkl_node_break(zkl_client *client, const char *resource, const char *node,
                           int64_t timeout_ms);

/* ---- Parents that nobody needs any more ------------------------------------------ */

/**
 * Removes the nodes of resources directly under the lock root, and of their stripes, that have no
 * children, no data, and have not changed for idle_ms; first the stripes, and then also the
 * resource that has no other children than those. Servers do not tell when a node's children
 * changed last, so it looks twice, idle_ms apart, and blocks for at least as long. It is safe while
 * others come and go: the servers refuse to delete a node that has children, and whoever finds the
 * node missing makes it anew. Sequence numbers then begin anew; fencing tokens do not.
 *
 * idle_ms     from 0 (does not wait) to below timeout_ms. A contender that finds its node's parent
 *             missing for the second time pauses, for up to 5 s: a minute or more here, and that
 *             never comes to be.
 * removed     receives how many nodes were removed, whatever is returned; may be NULL.
 *
 * Returns ZKL_OK or what is named above. Keep other empty nodes without data away from the lock
 * root, and those named as stripes away from its resources: they look like parents.
 */
ZKL_API int zkl_parents_remove_idle(zkl_client *client, int64_t idle_ms, int64_t timeout_ms,
                                    size_t *removed);

#ifdef __cplusplus
}
#endif

#endif
