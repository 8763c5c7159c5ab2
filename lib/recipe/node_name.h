/*
 * The names of a lock's nodes: what a child of a resource says about the request that it stands
 * for, and what our own nodes are called.
 *
 * Our names are those of Apache Curator, or, where the handle says so (zkl_naming), of kazoo or of
 * Curator's LeaderLatch, so that both can share a lock:
 *
 *     CURATOR       exclusive    _c_<uuid>-lock-%010d       InterProcessMutex
 *                   read         _c_<uuid>-__READ__%010d    InterProcessReadWriteLock
 *                   write        _c_<uuid>-__WRIT__%010d
 *     KAZOO         excl., write <uuid>__lock__%010d        Lock, WriteLock
 *                   read         <uuid>__rlock__%010d       ReadLock
 *     LEADER_LATCH  exclusive    _c_<uuid>-latch-%010d      LeaderLatch
 *
 * kazoo's UUID has no dashes. All of these names are read, whatever ours are. So are those of
 * ZooKeeper's own locks, x-<session>-%010d, which are exclusive, and wait for any -lock-.
 *
 * The name of a permit says how many permits the semaphore has, so that any list shows requests
 * that do not agree on it:
 *
 *     permit     _c_<uuid>-permit-<permits>-%010d
 *
 * The semaphores of Curator and kazoo work differently, and cannot share a resource with ours.
 * Their children carry no sequence: Curator's are "locks" and "leases", kazoo's a random UUID
 * without dashes for each lease.
 *
 * A stripe is a resource below a resource, and carries no sequence: "stripe-%04d".
 *
 * A node whose data and ACL only the session that made it can set is marked as protected: the
 * version of its UUID is 8. (Other libraries have a UUID in the same place, and do not read it.)
 *
 * A node that its client keeps and lends to its handles (lending.h) has the variant c in its UUID,
 * which random ones, those of other libraries too, never have.
 *
 * The server appends the sequence as a signed "%010d", so that it continues with negative numbers
 * past 2^31.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zklock/zklock.h"

/** A textual UUID and its NUL. */
#define ZKL_GUID_SIZE 37
/** Where a UUID has its version, a hexadecimal digit, and what that is in the name of a protected
 *  node. Random UUIDs, also those of other libraries, have version 4; version 8 is for custom uses
 *  (RFC 9562). */
#define ZKL_GUID_VERSION_AT 14
#define ZKL_GUID_VERSION_RANDOM '4'
#define ZKL_GUID_VERSION_PROTECTED '8'
/** Room for any name of ours, with its NUL. */
#define ZKL_NODE_NAME_SIZE 64

/** What a name says a node is. */
typedef enum zkl_node_kind {
    ZKL_NODE_EXCLUSIVE = ZKL_EXCLUSIVE,
    ZKL_NODE_READ = ZKL_READ,
    ZKL_NODE_WRITE = ZKL_WRITE,
    ZKL_NODE_UNKNOWN, /* has a sequence, but is of no kind that we know: counts as exclusive */
    ZKL_NODE_PERMIT,
    ZKL_NODE_FOREIGN /* has no sequence: it is no request, and is ignored */
} zkl_node_kind;

typedef struct zkl_node_name {
    zkl_node_kind kind;
    int32_t sequence;
    unsigned permits; /* of a PERMIT: how many the semaphore has; of all others 0 */
    uint8_t naming;   /* zkl_naming; of an unknown kind 0 */
    bool lent;        /* its client keeps it, and lends it to its handles (lending.h) */
} zkl_node_name;

/** Reads the name of a child of a resource. Any bytes are accepted. */
zkl_node_name zkl_node_name_parse(const char *text);

/** Returns what the name of a request's node will say, except for its sequence, which is 0 here.
 *  permits: those of the semaphore, which has Curator's naming; 0: a lock. */
zkl_node_name zkl_node_name_of(zkl_mode mode, unsigned permits, zkl_naming naming);

/**
 * Writes the name that a request's node is created by, to which the server appends the sequence.
 * `text` has room for ZKL_NODE_NAME_SIZE bytes. `name` comes from zkl_node_name_of.
 */
void zkl_node_name_prefix(char *text, const char *guid, zkl_node_name name);

/** Marks a GUID as that of a node which its client lends. */
void zkl_node_name_mark_lent(char *guid);

/** Copies a name into room for ZKL_NODE_NAME_SIZE bytes. A longer name is cut; it is none of ours.
 */
void zkl_node_name_copy(char *to, const char *from);

/**
 * Writes the name of the reader that replaces a writer of ours with Curator's naming: that of the
 * writer's node with another kind, so that it has the same GUID and sequence.
 */
void zkl_node_name_downgrade(char *text, const char *writer);

/** Tells whether a child of a resource is named as a stripe of it: "stripe-" and four digits. Any
 *  bytes are accepted. */
bool zkl_node_name_is_stripe(const char *text);

/** Tells whether a child of a resource is named as a lease of kazoo's semaphore is, by a random
 * UUID and nothing else. Any bytes are accepted. */
bool zkl_node_name_is_lease(const char *text);

/** Tells whether the request with this GUID has created a child. */
bool zkl_node_name_has_guid(const char *text, const char *guid);

/** Tells whether a name, with or without its sequence, is marked as that of a protected node. */
bool zkl_node_name_is_protected(const char *text);

/** Tells whether requests with the same GUID have created two names. */
bool zkl_node_name_same_guid(const char *one, const char *other);
