#include "telemetry/recorder.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/pool.h"
#include "base/threads.h"

enum { MS_PER_SECOND = 1000, ESCAPED_LABEL_SIZE = 3 * ZKL_LABEL_MAX + 1 };

struct zkl_recorder {
    zkl_pool pool; /* of what it points to */
    char *bytes;   /* the ring: byte n of all is at n % size */
    size_t size;
    uint64_t written;   /* bytes, in all */
    uint64_t kept_from; /* where the oldest line that is left begins */
    uint64_t records;   /* in all */
    uint64_t dropped;
    uint64_t sessions;
    uint64_t requests;
    uint64_t sets;
    uint64_t loans;
    zkl_text text; /* of the line */
    char line[ZKL_RECORD_LINE_MAX];
    char label[ESCAPED_LABEL_SIZE];
    const char *file_prefix;
    char opened[ZKL_TIME_SIZE];
    int64_t opened_ms;
    zkl_record_listener *listener; /* NULL: nobody listens */
    void *stream;                  /* the listener's */
};

static zkl_record_listener *next_listener; /* of recorders to come */

void zkl_recorder_listen(zkl_record_listener *listener) {
    next_listener = listener;
}

static void tell_listener(zkl_recorder *recorder, const char *line, size_t length) {
    if (recorder->listener != NULL) {
        recorder->listener(&recorder->stream, line, length);
    }
}

/* ---- The ring --------------------------------------------------------------- */

/* The bytes from one place up to another, or to the end of the ring. */
static zkl_record_piece cut_piece(const zkl_recorder *recorder, uint64_t from, uint64_t to) {
    size_t start = (size_t)(from % recorder->size);
    size_t left = recorder->size - start;
    size_t length = to - from < left ? (size_t)(to - from) : left;
    return (zkl_record_piece){ recorder->bytes + start, length };
}

static void forget_oldest(zkl_recorder *recorder) {
    for (;;) {
        zkl_record_piece piece = cut_piece(recorder, recorder->kept_from, recorder->written);
        const char *end = memchr(piece.bytes, '\n', piece.length);
        if (end != NULL) {
            recorder->kept_from += (uint64_t)(end - piece.bytes) + 1;
            recorder->dropped++;
            return;
        }
        recorder->kept_from += piece.length; /* the line goes on at the beginning of the ring */
    }
}

static void keep(zkl_recorder *recorder, const char *line, size_t length) {
    while (recorder->written - recorder->kept_from + length > recorder->size) {
        forget_oldest(recorder);
    }
    while (length > 0) {
        size_t start = (size_t)(recorder->written % recorder->size);
        size_t part = length < recorder->size - start ? length : recorder->size - start;
        memcpy(recorder->bytes + start, line, part);
        recorder->written += part;
        line += part;
        length -= part;
    }
}

/* ---- Lines -------------------------------------------------------------------- */

static void begin_line(zkl_recorder *recorder, int64_t now_ms, const char *who, uint64_t number) {
    /* The newline always has room. */
    recorder->text = (zkl_text){ .bytes = recorder->line, .size = sizeof(recorder->line) - 1 };
    zkl_text_add_number(&recorder->text, (int64_t)recorder->records + 1);
    zkl_text_add_numbered(&recorder->text, " ", now_ms);
    zkl_text_add_numbered(&recorder->text, who, (int64_t)number);
    zkl_text_add(&recorder->text, " ");
}

static void end_line(zkl_recorder *recorder) {
    recorder->line[recorder->text.length++] = '\n';
    keep(recorder, recorder->line, recorder->text.length);
    recorder->records++;
    tell_listener(recorder, recorder->line, recorder->text.length);
}

/* A set or a loan gets its number with its first line. */
static void give_number(uint64_t *number, uint64_t *count) {
    *number = *number != 0 ? *number : ++*count;
}

/* ---- Sessions ------------------------------------------------------------------ */

uint64_t zkl_recorder_begin_session(zkl_recorder *recorder) {
    return recorder != NULL ? ++recorder->sessions : 0;
}

void zkl_recorder_add_news(zkl_recorder *recorder, uint64_t session, int64_t now_ms,
                           const zkl_session_news *news) {
    if (recorder == NULL) {
        return;
    }
    begin_line(recorder, now_ms, " session=", session);
    zkl_record_write_news(&recorder->text, news);
    end_line(recorder);
}

/* ---- Requests ------------------------------------------------------------------- */

static bool state_is_due(const zkl_recorder *recorder, const zkl_recorded_request *recorded) {
    return recorded->mark->number == 0 || recorded->mark->events >= ZKL_RECORD_EVENTS_PER_STATE ||
           recorder->written - recorded->mark->state_at > recorder->size / 2;
}

static void add_state(zkl_recorder *recorder, const zkl_recorded_request *recorded, int64_t now_ms,
                      const zkl_request *request) {
    if (recorded->mark->number == 0) {
        recorded->mark->number = (unsigned)++recorder->requests;
    }
    recorded->mark->state_at = recorder->written;
    recorded->mark->events = 0;
    begin_line(recorder, now_ms, " request=", recorded->mark->number);
    zkl_text_add_numbered(&recorder->text, "STATE session=", (int64_t)recorded->session);
    zkl_text_add(&recorder->text, " path=");
    zkl_text_add_value(&recorder->text, recorded->path);
    zkl_record_write_state(&recorder->text, request);
    end_line(recorder);
}

/* Every request gets probes all the time. Those that change nothing are not recorded. */
static bool is_idle(const zkl_request *before, const zkl_event *event, const zkl_actions *actions) {
    return event->kind == ZKL_EVENT_PROBE && before->stage != ZKL_STAGE_FIRST &&
           actions->count == 0;
}

void zkl_recorder_add_step(zkl_recorder *recorder, const zkl_recorded_request *recorded,
                           int64_t now_ms, const zkl_request *before, const zkl_event *event,
                           const zkl_actions *actions) {
    if (state_is_due(recorder, recorded)) {
        add_state(recorder, recorded, now_ms, before);
    }
    if (is_idle(before, event, actions)) {
        return;
    }
    begin_line(recorder, now_ms, " request=", recorded->mark->number);
    zkl_record_write_event(&recorder->text, before, event);
    zkl_record_write_actions(&recorder->text, actions);
    recorded->mark->events++;
    if (recorder->text.too_long) {
        begin_line(recorder, now_ms, " request=", recorded->mark->number);
        zkl_text_add(&recorder->text, "TOO_LONG");
        recorded->mark->events = ZKL_RECORD_EVENTS_PER_STATE;
    }
    end_line(recorder);
}

/* ---- Sets and loans -------------------------------------------------------------- */

void zkl_recorder_add_set_step(zkl_recorder *recorder, uint64_t *number, int64_t now_ms,
                               const zkl_set *before, const zkl_set_event *event,
                               const zkl_set_actions *actions) {
    if (recorder == NULL) {
        return;
    }
    give_number(number, &recorder->sets);
    begin_line(recorder, now_ms, " set=", *number);
    zkl_record_write_set_step(&recorder->text, before, event, actions);
    end_line(recorder);
}

/* Tells whether a step is left out. A retained lock that nobody else wants is acquired many
 * thousand times a second: its grants and returns would leave no room for all else. The next step
 * says by `number` how many there were. */
static bool is_routine(const zkl_lending_state *before, const zkl_lending_event *event,
                       const zkl_lending_actions *actions) {
    bool is_ours = before->stage == ZKL_LENDING_STAGE_OURS && before->alone && !before->called &&
                   !before->doubtful;
    zkl_lending_action_kind expected =
        event->kind == ZKL_LENDING_EVENT_CAME ? ZKL_LENDING_ACTION_LEND : ZKL_LENDING_ACTION_KEEP;
    return is_ours &&
           (event->kind == ZKL_LENDING_EVENT_CAME || event->kind == ZKL_LENDING_EVENT_RETURNED) &&
           actions->count == 1 && actions->list[0].kind == expected;
}

void zkl_recorder_add_lending_step(zkl_recorder *recorder, uint64_t *number, int64_t now_ms,
                                   const zkl_lending_state *before, const zkl_lending_event *event,
                                   const zkl_lending_actions *actions) {
    if (recorder == NULL || is_routine(before, event, actions)) {
        return;
    }
    give_number(number, &recorder->loans);
    begin_line(recorder, now_ms, " loan=", *number);
    zkl_record_write_lending_step(&recorder->text, before, event, actions);
    end_line(recorder);
}

/* ---- What it knows ---------------------------------------------------------------- */

static size_t write_header(const zkl_recorder *recorder, char header[ZKL_RECORD_HEADER_SIZE]) {
    return (size_t)snprintf(header, ZKL_RECORD_HEADER_SIZE,
                            "zklock-record version=%d library=%s process=%ld label=%s opened=%s "
                            "opened_ms=%" PRId64 " dropped=%" PRIu64 "\n",
                            ZKL_RECORD_VERSION, zkl_version(), (long)getpid(), recorder->label,
                            recorder->opened, recorder->opened_ms, recorder->dropped);
}

static size_t write_footer(uint64_t records, char footer[ZKL_RECORD_FOOTER_SIZE]) {
    return (size_t)snprintf(footer, ZKL_RECORD_FOOTER_SIZE, "end records=%" PRIu64 "\n", records);
}

void zkl_recorder_take_pieces(const zkl_recorder *recorder, zkl_record_pieces *pieces) {
    size_t header = write_header(recorder, pieces->header);
    size_t footer = write_footer(recorder->records - recorder->dropped, pieces->footer);
    zkl_record_piece *list = pieces->list;
    list[0] = (zkl_record_piece){ pieces->header, header };
    list[1] = cut_piece(recorder, recorder->kept_from, recorder->written);
    list[2] = cut_piece(recorder, recorder->kept_from + list[1].length, recorder->written);
    list[3] = (zkl_record_piece){ pieces->footer, footer };
}

size_t zkl_recorder_size_max(const zkl_recorder *recorder) {
    return ZKL_RECORD_HEADER_SIZE + recorder->size + ZKL_RECORD_FOOTER_SIZE;
}

const char *zkl_recorder_file_prefix(const zkl_recorder *recorder) {
    return recorder->file_prefix;
}

/* ---- Opening and closing ------------------------------------------------------------ */

static void note_file_prefix(zkl_recorder *recorder, const char *directory) {
    static _Atomic unsigned count;
    /* secure_getenv: a set-user-ID program does not write where its user says. */
    const char *temporary = secure_getenv("TMPDIR");
    if (directory == NULL) {
        directory = temporary != NULL && temporary[0] != '\0' ? temporary : "/tmp";
    }
    recorder->file_prefix =
        zkl_pool_print(&recorder->pool, "%s/zklock-%ld-%u-", directory, (long)getpid(), ++count);
}

void zkl_format_time(char text[ZKL_TIME_SIZE], int64_t wall_clock_ms) {
    time_t seconds = (time_t)(wall_clock_ms / MS_PER_SECOND);
    struct tm utc;
    if (gmtime_r(&seconds, &utc) == NULL ||
        strftime(text, ZKL_TIME_SIZE, "%Y-%m-%dT%H:%M:%SZ", &utc) == 0) {
        snprintf(text, ZKL_TIME_SIZE, "unknown");
    }
}

static void free_recorder(zkl_recorder *recorder) {
    zkl_pool_free(&recorder->pool);
    free(recorder);
}

zkl_recorder *zkl_recorder_open(int32_t events, const char *label, const char *directory) {
    zkl_recorder *recorder = calloc(1, sizeof(*recorder));
    if (recorder == NULL) {
        return NULL;
    }
    recorder->size = (size_t)events * ZKL_RECORD_EVENT_BYTES;
    recorder->bytes = zkl_pool_take(&recorder->pool, recorder->size);
    zkl_text escaped = { .bytes = recorder->label, .size = sizeof(recorder->label) - 1 };
    zkl_text_add_value(&escaped, label);
    note_file_prefix(recorder, directory);
    if (zkl_pool_status(&recorder->pool) != ZKL_OK) {
        free_recorder(recorder);
        return NULL;
    }
    recorder->opened_ms = zkl_clock_ms();
    zkl_format_time(recorder->opened, zkl_wall_clock_ms());
    recorder->listener = next_listener;
    tell_listener(recorder, recorder->line, write_header(recorder, recorder->line));
    return recorder;
}

void zkl_recorder_close(zkl_recorder *recorder) {
    if (recorder != NULL) {
        tell_listener(recorder, recorder->line, write_footer(recorder->records, recorder->line));
        tell_listener(recorder, NULL, 0);
        free_recorder(recorder);
    }
}
