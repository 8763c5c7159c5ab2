/* The options of a client for TLS and SASL. */
#pragma once

#include "base/pool.h"
#include "zklock/zklock.h"

/** Checks the options, and whether they go together. ZKL_OK or ZKL_INVALID_ARGUMENT. */
int zkl_secure_options_check(const zkl_security *options);
/** Replaces the strings by copies. */
void zkl_secure_options_copy(zkl_security *options, zkl_pool *pool);
/** Overwrites the copies of passwords. */
void zkl_secure_options_wipe(zkl_security *options);
