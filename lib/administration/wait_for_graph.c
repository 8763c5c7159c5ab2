#include "administration/wait_for_graph.h"

#include <stdlib.h>
#include <string.h>

/* Of `order`: not discovered yet; not to be. */
#define NOT_YET ((size_t)-1)
#define LEFT_OUT ((size_t)-2)

/* An owner's waits are those from first_wait[owner] to before first_wait[owner + 1]. */
typedef struct wait_graph {
    size_t owners;
    size_t count;
    const zkl_wait *waits; /* in the order of `from`, then `to` */
    size_t *first_wait;
    size_t *first_into; /* likewise, of `into` */
    size_t *into;       /* waits, by `to` */
    /* Strong components. */
    size_t components;
    size_t *component; /* the number of each owner's */
    size_t *order;     /* in which owners were found */
    size_t discovered;
    size_t *low;
    size_t *members; /* owners of one component */
    size_t stacked;
    size_t *stack; /* of owners whose component is not complete */
    bool *on_stack;
    /* The way from the start, and how far each owner on it has been looked at. */
    size_t *way;
    size_t *next_wait;
    /* Johnson's. */
    bool *blocked;
    bool *unblocks; /* by wait: when its `to` is unblocked, its `from` is as well */
    bool *found;    /* by place on the way: a circle goes through it */
    const zkl_wait **circle;
} wait_graph;

/* ---- Making it ----------------------------------------------------------------------- */

static int compare(const void *one, const void *other) {
    const zkl_wait *first = one;
    const zkl_wait *second = other;
    const size_t mine[] = { first->from, first->to, first->label };
    const size_t its[] = { second->from, second->to, second->label };
    for (size_t i = 0; i < sizeof(mine) / sizeof(mine[0]); i++) {
        if (mine[i] != its[i]) {
            return mine[i] < its[i] ? -1 : 1;
        }
    }
    return 0;
}

static size_t sort_and_leave_out_doubles(zkl_wait *waits, size_t count) {
    size_t left = 0;
    if (count > 0) {
        qsort(waits, count, sizeof(*waits), compare);
    }
    for (size_t i = 0; i < count; i++) {
        bool is_double =
            left > 0 && waits[left - 1].from == waits[i].from && waits[left - 1].to == waits[i].to;
        if (!is_double) {
            waits[left++] = waits[i];
        }
    }
    return left;
}

static void free_graph(wait_graph *graph) {
    free(graph->first_wait);
    free(graph->first_into);
    free(graph->into);
    free(graph->component);
    free(graph->order);
    free(graph->low);
    free(graph->members);
    free(graph->stack);
    free(graph->on_stack);
    free(graph->way);
    free(graph->next_wait);
    free(graph->blocked);
    free(graph->unblocks);
    free(graph->found);
    free(graph->circle);
}

static bool allocate(wait_graph *graph) {
    size_t owners = graph->owners + 2; /* none of them is to be empty */
    size_t waits = graph->count + 1;
    graph->first_wait = calloc(owners, sizeof(size_t));
    graph->first_into = calloc(owners, sizeof(size_t));
    graph->into = calloc(waits, sizeof(size_t));
    graph->component = calloc(owners, sizeof(size_t));
    graph->order = calloc(owners, sizeof(size_t));
    graph->low = calloc(owners, sizeof(size_t));
    graph->members = calloc(owners, sizeof(size_t));
    graph->stack = calloc(owners, sizeof(size_t));
    graph->on_stack = calloc(owners, sizeof(bool));
    graph->way = calloc(owners, sizeof(size_t));
    graph->next_wait = calloc(owners, sizeof(size_t));
    graph->blocked = calloc(owners, sizeof(bool));
    graph->unblocks = calloc(waits, sizeof(bool));
    graph->found = calloc(owners, sizeof(bool));
    graph->circle = calloc(owners, sizeof(zkl_wait *));
    return graph->first_wait != NULL && graph->first_into != NULL && graph->into != NULL &&
           graph->component != NULL && graph->order != NULL && graph->low != NULL &&
           graph->members != NULL && graph->stack != NULL && graph->on_stack != NULL &&
           graph->way != NULL && graph->next_wait != NULL && graph->blocked != NULL &&
           graph->unblocks != NULL && graph->found != NULL && graph->circle != NULL;
}

static void add_up(size_t *first, size_t owners) {
    for (size_t i = 0; i < owners; i++) {
        first[i + 1] += first[i];
    }
}

static void index_waits(wait_graph *graph) {
    for (size_t i = 0; i < graph->count; i++) {
        graph->first_wait[graph->waits[i].from + 1]++;
        graph->first_into[graph->waits[i].to + 1]++;
    }
    add_up(graph->first_wait, graph->owners);
    add_up(graph->first_into, graph->owners);
    memcpy(graph->next_wait, graph->first_into, graph->owners * sizeof(size_t));
    for (size_t i = 0; i < graph->count; i++) {
        graph->into[graph->next_wait[graph->waits[i].to]++] = i;
    }
}

/* ---- Strong components ------------------------------------------------------------------- */

static void discover(wait_graph *graph, size_t owner) {
    graph->order[owner] = graph->discovered;
    graph->low[owner] = graph->discovered++;
    graph->stack[graph->stacked++] = owner;
    graph->on_stack[owner] = true;
    graph->next_wait[owner] = graph->first_wait[owner];
}

static void complete(wait_graph *graph, size_t owner) {
    size_t member = LEFT_OUT;
    if (graph->low[owner] != graph->order[owner]) {
        return;
    }
    while (member != owner) {
        member = graph->stack[--graph->stacked];
        graph->on_stack[member] = false;
        graph->component[member] = graph->components;
    }
    graph->components++;
}

static size_t lower(size_t one, size_t other) {
    return one < other ? one : other;
}

/* All that can be reached from one owner, depth first. */
static void search_from(wait_graph *graph, size_t start) {
    size_t length = 0;
    discover(graph, start);
    graph->way[length++] = start;
    while (length > 0) {
        size_t owner = graph->way[length - 1];
        if (graph->next_wait[owner] < graph->first_wait[owner + 1]) {
            size_t to = graph->waits[graph->next_wait[owner]++].to;
            if (graph->order[to] == NOT_YET) {
                discover(graph, to);
                graph->way[length++] = to;
            } else if (graph->on_stack[to]) {
                graph->low[owner] = lower(graph->low[owner], graph->order[to]);
            }
            continue;
        }
        length--;
        complete(graph, owner);
        if (length > 0) {
            size_t above = graph->way[length - 1];
            graph->low[above] = lower(graph->low[above], graph->low[owner]);
        }
    }
}

/* Divides these owners into strong components, as if there were no others. */
static void divide(wait_graph *graph, const size_t *owners, size_t count) {
    graph->discovered = 0;
    for (size_t i = 0; i < count; i++) {
        graph->order[owners[i]] = NOT_YET;
    }
    for (size_t i = 0; i < count; i++) {
        if (graph->order[owners[i]] == NOT_YET) {
            search_from(graph, owners[i]);
        }
    }
    for (size_t i = 0; i < count; i++) {
        graph->order[owners[i]] = LEFT_OUT;
    }
}

static void divide_all(wait_graph *graph) {
    for (size_t i = 0; i < graph->owners; i++) {
        graph->members[i] = i;
        graph->order[i] = LEFT_OUT;
    }
    divide(graph, graph->members, graph->owners);
}

/* The owners of a component, this one first: all of them can be reached from each. */
static size_t collect(wait_graph *graph, size_t owner) {
    size_t count = 1;
    graph->members[0] = owner;
    graph->on_stack[owner] = true;
    for (size_t next = 0; next < count; next++) {
        size_t member = graph->members[next];
        for (size_t i = graph->first_wait[member]; i < graph->first_wait[member + 1]; i++) {
            size_t to = graph->waits[i].to;
            if (graph->component[to] == graph->component[owner] && !graph->on_stack[to]) {
                graph->on_stack[to] = true;
                graph->members[count++] = to;
            }
        }
    }
    for (size_t i = 0; i < count; i++) {
        graph->on_stack[graph->members[i]] = false;
    }
    return count;
}

/* ---- Circles -------------------------------------------------------------------------------- */

/* Whoever could not go on only because of this owner may try again. */
static void unblock(wait_graph *graph, size_t owner) {
    size_t count = 0;
    graph->stack[count++] = owner;
    graph->blocked[owner] = false;
    while (count > 0) {
        size_t free_now = graph->stack[--count];
        for (size_t i = graph->first_into[free_now]; i < graph->first_into[free_now + 1]; i++) {
            size_t wait = graph->into[i];
            size_t from = graph->waits[wait].from;
            if (graph->unblocks[wait] && graph->blocked[from]) {
                graph->blocked[from] = false;
                graph->stack[count++] = from;
            }
            graph->unblocks[wait] = false;
        }
    }
}

static bool is_in_part(const wait_graph *graph, size_t owner, size_t part) {
    return graph->component[owner] == part;
}

static void enter(wait_graph *graph, size_t owner, size_t place) {
    graph->way[place] = owner;
    graph->next_wait[owner] = graph->first_wait[owner];
    graph->blocked[owner] = true;
    graph->found[place] = false;
}

/* The way ends here for now: with a circle it may be taken again, else not before one of
 * those that are next to it can be. */
static void leave(wait_graph *graph, size_t place, size_t part) {
    size_t owner = graph->way[place];
    if (graph->found[place]) {
        unblock(graph, owner);
        if (place > 0) {
            graph->found[place - 1] = true;
        }
        return;
    }
    for (size_t i = graph->first_wait[owner]; i < graph->first_wait[owner + 1]; i++) {
        graph->unblocks[i] = is_in_part(graph, graph->waits[i].to, part);
    }
}

/* All circles through the start, within its component. False: the visitor has had enough. */
static bool visit_through(wait_graph *graph, size_t start, zkl_circle_callback *visit, void *arg) {
    size_t part = graph->component[start];
    size_t length = 1;
    enter(graph, start, 0);
    while (length > 0) {
        size_t owner = graph->way[length - 1];
        if (graph->next_wait[owner] == graph->first_wait[owner + 1]) {
            leave(graph, --length, part);
            continue;
        }
        const zkl_wait *wait = &graph->waits[graph->next_wait[owner]++];
        graph->circle[length - 1] = wait;
        if (wait->to == start) {
            graph->found[length - 1] = true;
            if (!visit(arg, graph->circle, length)) {
                return false;
            }
        } else if (is_in_part(graph, wait->to, part) && !graph->blocked[wait->to]) {
            enter(graph, wait->to, length++);
        }
    }
    return true;
}

/* Whether it waits for another owner of its component, or for itself. */
static bool has_circle(const wait_graph *graph, size_t owner) {
    for (size_t i = graph->first_wait[owner]; i < graph->first_wait[owner + 1]; i++) {
        if (graph->component[graph->waits[i].to] == graph->component[owner]) {
            return true;
        }
    }
    return false;
}

static void forget_search(wait_graph *graph, size_t owner) {
    size_t first = graph->first_wait[owner];
    graph->blocked[owner] = false;
    memset(graph->unblocks + first, 0, (graph->first_wait[owner + 1] - first) * sizeof(bool));
}

/* Each circle is found from its lowest owner, which is then taken out, and what is left of its
 * component divided anew. */
static void visit_all(wait_graph *graph, zkl_circle_callback *visit, void *arg) {
    for (size_t start = 0; start < graph->owners; start++) {
        if (!has_circle(graph, start)) {
            continue;
        }
        size_t count = collect(graph, start);
        for (size_t i = 0; i < count; i++) {
            forget_search(graph, graph->members[i]);
        }
        if (!visit_through(graph, start, visit, arg)) {
            return;
        }
        graph->component[start] = graph->components++;
        divide(graph, graph->members + 1, count - 1);
    }
}

bool zkl_wait_for_graph_visit_circles(size_t owners, zkl_wait *waits, size_t count,
                                      zkl_circle_callback *visit, void *arg) {
    wait_graph graph = { .owners = owners,
                         .count = sort_and_leave_out_doubles(waits, count),
                         .waits = waits };
    bool done = allocate(&graph);
    if (done) {
        index_waits(&graph);
        divide_all(&graph);
        visit_all(&graph, visit, arg);
    }
    free_graph(&graph);
    return done;
}
