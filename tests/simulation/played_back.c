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

static void *on_opened(void) {
    return calloc(1, sizeof(stream));
}

/* One byte more than the text is always there, for a NUL. */
static void on_line(void *arg, const char *line, size_t length) {
    stream *self = arg;
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

static void on_closed(void *arg) {
    stream *self = arg;
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

void played_back_begin(void (*on_end)(const char *difference)) {
    static const zkl_record_listener listener = { on_opened, on_line, on_closed };
    told = on_end;
    zkl_recorder_listen(on_end != NULL ? &listener : NULL);
}

unsigned long played_back_steps(void) {
    return steps;
}
