/*
 * Tests of applications that use zklock, without a ZooKeeper server.
 *
 * Link -lzklock_testing instead of -lzklock (CMake: zklock::testing instead of
 * zklock::zklock). It is all of zklock, compiled from the same code, but its servers,
 * its network, its threads and its clock are simulated, inside your program:
 *
 *     zkl_testing_begin(NULL);
 *     ... your own code, which opens clients with any host list, and locks ...
 *     zkl_testing_expire_session(client);   what does your code do now?
 *     zkl_testing_end();
 *
 * What you must know
 * ------------------
 * 1. Time is virtual. It passes only while your code waits in a call of zklock, or in a
 *    function below that says so. A pause of a minute takes no time, and nothing depends on
 *    how fast the machine is. The clocks of the system know nothing of it: if your code
 *    reads a clock, let the test replace it by zkl_testing_now_ms.
 * 2. It is deterministic. All delays, and the order in which tasks take their turns, are
 *    drawn from one seed: the same seed gives the same run, another seed another one. Run a
 *    test with some hundreds of seeds (zkl_testing_run_seeds).
 * 3. There is one thread. Your threads are tasks here (zkl_testing_start): each runs until
 *    it waits in zklock or in one of the functions below, and only then does another one
 *    run. zklock's callbacks run as tasks, too. So your code must not wait for another task
 *    by any other means, such as its own condition variable or mutex: that hangs. Thread-local
 *    data (errno, zkl_error_message) is shared by all tasks: read it at once.
 * 4. Nothing goes wrong unless you ask for it. But nothing is instant either: a message
 *    takes up to half a millisecond, a commit up to two milliseconds more.
 *
 * Conventions
 * -----------
 * - These functions return no status. A mistake in their use (a NULL, a call before
 *   zkl_testing_begin, a test that runs for ever) aborts the program, with a line on
 *   stderr that has the mistake, the seed and the moment.
 * - Durations are in milliseconds of virtual time, >= 0, and their names end in _ms.
 * - Functions that wait say so. zklock's own calls, and these, may be made from main, from a task
 *   and from a callback of zklock, unless stated otherwise.
 * - Returned objects live until zkl_testing_end. Nothing needs to be freed.
 *
 * They have neither TLS nor SASL: options of a client that ask for them are checked against each
 * other and otherwise ignored, and no file of theirs is read.
 *
 * The simulated servers keep ZooKeeper's promises, and no others; docs/testing.md has
 * examples, and says what they leave out.
 *
 * Copyright 2026 the zklock authors. Licensed under the Apache License 2.0.
 */
#ifndef ZKLOCK_TESTING_H
#define ZKLOCK_TESTING_H

#include <stdio.h>

#include "zklock/zklock.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Beginning and end -------------------------------------------------------------- */

/** What a simulation is begun with. */
typedef struct zkl_testing_options {
    size_t struct_size; /* see ZKL_TESTING_OPTIONS_INIT */
    /** All random choices are drawn from it. 0: 1. */
    uint64_t seed;
    /** How many there are, at most 9. 0: 3. */
    uint32_t servers;
    /** 10 to 60000: tickTime. Session timeouts are clamped to 2 to 20 ticks, as by real
     *  servers, and sessions end at the end of a tick. 0: 2000, ZooKeeper's usual tick. */
    int32_t tick_ms;
    /** In virtual time. A longer run ends the program, because some task waits for ever. 0: an
     *  hour. */
    int64_t time_limit_ms;
} zkl_testing_options;

#define ZKL_TESTING_OPTIONS_INIT ZKL_SIZED(zkl_testing_options)

/**
 * Begins a simulation at time 0, with servers that have no nodes.
 *
 * options  NULL for ZKL_TESTING_OPTIONS_INIT.
 *
 * Ends the program if libzklock is linked too, because its functions would then replace those of
 * this library. Ends the previous simulation, if zkl_testing_end was not called. Call it from main
 * (or from one other thread of the system: a simulation belongs to the thread that begins it).
 */
ZKL_API void zkl_testing_begin(const zkl_testing_options *options);

/**
 * Ends the simulation and frees what it has made. Close your clients and lock handles first: those
 * that are left are not freed, and must not be touched any more. Tasks that have not ended never
 * continue, and what they own is not freed. Do not call it from a task. Does nothing if no
 * simulation was begun.
 */
ZKL_API void zkl_testing_end(void);

/**
 * Runs a test once for each seed from `first` to `last`, both included, each time
 * in a simulation of its own:
 *
 *     zkl_testing_run_seeds(1, 500, NULL, job_survives_everything, NULL);
 *
 * options  NULL for ZKL_TESTING_OPTIONS_INIT; its seed is ignored.
 *
 * When a seed fails, run the program with ZKLOCK_TESTING_SEED=<seed> in its environment: each call
 * of this function then runs that seed only, and traces everything to stderr
 * (zkl_testing_trace_to). Do not call it from a task.
 */
ZKL_API void zkl_testing_run_seeds(uint64_t first, uint64_t last,
                                   const zkl_testing_options *options, void (*test)(void *arg),
                                   void *arg);

/** The seed of the simulation: put it into the messages of your test framework. */
ZKL_API uint64_t zkl_testing_seed(void);

/** A number from 0 to bound - 1, drawn from the seed, for a test's own random choices. bound
 *  >= 1. */
ZKL_API uint64_t zkl_testing_random(uint64_t bound);

/**
 * An assertion. If it fails it prints the condition, the seed and the moment, and ends the program.
 * You can use any other test framework, if it prints zkl_testing_seed.
 */
#define ZKL_TESTING_EXPECT(condition)                                                              \
    ((condition) ? (void)0 : zkl_testing_expectation_failed(__FILE__, __LINE__, #condition))
/** Ends the program, for ZKL_TESTING_EXPECT. Does not return. */
ZKL_API void zkl_testing_expectation_failed(const char *file, int line, const char *condition);

/* ---- Time --------------------------------------------------------------------------- */

/** Virtual time since zkl_testing_begin. */
ZKL_API int64_t zkl_testing_now_ms(void);

/** Waits while virtual time passes, for `ms`. 0: lets other tasks take their turns, now. */
ZKL_API void zkl_testing_sleep(int64_t ms);

/**
 * Waits until a condition holds, or for within_ms at most.
 *
 * is_so  must not wait. It is called again and again, with `arg`.
 *
 * Returns 1, or 0 when the time is over. To wait for a callback of zklock, let it set a
 * flag, and wait for that.
 */
ZKL_API int zkl_testing_wait_until(int (*is_so)(void *arg), void *arg, int64_t within_ms);

/**
 * Waits until a handle is in a state, as zkl_lock_info returns it, or for within_ms at most.
 * (ZKL_STATE_ACQUIRING: somebody waits in zkl_lock_acquire, perhaps not yet in the servers'
 * queue; see zkl_testing_count_children.) Returns 1, or 0 when the time is over.
 */
ZKL_API int zkl_testing_wait_for_state(const zkl_lock *lock, zkl_lock_state state,
                                       int64_t within_ms);

/* ---- Tasks: the threads of your application ----------------------------------------- */

/** A task. Lives until zkl_testing_end. */
typedef struct zkl_testing_task zkl_testing_task;

/**
 * Starts a task, in the caller's process. It has 1 MB of stack, and first runs when the caller
 * waits.
 */
ZKL_API zkl_testing_task *zkl_testing_start(void (*run)(void *arg), void *arg);

/** Waits until a task has ended. */
ZKL_API void zkl_testing_join(zkl_testing_task *task);

/** Returns 1 if a task has ended, else 0. */
ZKL_API int zkl_testing_has_ended(const zkl_testing_task *task);

/* ---- Processes ---------------------------------------------------------------------- */

/** A process of your application. Lives until zkl_testing_end. */
typedef struct zkl_testing_process zkl_testing_process;

/** Makes one more process. Main is in the first one, process 0 in the trace. */
ZKL_API zkl_testing_process *zkl_testing_process_make(void);

/** Moves the caller, a task or main, to a process: whatever it opens and starts from now on belongs
 *  to that process. NULL: the first one. */
ZKL_API void zkl_testing_process_enter(zkl_testing_process *process);

/**
 * Stops a process for a while (`ms`), as SIGSTOP, swapping or the move of a virtual machine do:
 * none of its tasks runs, the servers hear nothing from it, and what they send waits. When it
 * continues, its clients find out what became of their sessions. To outlast the session, choose
 * more than the session timeout and a tick.
 *
 * process  NULL: the caller's own. Then this waits: call it where your code is to be
 *          stopped, for example in the store that the lock protects. For another process it
 *          returns at once. Overlapping pauses of one process last until the last of them ends.
 */
ZKL_API void zkl_testing_pause(zkl_testing_process *process, int64_t ms);

/* ---- Faults of clients: their sessions and connections ------------------------------ */

/**
 * Ends the client's sessions: the servers begin to, as if they had not heard from it for its
 * timeout. When this returns, nothing has changed yet, for the servers or for the client: that
 * takes time to pass, a few milliseconds, as in zkl_testing_sleep or any call that waits. First its
 * nodes are deleted, and its locks can be granted to others. Its connection breaks. It learns why
 * when it connects again, and opens another session. So its grants are held, SUSPECT, then LOST
 * with the reason ZKL_SESSION_EXPIRED: zkl_testing_wait_for_state waits for that. Waits if the
 * servers are electing a leader.
 */
ZKL_API void zkl_testing_expire_session(zkl_client *client);

/**
 * Breaks the client's connections: it notices at once, and cannot connect for `ms`. Requests on
 * their way are lost. Less than the session timeout is a hiccup: grants are SUSPECT, then held
 * again. If it is longer, the session expires, which the client learns when it is back (with a
 * lease, it knows before).
 */
ZKL_API void zkl_testing_disconnect(zkl_client *client, int64_t ms);

/**
 * Cuts the client's connections silently, for `ms`, as when a switch fails or a firewall forgets a
 * connection: messages vanish, and neither side notices. The client finds out when it has had no
 * answer for two thirds of its session timeout. Its old connections stay dead.
 */
ZKL_API void zkl_testing_partition(zkl_client *client, int64_t ms);

/** A request whose reply is to be lost. */
typedef enum zkl_testing_request {
    ZKL_TESTING_CREATE = 0, /* an acquire queues: it makes the contender's node */
    ZKL_TESTING_DELETE = 1  /* a release, or an acquire that gives up, leaves */
} zkl_testing_request;

/**
 * Breaks the client's connection when its next request of this kind gets to a server; the client
 * can connect again at once. Only the latest such order is kept. The first acquire of a resource
 * also makes the resource's own node, and the ones above it, and tries to queue before they exist.
 * Those creates do not count: the order waits for the create of the contender's node.
 *
 * carried_out  1: the request is carried out, and only its reply is lost (a create that makes
 *              no node does not count); 0: it is not carried out.
 */
ZKL_API void zkl_testing_lose_reply(zkl_client *client, zkl_testing_request request,
                                    int carried_out);

/* ---- Faults of servers -------------------------------------------------------------- */

/** Stops all servers. They keep what is committed. Clients are disconnected. */
ZKL_API void zkl_testing_stop_servers(void);
/** Starts all servers again. They elect a leader, which restarts every session's timeout; clients
 *  reconnect on their own. */
ZKL_API void zkl_testing_start_servers(void);
/** Lets the leader step down: connections break, and nobody is answered until another is elected
 *  (within two seconds). */
ZKL_API void zkl_testing_elect_leader(void);
/** Slows the servers down: for for_ms, every commit takes by_ms longer, as with slow disks. */
ZKL_API void zkl_testing_slow_servers(int64_t by_ms, int64_t for_ms);
/**
 * Lets things go wrong at random (in `per_million` of a million messages): a connection breaks,
 * and the request is carried out, or not, or late; a message or a commit is slow; a server takes no
 * connection. 10,000 is a lot. 0 ends it.
 */
ZKL_API void zkl_testing_set_failure_rate(uint32_t per_million);
/** Ends all faults of servers, and forgets the orders of zkl_testing_lose_reply. Faults of clients
 *  that last for some time (zkl_testing_disconnect, zkl_testing_partition, zkl_testing_pause)
 *  continue. */
ZKL_API void zkl_testing_heal(void);

/* ---- Nodes -------------------------------------------------------------------------- */

/**
 * Adds another contender, played by you: a node in the queue of a resource, as another process's
 * zklock makes it. It holds the lock if no conflicting node is before it.
 *
 * resource_path  the full path of the resource, for example "/locks/stock"; created if
 *                it is missing.
 * node           receives the full path of the node; may be NULL. Delete the node to
 *                release, or to leave.
 *
 * Its session never expires. Waits if the servers are electing a leader.
 */
ZKL_API void zkl_testing_add_contender(const char *resource_path, zkl_mode mode,
                                       char node[ZKL_NODE_PATH_SIZE]);

/**
 * Deletes a node by hand, whoever owns it (zkl_grant.node, for example), as an administrator may
 * do. Waits if the servers are electing a leader. Returns 1, or 0 if it does not exist or has
 * children.
 */
ZKL_API int zkl_testing_delete_node(const char *path);

/** How many children a node has, at the servers. For a resource these are the requests for its
 *  lock, including the holder's. 0 if there is no such node. */
ZKL_API size_t zkl_testing_count_children(const char *path);

/** How many watches the servers keep for a client; NULL: for all of them. */
ZKL_API size_t zkl_testing_count_watches(zkl_client *client);

/** How many sessions of clients the servers have: 0 when all clients are closed (or one session
 *  timeout after clients vanished without a close). */
ZKL_API size_t zkl_testing_count_sessions(void);

/**
 * Expects that everything is tidied up: within within_ms no client has a node or a watch at the
 * servers any more, and all tasks that the test has started have ended. Otherwise it reports what
 * is left, and ends the program. Waits. Clients may still be open.
 */
ZKL_API void zkl_testing_expect_clean(int64_t within_ms);

/* ---- Trace -------------------------------------------------------------------------- */

/**
 * Writes a trace from now on, one line each: what the servers commit, what clients receive, what
 * the application learns (the status of each acquire and release; that a grant is suspect, held
 * again, or lost, and why), which faults are ordered, and the test's own notes. The same seed gives
 * the same trace, byte for byte. NULL ends it. It also applies to the following simulations. The
 * file stays yours.
 */
ZKL_API void zkl_testing_trace_to(FILE *file);

/** Adds your own line to the trace. The format is as for printf, without the newline. */
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
ZKL_API void
zkl_testing_note(const char *format, ...);

#ifdef __cplusplus
}
#endif

#endif
