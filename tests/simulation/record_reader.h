/*
 * Reads a record of lib/telemetry/record_format.h, strictly: what the library does not
 * write is refused, with the line and the rule that it breaks. Any bytes are
 * fine as input; nothing is allocated.
 */
#pragma once

#include "telemetry/record_format.h"

typedef enum record_kind {
    RECORD_NEWS,     /* of a session: session, news */
    RECORD_STATE,    /* of a request: session, path, state */
    RECORD_EVENT,    /* of a request: event, actions */
    RECORD_TOO_LONG, /* of a request: an event without room */
    RECORD_STEP      /* of another machine: state, event, actions */
} record_kind;

/** Each has the member of its machine. */
typedef union record_state {
    zkl_request request;
    zkl_set set;
    zkl_lending_state loan;
    zkl_connecting connecting;
} record_state;

typedef union record_event {
    unsigned kind; /* of any machine */
    zkl_event request;
    zkl_set_event set;
    zkl_lending_event loan;
    zkl_connecting_event connecting;
} record_event;

typedef union record_actions {
    size_t count; /* of any machine */
    zkl_actions request;
    zkl_set_actions set;
    zkl_lending_actions loan;
    zkl_connecting_actions connecting;
} record_actions;

/** Strings are the reader's, until the next record. */
typedef struct record_entry {
    record_kind kind;
    uint64_t number;
    int64_t ms;
    uint64_t session;
    zkl_session_news news;
    zkl_record_machine machine; /* of all kinds but NEWS */
    uint64_t who;               /* which request, set or other it was */
    const char *path;
    record_state state;
    record_event event;
    record_actions actions;
} record_entry;

typedef struct record_header {
    const char *library;
    uint64_t process;
    const char *label;
    const char *opened;
    int64_t opened_ms;
    uint64_t dropped;
} record_header;

/** A name has one byte at least, and a NUL after it where it was packed. */
#define RECORD_NAMES_MAX (ZKL_RECORD_PACKED_MAX / 2)
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

/** Whether a field of `object` is false, zero or empty, and so not written. */
bool record_field_is_silent(const zkl_record_field *field, const void *object);
