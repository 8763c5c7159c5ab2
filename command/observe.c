#include "observe.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <zklock/administration.h>
#include <zklock/election.h>

#include "ask.h"
#include "channel.h"
#include "duration.h"
#include "exit_status.h"
#include "json_text.h"
#include "printable.h"
#include "queue_text.h"
#include "say.h"

/* How long the last look may take, when the time to wait is over. */
enum { LAST_LOOK_MS = 1000 };

typedef struct observation {
    const char *resource;
    int64_t wait_ms; /* ZKL_FOREVER; 0 only looks */
    int64_t began_ms;
    int32_t conflict_status;
    bool quiet;
    bool json;
    int32_t count; /* of lines; 0: no limit */
    int32_t printed;
    int changed;             /* an eventfd: the callback has news */
    _Atomic bool leads;      /* one contender alone holds it */
    _Atomic int status;      /* ZKL_OK, or why nothing more will come */
    _Atomic bool is_printed; /* all lines that were asked for */
    bool is_held;            /* when its time was over */
    char holder[QUEUE_TEXT_SIZE];
} observation;

static observation arguments = { .wait_ms = ZKL_FOREVER, .conflict_status = EXIT_NOT_ACQUIRED };

/* ---- The observer ---------------------------------------------------------------------------- */

/* Tells whether an observer has said its last. */
static bool is_last(int status) {
    return status == ZKL_AUTH_FAILED || status == ZKL_CLOSED;
}

static void note_change(observation *self) {
    const uint64_t one = 1;
    ssize_t ignored = write(self->changed, &one, sizeof(one));
    (void)ignored; /* fails only if so many are noted that one more makes no difference */
}

static void note_leader(observation *self, const zkl_leader *leader) {
    self->leads = leader->status == ZKL_OK && leader->term != 0;
    self->status = is_last(leader->status) ? leader->status : ZKL_OK;
    note_change(self);
}

/* Waits until there is news, for at most `timeout_ms`, or for ever with -1. False: nobody reads
 * `output` any more; it may be -1. */
static bool wait_for_news(const observation *self, int64_t timeout_ms, int output) {
    uint64_t ignored = 0;
    struct pollfd files[] = { { .fd = self->changed, .events = POLLIN }, { .fd = output } };
    int most_ms = timeout_ms < INT_MAX ? (int)timeout_ms : INT_MAX;
    int ready = poll(files, 2, most_ms);
    if (ready > 0 && files[0].revents != 0 && read(self->changed, &ignored, sizeof(ignored)) < 0) {
        say("the observer: %s", strerror(errno));
    }
    return ready <= 0 || files[1].revents == 0;
}

/* Opens an observer and carries out `body` while it is open. */
static int with_observer(observation *self, zkl_client *client, zkl_leader_callback *callback,
                         int (*body)(observation *self, zkl_client *client)) {
    zkl_observer *observer = NULL;
    self->changed = eventfd(0, EFD_CLOEXEC);
    int status = zkl_election_observe(client, self->resource, callback, self, &observer);
    if (status == ZKL_OK) {
        status = body(self, client);
    }
    zkl_observer_close(observer);
    return status;
}

/* ---- wait ------------------------------------------------------------------------------------ */

static void on_leader_of_wait(void *arg, const zkl_leader *leader) {
    note_leader(arg, leader);
}

static int64_t time_for_look(const observation *self, int64_t left_ms) {
    int64_t most_ms = left_ms == 0 && self->wait_ms > 0 ? LAST_LOOK_MS : left_ms;
    return most_ms > 0 && most_ms < ASK_TIMEOUT_MS ? most_ms : ASK_TIMEOUT_MS;
}

/* Tells whether nobody holds the lock, by its queue: a reader and a permit lead nobody. Servers
 * that do not answer say nothing, and are asked again while there is time. */
static int look_whether_free(observation *self, zkl_client *client, int64_t left_ms,
                             bool *is_free) {
    zkl_queue *queue = NULL;
    int status = zkl_queue_describe(client, self->resource, time_for_look(self, left_ms), &queue);
    bool is_silent =
        status == ZKL_TIMEOUT || status == ZKL_DISCONNECTED || status == ZKL_SESSION_EXPIRED;
    *is_free = queue != NULL && queue->count == 0;
    if (queue != NULL) {
        queue_text_position(self->holder, queue, 0);
    }
    zkl_report_free(queue);
    if (is_silent) {
        return left_ms == 0 ? ZKL_DISCONNECTED : ZKL_OK;
    }
    return queue != NULL ? ZKL_OK : status;
}

static int64_t shorter(int64_t one, int64_t other) {
    return one >= 0 && one < other ? one : other;
}

static int wait_until_free(observation *self, zkl_client *client) {
    bool is_free = false;
    for (;;) {
        int64_t past_ms = channel_now_ms() - self->began_ms;
        int64_t left_ms = self->wait_ms < 0          ? ZKL_FOREVER
                          : self->wait_ms <= past_ms ? 0
                                                     : self->wait_ms - past_ms;
        bool is_due = !self->leads || left_ms == 0;
        int status =
            is_due ? look_whether_free(self, client, left_ms, &is_free) : (int)self->status;
        self->is_held = !is_free;
        if (status != ZKL_OK || is_free || left_ms == 0) {
            return status;
        }
        (void)wait_for_news(self, self->leads ? left_ms : shorter(left_ms, ZKL_LEADER_PAUSE_MS),
                            -1);
    }
}

static int wait_question(zkl_client *client, void *arg) {
    return with_observer(arg, client, on_leader_of_wait, wait_until_free);
}

enum { OPTION_NONBLOCK, OPTION_WAIT, OPTION_CONFLICT, OPTION_QUIET, OPTION_COUNT, OPTION_JSON };

static int observe_take(void *arg, int option, const char *value) {
    observation *self = arg;
    switch (option) {
    case OPTION_NONBLOCK:
        self->wait_ms = 0;
        return EXIT_DONE;
    case OPTION_WAIT:
        return take_time("wait", value, 0, &self->wait_ms);
    case OPTION_CONFLICT:
        return take_count("conflict-exit-code", value, 0, EXIT_STATUS_MAX, &self->conflict_status);
    case OPTION_QUIET:
        self->quiet = true;
        return EXIT_DONE;
    case OPTION_COUNT:
        return take_count("count", value, 1, INT32_MAX, &self->count);
    default:
        self->json = true;
        return EXIT_DONE;
    }
}

static int run_wait(const subcommand *of, const settings *all, int argc, char **argv) {
    observation *self = of->self;
    if (argc != 1) {
        return say_usage("one RESOURCE must be given");
    }
    settings hurried = *all;
    if (self->wait_ms > 0 && self->wait_ms < hurried.connect_timeout_ms) {
        hurried.connect_timeout_ms = self->wait_ms;
    }
    self->resource = argv[0];
    self->began_ms = channel_now_ms();
    int status = ask_to_read(&hurried, self->resource, wait_question, self);
    if (status != EXIT_DONE || !self->is_held) {
        return status;
    }
    if (!self->quiet) {
        say("not free: %s: %s", self->resource, self->holder);
    }
    return self->conflict_status;
}

/* ---- observe --------------------------------------------------------------------------------- */

static json_t *leader_value(const zkl_leader *leader) {
    json_t *value = json_object();
    json_object_set_new(value, "token", json_integer((json_int_t)leader->term));
    json_object_set_new(value, "node", json_of_text(leader->node));
    json_object_set_new(value, "text", json_of_text(leader->candidate));
    json_object_set_new(value, "session", json_of_session(leader->session_id));
    return value;
}

static void print_leader(const observation *self, const zkl_leader *leader) {
    if (self->json) {
        (void)json_print_line(leader_value(leader));
    } else if (leader->term == 0) {
        puts("0");
    } else {
        printf("%" PRId64 " %s", leader->term, printable(leader->node));
        printf("%s%s\n", leader->candidate[0] != '\0' ? " " : "", printable(leader->candidate));
    }
    fflush(stdout);
}

/* Lets a reader that has gone end this process, as it ends any other: the library's threads take no
 * signals. */
static void take_broken_pipes(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

/* Prints a change, on the client's thread for callbacks. */
static void on_leader_of_observe(void *arg, const zkl_leader *leader) {
    observation *self = arg;
    take_broken_pipes();
    if (leader->status != ZKL_OK) {
        say("%s: %s", self->resource, zkl_strerror(leader->status));
    } else if (!self->is_printed) {
        print_leader(self, leader);
        self->printed++;
        self->is_printed = ferror(stdout) != 0 || self->printed == self->count;
    }
    note_leader(self, leader);
}

/* Ends as well when the reader has gone, even if there is nothing to print. */
static int observe_until_end(observation *self, zkl_client *client) {
    (void)client;
    bool is_read = true;
    while (is_read && !self->is_printed && self->status == ZKL_OK) {
        is_read = wait_for_news(self, -1, STDOUT_FILENO);
    }
    if (!is_read) {
        raise(SIGPIPE);
    }
    return self->status;
}

static int observe_question(zkl_client *client, void *arg) {
    return with_observer(arg, client, on_leader_of_observe, observe_until_end);
}

static int run_observe(const subcommand *of, const settings *all, int argc, char **argv) {
    observation *self = of->self;
    if (argc != 1) {
        return say_usage("one RESOURCE must be given");
    }
    self->resource = argv[0];
    return ask_to_read(all, self->resource, observe_question, self);
}

/* ---- Both ------------------------------------------------------------------------------------ */

/* clang-format off */
static const option_description wait_options[] = {
    { OPTION_NONBLOCK, 'n', "nonblock", NULL, "do not wait: only look" },
    { OPTION_WAIT, 'w', "wait", "TIME", "at most: 2.5 (seconds), 500ms, 10m" },
    { OPTION_CONFLICT, 'E', "conflict-exit-code", "N", "if somebody holds it still (default: 1)" },
    { OPTION_QUIET, 'q', "quiet", NULL, "do not say who holds it" },
    { 0, '\0', NULL, NULL, NULL }
};

static const option_description observe_options[] = {
    { OPTION_COUNT, '\0', "count", "N", "end after N lines; 1: who leads now" },
    { OPTION_JSON, '\0', "json", NULL, "an object in each line" },
    { 0, '\0', NULL, NULL, NULL }
};
/* clang-format on */

const subcommand wait_subcommand = { .name = "wait",
                                     .options_follow_first = true,
                                     .usage = "RESOURCE",
                                     .summary = "Waits until nobody holds a lock.",
                                     .options = wait_options,
                                     .examples = "  zklock wait backup && reboot\n"
                                                 "  zklock wait -n -q backup || echo it runs\n",
                                     .take = observe_take,
                                     .self = &arguments,
                                     .run = run_wait };

const subcommand observe_subcommand = {
    .name = "observe",
    .options_follow_first = true,
    .usage = "RESOURCE",
    .summary = "Prints who leads an election, or holds a lock, at each change.",
    .options = observe_options,
    .examples = "  zklock observe scheduler | while read -r token node text; do ...; done\n"
                "  zklock observe --count 1 scheduler     # who leads now\n",
    .take = observe_take,
    .self = &arguments,
    .run = run_observe
};
