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
static int remove_all(zkl_inquiry *inquiry, const zkl_survey *removals) {
    int status = zkl_inquiry_try(inquiry, removals->questions, removals->count);
    for (size_t i = 0; i < removals->count && status == ZKL_OK; i++) {
        const zkl_question *one = &removals->questions[i];
        if (one->answered && one->reply.status == ZKL_NO_PERMISSION) {
            status = zkl_questions_status(one, 1);
        }
    }
    return status;
}

/* Tells whether a chosen node was removed by us. */
static bool is_removed(const zkl_question *one) {
    zkl_outcome outcome = one->reply.outcome;
    bool by_us = outcome == ZKL_OUTCOME_NO_NODE && one->asked_again;
    return one->answered && (outcome == ZKL_OUTCOME_OK || by_us);
}

/* Adds to the report those chosen nodes that were removed, or all, in the order of their names. */
static int report_chosen(zkl_report *report, const zkl_survey *chosen, bool are_all) {
    zkl_resource_list *list = &report->resources;
    const zkl_resource **pointers = (const zkl_resource **)list->resources;
    for (size_t i = chosen->count; i-- > 0;) {
        if (are_all || is_removed(&chosen->questions[i])) {
            const char *name = zkl_pool_copy_text(&report->pool, zkl_survey_name(chosen, i));
            zkl_resource *one = zkl_pool_take(&report->pool, sizeof(*one));
            ZKL_TRY(zkl_made(one));
            *one = (zkl_resource){ sizeof(*one), name, 0, ZKL_OK };
            pointers[list->count++] = one;
        }
    }
    return zkl_pool_status(&report->pool);
}

/* Removes what was chosen, stripes first: the servers remove a resource only when its stripes are
 * gone. What is removed is reported, whatever becomes of the rest. */
static int remove_chosen(zkl_report *report, zkl_inquiry *inquiry, const zkl_survey *stripes,
                         const zkl_survey *resources, bool only_look) {
    report->status = ZKL_OK;
    if (!only_look) {
        report->status = remove_all(inquiry, stripes);
        int status = remove_all(inquiry, resources);
        report->status = report->status != ZKL_OK ? report->status : status;
    }
    ZKL_TRY(report_chosen(report, stripes, only_look));
    return report_chosen(report, resources, only_look);
}

typedef struct idle_search {
    int64_t idle_ms;
    int64_t timeout_ms;
    bool only_look;
} idle_search;

/* Looks twice, and removes what was idle in between. A node that we may not read is not idle. */
static int find_idle(zkl_report *report, zkl_inquiry *inquiry, const void *about) {
    const idle_search *search = about;
    zkl_survey first;
    zkl_survey second;
    ZKL_TRY(zkl_validate_range("idle_ms", search->idle_ms, 0, search->timeout_ms - 1));
    ZKL_TRY(zkl_survey_take(&first, inquiry, ZKL_OPERATION_GET));
    ZKL_TRY(search->idle_ms > 0 ? zkl_inquiry_pause(inquiry, search->idle_ms) : ZKL_OK);
    ZKL_TRY(zkl_survey_repeat(&second, inquiry, &first));
    zkl_survey stripes = { .questions = zkl_inquiry_questions(inquiry, first.count),
                           .root_length = first.root_length };
    zkl_survey resources = { .questions = zkl_inquiry_questions(inquiry, first.count),
                             .root_length = first.root_length };
    report->resources.resources =
        zkl_pool_take(&report->pool, (first.count + 1) * sizeof(zkl_resource *));
    ZKL_TRY(zkl_made(stripes.questions));
    ZKL_TRY(zkl_made(resources.questions));
    ZKL_TRY(zkl_made(report->resources.resources));
    choose(&first, &second, &stripes, &resources);
    ZKL_TRY(remove_chosen(report, inquiry, &stripes, &resources, search->only_look));
    const zkl_survey *looks[] = { &first, &second };
    for (size_t i = 0; i < 2 && report->status == ZKL_OK; i++) {
        report->status = zkl_questions_status(looks[i]->questions, looks[i]->count);
    }
    return ZKL_OK;
}

int zkl_parents_remove_idle(zkl_client *client, int64_t idle_ms, int64_t timeout_ms, int only_look,
                            zkl_resource_list **removed) {
    ZKL_BEGIN_CALL;
    ZKL_TRY(zkl_validate_pointer("removed", removed));
    const idle_search search = { idle_ms, timeout_ms, only_look != 0 };
    void *made = NULL;
    int status = zkl_report_make(client, timeout_ms, &search, find_idle, &made);
    *removed = made;
    return status;
}
