/*
 * What was said in a conversation, a line for each thing. Nothing in it differs from
 * one time to the next: paths lack the root, sessions are numbered as they appear, and
 * zxids by their order among those that were seen.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TRANSCRIPT_LINE_SIZE = 512 };

/** Where these words are in a line nothing is as it should be. */
#define TRANSCRIPT_IN_VAIN "has waited in vain"

/** For one of the things that transcript_end puts another way. */
typedef struct transcript_word {
    char text[24];
} transcript_word;

void transcript_begin(void);
void transcript_add(const char *format, ...) __attribute__((format(printf, 1, 2)));
/** How a czxid is to be written into a line. */
transcript_word transcript_zxid(int64_t zxid);
/** How a session is; 0 is nobody. */
transcript_word transcript_session(int64_t session_id);
/** A full path without the root; NULL is none. */
const char *transcript_path(const char *path);
/** The whole, as text; to be freed. */
char *transcript_end(void);
