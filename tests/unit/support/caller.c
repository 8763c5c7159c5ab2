#include "support/caller.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_SIZE = 512 };

/* ---- What it is given ------------------------------------------------------------------------ */

static void note(caller *self, const char *line) {
    size_t used = strlen(self->log);
    snprintf(self->log + used, sizeof(self->log) - used, "%s\n", line);
}

static const char *name_of(zkl_outcome outcome) {
    static const char *const names[] = {
        [ZKL_OUTCOME_OK] = "OK",
        [ZKL_OUTCOME_NO_NODE] = "NO_NODE",
        [ZKL_OUTCOME_UNKNOWN] = "UNKNOWN",
        [ZKL_OUTCOME_NOT_NOW] = "NOT_NOW",
        [ZKL_OUTCOME_REFUSED] = "REFUSED",
        [ZKL_OUTCOME_SESSION_OVER] = "SESSION_OVER",
        [ZKL_OUTCOME_NOT_EMPTY] = "NOT_EMPTY",
    };
    return names[outcome];
}

static void note_reply(caller *self, const char *what, const zkl_reply *reply, const char *more) {
    char line[LINE_SIZE];
    snprintf(line, sizeof(line), "%s %s%s%s", what, name_of(reply->outcome),
             more != NULL ? " " : "", more != NULL ? more : "");
    note(self, line);
}

static void on_created(void *arg, const zkl_reply *reply) {
    note_reply(arg, "create", reply, reply->path);
}

static void on_parent_made(void *arg, const zkl_reply *reply) {
    note_reply(arg, "parent", reply, NULL);
}

static int compare_names(const void *one, const void *other) {
    return strcmp(*(const char *const *)one, *(const char *const *)other);
}

static void on_listed(void *arg, const zkl_reply *reply) {
    const char *names[64];
    char line[LINE_SIZE] = "";
    size_t count = reply->children.count;
    for (size_t i = 0; i < count; i++) {
        names[i] = reply->children.names[i];
    }
    if (count > 0) {
        qsort(names, count, sizeof(names[0]), compare_names);
    }
    for (size_t i = 0; i < count; i++) {
        size_t used = strlen(line);
        snprintf(line + used, sizeof(line) - used, "%s%s", i > 0 ? " " : "", names[i]);
    }
    note_reply(arg, "list", reply, count > 0 ? line : NULL);
}

static void on_exists(void *arg, const zkl_reply *reply) {
    note_reply(arg, "exists", reply, NULL);
}

static void on_deleted(void *arg, const zkl_reply *reply) {
    note_reply(arg, "delete", reply, NULL);
}

static size_t add_result(char *line, const zkl_multi_result *result, const zkl_reply *reply,
                         size_t index) {
    bool failed = reply->outcome != ZKL_OUTCOME_OK && reply->failed == index;
    return (size_t)snprintf(line, LINE_SIZE / 2, "%s%s%s%s", name_of(result->outcome),
                            failed ? "!" : "", result->path != NULL ? " " : "",
                            result->path != NULL ? result->path : "");
}

/* Notes the result of each operation; the one that has failed has a mark. */
static void on_transacted(void *arg, const zkl_reply *reply) {
    char line[LINE_SIZE] = "";
    size_t used = 0;
    for (size_t i = 0; i < reply->result_count && used < LINE_SIZE / 2; i++) {
        used += (size_t)snprintf(line + used, sizeof(line) - used, i > 0 ? ", " : ": ");
        used += add_result(line + used, &reply->results[i], reply, i);
    }
    note_reply(arg, "transact", reply, used > 0 ? line : NULL);
}

static void on_session(void *arg, const zkl_session_news *news) {
    static const char *const lines[] = { "connecting", "connected", "expired", "auth failed" };
    caller *self = arg;
    note(self, lines[news->state]);
    if (news->state == ZKL_SESSION_STATE_CONNECTED) {
        self->session_id = news->session_id;
        self->timeout_ms = news->timeout_ms;
    }
}

static void on_watch(void *arg, uint64_t watch_id, zkl_watch_event event) {
    char line[LINE_SIZE];
    snprintf(line, sizeof(line), "watch %d %s", (int)watch_id,
             event == ZKL_WATCH_EVENT_DELETED ? "deleted" : "changed");
    note(arg, line);
}

void caller_forget_log(caller *self) {
    self->log[0] = '\0';
}

void caller_expect_log(caller *self, const char *const *lines, const char *file, int line) {
    char expected[CALLER_LOG_SIZE] = "";
    for (; *lines != NULL; lines++) {
        size_t used = strlen(expected);
        snprintf(expected + used, sizeof(expected) - used, "%s\n", *lines);
    }
    unit_expect_text(self->log, expected, "the caller's log", file, line);
    caller_forget_log(self);
}

/* ---- What it asks for ------------------------------------------------------------------------ */

static zkl_outcome ask(caller *self, zkl_operation operation, zkl_reply_callback *done) {
    return self->operations->table->send(self->operations, &operation, done, self);
}

zkl_outcome caller_create(caller *self, const char *path) {
    return ask(self, (zkl_operation){ .kind = ZKL_OPERATION_CREATE, .path = path, .data = "data" },
               on_created);
}

zkl_outcome caller_make_parent(caller *self, const char *path) {
    return ask(self, (zkl_operation){ .kind = ZKL_OPERATION_CREATE_PARENT, .path = path },
               on_parent_made);
}

zkl_outcome caller_make_container(caller *self, const char *path) {
    return ask(
        self,
        (zkl_operation){ .kind = ZKL_OPERATION_CREATE_PARENT, .path = path, .container = true },
        on_parent_made);
}

zkl_outcome caller_list(caller *self, const char *path) {
    return ask(self, (zkl_operation){ .kind = ZKL_OPERATION_LIST_CHILDREN, .path = path },
               on_listed);
}

zkl_outcome caller_exists(caller *self, const char *path, uint64_t watch) {
    return ask(self,
               (zkl_operation){ .kind = ZKL_OPERATION_WATCH, .path = path, .watch_id = watch },
               on_exists);
}

zkl_outcome caller_delete(caller *self, const char *path) {
    return ask(self, (zkl_operation){ .kind = ZKL_OPERATION_DELETE, .path = path }, on_deleted);
}

zkl_outcome caller_transact(caller *self, const zkl_multi_operation *operations, size_t count) {
    return ask(
        self,
        (zkl_operation){ .kind = ZKL_OPERATION_TRANSACTION, .all = operations, .count = count },
        on_transacted);
}

/* ---- Beginning and end ----------------------------------------------------------------------- */

void run_ms(int64_t ms) {
    zkl_world_sleep_us(ms * MS);
}

zkl_ensemble_options caller_options(void) {
    zkl_ensemble_options options = zkl_ensemble_defaults();
    options.tick_ms = 100;
    options.message_us = (zkl_range){ 100, 100 };
    options.link_us = (zkl_range){ 100, 100 };
    options.commit_us = (zkl_range){ 100, 100 };
    options.apply_us = (zkl_range){ 0, 0 };
    options.election_us = (zkl_range){ 300 * MS, 300 * MS };
    options.join_us = (zkl_range){ 10 * MS, 10 * MS };
    options.rates.close_reset = 0;
    return options;
}

zkl_ensemble *caller_world_begin(uint64_t seed, const zkl_ensemble_options *options) {
    zkl_ensemble_options quick = caller_options();
    zkl_world_begin(seed);
    return zkl_ensemble_begin(options != NULL ? options : &quick);
}

void caller_world_end(void) {
    zkl_ensemble_end();
    zkl_world_end();
}

static void on_answered(void *arg) {
    (void)arg;
}

void caller_open(caller *self, int32_t timeout_ms) {
    *self = (caller){ .session_id = 0 };
    pthread_mutex_init(&self->mutex, NULL);
    zkl_listener listener = {
        .arg = self, .session = on_session, .watch_fired = on_watch, .answered = on_answered
    };
    self->connection = zkl_connection_make(&self->mutex, &listener);
    self->operations = zkl_connection_operations(self->connection);
    EXPECT_INT(zkl_connection_open(self->connection, "here:2181", timeout_ms), ZKL_OK);
}

static void refuse_others(uint32_t server, int64_t for_us) {
    zkl_ensemble *ensemble = zkl_ensemble_current();
    for (uint32_t i = 0; i < zkl_ensemble_server_count(ensemble); i++) {
        if (i != server) {
            zkl_ensemble_refuse_connections(ensemble, i, for_us);
        }
    }
}

void caller_open_on(caller *self, int32_t timeout_ms, uint32_t server) {
    refuse_others(server, INT32_MAX);
    caller_open(self, timeout_ms);
    while (self->log[0] == '\0') {
        run_ms(1);
    }
    refuse_others(server, 0);
    EXPECT_LOG(self, "connected");
    EXPECT_INT(zkl_ensemble_session_server(zkl_ensemble_current(), self->session_id), server);
}

void caller_close(caller *self) {
    zkl_connection_close(self->connection);
    zkl_connection_free(self->connection);
    pthread_mutex_destroy(&self->mutex);
}
