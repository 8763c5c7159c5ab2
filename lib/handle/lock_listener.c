#include "handle/lock_listener.h"

static const zkl_lock_listener *listener;

void zkl_lock_listen(const zkl_lock_listener *whose) {
    listener = whose;
}

void zkl_listener_told(const zkl_lock *lock, zkl_lock_state state, int reason) {
    if (listener != NULL) {
        listener->told(lock, state, reason);
    }
}

void zkl_listener_returned(const zkl_lock *lock, const char *function, int status) {
    if (listener != NULL) {
        listener->returned(lock, function, status);
    }
}
