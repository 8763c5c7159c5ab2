/*
 * The ring: what it keeps and forgets, that what is left can always be played
 * back, lists of any length, and that each kind of event and action comes
 * through as it was.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "played_back.h"
#include "recipe/request.h"
#include "support/listed.h"
#include "support/names.h"
#include "support/record_bench.h"

static void expect_played(const char *text, uint64_t steps, uint64_t requests, uint64_t skipped,
                          int line) {
    const playback_result *result = bench_play(text);
    unit_check(result->verdict == PLAYBACK_SAME, __FILE__, line, "%s", result->message);
    unit_expect_int((int64_t)result->counts.steps, (int64_t)steps, "steps", __FILE__, line);
    unit_expect_int((int64_t)result->counts.requests, (int64_t)requests, "requests", __FILE__,
                    line);
    unit_expect_int((int64_t)result->counts.skipped, (int64_t)skipped, "skipped", __FILE__, line);
}

#define PLAYED(text, steps, requests, skipped)                                                     \
    expect_played((text), (steps), (requests), (skipped), __LINE__)

/* ---- The text ------------------------------------------------------------------- */

TEST(time_is_written_in_utc) {
    char text[ZKL_TIME_SIZE];
    zkl_format_time(text, 1782907261123);
    EXPECT_TEXT(text, "2026-07-01T12:01:01Z");
}

TEST(record_of_one_acquire_reads_as_documented) {
    record_bench bench;
    bench_open(&bench, ZKL_RECORDED_EVENTS_MIN, NULL);
    zkl_recorder_add_news(bench.recorder, 1, 0,
                          &(zkl_session_news){ .state = ZKL_SESSION_STATE_CONNECTED,
                                               .session_id = 0x1f,
                                               .timeout_ms = 10000 });
    bench_acquire_and_release(&bench);
    const char *text = bench_text(&bench);
    const char *first = strchr(text, '\n') + 1;
    EXPECT(strncmp(text, "zklock-record version=10 library=", 33) == 0);
    EXPECT(strstr(text, " label=a%20test%2C%20100%25%20good opened=2") != NULL);
    EXPECT_TEXT(first, "1 0 session=1 CONNECTED id=0x1f timeout_ms=10000\n"
                       "2 1 request=1 STATE session=1 path=/locks/stock session.connected "
                       "session.guid=" BENCH_GUID "\n"
                       "3 1 request=1 START -> CREATE node=_c_" BENCH_GUID "-lock- LIST\n"
                       "4 2 request=1 CREATED node=" BENCH_NODE " zxid=4294967338 -> nothing\n"
                       "5 3 request=1 LISTED fresh children=" BENCH_NODE " -> GRANT\n"
                       "6 4 request=1 RELEASED -> DELETE node=" BENCH_NODE "\n"
                       "7 5 request=1 DELETED -> END\n"
                       "end records=7\n");
    PLAYED(text, 5, 1, 0);
    bench_close(&bench);
}

TEST(longest_label_is_escaped_to_its_end) {
    char label[ZKL_LABEL_MAX + 1];
    char escaped[3 * ZKL_LABEL_MAX + 1];
    char expected[sizeof(escaped) + 32];
    for (size_t i = 0; i < ZKL_LABEL_MAX; i++) {
        label[i] = '%';
        memcpy(escaped + 3 * i, "%25", 3);
    }
    label[ZKL_LABEL_MAX] = '\0';
    escaped[3 * ZKL_LABEL_MAX] = '\0';
    snprintf(expected, sizeof(expected), " label=%s opened=", escaped);
    record_bench bench = { .recorder = zkl_recorder_open(ZKL_RECORDED_EVENTS_MIN, label, NULL) };
    EXPECT(strstr(bench_text(&bench), expected) != NULL);
    PLAYED(bench_text(&bench), 0, 0, 0);
    bench_close(&bench);
}

TEST(text_that_is_too_long_ends_before_what_did_not_fit) {
    char bytes[4];
    zkl_text text = { .bytes = bytes, .size = sizeof(bytes) };
    zkl_text_add(&text, "abcd");
    EXPECT(!text.too_long);
    text.length = 2;
    zkl_text_add(&text, "ccc");
    zkl_text_add(&text, "d");
    EXPECT(text.too_long);
    EXPECT_INT(text.length, 2);
}

/* ---- What it forgets ---------------------------------------------------------------- */

TEST(request_that_outlives_the_ring_can_be_played_from_a_later_state) {
    record_bench bench;
    bench_open(&bench, ZKL_RECORDED_EVENTS_MIN, NULL);
    bench_step(&bench, &(zkl_event){ .kind = ZKL_EVENT_START });
    for (int i = 0; i < 5000; i++) {
        bench_step(&bench, &(zkl_event){ .kind = ZKL_EVENT_DISCONNECTED });
        bench_step(&bench, &(zkl_event){ .kind = ZKL_EVENT_CONNECTED });
    }
    const char *text = bench_text(&bench);
    const playback_result *result = bench_play(text);
    EXPECT(result->verdict == PLAYBACK_SAME);
    EXPECT(result->counts.skipped <= ZKL_RECORD_EVENTS_PER_STATE);
    EXPECT(result->counts.states > 5);
    EXPECT(result->counts.steps > ZKL_RECORDED_EVENTS_MIN);
    bench_close(&bench);
}

/* Small records fill the ring; then a large one has no room before its end, where others stand. */
TEST(end_of_ring_that_is_left_free_forgets_what_stood_there) {
    record_bench bench;
    bench_open(&bench, ZKL_RECORDED_EVENTS_MIN, NULL);
    const uint64_t second_end = 2 * zkl_recorder_ring_size(bench.recorder);
    const zkl_session_news small = { .state = ZKL_SESSION_STATE_EXPIRED };
    uint64_t written = 0;
    while (written < second_end - 60) {
        zkl_recorder_add_news(bench.recorder, 1, 0, &small);
        written = zkl_recorder_take_snapshot(bench.recorder, NULL).to;
    }
    bench_acquire_and_release(&bench);
    PLAYED(bench_text(&bench), 5, 1, 0);
    bench_close(&bench);
}

TEST(ring_keeps_as_many_events_as_were_asked_for) {
    record_bench bench;
    bench_open(&bench, 1024, NULL);
    for (int i = 0; i < 2000; i++) {
        bench_begin_request(&bench, NULL);
        bench_acquire_and_release(&bench);
    }
    const playback_result *result = bench_play(bench_text(&bench));
    EXPECT(result->verdict == PLAYBACK_SAME);
    EXPECT(result->counts.steps >= 1024);
    EXPECT(result->counts.skipped < 5);
    EXPECT_INT(zkl_recorder_ring_size(bench.recorder), 1024 * 128);
    bench_close(&bench);
}

TEST(request_gets_another_state_when_its_last_one_is_half_a_ring_old) {
    record_bench bench;
    bench_open(&bench, ZKL_RECORDED_EVENTS_MIN, NULL);
    bench_step(&bench, &(zkl_event){ .kind = ZKL_EVENT_START });
    record_bench others = bench;
    for (int i = 0; i < 48; i++) { /* more than half of the ring, and less than all of it */
        bench_begin_request(&others, NULL);
        bench_acquire_and_release(&others);
    }
    EXPECT(strstr(bench_text(&bench), " request=1 START") != NULL);
    bench_step(&bench, &(zkl_event){ .kind = ZKL_EVENT_DISCONNECTED });
    const char *text = bench_text(&bench);
    EXPECT(strstr(strstr(text, " request=49 "), " request=1 STATE ") != NULL);
    EXPECT_INT(bench_play(text)->verdict, PLAYBACK_SAME);
    bench_close(&bench);
}

/* The event that a broken assertion is about is the newest. */
static bool newest_was_played;

static void note_whether_played(void *arg, const playback_view *view) {
    (void)arg;
    newest_was_played = !view->skipped;
}

static void expect_newest_played(const char *text, unsigned seed) {
    static char copy[BENCH_TEXT_SIZE];
    static playback_result result;
    snprintf(copy, sizeof(copy), "%s", text);
    playback_play(copy, strlen(copy), &(playback_options){ .visit = note_whether_played }, &result);
    unit_check(result.verdict == PLAYBACK_SAME && newest_was_played, __FILE__, __LINE__,
               "seed %u: %s", seed, result.message);
}

TEST(newest_event_can_be_played_in_the_smallest_ring_whatever_its_size) {
    static char long_name[7000];
    static const char *const names[] = { long_name };
    for (unsigned seed = 0; seed < 20; seed++) {
        unit_random random = unit_random_begin(seed);
        record_bench bench;
        bench_open(&bench, ZKL_RECORDED_EVENTS_MIN, &(zkl_request_options){ .permits = 2 });
        bench_step(&bench, &(zkl_event){ .kind = ZKL_EVENT_START });
        for (int i = 0; i < 40; i++) {
            size_t length = 1 + unit_random_below(&random, sizeof(long_name) - 1);
            memset(long_name, 'y', length);
            long_name[length] = '\0';
            bench_step(&bench, &(zkl_event){ .kind = ZKL_EVENT_LISTED,
                                             .children = listed((zkl_children){ names, 1 }) });
            expect_newest_played(bench_text(&bench), seed);
        }
        bench_close(&bench);
    }
}

TEST(probe_that_changes_nothing_is_not_recorded) {
    static const char *const names[] = { BENCH_NODE };
    record_bench bench;
    bench_open(&bench, ZKL_RECORDED_EVENTS_MIN, NULL);
    bench_step(&bench, &(zkl_event){ .kind = ZKL_EVENT_START });
    bench_step(&bench, &(zkl_event){ .kind = ZKL_EVENT_CREATED, .node = BENCH_NODE, .zxid = 1 });
    bench_step(&bench, &(zkl_event){ .kind = ZKL_EVENT_LISTED,
                                     .fresh = true,
                                     .children = listed((zkl_children){ names, 1 }) });
    bench_record(&bench, &(zkl_event){ .kind = ZKL_EVENT_PROBE }, &(zkl_actions){ .count = 0 });
    EXPECT(strstr(bench_text(&bench), "PROBE") == NULL);
    EXPECT(strstr(bench_text(&bench), "end records=4\n") != NULL);
    bench_close(&bench);
}

/* It gives up at the second, so a record without the first cannot be played back. */
TEST(probe_of_a_try_that_waits_for_its_lease_is_recorded) {
    static const char *const names[] = { BENCH_NODE };
    record_bench bench;
    bench_open(&bench, ZKL_RECORDED_EVENTS_MIN,
               &(zkl_request_options){ .only_try = true, .needs_lease = true });
    bench_step(&bench, &(zkl_event){ .kind = ZKL_EVENT_START });
    bench_step(&bench, &(zkl_event){ .kind = ZKL_EVENT_LISTED, .fresh = true });
    bench_step(&bench, &(zkl_event){ .kind = ZKL_EVENT_CREATED, .node = BENCH_NODE, .zxid = 1 });
    bench_step(&bench, &(zkl_event){ .kind = ZKL_EVENT_LISTED,
                                     .fresh = true,
                                     .children = listed((zkl_children){ names, 1 }) });
    EXPECT_INT(bench.request.stage, ZKL_STAGE_FIRST);
    bench_step(&bench, &(zkl_event){ .kind = ZKL_EVENT_OWN_WATCHED, .fresh = true });
    bench_step(&bench, &(zkl_event){ .kind = ZKL_EVENT_PROBE });
    EXPECT_INT(bench.actions.count, 0);
    bench_step(&bench, &(zkl_event){ .kind = ZKL_EVENT_PROBE });
    EXPECT_INT(bench.request.stage, ZKL_STAGE_LEAVING);
    EXPECT(strstr(bench_text(&bench), " PROBE -> nothing\n") != NULL);
    PLAYED(bench_text(&bench), 7, 1, 0);
    bench_close(&bench);
}

/* ---- Snapshots -------------------------------------------------------------------------- */

/* What is written in pieces. */
static char written[BENCH_TEXT_SIZE];
static size_t written_length;

static void take_piece(zkl_text *text) {
    size_t room = sizeof(written) - 1 - written_length;
    size_t length = text->length < room ? text->length : room;
    memcpy(written + written_length, text->bytes, length);
    written_length += length;
    text->length = 0;
}

static const char *write_in_pieces(const zkl_record_snapshot *snapshot, size_t size) {
    char bytes[256];
    zkl_text text = { .bytes = bytes, .size = size, .full = take_piece };
    written_length = 0;
    zkl_record_snapshot_write(snapshot, &text);
    take_piece(&text);
    written[written_length] = '\0';
    return written;
}

TEST(text_is_the_same_in_pieces_of_any_size) {
    record_bench bench;
    bench_open(&bench, ZKL_RECORDED_EVENTS_MIN, NULL);
    bench_acquire_and_release(&bench);
    const zkl_record_snapshot snapshot = zkl_recorder_take_snapshot(bench.recorder, NULL);
    const char *whole = bench_text(&bench);
    for (size_t size = 1; size < 256; size++) {
        EXPECT_TEXT(write_in_pieces(&snapshot, size), whole);
    }
    bench_close(&bench);
}

/* The end of what it returns is the end of the memory: a step too far ends the program. */
static char *memory_with_a_guard(size_t size) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t whole = (size + page - 1) / page * page;
    char *memory =
        mmap(NULL, whole + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory + whole, page, PROT_NONE) != 0) {
        abort();
    }
    return memory + whole - size;
}

static void fill_ring(record_bench *bench) {
    for (int i = 0; i < 100; i++) {
        bench_begin_request(bench, NULL);
        bench_acquire_and_release(bench);
    }
}

TEST(snapshot_with_a_copy_stays_as_it_was) {
    record_bench bench;
    bench_open(&bench, ZKL_RECORDED_EVENTS_MIN, NULL);
    fill_ring(&bench);
    static char before[BENCH_TEXT_SIZE];
    snprintf(before, sizeof(before), "%s", bench_text(&bench));
    char *copy = memory_with_a_guard(zkl_recorder_ring_size(bench.recorder));
    const zkl_record_snapshot snapshot = zkl_recorder_take_snapshot(bench.recorder, copy);
    fill_ring(&bench);
    EXPECT_TEXT(write_in_pieces(&snapshot, 100), before);
    bench_close(&bench);
}

static void overwrite(unit_random *random, char *ring, size_t size) {
    for (unsigned n = unit_random_below(random, 50); n > 0; n--) {
        ring[unit_random_below(random, (unsigned)size)] = (char)unit_random_below(random, 256);
    }
    size_t length = unit_random_below(random, 600);
    size_t at = unit_random_below(random, 2) == 0
                    ? size - length
                    : unit_random_below(random, (unsigned)(size - length));
    memset(ring + at, "x\xff"[unit_random_below(random, 2)], length);
}

/* A program whose memory was overwritten writes its record before it aborts. */
TEST(any_bytes_of_a_ring_can_be_written) {
    record_bench bench;
    bench_open(&bench, ZKL_RECORDED_EVENTS_MIN, NULL);
    fill_ring(&bench);
    unit_must_be_done_within(30);
    size_t size = zkl_recorder_ring_size(bench.recorder);
    char *ring = memory_with_a_guard(size);
    for (unsigned seed = 0; seed < 2000; seed++) {
        unit_random random = unit_random_begin(seed);
        zkl_record_snapshot snapshot = zkl_recorder_take_snapshot(bench.recorder, ring);
        overwrite(&random, ring, size);
        EXPECT(strstr(write_in_pieces(&snapshot, 256), "end records=") != NULL);
    }
    unit_must_be_done_within(0);
    bench_close(&bench);
}

/* Whichever of these places is that of the last head before the ring's end. */
TEST(record_whose_length_was_overwritten_is_not_read_beyond_the_ring) {
    record_bench bench;
    bench_open(&bench, ZKL_RECORDED_EVENTS_MIN, NULL);
    fill_ring(&bench);
    size_t size = zkl_recorder_ring_size(bench.recorder);
    char *ring = memory_with_a_guard(size);
    for (size_t at = size - 512; at < size - sizeof(zkl_record_head); at++) {
        zkl_record_snapshot snapshot = zkl_recorder_take_snapshot(bench.recorder, ring);
        size_t length = at + offsetof(zkl_record_head, length);
        memset(ring + length, 0xff, sizeof(uint16_t));
        memset(ring + at + sizeof(zkl_record_head), 0xff, size - at - sizeof(zkl_record_head));
        EXPECT(strstr(write_in_pieces(&snapshot, 256), "end records=") != NULL);
    }
    bench_close(&bench);
}

TEST(recording_goes_on_in_a_ring_that_was_overwritten) {
    unit_must_be_done_within(30);
    for (unsigned seed = 0; seed < 50; seed++) {
        unit_random random = unit_random_begin(seed);
        record_bench bench;
        bench_open(&bench, ZKL_RECORDED_EVENTS_MIN, NULL);
        fill_ring(&bench);
        const zkl_record_snapshot snapshot = zkl_recorder_take_snapshot(bench.recorder, NULL);
        char *ring;
        memcpy(&ring, &snapshot.ring, sizeof(ring));
        overwrite(&random, ring, zkl_recorder_ring_size(bench.recorder));
        fill_ring(&bench);
        EXPECT(strstr(bench_text(&bench), "end records=") != NULL);
        bench_close(&bench);
    }
    unit_must_be_done_within(0);
}

/* ---- Long lists ------------------------------------------------------------------------ */

typedef struct long_list {
    char names[40][NAME_SIZE];
    const char *pointers[40];
    size_t count;
} long_list;

/* A server names each child once. */
static void add(long_list *list, const char *name) {
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->names[i], name) == 0) {
            return;
        }
    }
    snprintf(list->names[list->count], NAME_SIZE, "%s", name);
    list->pointers[list->count] = list->names[list->count];
    list->count++;
}

static void add_random(unit_random *random, long_list *list, const zkl_request *request) {
    static const char letters[] = "xxrrwkqluj";
    char guid[NAME_GUID_SIZE];
    char name[NAME_SIZE];
    int32_t sequence = (int32_t)unit_random_below(random, 24);
    name_other_guid(guid, unit_random_below(random, 1000));
    if (unit_random_below(random, 3) == 0) {
        zkl_node_name_mark_lent(guid);
    }
    if (unit_random_below(random, 12) == 0) { /* a copy of our name, or our own second node */
        zkl_request_name_node(request, name);
        snprintf(name + strlen(name), sizeof(name) - strlen(name), "%010d", (int)sequence);
    } else {
        name_other(name, letters[unit_random_below(random, sizeof(letters) - 1)], guid, sequence);
    }
    add(list, name);
}

/* Of another request of the same owner. */
static const char *add_companion(unit_random *random, long_list *list) {
    static char name[NAME_SIZE];
    char guid[NAME_GUID_SIZE];
    name_other_guid(guid, 1000);
    name_other(name, 'r', guid, (int32_t)unit_random_below(random, 24));
    if (unit_random_below(random, 8) != 0) {
        add(list, name);
    }
    return name;
}

/* A request of any mode that stands where a list is what it waits for. */
static void begin_random(unit_random *random, zkl_request *request, long_list *list) {
    zkl_request_options options = {
        .mode = (zkl_mode)unit_random_below(random, 3),
        .naming =
            (zkl_naming)(unit_random_below(random, 3) == 0 ? unit_random_below(random, 3) : 0),
        .only_try = unit_random_below(random, 3) == 0,
        .companion = unit_random_below(random, 3) == 0 ? add_companion(random, list) : NULL,
    };
    zkl_actions actions;
    zkl_request_begin(request, &options, &bench_session);
    zkl_request_step(request, &(zkl_event){ .kind = ZKL_EVENT_START }, &actions);
    if (actions.list[0].kind == ZKL_ACTION_LIST) {
        return; /* a try looks first */
    }
    char own[NAME_SIZE];
    snprintf(own, sizeof(own), "%s%010u", actions.prefix, unit_random_below(random, 24));
    zkl_event created = { .kind = ZKL_EVENT_CREATED, .node = own, .zxid = 5 };
    if (unit_random_below(random, 4) == 0) { /* a lost reply comes before: it looks for a twin */
        zkl_event lost = { .kind = ZKL_EVENT_CREATED, .outcome = ZKL_OUTCOME_UNKNOWN };
        zkl_event no_list = { .kind = ZKL_EVENT_LISTED, .outcome = ZKL_OUTCOME_UNKNOWN };
        zkl_request_step(request, &lost, &actions);
        zkl_request_step(request, &no_list, &actions);
        zkl_request_step(request, &(zkl_event){ .kind = ZKL_EVENT_BACKED_OFF }, &actions);
    }
    zkl_request_step(request, &created, &actions);
    if (unit_random_below(random, 8) != 0) {
        add(list, own);
    }
}

static void expect_same_step(const zkl_request *request, zkl_listed whole, zkl_listed shortened,
                             unsigned seed) {
    zkl_request one = *request;
    zkl_request other = *request;
    zkl_actions one_does;
    zkl_actions other_does;
    static playback_line does[2];
    static playback_line is[2];
    zkl_request_step(&one,
                     &(zkl_event){ .kind = ZKL_EVENT_LISTED, .fresh = true, .children = whole },
                     &one_does);
    zkl_request_step(&other,
                     &(zkl_event){ .kind = ZKL_EVENT_LISTED, .fresh = true, .children = shortened },
                     &other_does);
    playback_write_actions(&does[0], ZKL_RECORD_REQUEST, &one_does);
    playback_write_actions(&does[1], ZKL_RECORD_REQUEST, &other_does);
    bench_write_state(&is[0], &one);
    bench_write_state(&is[1], &other);
    unit_check(strcmp(does[0].text, does[1].text) == 0, __FILE__, __LINE__,
               "seed %u: does %s, with the shortened list %s", seed, does[0].text, does[1].text);
    unit_check(strcmp(is[0].text, is[1].text) == 0, __FILE__, __LINE__,
               "seed %u: is %s, with the shortened list %s", seed, is[0].text, is[1].text);
}

TEST(shortened_list_makes_the_request_do_the_same) {
    unsigned really_shorter = 0;
    for (unsigned seed = 0; seed < 40000; seed++) {
        unit_random random = unit_random_begin(seed);
        static long_list list;
        zkl_request request;
        list.count = 0;
        size_t before_own = unit_random_below(&random, 12);
        size_t after_own = unit_random_below(&random, 12);
        zkl_request_begin(&request, &(zkl_request_options){ .mode = ZKL_EXCLUSIVE },
                          &bench_session);
        for (size_t i = 0; i < before_own; i++) {
            add_random(&random, &list, &request);
        }
        begin_random(&random, &request, &list);
        for (size_t i = 0; i < after_own; i++) {
            add_random(&random, &list, &request);
        }
        zkl_neighbour shortened[ZKL_RECORD_SHORTENED_MAX];
        zkl_listed children = listed((zkl_children){ list.pointers, list.count });
        size_t kept = zkl_record_shorten(&request, children, shortened);
        really_shorter += kept < list.count ? 1 : 0;
        expect_same_step(&request, children, (zkl_listed){ .all = shortened, .count = kept }, seed);
    }
    EXPECT(really_shorter > 20000);
}

static void expect_shortened(char fill, size_t length) {
    static char long_name[10000];
    memset(long_name, fill, length);
    long_name[length] = '\0';
    const char *names[] = { long_name, BENCH_NODE };
    record_bench bench;
    bench_open(&bench, ZKL_RECORDED_EVENTS_MIN, NULL);
    bench_step(&bench, &(zkl_event){ .kind = ZKL_EVENT_START });
    bench_step(&bench, &(zkl_event){ .kind = ZKL_EVENT_CREATED, .node = BENCH_NODE, .zxid = 1 });
    bench_step(&bench, &(zkl_event){ .kind = ZKL_EVENT_LISTED,
                                     .fresh = true,
                                     .children = listed((zkl_children){ names, 2 }) });
    EXPECT(strstr(bench_text(&bench),
                  "LISTED shortened_from=2 fresh children=" BENCH_NODE " -> GRANT") != NULL);
    PLAYED(bench_text(&bench), 3, 1, 0);
    bench_close(&bench);
}

/* Longer than is kept of a list, and than a record is. */
TEST(list_of_long_names_is_shortened) {
    expect_shortened(',', ZKL_RECORD_NAMES_BYTES_MAX);
    expect_shortened('y', 9000);
}

/* Ours, and those of readers behind it. */
static zkl_listed list_of(size_t count) {
    static char names[ZKL_RECORD_NAMES_MAX + 1][NAME_SIZE];
    static const char *pointers[ZKL_RECORD_NAMES_MAX + 1] = { BENCH_NODE };
    for (size_t i = 1; i < count; i++) {
        char guid[NAME_GUID_SIZE];
        name_other_guid(guid, i);
        name_other(names[i], 'r', guid, (int32_t)i + 3);
        pointers[i] = names[i];
    }
    return listed((zkl_children){ pointers, count });
}

static bool is_recorded_whole(const zkl_request_options *options, size_t count) {
    record_bench bench;
    bench_open(&bench, ZKL_RECORDED_EVENTS_MIN, options);
    bench_step(&bench, &(zkl_event){ .kind = ZKL_EVENT_START });
    bench_step(&bench, &(zkl_event){ .kind = ZKL_EVENT_LISTED, .children = list_of(count) });
    const char *text = bench_text(&bench);
    bench_close(&bench);
    return strstr(text, " LISTED children=") != NULL;
}

TEST(list_of_many_names_is_shortened_unless_they_are_counted) {
    const zkl_request_options limited = { .max_waiting = 5 };
    EXPECT(is_recorded_whole(NULL, ZKL_RECORD_NAMES_MAX));
    EXPECT(!is_recorded_whole(NULL, ZKL_RECORD_NAMES_MAX + 1));
    EXPECT(is_recorded_whole(&limited, ZKL_RECORD_NAMES_MAX + 1));
}

/* A request for a permit counts the names of its lists, so these are not shortened. */
TEST(event_without_room_is_too_long_and_a_state_follows) {
    static char long_name[7300];
    static const char *const names[] = { long_name };
    record_bench bench;
    bench_open(&bench, ZKL_RECORDED_EVENTS_MIN, &(zkl_request_options){ .permits = 2 });
    bench_step(&bench, &(zkl_event){ .kind = ZKL_EVENT_START });
    for (size_t length = 6900; length < sizeof(long_name); length += 300) {
        memset(long_name, 'y', length);
        bench_record(&bench,
                     &(zkl_event){ .kind = ZKL_EVENT_LISTED,
                                   .children = listed((zkl_children){ names, 1 }) },
                     &(zkl_actions){ .count = 0 });
    }
    bench_record(&bench, &(zkl_event){ .kind = ZKL_EVENT_CONNECTED }, &(zkl_actions){ .count = 0 });
    const char *text = bench_text(&bench);
    EXPECT(strstr(text, "3 1 request=1 LISTED children=yyyy") != NULL);
    EXPECT(strstr(text, "\n4 1 request=1 TOO_LONG\n5 1 request=1 STATE ") != NULL);
    EXPECT(strstr(text, "\n6 1 request=1 CONNECTED -> nothing\nend records=6\n") != NULL);
    bench_close(&bench);
}

static uint64_t bytes_recorded(const record_bench *bench) {
    return zkl_recorder_take_snapshot(bench->recorder, NULL).to;
}

TEST(event_without_room_takes_that_of_a_head) {
    static const char *names[ZKL_RECORD_PACKED_MAX / sizeof(BENCH_NODE) + 1];
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        names[i] = BENCH_NODE;
    }
    record_bench bench;
    bench_open(&bench, ZKL_RECORDED_EVENTS_MIN, &(zkl_request_options){ .permits = 2 });
    bench_step(&bench, &(zkl_event){ .kind = ZKL_EVENT_START });
    uint64_t before = bytes_recorded(&bench);
    zkl_neighbour room[COUNT_OF(names)];
    bench_step(&bench, &(zkl_event){ .kind = ZKL_EVENT_LISTED,
                                     .children = zkl_contenders_read(
                                         (zkl_children){ names, COUNT_OF(names) }, room) });
    EXPECT(strstr(bench_text(&bench), " TOO_LONG\n") != NULL);
    EXPECT_INT(bytes_recorded(&bench) - before, sizeof(zkl_record_head));
    bench_close(&bench);
}

/* For what no request ever does: it is not to be played back when it is closed. */
static void open_unheard(record_bench *bench) {
    zkl_recorder_listen(NULL);
    bench_open(bench, ZKL_RECORDED_EVENTS_MIN, NULL);
    unit_play_back();
}

static bool is_text(const zkl_record_field *field) {
    return field->type == ZKL_RECORD_GUID || field->type == ZKL_RECORD_NAME;
}

TEST(state_with_the_longest_path_has_room) {
    static char path[1027];
    char name[ZKL_NODE_NAME_SIZE];
    const char *longest = memset(name, '%', sizeof(name));
    record_bench bench;
    name[sizeof(name) - 1] = '\0';
    memset(path, '%', sizeof(path) - 1);
    open_unheard(&bench);
    bench.recorded = (zkl_recorded_request){ .session = 1, .path = path, .mark = &bench.mark };
    memset(&bench.request, 1, sizeof(bench.request)); /* every flag, every number */
    const zkl_record_fields *fields = &zkl_record_formats[ZKL_RECORD_REQUEST].state;
    for (size_t i = 0; i < fields->count; i++) {
        const zkl_record_field *field = &fields->list[i];
        if (is_text(field)) {
            char *text = (char *)&bench.request + field->offset;
            memset(text, '%', field->size - 1);
            text[field->size - 1] = '\0';
        } else if (field->type == ZKL_RECORD_STRING) {
            memcpy((char *)&bench.request + field->offset, &longest, sizeof(longest));
        }
    }
    zkl_actions none = { .count = 0 };
    bench_record(&bench, &(zkl_event){ .kind = ZKL_EVENT_CONNECTED }, &none);
    const char *text = strchr(bench_text(&bench), '\n') + 1;
    size_t length = (size_t)(strchr(text, '\n') - text);
    EXPECT(length > 3 * sizeof(path) - 3);
    EXPECT(length < ZKL_RECORD_LINE_MAX);
    EXPECT(strstr(text, "%25 session.connected session.lease_runs ") != NULL);
    EXPECT(strstr(text, " verdict.given verdict.late=16843009\n") != NULL);
    bench_close(&bench);
}

/* ---- Sets ------------------------------------------------------------------------------- */

TEST(record_of_a_set_reads_as_documented) {
    static const zkl_set_event events[] = {
        { .kind = ZKL_SET_EVENT_MEMBER_GRANTED },
        { .kind = ZKL_SET_EVENT_MEMBER_FAILED, .status = ZKL_NODE_DELETED },
        { .kind = ZKL_SET_EVENT_TIMED_OUT, .connected = true },
    };
    record_bench bench;
    bench_open(&bench, ZKL_RECORDED_EVENTS_MIN, NULL);
    zkl_set set = zkl_set_begin(2, false, true);
    uint32_t number = 0;
    for (size_t i = 0; i < COUNT_OF(events); i++) {
        zkl_set_actions actions;
        zkl_set before = set;
        zkl_set_step(&set, &events[i], &actions);
        zkl_recorder_add_set_step(bench.recorder, &number, 5, &before, &events[i], &actions);
        zkl_recorder_add_set_step(NULL, &number, 5, &before, &events[i], &actions);
    }
    const char *text = bench_text(&bench);
    EXPECT_TEXT(
        strchr(text, '\n') + 1,
        "1 5 set=1 STEP size=2 fail_on_session_expiry under_way=2 MEMBER_GRANTED -> nothing\n"
        "2 5 set=1 STEP size=2 fail_on_session_expiry granted=1 under_way=2 "
        "MEMBER_FAILED status=ZKL_NODE_DELETED -> WAKE\n"
        "3 5 set=1 STEP size=2 fail_on_session_expiry stage=FAILED granted=1 under_way=2 "
        "failure=ZKL_NODE_DELETED TIMED_OUT connected -> FAIL status=ZKL_TIMEOUT late LEAVE "
        "LET_GO\n"
        "end records=3\n");
    PLAYED(text, 3, 0, 0);
    bench_close(&bench);
}

TEST(record_of_a_loan_reads_as_documented) {
    static const zkl_lending_event events[] = {
        { .kind = ZKL_LENDING_EVENT_CAME, .only_try = true },
        { .kind = ZKL_LENDING_EVENT_GRANTED },
        { .kind = ZKL_LENDING_EVENT_RETURNED },
    };
    record_bench bench;
    bench_open(&bench, ZKL_RECORDED_EVENTS_MIN, NULL);
    zkl_lending_state loan = zkl_lending_begin(false, true, 3);
    uint32_t number = 0;
    for (size_t i = 0; i < COUNT_OF(events); i++) {
        zkl_lending_actions actions;
        zkl_lending_state before = loan;
        zkl_lending_step(&loan, &events[i], &actions);
        zkl_recorder_add_lending_step(bench.recorder, &number, 5, &before, &events[i], &actions);
        zkl_recorder_add_lending_step(NULL, &number, 5, &before, &events[i], &actions);
    }
    const char *text = bench_text(&bench);
    EXPECT_TEXT(strchr(text, '\n') + 1,
                "1 5 loan=1 STEP retains hand_offs_max=3 CAME only_try -> nothing\n"
                "2 5 loan=1 STEP retains hand_offs_max=3 waiters=1 GRANTED -> LEND count=1 "
                "number=1\n"
                "3 5 loan=1 STEP retains hand_offs_max=3 stage=OURS holders=1 number=1 RETURNED -> "
                "KEEP\n"
                "end records=3\n");
    PLAYED(text, 3, 0, 0);
    bench_close(&bench);
}

TEST(grants_of_a_loan_that_nobody_else_wants_are_counted_and_not_recorded) {
    static const zkl_lending_event events[] = {
        { .kind = ZKL_LENDING_EVENT_CAME, .in_touch = true, .watched = true },
        { .kind = ZKL_LENDING_EVENT_GRANTED, .in_touch = true, .watched = true },
        { .kind = ZKL_LENDING_EVENT_ALONE, .in_touch = true, .watched = true },
        { .kind = ZKL_LENDING_EVENT_RETURNED, .in_touch = true, .watched = true },
        { .kind = ZKL_LENDING_EVENT_CAME, .in_touch = true, .watched = true },
        { .kind = ZKL_LENDING_EVENT_CALLED, .in_touch = true, .watched = true },
        { .kind = ZKL_LENDING_EVENT_RETURNED, .in_touch = true, .watched = true },
    };
    record_bench bench;
    bench_open(&bench, ZKL_RECORDED_EVENTS_MIN, NULL);
    zkl_lending_state loan = zkl_lending_begin(false, true, 0);
    uint32_t number = 0;
    for (size_t i = 0; i < COUNT_OF(events); i++) {
        zkl_lending_actions actions;
        zkl_lending_state before = loan;
        zkl_lending_step(&loan, &events[i], &actions);
        zkl_recorder_add_lending_step(bench.recorder, &number, 5, &before, &events[i], &actions);
    }
    const char *text = bench_text(&bench);
    EXPECT_TEXT(strchr(text, '\n') + 1,
                "1 5 loan=1 STEP retains CAME in_touch watched -> nothing\n"
                "2 5 loan=1 STEP retains waiters=1 GRANTED in_touch watched -> LEND count=1 "
                "number=1\n"
                "3 5 loan=1 STEP retains stage=OURS holders=1 number=1 ALONE in_touch watched -> "
                "nothing\n"
                "4 5 loan=1 STEP retains stage=OURS alone holders=1 number=2 CALLED in_touch "
                "watched -> nothing\n"
                "5 5 loan=1 STEP retains stage=OURS alone called holders=1 number=2 RETURNED "
                "in_touch watched -> GIVE_UP\n"
                "end records=5\n");
    PLAYED(text, 5, 0, 0);
    bench_close(&bench);
}

TEST(what_connects_two_sessions_is_played_side_by_side) {
    record_bench bench;
    bench_open(&bench, ZKL_RECORDED_EVENTS_MIN, NULL);
    zkl_connecting sessions[] = { zkl_connecting_begin(false), zkl_connecting_begin(false) };
    const zkl_connecting_event events[] = { { .kind = ZKL_CONNECTING_EVENT_WOKEN },
                                            { .kind = ZKL_CONNECTING_EVENT_DONE } };
    for (size_t i = 0; i < 2 * COUNT_OF(events); i++) {
        zkl_connecting *session = &sessions[i % 2];
        zkl_connecting before = *session;
        zkl_connecting_actions actions;
        zkl_connecting_step(session, &events[i / 2], &actions);
        zkl_recorder_add_connecting_step(bench.recorder, (uint32_t)(i % 2) + 1, 5, &before,
                                         &events[i / 2], &actions);
    }
    EXPECT(strstr(bench_text(&bench), "\n2 5 connecting=2 STEP WOKEN -> OPEN\n") != NULL);
    PLAYED(bench_text(&bench), 4, 0, 0);
    bench_close(&bench);
}

TEST(record_of_what_connects_a_session_reads_as_documented) {
    static const zkl_connecting_event events[] = {
        { .kind = ZKL_CONNECTING_EVENT_WOKEN },
        { .kind = ZKL_CONNECTING_EVENT_DONE },
        { .kind = ZKL_CONNECTING_EVENT_CONNECTED, .renewed = true },
    };
    record_bench bench;
    bench_open(&bench, ZKL_RECORDED_EVENTS_MIN, NULL);
    zkl_connecting connecting = zkl_connecting_begin(true);
    for (size_t i = 0; i < COUNT_OF(events); i++) {
        zkl_connecting_actions actions;
        zkl_connecting before = connecting;
        zkl_connecting_step(&connecting, &events[i], &actions);
        zkl_recorder_add_connecting_step(bench.recorder, 1, 5, &before, &events[i], &actions);
        zkl_recorder_add_connecting_step(NULL, 1, 5, &before, &events[i], &actions);
    }
    const char *text = bench_text(&bench);
    EXPECT_TEXT(strchr(text, '\n') + 1,
                "1 5 connecting=1 STEP asks_application WOKEN -> OPEN\n"
                "2 5 connecting=1 STEP asks_application stage=SEEKING under_way=OPEN DONE -> "
                "WAIT_FOR_SERVER\n"
                "3 5 connecting=1 STEP asks_application stage=SEEKING under_way=WAIT_FOR_SERVER "
                "CONNECTED renewed -> PASS_ON WAKE\n"
                "end records=3\n");
    PLAYED(text, 3, 0, 0);
    bench_close(&bench);
}

/* ---- Each kind --------------------------------------------------------------------------- */

static bool is_same_text(const char *one, const char *other) {
    return one == NULL || other == NULL ? one == other : strcmp(one, other) == 0;
}

/* A record with one event, as a file of its own. */
static const char *text_of_step(const zkl_event *event, const zkl_actions *actions) {
    record_bench bench;
    open_unheard(&bench);
    bench_record(&bench, event, actions);
    const char *text = bench_text(&bench);
    bench_close(&bench);
    return text;
}

static const record_entry *read_second_record(const char *text) {
    static record_entry record;
    static record_reader reader;
    static char copy[BENCH_TEXT_SIZE];
    snprintf(copy, sizeof(copy), "%s", text);
    bool good = record_reader_begin(&reader, copy, strlen(copy), false) &&
                record_reader_next(&reader, &record) && record_reader_next(&reader, &record);
    unit_check(good, __FILE__, __LINE__, "%s", reader.error);
    return &record;
}

static void expect_event_survives(const zkl_event *event) {
    zkl_actions none = { .count = 0 };
    const record_entry *read = read_second_record(text_of_step(event, &none));
    EXPECT_INT(read->kind, RECORD_EVENT);
    EXPECT_INT(read->event.request.kind, event->kind);
    EXPECT_INT(read->event.request.outcome, event->outcome);
    EXPECT_INT(read->event.request.status, event->status);
    EXPECT_INT(read->event.request.zxid, event->zxid);
    EXPECT(is_same_text(read->event.request.node, event->node));
    EXPECT(is_same_text(read->event.request.guid, event->guid));
    EXPECT(read->event.request.own_session == event->own_session);
    EXPECT(read->event.request.holds_data == event->holds_data);
    EXPECT(read->event.request.deleted == event->deleted);
    EXPECT(read->event.request.fresh == event->fresh);
    EXPECT_INT(read->event.request.children.count, event->children.count);
    for (size_t i = 0; i < event->children.count && i < read->event.request.children.count; i++) {
        EXPECT_TEXT(read->event.request.children.all[i].text, event->children.all[i].text);
    }
}

TEST(each_kind_of_event_survives_writing_and_reading) {
    static const char *const names[] = { "a,b%c\n\x7f\xc3\xa9", "_c_x-lock-0000000001", "=" };
    for (int kind = 0; kind <= ZKL_EVENT_DOWNGRADE; kind++) {
        for (int outcome = 0; outcome <= ZKL_OUTCOME_NOT_EMPTY; outcome++) {
            zkl_event event = {
                .kind = (zkl_event_kind)kind,
                .outcome = (zkl_outcome)outcome,
                .status = kind % 2 == 0 ? ZKL_NO_PERMISSION : -12345,
                .node = names[0],
                .zxid = INT64_MIN,
                .own_session = true,
                .holds_data = true,
                .deleted = true,
                .children = listed((zkl_children){ names, 3 }),
                .guid = BENCH_GUID,
            };
            bool is_probe = kind == ZKL_EVENT_PROBE; /* left out without an action */
            if (!is_probe) {
                expect_event_survives(&event);
                event.children.count = 0;
                event.own_session = event.holds_data = event.deleted = false;
                event.fresh = true;
                event.guid = NULL;
                expect_event_survives(&event);
            }
        }
    }
}

TEST(each_kind_of_action_survives_writing_and_reading) {
    for (int kind = 0; kind <= ZKL_ACTION_END; kind++) {
        zkl_action action = { (zkl_action_kind)kind, "a b", 7, ZKL_TIMEOUT };
        zkl_actions actions = { .count = ZKL_ACTIONS_MAX, .list = { action } };
        for (size_t i = 1; i < ZKL_ACTIONS_MAX; i++) {
            actions.list[i] = action;
        }
        const record_entry *read =
            read_second_record(text_of_step(&(zkl_event){ .kind = ZKL_EVENT_PROBE }, &actions));
        EXPECT_INT(read->actions.count, ZKL_ACTIONS_MAX);
        for (size_t i = 0; i < read->actions.count; i++) {
            EXPECT_INT(read->actions.request.list[i].kind, kind);
            EXPECT_INT(read->actions.request.list[i].status, action.status);
            EXPECT_INT(read->actions.request.list[i].level, action.level);
            EXPECT(is_same_text(read->actions.request.list[i].node, action.node));
        }
    }
}

/* Holds for writing, and asks to hold for reading; then comes what ends that. */
static void downgrade(record_bench *bench, zkl_event_kind end) {
    static const char *const names[] = { BENCH_WRITER };
    bench_open(bench, ZKL_RECORDED_EVENTS_MIN, &(zkl_request_options){ .mode = ZKL_WRITE });
    bench_step(bench, &(zkl_event){ .kind = ZKL_EVENT_START });
    bench_step(bench, &(zkl_event){ .kind = ZKL_EVENT_CREATED, .node = BENCH_WRITER, .zxid = 9 });
    bench_step(bench, &(zkl_event){ .kind = ZKL_EVENT_LISTED,
                                    .fresh = true,
                                    .children = listed((zkl_children){ names, 1 }) });
    bench_step(bench, &(zkl_event){ .kind = ZKL_EVENT_DOWNGRADE });
    bench_step(bench, &(zkl_event){ .kind = ZKL_EVENT_OWN_WATCHED });
    bench_step(bench, &(zkl_event){ .kind = end });
}

TEST(downgrade_is_recorded_with_its_node_and_how_it_ended) {
    record_bench bench;
    downgrade(&bench, ZKL_EVENT_DOWNGRADED);
    EXPECT(strstr(bench_text(&bench), " -> DOWNGRADE node=" BENCH_READER "\n") != NULL);
    EXPECT(strstr(bench_text(&bench), " DOWNGRADED -> UNWATCH_OWN DOWNGRADE_ENDED") != NULL);
    bench_close(&bench);
    downgrade(&bench, ZKL_EVENT_HOLD_LIMIT);
    EXPECT(strstr(bench_text(&bench), "DOWNGRADE_ENDED status=ZKL_LOST ") != NULL);
    bench_close(&bench);
}

/* ---- States ------------------------------------------------------------------------------- */

static void fill(zkl_request *request, unit_random *random) {
    for (size_t i = 0; i < zkl_record_formats[ZKL_RECORD_REQUEST].state.count; i++) {
        const zkl_record_field *field = &zkl_record_formats[ZKL_RECORD_REQUEST].state.list[i];
        const zkl_record_names *names = zkl_record_names_of(field->type);
        char *value = (char *)request + field->offset;
        unsigned number = unit_random_below(random, 1U << 31U);
        int64_t large = -(int64_t)number * 4294967311;
        bool flag = number % 2 == 0;
        const char *text = "a companion";
        unsigned choice = names != NULL ? number % (unsigned)names->count : number;
        switch (field->type) {
        case ZKL_RECORD_FLAG:
            memcpy(value, &flag, sizeof(flag));
            break;
        case ZKL_RECORD_NUMBER:
            memcpy(value, &large, sizeof(large));
            break;
        case ZKL_RECORD_GUID:
        case ZKL_RECORD_NAME:
            snprintf(value, field->size, "%s %u", field->name, number);
            break;
        case ZKL_RECORD_STRING:
            memcpy(value, &text, sizeof(text));
            break;
        default:
            memcpy(value, &choice, sizeof(choice));
            break;
        }
    }
    memcpy(request->session.guid, BENCH_GUID, ZKL_GUID_SIZE);
}

TEST(state_survives_writing_and_reading) {
    unit_random random = unit_random_begin(1);
    for (int i = 0; i < 200; i++) {
        record_bench bench;
        open_unheard(&bench);
        fill(&bench.request, &random);
        zkl_actions none = { .count = 0 };
        const zkl_event event = { .kind = ZKL_EVENT_CONNECTED };
        bench_record(&bench, &event, &none);
        static record_reader reader;
        static record_entry record;
        char *text = bench_text(&bench);
        EXPECT(record_reader_begin(&reader, text, strlen(text), false));
        bool good = record_reader_next(&reader, &record);
        unit_check(good, __FILE__, __LINE__, "%s", reader.error);
        EXPECT_INT(record.kind, RECORD_STATE);
        EXPECT_TEXT(record.path, "/locks/stock");
        static playback_line lines[2];
        bench_write_state(&lines[0], &bench.request);
        bench_write_state(&lines[1], &record.state.request);
        EXPECT_TEXT(lines[1].text, lines[0].text);
        bench_close(&bench);
    }
}
