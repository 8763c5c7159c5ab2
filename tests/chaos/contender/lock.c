#include "lock.h"

#include "election.h"
#include "guarded.h"
#include "store.h"

#include <stdio.h>
#include <time.h>

enum {
    /* Of a family. Every other handle contends for one of the first, where there are always some
     * who wait; on the others a try may find nobody, and a kept node is used again. Relatives meet
     * on the first. */
    CROWDED = 2,
    RESOURCES = 12,
    ACQUIRE_MS = 30000,
    RELEASE_MS = 5000,
    VERIFY_MS = 5000
};

/* ---- Opening --------------------------------------------------------------------------------- */

void lock_draw_resource(struct handle *handle, size_t number, const char *family) {
    bool is_crowded = handle->kind->relatives > 0 || chance_once_in(&handle->chance, 2);
    snprintf(handle->resources[number], RESOURCE_SIZE, "/locks/chaos/%s-%d", family,
             (int)chance_below(&handle->chance, is_crowded ? CROWDED : RESOURCES));
    handle->resource_count = number + 1;
}

static void note_if_set(history_line *line, const char *name, int64_t value) {
    if (value != 0) {
        history_number(line, name, value);
    }
}

static void note_options(history_line *line, const struct handle *handle) {
    const struct kind *kind = handle->kind;
    history_begin_object(line, "options");
    history_text(line, "client", handle->client->caller.who);
    history_number(line, "session_timeout_ms", handle->client->session_timeout_ms);
    note_if_set(line, "lease_tick_ms", handle->contender->options.lease_tick_ms);
    note_if_set(line, "hand_offs", kind->hand_offs);
    note_if_set(line, "hand_off_ms", kind->hand_off_ms);
    note_if_set(line, "retain_ms", kind->retain_ms);
    note_if_set(line, "max_hold_ms", kind->max_hold_ms);
    note_if_set(line, "permits", kind->permits);
    note_if_set(line, "reentrant", kind->is_reentrant);
    note_if_set(line, "election", kind->opening == &a_candidate);
    note_if_set(line, "tell_contended", handle->tells_contended);
    note_if_set(line, "fail_on_session_expiry", handle->fails_on_session_expiry);
    history_end_object(line);
}

static void note_resources(history_line *line, const struct handle *handle) {
    if (handle->resource_count == 1) {
        history_text(line, "resource", handle->resources[0]);
        return;
    }
    const char *resources[RESOURCES_MAX];
    for (size_t i = 0; i < handle->resource_count; i++) {
        resources[i] = handle->resources[i];
    }
    history_texts(line, "resources", resources, handle->resource_count);
}

void lock_begin_open(struct handle *handle, struct call *call) {
    call_prepare(call, &handle->caller, "open");
    note_resources(&call->line, handle);
    history_text(&call->line, "kind", handle->kind->name);
    call_begin(call);
}

void lock_end_open(struct handle *handle, struct call *call, int status) {
    call_end(call, status);
    note_options(&call->line, handle);
    call_note(call);
    handle->is_open = status == ZKL_OK;
}

static const char *state_name(zkl_lock_state state) {
    static const char *const names[] = { [ZKL_STATE_HELD] = "HELD",
                                         [ZKL_STATE_SUSPECT] = "SUSPECT",
                                         [ZKL_STATE_LOST] = "LOST",
                                         [ZKL_STATE_REVOKE_REQUESTED] = "REVOKE_REQUESTED",
                                         [ZKL_STATE_CONTENDED] = "CONTENDED" };
    return names[state];
}

static void on_state(void *arg, const zkl_lock_event *event) {
    struct handle *handle = arg;
    history_line line;
    history_begin(&line, handle->caller.who, "callback");
    history_text(&line, "what", "state");
    history_text(&line, "state", state_name(event->state));
    if (event->state == ZKL_STATE_CONTENDED) {
        history_text(&line, "resource", event->resource);
        atomic_store(&handle->contended, event->token);
    }
    if (event->reason != ZKL_OK) {
        history_text(&line, "reason", zkl_status_name(event->reason));
    }
    history_token(&line, event->token, event->local_number);
    history_write(&line);
}

int lock_draw_fail_on_session_expiry(struct handle *handle) {
    enum { SOMETIMES = 4 };
    handle->fails_on_session_expiry = chance_once_in(&handle->chance, SOMETIMES);
    return handle->fails_on_session_expiry;
}

static int draw_tell_contended(struct handle *handle) {
    enum { SOMETIMES = 4 };
    handle->tells_contended = chance_once_in(&handle->chance, SOMETIMES);
    return handle->tells_contended;
}

void lock_draw_options(struct handle *handle, zkl_lock_options *options, zkl_lending *lending) {
    const struct kind *kind = handle->kind;
    bool lends = kind->hand_offs > 0 || kind->retain_ms > 0;
    *options = (zkl_lock_options)ZKL_LOCK_OPTIONS_INIT;
    options->owner = handle->caller.who;
    options->permits = kind->permits;
    options->reentrant = kind->is_reentrant;
    options->max_hold_ms = kind->max_hold_ms;
    options->state_callback = on_state;
    options->state_arg = handle;
    options->tell_contended = draw_tell_contended(handle);
    if (!lends) { /* handles that share a place must say the same */
        options->fail_on_session_expiry = lock_draw_fail_on_session_expiry(handle);
    }
    *lending = (zkl_lending)ZKL_LENDING_INIT;
    lending->hand_offs = kind->hand_offs;
    lending->hand_off_ms = kind->hand_off_ms;
    lending->retain_ms = kind->retain_ms;
    options->lending = lends ? lending : NULL;
}

static void open_lock(struct handle *handle) {
    lock_draw_resource(handle, 0, handle->kind->family);
    zkl_lock_options options;
    zkl_lending lending;
    lock_draw_options(handle, &options, &lending);
    struct call call;
    lock_begin_open(handle, &call);
    int status = zkl_lock_open(handle->client->zkl, handle->resources[0], &options, &handle->lock);
    lock_end_open(handle, &call, status);
}

void lock_begin_close(struct handle *handle, struct call *call) {
    call_prepare(call, &handle->caller, "close");
    call_begin(call);
}

void lock_end_close(struct handle *handle, struct call *call) {
    call_end(call, ZKL_OK);
    call_note(call);
    handle->is_open = false;
}

void lock_close(struct handle *handle) {
    struct call call;
    lock_begin_close(handle, &call);
    zkl_lock_close(handle->lock);
    lock_end_close(handle, &call);
}

const struct opening a_lock = { open_lock, lock_close };

/* ---- Acquiring ------------------------------------------------------------------------------- */

const char *lock_mode_name(const struct handle *handle) {
    const struct kind *kind = handle->kind;
    return kind->mode == ZKL_AS_OPENED ? NULL
           : kind->permits > 0         ? "permit"
                                       : zkl_lock_mode_name((int)kind->mode);
}

/* The session that the grant is of; 0: it cannot be told, as the lock may be lost already. */
static int64_t session_of(const struct handle *handle) {
    zkl_client_information now = ZKL_CLIENT_INFORMATION_INIT;
    (void)zkl_client_info(handle->client->zkl, &now);
    int status = zkl_lock_check(handle->lock, NULL); /* so the session has not ended before that */
    return status == ZKL_OK || status == ZKL_SUSPECT ? now.session_id : 0;
}

void lock_note_grant(history_line *line, const struct handle *handle, const char *mode) {
    int64_t session = session_of(handle);
    history_token(line, handle->grant.token, handle->grant.local_number);
    if (handle->grant.node[0] != '\0') { /* a campaign tells none */
        history_text(line, "node", handle->grant.node);
    }
    if (mode != NULL) {
        history_text(line, "mode", mode);
    }
    if (session != 0) {
        history_session(line, session);
    }
}

void lock_note_request(history_line *line, const struct handle *handle, int64_t timeout_ms) {
    note_resources(line, handle);
    if (lock_mode_name(handle) != NULL) {
        history_text(line, "mode", lock_mode_name(handle));
    }
    history_number(line, "deadline_ms", timeout_ms);
}

bool lock_acquire_within(struct handle *handle, const char *what, int64_t timeout_ms) {
    struct call call;
    call_prepare(&call, &handle->caller, what);
    lock_note_request(&call.line, handle, timeout_ms);
    call_begin(&call);
    zkl_grant grant = ZKL_GRANT_INIT;
    int status = zkl_lock_acquire(handle->lock, handle->kind->mode, timeout_ms, &grant);
    call_end(&call, status);
    if (status == ZKL_OK) {
        handle->grant = grant;
        lock_note_grant(&call.line, handle, lock_mode_name(handle));
    }
    call_note(&call);
    return status == ZKL_OK;
}

bool lock_acquire(struct handle *handle) {
    return lock_acquire_within(handle, "acquire", ACQUIRE_MS);
}

bool lock_acquire_in_a_hurry(struct handle *handle) {
    enum { HURRY_MS = 150 };
    return lock_acquire_within(handle, "acquire", chance_between(&handle->chance, 1, HURRY_MS));
}

bool lock_try(struct handle *handle) {
    return lock_acquire_within(handle, "try", 0);
}

/* ---- Holding --------------------------------------------------------------------------------- */

int64_t lock_draw_hold(struct handle *handle) {
    static const struct {
        int64_t at_most_ms;
        unsigned once_in;
    } draws[] = {
        { 20000, 2000 }, /* it goes on when a fault is over: then the loss must have been told */
        { 2000, 300 },
        { 400, 30 },
        { 20, 1 },
    };
    size_t i = 0;
    while (!chance_once_in(&handle->chance, draws[i].once_in)) {
        i++;
    }
    return chance_between(&handle->chance, 0, draws[i].at_most_ms);
}

bool lock_check(struct handle *handle) {
    int64_t lease_left_ms = 0;
    struct call call;
    call_prepare(&call, &handle->caller, "check");
    call_begin(&call);
    int status = zkl_lock_check(handle->lock, &lease_left_ms);
    call_end(&call, status);
    history_number(&call.line, "lease_left_ms", lease_left_ms);
    call_note(&call);
    return status == ZKL_OK || status == ZKL_SUSPECT;
}

static bool verify(struct handle *handle) {
    struct call call;
    call_prepare(&call, &handle->caller, "verify");
    history_number(&call.line, "deadline_ms", VERIFY_MS);
    call_begin(&call);
    int status = zkl_lock_verify(handle->lock, VERIFY_MS);
    call_end(&call, status);
    call_note(&call);
    return status == ZKL_OK || status == ZKL_SUSPECT;
}

/* What a holder does in the midst of its work. Returns false if the lock is lost. */
static bool look(struct handle *handle) {
    enum { VERIFIES = 8 };
    const struct kind *kind = handle->kind;
    if (kind->writes_once_in > 0 && handle->contender->options.store != NULL &&
        chance_once_in(&handle->chance, kind->writes_once_in)) {
        return store_write(handle);
    }
    if (kind->commits_once_in > 0 && chance_once_in(&handle->chance, kind->commits_once_in)) {
        return guarded_commit(handle);
    }
    return chance_once_in(&handle->chance, VERIFIES) ? verify(handle) : lock_check(handle);
}

static void nap(int64_t time_ms) {
    struct timespec time = { .tv_sec = time_ms / 1000, .tv_nsec = time_ms % 1000 * 1000000 };
    (void)nanosleep(&time, NULL); /* a signal may end it early: then the work was short */
}

bool lock_hold_for(struct handle *handle, int64_t time_ms) {
    enum { STEP_MS = 50, LOOKS = 2 };
    for (int64_t left_ms = time_ms; left_ms > 0; left_ms -= STEP_MS) {
        nap(left_ms < STEP_MS ? left_ms : STEP_MS);
        if (chance_once_in(&handle->chance, LOOKS) && !look(handle)) {
            return false;
        }
    }
    return true;
}

/* As a job does that goes on while nobody minds: longer than the news of somebody may take. */
static void hold_until_contended(struct handle *handle) {
    enum { STEP_MS = 50, STEPS_MAX = 160 };
    int left = STEPS_MAX;
    while (left > 0 && atomic_load(&handle->contended) != handle->grant.token &&
           lock_hold_for(handle, STEP_MS)) {
        left--;
    }
}

void lock_hold(struct handle *handle) {
    enum { SOMETIMES = 4 };
    if (handle->tells_contended && chance_once_in(&handle->chance, SOMETIMES)) {
        hold_until_contended(handle);
    } else {
        (void)lock_hold_for(handle, lock_draw_hold(handle));
    }
}

void lock_hold_and_check(struct handle *handle) {
    enum { STEP_MS = 2 };
    for (int64_t left_ms = lock_draw_hold(handle); left_ms > 0; left_ms -= STEP_MS) {
        nap(STEP_MS);
        if (!lock_check(handle)) {
            return;
        }
    }
}

/* The limit ends what would be far beyond all that the checker allows. */
void lock_hold_too_long(struct handle *handle) {
    enum { TOO_LONG = 3, FAR_TOO_LONG_MS = 8000 };
    bool is_too_long = chance_once_in(&handle->chance, TOO_LONG);
    (void)lock_hold_for(handle, is_too_long ? FAR_TOO_LONG_MS : lock_draw_hold(handle));
}

/* ---- Releasing ------------------------------------------------------------------------------- */

int64_t lock_draw_release_ms(struct handle *handle) {
    static const int64_t draws[] = { 0, 300, RELEASE_MS, RELEASE_MS };
    return draws[chance_between(&handle->chance, 0, sizeof(draws) / sizeof(draws[0]) - 1)];
}

void lock_release(struct handle *handle) {
    int64_t timeout_ms = lock_draw_release_ms(handle);
    struct call call;
    call_prepare(&call, &handle->caller, "release");
    history_number(&call.line, "deadline_ms", timeout_ms);
    call_begin(&call);
    int status = zkl_lock_release(handle->lock, timeout_ms);
    call_end(&call, status);
    call_note(&call);
}
