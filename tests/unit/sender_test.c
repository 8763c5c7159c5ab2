/*
 * The sender of a session, over scripted operations: whom it tells of a reply, and what it makes of
 * one that comes when the session that asked is over.
 */
#include "session/sender.h"

#include <string.h>

#include "support/fake_operations.h"
#include "support/unit.h"

static int64_t clock_of_machine_ms;
static int64_t wall_clock_of_machine_ms;

int64_t __wrap_zkl_clock_ms(void) {
    return clock_of_machine_ms;
}

/* The thread is stopped for so long before it reads it. */
static int64_t stopped_ms;

int64_t __wrap_zkl_wall_clock_ms(void) {
    clock_of_machine_ms += stopped_ms;
    wall_clock_of_machine_ms += stopped_ms;
    stopped_ms = 0;
    return wall_clock_of_machine_ms;
}

typedef struct desk {
    fake_operations fake;
    zkl_metrics metrics;
    zkl_sender sender;
    zkl_sent *under_way;
    bool forgets; /* what is under way, as soon as it is answered */
} desk;

static void on_answered(void *arg, const zkl_reply *reply, int64_t sent_ms, bool was_write) {
    desk *self = arg;
    fake_note(&self->fake, "answered %d after %d ms%s", (int)reply->outcome,
              (int)(self->fake.now_ms - sent_ms), was_write ? ", a write" : "");
    if (self->forgets) {
        zkl_sent_forget(&self->under_way);
    }
}

static void on_reply(void *arg, const zkl_reply *reply) {
    desk *self = arg;
    fake_note(&self->fake, "told %d of #%d", (int)reply->outcome, reply->tag);
}

static desk *open_desk(void) {
    static desk opened;
    memset(&opened, 0, sizeof(opened));
    clock_of_machine_ms = 0;
    wall_clock_of_machine_ms = 0;
    fake_begin(&opened.fake);
    opened.sender = (zkl_sender){ .operations = &opened.fake.operations,
                                  .metrics = &opened.metrics,
                                  .answered = on_answered,
                                  .arg = &opened };
    return &opened;
}

static zkl_outcome ask(desk *self, zkl_operation operation) {
    operation.path = "/r";
    return zkl_send(&self->sender, &operation, on_reply, self, NULL);
}

TEST(reply_is_told_to_the_session_first_and_then_to_who_asked) {
    desk *self = open_desk();
    ask(self, (zkl_operation){ .kind = ZKL_OPERATION_EXISTS, .tag = 7 });
    ask(self, (zkl_operation){ .kind = ZKL_OPERATION_DELETE, .tag = 8 });
    FAKE_HEARD(&self->fake, "exists /r; remove /r");
    self->fake.now_ms += 20;
    FAKE_ANSWER(&self->fake, "exists", .outcome = ZKL_OUTCOME_NO_NODE);
    FAKE_HEARD(&self->fake, "answered 1 after 20 ms; told 1 of #7");
    FAKE_ANSWER(&self->fake, "remove", .outcome = ZKL_OUTCOME_OK);
    FAKE_HEARD(&self->fake, "answered 0 after 20 ms, a write; told 0 of #8");
    EXPECT_INT(self->metrics.sent[ZKL_OPERATION_EXISTS], 1);
    EXPECT_INT(self->metrics.sent[ZKL_OPERATION_DELETE], 1);
    fake_end(&self->fake);
}

TEST(reply_to_an_earlier_session_says_that_it_is_over) {
    desk *self = open_desk();
    ask(self, (zkl_operation){ .kind = ZKL_OPERATION_DELETE, .tag = 7 });
    self->sender.session_number++;
    FAKE_HEARD(&self->fake, "remove /r");
    FAKE_ANSWER(&self->fake, "remove", .outcome = ZKL_OUTCOME_OK);
    FAKE_HEARD(&self->fake, "told 5 of #7");
    fake_end(&self->fake);
}

/* What was carried out is carried out: a transaction of the application is not undone with the
 * session. */
TEST(reply_to_what_outlives_its_session_counts_when_that_is_over) {
    desk *self = open_desk();
    ask(self, (zkl_operation){ .kind = ZKL_OPERATION_DELETE, .lasts = true, .tag = 7 });
    self->sender.session_number++;
    FAKE_HEARD(&self->fake, "remove /r");
    FAKE_ANSWER(&self->fake, "remove", .outcome = ZKL_OUTCOME_OK);
    FAKE_HEARD(&self->fake, "told 0 of #7"); /* and nothing to the next session */
    fake_end(&self->fake);
}

TEST(what_could_not_be_sent_is_neither_counted_nor_told) {
    desk *self = open_desk();
    self->fake.sends = ZKL_OUTCOME_NOT_NOW;
    EXPECT_INT(ask(self, (zkl_operation){ .kind = ZKL_OPERATION_DELETE }), ZKL_OUTCOME_NOT_NOW);
    FAKE_HEARD(&self->fake, "unsent remove /r");
    EXPECT_INT(self->metrics.sent[ZKL_OPERATION_DELETE], 0);
    fake_end(&self->fake);
}

TEST(reply_that_was_forgotten_is_told_to_the_session_alone) {
    desk *self = open_desk();
    zkl_sent *sent = NULL;
    const zkl_operation exists = { .kind = ZKL_OPERATION_EXISTS, .path = "/r" };
    EXPECT_INT(zkl_send(&self->sender, &exists, on_reply, self, &sent), ZKL_OUTCOME_OK);
    EXPECT(sent != NULL);
    zkl_sent_forget(&sent);
    EXPECT(sent == NULL);
    zkl_sent_forget(&sent);
    FAKE_HEARD(&self->fake, "exists /r");
    FAKE_ANSWER(&self->fake, "exists", .outcome = ZKL_OUTCOME_OK);
    FAKE_HEARD(&self->fake, "answered 0 after 0 ms");
    fake_end(&self->fake);
}

TEST(operation_is_under_way_until_its_reply) {
    desk *self = open_desk();
    zkl_sent *sent = NULL;
    const zkl_operation exists = { .kind = ZKL_OPERATION_EXISTS, .path = "/r" };
    EXPECT_INT(zkl_send(&self->sender, &exists, NULL, NULL, &sent), ZKL_OUTCOME_OK);
    EXPECT(sent != NULL);
    FAKE_HEARD(&self->fake, "exists /r");
    FAKE_ANSWER(&self->fake, "exists", .outcome = ZKL_OUTCOME_OK);
    EXPECT(sent == NULL);
    FAKE_HEARD(&self->fake, "answered 0 after 0 ms");
    fake_end(&self->fake);
}

TEST(asker_that_goes_while_its_reply_is_looked_at_is_not_told) {
    desk *self = open_desk();
    const zkl_operation exists = { .kind = ZKL_OPERATION_EXISTS, .path = "/r", .tag = 7 };
    self->forgets = true;
    zkl_send(&self->sender, &exists, on_reply, self, &self->under_way);
    FAKE_HEARD(&self->fake, "exists /r");
    FAKE_ANSWER(&self->fake, "exists", .outcome = ZKL_OUTCOME_OK);
    FAKE_HEARD(&self->fake, "answered 0 after 0 ms");
    EXPECT(self->under_way == NULL);
    fake_end(&self->fake);
}

/* ---- The time that has passed for the servers ------------------------------------------------ */

/* The clock goes on by so much, and the wall clock by so much. */
static int64_t pass(desk *self, int64_t clock_ms, int64_t wall_ms) {
    int64_t before_ms = zkl_sender_passed_ms(&self->sender);
    self->fake.now_ms += clock_ms;
    clock_of_machine_ms += clock_ms;
    wall_clock_of_machine_ms += wall_ms;
    return zkl_sender_passed_ms(&self->sender) - before_ms;
}

TEST(wall_clock_that_jumps_ahead_counts_as_time_that_has_passed) {
    desk *self = open_desk();
    EXPECT_INT(pass(self, 100, 100), 100);
    EXPECT_INT(pass(self, 0, 8000), 8000); /* the machine was stopped, and its clock with it */
    EXPECT_INT(pass(self, 100, 100), 100);
    EXPECT_INT(pass(self, 100, 5100), 5100);
}

TEST(wall_clock_that_is_set_back_or_read_a_little_later_changes_nothing) {
    desk *self = open_desk();
    EXPECT_INT(pass(self, 100, 100 - 60000), 100);
    EXPECT_INT(pass(self, 100, 103), 100);
    EXPECT_INT(pass(self, 100, 97), 100);
    EXPECT_INT(pass(self, 100, 103), 100);
}

TEST(thread_that_is_stopped_between_its_two_clocks_has_seen_no_jump) {
    desk *self = open_desk();
    EXPECT_INT(pass(self, 100, 100), 100);
    int64_t before_ms = zkl_sender_passed_ms(&self->sender);
    stopped_ms = 500;
    EXPECT_INT(zkl_sender_passed_ms(&self->sender) - before_ms, 0);
    EXPECT_INT(pass(self, 100, 100), 100);
}

TEST(wall_clock_that_is_fast_is_believed_in_the_long_run) {
    desk *self = open_desk();
    int64_t passed_ms = 0;
    for (int i = 0; i < 100; i++) {
        passed_ms += pass(self, 1000, 1001);
    }
    EXPECT_INT(passed_ms, 100100);
}

TEST(answer_is_as_old_as_the_wall_clock_says) {
    desk *self = open_desk();
    ask(self, (zkl_operation){ .kind = ZKL_OPERATION_EXISTS, .tag = 7 });
    wall_clock_of_machine_ms += 500; /* before what is sent next, and after this */
    ask(self, (zkl_operation){ .kind = ZKL_OPERATION_DELETE, .tag = 8 });
    FAKE_ANSWER(&self->fake, "exists", .outcome = ZKL_OUTCOME_OK);
    FAKE_ANSWER(&self->fake, "remove", .outcome = ZKL_OUTCOME_OK);
    FAKE_HEARD(&self->fake, "exists /r; remove /r; answered 0 after 0 ms; told 0 of #7; "
                            "answered 0 after -500 ms, a write; told 0 of #8");
}
