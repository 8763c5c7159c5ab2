/*
 * zklock: look at queues from outside, and act on the locks of others.
 *
 * For tools and operators: who holds a lock and who waits for it, which resources
 * exist, whether owners wait for each other in a circle, and what you can do about a
 * holder that does not let go.
 *
 * All functions here that take a client block until they are done or their timeout has
 * passed, and must not be called from a zklock callback. Any thread may call them,
 * several at once. They report what the client's server knows, which is a moment old, or
 * older if that server lags behind the others. A call that is under way when its client
 * is closed returns ZKL_CLOSED.
 *
 * Each stripe of a striped lock (striped_lock.h) is a resource of its own: the stripes of "hot" are
 * "hot/stripe-0000", "hot/stripe-0001" and so on, with four digits. These functions report and
 * accept such names, and everything zkl_lock_open() accepts. Any other relative name with a slash
 * is ZKL_INVALID_ARGUMENT. As an absolute path a stripe is <path of the resource>/stripe-0000. A
 * path without a node (such as one ending in /stripe-0) is a resource without contenders.
 *
 * A result is a struct with an array of `count` (or `length`) pointers, followed by a NULL. What
 * the pointers point to lives until the result is freed. Text that others have written (hosts,
 * labels, owners) is returned with '?' in place of each control character, and ends at a NUL. It
 * may be invalid UTF-8.
 *
 * Besides what it names, and what every function can return, each function can
 * return ZKL_TIMEOUT, ZKL_AUTH_FAILED, ZKL_NO_PERMISSION, ZKL_QUOTA_EXCEEDED and
 * ZKL_SERVER_REFUSED. timeout_ms is >= 1: none of them waits for ever. On any status
 * but ZKL_OK the result is NULL, with one exception:
 *
 * A node of others that may not be read does not stop a function that looks at many nodes. It is
 * skipped, and the function returns ZKL_NO_PERMISSION at the end (ZKL_SERVER_REFUSED if the servers
 * refused it for another reason): zkl_error_message() names the first such node and counts the
 * others. There is a result then, which says what is missing in it. It is NULL only if the list
 * that comes first was refused: that of the lock root, or of the resource.
 *
 * Copyright 2026 the zklock authors. Licensed under the Apache License 2.0.
 */
#ifndef ZKLOCK_ADMINISTRATION_H
#define ZKLOCK_ADMINISTRATION_H

#include "zklock/zklock.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Frees a result of any function of this header. NULL is allowed. Any thread; does not block. */
ZKL_API void zkl_report_free(void *report);

/* ---- The queue of a resource --------------------------------------------- */

/** Who a contender is, according to its node's data. A field is "" if the data do not have it.
 *  zklock's nodes have them all (but see `owner`), unless somebody has asked for their lock
 *  (zkl_node_revoke), which overwrites the data. Nodes of other libraries have a text of their own
 *  in `data`: Curator's an IP address (nothing if the lock is revocable), kazoo's an identifier. */
typedef struct zkl_identity {
    const char *host;       /* the name of the contender's machine, from gethostname() */
    const char *process_id; /* of the contender's process, in decimal */
    const char *label;      /* of the contender's client: as in zkl_client_options */
    const char *owner;      /* as in zkl_lock_options, or the default; "" for a lent lock */
    /** The whole text, with '?' in place of each newline: the first 1,536 bytes at most. The other
     *  fields are lines of it. */
    const char *data;
} zkl_identity;

/** One contender of a queue. */
typedef struct zkl_contender {
    size_t struct_size; /* of the library's struct; later versions append */
    const char *node;   /* its name below the resource, as zkl_node_break takes it */
    zkl_mode mode;      /* ZKL_EXCLUSIVE with permits: one permit of a semaphore. ZKL_OTHER_MODE:
                           of another library; counts as exclusive */
    uint32_t permits;   /* how many the semaphore has; 0: it is a lock */
    int32_t sequence;   /* its sequence number: the order of the queue, with gaps */
    int64_t session_id; /* the end of this session deletes the node; 0: a persistent node, made by
                           hand */
    int64_t token;      /* its fencing token, if it holds the lock */
    zkl_identity identity; /* who made the node, according to its data */
    int64_t age_ms;        /* from when the node was made, by the servers' clock, until now, by the
                              clock of this machine; at least 0 */
    int holds;             /* 1: nobody is in its way: it holds, or will as soon as it knows */
    int revoke_requested;  /* 1: somebody has asked for its lock (zkl_node_revoke) */
    const char *waits_for; /* the nearest node in its way; "" if there is none. A permit has none
                              while fewer than `permits` requests are before it */
    int status;            /* ZKL_OK, or why its node could not be read. Then session_id, token,
                              age_ms and revoke_requested are 0, and the texts of identity "" */
} zkl_contender;

/** The contenders of a resource, in the order of the queue. */
typedef struct zkl_queue {
    size_t count;                           /* 0: nobody holds the resource or waits for it */
    const zkl_contender *const *contenders; /* `count` of them, followed by a NULL */
} zkl_queue;

/**
 * Describes the queue of a resource. It takes one list, and one read for each contender. Contenders
 * that left between the two are omitted, and those that came are not included yet. `holds` and
 * `waits_for` are worked out among the contenders of the result. Children that are no contenders
 * are omitted too.
 *
 * resource  as for zkl_lock_open, or a stripe, such as "hot/stripe-0003". A resource that does not
 *           exist has an empty queue. So has a striped lock itself: its stripes have the queues.
 * queue     receives the result; free it with zkl_report_free. A contender whose node may not
 *           be read is included, with its status.
 *
 * Returns ZKL_OK, or a status named at the top of this header.
 */
ZKL_API int zkl_queue_describe(zkl_client *client, const char *resource, int64_t timeout_ms,
                               zkl_queue **queue);

/* ---- All resources ---------------------------------------------------------- */

/** One resource or stripe that has a node. */
typedef struct zkl_resource {
    size_t struct_size; /* of the library's struct; later versions append */
    const char *name;   /* below the lock root, as zkl_lock_open takes it; or a stripe */
    size_t contenders;  /* how many hold it or wait for it */
    int status;         /* ZKL_OK, or why it could not be read: then contenders is 0 */
} zkl_resource;

/** Resources and stripes. The function that made the list says in which order. */
typedef struct zkl_resource_list {
    size_t count;                         /* how many resources and stripes there are */
    const zkl_resource *const *resources; /* `count` of them, followed by a NULL */
} zkl_resource_list;

/**
 * Lists the resources directly under the client's lock root, by name, each followed by those of its
 * stripes that have a node ("hot", "hot/stripe-0000", "hot/stripe-0003"), with the number of
 * contenders of each. Resources elsewhere, named by an absolute path, are not included. Costs one
 * list for each resource and stripe.
 *
 * list  receives the result; free it with zkl_report_free. A resource that may not be read is
 *       included, with its status.
 *
 * Returns ZKL_OK, or a status named at the top of this header.
 */
ZKL_API int zkl_resources_list(zkl_client *client, int64_t timeout_ms, zkl_resource_list **list);

/* ---- Deadlocks -------------------------------------------------------------- */

/** Most deadlocks that one call finds: a tangle can have more circles than anybody could read. */
#define ZKL_DEADLOCKS_MAX 64

/** One owner of a deadlock. It waits for the next one in the array; the last one for the first. */
typedef struct zkl_deadlock_wait {
    size_t struct_size;    /* of the library's struct; later versions append */
    const char *resource;  /* a name under the lock root, or a stripe, such as "hot/stripe-0003" */
    const char *node;      /* of the owner that waits */
    const char *behind;    /* the node in its way, which is the next owner's */
    int64_t session_id;    /* of the session whose end deletes `node`; 0: a persistent node */
    zkl_identity identity; /* who made `node`, according to its data */
} zkl_deadlock_wait;

/** One circle of owners. */
typedef struct zkl_deadlock {
    size_t struct_size; /* of the library's struct; later versions append */
    size_t length;      /* how many owners it has; 1: an owner that waits for itself */
    const zkl_deadlock_wait *const *waits; /* `length` of them, followed by a NULL */
} zkl_deadlock;

/** What zkl_deadlocks_find found. */
typedef struct zkl_deadlocks {
    size_t count; /* how many deadlocks were found; at most ZKL_DEADLOCKS_MAX */
    const zkl_deadlock *const *deadlocks; /* `count` of them, followed by a NULL */
    int are_more;               /* 1: ZKL_DEADLOCKS_MAX circles were found, and there may be more */
    size_t skipped_count;       /* how many names `skipped` has; 0: all could be read */
    const char *const *skipped; /* what could not be read: names of resources and stripes, and of
                                   nodes, as "stock/<node>". No circle through them is found */
} zkl_deadlocks;

/**
 * Finds owners that wait for each other in a circle, each for a lock that the next one holds, or
 * waits for before it in the queue: none of them can proceed until another gives up.
 *
 * An owner is a session together with the owner that the node names: by default the thread that
 * acquires (see `owner` of zkl_lock_options; set it if you acquire for several jobs in one thread).
 * - Some nodes name no owner: nodes of other libraries, and nodes whose lock somebody has asked
 *   for. Then the whole session counts as one owner. If several threads share that session, the
 *   circle may be no deadlock: identity.owner is "" there.
 * - A job whose nodes are in several sessions is one owner only if its name begins with
 *   ZKL_OWNER_SHARED. "shared:x/1" is a part of "shared:x", which waits while the part does.
 * - A waiter for one of several permits proceeds when any holder leaves, so it is never part of a
 *   circle.
 * - A node that is being deleted counts until it is gone. So a holder that is upgrading can briefly
 *   be reported as waiting for itself.
 *
 * All resources directly under the lock root are read, and their stripes. Their lists show
 * different moments, so a circle is reported only if a second look finds all of its nodes still
 * there: then they all were there at one moment between the two looks. The circle may still end on
 * its own, when the deadline of one of its owners passes. Each circle is reported once, up to
 * ZKL_DEADLOCKS_MAX of them.
 *
 * Costs one list for each resource and stripe, and a read of each contender of those that have more
 * than one. It changes nothing.
 *
 * deadlocks  receives the result; free it with zkl_report_free.
 *
 * Returns ZKL_OK, or a status named at the top of this header.
 */
ZKL_API int zkl_deadlocks_find(zkl_client *client, int64_t timeout_ms, zkl_deadlocks **deadlocks);

/* ---- Asking a holder to give its lock up ----------------------------------------- */

/**
 * Asks the contender that made a node to give up its lock. This is only a request. A zklock holder
 * receives ZKL_STATE_REVOKE_REQUESTED in its state callback, if its lock was opened as `revocable`
 * (or its client's nodes are not protected: see zkl_security). A Curator holder is told if it
 * called makeRevocable. kazoo and go-zookeeper do not support it.
 *
 * It replaces the node's data by __REVOKE__, as Curator's Revoker does, so the contender's identity
 * can no longer be read from its node.
 *
 * resource  as for zkl_queue_describe.
 * node      its name below the resource, as zkl_contender has it.
 *
 * Returns ZKL_OK, ZKL_NO_NODE (the resource has no such node), ZKL_NO_PERMISSION (also if the node
 * is protected), ZKL_INVALID_ARGUMENT (also if the name is not that of a contender, or is that of a
 * Curator LeaderLatch, which cannot be asked), or a status named at the top of this header. After
 * ZKL_TIMEOUT the contender may have been asked, or not.
 */
ZKL_API int zkl_node_revoke(zkl_client *client, const char *resource, const char *node,
                            int64_t timeout_ms);

/* ---- Breaking a lock ------------------------------------------------------------ */

/*
 * WARNING. This is the one call that deletes somebody else's node, and it breaks mutual
 * exclusion: the holder is not stopped. Its successor is granted the lock at once, while
 * the holder works on until it hears of its loss (ZKL_NODE_DELETED); if it is stopped or
 * cut off, that can take arbitrarily long. Only a store that checks fencing tokens is
 * safe against that. Break a lock only if its holder is known to be gone or harmless,
 * and its session does not end on its own. First ask (zkl_node_revoke), or end the
 * process, after which its session times out.
 */

/**
 * Deletes the node of any contender. A zklock waiter joins the queue again at its tail; a holder
 * has lost the lock.
 *
 * resource  as for zkl_queue_describe.
 * node      its name below the resource, as zkl_contender has it.
 *
 * Returns ZKL_OK (it is gone), ZKL_NO_NODE (the resource has no such node),
 * ZKL_INVALID_ARGUMENT (also if the name is not that of a contender), or a status named at
 * the top of this header. After ZKL_TIMEOUT the node may have been deleted, or not.
 */
ZKL_API int zkl_node_break(zkl_client *client, const char *resource, const char *node,
                           int64_t timeout_ms);

/* ---- Any node -------------------------------------------------------------------- */

/** What zkl_node_read has found: a node, as the servers had it. */
typedef struct zkl_node {
    size_t struct_size; /* of the library's struct; later versions append */
    const void *data;   /* what it contains; behind that is a NUL */
    size_t size;        /* of data in bytes, without the NUL */
    int32_t version;    /* as zkl_transaction_set takes it */
    int64_t made_ms;    /* when it was made, since 1970 in UTC, by the servers' clock */
    int64_t changed_ms; /* when its data were last set, by that clock; as made_ms: never */
    int64_t session_id; /* of an ephemeral node: the session whose end deletes it; else 0 */
    const char *acl;    /* as zkl_node_set_acl takes it. To those without ADMIN servers show the
                           hashes of digests as "x" */
} zkl_node;

/**
 * Reads any node: for example, under a lock, what an earlier holder has written in a transaction
 * (zkl_transaction_begin), or whether your own was applied that ended with ZKL_UNKNOWN.
 *
 * Like everything here it is what the client's server knows. A client with a single session
 * (zkl_client_information) that has been granted a lock, and reads then, reads whatever earlier
 * holders wrote.
 *
 * path  absolute, below the chroot of the client's host list, as in a transaction; or "/", the
 *       chroot itself; or "/zookeeper/quota".
 * node  receives the result on ZKL_OK; free it with zkl_report_free.
 *
 * Returns ZKL_OK, ZKL_NO_NODE, or a status named at the top of this header.
 */
ZKL_API int zkl_node_read(zkl_client *client, const char *path, int64_t timeout_ms,
                          zkl_node **node);

/**
 * Sets the ACL of any node, which takes the permission ADMIN there. The servers do not check that
 * you may still do so afterwards. docs/security.md says in which order to close locks that are in
 * use; `zklock secure` does so. Nodes of locks that are protected keep the ACL that they were made
 * with: ZKL_INVALID_ARGUMENT.
 *
 * path  as in zkl_node_read.
 * acl   as node_acl of zkl_security; not NULL.
 *
 * Returns ZKL_OK (it is so, perhaps for the second time, if the first reply was lost), ZKL_NO_NODE,
 * ZKL_NO_PERMISSION (also if the servers know no such scheme, or nobody for whom `auth` would
 * stand), or a status named at the top of this header.
 */
ZKL_API int zkl_node_set_acl(zkl_client *client, const char *path, const char *acl,
                             int64_t timeout_ms);

/* ---- Parents that nobody needs any more ------------------------------------------ */

/**
 * Removes idle nodes of resources directly under the lock root, and of their stripes: those that
 * have no children and no data, and have not changed for idle_ms. It removes the stripes first, and
 * then a resource that had no other children. Servers do not report when a node's children last
 * changed, so it looks twice, idle_ms apart, and blocks for at least that long. It is safe while
 * others come and go: the servers refuse to delete a node that has children, and a contender that
 * finds the node missing makes it again. Sequence numbers then restart at 0; fencing tokens keep
 * rising.
 *
 * idle_ms    from 0 (does not wait) to below timeout_ms. Use a minute or more: with a short value a
 *            contender can lose its parent twice in a row, and then pauses for up to 5 s.
 * only_look  1: removes nothing, and reports what it would have removed. 0: removes.
 * removed    receives the names of the nodes that were removed, first the stripes, without
 *            contenders. Free it with zkl_report_free. It is there also if only a part was removed,
 *            for want of permission or of time; NULL if the second look could not be finished.
 *
 * Returns ZKL_OK, or a status named at the top of this header. After ZKL_NO_PERMISSION all are
 * removed that may be read and removed. Keep other empty nodes without data away from the lock
 * root, and nodes named like stripes away from its resources: they look like unused resources.
 */
ZKL_API int zkl_parents_remove_idle(zkl_client *client, int64_t idle_ms, int64_t timeout_ms,
                                    int only_look, zkl_resource_list **removed);

#ifdef __cplusplus
}
#endif

#endif
