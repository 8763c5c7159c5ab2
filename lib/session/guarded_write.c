#include "session/guarded_write.h"

#include <utlist.h>

static void stop_waiting(zkl_guarded_write *write) {
    DL_DELETE(write->session->guarded_writes, write);
    write->waits = false;
}

static void send_now(zkl_guarded_write *write) {
    stop_waiting(write);
    const zkl_operation transaction = { .kind = ZKL_OPERATION_TRANSACTION,
                                        .all = write->operations,
                                        .count = write->count,
                                        .acl = write->acl,
                                        .lasts = true };
    if (zkl_send(&write->session->sender, &transaction, write->ended, write->arg, NULL) !=
        ZKL_OUTCOME_OK) {
        write->ended(write->arg, &(zkl_reply){ .outcome = ZKL_OUTCOME_NOT_NOW });
    }
}

void zkl_guarded_writes_review(zkl_session *session) {
    zkl_guarded_write *next = NULL;
    bool in_touch = session->guarded_writes != NULL && session->connected &&
                    !zkl_liveness_is_silent(&session->liveness);
    for (zkl_guarded_write *write = session->guarded_writes; in_touch && write != NULL;
         write = next) {
        next = write->next;
        if (write->session_number == session->sender.session_number && write->prepare(write->arg)) {
            send_now(write);
        }
    }
}

void zkl_guarded_write_start(zkl_guarded_write *write, zkl_session *session) {
    write->session = session;
    write->session_number = session->sender.session_number;
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
