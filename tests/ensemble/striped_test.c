/*
 * Striped locks on real servers: who comes with one key meets, any finds what is free, all is one
 * transaction; across clients, and with all three at once.
 */
#include "support/ledger.h"
#include "support/proxy.h"
#include "support/scene.h"
#include "support/servers.h"

#include <stdio.h>
#include <string.h>
#include <zklock/striped_lock.h>

enum { STRIPES = 4, KEY_SIZE = 32 };
/* Where a session is ended, and for who comes behind it. */
#define SESSION_MS 6000

static void path_of_stripe(const struct scene *scene, int stripe, char path[320]) {
    snprintf(path, 320, "%s/stripe-%04d", scene->path, stripe);
}

/* Nodes in the queue of a stripe. */
static int queue_of_stripe(struct scene *scene, int stripe) {
    char path[320];
    path_of_stripe(scene, stripe, path);
    raw_catch_up(scene->raw);
    return raw_children(scene->raw, path);
}

static bool all_stripes_have(struct scene *scene, int nodes) {
    for (int i = 0; i < STRIPES; i++) {
        if (queue_of_stripe(scene, i) != nodes) {
            return false;
        }
    }
    return true;
}

/* The stripes' own nodes stay; nothing else may. */
static void end_scene(struct scene *scene) {
    char path[320];
    WAIT_UNTIL(all_stripes_have(scene, 0));
    for (int i = 0; i < STRIPES; i++) {
        struct Stat stat = { 0 };
        path_of_stripe(scene, i, path);
        if (raw_stat(scene->raw, path, &stat)) {
            raw_delete(scene->raw, path);
        }
    }
    scene_end(scene);
}

static zkl_striped_lock *open_striped(zkl_client *client, const struct scene *scene) {
    zkl_striped_lock *striped = NULL;
    ASSERT_STATUS(zkl_striped_lock_open(client, scene->resource, STRIPES, NULL, &striped), ZKL_OK);
    return striped;
}

/* A key whose stripe that is. */
static void find_key(int stripe, char key[KEY_SIZE]) {
    int number = 0;
    do {
        snprintf(key, KEY_SIZE, "customer-%d", number++);
    } while (zkl_stripe_of_key(key, strlen(key), STRIPES) != stripe);
}

static int acquire_stripe(zkl_striped_lock *striped, int stripe, int64_t timeout_ms,
                          zkl_grant *grant) {
    char key[KEY_SIZE];
    find_key(stripe, key);
    return zkl_striped_lock_acquire(striped, zkl_stripe_of_key(key, strlen(key), STRIPES),
                                    ZKL_EXCLUSIVE, timeout_ms, grant);
}

static void release(zkl_striped_lock *striped) {
    ASSERT_STATUS(zkl_lock_release(zkl_striped_lock_held(striped), PATIENCE_MS), ZKL_OK);
}

/* ---- An acquire in a thread of its own -------------------------------------------------- */

struct patient {
    zkl_striped_lock *striped;
    int stripe; /* or ZKL_ALL_STRIPES, or ANY_STRIPE */
    int status;
    int64_t timeout_ms;
    zkl_grant grant;
    atomic_bool done;
    pthread_t thread;
};

enum { ANY_STRIPE = -2 };

static int acquire_wanted(zkl_striped_lock *striped, int stripe, int64_t timeout_ms,
                          zkl_grant *grant) {
    if (stripe == ZKL_ALL_STRIPES) {
        return zkl_striped_lock_acquire(striped, ZKL_ALL_STRIPES, ZKL_EXCLUSIVE, timeout_ms, grant);
    }
    return stripe == ANY_STRIPE
               ? zkl_striped_lock_acquire(striped, ZKL_ANY_STRIPE, ZKL_EXCLUSIVE, timeout_ms, grant)
               : acquire_stripe(striped, stripe, timeout_ms, grant);
}

static void *acquire_patiently(void *arg) {
    struct patient *self = arg;
    self->status = acquire_wanted(self->striped, self->stripe, self->timeout_ms, &self->grant);
    atomic_store(&self->done, true);
    return NULL;
}

static void patient_start_for(struct patient *patient, zkl_striped_lock *striped, int stripe,
                              int64_t timeout_ms) {
    patient->timeout_ms = timeout_ms;
    patient->striped = striped;
    patient->stripe = stripe;
    patient->grant = (zkl_grant)ZKL_GRANT_INIT;
    atomic_init(&patient->done, false);
    thread_start(&patient->thread, acquire_patiently, patient);
}

static void patient_start(struct patient *patient, zkl_striped_lock *striped, int stripe) {
    patient_start_for(patient, striped, stripe, 2 * PATIENCE_MS);
}

static void patient_join(struct patient *patient) {
    pthread_join(patient->thread, NULL);
    ASSERT_STATUS(patient->status, ZKL_OK);
}

/* ---- Holders: each with a stripe, and a client on a server of its own ------------------- */

struct cast {
    struct scene scene;
    zkl_client *clients[SERVERS];
    zkl_striped_lock *holders[STRIPES];
    zkl_grant grants[STRIPES];
    zkl_client *others_client; /* a session's watches on its own nodes do not count */
    zkl_striped_lock *other;
    zhandle_t *others_raw; /* on the same server */
};

static void cast_begin(struct cast *cast, const char *stem) {
    scene_begin(&cast->scene, stem);
    for (int i = 0; i < SERVERS; i++) {
        cast->clients[i] = client_open_on(i + 1);
    }
    for (int i = 0; i < STRIPES; i++) {
        cast->holders[i] = open_striped(cast->clients[i % SERVERS], &cast->scene);
        cast->grants[i] = (zkl_grant)ZKL_GRANT_INIT;
    }
    cast->others_client = client_open_on(SERVERS);
    cast->other = open_striped(cast->others_client, &cast->scene);
    cast->others_raw = raw_open(server_host(SERVERS));
}

static void cast_end(struct cast *cast) {
    for (int i = 0; i < STRIPES; i++) {
        zkl_striped_lock_close(cast->holders[i]);
    }
    zkl_striped_lock_close(cast->other);
    for (int i = 0; i < SERVERS; i++) {
        client_close(cast->clients[i]);
    }
    client_close(cast->others_client);
    raw_close(cast->others_raw);
    end_scene(&cast->scene);
}

static void hold_stripe(struct cast *cast, int stripe) {
    ASSERT_STATUS(acquire_stripe(cast->holders[stripe], stripe, PATIENCE_MS, &cast->grants[stripe]),
                  ZKL_OK);
    ASSERT_NUMBER(cast->grants[stripe].stripe, stripe);
}

/* ---- Key and any ------------------------------------------------------------------------ */

static void those_with_one_key_meet_at_one_stripe_and_others_pass(void) {
    struct cast cast;
    struct patient next;
    cast_begin(&cast, "stripe-key");
    hold_stripe(&cast, 1);
    hold_stripe(&cast, 2);
    ASSERT_NUMBER(queue_of_stripe(&cast.scene, 1), 1);
    ASSERT_NUMBER(queue_of_stripe(&cast.scene, 2), 1);
    ASSERT_NUMBER(queue_of_stripe(&cast.scene, 0), 0);
    patient_start(&next, cast.other, 1);
    WAIT_UNTIL(queue_of_stripe(&cast.scene, 1) == 2 && scene_watches(&cast.scene) == 1);
    CU_ASSERT_FALSE(atomic_load(&next.done));
    release(cast.holders[1]);
    patient_join(&next);
    ASSERT_NUMBER(next.grant.stripe, 1);
    CU_ASSERT_TRUE(next.grant.token > cast.grants[1].token);
    ASSERT_STATUS(zkl_lock_check(zkl_striped_lock_held(cast.holders[2]), NULL), ZKL_OK);
    cast_end(&cast);
}

/* Whichever of them it is that is left, and in whatever order they are tried. */
static void any_finds_the_one_stripe_that_is_free(void) {
    struct cast cast;
    cast_begin(&cast, "stripe-any");
    for (int i = 0; i < STRIPES; i++) {
        hold_stripe(&cast, i);
    }
    for (int free = 0; free < STRIPES; free++) {
        zkl_grant grant = ZKL_GRANT_INIT;
        release(cast.holders[free]);
        raw_catch_up(cast.others_raw); /* a try believes what its server knows */
        ASSERT_STATUS(
            zkl_striped_lock_acquire(cast.other, ZKL_ANY_STRIPE, ZKL_EXCLUSIVE, 0, &grant), ZKL_OK);
        ASSERT_NUMBER(grant.stripe, free);
        ASSERT_STATUS(
            zkl_striped_lock_acquire(cast.holders[free], ZKL_ANY_STRIPE, ZKL_EXCLUSIVE, 0, NULL),
            ZKL_BUSY);
        release(cast.other);
        hold_stripe(&cast, free);
    }
    cast_end(&cast);
}

/* None is free: it waits for one of them, with one node. */
static void any_waits_for_one_where_none_is_free(void) {
    struct cast cast;
    struct patient next;
    cast_begin(&cast, "stripe-any-waits");
    for (int i = 0; i < STRIPES; i++) {
        hold_stripe(&cast, i);
    }
    patient_start(&next, cast.other, ANY_STRIPE);
    WAIT_UNTIL(scene_watches(&cast.scene) == 1);
    CU_ASSERT_FALSE(atomic_load(&next.done));
    for (int i = 0; i < STRIPES; i++) {
        release(cast.holders[i]);
    }
    patient_join(&next);
    CU_ASSERT_TRUE(next.grant.stripe >= 0 && next.grant.stripe < STRIPES);
    ASSERT_NUMBER(queue_of_stripe(&cast.scene, next.grant.stripe), 1);
    CU_ASSERT_TRUE(next.grant.token > cast.grants[next.grant.stripe].token);
    cast_end(&cast);
}

/* ---- All -------------------------------------------------------------------------------- */

struct nodes {
    struct scene *scene;
    const char *parent;
    int64_t zxid;
    int others; /* of another transaction than the token tells */
    int count;
};

static void note_node(void *arg, const char *name) {
    struct nodes *nodes = arg;
    struct Stat stat = { 0 };
    char path[512];
    snprintf(path, sizeof path, "%s/%s", nodes->parent, name);
    nodes->count++;
    nodes->others += raw_stat(nodes->scene->raw, path, &stat) && stat.czxid == nodes->zxid ? 0 : 1;
}

static void assert_all_are_of_one_transaction(struct scene *scene, int64_t token) {
    struct nodes nodes = { .scene = scene, .zxid = token };
    raw_catch_up(scene->raw);
    for (int i = 0; i < STRIPES; i++) {
        char path[320];
        path_of_stripe(scene, i, path);
        nodes.parent = path;
        raw_visit_children(scene->raw, path, note_node, &nodes);
    }
    ASSERT_NUMBER(nodes.count, STRIPES);
    ASSERT_NUMBER(nodes.others, 0);
}

static void all_stripes_are_of_one_transaction_and_keep_everybody_out(void) {
    struct cast cast;
    zkl_grant grant = ZKL_GRANT_INIT;
    cast_begin(&cast, "stripe-all");
    ASSERT_STATUS(
        zkl_striped_lock_acquire(cast.other, ZKL_ALL_STRIPES, ZKL_EXCLUSIVE, PATIENCE_MS, &grant),
        ZKL_OK);
    ASSERT_NUMBER(grant.stripe, ZKL_ALL_STRIPES);
    assert_all_are_of_one_transaction(&cast.scene, grant.token);
    for (int i = 0; i < STRIPES; i++) {
        ASSERT_STATUS(acquire_stripe(cast.holders[i], i, 0, NULL), ZKL_BUSY);
    }
    ASSERT_STATUS(zkl_striped_lock_acquire(cast.holders[0], ZKL_ANY_STRIPE, ZKL_EXCLUSIVE, 0, NULL),
                  ZKL_BUSY);
    ASSERT_STATUS(zkl_lock_check(zkl_striped_lock_held(cast.other), NULL), ZKL_OK);
    release(cast.other);
    WAIT_UNTIL(all_stripes_have(&cast.scene, 0));
    cast_end(&cast);
}

/* It is in every queue meanwhile, so that nobody who comes later passes it. */
static void all_wait_for_the_one_that_is_held(void) {
    struct cast cast;
    struct patient all;
    cast_begin(&cast, "stripe-all-waits");
    hold_stripe(&cast, 2);
    patient_start(&all, cast.other, ZKL_ALL_STRIPES);
    WAIT_UNTIL(queue_of_stripe(&cast.scene, 2) == 2 && scene_watches(&cast.scene) == 1);
    ASSERT_NUMBER(queue_of_stripe(&cast.scene, 0), 1);
    ASSERT_STATUS(acquire_stripe(cast.holders[0], 0, 0, NULL), ZKL_BUSY);
    CU_ASSERT_FALSE(atomic_load(&all.done));
    release(cast.holders[2]);
    patient_join(&all);
    WAIT_UNTIL(all_stripes_have(&cast.scene, 1));
    assert_all_are_of_one_transaction(&cast.scene, all.grant.token);
    cast_end(&cast);
}

static void end_of_the_session_gives_all_stripes_to_those_who_wait(void) {
    struct scene scene;
    struct patient waiting[STRIPES];
    zkl_grant grant = ZKL_GRANT_INIT;
    scene_begin(&scene, "stripe-expired");
    struct proxy *proxy = proxy_start(0);
    zkl_client *client = client_open(proxy_hosts(proxy), SESSION_MS);
    zkl_client *others_client = client_open_on(2);
    zkl_striped_lock *all = open_striped(client, &scene);
    ASSERT_STATUS(
        zkl_striped_lock_acquire(all, ZKL_ALL_STRIPES, ZKL_EXCLUSIVE, PATIENCE_MS, &grant), ZKL_OK);
    for (int i = 0; i < STRIPES; i++) {
        patient_start(&waiting[i], open_striped(others_client, &scene), i);
    }
    WAIT_UNTIL(all_stripes_have(&scene, 2) && scene_watches(&scene) == STRIPES);
    clientid_t session = proxy_session(proxy);
    raw_expire(servers_hosts(), &session);
    for (int i = 0; i < STRIPES; i++) {
        patient_join(&waiting[i]);
        CU_ASSERT_TRUE(waiting[i].grant.token > grant.token);
        zkl_striped_lock_close(waiting[i].striped);
    }
    WAIT_UNTIL(zkl_lock_check(zkl_striped_lock_held(all), NULL) == ZKL_LOST);
    ASSERT_STATUS(zkl_lock_release(zkl_striped_lock_held(all), PATIENCE_MS), ZKL_LOST);
    zkl_striped_lock_close(all);
    client_close(client);
    client_close(others_client);
    proxy_stop(proxy);
    end_scene(&scene);
}

/* ---- All kinds at once ------------------------------------------------------------------ */

enum { CROWD = 6, ROUNDS = 30 };

struct member {
    zkl_client *client;
    zkl_striped_lock *striped;
    char (*ledgers)[64]; /* one for each stripe */
    int number;
    int wrong;
    int used[STRIPES];
    pthread_t thread;
};

static void use_stripe(struct member *self, int stripe) {
    self->wrong += ledger_add_one(self->ledgers[stripe]) ? 0 : 1;
    self->used[stripe]++;
}

static void use_once(struct member *self, int round) {
    static const int others[] = { ANY_STRIPE, ZKL_ALL_STRIPES, ANY_STRIPE };
    int kind = (self->number + round) % 4;
    zkl_grant grant = ZKL_GRANT_INIT;
    int wanted = kind == 3 ? round % STRIPES : others[kind];
    if (acquire_wanted(self->striped, wanted, 2 * PATIENCE_MS, &grant) != ZKL_OK) {
        self->wrong++;
        return;
    }
    self->wrong += wanted != ANY_STRIPE && grant.stripe != wanted ? 1 : 0;
    for (int i = 0; i < STRIPES; i++) {
        if (grant.stripe == i || grant.stripe == ZKL_ALL_STRIPES) {
            use_stripe(self, i);
        }
    }
    self->wrong +=
        zkl_lock_release(zkl_striped_lock_held(self->striped), PATIENCE_MS) == ZKL_OK ? 0 : 1;
}

static void *use_stripes(void *arg) {
    struct member *self = arg;
    for (int round = 0; round < ROUNDS; round++) {
        use_once(self, round);
    }
    return NULL;
}

static void crowd_with_keys_any_and_all_excludes_each_other_and_all_finish(void) {
    struct scene scene;
    struct member crowd[CROWD];
    char ledgers[STRIPES][64];
    int64_t used[STRIPES] = { 0 };
    scene_begin(&scene, "stripe-crowd");
    for (int i = 0; i < STRIPES; i++) {
        ledger_make(ledgers[i]);
    }
    for (int i = 0; i < CROWD; i++) {
        zkl_client *client = client_open_on(i % SERVERS + 1);
        crowd[i] = (struct member){ .client = client,
                                    .striped = open_striped(client, &scene),
                                    .ledgers = ledgers,
                                    .number = i };
    }
    for (int i = 0; i < CROWD; i++) {
        thread_start(&crowd[i].thread, use_stripes, &crowd[i]);
    }
    for (int i = 0; i < CROWD; i++) {
        pthread_join(crowd[i].thread, NULL);
        ASSERT_NUMBER(crowd[i].wrong, 0);
        zkl_striped_lock_close(crowd[i].striped);
        client_close(crowd[i].client);
        for (int k = 0; k < STRIPES; k++) {
            used[k] += crowd[i].used[k];
        }
    }
    for (int i = 0; i < STRIPES; i++) {
        int64_t number = 0;
        CU_ASSERT_TRUE(ledger_look(ledgers[i], &number));
        ASSERT_NUMBER(number, used[i]);
        ledger_remove(ledgers[i]);
    }
    end_scene(&scene);
}

/* ---- Cancels, and tries ------------------------------------------------------------------- */

typedef int acquire_way(zkl_striped_lock *striped);

static int by_key(zkl_striped_lock *striped) {
    return acquire_stripe(striped, 0, PATIENCE_MS, NULL);
}

static int by_any(zkl_striped_lock *striped) {
    return zkl_striped_lock_acquire(striped, ZKL_ANY_STRIPE, ZKL_EXCLUSIVE, PATIENCE_MS, NULL);
}

static int by_all(zkl_striped_lock *striped) {
    return zkl_striped_lock_acquire(striped, ZKL_ALL_STRIPES, ZKL_EXCLUSIVE, PATIENCE_MS, NULL);
}

struct cancelled {
    zkl_striped_lock *striped;
    acquire_way *acquire;
    int status;
};

static void *acquire_to_be_cancelled(void *arg) {
    struct cancelled *self = arg;
    self->status = self->acquire(self->striped);
    return NULL;
}

/* As soon as it can be cancelled, which is before a stripe is asked for. */
static bool cancel_ends(zkl_striped_lock *striped, acquire_way *acquire) {
    struct cancelled self = { striped, acquire, 1 };
    pthread_t thread;
    int64_t began_ms = now_ms();
    thread_start(&thread, acquire_to_be_cancelled, &self);
    int status = ZKL_NOT_WAITING;
    while (status == ZKL_NOT_WAITING) {
        status = zkl_striped_lock_cancel(striped);
    }
    pthread_join(thread, NULL);
    ASSERT_STATUS(status, ZKL_OK);
    ASSERT_STATUS(self.status, ZKL_CANCELLED);
    bool at_once = now_ms() - began_ms < PATIENCE_MS / 2;
    CU_ASSERT_TRUE(at_once);
    return at_once;
}

static void cancel_just_before_a_stripe_is_asked_for_ends_the_acquire(void) {
    enum { CANCELS = 900 }; /* one of a hundred meets the moment, or fewer */
    static acquire_way *const ways[] = { by_key, by_any, by_all };
    struct cast cast;
    cast_begin(&cast, "striped-cancel");
    for (int i = 0; i < STRIPES; i++) {
        hold_stripe(&cast, i);
    }
    bool at_once = true;
    for (int i = 0; i < CANCELS && at_once; i++) {
        at_once = cancel_ends(cast.other, ways[i % 3]);
    }
    WAIT_UNTIL(all_stripes_have(&cast.scene, 1));
    cast_end(&cast);
}

/* The servers take longer than the search before had. */
static void try_of_a_key_has_the_time_it_takes_whatever_was_searched_before(void) {
    enum { SEARCH_MS = 1000, STOP_MS = 1500 };
    struct scene scene;
    struct patient patient;
    scene_begin(&scene, "striped-try");
    zkl_client *client = client_open_on(servers_follower());
    zkl_striped_lock *striped = open_striped(client, &scene);
    for (int i = 0; i < STRIPES; i++) { /* the stripes are there */
        ASSERT_STATUS(acquire_stripe(striped, i, PATIENCE_MS, NULL), ZKL_OK);
        release(striped);
    }
    zkl_grant grant = ZKL_GRANT_INIT;
    ASSERT_STATUS(
        zkl_striped_lock_acquire(striped, ZKL_ANY_STRIPE, ZKL_EXCLUSIVE, SEARCH_MS, &grant),
        ZKL_OK);
    release(striped);
    int leader = servers_leader();
    server_pause(leader);
    patient_start_for(&patient, striped, grant.stripe, 0);
    STAYS(!atomic_load(&patient.done), STOP_MS);
    server_resume(leader);
    patient_join(&patient);
    release(striped);
    zkl_striped_lock_close(striped);
    client_close(client);
    end_scene(&scene);
}

int main(int argc, char **argv) {
    static const struct test_case tests[] = {
        TEST_CASE(those_with_one_key_meet_at_one_stripe_and_others_pass),
        TEST_CASE(any_finds_the_one_stripe_that_is_free),
        TEST_CASE(any_waits_for_one_where_none_is_free),
        TEST_CASE(all_stripes_are_of_one_transaction_and_keep_everybody_out),
        TEST_CASE(all_wait_for_the_one_that_is_held),
        TEST_CASE(end_of_the_session_gives_all_stripes_to_those_who_wait),
        TEST_CASE(crowd_with_keys_any_and_all_excludes_each_other_and_all_finish),
        TEST_CASE(cancel_just_before_a_stripe_is_asked_for_ends_the_acquire),
        TEST_CASE(try_of_a_key_has_the_time_it_takes_whatever_was_searched_before),
    };
    return run_tests(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
