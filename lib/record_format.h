/*
 * The record of a client, as text: what its requests were told (events), what
 * they asked for (actions), and now and then their whole state, one line for
 * each. Written by recorder.c; read and played back by tests/simulation/run
 * --replay. One file:
 *
 *     zklock-record version=1 library=0.1.0 process=4711 label=shop
 *         opened=2026-11-21T08:26:18Z opened_ms=83000 dropped=0     (one line)
 *     1 83002 session=1 CONNECTED id=0x1000b2a3c0d0001 timeout_ms=10000
 *     2 83215 request=1 STATE session=1 path=/locks/stock mode=EXCLUSIVE connected guid=...
 *     3 83215 request=1 START -> CREATE node=_c_...-lock- LIST
 *     4 83217 request=1 CREATED OK node=_c_...-lock-0000000003 zxid=4294967338 -> nothing
 *     5 83217 request=1 LISTED OK count=2 children=_c_a-lock-0000000002,_c_... -> WATCH node=...
 *     end records=5
 *
 * - A line begins with the record's number (from 1, without gaps; those that the
 *   ring forgot are counted in `dropped`) and the client's clock in milliseconds,
 *   CLOCK_BOOTTIME; `opened` and `opened_ms` are one moment on both clocks.
 * - An event has its outcome, if it is a reply, and the fields that request.h
 *   names for it. After the arrow stand the actions, in order, each with its node,
 *   if it names one, and its status, if that is not ZKL_OK.
 * - STATE is the state of the request before the next event: its fields in the
 *   order of zkl_request, without those that are false, zero or empty.
 * - LISTED with `shortened=` instead of `children=`: see zkl_record_write_event.
 * - TOO_LONG stands for an event that had no room; a STATE follows before the
 *   request's next one.
 * - PROBE is recorded only if something was done, or of a request that waits for its lease: else it
 *   changes nothing.
 * - In values, bytes that are not printable ASCII, '%' and ',' are %XX.
 * - It ends with the number of records: a file without that was cut.
 *
 * No node's data, password or credential is ever in it; names of resources,
 * nodes and the client's label are.
 */
#ifndef ZKLOCK_RECORD_FORMAT_H
#define ZKLOCK_RECORD_FORMAT_H

#include "zookeeper/operations.h"

#define ZKL_RECORD_VERSION 1

/** No line is longer, with its newline: room for a STATE with the longest path,
 *  all of it escaped. */
#define ZKL_RECORD_LINE_MAX 8192

/** Longer lists, by names or by bytes, are shortened. */
#define ZKL_RECORD_NAMES_MAX 16
#define ZKL_RECORD_NAMES_BYTES_MAX 2048

/* ---- Text ---------------------------------------------------------------- */

/** Text that is being written, in room of the caller's. Neither allocates nor
 *  locks anything, so that a program that is about to abort can write it. */
typedef struct zkl_text {
    char *bytes;
    size_t size;
    size_t length;
    bool too_long; /* something had no room, and is missing */
} zkl_text;

void zkl_text_add(zkl_text *text, const char *string);
void zkl_text_add_number(zkl_text *text, int64_t number);
/** As 0x... */
void zkl_text_add_bits(zkl_text *text, uint64_t bits);
/** With what needs it escaped. */
void zkl_text_add_value(zkl_text *text, const char *value);

/** Whether a byte of a value is written as %XX. */
bool zkl_record_is_escaped(unsigned char byte);

/* ---- Names --------------------------------------------------------------- */

/** The names of an enumeration that counts from 0. */
typedef struct zkl_record_names {
    const char *const *names;
    size_t count;
} zkl_record_names;

extern const zkl_record_names zkl_record_events;
extern const zkl_record_names zkl_record_actions;
extern const zkl_record_names zkl_record_outcomes;
extern const zkl_record_names zkl_record_sessions; /* of zkl_session_state */

/** The name of a status, for example "ZKL_TIMEOUT", or NULL. */
const char *zkl_record_status_name(int status);

/* ---- What an event carries ----------------------------------------------- */

enum {
    ZKL_EVENT_HAS_OUTCOME = 1U << 0,
    ZKL_EVENT_HAS_STATUS = 1U << 1,
    ZKL_EVENT_HAS_NODE = 1U << 2,
    ZKL_EVENT_HAS_ZXID = 1U << 3,
    ZKL_EVENT_HAS_OWN_SESSION = 1U << 4,
    ZKL_EVENT_HAS_CHILDREN = 1U << 5,
    ZKL_EVENT_HAS_FIRED = 1U << 6, /* deleted, fresh */
    ZKL_EVENT_HAS_GUID = 1U << 7,
    ZKL_EVENT_HAS_DATA = 1U << 8 /* holds_data */
};

/** The fields of an event, as request.h has them. */
unsigned zkl_record_event_fields(zkl_event_kind kind, zkl_outcome outcome);

/* ---- The state of a request ---------------------------------------------- */

typedef enum zkl_record_type {
    ZKL_RECORD_BOOL,   /* written as its name alone */
    ZKL_RECORD_NAME,   /* an enumeration */
    ZKL_RECORD_STATUS, /* an int */
    ZKL_RECORD_BITS,   /* an unsigned */
    ZKL_RECORD_COUNT,  /* an unsigned */
    ZKL_RECORD_NUMBER, /* an int64_t */
    ZKL_RECORD_TEXT    /* an array of char with a NUL */
} zkl_record_type;

typedef struct zkl_record_field {
    const char *name;
    zkl_record_type type;
    size_t offset; /* in zkl_request */
    size_t size;
    const zkl_record_names *names; /* NAME */
} zkl_record_field;

/** Every field of zkl_request, in its order. */
extern const zkl_record_field zkl_record_state_fields[];
extern const size_t zkl_record_state_field_count;

/** Whether a field is false, zero or empty, and so not written. A NAME always is. */
bool zkl_record_field_is_silent(const zkl_record_field *field, const zkl_request *request);
/** Writes one field, as in a STATE. */
void zkl_record_write_field(zkl_text *text, const zkl_record_field *field,
                            const zkl_request *request);

/* ---- Lines ---------------------------------------------------------------- */

/**
 * Writes an event. `request` is in the state in which it takes it.
 *
 * A list of children can have tens of thousands of names. A long one is
 * shortened to at most six, with which the request does the very same: it asks
 * a list only
 *   - whether its own node is in it                        that name is kept
 *   - for another node with its GUID (zkl_queue_find_guid) the first by name is kept
 *   - whom to wait for, and which unknown child to report  those names are kept
 *   - whether more than one is before it                   one more is kept
 *   - whether its companion is there                       that name is kept
 * and each of the answers depends on nothing but the names that are kept: leaving
 * others out of a list makes none of these the first, the nearest or the last of
 * it less so. The order of the list stays. A request for a permit, or with a limit
 * of those who may wait, asks how many there are, and one that waits until a used up
 * resource is empty asks for each: their lists are not shortened.
 */
void zkl_record_write_event(zkl_text *text, const zkl_request *request, const zkl_event *event);
/** Writes the arrow and the actions, with all that they have. */
void zkl_record_write_actions(zkl_text *text, const zkl_actions *actions);
/** Writes the fields of a STATE. */
void zkl_record_write_state(zkl_text *text, const zkl_request *request);
/** Writes news of a session. */
void zkl_record_write_news(zkl_text *text, const zkl_session_news *news);

/** The names that are left of a list that is shortened, in its order. */
#define ZKL_RECORD_SHORTENED_MAX 6
size_t zkl_record_shorten(const zkl_request *request, zkl_listed children,
                          zkl_queue_neighbour shortened[ZKL_RECORD_SHORTENED_MAX]);

#endif
