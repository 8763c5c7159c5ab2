#include "support/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/listed.h"
#include "support/monitor.h"
#include "support/names.h"
#include "support/request_text.h"

enum { WORDS_MAX = 12, TEXT_SIZE = 512 };

typedef struct conversation {
    zkl_request request;
    request_monitor monitor;
    zkl_mode mode;
    unsigned permits;
    zkl_naming naming;
    bool is_protected;
    unsigned session;
    char prefix[NAME_SIZE];
    char inspected[NAME_SIZE]; /* the short form of the node that INSPECT asked about last */
    char guid[NAME_GUID_SIZE];
    char names[WORDS_MAX][NAME_SIZE];
    const char *children[WORDS_MAX];
} conversation;

typedef struct word_list {
    char text[TEXT_SIZE];
    const char *list[WORDS_MAX];
    size_t count;
} word_list;

int64_t trace_zxid(int32_t sequence) {
    return 5000000000 + sequence;
}

/* Ends the program: a typing error in a trace is no test result. */
static void give_up(const char *what, const char *word) {
    fprintf(stderr, "bad trace: %s \"%s\"\n", what, word);
    abort();
}

static word_list split(const char *from, size_t length) {
    word_list words = { .count = 0 };
    snprintf(words.text, sizeof(words.text), "%.*s", (int)length, from);
    return words;
}

/* Cuts the words out of the struct's own text, so the struct must not move. */
static void cut(word_list *words) {
    char *rest = NULL;
    char *word = strtok_r(words->text, " ", &rest);
    while (word != NULL && words->count < WORDS_MAX) {
        words->list[words->count++] = word;
        word = strtok_r(NULL, " ", &rest);
    }
    if (word != NULL) {
        give_up("too many words at", word);
    }
}

/* ---- Events ------------------------------------------------------------- */

static void read_children(conversation *play, zkl_event *event, const word_list *words) {
    event->fresh = strcmp(words->list[words->count - 1], "long_ago") != 0;
    size_t last = event->fresh ? words->count : words->count - 1;
    size_t count = strcmp(words->list[1], "nobody") == 0 ? 0 : last - 1;
    for (size_t i = 0; i < count; i++) {
        name_expand(play->names[i], words->list[i + 1], play->prefix);
        play->children[i] = play->names[i];
    }
    event->children = listed((zkl_children){ count > 0 ? play->children : NULL, count });
}

static void read_success(conversation *play, zkl_event *event, const word_list *words) {
    const char *word = words->list[1];
    if (event->kind == ZKL_EVENT_CREATED) {
        name_expand(play->names[0], word, play->prefix);
        event->node = play->names[0];
        bool tells = words->count < 3 || strcmp(words->list[2], "in_transaction") != 0;
        event->zxid = tells ? trace_zxid(name_sequence(word)) : 0;
    } else if (event->kind == ZKL_EVENT_LISTED) {
        read_children(play, event, words);
    } else if (event->kind == ZKL_EVENT_INSPECTED) {
        event->own_session = strcmp(word, "ours") == 0;
        event->zxid = trace_zxid(name_sequence(play->inspected));
    } else if (event->kind == ZKL_EVENT_PARENT_INSPECTED) {
        event->zxid = strcmp(word, "younger") == 0 ? INT64_MAX : 1;
        event->holds_data = strcmp(word, "with_data") == 0;
    } else {
        give_up("no outcome", word);
    }
}

static void read_outcome(conversation *play, zkl_event *event, const word_list *words) {
    if (words->count < 2) {
        give_up("no outcome of", words->list[0]);
    }
    if (!request_text_outcome(words->list[1], &event->outcome)) {
        read_success(play, event, words);
        return;
    }
    event->fresh = words->count < 3 || strcmp(words->list[2], "long_ago") != 0;
    bool says_why = event->outcome == ZKL_OUTCOME_REFUSED && words->count == 2;
    event->status = says_why ? ZKL_NO_PERMISSION : ZKL_OK;
}

static void read_firing(zkl_event *event, const word_list *words) {
    const char *how = words->count > 1 ? words->list[1] : "changed";
    event->deleted = strcmp(how, "deleted") == 0;
    event->data_set = strcmp(how, "changed") == 0;
    if (!event->deleted && !event->data_set && strcmp(how, "somehow") != 0) {
        give_up("no way for a watch to fire", how);
    }
    event->fresh = words->count < 3 || strcmp(words->list[2], "long_ago") != 0;
    event->own_session = words->count == 3 && strcmp(words->list[2], "ours") == 0;
}

static void begin_session(conversation *play) {
    name_own_guid(play->guid, ++play->session);
    if (play->is_protected) {
        name_protect(play->guid);
    }
    name_own_prefix(play->prefix, play->guid, play->mode, play->permits, play->naming);
}

static zkl_event read_event(conversation *play, const word_list *words) {
    zkl_event event = { .kind = ZKL_EVENT_START };
    if (!request_text_event(words->list[0], &event.kind)) {
        give_up("no event", words->list[0]);
    }
    if (event.kind >= ZKL_EVENT_CREATED && event.kind <= ZKL_EVENT_DOWNGRADED) {
        read_outcome(play, &event, words);
    } else if (event.kind == ZKL_EVENT_WATCH_FIRED) {
        read_firing(&event, words);
    } else if (event.kind == ZKL_EVENT_SESSION_ENDED) {
        begin_session(play);
        event.guid = play->guid;
    } else if (event.kind == ZKL_EVENT_UNPROTECTED) {
        play->is_protected = false;
        play->session--;
        begin_session(play);
    } else if (event.kind == ZKL_EVENT_CANCELLED) {
        event.status = ZKL_CANCELLED;
    }
    return event;
}

/* ---- Actions ------------------------------------------------------------ */

static void write_action(conversation *play, zkl_action action, char *text, size_t size) {
    char brief[NAME_SIZE] = "";
    bool plain_create = action.kind == ZKL_ACTION_CREATE && strcmp(action.node, play->prefix) == 0;
    if (action.node != NULL && !plain_create) {
        name_shorten(brief, action.node, play->prefix);
    }
    if (action.kind == ZKL_ACTION_INSPECT) {
        snprintf(play->inspected, sizeof(play->inspected), "%s", brief);
    }
    bool has_status = action.status != ZKL_OK || action.kind == ZKL_ACTION_FAIL ||
                      action.kind == ZKL_ACTION_DOWNGRADE_ENDED;
    if (action.level > 0) {
        snprintf(brief, sizeof(brief), "%u", action.level);
    }
    snprintf(text, size, "%s%s%s%s%s", request_text_of_action(action.kind),
             brief[0] != '\0' ? " " : "", brief, has_status ? " " : "",
             has_status ? request_text_of_status(action.status) : "");
}

static void write_actions(conversation *play, const zkl_actions *actions, char text[TEXT_SIZE]) {
    size_t length = 0;
    text[0] = '\0';
    for (size_t i = 0; i < actions->count && i < ZKL_ACTIONS_MAX; i++) {
        if (i > 0) {
            text[length++] = ' ';
        }
        write_action(play, actions->list[i], text + length, TEXT_SIZE - length - 1);
        length = strlen(text);
    }
}

/* Checks that the fencing token is the czxid of the node with which the lock is held. */
static void check_token(const conversation *play, const zkl_actions *actions, const char *row,
                        const char *file, int line) {
    char node[NAME_SIZE];
    for (size_t i = 0; i < actions->count; i++) {
        if (actions->list[i].kind == ZKL_ACTION_GRANT) {
            name_shorten(node, play->request.own.node, play->prefix);
            unit_check(play->request.own.zxid == trace_zxid(name_sequence(node)), file, line,
                       "\"%s\": the token is not that of %s", row, node);
        }
    }
}

/* ---- The play ------------------------------------------------------------ */

static void play_row(conversation *play, const char *row, size_t number, const char *file,
                     int line) {
    const char *arrow = strstr(row, "->");
    if (arrow == NULL) {
        give_up("no arrow in", row);
    }
    word_list words = split(row, (size_t)(arrow - row));
    cut(&words);
    zkl_event event = read_event(play, &words);
    zkl_actions actions;
    monitor_step(&play->monitor, &play->request, &event, &actions, row);
    char actual[TEXT_SIZE];
    write_actions(play, &actions, actual);
    const char *expected = arrow + 2 + strspn(arrow + 2, " ");
    unit_check(strcmp(actual, expected) == 0, file, line,
               "row %zu, \"%s\": the request says \"%s\"", number, row, actual);
    check_token(play, &actions, row, file, line);
}

void trace_play(trace_setup setup, const char *const *lines, size_t count, const char *file,
                int line) {
    conversation play = { .mode = setup.mode,
                          .permits = setup.permits,
                          .naming = setup.naming,
                          .is_protected = setup.is_protected };
    begin_session(&play);
    zkl_request_options options = {
        .mode = setup.mode,
        .permits = setup.permits,
        .naming = setup.naming,
        .depth = 3,
        .max_waiting = setup.max_waiting,
        .is_member = setup.is_member,
        .only_try = setup.only_try,
        .fail_on_session_expiry = setup.fail_on_session_expiry,
        .needs_lease = setup.needs_lease,
    };
    zkl_request_session session = { .connected = !setup.disconnected,
                                    .lease_runs = setup.lease_runs };
    memcpy(session.guid, play.guid, sizeof(session.guid));
    char name[NAME_SIZE];
    if (setup.companion != NULL) {
        name_expand(name, setup.companion, "");
        options.companion = name;
    }
    zkl_request_begin(&play.request, &options, &session);
    play.monitor = monitor_begin(&options, &session);
    for (size_t i = 0; i < count && lines[i] != NULL; i++) {
        play_row(&play, lines[i], i + 1, file, line);
    }
}
