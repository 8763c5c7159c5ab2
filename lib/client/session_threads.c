/*
 * The threads that serve a client. One fires timers: deadlines must not wait
 * for anything. One for each session connects: it resolves names, opens the
 * next session when one has expired, looks names up again while disconnected,
 * and ends the session when the client closes.
 */
#include "client/client.h"

#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "base/error_message.h"
#include "base/threads.h"
#include "client/servers.h"
#include "connection/addresses.h"
#include "session/session_life.h"
#include "telemetry/record_file.h"

/* How long to wait before names that could not be resolved are tried again. They are looked up no
 * more often than that, and that often while connected. */
enum { RETRY_PAUSE_MS = 1000, LOOK_UP_CONNECTED_MS = 60000 };

/* How often to look for what libzookeeper does not tell, while it is not connected
 * (lz-refused-login). */
enum { LOOK_MS = 250 };

/* How long a credential may take that the servers do not answer to. */
enum { CREDENTIAL_MS = 10000 };

/* A server that does not answer is left after this part of the session timeout: two of them must
 * not end the session. After some attempts the part is twice as large: servers that are slow are
 * not asked again and again. (libzookeeper itself waits for four of them: lz-patience.) */
enum { ATTEMPTS_OF_TIMEOUT = 6, SHORT_ATTEMPTS = 4, ATTEMPTS_OF_ITS_OWN = 4 };

/* While no session stands, at least that long. */
enum { PATIENCE_MIN_MS = 100 };

/* ---- News from the operations, with the mutex held ------------------------- */

static void tell_threads(zkl_client_session *self) {
    zkl_condition_broadcast(&self->changed);
    zkl_condition_broadcast(&self->client->changed);
}

/* Its thread closes it, and opens another. */
static void on_abandon(void *arg) {
    zkl_client_session *self = arg;
    zkl_connection_abandon(self->connection);
    self->may_lag = false;
    zkl_session_give_up(&self->session);
    self->is_over = true;
    tell_threads(self);
}

static void on_denied(void *arg) {
    zkl_client_session *self = arg;
    zkl_condition_broadcast(&self->changed);
}

/* The servers may know no digests: the next session shows them none of ours. */
static bool begins_unprotected(zkl_client_session *self, const zkl_session_news *news) {
    bool dropped = news->state == ZKL_SESSION_STATE_AUTH_FAILED &&
                   zkl_protection_drop(&self->session.sender.protection);
    if (dropped && self->session.established) {
        on_abandon(self);
    } else if (dropped) {
        zkl_connection_abandon(self->connection);
        self->is_over = true;
        tell_threads(self);
    }
    return dropped;
}

/* A session that could not take the new credentials: its thread is about to begin another. */
static bool stands_with_the_old(const zkl_client_session *self, const zkl_session_news *news) {
    return news->state == ZKL_SESSION_STATE_CONNECTED && !self->session.established &&
           self->has_new_credentials;
}

static void on_session_news(void *arg, const zkl_session_news *news);

static void on_caught_up(void *arg, const zkl_reply *reply) {
    zkl_client_session *self = arg;
    const zkl_session_news news = self->lagging;
    if (self->may_lag && zkl_is_committed(reply)) {
        self->may_lag = false;
        on_session_news(self, &news);
    }
}

/* Nothing else is asked of the server before it has committed a write. Where that cannot be sent,
 * it is tried again, or another server is. */
static void catch_up(zkl_client_session *self, const zkl_session_news *news) {
    self->lagging = *news;
    (void)zkl_liveness_write_nothing(&self->session.liveness, 0, on_caught_up, self, NULL);
}

static void on_session_news(void *arg, const zkl_session_news *news) {
    zkl_client_session *self = arg;
    self->is_introduced = true; /* or the next connection begins with it */
    if (begins_unprotected(self, news) || stands_with_the_old(self, news)) {
        return;
    }
    self->may_lag = self->may_lag || (news->renewed && self->session.established);
    self->lagging.state = ZKL_SESSION_STATE_CONNECTING;
    if (news->state == ZKL_SESSION_STATE_CONNECTED && self->may_lag) {
        catch_up(self, news);
        return;
    }
    zkl_session_on_news(&self->session, news);
    if (news->state == ZKL_SESSION_STATE_EXPIRED) {
        self->is_over = true;
    } else if (news->state == ZKL_SESSION_STATE_CONNECTED) {
        self->waits = 0;
    }
    tell_threads(self);
}

static void on_watch_fired(void *arg, uint64_t watch_id, zkl_watch_event event) {
    zkl_client_session *self = arg;
    zkl_session_on_watch_fired(&self->session, watch_id, event);
}

/* Those of the application come first, so that one that is refused is not taken for our own. */
static bool next_credential(void *arg, size_t index, zkl_credential *credential) {
    zkl_client_session *self = arg;
    zkl_protection *protection = &self->session.sender.protection;
    bool given = (index == 0 || index <= protection->given_as) &&
                 zkl_credentials_next(&self->client->credentials, &self->client->mutex, index,
                                      credential, &self->shown);
    ZKL_WITH_MUTEX(&self->client->mutex);
    if (given) {
        if (!zkl_protection_add_shared(protection, index, credential)) {
            *credential = ZKL_CREDENTIAL_WRONG;
        }
        return true;
    }
    return zkl_protection_next(protection, self->session.operations, index, credential);
}

static void on_awaits_credential(void *arg) {
    zkl_client_session *self = arg;
    self->awaits_credential = true;
    zkl_condition_broadcast(&self->changed);
}

/* The thread that closes the client waits for the last answer, and for the last request, which ends
 * with an answer, a timer or news of its session. */
static void wake_closing_thread(zkl_client *client) {
    if (client->closed) {
        zkl_condition_broadcast(&client->changed);
    }
}

static void on_answered(void *arg) {
    zkl_client *client = ((zkl_client_session *)arg)->client;
    client->answers++;
    wake_closing_thread(client);
}

static void on_wake(void *arg) {
    zkl_client *client = arg;
    zkl_condition_broadcast(&client->timers_changed);
}

/* ---- Timers ---------------------------------------------------------------- */

static void *fire_timers(void *arg) {
    zkl_client *client = arg;
    ZKL_WITH_MUTEX(&client->mutex);
    while (!client->timers_stop) {
        zkl_timers_fire_due(&client->timers, zkl_clock_ms());
        wake_closing_thread(client);
        (void)zkl_condition_wait(&client->timers_changed, &client->mutex,
                                 zkl_timers_next(&client->timers));
    }
    return NULL;
}

/* ---- Connecting ------------------------------------------------------------- */

static int connect_session(zkl_client_session *self) {
    ZKL_TRY(zkl_servers_look_up(self));
    pthread_mutex_lock(&self->client->mutex);
    self->waits = 0;
    self->has_moved = false;
    zkl_servers_keep_rest(self, NULL);
    zkl_session_connecting(&self->session);
    pthread_mutex_unlock(&self->client->mutex);
    return zkl_connection_open(self->connection, self->addresses,
                               self->client->options.session_timeout_ms);
}

/* Waits for `ms`, with the mutex held, or until told to stop. */
static void pause_connecting(zkl_client_session *self, int64_t ms) {
    int64_t deadline_ms = zkl_deadline(ms);
    while (!self->client->stopping &&
           zkl_condition_wait(&self->changed, &self->client->mutex, deadline_ms)) {
    }
}

/* Called with the mutex held, which is let go meanwhile. The flag goes down
 * before the new session can possibly expire in its turn. */
static void open_next_session(zkl_client_session *self) {
    self->is_over = false;
    self->has_new_credentials = false;
    self->may_lag = false;
    self->awaits_credential = false;
    self->is_introduced = true;
    pthread_mutex_unlock(&self->client->mutex);
    zkl_connection_close(self->connection);
    int status = connect_session(self);
    pthread_mutex_lock(&self->client->mutex);
    self->connect_status = status;
    tell_threads(self);
    if (status != ZKL_OK) {
        self->is_over = true;
        pause_connecting(self, RETRY_PAUSE_MS);
    }
}

/* While no session stands, all addresses share the time to connect. Each gets more than the one
 * before it: a silent one shall cost little, and a server that is slow to make a session may be the
 * only one. */
static int64_t first_patience_ms(const zkl_client_session *self) {
    const zkl_client_options *options = &self->client->options;
    int64_t count = (int64_t)zkl_addresses_count(self->addresses);
    int64_t turn = self->waits < count ? self->waits + 1 : count;
    int64_t shares = count > 1 ? count * (count + 1) / 2 : 1;
    int64_t share_ms = options->connect_timeout_ms * turn / shares;
    int64_t part_ms = options->session_timeout_ms / ATTEMPTS_OF_TIMEOUT;
    int64_t longest_ms = part_ms * ATTEMPTS_OF_ITS_OWN;
    share_ms = share_ms < longest_ms ? share_ms : longest_ms;
    return share_ms > PATIENCE_MIN_MS ? share_ms : PATIENCE_MIN_MS;
}

static int64_t patience_in_session_ms(const zkl_client_session *self) {
    int64_t part_ms = self->session.timeout_ms / ATTEMPTS_OF_TIMEOUT;
    return self->waits < SHORT_ATTEMPTS ? part_ms : 2 * part_ms;
}

/* At random between that and half of it: clients that lost the same server do not ask the others,
 * and the name servers, at the same moments. */
static int64_t patience_ms(const zkl_client_session *self) {
    return zkl_session_shorten(&self->session, self->session.established
                                                   ? patience_in_session_ms(self)
                                                   : first_patience_ms(self));
}

static void introduce(zkl_client_session *self) {
    self->awaits_credential = false;
    self->is_introduced = false;
    pthread_mutex_unlock(&self->client->mutex);
    bool introduced = zkl_connection_introduce(self->connection);
    explicit_bzero(&self->shown, sizeof(self->shown));
    pthread_mutex_lock(&self->client->mutex);
    if (!introduced) {
        self->awaits_credential = true;
        pause_connecting(self, RETRY_PAUSE_MS);
    }
}

/* The mutex is held, and let go meanwhile, here and in what follows. The server that is tried may
 * not answer, and the servers may have moved. To look that up may take long, so it comes after;
 * other addresses may cost a connection that has come about meanwhile. */
static void try_others(zkl_client_session *self) {
    self->waits++;
    if (self->may_lag && self->lagging.state == ZKL_SESSION_STATE_CONNECTED) {
        catch_up(self, &self->lagging);
    }
    pthread_mutex_unlock(&self->client->mutex);
    zkl_servers_leave_silent(self);
    if (zkl_clock_ms() - self->looked_up_ms >= RETRY_PAUSE_MS) {
        (void)zkl_servers_look_up(self);
    }
    pthread_mutex_lock(&self->client->mutex);
    if (self->has_moved && !self->session.connected) {
        pthread_mutex_unlock(&self->client->mutex);
        zkl_servers_hand_over(self);
        pthread_mutex_lock(&self->client->mutex);
    }
}

/* As zkl_condition_wait; and looks for a refused login, of which no news comes. */
static bool wait_and_look(zkl_client_session *self, int64_t deadline_ms) {
    int64_t next_ms = zkl_deadline(LOOK_MS);
    if (zkl_condition_wait(&self->changed, &self->client->mutex,
                           deadline_ms < next_ms ? deadline_ms : next_ms)) {
        return true;
    }
    pthread_mutex_unlock(&self->client->mutex);
    zkl_connection_look(self->connection);
    pthread_mutex_lock(&self->client->mutex);
    return zkl_clock_ms() < deadline_ms;
}

/* At first with all addresses that were found last. */
static void wait_for_connection(zkl_client_session *self) {
    if (self->waits == 0) {
        pthread_mutex_unlock(&self->client->mutex);
        zkl_servers_hand_over(self);
        pthread_mutex_lock(&self->client->mutex);
    }
    bool introduces = !self->is_introduced;
    bool is_new = introduces && !self->session.established;
    int64_t deadline_ms = zkl_deadline(is_new ? CREDENTIAL_MS : patience_ms(self));
    bool in_time = true;
    while (in_time && !self->client->stopping && !self->is_over && !self->session.connected &&
           !self->session.auth_failed && !self->awaits_credential && !self->has_new_hosts &&
           !self->has_new_credentials && !self->session.is_not_there &&
           introduces == !self->is_introduced) {
        in_time = wait_and_look(self, deadline_ms);
    }
    if (!in_time && is_new) {
        self->is_over = true; /* pings are answered, or the connection would have been given up */
    } else if (!in_time) {
        try_others(self);
    }
}

static void stay_connected(zkl_client_session *self) {
    int64_t next_ms =
        self->looked_up_ms + zkl_session_shorten(&self->session, LOOK_UP_CONNECTED_MS);
    if (!zkl_condition_wait(&self->changed, &self->client->mutex, next_ms)) {
        pthread_mutex_unlock(&self->client->mutex);
        (void)zkl_servers_look_up(self);
        pthread_mutex_lock(&self->client->mutex);
    }
}

static void change_hosts(zkl_client_session *self) {
    self->has_new_hosts = false;
    pthread_mutex_unlock(&self->client->mutex);
    int status = zkl_servers_look_up(self);
    if (status == ZKL_OK) {
        zkl_servers_hand_over(self);
    }
    pthread_mutex_lock(&self->client->mutex);
    if (status != ZKL_OK) {
        self->has_new_hosts = true;
        pause_connecting(self, RETRY_PAUSE_MS);
    }
}

/* With the mutex held, which is let go meanwhile. */
static bool can_take_new_credentials(zkl_client_session *self) {
    if (!zkl_protection_replaces_auth(&self->session.sender.protection)) {
        return true;
    }
    pthread_mutex_unlock(&self->client->mutex);
    bool are_known =
        zkl_credentials_are_known(&self->client->credentials, &self->client->mutex, &self->shown);
    explicit_bzero(&self->shown, sizeof(self->shown));
    pthread_mutex_lock(&self->client->mutex);
    return are_known;
}

/* The session goes on with another one, to whichever server. */
static void change_handle(zkl_client_session *self) {
    self->awaits_credential = false;
    self->is_introduced = true;
    pthread_mutex_unlock(&self->client->mutex);
    int status = zkl_connection_renew(self->connection, self->addresses);
    pthread_mutex_lock(&self->client->mutex);
    if (status != ZKL_OK) {
        self->has_new_credentials =
            self->has_new_credentials || !zkl_connection_lacks_handle(self->connection);
        pause_connecting(self, RETRY_PAUSE_MS);
    }
}

/* libzookeeper repeats all that it was ever given (lz-credentials), so the session goes on with
 * another handle. One that is not established yet begins anew. */
static void change_credentials(zkl_client_session *self) {
    self->has_new_credentials = false;
    self->is_over = !self->session.established;
    if (self->is_over) {
        return;
    }
    if (!can_take_new_credentials(self)) {
        zkl_telemetry_credentials_refused(zkl_session_facts_of(&self->session));
        return; /* it goes on with those that it shows */
    }
    change_handle(self);
}

/* Another handle forgets requests that the server owes an answer. But it shows what the callback
 * gives by now, or a list that the session has refused: so the same one connects again there. */
static void leave_server(zkl_client_session *self) {
    if (self->client->credentials.callback == NULL && can_take_new_credentials(self)) {
        change_handle(self);
        return;
    }
    pthread_mutex_unlock(&self->client->mutex);
    zkl_connection_leave(self->connection, self->addresses);
    pthread_mutex_lock(&self->client->mutex);
}

/* Where servers say so, and take it up all the same, they are not asked without a pause. */
static void look_for_session(zkl_client_session *self) {
    while (self->session.is_not_there && !self->client->stopping &&
           zkl_condition_wait(&self->changed, &self->client->mutex, self->not_sought_before_ms)) {
    }
    if (self->session.is_not_there && !self->client->stopping) {
        self->not_sought_before_ms = zkl_deadline(RETRY_PAUSE_MS);
        leave_server(self);
    }
}

/* No session will follow. A connection left open would try again and again. */
static void stop_connecting(zkl_client_session *self) {
    pthread_mutex_unlock(&self->client->mutex);
    zkl_connection_close(self->connection);
    pthread_mutex_lock(&self->client->mutex);
    pause_connecting(self, INT64_MAX);
}

static void *keep_connected(void *arg) {
    zkl_client_session *self = arg;
    pthread_mutex_lock(&self->client->mutex);
    while (!self->client->stopping) {
        if (self->session.auth_failed) {
            stop_connecting(self);
        } else if (self->is_over) {
            open_next_session(self);
        } else if (zkl_connection_lacks_handle(self->connection)) {
            change_handle(self);
        } else if (self->has_new_credentials) {
            change_credentials(self);
        } else if (self->session.is_not_there) {
            look_for_session(self);
        } else if (self->awaits_credential) {
            introduce(self);
        } else if (self->has_new_hosts) {
            change_hosts(self);
        } else if (self->session.connected) {
            stay_connected(self);
        } else {
            wait_for_connection(self);
        }
    }
    pthread_mutex_unlock(&self->client->mutex);
    zkl_connection_close(self->connection);
    return NULL;
}

/* ---- Sessions ------------------------------------------------------------------ */

static void free_session(zkl_client_session *self) {
    free(self->addresses);
    free(self->rest);
    zkl_connection_free(self->connection);
    zkl_session_destroy(&self->session);
    zkl_condition_end(&self->changed);
    free(self);
}

/* What another session has been refused is not tried again. */
static zkl_protection protection_of(const zkl_client *client) {
    const zkl_security *security = &client->security;
    const zkl_client_session *first = client->sessions;
    return (zkl_protection){
        .wanted =
            first != NULL ? first->session.sender.protection.wanted : security->unprotected == 0,
        .uses_auth =
            zkl_acl_uses_auth(security->node_acl) || zkl_acl_uses_auth(security->parent_acl),
        .has_others = security->tls_certificate_file != NULL || security->sasl_mechanism != NULL,
    };
}

static zkl_client_session *make_session(zkl_client *client) {
    zkl_client_session *self = calloc(1, sizeof(*self));
    if (self == NULL) {
        return NULL;
    }
    zkl_listener listener = { .arg = self,
                              .options = &client->security,
                              .session = on_session_news,
                              .watch_fired = on_watch_fired,
                              .answered = on_answered,
                              .is_anonymous = client->security.unprotected != 0 &&
                                              client->credentials.callback == NULL &&
                                              client->credentials.count == 0,
                              .next_credential = next_credential,
                              .awaits_credential = on_awaits_credential };
    self->client = client;
    self->is_over = true;
    self->connect_status = ZKL_PENDING;
    self->connection = zkl_connection_make(&client->mutex, &listener);
    if (self->connection == NULL) {
        free(self);
        return NULL;
    }
    self->session = (zkl_session){
        .operations = zkl_connection_operations(self->connection),
        .log = client->log,
        .metrics = client->metrics,
        .recorder = client->recorder,
        .timers = &client->timers,
        .identity = client->identity,
        .label = client->label,
        .lock_root = client->lock_root,
        .sender = { .protection = protection_of(client) },
        .container_parents = client->options.container_parents != 0,
        .abandon = on_abandon,
        .is_denied = on_denied,
        .arg = self,
    };
    zkl_session_begin(&self->session, client->options.lease_tick_ms);
    zkl_condition_begin(&self->changed);
    return self;
}

bool zkl_sessions_are_idle(const zkl_client *client) {
    for (const zkl_client_session *one = client->sessions; one != NULL; one = one->next) {
        if (!zkl_connection_is_idle(one->connection)) {
            return false;
        }
    }
    return true;
}

int zkl_sessions_add(zkl_client *client, zkl_client_session **result) {
    zkl_client_session *self = make_session(client);
    ZKL_TRY(zkl_made(self));
    if (!zkl_thread_start(&self->thread, keep_connected, self)) {
        free_session(self);
        return ZKL_SYSTEM;
    }
    LL_APPEND(client->sessions, self);
    *result = self;
    return ZKL_OK;
}

/* ---- Beginning and end ------------------------------------------------------- */

/* After the sessions, which may take seconds to end: calls that wait meanwhile have deadlines. */
static void stop_timers(zkl_client *client) {
    pthread_mutex_lock(&client->mutex);
    client->timers_stop = true;
    zkl_condition_broadcast(&client->timers_changed);
    pthread_mutex_unlock(&client->mutex);
    if (client->timer_thread_runs) {
        zkl_thread_join(client->timer_thread);
    }
}

static void stop_threads(zkl_client *client) {
    pthread_mutex_lock(&client->mutex);
    client->stopping = true;
    for (zkl_client_session *one = client->sessions; one != NULL; one = one->next) {
        zkl_condition_broadcast(&one->changed);
    }
    pthread_mutex_unlock(&client->mutex);
    for (zkl_client_session *one = client->sessions; one != NULL; one = one->next) {
        zkl_thread_join(one->thread);
    }
    stop_timers(client);
}

int zkl_sessions_start(zkl_client *client) {
    zkl_client_session *first = NULL;
    client->timers = (zkl_timers){ .wake = on_wake, .arg = client };
    client->timer_thread_runs = zkl_thread_start(&client->timer_thread, fire_timers, client);
    ZKL_WITH_MUTEX(&client->mutex);
    return client->timer_thread_runs ? zkl_sessions_add(client, &first) : ZKL_SYSTEM;
}

void zkl_sessions_stop(zkl_client *client) {
    stop_threads(client);
    ZKL_WITH_MUTEX(&client->mutex);
    for (zkl_client_session *one = client->sessions; one != NULL; one = one->next) {
        zkl_session_finish(&one->session, ZKL_CLOSED);
        zkl_assert(client->recorder, one->session.runners == NULL);
    }
}

void zkl_sessions_free(zkl_client *client) {
    while (client->sessions != NULL) {
        zkl_client_session *first = client->sessions;
        client->sessions = first->next;
        free_session(first);
    }
}
