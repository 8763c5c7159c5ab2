#include "pool.h"

#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Before each piece: those that were taken follow the first one. */
typedef struct piece {
    alignas(max_align_t) struct piece *next;
} piece;

void *zkl_pool_make(size_t size) {
    piece *first = calloc(1, sizeof(*first) + size);
    return first != NULL ? first + 1 : NULL;
}

void *zkl_pool_take(void *pool, size_t size) {
    piece *first = (piece *)pool - 1;
    piece *taken = zkl_pool_make(size);
    if (taken == NULL) {
        return NULL;
    }
    (taken - 1)->next = first->next;
    first->next = taken - 1;
    return taken;
}

void zkl_pool_free(void *pool) {
    piece *one = pool != NULL ? (piece *)pool - 1 : NULL;
    while (one != NULL) {
        piece *next = one->next;
        free(one);
        one = next;
    }
}

char *zkl_pool_text(void *pool, const char *text) {
    size_t size = strlen(text) + 1;
    char *copy = zkl_pool_take(pool, size);
    return copy != NULL ? memcpy(copy, text, size) : NULL;
}

char *zkl_pool_path(void *pool, const char *parent, const char *name) {
    size_t size = parent != NULL ? strlen(parent) + strlen(name) + 2 : 0;
    char *path = parent != NULL ? zkl_pool_take(pool, size) : NULL;
    if (path != NULL) {
        snprintf(path, size, "%s/%s", parent, name);
    }
    return path;
}
