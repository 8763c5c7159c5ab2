/*
 * The watch table of a session and three waiters, over scripted operations. What the table asks of
 * ZooKeeper, and what its waiters hear, is one text (fake_operations.h). The waiters hear "armed
 * <waiter> <outcome>", "fired <waiter>" (the node was deleted), "changed <waiter>", "look again
 * <waiter>" (neither), and "listed <waiter> <children>", or <outcome> if there is no list.
 */
#pragma once

#include "session/session_life.h"
#include "support/fake_operations.h"
#include "support/unit.h"

typedef struct table_user {
    zkl_watch_waiter link;
    zkl_children_waiter children;
    struct watch_desk *desk;
    const char *name;
    const char *adds;      /* a path that it waits for as soon as it hears something */
    const char *lists;     /* a path whose children it waits for then */
    zkl_list_waiter *asks; /* it asks for the children of /r then, without a watch */
    bool leaves;           /* it leaves as soon as it is armed, or has the list */
} table_user;

typedef struct watch_desk {
    fake_operations fake;
    zkl_session session;
    table_user a, b, c;
} watch_desk;

watch_desk *watch_desk_open(void);
/** Closes a desk, whose table must have forgotten everything. */
void watch_desk_close(watch_desk *desk);

void watch_desk_begin_waiter(table_user *waiter, watch_desk *at, const char *name);
void watch_desk_add(watch_desk *desk, table_user *waiter, const char *path);
void watch_desk_add_children(watch_desk *desk, table_user *waiter, const char *path);
void watch_desk_leave(watch_desk *desk, table_user *waiter);
/** Adds a waiter, and answers its watch. */
void watch_desk_arm(watch_desk *desk, table_user *waiter, const char *path);
/** Fires the watch that was asked for last. */
void watch_desk_fire(watch_desk *desk, bool deleted);
