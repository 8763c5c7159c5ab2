#include "kinds.h"

#include "lock.h"

#include <stdio.h>
#include <string.h>

/* A new kind is a row here, with functions of its own only where it does something else than the
 * others. The families:
 *
 *     plain       whatever excludes each other, however it is acquired
 *     read-write  readers and writers
 *     permits     a semaphore
 */
static const char plain[] = "plain";
static const char read_write[] = "read-write";
static const char permits[] = "permits";

enum { PERMITS = 3 };

static const struct kind kinds[] = {
    { .name = "exclusive",
      .family = plain,
      .opening = &a_lock,
      .acquire = lock_acquire,
      .hold = lock_hold,
      .release = lock_release },
    { .name = "try",
      .family = plain,
      .opening = &a_lock,
      .acquire = lock_try,
      .hold = lock_hold,
      .release = lock_release },
    { .name = "read",
      .family = read_write,
      .opening = &a_lock,
      .acquire = lock_acquire,
      .hold = lock_hold,
      .release = lock_release,
      .mode = ZKL_READ },
    { .name = "write",
      .family = read_write,
      .opening = &a_lock,
      .acquire = lock_acquire,
      .hold = lock_hold,
      .release = lock_release,
      .mode = ZKL_WRITE },
    { .name = "permit",
      .family = permits,
      .opening = &a_lock,
      .acquire = lock_acquire,
      .hold = lock_hold,
      .release = lock_release,
      .permits = PERMITS },
};

enum { KIND_COUNT = sizeof kinds / sizeof kinds[0] };

const struct kind *kind_of_name(const char *name, size_t length) {
    for (size_t i = 0; i < KIND_COUNT; i++) {
        if (strlen(kinds[i].name) == length && strncmp(kinds[i].name, name, length) == 0) {
            return &kinds[i];
        }
    }
    return NULL;
}

void kinds_print(void) {
    for (size_t i = 0; i < KIND_COUNT; i++) {
        puts(kinds[i].name);
    }
}
