/* Credentials, ACLs, and who may do what. */
#include <stddef.h>
#include <string.h>

#include "conversation.h"
#include "speaker.h"

static const char closed[] = "auth::cdrwa";
static const char readable[] = "world:anyone:r,auth::cdrwa";

static speaker *enter_as(const char *name, const char *secret) {
    speaker *self = speaker_enter_as(name, "digest", secret, strlen(secret));
    hear_until(self, "connected");
    return self;
}

static void ask_all(speaker *self) {
    catch_up(self);
    ask_list(self, "/p");
    ask_exists(self, "/p", 0);
    ask_exists(self, "/p/n-0000000000", 0);
    ask_exists(self, "/p/none", 0);
    ask_get(self, "/p/n-0000000000");
    ask_set(self, "/p/n-0000000000");
    ask_create(self, "/p/other-");
    ask_delete(self, "/p/other-0000000001");
    ask_delete(self, "/p/none");
    ask_delete(self, "/p/n-0000000000");
    hear(self);
}

static void make_queue(speaker *self, const char *acl) {
    use_acl(self, acl);
    ask_parent(self, "/p");
    ask_create(self, "/p/n-");
    hear(self);
}

/* Nobody else could. */
static void leave_nothing(speaker *self) {
    ask_delete(self, "/p/n-0000000000");
    ask_delete(self, "/p/m");
    ask_delete(self, "/p");
    hear(self);
    speaker_leave(self);
}

static bool queue_that_is_closed(void) {
    speaker *a = enter_as("a", "stock:secret");
    speaker *b = speaker_enter("b");
    speaker *c = enter_as("c", "sales:secret");
    speaker *d = enter_as("d", "stock:secret");
    make_queue(a, closed);
    ask_all(b);
    ask_all(c);
    ask_all(d);
    speaker_leave(d);
    speaker_leave(c);
    speaker_leave(b);
    leave_nothing(a);
    return true;
}

static bool queue_that_others_may_read(void) {
    speaker *a = enter_as("a", "stock:secret");
    speaker *b = speaker_enter("b");
    make_queue(a, readable);
    ask_all(b);
    speaker_leave(b);
    leave_nothing(a);
    return true;
}

static bool acl_of_an_explicit_identity(void) {
    speaker *a = enter_as("a", "super:superpw");
    speaker *b = enter_as("b", "super:other");
    make_queue(a, "digest:super:g9oN2HttPfn8MMWJZ2r45Np/LIA=:cdrwa");
    ask_all(b);
    ask_all(a);
    speaker_leave(b);
    leave_nothing(a);
    return true;
}

/* As the nodes of locks that are protected. */
static bool node_that_one_identity_alone_may_set(void) {
    speaker *a = enter_as("a", "super:superpw");
    speaker *b = enter_as("b", "super:other");
    use_acl(a, "world:anyone:cdrwa");
    ask_parent(a, "/p");
    use_acl(a, "world:anyone:rcd,digest:super:g9oN2HttPfn8MMWJZ2r45Np/LIA=:wa");
    ask_create(a, "/p/n-");
    hear(a);
    catch_up(b);
    ask_set(b, "/p/n-0000000000");
    ask_get(b, "/p/n-0000000000");
    hear(b);
    ask_set(a, "/p/n-0000000000");
    hear(a);
    speaker_leave(b);
    leave_nothing(a);
    return true;
}

static bool acl_is_read_and_replaced(void) {
    speaker *a = enter_as("a", "super:superpw");
    speaker *b = enter_as("b", "super:other");
    use_acl(a, NULL);
    ask_parent(a, "/p");
    ask_get_acl(a, "/p");
    hear(a); /* simulated servers all have a new one at once */
    use_acl(a, "digest:super:g9oN2HttPfn8MMWJZ2r45Np/LIA=:cdrwa");
    ask_set_acl(a, "/p");
    ask_get_acl(a, "/p");
    ask_set_acl(a, "/none");
    ask_get_acl(a, "/none");
    hear(a);
    catch_up(b);
    use_acl(b, "world:anyone:cdrwa");
    ask_list(b, "/p");
    ask_get_acl(b, "/p");
    ask_set_acl(b, "/p");
    hear(b);
    speaker_leave(b);
    leave_nothing(a);
    return true;
}

static bool digest_that_is_none_is_refused(void) {
    speaker *a = enter_as("a", "stock:secret");
    use_acl(a, "digest:nobody:cdrwa");
    ask_parent(a, "/p");
    hear(a);
    speaker_leave(a);
    return true;
}

static bool nobody_has_no_identity_for_an_acl(void) {
    speaker *a = speaker_enter("a");
    use_acl(a, closed);
    ask_parent(a, "/p");
    ask_create(a, "/n-");
    hear(a);
    speaker_leave(a);
    return true;
}

static bool scheme_that_the_servers_do_not_know(void) {
    speaker *a = speaker_enter_as("a", "unheard-of", "stock:secret", strlen("stock:secret"));
    hear_until(a, "authentication failed");
    speaker_leave(a);
    return true;
}

static speaker *enter_with_nul(const char *name, const char secret[14]) {
    speaker *self = speaker_enter_as(name, "digest", secret, 13);
    hear_until(self, "connected");
    return self;
}

/* What is behind it counts. */
static bool secret_with_a_nul(void) {
    speaker *a = enter_with_nul("a", "stock:se\0cret");
    speaker *b = enter_as("b", "stock:se");
    speaker *c = enter_with_nul("c", "stock:se\0tter");
    speaker *d = enter_with_nul("d", "stock:se\0cret");
    make_queue(a, closed);
    ask_all(b);
    ask_all(c);
    ask_all(d);
    speaker_leave(d);
    speaker_leave(c);
    speaker_leave(b);
    leave_nothing(a);
    return true;
}

static bool credentials_are_shown_again_at_a_reconnect(void) {
    speaker *a = enter_as("a", "stock:secret");
    make_queue(a, closed);
    cut_next(a, STAGE_LIST, STAGE_REPLY_LOST);
    ask_list(a, "/p");
    hear_until(a, "connected");
    ask_all(a);
    leave_nothing(a);
    return true;
}

static bool credentials_are_shown_in_the_next_session(void) {
    speaker *a = enter_as("a", "stock:secret");
    use_acl(a, closed);
    ask_parent(a, "/p");
    hear(a);
    speaker_reopen(a);
    ask_create(a, "/p/n-");
    ask_list(a, "/p");
    hear(a);
    leave_nothing(a);
    return true;
}

static bool events_of_a_node_are_not_told_to_who_may_not_read_it(void) {
    speaker *a = enter_as("a", "stock:secret");
    speaker *b = speaker_enter("b");
    ask_exists(b, "/p", 1);
    hear(b);
    use_acl(a, closed);
    ask_parent(a, "/p");
    hear(a);
    catch_up(b);
    count_watches(b);
    ask_delete(a, "/p");
    hear(a);
    catch_up(b);
    speaker_leave(b);
    speaker_leave(a);
    return true;
}

static bool children_are_not_told_to_who_may_read_only_them(void) {
    speaker *a = enter_as("a", "stock:secret");
    speaker *b = speaker_enter("b");
    use_acl(a, closed);
    ask_parent(a, "/p");
    use_acl(a, NULL);
    ask_create(a, "/p/n-");
    hear(a);
    ask_exists(b, "/p/n-0000000000", 1);
    ask_children(b, "/p", 2);
    hear(b);
    ask_delete(a, "/p/n-0000000000");
    hear(a);
    hear_until(b, "watch 1");
    catch_up(b);
    speaker_leave(b);
    leave_nothing(a);
    return true;
}

static void lose_connection(speaker *self) {
    cut_next(self, STAGE_LIST, STAGE_REPLY_LOST);
    ask_list(self, "");
    hear_until(self, "connected");
    catch_up(self);
}

/* b may not read when the children change: the server drops the event, and the watch. */
static void lose_the_event(speaker *a, speaker *b) {
    make_queue(a, readable);
    catch_up(b);
    ask_children(b, "/p", 1);
    hear(b);
    use_acl(a, closed);
    ask_set_acl(a, "/p");
    ask_delete(a, "/p/n-0000000000");
    hear(a);
    catch_up(b);
    ask_unwatch_children(b, "/p");
    hear(b);
}

static bool watch_whose_event_was_dropped_is_set_again(void) {
    speaker *a = enter_as("a", "stock:secret");
    speaker *b = speaker_enter("b");
    lose_the_event(a, b);
    lose_connection(b);
    ask_unwatch_children(b, "/p");
    hear(b);
    lose_connection(b);
    ask_unwatch_children(b, "/p");
    hear(b);
    speaker_leave(b);
    leave_nothing(a);
    return true;
}

static bool watch_that_is_forgotten_is_not_set_again(void) {
    speaker *a = enter_as("a", "stock:secret");
    speaker *b = speaker_enter("b");
    lose_the_event(a, b);
    forget_children(b, "/p");
    ask_unwatch_children(b, "/p");
    hear(b);
    lose_connection(b);
    ask_unwatch_children(b, "/p");
    hear(b);
    speaker_leave(b);
    leave_nothing(a);
    return true;
}

static bool transaction_of_who_may_not(void) {
    speaker *a = enter_as("a", "stock:secret");
    speaker *b = speaker_enter("b");
    make_queue(a, readable);
    const zkl_multi_operation check_and_create[] = {
        { .kind = ZKL_MULTI_CHECK, .path = "/p/n-0000000000", .version = ZKL_ANY_VERSION },
        { .kind = ZKL_MULTI_CREATE_EPHEMERAL, .path = "/p/m" },
    };
    ask_transact(b, check_and_create, 1);
    ask_transact(b, check_and_create, 2);
    hear(b);
    use_acl(a, closed);
    ask_transact(a, check_and_create, 2);
    hear(a);
    catch_up(b);
    ask_exists(b, "/p/m", 0);
    hear(b);
    speaker_leave(b);
    leave_nothing(a);
    return true;
}

const conversation right_conversations[] = {
    CONVERSATION(queue_that_is_closed),
    CONVERSATION(queue_that_others_may_read),
    CONVERSATION(acl_of_an_explicit_identity),
    CONVERSATION(node_that_one_identity_alone_may_set),
    CONVERSATION(acl_is_read_and_replaced),
    CONVERSATION(digest_that_is_none_is_refused),
    CONVERSATION(nobody_has_no_identity_for_an_acl),
    CONVERSATION(scheme_that_the_servers_do_not_know),
    CONVERSATION(secret_with_a_nul),
    CONVERSATION(credentials_are_shown_again_at_a_reconnect),
    CONVERSATION(credentials_are_shown_in_the_next_session),
    CONVERSATION(events_of_a_node_are_not_told_to_who_may_not_read_it),
    CONVERSATION(children_are_not_told_to_who_may_read_only_them),
    CONVERSATION(watch_whose_event_was_dropped_is_set_again),
    CONVERSATION(watch_that_is_forgotten_is_not_set_again),
    CONVERSATION(transaction_of_who_may_not),
    CONVERSATIONS_END,
};
