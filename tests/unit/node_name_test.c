/* The names of nodes, against what servers, Curator and kazoo write. */
#include "recipe/node_name.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/unit.h"

#define GUID "01234567-89ab-4cde-8f01-23456789abcd"
#define OTHER_GUID "01234567-89ab-4cde-8f01-23456789abce"
#define BARE_GUID "0123456789ab4cde8f0123456789abcd"
#define OTHER_BARE_GUID "0123456789ab4cde8f0123456789abce"

static void expect_name(const char *text, zkl_node_kind kind, int32_t sequence, int line) {
    zkl_node_name name = zkl_node_name_parse(text);
    unit_check(name.kind == kind, __FILE__, line, "\"%s\": kind %d, expected %d", text,
               (int)name.kind, (int)kind);
    unit_check(name.sequence == sequence, __FILE__, line,
               "\"%s\": sequence %" PRId32 ", expected %" PRId32, text, name.sequence, sequence);
}

#define EXPECT_NAME(text, kind, sequence) expect_name((text), (kind), (sequence), __LINE__)
#define EXPECT_FOREIGN(text) EXPECT_INT(zkl_node_name_parse(text).kind, ZKL_NODE_FOREIGN)

TEST(names_of_curator_are_known) {
    EXPECT_NAME("_c_" GUID "-lock-0000000003", ZKL_NODE_EXCLUSIVE, 3);
    EXPECT_NAME("_c_" GUID "-__READ__0000000017", ZKL_NODE_READ, 17);
    EXPECT_NAME("_c_" GUID "-__WRIT__0000000000", ZKL_NODE_WRITE, 0);
    EXPECT_NAME("_c_" GUID "-__WRIT__2147483647", ZKL_NODE_WRITE, INT32_MAX);
}

TEST(names_of_kazoo_are_known) {
    EXPECT_NAME("0123456789abcdef0123456789abcdef__lock__0000000003", ZKL_NODE_EXCLUSIVE, 3);
    EXPECT_NAME("0123456789abcdef0123456789abcdef__rlock__0000000004", ZKL_NODE_READ, 4);
}

TEST(names_of_a_leader_latch_are_known) {
    EXPECT_NAME("_c_" GUID "-latch-0000000004", ZKL_NODE_EXCLUSIVE, 4);
    EXPECT_NAME("latch-0000000009", ZKL_NODE_EXCLUSIVE, 9);
}

TEST(names_of_other_recipes_with_a_lock_are_known) {
    EXPECT_NAME("lock-0000000001", ZKL_NODE_EXCLUSIVE, 1);
    EXPECT_NAME("_c_0123456789abcdef-lock-0000000001", ZKL_NODE_EXCLUSIVE, 1); /* go-zookeeper */
    EXPECT_NAME("x-72057594-lock-0000000009", ZKL_NODE_EXCLUSIVE, 9);
}

TEST(names_of_zookeepers_own_locks_are_known) {
    EXPECT_NAME("x-010002cb74de0003-0000000000", ZKL_NODE_EXCLUSIVE, 0);   /* zkr_lock */
    EXPECT_NAME("x-72060666900250630-0000000012", ZKL_NODE_EXCLUSIVE, 12); /* WriteLock */
    EXPECT_NAME("x--144118260939489309-0000000003", ZKL_NODE_EXCLUSIVE, 3);
    EXPECT_NAME("x-010002cb74de0003--000000005", ZKL_NODE_EXCLUSIVE, -5);
    EXPECT_NAME("x--144118260939489309--2147483647", ZKL_NODE_EXCLUSIVE, -INT32_MAX);
}

TEST(names_that_only_look_like_those_of_zookeepers_own_locks_are_unknown) {
    EXPECT_NAME("x-0000000001", ZKL_NODE_UNKNOWN, 1);
    EXPECT_NAME("x--0000000002", ZKL_NODE_UNKNOWN, 2);
    EXPECT_NAME("x---0000000003", ZKL_NODE_UNKNOWN, 3);
    EXPECT_NAME("x-job-0000000004", ZKL_NODE_UNKNOWN, 4);
    EXPECT_NAME("x-01-02-0000000005", ZKL_NODE_UNKNOWN, 5);
    EXPECT_NAME("x-01_0000000006", ZKL_NODE_UNKNOWN, 6);
    EXPECT_NAME("y-01-0000000007", ZKL_NODE_UNKNOWN, 7);
}

TEST(unknown_kinds_have_their_last_ten_digits_as_sequence) {
    EXPECT_NAME("0000000007", ZKL_NODE_UNKNOWN, 7);
    EXPECT_NAME("n_0000000008", ZKL_NODE_UNKNOWN, 8);
    EXPECT_NAME("latch0000000009", ZKL_NODE_UNKNOWN, 9);
    EXPECT_NAME("-0000000010", ZKL_NODE_UNKNOWN, 10);
    EXPECT_NAME("job420000000011", ZKL_NODE_UNKNOWN, 11);
    EXPECT_NAME("__READ_0000000012", ZKL_NODE_UNKNOWN, 12);
    EXPECT_NAME("__read__0000000013", ZKL_NODE_UNKNOWN, 13);
    EXPECT_NAME("LOCK-0000000014", ZKL_NODE_UNKNOWN, 14);
}

TEST(children_without_a_sequence_are_foreign) {
    EXPECT_FOREIGN("");
    EXPECT_FOREIGN("-");
    EXPECT_FOREIGN("lock-");
    EXPECT_FOREIGN("_c_" GUID "-lock-");
    EXPECT_FOREIGN("config");
    EXPECT_FOREIGN("000000001");
    EXPECT_FOREIGN("lock-000000001");
    EXPECT_FOREIGN("lock-00000000x1");
    EXPECT_FOREIGN("lock-+000000001");
    EXPECT_FOREIGN("lock- 000000001");
    EXPECT_FOREIGN("lock-0000000001 ");
    EXPECT_FOREIGN("lock-0x00000001");
    EXPECT_FOREIGN("__lock__");
}

/* A lease of kazoo's semaphore is a UUID, of which one in a hundred ends with ten decimal digits.
 */
TEST(uuid_that_ends_with_ten_decimal_digits_is_foreign) {
    EXPECT_FOREIGN("0123456789ab4cde8f01230123456789");
    EXPECT_FOREIGN("00000000000040008000000000000000");
    EXPECT_NAME("0123456789ab4cde8f012300123456789", ZKL_NODE_UNKNOWN, 123456789);
    EXPECT_NAME("0123456789ab4cde8f0123x0123456789", ZKL_NODE_UNKNOWN, 123456789);
    EXPECT_NAME("123456789ab4cde8f01230123456789", ZKL_NODE_UNKNOWN, 123456789);
}

TEST(numbers_that_no_server_writes_are_foreign) {
    EXPECT_FOREIGN("lock-2147483648");
    EXPECT_FOREIGN("lock-9999999999");
    EXPECT_FOREIGN("lock--2147483649");
    EXPECT_FOREIGN("lock--000000000");
    EXPECT_FOREIGN("lock---00000001");
}

/* An eleventh digit belongs to the name before it. */
TEST(eleven_digits_after_a_marker_are_no_known_kind) {
    EXPECT_NAME("lock-00000000001", ZKL_NODE_UNKNOWN, 1);
    EXPECT_NAME("__READ__10000000001", ZKL_NODE_UNKNOWN, 1);
    EXPECT_NAME("lock--00000000001", ZKL_NODE_UNKNOWN, 1);
}

/* Where we do not know the marker we cannot tell a minus sign from a dash. */
TEST(unknown_kind_with_a_negative_sequence_is_foreign) {
    EXPECT_FOREIGN("hatch--000000001");
    EXPECT_FOREIGN("hatch-000000001");
    EXPECT_NAME("hatch--2147483647", ZKL_NODE_UNKNOWN, 2147483647);
}

TEST(every_sequence_that_a_server_writes_is_read_back) {
    static const int32_t sequences[] = {
        0,         1,           9,           10,          99,        999999999,  1000000000,
        INT32_MAX, INT32_MIN,   -1,          -9,          -10,       -999999999, -1000000000,
        -999999,   -1000000001, -2000000000, -2147483647, 123456789, 2000000000, INT32_MAX - 1,
    };
    static const struct {
        const char *prefix;
        zkl_node_kind kind;
    } kinds[] = {
        { "_c_" GUID "-lock-", ZKL_NODE_EXCLUSIVE },
        { "_c_" GUID "-__READ__", ZKL_NODE_READ },
        { "_c_" GUID "-__WRIT__", ZKL_NODE_WRITE },
        { "0123456789abcdef0123456789abcdef__lock__", ZKL_NODE_EXCLUSIVE },
        { "0123456789abcdef0123456789abcdef__rlock__", ZKL_NODE_READ },
        { "_c_" GUID "-latch-", ZKL_NODE_EXCLUSIVE },
    };
    char text[128];
    for (size_t i = 0; i < COUNT_OF(sequences); i++) {
        for (size_t k = 0; k < COUNT_OF(kinds); k++) {
            snprintf(text, sizeof(text), "%s%010" PRId32, kinds[k].prefix, sequences[i]);
            EXPECT_NAME(text, kinds[k].kind, sequences[i]);
        }
    }
}

TEST(prefixes_are_those_of_the_library_that_is_named) {
    static const struct {
        zkl_mode mode;
        zkl_naming naming;
        const char *prefix;
    } names[] = {
        { ZKL_EXCLUSIVE, ZKL_NAMING_CURATOR, "_c_" GUID "-lock-" },
        { ZKL_READ, ZKL_NAMING_CURATOR, "_c_" GUID "-__READ__" },
        { ZKL_WRITE, ZKL_NAMING_CURATOR, "_c_" GUID "-__WRIT__" },
        { ZKL_EXCLUSIVE, ZKL_NAMING_KAZOO, BARE_GUID "__lock__" },
        { ZKL_READ, ZKL_NAMING_KAZOO, BARE_GUID "__rlock__" },
        { ZKL_WRITE, ZKL_NAMING_KAZOO, BARE_GUID "__lock__" },
        { ZKL_EXCLUSIVE, ZKL_NAMING_LEADER_LATCH, "_c_" GUID "-latch-" },
    };
    char text[ZKL_NODE_NAME_SIZE];
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        zkl_node_name name = zkl_node_name_of(names[i].mode, 0, names[i].naming);
        zkl_node_name_prefix(text, GUID, name);
        EXPECT_TEXT(text, names[i].prefix);
        snprintf(text, sizeof(text), "%s0000000007", names[i].prefix);
        zkl_node_name read = zkl_node_name_parse(text);
        EXPECT_INT(read.kind, name.kind);
        EXPECT_INT(read.naming, names[i].naming);
        EXPECT(zkl_node_name_has_guid(text, GUID));
        EXPECT(!zkl_node_name_has_guid(text, OTHER_GUID));
    }
}

TEST(permit_has_the_names_of_curator_whatever_the_list_has_beside_it) {
    zkl_node_name permit = zkl_node_name_parse("_c_" GUID "-permit-2-0000000001");
    zkl_node_name unknown = zkl_node_name_parse("x-0000000001");
    EXPECT_INT(permit.naming, ZKL_NAMING_CURATOR);
    EXPECT_INT(unknown.naming, ZKL_NAMING_CURATOR);
}

TEST(node_of_a_kazoo_naming_is_marked_in_its_uuid_without_dashes) {
    char guid[ZKL_GUID_SIZE] = "11111111-1111-8111-9111-111111111111";
    char text[ZKL_NODE_NAME_SIZE];
    zkl_node_name name = zkl_node_name_of(ZKL_EXCLUSIVE, 0, ZKL_NAMING_KAZOO);
    zkl_node_name_mark_lent(guid);
    zkl_node_name_prefix(text, guid, name);
    EXPECT_TEXT(text, "1111111111118111c111111111111111__lock__");
    EXPECT(zkl_node_name_is_protected(text));
    EXPECT(zkl_node_name_is_protected("1111111111118111c111111111111111__lock__0000000001"));
    EXPECT(zkl_node_name_parse("1111111111118111c111111111111111__lock__0000000001").lent);
    EXPECT(!zkl_node_name_parse(BARE_GUID "__lock__0000000001").lent);
    EXPECT(!zkl_node_name_parse("job-of-the-nightcap-lock-0000000001").lent);
    EXPECT(!zkl_node_name_is_protected(BARE_GUID "__lock__0000000001"));
}

/* Only with 32 digits, as they are written, and the two underscores behind them. */
TEST(uuid_without_dashes_is_found_whole_and_in_its_place_only) {
    EXPECT(zkl_node_name_has_guid(BARE_GUID "__lock__0000000001", GUID));
    EXPECT(zkl_node_name_has_guid(BARE_GUID "__rlock__0000000001", GUID));
    EXPECT(!zkl_node_name_has_guid(BARE_GUID "0__lock__0000000001", GUID));
    EXPECT(!zkl_node_name_has_guid(BARE_GUID "-lock-0000000001", GUID));
    EXPECT(!zkl_node_name_has_guid(BARE_GUID, GUID));
    EXPECT(!zkl_node_name_has_guid(GUID "__lock__0000000001", GUID));
    EXPECT(!zkl_node_name_has_guid("x" BARE_GUID "__lock__0000000001", GUID));
    EXPECT(!zkl_node_name_is_protected("11111111111181119111A11111111111__lock__0000000001"));
    EXPECT(!zkl_node_name_is_protected("zzzzzzzzzzzz8zzzzzzzzzzzzzzzzzzz__lock__0000000001"));
    EXPECT(!zkl_node_name_is_protected("1111111111118111911111111111111__lock__0000000001"));
    EXPECT(
        zkl_node_name_same_guid(BARE_GUID "__lock__0000000001", BARE_GUID "__rlock__0000000001"));
    EXPECT(!zkl_node_name_same_guid(BARE_GUID "__lock__0000000001",
                                    OTHER_BARE_GUID "__lock__0000000001"));
    EXPECT(!zkl_node_name_same_guid(BARE_GUID "__lock__0000000001", "_c_" GUID "-lock-0000000001"));
}

TEST(permits_that_no_semaphore_has_make_an_unknown_kind) {
    EXPECT_NAME("_c_" GUID "-permit-0-0000000001", ZKL_NODE_UNKNOWN, 1);
    EXPECT_NAME("_c_" GUID "-permit-07-0000000001", ZKL_NODE_UNKNOWN, 1);
    EXPECT_NAME("_c_" GUID "-permit-1001-0000000001", ZKL_NODE_UNKNOWN, 1);
    EXPECT_NAME("_c_" GUID "-permit-99999999999-0000000001", ZKL_NODE_UNKNOWN, 1);
    EXPECT_NAME("_c_" GUID "-permit--0000000001", ZKL_NODE_UNKNOWN, 1);
    EXPECT_NAME("permits-3-0000000001", ZKL_NODE_UNKNOWN, 1);
    EXPECT_NAME("3-0000000001", ZKL_NODE_UNKNOWN, 1);
}

TEST(guid_is_found_whole_and_in_its_place_only) {
    EXPECT(zkl_node_name_has_guid("_c_" GUID "-lock-0000000001", GUID));
    EXPECT(zkl_node_name_has_guid("_c_" GUID "-__READ__0000000001", GUID));
    EXPECT(zkl_node_name_has_guid("_c_" GUID "-", GUID));
    EXPECT(!zkl_node_name_has_guid("_c_" OTHER_GUID "-lock-0000000001", GUID));
    EXPECT(!zkl_node_name_has_guid("_c_" GUID, GUID));
    EXPECT(!zkl_node_name_has_guid("_c_" GUID "_lock-0000000001", GUID));
    EXPECT(!zkl_node_name_has_guid("_c_" GUID "0-lock-0000000001", GUID));
    EXPECT(!zkl_node_name_has_guid(GUID "-lock-0000000001", GUID));
    EXPECT(!zkl_node_name_has_guid("x_c_" GUID "-lock-0000000001", GUID));
    EXPECT(!zkl_node_name_has_guid("_C_" GUID "-lock-0000000001", GUID));
}

TEST(protected_nodes_are_known_by_the_version_of_their_uuid) {
    EXPECT(zkl_node_name_is_protected("_c_11111111-1111-8111-9111-111111111111-lock-0000000001"));
    EXPECT(zkl_node_name_is_protected("_c_11111111-1111-8111-9111-111111111111-__READ__"));
    EXPECT(!zkl_node_name_is_protected("_c_" GUID "-lock-0000000001"));
    EXPECT(!zkl_node_name_is_protected("_c_88888888-8888-4888-8888-888888888888-lock-0000000001"));
    EXPECT(!zkl_node_name_is_protected("_c_11111111-1111-8111-9111-111111111111"));
    EXPECT(!zkl_node_name_is_protected("11111111-1111-8111-9111-111111111111-lock-0000000001"));
    EXPECT(!zkl_node_name_is_protected("8888888888888888888888888888888888__lock__0000000001"));
    EXPECT(!zkl_node_name_is_protected(""));
}

TEST(same_guid_is_seen_whatever_the_kind_and_sequence) {
    const char *writer = "_c_" GUID "-__WRIT__0000000005";
    EXPECT(zkl_node_name_same_guid(writer, "_c_" GUID "-__READ__0000000005"));
    EXPECT(zkl_node_name_same_guid(writer, "_c_" GUID "-lock-0000000009"));
    EXPECT(!zkl_node_name_same_guid(writer, "_c_" OTHER_GUID "-__WRIT__0000000005"));
    EXPECT(!zkl_node_name_same_guid(writer, GUID "-__WRIT__0000000005"));
    EXPECT(!zkl_node_name_same_guid("lock-0000000001", "lock-0000000001")); /* have none */
}

TEST(stripes_are_known_by_what_is_written_and_nothing_else) {
    static const char *const others[] = {
        "",
        "stripe-",
        "stripe-3",
        "stripe-003",
        "stripe-00003",
        "stripe-000",
        "stripe-0003x",
        "stripe-+003",
        "stripe--003",
        "stripe-000a",
        "Stripe-0003",
        "/stripe-0003",
        "stripe_0003",
        "stripe- 003",
        "stripe-0003/",
    };
    char text[ZKL_NODE_NAME_SIZE];
    for (int i = 0; i < 10000; i++) {
        snprintf(text, sizeof(text), "stripe-%04d", i);
        EXPECT(zkl_node_name_is_stripe(text));
    }
    EXPECT_INT(zkl_node_name_parse(text).kind, ZKL_NODE_FOREIGN); /* no contender */
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        EXPECT(!zkl_node_name_is_stripe(others[i]));
    }
}
