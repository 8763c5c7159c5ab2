#include "connection/tls.h"

#include "base/error_message.h"

#ifdef ZKL_HAS_TLS

#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/threads.h"
#include "connection/addresses.h"
#include "connection/failures.h"
#include "connection/tls_certificate.h"
#include "connection/tls_files.h"
#include "connection/tls_process.h"

enum { ADDRESS_SIZE = 128, WHY_SIZE = 112, FILE_SIZE = 32, LEAVE_MS = 2000 };

/* After a failure, as each attempt takes libzookeeper 25 ms of processor time: it reads all
 * authorities of the system (lz-slow-context). */
enum { PAUSE_MS = 200 };

/* A connection that is not about TLS by then waits for the other machine, or there is none: it is
 * not about to be. */
enum { QUIET_MS = 300 };

/* How often to look whether a thread of libzookeeper has ended. */
enum { LOOK_MS = 5 };

struct zkl_tls {
    zkl_tls_member member;  /* first */
    pthread_mutex_t *mutex; /* of the options */
    zkl_tls_files files;    /* used on errands, and by the I/O thread */
    int copies;             /* of the certificate and the key, in memory, for libzookeeper */
    pthread_mutex_t lock;   /* of what follows; no other is taken within, but libzookeeper's */
    pthread_cond_t changed;
    zhandle_t *handle;
    bool begun;       /* the I/O thread is about TLS: the socket is its own */
    int socket;       /* -1: none, or not known yet */
    pid_t io_thread;  /* that was about TLS last; 0: none was */
    int64_t began_ms; /* the handshake */
    int64_t ended_ms; /* the connection before */
    bool done;
    bool leaving;  /* the server, for others */
    bool closing;  /* no other connection is wanted */
    bool broken;   /* the handle can never connect again */
    bool stopped;  /* its I/O thread is kept from OpenSSL, as that ends */
    char *servers; /* NULL; or to be given to the handle when the connection is closed */
    char address[ADDRESS_SIZE];
    char why[WHY_SIZE]; /* it failed */
};

static zkl_tls *tls_of(zkl_tls_member *member) {
    return (zkl_tls *)member;
}

/* ---- A connection; on the I/O thread -----------------------------------------------------------
 */

/* Keeps the calling thread for good once exit() was called; with the lock held, which is let go.
 * While the handle is being closed it returns: exit() waits for that. */
static void stay_if_process_is_over(zkl_tls *self) {
    if (zkl_tls_process_is_over() && !self->closing) {
        self->stopped = true;
        zkl_condition_broadcast(&self->changed);
    }
    while (zkl_tls_process_is_over() && !self->closing) {
        (void)zkl_condition_wait(&self->changed, &self->lock, INT64_MAX);
    }
}

static bool is_named(zkl_tls *self, X509 *certificate) {
    ZKL_WITH_MUTEX(self->mutex);
    return zkl_tls_certificate_is_for(certificate, self->files.options->tls_server_names);
}

/* Verifies the server's certificate in place of OpenSSL, which would look at the authorities of the
 * system as well (lz-authorities), and at no name (lz-server-names). */
static int check_server(X509_STORE_CTX *context, void *arg) {
    zkl_tls *self = arg;
    X509_STORE_CTX_set0_trusted_stack(context, self->files.authorities);
    bool trusted = X509_verify_cert(context) == 1;
    bool good = trusted && is_named(self, X509_STORE_CTX_get0_cert(context));
    ZKL_WITH_MUTEX(&self->lock);
    if (good) {
        self->member.is_checked = true;
    } else if (!trusted) {
        snprintf(self->why, sizeof(self->why), "its certificate is not of tls_ca_file: %s",
                 X509_verify_cert_error_string(X509_STORE_CTX_get_error(context)));
    } else {
        snprintf(self->why, sizeof(self->why), "its certificate is for none of tls_server_names");
        X509_STORE_CTX_set_error(context, X509_V_ERR_HOSTNAME_MISMATCH);
    }
    return good;
}

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

/* Notes the socket, or shuts it down where the connection is not wanted. Without a socket it was
 * closed by zoo_set_servers between the end of connect and here, and libzookeeper will not make
 * another SSL. It waits with select (lz-select). */
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

static void note_progress(zkl_tls *self, const SSL *ssl, int where, int value) {
    ZKL_WITH_MUTEX(&self->lock);
    stay_if_process_is_over(self);
    if (where == SSL_CB_HANDSHAKE_START) {
        begin_handshake(self, SSL_get_fd(ssl));
    } else if (where == SSL_CB_HANDSHAKE_DONE) {
        self->done = true;
    } else if (where == SSL_CB_READ_ALERT && (value & 0xff) != SSL_AD_CLOSE_NOTIFY) {
        snprintf(self->why, sizeof(self->why), "it refused the TLS connection: %s",
                 SSL_alert_desc_string_long(value));
    }
}

/* Follows a handshake; OpenSSL calls it. When one begins, the files as they are now are shown in
 * place of the copies. */
static void on_progress(const SSL *ssl, int where, int value) {
    zkl_tls *self = tls_of(zkl_tls_member_of(ssl));
    bool is_first = where == SSL_CB_HANDSHAKE_START && !self->done;
    note_progress(self, ssl, where, value);
    if (is_first) {
        (void)zkl_tls_files_load(&self->files);
        zkl_tls_files_show(&self->files, (SSL *)ssl);
    }
}

static void begin_connection(zkl_tls_member *member, SSL_CTX *context) {
    zkl_tls *self = tls_of(member);
    zkl_tls_await_context(member, false);
    SSL_CTX_set_cert_verify_callback(context, check_server, self);
    SSL_CTX_set_info_callback(context, on_progress);
    ZKL_WITH_MUTEX(&self->lock);
    self->begun = true;
    self->done = false;
    self->io_thread = gettid();
    self->address[0] = '\0';
    self->why[0] = '\0';
    stay_if_process_is_over(self);
}

/* Gives the handle the servers that wait in `servers`. Only while `begun` is false, or on the I/O
 * thread. libzookeeper compares hosts without their ports (lz-ports), and may take the list for the
 * same as the last one. */
static bool give_at_once(zkl_tls *self) {
    (void)zoo_set_servers(self->handle, ZKL_ADDRESS_OF_NOBODY);
    (void)zoo_set_servers(self->handle, self->servers);
    free(self->servers);
    self->servers = NULL;
    return zoo_state(self->handle) == ZOO_NOTCONNECTED_STATE;
}

/* Tells why the connection has failed: libzookeeper itself knows no reason (lz-reasons). */
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

static void pause_after_failure(zkl_tls *self) {
    bool failed = self->why[0] != '\0' || !self->done;
    int64_t deadline_ms = zkl_deadline(failed ? PAUSE_MS : 0);
    while (!self->leaving && !self->closing && !zkl_tls_process_is_over() &&
           zkl_condition_wait(&self->changed, &self->lock, deadline_ms)) {
    }
}

/* Ends the connection's state. libzookeeper is about to close the socket, and has freed the SSL. So
 * this is the moment in which it can be given other servers: from another thread it would free what
 * the I/O thread uses (lz-freed-ssl). But not while it still has to tell that a session has lost
 * its connection, which it would forget. */
static void forget_connection(zkl_tls *self) {
    if (self->servers != NULL && !self->closing && zoo_state(self->handle) != ZOO_CONNECTED_STATE) {
        (void)give_at_once(self);
    }
    self->leaving = false;
    self->socket = -1;
    self->begun = false;
    self->ended_ms = zkl_clock_ms();
    zkl_tls_await_context(&self->member, true);
    zkl_condition_broadcast(&self->changed);
}

static void end_connection(zkl_tls_member *member) {
    zkl_tls *self = tls_of(member);
    ZKL_WITH_MUTEX(&self->lock);
    note_failure(self); /* before the pause: somebody may ask */
    pause_after_failure(self);
    stay_if_process_is_over(self);
    forget_connection(self);
}

/* ---- The end of the process --------------------------------------------------------------------
 */

/* Notes that the request was lost: the I/O thread has left its attempt to connect, and has nobody
 * left to connect to. */
static void on_nobody_answers(int rc, const struct Stat *stat, const void *data) {
    zkl_tls *self = (zkl_tls *)data;
    (void)rc;
    (void)stat;
    ZKL_WITH_MUTEX(&self->lock);
    self->stopped = true;
    zkl_condition_broadcast(&self->changed);
}

/* Tells whether its I/O thread neither uses OpenSSL again, nor is about to end: then OpenSSL would
 * free what it keeps for the thread. While the handle is being closed, exit() waits for that
 * errand. */
static bool is_out_of_openssl(const zkl_tls *self) {
    if (self->handle == NULL || self->closing || self->stopped) {
        return true;
    }
    bool has_ended = self->io_thread == 0 || tgkill(getpid(), self->io_thread, 0) != 0;
    return is_unrecoverable(self->handle) != ZOK && has_ended;
}

/* Sends the I/O thread to nobody, unless it is in OpenSSL: there the end of the socket brings it
 * into one of the calls above. */
static void turn_away(zkl_tls *self) {
    if (!self->begun) {
        (void)zoo_set_servers(self->handle, ZKL_ADDRESS_OF_NOBODY);
        (void)zoo_aexists(self->handle, "/", 0, on_nobody_answers, self);
    } else if (self->socket >= 0) {
        (void)shutdown(self->socket, SHUT_RDWR);
    }
    zkl_condition_broadcast(&self->changed);
}

static void stop_connection(zkl_tls_member *member, int64_t deadline_ms) {
    zkl_tls *self = tls_of(member);
    ZKL_WITH_MUTEX(&self->lock);
    if (!is_out_of_openssl(self)) {
        turn_away(self);
    }
    while (!is_out_of_openssl(self) && zkl_clock_ms() < deadline_ms) {
        (void)zkl_condition_wait(&self->changed, &self->lock, zkl_deadline(LOOK_MS));
    }
}

/* ---- Handles -----------------------------------------------------------------------------------
 */

static const zkl_tls_callbacks callbacks = {
    .begins = begin_connection,
    .ended = end_connection,
    .stop = stop_connection,
};

static int begin_tls(void *arg) {
    zkl_tls *self = arg;
    if (!zkl_tls_enlist(&self->member)) {
        return ZKL_SYSTEM;
    }
    ZKL_TRY(zkl_tls_files_load(&self->files));
    self->copies = memfd_create("zklock", MFD_CLOEXEC);
    bool copied =
        self->copies >= 0 && zkl_tls_files_copy(&self->files, self->copies, self->member.mark);
    return copied ? ZKL_OK : ZKL_SYSTEM;
}

int zkl_tls_make(const zkl_security *options, pthread_mutex_t *mutex, zkl_tls **made) {
    zkl_tls *self = calloc(1, sizeof(*self));
    ZKL_TRY(zkl_made(self));
    self->member.callbacks = &callbacks;
    pthread_mutex_init(&self->lock, NULL);
    zkl_condition_begin(&self->changed);
    self->files.options = options;
    self->mutex = mutex;
    self->socket = -1;
    self->copies = -1;
    int status = zkl_tls_run_errand(begin_tls, self);
    if (status != ZKL_OK) {
        zkl_tls_free(self);
        return status;
    }
    *made = self;
    return ZKL_OK;
}

/* Opens the handle; with the lock held. The third file is trusted by libzookeeper alone, which is
 * not asked. */
static zhandle_t *init_handle(zkl_tls *self, const zkl_transport_call *call) {
    char file[FILE_SIZE];
    char files[3 * FILE_SIZE];
    snprintf(file, sizeof(file), "/proc/self/fd/%d", self->copies);
    snprintf(files, sizeof(files), "%s,%s,%s", file, file, file);
    if (access(file, R_OK) != 0) {
        return NULL;
    }
    zkl_tls_await_context(&self->member, true);
    zhandle_t *handle = zookeeper_init_ssl(call->addresses, files, call->watcher, call->timeout_ms,
                                           call->session, call->context, ZOO_NO_LOG_CLIENTENV);
    if (handle != NULL) {
        zoo_set_log_callback(handle, call->log);
    } else {
        zkl_tls_await_context(&self->member, false);
    }
    return handle;
}

zhandle_t *zkl_tls_open(zkl_tls *self, const zkl_transport_call *call) {
    ZKL_WITH_MUTEX(&self->lock);
    self->ended_ms = zkl_clock_ms();
    self->member.is_checked = false;
    self->broken = false;
    self->closing = false;
    self->io_thread = 0;
    free(self->servers); /* what was left for another handle */
    self->servers = NULL;
    self->handle = zkl_tls_process_is_over() ? NULL : init_handle(self, call);
    return self->handle;
}

/* Ends the connection, a handshake too (lz-handshake), and waits until the handle has the other
 * servers. */
static void leave_server(zkl_tls *self) {
    int64_t deadline_ms = zkl_deadline(LEAVE_MS);
    self->leaving = true;
    if (self->socket >= 0) {
        (void)shutdown(self->socket, SHUT_RDWR);
    }
    zkl_condition_broadcast(&self->changed);
    while (self->leaving && zkl_condition_wait(&self->changed, &self->lock, deadline_ms)) {
    }
}

/* Waits until it is known with whom a handshake has begun. */
static void await_address(zkl_tls *self) {
    int64_t deadline_ms = zkl_deadline(LEAVE_MS);
    while (self->begun && self->socket < 0 && !self->broken &&
           zkl_condition_wait(&self->changed, &self->lock, deadline_ms)) {
    }
}

/* Tells whether nothing of TLS is about to happen, as long as the lock is held. */
static bool is_quiet(const zkl_tls *self) {
    return !self->begun && zkl_clock_ms() - self->ended_ms > QUIET_MS &&
           !zkl_tls_context_is_being_made();
}

bool zkl_tls_set_servers(zkl_tls *self, const char *addresses) {
    ZKL_WITH_MUTEX(&self->lock);
    await_address(self);
    free(self->servers);
    self->servers = zkl_tls_process_is_over() ? NULL : strdup(addresses); /* else it has nobody */
    if (self->servers == NULL) {
        return false;
    }
    if (!self->begun) {
        return is_quiet(self) && give_at_once(self);
    }
    bool stays = is_wanted(self);
    if (!stays) {
        leave_server(self);
    }
    return !stays;
}

zkl_session_state zkl_tls_look(zkl_tls *self) {
    ZKL_WITH_MUTEX(&self->lock);
    if (self->broken) {
        return ZKL_SESSION_STATE_EXPIRED;
    }
    return zoo_state(self->handle) == ZOO_CONNECTED_STATE && !self->member.is_checked
               ? ZKL_SESSION_STATE_AUTH_FAILED
               : ZKL_SESSION_STATE_CONNECTING;
}

static int close_handle(void *arg) {
    zkl_tls *self = arg;
    pthread_mutex_lock(&self->lock);
    self->closing = true;
    if (self->socket >= 0 && zoo_state(self->handle) != ZOO_CONNECTED_STATE) {
        (void)shutdown(self->socket, SHUT_RDWR);
    }
    zkl_condition_broadcast(&self->changed);
    pthread_mutex_unlock(&self->lock);
    (void)zookeeper_close(self->handle);
    zkl_tls_await_context(&self->member, false);
    ZKL_WITH_MUTEX(&self->lock);
    self->handle = NULL;
    return ZKL_OK;
}

void zkl_tls_close(zkl_tls *self) {
    (void)zkl_tls_run_errand(close_handle, self);
}

static int free_tls(void *arg) {
    zkl_tls *self = arg;
    zkl_tls_delist(&self->member);
    zkl_tls_files_free(&self->files);
    if (self->copies >= 0) {
        (void)close(self->copies);
    }
    zkl_condition_end(&self->changed);
    pthread_mutex_destroy(&self->lock);
    free(self->servers);
    free(self);
    return ZKL_OK;
}

/* Frees it. Once exit() was called it stays as it is. */
void zkl_tls_free(zkl_tls *self) {
    if (self != NULL) {
        (void)zkl_tls_run_errand(free_tls, self);
    }
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

void zkl_tls_close(zkl_tls *self) {
    (void)self;
}

#endif
