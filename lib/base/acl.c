#include "base/acl.h"

#include <string.h>

#include "base/error_message.h"
#include "base/validation.h"

#define LETTERS "rwcda" /* in the order of their bits */

/* The permissions that these letters stand for; 0: they stand for none. */
static int permissions_of(const char *letters, size_t length) {
    int permissions = 0;
    for (size_t i = 0; i < length; i++) {
        permissions |= 1 << (strchr(LETTERS, letters[i]) - LETTERS);
    }
    return permissions;
}

bool zkl_acl_next(const char **text, zkl_acl_entry *entry) {
    size_t scheme_length = strcspn(*text, ":,");
    const char *id = *text + scheme_length + 1;
    const char *colon = scheme_length > 0 && id[-1] == ':' ? strchr(id, ':') : NULL;
    for (; colon != NULL; colon = strchr(colon + 1, ':')) {
        size_t length = strspn(colon + 1, LETTERS);
        const char *end = colon + 1 + length;
        if (length > 0 && (*end == ',' || *end == '\0')) {
            *entry = (zkl_acl_entry){ .scheme = *text,
                                      .scheme_length = scheme_length,
                                      .id = id,
                                      .id_length = (size_t)(colon - id),
                                      .permissions = permissions_of(colon + 1, length) };
            *text = *end == ',' ? end + 1 : end;
            return true;
        }
    }
    return false;
}

static bool is(const char *text, size_t length, const char *word) {
    return length == strlen(word) && strncmp(text, word, length) == 0;
}

/* What the servers would refuse at each create; NULL: nothing. */
static const char *broken_rule(const zkl_acl_entry *entry) {
    if (is(entry->scheme, entry->scheme_length, "world") &&
        !is(entry->id, entry->id_length, "anyone")) {
        return "the id of the scheme world is \"anyone\"";
    }
    const char *colon = memchr(entry->id, ':', entry->id_length);
    const char *last = memrchr(entry->id, ':', entry->id_length);
    if (is(entry->scheme, entry->scheme_length, "digest") && (colon == NULL || colon != last)) {
        return "the id of the scheme digest is \"user:hash\"";
    }
    return NULL;
}

int zkl_acl_validate(const char *what, const char *text) {
    ZKL_TRY(zkl_validate_text(what, text, ZKL_ACL_MAX));
    const char *next = text;
    int count = 0;
    while (text != NULL && (count == 0 || next[0] != '\0' || next[-1] == ',')) {
        zkl_acl_entry entry;
        if (++count > ZKL_ACL_ENTRIES_MAX) {
            return zkl_refuse(what, text, "at most %d entries are allowed", ZKL_ACL_ENTRIES_MAX);
        }
        if (!zkl_acl_next(&next, &entry)) {
            return zkl_refuse(what, text,
                              "entry %d must be scheme:id:permissions, these of the letters cdrwa",
                              count);
        }
        const char *rule = broken_rule(&entry);
        if (rule != NULL) {
            return zkl_refuse(what, text, "entry %d: %s", count, rule);
        }
    }
    return ZKL_OK;
}
