#include "administration/queue_description.h"

#include <stdlib.h>
#include <string.h>

#include "input.h"
#include "threads.h"

/* ---- The order ------------------------------------------------------------------------- */

static size_t count_requests(zkl_children children, size_t *bytes) {
    size_t count = 0;
    for (size_t i = 0; i < children.count; i++) {
        if (zkl_node_name_parse(children.names[i]).kind != ZKL_NODE_FOREIGN) {
            count++;
            *bytes += strlen(children.names[i]) + 1;
        }
    }
    return count;
}

static void take_names(zkl_queue *queue, zkl_children children) {
    char *room = queue->names;
    for (size_t i = 0; i < children.count; i++) {
        zkl_node_name name = zkl_node_name_parse(children.names[i]);
        if (name.kind != ZKL_NODE_FOREIGN) {
            size_t size = strlen(children.names[i]) + 1;
            memcpy(room, children.names[i], size);
            queue->entries[queue->count++].member = (zkl_queue_neighbour){ name, room };
            room += size;
        }
    }
}

static int compare(const void *one, const void *other) {
    const zkl_queue_neighbour *first = &((const zkl_queue_entry *)one)->member;
    const zkl_queue_neighbour *second = &((const zkl_queue_entry *)other)->member;
    if (zkl_queue_is_before(*first, *second)) {
        return -1;
    }
    return zkl_queue_is_before(*second, *first) ? 1 : 0;
}

zkl_queue *zkl_queue_make(char *path, zkl_children children) {
    size_t bytes = 1;
    size_t count = count_requests(children, &bytes);
    zkl_queue *queue = path != NULL ? calloc(1, sizeof(*queue)) : NULL;
    if (queue == NULL) {
        free(path);
        return NULL;
    }
    queue->path = path;
    queue->names = malloc(bytes);
    queue->entries = calloc(count + 1, sizeof(*queue->entries));
    if (queue->names == NULL || queue->entries == NULL) {
        zkl_queue_free(queue);
        return NULL;
    }
    take_names(queue, children);
    qsort(queue->entries, queue->count, sizeof(*queue->entries), compare);
    return queue;
}

/* ---- Who waits for whom ------------------------------------------------------------------ */

static const zkl_queue_entry *find_nearest(const zkl_queue *queue, size_t own, size_t before) {
    for (size_t i = before; i > 0; i--) {
        if (zkl_queue_blocks(queue->entries[i - 1].member, queue->entries[own].member)) {
            return &queue->entries[i - 1];
        }
    }
    return NULL;
}

/* The nearest that it waits for; NULL: it waits for nobody. */
static const zkl_queue_entry *find_blocker(const zkl_queue *queue, size_t own) {
    const zkl_queue_entry *earlier = find_nearest(queue, own, own);
    const zkl_queue_entry *nearest = earlier;
    for (size_t room = zkl_queue_room(queue->entries[own].member.name); room > 1 && earlier != NULL;
         room--) {
        earlier = find_nearest(queue, own, (size_t)(earlier - queue->entries));
    }
    return earlier != NULL ? nearest : NULL;
}

static bool is_reader(const zkl_queue_entry *entry) {
    return entry->member.name.kind == ZKL_NODE_READ;
}

/* Whether it need not wait for all that is before it. */
static bool is_shared(const zkl_queue_entry *entry) {
    return is_reader(entry) || entry->member.name.kind == ZKL_NODE_PERMIT;
}

/* Whoever waits for one of several permits goes on as soon as any of their holders has gone: it
 * waits for none of them. */
static bool waits_for_each(const zkl_queue *queue, size_t own) {
    return zkl_queue_room(queue->entries[own].member.name) == 1;
}

/* The nearest request in the way waits itself for all that is before it, unless it is a reader or
 * a permit: then those next to it are in the way as well, and what they wait for. What all of
 * these wait for need not be told; what one of them does not wait for (as a writer that has been
 * downgraded to that reader) must be. */
static void visit_waits_of(const zkl_queue *queue, size_t own, zkl_queue_wait_callback *visit,
                           void *arg) {
    const zkl_queue_entry *waiter = &queue->entries[own];
    const zkl_queue_entry *shared = NULL;
    const zkl_queue_entry *earlier = find_nearest(queue, own, own);
    while (earlier != NULL && is_shared(earlier)) {
        visit(arg, waiter, earlier);
        shared = earlier;
        earlier = find_nearest(queue, own, (size_t)(earlier - queue->entries));
    }
    bool follows = earlier != NULL && shared != NULL && is_reader(shared) &&
                   zkl_queue_blocks(earlier->member, shared->member);
    if (earlier != NULL && !follows) {
        visit(arg, waiter, earlier);
    }
}

void zkl_queue_visit_waits(const zkl_queue *queue, zkl_queue_wait_callback *visit, void *arg) {
    for (size_t i = 0; i < queue->count; i++) {
        if (waits_for_each(queue, i)) {
            visit_waits_of(queue, i, visit, arg);
        }
    }
}

/* ---- What the nodes say --------------------------------------------------------------------- */

/* A token is the czxid of the node that was granted; who has downgraded has another by now, and
 * says so in its data. */
static int64_t token_of(const zkl_queue_entry *entry, const zkl_reply *reply) {
    const char *text = entry->data.token;
    char *end = NULL;
    int64_t earlier = entry->member.name.kind == ZKL_NODE_READ ? strtoll(text, &end, 10) : 0;
    bool is_one = earlier > 0 && earlier < reply->zxid && *end == '\0';
    return is_one ? earlier : reply->zxid;
}

static void describe(zkl_queue_entry *entry, const zkl_reply *reply) {
    const zkl_node_identity *data = &entry->data;
    int64_t age_ms = zkl_wall_clock_ms() - reply->made_ms;
    entry->contender = (zkl_contender){
        .struct_size = sizeof(zkl_contender),
        .node = entry->member.text,
        .kind = (zkl_queue_kind)entry->member.name.kind,
        .permits = entry->member.name.permits,
        .sequence = entry->member.name.sequence,
        .session_id = reply->ephemeral_owner,
        .token = token_of(entry, reply),
        .identity = { data->host, data->process_id, data->label, data->owner, data->text },
        .age_ms = age_ms > 0 ? age_ms : 0,
        .revoke_requested = data->revoked ? 1 : 0,
        .waits_for = "",
    };
}

static int take_answer(zkl_queue_entry *entry, const zkl_question *question) {
    const zkl_reply *reply = &question->reply;
    if (reply->outcome == ZKL_OUTCOME_NO_NODE) {
        entry->gone = true;
        return ZKL_OK;
    }
    int status = zkl_question_status(question);
    if (status == ZKL_OK &&
        !zkl_node_identity_read(&entry->data, reply->data, reply->data_length)) {
        status = ZKL_NO_MEMORY;
    }
    if (status == ZKL_OK) {
        describe(entry, reply);
    }
    return status;
}

static void leave_out_the_gone(zkl_queue *queue) {
    size_t left = 0;
    for (size_t i = 0; i < queue->count; i++) {
        if (!queue->entries[i].gone) {
            queue->entries[left++] = queue->entries[i];
        }
    }
    queue->count = left;
}

static void judge(zkl_queue *queue) {
    for (size_t i = 0; i < queue->count; i++) {
        const zkl_queue_entry *blocker = find_blocker(queue, i);
        queue->entries[i].contender.holds = blocker == NULL ? 1 : 0;
        if (blocker != NULL) {
            queue->entries[i].contender.waits_for = blocker->member.text;
        }
    }
}

static size_t count_entries(zkl_queue *const *queues, size_t count) {
    size_t entries = 0;
    for (size_t i = 0; i < count; i++) {
        entries += queues[i]->count;
    }
    return entries;
}

static void begin_questions(zkl_question *next, zkl_queue *const *queues, size_t count) {
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < queues[i]->count; j++) {
            zkl_question_begin(next++, ZKL_OPERATION_GET,
                               zkl_path_below(queues[i]->path, queues[i]->entries[j].member.text));
        }
    }
}

static int take_answers(zkl_queue *queue, const zkl_question *questions) {
    int status = ZKL_OK;
    for (size_t i = 0; i < queue->count && status == ZKL_OK; i++) {
        status = take_answer(&queue->entries[i], &questions[i]);
    }
    if (status == ZKL_OK) {
        leave_out_the_gone(queue);
        judge(queue);
    }
    return status;
}

int zkl_queues_read(zkl_inquiry *inquiry, zkl_queue *const *queues, size_t count) {
    size_t total = count_entries(queues, count);
    zkl_question *questions = calloc(total + 1, sizeof(*questions));
    if (questions == NULL) {
        return ZKL_NO_MEMORY;
    }
    begin_questions(questions, queues, count);
    int status = zkl_inquiry_ask(inquiry, questions, total);
    const zkl_question *answered = questions;
    for (size_t i = 0; i < count && status == ZKL_OK; i++) {
        size_t listed = queues[i]->count;
        status = take_answers(queues[i], answered);
        answered += listed;
    }
    zkl_questions_free(questions, total);
    return status;
}

/* ---- The public functions ---------------------------------------------------------------------
 */

static int list_queue(zkl_inquiry *inquiry, const char *path, zkl_queue **queue) {
    zkl_question *question = calloc(1, sizeof(*question));
    if (question == NULL) {
        return ZKL_NO_MEMORY;
    }
    zkl_question_begin(question, ZKL_OPERATION_LIST_CHILDREN, strdup(path));
    int status = zkl_inquiry_ask(inquiry, question, 1);
    if (status == ZKL_OK) {
        status = zkl_question_status(question);
    }
    if (status == ZKL_OK) {
        *queue = zkl_queue_make(strdup(path), question->reply.children);
        status = *queue != NULL ? ZKL_OK : ZKL_NO_MEMORY;
    }
    zkl_questions_free(question, 1);
    return status;
}

static int describe_queue(zkl_inquiry *inquiry, const char *resource, zkl_queue **queue) {
    char path[ZKL_PARENT_PATH_SIZE];
    zkl_client_resource_path(inquiry->client, resource, path);
    int status = list_queue(inquiry, path, queue);
    if (status == ZKL_OK) {
        status = zkl_queues_read(inquiry, queue, 1);
    }
    if (status != ZKL_OK) {
        zkl_queue_free(*queue);
        *queue = NULL;
    }
    return status;
}

int zkl_queue_describe(zkl_client *client, const char *resource, int64_t timeout_ms,
                       zkl_queue **queue) {
    ZKL_NOT_CANCELLED;
    zkl_input_clear();
    zkl_inquiry inquiry;
    int status = zkl_input_check_pointer("queue", queue);
    if (status != ZKL_OK) {
        return status;
    }
    *queue = NULL;
    status = zkl_input_check_pointer("resource", resource);
    if (status == ZKL_OK) {
        status = zkl_input_check_resource_or_stripe(resource);
    }
    if (status == ZKL_OK) {
        status = zkl_inquiry_begin(&inquiry, client, timeout_ms);
    }
    if (status == ZKL_OK) {
        status = describe_queue(&inquiry, resource, queue);
        zkl_inquiry_end(&inquiry);
    }
    return status;
}

size_t zkl_queue_count(const zkl_queue *queue) {
    return queue != NULL ? queue->count : 0;
}

const zkl_contender *zkl_queue_get(const zkl_queue *queue, size_t place) {
    return place < zkl_queue_count(queue) ? &queue->entries[place].contender : NULL;
}

void zkl_queue_free(zkl_queue *queue) {
    if (queue == NULL) {
        return;
    }
    for (size_t i = 0; queue->entries != NULL && i < queue->count; i++) {
        free(queue->entries[i].data.memory);
    }
    free(queue->entries);
    free(queue->names);
    free(queue->path);
    free(queue);
}

const char *zkl_queue_kind_name(int kind) {
    return kind == ZKL_QUEUE_UNKNOWN ? "unknown" : zkl_lock_mode_name(kind);
}
