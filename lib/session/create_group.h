/*
 * The nodes of a set, which one transaction makes: each member's request asks for its own node, and
 * when the last one has asked, all are sent together. So they have one zxid, and no two sets can
 * each have a node before one of the other's: a set waits for earlier zxids only, and no sets wait
 * in a circle.
 *
 * Everything here runs with the client's mutex held. A group lives as long as any of its members.
 */
#pragma once

#include "session/request_sender.h"

typedef struct zkl_create_group zkl_create_group;

/** Makes a group of `size` members. The maker has it, too, until it drops it. NULL: out of
 *  memory. */
zkl_create_group *zkl_create_group_make(size_t size);
/** Drops the group for its maker, or one of its other keepers. NULL does nothing. */
void zkl_create_group_drop(zkl_create_group *group);

/** Adds a request to the group of its options. What follows, but for asking, does nothing for a
 *  request that is no member. */
void zkl_create_group_join(zkl_request_sender *member);
/** Takes off a member that is about to be freed. */
void zkl_create_group_leave(zkl_request_sender *member);

/** Asks for the node of a member. OK: `replied` will be called, later. Else it will not, as the
 *  transaction could not be sent. Where another member has its node already, as this one's was
 *  deleted by somebody else, the request is refused with ZKL_NODE_DELETED. */
zkl_outcome zkl_create_group_ask(zkl_request_sender *member);

/** Lets a member pause, until then if it were in no set. Returns until when it pauses: members that
 *  pause end it together, so that none makes its parent and leaves it empty, for others to remove,
 *  until the next one has made its own. */
int64_t zkl_create_group_pause(zkl_create_group *group, int64_t now_ms, int64_t until_ms);

/** Looks at a member whose request has taken an event. If the request was called off while it
 *  asked, and nothing was sent, it is answered with that. If it has learned by an inspection that
 *  its node is there, those that ask are refused, as above. Requests may end, the member's own
 *  first of all. */
void zkl_create_group_review(zkl_request_sender *member, zkl_event_kind event);
