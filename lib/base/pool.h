/* Memory that is freed all at once. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/** Embed it. A zeroed pool is empty. */
typedef struct zkl_pool {
    struct zkl_pool_piece *pieces;
    bool ran_out;
} zkl_pool;

/** Allocates a piece of memory, zeroed. NULL: out of memory. */
void *zkl_pool_take(zkl_pool *pool, size_t size);
/** Returns ZKL_OK, or ZKL_NO_MEMORY if any piece so far could not be allocated. */
int zkl_pool_status(const zkl_pool *pool);
/** Frees all pieces. */
void zkl_pool_free(zkl_pool *pool);

/** Copies that memory. NULL: out of memory. */
void *zkl_pool_copy(zkl_pool *pool, const void *bytes, size_t size);
/** Copies that text; NULL stays NULL. NULL: out of memory. */
char *zkl_pool_copy_text(zkl_pool *pool, const char *text);

/** Prints a text as printf does. NULL: out of memory. */
__attribute__((format(printf, 2, 3))) char *zkl_pool_print(zkl_pool *pool, const char *format, ...);
