/* What the kinds do with a lock: most of them differ in one of these. */
#pragma once

#include "kinds.h"

/** A zkl_lock of one resource. */
extern const struct opening a_lock;

/** Waits for as long as it takes, or nearly. */
bool lock_acquire(struct handle *handle);
bool lock_try(struct handle *handle);
/** Gives up after some milliseconds. */
bool lock_acquire_in_a_hurry(struct handle *handle);
/** Works for a time that is drawn, or until the lock is known to be lost; with tell_contended
 *  sometimes until somebody waits. */
void lock_hold(struct handle *handle);
/** Looks at the lease all the time. */
void lock_hold_and_check(struct handle *handle);
/** Holds until after the kind's max_hold_ms, now and then. */
void lock_hold_too_long(struct handle *handle);
void lock_release(struct handle *handle);
/** Closes a zkl_lock, of whatever kind. */
void lock_close(struct handle *handle);

/* ---- Parts of these, for kinds that do more ----------------------------------------------------
 */

/** Draws one of a family's resources, which is the handle's resource of that number. */
void lock_draw_resource(struct handle *handle, size_t number, const char *family);
/** What every lock is opened with. `lending` must live as long as the options. */
void lock_draw_options(struct handle *handle, zkl_lock_options *options, zkl_lending *lending);
/** Draws this option, which a part of all handles has. */
int lock_draw_fail_on_session_expiry(struct handle *handle);
/** Acquires by a call that the history has as `what`. */
bool lock_acquire_within(struct handle *handle, const char *what, int64_t timeout_ms);
/** Adds to the line of an acquire what is asked for. */
void lock_note_request(history_line *line, const struct handle *handle, int64_t timeout_ms);
/** Adds to the line of a grant what it is. mode: NULL for that of several resources. */
void lock_note_grant(history_line *line, const struct handle *handle, const char *mode);
/** The name of the mode in the history; NULL for a set. */
const char *lock_mode_name(const struct handle *handle);
/** Notes that the handle is opened, and with what. Between them it is opened. */
void lock_begin_open(struct handle *handle, struct call *call);
void lock_end_open(struct handle *handle, struct call *call, int status);
/** Notes that the handle is closed. */
void lock_begin_close(struct handle *handle, struct call *call);
void lock_end_close(struct handle *handle, struct call *call);
/** Looks whether the lock is held. Returns false if it is lost. */
bool lock_check(struct handle *handle);
/** Draws how long a release may take. */
int64_t lock_draw_release_ms(struct handle *handle);
/** Holds for that time, as lock_hold does. */
bool lock_hold_for(struct handle *handle, int64_t time_ms);
/** How long a holder works: mostly some milliseconds. */
int64_t lock_draw_hold(struct handle *handle);
