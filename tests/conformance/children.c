/* Watches on the children of a node, which a list leaves behind. (How many there are the servers do
 * not tell: only those on nodes.) */
#include <stddef.h>

#include "conversation.h"
#include "speaker.h"

static bool watch_on_children_tells_one_change(void) {
    make_by_hand("/p");
    speaker *a = speaker_enter("a");
    ask_children(a, "/p", 1);
    hear(a);
    make_by_hand("/p/x");
    make_by_hand("/p/y");
    catch_up(a);
    ask_children(a, "/p", 2);
    hear(a);
    delete_by_hand("/p/x");
    catch_up(a);
    speaker_leave(a);
    return true;
}

static bool data_and_grandchildren_do_not_fire_a_watch_on_children(void) {
    make_by_hand("/p");
    make_by_hand("/p/x");
    speaker *a = speaker_enter("a");
    ask_children(a, "/p", 1);
    hear(a);
    ask_set(a, "/p");
    ask_set(a, "/p/x");
    hear(a);
    make_by_hand("/p/x/y");
    catch_up(a);
    make_by_hand("/p/y");
    catch_up(a);
    speaker_leave(a);
    return true;
}

static bool list_of_nothing_leaves_no_watch(void) {
    speaker *a = speaker_enter("a");
    ask_children(a, "/p", 1);
    hear(a);
    make_by_hand("/p");
    make_by_hand("/p/x");
    catch_up(a);
    speaker_leave(a);
    return true;
}

static bool watch_on_children_tells_the_deletion_of_the_node(void) {
    make_by_hand("/p");
    speaker *a = speaker_enter("a");
    ask_children(a, "/p", 1);
    hear(a);
    delete_by_hand("/p");
    catch_up(a);
    speaker_leave(a);
    return true;
}

static bool deletion_is_told_to_the_node_and_then_to_its_parent(void) {
    make_by_hand("/p");
    make_by_hand("/p/x");
    speaker *a = speaker_enter("a");
    ask_children(a, "/p", 1);
    ask_exists(a, "/p/x", 2);
    hear(a);
    delete_by_hand("/p/x");
    catch_up(a);
    speaker_leave(a);
    return true;
}

static bool own_children_fire_before_they_are_answered(void) {
    make_by_hand("/p");
    speaker *a = speaker_enter("a");
    ask_children(a, "/p", 1);
    ask_create(a, "/p/n-");
    ask_children(a, "/p", 2);
    ask_delete(a, "/p/n-0000000000");
    ask_list(a, "/p");
    hear(a);
    speaker_leave(a);
    return true;
}

static bool all_watches_on_the_same_children_are_told(void) {
    make_by_hand("/p");
    speaker *a = speaker_enter("a");
    ask_children(a, "/p", 1);
    ask_children(a, "/p", 2);
    ask_children(a, "/p", 1); /* the same again */
    hear(a);
    make_by_hand("/p/x");
    catch_up(a);
    speaker_leave(a);
    return true;
}

/* ---- Removal --------------------------------------------------------------------- */

static bool watches_on_a_node_and_on_its_children_are_removed_apart(void) {
    make_by_hand("/p");
    make_by_hand("/q");
    speaker *a = speaker_enter("a");
    ask_exists(a, "/p", 1);
    ask_children(a, "/p", 2);
    ask_exists(a, "/q", 3);
    ask_children(a, "/q", 4);
    hear(a);
    ask_unwatch(a, "/p");
    ask_unwatch_children(a, "/q");
    hear(a);
    ask_set(a, "/p");
    ask_set(a, "/q");
    hear(a);
    make_by_hand("/p/x");
    make_by_hand("/q/x");
    catch_up(a);
    speaker_leave(a);
    return true;
}

static bool removal_where_no_children_are_watched(void) {
    make_by_hand("/p");
    speaker *a = speaker_enter("a");
    ask_unwatch_children(a, "/p");
    ask_exists(a, "/p", 1);
    hear(a);
    ask_unwatch_children(a, "/p");
    hear(a);
    delete_by_hand("/p");
    catch_up(a);
    speaker_leave(a);
    return true;
}

/* ---- Reconnects and losses ---------------------------------------------------------- */

static void be_away(speaker *self) {
    cut_next_and_stay_away(self, STAGE_LIST, STAGE_REPLY_LOST);
    ask_list(self, "");
    hear_until(self, "connecting");
}

static bool watch_on_children_lives_on_after_a_reconnect(void) {
    make_by_hand("/p");
    make_by_hand("/p/x");
    speaker *a = speaker_enter("a");
    ask_children(a, "/p", 1);
    hear(a);
    be_away(a);
    admit(a);
    hear_until(a, "connected");
    catch_up(a);
    make_by_hand("/p/y");
    catch_up(a);
    speaker_leave(a);
    return true;
}

static bool children_that_came_or_went_meanwhile_are_told_at_the_reconnect(void) {
    make_by_hand("/p");
    make_by_hand("/q");
    make_by_hand("/q/x");
    speaker *a = speaker_enter("a");
    ask_children(a, "/p", 1);
    hear(a);
    be_away(a);
    make_by_hand("/p/x");
    admit(a);
    hear_until(a, "watch 1");
    ask_children(a, "/q", 2);
    hear(a);
    be_away(a);
    delete_by_hand("/q/x");
    admit(a);
    hear_until(a, "watch 2");
    catch_up(a);
    speaker_leave(a);
    return true;
}

static bool node_deleted_meanwhile_is_told_to_who_watched_its_children(void) {
    make_by_hand("/p");
    speaker *a = speaker_enter("a");
    ask_children(a, "/p", 1);
    hear(a);
    be_away(a);
    delete_by_hand("/p");
    admit(a);
    hear_until(a, "watch 1");
    catch_up(a);
    speaker_leave(a);
    return true;
}

static bool watch_of_a_list_that_was_lost_is_none(void) {
    make_by_hand("/p");
    make_by_hand("/q");
    speaker *a = speaker_enter("a");
    cut_next(a, STAGE_LIST, STAGE_REQUEST_LOST);
    ask_children(a, "/p", 1);
    hear_until(a, "connected");
    cut_next(a, STAGE_LIST, STAGE_REPLY_LOST);
    ask_children(a, "/q", 2);
    hear_until(a, "connected");
    make_by_hand("/p/x");
    make_by_hand("/q/x");
    catch_up(a);
    speaker_leave(a);
    return true;
}

static bool watch_of_an_earlier_list_outlives_one_that_was_lost(void) {
    make_by_hand("/p");
    speaker *a = speaker_enter("a");
    ask_children(a, "/p", 1);
    hear(a);
    cut_next(a, STAGE_LIST, STAGE_REPLY_LOST);
    ask_children(a, "/p", 1);
    hear_until(a, "connected");
    make_by_hand("/p/x");
    catch_up(a);
    speaker_leave(a);
    return true;
}

const conversation children_conversations[] = {
    CONVERSATION(watch_on_children_tells_one_change),
    CONVERSATION(data_and_grandchildren_do_not_fire_a_watch_on_children),
    CONVERSATION(list_of_nothing_leaves_no_watch),
    CONVERSATION(watch_on_children_tells_the_deletion_of_the_node),
    CONVERSATION(deletion_is_told_to_the_node_and_then_to_its_parent),
    CONVERSATION(own_children_fire_before_they_are_answered),
    CONVERSATION(all_watches_on_the_same_children_are_told),
    CONVERSATION(watches_on_a_node_and_on_its_children_are_removed_apart),
    CONVERSATION(removal_where_no_children_are_watched),
    CONVERSATION(watch_on_children_lives_on_after_a_reconnect),
    CONVERSATION(children_that_came_or_went_meanwhile_are_told_at_the_reconnect),
    CONVERSATION(node_deleted_meanwhile_is_told_to_who_watched_its_children),
    CONVERSATION(watch_of_a_list_that_was_lost_is_none),
    CONVERSATION(watch_of_an_earlier_list_outlives_one_that_was_lost),
    CONVERSATIONS_END,
};
