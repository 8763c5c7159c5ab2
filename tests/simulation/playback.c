#include "playback.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "recipe/request.h"

typedef struct played_request {
    uint64_t number;
    uint64_t session;
    char *path;
    char *companion; /* of its state; NULL: there is none */
    bool known;      /* its state is */
    bool played;
    uint64_t ended_at; /* a record; 0: not yet */
    zkl_request state;
    struct played_request *next;
    UT_hash_handle handle;
} played_request;

/* A set, a loan, or what connects a session. */
typedef struct played_machine {
    uint64_t key; /* of which machine, and its number */
    record_state state;
    struct played_machine *next;
    UT_hash_handle handle;
} played_machine;

typedef struct playback {
    const playback_options *options;
    playback_result *result;
    record_reader reader;
    played_request *requests; /* by their number */
    played_request *last;     /* and the list of all */
    played_machine *machines; /* by their key */
    played_machine *last_machine;
} playback;

/* ---- Messages ----------------------------------------------------------------- */

__attribute__((format(printf, 3, 4))) static void stop(playback *self, playback_verdict verdict,
                                                       const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    self->result->verdict = verdict;
    vsnprintf(self->result->message, sizeof(self->result->message), format, arguments);
    va_end(arguments);
}

__attribute__((format(printf, 3, 4))) static void differ(playback *self, const record_entry *record,
                                                         const char *format, ...) {
    char what[3 * ZKL_RECORD_LINE_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof(what), format, arguments);
    va_end(arguments);
    const zkl_record_format *lists = &zkl_record_formats[record->machine];
    bool is_event = record->kind == RECORD_EVENT || record->kind == RECORD_STEP;
    stop(self, PLAYBACK_DIFFERS, "record %" PRIu64 ", %s %" PRIu64 ", %s: %s", record->number,
         lists->who, record->who,
         is_event ? lists->events.names.names[record->event.kind] : "STATE", what);
}

static zkl_text text_of(playback_line *line) {
    return (zkl_text){ .bytes = line->text, .size = sizeof(line->text) - 1 };
}

void playback_write_actions(playback_line *line, zkl_record_machine machine, const void *actions) {
    static _Thread_local zkl_packing packing;
    const zkl_record_head head = { .machine = (uint8_t)machine };
    zkl_packing_begin(&packing, &head);
    zkl_pack_actions(&packing, machine, actions);
    zkl_text text = text_of(line);
    zkl_packed packed = { packing.bytes + sizeof(head), packing.at };
    zkl_record_write_actions(&text, machine, &packed);
    line->text[text.length] = '\0';
}

void playback_write_field(playback_line *line, const zkl_record_field *field, const void *object) {
    zkl_text text = text_of(line);
    bool has_name = zkl_record_names_of(field->type) != NULL;
    bool is_silent = record_field_is_silent(field, object) && !has_name;
    const char *value = (const char *)object + field->offset;
    if (field->type == ZKL_RECORD_STRING && !is_silent) {
        value = *(const char *const *)(const void *)value;
    }
    zkl_packed packed = { value, value + (field->type == ZKL_RECORD_STRING && !is_silent
                                              ? strlen(value) + 1
                                              : field->size) };
    zkl_text_add(&text, is_silent ? "no " : "");
    zkl_text_add(&text, field->name);
    if (!is_silent && field->type != ZKL_RECORD_FLAG) {
        zkl_text_add(&text, "=");
        zkl_record_write_value(&text, field->type, &packed);
    }
    line->text[text.length] = '\0';
}

/* ---- Requests ------------------------------------------------------------------- */

/* NULL: out of memory. */
static played_request *find_or_add(playback *self, uint64_t number) {
    played_request *found = NULL;
    HASH_FIND(handle, self->requests, &number, sizeof(number), found);
    if (found == NULL) {
        found = calloc(1, sizeof(*found));
        if (found != NULL) {
            found->number = number;
            found->next = self->last;
            self->last = found;
            HASH_ADD(handle, self->requests, number, sizeof(number), found);
        }
    }
    return found;
}

static void free_requests(playback *self) {
    HASH_CLEAR(handle, self->requests);
    while (self->last != NULL) {
        played_request *one = self->last;
        self->last = one->next;
        free(one->path);
        free(one->companion);
        free(one);
    }
}

/* ---- States ----------------------------------------------------------------------- */

static bool is_same_state(playback *self, const record_entry *record, const void *recorded,
                          const void *played, const char *who) {
    const zkl_record_fields *fields = &zkl_record_formats[record->machine].state;
    for (size_t i = 0; i < fields->count; i++) {
        const zkl_record_field *field = &fields->list[i];
        playback_line expected;
        playback_line actual;
        playback_write_field(&expected, field, played);
        playback_write_field(&actual, field, recorded);
        if (strcmp(expected.text, actual.text) != 0) {
            differ(self, record, "the record has %s, but %s has %s", actual.text, who,
                   expected.text);
            return false;
        }
    }
    return true;
}

static bool take_first_state(playback *self, const record_entry *record, played_request *request) {
    const char *companion = record->state.request.options.companion;
    free(request->path);
    free(request->companion);
    request->path = strdup(record->path);
    request->companion = companion != NULL ? strdup(companion) : NULL;
    if (request->path == NULL || (companion != NULL && request->companion == NULL)) {
        stop(self, PLAYBACK_REFUSED, "out of memory");
        return false;
    }
    request->session = record->session;
    request->state = record->state.request;
    request->state.options.companion = request->companion;
    request->known = true;
    return true;
}

static bool play_state(playback *self, const record_entry *record, played_request *request) {
    if (!request->known) {
        return take_first_state(self, record, request);
    }
    if (request->session != record->session || strcmp(request->path, record->path) != 0) {
        differ(self, record, "session %" PRIu64 " and path %s were %" PRIu64 " and %s before",
               record->session, record->path, request->session, request->path);
        return false;
    }
    self->result->counts.states++;
    return is_same_state(self, record, &record->state, &request->state, "the recipe");
}

/* ---- Events ------------------------------------------------------------------------- */

static bool is_same_beginning(playback *self, const record_entry *record,
                              const zkl_request *request) {
    zkl_request begun;
    zkl_request_begin(&begun, &request->options, &request->session);
    return is_same_state(self, record, request, &begun, "a request that starts");
}

static bool does_the_same(playback *self, const record_entry *record, const void *actions) {
    playback_line actual;
    playback_line expected;
    playback_write_actions(&actual, record->machine, &record->actions);
    playback_write_actions(&expected, record->machine, actions);
    if (strcmp(expected.text, actual.text) != 0) {
        differ(self, record, "the record has%s, but the recipe does%s", actual.text, expected.text);
        return false;
    }
    self->result->counts.steps++;
    return true;
}

static bool step(playback *self, const record_entry *record, played_request *request) {
    zkl_actions actions;
    zkl_request_step(&request->state, &record->event.request, &actions);
    if (!does_the_same(self, record, &actions)) {
        return false;
    }
    self->result->counts.requests += request->played ? 0 : 1;
    request->played = true;
    request->ended_at = request->state.stage == ZKL_STAGE_ENDED ? record->number : 0;
    return true;
}

static bool play_event(playback *self, const record_entry *record, played_request *request) {
    if (!request->known) {
        if (self->reader.header.dropped == 0) {
            differ(self, record, "no STATE of the request comes before, though none was dropped");
            return false;
        }
        self->result->counts.skipped++;
        return true;
    }
    return (record->event.request.kind != ZKL_EVENT_START ||
            is_same_beginning(self, record, &request->state)) &&
           step(self, record, request);
}

/* ---- Requests as a whole ---------------------------------------------------------------- */

static void show(const playback *self, const playback_view *view) {
    if (self->options->visit != NULL) {
        playback_view whole = *view;
        whole.header = &self->reader.header;
        whole.line = self->reader.raw;
        self->options->visit(self->options->arg, &whole);
    }
}

static bool play_request(playback *self, const record_entry *record) {
    played_request *request = find_or_add(self, record->who);
    if (request == NULL) {
        stop(self, PLAYBACK_REFUSED, "out of memory");
        return false;
    }
    zkl_request before = request->state;
    bool was_known = request->known;
    bool same = true;
    if (request->ended_at != 0) {
        differ(self, record, "the request has ended with record %" PRIu64, request->ended_at);
        same = false;
    } else if (record->kind == RECORD_STATE) {
        same = play_state(self, record, request);
    } else if (record->kind == RECORD_TOO_LONG) {
        request->known = false;
    } else {
        same = play_event(self, record, request);
    }
    if (same) {
        show(self, &(playback_view){ .record = record,
                                     .skipped = record->kind == RECORD_EVENT && !was_known,
                                     .fields = &zkl_record_formats[ZKL_RECORD_REQUEST].state,
                                     .before = &before,
                                     .after = &request->state });
    }
    return same;
}

/* ---- Other machines -------------------------------------------------------------------- */

static void step_machine(record_state *state, const record_entry *record, record_actions *actions) {
    switch (record->machine) {
    case ZKL_RECORD_SET:
        zkl_set_step(&state->set, &record->event.set, &actions->set);
        break;
    case ZKL_RECORD_LOAN:
        zkl_lending_step(&state->loan, &record->event.loan, &actions->loan);
        break;
    default:
        zkl_connecting_step(&state->connecting, &record->event.connecting, &actions->connecting);
        break;
    }
}

/* NULL: out of memory. */
static played_machine *find_or_add_machine(playback *self, const record_entry *record) {
    uint64_t key = record->who * ZKL_RECORD_MACHINES + record->machine;
    played_machine *found = NULL;
    HASH_FIND(handle, self->machines, &key, sizeof(key), found);
    if (found == NULL) {
        found = calloc(1, sizeof(*found));
        if (found != NULL) {
            found->key = key;
            found->state = record->state;
            found->next = self->last_machine;
            self->last_machine = found;
            HASH_ADD(handle, self->machines, key, sizeof(found->key), found);
        }
    }
    return found;
}

static void free_machines(playback *self) {
    HASH_CLEAR(handle, self->machines);
    while (self->last_machine != NULL) {
        played_machine *one = self->last_machine;
        self->last_machine = one->next;
        free(one);
    }
}

/* Grants and returns of a loan that nobody else wants are not recorded; they change these only. */
static void take_over_routine(zkl_lending_state *loan, const zkl_lending_state *recorded) {
    if (loan->alone && recorded->alone && recorded->number >= loan->number) {
        loan->number = recorded->number;
        loan->holders = recorded->holders;
        loan->waiters = recorded->waiters;
    }
}

static bool play_step(playback *self, const record_entry *record) {
    record_actions actions;
    played_machine *machine = find_or_add_machine(self, record);
    if (machine == NULL) {
        stop(self, PLAYBACK_REFUSED, "out of memory");
        return false;
    }
    if (record->machine == ZKL_RECORD_LOAN) {
        take_over_routine(&machine->state.loan, &record->state.loan);
    }
    if (!is_same_state(self, record, &record->state, &machine->state, "the recipe")) {
        return false;
    }
    step_machine(&machine->state, record, &actions);
    if (!does_the_same(self, record, &actions)) {
        return false;
    }
    show(self, &(playback_view){ .record = record,
                                 .fields = &zkl_record_formats[record->machine].state,
                                 .before = &record->state,
                                 .after = &machine->state });
    return true;
}

/* ---- All of it ------------------------------------------------------------------------ */

static bool play_record(playback *self, const record_entry *record) {
    self->result->counts.records++;
    if (record->kind == RECORD_STEP) {
        return play_step(self, record);
    }
    if (record->kind != RECORD_NEWS) {
        return play_request(self, record);
    }
    show(self, &(playback_view){ .record = record });
    return true;
}

void playback_play(char *text, size_t length, const playback_options *options,
                   playback_result *result) {
    *result = (playback_result){ .verdict = PLAYBACK_SAME };
    playback *self = calloc(1, sizeof(*self));
    if (self == NULL) {
        result->verdict = PLAYBACK_REFUSED;
        return;
    }
    self->options = options;
    self->result = result;
    record_entry record;
    bool going_on = record_reader_begin(&self->reader, text, length, options->may_be_cut);
    while (going_on && record_reader_next(&self->reader, &record)) {
        going_on = play_record(self, &record);
    }
    if (self->reader.error[0] != '\0') {
        stop(self, PLAYBACK_REFUSED, "%s", self->reader.error);
    }
    free_requests(self);
    free_machines(self);
    free(self);
}

static char *read_file(const char *path, size_t *length) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return NULL;
    }
    char *text = NULL;
    size_t room = 0;
    *length = 0;
    do {
        if (room - *length < 2) {
            room = room == 0 ? BUFSIZ : 2 * room;
            char *larger = realloc(text, room);
            if (larger == NULL) {
                break;
            }
            text = larger;
        }
        *length += fread(text + *length, 1, room - *length - 1, file);
    } while (feof(file) == 0 && ferror(file) == 0);
    bool whole = feof(file) != 0;
    fclose(file);
    if (!whole) {
        free(text);
        return NULL;
    }
    return text;
}

void playback_play_file(const char *path, const playback_options *options,
                        playback_result *result) {
    size_t length = 0;
    char *text = read_file(path, &length);
    if (text == NULL) {
        *result = (playback_result){ .verdict = PLAYBACK_REFUSED };
        snprintf(result->message, sizeof(result->message), "%s", strerror(errno));
        return;
    }
    playback_play(text, length, options, result);
    free(text);
}
