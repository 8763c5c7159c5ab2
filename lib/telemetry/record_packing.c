#include "telemetry/record_packing.h"

#include <string.h>

#include "recipe/request_common.h"

/* ---- Values ---------------------------------------------------------------- */

static inline char *put(char *at, const void *value, size_t size) {
    memcpy(at, value, size);
    return at + size;
}

static inline char *put_32(char *at, uint32_t value) {
    return put(at, &value, sizeof(value));
}

static inline char *put_64(char *at, int64_t value) {
    return put(at, &value, sizeof(value));
}

static char *put_text(zkl_packing *self, char *at, const char *text) {
    size_t size = strlen(text) + 1;
    if (at + size > self->end) {
        self->too_long = true;
        return at;
    }
    return put(at, text, size);
}

static char *put_children(zkl_packing *self, char *at, zkl_listed children) {
    at = put_32(at, (uint32_t)children.count);
    for (size_t i = 0; i < children.count && !self->too_long; i++) {
        at = put_text(self, at, children.all[i].text);
    }
    return at;
}

/* ---- Fields ---------------------------------------------------------------- */

/* Whether a field is not false, zero or empty. */
#define IS_SET_NUMBER(value) ((value) != 0)
#define IS_SET_FLAG(value) (value)
#define IS_SET_COUNT IS_SET_NUMBER
#define IS_SET_BITS IS_SET_NUMBER
#define IS_SET_STATUS IS_SET_NUMBER
#define IS_SET_MODE IS_SET_NUMBER
#define IS_SET_NAMING IS_SET_NUMBER
#define IS_SET_OUTCOME IS_SET_NUMBER
#define IS_SET_STAGE IS_SET_NUMBER
#define IS_SET_OWN_NODE IS_SET_NUMBER
#define IS_SET_SET_STAGE IS_SET_NUMBER
#define IS_SET_LENDING_STAGE IS_SET_NUMBER
#define IS_SET_CONNECTING_STAGE IS_SET_NUMBER
#define IS_SET_CONNECTING_TASK IS_SET_NUMBER
#define IS_SET_STRING(value) ((value) != NULL)
#define IS_SET_GUID(value) ((value)[0] != '\0')
#define IS_SET_NAME IS_SET_GUID
#define IS_SET_CHILDREN(value) ((value).count > 0)

#define PUT_UNSIGNED(value) put_32(at, (uint32_t)(value))
#define PUT_FLAG(value) at
#define PUT_COUNT PUT_UNSIGNED
#define PUT_BITS PUT_UNSIGNED
#define PUT_STATUS PUT_UNSIGNED
#define PUT_MODE PUT_UNSIGNED
#define PUT_NAMING PUT_UNSIGNED
#define PUT_OUTCOME PUT_UNSIGNED
#define PUT_STAGE PUT_UNSIGNED
#define PUT_OWN_NODE PUT_UNSIGNED
#define PUT_SET_STAGE PUT_UNSIGNED
#define PUT_LENDING_STAGE PUT_UNSIGNED
#define PUT_CONNECTING_STAGE PUT_UNSIGNED
#define PUT_CONNECTING_TASK PUT_UNSIGNED
#define PUT_NUMBER(value) put_64(at, (value))
#define PUT_STRING(value) put_text(packing, at, (value))
#define PUT_GUID PUT_STRING
#define PUT_NAME PUT_STRING
#define PUT_CHILDREN(value) put_children(packing, at, (value))

#define PACK_FIELD(of, type, name)                                                                 \
    if (IS_SET_##type(self->of name)) {                                                            \
        present |= (uint64_t)1 << bit;                                                             \
        at = PUT_##type(self->of name);                                                            \
    }                                                                                              \
    bit++;
#define ONE_MORE(of, type, name) 0,
#define PACK_PART(LIST, name, of) ZKL_REQUEST_##LIST(PACK_FIELD, of)
#define COUNT_PART(LIST, name, of) ZKL_REQUEST_##LIST(ONE_MORE, of)
#define REQUEST_FIELDS(FIELD, of) ZKL_REQUEST_SELF(FIELD, of) ZKL_REQUEST_PARTS(FIELD##_OF_PART)
#define PACK_FIELD_OF_PART PACK_PART
#define ONE_MORE_OF_PART COUNT_PART

/* The loops over the fields are rolled out by the compiler, which knows each one's type. */
#define PACKER(function, owner, bits, FIELDS)                                                      \
    _Static_assert(sizeof((char[]){ FIELDS(ONE_MORE, ) }) <= 8 * sizeof(bits), "a bit for each");  \
    static void function(zkl_packing *packing, const void *object) {                               \
        const owner *self = object;                                                                \
        uint64_t present = 0;                                                                      \
        unsigned bit = 0;                                                                          \
        char *at = packing->at + sizeof(bits);                                                     \
        FIELDS(PACK_FIELD, )                                                                       \
        const bits narrow = (bits)present;                                                         \
        (void)put(packing->at, &narrow, sizeof(narrow));                                           \
        packing->at = at;                                                                          \
    }

/* A struct that begins with its kind. */
#define KIND_PACKER(function, owner, FIELDS)                                                       \
    PACKER(function##_fields, owner, uint16_t, FIELDS)                                             \
    static void function(zkl_packing *packing, const void *object) {                               \
        *packing->at++ = (char)((const owner *)object)->kind;                                      \
        function##_fields(packing, object);                                                        \
    }

PACKER(pack_request, zkl_request, uint64_t, REQUEST_FIELDS)
PACKER(pack_set, zkl_set, uint16_t, ZKL_SET_FIELDS)
PACKER(pack_loan, zkl_lending_state, uint16_t, ZKL_LENDING_FIELDS)
PACKER(pack_connecting, zkl_connecting, uint64_t, ZKL_CONNECTING_FIELDS)
KIND_PACKER(pack_request_event, zkl_event, ZKL_EVENT_FIELDS)
KIND_PACKER(pack_set_event, zkl_set_event, ZKL_SET_EVENT_FIELDS)
KIND_PACKER(pack_loan_event, zkl_lending_event, ZKL_LENDING_EVENT_FIELDS)
KIND_PACKER(pack_connecting_event, zkl_connecting_event, ZKL_CONNECTING_EVENT_FIELDS)
KIND_PACKER(pack_request_action, zkl_action, ZKL_ACTION_FIELDS)
KIND_PACKER(pack_set_action, zkl_set_action, ZKL_SET_ACTION_FIELDS)
KIND_PACKER(pack_loan_action, zkl_lending_action, ZKL_LENDING_ACTION_FIELDS)

static void pack_connecting_action(zkl_packing *self, const void *action) {
    const uint16_t no_fields = 0;
    *self->at++ = (char)*(const zkl_connecting_action_kind *)action;
    self->at = put(self->at, &no_fields, sizeof(no_fields));
}

typedef void pack_function(zkl_packing *self, const void *object);

/* Actions are their count, and a list. */
#define ACTIONS_OF(owner) offsetof(owner, list), sizeof(((owner *)NULL)->list[0])

static const struct packer {
    pack_function *state;
    pack_function *event;
    pack_function *action;
    size_t list; /* where the list of actions begins */
    size_t size; /* of one */
} packers[ZKL_RECORD_MACHINES] = {
    [ZKL_RECORD_REQUEST] = { pack_request, pack_request_event, pack_request_action,
                             ACTIONS_OF(zkl_actions) },
    [ZKL_RECORD_SET] = { pack_set, pack_set_event, pack_set_action, ACTIONS_OF(zkl_set_actions) },
    [ZKL_RECORD_LOAN] = { pack_loan, pack_loan_event, pack_loan_action,
                          ACTIONS_OF(zkl_lending_actions) },
    [ZKL_RECORD_CONNECTING] = { pack_connecting, pack_connecting_event, pack_connecting_action,
                                ACTIONS_OF(zkl_connecting_actions) },
};

void zkl_pack_state(zkl_packing *self, zkl_record_machine machine, const void *state) {
    packers[machine].state(self, state);
}

void zkl_pack_event_of(zkl_packing *self, zkl_record_machine machine, const void *event) {
    packers[machine].event(self, event);
}

void zkl_pack_actions(zkl_packing *self, zkl_record_machine machine, const void *actions) {
    const struct packer *packer = &packers[machine];
    size_t count = *(const size_t *)actions;
    const char *action = (const char *)actions + packer->list;
    *self->at++ = (char)count;
    for (size_t i = 0; i < count; i++, action += packer->size) {
        packer->action(self, action);
    }
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
    keep(&kept, names, view.unlike);
    keep(&kept, names, find_other(children, &place, &view));
    if (request->lost.twins) {
        keep(&kept, names,
             zkl_contenders_find_guid(children, request->session.guid, place.own.text,
                                      request->lost.node));
    }
    return zkl_contenders_read(kept, shortened).count;
}

/* Such a request counts the names: its lists are not shortened. */
static bool counts_names(const zkl_request *request) {
    return request->options.permits > 0 || request->options.max_waiting > 0;
}

static void pack_shortened(zkl_packing *self, const zkl_request *request, const zkl_event *event) {
    zkl_neighbour shortened[ZKL_RECORD_SHORTENED_MAX];
    zkl_event shorter = *event;
    shorter.children = (zkl_listed){ .all = shortened };
    shorter.children.count = zkl_record_shorten(request, event->children, shortened);
    self->bytes[offsetof(zkl_record_head, what)] = ZKL_RECORD_SHORTENED;
    self->at = put_32(self->at, (uint32_t)event->children.count);
    pack_request_event(self, &shorter);
}

void zkl_pack_event(zkl_packing *self, const zkl_request *request, const zkl_event *event) {
    char *before = self->at;
    if (event->children.count <= ZKL_RECORD_NAMES_MAX || counts_names(request)) {
        pack_request_event(self, event);
        bool is_long = self->too_long || self->at - before > ZKL_RECORD_NAMES_BYTES_MAX;
        if (!is_long || counts_names(request)) {
            return;
        }
        self->at = before;
        self->too_long = false;
    }
    pack_shortened(self, request, event);
}

/* ---- Records --------------------------------------------------------------- */

void zkl_packing_begin(zkl_packing *self, const zkl_record_head *head) {
    self->end = self->bytes + sizeof(self->bytes) - ZKL_RECORD_NUMBERS_MAX;
    self->too_long = false;
    self->at = put(self->bytes, head, sizeof(*head));
}

void zkl_packing_empty(zkl_packing *self, zkl_record_what what) {
    self->at = self->bytes + sizeof(zkl_record_head);
    self->bytes[offsetof(zkl_record_head, what)] = (char)what;
}

size_t zkl_packing_end(zkl_packing *self) {
    const uint16_t length = (uint16_t)(self->at - self->bytes);
    (void)put(self->bytes + offsetof(zkl_record_head, length), &length, sizeof(length));
    return length;
}

void zkl_pack_news(zkl_packing *self, const zkl_session_news *news) {
    *self->at++ = (char)news->state;
    self->at = put_64(self->at, news->session_id);
    self->at = put_32(self->at, (uint32_t)news->timeout_ms);
}

void zkl_pack_request(zkl_packing *self, uint32_t session, const char *path,
                      const zkl_request *request) {
    self->at = put_32(self->at, session);
    self->at = put_text(self, self->at, path);
    pack_request(self, request);
}
