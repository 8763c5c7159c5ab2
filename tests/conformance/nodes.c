/* Creates, lists, deletions. */
#include <stddef.h>

#include "conversation.h"
#include "speaker.h"

static bool persistent_nodes(void) {
    speaker *a = speaker_enter("a");
    ask_parent(a, "/p");
    ask_parent(a, "/p");
    ask_parent(a, "/none/p");
    ask_exists(a, "/p", 0);
    ask_exists(a, "/none", 0);
    ask_list(a, "/p");
    ask_list(a, "/none");
    ask_list(a, "");
    hear(a);
    speaker_leave(a);
    return true;
}

static bool ephemeral_nodes_with_numbers(void) {
    speaker *a = speaker_enter("a");
    ask_create(a, "/p/n-");
    ask_parent(a, "/p");
    ask_create(a, "/p/n-");
    ask_create(a, "/p/other-");
    ask_exists(a, "/p/n-0000000000", 0);
    ask_exists(a, "/p/other-0000000001", 0);
    ask_exists(a, "/p/n-", 0);
    ask_exists(a, "/p", 0);
    ask_list(a, "/p");
    hear(a);
    speaker_leave(a);
    return true;
}

static bool ephemeral_nodes_have_no_children(void) {
    speaker *a = speaker_enter("a");
    ask_create(a, "/n-");
    ask_parent(a, "/n-0000000000/child");
    ask_create(a, "/n-0000000000/child-");
    ask_list(a, "/n-0000000000");
    hear(a);
    speaker_leave(a);
    return true;
}

static bool deletions(void) {
    speaker *a = speaker_enter("a");
    ask_parent(a, "/p");
    ask_create(a, "/p/n-");
    ask_delete(a, "/p");
    ask_delete(a, "/p/n-0000000000");
    ask_delete(a, "/p/n-0000000000");
    ask_delete(a, "/p");
    ask_delete(a, "/p");
    ask_delete(a, "/none/n");
    ask_exists(a, "/p", 0);
    hear(a);
    speaker_leave(a);
    return true;
}

static bool list_behind_a_write_shows_it(void) {
    speaker *a = speaker_enter("a");
    ask_parent(a, "/p");
    hear(a);
    for (int i = 0; i < 10; i++) {
        ask_create(a, "/p/n-");
        ask_list(a, "/p");
    }
    ask_delete(a, "/p/n-0000000004");
    ask_list(a, "/p");
    hear(a);
    speaker_leave(a);
    return true;
}

static bool what_others_did_is_seen_behind_a_write(void) {
    make_by_hand("/p");
    make_by_hand("/p/x");
    speaker *a = speaker_enter("a");
    enter_stranger();
    make_as_stranger("/p/y", false);
    delete_by_hand("/p/x");
    catch_up(a);
    ask_list(a, "/p");
    ask_exists(a, "/p/x", 0);
    ask_exists(a, "/p/y", 0);
    ask_delete(a, "/p/y"); /* anybody may */
    hear(a);
    leave_stranger();
    speaker_leave(a);
    return true;
}

static bool two_sessions_order_their_writes(void) {
    speaker *a = speaker_enter("a");
    speaker *b = speaker_enter("b");
    ask_parent(a, "/p");
    hear(a);
    ask_create(b, "/p/n-");
    hear(b);
    ask_create(a, "/p/n-");
    hear(a);
    ask_exists(b, "/p/n-0000000000", 0);
    hear(b);
    catch_up(b);
    ask_exists(b, "/p/n-0000000001", 0);
    hear(b);
    speaker_leave(b);
    catch_up(a);
    ask_list(a, "/p");
    hear(a);
    speaker_leave(a);
    return true;
}

/* Who reads a node learns what it was made with, of whom, and what has become of it. */
static bool data_are_read_and_replaced(void) {
    speaker *a = speaker_enter("a");
    ask_parent(a, "/p");
    ask_create(a, "/p/n-");
    ask_get(a, "/p/n-0000000000");
    ask_set_first(a, "/p/n-0000000000");
    ask_get(a, "/p/n-0000000000");
    ask_set_first(a, "/p/n-0000000000");
    ask_set(a, "/p/n-0000000000");
    ask_get(a, "/p/n-0000000000");
    ask_get(a, "/none");
    ask_set(a, "/none");
    ask_get(a, "/p");
    ask_delete(a, "/p/n-0000000000");
    ask_get(a, "/p");
    ask_set(a, "/p");
    ask_get(a, "/p");
    hear(a);
    speaker_leave(a);
    return true;
}

static bool data_of_others_are_replaced(void) {
    make_by_hand("/p");
    speaker *a = speaker_enter("a");
    speaker *b = speaker_enter("b");
    ask_create(a, "/p/n-");
    hear(a);
    ask_exists(a, "/p/n-0000000000", 1);
    hear(a);
    ask_set(b, "/p/n-0000000000");
    hear(b);
    hear_until(a, "watch");
    ask_get(a, "/p/n-0000000000");
    hear(a);
    speaker_leave(b);
    ask_get(a, "/p/n-0000000000");
    hear(a);
    speaker_leave(a);
    return true;
}

static bool lost_set(void) {
    make_by_hand("/p");
    speaker *a = speaker_enter("a");
    cut_next(a, STAGE_SET, STAGE_REPLY_LOST);
    ask_set(a, "/p");
    hear_until(a, "connected");
    ask_get(a, "/p");
    hear(a);
    cut_next(a, STAGE_SET, STAGE_REQUEST_LOST);
    ask_set(a, "/p");
    hear_until(a, "connected");
    ask_get(a, "/p");
    hear(a);
    speaker_leave(a);
    return true;
}

static bool lost_get(void) {
    speaker *a = speaker_enter("a");
    ask_parent(a, "/p");
    hear(a);
    cut_next(a, STAGE_GET, STAGE_REQUEST_LOST);
    ask_get(a, "/p");
    hear_until(a, "connected");
    cut_next(a, STAGE_GET, STAGE_REPLY_LOST);
    ask_get(a, "/p");
    hear_until(a, "connected");
    ask_get(a, "/p");
    hear(a);
    speaker_leave(a);
    return true;
}

static bool data_set_meanwhile_are_told_at_the_reconnect(void) {
    make_by_hand("/p");
    speaker *a = speaker_enter("a");
    speaker *b = speaker_enter("b");
    ask_exists(a, "/p", 1);
    hear(a);
    cut_next_and_stay_away(a, STAGE_LIST, STAGE_REQUEST_LOST);
    ask_list(a, "/p");
    hear_until(a, "connecting");
    ask_set(b, "/p");
    hear(b);
    admit(a);
    hear_until(a, "watch");
    speaker_leave(b);
    speaker_leave(a);
    return true;
}

const conversation node_conversations[] = {
    CONVERSATION(persistent_nodes),
    CONVERSATION(ephemeral_nodes_with_numbers),
    CONVERSATION(ephemeral_nodes_have_no_children),
    CONVERSATION(deletions),
    CONVERSATION(list_behind_a_write_shows_it),
    CONVERSATION(what_others_did_is_seen_behind_a_write),
    CONVERSATION(two_sessions_order_their_writes),
    CONVERSATION(data_are_read_and_replaced),
    CONVERSATION(data_of_others_are_replaced),
    CONVERSATION(lost_set),
    CONVERSATION(lost_get),
    CONVERSATION(data_set_meanwhile_are_told_at_the_reconnect),
    CONVERSATIONS_END,
};
