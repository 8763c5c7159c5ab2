/*
 * The names of nodes. The input is one name, or two with a slash between, of
 * any bytes; its first bytes are a GUID and its last ones a mode and a sequence
 * as well. What must hold:
 *
 *     a name is read as the reference reads it: of a known kind, of an unknown
 *     kind with a sequence, or as no request at all;
 *     what we create nodes by, with a sequence as the server appends it, is read
 *     back as just that mode and sequence, fits, and is known as that GUID's;
 *     a name of ours without a sequence is no request;
 *     a name is a stripe's if and only if it is what is written for some number;
 *     whose a name is, is told by "_c_<guid>-" at its start, or by the GUID without its dashes and
 *     "__", and by nothing else.
 */
#include "recipe/node_name.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "reference.h"
#include "support/check.h"

enum { GUID_LENGTH = ZKL_GUID_SIZE - 1 };

static void check_reading(const char *text) {
    zkl_node_name expected = reference_name(text);
    zkl_node_name actual = zkl_node_name_parse(text);
    unit_check(actual.kind == expected.kind, __FILE__, __LINE__, "\"%s\" is of kind %d, not %d",
               text, (int)actual.kind, (int)expected.kind);
    unit_check(expected.kind == ZKL_NODE_FOREIGN || actual.sequence == expected.sequence, __FILE__,
               __LINE__, "\"%s\" has sequence %" PRId32 ", not %" PRId32, text, actual.sequence,
               expected.sequence);
}

static void check_stripe(const char *text) {
    unsigned number = 0;
    char written[ZKL_NODE_NAME_SIZE] = "";
    if (sscanf(text, "stripe-%4u", &number) == 1) {
        snprintf(written, sizeof(written), "stripe-%04u", number);
    }
    EXPECT(zkl_node_name_is_stripe(text) == (written[0] != '\0' && strcmp(written, text) == 0));
}

/* A GUID made of the first bytes: hexadecimal digits and dashes. */
static void make_guid(char guid[ZKL_GUID_SIZE], fuzz_bytes bytes) {
    for (size_t i = 0; i < GUID_LENGTH; i++) {
        guid[i] = "0123456789abcdef-"[fuzz_take(&bytes, '0') % 17];
    }
    guid[GUID_LENGTH] = '\0';
}

static int32_t last_bytes_as_sequence(const uint8_t *data, size_t size) {
    uint32_t sequence = 0;
    for (size_t i = 0; i < 4 && i < size; i++) {
        sequence = sequence << 8U | data[size - 1 - i];
    }
    return (int32_t)sequence;
}

static char *append_sequence(const char *prefix, int32_t sequence) {
    size_t size = strlen(prefix) + 12;
    char *name = malloc(size);
    if (name == NULL) {
        abort();
    }
    snprintf(name, size, "%s%010" PRId32, prefix, sequence);
    return name;
}

/* Tells whether a GUID is one once its dashes are left out. (Those of sessions are.) */
static bool has_dashes_in_place(const char *guid) {
    bool has = true;
    for (size_t i = 0; i < GUID_LENGTH; i++) {
        has = has && (guid[i] != '-' || i == 8 || i == 13 || i == 18 || i == 23);
    }
    return has;
}

/* Names of locks in each mode and naming, and of permits. */
static void check_own_names(const char *guid, size_t choice, int32_t sequence) {
    static const struct {
        zkl_mode mode;
        zkl_naming naming;
        zkl_node_kind kind;
    } names[] = {
        { ZKL_EXCLUSIVE, ZKL_NAMING_CURATOR, ZKL_NODE_EXCLUSIVE },
        { ZKL_READ, ZKL_NAMING_CURATOR, ZKL_NODE_READ },
        { ZKL_WRITE, ZKL_NAMING_CURATOR, ZKL_NODE_WRITE },
        { ZKL_EXCLUSIVE, ZKL_NAMING_CURATOR, ZKL_NODE_PERMIT },
        { ZKL_EXCLUSIVE, ZKL_NAMING_KAZOO, ZKL_NODE_EXCLUSIVE },
        { ZKL_READ, ZKL_NAMING_KAZOO, ZKL_NODE_READ },
        { ZKL_WRITE, ZKL_NAMING_KAZOO, ZKL_NODE_EXCLUSIVE },
        { ZKL_EXCLUSIVE, ZKL_NAMING_LEADER_LATCH, ZKL_NODE_EXCLUSIVE },
    };
    zkl_node_kind kind = names[choice % COUNT_OF(names)].kind;
    zkl_naming naming = names[choice % COUNT_OF(names)].naming;
    unsigned permits = kind == ZKL_NODE_PERMIT ? 1 + (unsigned)sequence % ZKL_PERMITS_MAX : 0;
    zkl_node_name own = zkl_node_name_of(names[choice % COUNT_OF(names)].mode, permits, naming);
    char prefix[ZKL_NODE_NAME_SIZE];
    zkl_node_name_prefix(prefix, guid, own);
    char *name = append_sequence(prefix, sequence);
    zkl_node_name read = zkl_node_name_parse(name);
    unit_check(read.kind == kind && read.sequence == sequence, __FILE__, __LINE__,
               "our own \"%s\" is read as kind %d, sequence %" PRId32, name, (int)read.kind,
               read.sequence);
    EXPECT(read.permits == permits && read.naming == naming);
    EXPECT(own.kind == kind);
    EXPECT(strlen(name) < ZKL_NODE_NAME_SIZE);
    bool is_known = naming != ZKL_NAMING_KAZOO || has_dashes_in_place(guid);
    EXPECT(!is_known || zkl_node_name_has_guid(name, guid));
    EXPECT(!is_known || zkl_node_name_same_guid(name, prefix));
    EXPECT(zkl_node_name_parse(prefix).kind == ZKL_NODE_FOREIGN);
    free(name);
}

static void check_owners(const char *one, const char *other, const char *guid) {
    char own[ZKL_NODE_NAME_SIZE];
    snprintf(own, sizeof(own), "_c_%s-", guid);
    EXPECT(zkl_node_name_has_guid(one, guid) ==
           (strncmp(one, own, strlen(own)) == 0 || reference_bare_owner(one, guid)));
    EXPECT(zkl_node_name_same_guid(one, other) == reference_same_owner(one, other));
    EXPECT(zkl_node_name_same_guid(other, one) == zkl_node_name_same_guid(one, other));
}

/* The GUID that a name seems to have, or else the one that was made up. */
static void guid_of(char guid[ZKL_GUID_SIZE], const char *name, const char *otherwise) {
    bool has_one = strlen(name) >= 3 + GUID_LENGTH;
    memcpy(guid, has_one ? name + 3 : otherwise, GUID_LENGTH);
    guid[GUID_LENGTH] = '\0';
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char made_up[ZKL_GUID_SIZE];
    char guid[ZKL_GUID_SIZE];
    char *text = fuzz_text(data, size);
    char *slash = strchr(text, '/');
    char *second = fuzz_copy(slash != NULL ? slash + 1 : text);
    char *first = fuzz_text((const uint8_t *)text, strcspn(text, "/"));
    make_guid(made_up, (fuzz_bytes){ data, size });
    guid_of(guid, second, made_up);
    check_reading(first);
    check_reading(second);
    check_stripe(first);
    check_stripe(second);
    check_own_names(made_up, size, last_bytes_as_sequence(data, size));
    check_owners(first, second, made_up);
    check_owners(first, second, guid);
    free(first);
    free(second);
    free(text);
    return 0;
}
