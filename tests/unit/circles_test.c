/* Circles of who waits for whom: by hand, and against all that can be tried. */
#include "administration/circles.h"

#include <stdio.h>
#include <string.h>

#include "support/unit.h"

enum { TEXT_SIZE = 4096, OWNERS_MAX = 6, WAITS_MAX = 64, GRAPHS = 3000, LONG_WAY = 200000 };

typedef struct circles {
    char text[TEXT_SIZE];
    size_t count;
    size_t most; /* 0: any number */
} circles;

static bool note(void *arg, const zkl_wait *const *waits, size_t length) {
    circles *found = arg;
    found->count++;
    for (size_t i = 0; i < length; i++) {
        size_t used = strlen(found->text);
        snprintf(found->text + used, TEXT_SIZE - used, "%s%zu", i > 0 ? ">" : "", waits[i]->from);
        EXPECT_INT(waits[i]->to, waits[(i + 1) % length]->from);
    }
    size_t used = strlen(found->text);
    snprintf(found->text + used, TEXT_SIZE - used, " ");
    return found->most == 0 || found->count < found->most;
}

static zkl_wait *list(zkl_wait *waits, size_t count) {
    for (size_t i = 0; i < count; i++) {
        waits[i].next = i + 1 < count ? &waits[i + 1] : NULL;
    }
    return count > 0 ? waits : NULL;
}

static circles find(size_t owners, zkl_wait *waits, size_t count) {
    circles found = { .count = 0 };
    EXPECT(zkl_circles_visit(owners, list(waits, count), note, &found));
    return found;
}

#define WAIT(its_from, its_to)                                                                     \
    { .from = (its_from), .to = (its_to) }

#define EXPECT_CIRCLES(owners, text_expected, ...)                                                 \
    do {                                                                                           \
        zkl_wait waits[] = { __VA_ARGS__ };                                                        \
        circles found = find((owners), waits, sizeof(waits) / sizeof(waits[0]));                   \
        EXPECT_TEXT(found.text, (text_expected));                                                  \
    } while (0)

TEST(who_waits_for_itself_is_a_circle) {
    EXPECT_CIRCLES(2, "1 ", WAIT(0, 1), WAIT(1, 1));
    EXPECT_CIRCLES(2, "0>1 1 ", WAIT(0, 1), WAIT(1, 1), WAIT(1, 0));
}

TEST(who_waits_for_a_circle_is_not_in_it) {
    EXPECT_CIRCLES(4, "1>2>3 ", WAIT(0, 1), WAIT(1, 2), WAIT(2, 3), WAIT(3, 1));
}

TEST(circles_that_share_owners_are_each_told) {
    EXPECT_CIRCLES(3, "0>1 0>1>2 ", WAIT(0, 1), WAIT(1, 0), WAIT(1, 2), WAIT(2, 0));
    EXPECT_CIRCLES(3, "0>1 0>1>2 0>2 0>2>1 1>2 ", WAIT(0, 1), WAIT(1, 0), WAIT(0, 2), WAIT(2, 0),
                   WAIT(1, 2), WAIT(2, 1));
}

static bool note_waiters(void *arg, const zkl_wait *const *waits, size_t length) {
    char *text = arg;
    for (size_t i = 0; i < length; i++) {
        size_t used = strlen(text);
        snprintf(text + used, TEXT_SIZE - used, "%zu behind %zu ", waits[i]->waiter,
                 waits[i]->earlier);
    }
    return true;
}

TEST(of_several_waits_between_two_owners_the_first_waiter_and_the_nearest_are_told) {
    char text[TEXT_SIZE] = "";
    zkl_wait waits[] = { { .from = 0, .to = 1, .waiter = 7, .earlier = 0 },
                         { .from = 1, .to = 0, .waiter = 4, .earlier = 0 },
                         { .from = 0, .to = 1, .waiter = 3, .earlier = 1 },
                         { .from = 0, .to = 1, .waiter = 3, .earlier = 2 },
                         { .from = 1, .to = 0, .waiter = 9, .earlier = 0 } };
    EXPECT(zkl_circles_visit(2, list(waits, 5), note_waiters, text));
    EXPECT_TEXT(text, "3 behind 2 4 behind 0 ");
}

TEST(visitor_that_has_had_enough_hears_no_more) {
    zkl_wait waits[] = { WAIT(0, 1), WAIT(1, 0), WAIT(0, 2), WAIT(2, 0), WAIT(3, 3) };
    circles found = { .most = 1 };
    EXPECT(zkl_circles_visit(4, list(waits, 5), note, &found));
    EXPECT_INT(found.count, 1);
}

static bool count_only(void *arg, const zkl_wait *const *waits, size_t length) {
    size_t *longest = arg;
    (void)waits;
    *longest = length;
    return true;
}

TEST(circle_of_any_length_needs_no_stack) {
    static zkl_wait waits[LONG_WAY];
    size_t longest = 0;
    for (size_t i = 0; i < LONG_WAY; i++) {
        waits[i] = (zkl_wait)WAIT(i, (i + 1) % LONG_WAY);
    }
    EXPECT(zkl_circles_visit(LONG_WAY, list(waits, LONG_WAY), count_only, &longest));
    EXPECT_INT(longest, LONG_WAY);
}

/* ---- Against all ways that there are -------------------------------------------------- */

typedef struct brute_force_search {
    bool waits[OWNERS_MAX][OWNERS_MAX];
    size_t owners;
    size_t way[OWNERS_MAX];
    bool used[OWNERS_MAX];
    circles found;
} brute_force_search;

static void note_way(brute_force_search *self, size_t length) {
    self->found.count++;
    for (size_t i = 0; i < length; i++) {
        size_t used = strlen(self->found.text);
        snprintf(self->found.text + used, TEXT_SIZE - used, "%s%zu", i > 0 ? ">" : "",
                 self->way[i]);
    }
    size_t used = strlen(self->found.text);
    snprintf(self->found.text + used, TEXT_SIZE - used, " ");
}

static void try_all(brute_force_search *self, size_t length) {
    size_t last = self->way[length - 1];
    for (size_t next = self->way[0]; next < self->owners; next++) {
        if (!self->waits[last][next]) {
            continue;
        }
        if (next == self->way[0]) {
            note_way(self, length);
        } else if (!self->used[next] && length < OWNERS_MAX) {
            self->used[next] = true;
            self->way[length] = next;
            try_all(self, length + 1);
            self->used[next] = false;
        }
    }
}

/* From its lowest owner on, in the order of the numbers: as the algorithm tells them. */
static void brute_force(brute_force_search *self) {
    for (size_t start = 0; start < self->owners; start++) {
        self->way[0] = start;
        try_all(self, 1);
    }
}

static size_t draw(brute_force_search *self, unit_random *random, zkl_wait *waits) {
    size_t count = 0;
    unsigned density = 1 + unit_random_below(random, 9);
    self->owners = 1 + unit_random_below(random, OWNERS_MAX);
    for (size_t i = 0; i < self->owners; i++) {
        for (size_t k = 0; k < self->owners; k++) {
            if (unit_random_below(random, 16) < density) {
                self->waits[i][k] = true;
                waits[count++] = (zkl_wait)WAIT(i, k);
            }
        }
    }
    return count;
}

TEST(random_graphs_have_the_circles_that_trying_all_ways_finds) {
    unit_random random = unit_random_begin(11);
    size_t all = 0;
    for (unsigned i = 0; i < GRAPHS; i++) {
        brute_force_search brute = { .owners = 0 };
        zkl_wait waits[WAITS_MAX];
        size_t count = draw(&brute, &random, waits);
        brute_force(&brute);
        circles found = find(brute.owners, waits, count);
        EXPECT_INT(found.count, brute.found.count);
        EXPECT_TEXT(found.text, brute.found.text);
        all += found.count;
    }
    EXPECT(all > GRAPHS); /* it was about something */
}
