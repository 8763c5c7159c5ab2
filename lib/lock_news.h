/*
 * Tells the application what becomes of one handle's locks: each change of
 * state is a callback on the client's queue, in order. Its memory is
 * shared by the handle and the news under way, so that either may go first.
 */
#ifndef ZKLOCK_LOCK_NEWS_H
#define ZKLOCK_LOCK_NEWS_H

#include "callback_queue.h"
#include "zklock/zklock.h"

typedef struct zkl_lock_teller zkl_lock_teller;
typedef struct zkl_lock_message zkl_lock_message;

/** NULL: out of memory. */
zkl_lock_teller *zkl_lock_teller_open(zkl_callback_queue *queue, zkl_lock *lock,
                                      zkl_lock_state_callback *callback, void *arg);
/** No callback begins from here on, and none runs when it returns, unless it is
 *  called from that very one. Without the client's mutex. NULL is fine. */
void zkl_lock_teller_close(zkl_lock_teller *teller);

/** Room for one message, made beforehand so that it can be told for sure. NULL:
 *  out of memory. Free it with free() if it is not told. */
zkl_lock_message *zkl_lock_message_make(void);

/** Takes the message; NULL: it is made here, and dropped when memory is short.
 *  Any thread; it does not wait for the callback. */
void zkl_lock_teller_tell(zkl_lock_teller *teller, zkl_lock_message *message, zkl_lock_state state,
                          int reason, int64_t token);

#endif
