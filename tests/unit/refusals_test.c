/*
 * What a client makes of errors that real servers give rarely: over libzookeeper itself, and a
 * server that speaks just enough of ZooKeeper's protocol to give them.
 */
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include <zookeeper/zookeeper.h>

#include "support/scripted_server.h"
#include "support/unit.h"
#include "zklock/zklock.h"

enum {
    PATIENCE_MS = 20000,
    AT_MOST_S = 30,        /* for a test, which takes two seconds */
    PAUSE_MS = 1000,       /* session_threads.c: RETRY_PAUSE_MS */
    QUIET_US = 300 * 1000, /* libzookeeper comes back 15 times a second */
    CONNECTION_LOSS = -4,
    NO_NODE = -101,
    SESSION_EXPIRED = -112,
    SESSION_MOVED = -118,
    SESSION_CLOSED_REQUIRES_SASL_AUTH = -124,
    QUOTA_EXCEEDED = -125,
};

static scripted_server server;
static atomic_int adds_that_fail;

/* As when it has no memory. */
int __real_zoo_add_auth(zhandle_t *handle, const char *scheme, const char *secret, int size,
                        void_completion_t done, const void *data);
int __wrap_zoo_add_auth(zhandle_t *handle, const char *scheme, const char *secret, int size,
                        void_completion_t done, const void *data);
int __wrap_zoo_add_auth(zhandle_t *handle, const char *scheme, const char *secret, int size,
                        void_completion_t done, const void *data) {
    return adds_that_fail-- > 0 ? ZSYSTEMERROR
                                : __real_zoo_add_auth(handle, scheme, secret, size, done, data);
}

/* As when it has none for other servers: it stays where it is. */
static atomic_int sets_that_fail;

int __real_zoo_set_servers(zhandle_t *handle, const char *hosts);
int __wrap_zoo_set_servers(zhandle_t *handle, const char *hosts);
int __wrap_zoo_set_servers(zhandle_t *handle, const char *hosts) {
    return sets_that_fail-- > 0 ? ZSYSTEMERROR : __real_zoo_set_servers(handle, hosts);
}

static void begin(void) {
    unit_must_be_done_within(AT_MOST_S);
    scripted_server_begin(&server);
    server.error = NO_NODE;
}

/* From now on, whatever is asked: a client that is just being opened would not be. */
static void hang_up_with(int error) {
    server.hangs_up = true;
    server.error_of_creates = error;
    server.error = error;
}

static void end(void) {
    scripted_server_end(&server);
    unit_must_be_done_within(0);
}

static zkl_client *open_asked(zkl_credential_callback *callback, void *arg) {
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    zkl_security security = ZKL_SECURITY_INIT;
    zkl_client *client = NULL;
    options.session_timeout_ms = SCRIPTED_SESSION_MS;
    options.security = &security;
    security.credential_callback = callback;
    security.credential_arg = arg;
    EXPECT_INT(zkl_client_open(server.hosts, &options, &client), ZKL_OK);
    return client;
}

static zkl_client *open_client(void) {
    return open_asked(NULL, NULL);
}

static int acquire(zkl_client *client, int64_t timeout_ms) {
    zkl_lock *lock = NULL;
    EXPECT_INT(zkl_lock_open(client, "stock", NULL, &lock), ZKL_OK);
    int status = zkl_lock_acquire(lock, ZKL_EXCLUSIVE, timeout_ms, NULL);
    zkl_lock_close(lock);
    return status;
}

/* Closing a handle clears the message. */
static void expect_says(zkl_client *client, int status, const char *says) {
    zkl_lock *lock = NULL;
    EXPECT_INT(zkl_lock_open(client, "stock", NULL, &lock), ZKL_OK);
    EXPECT_INT(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), status);
    EXPECT_INT(strstr(zkl_error_message(), says) != NULL, true);
    zkl_lock_close(lock);
}

static int acquire_several(zkl_client *client) {
    zkl_lock_member members[] = { ZKL_LOCK_MEMBER_INIT, ZKL_LOCK_MEMBER_INIT };
    zkl_lock *lock = NULL;
    members[0].resource = "stock";
    members[1].resource = "sales";
    EXPECT_INT(zkl_lock_open_set(client, members, COUNT_OF(members), NULL, &lock), ZKL_OK);
    int status = zkl_lock_acquire(lock, ZKL_AS_OPENED, PATIENCE_MS, NULL);
    zkl_lock_close(lock);
    return status;
}

/* ---- Errors -------------------------------------------------------------------------------- */

TEST(quota_that_is_exceeded_is_the_verdict_at_once) {
    begin();
    server.error_of_creates = QUOTA_EXCEEDED;
    zkl_client *client = open_client();
    EXPECT_INT(acquire(client, PATIENCE_MS), ZKL_QUOTA_EXCEEDED);
    expect_says(client, ZKL_QUOTA_EXCEEDED, "refused to create a node below /locks/stock");
    EXPECT_INT(acquire(client, 0), ZKL_QUOTA_EXCEEDED);
    EXPECT_INT(server.connections, 1);
    (void)zkl_client_close(client, 1000);
    end();
}

TEST(session_that_wants_authentication_is_refused_for_good) {
    begin();
    zkl_client *client = open_client();
    hang_up_with(SESSION_CLOSED_REQUIRES_SASL_AUTH);
    expect_says(client, ZKL_AUTH_FAILED, "the servers require an authentication");
    expect_says(client, ZKL_AUTH_FAILED,
                "the servers require an authentication"); /* no more requests are sent */
    usleep(QUIET_US);                                     /* it may just have been coming back */
    int connections = server.connections;
    usleep(QUIET_US);
    EXPECT_INT(server.connections, connections);
    EXPECT_INT(acquire(client, PATIENCE_MS), ZKL_AUTH_FAILED);
    EXPECT_INT(acquire_several(client), ZKL_AUTH_FAILED);
    (void)zkl_client_close(client, 1000);
    end();
}

/* It keeps the connection, and takes the session up again all the same. */
static int connections_after(int error, zkl_credential_callback *callback, void *arg) {
    begin();
    zkl_client *client = open_asked(callback, arg);
    server.error_of_creates = error;
    EXPECT_INT(acquire(client, PAUSE_MS + PAUSE_MS / 2), ZKL_DISCONNECTED);
    int connections = server.connections;
    server.error_of_creates = NO_NODE;
    (void)zkl_client_close(client, 1000);
    end();
    return connections;
}

TEST(session_that_a_server_denies_is_looked_for_at_once_and_then_with_a_pause) {
    EXPECT_INT(connections_after(SESSION_EXPIRED, NULL, NULL), 3);
    EXPECT_INT(connections_after(SESSION_MOVED, NULL, NULL), 3);
}

static int give_once(void *arg, size_t index, zkl_credential *credential) {
    atomic_int *asked = arg;
    credential->secret = "stock:secret";
    credential->size = strlen(credential->secret);
    return atomic_fetch_add(asked, 1) == 0 && index == 0 ? 1 : 0;
}

TEST(session_that_a_server_denies_asks_for_no_credentials) {
    atomic_int asked = 0;
    int connections = connections_after(SESSION_MOVED, give_once, &asked);
    EXPECT(connections >= 3 && connections <= 5); /* an answer that is owed costs another */
    EXPECT_INT(asked, 2); /* for the one and whether there is another, when it began */
}

/* ---- Servers that are not Apache ZooKeeper -------------------------------------------------- */

static void count_warning(void *arg, const zkl_log_record *record) {
    atomic_uint *warnings = arg;
    if (record->event == ZKL_LOG_UNSUPPORTED_SERVERS) {
        EXPECT_INT(record->level, ZKL_LOG_WARN);
        EXPECT(strstr(record->message, "ClickHouse Keeper") != NULL);
        (void)atomic_fetch_add(warnings, 1);
    }
}

/* The warnings of a client that has connected to them twice. */
static unsigned warnings_of(bool gives_no_password) {
    atomic_uint warnings = 0;
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    zkl_client_information information = ZKL_CLIENT_INFORMATION_INIT;
    zkl_client *client = NULL;
    begin();
    server.gives_no_password = gives_no_password;
    options.session_timeout_ms = SCRIPTED_SESSION_MS;
    options.log_callback = count_warning;
    options.log_arg = &warnings;
    EXPECT_INT(zkl_client_open(server.hosts, &options, &client), ZKL_OK);
    hang_up_with(CONNECTION_LOSS);
    (void)acquire(client, 0); /* its first request costs it the connection */
    while (server.connections < 2) {
        (void)sched_yield();
    }
    EXPECT_INT(zkl_client_info(client, &information), ZKL_OK);
    EXPECT_INT(information.unsupported_servers, gives_no_password ? 1 : 0);
    (void)zkl_client_close(client, 1000);
    end();
    return warnings;
}

TEST(servers_that_give_a_session_no_password_are_warned_of_once) {
    EXPECT_INT(warnings_of(true), 1);
    EXPECT_INT(warnings_of(false), 0);
}

/* They say nothing of the end of the session that they were asked for. */
TEST(session_that_is_replaced_on_a_reconnect_has_ended) {
    zkl_client_information information = ZKL_CLIENT_INFORMATION_INIT;
    begin();
    zkl_client *client = open_client();
    server.gives_new_sessions = true;
    hang_up_with(CONNECTION_LOSS);
    (void)acquire(client, 0); /* its first request costs it the connection */
    while (information.sessions_expired == 0) {
        (void)sched_yield();
        EXPECT_INT(zkl_client_info(client, &information), ZKL_OK);
    }
    (void)zkl_client_close(client, 1000);
    end();
}

/* The own identity of the session: it would not stand before that has been shown. */
TEST(credential_that_libzookeeper_could_not_take_is_given_to_it_again) {
    begin();
    adds_that_fail = 2;
    zkl_client *client = open_client();
    EXPECT_INT(adds_that_fail, -1);
    (void)zkl_client_close(client, 1000);
    end();
}

/* The old handle goes on, and another is opened later. */
TEST(credentials_are_shown_though_the_old_connection_cannot_be_left_at_first) {
    enum { FAILURES = 3 /* of one attempt */ };
    zkl_credential credential = ZKL_CREDENTIAL_INIT;
    begin();
    zkl_client *client = open_client();
    credential.secret = "stock:secret";
    credential.size = strlen(credential.secret);
    sets_that_fail = FAILURES;
    EXPECT_INT(zkl_client_set_credentials(client, &credential, 1), ZKL_OK);
    for (int i = 0; i < 4 * PAUSE_MS && server.connections < 2; i++) {
        usleep(1000);
    }
    EXPECT(sets_that_fail <= 0);
    EXPECT_INT(server.connections, 2);
    (void)zkl_client_close(client, 1000);
    end();
}
