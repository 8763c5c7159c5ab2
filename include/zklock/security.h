/*
 * zklock: credentials, ACLs, TLS and SASL, for `security` of zkl_client_options. docs/security.md
 * says who can do what to your locks, and what limits it.
 *
 * Copyright 2026 the zklock authors. Licensed under the Apache License 2.0.
 */
#ifndef ZKLOCK_SECURITY_H
#define ZKLOCK_SECURITY_H

#include "zklock/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Longest ACL, in bytes without the NUL. */
#define ZKL_ACL_MAX 1024
/** Most entries of an ACL. */
#define ZKL_ACL_ENTRIES_MAX 16
/** Most credentials of a client. */
#define ZKL_CREDENTIALS_MAX 16
/** Longest scheme of a credential, in bytes without the NUL. */
#define ZKL_SCHEME_MAX 31
/** Longest secret of a credential, and longest password, in bytes. */
#define ZKL_SECRET_MAX 4096

/** A secret that shows the servers who a client is (zkCli's addauth). */
typedef struct zkl_credential {
    size_t struct_size; /* see ZKL_CREDENTIAL_INIT */
    const char *scheme; /* "digest", or another that the servers know, of at most ZKL_SCHEME_MAX
                           bytes. NULL: "digest" */
    const void *secret; /* of the scheme digest: "user:password", without its NUL */
    size_t size;        /* of the secret, in bytes; at most ZKL_SECRET_MAX */
} zkl_credential;

#define ZKL_CREDENTIAL_INIT ZKL_SIZED(zkl_credential)

/**
 * Gives a client its credentials, one after the other, whenever it opens a session: for secrets
 * that change, or that the program does not want to keep. It may block; the session waits for it.
 * It runs on the session's thread; a client with several sessions may call it on several threads at
 * a time. zkl_client_set_credentials may call it twice for each session, from index 0 on: to look
 * at the credentials, and to show them.
 *
 * index       0 at first, then 1 and so on.
 * credential  to be filled in. What it points to must stay as it is until the same thread calls
 *             again, or zkl_client_close returns. A wrong one is treated as if the servers had
 *             refused it.
 *
 * Returns 1, or 0: there are no more.
 */
typedef int zkl_credential_callback(void *arg, size_t index, zkl_credential *credential);

/** An ACL that allows everybody everything. ACLs are in the syntax of ZooKeeper's command line:
 *  entries "scheme:id:permissions" with commas between them. The permissions are letters: c (create
 *  children), d (delete children), r (read), w (write), a (set the ACL). docs/security.md has the
 *  permissions that each feature needs. */
#define ZKL_ACL_OPEN "world:anyone:cdrwa"
/** An ACL for clients that have shown one of the credentials of the node's creator. */
#define ZKL_ACL_AUTHENTICATED "auth::cdrwa"

/** Who a client is, how its nodes are protected, how it connects. */
typedef struct zkl_security {
    size_t struct_size; /* see ZKL_SECURITY_INIT */
    /** Who the client is: shown to the servers when a session is opened, before anything else. The
     *  secrets are copied, and the copies are wiped when the client is closed. (libzookeeper keeps
     *  copies of its own, and sends them at each connection.) They are in no log, record or error
     *  message. If the servers refuse one, the client is at an end: ZKL_AUTH_FAILED. */
    const zkl_credential *credentials;
    /** How many `credentials` there are; at most ZKL_CREDENTIALS_MAX. */
    int32_t credential_count;
    /**
     * 0: the nodes of this client's locks are protected. Each session shows the servers a digest of
     * its own, which nobody else knows, after `credentials`; it alone may set the data and the ACL
     * of these nodes, whatever node_acl allows others. (Everybody keeps the other permissions.) So
     * nobody can ask for such a lock: see `revocable` of zkl_lock_options. The names of protected
     * nodes say that they are; docs/security.md has what follows.
     *
     * Nodes are not protected, and nothing else changes, if the servers refuse the scheme digest
     * (the session opens again without it), or if node_acl or parent_acl here has the scheme auth
     * while the client has identities that zklock does not know: a TLS certificate, a SASL login,
     * or credentials that are no digests in plain ASCII.
     *
     * 1: no such digest is shown, and a change of others' protected nodes is not taken for a
     * release. Use it for servers that hash digests by anything but SHA-1 (digestAlg), for those
     * with skipACL, where nothing is protected, and where somebody may create nodes in a queue who
     * may not delete there: such a client could feign a release.
     */
    int32_t unprotected;
    /** Gives the client its credentials. NULL: it has those of `credentials`. */
    zkl_credential_callback *credential_callback;
    void *credential_arg; /* passed to it */
    /** ACL of the nodes of locks; NULL: ZKL_ACL_OPEN, as Curator's default. Whoever waits must be
     *  able to read the nodes before its own. At most ZKL_ACL_MAX bytes, ZKL_ACL_ENTRIES_MAX
     *  entries. */
    const char *node_acl;
    /** ACL of the nodes of resources, and of those above them, if they are missing and this client
     *  creates them; and of nodes that transactions create. Contenders need the permissions to
     *  create, delete and read there. NULL: ZKL_ACL_OPEN. */
    const char *parent_acl;
    /**
     * TLS. A file in PEM with the authorities (CAs) that the servers' certificates must come from;
     * no others are trusted, those of the system neither. NULL: no TLS. All servers of the host
     * list must be given with their secure port. The other tls_ options mean nothing without it,
     * and are refused.
     *
     * The files are read by zkl_client_open, and again at each connection, so that they can be
     * renewed (by a rename) while the client is open; while one of them is missing or wrong, the
     * client goes on with what it read before. If they are wrong at first:
     * ZKL_INVALID_ARGUMENT, and zkl_error_message names the file. TLS needs a libzookeeper that was
     * built with OpenSSL, which those of Debian are not: ZKL_UNSUPPORTED (docs/security.md says how
     * to get one). Not together with SASL, which libzookeeper has no function for.
     */
    const char *tls_ca_file;
    /** A file in PEM: the certificate of this client, followed by those between it and its
     *  authority. libzookeeper 3.9 requires this file and that of its key, even if the servers ask
     *  for none. */
    const char *tls_certificate_file;
    /** A file in PEM: the private key of that certificate. One that everybody may read is
     *  refused. */
    const char *tls_key_file;
    /** What the key is encrypted with, of at most ZKL_SECRET_MAX bytes. NULL: it is not encrypted.
     *  Copied, and wiped when the client is closed. */
    const char *tls_key_password;
    /** A server's certificate must be for one of these names: host names, and addresses (IPv6 in
     *  brackets), with commas between them. They are looked for in its subjectAltName only. NULL:
     * for one of the hosts of the host list. "*": any certificate of the authorities will do, those
     * of other machines too. */
    const char *tls_server_names;
    /** SASL: the mechanism, for example "DIGEST-MD5" (Cyrus SASL chooses if there are several,
     *  with spaces between them). NULL: no login. The other sasl_ options mean nothing without it,
     *  and are refused. If the servers refuse the login the client is at an end: ZKL_AUTH_FAILED.
     *  It needs a libzookeeper that was built with Cyrus SASL: ZKL_UNSUPPORTED. */
    const char *sasl_mechanism;
    /** The name that the client logs in with. NULL: "". */
    const char *sasl_user;
    /** The password of that name, of at most ZKL_SECRET_MAX bytes. NULL: "", or that of
     *  sasl_password_file. Copied, and wiped when the client is closed. */
    const char *sasl_password;
    /** In place of sasl_password: a file whose first line is the password, read at each login. One
     *  that everybody may read is refused. */
    const char *sasl_password_file;
    /** What the servers call themselves. NULL: "zookeeper". */
    const char *sasl_service;
    /** NULL: "zk-sasl-md5", which ZooKeeper's servers want for DIGEST-MD5. For Kerberos (GSSAPI,
     *  not tested) the host name of the servers. */
    const char *sasl_host;
} zkl_security;

#define ZKL_SECURITY_INIT ZKL_SIZED(zkl_security)

/**
 * Gives an open client other credentials, in place of those that it shows. Its sessions, locks,
 * requests and places in queues stay.
 *
 * credentials  as in zkl_security; they are copied, and the copies of the old ones wiped.
 *              NULL if count is 0. A client with a credential_callback takes none: that is called
 *              again, from index 0 on.
 * count        how many there are, at most ZKL_CREDENTIALS_MAX. 0: the client shows none, or those
 *              of its callback.
 *
 * Returns at once; the change happens in the background. Each session connects again with a new
 * handle of libzookeeper, as after a disconnection (locks are ZKL_SUSPECT meanwhile, and a try may
 * end with ZKL_SERVER_REFUSED). It shows the new credentials only, and has their permissions from
 * then on. It also logs in again with SASL, and reads the files of TLS again. If the servers refuse
 * one, the client is at an end, with all its locks: ZKL_AUTH_FAILED, as in zkl_client_open. To be
 * safe, open another client with them first.
 *
 * A client whose nodes are protected, and whose node_acl or parent_acl has the scheme auth, takes
 * only digests in plain ASCII (see `unprotected` of zkl_security): others are refused. If its
 * credential_callback gives others, the session goes on with those that it shows, and the log
 * reports ZKL_LOG_CREDENTIALS_REFUSED.
 *
 * The nodes of locks keep the ACL that they were made with: the new credentials must have the
 * permissions to delete them (docs/security.md).
 *
 * May be called from any thread, in callbacks too; of two calls the later one counts. Does not
 * block. Returns ZKL_OK, ZKL_INVALID_ARGUMENT, ZKL_NO_MEMORY or ZKL_CLOSED. On any status but
 * ZKL_OK nothing has changed.
 */
ZKL_CHECKED_API int zkl_client_set_credentials(zkl_client *client,
                                               const zkl_credential *credentials, int32_t count);

#ifdef __cplusplus
}
#endif

#endif
