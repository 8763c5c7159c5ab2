#include "recipe/lease.h"

enum {
    PROBES_PER_TIMEOUT = 3,
    CLOCK_RATE_PARTS = 1000, /* two clocks' rates differ by one part in this many at most */
    PATIENCE_PARTS =
        16 /* so much of a period to wait for a write that the application sends anyway */
};

static const zkl_lease_probe no_probe = { .sent_ms = INT64_MIN };

void zkl_lease_begin(zkl_lease *lease, int32_t tick_ms) {
    *lease = (zkl_lease){ .tick_ms = tick_ms, .ends_ms = INT64_MIN };
    zkl_lease_gather_anew(lease);
}

int64_t zkl_lease_probe_period(int32_t timeout_ms) {
    int64_t period = timeout_ms / PROBES_PER_TIMEOUT;
    return period > 0 ? period : 1;
}

static int64_t patience_of(const zkl_lease *lease) {
    return lease->period_ms / PATIENCE_PARTS + 1;
}

static int64_t later_of(int64_t one_ms, int64_t other_ms) {
    return one_ms > other_ms ? one_ms : other_ms;
}

/* Returns when a lease ends that is proved by a probe sent at this time. */
static int64_t end_of_lease(const zkl_lease *lease, int64_t sent_ms) {
    return sent_ms + lease->timeout_ms - lease->margin_ms;
}

static void extend(zkl_lease *lease, int64_t since_ms) {
    lease->ends_ms = later_of(lease->ends_ms, end_of_lease(lease, since_ms));
}

void zkl_lease_gather_anew(zkl_lease *lease) {
    lease->stage = ZKL_LEASE_NOTHING;
    lease->probe = no_probe;
    lease->next_probe = no_probe;
    lease->probe_due_ms = INT64_MIN;
}

void zkl_lease_probe_due(zkl_lease *lease, int64_t now_ms) {
    lease->probe_due_ms = now_ms;
}

static void take_timeout(zkl_lease *lease, int32_t timeout_ms) {
    lease->timeout_ms = timeout_ms;
    lease->period_ms = zkl_lease_probe_period(timeout_ms);
    lease->margin_ms = lease->period_ms + timeout_ms / CLOCK_RATE_PARTS;
}

void zkl_lease_new_session(zkl_lease *lease, int32_t timeout_ms, int64_t begun_ms) {
    take_timeout(lease, timeout_ms);
    lease->ends_ms = INT64_MIN;
    zkl_lease_gather_anew(lease);
    if (lease->tick_ms > 0) {
        extend(lease, begun_ms);
    }
}

/* Shortens a lease that was earned with a longer timeout: the servers count the new timeout from
 * the reconnect. */
void zkl_lease_timeout_changed(zkl_lease *lease, int32_t timeout_ms, int64_t lost_ms) {
    take_timeout(lease, timeout_ms);
    int64_t latest = end_of_lease(lease, lost_ms);
    if (lease->ends_ms > latest) {
        lease->ends_ms = latest;
    }
}

/* Tells whether this answer begins a proof. Other traffic than the first after each due time does
 * not: one proof in each period is enough, and one that began earlier would have to last for longer
 * than a period, until the probe after the next. */
static bool is_new_probe(const zkl_lease *lease, int64_t sent_ms) {
    return sent_ms >= lease->probe_due_ms;
}

static void begin_proof(zkl_lease *lease, zkl_lease_probe probe) {
    lease->stage = ZKL_LEASE_PROBED;
    lease->probe = probe;
    lease->next_probe = no_probe;
    if (is_new_probe(lease, probe.sent_ms)) {
        lease->probe_due_ms = INT64_MAX;
    }
}

static void end_proof(zkl_lease *lease) {
    extend(lease, lease->probe.sent_ms);
    lease->stage = ZKL_LEASE_NOTHING;
    if (lease->next_probe.sent_ms != INT64_MIN) {
        begin_proof(lease, lease->next_probe);
    }
}

static bool is_first_write(const zkl_lease *lease, int64_t sent_ms) {
    return lease->stage == ZKL_LEASE_PROBED && sent_ms > lease->probe.answered_ms + lease->tick_ms;
}

static bool is_second_write(const zkl_lease *lease, int64_t sent_ms) {
    return lease->stage == ZKL_LEASE_FIRST_WRITE && sent_ms > lease->write_answered_ms;
}

bool zkl_lease_answered(zkl_lease *lease, int64_t sent_ms, int64_t answered_ms, bool was_write) {
    const zkl_lease_probe probe = { sent_ms, answered_ms };
    if (lease->tick_ms == 0) {
        return false;
    }
    if (was_write && is_second_write(lease, sent_ms)) {
        end_proof(lease);
        return true;
    }
    if (was_write && is_first_write(lease, sent_ms)) {
        lease->stage = ZKL_LEASE_FIRST_WRITE;
        lease->write_answered_ms = answered_ms;
    } else if (lease->stage == ZKL_LEASE_NOTHING && is_new_probe(lease, sent_ms)) {
        begin_proof(lease, probe);
    } else if (lease->stage != ZKL_LEASE_NOTHING &&
               (is_new_probe(lease, sent_ms) ||
                sent_ms - lease->probe.sent_ms >= patience_of(lease))) {
        lease->next_probe = probe; /* the latest probe is worth most */
    }
    return false;
}

int64_t zkl_lease_write_due(const zkl_lease *lease) {
    if (lease->stage == ZKL_LEASE_PROBED) {
        return lease->probe.answered_ms + lease->tick_ms + patience_of(lease);
    }
    bool awaits_second = lease->stage == ZKL_LEASE_FIRST_WRITE;
    return awaits_second ? lease->write_answered_ms +
                               1 /* the earliest moment that the clock can tell from the first */
                         : INT64_MAX;
}

bool zkl_lease_runs(const zkl_lease *lease, int64_t now_ms) {
    return lease->tick_ms > 0 && now_ms < lease->ends_ms;
}

/* Tells whether the lease lasts until the next proof is done, which may begin from free_ms on. If
 * all is well it begins with the next probe. */
static bool lasts_a_proof(const zkl_lease *lease, int64_t ends_ms, int64_t free_ms) {
    int64_t probe_ms = lease->probe.sent_ms + lease->period_ms;
    if (lease->next_probe.sent_ms != INT64_MIN || probe_ms < free_ms) {
        probe_ms = free_ms;
    }
    return ends_ms > probe_ms + lease->tick_ms + 2 * patience_of(lease);
}

/* Demands that the lease lasts until the proof under way is done and then, with what that adds,
 * until the next one is done: a proof that was begun long ago adds next to nothing. */
bool zkl_lease_is_ample(const zkl_lease *lease, int64_t now_ms) {
    if (!zkl_lease_runs(lease, now_ms)) {
        return false;
    }
    if (lease->stage == ZKL_LEASE_NOTHING) {
        return lasts_a_proof(lease, lease->ends_ms, now_ms);
    }
    int64_t done_ms = later_of(zkl_lease_write_due(lease), now_ms);
    int64_t ends_ms = later_of(lease->ends_ms, end_of_lease(lease, lease->probe.sent_ms));
    return lease->ends_ms > done_ms + patience_of(lease) && lasts_a_proof(lease, ends_ms, done_ms);
}

bool zkl_lease_is_possible(const zkl_lease *lease) {
    int64_t needed = lease->period_ms + lease->tick_ms + 2 * patience_of(lease);
    return lease->tick_ms == 0 || needed < lease->timeout_ms - lease->margin_ms;
}
