/*
 * What a client has counted after something has happened to its lock, as lines of its
 * metrics. "|" stands for the labels client and resource_class.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/lock_desk.h"

enum { TEXT_SIZE = 64 * 1024 };

static lock_desk *open_counting(zkl_lock_options *options, int32_t lease_tick_ms) {
    options->resource_class = "shop";
    return desk_open_with(&(desk_options){ options, lease_tick_ms, .metrics = true });
}

static lock_desk *open_plain(void) {
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    return open_counting(&options, 0);
}

/* The value of a series, as text; "none" where there is none. */
static const char *value_of(lock_desk *desk, const char *series) {
    static char text[TEXT_SIZE];
    char wanted[256];
    const char *labels = strchr(series, '|');
    size_t length = 0;
    EXPECT_INT(zkl_client_metrics(desk->client, text, sizeof(text), &length), ZKL_OK);
    if (labels != NULL) {
        snprintf(wanted, sizeof(wanted), "\n%.*s{client=\"label\",resource_class=\"shop\"%s} ",
                 (int)(labels - series), series, labels + 1);
    } else {
        snprintf(wanted, sizeof(wanted), "\n%s ", series);
    }
    char *found = strstr(text, wanted);
    if (found == NULL) {
        return "none";
    }
    found += strlen(wanted);
    found[strcspn(found, "\n")] = '\0';
    return found;
}

#define EXPECT_SERIES(desk, series, value) EXPECT_TEXT(value_of((desk), (series)), (value))
#define CLIENT "{client=\"label\"}"

TEST(grant_and_release_are_counted_with_their_times) {
    lock_desk *desk = open_plain();
    desk_begin(desk, desk_acquire, ZKL_FOREVER);
    desk_enter_at_calls(desk, 2);
    desk->fake.now_ms += 30;
    desk_leave(desk);
    EXPECT_SERIES(desk, "zklock_waiting|", "1");
    EXPECT_SERIES(desk, "zklock_held|", "0");
    desk_enter(desk);
    desk_grant(desk);
    desk_leave(desk);
    EXPECT_INT(desk_join(desk), ZKL_OK);
    EXPECT_SERIES(desk, "zklock_acquires_total|,result=\"granted\"", "1");
    EXPECT_SERIES(desk, "zklock_wait_seconds_sum|", "0.030");
    EXPECT_SERIES(desk, "zklock_wait_seconds_bucket|,le=\"0.02\"", "0");
    EXPECT_SERIES(desk, "zklock_wait_seconds_bucket|,le=\"0.05\"", "1");
    EXPECT_SERIES(desk, "zklock_waiting|", "0");
    EXPECT_SERIES(desk, "zklock_held|", "1");
    EXPECT_SERIES(desk, "zklock_pending_deletions|", "0");
    desk_stand_still(desk, 1250);
    EXPECT_INT(zkl_lock_release(desk->lock, 0), ZKL_OK);
    EXPECT_SERIES(desk, "zklock_releases_total|", "1");
    EXPECT_SERIES(desk, "zklock_hold_seconds_sum|", "1.250");
    EXPECT_SERIES(desk, "zklock_hold_seconds_count|", "1");
    EXPECT_SERIES(desk, "zklock_held|", "0");
    EXPECT_SERIES(desk, "zklock_pending_deletions|", "1");
    desk_answer_remove(desk);
    EXPECT_SERIES(desk, "zklock_pending_deletions|", "0");
    desk_close(desk);
}

TEST(requests_are_counted_by_their_kind) {
    lock_desk *desk = open_plain();
    desk_hold(desk);
    EXPECT_INT(zkl_lock_release(desk->lock, 0), ZKL_OK);
    desk_answer_remove(desk);
    EXPECT_SERIES(desk, "zklock_requests_total{client=\"label\",kind=\"create\"}", "1");
    EXPECT_SERIES(desk, "zklock_requests_total{client=\"label\",kind=\"list\"}", "1");
    EXPECT_SERIES(desk, "zklock_requests_total{client=\"label\",kind=\"delete\"}", "1");
    EXPECT_SERIES(desk, "zklock_requests_total{client=\"label\",kind=\"watch\"}", "0");
    EXPECT_SERIES(desk, "zklock_requests_total{client=\"label\",kind=\"exists\"}", "0");
    desk_close(desk);
}

static void on_nothing(void *arg, int status, const zkl_grant *grant) {
    (void)arg;
    (void)grant;
    EXPECT_INT(status, ZKL_OK); /* refused calls are not told */
}

/* As many as it would have been of single locks; whether a thread would have waited, or nobody. */
TEST(acquire_of_a_set_that_cannot_begin_counts_for_each_resource) {
    lock_desk *desk = open_plain();
    zkl_lock_member members[] = { ZKL_LOCK_MEMBER_INIT, ZKL_LOCK_MEMBER_INIT };
    zkl_lock *set = NULL;
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    options.resource_class = "shop";
    members[0].resource = "stock";
    members[1].resource = "orders";
    EXPECT_INT(zkl_lock_open_set(desk->client, members, 2, &options, &set), ZKL_OK);
    desk_enter(desk);
    desk->fake.random_fails = true;
    desk_leave(desk);
    EXPECT_INT(zkl_lock_acquire(set, ZKL_AS_OPENED, 0, NULL), ZKL_SYSTEM);
    EXPECT_SERIES(desk, "zklock_acquires_total|,result=\"failed\"", "2");
    EXPECT_INT(zkl_lock_acquire_async(set, ZKL_AS_OPENED, 0, NULL, on_nothing, NULL), ZKL_SYSTEM);
    EXPECT_SERIES(desk, "zklock_acquires_total|,result=\"failed\"", "4");
    EXPECT_SERIES(desk, "zklock_waiting|", "0");
    zkl_lock_close(set);
    desk_close(desk);
}

TEST(upgrade_that_could_not_begin_is_counted) {
    lock_desk *desk = open_plain();
    desk->mode = ZKL_READ;
    desk_hold(desk);
    desk_enter(desk);
    desk->fake.random_fails = true;
    desk_leave(desk);
    EXPECT_INT(zkl_lock_try_upgrade(desk->lock, NULL), ZKL_SYSTEM);
    EXPECT_SERIES(desk, "zklock_acquires_total|,result=\"failed\"", "1");
    EXPECT_SERIES(desk, "zklock_acquires_total|,result=\"granted\"", "1");
    EXPECT_SERIES(desk, "zklock_held|", "1");
    desk_close(desk);
}

TEST(expiry_while_held_is_a_loss_and_no_release) {
    lock_desk *desk = open_plain();
    desk_hold(desk);
    desk_stand_still(desk, 400);
    desk_expire(desk);
    EXPECT_INT(zkl_lock_release(desk->lock, 0), ZKL_LOST);
    EXPECT_SERIES(desk, "zklock_losses_total|,reason=\"session_expired\"", "1");
    EXPECT_SERIES(desk, "zklock_releases_total|", "0");
    EXPECT_SERIES(desk, "zklock_hold_seconds_sum|", "0.400");
    EXPECT_SERIES(desk, "zklock_held|", "0");
    EXPECT_SERIES(desk, "zklock_sessions_expired_total" CLIENT, "1");
    EXPECT_SERIES(desk, "zklock_disconnections_total" CLIENT, "0");
    EXPECT_SERIES(desk, "zklock_sessions_connected" CLIENT, "0");
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTED);
    EXPECT_SERIES(desk, "zklock_sessions_opened_total" CLIENT, "2");
    desk_close(desk);
}

TEST(expiry_while_waiting_is_a_rejoin) {
    lock_desk *desk = open_plain();
    desk_begin(desk, desk_acquire, 10000);
    desk_enter_at_calls(desk, 2);
    desk_answer_create(desk, DESK_NODE, DESK_TOKEN);
    desk_answer_list(desk, DESK_NODE, "lock-0000000001");
    desk_leave(desk);
    desk_expire(desk);
    EXPECT_SERIES(desk, "zklock_rejoins_total|", "1");
    EXPECT_INT(zkl_lock_cancel(desk->lock), ZKL_OK);
    EXPECT_INT(desk_join(desk), ZKL_CANCELLED);
    desk_close(desk);
}

TEST(close_of_a_held_handle_is_a_release) {
    lock_desk *desk = open_plain();
    desk_hold(desk);
    zkl_lock_close(desk->lock);
    desk->lock = NULL;
    EXPECT_SERIES(desk, "zklock_releases_total|", "1");
    desk_answer_remove(desk);
    desk_close(desk);
}

/* ---- The call itself -------------------------------------------------------------------- */

TEST(buffer_that_is_too_small_is_left_as_it_was) {
    lock_desk *desk = open_plain();
    size_t needed = 0;
    EXPECT_INT(zkl_client_metrics(desk->client, NULL, 0, &needed), ZKL_BUFFER_TOO_SMALL);
    EXPECT(needed > 1000);
    char *buffer = malloc(needed + 1);
    memset(buffer, 'x', needed + 1);
    size_t length = 0;
    EXPECT_INT(zkl_client_metrics(desk->client, buffer, needed, &length), ZKL_BUFFER_TOO_SMALL);
    EXPECT_INT(length, needed);
    for (size_t i = 0; i <= needed; i++) {
        EXPECT_INT(buffer[i], 'x');
    }
    length = 0;
    EXPECT_INT(zkl_client_metrics(desk->client, buffer, needed + 1, &length), ZKL_OK);
    EXPECT_INT(length, needed);
    EXPECT_INT(strlen(buffer), needed);
    EXPECT_INT(buffer[needed - 1], '\n');
    free(buffer);
    desk_close(desk);
}

TEST(client_that_counts_nothing_says_so) {
    lock_desk *desk = desk_open(NULL);
    char buffer[16] = "untouched";
    size_t length = 1;
    EXPECT_REFUSED(zkl_client_metrics(desk->client, buffer, sizeof(buffer), &length), "metrics");
    EXPECT_INT(length, 0);
    EXPECT_TEXT(buffer, "untouched");
    desk_close(desk);
}

TEST(what_is_missing_is_named) {
    lock_desk *desk = open_plain();
    size_t length = 1;
    EXPECT_INT(zkl_client_metrics(desk->client, NULL, 0, NULL), ZKL_INVALID_ARGUMENT);
    EXPECT_TEXT(zkl_error_message(), "length: must not be NULL");
    EXPECT_INT(zkl_client_metrics(NULL, NULL, 0, &length), ZKL_INVALID_ARGUMENT);
    EXPECT_TEXT(zkl_error_message(), "client: must not be NULL");
    EXPECT_INT(length, 0);
    EXPECT_INT(zkl_client_metrics(desk->client, NULL, 1, &length), ZKL_INVALID_ARGUMENT);
    EXPECT_TEXT(zkl_error_message(), "buffer: must not be NULL");
    desk_close(desk);
}

TEST(class_must_be_a_short_label) {
    lock_desk *desk = open_plain();
    char longest[ZKL_RESOURCE_CLASS_MAX + 2];
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    zkl_lock *lock = NULL;
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    const char *refused[] = { longest, "two\nlines", "\xff", ZKL_RESOURCE_CLASS_OVERFLOW };
    const char *rules[] = { "65 bytes, at most 64 are allowed", "must not have control characters",
                            "must be valid UTF-8", "must not begin with an underscore" };
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        options.resource_class = refused[i];
        EXPECT_REFUSED(zkl_lock_open(desk->client, "a", &options, &lock), "resource_class");
        EXPECT(strstr(zkl_error_message(), rules[i]) != NULL);
        EXPECT(strstr(zkl_error_message(), "resource_class \"") == zkl_error_message());
    }
    longest[ZKL_RESOURCE_CLASS_MAX] = '\0';
    options.resource_class = longest;
    EXPECT_INT(zkl_lock_open(desk->client, "a", &options, &lock), ZKL_OK);
    zkl_lock_close(lock);
    desk_close(desk);
}

TEST(option_is_0_or_1) {
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    zkl_client *client = NULL;
    options.metrics = 2;
    EXPECT_INT(zkl_client_open("h:1", &options, &client), ZKL_INVALID_ARGUMENT);
    EXPECT_TEXT(zkl_error_message(), "metrics 2: must be from 0 to 1");
}
