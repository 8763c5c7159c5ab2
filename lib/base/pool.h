/* Memory that is given back all at once. */
#pragma once

#include <stddef.h>

/** The first piece of a new pool, which stands for the pool. All pieces are zeroed. NULL: out of
 *  memory. */
void *zkl_pool_make(size_t size);
/** Another piece of it. */
void *zkl_pool_take(void *pool, size_t size);
/** ZKL_NO_MEMORY: a piece of it was wanted and could not be had, now or earlier. */
int zkl_pool_status(const void *pool);
/** Frees the first piece, and all that was taken. NULL does nothing. */
void zkl_pool_free(void *pool);

/** A copy of a text. NULL: out of memory. */
char *zkl_pool_text(void *pool, const char *text);
/** A text, as printf makes it. NULL: out of memory. */
__attribute__((format(printf, 2, 3))) char *zkl_pool_print(void *pool, const char *format, ...);
/** "<parent>/<name>", taken from the pool. NULL: out of memory, or `parent` is NULL. */
char *zkl_pool_path(void *pool, const char *parent, const char *name);
