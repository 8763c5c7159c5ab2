#include "session/session.h"

#include <stdio.h>

#include <utlist.h>

#include "session/request_runner.h"

/* Servers end sessions in steps of a tick, of which a timeout has two or more. */
enum { LEFT_BEHIND_TIMEOUTS = 2 };

zkl_session_facts zkl_session_facts_of(const zkl_session *session) {
    return (zkl_session_facts){ session->log, session->metrics, session->label, session->id };
}

static void on_answered(void *arg, const zkl_reply *reply, int64_t sent_ms, bool was_write) {
    zkl_liveness *liveness = &((zkl_session *)arg)->liveness;
    zkl_liveness_check_lease(liveness);
    zkl_liveness_answered(liveness, reply, sent_ms, was_write);
}

static zkl_outcome settle(void *arg) {
    return zkl_liveness_settle(arg);
}

void zkl_session_begin(zkl_session *session, const zkl_session_options *options) {
    *session = (zkl_session){
        .operations = options->operations,
        .sender = { .operations = options->operations,
                    .metrics = options->metrics,
                    .answered = on_answered,
                    .arg = session },
        .log = options->log,
        .metrics = options->metrics,
        .recorder = options->recorder,
        .recorded_number = zkl_recorder_begin_session(options->recorder),
        .identity = options->identity,
        .label = options->label,
        .lock_root = options->lock_root,
        .container_parents = options->container_parents,
    };
    session->unconnected_ms = zkl_session_now_ms(session);
    session->listings =
        (zkl_listings){ .sender = &session->sender, .settle = settle, .arg = &session->liveness };
    zkl_watch_table_begin(&session->watches, &session->sender, &session->listings);
    zkl_liveness_begin(&session->liveness, session, options->lease_tick_ms);
}

void zkl_session_destroy(zkl_session *session) {
    zkl_watch_table_clear(&session->watches);
}

int64_t zkl_session_now_ms(const zkl_session *session) {
    return session->operations->table->now_ms(session->operations);
}

/* Whoever fires them is woken only for a deadline that is earlier than all others. */
void zkl_session_set_timer(zkl_session *session, zkl_timer *timer, int64_t deadline_ms) {
    if (timer->timers != NULL && timer->deadline_ms == deadline_ms) {
        return;
    }
    zkl_timers_set(&session->timers, timer, deadline_ms);
    if (zkl_timers_next(&session->timers) == deadline_ms) {
        session->operations->table->wake(session->operations);
    }
}

void zkl_session_set_timer_after(zkl_session *session, zkl_timer *timer, int64_t from_ms,
                                 int64_t duration_ms) {
    if (duration_ms > 0) {
        int64_t end = duration_ms < INT64_MAX - from_ms ? from_ms + duration_ms : INT64_MAX - 1;
        zkl_session_set_timer(session, timer, end);
    }
}

bool zkl_session_make_guid(zkl_session *session, char guid[ZKL_GUID_SIZE]) {
    unsigned char b[16];
    if (!session->operations->table->random(session->operations, b, sizeof(b))) {
        return false;
    }
    b[6] = (unsigned char)((b[6] & 0x0fU) | 0x40U); /* RFC 9562: version 4, */
    b[8] = (unsigned char)((b[8] & 0x3fU) | 0x80U); /* and its variant */
    snprintf(guid, ZKL_GUID_SIZE,
             "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1],
             b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14],
             b[15]);
    return true;
}

int64_t zkl_session_shorten(const zkl_session *session, int64_t pause_ms) {
    uint32_t random = 0;
    (void)session->operations->table->random(session->operations, &random, sizeof(random));
    return pause_ms - random % (pause_ms / 2 + 1);
}

void zkl_session_follow(zkl_session *session, zkl_session_follower *follower) {
    DL_APPEND(session->followers, follower);
    session->watched_bytes += follower->watched_bytes;
    zkl_liveness_wake(&session->liveness);
}

void zkl_session_unfollow(zkl_session *session, zkl_session_follower *follower) {
    DL_DELETE(session->followers, follower);
    session->watched_bytes -= follower->watched_bytes;
}

/* A request that ends frees itself: the next one is taken down first. */
void zkl_session_feed_all(zkl_session *session, const zkl_event *event) {
    for (zkl_request_runner *runner = session->runners, *next; runner != NULL; runner = next) {
        next = runner->next;
        zkl_request_runner_feed(runner, event);
    }
}

void zkl_session_connecting(zkl_session *session) {
    session->given_up = false;
    zkl_liveness_connecting(&session->liveness);
}

/* What there was word of stays so, whatever becomes of the connection. */
static void forget_what_has_ended(zkl_session *session) {
    if (zkl_session_left_behind_ms(session) == 0) {
        session->left_behind_ms = 0;
    }
}

static void on_disconnected(zkl_session *session) {
    if (!session->connected) {
        return;
    }
    forget_what_has_ended(session);
    session->connected = false;
    session->unconnected_ms = zkl_session_now_ms(session);
    zkl_liveness_disconnected(&session->liveness);
    zkl_telemetry_disconnected(zkl_session_facts_of(session));
    zkl_session_feed_all(session, &(zkl_event){ .kind = ZKL_EVENT_DISCONNECTED });
}

/* A connection that libzookeeper closes itself, as the servers' addresses have changed, is lost
 * without a word. */
static void on_connected(zkl_session *session, const zkl_session_news *news) {
    on_disconnected(session);
    bool is_new = !session->established;
    session->established = true;
    session->connected = true;
    session->connected_ms = zkl_session_now_ms(session);
    session->id = news->session_id;
    session->timeout_ms = news->timeout_ms;
    zkl_telemetry_connected(zkl_session_facts_of(session), is_new);
    zkl_watch_table_remove_again(&session->watches);
    zkl_liveness_connected(&session->liveness, is_new);
    zkl_session_feed_all(session, &(zkl_event){ .kind = ZKL_EVENT_CONNECTED });
    if (!zkl_liveness_lease_is_possible(&session->liveness)) {
        zkl_session_feed_all(
            session, &(zkl_event){ .kind = ZKL_EVENT_CANCELLED, .status = ZKL_LEASE_IMPOSSIBLE });
    }
    for (zkl_session_follower *one = session->followers; one != NULL; one = one->next) {
        one->connected(one->arg);
    }
    zkl_liveness_probe_now(&session->liveness);
}

/* Each waiting request needs a GUID of its own in the next session; one that
 * cannot have it gives up. */
static void end_session_for(zkl_session *session, zkl_request_runner *runner) {
    char guid[ZKL_GUID_SIZE];
    bool made = zkl_session_make_guid(session, guid);
    zkl_request_runner_feed(
        runner, &(zkl_event){ .kind = ZKL_EVENT_SESSION_ENDED, .guid = made ? guid : NULL });
}

static void end_session(zkl_session *session) {
    if (session->connected) {
        session->unconnected_ms = zkl_session_now_ms(session);
    }
    session->connected = false;
    session->established = false;
    session->sender.session_number++;
    zkl_liveness_session_ended(&session->liveness);
    zkl_watch_table_clear(&session->watches); /* answers requests: before their session ends */
    for (zkl_request_runner *runner = session->runners, *next; runner != NULL; runner = next) {
        next = runner->next;
        end_session_for(session, runner);
    }
}

/* The servers do not know of its end: nodes of requests that are under way may live on. */
static void note_left_behind(zkl_session *session) {
    forget_what_has_ended(session);
    if (session->runner_count > 0) {
        session->left_behind_ms = (int64_t)LEFT_BEHIND_TIMEOUTS * session->timeout_ms;
    }
}

void zkl_session_on_news(zkl_session *session, const zkl_session_news *news) {
    if (session->recorder != NULL) {
        zkl_recorder_add_news(session->recorder, session->recorded_number,
                              zkl_session_now_ms(session), news);
    }
    switch (news->state) {
    case ZKL_SESSION_STATE_CONNECTED:
        on_connected(session, news);
        break;
    case ZKL_SESSION_STATE_CONNECTING:
        on_disconnected(session);
        break;
    case ZKL_SESSION_STATE_EXPIRED:
        session->expired_count++;
        zkl_telemetry_expired(zkl_session_facts_of(session));
        end_session(session);
        break;
    case ZKL_SESSION_STATE_AUTH_FAILED:
        session->auth_failed = true;
        zkl_telemetry_auth_failed(zkl_session_facts_of(session));
        note_left_behind(session);
        zkl_session_finish(session, ZKL_AUTH_FAILED);
        break;
    }
}

void zkl_session_give_up(zkl_session *session) {
    session->given_up = true;
    note_left_behind(session);
    zkl_session_on_news(session, &(zkl_session_news){ .state = ZKL_SESSION_STATE_EXPIRED });
}

int64_t zkl_session_left_behind_ms(const zkl_session *session) {
    if (session->left_behind_ms == 0) {
        return 0;
    }
    if (!session->connected) {
        return INT64_MAX;
    }
    int64_t passed = zkl_session_now_ms(session) - session->connected_ms;
    return passed > session->left_behind_ms ? 0 : session->left_behind_ms - passed + 1;
}

void zkl_session_on_watch_fired(zkl_session *session, uint64_t watch_id, bool deleted) {
    zkl_liveness_check_lease(&session->liveness);
    zkl_watch_table_fired(&session->watches, watch_id, deleted);
}

void zkl_session_finish(zkl_session *session, int status) {
    session->finished = true;
    zkl_session_feed_all(session, &(zkl_event){ .kind = ZKL_EVENT_CANCELLED, .status = status });
    zkl_session_follower *follower = NULL;
    while ((follower = session->followers) != NULL) {
        zkl_session_unfollow(session, follower);
        follower->finished(follower->arg, status);
    }
    end_session(session);
}
