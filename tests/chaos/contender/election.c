#include "election.h"

#include "lock.h"

enum { CAMPAIGN_MS = 30000 };

/* ---- Candidates ------------------------------------------------------------------------------ */

static void note_state(const struct handle *handle, const char *state, int64_t term, int reason) {
    history_line line;
    history_begin(&line, handle->caller.who, "callback");
    history_text(&line, "what", "state");
    history_text(&line, "state", state);
    history_token(&line, term, 0);
    if (reason != ZKL_OK) {
        history_text(&line, "reason", zkl_status_name(reason));
    }
    history_write(&line);
}

static void on_elected(void *arg, int64_t term) {
    note_state(arg, "HELD", term, ZKL_OK);
}

static void on_lost(void *arg, int64_t term, int reason) {
    note_state(arg, "LOST", term, reason);
}

static void open_candidate(struct handle *handle) {
    lock_draw_resource(handle, 0, handle->kind->family);
    zkl_election_options options = ZKL_ELECTION_OPTIONS_INIT;
    options.candidate = handle->caller.who;
    options.elected = on_elected;
    options.lost = on_lost;
    options.arg = handle;
    struct call call;
    lock_begin_open(handle, &call);
    int status =
        zkl_election_open(handle->client->zkl, handle->resources[0], &options, &handle->election);
    lock_end_open(handle, &call, status);
    handle->lock = zkl_election_lock(handle->election);
}

static void close_candidate(struct handle *handle) {
    struct call call;
    lock_begin_close(handle, &call);
    zkl_election_close(handle->election);
    lock_end_close(handle, &call);
}

const struct opening a_candidate = { open_candidate, close_candidate };

bool election_campaign(struct handle *handle) {
    enum { TRIES = 4 };
    int64_t timeout_ms = chance_once_in(&handle->chance, TRIES) ? 0 : CAMPAIGN_MS;
    struct call call;
    call_prepare(&call, &handle->caller, "acquire");
    lock_note_request(&call.line, handle, timeout_ms);
    call_begin(&call);
    int64_t term = 0;
    int status = zkl_election_campaign(handle->election, timeout_ms, &term);
    call_end(&call, status);
    if (status == ZKL_OK) {
        handle->grant = (zkl_grant)ZKL_GRANT_INIT;
        handle->grant.token = term;
        lock_note_grant(&call.line, handle, lock_mode_name(handle));
    }
    call_note(&call);
    return status == ZKL_OK;
}

void election_resign(struct handle *handle) {
    int64_t timeout_ms = lock_draw_release_ms(handle);
    struct call call;
    call_prepare(&call, &handle->caller, "release");
    history_number(&call.line, "deadline_ms", timeout_ms);
    call_begin(&call);
    int status = zkl_election_resign(handle->election, timeout_ms);
    call_end(&call, status);
    call_note(&call);
}

/* ---- Observers ------------------------------------------------------------------------------- */

static void on_leader(void *arg, const zkl_leader *leader) {
    const struct handle *handle = arg;
    history_line line;
    history_begin(&line, handle->caller.who, "callback");
    history_text(&line, "what", "leader");
    history_text(&line, "status", zkl_status_name(leader->status));
    history_number(&line, "term", leader->term);
    if (leader->term != 0) {
        history_text(&line, "node", leader->node);
        history_session(&line, leader->session_id);
        history_text(&line, "candidate", leader->candidate);
    }
    history_write(&line);
}

static void open_observer(struct handle *handle) {
    lock_draw_resource(handle, 0, handle->kind->family);
    struct call call;
    call_prepare(&call, &handle->caller, "observe");
    history_text(&call.line, "resource", handle->resources[0]);
    call_begin(&call);
    int status = zkl_election_observe(handle->client->zkl, handle->resources[0], on_leader, handle,
                                      &handle->observer);
    call_end(&call, status);
    call_note(&call);
    handle->is_open = status == ZKL_OK;
}

static void close_observer(struct handle *handle) {
    struct call call;
    lock_begin_close(handle, &call);
    zkl_observer_close(handle->observer);
    lock_end_close(handle, &call);
}

const struct opening an_observer = { open_observer, close_observer };

bool observer_wait(struct handle *handle) {
    enum { WAIT_MS = 500 };
    (void)handle_pause(handle, chance_between(&handle->chance, 0, WAIT_MS));
    return false;
}
