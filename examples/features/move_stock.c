/*
 * Moves goods between two warehouses, and needs the locks of both: move_stock HOSTS FROM TO
 *
 * Somebody else may move goods the other way at the same time. If each took one lock after the
 * other, each would soon hold one warehouse and wait for the other for ever. A set takes
 * both, or none.
 */
#include <zklock/zklock.h>

#include "../example.h"

enum { PATIENCE_MS = 30000 };

static int move(zkl_client *client, int argc, char **argv) {
    const char *from = argc > 2 ? argv[2] : "warehouse-north";
    const char *to = argc > 3 ? argv[3] : "warehouse-south";
    zkl_lock_member members[] = { ZKL_LOCK_MEMBER_INIT, ZKL_LOCK_MEMBER_INIT };
    zkl_grant grant = ZKL_GRANT_INIT;
    zkl_lock *both = NULL;
    members[0].resource = from;
    members[1].resource = to;
    int status = zkl_lock_open_set(client, members, 2, NULL, &both);
    if (status == ZKL_OK) {
        status = zkl_lock_acquire(both, ZKL_AS_OPENED, PATIENCE_MS, &grant);
    }
    if (status == ZKL_OK) {
        printf("from %s to %s, with the token %lld for both\n", from, to, (long long)grant.token);
        status = zkl_lock_release(both, PATIENCE_MS);
    }
    zkl_lock_close(both);
    return status;
}

int main(int argc, char **argv) {
    return run_example(argc, argv, NULL, move);
}
