/*
 * The lists of one session, over scripted operations (run_stage.h): at most one of a resource is
 * under way, and it serves those only who must see nothing in it that was sent later.
 */
#include "support/run_stage.h"

enum { MANY = 100 };

static lock_owner many[MANY];

static void start(run_stage *stage, lock_owner *owner) {
    EXPECT_INT(stage_start(stage, owner, "/r", ZKL_FOREVER), ZKL_OK);
}

static void create_of_the_last(run_stage *stage, int32_t sequence) {
    char rest[FAKE_NAME_SIZE];
    snprintf(rest, sizeof(rest), "lock-%010d", (int)sequence);
    stage_created(stage, stage->fake.guids, rest, 900);
}

/* A list of `count` requests, the first of them somebody else's, and then ours in their order. */
static void answer_list(run_stage *stage, size_t count) {
    const char *pointers[MANY + 1] = { "other-lock-0000000000" };
    for (size_t i = 1; i < count; i++) {
        pointers[i] = many[i - 1].runner->request.own.node;
    }
    FAKE_ANSWER(&stage->fake, "list", .children = { pointers, count });
}

static size_t lists_under_way(const run_stage *stage) {
    size_t lists = 0;
    for (size_t i = 0; i < stage->fake.call_count; i++) {
        lists += strncmp(stage->fake.calls[i].text, "list", 4) == 0 ? 1 : 0;
    }
    return lists;
}

static run_stage *open_many(void) {
    run_stage *stage = stage_open();
    for (size_t i = 0; i < MANY; i++) {
        many[i] = (lock_owner){ .stage = stage, .name = "", .verdict = 1 };
        start(stage, &many[i]);
        EXPECT_INT(lists_under_way(stage), 1);
        create_of_the_last(stage, (int32_t)i + 1);
    }
    stage_hush(stage);
    return stage;
}

static void close_many(run_stage *stage) {
    for (size_t i = 0; i < MANY; i++) {
        stage_feed(&many[i], ZKL_EVENT_CANCELLED);
    }
    while (stage->fake.call_count > 0) {
        fake_answer_all(&stage->fake, ZKL_OUTCOME_OK);
    }
    stage_hush(stage);
    stage_close(stage);
}

TEST(hundred_requests_for_one_resource_are_served_by_two_lists) {
    run_stage *stage = open_many();
    answer_list(stage, 2);
    EXPECT_INT(lists_under_way(stage), 1);
    answer_list(stage, MANY + 1);
    EXPECT_INT(lists_under_way(stage), 0);
    for (size_t i = 0; i < MANY; i++) {
        EXPECT_INT(many[i].runner->sender.position, i + 1);
        EXPECT_INT(many[i].runner->request.retry.rejoins, 0);
    }
    close_many(stage);
}

TEST(list_that_was_sent_before_a_create_does_not_serve_it) {
    run_stage *stage = stage_open();
    start(stage, &stage->a);
    create_of_the_last(stage, 3);
    start(stage, &stage->b);
    create_of_the_last(stage, 4);
    FAKE_HEARD(&stage->fake, "create /r/#1-lock-; list /r; create /r/#2-lock-");
    stage_listed_own(stage, 1, "lock-0000000003", NULL);
    FAKE_HEARD(&stage->fake, "decided 0; list /r");
    EXPECT_INT(stage->b.runner->request.retry.rejoins, 0);
    FAKE_ANSWER(&stage->fake, "list", .outcome = ZKL_OUTCOME_NOT_NOW);
    stage_feed(&stage->b, ZKL_EVENT_CANCELLED);
    stage_pass(stage, TIMEOUT_MS);
    stage_answer(stage, "remove", ZKL_OUTCOME_OK);
    stage_release(stage, &stage->a);
    stage_close(stage);
}

/* It might be sent on the next connection, before the write that it must come behind. */
TEST(list_that_is_lost_is_lost_for_all_who_wait_for_the_next_one) {
    run_stage *stage = stage_open();
    start(stage, &stage->a);
    start(stage, &stage->b);
    stage_tell(stage, ZKL_SESSION_STATE_CONNECTING);
    stage_hush(stage);
    fake_answer_all(&stage->fake, ZKL_OUTCOME_UNKNOWN);
    FAKE_HEARD(&stage->fake, "");
    stage_connect(stage, SESSION_ID);
    FAKE_HEARD(&stage->fake, "create /r/#1-lock-; list /r; create /r/#2-lock-");
    stage_feed(&stage->a, ZKL_EVENT_CANCELLED);
    stage_feed(&stage->b, ZKL_EVENT_CANCELLED);
    fake_answer_all(&stage->fake, ZKL_OUTCOME_NO_NODE);
    while (stage->fake.call_count > 0) {
        fake_answer_all(&stage->fake, ZKL_OUTCOME_NO_NODE);
    }
    EXPECT(stage->a.ended);
    EXPECT(stage->b.ended);
    stage_tell(stage, ZKL_SESSION_STATE_EXPIRED); /* they linger */
    stage_hush(stage);
    stage_close(stage);
}

/* The next one was asked for later: by then it may be served. */
TEST(list_that_is_turned_away_is_so_for_those_only_who_asked_before_it_was_sent) {
    run_stage *stage = stage_open();
    EXPECT_INT(stage_start(stage, &stage->a, "/r", 0), ZKL_OK);
    EXPECT_INT(stage_start(stage, &stage->b, "/r", 0), ZKL_OK);
    stage_hush(stage);
    FAKE_ANSWER(&stage->fake, "list", .outcome = ZKL_OUTCOME_REFUSED, .status = ZKL_NO_PERMISSION);
    FAKE_HEARD(&stage->fake, "decided -32; ended; list /r");
    stage_listed(stage, "x-lock-0000000002", NULL);
    FAKE_HEARD(&stage->fake, "b decided -1; b ended");
    stage_close(stage);
}

/* After a stop of the process a server that lags may still show a node whose session is over. */
TEST(waiter_that_was_stopped_is_not_granted_by_a_list_without_a_write_before_it) {
    run_stage *stage = stage_open_live(10000, 0, NULL);
    stage_connect(stage, SESSION_ID);
    stage_wait_behind(stage, &stage->a, "x-__WRIT__0000000002");
    FAKE_ANSWER(&stage->fake, "watch", .outcome = ZKL_OUTCOME_OK);
    uint64_t watch = stage->fake.last_watch_id;
    stage->fake.now_ms += 60000;
    EXPECT_INT(stage_start(stage, &stage->b, "/r", 0), ZKL_OK);
    EXPECT_INT(lists_under_way(stage), 1);
    zkl_session_on_watch_fired(&stage->session, watch, ZKL_WATCH_EVENT_DELETED);
    stage_hush(stage);
    stage_listed_own(stage, 1, "lock-0000000003", NULL);
    EXPECT_INT(stage->b.verdict, ZKL_BUSY);
    EXPECT_INT(stage->a.verdict, 1);
    EXPECT(strstr(stage->fake.heard, "check /locks; list /r") != NULL);
    stage_answer(stage, "check /locks", ZKL_OUTCOME_OK);
    stage_listed_own(stage, 1, "lock-0000000003", NULL);
    EXPECT_INT(stage->a.verdict, ZKL_OK);
    fake_answer_all(&stage->fake, ZKL_OUTCOME_OK);
    stage_release(stage, &stage->a);
    fake_answer_all(&stage->fake, ZKL_OUTCOME_OK);
    stage_hush(stage);
    stage_close(stage);
}

/* It asked before the stop, and its list is sent after it. */
TEST(waiter_that_was_stopped_behind_another_list_has_a_write_before_its_own) {
    run_stage *stage = stage_open_live(10000, 0, NULL);
    stage_connect(stage, SESSION_ID);
    start(stage, &stage->a);
    start(stage, &stage->b);
    stage_created(stage, 1, "lock-0000000003", 900);
    stage_created(stage, 2, "lock-0000000004", 901);
    stage->fake.now_ms += 60000;
    stage_hush(stage);
    stage_listed_own(stage, 1, "lock-0000000003", NULL);
    EXPECT_INT(stage->a.verdict, 1);
    EXPECT(strstr(stage->fake.heard, "check /locks; list /r") != NULL);
    stage_answer(stage, "check /locks", ZKL_OUTCOME_OK);
    char second[FAKE_NAME_SIZE];
    fake_name(second, 2, "lock-0000000004");
    stage_listed_own(stage, 1, "lock-0000000003", second);
    EXPECT_INT(stage->a.verdict, ZKL_OK);
    stage_feed(&stage->b, ZKL_EVENT_CANCELLED);
    stage_feed(&stage->a, ZKL_EVENT_RELEASED);
    while (stage->fake.call_count > 0) {
        fake_answer_all(&stage->fake, ZKL_OUTCOME_OK);
    }
    stage_hush(stage);
    stage_close(stage);
}

static void stop_for_long(void *arg) {
    run_stage *stage = arg;
    stage->fake.called = NULL;
    stage->fake.now_ms += 6500;
}

/* The process is stopped while it tells one of them, or tells very many. */
TEST(lease_that_ends_while_a_list_is_told_grants_nothing) {
    run_stage *stage = stage_open_live(10000, 1000, NULL);
    zkl_session_connecting(&stage->session);
    stage_connect(stage, SESSION_ID);
    stage->fake.now_ms += 3600;
    zkl_liveness_check_lease(&stage->session.liveness);
    EXPECT(stage->session.liveness.lease_ample);
    EXPECT_INT(stage_start(stage, &stage->b, "/r", 0), ZKL_OK);
    stage->b.verdict = 1;
    lock_owner c = { .stage = stage, .name = "c ", .verdict = 1 };
    start(stage, &stage->a);
    start(stage, &c);
    stage_listed(stage, "x-lock-0000000002", NULL); /* the try's */
    stage_created(stage, 2, "lock-0000000004", 900);
    stage_created(stage, 3, "lock-0000000003", 901);
    char second[FAKE_NAME_SIZE];
    fake_name(second, 2, "lock-0000000004");
    stage->fake.called = stop_for_long;
    stage->fake.called_arg = stage;
    stage_listed_own(stage, 3, "lock-0000000003", second);
    EXPECT_INT(c.verdict, 1);
    EXPECT_INT(zkl_liveness_lease_left(&stage->session.liveness), 0);
    stage_feed(&stage->a, ZKL_EVENT_CANCELLED);
    stage_feed(&c, ZKL_EVENT_CANCELLED);
    if (c.runner != NULL) {
        stage_feed(&c, ZKL_EVENT_RELEASED);
    }
    for (int i = 0; i < 20 && stage->fake.call_count > 0; i++) {
        fake_answer_all(&stage->fake, ZKL_OUTCOME_OK);
    }
    stage_hush(stage);
    stage_close(stage);
}
