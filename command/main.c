/* zklock: locks of an ensemble for shells and people. docs/command.md. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zklock/zklock.h>

#include "act.h"
#include "clean.h"
#include "doctor.h"
#include "exit_status.h"
#include "observe.h"
#include "run.h"
#include "say.h"
#include "secure.h"
#include "show.h"
#include "top.h"

static const subcommand *const subcommands[] = {
    &run_subcommand,       &once_subcommand,   &hold_subcommand,   &wait_subcommand,
    &observe_subcommand,   &ls_subcommand,     &status_subcommand, &top_subcommand,
    &deadlocks_subcommand, &revoke_subcommand, &break_subcommand,  &clean_subcommand,
    &doctor_subcommand,    &secure_subcommand,
};

enum { SUBCOMMAND_COUNT = sizeof(subcommands) / sizeof(subcommands[0]) };

static int print_help(void) {
    puts("usage: zklock SUBCOMMAND [OPTION...] ...\n\nLocks on Apache ZooKeeper, for shells and "
         "people.\n");
    for (int i = 0; i < SUBCOMMAND_COUNT; i++) {
        printf("  %-10s %s\n", subcommands[i]->name, subcommands[i]->summary);
    }
    puts("\n  zklock SUBCOMMAND --help, zklock help settings, zklock --version\n\nExamples:\n"
         "  zklock run --hosts zk1:2181,zk2:2181 backup -- /usr/local/bin/backup\n"
         "  zklock status backup");
    return EXIT_DONE;
}

static const subcommand *main_find(const char *name) {
    for (int i = 0; i < SUBCOMMAND_COUNT; i++) {
        if (strcmp(subcommands[i]->name, name) == 0) {
            return subcommands[i];
        }
    }
    return NULL;
}

static int help(const char *about) {
    if (about == NULL) {
        return print_help();
    }
    if (strcmp(about, "settings") == 0) {
        arguments_print_settings();
        return EXIT_DONE;
    }
    const subcommand *of = main_find(about);
    char name[] = "help";
    char option[] = "--help";
    char *arguments[] = { name, option, NULL };
    return of != NULL ? subcommand_main(of, 2, arguments)
                      : say_usage("'%s' is not a subcommand", about);
}

/* Opens those of the three standard files that are closed: otherwise the next file to be opened
 * would be taken for one of them. */
static void fill_standard_files(void) {
    for (int descriptor = 0; descriptor <= STDERR_FILENO; descriptor++) {
        if (fcntl(descriptor, F_GETFD) < 0) {
            (void)open("/dev/null", O_RDWR); /* takes the lowest number */
        }
    }
}

static int main_run(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : "";
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        return help(argc > 2 ? argv[2] : NULL);
    }
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        printf("zklock %s\n", zkl_version());
        return EXIT_DONE;
    }
    const subcommand *of = main_find(name);
    if (of == NULL) {
        return say_usage(name[0] != '\0' ? "'%s' is not a subcommand" : "no subcommand is given%s",
                         name);
    }
    return subcommand_main(of, argc - 1, argv + 1);
}

/* Runs a subcommand. If the output could not be written, as on a full disk, that is no success. */
int main(int argc, char **argv) {
    fill_standard_files();
    int status = main_run(argc, argv);
    bool is_written = fflush(stdout) == 0 && ferror(stdout) == 0;
    if (!is_written) {
        say("the standard output: %s", strerror(errno));
    }
    return is_written || status != EXIT_DONE ? status : EXIT_INTERNAL;
}
