/* A program that uses a lock for some time, as one of a fleet that comes to have credentials.
   Prints how often it held the lock; fails at the first status that is not ZKL_OK, and when it
   finds somebody else inside. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include <zklock/zklock.h>

static const char usage[] =
    "usage: lock_user HOSTS RESOURCE MS FILE [SECRET [closed]]\n"
    "\n"
    "Acquires and releases the lock for MS milliseconds, or once, where MS is 0, and locks FILE\n"
    "meanwhile. It shows SECRET by the scheme digest, and makes its nodes for those that show the\n"
    "same, where it is closed.\n";

enum { patience_ms = 20000, inside_us = 2000, session_ms = 4000 };

static long long now_ms(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int told(const char *what, int status) {
    if (status != ZKL_OK) {
        printf("%s: %s. %s\n", what, zkl_strerror(status), zkl_error_message());
    }
    return status;
}

static int work_inside(int file) {
    if (flock(file, LOCK_EX | LOCK_NB) != 0) {
        printf("somebody else is inside\n");
        return EXIT_FAILURE;
    }
    (void)usleep(inside_us);
    return flock(file, LOCK_UN);
}

static int use(zkl_lock *lock, int file, long long for_ms) {
    long long end_ms = now_ms() + for_ms;
    long held = 0;
    int status = ZKL_OK;
    do {
        status = told("acquire", zkl_lock_acquire(lock, ZKL_EXCLUSIVE, patience_ms, NULL));
        if (status == ZKL_OK) {
            held++;
            status = work_inside(file);
            int released = told("release", zkl_lock_release(lock, patience_ms));
            status = status != 0 ? status : released;
        }
    } while (status == ZKL_OK && now_ms() < end_ms);
    printf("held %ld times\n", held);
    return status;
}

int main(int argc, char **argv) {
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    zkl_security security = ZKL_SECURITY_INIT;
    zkl_credential credential = ZKL_CREDENTIAL_INIT;
    zkl_client *client = NULL;
    zkl_lock *lock = NULL;
    if (argc < 5 || argc > 7) {
        fputs(usage, stderr);
        return 2;
    }
    options.session_timeout_ms = session_ms;
    if (argc > 5) {
        credential.secret = argv[5];
        credential.size = strlen(argv[5]);
        options.security = &security;
        security.credentials = &credential;
        security.credential_count = 1;
    }
    if (argc > 6) {
        security.node_acl = ZKL_ACL_AUTHENTICATED;
        security.parent_acl = ZKL_ACL_AUTHENTICATED;
    }
    int file = open(argv[4], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    int status =
        file < 0 ? EXIT_FAILURE : told("open", zkl_client_open(argv[1], &options, &client));
    if (status == 0) {
        status = told("open", zkl_lock_open(client, argv[2], NULL, &lock));
    }
    if (status == 0) {
        status = use(lock, file, atoll(argv[3]));
    }
    zkl_lock_close(lock);
    (void)zkl_client_close(client, patience_ms);
    return status == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
