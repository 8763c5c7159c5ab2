/* The clients of the process. */
#pragma once

#include "calls.h"
#include "options.h"

#include <stdbool.h>
#include <zklock/zklock.h>

/** What a client is there for. A process opens those that its kinds need. */
typedef enum client_role {
    CLIENT_FIRST,
    CLIENT_SECOND,      /* another session of the same process */
    CLIENT_UNPROTECTED, /* with the option of that name */
    CLIENT_ROLES        /* how many there are */
} client_role;

struct client {
    struct caller caller; /* its name is also how handles say that they share it */
    zkl_client *zkl;      /* NULL: it is not open */
    int32_t session_timeout_ms;
    int64_t session; /* the last that was noted; the log's thread has it */
};

/** Opens it, and notes its sessions from then on. Returns ZKL_OK, or what went wrong. */
int client_open(struct client *client, client_role role, const struct options *options);
int client_set_hosts(struct client *client, const char *hosts);
int client_set_credentials(struct client *client, const char *secret);
/** Writes its record to a file of that directory, which has its name. */
int client_write_record(struct client *client, const char *directory);
void client_close(struct client *client);
