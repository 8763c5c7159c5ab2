/*
 * Stacks that take turns on one thread: what tasks are made of. Sanitizers and
 * valgrind are told of each switch, so that they see what they always see.
 */
#pragma once

#include <stddef.h>
#include <ucontext.h>

/** What a task has for the frames of its functions; behind its end is a page that
 *  ends the program when it is touched. */
#define ZKL_FIBER_STACK_SIZE ((size_t)1024 * 1024)

/** Its fields are fiber.c's. */
typedef struct zkl_fiber {
    ucontext_t context;
    void (*run)(void);
    char *memory; /* NULL: the stack is the program's own, or has been given back */
    const void *stack;
    size_t stack_size;
    void *address_sanitizer; /* its own stack for locals, while another fiber runs */
    void *thread_sanitizer;
} zkl_fiber;

/** The one that runs: the calling thread with its own stack. */
void zkl_fiber_begin_here(zkl_fiber *fiber);
/** One that begins with `run`, which must not return. */
void zkl_fiber_begin(zkl_fiber *fiber, void (*run)(void));
/** Leaves `from`, the one that runs, until somebody switches back to it. */
void zkl_fiber_switch(zkl_fiber *from, zkl_fiber *to);
/** The same, but nobody ever switches back. */
_Noreturn void zkl_fiber_leave(zkl_fiber *from, zkl_fiber *to);
/** Not the one that runs. Its stack is kept for another. A fiber without a stack is allowed. */
void zkl_fiber_end(zkl_fiber *fiber);
