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
    { ZKL_LOST, -4 },
    { ZKL_SUSPECT, -5 },
    { ZKL_NOT_HELD, -6 },
    { ZKL_ALREADY_HELD, -7 },
    { ZKL_HANDLE_IN_USE, -8 },
    { ZKL_NOT_WAITING, -9 },
    { ZKL_CLOSED, -10 },
    { ZKL_DISCONNECTED, -11 },
    { ZKL_SESSION_EXPIRED, -12 },
    { ZKL_PENDING, -13 },
    { ZKL_NO_PERMISSION, -14 },
    { ZKL_AUTH_FAILED, -15 },
    { ZKL_SERVER_REFUSED, -16 },
    { ZKL_SEQUENCE_EXHAUSTED, -17 },
    { ZKL_NO_MEMORY, -18 },
    { ZKL_SYSTEM, -19 },
    { ZKL_IN_CALLBACK, -20 },
    { ZKL_CANNOT_RESOLVE, -21 },
    { ZKL_NODE_DELETED, -22 },
    { ZKL_LEASE_ENDED, -23 },
    { ZKL_HOLD_LIMIT, -24 },
    { ZKL_FORKED, -25 },
    { ZKL_NOT_OWNER, -26 },
    { ZKL_NO_UPGRADE, -27 },
    { ZKL_TOO_MANY_REQUESTS, -28 },
    { ZKL_TOO_MANY_HOLDS, -29 },
    { ZKL_INVALID_ARGUMENT, -30 },
    { ZKL_INVALID_STRUCT_SIZE, -31 },
    { ZKL_INVALID_MODE, -32 },
    { ZKL_INVALID_TIMEOUT, -33 },
    { ZKL_INVALID_HOSTS, -34 },
    { ZKL_INVALID_ROOT, -35 },
    { ZKL_INVALID_LABEL, -36 },
    { ZKL_LEASE_IMPOSSIBLE, -37 },
    { ZKL_NOT_RECORDED, -38 },
    { ZKL_CANNOT_WRITE, -39 },
    { ZKL_RESOURCE_EMPTY, -40 },
    { ZKL_RESOURCE_TOO_LONG, -41 },
    { ZKL_RESOURCE_DOT, -42 },
    { ZKL_RESOURCE_CONTROL_CHARACTER, -43 },
    { ZKL_RESOURCE_INVALID_UTF8, -44 },
    { ZKL_RESOURCE_SLASH, -45 },
    { ZKL_RESOURCE_EMPTY_COMPONENT, -46 },
    { ZKL_RESOURCE_RESERVED, -47 },
    { ZKL_RESOURCE_UNSUPPORTED_CHARACTER, -48 },
    { ZKL_PERMITS_DIFFER, -49 },
    { ZKL_QUEUE_FULL, -50 },
    { ZKL_INVALID_PERMITS, -51 },
    { ZKL_INVALID_LIMIT, -52 },
    { ZKL_DUPLICATE_RESOURCE, -57 },
    { ZKL_INVALID_STRIPES, -58 },
    { ZKL_UNKNOWN, -70 },
    { ZKL_OPERATION_FAILED, -71 },
    { ZKL_NO_NODE, -72 },
    { ZKL_NODE_EXISTS, -73 },
    { ZKL_BAD_VERSION, -74 },
    { ZKL_NOT_EMPTY, -75 },
    { ZKL_INVALID_PATH, -76 },
    { ZKL_TRANSACTION_TOO_LARGE, -77 },
    { ZKL_NOT_DISPATCHED, -53 },
    { ZKL_NOT_COUNTED, -54 },
    { ZKL_BUFFER_TOO_SMALL, -55 },
    { ZKL_INVALID_RESOURCE_CLASS, -56 },
    { ZKL_NOT_A_CONTENDER, -59 },
    { ZKL_INVALID_CANDIDATE, -66 },
    { ZKL_TOO_MANY_WATCHES, -82 },
    { ZKL_QUOTA_EXCEEDED, -60 },
};

static const int all[] = {
#define STATUS(name, value, text) name,
    ZKL_STATUS_LIST(STATUS)
#undef STATUS
};

static void every_status_keeps_its_number(void) {
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        EXPECT_INT(numbers[i].status, numbers[i].number);
    }
    EXPECT_INT(COUNT_OF(all), COUNT_OF(numbers)); /* a new one is to be added here */
}

static void statuses_differ_in_number_and_text(void) {
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        for (size_t k = 0; k < i; k++) {
            EXPECT(all[i] != all[k]);
            EXPECT(strcmp(zkl_strerror(all[i]), zkl_strerror(all[k])) != 0);
        }
    }
}

static void only_success_is_not_negative(void) {
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        EXPECT((all[i] < 0) == (all[i] != ZKL_OK));
    }
}

static void every_status_has_a_text_of_its_own(void) {
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        const char *text = zkl_strerror(all[i]);
        EXPECT(text[0] != '\0');
        EXPECT(strcmp(text, "unknown status") != 0);
    }
    EXPECT_TEXT(zkl_strerror(ZKL_OK), "success");
    EXPECT_TEXT(zkl_strerror(ZKL_TIMEOUT), "the deadline passed before the operation was complete");
}

static void numbers_that_are_no_status_say_so(void) {
    static const int strangers[] = { 1, 2, 100, -100, -500, -1000, INT32_MAX, INT32_MIN };
    for (size_t i = 0; i < COUNT_OF(strangers); i++) {
        EXPECT_TEXT(zkl_strerror(strangers[i]), "unknown status");
    }
}

static void each_state_of_a_lock_has_its_name(void) {
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

static void version_is_that_of_the_header(void) {
    EXPECT_INT(ZKL_VERSION_MAJOR, 0);
    EXPECT_INT(ZKL_VERSION_MINOR, 1);
    EXPECT_INT(ZKL_VERSION_PATCH, 0);
    EXPECT_TEXT(zkl_version(), "0.1.0");
}

static CU_TestInfo tests[] = {
    TEST(every_status_keeps_its_number),     TEST(statuses_differ_in_number_and_text),
    TEST(only_success_is_not_negative),      TEST(every_status_has_a_text_of_its_own),
    TEST(numbers_that_are_no_status_say_so), TEST(each_state_of_a_lock_has_its_name),
    TEST(version_is_that_of_the_header),     TEST_END,
};

int main(void) {
    return unit_main("status", tests);
}
