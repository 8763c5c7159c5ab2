#include "support/unit.h"

#include <CUnit/Basic.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "played_back.h"

enum { MESSAGE_SIZE = 2048 };

/* CUnit's list of failures is slow when it is long, and nobody reads all of it. */
enum { FAILURES_SHOWN = 100 };

void unit_check(bool good, const char *file, int line, const char *format, ...) {
    static unsigned failures; /* how many the running test has had */
    static const CU_Test *running;
    char message[MESSAGE_SIZE];
    message[0] = '\0'; /* most assertions hold, and some tests make millions */
    if (!good) {
        failures = CU_get_current_test() == running ? failures : 0;
        running = CU_get_current_test();
        if (++failures > FAILURES_SHOWN) {
            return;
        }
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(message, sizeof(message), format, arguments);
        va_end(arguments);
    }
    CU_assertImplementation(good ? CU_TRUE : CU_FALSE, (unsigned)line, message, file, "", CU_FALSE);
}

void unit_expect_int(int64_t actual, int64_t expected, const char *what, const char *file,
                     int line) {
    unit_check(actual == expected, file, line, "%s is %" PRId64 ", expected %" PRId64, what, actual,
               expected);
}

void unit_expect_text(const char *actual, const char *expected, const char *what, const char *file,
                      int line) {
    unit_check(actual != NULL && strcmp(actual, expected) == 0, file, line,
               "%s is \"%s\", expected \"%s\"", what, actual != NULL ? actual : "(NULL)", expected);
}

void unit_expect_refused(bool refused, const char *message, const char *says, const char *what,
                         const char *file, int line) {
    unit_check(refused && strstr(message, says) != NULL, file, line,
               "%s %s, with the message \"%s\", which was to say \"%s\"", what,
               refused ? "is refused" : "is not ZKL_INVALID_ARGUMENT", message, says);
}

/* ---- The end of a test that cannot go on -------------------------------------------- */

static const char *suite_that_runs, *test_that_runs; /* a signal handler must not ask CUnit */

/* Writes a text as CUnit would, by calls that are allowed in a signal handler. */
static void say(const char *text) {
    (void)!write(STDOUT_FILENO, text, strlen(text));
}

static _Noreturn void fail_for_good(const char *why) {
    say("\nSuite ");
    say(suite_that_runs);
    say(", Test ");
    say(test_that_runs);
    say(" had failures:\n    ");
    say(why);
    say("\n");
    _exit(EXIT_FAILURE);
}

static void note_test(void) {
    suite_that_runs = CU_get_current_suite()->pName;
    test_that_runs = CU_get_current_test()->pName;
}

void unit_fail_for_good(const char *why) {
    note_test();
    fail_for_good(why);
}

static void on_alarm(int signal) {
    (void)signal;
    fail_for_good("it does not end");
}

void unit_must_be_done_within(unsigned seconds) {
    note_test();
    (void)signal(SIGALRM, on_alarm);
    (void)alarm(seconds * UNIT_TIME_FACTOR);
}

static void check_playback(const char *difference) {
    unit_check(difference == NULL, __FILE__, __LINE__, "played back: %s",
               difference != NULL ? difference : "");
}

void unit_play_back(void) {
    played_back_begin(check_playback);
}

static unit_test *first_test;
static unit_test **next_test = &first_test;

void unit_add(unit_test *test) {
    *next_test = test;
    next_test = &test->next;
}

static bool register_tests(const char *suite) {
    CU_pSuite registered =
        CU_initialize_registry() == CUE_SUCCESS ? CU_add_suite(suite, NULL, NULL) : NULL;
    bool good = registered != NULL;
    for (unit_test *test = first_test; good && test != NULL; test = test->next) {
        good = CU_add_test(registered, test->name, test->run) != NULL;
    }
    return good;
}

int unit_main(const char *suite) {
    if (!register_tests(suite)) {
        fprintf(stderr, "%s: %s\n", suite, CU_get_error_msg());
        return EXIT_FAILURE;
    }
    setvbuf(stdout, NULL, _IOLBF, 0); /* so that failures before a crash are seen */
    unit_play_back();
    CU_basic_set_mode(CU_BRM_NORMAL);
    CU_basic_run_tests();
    bool good = CU_get_number_of_failures() == 0 && CU_get_number_of_tests_run() > 0;
    CU_cleanup_registry();
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

unit_random unit_random_begin(uint64_t seed) {
    /* The generator must not begin with 0, and close seeds must begin far apart. */
    return (unit_random){ (seed + 1) * 0x9e3779b97f4a7c15U };
}

unsigned unit_random_below(unit_random *random, unsigned below) {
    random->state ^= random->state >> 12U;
    random->state ^= random->state << 25U;
    random->state ^= random->state >> 27U;
    return (unsigned)((random->state * 0x2545f4914f6cdd1dU) >> 33U) % below;
}
