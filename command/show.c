#include "show.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zklock/administration.h>

#include "ask.h"
#include "duration.h"
#include "exit_status.h"
#include "queue_text.h"
#include "say.h"

typedef struct show {
    bool json;
    const char *resource;
} show;

static const option_description show_options[] = { { 0, '\0', "json", NULL, "for programs" },
                                                   { 0, '\0', NULL, NULL, NULL } };

static int take(void *arg, int option, const char *value) {
    show *self = arg;
    (void)option;
    (void)value;
    self->json = true;
    return EXIT_DONE;
}

/* ---- How it is printed ----------------------------------------------------------------------- */

/* Others' text may be no UTF-8, which JSON cannot have: its bytes are taken for Latin-1 then. */
static json_t *text_value(const char *text) {
    json_t *value = json_string(text);
    if (value != NULL) {
        return value;
    }
    size_t used = 0;
    char *converted = calloc(2, strlen(text) + 1);
    for (const char *at = text; converted != NULL && *at != '\0'; at++) {
        unsigned char byte = (unsigned char)*at;
        if (byte >= 0x80) {
            converted[used++] = (char)(0xc0U | byte >> 6U);
            byte = 0x80U | (byte & 0x3fU);
        }
        converted[used++] = (char)byte;
    }
    value = json_string(converted != NULL ? converted : "");
    free(converted);
    return value;
}

static json_t *session_value(int64_t session_id) {
    char text[24];
    snprintf(text, sizeof(text), "0x%" PRIx64, (uint64_t)session_id);
    return json_string(text);
}

/* Takes the value. */
static int print_json(json_t *value) {
    int failed = json_dumpf(value, stdout, JSON_INDENT(2));
    json_decref(value);
    putchar('\n');
    return failed == 0 ? ZKL_OK : ZKL_NO_MEMORY;
}

/* Colour is for terminals whose users have not said no (NO_COLOR). */
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

/* ---- ls -------------------------------------------------------------------------------------- */

static json_t *resources_value(const zkl_resource_list *list) {
    json_t *all = json_array();
    for (size_t i = 0; i < list->count; i++) {
        json_t *one = json_object();
        json_object_set_new(one, "resource", text_value(list->resources[i]->name));
        json_object_set_new(one, "contenders",
                            json_integer((json_int_t)list->resources[i]->contenders));
        json_array_append_new(all, one);
    }
    return all;
}

static int list_resources(zkl_client *client, void *arg) {
    const show *self = arg;
    zkl_resource_list *list = NULL;
    int status = zkl_resources_list(client, ASK_TIMEOUT_MS, &list);
    if (status == ZKL_OK && self->json) {
        status = print_json(resources_value(list));
    } else if (status == ZKL_OK) {
        for (size_t i = 0; i < list->count; i++) {
            printf("%6zu  %s\n", list->resources[i]->contenders, list->resources[i]->name);
        }
    }
    zkl_resources_free(list);
    return status;
}

static int run_ls(const subcommand *of, const settings *all, int argc, char **argv) {
    (void)argv;
    if (argc != 0) {
        return say_usage("it takes no arguments");
    }
    return ask(all, all->values[SETTING_LOCK_ROOT], list_resources, of->self);
}

/* ---- status ---------------------------------------------------------------------------------- */

static json_t *contender_value(const zkl_contender *one) {
    json_t *value = json_object();
    json_object_set_new(value, "node", text_value(one->node));
    json_object_set_new(value, "kind", json_string(zkl_queue_kind_name((int)one->kind)));
    json_object_set_new(value, "permits", json_integer((json_int_t)one->permits));
    json_object_set_new(value, "sequence", json_integer((json_int_t)one->sequence));
    json_object_set_new(value, "holds", json_boolean(one->holds));
    json_object_set_new(value, "waits_for", text_value(one->waits_for));
    json_object_set_new(value, "host", text_value(one->identity.host));
    json_object_set_new(value, "process_id", text_value(one->identity.process_id));
    json_object_set_new(value, "label", text_value(one->identity.label));
    json_object_set_new(value, "owner", text_value(one->identity.owner));
    json_object_set_new(value, "data", text_value(one->identity.data));
    json_object_set_new(value, "age_ms", json_integer((json_int_t)one->age_ms));
    json_object_set_new(value, "session", session_value(one->session_id));
    json_object_set_new(value, "token", json_integer((json_int_t)one->token));
    json_object_set_new(value, "revoke_requested", json_boolean(one->revoke_requested));
    return value;
}

static json_t *queue_value(const char *resource, const zkl_queue *queue) {
    json_t *value = json_object();
    json_t *contenders = json_array();
    for (size_t i = 0; i < queue->count; i++) {
        json_array_append_new(contenders, contender_value(queue->contenders[i]));
    }
    json_object_set_new(value, "resource", text_value(resource));
    json_object_set_new(value, "contenders", contenders);
    return value;
}

static void print_contender(const zkl_contender *one) {
    char who[QUEUE_TEXT_SIZE];
    char age[DURATION_TEXT_SIZE];
    queue_text_who(who, one);
    duration_write(age, one->age_ms > 0 ? one->age_ms : 0);
    printf("  ");
    print_state(one->holds ? "holds" : "waits", one->holds);
    printf("  %-9s  %-8s  %s\n", one->permits > 0 ? "permit" : zkl_queue_kind_name((int)one->kind),
           age, who);
    printf("          token %" PRId64 ", session 0x%" PRIx64 "%s\n          %s\n", one->token,
           (uint64_t)one->session_id, one->revoke_requested ? ", asked to give it up" : "",
           one->node);
}

static void print_queue(const char *resource, const zkl_queue *queue) {
    size_t holders = 0;
    for (size_t i = 0; i < queue->count; i++) {
        holders += queue->contenders[i]->holds ? 1 : 0;
    }
    if (queue->count == 0) {
        printf("%s: free\n", resource);
        return;
    }
    printf("%s: %zu %s, %zu %s\n", resource, holders, holders == 1 ? "holds" : "hold",
           queue->count - holders, queue->count - holders == 1 ? "waits" : "wait");
    for (size_t i = 0; i < queue->count; i++) {
        print_contender(queue->contenders[i]);
    }
}

static int show_status(zkl_client *client, void *arg) {
    const show *self = arg;
    zkl_queue *queue = NULL;
    int status = zkl_queue_describe(client, self->resource, ASK_TIMEOUT_MS, &queue);
    if (status == ZKL_OK && self->json) {
        status = print_json(queue_value(self->resource, queue));
    } else if (status == ZKL_OK) {
        print_queue(self->resource, queue);
    }
    zkl_queue_free(queue);
    return status;
}

static int run_status(const subcommand *of, const settings *all, int argc, char **argv) {
    show *self = of->self;
    if (argc != 1) {
        return say_usage("one RESOURCE must be given");
    }
    self->resource = argv[0];
    return ask(all, self->resource, show_status, self);
}

/* ---- deadlocks ------------------------------------------------------------------------------- */

static json_t *deadlock_value(const zkl_deadlock *circle) {
    json_t *waits = json_array();
    for (size_t i = 0; i < circle->length; i++) {
        const zkl_deadlock_wait *wait = circle->waits[i];
        json_t *value = json_object();
        json_object_set_new(value, "resource", text_value(wait->resource));
        json_object_set_new(value, "node", text_value(wait->node));
        json_object_set_new(value, "behind", text_value(wait->behind));
        json_object_set_new(value, "session", session_value(wait->session_id));
        json_object_set_new(value, "host", text_value(wait->identity.host));
        json_object_set_new(value, "process_id", text_value(wait->identity.process_id));
        json_object_set_new(value, "label", text_value(wait->identity.label));
        json_object_set_new(value, "owner", text_value(wait->identity.owner));
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
    return print_json(value);
}

static void print_deadlock(size_t number, const zkl_deadlock *circle) {
    printf("deadlock %zu:\n", number);
    for (size_t i = 0; i < circle->length; i++) {
        const zkl_deadlock_wait *wait = circle->waits[i];
        printf("  %s pid %s (%s, owner %s) waits for %s\n      its node %s\n      behind   %s\n",
               wait->identity.host, wait->identity.process_id, wait->identity.label,
               wait->identity.owner, wait->resource, wait->node, wait->behind);
    }
}

static int show_deadlocks(zkl_client *client, void *arg) {
    const show *self = arg;
    zkl_deadlocks *found = NULL;
    int status = zkl_deadlocks_find(client, ASK_TIMEOUT_MS, &found);
    if (status == ZKL_OK && self->json) {
        status = print_deadlocks_json(found);
    } else if (status == ZKL_OK) {
        for (size_t i = 0; i < found->count; i++) {
            print_deadlock(i + 1, found->deadlocks[i]);
        }
        puts(found->count == 0 ? "no deadlocks" : found->are_more ? "and there may be more" : "");
    }
    zkl_deadlocks_free(found);
    return status;
}

static int run_deadlocks(const subcommand *of, const settings *all, int argc, char **argv) {
    (void)argv;
    if (argc != 0) {
        return say_usage("it takes no arguments");
    }
    return ask(all, all->values[SETTING_LOCK_ROOT], show_deadlocks, of->self);
}

/* ---- All three ------------------------------------------------------------------------------- */

static show arguments;

const subcommand ls_subcommand = { .name = "ls",
                                   .usage = "",
                                   .summary =
                                       "Lists the resources below the lock root, and how many hold "
                                       "or await each.",
                                   .options = show_options,
                                   .examples =
                                       "  zklock ls\n  zklock ls --json | jq -r '.[].resource'\n",
                                   .take = take,
                                   .self = &arguments,
                                   .run = run_ls };

const subcommand status_subcommand = { .name = "status",
                                       .usage = "RESOURCE",
                                       .summary = "Shows who holds a lock, and who waits for it.",
                                       .options = show_options,
                                       .examples = "  zklock status backup\n"
                                                   "  zklock status --json hot/stripe-0003\n",
                                       .take = take,
                                       .self = &arguments,
                                       .run = run_status };

const subcommand deadlocks_subcommand = {
    .name = "deadlocks",
    .usage = "",
    .summary = "Finds owners that wait for one another in a circle.",
    .options = show_options,
    .examples = "  zklock deadlocks\n  zklock deadlocks --json | jq '.deadlocks | length'\n",
    .take = take,
    .self = &arguments,
    .run = run_deadlocks
};
