/* The process's history: lines of JSON, as ../history.md has them. A line is one write, so that a
 * kill leaves whole lines. Any thread may write one. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { HISTORY_LINE_SIZE = 4096 };

/** The exit status of a process that cannot write its history: nobody could judge what it does. */
enum { HISTORY_FAILED = 74 };

/** A line that is being made. */
typedef struct history_line {
    char text[HISTORY_LINE_SIZE];
    size_t length;
} history_line;

/** Opens the file to append to it. Returns 0, or an errno. */
int history_open(const char *path);

/** Begins a line, and stamps it. */
void history_begin(history_line *line, const char *who, const char *event);
void history_text(history_line *line, const char *field, const char *text);
void history_number(history_line *line, const char *field, int64_t number);
void history_true(history_line *line, const char *field);
/** A pair: the czxid and the local number of a grant. */
void history_token(history_line *line, int64_t token, int64_t local_number);
/** A session's number, in hex. */
void history_session(history_line *line, int64_t session);
void history_texts(history_line *line, const char *field, const char *const *texts, size_t count);
/** What is between them are fields of an object. */
void history_begin_object(history_line *line, const char *field);
void history_end_object(history_line *line);
/** Ends the line, and writes it. */
void history_write(history_line *line);
