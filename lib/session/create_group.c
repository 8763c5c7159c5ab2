#include "session/create_group.h"

#include <stdlib.h>
#include <string.h>

#include "session/request_runner.h"

typedef struct group_member {
    zkl_request_runner *runner; /* NULL: it has left, or not come yet */
    char *path;                 /* NULL: it does not ask */
    char *data;
} group_member;

struct zkl_create_group {
    size_t size;
    size_t references; /* members, the maker, and the reply that is awaited */
    zkl_session *session;
    bool sent; /* and not answered */
    int64_t pauses_until_ms;
    group_member members[];
};

/* ---- Members ------------------------------------------------------------------------------ */

zkl_create_group *zkl_create_group_make(size_t size) {
    zkl_create_group *group = calloc(1, sizeof(*group) + size * sizeof(group->members[0]));
    if (group != NULL) {
        group->size = size;
        group->references = 1;
    }
    return group;
}

static void forget_question(group_member *member) {
    free(member->path);
    free(member->data);
    member->path = NULL;
    member->data = NULL;
}

static void drop(zkl_create_group *group) {
    if (--group->references == 0) {
        for (size_t i = 0; i < group->size; i++) {
            forget_question(&group->members[i]);
        }
        free(group);
    }
}

void zkl_create_group_drop(zkl_create_group *group) {
    if (group != NULL) {
        drop(group);
    }
}

static group_member *find(zkl_create_group *group, const zkl_request_runner *runner) {
    for (size_t i = 0; i < group->size; i++) {
        if (group->members[i].runner == runner) {
            return &group->members[i];
        }
    }
    return NULL;
}

void zkl_create_group_join(zkl_create_group *group, zkl_request_runner *member) {
    find(group, NULL)->runner = member;
    group->session = member->session;
    group->references++;
}

void zkl_create_group_leave(zkl_create_group *group, const zkl_request_runner *member) {
    group_member *left = find(group, member);
    forget_question(left);
    left->runner = NULL;
    drop(group);
}

int64_t zkl_create_group_pause(zkl_create_group *group, int64_t now_ms, int64_t until_ms) {
    if (group->pauses_until_ms <= now_ms) {
        group->pauses_until_ms = until_ms;
    }
    return group->pauses_until_ms;
}

/* ---- Answers ------------------------------------------------------------------------------ */

static const char *last_name(const char *path) {
    return strrchr(path, '/') + 1;
}

static void answer(group_member *member, const zkl_event *event) {
    forget_question(member);
    zkl_request_runner_feed(member->runner, event);
}

/* How one of the operations ended, as its request is to see it. Where a parent is missing all
 * look whether theirs are there, rather than one after the other. */
static zkl_event event_of(const zkl_reply *reply, size_t number) {
    zkl_event event = { .kind = ZKL_EVENT_CREATED,
                        .outcome = reply->outcome,
                        .status = reply->status };
    bool is_decided = reply->results != NULL;
    bool failed_elsewhere =
        is_decided && reply->outcome != ZKL_OUTCOME_OK && number != reply->failed;
    if (is_decided && reply->outcome == ZKL_OUTCOME_OK) {
        event.node = last_name(reply->results[number].path);
    } else if (failed_elsewhere && reply->outcome != ZKL_OUTCOME_NO_NODE) {
        event.outcome = ZKL_OUTCOME_NOT_NOW;
    }
    return event;
}

/* The one that failed comes first, so that its status is the first to be heard of. */
static void answer_all(zkl_create_group *group, const zkl_reply *reply) {
    size_t first = reply->results != NULL && reply->failed < group->size ? reply->failed : 0;
    for (size_t i = 0; i < group->size; i++) {
        size_t number = (first + i) % group->size;
        zkl_event event = event_of(reply, number);
        if (group->members[number].path != NULL) {
            answer(&group->members[number], &event);
        }
    }
}

static void on_transacted(void *arg, const zkl_reply *reply) {
    zkl_create_group *group = arg;
    answer_all(group, reply);
    group->sent = false;
    drop(group);
}

/* ---- Questions ------------------------------------------------------------------------------ */

static bool all_have_asked(const zkl_create_group *group) {
    for (size_t i = 0; i < group->size; i++) {
        if (group->members[i].path == NULL) {
            return false;
        }
    }
    return true;
}

static zkl_outcome send(zkl_create_group *group) {
    zkl_multi_operation *creates = calloc(group->size, sizeof(*creates));
    if (creates == NULL) {
        return ZKL_OUTCOME_NOT_NOW;
    }
    for (size_t i = 0; i < group->size; i++) {
        const group_member *member = &group->members[i];
        creates[i] = (zkl_multi_operation){ .kind = ZKL_MULTI_CREATE_EPHEMERAL_SEQUENTIAL,
                                            .path = member->path,
                                            .data = member->data,
                                            .size = strlen(member->data) };
    }
    const zkl_operation transaction = { .kind = ZKL_OPERATION_TRANSACTION,
                                        .all = creates,
                                        .count = group->size };
    zkl_outcome outcome = zkl_send(&group->session->sender, &transaction, on_transacted, group);
    free(creates);
    if (outcome == ZKL_OUTCOME_OK) {
        group->sent = true;
        group->references++;
    }
    return outcome;
}

static bool one_has_its_node(const zkl_create_group *group) {
    for (size_t i = 0; i < group->size; i++) {
        const zkl_request_runner *runner = group->members[i].runner;
        if (runner != NULL && runner->request.own.state == ZKL_OWN_NODE_OURS) {
            return true;
        }
    }
    return false;
}

static void refuse(group_member *member) {
    answer(member, &(zkl_event){ .kind = ZKL_EVENT_CREATED,
                                 .outcome = ZKL_OUTCOME_REFUSED,
                                 .status = ZKL_NODE_DELETED });
}

/* Of what could not be sent only the last one to ask hears: it asks again, or fails, while the
 * others go on asking. They may be anywhere in a loop over all requests, and must not end. */
zkl_outcome zkl_create_group_ask(zkl_create_group *group, zkl_request_runner *member,
                                 const char *path, const char *data) {
    group_member *asking = find(group, member);
    asking->path = strdup(path);
    asking->data = strdup(data);
    zkl_outcome outcome = ZKL_OUTCOME_OK;
    if (asking->path == NULL || asking->data == NULL) {
        outcome = ZKL_OUTCOME_NOT_NOW;
    } else if (one_has_its_node(group)) {
        refuse(asking);
    } else if (all_have_asked(group)) {
        outcome = send(group);
    }
    if (outcome != ZKL_OUTCOME_OK) {
        forget_question(asking);
    }
    return outcome;
}

void zkl_create_group_look(zkl_create_group *group) {
    if (group->sent || !one_has_its_node(group)) {
        return;
    }
    group->references++;
    for (size_t i = 0; i < group->size; i++) {
        if (group->members[i].path != NULL) {
            refuse(&group->members[i]);
        }
    }
    drop(group);
}

void zkl_create_group_withdraw(zkl_create_group *group, zkl_request_runner *member) {
    group_member *asking = find(group, member);
    if (asking->path != NULL && !group->sent) {
        answer(asking, &(zkl_event){ .kind = ZKL_EVENT_CREATED, .outcome = ZKL_OUTCOME_NO_NODE });
    }
}
