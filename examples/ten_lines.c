/* The smallest program that locks something: ten_lines HOSTS */
#include <stdio.h>
#include <zklock/zklock.h>

int main(int argc, char **argv) {
    zkl_client *client = NULL;
    zkl_lock *lock = NULL;
    zkl_grant grant = ZKL_GRANT_INIT;
    int status = zkl_client_open(argc > 1 ? argv[1] : "127.0.0.1:2181", NULL, &client);
    if (status == ZKL_OK) {
        status = zkl_lock_open(client, "backup", NULL, &lock);
    }
    if (status == ZKL_OK) {
        status = zkl_lock_acquire(lock, ZKL_EXCLUSIVE, 5000, &grant);
    }
    if (status == ZKL_OK) {
        printf("nobody else does this now; token %lld\n", (long long)grant.token);
    } else {
        fprintf(stderr, "%s. %s\n", zkl_strerror(status), zkl_error_message());
    }
    zkl_lock_close(lock);
    zkl_client_close(client, 1000);
    return status == ZKL_OK ? 0 : 1;
}
