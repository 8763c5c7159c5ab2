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

typedef struct played_set {
    uint64_t number;
    zkl_set state;
    struct played_set *next;
    UT_hash_handle handle;
} played_set;

typedef struct played_loan {
    uint64_t number;
    zkl_lending_state state;
    struct played_loan *next;
    UT_hash_handle handle;
} played_loan;

typedef struct playback {
    const playback_options *options;
    playback_result *result;
    record_reader reader;
    played_request *requests; /* by their number */
    played_request *last;     /* and the list of all */
    played_set *sets;         /* the same of sets */
    played_set *last_set;
    played_loan *loans; /* and of loans */
    played_loan *last_loan;
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
    const char *who = "request";
    uint64_t number = record->request;
    const char *kind = "STATE";
    if (record->kind == RECORD_SET_STEP) {
        who = "set";
        number = record->set;
        kind = zkl_record_set_events.names.names[record->set_event.kind];
    } else if (record->kind == RECORD_LOAN_STEP) {
        who = "loan";
        number = record->loan;
        kind = zkl_record_lending_events.names.names[record->loan_event.kind];
    } else if (record->kind == RECORD_EVENT) {
        kind = zkl_record_events.names.names[record->event.kind];
    }
    stop(self, PLAYBACK_DIFFERS, "record %" PRIu64 ", %s %" PRIu64 ", %s: %s", record->number, who,
         number, kind, what);
}

static zkl_text text_of(playback_line *line) {
    return (zkl_text){ .bytes = line->text, .size = sizeof(line->text) - 1 };
}

static void write_actions(playback_line *line, const zkl_actions *actions) {
    zkl_text text = text_of(line);
    zkl_record_write_actions(&text, actions);
    line->text[text.length] = '\0';
}

void playback_write_field(playback_line *line, const zkl_record_field *field, const void *object) {
    zkl_text text = text_of(line);
    bool has_name = zkl_record_names_of(field->type) != NULL;
    if (zkl_record_field_is_silent(field, object) && !has_name) {
        zkl_text_add(&text, "no ");
        zkl_text_add(&text, field->name);
    } else {
        zkl_record_write_field(&text, field, object);
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

static bool is_same_state(playback *self, const record_entry *record,
                          const zkl_record_fields *fields, const void *recorded, const void *played,
                          const char *who) {
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
    const char *companion = record->state.options.companion;
    free(request->path);
    free(request->companion);
    request->path = strdup(record->path);
    request->companion = companion != NULL ? strdup(companion) : NULL;
    if (request->path == NULL || (companion != NULL && request->companion == NULL)) {
        stop(self, PLAYBACK_REFUSED, "out of memory");
        return false;
    }
    request->session = record->session;
    request->state = record->state;
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
    return is_same_state(self, record, &zkl_record_state_fields, &record->state, &request->state,
                         "the recipe");
}

/* ---- Events ------------------------------------------------------------------------- */

static bool is_same_beginning(playback *self, const record_entry *record,
                              const zkl_request *request) {
    zkl_request begun;
    zkl_request_begin(&begun, &request->options, &request->session);
    return is_same_state(self, record, &zkl_record_state_fields, request, &begun,
                         "a request that starts");
}

static bool does_the_same(playback *self, const record_entry *record, const playback_line *actual,
                          const playback_line *expected) {
    if (strcmp(expected->text, actual->text) != 0) {
        differ(self, record, "the record has%s, but the recipe does%s", actual->text,
               expected->text);
        return false;
    }
    self->result->counts.steps++;
    return true;
}

static bool step(playback *self, const record_entry *record, played_request *request) {
    zkl_actions actions;
    zkl_request_step(&request->state, &record->event, &actions);
    playback_line actual;
    playback_line expected;
    write_actions(&actual, &record->actions);
    write_actions(&expected, &actions);
    if (!does_the_same(self, record, &actual, &expected)) {
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
    return (record->event.kind != ZKL_EVENT_START ||
            is_same_beginning(self, record, &request->state)) &&
           step(self, record, request);
}

/* ---- All of it ------------------------------------------------------------------------ */

static void show(const playback *self, const playback_view *view) {
    if (self->options->visit != NULL) {
        playback_view whole = *view;
        whole.header = &self->reader.header;
        whole.line = self->reader.raw;
        self->options->visit(self->options->arg, &whole);
    }
}

static bool play_request(playback *self, const record_entry *record) {
    played_request *request = find_or_add(self, record->request);
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
                                     .fields = &zkl_record_state_fields,
                                     .before = &before,
                                     .after = &request->state });
    }
    return same;
}

static void write_set_step(playback_line *line, const record_entry *record,
                           const zkl_set_actions *actions) {
    zkl_text text = text_of(line);
    zkl_record_write_set_step(&text, &record->set_state, &record->set_event, actions);
    line->text[text.length] = '\0';
}

/* NULL: out of memory. */
static played_set *find_or_add_set(playback *self, const record_entry *record) {
    played_set *found = NULL;
    HASH_FIND(handle, self->sets, &record->set, sizeof(record->set), found);
    if (found == NULL) {
        found = calloc(1, sizeof(*found));
        if (found != NULL) {
            found->number = record->set;
            found->state = record->set_state;
            found->next = self->last_set;
            self->last_set = found;
            HASH_ADD(handle, self->sets, number, sizeof(found->number), found);
        }
    }
    return found;
}

static bool play_set(playback *self, const record_entry *record) {
    zkl_set_actions actions;
    playback_line actual;
    playback_line expected;
    played_set *set = find_or_add_set(self, record);
    if (set == NULL) {
        stop(self, PLAYBACK_REFUSED, "out of memory");
        return false;
    }
    if (!is_same_state(self, record, &zkl_record_set_fields, &record->set_state, &set->state,
                       "the recipe")) {
        return false;
    }
    zkl_set_step(&set->state, &record->set_event, &actions);
    write_set_step(&actual, record, &record->set_actions);
    write_set_step(&expected, record, &actions);
    if (!does_the_same(self, record, &actual, &expected)) {
        return false;
    }
    show(self, &(playback_view){ .record = record,
                                 .fields = &zkl_record_set_fields,
                                 .before = &record->set_state,
                                 .after = &set->state });
    return true;
}

static void free_sets(playback *self) {
    HASH_CLEAR(handle, self->sets);
    while (self->last_set != NULL) {
        played_set *one = self->last_set;
        self->last_set = one->next;
        free(one);
    }
}

static void write_loan_step(playback_line *line, const record_entry *record,
                            const zkl_lending_actions *actions) {
    zkl_text text = text_of(line);
    zkl_record_write_lending_step(&text, &record->loan_state, &record->loan_event, actions);
    line->text[text.length] = '\0';
}

/* NULL: out of memory. */
static played_loan *find_or_add_loan(playback *self, const record_entry *record) {
    played_loan *found = NULL;
    HASH_FIND(handle, self->loans, &record->loan, sizeof(record->loan), found);
    if (found == NULL) {
        found = calloc(1, sizeof(*found));
        if (found != NULL) {
            found->number = record->loan;
            found->state = record->loan_state;
            found->next = self->last_loan;
            self->last_loan = found;
            HASH_ADD(handle, self->loans, number, sizeof(found->number), found);
        }
    }
    return found;
}

/* Grants and returns of a loan that nobody else wants are not recorded; they change these only. */
static void take_over_routine(played_loan *loan, const record_entry *record) {
    const zkl_lending_state *recorded = &record->loan_state;
    if (loan->state.alone && recorded->alone && recorded->number >= loan->state.number) {
        loan->state.number = recorded->number;
        loan->state.holders = recorded->holders;
        loan->state.waiters = recorded->waiters;
    }
}

static bool play_loan(playback *self, const record_entry *record) {
    zkl_lending_actions actions;
    playback_line actual;
    playback_line expected;
    played_loan *loan = find_or_add_loan(self, record);
    if (loan == NULL) {
        stop(self, PLAYBACK_REFUSED, "out of memory");
        return false;
    }
    take_over_routine(loan, record);
    if (!is_same_state(self, record, &zkl_record_lending_fields, &record->loan_state, &loan->state,
                       "the recipe")) {
        return false;
    }
    zkl_lending_step(&loan->state, &record->loan_event, &actions);
    write_loan_step(&actual, record, &record->loan_actions);
    write_loan_step(&expected, record, &actions);
    if (!does_the_same(self, record, &actual, &expected)) {
        return false;
    }
    show(self, &(playback_view){ .record = record,
                                 .fields = &zkl_record_lending_fields,
                                 .before = &record->loan_state,
                                 .after = &loan->state });
    return true;
}

static void free_loans(playback *self) {
    HASH_CLEAR(handle, self->loans);
    while (self->last_loan != NULL) {
        played_loan *one = self->last_loan;
        self->last_loan = one->next;
        free(one);
    }
}

static bool play_record(playback *self, const record_entry *record) {
    self->result->counts.records++;
    if (record->kind == RECORD_SET_STEP) {
        return play_set(self, record);
    }
    if (record->kind == RECORD_LOAN_STEP) {
        return play_loan(self, record);
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
    free_sets(self);
    free_loans(self);
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
