/*
 * The end of the sequence numbers, on real servers that were made to believe in
 * 2^31 creates: whoever gets a number near to it, or past it, is not granted by it, waits
 * until the resource is empty, and begins anew in one that counts from 0.
 *
 * What servers do there (3.9.3; PrepRequestProcessor, DataTree.createNode): a
 * child's number is its parent's cversion, which is counted up in 32 bits. A
 * create is carried out with the next cversion, but only a greater one is kept.
 * - At 2147483647 the next is -2147483648, which is not kept: creates one after
 *   the other all get 2147483647, for ever; names that differ in nothing else
 *   get ZNODEEXISTS.
 * - Creates that the leader numbers before an earlier one is carried out count
 *   from each other: after 2147483647 these get -2147483648, -2147483647, and so
 *   on, until the leader has none of them left in hand. Then it is 2147483647
 *   again: an earlier sequence comes after a later one, and some come twice.
 * - A cversion that is negative (by no sequence of creates that we know) counts
 *   up as ever: -1 is written -000000001, and 0 comes after it.
 */
#include "support/scene.h"
#include "support/servers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first sequence that is refused, as ZKL_SEQUENCE_LIMIT: 2^31 - 1 - 2^20. */
#define FIRST_REFUSED INT64_C(2146435071)
#define LAST_SEQUENCE INT64_C(2147483647)
#define CREATES_MAX INT64_C(4294967295)
/* For what must not happen; it would come within a round trip. */
#define QUIET_MS 300
#define FOREIGN_NAME "_c_6ba7b810-9dad-41d1-80b4-00c04fd430c8-lock-"
#define UNTOUCHED (-7)
/* For those who wait in vain for the resource to become empty. */
#define DRAIN_MS 2000

static const zkl_mode modes[] = { ZKL_EXCLUSIVE, ZKL_READ, ZKL_WRITE };
#define MODES ((int)(sizeof modes / sizeof modes[0]))

/* ---- The stage ---------------------------------------------------------- */

/* Resources by the creates that their nodes have seen when a test comes to them.
 * All are aged at once, as that takes the servers down for seconds. */
enum {
    BELOW_LIMIT,
    FIRST_PAST,
    LAST_PAST = FIRST_PAST + 5,
    CROWDED,
    FIRST_NEGATIVE,
    LAST_NEGATIVE,
    RESOURCES
};

static const int64_t all_creates[RESOURCES] = {
    [BELOW_LIMIT] = FIRST_REFUSED - 4,    [FIRST_PAST] = FIRST_REFUSED,
    [FIRST_PAST + 1] = LAST_SEQUENCE - 6, [FIRST_PAST + 2] = LAST_SEQUENCE - 1,
    [FIRST_PAST + 3] = LAST_SEQUENCE,     [FIRST_PAST + 4] = LAST_SEQUENCE + 1,
    [LAST_PAST] = CREATES_MAX - 5,        [CROWDED] = LAST_SEQUENCE - 3,
    [FIRST_NEGATIVE] = LAST_SEQUENCE + 1, [LAST_NEGATIVE] = CREATES_MAX,
};

static struct scene scenes[RESOURCES];
static bool aged;

static void age_all(void) {
    struct age ages[RESOURCES];
    for (int i = 0; i < RESOURCES; i++) {
        scene_begin(&scenes[i], "sequence");
        raw_make(scenes[i].raw, "/locks");
        raw_make(scenes[i].raw, scenes[i].path);
        raw_close(scenes[i].raw);
        ages[i] = (struct age){ scenes[i].path, all_creates[i] };
    }
    servers_age(ages, RESOURCES);
    aged = true;
}

/* False, and says so, where these servers cannot be aged. */
static bool can_age(void) {
    if (!servers_can_age()) {
        printf("skipped: this driver cannot age nodes; ");
        return false;
    }
    if (!aged) {
        age_all();
    }
    return true;
}

/* To be taken once, and ended with scene_end. */
static struct scene *aged_scene(int resource) {
    scenes[resource].raw = raw_open(servers_hosts());
    return &scenes[resource];
}

/* What "%010d" has written at the end of a path: a negative one begins with a
 * second dash. */
static int64_t sequence_of(const char *path) {
    const char *marker = strstr(path, "lock-");
    if (marker == NULL) {
        give_up("%s is no node of an exclusive lock", path);
    }
    return strtoll(marker + strlen("lock-"), NULL, 10);
}

static void make_foreign(struct scene *scene, char *made, size_t size) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", scene->path, FOREIGN_NAME);
    raw_make_ephemeral(scene->raw, path, true, made, size);
}

/* The number that the servers give next, which is so spent. */
static int64_t next_sequence(struct scene *scene) {
    char made[512];
    make_foreign(scene, made, sizeof made);
    raw_delete(scene->raw, made);
    return sequence_of(made);
}

static void assert_granted_within(zkl_lock *lock, zkl_mode mode, int64_t timeout_ms,
                                  int64_t sequence) {
    zkl_grant grant = ZKL_GRANT_INIT;
    char end[16];
    ASSERT_STATUS(zkl_lock_acquire(lock, mode, timeout_ms, &grant), ZKL_OK);
    CU_ASSERT_TRUE(grant.token > 0);
    snprintf(end, sizeof end, "%010" PRId64, sequence);
    size_t length = strlen(grant.node);
    CU_ASSERT_TRUE(length > 10 && strcmp(grant.node + length - strlen(end), end) == 0);
}

static void assert_granted(zkl_lock *lock, zkl_mode mode, int64_t sequence) {
    assert_granted_within(lock, mode, PATIENCE_MS, sequence);
}

static void release(zkl_lock *lock) {
    ASSERT_STATUS(zkl_lock_release(lock, PATIENCE_MS), ZKL_OK);
}

/* Not held, no token, and nothing in the queue but what was there. */
static void assert_exhausted(struct scene *scene, zkl_lock *lock, zkl_mode mode, int64_t timeout_ms,
                             int others) {
    zkl_grant grant = ZKL_GRANT_INIT;
    grant.token = UNTOUCHED;
    int status = zkl_lock_acquire(lock, mode, timeout_ms, &grant);
    ASSERT_STATUS(status, ZKL_SEQUENCE_EXHAUSTED);
    if (status == ZKL_OK) {
        release(lock); /* so that a failure is not one of all that follows */
    }
    ASSERT_NUMBER(grant.token, UNTOUCHED);
    ASSERT_STATUS(zkl_lock_check(lock, NULL), ZKL_NOT_HELD);
    WAIT_UNTIL(scene_queue(scene) == others);
}

/* By a try, too: it need not wait where nobody is. */
static void assert_begins_anew(struct scene *scene, zkl_lock *lock, int64_t timeout_ms) {
    assert_granted_within(lock, ZKL_EXCLUSIVE, timeout_ms, 0);
    release(lock);
    for (int i = 0; i < MODES; i++) {
        assert_granted(lock, modes[i], 1 + i);
        release(lock);
    }
    ASSERT_NUMBER(next_sequence(scene), 1 + MODES);
}

/* ---- At the limit ------------------------------------------------------- */

static void
last_sequence_below_the_limit_is_granted_and_the_next_waits_for_an_empty_resource(void) {
    if (!can_age()) {
        return;
    }
    struct scene *scene = aged_scene(BELOW_LIMIT);
    zkl_client *clients[2] = { client_open_on(1), client_open_on(2) };
    zkl_lock *holder = lock_open(clients[0], scene->resource);
    zkl_lock *lock = lock_open(clients[1], scene->resource);
    for (int i = 0; i < MODES; i++) {
        assert_granted(holder, modes[i], FIRST_REFUSED - 4 + i);
        release(holder);
    }
    assert_granted(holder, ZKL_EXCLUSIVE, FIRST_REFUSED - 1);
    /* While somebody holds it, it is not empty; and it does the holder no harm. */
    assert_exhausted(scene, lock, ZKL_EXCLUSIVE, DRAIN_MS, 1);
    assert_exhausted(scene, lock, ZKL_READ, DRAIN_MS, 1);
    ASSERT_STATUS(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, 0, NULL), ZKL_BUSY);
    ASSERT_STATUS(zkl_lock_check(holder, NULL), ZKL_OK);
    release(holder);
    assert_begins_anew(scene, lock, PATIENCE_MS);
    zkl_lock_close(holder);
    zkl_lock_close(lock);
    client_close(clients[0]);
    client_close(clients[1]);
    scene_end(scene);
}

/* ---- Past it ------------------------------------------------------------ */

static void empty_resource_past_the_limit_begins_anew(void) {
    if (!can_age()) {
        return;
    }
    zkl_client *client = client_open(servers_hosts(), LONG_SESSION_MS);
    for (int i = FIRST_PAST; i <= LAST_PAST; i++) {
        struct scene *scene = aged_scene(i);
        zkl_lock *lock = lock_open(client, scene->resource);
        assert_begins_anew(scene, lock, i % 2 == 0 ? 0 : PATIENCE_MS);
        zkl_lock_close(lock);
        scene_end(scene);
    }
    client_close(client);
}

/* ---- Many at once ------------------------------------------------------- */

#define CLIENTS 3
#define WAITERS 12
#define FOREIGNERS 100

struct crowd {
    zkl_client *clients[CLIENTS];
    struct waiter waiters[WAITERS];
};

/* Sent by few clients: the leader numbers some before others are carried out. */
static void crowd_start(struct crowd *crowd, struct scene *scene, int64_t timeout_ms) {
    for (int i = 0; i < CLIENTS; i++) {
        crowd->clients[i] = client_open_on(i + 1);
    }
    for (int i = 0; i < WAITERS; i++) {
        zkl_lock *lock = lock_open(crowd->clients[i % CLIENTS], scene->resource);
        waiter_start(&crowd->waiters[i], lock, modes[i % MODES], timeout_ms);
    }
}

static void crowd_end(struct crowd *crowd) {
    for (int i = 0; i < CLIENTS; i++) {
        client_close(crowd->clients[i]);
    }
}

static void assert_crowd_is_exhausted(struct scene *scene) {
    struct crowd crowd;
    crowd_start(&crowd, scene, DRAIN_MS);
    for (int i = 0; i < WAITERS; i++) {
        ASSERT_STATUS(waiter_join(&crowd.waiters[i]), ZKL_SEQUENCE_EXHAUSTED);
        zkl_lock_close(crowd.waiters[i].lock);
    }
    crowd_end(&crowd);
}

static int first_done(struct crowd *crowd, const bool *gone) {
    for (int i = 0; i < WAITERS; i++) {
        if (!gone[i] && waiter_is_done(&crowd->waiters[i])) {
            return i;
        }
    }
    return -1;
}

/* Whoever has it gives it back, in whatever order they come. */
static void assert_crowd_is_granted(struct scene *scene) {
    struct crowd crowd;
    bool gone[WAITERS] = { false };
    crowd_start(&crowd, scene, PATIENCE_MS);
    for (int left = WAITERS; left > 0; left--) {
        WAIT_UNTIL(first_done(&crowd, gone) >= 0);
        int done = first_done(&crowd, gone);
        done = done >= 0 ? done : WAITERS - left;
        gone[done] = true;
        ASSERT_STATUS(waiter_join(&crowd.waiters[done]), ZKL_OK);
        zkl_lock_close(crowd.waiters[done].lock);
    }
    crowd_end(&crowd);
}

static void on_made(int rc, const char *path, const void *arg) {
    (void)path;
    (void)arg;
    if (rc != ZOK) {
        give_up("create of one of many: %s", zerror(rc));
    }
}

/* Pipelined; each with a name of its own, as numbers come twice. */
static void make_foreigners(struct scene *scene) {
    char path[512];
    for (int i = 0; i < FOREIGNERS; i++) {
        snprintf(path, sizeof path, "%s/_c_6ba7b810-9dad-41d1-80b4-%012d-lock-", scene->path, i);
        if (zoo_acreate(scene->raw, path, "", 0, raw_acl(), ZOO_EPHEMERAL_SEQUENTIAL, on_made,
                        NULL) != ZOK) {
            give_up("create %s: not sent", path);
        }
    }
    WAIT_UNTIL(scene_queue(scene) == FOREIGNERS);
}

struct names {
    int stuck;
    int negative;
    int other;
};

static void count_name(void *arg, const char *name) {
    struct names *names = arg;
    int64_t sequence = sequence_of(name);
    if (sequence == LAST_SEQUENCE) {
        names->stuck++;
    } else if (sequence < 0) {
        names->negative++;
    } else {
        names->other++;
    }
}

static void delete_child(void *arg, const char *name) {
    struct scene *scene = arg;
    char path[512];
    snprintf(path, sizeof path, "%s/%s", scene->path, name);
    raw_delete(scene->raw, path);
}

static void crowd_waits_where_sequences_stick_and_turn_negative_until_all_is_empty(void) {
    struct names names = { 0 };
    if (!can_age()) {
        return;
    }
    struct scene *scene = aged_scene(CROWDED);
    make_foreigners(scene);
    raw_visit_children(scene->raw, scene->path, count_name, &names);
    CU_ASSERT_TRUE(names.stuck > 0);
    CU_ASSERT_TRUE(names.negative > 0);
    assert_crowd_is_exhausted(scene);
    WAIT_UNTIL(scene_queue(scene) == FOREIGNERS);
    raw_visit_children(scene->raw, scene->path, delete_child, scene);
    assert_crowd_is_granted(scene);
    WAIT_UNTIL(scene_queue(scene) == 0);
    CU_ASSERT_TRUE(next_sequence(scene) >= 0);
    CU_ASSERT_TRUE(next_sequence(scene) < FIRST_REFUSED);
    scene_end(scene);
}

/* ---- A negative number of somebody else --------------------------------- */

/* Eleven characters, the longest. */
static void nobody_is_granted_beside_a_foreign_child_with_a_negative_sequence(void) {
    char child[512];
    if (!can_age()) {
        return;
    }
    struct scene *scene = aged_scene(FIRST_NEGATIVE);
    zkl_client *client = client_open(servers_hosts(), LONG_SESSION_MS);
    zkl_lock *lock = lock_open(client, scene->resource);
    make_foreign(scene, child, sizeof child);
    ASSERT_NUMBER(sequence_of(child), -LAST_SEQUENCE - 1);
    for (int i = 0; i < MODES; i++) {
        assert_exhausted(scene, lock, modes[i], DRAIN_MS, 1);
        ASSERT_STATUS(zkl_lock_acquire(lock, modes[i], 0, NULL), ZKL_BUSY);
    }
    raw_delete(scene->raw, child);
    assert_granted(lock, ZKL_EXCLUSIVE, 0);
    release(lock);
    zkl_lock_close(lock);
    client_close(client);
    scene_end(scene);
}

/* Ours is 0 then, and might be granted but for the child. */
static void foreign_child_with_a_negative_sequence_comes_first(void) {
    char child[512];
    struct waiter waiter;
    if (!can_age()) {
        return;
    }
    struct scene *scene = aged_scene(LAST_NEGATIVE);
    zkl_client *client = client_open(servers_hosts(), LONG_SESSION_MS);
    zkl_lock *lock = lock_open(client, scene->resource);
    make_foreign(scene, child, sizeof child);
    ASSERT_NUMBER(sequence_of(child), -1);
    for (int i = 0; i < MODES; i++) {
        ASSERT_STATUS(zkl_lock_acquire(lock, modes[i], 0, NULL), ZKL_BUSY);
    }
    waiter_start(&waiter, lock, ZKL_READ, PATIENCE_MS);
    WAIT_UNTIL(scene_watches_on(scene, child) == 1);
    STAYS(!waiter_is_done(&waiter), QUIET_MS);
    raw_delete(scene->raw, child);
    ASSERT_STATUS(waiter_join(&waiter), ZKL_OK);
    release(lock);
    zkl_lock_close(lock);
    client_close(client);
    scene_end(scene);
}

int main(int argc, char **argv) {
    static const struct test_case tests[] = {
        TEST_CASE(
            last_sequence_below_the_limit_is_granted_and_the_next_waits_for_an_empty_resource),
        TEST_CASE(empty_resource_past_the_limit_begins_anew),
        TEST_CASE(crowd_waits_where_sequences_stick_and_turn_negative_until_all_is_empty),
        TEST_CASE(nobody_is_granted_beside_a_foreign_child_with_a_negative_sequence),
        TEST_CASE(foreign_child_with_a_negative_sequence_comes_first),
    };
    return run_tests(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
