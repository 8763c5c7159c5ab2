/*
 * Bad input of the public functions on handles that exist: the status, the
 * whole message, and that nothing was done. (validation_test.c has the rules of
 * texts.)
 */
#include <stdio.h>
#include <string.h>

#include "handle/lock.h"
#include "support/lock_desk.h"
#include "zklock/striped_lock.h"
#include "zklock/zklock.h"

static void expect_refused(int actual, int status, const char *message, int line) {
    unit_expect_int(actual, status, "the status", __FILE__, line);
    unit_expect_text(zkl_error_message(), message, "the message", __FILE__, line);
}

#define REFUSED(call, status, message) expect_refused((call), (status), (message), __LINE__)

/* "zkl_thing: struct_size is 7, ..." */
static const char *size_message(size_t given, const char *name, size_t known) {
    static char message[160];
    snprintf(message, sizeof(message),
             "%s: struct_size is %zu, and this library knows %zu (use the _INIT macro)", name,
             given, known);
    return message;
}

static const size_t wrong_by[] = { (size_t)-1, 1, sizeof(size_t) };

/* ---- Clients ------------------------------------------------------------------ */

static int open_client(const zkl_client_options *options) {
    zkl_client *client = (zkl_client *)&client;
    int status = zkl_client_open("h:1", options, &client);
    EXPECT(client == NULL);
    return status;
}

TEST(numbers_of_client_options_have_their_ranges) {
    static const struct {
        int32_t session_timeout_ms, connect_timeout_ms, lease_tick_ms;
        const char *message;
    } rows[] = {
        { -1, 1, 0, "session_timeout_ms -1: must be from 100 to 3600000" },
        { 99, 1, 0, "session_timeout_ms 99: must be from 100 to 3600000" },
        { 3600001, 1, 0, "session_timeout_ms 3600001: must be from 100 to 3600000" },
        { 100, -1, 0, "connect_timeout_ms -1: must be from 1 to 2147483647" },
        { 100, INT32_MIN, 0, "connect_timeout_ms -2147483648: must be from 1 to 2147483647" },
        { 100, 1, -1, "lease_tick_ms -1: must be from 0 to 60000" },
        { 100, 1, 60001, "lease_tick_ms 60001: must be from 0 to 60000" },
        { 100, 1, INT32_MIN, "lease_tick_ms -2147483648: must be from 0 to 60000" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
        options.session_timeout_ms = rows[i].session_timeout_ms;
        options.connect_timeout_ms = rows[i].connect_timeout_ms;
        options.lease_tick_ms = rows[i].lease_tick_ms;
        REFUSED(open_client(&options), ZKL_INVALID_ARGUMENT, rows[i].message);
    }
}

TEST(edges_of_the_ranges_of_client_options_are_good) {
    /* The longest tick is a good one, but no session of the desk is long enough for it. */
    static const int32_t values[][4] = { { 100, 1, 0, ZKL_OK },
                                         { 3600000, INT32_MAX, 1, ZKL_OK },
                                         { 3600000, INT32_MAX, 60000, ZKL_LEASE_IMPOSSIBLE } };
    for (size_t i = 0; i < COUNT_OF(values); i++) {
        lock_desk *desk = desk_open(NULL); /* lends its sessions */
        zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
        zkl_client *client = NULL;
        options.session_timeout_ms = values[i][0];
        options.connect_timeout_ms = values[i][1];
        options.lease_tick_ms = values[i][2];
        EXPECT_INT(zkl_client_open("h:1", &options, &client), values[i][3]);
        EXPECT(strstr(zkl_error_message(), "with lease_tick_ms 60000") != NULL ||
               values[i][3] == ZKL_OK);
        EXPECT_INT(zkl_client_close(client, 0), ZKL_OK);
        desk_close(desk);
    }
}

/* A server that comes back may grant less than the one before. */
TEST(acquire_that_can_have_no_lease_says_why) {
    lock_desk *desk = desk_open_with(&(desk_options){ .lease_tick_ms = 2000 });
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTING);
    desk_enter(desk);
    zkl_session_on_news(&desk->client->sessions->session,
                        &(zkl_session_news){ .state = ZKL_SESSION_STATE_CONNECTED,
                                             .session_id = DESK_SESSION_ID,
                                             .timeout_ms = 4000 });
    desk_leave(desk);
    REFUSED(
        zkl_lock_acquire(desk->lock, ZKL_EXCLUSIVE, 0, NULL), ZKL_LEASE_IMPOSSIBLE,
        "session timeout \"4000 ms, with lease_tick_ms 2000\": a lease needs more than three and "
        "a half ticks, as granted by the servers");
    desk_close(desk);
}

TEST(level_of_the_log_is_one_of_four) {
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    options.log_level = (zkl_log_level)5;
    REFUSED(open_client(&options), ZKL_INVALID_ARGUMENT, "log_level 5: must be from 1 to 4");
}

TEST(options_of_one_resource_are_refused_for_a_set) {
    static const char message[] =
        "option \"permits or max_waiting\": is not for a set: each member has its permits";
    lock_desk *desk = desk_open(NULL);
    zkl_lock_member member = ZKL_LOCK_MEMBER_INIT;
    zkl_lock *set = NULL;
    member.resource = "stock";
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    options.permits = 2;
    REFUSED(zkl_lock_open_set(desk->client, &member, 1, &options, &set), ZKL_INVALID_ARGUMENT,
            message);
    options.permits = 0;
    options.max_waiting = 1;
    REFUSED(zkl_lock_open_set(desk->client, &member, 1, &options, &set), ZKL_INVALID_ARGUMENT,
            message);
    EXPECT(set == NULL);
    desk_close(desk);
}

TEST(null_pointers_for_a_client_are_named) {
    zkl_client *client = (zkl_client *)&client;
    REFUSED(zkl_client_open("h:1", NULL, NULL), ZKL_INVALID_ARGUMENT, "client: must not be NULL");
    REFUSED(zkl_client_open(NULL, NULL, &client), ZKL_INVALID_ARGUMENT, "hosts: must not be NULL");
    EXPECT(client == NULL);
    zkl_client_information information = ZKL_CLIENT_INFORMATION_INIT;
    REFUSED(zkl_client_info(NULL, &information), ZKL_INVALID_ARGUMENT, "client: must not be NULL");
    lock_desk *desk = desk_open(NULL);
    REFUSED(zkl_client_info(desk->client, NULL), ZKL_INVALID_ARGUMENT,
            "information: must not be NULL");
    desk_close(desk);
}

TEST(client_is_left_open_where_its_close_is_refused) {
    lock_desk *desk = desk_open(NULL);
    REFUSED(zkl_client_close(desk->client, -1), ZKL_INVALID_ARGUMENT,
            "timeout_ms -1: must be at least 0");
    desk_hold(desk);
    REFUSED(zkl_lock_check(desk->lock, NULL), ZKL_OK, "");
    desk_close(desk);
}

/* ---- Defaults --------------------------------------------------------------------- */

TEST(zero_is_the_default_of_each_option_of_a_client) {
    lock_desk *desk = desk_open(NULL); /* lends its sessions */
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    zkl_client *client = NULL;
    EXPECT_INT(options.session_timeout_ms, 0);
    EXPECT_INT(zkl_client_open("h:1", &options, &client), ZKL_OK);
    EXPECT_INT(client->options.session_timeout_ms, 10000);
    EXPECT_INT(client->options.connect_timeout_ms, 15000);
    EXPECT_INT(client->options.log_level, ZKL_LOG_INFO);
    EXPECT_INT(client->options.recorded_events, 1024);
    EXPECT(client->recorder != NULL);
    EXPECT_TEXT(client->lock_root, "/locks");
    EXPECT(client->security.node_acl == NULL);
    EXPECT_INT(zkl_client_close(client, 0), ZKL_OK);
    desk_close(desk);
}

/* ---- Sizes of structs ------------------------------------------------------------- */

TEST(size_of_groups_of_options_must_be_known) {
    lock_desk *desk = desk_open(NULL);
    for (size_t i = 0; i < COUNT_OF(wrong_by); i++) {
        zkl_client_options of_client = ZKL_CLIENT_OPTIONS_INIT;
        zkl_security security = ZKL_SECURITY_INIT;
        zkl_lock_options of_lock = ZKL_LOCK_OPTIONS_INIT;
        zkl_lending lending = ZKL_LENDING_INIT;
        zkl_lock *lock = NULL;
        of_client.security = &security;
        of_lock.lending = &lending;
        security.struct_size += wrong_by[i];
        lending.struct_size += wrong_by[i];
        REFUSED(open_client(&of_client), ZKL_INVALID_ARGUMENT,
                size_message(security.struct_size, "zkl_security", sizeof(security)));
        REFUSED(zkl_lock_open(desk->client, "stock", &of_lock, &lock), ZKL_INVALID_ARGUMENT,
                size_message(lending.struct_size, "zkl_lending", sizeof(lending)));
    }
    desk_close(desk);
}

TEST(groups_of_an_earlier_version_have_defaults_in_later_fields) {
    lock_desk *desk = desk_open(NULL); /* lends its sessions */
    zkl_client_options of_client = ZKL_CLIENT_OPTIONS_INIT;
    zkl_security security = ZKL_SECURITY_INIT;
    zkl_lock_options of_lock = ZKL_LOCK_OPTIONS_INIT;
    zkl_lending lending = ZKL_LENDING_INIT;
    zkl_client *client = NULL;
    zkl_lock *lock = NULL;
    of_client.security = &security;
    security.struct_size = offsetof(zkl_security, node_acl);
    security.node_acl = "no ACL";
    EXPECT_INT(zkl_client_open("h:1", &of_client, &client), ZKL_OK);
    of_lock.lending = &lending;
    lending.struct_size = offsetof(zkl_lending, hand_off_ms);
    lending.hand_offs = 1;
    lending.retain_ms = -1;
    EXPECT_INT(zkl_lock_open(client, "stock", &of_lock, &lock), ZKL_OK);
    zkl_lock_close(lock);
    EXPECT_INT(zkl_client_close(client, 0), ZKL_OK);
    desk_close(desk);
}

TEST(size_of_client_structs_must_be_known) {
    lock_desk *desk = desk_open(NULL);
    for (size_t i = 0; i < COUNT_OF(wrong_by); i++) {
        zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
        zkl_client_information information = ZKL_CLIENT_INFORMATION_INIT;
        options.struct_size += wrong_by[i];
        information.struct_size += wrong_by[i];
        REFUSED(open_client(&options), ZKL_INVALID_ARGUMENT,
                size_message(options.struct_size, "zkl_client_options", sizeof(options)));
        REFUSED(
            zkl_client_info(desk->client, &information), ZKL_INVALID_ARGUMENT,
            size_message(information.struct_size, "zkl_client_information", sizeof(information)));
        EXPECT_INT(information.sessions, 0); /* nothing was written */
    }
    desk_close(desk);
}

TEST(size_of_lock_structs_must_be_known) {
    lock_desk *desk = desk_open(NULL);
    for (size_t i = 0; i < COUNT_OF(wrong_by); i++) {
        zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
        zkl_lock_information information = ZKL_LOCK_INFORMATION_INIT;
        zkl_grant grant = ZKL_GRANT_INIT;
        zkl_lock *lock = desk->lock;
        options.struct_size += wrong_by[i];
        information.struct_size += wrong_by[i];
        grant.struct_size += wrong_by[i];
        information.token = 99;
        REFUSED(zkl_lock_open(desk->client, "stock", &options, &lock), ZKL_INVALID_ARGUMENT,
                size_message(options.struct_size, "zkl_lock_options", sizeof(options)));
        EXPECT(lock == NULL);
        REFUSED(zkl_lock_info(desk->lock, &information), ZKL_INVALID_ARGUMENT,
                size_message(information.struct_size, "zkl_lock_information", sizeof(information)));
        EXPECT_INT(information.token, 99);
        REFUSED(zkl_lock_acquire(desk->lock, ZKL_READ, 0, &grant), ZKL_INVALID_ARGUMENT,
                size_message(grant.struct_size, "zkl_grant", sizeof(grant)));
    }
    DESK_HEARD(desk, "");
    desk_close(desk);
}

/* A program that was built with a library of fewer fields: what lies behind its structs is not its
 * own. */

TEST(options_of_an_earlier_version_stand_for_the_defaults_in_later_fields) {
    lock_desk *desk = desk_open(NULL); /* lends its sessions */
    zkl_client_options of_client = ZKL_CLIENT_OPTIONS_INIT;
    zkl_lock_options of_lock = ZKL_LOCK_OPTIONS_INIT;
    zkl_client *client = NULL;
    zkl_lock *lock = NULL;
    of_client.struct_size = offsetof(zkl_client_options, lock_root);
    of_client.lock_root = "not a root";
    of_client.lease_tick_ms = -1;
    of_client.metrics = -1;
    EXPECT_INT(zkl_client_open("h:1", &of_client, &client), ZKL_OK);
    EXPECT_TEXT(client->lock_root, "/locks");
    of_client.session_timeout_ms = 1; /* is its own */
    REFUSED(open_client(&of_client), ZKL_INVALID_ARGUMENT,
            "session_timeout_ms 1: must be from 100 to 3600000");
    of_lock.struct_size = offsetof(zkl_lock_options, max_hold_ms);
    of_lock.max_hold_ms = -1;
    of_lock.permits = -1;
    EXPECT_INT(zkl_lock_open(client, "stock", &of_lock, &lock), ZKL_OK);
    zkl_lock_close(lock);
    EXPECT_INT(zkl_client_close(client, 0), ZKL_OK);
    desk_close(desk);
}

TEST(members_of_an_earlier_version_lie_closer_together) {
    static const struct {
        size_t struct_size;
        const char *resource;
    } earlier[] = { { sizeof(earlier[0]), "stock" }, { sizeof(earlier[0]), "orders" } };
    const zkl_lock_member *members = (const zkl_lock_member *)(const void *)earlier;
    lock_desk *desk = desk_open(NULL);
    zkl_lock *lock = NULL;
    EXPECT_INT(zkl_lock_open_set(desk->client, members, 2, NULL, &lock), ZKL_OK);
    EXPECT_TEXT(lock->members[0].resource, "stock");
    EXPECT_TEXT(lock->members[1].resource, "orders");
    EXPECT_INT(lock->members[1].mode, ZKL_EXCLUSIVE);
    zkl_lock_close(lock);
    desk_close(desk);
}

TEST(structs_of_an_earlier_version_are_filled_as_far_as_they_go) {
    lock_desk *desk = desk_open(NULL);
    zkl_client_information of_client = ZKL_CLIENT_INFORMATION_INIT;
    zkl_lock_information of_lock = ZKL_LOCK_INFORMATION_INIT;
    of_client.struct_size = offsetof(zkl_client_information, sessions_expired);
    of_client.sessions_expired = 99;
    of_client.sessions = 99;
    EXPECT_INT(zkl_client_info(desk->client, &of_client), ZKL_OK);
    EXPECT_INT(of_client.connected, 1);
    EXPECT_INT(of_client.session_id, DESK_SESSION_ID);
    EXPECT_INT(of_client.sessions_expired, 99);
    EXPECT_INT(of_client.sessions, 99);
    EXPECT_INT(of_client.struct_size, offsetof(zkl_client_information, sessions_expired));
    desk_hold(desk);
    of_lock.struct_size = offsetof(zkl_lock_information, held_ms);
    of_lock.held_ms = 99;
    of_lock.position = 99;
    EXPECT_INT(zkl_lock_info(desk->lock, &of_lock), ZKL_OK);
    EXPECT_INT(of_lock.state, ZKL_STATE_HELD);
    EXPECT_INT(of_lock.token, DESK_TOKEN);
    EXPECT_INT(of_lock.held_ms, 99);
    EXPECT_INT(of_lock.position, 99);
    desk_close(desk);
}

/* ---- Handles ------------------------------------------------------------------------ */

TEST(null_pointers_for_a_lock_are_named) {
    static const char message[] = "lock: must not be NULL";
    lock_desk *desk = desk_open(NULL);
    zkl_lock_information information = ZKL_LOCK_INFORMATION_INIT;
    zkl_lock *lock = desk->lock;
    int64_t left = -99;
    REFUSED(zkl_lock_open(desk->client, "stock", NULL, NULL), ZKL_INVALID_ARGUMENT, message);
    REFUSED(zkl_lock_open(NULL, "stock", NULL, &lock), ZKL_INVALID_ARGUMENT,
            "client: must not be NULL");
    EXPECT(lock == NULL);
    lock = desk->lock;
    REFUSED(zkl_lock_open(desk->client, NULL, NULL, &lock), ZKL_INVALID_ARGUMENT,
            "resource: must not be NULL");
    EXPECT(lock == NULL);
    REFUSED(zkl_lock_acquire(NULL, ZKL_READ, 0, NULL), ZKL_INVALID_ARGUMENT, message);
    REFUSED(zkl_lock_cancel(NULL), ZKL_INVALID_ARGUMENT, message);
    REFUSED(zkl_lock_check(NULL, &left), ZKL_INVALID_ARGUMENT, message);
    EXPECT_INT(left, 0);
    REFUSED(zkl_lock_info(NULL, &information), ZKL_INVALID_ARGUMENT, message);
    REFUSED(zkl_lock_info(desk->lock, NULL), ZKL_INVALID_ARGUMENT, "information: must not be NULL");
    REFUSED(zkl_lock_release(NULL, 0), ZKL_INVALID_ARGUMENT, message);
    zkl_lock_close(NULL);
    desk_close(desk);
}

TEST(scope_helpers_take_null) {
    ZKL_CLOSE_AT_SCOPE_END zkl_lock *closed = NULL;
    ZKL_RELEASE_AT_SCOPE_END zkl_lock *released = NULL;
    EXPECT(closed == released);
}

TEST(times_of_a_lock_have_their_ranges) {
    lock_desk *desk = desk_open(NULL);
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    zkl_lock *lock = desk->lock;
    options.max_hold_ms = -1;
    REFUSED(zkl_lock_open(desk->client, "stock", &options, &lock), ZKL_INVALID_ARGUMENT,
            "max_hold_ms -1: must be at least 0");
    EXPECT(lock == NULL);
    REFUSED(zkl_lock_acquire(desk->lock, ZKL_READ, -2, NULL), ZKL_INVALID_ARGUMENT,
            "timeout_ms -2: must be at least -1");
    REFUSED(zkl_lock_acquire(desk->lock, ZKL_READ, INT64_MIN, NULL), ZKL_INVALID_ARGUMENT,
            "timeout_ms -9223372036854775808: must be at least -1");
    desk_hold(desk);
    REFUSED(zkl_lock_release(desk->lock, -2), ZKL_INVALID_ARGUMENT,
            "timeout_ms -2: must be at least -1");
    REFUSED(zkl_lock_check(desk->lock, NULL), ZKL_OK, ""); /* still held */
    desk_close(desk);
}

static void on_news(void *arg, const zkl_lock_event *event) {
    (void)arg;
    (void)event;
}

TEST(who_is_to_be_told_of_contention_needs_a_callback) {
    lock_desk *desk = desk_open(NULL);
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    zkl_lock *lock = NULL;
    options.tell_contended = 1;
    REFUSED(zkl_lock_open(desk->client, "stock", &options, &lock), ZKL_INVALID_ARGUMENT,
            "tell_contended \"1\": needs a state_callback, which is told");
    options.state_callback = on_news;
    options.tell_contended = 2;
    REFUSED(zkl_lock_open(desk->client, "stock", &options, &lock), ZKL_INVALID_ARGUMENT,
            "tell_contended 2: must be from 0 to 1");
    options.tell_contended = 1;
    options.tell_granted = 2;
    REFUSED(zkl_lock_open(desk->client, "stock", &options, &lock), ZKL_INVALID_ARGUMENT,
            "tell_granted 2: must be from 0 to 1");
    options.tell_granted = 1;
    REFUSED(zkl_lock_open(desk->client, "stock", &options, &lock), ZKL_OK, "");
    zkl_lock_close(lock);
    desk_close(desk);
}

TEST(longest_times_are_good) {
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    options.max_hold_ms = INT64_MAX;
    lock_desk *desk = desk_open(&options);
    desk_begin(desk, desk_acquire, INT64_MAX);
    desk_enter_at_calls(desk, 2);
    desk_grant(desk);
    desk_leave(desk);
    EXPECT_INT(desk_join(desk), ZKL_OK);
    desk_pass(desk, 1000000);
    EXPECT(zkl_lock_check(desk->lock, NULL) != ZKL_LOST);
    desk_close(desk);
}

TEST(mode_is_one_of_three) {
    lock_desk *desk = desk_open(NULL);
    REFUSED(zkl_lock_acquire(desk->lock, (zkl_mode)4, 0, NULL), ZKL_INVALID_ARGUMENT,
            "mode 4: must be ZKL_EXCLUSIVE, ZKL_READ or ZKL_WRITE");
    REFUSED(zkl_lock_acquire(desk->lock, ZKL_AS_OPENED, 0, NULL), ZKL_INVALID_ARGUMENT,
            "mode 3: must be ZKL_EXCLUSIVE, ZKL_READ or ZKL_WRITE");
    REFUSED(zkl_lock_check(desk->lock, NULL), ZKL_NOT_HELD, "");
    DESK_HEARD(desk, "");
    desk_close(desk);
}

TEST(switches_of_a_lock_are_off_or_on) {
    lock_desk *desk = desk_open(NULL);
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    zkl_lock *lock = NULL;
    options.reentrant = 7;
    REFUSED(zkl_lock_open(desk->client, "stock", &options, &lock), ZKL_INVALID_ARGUMENT,
            "reentrant 7: must be from 0 to 1");
    options.reentrant = 1;
    options.fail_on_session_expiry = -1;
    REFUSED(zkl_lock_open(desk->client, "stock", &options, &lock), ZKL_INVALID_ARGUMENT,
            "fail_on_session_expiry -1: must be from 0 to 1");
    desk_close(desk);
}

/* ---- The message ------------------------------------------------------------------------- */

/* So that a function that closes at the end of its scope can tell why it failed. */
TEST(close_leaves_the_message_alone) {
    lock_desk *desk = desk_open(NULL);
    zkl_lock *opened = NULL;
    EXPECT_INT(zkl_lock_open(desk->client, "other", NULL, &opened), ZKL_OK);
    REFUSED(zkl_lock_acquire(opened, ZKL_READ, -2, NULL), ZKL_INVALID_ARGUMENT,
            "timeout_ms -2: must be at least -1");
    zkl_lock_close(opened);
    EXPECT_TEXT(zkl_error_message(), "timeout_ms -2: must be at least -1");
    desk_close(desk);
}
