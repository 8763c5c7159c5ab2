/*
 * What the servers agree on: znodes and sessions, as a state machine that is
 * given one write after the other, each with its zxid. Servers that lag see an
 * earlier state of the same tree: each node knows the transaction that made it
 * and the one that deleted it, so nothing is ever copied.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zklock/zklock.h"

/** What a server answers: ZooKeeper's codes. */
typedef enum zkl_server_error {
    ZKL_SERVER_ERROR_NONE = 0,
    ZKL_SERVER_ERROR_ROLLED_BACK = -2, /* of a multi: after the operation that failed */
    ZKL_SERVER_ERROR_BAD_ARGUMENTS = -8,
    ZKL_SERVER_ERROR_NO_NODE = -101,
    ZKL_SERVER_ERROR_NO_PERMISSION = -102,
    ZKL_SERVER_ERROR_BAD_VERSION = -103,
    ZKL_SERVER_ERROR_NO_CHILDREN_FOR_EPHEMERALS = -108,
    ZKL_SERVER_ERROR_NODE_EXISTS = -110,
    ZKL_SERVER_ERROR_NOT_EMPTY = -111,
    ZKL_SERVER_ERROR_SESSION_EXPIRED = -112,
    ZKL_SERVER_ERROR_INVALID_ACL = -114,
    ZKL_SERVER_ERROR_AUTH_FAILED = -115,
    ZKL_SERVER_ERROR_SESSION_MOVED = -118,
    ZKL_SERVER_ERROR_NO_WATCHER = -121,
    ZKL_SERVER_ERROR_THROTTLED = -127
} zkl_server_error;

/** "NoNode", as ZooKeeper calls it. */
const char *zkl_server_error_name(zkl_server_error error);

/** Read its fields freely; only the tree writes them. */
typedef struct zkl_node zkl_node;

typedef struct zkl_node_stat {
    int64_t czxid;
    int64_t mzxid; /* of the last change of its data */
    int64_t pzxid; /* of the last create or deletion of a child */
    int64_t ephemeral_owner;
    int32_t version; /* how often its data were set */
    int32_t creates; /* the sequence number of the next child; sticks at 2^31 - 1 */
    size_t child_count;
} zkl_node_stat;

typedef enum zkl_write_kind {
    ZKL_WRITE_CREATE,
    ZKL_WRITE_DELETE,
    ZKL_WRITE_SET,
    ZKL_WRITE_SET_ACL, /* alone: in no multi */
    ZKL_WRITE_CHECK,
    ZKL_WRITE_MULTI,
    ZKL_WRITE_CREATE_SESSION,
    ZKL_WRITE_CLOSE_SESSION
} zkl_write_kind;

/** One create, deletion, change of data, or check. */
typedef struct zkl_write {
    zkl_write_kind kind;
    const char *path;
    const void *data; /* create, set; NULL: none */
    size_t data_size;
    const char *acl; /* create, set ACL; NULL: open to all */
    bool ephemeral;
    bool sequential;
    bool container;           /* the leader deletes it, when it had children and has none */
    zkl_server_error refusal; /* the caller lacks the permission, or the ACL is none */
    int32_t version;          /* delete, set, check; ZKL_ANY_VERSION */
} zkl_write;

typedef struct zkl_write_request {
    zkl_write_kind kind;
    int64_t session_id;
    int64_t time_ms;             /* since 1970, by the leader's clock */
    int32_t timeout_ms;          /* create session */
    const char *identities;      /* of the connection; NULL: none */
    const zkl_write *operations; /* one, or those of a multi */
    size_t operation_count;
    zkl_server_error refusal; /* it is known to fail; it takes a zxid all the same */
    /* The last transaction that the leader had carried out when it numbered this
     * one. Those between are on their way, and their sequence numbers count on
     * from each other. */
    int64_t seen_zxid;
} zkl_write_request;

typedef enum zkl_change_kind {
    ZKL_CHANGE_CREATED,
    ZKL_CHANGE_SET,
    ZKL_CHANGE_DELETED
} zkl_change_kind;

/** "create", "set" or "delete". */
const char *zkl_change_kind_name(zkl_change_kind kind);

/** A node that a transaction made, changed or deleted. */
typedef struct zkl_change {
    zkl_node *node;
    zkl_change_kind kind;
} zkl_change;

typedef struct zkl_operation_result {
    zkl_server_error error;
    const char *path; /* create: as it was made */
} zkl_operation_result;

/** What became of a write. Its nodes live until zkl_tree_forget is told of its zxid. */
typedef struct zkl_tree_transaction {
    int64_t zxid;
    zkl_write_kind kind;
    int64_t session_id;
    zkl_server_error error; /* that of the first operation that failed */
    zkl_operation_result *results;
    size_t result_count;
    zkl_change *changes;
    size_t change_count;
} zkl_tree_transaction;

typedef struct zkl_tree zkl_tree;

/** With a root node, and nothing else. */
zkl_tree *zkl_tree_make(void);
/** NULL is allowed. */
void zkl_tree_free(zkl_tree *tree);

/** Carries a write out, or fails it as a whole. Zxids must rise. Free what it gives. */
zkl_tree_transaction *zkl_tree_write(zkl_tree *tree, const zkl_write_request *request,
                                     int64_t zxid);
void zkl_tree_transaction_free(zkl_tree_transaction *transaction);

/** From now on nobody asks for a state before this one. */
void zkl_tree_forget(zkl_tree *tree, int64_t zxid);

/** The node, in what is committed, below which this one would be made; NULL: it is not there. */
zkl_node *zkl_tree_find_parent(const zkl_tree *tree, const char *path);

/** The node as of a zxid, or NULL. INT64_MAX - 1: the latest state. */
#define ZKL_LATEST_ZXID (INT64_MAX - 1)
zkl_node *zkl_tree_find(const zkl_tree *tree, const char *path, int64_t zxid);

const char *zkl_node_path(const zkl_node *node);
const zkl_node *zkl_node_parent(const zkl_node *node);
/** What follows the last slash. */
const char *zkl_node_last_name(const zkl_node *node);
/** As they are at the latest; "" if there are none. A NUL follows them. */
const char *zkl_node_data(const zkl_node *node);
size_t zkl_node_data_size(const zkl_node *node);
/** NULL: open to all. */
const char *zkl_node_acl(const zkl_node *node);
/** Those of the connection that made it, which the scheme auth of its ACL stands for; "" for none.
 */
const char *zkl_node_makers(const zkl_node *node);
/** As it is at the latest; czxid and owner never change. */
zkl_node_stat zkl_node_get_stat(const zkl_node *node);

/** What a server that has carried out no more than a zxid knows of a node's data and children. */
typedef struct zkl_node_view {
    const void *data; /* the node's own, with a NUL behind it */
    size_t data_size;
    int32_t version;
    int64_t mzxid; /* of the last change of the data, or of its making */
    int64_t made_ms;
    int64_t changed_ms;
    int64_t pzxid;
    int32_t child_count;
} zkl_node_view;

zkl_node_view zkl_node_look(const zkl_node *node, int64_t zxid);

/** The first child as of a zxid, and the next after one; in the order of their making. */
const zkl_node *zkl_node_first_child(const zkl_node *node, int64_t zxid);
const zkl_node *zkl_node_next_child(const zkl_node *child, int64_t zxid);

/** As if `creates` children had been made: the next sequence number. False: no such node. */
bool zkl_tree_set_creates(zkl_tree *tree, const char *path, int32_t creates);

/** Whether a create of that path gets another number while this transaction, which is the last, has
 *  not been carried out: it has made a sibling past the end of the numbers. */
bool zkl_tree_counts_on(const zkl_tree *tree, const char *path, int64_t zxid);

/** A container that had children and has none; NULL: there is no such node. */
const zkl_node *zkl_tree_find_empty_container(const zkl_tree *tree);

bool zkl_tree_has_session(const zkl_tree *tree, int64_t session_id);
size_t zkl_tree_session_count(const zkl_tree *tree);
/** Nodes that live, the root included. */
size_t zkl_tree_node_count(const zkl_tree *tree);
/** Nodes that a session owns. */
size_t zkl_tree_owned_count(const zkl_tree *tree, int64_t session_id);
