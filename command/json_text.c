#include "json_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zklock/zklock.h>

json_t *json_of_text(const char *text) {
    json_t *value = json_string(text);
    if (value != NULL) {
        return value;
    }
    size_t used = 0;
    char *converted = calloc(2, strlen(text) + 1);
    for (const char *at = text; converted != NULL && *at != '\0'; at++) {
        unsigned char byte = (unsigned char)*at;
        if (byte >= 0x80) {
            converted[used++] = (char)(0xc0U | byte >> 6U);
            byte = 0x80U | (byte & 0x3fU);
        }
        converted[used++] = (char)byte;
    }
    value = json_string(converted != NULL ? converted : "");
    free(converted);
    return value;
}

json_t *json_of_session(int64_t session_id) {
    char text[24];
    if (session_id == 0) {
        return json_null();
    }
    snprintf(text, sizeof(text), "0x%" PRIx64, (uint64_t)session_id);
    return json_string(text);
}

static int print_with(json_t *value, size_t flags) {
    size_t for_people = isatty(STDOUT_FILENO) != 0 ? JSON_ENSURE_ASCII : 0; /* printable.h */
    int failed = json_dumpf(value, stdout, flags | for_people);
    json_decref(value);
    putchar('\n');
    return failed == 0 ? ZKL_OK : ZKL_NO_MEMORY;
}

int json_print(json_t *value) {
    return print_with(value, JSON_INDENT(2));
}

int json_print_line(json_t *value) {
    return print_with(value, JSON_COMPACT);
}
