/* Text that is being written, into the caller's memory. Nothing here allocates or locks anything,
 * so that a program that is about to abort can call it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/** The caller fills the first two fields. */
typedef struct zkl_text {
    char *bytes;
    size_t size;
    size_t length;
    bool too_long; /* something had no room, and is missing */
} zkl_text;

void zkl_text_add_bytes(zkl_text *text, const char *bytes, size_t length);
void zkl_text_add_number(zkl_text *text, int64_t number);
/** As 0x... */
void zkl_text_add_bits(zkl_text *text, uint64_t bits);

/* Here, so that the lengths of constants are known. */
static inline void zkl_text_add(zkl_text *text, const char *string) {
    zkl_text_add_bytes(text, string, strlen(string));
}

/** Text, and a number behind it. */
static inline void zkl_text_add_numbered(zkl_text *text, const char *string, int64_t number) {
    zkl_text_add(text, string);
    zkl_text_add_number(text, number);
}
