/*
 * ACLs as text, in the syntax of ZooKeeper's command line (its AclParser): entries
 * "scheme:id:permissions" with commas between them, for example
 *
 *     world:anyone:r,digest:stock:hI/+/fd...=:cdrwa
 *
 * The permissions are letters: create (a child), delete (a child), read, write, admin (set the
 * ACL). An id may have colons and commas: an entry ends at the first comma behind a colon and
 * letters of permissions.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/** Its texts are parts of the ACL's. */
typedef struct zkl_acl_entry {
    const char *scheme;
    size_t scheme_length;
    const char *id;
    size_t id_length;
    int permissions; /* the bits of ZooKeeper (ZooDefs.Perms) */
} zkl_acl_entry;

/** Reads the entry at the beginning of `text`, and moves that behind it. False: there is none. */
bool zkl_acl_next(const char **text, zkl_acl_entry *entry);

/** ZKL_OK, or ZKL_INVALID_ARGUMENT with a message in which the text is called `what`. NULL is
 *  fine. */
int zkl_acl_validate(const char *what, const char *text);
