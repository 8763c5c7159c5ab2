/*
 * What happens to a session, from its beginning to its end. Each event is passed on to its
 * requests, waiting guarded writes, leader watches, node watches and liveness. Everything here runs
 * with the client's mutex held; the client opens and closes the connection.
 */
#pragma once

#include "session/session.h"

/** Begins a session that the servers do not know yet. lease_tick_ms: the servers' tick; 0: no lease
 *  is kept. */
void zkl_session_begin(zkl_session *session, int32_t lease_tick_ms);
void zkl_session_destroy(zkl_session *session);

/** Prepares for the next session, which is about to be asked for. */
void zkl_session_connecting(zkl_session *session);

/** Takes news from the operations. */
void zkl_session_on_news(zkl_session *session, const zkl_session_news *news);
void zkl_session_on_watch_fired(zkl_session *session, uint64_t watch_id, zkl_watch_event event);

/** Ends the session because it does not answer. To the requests it has expired, but their nodes may
 *  still be there. */
void zkl_session_give_up(zkl_session *session);

/** Ends the session for good: no other will follow, and the remaining requests end, with `status`
 *  as their verdict. */
void zkl_session_finish(zkl_session *session, int status);
