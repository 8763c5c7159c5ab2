/* The end of a session, and the beginning of the next. */
#include <stddef.h>

#include "conversation.h"
#include "speaker.h"

static bool session_timeout_is_clamped(void) {
    speaker *a = speaker_open("a", 700);
    hear_until(a, "connected");
    speaker_leave(a);
    a = speaker_open("a", 3210);
    hear_until(a, "connected");
    speaker_leave(a);
    return true;
}

static bool reconnect_keeps_session_and_nodes(void) {
    speaker *a = speaker_enter("a");
    ask_create(a, "/n-");
    hear(a);
    cut_next(a, STAGE_LIST, STAGE_REQUEST_LOST);
    ask_list(a, "");
    hear_until(a, "connected");
    ask_exists(a, "/n-0000000000", 0);
    hear(a);
    speaker_leave(a);
    return true;
}

static bool close_deletes_the_nodes_of_the_session(void) {
    make_by_hand("/p");
    speaker *a = speaker_enter("a");
    speaker *b = speaker_enter("b");
    ask_create(a, "/p/n-");
    ask_parent(a, "/p/x");
    hear(a);
    catch_up(b);
    ask_exists(b, "/p/n-0000000000", 1);
    hear(b);
    speaker_leave(a);
    catch_up(b);
    ask_list(b, "/p");
    ask_create(b, "/p/n-");
    hear(b);
    speaker_leave(b);
    return true;
}

static bool close_while_away_leaves_the_session(void) {
    make_by_hand("/p");
    speaker *a = speaker_enter("a");
    speaker *b = speaker_enter("b");
    ask_create(a, "/p/n-");
    hear(a);
    cut_next_and_stay_away(a, STAGE_LIST, STAGE_REQUEST_LOST);
    ask_list(a, "/p");
    hear_until(a, "connecting");
    ask_list(a, "/p");
    ask_delete(a, "/p/n-0000000000");
    speaker_leave(a);
    catch_up(b);
    ask_exists(b, "/p/n-0000000000", 0);
    hear(b);
    speaker_leave(b);
    return true;
}

static bool expiry_while_connected(void) {
    make_by_hand("/p");
    speaker *a = speaker_enter("a");
    speaker *b = speaker_enter("b");
    ask_create(a, "/p/n-");
    ask_create(a, "/p/n-");
    ask_exists(a, "/p/n-0000000000", 1);
    hear(a);
    catch_up(b);
    ask_exists(b, "/p/n-0000000000", 2);
    hear(b);
    /* Of its own nodes' deletion: the connection is closed at once, whatever waits there. */
    may_hear(a, "watch 1: deleted");
    expire(a);
    catch_up(b);
    ask_list(b, "/p");
    hear(b);
    hear_until(a, "expired");
    ask_create(a, "/p/n-");
    ask_parent(a, "/p");
    ask_list(a, "/p");
    ask_exists(a, "/p", 3);
    ask_delete(a, "/p");
    ask_unwatch(a, "/p");
    speaker_leave(a);
    speaker_leave(b);
    return true;
}

static bool expiry_while_away(void) {
    make_by_hand("/p");
    make_by_hand("/p/x");
    speaker *a = speaker_enter("a");
    ask_create(a, "/p/n-");
    ask_exists(a, "/p/x", 1);
    hear(a);
    cut_next_and_stay_away(a, STAGE_LIST, STAGE_REPLY_LOST);
    ask_list(a, "/p");
    hear_until(a, "connecting");
    delete_by_hand("/p/x");
    expire(a);
    admit(a);
    ask_create(a, "/p/n-");
    ask_list(a, "/p");
    ask_exists(a, "/p", 2);
    ask_unwatch(a, "/p/x");
    hear_until(a, "expired");
    speaker_leave(a);
    return true;
}

static bool next_session_is_another(void) {
    make_by_hand("/p");
    speaker *a = speaker_enter("a");
    ask_create(a, "/p/n-");
    ask_exists(a, "/x", 1);
    hear(a);
    speaker_reopen(a);
    ask_create(a, "/p/n-");
    ask_list(a, "/p");
    ask_exists(a, "/p/n-0000000001", 0);
    hear(a);
    make_by_hand("/x");
    catch_up(a);
    expire(a);
    hear_until(a, "expired");
    speaker_reopen(a);
    ask_list(a, "/p");
    hear(a);
    speaker_leave(a);
    return true;
}

static bool nothing_is_told_of_a_session_that_was_given_up(void) {
    make_by_hand("/x");
    speaker *a = speaker_enter("a");
    ask_create(a, "/n-");
    ask_exists(a, "/x", 1);
    hear(a);
    ask_delete(a, "/x");
    speaker_abandon(a);
    ask_list(a, "");
    hear(a);
    speaker_reopen(a);
    ask_list(a, "");
    hear(a);
    speaker_leave(a);
    return true;
}

/* The server that it was taken from does not say so to who asks: it closes the connection. */
static bool session_that_was_moved_costs_its_next_write_the_connection(void) {
    make_by_hand("/p");
    speaker *a = speaker_enter("a");
    ask_create(a, "/p/n-");
    hear(a);
    move_session(a);
    ask_create(a, "/p/n-");
    hear_until(a, "connected");
    ask_create(a, "/p/n-");
    ask_list(a, "/p");
    hear(a);
    move_session(a);
    ask_transact(a, &(zkl_multi_operation){ .kind = ZKL_MULTI_CHECK, .path = "/p", .version = 0 },
                 1);
    hear_until(a, "connected");
    ask_list(a, "/p");
    hear(a);
    speaker_leave(a);
    return true;
}

static bool close_ends_a_session_that_was_moved(void) {
    make_by_hand("/p");
    speaker *a = speaker_enter("a");
    speaker *b = speaker_enter("b");
    ask_create(a, "/p/n-");
    hear(a);
    move_session(a);
    speaker_leave(a);
    catch_up(b);
    ask_list(b, "/p");
    hear(b);
    speaker_leave(b);
    return true;
}

const conversation session_conversations[] = {
    CONVERSATION(session_timeout_is_clamped),
    CONVERSATION(reconnect_keeps_session_and_nodes),
    CONVERSATION(close_deletes_the_nodes_of_the_session),
    CONVERSATION(close_while_away_leaves_the_session),
    CONVERSATION(expiry_while_connected),
    CONVERSATION(expiry_while_away),
    CONVERSATION(next_session_is_another),
    CONVERSATION(nothing_is_told_of_a_session_that_was_given_up),
    CONVERSATION(session_that_was_moved_costs_its_next_write_the_connection),
    CONVERSATION(close_ends_a_session_that_was_moved),
    CONVERSATIONS_END,
};
