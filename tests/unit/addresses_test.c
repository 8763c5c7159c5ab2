/* Lists of addresses. */
#include "connection/addresses.h"

#include <stdlib.h>

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

TEST(addresses_are_counted) {
    EXPECT_INT(zkl_addresses_count(""), 0);
    EXPECT_INT(zkl_addresses_count("a:1"), 1);
    EXPECT_INT(zkl_addresses_count("a:1,::1:2,c:3"), 3);
}

static void expect_others(const char *all, const char *rest, const char *silent,
                          const char *expected) {
    char *others = zkl_addresses_others(all, rest, silent);
    EXPECT_TEXT(others, expected);
    free(others);
}

TEST(each_address_is_left_before_one_is_tried_again) {
    const char *all = "a:1,b:2,b:22";
    expect_others(all, all, "b:2", "a:1,b:22");
    expect_others(all, "a:1,b:22", "a:1", "b:22");
    expect_others(all, "b:22", "b:22", "a:1,b:2"); /* the next round does not begin with it */
    expect_others("a:1", "a:1", "a:1", "");
    expect_others(all, all, "b:222", all);
    expect_others("", "", "a:1", "");
}

TEST(same_addresses_in_another_order_are_the_same) {
    EXPECT(zkl_addresses_are_same("a:1,b:2,c:3", "c:3,a:1,b:2"));
    EXPECT(zkl_addresses_are_same("", ""));
    EXPECT(zkl_addresses_contain_all("a:1,b:2,c:3", "c:3,a:1"));
    EXPECT(!zkl_addresses_contain_all("a:1,b:2", "a:1,c:3"));
    EXPECT(!zkl_addresses_are_same("a:1,b:2", "a:1,b:2,c:3"));
    EXPECT(!zkl_addresses_are_same("a:1,b:2,c:3", "a:1,b:2"));
    EXPECT(!zkl_addresses_are_same("a:1,b:2", "a:1,b:3"));
}

TEST(list_that_names_an_address_twice_is_not_one_with_another_address) {
    EXPECT(!zkl_addresses_are_same("a:1,a:1,b:2", "a:1,b:2,c:3"));
    EXPECT(!zkl_addresses_are_same("a:1,b:2,c:3", "a:1,a:1,b:2"));
    EXPECT(zkl_addresses_are_same("a:1,a:1,b:2", "b:2,a:1,a:1"));
}

TEST(addresses_of_the_same_hosts_look_the_same) {
    EXPECT(zkl_addresses_look_same("a:1,b:2", "b:7,a:8"));
    EXPECT(zkl_addresses_look_same("a:1,a:2,a:3", "a:1,a:2,b:1"));
    EXPECT(zkl_addresses_look_same("::1:2", "::1:3"));
    EXPECT(!zkl_addresses_look_same("a:1,a:2,b:1", "a:1,a:2,a:3"));
    EXPECT(!zkl_addresses_look_same("a:1", "a:1,a:2"));
    EXPECT(!zkl_addresses_look_same("::1:2", "::11:2"));
}
