/*
 * Records as the ring keeps them: numbers and bytes, in the order of the recipe's lists of fields.
 * Most are never read, so that text is made only of those that are (record_format.h). Nothing here
 * leaves the memory of the process, so numbers are as the machine has them.
 *
 * A record is a zkl_record_head, and then by `what`:
 *
 *     NEWS       state (1 byte), session_id (8), timeout_ms (4)
 *     STATE      session (4), path, the state's fields
 *     EVENT      an event, the actions. Of a list that was shortened, its count (4) comes first
 *     SHORTENED
 *     TOO_LONG   nothing
 *     STEP       the state's fields, an event, the actions
 *
 * Fields: a bit for each, of 16 or 64, which says whether it follows; those that do not are false,
 * zero or empty. An event: its kind (1 byte), its fields. Actions: their count (1 byte), and each
 * as an event. A text ends with a NUL; of a list its count (4) comes first.
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
    uint16_t length; /* of the record, a multiple of ZKL_RECORD_ALIGNMENT */
    uint8_t what;
    uint8_t machine;
} zkl_record_head;

#define ZKL_RECORD_ALIGNMENT 8

/** No record is longer. */
#define ZKL_RECORD_PACKED_MAX 8192

/** Longer lists, by names or by bytes, are shortened. */
#define ZKL_RECORD_NAMES_MAX 16
#define ZKL_RECORD_NAMES_BYTES_MAX 2048

/** Of these, room that no text takes: more than all numbers of a record need. */
#define ZKL_RECORD_NUMBERS_MAX 1024

/** A record that is being packed. */
typedef struct zkl_packing {
    char *at;
    const char *end; /* of what texts may take */
    bool too_long;   /* a text did not fit, and is missing */
    char bytes[ZKL_RECORD_PACKED_MAX];
} zkl_packing;

/** Begins a record. */
void zkl_packing_begin(zkl_packing *self, const zkl_record_head *head);
/** Takes back all but the head, which says `what`. */
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
 * A list of children can have tens of thousands of names. A long one is
 * shortened to at most six, with which the request does the very same: it asks
 * a list only
 *   - whether its own node is in it                        that name is kept
 *   - for another node with its GUID (zkl_contenders_find_guid) the first by name is kept
 *   - whom to wait for, and which unknown child to report  those names are kept
 *   - whether more than one is before it                   one more is kept
 *   - whether its companion is there                       that name is kept
 * None of these answers changes when other names are left out. The order of the list
 * stays, and the head says SHORTENED. A request for a permit, or with a limit of the queue, counts
 * the names: its lists are not shortened.
 */
void zkl_pack_event(zkl_packing *self, const zkl_request *request, const zkl_event *event);

/** Packs the state of a machine, an event, or its actions: the struct that its step has. */
void zkl_pack_state(zkl_packing *self, zkl_record_machine machine, const void *state);
void zkl_pack_event_of(zkl_packing *self, zkl_record_machine machine, const void *event);
void zkl_pack_actions(zkl_packing *self, zkl_record_machine machine, const void *actions);

/** Stores the names that a shortened list keeps, in its order, and returns how many. */
#define ZKL_RECORD_SHORTENED_MAX 6
size_t zkl_record_shorten(const zkl_request *request, zkl_listed children,
                          zkl_neighbour shortened[ZKL_RECORD_SHORTENED_MAX]);
