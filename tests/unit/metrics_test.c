/* What is counted, and how it is written. */
#include "telemetry/metrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/unit.h"

enum { TEXT_SIZE = 512 * 1024 };

static char text[TEXT_SIZE];

static const char *write_down(const zkl_metrics *metrics) {
    size_t length = zkl_metrics_write(metrics, text, sizeof(text));
    EXPECT(length < sizeof(text));
    EXPECT_INT(strlen(text), length);
    return text;
}

/* Whether the text has this line, whole. */
static bool has_line(const zkl_metrics *metrics, const char *line) {
    char wanted[512];
    snprintf(wanted, sizeof(wanted), "\n%s\n", line);
    return strstr(write_down(metrics), wanted) != NULL;
}

#define EXPECT_LINE(metrics, line) EXPECT(has_line((metrics), (line)))

/* ---- Classes ---------------------------------------------------------------------- */

TEST(classes_beyond_the_limit_are_one) {
    zkl_metrics *metrics = zkl_metrics_open("me");
    for (int i = 0; i < ZKL_RESOURCE_CLASSES_MAX; i++) {
        char name[16];
        snprintf(name, sizeof(name), "class-%d", i);
        EXPECT_TEXT(zkl_metrics_class(metrics, name)->name, name);
    }
    zkl_class_metrics *one = zkl_metrics_class(metrics, "one more");
    EXPECT_TEXT(one->name, ZKL_RESOURCE_CLASS_OVERFLOW);
    EXPECT(zkl_metrics_class(metrics, "and another") == one);
    EXPECT_TEXT(zkl_metrics_class(metrics, "class-31")->name, "class-31");
    EXPECT_TEXT(zkl_metrics_class(metrics, "")->name, "");
    EXPECT_INT(metrics->class_count, ZKL_RESOURCE_CLASSES_MAX + 2);
    free(metrics);
}

/* ---- Numbers ---------------------------------------------------------------------- */

TEST(each_loss_counts_under_its_reason) {
    static const struct {
        int status;
        zkl_loss loss;
    } losses[] = {
        { ZKL_SESSION_EXPIRED, ZKL_LOSS_SESSION_EXPIRED },
        { ZKL_LEASE_ENDED, ZKL_LOSS_LEASE_ENDED },
        { ZKL_HOLD_LIMIT, ZKL_LOSS_HOLD_LIMIT },
        { ZKL_NODE_DELETED, ZKL_LOSS_NODE_DELETED },
        { ZKL_SYSTEM, ZKL_LOSS_OTHER },
    };
    for (size_t i = 0; i < COUNT_OF(losses); i++) {
        zkl_class_metrics class = { .releases = 0 };
        zkl_metrics_lost(&class, losses[i].status, 9);
        for (size_t k = 0; k < ZKL_LOSS_COUNT; k++) {
            EXPECT_INT(class.losses[k], k == losses[i].loss);
        }
        EXPECT_INT(class.holds.sum_ms, 9);
        EXPECT_INT(class.releases, 0);
    }
}

TEST(queue_that_is_full_counts_as_busy_and_not_as_a_failure) {
    zkl_class_metrics class = { .releases = 0 };
    zkl_metrics_decided(&class, ZKL_BUSY, 9);
    zkl_metrics_decided(&class, ZKL_QUEUE_FULL, 9);
    EXPECT_INT(class.acquires[ZKL_RESULT_BUSY], 2);
    EXPECT_INT(class.acquires[ZKL_RESULT_FAILED], 0);
}

/* A bucket has its upper bound in it: "le" is "less than or equal". */
TEST(buckets_include_their_bounds) {
    for (size_t i = 0; i < ZKL_BUCKET_COUNT; i++) {
        zkl_class_metrics class = { .releases = 0 };
        zkl_metrics_released(&class, zkl_bucket_bounds_ms[i]);
        zkl_metrics_released(&class, zkl_bucket_bounds_ms[i] + 1);
        EXPECT_INT(class.holds.counts[i], 1);
        EXPECT_INT(class.holds.counts[i + 1], 1);
        EXPECT_INT(class.releases, 2);
    }
}

/* ---- Text ---------------------------------------------------------------------------- */

TEST(numbers_are_written_with_their_labels) {
    zkl_metrics *metrics = zkl_metrics_open("shop");
    zkl_class_metrics *stock = zkl_metrics_class(metrics, "stock");
    zkl_metrics_decided(stock, ZKL_OK, 1500);
    zkl_metrics_decided(stock, ZKL_OK, 3);
    zkl_metrics_decided(stock, ZKL_TIMEOUT, 100);
    zkl_metrics_lost(stock, ZKL_HOLD_LIMIT, 3600001);
    stock->held = 4;
    metrics->sent[ZKL_OPERATION_WATCH] = 5;
    metrics->sessions = 1;
    EXPECT_LINE(metrics, "# TYPE zklock_wait_seconds histogram");
    EXPECT_LINE(metrics, "zklock_acquires_total{client=\"shop\",resource_class=\"stock\","
                         "result=\"granted\"} 2");
    EXPECT_LINE(metrics, "zklock_acquires_total{client=\"shop\",resource_class=\"\","
                         "result=\"granted\"} 0");
    EXPECT_LINE(metrics, "zklock_losses_total{client=\"shop\",resource_class=\"stock\","
                         "reason=\"hold_limit\"} 1");
    EXPECT_LINE(metrics, "zklock_wait_seconds_bucket{client=\"shop\",resource_class=\"stock\","
                         "le=\"0.002\"} 0");
    EXPECT_LINE(metrics, "zklock_wait_seconds_bucket{client=\"shop\",resource_class=\"stock\","
                         "le=\"0.005\"} 1");
    EXPECT_LINE(metrics, "zklock_wait_seconds_bucket{client=\"shop\",resource_class=\"stock\","
                         "le=\"2.0\"} 2");
    EXPECT_LINE(metrics, "zklock_wait_seconds_sum{client=\"shop\",resource_class=\"stock\"} 1.503");
    EXPECT_LINE(metrics, "zklock_hold_seconds_bucket{client=\"shop\",resource_class=\"stock\","
                         "le=\"3600.0\"} 0");
    EXPECT_LINE(metrics, "zklock_hold_seconds_bucket{client=\"shop\",resource_class=\"stock\","
                         "le=\"+Inf\"} 1");
    EXPECT_LINE(metrics, "zklock_hold_seconds_count{client=\"shop\",resource_class=\"stock\"} 1");
    EXPECT_LINE(metrics, "zklock_held{client=\"shop\",resource_class=\"stock\"} 4");
    EXPECT_LINE(metrics, "zklock_requests_total{client=\"shop\",kind=\"watch\"} 5");
    EXPECT_LINE(metrics, "zklock_sessions{client=\"shop\"} 1");
    free(metrics);
}

TEST(label_values_are_escaped) {
    zkl_metrics *metrics = zkl_metrics_open("a\"b\\c\nd");
    EXPECT_LINE(metrics, "zklock_sessions{client=\"a\\\"b\\\\c\\nd\"} 0");
    free(metrics);
}
