/*
 * Threads, condition variables, the clock and chance, for all of zklock. All waiting is done here:
 * the library for tests of applications has testing/threads_simulated.c in place of threads.c, in
 * which threads are tasks that take turns and the clock is a number. So nothing else in zklock may
 * call pthread_create, pthread_join, pthread_cond_* or clock_gettime. No thread waits while it
 * holds a mutex, unless the wait unlocks that mutex.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/** Starts a thread with all signals blocked: those are the application's. Threads that this thread
 *  starts, as libzookeeper does in a session's thread, inherit that. */
bool zkl_thread_start(pthread_t *thread, void *(*run)(void *), void *arg);

/** Keeps the calling thread from being cancelled (pthread_cancel) until the function returns: a
 *  cancelled thread would leave a mutex of ours locked. Stands at the beginning of each function
 *  that the application calls. */
#define ZKL_NOT_CANCELLED                                                                          \
    __attribute__((cleanup(zkl_thread_let_be_cancelled), unused)) const int not_cancelled =        \
        zkl_thread_forbid_cancelling()
/** Forbids cancelling. Returns the state before, for zkl_thread_let_be_cancelled. */
int zkl_thread_forbid_cancelling(void);
/** Restores the state that zkl_thread_forbid_cancelling has returned. */
void zkl_thread_let_be_cancelled(const int *before);

/** Locks a mutex until the end of the block, however the block is left. */
#define ZKL_WITH_MUTEX(mutex)                                                                      \
    __attribute__((cleanup(zkl_mutex_let_go), unused)) pthread_mutex_t *const held_mutex =         \
        zkl_mutex_take(mutex)
static inline pthread_mutex_t *zkl_mutex_take(pthread_mutex_t *mutex) {
    pthread_mutex_lock(mutex);
    return mutex;
}
static inline void zkl_mutex_let_go(pthread_mutex_t *const *mutex) {
    pthread_mutex_unlock(*mutex);
}

/** Waits for a thread's end. */
void zkl_thread_join(pthread_t thread);

/** Returns a number of the calling thread that no other thread of this process ever has. */
uint64_t zkl_thread_number(void);

/** Begins the end of the process, for the thread that calls it first: others wait here for that
 *  end. SIGALRM ends the process after `seconds`, whatever the program's handler of that signal is.
 *  No other signal than that of a fault comes to the thread: SIGPIPE neither. Allocates and locks
 *  nothing. Does nothing in a simulated world. */
void zkl_process_must_end_within(unsigned seconds);

/** Notes that the calling thread runs the application's callbacks from now on, or no longer. */
void zkl_thread_runs_callbacks(bool runs);
/** Tells whether the calling thread is running a callback of any client. */
bool zkl_callback_is_running(void);

/** Returns milliseconds since some moment. They go on while the machine sleeps, and never back. */
int64_t zkl_clock_ms(void);

/** Returns milliseconds since 1970, by a clock that somebody may set at any time: for people to
 *  read. */
int64_t zkl_wall_clock_ms(void);

/** Draws a random number from 0 to below `count`; 0 if the machine has no random numbers. */
uint32_t zkl_random_below(uint32_t count);

/** Initialises a condition variable on the monotonic clock. */
void zkl_condition_begin(pthread_cond_t *condition);
void zkl_condition_end(pthread_cond_t *condition);

/** Wakes all threads that wait. The caller holds the mutex. */
void zkl_condition_broadcast(pthread_cond_t *condition);

/** Waits until signalled, or until that moment of zkl_clock_ms (INT64_MAX: for ever); may return
 *  early. False: the moment had passed before, and it did not wait. */
bool zkl_condition_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, int64_t deadline_ms);

/** Returns the moment of zkl_clock_ms that is `ms` from now. INT64_MAX: never. */
static inline int64_t zkl_deadline(int64_t ms) {
    int64_t now_ms = zkl_clock_ms();
    return ms < INT64_MAX - now_ms ? now_ms + ms : INT64_MAX;
}
