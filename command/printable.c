#include "printable.h"

#include <stdbool.h>
#include <string.h>

static bool continues(const char *at, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (((unsigned char)at[i] & 0xc0U) != 0x80) {
            return false;
        }
    }
    return true;
}

/* How many bytes of a character in UTF-8 begin here; 0: none does, or a control character. */
static size_t length_of_character(const char *at) {
    unsigned char first = (unsigned char)at[0];
    unsigned char second = first != '\0' ? (unsigned char)at[1] : 0;
    if (first < 0x80) {
        return first >= ' ' && first != 0x7f ? 1 : 0;
    }
    if (first >= 0xc2 && first < 0xe0 && continues(at + 1, 1)) {
        return first == 0xc2 && second < 0xa0 ? 0 : 2; /* the controls of ISO 8859 */
    }
    if (first >= 0xe0 && first < 0xf0 && continues(at + 1, 2)) {
        bool is_other = (first == 0xe0 && second < 0xa0) || (first == 0xed && second >= 0xa0);
        return is_other ? 0 : 3; /* too long a form; half of a pair of UTF-16 */
    }
    if (first >= 0xf0 && first < 0xf5 && continues(at + 1, 3)) {
        bool is_other = (first == 0xf0 && second < 0x90) || (first == 0xf4 && second >= 0x90);
        return is_other ? 0 : 4;
    }
    return 0;
}

void printable_copy(char *to, size_t size, const char *text) {
    size_t used = 0;
    while (*text != '\0') {
        size_t length = length_of_character(text);
        const char *from = length > 0 ? text : "?";
        size_t needed = length > 0 ? length : 1;
        if (used + needed >= size) {
            break;
        }
        memcpy(to + used, from, needed);
        used += needed;
        text += needed;
    }
    to[used] = '\0';
}
