#include "session/resolve.h"

#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "zklock/zklock.h"

enum { ADDRESS_SIZE = 128, SERVER_SIZE = 512 };

/* One "host:port", taken apart in place. */
typedef struct server {
    char text[SERVER_SIZE];
    const char *host;
    const char *port;
} server;

/* The list has been checked before: each server has a colon and a port. */
static bool take_apart(server *result, const char *text, size_t length) {
    if (length >= sizeof(result->text)) {
        return false;
    }
    memcpy(result->text, text, length);
    result->text[length] = '\0';
    char *colon = strrchr(result->text, ':');
    if (colon == NULL) {
        return false;
    }
    *colon = '\0';
    result->port = colon + 1;
    result->host = result->text;
    size_t host_length = strlen(result->host);
    if (result->text[0] == '[' && host_length > 1) {
        result->text[host_length - 1] = '\0';
        result->host++;
    }
    return true;
}

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

static bool resolve(char **list, const char *text, size_t length) {
    server taken;
    struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
    struct addrinfo *found = NULL;
    if (!take_apart(&taken, text, length) || getaddrinfo(taken.host, NULL, &hints, &found) != 0) {
        return true;
    }
    bool fits = append_all(list, found, taken.port);
    freeaddrinfo(found);
    return fits;
}

int zkl_resolve_servers(const char *servers, char **addresses) {
    char *list = NULL;
    for (const char *text = servers; *text != '\0';) {
        size_t length = strcspn(text, ",");
        if (!resolve(&list, text, length)) {
            free(list);
            return ZKL_NO_MEMORY;
        }
        text += length + (text[length] == ',' ? 1 : 0);
    }
    *addresses = list;
    return list != NULL ? ZKL_OK : ZKL_DISCONNECTED;
}
