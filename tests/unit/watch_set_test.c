/* The watches of one waiter on several nodes, over scripted operations (watch_desk.h). */
#include <string.h>

#include "session/watch_set.h"
#include "support/watch_desk.h"

enum { SIZE = 3 };

static watch_desk *desk;
static zkl_request_sender sender;
static zkl_watch_set set;

static void on_armed(void *arg, zkl_outcome outcome, int status) {
    (void)arg;
    (void)status;
    static const char *const names[] = { "OK",      "NO_NODE", "UNKNOWN",
                                         "NOT_NOW", "REFUSED", "SESSION_OVER" };
    fake_note(&desk->fake, "all %s", names[outcome]);
}

static void on_fired(void *arg, zkl_watch_event event) {
    (void)arg;
    fake_note(&desk->fake, event == ZKL_WATCH_EVENT_DELETED ? "one fired" : "one changed");
}

static const zkl_watch_listener listener = { .armed = on_armed, .fired = on_fired };

static void begin(void) {
    desk = watch_desk_open();
    sender = (zkl_request_sender){ .session = &desk->session, .options = { .parent_path = "/r" } };
    set = (zkl_watch_set){ .sender = &sender, .listener = &listener };
}

static void end(void) {
    zkl_watch_set_remove_all(&set);
    fake_answer_all(&desk->fake, ZKL_OUTCOME_OK);
    desk->fake.heard[0] = '\0';
    watch_desk_close(desk);
}

#define WATCH(...)                                                                                 \
    watch((const char *const[]){ __VA_ARGS__ },                                                    \
          sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(const char *))
static void watch(const char *const *paths, size_t count) {
    zkl_neighbour children[SIZE];
    for (size_t i = 0; i < count; i++) {
        children[i] = (zkl_neighbour){ .text = paths[i] + strlen("/r/") };
    }
    zkl_watch_set_watch(&set, children, count);
}

static void answer(const char *call, zkl_outcome outcome) {
    FAKE_ANSWER(&desk->fake, call, .outcome = outcome);
}

static void begin_armed(void) {
    begin();
    WATCH("/r/a", "/r/b");
    answer("watch /r/a", ZKL_OUTCOME_OK);
    answer("watch /r/b", ZKL_OUTCOME_OK);
    FAKE_HEARD(&desk->fake, "watch /r/a; watch /r/b; all OK");
}

TEST(set_is_armed_when_the_last_of_its_watches_is) {
    begin_armed();
    EXPECT_INT(zkl_watch_table_count(&desk->session.watches), 2);
    end();
}

TEST(first_that_fires_is_told_and_no_other) {
    begin_armed();
    watch_desk_fire(desk, true); /* b */
    FAKE_HEARD(&desk->fake, "one fired");
    zkl_watch_table_fired(&desk->session.watches, desk->fake.earlier_watch_id,
                          ZKL_WATCH_EVENT_DELETED);
    FAKE_HEARD(&desk->fake, "");
    end();
}

TEST(one_that_fires_while_others_are_armed_counts_as_gone) {
    begin();
    WATCH("/r/a", "/r/b");
    answer("watch /r/b", ZKL_OUTCOME_OK);
    watch_desk_fire(desk, true);
    FAKE_HEARD(&desk->fake, "watch /r/a; watch /r/b");
    answer("watch /r/a", ZKL_OUTCOME_OK);
    FAKE_HEARD(&desk->fake, "all NO_NODE");
    end();
}

TEST(watches_that_siblings_have_armed_are_armed_at_once) {
    begin();
    watch_desk_arm(desk, &desk->a, "/r/a");
    WATCH("/r/a");
    FAKE_HEARD(&desk->fake, "all OK");
    watch_desk_fire(desk, true);
    FAKE_HEARD(&desk->fake, "fired a; one fired");
    end();
}

TEST(watches_that_are_left_go_only_when_nothing_is_awaited) {
    begin_armed();
    zkl_watch_set_remove_left(&set);
    FAKE_HEARD(&desk->fake, ""); /* it waits */
    watch_desk_fire(desk, true);
    zkl_watch_set_remove_left(&set);
    FAKE_HEARD(&desk->fake, "one fired; unwatch /r/a");
    end();
}
