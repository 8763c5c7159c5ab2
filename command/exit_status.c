#include "exit_status.h"

#include <zklock/zklock.h>

int exit_status_of(int status) {
    switch (status) {
    case ZKL_OK:
        return EXIT_DONE;
    case ZKL_INVALID_ARGUMENT:
    case ZKL_LEASE_IMPOSSIBLE: /* the settings do not fit the servers */
        return EXIT_USAGE;
    case ZKL_DISCONNECTED:
        return EXIT_NO_CONNECTION;
    case ZKL_AUTH_FAILED:
    case ZKL_NO_PERMISSION:
        return EXIT_NO_PERMISSION;
    case ZKL_LOST:
    case ZKL_SESSION_EXPIRED:
    case ZKL_LEASE_ENDED:
    case ZKL_HOLD_LIMIT:
    case ZKL_NODE_DELETED:
        return EXIT_LOCK_LOST;
    default:
        return EXIT_INTERNAL;
    }
}
