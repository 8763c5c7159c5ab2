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

zkl_class_metrics *zkl_metrics_class(zkl_metrics *metrics, const char *name) {
    if (metrics == NULL) {
        return NULL;
    }
    zkl_class_metrics *class = find(metrics, name);
    /* Of those with a name; the overflow has the last place. */
    bool is_full = metrics->class_count > ZKL_RESOURCE_CLASSES_MAX;
    if (class == NULL && is_full) {
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

const int64_t zkl_bucket_bounds_ms[ZKL_BUCKET_COUNT] = { 1,     2,     5,     10,     20,     50,
                                                         100,   200,   500,   1000,   2000,   5000,
                                                         10000, 30000, 60000, 300000, 3600000 };

static void observe(zkl_histogram *histogram, int64_t ms) {
    size_t bucket = 0;
    while (bucket < ZKL_BUCKET_COUNT && ms > zkl_bucket_bounds_ms[bucket]) {
        bucket++;
    }
    histogram->counts[bucket]++;
    histogram->sum_ms += (uint64_t)ms;
}

#define STATUS(name, status, label) status,
static const int results[] = { ZKL_RESULT_LIST(STATUS) };
static const int losses[] = { ZKL_LOSS_LIST(STATUS) };
#undef STATUS

/* The place of a status among these, of which the last stands for all others. */
static size_t find_status(const int *statuses, size_t count, int status) {
    size_t place = 0;
    while (place + 1 < count && statuses[place] != status) {
        place++;
    }
    return place;
}

/* Counts with those that cancel who closes, and with those that found others in the way who found
 * too many of them: neither is a failure that somebody should be called for. */
static int count_as(int status) {
    switch (status) {
    case ZKL_CLOSED:
        return ZKL_CANCELLED;
    case ZKL_QUEUE_FULL:
        return ZKL_BUSY;
    default:
        return status;
    }
}

void zkl_metrics_decided(zkl_class_metrics *self, int status, int64_t waited_ms) {
    if (self == NULL) {
        return;
    }
    self->acquires[find_status(results, ZKL_RESULT_COUNT, count_as(status))]++;
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
        self->losses[find_status(losses, ZKL_LOSS_COUNT, status)]++;
        observe(&self->holds, held_ms);
    }
}
