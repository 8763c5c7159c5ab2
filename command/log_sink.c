#include "log_sink.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "json_text.h"
#include "printable.h"

#define IDENTIFIER "zklock"
#define JOURNAL_SOCKET "/run/systemd/journal/socket"
#define SYSLOG_SOCKET "/dev/log"

enum {
    FIELDS_MAX = 16,
    NUMBER_SIZE = 24,
    MOMENT_SIZE = 64,
    MESSAGE_SIZE = 2048,
    DATAGRAM_SIZE = MESSAGE_SIZE + 128, /* priority, moment and process id as well */
    FILE_MODE = 0640,
    SEND_US = 200000
};

typedef enum log_kind { LOG_TO_NOTHING, LOG_TO_JOURNAL, LOG_TO_SYSLOG, LOG_TO_FILE } log_kind;

typedef struct log_field {
    const char *name; /* as the library's log names it */
    const char *text; /* of a number: `number` */
    char number[NUMBER_SIZE];
} log_field;

/* One record, for each of the three. Fields without text are left out. */
typedef struct log_entry {
    int priority;
    const char *event;
    const char *message;
    size_t count;
    log_field fields[FIELDS_MAX];
} log_entry;

static log_kind kind;
static const char *file_path;

/* ---- Fields ---------------------------------------------------------------------------------- */

static void add_text(log_entry *self, const char *name, const char *text) {
    if (text != NULL && text[0] != '\0') {
        self->fields[self->count].name = name;
        self->fields[self->count++].text = text;
    }
}

static void add_number(log_entry *self, const char *name, int64_t number, bool is_known) {
    if (is_known) {
        log_field *one = &self->fields[self->count++];
        snprintf(one->number, sizeof(one->number), "%" PRId64, number);
        one->name = name;
        one->text = NULL;
    }
}

static const char *field_text(const log_field *field) {
    return field->text != NULL ? field->text : field->number;
}

/* ---- The journal ----------------------------------------------------------------------------- */

/* Appends a field of the journal's native protocol (systemd.io/JOURNAL_NATIVE_PROTOCOL): the text
 * may have line ends, so its length is given. */
static void append_field(FILE *datagram, const char *prefix, const char *name, const char *text) {
    uint64_t length = strlen(text);
    fputs(prefix, datagram);
    for (; *name != '\0'; name++) {
        fputc(*name >= 'a' && *name <= 'z' ? *name - 'a' + 'A' : *name, datagram);
    }
    fputc('\n', datagram);
    for (unsigned shift = 0; shift < 64; shift += 8) { /* little endian */
        fputc((int)(length >> shift & 0xffU), datagram);
    }
    fputs(text, datagram);
    fputc('\n', datagram);
}

/* Sends a datagram. One that does not get through soon, as nobody reads them, is given up: a lock
 * must not wait for its log. */
static bool send_to(const char *path, const char *bytes, size_t length) {
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    const struct timeval patience = { .tv_usec = SEND_US };
    int sender = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    bool is_sent = sender >= 0 &&
                   setsockopt(sender, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) == 0 &&
                   connect(sender, (const struct sockaddr *)&address, sizeof(address)) == 0 &&
                   (length == 0 || send(sender, bytes, length, MSG_NOSIGNAL) == (ssize_t)length);
    int why = errno;
    if (sender >= 0) {
        close(sender);
    }
    errno = why;
    return is_sent;
}

static void write_to_journal(const log_entry *entry) {
    char *bytes = NULL;
    size_t length = 0;
    char priority[NUMBER_SIZE];
    FILE *datagram = open_memstream(&bytes, &length);
    if (datagram == NULL) {
        return;
    }
    snprintf(priority, sizeof(priority), "%d", entry->priority);
    append_field(datagram, "", "message", entry->message);
    append_field(datagram, "", "priority", priority);
    append_field(datagram, "", "syslog_identifier", IDENTIFIER);
    append_field(datagram, "ZKLOCK_", "event", entry->event);
    for (size_t i = 0; i < entry->count; i++) {
        append_field(datagram, "ZKLOCK_", entry->fields[i].name, field_text(&entry->fields[i]));
    }
    if (fclose(datagram) == 0) {
        (void)send_to(JOURNAL_SOCKET, bytes, length);
    }
    free(bytes);
}

/* ---- syslog ---------------------------------------------------------------------------------- */

/* Sends a line with the fields behind the message. syslog(3) would wait for as long as nobody reads
 * it. */
static void write_to_syslog(const log_entry *entry) {
    char line[MESSAGE_SIZE];
    char datagram[DATAGRAM_SIZE];
    char moment[MOMENT_SIZE];
    time_t now = time(NULL);
    struct tm parts = { 0 };
    int used = snprintf(line, sizeof(line), "%s: %s", entry->event, entry->message);
    for (size_t i = 0; i < entry->count && used < (int)sizeof(line); i++) {
        used += snprintf(line + used, sizeof(line) - (size_t)used, " %s=%s", entry->fields[i].name,
                         field_text(&entry->fields[i]));
    }
    localtime_r(&now, &parts);
    strftime(moment, sizeof(moment), "%b %e %H:%M:%S", &parts);
    used = snprintf(datagram, sizeof(datagram), "<%d>%s %s[%d]: %s", LOG_DAEMON | entry->priority,
                    moment, IDENTIFIER, (int)getpid(), printable(line));
    (void)send_to(SYSLOG_SOCKET, datagram, (size_t)used);
}

/* ---- A file ---------------------------------------------------------------------------------- */

static const char *priority_name(int priority) {
    static const char *const names[] = { "emerg", "alert",  "crit", "error",
                                         "warn",  "notice", "info", "debug" };
    return names[priority & LOG_PRIMASK];
}

static json_t *moment_value(void) {
    struct timespec now;
    struct tm parts = { 0 };
    char text[MOMENT_SIZE];
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &parts);
    size_t used = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(text + used, sizeof(text) - used, ".%03dZ", (int)(now.tv_nsec / 1000000));
    return json_string(text);
}

/* Opens the file. One that is a pipe is never waited for. */
static int open_file(void) {
    return open(file_path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
                FILE_MODE);
}

/* Appends a line in one write: two processes of this command, and other commands, may have the same
 * file. */
static void write_to_file(const log_entry *entry) {
    json_t *value = json_object();
    json_object_set_new(value, "time", moment_value());
    json_object_set_new(value, "level", json_string(priority_name(entry->priority)));
    json_object_set_new(value, "pid", json_integer((json_int_t)getpid()));
    json_object_set_new(value, "event", json_string(entry->event));
    json_object_set_new(value, "message", json_of_text(entry->message));
    for (size_t i = 0; i < entry->count; i++) {
        const log_field *one = &entry->fields[i];
        json_object_set_new(value, one->name,
                            one->text != NULL ? json_of_text(one->text)
                                              : json_integer(strtoll(one->number, NULL, 10)));
    }
    char *line = json_dumps(value, JSON_COMPACT | JSON_ENSURE_ASCII); /* printable.h */
    int file = open_file();
    if (line != NULL && file >= 0) {
        size_t length = strlen(line);
        line[length] = '\n'; /* in place of the NUL */
        ssize_t ignored = write(file, line, length + 1);
        (void)ignored; /* there is nobody to tell */
    }
    if (file >= 0) {
        close(file);
    }
    free(line);
    json_decref(value);
}

/* ---- All three ------------------------------------------------------------------------------- */

bool log_begin(const char *where) {
    bool works = true;
    if (strcmp(where, "none") == 0) {
        kind = LOG_TO_NOTHING;
    } else if (strcmp(where, "journal") == 0) {
        kind = LOG_TO_JOURNAL;
        works = send_to(JOURNAL_SOCKET, "", 0);
    } else if (strcmp(where, "syslog") == 0) {
        kind = LOG_TO_SYSLOG;
        works = send_to(SYSLOG_SOCKET, "", 0);
    } else {
        kind = LOG_TO_FILE;
        file_path = where;
        int file = open_file();
        works = file >= 0;
        if (works) {
            close(file);
        }
    }
    if (!works) {
        kind = LOG_TO_NOTHING;
    }
    return works;
}

bool log_is_on(void) {
    return kind != LOG_TO_NOTHING;
}

static void log_write(const log_entry *entry) {
    int found = errno;
    if (kind == LOG_TO_JOURNAL) {
        write_to_journal(entry);
    } else if (kind == LOG_TO_SYSLOG) {
        write_to_syslog(entry);
    } else if (kind == LOG_TO_FILE) {
        write_to_file(entry);
    }
    errno = found;
}

void log_said(const char *text) {
    log_entry entry = { .priority = LOG_NOTICE, .event = "message", .message = text };
    log_write(&entry);
}

void log_child(const char *event, const char *resource, int64_t token, const char *command,
               int status) {
    log_entry entry = { .priority = LOG_INFO, .event = event, .message = command };
    add_text(&entry, "resource", resource);
    add_number(&entry, "token", token, true);
    add_number(&entry, "exit_status", status, status >= 0);
    log_write(&entry);
}

void log_record(void *arg, const zkl_log_record *record) {
    static const int priorities[] = { LOG_ERR, LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG };
    (void)arg;
    log_entry entry = { .priority = priorities[record->level],
                        .event = zkl_log_event_name((int)record->event),
                        .message = record->message };
    add_text(&entry, "resource", record->resource);
    add_text(&entry, "owner", record->owner);
    add_text(&entry, "lock_owner", record->lock_owner);
    add_text(&entry, "node", record->node);
    add_text(&entry, "behind", record->behind);
    add_text(&entry, "status", record->status != ZKL_OK ? zkl_strerror(record->status) : NULL);
    add_number(&entry, "waited_ms", record->waited_ms, record->waited_ms >= 0);
    add_number(&entry, "held_ms", record->held_ms, record->held_ms >= 0);
    add_number(&entry, "token", record->token, record->held_ms >= 0);
    char session[NUMBER_SIZE];
    snprintf(session, sizeof(session), "0x%" PRIx64, (uint64_t)record->session_id);
    add_text(&entry, "session", record->session_id != 0 ? session : NULL);
    log_write(&entry);
}
