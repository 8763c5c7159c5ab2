/*
 * The flight recorder of a client: the last events of its requests, what they did about them, the
 * steps of its other state machines, and the news of its sessions, in a ring of fixed size. The
 * ring holds the records of record_packing.h. Text is made of them, one after the other, when
 * somebody asks for it; that allocates nothing, so a program that is about to abort can do it.
 *
 * A ring forgets. So that what is left can be played back, a request's whole state is recorded
 * again whenever its last one is half a ring old, and after every ZKL_RECORD_EVENTS_PER_STATE
 * events: every event in the newer half of the ring comes after a STATE of its request that is
 * still there. A step of another machine has the state with it.
 *
 * All functions are called with the client's mutex held, but for opening, closing and those that
 * say otherwise. Those that record do nothing if the recorder is NULL, but for the two of a
 * request's step.
 */
#pragma once

#include "telemetry/record_format.h"

/** Bytes of the ring for each event that is asked for: as an event of an acquire takes if few
 *  wait, with its share of a STATE. */
#define ZKL_RECORD_EVENT_BYTES 128

#define ZKL_RECORD_EVENTS_PER_STATE 16

typedef struct zkl_recorder zkl_recorder;

/**
 * Allocates all memory that it ever needs. `events`: for how many there is room if they are of the
 * usual size, ZKL_RECORDED_EVENTS_MIN to ZKL_RECORDED_EVENTS_MAX. `label`: who we are; copied.
 * `directory`: for the record of a broken assertion; copied; NULL: TMPDIR, or /tmp. Returns NULL if
 * it is out of memory.
 */
zkl_recorder *zkl_recorder_open(int32_t events, const char *label, const char *directory);
/** NULL is fine. */
void zkl_recorder_close(zkl_recorder *recorder);

/** Writes a moment of zkl_wall_clock_ms as people read it, in UTC: "2026-07-01T12:01:01Z". */
#define ZKL_TIME_SIZE 32
void zkl_format_time(char text[ZKL_TIME_SIZE], int64_t wall_clock_ms);

/* ---- Recording -------------------------------------------------------------- */

/** Returns a number for a session of the client; 0 where nothing is recorded. */
uint32_t zkl_recorder_begin_session(zkl_recorder *recorder);
void zkl_recorder_add_news(zkl_recorder *recorder, uint32_t session, int64_t now_ms,
                           const zkl_session_news *news);

/** Where a request is in the record. Its owner embeds it, zeroed; the fields are the recorder's. */
typedef struct zkl_recorded_mark {
    uint64_t state_at; /* how many bytes had been recorded in all before its last STATE */
    uint32_t number;   /* of the request; 0: it has none yet */
    uint32_t events;   /* recorded since its last STATE */
} zkl_recorded_mark;

/** A request that takes a step. */
typedef struct zkl_recorded_request {
    uint32_t session;
    const char *path; /* of the resource */
    zkl_recorded_mark *mark;
} zkl_recorded_request;

/** Begins the record of a step, with the request as it is before it. `recorder`: not NULL. */
void zkl_recorder_begin_step(zkl_recorder *recorder, const zkl_recorded_request *recorded,
                             int64_t now_ms, const zkl_request *request, const zkl_event *event);
/** Ends it, with the actions of the step. Nothing else was recorded meanwhile. */
void zkl_recorder_end_step(zkl_recorder *recorder, zkl_recorded_mark *mark,
                           const zkl_actions *actions);

/** Records a step of a set: its state as it was before, the event and the actions. `*number` begins
 *  with 0; the first step sets it. */
void zkl_recorder_add_set_step(zkl_recorder *recorder, uint32_t *number, int64_t now_ms,
                               const zkl_set *before, const zkl_set_event *event,
                               const zkl_set_actions *actions);

/** Records a step of a loan. Likewise; but see record_format.h for those that are left out. */
void zkl_recorder_add_lending_step(zkl_recorder *recorder, uint32_t *number, int64_t now_ms,
                                   const zkl_lending_state *before, const zkl_lending_event *event,
                                   const zkl_lending_actions *actions);

/** Records a step of what connects a session. `number`: that of the session. */
void zkl_recorder_add_connecting_step(zkl_recorder *recorder, uint32_t number, int64_t now_ms,
                                      const zkl_connecting *before,
                                      const zkl_connecting_event *event,
                                      const zkl_connecting_actions *actions);

/* ---- What it knows ------------------------------------------------------------ */

/** The record as it was at one moment. The recorder must outlive it. */
typedef struct zkl_record_snapshot {
    const zkl_recorder *recorder; /* of which it reads what never changes */
    const char *ring;
    uint64_t from;    /* where the oldest record begins, in bytes from the beginning of all */
    uint64_t to;      /* where the newest ends */
    uint64_t records; /* in all */
    uint64_t dropped; /* those of them that the ring has forgotten */
} zkl_record_snapshot;

/** Returns how many bytes the ring has, which never changes. Any thread, without the mutex. */
size_t zkl_recorder_ring_size(const zkl_recorder *recorder);

/** Takes a snapshot. `copy`: memory of the caller's for a copy of the ring; NULL: the snapshot is
 *  of the ring itself, and valid until something else is recorded. */
zkl_record_snapshot zkl_recorder_take_snapshot(const zkl_recorder *recorder, char *copy);

/** Writes the text of a file (record_format.h). Allocates nothing. Any thread, without the mutex,
 *  if the snapshot has a copy. */
void zkl_record_snapshot_write(const zkl_record_snapshot *self, zkl_text *text);

/** Returns what the names of files of broken assertions begin with: DIRECTORY/zklock-PID-N-. */
const char *zkl_recorder_file_prefix(const zkl_recorder *recorder);

/* ---- For tests ------------------------------------------------------------------ */

/** Hears the text of every recorder of this process, so that a test can keep
 *  complete streams. `*stream` is the listener's own, NULL at first, one for each
 *  recorder. Called for each line, or for pieces of one that is long, with the client's mutex held,
 *  but for the first line of a recorder (its header), the last (its footer) and a NULL behind
 *  that. */
typedef void zkl_record_listener(void **stream, const char *text, size_t length);

/** NULL: nobody listens, as at the beginning. Before any recorder is opened. */
void zkl_recorder_listen(zkl_record_listener *listener);
