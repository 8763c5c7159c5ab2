/*
 * What happens to a session, from its beginning to its end, and what is told of it: its requests,
 * the guarded writes that wait, those who follow a leader, its watches, and liveness. All of it
 * runs with the client's mutex held; opening and closing the real thing is the client's work.
 */
#pragma once

#include "session/session.h"

/** lease_tick_ms: of the servers; 0: no lease is kept. */
void zkl_session_begin(zkl_session *session, int32_t lease_tick_ms);
void zkl_session_destroy(zkl_session *session);

/** The next session is about to be asked for. */
void zkl_session_connecting(zkl_session *session);

/** News from the operations. */
void zkl_session_on_news(zkl_session *session, const zkl_session_news *news);
void zkl_session_on_watch_fired(zkl_session *session, uint64_t watch_id, bool deleted);

/** We end the session, because it does not answer: for the requests it has expired, but it is not
 *  known whether their nodes are gone. */
void zkl_session_give_up(zkl_session *session);

/** The session is over for good and no other will follow: requests that are
 *  left give `status` as their verdict and end. */
void zkl_session_finish(zkl_session *session, int status);
