#include "testing/messages.h"

#include <string.h>

#include "testing/memory.h"

zkl_call *zkl_call_make(zkl_call_kind kind, size_t extra) {
    zkl_call *call = zkl_testing_allocate(sizeof(*call) + extra);
    call->references = 1;
    call->kind = kind;
    return call;
}

/* Copies a text to where there is room, and moves on behind it. */
static const char *put_text(char **room, const char *text) {
    if (text == NULL) {
        return NULL;
    }
    size_t size = strlen(text) + 1;
    char *copy = *room;
    memcpy(copy, text, size);
    *room += size;
    return copy;
}

static const void *put_bytes(char **room, const void *bytes, size_t size) {
    if (size == 0) {
        return NULL;
    }
    void *copy = memcpy(*room, bytes, size);
    *room += size;
    return copy;
}

static size_t text_size(const char *text) {
    return text != NULL ? strlen(text) + 1 : 0;
}

zkl_call *zkl_call_make_operations(zkl_call_kind kind, zkl_write_kind write,
                                   const zkl_write *operations, size_t count) {
    size_t size = count * sizeof(*operations);
    for (size_t i = 0; i < count; i++) {
        size +=
            text_size(operations[i].path) + text_size(operations[i].acl) + operations[i].data_size;
    }
    zkl_call *call = zkl_call_make(kind, size);
    call->write = write;
    call->operations = (zkl_write *)(call + 1);
    call->operation_count = count;
    char *room = (char *)(call->operations + count);
    for (size_t i = 0; i < count; i++) {
        call->operations[i] = operations[i];
        call->operations[i].path = put_text(&room, operations[i].path);
        call->operations[i].acl = put_text(&room, operations[i].acl);
        call->operations[i].data = put_bytes(&room, operations[i].data, operations[i].data_size);
    }
    call->path = count > 0 ? call->operations[0].path : NULL;
    return call;
}

zkl_call *zkl_call_make_path(zkl_call_kind kind, const char *path) {
    zkl_call *call = zkl_call_make(kind, text_size(path));
    char *room = (char *)(call + 1);
    call->path = put_text(&room, path);
    return call;
}

zkl_call *zkl_call_make_auth(const char *scheme, const void *secret, size_t size) {
    zkl_call *call = zkl_call_make(ZKL_CALL_AUTH, text_size(scheme) + size);
    char *room = (char *)(call + 1);
    call->path = put_text(&room, scheme);
    call->secret = put_bytes(&room, secret, size);
    call->secret_size = size;
    return call;
}

zkl_call *zkl_call_make_watches(const zkl_watched *watched, size_t count) {
    size_t size = count * sizeof(*watched);
    for (size_t i = 0; i < count; i++) {
        size += text_size(watched[i].path);
    }
    zkl_call *call = zkl_call_make(ZKL_CALL_SET_WATCHES, size);
    call->watched = (zkl_watched *)(call + 1);
    call->watched_count = count;
    char *room = (char *)(call->watched + count);
    for (size_t i = 0; i < count; i++) {
        call->watched[i] =
            (zkl_watched){ put_text(&room, watched[i].path), watched[i].kind, watched[i].existed };
    }
    return call;
}

zkl_answer *zkl_answer_make(zkl_answer_kind kind, const char *path) {
    zkl_answer *answer = zkl_testing_allocate(sizeof(*answer) + text_size(path));
    answer->kind = kind;
    char *room = (char *)(answer + 1);
    answer->path = put_text(&room, path);
    return answer;
}

zkl_answer *zkl_answer_make_view(const char *path, const zkl_node_view *view) {
    zkl_answer *answer = zkl_testing_allocate(sizeof(*answer) + text_size(path) + view->data_size);
    answer->kind = ZKL_ANSWER_REPLY;
    char *room = (char *)(answer + 1);
    answer->path = put_text(&room, path);
    answer->view = *view;
    answer->view.data = put_bytes(&room, view->data, view->data_size);
    return answer;
}

zkl_answer *zkl_answer_make_results(const char *path, const zkl_operation_result *results,
                                    size_t count) {
    size_t size = count * sizeof(*results) + text_size(path);
    for (size_t i = 0; i < count; i++) {
        size += text_size(results[i].path);
    }
    zkl_answer *answer = zkl_testing_allocate(sizeof(*answer) + size);
    answer->kind = ZKL_ANSWER_REPLY;
    answer->results = (zkl_operation_result *)(answer + 1);
    answer->result_count = count;
    char *room = (char *)(answer->results + count);
    answer->path = put_text(&room, path);
    for (size_t i = 0; i < count; i++) {
        answer->results[i] =
            (zkl_operation_result){ results[i].error, put_text(&room, results[i].path) };
    }
    return answer;
}
