#include "administration/circles.h"

#include <stdlib.h>

#include "base/pool.h"
#include "zklock/zklock.h"

typedef struct owner {
    size_t first_wait; /* its waits: up to the next owner's first */
    size_t first_into; /* the same of `into`: the waits for it */
    size_t ways_on;    /* how many of its waits are for owners that are not left out */
    size_t next_wait;  /* to be looked at, while it is on the way */
    size_t seen;       /* the number of the search that saw it last */
    bool left_out;     /* on no circle that is yet to be told */
    bool on_way;
} owner;

typedef struct graph {
    zkl_pool pool;
    owner *owners;
    size_t owner_count;
    const zkl_wait *waits; /* in the order of `from`, then `to` */
    size_t wait_count;
    size_t *into;            /* waits, by `to` */
    const zkl_wait **circle; /* the way from the start */
    size_t searches;
    size_t *found; /* owners that a search has yet to go on from, or that are to be left out */
} graph;

/* ---- Making it ----------------------------------------------------------------------- */

static int compare(const void *one, const void *other) {
    const zkl_wait *first = one;
    const zkl_wait *second = other;
    const size_t mine[] = { first->from, first->to, first->waiter, second->earlier };
    const size_t its[] = { second->from, second->to, second->waiter, first->earlier };
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
    self->owners = zkl_pool_take(&self->pool, (self->owner_count + 2) * sizeof(*self->owners));
    self->into = zkl_pool_take(&self->pool, self->wait_count * sizeof(*self->into));
    self->circle = zkl_pool_take(&self->pool, self->owner_count * sizeof(zkl_wait *));
    self->found = zkl_pool_take(&self->pool, (self->owner_count + 1) * sizeof(*self->found));
    return zkl_pool_status(&self->pool) == ZKL_OK;
}

static void index_waits(graph *self) {
    owner *owners = self->owners;
    for (size_t i = 0; i < self->wait_count; i++) {
        owners[self->waits[i].from + 1].first_wait++;
        owners[self->waits[i].to + 2].first_into++;
        owners[self->waits[i].from].ways_on++;
    }
    for (size_t i = 0; i < self->owner_count; i++) {
        owners[i + 1].first_wait += owners[i].first_wait;
        owners[i + 2].first_into += owners[i + 1].first_into;
    }
    for (size_t i = 0; i < self->wait_count; i++) { /* each begins where the one before it ends */
        self->into[owners[self->waits[i].to + 1].first_into++] = i;
    }
}

/* ---- What is on no circle ------------------------------------------------------------------- */

/* And all that can go nowhere else. */
static void leave_out(graph *self, size_t number) {
    size_t count = 0;
    self->owners[number].left_out = true;
    self->found[count++] = number;
    while (count > 0) {
        const owner *gone = &self->owners[self->found[--count]];
        for (size_t i = gone->first_into; i < gone[1].first_into; i++) {
            size_t from = self->waits[self->into[i]].from;
            owner *waiter = &self->owners[from];
            waiter->ways_on--;
            if (waiter->ways_on == 0 && !waiter->left_out) {
                waiter->left_out = true;
                self->found[count++] = from;
            }
        }
    }
}

static void leave_out_ends(graph *self) {
    for (size_t i = 0; i < self->owner_count; i++) {
        bool is_end = self->owners[i].first_wait == self->owners[i + 1].first_wait;
        if (is_end && !self->owners[i].left_out) {
            leave_out(self, i);
        }
    }
}

/* ---- Circles -------------------------------------------------------------------------------- */

static bool is_open(const owner *one) {
    return !one->left_out && !one->on_way;
}

/* Whether there is a way from one owner to another beside the way that was taken. */
static bool reaches(graph *self, size_t from, size_t to) {
    size_t count = 0;
    self->searches++;
    self->found[count++] = from;
    while (count > 0) {
        const owner *one = &self->owners[self->found[--count]];
        for (size_t i = one->first_wait; i < one[1].first_wait; i++) {
            size_t number = self->waits[i].to;
            owner *next = &self->owners[number];
            if (number == to) {
                return true;
            }
            if (is_open(next) && next->seen != self->searches) {
                next->seen = self->searches;
                self->found[count++] = number;
            }
        }
    }
    return false;
}

/* Where there is only one way on, it is one that leads to the start. */
static bool leads_on(graph *self, const zkl_wait *wait, size_t start) {
    return is_open(&self->owners[wait->to]) &&
           (self->owners[wait->from].ways_on == 1 || reaches(self, wait->to, start));
}

static owner *enter(graph *self, size_t number) {
    owner *one = &self->owners[number];
    one->next_wait = one->first_wait;
    one->on_way = true;
    return one;
}

/* All circles through the start. False: the visitor has had enough. */
static bool visit_through(graph *self, size_t start, zkl_circle_callback *visit, void *arg) {
    size_t length = 0;
    owner *last = enter(self, start);
    while (last->next_wait < last[1].first_wait || length > 0) {
        if (last->next_wait == last[1].first_wait) {
            last->on_way = false;
            last = &self->owners[self->circle[--length]->from];
            continue;
        }
        const zkl_wait *wait = &self->waits[last->next_wait++];
        self->circle[length] = wait;
        if (wait->to == start) {
            if (!visit(arg, self->circle, length + 1)) {
                return false;
            }
        } else if (leads_on(self, wait, start)) {
            last = enter(self, wait->to);
            length++;
        }
    }
    return true;
}

/* Each circle is found from its lowest owner, which is then left out. */
static void visit_all(graph *self, zkl_circle_callback *visit, void *arg) {
    for (size_t start = 0; start < self->owner_count; start++) {
        if (self->owners[start].left_out) {
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
    graph self = { .owner_count = owners,
                   .waits = waits,
                   .wait_count = sort_and_leave_out_doubles(waits, count) };
    bool done = allocate(&self);
    if (done) {
        index_waits(&self);
        leave_out_ends(&self);
        visit_all(&self, visit, arg);
    }
    zkl_pool_free(&self.pool);
    return done;
}
