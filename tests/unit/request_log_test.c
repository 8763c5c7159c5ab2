/*
 * What the log says about requests and sessions, as lines:
 *
 *     <level> <event> <fields that are set>
 */
#include <stdio.h>
#include <string.h>

#include "session/request_runner.h"
#include "session/session_life.h"
#include "support/fake_operations.h"
#include "support/unit.h"

enum { LINES_SIZE = 4096 };

typedef struct newsroom {
    fake_operations fake;
    zkl_log *log;
    zkl_timers timers;
    zkl_session session;
    zkl_request_runner *runner;
    char lines[LINES_SIZE];
} newsroom;

static void add_text(newsroom *room, const char *what, const char *text) {
    size_t length = strlen(room->lines);
    if (text[0] != '\0') {
        snprintf(room->lines + length, sizeof(room->lines) - length, " %s=%s", what, text);
    }
}

static void add_number(newsroom *room, const char *what, int64_t number, int64_t unset) {
    char text[32];
    snprintf(text, sizeof(text), "%lld", (long long)number);
    add_text(room, what, number != unset ? text : "");
}

static void on_record(void *arg, const zkl_log_record *record) {
    newsroom *room = arg;
    size_t length = strlen(room->lines);
    snprintf(room->lines + length, sizeof(room->lines) - length, "%d %s", (int)record->level,
             zkl_log_event_name((int)record->event));
    add_text(room, "resource", record->resource);
    add_text(room, "owner", record->owner);
    add_text(room, "node", record->node);
    add_text(room, "behind", record->behind);
    add_text(room, "lock_owner", record->lock_owner);
    add_number(room, "status", record->status, ZKL_OK);
    add_number(room, "waited", record->waited_ms, -1);
    add_number(room, "held", record->held_ms, -1);
    add_number(room, "session", record->session_id, 0);
    length = strlen(room->lines);
    snprintf(room->lines + length, sizeof(room->lines) - length, "\n");
}

static void tell(newsroom *room, zkl_session_state state) {
    zkl_session_news news = { .state = state, .session_id = 77, .timeout_ms = 10000 };
    zkl_session_on_news(&room->session, &news);
}

static newsroom *open_room(void) {
    static newsroom room;
    memset(&room, 0, sizeof(room));
    fake_begin(&room.fake);
    room.log = zkl_log_open(on_record, &room, ZKL_LOG_DEBUG);
    room.session = (zkl_session){ .operations = &room.fake.operations,
                                  .log = room.log,
                                  .timers = &room.timers,
                                  .identity = "",
                                  .label = "me",
                                  .lock_root = "/locks" };
    zkl_session_begin(&room.session, 0);
    tell(&room, ZKL_SESSION_STATE_CONNECTED);
    return &room;
}

/* All that was written has been delivered when the log is closed. */
static void expect_lines(newsroom *room, const char *expected) {
    zkl_log_close(room->log);
    EXPECT_TEXT(room->lines, expected);
    zkl_session_destroy(&room->session);
    EXPECT_INT(room->fake.call_count, 0);
}

static void start_of(newsroom *room, const char *owner, int64_t began_ms, int64_t timeout_ms) {
    static zkl_lock_options lock_options = ZKL_LOCK_OPTIONS_INIT;
    static zkl_request_origin origin = { .options = &lock_options, .keepers = 1 };
    lock_options.owner = owner;
    const zkl_request_options wanted = { .mode = ZKL_EXCLUSIVE, .only_try = timeout_ms == 0 };
    zkl_run_options options = {
        .origin = &origin, .resource = "stock", .parent_path = "/r", .began_ms = began_ms
    };
    EXPECT_INT(zkl_request_runner_start(&room->session, &wanted, &options, &room->runner), ZKL_OK);
}

static void start_for_call(newsroom *room, int64_t began_ms, int64_t timeout_ms) {
    start_of(room, NULL, began_ms, timeout_ms);
}

static void start(newsroom *room, int64_t timeout_ms) {
    start_for_call(room, room->fake.now_ms, timeout_ms);
}

static void queue_up(newsroom *room, const char *other) {
    char name[FAKE_NAME_SIZE];
    char path[FAKE_NAME_SIZE + 4];
    fake_name(name, room->fake.guids, "lock-0000000003");
    snprintf(path, sizeof(path), "/r/%s", name);
    const char *names[] = { name, other };
    FAKE_ANSWER(&room->fake, "create", .path = path, .zxid = 5);
    FAKE_ANSWER(&room->fake, "list", .children = { names, other != NULL ? 2 : 1 });
}

#define NODE " node=/r/_c_11111111-1111-4111-9111-111111111111-lock-0000000003"
#define CONNECTED "3 connected owner=me session=77\n"
#define BEGIN "4 begin resource=stock owner=me waited=0 session=77\n"

TEST(lock_that_is_lost_tells_its_story) {
    newsroom *room = open_room();
    start(room, ZKL_FOREVER);
    room->fake.now_ms += 30;
    queue_up(room, NULL);
    room->fake.now_ms += 500;
    tell(room, ZKL_SESSION_STATE_CONNECTING);
    tell(room, ZKL_SESSION_STATE_EXPIRED);
    expect_lines(room, CONNECTED BEGIN "3 acquired resource=stock owner=me" NODE
                                       " waited=30 held=0 session=77\n"
                                       "2 disconnected owner=me status=-8 session=77\n"
                                       "2 session_expired owner=me status=-9 session=77\n"
                                       "1 lost resource=stock owner=me" NODE
                                       " status=-9 waited=30 held=500 session=77\n");
}

TEST(wait_is_counted_from_the_call_and_not_from_its_request) {
    newsroom *room = open_room();
    start_for_call(room, room->fake.now_ms - 7, ZKL_FOREVER);
    room->fake.now_ms += 30;
    queue_up(room, NULL);
    tell(room, ZKL_SESSION_STATE_EXPIRED); /* it ends */
    expect_lines(room, CONNECTED
                 "4 begin resource=stock owner=me waited=7 session=77\n"
                 "3 acquired resource=stock owner=me" NODE " waited=37 held=0 session=77\n"
                 "2 session_expired owner=me status=-9 session=77\n"
                 "1 lost resource=stock owner=me" NODE " status=-9 waited=37 held=0 session=77\n");
}

TEST(records_of_a_lock_name_its_owner) {
    newsroom *room = open_room();
    start_of(room, "order 7", room->fake.now_ms, ZKL_FOREVER);
    queue_up(room, NULL);
    tell(room, ZKL_SESSION_STATE_EXPIRED);
    expect_lines(room, CONNECTED
                 "4 begin resource=stock owner=me lock_owner=order 7 waited=0 session=77\n"
                 "3 acquired resource=stock owner=me" NODE
                 " lock_owner=order 7 waited=0 held=0 session=77\n"
                 "2 session_expired owner=me status=-9 session=77\n"
                 "1 lost resource=stock owner=me" NODE
                 " lock_owner=order 7 status=-9 waited=0 held=0 session=77\n");
}

TEST(waiter_that_gives_up_says_behind_whom_and_for_how_long) {
    newsroom *room = open_room();
    start(room, ZKL_FOREVER);
    queue_up(room, "lock-0000000002");
    FAKE_ANSWER(&room->fake, "watch", .outcome = ZKL_OUTCOME_OK);
    FAKE_ANSWER(&room->fake, "watch", .outcome = ZKL_OUTCOME_OK); /* its own node */
    room->fake.now_ms += 200;
    zkl_request_runner_time_out(room->runner);
    fake_answer_all(&room->fake, ZKL_OUTCOME_OK);
    fake_answer_all(&room->fake, ZKL_OUTCOME_OK);
    expect_lines(room, CONNECTED BEGIN "4 queued resource=stock owner=me" NODE
                                       " behind=lock-0000000002 waited=0 session=77\n"
                                       "3 not_acquired resource=stock owner=me" NODE
                                       " status=-2 waited=200 session=77\n");
}

TEST(node_that_cannot_be_deleted_is_reported_once) {
    newsroom *room = open_room();
    start(room, ZKL_FOREVER);
    queue_up(room, NULL);
    room->fake.sends = ZKL_OUTCOME_REFUSED;
    zkl_request_runner_feed(room->runner, &(zkl_event){ .kind = ZKL_EVENT_RELEASED });
    for (int i = 0; i < 3; i++) { /* pauses between vain attempts */
        zkl_timers_fire_due(&room->timers, zkl_timers_next(&room->timers));
    }
    tell(room, ZKL_SESSION_STATE_EXPIRED);
    expect_lines(room, CONNECTED BEGIN
                 "3 acquired resource=stock owner=me" NODE " waited=0 held=0 session=77\n"
                 "3 released resource=stock owner=me" NODE " waited=0 held=0 session=77\n"
                 "2 not_deleted resource=stock owner=me" NODE
                 " status=-34 waited=0 held=0 session=77\n"
                 "2 session_expired owner=me status=-9 session=77\n");
}
