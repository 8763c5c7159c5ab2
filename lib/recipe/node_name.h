/*
 * The names of a lock's nodes: what a child of a resource says about the
 * request that it stands for, and what our own nodes are called.
 *
 * Our names are those of Apache Curator, so that both can share a lock:
 *
 *     exclusive  _c_<uuid>-lock-%010d       InterProcessMutex
 *     read       _c_<uuid>-__READ__%010d    InterProcessReadWriteLock
 *     write      _c_<uuid>-__WRIT__%010d
 *
 * A permit of a semaphore says of how many, so that any list shows requests that do
 * not agree on it; Curator's semaphore is of another make, and cannot share one:
 *
 *     permit     _c_<uuid>-permit-<permits>-%010d
 *
 * A stripe is a resource below a resource, and carries no sequence: "stripe-%04d".
 *
 * A node whose data and ACL only the session that made it can set is marked as protected: the
 * version of its UUID is 8. (A UUID is where others have one, and they do not read it.)
 *
 * A node that its client keeps and lends to its handles (lending.h) has the variant c in its UUID,
 * which random ones, those of other libraries too, never have.
 *
 * Kazoo's __lock__ and __rlock__ are seen as well (and do not see us). The server appends the
 * sequence as a signed "%010d", so that it goes on, negative, past 2^31.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zklock/zklock.h"

/** A textual UUID and its NUL. */
#define ZKL_GUID_SIZE 37
/** Where it has its version, a hexadecimal digit, and what that is in the name of a protected node.
 *  Random ones, those of other libraries too, have 4; 8 is for uses of one's own (RFC 9562). */
#define ZKL_GUID_VERSION_AT 14
#define ZKL_GUID_VERSION_RANDOM '4'
#define ZKL_GUID_VERSION_PROTECTED '8'
/** Room for any name of ours, with its NUL. */
#define ZKL_NODE_NAME_SIZE 64

/** What a name says: a mode, or something else. */
typedef enum zkl_node_kind {
    ZKL_NODE_EXCLUSIVE = ZKL_EXCLUSIVE,
    ZKL_NODE_READ = ZKL_READ,
    ZKL_NODE_WRITE = ZKL_WRITE,
    ZKL_NODE_UNKNOWN, /* has a sequence, but no kind we know: counts as exclusive */
    ZKL_NODE_PERMIT,
    ZKL_NODE_FOREIGN /* carries no sequence: not a request, to be ignored */
} zkl_node_kind;

typedef struct zkl_node_name {
    zkl_node_kind kind;
    int32_t sequence;
    unsigned permits; /* PERMIT: how many the semaphore has; else 0 */
    bool lent;        /* its client keeps it, and lends it to its handles */
} zkl_node_name;

/** Reads the name of a child of a resource. Any bytes are fine. */
zkl_node_name zkl_node_name_parse(const char *text);

/** What the name of a request's node will say, except for its sequence, which is 0. permits: of
 *  the semaphore; 0: a lock. */
zkl_node_name zkl_node_name_of(zkl_mode mode, unsigned permits);

/**
 * Writes the name to create a request's node by, to which the server appends
 * the sequence. `text` has room for ZKL_NODE_NAME_SIZE bytes. name: of zkl_node_name_of.
 */
void zkl_node_name_prefix(char *text, const char *guid, zkl_node_name name);

/** Marks a GUID as that of a node which its client lends. */
void zkl_node_name_mark_lent(char *guid);

/** Copies a name into room for ZKL_NODE_NAME_SIZE bytes; what is longer is cut, and no name of
 *  ours. */
void zkl_node_name_copy(char *to, const char *from);

/**
 * Writes the name of the reader that takes the place of a writer of ours: that of
 * the writer's node, but for the kind, so that it has the same GUID and sequence.
 */
void zkl_node_name_downgrade(char *text, const char *writer);

/** Whether a child of a resource is named as a stripe of it: "stripe-" and four digits. Any bytes
 *  are fine. */
bool zkl_node_name_is_stripe(const char *text);

/** Whether a child was created by the request with this GUID. */
bool zkl_node_name_has_guid(const char *text, const char *guid);

/** Whether the node of this name, or of the name that it is created by, is marked as protected. */
bool zkl_node_name_is_protected(const char *text);

/** Whether two names were created by requests with the same GUID. */
bool zkl_node_name_same_guid(const char *one, const char *other);
