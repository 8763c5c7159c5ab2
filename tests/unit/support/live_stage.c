#include "support/live_stage.h"

#include <string.h>

run_stage *live_open(int32_t lease_tick_ms) {
    run_stage *stage = stage_open_live(SESSION_TIMEOUT_MS, lease_tick_ms, NULL);
    zkl_session_connecting(&stage->session);
    stage_pass(stage, CONNECTING_MS);
    stage_connect(stage, SESSION_ID);
    FAKE_HEARD(&stage->fake, "");
    return stage;
}

int64_t live_lease_left(const run_stage *stage) {
    return zkl_liveness_lease_left(&stage->session.liveness);
}

bool live_is_fresh(const run_stage *stage) {
    return zkl_liveness_is_fresh(&stage->session.liveness);
}

bool live_is_silent(const run_stage *stage) {
    return zkl_liveness_is_silent(&stage->session.liveness);
}

/* Tells whether a call whose text begins like this waits for its answer. */
static bool live_is_asked(const run_stage *stage, const char *call) {
    for (size_t i = 0; i < stage->fake.call_count; i++) {
        if (strncmp(stage->fake.calls[i].text, call, strlen(call)) == 0) {
            return true;
        }
    }
    return false;
}

/* Answers all calls whose text begins like this, and returns how many. */
static unsigned answer_any(run_stage *stage, const char *call, zkl_outcome outcome) {
    unsigned answered = 0;
    while (live_is_asked(stage, call)) {
        stage_answer(stage, call, outcome);
        answered++;
    }
    return answered;
}

unsigned live_pass_served(run_stage *stage, int64_t ms, unsigned *probes) {
    unsigned writes = 0;
    for (int64_t i = 0; i < ms; i++) {
        stage_pass(stage, 1);
        *probes += answer_any(stage, PROBE, ZKL_OUTCOME_OK);
        writes += answer_any(stage, WRITE, ZKL_OUTCOME_OK);
        answer_any(stage, "watch", ZKL_OUTCOME_OK);
    }
    stage_hush(stage);
    return writes;
}

void live_stop_for(run_stage *stage, int64_t ms) {
    stage->fake.now_ms += ms;
}

void live_finish(run_stage *stage) {
    if (stage->a.runner != NULL) {
        stage_feed(&stage->a, ZKL_EVENT_RELEASED);
    }
    if (stage->b.runner != NULL) {
        stage_feed(&stage->b, ZKL_EVENT_CANCELLED);
        if (stage->b.runner != NULL) {
            stage_feed(&stage->b, ZKL_EVENT_RELEASED);
        }
    }
    for (unsigned i = 0; i < 4 && stage->fake.call_count > 0; i++) {
        fake_answer_all(&stage->fake, ZKL_OUTCOME_OK);
    }
    stage_hush(stage);
    stage_close(stage);
}
