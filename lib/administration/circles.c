#include "administration/circles.h"

#include <stdlib.h>

#include "base/pool.h"

/* An owner's waits are those from first_wait[owner] to before first_wait[owner + 1]. */
typedef struct graph {
    size_t owners;
    size_t count;
    const zkl_wait *waits; /* in the order of `from`, then `to` */
    size_t *first_wait;
    size_t *first_into; /* likewise, of `into` */
    size_t *into;       /* waits, by `to` */
    size_t *ways_on;    /* how many of its waits are for owners that are not left out */
    bool *left_out;     /* on no circle that is yet to be told */
    bool *on_way;
    size_t *way;       /* from the start */
    size_t *next_wait; /* by place on the way: to be looked at */
    const zkl_wait **circle;
    size_t *seen; /* the number of the search that saw it last */
    size_t searches;
    size_t *found; /* owners that a search has yet to go on from, or that are to be left out */
} graph;

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

static bool allocate(graph *self) {
    size_t sizes = (self->owners + 2) * sizeof(size_t);
    self->first_wait = zkl_pool_take(self, sizes);
    self->first_into = zkl_pool_take(self, sizes);
    self->into = zkl_pool_take(self, self->count * sizeof(size_t));
    self->ways_on = zkl_pool_take(self, sizes);
    self->left_out = zkl_pool_take(self, self->owners * sizeof(bool));
    self->on_way = zkl_pool_take(self, self->owners * sizeof(bool));
    self->way = zkl_pool_take(self, sizes);
    self->next_wait = zkl_pool_take(self, sizes);
    self->circle = zkl_pool_take(self, self->owners * sizeof(zkl_wait *));
    self->seen = zkl_pool_take(self, sizes);
    self->found = zkl_pool_take(self, sizes);
    return self->first_wait != NULL && self->first_into != NULL && self->into != NULL &&
           self->ways_on != NULL && self->left_out != NULL && self->on_way != NULL &&
           self->way != NULL && self->next_wait != NULL && self->circle != NULL &&
           self->seen != NULL && self->found != NULL;
}

static void index_waits(graph *self) {
    for (size_t i = 0; i < self->count; i++) {
        self->first_wait[self->waits[i].from + 1]++;
        self->first_into[self->waits[i].to + 2]++;
        self->ways_on[self->waits[i].from]++;
    }
    for (size_t i = 0; i < self->owners; i++) {
        self->first_wait[i + 1] += self->first_wait[i];
        self->first_into[i + 2] += self->first_into[i + 1];
    }
    for (size_t i = 0; i < self->count; i++) { /* each begins where the one before it ends */
        self->into[self->first_into[self->waits[i].to + 1]++] = i;
    }
}

/* ---- What is on no circle ------------------------------------------------------------------- */

/* And all that can go nowhere else. */
static void leave_out(graph *self, size_t owner) {
    size_t count = 0;
    self->left_out[owner] = true;
    self->found[count++] = owner;
    while (count > 0) {
        size_t gone = self->found[--count];
        for (size_t i = self->first_into[gone]; i < self->first_into[gone + 1]; i++) {
            size_t from = self->waits[self->into[i]].from;
            self->ways_on[from]--;
            if (self->ways_on[from] == 0 && !self->left_out[from]) {
                self->left_out[from] = true;
                self->found[count++] = from;
            }
        }
    }
}

static void leave_out_ends(graph *self) {
    for (size_t owner = 0; owner < self->owners; owner++) {
        bool is_end = self->first_wait[owner] == self->first_wait[owner + 1];
        if (is_end && !self->left_out[owner]) {
            leave_out(self, owner);
        }
    }
}

/* ---- Circles -------------------------------------------------------------------------------- */

/* Whether there is a way from one owner to another beside the way that was taken. */
static bool reaches(graph *self, size_t from, size_t to) {
    size_t count = 0;
    self->searches++;
    self->found[count++] = from;
    while (count > 0) {
        size_t owner = self->found[--count];
        for (size_t i = self->first_wait[owner]; i < self->first_wait[owner + 1]; i++) {
            size_t next = self->waits[i].to;
            if (next == to) {
                return true;
            }
            if (!self->left_out[next] && !self->on_way[next] &&
                self->seen[next] != self->searches) {
                self->seen[next] = self->searches;
                self->found[count++] = next;
            }
        }
    }
    return false;
}

/* Where there is only one way on, it is one that leads to the start. */
static bool leads_on(graph *self, const zkl_wait *wait, size_t start) {
    bool is_open = !self->left_out[wait->to] && !self->on_way[wait->to];
    return is_open && (self->ways_on[wait->from] == 1 || reaches(self, wait->to, start));
}

static void enter(graph *self, size_t owner, size_t place) {
    self->way[place] = owner;
    self->next_wait[place] = self->first_wait[owner];
    self->on_way[owner] = true;
}

/* All circles through the start. False: the visitor has had enough. */
static bool visit_through(graph *self, size_t start, zkl_circle_callback *visit, void *arg) {
    size_t length = 1;
    enter(self, start, 0);
    while (length > 0) {
        size_t owner = self->way[length - 1];
        if (self->next_wait[length - 1] == self->first_wait[owner + 1]) {
            self->on_way[owner] = false;
            length--;
            continue;
        }
        const zkl_wait *wait = &self->waits[self->next_wait[length - 1]++];
        self->circle[length - 1] = wait;
        if (wait->to == start) {
            if (!visit(arg, self->circle, length)) {
                return false;
            }
        } else if (leads_on(self, wait, start)) {
            enter(self, wait->to, length++);
        }
    }
    return true;
}

/* Each circle is found from its lowest owner, which is then left out. */
static void visit_all(graph *self, zkl_circle_callback *visit, void *arg) {
    for (size_t start = 0; start < self->owners; start++) {
        if (self->left_out[start]) {
            continue;
        }
        if (reaches(self, start, start) && !visit_through(self, start, visit, arg)) {
            return;
        }
        leave_out(self, start);
    }
}

bool zkl_circles_visit(size_t owners, zkl_wait *waits, size_t count, zkl_circle_callback *visit,
                       void *arg) {
    graph *self = zkl_pool_make(sizeof(*self));
    if (self == NULL) {
        return false;
    }
    self->owners = owners;
    self->count = sort_and_leave_out_doubles(waits, count);
    self->waits = waits;
    bool done = allocate(self);
    if (done) {
        index_waits(self);
        leave_out_ends(self);
        visit_all(self, visit, arg);
    }
    zkl_pool_free(self);
    return done;
}
