/* The lease: a local time before which nobody else can have been granted. */
#include "support/news.h"
#include "support/process.h"
#include "support/proxy.h"
#include "support/scene.h"
#include "support/servers.h"

#include <signal.h>
#include <stdio.h>

/* For what must not happen; a wrong grant would come within a round trip. */
#define QUIET_MS 300

/* Long enough for a lease to be renewed in time on a busy machine. */
#define SESSION_TICKS 16
/* Where it is to end, and a stopped process to be waited out. */
#define SHORT_SESSION_TICKS 8
/* Where it is to be over before a server that is cut off from the others gives
 * up after its syncLimit, 10 ticks. */
#define CUT_SESSION_TICKS 6

static int32_t ticks_ms(int ticks) {
    return (int32_t)servers_tick_ms() * ticks;
}

/* ---- Clients and handles ------------------------------------------------------- */

static zkl_client *client_with_lease(const char *hosts, int32_t timeout_ms) {
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    zkl_client *client = NULL;
    options.session_timeout_ms = timeout_ms;
    options.connect_timeout_ms = PATIENCE_MS;
    options.lease_tick_ms = (int32_t)servers_tick_ms();
    int status = zkl_client_open(hosts, &options, &client);
    if (status != ZKL_OK) {
        give_up("zkl_client_open(%s): %s", hosts, zkl_strerror(status));
    }
    return client;
}

struct hold {
    struct scene scene;
    zkl_client *client;
    int32_t timeout_ms; /* as negotiated */
    struct news news;
    zkl_lock *lock;
    zkl_grant grant;
};

static void hold_begin_for(struct hold *hold, const char *stem, const char *hosts, int ticks) {
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    scene_begin(&hold->scene, stem);
    hold->client = client_with_lease(hosts, ticks_ms(ticks));
    hold->timeout_ms = client_information(hold->client).session_timeout_ms;
    news_begin(&hold->news);
    options.state_callback = news_callback;
    options.state_arg = &hold->news;
    ASSERT_STATUS(zkl_lock_open(hold->client, hold->scene.resource, &options, &hold->lock), ZKL_OK);
    hold->grant = (zkl_grant)ZKL_GRANT_INIT;
    ASSERT_STATUS(zkl_lock_acquire(hold->lock, ZKL_EXCLUSIVE, PATIENCE_MS, &hold->grant), ZKL_OK);
}

static void hold_begin(struct hold *hold, const char *stem, const char *hosts) {
    hold_begin_for(hold, stem, hosts, SESSION_TICKS);
}

static void hold_end(struct hold *hold) {
    zkl_lock_close(hold->lock);
    client_close(hold->client);
    news_end(&hold->news);
    scene_end(&hold->scene);
}

static int64_t lease_left(const zkl_lock *lock) {
    int64_t left_ms = -2;
    int status = zkl_lock_check(lock, &left_ms);
    CU_ASSERT_TRUE(status != ZKL_INVALID_ARGUMENT);
    return left_ms;
}

/* When the holder could have known: at its first look that did not find it held
 * with a lease that runs. */
static int64_t wait_until_the_lease_is_over(struct hold *hold) {
    int64_t left_ms = 1;
    int status = ZKL_OK;
    int64_t end = now_ms() + PATIENCE_MS;
    while (left_ms > 0 && now_ms() < end) {
        nap();
        status = zkl_lock_check(hold->lock, &left_ms);
    }
    int64_t over_at = boot_ms();
    ASSERT_STATUS(status, ZKL_LOST);
    ASSERT_NUMBER(left_ms, 0);
    return over_at;
}

static void assert_lost_with_the_lease(struct hold *hold) {
    zkl_lock_information information = ZKL_LOCK_INFORMATION_INIT;
    ASSERT_STATUS(zkl_lock_check(hold->lock, NULL), ZKL_LOST);
    ASSERT_STATUS(zkl_lock_info(hold->lock, &information), ZKL_OK);
    ASSERT_NUMBER(information.state, ZKL_STATE_LOST);
    ASSERT_STATUS(information.lost_reason, ZKL_LEASE_ENDED);
    ASSERT_NUMBER(information.lease_left_ms, 0);
    WAIT_UNTIL(news_count(&hold->news, ZKL_STATE_LOST) == 1);
    ASSERT_NUMBER(news_last(&hold->news).state, ZKL_STATE_LOST);
    ASSERT_STATUS(news_last(&hold->news).reason, ZKL_LEASE_ENDED);
    CU_ASSERT_TRUE(news_last(&hold->news).token == hold->grant.token);
}

/* Another's waiter, that keeps no lease, on a server of its own. */
struct rival {
    zkl_client *client;
    zkl_lock *lock;
    pthread_t thread;
    int status;
    int64_t granted_at_ms; /* CLOCK_BOOTTIME */
    atomic_bool done;
};

static void *wait_as_rival(void *arg) {
    struct rival *rival = arg;
    rival->status = zkl_lock_acquire(rival->lock, ZKL_EXCLUSIVE, 2 * PATIENCE_MS, NULL);
    rival->granted_at_ms = boot_ms();
    atomic_store(&rival->done, true);
    return NULL;
}

static void rival_begin(struct rival *rival, struct hold *hold, int server) {
    rival->client = client_open_on(server);
    rival->lock = lock_open(rival->client, hold->scene.resource);
    atomic_init(&rival->done, false);
    thread_start(&rival->thread, wait_as_rival, rival);
    WAIT_UNTIL(scene_watches_on(&hold->scene, hold->grant.node) == 1);
}

static bool rival_is_done(struct rival *rival) {
    return atomic_load(&rival->done);
}

static void rival_join(struct rival *rival) {
    pthread_join(rival->thread, NULL);
    ASSERT_STATUS(rival->status, ZKL_OK);
}

static void rival_end(struct rival *rival) {
    zkl_lock_close(rival->lock);
    client_close(rival->client);
}

/* ---- All is well ----------------------------------------------------------------- */

static void client_that_is_new_has_a_lease_at_its_first_grant(void) {
    struct hold hold;
    hold_begin(&hold, "lease-new", servers_hosts());
    int64_t left_ms = lease_left(hold.lock);
    CU_ASSERT_TRUE(left_ms > 0);
    CU_ASSERT_TRUE(left_ms < hold.timeout_ms);
    CU_ASSERT_TRUE(hold.grant.waited_ms < servers_tick_ms() + SLACK_MS);
    ASSERT_STATUS(zkl_lock_release(hold.lock, PATIENCE_MS), ZKL_OK);
    ASSERT_NUMBER(lease_left(hold.lock), 0);
    hold_end(&hold);
}

static void lease_of_a_lock_that_is_held_is_extended_again_and_again(void) {
    struct hold hold;
    int losses = 0;
    int64_t least_left_ms = INT64_MAX;
    hold_begin(&hold, "lease-extended", servers_hosts());
    int64_t end = now_ms() + 5 * (int64_t)hold.timeout_ms / 2;
    while (now_ms() < end) {
        int64_t left_ms;
        int status = zkl_lock_check(hold.lock, &left_ms);
        losses += status != ZKL_OK && status != ZKL_SUSPECT;
        least_left_ms = left_ms < least_left_ms ? left_ms : least_left_ms;
        nap();
    }
    ASSERT_NUMBER(losses, 0);
    CU_ASSERT_TRUE(least_left_ms > 0);
    ASSERT_NUMBER(news_count(&hold.news, ZKL_STATE_LOST), 0);
    ASSERT_STATUS(zkl_lock_release(hold.lock, PATIENCE_MS), ZKL_OK);
    hold_end(&hold);
}

/* It has let its lease run out, and earns one again: the servers' tick must pass
 * between two of its requests. */
static void client_idle_for_long_is_granted_when_it_has_earned_a_lease(void) {
    struct hold hold;
    hold_begin(&hold, "lease-idle", servers_hosts());
    int64_t tick_ms = servers_tick_ms();
    ASSERT_STATUS(zkl_lock_release(hold.lock, PATIENCE_MS), ZKL_OK);
    int64_t idle_until = now_ms() + hold.timeout_ms;
    while (now_ms() < idle_until) {
        nap();
    }
    int64_t begun = now_ms();
    ASSERT_STATUS(zkl_lock_acquire(hold.lock, ZKL_EXCLUSIVE, PATIENCE_MS, &hold.grant), ZKL_OK);
    int64_t took_ms = now_ms() - begun;
    CU_ASSERT_TRUE(lease_left(hold.lock) > 0);
    CU_ASSERT_TRUE(took_ms >= tick_ms);
    CU_ASSERT_TRUE(took_ms <= 3 * tick_ms + SLACK_MS);
    ASSERT_STATUS(zkl_lock_release(hold.lock, PATIENCE_MS), ZKL_OK);
    hold_end(&hold);
}

/* ---- The servers are away ----------------------------------------------------------- */

static void all_servers_paused_the_lock_is_lost_within_the_session_timeout(void) {
    struct hold hold;
    hold_begin(&hold, "lease-paused", servers_hosts());
    for (int server = 1; server <= SERVERS; server++) {
        server_pause(server);
    }
    int64_t paused_at = boot_ms(); /* no probe is answered that is sent after this */
    int64_t over_at = wait_until_the_lease_is_over(&hold);
    CU_ASSERT_TRUE(over_at <= paused_at + hold.timeout_ms);
    assert_lost_with_the_lease(&hold);
    STAYS(zkl_lock_check(hold.lock, NULL) == ZKL_LOST, QUIET_MS);
    for (int server = 1; server <= SERVERS; server++) {
        server_resume(server);
    }
    WAIT_UNTIL(client_information(hold.client).connected);
    STAYS(zkl_lock_check(hold.lock, NULL) == ZKL_LOST, QUIET_MS);
    ASSERT_STATUS(zkl_lock_release(hold.lock, PATIENCE_MS), ZKL_LOST);
    ASSERT_NUMBER(news_last(&hold.news).state, ZKL_STATE_LOST);
    ASSERT_STATUS(zkl_lock_acquire(hold.lock, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
    hold_end(&hold);
}

static void only_server_killed_the_lock_is_lost_before_another_is_granted(void) {
    struct hold hold;
    struct rival rival;
    int server = servers_follower();
    hold_begin(&hold, "lease-killed", server_host(server));
    rival_begin(&rival, &hold, servers_leader());
    server_kill(server);
    int64_t killed_at = boot_ms();
    WAIT_UNTIL(news_count(&hold.news, ZKL_STATE_SUSPECT) == 1);
    ASSERT_STATUS(zkl_lock_check(hold.lock, NULL), ZKL_SUSPECT);
    CU_ASSERT_TRUE(lease_left(hold.lock) > 0);
    int64_t over_at = wait_until_the_lease_is_over(&hold);
    CU_ASSERT_FALSE(rival_is_done(&rival));
    assert_lost_with_the_lease(&hold);
    CU_ASSERT_TRUE(over_at <= killed_at + hold.timeout_ms);
    rival_join(&rival);
    CU_ASSERT_TRUE(over_at < rival.granted_at_ms);
    CU_ASSERT_TRUE(news_first(&hold.news, ZKL_STATE_LOST).at_ms < rival.granted_at_ms);
    server_start(server);
    WAIT_UNTIL(client_information(hold.client).sessions_expired == 1);
    ASSERT_STATUS(zkl_lock_check(hold.lock, NULL), ZKL_LOST);
    ASSERT_STATUS(zkl_lock_release(hold.lock, PATIENCE_MS), ZKL_LOST);
    ASSERT_NUMBER(news_count(&hold.news, ZKL_STATE_HELD), 0);
    rival_end(&rival);
    hold_end(&hold);
}

/* ---- The lease ends, and the session lives ------------------------------------------- */

/* The proxy stays away from a probe on, until the lease is over: two thirds of
 * the timeout after the probe before. The session has a third left. */
struct outlived {
    struct hold hold;
    struct proxy *proxy;
    struct rival rival;
};

static void outlived_begin(struct outlived *outlived, const char *stem) {
    const struct proxy_plan plan = { .cuts = { { PROXY_REQUEST_LOST, 1 } },
                                     .count = 1,
                                     .then_stay_away = true };
    outlived->proxy = proxy_start(0);
    hold_begin(&outlived->hold, stem, proxy_hosts(outlived->proxy));
    rival_begin(&outlived->rival, &outlived->hold, servers_follower());
    proxy_set_plan(outlived->proxy, &plan);
    (void)wait_until_the_lease_is_over(&outlived->hold);
    ASSERT_NUMBER(proxy_cuts_made(outlived->proxy), 1);
    (void)proxy_end_plan(outlived->proxy);
    WAIT_UNTIL(client_information(outlived->hold.client).connected);
    ASSERT_NUMBER(client_information(outlived->hold.client).sessions_expired, 0);
    assert_lost_with_the_lease(&outlived->hold);
}

/* Its holder may be at work: nobody else may begin. */
static void assert_the_node_stays(struct outlived *outlived) {
    struct Stat stat;
    STAYS(!rival_is_done(&outlived->rival), outlived->hold.timeout_ms / 2);
    CU_ASSERT_TRUE(raw_stat(outlived->hold.scene.raw, outlived->hold.grant.node, &stat));
    ASSERT_STATUS(zkl_lock_check(outlived->hold.lock, NULL), ZKL_LOST);
    ASSERT_NUMBER(lease_left(outlived->hold.lock), 0);
    ASSERT_NUMBER(news_last(&outlived->hold.news).state, ZKL_STATE_LOST);
}

static void outlived_end(struct outlived *outlived) {
    rival_join(&outlived->rival);
    rival_end(&outlived->rival);
    ASSERT_NUMBER(client_information(outlived->hold.client).sessions_expired, 0);
    hold_end(&outlived->hold);
    proxy_stop(outlived->proxy);
}

static void lease_over_in_a_session_that_lives_the_node_stays_until_the_release(void) {
    struct outlived outlived;
    outlived_begin(&outlived, "outlived-release");
    assert_the_node_stays(&outlived);
    ASSERT_STATUS(zkl_lock_release(outlived.hold.lock, PATIENCE_MS), ZKL_LOST);
    outlived_end(&outlived);
}

static void lease_over_in_a_session_that_lives_the_node_stays_until_the_close(void) {
    struct outlived outlived;
    outlived_begin(&outlived, "outlived-close");
    assert_the_node_stays(&outlived);
    zkl_lock_close(outlived.hold.lock);
    outlived.hold.lock = NULL;
    outlived_end(&outlived);
}

/* ---- A process that is stopped past its session ---------------------------------------- */

/* It is a race with the news of the closed connection, which all of them run:
 * several, so that some check comes first. They are readers of one lock. */
#define STOPPED 6

struct stopped {
    struct scene scene;
    struct process processes[STOPPED];
    int first_checks[STOPPED];
};

static void start_process(struct process *process, const struct scene *scene, int32_t lease_tick) {
    const struct process_options options = {
        .hosts = servers_hosts(),
        .resource = scene->resource,
        .session_timeout_ms = ticks_ms(SHORT_SESSION_TICKS),
        .lease_tick_ms = lease_tick,
    };
    zkl_grant grant;
    process_start(process, &options);
    ASSERT_STATUS(process_acquire(process, ZKL_READ, PATIENCE_MS, &grant), ZKL_OK);
}

/* The question lies in the pipe of each before it goes on: it is answered first
 * of all, from what is known without any news. */
static void stopped_begin(struct stopped *stopped, const char *stem, int32_t lease_tick) {
    scene_begin(&stopped->scene, stem);
    for (int i = 0; i < STOPPED; i++) {
        start_process(&stopped->processes[i], &stopped->scene, lease_tick);
    }
    for (int i = 0; i < STOPPED; i++) {
        process_signal(&stopped->processes[i], SIGSTOP);
    }
    WAIT_UNTIL(scene_queue(&stopped->scene) == 0);
    for (int i = 0; i < STOPPED; i++) {
        process_tell(&stopped->processes[i], "check\n");
        process_signal(&stopped->processes[i], SIGCONT);
        stopped->first_checks[i] = process_answer(&stopped->processes[i]);
    }
}

static void assert_never_held_again(struct process *process) {
    zkl_grant again;
    STAYS(process_check(process) == ZKL_LOST, QUIET_MS);
    ASSERT_STATUS(process_release(process), ZKL_LOST);
    ASSERT_STATUS(process_acquire(process, ZKL_EXCLUSIVE, PATIENCE_MS, &again), ZKL_OK);
    ASSERT_STATUS(process_release(process), ZKL_OK);
}

static void stopped_end(struct stopped *stopped) {
    for (int i = 0; i < STOPPED; i++) {
        assert_never_held_again(&stopped->processes[i]);
        process_end(&stopped->processes[i]);
    }
    scene_end(&stopped->scene);
}

static void process_stopped_past_its_session_with_a_lease_says_lost_at_its_first_check(void) {
    struct stopped stopped;
    stopped_begin(&stopped, "stopped-lease", ticks_ms(1));
    for (int i = 0; i < STOPPED; i++) {
        ASSERT_STATUS(stopped.first_checks[i], ZKL_LOST);
    }
    stopped_end(&stopped);
}

static void process_stopped_past_its_session_without_a_lease_never_says_ok(void) {
    struct stopped stopped;
    stopped_begin(&stopped, "stopped-no-lease", 0);
    for (int i = 0; i < STOPPED; i++) {
        int status = stopped.first_checks[i];
        int64_t end = now_ms() + PATIENCE_MS;
        while (status == ZKL_SUSPECT && now_ms() < end) {
            status = process_check(&stopped.processes[i]);
        }
        ASSERT_STATUS(status, ZKL_LOST);
    }
    stopped_end(&stopped);
}

/* ---- A server that is cut off from the others ------------------------------------------ */

/* What a client can know that reads from that server. Times are of CLOCK_BOOTTIME. */
struct reader {
    zhandle_t *raw;
    int64_t answered_sent_at_ms; /* when the last read that was answered was sent */
};

static bool read_once(struct reader *reader) {
    int64_t sent_at = boot_ms();
    bool answered = zoo_exists(reader->raw, "/", 0, NULL) == ZOK;
    if (answered) {
        reader->answered_sent_at_ms = sent_at;
    }
    return answered;
}

/* Reads until the rival is granted. Returns when the holder could first know that
 * it has lost; 0: not before that. */
static int64_t read_until_the_rival_is_granted(struct reader *reader, struct hold *hold,
                                               struct rival *rival) {
    int64_t over_at = 0;
    int64_t end = now_ms() + PATIENCE_MS;
    while (!rival_is_done(rival) && now_ms() < end) {
        int64_t left_ms;
        int status = zkl_lock_check(hold->lock, &left_ms);
        if (over_at == 0 && (status == ZKL_LOST || left_ms == 0)) {
            over_at = boot_ms();
        }
        (void)read_once(reader);
        nap();
    }
    return over_at;
}

/* The server that the holder knows goes on answering, and the other servers give
 * the lock away. */
static void holders_server_cut_off_the_lease_is_over_before_another_is_granted(void) {
    struct hold hold;
    struct rival rival;
    int server = servers_follower();
    if (!servers_can_cut()) {
        printf("skipped: this driver cannot cut servers off; ");
        return;
    }
    hold_begin_for(&hold, "lease-cut", server_host(server), CUT_SESSION_TICKS);
    struct reader reader = { .raw = raw_open(server_host(server)) };
    rival_begin(&rival, &hold, servers_leader());
    server_cut(server);
    int64_t over_at = read_until_the_rival_is_granted(&reader, &hold, &rival);
    bool still_answers = read_once(&reader);
    rival_join(&rival);
    CU_ASSERT_TRUE(over_at != 0);
    CU_ASSERT_TRUE(over_at < rival.granted_at_ms);
    assert_lost_with_the_lease(&hold);
    /* "The last answered request + the timeout" would have had it held for long yet. */
    CU_ASSERT_TRUE(still_answers);
    CU_ASSERT_TRUE(reader.answered_sent_at_ms + hold.timeout_ms > rival.granted_at_ms);
    printf("lost %d ms before another was granted; by the last answered read %d ms after; ",
           (int)(rival.granted_at_ms - over_at),
           (int)(reader.answered_sent_at_ms + hold.timeout_ms - rival.granted_at_ms));
    server_mend(server);
    WAIT_UNTIL(client_information(hold.client).sessions_expired == 1);
    ASSERT_STATUS(zkl_lock_check(hold.lock, NULL), ZKL_LOST);
    ASSERT_STATUS(zkl_lock_release(hold.lock, PATIENCE_MS), ZKL_LOST);
    ASSERT_NUMBER(news_count(&hold.news, ZKL_STATE_LOST), 1);
    raw_close(reader.raw);
    rival_end(&rival);
    hold_end(&hold);
}

int main(int argc, char **argv) {
    static const struct test_case tests[] = {
        TEST_CASE(client_that_is_new_has_a_lease_at_its_first_grant),
        TEST_CASE(lease_of_a_lock_that_is_held_is_extended_again_and_again),
        TEST_CASE(client_idle_for_long_is_granted_when_it_has_earned_a_lease),
        TEST_CASE(all_servers_paused_the_lock_is_lost_within_the_session_timeout),
        TEST_CASE(only_server_killed_the_lock_is_lost_before_another_is_granted),
        TEST_CASE(lease_over_in_a_session_that_lives_the_node_stays_until_the_release),
        TEST_CASE(lease_over_in_a_session_that_lives_the_node_stays_until_the_close),
        TEST_CASE(holders_server_cut_off_the_lease_is_over_before_another_is_granted),
        TEST_CASE(process_stopped_past_its_session_with_a_lease_says_lost_at_its_first_check),
        TEST_CASE(process_stopped_past_its_session_without_a_lease_never_says_ok),
    };
    return run_tests(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
