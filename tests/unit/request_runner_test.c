/*
 * The request runner and its session, over scripted operations. What they ask
 * of ZooKeeper and what they tell a request's owner is one text
 * (fake_operations.h); the owner's part of it is "decided <status>",
 * "lost <status>" and "ended".
 */
#include "zookeeper/request_runner.h"

#include <stdio.h>
#include <string.h>

#include "support/fake_operations.h"
#include "support/unit.h"

enum { SESSION_ID = 77, OTHER_SESSION_ID = 78, TIMEOUT_MS = 3000 };

/* One who acquires. */
typedef struct lock_owner {
    struct run_stage *stage;
    const char *name; /* what the text calls it; "" for the only one */
    zkl_request_runner *runner;
    int verdict; /* 1: none yet */
    unsigned verdicts;
    bool ended;
    bool disowns; /* as soon as it has its verdict, as an acquire does */
} lock_owner;

typedef struct run_stage {
    fake_operations fake;
    zkl_session session;
    unsigned requests_ended;
    lock_owner a, b;
} run_stage;

static void on_decided(void *arg, int status) {
    lock_owner *self = arg;
    self->verdict = status;
    self->verdicts++;
    fake_note(&self->stage->fake, "%sdecided %d", self->name, status);
    if (self->disowns) {
        zkl_request_runner_disown(self->runner);
    }
}

static void on_lost(void *arg, int status) {
    lock_owner *self = arg;
    fake_note(&self->stage->fake, "%slost %d", self->name, status);
}

static void on_ended(void *arg) {
    lock_owner *self = arg;
    self->ended = true;
    self->runner = NULL;
    fake_note(&self->stage->fake, "%sended", self->name);
}

static void on_request_ended(void *arg) {
    run_stage *self = arg;
    self->requests_ended++;
}

/* ---- The stage ------------------------------------------------------------- */

/* The session's own probes are liveness_test's matter. */
static void quiet(run_stage *stage) {
    zkl_timers_stop(&stage->session.timers, &stage->session.liveness.probe_timer);
    stage->session.liveness.awake = true;
}

static void connect_session(run_stage *stage, int64_t id) {
    zkl_session_on_news(&stage->session, &(zkl_session_news){ .state = ZKL_SESSION_STATE_CONNECTED,
                                                              .session_id = id,
                                                              .timeout_ms = 10000 });
    quiet(stage);
}

static void tell(run_stage *stage, zkl_session_state state) {
    zkl_session_on_news(&stage->session, &(zkl_session_news){ .state = state });
}

static run_stage *open_offline_stage(void) {
    static run_stage stage;
    memset(&stage, 0, sizeof(stage));
    fake_begin(&stage.fake);
    zkl_session_begin(&stage.session, &(zkl_session_options){ .operations = &stage.fake.operations,
                                                              .identity = "host=h\npid=1\n",
                                                              .label = "label",
                                                              .lock_root = "/locks" });
    stage.fake.silent_path = "/locks";
    stage.session.request_ended = on_request_ended;
    stage.session.request_ended_arg = &stage;
    stage.a = (lock_owner){ .stage = &stage, .name = "", .verdict = 1 };
    stage.b = (lock_owner){ .stage = &stage, .name = "b ", .verdict = 1 };
    return &stage;
}

static run_stage *open_stage(void) {
    run_stage *stage = open_offline_stage();
    connect_session(stage, SESSION_ID);
    return stage;
}

/* Every request has ended and is freed: a sanitizer would see what is left. */
static void close_stage(run_stage *stage) {
    EXPECT_INT(stage->session.runner_count, 0);
    EXPECT(stage->session.runners == NULL);
    tell(stage, ZKL_SESSION_STATE_EXPIRED); /* ends the probes */
    EXPECT_INT(stage->session.timers.count, 0);
    zkl_session_destroy(&stage->session);
    fake_end(&stage->fake);
}

static int start(run_stage *stage, lock_owner *owner, const char *parent, int64_t timeout_ms) {
    zkl_run_options options = {
        .mode = ZKL_EXCLUSIVE,
        .resource = "stock",
        .parent_path = parent,
        .timeout_ms = timeout_ms,
        .owner = { owner, on_decided, on_lost, NULL, on_ended },
    };
    return zkl_request_runner_start(&stage->session, &options, &owner->runner);
}

static void feed(lock_owner *owner, zkl_event_kind kind) {
    zkl_request_runner_feed(owner->runner, &(zkl_event){ .kind = kind, .status = ZKL_CANCELLED });
}

static void pass(run_stage *stage, int64_t ms) {
    stage->fake.now_ms += ms;
    zkl_timers_fire_due(&stage->session.timers, stage->fake.now_ms);
}

static int64_t next_timer_in(const run_stage *stage) {
    return zkl_timers_next(&stage->session.timers) - stage->fake.now_ms;
}

/* ---- Answers ---------------------------------------------------------------- */

static void created(run_stage *stage, unsigned guid, const char *rest, int64_t zxid) {
    char name[FAKE_NAME_SIZE];
    char path[FAKE_NAME_SIZE + 8];
    fake_name(name, guid, rest);
    snprintf(path, sizeof(path), "/r/%s", name);
    FAKE_ANSWER(&stage->fake, "create", .path = path, .zxid = zxid);
}

/* Lists one or two children; each is a full name. */
static void listed(run_stage *stage, const char *one, const char *other) {
    const char *names[] = { one, other };
    FAKE_ANSWER(&stage->fake, "list", .children = { names, other != NULL ? 2 : 1 });
}

static void listed_own(run_stage *stage, unsigned guid, const char *rest, const char *other) {
    char name[FAKE_NAME_SIZE];
    fake_name(name, guid, rest);
    listed(stage, name, other);
}

static void fail_oldest(run_stage *stage, const char *call, zkl_outcome outcome) {
    FAKE_ANSWER(&stage->fake, call, .outcome = outcome);
}

static void hold(run_stage *stage, lock_owner *owner) {
    EXPECT_INT(start(stage, owner, "/r", TIMEOUT_MS), ZKL_OK);
    created(stage, stage->fake.guids, "lock-0000000003", 900);
    listed_own(stage, stage->fake.guids, "lock-0000000003", NULL);
    EXPECT_INT(owner->verdict, ZKL_OK);
    stage->fake.heard[0] = '\0';
}

static void wait_behind(run_stage *stage, lock_owner *owner, const char *blocker) {
    EXPECT_INT(start(stage, owner, "/r", TIMEOUT_MS), ZKL_OK);
    created(stage, stage->fake.guids, "lock-0000000003", 900);
    listed_own(stage, stage->fake.guids, "lock-0000000003", blocker);
    stage->fake.heard[0] = '\0';
}

static void release(run_stage *stage, lock_owner *owner) {
    feed(owner, ZKL_EVENT_RELEASED);
    FAKE_ANSWER(&stage->fake, "remove", .outcome = ZKL_OUTCOME_OK);
    EXPECT(owner->ended);
    stage->fake.heard[0] = '\0';
}

/* ---- From start to end --------------------------------------------------------- */

static void free_lock_is_created_listed_granted_and_removed(void) {
    run_stage *stage = open_stage();
    EXPECT_INT(start(stage, &stage->a, "/r", ZKL_FOREVER), ZKL_OK);
    FAKE_HEARD(&stage->fake, "create /r/#1-lock-; list /r");
    created(stage, 1, "lock-0000000003", 4711);
    FAKE_HEARD(&stage->fake, "");
    listed_own(stage, 1, "lock-0000000003", NULL);
    FAKE_HEARD(&stage->fake, "decided 0");
    EXPECT_INT(stage->a.runner->request.zxid, 4711);
    feed(&stage->a, ZKL_EVENT_RELEASED);
    FAKE_HEARD(&stage->fake, "remove /r/#1-lock-0000000003");
    EXPECT_INT(stage->requests_ended, 0);
    FAKE_ANSWER(&stage->fake, "remove", .outcome = ZKL_OUTCOME_OK);
    FAKE_HEARD(&stage->fake, "ended");
    EXPECT_INT(stage->requests_ended, 1);
    EXPECT_INT(stage->a.verdicts, 1);
    close_stage(stage);
}

static void waiter_watches_its_blocker_and_lists_when_it_is_gone(void) {
    run_stage *stage = open_stage();
    start(stage, &stage->a, "/r", ZKL_FOREVER);
    created(stage, 1, "lock-0000000003", 1);
    listed_own(stage, 1, "lock-0000000003", "__WRIT__0000000002");
    FAKE_HEARD(&stage->fake, "create /r/#1-lock-; list /r; watch /r/__WRIT__0000000002");
    FAKE_ANSWER(&stage->fake, "watch", .outcome = ZKL_OUTCOME_OK);
    FAKE_HEARD(&stage->fake, "");
    zkl_session_on_watch_fired(&stage->session, stage->fake.last_watch_id, true);
    FAKE_HEARD(&stage->fake, "list /r");
    listed_own(stage, 1, "lock-0000000003", NULL);
    FAKE_HEARD(&stage->fake, "decided 0");
    release(stage, &stage->a);
    close_stage(stage);
}

static void node_says_who_and_when(void) {
    run_stage *stage = open_stage();
    stage->fake.wall_clock_ms = 1782907261123; /* 2026-07-01 12:01:01.123 */
    start(stage, &stage->a, "/r", ZKL_FOREVER);
    EXPECT_TEXT(stage->fake.data, "host=h\npid=1\ntime=2026-07-01T12:01:01Z\n");
    fake_answer_all(&stage->fake, ZKL_OUTCOME_SESSION_OVER);
    feed(&stage->a, ZKL_EVENT_CANCELLED);
    stage->fake.heard[0] = '\0';
    close_stage(stage);
}

static void node_path_is_known_as_long_as_there_is_a_node(void) {
    run_stage *stage = open_stage();
    char path[ZKL_NODE_PATH_SIZE];
    start(stage, &stage->a, "/r", ZKL_FOREVER);
    zkl_request_runner_node_path(stage->a.runner, path, sizeof(path));
    EXPECT_TEXT(path, "");
    created(stage, 1, "lock-0000000003", 1);
    zkl_request_runner_node_path(stage->a.runner, path, sizeof(path));
    EXPECT_TEXT(path, "/r/_c_11111111-1111-4111-9111-111111111111-lock-0000000003");
    listed_own(stage, 1, "lock-0000000003", NULL);
    release(stage, &stage->a);
    close_stage(stage);
}

static void guids_are_random_uuids_of_version_4(void) {
    run_stage *stage = open_stage();
    char guid[ZKL_GUID_SIZE];
    EXPECT(zkl_session_make_guid(&stage->session, guid));
    EXPECT_TEXT(guid, "11111111-1111-4111-9111-111111111111");
    stage->fake.guids = 14;
    EXPECT(zkl_session_make_guid(&stage->session, guid));
    EXPECT_TEXT(guid, "ffffffff-ffff-4fff-bfff-ffffffffffff");
    EXPECT(zkl_session_make_guid(&stage->session, guid));
    EXPECT_TEXT(guid, "00000000-0000-4000-8000-000000000000");
    stage->fake.random_fails = true;
    EXPECT(!zkl_session_make_guid(&stage->session, guid));
    close_stage(stage);
}

static void request_without_random_numbers_is_not_started(void) {
    run_stage *stage = open_stage();
    stage->fake.random_fails = true;
    EXPECT_INT(start(stage, &stage->a, "/r", TIMEOUT_MS), ZKL_SYSTEM);
    EXPECT(stage->a.runner == NULL);
    FAKE_HEARD(&stage->fake, "");
    close_stage(stage);
}

static void lost_create_is_told_from_another_sessions_node_by_its_owner(void) {
    static const int64_t owners[] = { SESSION_ID, OTHER_SESSION_ID, 0 };
    static const char *const then[] = { "remove /r/#1-lock-0000000004", "list /r", "list /r" };
    for (size_t i = 0; i < COUNT_OF(owners); i++) {
        run_stage *stage = open_stage();
        char lost[FAKE_NAME_SIZE];
        fake_name(lost, 1, "lock-0000000003");
        start(stage, &stage->a, "/r", ZKL_FOREVER);
        tell(stage, ZKL_SESSION_STATE_CONNECTING);
        fake_answer_all(&stage->fake, ZKL_OUTCOME_UNKNOWN);
        connect_session(stage, SESSION_ID);
        created(stage, 1, "lock-0000000004", 5);
        stage->fake.heard[0] = '\0';
        listed_own(stage, 1, "lock-0000000004", lost);
        FAKE_HEARD(&stage->fake, "exists /r/#1-lock-0000000003");
        FAKE_ANSWER(&stage->fake, "exists", .zxid = 4, .ephemeral_owner = owners[i]);
        FAKE_HEARD(&stage->fake, then[i]);
        EXPECT_INT(stage->a.runner->request.zxid, i == 0 ? 4 : 5);
        tell(stage, ZKL_SESSION_STATE_EXPIRED);
        feed(&stage->a, ZKL_EVENT_CANCELLED);
        fake_answer_all(&stage->fake, ZKL_OUTCOME_SESSION_OVER);
        stage->fake.heard[0] = '\0';
        close_stage(stage);
    }
}

static void lost_create_is_settled_by_deleting_a_node_that_never_exists(void) {
    run_stage *stage = open_stage();
    start(stage, &stage->a, "/r", ZKL_FOREVER);
    tell(stage, ZKL_SESSION_STATE_CONNECTING);
    fake_answer_all(&stage->fake, ZKL_OUTCOME_UNKNOWN);
    feed(&stage->a, ZKL_EVENT_CANCELLED);
    FAKE_HEARD(&stage->fake, "create /r/#1-lock-; list /r; decided -3");
    connect_session(stage, SESSION_ID);
    FAKE_HEARD(&stage->fake, "remove /r/#1-settle; list /r");
    FAKE_ANSWER(&stage->fake, "remove", .outcome = ZKL_OUTCOME_NO_NODE);
    FAKE_ANSWER(&stage->fake, "list", .outcome = ZKL_OUTCOME_OK);
    FAKE_HEARD(&stage->fake, "ended");
    close_stage(stage);
}

/* ---- Deadlines ------------------------------------------------------------------- */

static void deadline_fires_and_the_node_is_removed(void) {
    run_stage *stage = open_stage();
    wait_behind(stage, &stage->a, "__WRIT__0000000002");
    EXPECT(stage->fake.wakes > 0);
    FAKE_ANSWER(&stage->fake, "watch", .outcome = ZKL_OUTCOME_OK);
    EXPECT_INT(next_timer_in(stage), TIMEOUT_MS);
    pass(stage, TIMEOUT_MS - 1);
    FAKE_HEARD(&stage->fake, "");
    pass(stage, 1);
    FAKE_HEARD(&stage->fake,
               "decided -2; unwatch /r/__WRIT__0000000002; remove /r/#1-lock-0000000003");
    pass(stage, 10 * TIMEOUT_MS);
    FAKE_ANSWER(&stage->fake, "remove", .outcome = ZKL_OUTCOME_OK);
    FAKE_HEARD(&stage->fake, "ended");
    FAKE_ANSWER(&stage->fake, "unwatch", .outcome = ZKL_OUTCOME_OK);
    EXPECT_INT(stage->a.verdicts, 1);
    close_stage(stage);
}

static void deadline_covers_the_time_offline(void) {
    run_stage *stage = open_offline_stage();
    start(stage, &stage->a, "/r", TIMEOUT_MS);
    pass(stage, TIMEOUT_MS);
    FAKE_HEARD(&stage->fake, "decided -2; ended");
    close_stage(stage);
}

static void deadline_does_not_move_when_the_session_expires(void) {
    run_stage *stage = open_stage();
    wait_behind(stage, &stage->a, "__WRIT__0000000002");
    FAKE_ANSWER(&stage->fake, "watch", .outcome = ZKL_OUTCOME_OK);
    pass(stage, 1000);
    tell(stage, ZKL_SESSION_STATE_CONNECTING);
    tell(stage, ZKL_SESSION_STATE_EXPIRED);
    EXPECT_INT(next_timer_in(stage), TIMEOUT_MS - 1000);
    pass(stage, TIMEOUT_MS - 1000);
    FAKE_HEARD(&stage->fake, "decided -2; ended");
    close_stage(stage);
}

static void grant_stops_the_deadline(void) {
    run_stage *stage = open_stage();
    hold(stage, &stage->a);
    EXPECT_INT(stage->session.timers.count, 0);
    pass(stage, 10 * TIMEOUT_MS);
    FAKE_HEARD(&stage->fake, "");
    release(stage, &stage->a);
    close_stage(stage);
}

static void request_without_a_deadline_sets_no_timer(void) {
    run_stage *stage = open_stage();
    start(stage, &stage->a, "/r", ZKL_FOREVER);
    EXPECT_INT(stage->session.timers.count, 0);
    created(stage, 1, "lock-0000000003", 1);
    listed_own(stage, 1, "lock-0000000003", NULL);
    release(stage, &stage->a);
    close_stage(stage);
}

static void longest_deadline_does_not_overflow(void) {
    run_stage *stage = open_stage();
    start(stage, &stage->a, "/r", INT64_MAX);
    FAKE_HEARD(&stage->fake, "create /r/#1-lock-; list /r");
    EXPECT(next_timer_in(stage) > TIMEOUT_MS);
    pass(stage, (int64_t)1 << 60U);
    FAKE_HEARD(&stage->fake, "");
    created(stage, 1, "lock-0000000003", 1);
    listed_own(stage, 1, "lock-0000000003", NULL);
    release(stage, &stage->a);
    close_stage(stage);
}

static void try_lists_first_and_sets_no_timer(void) {
    run_stage *stage = open_stage();
    start(stage, &stage->a, "/r", 0);
    EXPECT_INT(stage->session.timers.count, 0);
    FAKE_HEARD(&stage->fake, "list /r");
    listed(stage, "lock-0000000001", NULL);
    FAKE_HEARD(&stage->fake, "decided -1; ended");
    close_stage(stage);
}

static void try_offline_has_its_verdict_before_start_returns(void) {
    run_stage *stage = open_offline_stage();
    EXPECT_INT(start(stage, &stage->a, "/r", 0), ZKL_OK);
    FAKE_HEARD(&stage->fake, "decided -11; ended");
    EXPECT(stage->a.runner == NULL);
    close_stage(stage);
}

/* ---- Pauses ------------------------------------------------------------------------ */

static const int64_t longest_pauses[] = { 50, 100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000 };

/* One more failure, and the pause that follows. */
static int64_t next_pause(run_stage *stage) {
    fake_answer_all(&stage->fake, ZKL_OUTCOME_NOT_NOW);
    stage->fake.heard[0] = '\0';
    return next_timer_in(stage);
}

static void end_by_cancel_in_a_pause(run_stage *stage) {
    feed(&stage->a, ZKL_EVENT_CANCELLED);
    pass(stage, 5000);
    FAKE_HEARD(&stage->fake, "decided -3; ended");
    close_stage(stage);
}

static void pauses_double_up_to_five_seconds(void) {
    run_stage *stage = open_stage();
    start(stage, &stage->a, "/r", ZKL_FOREVER);
    for (size_t i = 0; i < COUNT_OF(longest_pauses); i++) {
        unsigned wakes = stage->fake.wakes;
        int64_t pause = next_pause(stage);
        EXPECT_INT(pause, longest_pauses[i]);
        EXPECT(stage->fake.wakes > wakes);
        pass(stage, pause - 1);
        FAKE_HEARD(&stage->fake, "");
        if (i + 1 < COUNT_OF(longest_pauses)) {
            pass(stage, 1);
            FAKE_HEARD(&stage->fake, "create /r/#1-lock-; list /r");
        }
    }
    end_by_cancel_in_a_pause(stage);
}

static void jitter_shortens_pauses_by_up_to_half(void) {
    run_stage *stage = open_stage();
    unit_random random = unit_random_begin(7);
    start(stage, &stage->a, "/r", ZKL_FOREVER);
    unsigned different = 0;
    for (unsigned i = 0; i < 300; i++) {
        int64_t longest = longest_pauses[i < 9 ? i : 9];
        stage->fake.jitter = unit_random_below(&random, UINT32_MAX);
        int64_t pause = next_pause(stage);
        EXPECT(pause <= longest);
        EXPECT(pause >= longest / 2);
        different += pause != longest ? 1U : 0U;
        if (i < 299) {
            pass(stage, pause);
        }
        stage->fake.heard[0] = '\0';
    }
    EXPECT(different > 250);
    end_by_cancel_in_a_pause(stage);
}

static void jitter_reaches_half_the_pause_exactly(void) {
    run_stage *stage = open_stage();
    stage->fake.jitter = 25; /* of 50 ms */
    start(stage, &stage->a, "/r", ZKL_FOREVER);
    EXPECT_INT(next_pause(stage), 25);
    end_by_cancel_in_a_pause(stage);
}

static void failing_random_numbers_do_not_shorten_the_pause(void) {
    run_stage *stage = open_stage();
    start(stage, &stage->a, "/r", ZKL_FOREVER);
    stage->fake.random_fails = true;
    EXPECT_INT(next_pause(stage), 50);
    end_by_cancel_in_a_pause(stage);
}

static void deadline_in_a_pause_is_told_at_once(void) {
    run_stage *stage = open_stage();
    start(stage, &stage->a, "/r", 20);
    EXPECT_INT(next_pause(stage), 20); /* the deadline is nearer */
    pass(stage, 20);
    FAKE_HEARD(&stage->fake, "decided -2");
    pass(stage, 30);
    FAKE_HEARD(&stage->fake, "ended");
    close_stage(stage);
}

/* ---- The parent ------------------------------------------------------------------------- */

static void begin_without_parent(run_stage *stage) {
    start(stage, &stage->a, "/a/b/c", ZKL_FOREVER);
    fail_oldest(stage, "create", ZKL_OUTCOME_NO_NODE);
    fail_oldest(stage, "list", ZKL_OUTCOME_NO_NODE);
    FAKE_HEARD(&stage->fake, "create /a/b/c/#1-lock-; list /a/b/c; make /a/b/c");
}

static void cancel_and_answer(run_stage *stage) {
    feed(&stage->a, ZKL_EVENT_CANCELLED);
    fake_answer_all(&stage->fake, ZKL_OUTCOME_NOT_NOW);
    pass(stage, 5000);
    EXPECT(stage->a.ended);
    stage->fake.heard[0] = '\0';
    close_stage(stage);
}

static void parent_is_made_from_the_bottom_up_and_down_again(void) {
    run_stage *stage = open_stage();
    begin_without_parent(stage);
    fail_oldest(stage, "make /a/b/c", ZKL_OUTCOME_NO_NODE);
    fail_oldest(stage, "make /a/b", ZKL_OUTCOME_NO_NODE);
    fail_oldest(stage, "make /a", ZKL_OUTCOME_OK);
    fail_oldest(stage, "make /a/b", ZKL_OUTCOME_OK);
    fail_oldest(stage, "make /a/b/c", ZKL_OUTCOME_OK);
    FAKE_HEARD(&stage->fake, "make /a/b; make /a; make /a/b; make /a/b/c; "
                             "create /a/b/c/#1-lock-; list /a/b/c");
    cancel_and_answer(stage);
}

static void only_what_is_missing_of_the_parent_is_made(void) {
    run_stage *stage = open_stage();
    begin_without_parent(stage);
    fail_oldest(stage, "make /a/b/c", ZKL_OUTCOME_OK);
    FAKE_HEARD(&stage->fake, "create /a/b/c/#1-lock-; list /a/b/c");
    cancel_and_answer(stage);
}

static void parent_that_vanishes_on_the_way_down_is_made_again(void) {
    run_stage *stage = open_stage();
    begin_without_parent(stage);
    fail_oldest(stage, "make /a/b/c", ZKL_OUTCOME_NO_NODE);
    fail_oldest(stage, "make /a/b", ZKL_OUTCOME_OK);
    fail_oldest(stage, "make /a/b/c", ZKL_OUTCOME_NO_NODE);
    fail_oldest(stage, "make /a/b", ZKL_OUTCOME_OK);
    fail_oldest(stage, "make /a/b/c", ZKL_OUTCOME_OK);
    FAKE_HEARD(&stage->fake, "make /a/b; make /a/b/c; make /a/b; make /a/b/c; "
                             "create /a/b/c/#1-lock-; list /a/b/c");
    cancel_and_answer(stage);
}

static void refusal_on_the_way_up_fails_the_request(void) {
    run_stage *stage = open_stage();
    begin_without_parent(stage);
    fail_oldest(stage, "make /a/b/c", ZKL_OUTCOME_NO_NODE);
    FAKE_ANSWER(&stage->fake, "make /a/b", .outcome = ZKL_OUTCOME_REFUSED,
                .status = ZKL_NO_PERMISSION);
    FAKE_HEARD(&stage->fake, "make /a/b; decided -14; ended");
    close_stage(stage);
}

static void lost_reply_on_the_way_up_begins_anew_at_the_bottom(void) {
    run_stage *stage = open_stage();
    begin_without_parent(stage);
    fail_oldest(stage, "make /a/b/c", ZKL_OUTCOME_NO_NODE);
    tell(stage, ZKL_SESSION_STATE_CONNECTING);
    fail_oldest(stage, "make /a/b", ZKL_OUTCOME_UNKNOWN);
    FAKE_HEARD(&stage->fake, "make /a/b");
    connect_session(stage, SESSION_ID);
    FAKE_HEARD(&stage->fake, "make /a/b/c");
    cancel_and_answer(stage);
}

static void failing_send_on_the_way_up_is_a_pause(void) {
    run_stage *stage = open_stage();
    begin_without_parent(stage);
    stage->fake.sends = ZKL_OUTCOME_NOT_NOW;
    fail_oldest(stage, "make /a/b/c", ZKL_OUTCOME_NO_NODE);
    FAKE_HEARD(&stage->fake, "unsent make /a/b");
    stage->fake.sends = ZKL_OUTCOME_OK;
    pass(stage, 50);
    FAKE_HEARD(&stage->fake, "make /a/b/c");
    cancel_and_answer(stage);
}

/* ---- Replies of an earlier session --------------------------------------------------------- */

static void replies_of_an_earlier_session_are_void(void) {
    run_stage *stage = open_stage();
    start(stage, &stage->a, "/r", ZKL_FOREVER);
    tell(stage, ZKL_SESSION_STATE_EXPIRED);
    created(stage, 1, "lock-0000000003", 1);
    listed_own(stage, 1, "lock-0000000003", NULL);
    FAKE_HEARD(&stage->fake, "create /r/#1-lock-; list /r"); /* no grant */
    connect_session(stage, OTHER_SESSION_ID);
    FAKE_HEARD(&stage->fake, "create /r/#2-lock-; list /r");
    created(stage, 2, "lock-0000000007", 2);
    listed_own(stage, 2, "lock-0000000007", NULL);
    FAKE_HEARD(&stage->fake, "decided 0");
    release(stage, &stage->a);
    close_stage(stage);
}

static void reply_about_the_parent_of_an_earlier_session_is_void(void) {
    static const zkl_outcome outcomes[] = { ZKL_OUTCOME_OK, ZKL_OUTCOME_NO_NODE };
    for (size_t i = 0; i < COUNT_OF(outcomes); i++) {
        run_stage *stage = open_stage();
        begin_without_parent(stage);
        tell(stage, ZKL_SESSION_STATE_EXPIRED);
        fail_oldest(stage, "make /a/b/c", outcomes[i]);
        FAKE_HEARD(&stage->fake, "");
        connect_session(stage, OTHER_SESSION_ID);
        FAKE_HEARD(&stage->fake, "make /a/b/c");
        cancel_and_answer(stage);
    }
}

static void delete_of_an_earlier_session_is_over_with_it(void) {
    run_stage *stage = open_stage();
    hold(stage, &stage->a);
    feed(&stage->a, ZKL_EVENT_RELEASED);
    tell(stage, ZKL_SESSION_STATE_EXPIRED);
    FAKE_HEARD(&stage->fake, "remove /r/#1-lock-0000000003");
    FAKE_ANSWER(&stage->fake, "remove", .outcome = ZKL_OUTCOME_UNKNOWN);
    FAKE_HEARD(&stage->fake, "ended");
    close_stage(stage);
}

/* ---- Sends that fail --------------------------------------------------------------------------
 */

static void sends_that_fail_for_now_are_repeated_after_a_pause(void) {
    run_stage *stage = open_stage();
    stage->fake.sends = ZKL_OUTCOME_NOT_NOW;
    start(stage, &stage->a, "/r", ZKL_FOREVER);
    FAKE_HEARD(&stage->fake, "unsent create /r/#1-lock-; unsent list /r");
    stage->fake.sends = ZKL_OUTCOME_OK;
    pass(stage, 50);
    FAKE_HEARD(&stage->fake, "create /r/#1-lock-; list /r");
    created(stage, 1, "lock-0000000003", 1);
    listed_own(stage, 1, "lock-0000000003", NULL);
    release(stage, &stage->a);
    close_stage(stage);
}

static void sends_that_fail_as_the_session_is_over_wait_for_the_next(void) {
    run_stage *stage = open_stage();
    stage->fake.sends = ZKL_OUTCOME_SESSION_OVER;
    start(stage, &stage->a, "/r", ZKL_FOREVER);
    FAKE_HEARD(&stage->fake, "unsent create /r/#1-lock-; unsent list /r");
    EXPECT_INT(stage->session.timers.count, 0);
    tell(stage, ZKL_SESSION_STATE_EXPIRED);
    stage->fake.sends = ZKL_OUTCOME_OK;
    connect_session(stage, OTHER_SESSION_ID);
    FAKE_HEARD(&stage->fake, "create /r/#2-lock-; list /r");
    cancel_and_answer(stage);
}

static void delete_that_cannot_be_sent_is_sent_later(void) {
    run_stage *stage = open_stage();
    hold(stage, &stage->a);
    stage->fake.sends = ZKL_OUTCOME_NOT_NOW;
    feed(&stage->a, ZKL_EVENT_RELEASED);
    FAKE_HEARD(&stage->fake, "unsent remove /r/#1-lock-0000000003");
    stage->fake.sends = ZKL_OUTCOME_OK;
    pass(stage, 50);
    FAKE_HEARD(&stage->fake, "remove /r/#1-lock-0000000003");
    FAKE_ANSWER(&stage->fake, "remove", .outcome = ZKL_OUTCOME_OK);
    FAKE_HEARD(&stage->fake, "ended");
    close_stage(stage);
}

static void watch_that_cannot_be_sent_lists_again_after_a_pause(void) {
    run_stage *stage = open_stage();
    start(stage, &stage->a, "/r", ZKL_FOREVER);
    created(stage, 1, "lock-0000000003", 1);
    stage->fake.heard[0] = '\0';
    stage->fake.sends = ZKL_OUTCOME_NOT_NOW;
    listed_own(stage, 1, "lock-0000000003", "__WRIT__0000000002");
    FAKE_HEARD(&stage->fake, "unsent watch /r/__WRIT__0000000002");
    stage->fake.sends = ZKL_OUTCOME_OK;
    pass(stage, 50);
    FAKE_HEARD(&stage->fake, "list /r");
    listed_own(stage, 1, "lock-0000000003", NULL);
    release(stage, &stage->a);
    close_stage(stage);
}

/* A failure must never be told with the status of a success. */

static void expect_failure(run_stage *stage) {
    EXPECT_INT(stage->a.verdicts, 1);
    EXPECT(stage->a.verdict < ZKL_OK);
    stage->fake.sends = ZKL_OUTCOME_OK;
    pass(stage, 5000);
    EXPECT(stage->a.ended);
    stage->fake.heard[0] = '\0';
    close_stage(stage);
}

static void send_that_is_refused_is_no_grant(void) {
    run_stage *stage = open_stage();
    stage->fake.sends = ZKL_OUTCOME_REFUSED;
    start(stage, &stage->a, "/r", ZKL_FOREVER);
    expect_failure(stage);
}

static void send_that_is_refused_on_the_way_up_is_no_grant(void) {
    run_stage *stage = open_stage();
    begin_without_parent(stage);
    stage->fake.sends = ZKL_OUTCOME_REFUSED;
    fail_oldest(stage, "make /a/b/c", ZKL_OUTCOME_NO_NODE);
    expect_failure(stage);
}

/* ---- Several requests --------------------------------------------------------------------------
 */

static void two_waiters_of_one_client_share_the_watch_of_their_blocker(void) {
    run_stage *stage = open_stage();
    wait_behind(stage, &stage->a, "__WRIT__0000000002");
    start(stage, &stage->b, "/r", TIMEOUT_MS);
    FAKE_ANSWER(&stage->fake, "watch", .outcome = ZKL_OUTCOME_OK);
    created(stage, 2, "__READ__0000000004", 1);
    stage->fake.heard[0] = '\0';
    listed_own(stage, 2, "__READ__0000000004", "__WRIT__0000000002");
    FAKE_HEARD(&stage->fake, ""); /* shared, and armed at once */
    feed(&stage->a, ZKL_EVENT_CANCELLED);
    FAKE_HEARD(&stage->fake, "decided -3; remove /r/#1-lock-0000000003"); /* no unwatch */
    FAKE_ANSWER(&stage->fake, "remove", .outcome = ZKL_OUTCOME_OK);
    FAKE_HEARD(&stage->fake, "ended");
    zkl_session_on_watch_fired(&stage->session, stage->fake.last_watch_id, true);
    FAKE_HEARD(&stage->fake, "list /r");
    listed_own(stage, 2, "__READ__0000000004", NULL);
    FAKE_HEARD(&stage->fake, "b decided 0");
    release(stage, &stage->b);
    close_stage(stage);
}

static void each_waiter_has_a_fresh_guid_of_its_own_in_the_next_session(void) {
    run_stage *stage = open_stage();
    wait_behind(stage, &stage->a, "__WRIT__0000000002");
    FAKE_ANSWER(&stage->fake, "watch", .outcome = ZKL_OUTCOME_OK);
    wait_behind(stage, &stage->b, "__WRIT__0000000002");
    tell(stage, ZKL_SESSION_STATE_CONNECTING);
    tell(stage, ZKL_SESSION_STATE_EXPIRED);
    FAKE_HEARD(&stage->fake, "");
    EXPECT_INT(stage->session.expired_count, 1);
    connect_session(stage, OTHER_SESSION_ID);
    FAKE_HEARD(&stage->fake, "create /r/#3-lock-; list /r; create /r/#4-lock-; list /r");
    feed(&stage->b, ZKL_EVENT_CANCELLED);
    cancel_and_answer(stage);
}

static void disconnect_is_told_once_and_to_all(void) {
    run_stage *stage = open_stage();
    start(stage, &stage->a, "/r", 0);
    start(stage, &stage->b, "/r", 0);
    FAKE_HEARD(&stage->fake, "list /r; list /r");
    tell(stage, ZKL_SESSION_STATE_CONNECTING);
    FAKE_HEARD(&stage->fake, "decided -11; b decided -11");
    EXPECT(!stage->session.connected);
    tell(stage, ZKL_SESSION_STATE_CONNECTING);
    FAKE_HEARD(&stage->fake, "");
    fake_answer_all(&stage->fake, ZKL_OUTCOME_UNKNOWN);
    FAKE_HEARD(&stage->fake, "ended; b ended");
    EXPECT_INT(stage->requests_ended, 2);
    close_stage(stage);
}

static void many_requests_have_room_for_their_timers(void) {
    enum { MANY = 100 };
    run_stage *stage = open_offline_stage();
    static lock_owner owners[MANY];
    for (size_t i = 0; i < MANY; i++) {
        owners[i] = (lock_owner){ .stage = stage, .name = "", .verdict = 1 };
        EXPECT_INT(start(stage, &owners[i], "/r", TIMEOUT_MS), ZKL_OK);
    }
    EXPECT_INT(stage->session.timers.count, MANY);
    pass(stage, TIMEOUT_MS);
    EXPECT_INT(stage->requests_ended, MANY);
    for (size_t i = 0; i < MANY; i++) {
        EXPECT_INT(owners[i].verdict, ZKL_TIMEOUT);
    }
    stage->fake.heard[0] = '\0';
    close_stage(stage);
}

/* ---- Owners that go
 * ------------------------------------------------------------------------------ */

static void owner_that_went_is_told_nothing_and_the_node_is_removed_all_the_same(void) {
    run_stage *stage = open_stage();
    hold(stage, &stage->a);
    feed(&stage->a, ZKL_EVENT_RELEASED);
    zkl_request_runner_disown(stage->a.runner);
    FAKE_HEARD(&stage->fake, "remove /r/#1-lock-0000000003");
    tell(stage, ZKL_SESSION_STATE_CONNECTING);
    FAKE_ANSWER(&stage->fake, "remove", .outcome = ZKL_OUTCOME_UNKNOWN);
    connect_session(stage, SESSION_ID);
    FAKE_HEARD(&stage->fake, "remove /r/#1-lock-0000000003");
    FAKE_ANSWER(&stage->fake, "remove", .outcome = ZKL_OUTCOME_NO_NODE);
    FAKE_HEARD(&stage->fake, "");
    EXPECT_INT(stage->requests_ended, 1);
    close_stage(stage);
}

static void owner_may_go_as_it_gets_its_verdict(void) {
    run_stage *stage = open_stage();
    stage->a.disowns = true;
    wait_behind(stage, &stage->a, "__WRIT__0000000002");
    FAKE_ANSWER(&stage->fake, "watch", .outcome = ZKL_OUTCOME_OK);
    pass(stage, TIMEOUT_MS);
    FAKE_HEARD(&stage->fake,
               "decided -2; unwatch /r/__WRIT__0000000002; remove /r/#1-lock-0000000003");
    fake_answer_all(&stage->fake, ZKL_OUTCOME_OK);
    FAKE_HEARD(&stage->fake, "");
    close_stage(stage);
}

static void lock_that_nobody_owns_any_more_is_lost_in_silence(void) {
    run_stage *stage = open_stage();
    hold(stage, &stage->a);
    zkl_request_runner_disown(stage->a.runner);
    tell(stage, ZKL_SESSION_STATE_EXPIRED);
    FAKE_HEARD(&stage->fake, "");
    close_stage(stage);
}

/* ---- The session's end
 * ------------------------------------------------------------------------------ */

static void holder_is_told_of_its_loss_once(void) {
    run_stage *stage = open_stage();
    hold(stage, &stage->a);
    tell(stage, ZKL_SESSION_STATE_CONNECTING);
    FAKE_HEARD(&stage->fake, "");
    tell(stage, ZKL_SESSION_STATE_EXPIRED);
    FAKE_HEARD(&stage->fake, "lost -12; ended");
    EXPECT_INT(stage->a.verdicts, 1);
    close_stage(stage);
}

/* Each waiter of the watch that goes with the session has to hear of it. */
static void session_end_while_the_watch_is_being_set_joins_again(void) {
    run_stage *stage = open_stage();
    wait_behind(stage, &stage->a, "__WRIT__0000000002");
    tell(stage, ZKL_SESSION_STATE_EXPIRED);
    fail_oldest(stage, "watch", ZKL_OUTCOME_SESSION_OVER);
    FAKE_HEARD(&stage->fake, "");
    connect_session(stage, OTHER_SESSION_ID);
    FAKE_HEARD(&stage->fake, "create /r/#2-lock-; list /r");
    cancel_and_answer(stage);
}

static void session_end_without_random_numbers_ends_the_request(void) {
    run_stage *stage = open_stage();
    wait_behind(stage, &stage->a, "__WRIT__0000000002");
    FAKE_ANSWER(&stage->fake, "watch", .outcome = ZKL_OUTCOME_OK);
    tell(stage, ZKL_SESSION_STATE_CONNECTING);
    stage->fake.random_fails = true;
    tell(stage, ZKL_SESSION_STATE_EXPIRED);
    FAKE_HEARD(&stage->fake, "decided -19; ended");
    close_stage(stage);
}

static void finish_gives_the_waiters_their_verdict_and_ends_them(void) {
    run_stage *stage = open_stage();
    wait_behind(stage, &stage->a, "__WRIT__0000000002");
    FAKE_ANSWER(&stage->fake, "watch", .outcome = ZKL_OUTCOME_OK);
    tell(stage, ZKL_SESSION_STATE_CONNECTING);
    start(stage, &stage->b, "/r", TIMEOUT_MS);
    zkl_session_finish(&stage->session, ZKL_CLOSED);
    FAKE_HEARD(&stage->fake, "decided -10; unwatch /r/__WRIT__0000000002; b decided -10; b ended; "
                             "ended");
    fake_answer_all(&stage->fake, ZKL_OUTCOME_SESSION_OVER);
    close_stage(stage);
}

static void finish_with_replies_outstanding_ends_when_they_are_there(void) {
    run_stage *stage = open_stage();
    start(stage, &stage->a, "/r", TIMEOUT_MS);
    zkl_session_finish(&stage->session, ZKL_AUTH_FAILED);
    FAKE_HEARD(&stage->fake, "create /r/#1-lock-; list /r; decided -15");
    fake_answer_all(&stage->fake, ZKL_OUTCOME_SESSION_OVER);
    FAKE_HEARD(&stage->fake, "ended");
    close_stage(stage);
}

static void finish_while_the_watch_is_being_set_ends_the_request(void) {
    run_stage *stage = open_stage();
    wait_behind(stage, &stage->a, "__WRIT__0000000002");
    zkl_session_finish(&stage->session, ZKL_AUTH_FAILED);
    fake_answer_all(&stage->fake, ZKL_OUTCOME_SESSION_OVER);
    EXPECT(stage->a.ended);
    FAKE_HEARD(&stage->fake, "decided -15; ended");
    close_stage(stage);
}

/* Nobody drives the timers after that: a pause that is under way is over. */
static void finish_in_a_pause_ends_the_request(void) {
    run_stage *stage = open_stage();
    start(stage, &stage->a, "/r", ZKL_FOREVER);
    next_pause(stage);
    zkl_session_finish(&stage->session, ZKL_CLOSED);
    EXPECT(stage->a.ended);
    FAKE_HEARD(&stage->fake, "decided -10; ended");
    close_stage(stage);
}

static void finish_ends_what_was_being_deleted(void) {
    run_stage *stage = open_stage();
    hold(stage, &stage->a);
    tell(stage, ZKL_SESSION_STATE_CONNECTING);
    feed(&stage->a, ZKL_EVENT_RELEASED);
    zkl_session_finish(&stage->session, ZKL_CLOSED);
    FAKE_HEARD(&stage->fake, "ended");
    close_stage(stage);
}

static void failed_authentication_ends_the_waiters(void) {
    run_stage *stage = open_offline_stage();
    start(stage, &stage->a, "/r", TIMEOUT_MS);
    tell(stage, ZKL_SESSION_STATE_AUTH_FAILED);
    FAKE_HEARD(&stage->fake, "decided -15; ended");
    EXPECT(stage->session.auth_failed);
    close_stage(stage);
}

/* Last of all: under a sanitizer this one may not return. */
static void session_end_without_random_numbers_ends_a_request_that_has_nothing(void) {
    run_stage *stage = open_offline_stage();
    start(stage, &stage->a, "/r", TIMEOUT_MS);
    stage->fake.random_fails = true;
    tell(stage, ZKL_SESSION_STATE_EXPIRED);
    FAKE_HEARD(&stage->fake, "decided -19; ended");
    EXPECT_INT(stage->requests_ended, 1);
    close_stage(stage);
}

static CU_TestInfo tests[] = {
    TEST(free_lock_is_created_listed_granted_and_removed),
    TEST(waiter_watches_its_blocker_and_lists_when_it_is_gone),
    TEST(node_says_who_and_when),
    TEST(node_path_is_known_as_long_as_there_is_a_node),
    TEST(guids_are_random_uuids_of_version_4),
    TEST(request_without_random_numbers_is_not_started),
    TEST(lost_create_is_told_from_another_sessions_node_by_its_owner),
    TEST(lost_create_is_settled_by_deleting_a_node_that_never_exists),
    TEST(deadline_fires_and_the_node_is_removed),
    TEST(deadline_covers_the_time_offline),
    TEST(deadline_does_not_move_when_the_session_expires),
    TEST(grant_stops_the_deadline),
    TEST(request_without_a_deadline_sets_no_timer),
    TEST(longest_deadline_does_not_overflow),
    TEST(try_lists_first_and_sets_no_timer),
    TEST(try_offline_has_its_verdict_before_start_returns),
    TEST(pauses_double_up_to_five_seconds),
    TEST(jitter_shortens_pauses_by_up_to_half),
    TEST(jitter_reaches_half_the_pause_exactly),
    TEST(failing_random_numbers_do_not_shorten_the_pause),
    TEST(deadline_in_a_pause_is_told_at_once),
    TEST(parent_is_made_from_the_bottom_up_and_down_again),
    TEST(only_what_is_missing_of_the_parent_is_made),
    TEST(parent_that_vanishes_on_the_way_down_is_made_again),
    TEST(refusal_on_the_way_up_fails_the_request),
    TEST(lost_reply_on_the_way_up_begins_anew_at_the_bottom),
    TEST(failing_send_on_the_way_up_is_a_pause),
    TEST(replies_of_an_earlier_session_are_void),
    TEST(reply_about_the_parent_of_an_earlier_session_is_void),
    TEST(delete_of_an_earlier_session_is_over_with_it),
    TEST(sends_that_fail_for_now_are_repeated_after_a_pause),
    TEST(sends_that_fail_as_the_session_is_over_wait_for_the_next),
    TEST(delete_that_cannot_be_sent_is_sent_later),
    TEST(watch_that_cannot_be_sent_lists_again_after_a_pause),
    TEST(send_that_is_refused_is_no_grant),
    TEST(send_that_is_refused_on_the_way_up_is_no_grant),
    TEST(two_waiters_of_one_client_share_the_watch_of_their_blocker),
    TEST(each_waiter_has_a_fresh_guid_of_its_own_in_the_next_session),
    TEST(disconnect_is_told_once_and_to_all),
    TEST(many_requests_have_room_for_their_timers),
    TEST(owner_that_went_is_told_nothing_and_the_node_is_removed_all_the_same),
    TEST(owner_may_go_as_it_gets_its_verdict),
    TEST(lock_that_nobody_owns_any_more_is_lost_in_silence),
    TEST(holder_is_told_of_its_loss_once),
    TEST(session_end_while_the_watch_is_being_set_joins_again),
    TEST(session_end_without_random_numbers_ends_the_request),
    TEST(finish_gives_the_waiters_their_verdict_and_ends_them),
    TEST(finish_with_replies_outstanding_ends_when_they_are_there),
    TEST(finish_while_the_watch_is_being_set_ends_the_request),
    TEST(finish_in_a_pause_ends_the_request),
    TEST(finish_ends_what_was_being_deleted),
    TEST(failed_authentication_ends_the_waiters),
    TEST(session_end_without_random_numbers_ends_a_request_that_has_nothing),
    TEST_END,
};

int main(void) {
    return unit_main("request_runner", tests);
}
