#include "connection/access_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct ACL_vector *zkl_access_list_read(const char *text, zkl_access_list *list) {
    if (text == NULL) {
        return &ZOO_OPEN_ACL_UNSAFE;
    }
    snprintf(list->text, sizeof(list->text), "%s", text);
    list->all = (struct ACL_vector){ .count = 0, .data = list->entries };
    zkl_acl_entry entry;
    for (const char *next = list->text; zkl_acl_next(&next, &entry);) {
        char *scheme = list->text + (entry.scheme - list->text);
        char *id = list->text + (entry.id - list->text);
        scheme[entry.scheme_length] = '\0';
        id[entry.id_length] = '\0';
        list->entries[list->all.count++] =
            (struct ACL){ .perms = entry.permissions, .id = { .scheme = scheme, .id = id } };
    }
    return &list->all;
}

enum { ENTRY_MARKS = 16 }; /* more than colons, comma and letters of an entry */

char *zkl_access_list_write(const struct ACL_vector *list) {
    size_t size = 1;
    for (int32_t i = 0; i < list->count; i++) {
        const struct Id *id = &list->data[i].id;
        size += strlen(id->scheme) + strlen(id->id) + ENTRY_MARKS;
    }
    zkl_text text = { .bytes = calloc(1, size), .size = size - 1 };
    for (int32_t i = 0; text.bytes != NULL && i < list->count; i++) {
        const struct Id *id = &list->data[i].id;
        zkl_acl_add(&text, id->scheme, id->id, strlen(id->id), list->data[i].perms);
    }
    return text.bytes;
}
