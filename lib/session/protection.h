/*
 * Protected nodes. A session shows the servers an identity of its own, a digest that nobody else
 * knows, after the application's credentials. On its protected nodes that identity alone may set
 * data and ACL; their names say that they are protected (recipe/node_name.h).
 *
 * The scheme auth stands for all identities of a connection, and so for this one too. So while a
 * session has it, auth is replaced by the identities of the application's credentials. Those of
 * schemes other than digest are not known: a client that has such and uses auth has no identity of
 * its own.
 *
 * Embed it, zeroed but for the first fields. Everything here runs with the client's mutex held.
 */
#pragma once

#include "base/acl_text.h"
#include "connection/operations.h"

typedef struct zkl_protection {
    bool wanted;     /* the client asks for it, and no server has refused it */
    bool uses_auth;  /* the ACLs that locks begin with have the scheme auth */
    bool has_others; /* the client has identities beside its credentials: a certificate, a login */
    bool active;     /* this session has its identity */
    /* requests that begin now mark their nodes as protected: their session is expected to have its
     * identity */
    bool marks;
    bool given;       /* the servers have been shown it, and not refused it yet */
    size_t given_as;  /* its index among the credentials; SIZE_MAX: not since they began */
    bool has_unknown; /* credentials of the application whose identities are not known */
    size_t count;     /* of those that are */
    char shared[ZKL_CREDENTIALS_MAX][ZKL_DIGEST_ID_SIZE];
    char secret[ZKL_DIGEST_ID_SIZE]; /* written by the thread that shows it, and by no other */
    char own[ZKL_DIGEST_ID_SIZE];
    char own_acl[ZKL_ACL_WRITTEN_SIZE]; /* of protected nodes for which none is given */
} zkl_protection;

/** Tells whether it is known what identity a credential gives: that of a digest in plain ASCII. */
bool zkl_protection_knows(const zkl_credential *credential);
/** Tells whether the session replaces auth by the identities of the application's credentials: then
 *  it can take none whose identity is not known. */
bool zkl_protection_replaces_auth(const zkl_protection *self);
/** Notes that the application shows a credential, of that index. Those of a connection begin with
 *  0. False: the session cannot take it. */
bool zkl_protection_add_shared(zkl_protection *self, size_t index,
                               const zkl_credential *credential);
/** Makes the session's own credential, when the application has shown `index` of them. The thread
 *  that shows them calls it. False: there is none, or the servers have accepted it. */
bool zkl_protection_next(zkl_protection *self, zkl_operations *operations, size_t index,
                         zkl_credential *credential);
/** Shows the session's own credential no more, as the servers have refused the session, perhaps
 *  because of it. False: it was not given. */
bool zkl_protection_drop(zkl_protection *self);
/** Begins another session, which has another identity, or none. */
void zkl_protection_begin(zkl_protection *self);

/** Overwrites the secret. */
void zkl_protection_wipe(zkl_protection *self);

/** Returns the ACL to be sent for what the operation creates: its own, or a text written into
 *  `room`. All nodes that it creates are protected, or none is. */
const char *zkl_protection_acl(const zkl_protection *self, const zkl_operation *operation,
                               char room[ZKL_ACL_WRITTEN_SIZE]);
