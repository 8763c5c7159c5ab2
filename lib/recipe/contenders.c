#include "recipe/contenders.h"

#include <string.h>

static bool is_request(zkl_node_name name) {
    return name.kind != ZKL_NODE_FOREIGN;
}

/* Tells whether the earlier of two requests is in the way of the later. */
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

/* ---- The order of a list ---------------------------------------------------------------- */

static bool comes_first(const zkl_neighbour *one, const zkl_neighbour *other) {
    bool are_alike = is_request(one->name) == is_request(other->name);
    if (are_alike && one->name.sequence != other->name.sequence) {
        return one->name.sequence <
               other->name.sequence; /* decided first, because this is asked often */
    }
    return are_alike ? zkl_neighbour_is_before(*one, *other) : is_request(one->name);
}

/* Puts a neighbour into a heap whose top is free. The one that comes last in the queue gets to the
 * top. */
static void sift(zkl_neighbour *heap, size_t top, size_t count, zkl_neighbour one) {
    for (size_t below = 2 * top + 1; below < count; below = 2 * top + 1) {
        below += below + 1 < count && comes_first(&heap[below], &heap[below + 1]) ? 1 : 0;
        if (!comes_first(&one, &heap[below])) {
            break;
        }
        heap[top] = heap[below];
        top = below;
    }
    heap[top] = one;
}

/* Sorts with a heap, which takes no memory, and is slow for no input. */
static void sort(zkl_neighbour *all, size_t count) {
    for (size_t top = count / 2; top-- > 0;) {
        sift(all, top, count, all[top]);
    }
    for (size_t left = count; left > 1; left--) {
        zkl_neighbour last = all[left - 1];
        all[left - 1] = all[0];
        sift(all, 0, left - 1, last);
    }
}

zkl_listed zkl_contenders_read(zkl_children children, zkl_neighbour *room) {
    zkl_listed listed = { .all = room, .count = children.count };
    for (size_t i = 0; i < children.count; i++) {
        room[i] = zkl_neighbour_read(children.names[i]);
    }
    sort(room, children.count);
    while (listed.known < listed.count && room[listed.known].name.kind != ZKL_NODE_UNKNOWN) {
        listed.known++;
    }
    return listed;
}

/* Counts the children that come before it. */
static size_t find_place(zkl_listed children, zkl_neighbour one) {
    size_t first = 0;
    for (size_t end = children.count; first < end;) {
        size_t middle = first + (end - first) / 2;
        if (comes_first(&children.all[middle], &one)) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    return first;
}

static bool contains(zkl_listed children, zkl_neighbour one) {
    size_t place = find_place(children, one);
    return place < children.count && strcmp(children.all[place].text, one.text) == 0;
}

/* ---- The place of a request ----------------------------------------------------------- */

/* Tells whether a child is an earlier request than ours. If ours has no node yet, every request is.
 */
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

/* Tells whether two requests use the resource in the same way. */
static bool is_like(zkl_node_name one, zkl_node_name other) {
    return one.naming == other.naming && one.permits == other.permits;
}

/* Tells whether a request shares the resource only with those that use it as it does. One for a
 * lock, with the names of Curator's, waits for whatever there is. */
static bool is_particular(zkl_node_name own) {
    return own.permits > 0 || own.naming != ZKL_NAMING_CURATOR;
}

/* ---- Two requests --------------------------------------------------------------------- */

bool zkl_neighbour_blocks(zkl_neighbour earlier, zkl_neighbour own) {
    return is_earlier(earlier, own) && conflict(own.name.kind, earlier.name.kind);
}

/* ---- Who is in the way ---------------------------------------------------------------- */

/* Counts all children before this place, twins and the companion included. */
static size_t find_end(zkl_listed children, const zkl_contenders_place *place) {
    zkl_neighbour last = { .name = { .kind = ZKL_NODE_FOREIGN, .sequence = INT32_MIN },
                           .text = "" };
    return find_place(children, place->own.text != NULL ? place->own : last);
}

static bool is_in_the_way(zkl_neighbour child, const zkl_contenders_place *place) {
    return counts(child, place) && conflict(place->own.name.kind, child.name.kind);
}

/* Finds a child that the semaphore of another library has: for kazoo's a lease, for Curator's its
 * two parts, of which neither alone proves anything. NULL: none. */
static const char *find_semaphore(zkl_listed children) {
    const char *leases = NULL;
    const char *locks = NULL;
    for (size_t i = children.count; i-- > 0 && !is_request(children.all[i].name);) {
        const char *child = children.all[i].text;
        if (zkl_node_name_is_lease(child)) {
            return child;
        }
        leases = strcmp(child, "leases") == 0 ? child : leases;
        locks = strcmp(child, "locks") == 0 ? child : locks;
    }
    return locks != NULL ? leases : NULL;
}

/* Finds the nearest of the first `end` that uses the resource in another way; NULL: none, or ours
 * is not particular. */
static const char *find_unlike(zkl_listed children, const zkl_contenders_place *place, size_t end) {
    zkl_node_name own = place->own.name;
    for (size_t i = is_particular(own) ? end : 0; i-- > 0;) {
        if (counts(children.all[i], place) && !is_like(children.all[i].name, own)) {
            return children.all[i].text;
        }
    }
    return own.permits > 0 ? find_semaphore(children) : NULL;
}

static const char *find_unknown(zkl_listed children, const zkl_contenders_place *place,
                                size_t end) {
    for (size_t i = children.known; i < end; i++) {
        if (children.all[i].name.kind == ZKL_NODE_UNKNOWN && counts(children.all[i], place)) {
            return children.all[i].text;
        }
    }
    return NULL;
}

/* Counts those of the first `end` that count: all but the companion, and twins of ours, which are
 * next to our place. */
static size_t count_earlier(zkl_listed children, const zkl_contenders_place *place, size_t end) {
    zkl_neighbour companion = zkl_neighbour_read(place->companion);
    zkl_neighbour mine = place->own;
    bool has_companion = contains(children, companion) && is_earlier(companion, mine);
    size_t earlier = end - (has_companion ? 1 : 0);
    for (size_t i = end; mine.text != NULL && i-- > 0;) {
        if (children.all[i].name.sequence != mine.name.sequence) {
            break;
        }
        earlier -= is_twin(children.all[i], mine) ? 1 : 0;
    }
    return earlier;
}

zkl_contenders_view zkl_contenders_examine(zkl_listed children, const zkl_contenders_place *place) {
    size_t room = zkl_contenders_room(place->own.name.permits);
    size_t end = find_end(children, place);
    size_t in_the_way = 0;
    zkl_contenders_view view = {
        .listed = place->own.text != NULL && contains(children, place->own),
        .accompanied =
            place->companion[0] == '\0' || contains(children, zkl_neighbour_read(place->companion)),
        .earlier = count_earlier(children, place, end),
        .unknown = find_unknown(children, place, end),
        .unlike = find_unlike(children, place, end),
    };
    for (size_t i = end; i-- > 0 && (in_the_way < room || view.unlent == NULL);) {
        if (is_in_the_way(children.all[i], place)) {
            in_the_way++;
            view.blocker = view.blocker != NULL ? view.blocker : children.all[i].text;
            if (view.unlent == NULL && !children.all[i].name.lent) {
                view.unlent = children.all[i].text;
            }
        }
    }
    if (in_the_way < room) {
        view.blocker = NULL;
    }
    return view;
}

/* ---- Who waits ------------------------------------------------------------------------- */

/* Finds the first request before this place, or, unless `may_read`, the first that does not read.
 * Its text is NULL: there is none. */
static zkl_neighbour find_first(zkl_listed children, const zkl_contenders_place *place,
                                bool may_read) {
    size_t end = find_end(children, place);
    for (size_t i = 0; i < end; i++) {
        zkl_neighbour child = children.all[i];
        if (counts(child, place) && (may_read || child.name.kind != ZKL_NODE_READ)) {
            return child;
        }
    }
    return (zkl_neighbour){ .text = NULL };
}

const char *zkl_contenders_find_first(zkl_listed children) {
    const zkl_contenders_place tail = { .companion = "" };
    return find_first(children, &tail, true).text;
}

/* Counts the requests that hold: all readers before the first other request, or if there are none,
 * that request. */
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
    size_t earlier = count_earlier(children, place, find_end(children, place));
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

/* Tells whether the last permit waits, which it does if any does. */
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

size_t zkl_contenders_find_nearest(zkl_listed children, const zkl_contenders_place *place,
                                   zkl_neighbour *nearest) {
    size_t most = zkl_contenders_room(place->own.name.permits);
    size_t left = most;
    for (size_t i = find_end(children, place); i-- > 0 && left > 0;) {
        if (is_in_the_way(children.all[i], place)) {
            nearest[--left] = children.all[i];
        }
    }
    memmove(nearest, nearest + left, (most - left) * sizeof(*nearest));
    return most - left;
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
