/* An ACL as libzookeeper takes it. */
#pragma once

#include <zookeeper/zookeeper.h>

#include "base/acl_text.h"

typedef struct zkl_access_list {
    struct ACL_vector all;
    struct ACL entries[ZKL_ACL_WRITTEN_ENTRIES_MAX];
    char text[ZKL_ACL_WRITTEN_SIZE]; /* in which schemes and ids end in NUL */
} zkl_access_list;

/** From a text that was checked when the application gave it; NULL: open to all. Lives as long as
 *  the list. */
const struct ACL_vector *zkl_access_list_read(const char *text, zkl_access_list *list);

/** The text of one. Free it with free(). NULL: out of memory. */
char *zkl_access_list_write(const struct ACL_vector *list);
