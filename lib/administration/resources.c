#include <stdlib.h>
#include <string.h>

#include "administration/survey.h"
#include "input.h"
#include "threads.h"
#include "zklock/administration.h"

struct zkl_resource_list {
    zkl_survey survey; /* whose names these are */
    size_t count;
    zkl_resource *resources;
};

static size_t count_contenders(zkl_children children) {
    size_t count = 0;
    for (size_t i = 0; i < children.count; i++) {
        count += zkl_node_name_parse(children.names[i]).kind != ZKL_NODE_FOREIGN ? 1 : 0;
    }
    return count;
}

/* One that has gone since the root was listed is left out. */
static int take_answers(zkl_resource_list *list) {
    int status = ZKL_OK;
    for (size_t i = 0; i < list->survey.count && status == ZKL_OK; i++) {
        const zkl_question *question = &list->survey.questions[i];
        status = zkl_question_status(question);
        if (question->reply.outcome == ZKL_OUTCOME_OK) {
            list->resources[list->count++] = (zkl_resource){
                .struct_size = sizeof(zkl_resource),
                .name = zkl_survey_name(&list->survey, i),
                .contenders = count_contenders(question->reply.children),
            };
        }
    }
    return status;
}

static int fill(zkl_resource_list *list, zkl_inquiry *inquiry) {
    int status = zkl_survey_take(&list->survey, inquiry, ZKL_OPERATION_LIST_CHILDREN);
    if (status != ZKL_OK) {
        return status;
    }
    list->resources = calloc(list->survey.count + 1, sizeof(*list->resources));
    return list->resources != NULL ? take_answers(list) : ZKL_NO_MEMORY;
}

int zkl_resources_list(zkl_client *client, int64_t timeout_ms, zkl_resource_list **list) {
    ZKL_NOT_CANCELLED;
    zkl_input_clear();
    zkl_inquiry inquiry;
    int status = zkl_input_check_pointer("list", list);
    if (status != ZKL_OK) {
        return status;
    }
    *list = NULL;
    status = zkl_inquiry_begin(&inquiry, client, timeout_ms);
    if (status != ZKL_OK) {
        return status;
    }
    zkl_resource_list *made = calloc(1, sizeof(*made));
    status = made != NULL ? fill(made, &inquiry) : ZKL_NO_MEMORY;
    zkl_inquiry_end(&inquiry);
    if (status == ZKL_OK) {
        *list = made;
    } else {
        zkl_resources_free(made);
    }
    return status;
}

size_t zkl_resources_count(const zkl_resource_list *list) {
    return list != NULL ? list->count : 0;
}

const zkl_resource *zkl_resources_get(const zkl_resource_list *list, size_t place) {
    return place < zkl_resources_count(list) ? &list->resources[place] : NULL;
}

void zkl_resources_free(zkl_resource_list *list) {
    if (list != NULL) {
        zkl_survey_free(&list->survey);
        free(list->resources);
        free(list);
    }
}
