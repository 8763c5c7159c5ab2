#include "recipe/node_data.h"

#include <string.h>

bool zkl_node_data_is_revocation(const char *data, size_t length) {
    return length == sizeof(ZKL_NODE_DATA_REVOCATION) - 1 &&
           memcmp(data, ZKL_NODE_DATA_REVOCATION, length) == 0;
}

/* ---- Who made it -------------------------------------------------------------------------- */

/* Copies a text, with a question mark for each byte that a terminal would obey. Returns where the
 * next text goes. */
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

/* Copies the value of a key. Of two lines with the same key the first counts: so a newline in a
 * value cannot replace what comes before it. */
static char *put_value(char *room, const char *key, const char *data, size_t length) {
    size_t skipped = strlen(key);
    for (size_t at = 0; at < length;) {
        size_t line = length_before('\n', data + at, length - at);
        if (line >= skipped && memcmp(data + at, key, skipped) == 0) {
            return put(room, data + at + skipped, line - skipped);
        }
        at += line + 1;
    }
    return put(room, NULL, 0);
}

/* Adds up the whole text, and the values: each is shorter than its line, or empty. */
size_t zkl_node_identity_room(size_t length) {
    return 2 * length_looked_at(length) + ZKL_NODE_DATA_ENDS;
}

void zkl_node_identity_read(zkl_node_identity *read, char *room, const char *data, size_t length) {
    const struct {
        const char *key;
        const char **value;
    } fields[] = { { "host=", &read->host },   { "pid=", &read->process_id },
                   { "label=", &read->label }, { "owner=", &read->owner },
                   { "note=", &read->note },   { "token=", &read->token } };
    read->text = room;
    read->revoked = zkl_node_data_is_revocation(data, length);
    length = length_before('\0', data, length_looked_at(length));
    room = put(room, data, length);
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        *fields[i].value = room;
        room = put_value(room, fields[i].key, data, length);
    }
}
