#include "journal.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { NUMBERS = 4, NUMBER_SIZE = 24, TIME_SIZE = 40 };

static const char *instance_name = "";

void journal_begin(const char *instance) {
    instance_name = instance;
}

static void write_time(char text[TIME_SIZE]) {
    struct timespec now;
    struct tm parts;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)gmtime_r(&now.tv_sec, &parts);
    size_t length = strftime(text, TIME_SIZE, "%Y-%m-%dT%H:%M:%S", &parts);
    (void)snprintf(text + length, TIME_SIZE - length, ".%03dZ", (int)(now.tv_nsec / 1000000));
}

void journal_write(const char *event, ...) {
    char now[TIME_SIZE];
    va_list arguments;
    write_time(now);
    json_t *line =
        json_pack("{s:s, s:s, s:s}", "time", now, "instance", instance_name, "event", event);
    va_start(arguments, event);
    for (const char *name = va_arg(arguments, const char *); name != NULL;
         name = va_arg(arguments, const char *)) {
        (void)json_object_set_new(line, name, json_string(va_arg(arguments, const char *)));
    }
    va_end(arguments);
    char *text = json_dumps(line, JSON_COMPACT | JSON_PRESERVE_ORDER);
    json_decref(line);
    size_t length = text != NULL ? strlen(text) : 0;
    if (text != NULL) { /* one write: several threads write lines */
        text[length] = '\n';
        ssize_t ignored = write(STDOUT_FILENO, text, length + 1);
        (void)ignored;
    }
    free(text);
}

const char *journal_number(int64_t number) {
    static _Thread_local char texts[NUMBERS][NUMBER_SIZE];
    static _Thread_local int next;
    char *text = texts[next++ % NUMBERS];
    (void)snprintf(text, NUMBER_SIZE, "%" PRId64, number);
    return text;
}
