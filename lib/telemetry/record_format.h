/*
 * The record of a client, as text: what its requests were told (events), what
 * they asked for (actions), and now and then their whole state, one line for
 * each. Written by recorder.c; read and played back by tests/simulation/run
 * --replay. One file:
 *
 *     zklock-record version=7 library=0.1.0 process=4711 label=shop
 *         opened=2026-11-21T08:26:18Z opened_ms=83000 dropped=0     (one line)
 *     1 83002 session=1 CONNECTED id=0x1000b2a3c0d0001 timeout_ms=10000
 *     2 83215 request=1 STATE session=1 path=/locks/stock session.connected session.guid=...
 *     3 83215 request=1 START -> CREATE node=_c_...-lock- LIST
 *     4 83217 request=1 CREATED node=_c_...-lock-0000000003 zxid=4294967338 -> nothing
 *     5 83217 request=1 LISTED fresh children=_c_a-lock-0000000002,_c_... -> WATCH node=...
 *     6 83219 set=1 STEP size=2 under_way=2 MEMBER_FAILED status=ZKL_NODE_DELETED -> WAKE
 *     end records=6
 *
 * - STEP of a set, or of a loan (loan=1), is followed by its state before the event.
 * - A line begins with the record's number (from 1, without gaps; those that the
 *   ring forgot are counted in `dropped`) and the client's clock in milliseconds,
 *   CLOCK_BOOTTIME; `opened` and `opened_ms` are one moment on both clocks.
 * - An event has its fields; after the arrow stand the actions, in order, each with
 *   its own. STATE is the state of the request before the next event. Fields are
 *   those of request_types.h, in its order, without those that are false, zero (of an
 *   enumeration the first value) or empty.
 * - LISTED with `shortened_from=`: see zkl_record_write_event.
 * - TOO_LONG stands for an event that had no room; a STATE follows before the
 *   request's next one.
 * - A grant of a retained lock that nobody else wants, nor waits for, is not recorded, nor is its
 *   release: `number` of the next STEP says how many there were.
 * - PROBE is recorded only if the request acted on it, or waits for its lease. Otherwise it
 *   changes nothing.
 * - In values, bytes that are not printable ASCII, '%' and ',' are %XX.
 * - It ends with the number of records: a file without that was cut.
 *
 * No node's data, password or credential is ever in it; names of resources,
 * nodes and the client's label are.
 */
#pragma once

#include "base/text.h"
#include "recipe/lending.h"
#include "recipe/request_types.h"
#include "recipe/set.h"
#include "telemetry/session_news.h"

/** Rises when a program that reads the old version would refuse a new record or play it back
 *  wrongly: a line, field or name of an enumeration is added, removed, renamed or moved, or means
 *  something else. */
#define ZKL_RECORD_VERSION 7

/** No line is longer, with its newline: room for a STATE with the longest path,
 *  all of it escaped. */
#define ZKL_RECORD_LINE_MAX 8192

/** Longer lists, by names or by bytes, are shortened. */
#define ZKL_RECORD_NAMES_MAX 16
#define ZKL_RECORD_NAMES_BYTES_MAX 2048

/* ---- Text ---------------------------------------------------------------- */

/** Adds a value, with what needs it escaped. */
void zkl_text_add_value(zkl_text *text, const char *value);

/** Whether a byte of a value is written as %XX. */
bool zkl_record_is_escaped(unsigned char byte);

/* ---- Names --------------------------------------------------------------- */

/** The names of an enumeration that counts from 0. */
typedef struct zkl_record_names {
    const char *const *names;
    size_t count;
} zkl_record_names;

extern const zkl_record_names zkl_record_sessions; /* of zkl_session_state */

/** The name of a status, for example "ZKL_TIMEOUT", or NULL. */
const char *zkl_record_status_name(int status);

/* ---- Fields -------------------------------------------------------------- */

/** Those of the recipe: zkl_field_FLAG and so on. */
typedef enum zkl_record_type {
    ZKL_RECORD_FLAG, /* written as its name alone */
    ZKL_RECORD_COUNT,
    ZKL_RECORD_BITS,
    ZKL_RECORD_NUMBER,
    ZKL_RECORD_STATUS,
    ZKL_RECORD_STRING,
    ZKL_RECORD_GUID,
    ZKL_RECORD_NAME,
    ZKL_RECORD_CHILDREN,
    ZKL_RECORD_MODE, /* from here on enumerations */
    ZKL_RECORD_OUTCOME,
    ZKL_RECORD_STAGE,
    ZKL_RECORD_OWN_NODE,
    ZKL_RECORD_SET_STAGE,
    ZKL_RECORD_LENDING_STAGE
} zkl_record_type;

typedef struct zkl_record_field {
    const char *name;
    size_t name_length;
    zkl_record_type type;
    size_t offset; /* in its struct */
    size_t size;
} zkl_record_field;

typedef struct zkl_record_fields {
    const zkl_record_field *list;
    size_t count;
} zkl_record_fields;

/** A struct that begins with its kind. Its fields are all others. */
typedef struct zkl_record_kinds {
    zkl_record_names names;
    zkl_record_fields fields;
} zkl_record_kinds;

extern const zkl_record_kinds zkl_record_events;
extern const zkl_record_kinds zkl_record_actions;
extern const zkl_record_kinds zkl_record_set_events;
extern const zkl_record_kinds zkl_record_set_actions;
extern const zkl_record_kinds zkl_record_lending_events;
extern const zkl_record_kinds zkl_record_lending_actions;

/** Every field of a request, of a set, and of a loan. */
extern const zkl_record_fields zkl_record_state_fields;
extern const zkl_record_fields zkl_record_set_fields;
extern const zkl_record_fields zkl_record_lending_fields;

/** The names of an enumeration's values; NULL: the type is none. */
const zkl_record_names *zkl_record_names_of(zkl_record_type type);

/** Whether a field of `object` is false, zero or empty, and so not written. */
bool zkl_record_field_is_silent(const zkl_record_field *field, const void *object);
/** Writes one field. */
void zkl_record_write_field(zkl_text *text, const zkl_record_field *field, const void *object);

/* ---- Lines ---------------------------------------------------------------- */

/**
 * Writes an event. `request`: as it was before the event.
 *
 * A list of children can have tens of thousands of names. A long one is
 * shortened to at most six, with which the request does the very same: it asks
 * a list only
 *   - whether its own node is in it                        that name is kept
 *   - for another node with its GUID (zkl_contenders_find_guid) the first by name is kept
 *   - whom to wait for, and which unknown child to report  those names are kept
 *   - whether more than one is before it                   one more is kept
 *   - whether its companion is there                       that name is kept
 * None of these answers changes when other names are left out. The order of the list
 * stays, and `shortened_from` says how many names it had. A request for a permit, or
 * with a limit of the queue, counts the names: its lists are not shortened.
 */
void zkl_record_write_event(zkl_text *text, const zkl_request *request, const zkl_event *event);
/** Writes the arrow and the actions, with all that they have. */
void zkl_record_write_actions(zkl_text *text, const zkl_actions *actions);
/** Writes a step of a set: its state before it, the event, the arrow and the actions. */
void zkl_record_write_set_step(zkl_text *text, const zkl_set *before, const zkl_set_event *event,
                               const zkl_set_actions *actions);
/** Writes a step of a loan in the same way. */
void zkl_record_write_lending_step(zkl_text *text, const zkl_lending_state *before,
                                   const zkl_lending_event *event,
                                   const zkl_lending_actions *actions);
/** Writes the fields of a STATE. */
void zkl_record_write_state(zkl_text *text, const zkl_request *request);
/** Writes news of a session. */
void zkl_record_write_news(zkl_text *text, const zkl_session_news *news);

/** Stores the names that a shortened list keeps, in its order, and returns how many. */
#define ZKL_RECORD_SHORTENED_MAX 6
size_t zkl_record_shorten(const zkl_request *request, zkl_listed children,
                          zkl_neighbour shortened[ZKL_RECORD_SHORTENED_MAX]);
