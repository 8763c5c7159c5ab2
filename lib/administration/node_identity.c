#include "administration/node_identity.h"

#include <stdlib.h>
#include <string.h>

#include "recipe/node_data.h"

/* Without what a terminal obeys. */
static char shown(char byte) {
    unsigned char code = (unsigned char)byte;
    if (code < 0x20 || code == 0x7f) {
        return '?';
    }
    return byte;
}

static char *put(char *room, const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        room[i] = shown(text[i]);
    }
    room[length] = '\0';
    return room + length + 1;
}

typedef struct field {
    const char *key;
    const char **value;
} field;

/* Of two lines with one key the first counts: who writes a newline into a value cannot
 * take the place of what comes before it. */
static char *read_line(char *room, const char *line, size_t length, const field *fields,
                       size_t count) {
    for (size_t i = 0; i < count; i++) {
        size_t key = strlen(fields[i].key);
        bool is_it = length >= key && memcmp(line, fields[i].key, key) == 0;
        if (is_it && *fields[i].value == NULL) {
            *fields[i].value = room;
            return put(room, line + key, length - key);
        }
    }
    return room;
}

static size_t line_length(const char *line, size_t left) {
    const char *end = memchr(line, '\n', left);
    return end != NULL ? (size_t)(end - line) : left;
}

bool zkl_node_identity_read(zkl_node_identity *read, const char *data, size_t length) {
    *read = (zkl_node_identity){ .revoked = zkl_node_data_is_revocation(data, length) };
    length = length < ZKL_NODE_DATA_SHOWN_MAX ? length : ZKL_NODE_DATA_SHOWN_MAX;
    const char *end = length > 0 ? memchr(data, '\0', length) : NULL;
    length = end != NULL ? (size_t)(end - data) : length;
    const field fields[] = { { "host=", &read->host },   { "pid=", &read->process_id },
                             { "label=", &read->label }, { "owner=", &read->owner },
                             { "note=", &read->note },   { "token=", &read->token } };
    const size_t count = sizeof(fields) / sizeof(fields[0]);
    read->memory = malloc(2 * length + 2); /* all of it, and values, which are shorter than it */
    if (read->memory == NULL) {
        return false;
    }
    read->text = read->memory;
    char *room = put(read->memory, length > 0 ? data : "", length);
    for (size_t at = 0; at < length;) {
        size_t line = line_length(data + at, length - at);
        room = read_line(room, data + at, line, fields, count);
        at += line + 1;
    }
    for (size_t i = 0; i < count; i++) {
        if (*fields[i].value == NULL) {
            *fields[i].value = "";
        }
    }
    return true;
}
