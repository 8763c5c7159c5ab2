/* The process that has the session, on simulated servers: what it says of a wait, and of a failure.
 * The test is its front too, and time passes when it polls. */
#include "holder.h"

#include <poll.h>
#include <stdio.h>

#include "ask.h"
#include "detach.h"
#include "exit_status.h"
#include "log_sink.h"
#include "support/unit.h"
#include "zklock/testing.h"

enum { STEP_MS = 10000 /* a report is due after each */ };

static struct {
    size_t lines;
    char last[1024];
} said;

/* ---- What the holder calls ------------------------------------------------------------------- */

int __wrap_poll(struct pollfd *files, nfds_t count, int timeout_ms);
int64_t __wrap_channel_now_ms(void);

int __wrap_poll(struct pollfd *files, nfds_t count, int timeout_ms) {
    (void)files;
    (void)count;
    (void)timeout_ms;
    zkl_testing_sleep(STEP_MS);
    return 0;
}

int64_t __wrap_channel_now_ms(void) {
    return zkl_testing_now_ms();
}

void log_said(const char *text) {
    said.lines++;
    snprintf(said.last, sizeof(said.last), "%s", text);
}

int settings_open_client(const settings *self, const zkl_client_options *options,
                         zkl_client **client) {
    (void)self;
    return zkl_client_open("server:2181", options, client);
}

void ask_about_root(const settings *all, zkl_client *client) {
    (void)all;
    (void)client;
}

void ask_about_new_root(const settings *all, zkl_client *client, const char *node,
                        int64_t within_ms) {
    (void)all;
    (void)client;
    (void)node;
    (void)within_ms;
}

void detach_begin(pid_t front, int kept) {
    (void)front;
    (void)kept;
}

void detach_complete(void) {
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static char *command[] = { "backup", NULL };
static const settings all = { .tick_time_ms = 2000, .connect_timeout_ms = STEP_MS };
static channel front;

static job begin(void) {
    zkl_testing_begin(NULL);
    zkl_testing_add_contender("/locks/stock", ZKL_EXCLUSIVE, NULL);
    said.lines = 0;
    return (job){ .settings = &all,
                  .resources = { "stock" },
                  .resource_count = 1,
                  .wait_ms = ZKL_FOREVER,
                  .grace_ms = -1,
                  .owner = "me",
                  .verbose = true,
                  .command = command };
}

/* Runs the holder of a job that is not granted its lock. Returns the exit status. */
static int run_in_vain(const job *what) {
    channel link;
    message news = { .kind = MESSAGE_CONNECTED };
    bool closed = false;
    EXPECT(channel_open(&front, &link));
    holder_run(what, &link, 0);
    while (news.kind != MESSAGE_DONE && channel_receive(&front, &news, &closed)) {
    }
    EXPECT_INT(news.kind, MESSAGE_DONE);
    return news.status;
}

TEST(report_that_is_due_when_the_answer_comes_leaves_the_reason_of_a_failure) {
    job what = begin();
    what.permits = 2; /* which the lock's holder has not */
    EXPECT_INT(run_in_vain(&what), EXIT_INTERNAL);
    EXPECT_INT(said.lines, 2); /* the report comes first */
    EXPECT_TEXT(said.last,
                "stock: the resource is used in another way: permits or names differ. resource "
                "\"stock\": an earlier request in its queue asks for another number of permits, or "
                "for a lock; or the resource is a semaphore of Curator or kazoo");
    zkl_testing_end();
}

TEST(command_that_is_killed_has_no_grace_whatever_is_asked_for) {
    static const int64_t asked_ms[] = { -1, 500 };
    for (size_t i = 0; i < COUNT_OF(asked_ms); i++) {
        job what = begin();
        what.wait_ms = 0;
        what.grace_ms = asked_ms[i];
        EXPECT_INT(run_in_vain(&what), what.conflict_status);
        EXPECT(front.shared->grace_ms > 0);
        what.on_lost = ON_LOST_KILL;
        EXPECT_INT(run_in_vain(&what), what.conflict_status);
        EXPECT_INT(front.shared->grace_ms, 0);
        zkl_testing_end();
    }
}
