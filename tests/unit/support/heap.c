#include "support/heap.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "testing/memory.h"

/* The linker puts these in place of malloc and the like (--wrap). */
void *__real_malloc(size_t size);
void *__real_realloc(void *memory, size_t size);
void __real_free(void *memory);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t size);
void __wrap_free(void *memory);

/* Stands before each piece, and leaves it aligned. */
typedef union header {
    size_t counted; /* how many bytes count; 0: it is the simulation's own */
    max_align_t align;
} header;

static size_t bytes, allocations;
static bool may_fail;
static size_t fails_at; /* after so many allocations in all */

size_t heap_bytes(void) {
    return bytes;
}

size_t heap_allocations(void) {
    return allocations;
}

void heap_fail_after(size_t count) {
    may_fail = true;
    fails_at = allocations + count;
}

bool heap_fail_no_more(void) {
    bool has_failed = !may_fail;
    may_fail = false;
    return has_failed;
}

static bool fails(void) {
    if (!may_fail || zkl_testing_is_allocating() || allocations < fails_at) {
        return false;
    }
    may_fail = false;
    return true;
}

/* Returns what a piece takes of glibc's heap on 64 bits: a word more, in steps of two words. */
static size_t cost(size_t size) {
    return (size + sizeof(size_t) + 15) / 16 * 16;
}

static void *begin(header *piece, size_t size) {
    if (piece == NULL) {
        return NULL;
    }
    piece->counted = zkl_testing_is_allocating() ? 0 : cost(size);
    bytes += piece->counted;
    allocations += piece->counted > 0 ? 1 : 0;
    return piece + 1;
}

void *__wrap_malloc(size_t size) {
    return fails() ? NULL : begin(__real_malloc(sizeof(header) + size), size);
}

void *__wrap_calloc(size_t count, size_t size) {
    void *memory = __wrap_malloc(count * size);
    return memory != NULL ? memset(memory, 0, count * size) : NULL;
}

void *__wrap_realloc(void *memory, size_t size) {
    header *piece = memory != NULL ? (header *)memory - 1 : NULL;
    size_t counted = piece != NULL ? piece->counted : 0;
    bytes -= counted;
    return begin(__real_realloc(piece, sizeof(header) + size), size);
}

char *__wrap_strndup(const char *text, size_t size) {
    size_t length = strnlen(text, size);
    char *copy = __wrap_calloc(1, length + 1);
    return copy != NULL ? memcpy(copy, text, length) : NULL;
}

char *__wrap_strdup(const char *text) {
    return __wrap_strndup(text, strlen(text));
}

void __wrap_free(void *memory) {
    if (memory != NULL) {
        header *piece = (header *)memory - 1;
        bytes -= piece->counted;
        __real_free(piece);
    }
}
