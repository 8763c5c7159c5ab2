/*
 * The threads that serve a client. One fires timers: deadlines must not wait
 * for anything. One for each session connects: it resolves names, opens the
 * next session when one has expired, looks names up again while disconnected,
 * and ends the session when the client closes.
 */
#ifndef ZKLOCK_SERVICE_H
#define ZKLOCK_SERVICE_H

#include "client/client.h"

/** Makes and opens the first session, and starts its thread and the timers'.
 *  ZKL_OK, or nothing runs. */
int zkl_service_start(zkl_client *client);
/** Makes another session, which its thread opens. With the mutex held. */
int zkl_service_add_session(zkl_client *client, zkl_client_session **result);
/** Whether no reply is awaited: those of a connection that breaks are lost at once. With the mutex
 *  held. The client's condition is told of it, when it closes. */
bool zkl_service_is_idle(const zkl_client *client);
/** Stops all threads and ends all sessions, and with them the requests. Without
 *  the mutex. */
void zkl_service_stop(zkl_client *client);
/** Frees the sessions, stopped or never started. */
void zkl_service_free_sessions(zkl_client *client);

#endif
