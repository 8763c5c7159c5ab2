/* zklock/testing.h: the trace. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "handle/lock_events.h"
#include "testing/testing.h"
#include "testing/world.h"
#include "zklock/testing.h"

static FILE *trace_file;

static void begin_line(const char *who) {
    const int64_t us_per_ms = 1000;
    int64_t now_us = zkl_world_now_us();
    fprintf(trace_file, "%8" PRId64 ".%03" PRId64 " ms  %-10s ", now_us / us_per_ms,
            now_us % us_per_ms, who);
}

void zkl_testing_trace(const char *who, const char *format, ...) {
    if (trace_file == NULL) {
        return;
    }
    begin_line(who);
    va_list arguments;
    va_start(arguments, format);
    vfprintf(trace_file, format, arguments);
    va_end(arguments);
    fputc('\n', trace_file);
}

/* ---- What the ensemble tells -------------------------------------------------------- */

static void on_committed(void *arg, const zkl_tree_transaction *transaction) {
    (void)arg;
    uint64_t session_id = (uint64_t)transaction->session_id;
    if (transaction->kind == ZKL_WRITE_CREATE_SESSION) {
        zkl_testing_trace("servers", "session %" PRIx64 " begins", session_id);
    } else if (transaction->kind == ZKL_WRITE_CLOSE_SESSION) {
        zkl_testing_trace("servers", "session %" PRIx64 " ends", session_id);
    }
    for (size_t i = 0; i < transaction->change_count; i++) {
        const zkl_change *change = &transaction->changes[i];
        zkl_testing_trace("servers", "zxid %" PRId64 ": %s %s", transaction->zxid,
                          zkl_change_kind_name(change->kind), zkl_node_path(change->node));
    }
}

static void tell_reply(const char *who, const zkl_delivery *delivery) {
    static const char *const calls[ZKL_CALL_KINDS] = {
        [ZKL_CALL_CREATE] = "create",
        [ZKL_CALL_DELETE] = "delete",
        [ZKL_CALL_MULTI] = "multi",
        [ZKL_CALL_LIST] = "list",
        [ZKL_CALL_EXISTS] = "exists",
        [ZKL_CALL_SET] = "set",
        [ZKL_CALL_SET_ACL] = "set ACL",
        [ZKL_CALL_GET] = "get",
        [ZKL_CALL_GET_ACL] = "get ACL",
        [ZKL_CALL_REMOVE_WATCHES] = "remove watches",
        [ZKL_CALL_SET_WATCHES] = "set watches",
        [ZKL_CALL_AUTH] = "auth",
        [ZKL_CALL_PING] = "ping",
        [ZKL_CALL_CONNECT] = "connect",
        [ZKL_CALL_CLOSE] = "close",
    };
    const char *path = delivery->path != NULL ? delivery->path : "";
    zkl_testing_trace(who, "reply to %s: %s%s%s", calls[delivery->call],
                      delivery->lost ? "lost" : zkl_server_error_name(delivery->error),
                      path[0] != '\0' ? " " : "", path);
}

/* Who it is, as lines begin. */
typedef struct process_name {
    char text[sizeof("process 4294967295")];
} process_name;

static process_name name_process(uint32_t number) {
    process_name name;
    snprintf(name.text, sizeof(name.text), "process %" PRIu32, number);
    return name;
}

static void on_delivered(void *arg, const zkl_delivery *delivery) {
    (void)arg;
    process_name name = name_process(delivery->process);
    const char *who = name.text;
    switch (delivery->kind) {
    case ZKL_DELIVERY_REPLY:
        tell_reply(who, delivery);
        break;
    case ZKL_DELIVERY_WATCH:
        zkl_testing_trace(who, "watch: %s is %s", delivery->path,
                          delivery->deleted ? "deleted" : "changed");
        break;
    case ZKL_DELIVERY_CONNECTING:
        zkl_testing_trace(who, "disconnected");
        break;
    case ZKL_DELIVERY_CONNECTED:
        zkl_testing_trace(who, "connected, session %" PRIx64, (uint64_t)delivery->session_id);
        break;
    case ZKL_DELIVERY_EXPIRED:
        zkl_testing_trace(who, "session expired");
        break;
    case ZKL_DELIVERY_AUTH_FAILED:
        zkl_testing_trace(who, "authentication failed");
        break;
    case ZKL_DELIVERY_AWAITS_CREDENTIAL:
        break; /* nobody is told */
    }
}

zkl_ensemble_hooks zkl_testing_trace_hooks(void) {
    return (zkl_ensemble_hooks){ .committed = on_committed, .delivered = on_delivered };
}

/* ---- What the application is told --------------------------------------------------- */

static void on_event(const zkl_lock *lock, zkl_lock_state state, int reason) {
    bool lost = state == ZKL_STATE_LOST;
    zkl_testing_trace(name_process(zkl_process_number(zkl_process_current())).text,
                      "APPLICATION is told: %s is %s%s%s", lock->members[0].resource,
                      zkl_lock_state_name((int)state), lost ? ": " : "",
                      lost ? zkl_strerror(reason) : "");
}

static void on_returned(const zkl_lock *lock, const char *function, int status) {
    zkl_testing_trace(name_process(zkl_process_number(zkl_process_current())).text,
                      "APPLICATION: %s of %s returns %d: %s", function, lock->members[0].resource,
                      status, zkl_strerror(status));
}

void zkl_testing_trace_locks(bool on) {
    static const zkl_lock_listener listener = { .on_event = on_event, .on_returned = on_returned };
    zkl_lock_listen(on ? &listener : NULL);
}

/* ---- What the test tells ------------------------------------------------------------ */

void zkl_testing_trace_to(FILE *file) {
    trace_file = file;
}

void zkl_testing_note(const char *format, ...) {
    (void)zkl_testing_ensemble("zkl_testing_note");
    zkl_testing_insist(format != NULL, "zkl_testing_note", "format must not be NULL");
    if (trace_file == NULL) {
        return;
    }
    begin_line("test");
    va_list arguments;
    va_start(arguments, format);
    vfprintf(trace_file, format, arguments);
    va_end(arguments);
    fputc('\n', trace_file);
}
