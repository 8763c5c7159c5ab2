#include "telemetry/metrics.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

zkl_metrics *zkl_metrics_open(const char *client) {
    zkl_metrics *metrics = calloc(1, sizeof(*metrics));
    if (metrics != NULL) {
        snprintf(metrics->client, sizeof(metrics->client), "%s", client);
        metrics->class_count = 1;
    }
    return metrics;
}

static zkl_class_metrics *find(zkl_metrics *metrics, const char *name) {
    for (size_t i = 0; i < metrics->class_count; i++) {
        if (strcmp(metrics->classes[i].name, name) == 0) {
            return &metrics->classes[i];
        }
    }
    return NULL;
}

/* Beside the one without a name, and before that of the overflow. */
static bool is_full(const zkl_metrics *metrics) {
    return metrics->class_count > ZKL_RESOURCE_CLASSES_MAX;
}

zkl_class_metrics *zkl_metrics_class(zkl_metrics *metrics, const char *name) {
    if (metrics == NULL) {
        return NULL;
    }
    zkl_class_metrics *class = find(metrics, name);
    if (class == NULL && is_full(metrics)) {
        name = ZKL_RESOURCE_CLASS_OVERFLOW;
        class = find(metrics, name);
    }
    if (class == NULL) {
        class = &metrics->classes[metrics->class_count++];
        snprintf(class->name, sizeof(class->name), "%s", name);
    }
    return class;
}

/* ---- Counting ------------------------------------------------------------------ */

static void observe(zkl_histogram *histogram, int64_t ms) {
    static const int64_t bounds[] = {
#define BOUND(milliseconds, seconds) milliseconds,
        ZKL_BUCKET_LIST(BOUND)
#undef BOUND
    };
    _Static_assert(sizeof(bounds) / sizeof(bounds[0]) == ZKL_BUCKET_COUNT, "count the buckets");
    size_t bucket = 0;
    while (bucket < ZKL_BUCKET_COUNT && ms > bounds[bucket]) {
        bucket++;
    }
    histogram->counts[bucket]++;
    histogram->sum_ms += (uint64_t)ms;
}

static zkl_result result_of(int status) {
    switch (status) {
    case ZKL_OK:
        return ZKL_RESULT_GRANTED;
    case ZKL_BUSY:
        return ZKL_RESULT_BUSY;
    case ZKL_TIMEOUT:
        return ZKL_RESULT_TIMEOUT;
    case ZKL_CANCELLED:
    case ZKL_CLOSED:
        return ZKL_RESULT_CANCELLED;
    case ZKL_SESSION_EXPIRED:
        return ZKL_RESULT_EXPIRED;
    default:
        return ZKL_RESULT_FAILED;
    }
}

static zkl_loss loss_of(int status) {
    switch (status) {
    case ZKL_SESSION_EXPIRED:
        return ZKL_LOSS_SESSION_EXPIRED;
    case ZKL_LEASE_ENDED:
        return ZKL_LOSS_LEASE_ENDED;
    case ZKL_HOLD_LIMIT:
        return ZKL_LOSS_HOLD_LIMIT;
    case ZKL_NODE_DELETED:
        return ZKL_LOSS_NODE_DELETED;
    default:
        return ZKL_LOSS_OTHER;
    }
}

void zkl_metrics_decided(zkl_class_metrics *self, int status, int64_t waited_ms) {
    if (self == NULL) {
        return;
    }
    self->acquires[result_of(status)]++;
    if (status == ZKL_OK) {
        observe(&self->waits, waited_ms);
    }
}

void zkl_metrics_released(zkl_class_metrics *self, int64_t held_ms) {
    if (self != NULL) {
        self->releases++;
        observe(&self->holds, held_ms);
    }
}

void zkl_metrics_lost(zkl_class_metrics *self, int status, int64_t held_ms) {
    if (self != NULL) {
        self->losses[loss_of(status)]++;
        observe(&self->holds, held_ms);
    }
}
