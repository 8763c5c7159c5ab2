/* Makes allocations of the code under test fail; those of the simulation do not. */
#pragma once

#include <stdint.h>

#define ALLOCATION_NEVER UINT64_MAX

/** The one after so many fails, once. */
void allocation_fail_after(uint64_t count);
