#include "testing/wire.h"

#include <string.h>

#include "testing/servers.h"

/* ---- Calls and answers ----------------------------------------------------------------------- */

zkl_call *zkl_call_make(zkl_call_kind kind, size_t extra) {
    zkl_call *call = zkl_testing_allocate(sizeof(*call) + extra);
    call->references = 1;
    call->kind = kind;
    return call;
}

static void wire_drop(zkl_wire *wire);

void zkl_call_release(zkl_call *call) {
    if (--call->references > 0) {
        return;
    }
    if (call->wire != NULL) {
        wire_drop(call->wire);
    }
    zkl_testing_free(call);
}

/* Copies a text to where there is room, and moves on behind it. */
static const char *put_text(char **room, const char *text) {
    if (text == NULL) {
        return NULL;
    }
    size_t size = strlen(text) + 1;
    char *copy = *room;
    memcpy(copy, text, size);
    *room += size;
    return copy;
}

static const void *put_bytes(char **room, const void *bytes, size_t size) {
    if (size == 0) {
        return NULL;
    }
    void *copy = memcpy(*room, bytes, size);
    *room += size;
    return copy;
}

static size_t text_size(const char *text) {
    return text != NULL ? strlen(text) + 1 : 0;
}

zkl_call *zkl_call_make_operations(zkl_call_kind kind, zkl_write_kind write,
                                   const zkl_write *operations, size_t count) {
    size_t size = count * sizeof(*operations);
    for (size_t i = 0; i < count; i++) {
        size += text_size(operations[i].path) + operations[i].data_size;
    }
    zkl_call *call = zkl_call_make(kind, size);
    call->write = write;
    call->operations = (zkl_write *)(call + 1);
    call->operation_count = count;
    char *room = (char *)(call->operations + count);
    for (size_t i = 0; i < count; i++) {
        call->operations[i] = operations[i];
        call->operations[i].path = put_text(&room, operations[i].path);
        call->operations[i].data = put_bytes(&room, operations[i].data, operations[i].data_size);
    }
    call->path = count > 0 ? call->operations[0].path : NULL;
    return call;
}

zkl_call *zkl_call_make_path(zkl_call_kind kind, const char *path) {
    zkl_call *call = zkl_call_make(kind, text_size(path));
    char *room = (char *)(call + 1);
    call->path = put_text(&room, path);
    return call;
}

zkl_call *zkl_call_make_watches(const zkl_watched *watched, size_t count) {
    size_t size = count * sizeof(*watched);
    for (size_t i = 0; i < count; i++) {
        size += text_size(watched[i].path);
    }
    zkl_call *call = zkl_call_make(ZKL_CALL_SET_WATCHES, size);
    call->watched = (zkl_watched *)(call + 1);
    call->watched_count = count;
    char *room = (char *)(call->watched + count);
    for (size_t i = 0; i < count; i++) {
        call->watched[i] =
            (zkl_watched){ put_text(&room, watched[i].path), watched[i].kind, watched[i].existed };
    }
    return call;
}

zkl_answer *zkl_answer_make(zkl_answer_kind kind, const char *path) {
    zkl_answer *answer = zkl_testing_allocate(sizeof(*answer) + text_size(path));
    answer->kind = kind;
    char *room = (char *)(answer + 1);
    answer->path = put_text(&room, path);
    return answer;
}

zkl_answer *zkl_answer_make_view(const char *path, const zkl_node_view *view) {
    zkl_answer *answer = zkl_testing_allocate(sizeof(*answer) + text_size(path) + view->data_size);
    answer->kind = ZKL_ANSWER_REPLY;
    char *room = (char *)(answer + 1);
    answer->path = put_text(&room, path);
    answer->view = *view;
    answer->view.data = put_bytes(&room, view->data, view->data_size);
    return answer;
}

zkl_answer *zkl_answer_make_results(const char *path, const zkl_operation_result *results,
                                    size_t count) {
    size_t size = count * sizeof(*results) + text_size(path);
    for (size_t i = 0; i < count; i++) {
        size += text_size(results[i].path);
    }
    zkl_answer *answer = zkl_testing_allocate(sizeof(*answer) + size);
    answer->kind = ZKL_ANSWER_REPLY;
    answer->results = (zkl_operation_result *)(answer + 1);
    answer->result_count = count;
    char *room = (char *)(answer->results + count);
    answer->path = put_text(&room, path);
    for (size_t i = 0; i < count; i++) {
        answer->results[i] =
            (zkl_operation_result){ results[i].error, put_text(&room, results[i].path) };
    }
    return answer;
}

/* ---- The wire -------------------------------------------------------------------------------- */

static void free_calls(zkl_message *list) {
    while (list != NULL) {
        zkl_message *next = list->next;
        zkl_call_release((zkl_call *)list);
        list = next;
    }
}

static void free_answers(zkl_message *list) {
    while (list != NULL) {
        zkl_message *next = list->next;
        zkl_testing_free(list);
        list = next;
    }
}

static void wire_drop(zkl_wire *wire) {
    if (--wire->references > 0) {
        return;
    }
    wire->references = 1; /* for what calls on their way drop */
    free_calls(zkl_channel_take(&wire->up, 0));
    free_answers(zkl_channel_take(&wire->down, 0));
    DL_DELETE(wire->ensemble->wires, wire);
    zkl_testing_free(wire);
}

static int64_t draw_delay(const zkl_ensemble *ensemble) {
    const zkl_ensemble_options *options = &ensemble->options;
    return zkl_ensemble_draw(zkl_world_chance(options->rates.slow_message)
                                 ? &options->slow_message_us
                                 : &options->message_us);
}

static void arrive_at_server(void *arg, zkl_message *message) {
    zkl_wire *wire = arg;
    zkl_call *call = (zkl_call *)message;
    if (!wire->server_open) {
        zkl_call_release(call);
    } else if (call->hangs_up) {
        zkl_call_release(call);
        zkl_wire_close(wire);
    } else {
        wire->references++;
        call->wire = wire;
        zkl_server_receive(&wire->ensemble->servers[wire->server], wire, call);
    }
}

static void arrive_at_client(void *arg, zkl_message *message) {
    zkl_wire *wire = arg;
    zkl_answer *answer = (zkl_answer *)message;
    if (!wire->client_open) {
        zkl_testing_free(answer);
        return;
    }
    bool broken = answer->kind == ZKL_ANSWER_BROKEN;
    wire->client_open = !broken;
    wire->answered(wire->arg, answer); /* may hang up */
    if (broken) {
        wire_drop(wire);
    }
}

zkl_wire *zkl_wire_connect(uint32_t server, zkl_call *connect,
                           void (*answered)(void *arg, zkl_answer *answer), void *arg,
                           zkl_process *process) {
    zkl_ensemble *ensemble = zkl_ensemble_current();
    zkl_wire *wire = zkl_testing_allocate(sizeof(*wire));
    wire->ensemble = ensemble;
    wire->server = server;
    wire->references = 2;
    wire->client_open = true;
    wire->server_open = true;
    wire->answered = answered;
    wire->arg = arg;
    zkl_channel_begin(&wire->up, arrive_at_server, wire, NULL);
    zkl_channel_begin(&wire->down, arrive_at_client, wire, process);
    DL_APPEND(ensemble->wires, wire);
    zkl_wire_send(wire, connect);
    return wire;
}

void zkl_wire_send(zkl_wire *wire, zkl_call *call) {
    if (wire->server_open) {
        zkl_channel_send(&wire->up, &call->message, draw_delay(wire->ensemble));
    } else {
        zkl_call_release(call);
    }
}

static void send_hang_up(zkl_wire *wire, int64_t delay_us) {
    zkl_call *call = zkl_call_make(ZKL_CALL_CLOSE, 0);
    call->hangs_up = true;
    zkl_channel_send(&wire->up, &call->message, delay_us);
}

/* After so long a server closes a connection on which nothing comes. */
static int64_t idle_limit_us(const zkl_wire *wire) {
    return wire->attachment != NULL ? (int64_t)wire->attachment->session->timeout_ms * ZKL_US_PER_MS
                                    : zkl_ensemble_tick_us(wire->ensemble);
}

void zkl_wire_hang_up(zkl_wire *wire) {
    wire->client_open = false;
    free_answers(zkl_channel_take(&wire->down, 0));
    if (wire->server_open && wire->up.held) {
        /* The server hears nothing of it, but has not heard from the client either. */
        free_calls(zkl_channel_take(&wire->up, 0));
        zkl_channel_release(&wire->up);
        send_hang_up(wire, idle_limit_us(wire));
    } else if (wire->server_open) {
        send_hang_up(wire, draw_delay(wire->ensemble));
    }
    wire_drop(wire);
}

void zkl_wire_answer(zkl_wire *wire, zkl_answer *answer) {
    if (wire->client_open && !wire->breaking) {
        answer->server = wire->server;
        answer->applied_zxid = wire->ensemble->servers[wire->server].applied_zxid;
        zkl_channel_send(&wire->down, &answer->message, draw_delay(wire->ensemble));
    } else {
        zkl_testing_free(answer);
    }
}

static void tell_broken(zkl_wire *wire, int64_t delay_us) {
    if (wire->client_open && !wire->breaking) {
        wire->breaking = true;
        zkl_answer *answer = zkl_answer_make(ZKL_ANSWER_BROKEN, NULL);
        zkl_channel_send(&wire->down, &answer->message, delay_us);
    }
}

void zkl_wire_close(zkl_wire *wire) {
    if (!wire->server_open) {
        return;
    }
    wire->server_open = false;
    zkl_server_forget_wire(wire);
    free_calls(zkl_channel_take(&wire->up, 0));
    tell_broken(wire, draw_delay(wire->ensemble));
    wire_drop(wire);
}

/* A server may take its time to see that a client is gone. */
static void hang_up_sometime(zkl_wire *wire) {
    const zkl_ensemble_options *options = &wire->ensemble->options;
    bool soon = zkl_world_random(2) == 0;
    send_hang_up(wire, zkl_ensemble_draw(soon ? &options->message_us : &options->slow_message_us));
}

void zkl_wire_cut(zkl_wire *wire, zkl_cut cut) {
    if (cut == ZKL_CUT_SILENT) {
        zkl_channel_hold(&wire->up);
        zkl_channel_hold(&wire->down);
        return;
    }
    if (cut == ZKL_CUT_REQUESTS_LOST) {
        free_calls(zkl_channel_take(&wire->up, 0));
    }
    if (wire->client_open && !wire->breaking) {
        free_answers(zkl_channel_take(&wire->down, 0));
        tell_broken(wire, 0);
    }
    if (wire->server_open) {
        hang_up_sometime(wire);
    }
}

void zkl_wires_end(zkl_ensemble *ensemble) {
    zkl_wire *wire = NULL;
    zkl_wire *next = NULL;
    DL_FOREACH_SAFE(ensemble->wires, wire, next) {
        bool client_open = wire->client_open;
        wire->client_open = false;
        if (client_open) {
            wire->answered(wire->arg, NULL);
        }
        wire->server_open = false;
        wire->references = 1; /* nobody else is left */
        wire_drop(wire);
    }
}
