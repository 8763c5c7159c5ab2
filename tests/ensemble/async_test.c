/*
 * Thousands of asynchronous requests on one client, without a thread for any: each callback comes
 * exactly once, whether it was granted, cancelled, closed, or its session ended; on the client's
 * own thread or in the application's loop.
 */
#include "support/proxy.h"
#include "support/scene.h"
#include "support/servers.h"

#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

/* The longest that the servers grant: nothing is meant to expire. */
#define LONGEST_SESSION_MS 60000
#define SESSION_MS 6000
/* For the owner of a handle that is not reentrant. */
#define NOBODY NULL

/* Short names, so that one session can watch for all: a further one would have threads of its own.
 */
enum { RESOURCES = 40, REQUESTS = 2000 };
#define SHORT_NAME "a"

static int threads_of_this_process(void) {
    DIR *tasks = opendir("/proc/self/task");
    int count = 0;
    if (tasks == NULL) {
        give_up("no /proc/self/task");
    }
    for (const struct dirent *task = readdir(tasks); task != NULL; task = readdir(tasks)) {
        count += task->d_name[0] != '.';
    }
    closedir(tasks);
    return count;
}

/* ---- A crowd of requests ---------------------------------------------------------------- */

struct crowd;

struct job {
    struct crowd *crowd;
    struct place *place;
    zkl_lock *lock;
    atomic_int told;
    int status;
};

/* A resource with its holder, in another client, and what the jobs see of each other. Only the
 * thread of the callbacks looks at the second part, until all were told. */
struct place {
    char path[320];
    zkl_lock *holder;

    int64_t last_token;
    int granted;
    int wrong; /* grants out of order */
};

struct crowd {
    struct scene scene;
    zkl_client *holders_client;
    zkl_client *client;
    int32_t fail_on_session_expiry;
    int resources;
    int count;
    struct place places[RESOURCES];
    struct job *jobs;
    atomic_int told;
    atomic_int elsewhere; /* callbacks that came on other than the one thread */
    atomic_bool has_thread;
    pthread_t thread; /* that the callbacks come on */
};

static void note_thread(struct crowd *crowd) {
    if (!atomic_exchange(&crowd->has_thread, true)) {
        crowd->thread = pthread_self();
    }
    atomic_fetch_add(&crowd->elsewhere, pthread_equal(crowd->thread, pthread_self()) ? 0 : 1);
}

static void use_place(struct place *place, const zkl_grant *grant) {
    place->wrong += grant->token > place->last_token ? 0 : 1;
    place->last_token = grant->token;
    place->granted++;
}

static void on_acquired(void *arg, int status, const zkl_grant *grant) {
    struct job *job = arg;
    note_thread(job->crowd);
    job->status = status;
    if (status == ZKL_OK) {
        use_place(job->place, grant);
        int released = zkl_lock_release_async(job->lock, 0, NOBODY, NULL, NULL);
        /* The client may be closed just now, which releases it as well. */
        job->status = released == ZKL_CLOSED ? ZKL_OK : released;
    }
    atomic_fetch_add(&job->told, 1);
    atomic_fetch_add(&job->crowd->told, 1);
}

static void open_place(struct crowd *crowd, struct place *place, int number) {
    snprintf(place->path, sizeof place->path, "%s/%d", crowd->scene.path, number);
    raw_make(crowd->scene.raw, place->path);
    place->holder = lock_open(crowd->holders_client, place->path);
    ASSERT_STATUS(zkl_lock_acquire(place->holder, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
}

/* All resources are held; the requests are still to come. The client is the caller's, to be closed.
 */
static void crowd_begin(struct crowd *crowd, const char *stem, int resources, int count) {
    *crowd = (struct crowd){ .resources = resources, .count = count };
    scene_begin(&crowd->scene, stem);
    raw_make(crowd->scene.raw, "/locks");
    raw_make(crowd->scene.raw, crowd->scene.path);
    crowd->holders_client = client_open(servers_hosts(), LONGEST_SESSION_MS);
    for (int i = 0; i < resources; i++) {
        open_place(crowd, &crowd->places[i], i);
    }
    crowd->jobs = calloc((size_t)count, sizeof *crowd->jobs);
    if (crowd->jobs == NULL) {
        give_up("out of memory");
    }
}

static void open_jobs(struct crowd *crowd, zkl_client *client) {
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    options.fail_on_session_expiry = crowd->fail_on_session_expiry;
    crowd->client = client;
    for (int i = 0; i < crowd->count; i++) {
        struct job *job = &crowd->jobs[i];
        job->crowd = crowd;
        job->place = &crowd->places[i % crowd->resources];
        ASSERT_STATUS(zkl_lock_open(client, job->place->path, &options, &job->lock), ZKL_OK);
    }
}

static void start_jobs(struct crowd *crowd) {
    int begun = 0;
    for (int i = 0; i < crowd->count; i++) {
        struct job *job = &crowd->jobs[i];
        begun += zkl_lock_acquire_async(job->lock, ZKL_EXCLUSIVE, ZKL_FOREVER, NOBODY, on_acquired,
                                        job) == ZKL_OK;
    }
    ASSERT_NUMBER(begun, crowd->count);
}

static int queued(struct crowd *crowd) {
    int nodes = 0;
    raw_catch_up(crowd->scene.raw);
    for (int i = 0; i < crowd->resources; i++) {
        nodes += raw_children(crowd->scene.raw, crowd->places[i].path);
    }
    return nodes;
}

/* The holders' nodes and all of theirs; nobody was told anything. */
static void wait_until_all_are_queued(struct crowd *crowd) {
    WAIT_UNTIL(queued(crowd) == crowd->resources + crowd->count);
    ASSERT_NUMBER(atomic_load(&crowd->told), 0);
}

static void release_holders(struct crowd *crowd) {
    for (int i = 0; i < crowd->resources; i++) {
        ASSERT_STATUS(zkl_lock_release(crowd->places[i].holder, 0), ZKL_OK);
    }
}

static int count_told(struct crowd *crowd, int status) {
    int count = 0;
    for (int i = 0; i < crowd->count; i++) {
        count += atomic_load(&crowd->jobs[i].told) == 1 && crowd->jobs[i].status == status;
    }
    return count;
}

static int granted(struct crowd *crowd) {
    int count = 0;
    for (int i = 0; i < crowd->resources; i++) {
        count += crowd->places[i].granted;
        ASSERT_NUMBER(crowd->places[i].wrong, 0);
    }
    return count;
}

/* Nothing is left, and nobody is told any more: all that could be still to come has come when the
 * client, or its part in it, is closed. */
static void crowd_end(struct crowd *crowd) {
    for (int i = 0; i < crowd->count; i++) {
        zkl_lock_close(crowd->jobs[i].lock);
    }
    if (crowd->client != NULL) {
        client_close(crowd->client);
    }
    ASSERT_NUMBER(atomic_load(&crowd->told), crowd->count);
    ASSERT_NUMBER(atomic_load(&crowd->elsewhere), 0);
    for (int i = 0; i < crowd->resources; i++) {
        zkl_lock_close(crowd->places[i].holder);
    }
    client_close(crowd->holders_client);
    WAIT_UNTIL(queued(crowd) == 0);
    for (int i = 0; i < crowd->resources; i++) {
        raw_delete(crowd->scene.raw, crowd->places[i].path);
    }
    free(crowd->jobs);
    scene_end(&crowd->scene);
}

/* ---- On the client's own thread --------------------------------------------------------- */

static void on_first(void *arg, int status, const zkl_grant *grant) {
    (void)grant;
    atomic_store((atomic_int *)arg, status == ZKL_OK ? 1 : -1);
}

/* After it the client has all the threads that it ever will have. */
static void use_once(struct crowd *crowd, zkl_client *client) {
    char path[320];
    atomic_int told;
    atomic_init(&told, 0);
    snprintf(path, sizeof path, "%s/first", crowd->scene.path);
    zkl_lock *lock = lock_open(client, path);
    ASSERT_STATUS(zkl_lock_acquire_async(lock, ZKL_EXCLUSIVE, PATIENCE_MS, NOBODY, on_first, &told),
                  ZKL_OK);
    WAIT_UNTIL(atomic_load(&told) != 0);
    ASSERT_NUMBER(atomic_load(&told), 1);
    ASSERT_STATUS(zkl_lock_release(lock, PATIENCE_MS), ZKL_OK);
    zkl_lock_close(lock);
    raw_catch_up(crowd->scene.raw);
    raw_delete(crowd->scene.raw, path);
}

static void two_thousand_wait_without_a_thread_and_are_told_once_each(void) {
    struct crowd crowd;
    crowd_begin(&crowd, SHORT_NAME, RESOURCES, REQUESTS);
    zkl_client *client = client_open(servers_hosts(), LONGEST_SESSION_MS);
    use_once(&crowd, client);
    int before = threads_of_this_process();
    open_jobs(&crowd, client);
    start_jobs(&crowd);
    wait_until_all_are_queued(&crowd);
    int during = threads_of_this_process();
    ASSERT_NUMBER(client_information(client).sessions, 1);
    printf("%d threads before, %d during ", before, during);
    ASSERT_NUMBER(during, before);
    release_holders(&crowd);
    WAIT_UNTIL(atomic_load(&crowd.told) == REQUESTS);
    ASSERT_NUMBER(count_told(&crowd, ZKL_OK), REQUESTS);
    ASSERT_NUMBER(granted(&crowd), REQUESTS);
    crowd_end(&crowd);
}

/* ---- All at one resource ----------------------------------------------------------------- */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { CROWD = 2000 };
#else
enum { CROWD = 10000 };
#endif
enum { HANDED_OVER = 100, CROWD_PATIENCE_MS = 120000, BYTES_EACH_MAX = 20 * 1024 };

static int64_t resident_bytes(void) {
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%*d %ld", &pages) != 1) {
        give_up("cannot read /proc/self/statm");
    }
    fclose(file);
    return (int64_t)pages * sysconf(_SC_PAGESIZE);
}

static bool crowd_is_queued(struct crowd *crowd) {
    return queued(crowd) == crowd->resources + crowd->count;
}

static bool some_were_granted(struct crowd *crowd) {
    return atomic_load(&crowd->told) >= HANDED_OVER;
}

static bool wait_long_for(struct crowd *crowd, bool (*is_met)(struct crowd *crowd)) {
    int64_t end = now_ms() + CROWD_PATIENCE_MS;
    while (!is_met(crowd) && now_ms() < end) {
        nap();
    }
    return is_met(crowd);
}

/* A list for each of them would make the servers write n * n / 2 names, which is more than their
 * 256 MB of heap hold. */
static void ten_thousand_at_one_resource_leave_the_servers_alive_and_the_queue_moving(void) {
    struct crowd crowd;
    crowd_begin(&crowd, SHORT_NAME, 1, CROWD);
    int64_t epoch = servers_epoch();
    int64_t memory = resident_bytes();
    int64_t begun = now_ms();
    open_jobs(&crowd, client_open(servers_hosts(), LONGEST_SESSION_MS));
    start_jobs(&crowd);
    CU_ASSERT_TRUE(wait_long_for(&crowd, crowd_is_queued));
    int64_t each = (resident_bytes() - memory) / CROWD;
    int64_t formed = now_ms();
    printf("\n    %d in their queue after %d ms, %d bytes each; ", CROWD, (int)(formed - begun),
           (int)each);
    CU_ASSERT_TRUE(each <= BYTES_EACH_MAX);
    release_holders(&crowd);
    CU_ASSERT_TRUE(wait_long_for(&crowd, some_were_granted));
    printf("%d hand-offs in %d ms ", HANDED_OVER, (int)(now_ms() - formed));
    ASSERT_NUMBER(client_information(crowd.client).sessions_expired, 0);
    client_close(crowd.client);
    crowd.client = NULL;
    ASSERT_NUMBER(count_told(&crowd, ZKL_OK), granted(&crowd));
    ASSERT_NUMBER(servers_epoch(), epoch);
    CU_ASSERT_TRUE(servers_sum("zk_uptime") > 0); /* it asks each of them */
    crowd_end(&crowd);
}

/* ---- Called off, and closed ---------------------------------------------------------------- */

/* Every third is called off, before the others are granted. */
static void those_that_are_cancelled_are_told_so_and_the_others_granted(void) {
    struct crowd crowd;
    const int cancelled = (REQUESTS + 2) / 3;
    crowd_begin(&crowd, "async-cancel", RESOURCES, REQUESTS);
    open_jobs(&crowd, client_open(servers_hosts(), LONGEST_SESSION_MS));
    start_jobs(&crowd);
    wait_until_all_are_queued(&crowd);
    for (int i = 0; i < REQUESTS; i += 3) {
        ASSERT_STATUS(zkl_lock_cancel(crowd.jobs[i].lock), ZKL_OK);
        ASSERT_STATUS(zkl_lock_cancel(crowd.jobs[i].lock), ZKL_NOT_WAITING);
    }
    WAIT_UNTIL(atomic_load(&crowd.told) == cancelled);
    ASSERT_NUMBER(count_told(&crowd, ZKL_CANCELLED), cancelled);
    WAIT_UNTIL(queued(&crowd) == RESOURCES + REQUESTS - cancelled);
    release_holders(&crowd);
    WAIT_UNTIL(atomic_load(&crowd.told) == REQUESTS);
    ASSERT_NUMBER(count_told(&crowd, ZKL_OK), REQUESTS - cancelled);
    ASSERT_NUMBER(granted(&crowd), REQUESTS - cancelled);
    crowd_end(&crowd);
}

static void close_of_the_client_tells_all_before_it_returns(void) {
    struct crowd crowd;
    crowd_begin(&crowd, "async-close", RESOURCES, REQUESTS);
    open_jobs(&crowd, client_open(servers_hosts(), LONGEST_SESSION_MS));
    start_jobs(&crowd);
    wait_until_all_are_queued(&crowd);
    client_close(crowd.client);
    crowd.client = NULL;
    ASSERT_NUMBER(count_told(&crowd, ZKL_CLOSED), REQUESTS);
    ASSERT_NUMBER(queued(&crowd), RESOURCES);
    crowd_end(&crowd);
}

/* Nobody waits for the callbacks, which come later. */
static void close_of_the_handles_tells_all_that_they_are_cancelled(void) {
    struct crowd crowd;
    crowd_begin(&crowd, "async-handles", RESOURCES, REQUESTS);
    open_jobs(&crowd, client_open(servers_hosts(), LONGEST_SESSION_MS));
    start_jobs(&crowd);
    wait_until_all_are_queued(&crowd);
    for (int i = 0; i < REQUESTS; i++) {
        zkl_lock_close(crowd.jobs[i].lock);
        crowd.jobs[i].lock = NULL;
    }
    WAIT_UNTIL(atomic_load(&crowd.told) == REQUESTS);
    ASSERT_NUMBER(count_told(&crowd, ZKL_CANCELLED), REQUESTS);
    WAIT_UNTIL(queued(&crowd) == RESOURCES);
    crowd_end(&crowd);
}

/* ---- The end of the session ------------------------------------------------------------- */

enum { BEHIND_PROXY = 500 };

static void begin_behind_proxy(struct crowd *crowd, struct proxy **proxy,
                               int32_t fail_on_session_expiry) {
    crowd_begin(crowd, "async-expiry", RESOURCES, BEHIND_PROXY);
    crowd->fail_on_session_expiry = fail_on_session_expiry;
    *proxy = proxy_start(0);
    open_jobs(crowd, client_open(proxy_hosts(*proxy), SESSION_MS));
    start_jobs(crowd);
    wait_until_all_are_queued(crowd);
    clientid_t session = proxy_session(*proxy);
    raw_expire(servers_hosts(), &session);
    WAIT_UNTIL(client_information(crowd->client).sessions_expired == 1);
}

static void requests_whose_session_ends_join_again_and_are_told_once(void) {
    struct crowd crowd;
    struct proxy *proxy;
    begin_behind_proxy(&crowd, &proxy, 0);
    wait_until_all_are_queued(&crowd);
    release_holders(&crowd);
    WAIT_UNTIL(atomic_load(&crowd.told) == BEHIND_PROXY);
    ASSERT_NUMBER(count_told(&crowd, ZKL_OK), BEHIND_PROXY);
    ASSERT_NUMBER(granted(&crowd), BEHIND_PROXY);
    crowd_end(&crowd);
    proxy_stop(proxy);
}

static void requests_that_are_to_fail_with_their_session_are_told_once(void) {
    struct crowd crowd;
    struct proxy *proxy;
    begin_behind_proxy(&crowd, &proxy, 1);
    WAIT_UNTIL(atomic_load(&crowd.told) == BEHIND_PROXY);
    ASSERT_NUMBER(count_told(&crowd, ZKL_SESSION_EXPIRED), BEHIND_PROXY);
    ASSERT_NUMBER(queued(&crowd), RESOURCES);
    crowd_end(&crowd);
    proxy_stop(proxy);
}

/* ---- In the application's own loop ------------------------------------------------------ */

static zkl_client *open_dispatched(void) {
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    zkl_client *client = NULL;
    options.session_timeout_ms = LONGEST_SESSION_MS;
    options.connect_timeout_ms = PATIENCE_MS;
    options.dispatch = ZKL_DISPATCH_CALLER;
    ASSERT_STATUS(zkl_client_open(servers_hosts(), &options, &client), ZKL_OK);
    return client;
}

static int open_loop(zkl_client *client) {
    struct epoll_event event = { .events = EPOLLIN | EPOLLET };
    int loop = epoll_create1(EPOLL_CLOEXEC);
    int descriptor = -1;
    ASSERT_STATUS(zkl_client_event_descriptor(client, &descriptor), ZKL_OK);
    if (loop < 0 || epoll_ctl(loop, EPOLL_CTL_ADD, descriptor, &event) != 0) {
        give_up("no epoll");
    }
    return loop;
}

/* Runs the loop until so many were told, or nothing comes for too long; returns how many callbacks
 * it has run. */
static size_t run_loop(int loop, struct crowd *crowd, int told) {
    size_t run = 0;
    struct epoll_event event;
    while (atomic_load(&crowd->told) < told && epoll_wait(loop, &event, 1, PATIENCE_MS) == 1) {
        size_t count = 0;
        ASSERT_STATUS(zkl_client_dispatch(crowd->client, &count), ZKL_OK);
        run += count;
    }
    return run;
}

static void callbacks_come_in_the_loop_of_the_application_and_nowhere_else(void) {
    struct crowd crowd;
    struct epoll_event event;
    const int cancelled = REQUESTS / 2;
    crowd_begin(&crowd, SHORT_NAME, RESOURCES, REQUESTS);
    zkl_client *client = open_dispatched();
    int loop = open_loop(client);
    int before = threads_of_this_process();
    open_jobs(&crowd, client);
    start_jobs(&crowd);
    wait_until_all_are_queued(&crowd);
    ASSERT_NUMBER(threads_of_this_process(), before);
    ASSERT_NUMBER(epoll_wait(loop, &event, 1, 0), 0);
    for (int i = 0; i < REQUESTS; i += 2) {
        ASSERT_STATUS(zkl_lock_cancel(crowd.jobs[i].lock), ZKL_OK);
    }
    ASSERT_NUMBER(atomic_load(&crowd.told), 0);
    ASSERT_NUMBER(run_loop(loop, &crowd, cancelled), cancelled);
    ASSERT_NUMBER(count_told(&crowd, ZKL_CANCELLED), cancelled);
    release_holders(&crowd);
    ASSERT_NUMBER(run_loop(loop, &crowd, REQUESTS), REQUESTS - cancelled);
    ASSERT_NUMBER(granted(&crowd), REQUESTS - cancelled);
    CU_ASSERT_TRUE(pthread_equal(crowd.thread, pthread_self()));
    ASSERT_NUMBER(epoll_wait(loop, &event, 1, 0), 0);
    (void)close(loop);
    crowd_end(&crowd);
}

/* ---- Holds of a reentrant handle ----------------------------------------------------------- */

struct hold {
    int times;
    int status;
    zkl_grant grant;
};

static void on_hold(void *arg, int status, const zkl_grant *grant) {
    struct hold *hold = arg;
    hold->times++;
    hold->status = status;
    if (grant != NULL) {
        hold->grant = *grant;
    }
}

struct owned {
    struct scene scene;
    zkl_client *client;
    zkl_lock *lock;
    struct hold first;
};

static const char owner;

static void dispatch_until_told(struct owned *owned, struct hold *hold) {
    WAIT_UNTIL(zkl_client_dispatch(owned->client, NULL) == ZKL_OK && hold->times > 0);
}

static void hold_again(struct owned *owned, struct hold *hold) {
    *hold = (struct hold){ .grant = ZKL_GRANT_INIT };
    ASSERT_STATUS(zkl_lock_acquire_async(owned->lock, ZKL_READ, PATIENCE_MS, &owner, on_hold, hold),
                  ZKL_OK);
}

static void owned_begin(struct owned *owned, const char *stem) {
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    zkl_lock_options its = ZKL_LOCK_OPTIONS_INIT;
    scene_begin(&owned->scene, stem);
    options.session_timeout_ms = LONG_SESSION_MS;
    options.dispatch = ZKL_DISPATCH_CALLER;
    its.reentrant = 1;
    ASSERT_STATUS(zkl_client_open(servers_hosts(), &options, &owned->client), ZKL_OK);
    ASSERT_STATUS(zkl_lock_open(owned->client, owned->scene.resource, &its, &owned->lock), ZKL_OK);
    hold_again(owned, &owned->first);
    dispatch_until_told(owned, &owned->first);
    ASSERT_STATUS(owned->first.status, ZKL_OK);
}

static void owned_end(struct owned *owned) {
    WAIT_UNTIL(scene_queue(&owned->scene) == 0); /* before the handle is closed: nothing is held */
    zkl_lock_close(owned->lock);
    client_close(owned->client);
    scene_end(&owned->scene);
}

static void give_back(struct owned *owned) {
    ASSERT_STATUS(zkl_lock_release_async(owned->lock, 0, &owner, NULL, NULL), ZKL_OK);
}

static void hold_of_a_grant_that_is_over_is_none_of_the_next(void) {
    struct owned owned;
    struct hold late;
    zkl_grant grant = ZKL_GRANT_INIT;
    owned_begin(&owned, "hold-of-before");
    hold_again(&owned, &late);
    give_back(&owned);
    give_back(&owned);
    ASSERT_STATUS(zkl_lock_acquire(owned.lock, ZKL_READ, PATIENCE_MS, &grant), ZKL_OK);
    CU_ASSERT_TRUE(grant.token > owned.first.grant.token);
    dispatch_until_told(&owned, &late);
    ASSERT_STATUS(late.status, ZKL_LOST);
    ASSERT_STATUS(zkl_lock_release(owned.lock, PATIENCE_MS), ZKL_OK);
    owned_end(&owned);
}

static void hold_until_decided(struct owned *owned) {
    int descriptor = -1;
    ASSERT_STATUS(zkl_client_event_descriptor(owned->client, &descriptor), ZKL_OK);
    struct pollfd one = { .fd = descriptor, .events = POLLIN };
    WAIT_UNTIL(poll(&one, 1, 0) == 1);
}

/* The upgrade is decided, and its callback waits before that of the hold. */
static void hold_that_an_upgrade_overtakes_is_told_with_the_writers_token(void) {
    struct owned owned;
    struct hold upgraded = { .grant = ZKL_GRANT_INIT };
    struct hold again;
    owned_begin(&owned, "hold-upgraded");
    ASSERT_STATUS(zkl_lock_try_upgrade_async(owned.lock, &owner, on_hold, &upgraded), ZKL_OK);
    hold_until_decided(&owned);
    hold_again(&owned, &again);
    dispatch_until_told(&owned, &again);
    ASSERT_STATUS(upgraded.status, ZKL_OK);
    ASSERT_STATUS(again.status, ZKL_OK);
    CU_ASSERT_TRUE(upgraded.grant.token > owned.first.grant.token);
    ASSERT_NUMBER(again.grant.token, upgraded.grant.token);
    give_back(&owned);
    give_back(&owned);
    owned_end(&owned);
}

int main(int argc, char **argv) {
    static const struct test_case tests[] = {
        TEST_CASE(two_thousand_wait_without_a_thread_and_are_told_once_each),
        TEST_CASE(ten_thousand_at_one_resource_leave_the_servers_alive_and_the_queue_moving),
        TEST_CASE(those_that_are_cancelled_are_told_so_and_the_others_granted),
        TEST_CASE(close_of_the_client_tells_all_before_it_returns),
        TEST_CASE(close_of_the_handles_tells_all_that_they_are_cancelled),
        TEST_CASE(requests_whose_session_ends_join_again_and_are_told_once),
        TEST_CASE(requests_that_are_to_fail_with_their_session_are_told_once),
        TEST_CASE(callbacks_come_in_the_loop_of_the_application_and_nowhere_else),
        TEST_CASE(hold_of_a_grant_that_is_over_is_none_of_the_next),
        TEST_CASE(hold_that_an_upgrade_overtakes_is_told_with_the_writers_token),
    };
    return run_tests(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
