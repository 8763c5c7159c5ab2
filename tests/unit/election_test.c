/*
 * Leader election: terms grow, and each is told as begun and as lost once, in this order, whatever
 * it meets.
 */
#include <string.h>

#include "handle/lock.h"
#include "support/candidate.h"
#include "zklock/administration.h"

enum { LONG_MS = 60000 };

static candidate one, other;

static void begin(zkl_dispatch dispatch) {
    zkl_testing_begin(NULL);
    candidate_open(&one, "one", dispatch, false);
}

static void begin_leading(zkl_dispatch dispatch) {
    begin(dispatch);
    EXPECT_INT(candidate_campaign(&one, ZKL_FOREVER), ZKL_OK);
}

/* The other is a machine of its own, and campaigns. */
static zkl_testing_task *add_other(bool lease) {
    zkl_testing_process_enter(zkl_testing_process_make());
    candidate_open(&other, "other", ZKL_DISPATCH_THREAD, lease);
    zkl_testing_task *task = candidate_start(&other, ZKL_FOREVER);
    zkl_testing_process_enter(NULL);
    zkl_testing_sleep(CANDIDATE_SOON_MS);
    return task;
}

static void end(void) {
    candidate_close(&one);
    EXPECT_TEXT(one.heard, ""); /* nothing comes twice, or late */
    EXPECT_INT(zkl_testing_count_sessions(), 0);
    zkl_testing_end();
}

static void end_both(void) {
    candidate_close(&other);
    EXPECT_TEXT(other.heard, "");
    end();
}

/* ---- Terms -------------------------------------------------------------------------- */

static int64_t term_now(const zkl_lock *lock) {
    zkl_lock_information now = ZKL_LOCK_INFORMATION_INIT;
    EXPECT_INT(zkl_lock_info(lock, &now), ZKL_OK);
    return now.token;
}

TEST(candidate_leads_and_resigns) {
    int64_t left = 0;
    begin(ZKL_DISPATCH_THREAD);
    const zkl_lock *lock = zkl_election_lock(one.election);
    EXPECT_INT(zkl_lock_check(lock, &left), ZKL_NOT_HELD);
    EXPECT_INT(term_now(lock), 0);
    EXPECT_INT(left, -1);
    EXPECT_INT(zkl_election_resign(one.election, ZKL_FOREVER), ZKL_NOT_HELD);
    EXPECT_INT(candidate_campaign(&one, ZKL_FOREVER), ZKL_OK);
    EXPECT(one.term > 0);
    EXPECT_INT(zkl_lock_check(lock, &left), ZKL_OK);
    EXPECT_INT(term_now(lock), one.term);
    EXPECT_INT(zkl_election_campaign(one.election, 0, NULL), ZKL_ALREADY_HELD);
    EXPECT_INT(zkl_lock_verify(zkl_election_lock(one.election), ZKL_FOREVER), ZKL_OK);
    CANDIDATE_HEARD(&one, "elected ");
    EXPECT_INT(zkl_election_resign(one.election, ZKL_FOREVER), ZKL_OK);
    EXPECT_INT(zkl_testing_count_children(CANDIDATE_RESOURCE), 0);
    EXPECT_INT(candidate_check(&one), ZKL_NOT_HELD);
    EXPECT_INT(term_now(lock), 0);
    end();
}

/* By who finds it in the queue. */
TEST(deletion_by_hand_is_told_as_lost) {
    char node[ZKL_NODE_PATH_SIZE];
    begin_leading(ZKL_DISPATCH_THREAD);
    zkl_testing_sleep(CANDIDATE_TIMEOUT_MS); /* by then it watches its own node */
    zkl_request_runner_node_path(zkl_election_lock(one.election)->members[0].runner, node);
    EXPECT_INT(zkl_testing_delete_node(node), 1);
    zkl_testing_sleep(CANDIDATE_SOON_MS);
    CANDIDATE_HEARD(&one, "elected lost(-12) ");
    EXPECT_INT(candidate_check(&one), ZKL_LOST);
    end();
}

/* ---- Who knows first ------------------------------------------------------------------ */

static void look_at_the_other(candidate *self) {
    self->said = candidate_check(self->other);
}

static int what_the_first_says_when_the_next_is_elected(bool lease) {
    zkl_testing_begin(NULL);
    candidate_open(&one, "one", ZKL_DISPATCH_THREAD, lease);
    EXPECT_INT(candidate_campaign(&one, ZKL_FOREVER), ZKL_OK);
    zkl_testing_task *task = add_other(lease);
    zkl_testing_sleep(LONG_MS);
    other.react = look_at_the_other;
    other.other = &one;
    zkl_testing_disconnect(one.client, LONG_MS);
    zkl_testing_join(task);
    zkl_testing_sleep(LONG_MS);
    int said = other.said;
    CANDIDATE_HEARD(&other, "elected ");
    CANDIDATE_HEARD(&one, lease ? "elected lost(-10) " : "elected lost(-9) ");
    end_both();
    return said;
}

TEST(with_a_lease_the_loss_is_known_before_the_next_is_elected) {
    EXPECT_INT(what_the_first_says_when_the_next_is_elected(true), ZKL_LOST);
}

TEST(without_a_lease_the_next_can_be_elected_first) {
    EXPECT_INT(what_the_first_says_when_the_next_is_elected(false), ZKL_SUSPECT);
}

/* ---- Campaigns ------------------------------------------------------------------------ */

TEST(end_of_a_campaign_is_told_before_its_term) {
    begin(ZKL_DISPATCH_CALLER);
    candidate_begin(&one, ZKL_FOREVER);
    zkl_testing_sleep(CANDIDATE_SOON_MS);
    EXPECT_INT(candidate_check(&one), ZKL_NOT_HELD); /* nobody has been told */
    EXPECT_INT(candidate_dispatch(&one), 1);
    CANDIDATE_HEARD(&one, "campaign(0) ");
    EXPECT(one.term > 0);
    EXPECT_INT(candidate_check(&one), ZKL_OK);
    EXPECT_INT(candidate_dispatch(&one), 1);
    CANDIDATE_HEARD(&one, "elected ");
    end();
}

/* ---- Resignations that nobody waits for -------------------------------------------------- */

TEST(asynchronous_resignation_hands_over_and_is_told_once) {
    begin_leading(ZKL_DISPATCH_THREAD);
    zkl_testing_task *task = add_other(false);
    candidate_resign(&one, ZKL_FOREVER);
    EXPECT_INT(candidate_check(&one), ZKL_NOT_HELD); /* from the call on */
    zkl_testing_join(task);
    EXPECT_INT(other.status, ZKL_OK);
    zkl_testing_sleep(CANDIDATE_SOON_MS);
    CANDIDATE_HEARD(&one, "elected resigned(0) ");
    CANDIDATE_HEARD(&other, "elected ");
    end_both();
}

TEST(election_closed_in_its_resignation_is_told_pending) {
    begin_leading(ZKL_DISPATCH_CALLER);
    (void)candidate_dispatch(&one);
    candidate_resign(&one, ZKL_FOREVER);
    candidate_leave(&one);
    EXPECT_INT(candidate_dispatch(&one), 1);
    CANDIDATE_HEARD(&one, "elected resigned(-13) ");
    end();
}

/* ---- What is told late ------------------------------------------------------------------ */

/* A call that waits, of a client that is dispatched: its callbacks wait too. */
static void lead_untold(void) {
    begin(ZKL_DISPATCH_CALLER);
    zkl_testing_join(candidate_start(&one, ZKL_FOREVER));
    EXPECT_INT(one.status, ZKL_OK);
    EXPECT_TEXT(one.heard, "");
}

TEST(term_that_was_resigned_before_its_turn_is_never_told) {
    lead_untold();
    EXPECT_INT(zkl_election_resign(one.election, ZKL_FOREVER), ZKL_OK);
    (void)candidate_dispatch(&one);
    EXPECT_TEXT(one.heard, "");
    end();
}

TEST(term_that_was_lost_before_its_turn_is_told_as_begun_and_lost) {
    lead_untold();
    zkl_testing_expire_session(one.client);
    zkl_testing_sleep(CANDIDATE_SOON_MS);
    (void)candidate_dispatch(&one);
    CANDIDATE_HEARD(&one, "elected lost(-9) ");
    EXPECT_INT(one.lost_term, one.term);
    end();
}

TEST(term_that_was_lost_and_resigned_before_its_turn_is_never_told) {
    lead_untold();
    zkl_testing_expire_session(one.client);
    zkl_testing_sleep(CANDIDATE_SOON_MS);
    EXPECT_INT(zkl_election_resign(one.election, 0), ZKL_LOST);
    (void)candidate_dispatch(&one);
    EXPECT_TEXT(one.heard, "");
    end();
}

TEST(closed_election_tells_nothing) {
    lead_untold();
    candidate_leave(&one);
    (void)candidate_dispatch(&one);
    EXPECT_TEXT(one.heard, "");
    end();
}

TEST(closed_client_tells_no_term) {
    lead_untold();
    EXPECT_INT(zkl_client_close(one.client, CANDIDATE_TIMEOUT_MS), ZKL_OK);
    EXPECT_TEXT(one.heard, "");
    EXPECT_INT(candidate_check(&one), ZKL_CLOSED);
    EXPECT_INT(candidate_campaign(&one, 0), ZKL_CLOSED);
    candidate_leave(&one);
    EXPECT_INT(zkl_testing_count_sessions(), 0);
    zkl_testing_end();
}

/* ---- In callbacks ----------------------------------------------------------------------- */

TEST(close_in_the_callback_of_a_campaign_tells_no_term) {
    begin(ZKL_DISPATCH_THREAD);
    one.react = candidate_leave;
    candidate_begin(&one, ZKL_FOREVER);
    zkl_testing_sleep(CANDIDATE_SOON_MS);
    CANDIDATE_HEARD(&one, "campaign(0) ");
    EXPECT_INT(zkl_testing_count_children(CANDIDATE_RESOURCE), 0);
    end();
}

static void campaign_again_when_refused(candidate *self) {
    if (self->status != ZKL_OK) {
        EXPECT_INT(candidate_check(self), ZKL_NOT_HELD);
        candidate_begin(self, ZKL_FOREVER);
        self->status = ZKL_OK;
    }
}

static void end_the_session(void) {
    zkl_testing_expire_session(one.client);
}

static void delete_the_node(void) {
    zkl_queue *queue = NULL;
    EXPECT_INT(zkl_queue_describe(one.client, "service", CANDIDATE_TIMEOUT_MS, &queue), ZKL_OK);
    EXPECT_INT(
        zkl_node_break(one.client, "service", queue->contenders[0]->node, CANDIDATE_TIMEOUT_MS),
        ZKL_OK);
    zkl_report_free(queue);
}

/* Between the election and the callback that tells it. No resignation is needed, as no term was
 * told. */
static void lose_untold(void (*lose)(void), const char *heard) {
    begin(ZKL_DISPATCH_CALLER);
    one.react = campaign_again_when_refused;
    candidate_begin(&one, ZKL_FOREVER);
    zkl_testing_sleep(CANDIDATE_SOON_MS);
    lose();
    zkl_testing_sleep(CANDIDATE_TIMEOUT_MS); /* a node without a waiter behind it is probed */
    (void)candidate_dispatch(&one);
    zkl_testing_sleep(CANDIDATE_SOON_MS);
    (void)candidate_dispatch(&one);
    (void)candidate_dispatch(&one);
    CANDIDATE_HEARD(&one, heard);
    EXPECT_INT(candidate_check(&one), ZKL_OK);
    end();
}

TEST(campaign_that_lost_its_session_untold_begins_again_in_its_callback) {
    lose_untold(end_the_session, "campaign(-9) campaign(0) elected ");
}

TEST(campaign_that_lost_its_node_untold_begins_again_in_its_callback) {
    lose_untold(delete_the_node, "campaign(-12) campaign(0) elected ");
}

/* ---- Asked to resign -------------------------------------------------------------------- */

static void ask_to_resign(zkl_client *client) {
    zkl_queue *queue = NULL;
    EXPECT_INT(zkl_queue_describe(client, "service", CANDIDATE_TIMEOUT_MS, &queue), ZKL_OK);
    EXPECT_INT(zkl_node_revoke(client, "service", queue->contenders[0]->node, CANDIDATE_TIMEOUT_MS),
               ZKL_OK);
    zkl_report_free(queue);
    zkl_testing_sleep(CANDIDATE_TIMEOUT_MS);
}

static void resign(candidate *self) {
    if (strstr(self->heard, "asked") != NULL) {
        EXPECT_INT(zkl_election_resign(self->election, 0), ZKL_OK);
    }
}

TEST(leader_that_is_asked_to_resign_is_told_once_for_its_term) {
    begin_leading(ZKL_DISPATCH_THREAD);
    zkl_testing_sleep(CANDIDATE_SOON_MS);
    ask_to_resign(one.client);
    CANDIDATE_HEARD(&one, "elected asked ");
    EXPECT_INT(candidate_check(&one), ZKL_OK);
    ask_to_resign(one.client);
    EXPECT_TEXT(one.heard, "");
    end();
}

TEST(leader_resigns_when_it_is_asked_to) {
    begin_leading(ZKL_DISPATCH_THREAD);
    zkl_testing_task *next = add_other(false);
    one.react = resign;
    ask_to_resign(one.client);
    zkl_testing_join(next);
    CANDIDATE_HEARD(&one, "elected asked ");
    CANDIDATE_HEARD(&other, "elected ");
    candidate_close(&other);
    end();
}

/* The question waits for its callback when the leader resigns; what comes next is of the next term.
 */
TEST(leader_that_has_resigned_is_not_asked_to) {
    for (int campaigns_first = 0; campaigns_first <= 1; campaigns_first++) {
        begin_leading(ZKL_DISPATCH_CALLER);
        (void)candidate_dispatch(&one);
        CANDIDATE_HEARD(&one, "elected ");
        ask_to_resign(one.client);
        EXPECT_INT(zkl_election_resign(one.election, 0), ZKL_OK);
        if (campaigns_first) {
            EXPECT_INT(candidate_campaign(&one, LONG_MS), ZKL_OK);
        }
        (void)candidate_dispatch(&one);
        CANDIDATE_HEARD(&one, campaigns_first ? "elected " : "");
        end();
    }
}

/* ---- Input -------------------------------------------------------------------------------- */

static int open_with(zkl_client *client, const char *resource, const char *text) {
    zkl_election *election = NULL;
    zkl_election_options options = ZKL_ELECTION_OPTIONS_INIT;
    options.candidate = text;
    int status = zkl_election_open(client, resource, &options, &election);
    zkl_election_close(election);
    return status;
}

TEST(bad_input_is_named) {
    char text[ZKL_NOTE_MAX + 2];
    begin(ZKL_DISPATCH_THREAD);
    memset(text, 'x', sizeof(text));
    text[ZKL_NOTE_MAX] = '\0';
    EXPECT_INT(open_with(one.client, "service", text), ZKL_OK);
    text[ZKL_NOTE_MAX] = 'x';
    text[ZKL_NOTE_MAX + 1] = '\0';
    EXPECT_REFUSED(open_with(one.client, "service", text), "candidate");
    EXPECT_REFUSED(open_with(one.client, "service", "one\ntime=0"), "candidate");
    EXPECT_TEXT(zkl_error_message(), "candidate \"one?time=0\": must not have control characters");
    EXPECT_REFUSED(open_with(one.client, "", NULL), "must not be empty");
    EXPECT_INT(open_with(NULL, "service", NULL), ZKL_INVALID_ARGUMENT);
    zkl_election_options options = ZKL_ELECTION_OPTIONS_INIT;
    zkl_election *election = NULL;
    options.struct_size = 3;
    EXPECT_REFUSED(zkl_election_open(one.client, "service", &options, &election), "struct_size");
    EXPECT_INT(zkl_election_open(one.client, "service", NULL, NULL), ZKL_INVALID_ARGUMENT);
    EXPECT_INT(zkl_election_campaign(NULL, 0, NULL), ZKL_INVALID_ARGUMENT);
    EXPECT_REFUSED(zkl_election_campaign(one.election, -2, NULL), "timeout_ms");
    EXPECT_INT(zkl_election_campaign_async(one.election, 0, NULL, NULL), ZKL_INVALID_ARGUMENT);
    EXPECT_INT(zkl_election_resign(NULL, 0), ZKL_INVALID_ARGUMENT);
    EXPECT_INT(zkl_election_resign_async(NULL, 0, NULL, NULL), ZKL_INVALID_ARGUMENT);
    EXPECT_REFUSED(zkl_election_resign_async(one.election, -2, NULL, NULL), "timeout_ms");
    EXPECT(zkl_election_lock(NULL) == NULL);
    zkl_election_close(NULL);
    end();
}
