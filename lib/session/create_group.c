#include "session/create_group.h"

#include <stdlib.h>
#include <string.h>

#include "recipe/request.h"

struct zkl_create_group {
    size_t size;
    size_t references; /* of members, of the maker, and for the reply that is awaited */
    size_t joined;
    bool sent; /* the transaction was sent, and is not answered yet */
    int64_t pauses_until_ms;
    zkl_request_sender *members[]; /* NULL: it has left, or not come yet */
};

/* ---- Members ------------------------------------------------------------------------------ */

zkl_create_group *zkl_create_group_make(size_t size) {
    zkl_create_group *group = calloc(1, sizeof(*group) + size * sizeof(void *));
    if (group != NULL) {
        group->size = size;
        group->references = 1;
    }
    return group;
}

void zkl_create_group_drop(zkl_create_group *group) {
    if (group != NULL && --group->references == 0) {
        free(group);
    }
}

void zkl_create_group_join(zkl_request_sender *member) {
    zkl_create_group *group = member->options.group;
    if (group != NULL) {
        member->number = (unsigned char)group->joined++;
        group->members[member->number] = member;
        group->references++;
    }
}

void zkl_create_group_leave(zkl_request_sender *member) {
    if (member->options.group != NULL) {
        member->options.group->members[member->number] = NULL;
        zkl_create_group_drop(member->options.group);
    }
}

static bool asks(const zkl_request_sender *member) {
    return member != NULL && member->asks;
}

int64_t zkl_create_group_pause(zkl_create_group *group, int64_t now_ms, int64_t until_ms) {
    if (group != NULL && group->pauses_until_ms <= now_ms) {
        group->pauses_until_ms = until_ms;
    }
    return group != NULL ? group->pauses_until_ms : until_ms;
}

/* ---- Answers ------------------------------------------------------------------------------ */

static void answer_member(zkl_request_sender *member, zkl_reply reply) {
    reply.tag = ZKL_ACTION_CREATE;
    member->asks = false;
    member->listener->replied(member, &reply);
}

/* Returns how one of the operations ended, as its request is to see it. Where a parent is missing
 * all look whether theirs are there, rather than one after the other. */
static zkl_reply reply_for(const zkl_reply *reply, size_t number) {
    zkl_reply its = { .outcome = reply->outcome, .status = reply->status };
    if (reply->results != NULL && reply->outcome == ZKL_OUTCOME_OK) {
        its.path = reply->results[number].path;
    } else if (reply->results != NULL && number != reply->failed &&
               reply->outcome != ZKL_OUTCOME_NO_NODE) {
        its.outcome = ZKL_OUTCOME_NOT_NOW;
    }
    return its;
}

/* Answers the member whose operation failed first, so that its status is the first to be heard
 * of. */
static void on_transacted(void *arg, const zkl_reply *reply) {
    zkl_create_group *group = arg;
    size_t first = reply->results != NULL && reply->failed < group->size ? reply->failed : 0;
    for (size_t i = 0; i < group->size; i++) {
        size_t number = (first + i) % group->size;
        if (asks(group->members[number])) {
            answer_member(group->members[number], reply_for(reply, number));
        }
    }
    group->sent = false;
    zkl_create_group_drop(group);
}

/* ---- Questions ------------------------------------------------------------------------------ */

static bool all_ask(const zkl_create_group *group) {
    for (size_t i = 0; i < group->size; i++) {
        if (!asks(group->members[i])) {
            return false;
        }
    }
    return true;
}

/* Sends the creates in one transaction. All are of one lock, and so their data and ACLs are the
 * same. */
static zkl_outcome send_creates(zkl_create_group *group, zkl_sender *sender) {
    zkl_multi_operation creates[ZKL_LOCK_MEMBERS_MAX];
    char data[ZKL_REQUEST_DATA_SIZE];
    char(*paths)[ZKL_NODE_PATH_SIZE] = calloc(group->size, sizeof(*paths));
    if (paths == NULL) {
        return ZKL_OUTCOME_NOT_NOW;
    }
    zkl_request_write_data(group->members[0], data);
    for (size_t i = 0; i < group->size; i++) {
        const zkl_request_sender *member = group->members[i];
        char prefix[ZKL_NODE_NAME_SIZE];
        zkl_request_name_node(member->request, prefix);
        zkl_request_node_path(member, prefix, paths[i]);
        creates[i] = (zkl_multi_operation){ .kind = ZKL_MULTI_CREATE_EPHEMERAL_SEQUENTIAL,
                                            .path = paths[i],
                                            .data = data,
                                            .size = strlen(data) };
    }
    const zkl_operation transaction = { .kind = ZKL_OPERATION_TRANSACTION,
                                        .all = creates,
                                        .count = group->size,
                                        .acl =
                                            group->members[0]->options.origin->options->node_acl };
    zkl_outcome outcome = zkl_send(sender, &transaction, on_transacted, group, NULL);
    free(paths);
    if (outcome == ZKL_OUTCOME_OK) {
        group->sent = true;
        group->references++;
    }
    return outcome;
}

static bool one_has_its_node(const zkl_create_group *group) {
    for (size_t i = 0; i < group->size; i++) {
        const zkl_request_sender *member = group->members[i];
        if (member != NULL && member->request->own.state == ZKL_OWN_NODE_OURS) {
            return true;
        }
    }
    return false;
}

static void refuse(zkl_request_sender *member) {
    answer_member(member,
                  (zkl_reply){ .outcome = ZKL_OUTCOME_REFUSED, .status = ZKL_NODE_DELETED });
}

/* Tells only the last member to ask if the transaction cannot be sent: that asks again, or fails,
 * while the others go on asking. They may be anywhere in a loop over all requests, and must not
 * end. */
zkl_outcome zkl_create_group_ask(zkl_request_sender *member) {
    zkl_outcome outcome = ZKL_OUTCOME_OK;
    member->asks = true;
    if (one_has_its_node(member->options.group)) {
        refuse(member);
    } else if (all_ask(member->options.group)) {
        outcome = send_creates(member->options.group, &member->session->sender);
        member->asks = outcome == ZKL_OUTCOME_OK;
    }
    return outcome;
}

static void refuse_all(zkl_create_group *group) {
    group->references++;
    for (size_t i = 0; i < group->size; i++) {
        if (asks(group->members[i])) {
            refuse(group->members[i]);
        }
    }
    zkl_create_group_drop(group);
}

void zkl_create_group_review(zkl_request_sender *member, zkl_event_kind event) {
    zkl_create_group *group = member->options.group;
    if (group == NULL || group->sent) {
        return;
    }
    if (member->request->stage >= ZKL_STAGE_LEAVING) {
        if (asks(member)) {
            answer_member(member, (zkl_reply){ .outcome = ZKL_OUTCOME_NO_NODE });
        }
    } else if (event == ZKL_EVENT_INSPECTED && one_has_its_node(group)) {
        refuse_all(group);
    }
}
