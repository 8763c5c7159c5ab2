#include "once.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <zklock/administration.h>

#include "ask.h"
#include "duration.h"
#include "exit_status.h"
#include "printable.h"
#include "queue_text.h"
#include "say.h"

enum { SECOND_MS = 1000, MOMENT_SIZE = 80 };

/* ---- Text ------------------------------------------------------------------------------------ */

static int64_t once_now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * SECOND_MS + now.tv_nsec / 1000000;
}

/* Writes "2026-11-26 02:03:07 UTC, 5.2 h ago". */
static void write_moment(char text[MOMENT_SIZE], int64_t moment_ms) {
    time_t seconds = (time_t)(moment_ms / SECOND_MS);
    struct tm parts = { 0 };
    char age[DURATION_TEXT_SIZE];
    int64_t past_ms = once_now_ms() - moment_ms;
    gmtime_r(&seconds, &parts);
    size_t used = strftime(text, MOMENT_SIZE, "%Y-%m-%d %H:%M:%S UTC, ", &parts);
    duration_write(age, past_ms < 0 ? -past_ms : past_ms);
    snprintf(text + used, MOMENT_SIZE - used, past_ms < 0 ? "in %s" : "%s ago", age);
}

static void print_run(const char *indent, const char *what, const mark_run *run) {
    char moment[MOMENT_SIZE];
    char took[DURATION_TEXT_SIZE];
    write_moment(moment, run->ended_ms);
    printf("%slast %s: %s", indent, what, moment);
    if (run->host[0] != '\0') {
        printf(", on %s", printable(run->host));
    }
    if (run->took_ms >= 0) {
        duration_write(took, run->took_ms);
        printf(", after %s", took);
    }
    if (run->status != 0) {
        printf(", with status %d", run->status);
    }
    putchar('\n');
}

static void print_due(const char *indent, const mark_content *content) {
    char moment[MOMENT_SIZE];
    int64_t due_ms = mark_due_ms(content);
    if (content->success.ended_ms == 0) {
        printf("%sdue now\n", indent);
    } else if (content->has_text) {
        printf("%sdue when the text is another than '%s'\n", indent, printable(content->text));
    } else if (due_ms > 0) {
        write_moment(moment, due_ms);
        printf("%sdue %s: %s\n", indent, due_ms <= once_now_ms() ? "since" : "next", moment);
    }
}

void once_print(const mark_content *content, const char *indent) {
    if (content->success.ended_ms > 0) {
        print_run(indent, "success", &content->success);
    } else {
        printf("%sno success is marked\n", indent);
    }
    if (content->failure.ended_ms > 0) {
        print_run(indent, "failure", &content->failure);
    }
    print_due(indent, content);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *number_or_null(int64_t number, bool is_known) {
    return is_known ? json_integer((json_int_t)number) : json_null();
}

static json_t *run_value(const mark_run *run) {
    if (run->ended_ms == 0) {
        return json_null();
    }
    json_t *value = json_object();
    json_object_set_new(value, "ended_ms", json_integer((json_int_t)run->ended_ms));
    json_object_set_new(value, "took_ms", number_or_null(run->took_ms, run->took_ms >= 0));
    json_object_set_new(value, "status", json_integer((json_int_t)run->status));
    json_object_set_new(value, "host", json_of_text(run->host));
    return value;
}

json_t *once_value(const mark_content *content) {
    if (!content->exists) {
        return json_null();
    }
    json_t *value = json_object();
    int64_t due_ms = mark_due_ms(content);
    json_object_set_new(value, "success", run_value(&content->success));
    json_object_set_new(value, "failure", run_value(&content->failure));
    json_object_set_new(value, "asked_ms",
                        number_or_null(content->asked_ms, content->asked_ms > 0));
    json_object_set_new(value, "token", number_or_null(content->token, content->asked_ms > 0));
    json_object_set_new(value, "period_ms",
                        number_or_null(content->period_ms, content->period_ms > 0));
    json_object_set_new(value, "text",
                        content->has_text ? json_of_text(content->text) : json_null());
    json_object_set_new(value, "due_ms", number_or_null(due_ms, due_ms > 0));
    return value;
}

/* ---- --show ---------------------------------------------------------------------------------- */

typedef struct look {
    const char *name;
    bool json;
} look;

static void print_holder(const zkl_queue *queue) {
    if (queue->count > 0) {
        char who[QUEUE_TEXT_SIZE];
        char age[DURATION_TEXT_SIZE];
        queue_text_who(who, queue->contenders[0]);
        queue_text_age(age, queue->contenders[0]);
        printf("  runs now: %s, for %s\n", who, age);
    }
}

static int print_look(const look *self, const mark_content *content, const zkl_queue *queue) {
    if (self->json) {
        json_t *value = json_object();
        json_object_set_new(value, "name", json_of_text(self->name));
        json_object_set_new(value, "once", once_value(content));
        json_object_set_new(value, "contenders", json_integer((json_int_t)queue->count));
        return json_print(value);
    }
    printf("%s:\n", printable(self->name));
    once_print(content, "  ");
    print_holder(queue);
    return ZKL_OK;
}

static int show_question(zkl_client *client, void *arg) {
    const look *self = arg;
    char path[ZKL_TRANSACTION_PATH_MAX + 1];
    mark_content content;
    zkl_queue *queue = NULL;
    mark_find_path(path, client, self->name);
    int read = mark_read(&content, client, path);
    if (read != ZKL_OK && read != ZKL_INVALID_ARGUMENT) { /* which names the path, not the name */
        return read;
    }
    int status = zkl_queue_describe(client, self->name, ASK_TIMEOUT_MS, &queue);
    int printed = queue != NULL ? print_look(self, &content, queue) : ZKL_OK;
    zkl_report_free(queue);
    return status != ZKL_OK ? status : printed;
}

int once_show(const settings *all, const char *name, bool json) {
    look self = { name, json };
    return ask_to_read(all, name, show_question, &self);
}

/* ---- --reset --------------------------------------------------------------------------------- */

typedef struct reset {
    const job *job;
    bool is_taken;
} reset;

static int delete_mark(zkl_client *client, zkl_lock *lock, const char *name) {
    char path[ZKL_TRANSACTION_PATH_MAX + 1];
    mark_content content;
    mark_find_path(path, client, name);
    int status = mark_read(&content, client, path);
    if (status == ZKL_OK && !content.exists) {
        say("%s: no mark is there", name);
    }
    return status == ZKL_OK && content.exists ? mark_delete(path, lock) : status;
}

static void say_who_runs_it(zkl_client *client, const char *name) {
    char text[QUEUE_TEXT_SIZE] = "somebody runs it";
    zkl_queue *queue = NULL;
    (void)zkl_queue_describe(client, name, ASK_TIMEOUT_MS, &queue);
    if (queue != NULL) {
        queue_text_position(text, queue, 0);
    }
    zkl_report_free(queue);
    say("%s: nothing was done: %s", name, text);
}

static int reset_question(zkl_client *client, void *arg) {
    reset *self = arg;
    const char *name = self->job->resources[0];
    zkl_lock *lock = NULL;
    int status = zkl_lock_open(client, name, NULL, &lock);
    if (status == ZKL_OK) {
        status = zkl_lock_acquire(lock, ZKL_EXCLUSIVE, self->job->wait_ms, NULL);
    }
    self->is_taken = status == ZKL_BUSY || status == ZKL_TIMEOUT;
    if (status == ZKL_OK) {
        status = delete_mark(client, lock, name);
        (void)zkl_lock_release(lock, ASK_TIMEOUT_MS);
    } else if (self->is_taken) {
        say_who_runs_it(client, name);
    }
    zkl_lock_close(lock);
    return self->is_taken ? ZKL_OK : status;
}

int once_reset(const job *what) {
    reset self = { .job = what };
    int status = ask(what->settings, what->resources[0], reset_question, &self);
    return self.is_taken ? what->conflict_status : status;
}
