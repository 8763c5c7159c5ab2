/* zklock/testing.h: whether all of zklock is the one of this library. */
#include "base/error_message.h"
#include "testing/testing.h"

/* A function of ours leaves its message here. One of another library leaves it there: that an
 * address is in the same object would say less, as a program's address of a function may be that of
 * a jump to it. */
static bool is_of_this_library(int status) {
    bool left_a_message = status == ZKL_INVALID_ARGUMENT && zkl_error_message()[0] != '\0';
    zkl_error_clear();
    return left_a_message;
}

/* One of each file that has functions for applications: the linker takes each as a whole. */
void zkl_testing_insist_on_linkage(void) {
    zkl_error_clear();
    zkl_testing_insist(is_of_this_library(zkl_client_open(NULL, NULL, NULL)) &&
                           is_of_this_library(zkl_client_write_record(NULL, NULL)) &&
                           is_of_this_library(zkl_lock_open(NULL, NULL, NULL, NULL)) &&
                           is_of_this_library(zkl_lock_acquire(NULL, ZKL_EXCLUSIVE, 0, NULL)) &&
                           is_of_this_library(zkl_lock_release(NULL, 0)) &&
                           is_of_this_library(zkl_lock_check(NULL, NULL)),
                       "zkl_testing_begin",
                       "libzklock is linked beside libzklock_testing, and takes its place; link "
                       "libzklock_testing only");
}
