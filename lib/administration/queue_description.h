/*
 * The description of a queue: the contenders of one list in their order, what their
 * nodes say, and who waits for whom.
 */
#ifndef ZKLOCK_ADMINISTRATION_QUEUE_DESCRIPTION_H
#define ZKLOCK_ADMINISTRATION_QUEUE_DESCRIPTION_H

#include "administration/inquiry.h"
#include "administration/node_identity.h"
#include "recipe/queue.h"
#include "zklock/administration.h"

typedef struct zkl_queue_entry {
    zkl_queue_neighbour member;
    zkl_node_identity data;
    bool gone; /* since it was listed */
    zkl_contender contender;
} zkl_queue_entry;

struct zkl_queue {
    char *path;  /* full, with the chroot */
    void *names; /* the memory of its entries' names */
    size_t count;
    zkl_queue_entry *entries;
};

/** Takes the requests out of a list, in their order, and the path over (NULL: there was no
 *  memory for it). NULL: out of memory. */
zkl_queue *zkl_queue_make(char *path, zkl_children children);

/** Reads the nodes of several queues, as far as they are still there, and judges who waits for
 *  whom. What zkl_inquiry_ask returns, or why a node cannot be read. */
int zkl_queues_read(zkl_inquiry *inquiry, zkl_queue *const *queues, size_t count);

/** Calls back for each direct wait: those from which all others follow. */
typedef void zkl_queue_wait_callback(void *arg, const zkl_queue_entry *waiter,
                                     const zkl_queue_entry *earlier);
void zkl_queue_visit_waits(const zkl_queue *queue, zkl_queue_wait_callback *visit, void *arg);

#endif
