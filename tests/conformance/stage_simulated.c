/* The simulated ensemble, with the delays that it has by default. */
#include "stage.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "testing/ensemble.h"
#include "testing/world.h"

enum {
    PASSES = 200,
    NAP_US = 1000,
    PAUSE_US = 20000,
    PATIENCE_US = 60000000,
    TICK_MS = 500,
    CONTAINER_MS = 1000, /* as in ensemble/java.options */
    PATH_SIZE = 256
};

struct stage_way {
    char nothing; /* any address leads to the one ensemble that there is */
};

static zkl_ensemble *ensemble;
static int64_t stranger;
static stage_way the_way;

const char *stage_name(void) {
    return "simulated";
}

bool stage_is_the_measure(void) {
    return false;
}

int stage_passes(void) {
    return PASSES;
}

void stage_program_begin(void) {
}

const char *stage_root(void) {
    return "/conformance";
}

void stage_nap(void) {
    zkl_world_sleep_us(NAP_US);
}

static void require(bool done, const char *what, const char *path) {
    if (!done) {
        fprintf(stderr, "the simulated servers fail to %s %s\n", what, path);
        abort();
    }
}

static void make(int64_t session_id, const char *path, bool sequential) {
    zkl_server_error error =
        zkl_ensemble_create(ensemble, session_id, path, "", session_id != 0, sequential, NULL, 0);
    require(error == ZKL_SERVER_ERROR_NONE, "make", path);
}

void stage_begin(int pass) {
    zkl_ensemble_options options = zkl_ensemble_defaults();
    options.tick_ms = TICK_MS;
    options.container_ms = CONTAINER_MS;
    zkl_world_begin((uint64_t)pass + 1);
    ensemble = zkl_ensemble_begin(&options);
    make(0, stage_root(), false);
}

void stage_end(void) {
    zkl_ensemble_end();
    zkl_world_end();
}

/* ---- By hand ----------------------------------------------------------------------- */

static const char *full_path(const char *path) {
    static char full[PATH_SIZE];
    snprintf(full, sizeof(full), "%s%s", stage_root(), path);
    return full;
}

void stage_make(const char *path) {
    make(0, full_path(path), false);
}

void stage_delete(const char *path) {
    require(zkl_ensemble_delete(ensemble, full_path(path)) == ZKL_SERVER_ERROR_NONE, "delete",
            path);
}

int64_t stage_stranger_enter(void) {
    stranger = zkl_ensemble_make_session(ensemble);
    return stranger;
}

void stage_stranger_make(const char *path, bool sequential) {
    make(stranger, full_path(path), sequential);
}

static zkl_write operation_of(const stage_operation *operation, const char *path) {
    static const zkl_write_kind kinds[] = {
        [STAGE_OPERATION_CHECK] = ZKL_WRITE_CHECK,
        [STAGE_OPERATION_CREATE] = ZKL_WRITE_CREATE,
        [STAGE_OPERATION_DELETE] = ZKL_WRITE_DELETE,
    };
    return (zkl_write){
        .kind = kinds[operation->kind],
        .path = path,
        .ephemeral = operation->ephemeral,
        .sequential = operation->sequential,
        .version = operation->version,
    };
}

const char *stage_stranger_transact(const stage_operation *operations, int count,
                                    stage_result *results) {
    char paths[STAGE_OPERATIONS_MAX][PATH_SIZE];
    zkl_write asked[STAGE_OPERATIONS_MAX] = { { 0 } };
    zkl_operation_result answered[STAGE_OPERATIONS_MAX] = { { .path = NULL } };
    for (int i = 0; i < count; i++) {
        snprintf(paths[i], sizeof(paths[i]), "%s%s", stage_root(), operations[i].path);
        asked[i] = operation_of(&operations[i], paths[i]);
    }
    zkl_server_error error = zkl_ensemble_multi(ensemble, stranger, asked, (size_t)count, answered);
    for (int i = 0; i < count; i++) {
        results[i].error = zkl_server_error_name(answered[i].error);
        if (answered[i].path != NULL) {
            snprintf(results[i].made, sizeof(results[i].made), "%s", answered[i].path);
        }
    }
    return zkl_server_error_name(error);
}

static void end_session(int64_t session_id) {
    int64_t until_us = zkl_world_now_us() + PATIENCE_US;
    (void)zkl_ensemble_expire(ensemble, session_id);
    while (zkl_ensemble_session_is_alive(ensemble, session_id)) {
        require(zkl_world_now_us() < until_us, "end", "a session");
        stage_nap();
    }
}

int stage_watches(int64_t session_id) {
    return (int)zkl_ensemble_watch_count(ensemble, session_id);
}

void stage_stranger_leave(void) {
    end_session(stranger);
}

/* In 32 bits, as servers count. */
bool stage_set_creates(const stage_age *ages, int count) {
    for (int i = 0; i < count; i++) {
        int64_t creates = ages[i].creates;
        creates -= creates > INT32_MAX ? INT64_C(1) << 32 : 0;
        require(zkl_ensemble_set_creates(ensemble, full_path(ages[i].path), (int32_t)creates),
                "age", ages[i].path);
    }
    return true;
}

/* ---- The way -------------------------------------------------------------------------- */

static void refuse_all(int64_t for_us) {
    for (uint32_t i = 0; i < zkl_ensemble_server_count(ensemble); i++) {
        zkl_ensemble_refuse_connections(ensemble, i, for_us);
    }
}

stage_way *stage_way_open(void) {
    return &the_way;
}

void stage_way_close(stage_way *way) {
    (void)way;
    refuse_all(0);
}

const char *stage_way_addresses(const stage_way *way) {
    (void)way;
    return "simulated:2181";
}

void stage_way_cut_next(stage_way *way, int64_t session_id, stage_request kind, stage_loss loss,
                        bool then_away) {
    static const zkl_call_kind kinds[] = {
        [STAGE_CREATE] = ZKL_CALL_CREATE,
        [STAGE_DELETE] = ZKL_CALL_DELETE,
        [STAGE_LIST] = ZKL_CALL_LIST,
        [STAGE_EXISTS] = ZKL_CALL_EXISTS,
        [STAGE_GET] = ZKL_CALL_GET,
        [STAGE_SET] = ZKL_CALL_SET,
        [STAGE_REMOVE_WATCHES] = ZKL_CALL_REMOVE_WATCHES,
        [STAGE_TRANSACT] = ZKL_CALL_MULTI,
    };
    (void)way;
    zkl_ensemble_cut_next(
        ensemble, session_id, kinds[kind],
        loss == STAGE_REQUEST_LOST ? ZKL_CUT_REQUESTS_LOST : ZKL_CUT_WHEN_ANSWERED, 0);
    if (then_away) {
        refuse_all(INT32_MAX); /* half an hour; who is connected is not concerned */
    }
}

static bool all_are_up_to_date(void) {
    bool all = true;
    for (uint32_t i = 0; i < zkl_ensemble_server_count(ensemble); i++) {
        all &= zkl_ensemble_applied_zxid(ensemble, i) == zkl_ensemble_committed_zxid(ensemble);
    }
    return all;
}

/* Not while an attempt to connect is being refused: that would be chance. All servers have
 * been asked after a few milliseconds, and then there is a pause. */
void stage_way_admit(stage_way *way) {
    (void)way;
    zkl_world_sleep_us(PAUSE_US);
    while (!all_are_up_to_date()) {
        stage_nap();
    }
    refuse_all(0);
}

static void throttle_all(int64_t for_us) {
    for (uint32_t i = 0; i < zkl_ensemble_server_count(ensemble); i++) {
        zkl_ensemble_throttle(ensemble, i, for_us);
    }
}

void stage_way_turn_watches_away(stage_way *way) {
    (void)way;
    throttle_all(INT32_MAX);
}

void stage_way_end_of_turning_away(stage_way *way) {
    (void)way;
    zkl_world_sleep_us(PAUSE_US);
    throttle_all(0);
}

void stage_way_expire(stage_way *way, int64_t session_id) {
    (void)way;
    end_session(session_id);
}

void stage_way_move(stage_way *way, int64_t session_id) {
    (void)way;
    require(zkl_ensemble_move(ensemble, session_id), "move", "a session");
}
