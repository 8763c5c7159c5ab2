#include "telemetry/record_format.h"

#include <string.h>

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
    [ZKL_RECORD_NAMING] = NAMES([ZKL_NAMING_CURATOR] = "CURATOR", [ZKL_NAMING_KAZOO] = "KAZOO",
                                [ZKL_NAMING_LEADER_LATCH] = "LEADER_LATCH"),
    [ZKL_RECORD_OUTCOME] = NAMES(ZKL_OUTCOME_LIST(NAME)),
    [ZKL_RECORD_STAGE] = NAMES(ZKL_STAGE_LIST(NAME)),
    [ZKL_RECORD_OWN_NODE] = NAMES(ZKL_OWN_NODE_LIST(NAME)),
    [ZKL_RECORD_SET_STAGE] = NAMES(ZKL_SET_STAGE_LIST(NAME)),
    [ZKL_RECORD_LENDING_STAGE] = NAMES(ZKL_LENDING_STAGE_LIST(NAME)),
    [ZKL_RECORD_CONNECTING_STAGE] = NAMES(ZKL_CONNECTING_STAGE_LIST(NAME)),
    [ZKL_RECORD_CONNECTING_TASK] = NAMES(ZKL_CONNECTING_TASK_LIST(NAME)),
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
#define STATE_FIELD(of, type, name) FIELD(zkl_request, of, type, name)
#define PART(LIST, name, of) ZKL_REQUEST_##LIST(STATE_FIELD, of)
#define SET_EVENT_FIELD(of, type, name) FIELD(zkl_set_event, of, type, name)
#define SET_ACTION_FIELD(of, type, name) FIELD(zkl_set_action, of, type, name)
#define SET_FIELD(of, type, name) FIELD(zkl_set, of, type, name)
#define LENDING_EVENT_FIELD(of, type, name) FIELD(zkl_lending_event, of, type, name)
#define LENDING_ACTION_FIELD(of, type, name) FIELD(zkl_lending_action, of, type, name)
#define LENDING_FIELD(of, type, name) FIELD(zkl_lending_state, of, type, name)
#define CONNECTING_EVENT_FIELD(of, type, name) FIELD(zkl_connecting_event, of, type, name)
#define CONNECTING_FIELD(of, type, name) FIELD(zkl_connecting, of, type, name)

const zkl_record_format zkl_record_formats[ZKL_RECORD_MACHINES] = {
    [ZKL_RECORD_REQUEST] = {
        "request",
        FIELDS(ZKL_REQUEST_SELF(STATE_FIELD, ) ZKL_REQUEST_PARTS(PART)),
        { NAMES("START", ZKL_OPERATION_LIST(ANSWERED) ZKL_NEWS_LIST(NAME)),
          FIELDS(ZKL_EVENT_FIELDS(EVENT_FIELD, )) },
        { NAMES(ZKL_OPERATION_LIST(ASKED) ZKL_ORDER_LIST(NAME)),
          FIELDS(ZKL_ACTION_FIELDS(ACTION_FIELD, )) },
    },
    [ZKL_RECORD_SET] = {
        "set",
        FIELDS(ZKL_SET_FIELDS(SET_FIELD, )),
        { NAMES(ZKL_SET_EVENT_LIST(NAME)), FIELDS(ZKL_SET_EVENT_FIELDS(SET_EVENT_FIELD, )) },
        { NAMES(ZKL_SET_ACTION_LIST(NAME)), FIELDS(ZKL_SET_ACTION_FIELDS(SET_ACTION_FIELD, )) },
    },
    [ZKL_RECORD_LOAN] = {
        "loan",
        FIELDS(ZKL_LENDING_FIELDS(LENDING_FIELD, )),
        { NAMES(ZKL_LENDING_EVENT_LIST(NAME)),
          FIELDS(ZKL_LENDING_EVENT_FIELDS(LENDING_EVENT_FIELD, )) },
        { NAMES(ZKL_LENDING_ACTION_LIST(NAME)),
          FIELDS(ZKL_LENDING_ACTION_FIELDS(LENDING_ACTION_FIELD, )) },
    },
    [ZKL_RECORD_CONNECTING] = {
        "connecting",
        FIELDS(ZKL_CONNECTING_FIELDS(CONNECTING_FIELD, )),
        { NAMES(ZKL_CONNECTING_NEWS_LIST(NAME) ZKL_CONNECTING_RESULT_LIST(NAME)),
          FIELDS(ZKL_CONNECTING_EVENT_FIELDS(CONNECTING_EVENT_FIELD, )) },
        { NAMES(ZKL_CONNECTING_TASK_LIST(NAME) ZKL_CONNECTING_ORDER_LIST(NAME)), { 0 } },
    },
};

/* ---- Values ---------------------------------------------------------------- */

static void take(zkl_packed *packed, void *value, size_t size) {
    bool is_there = (size_t)(packed->end - packed->at) >= size;
    memset(value, 0, size);
    memcpy(value, packed->at, is_there ? size : 0);
    packed->at = is_there ? packed->at + size : packed->end;
}

static uint8_t take_8(zkl_packed *packed) {
    uint8_t value;
    take(packed, &value, sizeof(value));
    return value;
}

static uint16_t take_16(zkl_packed *packed) {
    uint16_t value;
    take(packed, &value, sizeof(value));
    return value;
}

static uint32_t take_32(zkl_packed *packed) {
    uint32_t value;
    take(packed, &value, sizeof(value));
    return value;
}

static int64_t take_64(zkl_packed *packed) {
    int64_t value;
    take(packed, &value, sizeof(value));
    return value;
}

static const char *take_text(zkl_packed *packed) {
    const char *text = packed->at;
    const char *end = memchr(text, '\0', (size_t)(packed->end - text));
    packed->at = end != NULL ? end + 1 : packed->end;
    return end != NULL ? text : "";
}

static void write_children(zkl_text *text, zkl_packed *packed) {
    uint32_t count = take_32(packed);
    for (uint32_t i = 0; i < count && packed->at < packed->end; i++) {
        zkl_text_add(text, i == 0 ? "" : ",");
        zkl_text_add_value(text, take_text(packed));
    }
}

void zkl_record_write_value(zkl_text *text, zkl_record_type type, zkl_packed *packed) {
    switch (type) {
    case ZKL_RECORD_FLAG:
        break;
    case ZKL_RECORD_COUNT:
        zkl_text_add_number(text, take_32(packed));
        break;
    case ZKL_RECORD_BITS:
        zkl_text_add_bits(text, take_32(packed));
        break;
    case ZKL_RECORD_NUMBER:
        zkl_text_add_number(text, take_64(packed));
        break;
    case ZKL_RECORD_STATUS:
        add_status(text, (int)take_32(packed));
        break;
    case ZKL_RECORD_STRING:
    case ZKL_RECORD_GUID:
    case ZKL_RECORD_NAME:
        zkl_text_add_value(text, take_text(packed));
        break;
    case ZKL_RECORD_CHILDREN:
        write_children(text, packed);
        break;
    default:
        add_name(text, zkl_record_names_of(type), take_32(packed));
        break;
    }
}

/* ---- Fields and kinds ------------------------------------------------------ */

static void write_fields(zkl_text *text, const zkl_record_fields *fields, uint64_t present,
                         zkl_packed *packed) {
    for (size_t i = 0; i < fields->count; i++) {
        if ((present >> i & 1U) != 0) {
            const zkl_record_field *field = &fields->list[i];
            zkl_text_add(text, " ");
            zkl_text_add_bytes(text, field->name, field->name_length);
            zkl_text_add(text, field->type != ZKL_RECORD_FLAG ? "=" : "");
            zkl_record_write_value(text, field->type, packed);
        }
    }
}

void zkl_record_write_state(zkl_text *text, zkl_record_machine machine, zkl_packed *packed) {
    const zkl_record_fields *fields = &zkl_record_formats[machine].state;
    bool is_large = fields->count > 8 * sizeof(uint16_t);
    uint64_t present = is_large ? (uint64_t)take_64(packed) : take_16(packed);
    write_fields(text, fields, present, packed);
}

/* Writes the kind, what comes between, and the fields. */
static void write_kind(zkl_text *text, const zkl_record_kinds *kinds, const uint32_t *whole,
                       zkl_packed *packed) {
    add_name(text, &kinds->names, take_8(packed));
    if (whole != NULL) {
        zkl_text_add_numbered(text, " shortened_from=", *whole);
    }
    uint16_t present = take_16(packed);
    write_fields(text, &kinds->fields, present, packed);
}

void zkl_record_write_actions(zkl_text *text, zkl_record_machine machine, zkl_packed *packed) {
    uint8_t count = take_8(packed);
    zkl_text_add(text, count > 0 ? " ->" : " -> nothing");
    for (uint8_t i = 0; i < count && packed->at < packed->end; i++) {
        zkl_text_add(text, " ");
        write_kind(text, &zkl_record_formats[machine].actions, NULL, packed);
    }
}

/* ---- Lines ------------------------------------------------------------------ */

static void write_news(zkl_text *text, zkl_packed *packed) {
    uint8_t state = take_8(packed);
    add_name(text, &zkl_record_sessions, state);
    if (state == ZKL_SESSION_STATE_CONNECTED) {
        zkl_text_add(text, " id=");
        zkl_text_add_bits(text, (uint64_t)take_64(packed));
        zkl_text_add_numbered(text, " timeout_ms=", (int32_t)take_32(packed));
    }
}

static void write_request(zkl_text *text, zkl_packed *packed) {
    zkl_text_add_numbered(text, "STATE session=", take_32(packed));
    zkl_text_add(text, " path=");
    zkl_text_add_value(text, take_text(packed));
    zkl_record_write_state(text, ZKL_RECORD_REQUEST, packed);
}

static void write_event(zkl_text *text, zkl_record_machine machine, const uint32_t *whole,
                        zkl_packed *packed) {
    write_kind(text, &zkl_record_formats[machine].events, whole, packed);
    zkl_record_write_actions(text, machine, packed);
}

static void write_shortened(zkl_text *text, zkl_record_machine machine, zkl_packed *packed) {
    uint32_t whole = take_32(packed);
    write_event(text, machine, &whole, packed);
}

static void write_step(zkl_text *text, zkl_record_machine machine, zkl_packed *packed) {
    zkl_text_add(text, "STEP");
    zkl_record_write_state(text, machine, packed);
    zkl_text_add(text, " ");
    write_event(text, machine, NULL, packed);
}

void zkl_record_write_line(zkl_text *text, uint64_t number, zkl_packed packed) {
    zkl_record_head head;
    take(&packed, &head, sizeof(head));
    zkl_record_machine machine =
        head.machine < ZKL_RECORD_MACHINES ? (zkl_record_machine)head.machine : ZKL_RECORD_REQUEST;
    zkl_text_add_number(text, (int64_t)number);
    zkl_text_add_numbered(text, " ", head.now_ms);
    zkl_text_add(text, " ");
    zkl_text_add(text, head.what == ZKL_RECORD_NEWS ? "session" : zkl_record_formats[machine].who);
    zkl_text_add_numbered(text, "=", head.number);
    zkl_text_add(text, " ");
    switch ((zkl_record_what)head.what) {
    case ZKL_RECORD_NEWS:
        write_news(text, &packed);
        break;
    case ZKL_RECORD_STATE:
        write_request(text, &packed);
        break;
    case ZKL_RECORD_EVENT:
        write_event(text, machine, NULL, &packed);
        break;
    case ZKL_RECORD_SHORTENED:
        write_shortened(text, machine, &packed);
        break;
    case ZKL_RECORD_STEP:
        write_step(text, machine, &packed);
        break;
    case ZKL_RECORD_TOO_LONG:
        zkl_text_add(text, "TOO_LONG");
        break;
    }
    zkl_text_add(text, "\n");
}
