/* What is watched, and when that is told. */
#include <stddef.h>

#include "conversation.h"
#include "speaker.h"

static bool watch_on_a_node_tells_its_deletion_once(void) {
    make_by_hand("/x");
    speaker *a = speaker_enter("a");
    ask_exists(a, "/x", 1);
    hear(a);
    count_watches(a);
    delete_by_hand("/x");
    make_by_hand("/x");
    delete_by_hand("/x");
    catch_up(a);
    count_watches(a);
    speaker_leave(a);
    return true;
}

static bool watch_on_nothing_tells_a_creation_once(void) {
    speaker *a = speaker_enter("a");
    ask_exists(a, "/x", 1);
    hear(a);
    make_by_hand("/x");
    delete_by_hand("/x");
    catch_up(a);
    speaker_leave(a);
    return true;
}

static bool own_writes_fire_before_they_are_answered(void) {
    speaker *a = speaker_enter("a");
    ask_exists(a, "/n-0000000000", 1);
    ask_create(a, "/n-");
    ask_exists(a, "/n-0000000000", 2);
    ask_delete(a, "/n-0000000000");
    ask_list(a, "");
    hear(a);
    speaker_leave(a);
    return true;
}

static bool children_do_not_fire_a_watch(void) {
    make_by_hand("/p");
    speaker *a = speaker_enter("a");
    ask_exists(a, "/p", 1);
    hear(a);
    make_by_hand("/p/x");
    delete_by_hand("/p/x");
    catch_up(a);
    delete_by_hand("/p");
    catch_up(a);
    speaker_leave(a);
    return true;
}

static bool no_watch_is_left_where_none_was_asked_for(void) {
    make_by_hand("/x");
    speaker *a = speaker_enter("a");
    ask_exists(a, "/x", 0);
    ask_exists(a, "/y", 0);
    hear(a);
    count_watches(a);
    delete_by_hand("/x");
    make_by_hand("/y");
    catch_up(a);
    speaker_leave(a);
    return true;
}

static bool all_watches_on_a_path_are_told(void) {
    make_by_hand("/x");
    speaker *a = speaker_enter("a");
    ask_exists(a, "/x", 1);
    ask_exists(a, "/x", 2);
    ask_exists(a, "/x", 3);
    ask_exists(a, "/x", 1); /* the same again */
    hear(a);
    count_watches(a);
    delete_by_hand("/x");
    catch_up(a);
    ask_exists(a, "/x", 4);
    ask_exists(a, "/x", 5);
    hear(a);
    make_by_hand("/x");
    catch_up(a);
    speaker_leave(a);
    return true;
}

static bool each_session_that_watches_is_told(void) {
    make_by_hand("/x");
    speaker *a = speaker_enter("a");
    speaker *b = speaker_enter("b");
    ask_exists(a, "/x", 1);
    hear(a);
    ask_exists(b, "/x", 1);
    ask_delete(b, "/x");
    hear(b);
    catch_up(a);
    speaker_leave(b);
    speaker_leave(a);
    return true;
}

/* ---- Removal --------------------------------------------------------------------- */

static bool removed_watches_do_not_fire(void) {
    make_by_hand("/x");
    speaker *a = speaker_enter("a");
    ask_exists(a, "/x", 1);
    ask_exists(a, "/x", 2);
    ask_exists(a, "/y", 3);
    hear(a);
    count_watches(a);
    ask_unwatch(a, "/x");
    hear(a);
    count_watches(a);
    ask_unwatch(a, "/y");
    hear(a);
    count_watches(a);
    delete_by_hand("/x");
    make_by_hand("/y");
    catch_up(a);
    speaker_leave(a);
    return true;
}

static bool removal_where_nothing_is_watched(void) {
    make_by_hand("/x");
    speaker *a = speaker_enter("a");
    ask_unwatch(a, "/x");
    ask_unwatch(a, "/y");
    hear(a);
    ask_exists(a, "/x", 1);
    hear(a);
    delete_by_hand("/x");
    catch_up(a);
    ask_unwatch(a, "/x"); /* it has fired */
    hear(a);
    speaker_leave(a);
    return true;
}

static bool removal_behind_the_request_that_watches(void) {
    make_by_hand("/x");
    speaker *a = speaker_enter("a");
    ask_exists(a, "/x", 1);
    ask_unwatch(a, "/x");
    ask_exists(a, "/y", 2);
    ask_unwatch(a, "/y");
    hear(a);
    delete_by_hand("/x");
    make_by_hand("/y");
    catch_up(a);
    speaker_leave(a);
    return true;
}

/* The removal that is under way does not take it. */
static bool watch_behind_a_removal_under_way_stays(void) {
    make_by_hand("/x");
    speaker *a = speaker_enter("a");
    ask_exists(a, "/x", 1);
    hear(a);
    ask_unwatch(a, "/x");
    ask_exists(a, "/x", 2);
    hear(a);
    delete_by_hand("/x");
    catch_up(a);
    speaker_leave(a);
    return true;
}

static bool watch_behind_a_removal_stays(void) {
    make_by_hand("/x");
    speaker *a = speaker_enter("a");
    ask_exists(a, "/x", 1);
    hear(a);
    ask_unwatch(a, "/x");
    hear(a);
    ask_exists(a, "/x", 2);
    hear(a);
    delete_by_hand("/x");
    catch_up(a);
    speaker_leave(a);
    return true;
}

static bool removal_is_a_matter_of_the_session_that_asks(void) {
    make_by_hand("/x");
    speaker *a = speaker_enter("a");
    speaker *b = speaker_enter("b");
    ask_exists(a, "/x", 1);
    hear(a);
    ask_exists(b, "/x", 1);
    hear(b);
    ask_unwatch(a, "/x");
    hear(a);
    delete_by_hand("/x");
    catch_up(a);
    catch_up(b);
    speaker_leave(b);
    speaker_leave(a);
    return true;
}

/* ---- Reconnects -------------------------------------------------------------------- */

static void lose_connection(speaker *self) {
    cut_next(self, STAGE_LIST, STAGE_REPLY_LOST);
    ask_list(self, "");
    hear_until(self, "connected");
}

static void be_away(speaker *self) {
    cut_next_and_stay_away(self, STAGE_LIST, STAGE_REPLY_LOST);
    ask_list(self, "");
    hear_until(self, "connecting");
}

static bool watches_live_on_after_a_reconnect(void) {
    make_by_hand("/x");
    speaker *a = speaker_enter("a");
    ask_exists(a, "/x", 1);
    ask_exists(a, "/x", 2);
    ask_exists(a, "/y", 3);
    hear(a);
    lose_connection(a);
    catch_up(a);
    delete_by_hand("/x");
    catch_up(a);
    make_by_hand("/y");
    catch_up(a);
    speaker_leave(a);
    return true;
}

/* Nobody is told so: libzookeeper drops the answer, and sets them on the connection after. */
static bool watches_that_are_turned_away_at_a_reconnect_are_none(void) {
    make_by_hand("/x");
    make_by_hand("/y");
    speaker *a = speaker_enter("a");
    ask_exists(a, "/x", 1);
    ask_exists(a, "/y", 2);
    hear(a);
    be_away(a);
    admit_without_watches(a);
    count_watches(a);
    delete_by_hand("/x");
    catch_up(a);
    ask_exists(a, "/y", 2);
    hear(a);
    count_watches(a);
    delete_by_hand("/y");
    catch_up(a);
    ask_unwatch(a, "/x");
    hear(a);
    be_away(a);
    admit(a);
    hear_until(a, "watch");
    catch_up(a);
    speaker_leave(a);
    return true;
}

static bool deletion_meanwhile_is_told_at_the_reconnect(void) {
    make_by_hand("/x");
    speaker *a = speaker_enter("a");
    ask_exists(a, "/x", 1);
    hear(a);
    be_away(a);
    delete_by_hand("/x");
    admit(a);
    hear_until(a, "watch");
    catch_up(a);
    speaker_leave(a);
    return true;
}

static bool creation_meanwhile_is_told_at_the_reconnect(void) {
    speaker *a = speaker_enter("a");
    ask_exists(a, "/x", 1);
    hear(a);
    be_away(a);
    make_by_hand("/x");
    admit(a);
    hear_until(a, "watch");
    catch_up(a);
    speaker_leave(a);
    return true;
}

static bool node_made_anew_meanwhile_is_not_told_as_deleted(void) {
    make_by_hand("/x");
    speaker *a = speaker_enter("a");
    ask_exists(a, "/x", 1);
    hear(a);
    be_away(a);
    delete_by_hand("/x");
    make_by_hand("/x");
    admit(a);
    hear_until(a, "watch");
    catch_up(a);
    speaker_leave(a);
    return true;
}

static bool node_that_came_and_went_meanwhile_is_not_told(void) {
    speaker *a = speaker_enter("a");
    ask_exists(a, "/x", 1);
    hear(a);
    be_away(a);
    make_by_hand("/x");
    delete_by_hand("/x");
    admit(a);
    hear_until(a, "connected");
    catch_up(a);
    make_by_hand("/x");
    catch_up(a);
    speaker_leave(a);
    return true;
}

static bool children_made_meanwhile_do_not_fire_a_watch(void) {
    make_by_hand("/p");
    speaker *a = speaker_enter("a");
    ask_exists(a, "/p", 1);
    hear(a);
    be_away(a);
    make_by_hand("/p/x");
    admit(a);
    hear_until(a, "connected");
    catch_up(a);
    speaker_leave(a);
    return true;
}

static bool missed_events_come_before_the_answers_to_requests_that_waited(void) {
    make_by_hand("/p");
    make_by_hand("/p/x");
    speaker *a = speaker_enter("a");
    ask_exists(a, "/p/x", 1);
    hear(a);
    be_away(a);
    delete_by_hand("/p/x");
    admit(a);
    ask_delete(a, "/nothing");
    ask_list(a, "/p");
    hear_until(a, "watch");
    speaker_leave(a);
    return true;
}

static bool removal_that_waited_for_the_connection(void) {
    make_by_hand("/x");
    make_by_hand("/y");
    speaker *a = speaker_enter("a");
    ask_exists(a, "/x", 1);
    ask_exists(a, "/y", 2);
    hear(a);
    be_away(a);
    delete_by_hand("/y");
    admit(a);
    ask_unwatch(a, "/x");
    ask_unwatch(a, "/y"); /* it has fired, but nobody here knows */
    hear_until(a, "connected");
    delete_by_hand("/x");
    catch_up(a);
    speaker_leave(a);
    return true;
}

static bool watch_that_waited_for_the_connection(void) {
    make_by_hand("/x");
    speaker *a = speaker_enter("a");
    be_away(a);
    admit(a);
    ask_exists(a, "/x", 1);
    ask_exists(a, "/y", 2);
    hear_until(a, "connected");
    delete_by_hand("/x");
    make_by_hand("/y");
    catch_up(a);
    speaker_leave(a);
    return true;
}

/* ---- Lost replies -------------------------------------------------------------------- */

static void lose_exists(speaker *self, stage_loss loss, const char *path, uint64_t watch) {
    cut_next(self, STAGE_EXISTS, loss);
    ask_exists(self, path, watch);
    hear_until(self, "connected");
}

static bool watch_whose_reply_was_lost_is_none(void) {
    make_by_hand("/x");
    make_by_hand("/y");
    speaker *a = speaker_enter("a");
    lose_exists(a, STAGE_REQUEST_LOST, "/x", 1);
    lose_exists(a, STAGE_REPLY_LOST, "/y", 2);
    lose_exists(a, STAGE_REPLY_LOST, "/z", 3);
    delete_by_hand("/x");
    delete_by_hand("/y");
    make_by_hand("/z");
    catch_up(a);
    speaker_leave(a);
    return true;
}

static void lose_unwatch(speaker *self, stage_loss loss, const char *path) {
    cut_next(self, STAGE_REMOVE_WATCHES, loss);
    ask_unwatch(self, path);
    hear_until(self, "connected");
}

static bool watch_whose_removal_was_lost_is_still_there(void) {
    make_by_hand("/x");
    make_by_hand("/y");
    speaker *a = speaker_enter("a");
    ask_exists(a, "/x", 1);
    ask_exists(a, "/y", 2);
    hear(a);
    lose_unwatch(a, STAGE_REQUEST_LOST, "/x");
    lose_unwatch(a, STAGE_REPLY_LOST, "/y");
    delete_by_hand("/x");
    catch_up(a);
    delete_by_hand("/y");
    catch_up(a);
    speaker_leave(a);
    return true;
}

const conversation watch_conversations[] = {
    CONVERSATION(watch_on_a_node_tells_its_deletion_once),
    CONVERSATION(watch_on_nothing_tells_a_creation_once),
    CONVERSATION(own_writes_fire_before_they_are_answered),
    CONVERSATION(children_do_not_fire_a_watch),
    CONVERSATION(no_watch_is_left_where_none_was_asked_for),
    CONVERSATION(all_watches_on_a_path_are_told),
    CONVERSATION(each_session_that_watches_is_told),
    CONVERSATION(removed_watches_do_not_fire),
    CONVERSATION(removal_where_nothing_is_watched),
    CONVERSATION(removal_behind_the_request_that_watches),
    CONVERSATION(watch_behind_a_removal_stays),
    CONVERSATION(watch_behind_a_removal_under_way_stays),
    CONVERSATION(removal_is_a_matter_of_the_session_that_asks),
    CONVERSATION(watches_live_on_after_a_reconnect),
    CONVERSATION(watches_that_are_turned_away_at_a_reconnect_are_none),
    CONVERSATION(deletion_meanwhile_is_told_at_the_reconnect),
    CONVERSATION(creation_meanwhile_is_told_at_the_reconnect),
    CONVERSATION(node_made_anew_meanwhile_is_not_told_as_deleted),
    CONVERSATION(node_that_came_and_went_meanwhile_is_not_told),
    CONVERSATION(children_made_meanwhile_do_not_fire_a_watch),
    CONVERSATION(missed_events_come_before_the_answers_to_requests_that_waited),
    CONVERSATION(removal_that_waited_for_the_connection),
    CONVERSATION(watch_that_waited_for_the_connection),
    CONVERSATION(watch_whose_reply_was_lost_is_none),
    CONVERSATION(watch_whose_removal_was_lost_is_still_there),
    CONVERSATIONS_END,
};
