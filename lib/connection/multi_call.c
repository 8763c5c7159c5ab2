#include "connection/multi_call.h"

#include <stdlib.h>
#include <string.h>

#include "connection/broken_replies.h"
#include "connection/return_codes.h"

/* A create makes its path, or that and ten or eleven characters of a number; others need none. */
static size_t room_for_made(const zkl_multi_operation *operation) {
    enum { NUMBER_SIZE = 12 };
    return strlen(operation->path) + NUMBER_SIZE;
}

/* The paths made come last. */
static zkl_multi_call *allocate(const zkl_multi_operation *operations, size_t count) {
    size_t size = sizeof(zkl_multi_call) +
                  count * (sizeof(zoo_op_result_t) + sizeof(zoo_op_t) + sizeof(zkl_multi_result));
    for (size_t i = 0; i < count; i++) {
        size += room_for_made(&operations[i]);
    }
    zkl_multi_call *self = calloc(1, size);
    if (self != NULL) {
        self->count = count;
        self->results = (zoo_op_result_t *)(self + 1);
        self->prepared = (zoo_op_t *)(self->results + count);
        self->told = (zkl_multi_result *)(self->prepared + count);
    }
    return self;
}

static void prepare(zoo_op_t *prepared, const zkl_multi_operation *operation,
                    const struct ACL_vector *acl, char *room) {
    const char *data = operation->size > 0 ? operation->data : "";
    switch (operation->kind) {
    case ZKL_MULTI_CHECK:
        zoo_check_op_init(prepared, operation->path, operation->version);
        break;
    case ZKL_MULTI_SET:
        zoo_set_op_init(prepared, operation->path, data, (int)operation->size, operation->version,
                        NULL);
        break;
    case ZKL_MULTI_REMOVE:
        zoo_delete_op_init(prepared, operation->path, operation->version);
        break;
    default:
        zoo_create_op_init(prepared, operation->path, data, (int)operation->size, acl,
                           (int)operation->kind, room, (int)room_for_made(operation));
        break;
    }
}

zkl_multi_call *zkl_multi_call_make(const zkl_operation *operation, const struct ACL_vector *acl) {
    zkl_multi_call *self = allocate(operation->all, operation->count);
    if (self == NULL) {
        return NULL;
    }
    char *room = (char *)(self->told + self->count);
    for (size_t i = 0; i < self->count; i++) {
        prepare(&self->prepared[i], &operation->all[i], acl, room);
        room += room_for_made(&operation->all[i]);
    }
    return self;
}

static bool is_create(const zoo_op_t *operation) {
    return operation->type != ZOO_CHECK_OP && operation->type != ZOO_SETDATA_OP &&
           operation->type != ZOO_DELETE_OP;
}

static bool is_whole(const zkl_multi_call *self) {
    for (size_t i = 0; i < self->count; i++) {
        if (is_create(&self->prepared[i]) && !zkl_path_is_whole(self->results[i].value)) {
            return false;
        }
    }
    return true;
}

zkl_reply zkl_multi_call_reply(const zkl_multi_call *self, int rc) {
    if (rc == ZOK && !is_whole(self)) {
        return (zkl_reply){ .outcome = ZKL_OUTCOME_UNKNOWN };
    }
    for (size_t i = 0; i < self->count; i++) {
        self->told[i] =
            (zkl_multi_result){ .status = self->results[i].err, .path = self->results[i].value };
    }
    return zkl_reply_of_results(rc, self->told, self->count);
}
