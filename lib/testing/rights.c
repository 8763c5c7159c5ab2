/* Rights to nodes, as ZooKeeper's ACLs have them: what is withheld is so from everybody. */
#include <string.h>

#include "testing/servers.h"

static zkl_acl *find(const zkl_ensemble *ensemble, const char *path, size_t length) {
    zkl_acl *acl = ensemble->acls;
    while (acl != NULL && (strncmp(acl->path, path, length) != 0 || acl->path[length] != '\0')) {
        acl = acl->next;
    }
    return acl;
}

void zkl_ensemble_withhold(zkl_ensemble *ensemble, const char *path, unsigned rights,
                           int64_t for_us) {
    size_t length = strlen(path);
    zkl_acl *acl = find(ensemble, path, length);
    if (acl == NULL) {
        acl = zkl_testing_allocate(sizeof(*acl) + length + 1);
        memcpy(acl->path, path, length + 1);
        acl->next = ensemble->acls;
        ensemble->acls = acl;
    }
    acl->withheld = rights;
    acl->until_us = for_us == ZKL_FOREVER ? INT64_MAX : zkl_world_now_us() + for_us;
}

void zkl_rights_grant_again(zkl_ensemble *ensemble) {
    for (zkl_acl *acl = ensemble->acls; acl != NULL; acl = acl->next) {
        if (acl->until_us != INT64_MAX) {
            acl->withheld = 0;
        }
    }
}

void zkl_rights_end(zkl_ensemble *ensemble) {
    while (ensemble->acls != NULL) {
        zkl_acl *acl = ensemble->acls;
        ensemble->acls = acl->next;
        zkl_testing_free(acl);
    }
}

/* Where the node is not there nothing is said of rights to it. */
static bool lacks(const zkl_ensemble *ensemble, const char *path, size_t length, zkl_right right,
                  int64_t zxid) {
    const zkl_acl *acl = find(ensemble, path, length);
    return acl != NULL && (acl->withheld & right) != 0 && acl->until_us > zkl_world_now_us() &&
           zkl_tree_find(ensemble->tree, acl->path, zxid) != NULL;
}

bool zkl_rights_lack_read(const zkl_ensemble *ensemble, const char *path, int64_t zxid) {
    return lacks(ensemble, path, strlen(path), ZKL_RIGHT_READ, zxid);
}

/* As PrepRequestProcessor.pRequest2Txn. */
bool zkl_rights_lack(const zkl_ensemble *ensemble, const zkl_write *operation, int64_t zxid) {
    const char *path = operation->path;
    const char *slash = strrchr(path, '/');
    size_t length_of_parent = slash != NULL ? (size_t)(slash - path) : 0;
    switch (operation->kind) {
    case ZKL_WRITE_CREATE:
        return lacks(ensemble, path, length_of_parent, ZKL_RIGHT_CREATE, zxid);
    case ZKL_WRITE_DELETE:
        return lacks(ensemble, path, length_of_parent, ZKL_RIGHT_DELETE, zxid);
    case ZKL_WRITE_SET:
        return lacks(ensemble, path, strlen(path), ZKL_RIGHT_WRITE, zxid);
    default:
        return zkl_rights_lack_read(ensemble, path, zxid);
    }
}
