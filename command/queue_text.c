#include "queue_text.h"

#include <stdio.h>
#include <string.h>

#include "printable.h"

void queue_text_who(char text[QUEUE_TEXT_SIZE], const zkl_contender *one) {
    const zkl_identity *who = &one->identity;
    char raw[QUEUE_TEXT_SIZE];
    if (one->status != ZKL_OK) {
        snprintf(text, QUEUE_TEXT_SIZE, "somebody whose node may not be read");
        return;
    }
    if (who->host[0] == '\0') { /* it is another library's */
        snprintf(raw, sizeof(raw), "%.256s", who->data[0] != '\0' ? who->data : one->node);
        printable_copy(text, QUEUE_TEXT_SIZE, raw);
        return;
    }
    snprintf(raw, sizeof(raw), "%s%s%s%s%s%s", who->host, who->process_id[0] != '\0' ? " pid " : "",
             who->process_id, who->label[0] != '\0' ? " (" : "", who->label,
             who->label[0] != '\0' ? ")" : "");
    printable_copy(text, QUEUE_TEXT_SIZE, raw);
}

void queue_text_age(char text[DURATION_TEXT_SIZE], const zkl_contender *one) {
    if (one->status == ZKL_OK) {
        duration_write(text, one->age_ms);
    } else {
        snprintf(text, DURATION_TEXT_SIZE, "?");
    }
}

/* Counts what is before the contender of our session. A contender without a session (0) is never
 * ours, even while we have no session either. */
static size_t position_of(const zkl_queue *queue, int64_t session_id) {
    size_t at = 0;
    while (at < queue->count &&
           (session_id == 0 || queue->contenders[at]->session_id != session_id)) {
        at++;
    }
    return at;
}

void queue_text_position(char text[QUEUE_TEXT_SIZE], const zkl_queue *queue, int64_t session_id) {
    size_t at = position_of(queue, session_id);
    text[0] = '\0';
    if (at == 0 || (at < queue->count && queue->contenders[at]->holds)) {
        return;
    }
    const zkl_contender *first = queue->contenders[0];
    char who[QUEUE_TEXT_SIZE];
    char age[DURATION_TEXT_SIZE];
    queue_text_who(who, first);
    queue_text_age(age, first);
    snprintf(text, QUEUE_TEXT_SIZE, "behind %zu, held by %.900s for %s", at, who, age);
}
