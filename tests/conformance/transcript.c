#include "transcript.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stage.h"

enum { TEXT_SIZE = 65536, SEEN_MAX = 256, ZXID_MARK = '\001', ZXID_DIGITS = 16 };

/* Callbacks note zxids and sessions, on threads of the connection. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static struct {
    char text[TEXT_SIZE];
    size_t length;
    int64_t zxids[SEEN_MAX];
    size_t zxid_count;
    int64_t sessions[SEEN_MAX];
    size_t session_count;
} transcript;

static void require_room(bool room) {
    if (!room) {
        fprintf(stderr, "the conversation is too long\n");
        abort();
    }
}

/* Its place in a list, to which it is added if it is new. */
static size_t place_of(int64_t *list, size_t *count, int64_t number) {
    size_t place = 0;
    pthread_mutex_lock(&mutex);
    while (place < *count && list[place] != number) {
        place++;
    }
    require_room(place < SEEN_MAX);
    list[place] = number;
    *count += place == *count ? 1 : 0;
    pthread_mutex_unlock(&mutex);
    return place;
}

void transcript_begin(void) {
    transcript.length = 0;
    transcript.zxid_count = 0;
    transcript.session_count = 0;
}

void transcript_add(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    size_t room = TEXT_SIZE - transcript.length;
    int written = vsnprintf(transcript.text + transcript.length, room, format, arguments);
    va_end(arguments);
    require_room(written >= 0 && (size_t)written + 1 < room);
    transcript.length += (size_t)written;
    transcript.text[transcript.length++] = '\n';
}

transcript_word transcript_zxid(int64_t zxid) {
    transcript_word word;
    (void)place_of(transcript.zxids, &transcript.zxid_count, zxid);
    snprintf(word.text, sizeof(word.text), "%c%016" PRIx64, ZXID_MARK, (uint64_t)zxid);
    return word;
}

transcript_word transcript_session(int64_t session_id) {
    transcript_word word = { "nobody" };
    if (session_id != 0) {
        size_t place = place_of(transcript.sessions, &transcript.session_count, session_id);
        snprintf(word.text, sizeof(word.text), "session %zu", place + 1);
    }
    return word;
}

const char *transcript_path(const char *path) {
    const char *root = stage_root();
    size_t length = strlen(root);
    if (path == NULL) {
        return "no path";
    }
    return strncmp(path, root, length) == 0 ? path + length : path;
}

static size_t rank_of(int64_t zxid) {
    size_t rank = 1;
    for (size_t i = 0; i < transcript.zxid_count; i++) {
        rank += transcript.zxids[i] < zxid ? 1 : 0;
    }
    return rank;
}

char *transcript_end(void) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    require_room(out != NULL);
    transcript.text[transcript.length] = '\0';
    for (const char *next = transcript.text; *next != '\0'; next++) {
        if (*next == ZXID_MARK) {
            char digits[ZXID_DIGITS + 1];
            snprintf(digits, sizeof(digits), "%s", next + 1);
            fprintf(out, "zxid %zu", rank_of((int64_t)strtoull(digits, NULL, 16)));
            next += ZXID_DIGITS;
        } else {
            fputc(*next, out);
        }
    }
    require_room(fclose(out) == 0);
    return text;
}
