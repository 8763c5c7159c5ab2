/*
 * The contenders of a resource in the order of its queue, what their nodes say, and who waits for
 * whom.
 */
#ifndef ZKLOCK_ADMINISTRATION_LINE_H
#define ZKLOCK_ADMINISTRATION_LINE_H

#include "client/inquiry.h"
#include "recipe/contenders.h"
#include "zklock/administration.h"

typedef struct zkl_line_entry {
    zkl_neighbour member;
    bool gone; /* since it was listed */
    zkl_contender contender;
    const char *resource; /* its name; as the next, for who looks for deadlocks */
    size_t owner;         /* a number */
} zkl_line_entry;

typedef struct zkl_line {
    const char *path; /* full, with the chroot */
    size_t count;
    zkl_line_entry *entries;
} zkl_line;

/** Takes the contenders out of the list of the resource with this path, in their order. What the
 *  line keeps is taken from the pool. ZKL_OK or ZKL_NO_MEMORY. */
int zkl_line_make(zkl_line *line, void *pool, const char *path, zkl_children children);

/** Reads the nodes of several lines, as far as they are still there, and judges who waits for whom.
 *  What zkl_inquiry_ask returns, or why a node cannot be read. */
int zkl_lines_read(zkl_line *lines, size_t count, void *pool, zkl_inquiry *inquiry);

/** Calls back for each direct wait: those from which all others follow. */
typedef void zkl_line_wait_callback(void *arg, const zkl_line_entry *waiter,
                                    const zkl_line_entry *earlier);
void zkl_line_visit_waits(const zkl_line *line, zkl_line_wait_callback *visit, void *arg);

#endif
