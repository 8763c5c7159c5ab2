#include "recipe/node_name.h"

#include <string.h>

#define GUID_PREFIX "_c_"
#define GUID_PREFIX_LENGTH (sizeof(GUID_PREFIX) - 1)
#define GUID_LENGTH (ZKL_GUID_SIZE - 1)
#define GUID_VARIANT_AT 19  /* where a GUID has its variant: 8, 9, a or b */
#define BARE_GUID_LENGTH 32 /* of a GUID that is written without its dashes, as kazoo does */
#define BARE_VERSION_AT (ZKL_GUID_VERSION_AT - 2)
#define BARE_VARIANT_AT (GUID_VARIANT_AT - 3)
#define LENT_VARIANT 'c'
#define SEQUENCE_LENGTH 10 /* of "%010d"; numbers from -1000000000 down have one more */
#define PERMIT_MARKER "permit-"
#define READ_MARKER "__READ__"
#define ZOOKEEPERS_PREFIX "x-"
#define ZOOKEEPERS_PREFIX_LENGTH (sizeof(ZOOKEEPERS_PREFIX) - 1)
#define STRIPE_PREFIX "stripe-"
#define STRIPE_PREFIX_LENGTH (sizeof(STRIPE_PREFIX) - 1)
#define STRIPE_NAME_LENGTH (STRIPE_PREFIX_LENGTH + 4)

/* What stands between the GUID, or the GUID and a dash, and the sequence. */
typedef struct known_kind {
    const char *marker;
    zkl_node_kind kind;
    uint8_t naming;
} known_kind;

static const known_kind known_kinds[] = {
    { "lock-", ZKL_NODE_EXCLUSIVE, ZKL_NAMING_CURATOR },
    { "__WRIT__", ZKL_NODE_WRITE, ZKL_NAMING_CURATOR },
    { READ_MARKER, ZKL_NODE_READ, ZKL_NAMING_CURATOR },
    { "__lock__", ZKL_NODE_EXCLUSIVE, ZKL_NAMING_KAZOO }, /* its Lock and its WriteLock */
    { "__rlock__", ZKL_NODE_READ, ZKL_NAMING_KAZOO },
    { "latch-", ZKL_NODE_EXCLUSIVE, ZKL_NAMING_LEADER_LATCH },
};

/* Its marker is the session, and so another one in each name. It waits for Curator's. */
static const known_kind zookeepers_kind = { NULL, ZKL_NODE_EXCLUSIVE, ZKL_NAMING_CURATOR };

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

static size_t count_hexadecimal(const char *text) {
    size_t digits = 0;
    while ((text[digits] >= '0' && text[digits] <= '9') ||
           (text[digits] >= 'a' && text[digits] <= 'f')) {
        digits++;
    }
    return digits;
}

/* Tells whether a name that begins so is of ZooKeeper's own locks: "x-<session>-", where zkr_lock
 * in C writes the session as hexadecimal digits, and WriteLock in Java as a signed number. */
static bool is_zookeepers(const char *text, size_t length) {
    if (strncmp(text, ZOOKEEPERS_PREFIX, ZOOKEEPERS_PREFIX_LENGTH) != 0) {
        return false;
    }
    size_t start = ZOOKEEPERS_PREFIX_LENGTH;
    start += text[start] == '-' ? 1 : 0;
    size_t digits = count_hexadecimal(text + start);
    return digits > 0 && start + digits + 1 == length && text[length - 1] == '-';
}

/* Returns NULL if a name that begins so is of no known kind. */
static const known_kind *kind_before(const char *text, size_t length) {
    for (size_t i = 0; i < sizeof(known_kinds) / sizeof(known_kinds[0]); i++) {
        if (ends_with(text, length, known_kinds[i].marker)) {
            return &known_kinds[i];
        }
    }
    return is_zookeepers(text, length) ? &zookeepers_kind : NULL;
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
        !ends_with(text, start, "-" PERMIT_MARKER)) {
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

/* Tells whether a name begins with "<guid>__", and the GUID has no dashes. */
static bool begins_with_bare_guid(const char *text) {
    return count_hexadecimal(text) == BARE_GUID_LENGTH &&
           strncmp(text + BARE_GUID_LENGTH, "__", 2) == 0;
}

static bool is_bare_guid(const char *text) {
    return count_hexadecimal(text) == BARE_GUID_LENGTH && text[BARE_GUID_LENGTH] == '\0';
}

/* Writes a GUID without its dashes, and without a NUL. */
static void write_bare(char *to, const char *guid) {
    memcpy(to, guid, 8);
    memcpy(to + 8, guid + 9, 4);
    memcpy(to + 12, guid + 14, 4);
    memcpy(to + 16, guid + 19, 4);
    memcpy(to + 20, guid + 24, 12);
}

/* Looks at the one digit first, because few names have it, and this is asked of all. */
static bool is_lent(const char *text, size_t length) {
    if (text[0] != GUID_PREFIX[0]) {
        return length > BARE_VARIANT_AT && text[BARE_VARIANT_AT] == LENT_VARIANT &&
               begins_with_bare_guid(text);
    }
    return length > GUID_PREFIX_LENGTH + GUID_LENGTH &&
           text[GUID_PREFIX_LENGTH + GUID_VARIANT_AT] == LENT_VARIANT && begins_with_guid(text);
}

/* Tries ten characters as the sequence, then eleven. If the kind is unknown, a dash cannot be told
 * from a minus sign: then the last ten digits are the sequence, unless they are the end of a UUID.
 */
zkl_node_name zkl_node_name_parse(const char *text) {
    size_t length = strlen(text);
    zkl_node_name unknown = { .kind = ZKL_NODE_FOREIGN };
    for (size_t digits = SEQUENCE_LENGTH; digits <= SEQUENCE_LENGTH + 1; digits++) {
        zkl_node_name name = { .kind = ZKL_NODE_UNKNOWN };
        if (length >= digits && parse_sequence(text + length - digits, digits, &name.sequence)) {
            const known_kind *known = kind_before(text, length - digits);
            if (known != NULL) {
                name.kind = known->kind;
                name.naming = known->naming;
            } else {
                name.permits = permits_before(text, length - digits);
                name.kind = name.permits > 0 ? ZKL_NODE_PERMIT : ZKL_NODE_UNKNOWN;
            }
            if (name.kind != ZKL_NODE_UNKNOWN) {
                name.lent = is_lent(text, length);
                return name;
            }
            unknown = name.sequence >= 0 && !is_bare_guid(text) ? name : unknown;
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

zkl_node_name zkl_node_name_of(zkl_mode mode, unsigned permits, zkl_naming naming) {
    bool has_no_writers = naming == ZKL_NAMING_KAZOO && mode == ZKL_WRITE;
    bool is_exclusive = has_no_writers || naming == ZKL_NAMING_LEADER_LATCH;
    zkl_node_kind kind = permits > 0    ? ZKL_NODE_PERMIT
                         : is_exclusive ? ZKL_NODE_EXCLUSIVE
                                        : (zkl_node_kind)mode;
    return (zkl_node_name){ .kind = kind, .permits = permits, .naming = (uint8_t)naming };
}

static const char *marker_of(zkl_node_name name) {
    const known_kind *known = known_kinds;
    while (known->kind != name.kind || known->naming != name.naming) {
        known++;
    }
    return known->marker;
}

void zkl_node_name_prefix(char *text, const char *guid, zkl_node_name name) {
    const char *marker = name.permits > 0 ? PERMIT_MARKER : marker_of(name);
    char *end = text;
    if (name.naming == ZKL_NAMING_KAZOO) {
        write_bare(text, guid);
        end += BARE_GUID_LENGTH;
    } else {
        memcpy(text, GUID_PREFIX, GUID_PREFIX_LENGTH);
        memcpy(text + GUID_PREFIX_LENGTH, guid, GUID_LENGTH);
        end += GUID_PREFIX_LENGTH + GUID_LENGTH;
        *end++ = '-';
    }
    memcpy(end, marker, strlen(marker) + 1);
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
    memcpy(text + GUID_PREFIX_LENGTH + GUID_LENGTH + 1, READ_MARKER, sizeof(READ_MARKER) - 1);
}

bool zkl_node_name_is_stripe(const char *text) {
    return strlen(text) == STRIPE_NAME_LENGTH &&
           memcmp(text, STRIPE_PREFIX, STRIPE_PREFIX_LENGTH) == 0 &&
           parse_digits(text + STRIPE_PREFIX_LENGTH, STRIPE_NAME_LENGTH - STRIPE_PREFIX_LENGTH) >=
               0;
}

bool zkl_node_name_is_lease(const char *text) {
    return is_bare_guid(text) && text[BARE_VERSION_AT] == ZKL_GUID_VERSION_RANDOM &&
           strchr("89ab", text[BARE_VARIANT_AT]) != NULL;
}

bool zkl_node_name_has_guid(const char *text, const char *guid) {
    if (begins_with_guid(text)) {
        return memcmp(text + GUID_PREFIX_LENGTH, guid, GUID_LENGTH) == 0;
    }
    char bare[BARE_GUID_LENGTH];
    write_bare(bare, guid);
    return begins_with_bare_guid(text) && memcmp(text, bare, sizeof(bare)) == 0;
}

bool zkl_node_name_is_protected(const char *text) {
    if (text[0] != GUID_PREFIX[0]) {
        return begins_with_bare_guid(text) && text[BARE_VERSION_AT] == ZKL_GUID_VERSION_PROTECTED;
    }
    return begins_with_guid(text) &&
           text[GUID_PREFIX_LENGTH + ZKL_GUID_VERSION_AT] == ZKL_GUID_VERSION_PROTECTED;
}

bool zkl_node_name_same_guid(const char *one, const char *other) {
    if (begins_with_guid(one)) {
        return begins_with_guid(other) && memcmp(one, other, GUID_PREFIX_LENGTH + GUID_LENGTH) == 0;
    }
    return begins_with_bare_guid(one) && strncmp(one, other, BARE_GUID_LENGTH) == 0 &&
           begins_with_bare_guid(other);
}
