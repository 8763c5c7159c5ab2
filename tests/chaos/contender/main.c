/* chaos_contender: contends as its seed draws it, until it is told to finish. See --help. */
#include "handle.h"
#include "kinds.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { WRONG_COMMAND_LINE = 2, RECORDS_EVERY_MS = 1000 };

/* Whether a handle needs this client. */
static bool is_needed(const struct options *options, client_role role) {
    for (int32_t i = 0; i < options->handles; i++) {
        if (options_kind(options, i)->client == role) {
            return true;
        }
    }
    return false;
}

static int open_clients(struct contender *contender) {
    int status = ZKL_OK;
    for (int role = 0; role < CLIENT_ROLES && status == ZKL_OK; role++) {
        if (is_needed(&contender->options, (client_role)role)) {
            status = client_open(&contender->clients[role], (client_role)role, &contender->options);
        }
    }
    return status;
}

static void note_start(const struct contender *contender) {
    char name[256] = "";
    (void)gethostname(name, sizeof name - 1);
    const char *host = contender->options.host;
    history_line line;
    history_begin(&line, contender->options.name, "start");
    history_text(&line, "host", host != NULL ? host : name);
    history_write(&line);
}

static void note_end(const struct contender *contender, int exit_status) {
    history_line line;
    history_begin(&line, contender->options.name, "end");
    history_number(&line, "exit", exit_status);
    history_write(&line);
}

/* ---- Commands -------------------------------------------------------------------------------- */

/* Returns whether none has refused it. */
static bool tell_clients(struct contender *contender, int (*tell)(struct client *, const char *),
                         const char *text) {
    bool is_taken = true;
    for (int role = 0; role < CLIENT_ROLES; role++) {
        struct client *client = &contender->clients[role];
        if (client->zkl != NULL && tell(client, text) != ZKL_OK) {
            fprintf(stderr, "%s: refused: %s\n", client->caller.who, zkl_error_message());
            is_taken = false;
        }
    }
    return is_taken;
}

/* Obeys until it is to finish. */
static void obey(struct contender *contender) {
    char *line = NULL;
    size_t size = 0;
    while (getline(&line, &size, stdin) > 0) {
        line[strcspn(line, "\n")] = '\0';
        if (strcmp(line, "finish") == 0) {
            break;
        }
        if (strncmp(line, "hosts ", strlen("hosts ")) == 0) {
            (void)tell_clients(contender, client_set_hosts, line + strlen("hosts "));
        } else if (strncmp(line, "credentials ", strlen("credentials ")) == 0) {
            (void)tell_clients(contender, client_set_credentials, line + strlen("credentials "));
        } else {
            fprintf(stderr, "%s: no such command: %s\n", contender->options.name, line);
        }
    }
    free(line);
}

/* ---- Records --------------------------------------------------------------------------------- */

static bool write_records(struct contender *contender) {
    const char *directory = contender->options.records;
    return directory == NULL || tell_clients(contender, client_write_record, directory);
}

/* A full disk must stop nothing: a record that is refused is written again the next time. */
static void *keep_records(void *arg) {
    struct contender *contender = arg;
    while (!contender_pause(contender, RECORDS_EVERY_MS)) {
        (void)write_records(contender);
    }
    return NULL;
}

/* ---- Main ------------------------------------------------------------------------------------ */

/* The handles that are asked for, and behind them the relatives of those that have some. */
static struct {
    struct handle all[HANDLES_MAX * (1 + RELATIVES_MAX)];
    int32_t count;
} handles;

static void start(struct contender *contender, const struct kind *kind) {
    struct handle *next = &handles.all[handles.count];
    if (handle_start(next, contender, kind, handles.count) == 0) {
        handles.count++;
    } else {
        fprintf(stderr, "%s: no thread for a handle\n", contender->options.name);
    }
}

/* Ends all its threads but those of the library. */
static void finish(struct contender *contender, pthread_t recorder) {
    (void)eventfd_write(contender->finish, 1);
    for (int32_t i = 0; i < handles.count; i++) {
        handle_join(&handles.all[i]);
    }
    (void)pthread_join(recorder, NULL);
}

/* Returns whether it could begin, and write its last records. */
static bool contend(struct contender *contender) {
    const struct options *options = &contender->options;
    pthread_t recorder;
    if (pthread_create(&recorder, NULL, keep_records, contender) != 0) {
        fprintf(stderr, "%s: no thread for the records\n", options->name);
        return false;
    }
    for (int32_t i = 0; i < options->handles; i++) {
        start(contender, options_kind(options, i));
    }
    for (int32_t i = 0; i < options->handles; i++) {
        for (int32_t left = options_kind(options, i)->relatives; left > 0; left--) {
            start(contender, options_kind(options, i));
        }
    }
    puts("ready");
    fflush(stdout);
    obey(contender);
    finish(contender, recorder);
    return write_records(contender);
}

static void close_clients(struct contender *contender) {
    for (int role = 0; role < CLIENT_ROLES; role++) {
        if (contender->clients[role].zkl != NULL) {
            client_close(&contender->clients[role]);
        }
    }
}

static int run(struct contender *contender) {
    note_start(contender);
    int status = open_clients(contender);
    if (status != ZKL_OK) {
        fprintf(stderr, "%s: no client: %s: %s\n", contender->options.name, zkl_strerror(status),
                zkl_error_message());
    }
    int exit_status = status == ZKL_OK && contend(contender) ? EXIT_SUCCESS : EXIT_FAILURE;
    close_clients(contender);
    note_end(contender, exit_status);
    return exit_status;
}

/* Whether it asks for something to be printed, and for nothing else. */
static bool print_help(int argc, char **argv) {
    bool is_list = argc == 2 && strcmp(argv[1], "--list") == 0;
    bool is_help = argc == 2 && strcmp(argv[1], "--help") == 0;
    if (is_list) {
        kinds_print();
    } else if (is_help) {
        fputs(options_usage(), stdout);
    }
    return is_list || is_help;
}

int main(int argc, char **argv) {
    if (print_help(argc, argv)) {
        return EXIT_SUCCESS;
    }
    static struct contender contender;
    char message[MESSAGE_SIZE];
    if (!options_read(argc, argv, &contender.options, message)) {
        fprintf(stderr, "chaos_contender: %s\n", message);
        return WRONG_COMMAND_LINE;
    }
    int failed = history_open(contender.options.history);
    if (failed != 0) {
        fprintf(stderr, "chaos_contender: %s: %s\n", contender.options.history, strerror(failed));
        return HISTORY_FAILED;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* whatever becomes of the run, it goes */
    contender.finish = eventfd(0, EFD_CLOEXEC);
    return run(&contender);
}
