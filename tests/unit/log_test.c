/* The log and the thread that delivers it. Nothing here waits for a time: the
 * callback stands at a gate until the test opens it. */
#include "telemetry/log.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/callback_queue.h"
#include "support/unit.h"

enum { MESSAGE_SIZE = 64, RECORDS_MAX = 3 * ZKL_LOG_QUEUE_MAX };

typedef struct heard_record {
    zkl_log_event event;
    zkl_log_level level;
    char message[MESSAGE_SIZE];
} heard_record;

/* One who listens to a log. */
typedef struct log_listener {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool gate_shut;
    bool at_the_gate;
    heard_record records[RECORDS_MAX];
    size_t count;
} log_listener;

static void on_record(void *arg, const zkl_log_record *record) {
    log_listener *self = arg;
    pthread_mutex_lock(&self->mutex);
    self->at_the_gate = true;
    pthread_cond_broadcast(&self->changed);
    while (self->gate_shut) {
        pthread_cond_wait(&self->changed, &self->mutex);
    }
    if (self->count < RECORDS_MAX) {
        heard_record *heard = &self->records[self->count++];
        heard->event = record->event;
        heard->level = record->level;
        snprintf(heard->message, sizeof(heard->message), "%s", record->message);
    }
    pthread_mutex_unlock(&self->mutex);
}

static log_listener *make_listener(void) {
    log_listener *made = calloc(1, sizeof(*made));
    if (made == NULL) {
        abort();
    }
    pthread_mutex_init(&made->mutex, NULL);
    pthread_cond_init(&made->changed, NULL);
    return made;
}

static void free_listener(log_listener *listener) {
    pthread_cond_destroy(&listener->changed);
    pthread_mutex_destroy(&listener->mutex);
    free(listener);
}

static void shut_gate(log_listener *listener) {
    pthread_mutex_lock(&listener->mutex);
    listener->gate_shut = true;
    pthread_mutex_unlock(&listener->mutex);
}

static void wait_until_at_the_gate(log_listener *listener) {
    pthread_mutex_lock(&listener->mutex);
    while (!listener->at_the_gate) {
        pthread_cond_wait(&listener->changed, &listener->mutex);
    }
    pthread_mutex_unlock(&listener->mutex);
}

static void open_gate(log_listener *listener) {
    pthread_mutex_lock(&listener->mutex);
    listener->gate_shut = false;
    pthread_cond_broadcast(&listener->changed);
    pthread_mutex_unlock(&listener->mutex);
}

/* A log and its listener. */
typedef struct log_bench {
    log_listener *listener;
    zkl_log *log;
} log_bench;

static log_bench open_bench(zkl_log_level level) {
    log_bench bench = { .listener = make_listener() };
    bench.log = zkl_log_open(on_record, bench.listener, level);
    EXPECT(bench.log != NULL);
    return bench;
}

/* Delivers what is queued; from then on the listener may be read. */
static void finish(log_bench *bench) {
    zkl_log_close(bench->log);
}

static void close_bench(log_bench *bench) {
    free_listener(bench->listener);
}

static void write_message(zkl_log *log, zkl_log_level level, const char *message) {
    zkl_log_record record = zkl_log_record_begin("", 0);
    record.message = message;
    zkl_log_write(log, level, ZKL_LOG_ACQUIRED, ZKL_OK, &record);
}

static void write_numbered(zkl_log *log, size_t first, size_t count) {
    char message[MESSAGE_SIZE];
    for (size_t i = first; i < first + count; i++) {
        snprintf(message, sizeof(message), "%zu", i);
        write_message(log, ZKL_LOG_INFO, message);
    }
}

/* ---- Records -------------------------------------------------------------------- */

TEST(event_names_differ) {
    static const int events[] = {
#define EVENT(name, text) name,
        ZKL_LOG_EVENT_LIST(EVENT)
#undef EVENT
    };
    for (size_t i = 0; i < COUNT_OF(events); i++) {
        EXPECT(strcmp(zkl_log_event_name(events[i]), "unknown") != 0);
        for (size_t k = 0; k < i; k++) {
            EXPECT(strcmp(zkl_log_event_name(events[i]), zkl_log_event_name(events[k])) != 0);
        }
    }
    EXPECT_TEXT(zkl_log_event_name(ZKL_LOG_ACQUIRED), "acquired");
    EXPECT_TEXT(zkl_log_event_name(-1), "unknown");
    EXPECT_TEXT(zkl_log_event_name((int)COUNT_OF(events)), "unknown");
}

/* ---- The clock ------------------------------------------------------------------------- */

/* The linker puts it in the place of the library's (--wrap). */
int64_t __wrap_zkl_clock_ms(void);

static int64_t test_clock_ms = 1;

int64_t __wrap_zkl_clock_ms(void) {
    return test_clock_ms;
}

/* ---- More than the callback can take -------------------------------------------------- */

/* One record is being delivered, and stands at the gate. */
static void stand_at_the_gate(log_bench *bench) {
    shut_gate(bench->listener);
    write_numbered(bench->log, 0, 1);
    wait_until_at_the_gate(bench->listener);
}

TEST(dropped_records_are_counted_and_told_once) {
    log_bench bench = open_bench(ZKL_LOG_INFO);
    stand_at_the_gate(&bench);
    write_numbered(bench.log, 1, ZKL_LOG_QUEUE_MAX + 7);
    write_message(bench.log, ZKL_LOG_DEBUG, "not wanted, so not dropped either");
    open_gate(bench.listener);
    finish(&bench);
    EXPECT_INT(bench.listener->count, ZKL_LOG_QUEUE_MAX + 2);
    size_t next = 0;
    size_t told = 0;
    for (size_t i = 0; i < bench.listener->count; i++) {
        const heard_record *heard = &bench.listener->records[i];
        if (heard->event == ZKL_LOG_DROPPED) {
            told++;
            EXPECT_TEXT(heard->message, "7 records dropped");
            EXPECT_INT(heard->level, ZKL_LOG_WARN);
        } else {
            EXPECT_INT(atoi(heard->message), next);
            next++;
        }
    }
    EXPECT_INT(told, 1);
    EXPECT_INT(next, ZKL_LOG_QUEUE_MAX + 1); /* the oldest were kept */
    close_bench(&bench);
}

TEST(slow_callback_keeps_no_writer_waiting) {
    log_bench bench = open_bench(ZKL_LOG_INFO);
    stand_at_the_gate(&bench);
    write_numbered(bench.log, 1, 5 * ZKL_LOG_QUEUE_MAX); /* returns, with the gate shut */
    open_gate(bench.listener);
    finish(&bench);
    EXPECT_INT(bench.listener->count, ZKL_LOG_QUEUE_MAX + 2);
    close_bench(&bench);
}

/* ---- Lines of libzookeeper --------------------------------------------------------------- */

TEST(zookeeper_lines_go_to_every_open_log_that_wants_them) {
    log_bench all = open_bench(ZKL_LOG_DEBUG);
    log_bench warnings = open_bench(ZKL_LOG_WARN);
    zkl_log_zookeeper_line("2026-01-01 10:00:00,1:1(0x1):ZOO_ERROR@f@1: e");
    test_clock_ms += 10000;
    zkl_log_zookeeper_line("2026-01-01 10:00:00,1:1(0x1):ZOO_WARN@f@1: w");
    zkl_log_zookeeper_line("2026-01-01 10:00:00,1:1(0x1):ZOO_INFO@f@1: i");
    zkl_log_zookeeper_line("2026-01-01 10:00:00,1:1(0x1):ZOO_DEBUG@f@1: d");
    finish(&warnings);
    zkl_log_zookeeper_line("2026-01-01 10:00:00,1:1(0x1):ZOO_ERROR@f@1: late");
    finish(&all);
    zkl_log_zookeeper_line("nobody listens");
    EXPECT_INT(warnings.listener->count, 2);
    EXPECT_INT(all.listener->count, 5);
    static const zkl_log_level levels[] = { ZKL_LOG_ERROR, ZKL_LOG_WARN, ZKL_LOG_DEBUG,
                                            ZKL_LOG_DEBUG, ZKL_LOG_ERROR };
    for (size_t i = 0; i < all.listener->count; i++) {
        EXPECT_INT(all.listener->records[i].level, levels[i]);
        EXPECT_INT(all.listener->records[i].event, ZKL_LOG_ZOOKEEPER);
    }
    EXPECT_TEXT(warnings.listener->records[1].message,
                "2026-01-01 10:00:00,1:1(0x1):ZOO_WARN@f@1: w");
    close_bench(&all);
    close_bench(&warnings);
}

static void say_error(const char *text) {
    char line[MESSAGE_SIZE];
    snprintf(line, sizeof(line), ":ZOO_ERROR@f@1: %s", text);
    zkl_log_zookeeper_line(line);
}

static void write_event(log_bench *bench, zkl_log_event event) {
    zkl_log_record record = zkl_log_record_begin("", 0);
    zkl_log_write(bench->log, ZKL_LOG_WARN, event, ZKL_OK, &record);
}

static void expect_message(const log_bench *bench, size_t index, const char *message) {
    EXPECT_TEXT(bench->listener->records[index].message, message);
}

TEST(whoever_wants_to_see_all_is_told_each_error_of_zookeeper_at_once) {
    log_bench bench = open_bench(ZKL_LOG_DEBUG);
    write_event(&bench, ZKL_LOG_CONNECTED);
    say_error("lost");
    say_error("refused");
    write_event(&bench, ZKL_LOG_DISCONNECTED);
    finish(&bench);
    EXPECT_INT(bench.listener->count, 4);
    expect_message(&bench, 1, ":ZOO_ERROR@f@1: lost");
    expect_message(&bench, 2, ":ZOO_ERROR@f@1: refused");
    close_bench(&bench);
}

/* A client without a connection tries again, and each attempt is a line: up to 56 a second. */
TEST(errors_of_zookeeper_are_told_once_and_then_every_ten_seconds_with_a_count) {
    enum { EACH_MS = 20, TEN_S = 10000, LINES = 3 * TEN_S / EACH_MS };
    log_bench bench = open_bench(ZKL_LOG_INFO);
    for (int i = 0; i < LINES; i++, test_clock_ms += EACH_MS) {
        say_error("refused");
    }
    finish(&bench);
    EXPECT_INT(bench.listener->count, 3);
    expect_message(&bench, 0, ":ZOO_ERROR@f@1: refused");
    expect_message(&bench, 1, ":ZOO_ERROR@f@1: refused (499 more before it)");
    expect_message(&bench, 2, ":ZOO_ERROR@f@1: refused (499 more before it)");
    close_bench(&bench);
}

TEST(errors_of_zookeeper_that_are_rare_are_all_told) {
    log_bench bench = open_bench(ZKL_LOG_INFO);
    for (int i = 0; i < 3; i++, test_clock_ms += 10000) {
        say_error("refused");
    }
    finish(&bench);
    EXPECT_INT(bench.listener->count, 3);
    expect_message(&bench, 2, ":ZOO_ERROR@f@1: refused");
    close_bench(&bench);
}

/* Its line is there before zklock hears of the loss from it. */
TEST(disconnection_is_told_before_zookeepers_error) {
    log_bench bench = open_bench(ZKL_LOG_INFO);
    write_event(&bench, ZKL_LOG_CONNECTED);
    say_error("lost");
    write_event(&bench, ZKL_LOG_DISCONNECTED);
    say_error("refused");
    finish(&bench);
    EXPECT_INT(bench.listener->count, 3);
    EXPECT_INT(bench.listener->records[1].event, ZKL_LOG_DISCONNECTED);
    expect_message(&bench, 2, ":ZOO_ERROR@f@1: lost");
    close_bench(&bench);
}

TEST(error_of_zookeeper_that_costs_no_connection_is_told_with_the_next_record_or_at_the_end) {
    for (int i = 0; i < 3; i++) {
        log_bench bench = open_bench(ZKL_LOG_INFO);
        write_event(&bench, ZKL_LOG_CONNECTED);
        say_error("slow");
        write_event(&bench, ZKL_LOG_ACQUIRED);
        test_clock_ms += 1000;
        if (i == 0) {
            write_event(&bench, ZKL_LOG_RELEASED);
            write_event(&bench, ZKL_LOG_BEGIN);
        } else if (i == 1) {
            say_error("slow again");
        }
        finish(&bench);
        EXPECT_INT(bench.listener->count, i == 0 ? 5 : 3);
        expect_message(&bench, i == 0 ? 3 : 2, ":ZOO_ERROR@f@1: slow");
        close_bench(&bench);
    }
}

/* It says a dozen things about each session that begins. */
TEST(zookeepers_information_does_not_bury_ours) {
    log_bench bench = open_bench(ZKL_LOG_INFO);
    zkl_log_zookeeper_line("2026-01-01 10:00:00,1:1(0x1):ZOO_INFO@log_env@1: os.name=Linux");
    write_message(bench.log, ZKL_LOG_INFO, "ours");
    zkl_log_zookeeper_line("2026-01-01 10:00:00,1:1(0x1):ZOO_WARN@f@1: w");
    finish(&bench);
    EXPECT_INT(bench.listener->count, 2);
    EXPECT_TEXT(bench.listener->records[0].message, "ours");
    EXPECT_INT(bench.listener->records[1].event, ZKL_LOG_ZOOKEEPER);
    close_bench(&bench);
}

/* With two servers that refuse libzookeeper 3.8.0 writes 15,000 lines a second. */
TEST(flood_of_zookeepers_lines_leaves_half_of_the_queue_to_ours) {
    log_bench bench = open_bench(ZKL_LOG_DEBUG);
    stand_at_the_gate(&bench);
    for (int i = 0; i < 2 * ZKL_LOG_QUEUE_MAX; i++) {
        zkl_log_zookeeper_line("2026-01-01 10:00:00,1:1(0x1):ZOO_ERROR@f@1: refused");
    }
    write_numbered(bench.log, 1, ZKL_LOG_QUEUE_MAX / 2);
    open_gate(bench.listener);
    finish(&bench);
    size_t ours = 0;
    for (size_t i = 0; i < bench.listener->count; i++) {
        const heard_record *heard = &bench.listener->records[i];
        if (heard->event != ZKL_LOG_ZOOKEEPER && heard->event != ZKL_LOG_DROPPED) {
            EXPECT_INT(atoi(heard->message), ours);
            ours++;
        }
    }
    EXPECT_INT(ours, ZKL_LOG_QUEUE_MAX / 2 + 1);
    close_bench(&bench);
}

/* ---- A forked child -------------------------------------------------------------------------- */

/* The linker puts the second in place of the first (--wrap). */
bool __real_zkl_callback_queue_post(zkl_callback_queue *queue, zkl_callback *callback, size_t most);
bool __wrap_zkl_callback_queue_post(zkl_callback_queue *queue, zkl_callback *callback, size_t most);

static atomic_int posts;

bool __wrap_zkl_callback_queue_post(zkl_callback_queue *queue, zkl_callback *callback,
                                    size_t most) {
    posts++;
    return __real_zkl_callback_queue_post(queue, callback, most);
}

/* ThreadSanitizer takes no thread in a forked child. */
#ifndef __SANITIZE_THREAD__
/* How many logs the line of a child is for; with one of its own. */
static int count_logs_of_child(void) {
    log_bench own = open_bench(ZKL_LOG_INFO);
    posts = 0;
    zkl_log_zookeeper_line("2026-01-01 10:00:00,1:1(0x1):ZOO_ERROR@f@1: of the child");
    int count = posts;
    finish(&own);
    bool heard = own.listener->count == 1;
    close_bench(&own);
    return heard ? count : 0;
}

/* In the child the queue of its parent may be locked for ever, and nobody empties it. */
TEST(zookeeper_lines_of_a_forked_child_go_to_no_log_of_its_parent) {
    log_bench bench = open_bench(ZKL_LOG_INFO);
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        _exit(count_logs_of_child());
    }
    EXPECT_INT(waitpid(child, &status, 0), child);
    EXPECT(WIFEXITED(status));
    EXPECT_INT(WEXITSTATUS(status), 1);
    finish(&bench);
    EXPECT_INT(bench.listener->count, 0);
    close_bench(&bench);
}
#endif

/* ---- The callback thread -------------------------------------------------------------------- */

typedef struct numbered_post {
    zkl_callback link;
    int poster;
    int number;
} numbered_post;

static int status_in_callback;

static void open_a_client(zkl_callback *callback) {
    zkl_client *client = NULL;
    (void)callback;
    status_in_callback = zkl_client_open("127.0.0.1:1", NULL, &client);
}

TEST(blocking_call_in_a_callback_is_refused) {
    zkl_callback_queue *thread = zkl_callback_queue_open(true);
    zkl_callback callback = { .run = open_a_client };
    (void)zkl_callback_queue_post(thread, &callback, SIZE_MAX);
    zkl_callback_queue_close(thread);
    EXPECT_INT(status_in_callback, ZKL_IN_CALLBACK);
}
