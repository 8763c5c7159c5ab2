/* Statuses: the numbers and texts that applications compile in and print. */
#include "zklock/zklock.h"

#include <string.h>

#include "support/unit.h"

/* Written out a second time on purpose: a program that was built yesterday
 * relies on each number. */
static const struct {
    int status;
    int number;
} numbers[] = {
    { ZKL_OK, 0 },
    { ZKL_BUSY, -1 },
    { ZKL_TIMEOUT, -2 },
    { ZKL_CANCELLED, -3 },
    { ZKL_QUEUE_FULL, -4 },
    { ZKL_TOO_MANY_REQUESTS, -5 },
    { ZKL_SEQUENCE_EXHAUSTED, -6 },
    { ZKL_LOST, -7 },
    { ZKL_SUSPECT, -8 },
    { ZKL_SESSION_EXPIRED, -9 },
    { ZKL_LEASE_ENDED, -10 },
    { ZKL_HOLD_LIMIT, -11 },
    { ZKL_NODE_DELETED, -12 },
    { ZKL_PENDING, -13 },
    { ZKL_UNKNOWN, -14 },
    { ZKL_OPERATION_FAILED, -15 },
    { ZKL_NO_NODE, -16 },
    { ZKL_NODE_EXISTS, -17 },
    { ZKL_BAD_VERSION, -18 },
    { ZKL_NOT_EMPTY, -19 },
    { ZKL_NOT_HELD, -20 },
    { ZKL_ALREADY_HELD, -21 },
    { ZKL_NOT_OWNER, -22 },
    { ZKL_HANDLE_IN_USE, -23 },
    { ZKL_NOT_WAITING, -24 },
    { ZKL_INVALID_ARGUMENT, -25 },
    { ZKL_BUFFER_TOO_SMALL, -26 },
    { ZKL_IN_CALLBACK, -27 },
    { ZKL_FORKED, -28 },
    { ZKL_CLOSED, -29 },
    { ZKL_DISCONNECTED, -30 },
    { ZKL_AUTH_FAILED, -31 },
    { ZKL_NO_PERMISSION, -32 },
    { ZKL_QUOTA_EXCEEDED, -33 },
    { ZKL_SERVER_REFUSED, -34 },
    { ZKL_LEASE_IMPOSSIBLE, -35 },
    { ZKL_USED_DIFFERENTLY, -36 },
    { ZKL_NO_MEMORY, -37 },
    { ZKL_SYSTEM, -38 },
    { ZKL_UNSUPPORTED, -39 },
};

static const int all[] = {
#define STATUS(name, value, text) name,
    ZKL_STATUS_LIST(STATUS)
#undef STATUS
};

TEST(every_status_keeps_its_number) {
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        EXPECT_INT(numbers[i].status, numbers[i].number);
    }
    EXPECT_INT(COUNT_OF(all), COUNT_OF(numbers)); /* a new one is to be added here */
}

TEST(statuses_are_numbered_in_order_without_gaps) {
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        EXPECT_INT(all[i], -(int)i);
    }
}

TEST(statuses_differ_in_number_and_text) {
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        for (size_t k = 0; k < i; k++) {
            EXPECT(all[i] != all[k]);
            EXPECT(strcmp(zkl_strerror(all[i]), zkl_strerror(all[k])) != 0);
        }
    }
}

TEST(only_success_is_not_negative) {
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        EXPECT((all[i] < 0) == (all[i] != ZKL_OK));
    }
}

TEST(every_status_has_a_text_of_its_own) {
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        const char *text = zkl_strerror(all[i]);
        EXPECT(text[0] != '\0');
        EXPECT(strcmp(text, "unknown status") != 0);
    }
    EXPECT_TEXT(zkl_strerror(ZKL_OK), "success");
    EXPECT_TEXT(zkl_strerror(ZKL_TIMEOUT), "the deadline passed before the operation was complete");
}

TEST(every_status_has_the_name_that_programs_write) {
#define EXPECT_NAME(name, value, text) EXPECT_TEXT(zkl_status_name(value), #name);
    ZKL_STATUS_LIST(EXPECT_NAME)
#undef EXPECT_NAME
    EXPECT_TEXT(zkl_status_name(-2), "ZKL_TIMEOUT");
}

TEST(numbers_that_are_no_status_say_so) {
    static const int strangers[] = { 1, 2, 100, -100, -500, -1000, INT32_MAX, INT32_MIN };
    for (size_t i = 0; i < COUNT_OF(strangers); i++) {
        EXPECT_TEXT(zkl_strerror(strangers[i]), "unknown status");
        EXPECT_TEXT(zkl_status_name(strangers[i]), "unknown");
    }
}

TEST(each_state_of_a_lock_has_its_name) {
    EXPECT_TEXT(zkl_lock_state_name(ZKL_STATE_IDLE), "idle");
    EXPECT_TEXT(zkl_lock_state_name(ZKL_STATE_ACQUIRING), "acquiring");
    EXPECT_TEXT(zkl_lock_state_name(ZKL_STATE_HELD), "held");
    EXPECT_TEXT(zkl_lock_state_name(ZKL_STATE_SUSPECT), "suspect");
    EXPECT_TEXT(zkl_lock_state_name(ZKL_STATE_LOST), "lost");
    EXPECT_TEXT(zkl_lock_state_name(ZKL_STATE_RELEASING), "releasing");
    EXPECT_TEXT(zkl_lock_state_name(-1), "unknown");
    EXPECT_TEXT(zkl_lock_state_name(ZKL_STATE_REVOKE_REQUESTED), "revoke requested");
    EXPECT_TEXT(zkl_lock_state_name(ZKL_STATE_CONTENDED), "contended");
    EXPECT_TEXT(zkl_lock_state_name(8), "unknown");
}

TEST(version_is_that_of_the_header_in_the_library_and_in_cmake) {
    char version[32];
    snprintf(version, sizeof(version), "%d.%d.%d", ZKL_VERSION_MAJOR, ZKL_VERSION_MINOR,
             ZKL_VERSION_PATCH);
    EXPECT_TEXT(zkl_version(), version);
    EXPECT_TEXT(PROJECT_VERSION, version);
}
