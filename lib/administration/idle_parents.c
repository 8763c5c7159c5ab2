/* Removes the nodes of resources and stripes that nobody has used for some time. */
#include <string.h>

#include "administration/resource_survey.h"
#include "base/error_message.h"
#include "base/validation.h"
#include "zklock/administration.h"

/* Tells whether a node is persistent and without data, as parents are made, has so many children,
 * and has not changed between two looks. */
static bool is_idle(const zkl_reply *first, const zkl_reply *second, int32_t children) {
    bool is_parent = second->outcome == ZKL_OUTCOME_OK && second->child_count == children &&
                     second->ephemeral_owner == 0 && second->data_length == 0;
    return is_parent && first->zxid == second->zxid &&
           first->children_zxid == second->children_zxid && first->version == second->version;
}

/* Chooses the stripes and the resources to be removed, from the last to the first, so that a
 * resource comes after its stripes: it is idle too if all its children are idle stripes. */
static void choose(const zkl_survey *first, const zkl_survey *second, zkl_survey *stripes,
                   zkl_survey *resources) {
    int32_t idle_stripes = 0;
    for (size_t i = first->count; i-- > 0;) {
        const zkl_question *one = &first->questions[i];
        bool is_stripe = strchr(zkl_survey_name(first, i), '/') != NULL;
        zkl_survey *removals = is_stripe ? stripes : resources;
        bool idle = is_idle(&one->reply, &second->questions[i].reply, is_stripe ? 0 : idle_stripes);
        if (idle) {
            removals->questions[removals->count++] =
                (zkl_question){ .kind = ZKL_OPERATION_DELETE, .path = one->path };
        }
        idle_stripes = is_stripe ? idle_stripes + idle : 0;
    }
}

/* Removes the chosen nodes. The servers refuse to remove a node that has got children. Somebody
 * else may have removed a node already. */
static int remove_all(zkl_inquiry *inquiry, const zkl_survey *removals, size_t *removed) {
    int status = zkl_inquiry_try(inquiry, removals->questions, removals->count);
    for (size_t i = 0; i < removals->count; i++) {
        const zkl_question *one = &removals->questions[i];
        zkl_outcome outcome = one->reply.outcome;
        bool by_us = outcome == ZKL_OUTCOME_NO_NODE && one->asked_again;
        *removed += one->answered && (outcome == ZKL_OUTCOME_OK || by_us) ? 1 : 0;
        if (status == ZKL_OK && one->answered && one->reply.status == ZKL_NO_PERMISSION) {
            status = zkl_questions_status(one, 1);
        }
    }
    return status;
}

/* Removes what is idle, stripes first: the servers remove a resource only when its stripes are
 * gone. A node that we may not read is not idle. */
static int remove_idle(zkl_inquiry *inquiry, int64_t idle_ms, size_t *removed) {
    zkl_survey first;
    zkl_survey second;
    ZKL_TRY(zkl_survey_take(&first, inquiry, ZKL_OPERATION_GET));
    ZKL_TRY(idle_ms > 0 ? zkl_inquiry_pause(inquiry, idle_ms) : ZKL_OK);
    ZKL_TRY(zkl_survey_repeat(&second, inquiry, &first));
    zkl_survey stripes = { .questions = zkl_inquiry_questions(inquiry, first.count) };
    zkl_survey resources = { .questions = zkl_inquiry_questions(inquiry, first.count) };
    ZKL_TRY(zkl_made(stripes.questions));
    ZKL_TRY(zkl_made(resources.questions));
    choose(&first, &second, &stripes, &resources);
    int of_stripes = remove_all(inquiry, &stripes, removed);
    int of_resources = remove_all(inquiry, &resources, removed);
    ZKL_TRY(of_stripes);
    ZKL_TRY(of_resources);
    ZKL_TRY(zkl_questions_status(first.questions, first.count));
    return zkl_questions_status(second.questions, second.count);
}

int zkl_parents_remove_idle(zkl_client *client, int64_t idle_ms, int64_t timeout_ms,
                            size_t *removed) {
    ZKL_BEGIN_CALL;
    zkl_inquiry inquiry;
    size_t count = 0;
    size_t *result = removed != NULL ? removed : &count;
    *result = 0;
    ZKL_TRY(zkl_inquiry_begin(&inquiry, client, timeout_ms));
    int status = zkl_validate_range("idle_ms", idle_ms, 0, timeout_ms - 1);
    if (status == ZKL_OK) {
        status = remove_idle(&inquiry, idle_ms, result);
    }
    zkl_inquiry_end(&inquiry);
    return status;
}
