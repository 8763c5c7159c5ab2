/*
 * A holder that asked for it is told when somebody waits behind it, as stories on the simulated
 * servers: once for each grant, in order, with as few requests as it takes, and no watch is left.
 */
#include <stdio.h>
#include <string.h>

#include "client/client.h"
#include "session/request_runner.h"
#include "support/relative.h"

enum { HEARD_SIZE = 256, AGES_MS = 3 * RELATIVE_SESSION_MS };

/* What a handle's state callback was told: "contended suspect held". */
typedef struct listener {
    char heard[HEARD_SIZE];
    int64_t token; /* of the last news */
    zkl_lock *releases;
} listener;

static listener first_ear;
static relative holder;

static void on_news(void *arg, const zkl_lock_event *event) {
    listener *self = arg;
    size_t length = strlen(self->heard);
    snprintf(self->heard + length, sizeof(self->heard) - length, "%s%s", length > 0 ? " " : "",
             zkl_lock_state_name((int)event->state));
    self->token = event->token;
    if (self->releases != NULL && event->state == ZKL_STATE_CONTENDED) {
        EXPECT_INT(zkl_lock_release(self->releases, 0), ZKL_OK);
    }
}

static zkl_lock_options listening(listener *ear) {
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    memset(ear, 0, sizeof(*ear));
    options.state_callback = on_news;
    options.state_arg = ear;
    options.tell_contended = 1;
    return options;
}

static void expect_told(listener *ear, const char *expected) {
    zkl_testing_sleep(RELATIVE_SOON_MS);
    EXPECT_TEXT(ear->heard, expected);
    ear->heard[0] = '\0';
}

static void begin(zkl_mode mode) {
    zkl_testing_begin(NULL);
    zkl_lock_options options = listening(&first_ear);
    relative_open(&holder, mode, &options);
}

static void begin_held(zkl_mode mode) {
    begin(mode);
    EXPECT_INT(relative_acquire(&holder, ZKL_FOREVER), ZKL_OK);
    expect_told(&first_ear, "");
}

static void finish(void) {
    zkl_testing_expect_clean(RELATIVE_SESSION_MS);
    zkl_testing_sleep(RELATIVE_SOON_MS);
    EXPECT_INT(zkl_testing_count_sessions(), 0);
    zkl_testing_end();
}

static void end(void) {
    relative_close(&holder);
    finish();
}

static void add(zkl_mode mode, char node[ZKL_NODE_PATH_SIZE]) {
    zkl_testing_add_contender(RELATIVE_RESOURCE, mode, node);
}

/* ---- Who is told --------------------------------------------------------------------------- */

TEST(holder_is_told_once_when_others_come) {
    static const zkl_mode modes[] = { ZKL_EXCLUSIVE, ZKL_WRITE, ZKL_READ };
    for (size_t i = 0; i < COUNT_OF(modes); i++) {
        begin_held(modes[i]);
        int64_t token = holder.grant.token;
        add(ZKL_WRITE, NULL);
        expect_told(&first_ear, "contended");
        EXPECT_INT(first_ear.token, token);
        EXPECT_INT(zkl_lock_check(holder.lock, NULL), ZKL_OK);
        EXPECT_INT(relative_info(&holder).state, ZKL_STATE_HELD);
        add(ZKL_WRITE, NULL);
        expect_told(&first_ear, "");
        end();
    }
}

TEST(fellow_readers_and_foreign_children_are_no_news) {
    char node[ZKL_NODE_PATH_SIZE];
    begin_held(ZKL_READ);
    add(ZKL_READ, node);
    add(ZKL_READ, NULL);
    EXPECT_INT(zkl_testing_delete_node(node), 1);
    expect_told(&first_ear, "");
    add(ZKL_WRITE, NULL);
    expect_told(&first_ear, "contended");
    end();
}

TEST(who_does_not_ask_is_not_told_and_pays_nothing) {
    zkl_testing_begin(NULL);
    zkl_lock_options options = listening(&first_ear);
    options.tell_contended = 0;
    relative_open(&holder, ZKL_EXCLUSIVE, &options);
    EXPECT_INT(relative_acquire(&holder, ZKL_FOREVER), ZKL_OK);
    uint64_t lists = relative_count(&holder, ZKL_CALL_LIST);
    EXPECT_INT(zkl_testing_count_watches(holder.client), 0);
    add(ZKL_EXCLUSIVE, NULL);
    expect_told(&first_ear, "");
    EXPECT_INT(relative_count(&holder, ZKL_CALL_LIST), lists);
    EXPECT_INT(relative_release(&holder), ZKL_OK);
    EXPECT_INT(relative_count(&holder, ZKL_CALL_REMOVE_WATCHES), 0);
    end();
}

/* ---- In which order ------------------------------------------------------------------------- */

static void on_acquired(void *arg, int status, const zkl_grant *grant) {
    listener *self = arg;
    EXPECT_INT(status, ZKL_OK);
    EXPECT(grant != NULL);
    EXPECT_TEXT(self->heard, "");
    snprintf(self->heard, sizeof(self->heard), "acquired");
}

static void begin_dispatching(void) {
    zkl_testing_begin(NULL);
    zkl_client_options client_options = ZKL_CLIENT_OPTIONS_INIT;
    zkl_lock_options options = listening(&first_ear);
    client_options.session_timeout_ms = RELATIVE_SESSION_MS;
    client_options.dispatch = ZKL_DISPATCH_CALLER;
    EXPECT_INT(zkl_client_open("server:2181", &client_options, &holder.client), ZKL_OK);
    EXPECT_INT(zkl_lock_open(holder.client, "stock", &options, &holder.lock), ZKL_OK);
}

static void dispatch_and_expect(const char *expected) {
    EXPECT_INT(zkl_client_dispatch(holder.client, NULL), ZKL_OK);
    expect_told(&first_ear, expected);
}

/* The application hears of the grant late, and the list is there by then. */
TEST(what_is_known_before_the_grant_is_told_comes_after_it) {
    begin_dispatching();
    EXPECT_INT(zkl_lock_acquire_async(holder.lock, ZKL_EXCLUSIVE, ZKL_FOREVER, NULL, on_acquired,
                                      &first_ear),
               ZKL_OK);
    zkl_testing_sleep(RELATIVE_SOON_MS);
    add(ZKL_EXCLUSIVE, NULL);
    expect_told(&first_ear, "");
    dispatch_and_expect("acquired");
    dispatch_and_expect("contended");
    EXPECT_INT(first_ear.token, relative_info(&holder).token);
    dispatch_and_expect("");
    end();
}

/* ---- What it costs ----------------------------------------------------------------------------
 */

TEST(uncontended_grant_costs_a_list_and_a_removal) {
    begin_held(ZKL_EXCLUSIVE);
    uint64_t lists = relative_count(&holder, ZKL_CALL_LIST);
    EXPECT_INT(lists, 3); /* the first finds no parent */
    EXPECT_INT(zkl_testing_count_watches(holder.client), 1);
    EXPECT_INT(relative_release(&holder), ZKL_OK);
    EXPECT_INT(zkl_testing_count_watches(holder.client), 0);
    EXPECT_INT(relative_count(&holder, ZKL_CALL_REMOVE_WATCHES), 1);
    EXPECT_INT(relative_count(&holder, ZKL_CALL_LIST), lists);
    end();
}

TEST(after_it_was_told_nothing_more_is_asked) {
    begin_held(ZKL_EXCLUSIVE);
    add(ZKL_EXCLUSIVE, NULL);
    expect_told(&first_ear, "contended");
    uint64_t lists = relative_count(&holder, ZKL_CALL_LIST);
    uint64_t removals = relative_count(&holder, ZKL_CALL_REMOVE_WATCHES);
    EXPECT_INT(zkl_testing_count_watches(holder.client), 0);
    add(ZKL_EXCLUSIVE, NULL);
    zkl_testing_disconnect(holder.client, RELATIVE_SOON_MS);
    zkl_testing_sleep(RELATIVE_SESSION_MS / 2);
    expect_told(&first_ear, "suspect held");
    EXPECT_INT(relative_count(&holder, ZKL_CALL_LIST), lists);
    EXPECT_INT(relative_release(&holder), ZKL_OK);
    EXPECT_INT(relative_count(&holder, ZKL_CALL_REMOVE_WATCHES), removals);
    end();
}

/* ---- Faults --------------------------------------------------------------------------------- */

TEST(who_came_while_we_were_away_is_told_after_the_reconnect) {
    begin_held(ZKL_EXCLUSIVE);
    zkl_testing_disconnect(holder.client, RELATIVE_SESSION_MS / 4);
    add(ZKL_EXCLUSIVE, NULL);
    expect_told(&first_ear, "suspect");
    zkl_testing_sleep(RELATIVE_SESSION_MS / 2);
    expect_told(&first_ear, "held contended");
    end();
}

/* The list's reply, with the watch that it would have armed. */
TEST(list_that_was_lost_is_sent_again) {
    static const zkl_cut cuts[] = { ZKL_CUT_REQUESTS_LOST, ZKL_CUT_WHEN_ANSWERED };
    for (size_t i = 0; i < COUNT_OF(cuts); i++) {
        begin_held(ZKL_READ);
        zkl_ensemble_cut_next(zkl_ensemble_current(), relative_session(&holder), ZKL_CALL_LIST,
                              cuts[i], 0);
        add(ZKL_READ, NULL); /* brings a list */
        expect_told(&first_ear, "suspect held");
        add(ZKL_WRITE, NULL);
        zkl_testing_sleep(RELATIVE_SESSION_MS);
        expect_told(&first_ear, "contended");
        end();
    }
}

static void news_come_for_hundreds_of_seeds_of_chance(void *arg) {
    (void)arg;
    zkl_lock_options options = listening(&first_ear);
    relative_open(&holder, ZKL_WRITE, &options);
    EXPECT_INT(relative_acquire(&holder, AGES_MS), ZKL_OK);
    zkl_testing_set_failure_rate(10000);
    for (int i = 0; i < 5; i++) {
        char node[ZKL_NODE_PATH_SIZE];
        zkl_testing_sleep((int64_t)zkl_testing_random(RELATIVE_SOON_MS));
        add(ZKL_READ, node);
        if (i < 4 && zkl_testing_random(2) == 0) {
            zkl_testing_delete_node(node);
        }
    }
    zkl_testing_heal();
    zkl_testing_set_failure_rate(0);
    zkl_testing_sleep(AGES_MS);
    bool told = strstr(first_ear.heard, "contended") != NULL;
    EXPECT(told || strstr(first_ear.heard, "lost") != NULL);
    relative_close(&holder);
    zkl_testing_expect_clean(AGES_MS);
}

TEST(told_whatever_goes_wrong) {
    zkl_testing_run_seeds(1, 300, NULL, news_come_for_hundreds_of_seeds_of_chance, NULL);
}

/* ---- Another mode ---------------------------------------------------------------------------- */

static int is_suspect(void *arg) {
    (void)arg;
    return zkl_lock_check(holder.lock, NULL) == ZKL_SUSPECT;
}

/* It comes while nobody knows which node the holder has: the list of then shows neither. */
TEST(waiter_that_comes_while_a_downgrades_reply_is_lost_is_told_of) {
    begin_held(ZKL_WRITE);
    zkl_ensemble_cut_next(zkl_ensemble_current(), relative_session(&holder), ZKL_CALL_MULTI,
                          ZKL_CUT_WHEN_ANSWERED, 0);
    relative_start_downgrade(&holder, ZKL_FOREVER);
    EXPECT_INT(zkl_testing_wait_until(is_suspect, NULL, RELATIVE_SESSION_MS), 1);
    add(ZKL_WRITE, NULL);
    EXPECT_INT(relative_join(&holder), ZKL_OK);
    zkl_testing_sleep(RELATIVE_SESSION_MS / 2);
    expect_told(&first_ear, "suspect held contended");
    end();
}

/* Its node is there for so long that the reader lists it. */
TEST(upgrade_that_takes_long_is_no_contender) {
    begin_held(ZKL_READ);
    zkl_testing_slow_servers(2 * RELATIVE_SOON_MS, RELATIVE_SESSION_MS);
    zkl_ensemble_cut_next(zkl_ensemble_current(), relative_session(&holder), ZKL_CALL_CREATE,
                          ZKL_CUT_WHEN_ANSWERED, 0);
    EXPECT_INT(zkl_lock_try_upgrade(holder.lock, &holder.grant), ZKL_DISCONNECTED);
    zkl_testing_sleep(RELATIVE_SESSION_MS);
    expect_told(&first_ear, "suspect held");
    EXPECT_INT(zkl_testing_count_children(RELATIVE_RESOURCE), 1);
    end();
}
