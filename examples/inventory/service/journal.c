#include "journal.h"

#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
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

/* A full disk has cut the last line. */
static bool is_cut;

/* Writes a text at once. False: nobody reads, there is no room, or it is too long for one write. A
 * pipe that can be written takes PIPE_BUF bytes at once; of a file a full disk may take a part. */
static bool try_write(const char *text, size_t length) {
    struct pollfd output = { .fd = STDOUT_FILENO, .events = POLLOUT };
    bool has_room =
        length <= PIPE_BUF && poll(&output, 1, 0) == 1 && (output.revents & POLLOUT) != 0;
    ssize_t written = has_room ? write(STDOUT_FILENO, text, length) : 0;
    is_cut = written > 0 ? written < (ssize_t)length : is_cut;
    return written == (ssize_t)length;
}

static json_t *journal_begin_line(const char *event) {
    char now[TIME_SIZE];
    write_time(now);
    return json_pack("{s:s, s:s, s:s}", "time", now, "instance", instance_name, "event", event);
}

/* Writes a line in one write: other processes may write to the same place. Ends a line that was cut
 * before, so that nobody reads the two as one. */
static bool write_line(json_t *line) {
    char *text = json_dumps(line, JSON_COMPACT | JSON_PRESERVE_ORDER);
    size_t length = text != NULL ? strlen(text) : 0;
    if (text != NULL) {
        text[length] = '\n';
    }
    bool is_written =
        text != NULL && (!is_cut || try_write("\n", 1)) && try_write(text, length + 1);
    free(text);
    json_decref(line);
    return is_written;
}

/* Writes a line, or counts it if there is no room: the shop does not wait for its log. The next
 * line that finds room is preceded by the number of lost ones. */
static void write_or_count(json_t *line) {
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static int64_t lost;
    pthread_mutex_lock(&mutex);
    bool is_caught_up = lost == 0;
    if (!is_caught_up) {
        json_t *gap = journal_begin_line("lines_lost");
        (void)json_object_set_new(gap, "lines", json_string(journal_number(lost)));
        is_caught_up = write_line(gap);
        lost = is_caught_up ? 0 : lost;
    }
    if (!is_caught_up) {
        json_decref(line);
        lost++;
    } else if (!write_line(line)) {
        lost++;
    }
    pthread_mutex_unlock(&mutex);
}

void journal_write(const char *event, ...) {
    va_list arguments;
    json_t *line = journal_begin_line(event);
    va_start(arguments, event);
    for (const char *name = va_arg(arguments, const char *); name != NULL;
         name = va_arg(arguments, const char *)) {
        (void)json_object_set_new(line, name, json_string(va_arg(arguments, const char *)));
    }
    va_end(arguments);
    write_or_count(line);
}

const char *journal_number(int64_t number) {
    static _Thread_local char texts[NUMBERS][NUMBER_SIZE];
    static _Thread_local int next;
    char *text = texts[next++ % NUMBERS];
    (void)snprintf(text, NUMBER_SIZE, "%" PRId64, number);
    return text;
}
