#include "telemetry/recorder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/pool.h"
#include "base/threads.h"

enum { MS_PER_SECOND = 1000, ESCAPED_LABEL_SIZE = 3 * ZKL_LABEL_MAX + 1, PIECE_SIZE = 2048 };

/* The newest event can be as large as a record may be, and waste as much at the ring's end. Its
 * STATE, which is half a ring old at most, must be there still. */
enum { RING_SIZE_MIN = 4 * ZKL_RECORD_PACKED_MAX };

struct zkl_recorder {
    zkl_pool pool; /* of what it points to */
    char *ring;    /* byte n of all is at n % size */
    size_t size;
    uint64_t written;   /* bytes, in all */
    uint64_t kept_from; /* where the oldest record that is left begins */
    uint64_t records;   /* in all */
    uint64_t dropped;
    uint32_t sessions;
    uint32_t numbers[ZKL_RECORD_MACHINES]; /* how many there were of each */
    bool may_be_idle; /* the step that has begun is not recorded if it has no actions */
    zkl_packing packing;
    char label[ESCAPED_LABEL_SIZE];
    const char *file_prefix;
    char opened[ZKL_TIME_SIZE];
    int64_t opened_ms;
    zkl_record_listener *listener; /* NULL: nobody listens */
    void *stream;                  /* the listener's */
};

/* ---- Listening -------------------------------------------------------------- */

static zkl_record_listener *next_listener; /* of recorders to come */

void zkl_recorder_listen(zkl_record_listener *listener) {
    next_listener = listener;
}

typedef struct heard_text {
    zkl_text text;
    zkl_recorder *recorder;
    char bytes[PIECE_SIZE];
} heard_text;

static void tell_piece(zkl_text *text) {
    zkl_recorder *recorder = ((heard_text *)text)->recorder;
    recorder->listener(&recorder->stream, text->bytes, text->length);
    text->length = 0;
}

static zkl_text *begin_telling(zkl_recorder *recorder, heard_text *heard) {
    heard->text = (zkl_text){ .bytes = heard->bytes, .size = PIECE_SIZE, .full = tell_piece };
    heard->recorder = recorder;
    return &heard->text;
}

/* ---- The ring --------------------------------------------------------------- */

/* A record is in one piece. Where the next one has no room up to the ring's end, it goes on at the
 * beginning, and a head without a length says so. */
static const zkl_record_head no_record;

static zkl_record_head head_at(const char *ring, size_t size, uint64_t at) {
    zkl_record_head head;
    size_t left = size - (size_t)(at % size);
    if (left < sizeof(head)) {
        return no_record;
    }
    memcpy(&head, ring + at % size, sizeof(head));
    return head;
}

/* Where the ring goes on, after a record or what stands for none. */
static uint64_t next_after(uint64_t at, size_t size, uint16_t length) {
    return at + (length != 0 ? length : size - at % size);
}

static void forget_oldest(zkl_recorder *recorder) {
    uint16_t length = head_at(recorder->ring, recorder->size, recorder->kept_from).length;
    uint64_t next = next_after(recorder->kept_from, recorder->size, length);
    recorder->dropped += length != 0 ? 1 : 0;
    /* Never behind the last record: not even if the ring was overwritten. */
    recorder->kept_from = next < recorder->written ? next : recorder->written;
}

static void make_room(zkl_recorder *recorder, size_t length) {
    while (recorder->written - recorder->kept_from + length > recorder->size) {
        forget_oldest(recorder);
    }
}

static void keep(zkl_recorder *recorder, const char *record, size_t length) {
    size_t left = recorder->size - (size_t)(recorder->written % recorder->size);
    if (length > left) {
        make_room(recorder, left);
        memcpy(recorder->ring + recorder->size - left, &no_record,
               left < sizeof(no_record) ? left : sizeof(no_record));
        recorder->written += left;
    }
    make_room(recorder, length);
    memcpy(recorder->ring + recorder->written % recorder->size, record, length);
    recorder->written += length;
}

/* ---- Records ------------------------------------------------------------------ */

static zkl_packing *begin_record(zkl_recorder *recorder, int64_t now_ms, zkl_record_what what,
                                 zkl_record_machine machine, uint32_t number) {
    const zkl_record_head head = {
        .now_ms = now_ms, .number = number, .what = (uint8_t)what, .machine = (uint8_t)machine
    };
    zkl_packing_begin(&recorder->packing, &head);
    return &recorder->packing;
}

static void tell_line(zkl_recorder *recorder, size_t length) {
    heard_text heard;
    zkl_text *text = begin_telling(recorder, &heard);
    const char *record = recorder->packing.bytes;
    zkl_record_write_line(text, recorder->records, (zkl_packed){ record, record + length });
    tell_piece(text);
}

static void end_record(zkl_recorder *recorder) {
    size_t length = zkl_packing_end(&recorder->packing);
    keep(recorder, recorder->packing.bytes, length);
    recorder->records++;
    if (recorder->listener != NULL) {
        tell_line(recorder, length);
    }
}

/* ---- Sessions ------------------------------------------------------------------ */

uint32_t zkl_recorder_begin_session(zkl_recorder *recorder) {
    return recorder != NULL ? ++recorder->sessions : 0;
}

void zkl_recorder_add_news(zkl_recorder *recorder, uint32_t session, int64_t now_ms,
                           const zkl_session_news *news) {
    if (recorder == NULL) {
        return;
    }
    zkl_pack_news(begin_record(recorder, now_ms, ZKL_RECORD_NEWS, ZKL_RECORD_CONNECTING, session),
                  news);
    end_record(recorder);
}

/* ---- Requests ------------------------------------------------------------------- */

static bool state_is_due(const zkl_recorder *recorder, const zkl_recorded_mark *mark) {
    return mark->number == 0 || mark->events >= ZKL_RECORD_EVENTS_PER_STATE ||
           recorder->written - mark->state_at > recorder->size / 2;
}

static void add_state(zkl_recorder *recorder, const zkl_recorded_request *recorded, int64_t now_ms,
                      const zkl_request *request) {
    zkl_recorded_mark *mark = recorded->mark;
    if (mark->number == 0) {
        mark->number = ++recorder->numbers[ZKL_RECORD_REQUEST];
    }
    mark->state_at = recorder->written;
    mark->events = 0;
    zkl_pack_request(
        begin_record(recorder, now_ms, ZKL_RECORD_STATE, ZKL_RECORD_REQUEST, mark->number),
        recorded->session, recorded->path, request);
    end_record(recorder);
}

/* Every request gets probes all the time. Those that change nothing are not recorded. */
static bool may_be_idle(const zkl_request *request, const zkl_event *event) {
    return event->kind == ZKL_EVENT_PROBE && request->stage != ZKL_STAGE_FIRST;
}

void zkl_recorder_begin_step(zkl_recorder *recorder, const zkl_recorded_request *recorded,
                             int64_t now_ms, const zkl_request *request, const zkl_event *event) {
    zkl_recorded_mark *mark = recorded->mark;
    if (state_is_due(recorder, mark)) {
        add_state(recorder, recorded, now_ms, request);
    }
    recorder->may_be_idle = may_be_idle(request, event);
    zkl_pack_event(
        begin_record(recorder, now_ms, ZKL_RECORD_EVENT, ZKL_RECORD_REQUEST, mark->number), request,
        event);
}

void zkl_recorder_end_step(zkl_recorder *recorder, zkl_recorded_mark *mark,
                           const zkl_actions *actions) {
    zkl_packing *packing = &recorder->packing;
    if (recorder->may_be_idle && actions->count == 0) {
        return;
    }
    zkl_pack_actions(packing, ZKL_RECORD_REQUEST, actions);
    mark->events++;
    if (packing->too_long) {
        zkl_packing_empty(packing, ZKL_RECORD_TOO_LONG);
        mark->events = ZKL_RECORD_EVENTS_PER_STATE;
    }
    end_record(recorder);
}

/* ---- Other machines -------------------------------------------------------------- */

static void add_machine_step(zkl_recorder *recorder, zkl_record_machine machine, uint32_t number,
                             int64_t now_ms, const void *before, const void *event,
                             const void *actions) {
    zkl_packing *packing = begin_record(recorder, now_ms, ZKL_RECORD_STEP, machine, number);
    zkl_pack_state(packing, machine, before);
    zkl_pack_event_of(packing, machine, event);
    zkl_pack_actions(packing, machine, actions);
    end_record(recorder);
}

/* A set or a loan gets its number with its first record. */
static uint32_t number_of(zkl_recorder *recorder, zkl_record_machine machine, uint32_t *number) {
    if (*number == 0) {
        *number = ++recorder->numbers[machine];
    }
    return *number;
}

void zkl_recorder_add_set_step(zkl_recorder *recorder, uint32_t *number, int64_t now_ms,
                               const zkl_set *before, const zkl_set_event *event,
                               const zkl_set_actions *actions) {
    if (recorder != NULL) {
        add_machine_step(recorder, ZKL_RECORD_SET, number_of(recorder, ZKL_RECORD_SET, number),
                         now_ms, before, event, actions);
    }
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

void zkl_recorder_add_lending_step(zkl_recorder *recorder, uint32_t *number, int64_t now_ms,
                                   const zkl_lending_state *before, const zkl_lending_event *event,
                                   const zkl_lending_actions *actions) {
    if (recorder != NULL && !is_routine(before, event, actions)) {
        add_machine_step(recorder, ZKL_RECORD_LOAN, number_of(recorder, ZKL_RECORD_LOAN, number),
                         now_ms, before, event, actions);
    }
}

void zkl_recorder_add_connecting_step(zkl_recorder *recorder, uint32_t number, int64_t now_ms,
                                      const zkl_connecting *before,
                                      const zkl_connecting_event *event,
                                      const zkl_connecting_actions *actions) {
    if (recorder != NULL) {
        add_machine_step(recorder, ZKL_RECORD_CONNECTING, number, now_ms, before, event, actions);
    }
}

/* ---- What it knows ---------------------------------------------------------------- */

static void write_header(const zkl_recorder *recorder, uint64_t dropped, zkl_text *text) {
    zkl_text_add_numbered(text, "zklock-record version=", ZKL_RECORD_VERSION);
    zkl_text_add(text, " library=");
    zkl_text_add(text, zkl_version());
    zkl_text_add_numbered(text, " process=", (long)getpid());
    zkl_text_add(text, " label=");
    zkl_text_add(text, recorder->label);
    zkl_text_add(text, " opened=");
    zkl_text_add(text, recorder->opened);
    zkl_text_add_numbered(text, " opened_ms=", recorder->opened_ms);
    zkl_text_add_numbered(text, " dropped=", (int64_t)dropped);
    zkl_text_add(text, "\n");
}

static void write_footer(uint64_t records, zkl_text *text) {
    zkl_text_add_numbered(text, "end records=", (int64_t)records);
    zkl_text_add(text, "\n");
}

size_t zkl_recorder_ring_size(const zkl_recorder *recorder) {
    return recorder->size;
}

zkl_record_snapshot zkl_recorder_take_snapshot(const zkl_recorder *recorder, char *copy) {
    if (copy != NULL) {
        memcpy(copy, recorder->ring, recorder->size);
    }
    return (zkl_record_snapshot){
        .recorder = recorder,
        .ring = copy != NULL ? copy : recorder->ring,
        .from = recorder->kept_from,
        .to = recorder->written,
        .records = recorder->records,
        .dropped = recorder->dropped,
    };
}

void zkl_record_snapshot_write(const zkl_record_snapshot *self, zkl_text *text) {
    size_t size = self->recorder->size;
    uint64_t number = self->dropped;
    uint64_t at = self->from;
    write_header(self->recorder, self->dropped, text);
    while (at < self->to) {
        uint16_t length = head_at(self->ring, size, at).length;
        const char *record = self->ring + at % size;
        if (length > size - at % size) {
            break; /* memory that was overwritten: a reader refuses the end */
        }
        if (length != 0) {
            zkl_record_write_line(text, ++number, (zkl_packed){ record, record + length });
        }
        at = next_after(at, size, length);
    }
    write_footer(self->records - self->dropped, text);
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
    size_t asked_for = (size_t)events * ZKL_RECORD_EVENT_BYTES;
    recorder->size = asked_for > RING_SIZE_MIN ? asked_for : RING_SIZE_MIN;
    recorder->ring = zkl_pool_take(&recorder->pool, recorder->size);
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
    if (recorder->listener != NULL) {
        heard_text heard;
        zkl_text *text = begin_telling(recorder, &heard);
        write_header(recorder, 0, text);
        tell_piece(text);
    }
    return recorder;
}

static void tell_end(zkl_recorder *recorder) {
    heard_text heard;
    zkl_text *text = begin_telling(recorder, &heard);
    write_footer(recorder->records, text);
    tell_piece(text);
    recorder->listener(&recorder->stream, NULL, 0);
}

void zkl_recorder_close(zkl_recorder *recorder) {
    if (recorder == NULL) {
        return;
    }
    if (recorder->listener != NULL) {
        tell_end(recorder);
    }
    free_recorder(recorder);
}
