/*
 * The two threads that serve a client. One fires timers: deadlines must not
 * wait for anything. The other connects: it resolves names, opens the next
 * session when one has expired, and looks names up again while disconnected.
 */
#ifndef ZKLOCK_SERVICE_H
#define ZKLOCK_SERVICE_H

#include "client.h"

/** Opens the first session and starts both threads. ZKL_OK, or nothing runs. */
int zkl_service_start(zkl_client *client);
/** Stops both threads and ends the session. Without the mutex. */
void zkl_service_stop(zkl_client *client);

#endif
