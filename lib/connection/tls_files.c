#include "connection/tls_files.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

static int load_key(const zkl_security *options, EVP_PKEY **key) {
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
static bool copy(zkl_tls_files *self, STACK_OF(X509) * chain, EVP_PKEY *key) {
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

static int take_pair(zkl_tls_files *self, STACK_OF(X509) * chain, EVP_PKEY *key) {
    if (X509_check_private_key(sk_X509_value(chain, 0), key) != 1) {
        ERR_clear_error();
        return zkl_refuse("tls_key_file", self->options->tls_key_file,
                          "is not the key of the first certificate in tls_certificate_file");
    }
    return copy(self, chain, key) ? ZKL_OK : ZKL_SYSTEM;
}

static int load_pair(zkl_tls_files *self) {
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

int zkl_tls_files_load(zkl_tls_files *self) {
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
