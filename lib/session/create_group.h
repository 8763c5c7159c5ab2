/*
 * The nodes of a set, which one transaction makes: each member's request asks for its own node, and
 * when the last one has asked all are sent together. So they have one zxid, and no two sets can
 * each have a node before one of the other's: a set waits for earlier zxids only, and no sets wait
 * in a circle.
 *
 * All with the client's mutex held. A group lives as long as any of its members.
 */
#pragma once

#include "session/sender.h"

typedef struct zkl_create_group zkl_create_group;

/** A member; embed it. The first four fields are the caller's to fill. */
typedef struct zkl_create_member {
    zkl_create_group *group; /* NULL: it is no member */
    const zkl_request *request;
    zkl_reply_callback *replied; /* as that of a single create, which is tagged as the action */
    void *arg;
    size_t number; /* in the group */
    char *path;    /* that it asks for; NULL: it does not ask */
    char *data;
} zkl_create_member;

/** A group of `size` members; the maker has it, too, until it leaves. NULL: out of memory. */
zkl_create_group *zkl_create_group_make(size_t size);
/** The maker leaves; NULL does nothing. */
void zkl_create_group_drop(zkl_create_group *group);

/** Nothing of what follows does anything for one that is no member. */
void zkl_create_group_join(zkl_create_member *member);
/** The member is about to be freed. */
void zkl_create_group_leave(zkl_create_member *member);

/** A member's request asks for its node, and `replied` will be called, later. Not OK: it will not,
 *  as the transaction could not be sent. Where another member has its node already, as this one's
 *  was deleted by somebody else, the request is refused with ZKL_NODE_DELETED. */
zkl_outcome zkl_create_group_ask(zkl_create_member *member, zkl_sender *sender, const char *path,
                                 const char *data);

/** A member pauses, until then if it stood alone. Returns until when: members that pause end it
 *  together, so that none makes its parent and leaves it empty, for others to remove, until the
 *  next one has made its own. */
int64_t zkl_create_group_pause(zkl_create_group *group, int64_t now_ms, int64_t until_ms);

/** A member's request has taken an event. If it was called off while it asked, and nothing was
 * sent, it is answered with that. If it has learned by an inspection that its node is there, those
 * that ask are refused, as above. Requests may end, the member's own first of all. */
void zkl_create_group_review(zkl_create_member *member, zkl_event_kind event);
