/* The options of a client for TLS and SASL: what goes together, and what this libzookeeper has. */
#include <string.h>

#include "support/unit.h"
#include "zklock/zklock.h"

static int open_with(const zkl_security *security) {
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    zkl_client *client = NULL;
    options.security = security;
    int status = zkl_client_open("127.0.0.1:1", &options, &client);
    EXPECT_INT(client == NULL, true);
    return status;
}

static zkl_security with_tls(void) {
    zkl_security security = ZKL_SECURITY_INIT;
    security.tls_ca_file = "/nowhere/ca.pem";
    security.tls_certificate_file = "/nowhere/client.pem";
    security.tls_key_file = "/nowhere/client.key";
    return security;
}

TEST(options_of_tls_without_an_authority_are_refused) {
    zkl_security security = ZKL_SECURITY_INIT;
    security.tls_server_names = "localhost";
    EXPECT_REFUSED(open_with(&security), "tls_server_names: means nothing without tls_ca_file");
    security = with_tls();
    security.tls_ca_file = NULL;
    EXPECT_REFUSED(open_with(&security), "tls_certificate_file: means nothing without tls_ca_file");
}

TEST(tls_without_certificate_or_key_is_refused) {
    zkl_security security = with_tls();
    security.tls_certificate_file = NULL;
    EXPECT_REFUSED(open_with(&security), "tls_certificate_file");
    security = with_tls();
    security.tls_key_file = NULL;
    EXPECT_REFUSED(open_with(&security), "tls_key_file");
    security.tls_key_file = "";
    EXPECT_REFUSED(open_with(&security), "tls_key_file");
}

TEST(options_of_sasl_without_a_mechanism_are_refused) {
    zkl_security security = ZKL_SECURITY_INIT;
    security.sasl_user = "stock";
    EXPECT_REFUSED(open_with(&security), "sasl_user: means nothing without sasl_mechanism");
}

TEST(two_passwords_are_refused) {
    zkl_security security = ZKL_SECURITY_INIT;
    security.sasl_mechanism = "DIGEST-MD5";
    security.sasl_password = "secret";
    security.sasl_password_file = "/nowhere/password";
    EXPECT_REFUSED(open_with(&security), "must not be given together with sasl_password_file");
    EXPECT_INT(strstr(zkl_error_message(), "secret") == NULL, true);
}

TEST(password_that_is_too_long_is_refused_and_not_shown) {
    char password[ZKL_SECRET_MAX + 2];
    zkl_security security = with_tls();
    memset(password, 'p', sizeof(password) - 1);
    password[sizeof(password) - 1] = '\0';
    security.tls_key_password = password;
    EXPECT_REFUSED(open_with(&security), "tls_key_password: at most 4096 bytes are allowed");
}

TEST(tls_and_sasl_at_once_are_refused) {
    zkl_security security = with_tls();
    security.sasl_mechanism = "DIGEST-MD5";
    EXPECT_REFUSED(open_with(&security), "libzookeeper has no function for both");
}

TEST(what_this_libzookeeper_has_not_is_told) {
    zkl_security tls = with_tls();
    zkl_security sasl = ZKL_SECURITY_INIT;
    sasl.sasl_mechanism = "DIGEST-MD5";
    sasl.sasl_password_file = "/nowhere/password";
#ifdef ZKL_HAS_TLS
    EXPECT_REFUSED(open_with(&tls), "tls_ca_file \"/nowhere/ca.pem\": cannot be read: No such");
#else
    EXPECT_INT(open_with(&tls), ZKL_UNSUPPORTED);
    EXPECT_INT(strstr(zkl_error_message(), "built without OpenSSL") != NULL, true);
#endif
#ifdef ZKL_HAS_SASL
    EXPECT_REFUSED(open_with(&sasl), "sasl_password_file \"/nowhere/password\": cannot be read");
#else
    EXPECT_INT(open_with(&sasl), ZKL_UNSUPPORTED);
    EXPECT_INT(strstr(zkl_error_message(), "built without Cyrus SASL") != NULL, true);
#endif
}
