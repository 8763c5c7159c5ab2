#include "support/tls_front.h"

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "support/unit.h"

enum { DAY_S = 86400, PIECE_SIZE = 8192, SERIAL_OF_SERVERS = 7, FILES = 8, FIRST_SERIAL = 2 };
enum { RSA_BITS = 2048 };

/* ---- Keys and certificates ----------------------------------------------------------------- */

typedef struct identity {
    EVP_PKEY *key;
    X509 *certificate;
} identity;

static char directory[TLS_PATH_SIZE / 2];
static identity authority;

const char *tls_file(const char *name) {
    static char files[FILES][TLS_PATH_SIZE];
    static int next;
    char *file = files[next++ % FILES];
    snprintf(file, TLS_PATH_SIZE, "%s/%s", directory, name);
    return file;
}

static void add_extension(X509 *certificate, int kind, const char *value) {
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, kind, value);
    EXPECT_INT(X509_add_ext(certificate, extension, -1), 1);
    X509_EXTENSION_free(extension);
}

/* Makes an identity, signed by the authority, or by itself if there is none yet. */
static identity make_identity(EVP_PKEY *key, const char *common_name, long serial,
                              const char *alternative_names) {
    identity made = { key, X509_new() };
    X509_NAME *subject = X509_get_subject_name(made.certificate);
    bool is_authority = authority.key == NULL;
    X509_set_version(made.certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(made.certificate), serial);
    X509_gmtime_adj(X509_getm_notBefore(made.certificate), -DAY_S);
    X509_gmtime_adj(X509_getm_notAfter(made.certificate), DAY_S);
    X509_set_pubkey(made.certificate, made.key);
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)common_name, -1,
                               -1, 0);
    X509_set_issuer_name(made.certificate,
                         is_authority ? subject : X509_get_subject_name(authority.certificate));
    add_extension(made.certificate, NID_basic_constraints, is_authority ? "CA:TRUE" : "CA:FALSE");
    if (alternative_names != NULL) {
        add_extension(made.certificate, NID_subject_alt_name, alternative_names);
    }
    EXPECT(X509_sign(made.certificate, is_authority ? made.key : authority.key, EVP_sha256()) > 0);
    return made;
}

static void free_identity(identity *self) {
    X509_free(self->certificate);
    EVP_PKEY_free(self->key);
    *self = (identity){ NULL, NULL };
}

/* Writes a file by one rename, as the library asks for. */
static void write_file(const char *name, X509 *certificate, EVP_PKEY *key) {
    char fresh[TLS_PATH_SIZE];
    snprintf(fresh, sizeof(fresh), "%s", tls_file("fresh"));
    FILE *file = fopen(fresh, "we");
    EXPECT_INT(fchmod(fileno(file), 0600), 0);
    EXPECT_INT(key != NULL ? PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL)
                           : PEM_write_X509(file, certificate),
               1);
    (void)fclose(file);
    EXPECT_INT(rename(fresh, tls_file(name)), 0);
}

void tls_keys_renew(long serial) {
    EVP_PKEY *key = serial == FIRST_SERIAL ? EVP_EC_gen("P-256") : EVP_RSA_gen(RSA_BITS);
    identity client = make_identity(key, "client", serial, NULL);
    write_file("client.key", NULL, client.key);
    write_file("client.pem", client.certificate, NULL);
    free_identity(&client);
}

const char *tls_keys_begin(void) {
    snprintf(directory, sizeof(directory), "/tmp/zklock-tls-XXXXXX");
    EXPECT(mkdtemp(directory) != NULL);
    authority = make_identity(EVP_EC_gen("P-256"), "authority", 1, NULL);
    write_file("ca.pem", authority.certificate, NULL);
    tls_keys_renew(FIRST_SERIAL);
    return directory;
}

void tls_keys_end(void) {
    static const char *const names[] = { "ca.pem", "client.pem", "client.key" };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        (void)unlink(tls_file(names[i]));
    }
    EXPECT_INT(rmdir(directory), 0);
    free_identity(&authority);
}

/* ---- The server ---------------------------------------------------------------------------- */

static int connect_behind(const tls_front *self) {
    struct sockaddr_in address = { .sin_family = AF_INET };
    int behind = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    address.sin_port = htons((uint16_t)strtoul(strchr(self->behind.hosts, ':') + 1, NULL, 10));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_INT(connect(behind, (struct sockaddr *)&address, sizeof(address)), 0);
    return behind;
}

/* Carries bytes in both directions, until one side ends. */
static void carry(SSL *ssl, int behind) {
    char piece[PIECE_SIZE];
    struct pollfd both[] = { { SSL_get_fd(ssl), POLLIN, 0 }, { behind, POLLIN, 0 } };
    bool goes_on = true;
    while (goes_on && poll(both, 2, -1) > 0) {
        if (both[0].revents != 0) {
            int size = SSL_read(ssl, piece, sizeof(piece));
            goes_on = size > 0 && send(behind, piece, (size_t)size, MSG_NOSIGNAL) == size;
        }
        if (goes_on && both[1].revents != 0) {
            ssize_t size = recv(behind, piece, sizeof(piece), 0);
            goes_on = size > 0 && SSL_write(ssl, piece, (int)size) == (int)size;
        }
    }
}

static void note_client(tls_front *self, const SSL *ssl) {
    X509 *certificate = SSL_get1_peer_certificate(ssl);
    self->serial_of_client =
        certificate != NULL ? ASN1_INTEGER_get(X509_get0_serialNumber(certificate)) : 0;
    X509_free(certificate);
    atomic_fetch_add(&self->connections, 1);
}

static void serve_client(tls_front *self, int client) {
    SSL *ssl = SSL_new(self->context);
    SSL_set_fd(ssl, client);
    if (SSL_accept(ssl) == 1) {
        int behind = connect_behind(self);
        note_client(self, ssl);
        carry(ssl, behind);
        (void)close(behind);
    } else {
        atomic_fetch_add(&self->refusals, 1);
    }
    SSL_free(ssl);
}

static void *serve(void *arg) {
    tls_front *self = arg;
    int client = -1;
    while ((client = accept(self->listener, NULL, NULL)) >= 0) {
        self->client = client;
        serve_client(self, client);
        self->client = -1;
        (void)close(client);
    }
    return NULL;
}

/* Accepts every client. */
static int accept_any(int is_good, X509_STORE_CTX *context) {
    (void)is_good;
    (void)context;
    return 1;
}

static void *make_context(const char *common_name, const char *alternative_names) {
    SSL_CTX *made = SSL_CTX_new(TLS_server_method());
    identity server =
        make_identity(EVP_EC_gen("P-256"), common_name, SERIAL_OF_SERVERS, alternative_names);
    EXPECT_INT(SSL_CTX_use_certificate(made, server.certificate), 1);
    EXPECT_INT(SSL_CTX_use_PrivateKey(made, server.key), 1);
    SSL_CTX_set_verify(made, SSL_VERIFY_PEER, accept_any);
    free_identity(&server);
    return made;
}

void tls_front_begin(tls_front *self, const char *common_name, const char *alternative_names) {
    struct sockaddr_in address = { .sin_family = AF_INET };
    socklen_t size = sizeof(address);
    (void)signal(SIGPIPE, SIG_IGN);
    *self = (tls_front){ .listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), .client = -1 };
    scripted_server_begin(&self->behind);
    self->context = make_context(common_name, alternative_names);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_INT(bind(self->listener, (struct sockaddr *)&address, size), 0);
    EXPECT_INT(listen(self->listener, SOMAXCONN), 0);
    EXPECT_INT(getsockname(self->listener, (struct sockaddr *)&address, &size), 0);
    snprintf(self->hosts, sizeof(self->hosts), "127.0.0.1:%d", ntohs(address.sin_port));
    EXPECT_INT(pthread_create(&self->thread, NULL, serve, self), 0);
}

void tls_front_change(tls_front *self, const char *common_name, const char *alternative_names) {
    SSL_CTX_free(self->former);
    self->former = self->context;
    self->context = make_context(common_name, alternative_names);
}

void tls_front_hang_up(tls_front *self) {
    (void)shutdown(self->client, SHUT_RDWR);
}

void tls_front_end(tls_front *self) {
    (void)shutdown(self->listener, SHUT_RDWR);
    (void)pthread_join(self->thread, NULL);
    (void)close(self->listener);
    SSL_CTX_free(self->former);
    SSL_CTX_free(self->context);
    scripted_server_end(&self->behind);
}

/* ---- Its clients --------------------------------------------------------------------------- */

zkl_security tls_security;

zkl_client_options tls_options(void) {
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    tls_security = (zkl_security)ZKL_SECURITY_INIT;
    options.security = &tls_security;
    options.session_timeout_ms = SCRIPTED_SESSION_MS;
    options.connect_timeout_ms = TLS_ENOUGH_MS;
    tls_security.tls_ca_file = tls_file("ca.pem");
    tls_security.tls_certificate_file = tls_file("client.pem");
    tls_security.tls_key_file = tls_file("client.key");
    return options;
}

int tls_open(const tls_front *self, const zkl_client_options *options) {
    zkl_client *client = NULL;
    int status = zkl_client_open(self->hosts, options, &client);
    if (client != NULL) {
        EXPECT_INT(zkl_client_close(client, 0), ZKL_OK);
    }
    return status;
}
