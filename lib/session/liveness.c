#include "session/liveness.h"

/* Probes are answered well within this many of their periods, or something is
 * wrong: then the session's timeout is nearly over. */
enum { PERIODS_OF_SILENCE = 2 };

enum { RETRIES_PER_PERIOD = 8 };

static int64_t now_of(const zkl_liveness *liveness) {
    return zkl_sender_passed_ms(liveness->sender);
}

/* Sets a timer to a time of zkl_sender_passed_ms: timers run by the clock, which may be behind
 * that. */
static void set_liveness_timer(zkl_liveness *liveness, zkl_timer *timer, int64_t at_ms) {
    zkl_timers_set(liveness->timers, timer, at_ms - liveness->sender->ahead_ms);
}

static int64_t longest_silence_of(const zkl_liveness *liveness) {
    return PERIODS_OF_SILENCE * liveness->lease.period_ms;
}

/* ---- The lease ----------------------------------------------------------- */

void zkl_liveness_check_lease(zkl_liveness *liveness) {
    if (!liveness->lease_runs) { /* nothing can end, and most clients want no lease */
        return;
    }
    int64_t now = now_of(liveness);
    if (!zkl_lease_runs(&liveness->lease, now)) {
        liveness->lease_runs = false;
        liveness->lease_ample = false;
        liveness->on_news(liveness->arg, ZKL_EVENT_LEASE_ENDED);
    } else if (liveness->lease_ample && !zkl_lease_is_ample(&liveness->lease, now)) {
        liveness->lease_ample = false;
        liveness->on_news(liveness->arg, ZKL_EVENT_LEASE_THIN);
    }
}

static void on_lease_end(void *arg) {
    zkl_liveness_check_lease(arg);
}

static void lease_extended(zkl_liveness *liveness) {
    if (!zkl_lease_runs(&liveness->lease, now_of(liveness))) {
        return;
    }
    if (liveness->awake) {
        set_liveness_timer(liveness, &liveness->end_timer, liveness->lease.ends_ms);
    }
    liveness->lease_runs = true;
    if (!liveness->lease_ample && zkl_lease_is_ample(&liveness->lease, now_of(liveness))) {
        liveness->lease_ample = true;
        liveness->on_news(liveness->arg, ZKL_EVENT_LEASE_BEGUN);
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
    if (due == INT64_MAX || liveness->write != NULL || !liveness->awake) {
        zkl_timer_stop(&liveness->write_timer);
    } else {
        int64_t earliest = liveness->write_not_before_ms;
        set_liveness_timer(liveness, &liveness->write_timer, due > earliest ? due : earliest);
    }
}

/* Puts off the write. One that failed while the connection stands is sent again, but not at
 * once. */
static void put_off_write(zkl_liveness *liveness) {
    liveness->write_not_before_ms =
        now_of(liveness) + liveness->lease.period_ms / RETRIES_PER_PERIOD;
    set_write_timer(liveness);
}

bool zkl_is_committed(const zkl_reply *reply) {
    return reply->outcome == ZKL_OUTCOME_OK || reply->outcome == ZKL_OUTCOME_NO_NODE ||
           reply->outcome == ZKL_OUTCOME_NOT_EMPTY || reply->results != NULL;
}

static int64_t heard_ms(const zkl_liveness *liveness) {
    return liveness->answered_ms > liveness->connected_ms ? liveness->answered_ms
                                                          : liveness->connected_ms;
}

/* Notes whether the session may be over. After a stop of this process it may be, and a server
 * that lags answers all the same, until the leader has committed a write that was sent after the
 * stop. */
static void note_gap(zkl_liveness *liveness, int64_t sent_ms, int64_t now_ms, bool is_committed) {
    int64_t longest = longest_silence_of(liveness);
    if (is_committed && now_ms - sent_ms < longest) {
        liveness->may_be_over = false;
    } else if (sent_ms - heard_ms(liveness) >= longest) {
        liveness->may_be_over = true;
    }
}

bool zkl_liveness_answered(zkl_liveness *liveness, const zkl_reply *reply, int64_t sent_ms,
                           bool was_write) {
    if (reply->outcome == ZKL_OUTCOME_UNKNOWN || reply->outcome == ZKL_OUTCOME_SESSION_OVER) {
        return false;
    }
    bool is_committed = was_write && zkl_is_committed(reply);
    int64_t now_ms = now_of(liveness);
    note_gap(liveness, sent_ms, now_ms, is_committed);
    if (sent_ms > liveness->answered_ms) {
        liveness->answered_ms = sent_ms;
    }
    if (reply->outcome != ZKL_OUTCOME_NOT_NOW &&
        zkl_lease_answered(&liveness->lease, sent_ms, now_ms, is_committed)) {
        lease_extended(liveness);
    }
    set_write_timer(liveness);
    return true;
}

static void send_probe(zkl_liveness *liveness) {
    const zkl_operation probe = { .kind = ZKL_OPERATION_EXISTS, .path = liveness->lock_root };
    if (liveness->probe == NULL) {
        (void)zkl_send(liveness->sender, &probe, NULL, NULL, &liveness->probe);
    }
}

/* Checks, and does not delete: servers look at the rights to the parent before they look for the
 * node to be deleted. */
zkl_outcome zkl_liveness_write_nothing(const zkl_liveness *liveness, int tag,
                                       zkl_reply_callback *replied, void *arg,
                                       zkl_sent **under_way) {
    const zkl_multi_operation check = { .kind = ZKL_MULTI_CHECK,
                                        .path = liveness->lock_root,
                                        .version = ZKL_ANY_VERSION };
    const zkl_operation transaction = {
        .kind = ZKL_OPERATION_TRANSACTION, .all = &check, .count = 1, .tag = tag
    };
    return zkl_send(liveness->sender, &transaction, replied, arg, under_way);
}

static void on_written(void *arg, const zkl_reply *reply) {
    if (zkl_is_committed(reply)) {
        set_write_timer(arg);
    } else {
        put_off_write(arg);
    }
}

/* Sends a write. An earlier one that has had no reply for long counts when it has one, but is not
 * waited for. */
static zkl_outcome send_write(zkl_liveness *liveness) {
    zkl_sent_forget(&liveness->write);
    liveness->write_sent_ms = now_of(liveness);
    return zkl_liveness_write_nothing(liveness, 0, on_written, liveness, &liveness->write);
}

zkl_outcome zkl_liveness_settle(zkl_liveness *liveness) {
    bool was_sent_lately =
        now_of(liveness) - liveness->write_sent_ms < longest_silence_of(liveness);
    return liveness->write != NULL && was_sent_lately ? ZKL_OUTCOME_OK : send_write(liveness);
}

/* ---- The probes ---------------------------------------------------------------- */

int64_t zkl_liveness_silence_ms(const zkl_liveness *liveness) {
    return now_of(liveness) - heard_ms(liveness);
}

/* Gives a silent session up after some timeouts. A server can be left with a connection whose
 * session has ended just as it was made: it answers pings, and nothing else, for ever (seen on
 * 3.9.3). A request would wait there for ever too. */
static bool is_given_up(const zkl_liveness *liveness) {
    int64_t limit = (int64_t)ZKL_TIMEOUTS_OF_SILENCE_MAX * liveness->lease.timeout_ms;
    return zkl_liveness_silence_ms(liveness) >= limit && liveness->abandon(liveness->arg);
}

static void set_probe_timer(zkl_liveness *liveness) {
    set_liveness_timer(liveness, &liveness->probe_timer,
                       now_of(liveness) + liveness->lease.period_ms);
}

static void on_probe_due(void *arg) {
    zkl_liveness *liveness = arg;
    liveness->awake = liveness->has_work(liveness->arg);
    if (liveness->awake && !is_given_up(liveness)) {
        zkl_lease_probe_due(&liveness->lease, now_of(liveness));
        send_probe(liveness);
        set_probe_timer(liveness);
        liveness->on_news(liveness->arg, ZKL_EVENT_PROBE);
    }
}

static void on_write_due(void *arg) {
    zkl_liveness *liveness = arg;
    bool is_needed = liveness->has_work(liveness->arg) && liveness->write == NULL;
    if (is_needed && send_write(liveness) != ZKL_OUTCOME_OK) {
        put_off_write(liveness);
    }
}

void zkl_liveness_wake(zkl_liveness *liveness) {
    if (liveness->awake || !liveness->has_work(liveness->arg)) {
        return;
    }
    liveness->awake = true;
    zkl_lease_gather_anew(&liveness->lease);
    set_probe_timer(liveness);
    if (liveness->lease_runs) {
        set_liveness_timer(liveness, &liveness->end_timer, liveness->lease.ends_ms);
    }
}

/* ---- What happens to the session ------------------------------------------------- */

void zkl_liveness_connected(zkl_liveness *liveness, bool is_new_session, int32_t timeout_ms) {
    liveness->connected_ms = now_of(liveness);
    liveness->answered_ms = INT64_MIN;
    /* When the servers took it up again is not known: this process may have been stopped since. */
    liveness->may_be_over = !is_new_session;
    liveness->awake = false;
    zkl_lease_gather_anew(&liveness->lease);
    if (is_new_session) {
        zkl_lease_new_session(&liveness->lease, timeout_ms, liveness->connecting_ms);
        lease_extended(liveness);
    } else if (liveness->lease.timeout_ms != timeout_ms) {
        zkl_lease_timeout_changed(&liveness->lease, timeout_ms, liveness->disconnected_ms);
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
    if (liveness->has_work(liveness->arg)) {
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
    zkl_sent_forget(&liveness->write);
}

static bool is_fresh_at(const zkl_liveness *liveness, int64_t now) {
    return liveness->answered_ms != INT64_MIN && !liveness->may_be_over &&
           now - liveness->answered_ms < longest_silence_of(liveness);
}

bool zkl_liveness_is_fresh(const zkl_liveness *liveness) {
    return is_fresh_at(liveness, now_of(liveness));
}

bool zkl_liveness_may_grant(const zkl_liveness *liveness) {
    int64_t now = now_of(liveness);
    return is_fresh_at(liveness, now) &&
           (liveness->lease.tick_ms == 0 || zkl_lease_is_ample(&liveness->lease, now));
}

bool zkl_liveness_is_silent(const zkl_liveness *liveness) {
    return zkl_liveness_silence_ms(liveness) >= longest_silence_of(liveness);
}

void zkl_liveness_begin(zkl_liveness *liveness, int32_t lease_tick_ms) {
    liveness->answered_ms = INT64_MIN;
    zkl_lease_begin(&liveness->lease, lease_tick_ms);
    liveness->probe_timer = (zkl_timer){ .fire = on_probe_due, .arg = liveness };
    liveness->write_timer = (zkl_timer){ .fire = on_write_due, .arg = liveness };
    liveness->end_timer = (zkl_timer){ .fire = on_lease_end, .arg = liveness };
}
