#include "support/record_bench.h"

#include <string.h>

#include "recipe/request.h"
#include "support/listed.h"

static const zkl_request_options exclusive = { .mode = ZKL_EXCLUSIVE };

const zkl_request_session bench_session = { .connected = true, .guid = BENCH_GUID };

void bench_begin_request(record_bench *bench, const zkl_request_options *options) {
    bench->recorded =
        (zkl_recorded_request){ .session = 1, .path = "/locks/stock", .mark = &bench->mark };
    bench->mark = (zkl_recorded_mark){ .number = 0 };
    zkl_request_begin(&bench->request, options != NULL ? options : &exclusive, &bench_session);
}

void bench_open(record_bench *bench, int32_t events, const zkl_request_options *options) {
    memset(bench, 0, sizeof(*bench));
    bench->recorder = zkl_recorder_open(events, "a test, 100% good", NULL);
    (void)zkl_recorder_begin_session(bench->recorder);
    bench_begin_request(bench, options);
}

void bench_close(record_bench *bench) {
    zkl_recorder_close(bench->recorder);
}

void bench_record(record_bench *bench, const zkl_event *event, const zkl_actions *actions) {
    zkl_recorder_begin_step(bench->recorder, &bench->recorded, bench->now_ms, &bench->request,
                            event);
    zkl_recorder_end_step(bench->recorder, &bench->mark, actions);
}

void bench_step(record_bench *bench, const zkl_event *event) {
    bench->now_ms++;
    zkl_recorder_begin_step(bench->recorder, &bench->recorded, bench->now_ms, &bench->request,
                            event);
    zkl_request_step(&bench->request, event, &bench->actions);
    zkl_recorder_end_step(bench->recorder, &bench->mark, &bench->actions);
}

void bench_acquire_and_release(record_bench *bench) {
    static const char *const names[] = { BENCH_NODE };
    bench_step(bench, &(zkl_event){ .kind = ZKL_EVENT_START });
    bench_step(bench,
               &(zkl_event){ .kind = ZKL_EVENT_CREATED, .node = BENCH_NODE, .zxid = 4294967338 });
    bench_step(bench, &(zkl_event){ .kind = ZKL_EVENT_LISTED,
                                    .fresh = true,
                                    .children = listed((zkl_children){ names, 1 }) });
    bench_step(bench, &(zkl_event){ .kind = ZKL_EVENT_RELEASED });
    bench_step(bench, &(zkl_event){ .kind = ZKL_EVENT_DELETED });
}

char *bench_text(const record_bench *bench) {
    static char bytes[BENCH_TEXT_SIZE];
    zkl_text text = { .bytes = bytes, .size = sizeof(bytes) - 1 };
    const zkl_record_snapshot snapshot = zkl_recorder_take_snapshot(bench->recorder, NULL);
    zkl_record_snapshot_write(&snapshot, &text);
    EXPECT(!text.too_long);
    bytes[text.length] = '\0';
    return bytes;
}

void bench_write_state(playback_line *line, const zkl_request *request) {
    static zkl_packing packing;
    const zkl_record_head head = { .machine = ZKL_RECORD_REQUEST };
    zkl_packing_begin(&packing, &head);
    zkl_pack_state(&packing, ZKL_RECORD_REQUEST, request);
    zkl_text text = { .bytes = line->text, .size = sizeof(line->text) - 1 };
    zkl_packed packed = { packing.bytes + sizeof(head), packing.at };
    zkl_record_write_state(&text, ZKL_RECORD_REQUEST, &packed);
    line->text[text.length] = '\0';
}

const playback_result *bench_play(const char *text) {
    static playback_result result;
    static char copy[BENCH_TEXT_SIZE + 1];
    size_t length = strlen(text);
    memcpy(copy, text, length + 1);
    playback_play(copy, length, &(playback_options){ .may_be_cut = false }, &result);
    return &result;
}
