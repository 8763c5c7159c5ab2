/*
 * The nodes of a set, which one transaction makes: each member's request asks for its own node, and
 * when the last one has asked all are sent together. So they have one zxid, and no two sets can
 * each have a node before one of the other's: a set waits for earlier zxids only, and no sets wait
 * in a circle.
 *
 * All with the client's mutex held. A group lives as long as any of its members.
 */
#pragma once

#include "session/request_sender.h"

typedef struct zkl_create_group zkl_create_group;

/** A group of `size` members; the maker has it, too, until it leaves. NULL: out of memory. */
zkl_create_group *zkl_create_group_make(size_t size);
/** The maker leaves; NULL does nothing. */
void zkl_create_group_drop(zkl_create_group *group);

/** What follows, but for asking, does nothing for a request that is no member. */
void zkl_create_group_join(zkl_request_sender *member);
/** The member is about to be freed. */
void zkl_create_group_leave(zkl_request_sender *member);

/** A member's request asks for its node, and `replied` will be called, later. Not OK: it will not,
 *  as the transaction could not be sent. Where another member has its node already, as this one's
 *  was deleted by somebody else, the request is refused with ZKL_NODE_DELETED. */
zkl_outcome zkl_create_group_ask(zkl_request_sender *member);

/** A member pauses, until then if it stood alone. Returns until when: members that pause end it
 *  together, so that none makes its parent and leaves it empty, for others to remove, until the
 *  next one has made its own. */
int64_t zkl_create_group_pause(zkl_create_group *group, int64_t now_ms, int64_t until_ms);

/** A member's request has taken an event. If it was called off while it asked, and nothing was
 * sent, it is answered with that. If it has learned by an inspection that its node is there, those
 * that ask are refused, as above. Requests may end, the member's own first of all. */
void zkl_create_group_review(zkl_request_sender *member, zkl_event_kind event);
