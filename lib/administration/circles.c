#include "administration/circles.h"

#include <utlist.h>

#include "base/pool.h"
#include "zklock/zklock.h"

typedef struct owner {
    zkl_wait *on;         /* its waits, the lowest `to` first */
    zkl_wait *into;       /* the waits for it */
    const zkl_wait *next; /* while it is on the path: which of its waits is followed next */
    size_t waits_left;    /* how many of its waits are for owners that are not left out */
    size_t seen;          /* the number of the search that saw it last */
    struct owner *below;  /* the one below it on a stack */
    bool left_out;        /* it is on no circle that has not been visited yet */
    bool on_path;
} owner;

typedef struct graph {
    zkl_pool pool;
    owner *owners;
    size_t owner_count;
    const zkl_wait **circle; /* the path from the start */
    size_t searches;
} graph;

/* ---- Making it ----------------------------------------------------------------------- */

/* Compares for a list in which the greatest comes first. */
static int circles_compare(const zkl_wait *one, const zkl_wait *other) {
    const size_t its[] = { one->from, one->to, one->waiter, other->earlier };
    const size_t others[] = { other->from, other->to, other->waiter, one->earlier };
    size_t i = 0;
    while (i < 3 && its[i] == others[i]) {
        i++;
    }
    return its[i] > others[i] ? -1 : its[i] < others[i];
}

/* Gives each owner the list of its waits, which begins with the lowest `to`, and the list of the
 * waits for it. */
static void add_waits(graph *self, zkl_wait *waits) {
    LL_SORT(waits, circles_compare);
    for (zkl_wait *wait = waits; wait != NULL; wait = wait->next) {
        const zkl_wait *better = wait->next;
        if (better == NULL || better->from != wait->from || better->to != wait->to) {
            LL_PREPEND2(self->owners[wait->from].on, wait, next_on);
            LL_PREPEND2(self->owners[wait->to].into, wait, next_into);
            self->owners[wait->from].waits_left++;
        }
    }
}

/* ---- What is on no circle ------------------------------------------------------------------- */

/* Leaves out an owner, and all owners that wait only for such. */
static void leave_out(graph *self, owner *end) {
    owner *found = NULL;
    end->left_out = true;
    LL_PREPEND2(found, end, below);
    while (found != NULL) {
        const owner *gone = found;
        found = found->below;
        for (const zkl_wait *wait = gone->into; wait != NULL; wait = wait->next_into) {
            owner *waiter = &self->owners[wait->from];
            waiter->waits_left--;
            if (waiter->waits_left == 0 && !waiter->left_out) {
                waiter->left_out = true;
                LL_PREPEND2(found, waiter, below);
            }
        }
    }
}

static void leave_out_ends(graph *self) {
    for (size_t i = 0; i < self->owner_count; i++) {
        owner *one = &self->owners[i];
        if (one->on == NULL && !one->left_out) {
            leave_out(self, one);
        }
    }
}

/* ---- Circles -------------------------------------------------------------------------------- */

static bool is_open(const owner *one) {
    return !one->left_out && !one->on_path;
}

/* Tells whether a path leads from one owner to another that does not touch the path taken so far.
 */
static bool reaches(graph *self, owner *from, const owner *to) {
    owner *found = NULL;
    self->searches++;
    LL_PREPEND2(found, from, below);
    while (found != NULL) {
        const owner *one = found;
        found = found->below;
        for (const zkl_wait *wait = one->on; wait != NULL; wait = wait->next_on) {
            owner *next = &self->owners[wait->to];
            if (next == to) {
                return true;
            }
            if (is_open(next) && next->seen != self->searches) {
                next->seen = self->searches;
                LL_PREPEND2(found, next, below);
            }
        }
    }
    return false;
}

static owner *enter(owner *one) {
    one->next = one->on;
    one->on_path = true;
    return one;
}

/* Visits all circles through the start. If an owner waits for only one that is not left out, that
 * wait leads to the start. False: the visitor wants no more. */
static bool visit_through(graph *self, owner *start, zkl_circle_callback *visit, void *arg) {
    size_t length = 0;
    owner *last = enter(start);
    while (last->next != NULL || length > 0) {
        const zkl_wait *wait = last->next;
        if (wait == NULL) {
            last->on_path = false;
            last = &self->owners[self->circle[--length]->from];
            continue;
        }
        owner *to = &self->owners[wait->to];
        last->next = wait->next_on;
        self->circle[length] = wait;
        if (to == start) {
            if (!visit(arg, self->circle, length + 1)) {
                return false;
            }
        } else if (is_open(to) && (last->waits_left == 1 || reaches(self, to, start))) {
            last = enter(to);
            length++;
        }
    }
    return true;
}

/* Visits all circles, each from its lowest owner, which is then left out. */
static void visit_all(graph *self, zkl_circle_callback *visit, void *arg) {
    bool goes_on = true;
    leave_out_ends(self);
    for (size_t i = 0; i < self->owner_count && goes_on; i++) {
        owner *start = &self->owners[i];
        if (!start->left_out) {
            goes_on = !reaches(self, start, start) || visit_through(self, start, visit, arg);
            leave_out(self, start);
        }
    }
}

bool zkl_circles_visit(size_t owners, zkl_wait *waits, zkl_circle_callback *visit, void *arg) {
    graph self = { .owner_count = owners };
    self.owners = zkl_pool_take(&self.pool, owners * sizeof(*self.owners));
    self.circle = zkl_pool_take(&self.pool, owners * sizeof(zkl_wait *));
    bool done = zkl_pool_status(&self.pool) == ZKL_OK;
    if (done) {
        add_waits(&self, waits);
        visit_all(&self, visit, arg);
    }
    zkl_pool_free(&self.pool);
    return done;
}
