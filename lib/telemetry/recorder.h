/*
 * The flight recorder of a client: the last events of its requests, what they
 * did about them, and the news of its sessions, in a ring of fixed size. The
 * ring holds the lines of record_format.h just as they stand in a file, so that
 * writing one, even by a program that is about to abort, is copying bytes.
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

/** Bytes of the ring for each event that is asked for: those of a usual one,
 *  with its part of the STATEs. */
#define ZKL_RECORD_EVENT_BYTES 256

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
uint64_t zkl_recorder_begin_session(zkl_recorder *recorder);
void zkl_recorder_add_news(zkl_recorder *recorder, uint64_t session, int64_t now_ms,
                           const zkl_session_news *news);

/** Where a request is in the record. Its owner embeds it, zeroed; the fields are the recorder's. */
typedef struct zkl_recorded_mark {
    uint64_t state_at; /* where its last STATE begins, in bytes from the beginning of all */
    unsigned number;
    unsigned events; /* recorded after that */
} zkl_recorded_mark;

/** A request that takes a step. */
typedef struct zkl_recorded_request {
    uint64_t session;
    const char *path; /* of the resource */
    zkl_recorded_mark *mark;
} zkl_recorded_request;

/** A step of a request, and the request as it was before. `recorder`: not NULL. */
void zkl_recorder_add_step(zkl_recorder *recorder, const zkl_recorded_request *recorded,
                           int64_t now_ms, const zkl_request *before, const zkl_event *event,
                           const zkl_actions *actions);

/** A step of a set, and the set as it was before. `*number` begins with 0; the first step sets
 *  it. */
void zkl_recorder_add_set_step(zkl_recorder *recorder, uint64_t *number, int64_t now_ms,
                               const zkl_set *before, const zkl_set_event *event,
                               const zkl_set_actions *actions);

/** The same of a loan. */
void zkl_recorder_add_lending_step(zkl_recorder *recorder, uint64_t *number, int64_t now_ms,
                                   const zkl_lending_state *before, const zkl_lending_event *event,
                                   const zkl_lending_actions *actions);

/* ---- What it knows ------------------------------------------------------------ */

/** The record as the text of a file. It has several pieces, as the ring may wrap around. */
#define ZKL_RECORD_PIECES 4
#define ZKL_RECORD_HEADER_SIZE 1024
#define ZKL_RECORD_FOOTER_SIZE 64
typedef struct zkl_record_piece {
    const char *bytes;
    size_t length;
} zkl_record_piece;
typedef struct zkl_record_pieces {
    zkl_record_piece list[ZKL_RECORD_PIECES];
    char header[ZKL_RECORD_HEADER_SIZE];
    char footer[ZKL_RECORD_FOOTER_SIZE];
} zkl_record_pieces;

/** Allocates nothing. The pieces are valid until something else is recorded. */
void zkl_recorder_take_pieces(const zkl_recorder *recorder, zkl_record_pieces *pieces);

/** Bytes of all pieces together, at most. It never changes: any thread may ask, without the
 *  mutex. */
size_t zkl_recorder_size_max(const zkl_recorder *recorder);

/** DIRECTORY/zklock-PID-N-: what the names of files of broken assertions begin with. */
const char *zkl_recorder_file_prefix(const zkl_recorder *recorder);

/* ---- For tests ------------------------------------------------------------------ */

/** Hears each line of every recorder of this process, so that a test can keep
 *  complete streams. `*stream` is the listener's own, NULL at first, one for each
 *  recorder. Called with the client's mutex held, but for the first line of a
 *  recorder (its header), the last (its footer) and a NULL behind that. */
typedef void zkl_record_listener(void **stream, const char *line, size_t length);

/** NULL: nobody listens, as at the beginning. Before any recorder is opened. */
void zkl_recorder_listen(zkl_record_listener *listener);
