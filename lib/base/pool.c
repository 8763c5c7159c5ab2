#include "base/pool.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "zklock/zklock.h"

/* Those that were taken follow the first one. */
typedef struct piece {
    struct piece *next;
    bool ran_out; /* of the first: one that was wanted is not there */
    max_align_t content[];
} piece;

static piece *make(size_t size) {
    return calloc(1, sizeof(piece) + size);
}

static piece *piece_of(void *content) {
    return (piece *)(void *)((char *)content - offsetof(piece, content));
}

void *zkl_pool_make(size_t size) {
    piece *first = make(size);
    return first != NULL ? first->content : NULL;
}

void *zkl_pool_take(void *pool, size_t size) {
    piece *first = piece_of(pool);
    piece *taken = make(size);
    if (taken == NULL) {
        first->ran_out = true;
        return NULL;
    }
    taken->next = first->next;
    first->next = taken;
    return taken->content;
}

int zkl_pool_status(const void *pool) {
    const piece *first = (const void *)((const char *)pool - offsetof(piece, content));
    return first->ran_out ? ZKL_NO_MEMORY : ZKL_OK;
}

void zkl_pool_free(void *pool) {
    piece *one = pool != NULL ? piece_of(pool) : NULL;
    while (one != NULL) {
        piece *next = one->next;
        free(one);
        one = next;
    }
}

char *zkl_pool_text(void *pool, const char *text) {
    return zkl_pool_print(pool, "%s", text);
}

char *zkl_pool_print(void *pool, const char *format, ...) {
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

char *zkl_pool_path(void *pool, const char *parent, const char *name) {
    return parent != NULL ? zkl_pool_print(pool, "%s/%s", parent, name) : NULL;
}
