#include "connection/tls.h"

#include "base/error_message.h"

#ifdef ZKL_HAS_TLS

#include <errno.h>
#include <netdb.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <utlist.h>

#include "base/process_mutex.h"
#include "connection/addresses.h"
#include "connection/failures.h"
#include "connection/tls_files.h"

enum { NAME_SIZE = 16, ADDRESS_SIZE = 128, WHY_SIZE = 112, FILE_SIZE = 32, HOST_SIZE = 256 };
enum { LEAVE_MS = 2000, EXIT_MS = 5000 };

/* After a failure, as each attempt takes libzookeeper 25 ms of processor time: it reads all
 * authorities of the system. */
enum { PAUSE_MS = 200 };

/* A connection that is not about TLS by then waits for the other machine, or there is none: it is
 * not about to be. */
enum { QUIET_MS = 300 };

struct zkl_tls {
    pthread_mutex_t *mutex; /* of the options */
    char name[NAME_SIZE];   /* of the threads of its handle */
    zkl_tls_files files;
    pthread_mutex_t lock; /* of what follows; no other is taken within, but libzookeeper's */
    pthread_cond_t changed;
    zhandle_t *handle;
    bool begun;       /* the I/O thread is about TLS: the socket is its own */
    int socket;       /* -1: none, or not known yet */
    int64_t began_ms; /* the handshake */
    int64_t ended_ms; /* the connection before */
    bool done;
    bool leaving;  /* the server, for others */
    bool closing;  /* no other connection is wanted */
    bool checked;  /* a certificate was, by check() */
    bool broken;   /* the handle can never connect again */
    bool stopped;  /* its I/O thread is kept from OpenSSL, as that ends */
    pid_t process; /* that has made it */
    char *servers; /* NULL; or to be given to the handle when the connection is closed */
    char address[ADDRESS_SIZE];
    char why[WHY_SIZE]; /* it failed */
    zkl_tls *prev, *next;
};

/* Of the process: all that have a handle, in its mutex. */
static zkl_tls *all;
static _Atomic pid_t owner; /* the process that these are of: not a fork of it */
static atomic_bool is_over; /* OpenSSL ends: exit() was called */
static uint32_t numbers;
static int context_index = -1;

/* ---- The server's certificate ------------------------------------------------------------------
 */

/* The subject of a certificate is for people: RFC 9525, 2. */
enum { NAME_FLAGS = X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT };

/* "host", "host:port", or "[address]", likewise. An address is no name. */
static bool is_for(X509 *certificate, const char *server) {
    char host[HOST_SIZE];
    bool bracketed = server[0] == '[';
    snprintf(host, sizeof(host), "%.*s", (int)strcspn(server + bracketed, bracketed ? "]" : ":,"),
             server + bracketed);
    ASN1_OCTET_STRING *address = a2i_IPADDRESS(host);
    bool is_address = address != NULL;
    ASN1_OCTET_STRING_free(address);
    return is_address ? X509_check_ip_asc(certificate, host, 0) == 1
                      : X509_check_host(certificate, host, 0, NAME_FLAGS, NULL) == 1;
}

static bool is_named(zkl_tls *self, X509 *certificate) {
    ZKL_WITH_MUTEX(self->mutex);
    const char *names = self->files.options->tls_server_names;
    bool named = strcmp(names, "*") == 0;
    for (; *names != '\0' && !named; names = zkl_addresses_rest(names)) {
        named = is_for(certificate, names);
    }
    return named;
}

/* In place of OpenSSL's own, which would look at the authorities of the system as well. */
static int check(X509_STORE_CTX *context, void *arg) {
    zkl_tls *self = arg;
    X509_STORE_CTX_set0_trusted_stack(context, self->files.authorities);
    bool trusted = X509_verify_cert(context) == 1;
    bool good = trusted && is_named(self, X509_STORE_CTX_get0_cert(context));
    ZKL_WITH_MUTEX(&self->lock);
    self->checked = self->checked || good;
    if (!trusted) {
        snprintf(self->why, sizeof(self->why), "its certificate is not of tls_ca_file: %s",
                 X509_verify_cert_error_string(X509_STORE_CTX_get_error(context)));
    } else if (!good) {
        snprintf(self->why, sizeof(self->why), "its certificate is for none of tls_server_names");
        X509_STORE_CTX_set_error(context, X509_V_ERR_HOSTNAME_MISMATCH);
    }
    return good;
}

/* ---- A connection; on the I/O thread -----------------------------------------------------------
 */

static void note_address(zkl_tls *self) {
    struct sockaddr_storage peer;
    socklen_t length = sizeof(peer);
    char host[ADDRESS_SIZE - 8] = "";
    char port[8] = "";
    if (getpeername(self->socket, (struct sockaddr *)&peer, &length) == 0) {
        (void)getnameinfo((struct sockaddr *)&peer, length, host, sizeof(host), port, sizeof(port),
                          NI_NUMERICHOST | NI_NUMERICSERV);
    }
    snprintf(self->address, sizeof(self->address), "%s:%s", host, port);
}

static bool is_wanted(const zkl_tls *self) {
    return self->servers == NULL ||
           zkl_addresses_contain(self->servers, self->address, strlen(self->address));
}

/* libzookeeper waits with select. Without a socket: that was closed by zoo_set_servers between the
 * end of connect and here, and libzookeeper will not make another SSL. */
static void begin_handshake(zkl_tls *self, int socket) {
    self->socket = socket;
    self->broken = socket < 0;
    self->began_ms = zkl_clock_ms();
    note_address(self);
    zkl_condition_broadcast(&self->changed);
    if (socket >= FD_SETSIZE) {
        snprintf(self->why, sizeof(self->why),
                 "the process has too many open files: libzookeeper cannot use number %d", socket);
    }
    self->leaving = self->leaving || !is_wanted(self);
    if (self->closing || self->leaving || socket >= FD_SETSIZE) {
        (void)shutdown(socket, SHUT_RDWR);
    }
}

/* For good, with the lock held. */
static void stop_here(zkl_tls *self) {
    self->stopped = true;
    zkl_condition_broadcast(&self->changed);
    for (;;) {
        (void)zkl_condition_wait(&self->changed, &self->lock, INT64_MAX);
    }
}

static void on_progress(const SSL *ssl, int where, int value) {
    zkl_tls *self = SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), context_index);
    ZKL_WITH_MUTEX(&self->lock);
    if (is_over) {
        stop_here(self);
    } else if (where == SSL_CB_HANDSHAKE_START) {
        begin_handshake(self, SSL_get_fd(ssl));
    } else if (where == SSL_CB_HANDSHAKE_DONE) {
        self->done = true;
    } else if (where == SSL_CB_READ_ALERT && (value & 0xff) != SSL_AD_CLOSE_NOTIFY) {
        snprintf(self->why, sizeof(self->why), "it refused the TLS connection: %s",
                 SSL_alert_desc_string_long(value));
    }
}

/* libzookeeper's threads are started by the thread that opens the handle, and have its name. */
static zkl_tls *find(void) {
    static _Thread_local zkl_tls *found;
    char name[NAME_SIZE] = "";
    ZKL_WITH_MUTEX(&zkl_process_mutex);
    if (found == NULL && all != NULL &&
        pthread_getname_np(pthread_self(), name, sizeof(name)) == 0) {
        for (found = all; found != NULL && strcmp(found->name, name) != 0; found = found->next) {
        }
    }
    return found;
}

/* Called by OpenSSL for each SSL_CTX of the process, on the thread that makes it: libzookeeper
 * makes one for each connection. */
static void on_context_made(void *context, void *unused, CRYPTO_EX_DATA *data, int index,
                            long number, void *arg) {
    zkl_tls *self = find();
    (void)unused;
    (void)number;
    (void)arg;
    if (self == NULL || CRYPTO_set_ex_data(data, index, self) != 1) {
        return; /* a connection of ours that is not checked is not used */
    }
    pthread_mutex_lock(&self->lock);
    self->begun = true;
    self->done = false;
    self->address[0] = '\0';
    self->why[0] = '\0';
    if (is_over) {
        stop_here(self);
    }
    pthread_mutex_unlock(&self->lock);
    (void)zkl_tls_files_load(&self->files); /* what was renewed */
    SSL_CTX_set_cert_verify_callback(context, check, self);
    SSL_CTX_set_info_callback(context, on_progress);
}

/* While the I/O thread is not about TLS. */
static bool give_at_once(zkl_tls *self) {
    (void)zoo_set_servers(self->handle, self->servers);
    free(self->servers);
    self->servers = NULL;
    return zoo_state(self->handle) == ZOO_NOTCONNECTED_STATE;
}

/* libzookeeper itself knows no reason. */
static void note_failure(zkl_tls *self) {
    if (self->why[0] == '\0' && !self->done && !self->leaving) {
        snprintf(self->why, sizeof(self->why), "%s",
                 "the TLS handshake failed (is it a port without TLS?)");
    } else if (self->why[0] == '\0' && !self->done && zkl_clock_ms() - self->began_ms > PAUSE_MS) {
        snprintf(self->why, sizeof(self->why), "%s", "no answer in the TLS handshake");
    }
    if (self->why[0] != '\0' && !self->closing) {
        zkl_failures_note(self->address, self->why);
    }
}

/* libzookeeper is about to close the socket, and has freed the SSL. So this is the moment in which
 * it can be given other servers: from another thread it would free what the I/O thread uses. But
 * not while it still has to tell that a session has lost its connection, which it would forget. */
static void end_connection(zkl_tls *self) {
    if (self->servers != NULL && !self->closing && zoo_state(self->handle) != ZOO_CONNECTED_STATE) {
        (void)give_at_once(self);
    }
    self->leaving = false;
    self->socket = -1;
    self->begun = false;
    self->ended_ms = zkl_clock_ms();
    zkl_condition_broadcast(&self->changed);
}

static void on_context_freed(void *context, void *arg, CRYPTO_EX_DATA *data, int index, long number,
                             void *unused) {
    zkl_tls *self = arg;
    (void)context;
    (void)data;
    (void)index;
    (void)number;
    (void)unused;
    if (self != NULL) {
        ZKL_WITH_MUTEX(&self->lock);
        note_failure(self); /* before the pause: somebody may ask */
        bool failed = self->why[0] != '\0' || !self->done;
        int64_t deadline_ms = zkl_deadline(failed ? PAUSE_MS : 0);
        while (!self->leaving && !self->closing && !is_over &&
               zkl_condition_wait(&self->changed, &self->lock, deadline_ms)) {
        }
        if (is_over && !self->closing) {
            stop_here(self);
        }
        end_connection(self);
    }
}

/* ---- The end of the process --------------------------------------------------------------------
 *
 * exit() ends OpenSSL below the threads that use it, which then crash. OpenSSL can be told not to
 * end, but only by whoever uses it first, which may be the application, and for all of the process.
 * So before it ends the I/O threads are stopped for good, where none of them is in OpenSSL: in
 * these callbacks, or with nobody to connect to.
 */

static void on_nobody_answers(int rc, const struct Stat *stat, const void *data) {
    zkl_tls *self = (zkl_tls *)data;
    (void)rc;
    (void)stat;
    ZKL_WITH_MUTEX(&self->lock);
    self->stopped = true;
    zkl_condition_broadcast(&self->changed);
}

/* The question is answered as lost when the I/O thread has tried to connect to nobody. */
static void send_to_nobody(zkl_tls *self) {
    (void)zoo_set_servers(self->handle, ZKL_ADDRESS_OF_NOBODY);
    self->stopped = zoo_aexists(self->handle, "/", 0, on_nobody_answers, self) != ZOK;
}

static void stop(zkl_tls *self, int64_t deadline_ms) {
    ZKL_WITH_MUTEX(&self->lock);
    bool is_idle = !self->begun && (self->handle == NULL || self->closing);
    if (self->begun && self->socket >= 0) {
        (void)shutdown(self->socket, SHUT_RDWR);
    } else if (!self->begun && !is_idle) {
        send_to_nobody(self);
    }
    zkl_condition_broadcast(&self->changed);
    while (!is_idle && !self->stopped &&
           zkl_condition_wait(&self->changed, &self->lock, deadline_ms)) {
        is_idle = !self->begun && (self->handle == NULL || self->closing);
    }
}

static void on_exit_of_process(void) {
    int64_t deadline_ms = zkl_deadline(EXIT_MS);
    if (owner != getpid()) {
        return; /* a fork has no threads, and perhaps a mutex that one of them had */
    }
    pthread_mutex_lock(&zkl_process_mutex);
    is_over = true; /* nobody joins or leaves from here on */
    pthread_mutex_unlock(&zkl_process_mutex);
    for (zkl_tls *one = all; one != NULL; one = one->next) {
        if (one->process == getpid()) {
            stop(one, deadline_ms);
        }
    }
}

/* ---- Handles -----------------------------------------------------------------------------------
 */

/* What is registered later is called earlier. */
static void begin_process(void) {
    (void)OPENSSL_init_ssl(0, NULL);
    (void)atexit(on_exit_of_process);
    context_index = SSL_CTX_get_ex_new_index(0, NULL, on_context_made, NULL, on_context_freed);
}

static bool enlist(zkl_tls *self) {
    ZKL_WITH_MUTEX(&zkl_process_mutex);
    self->process = getpid();
    owner = self->process;
    snprintf(self->name, sizeof(self->name), "zklock-%08x", ++numbers);
    if (!is_over) {
        DL_APPEND(all, self);
    }
    return !is_over;
}

/* Without a handle. */
static int read_files(zkl_tls *self) {
    pthread_mutex_lock(&self->lock);
    self->begun = !is_over;
    pthread_mutex_unlock(&self->lock);
    int status = self->begun ? zkl_tls_files_load(&self->files) : ZKL_SYSTEM;
    ZKL_WITH_MUTEX(&self->lock);
    self->begun = false;
    zkl_condition_broadcast(&self->changed);
    return status;
}

int zkl_tls_make(const zkl_security *options, pthread_mutex_t *mutex, zkl_tls **made) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    zkl_tls *self = calloc(1, sizeof(*self));
    ZKL_TRY(zkl_made(self));
    pthread_once(&once, begin_process);
    pthread_mutex_init(&self->lock, NULL);
    zkl_condition_begin(&self->changed);
    self->files.options = options;
    self->mutex = mutex;
    self->socket = -1;
    self->files.copies = memfd_create("zklock", MFD_CLOEXEC);
    bool may_begin = enlist(self) && self->files.copies >= 0 && context_index >= 0;
    int status = may_begin ? read_files(self) : ZKL_SYSTEM;
    if (status != ZKL_OK) {
        zkl_tls_free(self);
        return status;
    }
    *made = self;
    return ZKL_OK;
}

/* The third file is trusted by libzookeeper alone, which is not asked. */
zhandle_t *zkl_tls_open(zkl_tls *self, const zkl_transport_call *call) {
    char file[FILE_SIZE];
    char files[3 * FILE_SIZE];
    snprintf(file, sizeof(file), "/proc/self/fd/%d", self->files.copies);
    snprintf(files, sizeof(files), "%s,%s,%s", file, file, file);
    if (access(file, R_OK) != 0) {
        return NULL;
    }
    (void)read_files(self); /* what was renewed */
    (void)pthread_setname_np(pthread_self(), self->name);
    ZKL_WITH_MUTEX(&self->lock);
    self->ended_ms = zkl_clock_ms();
    self->checked = false;
    self->broken = false;
    self->closing = false;
    free(self->servers); /* what was left for another handle */
    self->servers = NULL;
    self->handle = is_over
                       ? NULL
                       : zookeeper_init_ssl(call->addresses, files, call->watcher, call->timeout_ms,
                                            call->session, call->context, ZOO_NO_LOG_CLIENTENV);
    if (self->handle != NULL) {
        zoo_set_log_callback(self->handle, call->log);
    }
    return self->handle;
}

/* Waits until the connection is closed: the handle has the other servers then. */
static void leave(zkl_tls *self) {
    int64_t deadline_ms = zkl_deadline(LEAVE_MS);
    self->leaving = true;
    if (self->socket >= 0) {
        (void)shutdown(self->socket, SHUT_RDWR);
    }
    zkl_condition_broadcast(&self->changed);
    while (self->leaving && zkl_condition_wait(&self->changed, &self->lock, deadline_ms)) {
    }
}

/* When it has just begun it is not known yet with whom. */
static void await_address(zkl_tls *self) {
    int64_t deadline_ms = zkl_deadline(LEAVE_MS);
    while (self->begun && self->socket < 0 && !self->broken &&
           zkl_condition_wait(&self->changed, &self->lock, deadline_ms)) {
    }
}

bool zkl_tls_set_servers(zkl_tls *self, const char *addresses) {
    ZKL_WITH_MUTEX(&self->lock);
    await_address(self);
    free(self->servers);
    self->servers = is_over ? NULL : strdup(addresses); /* it is to have nobody then */
    if (self->servers == NULL) {
        return false;
    }
    if (!self->begun) { /* and it does not begin, as this has the lock */
        return zkl_clock_ms() - self->ended_ms > QUIET_MS && give_at_once(self);
    }
    bool stays = is_wanted(self);
    if (!stays) {
        leave(self);
    }
    return !stays;
}

zkl_session_state zkl_tls_look(zkl_tls *self) {
    ZKL_WITH_MUTEX(&self->lock);
    if (self->broken) {
        return ZKL_SESSION_STATE_EXPIRED;
    }
    return zoo_state(self->handle) == ZOO_CONNECTED_STATE && !self->checked
               ? ZKL_SESSION_STATE_AUTH_FAILED
               : ZKL_SESSION_STATE_CONNECTING;
}

bool zkl_tls_closes(zkl_tls *self) {
    ZKL_WITH_MUTEX(&self->lock);
    if (is_over) {
        return false;
    }
    self->closing = true;
    if (self->socket >= 0 && zoo_state(self->handle) != ZOO_CONNECTED_STATE) {
        (void)shutdown(self->socket, SHUT_RDWR);
    }
    zkl_condition_broadcast(&self->changed);
    return true;
}

/* Once OpenSSL ends it stays as it is. */
static bool delist(zkl_tls *self) {
    ZKL_WITH_MUTEX(&zkl_process_mutex);
    if (!is_over) {
        DL_DELETE(all, self);
        sk_X509_pop_free(self->files.authorities, X509_free);
    }
    return !is_over;
}

void zkl_tls_free(zkl_tls *self) {
    if (self == NULL || !delist(self)) {
        return;
    }
    if (self->files.copies >= 0) {
        (void)close(self->files.copies);
    }
    zkl_condition_end(&self->changed);
    pthread_mutex_destroy(&self->lock);
    free(self->servers);
    free(self);
}

#else

#include <errno.h>

int zkl_tls_make(const zkl_security *options, pthread_mutex_t *mutex, zkl_tls **made) {
    (void)mutex;
    (void)made;
    zkl_error_note("tls_ca_file", options->tls_ca_file,
                   "this libzookeeper was built without OpenSSL, as those of Debian are: build "
                   "zklock with another one (docs/security.md)");
    return ZKL_UNSUPPORTED;
}

void zkl_tls_free(zkl_tls *self) {
    (void)self;
}

zhandle_t *zkl_tls_open(zkl_tls *self, const zkl_transport_call *call) {
    (void)self;
    (void)call;
    errno = ENOSYS;
    return NULL;
}

bool zkl_tls_set_servers(zkl_tls *self, const char *addresses) {
    (void)self;
    (void)addresses;
    return false;
}

zkl_session_state zkl_tls_look(zkl_tls *self) {
    (void)self;
    return ZKL_SESSION_STATE_CONNECTING;
}

bool zkl_tls_closes(zkl_tls *self) {
    (void)self;
    return true;
}

#endif
