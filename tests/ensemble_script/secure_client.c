/* A session of libzookeeper's, without zklock: prints what it is told by servers that want TLS,
   SASL or a credential. It needs the libzookeeper of tools/build-zookeeper-client. */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include <zookeeper/zookeeper.h>

static const char usage[] =
    "usage: secure_client HOSTS WATCH_MS [OPTION...]\n"
    "\n"
    "Opens a session of 6 s, waits 3 s at most until it is connected or its handle is at its end, "
    "creates an ephemeral\n"
    "node, watches the session for WATCH_MS and closes it. Prints a line for each thing that it is "
    "told.\n"
    "\n"
    "  --tls CA,CERTIFICATE,KEY    files in PEM; CERTIFICATE and KEY may be missing\n"
    "  --sasl USER PASSWORD_FILE   logs in by DIGEST-MD5\n"
    "  --auth SCHEME CREDENTIAL    gives a credential before it creates the node\n"
    "  --shut MS                   shuts its sockets down every MS, while it is not connected\n";

enum { session_ms = 6000, connect_ms = 3000, look_ms = 10 };

typedef struct {
    const char *hosts;
    int watch_ms;
    int shut_ms;
    const char *tls;
    const char *user;
    const char *password_file;
    const char *scheme;
    const char *credential;
} options;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static bool connected;
static bool credential_answered;

static void say(const char *what, int value) {
    printf("%s %d\n", what, value);
}

static void set(bool *what, bool value) {
    pthread_mutex_lock(&mutex);
    *what = value;
    pthread_mutex_unlock(&mutex);
}

static bool get(const bool *what) {
    pthread_mutex_lock(&mutex);
    bool value = *what;
    pthread_mutex_unlock(&mutex);
    return value;
}

static void on_event(zhandle_t *handle, int type, int state, const char *path, void *context) {
    (void)handle, (void)path, (void)context;
    if (type != ZOO_SESSION_EVENT) {
        return;
    }
    say("event", state);
    set(&connected, state == ZOO_CONNECTED_STATE);
}

static void on_auth(int outcome, const void *context) {
    (void)context;
    say("auth", outcome);
    set(&credential_answered, true);
}

static void on_create(int outcome, const char *path, const void *context) {
    (void)path, (void)context;
    say("create", outcome);
}

static void pause_ms(int ms) {
    nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L }, NULL);
}

static void *shut_sockets(void *context) {
    for (;;) {
        pause_ms(*(int *)context);
        for (int descriptor = 3; !get(&connected) && descriptor < 64; descriptor++) {
            shutdown(descriptor, SHUT_RDWR);
        }
    }
    return NULL;
}

/* How many words it takes; 0 for one that is not known, or not whole. */
static int take_option(options *self, char **rest, int count) {
    if (strcmp(rest[0], "--tls") == 0 && count >= 2) {
        self->tls = rest[1];
        return 2;
    }
    if (strcmp(rest[0], "--shut") == 0 && count >= 2) {
        self->shut_ms = atoi(rest[1]);
        return 2;
    }
    if (strcmp(rest[0], "--sasl") == 0 && count >= 3) {
        self->user = rest[1];
        self->password_file = rest[2];
        return 3;
    }
    if (strcmp(rest[0], "--auth") == 0 && count >= 3) {
        self->scheme = rest[1];
        self->credential = rest[2];
        return 3;
    }
    return 0;
}

static bool parse(options *self, int count, char **arguments) {
    if (count < 3) {
        return false;
    }
    *self = (options){ .hosts = arguments[1], .watch_ms = atoi(arguments[2]) };
    for (int i = 3, words; i < count; i += words) {
        words = take_option(self, arguments + i, count - i);
        if (words == 0) {
            return false;
        }
    }
    return true;
}

/* The callbacks must outlive the handle. */
static zhandle_t *open_with_sasl(const options *self) {
    sasl_client_init(NULL);
    zoo_sasl_params_t parameters = {
        .service = "zookeeper",
        .host = "zk-sasl-md5",
        .mechlist = "DIGEST-MD5",
        .callbacks = zoo_sasl_make_basic_callbacks(self->user, NULL, self->password_file),
    };
    return zookeeper_init_sasl(self->hosts, on_event, session_ms, NULL, NULL, ZOO_NO_LOG_CLIENTENV,
                               NULL, &parameters);
}

static zhandle_t *open_session(const options *self) {
    if (self->tls) {
        return zookeeper_init_ssl(self->hosts, self->tls, on_event, session_ms, NULL, NULL,
                                  ZOO_NO_LOG_CLIENTENV);
    }
    if (self->user) {
        return open_with_sasl(self);
    }
    return zookeeper_init(self->hosts, on_event, session_ms, NULL, NULL, ZOO_NO_LOG_CLIENTENV);
}

static void wait_for(const bool *what, zhandle_t *handle) {
    for (int waited = 0; waited < connect_ms && !get(what) && is_unrecoverable(handle) == ZOK;
         waited += look_ms) {
        pause_ms(look_ms);
    }
}

/* The node waits for the outcome: a server that refuses a credential closes the connection, and its
   answer can get lost if another request comes in just then. */
static void use(zhandle_t *handle, const options *self) {
    wait_for(&connected, handle);
    if (self->scheme) {
        say("add_auth", zoo_add_auth(handle, self->scheme, self->credential,
                                     (int)strlen(self->credential), on_auth, NULL));
        wait_for(&credential_answered, handle);
    }
    int sent = zoo_acreate(handle, "/secure-client-", "", 0, &ZOO_OPEN_ACL_UNSAFE,
                           ZOO_EPHEMERAL | ZOO_SEQUENCE, on_create, NULL);
    if (sent != ZOK) {
        say("acreate", sent);
    }
    pause_ms(self->watch_ms);
    say("state", zoo_state(handle));
    say("unrecoverable", is_unrecoverable(handle));
}

/* OpenSSL writes to sockets in such a way that one that is closed gives SIGPIPE. Threads inherit
 * the mask. */
static void block_sigpipe(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

int main(int count, char **arguments) {
    options self;
    if (!parse(&self, count, arguments)) {
        fputs(usage, stderr);
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    block_sigpipe();
    zhandle_t *handle = open_session(&self);
    if (!handle) {
        perror("secure_client: no handle");
        return 1;
    }
    pthread_t shutter;
    if (self.shut_ms > 0 && pthread_create(&shutter, NULL, shut_sockets, &self.shut_ms) != 0) {
        return 1;
    }
    use(handle, &self);
    say("close", zookeeper_close(handle));
    return 0;
}
