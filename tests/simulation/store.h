/* A store for each resource that is fenced by tokens, as docs/guarantees.md says. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

void store_begin(void);
/** Claims it with a token and reads it. False: a greater token has claimed it. */
bool store_claim(unsigned resource, int64_t token, int64_t *value);
/** Writes what was made of what was read; the store refuses it if another token
 *  has claimed it meanwhile. What is wrong with a write that it took, or NULL. */
const char *store_write(unsigned resource, int64_t token, int64_t value);
/** What is wrong with the sum of all writes, or NULL. */
const char *store_judge(unsigned resource);
