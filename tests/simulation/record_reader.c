#include "record_reader.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- Errors: the first one stays, and everything after it does nothing ------- */

__attribute__((format(printf, 2, 3))) static void refuse(record_reader *reader, const char *format,
                                                         ...) {
    if (reader->error[0] != '\0') {
        return;
    }
    int length = snprintf(reader->error, sizeof(reader->error), "line %zu: ", reader->line);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reader->error + length, sizeof(reader->error) - (size_t)length, format, arguments);
    va_end(arguments);
}

static bool is_good(const record_reader *reader) {
    return reader->error[0] == '\0';
}

/* ---- Lines --------------------------------------------------------------------- */

static void check_bytes(record_reader *reader, const char *line, size_t length) {
    for (size_t i = 0; i < length; i++) {
        if (line[i] < ' ' || line[i] > '~') {
            refuse(reader, "byte %zu is not printable ASCII", i + 1);
            return;
        }
    }
}

/* False: there is no more, or a line without an end. */
static bool take_line(record_reader *reader) {
    size_t left = (size_t)(reader->end - reader->next);
    char *end = left > 0 ? memchr(reader->next, '\n', left) : NULL;
    reader->line++;
    if (end == NULL) {
        reader->was_cut = true;
        if (!reader->may_be_cut) {
            refuse(reader, left == 0 ? "the end is missing: the file was cut"
                                     : "must end in a newline: the file was cut");
        }
        return false;
    }
    if (end - reader->next >= ZKL_RECORD_LINE_MAX) {
        refuse(reader, "must not be longer than %d bytes", ZKL_RECORD_LINE_MAX);
        return false;
    }
    check_bytes(reader, reader->next, (size_t)(end - reader->next));
    *end = '\0';
    memcpy(reader->raw, reader->next, (size_t)(end - reader->next) + 1);
    reader->word = reader->next;
    reader->next = end + 1;
    return is_good(reader);
}

/* ---- Words ---------------------------------------------------------------------- */

static bool at_end(const record_reader *reader) {
    return reader->word == NULL;
}

/* The next word, which ends at a space or with the line; "" where there is none. */
static char *take_word(record_reader *reader, const char *what) {
    static char none[] = "";
    char *word = reader->word;
    if (!is_good(reader)) {
        return none;
    }
    if (word == NULL || *word == '\0' || *word == ' ') {
        refuse(reader, "%s is missing", what);
        return none;
    }
    char *space = strchr(word, ' ');
    reader->word = NULL;
    if (space != NULL) {
        *space = '\0';
        reader->word = space + 1;
    }
    return word;
}

static void expect_end(record_reader *reader) {
    if (is_good(reader) && !at_end(reader)) {
        refuse(reader, "\"%.60s\" is one word too many", reader->word);
    }
}

/* Whether that comes next. */
static bool is_field(const record_reader *reader, const char *name) {
    return !at_end(reader) && strncmp(reader->word, name, strlen(name)) == 0;
}

/* The value of the field that comes next: of "name=value". */
static char *take_field(record_reader *reader, const char *name) {
    char *word = take_word(reader, name);
    size_t length = strlen(name);
    if (is_good(reader) && (strncmp(word, name, length) != 0 || word[length] != '=')) {
        refuse(reader, "\"%.60s\" stands where %s= must be", word, name);
    }
    return is_good(reader) ? word + length + 1 : word;
}

/* ---- Values ----------------------------------------------------------------------- */

static int hex_digit(char digit) {
    const char *digits = "0123456789ABCDEF";
    const char *at = digit != '\0' ? strchr(digits, digit) : NULL;
    return at != NULL ? (int)(at - digits) : -1;
}

/* Takes %XX back, in place. Only what must be escaped is. */
static void unescape(record_reader *reader, char *value) {
    char *to = value;
    for (const char *from = value; *from != '\0' && is_good(reader); from++) {
        unsigned char byte = (unsigned char)*from;
        if (byte == '%') {
            int high = hex_digit(from[1]);
            int low = high >= 0 ? hex_digit(from[2]) : -1;
            byte = low >= 0 ? (unsigned char)(high * 16 + low) : 0;
            if (byte == 0 || !zkl_record_is_escaped(byte)) {
                refuse(reader, "\"%.3s\" is not %%XX for a byte that needs it", from);
                break;
            }
            from += 2;
        } else if (zkl_record_is_escaped(byte)) {
            refuse(reader, "'%c' must be escaped in \"%.60s\"", byte, value);
        }
        *to++ = (char)byte;
    }
    *to = '\0';
}

static char *take_text(record_reader *reader, const char *name) {
    char *value = take_field(reader, name);
    if (is_good(reader)) {
        unescape(reader, value);
    }
    return value;
}

static char *take_filled_text(record_reader *reader, const char *name) {
    char *value = take_text(reader, name);
    if (is_good(reader) && *value == '\0') {
        refuse(reader, "%s must not be empty", name);
    }
    return value;
}

/* A number just as the library writes it: that it can be written again tells. */
static int64_t parse_number(record_reader *reader, const char *what, const char *digits,
                            int64_t lowest) {
    int64_t number = 0;
    char again[32];
    if (!is_good(reader)) {
        return 0;
    }
    bool read = sscanf(digits, "%" SCNd64, &number) == 1;
    snprintf(again, sizeof(again), "%" PRId64, number);
    if (!read || strcmp(again, digits) != 0) {
        refuse(reader, "%s \"%.40s\" is not a decimal number", what, digits);
    } else if (number < lowest) {
        refuse(reader, "%s must be at least %" PRId64, what, lowest);
    }
    return number;
}

static uint64_t parse_bits(record_reader *reader, const char *what, const char *digits) {
    uint64_t bits = 0;
    char again[32];
    if (!is_good(reader)) {
        return 0;
    }
    bool read = sscanf(digits, "%" SCNx64, &bits) == 1;
    snprintf(again, sizeof(again), "0x%" PRIx64, bits);
    if (!read || strcmp(again, digits) != 0) {
        refuse(reader, "%s \"%.40s\" is not a number of the form 0x1f", what, digits);
    }
    return bits;
}

static int64_t take_number(record_reader *reader, const char *name, int64_t lowest) {
    return parse_number(reader, name, take_field(reader, name), lowest);
}

static unsigned parse_name(record_reader *reader, const char *what, const char *name,
                           const zkl_record_names *names) {
    for (unsigned i = 0; i < names->count; i++) {
        if (strcmp(names->names[i], name) == 0) {
            return i;
        }
    }
    if (is_good(reader)) {
        refuse(reader, "\"%.60s\" is no %s", name, what);
    }
    return 0;
}

static int parse_status(record_reader *reader, const char *name) {
#define STATUS_IF_NAMED(status, value, text)                                                       \
    if (strcmp(name, #status) == 0) {                                                              \
        return status;                                                                             \
    }
    ZKL_STATUS_LIST(STATUS_IF_NAMED)
#undef STATUS_IF_NAMED
    int64_t number = parse_number(reader, "status", name, INT32_MIN);
    if (is_good(reader) && (number > INT32_MAX || zkl_record_status_name((int)number) != NULL)) {
        refuse(reader, "status \"%.40s\" must be a name of the header, or another int", name);
    }
    return is_good(reader) ? (int)number : 0;
}

static void check_guid(record_reader *reader, const char *guid) {
    if (is_good(reader) && strlen(guid) != ZKL_GUID_SIZE - 1) {
        refuse(reader, "guid \"%.60s\" must have %d characters", guid, ZKL_GUID_SIZE - 1);
    }
}

/* ---- Fields ------------------------------------------------------------------------- */

static size_t split_names(record_reader *reader, char *value) {
    size_t count = 0;
    while (is_good(reader) && value != NULL && *value != '\0') {
        if (count == RECORD_NAMES_MAX) {
            refuse(reader, "a list has at most %d names", RECORD_NAMES_MAX);
            break;
        }
        char *comma = strchr(value, ',');
        if (comma != NULL) {
            *comma = '\0';
        }
        if (*value == '\0' || (comma != NULL && comma[1] == '\0')) {
            refuse(reader, "a child's name must not be empty");
            break;
        }
        unescape(reader, value);
        reader->names[count++] = value;
        value = comma != NULL ? comma + 1 : NULL;
    }
    return count;
}

static void *at(const zkl_record_field *field, void *object) {
    return (char *)object + field->offset;
}

bool record_field_is_silent(const zkl_record_field *field, const void *object) {
    const void *value = (const char *)object + field->offset;
    switch (field->type) {
    case ZKL_RECORD_CHILDREN:
        return ((const zkl_listed *)value)->count == 0;
    case ZKL_RECORD_FLAG:
    case ZKL_RECORD_GUID:
    case ZKL_RECORD_NAME:
        return *(const char *)value == '\0';
    case ZKL_RECORD_NUMBER:
        return *(const int64_t *)value == 0;
    case ZKL_RECORD_STRING:
        return *(const char *const *)value == NULL;
    default:
        return *(const unsigned *)value == 0;
    }
}

static void store_unsigned(record_reader *reader, const zkl_record_field *field, void *object,
                           uint64_t value) {
    unsigned narrow = (unsigned)value;
    if (is_good(reader) && narrow != value) {
        refuse(reader, "%s is too large", field->name);
    }
    *(unsigned *)at(field, object) = narrow;
}

static void store_text(record_reader *reader, const zkl_record_field *field, void *object,
                       const char *value) {
    size_t length = strlen(value);
    if (length >= field->size) {
        refuse(reader, "%s must not be longer than %zu bytes", field->name, field->size - 1);
    } else {
        memcpy(at(field, object), value, length + 1);
    }
}

static zkl_listed take_names(record_reader *reader, char *value) {
    size_t count = split_names(reader, value);
    return zkl_contenders_read((zkl_children){ reader->names, count }, reader->children);
}

static void take_value(record_reader *reader, const zkl_record_field *field, void *object) {
    char *value = take_field(reader, field->name);
    switch (field->type) {
    case ZKL_RECORD_FLAG:
        break;
    case ZKL_RECORD_COUNT:
        store_unsigned(reader, field, object,
                       (uint64_t)parse_number(reader, field->name, value, 0));
        break;
    case ZKL_RECORD_BITS:
        store_unsigned(reader, field, object, parse_bits(reader, field->name, value));
        break;
    case ZKL_RECORD_NUMBER:
        *(int64_t *)at(field, object) = parse_number(reader, field->name, value, INT64_MIN);
        break;
    case ZKL_RECORD_STATUS:
        *(int *)at(field, object) = parse_status(reader, value);
        break;
    case ZKL_RECORD_STRING:
        unescape(reader, value);
        *(const char **)at(field, object) = value;
        break;
    case ZKL_RECORD_GUID:
    case ZKL_RECORD_NAME:
        unescape(reader, value);
        store_text(reader, field, object, value);
        break;
    case ZKL_RECORD_CHILDREN:
        *(zkl_listed *)at(field, object) = take_names(reader, value);
        break;
    default:
        store_unsigned(reader, field, object,
                       parse_name(reader, field->name, value, zkl_record_names_of(field->type)));
        break;
    }
}

/* Whether the next word is this field: its name alone, or with a value. */
static bool is_next(const record_reader *reader, const zkl_record_field *field) {
    size_t length = strlen(field->name);
    if (reader->word == NULL || !is_field(reader, field->name)) {
        return false;
    }
    char after = reader->word[length];
    return field->type == ZKL_RECORD_FLAG ? after == '\0' || after == ' ' : after == '=';
}

static void take_next(record_reader *reader, const zkl_record_field *field, void *object) {
    if (field->type == ZKL_RECORD_FLAG) {
        (void)take_word(reader, field->name);
        *(bool *)at(field, object) = true;
        return;
    }
    take_value(reader, field, object);
    bool is_empty = field->type == ZKL_RECORD_STRING ? **(const char **)at(field, object) == '\0'
                                                     : record_field_is_silent(field, object);
    if (is_good(reader) && is_empty) {
        refuse(reader, "%s is not to be written when it is zero or empty", field->name);
    }
}

/* Those that are there, in their order. */
static void take_fields(record_reader *reader, const zkl_record_fields *fields, void *object) {
    for (size_t i = 0; i < fields->count && is_good(reader); i++) {
        if (is_next(reader, &fields->list[i])) {
            take_next(reader, &fields->list[i], object);
        }
    }
}

/* ---- Events ------------------------------------------------------------------------- */

static unsigned take_kind(record_reader *reader, const char *what, const char *name,
                          const zkl_record_kinds *kinds) {
    return parse_name(reader, what, name, &kinds->names);
}

static void take_event(record_reader *reader, record_entry *record, const char *name) {
    static const char shortened[] = "shortened_from";
    const zkl_record_kinds *kinds = &zkl_record_formats[ZKL_RECORD_REQUEST].events;
    zkl_event *event = &record->event.request;
    *event = (zkl_event){ .kind = (zkl_event_kind)take_kind(reader, "event", name, kinds) };
    bool is_shortened = is_field(reader, shortened);
    int64_t whole = is_shortened ? take_number(reader, shortened, 1) : 0;
    take_fields(reader, &kinds->fields, event);
    int64_t names = (int64_t)event->children.count;
    if (is_good(reader) && is_shortened && (names > ZKL_RECORD_SHORTENED_MAX || names > whole)) {
        refuse(reader, "a shortened list has at most %d names, and no more than it had",
               ZKL_RECORD_SHORTENED_MAX);
    }
    if (event->guid != NULL) {
        check_guid(reader, event->guid);
    }
}

/* The recipe looks at the name without asking whether there is one. */
static void check_node(record_reader *reader, const zkl_event *event) {
    bool names_node = event->kind == ZKL_EVENT_CREATED && event->outcome == ZKL_OUTCOME_OK;
    if (is_good(reader) && names_node && event->node == NULL) {
        refuse(reader, "node is missing");
    }
}

/* ---- Actions ------------------------------------------------------------------------ */

/* Of a machine: how many a step may have, and structs that begin with their kind. */
typedef struct action_list {
    size_t most;
    size_t size; /* of one */
    size_t offset;
} action_list;

#define LIST_OF_ACTIONS(type, max)                                                                 \
    { max, sizeof(((type *)NULL)->list[0]), offsetof(type, list) }

static const action_list action_lists[ZKL_RECORD_MACHINES] = {
    [ZKL_RECORD_REQUEST] = LIST_OF_ACTIONS(zkl_actions, ZKL_ACTIONS_MAX),
    [ZKL_RECORD_SET] = LIST_OF_ACTIONS(zkl_set_actions, ZKL_SET_ACTIONS_MAX),
    [ZKL_RECORD_LOAN] = LIST_OF_ACTIONS(zkl_lending_actions, ZKL_LENDING_ACTIONS_MAX),
    [ZKL_RECORD_CONNECTING] = LIST_OF_ACTIONS(zkl_connecting_actions, ZKL_CONNECTING_ACTIONS_MAX),
};

static void take_action(record_reader *reader, record_entry *record, const char *name) {
    const action_list *list = &action_lists[record->machine];
    const zkl_record_kinds *kinds = &zkl_record_formats[record->machine].actions;
    if (record->actions.count == list->most) {
        refuse(reader, "a step has at most %zu actions", list->most);
        return;
    }
    char *action = (char *)&record->actions + list->offset + record->actions.count++ * list->size;
    memset(action, 0, list->size);
    unsigned kind = take_kind(reader, "action", name, kinds);
    memcpy(action, &kind, sizeof(kind));
    take_fields(reader, &kinds->fields, action);
}

static void take_actions(record_reader *reader, record_entry *record) {
    record->actions.count = 0;
    const char *arrow = take_word(reader, "->");
    if (is_good(reader) && strcmp(arrow, "->") != 0) {
        refuse(reader, "\"%.60s\" stands where -> must be", arrow);
    }
    const char *first = take_word(reader, "an action, or nothing,");
    if (is_good(reader) && strcmp(first, "nothing") != 0) {
        take_action(reader, record, first);
        while (is_good(reader) && !at_end(reader)) {
            take_action(reader, record, take_word(reader, "an action"));
        }
    }
    expect_end(reader);
}

/* ---- States --------------------------------------------------------------------------- */

static void take_state(record_reader *reader, record_entry *record) {
    zkl_request *state = &record->state.request;
    record->session = (uint64_t)take_number(reader, "session", 1);
    record->path = take_filled_text(reader, "path");
    take_fields(reader, &zkl_record_formats[ZKL_RECORD_REQUEST].state, state);
    if (is_good(reader) && !at_end(reader)) {
        refuse(reader, "\"%.60s\" is no field of a request's state, or not in its place",
               reader->word);
    }
    check_guid(reader, state->session.guid);
}

/* ---- Steps ------------------------------------------------------------------------------ */

/* The recipe counts the members that are under way down to 0. */
static void check_set(record_reader *reader, const record_entry *record) {
    const zkl_set *state = &record->state.set;
    bool ends = record->event.set.kind == ZKL_SET_EVENT_MEMBER_ENDED;
    if (state->size == 0 || (ends && state->under_way == 0)) {
        refuse(reader, "no member of the set is left");
    }
}

/* The recipe counts down who waits, who holds and what is written. */
static void check_loan(record_reader *reader, const record_entry *record) {
    const zkl_lending_state *state = &record->state.loan;
    zkl_lending_event_kind kind = record->event.loan.kind;
    bool is_short = (kind == ZKL_LENDING_EVENT_WENT && state->waiters == 0) ||
                    (kind == ZKL_LENDING_EVENT_RETURNED && state->holders == 0) ||
                    (kind == ZKL_LENDING_EVENT_WRITTEN && state->writes == 0);
    if (is_short || state->handed_on > state->hand_offs_max) {
        refuse(reader, "the loan has not what the event takes from it");
    }
}

static void check_step(record_reader *reader, const record_entry *record) {
    if (is_good(reader) && record->machine == ZKL_RECORD_SET) {
        check_set(reader, record);
    } else if (is_good(reader) && record->machine == ZKL_RECORD_LOAN) {
        check_loan(reader, record);
    }
}

static void take_step(record_reader *reader, record_entry *record) {
    const zkl_record_format *format = &zkl_record_formats[record->machine];
    char what[32];
    snprintf(what, sizeof(what), "event of a %s", format->who);
    record->kind = RECORD_STEP;
    const char *step = take_word(reader, "STEP");
    if (is_good(reader) && strcmp(step, "STEP") != 0) {
        refuse(reader, "\"%.60s\" stands where STEP must be", step);
    }
    take_fields(reader, &format->state, &record->state);
    record->event.kind = take_kind(reader, what, take_word(reader, "the event"), &format->events);
    take_fields(reader, &format->events.fields, &record->event);
    take_actions(reader, record);
    check_step(reader, record);
}

/* ---- Records ---------------------------------------------------------------------------- */

static void take_news(record_reader *reader, record_entry *record) {
    const char *state = take_word(reader, "the session's state");
    record->news =
        (zkl_session_news){ .state = (zkl_session_state)parse_name(reader, "state of a session",
                                                                   state, &zkl_record_sessions) };
    if (is_good(reader) && record->news.state == ZKL_SESSION_STATE_CONNECTED) {
        record->news.session_id = (int64_t)parse_bits(reader, "id", take_field(reader, "id"));
        int64_t timeout_ms = take_number(reader, "timeout_ms", 0);
        record->news.timeout_ms = (int32_t)timeout_ms;
        if (is_good(reader) && timeout_ms > INT32_MAX) {
            refuse(reader, "timeout_ms is too large");
        }
    }
    expect_end(reader);
}

static void take_request_line(record_reader *reader, record_entry *record) {
    const char *kind = take_word(reader, "an event, STATE or TOO_LONG");
    if (strcmp(kind, "STATE") == 0) {
        record->kind = RECORD_STATE;
        take_state(reader, record);
    } else if (strcmp(kind, "TOO_LONG") == 0) {
        record->kind = RECORD_TOO_LONG;
        expect_end(reader);
    } else if (is_good(reader)) {
        record->kind = RECORD_EVENT;
        take_event(reader, record, kind);
        take_actions(reader, record);
        check_node(reader, &record->event.request);
    }
}

/* A line that names no machine is refused as one of a request. */
static zkl_record_machine machine_of(const record_reader *reader) {
    unsigned machine = ZKL_RECORD_MACHINES - 1;
    while (machine > ZKL_RECORD_REQUEST && !is_field(reader, zkl_record_formats[machine].who)) {
        machine--;
    }
    return (zkl_record_machine)machine;
}

static void take_record(record_reader *reader, record_entry *record, const char *number) {
    uint64_t expected = reader->header.dropped + reader->records + 1;
    record->number = (uint64_t)parse_number(reader, "the record's number", number, 1);
    if (is_good(reader) && record->number != expected) {
        refuse(reader, "record %" PRIu64 " stands where record %" PRIu64 " must be", record->number,
               expected);
    }
    record->ms = parse_number(reader, "the time", take_word(reader, "the time"), INT64_MIN);
    if (is_field(reader, "session=")) {
        record->kind = RECORD_NEWS;
        record->session = (uint64_t)take_number(reader, "session", 1);
        take_news(reader, record);
        return;
    }
    record->machine = machine_of(reader);
    record->who = (uint64_t)take_number(reader, zkl_record_formats[record->machine].who, 1);
    if (record->machine == ZKL_RECORD_REQUEST) {
        take_request_line(reader, record);
    } else {
        take_step(reader, record);
    }
}

static void take_footer(record_reader *reader) {
    uint64_t records = (uint64_t)take_number(reader, "records", 0);
    expect_end(reader);
    if (is_good(reader) && records != reader->records) {
        refuse(reader, "the file has %" PRIu64 " records, but ends with records=%" PRIu64,
               reader->records, records);
    }
    if (is_good(reader) && reader->next != reader->end) {
        reader->line++;
        refuse(reader, "nothing may follow the end");
    }
    reader->ended = true;
}

bool record_reader_next(record_reader *reader, record_entry *record) {
    if (!is_good(reader) || reader->ended || reader->was_cut || !take_line(reader)) {
        return false;
    }
    *record = (record_entry){ .kind = RECORD_EVENT };
    const char *first = take_word(reader, "the record's number");
    if (strcmp(first, "end") == 0) {
        take_footer(reader);
        return false;
    }
    take_record(reader, record, first);
    reader->records++;
    return is_good(reader);
}

static void take_header(record_reader *reader) {
    if (strcmp(take_word(reader, "zklock-record"), "zklock-record") != 0) {
        refuse(reader, "must begin with \"zklock-record\": this is no record");
    }
    int64_t version = take_number(reader, "version", 1);
    if (is_good(reader) && version != ZKL_RECORD_VERSION) {
        refuse(reader, "version %" PRId64 " is not known, only version %d", version,
               ZKL_RECORD_VERSION);
    }
    reader->header.library = take_filled_text(reader, "library");
    reader->header.process = (uint64_t)take_number(reader, "process", 1);
    reader->header.label = take_text(reader, "label");
    reader->header.opened = take_filled_text(reader, "opened");
    reader->header.opened_ms = take_number(reader, "opened_ms", INT64_MIN);
    reader->header.dropped = (uint64_t)take_number(reader, "dropped", 0);
    expect_end(reader);
}

bool record_reader_begin(record_reader *reader, char *text, size_t length, bool may_be_cut) {
    memset(reader, 0, sizeof(*reader));
    reader->next = text;
    reader->end = text + length;
    reader->may_be_cut = may_be_cut;
    text[length] = '\0';
    if (take_line(reader)) {
        take_header(reader);
    } else if (reader->was_cut) {
        refuse(reader, "the first line is missing");
    }
    return is_good(reader);
}
