/*
 * The sender of a session, over scripted operations: whom it tells of a reply, and what it makes of
 * one that comes when the session that asked is over.
 */
#include "session/sender.h"

#include <string.h>

#include "support/fake_operations.h"
#include "support/unit.h"

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
    fake_begin(&opened.fake);
    opened.sender = (zkl_sender){ .operations = &opened.fake.operations,
                                  .metrics = &opened.metrics,
                                  .answered = on_answered,
                                  .arg = &opened };
    return &opened;
}

static zkl_outcome ask(desk *self, zkl_operation operation) {
    operation.path = "/r";
    return zkl_send(&self->sender, &operation, on_reply, self);
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
    EXPECT_INT(zkl_send_tracked(&self->sender, &exists, on_reply, self, &sent), ZKL_OUTCOME_OK);
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
    EXPECT_INT(zkl_send_tracked(&self->sender, &exists, NULL, NULL, &sent), ZKL_OUTCOME_OK);
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
    zkl_send_tracked(&self->sender, &exists, on_reply, self, &self->under_way);
    FAKE_HEARD(&self->fake, "exists /r");
    FAKE_ANSWER(&self->fake, "exists", .outcome = ZKL_OUTCOME_OK);
    FAKE_HEARD(&self->fake, "answered 0 after 0 ms");
    EXPECT(self->under_way == NULL);
    fake_end(&self->fake);
}
