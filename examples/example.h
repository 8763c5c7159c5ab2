/* What every example needs beside its subject: a client, and a message when something fails. */
#pragma once

#include <stdio.h>
#include <zklock/zklock.h>

/** Runs an example with a client of the servers that argv[1] names. Returns the exit status. */
static inline int run_example(int argc, char **argv, const zkl_client_options *options,
                              int (*example)(zkl_client *client, int argc, char **argv)) {
    zkl_client *client = NULL;
    int status = zkl_client_open(argc > 1 ? argv[1] : "127.0.0.1:2181", options, &client);
    if (status == ZKL_OK) {
        status = example(client, argc, argv);
    }
    if (status != ZKL_OK) {
        fprintf(stderr, "%s. %s\n", zkl_strerror(status), zkl_error_message());
    }
    (void)zkl_client_close(client, 5000);
    return status == ZKL_OK ? 0 : 1;
}
