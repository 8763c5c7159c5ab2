/*
 * The request machine under arbitrary events. The input is a conversation of
 * one or two letters for each event, decoded by conversation.h, with a header:
 *
 *     p or a   plausible or arbitrary events (see below); r or c: the same, and our nodes are
 *              protected
 *     0 to 3   the mode, and from 4 on how many permits, or how many may wait;  0 to 4: the
 * sequence that all others are counted from 0 to ?   bits: 1 a try, 2 fails on expiry, 4 needs a
 * lease, 8 which runs;
 *              @ to O: the same, and disconnected at first
 *
 * In each step, whatever the events:
 *     the monitor's rules (support/monitor.h): among them the verdict at most once, END
 *     at most once and last, one operation of a kind at a time, and never stuck: there
 *     is an operation or a pause outstanding, a watch, a lock held, a lease or a
 *     connection to wait for;
 *     CREATE has our prefix, WATCH a child of the last list, INSPECT one with our GUID,
 *     WATCH_OWN and DELETE a node that a reply said is ours, in this session; no other
 *     action but REPORT names a node;
 *     at END no node of ours can be left: neither one that is known, nor one of a create
 *     whose reply was lost;
 *     a grant is justified by the last list, or by it and the deletion of the only one
 *     before us, or by it and a release that says so;
 *     only what was held alone is released so.
 *
 * Plausible events are those that the runner can feed (request_runner.c): a reply
 * only to what is outstanding, a firing only of a watch that is armed, and after a
 * session has ended (which a reply may be the first to say) no connection before all
 * its replies are in. What a reply says is arbitrary even so. From wherever such an
 * input left it, the request comes to its end once the servers answer and the others
 * go. Arbitrary events come in any order.
 *
 * Assumed of those as well, as the machine's header says: each carries what belongs to
 * it, and none comes after END. A reply without a connection, or after the end of the
 * session that it was sent in, says that it is lost. RELEASED comes only after GRANT:
 * else there would be no verdict that it could stand for.
 *
 * With ZKLOCK_FUZZ_TRACE set in the environment, the conversation is printed.
 */
#include "recipe/request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conversation.h"
#include "fuzz.h"
#include "reference.h"
#include "support/check.h"
#include "support/monitor.h"
#include "support/request_text.h"

enum { EVENTS_MAX = 400, HEALING_STEPS = 200 };

typedef struct fuzz_run {
    bool plausible;
    bool traced;
    zkl_request request;
    request_monitor monitor;
    conversation talk;
    bool session_is_over; /* said by a reply; the news is still to come */
    unsigned stale;       /* operations of sessions that are over, by kind of action, a bit each */
    bool list_is_current; /* the last list is of this connection */
    bool is_gone;         /* since that list the blocker was heard to be deleted */
    bool is_released;     /* or its holder was heard to have released it */
} fuzz_run;

static void read_header(fuzz_run *run, fuzz_bytes *bytes) {
    uint8_t first = fuzz_take(bytes, 'p');
    run->plausible = first % 2 == 0;
    uint8_t what = fuzz_take(bytes, '0') % 16; /* '0' to '9' are 0 to 9 */
    bool permit = what % 4 > ZKL_WRITE;
    zkl_mode mode = permit ? ZKL_EXCLUSIVE : (zkl_mode)(what % 4);
    unsigned permits = permit ? 1U + what / 4U : 0;
    uint8_t base = fuzz_take(bytes, '0');
    uint8_t bits = fuzz_take(bytes, '0');
    conversation_begin(&run->talk, mode, permits, (first & 2U) != 0, base);
    zkl_request_options options = {
        .mode = mode,
        .permits = permits,
        .max_waiting = permits == 0 ? what / 4U : 0,
        .only_try = (bits & 1U) != 0,
        .fail_on_session_expiry = (bits & 2U) != 0,
        .needs_lease = (bits & 4U) != 0,
    };
    zkl_request_session session = { .connected = (bits & 0x40U) == 0,
                                    .lease_runs = (bits & 8U) != 0 };
    memcpy(session.guid, run->talk.guid, sizeof(session.guid));
    zkl_request_begin(&run->request, &options, &session);
    run->monitor = monitor_begin(&options, &session);
}

/* ---- Grants ------------------------------------------------------------------- */

/* Our own node is watched: it was, or it is now. */
static bool is_own_watched(const zkl_event *event, const request_monitor *before) {
    return event->kind == ZKL_EVENT_OWN_WATCHED ? event->outcome == ZKL_OUTCOME_OK
                                                : before->watching_own;
}

/* By a list that shows our own node and nobody in the way; or by the end of the one
 * before us while our own node is watched and the connection stood since that list
 * was answered: it was deleted, is a mutex or a reader, and was the only one; or it
 * was released. */
static void check_grant(const fuzz_run *run, const zkl_event *event,
                        const request_monitor *before) {
    zkl_children list = conversation_list(&run->talk);
    const char *own = run->request.own.node;
    reference_view view = reference_examine(list, own);
    EXPECT(conversation_is_ours(&run->talk, own));
    EXPECT(view.listed);
    if (event->kind == ZKL_EVENT_LISTED) {
        EXPECT(event->fresh && view.blocker == NULL);
        EXPECT(!view.unlike_earlier);
        return;
    }
    EXPECT(event->fresh && is_own_watched(event, before) && before->connected);
    EXPECT(run->list_is_current);
    const char *blocker = view.blocker != NULL ? view.blocker : "";
    EXPECT(strcmp(blocker, run->talk.watched) == 0);
    zkl_node_kind kind = reference_name(blocker).kind;
    if (run->is_gone) {
        EXPECT(view.earlier == 1);
        EXPECT(kind == ZKL_NODE_EXCLUSIVE || kind == ZKL_NODE_READ);
    } else {
        EXPECT(run->is_released && name_is_protected(own) && name_is_protected(blocker));
        EXPECT(kind == ZKL_NODE_EXCLUSIVE || kind == ZKL_NODE_WRITE);
    }
}

/* ---- Actions -------------------------------------------------------------------- */

static void check_node(fuzz_run *run, const zkl_action *action) {
    conversation *talk = &run->talk;
    switch (action->kind) {
    case ZKL_ACTION_CREATE:
        EXPECT(strcmp(action->node, talk->prefix) == 0);
        break;
    case ZKL_ACTION_WATCH:
        EXPECT(conversation_is_listed(talk, action->node));
        snprintf(talk->watched, sizeof(talk->watched), "%s", action->node);
        break;
    case ZKL_ACTION_REPORT:
        EXPECT(conversation_is_listed(talk, action->node));
        EXPECT(reference_name(action->node).kind == ZKL_NODE_UNKNOWN);
        break;
    case ZKL_ACTION_WATCH_OWN:
        EXPECT(conversation_is_ours(talk, action->node));
        snprintf(talk->own_watched, sizeof(talk->own_watched), "%s", action->node);
        break;
    case ZKL_ACTION_DELETE:
        unit_check(conversation_is_ours(talk, action->node), __FILE__, __LINE__,
                   "DELETE %s, which nobody has said is ours", action->node);
        snprintf(talk->deleted, sizeof(talk->deleted), "%s", action->node);
        break;
    case ZKL_ACTION_HAND_OVER:
        EXPECT(conversation_is_ours(talk, action->node) && name_is_protected(action->node));
        EXPECT(reference_name(action->node).kind == ZKL_NODE_EXCLUSIVE ||
               reference_name(action->node).kind == ZKL_NODE_WRITE);
        snprintf(talk->handed_over, sizeof(talk->handed_over), "%s", action->node);
        break;
    case ZKL_ACTION_DOWNGRADE:
        EXPECT(conversation_is_ours(talk, run->request.own.node));
        EXPECT(reference_name(action->node).kind == ZKL_NODE_READ);
        EXPECT(reference_same_owner(action->node, run->request.own.node));
        snprintf(talk->reader, sizeof(talk->reader), "%s", action->node);
        snprintf(talk->writer, sizeof(talk->writer), "%s", run->request.own.node);
        break;
    case ZKL_ACTION_INSPECT:
        EXPECT(strncmp(action->node, talk->owner, strlen(talk->owner)) == 0);
        snprintf(talk->inspected, sizeof(talk->inspected), "%s", action->node);
        break;
    default:
        EXPECT(action->node == NULL);
        break;
    }
}

static void check_action(fuzz_run *run, const zkl_action *action, const zkl_event *event,
                         const request_monitor *before) {
    EXPECT(action->kind <= ZKL_ACTION_END);
    check_node(run, action);
    if (action->kind == ZKL_ACTION_GRANT) {
        check_grant(run, event, before);
    } else if (action->kind == ZKL_ACTION_END) {
        EXPECT(!conversation_may_leave_node(&run->talk));
    } else if (action->kind == ZKL_ACTION_REMOVE_PARENT) { /* no data, by what was just heard */
        EXPECT(event->kind == ZKL_EVENT_PARENT_INSPECTED && !event->holds_data);
        EXPECT(event->outcome == ZKL_OUTCOME_OK && event->zxid <= run->request.own.zxid);
    }
}

static void print_word(const fuzz_run *run, const char *word, const char *node) {
    char brief[NAME_SIZE] = "";
    if (node != NULL) {
        name_shorten(brief, node, run->talk.prefix);
    }
    fprintf(stderr, " %s%s%s", word, node != NULL ? " " : "", brief);
}

static void print_event(const fuzz_run *run, const zkl_event *event) {
    print_word(run, request_text_of_event(event->kind), event->node);
    if (monitor_answered_by(event->kind) != ZKL_ACTION_END) {
        print_word(run, request_text_of_outcome(event->outcome), NULL);
    }
    for (size_t i = 0; i < event->children.count; i++) {
        print_word(run, "", event->children.all[i].text);
    }
    fputs(event->deleted ? " deleted" : event->data_set ? " changed" : "", stderr);
    fputs(event->own_session ? " ours" : "", stderr);
    fputs(event->holds_data ? " with_data" : "", stderr);
    fputs(" ->", stderr);
}

static void print_actions(const fuzz_run *run, const zkl_actions *actions) {
    for (size_t i = 0; i < actions->count && i < ZKL_ACTIONS_MAX; i++) {
        const zkl_action *action = &actions->list[i];
        print_word(run, request_text_of_action(action->kind), action->node);
        print_word(run, action->status != ZKL_OK ? request_text_of_status(action->status) : "",
                   NULL);
    }
    fputc('\n', stderr);
}

/* By a copy, so that what is wrong with the actions is seen before it is found. */
static void print_step(const fuzz_run *run, const zkl_event *event) {
    zkl_request copy = run->request;
    zkl_actions actions;
    zkl_request_step(&copy, event, &actions);
    print_event(run, event);
    print_actions(run, &actions);
}

static bool is_awaited(const fuzz_run *run, const zkl_event *event) {
    return monitor_awaits(&run->monitor, monitor_answered_by(event->kind));
}

/* Whether servers have said anything by it: a reply that nobody awaits is none. */
static bool is_heard(const fuzz_run *run, const zkl_event *event) {
    return monitor_answered_by(event->kind) == ZKL_ACTION_END || is_awaited(run, event);
}

static unsigned bit(zkl_action_kind kind) {
    return 1U << (unsigned)kind;
}

/* Of the blocker in the last list. */
static void note_blocker(fuzz_run *run, const zkl_event *event) {
    if (event->kind == ZKL_EVENT_WATCHED) {
        run->is_gone = event->outcome == ZKL_OUTCOME_NO_NODE;
    } else if (event->kind == ZKL_EVENT_WATCH_FIRED && run->monitor.watching) {
        run->is_gone = event->deleted;
        run->is_released = event->data_set;
    } else if (event->kind == ZKL_EVENT_LISTED) {
        run->is_gone = run->is_released = false;
    }
}

static void note(fuzz_run *run, const zkl_event *event) {
    conversation_note(&run->talk, event);
    note_blocker(run, event);
    run->stale &= ~bit(monitor_answered_by(event->kind));
    if (event->kind == ZKL_EVENT_SESSION_ENDED) {
        run->session_is_over = false;
        run->list_is_current = false;
        run->stale = run->monitor.outstanding & ~bit(ZKL_ACTION_BACK_OFF);
    } else if (event->kind == ZKL_EVENT_DISCONNECTED) {
        run->list_is_current = false;
    } else if (event->kind == ZKL_EVENT_LISTED) {
        run->list_is_current = true;
    }
}

static void feed(fuzz_run *run, const zkl_event *event) {
    zkl_actions actions = { .count = 0 };
    request_monitor before = run->monitor;
    if (is_heard(run, event)) {
        note(run, event);
    }
    if (run->traced) {
        print_step(run, event);
    }
    monitor_step(&run->monitor, &run->request, event, &actions, "fuzz");
    for (size_t i = 0; i < actions.count; i++) {
        check_action(run, &actions.list[i], event, &before);
    }
    EXPECT(run->monitor.ends == 0 || actions.list[actions.count - 1].kind == ZKL_ACTION_END);
    EXPECT((run->request.stage == ZKL_STAGE_ENDED) == (run->monitor.ends == 1));
}

/* ---- Plausible events -------------------------------------------------------------- */

static bool is_plausible(const fuzz_run *run, const zkl_event *event) {
    if (event->kind >= ZKL_EVENT_CREATED && event->kind <= ZKL_EVENT_BACKED_OFF) {
        return is_awaited(run, event);
    }
    switch (event->kind) {
    case ZKL_EVENT_START:
        return false; /* it is the first, and only that */
    case ZKL_EVENT_WATCH_FIRED:
        return run->monitor.watching;
    case ZKL_EVENT_OWN_WATCH_FIRED:
        return run->monitor.watching_own;
    case ZKL_EVENT_CONNECTED:
        return !run->monitor.connected && !run->session_is_over && run->stale == 0;
    case ZKL_EVENT_DISCONNECTED:
        return run->monitor.connected;
    default:
        return true;
    }
}

/* Sent in a session that is over, or lost with the connection. */
static void lose_reply(const fuzz_run *run, zkl_event *event) {
    if ((run->stale & bit(monitor_answered_by(event->kind))) != 0) {
        event->outcome = ZKL_OUTCOME_SESSION_OVER;
    } else if (!run->monitor.connected && event->outcome <= ZKL_OUTCOME_NO_NODE) {
        event->outcome = ZKL_OUTCOME_UNKNOWN;
    }
}

static void feed_from_input(fuzz_run *run, zkl_event *event) {
    bool possible = event->kind != ZKL_EVENT_RELEASED || run->monitor.granted;
    if (!possible || (run->plausible && !is_plausible(run, event))) {
        return;
    }
    if (event->kind >= ZKL_EVENT_CREATED && event->kind <= ZKL_EVENT_DOWNGRADED) {
        bool current =
            is_awaited(run, event) && (run->stale & bit(monitor_answered_by(event->kind))) == 0;
        lose_reply(run, event);
        run->session_is_over =
            run->session_is_over || (current && event->outcome == ZKL_OUTCOME_SESSION_OVER);
    }
    feed(run, event);
}

/* ---- The end ----------------------------------------------------------------------- */

static void feed_news(fuzz_run *run, zkl_event_kind kind, int status) {
    feed(run, &(zkl_event){ .kind = kind, .status = status });
}

static void answer_next(fuzz_run *run) {
    for (zkl_event_kind kind = ZKL_EVENT_CREATED; kind <= ZKL_EVENT_BACKED_OFF; kind++) {
        zkl_event event = { .kind = kind };
        if (is_awaited(run, &event)) {
            conversation_answer_truly(&run->talk, &event, run->request.own.node);
            feed_from_input(run, &event);
            return;
        }
    }
}

static void help(fuzz_run *run) {
    if (run->session_is_over) {
        zkl_event event = { .kind = ZKL_EVENT_SESSION_ENDED };
        conversation_begin_session(&run->talk, &event);
        feed(run, &event);
    } else if (run->monitor.outstanding != 0) {
        answer_next(run);
    } else if (!run->monitor.connected) {
        feed_news(run, ZKL_EVENT_CONNECTED, ZKL_OK);
    } else if (run->monitor.holds || run->monitor.keeps_node) {
        feed_news(run, ZKL_EVENT_RELEASED, ZKL_OK);
    } else if (run->monitor.needs_lease && !run->monitor.lease_runs) {
        feed_news(run, ZKL_EVENT_LEASE_BEGUN, ZKL_OK);
    } else {
        EXPECT(run->monitor.watching); /* else nothing would ever wake it */
        feed(run, &(zkl_event){ .kind = ZKL_EVENT_WATCH_FIRED, .deleted = true, .fresh = true });
    }
}

/* Now all goes well: replies are true, and others go away. */
static void bring_to_its_end(fuzz_run *run, bool call_off) {
    if (call_off && run->monitor.ends == 0) {
        feed_news(run, ZKL_EVENT_TIMED_OUT, ZKL_OK);
    }
    for (unsigned i = 0; i < HEALING_STEPS && run->monitor.ends == 0; i++) {
        help(run);
    }
    EXPECT(run->monitor.ends == 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static fuzz_run run;
    fuzz_bytes bytes = { data, size };
    memset(&run, 0, sizeof(run));
    run.traced = getenv("ZKLOCK_FUZZ_TRACE") != NULL;
    read_header(&run, &bytes);
    feed_news(&run, ZKL_EVENT_START, ZKL_OK);
    for (unsigned i = 0; i < EVENTS_MAX && bytes.size > 0 && run.monitor.ends == 0; i++) {
        zkl_event event;
        if (conversation_read(&run.talk, &bytes, &event)) {
            feed_from_input(&run, &event);
        }
    }
    if (run.plausible) {
        bring_to_its_end(&run, size % 2 == 1);
    }
    conversation_end(&run.talk);
    return 0;
}
