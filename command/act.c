#include "act.h"

#include <stdio.h>
#include <string.h>
#include <zklock/administration.h>

#include "ask.h"
#include "duration.h"
#include "exit_status.h"
#include "printable.h"
#include "queue_text.h"
#include "say.h"

typedef struct act {
    const char *resource;
    const char *node;
    bool yes;
    bool holds;   /* the node held the lock when it was described last */
    bool refused; /* the user has said no, or the node has changed since it was described */
} act;

static int act_take(void *arg, int option, const char *value) {
    act *self = arg;
    (void)option;
    (void)value;
    self->yes = true;
    return EXIT_DONE;
}

static int run_act(const subcommand *of, const settings *all, int argc, char **argv,
                   int (*question)(zkl_client *client, void *arg)) {
    act *self = of->self;
    if (argc != 2) {
        return say_usage("RESOURCE and NODE must be given, as zklock status shows them");
    }
    self->resource = argv[0];
    self->node = argv[1];
    int status = ask(all, self->node, question, self);
    return status == EXIT_DONE && self->refused ? EXIT_NOT_ACQUIRED : status;
}

/* ---- revoke ---------------------------------------------------------------------------------- */

static int revoke(zkl_client *client, void *arg) {
    const act *self = arg;
    int status = zkl_node_revoke(client, self->resource, self->node, ASK_TIMEOUT_MS);
    if (status == ZKL_OK) {
        printf("%s is asked to give up %s\n", printable(self->node), printable(self->resource));
    }
    return status;
}

static int run_revoke(const subcommand *of, const settings *all, int argc, char **argv) {
    return run_act(of, all, argc, argv, revoke);
}

/* ---- break ----------------------------------------------------------------------------------- */

static void print_whose(const act *self, const zkl_contender *found) {
    char who[QUEUE_TEXT_SIZE];
    char age[DURATION_TEXT_SIZE];
    queue_text_who(who, found);
    queue_text_age(age, found);
    fprintf(stderr,
            "%s of %s\n  belongs to %s, for %s; it %s\n"
            "Breaking it does not stop its process: another may be granted the lock while that "
            "works "
            "on.\n",
            printable(self->node), printable(self->resource), who, age,
            found->holds ? "holds the lock" : "waits");
}

/* Says whose node it is, before the user says yes. After that, says so again if it has begun or
 * ceased to hold, and refuses. */
static int act_describe(zkl_client *client, act *self, bool is_first) {
    zkl_queue *queue = NULL;
    int status = zkl_queue_describe(client, self->resource, ASK_TIMEOUT_MS, &queue);
    const zkl_contender *found = NULL;
    for (size_t i = 0; queue != NULL && i < queue->count; i++) {
        if (strcmp(queue->contenders[i]->node, self->node) == 0) {
            found = queue->contenders[i];
        }
    }
    bool held = self->holds;
    self->holds = found != NULL && found->holds;
    if (found != NULL && (is_first || held != self->holds)) {
        print_whose(self, found);
    }
    self->refused = !is_first && held != self->holds;
    zkl_report_free(queue);
    return found != NULL ? ZKL_OK : status != ZKL_OK ? status : ZKL_NO_NODE;
}

static bool says_yes(void) {
    char answer[16] = "";
    fprintf(stderr, "Break it? Type yes: ");
    return fgets(answer, sizeof(answer), stdin) != NULL && strcmp(answer, "yes\n") == 0;
}

static int break_node(zkl_client *client, void *arg) {
    act *self = arg;
    int status = self->yes ? ZKL_OK : act_describe(client, self, true);
    if (status != ZKL_OK) {
        return status;
    }
    self->refused = !self->yes && !says_yes();
    if (!self->yes && !self->refused) {
        status =
            act_describe(client, self, false); /* it may have been granted the lock meanwhile */
    }
    if (status != ZKL_OK) {
        return status;
    }
    if (self->refused) {
        say("%s: nothing was done", self->node);
        return ZKL_OK;
    }
    status = zkl_node_break(client, self->resource, self->node, ASK_TIMEOUT_MS);
    if (status == ZKL_OK) {
        printf("%s is gone from %s\n", printable(self->node), printable(self->resource));
    }
    return status;
}

static int run_break(const subcommand *of, const settings *all, int argc, char **argv) {
    return run_act(of, all, argc, argv, break_node);
}

/* ---- Both ------------------------------------------------------------------------------------ */

static act arguments;

static const option_description no_options[] = { { 0, '\0', NULL, NULL, NULL } };
static const option_description break_options[] = {
    { 0, 'y', "yes", NULL, "do not ask; for scripts" }, { 0, '\0', NULL, NULL, NULL }
};

const subcommand revoke_subcommand = {
    .name = "revoke",
    .usage = "RESOURCE NODE",
    .summary = "Asks a holder to give its lock up; it decides.",
    .options = no_options,
    .examples = "  zklock status x\n"
                "  zklock revoke x _c_16f7ef82-0043-87ad-a238-442b3b5a49dd-lock-0000000007\n",
    .self = &arguments,
    .run = run_revoke
};

const subcommand break_subcommand = {
    .name = "break",
    .usage = "RESOURCE NODE",
    .summary = "Deletes the node of a holder that is gone, or of one that waits.",
    .options = break_options,
    .examples = "  zklock break x _c_16f7ef82-0043-87ad-a238-442b3b5a49dd-lock-0000000007\n"
                "  zklock break --yes x \"$node\"   # in a script\n",
    .take = act_take,
    .self = &arguments,
    .run = run_break
};
