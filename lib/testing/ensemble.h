/*
 * A simulated ZooKeeper ensemble, in the world of world.h: some servers with a
 * leader, whose promises are ZooKeeper's and whose delays and failures are drawn
 * or told. The connection of connection_simulated.c talks to it, so that all of
 * zklock runs on it.
 *
 * What it keeps to:
 * - A write goes to the leader, is committed and takes a zxid there, and is answered
 *   when the client's own server has carried it out. A read is answered from what
 *   that server has carried out, which may be old.
 * - A session's requests are carried out in order. A watch's event comes before any
 *   answer that could show what it is about.
 * - The leader ends sessions that it has not heard of. A server tells it of its
 *   clients only when it is asked, twice in a tick.
 * - A server that is cut off from the leader goes on answering reads, until it
 *   notices.
 *
 * There is one ensemble at a time, for the world that has begun. Durations are in
 * microseconds, unless their names say otherwise.
 */
#pragma once

#include "testing/ensemble_types.h"

/** Three servers, ZooKeeper's usual tick, a fast network, no faults. */
zkl_ensemble_options zkl_ensemble_defaults(void);

/** After zkl_world_begin, and after zkl_ensemble_end of the one before. */
zkl_ensemble *zkl_ensemble_begin(const zkl_ensemble_options *options);
/** Before zkl_world_end. Connections that are left no longer find a server. Allowed without an
 *  ensemble. */
void zkl_ensemble_end(void);
/** NULL: none. */
zkl_ensemble *zkl_ensemble_current(void);

/* ---- Faults of servers: numbered from 0 ------------------------------------------------------ */

/** Stops it, as a kill does: its connections break. The leader: another is elected. */
void zkl_ensemble_stop_server(zkl_ensemble *ensemble, uint32_t number);
void zkl_ensemble_start_server(zkl_ensemble *ensemble, uint32_t number);
/** Cuts it off from the other servers; clients reach it. */
void zkl_ensemble_cut_off_server(zkl_ensemble *ensemble, uint32_t number);
void zkl_ensemble_mend_server(zkl_ensemble *ensemble, uint32_t number);
/** For `for_us` it carries each transaction out `by_us` later. */
void zkl_ensemble_slow_server(zkl_ensemble *ensemble, uint32_t number, int64_t by_us,
                              int64_t for_us);
/** It takes no connection. */
void zkl_ensemble_refuse_connections(zkl_ensemble *ensemble, uint32_t server, int64_t for_us);
/** Connections that it takes: the session is good, but only pings are answered
 *  (seen on 3.9.3), as long as they last. */
void zkl_ensemble_mute_connections(zkl_ensemble *ensemble, uint32_t server, int64_t for_us);
/** It turns requests away: "not now". */
void zkl_ensemble_throttle(zkl_ensemble *ensemble, uint32_t server, int64_t for_us);
/** The leader steps down. */
void zkl_ensemble_change_leader(zkl_ensemble *ensemble);
/** For `for_us` every commit takes `by_us` longer: slow disks. */
void zkl_ensemble_slow_commits(zkl_ensemble *ensemble, int64_t by_us, int64_t for_us);
/** Mends and starts all, and ends all that was to last for some time; rates are 0 from now on. */
void zkl_ensemble_heal(zkl_ensemble *ensemble);

/** How often things go wrong from now on. */
void zkl_ensemble_set_rates(zkl_ensemble *ensemble, const zkl_ensemble_rates *rates);

/** For a client's end of a connection. */
void zkl_ensemble_tell_delivered(const zkl_delivery *delivery);
const zkl_ensemble_options *zkl_ensemble_get_options(const zkl_ensemble *ensemble);

bool zkl_ensemble_has_leader(const zkl_ensemble *ensemble);
/** The server that leads, or led last. */
uint32_t zkl_ensemble_leader(const zkl_ensemble *ensemble);
uint32_t zkl_ensemble_server_count(const zkl_ensemble *ensemble);
bool zkl_ensemble_server_serves(const zkl_ensemble *ensemble, uint32_t server);

/* ---- Faults of connections and sessions ------------------------------------------------------ */

/** Cuts the connection of a session now. False: it has none. */
bool zkl_ensemble_cut(zkl_ensemble *ensemble, int64_t session_id, zkl_cut cut);

/** Cuts it when its next request of a kind gets to the server: before it does
 *  (REQUESTS_LOST), or after (REPLIES_LOST); then the commit of a write takes `late_us` longer;
 *  the leader hears of it after `late_us` (HELD_BACK, which is also for a transaction that makes
 *  a set's nodes, or a reader's in the place of a writer's);
 *  or when the server answers it (WHEN_ANSWERED). */
void zkl_ensemble_cut_next(zkl_ensemble *ensemble, int64_t session_id, zkl_call_kind kind,
                           zkl_cut cut, int64_t late_us);
/** Likewise at the next create of a contender's node, ephemeral and sequential, whose parent
 * exists; WHEN_ANSWERED: at the first that succeeds. */
void zkl_ensemble_cut_next_contender(zkl_ensemble *ensemble, int64_t session_id, zkl_cut cut);

/** The leader begins to end the session, as when it has not heard of it. False: there is no leader,
 *  or the session is over, or about to be. */
bool zkl_ensemble_expire(zkl_ensemble *ensemble, int64_t session_id);

/** Somebody else connects to another server with the session's id and password, and does no more.
 *  False: there is no leader, or the session is over. */
bool zkl_ensemble_move(zkl_ensemble *ensemble, int64_t session_id);

/** The server never closes the connection that the session has now, when the session ends or moves:
 *  reads are answered, and writes with an error (seen on 3.9.3). False: it has none. */
bool zkl_ensemble_keep_connection(zkl_ensemble *ensemble, int64_t session_id);

/** Repeats the latest news of the session: CONNECTED, or CONNECTING, once more. False: no
 *  client of the session is there. */
bool zkl_ensemble_repeat_news(zkl_ensemble *ensemble, int64_t session_id);

/** The client leaves the connection for another one, and tells nobody, as libzookeeper does when it
 *  is given other servers. False: it has none. */
bool zkl_ensemble_replace_connection(zkl_ensemble *ensemble, int64_t session_id);

/** All servers refuse the scheme digest from now on, or no longer: its provider is disabled. */
void zkl_ensemble_refuse_digests(zkl_ensemble *ensemble, bool refuse);

/** Withholds rights to the node of this path from everybody, while it is there, for so long;
 *  ZKL_FOREVER: for good, as zkl_ensemble_heal leaves it. What was said of that path before is
 *  over. Those below it have rights of their own. */
void zkl_ensemble_withhold(zkl_ensemble *ensemble, const char *path, unsigned rights,
                           int64_t for_us);

/* ---- By hand: committed at once -------------------------------------------------------------- */

/** A session of somebody else, which lives until zkl_ensemble_expire. */
int64_t zkl_ensemble_make_session(zkl_ensemble *ensemble);
/** As anybody (session 0, persistent) or as a session. `made`: the path, NULL if of no interest. */
zkl_server_error zkl_ensemble_create(zkl_ensemble *ensemble, int64_t session_id, const char *path,
                                     const char *data, bool ephemeral, bool sequential, char *made,
                                     size_t made_size);
zkl_server_error zkl_ensemble_delete(zkl_ensemble *ensemble, const char *path);
/** Of whatever version. */
zkl_server_error zkl_ensemble_set_data(zkl_ensemble *ensemble, const char *path, const char *data);
/** All operations or none, at one zxid; gives the error of the first that failed. `results`: one
 * for each operation; their paths live until time passes. Without a leader nothing is written to
 * it. */
zkl_server_error zkl_ensemble_multi(zkl_ensemble *ensemble, int64_t session_id,
                                    const zkl_write *operations, size_t count,
                                    zkl_operation_result *results);
/** As if `creates` children of a node had been created: the next sequence number. False: no node.
 */
bool zkl_ensemble_set_creates(zkl_ensemble *ensemble, const char *path, int32_t creates);

/* ---- What is so ------------------------------------------------------------------------------ */

/** What is committed. */
const zkl_tree *zkl_ensemble_tree(const zkl_ensemble *ensemble);
int64_t zkl_ensemble_committed_zxid(const zkl_ensemble *ensemble);
int64_t zkl_ensemble_applied_zxid(const zkl_ensemble *ensemble, uint32_t server);

/** Whether the session has not been ended, by a committed transaction. */
bool zkl_ensemble_session_is_alive(const zkl_ensemble *ensemble, int64_t session_id);
/** As negotiated at last; 0: no such session. */
int32_t zkl_ensemble_session_timeout_ms(const zkl_ensemble *ensemble, int64_t session_id);
/** The server of its connection, or -1: none that it and a server know of. */
int32_t zkl_ensemble_session_server(const zkl_ensemble *ensemble, int64_t session_id);
/** How many watches servers keep for it. */
size_t zkl_ensemble_watch_count(const zkl_ensemble *ensemble, int64_t session_id);
/** How many requests of a kind have got to a server from it. */
uint64_t zkl_ensemble_request_count(const zkl_ensemble *ensemble, int64_t session_id,
                                    zkl_call_kind kind);
/** Sessions that clients have opened, in order; 0: no more. Foreign ones are not among them. */
int64_t zkl_ensemble_session_at(const zkl_ensemble *ensemble, size_t index);
