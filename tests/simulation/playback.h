/*
 * Plays a record back: gives each request and each other machine the events that it was given, in
 * the same recipe, and holds its actions, and its state wherever that was recorded, to what the
 * record says. Another machine's state is in each of its lines.
 *
 * A request is played from its first STATE on. What comes before is skipped and
 * counted, where the ring has forgotten that STATE; if nothing was forgotten,
 * its absence is a difference. One that begins with START must begin as
 * zkl_request_begin makes it.
 */
#pragma once

#include "record_reader.h"

typedef struct playback_counts {
    uint64_t records;
    uint64_t steps;    /* events that were played */
    uint64_t states;   /* that were held to what the recipe had come to */
    uint64_t requests; /* that were played */
    uint64_t skipped;  /* events of requests whose STATE was forgotten */
} playback_counts;

/** A record as it was played, for who wants to show it. */
typedef struct playback_view {
    const record_header *header;
    const record_entry *record;
    const char *line; /* as it stands in the file */
    bool skipped;
    const zkl_record_fields *fields; /* of the next two: those of their machine */
    const void *before;              /* of news: NULL */
    const void *after;
} playback_view;

typedef struct playback_options {
    bool may_be_cut;
    void (*visit)(void *arg, const playback_view *view); /* may be NULL */
    void *arg;
} playback_options;

enum { PLAYBACK_MESSAGE_SIZE = 4 * ZKL_RECORD_LINE_MAX };

typedef enum playback_verdict {
    PLAYBACK_SAME,
    PLAYBACK_DIFFERS,
    PLAYBACK_REFUSED /* not a record, or out of memory */
} playback_verdict;

typedef struct playback_result {
    playback_verdict verdict;
    playback_counts counts;
    char message[PLAYBACK_MESSAGE_SIZE]; /* what differs, or why it was refused */
} playback_result;

typedef struct playback_line {
    char text[ZKL_RECORD_LINE_MAX];
} playback_line;

/** What a field is: also where a record is silent about it. */
void playback_write_field(playback_line *line, const zkl_record_field *field, const void *object);

/** What actions are, in a record. */
void playback_write_actions(playback_line *line, zkl_record_machine machine, const void *actions);

/** Plays a record of `length` bytes, and one more for a NUL; they are changed. */
void playback_play(char *text, size_t length, const playback_options *options,
                   playback_result *result);

/** The same for a file; one that cannot be read is refused. */
void playback_play_file(const char *path, const playback_options *options, playback_result *result);
