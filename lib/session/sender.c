#include "session/sender.h"

#include <stdlib.h>

#include "base/threads.h"

struct zkl_sent {
    zkl_sender *sender;
    zkl_sent **kept_at;       /* where the asker keeps it; NULL: nowhere */
    zkl_reply_callback *done; /* NULL: forgotten */
    void *arg;
    int64_t at_ms;
    uint64_t session_number;
    bool was_write;
    bool lasts;
    int tag;
};

int64_t zkl_sender_now_ms(const zkl_sender *sender) {
    return sender->operations->table->now_ms(sender->operations);
}

/* The clocks are read one after the other, and are rounded. */
enum { READ_WITHIN_MS = 3, READS_MAX = 3 };

/* Returns how far the wall clock is ahead. Reads once more where the thread was stopped between the
 * two reads, which would look like a jump. */
static int64_t wall_lead_ms(void) {
    int64_t before_ms = 0;
    int64_t lead_ms = 0;
    int reads = 0;
    do {
        before_ms = zkl_clock_ms();
        lead_ms = zkl_wall_clock_ms() - before_ms;
    } while (zkl_clock_ms() - before_ms > READ_WITHIN_MS && ++reads < READS_MAX);
    return lead_ms;
}

int64_t zkl_sender_passed_ms(zkl_sender *sender) {
    int64_t lead_ms = wall_lead_ms();
    if (lead_ms > sender->wall_lead_ms + READ_WITHIN_MS) {
        sender->ahead_ms += lead_ms - sender->wall_lead_ms;
        sender->wall_lead_ms = lead_ms;
    } else if (lead_ms < sender->wall_lead_ms) {
        sender->wall_lead_ms = lead_ms;
    }
    return zkl_sender_now_ms(sender) + sender->ahead_ms;
}

static bool is_write(zkl_operation_kind kind) {
    return kind == ZKL_OPERATION_CREATE || kind == ZKL_OPERATION_CREATE_PARENT ||
           kind == ZKL_OPERATION_DELETE || kind == ZKL_OPERATION_TRANSACTION ||
           kind == ZKL_OPERATION_SET || kind == ZKL_OPERATION_SET_ACL;
}

/* Passes the reply on. The asker may forget the operation while the session looks at the reply. */
static void on_sent_reply(void *arg, const zkl_reply *reply) {
    zkl_sent *sent = arg;
    const zkl_sender *sender = sent->sender;
    if (sent->session_number == sender->session_number) {
        sender->answered(sender->arg, reply, sent->at_ms, sent->was_write);
    }
    const zkl_sent operation = *sent;
    if (operation.kept_at != NULL) {
        *operation.kept_at = NULL;
    }
    free(sent);
    if (operation.done == NULL) {
        return;
    }
    bool counts = operation.lasts || operation.session_number == sender->session_number;
    zkl_reply answer = counts ? *reply : (zkl_reply){ .outcome = ZKL_OUTCOME_SESSION_OVER };
    answer.tag = operation.tag;
    operation.done(operation.arg, &answer);
}

/* Sends and then counts: what could not be sent does not count. */
zkl_outcome zkl_send(zkl_sender *sender, const zkl_operation *operation, zkl_reply_callback *done,
                     void *arg, zkl_sent **under_way) {
    zkl_sent *made = malloc(sizeof(*made));
    if (made == NULL) {
        return ZKL_OUTCOME_NOT_NOW;
    }
    char acl[ZKL_ACL_WRITTEN_SIZE];
    zkl_operation sent = *operation;
    sent.acl = zkl_protection_acl(&sender->protection, operation, acl);
    *made = (zkl_sent){
        .sender = sender,
        .kept_at = under_way,
        .done = done,
        .arg = arg,
        .at_ms = zkl_sender_passed_ms(sender),
        .session_number = sender->session_number,
        .was_write = is_write(operation->kind),
        .lasts = operation->lasts,
        .tag = operation->tag,
    };
    zkl_outcome outcome =
        sender->operations->table->send(sender->operations, &sent, on_sent_reply, made);
    if (outcome != ZKL_OUTCOME_OK) {
        free(made);
        return outcome;
    }
    ZKL_COUNT(sender->metrics, sent[operation->kind]);
    if (under_way != NULL) {
        *under_way = made;
    }
    return ZKL_OUTCOME_OK;
}

void zkl_sent_forget(zkl_sent **under_way) {
    if (*under_way != NULL) {
        (*under_way)->done = NULL;
        (*under_way)->kept_at = NULL;
        *under_way = NULL;
    }
}
