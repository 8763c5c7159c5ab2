/* Calls of the library, as the history has them: a line before, and a line after.
 *
 *     struct call call;
 *     call_prepare(&call, caller, "verify");    add what was asked
 *     call_begin(&call);
 *     int status = zkl_lock_verify(...);
 *     call_end(&call, status);                  add what was answered
 *     call_note(&call);
 */
#pragma once

#include "history.h"
#include "options.h"

#include <stdatomic.h>
#include <stdint.h>

enum { WHO_SIZE = NAME_MAX_BYTES + 16 };

/** Who calls: a handle or a client. */
struct caller {
    char who[WHO_SIZE];
    atomic_int_fast64_t calls; /* how many so far, which numbers them */
};

struct call {
    const char *who;
    const char *what;
    int64_t number;
    history_line line; /* the one that is being made */
};

/** Begins the line of a call, which call_begin writes. */
void call_prepare(struct call *call, struct caller *caller, const char *what);
void call_begin(struct call *call);
/** Begins the line of its return, just when it has returned; call_note writes it. */
void call_end(struct call *call, int status);
/** The same for the callback of an asynchronous call, as the first thing in it. */
void call_end_in_callback(struct call *call, int status);
/** The same, for an end that has no status of the library. */
void call_end_as(struct call *call, const char *event, const char *status);
void call_note(struct call *call);
