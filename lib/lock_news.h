/*
 * Tells the application what becomes of one handle's locks: each change of
 * state is a callback on the client's queue, in order. Its memory is
 * shared by the handle and the news under way, so that either may go first. News of
 * a connection that comes and goes while others wait take their place.
 */
#ifndef ZKLOCK_LOCK_NEWS_H
#define ZKLOCK_LOCK_NEWS_H

#include "zklock/multi_lock.h"

typedef struct zkl_lock_teller zkl_lock_teller;
typedef struct zkl_lock_message zkl_lock_message;

/** Whose news, and who is told: a lock's or a multi-lock's. */
typedef struct zkl_lock_audience {
    zkl_lock *lock;
    zkl_lock_state_callback *lock_callback;
    zkl_multi_lock *multi_lock; /* NULL: it is the lock */
    zkl_multi_lock_state_callback *multi_lock_callback;
    void *arg;
} zkl_lock_audience;

/** With the client's mutex. ZKL_OK, ZKL_SYSTEM (no thread for the callback) or ZKL_NO_MEMORY. */
int zkl_lock_teller_open(zkl_client *client, const zkl_lock_audience *audience,
                         zkl_lock_teller **result);
/** No callback begins from here on, and none runs when it returns, unless it is
 *  called from that very one. Without the client's mutex. NULL is fine. */
void zkl_lock_teller_close(zkl_lock_teller *teller);

/** Room for one message, made beforehand where there is none, so that it can be told for sure.
 *  ZKL_OK or ZKL_NO_MEMORY. Free it with free() if it is not told. */
int zkl_lock_message_prepare(zkl_lock_message **message);

/** `resource`: of a multi-lock's, "" where all are meant; it must live as long as the handle. */
typedef struct zkl_lock_tidings {
    zkl_lock_state state;
    int reason;
    int64_t token;
    const char *resource;
} zkl_lock_tidings;

/** Takes the message; NULL: it is made here, and dropped when memory is short.
 *  Any thread; it does not wait for the callback. */
void zkl_lock_teller_tell(zkl_lock_teller *teller, zkl_lock_message *message,
                          const zkl_lock_tidings *tidings);

#endif
