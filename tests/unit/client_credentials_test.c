/*
 * Who a client is, and what it may do: credentials and ACLs, on simulated servers, which know the
 * scheme digest.
 */
#include <limits.h>
#include <string.h>

#include "base/digest_id.h"
#include "client/client.h"
#include "support/unit.h"
#include "testing/ensemble.h"
#include "testing/machine.h"
#include "testing/world.h"
#include "zklock/election.h"

enum { US_PER_MS = 1000, TICK_MS = 200, SESSION_MS = 1200, SERVERS = 3, ENOUGH_MS = 5000 };

static zkl_ensemble *ensemble;

static void begin(void) {
    zkl_world_begin(7);
    zkl_ensemble_options options = zkl_ensemble_defaults();
    options.servers = SERVERS;
    options.tick_ms = TICK_MS;
    ensemble = zkl_ensemble_begin(&options);
}

static void end(void) {
    zkl_ensemble_end();
    zkl_world_end();
}

static zkl_credential digest(const char *secret) {
    zkl_credential credential = ZKL_CREDENTIAL_INIT;
    credential.secret = secret;
    credential.size = strlen(secret);
    return credential;
}

static zkl_security security_of(const zkl_credential *credentials, int32_t count) {
    zkl_security security = ZKL_SECURITY_INIT;
    security.credentials = credentials;
    security.credential_count = count;
    security.node_acl = ZKL_ACL_AUTHENTICATED;
    security.parent_acl = ZKL_ACL_AUTHENTICATED;
    return security;
}

static zkl_client_options options_of(const zkl_security *security) {
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    options.session_timeout_ms = SESSION_MS;
    options.security = security;
    return options;
}

static zkl_client *open_with(const zkl_client_options *options) {
    zkl_client *client = NULL;
    EXPECT_INT(zkl_client_open("server:2181", options, &client), ZKL_OK);
    return client;
}

/* NULL: a stranger. */
static zkl_client *open_client(const char *secret) {
    zkl_credential credential = digest(secret != NULL ? secret : "");
    zkl_security security = security_of(&credential, secret != NULL ? 1 : 0);
    zkl_client_options options = options_of(&security);
    if (secret == NULL) {
        security.node_acl = NULL;
        security.parent_acl = NULL;
    }
    return open_with(&options);
}

static zkl_lock *open_lock(zkl_client *client) {
    zkl_lock *lock = NULL;
    EXPECT_INT(zkl_lock_open(client, "stock", NULL, &lock), ZKL_OK);
    return lock;
}

static int try_lock(zkl_client *client) {
    zkl_lock *lock = open_lock(client);
    int status = zkl_lock_acquire(lock, ZKL_EXCLUSIVE, 0, NULL);
    zkl_lock_close(lock);
    return status;
}

static void close_client(zkl_client *client) {
    EXPECT_INT(zkl_client_close(client, ENOUGH_MS), ZKL_OK);
}

/* ---- Who may -------------------------------------------------------------------------------- */

TEST(stranger_has_no_place_in_a_queue_that_is_closed_to_it) {
    begin();
    zkl_client *owner = open_client("stock:secret");
    zkl_client *colleague = open_client("stock:secret");
    zkl_client *other = open_client("sales:secret");
    zkl_client *stranger = open_client(NULL);
    zkl_lock *lock = open_lock(owner);
    EXPECT_INT(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, ENOUGH_MS, NULL), ZKL_OK);
    EXPECT_INT(try_lock(colleague), ZKL_BUSY);
    EXPECT_INT(try_lock(other), ZKL_NO_PERMISSION);
    EXPECT_INT(try_lock(stranger), ZKL_NO_PERMISSION);
    EXPECT_INT(zkl_lock_release(lock, ENOUGH_MS), ZKL_OK);
    zkl_world_sleep_us((int64_t)SESSION_MS * US_PER_MS); /* until each server has heard of it */
    EXPECT_INT(try_lock(colleague), ZKL_OK);
    EXPECT_INT(try_lock(stranger), ZKL_NO_PERMISSION);
    zkl_lock_close(lock);
    close_client(stranger);
    close_client(other);
    close_client(colleague);
    close_client(owner);
    end();
}

TEST(session_that_follows_shows_the_credentials_again) {
    begin();
    zkl_client *client = open_client("stock:secret");
    EXPECT_INT(try_lock(client), ZKL_OK);
    EXPECT(zkl_ensemble_cut(ensemble, zkl_ensemble_session_at(ensemble, 0), ZKL_CUT_REPLIES_LOST));
    zkl_world_sleep_us((int64_t)SESSION_MS * US_PER_MS);
    EXPECT_INT(try_lock(client), ZKL_OK);
    EXPECT(zkl_ensemble_expire(ensemble, zkl_ensemble_session_at(ensemble, 0)));
    zkl_world_sleep_us((int64_t)SESSION_MS * US_PER_MS);
    EXPECT_INT(try_lock(client), ZKL_OK);
    close_client(client);
    end();
}

TEST(each_of_several_credentials_counts) {
    begin();
    char id[ZKL_DIGEST_ID_SIZE];
    char acl[2 * ZKL_DIGEST_ID_SIZE];
    EXPECT(zkl_digest_id("two:b", strlen("two:b"), id));
    snprintf(acl, sizeof(acl), "digest:%s:cdrwa", id);
    const zkl_credential credentials[] = { digest("one:a"), digest("two:b") };
    zkl_security security = security_of(credentials, 2);
    zkl_client_options options = options_of(&security);
    security.node_acl = acl;
    security.parent_acl = acl;
    zkl_client *client = open_with(&options);
    security.credential_count = 1;
    zkl_client *other = open_with(&options);
    EXPECT_INT(try_lock(client), ZKL_OK);
    EXPECT_INT(try_lock(other), ZKL_NO_PERMISSION);
    close_client(other);
    close_client(client);
    end();
}

TEST(lock_may_have_an_acl_of_its_own) {
    begin();
    zkl_client *owner = open_client("stock:secret");
    zkl_client *stranger = open_client(NULL);
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    zkl_lock *lock = NULL;
    options.parent_acl = ZKL_ACL_OPEN;
    options.node_acl = "world:anyone:r";
    EXPECT_INT(zkl_ensemble_create(ensemble, 0, "/locks", NULL, false, false, NULL, 0),
               ZKL_SERVER_ERROR_NONE);
    EXPECT_INT(zkl_lock_open(owner, "stock", &options, &lock), ZKL_OK);
    EXPECT_INT(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, ENOUGH_MS, NULL), ZKL_OK);
    EXPECT_INT(try_lock(stranger), ZKL_BUSY);
    zkl_lock_close(lock);
    options.node_acl = "world:anyone";
    EXPECT_REFUSED(zkl_lock_open(owner, "stock", &options, &lock), "node_acl");
    close_client(stranger);
    close_client(owner);
    end();
}

TEST(candidate_may_have_an_acl_of_its_own) {
    begin();
    zkl_client *owner = open_client("stock:secret");
    zkl_client *stranger = open_client(NULL);
    zkl_election_options options = ZKL_ELECTION_OPTIONS_INIT;
    zkl_election *election = NULL;
    options.parent_acl = ZKL_ACL_OPEN;
    options.node_acl = "world:anyone:r";
    EXPECT_INT(zkl_ensemble_create(ensemble, 0, "/locks", NULL, false, false, NULL, 0),
               ZKL_SERVER_ERROR_NONE);
    EXPECT_INT(zkl_election_open(owner, "stock", &options, &election), ZKL_OK);
    EXPECT_INT(zkl_election_campaign(election, ENOUGH_MS, NULL), ZKL_OK);
    zkl_lock *waiting = open_lock(stranger);
    EXPECT_INT(zkl_lock_acquire(waiting, ZKL_EXCLUSIVE, SESSION_MS, NULL), ZKL_TIMEOUT);
    zkl_lock_close(waiting);
    zkl_election_close(election);
    options.node_acl = "world:anyone";
    EXPECT_REFUSED(zkl_election_open(owner, "stock", &options, &election), "node_acl");
    close_client(stranger);
    close_client(owner);
    end();
}

/* Parents that others have made are open, as before. */
TEST(waiter_that_may_not_read_the_node_before_its_own_is_told) {
    begin();
    zkl_client *owner = open_client("stock:secret");
    zkl_client *colleague = open_client("stock:secret");
    zkl_client *stranger = open_client(NULL);
    EXPECT_INT(try_lock(stranger), ZKL_OK);
    zkl_lock *lock = open_lock(owner);
    EXPECT_INT(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, ENOUGH_MS, NULL), ZKL_OK);
    zkl_lock *waiting = open_lock(stranger);
    EXPECT_INT(zkl_lock_acquire(waiting, ZKL_EXCLUSIVE, ENOUGH_MS, NULL), ZKL_NO_PERMISSION);
    zkl_lock_close(waiting);
    waiting = open_lock(colleague);
    EXPECT_INT(zkl_lock_acquire(waiting, ZKL_EXCLUSIVE, ENOUGH_MS, NULL), ZKL_TIMEOUT);
    zkl_lock_close(waiting);
    zkl_lock_close(lock);
    close_client(stranger);
    close_client(colleague);
    close_client(owner);
    end();
}

/* ---- Who is refused -------------------------------------------------------------------------- */

TEST(credential_that_the_servers_refuse_is_named) {
    begin();
    zkl_credential credentials[] = { digest("stock:secret"), digest("secret") };
    credentials[1].scheme = "kerberos";
    zkl_security security = security_of(credentials, 2);
    zkl_client_options options = options_of(&security);
    zkl_client *client = NULL;
    EXPECT_INT(zkl_client_open("server:2181", &options, &client), ZKL_AUTH_FAILED);
    EXPECT(strstr(zkl_error_message(), "kerberos") != NULL);
    EXPECT(strstr(zkl_error_message(), "secret") == NULL);
    end();
}

TEST(wrong_credentials_are_refused_and_no_secret_is_shown) {
    begin();
    zkl_credential credentials[ZKL_CREDENTIALS_MAX + 1] = { digest("stock:geheim") };
    zkl_security security = security_of(credentials, 1);
    zkl_client_options options = options_of(&security);
    zkl_client *client = NULL;
    credentials[0].scheme = "";
    EXPECT_REFUSED(zkl_client_open("server:2181", &options, &client),
                   "scheme of credential 0 \"\": must not be empty");
    credentials[0] = digest("stock:geheim");
    credentials[0].size = ZKL_SECRET_MAX + 1;
    EXPECT_REFUSED(zkl_client_open("server:2181", &options, &client),
                   "secret of credential 0: 4097 bytes, at most 4096 are allowed");
    EXPECT(strstr(zkl_error_message(), "geheim") == NULL);
    security.credential_count = ZKL_CREDENTIALS_MAX + 1;
    EXPECT_REFUSED(zkl_client_open("server:2181", &options, &client),
                   "credential_count 17: must be from 0 to 16");
    security.credential_count = 1;
    security.credentials = NULL;
    EXPECT_REFUSED(zkl_client_open("server:2181", &options, &client), "credentials");
    end();
}

/* ---- The callback ---------------------------------------------------------------------------- */

typedef struct secret_store {
    int asked;
    const char *secret;
} secret_store;

static int give(void *arg, size_t index, zkl_credential *credential) {
    secret_store *self = arg;
    self->asked++;
    if (index == 0) {
        *credential = digest(self->secret);
    }
    return index == 0 ? 1 : 0;
}

static int give_nothing_good(void *arg, size_t index, zkl_credential *credential) {
    zkl_client *other = NULL;
    (void)arg;
    EXPECT_INT(zkl_client_open("server:2181", NULL, &other), ZKL_IN_CALLBACK);
    credential->scheme = "";
    return index == 0 ? 1 : 0;
}

TEST(wrong_credential_of_the_callback_is_refused) {
    begin();
    zkl_security security = security_of(NULL, 0);
    zkl_client_options options = options_of(&security);
    zkl_client *client = NULL;
    security.credential_callback = give_nothing_good;
    EXPECT_INT(zkl_client_open("server:2181", &options, &client), ZKL_AUTH_FAILED);
    EXPECT_TEXT(zkl_error_message(), "the servers refused the credential of the scheme (invalid)");
    end();
}

TEST(servers_that_do_not_answer_to_a_credential_are_asked_again) {
    begin();
    for (uint32_t i = 0; i < SERVERS; i++) {
        zkl_ensemble_mute_connections(ensemble, i, 3000 * INT64_C(1000));
    }
    zkl_client *client = open_client("stock:secret");
    EXPECT_INT(try_lock(client), ZKL_OK);
    close_client(client);
    end();
}

TEST(callback_is_asked_anew_for_each_session) {
    begin();
    secret_store vault = { .secret = "stock:secret" };
    zkl_security security = security_of(NULL, 0);
    zkl_client_options options = options_of(&security);
    security.credential_callback = give;
    security.credential_arg = &vault;
    zkl_client *client = open_with(&options);
    EXPECT_INT(vault.asked, 2);
    EXPECT_INT(try_lock(client), ZKL_OK);
    EXPECT(zkl_ensemble_cut(ensemble, zkl_ensemble_session_at(ensemble, 0), ZKL_CUT_REPLIES_LOST));
    zkl_world_sleep_us((int64_t)SESSION_MS * US_PER_MS);
    EXPECT_INT(vault.asked, 2);
    vault.secret = "sales:secret";
    EXPECT(zkl_ensemble_expire(ensemble, zkl_ensemble_session_at(ensemble, 0)));
    zkl_world_sleep_us((int64_t)SESSION_MS * US_PER_MS);
    EXPECT_INT(vault.asked, 4);
    EXPECT_INT(try_lock(client), ZKL_NO_PERMISSION);
    close_client(client);
    end();
}

/* ---- Other credentials ----------------------------------------------------------------------- */

static int show(zkl_client *client, const char *secret) {
    zkl_credential credential = digest(secret);
    return zkl_client_set_credentials(client, &credential, 1);
}

static void keep_status(void *arg, int status, const zkl_grant *grant) {
    (void)grant;
    *(int *)arg = status;
}

static void until_shown(void) {
    zkl_world_sleep_us((int64_t)SESSION_MS / 2 * US_PER_MS);
}

/* The first node is one's own, the second one stands before it. */
TEST(other_credentials_take_the_session_its_lock_and_its_place_along) {
    begin();
    zkl_client *client = open_client("stock:secret");
    zkl_client *colleague = open_client("stock:secret");
    zkl_lock *lock = open_lock(client);
    zkl_lock *waiting = open_lock(colleague);
    const zkl_credential both[] = { digest("sales:secret"), digest("stock:secret") };
    int status = ZKL_PENDING;
    EXPECT_INT(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, ENOUGH_MS, NULL), ZKL_OK);
    EXPECT_INT(
        zkl_lock_acquire_async(waiting, ZKL_EXCLUSIVE, ENOUGH_MS, NULL, keep_status, &status),
        ZKL_OK);
    until_shown();
    int64_t sessions[] = { zkl_ensemble_session_at(ensemble, 0),
                           zkl_ensemble_session_at(ensemble, 1) };
    EXPECT_INT(zkl_client_set_credentials(client, both, 2), ZKL_OK);
    EXPECT_INT(zkl_client_set_credentials(colleague, both, 2), ZKL_OK);
    until_shown();
    EXPECT_INT(zkl_lock_verify(lock, ENOUGH_MS), ZKL_OK);
    EXPECT_INT(status, ZKL_PENDING);
    EXPECT_INT(zkl_lock_release(lock, ENOUGH_MS), ZKL_OK);
    until_shown();
    EXPECT_INT(status, ZKL_OK);
    EXPECT(sessions[0] == zkl_ensemble_session_at(ensemble, 0));
    EXPECT(sessions[1] == zkl_ensemble_session_at(ensemble, 1));
    zkl_lock_close(waiting);
    zkl_lock_close(lock);
    close_client(colleague);
    close_client(client);
    end();
}

TEST(credentials_that_are_shown_no_longer_give_no_rights) {
    begin();
    zkl_client *client = open_client("stock:secret");
    EXPECT_INT(try_lock(client), ZKL_OK);
    EXPECT_INT(show(client, "sales:secret"), ZKL_OK);
    EXPECT_INT(show(client, "third:secret"), ZKL_OK);
    until_shown();
    EXPECT_INT(try_lock(client), ZKL_NO_PERMISSION);
    EXPECT_INT(zkl_client_set_credentials(client, NULL, 0), ZKL_OK);
    until_shown();
    EXPECT_INT(try_lock(client), ZKL_NO_PERMISSION);
    EXPECT_INT(show(client, "stock:secret"), ZKL_OK);
    until_shown();
    EXPECT_INT(try_lock(client), ZKL_OK);
    EXPECT(zkl_ensemble_expire(ensemble, zkl_ensemble_session_at(ensemble, 0)));
    until_shown();
    EXPECT_INT(try_lock(client), ZKL_OK);
    close_client(client);
    end();
}

TEST(wrong_credentials_leave_those_that_are_shown) {
    begin();
    secret_store vault = { .secret = "stock:secret" };
    zkl_security security = security_of(NULL, 0);
    zkl_client_options options = options_of(&security);
    security.credential_callback = give;
    security.credential_arg = &vault;
    zkl_client *asked = open_with(&options);
    zkl_client *client = open_client("stock:secret");
    zkl_credential nothing = digest("");
    nothing.scheme = "";
    EXPECT_REFUSED(zkl_client_set_credentials(NULL, NULL, 0), "client");
    EXPECT_REFUSED(zkl_client_set_credentials(client, &nothing, 1), "must not be empty");
    EXPECT_REFUSED(zkl_client_set_credentials(client, NULL, 1), "credentials");
    EXPECT_REFUSED(show(asked, "sales:secret"), "credential_callback");
    vault.secret = "sales:secret";
    EXPECT_INT(zkl_client_set_credentials(asked, NULL, 0), ZKL_OK);
    until_shown();
    EXPECT_INT(try_lock(client), ZKL_OK);
    EXPECT_INT(try_lock(asked), ZKL_NO_PERMISSION);
    close_client(client);
    close_client(asked);
    end();
}

TEST(credential_that_is_refused_later_ends_the_client) {
    begin();
    zkl_client *client = open_client(NULL);
    zkl_credential credential = digest("stock:secret");
    EXPECT_INT(try_lock(client), ZKL_OK);
    credential.scheme = "kerberos";
    EXPECT_INT(zkl_client_set_credentials(client, &credential, 1), ZKL_OK);
    zkl_world_sleep_us((int64_t)4 * SESSION_MS * US_PER_MS);
    EXPECT_INT(try_lock(client), ZKL_AUTH_FAILED);
    zkl_client_information information = ZKL_CLIENT_INFORMATION_INIT;
    EXPECT_INT(zkl_client_info(client, &information), ZKL_OK);
    EXPECT_INT(information.sessions_expired, 0);
    EXPECT_INT(zkl_client_close(client, 0), ZKL_PENDING); /* its nodes go with the session */
    end();
}

static void until_second_session_stands(zkl_client *client) {
    zkl_client_session *second = NULL;
    pthread_mutex_lock(&client->mutex);
    EXPECT_INT(zkl_sessions_add(client, &second), ZKL_OK);
    pthread_mutex_unlock(&client->mutex);
    until_shown();
    EXPECT(second->session.connected);
}

/* From now on requests run on the second session. */
static void fill_first_session(zkl_client *client) {
    pthread_mutex_lock(&client->mutex);
    client->sessions->session.watched_bytes += client->watched_bytes_max;
    pthread_mutex_unlock(&client->mutex);
}

static void empty_first_session(zkl_client *client) {
    pthread_mutex_lock(&client->mutex);
    client->sessions->session.watched_bytes -= client->watched_bytes_max;
    pthread_mutex_unlock(&client->mutex);
}

TEST(other_credentials_are_shown_by_each_session) {
    begin();
    zkl_client *client = open_client("stock:secret");
    EXPECT_INT(try_lock(client), ZKL_OK);
    until_second_session_stands(client);
    EXPECT_INT(show(client, "sales:secret"), ZKL_OK);
    until_shown();
    EXPECT_INT(try_lock(client), ZKL_NO_PERMISSION);
    fill_first_session(client);
    EXPECT_INT(try_lock(client), ZKL_NO_PERMISSION);
    EXPECT_INT(show(client, "stock:secret"), ZKL_OK);
    until_shown();
    EXPECT_INT(try_lock(client), ZKL_OK);
    empty_first_session(client);
    until_shown(); /* its server may lag behind */
    EXPECT_INT(try_lock(client), ZKL_OK);
    close_client(client);
    end();
}

/* libzookeeper would show the old ones when it is back. */
TEST(other_credentials_are_shown_by_a_session_that_is_disconnected_meanwhile) {
    begin();
    zkl_client *client = open_client("stock:secret");
    EXPECT_INT(try_lock(client), ZKL_OK);
    for (uint32_t i = 0; i < SERVERS; i++) {
        zkl_ensemble_stop_server(ensemble, i);
    }
    zkl_world_sleep_us((int64_t)TICK_MS * US_PER_MS);
    EXPECT_INT(try_lock(client), ZKL_DISCONNECTED);
    EXPECT_INT(show(client, "sales:secret"), ZKL_OK);
    for (uint32_t i = 0; i < SERVERS; i++) {
        zkl_ensemble_start_server(ensemble, i);
    }
    zkl_world_sleep_us((int64_t)4 * SESSION_MS * US_PER_MS);
    EXPECT_INT(try_lock(client), ZKL_NO_PERMISSION);
    (void)zkl_client_close(client, 0); /* of the try that was lost a node may be left */
    end();
}

TEST(other_credentials_are_shown_though_their_connection_fails_at_first) {
    begin();
    zkl_client *client = open_client("stock:secret");
    EXPECT_INT(try_lock(client), ZKL_OK);
    zkl_opens_fail(2);
    EXPECT_INT(show(client, "sales:secret"), ZKL_OK);
    until_shown();
    EXPECT_INT(try_lock(client), ZKL_DISCONNECTED); /* the old connection is gone */
    zkl_world_sleep_us((int64_t)ENOUGH_MS * US_PER_MS);
    EXPECT_INT(try_lock(client), ZKL_NO_PERMISSION);
    close_client(client);
    end();
}

/* An ACL for whom the client was would let that one in: it has shown nobody. */
TEST(auth_stands_for_nobody_when_nobody_is_shown_any_more) {
    begin();
    const zkl_credential credential = digest("stock:secret");
    zkl_security security = security_of(&credential, 1);
    zkl_client_options options = options_of(&security);
    security.parent_acl = NULL;
    zkl_client *client = open_with(&options);
    EXPECT_INT(try_lock(client), ZKL_OK);
    EXPECT_INT(zkl_client_set_credentials(client, NULL, 0), ZKL_OK);
    until_shown();
    EXPECT_INT(try_lock(client), ZKL_NO_PERMISSION);
    close_client(client);
    end();
}

/* Of the callback as of the list: what is behind the NUL is part of the secret. */
TEST(secret_does_not_end_at_a_nul) {
    begin();
    zkl_credential credential = digest("stock:se");
    credential.secret = "stock:se\0cret";
    credential.size = sizeof("stock:se\0cret") - 1;
    zkl_security security = security_of(&credential, 1);
    zkl_client_options options = options_of(&security);
    zkl_client *client = open_with(&options);
    EXPECT_INT(try_lock(client), ZKL_OK);
    zkl_client *cut = open_client("stock:se");
    EXPECT_INT(try_lock(cut), ZKL_NO_PERMISSION);
    credential.secret = "stock:se\0tter";
    zkl_client *other = open_with(&options);
    EXPECT_INT(try_lock(other), ZKL_NO_PERMISSION);
    credential.secret = "stock:se\0cret";
    zkl_client *colleague = open_with(&options);
    EXPECT_INT(try_lock(colleague), ZKL_OK);
    close_client(colleague);
    close_client(other);
    close_client(cut);
    close_client(client);
    end();
}

/* ---- Identities that are not known ----------------------------------------------------------- */

#define UMLAUT "stock:\xc3\xa4pfel"

static int show_both(zkl_client *client) {
    const zkl_credential both[] = { digest("stock:secret"), digest(UMLAUT) };
    return zkl_client_set_credentials(client, both, 2);
}

/* The scheme auth would stand for nobody: nobody could acquire anything. */
TEST(credential_of_unknown_identity_is_refused_while_others_stand_for_auth) {
    begin();
    zkl_client *client = open_client("stock:secret");
    EXPECT_INT(try_lock(client), ZKL_OK);
    EXPECT_REFUSED(show_both(client), "credential 1: must be a digest in plain ASCII");
    EXPECT(strstr(zkl_error_message(), "pfel") == NULL);
    until_shown();
    EXPECT_INT(try_lock(client), ZKL_OK);
    EXPECT_INT(show(client, "sales:secret"), ZKL_OK);
    until_shown();
    EXPECT_INT(try_lock(client), ZKL_NO_PERMISSION);
    close_client(client);
    end();
}

TEST(credential_of_unknown_identity_is_shown_where_auth_needs_no_others) {
    begin();
    const zkl_credential credential = digest("stock:secret");
    zkl_security security = security_of(&credential, 1);
    zkl_client_options options = options_of(&security);
    security.unprotected = 1;
    zkl_client *unprotected = open_with(&options);
    zkl_client *stranger = open_client(NULL); /* its nodes are open to all */
    EXPECT_INT(show_both(unprotected), ZKL_OK);
    EXPECT_INT(show(stranger, UMLAUT), ZKL_OK);
    until_shown();
    EXPECT_INT(try_lock(unprotected), ZKL_OK);
    EXPECT_INT(show(stranger, "stock:secret"), ZKL_OK);
    until_shown();
    EXPECT_INT(try_lock(stranger), ZKL_OK);
    close_client(stranger);
    close_client(unprotected);
    end();
}

typedef struct unknown_store {
    int asked_before; /* it gives what is not known */
    int errors;
} unknown_store;

static int give_unknown(void *arg, size_t index, zkl_credential *credential) {
    unknown_store *self = arg;
    *credential = digest(index == 0 || self->asked_before > 0 ? "stock:secret" : UMLAUT);
    self->asked_before -= self->asked_before > 0 ? 1 : 0;
    return index <= 1 ? 1 : 0;
}

static void count_refusals(void *arg, const zkl_log_record *record) {
    unknown_store *self = arg;
    self->errors += record->event == ZKL_LOG_CREDENTIALS_REFUSED ? 1 : 0;
}

static zkl_client *open_asked(unknown_store *store) {
    zkl_security security = security_of(NULL, 0);
    zkl_client_options options = options_of(&security);
    security.credential_callback = give_unknown;
    security.credential_arg = store;
    options.log_callback = count_refusals;
    options.log_arg = store;
    return open_with(&options);
}

TEST(callback_that_gives_an_unknown_identity_changes_nothing_and_is_logged) {
    begin();
    unknown_store store = { .asked_before = 3 };
    zkl_client *client = open_asked(&store);
    zkl_lock *lock = open_lock(client);
    EXPECT_INT(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, ENOUGH_MS, NULL), ZKL_OK);
    EXPECT_INT(zkl_client_set_credentials(client, NULL, 0), ZKL_OK);
    until_shown();
    EXPECT_INT(store.errors, 1);
    EXPECT_INT(zkl_lock_release(lock, ENOUGH_MS), ZKL_OK);
    EXPECT_INT(try_lock(client), ZKL_OK);
    store.asked_before = 3;
    EXPECT_INT(zkl_client_set_credentials(client, NULL, 0), ZKL_OK);
    until_shown(); /* when it was shown them it got others than when it asked */
    EXPECT_INT(try_lock(client), ZKL_AUTH_FAILED);
    EXPECT(strstr(zkl_error_message(), "(invalid)") != NULL);
    zkl_lock_close(lock);
    (void)zkl_client_close(client, 0);
    end();
}

/* What it gives while there is no handle decides nothing: only another one hears of the session. */
TEST(session_without_a_handle_is_opened_whatever_its_callback_gives) {
    begin();
    unknown_store store = { .asked_before = INT_MAX };
    zkl_client *client = open_asked(&store);
    zkl_opens_fail(2);
    EXPECT_INT(zkl_client_set_credentials(client, NULL, 0), ZKL_OK);
    until_shown();
    EXPECT_INT(try_lock(client), ZKL_DISCONNECTED);
    store.asked_before = 0; /* when it is tried again */
    zkl_world_sleep_us((int64_t)SESSION_MS * US_PER_MS);
    store.asked_before = INT_MAX;
    zkl_world_sleep_us((int64_t)ENOUGH_MS * US_PER_MS);
    EXPECT_INT(store.errors, 0);
    EXPECT_INT(try_lock(client), ZKL_OK);
    close_client(client);
    end();
}

/* It is shown when the next session opens, and no connection of this one asks for it. */
TEST(session_that_is_denied_asks_for_no_credentials) {
    begin();
    unknown_store store = { .asked_before = 3 };
    zkl_client *client = open_asked(&store);
    zkl_lock *lock = open_lock(client);
    int64_t session_id = zkl_ensemble_session_at(ensemble, 0);
    EXPECT_INT(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, ENOUGH_MS, NULL), ZKL_OK);
    for (int times = 0; times < 2; times++) {
        EXPECT(zkl_ensemble_keep_connection(ensemble, session_id));
        EXPECT(zkl_ensemble_move(ensemble, session_id));
        until_shown(); /* a probe has told */
        EXPECT_INT(zkl_lock_verify(lock, ENOUGH_MS), ZKL_OK);
    }
    EXPECT(zkl_ensemble_session_at(ensemble, 0) == session_id);
    EXPECT_INT(zkl_lock_release(lock, ENOUGH_MS), ZKL_OK);
    zkl_lock_close(lock);
    close_client(client);
    end();
}

/* The own identity of the session before never came to protect anything. */
TEST(identity_of_a_session_that_never_stood_does_not_bind_the_next) {
    begin();
    zkl_security security = security_of(NULL, 0);
    zkl_client_options options = options_of(&security);
    zkl_client *client = open_with(&options);
    for (uint32_t i = 0; i < SERVERS; i++) {
        zkl_ensemble_mute_connections(ensemble, i, 3000 * INT64_C(1000));
    }
    EXPECT(zkl_ensemble_expire(ensemble, zkl_ensemble_session_at(ensemble, 0)));
    until_shown();
    EXPECT_INT(show_both(client), ZKL_OK);
    zkl_world_sleep_us((int64_t)4 * ENOUGH_MS * US_PER_MS);
    EXPECT_INT(try_lock(client), ZKL_OK);
    close_client(client);
    end();
}

/* ---- The simulated servers ---------------------------------------------------------------------
 */

/* The first is the example of ZooKeeper's administrator's guide. */
TEST(digest_is_that_of_the_servers) {
    char id[ZKL_DIGEST_ID_SIZE] = "";
    EXPECT(zkl_digest_id("super:superpw", strlen("super:superpw"), id));
    EXPECT_TEXT(id, "super:g9oN2HttPfn8MMWJZ2r45Np/LIA=");
    EXPECT(zkl_digest_id("a::", 3, id));
    EXPECT_INT(strlen(id), strlen("a:") + 28);
    EXPECT(!zkl_digest_id("nobody", strlen("nobody"), id));
    char longest[ZKL_DIGEST_ID_SIZE] = "";
    memset(longest, 'u', 98);
    longest[98] = ':';
    EXPECT(zkl_digest_id(longest, 99, id));
    EXPECT_INT(strlen(id), 98 + 1 + 28);
    longest[98] = 'u';
    longest[99] = ':';
    EXPECT(!zkl_digest_id(longest, 100, id));
}
