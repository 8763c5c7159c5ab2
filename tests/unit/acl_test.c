/* ACLs as text. */
#include <stdio.h>
#include <string.h>

#include "base/acl_text.h"
#include "base/error_message.h"
#include "support/unit.h"

enum { TEXT_SIZE = 512 };

/* "<scheme> <id> <permissions>; " of each entry. */
static void read(const char *text, char *entries) {
    entries[0] = '\0';
    zkl_acl_entry entry;
    while (zkl_acl_next(&text, &entry)) {
        size_t used = strlen(entries);
        snprintf(entries + used, TEXT_SIZE - used, "%.*s %.*s %d; ", (int)entry.scheme_length,
                 entry.scheme, (int)entry.id_length, entry.id, entry.permissions);
    }
}

TEST(entries_are_read_as_the_command_line_of_zookeeper_reads_them) {
    static const struct {
        const char *text;
        const char *entries;
    } rows[] = {
        { ZKL_ACL_OPEN, "world anyone 31; " },
        { ZKL_ACL_AUTHENTICATED, "auth  31; " },
        { "world:anyone:r", "world anyone 1; " },
        { "digest:stock:hI/+fd=:cdrwa", "digest stock:hI/+fd= 31; " },
        { "world:anyone:r,sasl:stock@EXAMPLE.ORG:cd",
          "world anyone 1; sasl stock@EXAMPLE.ORG 12; " },
        { "ip:10.0.0.0/8:w,ip:2001:db8::1:a", "ip 10.0.0.0/8 2; ip 2001:db8::1 16; " },
        { "x509:CN=stock,OU=orders:cdrwa,world:anyone:r",
          "x509 CN=stock,OU=orders 31; world anyone 1; " },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char entries[TEXT_SIZE];
        EXPECT_INT(zkl_acl_validate("node_acl", rows[i].text), ZKL_OK);
        read(rows[i].text, entries);
        EXPECT_TEXT(entries, rows[i].entries);
    }
    EXPECT_INT(zkl_acl_validate("node_acl", NULL), ZKL_OK);
}

TEST(text_that_is_no_acl_is_refused_and_the_entry_named) {
    static const struct {
        const char *text;
        const char *says;
    } rows[] = {
        { "", "entry 1 must be scheme:id:permissions" },
        { "world", "entry 1 must be" },
        { "world:anyone", "entry 1 must be" },
        { "world:anyone:", "entry 1 must be" },
        { "world:anyone:rx", "entry 1 must be" },
        { ":anyone:r", "entry 1 must be" },
        { "world:anyone:r,", "entry 2 must be" },
        { "world:anyone:r,,world:anyone:r", "entry 2 must be" },
        { "world:anyone:r,digest:stock", "entry 2 must be" },
        { "world:somebody:r", "entry 1: the id of the scheme world is \"anyone\"" },
        { "digest:stock:r", "entry 1: the id of the scheme digest is \"user:hash\"" },
        { "digest:a:b:c:r", "entry 1: the id of the scheme digest" },
        { "world:any\none:r", "must not have control characters" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        EXPECT_REFUSED(zkl_acl_validate("node_acl", rows[i].text), rows[i].says);
        EXPECT_REFUSED(zkl_acl_validate("node_acl", rows[i].text), "node_acl");
    }
}

/* Entries of one scheme, with commas between them. */
static void write_entries(char *text, size_t size, int count) {
    size_t used = 0;
    for (int i = 0; i < count; i++) {
        used +=
            (size_t)snprintf(text + used, size - used, "%ssasl:stock%02d:r", i > 0 ? "," : "", i);
    }
}

/* One entry of so many bytes. */
static void write_entry(char *text, size_t size, int length) {
    snprintf(text, size, "sasl:%0*d:r", length - (int)strlen("sasl::r"), 0);
}

TEST(acl_has_a_longest_text_and_most_entries) {
    char text[2 * ZKL_ACL_MAX] = "";
    write_entries(text, sizeof(text), ZKL_ACL_ENTRIES_MAX);
    EXPECT_INT(zkl_acl_validate("node_acl", text), ZKL_OK);
    write_entries(text, sizeof(text), ZKL_ACL_ENTRIES_MAX + 1);
    EXPECT_REFUSED(zkl_acl_validate("node_acl", text), "at most 16 entries are allowed");
    write_entry(text, sizeof(text), ZKL_ACL_MAX);
    EXPECT_INT(zkl_acl_validate("node_acl", text), ZKL_OK);
    write_entry(text, sizeof(text), ZKL_ACL_MAX + 1);
    EXPECT_REFUSED(zkl_acl_validate("node_acl", text), "1025 bytes, at most 1024 are allowed");
}

static const char shared[][ZKL_DIGEST_ID_SIZE] = { "one:hash1=", "two:hash2=" };

static void expect_written(const char *acl, size_t shared_count, const char *own,
                           const char *expected) {
    char text[ZKL_ACL_WRITTEN_SIZE];
    zkl_acl_write(
        text, acl,
        &(zkl_acl_identities){ .shared = shared, .shared_count = shared_count, .own = own });
    EXPECT_TEXT(text, expected);
}

TEST(own_identity_alone_may_write_and_set_the_acl) {
    expect_written(NULL, 0, "own:o=", "world:anyone:cdr,digest:own:o=:wa");
    expect_written("world:anyone:w", 0, "own:o=", "digest:own:o=:wa");
    expect_written("world:anyone:r,ip:10.0.0.1:wa,digest:stock:s=:cdrwa", 2,
                   "own:o=", "world:anyone:r,digest:stock:s=:cdr,digest:own:o=:wa");
    expect_written(ZKL_ACL_AUTHENTICATED, 2,
                   "own:o=", "digest:one:hash1=:cdr,digest:two:hash2=:cdr,digest:own:o=:wa");
}

TEST(scheme_auth_stands_for_the_shared_identities) {
    expect_written(ZKL_ACL_AUTHENTICATED, 1, NULL, "digest:one:hash1=:cdrwa");
    expect_written("auth::r,world:anyone:c,auth::wd", 2, NULL,
                   "world:anyone:c,digest:one:hash1=:drw,digest:two:hash2=:drw");
    expect_written("world:anyone:r", 2, NULL, "world:anyone:r");
}

/* As they refuse the scheme auth of who has shown no identity. */
TEST(scheme_auth_without_identities_is_what_the_servers_refuse) {
    expect_written(ZKL_ACL_AUTHENTICATED, 0, NULL, "digest:nobody:cdrwa");
    expect_written(ZKL_ACL_AUTHENTICATED, 0, "own:o=", "digest:nobody:cdr,digest:own:o=:wa");
}

TEST(longest_acl_has_room) {
    static char ids[ZKL_CREDENTIALS_MAX][ZKL_DIGEST_ID_SIZE];
    static char acl[ZKL_ACL_MAX + 1];
    char text[ZKL_ACL_WRITTEN_SIZE];
    for (size_t i = 0; i < ZKL_CREDENTIALS_MAX; i++) {
        memset(ids[i], 'u', ZKL_DIGEST_ID_SIZE - 1);
        ids[i][1] = ':';
    }
    size_t used = 0;
    while (used < ZKL_ACL_MAX - 40) {
        used += (size_t)snprintf(acl + used, sizeof(acl) - used, "x509:CN=%030d:cdr,", 7);
    }
    snprintf(acl + used, sizeof(acl) - used, "auth::cdrwa");
    zkl_acl_write(text, acl,
                  &(zkl_acl_identities){ .shared = (const char(*)[ZKL_DIGEST_ID_SIZE])ids,
                                         .shared_count = ZKL_CREDENTIALS_MAX,
                                         .own = ids[0] });
    EXPECT(strlen(text) < sizeof(text) - 1);
    EXPECT_TEXT(text + strlen(text) - 5, "uu:wa");
}
