#include "base/error_message.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char message[ZKL_MESSAGE_SIZE];

const char *zkl_error_message(void) {
    return message;
}

void zkl_error_clear(void) {
    message[0] = '\0';
}

void zkl_error_set(const char *text) {
    snprintf(message, sizeof(message), "%s", text != NULL ? text : "");
}

/* Begins the message with the input, cut, and without what a terminal would obey. */
static size_t show(const char *what, const char *input) {
    bool is_cut = strnlen(input, ZKL_SHOWN_MAX + 1) > ZKL_SHOWN_MAX;
    int length = snprintf(message, sizeof(message), "%s \"%.*s%s\": ", what, ZKL_SHOWN_MAX, input,
                          is_cut ? "..." : "");
    for (char *at = message; *at != '\0'; at++) {
        bool is_printable = *at >= 0x20 && *at < 0x7f;
        *at = (char)(is_printable ? *at : '?');
    }
    return (size_t)length;
}

void zkl_error_note(const char *what, const char *input, const char *format, ...) {
    size_t length = input != NULL ? show(what, input)
                                  : (size_t)snprintf(message, sizeof(message), "%s: ", what);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message + length, sizeof(message) - length, format, arguments);
    va_end(arguments);
}
