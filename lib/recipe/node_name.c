#include "recipe/node_name.h"

#include <string.h>

#define GUID_PREFIX "_c_"
#define GUID_PREFIX_LENGTH (sizeof(GUID_PREFIX) - 1)
#define GUID_LENGTH (ZKL_GUID_SIZE - 1)
#define SEQUENCE_LENGTH 10 /* of "%010d", but for the two longest negatives */

static const struct {
    const char *marker;
    zkl_node_kind kind;
} known_kinds[] = {
    { "lock-", ZKL_NODE_EXCLUSIVE },    /* Curator and ours */
    { "__WRIT__", ZKL_NODE_WRITE },     /* Curator and ours */
    { "__READ__", ZKL_NODE_READ },      /* Curator and ours */
    { "__lock__", ZKL_NODE_EXCLUSIVE }, /* kazoo: Lock, WriteLock */
    { "__rlock__", ZKL_NODE_READ },     /* kazoo: ReadLock */
};

/* The value of `length` decimal digits, or -1 if any of them is none. */
static int64_t parse_digits(const char *text, size_t length) {
    int64_t value = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return -1;
        }
        value = value * 10 + (text[i] - '0');
    }
    return value;
}

/* Reads all of `text` as what printf("%010d") writes, and nothing else. */
static bool parse_sequence(const char *text, size_t length, int32_t *sequence) {
    bool negative = length > 0 && text[0] == '-';
    size_t sign = negative ? 1 : 0;
    int64_t value = parse_digits(text + sign, length - sign);
    int64_t shortest_eleven = 1000000000; /* -1000000000 needs eleven characters */
    if (value < 0 || value > (int64_t)INT32_MAX + (negative ? 1 : 0)) {
        return false;
    }
    bool eleven = negative && value >= shortest_eleven;
    if (length != SEQUENCE_LENGTH + (eleven ? 1U : 0U) || (negative && value == 0)) {
        return false;
    }
    *sequence = (int32_t)(negative ? -value : value);
    return true;
}

static zkl_node_kind kind_before(const char *text, size_t length) {
    for (size_t i = 0; i < sizeof(known_kinds) / sizeof(known_kinds[0]); i++) {
        size_t marker_length = strlen(known_kinds[i].marker);
        if (length >= marker_length &&
            memcmp(text + length - marker_length, known_kinds[i].marker, marker_length) == 0) {
            return known_kinds[i].kind;
        }
    }
    return ZKL_NODE_UNKNOWN;
}

/* Of a kind that we do not know we cannot tell a dash from a minus sign: there
 * the last ten digits are the sequence. */
static zkl_node_name parse_unknown(const char *text, size_t length) {
    zkl_node_name name = { ZKL_NODE_FOREIGN, 0 };
    if (length < SEQUENCE_LENGTH) {
        return name;
    }
    if (parse_sequence(text + length - SEQUENCE_LENGTH, SEQUENCE_LENGTH, &name.sequence) &&
        name.sequence >= 0 && text[length - SEQUENCE_LENGTH] != '-') {
        name.kind = ZKL_NODE_UNKNOWN;
    }
    return name;
}

zkl_node_name zkl_node_name_parse(const char *text) {
    size_t length = strlen(text);
    for (size_t digits = SEQUENCE_LENGTH; digits <= SEQUENCE_LENGTH + 1; digits++) {
        zkl_node_name name = { ZKL_NODE_FOREIGN, 0 };
        if (length >= digits && parse_sequence(text + length - digits, digits, &name.sequence)) {
            name.kind = kind_before(text, length - digits);
            if (name.kind != ZKL_NODE_UNKNOWN) {
                return name;
            }
        }
    }
    return parse_unknown(text, length);
}

static const char *mode_marker(zkl_mode mode) {
    switch (mode) {
    case ZKL_READ:
        return "-__READ__";
    case ZKL_WRITE:
        return "-__WRIT__";
    case ZKL_EXCLUSIVE:
        break;
    }
    return "-lock-";
}

static void write_name(char *text, const char *guid, const char *marker) {
    memcpy(text, GUID_PREFIX, GUID_PREFIX_LENGTH);
    memcpy(text + GUID_PREFIX_LENGTH, guid, GUID_LENGTH);
    memcpy(text + GUID_PREFIX_LENGTH + GUID_LENGTH, marker, strlen(marker) + 1);
}

void zkl_node_name_prefix(char *text, const char *guid, zkl_mode mode) {
    write_name(text, guid, mode_marker(mode));
}

void zkl_node_name_settle(char *text, const char *guid) {
    write_name(text, guid, "-settle");
}

/* The length of "_c_<guid>-" at the start of a name, or 0. */
static size_t guid_part_length(const char *text) {
    size_t length = GUID_PREFIX_LENGTH + GUID_LENGTH;
    if (strncmp(text, GUID_PREFIX, GUID_PREFIX_LENGTH) != 0 || strlen(text) <= length ||
        text[length] != '-') {
        return 0;
    }
    return length + 1;
}

bool zkl_node_name_has_guid(const char *text, const char *guid) {
    return guid_part_length(text) != 0 && memcmp(text + GUID_PREFIX_LENGTH, guid, GUID_LENGTH) == 0;
}

bool zkl_node_name_same_guid(const char *one, const char *other) {
    size_t length = guid_part_length(one);
    return length != 0 && length == guid_part_length(other) && memcmp(one, other, length) == 0;
}

zkl_node_kind zkl_node_kind_of_mode(zkl_mode mode) {
    switch (mode) {
    case ZKL_READ:
        return ZKL_NODE_READ;
    case ZKL_WRITE:
        return ZKL_NODE_WRITE;
    case ZKL_EXCLUSIVE:
        break;
    }
    return ZKL_NODE_EXCLUSIVE;
}
