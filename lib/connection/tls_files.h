/* The files of TLS: the authorities, the client's certificate and its key. Only where libzookeeper
 * has TLS. */
#pragma once

#include <openssl/x509.h>

#include "zklock/zklock.h"

typedef struct zkl_tls_files {
    const zkl_security *options; /* which name them */
    STACK_OF(X509) * authorities;
    int copies; /* of the certificate and the key, which libzookeeper reads at each connection */
} zkl_tls_files;

/** Reads them; what was read before stays where one is not good. ZKL_OK, ZKL_SYSTEM, or
 *  ZKL_INVALID_ARGUMENT with a message. */
int zkl_tls_files_load(zkl_tls_files *self);
