/* Host names to addresses; only such hosts as no name server is asked about. */
#include "connection/resolve.h"

#include <stdlib.h>
#include <string.h>

#include "support/unit.h"
#include "zklock/zklock.h"

static void expect_addresses(const char *servers, const char *expected) {
    char *addresses = NULL;
    EXPECT_INT(zkl_resolve_servers(servers, &addresses), ZKL_OK);
    EXPECT_TEXT(addresses, expected);
    free(addresses);
}

TEST(addresses_stay_as_they_are) {
    expect_addresses("127.0.0.1:2181", "127.0.0.1:2181");
    expect_addresses("10.0.0.1:1,10.0.0.2:65535,10.0.0.1:2",
                     "10.0.0.1:1,10.0.0.2:65535,10.0.0.1:2");
}

TEST(brackets_of_ipv6_are_taken_off) {
    expect_addresses("[::1]:2181", "::1:2181");
    expect_addresses("10.0.0.1:1,[2001:db8::2]:2,10.0.0.3:3",
                     "10.0.0.1:1,2001:db8::2:2,10.0.0.3:3");
}

TEST(host_that_cannot_be_resolved_is_left_out) {
    char servers[700] = "";
    memset(servers, 'h', 600); /* longer than any name, so nobody is asked */
    memcpy(servers + 600, ":2181,127.0.0.1:2182", sizeof(":2181,127.0.0.1:2182"));
    expect_addresses(servers, "127.0.0.1:2182");
}

TEST(list_without_any_address_is_refused) {
    char servers[700] = "";
    char *addresses = NULL;
    memset(servers, 'h', 600);
    memcpy(servers + 600, ":2181", sizeof(":2181"));
    EXPECT_INT(zkl_resolve_servers(servers, &addresses), ZKL_DISCONNECTED);
    EXPECT(addresses == NULL);
}
