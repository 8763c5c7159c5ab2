/* The command line of a subcommand: its own options, and those of the settings, by getopt_long. */
#pragma once

#include "settings.h"

/** One option of a subcommand. */
typedef struct option_description {
    int id;               /* what `take` gets as `option` */
    char letter;          /* 0: it has none */
    const char *name;     /* NULL: the end of the list */
    const char *argument; /* NULL: it takes none */
    const char *help;
} option_description;

typedef struct subcommand {
    const char *name;
    const char *usage;   /* what the help shows behind the options */
    const char *summary; /* one line */
    const option_description *options;
    const char *examples; /* lines */
    /** Takes one of `options`, by its id. Returns EXIT_DONE, or what say_usage returned. */
    int (*take)(void *self, int option, const char *value);
    void *self;
    bool options_follow_first; /* options may also follow the first argument, as in flock FILE -c
                                  LINE */
    int (*run)(const struct subcommand *of, const settings *settings, int argc, char **argv);
} subcommand;

/** Reads the options, completes the settings, and runs the subcommand with what follows the
 *  options. Returns the exit status. */
int subcommand_main(const subcommand *of, int argc, char **argv);

/** Takes the value of an option that is a time of at least `min` ms. Returns EXIT_DONE, or what
 *  say_usage returned. */
int take_time(const char *name, const char *value, int64_t min, int64_t *ms);
/** Takes the value of an option that is a number. Otherwise as take_time(). */
int take_count(const char *name, const char *value, long min, long max, int32_t *count);

/** Prints the help of all settings. */
void arguments_print_settings(void);
