#include "administration/line.h"

#include <stdlib.h>
#include <string.h>

#include "base/error_message.h"
#include "base/threads.h"
#include "recipe/node_data.h"

/* ---- The order ------------------------------------------------------------------------- */

static int compare(const void *one, const void *other) {
    const zkl_neighbour *first = &((const zkl_line_entry *)one)->member;
    const zkl_neighbour *second = &((const zkl_line_entry *)other)->member;
    if (zkl_neighbour_is_before(*first, *second)) {
        return -1;
    }
    return zkl_neighbour_is_before(*second, *first) ? 1 : 0;
}

/* The contenders of one resource. */
static int add(zkl_line *line, zkl_pool *pool, size_t resource, zkl_children children,
               size_t least) {
    zkl_line_entry *first = &line->entries[line->count];
    size_t count = 0;
    for (size_t i = 0; i < children.count; i++) {
        zkl_node_name name = zkl_node_name_parse(children.names[i]);
        if (name.kind != ZKL_NODE_FOREIGN) {
            const char *text = zkl_pool_print(pool, "%s", children.names[i]);
            ZKL_TRY(zkl_made(text));
            first[count++] = (zkl_line_entry){ .member = { name, text }, .resource = resource };
        }
    }
    qsort(first, count, sizeof(*first), compare);
    line->count += count >= least ? count : 0;
    return ZKL_OK;
}

/* ---- Who waits for whom ------------------------------------------------------------------ */

static size_t place_of(const zkl_line *line, const zkl_line_entry *entry) {
    return (size_t)(entry - line->entries);
}

static const zkl_line_entry *find_nearest(const zkl_line *line, size_t own, size_t before) {
    size_t resource = line->entries[own].resource;
    for (size_t i = before; i > 0 && line->entries[i - 1].resource == resource; i--) {
        if (zkl_neighbour_blocks(line->entries[i - 1].member, line->entries[own].member)) {
            return &line->entries[i - 1];
        }
    }
    return NULL;
}

/* The nearest that it waits for; NULL: it waits for nobody. */
static const zkl_line_entry *find_blocker(const zkl_line *line, size_t own) {
    const zkl_line_entry *earlier = find_nearest(line, own, own);
    const zkl_line_entry *nearest = earlier;
    for (size_t room = zkl_contenders_room(line->entries[own].member.name.permits);
         room > 1 && earlier != NULL; room--) {
        earlier = find_nearest(line, own, place_of(line, earlier));
    }
    return earlier != NULL ? nearest : NULL;
}

static bool is_reader(const zkl_line_entry *entry) {
    return entry->member.name.kind == ZKL_NODE_READ;
}

/* Whether it need not wait for all that is before it. */
static bool is_shared(const zkl_line_entry *entry) {
    return is_reader(entry) || entry->member.name.kind == ZKL_NODE_PERMIT;
}

/* A waiter for one of several permits continues as soon as any of their holders has gone: it waits
 * for none of them in particular. */
static bool waits_for_each(const zkl_line *line, size_t own) {
    return zkl_contenders_room(line->entries[own].member.name.permits) == 1;
}

/* The nearest request in the way waits itself for all that is before it, unless it is a reader or
 * a permit: then those next to it are in the way as well, and what they wait for. What all of
 * these wait for need not be told; what one of them does not wait for (as a writer that has been
 * downgraded to that reader) must be. */
static void visit_waits_of(const zkl_line *line, size_t own, zkl_line_wait_callback *visit,
                           void *arg) {
    const zkl_line_entry *shared = NULL;
    const zkl_line_entry *earlier = find_nearest(line, own, own);
    while (earlier != NULL && is_shared(earlier)) {
        visit(arg, own, place_of(line, earlier));
        shared = earlier;
        earlier = find_nearest(line, own, place_of(line, earlier));
    }
    bool follows = earlier != NULL && shared != NULL && is_reader(shared) &&
                   zkl_neighbour_blocks(earlier->member, shared->member);
    if (earlier != NULL && !follows) {
        visit(arg, own, place_of(line, earlier));
    }
}

void zkl_line_visit_waits(const zkl_line *line, zkl_line_wait_callback *visit, void *arg) {
    for (size_t i = 0; i < line->count; i++) {
        if (waits_for_each(line, i)) {
            visit_waits_of(line, i, visit, arg);
        }
    }
}

/* ---- What the nodes say --------------------------------------------------------------------- */

/* A token is the czxid of the node that was granted. A holder that has downgraded has another node
 * by now, whose data name the token. */
static int64_t token_of(const zkl_line_entry *entry, const char *text, int64_t zxid) {
    char *end = NULL;
    int64_t earlier = entry->member.name.kind == ZKL_NODE_READ ? strtoll(text, &end, 10) : 0;
    bool is_one = earlier > 0 && earlier < zxid && *end == '\0';
    return is_one ? earlier : zxid;
}

static void describe(zkl_line_entry *entry, const zkl_node_identity *data, const zkl_reply *reply) {
    int64_t age_ms = zkl_wall_clock_ms() - reply->made_ms;
    zkl_node_name name = entry->member.name;
    entry->contender = (zkl_contender){
        .struct_size = sizeof(zkl_contender),
        .node = entry->member.text,
        .kind = name.permits > 0 ? ZKL_QUEUE_EXCLUSIVE : (zkl_queue_kind)name.kind,
        .permits = name.permits,
        .sequence = name.sequence,
        .session_id = reply->ephemeral_owner,
        .token = token_of(entry, data->token, reply->zxid),
        .identity = { data->host, data->process_id, data->label, data->owner, data->text },
        .age_ms = age_ms > 0 ? age_ms : 0,
        .revoke_requested = data->revoked ? 1 : 0,
        .waits_for = "",
    };
}

static int take_answer(zkl_line_entry *entry, zkl_pool *pool, const zkl_question *question) {
    const zkl_reply *reply = &question->reply;
    zkl_node_identity data;
    ZKL_TRY(zkl_questions_status(question, 1));
    char *room = zkl_pool_take(pool, zkl_node_identity_room(reply->data_length));
    ZKL_TRY(zkl_made(room));
    zkl_node_identity_read(&data, room, reply->data, reply->data_length);
    describe(entry, &data, reply);
    return ZKL_OK;
}

/* Leaves out the nodes that have gone since they were listed. */
static int take_answers(zkl_line *line, zkl_pool *pool, const zkl_question *questions) {
    size_t left = 0;
    for (size_t i = 0; i < line->count; i++) {
        if (questions[i].reply.outcome != ZKL_OUTCOME_NO_NODE) {
            ZKL_TRY(take_answer(&line->entries[i], pool, &questions[i]));
            line->entries[left++] = line->entries[i];
        }
    }
    line->count = left;
    return ZKL_OK;
}

static void judge(zkl_line *line) {
    for (size_t i = 0; i < line->count; i++) {
        const zkl_line_entry *blocker = find_blocker(line, i);
        line->entries[i].contender.holds = blocker == NULL ? 1 : 0;
        if (blocker != NULL) {
            line->entries[i].contender.waits_for = blocker->member.text;
        }
    }
}

int zkl_line_read(zkl_line *line, zkl_pool *pool, zkl_inquiry *inquiry, const zkl_question *lists,
                  size_t count, size_t least) {
    size_t most = 0;
    for (size_t i = 0; i < count; i++) {
        most += lists[i].reply.children.count;
    }
    *line = (zkl_line){ .entries = zkl_pool_take(pool, most * sizeof(zkl_line_entry)) };
    zkl_question *questions = zkl_inquiry_questions(inquiry, most);
    ZKL_TRY(zkl_made(line->entries));
    ZKL_TRY(zkl_made(questions));
    for (size_t i = 0; i < count; i++) {
        ZKL_TRY(add(line, pool, i, lists[i].reply.children, least));
    }
    for (size_t i = 0; i < line->count; i++) {
        const zkl_line_entry *entry = &line->entries[i];
        const char *path =
            zkl_inquiry_child_path(inquiry, lists[entry->resource].path, entry->member.text);
        questions[i] = zkl_question_make(inquiry, ZKL_OPERATION_GET, path);
    }
    ZKL_TRY(zkl_inquiry_ask(inquiry, questions, line->count));
    ZKL_TRY(take_answers(line, pool, questions));
    judge(line);
    return ZKL_OK;
}
