#include "record_format.h"

#include <string.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* ---- Text ---------------------------------------------------------------- */

static void add_bytes(zkl_text *text, const char *bytes, size_t length) {
    if (text->too_long || length > text->size - text->length) {
        text->too_long = true;
        return;
    }
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
}

void zkl_text_add(zkl_text *text, const char *string) {
    add_bytes(text, string, strlen(string));
}

enum { DIGITS_MAX = 24 };

static void add_digits(zkl_text *text, uint64_t number, unsigned base) {
    char digits[DIGITS_MAX];
    size_t at = DIGITS_MAX;
    do {
        digits[--at] = "0123456789abcdef"[number % base];
        number /= base;
    } while (number > 0);
    add_bytes(text, digits + at, DIGITS_MAX - at);
}

void zkl_text_add_number(zkl_text *text, int64_t number) {
    uint64_t magnitude = (uint64_t)number;
    if (number < 0) {
        zkl_text_add(text, "-");
        magnitude = 0 - magnitude;
    }
    add_digits(text, magnitude, 10);
}

void zkl_text_add_bits(zkl_text *text, uint64_t bits) {
    zkl_text_add(text, "0x");
    add_digits(text, bits, 16);
}

bool zkl_record_is_escaped(unsigned char byte) {
    return byte <= ' ' || byte >= 0x7f || byte == '%' || byte == ',';
}

void zkl_text_add_value(zkl_text *text, const char *value) {
    const char *plain = value;
    for (; *value != '\0'; value++) {
        unsigned char byte = (unsigned char)*value;
        if (zkl_record_is_escaped(byte)) {
            add_bytes(text, plain, (size_t)(value - plain));
            char escaped[3] = { '%', "0123456789ABCDEF"[byte >> 4U],
                                "0123456789ABCDEF"[byte & 0xfU] };
            add_bytes(text, escaped, sizeof(escaped));
            plain = value + 1;
        }
    }
    add_bytes(text, plain, (size_t)(value - plain));
}

/* ---- Names --------------------------------------------------------------- */

static const char *const event_names[] = {
    [ZKL_EVENT_START] = "START",
    [ZKL_EVENT_CREATED] = "CREATED",
    [ZKL_EVENT_LISTED] = "LISTED",
    [ZKL_EVENT_PARENT_MADE] = "PARENT_MADE",
    [ZKL_EVENT_WATCHED] = "WATCHED",
    [ZKL_EVENT_INSPECTED] = "INSPECTED",
    [ZKL_EVENT_DELETED] = "DELETED",
    [ZKL_EVENT_SETTLED] = "SETTLED",
    [ZKL_EVENT_OWN_WATCHED] = "OWN_WATCHED",
    [ZKL_EVENT_PARENT_REMOVED] = "PARENT_REMOVED",
    [ZKL_EVENT_PARENT_INSPECTED] = "PARENT_INSPECTED",
    [ZKL_EVENT_DOWNGRADED] = "DOWNGRADED",
    [ZKL_EVENT_BACKED_OFF] = "BACKED_OFF",
    [ZKL_EVENT_WATCH_FIRED] = "WATCH_FIRED",
    [ZKL_EVENT_OWN_WATCH_FIRED] = "OWN_WATCH_FIRED",
    [ZKL_EVENT_PROBE] = "PROBE",
    [ZKL_EVENT_LEASE_BEGUN] = "LEASE_BEGUN",
    [ZKL_EVENT_LEASE_THIN] = "LEASE_THIN",
    [ZKL_EVENT_LEASE_ENDED] = "LEASE_ENDED",
    [ZKL_EVENT_HOLD_LIMIT] = "HOLD_LIMIT",
    [ZKL_EVENT_CONNECTED] = "CONNECTED",
    [ZKL_EVENT_DISCONNECTED] = "DISCONNECTED",
    [ZKL_EVENT_SESSION_ENDED] = "SESSION_ENDED",
    [ZKL_EVENT_TIMED_OUT] = "TIMED_OUT",
    [ZKL_EVENT_CANCELLED] = "CANCELLED",
    [ZKL_EVENT_RELEASED] = "RELEASED",
    [ZKL_EVENT_DOWNGRADE] = "DOWNGRADE",
};

static const char *const action_names[] = {
    [ZKL_ACTION_CREATE] = "CREATE",
    [ZKL_ACTION_LIST] = "LIST",
    [ZKL_ACTION_MAKE_PARENT] = "MAKE_PARENT",
    [ZKL_ACTION_WATCH] = "WATCH",
    [ZKL_ACTION_UNWATCH] = "UNWATCH",
    [ZKL_ACTION_WATCH_OWN] = "WATCH_OWN",
    [ZKL_ACTION_UNWATCH_OWN] = "UNWATCH_OWN",
    [ZKL_ACTION_INSPECT] = "INSPECT",
    [ZKL_ACTION_INSPECT_PARENT] = "INSPECT_PARENT",
    [ZKL_ACTION_DELETE] = "DELETE",
    [ZKL_ACTION_REMOVE_PARENT] = "REMOVE_PARENT",
    [ZKL_ACTION_DOWNGRADE] = "DOWNGRADE",
    [ZKL_ACTION_SETTLE] = "SETTLE",
    [ZKL_ACTION_BACK_OFF] = "BACK_OFF",
    [ZKL_ACTION_GRANT] = "GRANT",
    [ZKL_ACTION_FAIL] = "FAIL",
    [ZKL_ACTION_LOSE] = "LOSE",
    [ZKL_ACTION_DOWNGRADE_ENDED] = "DOWNGRADE_ENDED",
    [ZKL_ACTION_REJOIN] = "REJOIN",
    [ZKL_ACTION_REPORT] = "REPORT",
    [ZKL_ACTION_WARN] = "WARN",
    [ZKL_ACTION_END] = "END",
};

static const char *const outcome_names[] = {
    [ZKL_OUTCOME_OK] = "OK",
    [ZKL_OUTCOME_NO_NODE] = "NO_NODE",
    [ZKL_OUTCOME_UNKNOWN] = "UNKNOWN",
    [ZKL_OUTCOME_NOT_NOW] = "NOT_NOW",
    [ZKL_OUTCOME_REFUSED] = "REFUSED",
    [ZKL_OUTCOME_SESSION_OVER] = "SESSION_OVER",
    [ZKL_OUTCOME_NOT_EMPTY] = "NOT_EMPTY",
};

static const char *const session_names[] = {
    [ZKL_SESSION_STATE_CONNECTING] = "DISCONNECTED",
    [ZKL_SESSION_STATE_CONNECTED] = "CONNECTED",
    [ZKL_SESSION_STATE_EXPIRED] = "EXPIRED",
    [ZKL_SESSION_STATE_AUTH_FAILED] = "AUTH_FAILED",
};

static const char *const mode_names[] = {
    [ZKL_EXCLUSIVE] = "EXCLUSIVE",
    [ZKL_READ] = "READ",
    [ZKL_WRITE] = "WRITE",
    [ZKL_PERMIT] = "PERMIT",
};

static const char *const aim_names[] = {
    [ZKL_AIM_JOIN] = "JOIN",
    [ZKL_AIM_LEAVE] = "LEAVE",
};

static const char *const own_node_names[] = {
    [ZKL_OWN_NODE_NONE] = "NONE",
    [ZKL_OWN_NODE_UNSURE] = "UNSURE",
    [ZKL_OWN_NODE_OURS] = "OURS",
};

const zkl_record_names zkl_record_events = { event_names, COUNT_OF(event_names) };
const zkl_record_names zkl_record_actions = { action_names, COUNT_OF(action_names) };
const zkl_record_names zkl_record_outcomes = { outcome_names, COUNT_OF(outcome_names) };
const zkl_record_names zkl_record_sessions = { session_names, COUNT_OF(session_names) };
static const zkl_record_names modes = { mode_names, COUNT_OF(mode_names) };
static const zkl_record_names aims = { aim_names, COUNT_OF(aim_names) };
static const zkl_record_names own_nodes = { own_node_names, COUNT_OF(own_node_names) };

const char *zkl_record_status_name(int status) {
    switch (status) {
#define STATUS_CASE(name, value, text)                                                             \
    case name:                                                                                     \
        return #name;
        ZKL_STATUS_LIST(STATUS_CASE)
#undef STATUS_CASE
    default:
        return NULL;
    }
}

static void add_name(zkl_text *text, const zkl_record_names *names, unsigned value) {
    if (value < names->count) {
        zkl_text_add(text, names->names[value]);
    } else {
        zkl_text_add_number(text, value); /* memory that was overwritten: a reader refuses it */
    }
}

/* ---- Fields --------------------------------------------------------------- */

/* `prefix` begins with the space that separates fields. */
static void add_field(zkl_text *text, const char *prefix, const char *value) {
    zkl_text_add(text, prefix);
    zkl_text_add_value(text, value);
}

static void add_number_field(zkl_text *text, const char *prefix, int64_t value) {
    zkl_text_add(text, prefix);
    zkl_text_add_number(text, value);
}

static void add_status_field(zkl_text *text, const char *prefix, int status) {
    const char *name = zkl_record_status_name(status);
    if (name != NULL) {
        add_field(text, prefix, name);
    } else {
        add_number_field(text, prefix, status);
    }
}

static void add_flag_field(zkl_text *text, const char *prefix, bool value) {
    add_field(text, prefix, value ? "yes" : "no");
}

/* ---- The state of a request ---------------------------------------------- */

#define FIELD(name, type, names)                                                                   \
    { #name, type, offsetof(zkl_request, name), sizeof(((zkl_request *)NULL)->name), names }
#define NAME_FIELD(name, names) FIELD(name, ZKL_RECORD_NAME, &(names))
#define PLAIN_FIELD(name, type) FIELD(name, ZKL_RECORD_##type, NULL)

const zkl_record_field zkl_record_state_fields[] = {
    NAME_FIELD(mode, modes),
    PLAIN_FIELD(permits, COUNT),
    PLAIN_FIELD(max_waiting, COUNT),
    PLAIN_FIELD(is_member, BOOL),
    PLAIN_FIELD(only_try, BOOL),
    PLAIN_FIELD(fail_on_session_expiry, BOOL),
    PLAIN_FIELD(needs_lease, BOOL),
    PLAIN_FIELD(lease_runs, BOOL),
    PLAIN_FIELD(connected, BOOL),
    NAME_FIELD(aim, aims),
    NAME_FIELD(own_node, own_nodes),
    PLAIN_FIELD(way_was_free, BOOL),
    PLAIN_FIELD(parent_missing, BOOL),
    PLAIN_FIELD(must_back_off, BOOL),
    PLAIN_FIELD(watching, BOOL),
    PLAIN_FIELD(watching_own, BOOL),
    PLAIN_FIELD(next_in_line, BOOL),
    PLAIN_FIELD(waits_for_lease, BOOL),
    PLAIN_FIELD(probed_in_vain, BOOL),
    PLAIN_FIELD(held, BOOL),
    PLAIN_FIELD(keeps_node, BOOL),
    PLAIN_FIELD(settled, BOOL),
    PLAIN_FIELD(twins, BOOL),
    PLAIN_FIELD(decided, BOOL),
    PLAIN_FIELD(ended, BOOL),
    PLAIN_FIELD(unknown_reported, BOOL),
    PLAIN_FIELD(refusal_reported, BOOL),
    PLAIN_FIELD(draining, BOOL),
    PLAIN_FIELD(downgrade_wanted, BOOL),
    PLAIN_FIELD(downgrade_unsure, BOOL),
    PLAIN_FIELD(late_verdict, STATUS),
    PLAIN_FIELD(outstanding, BITS),
    PLAIN_FIELD(parents_made, COUNT),
    PLAIN_FIELD(rejoins, COUNT),
    PLAIN_FIELD(zxid, NUMBER),
    PLAIN_FIELD(guid, TEXT),
    PLAIN_FIELD(prefix, TEXT),
    PLAIN_FIELD(node, TEXT),
    PLAIN_FIELD(candidate, TEXT),
    PLAIN_FIELD(surplus, TEXT),
    PLAIN_FIELD(rejected, TEXT),
    PLAIN_FIELD(downgraded, TEXT),
    PLAIN_FIELD(companion, TEXT),
};
const size_t zkl_record_state_field_count = COUNT_OF(zkl_record_state_fields);

static const void *at(const zkl_record_field *field, const zkl_request *request) {
    return (const char *)request + field->offset;
}

static unsigned unsigned_at(const zkl_record_field *field, const zkl_request *request) {
    unsigned value;
    memcpy(&value, at(field, request), sizeof(value));
    return value;
}

static int64_t number_at(const zkl_record_field *field, const zkl_request *request) {
    int64_t value;
    memcpy(&value, at(field, request), sizeof(value));
    return value;
}

bool zkl_record_field_is_silent(const zkl_record_field *field, const zkl_request *request) {
    switch (field->type) {
    case ZKL_RECORD_BOOL:
        return !*(const bool *)at(field, request);
    case ZKL_RECORD_NAME:
        return false;
    case ZKL_RECORD_NUMBER:
        return number_at(field, request) == 0;
    case ZKL_RECORD_TEXT:
        return *(const char *)at(field, request) == '\0';
    case ZKL_RECORD_STATUS:
    case ZKL_RECORD_BITS:
    case ZKL_RECORD_COUNT:
        break;
    }
    return unsigned_at(field, request) == 0;
}

void zkl_record_write_field(zkl_text *text, const zkl_record_field *field,
                            const zkl_request *request) {
    zkl_text_add(text, field->name);
    switch (field->type) {
    case ZKL_RECORD_BOOL:
        break;
    case ZKL_RECORD_NAME:
        zkl_text_add(text, "=");
        add_name(text, field->names, unsigned_at(field, request));
        break;
    case ZKL_RECORD_STATUS:
        add_status_field(text, "=", (int)unsigned_at(field, request));
        break;
    case ZKL_RECORD_BITS:
        zkl_text_add(text, "=");
        zkl_text_add_bits(text, unsigned_at(field, request));
        break;
    case ZKL_RECORD_COUNT:
        add_number_field(text, "=", unsigned_at(field, request));
        break;
    case ZKL_RECORD_NUMBER:
        add_number_field(text, "=", number_at(field, request));
        break;
    case ZKL_RECORD_TEXT:
        add_field(text, "=", at(field, request));
        break;
    }
}

void zkl_record_write_state(zkl_text *text, const zkl_request *request) {
    for (size_t i = 0; i < zkl_record_state_field_count; i++) {
        const zkl_record_field *field = &zkl_record_state_fields[i];
        if (!zkl_record_field_is_silent(field, request)) {
            zkl_text_add(text, " ");
            zkl_record_write_field(text, field, request);
        }
    }
}

/* ---- Long lists ------------------------------------------------------------ */

/* Whether one child is before ours. */
static bool is_earlier(const zkl_queue_neighbour *child, const zkl_queue_place *place) {
    return zkl_queue_examine((zkl_listed){ child, 1 }, place).earlier == 1;
}

static const char *find_other_earlier(zkl_listed children, const zkl_queue_place *place,
                                      const char *blocker) {
    for (size_t i = 0; i < children.count; i++) {
        if (children.all[i].text != blocker && is_earlier(&children.all[i], place)) {
            return children.all[i].text;
        }
    }
    return NULL;
}

static const char *find_name(zkl_listed children, const char *name) {
    for (size_t i = 0; i < children.count; i++) {
        if (strcmp(children.all[i].text, name) == 0) {
            return children.all[i].text;
        }
    }
    return NULL;
}

static bool is_one_of(const char *name, const char *const *others, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (others[i] == name) {
            return true;
        }
    }
    return false;
}

size_t zkl_record_shorten(const zkl_request *request, zkl_listed children,
                          zkl_queue_neighbour shortened[ZKL_RECORD_SHORTENED_MAX]) {
    zkl_queue_place place = zkl_request_place(request);
    zkl_queue_view view = zkl_queue_examine(children, &place);
    bool several = view.blocker != NULL && view.earlier > 1;
    const char *kept[ZKL_RECORD_SHORTENED_MAX] = {
        place.own != NULL ? find_name(children, place.own) : NULL,
        zkl_queue_find_guid(children, request->guid, place.own, request->rejected),
        view.blocker,
        view.unknown,
        several ? find_other_earlier(children, &place, view.blocker) : NULL,
        find_name(children, place.companion),
    };
    size_t count = 0;
    for (size_t i = 0; i < children.count && count < ZKL_RECORD_SHORTENED_MAX; i++) {
        if (is_one_of(children.all[i].text, kept, ZKL_RECORD_SHORTENED_MAX)) {
            shortened[count++] = children.all[i];
        }
    }
    return count;
}

static void add_children(zkl_text *text, const char *prefix, zkl_listed children) {
    zkl_text_add(text, prefix);
    for (size_t i = 0; i < children.count; i++) {
        add_field(text, i == 0 ? "" : ",", children.all[i].text);
    }
}

/* Such a request asks how many there are, and which: then a line that cannot be is TOO_LONG. */
static bool counts_names(const zkl_request *request) {
    return request->permits > 0 || request->max_waiting > 0;
}

static void add_list(zkl_text *text, const zkl_request *request, zkl_listed children) {
    add_number_field(text, " count=", (int64_t)children.count);
    zkl_text before = *text;
    if (children.count <= ZKL_RECORD_NAMES_MAX || counts_names(request)) {
        add_children(text, " children=", children);
        if (counts_names(request)) {
            return;
        }
        if (!text->too_long && text->length - before.length <= ZKL_RECORD_NAMES_BYTES_MAX) {
            return;
        }
    }
    *text = before;
    zkl_queue_neighbour shortened[ZKL_RECORD_SHORTENED_MAX];
    size_t count = zkl_record_shorten(request, children, shortened);
    add_children(text, " shortened=", (zkl_listed){ shortened, count });
}

/* ---- Lines ------------------------------------------------------------------ */

static bool is_reply(zkl_event_kind kind) {
    return kind >= ZKL_EVENT_CREATED && kind <= ZKL_EVENT_DOWNGRADED;
}

static unsigned fields_of_success(zkl_event_kind kind) {
    switch (kind) {
    case ZKL_EVENT_CREATED:
        return ZKL_EVENT_HAS_NODE | ZKL_EVENT_HAS_ZXID;
    case ZKL_EVENT_INSPECTED:
        return ZKL_EVENT_HAS_ZXID | ZKL_EVENT_HAS_OWN_SESSION;
    case ZKL_EVENT_PARENT_INSPECTED:
        return ZKL_EVENT_HAS_ZXID | ZKL_EVENT_HAS_DATA;
    case ZKL_EVENT_LISTED:
        return ZKL_EVENT_HAS_CHILDREN;
    default:
        return 0;
    }
}

unsigned zkl_record_event_fields(zkl_event_kind kind, zkl_outcome outcome) {
    if (is_reply(kind)) {
        unsigned more = outcome == ZKL_OUTCOME_OK        ? fields_of_success(kind)
                        : outcome == ZKL_OUTCOME_REFUSED ? (unsigned)ZKL_EVENT_HAS_STATUS
                                                         : 0;
        return ZKL_EVENT_HAS_OUTCOME | more;
    }
    switch (kind) {
    case ZKL_EVENT_WATCH_FIRED:
        return ZKL_EVENT_HAS_FIRED;
    case ZKL_EVENT_CANCELLED:
        return ZKL_EVENT_HAS_STATUS;
    case ZKL_EVENT_SESSION_ENDED:
        return ZKL_EVENT_HAS_GUID;
    default:
        return 0;
    }
}

void zkl_record_write_event(zkl_text *text, const zkl_request *request, const zkl_event *event) {
    unsigned fields = zkl_record_event_fields(event->kind, event->outcome);
    add_name(text, &zkl_record_events, event->kind);
    if ((fields & ZKL_EVENT_HAS_OUTCOME) != 0) {
        zkl_text_add(text, " ");
        add_name(text, &zkl_record_outcomes, event->outcome);
    }
    if ((fields & ZKL_EVENT_HAS_STATUS) != 0) {
        add_status_field(text, " status=", event->status);
    }
    if ((fields & ZKL_EVENT_HAS_NODE) != 0) {
        add_field(text, " node=", event->node);
    }
    if ((fields & ZKL_EVENT_HAS_ZXID) != 0) {
        add_number_field(text, " zxid=", event->zxid);
    }
    if ((fields & ZKL_EVENT_HAS_OWN_SESSION) != 0) {
        add_flag_field(text, " own_session=", event->own_session);
    }
    if ((fields & ZKL_EVENT_HAS_DATA) != 0) {
        add_flag_field(text, " holds_data=", event->holds_data);
    }
    if ((fields & ZKL_EVENT_HAS_CHILDREN) != 0) {
        add_list(text, request, event->children);
    }
    if ((fields & ZKL_EVENT_HAS_FIRED) != 0) {
        add_flag_field(text, " deleted=", event->deleted);
        add_flag_field(text, " fresh=", event->fresh);
    }
    if ((fields & ZKL_EVENT_HAS_GUID) != 0) {
        add_field(text, " guid=", event->guid != NULL ? event->guid : "none");
    }
}

void zkl_record_write_actions(zkl_text *text, const zkl_actions *actions) {
    zkl_text_add(text, actions->count > 0 ? " ->" : " -> nothing");
    for (size_t i = 0; i < actions->count; i++) {
        const zkl_action *action = &actions->list[i];
        zkl_text_add(text, " ");
        add_name(text, &zkl_record_actions, action->kind);
        if (action->node != NULL) {
            add_field(text, " node=", action->node);
        }
        if (action->status != ZKL_OK) {
            add_status_field(text, " status=", action->status);
        }
    }
}

void zkl_record_write_news(zkl_text *text, const zkl_session_news *news) {
    add_name(text, &zkl_record_sessions, news->state);
    if (news->state == ZKL_SESSION_STATE_CONNECTED) {
        zkl_text_add(text, " id=");
        zkl_text_add_bits(text, (uint64_t)news->session_id);
        add_number_field(text, " timeout_ms=", news->timeout_ms);
    }
}
