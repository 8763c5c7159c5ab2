#include "base/text.h"

enum { DIGITS_MAX = 24 };

void zkl_text_add_without_room(zkl_text *text, const char *bytes, size_t length) {
    if (text->full == NULL) {
        text->too_long = true;
        return;
    }
    while (length > 0) {
        size_t room = text->size - text->length;
        size_t part = length < room ? length : room;
        memcpy(text->bytes + text->length, bytes, part);
        text->length += part;
        bytes += part;
        length -= part;
        if (length > 0) {
            text->full(text);
        }
    }
}

void zkl_text_add_number(zkl_text *text, int64_t number) {
    char digits[DIGITS_MAX];
    size_t at = DIGITS_MAX;
    uint64_t left = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    do {
        digits[--at] = (char)('0' + left % 10);
        left /= 10;
    } while (left > 0);
    if (number < 0) {
        digits[--at] = '-';
    }
    zkl_text_add_bytes(text, digits + at, DIGITS_MAX - at);
}

void zkl_text_add_bits(zkl_text *text, uint64_t bits) {
    char digits[DIGITS_MAX];
    size_t at = DIGITS_MAX;
    do {
        digits[--at] = "0123456789abcdef"[bits % 16];
        bits /= 16;
    } while (bits > 0);
    zkl_text_add(text, "0x");
    zkl_text_add_bytes(text, digits + at, DIGITS_MAX - at);
}
