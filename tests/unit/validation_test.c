/* What the application passes in: each refusal has a message that names the
 * input and the rule. */
#include "base/error_message.h"
#include "base/validation.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "administration/resource_survey.h"
#include "support/unit.h"

/* One input and what is to be said about it. `says` are parts of the message. */
typedef struct refusal {
    const char *input;
    const char *says[3];
} refusal;

typedef int check_function(const char *input);

static void expect_message(const refusal *row, int line) {
    const char *message = zkl_error_message();
    for (size_t i = 0; i < COUNT_OF(row->says) && row->says[i] != NULL; i++) {
        unit_check(strstr(message, row->says[i]) != NULL, __FILE__, line,
                   "\"%s\": the message \"%s\" does not say \"%s\"", row->input, message,
                   row->says[i]);
    }
    EXPECT_TEXT(zkl_error_message(), message);
}

static void expect_refusals(check_function *check, const refusal *rows, size_t count, int line) {
    for (size_t i = 0; i < count; i++) {
        (void)zkl_validate_mode((zkl_mode)99, 0); /* leaves another message */
        char *exact = strdup(rows[i].input);      /* where a sanitizer sees a step too far */
        int status = check(exact);
        unit_check(status == ZKL_INVALID_ARGUMENT, __FILE__, line, "\"%s\": %d (%s)", rows[i].input,
                   status, zkl_strerror(status));
        expect_message(&rows[i], line);
        free(exact);
    }
}

static void expect_accepted(check_function *check, const char *const *inputs, size_t count,
                            int line) {
    for (size_t i = 0; i < count; i++) {
        char *exact = strdup(inputs[i]);
        int status = check(exact);
        unit_check(status == ZKL_OK, __FILE__, line, "\"%s\": %d (%s)", inputs[i], status,
                   status == ZKL_OK ? "" : zkl_error_message());
        free(exact);
    }
}

#define EXPECT_REFUSALS(check, rows) expect_refusals((check), (rows), COUNT_OF(rows), __LINE__)
#define EXPECT_ACCEPTED(check, inputs)                                                             \
    expect_accepted((check), (inputs), COUNT_OF(inputs), __LINE__)

/* A text of so many bytes, made of one. The caller frees it. */
static char *repeat(const char *start, char fill, size_t length) {
    char *text = malloc(length + 1);
    if (text == NULL) {
        abort();
    }
    memset(text, fill, length);
    memcpy(text, start, strlen(start));
    text[length] = '\0';
    return text;
}

static int check_repeated(check_function *check, const char *start, char fill, size_t length) {
    char *text = repeat(start, fill, length);
    int status = check(text);
    free(text);
    return status;
}

/* ---- Resources -------------------------------------------------------------- */

TEST(good_resources_are_accepted) {
    static const char *const names[] = {
        "stock",           "a",           "...",           "..a",          "a..",
        ".hidden",         "a b",         "_c_-lock-",     "~!@#$%",       "\"quoted\"",
        "lock-0000000001", "zookeeper",   "(){}[]<>|\\^`", "/a",           "/a/b/c",
        "/a/.b/..c",       "/zookeepers", "/zookeeper2/x", "/a/zookeeper", " ",
    };
    EXPECT_ACCEPTED(zkl_validate_resource, names);
}

TEST(good_utf8_is_accepted) {
    static const char *const names[] = {
        "lager-m\xc3\xbcnchen", /* U+00FC */
        "\xc2\xa0",             /* U+00A0, the first after the C1 controls */
        "\xdf\xbf",             /* U+07FF, the last of two bytes */
        "\xe0\xa0\x80",         /* U+0800, the first of three */
        "\xed\x9f\xbf",         /* U+D7FF, the last before the surrogates */
        "\xef\xa4\x80",         /* U+F900, the first after the private use area */
        "\xef\xbf\xaf",         /* U+FFEF, the last before the specials */
        "/\xe5\x80\x89\xe5\xba\xab/a",
    };
    EXPECT_ACCEPTED(zkl_validate_resource, names);
}

TEST(bad_resources_are_refused_by_their_own_rule) {
    static const refusal rows[] = {
        { "", { "resource", "must not be empty" } },
        { ".", { "resource \".\"", ".." } },
        { "..", { "resource \"..\"", ". or .." } },
        { "/a/.", { "resource \"/a/.\"", ". or .." } },
        { "/../a", { "resource \"/../a\"", ". or .." } },
        { "/.", { "resource \"/.\"", ". or .." } },
        { "a/b", { "resource \"a/b\"", "slash" } },
        { "a/", { "resource \"a/\"", "slash" } },
        { "./a", { "slash" } },
        { "/a//b", { "resource \"/a//b\"", "empty names" } },
        { "//", { "resource \"//\"", "empty names" } },
        { "//a", { "empty names" } },
        { "/a/", { "resource \"/a/\"", "end in a slash", "empty names" } },
        { "/", { "resource \"/\"", "ZooKeeper's own" } },
        { "/zookeeper", { "resource \"/zookeeper\"", "ZooKeeper's own" } },
        { "/zookeeper/quota", { "ZooKeeper's own" } },
        { "/zookeeper/", { "ZooKeeper's own" } },
    };
    EXPECT_REFUSALS(zkl_validate_resource, rows);
}

/* Administration takes the names that it tells. */
TEST(stripe_of_a_name_is_taken_and_no_other_slash) {
    static const char *const names[] = { "stock",          "stock/stripe-0003", "..a/stripe-9999",
                                         "/a/stripe-0003", "/a/stripe-3",       "stripe-0003" };
    static const refusal rows[] = {
        { "", { "must not be empty" } },
        { "a/stripe-3", { "resource \"a/stripe-3\"", "stripe-0003" } },
        { "a/", { "resource \"a/\"", "slash" } },
        { "a/b", { "resource \"a/b\"", "slash" } },
        { "a/b/stripe-0003", { "four digits" } },
        { "a/stripe-0003/stripe-0003", { "four digits" } },
        { "./stripe-0003", { ". or .." } },
        { "a\n/stripe-0003", { "resource \"a?\"", "control characters" } },
        { "//stripe-0003", { "empty names" } },
    };
    EXPECT_ACCEPTED(zkl_check_resource_or_stripe, names);
    EXPECT_REFUSALS(zkl_check_resource_or_stripe, rows);
    EXPECT_REFUSED(check_repeated(zkl_check_resource_or_stripe, "a/", 'x', 513),
                   "bytes, at most 512");
}

TEST(control_characters_in_resources_are_refused) {
    static const refusal rows[] = {
        { "a\nb", { "resource \"a?b\"", "control" } },
        { "\x01", { "resource \"?\"", "control characters" } },
        { "a\x1f", { "control" } },
        { "a\x7f", { "control" } },
        { "/a/b\t", { "resource \"/a/b?\"", "control characters" } },
        { "\xc2\x80", { "control" } }, /* U+0080 */
        { "\xc2\x9f", { "control" } }, /* U+009F */
    };
    EXPECT_REFUSALS(zkl_validate_resource, rows);
}

/* What the servers take for no path (PathUtils.validatePath): better refused here
 * than by the first acquire. Beyond U+FFFF they see a pair of surrogates. */
TEST(characters_that_no_server_takes_are_refused) {
    static const refusal rows[] = {
        { "\xee\x80\x80", { "private use" } }, /* U+E000 */
        { "\xef\xa3\xbf", { "private use" } }, /* U+F8FF */
        { "\xef\xbf\xb0", { "specials" } },    /* U+FFF0 */
        { "\xef\xbf\xbd", { "specials" } },    /* U+FFFD */
        { "\xef\xbf\xbf", { "specials" } },    /* U+FFFF */
        { "\xf0\x90\x80\x80", { "U+FFFF" } },  /* U+10000 */
        { "\xf0\x9f\x94\x92", { "U+FFFF" } },  /* U+1F512 */
        { "/a\xf4\x8f\xbf\xbf", { "resource", "private use" } },
    };
    EXPECT_REFUSALS(zkl_validate_resource, rows);
}

/* The worse fault is named, wherever it stands. */
TEST(control_character_after_an_unsupported_one_is_named) {
    static const refusal rows[] = {
        { "\xee\x80\x80\n", { "control" } },
        { "\xee\x80\x80\xff", { "UTF-8" } },
    };
    EXPECT_REFUSALS(zkl_validate_resource, rows);
}

TEST(bytes_that_are_no_utf8_are_refused) {
    static const refusal rows[] = {
        { "\x80", { "resource \"?\"", "UTF-8" } },
        { "a\xbf", { "resource \"a?\"", "must be valid UTF-8" } },
        { "\xc3", { "UTF-8" } },     /* cut short */
        { "\xe5\x80", { "UTF-8" } }, /* likewise */
        { "\xf0\x9f\x94", { "UTF-8" } },
        { "\xc3(", { "UTF-8" } },
        { "\xe5(\x89", { "UTF-8" } },
        { "\xe5\x80(", { "UTF-8" } },
        { "\xf0\x9f\x94(", { "UTF-8" } },
        { "\xc0\xaf", { "UTF-8" } },     /* an overlong '/' */
        { "\xc1\xbf", { "UTF-8" } },     /* overlong */
        { "\xe0\x9f\xbf", { "UTF-8" } }, /* overlong U+07FF */
        { "\xf0\x8f\xbf\xbf", { "UTF-8" } },
        { "\xed\xa0\x80", { "UTF-8" } },     /* U+D800 */
        { "\xed\xbf\xbf", { "UTF-8" } },     /* U+DFFF */
        { "\xf4\x90\x80\x80", { "UTF-8" } }, /* above U+10FFFF */
        { "\xf5\x80\x80\x80", { "UTF-8" } },
        { "\xff", { "UTF-8" } },
        { "/a/\xfe", { "resource \"/a/?\"", "must be valid UTF-8" } },
    };
    EXPECT_REFUSALS(zkl_validate_resource, rows);
}

TEST(resource_may_have_512_bytes_and_not_one_more) {
    EXPECT_INT(check_repeated(zkl_validate_resource, "", 'x', 512), ZKL_OK);
    EXPECT_INT(check_repeated(zkl_validate_resource, "/", 'x', 512), ZKL_OK);
    EXPECT_REFUSED(check_repeated(zkl_validate_resource, "", 'x', 513), "bytes, at most 512");
    EXPECT(strstr(zkl_error_message(), "resource \"xxx") != NULL);
    EXPECT(strstr(zkl_error_message(), "513 bytes, at most 512") != NULL);
    EXPECT_REFUSED(check_repeated(zkl_validate_resource, "/", 'x', 513), "bytes, at most 512");
    EXPECT_REFUSED(check_repeated(zkl_validate_resource, "", '\xc3', 513), "bytes, at most 512");
}

/* ---- The lock root ------------------------------------------------------------ */

static int check_root(const char *root) {
    return zkl_validate_path("lock_root", root, ZKL_ROOT_MAX);
}

TEST(good_roots_are_accepted) {
    static const char *const roots[] = { "/locks", "/a/b", "/\xc3\xbc", "/zookeeper.locks" };
    EXPECT_ACCEPTED(check_root, roots);
}

TEST(bad_roots_are_refused_with_one_status_and_their_rule) {
    static const refusal rows[] = {
        { "", { "lock_root \"\"", "absolute path" } },
        { "locks", { "lock_root \"locks\"", "absolute path" } },
        { "/", { "lock_root \"/\"", "ZooKeeper's own" } },
        { "/zookeeper/locks", { "lock_root", "ZooKeeper's own" } },
        { "/locks/", { "lock_root \"/locks/\"", "end in a slash" } },
        { "/a//b", { "lock_root", "empty names" } },
        { "/a/../b", { "lock_root", ". or .." } },
        { "/a\n", { "lock_root \"/a?\"", "control" } },
        { "/\xff", { "lock_root", "UTF-8" } },
    };
    EXPECT_REFUSALS(check_root, rows);
}

TEST(root_may_have_256_bytes_and_not_one_more) {
    EXPECT_INT(check_repeated(check_root, "/", 'x', 256), ZKL_OK);
    EXPECT_REFUSED(check_repeated(check_root, "/", 'x', 257), "lock_root");
    EXPECT(strstr(zkl_error_message(), "lock_root \"/xxx") != NULL);
    EXPECT(strstr(zkl_error_message(), "257 bytes, at most 256") != NULL);
}

/* ---- The label ------------------------------------------------------------------ */

static int check_label(const char *label) {
    return zkl_validate_text("label", label, ZKL_LABEL_MAX);
}

TEST(good_labels_are_accepted) {
    static const char *const labels[] = {
        "", "nightly", "a/b", "Zo\xc3\xab's job", ". ..", "\xf0\x9f\x94\x92", "\xee\x80\x80"
    };
    EXPECT_ACCEPTED(check_label, labels);
}

TEST(bad_labels_are_refused) {
    static const refusal rows[] = {
        { "a\nhost=evil", { "label \"a?host=evil\"", "control characters" } },
        { "\x1b[31m", { "label \"?[31m\"" } },
        { "\x7f", { "label" } },
        { "\xc2\x85", { "label" } },
        { "\xff", { "label \"?\"", "UTF-8" } },
        { "\xc3", { "label" } },
    };
    EXPECT_REFUSALS(check_label, rows);
}

TEST(label_may_have_128_bytes_and_not_one_more) {
    EXPECT_INT(check_repeated(check_label, "", 'x', 128), ZKL_OK);
    EXPECT_REFUSED(check_repeated(check_label, "", 'x', 129), "label");
    EXPECT(strstr(zkl_error_message(), "129 bytes, at most 128") != NULL);
}

/* ---- Hosts ------------------------------------------------------------------------ */

static int check_hosts(const char *hosts) {
    size_t length = 0;
    const char *chroot = NULL;
    return zkl_validate_hosts(hosts, &length, &chroot);
}

TEST(good_host_lists_are_split) {
    static const struct {
        const char *hosts;
        const char *servers;
        const char *chroot;
    } rows[] = {
        { "a:1", "a:1", "" },
        { "zk1.example.org:2181", "zk1.example.org:2181", "" },
        { "a:2181,b-2:2182,c_3:65535", "a:2181,b-2:2182,c_3:65535", "" },
        { "127.0.0.1:2181/", "127.0.0.1:2181", "" },
        { "a:2181/app", "a:2181", "/app" },
        { "a:2181,b:2181/app/locks", "a:2181,b:2181", "/app/locks" },
        { "[::1]:2181", "[::1]:2181", "" },
        { "[fe80::1%eth0]:2181,[2001:db8::2]:2181/x", "[fe80::1%eth0]:2181,[2001:db8::2]:2181",
          "/x" },
        { "a:00001", "a:00001", "" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        size_t length = 999;
        const char *chroot = NULL;
        char servers[64] = "";
        EXPECT_INT(zkl_validate_hosts(rows[i].hosts, &length, &chroot), ZKL_OK);
        snprintf(servers, sizeof(servers), "%.*s", (int)length, rows[i].hosts);
        EXPECT_TEXT(servers, rows[i].servers);
        EXPECT_TEXT(chroot, rows[i].chroot);
    }
}

TEST(bad_host_lists_are_refused_with_their_rule) {
    static const refusal rows[] = {
        { "", { "host list \"\"", "no valid host" } },
        { "/app", { "host list \"/app\"", "no valid host" } },
        { ":2181", { "server 0 bytes in", "no valid host" } },
        { "a:1,,b:2", { "server 4 bytes in", "no valid host" } },
        { "a:1,", { "server 4 bytes in" } },
        { ",a:1", { "server 0 bytes in" } },
        { " a:1", { "a space 0 bytes in", "commas alone" } },
        { "a:1, b:1", { "a space 4 bytes in" } },
        { "a:1,b:1\n", { "a space 7 bytes in" } },
        { "a:1,b:1\t/app", { "a space 7 bytes in" } },
        { "a", { "\"a\" must be followed by : and a port from 1 to 65535" } },
        { "a:", { "\"a\" must be followed by" } },
        { "a:0", { "a port from 1" } },
        { "a:65536", { "to 65535" } },
        { "a:99999", { "to 65535" } },
        { "a:002181", { "port" } },
        { "a:18446744073709551617", { "port" } },
        { "a:-1", { "port" } },
        { "a:21x", { "port" } },
        { "a:2181 ", { "a space 6 bytes in" } },
        { "a b:2181", { "a space 1 bytes in" } },
        { "::1:2181", { "no valid host" } },
        { "[::1]", { "\"[::1]\" must be followed by" } },
        { "[::1]2181", { "\"[::1]\" must be followed by" } },
        { "[::1:2181", { "no valid host" } },
        { "[]:2181", { "no valid host" } },
        { "[", { "no valid host" } },
        { "[a/b]:1", { "no valid host" } },
        { "a\n:2181", { "host list \"a?:2181\"" } },
        { "a:2181/app,b:2181/app", { "once, behind the last server" } },
        { "a:2181/a,b", { "chroot of the host list \"/a,b\"", "comma" } },
        { "a:2181//", { "chroot of the host list \"//\"", "empty names" } },
        { "a:2181/x/", { "chroot of the host list \"/x/\"", "slash" } },
        { "a:2181/..", { "chroot", ". or .." } },
        { "a:2181/zookeeper", { "chroot", "ZooKeeper's own" } },
        { "a:2181/\xff", { "chroot", "UTF-8" } },
    };
    EXPECT_REFUSALS(check_hosts, rows);
}

TEST(host_list_may_have_4096_bytes_and_not_one_more) {
    char *hosts = repeat("", 'h', 4097);
    memcpy(hosts + 4091, ":2181", 6);
    EXPECT_INT(check_hosts(hosts), ZKL_OK);
    memcpy(hosts + 4092, ":2181", 6);
    hosts[4091] = 'h';
    EXPECT_REFUSED(check_hosts(hosts), "host list");
    EXPECT(strstr(zkl_error_message(), "4097 bytes, at most 4096") != NULL);
    free(hosts);
}

TEST(chroot_may_have_256_bytes_and_not_one_more) {
    char *hosts = repeat("a:2181/", 'c', strlen("a:2181") + 257);
    EXPECT_REFUSED(check_hosts(hosts), "host list");
    EXPECT(strstr(zkl_error_message(), "chroot of the host list \"/ccc") != NULL);
    EXPECT(strstr(zkl_error_message(), "257 bytes, at most 256") != NULL);
    hosts[strlen("a:2181") + 256] = '\0';
    EXPECT_INT(check_hosts(hosts), ZKL_OK);
    free(hosts);
}

/* ---- Numbers and pointers ------------------------------------------------------------ */

TEST(modes_of_a_lock_are_three) {
    EXPECT_INT(zkl_validate_mode(ZKL_EXCLUSIVE, 0), ZKL_OK);
    EXPECT_INT(zkl_validate_mode(ZKL_READ, 0), ZKL_OK);
    EXPECT_INT(zkl_validate_mode(ZKL_WRITE, 0), ZKL_OK);
    EXPECT_REFUSED(zkl_validate_mode((zkl_mode)-1, 0), "mode");
}

TEST(mode_of_a_semaphore_is_one) {
    static const char must[] = "must be ZKL_EXCLUSIVE for a handle with permits";
    EXPECT_INT(zkl_validate_mode(ZKL_EXCLUSIVE, 1), ZKL_OK);
    EXPECT_REFUSED(zkl_validate_mode(ZKL_READ, 1), "mode 1");
    EXPECT(strstr(zkl_error_message(), must) != NULL);
    EXPECT_REFUSED(zkl_validate_mode(ZKL_WRITE, 1), "mode 2");
    EXPECT(strstr(zkl_error_message(), must) != NULL);
    EXPECT_REFUSED(zkl_validate_mode((zkl_mode)3, 1), "mode");
}

TEST(ranges_hold_at_their_edges) {
    EXPECT_INT(zkl_validate_range("x_ms", 1, 1, 10), ZKL_OK);
    EXPECT_INT(zkl_validate_range("x_ms", 10, 1, 10), ZKL_OK);
    EXPECT_REFUSED(zkl_validate_range("x_ms", 0, 1, 10), "x_ms 0: must be from 1 to 10");
    EXPECT_REFUSED(zkl_validate_range("x_ms", 11, 1, 10), "x_ms 11: must be from 1 to 10");
    EXPECT_REFUSED(zkl_validate_range("y", INT64_MIN, -1, INT64_MAX),
                   "y -9223372036854775808: must be at least -1");
    EXPECT_INT(zkl_validate_range("y", INT64_MAX, -1, INT64_MAX), ZKL_OK);
}

TEST(struct_size_must_be_that_of_a_version) {
    EXPECT_INT(zkl_validate_struct_size("zkl_thing", &(size_t){ 40 }, 40), ZKL_OK);
    EXPECT_INT(zkl_validate_struct_size("zkl_thing", &(size_t){ 32 }, 40), ZKL_OK);
    EXPECT_INT(zkl_validate_struct_size("zkl_thing", &(size_t){ 2 * sizeof(size_t) }, 40), ZKL_OK);
    EXPECT_REFUSED(zkl_validate_struct_size("zkl_thing", &(size_t){ sizeof(size_t) }, 40),
                   "struct_size");
    EXPECT_REFUSED(zkl_validate_struct_size("zkl_thing", &(size_t){ 39 }, 40),
                   "zkl_thing: struct_size is 39,");
    EXPECT_REFUSED(zkl_validate_struct_size("zkl_thing", &(size_t){ 48 }, 40),
                   "zkl_thing: struct_size is 48,");
    EXPECT_REFUSED(zkl_validate_struct_size("zkl_thing", &(size_t){ 0 }, 40), "struct_size");
    EXPECT(strstr(zkl_error_message(), "zkl_thing: struct_size is 0,") != NULL);
    EXPECT(strstr(zkl_error_message(), "40") != NULL);
    EXPECT_REFUSED(zkl_validate_struct_size("zkl_thing", &(size_t){ 41 }, 40), "struct_size");
}

TEST(pointer_must_not_be_null) {
    int something = 0;
    EXPECT_INT(zkl_validate_pointer("thing", &something), ZKL_OK);
    EXPECT_INT(zkl_validate_pointer("thing", NULL), ZKL_INVALID_ARGUMENT);
    EXPECT_TEXT(zkl_error_message(), "thing: must not be NULL");
}

/* ---- Messages -------------------------------------------------------------------------- */

TEST(long_input_is_cut_in_messages) {
    char expected[256];
    char *shown = repeat("", 'x', 120);
    snprintf(expected, sizeof(expected), "resource \"%s...\": ", shown);
    EXPECT_REFUSED(check_repeated(zkl_validate_resource, "", 'x', 5000), "bytes, at most 512");
    EXPECT(strncmp(zkl_error_message(), expected, strlen(expected)) == 0);
    free(shown);
    EXPECT_REFUSED(check_repeated(zkl_validate_resource, "a/", 'x', 120), "slash");
    EXPECT(strstr(zkl_error_message(), "...") == NULL);
}

static void *check_in_other_thread(void *arg) {
    char *seen_before = arg;
    snprintf(seen_before, 16, "%s", zkl_error_message());
    (void)zkl_validate_resource("");
    return NULL;
}

TEST(each_thread_has_its_own_message) {
    char seen_before[16] = "?";
    pthread_t thread;
    EXPECT_INT(zkl_validate_pointer("mine", NULL), ZKL_INVALID_ARGUMENT);
    EXPECT_INT(pthread_create(&thread, NULL, check_in_other_thread, seen_before), 0);
    pthread_join(thread, NULL);
    EXPECT_TEXT(seen_before, "");
    EXPECT_TEXT(zkl_error_message(), "mine: must not be NULL");
}

/* ---- The public functions refuse before they do anything --------------------------------- */

static int open_with(const zkl_client_options *options) {
    zkl_client *client = (zkl_client *)&client;
    int status = zkl_client_open("127.0.0.1:1", options, &client);
    EXPECT(client == NULL);
    return status;
}

TEST(client_options_are_checked) {
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    options.struct_size--;
    EXPECT_REFUSED(open_with(&options), "struct_size");
    options = (zkl_client_options)ZKL_CLIENT_OPTIONS_INIT;
    options.session_timeout_ms = ZKL_SESSION_TIMEOUT_MIN_MS - 1;
    EXPECT_REFUSED(open_with(&options), "timeout_ms");
    EXPECT(strstr(zkl_error_message(), "session_timeout_ms 99: must be from 100") != NULL);
    options.session_timeout_ms = ZKL_SESSION_TIMEOUT_MAX_MS + 1;
    EXPECT_REFUSED(open_with(&options), "timeout_ms");
    EXPECT(strstr(zkl_error_message(), "session_timeout_ms 3600001") != NULL);
    options = (zkl_client_options)ZKL_CLIENT_OPTIONS_INIT;
    options.connect_timeout_ms = -1;
    EXPECT_REFUSED(open_with(&options), "timeout_ms");
    EXPECT(strstr(zkl_error_message(), "connect_timeout_ms -1") != NULL);
    options = (zkl_client_options)ZKL_CLIENT_OPTIONS_INIT;
    options.lock_root = "locks";
    EXPECT_REFUSED(open_with(&options), "lock_root");
    options = (zkl_client_options)ZKL_CLIENT_OPTIONS_INIT;
    options.label = "a\tb";
    EXPECT_REFUSED(open_with(&options), "label");
    options = (zkl_client_options)ZKL_CLIENT_OPTIONS_INIT;
    options.log_level = (zkl_log_level)(ZKL_LOG_DEBUG + 1);
    EXPECT_INT(open_with(&options), ZKL_INVALID_ARGUMENT);
    EXPECT(strstr(zkl_error_message(), "log_level 5") != NULL);
}

TEST(hosts_of_a_client_are_checked) {
    zkl_client *client = (zkl_client *)&client;
    EXPECT_INT(zkl_client_open(NULL, NULL, &client), ZKL_INVALID_ARGUMENT);
    EXPECT_TEXT(zkl_error_message(), "hosts: must not be NULL");
    EXPECT(client == NULL);
    EXPECT_REFUSED(zkl_client_open("localhost", NULL, &client), "host list");
    EXPECT_INT(zkl_client_open("localhost:1", NULL, NULL), ZKL_INVALID_ARGUMENT);
    EXPECT_TEXT(zkl_error_message(), "client: must not be NULL");
}

TEST(null_handles_are_refused_or_fine) {
    zkl_lock *lock = (zkl_lock *)&lock;
    EXPECT_INT(zkl_lock_open(NULL, "stock", NULL, &lock), ZKL_INVALID_ARGUMENT);
    EXPECT(lock == NULL);
    EXPECT_INT(zkl_lock_open(NULL, "stock", NULL, NULL), ZKL_INVALID_ARGUMENT);
    EXPECT_INT(zkl_lock_acquire(NULL, ZKL_EXCLUSIVE, 0, NULL), ZKL_INVALID_ARGUMENT);
    EXPECT_TEXT(zkl_error_message(), "lock: must not be NULL");
    EXPECT_INT(zkl_lock_cancel(NULL), ZKL_INVALID_ARGUMENT);
    EXPECT_INT(zkl_lock_check(NULL, NULL), ZKL_INVALID_ARGUMENT);
    EXPECT_INT(zkl_lock_release(NULL, 0), ZKL_INVALID_ARGUMENT);
    EXPECT_INT(zkl_client_info(NULL, NULL), ZKL_INVALID_ARGUMENT);
    EXPECT_INT(zkl_client_close(NULL, 0), ZKL_OK);
    zkl_lock_close(NULL);
}
