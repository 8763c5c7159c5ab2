#include "testing/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Volatile: the compiler knows that calloc looks at no variable of ours. */
static volatile bool is_allocating;

static zkl_testing_print_place *print_place;

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

void zkl_testing_set_place(zkl_testing_print_place *print) {
    print_place = print;
}

void zkl_testing_fail(const char *format, ...) {
    va_list arguments;
    fflush(NULL); /* what it has told so far */
    va_start(arguments, format);
    fputs("zklock testing: ", stderr);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    if (print_place != NULL) {
        print_place();
    }
    fputc('\n', stderr);
    abort();
}
