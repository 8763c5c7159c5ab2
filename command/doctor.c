#include "doctor.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>
#include <zklock/administration.h>

#include "ask.h"
#include "duration.h"
#include "exit_status.h"
#include "four_letters.h"
#include "json_text.h"
#include "say.h"

enum {
    SERVER_MS = 3000, /* for one answer */
    CLOCK_MAX_MS = 2000,
    LATENCY_MAX_MS = 100, /* on average: a commit of locks waits as long */
    OUTSTANDING_MAX = 100,
    TICKS_MIN = 5,
    CONTENDER_BYTES = 64, /* of a list, for each name */
    JAVA_LIST_BYTES_MAX = 1000000,
    PROBE_SIZE = 64,
    VALUE_SIZE = 256,
    FINDING_SIZE = 512
};

typedef enum level { LEVEL_OK, LEVEL_WARNING, LEVEL_BAD } level;

typedef struct doctor {
    bool json;
    const settings *settings;
    json_t *findings;
    int bad;
    int leaders;
    int serving;
    int servers;
} doctor;

static doctor arguments;

static const option_description options[] = { { 0, '\0', "json", NULL, "for programs" },
                                              { 0, '\0', NULL, NULL, NULL } };

static int take(void *arg, int option, const char *value) {
    doctor *self = arg;
    (void)option;
    (void)value;
    self->json = true;
    return EXIT_DONE;
}

/* ---- Findings -------------------------------------------------------------------------------- */

static void find(doctor *self, level how, const char *what, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void find(doctor *self, level how, const char *what, const char *format, ...) {
    static const char *const names[] = { "ok", "warning", "bad" };
    char text[FINDING_SIZE];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof(text), format, values);
    va_end(values);
    self->bad += how == LEVEL_BAD ? 1 : 0;
    if (!self->json) {
        printf("%-7s  %s: %s\n", names[how], what, text);
        return;
    }
    json_t *one = json_object();
    json_object_set_new(one, "level", json_string(names[how]));
    json_object_set_new(one, "about", json_of_text(what));
    json_object_set_new(one, "text", json_of_text(text));
    json_array_append_new(self->findings, one);
}

/* ---- Each server ----------------------------------------------------------------------------- */

/* Releases with a defect that matters for locks: docs/servers.md. */
static void judge_version(doctor *self, const char *server, const char *text) {
    int major = 0;
    int minor = 0;
    int patch = 0;
    char *end = NULL;
    major = (int)strtol(text, &end, 10);
    minor = *end == '.' ? (int)strtol(end + 1, &end, 10) : 0;
    patch = *end == '.' ? (int)strtol(end + 1, &end, 10) : 0;
    int number = major * 10000 + minor * 100 + patch;
    if (number < 30501) {
        find(self, LEVEL_BAD, server, "version %d.%d.%d: zklock needs 3.5.1 or later", major, minor,
             patch);
    } else if (number < 30604 || (number >= 30700 && number < 30702) || number == 30800) {
        find(self, LEVEL_BAD, server,
             "version %d.%d.%d: writes can hang for seconds (ZOOKEEPER-4537); update it", major,
             minor, patch);
    } else if (number < 30900) {
        find(self, LEVEL_WARNING, server, "version %d.%d.%d: it gets no fixes any more, or few",
             major, minor, patch);
    } else {
        find(self, LEVEL_OK, server, "version %d.%d.%d", major, minor, patch);
    }
}

/* "Latency min/avg/max: 0/0.4/17" */
static void judge_latency(doctor *self, const char *server, const char *answer) {
    char value[VALUE_SIZE];
    char outstanding[VALUE_SIZE];
    if (!four_letters_find(answer, "Latency min/avg/max", value, sizeof(value)) ||
        !four_letters_find(answer, "Outstanding", outstanding, sizeof(outstanding))) {
        return;
    }
    const char *slash = strchr(value, '/');
    double average = slash != NULL ? strtod(slash + 1, NULL) : 0;
    bool is_slow = average > LATENCY_MAX_MS || strtol(outstanding, NULL, 10) > OUTSTANDING_MAX;
    find(self, is_slow ? LEVEL_WARNING : LEVEL_OK, server,
         "latency %s ms (shortest/average/longest), %s requests outstanding%s", value, outstanding,
         is_slow ? ": it is overloaded, or its disk is slow" : "");
}

static void judge_server(doctor *self, const char *server) {
    char answer[ANSWER_SIZE];
    char value[VALUE_SIZE];
    self->servers++;
    if (!four_letters_ask(server, "srvr", SERVER_MS, answer)) {
        find(self, LEVEL_BAD, server, "does not answer: %s", answer);
        return;
    }
    if (!four_letters_find(answer, "Zookeeper version", value, sizeof(value))) {
        bool is_closed = answer[0] == '\0' || strstr(answer, "whitelist") != NULL;
        find(self, is_closed ? LEVEL_WARNING : LEVEL_BAD, server, "%s",
             is_closed ? "does not say how it is: srvr is not in 4lw.commands.whitelist"
                       : "is not serving requests: it has no quorum, or is just starting");
        self->serving += is_closed ? 1 : 0;
        return;
    }
    judge_version(self, server, value);
    judge_latency(self, server, answer);
    if (four_letters_find(answer, "Mode", value, sizeof(value))) {
        self->serving++;
        self->leaders += strcmp(value, "leader") == 0 || strcmp(value, "standalone") == 0 ? 1 : 0;
        find(self, LEVEL_OK, server, "%s", value);
    }
}

static void judge_servers(doctor *self) {
    const char *hosts = self->settings->values[SETTING_HOSTS];
    char server[SERVER_NAME_SIZE];
    if (self->settings->values[SETTING_TLS_CA_FILE] != NULL) {
        find(self, LEVEL_WARNING, "servers",
             "not asked one by one: their four-letter words are for "
             "ports without TLS");
        return;
    }
    while (four_letters_next(&hosts, server)) {
        judge_server(self, server);
    }
    if (self->serving * 2 <= self->servers) {
        find(self, LEVEL_BAD, "ensemble", "%d of %d servers serve: that is no quorum",
             self->serving, self->servers);
    } else if (self->leaders > 1) {
        find(self, LEVEL_BAD, "ensemble",
             "%d of the servers lead: the host list has those of more than one ensemble",
             self->leaders);
    } else if (self->servers < 3) {
        find(self, LEVEL_WARNING, "ensemble",
             "%d server%s in the host list: three survive the loss of one", self->servers,
             self->servers == 1 ? "" : "s");
    }
}

/* ---- The session -------------------------------------------------------------------------------
 */

static void judge_session(doctor *self, zkl_client *client) {
    zkl_client_information information = ZKL_CLIENT_INFORMATION_INIT;
    char granted[DURATION_TEXT_SIZE];
    char asked[DURATION_TEXT_SIZE];
    (void)zkl_client_info(client, &information);
    int64_t tick_ms = self->settings->tick_time_ms;
    duration_write(granted, information.session_timeout_ms);
    duration_write(asked, self->settings->session_timeout_ms);
    bool differs = information.session_timeout_ms != self->settings->session_timeout_ms;
    if (information.session_timeout_ms < TICKS_MIN * tick_ms) {
        find(self, LEVEL_BAD, "session",
             "timeout of %s: zklock run needs five ticks; is tick-time right?", granted);
    } else {
        find(self, differs ? LEVEL_WARNING : LEVEL_OK, "session", "timeout of %s%s%s", granted,
             differs ? ": the servers do not allow the asked for " : "", differs ? asked : "");
    }
    if (information.unsupported_servers) {
        find(self, LEVEL_BAD, "servers",
             "they are not Apache ZooKeeper, and no lock is safe there");
    }
}

/* A handle with a wrong host is not opened, but what is unsupported is told first. */
static void judge_library(doctor *self) {
    zkl_client_options tls = ZKL_CLIENT_OPTIONS_INIT;
    zkl_client_options sasl = ZKL_CLIENT_OPTIONS_INIT;
    zkl_client *client = NULL;
    tls.tls_ca_file = "/dev/null";
    tls.connect_timeout_ms = 1;
    sasl.sasl_mechanism = "DIGEST-MD5";
    sasl.connect_timeout_ms = 1;
    bool has_tls = zkl_client_open("127.0.0.1:1", &tls, &client) != ZKL_UNSUPPORTED;
    bool has_sasl = zkl_client_open("127.0.0.1:1", &sasl, &client) != ZKL_UNSUPPORTED;
    find(self, LEVEL_OK, "library", "zklock %s; its libzookeeper has %s and %s", zkl_version(),
         has_tls ? "TLS" : "no TLS", has_sasl ? "SASL" : "no SASL");
}

/* ---- What others may do ------------------------------------------------------------------------
 */

/* A lock of our own, at which a stranger tries its hand. */
typedef struct probe {
    char resource[PROBE_SIZE];
    char path[ZKL_TRANSACTION_PATH_MAX + 1]; /* of its node, below the chroot */
    zkl_client *client;
    zkl_lock *lock;
    zkl_grant grant;
    zkl_client *stranger;
} probe;

static const char *probe_node(const probe *self) {
    return strrchr(self->grant.node, '/') + 1;
}

static int hold_probe(probe *self, const char *lock_root) {
    uint64_t number = 0;
    if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number)) {
        return ZKL_SYSTEM;
    }
    snprintf(self->resource, sizeof(self->resource), "zklock-doctor-%016" PRIx64, number);
    int status = zkl_lock_open(self->client, self->resource, NULL, &self->lock);
    if (status == ZKL_OK) {
        status = zkl_lock_acquire(self->lock, ZKL_EXCLUSIVE, ASK_TIMEOUT_MS, &self->grant);
    }
    if (status == ZKL_OK) {
        snprintf(self->path, sizeof(self->path), "%.*s/%s/%s", ZKL_ROOT_MAX, lock_root,
                 self->resource, probe_node(self));
    }
    return status;
}

static void judge_clock(doctor *self, const probe *with) {
    zkl_node *node = NULL;
    struct timespec now;
    char difference[DURATION_TEXT_SIZE];
    if (zkl_node_read(with->client, with->path, ASK_TIMEOUT_MS, &node) != ZKL_OK) {
        return;
    }
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t ahead_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 - node->made_ms;
    zkl_node_free(node);
    duration_write(difference, ahead_ms < 0 ? -ahead_ms : ahead_ms);
    bool is_wrong = ahead_ms > CLOCK_MAX_MS || ahead_ms < -CLOCK_MAX_MS;
    find(self, is_wrong ? LEVEL_WARNING : LEVEL_OK, "clock",
         "this machine's is %s %s the servers'%s", difference, ahead_ms < 0 ? "behind" : "ahead of",
         is_wrong ? ": ages are wrong by that; locks and tokens do not need clocks" : "");
}

/* In a transaction under a lock of its own, beside ours. */
static int set_as_stranger(const probe *with) {
    char beside[PROBE_SIZE + 8];
    zkl_lock *lock = NULL;
    zkl_transaction *transaction = NULL;
    snprintf(beside, sizeof(beside), "%s-2", with->resource);
    zkl_transaction_result result = ZKL_TRANSACTION_RESULT_INIT;
    int status = zkl_lock_open(with->stranger, beside, NULL, &lock);
    status =
        status == ZKL_OK ? zkl_lock_acquire(lock, ZKL_EXCLUSIVE, ASK_TIMEOUT_MS, NULL) : status;
    status = status == ZKL_OK ? zkl_transaction_begin(lock, &transaction) : status;
    status = status == ZKL_OK ? zkl_transaction_set(transaction, with->path, "", 0, ZKL_ANY_VERSION)
                              : status;
    status =
        status == ZKL_OK ? zkl_transaction_commit(transaction, ASK_TIMEOUT_MS, &result) : status;
    zkl_transaction_free(transaction);
    zkl_lock_close(lock);
    return status == ZKL_OPERATION_FAILED ? result.failed_status : status;
}

static void judge_stranger(doctor *self, probe *with) {
    int set = set_as_stranger(with);
    if (set == ZKL_OK) {
        find(self, LEVEL_BAD, "protection",
             "a stranger could set the data of a protected node: these servers do not check ACLs "
             "of the "
             "scheme digest (skipACL, digestAlg); give zklock's clients the option unprotected");
    } else {
        find(self, LEVEL_OK, "protection", "a stranger could not set the data of our node: %s",
             zkl_strerror(set));
    }
    int broken = zkl_node_break(with->stranger, with->resource, probe_node(with), ASK_TIMEOUT_MS);
    if (broken == ZKL_OK) {
        find(self, LEVEL_WARNING, "permissions",
             "a stranger could delete our node: whoever reaches the servers can break every lock "
             "below "
             "%s; zklock secure closes them",
             self->settings->values[SETTING_LOCK_ROOT]);
    } else {
        find(self, LEVEL_OK, "permissions", "a stranger could not delete our node: %s",
             zkl_strerror(broken));
    }
}

/* The same servers, without any credential. */
static void ask_as_stranger(doctor *self, probe *with) {
    settings of_stranger = *self->settings;
    of_stranger.values[SETTING_CREDENTIALS_FILE] = NULL;
    of_stranger.values[SETTING_NODE_ACL] = NULL;
    of_stranger.values[SETTING_PARENT_ACL] = NULL;
    zkl_client_options client_options = ZKL_CLIENT_OPTIONS_INIT;
    client_options.label = "zklock doctor";
    client_options.container_parents = 1;
    if (settings_open_client(&of_stranger, &client_options, &with->stranger) == ZKL_OK) {
        judge_stranger(self, with);
        (void)zkl_client_close(with->stranger, ASK_TIMEOUT_MS);
    } else {
        find(self, LEVEL_OK, "permissions", "the servers turn strangers away");
    }
}

static void judge_permissions(doctor *self, zkl_client *client) {
    probe with = { .client = client, .grant = ZKL_GRANT_INIT };
    int status = hold_probe(&with, self->settings->values[SETTING_LOCK_ROOT]);
    if (status == ZKL_OK) {
        judge_clock(self, &with);
        ask_as_stranger(self, &with);
        (void)zkl_lock_release(with.lock, ASK_TIMEOUT_MS);
    } else {
        find(self, LEVEL_BAD, "locks", "none could be acquired: %s. %s", zkl_strerror(status),
             zkl_error_message());
    }
    zkl_lock_close(with.lock);
}

/* ---- Queues ------------------------------------------------------------------------------------
 */

static void judge_queues(doctor *self, zkl_client *client) {
    zkl_resource_list *list = NULL;
    size_t long_queues = 0;
    int status = zkl_resources_list(client, ASK_TIMEOUT_MS, &list);
    for (size_t i = 0; status == ZKL_OK && i < list->count; i++) {
        const zkl_resource *one = list->resources[i];
        if (one->contenders * CONTENDER_BYTES > JAVA_LIST_BYTES_MAX) {
            long_queues++;
            find(self, LEVEL_WARNING, one->name,
                 "%zu contenders: a list of them is too long for clients in Java, unless "
                 "jute.maxbuffer is "
                 "raised there",
                 one->contenders);
        }
    }
    if (status != ZKL_OK) {
        find(self, LEVEL_BAD, "resources", "cannot be listed: %s. %s", zkl_strerror(status),
             zkl_error_message());
    } else if (long_queues == 0) {
        find(self, LEVEL_OK, "resources", "%zu below %s, none with a queue that is too long",
             list->count, self->settings->values[SETTING_LOCK_ROOT]);
    }
    zkl_resources_free(list);
}

/* Nothing is made where nothing is. */
static bool root_exists(doctor *self, zkl_client *client) {
    zkl_node *root = NULL;
    const char *path = self->settings->values[SETTING_LOCK_ROOT];
    int status = zkl_node_read(client, path, ASK_TIMEOUT_MS, &root);
    if (status == ZKL_NO_NODE) {
        find(self, LEVEL_WARNING, path,
             "does not exist: nothing was ever locked there. Are chroot and lock-root right?");
    }
    zkl_node_free(root);
    return status != ZKL_NO_NODE;
}

static int examine(zkl_client *client, void *arg) {
    doctor *self = arg;
    judge_session(self, client);
    if (root_exists(self, client)) {
        judge_permissions(self, client);
        judge_queues(self, client);
    }
    return ZKL_OK;
}

static int run(const subcommand *of, const settings *all, int argc, char **argv) {
    doctor *self = of->self;
    (void)argv;
    if (argc != 0) {
        return say_usage("it takes no arguments");
    }
    self->settings = all;
    self->findings = json_array();
    judge_library(self);
    judge_servers(self);
    int status = ask(all, all->values[SETTING_HOSTS], examine, self);
    if (self->json) {
        (void)json_print(self->findings);
    }
    return status != EXIT_DONE ? status : self->bad > 0 ? EXIT_NOT_ACQUIRED : EXIT_DONE;
}

const subcommand doctor_subcommand = {
    .name = "doctor",
    .usage = "",
    .summary = "Looks for what locks do not stand: servers, clocks, permissions.",
    .options = options,
    .examples = "  zklock doctor --hosts zk1:2181,zk2:2181,zk3:2181\n"
                "  zklock doctor --json | jq '.[] | select(.level != \"ok\")'\n",
    .take = take,
    .self = &arguments,
    .run = run
};
