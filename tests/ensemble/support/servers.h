/*
 * The servers of the ensemble, as an operator sees them: their four-letter
 * words, and the script that hurts and heals them. Servers count from 1.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define SERVERS 3

/** Reads ZKLOCK_HOSTS and ZKLOCK_ENSEMBLE; ends the program where they are
 *  not set, or not all servers serve. */
void servers_begin(void);

/** The host list of all, or of one alone; static strings. */
const char *servers_hosts(void);
const char *server_host(int server);
/** A bare socket, whose reads end after 5 s; -1: it cannot be reached. */
int server_connect(int server);

int64_t servers_tick_ms(void);

/** The sum over all servers of a number in `mntr`. */
int64_t servers_sum(const char *key);
/** How many watches the servers keep on this path and those below it. */
int servers_watches(const char *path);
/** The last transaction that the leader has committed; 0: there is no leader. */
int64_t servers_last_zxid(void);
/** Counts the elections: a leader's transactions bear its epoch. 0: no leader. */
int64_t servers_epoch(void);
/** 0: there is none. */
int servers_leader(void);
/** The lowest-numbered one that is not the leader. */
int servers_follower(void);
/** The server that a session is connected to; 0: none. */
int servers_of_session(int64_t session_id);
/** Asks this server alone; of one that is stopped no answer comes for seconds. */
bool server_has_session(int server, int64_t session_id);

void server_kill(int server);
/** Starts it again, and returns when it serves. */
void server_start(int server);

/** Its connections stay open. */
void server_pause(int server);
void server_resume(int server);

/** Each of its writes to the disk takes that much longer. */
void server_slow_disk(int server, int ms);
/** All disks are as fast as they are. */
void servers_normal_disk(void);

/** Whether servers can be cut: not where they are local processes. */
bool servers_can_cut(void);
/** Its links to the other servers are gone, silently; clients reach it as
 *  before, and it goes on answering reads for syncLimit, 10 ticks. */
void server_cut(int server);
/** Returns when it serves, with the others again. */
void server_mend(int server);

/** Whether the servers can be made to believe in creates that never were. */
bool servers_can_age(void);
/** A node, and how many creates of children it has seen: from 2^31 on they have
 *  overflown. */
struct age {
    const char *path;
    int64_t creates;
};
/** Stops and starts all servers. Nobody may create children there meanwhile. */
void servers_age(const struct age *ages, int count);

/** Stops all servers, and starts them without their data. Whatever was connected before, the test's
 *  own handles too, has seen more than they know now. */
void servers_empty(void);

/** Heals what a test has hurt and not healed itself. */
void servers_heal(void);

/** Is told of each watch that the servers keep on a path or below it: on which
 *  node, and whose. */
typedef void watch_visitor(void *arg, const char *node, int64_t session_id);
void servers_visit_watches(const char *path, watch_visitor *visit, void *arg);

/** All of them; their data stays. */
void servers_kill(void);
/** Starts them again, and returns when all serve. */
void servers_start(void);
void servers_pause(void);
