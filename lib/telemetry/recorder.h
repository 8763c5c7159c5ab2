/*
 * The flight recorder of a client: the last events of its requests, what they
 * did about them, and the news of its sessions, in a ring of fixed size. The
 * ring holds the records of record_packing.h. Text is made of them, one after the other, when
 * somebody asks for it; that allocates nothing, so a program that is about to abort can do it.
 *
 * A ring forgets. So that what is left can be played back, a request's whole
 * state is recorded again whenever its last one is half a ring old, and after
 * every ZKL_RECORD_EVENTS_PER_STATE events: every event in the newer half of the
 * ring comes after a STATE of its request that is still there.
 *
 * All functions are called with the client's mutex held, but for opening, closing
 * and those that say otherwise. Those that record do nothing if the recorder is NULL.
 */
#pragma once

#include "telemetry/record_format.h"

/** Bytes of the ring for each event that is asked for: those of one of an acquire for which few
 *  wait, with its part of the STATEs. */
#define ZKL_RECORD_EVENT_BYTES 128

#define ZKL_RECORD_EVENTS_PER_STATE 16

typedef struct zkl_recorder zkl_recorder;

/**
 * All memory that it ever needs is allocated here. `events`: ZKL_RECORDED_EVENTS_MIN to
 * ZKL_RECORDED_EVENTS_MAX. `label`: who we are; copied. `directory`: for the record of a broken
 * assertion; copied; NULL: TMPDIR, or /tmp. NULL: out of memory.
 */
zkl_recorder *zkl_recorder_open(int32_t events, const char *label, const char *directory);
/** NULL is fine. */
void zkl_recorder_close(zkl_recorder *recorder);

/** Writes a moment of zkl_wall_clock_ms as people read it, in UTC: "2026-07-01T12:01:01Z". */
#define ZKL_TIME_SIZE 32
void zkl_format_time(char text[ZKL_TIME_SIZE], int64_t wall_clock_ms);

/* ---- Recording -------------------------------------------------------------- */

/** A number for a session of the client; 0 where nothing is recorded. */
uint32_t zkl_recorder_begin_session(zkl_recorder *recorder);
void zkl_recorder_add_news(zkl_recorder *recorder, uint32_t session, int64_t now_ms,
                           const zkl_session_news *news);

/** Where a request is in the record. Its owner embeds it, zeroed; the fields are the recorder's. */
typedef struct zkl_recorded_mark {
    uint64_t state_at; /* where its last STATE begins, in bytes from the beginning of all */
    uint32_t number;
    uint32_t events; /* recorded after that */
} zkl_recorded_mark;

/** A request that takes a step. */
typedef struct zkl_recorded_request {
    uint32_t session;
    const char *path; /* of the resource */
    zkl_recorded_mark *mark;
} zkl_recorded_request;

/** A step of a request begins: the request as it is before it. `recorder`: not NULL. */
void zkl_recorder_begin_step(zkl_recorder *recorder, const zkl_recorded_request *recorded,
                             int64_t now_ms, const zkl_request *request, const zkl_event *event);
/** It has these actions. Nothing else was recorded meanwhile. */
void zkl_recorder_end_step(zkl_recorder *recorder, zkl_recorded_mark *mark,
                           const zkl_actions *actions);

/** A step of another machine: its state as it was before, the event and the actions, which are the
 *  structs of its step. */
void zkl_recorder_add_machine_step(zkl_recorder *recorder, zkl_record_machine machine,
                                   uint32_t number, int64_t now_ms, const void *before,
                                   const void *event, const void *actions);

/** A step of a set. `*number` begins with 0; the first step sets it. */
void zkl_recorder_add_set_step(zkl_recorder *recorder, uint32_t *number, int64_t now_ms,
                               const zkl_set *before, const zkl_set_event *event,
                               const zkl_set_actions *actions);

/** The same of a loan. */
void zkl_recorder_add_lending_step(zkl_recorder *recorder, uint32_t *number, int64_t now_ms,
                                   const zkl_lending_state *before, const zkl_lending_event *event,
                                   const zkl_lending_actions *actions);

/** The same of what connects a session. `number`: that of the session. */
void zkl_recorder_add_connecting_step(zkl_recorder *recorder, uint32_t number, int64_t now_ms,
                                      const zkl_connecting *before,
                                      const zkl_connecting_event *event,
                                      const zkl_connecting_actions *actions);

/* ---- What it knows ------------------------------------------------------------ */

/** The record as it was at one moment. The recorder must still be there. */
typedef struct zkl_record_snapshot {
    const zkl_recorder *recorder; /* of which it reads what never changes */
    const char *ring;
    uint64_t from; /* where the oldest record begins */
    uint64_t to;
    uint64_t records; /* in all */
    uint64_t dropped;
} zkl_record_snapshot;

/** Bytes of the ring. It never changes: any thread may ask, without the mutex. */
size_t zkl_recorder_ring_size(const zkl_recorder *recorder);

/** Takes a snapshot, with a copy of the ring, for which the caller has the memory. NULL: it is the
 *  ring itself, and valid until something else is recorded. */
zkl_record_snapshot zkl_recorder_take_snapshot(const zkl_recorder *recorder, char *copy);

/** Writes the text of a file. Any thread, without the mutex, if the snapshot has a copy. Allocates
 *  nothing. */
void zkl_record_snapshot_write(const zkl_record_snapshot *self, zkl_text *text);

/** DIRECTORY/zklock-PID-N-: what the names of files of broken assertions begin with. */
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
