#include "administration/line.h"
#include "administration/survey.h"
#include "base/error_message.h"
#include "base/pool.h"
#include "base/validation.h"

static int fill(void *report, zkl_inquiry *inquiry, const char *resource) {
    zkl_queue *queue = report;
    zkl_question *listed = NULL;
    zkl_line line;
    ZKL_TRY(zkl_inquiry_ask_one(inquiry, ZKL_OPERATION_LIST_CHILDREN,
                                zkl_inquiry_path(inquiry, resource), NULL, &listed));
    ZKL_TRY(zkl_line_read(&line, queue, inquiry, listed, 1, 0));
    const zkl_contender **contenders =
        zkl_pool_take(queue, (line.count + 1) * sizeof(zkl_contender *));
    ZKL_TRY(zkl_made(contenders));
    for (size_t i = 0; i < line.count; i++) {
        contenders[i] = &line.entries[i].contender;
    }
    *queue = (zkl_queue){ line.count, contenders };
    return ZKL_OK;
}

int zkl_queue_describe(zkl_client *client, const char *resource, int64_t timeout_ms,
                       zkl_queue **queue) {
    ZKL_BEGIN_CALL;
    ZKL_TRY(zkl_validate_pointer("queue", queue));
    *queue = NULL;
    ZKL_TRY(zkl_check_resource_or_stripe(resource));
    void *made = NULL;
    int status = zkl_report_make(client, timeout_ms, resource, sizeof(**queue), fill, &made);
    *queue = made;
    return status;
}

void zkl_queue_free(zkl_queue *queue) {
    zkl_pool_free(queue);
}

const char *zkl_queue_kind_name(int kind) {
    return kind == ZKL_QUEUE_UNKNOWN ? "unknown" : zkl_lock_mode_name(kind);
}
