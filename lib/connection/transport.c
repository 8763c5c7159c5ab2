#include "connection/transport.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/error_message.h"

/* After a failure libzookeeper skips an address (lz-skip): of an even number it tries one half for
 * ever, without a pause. So an even number gets another one, where no time is lost: each address is
 * tried as often as any other, and none twice in a row. NULL: out of memory. */
static char *make_odd(const char *addresses) {
    char *given = NULL;
    bool is_even = zkl_addresses_count(addresses) % 2 == 0;
    return asprintf(&given, "%s%s", addresses, is_even ? "," ZKL_ADDRESS_OF_NOBODY : "") > 0 ? given
                                                                                             : NULL;
}

static void keep_given(zkl_transport *self, char *given) {
    free(self->given);
    self->given = given;
}

bool zkl_transport_line_is_ours(const char *line) {
    return strstr(line, ZKL_ADDRESS_OF_NOBODY) != NULL;
}

/* One that is missing is found by who reads it. */
static int check_is_secret(const char *what, const char *name) {
    struct stat status;
    bool is_open = name != NULL && stat(name, &status) == 0 && (status.st_mode & S_IROTH) != 0;
    return is_open ? zkl_refuse(what, name, "may be read by everybody (chmod o-r)") : ZKL_OK;
}

int zkl_transport_prepare(zkl_transport *self) {
    const zkl_security *options = self->options;
    if (options != NULL && options->tls_ca_file != NULL && self->tls == NULL) {
        ZKL_TRY(check_is_secret("tls_key_file", options->tls_key_file));
        return zkl_tls_make(options, self->mutex, &self->tls);
    }
    if (options != NULL && options->sasl_mechanism != NULL && self->sasl == NULL) {
        ZKL_TRY(check_is_secret("sasl_password_file", options->sasl_password_file));
        return zkl_sasl_make(options, &self->sasl);
    }
    return ZKL_OK;
}

int zkl_transport_check(const zkl_security *options) {
    zkl_transport transport = { .options = options };
    int status = zkl_transport_prepare(&transport);
    zkl_transport_free(&transport);
    return status;
}

static zhandle_t *open_handle(zkl_transport *self, const zkl_transport_call *call) {
    if (self->tls != NULL) {
        return zkl_tls_open(self->tls, call);
    }
    if (self->sasl != NULL) {
        return zkl_sasl_open(self->sasl, call);
    }
    return zookeeper_init2(call->addresses, call->watcher, call->timeout_ms, call->session,
                           call->context, 0, call->log);
}

int zkl_transport_open(zkl_transport *self, const zkl_transport_call *wanted, zhandle_t **handle) {
    zkl_transport_call call = *wanted;
    char *given = make_odd(wanted->addresses);
    ZKL_TRY(zkl_made(given));
    call.addresses = given;
    *handle = open_handle(self, &call);
    int error = errno;
    keep_given(self, given);
    if (*handle == NULL) {
        return error == ENOMEM ? ZKL_NO_MEMORY : ZKL_SYSTEM;
    }
    /* Else it would go through the list again in every loop of its I/O thread. */
    (void)zoo_set_servers_resolution_delay(*handle, -1);
    return ZKL_OK;
}

/* Some versions of libzookeeper have one buffer for all threads (lz-shared-buffer): what is read
 * here may be an address of another client, and is no more than a hint. */
bool zkl_transport_server(zhandle_t *handle, char address[ZKL_ADDRESS_SIZE]) {
    int state = zoo_state(handle);
    const char *server = zoo_get_current_server(handle);
    const char *end = server[0] == '[' ? strchr(server, ']') : NULL;
    if (end != NULL) {
        snprintf(address, ZKL_ADDRESS_SIZE, "%.*s%s", (int)(end - server - 1), server + 1, end + 1);
    } else {
        snprintf(address, ZKL_ADDRESS_SIZE, "%s", server);
    }
    return state != 0 && state != ZOO_NOTCONNECTED_STATE && !zkl_transport_line_is_ours(address);
}

bool zkl_transport_is_elsewhere(zhandle_t *handle, const char *addresses) {
    char address[ZKL_ADDRESS_SIZE];
    return zkl_transport_server(handle, address) &&
           !zkl_addresses_contain(addresses, address, strlen(address));
}

/* libzookeeper compares hosts without their ports (lz-ports): it may take a list for the same as
 * the last one, and stays at a port that is not given any more. */
static bool give_servers(const zkl_transport *self, zhandle_t *handle, const char *given) {
    if (zkl_addresses_look_same(self->given, given) && strcmp(self->given, given) != 0) {
        (void)zoo_set_servers(handle, ZKL_ADDRESS_OF_NOBODY);
    }
    (void)zoo_set_servers(handle, given);
    if (zkl_transport_is_elsewhere(handle, given)) {
        (void)zoo_set_servers(handle, ZKL_ADDRESS_OF_NOBODY);
        (void)zoo_set_servers(handle, given);
    }
    return zoo_state(handle) == ZOO_NOTCONNECTED_STATE;
}

bool zkl_transport_set_servers(zkl_transport *self, zhandle_t *handle, const char *addresses) {
    char *given = make_odd(addresses);
    if (given == NULL) {
        return false;
    }
    bool closed = self->tls != NULL ? zkl_tls_set_servers(self->tls, given)
                                    : give_servers(self, handle, given);
    keep_given(self, given);
    return closed;
}

zkl_session_state zkl_transport_look(const zkl_transport *self, zhandle_t *handle,
                                     const char **why) {
    if (self->sasl != NULL && zoo_state(handle) == ZOO_AUTH_FAILED_STATE) {
        *why = "the servers refused the SASL login, or have no SASL";
        return ZKL_SESSION_STATE_AUTH_FAILED;
    }
    if (self->tls != NULL) {
        *why = "the server's certificate could not be checked: libzookeeper does not use the "
               "OpenSSL that this library uses";
        return zkl_tls_look(self->tls);
    }
    return ZKL_SESSION_STATE_CONNECTING;
}

void zkl_transport_close(zkl_transport *self, zhandle_t *handle) {
    if (self->tls != NULL) {
        zkl_tls_close(self->tls);
    } else {
        (void)zookeeper_close(handle);
    }
}

void zkl_transport_free(zkl_transport *self) {
    zkl_tls_free(self->tls);
    zkl_sasl_free(self->sasl);
    free(self->given);
}

/* ---- Programs that the application executes ------------------------------------------------- */

static bool is_connected_to(int descriptor, const struct sockaddr *peer, socklen_t length) {
    struct sockaddr_storage other = { 0 };
    socklen_t other_length = sizeof(other);
    return getpeername(descriptor, (struct sockaddr *)&other, &other_length) == 0 &&
           other_length == length && memcmp(&other, peer, length) == 0;
}

/* libzookeeper, as distributions build it, opens sockets without close-on-exec (lz-cloexec), and
 * reveals only the address at the other end. So another connection of this process to the same
 * server is marked too. Without /proc none is. */
void zkl_transport_close_on_exec(zhandle_t *handle) {
    struct sockaddr_storage address = { 0 };
    socklen_t length = sizeof(address);
    const struct sockaddr *server =
        zookeeper_get_connected_host(handle, (struct sockaddr *)&address, &length);
    DIR *descriptors = server != NULL ? opendir("/proc/self/fd") : NULL;
    if (descriptors == NULL) {
        return;
    }
    for (const struct dirent *one = readdir(descriptors); one != NULL; one = readdir(descriptors)) {
        int descriptor = (int)strtol(one->d_name, NULL, 10); /* "." and ".." are looked at as 0 */
        if (is_connected_to(descriptor, server, length)) {
            (void)fcntl(descriptor, F_SETFD, FD_CLOEXEC);
        }
    }
    (void)closedir(descriptors);
}
