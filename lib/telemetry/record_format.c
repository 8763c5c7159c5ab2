#include "telemetry/record_format.h"

#include <string.h>

#include "recipe/request_common.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* ---- Text ---------------------------------------------------------------- */

bool zkl_record_is_escaped(unsigned char byte) {
    return byte <= ' ' || byte >= 0x7f || byte == '%' || byte == ',';
}

/* How many bytes of a value are of those that most names have no others than. */
static size_t count_plain(const char *value) {
    size_t count = 0;
    while (value[count] >= '-' && value[count] < 0x7f) {
        count++;
    }
    return count;
}

void zkl_text_add_value(zkl_text *text, const char *value) {
    for (;;) {
        size_t plain = count_plain(value);
        zkl_text_add_bytes(text, value, plain);
        value += plain;
        if (*value == '\0') {
            return;
        }
        unsigned char byte = (unsigned char)*value;
        const char escaped[] = { '%', "0123456789ABCDEF"[byte >> 4U],
                                 "0123456789ABCDEF"[byte & 0xfU] };
        if (zkl_record_is_escaped(byte)) {
            zkl_text_add_bytes(text, escaped, sizeof(escaped));
        } else {
            zkl_text_add_bytes(text, value, 1);
        }
        value++;
    }
}

/* ---- Names --------------------------------------------------------------- */

#define NAME(name) #name,
#define ASKED(asked, answered) #asked,
#define ANSWERED(asked, answered) #answered,

#define LIST_OF(type, ...)                                                                         \
    { (type[]){ __VA_ARGS__ }, COUNT_OF(((type[]){ __VA_ARGS__ })) }
#define NAMES(...) LIST_OF(const char *const, __VA_ARGS__)

const zkl_record_names zkl_record_sessions = NAMES(
    [ZKL_SESSION_STATE_CONNECTING] = "DISCONNECTED", [ZKL_SESSION_STATE_CONNECTED] = "CONNECTED",
    [ZKL_SESSION_STATE_EXPIRED] = "EXPIRED", [ZKL_SESSION_STATE_AUTH_FAILED] = "AUTH_FAILED");

static const zkl_record_names enumerations[] = {
    [ZKL_RECORD_MODE] =
        NAMES([ZKL_EXCLUSIVE] = "EXCLUSIVE", [ZKL_READ] = "READ", [ZKL_WRITE] = "WRITE"),
    [ZKL_RECORD_OUTCOME] = NAMES(ZKL_OUTCOME_LIST(NAME)),
    [ZKL_RECORD_STAGE] = NAMES(ZKL_STAGE_LIST(NAME)),
    [ZKL_RECORD_OWN_NODE] = NAMES(ZKL_OWN_NODE_LIST(NAME)),
    [ZKL_RECORD_SET_STAGE] = NAMES(ZKL_SET_STAGE_LIST(NAME)),
    [ZKL_RECORD_LENDING_STAGE] = NAMES(ZKL_LENDING_STAGE_LIST(NAME)),
};

const zkl_record_names *zkl_record_names_of(zkl_record_type type) {
    return type >= ZKL_RECORD_MODE ? &enumerations[type] : NULL;
}

const char *zkl_record_status_name(int status) {
    const char *name = zkl_status_name(status);
    return strcmp(name, "unknown") != 0 ? name : NULL;
}

static void add_name(zkl_text *text, const zkl_record_names *names, unsigned value) {
    if (value < names->count) {
        zkl_text_add(text, names->names[value]);
    } else {
        zkl_text_add_number(text, value); /* memory that was overwritten: a reader refuses it */
    }
}

static void add_status(zkl_text *text, int status) {
    const char *name = zkl_record_status_name(status);
    if (name != NULL) {
        zkl_text_add(text, name);
    } else {
        zkl_text_add_number(text, status);
    }
}

/* ---- Fields --------------------------------------------------------------- */

#define FIELDS(...) LIST_OF(const zkl_record_field, __VA_ARGS__)
#define FIELD(owner, of, type, name)                                                               \
    { #of #name, sizeof(#of #name) - 1, ZKL_RECORD_##type, offsetof(owner, of name),               \
      sizeof(zkl_field_##type) },
#define EVENT_FIELD(of, type, name) FIELD(zkl_event, of, type, name)
#define ACTION_FIELD(of, type, name) FIELD(zkl_action, of, type, name)
#define SET_EVENT_FIELD(of, type, name) FIELD(zkl_set_event, of, type, name)
#define SET_ACTION_FIELD(of, type, name) FIELD(zkl_set_action, of, type, name)
#define SET_FIELD(of, type, name) FIELD(zkl_set, of, type, name)
#define LENDING_EVENT_FIELD(of, type, name) FIELD(zkl_lending_event, of, type, name)
#define LENDING_ACTION_FIELD(of, type, name) FIELD(zkl_lending_action, of, type, name)
#define LENDING_FIELD(of, type, name) FIELD(zkl_lending_state, of, type, name)
#define STATE_FIELD(of, type, name) FIELD(zkl_request, of, type, name)
#define PART(LIST, name, of) ZKL_REQUEST_##LIST(STATE_FIELD, of)

const zkl_record_kinds zkl_record_events = {
    NAMES("START", ZKL_OPERATION_LIST(ANSWERED) ZKL_NEWS_LIST(NAME)),
    FIELDS(ZKL_EVENT_FIELDS(EVENT_FIELD, )),
};
const zkl_record_kinds zkl_record_actions = {
    NAMES(ZKL_OPERATION_LIST(ASKED) ZKL_ORDER_LIST(NAME)),
    FIELDS(ZKL_ACTION_FIELDS(ACTION_FIELD, )),
};
const zkl_record_kinds zkl_record_set_events = {
    NAMES(ZKL_SET_EVENT_LIST(NAME)),
    FIELDS(ZKL_SET_EVENT_FIELDS(SET_EVENT_FIELD, )),
};
const zkl_record_kinds zkl_record_set_actions = {
    NAMES(ZKL_SET_ACTION_LIST(NAME)),
    FIELDS(ZKL_SET_ACTION_FIELDS(SET_ACTION_FIELD, )),
};
const zkl_record_kinds zkl_record_lending_events = {
    NAMES(ZKL_LENDING_EVENT_LIST(NAME)),
    FIELDS(ZKL_LENDING_EVENT_FIELDS(LENDING_EVENT_FIELD, )),
};
const zkl_record_kinds zkl_record_lending_actions = {
    NAMES(ZKL_LENDING_ACTION_LIST(NAME)),
    FIELDS(ZKL_LENDING_ACTION_FIELDS(LENDING_ACTION_FIELD, )),
};
const zkl_record_fields zkl_record_lending_fields = FIELDS(ZKL_LENDING_FIELDS(LENDING_FIELD, ));
const zkl_record_fields zkl_record_set_fields = FIELDS(ZKL_SET_FIELDS(SET_FIELD, ));
const zkl_record_fields zkl_record_state_fields =
    FIELDS(ZKL_REQUEST_SELF(STATE_FIELD, ) ZKL_REQUEST_PARTS(PART));

static const void *at(const zkl_record_field *field, const void *object) {
    return (const char *)object + field->offset;
}

bool zkl_record_field_is_silent(const zkl_record_field *field, const void *object) {
    const void *value = at(field, object);
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

static void add_children(zkl_text *text, zkl_listed children) {
    for (size_t i = 0; i < children.count && !text->too_long; i++) {
        zkl_text_add(text, i == 0 ? "" : ",");
        zkl_text_add_value(text, children.all[i].text);
    }
}

static void add_value(zkl_text *text, zkl_record_type type, const void *value) {
    switch (type) {
    case ZKL_RECORD_COUNT:
        zkl_text_add_number(text, *(const unsigned *)value);
        break;
    case ZKL_RECORD_BITS:
        zkl_text_add_bits(text, *(const unsigned *)value);
        break;
    case ZKL_RECORD_NUMBER:
        zkl_text_add_number(text, *(const int64_t *)value);
        break;
    case ZKL_RECORD_STATUS:
        add_status(text, *(const int *)value);
        break;
    case ZKL_RECORD_STRING:
        zkl_text_add_value(text, *(const char *const *)value);
        break;
    case ZKL_RECORD_GUID:
    case ZKL_RECORD_NAME:
        zkl_text_add_value(text, value);
        break;
    case ZKL_RECORD_CHILDREN:
        add_children(text, *(const zkl_listed *)value);
        break;
    default:
        add_name(text, zkl_record_names_of(type), *(const unsigned *)value);
        break;
    }
}

void zkl_record_write_field(zkl_text *text, const zkl_record_field *field, const void *object) {
    zkl_text_add_bytes(text, field->name, field->name_length);
    if (field->type != ZKL_RECORD_FLAG) {
        zkl_text_add(text, "=");
        add_value(text, field->type, at(field, object));
    }
}

static void add_fields(zkl_text *text, const zkl_record_fields *fields, const void *object) {
    for (size_t i = 0; i < fields->count; i++) {
        if (!zkl_record_field_is_silent(&fields->list[i], object)) {
            zkl_text_add(text, " ");
            zkl_record_write_field(text, &fields->list[i], object);
        }
    }
}

static void add_kind(zkl_text *text, const zkl_record_kinds *kinds, const void *object) {
    add_name(text, &kinds->names, *(const unsigned *)object);
    add_fields(text, &kinds->fields, object);
}

void zkl_record_write_state(zkl_text *text, const zkl_request *request) {
    add_fields(text, &zkl_record_state_fields, request);
}

/* ---- Long lists ------------------------------------------------------------ */

/* Whether one child is before ours. */
static bool is_earlier(const zkl_neighbour *child, const zkl_contenders_place *place) {
    return zkl_contenders_examine((zkl_listed){ .all = child, .count = 1 }, place).earlier == 1;
}

static void keep(zkl_children *kept, const char **names, const char *name) {
    for (size_t i = 0; i < kept->count; i++) {
        if (name != NULL && strcmp(names[i], name) == 0) {
            return;
        }
    }
    if (name != NULL) {
        names[kept->count++] = name;
    }
}

/* One that is before ours, and is not the blocker. */
static const char *find_other(zkl_listed children, const zkl_contenders_place *place,
                              const zkl_contenders_view *view) {
    for (size_t i = 0; view->blocker != NULL && view->earlier > 1 && i < children.count; i++) {
        if (children.all[i].text != view->blocker && is_earlier(&children.all[i], place)) {
            return children.all[i].text;
        }
    }
    return NULL;
}

size_t zkl_record_shorten(const zkl_request *request, zkl_listed children,
                          zkl_neighbour shortened[ZKL_RECORD_SHORTENED_MAX]) {
    zkl_contenders_place place = zkl_request_place(request);
    zkl_contenders_view view = zkl_contenders_examine(children, &place);
    const char *names[ZKL_RECORD_SHORTENED_MAX];
    zkl_children kept = { .names = names };
    bool has_companion = view.accompanied && place.companion[0] != '\0';
    keep(&kept, names, view.listed ? place.own.text : NULL);
    keep(&kept, names, has_companion ? place.companion : NULL);
    keep(&kept, names, view.blocker);
    keep(&kept, names, view.listed ? NULL : view.unlent); /* only a first list is judged by it */
    keep(&kept, names, view.unknown);
    keep(&kept, names, find_other(children, &place, &view));
    if (request->lost.twins) {
        keep(&kept, names,
             zkl_contenders_find_guid(children, request->session.guid, place.own.text,
                                      request->lost.node));
    }
    return zkl_contenders_read(kept, shortened).count;
}

/* Such a request counts the names: its lists are not shortened, and a line without room is
 * TOO_LONG. */
static bool counts_names(const zkl_request *request) {
    return request->options.permits > 0 || request->options.max_waiting > 0;
}

/* ---- Lines ------------------------------------------------------------------ */

void zkl_record_write_event(zkl_text *text, const zkl_request *request, const zkl_event *event) {
    add_name(text, &zkl_record_events.names, event->kind);
    zkl_text before = *text;
    if (event->children.count <= ZKL_RECORD_NAMES_MAX || counts_names(request)) {
        add_fields(text, &zkl_record_events.fields, event);
        bool is_long = text->too_long || text->length - before.length > ZKL_RECORD_NAMES_BYTES_MAX;
        if (!is_long || counts_names(request)) {
            return;
        }
        *text = before;
    }
    zkl_neighbour shortened[ZKL_RECORD_SHORTENED_MAX];
    zkl_event shorter = *event;
    shorter.children = (zkl_listed){ .all = shortened };
    shorter.children.count = zkl_record_shorten(request, event->children, shortened);
    zkl_text_add_numbered(text, " shortened_from=", (int64_t)event->children.count);
    add_fields(text, &zkl_record_events.fields, &shorter);
}

static void add_arrow(zkl_text *text, size_t count) {
    zkl_text_add(text, count > 0 ? " ->" : " -> nothing");
}

void zkl_record_write_actions(zkl_text *text, const zkl_actions *actions) {
    add_arrow(text, actions->count);
    for (size_t i = 0; i < actions->count; i++) {
        zkl_text_add(text, " ");
        add_kind(text, &zkl_record_actions, &actions->list[i]);
    }
}

static void add_step(zkl_text *text, const zkl_record_fields *fields, const void *before,
                     const zkl_record_kinds *events, const void *event, size_t actions) {
    zkl_text_add(text, "STEP");
    add_fields(text, fields, before);
    zkl_text_add(text, " ");
    add_kind(text, events, event);
    add_arrow(text, actions);
}

static void add_action(zkl_text *text, const zkl_record_kinds *actions, const void *action) {
    zkl_text_add(text, " ");
    add_kind(text, actions, action);
}

void zkl_record_write_set_step(zkl_text *text, const zkl_set *before, const zkl_set_event *event,
                               const zkl_set_actions *actions) {
    add_step(text, &zkl_record_set_fields, before, &zkl_record_set_events, event, actions->count);
    for (size_t i = 0; i < actions->count; i++) {
        add_action(text, &zkl_record_set_actions, &actions->list[i]);
    }
}

void zkl_record_write_lending_step(zkl_text *text, const zkl_lending_state *before,
                                   const zkl_lending_event *event,
                                   const zkl_lending_actions *actions) {
    add_step(text, &zkl_record_lending_fields, before, &zkl_record_lending_events, event,
             actions->count);
    for (size_t i = 0; i < actions->count; i++) {
        add_action(text, &zkl_record_lending_actions, &actions->list[i]);
    }
}

void zkl_record_write_news(zkl_text *text, const zkl_session_news *news) {
    add_name(text, &zkl_record_sessions, news->state);
    if (news->state == ZKL_SESSION_STATE_CONNECTED) {
        zkl_text_add(text, " id=");
        zkl_text_add_bits(text, (uint64_t)news->session_id);
        zkl_text_add_numbered(text, " timeout_ms=", news->timeout_ms);
    }
}
