#include "support/run_stage.h"

#include <stdio.h>
#include <string.h>

/* ---- Owners ------------------------------------------------------------------ */

static void on_decided(lock_owner *self, int status) {
    self->verdict = status;
    self->verdicts++;
    fake_note(&self->stage->fake, "%sdecided %d", self->name, status);
    if (status == ZKL_OK) {
        zkl_request_runner_hold_from_now(self->runner, self->max_hold_ms);
    }
    if (self->disowns) {
        zkl_request_runner_disown(self->runner);
    }
}

static void on_ended(lock_owner *self) {
    self->ended = true;
    self->runner = NULL;
    fake_note(&self->stage->fake, "%sended", self->name);
}

static void on_news(void *arg, zkl_request_news news, int status) {
    lock_owner *self = arg;
    bool is_connected = news == ZKL_REQUEST_CONNECTED;
    if (news == ZKL_REQUEST_DECIDED) {
        zkl_timer_stop(&self->deadline);
        on_decided(self, status);
    } else if (news == ZKL_REQUEST_LOST) {
        fake_note(&self->stage->fake, "%slost %d", self->name, status);
    } else if (self->listens && (is_connected || news == ZKL_REQUEST_DISCONNECTED)) {
        fake_note(&self->stage->fake, "%s%s", self->name,
                  is_connected ? "connected" : "disconnected");
    } else if (news == ZKL_REQUEST_ENDED) {
        on_ended(self);
    }
}

static void on_wake(void *arg) {
    run_stage *self = arg;
    self->wakes++;
}

/* ---- The stage ----------------------------------------------------------------- */

/* Stops the session's own probes, which liveness_test tests. */
static void quiet(run_stage *stage) {
    zkl_timer_stop(&stage->session.liveness.probe_timer);
    stage->session.liveness.awake = true;
}

void stage_connect(run_stage *stage, int64_t session_id) {
    zkl_session_on_news(&stage->session,
                        &(zkl_session_news){ .state = ZKL_SESSION_STATE_CONNECTED,
                                             .session_id = session_id,
                                             .timeout_ms = stage->session_timeout_ms });
    if (!stage->probes) {
        quiet(stage);
    }
}

void stage_tell(run_stage *stage, zkl_session_state state) {
    zkl_session_on_news(&stage->session, &(zkl_session_news){ .state = state });
}

void stage_hush(run_stage *stage) {
    stage->fake.heard[0] = '\0';
}

run_stage *stage_open_live(int32_t session_timeout_ms, int32_t lease_tick_ms, zkl_log *log) {
    static run_stage stage;
    memset(&stage, 0, sizeof(stage));
    fake_begin(&stage.fake);
    stage.recorder = zkl_recorder_open(ZKL_RECORDED_EVENTS_MIN, "label", NULL);
    stage.timers = (zkl_timers){ .wake = on_wake, .arg = &stage };
    stage.session = (zkl_session){ .operations = &stage.fake.operations,
                                   .log = log,
                                   .recorder = stage.recorder,
                                   .timers = &stage.timers,
                                   .identity = "host=h\npid=1\n",
                                   .label = "label",
                                   .lock_root = "/locks",
                                   .arg = &stage };
    zkl_session_begin(&stage.session, lease_tick_ms);
    stage.session_timeout_ms = session_timeout_ms;
    stage.probes = true;
    stage.a = (lock_owner){ .stage = &stage, .name = "", .verdict = 1 };
    stage.b = (lock_owner){ .stage = &stage, .name = "b ", .verdict = 1 };
    return &stage;
}

run_stage *stage_open_offline(void) {
    run_stage *stage = stage_open_live(10000, 0, NULL);
    stage->probes = false;
    stage->fake.silent_path = "/locks";
    return stage;
}

run_stage *stage_open(void) {
    run_stage *stage = stage_open_offline();
    stage_connect(stage, SESSION_ID);
    return stage;
}

void stage_close(run_stage *stage) {
    EXPECT(stage->session.runners == NULL);
    EXPECT_INT(stage->session.watched_bytes, 0);
    stage_tell(stage, ZKL_SESSION_STATE_EXPIRED); /* this ends the probes */
    EXPECT(stage->timers.earliest == NULL);
    zkl_session_destroy(&stage->session);
    zkl_recorder_close(stage->recorder);
    fake_end(&stage->fake);
}

void stage_pass(run_stage *stage, int64_t ms) {
    stage->fake.now_ms += ms;
    zkl_timers_fire_due(&stage->timers, stage->fake.now_ms);
}

int64_t stage_next_timer_in(const run_stage *stage) {
    return zkl_timers_next(&stage->timers) - stage->fake.now_ms;
}

/* ---- Requests --------------------------------------------------------------------- */

static void on_deadline(void *arg) {
    lock_owner *owner = arg;
    zkl_request_runner_time_out(owner->runner);
}

int stage_start(run_stage *stage, lock_owner *owner, const char *parent, int64_t timeout_ms) {
    static const zkl_lock_options lock_options = ZKL_LOCK_OPTIONS_INIT;
    static zkl_request_origin origin = {
        .options = &lock_options, .handle = 2, .keepers = 1, .process = 1
    };
    const zkl_request_options wanted = { .mode = ZKL_EXCLUSIVE, .only_try = timeout_ms == 0 };
    zkl_run_options options = {
        .origin = &origin,
        .group = owner->group,
        .resource = "stock",
        .parent_path = parent,
        .began_ms = zkl_session_now_ms(&stage->session),
        .owner = { .arg = owner, .on_news = on_news },
    };
    owner->deadline = (zkl_timer){ .fire = on_deadline, .arg = owner };
    zkl_session_set_timer(&stage->session, &owner->deadline, timeout_ms);
    int status = zkl_request_runner_start(&stage->session, &wanted, &options, &owner->runner);
    if (status != ZKL_OK) {
        zkl_timer_stop(&owner->deadline);
    }
    return status;
}

void stage_feed(lock_owner *owner, zkl_event_kind kind) {
    zkl_request_runner_feed(owner->runner, &(zkl_event){ .kind = kind, .status = ZKL_CANCELLED });
}

void stage_hold(run_stage *stage, lock_owner *owner) {
    EXPECT_INT(stage_start(stage, owner, "/r", TIMEOUT_MS), ZKL_OK);
    stage_created(stage, stage->fake.guids, "lock-0000000003", 900);
    stage_listed_own(stage, stage->fake.guids, "lock-0000000003", NULL);
    EXPECT_INT(owner->verdict, ZKL_OK);
    stage_hush(stage);
}

void stage_wait_behind(run_stage *stage, lock_owner *owner, const char *blocker) {
    EXPECT_INT(stage_start(stage, owner, "/r", TIMEOUT_MS), ZKL_OK);
    stage_created(stage, stage->fake.guids, "lock-0000000003", 900);
    stage_listed_own(stage, stage->fake.guids, "lock-0000000003", blocker);
    stage_hush(stage);
}

void stage_release(run_stage *stage, lock_owner *owner) {
    stage_feed(owner, ZKL_EVENT_RELEASED);
    FAKE_ANSWER(&stage->fake, "remove /r", .outcome = ZKL_OUTCOME_OK);
    EXPECT(owner->ended);
    stage_hush(stage);
}

/* ---- Answers ------------------------------------------------------------------------ */

void stage_created(run_stage *stage, unsigned guid, const char *rest, int64_t zxid) {
    char name[FAKE_NAME_SIZE];
    char path[FAKE_NAME_SIZE + 8];
    fake_name(name, guid, rest);
    snprintf(path, sizeof(path), "/r/%s", name);
    FAKE_ANSWER(&stage->fake, "create", .path = path, .zxid = zxid);
}

void stage_listed(run_stage *stage, const char *one, const char *other) {
    const char *names[] = { one, other };
    FAKE_ANSWER(&stage->fake, "list", .children = { names, other != NULL ? 2 : 1 });
}

void stage_listed_own(run_stage *stage, unsigned guid, const char *rest, const char *other) {
    char name[FAKE_NAME_SIZE];
    fake_name(name, guid, rest);
    stage_listed(stage, name, other);
}

void stage_answer(run_stage *stage, const char *call, zkl_outcome outcome) {
    FAKE_ANSWER(&stage->fake, call, .outcome = outcome);
}

void stage_fire(run_stage *stage, bool deleted) {
    zkl_session_on_watch_fired(&stage->session, stage->fake.last_watch_id,
                               deleted ? ZKL_WATCH_EVENT_DELETED : ZKL_WATCH_EVENT_CHANGED);
}

void stage_cancel_and_close(run_stage *stage) {
    stage_feed(&stage->a, ZKL_EVENT_CANCELLED);
    while (stage->fake.call_count > 0) {
        fake_answer_all(&stage->fake, ZKL_OUTCOME_NOT_NOW);
    }
    stage_pass(stage, 5000);
    EXPECT(stage->a.ended);
    stage_hush(stage);
    stage_close(stage);
}
