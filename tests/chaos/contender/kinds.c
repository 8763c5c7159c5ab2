#include "kinds.h"

#include "asynchronous.h"
#include "cancel.h"
#include "change.h"
#include "election.h"
#include "guarded.h"
#include "lock.h"
#include "reentrant.h"
#include "set.h"
#include "striped.h"

#include <stdio.h>
#include <string.h>

/* A new kind is a row here, with functions of its own only where it does something else than the
 * others. The families:
 *
 *     plain       whatever excludes each other, however it is acquired
 *     read-write  readers and writers
 *     permits     a semaphore
 *     striped     stripes of a resource
 *     election    candidates and observers
 *
 * A set has resources of the first three.
 */
static const char plain[] = "plain";
static const char read_write[] = "read-write";
static const char permits[] = "permits";
static const char striped[] = "striped";
static const char election[] = "election";

enum { HAND_OFFS = 4, HAND_OFF_MS = 500, RETAIN_MS = 400, MAX_HOLD_MS = 40, SOMETIMES = 4 };

static const struct kind kinds[] = {
    { .name = "exclusive",
      .family = plain,
      .opening = &a_lock,
      .acquire = lock_acquire,
      .hold = lock_hold,
      .release = lock_release,
      .writes_once_in = SOMETIMES,
      .commits_once_in = SOMETIMES },
    { .name = "try",
      .family = plain,
      .opening = &a_lock,
      .acquire = lock_try,
      .hold = lock_hold,
      .release = lock_release,
      .writes_once_in = SOMETIMES },
    { .name = "reentrant",
      .family = plain,
      .opening = &a_lock,
      .acquire = lock_acquire_again,
      .hold = lock_hold,
      .release = lock_release_as_often,
      .is_reentrant = true,
      .writes_once_in = SOMETIMES },
    { .name = "deadline",
      .family = plain,
      .opening = &a_lock,
      .acquire = lock_acquire_in_a_hurry,
      .hold = lock_hold,
      .release = lock_release },
    { .name = "cancel",
      .family = plain,
      .opening = &a_lock,
      .acquire = lock_acquire_and_cancel,
      .hold = lock_hold,
      .release = lock_release },
    { .name = "hand-off",
      .family = plain,
      .opening = &a_lock,
      .acquire = lock_acquire,
      .hold = lock_hold,
      .release = lock_release,
      .relatives = RELATIVES_MAX,
      .hand_offs = HAND_OFFS,
      .hand_off_ms = HAND_OFF_MS,
      .writes_once_in = SOMETIMES,
      .commits_once_in = SOMETIMES },
    { .name = "retained",
      .family = plain,
      .opening = &a_lock,
      .acquire = lock_acquire,
      .hold = lock_hold,
      .release = lock_release,
      .retain_ms = RETAIN_MS,
      .needs_lease = true,
      .writes_once_in = SOMETIMES },
    { .name = "lease",
      .family = plain,
      .opening = &a_lock,
      .acquire = lock_acquire,
      .hold = lock_hold_and_check,
      .release = lock_release,
      .needs_lease = true },
    { .name = "max-hold",
      .family = plain,
      .opening = &a_lock,
      .acquire = lock_acquire,
      .hold = lock_hold_too_long,
      .release = lock_release,
      .max_hold_ms = MAX_HOLD_MS },
    { .name = "asynchronous",
      .family = plain,
      .opening = &a_lock,
      .acquire = asynchronous_acquire,
      .hold = asynchronous_hold,
      .release = asynchronous_release },
    { .name = "set",
      .family = plain,
      .opening = &a_set,
      .acquire = lock_acquire,
      .hold = lock_hold,
      .release = lock_release,
      .mode = ZKL_AS_OPENED,
      .commits_once_in = SOMETIMES },
    { .name = "two-sessions",
      .family = plain,
      .opening = &a_lock,
      .acquire = lock_acquire,
      .hold = lock_hold,
      .release = lock_release,
      .client = CLIENT_SECOND,
      .commits_once_in = SOMETIMES },
    { .name = "unprotected",
      .family = plain,
      .opening = &a_lock,
      .acquire = lock_acquire,
      .hold = lock_hold,
      .release = lock_release,
      .client = CLIENT_UNPROTECTED },
    { .name = "striped",
      .family = striped,
      .opening = &a_striped_lock,
      .acquire = striped_acquire,
      .hold = lock_hold,
      .release = lock_release },
    { .name = "guarded",
      .family = plain,
      .opening = &a_lock,
      .acquire = lock_acquire,
      .hold = guarded_hold,
      .release = lock_release,
      .commits_once_in = 1 },
    { .name = "stored",
      .family = plain,
      .opening = &a_lock,
      .acquire = lock_acquire,
      .hold = lock_hold,
      .release = lock_release,
      .writes_once_in = 1 },
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
      .mode = ZKL_WRITE,
      .writes_once_in = SOMETIMES,
      .commits_once_in = SOMETIMES },
    { .name = "downgrade",
      .family = read_write,
      .opening = &a_lock,
      .acquire = lock_acquire,
      .hold = lock_hold_and_downgrade,
      .release = lock_release,
      .mode = ZKL_WRITE },
    { .name = "upgrade",
      .family = read_write,
      .opening = &a_lock,
      .acquire = lock_acquire,
      .hold = lock_hold_and_upgrade,
      .release = lock_release,
      .mode = ZKL_READ },
    { .name = "permit",
      .family = permits,
      .opening = &a_lock,
      .acquire = lock_acquire,
      .hold = lock_hold,
      .release = lock_release,
      .relatives = RELATIVES_MAX,
      .permits = PERMITS_OF_ALL },
    { .name = "election",
      .family = election,
      .opening = &a_candidate,
      .acquire = election_campaign,
      .hold = lock_hold,
      .release = election_resign },
    { .name = "observer", .family = election, .opening = &an_observer, .acquire = observer_wait },
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
