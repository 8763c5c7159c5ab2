/* The simulated servers: what they promise, what their faults do, and that a seed says it all. */
#include <stdio.h>
#include <string.h>

#include "support/caller.h"

enum { TICK_MS = 100, TIMEOUT_MS = 600 };

static zkl_ensemble *ensemble;
static uint32_t leader;
static uint32_t follower;
static uint32_t other;

static void begin_with(const zkl_ensemble_options *options) {
    ensemble = caller_world_begin(1, options);
    leader = zkl_ensemble_leader(ensemble);
    follower = (leader + 1) % 3;
    other = (leader + 2) % 3;
}

static void begin(void) {
    begin_with(NULL);
}

static void make(const char *path) {
    EXPECT_INT(zkl_ensemble_create(ensemble, 0, path, "", false, false, NULL, 0),
               ZKL_SERVER_ERROR_NONE);
}

static bool exists(const char *path) {
    return zkl_tree_find(zkl_ensemble_tree(ensemble), path, ZKL_LATEST_ZXID) != NULL;
}

static bool is_alive(const caller *self) {
    return zkl_ensemble_session_is_alive(ensemble, self->session_id);
}

/* Asks again and again, as a client with a pulse of its own does. */
static void list_for(caller *self, int64_t ms) {
    for (int64_t i = 0; i < ms / 20; i++) {
        caller_list(self, "/");
        run_ms(20);
    }
}

/* ---- Sessions -------------------------------------------------------------------------------- */

TEST(follower_that_is_cut_off_goes_on_reading_while_the_leader_ends_its_sessions) {
    caller self;
    zkl_ensemble_options options = caller_options();
    options.sync_limit_ticks = 10;
    begin_with(&options);
    caller_open_on(&self, 3 * TICK_MS, follower);
    caller_create(&self, "/mine-");
    run_ms(10);
    caller_forget_log(&self);
    zkl_ensemble_cut_off_server(ensemble, follower);
    list_for(&self, 6 * TICK_MS);
    EXPECT(!is_alive(&self) && !exists("/mine-0000000000"));
    EXPECT(strstr(self.log, "list OK mine-0000000000\n") != NULL); /* old news */
    EXPECT(strstr(self.log, "connecting") == NULL);
    caller_forget_log(&self);
    run_ms(6 * TICK_MS); /* it notices, and the next server knows */
    EXPECT_LOG(&self, "connecting", "expired");
    caller_close(&self);
    caller_world_end();
}

/* As all that is sent to it: on one connection nothing is lost but with the connection. */
TEST(pings_wait_for_a_server_that_is_cut_off) {
    caller self;
    zkl_ensemble_options options = caller_options();
    options.sync_limit_ticks = 10;
    begin_with(&options);
    caller_open_on(&self, 3 * TICK_MS, follower);
    list_for(&self, 2 * TICK_MS);
    run_ms(TICK_MS - zkl_world_now_us() / MS % TICK_MS + 5); /* just after a ping */
    zkl_ensemble_cut_off_server(ensemble, follower);
    list_for(&self, 4 * TICK_MS - 25); /* sessions end with a tick */
    zkl_ensemble_mend_server(ensemble, follower);
    run_ms(40); /* past the end of the session, but for what was held up */
    EXPECT(is_alive(&self));
    caller_close(&self);
    caller_world_end();
}

/* ---- Writes that come late, or never --------------------------------------------------------- */

TEST(late_create_is_made_after_a_list_on_the_next_connection_has_not_shown_it) {
    caller self;
    begin();
    make("/p");
    run_ms(5);
    caller_open_on(&self, TIMEOUT_MS, follower);
    zkl_ensemble_cut_next(ensemble, self.session_id, ZKL_CALL_CREATE, ZKL_CUT_REPLIES_LOST,
                          100 * MS);
    caller_create(&self, "/p/n-");
    run_ms(30);
    EXPECT_LOG(&self, "connecting", "create UNKNOWN", "connected");
    caller_list(&self, "/p");
    run_ms(5);
    EXPECT_LOG(&self, "list OK");
    run_ms(100);
    caller_list(&self, "/p");
    run_ms(5);
    EXPECT_LOG(&self, "list OK n-0000000000");
    caller_close(&self);
    caller_world_end();
}

/* The session is then at that server again: the next write elsewhere is refused, as it has moved.
 */
TEST(create_that_is_held_back_comes_behind_a_write_of_the_next_connection) {
    caller self;
    begin();
    make("/p");
    run_ms(5);
    caller_open_on(&self, TIMEOUT_MS, follower);
    zkl_ensemble_cut_next(ensemble, self.session_id, ZKL_CALL_CREATE, ZKL_CUT_HELD_BACK, 100 * MS);
    caller_create(&self, "/p/n-");
    run_ms(30);
    caller_create(&self, "/p/n-");
    run_ms(5);
    caller_list(&self, "/p");
    run_ms(5);
    EXPECT_LOG(&self, "connecting", "create UNKNOWN", "connected", "create OK /p/n-0000000000",
               "list OK n-0000000000");
    run_ms(100);
    EXPECT(exists("/p/n-0000000001"));
    caller_forget_log(&self);
    caller_delete(&self, "/p/n-0000000000");
    run_ms(30);
    EXPECT_LOG(&self, "connecting", "delete UNKNOWN", "connected");
    EXPECT(exists("/p/n-0000000000"));
    caller_close(&self);
    caller_world_end();
}

TEST(create_that_is_held_back_comes_whatever_its_client_has_done_since) {
    caller self;
    begin();
    make("/p");
    run_ms(5);
    caller_open_on(&self, TIMEOUT_MS, follower);
    zkl_ensemble_cut_next(ensemble, self.session_id, ZKL_CALL_CREATE, ZKL_CUT_HELD_BACK, 100 * MS);
    caller_create(&self, "/p/n-");
    run_ms(30);
    caller_create(&self, "/p/o-");
    run_ms(100);
    EXPECT(exists("/p/o-0000000000") && exists("/p/n-0000000001"));
    caller_close(&self);
    caller_world_end();
}

/* ---- Servers that refuse --------------------------------------------------------------------- */

/* The parent's rights are looked at before the node is looked for, and a node's own only where it
 * is there. */
TEST(rights_are_looked_at_before_the_node) {
    caller self;
    begin();
    make("/p");
    make("/p/x");
    caller_open_on(&self, TIMEOUT_MS, leader);
    zkl_ensemble_withhold(ensemble, "/p", ZKL_RIGHT_READ | ZKL_RIGHT_DELETE, ZKL_FOREVER);
    zkl_ensemble_withhold(ensemble, "/none", ZKL_RIGHT_READ | ZKL_RIGHT_DELETE, ZKL_FOREVER);
    caller_delete(&self, "/p/none");
    caller_delete(&self, "/none/x");
    caller_list(&self, "/p");
    caller_exists(&self, "/p", 0);
    caller_exists(&self, "/none", 0);
    caller_list(&self, "/p/x");
    run_ms(10);
    EXPECT_LOG(&self, "delete REFUSED", "delete NO_NODE", "list REFUSED", "exists REFUSED",
               "exists NO_NODE", "list OK");
    zkl_ensemble_heal(ensemble); /* it is no fault */
    caller_list(&self, "/p");
    run_ms(10);
    EXPECT_LOG(&self, "list REFUSED");
    caller_close(&self);
    caller_world_end();
}

/* Seen on 3.9.3 with enableEagerACLCheck: libzookeeper leaves a connection on which an answer comes
 * before its turn. Transactions are not looked at. */
TEST(early_refusal_that_overtakes_an_answer_breaks_the_connection) {
    const zkl_multi_operation removal = { .kind = ZKL_MULTI_REMOVE,
                                          .path = "/p/none",
                                          .version = ZKL_ANY_VERSION };
    zkl_ensemble_options options = caller_options();
    caller self;
    options.checks_early = true;
    begin_with(&options);
    make("/p");
    caller_open_on(&self, TIMEOUT_MS, follower);
    zkl_ensemble_withhold(ensemble, "/p", ZKL_RIGHT_DELETE, ZKL_FOREVER);
    int64_t before = zkl_ensemble_committed_zxid(ensemble);
    caller_delete(&self, "/p/none");
    run_ms(10);
    EXPECT_LOG(&self, "delete REFUSED");
    EXPECT_INT(zkl_ensemble_committed_zxid(ensemble), before); /* nobody has asked the leader */
    caller_transact(&self, &removal, 1);
    run_ms(10);
    EXPECT_LOG(&self, "transact REFUSED : REFUSED!");
    EXPECT_INT(zkl_ensemble_committed_zxid(ensemble), before + 1);
    caller_make_parent(&self, "/q");
    caller_delete(&self, "/p/none");
    run_ms(10);
    EXPECT_LOG(&self, "connecting", "parent UNKNOWN", "delete UNKNOWN", "connected");
    EXPECT(exists("/q"));
    caller_close(&self);
    caller_world_end();
}

/* ---- Numbers at their end ----------------------------------------------------------------- */

/* What a create gets behind the one with the last number: refused, as the name is there, or the
 * next number in 32 bits. */
static bool number_behind_the_last_is_negative(uint64_t seed, bool on_leader) {
    caller self;
    ensemble = caller_world_begin(seed, NULL);
    leader = zkl_ensemble_leader(ensemble);
    make("/p");
    run_ms(5);
    caller_open_on(&self, TIMEOUT_MS, on_leader ? leader : (leader + 1) % 3);
    EXPECT(zkl_ensemble_set_creates(ensemble, "/p", INT32_MAX));
    caller_create(&self, "/p/n-");
    while (strstr(self.log, "create") == NULL) {
        zkl_world_sleep_us(100);
    }
    EXPECT_LOG(&self, "create OK /p/n-2147483647");
    caller_create(&self, "/p/n-");
    run_ms(20);
    bool negative = strstr(self.log, "REFUSED") == NULL;
    if (negative) {
        EXPECT_LOG(&self, "create OK /p/n--2147483648");
        caller_create(&self, "/p/m-"); /* which the leader has in hand no more */
        run_ms(20);
        EXPECT_LOG(&self, "create OK /p/m-2147483647");
    }
    caller_close(&self);
    caller_world_end();
    return negative;
}

TEST(number_behind_the_last_is_refused_or_negative_as_the_leader_has_it_in_hand) {
    int negative = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        negative += number_behind_the_last_is_negative(seed, false) ? 1 : 0;
        EXPECT(
            !number_behind_the_last_is_negative(seed, true)); /* it answers when it has done it */
    }
    EXPECT(negative >= 5);
    EXPECT(negative <= 35);
}
