#include "administration/survey.h"

#include <stdlib.h>
#include <string.h>

#include "recipe/node_name.h"

static int compare_paths(const void *one, const void *other) {
    return strcmp(((const zkl_question *)one)->path, ((const zkl_question *)other)->path);
}

static int allocate(zkl_survey *survey, size_t count) {
    survey->questions = calloc(count + 1, sizeof(*survey->questions));
    survey->count = survey->questions != NULL ? count : 0;
    return survey->questions != NULL ? ZKL_OK : ZKL_NO_MEMORY;
}

/* ---- Resources -------------------------------------------------------------------------- */

static int begin_lists(zkl_survey *survey, const char *root, zkl_children children) {
    if (allocate(survey, children.count) != ZKL_OK) {
        return ZKL_NO_MEMORY;
    }
    bool complete = true;
    for (size_t i = 0; i < children.count; i++) {
        zkl_question_begin(&survey->questions[i], ZKL_OPERATION_LIST_CHILDREN,
                           zkl_path_below(root, children.names[i]));
        complete = complete && survey->questions[i].path != NULL;
    }
    if (complete && children.count > 0) {
        qsort(survey->questions, survey->count, sizeof(*survey->questions), compare_paths);
    }
    return complete ? ZKL_OK : ZKL_NO_MEMORY;
}

static int list_resources(zkl_survey *survey, zkl_inquiry *inquiry) {
    zkl_question *root = calloc(1, sizeof(*root));
    if (root == NULL) {
        return ZKL_NO_MEMORY;
    }
    zkl_question_begin(root, ZKL_OPERATION_LIST_CHILDREN, strdup(inquiry->client->lock_root));
    int status = zkl_inquiry_ask(inquiry, root, 1);
    if (status == ZKL_OK) {
        status = zkl_question_status(root);
    }
    if (status == ZKL_OK) {
        status = begin_lists(survey, root->path, root->reply.children);
    }
    zkl_questions_free(root, 1);
    return status == ZKL_OK ? zkl_inquiry_ask(inquiry, survey->questions, survey->count) : status;
}

/* ---- Stripes ---------------------------------------------------------------------------- */

static size_t count_stripes(zkl_children children) {
    size_t count = 0;
    for (size_t i = 0; i < children.count; i++) {
        count += zkl_node_name_is_stripe(children.names[i]) ? 1 : 0;
    }
    return count;
}

/* False: out of memory. */
static bool begin_stripes(zkl_question *next, const zkl_question *resource,
                          zkl_operation_kind kind) {
    zkl_children children = resource->reply.children;
    zkl_question *first = next;
    bool complete = true;
    for (size_t i = 0; i < children.count; i++) {
        if (zkl_node_name_is_stripe(children.names[i])) {
            zkl_question_begin(next, kind, zkl_path_below(resource->path, children.names[i]));
            complete = complete && next->path != NULL;
            next++;
        }
    }
    if (complete && next > first) {
        qsort(first, (size_t)(next - first), sizeof(*first), compare_paths);
    }
    return complete;
}

/* Takes a resource over, with its answer if lists are what is asked for. */
static void take_over(zkl_question *question, zkl_question *listed, zkl_operation_kind kind) {
    if (kind == ZKL_OPERATION_LIST_CHILDREN) {
        *question = *listed;
        listed->held = NULL;
    } else {
        zkl_question_begin(question, kind, listed->path);
    }
    listed->path = NULL;
}

static int descend(zkl_survey *survey, zkl_survey *resources, zkl_operation_kind kind) {
    size_t count = resources->count;
    for (size_t i = 0; i < resources->count; i++) {
        count += count_stripes(resources->questions[i].reply.children);
    }
    if (allocate(survey, count) != ZKL_OK) {
        return ZKL_NO_MEMORY;
    }
    bool complete = true;
    zkl_question *next = survey->questions;
    for (size_t i = 0; i < resources->count; i++) {
        zkl_question *listed = &resources->questions[i];
        complete = begin_stripes(next + 1, listed, kind) && complete;
        size_t stripes = count_stripes(listed->reply.children);
        take_over(next, listed, kind);
        next += 1 + stripes;
    }
    return complete ? ZKL_OK : ZKL_NO_MEMORY;
}

/* ---- Taking and repeating --------------------------------------------------------------- */

static zkl_survey begin_survey(const zkl_inquiry *inquiry) {
    return (zkl_survey){ .root_length = strlen(inquiry->client->lock_root) };
}

int zkl_survey_take(zkl_survey *survey, zkl_inquiry *inquiry, zkl_operation_kind kind) {
    zkl_survey resources = begin_survey(inquiry);
    *survey = begin_survey(inquiry);
    int status = list_resources(&resources, inquiry);
    if (status == ZKL_OK) {
        status = descend(survey, &resources, kind);
    }
    zkl_survey_free(&resources);
    return status == ZKL_OK ? zkl_inquiry_ask(inquiry, survey->questions, survey->count) : status;
}

int zkl_survey_repeat(zkl_survey *survey, zkl_inquiry *inquiry, const zkl_survey *earlier) {
    *survey = begin_survey(inquiry);
    int status = allocate(survey, earlier->count);
    for (size_t i = 0; status == ZKL_OK && i < earlier->count; i++) {
        zkl_question_begin(&survey->questions[i], earlier->questions[i].kind,
                           strdup(earlier->questions[i].path));
    }
    return status == ZKL_OK ? zkl_inquiry_ask(inquiry, survey->questions, survey->count) : status;
}

void zkl_survey_free(zkl_survey *survey) {
    zkl_questions_free(survey->questions, survey->count);
}

const char *zkl_survey_name(const zkl_survey *survey, size_t place) {
    return survey->questions[place].path + survey->root_length + 1;
}

bool zkl_survey_is_stripe(const zkl_survey *survey, size_t place) {
    return strchr(zkl_survey_name(survey, place), '/') != NULL;
}
