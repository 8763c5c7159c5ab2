/*
 * The nodes of a set, which one transaction makes: each member's request asks
 * for its own, and when the last one has asked all are sent together. So they have one
 * zxid, and no two sets can each have a node before one of the other's: whoever
 * waits waits for an earlier zxid, and nobody in a circle.
 *
 * All with the client's mutex held. A group lives as long as any of its members.
 */
#ifndef ZKLOCK_ZOOKEEPER_CREATE_GROUP_H
#define ZKLOCK_ZOOKEEPER_CREATE_GROUP_H

#include "session/operations.h"

typedef struct zkl_create_group zkl_create_group;
typedef struct zkl_request_runner zkl_request_runner;

/** For so many members; the maker has it, too, until it leaves. NULL: out of memory. */
zkl_create_group *zkl_create_group_make(size_t size);
/** The maker's; NULL is fine. */
void zkl_create_group_drop(zkl_create_group *group);

void zkl_create_group_join(zkl_create_group *group, zkl_request_runner *member);
/** It is about to be freed. */
void zkl_create_group_leave(zkl_create_group *group, const zkl_request_runner *member);

/** A member's request asks for its node, and will be answered with CREATED, later. Not OK: it will
 *  not, as the transaction could not be sent. Where another one has its node already, as this
 *  one's was deleted by somebody else, it is refused with ZKL_NODE_DELETED. */
zkl_outcome zkl_create_group_ask(zkl_create_group *group, zkl_request_runner *member,
                                 const char *path, const char *data);

/** A member pauses, until then if it stood alone. Returns until when: members that pause end it
 *  together, so that none makes its parent and leaves it empty, for others to remove, until the
 *  next one has made its own. */
int64_t zkl_create_group_pause(zkl_create_group *group, int64_t now_ms, int64_t until_ms);

/** A member has learned that its node is there: those that ask are refused, as before. From the
 *  answer to an inspection only: requests may end. */
void zkl_create_group_look(zkl_create_group *group);

/** A member's request has been called off. If it has asked in vain so far it is answered: nothing
 *  was sent. Then it may be gone. */
void zkl_create_group_withdraw(zkl_create_group *group, zkl_request_runner *member);

#endif
