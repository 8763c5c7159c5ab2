#include "session/contention.h"

#include <string.h>

#include "session/request_runner.h"

/* ---- What a list shows ------------------------------------------------------------------ */

/* A try to hold for writing what is held for reading has a node of its own, which is nobody
 * else's: "" if there is none. */
static const char *find_upgrade(const zkl_request_runner *runner) {
    for (const zkl_request_runner *one = runner->session->runners; one != NULL; one = one->next) {
        if (strcmp(one->request.options.companion, runner->request.own.node) == 0) {
            return one->request.session.guid;
        }
    }
    return "";
}

static void find(zkl_request_runner *runner) {
    runner->contention.found = true;
    zkl_contention_end(runner);
    if (runner->owner.contended != NULL) {
        runner->owner.contended(runner->owner.arg);
    }
}

/* While the reply to a downgrade is lost it may have another node than is known. */
static void on_listed(void *arg, zkl_listed children) {
    zkl_request_runner *runner = arg;
    zkl_contenders_rear rear =
        zkl_contenders_look_behind(children, runner->request.own.node, find_upgrade(runner));
    runner->contention.look_again = !rear.listed;
    if (rear.waiter != NULL) {
        find(runner);
    }
}

/* ---- The watch --------------------------------------------------------------------------- */

static void look(zkl_request_runner *runner) {
    runner->contention.look_again =
        zkl_watch_table_add_children(&runner->session->watches, runner->parent_path,
                                     &runner->contention.waiter) == ZKL_WATCH_NOT_SENT;
}

/* Told only of what failed. */
static void on_armed(void *arg, zkl_outcome outcome, int status) {
    zkl_request_runner *runner = arg;
    (void)outcome;
    (void)status;
    runner->contention.look_again = true;
}

static void on_fired(void *arg, bool deleted) {
    (void)deleted;
    look(arg);
}

void zkl_contention_review(zkl_request_runner *runner) {
    if (runner->contention.looks && runner->contention.look_again) {
        zkl_watch_table_remove(&runner->contention.waiter);
        look(runner);
    }
}

/* ---- Beginning and end -------------------------------------------------------------------- */

void zkl_contention_prepare(zkl_request_runner *runner, bool wanted) {
    runner->contention = (zkl_contention){
        .wanted = wanted,
        .waiter = { .arg = runner, .armed = on_armed, .fired = on_fired, .listed = on_listed },
    };
}

void zkl_contention_begin(zkl_request_runner *runner) {
    runner->contention.looks = runner->contention.wanted;
    if (runner->contention.looks) {
        look(runner);
    }
}

void zkl_contention_end(zkl_request_runner *runner) {
    runner->contention.looks = false;
    zkl_watch_table_remove(&runner->contention.waiter);
}

size_t zkl_contention_watched_bytes(const char *parent_path) {
    return zkl_watch_path_bytes(strlen(parent_path));
}
