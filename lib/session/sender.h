/*
 * Sends the operations of one session after another: each is counted by its kind, and its reply is
 * looked at once for all: what it says of the session goes to `answered`, and a reply to what an
 * earlier session asked is handed on as ZKL_OUTCOME_SESSION_OVER.
 *
 * Everything here runs with the client's mutex held.
 */
#pragma once

#include "session/operations.h"

typedef struct zkl_sender {
    zkl_operations *operations;
    zkl_metrics *metrics;    /* NULL: nothing is counted */
    uint64_t session_number; /* counts the sessions; its owner does */
    /* A reply to what this session sent, before the asker gets it. */
    void (*answered)(void *arg, const zkl_reply *reply, int64_t sent_ms, bool was_write);
    void *arg;
} zkl_sender;

/** An operation under way. */
typedef struct zkl_sent zkl_sent;

/** As zkl_operations_table.send; ZKL_OUTCOME_NOT_NOW also means that there is no memory. */
zkl_outcome zkl_send(zkl_sender *sender, const zkl_operation *operation, zkl_reply_callback *done,
                     void *arg);
/** Likewise, for an asker that may go before the reply: `*under_way` is the operation until then.
 */
zkl_outcome zkl_send_tracked(zkl_sender *sender, const zkl_operation *operation,
                             zkl_reply_callback *done, void *arg, zkl_sent **under_way);
/** Its reply is told to no asker any more. Does nothing if there is none. */
void zkl_sent_forget(zkl_sent **under_way);

/** By the clock of the operations, as are the times of what is sent. */
int64_t zkl_sender_now_ms(const zkl_sender *sender);
