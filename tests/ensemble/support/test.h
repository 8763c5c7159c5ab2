/*
 * What every test program here shares: its main, and assertions that say what
 * they saw. Only the main thread may assert; CUnit knows no other.
 */
#pragma once

#include "support/basics.h"

#include <CUnit/CUnit.h>
#include <stdbool.h>
#include <stddef.h>
#include <zklock/zklock.h>

/** Added to bounds of the contract, for a loaded machine of two cores. */
#define SLACK_MS 1500

struct test_case {
    const char *name;
    void (*run)(void);
};

#define TEST_CASE(function)                                                                        \
    { #function, function }

/** The whole of main: runs all tests, or the one that argv[1] names. */
int run_tests(int argc, char **argv, const struct test_case *tests, size_t count);

/** Polls until the condition is true, and fails after PATIENCE_MS. */
#define WAIT_UNTIL(condition)                                                                      \
    do {                                                                                           \
        const int64_t wait_until_end_ = now_ms() + PATIENCE_MS;                                    \
        bool wait_until_met_ = (condition);                                                        \
        while (!wait_until_met_ && now_ms() < wait_until_end_) {                                   \
            nap();                                                                                 \
            wait_until_met_ = (condition);                                                         \
        }                                                                                          \
        CU_assertImplementation(wait_until_met_, __LINE__, "waited for: " #condition, __FILE__,    \
                                "", CU_FALSE);                                                     \
    } while (0)

/** For what must not happen: the condition holds at every look for that long. */
#define STAYS(condition, duration_ms)                                                              \
    do {                                                                                           \
        const int64_t stays_end_ = now_ms() + (duration_ms);                                       \
        bool stays_held_ = (condition);                                                            \
        while (stays_held_ && now_ms() < stays_end_) {                                             \
            nap();                                                                                 \
            stays_held_ = (condition);                                                             \
        }                                                                                          \
        CU_assertImplementation(stays_held_, __LINE__, "must stay: " #condition, __FILE__, "",     \
                                CU_FALSE);                                                         \
    } while (0)

#define ASSERT_STATUS(expression, wanted)                                                          \
    assert_status((expression), (wanted), #expression, __FILE__, __LINE__)
#define ASSERT_NUMBER(expression, wanted)                                                          \
    assert_number((int64_t)(expression), (wanted), #expression, __FILE__, __LINE__)

void assert_status(int actual, int wanted, const char *what, const char *file, unsigned line);
void assert_number(int64_t actual, int64_t wanted, const char *what, const char *file,
                   unsigned line);
