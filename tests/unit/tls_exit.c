/* A program that ends while TLS connects: tls_exit_test.c runs it many times.
 * usage: tls_exit HOSTS DIRECTORY MICROSECONDS first|later|closes */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/ssl.h>

#include "zklock/zklock.h"

enum { PATH_SIZE = 128 };

static const char *hosts;
static zkl_client *_Atomic opened;
static char files[3][PATH_SIZE];

static void *open_client(void *arg) {
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    zkl_security security = ZKL_SECURITY_INIT;
    zkl_client *client = NULL;
    (void)arg;
    options.security = &security;
    security.tls_ca_file = files[0];
    security.tls_certificate_file = files[1];
    security.tls_key_file = files[2];
    opened = zkl_client_open(hosts, &options, &client) == ZKL_OK ? client : NULL;
    return NULL;
}

/* When OpenSSL has ended, as that began later. */
static void close_client(void) {
    if (zkl_client_close(opened, 0) == ZKL_INVALID_ARGUMENT) {
        _exit(EXIT_FAILURE);
    }
}

int main(int argc, char **argv) {
    static const char *const names[] = { "ca.pem", "client.pem", "client.key" };
    pthread_t opener;
    if (argc != 5) {
        return EXIT_FAILURE;
    }
    hosts = argv[1];
    for (int i = 0; i < 3; i++) {
        snprintf(files[i], PATH_SIZE, "%s/%s", argv[2], names[i]);
    }
    if (strcmp(argv[4], "first") == 0) { /* its own use of OpenSSL */
        (void)OPENSSL_init_ssl(0, NULL);
    } else if (strcmp(argv[4], "closes") == 0) {
        (void)atexit(close_client);
    }
    if (pthread_create(&opener, NULL, open_client, NULL) != 0) {
        return EXIT_FAILURE;
    }
    (void)usleep((useconds_t)strtoul(argv[3], NULL, 10));
    exit(EXIT_SUCCESS); /* as main would by its return */
}
