/*
 * The sessions of one client: which of them a request goes to, when another is
 * opened, and when there is no room left. The desk's stand-in for the service
 * adds sessions that are not connected.
 */
#include <string.h>

#include "client/client.h"
#include "session/request_runner.h"
#include "support/lock_desk.h"

/* A session is nearly full when less than a quarter is left; see client.c. */
enum { FULL = 512 * 1024, THREE_QUARTERS = FULL / 4 * 3 };

static const char path[] = "/app/locks/stock";

static size_t session_count(const lock_desk *desk) {
    size_t count = 0;
    for (const zkl_client_session *one = desk->client->sessions; one != NULL; one = one->next) {
        count++;
    }
    return count;
}

static zkl_client_session *nth_session(lock_desk *desk, size_t n) {
    zkl_client_session *one = desk->client->sessions;
    for (size_t i = 0; i < n && one != NULL; i++) {
        one = one->next;
    }
    return one;
}

/* The place of the session that is chosen, or the status. */
static int choose(lock_desk *desk) {
    zkl_session *chosen = NULL;
    desk_enter(desk);
    int status = zkl_client_choose_session(
        desk->client, zkl_request_runner_watched_bytes(path, 0, false), &chosen);
    int place = 0;
    for (const zkl_client_session *one = desk->client->sessions;
         one != NULL && &one->session != chosen; one = one->next) {
        place++;
    }
    desk_leave(desk);
    return status != ZKL_OK ? status : place;
}

static void fill(lock_desk *desk, size_t session, size_t bytes) {
    nth_session(desk, session)->session.watched_bytes = bytes;
}

/* As if nobody had ever filled them, or requests would be missed at the end. */
static void empty_all(lock_desk *desk) {
    for (zkl_client_session *one = desk->client->sessions; one != NULL; one = one->next) {
        one->session.watched_bytes = 0;
    }
}

static void close_emptied(lock_desk *desk) {
    empty_all(desk);
    desk_close(desk);
}

/* ---- Which session ----------------------------------------------------------------- */

TEST(one_session_serves_until_three_quarters_are_taken) {
    lock_desk *desk = desk_open(NULL);
    EXPECT_INT(choose(desk), 0);
    fill(desk, 0, THREE_QUARTERS);
    EXPECT_INT(choose(desk), 0);
    EXPECT_INT(session_count(desk), 1);
    close_emptied(desk);
}

TEST(next_session_is_opened_ahead_once_and_used_when_the_first_is_full) {
    lock_desk *desk = desk_open(NULL);
    fill(desk, 0, THREE_QUARTERS + 1);
    EXPECT_INT(choose(desk), 0);
    EXPECT_INT(session_count(desk), 2);
    EXPECT_INT(choose(desk), 0);
    EXPECT_INT(session_count(desk), 2);
    fill(desk, 0, FULL - zkl_request_runner_watched_bytes(path, 0, false)); /* room for just one */
    EXPECT_INT(choose(desk), 0);
    fill(desk, 0, FULL - zkl_request_runner_watched_bytes(path, 0, false) + 1);
    EXPECT_INT(choose(desk), 1);
    EXPECT_INT(session_count(desk), 2);
    fill(desk, 0, 0);
    EXPECT_INT(choose(desk), 0); /* the first has room again */
    close_emptied(desk);
}

static void tell(lock_desk *desk, size_t session, zkl_session_state state) {
    desk_enter(desk);
    zkl_session_on_news(&nth_session(desk, session)->session,
                        &(zkl_session_news){ .state = state,
                                             .session_id = DESK_SESSION_ID + (int64_t)session,
                                             .timeout_ms = DESK_SESSION_TIMEOUT_MS });
    desk_leave(desk);
}

static void connect_second(lock_desk *desk) {
    desk_enter(desk);
    zkl_session_connecting(&nth_session(desk, 1)->session);
    desk_leave(desk);
    tell(desk, 1, ZKL_SESSION_STATE_CONNECTED);
}

TEST(session_that_is_connected_is_used_before_one_that_is_not) {
    lock_desk *desk = desk_open(NULL);
    fill(desk, 0, FULL);
    EXPECT_INT(choose(desk), 1);
    connect_second(desk);
    empty_all(desk);
    EXPECT_INT(choose(desk), 0);
    tell(desk, 0, ZKL_SESSION_STATE_CONNECTING);
    EXPECT_INT(choose(desk), 1);
    tell(desk, 1, ZKL_SESSION_STATE_CONNECTING);
    EXPECT_INT(choose(desk), 0);
    close_emptied(desk);
}

/* ---- No room left -------------------------------------------------------------------- */

static void fill_to_the_last_session(lock_desk *desk) {
    for (size_t i = 0; i < ZKL_SESSIONS_MAX; i++) {
        EXPECT_INT(choose(desk), i);
        fill(desk, i, FULL);
    }
}

TEST(sixteen_sessions_and_no_more) {
    lock_desk *desk = desk_open(NULL);
    fill_to_the_last_session(desk);
    EXPECT_INT(session_count(desk), 16);
    EXPECT_INT(choose(desk), ZKL_TOO_MANY_REQUESTS);
    EXPECT_INT(session_count(desk), 16);
    fill(desk, 15, THREE_QUARTERS + 1); /* the last goes on where no other can be opened */
    EXPECT_INT(choose(desk), 15);
    EXPECT_INT(session_count(desk), 16);
    close_emptied(desk);
}

TEST(request_that_no_session_has_room_for_opens_none) {
    lock_desk *desk = desk_open(NULL);
    zkl_session *chosen = NULL;
    desk_enter(desk);
    EXPECT_REFUSED(zkl_client_choose_session(desk->client, FULL + 1, &chosen), "watch");
    EXPECT_INT(zkl_client_choose_session(desk->client, FULL, &chosen), ZKL_OK);
    desk_leave(desk);
    EXPECT_INT(session_count(desk), 1);
    close_emptied(desk);
}

TEST(acquire_without_room_leaves_the_handle_idle) {
    lock_desk *desk = desk_open(NULL);
    fill_to_the_last_session(desk);
    EXPECT_INT(zkl_lock_acquire(desk->lock, ZKL_EXCLUSIVE, ZKL_FOREVER, NULL),
               ZKL_TOO_MANY_REQUESTS);
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_NOT_HELD);
    DESK_HEARD(desk, "");
    empty_all(desk);
    desk_hold(desk);
    desk_close(desk);
}

/* ---- A lock of another session than the first ----------------------------------------------- */

/* Its session is that much younger than the first. */
static lock_desk *hold_in_the_second_session(int32_t lease_tick_ms, int64_t younger_ms) {
    lock_desk *desk = desk_open_with(&(desk_options){ .lease_tick_ms = lease_tick_ms });
    fill(desk, 0, FULL);
    EXPECT_INT(choose(desk), 1);
    desk_stand_still(desk, younger_ms);
    connect_second(desk);
    desk_hold(desk);
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_OK);
    return desk;
}

TEST(lock_is_suspect_by_the_connection_of_its_own_session) {
    lock_desk *desk = hold_in_the_second_session(0, 0);
    tell(desk, 0, ZKL_SESSION_STATE_CONNECTING);
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_OK);
    tell(desk, 0, ZKL_SESSION_STATE_CONNECTED);
    tell(desk, 1, ZKL_SESSION_STATE_CONNECTING);
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_SUSPECT);
    close_emptied(desk);
}

/* The first session has just been heard of. */
TEST(lock_is_suspect_by_the_silence_of_its_own_session) {
    lock_desk *desk = hold_in_the_second_session(0, 0);
    desk_stand_still(desk, DESK_SESSION_TIMEOUT_MS);
    tell(desk, 0, ZKL_SESSION_STATE_CONNECTING);
    tell(desk, 0, ZKL_SESSION_STATE_CONNECTED);
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_SUSPECT);
    close_emptied(desk);
}

TEST(lock_has_the_lease_of_its_own_session) {
    enum { TICK_MS = 500, YOUNGER_MS = 1000 };
    lock_desk *desk = hold_in_the_second_session(TICK_MS, YOUNGER_MS);
    int64_t of_first = 0;
    int64_t of_lock = 0;
    desk_enter(desk);
    of_first = zkl_liveness_lease_left(&desk->client->sessions->session.liveness);
    desk_leave(desk);
    EXPECT_INT(zkl_lock_check(desk->lock, &of_lock), ZKL_OK);
    EXPECT_INT(of_lock, of_first + YOUNGER_MS);
    close_emptied(desk);
}
