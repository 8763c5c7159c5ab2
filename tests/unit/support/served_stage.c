#include "support/served_stage.h"

#include <stdio.h>
#include <string.h>

/* ---- The server ----------------------------------------------------------------- */

static size_t place_of(const served_stage *served, const char *path) {
    size_t place = 0;
    while (place < served->node_count && strcmp(served->nodes[place], path) != 0) {
        place++;
    }
    return place;
}

static void answer_create(served_stage *served, const char *path) {
    char made[FAKE_CALL_SIZE];
    EXPECT(served->node_count < SERVED_NODES_MAX);
    snprintf(made, sizeof(made), "%.1300s%010d", path, served->next_sequence++);
    snprintf(served->nodes[served->node_count++], sizeof(made), "%s", made);
    FAKE_ANSWER(&served->stage->fake, "create", .path = made, .zxid = served->next_sequence);
}

static void answer_list(served_stage *served, const char *parent) {
    const char *names[SERVED_NODES_MAX];
    size_t length = strlen(parent);
    size_t count = 0;
    for (size_t i = 0; i < served->node_count; i++) {
        if (strncmp(served->nodes[i], parent, length) == 0 && served->nodes[i][length] == '/') {
            names[count++] = served->nodes[i] + length + 1;
        }
    }
    FAKE_ANSWER(&served->stage->fake, "list", .children = { names, count });
}

static void answer_remove(served_stage *served, const char *path) {
    size_t place = place_of(served, path);
    if (place == served->node_count) {
        stage_answer(served->stage, "remove", ZKL_OUTCOME_NO_NODE);
        return;
    }
    served->node_count--;
    memmove(served->nodes[place], served->nodes[place + 1],
            (served->node_count - place) * sizeof(served->nodes[0]));
    stage_answer(served->stage, "remove", ZKL_OUTCOME_OK);
}

static void answer_oldest(served_stage *served) {
    char text[FAKE_CALL_SIZE];
    char path[FAKE_CALL_SIZE];
    snprintf(text, sizeof(text), "%s", served->stage->fake.calls[0].text);
    snprintf(path, sizeof(path), "%s", served->stage->fake.calls[0].path);
    if (strncmp(text, "create", 6) == 0) {
        answer_create(served, path);
    } else if (strncmp(text, "list", 4) == 0) {
        answer_list(served, path);
    } else if (strncmp(text, "remove", 6) == 0) {
        answer_remove(served, path);
    } else {
        stage_answer(served->stage, text, ZKL_OUTCOME_OK);
    }
}

static void note_new_calls(served_stage *served) {
    while (served->known < served->stage->fake.call_count) {
        served->asked_ms[served->known++] = served->stage->fake.now_ms;
    }
}

static void answer_what_is_due(served_stage *served) {
    note_new_calls(served);
    while (served->known > 0 &&
           served->asked_ms[0] + served->latency_ms <= served->stage->fake.now_ms) {
        served->known--;
        memmove(served->asked_ms, served->asked_ms + 1, served->known * sizeof(int64_t));
        answer_oldest(served);
        note_new_calls(served);
    }
}

/* ---- Time, and the connection ----------------------------------------------------- */

static int64_t served_now(const served_stage *served) {
    return served->stage->fake.now_ms - served->begun_ms;
}

void served_pass(served_stage *served, int64_t ms) {
    served_pass_until(served, served_now(served) + ms);
}

void served_pass_until(served_stage *served, int64_t ms) {
    answer_what_is_due(served);
    while (served_now(served) < ms) {
        stage_pass(served->stage, 1);
        answer_what_is_due(served);
        stage_hush(served->stage);
    }
}

void served_disconnect(served_stage *served) {
    stage_tell(served->stage, ZKL_SESSION_STATE_CONNECTING);
    fake_answer_all(&served->stage->fake, ZKL_OUTCOME_UNKNOWN);
    served->known = 0;
}

void served_reconnect(served_stage *served, int32_t session_timeout_ms) {
    served->stage->session_timeout_ms = session_timeout_ms;
    stage_connect(served->stage, SESSION_ID);
    stage_hush(served->stage);
}

served_stage *served_open(int32_t session_timeout_ms, int32_t lease_tick_ms) {
    static served_stage served;
    memset(&served, 0, sizeof(served));
    served.stage = stage_open_live(session_timeout_ms, lease_tick_ms, NULL);
    served.table = *served.stage->fake.operations.table;
    served.stage->fake.operations.table = &served.table;
    served.latency_ms = SERVED_LATENCY_MS;
    served.begun_ms = served.stage->fake.now_ms;
    zkl_session_connecting(&served.stage->session);
    stage_connect(served.stage, SESSION_ID);
    return &served;
}

static void end_one(lock_owner *owner) {
    if (owner->runner != NULL) {
        stage_feed(owner, owner->verdict == ZKL_OK ? ZKL_EVENT_RELEASED : ZKL_EVENT_CANCELLED);
    }
}

void served_close(served_stage *served) {
    end_one(&served->stage->a);
    end_one(&served->stage->b);
    served_pass(served, 4 * served->latency_ms + 1);
    fake_answer_all(&served->stage->fake, ZKL_OUTCOME_OK);
    stage_hush(served->stage);
    stage_close(served->stage);
}
