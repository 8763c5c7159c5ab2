/*
 * Runs an example on simulated servers, where time passes in zklock only. So these functions
 * replace those in which the loop waits: they let virtual time pass, and poll again. The linker
 * puts them in place.
 */
#define _POSIX_C_SOURCE 200809L /* -std=c11 alone hides POSIX functions */

#include <stdio.h>
#include <stdlib.h>
#include <zklock/testing.h>

enum { STEP_MS = 1, CLEAN_MS = 10000 };

int example_main(int argc, char **argv); /* the example's main, renamed */

#ifdef WITH_LIBUV
#include <uv.h>

int __real_uv_run(uv_loop_t *loop, uv_run_mode mode);
int __wrap_uv_run(uv_loop_t *loop, uv_run_mode mode);

int __wrap_uv_run(uv_loop_t *loop, uv_run_mode mode) {
    ZKL_TESTING_EXPECT(mode == UV_RUN_DEFAULT);
    while (__real_uv_run(loop, UV_RUN_NOWAIT) != 0) {
        zkl_testing_sleep(STEP_MS);
    }
    return 0;
}
#else
#include <sys/epoll.h>

int __real_epoll_wait(int loop, struct epoll_event *events, int most, int timeout_ms);
int __wrap_epoll_wait(int loop, struct epoll_event *events, int most, int timeout_ms);

int __wrap_epoll_wait(int loop, struct epoll_event *events, int most, int timeout_ms) {
    ZKL_TESTING_EXPECT(timeout_ms < 0);
    for (;;) {
        int count = __real_epoll_wait(loop, events, most, 0);
        if (count != 0) {
            return count;
        }
        zkl_testing_sleep(STEP_MS);
    }
}
#endif

int main(void) {
    char name[] = "example";
    char *argv[] = { name, NULL };
    /* The loop's timers are not simulated: much virtual time passes until they fire. */
    zkl_testing_options options = ZKL_TESTING_OPTIONS_INIT;
    options.time_limit_ms = INT64_C(1000) * 3600000;
    zkl_testing_begin(&options);
    ZKL_TESTING_EXPECT(example_main(1, argv) == 0);
    ZKL_TESTING_EXPECT(zkl_testing_count_children("/locks") == 3); /* the example's resources */
    zkl_testing_expect_clean(CLEAN_MS);
    ZKL_TESTING_EXPECT(zkl_testing_count_sessions() == 0);
    zkl_testing_end();
    return EXIT_SUCCESS;
}
