#include "testing/fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include "testing/memory.h"

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#ifndef __has_include
#define __has_include(x) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define HAS_ADDRESS_SANITIZER
#endif

#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#include <sanitizer/tsan_interface.h>
#define HAS_THREAD_SANITIZER
#endif

#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#define HAS_VALGRIND
#endif

/* Stacks outlive worlds: to make new ones would be most of the cost of a short world. */
static struct {
    char **list;
    size_t count;
    size_t capacity;
} free_stacks;

/* ---- Stacks ------------------------------------------------------------------------- */

static size_t guard_size(void) {
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* Pages that nobody touches cost nothing. */
static char *make_stack(void) {
    char *stack = mmap(NULL, ZKL_FIBER_STACK_SIZE, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED || mprotect(stack, guard_size(), PROT_NONE) != 0) {
        zkl_testing_fail("no memory for the stack of a task");
    }
#ifdef HAS_VALGRIND
    (void)VALGRIND_STACK_REGISTER(stack, stack + ZKL_FIBER_STACK_SIZE);
#endif
    return stack;
}

static char *take_stack(void) {
    if (free_stacks.count == 0) {
        return make_stack();
    }
    char *stack = free_stacks.list[--free_stacks.count];
#ifdef HAS_ADDRESS_SANITIZER
    /* The task that was on it may not have returned from all of its functions. */
    ASAN_UNPOISON_MEMORY_REGION(stack + guard_size(), ZKL_FIBER_STACK_SIZE - guard_size());
#endif
    return stack;
}

static void give_stack_back(char *stack) {
    if (free_stacks.count == free_stacks.capacity) {
        free_stacks.capacity = free_stacks.capacity == 0 ? 16 : 2 * free_stacks.capacity;
        free_stacks.list =
            zkl_testing_reallocate(free_stacks.list, free_stacks.capacity * sizeof(char *));
    }
    free_stacks.list[free_stacks.count++] = stack;
}

/* ---- Switching: sanitizers are told when one fiber is left and when another is entered  */

static zkl_fiber *left;
static zkl_fiber *entered;

/* `locals`: where to keep what the address sanitizer has of its own; NULL: throw it away. */
static void tell_departure(void **locals) {
    (void)locals;
#ifdef HAS_ADDRESS_SANITIZER
    __sanitizer_start_switch_fiber(locals, entered->stack, entered->stack_size);
#endif
#ifdef HAS_THREAD_SANITIZER
    __tsan_switch_to_fiber(entered->thread_sanitizer, 0);
#endif
}

/* The bounds of the program's own stack are not known before it is left. */
static void tell_arrival(void) {
#ifdef HAS_ADDRESS_SANITIZER
    __sanitizer_finish_switch_fiber(entered->address_sanitizer, &left->stack, &left->stack_size);
#endif
}

void zkl_fiber_switch(zkl_fiber *from, zkl_fiber *to) {
    left = from;
    entered = to;
    tell_departure(&from->address_sanitizer);
    swapcontext(&from->context, &to->context);
    tell_arrival();
}

void zkl_fiber_leave(zkl_fiber *from, zkl_fiber *to) {
    left = from;
    entered = to;
    tell_departure(NULL);
    setcontext(&to->context);
    zkl_testing_fail("a task that has ended cannot be left");
}

static void begin_run(void) {
    tell_arrival();
    entered->run();
}

/* ---- Beginning and end -------------------------------------------------------------- */

void zkl_fiber_begin_here(zkl_fiber *fiber) {
    *fiber = (zkl_fiber){ .memory = NULL };
#ifdef HAS_THREAD_SANITIZER
    fiber->thread_sanitizer = __tsan_get_current_fiber();
#endif
}

void zkl_fiber_begin(zkl_fiber *fiber, void (*run)(void)) {
    *fiber = (zkl_fiber){ .run = run, .memory = take_stack() };
    fiber->stack = fiber->memory + guard_size();
    fiber->stack_size = ZKL_FIBER_STACK_SIZE - guard_size();
    getcontext(&fiber->context);
    fiber->context.uc_stack.ss_sp = fiber->memory + guard_size();
    fiber->context.uc_stack.ss_size = fiber->stack_size;
    makecontext(&fiber->context, begin_run, 0);
#ifdef HAS_THREAD_SANITIZER
    fiber->thread_sanitizer = __tsan_create_fiber(0);
#endif
}

void zkl_fiber_end(zkl_fiber *fiber) {
    if (fiber->memory == NULL) {
        return;
    }
    give_stack_back(fiber->memory);
    fiber->memory = NULL;
#ifdef HAS_THREAD_SANITIZER
    __tsan_destroy_fiber(fiber->thread_sanitizer);
#endif
}
