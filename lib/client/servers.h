/*
 * Where the servers of a session are, and which of them its connection has. Everything here runs on
 * the session's thread, without the mutex.
 */
#pragma once

#include "client/client.h"

/** Looks the names up, and notes in `moved` if they lead to other addresses than the last time.
 *  ZKL_OK; ZKL_DISCONNECTED (no name leads anywhere) or ZKL_NO_MEMORY: the addresses stay as they
 *  are. */
int zkl_servers_look_up(zkl_client_session *self);
/** Notes which addresses the connection has, when the others did not answer, and takes them. NULL:
 *  it has all. */
void zkl_servers_keep_rest(zkl_client_session *self, char *rest);
/** Gives the connection all addresses. Call it only where that is needed: zoo_set_servers frees
 *  the list that libzookeeper's I/O thread names in its log while all servers refuse
 *  (lz-freed-list). */
void zkl_servers_hand_over(zkl_client_session *self);
/** Leaves a server that does not answer for others. False: there is none, or all of the others have
 *  been tried. */
bool zkl_servers_leave_silent(zkl_client_session *self);
