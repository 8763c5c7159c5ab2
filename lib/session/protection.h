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
 * Embed it, zeroed but for the first fields. All of it runs with the client's mutex held.
 */
#pragma once

#include "base/acl_text.h"
#include "connection/operations.h"

typedef struct zkl_protection {
    bool wanted;      /* and not refused by the servers */
    bool uses_auth;   /* in the ACLs that its locks begin with */
    bool has_others;  /* identities beside its credentials: a certificate, a login */
    bool active;      /* this session has its identity */
    bool marks;       /* so will the session on which requests begin now, as far as is known */
    bool given;       /* the servers have been shown it, and not refused it yet */
    size_t given_as;  /* its index among the credentials; SIZE_MAX: not since they began */
    bool has_unknown; /* credentials of the application whose identities are not known */
    size_t count;     /* of those that are */
    char shared[ZKL_CREDENTIALS_MAX][ZKL_DIGEST_ID_SIZE];
    char secret[ZKL_DIGEST_ID_SIZE]; /* written by the thread that shows it, and by no other */
    char own[ZKL_DIGEST_ID_SIZE];
    char own_acl[ZKL_ACL_WRITTEN_SIZE]; /* of protected nodes for which none is given */
} zkl_protection;

/** Whether it is known what identity a credential gives: that of a digest in plain ASCII. */
bool zkl_protection_knows(const zkl_credential *credential);
/** Whether the session replaces auth by the identities of the application's credentials: then it
 *  can take none whose identity is not known. */
bool zkl_protection_replaces_auth(const zkl_protection *self);
/** The application shows a credential of that index. Those of a connection begin with 0. False: the
 *  session cannot take it. */
bool zkl_protection_add_shared(zkl_protection *self, size_t index,
                               const zkl_credential *credential);
/** The session's own credential, when the application has shown `index` of them, which it is shown
 *  by the same thread. False: there is none, or the servers have accepted it. */
bool zkl_protection_next(zkl_protection *self, zkl_operations *operations, size_t index,
                         zkl_credential *credential);
/** The servers have refused the session, and may have refused that credential: then it is not shown
 *  again. False: it was not given. */
bool zkl_protection_drop(zkl_protection *self);
/** Another session is being opened: it has another identity, or none. */
void zkl_protection_begin(zkl_protection *self);

void zkl_protection_wipe(zkl_protection *self);

/** The ACL to be sent for what the operation creates: its own, or a text written into `room`. All
 *  nodes that it creates are protected, or none is. */
const char *zkl_protection_acl(const zkl_protection *self, const zkl_operation *operation,
                               char room[ZKL_ACL_WRITTEN_SIZE]);
