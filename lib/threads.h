/* Threads and condition variables, as zklock wants them everywhere. */
#ifndef ZKLOCK_THREADS_H
#define ZKLOCK_THREADS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/** Starts a thread with all signals blocked: those are the application's. */
bool zkl_thread_start(pthread_t *thread, void *(*run)(void *), void *arg);

/** A number for the calling thread that no other ever has in this process. */
uint64_t zkl_thread_number(void);

/** Milliseconds since some moment; goes on while the machine sleeps, never back. */
int64_t zkl_clock_ms(void);

/** A condition variable on the monotonic clock. */
void zkl_condition_begin(pthread_cond_t *condition);

/** Waits until signalled, or for `ms` (INT64_MAX: for ever); may return early,
 *  so that zkl_clock_ms tells what has passed. */
void zkl_condition_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, int64_t ms);

#endif
