#include "top.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>
#include <zklock/administration.h>

#include "ask.h"
#include "duration.h"
#include "exit_status.h"
#include "printable.h"
#include "queue_text.h"
#include "say.h"

enum {
    INTERVAL_MIN_MS = 200,
    ROWS_OFF_TERMINAL = 20,
    ROWS_ABOVE = 2, /* lines of the header */
    DESCRIBED_MAX = 40,
    READ_MAX = 4000, /* contenders in one look: to describe a queue we read each of them */
    COLUMNS_OFF_TERMINAL = 80,
    LINE_SIZE = 2048
};

typedef struct top {
    const settings *settings;
    int64_t interval_ms;
    bool on_terminal;
    int rows;
    int columns;
    int signals; /* a signalfd */
    int quit_by; /* the signal that has ended it; 0: none */
    struct termios found;
} top;

static top arguments = { .interval_ms = 2000 };

static const option_description options[] = {
    { 0, 'd', "interval", "TIME", "between two looks (default: 2s)" }, { 0, '\0', NULL, NULL, NULL }
};

static int top_take(void *arg, int option, const char *value) {
    top *self = arg;
    (void)option;
    if (duration_read(value, &self->interval_ms) && self->interval_ms >= INTERVAL_MIN_MS) {
        return EXIT_DONE;
    }
    return say_usage("--interval '%s': must be a time of at least %d ms", value, INTERVAL_MIN_MS);
}

/* ---- The terminal ---------------------------------------------------------------------------- */

static void measure(top *self) {
    struct winsize size = { 0 };
    bool is_known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0;
    self->rows = is_known ? size.ws_row : ROWS_OFF_TERMINAL;
    self->columns = is_known && size.ws_col > 0 ? size.ws_col : COLUMNS_OFF_TERMINAL;
}

/* Takes the signals from a descriptor. The client's threads take none of them. Until here Ctrl-C
 * ends a wait for a connection. */
static bool take_signals(top *self) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGWINCH);
    sigaddset(&set, SIGTSTP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    self->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return self->signals >= 0;
}

/* Sets the terminal so that keys come one by one. Signals are read in their turn, so the terminal
 * is always given back. */
static bool take_terminal(top *self) {
    if (tcgetattr(STDIN_FILENO, &self->found) != 0) {
        return false;
    }
    struct termios single = self->found;
    single.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    tcsetattr(STDIN_FILENO, TCSANOW, &single);
    fputs("\x1b[?1049h\x1b[?25l", stdout); /* another screen, without a cursor */
    return true;
}

static void give_terminal_back(const top *self) {
    fputs("\x1b[?25h\x1b[?1049l", stdout);
    fflush(stdout);
    tcsetattr(STDIN_FILENO, TCSANOW, &self->found);
}

/* Stops for Ctrl-Z: the shell gets its terminal back as it was. */
static void stop(top *self) {
    give_terminal_back(self);
    raise(SIGSTOP);
    take_terminal(self);
    measure(self);
}

/* Reads keys and signals. False: q, or a signal, ends it. */
static bool handle_input(top *self) {
    struct signalfd_siginfo news;
    char key = '\0';
    struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
    while (read(self->signals, &news, sizeof(news)) == (ssize_t)sizeof(news)) {
        if (news.ssi_signo == SIGTSTP) {
            stop(self);
        } else if (news.ssi_signo == SIGWINCH) {
            measure(self);
        } else {
            self->quit_by = (int)news.ssi_signo;
            return false;
        }
    }
    while (poll(&input, 1, 0) == 1) {
        if (read(STDIN_FILENO, &key, 1) != 1 || key == 'q' || key == 'Q') {
            return false;
        }
    }
    return true;
}

/* Waits until the next look, or for a key or a signal. False: it ends. */
static bool wait_for_input(top *self) {
    struct pollfd files[] = { { .fd = self->signals, .events = POLLIN },
                              { .fd = STDIN_FILENO, .events = POLLIN } };
    poll(files, 2, (int)self->interval_ms);
    return handle_input(self);
}

/* ---- What is shown --------------------------------------------------------------------------- */

static int top_compare(const void *one, const void *other) {
    const zkl_resource *first = *(const zkl_resource *const *)one;
    const zkl_resource *second = *(const zkl_resource *const *)other;
    if (first->contenders != second->contenders) {
        return first->contenders < second->contenders ? 1 : -1;
    }
    return strcmp(first->name, second->name);
}

/* Prints a line, cut to the width of the screen, but not in the middle of a character. */
static void print_line(const top *self, const char *line) {
    int column = 0;
    const char *at = line;
    while (*at != '\0' && (column < self->columns || (*at & 0xc0) == 0x80)) {
        column += (*at & 0xc0) != 0x80 ? 1 : 0;
        at++;
    }
    printf("%.*s%s\n", (int)(self->on_terminal ? at - line : (long)strlen(line)), line,
           self->on_terminal ? "\x1b[K" : "");
}

/* Describes a resource: with its holder, unless too much has been read in this look. */
static void top_describe(zkl_client *client, const zkl_resource *one, size_t *read,
                         char text[LINE_SIZE]) {
    zkl_queue *queue = NULL;
    char who[QUEUE_TEXT_SIZE] = "";
    char age[DURATION_TEXT_SIZE] = "";
    bool is_long = *read + one->contenders > READ_MAX;
    if (!is_long) {
        (void)zkl_queue_describe(client, one->name, ASK_TIMEOUT_MS, &queue);
    }
    if (queue != NULL && queue->count > 0) {
        *read += queue->count;
        queue_text_who(who, queue->contenders[0]);
        queue_text_age(age, queue->contenders[0]);
    }
    snprintf(text, LINE_SIZE, "%6zu  %-8s  %.600s  %s%.900s", one->contenders, age,
             printable(one->name),
             is_long          ? "too long to look at so often: zklock status"
             : who[0] != '\0' ? "held by "
                              : "",
             who);
    zkl_report_free(queue);
}

static void print_header(const top *self, const zkl_resource_list *list, size_t busy) {
    char line[LINE_SIZE];
    size_t unreadable = 0;
    for (size_t i = 0; i < list->count; i++) {
        unreadable += list->resources[i]->status != ZKL_OK ? 1 : 0;
    }
    char now[32];
    time_t seconds = time(NULL);
    struct tm local;
    localtime_r(&seconds, &local);
    strftime(now, sizeof(now), "%H:%M:%S", &local);
    int used = snprintf(line, sizeof(line), "zklock top, %s: %zu of %zu resources in use%s", now,
                        busy, list->count, self->on_terminal ? "; q quits" : "");
    if (unreadable > 0) {
        snprintf(line + used, sizeof(line) - (size_t)used, "; %zu may not be read", unreadable);
    }
    if (self->on_terminal) {
        fputs("\x1b[H", stdout);
    }
    print_line(self, line);
    print_line(self, "queue   for       resource");
}

static int print_busiest(top *self, zkl_client *client, const zkl_resource_list *list) {
    const zkl_resource **sorted = calloc(list->count + 1, sizeof(const zkl_resource *));
    if (sorted == NULL) {
        return ZKL_NO_MEMORY;
    }
    size_t busy = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (list->resources[i]->contenders > 0) {
            sorted[busy++] = list->resources[i];
        }
    }
    qsort(sorted, busy, sizeof(const zkl_resource *), top_compare);
    print_header(self, list, busy);
    size_t read = 0;
    for (size_t i = 0; i < busy && (int)i < self->rows - ROWS_ABOVE - 1 && i < DESCRIBED_MAX; i++) {
        char line[LINE_SIZE];
        top_describe(client, sorted[i], &read, line);
        print_line(self, line);
    }
    if (self->on_terminal) {
        fputs("\x1b[J", stdout);
    }
    fflush(stdout);
    free(sorted);
    return ZKL_OK;
}

static int top_look(top *self, zkl_client *client) {
    zkl_resource_list *list = NULL;
    int status = zkl_resources_list(client, ASK_TIMEOUT_MS, &list);
    if (list != NULL) {
        int printed = print_busiest(self, client, list);
        status = self->on_terminal || printed != ZKL_OK ? printed : status;
    }
    zkl_report_free(list);
    return status;
}

static int top_watch(top *self, zkl_client *client) {
    int status = ZKL_OK;
    if (!take_signals(self) || !take_terminal(self)) {
        return ZKL_SYSTEM;
    }
    do {
        status = top_look(self, client);
        if (status == ZKL_TIMEOUT) { /* it goes on through an outage */
            print_line(self, zkl_error_message());
            fflush(stdout);
        }
    } while ((status == ZKL_OK || status == ZKL_TIMEOUT) && wait_for_input(self));
    give_terminal_back(self);
    return status == ZKL_TIMEOUT ? ZKL_OK : status;
}

static int show(zkl_client *client, void *arg) {
    top *self = arg;
    measure(self);
    ask_about_root(self->settings, client);
    return self->on_terminal ? top_watch(self, client) : top_look(self, client);
}

static int top_run(const subcommand *of, const settings *all, int argc, char **argv) {
    top *self = of->self;
    (void)argv;
    if (argc != 0) {
        return say_usage("it takes no arguments");
    }
    self->settings = all;
    self->on_terminal = isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0;
    int status = ask_to_read(all, all->values[SETTING_LOCK_ROOT], show, self);
    return self->quit_by != 0 ? EXIT_BY_SIGNAL + self->quit_by : status;
}

const subcommand top_subcommand = { .name = "top",
                                    .usage = "",
                                    .summary =
                                        "Shows the busiest resources as they change; q quits.",
                                    .options = options,
                                    .examples = "  zklock top\n  zklock top --interval 500ms\n",
                                    .take = top_take,
                                    .self = &arguments,
                                    .run = top_run };
