#include "reference.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"

enum { OWNER_LENGTH = 3 + 36 + 1 }; /* "_c_", the UUID, "-" */

/* Whether the last `width` characters are a sequence as a server writes it: read
 * it, write it again, and see whether it is the same. */
static bool read_sequence(const char *text, size_t width, int32_t *sequence) {
    size_t length = strlen(text);
    if (length < width) {
        return false;
    }
    const char *tail = text + length - width;
    long long value = strtoll(tail, NULL, 10);
    char written[32];
    snprintf(written, sizeof(written), "%010lld", value);
    *sequence = (int32_t)value;
    return value >= INT32_MIN && value <= INT32_MAX && strcmp(tail, written) == 0;
}

/* "x-<session>-" and no more before the sequence. */
static bool is_zookeepers(const char *text, size_t before) {
    size_t start = strncmp(text, "x--", 3) == 0 ? 3 : 2;
    size_t digits = strncmp(text, "x-", 2) == 0 ? strspn(text + start, "0123456789abcdef") : 0;
    return digits > 0 && before == start + digits + 1 && text[before - 1] == '-';
}

static void read_kind(const char *text, size_t width, zkl_node_name *name) {
    static const struct {
        const char *marker;
        zkl_node_kind kind;
        zkl_naming naming;
    } kinds[] = {
        { "lock-", ZKL_NODE_EXCLUSIVE, ZKL_NAMING_CURATOR },
        { "__lock__", ZKL_NODE_EXCLUSIVE, ZKL_NAMING_KAZOO },
        { "latch-", ZKL_NODE_EXCLUSIVE, ZKL_NAMING_LEADER_LATCH },
        { "__READ__", ZKL_NODE_READ, ZKL_NAMING_CURATOR },
        { "__rlock__", ZKL_NODE_READ, ZKL_NAMING_KAZOO },
        { "__WRIT__", ZKL_NODE_WRITE, ZKL_NAMING_CURATOR },
    };
    size_t before = strlen(text) - width;
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        size_t length = strlen(kinds[i].marker);
        if (before >= length && strncmp(text + before - length, kinds[i].marker, length) == 0) {
            name->kind = kinds[i].kind;
            name->naming = (uint8_t)kinds[i].naming;
        }
    }
    if (is_zookeepers(text, before)) {
        name->kind = ZKL_NODE_EXCLUSIVE;
    }
}

/* "-permit-<permits>-" before the sequence: each number that it can be is written, and compared. */
static unsigned permits_before(const char *text, size_t width) {
    size_t before = strlen(text) - width;
    bool marked = strstr(text, "-permit-") != NULL; /* else it would only take long */
    for (unsigned permits = 1; marked && permits <= ZKL_PERMITS_MAX; permits++) {
        char written[32];
        snprintf(written, sizeof(written), "-permit-%u-", permits);
        size_t length = strlen(written);
        if (before >= length && strncmp(text + before - length, written, length) == 0) {
            return permits;
        }
    }
    return 0;
}

static bool is_bare_uuid(const char *text) {
    return strlen(text) == 32 && strspn(text, "0123456789abcdef") == 32;
}

zkl_node_name reference_name(const char *text) {
    zkl_node_name name = { .kind = ZKL_NODE_FOREIGN };
    for (size_t width = 10; width <= 11 && name.kind == ZKL_NODE_FOREIGN; width++) {
        if (read_sequence(text, width, &name.sequence)) {
            name.permits = permits_before(text, width);
            name.kind = name.permits > 0 ? ZKL_NODE_PERMIT : ZKL_NODE_FOREIGN;
            read_kind(text, width, &name);
        }
    }
    if (name.kind == ZKL_NODE_FOREIGN && read_sequence(text, 10, &name.sequence) &&
        name.sequence >= 0 && !is_bare_uuid(text)) {
        name.kind = ZKL_NODE_UNKNOWN;
    }
    return name;
}

bool reference_bare_owner(const char *name, const char *guid) {
    char bare[OWNER_LENGTH];
    snprintf(bare, sizeof(bare), "%.8s%.4s%.4s%.4s%.12s__", guid, guid + 9, guid + 14, guid + 19,
             guid + 24);
    return strncmp(name, bare, strlen(bare)) == 0 && strspn(name, "0123456789abcdef") == 32;
}

bool reference_same_owner(const char *one, const char *other) {
    if (strspn(one, "0123456789abcdef") == 32 && strncmp(one + 32, "__", 2) == 0) {
        return strncmp(one, other, 34) == 0;
    }
    return strlen(one) >= OWNER_LENGTH && strncmp(one, "_c_", 3) == 0 &&
           one[OWNER_LENGTH - 1] == '-' && strncmp(one, other, OWNER_LENGTH) == 0;
}

bool reference_conflict(zkl_node_kind one, zkl_node_kind other) {
    return !(one == ZKL_NODE_READ && other == ZKL_NODE_READ);
}

typedef struct contender {
    const char *text;
    zkl_node_name name;
} contender;

static int compare(const void *left, const void *right) {
    const contender *one = left;
    const contender *other = right;
    if (one->name.sequence != other->name.sequence) {
        return one->name.sequence < other->name.sequence ? -1 : 1;
    }
    if ((one->name.kind == ZKL_NODE_READ) != (other->name.kind == ZKL_NODE_READ)) {
        return one->name.kind == ZKL_NODE_READ ? 1 : -1;
    }
    return strcmp(one->text, other->text);
}

static bool are_twins(const contender *one, const contender *other) {
    return one->name.sequence == other->name.sequence &&
           reference_same_owner(one->text, other->text);
}

/* The requests of the list, and our own whether it is listed or not. */
static size_t sort_requests(zkl_children children, const contender *own, contender *sorted) {
    size_t count = 0;
    sorted[count++] = *own;
    for (size_t i = 0; i < children.count; i++) {
        contender child = { children.names[i], reference_name(children.names[i]) };
        if (child.name.kind != ZKL_NODE_FOREIGN && strcmp(child.text, own->text) != 0) {
            sorted[count++] = child;
        }
    }
    qsort(sorted, count, sizeof(sorted[0]), compare);
    return count;
}

/* What shows that another library's semaphore is there. */
static bool has_semaphore(zkl_children children) {
    bool leases = false;
    bool locks = false;
    bool lease = false;
    for (size_t i = 0; i < children.count; i++) {
        const char *name = children.names[i];
        leases = leases || strcmp(name, "leases") == 0;
        locks = locks || strcmp(name, "locks") == 0;
        lease = lease || (is_bare_uuid(name) && name[12] == '4' && strspn(name + 16, "89ab") > 0);
    }
    return lease || (leases && locks);
}

reference_view reference_examine(zkl_children children, const char *own) {
    reference_view view = { .listed = false };
    for (size_t i = 0; i < children.count; i++) {
        view.listed = view.listed || strcmp(children.names[i], own) == 0;
    }
    contender mine = { own, reference_name(own) };
    contender *sorted = malloc((children.count + 1) * sizeof(*sorted));
    if (sorted == NULL) {
        abort();
    }
    size_t count = sort_requests(children, &mine, sorted);
    for (size_t i = 0; i < count && sorted[i].text != own; i++) {
        if (are_twins(&sorted[i], &mine)) {
            continue;
        }
        zkl_node_kind kind = sorted[i].name.kind;
        view.earlier++;
        view.unknown_earlier = view.unknown_earlier || kind == ZKL_NODE_UNKNOWN;
        bool is_particular = mine.name.permits > 0 || mine.name.naming != ZKL_NAMING_CURATOR;
        bool is_like = sorted[i].name.permits == mine.name.permits &&
                       sorted[i].name.naming == mine.name.naming;
        view.unlike_earlier = view.unlike_earlier || (is_particular && !is_like);
        if (reference_conflict(mine.name.kind, kind)) {
            view.blocker = sorted[i].text;
        }
    }
    free(sorted);
    view.unlike_earlier = view.unlike_earlier || (mine.name.permits > 0 && has_semaphore(children));
    if (mine.name.permits > 0 && view.earlier < mine.name.permits) {
        view.blocker = NULL;
    }
    return view;
}
