/*
 * A table of operations for which the test answers: it notes what it is asked for, and answers
 * nothing by itself. What it hears, and what tests add, is one text in the order of time:
 *
 *     "create /r/#1-lock-; list /r; decided OK"
 *
 *     create P  an ephemeral sequential node    make P     a persistent one
 *     list P                                    remove P
 *     exists P  without a watch                 watch P    with one
 *     unwatch P                                 transact P, of the first operation's
 *     list and watch P  with a watch on the children, and
 *     unwatch children of P
 *     forget P, forget children of P  the client its watches
 *     remove version 7 of P, a transaction of only that
 *
 * "#1-" stands for "_c_<guid>-" with the first GUID that was made, "#2-" for that with the second,
 * and so on in hex digits to "#f-".
 */
#pragma once

#include "connection/operations.h"

enum { FAKE_CALLS_MAX = 256, FAKE_TEXT_SIZE = 4096, FAKE_CALL_SIZE = 1400, FAKE_NAME_SIZE = 96 };

typedef struct fake_call {
    char text[FAKE_CALL_SIZE]; /* as at the top of this file */
    char path[FAKE_CALL_SIZE]; /* the whole path */
    uint64_t watch_id;
    zkl_reply_callback *done;
    void *arg;
} fake_call;

typedef struct fake_operations {
    zkl_operations operations;       /* first: the table's functions get a pointer to it */
    fake_call calls[FAKE_CALLS_MAX]; /* those that wait for an answer, the oldest first */
    size_t call_count;
    char heard[FAKE_TEXT_SIZE];
    char data[FAKE_CALL_SIZE]; /* that of the last create */
    const char *silent_path;   /* an exists of this path is neither noted nor answered */
    zkl_outcome sends;         /* what each send returns; unless it is OK nothing is sent */
    uint64_t last_watch_id, earlier_watch_id;
    unsigned guids;
    bool random_fails;
    uint32_t jitter; /* the random number of pauses */
    int64_t now_ms;
    void (*called)(void *arg); /* called after each call that was sent; NULL: nothing is */
    void *called_arg;
} fake_operations;

void fake_begin(fake_operations *fake);
/** Ends a test: no call may be left without an answer. */
void fake_end(fake_operations *fake);

/** Adds something to what was heard. */
__attribute__((format(printf, 2, 3))) void fake_note(fake_operations *fake, const char *format,
                                                     ...);

/** Asserts what was heard since the last time. */
#define FAKE_HEARD(fake, expected) fake_expect_heard((fake), (expected), __FILE__, __LINE__)
void fake_expect_heard(fake_operations *fake, const char *expected, const char *file, int line);

/** Answers the oldest call whose text begins with `call`. The test fails if there is none. */
#define FAKE_ANSWER(fake, call, ...)                                                               \
    fake_answer((fake), (call), &(zkl_reply){ __VA_ARGS__ }, __FILE__, __LINE__)
void fake_answer(fake_operations *fake, const char *wanted, const zkl_reply *reply,
                 const char *file, int line);
/** Answers all calls that wait now, in their order. */
void fake_answer_all(fake_operations *fake, zkl_outcome outcome);

/** Writes a name with the n-th GUID, for example "lock-0000000003" after "#1-". */
void fake_name(char name[FAKE_NAME_SIZE], unsigned guid, const char *rest);
