/*
 * What is written to ZooKeeper under the lock is read by the next holder on
 * another server. What it takes: the write was answered before the release was
 * called; and the reader reads from the server that its zklock client is on, or
 * first catches up on the connection that it reads from: by any write of its
 * own, or, where that is not the leader, by a sync.
 */
#include "support/scene.h"
#include "support/servers.h"

#include <stdio.h>

#define ROUNDS 40

enum catch_up { NOT_AT_ALL, BY_SYNC, BY_A_WRITE };

/* One of the three that pass a number on, each on its own server. */
struct relay {
    zkl_client *client;
    zkl_lock *lock;
    zhandle_t *data; /* where it reads and writes */
    enum catch_up how;
    const char *path;
    atomic_llong *last; /* what was written last; the lock guards it */
    int stale;
    int failed;
    pthread_t thread;
};

static void catch_up(struct relay *relay) {
    if (relay->how == BY_SYNC) {
        raw_sync(relay->data);
    } else if (relay->how == BY_A_WRITE) {
        raw_catch_up(relay->data);
    }
}

static void *pass_on(void *arg) {
    struct relay *relay = arg;
    for (int i = 0; i < ROUNDS; i++) {
        if (zkl_lock_acquire(relay->lock, ZKL_EXCLUSIVE, PATIENCE_MS, NULL) != ZKL_OK) {
            relay->failed++;
            continue;
        }
        catch_up(relay);
        long long last = atomic_load_explicit(relay->last, memory_order_relaxed);
        relay->stale += raw_read(relay->data, relay->path) != last ? 1 : 0;
        raw_write(relay->data, relay->path, last + 1);
        atomic_store_explicit(relay->last, last + 1, memory_order_relaxed);
        relay->failed += zkl_lock_release(relay->lock, PATIENCE_MS) != ZKL_OK ? 1 : 0;
    }
    return NULL;
}

static void run_relays(struct relay relays[SERVERS]) {
    for (int i = 0; i < SERVERS; i++) {
        thread_start(&relays[i].thread, pass_on, &relays[i]);
    }
    for (int i = 0; i < SERVERS; i++) {
        pthread_join(relays[i].thread, NULL);
        ASSERT_NUMBER(relays[i].failed, 0);
        ASSERT_NUMBER(relays[i].stale, 0);
    }
}

static int server_to_read_from(int server, enum catch_up how) {
    if (how == NOT_AT_ALL) {
        return server;
    }
    int other = server % SERVERS + 1;
    if (how == BY_SYNC && other == servers_leader()) {
        other = other % SERVERS + 1;
    }
    return other;
}

static void relay_numbers(const char *stem, enum catch_up how) {
    struct scene scene;
    scene_begin(&scene, stem);
    char path[300];
    snprintf(path, sizeof path, "/%s", scene.resource);
    raw_make(scene.raw, path);
    atomic_llong last = 0;
    struct relay relays[SERVERS];
    for (int i = 0; i < SERVERS; i++) {
        relays[i] = (struct relay){ .how = how, .path = path, .last = &last };
        relays[i].client = client_open_on(i + 1);
        relays[i].lock = lock_open(relays[i].client, scene.resource);
        relays[i].data = raw_open(server_host(server_to_read_from(i + 1, how)));
        raw_catch_up(relays[i].data);
    }
    run_relays(relays);
    ASSERT_NUMBER(atomic_load(&last), SERVERS * ROUNDS);
    for (int i = 0; i < SERVERS; i++) {
        raw_close(relays[i].data);
        zkl_lock_close(relays[i].lock);
        client_close(relays[i].client);
    }
    raw_delete(scene.raw, path);
    scene_end(&scene);
}

static void data_written_before_a_release_is_read_where_the_next_holder_is(void) {
    relay_numbers("visible", NOT_AT_ALL);
}

static void data_written_before_a_release_is_read_on_another_follower_after_a_sync(void) {
    relay_numbers("visible-sync", BY_SYNC);
}

static void data_written_before_a_release_is_read_on_any_server_after_a_write(void) {
    relay_numbers("visible-write", BY_A_WRITE);
}

/* ---- A server that lags -------------------------------------------------- */

#define LAGS 15

struct reader {
    zhandle_t *data;
    const char *path;
    int64_t number;
    pthread_t thread;
};

static void *sync_and_read(void *arg) {
    struct reader *reader = arg;
    raw_sync(reader->data);
    reader->number = raw_read(reader->data, reader->path);
    return NULL;
}

/* One follower stands still while the lock passes on by the other two servers.
 * When it goes on it has the reader's request before it as well as the write;
 * without a sync many a read gives what was there before. */
static void data_is_read_after_a_sync_even_on_a_server_that_lags(void) {
    struct scene scene;
    char path[300];
    scene_begin(&scene, "lag");
    snprintf(path, sizeof path, "/%s", scene.resource);
    raw_make(scene.raw, path);
    int lagging = servers_follower();
    zkl_client *clients[2] = { client_open_on(lagging % SERVERS + 1),
                               client_open_on((lagging + 1) % SERVERS + 1) };
    zkl_lock *locks[2] = { lock_open(clients[0], scene.resource),
                           lock_open(clients[1], scene.resource) };
    zhandle_t *writer = raw_open(server_host(lagging % SERVERS + 1));
    struct reader reader = { .data = raw_open(server_host(lagging)), .path = path };
    for (int i = 1; i <= LAGS; i++) {
        ASSERT_STATUS(zkl_lock_acquire(locks[0], ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
        server_pause(lagging);
        raw_write(writer, path, i);
        ASSERT_STATUS(zkl_lock_release(locks[0], PATIENCE_MS), ZKL_OK);
        ASSERT_STATUS(zkl_lock_acquire(locks[1], ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
        thread_start(&reader.thread, sync_and_read, &reader);
        server_resume(lagging);
        pthread_join(reader.thread, NULL);
        ASSERT_NUMBER(reader.number, i);
        ASSERT_STATUS(zkl_lock_release(locks[1], PATIENCE_MS), ZKL_OK);
    }
    for (int i = 0; i < 2; i++) {
        zkl_lock_close(locks[i]);
        client_close(clients[i]);
    }
    raw_close(writer);
    raw_close(reader.data);
    raw_delete(scene.raw, path);
    scene_end(&scene);
}

int main(int argc, char **argv) {
    static const struct test_case tests[] = {
        TEST_CASE(data_written_before_a_release_is_read_where_the_next_holder_is),
        TEST_CASE(data_written_before_a_release_is_read_on_another_follower_after_a_sync),
        TEST_CASE(data_written_before_a_release_is_read_on_any_server_after_a_write),
        TEST_CASE(data_is_read_after_a_sync_even_on_a_server_that_lags),
    };
    return run_tests(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
