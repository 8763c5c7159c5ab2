/*
 * What a call does once it has let the client's mutex go: nothing that others may have changed
 * meanwhile. Each time that the library lets this mutex go, the test may do something before it
 * goes on, as another thread might; and so before it takes the mutex again when it has waited.
 */
#include <pthread.h>
#include <string.h>

#include "base/threads.h"
#include "client/client.h"
#include "session/session_life.h"
#include "support/participant.h"

int __real_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);

enum { SOON_MS = 200 };

static participant self;
static const pthread_mutex_t
    *watched;                   /* of a client that is open, or closed but kept by a handle */
static void (*meanwhile)(void); /* NULL: nobody is about */

int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex) {
    int result = __real_pthread_mutex_unlock(mutex);
    void (*act)(void) = mutex == watched ? meanwhile : NULL;
    if (act != NULL) {
        meanwhile = NULL; /* what it does lets the mutex go as well */
        act();
    }
    return result;
}

static uint64_t waiter;      /* the number of a task */
static void (*before)(void); /* it takes the mutex again; NULL: nothing */

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex) {
    void (*act)(void) = mutex == watched && zkl_thread_number() == waiter ? before : NULL;
    if (act != NULL) {
        before = NULL;
        act();
    }
    return __real_pthread_mutex_lock(mutex);
}

static void begin_with(bool lease) {
    zkl_testing_begin(NULL);
    participant_open(&self, 0, lease);
    watched = &self.client->mutex;
}

static void begin(void) {
    begin_with(false);
}

/* ---- A grant ------------------------------------------------------------------------ */

/* At the end of the acquire, and not before. */
static void lose_once_held(void) {
    if (zkl_lock_check(self.lock, NULL) != ZKL_OK) {
        meanwhile = lose_once_held;
        return;
    }
    zkl_testing_expire_session(self.client);
    EXPECT_INT(zkl_testing_wait_for_state(self.lock, ZKL_STATE_LOST, SOON_MS), 1);
}

TEST(lock_that_is_lost_as_its_acquire_returns_was_granted_as_told) {
    begin();
    meanwhile = lose_once_held;
    EXPECT_INT(participant_acquire(&self, PARTICIPANT_TIMEOUT_MS), ZKL_OK);
    EXPECT(meanwhile == NULL);
    EXPECT(self.grant.token > 0);
    EXPECT_INT(self.grant.mode, ZKL_EXCLUSIVE);
    EXPECT(strncmp(self.grant.node, PARTICIPANT_RESOURCE "/", strlen(PARTICIPANT_RESOURCE) + 1) ==
           0);
    EXPECT_INT(zkl_lock_release(self.lock, 0), ZKL_LOST);
    participant_close(&self);
    zkl_testing_end();
}

/* ---- A wait ------------------------------------------------------------------------- */

static void acquire(void *arg) {
    (void)arg;
    waiter = zkl_thread_number();
    (void)participant_acquire(&self, ZKL_FOREVER);
    EXPECT(strstr(zkl_error_message(), "session timeout") == NULL); /* there is none any more */
}

static void close_client(void) {
    EXPECT_INT(zkl_client_close(self.client, SOON_MS), ZKL_OK);
}

/* Servers that come back grant less than before. */
static void grant_too_little(void) {
    pthread_mutex_lock(&self.client->mutex);
    zkl_session_on_news(&self.client->sessions->session,
                        &(zkl_session_news){ .state = ZKL_SESSION_STATE_CONNECTED,
                                             .session_id = self.client->sessions->session.id,
                                             .timeout_ms = 4000 });
    pthread_mutex_unlock(&self.client->mutex);
}

TEST(acquire_that_wakes_late_looks_at_no_session_of_a_closed_client) {
    begin_with(true);
    participant other;
    participant_open(&other, 0, false);
    EXPECT_INT(participant_acquire(&other, ZKL_FOREVER), ZKL_OK);
    zkl_testing_task *task = zkl_testing_start(acquire, NULL);
    zkl_testing_sleep(SOON_MS);
    before = close_client;
    grant_too_little();
    zkl_testing_join(task);
    EXPECT(before == NULL);
    EXPECT_INT(self.status, ZKL_LEASE_IMPOSSIBLE);
    zkl_lock_close(self.lock);
    participant_close(&other);
    zkl_testing_end();
}

/* ---- The client's memory ------------------------------------------------------------ */

static zkl_lock *others;

static void close_others(void) {
    zkl_lock_close(others);
    others = NULL;
}

/* The handle's close lets the client's mutex go twice: when it is idle, and when it has dropped the
 * client. */
static void close_others_at_the_second(void) {
    meanwhile = close_others;
}

TEST(last_two_handles_of_a_closed_client_free_it_once) {
    begin();
    zkl_lock *mine = NULL;
    EXPECT_INT(zkl_lock_open(self.client, "one", NULL, &mine), ZKL_OK);
    EXPECT_INT(zkl_lock_open(self.client, "another", NULL, &others), ZKL_OK);
    participant_close(&self);
    meanwhile = close_others_at_the_second;
    zkl_lock_close(mine);
    EXPECT(meanwhile == NULL);
    EXPECT(others == NULL);
    zkl_testing_end();
}

/* ---- Other credentials ----------------------------------------------------------------------- */

static int refusals;
static bool is_opening; /* the next session */

static void count_refusals(void *arg, const zkl_log_record *record) {
    (void)arg;
    refusals += record->event == ZKL_LOG_CREDENTIALS_REFUSED ? 1 : 0;
}

static zkl_credential digest(const char *secret) {
    zkl_credential credential = ZKL_CREDENTIAL_INIT;
    credential.secret = secret;
    credential.size = strlen(secret);
    return credential;
}

/* The servers have accepted all that the session has shown, and it does not know yet. */
static void show_others_before_it_stands(void) {
    const zkl_session *session = &self.client->sessions->session;
    const zkl_credential unknown = digest("stock:\xc3\xa4pfel");
    is_opening = is_opening || !session->sender.protection.active;
    if (!is_opening || !session->sender.protection.active) {
        meanwhile = show_others_before_it_stands;
        return;
    }
    EXPECT_INT(zkl_client_set_credentials(self.client, &unknown, 1), ZKL_OK);
}

/* One that stands could not take them. */
TEST(session_that_does_not_stand_yet_begins_anew_with_other_credentials) {
    const zkl_credential known = digest("stock:secret");
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    zkl_security security = ZKL_SECURITY_INIT;
    options.security = &security;
    security.credentials = &known;
    security.credential_count = 1;
    security.node_acl = ZKL_ACL_AUTHENTICATED;
    options.log_callback = count_refusals;
    zkl_testing_begin(NULL);
    EXPECT_INT(zkl_client_open("server:2181", &options, &self.client), ZKL_OK);
    EXPECT_INT(zkl_lock_open(self.client, "stock", NULL, &self.lock), ZKL_OK);
    watched = &self.client->mutex;
    meanwhile = show_others_before_it_stands;
    zkl_testing_expire_session(self.client);
    EXPECT_INT(zkl_lock_acquire(self.lock, ZKL_EXCLUSIVE, ZKL_FOREVER, NULL), ZKL_OK);
    EXPECT(meanwhile == NULL);
    EXPECT_INT(self.client->sessions->session.sender.protection.has_unknown, 1);
    EXPECT_INT(refusals, 0);
    watched = NULL;
    participant_close(&self);
    zkl_testing_end();
}
