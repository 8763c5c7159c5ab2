#include "support/watch_desk.h"

static const char *outcome_name(zkl_outcome outcome) {
    static const char *const names[] = { "OK",      "NO_NODE", "UNKNOWN",
                                         "NOT_NOW", "REFUSED", "SESSION_OVER" };
    return names[outcome];
}

static void react(table_user *self) {
    if (self->leaves) {
        watch_desk_leave(self->desk, self);
    }
    if (self->adds != NULL) {
        const char *path = self->adds;
        self->adds = NULL;
        watch_desk_add(self->desk, self, path);
    }
    if (self->asks != NULL) {
        zkl_list_waiter *list = self->asks;
        self->asks = NULL;
        EXPECT_INT(zkl_listings_ask(&self->desk->session.listings, "/r", list), ZKL_OUTCOME_OK);
    }
    if (self->lists != NULL) {
        const char *path = self->lists;
        self->lists = NULL;
        watch_desk_add_children(self->desk, self, path);
    }
}

static void on_armed(void *arg, zkl_outcome outcome, int status) {
    table_user *self = arg;
    fake_note(&self->desk->fake, "armed %s %s", self->name, outcome_name(outcome));
    EXPECT_INT(status, outcome == ZKL_OUTCOME_REFUSED ? ZKL_NO_PERMISSION : ZKL_OK);
    react(self);
}

static void on_fired(void *arg, zkl_watch_event event) {
    table_user *self = arg;
    static const char *const words[] = { [ZKL_WATCH_EVENT_DELETED] = "fired",
                                         [ZKL_WATCH_EVENT_CREATED] = "look again",
                                         [ZKL_WATCH_EVENT_CHANGED] = "changed",
                                         [ZKL_WATCH_EVENT_CHILDREN] = "changed" };
    fake_note(&self->desk->fake, "%s %s", words[event], self->name);
    react(self);
}

static void on_listed(void *arg, const zkl_list_answer *answer) {
    table_user *self = arg;
    if (answer->outcome == ZKL_OUTCOME_OK) {
        fake_note(&self->desk->fake, "listed %s %zu", self->name, answer->children.count);
    } else {
        fake_note(&self->desk->fake, "listed %s %s", self->name, outcome_name(answer->outcome));
    }
    react(self);
}

static const zkl_watch_listener of_node = { .armed = on_armed, .fired = on_fired };
static const zkl_watch_listener of_children = { .listed = on_listed, .fired = on_fired };

void watch_desk_begin_waiter(table_user *waiter, watch_desk *at, const char *name) {
    waiter->desk = at;
    waiter->name = name;
    waiter->link = (zkl_watch_waiter){ .arg = waiter, .listener = &of_node };
}

watch_desk *watch_desk_open(void) {
    static watch_desk desk;
    desk.a = desk.b = desk.c = (table_user){ .adds = NULL };
    fake_begin(&desk.fake);
    desk.session = (zkl_session){ .operations = &desk.fake.operations };
    zkl_session_begin(&desk.session, 0);
    watch_desk_begin_waiter(&desk.a, &desk, "a");
    watch_desk_begin_waiter(&desk.b, &desk, "b");
    watch_desk_begin_waiter(&desk.c, &desk, "c");
    return &desk;
}

void watch_desk_close(watch_desk *desk) {
    EXPECT_INT(zkl_watch_table_count(&desk->session.watches), 0);
    zkl_session_destroy(&desk->session);
    fake_end(&desk->fake);
}

void watch_desk_add(watch_desk *desk, table_user *waiter, const char *path) {
    zkl_watch_table_add(&desk->session.watches, path, &waiter->link);
}

void watch_desk_add_children(watch_desk *desk, table_user *waiter, const char *path) {
    waiter->children.waiter.arg = waiter;
    waiter->children.waiter.listener = &of_children;
    zkl_watch_table_add_children(&desk->session.watches, path, &waiter->children);
}

void watch_desk_leave(watch_desk *desk, table_user *waiter) {
    (void)desk;
    zkl_watch_table_remove(&waiter->link);
    zkl_watch_table_remove(&waiter->children.waiter);
}

void watch_desk_arm(watch_desk *desk, table_user *waiter, const char *path) {
    watch_desk_add(desk, waiter, path);
    FAKE_ANSWER(&desk->fake, "watch", .outcome = ZKL_OUTCOME_OK);
    desk->fake.heard[0] = '\0';
}

void watch_desk_fire(watch_desk *desk, bool deleted) {
    zkl_watch_table_fired(&desk->session.watches, desk->fake.last_watch_id,
                          deleted ? ZKL_WATCH_EVENT_DELETED : ZKL_WATCH_EVENT_CHANGED);
}
