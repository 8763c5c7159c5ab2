#include "session/session_life.h"

#include <stdio.h>

#include "session/guarded_write.h"
#include "session/leader_watch.h"
#include "session/request_runner.h"

/* Servers end sessions in steps of a tick, of which a timeout has two or more. */
enum { LEFT_BEHIND_TIMEOUTS = 2 };

/* Feeds all requests. One that ends frees itself: the next one is taken down first. Each waiting
 * request needs a GUID of its own in the next session; one that cannot have it gives up. */
static void feed_all(zkl_session *session, zkl_event event) {
    char guid[ZKL_GUID_SIZE];
    for (zkl_request_runner *runner = session->runners, *next; runner != NULL; runner = next) {
        next = runner->next;
        if (event.kind == ZKL_EVENT_SESSION_ENDED) {
            bool protects = runner->sender.options.origin->options->revocable == 0;
            event.guid = zkl_session_make_guid(session, protects, guid) ? guid : NULL;
        }
        zkl_request_runner_feed(runner, &event);
    }
}

/* ---- What its parts tell and ask ------------------------------------------------------------ */

static void on_answered(void *arg, const zkl_reply *reply, int64_t sent_ms, bool was_write);

static void on_liveness_news(void *arg, zkl_event_kind news) {
    zkl_session *session = arg;
    if (news == ZKL_EVENT_PROBE) {
        zkl_watch_table_review(&session->watches, false);
    }
    feed_all(session, (zkl_event){ .kind = news });
}

/* Tells whether the probes must go on. A watch that nobody waits for any more is there until the
 * servers have confirmed its removal. An observer hears of the next leader only if the connection
 * is good. */
static bool has_work(const void *arg) {
    const zkl_session *session = arg;
    return session->connected && (session->runners != NULL || session->leader_watches != NULL ||
                                  zkl_watch_table_count(&session->watches) > 0);
}

static bool holds_anything(const zkl_session *session) {
    for (const zkl_request_runner *runner = session->runners; runner != NULL;
         runner = runner->next) {
        bool holds =
            runner->request.stage == ZKL_STAGE_HELD || runner->request.stage == ZKL_STAGE_KEPT;
        if (holds && !runner->others_are_awaited) {
            return true;
        }
    }
    return false;
}

/* Gives the session up, unless it holds something: its holder may be at work, and the session may
 * live. */
static bool abandon(void *arg) {
    const zkl_session *session = arg;
    bool may_be = session->abandon != NULL && !holds_anything(session);
    if (may_be) {
        session->abandon(session->arg);
    }
    return may_be;
}

void zkl_session_begin(zkl_session *session, int32_t lease_tick_ms) {
    session->recorded_number = zkl_recorder_begin_session(session->recorder);
    session->sender = (zkl_sender){ .operations = session->operations,
                                    .metrics = session->metrics,
                                    .answered = on_answered,
                                    .arg = session,
                                    .protection = session->sender.protection };
    session->sender.protection.marks = session->sender.protection.wanted;
    session->liveness = (zkl_liveness){ .sender = &session->sender,
                                        .timers = session->timers,
                                        .lock_root = session->lock_root,
                                        .has_work = has_work,
                                        .abandon = abandon,
                                        .on_news = on_liveness_news,
                                        .arg = session };
    (void)zkl_sender_passed_ms(&session->sender); /* jumps count from here on */
    session->sender.ahead_ms = 0;
    session->unconnected_ms = zkl_session_now_ms(session);
    session->listings =
        (zkl_listings){ .sender = &session->sender, .liveness = &session->liveness };
    session->watches =
        (zkl_watch_table){ .sender = &session->sender, .listings = &session->listings };
    zkl_liveness_begin(&session->liveness, lease_tick_ms);
}

void zkl_session_destroy(zkl_session *session) {
    zkl_watch_table_clear(&session->watches);
    zkl_protection_wipe(&session->sender.protection);
}

/* ---- The connection ------------------------------------------------------------------------- */

void zkl_session_connecting(zkl_session *session) {
    session->given_up = false;
    zkl_protection_begin(&session->sender.protection);
    session->liveness.connecting_ms = zkl_sender_passed_ms(&session->sender);
}

/* Forgets nodes left behind once they are known to be gone: they stay gone, whatever becomes of the
 * connection. */
static void forget_what_has_ended(zkl_session *session) {
    if (zkl_session_left_behind_ms(session) == 0) {
        session->left_behind_ms = 0;
    }
}

static void on_session_disconnected(zkl_session *session) {
    if (!session->connected) {
        return;
    }
    forget_what_has_ended(session);
    session->connected = false;
    session->unconnected_ms = zkl_session_now_ms(session);
    zkl_liveness_disconnected(&session->liveness);
    zkl_telemetry_disconnected(zkl_session_facts_of(session));
    feed_all(session, (zkl_event){ .kind = ZKL_EVENT_DISCONNECTED });
}

/* Ends the connection if the server says that it does not know the session. The server may leave
 * the connection as it is: reads are answered on it then, and nothing ever succeeds (seen on
 * 3.9.3). The handshake of the next one tells what has become of the session. */
static void note_denial(zkl_session *session, const zkl_reply *reply) {
    bool is_denied = reply->moved || reply->outcome == ZKL_OUTCOME_SESSION_OVER;
    if (!is_denied || !session->established || session->is_not_there) {
        return;
    }
    session->is_not_there = true;
    if (reply->moved) {
        zkl_telemetry_moved(zkl_session_facts_of(session));
    }
    on_session_disconnected(session);
    if (session->is_denied != NULL) {
        session->is_denied(session->arg);
    }
}

static void on_answered(void *arg, const zkl_reply *reply, int64_t sent_ms, bool was_write) {
    zkl_session *session = arg;
    zkl_liveness_check_lease(&session->liveness);
    if (zkl_liveness_answered(&session->liveness, reply, sent_ms, was_write)) {
        zkl_guarded_writes_review(session);
    }
    note_denial(session, reply);
}

static void warn_of_short_timeout(const zkl_session *session) {
    int32_t tick_ms = session->liveness.lease.tick_ms;
    if (session->timeout_ms / ZKL_LEASE_TICKS_MIN < tick_ms) {
        char message[160];
        snprintf(message, sizeof(message),
                 "the session timeout of %d ms is shorter than %d ticks of %d ms: a slow answer "
                 "is enough for the lease to run out",
                 (int)session->timeout_ms, ZKL_LEASE_TICKS_MIN, (int)tick_ms);
        zkl_telemetry_short_session(zkl_session_facts_of(session), message);
    }
}

/* Notes whether this session is protected. Names of nodes that are not made yet may say that they
 * are; where this session cannot protect them they get other names. */
static void look_at_protection(zkl_session *session) {
    zkl_protection *protection = &session->sender.protection;
    protection->marks = protection->active;
    if (!protection->active) {
        feed_all(session, (zkl_event){ .kind = ZKL_EVENT_UNPROTECTED });
    }
}

/* Takes the connection up. One that libzookeeper closes itself, as the servers' addresses have
 * changed, is lost without a word before it (lz-silent-close). */
static void on_session_connected(zkl_session *session, const zkl_session_news *news) {
    on_session_disconnected(session);
    bool is_new = !session->established;
    bool has_new_timeout = is_new || session->timeout_ms != news->timeout_ms;
    session->established = true;
    session->connected = true;
    session->connected_ms = zkl_session_now_ms(session);
    session->id = news->session_id;
    session->sender.session_id = news->session_id;
    session->timeout_ms = news->timeout_ms;
    session->unsupported = news->unsupported;
    zkl_telemetry_connected(zkl_session_facts_of(session), is_new);
    if (is_new && session->unsupported) {
        zkl_telemetry_unsupported_servers(zkl_session_facts_of(session));
    }
    if (is_new) {
        look_at_protection(session);
    }
    if (has_new_timeout) {
        warn_of_short_timeout(session);
    }
    zkl_liveness_connected(&session->liveness, is_new, news->timeout_ms);
    zkl_watch_table_review(&session->watches, true);
    feed_all(session, (zkl_event){ .kind = ZKL_EVENT_CONNECTED });
    if (!zkl_lease_is_possible(&session->liveness.lease)) {
        feed_all(session,
                 (zkl_event){ .kind = ZKL_EVENT_CANCELLED, .status = ZKL_LEASE_IMPOSSIBLE });
    }
    zkl_leader_watches_connected(session);
    zkl_liveness_probe_now(&session->liveness);
}

void zkl_session_on_watch_fired(zkl_session *session, uint64_t watch_id, zkl_watch_event event) {
    zkl_liveness_check_lease(&session->liveness);
    zkl_watch_table_fired(&session->watches, watch_id, event);
}

/* ---- The end -------------------------------------------------------------------------------- */

static void end_session(zkl_session *session) {
    if (session->connected) {
        session->unconnected_ms = zkl_session_now_ms(session);
    }
    session->connected = false;
    session->established = false;
    session->sender.session_number++;
    zkl_liveness_session_ended(&session->liveness);
    zkl_watch_table_clear(&session->watches); /* answers requests: before their session ends */
    feed_all(session, (zkl_event){ .kind = ZKL_EVENT_SESSION_ENDED });
}

/* Notes that nodes of requests under way may live on, as the servers do not know of the session's
 * end. */
static void note_left_behind(zkl_session *session) {
    forget_what_has_ended(session);
    if (session->runners != NULL) {
        session->left_behind_ms = (int64_t)LEFT_BEHIND_TIMEOUTS * session->timeout_ms;
    }
}

void zkl_session_on_news(zkl_session *session, const zkl_session_news *news) {
    session->is_not_there = false;
    zkl_recorder_add_news(session->recorder, session->recorded_number, zkl_session_now_ms(session),
                          news);
    switch (news->state) {
    case ZKL_SESSION_STATE_CONNECTED:
        on_session_connected(session, news);
        break;
    case ZKL_SESSION_STATE_CONNECTING:
        on_session_disconnected(session);
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

void zkl_session_finish(zkl_session *session, int status) {
    session->finished = true;
    feed_all(session, (zkl_event){ .kind = ZKL_EVENT_CANCELLED, .status = status });
    zkl_leader_watches_finish(session, status);
    end_session(session);
}
