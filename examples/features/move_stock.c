/*
 * Moves goods between two warehouses, of which it needs both: move_stock HOSTS FROM TO
 *
 * Somebody else may move goods the other way at the same time: with one lock after the other
 * each would soon hold one warehouse and wait for the other for ever. A multi-lock takes both,
 * or none.
 */
#include <stdio.h>
#include <zklock/multi_lock.h>

enum { PATIENCE_MS = 30000 };

static int move(zkl_client *client, const char *from, const char *to) {
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
    zkl_client *client = NULL;
    int status = zkl_client_open(argc > 1 ? argv[1] : "127.0.0.1:2181", NULL, &client);
    if (status == ZKL_OK) {
        status = move(client, argc > 2 ? argv[2] : "warehouse-north",
                      argc > 3 ? argv[3] : "warehouse-south");
    }
    if (status != ZKL_OK) {
        fprintf(stderr, "%s. %s\n", zkl_strerror(status), zkl_error_message());
    }
    (void)zkl_client_close(client, 1000);
    return status == ZKL_OK ? 0 : 1;
}
