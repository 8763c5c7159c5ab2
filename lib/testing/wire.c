#include "testing/wire.h"

#include "testing/servers.h"

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

void zkl_calls_free(zkl_message *list) {
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
    zkl_calls_free(zkl_channel_take(&wire->up, 0));
    free_answers(zkl_channel_take(&wire->down, 0));
    DL_DELETE(wire->ensemble->wires, wire);
    zkl_testing_free(wire->identities);
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

zkl_wire *zkl_wire_connect(zkl_ensemble *ensemble, uint32_t server, zkl_call *connect,
                           void (*answered)(void *arg, zkl_answer *answer), void *arg,
                           zkl_process *process) {
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

/* How long a server keeps a connection on which nothing comes. */
static int64_t idle_limit_us(const zkl_wire *wire) {
    return wire->attachment != NULL ? (int64_t)wire->attachment->session->timeout_ms * ZKL_US_PER_MS
                                    : zkl_ensemble_tick_us(wire->ensemble);
}

void zkl_wire_hang_up(zkl_wire *wire) {
    wire->client_open = false;
    free_answers(zkl_channel_take(&wire->down, 0));
    if (wire->server_open && wire->up.held) {
        /* The server hears nothing of it, but has not heard from the client either. */
        zkl_calls_free(zkl_channel_take(&wire->up, 0));
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
    zkl_calls_free(zkl_channel_take(&wire->up, 0));
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
        zkl_calls_free(zkl_channel_take(&wire->up, 0));
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
