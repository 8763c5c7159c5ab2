/*
 * One client with as many waiters as a service can have: it spreads them over
 * sessions, so that each can arm its watches again after a reconnect. The
 * servers tell how many bytes of paths each session watches.
 */
#include "support/scene.h"
#include "support/servers.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sanitizers multiply what a thread costs. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SCALE_DOWN 20
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SCALE_DOWN 20
#endif
#endif
#ifndef SCALE_DOWN
#define SCALE_DOWN 1
#endif

/* The longest that the servers grant: nothing is meant to expire. */
#define SESSION_MS 60000
/* For thousands of requests, on a machine that does other work as well. */
#define LONG_PATIENCE_MS 120000
/* A thread each: the calls of zklock that wait need little. */
#define STACK_SIZE ((size_t)64 * 1024)
#define WATCHED_BYTES_MAX ((int64_t)512 * 1024)
#define SESSIONS_MAX 16
/* What a session can watch; each node that it holds counts twice. */
#define SESSION_PATHS_MAX (512 * 1024 / 2)

/* ---- A crowd: resources, a holder and waiters for each ----------------------- */

struct place {
    char path[1024]; /* of the resource; zkl_lock_open refuses what is too long */
    zkl_lock *holder;
    zkl_grant grant;
    uint64_t names;       /* of all nodes in the queue, whatever their order */
    pthread_mutex_t held; /* what the lock protects: */
    int64_t last_token;
    int granted;
    int wrong; /* grants out of order, or while another held */
};

struct member {
    struct place *place;
    zkl_lock *lock;
    pthread_t thread;
    int status;
};

struct crowd {
    struct scene scene;
    zkl_client *holders_client;
    zkl_client *client;
    int resources;
    int members;
    int started; /* as many as the machine had threads for */
    struct place *places;
    struct member *all;
    int64_t holders_sessions[SESSIONS_MAX];
    int holders_session_count;
};

static void *require_memory(size_t count, size_t size) {
    void *memory = calloc(count, size);
    if (memory == NULL) {
        give_up("out of memory");
    }
    return memory;
}

/* Each says in turn what it took. */
static int64_t tell_time_since(int64_t begun_ms, const char *what) {
    int64_t now = now_ms();
    printf("\n    %6d ms: %s ", (int)(now - begun_ms), what);
    return now;
}

static bool wait_long_for(struct crowd *crowd, bool (*is_met)(struct crowd *crowd)) {
    int64_t end = now_ms() + LONG_PATIENCE_MS;
    bool met = is_met(crowd);
    while (!met && now_ms() < end) {
        nap();
        met = is_met(crowd);
    }
    return met;
}

static void note_holders_session(struct crowd *crowd, int64_t session_id) {
    for (int i = 0; i < crowd->holders_session_count; i++) {
        if (crowd->holders_sessions[i] == session_id) {
            return;
        }
    }
    if (crowd->holders_session_count < SESSIONS_MAX) {
        crowd->holders_sessions[crowd->holders_session_count++] = session_id;
    }
}

static void open_place(struct crowd *crowd, int i, int name_length) {
    struct place *place = &crowd->places[i];
    /* A resource below the scene's own, its name as long as asked for. */
    snprintf(place->path, sizeof place->path, "%s/%0*d", crowd->scene.path, name_length, i);
    raw_make(crowd->scene.raw, place->path);
    place->holder = lock_open(crowd->holders_client, place->path);
    place->grant = (zkl_grant)ZKL_GRANT_INIT;
    pthread_mutex_init(&place->held, NULL);
    ASSERT_STATUS(zkl_lock_acquire(place->holder, ZKL_EXCLUSIVE, PATIENCE_MS, &place->grant),
                  ZKL_OK);
}

static void note_holders_sessions(struct crowd *crowd) {
    raw_catch_up(crowd->scene.raw);
    for (int i = 0; i < crowd->resources; i++) {
        struct Stat stat = { 0 };
        CU_ASSERT_TRUE(raw_stat(crowd->scene.raw, crowd->places[i].grant.node, &stat));
        note_holders_session(crowd, stat.ephemeralOwner);
    }
}

/* Exclusion and order, seen by those who are granted. */
static void use_place(struct place *place, int64_t token) {
    int alone = pthread_mutex_trylock(&place->held) == 0;
    if (alone) {
        place->wrong += token <= place->last_token;
        place->last_token = token;
        place->granted++;
        pthread_mutex_unlock(&place->held);
    } else {
        pthread_mutex_lock(&place->held);
        place->wrong++;
        pthread_mutex_unlock(&place->held);
    }
}

static void *wait_in_crowd(void *arg) {
    struct member *member = arg;
    zkl_grant grant = ZKL_GRANT_INIT;
    member->status = zkl_lock_acquire(member->lock, ZKL_EXCLUSIVE, ZKL_FOREVER, &grant);
    if (member->status == ZKL_OK) {
        use_place(member->place, grant.token);
        member->status = zkl_lock_release(member->lock, 0);
    }
    return NULL;
}

static bool start_member(struct crowd *crowd, int i) {
    struct member *member = &crowd->all[i];
    pthread_attr_t attributes;
    member->place = &crowd->places[i % crowd->resources];
    member->lock = lock_open(crowd->client, member->place->path);
    pthread_attr_init(&attributes);
    if (SCALE_DOWN == 1) {
        pthread_attr_setstacksize(&attributes, STACK_SIZE);
    }
    bool started = pthread_create(&member->thread, &attributes, wait_in_crowd, member) == 0;
    pthread_attr_destroy(&attributes);
    if (!started) {
        zkl_lock_close(member->lock);
    }
    return started;
}

static void start_members(struct crowd *crowd) {
    while (crowd->started < crowd->members && start_member(crowd, crowd->started)) {
        crowd->started++;
    }
    if (crowd->started < crowd->members) {
        printf("\n    this machine has threads for %d of %d waiters only ", crowd->started,
               crowd->members);
    }
    CU_ASSERT_TRUE(crowd->started >= crowd->resources);
}

/* ---- What the servers know ------------------------------------------------------ */

struct session_watches {
    int64_t session_id;
    int64_t bytes;
};

struct watch_tally {
    const struct crowd *crowd;
    int watches;
    int sessions;
    struct session_watches of[2 * SESSIONS_MAX];
};

static bool is_holders(const struct crowd *crowd, int64_t session_id) {
    for (int i = 0; i < crowd->holders_session_count; i++) {
        if (crowd->holders_sessions[i] == session_id) {
            return true;
        }
    }
    return false;
}

static struct session_watches *tally_of(struct watch_tally *tally, int64_t session_id) {
    for (int i = 0; i < tally->sessions; i++) {
        if (tally->of[i].session_id == session_id) {
            return &tally->of[i];
        }
    }
    if (tally->sessions == 2 * SESSIONS_MAX) {
        give_up("watches of more than %d sessions", 2 * SESSIONS_MAX);
    }
    tally->of[tally->sessions] = (struct session_watches){ session_id, 0 };
    return &tally->of[tally->sessions++];
}

static void tally_watch(void *arg, const char *node, int64_t session_id) {
    struct watch_tally *tally = arg;
    tally_of(tally, session_id)->bytes += (int64_t)strlen(node);
    tally->watches += is_holders(tally->crowd, session_id) ? 0 : 1;
}

static struct watch_tally count_watches(struct crowd *crowd) {
    struct watch_tally tally = { .crowd = crowd };
    servers_visit_watches(crowd->scene.path, tally_watch, &tally);
    return tally;
}

/* Each waiter watches the one before it. The first of a queue watches itself as
 * well; the servers count that apart if no other of its session does. */
static bool all_watches_are_armed(struct crowd *crowd) {
    bool first_ones_only = crowd->members == crowd->resources;
    return count_watches(crowd).watches >= crowd->started * (first_ones_only ? 2 : 1);
}

static bool all_are_queued(struct crowd *crowd) {
    int queued = 0;
    raw_catch_up(crowd->scene.raw);
    for (int i = 0; i < crowd->resources; i++) {
        queued += raw_children(crowd->scene.raw, crowd->places[i].path);
    }
    return queued == crowd->started + crowd->resources;
}

static bool is_connected(struct crowd *crowd) {
    return client_information(crowd->client).connected &&
           client_information(crowd->holders_client).connected;
}

/* FNV-1a, added up: the same for the same names. */
static void add_name(void *arg, const char *name) {
    uint64_t hash = 14695981039346656037U;
    for (; *name != '\0'; name++) {
        hash = (hash ^ (unsigned char)*name) * 1099511628211U;
    }
    *(uint64_t *)arg += hash;
}

static uint64_t names_at(struct crowd *crowd, const struct place *place) {
    uint64_t sum = 0;
    raw_visit_children(crowd->scene.raw, place->path, add_name, &sum);
    return sum;
}

static void note_places(struct crowd *crowd) {
    raw_catch_up(crowd->scene.raw);
    for (int i = 0; i < crowd->resources; i++) {
        crowd->places[i].names = names_at(crowd, &crowd->places[i]);
    }
}

static int count_places_changed(struct crowd *crowd) {
    int changed = 0;
    raw_catch_up(crowd->scene.raw);
    for (int i = 0; i < crowd->resources; i++) {
        changed += names_at(crowd, &crowd->places[i]) != crowd->places[i].names;
    }
    return changed;
}

static void assert_no_session_watches_too_much(struct crowd *crowd) {
    struct watch_tally tally = count_watches(crowd);
    int64_t most = 0;
    for (int i = 0; i < tally.sessions; i++) {
        most = tally.of[i].bytes > most ? tally.of[i].bytes : most;
    }
    printf("\n    %d watches of %d sessions, at most %d bytes each ", tally.watches, tally.sessions,
           (int)most);
    CU_ASSERT_TRUE(most <= WATCHED_BYTES_MAX);
}

/* ---- The crowd's life -------------------------------------------------------------- */

static void crowd_begin(struct crowd *crowd, const char *stem, int resources, int members,
                        int name_length) {
    memset(crowd, 0, sizeof *crowd);
    scene_begin(&crowd->scene, stem);
    raw_make(crowd->scene.raw, "/locks");
    raw_make(crowd->scene.raw, crowd->scene.path);
    crowd->resources = resources;
    crowd->members = members;
    crowd->places = require_memory((size_t)resources, sizeof *crowd->places);
    crowd->all = require_memory((size_t)members, sizeof *crowd->all);
    crowd->holders_client = client_open(servers_hosts(), SESSION_MS);
    crowd->client = client_open(servers_hosts(), SESSION_MS);
    int64_t begun = now_ms();
    for (int i = 0; i < resources; i++) {
        open_place(crowd, i, name_length);
    }
    note_holders_sessions(crowd);
    begun = tell_time_since(begun, "all holders hold");
    start_members(crowd);
    CU_ASSERT_TRUE(wait_long_for(crowd, all_are_queued));
    begun = tell_time_since(begun, "all waiters are in their queues");
    CU_ASSERT_TRUE(wait_long_for(crowd, all_watches_are_armed));
    (void)tell_time_since(begun, "and watch");
}

static void kill_and_start_all_servers(struct crowd *crowd) {
    note_places(crowd);
    int64_t begun = now_ms();
    servers_kill();
    WAIT_UNTIL(!is_connected(crowd));
    servers_start();
    begun = tell_time_since(begun, "all servers were killed and serve again");
    CU_ASSERT_TRUE(wait_long_for(crowd, is_connected));
    begun = tell_time_since(begun, "all sessions are connected");
    CU_ASSERT_TRUE(wait_long_for(crowd, all_watches_are_armed));
    (void)tell_time_since(begun, "all watches are armed again");
    ASSERT_NUMBER(client_information(crowd->client).sessions_expired, 0);
    ASSERT_NUMBER(client_information(crowd->holders_client).sessions_expired, 0);
    ASSERT_NUMBER(count_places_changed(crowd), 0);
}

static bool is_of_the_granted(const struct crowd *crowd, int i) {
    return i % crowd->resources % 2 == 0;
}

/* At every second resource all are granted in their turn; at the others they
 * are called off while the holder still holds. */
static void end_all_waits(struct crowd *crowd) {
    for (int i = 0; i < crowd->started; i++) {
        if (!is_of_the_granted(crowd, i)) {
            ASSERT_STATUS(zkl_lock_cancel(crowd->all[i].lock), ZKL_OK);
        }
    }
    for (int i = 0; i < crowd->resources; i++) {
        ASSERT_STATUS(zkl_lock_check(crowd->places[i].holder, NULL), ZKL_OK);
        crowd->places[i].last_token = crowd->places[i].grant.token;
        ASSERT_STATUS(zkl_lock_release(crowd->places[i].holder, 0), ZKL_OK);
    }
}

static void join_members(struct crowd *crowd) {
    int wrong = 0;
    for (int i = 0; i < crowd->started; i++) {
        int wanted = is_of_the_granted(crowd, i) ? ZKL_OK : ZKL_CANCELLED;
        pthread_join(crowd->all[i].thread, NULL);
        wrong += crowd->all[i].status != wanted;
        zkl_lock_close(crowd->all[i].lock);
    }
    ASSERT_NUMBER(wrong, 0);
}

static bool nothing_is_pending(struct crowd *crowd) {
    return client_information(crowd->client).pending_deletions == 0 &&
           client_information(crowd->holders_client).pending_deletions == 0;
}

static void close_places(struct crowd *crowd) {
    int granted = 0;
    int wanted = 0;
    int wrong = 0;
    for (int i = 0; i < crowd->started; i++) {
        wanted += is_of_the_granted(crowd, i);
    }
    for (int i = 0; i < crowd->resources; i++) {
        struct place *place = &crowd->places[i];
        granted += place->granted;
        wrong += place->wrong;
        zkl_lock_close(place->holder);
        ASSERT_NUMBER(raw_children(crowd->scene.raw, place->path), 0);
        raw_delete(crowd->scene.raw, place->path);
        pthread_mutex_destroy(&place->held);
    }
    ASSERT_NUMBER(granted, wanted);
    ASSERT_NUMBER(wrong, 0);
}

static void crowd_end(struct crowd *crowd) {
    int64_t begun = now_ms();
    end_all_waits(crowd);
    join_members(crowd);
    begun = tell_time_since(begun, "all were granted or called off");
    CU_ASSERT_TRUE(wait_long_for(crowd, nothing_is_pending));
    (void)tell_time_since(begun, "all nodes are deleted ");
    raw_catch_up(crowd->scene.raw);
    close_places(crowd);
    client_close(crowd->client);
    client_close(crowd->holders_client);
    free(crowd->places);
    free(crowd->all);
    scene_end(&crowd->scene);
}

/* ---- Tests -------------------------------------------------------------------------- */

static void thousands_of_waiters_of_one_client_keep_their_places_when_all_servers_die(void) {
    struct crowd crowd;
    crowd_begin(&crowd, "many", 100 / (SCALE_DOWN > 1 ? 5 : 1), 20000 / SCALE_DOWN,
                SCALE_DOWN > 1 ? 400 : 1);
    unsigned sessions = client_information(crowd.client).sessions;
    printf("\n    %d waiters in %u sessions ", crowd.started, sessions);
    CU_ASSERT_TRUE(sessions > 1 || crowd.started < crowd.members);
    CU_ASSERT_TRUE(sessions <= SESSIONS_MAX);
    assert_no_session_watches_too_much(&crowd);
    kill_and_start_all_servers(&crowd);
    ASSERT_NUMBER(client_information(crowd.client).sessions, sessions);
    assert_no_session_watches_too_much(&crowd);
    crowd_end(&crowd);
}

/* Each of them is next in line, and watches two nodes: the most that a request
 * ever does. */
static void waiters_with_long_names_fill_their_sessions_and_reconnect(void) {
    const int count = 2000 / (SCALE_DOWN > 1 ? 2 : 1);
    struct crowd crowd;
    crowd_begin(&crowd, "long", count, count, 400);
    unsigned sessions = client_information(crowd.client).sessions;
    printf("\n    %d waiters in %u sessions ", crowd.started, sessions);
    CU_ASSERT_TRUE(sessions > 1 || crowd.started < crowd.members);
    assert_no_session_watches_too_much(&crowd);
    kill_and_start_all_servers(&crowd);
    assert_no_session_watches_too_much(&crowd);
    crowd_end(&crowd);
}

/* The end of a session is one transaction with the paths of all its nodes. Followers cannot read it
 * if it is longer than jute.maxbuffer and as much again: with 2.9 MB the servers had no quorum any
 * more, and the nodes stayed (3.9.3; 1.2 MB passed). */
static void no_session_of_thousands_of_held_locks_is_too_large_to_be_ended(void) {
    const int count = 2500 / (SCALE_DOWN > 1 ? 5 : 1);
    struct crowd crowd = { .resources = count };
    size_t bytes = 0;
    scene_begin(&crowd.scene, "held");
    raw_make(crowd.scene.raw, "/locks");
    raw_make(crowd.scene.raw, crowd.scene.path);
    crowd.holders_client = client_open(servers_hosts(), SESSION_MS);
    crowd.places = require_memory((size_t)count, sizeof *crowd.places);
    for (int i = 0; i < count; i++) {
        open_place(&crowd, i, 400);
        bytes += strlen(crowd.places[i].grant.node);
    }
    note_holders_sessions(&crowd);
    printf("\n    nodes of %zu bytes of paths in %d sessions ", bytes, crowd.holders_session_count);
    CU_ASSERT_TRUE(bytes / (size_t)crowd.holders_session_count < SESSION_PATHS_MAX);
    client_close(crowd.holders_client);
    raw_catch_up(crowd.scene.raw);
    close_places(&crowd);
    free(crowd.places);
    scene_end(&crowd.scene);
}

int main(int argc, char **argv) {
    static const struct test_case tests[] = {
        TEST_CASE(thousands_of_waiters_of_one_client_keep_their_places_when_all_servers_die),
        TEST_CASE(waiters_with_long_names_fill_their_sessions_and_reconnect),
        TEST_CASE(no_session_of_thousands_of_held_locks_is_too_large_to_be_ended),
    };
    return run_tests(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
