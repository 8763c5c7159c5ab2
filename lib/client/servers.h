/*
 * Where the servers of a session are, and which of them its connection knows. On the session's
 * thread, without the mutex.
 */
#pragma once

#include "client/client.h"

/** ZKL_OK; ZKL_DISCONNECTED (no name leads anywhere) or ZKL_NO_MEMORY: the addresses stay as they
 *  are. */
int zkl_servers_look_up(zkl_client_session *self);
/** The connection has these addresses, which it takes, as the others did not answer. NULL: all. */
void zkl_servers_keep_rest(zkl_client_session *self, char *rest);
/** Gives the connection all addresses, if it does not have them. */
void zkl_servers_hand_over(zkl_client_session *self);
/** Leaves a server that does not answer for others. */
void zkl_servers_leave_silent(zkl_client_session *self);
