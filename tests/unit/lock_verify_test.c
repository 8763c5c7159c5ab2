/* What zkl_lock_verify makes of a reply that was lost, whenever its thread comes to hear of that;
 * and what a commit makes of one that was lost with its session. */
#include <sched.h>

#include "support/lock_desk.h"

static int verify(lock_desk *desk) {
    return zkl_lock_verify(desk->lock, desk->timeout_ms);
}

/* It is held, and asked about; with the mutex taken, so that the asking thread hears of nothing. */
static lock_desk *begin_verify(void) {
    lock_desk *desk = desk_open(NULL);
    desk_hold(desk);
    desk_forget_heard(desk);
    desk_begin(desk, verify, ZKL_FOREVER);
    desk_enter_at_calls(desk, 1);
    return desk;
}

static void tell(lock_desk *desk, zkl_session_state state) {
    zkl_session_on_news(&desk->client->sessions->session,
                        &(zkl_session_news){ .state = state,
                                             .session_id = DESK_SESSION_ID,
                                             .timeout_ms = DESK_SESSION_TIMEOUT_MS });
}

static bool is_over(lock_desk *desk) {
    pthread_mutex_lock(&desk->mutex);
    bool over = desk->task == NULL;
    pthread_mutex_unlock(&desk->mutex);
    return over;
}

/* True: it has asked again, and the mutex is taken. False: it has returned. */
static bool asks_again(lock_desk *desk) {
    while (!is_over(desk)) {
        desk_enter(desk);
        if (desk->fake.call_count > 0) {
            return true;
        }
        desk_leave(desk);
        sched_yield();
    }
    return false;
}

TEST(verify_that_hears_of_the_loss_after_the_reconnect_asks_again) {
    lock_desk *desk = begin_verify();
    tell(desk, ZKL_SESSION_STATE_CONNECTING);
    FAKE_ANSWER(&desk->fake, "check", .outcome = ZKL_OUTCOME_UNKNOWN);
    tell(desk, ZKL_SESSION_STATE_CONNECTED);
    fake_answer_all(&desk->fake, ZKL_OUTCOME_OK); /* the new connection's probe */
    desk_leave(desk);
    if (asks_again(desk)) {
        FAKE_ANSWER(&desk->fake, "check", .outcome = ZKL_OUTCOME_OK);
        desk_leave(desk);
    }
    EXPECT_INT(desk_join(desk), ZKL_OK);
    desk_close(desk);
}

/* An answer that says nothing, on a connection that goes on: it would say the same again. */
TEST(verify_that_is_not_answered_on_a_connection_that_stays_is_suspect) {
    lock_desk *desk = begin_verify();
    FAKE_ANSWER(&desk->fake, "check", .outcome = ZKL_OUTCOME_UNKNOWN);
    desk_leave(desk);
    EXPECT_INT(desk_join(desk), ZKL_SUSPECT);
    desk_close(desk);
}

static zkl_transaction *transaction;

static int commit(lock_desk *desk) {
    return zkl_transaction_commit(transaction, desk->timeout_ms, NULL);
}

/* libzookeeper gives no other answer when its handle is closed: the servers may have applied it. */
TEST(commit_whose_session_ends_before_the_reply_may_have_been_applied) {
    lock_desk *desk = desk_open(NULL);
    desk_hold(desk);
    EXPECT_INT(zkl_transaction_begin(desk->lock, &transaction), ZKL_OK);
    EXPECT_INT(zkl_transaction_set(transaction, "/stock", "6", 1, ZKL_ANY_VERSION), ZKL_OK);
    desk_begin(desk, commit, ZKL_FOREVER);
    desk_enter_at_calls(desk, 1);
    desk_leave(desk);
    desk_expire(desk);
    EXPECT_INT(desk_join(desk), ZKL_UNKNOWN);
    EXPECT_INT(zkl_lock_check(desk->lock, NULL), ZKL_LOST);
    EXPECT_REFUSED(desk_do(desk, commit, ZKL_FOREVER), "committed already");
    zkl_transaction_free(transaction);
    desk_close(desk);
}
