#include "support/monitor.h"

#include "support/check.h"

#define CHECK(condition)                                                                           \
    unit_check((condition), __FILE__, __LINE__, "%s: %s, in step %u", what, #condition,            \
               monitor->steps)

static unsigned bit(zkl_action_kind kind) {
    return 1U << (unsigned)kind;
}

static bool is_operation(zkl_action_kind kind) {
    switch (kind) {
    case ZKL_ACTION_CREATE:
    case ZKL_ACTION_LIST:
    case ZKL_ACTION_MAKE_PARENT:
    case ZKL_ACTION_WATCH:
    case ZKL_ACTION_INSPECT:
    case ZKL_ACTION_INSPECT_PARENT:
    case ZKL_ACTION_DELETE:
    case ZKL_ACTION_HAND_OVER:
    case ZKL_ACTION_SETTLE:
    case ZKL_ACTION_BACK_OFF:
    case ZKL_ACTION_WATCH_OWN:
    case ZKL_ACTION_REMOVE_PARENT:
    case ZKL_ACTION_DOWNGRADE:
        return true;
    default:
        return false;
    }
}

zkl_action_kind monitor_answered_by(zkl_event_kind kind) {
    switch (kind) {
    case ZKL_EVENT_CREATED:
        return ZKL_ACTION_CREATE;
    case ZKL_EVENT_LISTED:
        return ZKL_ACTION_LIST;
    case ZKL_EVENT_PARENT_MADE:
        return ZKL_ACTION_MAKE_PARENT;
    case ZKL_EVENT_WATCHED:
        return ZKL_ACTION_WATCH;
    case ZKL_EVENT_INSPECTED:
        return ZKL_ACTION_INSPECT;
    case ZKL_EVENT_DELETED:
        return ZKL_ACTION_DELETE;
    case ZKL_EVENT_HANDED_OVER:
        return ZKL_ACTION_HAND_OVER;
    case ZKL_EVENT_SETTLED:
        return ZKL_ACTION_SETTLE;
    case ZKL_EVENT_OWN_WATCHED:
        return ZKL_ACTION_WATCH_OWN;
    case ZKL_EVENT_PARENT_REMOVED:
        return ZKL_ACTION_REMOVE_PARENT;
    case ZKL_EVENT_PARENT_INSPECTED:
        return ZKL_ACTION_INSPECT_PARENT;
    case ZKL_EVENT_DOWNGRADED:
        return ZKL_ACTION_DOWNGRADE;
    case ZKL_EVENT_BACKED_OFF:
        return ZKL_ACTION_BACK_OFF;
    default:
        return ZKL_ACTION_END;
    }
}

request_monitor monitor_begin(const zkl_request_options *options,
                              const zkl_request_session *session) {
    return (request_monitor){ .connected = session->connected,
                              .needs_lease = options->needs_lease,
                              .lease_runs = session->lease_runs };
}

bool monitor_awaits(const request_monitor *monitor, zkl_action_kind kind) {
    return (monitor->outstanding & bit(kind)) != 0;
}

static void note_news(request_monitor *monitor, const zkl_event *event) {
    switch (event->kind) {
    case ZKL_EVENT_WATCHED:
        monitor->watching = event->outcome == ZKL_OUTCOME_OK;
        break;
    case ZKL_EVENT_WATCH_FIRED:
        monitor->watching = false;
        break;
    case ZKL_EVENT_OWN_WATCHED:
        monitor->watching_own = event->outcome == ZKL_OUTCOME_OK;
        break;
    case ZKL_EVENT_OWN_WATCH_FIRED:
        monitor->watching_own = false;
        break;
    case ZKL_EVENT_LEASE_BEGUN:
        monitor->lease_runs = true;
        break;
    case ZKL_EVENT_LEASE_THIN:
    case ZKL_EVENT_LEASE_ENDED:
        monitor->lease_runs = false;
        break;
    case ZKL_EVENT_CONNECTED:
        monitor->connected = true;
        break;
    case ZKL_EVENT_SESSION_ENDED:
        monitor->watching = false;
        monitor->watching_own = false;
        monitor->lease_runs = false;
        monitor->keeps_node = false;
        monitor->connected = false;
        monitor->outstanding &= ~bit(ZKL_ACTION_BACK_OFF); /* a pause ends with the session */
        break;
    case ZKL_EVENT_DISCONNECTED:
        monitor->connected = false;
        break;
    case ZKL_EVENT_TIMED_OUT:
    case ZKL_EVENT_CANCELLED:
        monitor->called_off = monitor->called_off || !monitor->granted;
        monitor->leaving = monitor->leaving || !monitor->granted;
        break;
    case ZKL_EVENT_RELEASED:
    case ZKL_EVENT_HOLD_LIMIT:
        monitor->keeps_node = false;
        break;
    default:
        break;
    }
    if (event->kind == ZKL_EVENT_RELEASED) {
        monitor->was_released = monitor->holds;
        monitor->holds = false;
        monitor->leaving = true;
    }
}

static void note_event(request_monitor *monitor, const zkl_event *event) {
    zkl_action_kind answered = monitor_answered_by(event->kind);
    if (answered != ZKL_ACTION_END && !monitor_awaits(monitor, answered)) {
        return; /* the request must ignore it too */
    }
    monitor->outstanding &= ~bit(answered);
    if (answered != ZKL_ACTION_END && event->outcome == ZKL_OUTCOME_SESSION_OVER) {
        monitor->connected = false;
    }
    note_news(monitor, event);
}

static void check_operation(request_monitor *monitor, zkl_action_kind kind, const char *what) {
    CHECK(!monitor_awaits(monitor, kind)); /* one of a kind at a time */
    CHECK(kind == ZKL_ACTION_BACK_OFF || monitor->connected);
    CHECK(kind != ZKL_ACTION_DOWNGRADE || monitor->holds);
    CHECK(kind != ZKL_ACTION_HAND_OVER || monitor->was_released);
    bool joins =
        kind == ZKL_ACTION_CREATE || kind == ZKL_ACTION_MAKE_PARENT || kind == ZKL_ACTION_WATCH;
    if (joins || kind == ZKL_ACTION_REMOVE_PARENT) {
        CHECK(!joins || !monitor->leaving);
        CHECK(!monitor->holds);
        CHECK(!monitor->watching);
    }
    monitor->outstanding |= bit(kind);
}

static void check_verdict(request_monitor *monitor, zkl_action action, const char *what) {
    monitor->verdicts++;
    CHECK(monitor->verdicts == 1);
    if (action.kind == ZKL_ACTION_GRANT) {
        CHECK(monitor->connected);
        CHECK(!monitor->called_off);
        CHECK(!monitor->leaving);
        CHECK(!monitor->needs_lease || monitor->lease_runs);
        monitor->granted = true;
        monitor->holds = true;
    } else {
        CHECK(action.status < ZKL_OK); /* a failure that says success would be a grant */
        monitor->leaving = true;
    }
}

static void check_action(request_monitor *monitor, zkl_action action, const char *what) {
    CHECK(monitor->ends == 0);
    if (is_operation(action.kind)) {
        check_operation(monitor, action.kind, what);
    } else if (action.kind == ZKL_ACTION_GRANT || action.kind == ZKL_ACTION_FAIL) {
        check_verdict(monitor, action, what);
    } else if (action.kind == ZKL_ACTION_LOSE) {
        CHECK(monitor->holds);
        CHECK(action.status < ZKL_OK);
        monitor->holds = false;
        monitor->leaving = true;
        monitor->keeps_node = action.status == ZKL_LEASE_ENDED;
    } else if (action.kind == ZKL_ACTION_UNWATCH) {
        CHECK(monitor->watching);
        monitor->watching = false;
    } else if (action.kind == ZKL_ACTION_UNWATCH_OWN) {
        CHECK(monitor->watching_own);
        monitor->watching_own = false;
    } else if (action.kind == ZKL_ACTION_REJOIN) {
        CHECK(!monitor->leaving);
    } else if (action.kind == ZKL_ACTION_END) {
        monitor->ends++;
        CHECK(monitor->verdicts == 1);
        CHECK(monitor->outstanding == 0); /* otherwise an answer would find no request */
        CHECK(!monitor->watching);
    }
}

void monitor_step(request_monitor *monitor, zkl_request *request, const zkl_event *event,
                  zkl_actions *actions, const char *what) {
    monitor->steps++;
    note_event(monitor, event);
    if (event->kind == ZKL_EVENT_DISCONNECTED && request->lost.lingers) {
        monitor->outstanding &= ~bit(ZKL_ACTION_BACK_OFF); /* it is to look once it can */
    }
    actions->count = ZKL_ACTIONS_MAX + 1;
    actions->overflowed = true; /* a step must replace what it finds */
    zkl_request_step(request, event, actions);
    CHECK(actions->count <= ZKL_ACTIONS_MAX && !actions->overflowed);
    for (size_t i = 0; i < actions->count; i++) {
        check_action(monitor, actions->list[i], what);
    }
    bool waits = monitor->outstanding != 0 || monitor->holds || monitor->watching ||
                 monitor->keeps_node ||
                 (monitor->needs_lease && !monitor->lease_runs && !monitor->leaving);
    CHECK(waits || monitor->ends == 1 || !monitor->connected); /* otherwise it is stuck */
}
