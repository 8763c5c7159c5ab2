/*
 * locks_for_cost METRICS RECORDED_EVENTS TIMES: locks and unlocks on simulated servers, where
 * the same is done to the instruction each time; measure_cost counts them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <zklock/testing.h>

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: locks_for_cost METRICS RECORDED_EVENTS TIMES\n");
        return 2;
    }
    zkl_testing_begin(NULL);
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    options.metrics = atoi(argv[1]);
    options.recorded_events = atoi(argv[2]) > 0 ? atoi(argv[2]) : ZKL_NONE;
    zkl_client *client = NULL;
    zkl_lock *lock = NULL;
    ZKL_TESTING_EXPECT(zkl_client_open("any:2181", &options, &client) == ZKL_OK);
    ZKL_TESTING_EXPECT(zkl_lock_open(client, "stock", NULL, &lock) == ZKL_OK);
    for (long i = 0; i < atol(argv[3]); i++) {
        ZKL_TESTING_EXPECT(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, ZKL_FOREVER, NULL) == ZKL_OK);
        ZKL_TESTING_EXPECT(zkl_lock_release(lock, ZKL_FOREVER) == ZKL_OK);
    }
    zkl_lock_close(lock);
    ZKL_TESTING_EXPECT(zkl_client_close(client, 1000) == ZKL_OK);
    zkl_testing_end();
    return 0;
}
