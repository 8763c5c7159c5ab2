/* How a call fails: the one way to hand a status on, and what zkl_error_message tells the calling
 * thread about its last call. */
#pragma once

#include "base/threads.h"
#include "zklock/zklock.h"

/** Begins each function that the application calls and that returns a status. */
#define ZKL_BEGIN_CALL                                                                             \
    ZKL_NOT_CANCELLED;                                                                             \
    zkl_error_clear()

/** Returns the status of `call` from the function, unless that is ZKL_OK. Where something must be
 *  freed first, let an inner function use it, and its caller free. */
#define ZKL_TRY(call)                                                                              \
    do {                                                                                           \
        int try_status = (call);                                                                   \
        if (try_status != ZKL_OK) {                                                                \
            return try_status;                                                                     \
        }                                                                                          \
    } while (0)

/** Returns ZKL_OK, or ZKL_NO_MEMORY for NULL. */
static inline int zkl_made(const void *made) {
    return made != NULL ? ZKL_OK : ZKL_NO_MEMORY;
}

/** Returns ZKL_OK, or ZKL_IN_CALLBACK on a thread that runs a callback, which must not wait. */
static inline int zkl_check_may_wait(void) {
    return zkl_callback_is_running() ? ZKL_IN_CALLBACK : ZKL_OK;
}

/** Room for a message. */
#define ZKL_MESSAGE_SIZE 640
/** The most bytes of an input that a message shows. */
#define ZKL_SHOWN_MAX 120

/** Replaces the calling thread's message by a copy of `text`. NULL: it has none. */
void zkl_error_set(const char *text);
void zkl_error_clear(void);

/** Sets the message: what was wrong with which input. `input` is NULL: there is no text to show. */
__attribute__((format(printf, 3, 4))) void zkl_error_note(const char *what, const char *input,
                                                          const char *format, ...);

/** Sets the message. Its value is ZKL_INVALID_ARGUMENT: a mistake of the caller. */
#define zkl_refuse(...) (zkl_error_note(__VA_ARGS__), ZKL_INVALID_ARGUMENT)
