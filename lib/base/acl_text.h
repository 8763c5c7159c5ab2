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

#include "base/digest_id.h"
#include "base/text.h"
#include "zklock/zklock.h"

/** One entry. Its texts point into the ACL's, and have no NUL. */
typedef struct zkl_acl_entry {
    const char *scheme;
    size_t scheme_length;
    const char *id;
    size_t id_length;
    int permissions; /* the bits of ZooKeeper (ZooDefs.Perms) */
} zkl_acl_entry;

/** Reads the entry at the beginning of `text`, and moves `text` behind it. False: no entry begins
 *  there. */
bool zkl_acl_next(const char **text, zkl_acl_entry *entry);

/** Writes an entry behind those that are there, unless it has no permissions. `scheme`: "" if `id`
 *  has the scheme in it, as "scheme:id". */
void zkl_acl_add(zkl_text *text, const char *scheme, const char *id, size_t id_length,
                 int permissions);

/** The identities of a connection, of the scheme digest ("user:hash"). */
typedef struct zkl_acl_identities {
    const char (*shared)[ZKL_DIGEST_ID_SIZE]; /* the scheme auth stands for these */
    size_t shared_count;
    const char *own; /* only it may write, and set the ACL; NULL: whoever the ACL allows */
} zkl_acl_identities;

/** Room for what zkl_acl_write writes: it replaces all entries of the scheme auth by one for each
 *  identity, with the permissions of all of them. */
#define ZKL_ACL_WRITTEN_ENTRIES_MAX (ZKL_ACL_ENTRIES_MAX + ZKL_CREDENTIALS_MAX + 1)
#define ZKL_ACL_WRITTEN_SIZE                                                                       \
    (ZKL_ACL_MAX + (ZKL_CREDENTIALS_MAX + 1) * (ZKL_DIGEST_ID_SIZE + 16) + 32)

/** Writes the ACL for nodes that a connection creates. It names the shared identities, because the
 *  servers would take the scheme auth for the connection's own identity too. acl: as
 *  zkl_acl_validate accepts it; NULL: open to all. */
void zkl_acl_write(char text[ZKL_ACL_WRITTEN_SIZE], const char *acl,
                   const zkl_acl_identities *identities);

/** Tells whether an entry is of the scheme auth. NULL: none is. */
bool zkl_acl_uses_auth(const char *text);

/** Returns ZKL_OK, or ZKL_INVALID_ARGUMENT with a message that calls the text `what`. NULL is
 *  accepted. */
int zkl_acl_validate(const char *what, const char *text);
