/* Messages for people. */
#include "say.h"

#include <string.h>
#include <zklock/zklock.h>

#include "support/unit.h"

TEST(status_without_a_message_is_not_followed_by_a_stray_full_stop) {
    char why[SAY_WHY_SIZE];
    EXPECT_INT(zkl_client_close(NULL, 0), ZKL_OK); /* and so there is no message */
    EXPECT_TEXT(zkl_error_message(), "");
    say_why(why, ZKL_TIMEOUT);
    EXPECT_TEXT(why, zkl_strerror(ZKL_TIMEOUT));
}

TEST(message_of_the_call_follows_the_status) {
    char why[SAY_WHY_SIZE];
    EXPECT_INT(zkl_lock_cancel(NULL), ZKL_INVALID_ARGUMENT);
    say_why(why, ZKL_TIMEOUT);
    EXPECT_INT(strncmp(why, zkl_strerror(ZKL_TIMEOUT), strlen(zkl_strerror(ZKL_TIMEOUT))), 0);
    EXPECT_INT(strstr(why, ". lock: ") != NULL, true);
}
