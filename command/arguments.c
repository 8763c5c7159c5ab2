#include "arguments.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "duration.h"
#include "exit_status.h"
#include "say.h"

enum {
    OPTIONS_MAX = 32,
    FIRST_SETTING = 1000, /* getopt_long returns this for the first setting */
    FIRST_OWN = FIRST_SETTING + SETTING_COUNT,
    HELP = FIRST_OWN + OPTIONS_MAX,
    CONFIG
};

typedef struct parser {
    struct option all[OPTIONS_MAX + SETTING_COUNT + 3];
    char letters[2 * OPTIONS_MAX + 4];
} parser;

static void add_letter(parser *self, char letter, bool has_argument) {
    size_t used = strlen(self->letters);
    self->letters[used++] = letter;
    if (has_argument) {
        self->letters[used++] = ':';
    }
    self->letters[used] = '\0';
}

static void arguments_prepare(parser *self, const subcommand *of) {
    size_t count = 0;
    strcpy(self->letters,
           "+:h"); /* stops at the first that is no option; a missing argument is ':' */
    for (int i = 0; of->options[i].name != NULL; i++) {
        const option_description *one = &of->options[i];
        int has_argument = one->argument != NULL ? required_argument : no_argument;
        self->all[count++] = (struct option){ one->name, has_argument, NULL, FIRST_OWN + i };
        if (one->letter != '\0') {
            add_letter(self, one->letter, one->argument != NULL);
        }
    }
    for (int i = 0; i < SETTING_COUNT; i++) {
        self->all[count++] = (struct option){ setting_descriptions[i].name, required_argument, NULL,
                                              FIRST_SETTING + i };
    }
    self->all[count++] = (struct option){ "config", required_argument, NULL, CONFIG };
    self->all[count++] = (struct option){ "help", no_argument, NULL, HELP };
    self->all[count] = (struct option){ NULL, 0, NULL, 0 };
}

/* ---- Help ------------------------------------------------------------------------------------ */

static void print_option(char letter, const char *name, const char *argument, const char *help) {
    char text[64];
    snprintf(text, sizeof(text), "%c%c%c --%s%s%s", letter != '\0' ? '-' : ' ',
             letter != '\0' ? letter : ' ', letter != '\0' ? ',' : ' ', name,
             argument != NULL ? " " : "", argument != NULL ? argument : "");
    printf("  %-28s %s\n", text, help);
}

static void print_help(const subcommand *of) {
    printf("usage: zklock %s [OPTION...]%s%s\n\n%s\n\n", of->name, of->usage[0] != '\0' ? " " : "",
           of->usage, of->summary);
    for (const option_description *one = of->options; one->name != NULL; one++) {
        print_option(one->letter, one->name, one->argument, one->help);
    }
    print_option('\0', "hosts", "LIST", "the servers (default: 127.0.0.1:2181)");
    print_option('\0', "config", "FILE", "settings; all of them: zklock help settings");
    printf("\nExamples:\n%sMore: man zklock-%s\n", of->examples, of->name);
}

void arguments_print_settings(void) {
    puts("Each setting is an option, a variable of the environment (lock-root is "
         "ZKLOCK_LOCK_ROOT),\n"
         "or a line of a file (lock-root = /locks). The first of these that has it counts.\n"
         "The file is that of --config, else of ZKLOCK_CONFIG, else ~/.config/zklock/config,\n"
         "else /etc/zklock/config.\n");
    for (int i = 0; i < SETTING_COUNT; i++) {
        const setting_description *one = &setting_descriptions[i];
        print_option('\0', one->name, one->argument, one->help);
        if (one->initial != NULL) {
            printf("  %-28s (default: %s)\n", "", one->initial);
        }
    }
}

/* ---- Values ---------------------------------------------------------------------------------- */

static bool read_count(const char *text, long min, long max, int32_t *count) {
    char *end = NULL;
    long number = strtol(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || number < min || number > max) {
        return false;
    }
    *count = (int32_t)number;
    return true;
}

int take_time(const char *name, const char *value, int64_t min, int64_t *ms) {
    if (duration_read(value, ms) && *ms >= min) {
        return EXIT_DONE;
    }
    return say_usage("--%s '%s': must be a time, such as 2.5 (seconds), 500ms or 10m", name, value);
}

int take_count(const char *name, const char *value, long min, long max, int32_t *count) {
    if (read_count(value, min, max, count)) {
        return EXIT_DONE;
    }
    return say_usage("--%s '%s': must be a number from %ld to %ld", name, value, min, max);
}

/* ---- Reading --------------------------------------------------------------------------------- */

static int index_of_letter(const subcommand *of, int letter) {
    int i = 0;
    while (of->options[i].letter != letter) {
        i++;
    }
    return i;
}

static int arguments_take(const subcommand *of, settings *all, int option) {
    if (option == CONFIG) {
        all->file = optarg;
    } else if (option >= FIRST_OWN) {
        return of->take(of->self, of->options[option - FIRST_OWN].id, optarg);
    } else if (option >= FIRST_SETTING) {
        all->values[option - FIRST_SETTING] = optarg;
    } else {
        return of->take(of->self, of->options[index_of_letter(of, option)].id, optarg);
    }
    return EXIT_DONE;
}

/* Refuses what getopt_long could not read: it has set optopt for a letter, and has gone past a long
 * option. */
static int arguments_refuse(int why, char **argv) {
    char letter[] = { '-', (char)optopt, '\0' };
    const char *given = optopt > 0 && optopt < FIRST_SETTING ? letter : argv[optind - 1];
    return say_usage(why == ':' ? "%s needs a value" : "'%s' is not an option, or takes no value",
                     given);
}

/* Reads options up to the first argument that is none. Returns EXIT_DONE; if *ends is set, the exit
 * status. */
static int arguments_read_options(const subcommand *of, const parser *reading, settings *all,
                                  int argc, char **argv, bool *ends) {
    int option = 0;
    while ((option = getopt_long(argc, argv, reading->letters, reading->all, NULL)) != -1) {
        *ends = option == 'h' || option == HELP;
        if (*ends) {
            print_help(of);
            return EXIT_DONE;
        }
        int status = option == '?' || option == ':' ? arguments_refuse(option, argv)
                                                    : arguments_take(of, all, option);
        *ends = status != EXIT_DONE;
        if (*ends) {
            return status;
        }
    }
    return EXIT_DONE;
}

int subcommand_main(const subcommand *of, int argc, char **argv) {
    parser reading = { .letters = "" };
    settings all = { .file = NULL };
    bool ends = false;
    char separator[] = "--";
    say_subcommand(of->name);
    arguments_prepare(&reading, of);
    opterr = 0;
    int status = arguments_read_options(of, &reading, &all, argc, argv, &ends);
    bool more = of->options_follow_first && optind < argc && strcmp(argv[optind - 1], "--") != 0;
    if (!ends && more) {
        char *first = argv[optind++];
        status = arguments_read_options(of, &reading, &all, argc, argv, &ends);
        argv[--optind] = first;
    } else if (!ends && of->options_follow_first && optind + 1 < argc &&
               strcmp(argv[optind + 1], "--") == 0) { /* -- RESOURCE -- COMMAND */
        argv[optind + 1] = argv[optind];
        argv[optind++] = separator;
    }
    if (ends) {
        return status;
    }
    return settings_complete(&all) ? of->run(of, &all, argc - optind, argv + optind) : EXIT_USAGE;
}
