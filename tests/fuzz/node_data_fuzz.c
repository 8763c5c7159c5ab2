/*
 * The data of others' nodes, which may be anything. The input is the data as it comes. What must
 * hold:
 *
 *     it is a request to give the lock up if it is Curator's word for that, and else never;
 *     the text is what stands before the first NUL, as far as it is looked at;
 *     a field has what follows the first line's "key=", and "" where there is no such line;
 *     no text has what a terminal obeys.
 */
#include "recipe/node_data.h"

#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "support/check.h"

static const char revocation[] = "__REVOKE__";

/* In memory of exactly its size, and without what a terminal obeys. */
static char *copy_shown(const uint8_t *data, size_t size) {
    size = size < ZKL_NODE_DATA_SHOWN_MAX ? size : ZKL_NODE_DATA_SHOWN_MAX;
    char *text = fuzz_text(data, size);
    for (char *c = text; *c != '\0'; c++) {
        if ((*c >= 1 && *c < ' ' && *c != '\n') || *c == 127) {
            *c = '?';
        }
    }
    return text;
}

static void check_field(const char *lines, const char *key, const char *actual) {
    size_t length = strlen(key);
    const char *line = lines;
    while (line != NULL && strncmp(line, key, length) != 0) {
        line = strchr(line, '\n');
        line = line != NULL ? line + 1 : NULL;
    }
    const char *value = line != NULL ? line + length : "";
    size_t expected = strcspn(value, "\n");
    unit_check(strlen(actual) == expected && memcmp(actual, value, expected) == 0, __FILE__,
               __LINE__, "%s is \"%s\", of \"%s\"", key, actual, lines);
}

static void check_text(const char *lines, const char *actual) {
    EXPECT(strlen(actual) == strlen(lines));
    for (size_t i = 0; lines[i] != '\0'; i++) {
        EXPECT(actual[i] == (lines[i] == '\n' ? '?' : lines[i]));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    zkl_node_identity read;
    char *exact = size > 0 ? malloc(size) : NULL; /* a sanitizer sees a step too far */
    if (size > 0 && exact == NULL) {
        abort();
    }
    if (size > 0) {
        memcpy(exact, data, size);
    }
    char *room = malloc(zkl_node_identity_room(size));
    if (room == NULL) {
        abort();
    }
    zkl_node_identity_read(&read, room, exact, size);
    char *lines = copy_shown(data, size);
    EXPECT(read.revoked ==
           (size == strlen(revocation) && memcmp(data, revocation, strlen(revocation)) == 0));
    check_text(lines, read.text);
    check_field(lines, "host=", read.host);
    check_field(lines, "pid=", read.process_id);
    check_field(lines, "label=", read.label);
    check_field(lines, "owner=", read.owner);
    check_field(lines, "note=", read.note);
    check_field(lines, "token=", read.token);
    free(lines);
    free(room);
    free(exact);
    return 0;
}
