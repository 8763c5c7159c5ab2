/*
 * The lines of protocol.md, for a contender in C.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** For what follows a status in an answer; longer texts are cut. */
#define LINES_TEXT_SIZE 16384

/** Statuses of an answer. */
#define LINES_OK "ok"
#define LINES_TIMEOUT "timeout"
#define LINES_CANCELLED "cancelled"
#define LINES_LOST "lost"
#define LINES_REFUSED "refused"
#define LINES_FAILED "failed"
#define LINES_UNSUPPORTED "unsupported"

/** What a library can do. Each function gets `lock`, writes what follows the status to `text`,
 * which is empty before, and returns the status. NULL: the library has no such thing. */
struct lines_library {
    void *lock;
    bool shares; /* several may hold at once: the ledger is only looked at */
    const char *(*acquire)(void *lock, int64_t timeout_ms, char text[LINES_TEXT_SIZE]);
    const char *(*release)(void *lock, char text[LINES_TEXT_SIZE]);
    const char *(*cancel)(void *lock, char text[LINES_TEXT_SIZE]);
    const char *(*held)(void *lock, char text[LINES_TEXT_SIZE]);
    const char *(*contenders)(void *lock, char text[LINES_TEXT_SIZE]);
    const char *(*revoke)(void *lock, const char *node, char text[LINES_TEXT_SIZE]);
    const char *(*told)(void *lock, const char *what, char text[LINES_TEXT_SIZE]);
};

/** Ends this process with its parent, also while it waits or is stopped. To be called first. */
void lines_begin(void);
/** Answers the start. */
void lines_start(int64_t session_id, int session_timeout_ms);
/** Answers the start, and ends the process. */
_Noreturn void lines_cannot_start(const char *why);
/** Obeys until the end of the input. A work may be under way still. */
void lines_serve(const struct lines_library *library);
