#include "recipe/lease.h"

enum {
    PROBES_PER_TIMEOUT = 3,
    CLOCK_RATE_PARTS = 1000, /* clocks differ by one part in this many at most */
    PATIENCE_PARTS = 8       /* of a period: how long to wait for a write that comes anyway */
};

void zkl_lease_begin(zkl_lease *lease, int32_t tick_ms) {
    *lease = (zkl_lease){ .tick_ms = tick_ms, .ends_ms = INT64_MIN, .probe_sent_ms = INT64_MIN };
}

int64_t zkl_lease_probe_period(int32_t timeout_ms) {
    int64_t period = timeout_ms / PROBES_PER_TIMEOUT;
    return period > 0 ? period : 1;
}

static void extend(zkl_lease *lease, int64_t since_ms) {
    int64_t ends = since_ms + lease->timeout_ms - lease->margin_ms;
    if (ends > lease->ends_ms) {
        lease->ends_ms = ends;
    }
}

void zkl_lease_gather_anew(zkl_lease *lease) {
    lease->stage = ZKL_LEASE_NOTHING;
    lease->probe_sent_ms = INT64_MIN;
}

void zkl_lease_new_session(zkl_lease *lease, int32_t timeout_ms, int64_t begun_ms) {
    lease->timeout_ms = timeout_ms;
    lease->period_ms = zkl_lease_probe_period(timeout_ms);
    lease->margin_ms = lease->period_ms + timeout_ms / CLOCK_RATE_PARTS;
    lease->ends_ms = INT64_MIN;
    zkl_lease_gather_anew(lease);
    if (lease->tick_ms > 0) {
        extend(lease, begun_ms);
    }
}

/* One proof a period is enough, however much traffic there is. */
static bool is_new_probe(const zkl_lease *lease, int64_t sent_ms) {
    return lease->probe_sent_ms == INT64_MIN || sent_ms - lease->probe_sent_ms >= lease->period_ms;
}

bool zkl_lease_answered(zkl_lease *lease, int64_t sent_ms, int64_t answered_ms, bool was_write) {
    if (lease->tick_ms == 0) {
        return false;
    }
    switch (lease->stage) {
    case ZKL_LEASE_NOTHING:
        if (is_new_probe(lease, sent_ms)) {
            lease->stage = ZKL_LEASE_PROBED;
            lease->probe_sent_ms = sent_ms;
            lease->probe_answered_ms = answered_ms;
        }
        break;
    case ZKL_LEASE_PROBED:
        if (was_write && sent_ms > lease->probe_answered_ms + lease->tick_ms) {
            lease->stage = ZKL_LEASE_FIRST_WRITE;
            lease->write_answered_ms = answered_ms;
        }
        break;
    case ZKL_LEASE_FIRST_WRITE:
        if (was_write && sent_ms > lease->write_answered_ms) {
            lease->stage = ZKL_LEASE_NOTHING;
            extend(lease, lease->probe_sent_ms);
            return true;
        }
        break;
    }
    return false;
}

int64_t zkl_lease_write_due(const zkl_lease *lease) {
    switch (lease->stage) {
    case ZKL_LEASE_PROBED:
        return lease->probe_answered_ms + lease->tick_ms + 1 + lease->period_ms / PATIENCE_PARTS;
    case ZKL_LEASE_FIRST_WRITE:
        return lease->write_answered_ms + 1; /* later by the clock's own measure */
    case ZKL_LEASE_NOTHING:
        break;
    }
    return INT64_MAX;
}

bool zkl_lease_runs(const zkl_lease *lease, int64_t now_ms) {
    return lease->tick_ms > 0 && now_ms < lease->ends_ms;
}
