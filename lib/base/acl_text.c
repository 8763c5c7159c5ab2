#include "base/acl_text.h"

#include <string.h>

#include "base/error_message.h"
#include "base/validation.h"

#define LETTERS "rwcda" /* in the order of ZooKeeper's bits */

/* Returns the bits of these letters, all of which are in LETTERS. */
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

/* ---- Writing ------------------------------------------------------------------------------ */

void zkl_acl_add(zkl_text *text, const char *scheme, const char *id, size_t id_length,
                 int permissions) {
    if (permissions == 0) {
        return;
    }
    zkl_text_add(text, text->length > 0 ? "," : "");
    zkl_text_add(text, scheme);
    zkl_text_add(text, scheme[0] != '\0' ? ":" : "");
    zkl_text_add_bytes(text, id, id_length);
    zkl_text_add(text, ":");
    static const struct {
        char letter;
        unsigned bit;
    } order[] = { { 'c', 2 }, { 'd', 3 }, { 'r', 0 }, { 'w', 1 }, { 'a', 4 } };
    char letters[sizeof(LETTERS)];
    size_t count = 0;
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
        letters[count] = order[i].letter;
        count += (unsigned)permissions >> order[i].bit & 1U;
    }
    zkl_text_add_bytes(text, letters, count);
}

enum { WRITE_AND_ADMIN = 1 << 1 | 1 << 4 };

static bool is_auth(const zkl_acl_entry *entry) {
    return is(entry->scheme, entry->scheme_length, "auth");
}

bool zkl_acl_uses_auth(const char *text) {
    zkl_acl_entry entry;
    while (text != NULL && zkl_acl_next(&text, &entry)) {
        if (is_auth(&entry)) {
            return true;
        }
    }
    return false;
}

/* An ACL that is being written. */
typedef struct draft {
    zkl_text text;
    int taken; /* permissions that no entry gets */
} draft;

static void add_digest(draft *self, const char *id, int permissions) {
    zkl_acl_add(&self->text, "digest", id, strlen(id), permissions & ~self->taken);
}

/* Adds the shared identities. If there are none, the servers must refuse the ACL, as they refuse
 * the scheme auth then: "nobody" is no valid id. */
static void add_shared(draft *self, const zkl_acl_identities *identities, int permissions) {
    if (identities->shared_count == 0) {
        add_digest(self, "nobody", permissions);
    }
    for (size_t i = 0; i < identities->shared_count; i++) {
        add_digest(self, identities->shared[i], permissions);
    }
}

void zkl_acl_write(char text[ZKL_ACL_WRITTEN_SIZE], const char *acl,
                   const zkl_acl_identities *identities) {
    draft self = { .text = { .bytes = text, .size = ZKL_ACL_WRITTEN_SIZE - 1 },
                   .taken = identities->own != NULL ? WRITE_AND_ADMIN : 0 };
    int of_shared = 0;
    zkl_acl_entry entry;
    for (const char *next = acl != NULL ? acl : ZKL_ACL_OPEN; zkl_acl_next(&next, &entry);) {
        if (is_auth(&entry)) {
            of_shared |= entry.permissions;
        } else {
            size_t length = (size_t)(entry.id + entry.id_length - entry.scheme);
            zkl_acl_add(&self.text, "", entry.scheme, length, entry.permissions & ~self.taken);
        }
    }
    add_shared(&self, identities, of_shared);
    if (identities->own != NULL) {
        self.taken = 0;
        add_digest(&self, identities->own, WRITE_AND_ADMIN);
    }
    text[self.text.length] = '\0';
}

/* ---- Checking ----------------------------------------------------------------------------- */

/* Returns why the servers would refuse each create with this entry; NULL: they would not. */
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
