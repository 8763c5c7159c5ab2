/*
 * Writes that are carried out only if a node lives: transactions whose first operation checks it.
 *
 * A write waits until the session is connected and has answered recently. If it were sent into a
 * dead connection, for example after the process was stopped, it would get no reply, and nobody
 * would know whether it was applied. While it waits nothing has happened.
 *
 * Everything here runs with the client's mutex held.
 */
#pragma once

#include "session/session.h"

/** Embed it. The first six fields are the caller's to fill. */
typedef struct zkl_guarded_write {
    const zkl_multi_operation *operations; /* live until it is sent */
    size_t count;
    const char *acl; /* of what they create; NULL: open to all */
    /* Fills in what is known only now, as the write is about to be sent. False: not yet, and
     * zkl_guarded_writes_review is to be called when it may be; or the write has been withdrawn,
     * perhaps by what prepared another. What is withdrawn so is kept until the review is over. */
    bool (*prepare)(void *arg);
    /* Takes the reply. Runs exactly once, perhaps at once, unless the write is withdrawn before it
     * was sent. */
    void (*ended)(void *arg, const zkl_reply *reply);
    void *arg;
    zkl_session *session;
    bool waits; /* it has not been sent */
    uint64_t session_number;
    struct zkl_guarded_write *prev, *next; /* of those that wait */
} zkl_guarded_write;

/** Sends the write as soon as that can be, in the session that there is now. */
void zkl_guarded_write_start(zkl_guarded_write *write, zkl_session *session);

/** Withdraws the write, which is not to be sent any more. False: it has been sent, and will end. */
bool zkl_guarded_write_withdraw(zkl_guarded_write *write);

/** Sends those that wait, if it is time: the session was heard of. */
void zkl_guarded_writes_review(zkl_session *session);
