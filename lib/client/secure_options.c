#include "client/secure_options.h"

#include <stdbool.h>
#include <string.h>

#include "base/error_message.h"
#include "base/validation.h"

typedef enum kind { TEXT, FILE_NAME, SECRET } kind;

typedef struct option {
    const char *name;
    size_t offset;
    kind kind;
    bool is_sasl; /* false: it is of TLS */
} option;

#define OPTION(name, kind, is_sasl)                                                                \
    { #name, offsetof(zkl_security, name), kind, is_sasl }

static const option known[] = {
    OPTION(tls_ca_file, FILE_NAME, false),
    OPTION(tls_certificate_file, FILE_NAME, false),
    OPTION(tls_key_file, FILE_NAME, false),
    OPTION(tls_key_password, SECRET, false),
    OPTION(tls_server_names, TEXT, false),
    OPTION(sasl_mechanism, TEXT, true),
    OPTION(sasl_user, TEXT, true),
    OPTION(sasl_password, SECRET, true),
    OPTION(sasl_password_file, FILE_NAME, true),
    OPTION(sasl_service, TEXT, true),
    OPTION(sasl_host, TEXT, true),
};
enum { KNOWN = sizeof(known) / sizeof(known[0]) };

static const char **value_of(zkl_security *options, const option *one) {
    return (const char **)((char *)options + one->offset);
}

/* Checks one value. No message shows a secret. */
static int check_value(const option *one, const char *value) {
    switch (one->kind) {
    case FILE_NAME:
        return zkl_validate_file_name(one->name, value);
    case SECRET:
        return strlen(value) <= ZKL_SECRET_MAX
                   ? ZKL_OK
                   : zkl_refuse(one->name, NULL, "at most %d bytes are allowed", ZKL_SECRET_MAX);
    default:
        return zkl_validate_text(one->name, value, ZKL_HOSTS_MAX);
    }
}

static int check_all(zkl_security *options) {
    for (size_t i = 0; i < KNOWN; i++) {
        const option *one = &known[i];
        const char *value = *value_of(options, one);
        const char *protocol = one->is_sasl ? options->sasl_mechanism : options->tls_ca_file;
        if (value != NULL && protocol == NULL) {
            return zkl_refuse(one->name, NULL, "means nothing without %s",
                              one->is_sasl ? "sasl_mechanism" : "tls_ca_file");
        }
        ZKL_TRY(value != NULL ? check_value(one, value) : ZKL_OK);
    }
    return ZKL_OK;
}

int zkl_secure_options_check(const zkl_security *options) {
    zkl_security copy = *options;
    ZKL_TRY(check_all(&copy));
    if (options->tls_ca_file != NULL && options->sasl_mechanism != NULL) {
        return zkl_refuse("sasl_mechanism", options->sasl_mechanism,
                          "must not be given together with tls_ca_file: libzookeeper has no "
                          "function for both");
    }
    if (options->sasl_password != NULL && options->sasl_password_file != NULL) {
        return zkl_refuse("sasl_password", NULL,
                          "must not be given together with sasl_password_file");
    }
    if (options->tls_ca_file != NULL) {
        ZKL_TRY(zkl_validate_pointer("tls_certificate_file", options->tls_certificate_file));
        ZKL_TRY(zkl_validate_pointer("tls_key_file", options->tls_key_file));
    }
    return ZKL_OK;
}

void zkl_secure_options_copy(zkl_security *options, zkl_pool *pool) {
    for (size_t i = 0; i < KNOWN; i++) {
        const char **value = value_of(options, &known[i]);
        *value = zkl_pool_copy_text(pool, *value);
    }
}

void zkl_secure_options_wipe(zkl_security *options) {
    for (size_t i = 0; i < KNOWN; i++) {
        char *value = (char *)*value_of(options, &known[i]);
        if (value != NULL && known[i].kind == SECRET) {
            explicit_bzero(value, strlen(value));
        }
    }
}
