#include "administration/survey.h"

#include <stdlib.h>
#include <string.h>

#include "base/error_message.h"
#include "base/pool.h"
#include "base/try.h"
#include "base/validation.h"
#include "recipe/node_name.h"

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

/* Stripes come before other names that begin with their resource's. */
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

static bool is_any(const char *name) {
    return name != NULL;
}

/* Questions about those children that are wanted. NULL: they are counted only. */
static size_t add_below(zkl_question *next, const zkl_question *parent, zkl_operation_kind kind,
                        bool (*wanted)(const char *name)) {
    zkl_children children = parent->reply.children;
    size_t count = 0;
    for (size_t i = 0; i < children.count; i++) {
        if (wanted(children.names[i])) {
            if (next != NULL) {
                char *path = zkl_pool_path(parent->inquiry, parent->path, children.names[i]);
                next[count] = zkl_question_make(parent->inquiry, kind, path);
            }
            count++;
        }
    }
    return count;
}

static int list_resources(zkl_survey *resources, zkl_inquiry *inquiry) {
    zkl_question *root = NULL;
    ZKL_TRY(zkl_inquiry_ask_one(inquiry, ZKL_OPERATION_LIST_CHILDREN,
                                zkl_inquiry_lock_root(inquiry), NULL, &root));
    resources->questions = zkl_inquiry_questions(inquiry, root->reply.children.count);
    if (resources->questions == NULL) {
        return ZKL_NO_MEMORY;
    }
    resources->count = add_below(resources->questions, root, ZKL_OPERATION_LIST_CHILDREN, is_any);
    return zkl_inquiry_ask(inquiry, resources->questions, resources->count);
}

static int allocate(zkl_survey *survey, zkl_inquiry *inquiry, size_t count) {
    *survey = (zkl_survey){ .questions = zkl_inquiry_questions(inquiry, count),
                            .root_length = strlen(zkl_inquiry_lock_root(inquiry)) };
    return survey->questions != NULL ? ZKL_OK : ZKL_NO_MEMORY;
}

/* What the lists of the resources have answered need not be asked again. */
int zkl_survey_take(zkl_survey *survey, zkl_inquiry *inquiry, zkl_operation_kind kind) {
    zkl_survey resources;
    ZKL_TRY(list_resources(&resources, inquiry));
    size_t count = resources.count;
    for (size_t i = 0; i < resources.count; i++) {
        count += add_below(NULL, &resources.questions[i], kind, zkl_node_name_is_stripe);
    }
    ZKL_TRY(allocate(survey, inquiry, count));
    for (size_t i = 0; i < resources.count; i++) {
        const zkl_question *listed = &resources.questions[i];
        zkl_question *next = &survey->questions[survey->count];
        *next = kind == ZKL_OPERATION_LIST_CHILDREN
                    ? *listed
                    : zkl_question_make(inquiry, kind, listed->path);
        survey->count += 1 + add_below(next + 1, listed, kind, zkl_node_name_is_stripe);
    }
    ZKL_TRY(zkl_inquiry_ask(inquiry, survey->questions, survey->count));
    qsort(survey->questions, survey->count, sizeof(*survey->questions), compare_paths);
    return ZKL_OK;
}

int zkl_survey_repeat(zkl_survey *survey, zkl_inquiry *inquiry, const zkl_survey *earlier) {
    ZKL_TRY(allocate(survey, inquiry, earlier->count));
    survey->count = earlier->count;
    for (size_t i = 0; i < earlier->count; i++) {
        const zkl_question *first = &earlier->questions[i];
        survey->questions[i] = zkl_question_make(inquiry, first->kind, first->path);
    }
    return zkl_inquiry_ask(inquiry, survey->questions, survey->count);
}

const char *zkl_survey_name(const zkl_survey *survey, size_t place) {
    return survey->questions[place].path + survey->root_length + 1;
}

bool zkl_survey_is_stripe(const zkl_survey *survey, size_t place) {
    return strchr(zkl_survey_name(survey, place), '/') != NULL;
}
