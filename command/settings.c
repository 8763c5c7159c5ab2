#include "settings.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "duration.h"
#include "log_sink.h"
#include "say.h"

enum {
    FILE_SIZE_MAX = 65536, /* the most bytes of a file of settings, or of secrets */
    ENVIRONMENT_NAME_SIZE = 64,
    PATH_SIZE = 1024
};

const setting_description setting_descriptions[SETTING_COUNT] = {
#define SETTING_DESCRIPTION(name, text, argument, initial, help) { text, argument, initial, help },
    SETTING_LIST(SETTING_DESCRIPTION)
#undef SETTING_DESCRIPTION
};

/* ---- Files ---------------------------------------------------------------------------------- */

static bool may_be_read_by_others(int file) {
    struct stat status;
    return fstat(file, &status) == 0 && S_ISREG(status.st_mode) &&
           (status.st_mode & (S_IRWXG | S_IRWXO)) != 0;
}

/* Reads a file as a string. False: it has said why not. */
static bool read_text(const char *path, int file, char text[FILE_SIZE_MAX + 2]) {
    size_t length = 0;
    ssize_t more = 0;
    while (length <= FILE_SIZE_MAX &&
           (more = read(file, text + length, FILE_SIZE_MAX + 1 - length)) > 0) {
        length += (size_t)more; /* a pipe returns a part at a time */
    }
    if (more < 0) {
        say("%s: %s", path, strerror(errno));
        return false;
    }
    text[length] = '\0';
    if (length > FILE_SIZE_MAX || strlen(text) != length) {
        say("%s: must be text, of at most %d bytes", path, FILE_SIZE_MAX);
        return false;
    }
    return true;
}

/* Reads a whole file as a string, which the caller frees. NULL: it has said why not. */
static char *read_file(const char *path, bool is_secret) {
    char *text = calloc(1, FILE_SIZE_MAX + 2);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    bool is_read = false;
    if (file < 0 || text == NULL) {
        say("%s: %s", path, strerror(errno));
    } else if (is_secret && may_be_read_by_others(file)) {
        say("%s: others can read it; a secret must be for its owner only (chmod 600)", path);
    } else {
        is_read = read_text(path, file, text);
    }
    if (file >= 0) {
        close(file);
    }
    if (!is_read) {
        free(text);
    }
    return is_read ? text : NULL;
}

static void free_secret(char *text) {
    if (text != NULL) {
        explicit_bzero(text, strlen(text));
        free(text);
    }
}

/* Cuts the spaces around a text, and its line's end. Changes the text. */
static char *trimmed(char *text) {
    while (isspace((unsigned char)*text)) {
        text++;
    }
    size_t length = strlen(text);
    while (length > 0 && isspace((unsigned char)text[length - 1])) {
        text[--length] = '\0';
    }
    return text;
}

/* ---- From options, environment and file ------------------------------------------------------ */

static bool settings_find(const char *name, setting *found) {
    for (int i = 0; i < SETTING_COUNT; i++) {
        if (strcmp(setting_descriptions[i].name, name) == 0) {
            *found = (setting)i;
            return true;
        }
    }
    return false;
}

/* Writes the name of a setting in the environment, as ZKLOCK_LOCK_ROOT. */
static void environment_name(char name[ENVIRONMENT_NAME_SIZE], setting which) {
    snprintf(name, ENVIRONMENT_NAME_SIZE, "ZKLOCK_%s", setting_descriptions[which].name);
    for (char *at = name; *at != '\0'; at++) {
        int upper = toupper((unsigned char)*at);
        *at = (char)(upper == '-' ? '_' : upper);
    }
}

static void take_environment(settings *self) {
    for (int i = 0; i < SETTING_COUNT; i++) {
        char name[ENVIRONMENT_NAME_SIZE];
        environment_name(name, (setting)i);
        const char *value = getenv(name);
        if (self->values[i] == NULL && value != NULL && value[0] != '\0') {
            self->values[i] = value;
        }
    }
}

/* Takes one line of a file: NAME = VALUE, a comment, or nothing. */
static bool settings_take_line(settings *self, const char *path, int number, char *line,
                               bool seen[SETTING_COUNT]) {
    setting which = SETTING_HOSTS;
    line = trimmed(line);
    if (line[0] == '\0' || line[0] == '#') {
        return true;
    }
    char *value = strchr(line, '=');
    if (value == NULL) {
        say("%s:%d: '%s' must be NAME = VALUE", path, number, line);
        return false;
    }
    *value++ = '\0';
    const char *name = trimmed(line);
    if (!settings_find(name, &which)) {
        say("%s:%d: '%s' is not a setting (zklock help settings)", path, number, name);
        return false;
    }
    if (seen[which]) {
        say("%s:%d: '%s' is given a second time", path, number, name);
        return false;
    }
    seen[which] = true;
    if (self->values[which] == NULL) {
        self->values[which] = trimmed(value);
    }
    return true;
}

/* Takes the settings of a file. The values point into its text, which is kept until the process
 * ends. */
static bool take_file(settings *self, const char *path) {
    static char *text;
    bool seen[SETTING_COUNT] = { false };
    text = read_file(path, false);
    int number = 1;
    for (char *line = text; line != NULL; number++) {
        char *end = strchr(line, '\n');
        if (end != NULL) {
            *end++ = '\0';
        }
        if (!settings_take_line(self, path, number, line, seen)) {
            return false;
        }
        line = end;
    }
    return text != NULL;
}

/* Finds the first of the default files that exists; NULL: none does. A file that we may not read
 * exists, and is a mistake. */
static const char *default_file(char path[PATH_SIZE]) {
    const char *base = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");
    path[0] = '\0';
    if (base != NULL && base[0] == '/') {
        snprintf(path, PATH_SIZE, "%s/zklock/config", base);
    } else if (home != NULL && home[0] == '/') {
        snprintf(path, PATH_SIZE, "%s/.config/zklock/config", home);
    }
    if (path[0] != '\0' && access(path, F_OK) == 0) {
        return path;
    }
    snprintf(path, PATH_SIZE, "/etc/zklock/config");
    return access(path, F_OK) == 0 ? path : NULL;
}

static bool take_files(settings *self) {
    char path[PATH_SIZE];
    const char *given = self->file != NULL ? self->file : getenv("ZKLOCK_CONFIG");
    const char *file = given != NULL && given[0] != '\0' ? given : default_file(path);
    return file == NULL || take_file(self, file);
}

static bool read_time(const settings *self, setting which, int64_t min, int64_t max, int64_t *ms) {
    if (duration_read(self->values[which], ms) && *ms >= min && *ms <= max) {
        return true;
    }
    char from[DURATION_TEXT_SIZE];
    char to[DURATION_TEXT_SIZE];
    duration_write(from, min);
    duration_write(to, max);
    say("%s '%s': must be a time from %s to %s, such as 2.5 or 500ms",
        setting_descriptions[which].name, self->values[which], from, to);
    return false;
}

static bool begin_log(const settings *self) {
    const char *where = self->values[SETTING_LOG];
    if (log_begin(where)) {
        return true;
    }
    say("log '%s': %s", where, strerror(errno));
    return false;
}

bool settings_complete(settings *self) {
    take_environment(self);
    if (!take_files(self)) {
        return false;
    }
    for (int i = 0; i < SETTING_COUNT; i++) {
        if (self->values[i] == NULL) {
            self->values[i] = setting_descriptions[i].initial;
        }
    }
    return read_time(self, SETTING_SESSION_TIMEOUT, ZKL_SESSION_TIMEOUT_MIN_MS,
                     ZKL_SESSION_TIMEOUT_MAX_MS, &self->session_timeout_ms) &&
           read_time(self, SETTING_TICK_TIME, 1, ZKL_LEASE_TICK_MAX_MS, &self->tick_time_ms) &&
           read_time(self, SETTING_CONNECT_TIMEOUT, 1, INT32_MAX, &self->connect_timeout_ms) &&
           begin_log(self);
}

/* ---- The client ------------------------------------------------------------------------------ */

/* Ends the line, and cuts the CR that an editor of another system leaves. Returns what follows, or
 * NULL. */
static char *end_line(char *line) {
    char *end = strchr(line, '\n');
    if (end != NULL) {
        *end = '\0';
    }
    size_t length = strlen(line);
    if (length > 0 && line[length - 1] == '\r') {
        line[length - 1] = '\0';
    }
    return end != NULL ? end + 1 : NULL;
}

/* Reads lines of SCHEME:SECRET. Returns how many, or -1: it has said what is wrong. */
static int read_credentials(const char *path, char *text,
                            zkl_credential credentials[ZKL_CREDENTIALS_MAX]) {
    int count = 0;
    int number = 1;
    char *rest = NULL;
    for (char *line = text; line != NULL; line = rest, number++) {
        rest = end_line(line);
        char *colon = strchr(line, ':');
        if (line[0] == '#' || line[0] == '\0') {
            continue;
        }
        if (colon == NULL ||
            count ==
                ZKL_CREDENTIALS_MAX) { /* the message must not show the line, which is a secret */
            say("%s: line %d: %s", path, number,
                colon == NULL ? "must be SCHEME:SECRET" : "is one credential too many");
            return -1;
        }
        *colon = '\0';
        credentials[count++] =
            (zkl_credential){ sizeof(zkl_credential), line, colon + 1, strlen(colon + 1) };
    }
    return count;
}

/* Reads the first line of a file with a secret. *secret is NULL if there is no such setting. False:
 * it has said why not. */
static bool read_secret(const settings *self, setting which, char **secret) {
    *secret = NULL;
    if (self->values[which] == NULL) {
        return true;
    }
    *secret = read_file(self->values[which], true);
    if (*secret != NULL) {
        (void)end_line(*secret);
    }
    return *secret != NULL;
}

static void take_security(const settings *self, zkl_security *security) {
    const char *const *values = self->values;
    security->node_acl = values[SETTING_NODE_ACL];
    security->parent_acl = values[SETTING_PARENT_ACL];
    security->tls_ca_file = values[SETTING_TLS_CA_FILE];
    security->tls_certificate_file = values[SETTING_TLS_CERTIFICATE_FILE];
    security->tls_key_file = values[SETTING_TLS_KEY_FILE];
    security->tls_server_names = values[SETTING_TLS_SERVER_NAMES];
    security->sasl_mechanism = values[SETTING_SASL_MECHANISM];
    security->sasl_user = values[SETTING_SASL_USER];
    security->sasl_password_file = values[SETTING_SASL_PASSWORD_FILE];
    security->sasl_service = values[SETTING_SASL_SERVICE];
    security->sasl_host = values[SETTING_SASL_HOST];
}

static void take_settings(const settings *self, zkl_client_options *options) {
    const char *const *values = self->values;
    options->session_timeout_ms = (int32_t)self->session_timeout_ms;
    options->connect_timeout_ms = (int32_t)self->connect_timeout_ms;
    options->lock_root = values[SETTING_LOCK_ROOT];
    options->log_callback = log_is_on() ? log_record : NULL;
    if (values[SETTING_LABEL] != NULL) {
        options->label = values[SETTING_LABEL];
    }
}

static int open_client(const settings *self, zkl_client_options *options, zkl_client **client) {
    int status = zkl_client_open(self->values[SETTING_HOSTS], options, client);
    if (status != ZKL_OK && !self->silent) {
        say_status(self->values[SETTING_HOSTS], status);
    }
    return status;
}

int settings_open_client(const settings *self, const zkl_client_options *options,
                         zkl_client **client) {
    zkl_client_options all = *options;
    zkl_security security = ZKL_SECURITY_INIT;
    zkl_credential credentials[ZKL_CREDENTIALS_MAX];
    char *text = NULL;
    char *password = NULL;
    int status = ZKL_INVALID_ARGUMENT;
    const char *path = self->values[SETTING_CREDENTIALS_FILE];
    take_settings(self, &all);
    take_security(self, &security);
    all.security = &security;
    security.credentials = credentials;
    bool is_right = read_secret(self, SETTING_SASL_PASSWORD_FILE, &password);
    free_secret(password); /* the library reads it at each login; we only check its permissions */
    password = NULL;
    is_right = is_right && read_secret(self, SETTING_TLS_KEY_PASSWORD_FILE, &password);
    if (is_right && path != NULL) {
        text = read_file(path, true);
        security.credential_count = text != NULL ? read_credentials(path, text, credentials) : -1;
        is_right = security.credential_count >= 0;
    }
    if (is_right) {
        security.tls_key_password = password;
        status = open_client(self, &all, client);
    }
    free_secret(text);
    free_secret(password);
    return status;
}
