#include "connection/broken_replies.h"

#include <string.h>

bool zkl_path_is_whole(const char *path) {
    const char *last = path != NULL ? strrchr(path, '/') : NULL;
    return last != NULL && last[1] != '\0';
}

bool zkl_names_are_whole(const struct String_vector *names) {
    if (names == NULL || names->count < 0 || (names->count > 0 && names->data == NULL)) {
        return false;
    }
    for (int32_t i = 0; i < names->count; i++) {
        if (names->data[i] == NULL) {
            return false;
        }
    }
    return true;
}

bool zkl_acl_is_whole(const struct ACL_vector *acl) {
    if (acl == NULL || acl->count < 0 || (acl->count > 0 && acl->data == NULL)) {
        return false;
    }
    for (int32_t i = 0; i < acl->count; i++) {
        if (acl->data[i].id.scheme == NULL || acl->data[i].id.id == NULL) {
            return false;
        }
    }
    return true;
}
