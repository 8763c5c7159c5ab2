/*
 * What a contender's node says about who made it: lines of "key=value" in nodes of zklock, anything
 * at all in those of others; and what others ask of it there. It is read as it comes: any bytes, of
 * any length.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/** More than that is not looked at. */
#define ZKL_NODE_DATA_SHOWN_MAX 1536
/** The ends of the texts that are read of them. */
#define ZKL_NODE_DATA_ENDS 7
/** Room for what is read of any data. */
#define ZKL_NODE_DATA_ROOM_MAX (2 * ZKL_NODE_DATA_SHOWN_MAX + ZKL_NODE_DATA_ENDS)
/** The data that ask a contender to give up what it has, as Curator's Revoker writes them
 *  (org.apache.curator.framework.recipes.locks.LockInternals.REVOKE_MESSAGE). */
#define ZKL_NODE_DATA_REVOCATION "__REVOKE__"

/** Each a text of its own, and never NULL. */
typedef struct zkl_node_identity {
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

/** How much room the texts need that are read of `length` bytes. */
size_t zkl_node_identity_room(size_t length);
/** The texts are in `room`. `data` may be NULL where there is none. */
void zkl_node_identity_read(zkl_node_identity *read, char *room, const char *data, size_t length);

/** Whether it is ZKL_NODE_DATA_REVOCATION. `data` may be NULL where there is none. */
bool zkl_node_data_is_revocation(const char *data, size_t length);
