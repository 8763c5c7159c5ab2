/*
 * Children to blocker. The input is a list of children with spaces between; the
 * first is our own node. A word like "r17" or "w-3b" is short for a node (see
 * support/names.h; the last letter, if any, is its owner, else all nodes with one
 * sequence are of one owner), any other word is a name as it stands.
 * What must hold:
 *
 *     listed or not, how many are earlier, and the blocker, are as the reference
 *     says, in whatever order the children come;
 *     an earlier child of unknown kind is named, if and only if there is one; and, of
 *     a permit, one that is not for as many;
 *     the nearest are as many as there are, or as were asked for, and in their order;
 *     at the tail, we are blocked if and only if there is one to wait for;
 *     behind us waits who would wait if nobody but the two of us were there, and, of permits, one
 *     that finds none left;
 *     the children with our GUID are found, each once, in the order of their names.
 */
#include "recipe/contenders.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "reference.h"
#include "support/check.h"
#include "support/listed.h"
#include "support/names.h"

enum { CHILDREN_MAX = 16, NEAREST_MAX = 4 };

typedef struct child_list {
    char *names[CHILDREN_MAX];
    size_t count;
} child_list;

static zkl_children children_of(const child_list *list) {
    return (zkl_children){ (const char *const *)list->names, list->count };
}

/* Whether a word is a short form; if so, the node's name. */
static bool expand(char name[NAME_SIZE], const char *word) {
    char *end = NULL;
    bool known = word[0] != '\0' && strchr("xrwkqupt", word[0]) != NULL;
    long sequence = known ? strtol(word + 1, &end, 10) : 0;
    if (!known || end == word + 1 || sequence < INT32_MIN || sequence > INT32_MAX ||
        (end[0] != '\0' && end[1] != '\0')) {
        return false;
    }
    char guid[NAME_GUID_SIZE];
    name_other_guid(guid, end[0] != '\0' ? (uint64_t)(unsigned char)end[0]
                                         : (uint64_t)(uint32_t)sequence);
    name_other(name, word[0], guid, (int32_t)sequence);
    return true;
}

static child_list read_list(char *text) {
    child_list list = { .count = 0 };
    char *rest = NULL;
    for (char *word = strtok_r(text, " \n/", &rest); word != NULL && list.count < CHILDREN_MAX;
         word = strtok_r(NULL, " \n/", &rest)) {
        char name[NAME_SIZE];
        list.names[list.count++] = fuzz_copy(expand(name, word) ? name : word);
    }
    return list;
}

static void free_list(child_list *list) {
    for (size_t i = 0; i < list->count; i++) {
        free(list->names[i]);
    }
}

static bool same_text(const char *one, const char *other) {
    return one == other || (one != NULL && other != NULL && strcmp(one, other) == 0);
}

static void check_view(zkl_children children, const char *own, const reference_view *expected) {
    zkl_contenders_view actual = zkl_contenders_examine(
        listed(children), &(zkl_contenders_place){ zkl_neighbour_read(own), "" });
    unit_check(same_text(actual.blocker, expected->blocker), __FILE__, __LINE__,
               "\"%s\" waits for \"%s\", not for \"%s\"", own,
               actual.blocker != NULL ? actual.blocker : "nobody",
               expected->blocker != NULL ? expected->blocker : "nobody");
    unit_check(actual.earlier == expected->earlier, __FILE__, __LINE__,
               "%zu are earlier than \"%s\", not %zu", actual.earlier, own, expected->earlier);
    EXPECT(actual.listed == expected->listed);
    EXPECT((actual.unknown != NULL) == expected->unknown_earlier);
    EXPECT((actual.unlike != NULL) == expected->unlike_earlier);
    if (actual.unknown != NULL) {
        EXPECT(reference_name(actual.unknown).kind == ZKL_NODE_UNKNOWN);
        EXPECT(!same_text(actual.unknown, own));
    }
}

/* As it is listed, backwards, and without our own. */
static void check_examination(const child_list *list) {
    const char *own = list->names[0];
    if (reference_name(own).kind == ZKL_NODE_FOREIGN) {
        (void)zkl_contenders_examine(listed(children_of(list)),
                                     &(zkl_contenders_place){ zkl_neighbour_read(own), "" });
        return; /* ours always has a sequence; so no more than that it does not crash */
    }
    const char *backwards[CHILDREN_MAX] = { NULL };
    for (size_t i = 0; i < list->count; i++) {
        backwards[i] = list->names[list->count - 1 - i];
    }
    zkl_children all = children_of(list);
    reference_view expected = reference_examine(all, own);
    check_view(all, own, &expected);
    check_view((zkl_children){ backwards, list->count }, own, &expected);
    zkl_children others = { all.names + 1, all.count - 1 };
    expected = reference_examine(others, own);
    check_view(others, own, &expected);
}

static size_t count_in_the_way(zkl_children children, const char *own) {
    size_t count = 0;
    for (size_t i = 0; i < children.count; i++) {
        zkl_children one = { children.names + i, 1 };
        bool conflict =
            reference_conflict(reference_name(own).kind, reference_name(children.names[i]).kind);
        count += conflict ? reference_examine(one, own).earlier : 0;
    }
    return count;
}

/* As many as are in the way, or as have to be, and in their order. */
static void check_nearest(const child_list *list) {
    const zkl_contenders_place place = { .own = zkl_neighbour_read(list->names[0]),
                                         .companion = "" };
    zkl_neighbour nearest[NEAREST_MAX];
    zkl_node_name name = reference_name(place.own.text);
    size_t room = name.kind == ZKL_NODE_PERMIT ? name.permits : 1;
    if (name.kind == ZKL_NODE_FOREIGN || room > NEAREST_MAX) {
        return;
    }
    size_t in_the_way = count_in_the_way(children_of(list), place.own.text);
    size_t count = zkl_contenders_find_nearest(listed(children_of(list)), &place, nearest);
    EXPECT(count == (in_the_way < room ? in_the_way : room));
    for (size_t i = 1; i < count; i++) {
        EXPECT(nearest[i - 1].name.sequence <= nearest[i].name.sequence);
    }
}

static bool has_conflict(const zkl_node_kind *kinds, size_t count, zkl_mode mode) {
    bool conflict = false;
    for (size_t i = 0; i < count; i++) {
        conflict =
            conflict ||
            (kinds[i] != ZKL_NODE_FOREIGN &&
             reference_conflict(zkl_node_name_of(mode, 0, ZKL_NAMING_CURATOR).kind, kinds[i]));
    }
    return conflict;
}

static void check_tail(const child_list *list) {
    zkl_children children = children_of(list);
    zkl_node_kind kinds[CHILDREN_MAX] = { ZKL_NODE_FOREIGN };
    for (size_t i = 0; i < list->count; i++) {
        kinds[i] = reference_name(list->names[i]).kind;
    }
    for (zkl_mode mode = ZKL_EXCLUSIVE; mode <= ZKL_WRITE; mode++) {
        zkl_contenders_place tail = { { zkl_node_name_of(mode, 0, ZKL_NAMING_CURATOR), NULL }, "" };
        EXPECT((zkl_contenders_examine(listed(children), &tail).blocker != NULL) ==
               has_conflict(kinds, list->count, mode));
    }
}

/* If nobody else were there; and of permits, only one that finds none left. */
static bool waits_behind(zkl_children all, const char *own, const char *child) {
    const char *names[] = { own, child };
    zkl_node_name name = reference_name(child);
    if (name.kind == ZKL_NODE_FOREIGN || strcmp(own, child) == 0) {
        return false;
    }
    reference_view view = reference_examine((zkl_children){ names, 2 }, child);
    if (name.kind == ZKL_NODE_PERMIT) {
        return reference_name(own).permits == name.permits && view.earlier == 1 &&
               reference_examine(all, child).earlier >= name.permits;
    }
    return same_text(view.blocker, own);
}

static void check_rear(const child_list *list) {
    const char *own = list->names[0];
    zkl_children all = children_of(list);
    zkl_contenders_rear rear = zkl_contenders_look_behind(listed(all), own, "");
    if (reference_name(own).kind == ZKL_NODE_FOREIGN) {
        return;
    }
    bool contended = false;
    for (size_t i = 0; i < list->count; i++) {
        contended = contended || waits_behind(all, own, list->names[i]);
    }
    EXPECT(rear.listed);
    EXPECT((rear.waiter != NULL) == contended);
    EXPECT(rear.waiter == NULL || waits_behind(all, own, rear.waiter));
    zkl_children others = { all.names + 1, all.count - 1 };
    rear = zkl_contenders_look_behind(listed(others), own, "");
    EXPECT(rear.listed == reference_examine(others, own).listed);
    EXPECT(rear.listed || rear.waiter == NULL);
}

/* Whether a name begins with "_c_<guid>-", or with the GUID without its dashes and "__". */
static bool is_of(const char *name, const char *guid) {
    char prefix[NAME_SIZE];
    snprintf(prefix, sizeof(prefix), "_c_%s-", guid);
    return strncmp(name, prefix, strlen(prefix)) == 0 || reference_bare_owner(name, guid);
}

/* How many different children could be found. A longer name is none of ours. */
static size_t count_by_guid(const child_list *list, const char *guid, const char *except) {
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++) {
        const char *name = list->names[i];
        bool first = true;
        for (size_t j = 0; j < i; j++) {
            first = first && strcmp(list->names[j], name) != 0;
        }
        bool ours = is_of(name, guid) && strlen(name) < ZKL_NODE_NAME_SIZE;
        count += first && ours && !same_text(name, except) ? 1U : 0U;
    }
    return count;
}

static void check_search(const child_list *list, const char *except) {
    const char *own = list->names[0];
    char guid[ZKL_GUID_SIZE];
    if (strlen(own) < 3 + ZKL_GUID_SIZE - 1) {
        return;
    }
    memcpy(guid, own + 3, ZKL_GUID_SIZE - 1);
    guid[ZKL_GUID_SIZE - 1] = '\0';
    const char *after = "";
    size_t found = 0;
    for (size_t i = 0; i <= list->count; i++) {
        const char *next = zkl_contenders_find_guid(listed(children_of(list)), guid, except, after);
        if (next == NULL) {
            break;
        }
        EXPECT(is_of(next, guid));
        EXPECT(strcmp(next, after) > 0);
        EXPECT(!same_text(next, except));
        after = next;
        found++;
    }
    EXPECT(found == count_by_guid(list, guid, except));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = fuzz_text(data, size);
    child_list list = read_list(text);
    if (list.count > 0) {
        check_examination(&list);
        check_nearest(&list);
        check_rear(&list);
        check_search(&list, NULL);
        check_search(&list, list.names[0]);
    }
    check_tail(&list);
    free_list(&list);
    free(text);
    return 0;
}
