#include "client/servers.h"

#include <stdlib.h>
#include <string.h>

#include "base/error_message.h"
#include "base/threads.h"
#include "connection/addresses.h"
#include "connection/resolve.h"

static char *copy_names(zkl_client *client) {
    ZKL_WITH_MUTEX(&client->mutex);
    return strdup(client->servers);
}

int zkl_servers_look_up(zkl_client_session *self) {
    char *names = copy_names(self->client);
    ZKL_TRY(zkl_made(names));
    char *found = NULL;
    int status = zkl_resolve_servers(names, &found);
    free(names);
    self->looked_up_ms = zkl_clock_ms();
    if (status != ZKL_OK) {
        return status;
    }
    if (self->addresses != NULL && zkl_addresses_are_same(self->addresses, found)) {
        free(found);
        return ZKL_OK;
    }
    free(self->addresses);
    self->addresses = found;
    self->moved = true;
    return ZKL_OK;
}

void zkl_servers_keep_rest(zkl_client_session *self, char *rest) {
    free(self->rest);
    self->rest = rest;
}

void zkl_servers_hand_over(zkl_client_session *self) {
    (void)zkl_connection_set_servers(self->connection, self->addresses);
    zkl_servers_keep_rest(self, NULL);
}

/* Leaves a server that is silent, with which libzookeeper has too much patience (lz-patience).
 * Where all refuse it tries one after the other itself, and quickly. */
bool zkl_servers_leave_silent(zkl_client_session *self) {
    char silent[ZKL_ADDRESS_SIZE];
    const char *rest = self->rest != NULL ? self->rest : self->addresses;
    bool is_silent = zkl_connection_server(self->connection, silent);
    char *others = is_silent ? zkl_addresses_others(self->addresses, rest, silent) : NULL;
    if (others == NULL || others[0] == '\0') {
        free(others);
        return false;
    }
    (void)zkl_connection_set_servers(self->connection, others);
    zkl_servers_keep_rest(self, others);
    return true;
}
