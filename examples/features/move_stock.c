/*
 * Moves goods between two warehouses, and needs the locks of both: move_stock HOSTS FROM TO
 *
 * Somebody else may move goods the other way at the same time. If each took one lock after the
 * other, each would soon hold one warehouse and wait for the other for ever. A multi-lock takes
 * both, or none.
 */
#include <zklock/multi_lock.h>

#include "../example.h"

enum { PATIENCE_MS = 30000 };

static int move(zkl_client *client, int argc, char **argv) {
    const char *from = argc > 2 ? argv[2] : "warehouse-north";
    const char *to = argc > 3 ? argv[3] : "warehouse-south";
    zkl_multi_lock_member members[] = { ZKL_MULTI_LOCK_MEMBER_INIT, ZKL_MULTI_LOCK_MEMBER_INIT };
    zkl_multi_lock_grant grant = ZKL_MULTI_LOCK_GRANT_INIT;
    zkl_multi_lock *both = NULL;
    members[0].resource = from;
    members[1].resource = to;
    int status = zkl_multi_lock_open(client, members, 2, NULL, &both);
    if (status == ZKL_OK) {
        status = zkl_multi_lock_acquire(both, PATIENCE_MS, &grant);
    }
    if (status == ZKL_OK) {
        printf("from %s to %s, with the token %lld for both\n", from, to, (long long)grant.token);
        status = zkl_multi_lock_release(both, PATIENCE_MS);
    }
    zkl_multi_lock_close(both);
    return status;
}

int main(int argc, char **argv) {
    return run_example(argc, argv, NULL, move);
}
