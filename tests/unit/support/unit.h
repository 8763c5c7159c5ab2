/* The little that every unit test needs on top of CUnit: assertions that show
 * both sides, and a main. Assert on the test's own thread only. */
#pragma once

#include <CUnit/CUnit.h>
#include <CUnit/TestDB.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/check.h"

/** Defines a test, as TEST(fault_and_outcome) { ... }. The tests of a program run in the order in
 *  which they are defined. */
#define TEST(name)                                                                                 \
    static void name(void);                                                                        \
    static unit_test name##_test = { #name, name, NULL };                                          \
    __attribute__((constructor)) static void name##_is_a_test(void) {                              \
        unit_add(&name##_test);                                                                    \
    }                                                                                              \
    static void name(void)

typedef struct unit_test {
    const char *name;
    void (*run)(void);
    struct unit_test *next;
} unit_test;

/** Adds a test to the program. */
void unit_add(unit_test *test);

#define EXPECT_INT(actual, expected)                                                               \
    unit_expect_int((int64_t)(actual), (int64_t)(expected), #actual, __FILE__, __LINE__)
#define EXPECT_TEXT(actual, expected)                                                              \
    unit_expect_text((actual), (expected), #actual, __FILE__, __LINE__)

/** Expects that the library refuses what the application gave it, and that `says` is part of its
 *  message. The call must be made on this thread. */
#define EXPECT_REFUSED(call, says)                                                                 \
    do {                                                                                           \
        int refused_with = (call);                                                                 \
        unit_expect_refused(refused_with == ZKL_INVALID_ARGUMENT, zkl_error_message(), (says),     \
                            #call, __FILE__, __LINE__);                                            \
    } while (0)

void unit_expect_refused(bool refused, const char *message, const char *says, const char *what,
                         const char *file, int line);
void unit_expect_int(int64_t actual, int64_t expected, const char *what, const char *file,
                     int line);
void unit_expect_text(const char *actual, const char *expected, const char *what, const char *file,
                      int line);

/** Fails the test that is running, and ends the program: for a fault after which nothing can go on.
 *  Any thread or signal handler may call it. */
void unit_fail_for_good(const char *why) __attribute__((noreturn));
/** Fails the test, and ends the program, if the test is not done by then; 0: there is no bound any
 *  more. Under valgrind and sanitizers it is longer by as much as CTest's. The bound is for what
 *  would never end, and must be far from what a slow machine needs. */
void unit_must_be_done_within(unsigned seconds);

/** Expects that every record that is made from here on plays back. unit_main begins with it. */
void unit_play_back(void);

/** Runs all tests of this program, and returns what main returns. */
int unit_main(const char *suite);

/** A small generator of numbers for walks that can be repeated (xorshift64*). */
typedef struct unit_random {
    uint64_t state;
} unit_random;

unit_random unit_random_begin(uint64_t seed);
/** Draws a number from 0 to below - 1. */
unsigned unit_random_below(unit_random *random, unsigned below);
