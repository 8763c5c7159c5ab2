#include "clean.h"

#include <stdio.h>
#include <zklock/administration.h>

#include "ask.h"
#include "exit_status.h"
#include "printable.h"
#include "say.h"

enum { IDLE_MS = 60000, OPTION_IDLE = 0, OPTION_DRY_RUN };

typedef struct clean {
    const settings *settings;
    int64_t idle_ms;
    bool dry_run;
} clean;

static clean arguments = { .idle_ms = IDLE_MS };

static int clean_take(void *arg, int option, const char *value) {
    clean *self = arg;
    if (option == OPTION_IDLE) {
        return take_time("idle", value, 0, &self->idle_ms);
    }
    self->dry_run = true;
    return EXIT_DONE;
}

static int clean_question(zkl_client *client, void *arg) {
    const clean *self = arg;
    zkl_resource_list *removed = NULL;
    int status = zkl_parents_remove_idle(client, self->idle_ms, self->idle_ms + ASK_TIMEOUT_MS,
                                         self->dry_run, &removed);
    for (size_t i = 0; removed != NULL && i < removed->count; i++) {
        printf("%s\n", printable(removed->resources[i]->name));
    }
    if (status == ZKL_OK && removed != NULL && removed->count == 0) {
        ask_about_root(self->settings, client);
    }
    zkl_report_free(removed);
    return status;
}

static int run_clean(const subcommand *of, const settings *all, int argc, char **argv) {
    clean *self = of->self;
    (void)argv;
    if (argc != 0) {
        return say_usage("it takes no arguments");
    }
    self->settings = all;
    return ask(all, all->values[SETTING_LOCK_ROOT], clean_question, self);
}

static const option_description options[] = {
    { OPTION_IDLE, '\0', "idle", "TIME", "idle for this long, which it waits (default: 1m)" },
    { OPTION_DRY_RUN, '\0', "dry-run", NULL, "only print what would be removed" },
    { 0, '\0', NULL, NULL, NULL }
};

const subcommand clean_subcommand = {
    .name = "clean",
    .usage = "",
    .summary = "Removes the nodes of resources that nobody uses, and prints their names.",
    .options = options,
    .examples = "  zklock clean --dry-run\n  zklock clean --idle 10m\n",
    .take = clean_take,
    .self = &arguments,
    .run = run_clean
};
