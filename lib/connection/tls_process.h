/*
 * What TLS needs of the whole process: to be told by OpenSSL of the contexts (SSL_CTX) of our own
 * connections, and to keep threads of ours out of OpenSSL when exit() ends that.
 * A picture: docs/internals/tls.md. Only where libzookeeper has TLS.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <openssl/ssl.h>

enum { ZKL_TLS_MARK_SIZE = 32 };

typedef struct zkl_tls_member zkl_tls_member;

/** What a connection is called for, without a lock. None is NULL. */
typedef struct zkl_tls_callbacks {
    /** libzookeeper has made a context for it, and a handshake is about to begin. On its I/O
     *  thread. */
    void (*begins)(zkl_tls_member *self, SSL_CTX *context);
    /** That context is freed: the SSL is gone already, the socket is about to be closed. On the
     *  I/O thread, or on the thread that closes the handle. */
    void (*ended)(zkl_tls_member *self);
    /** exit() was called. Returns when its I/O thread will not use OpenSSL again, or at the
     *  deadline. */
    void (*stop)(zkl_tls_member *self, int64_t deadline_ms);
} zkl_tls_callbacks;

/** The first field of a connection. */
struct zkl_tls_member {
    const zkl_tls_callbacks *callbacks;
    char mark[ZKL_TLS_MARK_SIZE]; /* no other connection of the process has the same */
    atomic_bool awaits_context;   /* libzookeeper may be making one for it */
    atomic_bool is_checked;       /* the certificate of the server that it is connected to */
    pid_t process;                /* that has made it */
    zkl_tls_member *prev, *next;
};

/** Runs `errand` on a thread of its own, and waits for that: OpenSSL keeps something for each
 * thread that uses it, and an application's thread may end, and have it freed, while exit() ends
 * OpenSSL. Returns the status of the errand, and sets its message on the calling thread. ZKL_SYSTEM
 * without a message: exit() was called, and the errand was not run. */
int zkl_tls_run_errand(int (*errand)(void *arg), void *arg);

/** Takes the connection up, and gives it its mark. On an errand. False: exit() was called, or
 * OpenSSL has no memory. */
bool zkl_tls_enlist(zkl_tls_member *self);
/** Undoes zkl_tls_enlist, if that has succeeded. On an errand. */
void zkl_tls_delist(zkl_tls_member *self);

/** Returns whose connection an SSL is. `begins` was called for its context. */
zkl_tls_member *zkl_tls_member_of(const SSL *ssl);

/** Says whether libzookeeper may be making a context for it from now on: if not for any connection,
 *  no context of the process is looked at. */
void zkl_tls_await_context(zkl_tls_member *self, bool awaits);

/** Tells whether somebody has just made a context of which it is not known yet whose it is. */
bool zkl_tls_context_is_being_made(void);

/** Tells whether exit() was called: OpenSSL must not be used from now on. */
bool zkl_tls_process_is_over(void);
