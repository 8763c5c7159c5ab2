/* Lists of addresses. */
#include "session/addresses.h"

#include "support/unit.h"

TEST(addresses_are_found_as_a_whole_only) {
    const char *all = "10.0.0.1:1,::1:2,10.0.0.1:11";
    EXPECT(zkl_addresses_contain(all, "10.0.0.1:1", 10));
    EXPECT(zkl_addresses_contain(all, "::1:2", 5));
    EXPECT(zkl_addresses_contain(all, "10.0.0.1:11,10.0.0.2:1", 11));
    EXPECT(!zkl_addresses_contain(all, "0.0.0.1:1", 9));
    EXPECT(!zkl_addresses_contain(all, "10.0.0.1:", 9));
    EXPECT(!zkl_addresses_contain(all, "", 0));
    EXPECT(!zkl_addresses_contain("", "10.0.0.1:1", 10));
}

TEST(addresses_are_walked_to_the_last) {
    const char *all = "a:1,b:22";
    EXPECT_INT(zkl_addresses_first(all), 3);
    EXPECT_TEXT(zkl_addresses_rest(all), "b:22");
    EXPECT_TEXT(zkl_addresses_rest(zkl_addresses_rest(all)), "");
    EXPECT_INT(zkl_addresses_first(""), 0);
}

TEST(same_addresses_in_another_order_are_the_same) {
    EXPECT(zkl_addresses_are_same("a:1,b:2,c:3", "c:3,a:1,b:2"));
    EXPECT(zkl_addresses_are_same("", ""));
    EXPECT(!zkl_addresses_are_same("a:1,b:2", "a:1,b:2,c:3"));
    EXPECT(!zkl_addresses_are_same("a:1,b:2,c:3", "a:1,b:2"));
    EXPECT(!zkl_addresses_are_same("a:1,b:2", "a:1,b:3"));
}
