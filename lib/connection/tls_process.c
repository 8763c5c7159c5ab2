#include "connection/tls_process.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/x509.h>
#include <utlist.h>

#include "base/error_message.h"
#include "base/process_mutex.h"

/* How long exit() waits for our threads. */
enum { EXIT_MS = 5000 };

/* What libzookeeper takes at most from a context to its SSL: it reads all authorities of the
 * system. */
enum { MAKING_MS = 5000 };

/* A context that was made while a connection of ours awaited one. */
typedef struct seen_context {
    SSL_CTX *context;
    pthread_t maker;
    int64_t made_ms;
    pid_t process;
    bool is_new;            /* its maker has made no SSL since: it is in the list */
    zkl_tls_member *member; /* NULL: it is none of ours, or that is not known yet */
    struct seen_context *prev, *next;
} seen_context;

/* ---- Of the process, in its mutex --------------------------------------------------------- */

static zkl_tls_member *members;
static seen_context *new_contexts; /* the latest first */
static size_t errands;             /* under way */
static pthread_cond_t errand_ended;

/* Read without it as well, by each thread of the application that makes a context or an SSL. */
static atomic_size_t awaiting;  /* members */
static atomic_size_t new_count; /* contexts in the list */
static _Atomic pid_t owner;     /* whose all this is: not a fork of it */
static atomic_bool is_over;     /* exit() was called */

/* For good, from the first errand on. */
static int context_index = -1;

static bool is_of_this_process(void) {
    return owner == getpid();
}

/* ---- Contexts ------------------------------------------------------------------------------ */

static void forget_new(seen_context *one) {
    DL_DELETE(new_contexts, one);
    one->is_new = false;
    new_count--;
}

/* Marks connections whose contexts may not be recognised, for lack of memory, as not checked: what
 * nobody checks is not used. */
static void distrust_next(void) {
    for (zkl_tls_member *one = members; one != NULL; one = one->next) {
        if (one->awaits_context) {
            one->is_checked = false;
        }
    }
}

/* Notes a new context. OpenSSL calls it for each one of the process, on the thread that makes it.
 * Whose it is its certificate will tell. */
static void on_context_made(void *context, void *unused, CRYPTO_EX_DATA *data, int index,
                            long number, void *arg) {
    (void)unused;
    (void)number;
    (void)arg;
    if (awaiting == 0 || !is_of_this_process()) {
        return;
    }
    seen_context *one = malloc(sizeof(*one));
    ZKL_WITH_MUTEX(&zkl_process_mutex);
    if (one == NULL || CRYPTO_set_ex_data(data, index, one) != 1) {
        distrust_next();
        free(one);
        return;
    }
    *one = (seen_context){ .context = context,
                           .maker = pthread_self(),
                           .made_ms = zkl_clock_ms(),
                           .process = owner,
                           .is_new = true };
    DL_PREPEND(new_contexts, one);
    new_count++;
}

static zkl_tls_member *member_of(const SSL_CTX *context) {
    X509 *certificate = SSL_CTX_get0_certificate(context);
    int length = 0;
    const void *mark = certificate != NULL ? X509_alias_get0(certificate, &length) : NULL;
    zkl_tls_member *one = mark != NULL ? members : NULL;
    while (one != NULL &&
           (strlen(one->mark) != (size_t)length || memcmp(one->mark, mark, (size_t)length) != 0)) {
        one = one->next;
    }
    return one;
}

/* Returns the context that the calling thread has made last; NULL if it has made an SSL since. From
 * OpenSSL 3.2 on `ssl` does not know its context yet. The context is not freed while we have the
 * mutex: OpenSSL calls on_context_freed before it frees the certificate. */
static seen_context *take_new(const SSL *ssl) {
    const SSL_CTX *context = SSL_get_SSL_CTX(ssl);
    seen_context *one = new_contexts;
    while (one != NULL && !pthread_equal(one->maker, pthread_self())) {
        one = one->next;
    }
    if (one == NULL || (context != NULL && context != one->context)) {
        return NULL;
    }
    forget_new(one);
    one->member = member_of(one->context);
    return one;
}

/* Finds out whether the context of a new SSL is ours. OpenSSL calls it for each SSL of the process,
 * on the thread that makes it. */
static void on_ssl_made(void *ssl, void *unused, CRYPTO_EX_DATA *data, int index, long number,
                        void *arg) {
    (void)unused;
    (void)data;
    (void)index;
    (void)number;
    (void)arg;
    if (new_count == 0 || !is_of_this_process()) {
        return;
    }
    pthread_mutex_lock(&zkl_process_mutex);
    seen_context *one = take_new(ssl);
    SSL_CTX *context = one != NULL ? one->context : NULL;
    zkl_tls_member *member = one != NULL ? one->member : NULL;
    pthread_mutex_unlock(&zkl_process_mutex);
    if (member != NULL) {
        member->callbacks->begins(member, context);
    }
}

static void on_context_freed(void *context, void *arg, CRYPTO_EX_DATA *data, int index, long number,
                             void *unused) {
    seen_context *one = arg;
    (void)context;
    (void)data;
    (void)index;
    (void)number;
    (void)unused;
    if (one == NULL || one->process != getpid()) {
        return;
    }
    pthread_mutex_lock(&zkl_process_mutex);
    if (one->is_new) {
        forget_new(one);
    }
    zkl_tls_member *member = one->member;
    pthread_mutex_unlock(&zkl_process_mutex);
    free(one);
    if (member != NULL) {
        member->callbacks->ended(member);
    }
}

zkl_tls_member *zkl_tls_member_of(const SSL *ssl) {
    const seen_context *one = SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), context_index);
    return one->member;
}

bool zkl_tls_context_is_being_made(void) {
    ZKL_WITH_MUTEX(&zkl_process_mutex);
    return new_contexts != NULL && zkl_clock_ms() - new_contexts->made_ms < MAKING_MS;
}

/* ---- The end of the process ---------------------------------------------------------------- */

/* Keeps all threads of ours, and libzookeeper's (lz-exit), from OpenSSL, which ends when this
 * returns. */
static void on_end_of_openssl(void) {
    int64_t deadline_ms = zkl_deadline(EXIT_MS);
    if (!is_of_this_process()) {
        return; /* a fork has no threads, and perhaps a mutex that one of them had */
    }
    pthread_mutex_lock(&zkl_process_mutex);
    is_over = true;
    pthread_mutex_unlock(&zkl_process_mutex);
    for (zkl_tls_member *one = members; one != NULL; one = one->next) {
        one->callbacks->stop(one, deadline_ms);
    }
    ZKL_WITH_MUTEX(&zkl_process_mutex);
    while (errands > 0 && zkl_condition_wait(&errand_ended, &zkl_process_mutex, deadline_ms)) {
    }
}

bool zkl_tls_process_is_over(void) {
    return is_over;
}

/* ---- Errands --------------------------------------------------------------------------------- */

/* Begins OpenSSL, and has exit() call us before OpenSSL's end: what is registered later is called
 * earlier, and OpenSSL registers its end while it begins. Should exit() be called in between, that
 * end calls us before it frees anything. */
static void begin_process(void) {
    (void)OPENSSL_atexit(on_end_of_openssl);
    bool begun = OPENSSL_init_ssl(0, NULL) == 1;
    (void)atexit(on_end_of_openssl);
    if (begun && SSL_get_ex_new_index(0, NULL, on_ssl_made, NULL, NULL) >= 0) {
        context_index = SSL_CTX_get_ex_new_index(0, NULL, on_context_made, NULL, on_context_freed);
    }
}

/* Begins anew in a fork: what it finds is its parent's, and it has none of the threads. */
static void own_process(void) {
    if (!is_of_this_process()) {
        members = NULL;
        new_contexts = NULL;
        new_count = 0;
        awaiting = 0;
        errands = 0;
        zkl_condition_begin(&errand_ended);
        owner = getpid();
    }
}

static bool begin_errand(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_mutex_lock(&zkl_process_mutex);
    own_process();
    bool may_begin = !is_over;
    errands += may_begin ? 1 : 0;
    pthread_mutex_unlock(&zkl_process_mutex);
    if (may_begin) {
        pthread_once(&once, begin_process);
    }
    return may_begin;
}

/* Ends an errand. OpenSSL keeps nothing for this thread from here on, and so has nothing to do when
 * the thread ends. */
static void end_errand(void) {
    OPENSSL_thread_stop();
    ZKL_WITH_MUTEX(&zkl_process_mutex);
    errands--;
    zkl_condition_broadcast(&errand_ended);
}

typedef struct errand_call {
    int (*errand)(void *arg);
    void *arg;
    int status;
    char message[ZKL_MESSAGE_SIZE];
} errand_call;

static void *run_errand(void *arg) {
    errand_call *call = arg;
    if (begin_errand()) {
        call->status = call->errand(call->arg);
        snprintf(call->message, sizeof(call->message), "%s", zkl_error_message());
        end_errand();
    }
    return NULL;
}

int zkl_tls_run_errand(int (*errand)(void *arg), void *arg) {
    errand_call call = { .errand = errand, .arg = arg, .status = ZKL_SYSTEM };
    pthread_t thread;
    if (zkl_thread_start(&thread, run_errand, &call)) {
        zkl_thread_join(thread);
    } else {
        (void)run_errand(&call);
    }
    if (call.message[0] != '\0') {
        zkl_error_set(call.message);
    }
    return call.status;
}

/* ---- Members --------------------------------------------------------------------------------- */

bool zkl_tls_enlist(zkl_tls_member *self) {
    ZKL_WITH_MUTEX(&zkl_process_mutex);
    if (context_index < 0 || is_over) {
        return false;
    }
    snprintf(self->mark, sizeof(self->mark), "zklock %p", (void *)self);
    self->process = getpid();
    DL_APPEND(members, self);
    return true;
}

void zkl_tls_delist(zkl_tls_member *self) {
    ZKL_WITH_MUTEX(&zkl_process_mutex);
    if (self->process == owner) {
        DL_DELETE(members, self);
    }
}

void zkl_tls_await_context(zkl_tls_member *self, bool awaits) {
    bool did = atomic_exchange(&self->awaits_context, awaits);
    awaiting += awaits && !did ? 1 : 0;
    awaiting -= did && !awaits ? 1 : 0;
}
