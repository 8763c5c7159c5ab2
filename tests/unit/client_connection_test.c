/*
 * How a client keeps its sessions connected: names that cannot be resolved, or lead elsewhere,
 * connections that cannot be opened, and what happens while one is opened.
 */
#include <stdlib.h>
#include <string.h>

#include "client/client.h"
#include "connection/resolve.h"
#include "support/participant.h"
#include "testing/client_connection.h"
#include "testing/ensemble.h"
#include "testing/machine.h"

enum {
    SECOND_US = 1000000,
    SOON_MS = 500,
    RETRY_MS = 1000,              /* session_threads.c: RETRY_PAUSE_MS */
    LOOK_UP_CONNECTED_MS = 60000, /* and LOOK_UP_CONNECTED_MS, */
    ATTEMPTS_OF_TIMEOUT = 6,      /* ATTEMPTS_OF_TIMEOUT */
    LONG_TIMEOUT_MS = 40000,      /* 20 ticks */
    MOVES = 8,
    SEEDS = 100,
    SERVERS = 5,
    ALL_SERVERS = 7 /* as a set: three */
};

static participant holder;

/* Holds, in a session that outlives what is done to its connections. */
static void begin_with(int32_t session_timeout_ms) {
    zkl_testing_begin(NULL);
    participant_open_with(&holder, session_timeout_ms);
    EXPECT_INT(participant_acquire(&holder, 0), ZKL_OK);
}

static void end(int release_status) {
    EXPECT_INT(zkl_lock_release(holder.lock, LONG_TIMEOUT_MS), release_status);
    EXPECT_INT(participant_acquire(&holder, LONG_TIMEOUT_MS), ZKL_OK);
    EXPECT_INT(zkl_lock_release(holder.lock, LONG_TIMEOUT_MS), ZKL_OK);
    participant_close(&holder);
    EXPECT_INT(zkl_testing_count_sessions(), 0);
    zkl_testing_end();
}

static zkl_client_information information(void) {
    zkl_client_information information = ZKL_CLIENT_INFORMATION_INIT;
    EXPECT_INT(zkl_client_info(holder.client, &information), ZKL_OK);
    return information;
}

static int is_connected(void *arg) {
    (void)arg;
    return information().connected;
}

static int is_disconnected(void *arg) {
    return !is_connected(arg);
}

/* How long it takes until the client has a connection. */
static int64_t time_to_connect(int64_t within_ms) {
    int64_t start = zkl_testing_now_ms();
    EXPECT_INT(zkl_testing_wait_until(is_connected, NULL, within_ms), 1);
    return zkl_testing_now_ms() - start;
}

/* -1: it has none, which the client may not know yet. */
static int32_t find_server(void) {
    return zkl_ensemble_session_server(zkl_ensemble_current(), information().session_id);
}

static uint32_t server_of_session(void) {
    int32_t server = find_server();
    EXPECT(server >= 0);
    return (uint32_t)server;
}

/* ---- Addresses ---------------------------------------------------------------------- */

static void move_to_another_server(void) {
    uint32_t before = server_of_session();
    char *addresses = NULL;
    zkl_names_lead_to(~(UINT32_C(1) << before));
    EXPECT_INT(zkl_resolve_servers("server:2181", &addresses), ZKL_OK);
    zkl_connection_set_servers(holder.client->sessions->connection, addresses);
    free(addresses);
    zkl_testing_sleep(SOON_MS);
    EXPECT(server_of_session() != before);
}

/* libzookeeper closes a connection to a server that is not in the new list, and says nothing. The
 * next one may come before we look, or after. */
TEST(what_connects_a_session_is_in_the_record) {
    static char bytes[65536];
    zkl_text text = { .bytes = bytes, .size = sizeof(bytes) - 1 };
    begin_with(LONG_TIMEOUT_MS);
    const zkl_record_snapshot snapshot = zkl_recorder_take_snapshot(holder.client->recorder, NULL);
    zkl_record_snapshot_write(&snapshot, &text);
    EXPECT(strstr(bytes, " connecting=1 STEP WOKEN -> OPEN\n") != NULL);
    EXPECT(
        strstr(bytes, " connecting=1 STEP stage=SEEKING under_way=WAIT_FOR_SERVER CONNECTED -> ") !=
        NULL);
    end(ZKL_OK);
}

TEST(reconnect_that_nobody_told_of_is_suspect_and_held_again) {
    begin_with(LONG_TIMEOUT_MS);
    for (unsigned i = 0; i < MOVES; i++) {
        holder.news[0] = '\0';
        move_to_another_server();
        EXPECT_TEXT(holder.news, "suspect held ");
    }
    end(ZKL_OK);
}

TEST(look_up_that_ends_after_the_reconnect_leaves_the_connection_alone) {
    begin_with(LONG_TIMEOUT_MS);
    zkl_names_take(5 * (int64_t)SECOND_US);
    zkl_testing_disconnect(holder.client, LONG_TIMEOUT_MS / ATTEMPTS_OF_TIMEOUT + 500);
    zkl_testing_sleep(LONG_TIMEOUT_MS / ATTEMPTS_OF_TIMEOUT + 1000);
    EXPECT_INT(is_connected(NULL), 1);
    EXPECT_INT(zkl_names_looked_up(), 2); /* it is under way, and leads elsewhere */
    uint32_t server = server_of_session();
    zkl_names_lead_to(~(UINT32_C(1) << server));
    zkl_testing_sleep(5000);
    EXPECT_INT(server_of_session(), server);
    zkl_testing_sleep(3 * LOOK_UP_CONNECTED_MS); /* nor do later ones */
    EXPECT(zkl_names_looked_up() > 3);
    EXPECT_INT(server_of_session(), server);
    EXPECT_TEXT(holder.news, "suspect held ");
    end(ZKL_OK);
}

TEST(servers_that_have_moved_are_found_again_in_the_same_session) {
    begin_with(LONG_TIMEOUT_MS);
    zkl_names_move();
    zkl_testing_disconnect(holder.client, 1);
    EXPECT_INT(zkl_testing_wait_until(is_disconnected, NULL, SOON_MS), 1);
    int64_t taken_ms = time_to_connect(LONG_TIMEOUT_MS);
    EXPECT(taken_ms >= LONG_TIMEOUT_MS / ATTEMPTS_OF_TIMEOUT / 2 - SOON_MS);
    EXPECT(taken_ms <= LONG_TIMEOUT_MS / ATTEMPTS_OF_TIMEOUT + SOON_MS);
    EXPECT_INT(zkl_names_looked_up(), 2);
    zkl_testing_sleep(SOON_MS);
    EXPECT_TEXT(holder.news, "suspect held ");
    end(ZKL_OK);
}

TEST(addresses_that_were_looked_up_while_connected_are_tried_at_once) {
    begin_with(PARTICIPANT_TIMEOUT_MS);
    zkl_names_move();
    zkl_testing_sleep(LOOK_UP_CONNECTED_MS + SOON_MS);
    size_t looked_up = zkl_names_looked_up();
    EXPECT(looked_up >= 2 && looked_up <= 3);
    zkl_testing_disconnect(holder.client, 1);
    EXPECT_INT(zkl_testing_wait_until(is_disconnected, NULL, SOON_MS), 1);
    EXPECT(time_to_connect(PARTICIPANT_TIMEOUT_MS) <= SOON_MS);
    EXPECT_INT(zkl_names_looked_up(), looked_up);
    end(ZKL_OK);
}

/* Two of three servers have other addresses, and the third, which has the connection, stops. Nobody
 * listens at the old ones, or not even that is known. */
static void move_two_and_stop_the_third(bool leave_holes) {
    begin_with(PARTICIPANT_TIMEOUT_MS);
    uint32_t third = server_of_session();
    zkl_holes_open(leave_holes ? UINT32_MAX : 0);
    zkl_names_move_some(~(UINT32_C(1) << third));
    zkl_ensemble_stop_server(zkl_ensemble_current(), third);
    EXPECT_INT(zkl_testing_wait_until(is_disconnected, NULL, PARTICIPANT_TIMEOUT_MS), 1);
    (void)time_to_connect(2LL * PARTICIPANT_TIMEOUT_MS);
    EXPECT(server_of_session() != third);
    zkl_ensemble_start_server(zkl_ensemble_current(), third);
    EXPECT_INT(information().sessions_expired, 0);
    EXPECT_TEXT(holder.news, "suspect held ");
    end(ZKL_OK);
}

TEST(two_servers_move_and_the_third_restarts_without_the_loss_of_a_session) {
    for (unsigned i = 0; i < MOVES; i++) {
        move_two_and_stop_the_third(i % 2 == 0);
    }
}

/* ---- Servers that do not answer ----------------------------------------------------- */

TEST(two_servers_that_do_not_answer_cost_a_part_of_the_session_timeout) {
    begin_with(PARTICIPANT_TIMEOUT_MS);
    int64_t longest_ms = 0;
    for (unsigned i = 0; i < MOVES; i++) {
        zkl_holes_open(~(UINT32_C(1) << server_of_session()));
        zkl_testing_disconnect(holder.client, 1);
        EXPECT_INT(zkl_testing_wait_until(is_disconnected, NULL, SOON_MS), 1);
        int64_t taken_ms = time_to_connect(2LL * PARTICIPANT_TIMEOUT_MS);
        longest_ms = taken_ms > longest_ms ? taken_ms : longest_ms;
        zkl_testing_sleep(SOON_MS);
        EXPECT_TEXT(holder.news, "suspect held ");
        holder.news[0] = '\0';
    }
    EXPECT(longest_ms > PARTICIPANT_TIMEOUT_MS / ATTEMPTS_OF_TIMEOUT / 2 - SOON_MS);
    EXPECT(longest_ms < 3 * PARTICIPANT_TIMEOUT_MS / ATTEMPTS_OF_TIMEOUT + SOON_MS);
    EXPECT_INT(information().sessions_expired, 0);
    end(ZKL_OK);
}

/* In an outage it gets longer. Here each connection is at another server, and the others are
 * silent. */
TEST(patience_with_silent_servers_is_short_again_after_each_connection) {
    begin_with(PARTICIPANT_TIMEOUT_MS);
    int64_t longest_ms = 0;
    for (unsigned i = 0; i < 2 * MOVES; i++) {
        zkl_holes_open(~(UINT32_C(1) << (server_of_session() + 1) % 3));
        zkl_testing_disconnect(holder.client, 1);
        EXPECT_INT(zkl_testing_wait_until(is_disconnected, NULL, SOON_MS), 1);
        int64_t taken_ms = time_to_connect(2LL * PARTICIPANT_TIMEOUT_MS);
        longest_ms = taken_ms > longest_ms ? taken_ms : longest_ms;
        zkl_testing_sleep(SOON_MS);
    }
    EXPECT(longest_ms < 2 * PARTICIPANT_TIMEOUT_MS / ATTEMPTS_OF_TIMEOUT + SOON_MS);
    EXPECT_INT(information().sessions_expired, 0);
    end(ZKL_OK);
}

/* Nothing is at stake then, but somebody waits for it. */
static void open_beside_silent_servers(void *arg) {
    (void)arg;
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    options.session_timeout_ms = LONG_TIMEOUT_MS;
    for (uint32_t holes = 0; holes < ALL_SERVERS; holes++) {
        zkl_client *client = NULL;
        zkl_holes_open(holes);
        ZKL_TESTING_EXPECT(zkl_client_open("server:2181", &options, &client) == ZKL_OK);
        ZKL_TESTING_EXPECT(zkl_client_close(client, LONG_TIMEOUT_MS) == ZKL_OK);
    }
}

TEST(silent_servers_do_not_cost_the_first_session) {
    zkl_testing_run_seeds(1, SEEDS, NULL, open_beside_silent_servers, NULL);
}

/* The one that answers refuses the session's digest, and a second session is sought without one. */
static void open_without_digests(void *arg) {
    (void)arg;
    zkl_client *client = NULL;
    zkl_ensemble_refuse_digests(zkl_ensemble_current(), true);
    zkl_holes_open(~(UINT32_C(1) << zkl_testing_random(SERVERS)));
    ZKL_TESTING_EXPECT(zkl_client_open("server:2181", NULL, &client) == ZKL_OK);
    ZKL_TESTING_EXPECT(zkl_client_close(client, LONG_TIMEOUT_MS) == ZKL_OK);
}

TEST(silent_servers_do_not_cost_a_session_whose_digest_is_refused) {
    zkl_testing_options options = ZKL_TESTING_OPTIONS_INIT;
    options.servers = SERVERS;
    zkl_testing_run_seeds(1, SEEDS, &options, open_without_digests, NULL);
}

static void open_while_names_are_slow(void *arg) {
    zkl_names_take(5 * (int64_t)SECOND_US);
    open_beside_silent_servers(arg);
}

/* A silent server is left for another while its names are looked up. */
TEST(slow_names_and_silent_servers_do_not_cost_the_first_session) {
    zkl_testing_run_seeds(1, SEEDS, NULL, open_while_names_are_slow, NULL);
}

/* The connection dies in silence, so two thirds of the timeout are over when that is noticed, and
 * all servers are silent but one. */
static void lose_in_silence(void *arg) {
    (void)arg;
    participant_open_with(&holder, PARTICIPANT_TIMEOUT_MS);
    ZKL_TESTING_EXPECT(participant_acquire(&holder, 0) == ZKL_OK);
    zkl_holes_open(~(UINT32_C(1) << zkl_testing_random(SERVERS)));
    ZKL_TESTING_EXPECT(
        zkl_ensemble_cut(zkl_ensemble_current(), information().session_id, ZKL_CUT_SILENT));
    zkl_testing_sleep(PARTICIPANT_TIMEOUT_MS);
    ZKL_TESTING_EXPECT(information().sessions_expired == 0);
    ZKL_TESTING_EXPECT(strcmp(holder.news, "suspect held ") == 0);
    participant_close(&holder);
}

TEST(session_that_is_lost_in_silence_outlives_four_silent_servers) {
    zkl_testing_options options = ZKL_TESTING_OPTIONS_INIT;
    options.servers = SERVERS;
    zkl_testing_run_seeds(1, SEEDS, &options, lose_in_silence, NULL);
}

/* All are tried again and again, and the only one that comes back is found. */
TEST(servers_that_did_not_answer_are_tried_again) {
    begin_with(LONG_TIMEOUT_MS);
    uint32_t own = server_of_session();
    for (uint32_t back = 0; back < 3; back++) {
        zkl_holes_open(UINT32_MAX);
        zkl_testing_disconnect(holder.client, 1);
        zkl_testing_sleep(LONG_TIMEOUT_MS / 2);
        EXPECT_INT(is_connected(NULL), 0);
        zkl_holes_open(~(UINT32_C(1) << (own + back) % 3));
        (void)time_to_connect(4LL * LONG_TIMEOUT_MS); /* maybe with the next session */
        EXPECT_INT(server_of_session(), (own + back) % 3);
    }
    zkl_holes_open(0);
    participant_close(&holder);
    zkl_testing_end();
}

/* Servers that have lost their data turn away a handle that has seen more. The session may live as
 * long as its timeout is not over, at servers that only lag. */
TEST(session_that_all_servers_turn_away_gets_another_handle_when_its_time_is_over) {
    begin_with(LONG_TIMEOUT_MS);
    holder.client->sessions->connection->last_zxid = INT64_MAX;
    zkl_testing_disconnect(holder.client, 1);
    zkl_testing_sleep(LONG_TIMEOUT_MS * 9LL / 10);
    EXPECT_INT(is_connected(NULL), 0);
    EXPECT_INT(zkl_lock_check(holder.lock, NULL), ZKL_SUSPECT);
    (void)time_to_connect(LONG_TIMEOUT_MS);
    EXPECT_INT(information().sessions_expired, 1);
    EXPECT_INT(zkl_lock_check(holder.lock, NULL), ZKL_LOST);
    end(ZKL_LOST);
}

/* Thousands of clients lose a server at the same moment. */
TEST(names_are_looked_up_at_most_once_a_second_and_less_often_by_and_by) {
    begin_with(4000);
    zkl_testing_stop_servers();
    size_t before = zkl_names_looked_up();
    zkl_testing_sleep(10000);
    EXPECT(zkl_names_looked_up() > before + 2);
    EXPECT(zkl_names_looked_up() <= before + 10);
    before = zkl_names_looked_up();
    zkl_testing_sleep(60000);
    EXPECT(zkl_names_looked_up() <= before + 60);
    zkl_testing_start_servers();
    (void)time_to_connect(LONG_TIMEOUT_MS);
    participant_close(&holder);
    zkl_testing_end();
}

/* ---- Another list ------------------------------------------------------------------- */

static int is_on_another_server(void *arg) {
    const uint32_t *before = arg;
    int32_t server = find_server();
    return is_connected(NULL) && server >= 0 && (uint32_t)server != *before;
}

TEST(new_hosts_take_the_session_and_its_locks_along) {
    begin_with(PARTICIPANT_TIMEOUT_MS);
    for (unsigned i = 0; i < MOVES; i++) {
        uint32_t before = server_of_session();
        zkl_names_lead_to(~(UINT32_C(1) << before));
        EXPECT_INT(zkl_client_set_hosts(holder.client, "others:2181"), ZKL_OK);
        EXPECT_INT(zkl_testing_wait_until(is_on_another_server, &before, SOON_MS), 1);
        zkl_testing_sleep(SOON_MS);
        EXPECT_TEXT(holder.news, "suspect held ");
        holder.news[0] = '\0';
    }
    EXPECT_TEXT(holder.client->servers, "others:2181");
    EXPECT_INT(information().sessions_expired, 0);
    end(ZKL_OK);
}

TEST(new_hosts_that_cannot_be_resolved_yet_are_looked_up_until_they_can) {
    begin_with(PARTICIPANT_TIMEOUT_MS);
    uint32_t before = server_of_session();
    zkl_names_lead_to(~(UINT32_C(1) << before));
    zkl_names_fail(10 * (int64_t)SECOND_US);
    EXPECT_INT(zkl_client_set_hosts(holder.client, "others:2181"), ZKL_OK);
    zkl_testing_sleep(9500);
    EXPECT_INT(is_connected(NULL), 1);
    EXPECT_INT(server_of_session(), before);
    EXPECT_TEXT(holder.news, "");
    EXPECT(zkl_names_looked_up() <= 12);
    EXPECT_INT(zkl_testing_wait_until(is_on_another_server, &before, RETRY_MS + SOON_MS), 1);
    end(ZKL_OK);
}

TEST(new_hosts_help_a_client_whose_servers_are_gone) {
    begin_with(LONG_TIMEOUT_MS);
    zkl_holes_open(UINT32_MAX);
    zkl_testing_disconnect(holder.client, 1);
    EXPECT_INT(zkl_testing_wait_until(is_disconnected, NULL, SOON_MS), 1);
    zkl_names_move();
    EXPECT_INT(zkl_client_set_hosts(holder.client, "others:2181"), ZKL_OK);
    EXPECT(time_to_connect(LONG_TIMEOUT_MS) < SOON_MS);
    end(ZKL_OK);
}

TEST(hosts_that_are_wrong_are_refused_and_change_nothing) {
    begin_with(PARTICIPANT_TIMEOUT_MS);
    char *before = strdup(holder.client->servers);
    EXPECT_INT(zkl_client_set_hosts(NULL, "a:1"), ZKL_INVALID_ARGUMENT);
    EXPECT_INT(zkl_client_set_hosts(holder.client, NULL), ZKL_INVALID_ARGUMENT);
    EXPECT_INT(zkl_client_set_hosts(holder.client, "a"), ZKL_INVALID_ARGUMENT);
    EXPECT(strstr(zkl_error_message(), "must be followed by : and a port") != NULL);
    EXPECT_INT(zkl_client_set_hosts(holder.client, "a:1/elsewhere"), ZKL_INVALID_ARGUMENT);
    EXPECT(strstr(zkl_error_message(), "must end in the chroot of the client") != NULL);
    EXPECT_TEXT(holder.client->servers, before);
    EXPECT_INT(zkl_client_set_hosts(holder.client, "a:1/"), ZKL_OK);
    EXPECT_TEXT(holder.client->servers, "a:1");
    free(before);
    EXPECT_INT(zkl_client_close(holder.client, 1000), ZKL_OK);
    EXPECT_INT(zkl_client_set_hosts(holder.client, "a:1"), ZKL_CLOSED); /* its lock keeps it */
    zkl_lock_close(holder.lock);
    zkl_testing_end();
}

/* ---- The next session --------------------------------------------------------------- */

static void expire(void) {
    zkl_testing_expire_session(holder.client);
    EXPECT_INT(zkl_testing_wait_for_state(holder.lock, ZKL_STATE_LOST, SOON_MS), 1);
}

TEST(session_that_cannot_be_opened_is_tried_again_after_a_pause) {
    const uint32_t times = 5;
    begin_with(PARTICIPANT_TIMEOUT_MS);
    zkl_opens_fail(times);
    expire();
    int64_t taken_ms = time_to_connect(2LL * times * RETRY_MS);
    EXPECT(taken_ms > times * RETRY_MS - SOON_MS);
    EXPECT_INT(zkl_names_looked_up(), 1 + times + 1);
    EXPECT_INT(information().sessions_expired, 1);
    end(ZKL_LOST);
}

TEST(names_that_cannot_be_resolved_are_tried_again_after_a_pause) {
    const int64_t seconds = 30;
    begin_with(PARTICIPANT_TIMEOUT_MS);
    zkl_names_fail(seconds * SECOND_US);
    zkl_names_take(1000); /* so that time passes where nobody pauses */
    expire();
    int64_t taken_ms = time_to_connect(2 * seconds * RETRY_MS);
    EXPECT(taken_ms > seconds * RETRY_MS - SOON_MS - RETRY_MS);
    EXPECT(zkl_names_looked_up() > (size_t)seconds / 2);
    EXPECT(zkl_names_looked_up() < (size_t)seconds + 3);
    end(ZKL_LOST);
}

/* The thread that opens a session goes on only when that has come and gone. */
TEST(session_that_expires_while_it_is_opened_is_followed_by_another) {
    begin_with(PARTICIPANT_TIMEOUT_MS);
    int64_t first = information().session_id;
    zkl_opens_take(2 * (int64_t)SECOND_US);
    expire();
    (void)time_to_connect(1000);
    int64_t second = information().session_id;
    EXPECT(second != first);
    zkl_testing_expire_session(holder.client);
    EXPECT_INT(zkl_testing_wait_until(is_disconnected, NULL, SOON_MS), 1);
    zkl_opens_take(0);
    (void)time_to_connect(4000);
    EXPECT(information().session_id != second);
    EXPECT_INT(information().sessions_expired, 2);
    end(ZKL_LOST);
}

TEST(client_closes_while_its_session_cannot_be_opened) {
    begin_with(PARTICIPANT_TIMEOUT_MS);
    zkl_names_fail(3600 * (int64_t)SECOND_US);
    zkl_names_take(1000);
    expire();
    EXPECT_INT(zkl_lock_acquire(holder.lock, ZKL_EXCLUSIVE, 100, NULL), ZKL_ALREADY_HELD);
    EXPECT_INT(zkl_lock_release(holder.lock, 0), ZKL_LOST);
    EXPECT_INT(zkl_lock_acquire(holder.lock, ZKL_EXCLUSIVE, 3000, NULL), ZKL_DISCONNECTED);
    int64_t start = zkl_testing_now_ms();
    participant_close(&holder);
    EXPECT(zkl_testing_now_ms() - start < SOON_MS);
    zkl_testing_end();
}

/* ---- The first session -------------------------------------------------------------- */

TEST(open_says_why_it_cannot_begin) {
    zkl_client *client = NULL;
    zkl_testing_begin(NULL);
    zkl_names_fail(SECOND_US);
    EXPECT_INT(zkl_client_open("nowhere:2181", NULL, &client), ZKL_DISCONNECTED);
    EXPECT(strstr(zkl_error_message(), "no host of it could be resolved") != NULL);
    EXPECT(client == NULL);
    zkl_testing_sleep(1000);
    zkl_opens_fail(1);
    EXPECT_INT(zkl_client_open("server:2181", NULL, &client), ZKL_SYSTEM);
    EXPECT(client == NULL);
    EXPECT_INT(zkl_client_open("server:2181", NULL, &client), ZKL_OK);
    EXPECT_INT(zkl_client_close(client, 1000), ZKL_OK);
    zkl_testing_end();
}

TEST(time_to_resolve_names_is_no_time_to_connect) {
    zkl_client *client = NULL;
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    options.connect_timeout_ms = 1000;
    zkl_testing_begin(NULL);
    zkl_names_take(3 * (int64_t)SECOND_US);
    EXPECT_INT(zkl_client_open("server:2181", &options, &client), ZKL_OK);
    EXPECT_INT(zkl_client_close(client, 1000), ZKL_OK);
    zkl_testing_end();
}
