#include "testing/memory.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testing/world.h"

enum { US_PER_MS = 1000 };

/* Volatile: the compiler knows that calloc looks at no variable of ours. */
static volatile bool is_allocating;

bool zkl_testing_is_allocating(void) {
    return is_allocating;
}

static void *insist(void *memory) {
    is_allocating = false;
    if (memory == NULL) {
        zkl_testing_fail("out of memory");
    }
    return memory;
}

void *zkl_testing_allocate(size_t size) {
    is_allocating = true;
    return insist(calloc(1, size > 0 ? size : 1));
}

void *zkl_testing_reallocate(void *memory, size_t size) {
    is_allocating = true;
    return insist(realloc(memory, size > 0 ? size : 1));
}

char *zkl_testing_copy_text(const char *text) {
    size_t size = strlen(text) + 1;
    return memcpy(zkl_testing_allocate(size), text, size);
}

void zkl_testing_free(void *memory) {
    free(memory);
}

void zkl_testing_fail(const char *format, ...) {
    va_list arguments;
    fflush(NULL); /* what it has told so far */
    va_start(arguments, format);
    fputs("zklock testing: ", stderr);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    if (zkl_world_has_begun()) {
        fprintf(stderr, " (seed %" PRIu64 ", at %" PRId64 " ms)", zkl_world_seed(),
                zkl_world_now_us() / US_PER_MS);
    }
    fputc('\n', stderr);
    abort();
}
