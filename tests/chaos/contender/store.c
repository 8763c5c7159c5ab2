#include "store.h"

#include <inttypes.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { ANSWER_S = 5, LINE_SIZE = 512 };

typedef enum store_answer { ACCEPTED, REFUSED, NO_ANSWER } store_answer;

/* ---- The connection -------------------------------------------------------------------------- */

static int connect_to(const struct addrinfo *address) {
    struct timeval patience = { .tv_sec = ANSWER_S };
    int connection = socket(address->ai_family, address->ai_socktype | SOCK_CLOEXEC, 0);
    if (connection < 0) {
        return 0;
    }
    (void)setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    (void)setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (connect(connection, address->ai_addr, address->ai_addrlen) != 0) {
        close(connection);
        return 0;
    }
    return connection;
}

static void visit(struct handle *handle) {
    char host[64];
    const char *store = handle->contender->options.store;
    const char *port = strrchr(store, ':') + 1;
    snprintf(host, sizeof host, "%.*s", (int)(port - 1 - store), store);
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST };
    struct addrinfo *address = NULL;
    if (getaddrinfo(host, port, &hints, &address) == 0) {
        handle->store = connect_to(address);
        freeaddrinfo(address);
    }
}

void store_leave(struct handle *handle) {
    if (handle->store != 0) {
        close(handle->store);
        handle->store = 0;
    }
}

/* ---- Asking ---------------------------------------------------------------------------------- */

static bool receive_line(int connection, char line[LINE_SIZE]) {
    for (size_t length = 0; length < LINE_SIZE; length++) {
        if (recv(connection, line + length, 1, 0) != 1) {
            return false;
        }
        if (line[length] == '\n') {
            line[length] = '\0';
            return true;
        }
    }
    return false;
}

/* An answer that did not come in time would be taken for that of the next question: so without one
 * the connection is closed. */
static store_answer ask(struct handle *handle, const char *question) {
    char line[LINE_SIZE];
    if (handle->store == 0) {
        visit(handle);
    }
    size_t length = strlen(question);
    if (handle->store == 0 ||
        send(handle->store, question, length, MSG_NOSIGNAL) != (ssize_t)length ||
        !receive_line(handle->store, line)) {
        store_leave(handle);
        return NO_ANSWER;
    }
    if (strncmp(line, "ok", 2) == 0) {
        return ACCEPTED;
    }
    if (strcmp(line, "refused") != 0) {
        fprintf(stderr, "%s: the store says: %s\n", handle->caller.who, line);
        return NO_ANSWER;
    }
    return REFUSED;
}

static bool has_claimed(const struct handle *handle) {
    return handle->claimed.token == handle->grant.token &&
           handle->claimed.local_number == handle->grant.local_number;
}

static store_answer claim(struct handle *handle) {
    char question[LINE_SIZE];
    snprintf(question, sizeof question, "claim %s %" PRId64 " %" PRId64 " %s\n",
             handle->resources[0], handle->grant.token, handle->grant.local_number,
             handle->caller.who);
    store_answer answer = ask(handle, question);
    if (answer == ACCEPTED) {
        handle->claimed.token = handle->grant.token;
        handle->claimed.local_number = handle->grant.local_number;
    }
    return answer;
}

static store_answer write_value(struct handle *handle, int64_t call) {
    char question[LINE_SIZE];
    snprintf(question, sizeof question,
             "write %s %" PRId64 " %" PRId64 " %s %" PRId64 " %s:%" PRId64 "\n",
             handle->resources[0], handle->grant.token, handle->grant.local_number,
             handle->caller.who, call, handle->caller.who, call);
    return ask(handle, question);
}

bool store_write(struct handle *handle) {
    static const char *const statuses[] = { "ZKL_OK", "refused", "ZKL_UNKNOWN" };
    struct call call;
    call_prepare(&call, &handle->caller, "store_write");
    history_text(&call.line, "key", handle->resources[0]);
    call_begin(&call);
    store_answer answer = has_claimed(handle) ? ACCEPTED : claim(handle);
    if (answer == ACCEPTED) {
        answer = write_value(handle, call.number);
    }
    call_end_as(&call, "return", statuses[answer]);
    call_note(&call);
    return answer != REFUSED;
}
