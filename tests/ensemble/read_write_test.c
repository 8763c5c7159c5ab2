/* Readers together, writers alone, and nobody past a waiting writer. */
#include "support/scene.h"
#include "support/servers.h"

/* For what must not happen; a wrong grant would come within a round trip. */
#define QUIET_MS 300

/* Contenders that come one after the other, each on the next server. */
#define CONTENDERS 5

struct cast {
    struct scene scene;
    zkl_client *clients[SERVERS];
    zkl_lock *locks[CONTENDERS];
    struct waiter waiters[CONTENDERS];
    int count;
};

static void cast_begin(struct cast *cast, const char *stem) {
    scene_begin(&cast->scene, stem);
    for (int i = 0; i < SERVERS; i++) {
        cast->clients[i] = client_open_on(i + 1);
    }
    cast->count = 0;
}

static void cast_end(struct cast *cast) {
    for (int i = 0; i < cast->count; i++) {
        zkl_lock_close(cast->locks[i]);
    }
    for (int i = 0; i < SERVERS; i++) {
        client_close(cast->clients[i]);
    }
    scene_end(&cast->scene);
}

/* The next contender's place in the queue is certain when it returns. */
static struct waiter *enter(struct cast *cast, zkl_mode mode) {
    int i = cast->count++;
    int queued = scene_queue(&cast->scene);
    cast->locks[i] = lock_open(cast->clients[i % SERVERS], cast->scene.resource);
    waiter_start(&cast->waiters[i], cast->locks[i], mode, PATIENCE_MS);
    WAIT_UNTIL(scene_queue(&cast->scene) == queued + 1);
    return &cast->waiters[i];
}

static void release(struct waiter *waiter) {
    ASSERT_STATUS(zkl_lock_release(waiter->lock, PATIENCE_MS), ZKL_OK);
}

/* It waits, and what it waits for is the node of that holder or waiter. */
static void assert_waits_for(struct cast *cast, struct waiter *waiter, const char *node) {
    WAIT_UNTIL(scene_watches_on(&cast->scene, node) == 1);
    STAYS(!waiter_is_done(waiter), QUIET_MS);
}

static void readers_hold_together(void) {
    struct cast cast;
    cast_begin(&cast, "readers");
    struct waiter *readers[3];
    for (int i = 0; i < 3; i++) {
        readers[i] = enter(&cast, ZKL_READ);
    }
    for (int i = 0; i < 3; i++) {
        ASSERT_STATUS(waiter_join(readers[i]), ZKL_OK);
        CU_ASSERT_EQUAL(readers[i]->grant.mode, ZKL_READ);
    }
    for (int i = 0; i < 3; i++) {
        ASSERT_STATUS(zkl_lock_check(readers[i]->lock, NULL), ZKL_OK);
        release(readers[i]);
    }
    cast_end(&cast);
}

static void writer_waits_until_the_last_reader_is_gone(void) {
    struct cast cast;
    cast_begin(&cast, "writer-last");
    struct waiter *first = enter(&cast, ZKL_READ);
    struct waiter *second = enter(&cast, ZKL_READ);
    ASSERT_STATUS(waiter_join(first), ZKL_OK);
    ASSERT_STATUS(waiter_join(second), ZKL_OK);
    struct waiter *writer = enter(&cast, ZKL_WRITE);
    assert_waits_for(&cast, writer, second->grant.node);
    release(second);
    assert_waits_for(&cast, writer, first->grant.node);
    release(first);
    ASSERT_STATUS(waiter_join(writer), ZKL_OK);
    release(writer);
    cast_end(&cast);
}

static void reader_behind_a_waiting_writer_waits(void) {
    struct cast cast;
    cast_begin(&cast, "behind-writer");
    struct waiter *holder = enter(&cast, ZKL_READ);
    ASSERT_STATUS(waiter_join(holder), ZKL_OK);
    struct waiter *writer = enter(&cast, ZKL_WRITE);
    assert_waits_for(&cast, writer, holder->grant.node);
    struct waiter *reader = enter(&cast, ZKL_READ);
    WAIT_UNTIL(scene_watches(&cast.scene) == 2);
    STAYS(!waiter_is_done(reader), QUIET_MS);
    release(holder);
    ASSERT_STATUS(waiter_join(writer), ZKL_OK);
    assert_waits_for(&cast, reader, writer->grant.node);
    release(writer);
    ASSERT_STATUS(waiter_join(reader), ZKL_OK);
    CU_ASSERT_TRUE(reader->grant.token > writer->grant.token);
    release(reader);
    cast_end(&cast);
}

static void release_of_a_writer_admits_readers_up_to_the_next_writer(void) {
    struct cast cast;
    cast_begin(&cast, "next-writer");
    struct waiter *writer = enter(&cast, ZKL_WRITE);
    ASSERT_STATUS(waiter_join(writer), ZKL_OK);
    struct waiter *first = enter(&cast, ZKL_READ);
    struct waiter *second = enter(&cast, ZKL_READ);
    struct waiter *next_writer = enter(&cast, ZKL_WRITE);
    struct waiter *late = enter(&cast, ZKL_READ);
    release(writer);
    ASSERT_STATUS(waiter_join(first), ZKL_OK);
    ASSERT_STATUS(waiter_join(second), ZKL_OK);
    assert_waits_for(&cast, next_writer, second->grant.node);
    STAYS(!waiter_is_done(late), QUIET_MS);
    release(first);
    release(second);
    ASSERT_STATUS(waiter_join(next_writer), ZKL_OK);
    assert_waits_for(&cast, late, next_writer->grant.node);
    release(next_writer);
    ASSERT_STATUS(waiter_join(late), ZKL_OK);
    release(late);
    cast_end(&cast);
}

static void exclusive_holder_keeps_readers_and_writers_out(void) {
    struct cast cast;
    cast_begin(&cast, "exclusive");
    struct waiter *holder = enter(&cast, ZKL_EXCLUSIVE);
    ASSERT_STATUS(waiter_join(holder), ZKL_OK);
    struct waiter *reader = enter(&cast, ZKL_READ);
    assert_waits_for(&cast, reader, holder->grant.node);
    struct waiter *writer = enter(&cast, ZKL_WRITE);
    STAYS(!waiter_is_done(writer), QUIET_MS);
    release(holder);
    ASSERT_STATUS(waiter_join(reader), ZKL_OK);
    assert_waits_for(&cast, writer, reader->grant.node);
    struct waiter *exclusive = enter(&cast, ZKL_EXCLUSIVE);
    release(reader);
    ASSERT_STATUS(waiter_join(writer), ZKL_OK);
    assert_waits_for(&cast, exclusive, writer->grant.node);
    release(writer);
    ASSERT_STATUS(waiter_join(exclusive), ZKL_OK);
    release(exclusive);
    cast_end(&cast);
}

int main(int argc, char **argv) {
    static const struct test_case tests[] = {
        TEST_CASE(readers_hold_together),
        TEST_CASE(writer_waits_until_the_last_reader_is_gone),
        TEST_CASE(reader_behind_a_waiting_writer_waits),
        TEST_CASE(release_of_a_writer_admits_readers_up_to_the_next_writer),
        TEST_CASE(exclusive_holder_keeps_readers_and_writers_out),
    };
    return run_tests(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
