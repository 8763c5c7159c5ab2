#include "session/tls.h"

#include "base/error_message.h"

#ifdef ZKL_HAS_TLS

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <utlist.h>

#include "base/process_mutex.h"
#include "session/addresses.h"
#include "session/failures.h"

enum { NAME_SIZE = 16, ADDRESS_SIZE = 128, WHY_SIZE = 112, FILE_SIZE = 32, HOST_SIZE = 256 };
enum { LEAVE_MS = 2000 };

/* After a failure, as each attempt takes libzookeeper 25 ms of processor time: it reads all
 * authorities of the system. */
enum { PAUSE_MS = 200 };

/* A connection that is not about TLS by then waits for the other machine, or there is none: it is
 * not about to be. */
enum { QUIET_MS = 300 };

struct zkl_tls {
    const zkl_client_options *options;
    pthread_mutex_t *mutex; /* of the options */
    char name[NAME_SIZE];   /* of the threads of its handle */
    STACK_OF(X509) * authorities;
    int copies; /* of the certificate and the key, which libzookeeper reads at each connection */
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
    char *servers; /* NULL; or to be given to the handle when the connection is closed */
    char address[ADDRESS_SIZE];
    char why[WHY_SIZE]; /* it failed */
    zkl_tls *prev, *next;
};

/* Of the process: all that have a handle, in its mutex. */
static zkl_tls *all;
static uint32_t numbers;
static int context_index = -1;

/* ---- Files ------------------------------------------------------------------------------------
 */

static int give_password(char *text, int size, int writing, void *arg) {
    const char *password = arg;
    (void)writing;
    size_t length = password != NULL ? strlen(password) : 0;
    if (length == 0 || length >= (size_t)size) {
        return 0; /* without this OpenSSL would ask at the terminal */
    }
    snprintf(text, (size_t)size, "%s", password);
    return (int)length;
}

/* ZKL_INVALID_ARGUMENT: it cannot be read. */
static int open_file(const char *what, const char *name, BIO **file) {
    errno = 0;
    *file = BIO_new_file(name, "re");
    return *file != NULL ? ZKL_OK : zkl_refuse(what, name, "cannot be read: %s", strerror(errno));
}

/* All certificates of the file. NULL: it has none. */
static STACK_OF(X509) * read_certificates(BIO *file) {
    STACK_OF(X509) *read = sk_X509_new_null();
    X509 *one = NULL;
    while (read != NULL && (one = PEM_read_bio_X509(file, NULL, give_password, NULL)) != NULL) {
        sk_X509_push(read, one);
    }
    ERR_clear_error();
    if (sk_X509_num(read) <= 0) {
        sk_X509_free(read);
        return NULL;
    }
    return read;
}

static int load_certificates(const char *what, const char *name, STACK_OF(X509) * *read) {
    BIO *file = NULL;
    ZKL_TRY(open_file(what, name, &file));
    *read = read_certificates(file);
    BIO_free(file);
    return *read != NULL ? ZKL_OK : zkl_refuse(what, name, "has no certificate in PEM");
}

static int load_key(const zkl_client_options *options, EVP_PKEY **key) {
    BIO *file = NULL;
    ZKL_TRY(open_file("tls_key_file", options->tls_key_file, &file));
    *key = PEM_read_bio_PrivateKey(file, NULL, give_password, (void *)options->tls_key_password);
    BIO_free(file);
    ERR_clear_error();
    return *key != NULL ? ZKL_OK
                        : zkl_refuse("tls_key_file", options->tls_key_file,
                                     "has no private key in PEM that tls_key_password opens");
}

/* In memory, so that what happens to the files later leaves libzookeeper with something to read:
 * without that it tries again at once, for ever. */
static bool copy(zkl_tls *self, STACK_OF(X509) * chain, EVP_PKEY *key) {
    BIO *copies = BIO_new_fd(self->copies, BIO_NOCLOSE);
    bool copied =
        copies != NULL && ftruncate(self->copies, 0) == 0 && lseek(self->copies, 0, SEEK_SET) == 0;
    for (int i = 0; copied && i < sk_X509_num(chain); i++) {
        copied = PEM_write_bio_X509(copies, sk_X509_value(chain, i)) == 1;
    }
    copied = copied && PEM_write_bio_PrivateKey(copies, key, NULL, NULL, 0, NULL, NULL) == 1;
    BIO_free(copies);
    return copied;
}

static int take_pair(zkl_tls *self, STACK_OF(X509) * chain, EVP_PKEY *key) {
    if (X509_check_private_key(sk_X509_value(chain, 0), key) != 1) {
        ERR_clear_error();
        return zkl_refuse("tls_key_file", self->options->tls_key_file,
                          "is not the key of the first certificate in tls_certificate_file");
    }
    return copy(self, chain, key) ? ZKL_OK : ZKL_SYSTEM;
}

static int load_pair(zkl_tls *self) {
    STACK_OF(X509) *chain = NULL;
    EVP_PKEY *key = NULL;
    ZKL_TRY(load_certificates("tls_certificate_file", self->options->tls_certificate_file, &chain));
    int status = load_key(self->options, &key);
    if (status == ZKL_OK) {
        status = take_pair(self, chain, key);
    }
    EVP_PKEY_free(key);
    sk_X509_pop_free(chain, X509_free);
    return status;
}

/* What was read before stays where a file is not good. */
static int load(zkl_tls *self) {
    STACK_OF(X509) *authorities = NULL;
    ZKL_TRY(load_certificates("tls_ca_file", self->options->tls_ca_file, &authorities));
    int status = load_pair(self);
    if (status != ZKL_OK) {
        sk_X509_pop_free(authorities, X509_free);
        return status;
    }
    sk_X509_pop_free(self->authorities, X509_free);
    self->authorities = authorities;
    return ZKL_OK;
}

/* ---- The server's certificate ------------------------------------------------------------------
 */

/* "host", "host:port", or "[address]", likewise. */
static bool is_for(X509 *certificate, const char *server) {
    char host[HOST_SIZE];
    bool bracketed = server[0] == '[';
    snprintf(host, sizeof(host), "%.*s", (int)strcspn(server + bracketed, bracketed ? "]" : ":,"),
             server + bracketed);
    return X509_check_ip_asc(certificate, host, 0) == 1 ||
           X509_check_host(certificate, host, 0, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS, NULL) == 1;
}

static bool is_named(zkl_tls *self, X509 *certificate) {
    ZKL_WITH_MUTEX(self->mutex);
    const char *names = self->options->tls_server_names;
    bool named = strcmp(names, "*") == 0;
    for (; *names != '\0' && !named; names = zkl_addresses_rest(names)) {
        named = is_for(certificate, names);
    }
    return named;
}

/* In place of OpenSSL's own, which would look at the authorities of the system as well. */
static int check(X509_STORE_CTX *context, void *arg) {
    zkl_tls *self = arg;
    X509_STORE_CTX_set0_trusted_stack(context, self->authorities);
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

static void on_progress(const SSL *ssl, int where, int value) {
    zkl_tls *self = SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), context_index);
    ZKL_WITH_MUTEX(&self->lock);
    if (where == SSL_CB_HANDSHAKE_START) {
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
    (void)load(self); /* what was renewed */
    pthread_mutex_lock(&self->lock);
    self->begun = true;
    self->done = false;
    self->address[0] = '\0';
    self->why[0] = '\0';
    pthread_mutex_unlock(&self->lock);
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

/* libzookeeper is about to close the socket, and has freed the SSL. So this is the moment in which
 * it can be given other servers: from another thread it would free what the I/O thread uses. But
 * not while it still has to tell that a session has lost its connection, which it would forget. */
static void end_connection(zkl_tls *self) {
    if (self->why[0] == '\0' && !self->done && !self->leaving) {
        snprintf(self->why, sizeof(self->why), "%s",
                 "the TLS handshake failed (is it a port without TLS?)");
    } else if (self->why[0] == '\0' && !self->done && zkl_clock_ms() - self->began_ms > PAUSE_MS) {
        snprintf(self->why, sizeof(self->why), "%s", "no answer in the TLS handshake");
    }
    if (self->why[0] != '\0' && !self->closing) {
        zkl_failures_note(self->address, self->why);
    }
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
        bool failed = self->why[0] != '\0' || !self->done;
        int64_t deadline_ms = zkl_deadline(failed ? PAUSE_MS : 0);
        while (!self->leaving && !self->closing &&
               zkl_condition_wait(&self->changed, &self->lock, deadline_ms)) {
        }
        end_connection(self);
    }
}

/* ---- Handles -----------------------------------------------------------------------------------
 */

static void register_callbacks(void) {
    context_index = SSL_CTX_get_ex_new_index(0, NULL, on_context_made, NULL, on_context_freed);
}

static void enlist(zkl_tls *self) {
    ZKL_WITH_MUTEX(&zkl_process_mutex);
    snprintf(self->name, sizeof(self->name), "zklock-%08x", ++numbers);
    DL_APPEND(all, self);
}

int zkl_tls_make(const zkl_client_options *options, pthread_mutex_t *mutex, zkl_tls **made) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    zkl_tls *self = calloc(1, sizeof(*self));
    ZKL_TRY(zkl_made(self));
    pthread_once(&once, register_callbacks);
    pthread_mutex_init(&self->lock, NULL);
    zkl_condition_begin(&self->changed);
    self->options = options;
    self->mutex = mutex;
    self->socket = -1;
    self->copies = memfd_create("zklock", MFD_CLOEXEC);
    enlist(self);
    int status = self->copies >= 0 && context_index >= 0 ? load(self) : ZKL_SYSTEM;
    if (status != ZKL_OK) {
        zkl_tls_free(self);
        return status;
    }
    *made = self;
    return ZKL_OK;
}

/* The third file is trusted by libzookeeper alone, which is not asked. */
zhandle_t *zkl_tls_open(zkl_tls *self, const zkl_way_call *call) {
    char file[FILE_SIZE];
    char files[3 * FILE_SIZE];
    snprintf(file, sizeof(file), "/proc/self/fd/%d", self->copies);
    snprintf(files, sizeof(files), "%s,%s,%s", file, file, file);
    if (access(file, R_OK) != 0) {
        return NULL;
    }
    (void)load(self); /* what was renewed */
    self->ended_ms = zkl_clock_ms();
    self->checked = false;
    self->broken = false;
    self->closing = false;
    (void)pthread_setname_np(pthread_self(), self->name);
    ZKL_WITH_MUTEX(&self->lock);
    self->handle = zookeeper_init_ssl(call->addresses, files, call->watcher, call->timeout_ms,
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
    self->servers = strdup(addresses);
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

bool zkl_tls_hangs(zkl_tls *self) {
    ZKL_WITH_MUTEX(&self->lock);
    return self->begun && !self->done;
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

void zkl_tls_closes(zkl_tls *self) {
    ZKL_WITH_MUTEX(&self->lock);
    self->closing = true;
    if (self->socket >= 0 && zoo_state(self->handle) != ZOO_CONNECTED_STATE) {
        (void)shutdown(self->socket, SHUT_RDWR);
    }
    zkl_condition_broadcast(&self->changed);
}

void zkl_tls_free(zkl_tls *self) {
    if (self == NULL) {
        return;
    }
    pthread_mutex_lock(&zkl_process_mutex);
    DL_DELETE(all, self);
    pthread_mutex_unlock(&zkl_process_mutex);
    sk_X509_pop_free(self->authorities, X509_free);
    if (self->copies >= 0) {
        (void)close(self->copies);
    }
    zkl_condition_end(&self->changed);
    pthread_mutex_destroy(&self->lock);
    free(self->servers);
    free(self);
}

#else

#include <errno.h>

int zkl_tls_make(const zkl_client_options *options, pthread_mutex_t *mutex, zkl_tls **made) {
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

zhandle_t *zkl_tls_open(zkl_tls *self, const zkl_way_call *call) {
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

bool zkl_tls_hangs(zkl_tls *self) {
    (void)self;
    return false;
}

zkl_session_state zkl_tls_look(zkl_tls *self) {
    (void)self;
    return ZKL_SESSION_STATE_CONNECTING;
}

void zkl_tls_closes(zkl_tls *self) {
    (void)self;
}

#endif
