#include "connection/failures.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/process_mutex.h"
#include "connection/addresses.h"

/* More addresses than that are rarely at fault at once: the latest ones are kept. */
enum { PLACES = 32, ADDRESS_SIZE = 128, WHY_SIZE = 112 };

/* What is known of an address. */
typedef struct failure {
    char address[ADDRESS_SIZE]; /* "": none */
    char why[WHY_SIZE];         /* "": it has not failed */
    bool accepted;              /* the connection was, and no session has come of it */
    uint64_t number;            /* of its latest line */
} failure;

static failure failures[PLACES];
static uint64_t lines;

/* ---- Lines ------------------------------------------------------------------------ */

/* The word behind `lead`, without the brackets of some versions and what follows it in a sentence.
 * False: the line has no such words. */
static bool find_address(const char *line, const char *lead, char address[ADDRESS_SIZE]) {
    const char *found = strstr(line, lead);
    if (found == NULL) {
        return false;
    }
    found += strlen(lead);
    bool bracketed = found[0] == '[' && strstr(found, "]:") == NULL;
    found += bracketed ? 1 : 0;
    size_t length = strcspn(found, bracketed ? "]" : " ,");
    if (length == 0 || length >= ADDRESS_SIZE) {
        return false;
    }
    memcpy(address, found, length);
    address[length] = '\0';
    return true;
}

/* Its own place, or the one that has heard nothing for longest. */
static failure *place_of(const char *address) {
    failure *oldest = &failures[0];
    for (size_t i = 0; i < PLACES; i++) {
        failure *one = &failures[i];
        if (strcmp(one->address, address) == 0) {
            one->number = ++lines;
            return one;
        }
        oldest = one->number < oldest->number ? one : oldest;
    }
    *oldest = (failure){ .number = ++lines };
    snprintf(oldest->address, sizeof(oldest->address), "%s", address);
    return oldest;
}

static void note(failure *one, bool accepted, const char *why) {
    one->accepted = accepted;
    snprintf(one->why, sizeof(one->why), "%s", why);
}

/* "errno=111(Connection refused): ...". Once it is accepted, that it was closed or too long silent
 * says less than that it was accepted. 0 is no reason: a handshake of TLS has failed. */
static void take_error(failure *one, const char *line) {
    const char *number = strstr(line, " errno=");
    bool is_known = number != NULL && strncmp(number, " errno=0(", strlen(" errno=0(")) != 0;
    const char *begin = is_known ? strchr(number, '(') : NULL;
    if (!one->accepted && begin != NULL) {
        snprintf(one->why, sizeof(one->why), "%.*s", (int)strcspn(begin + 1, ")"), begin + 1);
    }
    one->accepted = false;
}

void zkl_failures_take_line(const char *line) {
    char address[ADDRESS_SIZE];
    ZKL_WITH_MUTEX(&zkl_process_mutex);
    if (find_address(line, "initiated connection to server ", address)) {
        note(place_of(address), true,
             "accepts connections, but gives no session (no ZooKeeper server, or one without a "
             "quorum)");
    } else if (find_address(line, "session establishment complete on server ", address)) {
        note(place_of(address), false, "");
    } else if (strstr(line, " zk retcode=") != NULL && find_address(line, "Socket ", address)) {
        take_error(place_of(address), line);
    }
}

void zkl_failures_note(const char *address, const char *why) {
    ZKL_WITH_MUTEX(&zkl_process_mutex);
    note(place_of(address), true, why);
}

/* ---- Addresses -------------------------------------------------------------------- */

static bool is_one_of(const char *addresses, const char *address) {
    return zkl_addresses_contain(addresses, address, strlen(address));
}

void zkl_failures_find(const char *addresses, char *text, size_t size) {
    const failure *found = NULL;
    ZKL_WITH_MUTEX(&zkl_process_mutex);
    for (size_t i = 0; i < PLACES; i++) {
        const failure *one = &failures[i];
        bool later = found == NULL || one->number > found->number;
        if (one->why[0] != '\0' && later && is_one_of(addresses, one->address)) {
            found = one;
        }
    }
    text[0] = '\0';
    if (found != NULL) {
        snprintf(text, size, "%s: %s", found->address, found->why);
    }
}

void zkl_failures_forget(const char *addresses) {
    ZKL_WITH_MUTEX(&zkl_process_mutex);
    for (size_t i = 0; i < PLACES; i++) {
        if (is_one_of(addresses, failures[i].address)) {
            failures[i] = (failure){ 0 };
        }
    }
}
