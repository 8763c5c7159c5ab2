/* The files of TLS: the authorities, the client's certificate and its key. Only where libzookeeper
 * has TLS. */
#pragma once

#include <stdbool.h>

#include <openssl/ssl.h>

#include "zklock/zklock.h"

typedef struct zkl_tls_files {
    const zkl_security *options; /* which name them */
    STACK_OF(X509) * authorities;
    STACK_OF(X509) * chain; /* the client's certificate first */
    EVP_PKEY *key;
} zkl_tls_files;

/** Reads them; what was read before stays where one is not good. ZKL_OK, ZKL_SYSTEM, or
 *  ZKL_INVALID_ARGUMENT with a message. */
int zkl_tls_files_load(zkl_tls_files *self);
/** Frees what was read. */
void zkl_tls_files_free(zkl_tls_files *self);

/** Writes the certificates and the key into a file, for libzookeeper (lz-files), and puts `mark`
 * beside the first certificate: SSL_CTX_get0_certificate and X509_alias_get0 find it there, and no
 * server is sent it. */
bool zkl_tls_files_copy(const zkl_tls_files *self, int descriptor, const char *mark);

/** Has the connection show these, and not what libzookeeper has read. */
void zkl_tls_files_show(const zkl_tls_files *self, SSL *ssl);
