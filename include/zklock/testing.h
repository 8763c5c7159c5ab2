/*
 * Tests of applications that use zklock, without a ZooKeeper server.
 *
 * Link -lzklock_testing in place of -lzklock (CMake: zklock::testing in place of
 * zklock::zklock). It has all of zklock.h, compiled from the same code, but its servers,
 * its network, its threads and its clock are simulated, inside of your program:
 *
 *     zkl_testing_begin(NULL);
 *     ... your own code, which opens clients with any host list, and locks ...
 *     zkl_testing_expire_session(client);   and what does your code do now?
 *     zkl_testing_end();
 *
 * - Time is virtual. It passes only while your code waits in a call of zklock, or in
 *   zkl_testing_sleep: a test of a minute's pause takes no time, and none of your tests
 *   depends on how fast the machine is.
 * - It is deterministic. All delays, and the order in which threads that could run do so,
 *   are drawn from one seed: the same seed gives the same run, another seed another one.
 *   To look for races run a test with a thousand seeds.
 * - There is one thread. Call zklock from one thread of the system only; where your test
 *   needs several contenders, start tasks (zkl_testing_start). A task runs until it
 *   waits in zklock or in zkl_testing_sleep; so your own code must not wait in other ways
 *   for something that another task does. zklock's callbacks run as tasks, too.
 * - One fault at a time is yours to order, at the moment that you choose. Nothing goes
 *   wrong that you have not asked for.
 *
 * These functions return no status. A mistake in their use (a NULL, a call without
 * zkl_testing_begin, a test in which everybody waits for ever) ends the program with a line
 * that says what it was. Durations are in milliseconds.
 *
 * The simulated servers keep to ZooKeeper's promises, as tests/simulation and the
 * conformance suite of zklock hold them to; they are for tests only, and keep nothing.
 */
#ifndef ZKLOCK_TESTING_H
#define ZKLOCK_TESTING_H

#include "zklock/zklock.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Beginning and end --------------------------------------------------------------- */

typedef struct zkl_testing_options {
    size_t struct_size;
    uint64_t seed;
    uint32_t servers; /* 1 to 9 */
    int32_t tick_ms;  /* session timeouts are clamped to 2 to 20 ticks, as servers do it */
} zkl_testing_options;

#define ZKL_TESTING_OPTIONS_INIT                                                                   \
    { sizeof(zkl_testing_options), 1, 3, 500 }

/**
 * Begins a simulation at time 0, with empty servers; NULL for ZKL_TESTING_OPTIONS_INIT. One that
 * is still there is ended.
 */
void zkl_testing_begin(const zkl_testing_options *options);

/**
 * Ends it. Close your clients before: those that are left are not freed, and must not be
 * touched any more. Tasks that have not ended are gone.
 */
void zkl_testing_end(void);

/* ---- Time, tasks and processes --------------------------------------------------------- */

/** Virtual time since the beginning. */
int64_t zkl_testing_now_ms(void);

/** Lets time pass for the calling task, or the program's main. >= 0. */
void zkl_testing_sleep(int64_t ms);

/** Another thread of your application. */
typedef struct zkl_testing_task zkl_testing_task;

/** Starts a task, in the caller's process. It belongs to the simulation, until its end. */
zkl_testing_task *zkl_testing_start(void (*run)(void *arg), void *arg);
/** Waits until it has ended. */
void zkl_testing_join(zkl_testing_task *task);

/**
 * Stops the whole process of the caller for so long, as SIGSTOP, swapping or the move of
 * a virtual machine do: no thread of it runs, the servers hear nothing of it, and what they
 * send waits. When it goes on, its clients find out what has become of their sessions.
 */
void zkl_testing_stop_process(int64_t ms);

/** Another process of your application. */
typedef struct zkl_testing_process zkl_testing_process;

/** Makes a process. To begin with there is one, that of the program's main. */
zkl_testing_process *zkl_testing_process_make(void);
/** What the caller opens and starts from now on belongs to this process; NULL: the first. */
void zkl_testing_process_enter(zkl_testing_process *process);

/* ---- Faults ---------------------------------------------------------------------------- */

/**
 * The servers end the client's session at once, as when they had not heard of it for its
 * timeout: its nodes are deleted, and its locks can be granted to others. The client
 * learns of it when the news arrives, as time passes.
 */
void zkl_testing_expire_session(zkl_client *client);

/**
 * Breaks the client's connections, and for so long no server takes a new one, from
 * anybody; others keep theirs. Shorter than the session timeout, it is a hiccup: holders are
 * SUSPECT, then held again. Longer, and the session expires.
 */
void zkl_testing_disconnect(zkl_client *client, int64_t ms);

typedef enum zkl_testing_request {
    ZKL_TESTING_CREATE, /* that queues for a lock */
    ZKL_TESTING_DELETE  /* that releases it */
} zkl_testing_request;

/**
 * When the client's next request of this kind gets to a server, its connection breaks.
 * `applied`: 1: the request is carried out, and only the reply is lost; 0: it is not.
 */
void zkl_testing_lose_reply(zkl_client *client, zkl_testing_request request, int applied);

/** Stops all servers, which keep what is committed. */
void zkl_testing_stop_servers(void);
/** Starts them again; clients connect as they find out. */
void zkl_testing_start_servers(void);
/** The leader steps down: for the time of an election nobody is answered. */
void zkl_testing_elect(void);

/* ---- Nodes ------------------------------------------------------------------------------- */

/**
 * Another client's request for a lock: creates its node, as zklock names them.
 *
 * resource_path  the full path of the resource, for example "/locks/stock"; made where it
 *                is missing.
 * node           receives the full path of the node. Delete it to let that client leave the
 *                queue, or release its lock.
 */
void zkl_testing_rival(const char *resource_path, zkl_mode mode, char node[ZKL_NODE_PATH_SIZE]);

/** Deletes a node by hand, as an administrator may do with anybody's. 1, or 0: there is none. */
int zkl_testing_delete_node(const char *path);

/** How many children a node has: the requests for a lock. 0 when there is no such node. */
size_t zkl_testing_count_children(const char *path);

#ifdef __cplusplus
}
#endif

#endif
