/*
 * Protected nodes, on simulated servers: who may set what, which nodes are marked, and what becomes
 * of a session that cannot have an identity of its own.
 */
#include <stdio.h>
#include <string.h>

#include "base/threads.h"
#include "client/client.h"
#include "recipe/node_name.h"
#include "support/unit.h"
#include "testing/ensemble.h"
#include "testing/world.h"
#include "zklock/administration.h"
#include "zklock/election.h"

enum { US_PER_MS = 1000, TICK_MS = 200, SESSION_MS = 1200, ENOUGH_MS = 5000, ACL_SIZE = 1024 };

static zkl_ensemble *ensemble;

static void begin(void) {
    zkl_world_begin(7);
    zkl_ensemble_options options = zkl_ensemble_defaults();
    options.tick_ms = TICK_MS;
    ensemble = zkl_ensemble_begin(&options);
}

static void end(void) {
    zkl_ensemble_end();
    zkl_world_end();
}

static void sleep_ms(int64_t ms) {
    zkl_world_sleep_us(ms * US_PER_MS);
}

static zkl_credential credential_of(const char *scheme, const char *secret) {
    zkl_credential credential = ZKL_CREDENTIAL_INIT;
    credential.scheme = scheme;
    credential.secret = secret;
    credential.size = strlen(secret);
    return credential;
}

static zkl_client_options default_options(void) {
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    options.session_timeout_ms = SESSION_MS;
    return options;
}

static zkl_client *open_client(const zkl_client_options *options) {
    zkl_client *client = NULL;
    EXPECT_INT(zkl_client_open("server:2181", options, &client), ZKL_OK);
    return client;
}

/* Of the application, which knows the secret, and has closed its nodes. */
static zkl_client *open_closed(void) {
    const zkl_credential credential = credential_of("digest", "stock:secret");
    zkl_client_options options = default_options();
    zkl_security security = ZKL_SECURITY_INIT;
    options.security = &security;
    security.credentials = &credential;
    security.credential_count = 1;
    security.node_acl = ZKL_ACL_AUTHENTICATED;
    security.parent_acl = ZKL_ACL_AUTHENTICATED;
    return open_client(&options);
}

static void close_client(zkl_client *client) {
    EXPECT_INT(zkl_client_close(client, ENOUGH_MS), ZKL_OK);
}

static zkl_lock *hold_with(zkl_client *client, const zkl_lock_options *options, zkl_grant *grant) {
    zkl_lock *lock = NULL;
    EXPECT_INT(zkl_lock_open(client, "stock", options, &lock), ZKL_OK);
    EXPECT_INT(zkl_lock_acquire(lock, ZKL_WRITE, ENOUGH_MS, grant), ZKL_OK);
    return lock;
}

static bool is_protected(const char *path) {
    const char *slash = strrchr(path, '/'); /* NULL: there is no node */
    return slash != NULL && zkl_node_name_is_protected(slash + 1);
}

static const char *acl_of(const char *path) {
    const zkl_node *node = zkl_tree_find(zkl_ensemble_tree(ensemble), path, ZKL_LATEST_ZXID);
    EXPECT(node != NULL);
    const char *acl = node != NULL ? zkl_node_acl(node) : NULL;
    return acl != NULL ? acl : "";
}

/* Of the resource. */
static const char *only_node(void) {
    const zkl_tree *tree = zkl_ensemble_tree(ensemble);
    const zkl_node *parent = zkl_tree_find(tree, "/locks/stock", ZKL_LATEST_ZXID);
    const zkl_node *node = zkl_node_first_child(parent, ZKL_LATEST_ZXID);
    EXPECT(node != NULL && zkl_node_next_child(node, ZKL_LATEST_ZXID) == NULL);
    return node != NULL ? zkl_node_path(node) : "/";
}

/* Without the hashes, which differ. */
static void expect_acl(const char *path, const char *expected) {
    char shown[ACL_SIZE] = "";
    zkl_acl_entry entry;
    for (const char *next = acl_of(path); zkl_acl_next(&next, &entry);) {
        size_t used = strlen(shown);
        snprintf(shown + used, sizeof(shown) - used, "%.*s:%.*s %d; ", (int)entry.scheme_length,
                 entry.scheme, (int)strcspn(entry.id, ":"), entry.id, entry.permissions);
    }
    EXPECT_TEXT(shown, expected);
}

/* ---- What a client asks for that zklock has no function for ---------------------------------- */

typedef struct answer {
    bool given;
    int status;
} answer;

static void on_answer(void *arg, const zkl_reply *reply) {
    answer *self = arg;
    self->given = true;
    self->status = reply->outcome == ZKL_OUTCOME_OK ? ZKL_OK : reply->status;
}

static int set_data(zkl_client *client, const char *path) {
    const zkl_operation operation = {
        .kind = ZKL_OPERATION_SET, .path = path, .data = "mine", .version = ZKL_ANY_VERSION
    };
    answer its = { false, 0 };
    pthread_mutex_lock(&client->mutex);
    (void)zkl_send(&client->sessions->session.sender, &operation, on_answer, &its, NULL);
    pthread_mutex_unlock(&client->mutex);
    sleep_ms(TICK_MS);
    EXPECT(its.given);
    return its.status;
}

/* ---- Who may -------------------------------------------------------------------------------- */

TEST(nobody_but_its_session_may_set_a_protected_node) {
    begin();
    zkl_client *holder = open_closed();
    zkl_client *colleague = open_closed();
    zkl_grant grant = ZKL_GRANT_INIT;
    zkl_lock *lock = hold_with(holder, NULL, &grant);
    EXPECT(is_protected(grant.node));
    expect_acl(grant.node, "digest:stock 13; digest:zklock 18; ");
    EXPECT_INT(set_data(colleague, grant.node), ZKL_NO_PERMISSION);
    EXPECT_INT(set_data(holder, grant.node), ZKL_OK);
    EXPECT_INT(zkl_lock_downgrade(lock, ENOUGH_MS), ZKL_OK);
    expect_acl(only_node(), "digest:stock 13; digest:zklock 18; ");
    EXPECT(is_protected(only_node()));
    zkl_lock_close(lock);
    close_client(colleague);
    close_client(holder);
    end();
}

static void on_term(void *arg, int64_t term) {
    (void)arg;
    (void)term;
}

static void on_term_lost(void *arg, int64_t term, int reason) {
    (void)reason;
    on_term(arg, term);
}

static zkl_election *lead(zkl_client *client, zkl_resignation_asked_callback *asked) {
    zkl_election_options options = ZKL_ELECTION_OPTIONS_INIT;
    zkl_election *election = NULL;
    options.candidate = "one";
    options.elected = on_term;
    options.lost = on_term_lost;
    options.resignation_asked = asked;
    EXPECT_INT(zkl_election_open(client, "stock", &options, &election), ZKL_OK);
    EXPECT_INT(zkl_election_campaign(election, ENOUGH_MS, NULL), ZKL_OK);
    return election;
}

TEST(candidate_is_protected_unless_it_may_be_asked_to_resign) {
    begin();
    zkl_client *client = open_closed();
    zkl_client *colleague = open_closed();
    zkl_election *election = lead(client, NULL);
    EXPECT(is_protected(only_node()));
    expect_acl(only_node(), "digest:stock 13; digest:zklock 18; ");
    EXPECT_INT(set_data(colleague, only_node()), ZKL_NO_PERMISSION);
    EXPECT_INT(zkl_election_resign(election, ENOUGH_MS), ZKL_OK);
    zkl_election_close(election);
    election = lead(client, on_term);
    EXPECT(!is_protected(only_node()));
    EXPECT_INT(set_data(colleague, only_node()), ZKL_OK);
    zkl_election_close(election);
    close_client(colleague);
    close_client(client);
    end();
}

TEST(session_that_is_given_other_credentials_keeps_its_own) {
    begin();
    zkl_client *holder = open_closed();
    zkl_client *colleague = open_closed();
    const zkl_credential credential = credential_of("digest", "stock:secret");
    zkl_grant grant = ZKL_GRANT_INIT;
    zkl_lock *lock = hold_with(holder, NULL, &grant);
    EXPECT_INT(zkl_client_set_credentials(holder, &credential, 1), ZKL_OK);
    sleep_ms(SESSION_MS);
    EXPECT_INT(set_data(colleague, grant.node), ZKL_NO_PERMISSION);
    EXPECT_INT(set_data(holder, grant.node), ZKL_OK);
    EXPECT_INT(zkl_lock_release(lock, ENOUGH_MS), ZKL_OK);
    zkl_lock_close(lock);
    close_client(colleague);
    close_client(holder);
    end();
}

TEST(all_contenders_wait_for_protected_nodes_and_get_the_lock) {
    begin();
    zkl_client_options options = default_options();
    zkl_security security = ZKL_SECURITY_INIT;
    zkl_client *holder = open_client(NULL);
    options.security = &security;
    security.unprotected = 1;
    zkl_client *other = open_client(&options);
    zkl_grant grant = ZKL_GRANT_INIT;
    zkl_lock *lock = hold_with(holder, NULL, &grant);
    expect_acl(grant.node, "world:anyone 13; digest:zklock 18; ");
    EXPECT_INT(set_data(other, grant.node), ZKL_NO_PERMISSION);
    zkl_lock *waiting = NULL;
    EXPECT_INT(zkl_lock_open(other, "stock", NULL, &waiting), ZKL_OK);
    EXPECT_INT(zkl_lock_acquire(waiting, ZKL_WRITE, SESSION_MS, NULL), ZKL_TIMEOUT);
    EXPECT_INT(zkl_lock_release(lock, ENOUGH_MS), ZKL_OK);
    EXPECT_INT(zkl_lock_acquire(waiting, ZKL_WRITE, ENOUGH_MS, &grant), ZKL_OK);
    EXPECT(!is_protected(grant.node));
    EXPECT_TEXT(acl_of(grant.node), "");
    zkl_lock_close(waiting);
    zkl_lock_close(lock);
    close_client(other);
    close_client(holder);
    end();
}

TEST(own_identity_never_enters_the_acl_of_a_parent) {
    begin();
    zkl_client *client = open_closed();
    zkl_lock *lock = hold_with(client, NULL, NULL);
    expect_acl("/locks", "digest:stock 31; ");
    expect_acl("/locks/stock", "digest:stock 31; ");
    zkl_transaction *transaction = NULL;
    EXPECT_INT(zkl_transaction_begin(lock, &transaction), ZKL_OK);
    EXPECT_INT(zkl_transaction_create(transaction, "/store", NULL, 0, ZKL_CREATE_PERSISTENT),
               ZKL_OK);
    EXPECT_INT(zkl_transaction_commit(transaction, ENOUGH_MS, NULL), ZKL_OK);
    zkl_transaction_free(transaction);
    expect_acl("/store", "digest:stock 31; ");
    zkl_lock_close(lock);
    close_client(client);
    end();
}

/* As before there were protected nodes: it would be a parent that nobody may use. */
TEST(parent_for_identities_is_refused_to_who_has_shown_none) {
    begin();
    zkl_client_options options = default_options();
    zkl_security security = ZKL_SECURITY_INIT;
    options.security = &security;
    security.parent_acl = ZKL_ACL_AUTHENTICATED;
    zkl_client *client = open_client(&options);
    zkl_lock *lock = NULL;
    EXPECT_INT(zkl_lock_open(client, "stock", NULL, &lock), ZKL_OK);
    EXPECT_INT(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, ENOUGH_MS, NULL), ZKL_NO_PERMISSION);
    zkl_lock_close(lock);
    close_client(client);
    end();
}

TEST(each_session_has_another_identity) {
    begin();
    char first[ACL_SIZE];
    zkl_client *client = open_client(NULL);
    zkl_grant grant = ZKL_GRANT_INIT;
    zkl_lock *lock = hold_with(client, NULL, &grant);
    snprintf(first, sizeof(first), "%s", acl_of(grant.node));
    EXPECT(zkl_ensemble_cut(ensemble, zkl_ensemble_session_at(ensemble, 0), ZKL_CUT_REPLIES_LOST));
    sleep_ms(SESSION_MS / 2);
    EXPECT_INT(set_data(client, grant.node), ZKL_OK);
    EXPECT(zkl_ensemble_expire(ensemble, zkl_ensemble_session_at(ensemble, 0)));
    sleep_ms(SESSION_MS);
    EXPECT_INT(zkl_lock_release(lock, ENOUGH_MS), ZKL_LOST);
    EXPECT_INT(zkl_lock_acquire(lock, ZKL_WRITE, ENOUGH_MS, &grant), ZKL_OK);
    EXPECT(is_protected(grant.node));
    EXPECT(strcmp(acl_of(grant.node), first) != 0);
    zkl_lock_close(lock);
    close_client(client);
    end();
}

/* ---- What cannot be asked for ---------------------------------------------------------------- */

static void ignore(void *arg, const zkl_lock_event *event) {
    (void)arg;
    (void)event;
}

TEST(revocation_of_a_protected_node_is_refused) {
    begin();
    zkl_client *client = open_client(NULL);
    zkl_grant grant = ZKL_GRANT_INIT;
    zkl_lock *lock = hold_with(client, NULL, &grant);
    EXPECT_INT(zkl_node_revoke(client, "stock", strrchr(grant.node, '/') + 1, ENOUGH_MS),
               ZKL_NO_PERMISSION);
    EXPECT(strstr(zkl_error_message(), "is protected") != NULL);
    zkl_lock_close(lock);
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    options.revocable = 1;
    EXPECT_REFUSED(zkl_lock_open(client, "stock", &options, &lock), "revocable \"1\": needs");
    options.state_callback = ignore;
    lock = hold_with(client, &options, &grant);
    EXPECT(!is_protected(grant.node));
    EXPECT_INT(zkl_node_revoke(client, "stock", strrchr(grant.node, '/') + 1, ENOUGH_MS), ZKL_OK);
    zkl_lock_close(lock);
    close_client(client);
    end();
}

TEST(transaction_that_sets_a_protected_node_is_refused) {
    begin();
    zkl_client *client = open_client(NULL);
    zkl_grant grant = ZKL_GRANT_INIT;
    zkl_lock *lock = hold_with(client, NULL, &grant);
    zkl_transaction *transaction = NULL;
    EXPECT_INT(zkl_transaction_begin(lock, &transaction), ZKL_OK);
    EXPECT_REFUSED(zkl_transaction_set(transaction, grant.node, "x", 1, ZKL_ANY_VERSION),
                   "protected");
    EXPECT_INT(zkl_transaction_set(transaction, "/locks", "x", 1, ZKL_ANY_VERSION), ZKL_OK);
    zkl_transaction_free(transaction);
    zkl_lock_close(lock);
    close_client(client);
    end();
}

TEST(acl_that_is_set_has_no_identity_of_the_session) {
    begin();
    zkl_client *client = open_closed();
    zkl_grant grant = ZKL_GRANT_INIT;
    zkl_lock *lock = hold_with(client, NULL, &grant);
    EXPECT_REFUSED(zkl_node_set_acl(client, grant.node, ZKL_ACL_OPEN, ENOUGH_MS), "protected");
    EXPECT_INT(zkl_node_set_acl(client, "/locks", "world:anyone:r,auth::cdrwa", ENOUGH_MS), ZKL_OK);
    expect_acl("/locks", "world:anyone 1; digest:stock 31; ");
    zkl_lock_close(lock);
    close_client(client);
    end();
}

/* ---- A forged mark --------------------------------------------------------------------------- */

typedef struct waiting {
    zkl_lock *lock;
    int status;
} waiting;

static void *wait_behind(void *arg) {
    waiting *self = arg;
    self->status = zkl_lock_acquire(self->lock, ZKL_EXCLUSIVE, SESSION_MS, NULL);
    return NULL;
}

/* Behind a holder and the marked node of a client that may create, and deletes nothing: it sets the
 * data of what it has made. */
static int wait_behind_forgery(bool is_protected, bool revocable) {
    begin();
    char forged[ACL_SIZE];
    zkl_client_options options = default_options();
    zkl_security security = ZKL_SECURITY_INIT;
    zkl_lock_options of_lock = ZKL_LOCK_OPTIONS_INIT;
    waiting self = { .status = ZKL_OK };
    pthread_t thread;
    options.security = &security;
    security.unprotected = is_protected ? 0 : 1;
    of_lock.revocable = revocable ? 1 : 0;
    of_lock.state_callback = ignore;
    zkl_client *holder = open_client(NULL);
    zkl_client *waiter = open_client(&options);
    zkl_lock *held = hold_with(holder, NULL, NULL);
    EXPECT_INT(zkl_ensemble_create(ensemble, 0,
                                   "/locks/stock/_c_6ba7b810-9dad-81d1-80b4-00c04fd430c8-lock-", "",
                                   false, true, forged, sizeof(forged)),
               ZKL_SERVER_ERROR_NONE);
    EXPECT_INT(zkl_lock_open(waiter, "stock", &of_lock, &self.lock), ZKL_OK);
    EXPECT(zkl_thread_start(&thread, wait_behind, &self));
    sleep_ms(TICK_MS);
    EXPECT_INT(zkl_ensemble_set_data(ensemble, forged, "mine"), ZKL_SERVER_ERROR_NONE);
    zkl_thread_join(thread);
    EXPECT_INT(zkl_lock_verify(held, ENOUGH_MS), ZKL_OK);
    zkl_lock_close(self.lock);
    zkl_lock_close(held);
    close_client(waiter);
    close_client(holder);
    end();
    return self.status;
}

/* So whoever may create there is trusted by those who protect their nodes: docs/security.md. */
TEST(forged_mark_is_believed_by_clients_that_mark_their_own_nodes_alone) {
    EXPECT_INT(wait_behind_forgery(true, false), ZKL_OK);
    EXPECT_INT(wait_behind_forgery(false, false), ZKL_TIMEOUT);
    EXPECT_INT(wait_behind_forgery(true, true), ZKL_TIMEOUT);
}

/* ---- Sessions that protect nothing ----------------------------------------------------------- */

TEST(servers_that_refuse_digests_get_another_session_without) {
    begin();
    zkl_ensemble_refuse_digests(ensemble, true);
    zkl_client *client = open_client(NULL);
    zkl_grant grant = ZKL_GRANT_INIT;
    zkl_lock *lock = hold_with(client, NULL, &grant);
    EXPECT(!is_protected(grant.node));
    EXPECT_TEXT(acl_of(grant.node), "");
    zkl_lock_close(lock);
    close_client(client);
    end();
}

TEST(credential_of_the_application_that_is_refused_is_no_matter_of_protection) {
    begin();
    const zkl_credential credential = credential_of("digest", "stock:secret");
    zkl_client_options options = default_options();
    zkl_security security = ZKL_SECURITY_INIT;
    zkl_client *client = NULL;
    options.security = &security;
    security.credentials = &credential;
    security.credential_count = 1;
    zkl_ensemble_refuse_digests(ensemble, true);
    EXPECT_INT(zkl_client_open("server:2181", &options, &client), ZKL_AUTH_FAILED);
    end();
}

static void *wait_for_lock(void *arg) {
    zkl_lock *lock = arg;
    EXPECT_INT(zkl_lock_acquire(lock, ZKL_WRITE, 4 * ENOUGH_MS, NULL), ZKL_OK);
    return NULL;
}

/* The waiter begins anew with a name that says that it is protected, and then with another. */
TEST(digests_that_are_refused_from_the_next_session_on_leave_no_mark) {
    begin();
    zkl_client *client = open_client(NULL);
    zkl_lock *first = hold_with(client, NULL, NULL);
    zkl_lock *second = NULL;
    EXPECT_INT(zkl_lock_open(client, "stock", NULL, &second), ZKL_OK);
    pthread_t waiter;
    EXPECT(zkl_thread_start(&waiter, wait_for_lock, second));
    sleep_ms(TICK_MS);
    zkl_ensemble_refuse_digests(ensemble, true);
    EXPECT(zkl_ensemble_expire(ensemble, zkl_ensemble_session_at(ensemble, 0)));
    zkl_thread_join(waiter);
    EXPECT(!is_protected(only_node()));
    zkl_lock_close(second);
    zkl_lock_close(first);
    close_client(client);
    end();
}

static bool has_session(zkl_client *client) {
    pthread_mutex_lock(&client->mutex);
    bool is_established = client->sessions->session.established;
    pthread_mutex_unlock(&client->mutex);
    return is_established;
}

/* It had nothing in the session that ended. */
TEST(acquire_that_begins_before_digests_are_refused_has_lost_no_session) {
    begin();
    zkl_client *client = open_client(NULL);
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    options.fail_on_session_expiry = 1;
    zkl_ensemble_refuse_digests(ensemble, true);
    EXPECT(zkl_ensemble_expire(ensemble, zkl_ensemble_session_at(ensemble, 0)));
    while (has_session(client)) {
        sleep_ms(1);
    }
    zkl_grant grant = ZKL_GRANT_INIT;
    zkl_lock *lock = hold_with(client, &options, &grant);
    EXPECT(!is_protected(grant.node));
    zkl_lock_close(lock);
    close_client(client);
    end();
}

/* libzookeeper shows them again at each connection. */
TEST(digests_that_are_refused_at_a_reconnect_cost_the_session) {
    begin();
    zkl_client *client = open_client(NULL);
    zkl_grant grant = ZKL_GRANT_INIT;
    zkl_lock *lock = hold_with(client, NULL, &grant);
    zkl_ensemble_refuse_digests(ensemble, true);
    EXPECT(zkl_ensemble_cut(ensemble, zkl_ensemble_session_at(ensemble, 0), ZKL_CUT_REPLIES_LOST));
    sleep_ms(2 * SESSION_MS);
    EXPECT_INT(zkl_lock_release(lock, ENOUGH_MS), ZKL_LOST);
    EXPECT_INT(zkl_lock_acquire(lock, ZKL_WRITE, 2 * ENOUGH_MS, &grant), ZKL_OK);
    EXPECT(!is_protected(grant.node));
    zkl_lock_close(lock);
    close_client(client);
    end();
}

/* ---- Which credentials are shown --------------------------------------------------------------
 */

static bool random_bytes(zkl_operations *operations, void *bytes, size_t size) {
    (void)operations;
    memset(bytes, 7, size);
    return true;
}

static void add(char shown[ACL_SIZE], const char *word) {
    size_t used = strlen(shown);
    snprintf(shown + used, ACL_SIZE - used, "%s", word);
}

/* "application" and "own", as a connection asks for one credential after the other. */
static void expect_shown(zkl_protection *self, const char *const *schemes, const char *expected) {
    static const zkl_operations_table table = { .random = random_bytes };
    zkl_operations operations = { &table };
    char shown[ACL_SIZE] = "";
    size_t index = 0;
    for (; schemes[index] != NULL; index++) {
        const zkl_credential credential = credential_of(schemes[index], "stock:secret");
        zkl_protection_add_shared(self, index, &credential);
        add(shown, "application ");
    }
    zkl_credential own = ZKL_CREDENTIAL_INIT;
    while (zkl_protection_next(self, &operations, index, &own)) {
        EXPECT_TEXT(own.scheme, "digest");
        add(shown, "own ");
        index++;
    }
    EXPECT_TEXT(shown, expected);
    EXPECT_INT(self->active, strstr(expected, "own") != NULL);
}

TEST(own_credential_is_shown_where_those_of_the_application_do_not_forbid_it) {
    static const char *const digests[] = { "digest", "digest", NULL };
    static const char *const others[] = { "digest", "x509", NULL };
    static const char *const none[] = { NULL };
    expect_shown(&(zkl_protection){ .wanted = true }, none, "own ");
    expect_shown(&(zkl_protection){ .wanted = true }, digests, "application application own ");
    expect_shown(&(zkl_protection){ .wanted = true }, others, "application application own ");
    expect_shown(&(zkl_protection){ .wanted = false }, digests, "application application ");
    zkl_protection uses_auth = { .wanted = true, .uses_auth = true };
    expect_shown(&uses_auth, others, "application application ");
    expect_shown(&uses_auth, digests, "application application own ");
    expect_shown(&uses_auth, none, "own "); /* it has its nodes to protect by now */
    zkl_protection has_others = { .wanted = true, .uses_auth = true, .has_others = true };
    expect_shown(&has_others, digests, "application application ");
    expect_shown(&has_others, none, "");
}

/* libzookeeper may be out of memory; the same one is asked for again then. */
TEST(own_credential_that_was_not_taken_is_given_again_and_protects_nothing_yet) {
    static const zkl_operations_table table = { .random = random_bytes };
    zkl_operations operations = { &table };
    zkl_protection self = { .wanted = true };
    zkl_credential own = ZKL_CREDENTIAL_INIT;
    for (int i = 0; i < 3; i++) {
        EXPECT(zkl_protection_next(&self, &operations, 0, &own));
        EXPECT(!self.active);
    }
    EXPECT(!zkl_protection_next(&self, &operations, 1, &own));
    EXPECT(self.active);
}

/* The servers are to refuse it, as they do where nobody is shown: it stands for more than is known.
 */
TEST(auth_of_a_lock_stands_for_nobody_where_identities_are_not_known) {
    static const char *const others[] = { "digest", "x509", NULL };
    char room[ZKL_ACL_WRITTEN_SIZE];
    zkl_protection self = { .wanted = true };
    expect_shown(&self, others, "application application own ");
    const zkl_operation parent = { .kind = ZKL_OPERATION_CREATE_PARENT,
                                   .path = "/locks/stock",
                                   .acl = ZKL_ACL_AUTHENTICATED };
    EXPECT_TEXT(zkl_protection_acl(&self, &parent, room), "digest:nobody:cdrwa");
}
