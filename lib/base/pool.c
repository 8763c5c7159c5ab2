#include "base/pool.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zklock/zklock.h"

typedef struct zkl_pool_piece {
    struct zkl_pool_piece *next;
    max_align_t content[];
} piece;

void *zkl_pool_take(zkl_pool *pool, size_t size) {
    piece *taken = calloc(1, sizeof(*taken) + size);
    if (taken == NULL) {
        pool->ran_out = true;
        return NULL;
    }
    taken->next = pool->pieces;
    pool->pieces = taken;
    return taken->content;
}

int zkl_pool_status(const zkl_pool *pool) {
    return pool->ran_out ? ZKL_NO_MEMORY : ZKL_OK;
}

void zkl_pool_free(zkl_pool *pool) {
    while (pool->pieces != NULL) {
        piece *first = pool->pieces;
        pool->pieces = first->next;
        free(first);
    }
}

void *zkl_pool_copy(zkl_pool *pool, const void *bytes, size_t size) {
    void *copied = zkl_pool_take(pool, size);
    if (copied != NULL && size > 0) {
        memcpy(copied, bytes, size);
    }
    return copied;
}

char *zkl_pool_copy_text(zkl_pool *pool, const char *text) {
    return text != NULL ? zkl_pool_copy(pool, text, strlen(text) + 1) : NULL;
}

char *zkl_pool_print(zkl_pool *pool, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *text = zkl_pool_take(pool, (size_t)length + 1);
    if (text != NULL) {
        va_start(arguments, format);
        vsnprintf(text, (size_t)length + 1, format, arguments);
        va_end(arguments);
    }
    return text;
}
