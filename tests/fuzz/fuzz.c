#include "fuzz.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"

void unit_check(bool good, const char *file, int line, const char *format, ...) {
    if (good) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s:%d: wrong: ", file, line);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    abort();
}

uint8_t fuzz_take(fuzz_bytes *bytes, uint8_t otherwise) {
    if (bytes->size == 0) {
        return otherwise;
    }
    bytes->size--;
    return *bytes->data++;
}

char *fuzz_text(const uint8_t *data, size_t size) {
    size_t length = size > 0 ? strnlen((const char *)data, size) : 0;
    char *text = malloc(length + 1);
    if (text == NULL) {
        abort();
    }
    if (length > 0) {
        memcpy(text, data, length);
    }
    text[length] = '\0';
    return text;
}

char *fuzz_copy(const char *text) {
    return fuzz_text((const uint8_t *)text, strlen(text));
}
