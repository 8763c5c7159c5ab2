#include "connection/sasl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error_message.h"

#ifdef ZKL_HAS_SASL

#include <sasl/sasl.h>

enum { CALLBACKS = 4 };

/* libzookeeper keeps the pointer to the callbacks (lz-sasl-pointers), and Cyrus SASL that to the
 * secret. */
struct zkl_sasl {
    const zkl_security *options;
    sasl_callback_t callbacks[CALLBACKS];
    sasl_secret_t *secret; /* with room for the longest */
};

/* ---- Mutexes: without them Cyrus SASL is for one thread -------------------------------------- */

static void *make_mutex(void) {
    pthread_mutex_t *mutex = malloc(sizeof(pthread_mutex_t));
    if (mutex != NULL) {
        pthread_mutex_init(mutex, NULL);
    }
    return mutex;
}

static int lock(void *mutex) {
    return pthread_mutex_lock(mutex);
}

static int unlock(void *mutex) {
    return pthread_mutex_unlock(mutex);
}

static void free_mutex(void *mutex) {
    pthread_mutex_destroy(mutex);
    free(mutex);
}

/* If the application has done so before, this changes nothing. */
static void begin(void) {
    sasl_set_mutex(make_mutex, lock, unlock, free_mutex);
    (void)sasl_client_init(NULL);
}

/* ---- What is asked of it at each login; on a thread of libzookeeper -------------------------- */

static int tell_user(void *context, int id, const char **result, unsigned *length) {
    const zkl_sasl *self = context;
    const char *user = self->options->sasl_user;
    (void)id;
    *result = user != NULL ? user : "";
    if (length != NULL) {
        *length = (unsigned)strlen(*result);
    }
    return SASL_OK;
}

/* The first line of the file. False: it cannot be read. */
static bool read_password(const char *name, char password[ZKL_SECRET_MAX + 1]) {
    errno = 0;
    FILE *file = fopen(name, "re");
    bool read = file != NULL && fgets(password, ZKL_SECRET_MAX + 1, file) != NULL;
    int error = errno;
    if (file != NULL) {
        (void)fclose(file);
    }
    errno = error;
    if (read) {
        password[strcspn(password, "\r\n")] = '\0';
    }
    return read;
}

/* From the file at each login, so that it can be changed. */
static int tell_password(sasl_conn_t *connection, void *context, int id, sasl_secret_t **secret) {
    zkl_sasl *self = context;
    const zkl_security *options = self->options;
    char *password = (char *)self->secret->data;
    (void)connection;
    (void)id;
    if (options->sasl_password_file == NULL) {
        snprintf(password, ZKL_SECRET_MAX + 1, "%s",
                 options->sasl_password != NULL ? options->sasl_password : "");
    } else if (!read_password(options->sasl_password_file, password)) {
        return SASL_FAIL;
    }
    self->secret->len = strlen(password);
    *secret = self->secret;
    return SASL_OK;
}

/* Cyrus SASL has one type for all of them. */
#define AS_CALLBACK(function) ((int (*)(void))(void (*)(void))(function))

/* ---- Handles -------------------------------------------------------------------------------- */

int zkl_sasl_make(const zkl_security *options, zkl_sasl **made) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    zkl_sasl *self = calloc(1, sizeof(*self));
    sasl_secret_t *secret = calloc(1, sizeof(*secret) + ZKL_SECRET_MAX + 1);
    const char *file = options->sasl_password_file;
    if (self == NULL || secret == NULL) {
        free(self);
        free(secret);
        return ZKL_NO_MEMORY;
    }
    *self = (zkl_sasl){ .options = options,
                        .secret = secret,
                        .callbacks = { { SASL_CB_USER, AS_CALLBACK(tell_user), self },
                                       { SASL_CB_AUTHNAME, AS_CALLBACK(tell_user), self },
                                       { SASL_CB_PASS, AS_CALLBACK(tell_password), self },
                                       { SASL_CB_LIST_END, NULL, NULL } } };
    if (file != NULL && !read_password(file, (char *)secret->data)) {
        int error = errno;
        zkl_sasl_free(self);
        return zkl_refuse("sasl_password_file", file, "cannot be read: %s",
                          error != 0 ? strerror(error) : "it is empty");
    }
    pthread_once(&once, begin);
    *made = self;
    return ZKL_OK;
}

zhandle_t *zkl_sasl_open(zkl_sasl *self, const zkl_transport_call *call) {
    const zkl_security *options = self->options;
    zoo_sasl_params_t parameters = {
        .service = options->sasl_service != NULL ? options->sasl_service : "zookeeper",
        .host = options->sasl_host != NULL ? options->sasl_host : "zk-sasl-md5",
        .mechlist = options->sasl_mechanism,
        .callbacks = self->callbacks,
    };
    return zookeeper_init_sasl(call->addresses, call->watcher, call->timeout_ms, call->session,
                               call->context, 0, call->log, &parameters);
}

void zkl_sasl_free(zkl_sasl *self) {
    if (self != NULL) {
        explicit_bzero(self->secret, sizeof(*self->secret) + ZKL_SECRET_MAX + 1);
        free(self->secret);
        free(self);
    }
}

#else

int zkl_sasl_make(const zkl_security *options, zkl_sasl **made) {
    (void)made;
    zkl_error_note("sasl_mechanism", options->sasl_mechanism,
                   "this libzookeeper was built without Cyrus SASL, as those of Debian are: build "
                   "zklock with another one (docs/security.md)");
    return ZKL_UNSUPPORTED;
}

zhandle_t *zkl_sasl_open(zkl_sasl *self, const zkl_transport_call *call) {
    (void)self;
    (void)call;
    errno = ENOSYS;
    return NULL;
}

void zkl_sasl_free(zkl_sasl *self) {
    (void)self;
}

#endif
