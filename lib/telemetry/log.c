#include "telemetry/log.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <utlist.h>

#include "base/callback_queue.h"
#include "base/process_mutex.h"

struct zkl_log {
    zkl_log_callback *callback;
    void *arg;
    zkl_log_level level;
    zkl_callback_queue *queue;
    atomic_size_t dropped;
    pid_t process; /* a child of fork has none of its parent's threads, and so none of its logs */
    struct zkl_log *prev, *next;
};

/* libzookeeper's log function gets no context, so a process-wide list has to
 * tell which clients want its lines. */
static zkl_log *open_logs;

/* One record on its way: the strings stand behind it in the same block. */
typedef struct log_entry {
    zkl_callback callback;
    zkl_log *log;
    zkl_log_record record;
    char text[];
} log_entry;

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
    log->process = getpid();
    ZKL_WITH_MUTEX(&zkl_process_mutex);
    DL_APPEND(open_logs, log);
    return log;
}

void zkl_log_close(zkl_log *log) {
    if (log == NULL) {
        return;
    }
    pthread_mutex_lock(&zkl_process_mutex);
    DL_DELETE(open_logs, log);
    pthread_mutex_unlock(&zkl_process_mutex);
    zkl_callback_queue_close(log->queue);
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

void zkl_log_write(zkl_log *log, zkl_log_level level, zkl_log_event event, int status,
                   const zkl_log_record *record) {
    if (!zkl_log_wants(log, level)) {
        return;
    }
    /* libzookeeper's lines come in floods: they leave half of the places to ours. */
    size_t places = event == ZKL_LOG_ZOOKEEPER ? ZKL_LOG_QUEUE_MAX / 2 : ZKL_LOG_QUEUE_MAX;
    zkl_log_record whole = *record;
    whole.level = level;
    whole.event = event;
    whole.status = status;
    log_entry *entry = make_entry(log, whole);
    if (entry == NULL || !zkl_callback_queue_post(log->queue, &entry->callback, places)) {
        free(entry);
        log->dropped++;
    }
}

/* Its information is DEBUG here: it writes a dozen lines of that about each session. */
static zkl_log_level level_of_zookeeper_line(const char *line) {
    if (strstr(line, ":ZOO_ERROR@") != NULL) {
        return ZKL_LOG_ERROR;
    }
    return strstr(line, ":ZOO_WARN@") != NULL ? ZKL_LOG_WARN : ZKL_LOG_DEBUG;
}

void zkl_log_zookeeper_line(const char *line) {
    zkl_log_level level = level_of_zookeeper_line(line);
    zkl_log_record record = zkl_log_record_begin("", 0);
    record.message = line;
    ZKL_WITH_MUTEX(&zkl_process_mutex);
    for (zkl_log *log = open_logs; log != NULL; log = log->next) {
        if (log->process == getpid()) {
            zkl_log_write(log, level, ZKL_LOG_ZOOKEEPER, ZKL_OK, &record);
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
