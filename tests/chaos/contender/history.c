#include "history.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int file = -1;

int history_open(const char *path) {
    file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
                S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH);
    return file < 0 ? errno : 0;
}

static void give_up(const char *why) {
    fprintf(stderr, "chaos_contender: the history cannot be written: %s\n", why);
    _exit(HISTORY_FAILED);
}

static int64_t boot_time_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* ---- Making a line --------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void add(history_line *line, const char *format, ...) {
    size_t room = sizeof line->text - line->length;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line->text + line->length, room, format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= room) {
        give_up("a line is too long");
    }
    line->length += (size_t)length;
}

static void add_text(history_line *line, const char *text) {
    add(line, "\"");
    for (const char *next = text; *next != '\0'; next++) {
        unsigned char byte = (unsigned char)*next;
        if (byte == '"' || byte == '\\') {
            add(line, "\\%c", byte);
        } else if (byte < ' ') {
            add(line, "\\u%04x", byte);
        } else {
            add(line, "%c", byte);
        }
    }
    add(line, "\"");
}

/* The names of fields are our own: they need no care. */
static void add_field(history_line *line, const char *field) {
    bool is_first = line->text[line->length - 1] == '{';
    add(line, is_first ? "\"%s\":" : ",\"%s\":", field);
}

void history_begin(history_line *line, const char *who, const char *event) {
    line->length = 0;
    add(line, "{\"at\":%" PRId64, boot_time_ns());
    history_text(line, "who", who);
    history_number(line, "process", getpid());
    history_text(line, "event", event);
}

void history_text(history_line *line, const char *field, const char *text) {
    add_field(line, field);
    add_text(line, text);
}

void history_number(history_line *line, const char *field, int64_t number) {
    add_field(line, field);
    add(line, "%" PRId64, number);
}

void history_true(history_line *line, const char *field) {
    add_field(line, field);
    add(line, "true");
}

void history_token(history_line *line, int64_t token, int64_t local_number) {
    add_field(line, "token");
    add(line, "[%" PRId64 ",%" PRId64 "]", token, local_number);
}

void history_session(history_line *line, int64_t session) {
    add_field(line, "session");
    add(line, "\"0x%" PRIx64 "\"", (uint64_t)session);
}

void history_texts(history_line *line, const char *field, const char *const *texts, size_t count) {
    add_field(line, field);
    for (size_t i = 0; i < count; i++) {
        add(line, i == 0 ? "[" : ",");
        add_text(line, texts[i]);
    }
    add(line, "]");
}

void history_begin_object(history_line *line, const char *field) {
    add_field(line, field);
    add(line, "{");
}

void history_end_object(history_line *line) {
    add(line, "}");
}

/* ---- Writing it ------------------------------------------------------------------------------ */

void history_write(history_line *line) {
    add(line, "}\n");
    ssize_t written = write(file, line->text, line->length);
    if (written != (ssize_t)line->length) {
        give_up(written < 0 ? strerror(errno) : "no room for the whole line");
    }
}
