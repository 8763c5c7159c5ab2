/*
 * The memory of the simulation itself. A simulation that runs out of it ends the
 * program; and what makes the allocations of the code under test fail does not
 * reach these.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/** Zeroed. Never NULL. */
void *zkl_testing_allocate(size_t size);
/** Like realloc: what is new is not zeroed. Never NULL. */
void *zkl_testing_reallocate(void *memory, size_t size);
/** A copy of a string. Never NULL. */
char *zkl_testing_copy_text(const char *text);
/** NULL is allowed. */
void zkl_testing_free(void *memory);

/** Whether the allocation under way is one of these: for tests that make others fail. */
bool zkl_testing_is_allocating(void);

/** Prints where a simulation is, behind the reason for which it ends. */
typedef void zkl_testing_print_place(void);
/** For all failures from now on. */
void zkl_testing_set_place(zkl_testing_print_place *print);

/** Prints why a simulation cannot go on, and aborts. */
_Noreturn void zkl_testing_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
