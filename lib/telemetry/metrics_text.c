/*
 * The exposition format 0.0.4 of Prometheus. Each metric is one group: # HELP, # TYPE
 * and its samples. Times are kept in milliseconds and written in seconds by whole
 * numbers, as printf would write a comma where the locale has one.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "telemetry/metrics.h"

enum { MS_PER_SECOND = 1000 };

typedef struct page {
    const zkl_metrics *metrics;
    char *buffer;
    size_t size;
    size_t length; /* of the whole text, whether there was room for it or not */
} page;

#define LABEL(name, status, label) label,
static const char *const results[] = { ZKL_RESULT_LIST(LABEL) };
static const char *const losses[] = { ZKL_LOSS_LIST(LABEL) };
#undef LABEL
#define LABEL(name, label) label,
static const char *const sent[] = { ZKL_OPERATION_KIND_LIST(LABEL) };
#undef LABEL

static const char *const bounds[] = {
#define SECONDS(milliseconds, seconds) seconds,
    ZKL_BUCKET_LIST(SECONDS)
#undef SECONDS
};

__attribute__((format(printf, 2, 3))) static void add(page *self, const char *format, ...) {
    bool room = self->length < self->size;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(room ? self->buffer + self->length : NULL,
                           room ? self->size - self->length : 0, format, arguments);
    va_end(arguments);
    self->length += length > 0 ? (size_t)length : 0;
}

/* "label_value can be any sequence of UTF-8 characters, but the backslash, double-quote
 * and line feed characters have to be escaped as \\, \", and \n, respectively." */
static void add_label(page *self, const char *name, const char *value) {
    add(self, "%s=\"", name);
    for (const char *one = value; *one != '\0'; one++) {
        if (*one == '\n') {
            add(self, "\\n");
        } else {
            add(self, "%s%c", *one == '\\' || *one == '"' ? "\\" : "", *one);
        }
    }
    add(self, "\"");
}

static void begin_metric(page *self, const char *name, const char *type, const char *help) {
    add(self, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* All of a sample but its value. `class`, `key`: NULL for none. */
static void begin_sample(page *self, const char *name, const char *suffix,
                         const zkl_class_metrics *class, const char *key, const char *value) {
    add(self, "%s%s{", name, suffix);
    add_label(self, "client", self->metrics->client);
    if (class != NULL) {
        add(self, ",");
        add_label(self, "resource_class", class->name);
    }
    if (key != NULL) {
        add(self, ",");
        add_label(self, key, value);
    }
    add(self, "} ");
}

static void add_sample(page *self, const char *name, const zkl_class_metrics *class,
                       const char *key, const char *value, uint64_t number) {
    begin_sample(self, name, "", class, key, value);
    add(self, "%" PRIu64 "\n", number);
}

/* ---- By resource class ------------------------------------------------------------ */

static const uint64_t *number_at(const zkl_class_metrics *class, size_t offset) {
    return (const uint64_t *)(const void *)((const char *)class + offset);
}

/* One number of each class. */
static void add_numbers(page *self, const char *name, const char *type, const char *help,
                        size_t offset) {
    begin_metric(self, name, type, help);
    for (size_t i = 0; i < self->metrics->class_count; i++) {
        const zkl_class_metrics *class = &self->metrics->classes[i];
        add_sample(self, name, class, NULL, NULL, *number_at(class, offset));
    }
}

/* Several numbers of each class, by a label. */
static void add_labelled(page *self, const char *name, const char *help, const char *key,
                         const char *const *labels, size_t count, size_t offset) {
    begin_metric(self, name, "counter", help);
    for (size_t i = 0; i < self->metrics->class_count; i++) {
        const zkl_class_metrics *class = &self->metrics->classes[i];
        for (size_t k = 0; k < count; k++) {
            add_sample(self, name, class, key, labels[k], number_at(class, offset)[k]);
        }
    }
}

/* Each bucket contains those before it. */
static void add_histogram(page *self, const char *name, const zkl_class_metrics *class,
                          const zkl_histogram *histogram) {
    uint64_t count = 0;
    for (size_t i = 0; i <= ZKL_BUCKET_COUNT; i++) {
        count += histogram->counts[i];
        begin_sample(self, name, "_bucket", class, "le", i < ZKL_BUCKET_COUNT ? bounds[i] : "+Inf");
        add(self, "%" PRIu64 "\n", count);
    }
    begin_sample(self, name, "_sum", class, NULL, NULL);
    add(self, "%" PRIu64 ".%03d\n", histogram->sum_ms / MS_PER_SECOND,
        (int)(histogram->sum_ms % MS_PER_SECOND));
    begin_sample(self, name, "_count", class, NULL, NULL);
    add(self, "%" PRIu64 "\n", count);
}

static void add_histograms(page *self, const char *name, const char *help, size_t offset) {
    begin_metric(self, name, "histogram", help);
    for (size_t i = 0; i < self->metrics->class_count; i++) {
        const zkl_class_metrics *class = &self->metrics->classes[i];
        add_histogram(self, name, class,
                      (const zkl_histogram *)(const void *)((const char *)class + offset));
    }
}

static void add_classes(page *self) {
    add_labelled(self, "zklock_acquires_total", "Acquires that have ended, by their result.",
                 "result", results, ZKL_RESULT_COUNT, offsetof(zkl_class_metrics, acquires));
    add_labelled(self, "zklock_losses_total",
                 "Locks that were lost while they were held, by the reason.", "reason", losses,
                 ZKL_LOSS_COUNT, offsetof(zkl_class_metrics, losses));
    add_numbers(self, "zklock_releases_total", "counter", "Locks that were held and released.",
                offsetof(zkl_class_metrics, releases));
    add_numbers(self, "zklock_rejoins_total", "counter",
                "Places in a queue that were lost to an expiry or a deletion by hand.",
                offsetof(zkl_class_metrics, rejoins));
    add_numbers(self, "zklock_retries_total", "counter",
                "Pauses before something is asked of the servers again.",
                offsetof(zkl_class_metrics, retries));
    add_numbers(self, "zklock_waiting", "gauge", "Acquires without a result.",
                offsetof(zkl_class_metrics, waiting));
    add_numbers(self, "zklock_held", "gauge", "Locks that are held.",
                offsetof(zkl_class_metrics, held));
    add_numbers(self, "zklock_pending_deletions", "gauge",
                "Nodes that are left and not yet confirmed as deleted.",
                offsetof(zkl_class_metrics, pending_deletions));
    add_histograms(self, "zklock_wait_seconds", "From the call of an acquire to its grant.",
                   offsetof(zkl_class_metrics, waits));
    add_histograms(self, "zklock_hold_seconds", "From a grant to its release or loss.",
                   offsetof(zkl_class_metrics, holds));
}

/* ---- Of the client ------------------------------------------------------------------ */

static void add_number(page *self, const char *name, const char *type, const char *help,
                       uint64_t number) {
    begin_metric(self, name, type, help);
    add_sample(self, name, NULL, NULL, NULL, number);
}

static void add_requests(page *self) {
    static const char name[] = "zklock_requests_total";
    begin_metric(self, name, "counter", "Requests sent to ZooKeeper, by their kind.");
    for (size_t i = 0; i < ZKL_OPERATION_KINDS; i++) {
        add_sample(self, name, NULL, "kind", sent[i], self->metrics->sent[i]);
    }
}

static void add_sessions(page *self) {
    const zkl_metrics *metrics = self->metrics;
    add_number(self, "zklock_sessions", "gauge", "Sessions that the client has.",
               metrics->sessions);
    add_number(self, "zklock_sessions_connected", "gauge", "Those that are connected.",
               metrics->sessions_connected);
    add_number(self, "zklock_sessions_opened_total", "counter",
               "Sessions that the servers have made.", metrics->sessions_opened);
    add_number(self, "zklock_sessions_expired_total", "counter",
               "Sessions that have expired, or were given up.", metrics->sessions_expired);
    add_number(self, "zklock_disconnections_total", "counter",
               "Connections that were lost while their session lived.", metrics->disconnections);
    add_number(self, "zklock_reconnects_total", "counter",
               "Connections that a session found again.", metrics->reconnects);
    add_number(self, "zklock_watches", "gauge", "Nodes that are watched.", metrics->watches);
}

size_t zkl_metrics_write(const zkl_metrics *metrics, char *buffer, size_t size) {
    page self = { .metrics = metrics, .buffer = buffer, .size = size };
    add_classes(&self);
    add_sessions(&self);
    add_requests(&self);
    return self.length;
}
