#include "field_names.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

typedef struct field_name {
    const char *field;
    const char *name;
} field_name;

/* No field begins with the name of an earlier one. In quoted text only the last one is translated.
 */
static const field_name names[] = {
    { "lock_root", "lock-root" },
    { "node_acl", "node-acl" },
    { "parent_acl", "parent-acl" },
    { "tls_ca_file", "tls-ca-file" },
    { "tls_certificate_file", "tls-certificate-file" },
    { "tls_key_file", "tls-key-file" },
    { "tls_key_password", "tls-key-password-file" },
    { "tls_server_names", "tls-server-names" },
    { "sasl_mechanism", "sasl-mechanism" },
    { "sasl_user", "sasl-user" },
    { "sasl_password_file", "sasl-password-file" },
    { "sasl_service", "sasl-service" },
    { "sasl_host", "sasl-host" },
    { "note \"", "--elect \"" },
    { "must not be NULL", "must be given" },
    { "lease_tick_ms", "tick-time in ms" }, /* the library quotes this one */
};

enum { NAME_COUNT = sizeof(names) / sizeof(names[0]) };

static const field_name *field_names_find(const char *at, bool is_quoted) {
    for (size_t i = is_quoted ? NAME_COUNT - 1 : 0; i < NAME_COUNT; i++) {
        if (strncmp(at, names[i].field, strlen(names[i].field)) == 0) {
            return &names[i];
        }
    }
    return NULL;
}

void field_names_translate(char *to, size_t size, const char *message) {
    size_t used = 0;
    bool begins = true; /* a word begins here */
    bool is_quoted = false;
    to[0] = '\0';
    while (*message != '\0' && used + 1 < size) {
        const field_name *found = begins ? field_names_find(message, is_quoted) : NULL;
        size_t length = found != NULL ? strlen(found->field) : 1;
        const char *text = found != NULL ? found->name : message;
        int shown = found != NULL ? (int)strlen(text) : 1;
        snprintf(to + used, size - used, "%.*s", shown, text);
        used += strlen(to + used);
        message += length;
        is_quoted = message[-1] == '"' ? !is_quoted : is_quoted;
        begins = message[-1] == ' ';
    }
}
