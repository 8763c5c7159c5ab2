/*
 * The tasks of connecting.h that take time: looks names up, opens sessions and closes them, shows
 * credentials, leaves servers.
 */
#pragma once

#include "client/client.h"

/** How long to wait before what has failed is tried again. Names are looked up no more often than
 *  that. */
#define ZKL_RETRY_PAUSE_MS 1000

/** Carries out a task that is no wait, on the session's thread, without the mutex. Returns whether
 *  it could be done. */
bool zkl_session_task_carry_out(zkl_client_session *self, zkl_connecting_action_kind task);
