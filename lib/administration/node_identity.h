/*
 * What a contender's node says about who made it: lines of "key=value" in nodes of
 * zklock, anything at all in those of others. It is read as it comes: any bytes, of any
 * length.
 */
#ifndef ZKLOCK_ADMINISTRATION_NODE_IDENTITY_H
#define ZKLOCK_ADMINISTRATION_NODE_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>

/** More than that is not looked at. */
#define ZKL_NODE_DATA_SHOWN_MAX 1536

/** Each a text of its own, and never NULL. */
typedef struct zkl_node_identity {
    char *memory; /* of all of them; free it */
    const char *host;
    const char *process_id;
    const char *label;
    const char *owner;
    const char *note;
    const char
        *token; /* of a reader that was a writer: the grant's, which its node's czxid is not */
    const char *text; /* all that is there */
    bool revoked;     /* it was asked to give its lock up */
} zkl_node_identity;

/** False: out of memory. `data` may be NULL where there is none. */
bool zkl_node_identity_read(zkl_node_identity *read, const char *data, size_t length);

#endif
