/*
 * zklock: what becomes of a lock that is held, and the callback that is told.
 *
 * A callback is optional: zkl_lock_check returns the state too.
 *
 * Copyright 2026 the zklock authors. Licensed under the Apache License 2.0.
 */
#ifndef ZKLOCK_EVENTS_H
#define ZKLOCK_EVENTS_H

#include "zklock/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What a handle is doing. HELD, SUSPECT and LOST are the states of a grant. */
typedef enum zkl_lock_state {
    ZKL_STATE_IDLE = 0,      /* not held, and nobody asks for it with this handle */
    ZKL_STATE_ACQUIRING = 1, /* an acquire is under way */
    ZKL_STATE_HELD = 2,      /* held, as far as is known */
    ZKL_STATE_SUSPECT = 3,   /* held, as far as is known, but without a connection or an answer */
    ZKL_STATE_LOST = 4,      /* was held, and is lost; stays so until it is released */
    ZKL_STATE_RELEASING = 5, /* a thread waits in zkl_lock_release, or the callback of
                                zkl_lock_release_async is owed */
    ZKL_STATE_REVOKE_REQUESTED = 6, /* still held, and somebody asks for it: in state callbacks */
    ZKL_STATE_CONTENDED = 7         /* still held, and somebody waits for it: in state callbacks */
} zkl_lock_state;

/** The name of a state. Returns a static string, for example "held"; "unknown" for any other
 *  number. Does not block. */
ZKL_API const char *zkl_lock_state_name(int state);

/** A change in the state of a lock that is held. Valid during the callback only. */
typedef struct zkl_lock_event {
    size_t struct_size;   /* of the library's struct; later versions append */
    zkl_lock *lock;       /* whose callback it is */
    zkl_lock_state state; /* HELD, with tell_granted; SUSPECT; HELD again; REVOKE_REQUESTED;
                             CONTENDED; LOST, the last one of a grant */
    int reason;           /* LOST: ZKL_SESSION_EXPIRED, ZKL_LEASE_ENDED, ZKL_HOLD_LIMIT or
                             ZKL_NODE_DELETED; else ZKL_OK */
    int64_t token;        /* of the grant that it is about */
    const char *resource; /* which the event is about, as the application named it; "" for all of a
                             set. Valid until the handle is closed */
    int64_t local_number; /* as in zkl_grant */
} zkl_lock_event;

/**
 * Receives the changes in the state of a lock that is held: in order, one call at a time, on the
 * client's thread for callbacks (which all its handles share; the log has another), or in
 * zkl_client_dispatch. No lock of the library is held, so it may be slow, but then the callbacks of
 * other handles wait. It must not call a blocking zklock function: that returns ZKL_IN_CALLBACK. It
 * may call zkl_lock_check, zkl_lock_release with a timeout of 0, zkl_lock_cancel and
 * zkl_lock_close. When the servers merely stop answering, zkl_lock_check returns ZKL_SUSPECT but
 * this callback is not called.
 *
 * REVOKE_REQUESTED: someone has asked for this lock, which is `revocable`, with zkl_node_revoke of
 * administration.h or with Curator's Revoker. It is still held; whether to release it is up to you.
 * It comes once for each grant: at once if the client watches the lock's node already, and
 * otherwise (for a grant that did not have to wait) within a third of the session timeout. A lock
 * that was downgraded or upgraded has another node, so it can be asked for again.
 *
 * CONTENDED: somebody waits behind this holder. The lock is still held; finish soon, or not, as you
 * like. It comes only for handles with the option tell_contended, and at most once for each grant:
 * the first time that the queue has a request which must wait for this one. For exclusive and write
 * holders that is any later request; for readers, a later request that is not a reader; for permit
 * holders (all of them), a later request that finds no permit free or is for a plain lock. If such
 * a request exists at the grant already, CONTENDED comes just after the grant. When it comes, the
 * waiter may already have left. A disconnected client reports it when it is connected again. A
 * downgrade is no new grant: from then on the holder counts as a reader, if CONTENDED has not come
 * yet. An upgrade is a new grant, with its own token. For a reentrant handle it comes once for all
 * of its holds.
 *
 * For a set, REVOKE_REQUESTED and CONTENDED come for each resource separately. SUSPECT and HELD are
 * about all, because all are in one session. LOST comes once, with the first resource that is lost;
 * the others are kept until they are released.
 *
 * Callbacks may come before zkl_lock_acquire has returned in its own thread, and after the lock was
 * released (see token); never after zkl_lock_close returned. LOST, and the HELD of tell_granted,
 * are always reported; the others may be omitted when memory is short. If callbacks are slow, a
 * connection that comes and goes leaves at most two callbacks of a handle pending. The last one has
 * the current state.
 */
typedef void zkl_lock_state_callback(void *arg, const zkl_lock_event *event);

#ifdef __cplusplus
}
#endif

#endif
