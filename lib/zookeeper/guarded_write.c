#include "zookeeper/guarded_write.h"

#include <utlist.h>

static void on_reply(void *arg, const zkl_reply *reply) {
    zkl_guarded_write *write = arg;
    zkl_session *session = write->session;
    if (write->session_number == session->number) {
        zkl_liveness_check_lease(&session->liveness);
        zkl_liveness_answered(&session->liveness, reply, write->sent_ms, true);
    }
    write->ended(write->arg, reply);
}

static void stop_waiting(zkl_guarded_write *write) {
    DL_DELETE(write->session->guarded_writes, write);
    write->waits = false;
}

static void send(zkl_guarded_write *write) {
    zkl_operations *operations = write->session->operations;
    stop_waiting(write);
    write->sent_ms = zkl_session_now_ms(write->session);
    zkl_outcome outcome =
        operations->table->transact(operations, write->operations, write->count, on_reply, write);
    if (outcome != ZKL_OUTCOME_OK) {
        write->ended(write->arg, &(zkl_reply){ .outcome = ZKL_OUTCOME_NOT_NOW });
    }
}

void zkl_guarded_writes_review(zkl_session *session) {
    zkl_guarded_write *next = NULL;
    bool in_touch = session->connected && !zkl_liveness_is_silent(&session->liveness);
    for (zkl_guarded_write *write = session->guarded_writes; in_touch && write != NULL;
         write = next) {
        next = write->next;
        if (write->session_number == session->number && write->prepare(write->arg)) {
            send(write);
        }
    }
}

void zkl_guarded_write_start(zkl_guarded_write *write, zkl_session *session) {
    write->session = session;
    write->session_number = session->number;
    write->waits = true;
    DL_APPEND(session->guarded_writes, write);
    zkl_guarded_writes_review(session);
}

bool zkl_guarded_write_withdraw(zkl_guarded_write *write) {
    bool waits = write->waits;
    if (waits) {
        stop_waiting(write);
    }
    return waits;
}
