/*
 * Playback: what a request really did is accepted, and whatever was changed in
 * the record afterwards is found: an action, an event, a name, a state, a record
 * that is left out. And the program that shows it, with its exit status.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/listed.h"
#include "support/record_bench.h"

/* ---- Changing records -------------------------------------------------------------- */

/* `text`, with the first `old` replaced. */
static const char *replaced(const char *text, const char *old, const char *by) {
    static char result[BENCH_TEXT_SIZE];
    const char *at = strstr(text, old);
    unit_check(at != NULL, __FILE__, __LINE__, "\"%s\" is not in the record", old);
    if (at != NULL) {
        snprintf(result, sizeof(result), "%.*s%s%s", (int)(at - text), text, by, at + strlen(old));
    }
    return result;
}

/* `text` without the line in which `part` stands, and all later ones renumbered. */
static const char *without_line(const char *text, const char *part) {
    static char result[BENCH_TEXT_SIZE];
    size_t length = 0;
    long left_out = 0;
    for (const char *line = text; *line != '\0';) {
        size_t size = strcspn(line, "\n") + 1;
        const char *found = strstr(line, part);
        if (found != NULL && found < line + size && left_out == 0) {
            left_out = 1;
        } else {
            char *rest = NULL;
            long number = strtol(line, &rest, 10);
            bool is_end = strncmp(line, "end records=", 12) == 0;
            number = is_end ? strtol(line + 12, &rest, 10) : number;
            if (rest != line && left_out == 1) {
                length += (size_t)snprintf(result + length, sizeof(result) - length, "%s%ld%.*s",
                                           is_end ? "end records=" : "", number - 1,
                                           (int)(line + size - rest), rest);
            } else {
                length += (size_t)snprintf(result + length, sizeof(result) - length, "%.*s",
                                           (int)size, line);
            }
        }
        line += size;
    }
    EXPECT_INT(left_out, 1);
    return result;
}

static void expect_verdict(const char *text, playback_verdict verdict, const char *message,
                           int line) {
    const playback_result *result = bench_play(text);
    unit_expect_int(result->verdict, verdict, "the verdict", __FILE__, line);
    unit_check(strstr(result->message, message) != NULL, __FILE__, line,
               "\"%s\" does not say \"%s\"", result->message, message);
}

#define SAME(text) expect_verdict((text), PLAYBACK_SAME, "", __LINE__)
#define DIFFERS(text, message) expect_verdict((text), PLAYBACK_DIFFERS, (message), __LINE__)
#define REFUSED(text, message) expect_verdict((text), PLAYBACK_REFUSED, (message), __LINE__)

/* ---- A conversation: waits behind another, is handed the lock, is disconnected,
 *      and releases --------------------------------------------------------------------- */

#define OTHER "_c_11110000-0000-4000-8000-000000000011-lock-0000000002"

static void feed(record_bench *bench, zkl_event_kind kind) {
    bench_step(bench, &(zkl_event){ .kind = kind });
}

static char *conversation(void) {
    static char text[BENCH_TEXT_SIZE];
    static const char *const names[] = { BENCH_NODE, OTHER };
    record_bench bench;
    bench_open(&bench, ZKL_RECORDED_EVENTS_MIN, NULL);
    feed(&bench, ZKL_EVENT_START);
    bench_step(&bench, &(zkl_event){ .kind = ZKL_EVENT_CREATED, .node = BENCH_NODE, .zxid = 900 });
    bench_step(&bench, &(zkl_event){ .kind = ZKL_EVENT_LISTED,
                                     .fresh = true,
                                     .children = listed((zkl_children){ names, 2 }) });
    feed(&bench, ZKL_EVENT_WATCHED);
    feed(&bench, ZKL_EVENT_OWN_WATCHED);
    bench_step(&bench,
               &(zkl_event){ .kind = ZKL_EVENT_WATCH_FIRED, .deleted = true, .fresh = true });
    for (int i = 0; i < 9; i++) { /* until a second state is recorded */
        feed(&bench, ZKL_EVENT_DISCONNECTED);
        feed(&bench, ZKL_EVENT_CONNECTED);
    }
    feed(&bench, ZKL_EVENT_OWN_WATCHED);
    feed(&bench, ZKL_EVENT_LEASE_BEGUN);
    feed(&bench, ZKL_EVENT_RELEASED);
    feed(&bench, ZKL_EVENT_DELETED);
    snprintf(text, sizeof(text), "%s", bench_text(&bench));
    bench_close(&bench);
    return text;
}

TEST(what_was_done_is_accepted) {
    const playback_result *result = bench_play(conversation());
    EXPECT(result->verdict == PLAYBACK_SAME);
    EXPECT_INT(result->counts.steps, 28);
    EXPECT_INT(result->counts.requests, 1);
    EXPECT_INT(result->counts.states, 1);
    EXPECT_INT(result->counts.records, 30);
}

TEST(changed_action_is_found) {
    const char *text = conversation();
    DIFFERS(replaced(text, "-> GRANT", "-> nothing"),
            "record 7, request 1, WATCH_FIRED: the record has -> nothing, but the recipe does -> "
            "GRANT");
    DIFFERS(replaced(text, "-> nothing", "-> GRANT"),
            "request 1, CREATED: the record has -> GRANT");
    DIFFERS(replaced(text, "WATCH node=_c_1", "WATCH node=_c_2"),
            "LISTED: the record has -> WATCH");
    DIFFERS(replaced(text, "-> END", "-> WARN status=ZKL_BUSY"), "DELETED: the record has");
}

#define LOAN_LINES                                                                                 \
    "zklock-record version=10 library=0 process=1 label= opened=o opened_ms=0 dropped=0\n"         \
    "1 5 loan=3 STEP waiters=1 GRANTED in_touch -> LEND count=1 number=1\n"                        \
    "2 5 loan=3 STEP stage=OURS holders=1 number=1 RETURNED -> GIVE_UP\nend records=2\n"

TEST(changed_step_of_a_loan_is_found) {
    SAME(LOAN_LINES);
    EXPECT_INT(bench_play(LOAN_LINES)->counts.steps, 2);
    DIFFERS(replaced(LOAN_LINES, "count=1 number=1", "count=1 number=2"),
            "record 1, loan 3, GRANTED: the record has");
    DIFFERS(replaced(LOAN_LINES, "stage=OURS", "stage=OVER"),
            "record 2, loan 3, RETURNED: the record has stage=OVER, but the recipe has stage=OURS");
}

#define SET_LINES                                                                                  \
    "zklock-record version=10 library=0 process=1 label= opened=o opened_ms=0 dropped=0\n"         \
    "1 5 set=3 STEP size=2 granted=1 under_way=2 MEMBER_FAILED status=ZKL_NODE_DELETED -> WAKE\n"  \
    "2 5 set=3 STEP size=2 stage=FAILED granted=1 under_way=2 failure=ZKL_NODE_DELETED "           \
    "MEMBER_ENDED -> nothing\nend records=2\n"

TEST(changed_step_of_a_set_is_found) {
    SAME(SET_LINES);
    EXPECT_INT(bench_play(SET_LINES)->counts.steps, 2);
    DIFFERS(replaced(SET_LINES, "-> WAKE", "-> LEAVE"),
            "record 1, set 3, MEMBER_FAILED: the record has");
    DIFFERS(replaced(SET_LINES, "stage=FAILED", "stage=LEAVING"),
            "record 2, set 3, MEMBER_ENDED: the record has stage=LEAVING, but the recipe has "
            "stage=FAILED");
}

static const char *downgrade(void) {
    static const char *const names[] = { BENCH_WRITER };
    record_bench bench;
    bench_open(&bench, ZKL_RECORDED_EVENTS_MIN, &(zkl_request_options){ .mode = ZKL_WRITE });
    feed(&bench, ZKL_EVENT_START);
    bench_step(&bench, &(zkl_event){ .kind = ZKL_EVENT_CREATED, .node = BENCH_WRITER, .zxid = 9 });
    bench_step(&bench, &(zkl_event){ .kind = ZKL_EVENT_LISTED,
                                     .fresh = true,
                                     .children = listed((zkl_children){ names, 1 }) });
    feed(&bench, ZKL_EVENT_DOWNGRADE);
    bench_step(&bench, &(zkl_event){ .kind = ZKL_EVENT_OWN_WATCHED });
    feed(&bench, ZKL_EVENT_HOLD_LIMIT);
    static char text[BENCH_TEXT_SIZE];
    snprintf(text, sizeof(text), "%s", bench_text(&bench));
    bench_close(&bench);
    return text;
}

TEST(changed_node_or_end_of_a_downgrade_is_found) {
    SAME(downgrade());
    DIFFERS(replaced(downgrade(), "DOWNGRADE node=" BENCH_READER, "DOWNGRADE node=another"),
            "but the recipe does -> DOWNGRADE node=" BENCH_READER);
    DIFFERS(replaced(downgrade(), "DOWNGRADE_ENDED status=ZKL_LOST", "DOWNGRADE_ENDED"),
            "but the recipe does -> DOWNGRADE_ENDED status=ZKL_LOST");
}

TEST(changed_event_is_found) {
    const char *text = conversation();
    DIFFERS(replaced(text, "deleted fresh", "deleted"),
            "WATCH_FIRED: the record has -> GRANT, but the recipe does -> LIST");
    DIFFERS(replaced(text, "," BENCH_NODE, ",_c_2222" BENCH_NODE), "LISTED");
    DIFFERS(replaced(text, "children=" OTHER, "children=_c_x-lock-0000000001"), "LISTED");
    DIFFERS(replaced(text, "RELEASED", "HOLD_LIMIT"), "LOSE");
}

/* It makes no difference to what is done, and is seen in the next state. */
TEST(changed_number_is_found_at_the_next_state) {
    DIFFERS(replaced(conversation(), "zxid=900", "zxid=901"),
            "STATE: the record has own.zxid=900, but the recipe has own.zxid=901");
}

TEST(changed_state_is_found) {
    const char *text = conversation();
    DIFFERS(replaced(text, "path=/locks/stock session.connected",
                     "path=/locks/stock options.mode=READ session.connected"),
            "START: the record has -> CREATE node=");
    DIFFERS(replaced(text, "path=/locks/stock session", "path=/locks/stock stage=LEAVING session"),
            "START: the record has stage=LEAVING, but a request that starts has stage=JOINING");
    DIFFERS(replaced(text, " stage=HELD", " stage=KEPT"),
            "the record has stage=KEPT, but the recipe has stage=HELD");
    DIFFERS(replaced(text, "path=/locks/stock", "path=/locks/other"),
            "STATE: session 1 and path /locks/stock were 1 and /locks/other before");
}

TEST(record_that_is_left_out_is_found) {
    const char *text = conversation();
    static const char *const parts[] = {
        " STATE ",   " START ",       " CREATED ",     " LISTED ",
        " WATCHED ", " OWN_WATCHED ", " WATCH_FIRED ", " RELEASED "
    };
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        const playback_result *result = bench_play(without_line(text, parts[i]));
        unit_check(result->verdict == PLAYBACK_DIFFERS, __FILE__, __LINE__, "without%s: %s",
                   parts[i], result->message);
    }
    /* Even the last, and one without which all is as before: by the numbers. */
    REFUSED(replaced(text, "30 28 request=1 DELETED -> END\n", ""), "line 31: the file has 29");
}

TEST(record_after_the_end_is_found) {
    DIFFERS(replaced(conversation(), "end records=30",
                     "31 29 request=1 PROBE -> nothing\nend records=31"),
            "record 31, request 1, PROBE: the request has ended with record 30");
}

TEST(event_of_a_request_without_a_state_is_skipped_only_where_records_were_dropped) {
    const char *text = "zklock-record version=10 library=0 process=1 label= opened=o opened_ms=0 "
                       "dropped=%d\n%d 5 request=7 CONNECTED -> nothing\nend records=1\n";
    char record[512];
    snprintf(record, sizeof(record), text, 0, 1);
    DIFFERS(record, "record 1, request 7, CONNECTED: no STATE of the request comes before");
    snprintf(record, sizeof(record), text, 41, 42);
    SAME(record);
    EXPECT_INT(bench_play(record)->counts.skipped, 1);
    EXPECT_INT(bench_play(record)->counts.requests, 0);
}

TEST(several_requests_are_played_side_by_side) {
    record_bench one;
    bench_open(&one, ZKL_RECORDED_EVENTS_MIN, NULL);
    record_bench other = one;
    bench_begin_request(&other, &(zkl_request_options){ .mode = ZKL_READ });
    feed(&one, ZKL_EVENT_START);
    feed(&other, ZKL_EVENT_START);
    feed(&one, ZKL_EVENT_TIMED_OUT);
    feed(&other, ZKL_EVENT_DISCONNECTED);
    SAME(bench_text(&one));
    EXPECT_INT(bench_play(bench_text(&one))->counts.requests, 2);
    DIFFERS(replaced(bench_text(&one), "request=2 START", "request=1 START"), "request 1, START: ");
    bench_close(&one);
}

/* ---- Walks: continued from what a file says, a request goes on just the same ------------ */

static zkl_event_kind answer_to(zkl_action_kind kind) {
    switch (kind) {
    case ZKL_ACTION_CREATE:
        return ZKL_EVENT_CREATED;
    case ZKL_ACTION_LIST:
        return ZKL_EVENT_LISTED;
    case ZKL_ACTION_MAKE_PARENT:
        return ZKL_EVENT_PARENT_MADE;
    case ZKL_ACTION_WATCH:
        return ZKL_EVENT_WATCHED;
    case ZKL_ACTION_WATCH_OWN:
        return ZKL_EVENT_OWN_WATCHED;
    case ZKL_ACTION_INSPECT:
        return ZKL_EVENT_INSPECTED;
    case ZKL_ACTION_DELETE:
        return ZKL_EVENT_DELETED;
    case ZKL_ACTION_HAND_OVER:
        return ZKL_EVENT_HANDED_OVER;
    case ZKL_ACTION_SETTLE:
        return ZKL_EVENT_SETTLED;
    case ZKL_ACTION_INSPECT_PARENT:
        return ZKL_EVENT_PARENT_INSPECTED;
    case ZKL_ACTION_REMOVE_PARENT:
        return ZKL_EVENT_PARENT_REMOVED;
    case ZKL_ACTION_DOWNGRADE:
        return ZKL_EVENT_DOWNGRADED;
    case ZKL_ACTION_BACK_OFF:
        return ZKL_EVENT_BACKED_OFF;
    default:
        return ZKL_EVENT_START; /* it has none */
    }
}

/* An answer to something that was asked, or news. */
static zkl_event_kind random_kind(unit_random *random, bool awaited[ZKL_EVENT_DOWNGRADE + 1]) {
    for (;;) {
        unsigned kind = 1 + unit_random_below(random, ZKL_EVENT_DOWNGRADE);
        if (kind > ZKL_EVENT_BACKED_OFF || awaited[kind]) {
            awaited[kind] = false;
            return (zkl_event_kind)kind;
        }
    }
}

static zkl_event random_event(unit_random *random, zkl_event_kind kind, const char *const *names) {
    zkl_event event = {
        .kind = kind,
        .outcome = (zkl_outcome)unit_random_below(random, ZKL_OUTCOME_SESSION_OVER + 1),
        .status = ZKL_NO_PERMISSION,
        .node = names[unit_random_below(random, 4)],
        .zxid = unit_random_below(random, 1000),
        .own_session = unit_random_below(random, 2) == 0,
        .holds_data = unit_random_below(random, 8) == 0,
        .deleted = unit_random_below(random, 2) == 0,
        .data_set = unit_random_below(random, 2) == 0,
        .fresh = unit_random_below(random, 2) == 0,
        .children = listed((zkl_children){ names, unit_random_below(random, 6) }),
        .guid = unit_random_below(random, 4) == 0 ? NULL : BENCH_GUID,
    };
    if (unit_random_below(random, 2) == 0) {
        event.outcome = ZKL_OUTCOME_OK;
    }
    return event;
}

TEST(request_goes_on_from_its_recorded_state) {
    static const char *const names[] = { BENCH_NODE,
                                         "_c_" BENCH_GUID "-lock-0000000007",
                                         "_c_" BENCH_GUID "-lock-0000000002",
                                         "_c_" BENCH_GUID "-lock-2147483646",
                                         OTHER,
                                         "strange-0000000001" };
    unsigned long states = 0;
    for (unsigned seed = 0; seed < 3000; seed++) {
        unit_random random = unit_random_begin(seed);
        zkl_request_options options = { .only_try = unit_random_below(&random, 3) == 0,
                                        .needs_lease = unit_random_below(&random, 3) == 0 };
        record_bench bench;
        bench_open(&bench, ZKL_RECORDED_EVENTS_MIN, &options);
        bool awaited[ZKL_EVENT_DOWNGRADE + 1] = { false };
        feed(&bench, ZKL_EVENT_START);
        for (int i = 0; i < 40 && bench.request.stage != ZKL_STAGE_ENDED; i++) {
            for (size_t k = 0; k < bench.actions.count; k++) {
                awaited[answer_to(bench.actions.list[k].kind)] = true;
            }
            zkl_event event = random_event(&random, random_kind(&random, awaited), names);
            bench_step(&bench, &event);
        }
        const playback_result *result = bench_play(bench_text(&bench));
        unit_check(result->verdict == PLAYBACK_SAME, __FILE__, __LINE__, "seed %u: %s", seed,
                   result->message);
        states += result->counts.states;
        bench_close(&bench);
    }
    EXPECT(states > 1000);
}

/* ---- The program --------------------------------------------------------------------------- */

static int run_replay(const char *text, char *output, size_t size) {
    char path[] = "/tmp/zklock-playback-test-XXXXXX";
    int file = mkstemp(path);
    EXPECT(file >= 0);
    EXPECT_INT(write(file, text, strlen(text)), strlen(text));
    EXPECT_INT(close(file), 0);
    char command[512];
    snprintf(command, sizeof(command), "'%s' '%s' 2>&1", REPLAY_PROGRAM, path);
    FILE *program = popen(command, "r");
    EXPECT(program != NULL);
    size_t length = fread(output, 1, size - 1, program);
    output[length] = '\0';
    int status = pclose(program);
    EXPECT_INT(unlink(path), 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static const char *text_without_requests(void) {
    record_bench bench;
    bench_open(&bench, ZKL_RECORDED_EVENTS_MIN, NULL);
    zkl_recorder_add_news(bench.recorder, 1, 0,
                          &(zkl_session_news){ .state = ZKL_SESSION_STATE_CONNECTED,
                                               .session_id = 0x1f,
                                               .timeout_ms = 10000 });
    const char *text = bench_text(&bench);
    bench_close(&bench);
    return text;
}

TEST(program_shows_each_step_and_says_by_its_status_what_it_found) {
    static char output[BENCH_TEXT_SIZE];
    const char *text = conversation();
    EXPECT_INT(run_replay(text, output, sizeof(output)), 0);
    EXPECT(strstr(output, "request=1 START\n                  does   CREATE node=_c_") != NULL);
    EXPECT(strstr(output, "state  no outstanding  =>  outstanding=0x3\n") != NULL);
    EXPECT(strstr(output, "28 steps of 1 requests, all as the recipe does them\n") != NULL);
    EXPECT_INT(run_replay(replaced(text, "-> GRANT", "-> nothing"), output, sizeof(output)), 1);
    EXPECT(strstr(output, "5 steps as the recipe does them, and then a difference:\nrecord 7, ") !=
           NULL);
    EXPECT_INT(run_replay(text_without_requests(), output, sizeof(output)), 0);
    EXPECT(strstr(output, "\nnothing to play back\n") != NULL);
    EXPECT(strstr(output, "as the recipe does them") == NULL);
    EXPECT_INT(run_replay("#!/bin/sh\n", output, sizeof(output)), 2);
    EXPECT(strstr(output, ": line 1: must begin with \"zklock-record\"") != NULL);
    EXPECT_INT(run_replay("", output, sizeof(output)), 2);
}

TEST(file_that_cannot_be_read_is_refused) {
    static playback_result result;
    playback_play_file("/nowhere/at/all", &(playback_options){ .may_be_cut = false }, &result);
    EXPECT_INT(result.verdict, PLAYBACK_REFUSED);
    EXPECT_TEXT(result.message, "No such file or directory");
    playback_play_file("/tmp", &(playback_options){ .may_be_cut = false }, &result);
    EXPECT_INT(result.verdict, PLAYBACK_REFUSED);
}
