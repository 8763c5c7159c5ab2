/*
 * Counts what the code under test allocates, in a program whose linker puts heap.c in place of
 * malloc and the like (--wrap). The simulation's own memory does not count, nor does that of other
 * libraries.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/** Returns how much is allocated now, as the heap counts it. */
size_t heap_bytes(void);
/** Counts the allocations since the program began. */
size_t heap_allocations(void);

/** Lets one allocation fail: the one after the next `count`. A realloc never fails. */
void heap_fail_after(size_t count);
/** Lets no allocation fail. True: one has failed. */
bool heap_fail_no_more(void);
