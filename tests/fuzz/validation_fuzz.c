/*
 * What an application passes in as text. The input is taken as a host list, as
 * a lock root, as a resource and as a label, and a host list that is accepted is
 * taken apart as for name resolution (with a getaddrinfo of the test's own). The
 * rules are stated once more here, as zklock.h has them: the text as code points,
 * a path as its names, a server as sscanf reads it. What must hold:
 *
 *     accepted if and only if no rule is broken, and the message of a refusal
 *     names a rule that is broken;
 *     of an accepted host list, servers and chroot are split at the first slash;
 *     each host is asked for once, in order and without brackets, and each address
 *     found is followed by its port;
 *     the message of a refusal names the input (cut after 120 bytes, without what
 *     a terminal obeys), is printable, and ends; accepted input has none.
 */
#include "base/error_message.h"
#include "base/validation.h"

#include <netdb.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "connection/resolve.h"
#include "fuzz.h"
#include "support/check.h"

/* "Cut", as messages show it; and more than any message has. */
enum { SHOWN_MAX = 120, MESSAGE_MAX = 511 };

/* ---- The rules -------------------------------------------------------------- */

/* Rules that a text breaks, a bit each. */
enum rule {
    RULE_EMPTY = 1U << 0,
    RULE_TOO_LONG = 1U << 1,
    RULE_DOT = 1U << 2,
    RULE_CONTROL = 1U << 3,
    RULE_UTF8 = 1U << 4,
    RULE_SLASH = 1U << 5,
    RULE_EMPTY_NAME = 1U << 6,
    RULE_RESERVED = 1U << 7,
    RULE_UNSUPPORTED = 1U << 8,
    RULE_RELATIVE = 1U << 9
};

/* The code point at the start of the text, or -1: decode, encode, compare. */
static long decode(const unsigned char *text, size_t *length) {
    static const unsigned char first_bits[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
    static const long lowest[] = { 0, 0, 0x80, 0x800, 0x10000 };
    size_t ones = 0;
    while (ones < 8 && (text[0] >> (7 - ones) & 1) != 0) {
        ones++;
    }
    *length = ones == 0 ? 1 : ones;
    if (ones == 1 || ones > 4) {
        return -1;
    }
    long code = text[0] & first_bits[*length];
    for (size_t i = 1; i < *length; i++) {
        if (text[i] >> 6U != 2) {
            return -1; /* the NUL at the end as well */
        }
        code = code << 6U | (text[i] & 0x3f);
    }
    bool surrogate = code >= 0xd800 && code <= 0xdfff;
    return code < lowest[*length] || surrogate || code > 0x10ffff ? -1 : code;
}

static unsigned rules_of_character(long code) {
    if (code < 0x20 || (code >= 0x7f && code < 0xa0)) {
        return RULE_CONTROL;
    }
    bool supported = code < 0xe000 || (code > 0xf8ff && code < 0xfff0);
    return supported ? 0 : RULE_UNSUPPORTED;
}

static unsigned rules_of_text(const char *text) {
    unsigned broken = 0;
    const unsigned char *rest = (const unsigned char *)text;
    while (*rest != '\0') {
        size_t length = 0;
        long code = decode(rest, &length);
        if (code < 0) {
            return broken | RULE_UTF8;
        }
        broken |= rules_of_character(code);
        rest += length;
    }
    return broken;
}

static unsigned rules_of_name(const char *name, size_t length) {
    char start[4] = "";
    snprintf(start, sizeof(start), "%.*s", length < 3 ? (int)length : 3, name);
    unsigned dots = strcmp(start, ".") == 0 || strcmp(start, "..") == 0 ? RULE_DOT : 0;
    return length == 0 ? RULE_EMPTY_NAME : dots;
}

static unsigned rules_of_absolute(const char *path) {
    unsigned broken = rules_of_text(path);
    if (path[0] != '/') {
        return broken | RULE_RELATIVE;
    }
    bool reserved = strcmp(path, "/") == 0 || strcmp(path, "/zookeeper") == 0 ||
                    strncmp(path, "/zookeeper/", 11) == 0;
    broken |= reserved ? RULE_RESERVED : 0;
    for (const char *slash = path; slash != NULL;) {
        const char *name = slash + 1;
        slash = strchr(name, '/');
        broken |= rules_of_name(name, slash != NULL ? (size_t)(slash - name) : strlen(name));
    }
    return broken;
}

static unsigned rules_of_resource(const char *resource) {
    size_t length = strlen(resource);
    unsigned broken = length > ZKL_RESOURCE_MAX ? RULE_TOO_LONG : 0;
    if (length == 0) {
        return RULE_EMPTY;
    }
    if (resource[0] == '/') {
        return broken | rules_of_absolute(resource);
    }
    broken |= strchr(resource, '/') != NULL ? RULE_SLASH : 0;
    return broken | rules_of_text(resource) | rules_of_name(resource, length);
}

/* The rule that the last message names, behind the input that it shows. */
static unsigned rule_of_message(void) {
    static const struct {
        const char *says;
        unsigned rule;
    } rules[] = {
        { "must not be empty", RULE_EMPTY },
        { "bytes, at most", RULE_TOO_LONG },
        { ". or ..", RULE_DOT },
        { "control characters", RULE_CONTROL },
        { "must be valid UTF-8", RULE_UTF8 },
        { "must not contain a slash", RULE_SLASH },
        { "empty names", RULE_EMPTY_NAME },
        { "ZooKeeper's own", RULE_RESERVED },
        { "private use", RULE_UNSUPPORTED },
    };
    static const char behind[] = "\": ";
    const char *rule = zkl_error_message();
    while (strstr(rule, behind) != NULL) {
        rule = strstr(rule, behind) + strlen(behind);
    }
    for (size_t i = 0; i < COUNT_OF(rules); i++) {
        if (strstr(rule, rules[i].says) != NULL) {
            return rules[i].rule;
        }
    }
    return 0;
}

/* Whether all of it is "host:port" or "[address]:port". */
static bool is_server(const char *server) {
    char port[6];
    int host_end = 0;
    int end = 0;
    (void)sscanf(server, "[%*[0-9A-Za-z._:%%-]]%n", &host_end);
    if (host_end == 0) {
        (void)sscanf(server, "%*[0-9A-Za-z._-]%n", &host_end);
    }
    if (host_end == 0 || sscanf(server + host_end, ":%5[0-9]%n", port, &end) != 1) {
        return false;
    }
    long number = strtol(port, NULL, 10);
    return server[host_end + end] == '\0' && number >= 1 && number <= 65535;
}

static bool servers_are_valid(const char *servers) {
    bool valid = true;
    char *copy = fuzz_copy(servers);
    for (char *server = copy; server != NULL;) {
        char *comma = strchr(server, ',');
        if (comma != NULL) {
            *comma = '\0';
        }
        valid = valid && is_server(server);
        server = comma != NULL ? comma + 1 : NULL;
    }
    free(copy);
    return valid;
}

static bool chroot_is_valid(const char *chroot) {
    return chroot[0] == '\0' || strcmp(chroot, "/") == 0 ||
           (strlen(chroot) <= ZKL_ROOT_MAX && rules_of_absolute(chroot) == 0 &&
            strchr(chroot, ',') == NULL);
}

/* ---- The message --------------------------------------------------------------- */

/* The input between quotes, as a message may show it. */
static void show(char *shown, const char *input) {
    size_t length = 0;
    shown[length++] = '"';
    for (size_t i = 0; i < SHOWN_MAX && input[i] != '\0'; i++) {
        bool printable = input[i] >= ' ' && input[i] <= '~';
        shown[length] = '?';
        if (printable) {
            shown[length] = input[i];
        }
        length++;
    }
    snprintf(shown + length, 5, "%s", strlen(input) > SHOWN_MAX ? "...\"" : "\"");
}

static void check_message(const char *input, const char *part, bool refused) {
    char whole_shown[SHOWN_MAX + 8];
    char part_shown[SHOWN_MAX + 8];
    const char *message = zkl_error_message();
    size_t length = strnlen(message, MESSAGE_MAX + 1);
    EXPECT(length <= MESSAGE_MAX);
    EXPECT((length > 0) == refused);
    bool printable = true;
    for (size_t i = 0; i < length; i++) {
        printable = printable && message[i] >= ' ' && message[i] <= '~';
    }
    EXPECT(printable);
    show(whole_shown, input);
    show(part_shown, part);
    unit_check(!refused || strstr(message, whole_shown) != NULL ||
                   strstr(message, part_shown) != NULL,
               __FILE__, __LINE__, "the message \"%s\" does not name %s", message, whole_shown);
}

/* ---- Name resolution ------------------------------------------------------------ */

/* A text that grows. */
typedef struct growing {
    char text[4 * ZKL_HOSTS_MAX];
    size_t length;
} growing;

static void append(growing *to, const char *text) {
    size_t length = strlen(text);
    EXPECT(to->length + length < sizeof(to->text));
    memcpy(to->text + to->length, text, length + 1);
    to->length += length;
}

static void empty(growing *text) {
    text->length = 0;
    text->text[0] = '\0';
}

/* Hosts as they were asked for, one in a line. Those that begin with 'n' have no
 * address, those with 't' two. */
static growing asked;

static unsigned addresses_of(const char *host) {
    return host[0] == 'n' ? 0 : host[0] == 't' ? 2 : 1;
}

int __wrap_getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
                       struct addrinfo **found);
void __wrap_freeaddrinfo(struct addrinfo *found);
int __wrap_getnameinfo(const struct sockaddr *address, socklen_t address_length, char *host,
                       socklen_t host_size, char *service, socklen_t service_size, int flags);

int __wrap_getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
                       struct addrinfo **found) {
    static struct addrinfo addresses[2];
    EXPECT(service == NULL && hints != NULL);
    append(&asked, host);
    append(&asked, "\n");
    unsigned count = addresses_of(host);
    memset(addresses, 0, sizeof(addresses));
    addresses[0].ai_next = count == 2 ? &addresses[1] : NULL;
    *found = addresses;
    return count == 0 ? EAI_NONAME : 0;
}

void __wrap_freeaddrinfo(struct addrinfo *found) {
    EXPECT(found != NULL);
}

int __wrap_getnameinfo(const struct sockaddr *address, socklen_t address_length, char *host,
                       socklen_t host_size, char *service, socklen_t service_size, int flags) {
    EXPECT(address == NULL && address_length == 0 && service == NULL && service_size == 0);
    EXPECT((flags & NI_NUMERICHOST) != 0);
    snprintf(host, host_size, "::1");
    return 0;
}

typedef struct resolution {
    growing hosts;
    growing addresses;
} resolution;

/* The host is what comes before the last colon, without its brackets. */
static void resolve_server(resolution *expected, const char *server, size_t length) {
    char *text = strndup(server, length);
    char *port = strrchr(text, ':');
    *port++ = '\0';
    char *host = text;
    if (host[0] == '[') {
        host++;
        host[strlen(host) - 1] = '\0';
    }
    append(&expected->hosts, host);
    append(&expected->hosts, "\n");
    for (unsigned i = 0; i < addresses_of(host); i++) {
        append(&expected->addresses, expected->addresses.length > 0 ? ",::1:" : "::1:");
        append(&expected->addresses, port);
    }
    free(text);
}

static void check_resolution(const char *servers) {
    static resolution expected;
    char *addresses = NULL;
    empty(&expected.hosts);
    empty(&expected.addresses);
    empty(&asked);
    for (const char *server = servers; server != NULL;) {
        const char *comma = strchr(server, ',');
        resolve_server(&expected, server,
                       comma != NULL ? (size_t)(comma - server) : strlen(server));
        server = comma != NULL ? comma + 1 : NULL;
    }
    int status = zkl_resolve_servers(servers, &addresses);
    EXPECT(status == (expected.addresses.length > 0 ? ZKL_OK : ZKL_DISCONNECTED));
    unit_check(strcmp(asked.text, expected.hosts.text) == 0, __FILE__, __LINE__,
               "of \"%s\", these hosts were asked for:\n%s", servers, asked.text);
    unit_check(status != ZKL_OK || strcmp(addresses, expected.addresses.text) == 0, __FILE__,
               __LINE__, "\"%s\" is resolved to \"%s\", not to \"%s\"", servers, addresses,
               expected.addresses.text);
    free(addresses);
}

/* ---- The checks ------------------------------------------------------------------- */

static void check_hosts(const char *hosts) {
    size_t servers_length = SIZE_MAX;
    const char *chroot = NULL;
    char *servers = fuzz_text((const uint8_t *)hosts, strcspn(hosts, "/"));
    const char *expected_chroot = hosts + strlen(servers);
    bool valid = strlen(hosts) <= ZKL_HOSTS_MAX && servers_are_valid(servers) &&
                 chroot_is_valid(expected_chroot);
    zkl_error_clear();
    int status = zkl_validate_hosts(hosts, &servers_length, &chroot);
    unit_check(status == (valid ? ZKL_OK : ZKL_INVALID_ARGUMENT), __FILE__, __LINE__,
               "host list \"%s\": status %d", hosts, status);
    check_message(hosts, expected_chroot, !valid);
    if (valid) {
        EXPECT(servers_length == strlen(servers));
        EXPECT(strcmp(chroot, strcmp(expected_chroot, "/") == 0 ? "" : expected_chroot) == 0);
        check_resolution(servers);
    }
    free(servers);
}

static void check_resource(const char *resource) {
    unsigned broken = rules_of_resource(resource);
    zkl_error_clear();
    int status = zkl_validate_resource(resource);
    unit_check((status == ZKL_OK) == (broken == 0), __FILE__, __LINE__,
               "resource \"%s\": status %d, broken rules 0x%x", resource, status, broken);
    unit_check(status == ZKL_OK || (rule_of_message() & broken) != 0, __FILE__, __LINE__,
               "resource \"%s\": \"%s\" names none of the broken rules 0x%x", resource,
               zkl_error_message(), broken);
    check_message(resource, resource, status != ZKL_OK);
}

static void check_root(const char *root) {
    bool valid = strlen(root) <= ZKL_ROOT_MAX && rules_of_absolute(root) == 0;
    zkl_error_clear();
    int status = zkl_validate_path("lock_root", root, ZKL_ROOT_MAX);
    unit_check(status == (valid ? ZKL_OK : ZKL_INVALID_ARGUMENT), __FILE__, __LINE__,
               "lock root \"%s\": status %d", root, status);
    check_message(root, root, !valid);
}

static void check_label(const char *label) {
    bool valid =
        strlen(label) <= ZKL_LABEL_MAX && (rules_of_text(label) & (RULE_CONTROL | RULE_UTF8)) == 0;
    zkl_error_clear();
    int status = zkl_validate_text("label", label, ZKL_LABEL_MAX);
    unit_check(status == (valid ? ZKL_OK : ZKL_INVALID_ARGUMENT), __FILE__, __LINE__,
               "label \"%s\": status %d", label, status);
    check_message(label, label, !valid);
}

static void check_note(const char *input) {
    zkl_error_clear();
    zkl_error_note("input", input, "a fault that no check could find");
    check_message(input, input, true);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = fuzz_text(data, size);
    check_hosts(text);
    check_root(text);
    check_resource(text);
    check_label(text);
    check_note(text);
    free(text);
    return 0;
}
