/*
 * The data of a contender's node: who made it, as lines of "key=value" in nodes of zklock, and
 * anything at all in nodes of others; or the request of others to give its lock up. Any bytes of
 * any length are accepted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/** The most bytes of the data that are looked at. */
#define ZKL_NODE_DATA_SHOWN_MAX 1536
/** The NULs of the texts that are read from the data. */
#define ZKL_NODE_DATA_ENDS 7
/** Room for the texts of any data. */
#define ZKL_NODE_DATA_ROOM_MAX (2 * ZKL_NODE_DATA_SHOWN_MAX + ZKL_NODE_DATA_ENDS)
/** The data that ask a contender to give up what it has, as Curator's Revoker writes them
 *  (org.apache.curator.framework.recipes.locks.LockInternals.REVOKE_MESSAGE). */
#define ZKL_NODE_DATA_REVOCATION "__REVOKE__"

/** What the data say. Each text is never NULL, and "" if the data do not say it. */
typedef struct zkl_node_identity {
    const char *host;
    const char *process_id;
    const char *label;
    const char *owner;
    const char *note;
    const char *token; /* of a reader that was a writer: the grant's token, which is not the czxid
                          of the reader's node */
    const char *text;  /* all of the data that are looked at */
    bool revoked;      /* somebody has asked it to give its lock up */
} zkl_node_identity;

/** Returns how much room the texts of `length` bytes of data need. */
size_t zkl_node_identity_room(size_t length);
/** Reads the data. The texts are written into `room`. `data` may be NULL if `length` is 0. */
void zkl_node_identity_read(zkl_node_identity *read, char *room, const char *data, size_t length);

/** Tells whether the data are ZKL_NODE_DATA_REVOCATION. `data` may be NULL if `length` is 0. */
bool zkl_node_data_is_revocation(const char *data, size_t length);
