#include "support/ledger.h"

#include "support/basics.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* How long the two numbers differ, and how long a reader takes from one to the
 * other: longer than a write, so that an overlap is seen. */
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

bool ledger_add_one(const char *path) {
    int fd = open_ledger(path);
    int64_t first = get(fd, 0);
    int64_t second = get(fd, 1);
    put(fd, 0, first + 1);
    take_time();
    put(fd, 1, second + 1);
    close(fd);
    return first == second;
}

bool ledger_look(const char *path, int64_t *number) {
    int fd = open_ledger(path);
    *number = get(fd, 0);
    take_time();
    int64_t second = get(fd, 1);
    close(fd);
    return *number == second;
}
