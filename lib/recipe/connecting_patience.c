#include "recipe/connecting.h"

/* A server that does not answer is left after this part of the session timeout, at most. After some
 * attempts the part is twice as large: servers that are slow are not asked again and again.
 * (libzookeeper itself waits for four of them: lz-patience.) */
enum { ATTEMPTS_OF_TIMEOUT = 6, SHORT_ATTEMPTS = 4, ATTEMPTS_OF_ITS_OWN = 4 };

/* But not before, unless that is all of the part. */
enum { PATIENCE_MIN_MS = 100 };

static int64_t least(int64_t one, int64_t other) {
    return one < other ? one : other;
}

static bool has_tried_all(const zkl_connecting *self, const zkl_connecting_times *times) {
    return self->waits >= times->addresses;
}

/* Returns the sum of the numbers from 1 to n. */
static int64_t sum_to(int64_t n) {
    return n * (n + 1) / 2;
}

/* Gives each address more than the one before it: a silent one shall cost little, and a server that
 * is slow to make a session may be the only one. */
static int64_t first_share_ms(const zkl_connecting *self, const zkl_connecting_times *times) {
    if (has_tried_all(self, times)) {
        return times->connect_timeout_ms * times->addresses / sum_to(times->addresses);
    }
    int64_t untried = sum_to(times->addresses) - sum_to(self->waits);
    return times->left_ms * (self->waits + 1) / untried;
}

static int64_t later_share_ms(const zkl_connecting *self, const zkl_connecting_times *times) {
    return has_tried_all(self, times) ? INT64_MAX
                                      : times->left_ms / (times->addresses - self->waits);
}

static int64_t longest_ms(const zkl_connecting *self, const zkl_connecting_times *times) {
    int64_t part_ms = times->session_timeout_ms / ATTEMPTS_OF_TIMEOUT;
    if (!self->established) {
        return part_ms * ATTEMPTS_OF_ITS_OWN;
    }
    return self->waits < SHORT_ATTEMPTS || !has_tried_all(self, times) ? part_ms : 2 * part_ms;
}

/* Shares the time that is left among the addresses that have not been tried: so each of them is
 * before it is over, whichever are silent. */
int64_t zkl_connecting_patience_ms(const zkl_connecting *self, const zkl_connecting_times *times) {
    int64_t share_ms =
        self->established ? later_share_ms(self, times) : first_share_ms(self, times);
    int64_t most_ms = longest_ms(self, times);
    int64_t least_ms = least(PATIENCE_MIN_MS, most_ms);
    return share_ms < least_ms ? least_ms : least(share_ms, most_ms);
}
