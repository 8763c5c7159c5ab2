/*
 * The threads that serve a client. One fires timers: deadlines must not wait
 * for anything. One for each session connects: it resolves names, opens the
 * next session when one has expired, looks names up again while disconnected,
 * and ends the session when the client closes.
 */
#pragma once

#include "client/client.h"

/** Starts the timers' thread, and makes the first session. ZKL_OK, ZKL_NO_MEMORY or ZKL_SYSTEM:
 *  zkl_sessions_stop is to follow in each case. Without the mutex. */
int zkl_sessions_start(zkl_client *client);
/** Makes another session, which its thread opens. With the mutex held. ZKL_OK, ZKL_NO_MEMORY or
 *  ZKL_SYSTEM. */
int zkl_sessions_add(zkl_client *client, zkl_client_session **result);
/** Whether no reply is awaited: those of a connection that breaks are lost at once. With the mutex
 *  held. While the client closes, its condition is signalled when that becomes true. */
bool zkl_sessions_are_idle(const zkl_client *client);
/** Stops all threads and ends all sessions, and with them the requests. Without
 *  the mutex. */
void zkl_sessions_stop(zkl_client *client);
/** Frees the sessions, which have stopped. */
void zkl_sessions_free(zkl_client *client);
