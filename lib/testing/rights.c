/* Rights to nodes: ZooKeeper's ACLs, and what is withheld from everybody. */
#include <stdio.h>
#include <string.h>

#include "base/acl_text.h"
#include "base/digest_id.h"
#include "testing/servers.h"
#include "testing/wire.h"

/* ---- What is withheld ------------------------------------------------------------------------ */

static zkl_withheld *find(const zkl_ensemble *ensemble, const char *path, size_t length) {
    zkl_withheld *one = ensemble->withheld;
    while (one != NULL && (strncmp(one->path, path, length) != 0 || one->path[length] != '\0')) {
        one = one->next;
    }
    return one;
}

void zkl_ensemble_withhold(zkl_ensemble *ensemble, const char *path, unsigned rights,
                           int64_t for_us) {
    size_t length = strlen(path);
    zkl_withheld *one = find(ensemble, path, length);
    if (one == NULL) {
        one = zkl_testing_allocate(sizeof(*one) + length + 1);
        memcpy(one->path, path, length + 1);
        one->next = ensemble->withheld;
        ensemble->withheld = one;
    }
    one->withheld = rights;
    one->until_us = for_us == ZKL_FOREVER ? INT64_MAX : zkl_world_now_us() + for_us;
}

void zkl_rights_grant_again(zkl_ensemble *ensemble) {
    for (zkl_withheld *one = ensemble->withheld; one != NULL; one = one->next) {
        if (one->until_us != INT64_MAX) {
            one->withheld = 0;
        }
    }
}

void zkl_rights_end(zkl_ensemble *ensemble) {
    while (ensemble->withheld != NULL) {
        zkl_withheld *one = ensemble->withheld;
        ensemble->withheld = one->next;
        zkl_testing_free(one);
    }
}

static bool is_withheld(const zkl_ensemble *ensemble, const zkl_node *node, int permission) {
    const char *path = zkl_node_path(node);
    const zkl_withheld *one = find(ensemble, path, strlen(path));
    return one != NULL && (one->withheld & (unsigned)permission) != 0 &&
           one->until_us > zkl_world_now_us();
}

void zkl_ensemble_refuse_digests(zkl_ensemble *ensemble, bool refuse) {
    ensemble->refuses_digests = refuse;
}

/* ---- Identities ------------------------------------------------------------------------------ */

/* As DigestAuthenticationProvider does, which is the only one that these servers have. */
zkl_server_error zkl_rights_add_identity(zkl_wire *wire, const char *scheme, const char *secret,
                                         size_t secret_size) {
    char id[ZKL_DIGEST_ID_SIZE];
    if (wire->ensemble->refuses_digests || strcmp(scheme, "digest") != 0 || secret_size == 0 ||
        !zkl_digest_id(secret, secret_size, id)) {
        return ZKL_SERVER_ERROR_AUTH_FAILED;
    }
    size_t known = wire->identities != NULL ? strlen(wire->identities) : 0;
    size_t size = known + strlen("digest:\n") + strlen(id) + 1;
    wire->identities = zkl_testing_reallocate(wire->identities, size);
    snprintf(wire->identities + known, size - known, "digest:%s\n", id);
    return ZKL_SERVER_ERROR_NONE;
}

static bool are_among(const char *identities, const zkl_acl_entry *entry) {
    for (const char *one = identities; one != NULL && *one != '\0'; one = strchr(one, '\n') + 1) {
        if (strncmp(one, entry->scheme, entry->scheme_length) == 0 &&
            one[entry->scheme_length] == ':' &&
            strncmp(one + entry->scheme_length + 1, entry->id, entry->id_length) == 0 &&
            one[entry->scheme_length + 1 + entry->id_length] == '\n') {
            return true;
        }
    }
    return false;
}

static bool is_scheme(const zkl_acl_entry *entry, const char *scheme) {
    return entry->scheme_length == strlen(scheme) &&
           strncmp(entry->scheme, scheme, entry->scheme_length) == 0;
}

/* Whether one of the identities is among the others, each of which ends with a line feed. */
static bool share_one(const char *identities, const char *others) {
    for (const char *one = identities; *one != '\0'; one = strchr(one, '\n') + 1) {
        const char *colon = strchr(one, ':');
        const zkl_acl_entry entry = { .scheme = one,
                                      .scheme_length = (size_t)(colon - one),
                                      .id = colon + 1,
                                      .id_length = strcspn(colon + 1, "\n") };
        if (are_among(others, &entry)) {
            return true;
        }
    }
    return false;
}

/* ---- ACLs ------------------------------------------------------------------------------------ */

/* As DigestAuthenticationProvider.isValid; without it nobody knows the scheme. */
static bool is_wrong_digest(const zkl_ensemble *ensemble, const zkl_acl_entry *entry) {
    return is_scheme(entry, "digest") &&
           (ensemble->refuses_digests || memchr(entry->id, ':', entry->id_length) == NULL);
}

/* As PrepRequestProcessor.fixupACL: "auth" without an identity is none, nor is an empty list. */
static bool is_valid(const zkl_ensemble *ensemble, const char *acl, const char *identities) {
    zkl_acl_entry entry;
    if (acl != NULL && *acl == '\0') {
        return false;
    }
    for (const char *next = acl; next != NULL && *next != '\0';) {
        bool is_entry = zkl_acl_next(&next, &entry);
        if (!is_entry || (is_scheme(&entry, "auth") && identities == NULL) ||
            is_wrong_digest(ensemble, &entry)) {
            return false;
        }
    }
    return true;
}

/* As ZooKeeperServer.checkACL. */
static bool grants(const zkl_node *node, int permission, const char *identities) {
    const char *next = zkl_node_acl(node);
    bool granted = next == NULL;
    zkl_acl_entry entry;
    while (!granted && zkl_acl_next(&next, &entry)) {
        granted = (entry.permissions & permission) != 0 &&
                  (is_scheme(&entry, "world") || are_among(identities, &entry) ||
                   (is_scheme(&entry, "auth") && identities != NULL &&
                    share_one(identities, zkl_node_makers(node))));
    }
    return granted;
}

bool zkl_rights_grant(const zkl_ensemble *ensemble, const zkl_node *node, int permission,
                      const char *identities) {
    return node == NULL ||
           (grants(node, permission, identities) && !is_withheld(ensemble, node, permission));
}

static const zkl_node *find_parent(const zkl_ensemble *ensemble, const char *path, int64_t zxid) {
    char parent[ZKL_NODE_PATH_SIZE];
    const char *slash = strrchr(path, '/');
    int length = slash == NULL ? 0 : slash == path ? 1 : (int)(slash - path);
    snprintf(parent, sizeof(parent), "%.*s", length, path);
    return zkl_tree_find(ensemble->tree, parent, zxid);
}

/* As PrepRequestProcessor.pRequest2Txn. Where a node is not there nothing is said of rights to it.
 */
zkl_server_error zkl_rights_check(const zkl_ensemble *ensemble, const zkl_write *operation,
                                  const char *identities, int64_t zxid) {
    static const int permissions[] = {
        [ZKL_WRITE_CREATE] = ZKL_PERMISSION_CREATE, [ZKL_WRITE_DELETE] = ZKL_PERMISSION_DELETE,
        [ZKL_WRITE_SET] = ZKL_PERMISSION_WRITE,     [ZKL_WRITE_SET_ACL] = ZKL_PERMISSION_ADMIN,
        [ZKL_WRITE_CHECK] = ZKL_PERMISSION_READ,
    };
    bool is_of_parent = operation->kind == ZKL_WRITE_CREATE || operation->kind == ZKL_WRITE_DELETE;
    const zkl_node *node = is_of_parent ? find_parent(ensemble, operation->path, zxid)
                                        : zkl_tree_find(ensemble->tree, operation->path, zxid);
    if (!zkl_rights_grant(ensemble, node, permissions[operation->kind], identities)) {
        return ZKL_SERVER_ERROR_NO_PERMISSION;
    }
    return is_valid(ensemble, operation->acl, identities) ? ZKL_SERVER_ERROR_NONE
                                                          : ZKL_SERVER_ERROR_INVALID_ACL;
}
