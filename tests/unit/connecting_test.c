/*
 * What a session does to be connected: by examples, news by news, and in a walk through every state
 * that can be reached. In the walk
 *     a client that closes ends its thread with the result of its task, and nothing begins anew;
 *     a session is opened only where there is none, or one that shows the wrong credentials;
 *     news of a connection are passed on only once its server has caught up;
 *     a wait is ended as soon as something else is to be done, and once;
 *     what has failed is tried again after a pause only, and no tasks follow each other for ever;
 *     wherever the servers answer again, the session comes to be connected.
 */
#include "recipe/connecting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "connection/addresses.h"
#include "support/unit.h"

#define NAME(name) #name,
static const char *const actions_names[] = { ZKL_CONNECTING_TASK_LIST(NAME)
                                                 ZKL_CONNECTING_ORDER_LIST(NAME) };
static const char *const stage_names[] = { ZKL_CONNECTING_STAGE_LIST(NAME) };
enum {
    NEWS = ZKL_CONNECTING_EVENT_CLOSING + 1,
    STAGES = ZKL_CONNECTING_STAGE_CLOSED + 1,
};

/* ---- Examples ------------------------------------------------------------------------------- */

static zkl_connecting machine;
static char done[128];

static void write_actions(const zkl_connecting_actions *actions) {
    done[0] = '\0';
    for (size_t i = 0; i < actions->count; i++) {
        size_t length = strlen(done);
        snprintf(done + length, sizeof(done) - length, "%s%s", i == 0 ? "" : " ",
                 actions_names[actions->list[i]]);
    }
}

static void step(zkl_connecting_event event) {
    zkl_connecting_actions actions;
    zkl_connecting_step(&machine, &event, &actions);
    write_actions(&actions);
}

#define TELLS(event_kind, expected)                                                                \
    do {                                                                                           \
        step((zkl_connecting_event){ .kind = ZKL_CONNECTING_EVENT_##event_kind });                 \
        EXPECT_TEXT(done, (expected));                                                             \
    } while (0)

#define TELLS_THAT(event_kind, what, expected)                                                     \
    do {                                                                                           \
        step((zkl_connecting_event){ .kind = ZKL_CONNECTING_EVENT_##event_kind, .what = true });   \
        EXPECT_TEXT(done, (expected));                                                             \
    } while (0)

static void begin(void) {
    machine = zkl_connecting_begin(false);
    TELLS(WOKEN, "OPEN");
    TELLS(DONE, "WAIT_FOR_SERVER");
}

static void begin_connected(void) {
    begin();
    TELLS(CONNECTED, "PASS_ON WAKE");
    TELLS(WOKEN, "WAIT_TO_LOOK_UP");
}

TEST(session_is_opened_connected_and_looked_after) {
    begin_connected();
    TELLS(DONE, "LOOK_UP");
    TELLS(DONE, "WAIT_TO_LOOK_UP");
    TELLS(CLOSING, "WAKE");
    TELLS(WOKEN, "END");
}

TEST(session_that_cannot_be_opened_is_tried_again_after_a_pause) {
    machine = zkl_connecting_begin(false);
    TELLS(WOKEN, "OPEN");
    TELLS(FAILED, "WAIT_TO_TRY_AGAIN");
    TELLS(SERVERS_CHANGED, "");
    TELLS(DONE, "OPEN");
    TELLS(DONE, "LOOK_UP_NEW_SERVERS");
}

TEST(session_that_expires_before_its_opening_has_returned_is_opened_again) {
    machine = zkl_connecting_begin(false);
    TELLS(WOKEN, "OPEN");
    TELLS(CONNECTED, "PASS_ON");
    TELLS(EXPIRED, "PASS_ON");
    TELLS(DONE, "OPEN");
}

TEST(expiry_opens_the_next_session) {
    begin_connected();
    TELLS(EXPIRED, "PASS_ON WAKE");
    TELLS(CONNECTED, "");
    TELLS(WOKEN, "OPEN");
    TELLS(DONE, "WAIT_FOR_SERVER");
    EXPECT(!machine.established);
}

TEST(abandoned_session_is_followed_by_another) {
    begin_connected();
    TELLS(ABANDONED, "WAKE");
    TELLS(WOKEN, "OPEN");
}

TEST(silent_servers_are_left_one_after_the_other_until_all_are_tried_again) {
    begin();
    TELLS(DONE, "LEAVE_SILENT_SERVER");
    TELLS(DONE, "LOOK_UP_IF_DUE");
    TELLS(DONE, "WAIT_FOR_SERVER");
    EXPECT_INT(machine.waits, 1);
    TELLS(DONE, "LEAVE_SILENT_SERVER");
    TELLS(FAILED, "GIVE_SERVERS");
    TELLS(DONE, "LOOK_UP_IF_DUE");
    TELLS(FAILED, "WAIT_FOR_SERVER");
    TELLS(DONE, "LEAVE_SILENT_SERVER");
    TELLS(FAILED, "LOOK_UP_IF_DUE"); /* it has all */
}

/* Each server answers "has seen zxid ..., our last zxid is ..., must try another server", by
 * closing the connection, for as long as the session is sought with a handle that has seen more. */
TEST(session_that_all_servers_turn_away_is_sought_with_another_handle) {
    begin_connected();
    TELLS(DISCONNECTED, "PASS_ON WAKE");
    TELLS(WOKEN, "WAIT_FOR_SERVER");
    TELLS(DONE, "LEAVE_SILENT_SERVER");
    TELLS(FAILED, "LOOK_UP_IF_DUE"); /* its time is not over */
    TELLS(DONE, "WAIT_FOR_SERVER");
    TELLS(DONE, "LEAVE_SILENT_SERVER");
    TELLS_THAT(DONE, overdue, "LOOK_UP_IF_DUE"); /* others are left to be tried */
    TELLS_THAT(DONE, overdue, "WAIT_FOR_SERVER");
    TELLS_THAT(DONE, overdue, "LEAVE_SILENT_SERVER");
    TELLS_THAT(FAILED, overdue, "CHECK_CREDENTIALS");
    TELLS_THAT(DONE, overdue, "RENEW");
    TELLS_THAT(DISCONNECTED, renewed, "PASS_ON");
    TELLS_THAT(DONE, overdue, "WAIT_FOR_SERVER");
    TELLS(CONNECTED, "CATCH_UP");
}

TEST(handle_that_has_seen_no_server_is_turned_away_by_none) {
    begin_connected();
    TELLS_THAT(DISCONNECTED, renewed, "PASS_ON WAKE");
    TELLS(WOKEN, "WAIT_FOR_SERVER");
    TELLS_THAT(DONE, overdue, "LEAVE_SILENT_SERVER");
    TELLS_THAT(FAILED, overdue, "LOOK_UP_IF_DUE");
    TELLS_THAT(DONE, overdue, "WAIT_FOR_SERVER");
    TELLS(CONNECTED, "CATCH_UP"); /* it sees one, which is lost before it has caught up */
    TELLS(DISCONNECTED, "PASS_ON");
    TELLS_THAT(DONE, overdue, "LEAVE_SILENT_SERVER");
    TELLS_THAT(FAILED, overdue, "CHECK_CREDENTIALS");
}

TEST(session_that_is_turned_away_and_would_be_refused_keeps_its_handle) {
    begin_connected();
    TELLS(DISCONNECTED, "PASS_ON WAKE");
    TELLS(WOKEN, "WAIT_FOR_SERVER");
    TELLS(DONE, "LEAVE_SILENT_SERVER");
    TELLS(DONE, "LOOK_UP_IF_DUE");
    TELLS(DONE, "WAIT_FOR_SERVER");
    TELLS_THAT(DONE, overdue, "LEAVE_SILENT_SERVER");
    TELLS_THAT(FAILED, overdue, "CHECK_CREDENTIALS");
    TELLS_THAT(FAILED, overdue, "GIVE_SERVERS");
}

TEST(handle_that_finds_a_server_before_it_is_given_up_is_kept) {
    begin_connected();
    TELLS(DISCONNECTED, "PASS_ON WAKE");
    TELLS(WOKEN, "WAIT_FOR_SERVER");
    TELLS(DONE, "LEAVE_SILENT_SERVER");
    TELLS_THAT(FAILED, overdue, "CHECK_CREDENTIALS");
    TELLS(CONNECTED, "PASS_ON");
    TELLS_THAT(DONE, overdue, "WAIT_TO_LOOK_UP");
}

TEST(servers_that_have_moved_are_given_while_none_answers) {
    begin();
    TELLS(DONE, "LEAVE_SILENT_SERVER");
    TELLS(FAILED, "LOOK_UP_IF_DUE");
    TELLS_THAT(DONE, moved, "GIVE_SERVERS");
    TELLS(DONE, "LOOK_UP_IF_DUE");
    TELLS(DONE, "WAIT_FOR_SERVER");
}

TEST(servers_that_have_moved_while_connected_are_given_after_the_connection) {
    begin_connected();
    TELLS(DONE, "LOOK_UP");
    TELLS_THAT(DONE, moved, "WAIT_TO_LOOK_UP");
    TELLS(DISCONNECTED, "PASS_ON WAKE");
    TELLS(WOKEN, "GIVE_SERVERS");
    TELLS(DONE, "WAIT_FOR_SERVER");
}

TEST(connection_that_comes_about_while_addresses_are_looked_up_keeps_its_own) {
    begin();
    TELLS(DONE, "LEAVE_SILENT_SERVER");
    TELLS(FAILED, "LOOK_UP_IF_DUE");
    TELLS(CONNECTED, "PASS_ON");
    TELLS_THAT(DONE, moved, "WAIT_TO_LOOK_UP");
}

TEST(patience_begins_anew_with_each_connection) {
    begin();
    TELLS(DONE, "LEAVE_SILENT_SERVER");
    TELLS(DONE, "LOOK_UP_IF_DUE");
    TELLS(DONE, "WAIT_FOR_SERVER");
    TELLS(CONNECTED, "PASS_ON WAKE");
    TELLS(DISCONNECTED, "PASS_ON");
    EXPECT_INT(machine.waits, 0);
    TELLS(WOKEN, "GIVE_SERVERS");
}

TEST(new_servers_are_looked_up_and_given_at_once) {
    begin_connected();
    TELLS(SERVERS_CHANGED, "WAKE");
    TELLS(WOKEN, "LOOK_UP_NEW_SERVERS");
    TELLS(FAILED, "WAIT_TO_TRY_AGAIN");
    TELLS(DONE, "LOOK_UP_NEW_SERVERS");
    TELLS_THAT(DONE, moved, "GIVE_SERVERS");
    TELLS(DONE, "WAIT_TO_LOOK_UP");
}

TEST(new_servers_that_are_the_old_ones_are_not_given) {
    begin_connected();
    TELLS(SERVERS_CHANGED, "WAKE");
    TELLS(WOKEN, "LOOK_UP_NEW_SERVERS");
    TELLS(DONE, "WAIT_TO_LOOK_UP");
}

TEST(new_handle_waits_until_its_server_has_caught_up) {
    begin_connected();
    TELLS_THAT(DISCONNECTED, renewed, "PASS_ON WAKE");
    TELLS(WOKEN, "WAIT_FOR_SERVER");
    TELLS(CONNECTED, "CATCH_UP");
    TELLS(DONE, "CATCH_UP LEAVE_SILENT_SERVER");
    TELLS(CAUGHT_UP, "PASS_ON");
    TELLS(FAILED, "LOOK_UP_IF_DUE");
    TELLS(DONE, "WAIT_TO_LOOK_UP");
    TELLS(CAUGHT_UP, "");
}

TEST(server_that_is_lost_before_it_has_caught_up_is_not_believed) {
    begin_connected();
    TELLS_THAT(CONNECTED, renewed, "CATCH_UP WAKE");
    TELLS(WOKEN, "WAIT_FOR_SERVER");
    TELLS(DISCONNECTED, "PASS_ON");
    TELLS(CAUGHT_UP, "");
    TELLS(CONNECTED, "CATCH_UP");
    TELLS(CAUGHT_UP, "PASS_ON WAKE");
}

TEST(new_session_need_not_catch_up) {
    begin();
    TELLS_THAT(CONNECTED, renewed, "PASS_ON WAKE");
}

TEST(credentials_are_shown_one_after_the_other) {
    begin();
    TELLS(CREDENTIAL_AWAITED, "WAKE");
    TELLS(WOKEN, "INTRODUCE");
    TELLS(DONE, "WAIT_FOR_CREDENTIAL");
    TELLS(CREDENTIAL_AWAITED, "WAKE");
    TELLS(WOKEN, "INTRODUCE");
    TELLS(FAILED, "WAIT_TO_TRY_AGAIN");
    TELLS(DONE, "INTRODUCE");
    TELLS(CONNECTED, "PASS_ON");
    TELLS(DONE, "WAIT_TO_LOOK_UP");
}

TEST(credential_that_nobody_answers_ends_a_session_that_was_never_connected) {
    begin();
    TELLS(CREDENTIAL_AWAITED, "WAKE");
    TELLS(WOKEN, "INTRODUCE");
    TELLS(DONE, "WAIT_FOR_CREDENTIAL");
    TELLS(DONE, "OPEN");
}

TEST(established_session_that_shows_credentials_is_patient_as_with_any_server) {
    begin_connected();
    TELLS(DISCONNECTED, "PASS_ON WAKE");
    TELLS(CREDENTIAL_AWAITED, "");
    TELLS(WOKEN, "INTRODUCE");
    TELLS(DONE, "WAIT_FOR_SERVER");
}

TEST(new_credentials_are_shown_by_another_handle) {
    begin_connected();
    TELLS(CREDENTIALS_CHANGED, "WAKE");
    TELLS(WOKEN, "CHECK_NEW_CREDENTIALS");
    TELLS(CREDENTIALS_CHANGED, "");
    TELLS(DONE, "RENEW");
    TELLS(DONE, "CHECK_NEW_CREDENTIALS"); /* those that came last */
    TELLS(DONE, "RENEW");
    TELLS(FAILED, "WAIT_TO_TRY_AGAIN");
    TELLS(DONE, "CHECK_NEW_CREDENTIALS");
    TELLS(FAILED, "REPORT_CREDENTIALS WAIT_TO_LOOK_UP");
}

TEST(new_handle_is_shown_nothing_that_it_did_not_ask_for) {
    begin_connected();
    TELLS(CREDENTIALS_CHANGED, "WAKE");
    TELLS(WOKEN, "CHECK_NEW_CREDENTIALS");
    TELLS(CREDENTIAL_AWAITED, "");
    TELLS(DONE, "RENEW");
    TELLS_THAT(DISCONNECTED, renewed, "PASS_ON");
    TELLS(DONE, "WAIT_FOR_SERVER");
}

/* The next server answers while the connection to it is being replaced, and the one after is
 * silent: it would be given the time of a credential, without having been shown any. */
TEST(credential_that_a_lost_server_awaited_is_shown_to_no_other) {
    begin();
    TELLS(DONE, "LEAVE_SILENT_SERVER");
    TELLS(CREDENTIAL_AWAITED, "");
    TELLS_THAT(DISCONNECTED, renewed, "PASS_ON");
    TELLS(DONE, "LOOK_UP_IF_DUE");
    TELLS(DONE, "WAIT_FOR_SERVER");
}

TEST(session_without_a_handle_gets_one_before_all_else) {
    begin_connected();
    TELLS(CREDENTIALS_CHANGED, "WAKE");
    TELLS(WOKEN, "CHECK_NEW_CREDENTIALS");
    TELLS(DONE, "RENEW");
    TELLS_THAT(FAILED, lacks_handle, "WAIT_TO_TRY_AGAIN");
    TELLS(SERVERS_CHANGED, "");
    TELLS(DONE, "RENEW");
    TELLS(DONE, "LOOK_UP_NEW_SERVERS");
    EXPECT(!machine.lacks_handle && !machine.has_new_credentials);
}

TEST(new_session_does_not_stand_with_old_credentials) {
    begin();
    TELLS(CREDENTIALS_CHANGED, "WAKE");
    TELLS(CONNECTED, "");
    TELLS(WOKEN, "OPEN");
    EXPECT(!machine.has_new_credentials);
}

TEST(denied_session_is_sought_elsewhere) {
    begin_connected();
    TELLS(DENIED, "WAKE");
    TELLS(WOKEN, "WAIT_TO_LEAVE");
    TELLS(DONE, "CHECK_CREDENTIALS");
    TELLS(DONE, "RENEW");
    TELLS_THAT(DISCONNECTED, renewed, "PASS_ON");
    TELLS(DONE, "WAIT_FOR_SERVER");
}

TEST(denied_session_that_would_be_refused_is_sought_with_the_same_handle) {
    begin_connected();
    TELLS(DENIED, "WAKE");
    TELLS(WOKEN, "WAIT_TO_LEAVE");
    TELLS(DONE, "CHECK_CREDENTIALS");
    TELLS(FAILED, "LEAVE_SERVER");
    TELLS(DISCONNECTED, "PASS_ON");
    TELLS(DONE, "WAIT_FOR_SERVER");
}

TEST(denied_session_does_not_ask_the_application) {
    machine = zkl_connecting_begin(true);
    TELLS(WOKEN, "OPEN");
    TELLS(CONNECTED, "PASS_ON");
    TELLS(DENIED, "");
    TELLS(DONE, "WAIT_TO_LEAVE");
    TELLS(DONE, "LEAVE_SERVER");
}

TEST(session_that_is_lost_while_credentials_are_checked_is_left_to_itself) {
    begin_connected();
    TELLS(DENIED, "WAKE");
    TELLS(WOKEN, "WAIT_TO_LEAVE");
    TELLS(DONE, "CHECK_CREDENTIALS");
    TELLS(DISCONNECTED, "PASS_ON");
    TELLS(DONE, "WAIT_FOR_SERVER");
}

TEST(refused_session_is_closed_and_none_follows) {
    begin();
    TELLS(AUTH_FAILED, "PASS_ON WAKE");
    TELLS(WOKEN, "CLOSE");
    TELLS(DISCONNECTED, "");
    TELLS(DONE, "WAIT_FOR_CLOSING");
    TELLS(SERVERS_CHANGED, "");
    TELLS(CREDENTIALS_CHANGED, "");
    TELLS(DONE, "WAIT_FOR_CLOSING");
    TELLS(CLOSING, "WAKE");
    TELLS(WOKEN, "END");
}

TEST(session_that_closes_hears_of_its_last_connection) {
    begin_connected();
    TELLS(CLOSING, "WAKE");
    TELLS(DISCONNECTED, "PASS_ON");
    TELLS(EXPIRED, "PASS_ON");
    TELLS(WOKEN, "END");
}

/* ---- A state as a number -------------------------------------------------------------------- */

enum { WAITS_MAX = 2, KEY_BITS = 24 };

/* How many bits a field of each type takes. */
#define BITS_FLAG 1U
#define BITS_COUNT 2U
#define BITS_CONNECTING_STAGE 3U
#define BITS_CONNECTING_TASK 5U
#define ADD_BITS(of, type, name) key = key << BITS_##type | (uint32_t)state->name;

/* Each state that differs has another one. */
static uint32_t key_of(const zkl_connecting *state) {
    uint32_t key = 0;
    ZKL_CONNECTING_FIELDS(ADD_BITS, )
    return key;
}

/* ---- Each entry of the table ---------------------------------------------------------------- */

/* By stage, in the order of the news: what is done, and the stage after it; "": nothing changes;
 * "+": a flag alone does. */
static const char *const table[STAGES][NEWS] = {
    { "", "", "", "", "PASS_ON REFUSED", "", "", "", "+", "+", "CLOSED" },
    { "PASS_ON CONNECTED", "", "PASS_ON SEEKING", "PASS_ON OVER", "PASS_ON REFUSED", "OVER", "",
      "+", "+", "+", "CLOSED" },
    { "PASS_ON CONNECTED", "PASS_ON CONNECTED", "PASS_ON SEEKING", "PASS_ON OVER",
      "PASS_ON REFUSED", "OVER", "DENIED", "+", "+", "+", "CLOSED" },
    { "PASS_ON CONNECTED", "", "PASS_ON SEEKING", "PASS_ON OVER", "PASS_ON REFUSED", "OVER",
      "DENIED", "+", "+", "+", "CLOSED" },
    { "PASS_ON CONNECTED", "", "PASS_ON SEEKING", "PASS_ON OVER", "PASS_ON REFUSED", "OVER", "",
      "+", "+", "+", "CLOSED" },
    { "", "", "", "", "", "", "", "", "", "", "CLOSED" },
    { "PASS_ON CLOSED", "", "PASS_ON CLOSED", "PASS_ON CLOSED", "PASS_ON CLOSED", "", "", "", "",
      "", "" },
};

static void expect_entry(zkl_connecting_stage stage, zkl_connecting_event_kind news) {
    machine = (zkl_connecting){ .stage = stage, .under_way = ZKL_CONNECTING_ACTION_LOOK_UP };
    zkl_connecting before = machine;
    step((zkl_connecting_event){ .kind = news });
    size_t length = strlen(done);
    bool is_same = key_of(&before) == key_of(&machine);
    if (!is_same && machine.stage == stage && length == 0) {
        snprintf(done, sizeof(done), "+");
    } else if (!is_same || length > 0) {
        snprintf(done + length, sizeof(done) - length, "%s%s", length > 0 ? " " : "",
                 stage_names[machine.stage]);
    }
    EXPECT_TEXT(done, table[stage][news]);
}

TEST(each_news_in_each_stage_does_what_the_table_says) {
    for (unsigned stage = 0; stage < STAGES; stage++) {
        for (unsigned news = 0; news < NEWS; news++) {
            expect_entry((zkl_connecting_stage)stage, (zkl_connecting_event_kind)news);
        }
    }
}

/* ---- Every state ---------------------------------------------------------------------------- */

enum { STATES_MAX = 1 << 20, STEPS_MAX = 32 };

static zkl_connecting *states; /* those that were reached, in that order */
static size_t state_count;
static bool *reached; /* by key */

static void reach(const zkl_connecting *state) {
    zkl_connecting capped = *state;
    capped.waits = capped.waits < WAITS_MAX ? capped.waits : WAITS_MAX;
    if (!reached[key_of(&capped)] && state_count < STATES_MAX) {
        reached[key_of(&capped)] = true;
        states[state_count++] = capped;
    }
}

static bool has(const zkl_connecting_actions *actions, zkl_connecting_action_kind kind) {
    for (size_t i = 0; i < actions->count; i++) {
        if (actions->list[i] == kind) {
            return true;
        }
    }
    return false;
}

static zkl_connecting_action_kind task_of(const zkl_connecting_actions *actions) {
    return actions->list[actions->count - 1];
}

static bool pauses_after(zkl_connecting_action_kind task) {
    return task == ZKL_CONNECTING_ACTION_OPEN || task == ZKL_CONNECTING_ACTION_RENEW ||
           task == ZKL_CONNECTING_ACTION_INTRODUCE ||
           task == ZKL_CONNECTING_ACTION_LOOK_UP_NEW_SERVERS;
}

static bool is_result_right(const zkl_connecting *before, const zkl_connecting_event *event,
                            const zkl_connecting *after, const zkl_connecting_actions *actions) {
    zkl_connecting_action_kind task = task_of(actions);
    bool was_closed = before->stage == ZKL_CONNECTING_STAGE_CLOSED;
    bool fails = event->kind == ZKL_CONNECTING_EVENT_FAILED && pauses_after(before->under_way);
    bool opens = task == ZKL_CONNECTING_ACTION_OPEN;
    bool may_open = before->stage == ZKL_CONNECTING_STAGE_OVER || !before->established;
    bool gives = task == ZKL_CONNECTING_ACTION_GIVE_SERVERS;
    return was_closed == (task == ZKL_CONNECTING_ACTION_END) &&
           (!fails || was_closed || task == ZKL_CONNECTING_ACTION_WAIT_TO_TRY_AGAIN) &&
           (!opens || may_open) && (!gives || after->moved || after->partial) && !after->woken &&
           task != ZKL_CONNECTING_ACTION_NONE && after->under_way == task &&
           !has(actions, ZKL_CONNECTING_ACTION_WAKE);
}

static bool is_news_right(const zkl_connecting *before, const zkl_connecting_event *event,
                          const zkl_connecting *after, const zkl_connecting_actions *actions) {
    bool passes_on = has(actions, ZKL_CONNECTING_ACTION_PASS_ON);
    bool arrives = passes_on && event->kind <= ZKL_CONNECTING_EVENT_CAUGHT_UP &&
                   before->stage != ZKL_CONNECTING_STAGE_CLOSED;
    bool wakes = has(actions, ZKL_CONNECTING_ACTION_WAKE);
    /* What the thread would do if its wait ended now. */
    zkl_connecting woken = *after;
    zkl_connecting_actions next;
    zkl_connecting_step(&woken, &(zkl_connecting_event){ .kind = ZKL_CONNECTING_EVENT_WOKEN },
                        &next);
    bool waits = zkl_connecting_is_wait(before->under_way);
    bool is_other = waits && task_of(&next) != before->under_way;
    return before->under_way == after->under_way && (!arrives || !after->may_lag) &&
           (!wakes || (waits && !before->woken)) && (!is_other || after->woken) &&
           (before->stage != ZKL_CONNECTING_STAGE_CLOSED ||
            after->stage == ZKL_CONNECTING_STAGE_CLOSED) &&
           (before->stage != ZKL_CONNECTING_STAGE_REFUSED ||
            after->stage >= ZKL_CONNECTING_STAGE_REFUSED);
}

static bool take(const zkl_connecting *before, zkl_connecting_event event) {
    zkl_connecting after = *before;
    zkl_connecting_actions actions;
    zkl_connecting_step(&after, &event, &actions);
    reach(&after);
    return event.kind <= ZKL_CONNECTING_EVENT_CLOSING
               ? is_news_right(before, &event, &after, &actions)
               : is_result_right(before, &event, &after, &actions);
}

static bool can_happen(const zkl_connecting *state, zkl_connecting_event_kind kind) {
    bool waits = zkl_connecting_is_wait(state->under_way);
    bool begins = state->under_way == ZKL_CONNECTING_ACTION_NONE;
    switch (kind) {
    case ZKL_CONNECTING_EVENT_DONE:
        return !begins && !state->woken;
    case ZKL_CONNECTING_EVENT_FAILED:
        return !begins && !waits;
    case ZKL_CONNECTING_EVENT_WOKEN:
        return begins || state->woken;
    default:
        return true;
    }
}

static bool take_all(const zkl_connecting *state) {
    bool good = true;
    for (unsigned kind = 0; kind <= ZKL_CONNECTING_EVENT_WOKEN; kind++) {
        zkl_connecting_event event = { .kind = (zkl_connecting_event_kind)kind };
        bool is_news = kind < NEWS;
        if (state->under_way == ZKL_CONNECTING_ACTION_END ||
            !can_happen(state, (zkl_connecting_event_kind)kind)) {
            continue;
        }
        for (unsigned flags = 0; flags < 8; flags++) {
            event.renewed = is_news && (flags & 1U) != 0;
            event.moved = !is_news && (flags & 1U) != 0;
            event.lacks_handle = !is_news && (flags & 2U) != 0;
            event.overdue = !is_news && (flags & 4U) != 0;
            good = take(state, event) && good;
        }
    }
    return good;
}

/* From here on all goes well: servers answer, and so do names. */
static bool gets_connected(zkl_connecting state) {
    for (int i = 0; i < STEPS_MAX; i++) {
        zkl_connecting_actions actions;
        zkl_connecting_event event = { .kind = state.woken ||
                                                       state.under_way == ZKL_CONNECTING_ACTION_NONE
                                                   ? ZKL_CONNECTING_EVENT_WOKEN
                                                   : ZKL_CONNECTING_EVENT_DONE };
        if (state.under_way == ZKL_CONNECTING_ACTION_WAIT_FOR_SERVER ||
            state.under_way == ZKL_CONNECTING_ACTION_WAIT_FOR_CREDENTIAL) {
            event.kind = state.stage == ZKL_CONNECTING_STAGE_CATCHING_UP
                             ? ZKL_CONNECTING_EVENT_CAUGHT_UP
                             : ZKL_CONNECTING_EVENT_CONNECTED;
            event.kind = state.woken ? ZKL_CONNECTING_EVENT_WOKEN : event.kind;
        } else if (state.under_way == ZKL_CONNECTING_ACTION_LEAVE_SERVER ||
                   state.under_way == ZKL_CONNECTING_ACTION_RENEW) {
            zkl_connecting_event lost = { .kind = ZKL_CONNECTING_EVENT_DISCONNECTED };
            zkl_connecting_step(&state, &lost, &actions);
        }
        zkl_connecting_step(&state, &event, &actions);
        if (state.under_way == ZKL_CONNECTING_ACTION_WAIT_TO_LOOK_UP && !state.woken) {
            return true;
        }
    }
    return false;
}

static bool has_an_end(const zkl_connecting *state) {
    return state->stage >= ZKL_CONNECTING_STAGE_REFUSED;
}

TEST(every_state_that_can_be_reached_keeps_the_rules) {
    states = calloc(STATES_MAX, sizeof(*states));
    reached = calloc((size_t)1 << KEY_BITS, sizeof(*reached));
    EXPECT(states != NULL && reached != NULL);
    reach(&(zkl_connecting){ .asks_application = false });
    reach(&(zkl_connecting){ .asks_application = true });
    size_t wrong = 0;
    size_t stuck = 0;
    for (size_t i = 0; i < state_count; i++) {
        wrong += take_all(&states[i]) ? 0 : 1;
        stuck += has_an_end(&states[i]) || gets_connected(states[i]) ? 0 : 1;
    }
    EXPECT_INT(wrong, 0);
    EXPECT_INT(stuck, 0);
    EXPECT(state_count > 1000 && state_count < STATES_MAX);
    free(states);
    free(reached);
}

/* ---- Patience ------------------------------------------------------------------------------- */

static int64_t patience_ms(bool established, unsigned waits, int64_t addresses, int64_t left_ms) {
    const zkl_connecting self = { .established = established, .waits = waits };
    const zkl_connecting_times times = { .connect_timeout_ms = 6000,
                                         .session_timeout_ms = 12000,
                                         .left_ms = left_ms,
                                         .addresses = addresses };
    return zkl_connecting_patience_ms(&self, &times);
}

TEST(addresses_share_the_time_to_connect_the_later_the_longer) {
    EXPECT_INT(patience_ms(false, 0, 3, 6000), 1000);
    EXPECT_INT(patience_ms(false, 1, 3, 5000), 2000);
    EXPECT_INT(patience_ms(false, 1, 3, 5500),
               2200); /* what the first has left is for the others */
    EXPECT_INT(patience_ms(false, 2, 3, 3000), 3000);
    EXPECT_INT(patience_ms(false, 3, 3, 0), 3000); /* all have been tried */
    EXPECT_INT(patience_ms(false, 7, 3, -9000), 3000);
    EXPECT_INT(patience_ms(false, 0, 1, 6000), 6000);
    EXPECT_INT(patience_ms(false, 0, 100, 6000), 100); /* never less */
    EXPECT_INT(patience_ms(false, 2, 3, -1), 100);
}

TEST(addresses_share_what_is_left_of_a_session) {
    EXPECT_INT(patience_ms(true, 0, 3, 12000), 2000);
    EXPECT_INT(patience_ms(true, 0, 3, 4000), 1333);
    EXPECT_INT(patience_ms(true, 2, 3, 1334), 1334);
    EXPECT_INT(patience_ms(true, 0, 9, 12000), 1333);
    EXPECT_INT(patience_ms(true, 5, 9, 12000), 2000);
    EXPECT_INT(patience_ms(true, 0, 100, 6000), 100);
    EXPECT_INT(patience_ms(true, 2, 3, -1), 100);
}

TEST(servers_that_may_be_slow_get_twice_as_long_once_all_have_been_tried) {
    EXPECT_INT(patience_ms(true, 3, 3, -1), 2000);
    EXPECT_INT(patience_ms(true, 4, 3, -1), 4000);
    EXPECT_INT(patience_ms(true, 9, 9, -1), 4000);
}

TEST(short_session_is_not_spent_on_one_server) {
    const zkl_connecting self = { .established = true };
    const zkl_connecting_times times = { .session_timeout_ms = 120,
                                         .left_ms = 120,
                                         .addresses = 1 };
    EXPECT_INT(zkl_connecting_patience_ms(&self, &times), 20);
}

TEST(new_session_waits_for_no_server_longer_than_most_of_its_time_out) {
    const zkl_connecting self = { .established = false };
    const zkl_connecting_times times = {
        .connect_timeout_ms = 60000, .session_timeout_ms = 6000, .left_ms = 60000, .addresses = 1
    };
    EXPECT_INT(zkl_connecting_patience_ms(&self, &times), 4000);
}

/* ---- Every order of silent servers ------------------------------------------------------------
 * Each set of silent servers, in each order in which they can be tried: the first that is not
 * silent is asked before the time is over, and none is asked twice before. */

enum { SERVERS_MAX = 5, SERVER_TIME_MS = 100 /* connecting.c: PATIENCE_MIN_MS */ };

typedef struct search {
    unsigned servers;
    char order[SERVERS_MAX + 1]; /* of their names, in which the connection tries what it has */
    bool established;
    bool shortened; /* by chance each gets half of its patience, or all of it */
    zkl_connecting_times times;
} search;

static char *addresses_of(unsigned servers) {
    return strndup("a,b,c,d,e", (size_t)2 * servers - 1);
}

static char first_in_order(const search *self, const char *rest) {
    const char *next = self->order;
    while (strchr(rest, *next) == NULL) {
        next++;
    }
    return *next;
}

/* Leaves the silent server, as the tasks that follow each other say. */
static void leave(const char *all, char **rest, char silent) {
    TELLS(DONE, "LEAVE_SILENT_SERVER");
    while (machine.under_way != ZKL_CONNECTING_ACTION_WAIT_FOR_SERVER) {
        zkl_connecting_event event = { .kind = ZKL_CONNECTING_EVENT_DONE };
        zkl_connecting_actions actions;
        if (machine.under_way == ZKL_CONNECTING_ACTION_LEAVE_SILENT_SERVER) {
            char *others = zkl_addresses_others(all, *rest, (char[2]){ silent, '\0' });
            free(*rest);
            *rest = others;
        }
        zkl_connecting_step(&machine, &event, &actions);
    }
}

static void begin_search(const search *self) {
    begin();
    if (self->established) {
        TELLS(CONNECTED, "PASS_ON WAKE");
        TELLS(DISCONNECTED, "PASS_ON");
        TELLS(WOKEN, "WAIT_FOR_SERVER");
    }
}

/* Returns how much time is left when a server that answers is asked; -1: a silent one was asked
 * twice before. */
static int64_t left_when_found(search *self, unsigned silent) {
    char *all = addresses_of(self->servers);
    char *rest = strdup(all);
    unsigned asked = 0;
    begin_search(self);
    char now = first_in_order(self, rest);
    while ((silent >> (now - 'a') & 1U) != 0 && (asked >> (now - 'a') & 1U) == 0) {
        int64_t patience = zkl_connecting_patience_ms(&machine, &self->times);
        self->times.left_ms -= self->shortened ? (patience + 1) / 2 : patience;
        asked |= 1U << (now - 'a');
        leave(all, &rest, now);
        now = first_in_order(self, rest);
    }
    free(all);
    free(rest);
    return (asked >> (now - 'a') & 1U) != 0 ? -1 : self->times.left_ms;
}

static void expect_found(const search *wanted) {
    for (unsigned silent = 0; silent < (1U << wanted->servers) - 1; silent++) {
        search self = *wanted;
        int64_t left_ms = left_when_found(&self, silent);
        EXPECT(left_ms >= SERVER_TIME_MS);
    }
}

static void swap(char *one, char *other) {
    char kept = *one;
    *one = *other;
    *other = kept;
}

/* Expects it in each order of those behind the first ones. */
static void expect_found_in_each_order(search *self, unsigned first) {
    if (first == self->servers) {
        expect_found(self);
        return;
    }
    for (unsigned i = first; i < self->servers; i++) {
        swap(&self->order[first], &self->order[i]);
        expect_found_in_each_order(self, first + 1);
        swap(&self->order[first], &self->order[i]);
    }
}

static void expect_found_within(bool established, int64_t ms, int64_t of_session_ms) {
    for (unsigned servers = 1; servers <= SERVERS_MAX; servers++) {
        for (unsigned shortened = 0; shortened < 2; shortened++) {
            search self = { .servers = servers,
                            .order = "abcde",
                            .established = established,
                            .shortened = shortened != 0,
                            .times = { .connect_timeout_ms = ms,
                                       .session_timeout_ms = of_session_ms,
                                       .left_ms = ms,
                                       .addresses = servers } };
            expect_found_in_each_order(&self, 0);
        }
    }
}

TEST(new_session_finds_the_server_that_answers_in_whatever_order_they_are_tried) {
    expect_found_within(false, 15000, 30000);
    expect_found_within(false, 15000, 1000);
    expect_found_within(false, SERVERS_MAX * SERVER_TIME_MS, 30000);
}

TEST(session_finds_the_server_that_answers_before_it_is_over) {
    expect_found_within(true, 30000, 30000);
    expect_found_within(true, 10000, 30000);
    expect_found_within(true, SERVERS_MAX * SERVER_TIME_MS, 30000);
}
