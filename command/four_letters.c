#include "four_letters.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

bool four_letters_next(const char **hosts, char server[SERVER_NAME_SIZE]) {
    size_t length = strcspn(*hosts, ",/");
    if (length == 0 || length >= SERVER_NAME_SIZE) {
        return false;
    }
    memcpy(server, *hosts, length);
    server[length] = '\0';
    *hosts += length + (hosts[0][length] == ',' ? 1 : strlen(*hosts + length));
    return true;
}

/* Splits host and port. "[::1]:2181" has the host ::1. */
static bool split(const char *server, char host[SERVER_NAME_SIZE], const char **port) {
    const char *colon = strrchr(server, ':');
    if (colon == NULL) {
        return false;
    }
    size_t length = (size_t)(colon - server);
    bool has_brackets = server[0] == '[' && length > 1 && server[length - 1] == ']';
    snprintf(host, SERVER_NAME_SIZE, "%.*s", (int)(has_brackets ? length - 2 : length),
             server + (has_brackets ? 1 : 0));
    *port = colon + 1;
    return true;
}

static bool connect_in_time(int descriptor, const struct addrinfo *address, int timeout_ms) {
    struct pollfd file = { .fd = descriptor, .events = POLLOUT };
    int failure = 0;
    socklen_t size = sizeof(failure);
    if (connect(descriptor, address->ai_addr, address->ai_addrlen) == 0) {
        return true;
    }
    if (errno != EINPROGRESS) {
        return false;
    }
    if (poll(&file, 1, timeout_ms) != 1) {
        errno = ETIMEDOUT;
        return false;
    }
    getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &failure, &size);
    errno = failure;
    return failure == 0;
}

/* Connects to the first of the addresses that accepts. -1: none does, and errno says why. */
static int open_connection(const struct addrinfo *addresses, int timeout_ms) {
    errno = EHOSTUNREACH;
    for (const struct addrinfo *one = addresses; one != NULL; one = one->ai_next) {
        int descriptor = socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
                                one->ai_protocol);
        if (descriptor >= 0 && connect_in_time(descriptor, one, timeout_ms)) {
            return descriptor;
        }
        int failure = errno;
        if (descriptor >= 0) {
            close(descriptor);
        }
        errno = failure;
    }
    return -1;
}

/* Reads up to the end, which the server makes. */
static bool read_answer(int descriptor, int timeout_ms, char answer[ANSWER_SIZE]) {
    size_t used = 0;
    struct pollfd file = { .fd = descriptor, .events = POLLIN };
    while (used < ANSWER_SIZE - 1) {
        if (poll(&file, 1, timeout_ms) != 1) {
            errno = ETIMEDOUT;
            return false;
        }
        ssize_t length = read(descriptor, answer + used, ANSWER_SIZE - 1 - used);
        if (length < 0) {
            return false;
        }
        if (length == 0) {
            break;
        }
        used += (size_t)length;
    }
    answer[used] = '\0';
    return true;
}

static bool four_letters_exchange(const struct addrinfo *addresses, const char *word,
                                  int timeout_ms, char answer[ANSWER_SIZE]) {
    int descriptor = open_connection(addresses, timeout_ms);
    bool is_answered =
        descriptor >= 0 &&
        send(descriptor, word, strlen(word), MSG_NOSIGNAL) == (ssize_t)strlen(word) &&
        read_answer(descriptor, timeout_ms, answer);
    if (!is_answered) {
        snprintf(answer, ANSWER_SIZE, "%s", strerror(errno));
    }
    if (descriptor >= 0) {
        close(descriptor);
    }
    return is_answered;
}

bool four_letters_ask(const char *server, const char *word, int timeout_ms,
                      char answer[ANSWER_SIZE]) {
    char host[SERVER_NAME_SIZE];
    const char *port = NULL;
    struct addrinfo wanted = { .ai_socktype = SOCK_STREAM };
    struct addrinfo *addresses = NULL;
    if (!split(server, host, &port)) {
        snprintf(answer, ANSWER_SIZE, "must be host:port");
        return false;
    }
    int failure = getaddrinfo(host, port, &wanted, &addresses);
    if (failure != 0) {
        snprintf(answer, ANSWER_SIZE, "%s", gai_strerror(failure));
        return false;
    }
    bool is_answered = four_letters_exchange(addresses, word, timeout_ms, answer);
    freeaddrinfo(addresses);
    return is_answered;
}

bool four_letters_find(const char *answer, const char *name, char *value, size_t size) {
    const char *line = answer;
    size_t length = strlen(name);
    while (line != NULL && strncmp(line, name, length) != 0) {
        line = strchr(line, '\n');
        line = line != NULL ? line + 1 : NULL;
    }
    if (line == NULL) {
        return false;
    }
    line += length;
    line += strspn(line, " \t:=");
    snprintf(value, size, "%.*s", (int)strcspn(line, "\r\n"), line);
    return true;
}
