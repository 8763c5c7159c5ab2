/*
 * Order and blocking: every queue of up to six mixed requests (QUEUE_MAX, which
 * comes from CMake: five under valgrind), in several orders of arrival, against
 * the rule as it is stated:
 *
 *     Sort all requests by sequence as a number; equal ones write before read,
 *     then by name. A request waits for the last one before it that conflicts
 *     with it, unless that is its own twin. Two requests conflict unless both
 *     read. A permit of n waits for the last one before it if there are n or more.
 *
 * The rule knows the kind and number of each request from the test that made
 * it, and never reads a name.
 */
#include "recipe/contenders.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/listed.h"
#include "support/names.h"
#include "support/unit.h"

enum { ORDERS = 4 };

/* Letters of names.h; 'j' is a child that is no request. */
#define ALL_KINDS "xrwkquj"

typedef struct queued {
    char letter;
    int32_t sequence;
    unsigned owner;
    char name[NAME_SIZE];
} queued;

typedef struct queue {
    queued list[QUEUE_MAX];
    size_t count;
} queue;

/* How sequences and owners are given out; the place in line is `i`. */
typedef struct numbers {
    const char *name;
    const char *kinds;
    int32_t first;
    int32_t ties;   /* so many requests in a row share a sequence */
    unsigned pairs; /* so many in a row belong to one owner */
} numbers;

static const numbers numberings[] = {
    { "plain", ALL_KINDS, 7, 1, 1 },       /* 7 to 12: more digits on the way */
    { "around zero", "xrwkqj", -3, 1, 1 }, /* unknown kinds have no negative numbers */
    { "ties of strangers", ALL_KINDS, 998, 2, 1 },
    { "ties of one owner", ALL_KINDS, 0, 2, 2 },
    { "three of one sequence", ALL_KINDS, 5, 3, 2 },
    { "permits", "ptxrj", 3, 1, 1 },
};

/* ---- The rule, stated ---------------------------------------------------------- */

static bool reads(const queued *contender) {
    return contender->letter == 'r' || contender->letter == 'q';
}

static int compare(const void *left, const void *right) {
    const queued *one = *(const queued *const *)left;
    const queued *other = *(const queued *const *)right;
    if (one->sequence != other->sequence) {
        return one->sequence < other->sequence ? -1 : 1;
    }
    if (reads(one) != reads(other)) {
        return reads(one) ? 1 : -1;
    }
    return strcmp(one->name, other->name);
}

static bool are_twins(const queued *one, const queued *other) {
    /* Only names of Curator's shape say whose they are. */
    bool curator = strchr("xrwpt", one->letter) != NULL && strchr("xrwpt", other->letter) != NULL;
    return curator && one->owner == other->owner && one->sequence == other->sequence;
}

/* Of the semaphore whose permit it is; 0: it is none. */
static size_t permits_of(const queued *contender) {
    return contender->letter == 'p' ? 2 : contender->letter == 't' ? 3 : 0;
}

static const queued *blocker_by_the_rule(const queue *contest, const queued *own) {
    const queued *sorted[QUEUE_MAX] = { NULL };
    size_t count = 0;
    for (size_t i = 0; i < contest->count; i++) {
        if (contest->list[i].letter != 'j') {
            sorted[count++] = &contest->list[i];
        }
    }
    qsort(sorted, count, sizeof(sorted[0]), compare);
    const queued *blocker = NULL;
    size_t earlier = 0;
    for (size_t i = 0; i < count && sorted[i] != own; i++, earlier++) {
        bool conflict = !(reads(own) && reads(sorted[i]));
        if (conflict && !are_twins(own, sorted[i])) {
            blocker = sorted[i];
        }
    }
    return earlier < permits_of(own) ? NULL : blocker;
}

static bool unlike_is_before(const queue *contest, const queued *own) {
    for (size_t i = 0; i < contest->count; i++) {
        const queued *other = &contest->list[i];
        const queued *pair[] = { other, own };
        if (other->letter != 'j' && other->letter != own->letter &&
            compare(&pair[0], &pair[1]) < 0) {
            return true;
        }
    }
    return false;
}

static bool unknown_waits_before(const queue *contest, const queued *own) {
    for (size_t i = 0; i < contest->count; i++) {
        const queued *other = &contest->list[i];
        const queued *pair[] = { other, own };
        if (other->letter == 'u' && compare(&pair[0], &pair[1]) < 0) {
            return true;
        }
    }
    return false;
}

/* Those who do not wait for one another are counted as well. */
static size_t earlier_by_the_rule(const queue *contest, const queued *own) {
    size_t earlier = 0;
    for (size_t i = 0; i < contest->count; i++) {
        const queued *other = &contest->list[i];
        const queued *pair[] = { other, own };
        bool is_before = other->letter != 'j' && compare(&pair[0], &pair[1]) < 0;
        earlier += is_before && !are_twins(own, other) ? 1U : 0U;
    }
    return earlier;
}

/* ---- The queues ------------------------------------------------------------------ */

static queue make_contest(size_t count, size_t number, const numbers *numbering) {
    queue contest = { .count = count };
    size_t kinds = strlen(numbering->kinds);
    for (size_t i = 0; i < count; i++) {
        queued *contender = &contest.list[i];
        char guid[NAME_GUID_SIZE];
        contender->letter = numbering->kinds[number % kinds];
        contender->sequence = numbering->first + (int32_t)i / numbering->ties;
        contender->owner = (unsigned)i / numbering->pairs;
        name_other_guid(guid, contender->owner);
        name_other(contender->name, contender->letter, guid, contender->sequence);
        number /= kinds;
    }
    return contest;
}

/* The server lists children in no order. */
static zkl_listed list_in_order(const queue *contest, unsigned order,
                                const char *names[QUEUE_MAX]) {
    size_t count = contest->count;
    for (size_t i = 0; i < count; i++) {
        size_t from[ORDERS] = { i, count - 1 - i, (i + count / 2) % count, 0 };
        from[3] = i % 2 == 0 ? i / 2 : count - 1 - i / 2;
        names[i] = contest->list[from[order]].name;
    }
    return listed((zkl_children){ names, count });
}

static void expect_rule(const queue *contest, const queued *own, zkl_listed children,
                        const char *what) {
    zkl_contenders_place place = { .own = zkl_neighbour_read(own->name), .companion = "" };
    zkl_contenders_view view = zkl_contenders_examine(children, &place);
    const queued *expected = blocker_by_the_rule(contest, own);
    const char *blocker = view.blocker != NULL ? view.blocker : "nobody";
    unit_check(view.listed, __FILE__, __LINE__, "%s: %s is not seen in its list", what, own->name);
    unit_check(strcmp(blocker, expected != NULL ? expected->name : "nobody") == 0, __FILE__,
               __LINE__, "%s: %s waits for %s, expected %s", what, own->name, blocker,
               expected != NULL ? expected->name : "nobody");
    size_t earlier = earlier_by_the_rule(contest, own);
    if (view.earlier != earlier) { /* of millions that hold, none costs an assertion */
        unit_check(false, __FILE__, __LINE__, "%s: %zu are before %s, expected %zu", what,
                   view.earlier, own->name, earlier);
    }
    bool unlike = permits_of(own) > 0 && unlike_is_before(contest, own);
    unit_check((view.unlike != NULL) == unlike, __FILE__, __LINE__, "%s: %s is told of %s", what,
               own->name, view.unlike != NULL ? view.unlike : "nobody who differs");
    bool unknown = unknown_waits_before(contest, own);
    unit_check((view.unknown != NULL) == unknown, __FILE__, __LINE__,
               "%s: %s is told of an unknown kind: %s", what, own->name,
               view.unknown != NULL ? view.unknown : "none");
}

/* Names that one server cannot hold at the same time: twins of one kind. */
static bool has_equal_names(const queue *contest) {
    for (size_t i = 1; i < contest->count; i++) {
        for (size_t k = 0; k < i; k++) {
            if (strcmp(contest->list[i].name, contest->list[k].name) == 0) {
                return true;
            }
        }
    }
    return false;
}

static void expect_rule_for_all(const queue *contest, const char *what) {
    const char *names[QUEUE_MAX];
    for (unsigned order = 0; order < ORDERS; order++) {
        zkl_listed children = list_in_order(contest, order, names);
        for (size_t i = 0; i < contest->count; i++) {
            if (strchr("xrwpt", contest->list[i].letter) != NULL) { /* the kinds that we make */
                expect_rule(contest, &contest->list[i], children, what);
            }
        }
    }
}

static size_t power(size_t base, size_t exponent) {
    size_t result = 1;
    while (exponent-- > 0) {
        result *= base;
    }
    return result;
}

static void try_all_contests(const numbers *numbering) {
    for (size_t count = 1; count <= QUEUE_MAX; count++) {
        size_t contests = power(strlen(numbering->kinds), count);
        for (size_t number = 0; number < contests; number++) {
            queue contest = make_contest(count, number, numbering);
            if (!has_equal_names(&contest)) {
                expect_rule_for_all(&contest, numbering->name);
            }
        }
    }
}

TEST(every_queue_of_up_to_six_follows_the_rule) {
    try_all_contests(&numberings[0]);
}

TEST(every_queue_around_zero_follows_the_rule) {
    try_all_contests(&numberings[1]);
}

TEST(every_queue_with_equal_sequences_follows_the_rule) {
    for (size_t i = 2; i < COUNT_OF(numberings); i++) {
        try_all_contests(&numberings[i]);
    }
}

/* ---- Every order of arrival -------------------------------------------------------- */

static void swap(const char **one, const char **other) {
    const char *kept = *one;
    *one = *other;
    *other = kept;
}

static void expect_in_all_orders(const queue *contest, const queued *own, const char **names,
                                 size_t fixed) {
    if (fixed == contest->count) {
        expect_rule(contest, own, listed((zkl_children){ names, contest->count }), "permuted");
        return;
    }
    for (size_t i = fixed; i < contest->count; i++) {
        swap(&names[fixed], &names[i]);
        expect_in_all_orders(contest, own, names, fixed + 1);
        swap(&names[fixed], &names[i]);
    }
}

TEST(list_may_come_in_any_order) {
    static const size_t choices[] = { 0, 8, 57443, 104729, 20011, 99991, 117648 };
    for (size_t n = 0; n < COUNT_OF(choices); n++) {
        queue contest = make_contest(QUEUE_MAX, choices[n], &numberings[0]);
        const char *names[QUEUE_MAX];
        for (size_t i = 0; i < QUEUE_MAX; i++) {
            names[i] = contest.list[i].name;
        }
        for (size_t own = 0; own < QUEUE_MAX; own++) {
            if (strchr("xrw", contest.list[own].letter) != NULL) {
                expect_in_all_orders(&contest, &contest.list[own], names, 0);
            }
        }
    }
}

/* ---- At the tail -------------------------------------------------------------------- */

static bool is_blocked_at_tail(zkl_listed children, zkl_mode mode) {
    zkl_contenders_place tail = { .own.name = zkl_node_name_of(mode, 0, ZKL_NAMING_CURATOR),
                                  .companion = "" };
    return zkl_contenders_examine(children, &tail).blocker != NULL;
}

static void expect_tail_rule(const queue *contest, zkl_listed children) {
    bool blocks_reader = false;
    bool blocks_others = false;
    for (size_t i = 0; i < contest->count; i++) {
        bool request = contest->list[i].letter != 'j';
        blocks_others = blocks_others || request;
        blocks_reader = blocks_reader || (request && !reads(&contest->list[i]));
    }
    EXPECT(is_blocked_at_tail(children, ZKL_READ) == blocks_reader);
    EXPECT(is_blocked_at_tail(children, ZKL_WRITE) == blocks_others);
    EXPECT(is_blocked_at_tail(children, ZKL_EXCLUSIVE) == blocks_others);
}

TEST(every_queue_of_up_to_four_blocks_its_tail_by_the_rule) {
    const char *names[QUEUE_MAX];
    for (size_t count = 1; count <= 4; count++) {
        for (size_t number = 0; number < power(strlen(ALL_KINDS), count); number++) {
            queue contest = make_contest(count, number, &numberings[0]);
            expect_tail_rule(&contest, list_in_order(&contest, 0, names));
        }
    }
}

/* ---- Single facts, spelled out --------------------------------------------------------- */

static zkl_contenders_view examine(const char *const *names, size_t count, const char *own) {
    zkl_contenders_place place = { .own = zkl_neighbour_read(own), .companion = "" };
    return zkl_contenders_examine(listed((zkl_children){ names, count }), &place);
}

TEST(list_without_our_node_does_not_count) {
    static const char *const names[] = { "lock-0000000001", "lock-0000000003" };
    EXPECT(!examine(names, 2, "lock-0000000002").listed);
    EXPECT(examine(names, 2, "lock-0000000003").listed);
    EXPECT(!examine(NULL, 0, "lock-0000000003").listed);
}

TEST(companion_is_in_nobodys_way) {
    static const char *const names[] = { "a-__READ__0000000001", "b-__WRIT__0000000002" };
    zkl_contenders_place place = { .own = zkl_neighbour_read(names[1]), .companion = names[0] };
    zkl_listed children = listed((zkl_children){ names, 2 });
    EXPECT(zkl_contenders_examine(children, &place).blocker == NULL);
    EXPECT_INT(zkl_contenders_examine(children, &place).earlier, 0);
    zkl_contenders_place tail = { .own.name = zkl_node_name_of(ZKL_WRITE, 0, ZKL_NAMING_CURATOR),
                                  .companion = names[0] };
    EXPECT_TEXT(zkl_contenders_examine(children, &tail).blocker, names[1]);
}

/* The nearest of those before us, the furthest first, from every list of up to five. */
TEST(nearest_are_found_in_any_order) {
    for (size_t number = 0; number < 120; number++) {
        char texts[5][NAME_SIZE];
        const char *names[5] = { NULL };
        size_t left[] = { 0, 1, 2, 3, 4 };
        size_t code = number;
        for (size_t i = 0; i < 5; i++) {
            size_t choice = code % (5 - i);
            code /= 5 - i;
            snprintf(texts[i], NAME_SIZE, "x-permit-2-%010zu", left[choice]);
            memmove(&left[choice], &left[choice + 1], (4 - i - choice) * sizeof(left[0]));
            names[i] = texts[i];
        }
        zkl_neighbour nearest[2];
        const zkl_contenders_place place = { .own = zkl_neighbour_read("x-permit-2-0000000003"),
                                             .companion = "" };
        size_t count =
            zkl_contenders_find_nearest(listed((zkl_children){ names, 5 }), &place, nearest);
        EXPECT_INT(count, 2);
        EXPECT_INT(nearest[0].name.sequence, 1);
        EXPECT_INT(nearest[1].name.sequence, 2);
    }
}

TEST(those_who_wait_are_counted) {
    static const char *const names[] = { "r-__READ__0000000001", "r-__READ__0000000002",
                                         "w-__WRIT__0000000003", "r-__READ__0000000004",
                                         "x-lock-0000000005" };
    static const size_t waiting[] = { 0, 0, 0, 1, 2 };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        zkl_contenders_place place = { .own = zkl_neighbour_read(names[i]), .companion = "" };
        EXPECT_INT(zkl_contenders_count_waiting(listed((zkl_children){ names, 5 }), &place),
                   waiting[i]);
    }
    zkl_contenders_place tail = { .own.name = zkl_node_name_of(ZKL_READ, 0, ZKL_NAMING_CURATOR),
                                  .companion = "" };
    EXPECT_INT(zkl_contenders_count_waiting(listed((zkl_children){ names, 5 }), &tail), 3);
    tail.own.name = zkl_node_name_of(ZKL_EXCLUSIVE, 4, ZKL_NAMING_CURATOR);
    EXPECT_INT(zkl_contenders_count_waiting(listed((zkl_children){ names, 5 }), &tail), 1);
    EXPECT_INT(zkl_contenders_count_waiting(listed((zkl_children){ NULL, 0 }), &tail), 0);
}

/* ---- Semaphores of other libraries --------------------------------------------------------- */

static bool is_refused(zkl_neighbour own, const char *const *names, size_t count) {
    zkl_contenders_place place = { .own = own, .companion = "" };
    return zkl_contenders_examine(listed((zkl_children){ names, count }), &place).unlike != NULL;
}

/* Whether a permit is refused beside these; a lock never is. */
static bool refuses_permits(const char *const *names, size_t count) {
    static const char *const locks[] = { "lock-0000000007", "__READ__0000000007",
                                         "0123456789abcdef0123456789abcdef__lock__0000000007" };
    for (size_t i = 0; i < COUNT_OF(locks); i++) {
        EXPECT(!is_refused(zkl_neighbour_read(locks[i]), names, count));
    }
    zkl_neighbour tail = { zkl_node_name_of(ZKL_EXCLUSIVE, 3, ZKL_NAMING_CURATOR), NULL };
    bool refused = is_refused(zkl_neighbour_read("x-permit-2-0000000007"), names, count);
    EXPECT(is_refused(tail, names, count) == refused);
    return refused;
}

TEST(permit_is_refused_beside_both_parts_of_curators_semaphore) {
    static const char *const both[] = { "locks", "config", "leases" };
    static const char *const resources[] = { "locks", "leases-of-cars", "Leases", "lease" };
    EXPECT(refuses_permits(both, 3));
    EXPECT(!refuses_permits(both, 2));
    EXPECT(!refuses_permits(&both[1], 2));
    EXPECT(!refuses_permits(resources, COUNT_OF(resources)));
    EXPECT(!refuses_permits(NULL, 0));
}

TEST(permit_is_refused_beside_a_lease_of_kazoos_semaphore) {
    static const char *const leases[] = {
        "0123456789ab4cde8f0123456789abcd", "ffffffffffff4fffbfffffffffffffff",
        "ffffffffffff4fffafff121234567890", /* no sequence */
    };
    static const char *const others[] = {
        "0123456789ab4cde8f0123456789abc",      "0123456789ab4cde8f0123456789abcde",
        "0123456789ab8cde8f0123456789abcd",     "0123456789ab4cdecf0123456789abcd",
        "0123456789AB4CDE8F0123456789ABCD",     "01234567-89ab-4cde-8f01-23456789abcd",
        "0123456789ab4cde8f0123456789abcd-top", "config",
    };
    for (size_t i = 0; i < COUNT_OF(leases); i++) {
        EXPECT(refuses_permits(&leases[i], 1));
    }
    EXPECT(!refuses_permits(others, COUNT_OF(others)));
}

/* Curator's writer, on its way down to a reader, leaves both under one number. */
TEST(downgraded_reader_does_not_wait_for_its_own_writer) {
    static const char *const names[] = {
        "_c_01234567-89ab-4cde-8f01-23456789abcd-__WRIT__0000000004",
        "_c_01234567-89ab-4cde-8f01-23456789abcd-__READ__0000000004",
    };
    EXPECT(examine(names, 2, names[1]).blocker == NULL);
    EXPECT(examine(names, 2, names[0]).blocker == NULL);
}

/* ---- Who waits behind a holder ----------------------------------------------------------- */

/* Brief names of names.h; the first is the holder's own. What is expected is brief as well. */
static void expect_waiter(const char *briefs, const char *expected) {
    enum { MOST = 8 };
    char list[MOST][NAME_SIZE];
    const char *names[MOST] = { NULL };
    char text[NAME_SIZE * MOST];
    size_t count = 0;
    char *rest = NULL;
    snprintf(text, sizeof(text), "%s", briefs);
    for (const char *brief = strtok_r(text, " ", &rest); brief != NULL && count < MOST;
         brief = strtok_r(NULL, " ", &rest)) {
        name_expand(list[count], brief, "");
        names[count] = list[count];
        count++;
    }
    for (int backwards = 0; backwards < 2; backwards++) {
        const char *ordered[MOST];
        for (size_t i = 0; i < count; i++) {
            ordered[i] = names[backwards != 0 ? count - 1 - i : i];
        }
        zkl_contenders_rear rear =
            zkl_contenders_look_behind(listed((zkl_children){ ordered, count }), names[0], "");
        char brief[NAME_SIZE] = "nobody";
        if (rear.waiter != NULL) {
            name_shorten(brief, rear.waiter, "me");
        }
        EXPECT(rear.listed);
        unit_check(strcmp(brief, expected) == 0, __FILE__, __LINE__, "behind \"%s\": %s, not %s",
                   briefs, brief, expected);
    }
}

TEST(no_other_reader_waits_behind_a_reader) {
    expect_waiter("r3 r4 r5 q6", "nobody");
    expect_waiter("r3 w2 x1", "nobody");
    expect_waiter("r3 r4 w5 r6 x7", "w5");
}

TEST(of_later_children_only_those_with_a_number_wait) {
    expect_waiter("x3 junk", "nobody");
    expect_waiter("r3 junk", "nobody");
    expect_waiter("r3 u4", "u4"); /* an unknown kind counts as exclusive */
}

TEST(who_finds_no_permit_waits_behind_all_that_hold_one) {
    expect_waiter("p3", "nobody");
    expect_waiter("p3 p4", "nobody");
    expect_waiter("p3 p4 p5", "p5");
    expect_waiter("p4 p3 p5", "p5");
    expect_waiter("p4 p3", "nobody");
    expect_waiter("p3 p4 p5 p6", "p6"); /* any of them; the last is looked at */
}

TEST(permits_of_others_are_refused_and_do_not_wait) {
    expect_waiter("x3 p4", "nobody");
    expect_waiter("r3 p4 p5 p6", "nobody");
    expect_waiter("p3 t4 t5 t6", "nobody");
    expect_waiter("p3 x4", "x4"); /* but a lock's request waits for permits */
    expect_waiter("p3 r4 p5", "r4");
}

TEST(list_without_the_holder_shows_nobody_behind_it) {
    static const char *const names[] = { "x-lock-0000000007" };
    zkl_contenders_rear rear =
        zkl_contenders_look_behind(listed((zkl_children){ names, 1 }), "y-lock-0000000003", "");
    EXPECT(!rear.listed);
    EXPECT(rear.waiter == NULL);
    rear = zkl_contenders_look_behind(listed((zkl_children){ NULL, 0 }), "y-lock-0000000003", "");
    EXPECT(!rear.listed);
}

/* ---- GUIDs -------------------------------------------------------------------------------- */

#define GUID "01234567-89ab-4cde-8f01-23456789abcd"

TEST(nobody_waits_behind_itself) {
    static const char *const names[] = { "x-__READ__0000000003", "_c_" GUID "-__WRIT__0000000004" };
    static const char *const twins[] = { "_c_" GUID "-__WRIT__0000000004",
                                         "_c_" GUID "-__READ__0000000004" };
    zkl_listed children = listed((zkl_children){ names, 2 });
    EXPECT(zkl_contenders_look_behind(children, names[0], "").waiter == names[1]);
    EXPECT(zkl_contenders_look_behind(children, names[0], GUID).waiter == NULL);
    children = listed((zkl_children){ twins, 2 });
    EXPECT(zkl_contenders_look_behind(children, twins[0], "").waiter == NULL);
}

TEST(node_of_a_lost_create_is_found_by_its_guid) {
    static const char *const names[] = { "junk", "_c_" GUID "-lock-0000000007",
                                         "_c_" GUID "-lock-0000000004", "lock-0000000001" };
    zkl_listed children = listed((zkl_children){ names, COUNT_OF(names) });
    EXPECT(zkl_contenders_find_guid(children, GUID, NULL, "") == names[2]);
    EXPECT(zkl_contenders_find_guid(children, GUID, NULL, names[2]) == names[1]);
    EXPECT(zkl_contenders_find_guid(children, GUID, names[1], "") == names[2]);
    EXPECT(zkl_contenders_find_guid(children, GUID, names[3], "") == names[2]);
    EXPECT(zkl_contenders_find_guid(listed((zkl_children){ names, 2 }), GUID, names[1], "") ==
           NULL);
    EXPECT(zkl_contenders_find_guid(listed((zkl_children){ NULL, 0 }), GUID, NULL, "") == NULL);
    EXPECT(zkl_contenders_find_guid(children, "01234567-89ab-4cde-8f01-23456789abce", NULL, "") ==
           NULL);
}

TEST(name_that_is_too_long_to_be_ours_is_not_found) {
    char longest[ZKL_NODE_NAME_SIZE];
    char too_long[ZKL_NODE_NAME_SIZE + 1];
    memset(longest, 'x', sizeof(longest));
    memset(too_long, 'x', sizeof(too_long));
    memcpy(longest, "_c_" GUID "-", strlen("_c_" GUID "-"));
    memcpy(too_long, "_c_" GUID "-", strlen("_c_" GUID "-"));
    longest[sizeof(longest) - 1] = '\0';
    too_long[sizeof(too_long) - 1] = '\0';
    const char *names[] = { too_long, longest };
    EXPECT(zkl_contenders_find_guid(listed((zkl_children){ names, 2 }), GUID, NULL, "") == longest);
    EXPECT(zkl_contenders_find_guid(listed((zkl_children){ names, 1 }), GUID, NULL, "") == NULL);
}

TEST(first_is_that_with_the_lowest_sequence_of_any_kind) {
    const char *names[] = { "foreign", "x-lock-0000000007", "x-__READ__0000000003",
                            "x-unheard-of-0000000002" };
    EXPECT(zkl_contenders_find_first(listed((zkl_children){ names, 4 })) == names[3]);
    EXPECT(zkl_contenders_find_first(listed((zkl_children){ names, 3 })) == names[2]);
    EXPECT(zkl_contenders_find_first(listed((zkl_children){ names, 1 })) == NULL);
    EXPECT(zkl_contenders_find_first(listed((zkl_children){ NULL, 0 })) == NULL);
}
