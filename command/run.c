#include "run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "duration.h"
#include "exit_status.h"
#include "front.h"
#include "mark.h"
#include "once.h"
#include "say.h"

enum { PERIOD_MIN_MS = 1000, RESTART_PAUSE_MS = 1000 };

typedef enum run_option {
    OPTION_SHARED,
    OPTION_SEMAPHORE,
    OPTION_ALSO,
    OPTION_ELECT,
    OPTION_NAMING,
    OPTION_RESTART,
    OPTION_RESTART_LIMIT,
    OPTION_RESTART_PAUSE,
    OPTION_MIN_HOLD,
    OPTION_REVOCABLE,
    OPTION_PERIOD,
    OPTION_UNTIL_CHANGED,
    OPTION_SHOW,
    OPTION_RESET,
    OPTION_JSON,
    OPTION_NONBLOCK,
    OPTION_WAIT,
    OPTION_CONFLICT,
    OPTION_MAX_HOLD,
    OPTION_ON_LOST,
    OPTION_GRACE,
    OPTION_SHELL,
    OPTION_QUIET,
    OPTION_VERBOSE
} run_option;

/* clang-format off */
#define OPTION_OF_NAMES                                                                            \
    { OPTION_NAMING, '\0', "naming", "NAME", "share it with curator, kazoo or leader-latch" }

#define OPTIONS_OF_KIND                                                                            \
    { OPTION_SHARED, 's', "shared", NULL, "a read lock: beside other readers" },                   \
    { OPTION_SEMAPHORE, '\0', "semaphore", "N", "one of N permits, and a slot" },                  \
    { OPTION_ALSO, '\0', "also", "RESOURCE", "this one too: all or none; repeatable" },            \
    { OPTION_ELECT, '\0', "elect", "TEXT", "as a leader: observers are told TEXT" },                \
    OPTION_OF_NAMES

#define OPTIONS_OF_WAIT                                                                            \
    { OPTION_NONBLOCK, 'n', "nonblock", NULL, "do not wait if it is taken" },                      \
    { OPTION_WAIT, 'w', "wait", "TIME", "at most: 2.5 (seconds), 500ms, 10m" },                    \
    { OPTION_CONFLICT, 'E', "conflict-exit-code", "N", "if it was not acquired (default: 1)" }

#define OPTIONS_OF_CHILD                                                                           \
    { OPTION_MAX_HOLD, '\0', "max-hold", "TIME", "end the child after this long" },                \
    { OPTION_ON_LOST, '\0', "on-lost", "WHAT", "term (default), kill, ignore, a shell's line" },   \
    { OPTION_GRACE, '\0', "grace", "TIME", "between SIGTERM and SIGKILL" },                        \
    { OPTION_SHELL, 'c', "command", "LINE", "run this line by /bin/sh" }

#define OPTIONS_OF_ALL                                                                             \
    { OPTION_QUIET, 'q', "quiet", NULL, "say nothing when it is taken" },                          \
    { OPTION_VERBOSE, 'v', "verbose", NULL, "tell for whom it waits, even off a terminal" },       \
    { 0, '\0', NULL, NULL, NULL }

static const option_description run_options[] = {
    OPTIONS_OF_KIND,
    { OPTION_RESTART, '\0', "restart", NULL, "start a failed child again, under the lock" },
    { OPTION_RESTART_LIMIT, '\0', "restart-limit", "N", "at most N times in a row" },
    { OPTION_RESTART_PAUSE, '\0', "restart-pause", "TIME", "first pause (default: 1s); it doubles" },
    { OPTION_MIN_HOLD, '\0', "min-hold", "TIME", "keep the lock at least this long" },
    { OPTION_REVOCABLE, '\0', "revocable", NULL, "end the child if somebody asks for the lock" },
    OPTIONS_OF_WAIT,
    OPTIONS_OF_CHILD,
    OPTIONS_OF_ALL
};

static const option_description hold_options[] = {
    OPTIONS_OF_KIND,
    { OPTION_REVOCABLE, '\0', "revocable", NULL, "give it up if somebody asks for it" },
    { OPTION_MAX_HOLD, '\0', "max-hold", "TIME", "give it up after this long" },
    OPTIONS_OF_WAIT,
    OPTIONS_OF_ALL
};

static const option_description once_options[] = {
    { OPTION_PERIOD, '\0', "period", "TIME", "one success in each (default: 1d), from 00:00 UTC" },
    { OPTION_UNTIL_CHANGED, '\0', "until-changed", "TEXT", "one success for each new TEXT instead" },
    { OPTION_SHOW, '\0', "show", NULL, "run nothing: show its last runs, and the next" },
    { OPTION_JSON, '\0', "json", NULL, "with --show, for programs" },
    { OPTION_RESET, '\0', "reset", NULL, "run nothing: make it due again" },
    OPTION_OF_NAMES,
    OPTIONS_OF_WAIT,
    OPTIONS_OF_CHILD,
    OPTIONS_OF_ALL
};
/* clang-format on */

typedef struct run_arguments {
    job job;
    const char *line;
    bool has_wait;
    bool shows;
    bool resets;
    bool json;
} run_arguments;

static int take_wait(run_arguments *self, int64_t wait_ms) {
    if (self->has_wait) {
        return say_usage("--nonblock and --wait contradict each other, and each is given once");
    }
    self->has_wait = true;
    self->job.wait_ms = wait_ms;
    return EXIT_DONE;
}

static int take_wait_time(run_arguments *self, const char *value) {
    int64_t wait_ms = 0;
    int status = take_time("wait", value, 0, &wait_ms);
    return status == EXIT_DONE ? take_wait(self, wait_ms) : status;
}

static int take_resource(job *what, const char *name) {
    if (what->resource_count == ZKL_LOCK_MEMBERS_MAX - 1) {
        return say_usage("--also '%s': at most %d resources in all", name, ZKL_LOCK_MEMBERS_MAX);
    }
    what->resources[what->resource_count++] = name;
    return EXIT_DONE;
}

static int take_text(job *what, const char *value) {
    if (strlen(value) > MARK_TEXT_MAX || strchr(value, '\n') != NULL) {
        return say_usage("--until-changed: must be one line of at most %d bytes", MARK_TEXT_MAX);
    }
    what->until_changed = value;
    return EXIT_DONE;
}

static void take_on_lost(job *what, const char *value) {
    static const char *const names[] = { "term", "kill", "ignore" };
    what->on_lost = ON_LOST_COMMAND;
    what->on_lost_command = value;
    for (int i = 0; i < ON_LOST_COMMAND; i++) {
        if (strcmp(value, names[i]) == 0) {
            what->on_lost = (on_lost)i;
        }
    }
}

static int take_naming(job *what, const char *value) {
    static const char *const names[] = { [ZKL_NAMING_CURATOR] = "curator",
                                         [ZKL_NAMING_KAZOO] = "kazoo",
                                         [ZKL_NAMING_LEADER_LATCH] = "leader-latch" };
    for (int i = 0; i <= ZKL_NAMING_LEADER_LATCH; i++) {
        if (strcmp(value, names[i]) == 0) {
            what->naming = (zkl_naming)i;
            return EXIT_DONE;
        }
    }
    return say_usage("--naming '%s': must be curator, kazoo or leader-latch", value);
}

static int run_take(void *arg, int option, const char *value) {
    run_arguments *self = arg;
    job *what = &self->job;
    switch ((run_option)option) {
    case OPTION_SHARED:
        what->mode = ZKL_READ;
        return EXIT_DONE;
    case OPTION_SEMAPHORE:
        return take_count("semaphore", value, 1, ZKL_PERMITS_MAX, &what->permits);
    case OPTION_ALSO:
        return take_resource(what, value);
    case OPTION_ELECT:
        what->candidate = value;
        return EXIT_DONE;
    case OPTION_NAMING:
        return take_naming(what, value);
    case OPTION_NONBLOCK:
        return take_wait(self, 0);
    case OPTION_WAIT:
        return take_wait_time(self, value);
    case OPTION_CONFLICT:
        return take_count("conflict-exit-code", value, 0, EXIT_STATUS_MAX, &what->conflict_status);
    case OPTION_MAX_HOLD:
        return take_time("max-hold", value, 1, &what->max_hold_ms);
    case OPTION_ON_LOST:
        take_on_lost(what, value);
        return EXIT_DONE;
    case OPTION_GRACE:
        return take_time("grace", value, 0, &what->grace_ms);
    case OPTION_RESTART:
        what->restart = true;
        return EXIT_DONE;
    case OPTION_RESTART_LIMIT:
        what->restart = true;
        return take_count("restart-limit", value, 1, INT32_MAX, &what->restart_limit);
    case OPTION_RESTART_PAUSE:
        what->restart = true;
        return take_time("restart-pause", value, 1, &what->restart_pause_ms);
    case OPTION_MIN_HOLD:
        return take_time("min-hold", value, 1, &what->min_hold_ms);
    case OPTION_REVOCABLE:
        what->revocable = true;
        return EXIT_DONE;
    case OPTION_SHELL:
        self->line = value;
        return EXIT_DONE;
    case OPTION_PERIOD:
        return take_time("period", value, PERIOD_MIN_MS, &what->period_ms);
    case OPTION_UNTIL_CHANGED:
        return take_text(what, value);
    case OPTION_SHOW:
        self->shows = true;
        return EXIT_DONE;
    case OPTION_RESET:
        self->resets = true;
        return EXIT_DONE;
    case OPTION_JSON:
        self->json = true;
        return EXIT_DONE;
    case OPTION_QUIET:
        what->quiet = true;
        return EXIT_DONE;
    case OPTION_VERBOSE:
        what->verbose = true;
        return EXIT_DONE;
    }
    return EXIT_USAGE;
}

/* Refuses options that contradict each other. */
static int run_check(const job *what) {
    int kinds = (what->mode == ZKL_READ) + (what->permits > 0) + (what->candidate != NULL);
    if (kinds > 1) {
        return say_usage("only one of --shared, --semaphore and --elect");
    }
    if (what->naming != ZKL_NAMING_CURATOR && what->permits > 0) {
        return say_usage("--naming and --semaphore: other libraries share no permits");
    }
    if (what->naming == ZKL_NAMING_LEADER_LATCH && what->mode == ZKL_READ) {
        return say_usage("--naming leader-latch and --shared: a latch has no readers");
    }
    if (what->naming == ZKL_NAMING_LEADER_LATCH && what->revocable) {
        return say_usage(
            "--naming leader-latch and --revocable: the latch behind would wait for ever");
    }
    if (what->resource_count > 1 && what->permits > 0) {
        return say_usage("--also and --semaphore: a set of locks has no permits");
    }
    if (what->period_ms > 0 && what->until_changed != NULL) {
        return say_usage("--period and --until-changed contradict each other");
    }
    if (what->max_hold_ms > 0 && what->min_hold_ms > what->max_hold_ms) {
        return say_usage("--min-hold is longer than --max-hold");
    }
    if (what->restart && what->on_lost == ON_LOST_IGNORE) {
        return say_usage("--restart and --on-lost ignore contradict each other");
    }
    if (what->revocable && what->on_lost == ON_LOST_IGNORE) {
        return say_usage("--revocable and --on-lost ignore contradict each other");
    }
    return EXIT_DONE;
}

/* Chooses the owner: a part of the run that has started us, if there is one. To wait for what that
 * run holds is a deadlock; to wait for what another part of it holds is none. */
static void choose_owner(job *what) {
    const char *given = getenv("ZKLOCK_OWNER");
    bool is_nested = given != NULL && strlen(given) < sizeof(what->owner) &&
                     strncmp(given, ZKL_OWNER_SHARED, strlen(ZKL_OWNER_SHARED)) == 0;
    bool has_room = is_nested && strlen(given) + sizeof("/01234567") <= sizeof(what->owner);
    uint64_t number[2] = { 0 };
    bool is_drawn = getrandom(number, sizeof(number), 0) == (ssize_t)sizeof(number);
    if (has_room && is_drawn) {
        snprintf(what->owner, sizeof(what->owner), "%s/%08" PRIx32, given, (uint32_t)number[0]);
    } else if (is_nested) { /* nested too deep for a part of its own */
        snprintf(what->owner, sizeof(what->owner), "%s", given);
    } else if (is_drawn) {
        snprintf(what->owner, sizeof(what->owner), "%s%016" PRIx64 "%016" PRIx64, ZKL_OWNER_SHARED,
                 number[0], number[1]);
    }
}

/* Puts the RESOURCE before those of --also, and runs. */
static int run_job(job *what, const settings *all, char *resource) {
    what->settings = all;
    for (size_t i = what->resource_count; i > 0; i--) {
        what->resources[i] = what->resources[i - 1];
    }
    what->resources[0] = resource;
    what->resource_count++;
    choose_owner(what);
    int status = run_check(what);
    return status == EXIT_DONE ? front_run(what) : status;
}

static int run_command(const subcommand *of, const settings *all, int argc, char **argv) {
    static char *shell[] = { "/bin/sh", "-c", NULL, NULL };
    run_arguments *self = of->self;
    if (argc < 1) {
        return say_usage("no RESOURCE is given");
    }
    if ((self->line != NULL) == (argc > 1)) {
        return say_usage(argc > 1 ? "both a command and --command are given"
                                  : "no COMMAND is given");
    }
    shell[2] = (char *)self->line;
    self->job.command = self->line != NULL ? shell : argv + 1;
    return run_job(&self->job, all, argv[0]);
}

static int run_hold(const subcommand *of, const settings *all, int argc, char **argv) {
    static char *nothing[] = { "hold", NULL };
    job *what = &((run_arguments *)of->self)->job;
    if (argc != 1) {
        return say_usage("one RESOURCE must be given");
    }
    what->holds_only = true;
    what->command = nothing;
    return run_job(what, all, argv[0]);
}

/* Shows or resets the mark. */
static int run_on_mark(run_arguments *self, const settings *all, int argc, char **argv) {
    if (self->shows && self->resets) {
        return say_usage("--show and --reset contradict each other");
    }
    if (argc != 1 || self->line != NULL) {
        return say_usage("--show and --reset take one NAME, and no command");
    }
    self->job.settings = all;
    self->job.resources[0] = argv[0];
    return self->shows ? once_show(all, argv[0], self->json) : once_reset(&self->job);
}

static int run_once(const subcommand *of, const settings *all, int argc, char **argv) {
    run_arguments *self = of->self;
    self->job.once = true;
    if (self->shows || self->resets) {
        return run_on_mark(self, all, argc, argv);
    }
    return self->json ? say_usage("--json needs --show") : run_command(of, all, argc, argv);
}

static run_arguments arguments = { .job = { .mode = ZKL_EXCLUSIVE,
                                            .wait_ms = ZKL_FOREVER,
                                            .grace_ms = -1,
                                            .restart_pause_ms = RESTART_PAUSE_MS,
                                            .conflict_status = EXIT_NOT_ACQUIRED } };

const subcommand run_subcommand = {
    .name = "run",
    .options_follow_first = true,
    .usage = "RESOURCE [--] COMMAND [ARGUMENT...]",
    .summary = "Runs a command while it holds a lock, and ends it if the lock is lost.",
    .options = run_options,
    .examples = "  zklock run backup -- /usr/local/bin/backup --full\n"
                "  zklock run -n -E 0 nightly -c 'make report && mail-it'\n",
    .take = run_take,
    .self = &arguments,
    .run = run_command
};

const subcommand hold_subcommand = {
    .name = "hold",
    .options_follow_first = true,
    .usage = "RESOURCE",
    .summary = "Holds a lock until its standard input ends, or a signal comes.",
    .options = hold_options,
    .examples = "  zklock hold deploys                    # until Ctrl-D\n"
                "  coproc zklock hold deploys             # bash: docs/command.md\n",
    .take = run_take,
    .self = &arguments,
    .run = run_hold
};

const subcommand once_subcommand = {
    .name = "once",
    .options_follow_first = true,
    .usage = "NAME [--] COMMAND [ARGUMENT...]",
    .summary = "Runs a command that is to succeed once in each period, anywhere.",
    .options = once_options,
    .examples = "  zklock once --period 1d nightly-report -- /usr/local/bin/report\n"
                "  zklock once --until-changed \"$VERSION\" migrate -- ./migrate\n"
                "  zklock once --show nightly-report\n",
    .take = run_take,
    .self = &arguments,
    .run = run_once
};
