#include "testing/tree.h"

#include <stdio.h>
#include <string.h>

#include "testing/hash.h"

enum { SEQUENCE_SIZE = 12 }; /* "-2147483648" and its end */

typedef struct tree_session tree_session;

/* What a node's data were made or set to. All of a node are kept: a server that lags may be asked
 * for those that it knows. */
typedef struct node_data {
    int64_t zxid;
    int64_t time_ms;
    int32_t version;
    size_t size;
    struct node_data *older;
    char bytes[]; /* with a NUL behind them */
} node_data;

struct zkl_node {
    int64_t czxid;
    int64_t deleted_zxid; /* INT64_MAX: it lives */
    int64_t pzxid;
    int64_t children_gone_zxid; /* of the last deletion of a child that is forgotten */
    int64_t ephemeral_owner;
    bool container;
    int32_t creates; /* ZooKeeper's cversion, as it is kept */
    /* The count as the leader has it with those that it has numbered but not yet
     * carried out, and the last of these. */
    int32_t counted;
    int64_t counted_zxid;
    size_t child_count;
    zkl_node *parent;
    zkl_node *children; /* those that are dead too, until they are forgotten */
    zkl_node *prev, *next;
    zkl_node *older; /* that had the same path before */
    tree_session *owner;
    zkl_node *owned_prev, *owned_next;
    zkl_node *dead_next;
    const char *name;
    int64_t made_ms;
    node_data *data; /* the newest first; never NULL */
    char *acl;       /* NULL: open to all; behind its NUL are its makers' identities */
    UT_hash_handle hh;
    char path[];
};

struct tree_session {
    int64_t id;
    zkl_node *owned;
    size_t owned_count;
    UT_hash_handle hh;
};

struct zkl_tree {
    zkl_node *by_path; /* the newest of each path */
    tree_session *sessions;
    zkl_node *root;
    zkl_node *dead_first, *dead_last; /* in the order of their deletion */
    size_t node_count;
};

/* What an operation has changed of a parent, to take it back when a later operation of the same
 * multi fails. */
typedef struct undo {
    int32_t creates;
    int32_t counted;
    int64_t counted_zxid;
    int64_t pzxid;
} undo;

const char *zkl_change_kind_name(zkl_change_kind kind) {
    static const char *const names[] = {
        [ZKL_CHANGE_CREATED] = "create",
        [ZKL_CHANGE_SET] = "set",
        [ZKL_CHANGE_DELETED] = "delete",
    };
    return names[kind];
}

const char *zkl_server_error_name(zkl_server_error error) {
    static const char *const names[] = {
        [-ZKL_SERVER_ERROR_NONE] = "Ok",
        [-ZKL_SERVER_ERROR_NO_NODE] = "NoNode",
        [-ZKL_SERVER_ERROR_NODE_EXISTS] = "NodeExists",
        [-ZKL_SERVER_ERROR_NOT_EMPTY] = "NotEmpty",
        [-ZKL_SERVER_ERROR_NO_CHILDREN_FOR_EPHEMERALS] = "NoChildrenForEphemerals",
        [-ZKL_SERVER_ERROR_BAD_VERSION] = "BadVersion",
        [-ZKL_SERVER_ERROR_BAD_ARGUMENTS] = "BadArguments",
        [-ZKL_SERVER_ERROR_NO_PERMISSION] = "NoAuth",
        [-ZKL_SERVER_ERROR_SESSION_EXPIRED] = "SessionExpired",
        [-ZKL_SERVER_ERROR_INVALID_ACL] = "InvalidACL",
        [-ZKL_SERVER_ERROR_AUTH_FAILED] = "AuthFailed",
        [-ZKL_SERVER_ERROR_SESSION_MOVED] = "SessionMoved",
        [-ZKL_SERVER_ERROR_THROTTLED] = "ThrottledOp",
        [-ZKL_SERVER_ERROR_NO_WATCHER] = "NoWatcher",
        [-ZKL_SERVER_ERROR_ROLLED_BACK] = "RuntimeInconsistency",
    };
    return names[-error];
}

/* ---- Nodes ----------------------------------------------------------------------------------- */

/* Replaces those that the node has, if it has any. */
static void put_data(zkl_node *node, const void *bytes, size_t size, int64_t zxid,
                     int64_t time_ms) {
    node_data *data = zkl_testing_allocate(sizeof(*data) + size + 1);
    data->zxid = zxid;
    data->time_ms = time_ms;
    data->version = node->data != NULL ? node->data->version + 1 : 0;
    data->size = size;
    data->older = node->data;
    if (size > 0) {
        memcpy(data->bytes, bytes, size);
    }
    node->data = data;
}

static void take_data_back(zkl_node *node) {
    node_data *data = node->data;
    node->data = data->older;
    zkl_testing_free(data);
}

static void put_acl(zkl_node *node, const char *acl, const char *makers) {
    makers = makers != NULL ? makers : "";
    size_t acl_size = strlen(acl) + 1;
    node->acl = zkl_testing_allocate(acl_size + strlen(makers) + 1);
    memcpy(node->acl, acl, acl_size);
    memcpy(node->acl + acl_size, makers, strlen(makers) + 1);
}

static zkl_node *make_node(const char *path, const char *sequence) {
    size_t length = strlen(path);
    size_t sequence_size = strlen(sequence) + 1;
    zkl_node *node = zkl_testing_allocate(sizeof(*node) + length + sequence_size);
    memcpy(node->path, path, length);
    memcpy(node->path + length, sequence, sequence_size);
    const char *slash = strrchr(node->path, '/');
    node->name = slash + 1;
    node->deleted_zxid = INT64_MAX;
    return node;
}

static void destroy_node(zkl_node *node) {
    while (node->data != NULL) {
        take_data_back(node);
    }
    zkl_testing_free(node->acl);
    zkl_testing_free(node);
}

static zkl_node *newest(const zkl_tree *tree, const char *path, size_t length) {
    zkl_node *node = NULL;
    HASH_FIND(hh, tree->by_path, path, (unsigned)length, node);
    return node;
}

static bool is_alive(const zkl_node *node) {
    return node != NULL && node->deleted_zxid == INT64_MAX;
}

static bool is_visible(const zkl_node *node, int64_t zxid) {
    return node->czxid <= zxid && zxid < node->deleted_zxid;
}

static void add_to_paths(zkl_tree *tree, zkl_node *node) {
    unsigned length = (unsigned)strlen(node->path);
    zkl_node *older = newest(tree, node->path, length);
    if (older != NULL) {
        HASH_DELETE(hh, tree->by_path, older);
        node->older = older;
    }
    HASH_ADD_KEYPTR(hh, tree->by_path, node->path, length, node);
}

static void remove_from_paths(zkl_tree *tree, zkl_node *node) {
    unsigned length = (unsigned)strlen(node->path);
    zkl_node *first = newest(tree, node->path, length);
    if (first != node) {
        while (first->older != node) {
            first = first->older;
        }
        first->older = node->older;
        return;
    }
    HASH_DELETE(hh, tree->by_path, node);
    if (node->older != NULL) {
        HASH_ADD_KEYPTR(hh, tree->by_path, node->older->path, length, node->older);
    }
}

/* Its children are gone already. */
static void free_node(zkl_tree *tree, zkl_node *node) {
    remove_from_paths(tree, node);
    DL_DELETE(node->parent->children, node);
    destroy_node(node);
}

static tree_session *find_session(const zkl_tree *tree, int64_t session_id) {
    tree_session *session = NULL;
    HASH_FIND(hh, tree->sessions, &session_id, sizeof(session_id), session);
    return session;
}

static void take_ownership(tree_session *session, zkl_node *node) {
    node->owner = session;
    node->ephemeral_owner = session->id;
    session->owned_count++;
    DL_APPEND2(session->owned, node, owned_prev, owned_next);
}

static void give_ownership_up(zkl_node *node) {
    if (node->owner != NULL) {
        node->owner->owned_count--;
        DL_DELETE2(node->owner->owned, node, owned_prev, owned_next);
        node->owner = NULL;
    }
}

/* ---- Operations ------------------------------------------------------------------------------ */

static void add_change(zkl_tree_transaction *transaction, zkl_node *node, zkl_change_kind kind) {
    transaction->changes[transaction->change_count++] = (zkl_change){ node, kind };
}

static undo undo_of(const zkl_node *parent) {
    return (undo){
        .creates = parent->creates,
        .counted = parent->counted,
        .counted_zxid = parent->counted_zxid,
        .pzxid = parent->pzxid,
    };
}

static void take_back(zkl_node *parent, const undo *before) {
    parent->creates = before->creates;
    parent->counted = before->counted;
    parent->counted_zxid = before->counted_zxid;
    parent->pzxid = before->pzxid;
}

static bool is_path(const char *path) {
    size_t length = strlen(path);
    return path[0] == '/' && (length == 1 || path[length - 1] != '/') && strstr(path, "//") == NULL;
}

zkl_node *zkl_tree_find_parent(const zkl_tree *tree, const char *path) {
    const char *slash = strrchr(path, '/');
    if (slash == NULL) {
        return NULL;
    }
    size_t length = slash == path ? 1 : (size_t)(slash - path);
    zkl_node *parent = newest(tree, path, length);
    return is_alive(parent) ? parent : NULL;
}

/* As the leader's request preparation counts; see the head of tests/ensemble/sequence_test.c. */
static int32_t count_create(zkl_node *parent, int64_t seen_zxid, int64_t zxid) {
    int32_t number = parent->counted_zxid > seen_zxid ? parent->counted : parent->creates;
    parent->counted = (int32_t)((uint32_t)number + 1U); /* past 2^31 - 1 it turns negative */
    parent->counted_zxid = zxid;
    if (parent->counted > parent->creates) {
        parent->creates = parent->counted;
    }
    return number;
}

static void attach_node(zkl_tree *tree, zkl_node *parent, zkl_node *node, int64_t zxid) {
    node->czxid = zxid;
    node->pzxid = zxid;
    node->parent = parent;
    DL_APPEND(parent->children, node);
    parent->child_count++;
    parent->pzxid = zxid;
    tree->node_count++;
    add_to_paths(tree, node);
}

static zkl_server_error check_create(const zkl_tree *tree, const zkl_write_request *request,
                                     const zkl_write *operation) {
    if (operation->path[0] != '/' || (!operation->sequential && !is_path(operation->path))) {
        return ZKL_SERVER_ERROR_BAD_ARGUMENTS;
    }
    const zkl_node *parent = zkl_tree_find_parent(tree, operation->path);
    if (parent == NULL) {
        return ZKL_SERVER_ERROR_NO_NODE;
    }
    if (operation->ephemeral && find_session(tree, request->session_id) == NULL) {
        return ZKL_SERVER_ERROR_SESSION_EXPIRED;
    }
    if (parent->ephemeral_owner != 0) {
        return ZKL_SERVER_ERROR_NO_CHILDREN_FOR_EPHEMERALS;
    }
    return ZKL_SERVER_ERROR_NONE;
}

static zkl_server_error create(zkl_tree *tree, const zkl_write_request *request,
                               const zkl_write *operation, zkl_tree_transaction *transaction) {
    zkl_server_error error = check_create(tree, request, operation);
    if (error != ZKL_SERVER_ERROR_NONE) {
        return error;
    }
    zkl_node *parent = zkl_tree_find_parent(tree, operation->path);
    undo before = undo_of(parent);
    int32_t number = count_create(parent, request->seen_zxid, transaction->zxid);
    char sequence[SEQUENCE_SIZE] = "";
    if (operation->sequential) {
        snprintf(sequence, sizeof(sequence), "%010d", number);
    }
    zkl_node *node = make_node(operation->path, sequence);
    node->container = operation->container;
    if (is_alive(newest(tree, node->path, strlen(node->path)))) {
        destroy_node(node);
        take_back(parent, &before);
        return ZKL_SERVER_ERROR_NODE_EXISTS;
    }
    node->made_ms = request->time_ms;
    if (operation->acl != NULL) {
        put_acl(node, operation->acl, request->identities);
    }
    put_data(node, operation->data, operation->data_size, transaction->zxid, request->time_ms);
    attach_node(tree, parent, node, transaction->zxid);
    if (operation->ephemeral) {
        take_ownership(find_session(tree, request->session_id), node);
    }
    transaction->results[transaction->result_count].path = node->path;
    add_change(transaction, node, ZKL_CHANGE_CREATED);
    return ZKL_SERVER_ERROR_NONE;
}

static void kill_node(zkl_tree *tree, zkl_node *node, int64_t zxid) {
    node->deleted_zxid = zxid;
    node->parent->child_count--;
    node->parent->pzxid = zxid;
    tree->node_count--;
    give_ownership_up(node);
}

/* The dead are kept until nobody can ask for them. */
static void bury(zkl_tree *tree, zkl_node *node) {
    if (tree->dead_last != NULL) {
        tree->dead_last->dead_next = node;
    } else {
        tree->dead_first = node;
    }
    tree->dead_last = node;
}

static zkl_server_error check_node(const zkl_node *node, const zkl_write *operation) {
    if (!is_alive(node)) {
        return ZKL_SERVER_ERROR_NO_NODE;
    }
    bool fits = operation->version == ZKL_ANY_VERSION || operation->version == node->data->version;
    return fits ? ZKL_SERVER_ERROR_NONE : ZKL_SERVER_ERROR_BAD_VERSION;
}

static zkl_server_error delete (zkl_tree *tree, const zkl_write *operation,
                                zkl_tree_transaction *transaction) {
    zkl_node *node = newest(tree, operation->path, strlen(operation->path));
    if (node == tree->root) {
        return ZKL_SERVER_ERROR_BAD_ARGUMENTS;
    }
    zkl_server_error error = check_node(node, operation);
    if (error == ZKL_SERVER_ERROR_NONE && node->child_count > 0) {
        error = ZKL_SERVER_ERROR_NOT_EMPTY;
    }
    if (error == ZKL_SERVER_ERROR_NONE) {
        kill_node(tree, node, transaction->zxid);
        add_change(transaction, node, ZKL_CHANGE_DELETED);
    }
    return error;
}

static zkl_server_error set_data(const zkl_tree *tree, const zkl_write_request *request,
                                 const zkl_write *operation, zkl_tree_transaction *transaction) {
    zkl_node *node = newest(tree, operation->path, strlen(operation->path));
    zkl_server_error error = check_node(node, operation);
    if (error == ZKL_SERVER_ERROR_NONE) {
        put_data(node, operation->data, operation->data_size, transaction->zxid, request->time_ms);
        add_change(transaction, node, ZKL_CHANGE_SET);
    }
    return error;
}

/* All servers have it at once. */
static zkl_server_error set_acl(const zkl_tree *tree, const zkl_write_request *request,
                                const zkl_write *operation) {
    zkl_node *node = newest(tree, operation->path, strlen(operation->path));
    if (!is_alive(node)) {
        return ZKL_SERVER_ERROR_NO_NODE;
    }
    zkl_testing_free(node->acl);
    put_acl(node, operation->acl, request->identities);
    return ZKL_SERVER_ERROR_NONE;
}

static zkl_server_error carry_out(zkl_tree *tree, const zkl_write_request *request,
                                  const zkl_write *operation, zkl_tree_transaction *transaction) {
    if (operation->refusal != ZKL_SERVER_ERROR_NONE) {
        return operation->refusal;
    }
    switch (operation->kind) {
    case ZKL_WRITE_CREATE:
        return create(tree, request, operation, transaction);
    case ZKL_WRITE_DELETE:
        return delete (tree, operation, transaction);
    case ZKL_WRITE_SET:
        return set_data(tree, request, operation, transaction);
    case ZKL_WRITE_SET_ACL:
        return set_acl(tree, request, operation);
    case ZKL_WRITE_CHECK:
        return check_node(newest(tree, operation->path, strlen(operation->path)), operation);
    case ZKL_WRITE_MULTI:
    case ZKL_WRITE_CREATE_SESSION:
    case ZKL_WRITE_CLOSE_SESSION:
        break;
    }
    return ZKL_SERVER_ERROR_BAD_ARGUMENTS;
}

static void revive(zkl_tree *tree, zkl_node *node) {
    node->deleted_zxid = INT64_MAX;
    node->parent->child_count++;
    tree->node_count++;
    if (node->ephemeral_owner != 0) {
        take_ownership(find_session(tree, node->ephemeral_owner), node);
    }
}

static void unmake(zkl_tree *tree, zkl_node *node) {
    give_ownership_up(node);
    node->parent->child_count--;
    tree->node_count--;
    free_node(tree, node);
}

static void roll_back(zkl_tree *tree, zkl_tree_transaction *transaction, const undo *before) {
    while (transaction->change_count > 0) {
        const zkl_change change = transaction->changes[--transaction->change_count];
        const undo *back = &before[transaction->change_count];
        zkl_node *parent = change.node->parent;
        if (change.kind == ZKL_CHANGE_SET) {
            take_data_back(change.node);
            continue;
        }
        if (change.kind == ZKL_CHANGE_CREATED) {
            unmake(tree, change.node);
        } else {
            revive(tree, change.node);
        }
        take_back(parent, back);
    }
}

static void write_operations(zkl_tree *tree, const zkl_write_request *request,
                             zkl_tree_transaction *transaction) {
    undo *before = zkl_testing_allocate(request->operation_count * sizeof(*before));
    for (size_t i = 0; i < request->operation_count; i++) {
        const zkl_write *operation = &request->operations[i];
        const zkl_node *parent = zkl_tree_find_parent(tree, operation->path);
        if (parent != NULL) {
            before[transaction->change_count] = undo_of(parent);
        }
        zkl_server_error error = carry_out(tree, request, operation, transaction);
        transaction->results[transaction->result_count++].error = error;
        if (error != ZKL_SERVER_ERROR_NONE) {
            transaction->error = error;
            break;
        }
    }
    if (transaction->error != ZKL_SERVER_ERROR_NONE) {
        for (size_t i = 0; i < transaction->result_count; i++) {
            transaction->results[i].path = NULL;
        }
        while (transaction->result_count < request->operation_count) {
            transaction->results[transaction->result_count++].error = ZKL_SERVER_ERROR_ROLLED_BACK;
        }
        roll_back(tree, transaction, before);
    }
    zkl_testing_free(before);
}

/* ---- Sessions -------------------------------------------------------------------------------- */

static void create_session(zkl_tree *tree, int64_t session_id) {
    tree_session *session = zkl_testing_allocate(sizeof(*session));
    session->id = session_id;
    HASH_ADD(hh, tree->sessions, id, sizeof(session->id), session);
}

static void close_session(zkl_tree *tree, tree_session *session,
                          zkl_tree_transaction *transaction) {
    while (session->owned != NULL) {
        zkl_node *node = session->owned;
        kill_node(tree, node, transaction->zxid);
        add_change(transaction, node, ZKL_CHANGE_DELETED);
    }
    HASH_DELETE(hh, tree->sessions, session);
    zkl_testing_free(session);
}

bool zkl_tree_has_session(const zkl_tree *tree, int64_t session_id) {
    return find_session(tree, session_id) != NULL;
}

size_t zkl_tree_session_count(const zkl_tree *tree) {
    return HASH_COUNT(tree->sessions);
}

size_t zkl_tree_owned_count(const zkl_tree *tree, int64_t session_id) {
    const tree_session *session = find_session(tree, session_id);
    return session != NULL ? session->owned_count : 0;
}

/* ---- Writes ---------------------------------------------------------------------------------- */

static zkl_tree_transaction *make_transaction(const zkl_write_request *request, size_t change_max,
                                              int64_t zxid) {
    size_t size = sizeof(zkl_tree_transaction) + change_max * sizeof(zkl_change) +
                  request->operation_count * sizeof(zkl_operation_result);
    zkl_tree_transaction *transaction = zkl_testing_allocate(size);
    *transaction = (zkl_tree_transaction){
        .zxid = zxid,
        .kind = request->kind,
        .session_id = request->session_id,
        .changes = (zkl_change *)(transaction + 1),
        .results = (zkl_operation_result *)((zkl_change *)(transaction + 1) + change_max),
    };
    return transaction;
}

zkl_tree_transaction *zkl_tree_write(zkl_tree *tree, const zkl_write_request *request,
                                     int64_t zxid) {
    tree_session *session = find_session(tree, request->session_id);
    bool closes = request->kind == ZKL_WRITE_CLOSE_SESSION && session != NULL;
    zkl_tree_transaction *transaction =
        make_transaction(request, closes ? session->owned_count : request->operation_count, zxid);
    if (request->refusal != ZKL_SERVER_ERROR_NONE) {
        transaction->error = request->refusal;
    } else if (request->kind == ZKL_WRITE_CREATE_SESSION) {
        create_session(tree, request->session_id);
    } else if (closes) {
        close_session(tree, session, transaction);
    } else {
        write_operations(tree, request, transaction);
    }
    for (size_t i = 0; i < transaction->change_count; i++) {
        if (transaction->changes[i].kind == ZKL_CHANGE_DELETED) {
            bury(tree, transaction->changes[i].node);
        }
    }
    return transaction;
}

void zkl_tree_transaction_free(zkl_tree_transaction *transaction) {
    zkl_testing_free(transaction);
}

void zkl_tree_forget(zkl_tree *tree, int64_t zxid) {
    while (tree->dead_first != NULL && tree->dead_first->deleted_zxid <= zxid) {
        zkl_node *node = tree->dead_first;
        tree->dead_first = node->dead_next;
        if (tree->dead_first == NULL) {
            tree->dead_last = NULL;
        }
        node->parent->children_gone_zxid = node->deleted_zxid;
        free_node(tree, node);
    }
}

bool zkl_tree_set_creates(zkl_tree *tree, const char *path, int32_t creates) {
    zkl_node *node = newest(tree, path, strlen(path));
    if (!is_alive(node)) {
        return false;
    }
    node->creates = creates;
    node->counted_zxid = 0;
    return true;
}

bool zkl_tree_counts_on(const zkl_tree *tree, const char *path, int64_t zxid) {
    const zkl_node *parent = zkl_tree_find_parent(tree, path);
    return parent != NULL && parent->counted_zxid == zxid && parent->counted != parent->creates;
}

/* ---- Reading --------------------------------------------------------------------------------- */

zkl_node *zkl_tree_find(const zkl_tree *tree, const char *path, int64_t zxid) {
    zkl_node *node = newest(tree, path, strlen(path));
    while (node != NULL && node->czxid > zxid) {
        node = node->older;
    }
    return node != NULL && is_visible(node, zxid) ? node : NULL;
}

const char *zkl_node_path(const zkl_node *node) {
    return node->path;
}

const zkl_node *zkl_node_parent(const zkl_node *node) {
    return node->parent;
}

const char *zkl_node_last_name(const zkl_node *node) {
    return node->name;
}

const char *zkl_node_data(const zkl_node *node) {
    return node->data->bytes;
}

size_t zkl_node_data_size(const zkl_node *node) {
    return node->data->size;
}

const char *zkl_node_acl(const zkl_node *node) {
    return node->acl;
}

const char *zkl_node_makers(const zkl_node *node) {
    return node->acl != NULL ? node->acl + strlen(node->acl) + 1 : "";
}

zkl_node_stat zkl_node_get_stat(const zkl_node *node) {
    return (zkl_node_stat){
        .czxid = node->czxid,
        .mzxid = node->data->zxid,
        .pzxid = node->pzxid,
        .ephemeral_owner = node->ephemeral_owner,
        .version = node->data->version,
        .creates = node->creates,
        .child_count = node->child_count,
    };
}

static const node_data *data_as_of(const zkl_node *node, int64_t zxid) {
    const node_data *data = node->data;
    while (data->zxid > zxid && data->older != NULL) {
        data = data->older;
    }
    return data;
}

static int64_t later(int64_t one, int64_t other) {
    return one > other ? one : other;
}

zkl_node_view zkl_node_look(const zkl_node *node, int64_t zxid) {
    const node_data *data = data_as_of(node, zxid);
    zkl_node_view view = {
        .data = data->bytes,
        .data_size = data->size,
        .version = data->version,
        .mzxid = data->zxid,
        .made_ms = node->made_ms,
        .changed_ms = data->time_ms,
        .pzxid = later(node->czxid, node->children_gone_zxid),
    };
    for (const zkl_node *child = node->children; child != NULL; child = child->next) {
        if (child->czxid <= zxid) {
            view.pzxid = later(view.pzxid, child->czxid);
            view.pzxid = later(view.pzxid, child->deleted_zxid <= zxid ? child->deleted_zxid : 0);
            view.child_count += is_visible(child, zxid) ? 1 : 0;
        }
    }
    return view;
}

static const zkl_node *first_visible(const zkl_node *node, int64_t zxid) {
    while (node != NULL && !is_visible(node, zxid)) {
        node = node->next;
    }
    return node;
}

const zkl_node *zkl_node_first_child(const zkl_node *node, int64_t zxid) {
    return first_visible(node->children, zxid);
}

const zkl_node *zkl_node_next_child(const zkl_node *child, int64_t zxid) {
    return first_visible(child->next, zxid);
}

/* As ZooKeeper's ContainerManager: one that never had a child stays. */
const zkl_node *zkl_tree_find_empty_container(const zkl_tree *tree) {
    const zkl_node *node = tree->by_path;
    while (node != NULL &&
           (!node->container || !is_alive(node) || node->child_count > 0 || node->creates == 0)) {
        node = node->hh.next;
    }
    return node;
}

size_t zkl_tree_node_count(const zkl_tree *tree) {
    return tree->node_count;
}

/* ---- Beginning and end ----------------------------------------------------------------------- */

zkl_tree *zkl_tree_make(void) {
    zkl_tree *tree = zkl_testing_allocate(sizeof(*tree));
    tree->root = make_node("/", "");
    put_data(tree->root, NULL, 0, 0, 0);
    tree->node_count = 1;
    add_to_paths(tree, tree->root);
    return tree;
}

static void free_sessions(zkl_tree *tree) {
    tree_session *session = NULL;
    tree_session *next = NULL;
    HASH_ITER(hh, tree->sessions, session, next) {
        HASH_DELETE(hh, tree->sessions, session);
        zkl_testing_free(session);
    }
}

void zkl_tree_free(zkl_tree *tree) {
    if (tree == NULL) {
        return;
    }
    zkl_node *node = tree->by_path;
    HASH_CLEAR(hh, tree->by_path);
    while (node != NULL) {
        zkl_node *next = node->hh.next;
        for (zkl_node *older = node->older; older != NULL;) {
            zkl_node *oldest = older->older;
            destroy_node(older);
            older = oldest;
        }
        destroy_node(node);
        node = next;
    }
    free_sessions(tree);
    zkl_testing_free(tree);
}
