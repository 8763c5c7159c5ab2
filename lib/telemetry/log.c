#include "telemetry/log.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <utlist.h>

#include "base/callback_queue.h"
#include "base/process_mutex.h"
#include "base/threads.h"

/* Of libzookeeper's warnings and errors (lz-flood): between two that are told, and until one is
 * told without the news that it may have brought. */
enum { PAUSE_MS = 10000, PATIENCE_MS = 1000 };

typedef struct log_entry log_entry;

struct zkl_log {
    zkl_log_callback *callback;
    void *arg;
    zkl_log_level level;
    zkl_callback_queue *queue;
    atomic_size_t dropped;
    pthread_mutex_t mutex; /* of the next five */
    bool is_connected;
    int64_t quiet_until_ms; /* libzookeeper's warnings and errors are counted alone */
    size_t left_out;
    log_entry *held; /* one of them that waits for the news of the disconnection; NULL: none */
    int64_t held_until_ms;
    pid_t process; /* a child of fork has none of its parent's threads, and so none of its logs */
    struct zkl_log *prev, *next;
};

/* libzookeeper's log function gets no context (lz-reasons), so a process-wide list has to
 * tell which clients want its lines. */
static zkl_log *open_logs;

/* One record on its way: the strings stand behind it in the same block. */
struct log_entry {
    zkl_callback callback;
    zkl_log *log;
    zkl_log_record record;
    char text[];
};

zkl_log *zkl_log_open(zkl_log_callback *callback, void *arg, zkl_log_level level) {
    zkl_log *log = calloc(1, sizeof(*log));
    zkl_callback_queue *queue = log != NULL ? zkl_callback_queue_open(true) : NULL;
    if (queue == NULL) {
        free(log);
        return NULL;
    }
    log->callback = callback;
    log->arg = arg;
    log->level = level;
    log->queue = queue;
    pthread_mutex_init(&log->mutex, NULL);
    log->process = getpid();
    ZKL_WITH_MUTEX(&zkl_process_mutex);
    DL_APPEND(open_logs, log);
    return log;
}

/* libzookeeper's lines come in floods (lz-flood): they leave half of the places to ours. */
static void post(zkl_log *log, log_entry *entry, size_t places) {
    if (entry == NULL || !zkl_callback_queue_post(log->queue, &entry->callback, places)) {
        free(entry);
        log->dropped++;
    }
}

static void tell_held(zkl_log *log) {
    if (log->held != NULL) {
        post(log, log->held, ZKL_LOG_QUEUE_MAX / 2);
        log->held = NULL;
    }
}

void zkl_log_close(zkl_log *log) {
    if (log == NULL) {
        return;
    }
    pthread_mutex_lock(&zkl_process_mutex);
    DL_DELETE(open_logs, log);
    pthread_mutex_unlock(&zkl_process_mutex);
    tell_held(log);
    zkl_callback_queue_close(log->queue);
    pthread_mutex_destroy(&log->mutex);
    free(log);
}

bool zkl_log_wants(const zkl_log *log, zkl_log_level level) {
    return log != NULL && level <= log->level;
}

zkl_log_record zkl_log_record_begin(const char *owner, int64_t session_id) {
    return (zkl_log_record){
        .struct_size = sizeof(zkl_log_record),
        .resource = "",
        .owner = owner,
        .node = "",
        .behind = "",
        .message = "",
        .lock_owner = "",
        .waited_ms = -1,
        .held_ms = -1,
        .session_id = session_id,
    };
}

static void report_dropped(zkl_log *log, size_t dropped) {
    char message[64];
    snprintf(message, sizeof(message), "%zu records dropped", dropped);
    zkl_log_record record = zkl_log_record_begin("", 0);
    record.level = ZKL_LOG_WARN;
    record.event = ZKL_LOG_DROPPED;
    record.message = message;
    log->callback(log->arg, &record);
}

static void deliver(zkl_callback *callback) {
    log_entry *entry = (log_entry *)callback;
    zkl_log *log = entry->log;
    size_t dropped = atomic_exchange(&log->dropped, 0);
    if (dropped > 0) {
        report_dropped(log, dropped);
    }
    log->callback(log->arg, &entry->record);
    free(entry);
}

static log_entry *make_entry(zkl_log *log, zkl_log_record record) {
    const char **strings[] = { &record.resource, &record.owner,   &record.node,
                               &record.behind,   &record.message, &record.lock_owner };
    enum { STRINGS = sizeof(strings) / sizeof(strings[0]) };
    size_t size = 0;
    for (size_t i = 0; i < STRINGS; i++) {
        size += strlen(*strings[i]) + 1;
    }
    log_entry *entry = malloc(sizeof(*entry) + size);
    if (entry == NULL) {
        return NULL;
    }
    char *end = entry->text;
    for (size_t i = 0; i < STRINGS; i++) {
        const char *string = *strings[i];
        *strings[i] = end;
        end = stpcpy(end, string) + 1;
    }
    entry->callback.run = deliver;
    entry->log = log;
    entry->record = record;
    return entry;
}

static void note_connection(zkl_log *log, zkl_log_event event) {
    if (event == ZKL_LOG_CONNECTED) {
        log->is_connected = true;
    } else if (event == ZKL_LOG_DISCONNECTED) {
        log->is_connected = false;
    }
}

void zkl_log_write(zkl_log *log, zkl_log_level level, zkl_log_event event, int status,
                   const zkl_log_record *record) {
    if (log == NULL) {
        return;
    }
    if (zkl_log_wants(log, level)) {
        zkl_log_record whole = *record;
        whole.level = level;
        whole.event = event;
        whole.status = status;
        post(log, make_entry(log, whole), ZKL_LOG_QUEUE_MAX);
    }
    ZKL_WITH_MUTEX(&log->mutex);
    note_connection(log, event);
    if (log->held != NULL && (!log->is_connected || zkl_clock_ms() >= log->held_until_ms)) {
        tell_held(log);
    }
}

/* ---- Lines of libzookeeper ------------------------------------------------------------------- */

/* Its information is DEBUG here: it writes a dozen lines of that about each session. */
static zkl_log_level level_of_zookeeper_line(const char *line) {
    if (strstr(line, ":ZOO_ERROR@") != NULL) {
        return ZKL_LOG_ERROR;
    }
    return strstr(line, ":ZOO_WARN@") != NULL ? ZKL_LOG_WARN : ZKL_LOG_DEBUG;
}

static log_entry *make_line(zkl_log *log, zkl_log_level level, const char *line) {
    zkl_log_record record = zkl_log_record_begin("", 0);
    record.level = level;
    record.event = ZKL_LOG_ZOOKEEPER;
    record.status = ZKL_OK;
    record.message = line;
    return make_entry(log, record);
}

static log_entry *make_line_with_count(zkl_log *log, zkl_log_level level, const char *line) {
    char *counted = NULL;
    size_t count = log->left_out;
    if (count == 0 || asprintf(&counted, "%s (%zu more before it)", line, count) < 0) {
        return make_line(log, level, line);
    }
    log->left_out = 0;
    log_entry *entry = make_line(log, level, counted);
    free(counted);
    return entry;
}

/* While there is no server each attempt to connect is one, dozens in a second. The first one comes
 * before the news of the disconnection, which says what matters: it waits for that. */
static void take_error(zkl_log *log, zkl_log_level level, const char *line) {
    int64_t now_ms = zkl_clock_ms();
    ZKL_WITH_MUTEX(&log->mutex);
    if (log->held != NULL && now_ms >= log->held_until_ms) {
        tell_held(log);
    }
    if (now_ms < log->quiet_until_ms) {
        log->left_out++;
        return;
    }
    log->quiet_until_ms = now_ms + PAUSE_MS;
    tell_held(log);
    log->held = make_line_with_count(log, level, line);
    log->held_until_ms = now_ms + PATIENCE_MS;
    if (!log->is_connected) {
        tell_held(log);
    }
}

/* Who wants to see everything does. */
static void take_line(zkl_log *log, zkl_log_level level, const char *line) {
    if (!zkl_log_wants(log, level)) {
        return;
    }
    if (zkl_log_wants(log, ZKL_LOG_DEBUG)) {
        post(log, make_line(log, level, line), ZKL_LOG_QUEUE_MAX / 2);
    } else {
        take_error(log, level, line);
    }
}

void zkl_log_zookeeper_line(const char *line) {
    zkl_log_level level = level_of_zookeeper_line(line);
    ZKL_WITH_MUTEX(&zkl_process_mutex);
    for (zkl_log *log = open_logs; log != NULL; log = log->next) {
        if (log->process == getpid()) {
            take_line(log, level, line);
        }
    }
}

const char *zkl_log_event_name(int event) {
#define TEXT(name, text) text,
    static const char *const names[] = { ZKL_LOG_EVENT_LIST(TEXT) };
#undef TEXT
    bool known = event >= 0 && (size_t)event < sizeof(names) / sizeof(names[0]);
    return known ? names[event] : "unknown";
}
