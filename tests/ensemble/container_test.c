/*
 * Resources that are containers: real servers delete them when their last contender has gone (those
 * of the ensemble look once a second), and while contenders come and go nobody is harmed by that.
 */
#include "support/ledger.h"
#include "support/scene.h"
#include "support/servers.h"

#include <stdio.h>

static zkl_client *open_client(int server, int32_t container_parents) {
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    zkl_client *client = NULL;
    options.session_timeout_ms = LONG_SESSION_MS;
    options.connect_timeout_ms = PATIENCE_MS;
    options.container_parents = container_parents;
    ASSERT_STATUS(zkl_client_open(server_host(server), &options, &client), ZKL_OK);
    return client;
}

static void acquire(zkl_lock *lock, zkl_grant *grant) {
    *grant = (zkl_grant)ZKL_GRANT_INIT;
    ASSERT_STATUS(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, PATIENCE_MS, grant), ZKL_OK);
}

static void release(zkl_lock *lock) {
    ASSERT_STATUS(zkl_lock_release(lock, PATIENCE_MS), ZKL_OK);
}

static bool path_is_there(struct scene *scene, const char *path) {
    struct Stat stat = { 0 };
    raw_catch_up(scene->raw);
    return raw_stat(scene->raw, path, &stat);
}

static bool is_there(struct scene *scene) {
    return path_is_there(scene, scene->path);
}

static void resource_that_is_a_container_goes_after_its_use_and_comes_again(void) {
    struct scene scene;
    zkl_grant first;
    zkl_grant second;
    scene_begin(&scene, "container");
    zkl_client *client = open_client(1, 1);
    zkl_lock *lock = lock_open(client, scene.resource);
    acquire(lock, &first);
    release(lock);
    WAIT_UNTIL(!is_there(&scene));
    acquire(lock, &second);
    CU_ASSERT_TRUE(second.token > first.token);
    release(lock);
    WAIT_UNTIL(!is_there(&scene));
    CU_ASSERT_TRUE(path_is_there(&scene, "/locks")); /* the root is none */
    zkl_lock_close(lock);
    client_close(client);
    scene_end(&scene);
}

/* Until the servers have looked, as another container that is empty shows, and have let it be. */
static void resource_that_is_held_or_no_container_stays(void) {
    struct scene held;
    struct scene plain;
    struct scene empty;
    zkl_grant grant;
    scene_begin(&held, "container-held");
    scene_begin(&plain, "container-plain");
    scene_begin(&empty, "container-empty");
    zkl_client *client = open_client(1, 1);
    zkl_client *plain_client = open_client(2, 0);
    zkl_lock *locks[] = { lock_open(client, held.resource), lock_open(client, empty.resource),
                          lock_open(plain_client, plain.resource) };
    acquire(locks[0], &grant);
    acquire(locks[2], &grant);
    release(locks[2]);
    for (int i = 0; i < 2; i++) {
        acquire(locks[1], &grant);
        release(locks[1]);
        WAIT_UNTIL(!is_there(&empty));
    }
    ASSERT_STATUS(zkl_lock_verify(locks[0], PATIENCE_MS), ZKL_OK);
    CU_ASSERT_TRUE(is_there(&held));
    CU_ASSERT_TRUE(is_there(&plain));
    for (int i = 0; i < 3; i++) {
        zkl_lock_close(locks[i]);
    }
    client_close(client);
    client_close(plain_client);
    scene_end(&held);
    scene_end(&plain);
    scene_end(&empty);
}

/* ---- Removed while others come and go --------------------------------------------------- */

enum { PASSERS_BY = 3, REMOVALS = 3 };

struct passer_by {
    zkl_client *client;
    zkl_lock *lock;
    const char *ledger;
    atomic_bool *enough;
    int passes;
    int wrong; /* not granted, not alone, or with a token that is not greater */
    pthread_t thread;
};

static void pass(struct passer_by *self, int64_t *token) {
    zkl_grant grant = ZKL_GRANT_INIT;
    int status = zkl_lock_acquire(self->lock, ZKL_EXCLUSIVE, PATIENCE_MS, &grant);
    if (status != ZKL_OK) {
        self->wrong++;
        return;
    }
    self->wrong += ledger_add_one(self->ledger) && grant.token > *token ? 0 : 1;
    *token = grant.token;
    self->wrong += zkl_lock_release(self->lock, PATIENCE_MS) == ZKL_OK ? 0 : 1;
    self->passes++;
}

/* For as long as some passes take, on a slow machine as well; so that at times nobody is there. */
static void rest(int64_t pass_ms, int passes) {
    int64_t end = now_ms() + pass_ms * (passes % 16);
    while (now_ms() < end) {
        nap();
    }
}

static void *pass_by(void *arg) {
    struct passer_by *self = arg;
    int64_t token = 0;
    while (!atomic_load(self->enough)) {
        int64_t begun = now_ms();
        pass(self, &token);
        rest(now_ms() - begun, self->passes);
    }
    return NULL;
}

/* How often it has been made, as its czxid shows. */
static void wait_for_removals(struct scene *scene, int removals) {
    int64_t last = 0;
    int made = 0;
    int64_t end = now_ms() + 2 * PATIENCE_MS;
    while (made <= removals && now_ms() < end) {
        struct Stat stat = { 0 };
        raw_catch_up(scene->raw);
        if (raw_stat(scene->raw, scene->path, &stat) && stat.czxid != last) {
            last = stat.czxid;
            made++;
        }
        nap();
    }
    CU_ASSERT_TRUE(made > removals);
}

static void contenders_that_come_while_it_is_removed_exclude_each_other(void) {
    struct scene scene;
    struct passer_by all[PASSERS_BY];
    char ledger[64];
    atomic_bool enough;
    int passes = 0;
    int64_t number = 0;
    scene_begin(&scene, "container-removed");
    ledger_make(ledger);
    atomic_init(&enough, false);
    for (int i = 0; i < PASSERS_BY; i++) {
        all[i] = (struct passer_by){ .client = open_client(i % SERVERS + 1, 1),
                                     .ledger = ledger,
                                     .enough = &enough };
        all[i].lock = lock_open(all[i].client, scene.resource);
    }
    for (int i = 0; i < PASSERS_BY; i++) {
        thread_start(&all[i].thread, pass_by, &all[i]);
    }
    wait_for_removals(&scene, REMOVALS);
    atomic_store(&enough, true);
    for (int i = 0; i < PASSERS_BY; i++) {
        pthread_join(all[i].thread, NULL);
        ASSERT_NUMBER(all[i].wrong, 0);
        passes += all[i].passes;
        zkl_lock_close(all[i].lock);
        client_close(all[i].client);
    }
    CU_ASSERT_TRUE(ledger_look(ledger, &number));
    ASSERT_NUMBER(number, passes);
    printf("%d passes ", passes);
    ledger_remove(ledger);
    scene_end(&scene);
}

int main(int argc, char **argv) {
    static const struct test_case tests[] = {
        TEST_CASE(resource_that_is_a_container_goes_after_its_use_and_comes_again),
        TEST_CASE(resource_that_is_held_or_no_container_stays),
        TEST_CASE(contenders_that_come_while_it_is_removed_exclude_each_other),
    };
    return run_tests(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
