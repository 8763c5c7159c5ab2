#include "recipe/node_data.h"

#include <string.h>

/* org.apache.curator.framework.recipes.locks.LockInternals.REVOKE_MESSAGE */
static const char revocation[] = "__REVOKE__";

const char *zkl_node_data_revocation(void) {
    return revocation;
}

bool zkl_node_data_is_revocation(const char *data, size_t length) {
    return length == sizeof(revocation) - 1 && memcmp(data, revocation, length) == 0;
}

/* ---- Who made it -------------------------------------------------------------------------- */

/* Without what a terminal obeys. */
static char *put(char *room, const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        unsigned char code = (unsigned char)text[i];
        room[i] = text[i];
        if (code < 0x20 || code == 0x7f) {
            room[i] = '?';
        }
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

static size_t length_before(char byte, const char *data, size_t length) {
    size_t before = 0;
    while (before < length && data[before] != byte) {
        before++;
    }
    return before;
}

static size_t length_looked_at(size_t length) {
    return length < ZKL_NODE_DATA_SHOWN_MAX ? length : ZKL_NODE_DATA_SHOWN_MAX;
}

/* All of it, and values, which are shorter than it. */
size_t zkl_node_identity_room(size_t length) {
    return 2 * length_looked_at(length) + 2;
}

void zkl_node_identity_read(zkl_node_identity *read, char *room, const char *data, size_t length) {
    *read =
        (zkl_node_identity){ .text = room, .revoked = zkl_node_data_is_revocation(data, length) };
    length = length_before('\0', data, length_looked_at(length));
    const field fields[] = { { "host=", &read->host },   { "pid=", &read->process_id },
                             { "label=", &read->label }, { "owner=", &read->owner },
                             { "note=", &read->note },   { "token=", &read->token } };
    const size_t count = sizeof(fields) / sizeof(fields[0]);
    room = put(room, data, length);
    for (size_t at = 0; at < length;) {
        size_t line = length_before('\n', data + at, length - at);
        room = read_line(room, data + at, line, fields, count);
        at += line + 1;
    }
    for (size_t i = 0; i < count; i++) {
        if (*fields[i].value == NULL) {
            *fields[i].value = "";
        }
    }
}
