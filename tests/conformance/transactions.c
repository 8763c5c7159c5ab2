/* Several operations in one multi, all of them or none: by another session, whose answers are
 * written down as the servers give them, and by the library's own connection. */
#include <stddef.h>

#include "conversation.h"
#include "speaker.h"

#define CHECK(node)                                                                                \
    { .kind = STAGE_OPERATION_CHECK, .path = (node), .version = STAGE_ANY_VERSION }
#define CHECK_VERSION(node, number)                                                                \
    { .kind = STAGE_OPERATION_CHECK, .path = (node), .version = (number) }
#define CREATE(node)                                                                               \
    { .kind = STAGE_OPERATION_CREATE, .path = (node) }
#define CREATE_NUMBERED(node)                                                                      \
    { .kind = STAGE_OPERATION_CREATE, .path = (node), .sequential = true }
#define CREATE_EPHEMERAL(node)                                                                     \
    { .kind = STAGE_OPERATION_CREATE, .path = (node), .ephemeral = true }
#define DELETE(node)                                                                               \
    { .kind = STAGE_OPERATION_DELETE, .path = (node), .version = STAGE_ANY_VERSION }
#define DELETE_VERSION(node, number)                                                               \
    { .kind = STAGE_OPERATION_DELETE, .path = (node), .version = (number) }

#define TRANSACT(...) transact((const stage_operation[STAGE_OPERATIONS_MAX + 1]){ __VA_ARGS__ })

/* Ends with one that has no path. */
static void transact(const stage_operation *operations) {
    int count = 0;
    while (operations[count].path != NULL) {
        count++;
    }
    transact_as_stranger(operations, count);
}

/* /p with two children, and someone who looks on. */
static speaker *begin(void) {
    make_by_hand("/p");
    make_by_hand("/p/x");
    make_by_hand("/p/y");
    enter_stranger();
    return speaker_enter("a");
}

static void end(speaker *self) {
    leave_stranger();
    speaker_leave(self);
}

static void look_at_p(speaker *self) {
    catch_up(self);
    ask_list(self, "/p");
    ask_exists(self, "/p/x", 0);
    ask_exists(self, "/p/y", 0);
    hear(self);
}

/* ---- All --------------------------------------------------------------------------- */

static bool transaction_changes_all_at_one_zxid(void) {
    speaker *a = begin();
    TRANSACT(CHECK("/p"), CREATE("/p/z"), DELETE("/p/x"), CREATE_NUMBERED("/p/n-"), CREATE("/q"),
             CREATE("/q/z"), CHECK_VERSION("/p/y", 0), DELETE_VERSION("/p/y", 0));
    look_at_p(a);
    ask_exists(a, "/p/z", 0);
    ask_exists(a, "/p/n-0000000003", 0);
    ask_exists(a, "/q", 0);
    ask_exists(a, "/q/z", 0);
    ask_create(a, "/p/n-");
    hear(a);
    end(a);
    return true;
}

static bool numbers_in_a_transaction_follow_each_other(void) {
    speaker *a = begin();
    ask_create(a, "/p/n-");
    hear(a);
    TRANSACT(CREATE_NUMBERED("/p/n-"), CREATE_NUMBERED("/p/m-"), CREATE("/p/z"),
             CREATE_NUMBERED("/p/x/n-"), CREATE_NUMBERED("/p/n-"), DELETE("/p/n-0000000003"),
             CREATE_NUMBERED("/p/n-"));
    catch_up(a);
    ask_create(a, "/p/n-");
    ask_create(a, "/p/x/n-");
    ask_list(a, "/p");
    hear(a);
    end(a);
    return true;
}

/* What the leader has in hand at once past 2^31 is chance, but for the creates of one multi. */
static bool numbers_in_a_transaction_at_their_end(void) {
    static const stage_age ages[] = {
        { "/near", INT64_C(2147483646) },
        { "/last", INT64_C(4294967294) },
    };
    for (int i = 0; i < 2; i++) {
        make_by_hand(ages[i].path);
    }
    if (!stage_set_creates(ages, 2)) {
        return false;
    }
    enter_stranger();
    speaker *a = speaker_enter("a");
    TRANSACT(CREATE_NUMBERED("/near/n-"), CREATE_NUMBERED("/near/n-"), CREATE_NUMBERED("/near/n-"),
             CHECK("/none"));
    TRANSACT(CREATE_NUMBERED("/near/n-"), CREATE_NUMBERED("/near/n-"), CREATE_NUMBERED("/near/n-"),
             CREATE_NUMBERED("/near/n-"));
    catch_up(a);
    create_past_the_end(a, "/near/m-", BEHIND_THE_LAST + 2);
    create_past_the_end(a, "/near/m-", BEHIND_THE_LAST);
    TRANSACT(CREATE_NUMBERED("/near/k-"), CREATE_NUMBERED("/near/m-"), CREATE_NUMBERED("/near/k-"));
    TRANSACT(CREATE_NUMBERED("/near/k-"), CREATE_NUMBERED("/near/n-"));
    TRANSACT(CREATE_NUMBERED("/last/n-"), CREATE_NUMBERED("/last/n-"), CHECK("/none"));
    TRANSACT(CREATE_NUMBERED("/last/n-"), CREATE_NUMBERED("/last/n-"), CREATE_NUMBERED("/last/n-"),
             CREATE_NUMBERED("/last/n-"));
    catch_up(a);
    ask_create(a, "/last/n-");
    ask_list(a, "/near");
    ask_list(a, "/last");
    hear(a);
    end(a);
    return true;
}

static bool later_operations_of_a_transaction_see_the_earlier_ones(void) {
    speaker *a = begin();
    TRANSACT(CREATE("/q"), CHECK_VERSION("/q", 0), CREATE("/q/z"), DELETE("/q/z"), DELETE("/q"));
    TRANSACT(DELETE("/p/x"), DELETE("/p/y"), DELETE("/p"), CREATE("/p"), CREATE_NUMBERED("/p/n-"));
    catch_up(a);
    ask_exists(a, "/q", 0);
    ask_list(a, "/p");
    ask_create(a, "/p/n-");
    hear(a);
    TRANSACT(DELETE("/p/n-0000000000"), CHECK("/p/n-0000000000"));
    TRANSACT(CREATE("/q"), CREATE("/q"));
    TRANSACT(CREATE_EPHEMERAL("/q"), CREATE("/q/z"));
    end(a);
    return true;
}

static bool nodes_made_in_a_transaction_belong_to_its_session(void) {
    speaker *a = begin();
    ask_create(a, "/p/n-");
    hear(a);
    TRANSACT(CREATE_EPHEMERAL("/p/e"), CREATE("/p/z"), DELETE("/p/n-0000000002"),
             CREATE_EPHEMERAL("/p/n-0000000002"));
    catch_up(a);
    ask_exists(a, "/p/z", 0);
    ask_exists(a, "/p/e", 1);
    ask_exists(a, "/p/n-0000000002", 0);
    hear(a);
    leave_stranger();
    catch_up(a);
    ask_list(a, "/p");
    hear(a);
    speaker_leave(a);
    return true;
}

/* ---- Or none ----------------------------------------------------------------------- */

static bool check_of_a_missing_node_fails_the_transaction(void) {
    speaker *a = begin();
    TRANSACT(CREATE("/p/z"), DELETE("/p/x"), CHECK("/p/none"), CREATE_NUMBERED("/p/n-"),
             DELETE("/p/y"));
    look_at_p(a);
    TRANSACT(CHECK("/p/none"), DELETE("/p/x"));
    TRANSACT(CREATE_EPHEMERAL("/p/e"), CREATE_NUMBERED("/p/n-"), CHECK("/p/none"));
    look_at_p(a);
    ask_create(a, "/p/n-"); /* none of theirs has taken a number */
    hear(a);
    end(a);
    return true;
}

static bool check_of_another_version_fails_the_transaction(void) {
    speaker *a = begin();
    TRANSACT(CREATE("/p/z"), CHECK_VERSION("/p/x", 0), CHECK_VERSION("/p/x", 1), DELETE("/p/x"));
    TRANSACT(DELETE("/p/y"), DELETE_VERSION("/p/x", 1), CHECK("/p"));
    look_at_p(a);
    end(a);
    return true;
}

static bool first_failure_is_that_of_the_transaction(void) {
    speaker *a = begin();
    TRANSACT(CHECK("/p"), CREATE("/p/x"), CHECK("/p/none"), CREATE("/p/y"));
    TRANSACT(DELETE("/p/none"), CREATE("/p/x"));
    TRANSACT(CREATE("/none/z"), CHECK_VERSION("/p", 1));
    TRANSACT(DELETE("/p/x"), DELETE("/p"), DELETE("/p/y"));
    TRANSACT(CREATE("/p/z"), DELETE("/p/z"), CREATE("/p/z"), DELETE("/p/x"), CREATE("/p/x"),
             DELETE("/p/x"), CHECK("/p/x"));
    look_at_p(a);
    end(a);
    return true;
}

/* ---- Watches ----------------------------------------------------------------------- */

static bool watches_fire_once_in_the_order_of_the_operations(void) {
    speaker *a = begin();
    ask_exists(a, "/p/x", 1);
    ask_exists(a, "/p/y", 2);
    ask_exists(a, "/p/z", 3);
    ask_exists(a, "/p", 4);
    hear(a);
    TRANSACT(DELETE("/p/y"), CREATE("/p/z"), CHECK("/p"), DELETE("/p/x"), DELETE("/p/z"));
    catch_up(a);
    count_watches(a);
    ask_exists(a, "/p/x", 5);
    ask_exists(a, "/p/y", 6);
    hear(a);
    TRANSACT(CREATE("/p/x"), DELETE("/p"), CREATE("/p/y"));
    TRANSACT(CREATE("/p/x"), CREATE("/p/y"));
    catch_up(a);
    count_watches(a);
    end(a);
    return true;
}

static bool node_made_anew_in_a_transaction_is_told_as_deleted(void) {
    speaker *a = begin();
    ask_exists(a, "/p/x", 1);
    hear(a);
    TRANSACT(DELETE("/p/x"), CREATE("/p/x"));
    look_at_p(a);
    count_watches(a);
    ask_exists(a, "/p/x", 2);
    hear(a);
    TRANSACT(DELETE("/p/x"), CREATE("/p/x"), DELETE("/p/x"), CREATE_EPHEMERAL("/p/x"));
    look_at_p(a);
    end(a);
    return true;
}

static bool transaction_that_fails_fires_no_watch(void) {
    speaker *a = begin();
    ask_exists(a, "/p/x", 1);
    ask_exists(a, "/p/z", 2);
    hear(a);
    TRANSACT(DELETE("/p/x"), CREATE("/p/z"), CHECK("/p/none"));
    catch_up(a);
    count_watches(a);
    TRANSACT(DELETE("/p/x"), CREATE("/p/z"));
    catch_up(a);
    end(a);
    return true;
}

/* ---- By the library's connection ----------------------------------------------------- */

#define ASK(self, ...)                                                                             \
    ask_all((self), (const zkl_multi_operation[SPEAKER_OPERATIONS_MAX + 1]){ __VA_ARGS__ })
#define OPERATION(which, node, number)                                                             \
    { .kind = ZKL_MULTI_##which, .path = (node), .data = "data", .size = 4, .version = (number) }

/* Ends with one that has no path. */
static void ask_all(speaker *self, const zkl_multi_operation *operations) {
    size_t count = 0;
    while (operations[count].path != NULL) {
        count++;
    }
    ask_transact(self, operations, count);
}

static speaker *begin_alone(void) {
    make_by_hand("/p");
    make_by_hand("/p/x");
    return speaker_enter("a");
}

static bool own_transaction_is_applied_as_a_whole(void) {
    speaker *a = begin_alone();
    ask_exists(a, "/p", 1);
    hear(a);
    ASK(a, OPERATION(CHECK, "/p", ZKL_ANY_VERSION), OPERATION(SET, "/p", 0),
        OPERATION(CREATE_EPHEMERAL_SEQUENTIAL, "/p/n-", 0),
        OPERATION(CREATE_PERSISTENT_SEQUENTIAL, "/p/m-", 0), OPERATION(CREATE_EPHEMERAL, "/p/e", 0),
        OPERATION(CREATE_PERSISTENT, "/p/z", 0), OPERATION(REMOVE, "/p/x", 0),
        OPERATION(CHECK, "/p", 1));
    hear(a);
    ask_list(a, "/p");
    ask_exists(a, "/p/n-0000000001", 0);
    ask_exists(a, "/p/m-0000000002", 0);
    ask_exists(a, "/p/e", 0);
    hear(a);
    ASK(a, OPERATION(SET, "/p", 1), OPERATION(SET, "/p", 2), OPERATION(CHECK, "/p", 3));
    hear(a);
    speaker_leave(a);
    return true;
}

static bool own_transaction_fails_with_its_first_failure(void) {
    speaker *a = begin_alone();
    ASK(a, OPERATION(CHECK, "/none", ZKL_ANY_VERSION), OPERATION(SET, "/p", 0));
    hear(a);
    ASK(a, OPERATION(SET, "/p", 0), OPERATION(CREATE_EPHEMERAL, "/none/x", 0),
        OPERATION(CHECK, "/none", 0));
    hear(a);
    ASK(a, OPERATION(CREATE_EPHEMERAL_SEQUENTIAL, "/p/n-", 0),
        OPERATION(CREATE_PERSISTENT, "/p/x", 0));
    hear(a);
    ASK(a, OPERATION(SET, "/p", 1));
    hear(a);
    ASK(a, OPERATION(CHECK, "/p", 1), OPERATION(REMOVE, "/p/x", 0));
    hear(a);
    ASK(a, OPERATION(SET, "/p", 0), OPERATION(REMOVE, "/p", ZKL_ANY_VERSION));
    hear(a);
    ASK(a, OPERATION(SET, "/none", 0));
    hear(a);
    ASK(a, OPERATION(CREATE_EPHEMERAL, "/p/e", 0), OPERATION(CREATE_PERSISTENT, "/p/e/z", 0));
    hear(a);
    ask_list(a, "/p");
    hear(a);
    ASK(a, OPERATION(CHECK, "/p", 0));
    hear(a);
    speaker_leave(a);
    return true;
}

static void look_at_data(speaker *self) {
    hear_until(self, "connected");
    catch_up(self);
    ASK(self, OPERATION(CHECK, "/p", 0));
    hear(self);
}

static bool lost_transaction(void) {
    speaker *a = begin_alone();
    cut_next(a, STAGE_TRANSACT, STAGE_REQUEST_LOST);
    ASK(a, OPERATION(CHECK, "/p/x", ZKL_ANY_VERSION), OPERATION(SET, "/p", 0));
    look_at_data(a);
    cut_next(a, STAGE_TRANSACT, STAGE_REPLY_LOST);
    ASK(a, OPERATION(CHECK, "/p/x", ZKL_ANY_VERSION), OPERATION(SET, "/p", 0));
    look_at_data(a);
    speaker_leave(a);
    return true;
}

static bool change_of_data_meanwhile_is_told_at_the_reconnect(void) {
    speaker *a = begin_alone();
    speaker *b = speaker_enter("b");
    ask_exists(a, "/p", 1);
    ask_exists(a, "/p/x", 2);
    hear(a);
    cut_next_and_stay_away(a, STAGE_LIST, STAGE_REQUEST_LOST);
    ask_list(a, "/p");
    hear_until(a, "connecting");
    ASK(b, OPERATION(SET, "/p", 0));
    hear(b);
    admit(a);
    hear_until(a, "watch 1");
    catch_up(a);
    ASK(b, OPERATION(SET, "/p/x", 0));
    hear(b);
    catch_up(a);
    count_watches(a);
    speaker_leave(b);
    speaker_leave(a);
    return true;
}

/* Whoever watches hears of the first of the two; whoever was away, of the last; and nobody, of a
 * transaction that fails. */
static bool node_that_is_set_and_deleted_at_once_is_told_as_changed(void) {
    make_by_hand("/y");
    speaker *a = begin_alone();
    speaker *b = speaker_enter("b");
    ask_exists(a, "/p/x", 1);
    ask_exists(a, "/y", 2);
    hear(a);
    ask_exists(b, "/p/x", 3);
    hear(b);
    ASK(b, OPERATION(SET, "/p/x", ZKL_ANY_VERSION), OPERATION(REMOVE, "/none", ZKL_ANY_VERSION));
    hear(b);
    ASK(b, OPERATION(SET, "/p/x", ZKL_ANY_VERSION), OPERATION(REMOVE, "/p/x", ZKL_ANY_VERSION));
    hear(b);
    hear_until(a, "watch 1");
    catch_up(a);
    cut_next_and_stay_away(a, STAGE_LIST, STAGE_REQUEST_LOST);
    ask_list(a, "/p");
    hear_until(a, "connecting");
    ASK(b, OPERATION(SET, "/y", ZKL_ANY_VERSION), OPERATION(REMOVE, "/y", ZKL_ANY_VERSION));
    hear(b);
    admit(a);
    hear_until(a, "watch 2");
    catch_up(a);
    count_watches(a);
    speaker_leave(b);
    speaker_leave(a);
    return true;
}

/* ---- Containers: what the transactions of the leader delete --------------------------- */

static bool container_goes_some_time_after_its_last_child(void) {
    speaker *a = speaker_enter("a");
    ask_container(a, "/c");
    ask_container(a, "/c");
    ask_container(a, "/never");
    ask_parent(a, "/plain");
    ask_create(a, "/c/n-");
    ask_create(a, "/plain/n-");
    ask_exists(a, "/c", 1);
    hear(a);
    ask_delete(a, "/c/n-0000000000");
    ask_delete(a, "/plain/n-0000000000");
    hear(a);
    hear_until(a, "watch 1");
    ask_create(a, "/c/n-");
    ask_exists(a, "/never", 0);
    ask_exists(a, "/plain", 0);
    hear(a);
    ask_container(a, "/c");
    ask_create(a, "/c/n-");
    hear(a);
    speaker_leave(a);
    return true;
}

const conversation transaction_conversations[] = {
    CONVERSATION(transaction_changes_all_at_one_zxid),
    CONVERSATION(numbers_in_a_transaction_follow_each_other),
    CONVERSATION(numbers_in_a_transaction_at_their_end),
    CONVERSATION(later_operations_of_a_transaction_see_the_earlier_ones),
    CONVERSATION(nodes_made_in_a_transaction_belong_to_its_session),
    CONVERSATION(check_of_a_missing_node_fails_the_transaction),
    CONVERSATION(check_of_another_version_fails_the_transaction),
    CONVERSATION(first_failure_is_that_of_the_transaction),
    CONVERSATION(watches_fire_once_in_the_order_of_the_operations),
    CONVERSATION(node_made_anew_in_a_transaction_is_told_as_deleted),
    CONVERSATION(transaction_that_fails_fires_no_watch),
    CONVERSATION(own_transaction_is_applied_as_a_whole),
    CONVERSATION(own_transaction_fails_with_its_first_failure),
    CONVERSATION(lost_transaction),
    CONVERSATION(change_of_data_meanwhile_is_told_at_the_reconnect),
    CONVERSATION(node_that_is_set_and_deleted_at_once_is_told_as_changed),
    CONVERSATION(container_goes_some_time_after_its_last_child),
    CONVERSATIONS_END,
};
