/*
 * What one client counts: of its requests, by resource class, and of its sessions.
 * All numbers lie in one block of a fixed size, so that counting never fails, and
 * costs an increment under the client's mutex, which is held anyway. A NULL object,
 * of a client that counts nothing, is fine everywhere.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "zklock/zklock.h"

/** How an acquire came out: X(name, status, label). The last is for all other statuses. */
#define ZKL_RESULT_LIST(X)                                                                         \
    X(ZKL_RESULT_GRANTED, ZKL_OK, "granted")                                                       \
    X(ZKL_RESULT_BUSY, ZKL_BUSY, "busy") /* or ZKL_QUEUE_FULL */                                   \
    X(ZKL_RESULT_TIMEOUT, ZKL_TIMEOUT, "timeout")                                                  \
    X(ZKL_RESULT_CANCELLED, ZKL_CANCELLED, "cancelled") /* or ZKL_CLOSED */                        \
    X(ZKL_RESULT_EXPIRED, ZKL_SESSION_EXPIRED, "expired")                                          \
    X(ZKL_RESULT_FAILED, ZKL_PENDING, "failed")

/** Why a lock was lost, in the same way. */
#define ZKL_LOSS_LIST(X)                                                                           \
    X(ZKL_LOSS_SESSION_EXPIRED, ZKL_SESSION_EXPIRED, "session_expired")                            \
    X(ZKL_LOSS_LEASE_ENDED, ZKL_LEASE_ENDED, "lease_ended")                                        \
    X(ZKL_LOSS_HOLD_LIMIT, ZKL_HOLD_LIMIT, "hold_limit")                                           \
    X(ZKL_LOSS_NODE_DELETED, ZKL_NODE_DELETED, "node_deleted")                                     \
    X(ZKL_LOSS_OTHER, ZKL_PENDING, "other")

/** What is asked of the servers. */
#define ZKL_OPERATION_KIND_LIST(X)                                                                 \
    X(ZKL_OPERATION_CREATE, "create")               /* of a place in a queue */                    \
    X(ZKL_OPERATION_CREATE_PARENT, "create_parent") /* of a resource, or of what is above it */    \
    X(ZKL_OPERATION_LIST_CHILDREN, "list")                                                         \
    X(ZKL_OPERATION_EXISTS, "exists") /* probes of a session, and searches for a lost node */      \
    X(ZKL_OPERATION_WATCH, "watch")   /* an exists that leaves a watch */                          \
    X(ZKL_OPERATION_DELETE, "delete")                                                              \
    X(ZKL_OPERATION_REMOVE_WATCHES, "remove_watches")                                              \
    X(ZKL_OPERATION_TRANSACTION, "transaction")                                                    \
    X(ZKL_OPERATION_GET,                                                                           \
      "get") /* of what nodes say, by who asks for them, or is asked for the lock */               \
    X(ZKL_OPERATION_SET, "set") /* of the data of others, to ask them for the lock */              \
    X(ZKL_OPERATION_GET_ACL, "get_acl")                                                            \
    X(ZKL_OPERATION_SET_ACL, "set_acl")

#define ZKL_METRICS_ENUM(name, ...) name,
typedef enum zkl_result { ZKL_RESULT_LIST(ZKL_METRICS_ENUM) ZKL_RESULT_COUNT } zkl_result;
typedef enum zkl_loss { ZKL_LOSS_LIST(ZKL_METRICS_ENUM) ZKL_LOSS_COUNT } zkl_loss;
typedef enum zkl_operation_kind {
    ZKL_OPERATION_KIND_LIST(ZKL_METRICS_ENUM) ZKL_OPERATION_KINDS
} zkl_operation_kind;
#undef ZKL_METRICS_ENUM

#define ZKL_BUCKET_COUNT 17

/** The upper bounds of the histograms' buckets. */
extern const int64_t zkl_bucket_bounds_ms[ZKL_BUCKET_COUNT];

typedef struct zkl_histogram {
    uint64_t counts[ZKL_BUCKET_COUNT + 1]; /* of each alone; the last: beyond all bounds */
    uint64_t sum_ms;
} zkl_histogram;

/** The single numbers of a class: X(name, metric, type, help). The gauges are those of the moment
 *  when they are written. */
#define ZKL_CLASS_NUMBER_LIST(X)                                                                   \
    X(releases, zklock_releases_total, counter, "Locks that were held and released.")              \
    X(hand_offs, zklock_hand_offs_total, counter,                                                  \
      "Locks that were granted by the news of a release, without another list.")                   \
    X(rejoins, zklock_rejoins_total, counter,                                                      \
      "Places in a queue that were lost to an expiry or a deletion by hand.")                      \
    X(retries, zklock_retries_total, counter,                                                      \
      "Pauses before something is asked of the servers again.")                                    \
    X(waiting, zklock_waiting, gauge, "Acquires without a result.")                                \
    X(held, zklock_held, gauge, "Locks that are held.")                                            \
    X(pending_deletions, zklock_pending_deletions, gauge,                                          \
      "Nodes that are left and not yet confirmed as deleted.")

/** Those of the client, in the same way. */
#define ZKL_CLIENT_NUMBER_LIST(X)                                                                  \
    X(sessions, zklock_sessions, gauge, "Sessions that the client has.")                           \
    X(sessions_connected, zklock_sessions_connected, gauge, "Those that are connected.")           \
    X(sessions_opened, zklock_sessions_opened_total, counter,                                      \
      "Sessions that the servers have made.")                                                      \
    X(sessions_expired, zklock_sessions_expired_total, counter,                                    \
      "Sessions that have expired, or were given up.")                                             \
    X(sessions_moved, zklock_sessions_moved_total, counter,                                        \
      "Answers that a session is used at another server.")                                         \
    X(disconnections, zklock_disconnections_total, counter,                                        \
      "Connections that were lost while their session lived.")                                     \
    X(reconnects, zklock_reconnects_total, counter, "Connections that a session found again.")     \
    X(watches, zklock_watches, gauge, "Nodes that are watched.")

#define ZKL_METRICS_NUMBER(name, metric, type, help) uint64_t name;
typedef struct zkl_class_metrics {
    char name[ZKL_RESOURCE_CLASS_MAX + 1];
    uint64_t acquires[ZKL_RESULT_COUNT];
    uint64_t losses[ZKL_LOSS_COUNT];
    ZKL_CLASS_NUMBER_LIST(ZKL_METRICS_NUMBER)
    zkl_histogram waits;
    zkl_histogram holds;
} zkl_class_metrics;

typedef struct zkl_metrics {
    char client[ZKL_LABEL_MAX + 1];
    ZKL_CLIENT_NUMBER_LIST(ZKL_METRICS_NUMBER)
    uint64_t sent[ZKL_OPERATION_KINDS];
    size_t class_count;
    /* The first has no name; the last is that of the overflow. */
    zkl_class_metrics classes[ZKL_RESOURCE_CLASSES_MAX + 2];
} zkl_metrics;
#undef ZKL_METRICS_NUMBER

/** Adds one to a number of a class or of the client. */
#define ZKL_COUNT(metrics, number) ((metrics) != NULL ? (void)(metrics)->number++ : (void)0)

/** `client`: the label; copied. NULL: out of memory. Free it with free(). */
zkl_metrics *zkl_metrics_open(const char *client);

/** The numbers of a class, which are made when it is first named, or those of the
 *  overflow. They live as long as the metrics. NULL for NULL. */
zkl_class_metrics *zkl_metrics_class(zkl_metrics *metrics, const char *name);

void zkl_metrics_decided(zkl_class_metrics *self, int status, int64_t waited_ms);
void zkl_metrics_released(zkl_class_metrics *self, int64_t held_ms);
void zkl_metrics_lost(zkl_class_metrics *self, int status, int64_t held_ms);

/** Writes the text with its NUL, as much of it as there is room for, and returns its
 *  length without that. NULL and 0 to ask for the length. */
size_t zkl_metrics_write(const zkl_metrics *metrics, char *buffer, size_t size);
