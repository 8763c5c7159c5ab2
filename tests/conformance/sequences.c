/* The numbers that servers append to names. */
#include <stddef.h>
#include <stdint.h>

#include "conversation.h"
#include "speaker.h"

static bool numbers_are_not_used_again(void) {
    speaker *a = speaker_enter("a");
    ask_parent(a, "/p");
    ask_create(a, "/p/n-");
    ask_create(a, "/p/n-");
    ask_delete(a, "/p/n-0000000001");
    ask_create(a, "/p/n-");
    ask_delete(a, "/p/n-0000000000");
    ask_delete(a, "/p/n-0000000002");
    ask_create(a, "/p/n-");
    hear(a);
    speaker_leave(a);
    return true;
}

static bool all_creates_of_children_count(void) {
    speaker *a = speaker_enter("a");
    ask_parent(a, "/p");
    ask_parent(a, "/p/x");
    ask_create(a, "/p/n-");
    ask_parent(a, "/p/x"); /* it is there already, so this one does not */
    ask_delete(a, "/p/x");
    ask_create(a, "/p/n-");
    ask_parent(a, "/p/x");
    ask_parent(a, "/p/x/y"); /* nor does a grandchild */
    ask_create(a, "/p/n-");
    hear(a);
    make_by_hand("/p/z");
    enter_stranger();
    make_as_stranger("/p/m-", true);
    ask_create(a, "/p/n-");
    ask_list(a, "/p");
    hear(a);
    leave_stranger();
    speaker_leave(a);
    return true;
}

static bool numbers_of_a_parent_that_is_made_anew_begin_anew(void) {
    speaker *a = speaker_enter("a");
    ask_parent(a, "/p");
    ask_create(a, "/p/n-");
    ask_delete(a, "/p/n-0000000000");
    ask_delete(a, "/p");
    ask_parent(a, "/p");
    ask_create(a, "/p/n-");
    hear(a);
    speaker_leave(a);
    return true;
}

static void ask_and_hear(speaker *self, const char *path, int times) {
    for (int i = 0; i < times; i++) {
        ask_create(self, path);
        hear(self);
    }
}

/* One after the other: what of several the leader has in hand at a time is chance, and of one that
 * a follower has answered it is, too. */
static bool numbers_at_their_end(void) {
    static const stage_age ages[] = {
        { "/near", INT64_C(2147483645) },
        { "/past", INT64_C(2147483648) },
        { "/last", INT64_C(4294967294) },
    };
    for (int i = 0; i < 3; i++) {
        make_by_hand(ages[i].path);
    }
    if (!stage_set_creates(ages, 3)) {
        return false;
    }
    speaker *a = speaker_enter("a");
    ask_and_hear(a, "/near/n-", 3);
    create_past_the_end(a, "/near/n-", BEHIND_THE_LAST); /* the same name */
    create_past_the_end(a, "/near/m-", BEHIND_THE_LAST);
    create_past_the_end(a, "/near/m-", BEHIND_THE_LAST);
    ask_delete(a, "/near/n-2147483647");
    hear(a);
    create_past_the_end(a, "/near/n-", BEHIND_THE_LAST);
    create_past_the_end(a, "/near/n-", BEHIND_THE_LAST);
    ask_and_hear(a, "/past/n-", 2);
    ask_and_hear(a, "/last/n-", 4);
    ask_list(a, "/near");
    ask_list(a, "/past");
    ask_list(a, "/last");
    hear(a);
    speaker_leave(a);
    return true;
}

const conversation sequence_conversations[] = {
    CONVERSATION(numbers_are_not_used_again),
    CONVERSATION(all_creates_of_children_count),
    CONVERSATION(numbers_of_a_parent_that_is_made_anew_begin_anew),
    CONVERSATION(numbers_at_their_end),
    CONVERSATIONS_END,
};
