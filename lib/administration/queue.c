#include "administration/line.h"
#include "administration/survey.h"
#include "base/error_message.h"
#include "base/pool.h"
#include "base/try.h"
#include "base/validation.h"

static int fill(zkl_queue *queue, zkl_inquiry *inquiry, const zkl_question *listed) {
    zkl_line line;
    ZKL_TRY(zkl_line_make(&line, queue, listed->path, listed->reply.children));
    ZKL_TRY(zkl_lines_read(&line, 1, queue, inquiry));
    const zkl_contender **contenders =
        zkl_pool_take(queue, (line.count + 1) * sizeof(zkl_contender *));
    if (contenders == NULL) {
        return ZKL_NO_MEMORY;
    }
    for (size_t i = 0; i < line.count; i++) {
        contenders[i] = &line.entries[i].contender;
    }
    queue->count = line.count;
    queue->contenders = contenders;
    return ZKL_OK;
}

static int describe(zkl_inquiry *inquiry, const char *resource, zkl_queue **result) {
    zkl_question *listed = NULL;
    ZKL_TRY(zkl_inquiry_ask_one(inquiry, ZKL_OPERATION_LIST_CHILDREN,
                                zkl_inquiry_path(inquiry, resource), NULL, &listed));
    zkl_queue *queue = zkl_pool_make(sizeof(*queue));
    int status = queue != NULL ? fill(queue, inquiry, listed) : ZKL_NO_MEMORY;
    if (status == ZKL_OK) {
        *result = queue;
    } else {
        zkl_pool_free(queue);
    }
    return status;
}

int zkl_queue_describe(zkl_client *client, const char *resource, int64_t timeout_ms,
                       zkl_queue **queue) {
    ZKL_BEGIN_CALL;
    zkl_inquiry *inquiry = NULL;
    ZKL_TRY(zkl_validate_pointer("queue", queue));
    *queue = NULL;
    ZKL_TRY(zkl_check_resource_or_stripe(resource));
    ZKL_TRY(zkl_inquiry_begin(client, timeout_ms, &inquiry));
    int status = describe(inquiry, resource, queue);
    zkl_inquiry_end(inquiry);
    return status;
}

void zkl_queue_free(zkl_queue *queue) {
    zkl_pool_free(queue);
}

const char *zkl_queue_kind_name(int kind) {
    return kind == ZKL_QUEUE_UNKNOWN ? "unknown" : zkl_lock_mode_name(kind);
}
