/* What zkl_error_message tells the calling thread about its last call. */
#ifndef ZKLOCK_ERROR_MESSAGE_H
#define ZKLOCK_ERROR_MESSAGE_H

#include "base/threads.h"
#include "zklock/zklock.h"

/** Begins each function that the application calls and that returns a status. */
#define ZKL_BEGIN_CALL                                                                             \
    ZKL_NOT_CANCELLED;                                                                             \
    zkl_error_clear()

/** Room for a message. */
#define ZKL_MESSAGE_SIZE 640
/** A message shows no more bytes of an input. */
#define ZKL_SHOWN_MAX 120

/** The calling thread's message; "": it has none. */
const char *zkl_error_text(void);
/** Replaces it by a copy of `text`. NULL: it has none. */
void zkl_error_set(const char *text);
void zkl_error_clear(void);

/** Writes what was wrong with which input; NULL: it has no text. */
__attribute__((format(printf, 3, 4))) void zkl_error_note(const char *what, const char *input,
                                                          const char *format, ...);

/** The same, and the status for a mistake of the caller's. */
#define zkl_refuse(...) (zkl_error_note(__VA_ARGS__), ZKL_INVALID_ARGUMENT)

#endif
