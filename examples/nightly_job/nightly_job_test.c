/*
 * Tests of the nightly job, without a server: what it does when it has to wait, when it is
 * disconnected, when it loses the lock in the middle, and when it is stopped for longer than its
 * session lasts.
 */
#include "nightly_job.h"

#include <stdio.h>
#include <string.h>
#include <zklock/testing.h>

enum { SESSION_MS = 10000, TROUBLE_MS = 2 * SESSION_MS, STEP_MS = 100, NEVER = -1 };

static const char lock_path[] = "/locks/nightly-job";

/* ---- The store, and what happens while it writes ---------------------------------------- */

static struct {
    int64_t fence;
    int steps_done;
    int written[JOB_STEPS]; /* how often each step was written */
    int refused;
} row;

/* One machine, with its own view of the store. */
typedef struct machine {
    zkl_client *client;
    int fault_at_step;
    void (*fault)(struct machine *self); /* called before the write of that step reaches the row */
    job_result result;
    bool done;
} machine;

static bool claim(void *arg, int64_t token, int *steps_done) {
    (void)arg;
    if (token < row.fence) {
        row.refused++;
        return false;
    }
    row.fence = token;
    *steps_done = row.steps_done;
    return true;
}

static bool write_step(void *arg, int64_t token, int step) {
    machine *self = arg;
    if (step == self->fault_at_step) {
        self->fault_at_step = NEVER;
        self->fault(self);
    }
    zkl_testing_sleep(STEP_MS);
    if (token != row.fence) {
        row.refused++;
        zkl_testing_note("the late write of step %d is fenced off", step);
        return false;
    }
    ZKL_TESTING_EXPECT(step == row.steps_done);
    row.written[step]++;
    row.steps_done++;
    return true;
}

/* ---- Machines ------------------------------------------------------------------------------ */

static void machine_open(machine *self) {
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    options.session_timeout_ms = SESSION_MS;
    *self = (machine){ .fault_at_step = NEVER };
    ZKL_TESTING_EXPECT(zkl_client_open("any:2181", &options, &self->client) == ZKL_OK);
}

static job_result machine_run(machine *self, int64_t wait_ms) {
    const job_store store = { .arg = self, .claim = claim, .write = write_step };
    return job_run(self->client, &store, wait_ms);
}

static void machine_close(machine *self) {
    (void)zkl_client_close(self->client, SESSION_MS);
}

/* Runs another machine, which waits without a deadline. */
static void run_other(void *arg) {
    machine *self = arg;
    zkl_testing_process_enter(zkl_testing_process_make());
    machine_open(self);
    self->result = machine_run(self, ZKL_FOREVER);
    machine_close(self);
}

static void job_test_begin(void) {
    memset(&row, 0, sizeof(row));
}

static void expect_each_step_once(void) {
    for (int i = 0; i < JOB_STEPS; i++) {
        ZKL_TESTING_EXPECT(row.written[i] == 1);
    }
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static void job_runs_once_on_two_machines(void *arg) {
    machine one;
    machine other;
    (void)arg;
    job_test_begin();
    machine_open(&one);
    zkl_testing_task *task = zkl_testing_start(run_other, &other);
    one.result = machine_run(&one, ZKL_FOREVER);
    zkl_testing_join(task);
    /* The seed draws the first one; the second finds that all is done. */
    ZKL_TESTING_EXPECT((one.result == JOB_DONE && other.result == JOB_NOT_OURS) ||
                       (one.result == JOB_NOT_OURS && other.result == JOB_DONE));
    expect_each_step_once();
    machine_close(&one);
    zkl_testing_expect_clean(SESSION_MS);
}

static void job_gives_up_when_somebody_else_holds_the_lock(void *arg) {
    machine one;
    char node[ZKL_NODE_PATH_SIZE];
    (void)arg;
    job_test_begin();
    machine_open(&one);
    zkl_testing_add_contender(lock_path, ZKL_EXCLUSIVE, node);
    int64_t before_ms = zkl_testing_now_ms();
    ZKL_TESTING_EXPECT(machine_run(&one, 5000) == JOB_NOT_OURS);
    ZKL_TESTING_EXPECT(zkl_testing_now_ms() - before_ms < 5100);
    ZKL_TESTING_EXPECT(row.steps_done == 0);
    /* It has left the queue: the next one is not kept waiting. */
    zkl_testing_sleep(100);
    ZKL_TESTING_EXPECT(zkl_testing_count_children(lock_path) == 1);
    machine_close(&one);
}

static void job_runs_when_the_reply_to_its_acquire_is_lost(void *arg) {
    machine one;
    int carried_out = (int)zkl_testing_random(2);
    (void)arg;
    job_test_begin();
    machine_open(&one);
    zkl_testing_lose_reply(one.client, ZKL_TESTING_CREATE, carried_out);
    ZKL_TESTING_EXPECT(machine_run(&one, ZKL_FOREVER) == JOB_DONE);
    expect_each_step_once();
    /* The node whose reply was lost is the one that it held: there is no second one. */
    zkl_testing_expect_clean(SESSION_MS);
    machine_close(&one);
}

static void hiccup(machine *self) {
    zkl_testing_disconnect(self->client, SESSION_MS / 3);
}

static void job_goes_on_after_a_hiccup(void *arg) {
    machine one;
    (void)arg;
    job_test_begin();
    machine_open(&one);
    one.fault_at_step = 4;
    one.fault = hiccup;
    ZKL_TESTING_EXPECT(machine_run(&one, ZKL_FOREVER) == JOB_DONE);
    expect_each_step_once();
    machine_close(&one);
    zkl_testing_expect_clean(SESSION_MS);
}

static void expire(machine *self) {
    zkl_testing_expire_session(self->client);
}

static void job_stops_when_it_has_lost_the_lock(void *arg) {
    machine one;
    (void)arg;
    job_test_begin();
    machine_open(&one);
    one.fault_at_step = 4;
    one.fault = expire;
    ZKL_TESTING_EXPECT(machine_run(&one, ZKL_FOREVER) == JOB_LOST);
    ZKL_TESTING_EXPECT(row.steps_done == 5); /* the step under way; nobody had claimed the row */
    /* It can be run again, from where it stopped. */
    ZKL_TESTING_EXPECT(machine_run(&one, ZKL_FOREVER) == JOB_DONE);
    expect_each_step_once();
    machine_close(&one);
    zkl_testing_expect_clean(SESSION_MS);
}

static machine other_machine;

/* Stops the machine, as SIGSTOP or the move of a virtual machine does. Meanwhile another one
 * begins. */
static void stop_past_the_session(machine *self) {
    (void)self;
    (void)zkl_testing_start(run_other, &other_machine);
    zkl_testing_pause(NULL, 3LL * SESSION_MS);
}

static void late_write_after_a_pause_is_fenced_off(void *arg) {
    machine one;
    (void)arg;
    job_test_begin();
    machine_open(&one);
    one.fault_at_step = 4;
    one.fault = stop_past_the_session; /* after the check, before the write */
    ZKL_TESTING_EXPECT(machine_run(&one, ZKL_FOREVER) == JOB_FENCED_OFF);
    ZKL_TESTING_EXPECT(row.refused == 1);
    machine_close(&one);
    zkl_testing_expect_clean(SESSION_MS);
    ZKL_TESTING_EXPECT(other_machine.result == JOB_DONE);
    expect_each_step_once();
}

/* Whatever goes wrong: no step is done twice, none is left out, and nothing is left behind. */

static void try_until_done(void *arg) {
    machine *self = arg;
    zkl_testing_process_enter(zkl_testing_process_make());
    machine_open(self);
    while (row.steps_done < JOB_STEPS) {
        self->result = machine_run(self, 5000);
        zkl_testing_sleep((int64_t)zkl_testing_random(1000));
    }
    self->done = true;
    machine_close(self);
}

static void make_trouble(machine *machines, size_t count) {
    machine *one = &machines[zkl_testing_random(count)];
    if (one->client == NULL || one->done) {
        return;
    }
    switch (zkl_testing_random(4)) {
    case 0:
        zkl_testing_disconnect(one->client, (int64_t)zkl_testing_random(TROUBLE_MS));
        break;
    case 1:
        zkl_testing_partition(one->client, (int64_t)zkl_testing_random(TROUBLE_MS));
        break;
    case 2:
        zkl_testing_expire_session(one->client);
        break;
    default:
        zkl_testing_elect_leader();
        break;
    }
}

static void job_is_done_once_whatever_goes_wrong(void *arg) {
    machine machines[3] = { { .client = NULL } };
    const size_t count = sizeof(machines) / sizeof(machines[0]);
    (void)arg;
    job_test_begin();
    for (size_t i = 0; i < count; i++) {
        (void)zkl_testing_start(try_until_done, &machines[i]);
    }
    zkl_testing_set_failure_rate(5000);
    for (int i = 0; i < 5; i++) {
        zkl_testing_sleep((int64_t)zkl_testing_random(500));
        make_trouble(machines, count);
    }
    zkl_testing_set_failure_rate(0);
    zkl_testing_expect_clean(600000);
    expect_each_step_once();
}

int main(void) {
    static const struct {
        const char *name;
        void (*run)(void *arg);
    } tests[] = {
        { "job runs once on two machines", job_runs_once_on_two_machines },
        { "job gives up when somebody else holds the lock",
          job_gives_up_when_somebody_else_holds_the_lock },
        { "job runs when the reply to its acquire is lost",
          job_runs_when_the_reply_to_its_acquire_is_lost },
        { "job goes on after a hiccup", job_goes_on_after_a_hiccup },
        { "job stops when it has lost the lock", job_stops_when_it_has_lost_the_lock },
        { "late write after a pause is fenced off", late_write_after_a_pause_is_fenced_off },
        { "job is done once whatever goes wrong", job_is_done_once_whatever_goes_wrong },
    };
    for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
        zkl_testing_run_seeds(1, 500, NULL, tests[i].run, NULL);
        printf("ok: %s (500 seeds)\n", tests[i].name);
    }
    return 0;
}
