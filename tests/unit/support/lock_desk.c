#include "support/lock_desk.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error_message.h"
#include "client/client.h"

/* ---- In place of session_threads.c: sessions without threads ------------------------- */

static fake_operations *operations; /* those of every session; the mutex guards them */

static void begin_session(zkl_client_session *self) {
    self->session = (zkl_session){ .operations = &operations->operations,
                                   .log = self->client->log,
                                   .metrics = self->client->metrics,
                                   .recorder = self->client->recorder,
                                   .identity = self->client->identity,
                                   .timers = &self->client->timers,
                                   .label = self->client->label,
                                   .lock_root = self->client->lock_root };
    zkl_session_begin(&self->session, self->client->options.lease_tick_ms);
}

static zkl_client_session *make_session(zkl_client *client) {
    zkl_client_session *made = calloc(1, sizeof(*made));
    if (made == NULL) {
        abort();
    }
    made->client = client;
    begin_session(made);
    return made;
}

static void connect_session(zkl_session *session) {
    zkl_session_connecting(session);
    zkl_session_on_news(session, &(zkl_session_news){ .state = ZKL_SESSION_STATE_CONNECTED,
                                                      .session_id = DESK_SESSION_ID,
                                                      .timeout_ms = DESK_SESSION_TIMEOUT_MS });
}

int zkl_sessions_start(zkl_client *client) {
    client->sessions = make_session(client);
    connect_session(&client->sessions->session);
    return ZKL_OK;
}

int zkl_sessions_add(zkl_client *client, zkl_client_session **result) {
    zkl_client_session **place = &client->sessions;
    while (*place != NULL) {
        place = &(*place)->next;
    }
    *place = make_session(client);
    *result = *place;
    return ZKL_OK;
}

/* Forgets the news: no thread connects these sessions. */
void zkl_client_session_tell(zkl_client_session *self, zkl_connecting_event_kind kind) {
    (void)self;
    (void)kind;
}

/* Tells that all sessions are idle: nobody will answer what is under way. */
bool zkl_sessions_are_idle(const zkl_client *client) {
    (void)client;
    return true;
}

/* Ends all sessions, as closing a handle of libzookeeper does. */
void zkl_sessions_stop(zkl_client *client) {
    pthread_mutex_lock(&client->mutex);
    fake_answer_all(operations, ZKL_OUTCOME_SESSION_OVER);
    for (zkl_client_session *one = client->sessions; one != NULL; one = one->next) {
        zkl_session_finish(&one->session, ZKL_CLOSED);
        EXPECT(one->session.runners == NULL);
    }
    pthread_mutex_unlock(&client->mutex);
}

void zkl_sessions_free(zkl_client *client) {
    while (client->sessions != NULL) {
        zkl_client_session *first = client->sessions;
        client->sessions = first->next;
        zkl_session_destroy(&first->session);
        free(first);
    }
}

/* ---- Waiting for the contender ------------------------------------------------------ */

/* Nobody waits so long unless the contender hangs, however slow the machine is. */
enum { PATIENCE_S = 30 };

static void wait_for(pthread_cond_t *condition, pthread_mutex_t *mutex, const char *fault) {
    struct timespec latest;
    (void)clock_gettime(CLOCK_REALTIME, &latest);
    latest.tv_sec += PATIENCE_S;
    if (pthread_cond_timedwait(condition, mutex, &latest) == ETIMEDOUT) {
        unit_fail_for_good(fault);
    }
}

/* ---- The contender ---------------------------------------------------------------- */

static void *run_tasks(void *arg) {
    lock_desk *desk = arg;
    pthread_mutex_lock(&desk->mutex);
    while (!desk->leaving) {
        if (desk->task == NULL) {
            pthread_cond_wait(&desk->changed, &desk->mutex);
            continue;
        }
        pthread_mutex_unlock(&desk->mutex);
        int status = desk->task(desk);
        pthread_mutex_lock(&desk->mutex);
        desk->status = status;
        snprintf(desk->message, sizeof(desk->message), "%s", zkl_error_message());
        desk->task = NULL;
        pthread_cond_broadcast(&desk->changed);
    }
    pthread_mutex_unlock(&desk->mutex);
    return NULL;
}

void desk_begin(lock_desk *desk, desk_task *task, int64_t timeout_ms) {
    pthread_mutex_lock(&desk->mutex);
    desk->timeout_ms = timeout_ms;
    desk->task = task;
    pthread_cond_broadcast(&desk->changed);
    pthread_mutex_unlock(&desk->mutex);
}

int desk_join(lock_desk *desk) {
    pthread_mutex_lock(&desk->mutex);
    while (desk->task != NULL) {
        wait_for(&desk->changed, &desk->mutex, "the contender's call does not return");
    }
    int status = desk->status;
    zkl_error_set(desk->message);
    pthread_mutex_unlock(&desk->mutex);
    return status;
}

int desk_do(lock_desk *desk, desk_task *task, int64_t timeout_ms) {
    desk_begin(desk, task, timeout_ms);
    return desk_join(desk);
}

int desk_acquire(lock_desk *desk) {
    return zkl_lock_acquire(desk->lock, desk->mode, desk->timeout_ms, &desk->grant);
}

int desk_release(lock_desk *desk) {
    return zkl_lock_release(desk->lock, desk->timeout_ms);
}

static void stop_contender(lock_desk *desk) {
    pthread_mutex_lock(&desk->mutex);
    desk->leaving = true;
    pthread_cond_broadcast(&desk->changed);
    pthread_mutex_unlock(&desk->mutex);
    pthread_join(desk->contender, NULL);
}

/* ---- Opening and closing ------------------------------------------------------------ */

static void on_called(void *arg) {
    lock_desk *desk = arg;
    pthread_cond_broadcast(&desk->called);
}

static void open_client(lock_desk *desk, const desk_options *options) {
    zkl_client_options client_options = ZKL_CLIENT_OPTIONS_INIT;
    client_options.label = "label";
    client_options.lease_tick_ms = options->lease_tick_ms;
    client_options.log_callback = options->log_callback;
    client_options.log_arg = options->log_arg;
    if (options->log_level != 0) {
        client_options.log_level = options->log_level;
    }
    client_options.metrics = options->metrics ? 1 : 0;
    EXPECT_INT(zkl_client_open("h:1/app", &client_options, &desk->client), ZKL_OK);
}

lock_desk *desk_open_with(const desk_options *options) {
    static lock_desk desk;
    memset(&desk, 0, sizeof(desk));
    pthread_cond_init(&desk.called, NULL);
    pthread_cond_init(&desk.changed, NULL);
    pthread_mutex_init(&desk.mutex, NULL);
    fake_begin(&desk.fake);
    desk.fake.called = on_called;
    desk.fake.called_arg = &desk;
    desk.grant = (zkl_grant)ZKL_GRANT_INIT;
    operations = &desk.fake;
    open_client(&desk, options);
    EXPECT_INT(zkl_lock_open(desk.client, "stock", options->lock, &desk.lock), ZKL_OK);
    EXPECT_INT(pthread_create(&desk.contender, NULL, run_tasks, &desk), 0);
    return &desk;
}

lock_desk *desk_open(const zkl_lock_options *options) {
    return desk_open_with(&(desk_options){ .lock = options });
}

lock_desk *desk_open_offline(const zkl_lock_options *options) {
    lock_desk *desk = desk_open(options);
    desk_enter(desk);
    zkl_session_destroy(&desk->client->sessions->session);
    begin_session(desk->client->sessions);
    desk_leave(desk);
    return desk;
}

int desk_close_client(lock_desk *desk) {
    int status = zkl_client_close(desk->client, 0);
    desk->client = NULL;
    return status;
}

void desk_close(lock_desk *desk) {
    zkl_lock_close(desk->lock);
    if (desk->client != NULL) {
        (void)desk_close_client(desk);
    }
    stop_contender(desk);
    desk->fake.heard[0] = '\0';
    fake_end(&desk->fake);
    pthread_cond_destroy(&desk->called);
    pthread_cond_destroy(&desk->changed);
    pthread_mutex_destroy(&desk->mutex);
}

/* ---- News and time -------------------------------------------------------------------- */

void desk_enter(lock_desk *desk) {
    pthread_mutex_lock(&desk->client->mutex);
}

void desk_leave(lock_desk *desk) {
    pthread_mutex_unlock(&desk->client->mutex);
}

void desk_enter_at_calls(lock_desk *desk, size_t calls) {
    desk_enter(desk);
    while (desk->fake.call_count < calls) {
        wait_for(&desk->called, &desk->client->mutex, "the contender's call asks for nothing");
    }
}

void desk_tell(lock_desk *desk, zkl_session_state state) {
    zkl_session_news news = { .state = state,
                              .session_id = DESK_SESSION_ID,
                              .timeout_ms = DESK_SESSION_TIMEOUT_MS };
    desk_enter(desk);
    zkl_session_on_news(&desk->client->sessions->session, &news);
    if (state == ZKL_SESSION_STATE_EXPIRED) {
        zkl_session_connecting(&desk->client->sessions->session);
    }
    desk_leave(desk);
}

void desk_expire(lock_desk *desk) {
    desk_tell(desk, ZKL_SESSION_STATE_EXPIRED);
    desk_enter(desk);
    fake_answer_all(&desk->fake, ZKL_OUTCOME_SESSION_OVER);
    desk_leave(desk);
}

void desk_stand_still(lock_desk *desk, int64_t ms) {
    desk_enter(desk);
    desk->fake.now_ms += ms;
    desk_leave(desk);
}

void desk_pass(lock_desk *desk, int64_t ms) {
    desk_enter(desk);
    desk->fake.now_ms += ms;
    zkl_timers_fire_due(&desk->client->timers, desk->fake.now_ms);
    desk_leave(desk);
}

void desk_forget_heard(lock_desk *desk) {
    desk_enter(desk);
    desk->fake.heard[0] = '\0';
    desk_leave(desk);
}

/* ---- The answers of a server ------------------------------------------------------------ */

void desk_answer_create(lock_desk *desk, const char *rest, int64_t zxid) {
    char name[FAKE_NAME_SIZE];
    char path[FAKE_NAME_SIZE + 32];
    fake_name(name, desk->fake.guids, rest);
    snprintf(path, sizeof(path), "/app/locks/stock/%s", name);
    FAKE_ANSWER(&desk->fake, "create", .path = path, .zxid = zxid);
}

void desk_answer_list(lock_desk *desk, const char *own_rest, const char *other) {
    char own[FAKE_NAME_SIZE];
    fake_name(own, desk->fake.guids, own_rest);
    const char *names[] = { own, other };
    FAKE_ANSWER(&desk->fake, "list", .children = { names, other != NULL ? 2 : 1 });
}

void desk_grant(lock_desk *desk) {
    static const char *const nodes[] = { DESK_NODE, "__READ__0000000003", "__WRIT__0000000003" };
    desk_answer_create(desk, nodes[desk->mode], DESK_TOKEN);
    desk_answer_list(desk, nodes[desk->mode], NULL);
}

void desk_hold(lock_desk *desk) {
    desk_enter(desk);
    size_t before = desk->fake.call_count;
    desk_leave(desk);
    desk_begin(desk, desk_acquire, ZKL_FOREVER);
    desk_enter_at_calls(desk, before + 2);
    desk_grant(desk);
    desk_leave(desk);
    EXPECT_INT(desk_join(desk), ZKL_OK);
}

void desk_answer_remove(lock_desk *desk) {
    desk_enter(desk);
    FAKE_ANSWER(&desk->fake, "remove /app/locks/stock", .outcome = ZKL_OUTCOME_OK);
    desk_leave(desk);
}
