#include "allocation.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "testing/memory.h"
#include "trace.h"

/* The linker puts these in place of malloc and the like (--wrap). */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t size);

static uint64_t left = ALLOCATION_NEVER;

void allocation_fail_after(uint64_t count) {
    left = count;
}

static bool fails(void) {
    if (left == ALLOCATION_NEVER || zkl_testing_is_allocating()) {
        return false;
    }
    if (left > 0) {
        left--;
        return false;
    }
    left = ALLOCATION_NEVER;
    trace_event("FAULT", "an allocation fails");
    return true;
}

void *__wrap_malloc(size_t size) {
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size) {
    return fails() ? NULL : __real_realloc(memory, size);
}

char *__wrap_strdup(const char *text) {
    return fails() ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t size) {
    return fails() ? NULL : __real_strndup(text, size);
}
