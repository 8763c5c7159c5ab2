#include "recipe/queue.h"

#include <string.h>

static bool is_request(zkl_node_name name) {
    return name.kind != ZKL_NODE_FOREIGN;
}

/* The blocking rule: whether a request must wait for an earlier one. */
static bool waits_for(zkl_node_kind own, zkl_node_kind earlier) {
    return own != ZKL_NODE_READ || earlier != ZKL_NODE_READ;
}

typedef zkl_queue_member place;

static bool is_before(place one, place other) {
    if (one.name.sequence != other.name.sequence) {
        return one.name.sequence < other.name.sequence;
    }
    bool one_reads = one.name.kind == ZKL_NODE_READ;
    bool other_reads = other.name.kind == ZKL_NODE_READ;
    if (one_reads != other_reads) {
        return other_reads;
    }
    return strcmp(one.text, other.text) < 0;
}

static bool is_twin(place one, place other) {
    return one.name.sequence == other.name.sequence &&
           zkl_node_name_same_guid(one.text, other.text);
}

zkl_queue_view zkl_queue_examine(zkl_children children, const char *own) {
    zkl_queue_view view = { .listed = false };
    place mine = { zkl_node_name_parse(own), own };
    place blocker = { { ZKL_NODE_FOREIGN, 0 }, NULL };
    for (size_t i = 0; i < children.count; i++) {
        place child = { zkl_node_name_parse(children.names[i]), children.names[i] };
        if (strcmp(child.text, own) == 0) {
            view.listed = true;
            continue;
        }
        if (!is_request(child.name) || !is_before(child, mine) || is_twin(child, mine)) {
            continue;
        }
        view.earlier++;
        if (!waits_for(mine.name.kind, child.name.kind)) {
            continue;
        }
        if (child.name.kind == ZKL_NODE_UNKNOWN) {
            view.unknown = child.text;
        }
        if (blocker.text == NULL || is_before(blocker, child)) {
            blocker = child;
        }
    }
    view.blocker = blocker.text;
    return view;
}

bool zkl_queue_is_blocked_at_tail(zkl_children children, zkl_mode mode) {
    zkl_node_kind own = zkl_node_kind_of_mode(mode);
    for (size_t i = 0; i < children.count; i++) {
        zkl_node_name name = zkl_node_name_parse(children.names[i]);
        if (is_request(name) && waits_for(own, name.kind)) {
            return true;
        }
    }
    return false;
}

const char *zkl_queue_find_guid(zkl_children children, const char *guid, const char *except,
                                const char *after) {
    const char *first = NULL;
    for (size_t i = 0; i < children.count; i++) {
        const char *name = children.names[i];
        if (strlen(name) < ZKL_NODE_NAME_SIZE && zkl_node_name_has_guid(name, guid) &&
            (except == NULL || strcmp(name, except) != 0) && strcmp(name, after) > 0 &&
            (first == NULL || strcmp(name, first) < 0)) {
            first = name;
        }
    }
    return first;
}

bool zkl_queue_is_before(const zkl_queue_member *one, const zkl_queue_member *other) {
    return is_before(*one, *other);
}

bool zkl_queue_blocks(const zkl_queue_member *earlier, const zkl_queue_member *own) {
    return is_request(earlier->name) && is_before(*earlier, *own) && !is_twin(*earlier, *own) &&
           waits_for(own->name.kind, earlier->name.kind);
}
