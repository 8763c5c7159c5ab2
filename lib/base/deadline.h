/* Moments of zkl_clock_ms, and waits that end at one. */
#ifndef ZKLOCK_DEADLINE_H
#define ZKLOCK_DEADLINE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/** The moment in `ms` from now. INT64_MAX: never. */
int64_t zkl_deadline(int64_t ms);

/** Waits until signalled, or until the deadline; may return early. false, and no wait: the deadline
 *  has passed. */
bool zkl_wait_until(pthread_cond_t *condition, pthread_mutex_t *mutex, int64_t deadline_ms);

#endif
