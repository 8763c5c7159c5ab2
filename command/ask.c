#include "ask.h"

#include <string.h>
#include <zklock/administration.h>

#include "exit_status.h"
#include "say.h"

/* A question keeps no lock, so its session need not outlast anything. */
enum { READING_SESSION_MS = 10000 };

#define NEVER_LOCKED "nothing was ever locked there. Are chroot and lock-root right?"

static const char *chroot_of(const settings *all) {
    const char *chroot = strchr(all->values[SETTING_HOSTS], '/');
    return chroot != NULL ? chroot : "";
}

/* Returns when a node was made, by the servers' clock; -1: not known, or there is none. */
static int64_t made_at(zkl_client *client, const char *path) {
    zkl_node *node = NULL;
    int status = zkl_node_read(client, path, ASK_TIMEOUT_MS, &node);
    int64_t made_ms = status == ZKL_OK ? node->made_ms : -1;
    zkl_report_free(node);
    return made_ms;
}

static bool is_first_of_its_parent(const char *node) {
    static const char first[] = "0000000000";
    size_t length = strlen(node);
    return length >= strlen(first) && strcmp(node + length - strlen(first), first) == 0;
}

void ask_about_new_root(const settings *all, zkl_client *client, const char *node,
                        int64_t within_ms) {
    const char *root = all->values[SETTING_LOCK_ROOT];
    const char *chroot = chroot_of(all);
    if (!is_first_of_its_parent(node)) {
        return;
    }
    int64_t root_ms = made_at(client, root);
    int64_t node_ms = made_at(client, node + strlen(chroot));
    if (root_ms >= 0 && node_ms >= 0 && node_ms - root_ms <= within_ms) {
        say("%s%s: did not exist: " NEVER_LOCKED, chroot, root);
    }
}

void ask_about_root(const settings *all, zkl_client *client) {
    const char *root = all->values[SETTING_LOCK_ROOT];
    zkl_node *node = NULL;
    if (zkl_node_read(client, root, ASK_TIMEOUT_MS, &node) == ZKL_NO_NODE) {
        say("%s%s: does not exist: " NEVER_LOCKED, chroot_of(all), root);
    }
    zkl_report_free(node);
}

int ask(const settings *all, const char *about, int (*question)(zkl_client *client, void *arg),
        void *arg) {
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    zkl_client *client = NULL;
    options.recorded_events = ZKL_NONE;
    options.label = "zklock";
    options.container_parents = 1; /* the servers remove what doctor makes */
    int status = settings_open_client(all, &options, &client);
    if (status != ZKL_OK) {
        return exit_status_of(status);
    }
    status = question(client, arg);
    if (status != ZKL_OK) {
        say_status(about, status);
    }
    (void)zkl_client_close(client, 0);
    return exit_status_of(status);
}

int ask_to_read(const settings *all, const char *about,
                int (*question)(zkl_client *client, void *arg), void *arg) {
    settings brief = *all;
    if (brief.session_timeout_ms > READING_SESSION_MS) {
        brief.session_timeout_ms = READING_SESSION_MS;
    }
    return ask(&brief, about, question, arg);
}
