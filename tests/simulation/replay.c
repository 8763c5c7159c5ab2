/*
 * Plays a client's record back, step by step:
 *
 *     replay FILE
 *
 * Each step is shown with when it was (seconds after the client was opened),
 * whose it was, what the request, the set or the loan was told, what it did, and what became of its
 * state. Exit status: 0 when the recipe does all of it just so (or nothing is
 * there to be done, which it says), 1 when it does not, 2 when the file is no record.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "playback.h"

enum { MS_PER_SECOND = 1000, EXIT_REFUSED = 2 };

static void show_changes(const playback_view *view) {
    for (size_t i = 0; i < view->fields->count; i++) {
        playback_line before;
        playback_line after;
        playback_write_field(&before, &view->fields->list[i], view->before);
        playback_write_field(&after, &view->fields->list[i], view->after);
        if (strcmp(before.text, after.text) != 0) {
            printf("                  state  %s  =>  %s\n", before.text, after.text);
        }
    }
}

/* A record's line, without its number and its time. */
static const char *skip_words(const char *line, int words) {
    for (; words > 0; words--) {
        line = strchr(line, ' ') + 1;
    }
    return line;
}

static void show_step(const playback_view *view, const char *what) {
    const char *arrow = strstr(what, " -> ");
    printf("%.*s%s\n", (int)(arrow - what), what,
           view->skipped ? "   (not played: its STATE was forgotten)" : "");
    printf("                  does   %s\n", arrow + strlen(" -> "));
    if (!view->skipped) {
        show_changes(view);
    }
}

static void show(void *arg, const playback_view *view) {
    (void)arg;
    int64_t ms = view->record->ms - view->header->opened_ms;
    const char *what = skip_words(view->line, 2);
    printf("%8" PRIu64 " %+9.3f  ", view->record->number, (double)ms / MS_PER_SECOND);
    if (view->record->kind == RECORD_EVENT || view->record->kind == RECORD_STEP) {
        show_step(view, what);
    } else {
        puts(what);
    }
}

static int show_result(const char *path, const playback_result *result) {
    const playback_counts *counts = &result->counts;
    if (result->verdict == PLAYBACK_REFUSED) {
        fprintf(stderr, "%s: %s\n", path, result->message);
        return EXIT_REFUSED;
    }
    if (counts->skipped > 0) {
        printf("%" PRIu64 " events were not played: the record has forgotten what came before\n",
               counts->skipped);
    }
    if (result->verdict == PLAYBACK_DIFFERS) {
        printf("%" PRIu64 " steps as the recipe does them, and then a difference:\n%s\n",
               counts->steps, result->message);
        return EXIT_FAILURE;
    }
    if (counts->steps == 0) { /* of a client that asked for nothing, or has forgotten it */
        puts("nothing to play back");
        return EXIT_SUCCESS;
    }
    printf("%" PRIu64 " steps of %" PRIu64 " requests, all as the recipe does them\n",
           counts->steps, counts->requests);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fputs("usage: replay FILE\n", stderr);
        return EXIT_REFUSED;
    }
    static playback_result result;
    playback_play_file(argv[1], &(playback_options){ .visit = show }, &result);
    return show_result(argv[1], &result);
}
