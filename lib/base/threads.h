/*
 * Threads, condition variables, the clock and chance, as zklock wants them everywhere.
 * All that waits, waits here: the library for tests of applications has a
 * testing/threads_simulated.c in place of threads.c, in which threads are tasks
 * that take turns and the clock is a number. So nothing else of zklock may call
 * pthread_create, pthread_join, pthread_cond_* or clock_gettime. A mutex is never
 * held while its holder waits, unless the wait lets it go.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/** Starts a thread with all signals blocked: those are the application's. Threads that it starts
 *  itself, as libzookeeper does in a session's thread, inherit that. */
bool zkl_thread_start(pthread_t *thread, void *(*run)(void *), void *arg);

/** At the beginning of each function that the application calls: until it returns, its thread is
 * not cancelled (pthread_cancel), which would take a mutex of ours with it. */
#define ZKL_NOT_CANCELLED                                                                          \
    __attribute__((cleanup(zkl_thread_let_be_cancelled), unused)) const int not_cancelled =        \
        zkl_thread_forbid_cancelling()
/** Returns how it was before. */
int zkl_thread_forbid_cancelling(void);
void zkl_thread_let_be_cancelled(const int *before);

/** Holds a mutex until the end of the block, however that is left. */
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

/** A number for the calling thread that no other ever has in this process. */
uint64_t zkl_thread_number(void);

/** Has SIGALRM end the process after `seconds`, whatever the program's handler of that signal is.
 *  Allocates and locks nothing. Does nothing in a simulated world. */
void zkl_process_must_end_within(unsigned seconds);

/** Notes whether the calling thread runs the application's callbacks from now on. */
void zkl_thread_runs_callbacks(bool runs);
/** Whether the calling thread is running a callback of any client. */
bool zkl_callback_is_running(void);

/** Milliseconds since some moment; goes on while the machine sleeps, never back. */
int64_t zkl_clock_ms(void);

/** Milliseconds since 1970, by a clock that may be set at any time: for people to read. */
int64_t zkl_wall_clock_ms(void);

/** A number from 0 to below `count`, drawn at random; 0 if the machine has no random numbers. */
uint32_t zkl_random_below(uint32_t count);

/** A condition variable on the monotonic clock. */
void zkl_condition_begin(pthread_cond_t *condition);
void zkl_condition_end(pthread_cond_t *condition);

/** Wakes all that wait; with the mutex held. */
void zkl_condition_broadcast(pthread_cond_t *condition);

/** Waits until signalled, or until that moment of zkl_clock_ms (INT64_MAX: for ever); may return
 *  early. false, and no wait: the moment has passed. */
bool zkl_condition_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, int64_t deadline_ms);

/** The moment of zkl_clock_ms in `ms` from now. INT64_MAX: never. */
static inline int64_t zkl_deadline(int64_t ms) {
    int64_t now_ms = zkl_clock_ms();
    return ms < INT64_MAX - now_ms ? now_ms + ms : INT64_MAX;
}
