#include "base/validation.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error_message.h"

enum { PORT_MAX = 65535 };

/* struct_size tells an older caller's struct from a newer one only if no field was
 * ever put into padding at the end: there must be none. */
#define HAS_NO_TAIL(type, last)                                                                    \
    _Static_assert(sizeof(type) ==                                                                 \
                       offsetof(type, last) + sizeof(__typeof__(((type *)NULL)->last)),            \
                   #type " ends in padding: fill it with a reserved field")
HAS_NO_TAIL(zkl_client_options, security);
HAS_NO_TAIL(zkl_security, sasl_host);
HAS_NO_TAIL(zkl_client_information, lock_root);
HAS_NO_TAIL(zkl_lock_options, lending);
HAS_NO_TAIL(zkl_lending, retain_ms);
HAS_NO_TAIL(zkl_credential, size);
HAS_NO_TAIL(zkl_lock_information, local_number);
HAS_NO_TAIL(zkl_grant, local_number);
HAS_NO_TAIL(zkl_transaction_result, failed_status);

/* ---- Text -------------------------------------------------------------- */

/* Reads the code point that begins here (RFC 3629), and moves behind it. -1: none begins here. */
static int32_t take_code(const unsigned char **text) {
    static const int32_t lowest[] = { 0, 0, 0x80, 0x800, 0x10000 };
    const unsigned char *s = *text;
    size_t length = s[0] < 0x80 ? 1 : s[0] < 0xc0 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    if (length == 0 || s[0] > 0xf4) {
        return -1;
    }
    int32_t code = length == 1 ? s[0] : s[0] & (0x7f >> length);
    for (size_t i = 1; i < length; i++) {
        if ((s[i] & 0xc0U) != 0x80U) {
            return -1;
        }
        code = code * 0x40 + (s[i] & 0x3f);
    }
    *text += length;
    bool surrogate = code >= 0xd800 && code <= 0xdfff;
    return code < lowest[length] || surrogate || code > 0x10ffff ? -1 : code;
}

/* Returns the rule that a text breaks; NULL: none. In a path ZooKeeper accepts
 * (PathUtils.validatePath) no characters of private use, no specials, and none beyond U+FFFF, which
 * are two surrogates in Java's strings. */
static const char *broken_rule(const char *text, bool is_path) {
    const char *unsupported = NULL;
    for (const unsigned char *s = (const unsigned char *)text; *s != '\0';) {
        int32_t code = take_code(&s);
        if (code < 0) {
            return "must be valid UTF-8";
        }
        if (code < 0x20 || (code >= 0x7f && code < 0xa0)) {
            return "must not have control characters";
        }
        if (is_path && ((code >= 0xe000 && code <= 0xf8ff) || code >= 0xfff0)) {
            unsupported = "ZooKeeper takes no characters of private use, no specials and none "
                          "beyond U+FFFF";
        }
    }
    return unsupported;
}

static int check_characters(const char *what, const char *text, bool is_path) {
    const char *rule = broken_rule(text, is_path);
    return rule == NULL ? ZKL_OK : zkl_refuse(what, text, "%s", rule);
}

static int check_length(const char *what, const char *text, size_t longest) {
    size_t length = strlen(text);
    if (length > longest) {
        return zkl_refuse(what, text, "%zu bytes, at most %zu are allowed", length, longest);
    }
    return ZKL_OK;
}

int zkl_validate_text(const char *what, const char *text, size_t longest) {
    if (text == NULL) {
        return ZKL_OK;
    }
    ZKL_TRY(check_length(what, text, longest));
    return check_characters(what, text, false);
}

/* Refuses an underscore at the beginning too: it is reserved for ZKL_RESOURCE_CLASS_OVERFLOW. */
int zkl_validate_resource_class(const char *name) {
    static const char of_class[] = "resource_class";
    ZKL_TRY(zkl_validate_text(of_class, name, ZKL_RESOURCE_CLASS_MAX));
    return name != NULL && name[0] == '_'
               ? zkl_refuse(of_class, name, "must not begin with an underscore")
               : ZKL_OK;
}

/* ---- Resources and roots ------------------------------------------------ */

static bool is_dots(const char *name, size_t length) {
    return (length == 1 && name[0] == '.') || (length == 2 && name[0] == '.' && name[1] == '.');
}

/* Checks each name of an absolute path; a relative one is a single name. */
static int check_names(const char *what, const char *path) {
    ZKL_TRY(check_characters(what, path, true));
    for (const char *name = path[0] == '/' ? path + 1 : path;;) {
        size_t length = strcspn(name, "/");
        if (length == 0) {
            return zkl_refuse(what, path, "a path must not have empty names or end in a slash");
        }
        if (is_dots(name, length)) {
            return zkl_refuse(what, path, "must not have . or .. as a name");
        }
        if (name[length] == '\0') {
            return ZKL_OK;
        }
        name += length + 1;
    }
}

static bool is_reserved(const char *path) {
    static const char reserved[] = "/zookeeper";
    size_t length = sizeof(reserved) - 1;
    return strcmp(path, "/") == 0 ||
           (strncmp(path, reserved, length) == 0 && (path[length] == '\0' || path[length] == '/'));
}

static int check_absolute(const char *what, const char *path) {
    if (is_reserved(path)) {
        return zkl_refuse(what, path, "/ and /zookeeper are ZooKeeper's own");
    }
    return check_names(what, path);
}

static int check_relative(const char *what, const char *name) {
    if (strchr(name, '/') != NULL) {
        return zkl_refuse(what, name,
                          "a name must not contain a slash (an absolute path starts with one)");
    }
    return check_names(what, name);
}

int zkl_validate_resource(const char *resource) {
    static const char of_resource[] = "resource";
    ZKL_TRY(zkl_validate_pointer(of_resource, resource));
    if (resource[0] == '\0') {
        return zkl_refuse(of_resource, resource, "must not be empty");
    }
    ZKL_TRY(check_length(of_resource, resource, ZKL_RESOURCE_MAX));
    return resource[0] == '/' ? check_absolute(of_resource, resource)
                              : check_relative(of_resource, resource);
}

int zkl_validate_path(const char *what, const char *path, size_t longest) {
    ZKL_TRY(zkl_validate_pointer(what, path));
    ZKL_TRY(check_length(what, path, longest));
    if (path[0] != '/') {
        return zkl_refuse(what, path, "must be an absolute path");
    }
    return check_absolute(what, path);
}

/* ---- Hosts -------------------------------------------------------------- */

static const char of_hosts[] = "host list";

#define DIGITS "0123456789"
#define HOST_CHARACTERS DIGITS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-_"

/* Returns the length of the host before the colon of its port, or 0. */
static size_t host_length(const char *server) {
    if (server[0] != '[') {
        return strspn(server, HOST_CHARACTERS);
    }
    size_t length = strspn(server + 1, HOST_CHARACTERS ":%");
    return length > 0 && server[length + 1] == ']' ? length + 2 : 0;
}

static bool is_port(const char *port, size_t length) {
    long number = length > 0 && length <= 5 ? strtol(port, NULL, 10) : 0;
    return strspn(port, DIGITS) == length && number >= 1 && number <= PORT_MAX;
}

static int check_server(const char *hosts, const char *server, size_t length) {
    size_t host = host_length(server);
    if (host == 0) {
        return zkl_refuse(of_hosts, hosts, "server %d bytes in has no valid host name or address",
                          (int)(server - hosts));
    }
    if (server[host] != ':' || !is_port(server + host + 1, length - host - 1)) {
        return zkl_refuse(of_hosts, hosts, "\"%.*s\" must be followed by : and a port from 1 to %d",
                          (int)(host < ZKL_SHOWN_MAX ? host : ZKL_SHOWN_MAX), server, PORT_MAX);
    }
    return ZKL_OK;
}

static int check_chroot(const char *chroot) {
    static const char of_chroot[] = "chroot of the host list";
    if (chroot[0] == '\0') {
        return ZKL_OK;
    }
    if (strchr(chroot, ',') != NULL) {
        return zkl_refuse(of_chroot, chroot,
                          "must not contain a comma; a chroot is given once, behind the last "
                          "server");
    }
    ZKL_TRY(check_length(of_chroot, chroot, ZKL_ROOT_MAX));
    return check_absolute(of_chroot, chroot);
}

int zkl_validate_hosts(const char *hosts, size_t *servers_length, const char **chroot) {
    ZKL_TRY(zkl_validate_pointer("hosts", hosts));
    ZKL_TRY(check_length(of_hosts, hosts, ZKL_HOSTS_MAX));
    *servers_length = strcspn(hosts, "/");
    size_t first_space = strcspn(hosts, " \t\r\n\v\f");
    if (first_space < *servers_length) {
        return zkl_refuse(of_hosts, hosts,
                          "a space %zu bytes in; servers are separated by commas alone",
                          first_space);
    }
    *chroot = strcmp(hosts + *servers_length, "/") == 0 ? "" : hosts + *servers_length;
    for (const char *server = hosts;;) {
        size_t server_length = strcspn(server, ",/");
        ZKL_TRY(check_server(hosts, server, server_length));
        if (server[server_length] != ',') {
            return check_chroot(*chroot);
        }
        server += server_length + 1;
    }
}

/* ---- Numbers and pointers ----------------------------------------------- */

int zkl_validate_mode(zkl_mode mode, bool only_exclusive) {
    char given[32];
    bool is_of_lock = mode == ZKL_EXCLUSIVE || mode == ZKL_READ || mode == ZKL_WRITE;
    if (only_exclusive ? mode == ZKL_EXCLUSIVE : is_of_lock) {
        return ZKL_OK;
    }
    snprintf(given, sizeof(given), "mode %d", (int)mode);
    return zkl_refuse(given, NULL, "must be %s",
                      only_exclusive
                          ? "ZKL_EXCLUSIVE for a handle with permits, or with a latch's names"
                          : "ZKL_EXCLUSIVE, ZKL_READ or ZKL_WRITE");
}

int zkl_validate_range(const char *what, int64_t value, int64_t lowest, int64_t highest) {
    if (value >= lowest && value <= highest) {
        return ZKL_OK;
    }
    char given[64];
    snprintf(given, sizeof(given), "%s %lld", what, (long long)value);
    if (lowest == highest) {
        return zkl_refuse(given, NULL, "must be %lld", (long long)lowest);
    }
    if (highest == INT64_MAX) {
        return zkl_refuse(given, NULL, "must be at least %lld", (long long)lowest);
    }
    return zkl_refuse(given, NULL, "must be from %lld to %lld", (long long)lowest,
                      (long long)highest);
}

int zkl_validate_file_name(const char *what, const char *name) {
    size_t length = strlen(name);
    if (length == 0 || length > ZKL_FILE_NAME_MAX) {
        return zkl_refuse(what, name, "%zu bytes, must be from 1 to %d", length, ZKL_FILE_NAME_MAX);
    }
    return ZKL_OK;
}

/* Refuses sizes that no version had. No struct ends in padding, so versions differ by whole words.
 */
int zkl_validate_struct_size(const char *what, const void *given, size_t known) {
    size_t size = given != NULL ? *(const size_t *)given : known;
    if (size <= sizeof(size_t) || size > known || size % sizeof(size_t) != 0) {
        return zkl_refuse(what, NULL,
                          "struct_size is %zu, and this library knows %zu (use the _INIT "
                          "macro)",
                          size, known);
    }
    return ZKL_OK;
}

static void copy_fields(void *to, const void *from, size_t struct_size) {
    memcpy((char *)to + sizeof(size_t), (const char *)from + sizeof(size_t),
           struct_size - sizeof(size_t));
}

int zkl_struct_read(const char *what, const void *given, void *defaults, size_t size) {
    ZKL_TRY(zkl_validate_struct_size(what, given, size));
    if (given != NULL) {
        copy_fields(defaults, given, *(const size_t *)given);
    }
    return ZKL_OK;
}

void zkl_struct_fill(void *given, const void *filled) {
    copy_fields(given, filled, *(const size_t *)given);
}

int zkl_validate_pointer(const char *what, const void *pointer) {
    return pointer != NULL ? ZKL_OK : zkl_refuse(what, NULL, "must not be NULL");
}
