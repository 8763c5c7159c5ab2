#include "support/names.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    char letter;
    bool curator; /* "_c_<guid>-" stands before the marker; otherwise the GUID's digits without the
                     dashes do, as in kazoo */
    const char *marker;
} kinds[] = {
    { 'x', true, "lock-" },      { 'r', true, "__READ__" },  { 'w', true, "__WRIT__" },
    { 'q', false, "__rlock__" }, { 'k', false, "__lock__" }, { 'u', false, "-election-" },
    { 'p', true, "permit-2-" },  { 't', true, "permit-3-" }, { 'l', true, "latch-" },
};

/* If the digit here is '8' the node is protected. */
enum { VERSION_OFFSET = 14, BARE_VERSION_OFFSET = 12 };

void name_own_guid(char guid[NAME_GUID_SIZE], unsigned session) {
    snprintf(guid, NAME_GUID_SIZE, "c0ffee00-0000-4000-8000-%012u", session);
}

/* Scatters the GUIDs, so that names do not happen to sort by their sequences. */
void name_other_guid(char guid[NAME_GUID_SIZE], uint64_t seed) {
    uint64_t mixed = (seed + 1) * 0x9e3779b97f4a7c15U;
    snprintf(guid, NAME_GUID_SIZE, "%08" PRIx64 "-0000-4000-8000-%012" PRIx64, mixed >> 32U,
             seed & 0xffffffffffffU);
}

void name_protect(char guid[NAME_GUID_SIZE]) {
    guid[VERSION_OFFSET] = '8';
}

bool name_is_protected(const char *name) {
    bool is_bare = strncmp(name, "_c_", 3) != 0;
    return strlen(name) > 3 + NAME_GUID_SIZE &&
           name[is_bare ? BARE_VERSION_OFFSET : 3 + VERSION_OFFSET] == '8';
}

/* Takes the dashes out of a GUID. */
static void strip(char *guid) {
    char *to = guid;
    for (const char *from = guid; *from != '\0'; from++) {
        if (*from != '-') {
            *to++ = *from;
        }
    }
    *to = '\0';
}

void name_own_prefix(char name[NAME_SIZE], const char *guid, zkl_mode mode, unsigned permits,
                     zkl_naming naming) {
    static const char *const markers[] = {
        [ZKL_EXCLUSIVE] = "lock-", [ZKL_READ] = "__READ__", [ZKL_WRITE] = "__WRIT__"
    };
    char bare[NAME_GUID_SIZE];
    snprintf(bare, sizeof(bare), "%s", guid);
    strip(bare);
    if (permits > 0) {
        snprintf(name, NAME_SIZE, "_c_%s-permit-%u-", guid, permits);
    } else if (naming == ZKL_NAMING_KAZOO) {
        snprintf(name, NAME_SIZE, "%s__%slock__", bare, mode == ZKL_READ ? "r" : "");
    } else if (naming == ZKL_NAMING_LEADER_LATCH) {
        snprintf(name, NAME_SIZE, "_c_%s-latch-", guid);
    } else {
        snprintf(name, NAME_SIZE, "_c_%s-%s", guid, markers[mode]);
    }
}

void name_other(char name[NAME_SIZE], char letter, const char *guid, int32_t sequence) {
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (kinds[i].letter == tolower(letter)) {
            char own_guid[NAME_GUID_SIZE];
            snprintf(own_guid, sizeof(own_guid), "%s", guid);
            if (isupper(letter)) {
                name_protect(own_guid);
            }
            if (!kinds[i].curator) {
                strip(own_guid);
            }
            snprintf(name, NAME_SIZE, "%s%s%s%s%010" PRId32, kinds[i].curator ? "_c_" : "",
                     own_guid, kinds[i].curator ? "-" : "", kinds[i].marker, sequence);
            return;
        }
    }
    snprintf(name, NAME_SIZE, "junk");
}

int32_t name_sequence(const char *brief) {
    const char *number = brief + strcspn(brief, "-0123456789");
    return (int32_t)strtol(number, NULL, 10);
}

void name_expand(char name[NAME_SIZE], const char *brief, const char *own_prefix) {
    int32_t sequence = name_sequence(brief);
    if (strncmp(brief, "me", 2) == 0) {
        snprintf(name, NAME_SIZE, "%s%010" PRId32, own_prefix, sequence);
        return;
    }
    char guid[NAME_GUID_SIZE];
    if (strncmp(brief, "mr", 2) == 0) {
        snprintf(guid, sizeof(guid), "%s", own_prefix + strlen("_c_"));
        name_other(name, 'r', guid, sequence);
        return;
    }
    name_other_guid(guid, (uint64_t)(uint32_t)sequence);
    name_other(name, brief[0], guid, sequence);
}

void name_shorten(char brief[NAME_SIZE], const char *name, const char *own_prefix) {
    size_t own_length = strlen(own_prefix);
    if (strncmp(name, own_prefix, own_length) == 0) {
        snprintf(brief, NAME_SIZE, "me%s%ld", name[own_length] == '\0' ? "-prefix" : "",
                 strtol(name + own_length, NULL, 10));
        return;
    }
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const char *marker = strstr(name, kinds[i].marker);
        if (marker != NULL) {
            char letter = kinds[i].letter;
            snprintf(brief, NAME_SIZE, "%c%ld", name_is_protected(name) ? toupper(letter) : letter,
                     strtol(marker + strlen(kinds[i].marker), NULL, 10));
            return;
        }
    }
    snprintf(brief, NAME_SIZE, "%.*s", NAME_SIZE - 1, name);
}
