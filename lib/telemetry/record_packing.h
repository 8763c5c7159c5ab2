/*
 * Records as the ring keeps them: numbers and bytes, in the order of the recipe's lists of fields.
 * Most are never read, so that text is made only of those that are (record_format.h). Nothing here
 * leaves the memory of the process, so numbers are as the machine has them.
 *
 * A record is a zkl_record_head, and then by `what`:
 *
 *     NEWS       the session's state (1 byte), session_id (8), timeout_ms (4)
 *     STATE      the number of the session (4), path, fields of the request
 *     EVENT      an event, actions
 *     SHORTENED  how many names the event's list had (4), an event, actions
 *     TOO_LONG   nothing
 *     STEP       fields of the machine's state, an event, actions
 *
 * Fields begin with a bit for each, 16 or 64 in all: it is set unless the field is false, zero or
 * empty. Then come the values of those that are set: of a FLAG none, of a NUMBER 8 bytes, a text up
 * to its NUL, a list's count (4) and its texts, of all else 4 bytes. An event is its kind (1 byte)
 * and its fields. Actions are their count (1 byte), and each as an event.
 */
#pragma once

#include "recipe/connecting.h"
#include "recipe/lending.h"
#include "recipe/request_types.h"
#include "recipe/set.h"
#include "telemetry/session_news.h"

/** The state machines whose steps are recorded. */
typedef enum zkl_record_machine {
    ZKL_RECORD_REQUEST,
    ZKL_RECORD_SET,
    ZKL_RECORD_LOAN,
    ZKL_RECORD_CONNECTING,
    ZKL_RECORD_MACHINES
} zkl_record_machine;

typedef enum zkl_record_what {
    ZKL_RECORD_NEWS = 1, /* 0: no record, the ring goes on at its beginning */
    ZKL_RECORD_STATE,
    ZKL_RECORD_EVENT,
    ZKL_RECORD_SHORTENED,
    ZKL_RECORD_TOO_LONG,
    ZKL_RECORD_STEP
} zkl_record_what;

typedef struct zkl_record_head {
    int64_t now_ms;
    uint32_t number; /* of the request, session or other that the record is about */
    uint16_t length; /* of the record, with this */
    uint8_t what;
    uint8_t machine;
} zkl_record_head;

/** No record is longer. */
#define ZKL_RECORD_PACKED_MAX 8192
/** Texts leave so much of it free: more than all numbers of a record need. */
#define ZKL_RECORD_NUMBERS_MAX 1024

/** The list of an event is shortened if it has more names, or the event more bytes. */
#define ZKL_RECORD_NAMES_MAX 16
#define ZKL_RECORD_NAMES_BYTES_MAX 2048

/** A record that is being packed. */
typedef struct zkl_packing {
    char *at;
    const char *end; /* of what texts may take */
    bool too_long;   /* a text did not fit, and is missing */
    char bytes[ZKL_RECORD_PACKED_MAX];
} zkl_packing;

/** Begins a record. */
void zkl_packing_begin(zkl_packing *self, const zkl_record_head *head);
/** Takes back all but the head, which says `what` from now on. */
void zkl_packing_empty(zkl_packing *self, zkl_record_what what);
/** Writes the length into the head, and returns it. */
size_t zkl_packing_end(zkl_packing *self);

void zkl_pack_news(zkl_packing *self, const zkl_session_news *news);
/** Packs a STATE of a request. */
void zkl_pack_request(zkl_packing *self, uint32_t session, const char *path,
                      const zkl_request *request);
/**
 * Packs an event of a request, which was as `request` says before it.
 *
 * A list of children can have tens of thousands of names. A long one is shortened to at most
 * ZKL_RECORD_SHORTENED_MAX, with which the request does the very same. It asks a list only
 *   - whether its own node is in it                       that name is kept
 *   - whether its companion is in it                      that name is kept
 *   - for another node with its GUID, after a lost reply  the first by name is kept
 *   - whom to wait for, and of what unknown kind to tell  those names are kept
 *   - before it joins: who is in its way, not lent        that name is kept
 *   - whether more than one is before it                  one more is kept
 * None of these answers changes when other names are left out. The order of the list stays, and the
 * head says SHORTENED. A request for a permit, or with a limit of the queue, counts the names: its
 * lists are not shortened, and without room for one the event is too long.
 */
void zkl_pack_event(zkl_packing *self, const zkl_request *request, const zkl_event *event);

/** Packs the state of a machine, an event or actions: a pointer to the struct that its step has. */
void zkl_pack_state(zkl_packing *self, zkl_record_machine machine, const void *state);
void zkl_pack_event_of(zkl_packing *self, zkl_record_machine machine, const void *event);
void zkl_pack_actions(zkl_packing *self, zkl_record_machine machine, const void *actions);

#define ZKL_RECORD_SHORTENED_MAX 7
/** Stores the names that a shortened list keeps, in its order, and returns how many. */
size_t zkl_record_shorten(const zkl_request *request, zkl_listed children,
                          zkl_neighbour shortened[ZKL_RECORD_SHORTENED_MAX]);
