/* inventory: sells out of one SQLite database from several processes, without a lock and with. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../scenario.h"
#include "report.h"
#include "run.h"

enum {
    EXIT_USAGE = 2,
    EXIT_INTERRUPTED = 130,
    TIMEOUT_DEFAULT_S = 120,
    TIMEOUT_MAX_S = 3600,
    RESULTS_MAX = 64
};

struct arguments {
    struct run_options run;
    const struct scenario *only; /* NULL: all */
    bool list;
    bool help;
};

static const char help_text[] =
    "Usage: inventory [--hosts HOSTS] [--scenario NAME] [--timeout SECONDS]\n"
    "       inventory --list | --help\n"
    "\n"
    "Sells from several processes over one SQLite database, each scenario without a lock\n"
    "(it must oversell) and with zklock (it must not), and prints a table.\n"
    "\n"
    "  --hosts HOSTS      ZooKeeper servers, host:port[,host:port...][/chroot];\n"
    "                     the default is the environment variable ZKLOCK_HOSTS\n"
    "  --scenario NAME    run this one only\n"
    "  --timeout SECONDS  end a run that takes longer, 1 to 3600 (default 120)\n"
    "  --list             list the scenarios\n"
    "  --help             show this text\n"
    "\n"
    "Exit status: 0 when every run came as it must; 1 when one did not; 2 when the\n"
    "arguments are wrong; 130 when interrupted.\n";

static bool usage_error(const char *input, const char *rule) {
    (void)fprintf(stderr, "inventory: %s: %s\n", input, rule);
    return false;
}

static bool parse_timeout(const char *text, int *timeout_s) {
    char *end = NULL;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < 1 || value > TIMEOUT_MAX_S) {
        (void)fprintf(stderr, "inventory: --timeout %s: must be a whole number from 1 to %d\n",
                      text, TIMEOUT_MAX_S);
        return false;
    }
    *timeout_s = (int)value;
    return true;
}

static bool parse_scenario(const char *name, const struct scenario **scenario) {
    *scenario = scenario_find(name);
    if (*scenario == NULL) {
        (void)fprintf(stderr, "inventory: --scenario %s: must be one of those that --list shows\n",
                      name);
    }
    return *scenario != NULL;
}

static bool parse_option(struct arguments *arguments, int option) {
    switch (option) {
    case 'H':
        arguments->run.hosts = optarg;
        return true;
    case 's':
        return parse_scenario(optarg, &arguments->only);
    case 't':
        return parse_timeout(optarg, &arguments->run.timeout_s);
    case 'l':
        arguments->list = true;
        return true;
    case 'h':
        arguments->help = true;
        return true;
    default:
        return false; /* getopt_long has named the input and the rule */
    }
}

static bool parse(struct arguments *arguments, int argc, char **argv) {
    static const struct option options[] = {
        { "hosts", required_argument, NULL, 'H' },   { "scenario", required_argument, NULL, 's' },
        { "timeout", required_argument, NULL, 't' }, { "list", no_argument, NULL, 'l' },
        { "help", no_argument, NULL, 'h' },          { NULL, 0, NULL, 0 },
    };
    *arguments = (struct arguments){ .run = { .hosts = getenv("ZKLOCK_HOSTS"),
                                              .timeout_s = TIMEOUT_DEFAULT_S } };
    int option = 0;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (!parse_option(arguments, option)) {
            return false;
        }
    }
    if (optind < argc) {
        return usage_error(argv[optind], "there must be options only");
    }
    return true;
}

static bool has_hosts(const struct arguments *arguments) {
    if (arguments->run.hosts != NULL && arguments->run.hosts[0] != '\0') {
        return true;
    }
    return usage_error("--hosts", "must name the ZooKeeper servers when ZKLOCK_HOSTS does not");
}

static void list_scenarios(const struct scenario *only) {
    for (size_t i = 0; i < scenario_count; i++) {
        if (only == NULL || only == &scenarios[i]) {
            (void)printf("%-18s%s\n", scenarios[i].name, scenarios[i].summary);
        }
    }
}

/* Returns how many results there are; `*interrupted` when the user has ended it. */
static int run_all(const struct arguments *arguments, struct result *results, bool *interrupted) {
    int count = 0;
    for (size_t i = 0; i < scenario_count; i++) {
        const struct scenario *scenario = &scenarios[i];
        if (arguments->only != NULL && arguments->only != scenario) {
            continue;
        }
        for (int j = 0; j < scenario->guard_count && count < RESULTS_MAX; j++) {
            *interrupted =
                !run_scenario(scenario, scenario->guards[j], &arguments->run, &results[count++]);
            if (*interrupted) {
                return count;
            }
        }
    }
    return count;
}

static int exit_status(const struct result *results, int count) {
    for (int i = 0; i < count; i++) {
        if (!result_is_right(&results[i])) {
            return EXIT_FAILURE;
        }
    }
    return EXIT_SUCCESS;
}

static int sell(const struct arguments *arguments) {
    static struct result results[RESULTS_MAX];
    int unreachable = run_check_hosts(arguments->run.hosts);
    if (unreachable != 0) {
        return unreachable;
    }
    run_block_signals();
    bool interrupted = false;
    int count = run_all(arguments, results, &interrupted);
    report_print(stdout, results, count);
    return interrupted ? EXIT_INTERRUPTED : exit_status(results, count);
}

int main(int argc, char **argv) {
    struct arguments arguments;
    if (!parse(&arguments, argc, argv)) {
        (void)fputs("Try 'inventory --help'.\n", stderr);
        return EXIT_USAGE;
    }
    if (arguments.help) {
        (void)fputs(help_text, stdout);
        return EXIT_SUCCESS;
    }
    if (arguments.list) {
        list_scenarios(arguments.only);
        return EXIT_SUCCESS;
    }
    return has_hosts(&arguments) ? sell(&arguments) : EXIT_USAGE;
}
