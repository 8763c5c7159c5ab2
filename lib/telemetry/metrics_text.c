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

/* ---- The metrics -------------------------------------------------------------------- */

typedef struct metric {
    const char *name;
    const char *type;
    const char *help;
    size_t offset;             /* in zkl_metrics or zkl_class_metrics */
    bool is_of_client;         /* else there is one of each class */
    size_t count;              /* of numbers; 0: a histogram */
    const char *key;           /* the label that tells several numbers apart */
    const char *const *labels; /* its values */
} metric;

static const char *const no_label[] = { NULL };

#define OF_CLASS(name) offsetof(zkl_class_metrics, name), false
#define OF_CLIENT(name) offsetof(zkl_metrics, name), true
#define CLASS_NUMBER(name, metric, type, help)                                                     \
    { #metric, #type, help, OF_CLASS(name), 1, NULL, no_label },
#define CLIENT_NUMBER(name, metric, type, help)                                                    \
    { #metric, #type, help, OF_CLIENT(name), 1, NULL, no_label },

static const metric all_metrics[] = {
    { "zklock_acquires_total", "counter", "Acquires that have ended, by their result.",
      OF_CLASS(acquires), ZKL_RESULT_COUNT, "result", results },
    { "zklock_losses_total", "counter", "Locks that were lost while they were held, by the reason.",
      OF_CLASS(losses), ZKL_LOSS_COUNT, "reason", losses },
    { "zklock_wait_seconds", "histogram", "From the call of an acquire to its grant.",
      OF_CLASS(waits), 0, NULL, NULL },
    { "zklock_hold_seconds", "histogram", "From a grant to its release or loss.", OF_CLASS(holds),
      0, NULL, NULL },
    { "zklock_requests_total", "counter", "Requests sent to ZooKeeper, by their kind.",
      OF_CLIENT(sent), ZKL_OPERATION_KINDS, "kind", sent },
    ZKL_CLASS_NUMBER_LIST(CLASS_NUMBER) ZKL_CLIENT_NUMBER_LIST(CLIENT_NUMBER)
};

static void add_numbers(page *self, const metric *one, const zkl_class_metrics *class,
                        const uint64_t *numbers) {
    for (size_t i = 0; i < one->count; i++) {
        begin_sample(self, one->name, "", class, one->key, one->labels[i]);
        add(self, "%" PRIu64 "\n", numbers[i]);
    }
}

/* In seconds, without zeros at the end, but with a digit behind the point. */
static void write_bound(char *text, size_t size, int64_t ms) {
    int fraction = (int)(ms % MS_PER_SECOND);
    int digits = 3;
    for (; digits > 1 && fraction % 10 == 0; digits--) {
        fraction /= 10;
    }
    snprintf(text, size, "%d.%0*d", (int)(ms / MS_PER_SECOND), digits, fraction);
}

/* Each bucket contains those before it. */
static void add_histogram(page *self, const char *name, const zkl_class_metrics *class,
                          const zkl_histogram *histogram) {
    uint64_t count = 0;
    for (size_t i = 0; i <= ZKL_BUCKET_COUNT; i++) {
        count += histogram->counts[i];
        char bound[16] = "+Inf";
        if (i < ZKL_BUCKET_COUNT) {
            write_bound(bound, sizeof(bound), zkl_bucket_bounds_ms[i]);
        }
        begin_sample(self, name, "_bucket", class, "le", bound);
        add(self, "%" PRIu64 "\n", count);
    }
    begin_sample(self, name, "_sum", class, NULL, NULL);
    add(self, "%" PRIu64 ".%03d\n", histogram->sum_ms / MS_PER_SECOND,
        (int)(histogram->sum_ms % MS_PER_SECOND));
    begin_sample(self, name, "_count", class, NULL, NULL);
    add(self, "%" PRIu64 "\n", count);
}

/* `class`: NULL for the client. */
static void add_samples(page *self, const metric *one, const zkl_class_metrics *class) {
    const char *owner = class != NULL ? (const char *)class : (const char *)self->metrics;
    const void *at = owner + one->offset;
    if (one->count > 0) {
        add_numbers(self, one, class, at);
    } else {
        add_histogram(self, one->name, class, at);
    }
}

size_t zkl_metrics_write(const zkl_metrics *metrics, char *buffer, size_t size) {
    page self = { .metrics = metrics, .buffer = buffer, .size = size };
    for (size_t i = 0; i < sizeof(all_metrics) / sizeof(all_metrics[0]); i++) {
        const metric *one = &all_metrics[i];
        add(&self, "# HELP %s %s\n# TYPE %s %s\n", one->name, one->help, one->name, one->type);
        size_t owners = one->is_of_client ? 1 : metrics->class_count;
        for (size_t k = 0; k < owners; k++) {
            add_samples(&self, one, one->is_of_client ? NULL : &metrics->classes[k]);
        }
    }
    return self.length;
}
