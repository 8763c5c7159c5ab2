/* For which servers a certificate is. Only where libzookeeper has TLS. */
#pragma once

#include <stdbool.h>

#include <openssl/x509.h>

/** Tells whether the certificate is for one of the names:  "host", "host:port" or "[address]:port",
 * separated by commas, or "*" alone for all. An address is looked for among addresses alone, a name
 * among the alternative names alone. */
bool zkl_tls_certificate_is_for(X509 *certificate, const char *names);
