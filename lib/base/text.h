/* Text that is being written, into the caller's memory. Nothing here allocates or locks anything,
 * so that it can be used while a program aborts. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/** The caller sets the first two fields, and the last one if it wants; the others begin with 0. No
 *  NUL is added. */
typedef struct zkl_text zkl_text;
struct zkl_text {
    char *bytes;
    size_t size;
    size_t length;
    bool too_long; /* something did not fit, and is missing, like all that came after it */
    void (*full)(zkl_text *text); /* called when there is no room left: takes the bytes away, and
                                     sets the length to 0. Those that are left at the end are the
                                     caller's. NULL: what does not fit is too long */
};

/** Adds bytes for which there is no room left, or that come after such. */
void zkl_text_add_without_room(zkl_text *text, const char *bytes, size_t length);

/* Adds bytes. It is inline so that the compiler knows the lengths of constants. */
static inline void zkl_text_add_bytes(zkl_text *text, const char *bytes, size_t length) {
    if (text->too_long || length > text->size - text->length) {
        zkl_text_add_without_room(text, bytes, length);
        return;
    }
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
}

void zkl_text_add_number(zkl_text *text, int64_t number);
/** Adds a number in hexadecimal, as 0x... */
void zkl_text_add_bits(zkl_text *text, uint64_t bits);

/** Adds a text. */
static inline void zkl_text_add(zkl_text *text, const char *string) {
    zkl_text_add_bytes(text, string, strlen(string));
}

/** Adds a text, and a number behind it. */
static inline void zkl_text_add_numbered(zkl_text *text, const char *string, int64_t number) {
    zkl_text_add(text, string);
    zkl_text_add_number(text, number);
}
