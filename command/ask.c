#include "ask.h"

#include <string.h>
#include <zklock/administration.h>

#include "exit_status.h"
#include "say.h"

/* A question keeps no lock, so its session need not outlast anything. */
enum { READING_SESSION_MS = 10000 };

void ask_about_root(const settings *all, zkl_client *client) {
    const char *root = all->values[SETTING_LOCK_ROOT];
    const char *chroot = strchr(all->values[SETTING_HOSTS], '/');
    zkl_node *node = NULL;
    if (zkl_node_read(client, root, ASK_TIMEOUT_MS, &node) == ZKL_NO_NODE) {
        say("%s%s: does not exist: nothing was ever locked there. Are chroot and lock-root right?",
            chroot != NULL ? chroot : "", root);
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
