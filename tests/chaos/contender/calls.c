#include "calls.h"

#include <zklock/zklock.h>

void call_prepare(struct call *call, struct caller *caller, const char *what) {
    call->who = caller->who;
    call->what = what;
    call->number = atomic_fetch_add(&caller->calls, 1);
    history_begin(&call->line, call->who, "call");
    history_text(&call->line, "what", what);
    history_number(&call->line, "call", call->number);
}

void call_begin(struct call *call) {
    history_write(&call->line);
}

void call_end_as(struct call *call, const char *event, const char *status) {
    history_begin(&call->line, call->who, event);
    history_text(&call->line, "what", call->what);
    history_number(&call->line, "call", call->number);
    history_text(&call->line, "status", status);
}

static void end(struct call *call, const char *event, int status) {
    call_end_as(call, event, zkl_status_name(status));
    if (status != ZKL_OK && status != ZKL_BUSY) {
        history_text(&call->line, "message", zkl_error_message()); /* for people */
    }
}

void call_end(struct call *call, int status) {
    end(call, "return", status);
}

void call_end_in_callback(struct call *call, int status) {
    end(call, "callback", status);
}

void call_note(struct call *call) {
    history_write(&call->line);
}
