#include "wait_report.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zklock/administration.h>

#include "channel.h"
#include "say.h"

enum {
    FIRST_REPORT_MS = 2000,  /* after this long the user is told what the command waits for */
    REPORT_PAUSE_MS = 10000, /* and again after this long, if that has changed */
    DESCRIBE_MS = 1000
};

bool wait_report_is_read(const job *what) {
    return !what->quiet && (what->verbose || isatty(STDERR_FILENO));
}

static bool reads_queue(const wait_report *self, const char *resource, char text[QUEUE_TEXT_SIZE]) {
    zkl_client_information information = ZKL_CLIENT_INFORMATION_INIT;
    zkl_queue *queue = NULL;
    char position[QUEUE_TEXT_SIZE] = "";
    (void)zkl_client_info(self->client, &information);
    (void)zkl_queue_describe(self->client, resource, DESCRIBE_MS, &queue);
    if (queue != NULL) {
        queue_text_position(position, queue, information.session_id);
    }
    zkl_report_free(queue);
    snprintf(text, QUEUE_TEXT_SIZE, "%.128s: %.880s", resource, position);
    return position[0] != '\0';
}

/* Writes what a message is about: of a set nobody knows which resource it was. */
static void write_subject(const job *what, char text[QUEUE_TEXT_SIZE]) {
    size_t count = what->resource_count;
    size_t used = (size_t)snprintf(text, QUEUE_TEXT_SIZE, "%s", count > 1 ? "one of " : "");
    for (size_t i = 0; i < count && used < QUEUE_TEXT_SIZE - 1; i++) {
        used += (size_t)snprintf(text + used, QUEUE_TEXT_SIZE - used, "%s%.128s", i > 0 ? ", " : "",
                                 what->resources[i]);
    }
}

/* Writes what the command waits for: a connection, or a queue. */
static void describe_wait(const wait_report *self, char text[QUEUE_TEXT_SIZE]) {
    zkl_client_information information = ZKL_CLIENT_INFORMATION_INIT;
    (void)zkl_client_info(self->client, &information);
    text[0] = '\0';
    if (!information.connected) {
        snprintf(text, QUEUE_TEXT_SIZE, "not connected to the servers at the moment");
        return;
    }
    for (size_t i = 0; i < self->job->resource_count; i++) {
        if (reads_queue(self, self->job->resources[i], text)) {
            return;
        }
    }
    char subject[QUEUE_TEXT_SIZE];
    write_subject(self->job, subject);
    snprintf(text, QUEUE_TEXT_SIZE, "%.900s: waiting", subject);
}

void wait_report_begin(wait_report *self, const job *what, zkl_client *client) {
    *self = (wait_report){ .job = what,
                           .client = client,
                           .next_ms = channel_now_ms() + FIRST_REPORT_MS };
}

void wait_report_say(wait_report *self) {
    int64_t now = channel_now_ms();
    if (!wait_report_is_read(self->job) || now < self->next_ms) {
        return;
    }
    char text[QUEUE_TEXT_SIZE];
    describe_wait(self, text);
    self->next_ms = now + REPORT_PAUSE_MS;
    if (strcmp(text, self->last) != 0) {
        say("%s", text);
        memcpy(self->last, text, sizeof(text));
    }
}

void wait_report_say_failure(const wait_report *self, bool by_others, int status, const char *why) {
    char text[QUEUE_TEXT_SIZE];
    if (by_others && wait_report_is_read(self->job)) {
        describe_wait(self, text);
        say("not acquired: %s", text);
    } else if (!self->job->quiet || !by_others) {
        write_subject(self->job, text);
        say_status_and(text, status, why);
    }
}
