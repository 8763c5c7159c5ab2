/* What the functions of zklock/testing.h have in common. */
#pragma once

#include "testing/ensemble.h"
#include "testing/memory.h"

/** Ends the program, unless the rule for a function's use is kept. */
static inline void zkl_testing_insist(bool kept, const char *function, const char *rule) {
    if (!kept) {
        zkl_testing_fail("%s: %s", function, rule);
    }
}
/** The ensemble, or the program's end where none has begun. */
zkl_ensemble *zkl_testing_ensemble(const char *function);
/** The same, with a leader: waits for an election that is under way. */
zkl_ensemble *zkl_testing_led_ensemble(const char *function);
/** A duration, which must be one. */
int64_t zkl_testing_to_us(const char *function, int64_t ms);
/** The moment `ms` from now; never beyond the end of time. */
int64_t zkl_testing_moment_after(const char *function, int64_t ms);

/** Waits until that moment, or until `is_so` returns true, which is then returned. */
bool zkl_testing_wait(bool (*is_so)(void *arg), void *arg, int64_t until_us);

/** Ends the program where functions of another zklock are in the place of ours. */
void zkl_testing_insist_on_linkage(void);

/** Whether all tasks that a test has started have ended. */
bool zkl_testing_tasks_have_ended(void);

/* ---- The trace ---- */

/** What it wants to hear of the ensemble. */
zkl_ensemble_hooks zkl_testing_trace_hooks(void);
/** From now on it hears of the lock handles, or no longer does. */
void zkl_testing_trace_locks(bool on);
/** "who" in a few letters. */
__attribute__((format(printf, 2, 3))) void zkl_testing_trace(const char *who, const char *format,
                                                             ...);
