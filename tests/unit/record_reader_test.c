/* A file that is no record is refused, with the line and the rule; each rule is broken here. */
#include "record_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/record_bench.h"

#define HEADER                                                                                     \
    "zklock-record version=10 library=0.1.0 process=1 label=x opened=o opened_ms=0 dropped=0\n"
#define GUID BENCH_GUID
#define STATE "1 0 request=1 STATE session=1 path=/r session.guid=" GUID
#define END(records) "end records=" #records "\n"

/* In memory of its very size, where a sanitizer sees a step too far. */
static char *read_all(const char *bytes, size_t length, bool may_be_cut, bool *was_cut) {
    static char error[RECORD_ERROR_SIZE];
    record_reader *reader = malloc(sizeof(*reader));
    record_entry *record = malloc(sizeof(*record));
    char *text = malloc(length + 1);
    if (reader == NULL || record == NULL || text == NULL) {
        abort();
    }
    memcpy(text, bytes, length);
    bool more = record_reader_begin(reader, text, length, may_be_cut);
    while (more) {
        more = record_reader_next(reader, record);
    }
    snprintf(error, sizeof(error), "%s", reader->error);
    *was_cut = reader->was_cut;
    free(text);
    free(record);
    free(reader);
    return error;
}

static const char *error_of(const char *text) {
    bool was_cut;
    return read_all(text, strlen(text), false, &was_cut);
}

typedef struct refused {
    const char *text;
    const char *error;
} refused;

static void expect_refused(const refused *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const char *error = error_of(rows[i].text);
        unit_check(strcmp(error, rows[i].error) == 0, __FILE__, __LINE__,
                   "row %zu: \"%s\", expected \"%s\"", i, error, rows[i].error);
    }
}

TEST(good_file_is_read_to_its_end) {
    EXPECT_TEXT(error_of(HEADER END(0)), "");
    EXPECT_TEXT(error_of(HEADER STATE "\n2 0 request=1 START -> nothing\n" END(2)), "");
    EXPECT_TEXT(
        error_of(HEADER "1 0 set=1 STEP size=1 under_way=1 MEMBER_ENDED -> nothing\n" END(1)), "");
    EXPECT_TEXT(error_of(HEADER "1 0 loan=1 STEP waiters=1 WENT -> nothing\n" END(1)), "");
    EXPECT_TEXT(error_of(HEADER "1 -5 session=1 EXPIRED\n2 0 request=1 TOO_LONG\n" END(2)), "");
}

TEST(header_is_held_to_its_rules) {
    static const refused rows[] = {
        { "", "line 1: the end is missing: the file was cut" },
        { "\n", "line 1: zklock-record is missing" },
        { "PK\n", "line 1: must begin with \"zklock-record\": this is no record" },
        { "zklock-record\n", "line 1: version is missing" },
        { "zklock-record version=1\n", "line 1: version 1 is not known, only version 10" },
        { "zklock-record version=8\n", "line 1: version 8 is not known, only version 10" },
        { "zklock-record version=01\n", "line 1: version \"01\" is not a decimal number" },
        { "zklock-record version=\n", "line 1: version \"\" is not a decimal number" },
        { "zklock-record version=10 library=\n", "line 1: library must not be empty" },
        { "zklock-record version=10 label=x\n",
          "line 1: \"label=x\" stands where library= must be" },
        { "zklock-record  version=1\n", "line 1: version is missing" },
        { "zklock-record version=10 library=0 process=0\n", "line 1: process must be at least 1" },
        { "zklock-record version=10 library=0 process=1 label=x opened=o opened_ms=0 dropped=0 "
          "more\n",
          "line 1: \"more\" is one word too many" },
        { "zklock-record version=10 library=0 process=99999999999999999999\n",
          "line 1: process \"99999999999999999999\" is not a decimal number" },
    };
    expect_refused(rows, COUNT_OF(rows));
}

TEST(lines_are_held_to_their_rules) {
    static const refused rows[] = {
        { HEADER, "line 2: the end is missing: the file was cut" },
        { HEADER "1 0 request", "line 2: must end in a newline: the file was cut" },
        { HEADER "\n", "line 2: the record's number is missing" },
        { HEADER "2 0 session=1 EXPIRED\n", "line 2: record 2 stands where record 1 must be" },
        { HEADER "1\n", "line 2: the time is missing" },
        { HEADER "1 x\n", "line 2: the time \"x\" is not a decimal number" },
        { HEADER "1 0\n", "line 2: request is missing" },
        { HEADER "1 0 \n", "line 2: request is missing" },
        { HEADER "1 0 client=1\n", "line 2: \"client=1\" stands where request= must be" },
        { HEADER "1 0 request=0 START\n", "line 2: request must be at least 1" },
        { HEADER "1 0 request=1\n", "line 2: an event, STATE or TOO_LONG is missing" },
        { HEADER "1 0 request=1 TOO_LONG more\n", "line 2: \"more\" is one word too many" },
        { HEADER "1 0 request=1\tSTART\n", "line 2: byte 14 is not printable ASCII" },
        { HEADER "1 0 request=1 \xc3\xa9\n", "line 2: byte 15 is not printable ASCII" },
        { HEADER "1 0 session=1\n", "line 2: the session's state is missing" },
        { HEADER "1 0 session=1 GONE\n", "line 2: \"GONE\" is no state of a session" },
        { HEADER "1 0 session=1 EXPIRED \n", "line 2: \"\" is one word too many" },
        { HEADER "1 0 session=1 CONNECTED id=5\n",
          "line 2: id \"5\" is not a number of the form 0x1f" },
        { HEADER "1 0 session=1 CONNECTED id=0x0F\n",
          "line 2: id \"0x0F\" is not a number of the form 0x1f" },
        { HEADER "1 0 session=1 CONNECTED id=0x1 timeout_ms=2147483648\n",
          "line 2: timeout_ms is too large" },
        { HEADER END(1), "line 2: the file has 0 records, but ends with records=1" },
        { HEADER "end\n", "line 2: records is missing" },
        { HEADER "end records=0 x\n", "line 2: \"x\" is one word too many" },
        { HEADER END(0) "1", "line 3: nothing may follow the end" },
    };
    expect_refused(rows, COUNT_OF(rows));
}

#define EVENT(event) HEADER "1 0 request=1 " event "\n"

TEST(events_are_held_to_their_rules) {
    static const refused rows[] = {
        { EVENT("STARTED"), "line 2: \"STARTED\" is no event" },
        { EVENT("START"), "line 2: -> is missing" },
        { EVENT("START LIST"), "line 2: \"LIST\" stands where -> must be" },
        { EVENT("WATCHED YES"), "line 2: \"YES\" stands where -> must be" },
        { EVENT("WATCHED outcome=YES"), "line 2: \"YES\" is no outcome" },
        { EVENT("WATCHED outcome=OK"),
          "line 2: outcome is not to be written when it is zero or empty" },
        { EVENT("CREATED node= zxid=1"),
          "line 2: node is not to be written when it is zero or empty" },
        { EVENT("CREATED zxid=1 -> nothing"), "line 2: node is missing" },
        { EVENT("CREATED node=a zxid=+1"), "line 2: zxid \"+1\" is not a decimal number" },
        { EVENT("CREATED zxid=1 node=a"), "line 2: \"node=a\" stands where -> must be" },
        { EVENT("WATCHED outcome=REFUSED status=BUSY"),
          "line 2: status \"BUSY\" is not a decimal number" },
        { EVENT("WATCHED outcome=REFUSED status=-1"),
          "line 2: status \"-1\" must be a name of the header, or another int" },
        { EVENT("CANCELLED status=2147483648"),
          "line 2: status \"2147483648\" must be a name of the header, or another int" },
        { EVENT("INSPECTED zxid=1 own_session=1"),
          "line 2: \"own_session=1\" stands where -> must be" },
        { EVENT("SESSION_ENDED guid=0"), "line 2: guid \"0\" must have 36 characters" },
        { EVENT("LISTED children="),
          "line 2: children is not to be written when it is zero or empty" },
        { EVENT("LISTED children=a, ->"), "line 2: a child's name must not be empty" },
        { EVENT("LISTED children=,a ->"), "line 2: a child's name must not be empty" },
        { EVENT("LISTED shortened_from=0"), "line 2: shortened_from must be at least 1" },
        { EVENT("LISTED shortened_from=1 children=a,b ->"),
          "line 2: a shortened list has at most 7 names, and no more than it had" },
        { EVENT("LISTED shortened_from=9 children=a,b,c,d,e,f,g,h ->"),
          "line 2: a shortened list has at most 7 names, and no more than it had" },
        { EVENT("CREATED node=%41"), "line 2: \"%41\" is not %XX for a byte that needs it" },
        { EVENT("CREATED node=%2"), "line 2: \"%2\" is not %XX for a byte that needs it" },
        { EVENT("CREATED node=%"), "line 2: \"%\" is not %XX for a byte that needs it" },
        { EVENT("CREATED node=%c3"), "line 2: \"%c3\" is not %XX for a byte that needs it" },
        { EVENT("CREATED node=%00"), "line 2: \"%00\" is not %XX for a byte that needs it" },
        { EVENT("CREATED node=a,b"), "line 2: ',' must be escaped in \"a,b\"" },
        { EVENT("START ->"), "line 2: an action, or nothing, is missing" },
        { EVENT("START -> WAIT"), "line 2: \"WAIT\" is no action" },
        { EVENT("START -> nothing LIST"), "line 2: \"LIST\" is one word too many" },
        { EVENT("START -> LIST nothing"), "line 2: \"nothing\" is no action" },
        { EVENT("START -> WATCH node="),
          "line 2: node is not to be written when it is zero or empty" },
        { EVENT("START -> FAIL status=BUSY"), "line 2: status \"BUSY\" is not a decimal number" },
        { EVENT("START -> FAIL status=ZKL_BUSY node=x"), "line 2: \"node=x\" is no action" },
        { EVENT("START -> END END END END END END END END END"),
          "line 2: a step has at most 8 actions" },
    };
    expect_refused(rows, COUNT_OF(rows));
}

#define STEP(step) HEADER "1 0 set=1 STEP " step "\n"

TEST(steps_of_sets_are_held_to_their_rules) {
    static const refused rows[] = {
        { HEADER "1 0 set=0 STEP\n", "line 2: set must be at least 1" },
        { HEADER "1 0 set=1\n", "line 2: STEP is missing" },
        { HEADER "1 0 set=1 STATE\n", "line 2: \"STATE\" stands where STEP must be" },
        { STEP("size=1"), "line 2: the event is missing" },
        { STEP("size=1 stage=GONE TURN"), "line 2: \"GONE\" is no stage" },
        { STEP("size=1 START"), "line 2: \"START\" is no event of a set" },
        { STEP("TURN -> nothing"), "line 2: no member of the set is left" },
        { STEP("size=1 MEMBER_ENDED -> nothing"), "line 2: no member of the set is left" },
        { STEP("size=1 TURN -> LIST"), "line 2: \"LIST\" is no action" },
        { STEP("size=1 TURN -> LET_GO LET_GO LET_GO LET_GO"),
          "line 2: a step has at most 3 actions" },
    };
    expect_refused(rows, COUNT_OF(rows));
}

#define LONG_NAME "0123456789012345678901234567890123456789012345678901234567890123"

TEST(states_are_held_to_their_rules) {
    static const refused rows[] = {
        { EVENT("STATE"), "line 2: session is missing" },
        { EVENT("STATE session=0"), "line 2: session must be at least 1" },
        { EVENT("STATE session=1 path="), "line 2: path must not be empty" },
        { EVENT("STATE session=1 path=/r options.mode=SHARED"),
          "line 2: \"SHARED\" is no options.mode" },
        { EVENT("STATE session=1 path=/r options.mode=EXCLUSIVE"),
          "line 2: options.mode is not to be written when it is zero or empty" },
        { HEADER STATE " session.connected\n",
          "line 2: \"session.connected\" is no field of a request's state, or not in its place" },
        { HEADER STATE " session.guid=" GUID "\n",
          "line 2: \"session.guid=" GUID
          "\" is no field of a request's state, or not in its place" },
        { HEADER STATE " own.node=" LONG_NAME "\n",
          "line 2: own.node must not be longer than 63 bytes" },
        { HEADER STATE " own.node=\n",
          "line 2: own.node is not to be written when it is zero or empty" },
        { EVENT("STATE session=1 path=/r options.mode=READ retry.rejoins=0"),
          "line 2: retry.rejoins is not to be written when it is zero or empty" },
        { EVENT("STATE session=1 path=/r options.mode=READ retry.rejoins=4294967296"),
          "line 2: retry.rejoins is too large" },
        { EVENT("STATE session=1 path=/r options.mode=READ retry.rejoins=-1"),
          "line 2: retry.rejoins must be at least 0" },
        { EVENT("STATE session=1 path=/r outstanding=3"),
          "line 2: outstanding \"3\" is not a number of the form 0x1f" },
        { EVENT("STATE session=1 path=/r options.mode=READ"),
          "line 2: guid \"\" must have 36 characters" },
    };
    expect_refused(rows, COUNT_OF(rows));
}

TEST(file_of_a_killed_program_may_end_in_half_a_line) {
    static const char text[] = HEADER STATE "\n2 0 request=1 START -> nothing\n" END(2);
    for (size_t length = sizeof(HEADER) - 1; length < sizeof(text) - 1; length++) {
        bool was_cut = false;
        EXPECT_TEXT(read_all(text, length, true, &was_cut), "");
        EXPECT(was_cut);
        EXPECT(read_all(text, length, false, &was_cut)[0] != '\0');
    }
    bool was_cut = true;
    EXPECT_TEXT(read_all(text, sizeof(text) - 1, true, &was_cut), "");
    EXPECT(!was_cut);
    EXPECT_TEXT(read_all(text, 10, true, &was_cut), "line 1: the first line is missing");
}

/* Nothing but a refusal comes of it, whatever it is. */
TEST(any_bytes_are_fine) {
    static const char text[] =
        HEADER STATE "\n2 0 request=1 START -> CREATE node=a%20 LIST\n"
                     "3 0 request=1 LISTED children=a,b -> WATCH node=a FAIL status=ZKL_BUSY\n"
                     "4 0 request=1 WATCH_FIRED deleted -> nothing\n"
                     "5 0 session=1 CONNECTED id=0x1f timeout_ms=1\n" END(5);
    bool was_cut;
    for (unsigned seed = 0; seed < 20000; seed++) {
        unit_random random = unit_random_begin(seed);
        char changed[sizeof(text)];
        memcpy(changed, text, sizeof(text));
        size_t length = sizeof(text) - 1;
        for (unsigned n = unit_random_below(&random, 3) + 1; n > 0; n--) {
            unsigned at = unit_random_below(&random, (unsigned)length);
            changed[at] = (char)unit_random_below(&random, 256);
            if (unit_random_below(&random, 2) == 0) { /* or one byte less */
                memmove(changed + at, changed + at + 1, length - at);
                length--;
            }
        }
        (void)read_all(changed, length, unit_random_below(&random, 2) == 0, &was_cut);
    }
    EXPECT(true); /* it came to here, and no sanitizer has complained */
}
