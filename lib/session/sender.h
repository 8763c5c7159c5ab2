/*
 * Sends the operations of one session after another, and counts them by kind. Each reply goes to
 * `answered` first, which learns from it how the session is. A reply to an operation of an earlier
 * session becomes ZKL_OUTCOME_SESSION_OVER. What is created has the ACL that protection.h makes.
 *
 * Everything here runs with the client's mutex held.
 */
#pragma once

#include "connection/operations.h"
#include "session/protection.h"

typedef struct zkl_sender {
    zkl_operations *operations;
    zkl_metrics *metrics; /* NULL: nothing is counted */
    int64_t session_id;
    uint64_t session_number; /* counts the sessions; its owner adds to it */
    /* Takes a reply to what this session sent, before the asker gets it. */
    void (*answered)(void *arg, const zkl_reply *reply, int64_t sent_ms, bool was_write);
    void *arg;
    zkl_protection protection;
    int64_t ahead_ms;     /* how far the wall clock has jumped ahead of the clock, in all */
    int64_t wall_lead_ms; /* how far it was ahead of it, at the least since the latest jump */
} zkl_sender;

/** An operation under way. */
typedef struct zkl_sent zkl_sent;

/** Sends an operation, as zkl_operations_table.send does; ZKL_OUTCOME_NOT_NOW also means that there
 *  is no memory. `*under_way` is the operation until the reply comes, for an asker that may go
 *  before. NULL: the asker stays. */
zkl_outcome zkl_send(zkl_sender *sender, const zkl_operation *operation, zkl_reply_callback *done,
                     void *arg, zkl_sent **under_way);
/** Lets the reply be dropped. Does nothing if `*under_way` is NULL. */
void zkl_sent_forget(zkl_sent **under_way);

/** Returns the time by the clock of the operations. */
int64_t zkl_sender_now_ms(const zkl_sender *sender);

/** Returns how much time has passed for the servers, at the most: the clock, and how far the wall
 *  clock has jumped ahead of it. The clock of a virtual machine may stand still while the machine
 *  does, and its wall clock is set when it goes on. `sent_ms` is in this time. */
int64_t zkl_sender_passed_ms(zkl_sender *sender);
