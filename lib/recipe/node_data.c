#include "recipe/node_data.h"

#include <string.h>

/* org.apache.curator.framework.recipes.locks.LockInternals.REVOKE_MESSAGE */
static const char revocation[] = "__REVOKE__";

const char *zkl_node_data_revocation(void) {
    return revocation;
}

bool zkl_node_data_is_revocation(const char *data, size_t length) {
    return length == sizeof(revocation) - 1 && memcmp(data, revocation, length) == 0;
}
