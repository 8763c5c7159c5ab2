/* What a request asks of the servers, as operations: all but its lists and watches. */
#ifndef ZKLOCK_ZOOKEEPER_REQUEST_SENDER_H
#define ZKLOCK_ZOOKEEPER_REQUEST_SENDER_H

#include "session/create_group.h"
#include "session/session.h"

/** A request as its parts know it; embed it. The caller fills the fields up to `member`, and frees
 *  the strings. */
typedef struct zkl_request_sender {
    zkl_session *session;
    char *parent_path;         /* of the resource */
    char *owner_text;          /* who acquires, in the node's data; NULL: it is not said */
    char *note;                /* another line there; NULL: none */
    zkl_create_member member;  /* who asks; no group: it stands alone */
    size_t parent_made_length; /* of the part of parent_path that was to be made last */
    int32_t parent_version;    /* of the data of the parent, as it was inspected */
} zkl_request_sender;

/** The path of a node of the resource. */
void zkl_request_node_path(const zkl_request_sender *self, const char *node,
                           char path[ZKL_NODE_PATH_SIZE]);

/** OK: `member.replied` will be called; the reply has the action as its tag. */
zkl_outcome zkl_request_send(zkl_request_sender *self, const zkl_action *action);

/** What that reply is to the request. The event is filled but for its kind. */
zkl_event zkl_request_read_reply(zkl_request_sender *self, const zkl_reply *reply);

#endif
