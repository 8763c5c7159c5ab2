/* Requests whose reply is lost with the connection, and what has become of them. */
#include <stddef.h>

#include "conversation.h"
#include "speaker.h"

static void look(speaker *self) {
    hear_until(self, "connected");
    catch_up(self);
    ask_list(self, "/p");
    hear(self);
}

static bool lost_create(void) {
    make_by_hand("/p");
    speaker *a = speaker_enter("a");
    cut_next(a, STAGE_CREATE, STAGE_REQUEST_LOST);
    ask_create(a, "/p/n-");
    look(a);
    cut_next(a, STAGE_CREATE, STAGE_REPLY_LOST);
    ask_create(a, "/p/n-");
    look(a);
    ask_exists(a, "/p/n-0000000000", 0);
    hear(a);
    speaker_leave(a);
    return true;
}

static bool lost_create_of_a_parent(void) {
    make_by_hand("/p");
    speaker *a = speaker_enter("a");
    cut_next(a, STAGE_CREATE, STAGE_REQUEST_LOST);
    ask_parent(a, "/p/x");
    look(a);
    cut_next(a, STAGE_CREATE, STAGE_REPLY_LOST);
    ask_parent(a, "/p/x");
    look(a);
    speaker_leave(a);
    return true;
}

static bool lost_delete(void) {
    make_by_hand("/p");
    make_by_hand("/p/x");
    speaker *a = speaker_enter("a");
    cut_next(a, STAGE_DELETE, STAGE_REQUEST_LOST);
    ask_delete(a, "/p/x");
    look(a);
    cut_next(a, STAGE_DELETE, STAGE_REPLY_LOST);
    ask_delete(a, "/p/x");
    look(a);
    speaker_leave(a);
    return true;
}

static bool lost_reads(void) {
    make_by_hand("/p");
    speaker *a = speaker_enter("a");
    cut_next(a, STAGE_LIST, STAGE_REQUEST_LOST);
    ask_list(a, "/p");
    hear_until(a, "connected");
    cut_next(a, STAGE_LIST, STAGE_REPLY_LOST);
    ask_list(a, "/p");
    hear_until(a, "connected");
    cut_next(a, STAGE_EXISTS, STAGE_REQUEST_LOST);
    ask_exists(a, "/p", 0);
    hear_until(a, "connected");
    cut_next(a, STAGE_EXISTS, STAGE_REPLY_LOST);
    ask_exists(a, "/p", 0);
    look(a);
    speaker_leave(a);
    return true;
}

static bool watch_that_a_write_that_was_lost_does_not_fire(void) {
    make_by_hand("/p");
    make_by_hand("/p/x");
    speaker *a = speaker_enter("a");
    ask_exists(a, "/p/x", 1);
    hear(a);
    cut_next_and_stay_away(a, STAGE_DELETE, STAGE_REQUEST_LOST);
    ask_delete(a, "/p/x");
    hear_until(a, "connecting");
    admit(a);
    look(a);
    delete_by_hand("/p/x");
    catch_up(a);
    speaker_leave(a);
    return true;
}

/* ---- Away --------------------------------------------------------------------------- */

static void be_away(speaker *self) {
    cut_next_and_stay_away(self, STAGE_LIST, STAGE_REPLY_LOST);
    ask_list(self, "/p");
    hear_until(self, "connecting");
}

static bool requests_before_the_first_connection_wait_for_it(void) {
    make_by_hand("/p");
    speaker *a = speaker_open("a", SESSION_MS);
    ask_create(a, "/p/n-");
    ask_list(a, "/p");
    hear_until(a, "connected");
    speaker_leave(a);
    return true;
}

static bool requests_while_away_wait_for_the_next_connection(void) {
    make_by_hand("/p");
    speaker *a = speaker_enter("a");
    be_away(a);
    admit(a);
    ask_create(a, "/p/n-");
    ask_list(a, "/p");
    ask_exists(a, "/p/n-0000000000", 1);
    ask_delete(a, "/p/n-0000000000");
    hear_until(a, "connected");
    speaker_leave(a);
    return true;
}

static bool requests_while_away_are_lost_with_an_attempt_to_connect(void) {
    make_by_hand("/p");
    speaker *a = speaker_enter("a");
    be_away(a);
    ask_create(a, "/p/n-");
    ask_list(a, "/p");
    hear(a);
    admit(a);
    look(a);
    speaker_leave(a);
    return true;
}

const conversation loss_conversations[] = {
    CONVERSATION(lost_create),
    CONVERSATION(lost_create_of_a_parent),
    CONVERSATION(lost_delete),
    CONVERSATION(lost_reads),
    CONVERSATION(watch_that_a_write_that_was_lost_does_not_fire),
    CONVERSATION(requests_before_the_first_connection_wait_for_it),
    CONVERSATION(requests_while_away_wait_for_the_next_connection),
    CONVERSATION(requests_while_away_are_lost_with_an_attempt_to_connect),
    CONVERSATIONS_END,
};
