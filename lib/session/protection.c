#include "session/protection.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "recipe/node_name.h"

/* ---- Identities --------------------------------------------------------------------------- */

/* Tells whether the secret is a digest in plain ASCII: the servers read it as text, in a character
 * set that is not known. */
static bool is_plain(const zkl_credential *credential) {
    const char *secret = credential->secret;
    for (size_t i = 0; i < credential->size; i++) {
        if (secret[i] < ' ' || secret[i] > '~') {
            return false;
        }
    }
    return strcmp(credential->scheme, "digest") == 0;
}

bool zkl_protection_knows(const zkl_credential *credential) {
    char id[ZKL_DIGEST_ID_SIZE];
    return is_plain(credential) && zkl_digest_id(credential->secret, credential->size, id);
}

bool zkl_protection_replaces_auth(const zkl_protection *self) {
    return self->given && self->uses_auth;
}

static void begin_at_first(zkl_protection *self, size_t index) {
    if (index == 0) {
        self->given_as = SIZE_MAX;
        self->has_unknown = self->has_others;
        self->count = 0;
    }
}

bool zkl_protection_add_shared(zkl_protection *self, size_t index,
                               const zkl_credential *credential) {
    begin_at_first(self, index);
    if (index < ZKL_CREDENTIALS_MAX && is_plain(credential) &&
        zkl_digest_id(credential->secret, credential->size, self->shared[index])) {
        self->count = index + 1;
        return true;
    }
    self->has_unknown = true;
    return !zkl_protection_replaces_auth(self);
}

static bool make_own(zkl_protection *self, zkl_operations *operations) {
    uint64_t random[2] = { 0 };
    if (!operations->table->random(operations, random, sizeof(random))) {
        return false;
    }
    snprintf(self->secret, sizeof(self->secret), "zklock:%016" PRIx64 "%016" PRIx64, random[0],
             random[1]);
    explicit_bzero(random, sizeof(random));
    if (!zkl_digest_id(self->secret, strlen(self->secret), self->own)) {
        return false;
    }
    zkl_acl_write(self->own_acl, NULL, &(zkl_acl_identities){ .own = self->own });
    return true;
}

/* Makes the session's identity, unless it has one: a session keeps what its nodes are protected by,
 * whatever the application shows later. */
static bool has_own(zkl_protection *self, zkl_operations *operations) {
    return self->given ||
           (self->wanted && !(self->uses_auth && self->has_unknown) && make_own(self, operations));
}

bool zkl_protection_next(zkl_protection *self, zkl_operations *operations, size_t index,
                         zkl_credential *credential) {
    begin_at_first(self, index);
    bool is_accepted = index > self->given_as;
    if (!is_accepted && has_own(self, operations)) {
        self->given = true;
        self->given_as = index;
        credential->scheme = "digest";
        credential->secret = self->secret;
        credential->size = strlen(self->secret);
        return true;
    }
    self->active = is_accepted;
    return false;
}

bool zkl_protection_drop(zkl_protection *self) {
    bool was_given = self->given && self->given_as != SIZE_MAX;
    self->wanted = self->wanted && !was_given;
    self->given = false;
    return was_given;
}

void zkl_protection_begin(zkl_protection *self) {
    self->active = false;
    self->given = false;
}

void zkl_protection_wipe(zkl_protection *self) {
    explicit_bzero(self->secret, sizeof(self->secret));
}

/* ---- ACLs --------------------------------------------------------------------------------- */

static bool is_create(zkl_multi_kind kind) {
    return kind != ZKL_MULTI_CHECK && kind != ZKL_MULTI_SET && kind != ZKL_MULTI_REMOVE;
}

static bool is_marked(const char *path) {
    return zkl_node_name_is_protected(strrchr(path, '/') + 1);
}

static bool makes_protected(const zkl_operation *operation) {
    if (operation->kind == ZKL_OPERATION_CREATE) {
        return is_marked(operation->path);
    }
    for (size_t i = 0; i < operation->count; i++) {
        if (is_create(operation->all[i].kind) && is_marked(operation->all[i].path)) {
            return true;
        }
    }
    return false;
}

static bool creates(const zkl_operation *operation) {
    return operation->kind == ZKL_OPERATION_CREATE ||
           operation->kind == ZKL_OPERATION_CREATE_PARENT ||
           operation->kind == ZKL_OPERATION_SET_ACL || operation->kind == ZKL_OPERATION_TRANSACTION;
}

const char *zkl_protection_acl(const zkl_protection *self, const zkl_operation *operation,
                               char room[ZKL_ACL_WRITTEN_SIZE]) {
    if (!self->active || !creates(operation)) {
        return operation->acl;
    }
    bool protects = makes_protected(operation);
    if (operation->acl == NULL) {
        return protects ? self->own_acl : NULL;
    }
    zkl_acl_write(room, operation->acl,
                  &(zkl_acl_identities){ .shared = self->shared,
                                         .shared_count = self->has_unknown ? 0 : self->count,
                                         .own = protects ? self->own : NULL });
    return room;
}
