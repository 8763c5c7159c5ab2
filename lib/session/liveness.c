#include "session/liveness.h"

#include <stdio.h>

#include "session/guarded_write.h"
#include "session/request_runner.h"
#include "session/session.h"

/* Probes are answered well within this many of their periods, or something is
 * wrong: then the session's timeout is nearly over. */
enum { PERIODS_OF_SILENCE = 2 };

enum { RETRIES_PER_PERIOD = 8 };

static int64_t now_of(const zkl_liveness *liveness) {
    return zkl_session_now_ms(liveness->session);
}

static int64_t period_of(const zkl_liveness *liveness) {
    return zkl_lease_probe_period(liveness->session->timeout_ms);
}

static void set_timer(zkl_liveness *liveness, zkl_timer *timer, int64_t deadline_ms) {
    zkl_session_set_timer(liveness->session, timer, deadline_ms);
}

/* ---- The lease ----------------------------------------------------------- */

static void tell_lease(zkl_liveness *liveness, zkl_event_kind news) {
    zkl_session_feed_all(liveness->session, &(zkl_event){ .kind = news });
}

void zkl_liveness_check_lease(zkl_liveness *liveness) {
    int64_t now = now_of(liveness);
    if (liveness->lease_runs && !zkl_lease_runs(&liveness->lease, now)) {
        liveness->lease_runs = false;
        liveness->lease_ample = false;
        tell_lease(liveness, ZKL_EVENT_LEASE_ENDED);
    } else if (liveness->lease_ample && !zkl_lease_is_ample(&liveness->lease, now)) {
        liveness->lease_ample = false;
        tell_lease(liveness, ZKL_EVENT_LEASE_THIN);
    }
}

bool zkl_liveness_lease_is_possible(const zkl_liveness *liveness) {
    return zkl_lease_is_possible(&liveness->lease);
}

static void on_lease_end(void *arg) {
    zkl_liveness *liveness = arg;
    zkl_liveness_check_lease(liveness);
}

static void lease_extended(zkl_liveness *liveness) {
    if (!zkl_lease_runs(&liveness->lease, now_of(liveness))) {
        return;
    }
    if (liveness->awake) {
        set_timer(liveness, &liveness->end_timer, liveness->lease.ends_ms);
    }
    liveness->lease_runs = true;
    if (!liveness->lease_ample && zkl_lease_is_ample(&liveness->lease, now_of(liveness))) {
        liveness->lease_ample = true;
        tell_lease(liveness, ZKL_EVENT_LEASE_BEGUN);
    }
}

int64_t zkl_liveness_lease_left(const zkl_liveness *liveness) {
    if (liveness->lease.tick_ms == 0) {
        return -1;
    }
    int64_t now = now_of(liveness);
    return zkl_lease_runs(&liveness->lease, now) ? liveness->lease.ends_ms - now : 0;
}

/* ---- Requests of the session's own ------------------------------------------ */

static void set_write_timer(zkl_liveness *liveness) {
    int64_t due = zkl_lease_write_due(&liveness->lease);
    if (due == INT64_MAX || liveness->write_under_way || !liveness->awake) {
        zkl_timer_stop(&liveness->write_timer);
    } else {
        int64_t earliest = liveness->write_not_before_ms;
        set_timer(liveness, &liveness->write_timer, due > earliest ? due : earliest);
    }
}

/* A write that failed while the connection stands is sent again, but not at once. */
static void put_off_write(zkl_liveness *liveness) {
    liveness->write_not_before_ms = now_of(liveness) + period_of(liveness) / RETRIES_PER_PERIOD;
    set_write_timer(liveness);
}

static bool is_of_the_server(zkl_outcome outcome) {
    return outcome == ZKL_OUTCOME_OK || outcome == ZKL_OUTCOME_NO_NODE ||
           outcome == ZKL_OUTCOME_REFUSED || outcome == ZKL_OUTCOME_NOT_NOW ||
           outcome == ZKL_OUTCOME_NOT_EMPTY;
}

bool zkl_is_committed(const zkl_reply *reply) {
    return reply->outcome == ZKL_OUTCOME_OK || reply->outcome == ZKL_OUTCOME_NO_NODE ||
           reply->outcome == ZKL_OUTCOME_NOT_EMPTY || reply->results != NULL;
}

static int64_t heard_ms(const zkl_liveness *liveness) {
    return liveness->answered_ms > liveness->connected_ms ? liveness->answered_ms
                                                          : liveness->connected_ms;
}

/* After a stop of this process the session may be over, and a server that lags answers all the
 * same: until the leader has committed a write that was sent after the stop. */
static void note_gap(zkl_liveness *liveness, int64_t sent_ms, bool is_committed) {
    int64_t longest = PERIODS_OF_SILENCE * period_of(liveness);
    if (is_committed && now_of(liveness) - sent_ms < longest) {
        liveness->may_be_over = false;
    } else if (sent_ms - heard_ms(liveness) >= longest) {
        liveness->may_be_over = true;
    }
}

void zkl_liveness_answered(zkl_liveness *liveness, const zkl_reply *reply, int64_t sent_ms,
                           bool was_write) {
    if (!is_of_the_server(reply->outcome)) {
        return;
    }
    note_gap(liveness, sent_ms, was_write && zkl_is_committed(reply));
    if (sent_ms > liveness->answered_ms) {
        liveness->answered_ms = sent_ms;
    }
    if (reply->outcome != ZKL_OUTCOME_NOT_NOW &&
        zkl_lease_answered(&liveness->lease, sent_ms, now_of(liveness),
                           was_write && zkl_is_committed(reply))) {
        lease_extended(liveness);
    }
    set_write_timer(liveness);
    zkl_guarded_writes_review(liveness->session);
}

static void on_probed(void *arg, const zkl_reply *reply) {
    (void)reply;
    ((zkl_liveness *)arg)->probe_under_way = false;
}

static void send_probe(zkl_liveness *liveness) {
    zkl_session *session = liveness->session;
    const zkl_operation probe = { .kind = ZKL_OPERATION_EXISTS, .path = session->lock_root };
    if (!liveness->probe_under_way) {
        liveness->probe_under_way =
            zkl_send(&session->sender, &probe, on_probed, liveness) == ZKL_OUTCOME_OK;
    }
}

/* Not a deletion: servers look at the rights to the parent before they look for the node. */
zkl_outcome zkl_liveness_write_nothing(zkl_liveness *liveness, zkl_reply_callback *replied,
                                       void *arg, int tag) {
    zkl_session *session = liveness->session;
    const zkl_multi_operation check = { .kind = ZKL_MULTI_CHECK,
                                        .path = session->lock_root,
                                        .version = ZKL_ANY_VERSION };
    const zkl_operation transaction = {
        .kind = ZKL_OPERATION_TRANSACTION, .all = &check, .count = 1, .tag = tag
    };
    return zkl_send(&session->sender, &transaction, replied, arg);
}

static void on_written(void *arg, const zkl_reply *reply) {
    zkl_liveness *liveness = arg;
    liveness->write_under_way = false;
    if (!zkl_is_committed(reply)) {
        put_off_write(liveness);
    } else {
        set_write_timer(liveness);
    }
}

static void send_write(zkl_liveness *liveness) {
    if (liveness->write_under_way) {
        return;
    }
    liveness->write_sent_ms = now_of(liveness);
    liveness->write_under_way =
        zkl_liveness_write_nothing(liveness, on_written, liveness, 0) == ZKL_OUTCOME_OK;
    if (!liveness->write_under_way) {
        put_off_write(liveness);
    }
}

static bool was_sent_lately(const zkl_liveness *liveness, int64_t sent_ms) {
    return now_of(liveness) - sent_ms < PERIODS_OF_SILENCE * period_of(liveness);
}

/* Replies come in the order in which was asked: the latest is the last one that is under way. */
static void on_settled(void *arg, const zkl_reply *reply) {
    zkl_liveness *liveness = arg;
    (void)reply;
    if (liveness->settles_under_way > 0) {
        liveness->settles_under_way--;
    }
}

zkl_outcome zkl_liveness_settle(zkl_liveness *liveness) {
    if ((liveness->write_under_way && was_sent_lately(liveness, liveness->write_sent_ms)) ||
        (liveness->settles_under_way > 0 && was_sent_lately(liveness, liveness->settle_sent_ms))) {
        return ZKL_OUTCOME_OK;
    }
    liveness->settle_sent_ms = now_of(liveness);
    zkl_outcome outcome = zkl_liveness_write_nothing(liveness, on_settled, liveness, 0);
    if (outcome == ZKL_OUTCOME_OK) {
        liveness->settles_under_way++;
    }
    return outcome;
}

/* ---- The probes ---------------------------------------------------------------- */

/* Watches that nobody waits for any more are there until the servers have confirmed
 * their removal. Who follows a leader hears of the next only if the connection is good. */
static bool has_work(const zkl_liveness *liveness) {
    const zkl_session *session = liveness->session;
    return session->connected && (session->runners != NULL || session->followers != NULL ||
                                  zkl_watch_table_count(&session->watches) > 0);
}

static int64_t silence_of(const zkl_liveness *liveness) {
    return now_of(liveness) - heard_ms(liveness);
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

/* A server can be left with a connection whose session has ended just as it was
 * made: it answers pings, and nothing else, for ever (seen on 3.9.3). Whoever
 * waits there would wait for ever too. What is held is not given up by us: its
 * holder may be at work, and its session may live. */
static bool is_to_be_abandoned(const zkl_liveness *liveness) {
    const zkl_session *session = liveness->session;
    int64_t limit = (int64_t)ZKL_TIMEOUTS_OF_SILENCE_MAX * session->timeout_ms;
    return session->abandon != NULL && silence_of(liveness) >= limit && !holds_anything(session);
}

static void on_probe_due(void *arg) {
    zkl_liveness *liveness = arg;
    if (!has_work(liveness)) {
        liveness->awake = false;
        return;
    }
    if (is_to_be_abandoned(liveness)) {
        liveness->session->abandon(liveness->session->abandon_arg);
        return;
    }
    send_probe(liveness);
    zkl_watch_table_remove_again(&liveness->session->watches);
    set_timer(liveness, &liveness->probe_timer, now_of(liveness) + period_of(liveness));
    zkl_session_feed_all(liveness->session, &(zkl_event){ .kind = ZKL_EVENT_PROBE });
}

static void on_write_due(void *arg) {
    zkl_liveness *liveness = arg;
    if (has_work(liveness)) {
        send_write(liveness);
    }
}

void zkl_liveness_wake(zkl_liveness *liveness) {
    if (liveness->awake || !has_work(liveness)) {
        return;
    }
    liveness->awake = true;
    zkl_lease_gather_anew(&liveness->lease);
    set_timer(liveness, &liveness->probe_timer, now_of(liveness) + period_of(liveness));
    if (liveness->lease_runs) {
        set_timer(liveness, &liveness->end_timer, liveness->lease.ends_ms);
    }
}

/* ---- What happens to the session ------------------------------------------------- */

static void warn_of_short_timeout(zkl_liveness *liveness) {
    int32_t tick_ms = liveness->lease.tick_ms;
    int32_t timeout_ms = liveness->session->timeout_ms;
    if (timeout_ms / ZKL_LEASE_TICKS_MIN < tick_ms) {
        char message[160];
        snprintf(message, sizeof(message),
                 "the session timeout of %d ms is shorter than %d ticks of %d ms: a slow answer "
                 "is enough for the lease to run out",
                 (int)timeout_ms, ZKL_LEASE_TICKS_MIN, (int)tick_ms);
        zkl_telemetry_short_session(zkl_session_facts_of(liveness->session), message);
    }
}

void zkl_liveness_connecting(zkl_liveness *liveness) {
    liveness->connecting_ms = now_of(liveness);
}

void zkl_liveness_connected(zkl_liveness *liveness, bool is_new_session) {
    liveness->connected_ms = now_of(liveness);
    liveness->answered_ms = INT64_MIN;
    /* When the servers took it up again is not known: this process may have been stopped since. */
    liveness->may_be_over = !is_new_session;
    liveness->awake = false;
    zkl_lease_gather_anew(&liveness->lease);
    if (is_new_session) {
        zkl_lease_new_session(&liveness->lease, liveness->session->timeout_ms,
                              liveness->connecting_ms);
        warn_of_short_timeout(liveness);
        lease_extended(liveness);
    } else if (liveness->lease.timeout_ms != liveness->session->timeout_ms) {
        zkl_lease_timeout_changed(&liveness->lease, liveness->session->timeout_ms,
                                  liveness->disconnected_ms);
        warn_of_short_timeout(liveness);
    }
    zkl_liveness_check_lease(liveness);
}

void zkl_liveness_disconnected(zkl_liveness *liveness) {
    /* The news may be late; what was answered last was sent before the loss for certain. */
    if (liveness->answered_ms != INT64_MIN) {
        liveness->disconnected_ms = liveness->answered_ms;
    }
}

void zkl_liveness_probe_now(zkl_liveness *liveness) {
    zkl_liveness_wake(liveness);
    if (has_work(liveness)) {
        send_probe(liveness);
    }
}

void zkl_liveness_session_ended(zkl_liveness *liveness) {
    zkl_timer_stop(&liveness->probe_timer);
    zkl_timer_stop(&liveness->write_timer);
    zkl_timer_stop(&liveness->end_timer);
    zkl_lease_begin(&liveness->lease, liveness->lease.tick_ms);
    liveness->lease_ample = false;
    liveness->lease_runs = false; /* the end of the session says so to the requests */
    liveness->awake = false;
    liveness->answered_ms = INT64_MIN;
    liveness->write_under_way = false;
    liveness->settles_under_way = 0;
}

bool zkl_liveness_is_fresh(const zkl_liveness *liveness) {
    return liveness->answered_ms != INT64_MIN && !liveness->may_be_over &&
           now_of(liveness) - liveness->answered_ms < PERIODS_OF_SILENCE * period_of(liveness);
}

bool zkl_liveness_is_silent(const zkl_liveness *liveness) {
    return silence_of(liveness) >= PERIODS_OF_SILENCE * period_of(liveness);
}

void zkl_liveness_begin(zkl_liveness *liveness, zkl_session *session, int32_t lease_tick_ms) {
    *liveness = (zkl_liveness){ .session = session, .answered_ms = INT64_MIN };
    zkl_lease_begin(&liveness->lease, lease_tick_ms);
    liveness->probe_timer = (zkl_timer){ .fire = on_probe_due, .arg = liveness };
    liveness->write_timer = (zkl_timer){ .fire = on_write_due, .arg = liveness };
    liveness->end_timer = (zkl_timer){ .fire = on_lease_end, .arg = liveness };
}
