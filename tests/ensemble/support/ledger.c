#include "support/ledger.h"

#include "support/basics.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

/* How long a writer leaves the two numbers different, and a reader looks. */
static void take_time(void) {
    (void)poll(NULL, 0, 1);
}

static int64_t get(int fd, int which) {
    int64_t number;
    if (pread(fd, &number, sizeof number, which * (off_t)sizeof number) != sizeof number) {
        give_up("cannot read the ledger");
    }
    return number;
}

static void put(int fd, int which, int64_t number) {
    if (pwrite(fd, &number, sizeof number, which * (off_t)sizeof number) != sizeof number) {
        give_up("cannot write the ledger");
    }
}

static int open_ledger(const char *path) {
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) {
        give_up("cannot open the ledger %s", path);
    }
    return fd;
}

void ledger_make(char path[64]) {
    snprintf(path, 64, "/tmp/zklock-ledger-XXXXXX");
    int fd = mkstemp(path);
    if (fd < 0) {
        give_up("cannot make a ledger");
    }
    put(fd, 0, 0);
    put(fd, 1, 0);
    close(fd);
}

void ledger_remove(const char *path) {
    unlink(path);
}

static bool holds(int fd, int64_t first, int64_t second) {
    return get(fd, 0) == first && get(fd, 1) == second;
}

bool ledger_add_one(const char *path) {
    int fd = open_ledger(path);
    int64_t number = get(fd, 0);
    bool alone = holds(fd, number, number);
    put(fd, 0, number + 1);
    take_time();
    alone = holds(fd, number + 1, number) && alone;
    put(fd, 1, number + 1);
    close(fd);
    return alone;
}

/* A writer that was there before is seen at the first look, one that comes or
 * goes meanwhile at the second. */
bool ledger_look(const char *path, int64_t *number) {
    int fd = open_ledger(path);
    *number = get(fd, 0);
    bool alone = holds(fd, *number, *number);
    take_time();
    alone = holds(fd, *number, *number) && alone;
    close(fd);
    return alone;
}

/* ---- How many are inside together: the first number; and the most of all times ------------ */

/* The kernel's lock makes it one step for all processes and threads; it goes with the descriptor.
 */
static int64_t add_inside(const char *path, int change) {
    int fd = open_ledger(path);
    if (flock(fd, LOCK_EX) != 0) {
        give_up("cannot lock the ledger");
    }
    int64_t inside = get(fd, 0) + change;
    put(fd, 0, inside);
    if (inside > get(fd, 1)) {
        put(fd, 1, inside);
    }
    close(fd);
    return inside;
}

int64_t ledger_enter(const char *path) {
    return add_inside(path, 1);
}

void ledger_leave(const char *path) {
    (void)add_inside(path, -1);
}

int64_t ledger_most_inside(const char *path) {
    int fd = open_ledger(path);
    int64_t most = get(fd, 1);
    close(fd);
    return most;
}
