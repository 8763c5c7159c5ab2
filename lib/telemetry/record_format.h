/*
 * The record of a client, as text: what its requests were told (events), what
 * they asked for (actions), and now and then their whole state, one line for
 * each. It is made of the records of record_packing.h when somebody asks for it; read and played
 * back by tests/simulation/run --replay. One file:
 *
 *     zklock-record version=10 library=0.1.0 process=4711 label=shop
 *         opened=2026-11-21T08:26:18Z opened_ms=83000 dropped=0     (one line)
 *     1 83002 session=1 CONNECTED id=0x1000b2a3c0d0001 timeout_ms=10000
 *     2 83215 request=1 STATE session=1 path=/locks/stock session.connected session.guid=...
 *     3 83215 request=1 START -> CREATE node=_c_...-lock- LIST
 *     4 83217 request=1 CREATED node=_c_...-lock-0000000003 zxid=4294967338 -> nothing
 *     5 83217 request=1 LISTED fresh children=_c_a-lock-0000000002,_c_... -> WATCH node=...
 *     6 83219 set=1 STEP size=2 under_way=2 MEMBER_FAILED status=ZKL_NODE_DELETED -> WAKE
 *     end records=6
 *
 * - A line begins with the record's number (from 1, without gaps; the ring has forgotten the first
 *   `dropped` of them) and the client's clock in milliseconds, CLOCK_BOOTTIME; `opened` and
 *   `opened_ms` are one moment on the wall clock and on that one.
 * - STEP of a set, of a loan (loan=1) or of what connects a session (connecting=1 for session=1)
 *   has its state before the event, the event, and the actions.
 * - An event has its fields; after the arrow stand the actions, in order, each with
 *   its own. STATE is the state of the request before the next event. Fields are
 *   those of request_types.h, in its order, without those that are false, zero (of an
 *   enumeration the first value) or empty.
 * - LISTED with `shortened_from=`: see zkl_pack_event.
 * - TOO_LONG stands for an event that had no room; a STATE follows before the
 *   request's next one.
 * - A grant of a retained lock that nobody else wants, nor waits for, is not recorded, nor is its
 *   release: `number` of the next STEP says how many there were.
 * - PROBE is recorded only if the request acted on it, or waits for its lease. Otherwise it
 *   changes nothing.
 * - In values, spaces, '%', ',' and bytes that are not printable ASCII are %XX.
 * - A file ends with the number of its records: one without that was cut.
 *
 * No node's data, password or credential is ever in it; names of resources,
 * nodes and the client's label are.
 */
#pragma once

#include "base/text.h"
#include "telemetry/record_packing.h"

/** Rises when a program that reads the old version would refuse a new record or play it back
 *  wrongly: a line, field or name of an enumeration is added, removed, renamed or moved, or means
 *  something else. */
#define ZKL_RECORD_VERSION 10

/** No line is longer, with its newline: a byte of a record becomes three where it is escaped, and
 *  fields have their names. */
#define ZKL_RECORD_LINE_MAX (4 * ZKL_RECORD_PACKED_MAX)

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
    ZKL_RECORD_NAMING,
    ZKL_RECORD_OUTCOME,
    ZKL_RECORD_STAGE,
    ZKL_RECORD_OWN_NODE,
    ZKL_RECORD_SET_STAGE,
    ZKL_RECORD_LENDING_STAGE,
    ZKL_RECORD_CONNECTING_STAGE,
    ZKL_RECORD_CONNECTING_TASK
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

/** What a machine's records have: by its lists of fields. */
typedef struct zkl_record_format {
    const char *who; /* "request", and so on */
    zkl_record_fields state;
    zkl_record_kinds events;
    zkl_record_kinds actions;
} zkl_record_format;

extern const zkl_record_format zkl_record_formats[ZKL_RECORD_MACHINES];

/** The names of an enumeration's values; NULL: the type is none. */
const zkl_record_names *zkl_record_names_of(zkl_record_type type);

/* ---- Packed records ------------------------------------------------------- */

/** Bytes that are read. Behind the end there are only zeros and empty texts: what was overwritten
 *  makes a strange line, and nothing worse. */
typedef struct zkl_packed {
    const char *at;
    const char *end;
} zkl_packed;

/** Writes one value, and goes on behind it. */
void zkl_record_write_value(zkl_text *text, zkl_record_type type, zkl_packed *packed);
/** Writes the fields of a state, each with a space before it. */
void zkl_record_write_state(zkl_text *text, zkl_record_machine machine, zkl_packed *packed);
/** Writes the arrow and the actions, with all that they have. */
void zkl_record_write_actions(zkl_text *text, zkl_record_machine machine, zkl_packed *packed);
/** Writes a record as a line. `number`: of all records. */
void zkl_record_write_line(zkl_text *text, uint64_t number, zkl_packed packed);
