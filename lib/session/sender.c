#include "session/sender.h"

#include <stdlib.h>

/* An operation under way. */
typedef struct sent {
    zkl_sender *sender;
    zkl_reply_callback *done;
    void *arg;
    int64_t at_ms;
    uint64_t session_number;
    bool was_write;
    bool lasts;
    int tag;
} sent;

int64_t zkl_sender_now_ms(const zkl_sender *sender) {
    return sender->operations->table->now_ms(sender->operations);
}

static bool is_write(zkl_operation_kind kind) {
    return kind == ZKL_OPERATION_CREATE || kind == ZKL_OPERATION_CREATE_PARENT ||
           kind == ZKL_OPERATION_DELETE || kind == ZKL_OPERATION_TRANSACTION ||
           kind == ZKL_OPERATION_SET;
}

static void on_reply(void *arg, const zkl_reply *reply) {
    const sent operation = *(const sent *)arg;
    const zkl_sender *sender = operation.sender;
    free(arg);
    if (operation.session_number == sender->session_number) {
        sender->answered(sender->arg, reply, operation.at_ms, operation.was_write);
    }
    bool counts = operation.lasts || operation.session_number == sender->session_number;
    zkl_reply told = counts ? *reply : (zkl_reply){ .outcome = ZKL_OUTCOME_SESSION_OVER };
    told.tag = operation.tag;
    operation.done(operation.arg, &told);
}

/* What could not be sent does not count. */
zkl_outcome zkl_send(zkl_sender *sender, const zkl_operation *operation, zkl_reply_callback *done,
                     void *arg) {
    sent *made = malloc(sizeof(*made));
    if (made == NULL) {
        return ZKL_OUTCOME_NOT_NOW;
    }
    *made = (sent){
        .sender = sender,
        .done = done,
        .arg = arg,
        .at_ms = zkl_sender_now_ms(sender),
        .session_number = sender->session_number,
        .was_write = is_write(operation->kind),
        .lasts = operation->lasts,
        .tag = operation->tag,
    };
    zkl_outcome outcome =
        sender->operations->table->send(sender->operations, operation, on_reply, made);
    if (outcome != ZKL_OUTCOME_OK) {
        free(made);
    } else if (sender->metrics != NULL) {
        sender->metrics->sent[operation->kind]++;
    }
    return outcome;
}
