#include "secure.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#include <zklock/administration.h>

#include "ask.h"
#include "everybody.h"
#include "exit_status.h"
#include "json_text.h"
#include "printable.h"
#include "queue_text.h"
#include "say.h"

enum {
    ROUNDS_MAX = 3,      /* others may make a parent while we close the others */
    LOOKED_AT_MAX = 200, /* contenders of each queue */
    PROBE_SIZE = 64,
    ACL_SIZE = ZKL_ACL_MAX + sizeof(",world:anyone:r")
};

/* Findings are kept as --json prints them. */
typedef struct secure {
    bool json, yes, force, above;
    const settings *settings;
    const char *acl; /* the ACL that parents are to have */
    json_t *nodes;   /* path, acl, action: "close", "make", "none", or "refused" if it could not be
                        closed */
    json_t *skipped; /* paths that we may not read, or not close */
    json_t *contenders; /* contenders whose nodes are open */
    size_t to_do;
    size_t done;
    bool refused; /* the user has said no, or contenders are open */
} secure;

static secure arguments;

static const option_description options[] = {
    { 'y', 'y', "yes", NULL, "do not ask; for scripts" },
    { 'f', '\0', "force", NULL, "even if contenders have open nodes" },
    { 'a', '\0', "above", NULL, "close what is above the lock root too" },
    { 'j', '\0', "json", NULL, "for programs" },
    { 0, '\0', NULL, NULL, NULL }
};

static int secure_take(void *arg, int option, const char *value) {
    secure *self = arg;
    (void)value;
    self->yes = self->yes || option == 'y';
    self->force = self->force || option == 'f';
    self->above = self->above || option == 'a';
    self->json = self->json || option == 'j';
    return EXIT_DONE;
}

/* ---- ACLs ------------------------------------------------------------------------------------ */

/* Tells whether everybody may do more than read. */
static bool is_open(const char *acl) {
    return everybody_may(acl, "cdwa");
}

/* Makes a value of an ACL, without the hashes of passwords, which are not for screens and logs. */
static json_t *acl_value(const char *acl) {
    char *shown = strdup(acl);
    for (char *next = shown; next != NULL && (next = strstr(next, "digest:")) != NULL;) {
        char *hash = strchr(next + strlen("digest:"), ':');
        char *end = hash != NULL ? strchr(hash + 1, ':') : NULL;
        next = hash != NULL ? hash : next + 1;
        if (end != NULL) {
            hash[1] = '*';
            memmove(hash + 2, end, strlen(end) + 1);
        }
    }
    json_t *value = shown != NULL ? json_of_text(shown) : NULL;
    free(shown);
    return value;
}

/* ---- What is there --------------------------------------------------------------------------- */

static bool is_skipped(const secure *self, const char *path) {
    size_t i = 0;
    const json_t *one = NULL;
    json_array_foreach(self->skipped, i, one) {
        if (strcmp(json_string_value(one), path) == 0) {
            return true;
        }
    }
    return false;
}

/* Passes over a node that we may not touch, and names it once: a stranger's node must not keep the
 * rest open. */
static int skip_if_refused(secure *self, const char *path, int status) {
    if (status != ZKL_NO_PERMISSION) {
        return status;
    }
    if (!is_skipped(self, path)) {
        say_status(path, status);
        json_array_append_new(self->skipped, json_of_text(path));
    }
    return ZKL_OK;
}

static bool is_to_do(const char *action) {
    return strcmp(action, "close") == 0 || strcmp(action, "make") == 0;
}

static void add_node(secure *self, const char *path, const char *acl, const char *action) {
    json_t *one = json_object();
    json_object_set_new(one, "path", json_of_text(path));
    json_object_set_new(one, "acl", acl_value(acl));
    json_object_set_new(one, "action", json_string(action));
    json_array_append_new(self->nodes, one);
    self->to_do += is_to_do(action) ? 1 : 0;
}

/* Looks at the node of a path. If there is none, it is to be made if `make` says so. */
static int look_at(secure *self, zkl_client *client, const char *path, bool make) {
    zkl_node *node = NULL;
    int status = zkl_node_read(client, path, ASK_TIMEOUT_MS, &node);
    if (status == ZKL_OK) {
        const char *action = is_skipped(self, path) ? "refused" : "close";
        add_node(self, path, node->acl, is_open(node->acl) ? action : "none");
    } else if (status == ZKL_NO_NODE) {
        status = ZKL_OK;
        if (make) {
            add_node(self, path, "", "make");
        }
    }
    zkl_report_free(node);
    return skip_if_refused(self, path, status);
}

static void add_contender(secure *self, const char *resource, const zkl_contender *contender) {
    char who[QUEUE_TEXT_SIZE];
    json_t *one = json_object();
    queue_text_who(who, contender);
    json_object_set_new(one, "resource", json_of_text(resource));
    json_object_set_new(one, "node", json_of_text(contender->node));
    json_object_set_new(one, "who", json_of_text(who));
    json_array_append_new(self->contenders, one);
}

/* Looks at the node of a contender: if it is open, the program has no node_acl yet. */
static int look_at_contender(secure *self, zkl_client *client, const char *resource,
                             const zkl_contender *contender) {
    char path[ZKL_TRANSACTION_PATH_MAX + 1];
    zkl_node *node = NULL;
    snprintf(path, sizeof(path), "%s/%s/%s", self->settings->values[SETTING_LOCK_ROOT], resource,
             contender->node);
    int status = zkl_node_read(client, path, ASK_TIMEOUT_MS, &node);
    if (status == ZKL_OK && is_open(node->acl)) {
        add_contender(self, resource, contender);
    }
    zkl_report_free(node);
    bool is_closed_or_gone = status == ZKL_NO_NODE || status == ZKL_NO_PERMISSION;
    return is_closed_or_gone ? ZKL_OK : status;
}

static int look_at_queue(secure *self, zkl_client *client, const char *resource) {
    zkl_queue *queue = NULL;
    int status = zkl_queue_describe(client, resource, ASK_TIMEOUT_MS, &queue);
    status = queue != NULL ? ZKL_OK : status; /* a contender that we may not read is not open */
    for (size_t i = 0; queue != NULL && status == ZKL_OK && i < queue->count && i < LOOKED_AT_MAX;
         i++) {
        status = look_at_contender(self, client, resource, queue->contenders[i]);
    }
    zkl_report_free(queue);
    return status;
}

static int look_at_resource(secure *self, zkl_client *client, const zkl_resource *resource) {
    char path[ZKL_TRANSACTION_PATH_MAX + 1];
    char mark[ZKL_TRANSACTION_PATH_MAX + sizeof("/done")];
    snprintf(path, sizeof(path), "%s/%s", self->settings->values[SETTING_LOCK_ROOT],
             resource->name);
    int status = look_at(self, client, path, false);
    if (status == ZKL_OK && !is_skipped(self, path)) { /* the mark of zklock once */
        snprintf(mark, sizeof(mark), "%s/done", path);
        status = look_at(self, client, mark, false);
    }
    if (status == ZKL_OK && resource->contenders > 0) {
        status = skip_if_refused(self, path, look_at_queue(self, client, resource->name));
    }
    return status;
}

/* Looks at the parents of the lock root, and at the quotas, by which whoever may write them limits
 * all nodes. */
static int look_above(secure *self, zkl_client *client) {
    char path[ZKL_TRANSACTION_PATH_MAX + 1];
    snprintf(path, sizeof(path), "%s", self->settings->values[SETTING_LOCK_ROOT]);
    int status = look_at(self, client, "/zookeeper/quota", false);
    for (char *slash = strrchr(path, '/'); status == ZKL_OK && slash > path;
         slash = strrchr(path, '/')) {
        *slash = '\0';
        status = look_at(self, client, path, false);
    }
    return status == ZKL_OK ? look_at(self, client, "/", false) : status;
}

/* Looks at everything, the lock root first: once it is closed strangers make no more resources.
 * What is above comes last. */
static int survey(secure *self, zkl_client *client) {
    zkl_resource_list *list = NULL;
    self->to_do = 0;
    json_array_clear(self->nodes);
    json_array_clear(self->contenders);
    int status = look_at(self, client, self->settings->values[SETTING_LOCK_ROOT], true);
    if (status == ZKL_OK) {
        status = zkl_resources_list(client, ASK_TIMEOUT_MS, &list);
        status = list != NULL ? ZKL_OK : status; /* we look at each resource that was listed */
    }
    for (size_t i = 0; list != NULL && status == ZKL_OK && i < list->count; i++) {
        status = look_at_resource(self, client, list->resources[i]);
    }
    zkl_report_free(list);
    return status == ZKL_OK && self->above ? look_above(self, client) : status;
}

/* ---- What is to be done ---------------------------------------------------------------------- */

static const char *text_of(const json_t *object, const char *name) {
    const char *text = json_string_value(json_object_get(object, name));
    return text != NULL ? text : "";
}

static void print_plan(const secure *self) {
    size_t i = 0;
    const json_t *one = NULL;
    json_array_foreach(self->nodes, i, one) {
        if (is_to_do(text_of(one, "action"))) {
            printf("%-6s %s  %s\n", text_of(one, "action"), printable(text_of(one, "path")),
                   printable(text_of(one, "acl")));
        }
    }
    json_array_foreach(self->contenders, i, one) {
        printf("open   %s/%s of %s\n", printable(text_of(one, "resource")),
               printable(text_of(one, "node")), text_of(one, "who"));
    }
    if (json_array_size(self->contenders) > 0) {
        puts("Programs whose nodes are open have no node_acl yet, and may fail when it is closed.");
    }
    fflush(stdout);
}

static int print_json(const secure *self) {
    json_t *value = json_object();
    json_object_set_new(value, "acl", acl_value(self->acl));
    json_object_set(value, "nodes", self->nodes);
    json_object_set(value, "open_contenders", self->contenders);
    json_object_set(value, "skipped", self->skipped);
    json_object_set_new(value, "done", json_integer((json_int_t)self->done));
    json_object_set_new(value, "to_do", json_integer((json_int_t)self->to_do));
    return json_print(value);
}

static bool says_yes(const secure *self) {
    char answer[16] = "";
    if (self->yes) {
        return true;
    }
    if (isatty(STDIN_FILENO) == 0) {
        say("nothing was done: --yes was not given, and nobody can be asked");
        return false;
    }
    fprintf(stderr, "Give these nodes the ACL %s? Type yes: ", self->acl);
    return fgets(answer, sizeof(answer), stdin) != NULL && strcmp(answer, "yes\n") == 0;
}

static bool may_begin(const secure *self) {
    if (json_array_size(self->contenders) > 0 && !self->force) {
        say("nothing was done: give those programs credentials and a node_acl first, or give "
            "--force");
        return false;
    }
    return says_yes(self);
}

/* ---- Doing it -------------------------------------------------------------------------------- */

/* Tries a lock below a parent with the new ACL, so that it cannot lock us out. This makes the lock
 * root too. */
static int try_acl(const secure *self, zkl_client *client) {
    uint64_t number = 0;
    char resource[PROBE_SIZE];
    char path[ZKL_TRANSACTION_PATH_MAX + 1];
    zkl_lock_options lock_options = ZKL_LOCK_OPTIONS_INIT;
    zkl_lock *lock = NULL;
    if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number)) {
        return ZKL_SYSTEM;
    }
    snprintf(resource, sizeof(resource), "zklock-secure-%016" PRIx64, number);
    snprintf(path, sizeof(path), "%s/%s", self->settings->values[SETTING_LOCK_ROOT], resource);
    lock_options.parent_acl = self->acl;
    int status = zkl_lock_open(client, resource, &lock_options, &lock);
    status =
        status == ZKL_OK ? zkl_lock_acquire(lock, ZKL_EXCLUSIVE, ASK_TIMEOUT_MS, NULL) : status;
    status = status == ZKL_OK ? zkl_node_set_acl(client, path, self->acl, ASK_TIMEOUT_MS) : status;
    status = status == ZKL_OK ? zkl_lock_release(lock, ASK_TIMEOUT_MS) : status;
    zkl_lock_close(lock);
    if (status == ZKL_NO_PERMISSION) {
        say("nothing was done: with the ACL %s not even this command could use a lock", self->acl);
    }
    return status;
}

/* Closes a node. Everybody may still read "/", which is not only ours. */
static int close_node(secure *self, zkl_client *client, const char *path) {
    char acl[ACL_SIZE];
    bool is_top = strcmp(path, "/") == 0;
    snprintf(acl, sizeof(acl), "%s%s", self->acl, is_top ? ",world:anyone:r" : "");
    int status = zkl_node_set_acl(client, path, acl, ASK_TIMEOUT_MS);
    zkl_node *node = NULL;
    status = status == ZKL_OK ? zkl_node_read(client, path, ASK_TIMEOUT_MS, &node) : status;
    if (status == ZKL_OK && is_open(node->acl)) {
        say("%s: somebody has opened it again", path);
        status = ZKL_OK;
    } else if (status == ZKL_OK) {
        self->done++;
        if (!self->json) {
            printf("closed %s\n", printable(path));
        }
    } else if (status == ZKL_NO_NODE) { /* a parent that was removed meanwhile */
        status = ZKL_OK;
    }
    zkl_report_free(node);
    return skip_if_refused(self, path, status);
}

static int close_all(secure *self, zkl_client *client) {
    size_t i = 0;
    const json_t *one = NULL;
    json_array_foreach(self->nodes, i, one) {
        if (is_to_do(text_of(one, "action"))) { /* a node that was to be made exists by now */
            int status = close_node(self, client, text_of(one, "path"));
            if (status != ZKL_OK) {
                return status;
            }
        }
    }
    return ZKL_OK;
}

/* Closes all nodes, and looks again: somebody may have made others while the lock root was open. */
static int close_in_rounds(secure *self, zkl_client *client) {
    int status = try_acl(self, client);
    for (int round = 0; status == ZKL_OK && round < ROUNDS_MAX && self->to_do > 0; round++) {
        status = close_all(self, client);
        status = status == ZKL_OK ? survey(self, client) : status;
    }
    return status;
}

static int act(zkl_client *client, void *arg) {
    secure *self = arg;
    int status = survey(self, client);
    if (status != ZKL_OK) {
        return status;
    }
    if (!self->json) {
        print_plan(self);
    }
    if (self->to_do > 0) {
        self->refused = !may_begin(self);
        status = self->refused ? ZKL_OK : close_in_rounds(self, client);
    } else if (!self->json) {
        printf("nothing is open: %zu nodes\n", json_array_size(self->nodes));
    }
    return self->json && status == ZKL_OK ? print_json(self) : status;
}

static int secure_run(const subcommand *of, const settings *all, int argc, char **argv) {
    secure *self = of->self;
    (void)argv;
    if (argc != 0) {
        return say_usage("it takes no arguments");
    }
    self->settings = all;
    self->acl = all->values[SETTING_PARENT_ACL];
    if (self->acl == NULL || is_open(self->acl)) {
        return say_usage("--parent-acl '%s': must say who may use the locks, and not everybody",
                         self->acl != NULL ? self->acl : "");
    }
    self->nodes = json_array();
    self->contenders = json_array();
    self->skipped = json_array();
    int status = ask(all, all->values[SETTING_LOCK_ROOT], act, self);
    bool has_skipped = json_array_size(self->skipped) > 0;
    json_decref(self->nodes);
    json_decref(self->contenders);
    json_decref(self->skipped);
    if (status == EXIT_DONE && (self->refused || self->to_do > 0)) {
        return EXIT_NOT_ACQUIRED;
    }
    return status == EXIT_DONE && has_skipped ? EXIT_NO_PERMISSION : status;
}

const subcommand secure_subcommand = {
    .name = "secure",
    .usage = "",
    .summary = "Closes parents of locks that are open to everybody; shows the plan first.",
    .options = options,
    .examples = "  zklock secure --credentials-file /etc/zklock/key --parent-acl auth::cdrwa\n"
                "  zklock secure --yes --above     # with the rest in /etc/zklock/config\n",
    .take = secure_take,
    .self = &arguments,
    .run = secure_run
};
