#include "session/access_list.h"

#include <stdio.h>

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
