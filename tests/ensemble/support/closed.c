#include "support/closed.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zklock/zklock.h>

#include "support/secure.h"

const char *closed_secret(void) {
    return getenv("ZKLOCK_CLOSED");
}

/* The linker puts it in the place of zkl_client_open. */
int __real_zkl_client_open(const char *hosts, const zkl_client_options *options,
                           zkl_client **client);
int __wrap_zkl_client_open(const char *hosts, const zkl_client_options *options,
                           zkl_client **client);

int __wrap_zkl_client_open(const char *hosts, const zkl_client_options *options,
                           zkl_client **client) {
    zkl_client_options changed = ZKL_CLIENT_OPTIONS_INIT;
    zkl_security security = ZKL_SECURITY_INIT;
    zkl_credential credential = ZKL_CREDENTIAL_INIT;
    char room[ZKL_HOSTS_MAX + 1];
    if (options != NULL && options->struct_size != sizeof(changed)) {
        return __real_zkl_client_open(hosts, options, client);
    }
    if (options != NULL) {
        changed = *options;
    }
    if (changed.security != NULL) {
        security = *changed.security;
    }
    changed.security = &security;
    hosts = secure_options(hosts, room, sizeof(room), &security);
    credential.secret = closed_secret();
    if (credential.secret != NULL && security.credential_count == 0 &&
        security.credential_callback == NULL) {
        credential.size = strlen(credential.secret);
        security.credentials = &credential;
        security.credential_count = 1;
        security.node_acl = security.node_acl != NULL ? security.node_acl : ZKL_ACL_AUTHENTICATED;
        security.parent_acl =
            security.parent_acl != NULL ? security.parent_acl : ZKL_ACL_AUTHENTICATED;
    }
    return __real_zkl_client_open(hosts, &changed, client);
}
