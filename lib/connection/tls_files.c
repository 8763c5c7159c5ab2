#include "connection/tls_files.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/pem.h>

#include "base/error_message.h"

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

/* Opens a file. ZKL_INVALID_ARGUMENT: it cannot be read. */
static int open_file(const char *what, const char *name, BIO **file) {
    errno = 0;
    *file = BIO_new_file(name, "re");
    return *file != NULL ? ZKL_OK : zkl_refuse(what, name, "cannot be read: %s", strerror(errno));
}

/* Returns all certificates of the file. NULL: it has none. */
static STACK_OF(X509) * read_certificates(BIO *file) {
    STACK_OF(X509) *read = sk_X509_new_null();
    X509 *one = NULL;
    while (read != NULL && (one = PEM_read_bio_X509(file, NULL, give_password, NULL)) != NULL) {
        sk_X509_push(read, one);
    }
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

static int load_key(const zkl_security *options, EVP_PKEY **key) {
    BIO *file = NULL;
    ZKL_TRY(open_file("tls_key_file", options->tls_key_file, &file));
    *key = PEM_read_bio_PrivateKey(file, NULL, give_password, (void *)options->tls_key_password);
    BIO_free(file);
    return *key != NULL ? ZKL_OK
                        : zkl_refuse("tls_key_file", options->tls_key_file,
                                     "has no private key in PEM that tls_key_password opens");
}

static int load_pair(const zkl_security *options, STACK_OF(X509) * *chain, EVP_PKEY **key) {
    ZKL_TRY(load_certificates("tls_certificate_file", options->tls_certificate_file, chain));
    ZKL_TRY(load_key(options, key));
    if (X509_check_private_key(sk_X509_value(*chain, 0), *key) == 1) {
        return ZKL_OK;
    }
    return zkl_refuse("tls_key_file", options->tls_key_file,
                      "is not the key of the first certificate in tls_certificate_file");
}

int zkl_tls_files_load(zkl_tls_files *self) {
    zkl_tls_files read = { .options = self->options };
    int status = load_certificates("tls_ca_file", self->options->tls_ca_file, &read.authorities);
    if (status == ZKL_OK) {
        status = load_pair(self->options, &read.chain, &read.key);
    }
    if (status == ZKL_OK) {
        const zkl_tls_files before = *self;
        *self = read;
        read = before;
    }
    zkl_tls_files_free(&read);
    ERR_clear_error();
    return status;
}

void zkl_tls_files_free(zkl_tls_files *self) {
    sk_X509_pop_free(self->authorities, X509_free);
    sk_X509_pop_free(self->chain, X509_free);
    EVP_PKEY_free(self->key);
}

bool zkl_tls_files_copy(const zkl_tls_files *self, int descriptor, const char *mark) {
    BIO *file = BIO_new_fd(descriptor, BIO_NOCLOSE);
    X509 *first = sk_X509_value(self->chain, 0);
    bool copied = file != NULL &&
                  X509_alias_set1(first, (const unsigned char *)mark, (int)strlen(mark)) == 1 &&
                  PEM_write_bio_X509_AUX(file, first) == 1;
    for (int i = 1; copied && i < sk_X509_num(self->chain); i++) {
        copied = PEM_write_bio_X509(file, sk_X509_value(self->chain, i)) == 1;
    }
    copied = copied && PEM_write_bio_PrivateKey(file, self->key, NULL, NULL, 0, NULL, NULL) == 1;
    BIO_free(file);
    return copied;
}

void zkl_tls_files_show(const zkl_tls_files *self, SSL *ssl) {
    SSL_certs_clear(ssl);
    (void)SSL_use_certificate(ssl, sk_X509_value(self->chain, 0));
    (void)SSL_use_PrivateKey(ssl, self->key);
    for (int i = 1; i < sk_X509_num(self->chain); i++) {
        (void)SSL_add1_chain_cert(ssl, sk_X509_value(self->chain, i));
    }
    ERR_clear_error();
}
