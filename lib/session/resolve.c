#include "session/resolve.h"

#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "zklock/zklock.h"

enum { ADDRESS_SIZE = 128 };

static bool append(char **list, const char *address, const char *port) {
    size_t length = *list != NULL ? strlen(*list) : 0;
    size_t size = length + strlen(address) + strlen(port) + 3;
    char *longer = realloc(*list, size);
    if (longer == NULL) {
        return false;
    }
    snprintf(longer + length, size - length, "%s%s:%s", length > 0 ? "," : "", address, port);
    *list = longer;
    return true;
}

static bool append_all(char **list, const struct addrinfo *found, const char *port) {
    for (; found != NULL; found = found->ai_next) {
        char address[ADDRESS_SIZE];
        if (getnameinfo(found->ai_addr, found->ai_addrlen, address, sizeof(address), NULL, 0,
                        NI_NUMERICHOST) == 0 &&
            !append(list, address, port)) {
            return false;
        }
    }
    return true;
}

/* Takes "host:port" apart in place. The list has been checked before: there is a colon. */
static bool resolve(char **list, char *server) {
    struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
    struct addrinfo *found = NULL;
    char *colon = strrchr(server, ':');
    *colon = '\0';
    if (server[0] == '[') {
        server++;
        colon[-1] = '\0';
    }
    if (getaddrinfo(server, NULL, &hints, &found) != 0) {
        return true;
    }
    bool fits = append_all(list, found, colon + 1);
    freeaddrinfo(found);
    return fits;
}

int zkl_resolve_servers(const char *servers, char **addresses) {
    char *list = NULL;
    char *rest = NULL;
    char *copy = strdup(servers);
    bool fits = copy != NULL;
    char *server = fits ? strtok_r(copy, ",", &rest) : NULL;
    for (; fits && server != NULL; server = strtok_r(NULL, ",", &rest)) {
        fits = resolve(&list, server);
    }
    free(copy);
    if (!fits) {
        free(list);
        return ZKL_NO_MEMORY;
    }
    *addresses = list;
    return list != NULL ? ZKL_OK : ZKL_DISCONNECTED;
}
