/*
 * The threads that serve a client. One fires timers: deadlines must not wait for anything. One for
 * each session connects: it resolves names, opens the next session when one has expired, looks
 * names up again while disconnected, and ends the session when the client closes.
 */
#include "client/client.h"

#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "base/error_message.h"
#include "base/threads.h"
#include "client/session_tasks.h"
#include "connection/addresses.h"
#include "session/session_life.h"
#include "telemetry/record_file.h"

/* How often names are looked up while connected. */
enum { LOOK_UP_CONNECTED_MS = 60000 };

/* How often to look for what libzookeeper does not tell, while it is not connected
 * (lz-refused-login). */
enum { LOOK_MS = 250 };

/* How long a credential may take that the servers do not answer to. */
enum { CREDENTIAL_MS = 10000 };

/* ---- News from the operations, with the mutex held ------------------------- */

static void tell_threads(zkl_client_session *self) {
    zkl_condition_broadcast(&self->changed);
    zkl_condition_broadcast(&self->client->changed);
}

static void on_caught_up(void *arg, const zkl_reply *reply);

/* Sends a write: nothing else is asked of the server before it has committed one. Where it cannot
 * be sent, it is tried again, or another server is. */
static void catch_up(zkl_client_session *self) {
    (void)zkl_liveness_write_nothing(&self->session.liveness, 0, on_caught_up, self, NULL);
}

/* Carries out what is done at once. Returns the thread's next task, if that is among it. */
static zkl_connecting_action_kind carry_out_orders(zkl_client_session *self,
                                                   const zkl_connecting_actions *actions) {
    zkl_connecting_action_kind task = ZKL_CONNECTING_ACTION_NONE;
    for (size_t i = 0; i < actions->count; i++) {
        switch (actions->list[i]) {
        case ZKL_CONNECTING_ACTION_PASS_ON:
            zkl_session_on_news(&self->session, &self->news);
            break;
        case ZKL_CONNECTING_ACTION_CATCH_UP:
            catch_up(self);
            break;
        case ZKL_CONNECTING_ACTION_REPORT_CREDENTIALS:
            zkl_telemetry_credentials_refused(zkl_session_facts_of(&self->session));
            break;
        case ZKL_CONNECTING_ACTION_WAKE:
            zkl_condition_broadcast(&self->changed);
            break;
        default:
            task = actions->list[i];
            break;
        }
    }
    return task;
}

static zkl_connecting_action_kind take_step(zkl_client_session *self,
                                            const zkl_connecting_event *event) {
    const zkl_connecting before = self->connecting;
    zkl_connecting_actions actions;
    zkl_connecting_step(&self->connecting, event, &actions);
    zkl_recorder_add_connecting_step(self->client->recorder, self->session.recorded_number,
                                     zkl_session_now_ms(&self->session), &before, event, &actions);
    return carry_out_orders(self, &actions);
}

void zkl_client_session_tell(zkl_client_session *self, zkl_connecting_event_kind kind) {
    (void)take_step(self, &(zkl_connecting_event){ .kind = kind });
}

/* Gives the session up. Its thread closes it, and opens another. */
static void on_abandon(void *arg) {
    zkl_client_session *self = arg;
    zkl_connection_abandon(self->connection);
    zkl_session_give_up(&self->session);
    zkl_client_session_tell(self, ZKL_CONNECTING_EVENT_ABANDONED);
    tell_threads(self);
}

/* Gives up an identity that was refused with the session: the servers may know no digests, so the
 * next session shows them none of ours. */
static bool begins_unprotected(zkl_client_session *self, const zkl_session_news *news) {
    bool dropped = news->state == ZKL_SESSION_STATE_AUTH_FAILED &&
                   zkl_protection_drop(&self->session.sender.protection);
    if (dropped && self->session.established) {
        on_abandon(self);
    } else if (dropped) {
        zkl_connection_abandon(self->connection);
        zkl_client_session_tell(self, ZKL_CONNECTING_EVENT_ABANDONED);
        tell_threads(self);
    }
    return dropped;
}

static void on_denied(void *arg) {
    zkl_client_session_tell(arg, ZKL_CONNECTING_EVENT_DENIED);
}

static void on_caught_up(void *arg, const zkl_reply *reply) {
    zkl_client_session *self = arg;
    if (zkl_is_committed(reply)) {
        zkl_client_session_tell(self, ZKL_CONNECTING_EVENT_CAUGHT_UP);
        tell_threads(self);
    }
}

static void on_session_news(void *arg, const zkl_session_news *news) {
    static const zkl_connecting_event_kind kinds[] = {
        [ZKL_SESSION_STATE_CONNECTING] = ZKL_CONNECTING_EVENT_DISCONNECTED,
        [ZKL_SESSION_STATE_CONNECTED] = ZKL_CONNECTING_EVENT_CONNECTED,
        [ZKL_SESSION_STATE_EXPIRED] = ZKL_CONNECTING_EVENT_EXPIRED,
        [ZKL_SESSION_STATE_AUTH_FAILED] = ZKL_CONNECTING_EVENT_AUTH_FAILED,
    };
    zkl_client_session *self = arg;
    if (begins_unprotected(self, news)) {
        return;
    }
    self->news = *news;
    if (news->state == ZKL_SESSION_STATE_CONNECTING) {
        self->sought_ms = zkl_clock_ms();
    }
    (void)take_step(
        self, &(zkl_connecting_event){ .kind = kinds[news->state], .renewed = news->renewed });
    tell_threads(self);
}

static void on_watch_fired(void *arg, uint64_t watch_id, zkl_watch_event event) {
    zkl_client_session *self = arg;
    zkl_session_on_watch_fired(&self->session, watch_id, event);
}

/* Returns the next credential. Those of the application come first, so that one that is refused is
 * not taken for our own. */
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
    zkl_client_session_tell(arg, ZKL_CONNECTING_EVENT_CREDENTIAL_AWAITED);
}

/* Wakes the thread that closes the client: it waits for the last answer, and for the last request,
 * which ends with an answer, a timer or news of its session. */
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

/* ---- Waiting, with the mutex held ------------------------------------------------------------ */

/* Returns how long the session is still there, or may still be sought, since its server is
 * sought. */
static int64_t left_ms(const zkl_client_session *self) {
    if (!self->session.established) {
        return self->asked_for_ms + self->client->options.connect_timeout_ms - self->sought_ms;
    }
    return zkl_session_left_ms(&self->session) + zkl_clock_ms() - self->sought_ms;
}

/* Draws a time between the session's patience and half of it: clients that lost the same server do
 * not ask the others, and the name servers, at the same moments. */
static int64_t end_of_patience_ms(const zkl_client_session *self) {
    const zkl_client_options *options = &self->client->options;
    const zkl_session *session = &self->session;
    const zkl_connecting_times times = {
        .connect_timeout_ms = options->connect_timeout_ms,
        .session_timeout_ms =
            session->established ? session->timeout_ms : options->session_timeout_ms,
        .left_ms = left_ms(self),
        .addresses = (int64_t)zkl_addresses_count(self->addresses),
    };
    return self->sought_ms +
           zkl_session_shorten(session, zkl_connecting_patience_ms(&self->connecting, &times));
}

static int64_t end_of_wait_ms(const zkl_client_session *self, zkl_connecting_action_kind wait) {
    switch (wait) {
    case ZKL_CONNECTING_ACTION_WAIT_TO_TRY_AGAIN:
        return zkl_deadline(ZKL_RETRY_PAUSE_MS);
    case ZKL_CONNECTING_ACTION_WAIT_FOR_SERVER:
        return end_of_patience_ms(self);
    case ZKL_CONNECTING_ACTION_WAIT_FOR_CREDENTIAL:
        return zkl_deadline(CREDENTIAL_MS);
    case ZKL_CONNECTING_ACTION_WAIT_TO_LOOK_UP:
        return self->looked_up_ms + zkl_session_shorten(&self->session, LOOK_UP_CONNECTED_MS);
    case ZKL_CONNECTING_ACTION_WAIT_TO_LEAVE:
        return self->not_left_before_ms;
    default:
        return zkl_deadline(INT64_MAX);
    }
}

/* Waits as zkl_condition_wait, and looks for a refused login, of which no news comes. */
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

/* Returns what has ended the wait. */
static zkl_connecting_event_kind carry_out_wait(zkl_client_session *self,
                                                zkl_connecting_action_kind wait) {
    int64_t deadline_ms = end_of_wait_ms(self, wait);
    bool looks = wait == ZKL_CONNECTING_ACTION_WAIT_FOR_SERVER ||
                 wait == ZKL_CONNECTING_ACTION_WAIT_FOR_CREDENTIAL;
    bool in_time = true;
    while (in_time && !self->connecting.woken) {
        in_time = looks ? wait_and_look(self, deadline_ms)
                        : zkl_condition_wait(&self->changed, &self->client->mutex, deadline_ms);
    }
    if (self->connecting.woken) {
        return ZKL_CONNECTING_EVENT_WOKEN;
    }
    if (wait == ZKL_CONNECTING_ACTION_WAIT_TO_LEAVE) {
        self->not_left_before_ms = zkl_deadline(ZKL_RETRY_PAUSE_MS);
    }
    return ZKL_CONNECTING_EVENT_DONE;
}

/* Tells whether a task only looks names up: the server that is being asked meanwhile stays the
 * same. */
static bool is_look_up(zkl_connecting_action_kind task) {
    return task == ZKL_CONNECTING_ACTION_LOOK_UP_NEW_SERVERS ||
           task == ZKL_CONNECTING_ACTION_LOOK_UP || task == ZKL_CONNECTING_ACTION_LOOK_UP_IF_DUE;
}

static zkl_connecting_event work(zkl_client_session *self, zkl_connecting_action_kind task) {
    if (zkl_connecting_is_wait(task)) {
        return (zkl_connecting_event){ .kind = carry_out_wait(self, task) };
    }
    zkl_connecting_event event = { .kind = ZKL_CONNECTING_EVENT_DONE };
    pthread_mutex_unlock(&self->client->mutex);
    self->moved = false;
    if (!zkl_session_task_carry_out(self, task)) {
        event.kind = ZKL_CONNECTING_EVENT_FAILED;
    }
    event.moved = self->moved && task != ZKL_CONNECTING_ACTION_OPEN;
    event.lacks_handle = zkl_connection_lacks_handle(self->connection);
    pthread_mutex_lock(&self->client->mutex);
    event.overdue = self->session.established && zkl_session_left_ms(&self->session) <= 0;
    if (!is_look_up(task)) {
        self->sought_ms = zkl_clock_ms();
    }
    return event;
}

static void *keep_connected(void *arg) {
    zkl_client_session *self = arg;
    zkl_connecting_event event = { .kind = ZKL_CONNECTING_EVENT_WOKEN };
    pthread_mutex_lock(&self->client->mutex);
    zkl_connecting_action_kind task = take_step(self, &event);
    while (task != ZKL_CONNECTING_ACTION_END) {
        event = work(self, task);
        task = take_step(self, &event);
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

/* Returns the protection that a new session begins with. What another session has been refused is
 * not tried again. */
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
    self->connecting = zkl_connecting_begin(client->credentials.callback != NULL);
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

/* Stops the timers after the sessions, which may take seconds to end: calls that wait meanwhile
 * have deadlines. */
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
        zkl_client_session_tell(one, ZKL_CONNECTING_EVENT_CLOSING);
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
