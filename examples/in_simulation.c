/*
 * Runs an example on simulated servers, with the arguments that follow, and checks that it leaves
 * nothing behind:
 *
 *     NAME_in_simulation [--behind PATH | --break RESOURCE | --pause MS | --outage downgrade |
 *                        --times N] ARG...
 *
 * --behind  another contender holds the resource PATH all the time, and after 5 s SIGINT comes
 * --break   an administrator breaks the lock of RESOURCE while the example works
 * --pause   the process is stopped for MS milliseconds while the example works
 * --times   the example runs N times, one after the other; the status is that of the last run
 * --outage  all servers are down when the example downgrades its lock, for longer than it waits
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zklock/administration.h>
#include <zklock/testing.h>

#include "simulated_waits.h"

enum { SIGNAL_AT_MS = 5000, TIMEOUT_MS = 10000, CLEAN_MS = 10000, RECOVERY_MS = 5000 };

int example_main(int argc, char **argv); /* the example's main, renamed */

static const char *broken_resource;
static int64_t pause_ms;
static bool outage_in_downgrade;
static long times = 1;

int __real_zkl_lock_downgrade(zkl_lock *lock, int64_t timeout_ms);
int __wrap_zkl_lock_downgrade(zkl_lock *lock, int64_t timeout_ms);

int __wrap_zkl_lock_downgrade(zkl_lock *lock, int64_t timeout_ms) {
    if (!outage_in_downgrade) {
        return __real_zkl_lock_downgrade(lock, timeout_ms);
    }
    zkl_testing_stop_servers();
    int status = __real_zkl_lock_downgrade(lock, timeout_ms);
    zkl_testing_start_servers();
    zkl_testing_sleep(RECOVERY_MS);
    return status;
}

static void break_lock(void) {
    zkl_client *client = NULL;
    zkl_queue *queue = NULL;
    ZKL_TESTING_EXPECT(zkl_client_open("any:2181", NULL, &client) == ZKL_OK);
    ZKL_TESTING_EXPECT(zkl_queue_describe(client, broken_resource, TIMEOUT_MS, &queue) == ZKL_OK);
    ZKL_TESTING_EXPECT(queue->count == 1);
    ZKL_TESTING_EXPECT(
        zkl_node_break(client, broken_resource, queue->contenders[0]->node, TIMEOUT_MS) == ZKL_OK);
    zkl_report_free(queue);
    ZKL_TESTING_EXPECT(zkl_client_close(client, TIMEOUT_MS) == ZKL_OK);
}

static void stand_still(void) {
    zkl_testing_pause(NULL, pause_ms);
}

/* Returns how many arguments the options take. */
static int take_options(int argc, char **argv, char other[ZKL_NODE_PATH_SIZE]) {
    if (argc < 3) {
        return 0;
    }
    if (strcmp(argv[1], "--behind") == 0) {
        zkl_testing_add_contender(argv[2], ZKL_EXCLUSIVE, other);
    } else if (strcmp(argv[1], "--break") == 0) {
        broken_resource = argv[2];
        simulated_accident = break_lock;
    } else if (strcmp(argv[1], "--pause") == 0) {
        pause_ms = strtoll(argv[2], NULL, 10);
        simulated_accident = stand_still;
    } else if (strcmp(argv[1], "--outage") == 0) {
        outage_in_downgrade = strcmp(argv[2], "downgrade") == 0;
    } else if (strcmp(argv[1], "--times") == 0) {
        times = strtol(argv[2], NULL, 10);
    } else {
        return 0;
    }
    return 2;
}

int main(int argc, char **argv) {
    char other[ZKL_NODE_PATH_SIZE] = "";
    zkl_testing_begin(NULL);
    int options = take_options(argc, argv, other);
    simulated_signal_at_ms = SIGNAL_AT_MS;
    int status = 1;
    for (long i = 0; i < times; i++) {
        status = example_main(argc - options, argv + options);
    }
    if (other[0] != '\0') {
        ZKL_TESTING_EXPECT(zkl_testing_delete_node(other) == 1);
    }
    zkl_testing_expect_clean(CLEAN_MS);
    ZKL_TESTING_EXPECT(zkl_testing_count_sessions() == 0);
    zkl_testing_end();
    return status;
}
