/*
 * Counts what the code under test allocates, in a program whose linker puts heap.c in place of
 * malloc and the like (--wrap). The simulation's own memory does not count, nor does that of other
 * libraries.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/** What is allocated now, as the heap measures it. */
size_t heap_bytes(void);
/** How often anything was allocated, since the program began. */
size_t heap_allocations(void);

/** The allocation after so many fails, once. */
void heap_fail_after(size_t count);
/** None fails. Whether one has failed. */
bool heap_fail_no_more(void);
