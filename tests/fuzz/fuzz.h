/* What the fuzz targets share: the function that libFuzzer calls, and a way to
 * use up its bytes. An assertion (support/check.h) that fails ends the program. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/** One input. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** The bytes of an input that are still to be used. */
typedef struct fuzz_bytes {
    const uint8_t *data;
    size_t size;
} fuzz_bytes;

/** The next byte; behind the end, `otherwise`. */
uint8_t fuzz_take(fuzz_bytes *bytes, uint8_t otherwise);

/** A string of the bytes up to the first NUL, in memory of exactly its size, where a sanitizer
 *  sees a step too far. To be freed. */
char *fuzz_text(const uint8_t *data, size_t size);

/** The same of a string. */
char *fuzz_copy(const char *text);
