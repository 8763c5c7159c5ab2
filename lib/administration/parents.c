#include "administration/survey.h"
#include "base/error_message.h"
#include "base/pool.h"
#include "base/try.h"
#include "base/validation.h"
#include "zklock/administration.h"

/* Persistent, with nothing written in it, as parents are made, and with so many children. */
static bool is_parent_of(const zkl_reply *reply, int32_t children) {
    return reply->outcome == ZKL_OUTCOME_OK && reply->child_count == children &&
           reply->ephemeral_owner == 0 && reply->data_length == 0;
}

static bool is_unchanged(const zkl_reply *first, const zkl_reply *second) {
    return first->zxid == second->zxid && first->children_zxid == second->children_zxid &&
           first->version == second->version;
}

static bool is_idle_with(const zkl_survey *first, const zkl_survey *second, size_t place,
                         int32_t children) {
    const zkl_reply *one = &first->questions[place].reply;
    const zkl_reply *other = &second->questions[place].reply;
    return is_parent_of(one, children) && is_parent_of(other, children) && is_unchanged(one, other);
}

/* They are right behind it. */
static int32_t count_idle_stripes(const zkl_survey *first, const zkl_survey *second,
                                  size_t resource) {
    int32_t count = 0;
    for (size_t i = resource + 1; i < first->count && zkl_survey_is_stripe(first, i); i++) {
        count += is_idle_with(first, second, i, 0) ? 1 : 0;
    }
    return count;
}

/* A resource whose only children are stripes that are idle has none when these are removed. */
static bool is_idle(const zkl_survey *first, const zkl_survey *second, size_t place) {
    int32_t stripes =
        zkl_survey_is_stripe(first, place) ? 0 : count_idle_stripes(first, second, place);
    return is_idle_with(first, second, place, stripes);
}

/* Whoever has come meanwhile keeps his parent: the servers refuse to remove one that has
 * children. Somebody else may have removed it. */
static int take_answers(const zkl_question *removals, size_t count, size_t *removed) {
    int status = ZKL_OK;
    for (size_t i = 0; i < count; i++) {
        zkl_outcome outcome = removals[i].reply.outcome;
        bool gone =
            removals[i].answered && (outcome == ZKL_OUTCOME_OK ||
                                     (outcome == ZKL_OUTCOME_NO_NODE && removals[i].asked_again));
        *removed += gone ? 1 : 0;
        if (removals[i].answered && removals[i].reply.status == ZKL_NO_PERMISSION) {
            status = zkl_questions_status(&removals[i], 1);
        }
    }
    return status;
}

/* Either the stripes or the resources. */
static int remove_some(zkl_inquiry *inquiry, const zkl_survey *first, const zkl_survey *second,
                       bool stripes, size_t *removed) {
    size_t count = 0;
    zkl_question *removals = zkl_inquiry_questions(inquiry, first->count);
    if (removals == NULL) {
        return ZKL_NO_MEMORY;
    }
    for (size_t i = 0; i < first->count; i++) {
        if (zkl_survey_is_stripe(first, i) == stripes && is_idle(first, second, i)) {
            removals[count++] =
                zkl_question_make(inquiry, ZKL_OPERATION_DELETE, first->questions[i].path);
        }
    }
    int status = zkl_inquiry_ask(inquiry, removals, count);
    int refused = take_answers(removals, count, removed);
    return status != ZKL_OK ? status : refused;
}

/* The servers remove a resource only when its stripes have gone. */
static int remove_idle(zkl_inquiry *inquiry, int64_t idle_ms, size_t *removed) {
    zkl_survey first;
    zkl_survey second;
    ZKL_TRY(zkl_survey_take(&first, inquiry, ZKL_OPERATION_GET));
    ZKL_TRY(zkl_questions_status(first.questions, first.count));
    ZKL_TRY(idle_ms > 0 ? zkl_inquiry_pause(inquiry, idle_ms) : ZKL_OK);
    ZKL_TRY(zkl_survey_repeat(&second, inquiry, &first));
    ZKL_TRY(zkl_questions_status(second.questions, second.count));
    int of_stripes = remove_some(inquiry, &first, &second, true, removed);
    int of_resources = remove_some(inquiry, &first, &second, false, removed);
    return of_stripes != ZKL_OK ? of_stripes : of_resources;
}

int zkl_parents_remove_idle(zkl_client *client, int64_t idle_ms, int64_t timeout_ms,
                            size_t *removed) {
    ZKL_BEGIN_CALL;
    zkl_inquiry *inquiry = NULL;
    size_t count = 0;
    size_t *result = removed != NULL ? removed : &count;
    *result = 0;
    ZKL_TRY(zkl_inquiry_begin(client, timeout_ms, &inquiry));
    int status = zkl_validate_range("idle_ms", idle_ms, 0, timeout_ms - 1);
    if (status == ZKL_OK) {
        status = remove_idle(inquiry, idle_ms, result);
    }
    zkl_inquiry_end(inquiry);
    return status;
}
