#include "speaker.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "connection/connection.h"
#include "transcript.h"
#include "zklock/zklock.h"

enum { HEARD_SIZE = 8192, PATH_SIZE = 256, PATIENCE_MS = 60000, NAMES_MAX = 64 };

struct speaker {
    const char *name;
    stage_way *way;
    pthread_mutex_t mutex; /* for what follows */
    zkl_connection *connection;
    zkl_operations *operations;
    int64_t session_id;   /* as told by the latest news */
    int32_t timeout_ms;   /* as asked for */
    int open;             /* requests without an answer */
    const char *optional; /* may_hear; NULL: none */
    const char *secret;   /* of the scheme digest; NULL: nobody in particular */
    size_t secret_size;
    const char *scheme;
    bool is_asked;   /* who it is */
    const char *acl; /* of what it creates; NULL: open to all */
    char heard[HEARD_SIZE];
    char made[PATH_SIZE]; /* create_past_the_end: behind one in hand; empty: it was not */
};

typedef struct question {
    speaker *self;
    char text[TRANSCRIPT_LINE_SIZE];
} question;

static void give_up(const char *why) {
    fprintf(stderr, "conformance: %s\n", why);
    abort();
}

/* ---- What he hears: with the mutex held ------------------------------------------------ */

static void note(speaker *self, const char *what, const char *more) {
    size_t used = strlen(self->heard);
    int written = snprintf(self->heard + used, HEARD_SIZE - used, "%s%s\n", what, more);
    if (written < 0 || (size_t)written >= HEARD_SIZE - used) {
        give_up("too much is heard");
    }
}

static const char *outcome_name(const zkl_reply *reply) {
    static const char *const names[] = {
        [ZKL_OUTCOME_OK] = "OK",
        [ZKL_OUTCOME_NO_NODE] = "NO_NODE",
        [ZKL_OUTCOME_UNKNOWN] = "UNKNOWN",
        [ZKL_OUTCOME_NOT_NOW] = "NOT_NOW",
        [ZKL_OUTCOME_REFUSED] = "REFUSED",
        [ZKL_OUTCOME_SESSION_OVER] = "SESSION_OVER",
        [ZKL_OUTCOME_NOT_EMPTY] = "NOT_EMPTY",
    };
    if (reply->outcome == ZKL_OUTCOME_REFUSED && reply->status == ZKL_NO_PERMISSION) {
        return "REFUSED for want of permission";
    }
    return names[reply->outcome];
}

static void answered(question *asked, const zkl_reply *reply, const char *more) {
    char line[TRANSCRIPT_LINE_SIZE];
    snprintf(line, sizeof(line), ": %s%s", outcome_name(reply), more);
    note(asked->self, asked->text, line);
    asked->self->open--;
    free(asked);
}

static void on_done(void *arg, const zkl_reply *reply) {
    answered(arg, reply, "");
}

static void on_created(void *arg, const zkl_reply *reply) {
    char more[TRANSCRIPT_LINE_SIZE] = "";
    if (reply->outcome == ZKL_OUTCOME_OK) {
        snprintf(more, sizeof(more), ", %s, %s", transcript_path(reply->path),
                 transcript_zxid(reply->zxid).text);
    }
    answered(arg, reply, more);
}

/* Its number counts on: it is neither the last one nor refused. */
static void on_created_past_the_end(void *arg, const zkl_reply *reply) {
    question *asked = arg;
    const char *number = reply->outcome == ZKL_OUTCOME_OK ? strstr(reply->path, "--") : NULL;
    if (number == NULL) {
        on_created(asked, reply);
        return;
    }
    snprintf(asked->self->made, PATH_SIZE, "%s", reply->path);
    asked->self->open--;
    free(asked);
}

static void on_deleted_unheard(void *arg, const zkl_reply *reply) {
    speaker *self = arg;
    if (reply->outcome != ZKL_OUTCOME_OK) {
        note(self, "cannot delete ", self->made);
    }
    self->open--;
}

static void on_exists(void *arg, const zkl_reply *reply) {
    char more[TRANSCRIPT_LINE_SIZE] = "";
    if (reply->outcome == ZKL_OUTCOME_OK) {
        snprintf(more, sizeof(more), ", %s, of %s", transcript_zxid(reply->zxid).text,
                 transcript_session(reply->ephemeral_owner).text);
    }
    answered(arg, reply, more);
}

/* Of each operation, and which one has failed. */
static void on_transacted(void *arg, const zkl_reply *reply) {
    char more[TRANSCRIPT_LINE_SIZE] = "";
    size_t used = 0;
    for (size_t i = 0; i < reply->result_count && used < sizeof(more); i++) {
        const zkl_multi_result *result = &reply->results[i];
        bool failed = reply->outcome != ZKL_OUTCOME_OK && reply->failed == i;
        used +=
            (size_t)snprintf(more + used, sizeof(more) - used, "%s%s%s%s%s", i == 0 ? ": " : ", ",
                             failed ? zkl_strerror(result->status)
                                    : outcome_name(&(zkl_reply){ .outcome = result->outcome }),
                             failed ? " (failed)" : "", result->path != NULL ? " " : "",
                             result->path != NULL ? transcript_path(result->path) : "");
    }
    answered(arg, reply, more);
}

static void on_set(void *arg, const zkl_reply *reply) {
    char more[TRANSCRIPT_LINE_SIZE] = "";
    if (reply->outcome == ZKL_OUTCOME_OK) {
        snprintf(more, sizeof(more), ", version %d, %s", (int)reply->version,
                 transcript_zxid(reply->zxid).text);
    }
    answered(arg, reply, more);
}

static void on_got(void *arg, const zkl_reply *reply) {
    char more[TRANSCRIPT_LINE_SIZE] = "";
    if (reply->outcome == ZKL_OUTCOME_OK) {
        snprintf(more, sizeof(more), ", \"%.*s\", version %d, %s, of %s, %d children, last %s",
                 (int)reply->data_length, reply->data != NULL ? reply->data : "",
                 (int)reply->version, transcript_zxid(reply->zxid).text,
                 transcript_session(reply->ephemeral_owner).text, (int)reply->child_count,
                 transcript_zxid(reply->children_zxid).text);
    }
    answered(arg, reply, more);
}

static void on_got_acl(void *arg, const zkl_reply *reply) {
    char more[TRANSCRIPT_LINE_SIZE] = "";
    if (reply->outcome == ZKL_OUTCOME_OK) {
        snprintf(more, sizeof(more), ", %.*s", (int)reply->data_length, reply->data);
    }
    answered(arg, reply, more);
}

static int compare_names(const void *one, const void *other) {
    return strcmp(*(const char *const *)one, *(const char *const *)other);
}

/* In the order of the alphabet: that of the servers is any. */
static void on_listed(void *arg, const zkl_reply *reply) {
    const char *names[NAMES_MAX];
    char more[TRANSCRIPT_LINE_SIZE] = "";
    size_t count = reply->children.count;
    if (count > NAMES_MAX) {
        give_up("too many children");
    }
    for (size_t i = 0; i < count; i++) {
        names[i] = reply->children.names[i];
    }
    if (count > 0) {
        qsort(names, count, sizeof(names[0]), compare_names);
    }
    for (size_t i = 0; i < count; i++) {
        size_t used = strlen(more);
        snprintf(more + used, sizeof(more) - used, "%s%s", i > 0 ? " " : ", ", names[i]);
    }
    answered(arg, reply, more);
}

static void on_session(void *arg, const zkl_session_news *news) {
    speaker *self = arg;
    char line[TRANSCRIPT_LINE_SIZE] = "";
    switch (news->state) {
    case ZKL_SESSION_STATE_CONNECTING:
        note(self, "connecting", "");
        break;
    case ZKL_SESSION_STATE_CONNECTED:
        self->session_id = news->session_id;
        snprintf(line, sizeof(line), " as %s, timeout %d ms",
                 transcript_session(news->session_id).text, (int)news->timeout_ms);
        note(self, "connected", line);
        break;
    case ZKL_SESSION_STATE_EXPIRED:
        note(self, "expired", "");
        break;
    case ZKL_SESSION_STATE_AUTH_FAILED:
        note(self, "authentication failed", "");
        break;
    }
}

static void on_answered(void *arg) {
    (void)arg;
}

static void on_awaits_credential(void *arg) {
    ((speaker *)arg)->is_asked = true;
}

static bool next_credential(void *arg, size_t index, zkl_credential *credential) {
    const speaker *self = arg;
    if (index == 0) {
        credential->scheme = self->scheme;
        credential->secret = self->secret;
        credential->size = self->secret_size;
    }
    return index == 0;
}

/* With the mutex held. */
static void introduce_himself(speaker *self) {
    if (self->is_asked) {
        self->is_asked = false;
        pthread_mutex_unlock(&self->mutex);
        (void)zkl_connection_introduce(self->connection);
        pthread_mutex_lock(&self->mutex);
    }
}

static void on_watch(void *arg, uint64_t watch_id, zkl_watch_event event) {
    char line[TRANSCRIPT_LINE_SIZE];
    snprintf(line, sizeof(line), " %d: %s", (int)watch_id,
             event == ZKL_WATCH_EVENT_DELETED   ? "deleted"
             : event == ZKL_WATCH_EVENT_CHANGED ? "changed"
                                                : "something else");
    note(arg, "watch", line);
}

/* ---- Beginning and end ------------------------------------------------------------------ */

static void begin_to_connect(speaker *self) {
    transcript_add("%s > open", self->name);
    if (zkl_connection_open(self->connection, stage_way_addresses(self->way), self->timeout_ms) !=
        ZKL_OK) {
        give_up("a connection cannot be opened");
    }
}

static speaker *open_speaker(const char *name, int32_t timeout_ms, const char *scheme,
                             const char *secret, size_t secret_size) {
    speaker *self = calloc(1, sizeof(*self));
    zkl_listener listener = { .arg = self,
                              .session = on_session,
                              .watch_fired = on_watch,
                              .answered = on_answered,
                              .next_credential = secret != NULL ? next_credential : NULL,
                              .awaits_credential = on_awaits_credential };
    if (self == NULL) {
        give_up("out of memory");
        return NULL;
    }
    self->name = name;
    self->timeout_ms = timeout_ms;
    self->scheme = scheme;
    self->secret = secret;
    self->secret_size = secret_size;
    self->way = stage_way_open();
    pthread_mutex_init(&self->mutex, NULL);
    self->connection = zkl_connection_make(&self->mutex, &listener);
    if (self->connection == NULL) {
        give_up("out of memory");
    }
    self->operations = zkl_connection_operations(self->connection);
    begin_to_connect(self);
    return self;
}

speaker *speaker_open(const char *name, int32_t timeout_ms) {
    return open_speaker(name, timeout_ms, NULL, NULL, 0);
}

speaker *speaker_enter(const char *name) {
    speaker *self = speaker_open(name, SESSION_MS);
    hear_until(self, "connected");
    return self;
}

speaker *speaker_enter_as(const char *name, const char *scheme, const char *secret, size_t size) {
    speaker *self = open_speaker(name, SESSION_MS, scheme, secret, size);
    transcript_add("%s > shows %s of the scheme %s", name, secret, scheme);
    return self;
}

void use_acl(speaker *self, const char *acl) {
    transcript_add("%s > from now on creates with the ACL %s", self->name,
                   acl != NULL ? acl : "that is open to all");
    self->acl = acl;
}

/* With the mutex held. */
static void write_down(speaker *self) {
    char *rest = NULL;
    for (const char *line = strtok_r(self->heard, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        if (self->optional == NULL || strcmp(line, self->optional) != 0) {
            transcript_add("%s < %s", self->name, line);
        }
    }
    self->heard[0] = '\0';
}

static void close_connection(speaker *self) {
    transcript_add("%s > close", self->name);
    zkl_connection_close(self->connection);
    pthread_mutex_lock(&self->mutex);
    write_down(self);
    pthread_mutex_unlock(&self->mutex);
}

void speaker_leave(speaker *self) {
    close_connection(self);
    stage_way_close(self->way);
    zkl_connection_free(self->connection);
    pthread_mutex_destroy(&self->mutex);
    free(self);
}

void speaker_reopen(speaker *self) {
    close_connection(self);
    begin_to_connect(self);
    hear_until(self, "connected");
}

void speaker_abandon(speaker *self) {
    transcript_add("%s > abandon", self->name);
    pthread_mutex_lock(&self->mutex);
    zkl_connection_abandon(self->connection);
    pthread_mutex_unlock(&self->mutex);
}

/* ---- What he asks -------------------------------------------------------------------------- */

static question *make_question(speaker *self, const char *text) {
    question *asked = malloc(sizeof(*asked));
    if (asked == NULL) {
        give_up("out of memory");
        return NULL;
    }
    snprintf(asked->text, sizeof(asked->text), "%s", text);
    asked->self = self;
    return asked;
}

/* With the mutex held. */
static void note_sent(speaker *self, question *asked, zkl_outcome outcome) {
    if (outcome != ZKL_OUTCOME_OK) {
        self->open--;
        free(asked);
    }
}

static void tell_asked(const speaker *self, const char *text, const char *more,
                       zkl_outcome outcome) {
    const zkl_reply reply = { .outcome = outcome };
    transcript_add("%s > %s%s%s%s", self->name, text, more,
                   outcome != ZKL_OUTCOME_OK ? ": at once " : "",
                   outcome != ZKL_OUTCOME_OK ? outcome_name(&reply) : "");
}

static zkl_outcome send_operation(speaker *self, const zkl_operation *operation,
                                  zkl_reply_callback *done, void *arg) {
    return self->operations->table->send(self->operations, operation, done, arg);
}

/* `operation.path` is told without the stage's root, and asked for with it. */
static zkl_outcome send_question(speaker *self, const char *what, zkl_operation operation,
                                 zkl_reply_callback *done) {
    char full_path[PATH_SIZE];
    char text[TRANSCRIPT_LINE_SIZE];
    snprintf(full_path, sizeof(full_path), "%s%s", stage_root(), operation.path);
    snprintf(text, sizeof(text), "%s %s", what, operation.path);
    operation.path = full_path;
    operation.acl = self->acl;
    question *asked = make_question(self, text);
    pthread_mutex_lock(&self->mutex);
    self->open++;
    zkl_outcome outcome = send_operation(self, &operation, done, asked);
    note_sent(self, asked, outcome);
    pthread_mutex_unlock(&self->mutex);
    return outcome;
}

static void ask(speaker *self, const char *what, zkl_operation operation,
                zkl_reply_callback *done) {
    char text[TRANSCRIPT_LINE_SIZE];
    char watch_text[32] = "";
    if (operation.watch_id != 0) {
        snprintf(watch_text, sizeof(watch_text), ", watch %d", (int)operation.watch_id);
    }
    snprintf(text, sizeof(text), "%s %s", what, operation.path);
    tell_asked(self, text, watch_text, send_question(self, what, operation, done));
}

static void tell_operation_asked(const speaker *self, const zkl_multi_operation *operation) {
    static const char *const names[] = {
        [ZKL_MULTI_CHECK] = "check",
        [ZKL_MULTI_CREATE_PERSISTENT] = "create",
        [ZKL_MULTI_CREATE_PERSISTENT_SEQUENTIAL] = "create numbered",
        [ZKL_MULTI_CREATE_EPHEMERAL] = "create ephemeral",
        [ZKL_MULTI_CREATE_EPHEMERAL_SEQUENTIAL] = "create ephemeral numbered",
        [ZKL_MULTI_SET] = "set",
        [ZKL_MULTI_REMOVE] = "delete",
    };
    transcript_add("%s >   %s %s", self->name, names[operation->kind], operation->path);
}

void ask_transact(speaker *self, const zkl_multi_operation *operations, size_t count) {
    char paths[SPEAKER_OPERATIONS_MAX][PATH_SIZE];
    zkl_multi_operation all[SPEAKER_OPERATIONS_MAX];
    for (size_t i = 0; i < count; i++) {
        snprintf(paths[i], sizeof(paths[i]), "%s%s", stage_root(), operations[i].path);
        all[i] = operations[i];
        all[i].path = paths[i];
    }
    question *asked = make_question(self, "transact");
    pthread_mutex_lock(&self->mutex);
    self->open++;
    zkl_outcome outcome = send_operation(
        self,
        &(zkl_operation){
            .kind = ZKL_OPERATION_TRANSACTION, .all = all, .count = count, .acl = self->acl },
        on_transacted, asked);
    note_sent(self, asked, outcome);
    pthread_mutex_unlock(&self->mutex);
    tell_asked(self, "transact", "", outcome);
    for (size_t i = 0; i < count; i++) {
        tell_operation_asked(self, &operations[i]);
    }
}

void ask_parent(speaker *self, const char *path) {
    ask(self, "parent", (zkl_operation){ .kind = ZKL_OPERATION_CREATE_PARENT, .path = path },
        on_done);
}

void ask_container(speaker *self, const char *path) {
    ask(self, "container",
        (zkl_operation){ .kind = ZKL_OPERATION_CREATE_PARENT, .path = path, .container = true },
        on_done);
}

void ask_create(speaker *self, const char *path) {
    ask(self, "create",
        (zkl_operation){ .kind = ZKL_OPERATION_CREATE, .path = path, .data = "data" }, on_created);
}

/* False: it has been made behind one in hand, with this number. */
static bool try_past_the_end(speaker *self, const char *path, int64_t number) {
    char counting_on[PATH_SIZE];
    snprintf(counting_on, sizeof(counting_on), "%s%s%" PRId64, stage_root(), path, number);
    self->made[0] = '\0';
    (void)send_question(
        self, "create",
        (zkl_operation){ .kind = ZKL_OPERATION_CREATE, .path = path, .data = "data" },
        on_created_past_the_end);
    hear(self);
    if (strcmp(self->made, counting_on) != 0) {
        return true;
    }
    pthread_mutex_lock(&self->mutex);
    self->open++;
    (void)send_operation(self, &(zkl_operation){ .kind = ZKL_OPERATION_DELETE, .path = self->made },
                         on_deleted_unheard, self);
    pthread_mutex_unlock(&self->mutex);
    hear(self);
    return false;
}

void create_past_the_end(speaker *self, const char *path, int64_t counting_on) {
    transcript_add("%s > create %s", self->name, path);
    while (!try_past_the_end(self, path, counting_on)) {
        counting_on++;
    }
    if (self->made[0] != '\0') {
        transcript_add("%s < made %s, and not number %" PRId64, self->name,
                       transcript_path(self->made), counting_on);
    }
}

void ask_list(speaker *self, const char *path) {
    ask(self, "list", (zkl_operation){ .kind = ZKL_OPERATION_LIST_CHILDREN, .path = path },
        on_listed);
}

void ask_children(speaker *self, const char *path, uint64_t watch) {
    ask(self, "list",
        (zkl_operation){ .kind = ZKL_OPERATION_LIST_CHILDREN, .path = path, .watch_id = watch },
        on_listed);
}

void ask_exists(speaker *self, const char *path, uint64_t watch) {
    ask(self, "exists",
        (zkl_operation){ .kind = ZKL_OPERATION_EXISTS, .path = path, .watch_id = watch },
        on_exists);
}

void ask_delete(speaker *self, const char *path) {
    ask(self, "delete", (zkl_operation){ .kind = ZKL_OPERATION_DELETE, .path = path }, on_done);
}

void ask_unwatch(speaker *self, const char *path) {
    ask(self, "unwatch", (zkl_operation){ .kind = ZKL_OPERATION_REMOVE_WATCHES, .path = path },
        on_done);
}

void ask_unwatch_children(speaker *self, const char *path) {
    ask(self, "unwatch children",
        (zkl_operation){
            .kind = ZKL_OPERATION_REMOVE_WATCHES, .path = path, .watch_kind = ZKL_WATCH_CHILDREN },
        on_done);
}

void ask_get(speaker *self, const char *path) {
    ask(self, "get", (zkl_operation){ .kind = ZKL_OPERATION_GET, .path = path }, on_got);
}

void ask_set(speaker *self, const char *path) {
    ask(self, "set",
        (zkl_operation){
            .kind = ZKL_OPERATION_SET, .path = path, .data = "other", .version = ZKL_ANY_VERSION },
        on_set);
}

void ask_set_first(speaker *self, const char *path) {
    ask(self, "set if never set",
        (zkl_operation){ .kind = ZKL_OPERATION_SET, .path = path, .data = "first", .version = 0 },
        on_set);
}

void ask_get_acl(speaker *self, const char *path) {
    ask(self, "get ACL", (zkl_operation){ .kind = ZKL_OPERATION_GET_ACL, .path = path },
        on_got_acl);
}

void ask_set_acl(speaker *self, const char *path) {
    ask(self, "set ACL",
        (zkl_operation){ .kind = ZKL_OPERATION_SET_ACL,
                         .path = path,
                         .acl = self->acl,
                         .version = ZKL_ANY_VERSION },
        on_done);
}

/* ---- Waiting -------------------------------------------------------------------------------- */

static bool has_heard(const char *heard, const char *beginning) {
    size_t length = strlen(beginning);
    const char *line = heard;
    while (line != NULL && strncmp(line, beginning, length) != 0) {
        line = strchr(line, '\n');
        line += line != NULL ? 1 : 0;
    }
    return line != NULL;
}

/* Writes all down if it is what the conversation waits for, or the last chance. */
static bool take(speaker *self, const char *beginning, bool last) {
    pthread_mutex_lock(&self->mutex);
    introduce_himself(self);
    bool all = self->open == 0 && (*beginning == '\0' || has_heard(self->heard, beginning));
    if (all || last) {
        write_down(self);
    }
    pthread_mutex_unlock(&self->mutex);
    return all;
}

void hear_until(speaker *self, const char *beginning) {
    int64_t until_ms = self->operations->table->now_ms(self->operations) + PATIENCE_MS;
    while (!take(self, beginning, false)) {
        if (self->operations->table->now_ms(self->operations) >= until_ms) {
            (void)take(self, beginning, true);
            transcript_add("%s %s for %s", self->name, TRANSCRIPT_IN_VAIN,
                           *beginning != '\0' ? beginning : "an answer");
            return;
        }
        stage_nap();
    }
}

void hear(speaker *self) {
    hear_until(self, "");
}

void count_watches(const speaker *self) {
    transcript_add("* the servers keep %d watches of %s", stage_watches(self->session_id),
                   self->name);
}

void may_hear(speaker *self, const char *line) {
    transcript_add("%s may hear %s", self->name, line);
    pthread_mutex_lock(&self->mutex);
    self->optional = line;
    pthread_mutex_unlock(&self->mutex);
}

void catch_up(speaker *self) {
    ask_delete(self, "/nothing");
    hear(self);
}

/* ---- Faults --------------------------------------------------------------------------------- */

static void cut(speaker *self, stage_request kind, stage_loss loss, bool then_away) {
    transcript_add("* the next %s of %s is lost, and the connection%s",
                   loss == STAGE_REQUEST_LOST ? "request" : "reply", self->name,
                   then_away ? ", and there is no other" : "");
    stage_way_cut_next(self->way, self->session_id, kind, loss, then_away);
}

void cut_next(speaker *self, stage_request kind, stage_loss loss) {
    cut(self, kind, loss, false);
}

void cut_next_and_stay_away(speaker *self, stage_request kind, stage_loss loss) {
    cut(self, kind, loss, true);
}

void admit(speaker *self) {
    transcript_add("* %s can connect", self->name);
    stage_way_admit(self->way);
}

void admit_without_watches(speaker *self) {
    transcript_add("* %s can connect, and his watches are turned away", self->name);
    stage_way_turn_watches_away(self->way);
    stage_way_admit(self->way);
    hear_until(self, "connected");
    stage_way_end_of_turning_away(self->way);
}

void forget_children(speaker *self, const char *path) {
    char full_path[PATH_SIZE];
    transcript_add("%s > forget children %s", self->name, path);
    snprintf(full_path, sizeof(full_path), "%s%s", stage_root(), path);
    pthread_mutex_lock(&self->mutex);
    self->operations->table->forget_watches(self->operations, full_path, ZKL_WATCH_CHILDREN);
    pthread_mutex_unlock(&self->mutex);
}

void expire(speaker *self) {
    transcript_add("* the session of %s is ended", self->name);
    stage_way_expire(self->way, self->session_id);
}

void move_session(speaker *self) {
    transcript_add("* the session of %s is taken to another server", self->name);
    stage_way_move(self->way, self->session_id);
}

/* ---- Others -----------------------------------------------------------------------------------
 */

void make_by_hand(const char *path) {
    transcript_add("* make %s", path);
    stage_make(path);
}

void delete_by_hand(const char *path) {
    transcript_add("* delete %s", path);
    stage_delete(path);
}

void enter_stranger(void) {
    transcript_add("* a stranger enters as %s", transcript_session(stage_stranger_enter()).text);
}

void make_as_stranger(const char *path, bool sequential) {
    transcript_add("* the stranger makes %s%s", path, sequential ? " and a number" : "");
    stage_stranger_make(path, sequential);
}

static const char *version_text(const stage_operation *operation) {
    static const char *const texts[] = { "", " if of version 0", " if of version 1" };
    return operation->kind == STAGE_OPERATION_CREATE ? "" : texts[operation->version + 1];
}

static void tell_operation(const stage_operation *operation, const stage_result *result) {
    static const char *const names[] = {
        [STAGE_OPERATION_CHECK] = "check",
        [STAGE_OPERATION_CREATE] = "create",
        [STAGE_OPERATION_DELETE] = "delete",
    };
    transcript_add("*   %s %s%s%s%s: %s%s%s", names[operation->kind], operation->path,
                   operation->ephemeral ? ", ephemeral" : "",
                   operation->sequential ? " and a number" : "", version_text(operation),
                   result->error, result->made[0] != '\0' ? ", " : "",
                   transcript_path(result->made));
}

void transact_as_stranger(const stage_operation *operations, int count) {
    stage_result results[STAGE_OPERATIONS_MAX] = { { .error = NULL } };
    const char *error = stage_stranger_transact(operations, count, results);
    transcript_add("* the stranger asks for all or nothing: %s", error);
    for (int i = 0; i < count; i++) {
        tell_operation(&operations[i], &results[i]);
    }
}

void leave_stranger(void) {
    transcript_add("* the stranger leaves");
    stage_stranger_leave();
}
