/* Records in memory: a recorder makes them, a test changes them by hand, and they are played back.
 */
#pragma once

#include "playback.h"
#include "support/unit.h"
#include "telemetry/recorder.h"

enum { BENCH_CHILDREN_MAX = 64, BENCH_TEXT_SIZE = 1024 * 1024 };

/** A request and a recorder, whose clock moves on by 1 ms with each step. */
typedef struct record_bench {
    zkl_recorder *recorder;
    zkl_recorded_request recorded;
    zkl_recorded_mark mark;
    zkl_request request;
    zkl_actions actions; /* those of the last step */
    int64_t now_ms;
} record_bench;

/** What each request knows of its session when it begins. */
extern const zkl_request_session bench_session;

/** Opens a bench. options: those of its request; NULL: an exclusive one. */
void bench_open(record_bench *bench, int32_t events, const zkl_request_options *options);
void bench_close(record_bench *bench);
/** Begins a new request with the same recorder. */
void bench_begin_request(record_bench *bench, const zkl_request_options *options);
/** Steps the request with an event, and records that, as the runner does. */
void bench_step(record_bench *bench, const zkl_event *event);
/** Records an event and actions that need not be those of a step. */
void bench_record(record_bench *bench, const zkl_event *event, const zkl_actions *actions);
/** Joins the queue, finds nobody, holds, releases and ends: seven records. */
void bench_acquire_and_release(record_bench *bench);

/** The GUID of its requests, and the node that a server would make for them. */
#define BENCH_GUID "0f000000-0000-4000-8000-00000000000f"
#define BENCH_NODE "_c_" BENCH_GUID "-lock-0000000003"
#define BENCH_WRITER "_c_" BENCH_GUID "-__WRIT__0000000003"
/** The node that a downgrade puts in its place. */
#define BENCH_READER "_c_" BENCH_GUID "-__READ__0000000003"

/** Writes the fields of a STATE. */
void bench_write_state(playback_line *line, const zkl_request *request);

/** Returns the ring as the text of a file. Valid until the next call. */
char *bench_text(const record_bench *bench);

/** Plays a copy of that text back. */
const playback_result *bench_play(const char *text);
