#include "support/request_text.h"

#include <string.h>
#include <strings.h>

#include "support/check.h"

#define NAME(name) #name,
#define ASKED(asked, answered) #asked,
#define ANSWERED(asked, answered) #answered,

static const char *const event_names[] = { "START",
                                           ZKL_OPERATION_LIST(ANSWERED) ZKL_NEWS_LIST(NAME) };
static const char *const action_names[] = { ZKL_OPERATION_LIST(ASKED) ZKL_ORDER_LIST(NAME) };
static const char *const outcome_names[] = { ZKL_OUTCOME_LIST(NAME) };

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
    while (i < count && strcasecmp(names[i], word) != 0) {
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
