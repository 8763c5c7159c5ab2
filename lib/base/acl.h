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

#include "base/digest.h"
#include "base/text.h"
#include "zklock/zklock.h"

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

/** Writes an entry behind those that are there; none where it has no permissions. `scheme`: ""
 *  where the id has both, with their colon. */
void zkl_acl_add(zkl_text *text, const char *scheme, const char *id, size_t id_length,
                 int permissions);

/** Identities of the scheme digest ("user:hash"), and what is to be done with them. */
typedef struct zkl_acl_identities {
    const char (*shared)[ZKL_DIGEST_ID_SIZE]; /* for which the scheme auth stands */
    size_t shared_count;
    const char *own; /* it alone may write, and set the ACL; NULL: those whom the ACL allows it */
} zkl_acl_identities;

/** Room for what follows: of the entries those of the scheme auth are replaced by the identities,
 *  each of which has the permissions of all of them. */
#define ZKL_ACL_WRITTEN_ENTRIES_MAX (ZKL_ACL_ENTRIES_MAX + ZKL_CREDENTIALS_MAX + 1)
#define ZKL_ACL_WRITTEN_SIZE                                                                       \
    (ZKL_ACL_MAX + (ZKL_CREDENTIALS_MAX + 1) * (ZKL_DIGEST_ID_SIZE + 16) + 32)

/** Writes the ACL for nodes that are to be made by a connection with an own identity, which the
 *  scheme auth would stand for as well. acl: as zkl_acl_validate has found it good; NULL: open to
 *  all. */
void zkl_acl_write(char text[ZKL_ACL_WRITTEN_SIZE], const char *acl,
                   const zkl_acl_identities *identities);

/** NULL does not. */
bool zkl_acl_uses_auth(const char *text);

/** ZKL_OK, or ZKL_INVALID_ARGUMENT with a message in which the text is called `what`. NULL is
 *  fine. */
int zkl_acl_validate(const char *what, const char *text);
