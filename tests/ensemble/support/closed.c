#include "support/closed.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zklock/zklock.h>

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
    zkl_client_options closed = ZKL_CLIENT_OPTIONS_INIT;
    zkl_credential credential = ZKL_CREDENTIAL_INIT;
    bool is_known = options == NULL || options->struct_size == sizeof(closed);
    credential.secret = closed_secret();
    if (options != NULL && is_known) {
        closed = *options;
    }
    if (!is_known || credential.secret == NULL || closed.credential_count > 0 ||
        closed.credential_callback != NULL) {
        return __real_zkl_client_open(hosts, options, client);
    }
    credential.size = strlen(credential.secret);
    closed.credentials = &credential;
    closed.credential_count = 1;
    closed.node_acl = closed.node_acl != NULL ? closed.node_acl : ZKL_ACL_AUTHENTICATED;
    closed.parent_acl = closed.parent_acl != NULL ? closed.parent_acl : ZKL_ACL_AUTHENTICATED;
    return __real_zkl_client_open(hosts, &closed, client);
}
