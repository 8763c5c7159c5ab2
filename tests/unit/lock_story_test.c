/*
 * The life of a lock as the log tells it, from the call of acquire to the end, on each way
 * that it can take. A story is all records about the lock, in order, each as
 *
 *     <event> <status> behind <node> waited <ms> held <ms> node <last digit> token <token>
 *
 * with what is not meant left out. That each is about the right resource and owner, and comes
 * from the right client and session, is asserted on the way. What is about sessions alone is in
 * request_log_test.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "support/news_ear.h"

enum { TICK_MS = 2000, LEASE_MS = 10000 - 3333 - 10, STORY_SIZE = 2048 };
#define OWNER "job 7"

/* Written on the log's thread; read once the client is closed. */
typedef struct story {
    char text[STORY_SIZE];
    char warning[160]; /* the last one about the session */
    lock_desk *desk;
} story;

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

__attribute__((format(printf, 2, 3))) static void add(story *self, const char *format, ...) {
    size_t length = strlen(self->text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(self->text + length, sizeof(self->text) - length, format, arguments);
    va_end(arguments);
}

static void add_number(story *self, const char *what, int64_t number, int64_t unset) {
    if (number != unset) {
        add(self, " %s %lld", what, (long long)number);
    }
}

static void add_node(story *self, const char *node) {
    if (node[0] != '\0') {
        EXPECT(strstr(node, "/app/locks/stock/_c_") == node);
        add(self, " node %s", node + strlen(node) - 1);
    }
}

static void on_record(void *arg, const zkl_log_record *record) {
    story *self = arg;
    if (record->resource[0] == '\0') { /* of the session, or of libzookeeper */
        if (record->event == ZKL_LOG_SHORT_SESSION) {
            snprintf(self->warning, sizeof(self->warning), "%s", record->message);
        }
        return;
    }
    EXPECT_TEXT(record->resource, "stock");
    EXPECT_TEXT(record->owner, "label");
    EXPECT_TEXT(record->lock_owner, OWNER);
    EXPECT_INT(record->session_id, DESK_SESSION_ID);
    add(self, "%s%s", self->text[0] != '\0' ? "; " : "", zkl_log_event_name((int)record->event));
    if (record->status != ZKL_OK) {
        add(self, " %s", status_name(record->status));
    }
    if (record->behind[0] != '\0') {
        add(self, " behind %s", record->behind);
    }
    add_number(self, "waited", record->waited_ms, -1);
    add_number(self, "held", record->held_ms, -1);
    add_node(self, record->node);
    add_number(self, "token", record->token, 0);
}

static lock_desk *open_story(story *self, int32_t lease_tick_ms) {
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    options.owner = OWNER;
    *self = (story){ .text = "" };
    self->desk = desk_open_with(&(desk_options){ .lock = &options,
                                                 .lease_tick_ms = lease_tick_ms,
                                                 .log_callback = on_record,
                                                 .log_arg = self,
                                                 .log_level = ZKL_LOG_DEBUG });
    return self->desk;
}

static lock_desk *open_held(story *self, int32_t lease_tick_ms) {
    lock_desk *desk = open_story(self, lease_tick_ms);
    desk_hold(desk);
    return desk;
}

/* Delivers what is left to say. */
static void close_and_read(const story *self, const char *expected, int line) {
    desk_close(self->desk);
    unit_expect_text(self->text, expected, "the story", __FILE__, line);
}

#define TELLS(self, expected) close_and_read((self), (expected), __LINE__)
#define BEGIN "begin waited 0; "
#define HELD BEGIN "acquired waited 0 held 0 node 3 token 4711; "

/* ---- It does not ---------------------------------------------------------------------------- */

TEST(acquire_that_cannot_begin_says_why) {
    story self;
    lock_desk *desk = open_story(&self, 0);
    desk_enter(desk);
    desk->fake.random_fails = true;
    desk_leave(desk);
    EXPECT_INT(desk_do(desk, desk_acquire, ZKL_FOREVER), ZKL_SYSTEM);
    TELLS(&self, "not_acquired SYSTEM waited 0");
}

/* ---- It is lost -------------------------------------------------------------------------------
 */

TEST(loss_with_the_lease_and_its_release) {
    story self;
    lock_desk *desk = open_held(&self, TICK_MS);
    desk_stand_still(desk, LEASE_MS);
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_LOST);
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_LOST); /* it is told once */
    EXPECT_INT(zkl_lock_release(desk->lock, 0), ZKL_LOST);
    desk_answer_remove(desk);
    TELLS(&self, HELD "lost LEASE_ENDED waited 0 held 6657 node 3 token 4711; "
                      "released LOST held 6657 token 4711");
}

TEST(close_of_a_lost_handle_gives_it_back) {
    story self;
    lock_desk *desk = open_held(&self, 0);
    desk_stand_still(desk, 10);
    desk_expire(desk);
    zkl_lock_close(desk->lock);
    desk->lock = NULL;
    TELLS(&self, HELD "lost SESSION_EXPIRED waited 0 held 10 node 3 token 4711; "
                      "released LOST held 10 token 4711");
}
