/* What the state callback is told of a lock that is held, once and in order. */
#include "support/news_ear.h"

enum { TICK_MS = 2000, LEASE_MS = 10000 - 3333 - 10, PROBE_MS = 3333 };

/* ---- What is told ------------------------------------------------------------------------ */

TEST(connection_lost_and_back_is_suspect_and_held) {
    news_ear ear;
    lock_desk *desk = ear_hold(&ear);
    TOLD(desk, &ear, ""); /* the grant is the acquire's to tell */
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTING);
    TOLD(desk, &ear, "suspect 4711");
    EXPECT(ear.knows_size);
    EXPECT(ear.lock == desk->lock);
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTING); /* the next server does not answer either */
    TOLD(desk, &ear, "");
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTED);
    TOLD(desk, &ear, "held 4711");
    ear_close_desk(desk, &ear);
}

TEST(expiry_is_told_once_and_is_final) {
    news_ear ear;
    lock_desk *desk = ear_hold(&ear);
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTING);
    desk_expire(desk);
    TOLD(desk, &ear, "suspect 4711; lost 4711 ZKL_SESSION_EXPIRED");
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTED);
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTING);
    desk_expire(desk);
    TOLD(desk, &ear, "");
    EXPECT_INT(zkl_lock_release(desk->lock, 0), ZKL_LOST);
    TOLD(desk, &ear, "");
    ear_close_desk(desk, &ear);
}

static void answer_watch(lock_desk *desk, zkl_outcome outcome) {
    desk_enter(desk);
    FAKE_ANSWER(&desk->fake, "watch /app/locks/stock", .outcome = outcome);
    desk_leave(desk);
}

TEST(node_deleted_by_somebody_is_told) {
    news_ear ear;
    lock_desk *desk = ear_hold(&ear);
    desk_pass(desk, PROBE_MS);
    answer_watch(desk, ZKL_OUTCOME_OK);
    TOLD(desk, &ear, "");
    desk_enter(desk);
    zkl_session_on_watch_fired(&desk->client->sessions->session, desk->fake.last_watch_id,
                               ZKL_WATCH_EVENT_DELETED);
    desk_leave(desk);
    answer_watch(desk, ZKL_OUTCOME_NO_NODE);
    TOLD(desk, &ear, "lost 4711 ZKL_NODE_DELETED");
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTING);
    desk_expire(desk);
    TOLD(desk, &ear, "");
    ear_close_desk(desk, &ear);
}

TEST(disconnection_between_grant_and_return_is_told_after_it) {
    news_ear ear;
    lock_desk *desk = ear_open_desk(&ear, 0, 0);
    desk_begin(desk, desk_acquire, ZKL_FOREVER);
    desk_enter_at_calls(desk, 2);
    desk_grant(desk);
    zkl_session_on_news(&desk->client->sessions->session,
                        &(zkl_session_news){ .state = ZKL_SESSION_STATE_CONNECTING });
    desk_leave(desk);
    EXPECT_INT(desk_join(desk), ZKL_OK);
    TOLD(desk, &ear, "suspect 4711");
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_SUSPECT);
    desk_tell(desk, ZKL_SESSION_STATE_CONNECTED);
    TOLD(desk, &ear, "held 4711");
    ear_close_desk(desk, &ear);
}

/* ---- What is not told ------------------------------------------------------------------------ */

/* With the mutex held from the grant to the loss. */
TEST(loss_before_the_return_is_the_acquires_to_tell) {
    news_ear ear;
    lock_desk *desk = ear_open_desk(&ear, TICK_MS, 0);
    desk_begin(desk, desk_acquire, ZKL_FOREVER);
    desk_enter_at_calls(desk, 2);
    desk_grant(desk);
    desk->fake.now_ms += LEASE_MS;
    zkl_timers_fire_due(&desk->client->timers, desk->fake.now_ms);
    desk_leave(desk);
    EXPECT_INT(desk_join(desk), ZKL_LEASE_ENDED);
    TOLD(desk, &ear, "");
    ear_close_desk(desk, &ear);
}
