#include "input.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "recipe/node_name.h"
#include "try.h"

enum { MESSAGE_SIZE = ZKL_MESSAGE_SIZE, SHOWN_MAX = 120, PORT_MAX = 65535 };

/* struct_size tells an older caller's struct from a newer one only if no field was
 * ever put into padding at the end: there must be none. */
#define HAS_NO_TAIL(type, last)                                                                    \
    _Static_assert(sizeof(type) == offsetof(type, last) + sizeof(((type *)NULL)->last),            \
                   #type " ends in padding: fill it with a reserved field")
HAS_NO_TAIL(zkl_client_options, reserved);
HAS_NO_TAIL(zkl_client_information, lock_root);
HAS_NO_TAIL(zkl_lock_options, note);
HAS_NO_TAIL(zkl_lock_information, position);
HAS_NO_TAIL(zkl_grant, node);
HAS_NO_TAIL(zkl_transaction_result, failed_status);

static _Thread_local char message[MESSAGE_SIZE];

const char *zkl_input_message(void) {
    return message;
}

__attribute__((format(printf, 1, 2))) static int refuse(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    return ZKL_INVALID_ARGUMENT;
}

/* The input as a message may show it: cut, and without what a terminal obeys. */
typedef struct shown {
    char text[SHOWN_MAX + 4];
} shown;

static shown show(const char *input) {
    shown result;
    size_t length = 0;
    while (length < SHOWN_MAX && input[length] != '\0') {
        unsigned char byte = (unsigned char)input[length];
        bool printable = byte >= 0x20 && byte < 0x7f;
        result.text[length] = '?';
        if (printable) {
            result.text[length] = input[length];
        }
        length++;
    }
    memcpy(result.text + length, input[length] != '\0' ? "..." : "\0\0\0", 4);
    return result;
}

void zkl_input_clear(void) {
    message[0] = '\0';
}

void zkl_input_set(const char *text) {
    snprintf(message, sizeof(message), "%s", text != NULL ? text : "");
}

void zkl_input_note(const char *what, const char *input, const char *fault) {
    (void)zkl_input_refuse(what, input, fault);
}

int zkl_input_refuse(const char *what, const char *input, const char *fault) {
    return input == NULL ? refuse("%s: %s", what, fault)
                         : refuse("%s \"%s\": %s", what, show(input).text, fault);
}

/* ---- Text -------------------------------------------------------------- */

/* The length of the UTF-8 sequence that starts here (RFC 3629), or 0. */
static size_t utf8_length(const unsigned char *s) {
    size_t length = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    if (length == 0 || s[0] > 0xf4) {
        return 0;
    }
    for (size_t i = 1; i < length; i++) {
        if ((s[i] & 0xc0U) != 0x80U) {
            return 0;
        }
    }
    bool overlong = (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xf0 && s[1] < 0x90);
    bool surrogate = s[0] == 0xed && s[1] >= 0xa0;
    bool too_large = s[0] == 0xf4 && s[1] >= 0x90;
    return overlong || surrogate || too_large ? 0 : length;
}

static bool is_control(const unsigned char *s, size_t length) {
    return (length == 1 && (s[0] < 0x20 || s[0] == 0x7f)) ||
           (length == 2 && s[0] == 0xc2 && s[1] < 0xa0);
}

/* What else ZooKeeper does not take in a path (PathUtils.validatePath): private
 * use, the specials, and, as it sees the two surrogates of Java's strings, all
 * that is beyond U+FFFF. */
static bool is_unsupported(const unsigned char *s, size_t length) {
    if (length != 3) {
        return length == 4;
    }
    unsigned code = ((s[0] & 0x0fU) << 12U) | ((s[1] & 0x3fU) << 6U) | (s[2] & 0x3fU);
    return (code >= 0xe000 && code <= 0xf8ff) || (code >= 0xfff0 && code <= 0xffff);
}

typedef enum text_fault {
    TEXT_GOOD,
    TEXT_UNSUPPORTED, /* good text, but not in a path */
    TEXT_CONTROL,
    TEXT_NOT_UTF8
} text_fault;

static text_fault check_text(const char *text) {
    text_fault fault = TEXT_GOOD;
    for (const unsigned char *s = (const unsigned char *)text; *s != '\0';) {
        size_t length = utf8_length(s);
        if (length == 0) {
            return TEXT_NOT_UTF8;
        }
        if (is_control(s, length)) {
            return TEXT_CONTROL;
        }
        if (is_unsupported(s, length)) {
            fault = TEXT_UNSUPPORTED;
        }
        s += length;
    }
    return fault;
}

static int check_short_text(const char *what, const char *text, size_t longest) {
    size_t length = strlen(text);
    if (length > longest) {
        return refuse("%s \"%s\": %zu bytes, at most %zu are allowed", what, show(text).text,
                      length, longest);
    }
    if (check_text(text) > TEXT_UNSUPPORTED) {
        return refuse("%s \"%s\": must be UTF-8 without control characters", what, show(text).text);
    }
    return ZKL_OK;
}

int zkl_input_check_label(const char *label) {
    return check_short_text("label", label, ZKL_LABEL_MAX);
}

int zkl_input_check_owner(const char *owner) {
    return check_short_text("owner", owner, ZKL_OWNER_MAX);
}

int zkl_input_check_note(const char *note) {
    return check_short_text("note", note, ZKL_NOTE_MAX);
}

/* One underscore at the beginning is that of ZKL_RESOURCE_CLASS_OVERFLOW. */
int zkl_input_check_resource_class(const char *name) {
    ZKL_TRY(check_short_text("resource_class", name, ZKL_RESOURCE_CLASS_MAX));
    if (name[0] == '_') {
        return refuse("resource_class \"%s\": must not begin with an underscore", show(name).text);
    }
    return ZKL_OK;
}

/* ---- Resources and roots ------------------------------------------------ */

static bool is_dots(const char *name, size_t length) {
    return (length == 1 && name[0] == '.') || (length == 2 && name[0] == '.' && name[1] == '.');
}

static int check_path_components(const char *what, const char *path) {
    const char *name = path + 1;
    for (;;) {
        size_t length = strcspn(name, "/");
        if (length == 0) {
            return refuse("%s \"%s\": a path must not have empty names or end in a slash", what,
                          show(path).text);
        }
        if (is_dots(name, length)) {
            return refuse("%s \"%s\": a path must not contain . or .. as a name", what,
                          show(path).text);
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

static int check_characters(const char *what, const char *name) {
    switch (check_text(name)) {
    case TEXT_NOT_UTF8:
        return refuse("%s \"%s\": must be valid UTF-8", what, show(name).text);
    case TEXT_CONTROL:
        return refuse("%s \"%s\": must not have control characters", what, show(name).text);
    case TEXT_UNSUPPORTED:
        return refuse("%s \"%s\": ZooKeeper takes no characters of private use, no specials and "
                      "none beyond U+FFFF",
                      what, show(name).text);
    case TEXT_GOOD:
        break;
    }
    return ZKL_OK;
}

static int check_absolute(const char *what, const char *path) {
    if (is_reserved(path)) {
        return refuse("%s \"%s\": / and /zookeeper are ZooKeeper's own", what, show(path).text);
    }
    ZKL_TRY(check_characters(what, path));
    return check_path_components(what, path);
}

static int check_relative(const char *what, const char *name) {
    if (strchr(name, '/') != NULL) {
        return refuse("%s \"%s\": a name must not contain a slash (an absolute path starts with "
                      "one)",
                      what, show(name).text);
    }
    if (is_dots(name, strlen(name))) {
        return refuse("%s \"%s\": . and .. are not names", what, show(name).text);
    }
    return check_characters(what, name);
}

static const char of_resource[] = "resource";

static int check_resource_length(const char *resource) {
    size_t length = strlen(resource);
    if (length == 0) {
        return refuse("%s \"\": must not be empty", of_resource);
    }
    if (length > ZKL_RESOURCE_MAX) {
        return refuse("%s \"%s\": %zu bytes, at most %d are allowed", of_resource,
                      show(resource).text, length, ZKL_RESOURCE_MAX);
    }
    return ZKL_OK;
}

int zkl_input_check_resource(const char *resource) {
    ZKL_TRY(check_resource_length(resource));
    return resource[0] == '/' ? check_absolute(of_resource, resource)
                              : check_relative(of_resource, resource);
}

static int check_stripe(const char *resource, size_t name_length) {
    char name[ZKL_RESOURCE_MAX + 1];
    memcpy(name, resource, name_length);
    name[name_length] = '\0';
    if (!zkl_node_name_is_stripe(resource + name_length + 1)) {
        return refuse("%s \"%s\": behind the slash of a name must be a stripe with four digits, as "
                      "in %s/stripe-0003 (an absolute path starts with a slash)",
                      of_resource, show(resource).text, show(name).text);
    }
    return check_relative(of_resource, name);
}

int zkl_input_check_resource_or_stripe(const char *resource) {
    const char *slash = strchr(resource, '/');
    if (slash == NULL || slash == resource) {
        return zkl_input_check_resource(resource);
    }
    ZKL_TRY(check_resource_length(resource));
    return check_stripe(resource, (size_t)(slash - resource));
}

static int check_absolute_only(const char *what, const char *path, size_t longest) {
    size_t length = strlen(path);
    if (length > longest) {
        return refuse("%s \"%s\": %zu bytes, at most %zu are allowed", what, show(path).text,
                      length, longest);
    }
    if (path[0] != '/') {
        return refuse("%s \"%s\": must be an absolute path", what, show(path).text);
    }
    return check_absolute(what, path);
}

int zkl_input_check_root(const char *root) {
    return check_absolute_only("lock root", root, ZKL_ROOT_MAX);
}

int zkl_input_check_node_path(const char *path) {
    return check_absolute_only("path", path, ZKL_TRANSACTION_PATH_MAX);
}

/* ---- Hosts -------------------------------------------------------------- */

static bool port_is_valid(const char *port, size_t length) {
    unsigned long value = 0;
    if (length == 0 || length > 5) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if (port[i] < '0' || port[i] > '9') {
            return false;
        }
        value = value * 10 + (unsigned long)(port[i] - '0');
    }
    return value >= 1 && value <= PORT_MAX;
}

static bool is_host_character(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
           c == '-' || c == '_';
}

static bool is_address_character(char c) {
    return is_host_character(c) || c == ':' || c == '%';
}

/* The length of the host before the colon of its port, or 0. */
static size_t host_length(const char *server, size_t length) {
    size_t i = 0;
    if (length > 0 && server[0] == '[') {
        for (i = 1; i < length && is_address_character(server[i]); i++) {
        }
        return i > 1 && i < length && server[i] == ']' ? i + 1 : 0;
    }
    while (i < length && is_host_character(server[i])) {
        i++;
    }
    return i;
}

static int check_server(const char *hosts, const char *server, size_t length) {
    size_t host = host_length(server, length);
    if (host == 0) {
        return refuse("host list \"%s\": server %d bytes in has no valid host name or address",
                      show(hosts).text, (int)(server - hosts));
    }
    if (host == length || server[host] != ':' ||
        !port_is_valid(server + host + 1, length - host - 1)) {
        return refuse("host list \"%s\": \"%.*s\" must be followed by : and a port from 1 to %d",
                      show(hosts).text, (int)(host < SHOWN_MAX ? host : SHOWN_MAX), server,
                      PORT_MAX);
    }
    return ZKL_OK;
}

static int check_chroot(const char *hosts, const char *chroot) {
    if (chroot[0] == '\0' || strcmp(chroot, "/") == 0) {
        return ZKL_OK;
    }
    if (strchr(chroot, ',') != NULL) {
        return refuse("host list \"%s\": a comma in the chroot \"%s\"; a chroot is given once, "
                      "behind the last server",
                      show(hosts).text, show(chroot).text);
    }
    size_t length = strlen(chroot);
    if (length > ZKL_ROOT_MAX) {
        return refuse("host list \"%s\": the chroot has %zu bytes, at most %d are allowed",
                      show(hosts).text, length, ZKL_ROOT_MAX);
    }
    return check_absolute("chroot of the host list", chroot);
}

int zkl_input_check_hosts(const char *hosts, size_t *servers_length, const char **chroot) {
    size_t length = strlen(hosts);
    if (length > ZKL_HOSTS_MAX) {
        return refuse("host list \"%s\": %zu bytes, at most %d are allowed", show(hosts).text,
                      length, ZKL_HOSTS_MAX);
    }
    *servers_length = strcspn(hosts, "/");
    size_t first_space = strcspn(hosts, " \t\r\n\v\f");
    if (first_space < *servers_length) {
        return refuse(
            "host list \"%s\": a space %zu bytes in; servers are separated by commas alone",
            show(hosts).text, first_space);
    }
    *chroot = strcmp(hosts + *servers_length, "/") == 0 ? "" : hosts + *servers_length;
    for (const char *server = hosts;;) {
        size_t server_length = strcspn(server, ",/");
        ZKL_TRY(check_server(hosts, server, server_length));
        if (server[server_length] != ',') {
            return check_chroot(hosts, *chroot);
        }
        server += server_length + 1;
    }
}

/* ---- Numbers and pointers ----------------------------------------------- */

int zkl_input_check_mode(zkl_mode mode, unsigned permits) {
    if (permits > 0 && mode != ZKL_PERMIT) {
        return refuse("mode %d: must be ZKL_PERMIT for a handle with permits", (int)mode);
    }
    if (permits > 0) {
        return ZKL_OK;
    }
    if (mode == ZKL_PERMIT) {
        return refuse("mode ZKL_PERMIT: needs a handle with permits");
    }
    if (mode != ZKL_EXCLUSIVE && mode != ZKL_READ && mode != ZKL_WRITE) {
        return refuse("mode %d: must be ZKL_EXCLUSIVE, ZKL_READ or ZKL_WRITE", (int)mode);
    }
    return ZKL_OK;
}

int zkl_input_check_range(const char *what, int64_t value, int64_t lowest, int64_t highest) {
    if (value >= lowest && value <= highest) {
        return ZKL_OK;
    }
    if (lowest == highest) {
        return refuse("%s %lld: must be %lld", what, (long long)value, (long long)lowest);
    }
    if (highest == INT64_MAX) {
        return refuse("%s %lld: must be at least %lld", what, (long long)value, (long long)lowest);
    }
    return refuse("%s %lld: must be from %lld to %lld", what, (long long)value, (long long)lowest,
                  (long long)highest);
}

int zkl_input_check_file_name(const char *what, const char *name) {
    size_t length = strlen(name);
    if (length == 0 || length > ZKL_FILE_NAME_MAX) {
        return refuse("%s \"%s\": %zu bytes, must be from 1 to %d", what, show(name).text, length,
                      ZKL_FILE_NAME_MAX);
    }
    return ZKL_OK;
}

/* As none ends in padding, versions differ by whole words. */
int zkl_input_check_struct_size(const char *what, size_t given, size_t known) {
    if (given <= sizeof(size_t) || given > known || given % sizeof(size_t) != 0) {
        return refuse("struct_size %zu of %s: this library knows %zu (use the _INIT macro)", given,
                      what, known);
    }
    return ZKL_OK;
}

static void copy_fields(void *to, const void *from, size_t struct_size) {
    memcpy((char *)to + sizeof(size_t), (const char *)from + sizeof(size_t),
           struct_size - sizeof(size_t));
}

int zkl_input_read_options(const char *what, const void *given, void *options, size_t size) {
    if (given != NULL) {
        size_t its_size = *(const size_t *)given;
        ZKL_TRY(zkl_input_check_struct_size(what, its_size, size));
        copy_fields(options, given, its_size);
    }
    return ZKL_OK;
}

void zkl_input_fill_struct(void *given, const void *filled) {
    copy_fields(given, filled, *(const size_t *)given);
}

int zkl_input_check_pointer(const char *what, const void *pointer) {
    return pointer != NULL ? ZKL_OK : refuse("%s: must not be NULL", what);
}
