/*
 * Reads a record of lib/telemetry/record_format.h, strictly: what the library does not
 * write is refused, with the line and the rule that it breaks. Any bytes are
 * fine as input; nothing is allocated.
 */
#pragma once

#include "telemetry/record_format.h"

typedef enum record_kind {
    RECORD_NEWS,     /* of a session: session, news */
    RECORD_STATE,    /* request, session, path, state */
    RECORD_EVENT,    /* request, event, actions */
    RECORD_TOO_LONG, /* request: an event without room */
    RECORD_SET_STEP, /* set, set_state, set_event, set_actions */
    RECORD_LOAN_STEP /* loan, loan_state, loan_event, loan_actions */
} record_kind;

/** Strings are the reader's, until the next record. */
typedef struct record_entry {
    record_kind kind;
    uint64_t number;
    int64_t ms;
    uint64_t request;
    uint64_t session;
    zkl_session_news news;
    const char *path;
    zkl_request state;
    zkl_event event;
    zkl_actions actions;
    uint64_t set;
    zkl_set set_state;
    zkl_set_event set_event;
    zkl_set_actions set_actions;
    uint64_t loan;
    zkl_lending_state loan_state;
    zkl_lending_event loan_event;
    zkl_lending_actions loan_actions;
} record_entry;

typedef struct record_header {
    const char *library;
    uint64_t process;
    const char *label;
    const char *opened;
    int64_t opened_ms;
    uint64_t dropped;
} record_header;

/** A name has one byte at least, and a comma or the line's end after it. */
#define RECORD_NAMES_MAX (ZKL_RECORD_LINE_MAX / 2)
enum { RECORD_ERROR_SIZE = 512 };

typedef struct record_reader {
    record_header header;
    char *next; /* the rest of the text */
    char *end;
    char *word; /* the rest of the line */
    size_t line;
    uint64_t records; /* read up to here */
    bool may_be_cut;
    bool was_cut;
    bool ended;
    char error[RECORD_ERROR_SIZE]; /* "": none */
    char raw[ZKL_RECORD_LINE_MAX]; /* the line as it stands in the file */
    const char *names[RECORD_NAMES_MAX];
    zkl_neighbour children[RECORD_NAMES_MAX];
} record_reader;

/**
 * Begins to read `text`, which is changed on the way; its `length` bytes and one
 * more, for a NUL, are the reader's. may_be_cut: of a program that was killed, so
 * that the last line may be half a line and the end may be missing. False: see
 * `error`.
 */
bool record_reader_begin(record_reader *reader, char *text, size_t length, bool may_be_cut);

/** False: that was all, or see `error`. */
bool record_reader_next(record_reader *reader, record_entry *record);
