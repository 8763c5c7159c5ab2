#include "connection/tls_certificate.h"

#include <stdio.h>
#include <string.h>

#include <openssl/x509v3.h>

#include "connection/addresses.h"

enum { HOST_SIZE = 256 };

/* The subject of a certificate is for people: RFC 9525, 2. */
enum { NAME_FLAGS = X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT };

/* Tells whether the certificate is for the first of the names. An address is no name. */
static bool certificate_is_for_first(X509 *certificate, const char *names) {
    char host[HOST_SIZE];
    bool bracketed = names[0] == '[';
    snprintf(host, sizeof(host), "%.*s", (int)strcspn(names + bracketed, bracketed ? "]" : ":,"),
             names + bracketed);
    ASN1_OCTET_STRING *address = a2i_IPADDRESS(host);
    bool is_address = address != NULL;
    ASN1_OCTET_STRING_free(address);
    return is_address ? X509_check_ip_asc(certificate, host, 0) == 1
                      : X509_check_host(certificate, host, 0, NAME_FLAGS, NULL) == 1;
}

bool zkl_tls_certificate_is_for(X509 *certificate, const char *names) {
    bool is_for = strcmp(names, "*") == 0;
    for (; *names != '\0' && !is_for; names = zkl_addresses_rest(names)) {
        is_for = certificate_is_for_first(certificate, names);
    }
    return is_for;
}
