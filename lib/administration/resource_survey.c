#include "administration/resource_survey.h"

#include <stdlib.h>
#include <string.h>

#include "base/error_message.h"
#include "base/validation.h"
#include "recipe/node_name.h"

/* ---- Reports -------------------------------------------------------------------------------- */

int zkl_report_make(zkl_client *client, int64_t timeout_ms, const void *about,
                    zkl_report_fill *fill, void **result) {
    zkl_inquiry inquiry;
    *result = NULL;
    ZKL_TRY(zkl_inquiry_begin(&inquiry, client, timeout_ms));
    zkl_report *report = calloc(1, sizeof(*report));
    int status = report != NULL ? fill(report, &inquiry, about) : ZKL_NO_MEMORY;
    zkl_inquiry_end(&inquiry);
    if (status != ZKL_OK) {
        zkl_report_free(report);
        return status;
    }
    *result = report;
    return report->status;
}

void zkl_report_free(void *report) {
    zkl_report *self = report;
    if (self != NULL) {
        zkl_pool_free(&self->pool);
        free(self);
    }
}

/* ---- Names ---------------------------------------------------------------------------------- */

int zkl_check_resource_or_stripe(const char *resource) {
    ZKL_TRY(zkl_validate_pointer("resource", resource));
    char name[ZKL_RESOURCE_MAX + 1];
    size_t length = strcspn(resource, "/");
    bool is_stripe = length > 0 && resource[length] == '/';
    if (!is_stripe || strlen(resource) > ZKL_RESOURCE_MAX) {
        return zkl_validate_resource(resource);
    }
    if (!zkl_node_name_is_stripe(resource + length + 1)) {
        return zkl_refuse("resource", resource,
                          "behind the slash of a name must be a stripe with four digits, as "
                          "in stripe-0003 (an absolute path starts with a slash)");
    }
    memcpy(name, resource, length);
    name[length] = '\0';
    return zkl_validate_resource(name);
}

/* ---- Surveys -------------------------------------------------------------------------------- */

/* Ranks the slash first: stripes come before other names that begin with their resource's. */
static int rank(char byte) {
    return byte == '/' ? 1 : (unsigned char)byte;
}

static int compare_paths(const void *one, const void *other) {
    const char *first = ((const zkl_question *)one)->path;
    const char *second = ((const zkl_question *)other)->path;
    while (*first != '\0' && *first == *second) {
        first++;
        second++;
    }
    return rank(*first) - rank(*second);
}

static int survey_begin(zkl_survey *survey, zkl_inquiry *inquiry, size_t count) {
    *survey = (zkl_survey){ .questions = zkl_inquiry_questions(inquiry, count),
                            .root_length = strlen(zkl_inquiry_lock_root(inquiry)) };
    return survey->questions != NULL ? ZKL_OK : ZKL_NO_MEMORY;
}

static void survey_add(zkl_survey *survey, zkl_operation_kind kind, const char *path) {
    survey->questions[survey->count++] = (zkl_question){ .kind = kind, .path = path };
}

static int list_resources(zkl_survey *resources, zkl_inquiry *inquiry) {
    zkl_question *root = NULL;
    ZKL_TRY(zkl_inquiry_ask_one(inquiry, ZKL_OPERATION_LIST_CHILDREN,
                                zkl_inquiry_lock_root(inquiry), NULL, &root));
    zkl_children children = root->reply.children;
    ZKL_TRY(survey_begin(resources, inquiry, children.count));
    for (size_t i = 0; i < children.count; i++) {
        survey_add(resources, ZKL_OPERATION_LIST_CHILDREN,
                   zkl_inquiry_child_path(inquiry, root->path, children.names[i]));
    }
    return zkl_inquiry_try(inquiry, resources->questions, resources->count);
}

/* Adds a resource, and its stripes. If the survey asks for lists, the resource's need not be asked
 * for again. */
static void add_with_stripes(zkl_survey *survey, zkl_inquiry *inquiry, zkl_operation_kind kind,
                             const zkl_question *listed) {
    zkl_children children = listed->reply.children;
    survey->questions[survey->count++] =
        kind == listed->kind ? *listed : (zkl_question){ .kind = kind, .path = listed->path };
    for (size_t i = 0; i < children.count; i++) {
        if (zkl_node_name_is_stripe(children.names[i])) {
            survey_add(survey, kind,
                       zkl_inquiry_child_path(inquiry, listed->path, children.names[i]));
        }
    }
}

int zkl_survey_take(zkl_survey *survey, zkl_inquiry *inquiry, zkl_operation_kind kind) {
    zkl_survey resources;
    ZKL_TRY(list_resources(&resources, inquiry));
    size_t most = resources.count;
    for (size_t i = 0; i < resources.count; i++) {
        most += resources.questions[i].reply.children.count;
    }
    ZKL_TRY(survey_begin(survey, inquiry, most));
    for (size_t i = 0; i < resources.count; i++) {
        add_with_stripes(survey, inquiry, kind, &resources.questions[i]);
    }
    ZKL_TRY(zkl_inquiry_try(inquiry, survey->questions, survey->count));
    qsort(survey->questions, survey->count, sizeof(*survey->questions), compare_paths);
    return ZKL_OK;
}

int zkl_survey_repeat(zkl_survey *survey, zkl_inquiry *inquiry, const zkl_survey *earlier) {
    ZKL_TRY(survey_begin(survey, inquiry, earlier->count));
    for (size_t i = 0; i < earlier->count; i++) {
        survey_add(survey, earlier->questions[i].kind, earlier->questions[i].path);
    }
    return zkl_inquiry_try(inquiry, survey->questions, survey->count);
}

const char *zkl_survey_name(const zkl_survey *survey, size_t place) {
    return survey->questions[place].path + survey->root_length + 1;
}
