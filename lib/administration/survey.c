#include "administration/survey.h"

#include <stdlib.h>
#include <string.h>

static int compare_paths(const void *one, const void *other) {
    return strcmp(((const zkl_question *)one)->path, ((const zkl_question *)other)->path);
}

static int allocate(zkl_survey *survey, size_t count) {
    survey->questions = calloc(count + 1, sizeof(*survey->questions));
    survey->count = survey->questions != NULL ? count : 0;
    return survey->questions != NULL ? ZKL_OK : ZKL_NO_MEMORY;
}

static int begin_questions(zkl_survey *survey, const char *root, zkl_children children,
                           zkl_question_kind kind) {
    if (allocate(survey, children.count) != ZKL_OK) {
        return ZKL_NO_MEMORY;
    }
    bool complete = true;
    for (size_t i = 0; i < children.count; i++) {
        zkl_question_begin(&survey->questions[i], kind, zkl_path_below(root, children.names[i]));
        complete = complete && survey->questions[i].path != NULL;
    }
    if (complete && children.count > 0) {
        qsort(survey->questions, survey->count, sizeof(*survey->questions), compare_paths);
    }
    return complete ? ZKL_OK : ZKL_NO_MEMORY;
}

int zkl_survey_take(zkl_survey *survey, zkl_inquiry *inquiry, zkl_question_kind kind) {
    *survey = (zkl_survey){ .count = 0 };
    zkl_question *root = calloc(1, sizeof(*root));
    if (root == NULL) {
        return ZKL_NO_MEMORY;
    }
    zkl_question_begin(root, ZKL_QUESTION_LIST, strdup(inquiry->client->lock_root));
    int status = zkl_inquiry_ask(inquiry, root, 1);
    if (status == ZKL_OK) {
        status = zkl_question_status(root);
    }
    if (status == ZKL_OK) {
        status = begin_questions(survey, root->path, root->reply.children, kind);
    }
    zkl_questions_free(root, 1);
    return status == ZKL_OK ? zkl_inquiry_ask(inquiry, survey->questions, survey->count) : status;
}

int zkl_survey_repeat(zkl_survey *survey, zkl_inquiry *inquiry, const zkl_survey *earlier) {
    *survey = (zkl_survey){ .count = 0 };
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
    return strrchr(survey->questions[place].path, '/') + 1;
}
