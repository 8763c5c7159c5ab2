#include "played_back.h"

#include <stdlib.h>
#include <string.h>

#include "playback.h"
#include "telemetry/recorder.h"

typedef struct stream {
    char *text;
    size_t length;
    size_t size;
} stream;

static _Atomic unsigned long steps;
static void (*told)(const char *difference);

/* One byte more than the text is always there, for a NUL. */
static void keep_line(stream *self, const char *line, size_t length) {
    if (self->size - self->length <= length) {
        self->size = 2 * (self->size + length + 1);
        self->text = realloc(self->text, self->size);
        if (self->text == NULL) {
            abort();
        }
    }
    memcpy(self->text + self->length, line, length);
    self->length += length;
}

static void play_back(stream *self) {
    playback_result *result = malloc(sizeof(*result));
    if (result == NULL) {
        abort();
    }
    playback_play(self->text, self->length, &(playback_options){ .may_be_cut = false }, result);
    told(result->verdict == PLAYBACK_SAME ? NULL : result->message);
    steps += result->counts.steps;
    free(result);
    free(self->text);
    free(self);
}

static void on_line(void **arg, const char *line, size_t length) {
    if (*arg == NULL) {
        *arg = calloc(1, sizeof(stream));
    }
    if (*arg == NULL) {
        abort();
    }
    if (line != NULL) {
        keep_line(*arg, line, length);
    } else {
        play_back(*arg);
    }
}

void played_back_begin(void (*on_end)(const char *difference)) {
    told = on_end;
    zkl_recorder_listen(on_end != NULL ? on_line : NULL);
}

unsigned long played_back_steps(void) {
    return steps;
}
