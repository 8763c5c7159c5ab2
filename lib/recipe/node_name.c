#include "recipe/node_name.h"

#include <string.h>

#define GUID_PREFIX "_c_"
#define GUID_PREFIX_LENGTH (sizeof(GUID_PREFIX) - 1)
#define GUID_LENGTH (ZKL_GUID_SIZE - 1)
#define GUID_VARIANT_AT 19 /* where a GUID has its variant: 8, 9, a or b */
#define LENT_VARIANT 'c'
#define SEQUENCE_LENGTH 10 /* of "%010d"; numbers from -1000000000 down have one more */
#define PERMIT_MARKER "-permit-"
#define READ_MARKER "-__READ__"
#define WRITE_MARKER "-__WRIT__"
#define STRIPE_PREFIX "stripe-"
#define STRIPE_PREFIX_LENGTH (sizeof(STRIPE_PREFIX) - 1)
#define STRIPE_NAME_LENGTH (STRIPE_PREFIX_LENGTH + 4)

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

/* Returns the value of `length` decimal digits, or -1 if any of the characters is no digit. */
static int64_t parse_digits(const char *text, size_t length) {
    int64_t value = 0;
    for (size_t i = 0; i < length; i++) {
        unsigned digit = (unsigned)text[i] - '0';
        if (digit > 9) {
            return -1;
        }
        value = value * 10 + digit;
    }
    return value;
}

/* Reads all of `text` as a sequence. False: it is not what printf("%010d") writes. */
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

static bool ends_with(const char *text, size_t length, const char *marker) {
    size_t marker_length = strlen(marker);
    return length >= marker_length &&
           memcmp(text + length - marker_length, marker, marker_length) == 0;
}

static zkl_node_kind kind_before(const char *text, size_t length) {
    for (size_t i = 0; i < sizeof(known_kinds) / sizeof(known_kinds[0]); i++) {
        if (ends_with(text, length, known_kinds[i].marker)) {
            return known_kinds[i].kind;
        }
    }
    return ZKL_NODE_UNKNOWN;
}

/* Returns how many permits the semaphore has, if a name that begins so is that of a permit: a
 * number without leading zeros behind the marker. 0: it is not. */
static unsigned permits_before(const char *text, size_t length) {
    if (!ends_with(text, length, "-")) {
        return 0;
    }
    size_t end = length - 1;
    size_t start = end;
    while (start > 0 && text[start - 1] >= '0' && text[start - 1] <= '9') {
        start--;
    }
    size_t digits = end - start;
    if (digits == 0 || digits > SEQUENCE_LENGTH || text[start] == '0' ||
        !ends_with(text, start, PERMIT_MARKER)) {
        return 0;
    }
    int64_t permits = parse_digits(text + start, digits);
    return permits <= ZKL_PERMITS_MAX ? (unsigned)permits : 0;
}

/* Tells whether a name begins with "_c_<guid>-". */
static bool begins_with_guid(const char *text) {
    size_t length = GUID_PREFIX_LENGTH + GUID_LENGTH;
    return strncmp(text, GUID_PREFIX, GUID_PREFIX_LENGTH) == 0 && strlen(text) > length &&
           text[length] == '-';
}

/* Tries ten characters as the sequence, then eleven. If the kind is unknown, a dash cannot be told
 * from a minus sign: then the last ten digits are the sequence. */
zkl_node_name zkl_node_name_parse(const char *text) {
    size_t length = strlen(text);
    zkl_node_name unknown = { .kind = ZKL_NODE_FOREIGN };
    for (size_t digits = SEQUENCE_LENGTH; digits <= SEQUENCE_LENGTH + 1; digits++) {
        zkl_node_name name = { .kind = ZKL_NODE_FOREIGN };
        if (length >= digits && parse_sequence(text + length - digits, digits, &name.sequence)) {
            name.kind = kind_before(text, length - digits);
            if (name.kind == ZKL_NODE_UNKNOWN) {
                name.permits = permits_before(text, length - digits);
                name.kind = name.permits > 0 ? ZKL_NODE_PERMIT : ZKL_NODE_UNKNOWN;
            }
            if (name.kind != ZKL_NODE_UNKNOWN) {
                name.lent = length > GUID_PREFIX_LENGTH + GUID_LENGTH &&
                            text[GUID_PREFIX_LENGTH + GUID_VARIANT_AT] == LENT_VARIANT &&
                            begins_with_guid(text);
                return name;
            }
            unknown = name.sequence >= 0 ? name : unknown;
        }
    }
    return unknown;
}

/* Adds "<permits>-" to the end of a name. */
static void add_permits(char *text, unsigned permits) {
    char *end = text + strlen(text) + 1;
    for (unsigned left = permits; left >= 10; left /= 10) {
        end++;
    }
    memcpy(end, "-", 2);
    for (unsigned left = permits; left > 0; left /= 10) {
        *--end = (char)('0' + left % 10);
    }
}

zkl_node_name zkl_node_name_of(zkl_mode mode, unsigned permits) {
    zkl_node_kind kind = permits > 0 ? ZKL_NODE_PERMIT : (zkl_node_kind)mode;
    return (zkl_node_name){ .kind = kind, .permits = permits };
}

void zkl_node_name_prefix(char *text, const char *guid, zkl_node_name name) {
    static const char *const markers[] = { [ZKL_NODE_EXCLUSIVE] = "-lock-",
                                           [ZKL_NODE_READ] = READ_MARKER,
                                           [ZKL_NODE_WRITE] = WRITE_MARKER,
                                           [ZKL_NODE_PERMIT] = PERMIT_MARKER };
    const char *marker = markers[name.kind];
    memcpy(text, GUID_PREFIX, GUID_PREFIX_LENGTH);
    memcpy(text + GUID_PREFIX_LENGTH, guid, GUID_LENGTH);
    memcpy(text + GUID_PREFIX_LENGTH + GUID_LENGTH, marker, strlen(marker) + 1);
    if (name.permits > 0) {
        add_permits(text, name.permits);
    }
}

void zkl_node_name_mark_lent(char *guid) {
    guid[GUID_VARIANT_AT] = LENT_VARIANT;
}

/* Cuts no name of ours: a prefix of ours and at most eleven characters always fit. */
void zkl_node_name_copy(char *to, const char *from) {
    size_t length = strlen(from);
    if (length >= ZKL_NODE_NAME_SIZE) {
        length = ZKL_NODE_NAME_SIZE - 1;
    }
    memcpy(to, from, length);
    to[length] = '\0';
}

/* Replaces one marker by the other, which is as long. */
void zkl_node_name_downgrade(char *text, const char *writer) {
    size_t length = strlen(writer);
    memcpy(text, writer, length + 1);
    memcpy(text + GUID_PREFIX_LENGTH + GUID_LENGTH, READ_MARKER, sizeof(READ_MARKER) - 1);
}

bool zkl_node_name_is_stripe(const char *text) {
    return strlen(text) == STRIPE_NAME_LENGTH &&
           memcmp(text, STRIPE_PREFIX, STRIPE_PREFIX_LENGTH) == 0 &&
           parse_digits(text + STRIPE_PREFIX_LENGTH, STRIPE_NAME_LENGTH - STRIPE_PREFIX_LENGTH) >=
               0;
}

bool zkl_node_name_has_guid(const char *text, const char *guid) {
    return begins_with_guid(text) && memcmp(text + GUID_PREFIX_LENGTH, guid, GUID_LENGTH) == 0;
}

bool zkl_node_name_is_protected(const char *text) {
    return begins_with_guid(text) &&
           text[GUID_PREFIX_LENGTH + ZKL_GUID_VERSION_AT] == ZKL_GUID_VERSION_PROTECTED;
}

bool zkl_node_name_same_guid(const char *one, const char *other) {
    return begins_with_guid(other) && zkl_node_name_has_guid(one, other + GUID_PREFIX_LENGTH);
}
