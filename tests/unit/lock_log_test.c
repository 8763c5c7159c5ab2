/*
 * What a handle and its session say in the log of a lock that is held and lost.
 * Each record is a line: "<event> <status> <resource>".
 */
#include <stdio.h>
#include <string.h>

#include "support/lock_desk.h"

enum { LINES_SIZE = 1024, TICK_MS = 2000, LEASE_MS = 10000 - 3333 - 10 };

/* Written on the log's thread; read once the client is closed. */
typedef struct log_book {
    char lines[LINES_SIZE];
    char owner[64];
    char warning[160]; /* of the last record of level WARN */
    int64_t session_id;
} log_book;

static const char *status_name(int status) {
    switch (status) {
#define STATUS_NAME(name, value, text)                                                             \
    case name:                                                                                     \
        return &#name[sizeof("ZKL_") - 1];
        ZKL_STATUS_LIST(STATUS_NAME)
#undef STATUS_NAME
    default:
        return "?";
    }
}

static void on_record(void *arg, const zkl_log_record *record) {
    log_book *book = arg;
    size_t length = strlen(book->lines);
    if (record->event == ZKL_LOG_ZOOKEEPER) {
        return;
    }
    snprintf(book->lines + length, sizeof(book->lines) - length, "%s%s %s %s",
             length > 0 ? "; " : "", zkl_log_event_name((int)record->event),
             status_name(record->status), record->resource);
    snprintf(book->owner, sizeof(book->owner), "%s", record->owner);
    if (record->level == ZKL_LOG_WARN) {
        snprintf(book->warning, sizeof(book->warning), "%s", record->message);
    }
    book->session_id = record->session_id;
}

static lock_desk *open_with_book(log_book *book, const zkl_lock_options *options,
                                 int32_t lease_tick_ms) {
    memset(book, 0, sizeof(*book));
    return desk_open_with(
        &(desk_options){ options, lease_tick_ms, .log_callback = on_record, .log_arg = book });
}

/* Delivers what is left to say. */
static void close_and_read(lock_desk *desk, const log_book *book, const char *expected, int line) {
    desk_close(desk);
    unit_expect_text(book->lines, expected, "the log", __FILE__, line);
}

#define LOGGED(desk, book, expected) close_and_read((desk), (book), (expected), __LINE__)

static void release_of_a_held_lock_is_logged_once(void) {
    log_book book;
    lock_desk *desk = open_with_book(&book, NULL, 0);
    desk_hold(desk);
    EXPECT_INT(zkl_lock_release(desk->lock, 0), ZKL_OK);
    desk_answer_remove(desk);
    LOGGED(desk, &book, "connected OK ; acquired OK stock; released OK stock");
    EXPECT_TEXT(book.owner, "label");
    EXPECT_INT(book.session_id, DESK_SESSION_ID);
}

static void release_by_close_is_logged(void) {
    log_book book;
    lock_desk *desk = open_with_book(&book, NULL, 0);
    desk_hold(desk);
    zkl_lock_close(desk->lock);
    desk->lock = NULL;
    desk_answer_remove(desk);
    LOGGED(desk, &book, "connected OK ; acquired OK stock; released OK stock");
}

static void loss_and_its_release_are_logged_with_their_statuses(void) {
    log_book book;
    lock_desk *desk = open_with_book(&book, NULL, 0);
    desk_hold(desk);
    desk_expire(desk);
    EXPECT_INT(zkl_lock_release(desk->lock, 0), ZKL_LOST);
    LOGGED(desk, &book,
           "connected OK ; acquired OK stock; session_expired SESSION_EXPIRED ; "
           "lost SESSION_EXPIRED stock; released LOST stock");
    EXPECT_TEXT(book.owner, "label");
}

static void end_of_a_lease_is_logged_once(void) {
    log_book book;
    lock_desk *desk = open_with_book(&book, NULL, TICK_MS);
    desk_hold(desk);
    desk_stand_still(desk, LEASE_MS);
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_LOST);
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_LOST);
    EXPECT_INT(zkl_lock_release(desk->lock, 0), ZKL_LOST);
    desk_answer_remove(desk);
    LOGGED(desk, &book,
           "connected OK ; acquired OK stock; lost LEASE_ENDED stock; released LOST stock");
}

static void hold_limit_is_logged(void) {
    log_book book;
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    options.max_hold_ms = 500;
    lock_desk *desk = open_with_book(&book, &options, 0);
    desk_hold(desk);
    desk_pass(desk, 500);
    desk_answer_remove(desk);
    EXPECT_INT(zkl_lock_release(desk->lock, 0), ZKL_LOST);
    LOGGED(desk, &book,
           "connected OK ; acquired OK stock; lost HOLD_LIMIT stock; released LOST stock");
}

static void nested_acquires_and_releases_are_not_logged(void) {
    log_book book;
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    options.reentrant = 1;
    lock_desk *desk = open_with_book(&book, &options, 0);
    desk_hold(desk);
    EXPECT_INT(desk_do(desk, desk_acquire, 0), ZKL_OK);
    EXPECT_INT(desk_do(desk, desk_release, 0), ZKL_OK);
    EXPECT_INT(desk_do(desk, desk_release, 0), ZKL_OK);
    desk_answer_remove(desk);
    LOGGED(desk, &book, "connected OK ; acquired OK stock; released OK stock");
}

/* "The session timeout should be at least five ticks." */
static void session_shorter_than_five_ticks_is_warned_of(void) {
    log_book book;
    lock_desk *desk = open_with_book(&book, NULL, 2001);
    LOGGED(desk, &book, "connected OK ; short_session OK ");
    EXPECT(strstr(book.warning, "10000 ms is shorter than 5 ticks of 2001 ms") != NULL);
    desk = open_with_book(&book, NULL, 2000);
    LOGGED(desk, &book, "connected OK ");
}

static CU_TestInfo tests[] = {
    TEST(release_of_a_held_lock_is_logged_once),
    TEST(release_by_close_is_logged),
    TEST(loss_and_its_release_are_logged_with_their_statuses),
    TEST(end_of_a_lease_is_logged_once),
    TEST(hold_limit_is_logged),
    TEST(nested_acquires_and_releases_are_not_logged),
    TEST(session_shorter_than_five_ticks_is_warned_of),
    TEST_END,
};

int main(void) {
    return unit_main("lock log", tests);
}
