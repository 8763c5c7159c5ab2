#include "show.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zklock/administration.h>

#include "ask.h"
#include "duration.h"
#include "exit_status.h"
#include "json_text.h"
#include "once.h"
#include "printable.h"
#include "queue_text.h"
#include "say.h"

typedef struct show {
    const settings *settings;
    bool json;
    bool names; /* only names are printed */
    bool busy;  /* only resources that somebody holds or awaits */
    const char *resource;
} show;

enum { OPTION_JSON, OPTION_NAMES, OPTION_BUSY };

/* clang-format off */
#define JSON_OPTION { OPTION_JSON, '\0', "json", NULL, "for programs" }
#define NAMES_OPTION { OPTION_NAMES, '0', "null", NULL, "only the names, as they are, for xargs -0" }
static show arguments;

static const option_description json_options[] = { JSON_OPTION, { 0, '\0', NULL, NULL, NULL } };
static const option_description status_options[] = {
    JSON_OPTION,
    NAMES_OPTION,
    { 0, '\0', NULL, NULL, NULL }
};
static const option_description ls_options[] = {
    { OPTION_BUSY, '\0', "busy", NULL, "only those that somebody holds or awaits" },
    JSON_OPTION,
    NAMES_OPTION,
    { 0, '\0', NULL, NULL, NULL }
};
/* clang-format on */

static int show_take(void *arg, int option, const char *value) {
    show *self = arg;
    (void)value;
    *(option == OPTION_JSON    ? &self->json
      : option == OPTION_NAMES ? &self->names
                               : &self->busy) = true;
    return EXIT_DONE;
}

/* ---- How it is printed ----------------------------------------------------------------------- */

/* Tells whether to use colours: on a terminal, unless the user has set NO_COLOR. */
static bool has_colour(void) {
    const char *no = getenv("NO_COLOR");
    return isatty(STDOUT_FILENO) != 0 && (no == NULL || no[0] == '\0');
}

static void print_state(const char *text, bool is_good) {
    if (has_colour()) {
        printf("\x1b[%dm%-6s\x1b[0m", is_good ? 32 : 33, text);
    } else {
        printf("%-6s", text);
    }
}

/* Prints a name as it is, and a NUL: it may have spaces, and quotes. */
static void print_name(const char *name) {
    fputs(name, stdout);
    putchar('\0');
}

/* ---- ls -------------------------------------------------------------------------------------- */

/* Tells whether a resource is to be listed. One that may not be read may be busy. */
static bool is_listed(const show *self, const zkl_resource *one) {
    return !self->busy || one->contenders > 0 || one->status != ZKL_OK;
}

static json_t *resources_value(const show *self, const zkl_resource_list *list) {
    json_t *all = json_array();
    for (size_t i = 0; i < list->count; i++) {
        if (!is_listed(self, list->resources[i])) {
            continue;
        }
        json_t *one = json_object();
        json_object_set_new(one, "resource", json_of_text(list->resources[i]->name));
        json_object_set_new(one, "contenders",
                            list->resources[i]->status == ZKL_OK
                                ? json_integer((json_int_t)list->resources[i]->contenders)
                                : json_null());
        json_array_append_new(all, one);
    }
    return all;
}

static int list_resources(zkl_client *client, void *arg) {
    const show *self = arg;
    zkl_resource_list *list = NULL;
    int status = zkl_resources_list(client, ASK_TIMEOUT_MS, &list);
    int printed = list != NULL && self->json ? json_print(resources_value(self, list)) : ZKL_OK;
    for (size_t i = 0; list != NULL && !self->json && i < list->count; i++) {
        const zkl_resource *one = list->resources[i];
        if (!is_listed(self, one)) {
            continue;
        }
        if (self->names) {
            print_name(one->name);
        } else if (one->status != ZKL_OK) {
            printf("     ?  %s\n", printable(one->name));
        } else {
            printf("%6zu  %s\n", one->contenders, printable(one->name));
        }
    }
    if (status == ZKL_OK && list != NULL && list->count == 0) {
        ask_about_root(self->settings, client);
    }
    zkl_report_free(list);
    return status != ZKL_OK ? status : printed;
}

static int run_ls(const subcommand *of, const settings *all, int argc, char **argv) {
    (void)argv;
    if (argc != 0) {
        return say_usage("it takes no arguments");
    }
    arguments.settings = all;
    return ask_to_read(all, all->values[SETTING_LOCK_ROOT], list_resources, of->self);
}

/* ---- status ---------------------------------------------------------------------------------- */

static json_t *contender_value(const zkl_contender *one) {
    json_t *value = json_object();
    json_object_set_new(value, "node", json_of_text(one->node));
    json_object_set_new(value, "kind", json_string(zkl_lock_mode_name((int)one->mode)));
    json_object_set_new(value, "permits", json_integer((json_int_t)one->permits));
    json_object_set_new(value, "sequence", json_integer((json_int_t)one->sequence));
    json_object_set_new(value, "holds", json_boolean(one->holds));
    json_object_set_new(value, "waits_for", json_of_text(one->waits_for));
    json_object_set_new(value, "host", json_of_text(one->identity.host));
    json_object_set_new(value, "process_id", json_of_text(one->identity.process_id));
    json_object_set_new(value, "label", json_of_text(one->identity.label));
    json_object_set_new(value, "owner", json_of_text(one->identity.owner));
    json_object_set_new(value, "data", json_of_text(one->identity.data));
    json_object_set_new(value, "age_ms", json_integer((json_int_t)one->age_ms));
    json_object_set_new(value, "session", json_of_session(one->session_id));
    json_object_set_new(value, "token", json_integer((json_int_t)one->token));
    json_object_set_new(value, "revoke_requested", json_boolean(one->revoke_requested));
    json_object_set_new(value, "readable", json_boolean(one->status == ZKL_OK));
    return value;
}

static json_t *queue_value(const char *resource, const zkl_queue *queue, const mark_content *once) {
    json_t *value = json_object();
    json_t *contenders = json_array();
    for (size_t i = 0; i < queue->count; i++) {
        json_array_append_new(contenders, contender_value(queue->contenders[i]));
    }
    json_object_set_new(value, "resource", json_of_text(resource));
    json_object_set_new(value, "contenders", contenders);
    json_object_set_new(value, "once", once_value(once));
    return value;
}

static void print_session(int64_t session_id) {
    if (session_id != 0) {
        printf("session 0x%" PRIx64, (uint64_t)session_id);
    } else {
        printf("no session: it stays until somebody deletes it");
    }
}

static void print_contender(const zkl_contender *one) {
    char who[QUEUE_TEXT_SIZE];
    char age[DURATION_TEXT_SIZE];
    queue_text_who(who, one);
    queue_text_age(age, one);
    printf("  ");
    print_state(one->holds ? "holds" : "waits", one->holds);
    printf("  %-9s  %-8s  %s\n", one->permits > 0 ? "permit" : zkl_lock_mode_name((int)one->mode),
           age, who);
    if (one->status == ZKL_OK) {
        printf("          token %" PRId64 ", ", one->token);
        print_session(one->session_id);
        puts(one->revoke_requested ? ", asked to give it up" : "");
    }
    printf("          %s\n", printable(one->node));
}

static void print_queue(const char *resource, const zkl_queue *queue) {
    size_t holders = 0;
    for (size_t i = 0; i < queue->count; i++) {
        holders += queue->contenders[i]->holds ? 1 : 0;
    }
    if (queue->count == 0) {
        printf("%s: free\n", printable(resource));
        return;
    }
    printf("%s: %zu %s, %zu %s\n", printable(resource), holders, holders == 1 ? "holds" : "hold",
           queue->count - holders, queue->count - holders == 1 ? "waits" : "wait");
    for (size_t i = 0; i < queue->count; i++) {
        print_contender(queue->contenders[i]);
    }
}

/* Reads what `zklock once` has marked, if the resource is one of its jobs and we may. */
static void read_mark(zkl_client *client, const char *resource, mark_content *content) {
    char path[ZKL_TRANSACTION_PATH_MAX + 1];
    mark_find_path(path, client, resource);
    (void)mark_read(content, client, path);
}

static int show_status(zkl_client *client, void *arg) {
    const show *self = arg;
    zkl_queue *queue = NULL;
    mark_content once = { .exists = false };
    if (!self->names) { /* before the queue, whose message must stay the last */
        read_mark(client, self->resource, &once);
    }
    int status = zkl_queue_describe(client, self->resource, ASK_TIMEOUT_MS, &queue);
    int printed = ZKL_OK;
    if (queue != NULL && self->json) {
        printed = json_print(queue_value(self->resource, queue, &once));
    } else if (queue != NULL && self->names) {
        for (size_t i = 0; i < queue->count; i++) {
            print_name(queue->contenders[i]->node);
        }
    } else if (queue != NULL) {
        print_queue(self->resource, queue);
        if (once.exists) {
            puts("  a job of zklock once:");
            once_print(&once, "    ");
        }
    }
    if (status == ZKL_OK && queue != NULL && queue->count == 0 && !once.exists &&
        self->resource[0] != '/') {
        ask_about_root(self->settings, client);
    }
    zkl_report_free(queue);
    return status != ZKL_OK ? status : printed;
}

static int run_status(const subcommand *of, const settings *all, int argc, char **argv) {
    show *self = of->self;
    if (argc != 1) {
        return say_usage("one RESOURCE must be given");
    }
    self->settings = all;
    self->resource = argv[0];
    return ask_to_read(all, self->resource, show_status, self);
}

/* ---- deadlocks ------------------------------------------------------------------------------- */

static json_t *deadlock_value(const zkl_deadlock *circle) {
    json_t *waits = json_array();
    for (size_t i = 0; i < circle->length; i++) {
        const zkl_deadlock_wait *wait = circle->waits[i];
        json_t *value = json_object();
        json_object_set_new(value, "resource", json_of_text(wait->resource));
        json_object_set_new(value, "node", json_of_text(wait->node));
        json_object_set_new(value, "behind", json_of_text(wait->behind));
        json_object_set_new(value, "session", json_of_session(wait->session_id));
        json_object_set_new(value, "host", json_of_text(wait->identity.host));
        json_object_set_new(value, "process_id", json_of_text(wait->identity.process_id));
        json_object_set_new(value, "label", json_of_text(wait->identity.label));
        json_object_set_new(value, "owner", json_of_text(wait->identity.owner));
        json_array_append_new(waits, value);
    }
    return waits;
}

static int print_deadlocks_json(const zkl_deadlocks *found) {
    json_t *value = json_object();
    json_t *circles = json_array();
    for (size_t i = 0; i < found->count; i++) {
        json_array_append_new(circles, deadlock_value(found->deadlocks[i]));
    }
    json_object_set_new(value, "deadlocks", circles);
    json_object_set_new(value, "are_more", json_boolean(found->are_more));
    json_t *skipped = json_array();
    for (size_t i = 0; i < found->skipped_count; i++) {
        json_array_append_new(skipped, json_of_text(found->skipped[i]));
    }
    json_object_set_new(value, "skipped", skipped);
    return json_print(value);
}

static void print_deadlock(size_t number, const zkl_deadlock *circle) {
    printf("deadlock %zu:\n", number);
    for (size_t i = 0; i < circle->length; i++) {
        const zkl_deadlock_wait *wait = circle->waits[i];
        char who[QUEUE_TEXT_SIZE];
        snprintf(who, sizeof(who), "%s pid %s (%s, owner %s)", wait->identity.host,
                 wait->identity.process_id, wait->identity.label, wait->identity.owner);
        printf("  %s waits for %s\n      its node %s\n      behind   %s\n", printable(who),
               printable(wait->resource), printable(wait->node), printable(wait->behind));
    }
}

static void print_deadlocks(const zkl_deadlocks *found) {
    for (size_t i = 0; i < found->count; i++) {
        print_deadlock(i + 1, found->deadlocks[i]);
    }
    puts(found->count == 0 ? "no deadlocks" : found->are_more ? "and there may be more" : "");
    for (size_t i = 0; i < found->skipped_count; i++) {
        printf("not looked at: %s\n", printable(found->skipped[i]));
    }
}

static int show_deadlocks(zkl_client *client, void *arg) {
    const show *self = arg;
    zkl_deadlocks *found = NULL;
    int status = zkl_deadlocks_find(client, ASK_TIMEOUT_MS, &found);
    int printed = ZKL_OK;
    if (found != NULL && self->json) {
        printed = print_deadlocks_json(found);
    } else if (found != NULL) {
        print_deadlocks(found);
    }
    if (status == ZKL_OK && found != NULL && found->count == 0) {
        ask_about_root(self->settings, client);
    }
    zkl_report_free(found);
    return status != ZKL_OK ? status : printed;
}

static int run_deadlocks(const subcommand *of, const settings *all, int argc, char **argv) {
    (void)argv;
    if (argc != 0) {
        return say_usage("it takes no arguments");
    }
    arguments.settings = all;
    return ask_to_read(all, all->values[SETTING_LOCK_ROOT], show_deadlocks, of->self);
}

/* ---- All three ------------------------------------------------------------------------------- */

const subcommand ls_subcommand = {
    .name = "ls",
    .usage = "",
    .summary = "Lists the resources below the lock root, and how many hold "
               "or await each.",
    .options = ls_options,
    .examples = "  zklock ls --busy\n  zklock ls --json | jq -r '.[].resource'\n",
    .take = show_take,
    .self = &arguments,
    .run = run_ls
};

const subcommand status_subcommand = { .name = "status",
                                       .options_follow_first = true,
                                       .usage = "RESOURCE",
                                       .summary = "Shows who holds a lock, and who waits for it.",
                                       .options = status_options,
                                       .examples = "  zklock status backup\n"
                                                   "  zklock status --json hot/stripe-0003\n",
                                       .take = show_take,
                                       .self = &arguments,
                                       .run = run_status };

const subcommand deadlocks_subcommand = {
    .name = "deadlocks",
    .usage = "",
    .summary = "Finds owners that wait for one another in a circle.",
    .options = json_options,
    .examples = "  zklock deadlocks\n  zklock deadlocks --json | jq '.deadlocks | length'\n",
    .take = show_take,
    .self = &arguments,
    .run = run_deadlocks
};
