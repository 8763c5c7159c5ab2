/* Memory that is freed all at once. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/** Embed it, zeroed: a pool that is empty. */
typedef struct zkl_pool {
    struct zkl_pool_piece *pieces;
    bool ran_out;
} zkl_pool;

/** A new piece of memory, zeroed. NULL: out of memory. */
void *zkl_pool_take(zkl_pool *pool, size_t size);
/** ZKL_NO_MEMORY: a piece was wanted and could not be had, now or earlier. */
int zkl_pool_status(const zkl_pool *pool);
/** Frees all that was taken. */
void zkl_pool_free(zkl_pool *pool);

/** A copy of that memory. NULL: out of memory. */
void *zkl_pool_copy(zkl_pool *pool, const void *bytes, size_t size);
/** A copy of that text; NULL stays NULL. */
char *zkl_pool_copy_text(zkl_pool *pool, const char *text);

/** A text, as printf makes it. NULL: out of memory. */
__attribute__((format(printf, 2, 3))) char *zkl_pool_print(zkl_pool *pool, const char *format, ...);
