#include "doctor.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <zklock/administration.h>

#include "ask.h"
#include "doctor_findings.h"
#include "doctor_servers.h"
#include "duration.h"
#include "everybody.h"
#include "exit_status.h"
#include "json_text.h"
#include "say.h"

enum {
    CLOCK_MAX_MS = 2000,
    TICKS_MIN = 5,
    CONTENDER_BYTES = 64, /* of a list, for each contender's name */
    JAVA_LIST_BYTES_MAX = 1000000,
    PROBE_SIZE = 64
};

static doctor arguments;

static const option_description options[] = { { 0, '\0', "json", NULL, "for programs" },
                                              { 0, '\0', NULL, NULL, NULL } };

static int doctor_take(void *arg, int option, const char *value) {
    doctor *self = arg;
    (void)option;
    (void)value;
    self->json = true;
    return EXIT_DONE;
}

/* ---- The session ----------------------------------------------------------------------------- */

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
        doctor_find(self, LEVEL_BAD, "session",
                    "timeout of %s: zklock run needs five ticks; is tick-time right?", granted);
    } else {
        doctor_find(self, differs ? LEVEL_WARNING : LEVEL_OK, "session", "timeout of %s%s%s",
                    granted, differs ? ": the servers do not allow the asked for " : "",
                    differs ? asked : "");
    }
    if (information.unsupported_servers) {
        doctor_find(self, LEVEL_BAD, "servers",
                    "they are not Apache ZooKeeper, and no lock is safe there");
    }
}

/* Finds out what libzookeeper supports: zkl_client_open returns ZKL_UNSUPPORTED before it looks for
 * the files, which do not exist. */
static void judge_library(doctor *self) {
    static const char nowhere[] = "/dev/null/none";
    zkl_client_options of_client = ZKL_CLIENT_OPTIONS_INIT;
    zkl_security tls = ZKL_SECURITY_INIT;
    zkl_security sasl = ZKL_SECURITY_INIT;
    zkl_client *client = NULL;
    of_client.connect_timeout_ms = 1;
    tls.tls_ca_file = nowhere;
    tls.tls_certificate_file = nowhere;
    tls.tls_key_file = nowhere;
    sasl.sasl_mechanism = "DIGEST-MD5";
    of_client.security = &tls;
    bool has_tls = zkl_client_open("127.0.0.1:1", &of_client, &client) != ZKL_UNSUPPORTED;
    of_client.security = &sasl;
    bool has_sasl = zkl_client_open("127.0.0.1:1", &of_client, &client) != ZKL_UNSUPPORTED;
    doctor_find(self, LEVEL_OK, "library", "zklock %s; its libzookeeper has %s and %s",
                zkl_version(), has_tls ? "TLS" : "no TLS", has_sasl ? "SASL" : "no SASL");
}

/* ---- Who may connect ------------------------------------------------------------------------- */

static const char whoever_connects[] =
    "whoever may connect can end, shorten or prolong every session, whatever the ACLs are";

/* Opens a stranger's client: it shows nothing of ours but our certificate, without which
 * libzookeeper has no TLS. */
static int open_stranger(const doctor *self, zkl_client **stranger) {
    static const setting ours[] = { SETTING_CREDENTIALS_FILE, SETTING_NODE_ACL,
                                    SETTING_PARENT_ACL,       SETTING_SASL_MECHANISM,
                                    SETTING_SASL_USER,        SETTING_SASL_PASSWORD_FILE,
                                    SETTING_SASL_SERVICE,     SETTING_SASL_HOST };
    settings of_stranger = *self->settings;
    of_stranger.silent = true;
    for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
        of_stranger.values[ours[i]] = NULL;
    }
    zkl_client_options client_options = ZKL_CLIENT_OPTIONS_INIT;
    client_options.label = "zklock doctor";
    client_options.container_parents = 1;
    return settings_open_client(&of_stranger, &client_options, stranger);
}

/* Judges what a stranger's session shows. Servers that demand a login or a digest grant the session
 * first, and then refuse its requests. */
static void judge_strangers(doctor *self, int opened) {
    if (self->settings->values[SETTING_TLS_CA_FILE] != NULL) {
        doctor_find(self, LEVEL_NOT_TESTED, "strangers",
                    "whether one without a certificate gets a session: the servers need "
                    "ssl.clientAuth=need, and no clientPort in clear that strangers reach; for %s",
                    whoever_connects);
    } else if (opened == ZKL_OK) {
        doctor_find(
            self, LEVEL_WARNING, "strangers",
            "a stranger gets a session, and %s: then only the fencing token keeps two holders "
            "apart. Guard the connections, by TLS with client certificates or a firewall; neither "
            "SASL nor ACLs do (docs/security.md)",
            whoever_connects);
    } else {
        doctor_find(self, LEVEL_NOT_TESTED, "strangers", "whether one gets a session: %s",
                    zkl_strerror(opened));
    }
}

/* ---- What others may do ---------------------------------------------------------------------- */

/* A lock of our own, which the stranger tries to break. */
typedef struct probe {
    char resource[PROBE_SIZE];
    char path[ZKL_TRANSACTION_PATH_MAX + 1]; /* the path of its node, below the chroot */
    zkl_lock *lock;
    zkl_grant grant;
} probe;

static const char *probe_node(const probe *self) {
    return strrchr(self->grant.node, '/') + 1;
}

static int probe_hold(probe *self, zkl_client *client, const zkl_lock_options *how,
                      const char *lock_root) {
    uint64_t number = 0;
    if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number)) {
        return ZKL_SYSTEM;
    }
    snprintf(self->resource, sizeof(self->resource), "zklock-doctor-%016" PRIx64, number);
    int status = zkl_lock_open(client, self->resource, how, &self->lock);
    if (status == ZKL_OK) {
        status = zkl_lock_acquire(self->lock, ZKL_EXCLUSIVE, ASK_TIMEOUT_MS, &self->grant);
    }
    if (status == ZKL_OK) {
        snprintf(self->path, sizeof(self->path), "%.*s/%s/%s", ZKL_ROOT_MAX, lock_root,
                 self->resource, probe_node(self));
    }
    return status;
}

static void probe_end(probe *self) {
    if (self->lock != NULL) {
        (void)zkl_lock_release(self->lock, ASK_TIMEOUT_MS);
    }
    zkl_lock_close(self->lock);
}

static void judge_clock(doctor *self, const zkl_node *node) {
    struct timespec now;
    char difference[DURATION_TEXT_SIZE];
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t ahead_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 - node->made_ms;
    duration_write(difference, ahead_ms < 0 ? -ahead_ms : ahead_ms);
    bool is_wrong = ahead_ms > CLOCK_MAX_MS || ahead_ms < -CLOCK_MAX_MS;
    doctor_find(self, is_wrong ? LEVEL_WARNING : LEVEL_OK, "clock",
                "this machine's is %s %s the servers'%s", difference,
                ahead_ms < 0 ? "behind" : "ahead of",
                is_wrong ? ": ages are wrong by that; locks and tokens do not need clocks" : "");
}

static void on_asked_for(void *arg, const zkl_lock_event *event) {
    (void)arg;
    (void)event;
}

static int hold_for_nobody(probe *with, zkl_client *client, const char *lock_root) {
    zkl_lock_options how = ZKL_LOCK_OPTIONS_INIT;
    how.revocable = 1;
    how.state_callback = on_asked_for;
    how.node_acl =
        "digest:zklock-doctor:nobody:cdrwa,world:anyone:r"; /* nobody's: no hash is so short */
    return probe_hold(with, client, &how, lock_root);
}

/* Tries to set the data of a node whose ACL allows that to nobody, and returns whether the servers
 * check ACLs. It is a node of its own, because the library never sets the data of a protected one.
 */
static bool judge_acls(doctor *self, zkl_client *client) {
    probe with = { .grant = ZKL_GRANT_INIT };
    int held = hold_for_nobody(&with, client, self->settings->values[SETTING_LOCK_ROOT]);
    int set = held == ZKL_OK
                  ? zkl_node_revoke(client, with.resource, probe_node(&with), ASK_TIMEOUT_MS)
                  : held;
    bool are_checked = held == ZKL_OK && set == ZKL_NO_PERMISSION;
    probe_end(&with);
    if (are_checked) {
        doctor_find(self, LEVEL_OK, "protection",
                    "nobody but who is in its ACL could set a node's data");
    } else if (set == ZKL_OK) {
        doctor_find(
            self, LEVEL_BAD, "protection",
            "the data of a node could be set against its ACL: these servers do not check ACLs "
            "(skipACL), or take us for a superuser; give zklock's clients the option unprotected");
    } else if (held == ZKL_NO_PERMISSION) {
        doctor_find(
            self, LEVEL_WARNING, "protection",
            "the servers take no ACL of the scheme digest, so no node is protected: others may "
            "set the data of our nodes");
    } else {
        doctor_find(self, LEVEL_NOT_TESTED, "protection", "whether ACLs are checked: %s",
                    zkl_strerror(set));
    }
    return are_checked;
}

/* Tells whether its node is protected, by the version of the UUID in its name: docs/security.md,
 * "Protected nodes". */
static bool is_protected(const probe *with) {
    enum { VERSION_AT = sizeof("_c_00000000-0000-") - 1 };
    const char *node = probe_node(with);
    return strlen(node) > VERSION_AT && node[VERSION_AT] == '8';
}

/* Judges whether the servers know our identity: they show the hashes of an ACL only to a client
 * that may change it. */
static void judge_identity(doctor *self, const probe *with, const zkl_node *node) {
    if (!is_protected(with)) {
        doctor_find(self, LEVEL_WARNING, "protection",
                    "our nodes are not protected: others of our credential may set their data "
                    "(docs/security.md, Protected nodes)");
    } else if (strstr(node->acl, "digest:zklock:x:") != NULL) {
        doctor_find(
            self, LEVEL_BAD, "protection",
            "the servers hash digests otherwise (digestAlg): zklock's clients need the option "
            "unprotected");
    } else {
        doctor_find(self, LEVEL_OK, "protection", "the servers know our identity");
    }
}

static void judge_node(doctor *self, zkl_client *client, const probe *with) {
    zkl_node *node = NULL;
    int status = zkl_node_read(client, with->path, ASK_TIMEOUT_MS, &node);
    if (status == ZKL_OK) {
        judge_clock(self, node);
        if (judge_acls(self, client)) {
            judge_identity(self, with, node);
        }
    } else {
        doctor_find(self, LEVEL_NOT_TESTED, "clock", "our node cannot be read: %s",
                    zkl_strerror(status));
        doctor_find(self, LEVEL_NOT_TESTED, "protection", "our node cannot be read: %s",
                    zkl_strerror(status));
    }
    zkl_report_free(node);
}

/* Tells whether the ACL of the node's parent allows everybody to delete. (Our certificate may be an
 * identity in it.) */
static bool is_for_everybody(const probe *with, zkl_client *stranger) {
    char parent[sizeof(with->path)];
    zkl_node *node = NULL;
    snprintf(parent, sizeof(parent), "%.*s", (int)(strrchr(with->path, '/') - with->path),
             with->path);
    int status = zkl_node_read(stranger, parent, ASK_TIMEOUT_MS, &node);
    bool is = status == ZKL_OK && everybody_may(node->acl, "da");
    zkl_report_free(node);
    return is;
}

static void judge_deletion(doctor *self, const probe *with, zkl_client *stranger) {
    bool shows_certificate = self->settings->values[SETTING_TLS_CA_FILE] != NULL;
    bool may_be_ours_only = shows_certificate && !is_for_everybody(with, stranger);
    int broken = zkl_node_break(stranger, with->resource, probe_node(with), ASK_TIMEOUT_MS);
    if (broken == ZKL_OK && may_be_ours_only) {
        doctor_find(
            self, LEVEL_NOT_TESTED, "permissions",
            "whether one with another certificate can delete our node: ours alone is enough, and "
            "the ACL of the node above does not show that everybody may");
    } else if (broken == ZKL_OK) {
        doctor_find(
            self, LEVEL_WARNING, "permissions",
            "%s could delete our node: whoever may connect can break every lock below %s; zklock "
            "secure closes them",
            shows_certificate ? "somebody who shows nothing but our certificate" : "a stranger",
            self->settings->values[SETTING_LOCK_ROOT]);
    } else if (broken == ZKL_NO_PERMISSION || broken == ZKL_AUTH_FAILED) {
        doctor_find(self, LEVEL_OK, "permissions", "a stranger could not delete our node: %s",
                    zkl_strerror(broken));
    } else {
        doctor_find(self, LEVEL_NOT_TESTED, "permissions",
                    "whether a stranger can delete our node: %s", zkl_strerror(broken));
    }
}

static void judge_permissions(doctor *self, const probe *with, int opened, zkl_client *stranger) {
    if (opened == ZKL_OK) {
        judge_deletion(self, with, stranger);
    } else {
        doctor_find(self, LEVEL_NOT_TESTED, "permissions",
                    "a stranger's session could not be opened: %s", zkl_strerror(opened));
    }
}

/* Judges a lock of our own. The deletion comes last, as it ends the lock. */
static void judge_locks(doctor *self, zkl_client *client, int opened, zkl_client *stranger) {
    probe with = { .grant = ZKL_GRANT_INIT };
    int status = probe_hold(&with, client, NULL, self->settings->values[SETTING_LOCK_ROOT]);
    if (status == ZKL_OK) {
        judge_node(self, client, &with);
        judge_permissions(self, &with, opened, stranger);
    } else {
        char why[SAY_WHY_SIZE];
        say_why(why, status);
        doctor_find(self, LEVEL_BAD, "locks", "none could be acquired: %s", why);
    }
    probe_end(&with);
}

/* ---- Queues ---------------------------------------------------------------------------------- */

static void judge_queues(doctor *self, zkl_client *client) {
    zkl_resource_list *list = NULL;
    size_t long_queues = 0;
    int status = zkl_resources_list(client, ASK_TIMEOUT_MS, &list);
    size_t count =
        list != NULL ? list->count : 0; /* there may be a part of the list even if it failed */
    for (size_t i = 0; i < count; i++) {
        const zkl_resource *one = list->resources[i];
        if (one->contenders * CONTENDER_BYTES > JAVA_LIST_BYTES_MAX) {
            long_queues++;
            doctor_find(self, LEVEL_WARNING, one->name,
                        "%zu contenders: a list of them is too long for clients in Java, unless "
                        "jute.maxbuffer is "
                        "raised there",
                        one->contenders);
        }
    }
    if (status != ZKL_OK) {
        char why[SAY_WHY_SIZE];
        say_why(why, status);
        doctor_find(self, list != NULL ? LEVEL_WARNING : LEVEL_BAD, "resources",
                    "cannot be listed%s: %s", list != NULL ? ", some of them" : "", why);
    } else if (long_queues == 0) {
        doctor_find(self, LEVEL_OK, "resources", "%zu below %s, none with a queue that is too long",
                    count, self->settings->values[SETTING_LOCK_ROOT]);
    }
    zkl_report_free(list);
}

/* Tells whether the lock root exists. Without it the doctor makes nothing. */
static bool root_exists(doctor *self, zkl_client *client) {
    zkl_node *root = NULL;
    const char *path = self->settings->values[SETTING_LOCK_ROOT];
    int status = zkl_node_read(client, path, ASK_TIMEOUT_MS, &root);
    if (status == ZKL_NO_NODE) {
        doctor_find(
            self, LEVEL_WARNING, path,
            "does not exist: nothing was ever locked there. Are chroot and lock-root right?");
        doctor_find(self, LEVEL_NOT_TESTED, "permissions", "nothing is made where nothing is");
    }
    zkl_report_free(root);
    return status != ZKL_NO_NODE;
}

static int examine(zkl_client *client, void *arg) {
    doctor *self = arg;
    zkl_client *stranger = NULL;
    judge_session(self, client);
    int opened = open_stranger(self, &stranger);
    judge_strangers(self, opened);
    if (root_exists(self, client)) {
        judge_locks(self, client, opened, stranger);
        judge_queues(self, client);
    }
    (void)zkl_client_close(stranger, 0);
    return ZKL_OK;
}

static int doctor_run(const subcommand *of, const settings *all, int argc, char **argv) {
    doctor *self = of->self;
    (void)argv;
    if (argc != 0) {
        return say_usage("it takes no arguments");
    }
    self->settings = all;
    self->findings = json_array();
    judge_library(self);
    doctor_judge_servers(self);
    int status = ask(all, all->values[SETTING_HOSTS], examine, self);
    if (self->json) {
        (void)json_print(self->findings);
    }
    return status != EXIT_DONE ? status : self->bad > 0 ? EXIT_NOT_ACQUIRED : EXIT_DONE;
}

const subcommand doctor_subcommand = {
    .name = "doctor",
    .usage = "",
    .summary = "Checks servers, clocks and permissions for what breaks locks.",
    .options = options,
    .examples = "  zklock doctor --hosts zk1:2181,zk2:2181,zk3:2181\n"
                "  zklock doctor --json | jq '.[] | select(.level != \"ok\")'\n",
    .take = doctor_take,
    .self = &arguments,
    .run = doctor_run
};
