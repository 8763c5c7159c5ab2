/*
 * A gate: a counter in shared memory that processes raise and others await.
 *
 * It holds no lock. So a process that is stopped or killed at any point cannot
 * keep the others from passing, which a process-shared mutex, condition or
 * barrier does not promise. Every wait has a limit.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct gate {
    _Atomic uint32_t count; /* starts at zero and never falls */
};

/** Adds one and wakes those who wait for it. */
void gate_raise(struct gate *gate);

/** Raises the count to at least `count`. */
void gate_raise_to(struct gate *gate, uint32_t count);

/** Waits until the count is at least `count`; false after timeout_ms. */
bool gate_await(struct gate *gate, uint32_t count, int64_t timeout_ms);

/** The count at this moment. */
uint32_t gate_count(struct gate *gate);
