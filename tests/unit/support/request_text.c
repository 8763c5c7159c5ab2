#include "support/request_text.h"

#include <string.h>

#include "support/check.h"

static const char *const event_names[] = {
    [ZKL_EVENT_START] = "start",
    [ZKL_EVENT_CREATED] = "created",
    [ZKL_EVENT_LISTED] = "listed",
    [ZKL_EVENT_PARENT_MADE] = "parent_made",
    [ZKL_EVENT_WATCHED] = "watched",
    [ZKL_EVENT_INSPECTED] = "inspected",
    [ZKL_EVENT_DELETED] = "deleted",
    [ZKL_EVENT_SETTLED] = "settled",
    [ZKL_EVENT_OWN_WATCHED] = "own_watched",
    [ZKL_EVENT_PARENT_REMOVED] = "parent_removed",
    [ZKL_EVENT_PARENT_INSPECTED] = "parent_inspected",
    [ZKL_EVENT_DOWNGRADED] = "downgraded",
    [ZKL_EVENT_BACKED_OFF] = "backed_off",
    [ZKL_EVENT_WATCH_FIRED] = "watch_fired",
    [ZKL_EVENT_OWN_WATCH_FIRED] = "own_watch_fired",
    [ZKL_EVENT_PROBE] = "probe",
    [ZKL_EVENT_LEASE_BEGUN] = "lease_begun",
    [ZKL_EVENT_LEASE_THIN] = "lease_thin",
    [ZKL_EVENT_LEASE_ENDED] = "lease_ended",
    [ZKL_EVENT_HOLD_LIMIT] = "hold_limit",
    [ZKL_EVENT_CONNECTED] = "connected",
    [ZKL_EVENT_DISCONNECTED] = "disconnected",
    [ZKL_EVENT_SESSION_ENDED] = "session_ended",
    [ZKL_EVENT_TIMED_OUT] = "timed_out",
    [ZKL_EVENT_CANCELLED] = "cancelled",
    [ZKL_EVENT_RELEASED] = "released",
    [ZKL_EVENT_DOWNGRADE] = "downgrade",
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

static const struct {
    int status;
    const char *name;
} status_names[] = {
#define STATUS_NAME(name, value, text) { name, #name },
    ZKL_STATUS_LIST(STATUS_NAME)
#undef STATUS_NAME
};

const char *request_text_of_event(zkl_event_kind kind) {
    return event_names[kind];
}

const char *request_text_of_outcome(zkl_outcome outcome) {
    return outcome_names[outcome];
}

const char *request_text_of_action(zkl_action_kind kind) {
    return action_names[kind];
}

const char *request_text_of_status(int status) {
    for (size_t i = 0; i < COUNT_OF(status_names); i++) {
        if (status_names[i].status == status) {
            return status_names[i].name + strlen("ZKL_");
        }
    }
    return "?";
}

static size_t find(const char *const *names, size_t count, const char *word) {
    size_t i = 0;
    while (i < count && strcmp(names[i], word) != 0) {
        i++;
    }
    return i;
}

bool request_text_event(const char *word, zkl_event_kind *kind) {
    size_t found = find(event_names, COUNT_OF(event_names), word);
    if (found == COUNT_OF(event_names)) {
        return false;
    }
    *kind = (zkl_event_kind)found;
    return true;
}

bool request_text_outcome(const char *word, zkl_outcome *outcome) {
    size_t found = find(outcome_names, COUNT_OF(outcome_names), word);
    if (found == COUNT_OF(outcome_names)) {
        return false;
    }
    *outcome = (zkl_outcome)found;
    return true;
}
