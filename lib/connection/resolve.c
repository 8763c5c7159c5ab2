#include "connection/resolve.h"

#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "zklock/zklock.h"

enum { ADDRESS_SIZE = 128 };

/* To `list`, with a comma behind each. */
static void write_all(FILE *list, const struct addrinfo *found, const char *port) {
    for (; found != NULL; found = found->ai_next) {
        char address[ADDRESS_SIZE];
        if (getnameinfo(found->ai_addr, found->ai_addrlen, address, sizeof(address), NULL, 0,
                        NI_NUMERICHOST) == 0) {
            (void)fprintf(list, "%s:%s,", address, port);
        }
    }
}

/* Takes "host:port" apart in place. The list has been checked before: there is a colon. */
static void resolve(FILE *list, char *server) {
    struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
    struct addrinfo *found = NULL;
    char *colon = strrchr(server, ':');
    *colon = '\0';
    if (server[0] == '[') {
        server++;
        colon[-1] = '\0';
    }
    if (getaddrinfo(server, NULL, &hints, &found) == 0) {
        write_all(list, found, colon + 1);
        freeaddrinfo(found);
    }
}

int zkl_resolve_servers(const char *servers, char **addresses) {
    char *text = NULL;
    size_t length = 0;
    char *copy = strdup(servers);
    FILE *list = copy != NULL ? open_memstream(&text, &length) : NULL;
    bool fits = list != NULL;
    if (fits) {
        char *rest = NULL;
        char *server = strtok_r(copy, ",", &rest);
        for (; server != NULL; server = strtok_r(NULL, ",", &rest)) {
            resolve(list, server);
        }
        fits = ferror(list) == 0;
        fits = fclose(list) == 0 && fits;
    }
    free(copy);
    if (!fits || length == 0) {
        free(text);
        return fits ? ZKL_DISCONNECTED : ZKL_NO_MEMORY;
    }
    text[length - 1] = '\0';
    *addresses = text;
    return ZKL_OK;
}
