/* uthash and utlist, with the simulation's own memory. Their order is that of insertion. */
#pragma once

#include "testing/memory.h"

#define uthash_malloc(size) zkl_testing_allocate(size)
#define uthash_free(memory, size) zkl_testing_free(memory)
#include <uthash.h>
#include <utlist.h>
