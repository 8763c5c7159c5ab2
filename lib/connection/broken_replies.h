/*
 * What no server says that follows the protocol. libzookeeper does not look whether it could read a
 * reply (lz-unread-reply): what it could not is NULL, or has a wrong length. Such a reply counts as
 * lost: it proves nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <zookeeper/zookeeper.h>

/** The path of a node that was made: with a name at its end. */
bool zkl_path_is_whole(const char *path);
bool zkl_names_are_whole(const struct String_vector *names);
bool zkl_acl_is_whole(const struct ACL_vector *acl);
