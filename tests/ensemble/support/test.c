#include "support/test.h"

#include "support/records.h"
#include "support/servers.h"

#include <CUnit/Basic.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

void assert_status(int actual, int wanted, const char *what, const char *file, unsigned line) {
    char text[512];
    snprintf(text, sizeof text, "%s is \"%s\" (%d), must be \"%s\"", what, zkl_strerror(actual),
             actual, zkl_strerror(wanted));
    CU_assertImplementation(actual == wanted, line, text, file, "", CU_FALSE);
}

void assert_number(int64_t actual, int64_t wanted, const char *what, const char *file,
                   unsigned line) {
    char text[512];
    snprintf(text, sizeof text, "%s is %" PRId64 ", must be %" PRId64, what, actual, wanted);
    CU_assertImplementation(actual == wanted, line, text, file, "", CU_FALSE);
}

/* A test that hurt the ensemble and failed on the way must not fail the next. */
static void after_each_test(void) {
    servers_heal();
}

static void add_tests(CU_pSuite suite, const char *only, const struct test_case *tests,
                      size_t count) {
    unsigned added = 0;
    for (size_t i = 0; i < count; i++) {
        if (only == NULL || strcmp(only, tests[i].name) == 0) {
            if (CU_add_test(suite, tests[i].name, tests[i].run) == NULL) {
                give_up("CUnit: %s", CU_get_error_msg());
            }
            added++;
        }
    }
    if (added == 0) {
        give_up("there is no test '%s'", only);
    }
}

int run_tests(int argc, char **argv, const struct test_case *tests, size_t count) {
    /* Whole lines, even when a time limit kills us. */
    setvbuf(stdout, NULL, _IOLBF, 0);
    signal(SIGPIPE, SIG_IGN);
    zoo_set_debug_level((ZooLogLevel)0);
    const char *slash = strrchr(argv[0], '/');
    const char *program = slash != NULL ? slash + 1 : argv[0];
    servers_begin();
    records_begin(program);
    if (CU_initialize_registry() != CUE_SUCCESS) {
        give_up("CUnit: %s", CU_get_error_msg());
    }
    CU_pSuite suite =
        CU_add_suite_with_setup_and_teardown(program, NULL, NULL, NULL, after_each_test);
    if (suite == NULL) {
        give_up("CUnit: %s", CU_get_error_msg());
    }
    add_tests(suite, argc > 1 ? argv[1] : NULL, tests, count);
    CU_basic_set_mode(CU_BRM_VERBOSE);
    CU_ErrorCode error = CU_basic_run_tests();
    unsigned failures = CU_get_number_of_failures();
    unsigned ran = CU_get_number_of_tests_run();
    CU_cleanup_registry();
    bool passed = error == CUE_SUCCESS && failures == 0 && ran > 0;
    return records_check(passed) && passed ? EXIT_SUCCESS : EXIT_FAILURE;
}
