/*
 * The calls of a contender: made by a thread that waits for them, or asynchronously, as its plan
 * has it. Either way what it is told is judged in the moment in which it is told, and each call
 * that was accepted must be told exactly once.
 */
#pragma once

#include "contender.h"

/** Runs when the contender is told, in whatever task. `grant`: valid on ZKL_OK of an acquire or an
 *  upgrade. */
typedef void contender_told(contender *self, int status, const zkl_grant *grant);

/** All return when it has been told. */
int contender_acquire(contender *self, zkl_mode mode, int64_t timeout_ms, contender_told *told);
int contender_release(contender *self, int64_t timeout_ms, contender_told *told);
int contender_downgrade(contender *self, int64_t timeout_ms, contender_told *told);
int contender_try_upgrade(contender *self, contender_told *told);
