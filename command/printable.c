#include "printable.h"

#include <stdbool.h>
#include <string.h>

enum { ARGUMENTS_MAX = 4, TEXT_SIZE = 2048 };

static bool continues(const char *at, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (((unsigned char)at[i] & 0xc0U) != 0x80) {
            return false;
        }
    }
    return true;
}

/* Tells whether a character breaks a line (U+2028 and 2029), or changes the direction of what
 * follows (U+061C, 200E, 200F, 202A to 202E, 2066 to 2069). */
static bool moves_text(const char *at) {
    const unsigned char *byte = (const unsigned char *)at;
    if (byte[0] == 0xd8U) {
        return byte[1] == 0x9cU;
    }
    if (byte[0] != 0xe2U) {
        return false;
    }
    if (byte[1] == 0x80U) {
        return byte[2] == 0x8eU || byte[2] == 0x8fU || (byte[2] >= 0xa8U && byte[2] <= 0xaeU);
    }
    return byte[1] == 0x81U && byte[2] >= 0xa6U && byte[2] <= 0xa9U;
}

/* Returns how many bytes the character has that begins here; 0: none begins here in UTF-8, or it is
 * a control character. */
static size_t length_of_character(const char *at) {
    unsigned char first = (unsigned char)at[0];
    unsigned char second = first != '\0' ? (unsigned char)at[1] : 0;
    if (first < 0x80) {
        return first >= ' ' && first != 0x7f ? 1 : 0;
    }
    if (first >= 0xc2 && first < 0xe0 && continues(at + 1, 1)) {
        return first == 0xc2 && second < 0xa0 ? 0 : 2; /* the control characters of ISO 8859 */
    }
    if (first >= 0xe0 && first < 0xf0 && continues(at + 1, 2)) {
        bool is_other = (first == 0xe0 && second < 0xa0) || (first == 0xed && second >= 0xa0);
        return is_other ? 0 : 3; /* longer than it need be; half of a pair of UTF-16 */
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
        bool is_shown = length > 0 && !moves_text(text);
        size_t needed = is_shown ? length : 1;
        if (used + needed >= size) {
            break;
        }
        memcpy(to + used, is_shown ? text : "?", needed);
        used += needed;
        text += length > 0 ? length : 1;
    }
    to[used] = '\0';
}

const char *printable(const char *text) {
    static char shown[ARGUMENTS_MAX][TEXT_SIZE];
    static size_t next;
    char *to = shown[next++ % ARGUMENTS_MAX];
    printable_copy(to, TEXT_SIZE, text);
    return to;
}
