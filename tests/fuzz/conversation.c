#include "conversation.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/listed.h"

enum { NO_EVENT = -1, BASES = 5, TAIL_KINDS = 4 };

/* ---- Names ------------------------------------------------------------------ */

static void name_session(conversation *talk) {
    name_own_guid(talk->guid, talk->session);
    if (talk->is_protected) {
        name_protect(talk->guid);
    }
    name_own_prefix(talk->prefix, talk->guid, talk->mode, talk->permits, ZKL_NAMING_CURATOR);
    snprintf(talk->owner, sizeof(talk->owner), "_c_%s-", talk->guid);
}

static int32_t take_sequence(const conversation *talk, fuzz_bytes *bytes) {
    return talk->base + fuzz_take(bytes, '0') % 16; /* '0' to '9' are 0 to 9 */
}

/* With our GUID, but none that a server ever made for us. */
static void name_strange(char *name, size_t size, const conversation *talk, unsigned kind) {
    switch (kind % TAIL_KINDS) {
    case 0: /* longer than any of ours */
        snprintf(name, size, "%s%050d%010" PRId32, talk->prefix, 0, talk->base);
        break;
    case 1: /* without a sequence */
        snprintf(name, size, "%s", talk->prefix);
        break;
    case 2: /* of no kind */
        snprintf(name, size, "%sleader-%010" PRId32, talk->owner, talk->base);
        break;
    default:
        snprintf(name, size, "%s", talk->owner);
        break;
    }
}

static void read_child(const conversation *talk, fuzz_bytes *bytes, uint8_t letter,
                       char name[LISTED_NAME_SIZE]) {
    uint8_t digit = fuzz_take(bytes, '0') % 16;
    char guid[NAME_GUID_SIZE];
    int32_t sequence = talk->base + digit;
    if (letter == 'm') {
        snprintf(name, LISTED_NAME_SIZE, "%s%010" PRId32, talk->prefix, sequence);
    } else if (letter == 'o' && talk->ours_count > 0) {
        snprintf(name, LISTED_NAME_SIZE, "%s",
                 talk->ours[talk->ours_count - 1 - digit % talk->ours_count]);
    } else if (letter == 'g') {
        name_strange(name, LISTED_NAME_SIZE, talk, digit);
    } else {
        name_other_guid(guid, digit);
        name_other(name, (char)letter, guid,
                   sequence); /* any letter that it does not know is junk */
    }
}

/* ---- Replies ------------------------------------------------------------------ */

static void free_strings(conversation *talk) {
    free(talk->created);
    talk->created = NULL;
    for (size_t i = 0; i < talk->children_count; i++) {
        free(talk->children[i]);
    }
    talk->children_count = 0;
}

static void give_created(conversation *talk, zkl_event *event, int32_t sequence) {
    char name[NAME_SIZE];
    snprintf(name, sizeof(name), "%.60s%010" PRId32, talk->prefix, sequence);
    talk->created = fuzz_copy(name);
    event->node = talk->created;
    event->zxid = 1 + (int64_t)sequence - INT32_MIN;
    if (talk->ours_count == OURS_MAX) {
        event->outcome = ZKL_OUTCOME_NOT_NOW;
    }
}

static void give_children(conversation *talk, zkl_event *event) {
    event->children =
        listed((zkl_children){ (const char *const *)talk->children, talk->children_count });
}

static void read_children(conversation *talk, fuzz_bytes *bytes, zkl_event *event) {
    char name[LISTED_NAME_SIZE];
    for (uint8_t letter = fuzz_take(bytes, '.');
         letter != '.' && talk->children_count < CHILDREN_MAX; letter = fuzz_take(bytes, '.')) {
        read_child(talk, bytes, letter, name);
        talk->children[talk->children_count++] = fuzz_copy(name);
    }
    give_children(talk, event);
}

static void read_reply(conversation *talk, fuzz_bytes *bytes, zkl_event *event) {
    static const zkl_outcome outcomes[] = { ZKL_OUTCOME_OK,      ZKL_OUTCOME_NO_NODE,
                                            ZKL_OUTCOME_UNKNOWN, ZKL_OUTCOME_NOT_NOW,
                                            ZKL_OUTCOME_REFUSED, ZKL_OUTCOME_SESSION_OVER,
                                            ZKL_OUTCOME_REFUSED, ZKL_OUTCOME_OK };
    uint8_t digit = fuzz_take(bytes, '0') % 8;
    event->outcome = outcomes[digit];
    if (event->kind == ZKL_EVENT_PARENT_REMOVED && digit == 7) {
        event->outcome = ZKL_OUTCOME_NOT_EMPTY;
    }
    event->status = digit == 4 ? ZKL_NO_PERMISSION : ZKL_OK;
    event->fresh = digit != 7;
    if (event->outcome != ZKL_OUTCOME_OK) {
        return;
    }
    if (event->kind == ZKL_EVENT_CREATED) {
        give_created(talk, event, take_sequence(talk, bytes));
    } else if (event->kind == ZKL_EVENT_LISTED) {
        read_children(talk, bytes, event);
    } else if (event->kind == ZKL_EVENT_INSPECTED) {
        event->own_session = fuzz_take(bytes, '0') % 2 == 0 && talk->ours_count < OURS_MAX;
        event->zxid = 7;
    } else if (event->kind == ZKL_EVENT_PARENT_INSPECTED) {
        uint8_t bits = fuzz_take(bytes, '0');
        event->zxid = (bits & 1U) != 0 ? INT64_MAX : 1;
        event->holds_data = (bits & 2U) != 0;
    }
}

void conversation_answer_truly(conversation *talk, zkl_event *event, const char *own) {
    free_strings(talk);
    event->fresh = true;
    switch (event->kind) {
    case ZKL_EVENT_CREATED:
        give_created(talk, event, talk->created_truly++);
        break;
    case ZKL_EVENT_LISTED:
        if (conversation_is_ours(talk, own)) {
            talk->children[talk->children_count++] = fuzz_copy(own);
        }
        give_children(talk, event);
        break;
    case ZKL_EVENT_INSPECTED:
        event->own_session = conversation_is_ours(talk, talk->inspected);
        event->outcome = event->own_session ? ZKL_OUTCOME_OK : ZKL_OUTCOME_NO_NODE;
        break;
    case ZKL_EVENT_WATCHED:
        event->outcome = ZKL_OUTCOME_NO_NODE;
        break;
    default:
        break;
    }
}

/* ---- Events --------------------------------------------------------------------- */

static int kind_of_letter(uint8_t byte) {
    static const struct {
        char letter;
        zkl_event_kind kind;
    } letters[] = {
        { 's', ZKL_EVENT_START },           { 'c', ZKL_EVENT_CREATED },
        { 'l', ZKL_EVENT_LISTED },          { 'm', ZKL_EVENT_PARENT_MADE },
        { 'w', ZKL_EVENT_WATCHED },         { 'i', ZKL_EVENT_INSPECTED },
        { 'd', ZKL_EVENT_DELETED },         { 't', ZKL_EVENT_SETTLED },
        { '\\', ZKL_EVENT_HANDED_OVER },    { 'o', ZKL_EVENT_OWN_WATCHED },
        { 'b', ZKL_EVENT_BACKED_OFF },      { 'f', ZKL_EVENT_WATCH_FIRED },
        { 'g', ZKL_EVENT_OWN_WATCH_FIRED }, { 'k', ZKL_EVENT_PROBE },
        { 'e', ZKL_EVENT_LEASE_BEGUN },     { 'q', ZKL_EVENT_LEASE_THIN },
        { 'n', ZKL_EVENT_LEASE_ENDED },     { 'h', ZKL_EVENT_HOLD_LIMIT },
        { 'u', ZKL_EVENT_CONNECTED },       { 'v', ZKL_EVENT_DISCONNECTED },
        { 'x', ZKL_EVENT_SESSION_ENDED },   { 'y', ZKL_EVENT_TIMED_OUT },
        { 'a', ZKL_EVENT_CANCELLED },       { 'r', ZKL_EVENT_RELEASED },
        { 'p', ZKL_EVENT_PARENT_REMOVED },  { 'z', ZKL_EVENT_DOWNGRADED },
        { 'j', ZKL_EVENT_DOWNGRADE },       { '[', ZKL_EVENT_PARENT_INSPECTED },
    };
    for (size_t i = 0; i < sizeof(letters) / sizeof(letters[0]); i++) {
        if ((byte & 31U) == ((unsigned)letters[i].letter & 31U)) {
            return (int)letters[i].kind;
        }
    }
    return NO_EVENT;
}

void conversation_begin_session(conversation *talk, zkl_event *event) {
    talk->session++;
    name_session(talk);
    event->guid = talk->guid;
}

bool conversation_read(conversation *talk, fuzz_bytes *bytes, zkl_event *event) {
    static const int verdicts[] = { ZKL_CANCELLED, ZKL_CLOSED, ZKL_OK };
    int kind = kind_of_letter(fuzz_take(bytes, ' '));
    free_strings(talk);
    if (kind == NO_EVENT) {
        return false;
    }
    *event = (zkl_event){ .kind = (zkl_event_kind)kind };
    if (event->kind >= ZKL_EVENT_CREATED && event->kind <= ZKL_EVENT_DOWNGRADED) {
        read_reply(talk, bytes, event);
    } else if (event->kind == ZKL_EVENT_WATCH_FIRED) {
        uint8_t bits = fuzz_take(bytes, '0');
        event->deleted = (bits & 1U) != 0;
        event->fresh = (bits & 2U) == 0;
        event->data_set = !event->deleted && (bits & 4U) != 0;
    } else if (event->kind == ZKL_EVENT_CANCELLED) {
        event->status = verdicts[fuzz_take(bytes, '0') % 3];
    } else if (event->kind == ZKL_EVENT_SESSION_ENDED && fuzz_take(bytes, '0') % 2 == 0) {
        conversation_begin_session(talk, event);
    }
    return true;
}

/* ---- The account ------------------------------------------------------------------ */

bool conversation_is_ours(const conversation *talk, const char *name) {
    for (size_t i = 0; i < talk->ours_count; i++) {
        if (strcmp(talk->ours[i], name) == 0) {
            return true;
        }
    }
    return false;
}

bool conversation_is_listed(const conversation *talk, const char *name) {
    for (size_t i = 0; i < talk->listed; i++) {
        if (strcmp(talk->list[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static void add_ours(conversation *talk, const char *name) {
    size_t place = 0;
    while (place < talk->ours_count && strcmp(talk->ours[place], name) != 0) {
        place++;
    }
    if (place < OURS_MAX) {
        snprintf(talk->ours[place], NAME_SIZE, "%s", name);
        talk->may_live[place] = true;
        talk->ours_count += place == talk->ours_count ? 1U : 0U;
    }
}

static void note_gone(conversation *talk, const char *name) {
    for (size_t i = 0; i < talk->ours_count; i++) {
        talk->may_live[i] = talk->may_live[i] && strcmp(talk->ours[i], name) != 0;
    }
}

bool conversation_may_leave_node(const conversation *talk) {
    bool left = talk->create_lost;
    for (size_t i = 0; i < talk->ours_count; i++) {
        left = left || talk->may_live[i];
    }
    return left;
}

/* Whether a listed node may be that of the lost create: we do not know it yet. */
static bool shows_stranger_of_ours(const conversation *talk) {
    for (size_t i = 0; i < talk->listed; i++) {
        if (strncmp(talk->list[i], talk->owner, strlen(talk->owner)) == 0 &&
            !conversation_is_ours(talk, talk->list[i]) &&
            strcmp(talk->list[i], talk->rejected) > 0 &&
            strlen(talk->list[i]) < ZKL_NODE_NAME_SIZE) {
            return true;
        }
    }
    return false;
}

static void note_list(conversation *talk, const zkl_event *event) {
    talk->listed = 0;
    for (size_t i = 0; i < event->children.count; i++) {
        snprintf(talk->list[talk->listed++], LISTED_NAME_SIZE, "%s", event->children.all[i].text);
    }
    for (size_t i = 0; i < talk->ours_count; i++) {
        talk->may_live[i] = talk->may_live[i] && conversation_is_listed(talk, talk->ours[i]);
    }
    if (talk->write_followed && !shows_stranger_of_ours(talk)) {
        talk->create_lost = false;
    }
}

static void note_created(conversation *talk, const zkl_event *event) {
    if (event->outcome == ZKL_OUTCOME_OK) {
        add_ours(talk, event->node);
        talk->write_followed = true;
    } else if (event->outcome == ZKL_OUTCOME_UNKNOWN) {
        talk->create_lost = true;
        talk->write_followed = false;
    }
}

static void note_inspected(conversation *talk, const zkl_event *event) {
    if (event->outcome == ZKL_OUTCOME_OK && event->own_session) {
        add_ours(talk, talk->inspected);
        note_gone(talk, strcmp(talk->inspected, talk->reader) == 0 ? talk->writer : "");
    } else if (event->outcome == ZKL_OUTCOME_OK) {
        snprintf(talk->rejected, sizeof(talk->rejected), "%s", talk->inspected);
    }
}

/* Where the reply is lost either of the two may be there. */
static void note_downgraded(conversation *talk, const zkl_event *event) {
    if (event->outcome == ZKL_OUTCOME_OK) {
        add_ours(talk, talk->reader);
        note_gone(talk, talk->writer);
    } else if (event->outcome == ZKL_OUTCOME_NO_NODE) {
        note_gone(talk, talk->writer);
    }
}

static void note_session_end(conversation *talk) {
    talk->ours_count = 0;
    talk->create_lost = false;
    talk->write_followed = false;
    talk->rejected[0] = '\0';
}

void conversation_note(conversation *talk, const zkl_event *event) {
    bool gone = event->outcome == ZKL_OUTCOME_NO_NODE;
    bool answered = event->outcome == ZKL_OUTCOME_OK || gone;
    switch (event->kind) {
    case ZKL_EVENT_SESSION_ENDED:
        note_session_end(talk);
        break;
    case ZKL_EVENT_CREATED:
        note_created(talk, event);
        break;
    case ZKL_EVENT_SETTLED:
        talk->write_followed = talk->write_followed || event->outcome == ZKL_OUTCOME_OK;
        break;
    case ZKL_EVENT_LISTED:
        if (answered) {
            note_list(talk, event);
        }
        break;
    case ZKL_EVENT_INSPECTED:
        note_inspected(talk, event);
        break;
    case ZKL_EVENT_DELETED:
        note_gone(talk, answered ? talk->deleted : "");
        break;
    case ZKL_EVENT_HANDED_OVER:
        note_gone(talk, answered ? talk->handed_over : "");
        break;
    case ZKL_EVENT_PARENT_REMOVED:
        talk->created_truly = answered ? 0 : talk->created_truly; /* made anew, it counts anew */
        break;
    case ZKL_EVENT_DOWNGRADED:
        note_downgraded(talk, event);
        break;
    case ZKL_EVENT_OWN_WATCHED:
        note_gone(talk, gone ? talk->own_watched : "");
        break;
    default:
        break;
    }
}

zkl_children conversation_list(const conversation *talk) {
    static const char *names[CHILDREN_MAX];
    for (size_t i = 0; i < talk->listed; i++) {
        names[i] = talk->list[i];
    }
    return (zkl_children){ names, talk->listed };
}

void conversation_begin(conversation *talk, zkl_mode mode, unsigned permits, bool is_protected,
                        uint8_t base) {
    static const int32_t bases[BASES] = { 0, 998, ZKL_SEQUENCE_LIMIT - 4, -3, INT32_MAX - 1000 };
    *talk = (conversation){
        .mode = mode, .permits = permits, .is_protected = is_protected, .base = bases[base % BASES]
    };
    talk->created_truly = talk->base + 16;
    name_session(talk);
}

void conversation_end(conversation *talk) {
    free_strings(talk);
}
