#include "administration/queue_snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "base/error_message.h"
#include "base/threads.h"
#include "recipe/node_data.h"

/* ---- The order ------------------------------------------------------------------------- */

static int snapshot_compare(const void *one, const void *other) {
    const zkl_neighbour *first = &((const zkl_snapshot_entry *)one)->member;
    const zkl_neighbour *second = &((const zkl_snapshot_entry *)other)->member;
    if (zkl_neighbour_is_before(*first, *second)) {
        return -1;
    }
    return zkl_neighbour_is_before(*second, *first) ? 1 : 0;
}

/* Adds the contenders of one resource, in the order of its queue. */
static int snapshot_add(zkl_queue_snapshot *snapshot, zkl_pool *pool, size_t resource,
                        zkl_children children, size_t least) {
    zkl_snapshot_entry *first = &snapshot->entries[snapshot->count];
    size_t count = 0;
    for (size_t i = 0; i < children.count; i++) {
        zkl_node_name name = zkl_node_name_parse(children.names[i]);
        if (name.kind != ZKL_NODE_FOREIGN) {
            const char *text = zkl_pool_copy_text(pool, children.names[i]);
            ZKL_TRY(zkl_made(text));
            first[count++] = (zkl_snapshot_entry){ .member = { name, text }, .resource = resource };
        }
    }
    qsort(first, count, sizeof(*first), snapshot_compare);
    snapshot->count += count >= least ? count : 0;
    return ZKL_OK;
}

/* ---- Who waits for whom ------------------------------------------------------------------ */

const zkl_snapshot_entry *zkl_queue_snapshot_find_nearest(const zkl_queue_snapshot *snapshot,
                                                          const zkl_snapshot_entry *own,
                                                          const zkl_snapshot_entry *before) {
    while (before > snapshot->entries && (--before)->resource == own->resource) {
        if (zkl_neighbour_blocks(before->member, own->member)) {
            return before;
        }
    }
    return NULL;
}

/* Finds the nearest entry that it waits for; NULL: it waits for none. */
static const zkl_snapshot_entry *find_blocker(const zkl_queue_snapshot *snapshot,
                                              const zkl_snapshot_entry *own) {
    const zkl_snapshot_entry *nearest = zkl_queue_snapshot_find_nearest(snapshot, own, own);
    const zkl_snapshot_entry *earlier = nearest;
    for (size_t room = zkl_contenders_room(own->member.name.permits); room > 1 && earlier != NULL;
         room--) {
        earlier = zkl_queue_snapshot_find_nearest(snapshot, own, earlier);
    }
    return earlier != NULL ? nearest : NULL;
}

static void judge(zkl_queue_snapshot *snapshot) {
    for (size_t i = 0; i < snapshot->count; i++) {
        zkl_snapshot_entry *entry = &snapshot->entries[i];
        const zkl_snapshot_entry *blocker = find_blocker(snapshot, entry);
        entry->contender.holds = blocker == NULL ? 1 : 0;
        entry->contender.waits_for = blocker != NULL ? blocker->member.text : "";
    }
}

/* ---- What the nodes say --------------------------------------------------------------------- */

/* Returns the token: the czxid of the node that was granted. A holder that has downgraded has
 * another node by now, whose data name the token. */
static int64_t token_of(const zkl_snapshot_entry *entry, const char *text, int64_t zxid) {
    char *end = NULL;
    int64_t earlier = entry->member.name.kind == ZKL_NODE_READ ? strtoll(text, &end, 10) : 0;
    bool is_one = earlier > 0 && earlier < zxid && *end == '\0';
    return is_one ? earlier : zxid;
}

static zkl_mode mode_of(zkl_node_name name) {
    return name.permits > 0                ? ZKL_EXCLUSIVE
           : name.kind == ZKL_NODE_UNKNOWN ? ZKL_OTHER_MODE
                                           : (zkl_mode)name.kind;
}

static int snapshot_describe(zkl_snapshot_entry *entry, zkl_pool *pool, const zkl_reply *reply) {
    zkl_node_identity data;
    char *room = zkl_pool_take(pool, zkl_node_identity_room(reply->data_length));
    ZKL_TRY(zkl_made(room));
    zkl_node_identity_read(&data, room, reply->data, reply->data_length);
    int64_t age_ms = zkl_wall_clock_ms() - reply->made_ms;
    zkl_node_name name = entry->member.name;
    bool is_refused = reply->outcome == ZKL_OUTCOME_REFUSED;
    entry->contender = (zkl_contender){
        .struct_size = sizeof(zkl_contender),
        .node = entry->member.text,
        .mode = mode_of(name),
        .permits = name.permits,
        .sequence = name.sequence,
        .session_id = reply->ephemeral_owner,
        .token = token_of(entry, data.token, reply->zxid),
        .identity = { data.host, data.process_id, data.label, data.owner, data.text },
        .age_ms = age_ms > 0 && !is_refused ? age_ms : 0,
        .revoke_requested = data.revoked ? 1 : 0,
        .status = is_refused ? reply->status : ZKL_OK,
    };
    return ZKL_OK;
}

/* Leaves out the nodes that have gone since they were listed. */
static int take_answers(zkl_queue_snapshot *snapshot, zkl_pool *pool,
                        const zkl_question *questions) {
    size_t left = 0;
    for (size_t i = 0; i < snapshot->count; i++) {
        if (questions[i].reply.outcome != ZKL_OUTCOME_NO_NODE) {
            ZKL_TRY(snapshot_describe(&snapshot->entries[i], pool, &questions[i].reply));
            snapshot->entries[left++] = snapshot->entries[i];
        }
    }
    snapshot->count = left;
    return ZKL_OK;
}

int zkl_queue_snapshot_read(zkl_queue_snapshot *snapshot, zkl_pool *pool, zkl_inquiry *inquiry,
                            const zkl_question *lists, size_t count, size_t least) {
    size_t most = 0;
    for (size_t i = 0; i < count; i++) {
        most += lists[i].reply.children.count;
    }
    *snapshot =
        (zkl_queue_snapshot){ .entries = zkl_pool_take(pool, most * sizeof(zkl_snapshot_entry)) };
    zkl_question *questions = zkl_inquiry_questions(inquiry, most);
    ZKL_TRY(zkl_made(snapshot->entries));
    ZKL_TRY(zkl_made(questions));
    for (size_t i = 0; i < count; i++) {
        ZKL_TRY(snapshot_add(snapshot, pool, i, lists[i].reply.children, least));
    }
    for (size_t i = 0; i < snapshot->count; i++) {
        const zkl_snapshot_entry *entry = &snapshot->entries[i];
        const char *path =
            zkl_inquiry_child_path(inquiry, lists[entry->resource].path, entry->member.text);
        questions[i] = (zkl_question){ .kind = ZKL_OPERATION_GET, .path = path };
    }
    ZKL_TRY(zkl_inquiry_try(inquiry, questions, snapshot->count));
    snapshot->status = zkl_questions_status(questions, snapshot->count);
    ZKL_TRY(take_answers(snapshot, pool, questions));
    judge(snapshot);
    return ZKL_OK;
}
