/* Messages for people. */
#include "say.h"

#include <stdio.h>
#include <string.h>
#include <zklock/zklock.h>

#include "log_sink.h"
#include "support/unit.h"

static char said[128];

void log_said(const char *text) {
    snprintf(said, sizeof(said), "%s", text);
}

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

TEST(what_is_said_is_logged_without_the_name_of_the_command) {
    say_subcommand("run");
    say("%s is \x1b[2J", "x");
    EXPECT_TEXT(said, "x is ?[2J");
}
