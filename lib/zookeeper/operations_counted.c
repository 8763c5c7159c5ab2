#include "zookeeper/operations_counted.h"

static zkl_operations_counted *of(zkl_operations *operations) {
    return (zkl_operations_counted *)operations;
}

/* What could not be sent does not count. */
static zkl_outcome count(zkl_operations_counted *self, zkl_sent kind, zkl_outcome outcome) {
    if (outcome == ZKL_OUTCOME_OK) {
        self->metrics->sent[kind]++;
    }
    return outcome;
}

static zkl_outcome create_ephemeral_sequential(zkl_operations *operations, const char *path,
                                               const char *data, zkl_reply_callback *done,
                                               void *arg) {
    zkl_operations *inner = of(operations)->inner;
    return count(of(operations), ZKL_SENT_CREATE,
                 inner->table->create_ephemeral_sequential(inner, path, data, done, arg));
}

static zkl_outcome create_persistent(zkl_operations *operations, const char *path, bool container,
                                     zkl_reply_callback *done, void *arg) {
    zkl_operations *inner = of(operations)->inner;
    return count(of(operations), ZKL_SENT_CREATE_PARENT,
                 inner->table->create_persistent(inner, path, container, done, arg));
}

static zkl_outcome list_children(zkl_operations *operations, const char *path, uint64_t watch_id,
                                 zkl_reply_callback *done, void *arg) {
    zkl_operations *inner = of(operations)->inner;
    return count(of(operations), ZKL_SENT_LIST_CHILDREN,
                 inner->table->list(inner, path, watch_id, done, arg));
}

static zkl_outcome check_exists(zkl_operations *operations, const char *path, uint64_t watch_id,
                                zkl_reply_callback *done, void *arg) {
    zkl_operations *inner = of(operations)->inner;
    return count(of(operations), watch_id != 0 ? ZKL_SENT_WATCH : ZKL_SENT_EXISTS,
                 inner->table->exists(inner, path, watch_id, done, arg));
}

static zkl_outcome remove_node(zkl_operations *operations, const char *path,
                               zkl_reply_callback *done, void *arg) {
    zkl_operations *inner = of(operations)->inner;
    return count(of(operations), ZKL_SENT_DELETE, inner->table->remove(inner, path, done, arg));
}

static zkl_outcome remove_watches(zkl_operations *operations, const char *path, zkl_watch_kind kind,
                                  zkl_reply_callback *done, void *arg) {
    zkl_operations *inner = of(operations)->inner;
    return count(of(operations), ZKL_SENT_REMOVE_WATCHES,
                 inner->table->remove_watches(inner, path, kind, done, arg));
}

static zkl_outcome transact(zkl_operations *operations, const zkl_multi_operation *all,
                            size_t number, zkl_reply_callback *done, void *arg) {
    zkl_operations *inner = of(operations)->inner;
    return count(of(operations), ZKL_SENT_TRANSACTION,
                 inner->table->transact(inner, all, number, done, arg));
}

static zkl_outcome get_node(zkl_operations *operations, const char *path, zkl_reply_callback *done,
                            void *arg) {
    zkl_operations *inner = of(operations)->inner;
    return count(of(operations), ZKL_SENT_GET, inner->table->get(inner, path, done, arg));
}

static zkl_outcome set_node(zkl_operations *operations, const char *path, const char *data,
                            int32_t version, zkl_reply_callback *done, void *arg) {
    zkl_operations *inner = of(operations)->inner;
    return count(of(operations), ZKL_SENT_SET,
                 inner->table->set(inner, path, data, version, done, arg));
}

static int64_t now_ms(zkl_operations *operations) {
    zkl_operations *inner = of(operations)->inner;
    return inner->table->now_ms(inner);
}

static int64_t wall_clock_ms(zkl_operations *operations) {
    zkl_operations *inner = of(operations)->inner;
    return inner->table->wall_clock_ms(inner);
}

static bool random_bytes(zkl_operations *operations, void *bytes, size_t size) {
    zkl_operations *inner = of(operations)->inner;
    return inner->table->random(inner, bytes, size);
}

static void wake(zkl_operations *operations) {
    zkl_operations *inner = of(operations)->inner;
    inner->table->wake(inner);
}

static void describe_failure(zkl_operations *operations, char *text, size_t size) {
    zkl_operations *inner = of(operations)->inner;
    inner->table->describe_failure(inner, text, size);
}

_Static_assert(sizeof(zkl_operations_table) == 14 * sizeof(void (*)(void)),
               "an operation that is new in the table has to be handed on here");

static const zkl_operations_table table = {
    .create_ephemeral_sequential = create_ephemeral_sequential,
    .create_persistent = create_persistent,
    .list = list_children,
    .exists = check_exists,
    .remove = remove_node,
    .remove_watches = remove_watches,
    .transact = transact,
    .get = get_node,
    .set = set_node,
    .now_ms = now_ms,
    .wall_clock_ms = wall_clock_ms,
    .random = random_bytes,
    .wake = wake,
    .describe_failure = describe_failure,
};

zkl_operations *zkl_operations_counted_begin(zkl_operations_counted *self, zkl_operations *inner,
                                             zkl_metrics *metrics) {
    *self = (zkl_operations_counted){ { &table }, inner, metrics };
    return metrics != NULL ? &self->operations : inner;
}
