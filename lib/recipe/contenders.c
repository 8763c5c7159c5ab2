#include "recipe/contenders.h"

#include <string.h>

static bool is_request(zkl_node_name name) {
    return name.kind != ZKL_NODE_FOREIGN;
}

/* Whether two requests are in each other's way: the earlier in that of the later. */
static bool conflict(zkl_node_kind one, zkl_node_kind other) {
    return one != ZKL_NODE_READ || other != ZKL_NODE_READ;
}

size_t zkl_contenders_room(unsigned permits) {
    return permits > 0 ? permits : 1;
}

bool zkl_neighbour_is_before(zkl_neighbour one, zkl_neighbour other) {
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

static bool is_twin(zkl_neighbour one, zkl_neighbour other) {
    return one.name.sequence == other.name.sequence &&
           zkl_node_name_same_guid(one.text, other.text);
}

zkl_neighbour zkl_neighbour_read(const char *text) {
    return (zkl_neighbour){ zkl_node_name_parse(text), text };
}

zkl_listed zkl_contenders_read(zkl_children children, zkl_neighbour *room) {
    for (size_t i = 0; i < children.count; i++) {
        room[i] = zkl_neighbour_read(children.names[i]);
    }
    return (zkl_listed){ room, children.count };
}

/* ---- The place of a request ----------------------------------------------------------- */

/* Before a request that has no node yet, every other one is earlier. */
static bool is_earlier(zkl_neighbour child, zkl_neighbour own) {
    return is_request(child.name) &&
           (own.text == NULL || (zkl_neighbour_is_before(child, own) && !is_twin(child, own)));
}

static bool is_companion(zkl_neighbour child, const zkl_contenders_place *place) {
    return place->companion[0] != '\0' && strcmp(child.text, place->companion) == 0;
}

static bool counts(zkl_neighbour child, const zkl_contenders_place *place) {
    return is_earlier(child, place->own) && !is_companion(child, place);
}

/* Numbers first: this is asked of each child for each request. */
static bool is_same(zkl_neighbour child, zkl_neighbour own) {
    return child.name.sequence == own.name.sequence && own.text != NULL &&
           strcmp(child.text, own.text) == 0;
}

static bool is_like(zkl_node_name one, zkl_node_name other) {
    return one.kind == other.kind && one.permits == other.permits;
}

/* ---- Two requests --------------------------------------------------------------------- */

bool zkl_neighbour_blocks(zkl_neighbour earlier, zkl_neighbour own) {
    return is_earlier(earlier, own) && conflict(own.name.kind, earlier.name.kind);
}

/* ---- Who is in the way ---------------------------------------------------------------- */

static void note_unlike(zkl_contenders_view *view, zkl_neighbour child, zkl_node_name own) {
    if (child.name.kind == ZKL_NODE_UNKNOWN) {
        view->unknown = child.text;
    }
    if (own.kind == ZKL_NODE_PERMIT && !is_like(child.name, own)) {
        view->unlike = child.text;
    }
}

zkl_contenders_view zkl_contenders_examine(zkl_listed children, const zkl_contenders_place *place) {
    zkl_contenders_view view = { .accompanied = place->companion[0] == '\0' };
    zkl_neighbour mine = place->own;
    zkl_neighbour blocker = { .text = NULL };
    size_t in_the_way = 0;
    for (size_t i = 0; i < children.count; i++) {
        zkl_neighbour child = children.all[i];
        view.accompanied = view.accompanied || is_companion(child, place);
        if (is_same(child, mine)) {
            view.listed = true;
            continue;
        }
        if (!counts(child, place)) {
            continue;
        }
        view.earlier++;
        if (!conflict(mine.name.kind, child.name.kind)) {
            continue;
        }
        in_the_way++;
        note_unlike(&view, child, mine.name);
        if (blocker.text == NULL || zkl_neighbour_is_before(blocker, child)) {
            blocker = child;
        }
    }
    view.blocker = in_the_way < zkl_contenders_room(mine.name.permits) ? NULL : blocker.text;
    return view;
}

/* ---- Who waits ------------------------------------------------------------------------- */

/* The first of those before this place, or of those that do not read; its text is NULL: there is
 * none. */
static zkl_neighbour find_first(zkl_listed children, const zkl_contenders_place *place,
                                bool may_read) {
    zkl_neighbour first = { .text = NULL };
    for (size_t i = 0; i < children.count; i++) {
        zkl_neighbour child = children.all[i];
        bool is_one = counts(child, place) && (may_read || child.name.kind != ZKL_NODE_READ);
        if (is_one && (first.text == NULL || zkl_neighbour_is_before(child, first))) {
            first = child;
        }
    }
    return first;
}

const char *zkl_contenders_find_first(zkl_listed children) {
    const zkl_contenders_place tail = { .companion = "" };
    return find_first(children, &tail, true).text;
}

/* Readers before all others hold; where there are none the first other does. */
static size_t count_holding(zkl_listed children, const zkl_contenders_place *place) {
    if (place->own.name.permits > 0) {
        return place->own.name.permits;
    }
    zkl_neighbour other = find_first(children, place, false);
    size_t readers = 0;
    for (size_t i = 0; i < children.count; i++) {
        zkl_neighbour child = children.all[i];
        bool reads = counts(child, place) && child.name.kind == ZKL_NODE_READ;
        readers += reads && (other.text == NULL || zkl_neighbour_is_before(child, other)) ? 1 : 0;
    }
    return readers > 0 ? readers : 1;
}

size_t zkl_contenders_count_waiting(zkl_listed children, const zkl_contenders_place *place) {
    size_t earlier = zkl_contenders_examine(children, place).earlier;
    size_t holding = count_holding(children, place);
    return earlier > holding ? earlier - holding : 0;
}

/* ---- Who waits for us ------------------------------------------------------------------ */

static bool comes_behind(zkl_neighbour child, zkl_neighbour mine, const char *but) {
    bool is_left_out = but[0] != '\0' && zkl_node_name_has_guid(child.text, but);
    bool is_later = is_request(child.name) && is_earlier(mine, child) && !is_left_out;
    if (child.name.kind == ZKL_NODE_PERMIT) {
        return is_later && is_like(child.name, mine.name);
    }
    return is_later && conflict(child.name.kind, mine.name.kind);
}

/* The last permit waits if any does. */
static bool finds_no_permit(zkl_listed children, zkl_neighbour last) {
    zkl_contenders_place place = { .own = last, .companion = "" };
    return last.text != NULL && zkl_contenders_examine(children, &place).blocker != NULL;
}

zkl_contenders_rear zkl_contenders_look_behind(zkl_listed children, const char *own,
                                               const char *but) {
    zkl_contenders_rear rear = { .listed = false };
    zkl_neighbour mine = zkl_neighbour_read(own);
    zkl_neighbour waiter = { .text = NULL };
    zkl_neighbour last_permit = { .text = NULL };
    for (size_t i = 0; i < children.count; i++) {
        zkl_neighbour child = children.all[i];
        rear.listed = rear.listed || strcmp(child.text, own) == 0;
        if (!comes_behind(child, mine, but)) {
            continue;
        }
        if (child.name.kind != ZKL_NODE_PERMIT) {
            waiter = waiter.text == NULL || zkl_neighbour_is_before(child, waiter) ? child : waiter;
        } else if (last_permit.text == NULL || zkl_neighbour_is_before(last_permit, child)) {
            last_permit = child;
        }
    }
    if (waiter.text == NULL && finds_no_permit(children, last_permit)) {
        waiter = last_permit;
    }
    rear.waiter = rear.listed ? waiter.text : NULL;
    return rear;
}

/* ---- The nearest ------------------------------------------------------------------------ */

/* Keeps the list in order, and drops its first where there is no room. */
static size_t insert(zkl_neighbour *nearest, size_t count, size_t most, zkl_neighbour child) {
    size_t place = count;
    while (place > 0 && zkl_neighbour_is_before(child, nearest[place - 1])) {
        place--;
    }
    if (count < most) {
        memmove(nearest + place + 1, nearest + place, (count - place) * sizeof(*nearest));
        nearest[place] = child;
        return count + 1;
    }
    if (place > 0) {
        memmove(nearest, nearest + 1, (place - 1) * sizeof(*nearest));
        nearest[place - 1] = child;
    }
    return count;
}

size_t zkl_contenders_find_nearest(zkl_listed children, const zkl_contenders_place *place,
                                   zkl_neighbour *nearest) {
    zkl_neighbour mine = place->own;
    size_t most = zkl_contenders_room(mine.name.permits);
    size_t count = 0;
    for (size_t i = 0; i < children.count; i++) {
        zkl_neighbour child = children.all[i];
        if (counts(child, place) && conflict(mine.name.kind, child.name.kind)) {
            count = insert(nearest, count, most, child);
        }
    }
    return count;
}

/* ---- Nodes of one request ----------------------------------------------------------------- */

const char *zkl_contenders_find_guid(zkl_listed children, const char *guid, const char *except,
                                     const char *after) {
    const char *first = NULL;
    for (size_t i = 0; i < children.count; i++) {
        const char *name = children.all[i].text;
        if (strlen(name) < ZKL_NODE_NAME_SIZE && zkl_node_name_has_guid(name, guid) &&
            (except == NULL || strcmp(name, except) != 0) && strcmp(name, after) > 0 &&
            (first == NULL || strcmp(name, first) < 0)) {
            first = name;
        }
    }
    return first;
}
