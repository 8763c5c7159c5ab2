/* The inventory service: inventory-service [FILE OF SETTINGS]; see ../README.md. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api.h"
#include "feed.h"
#include "journal.h"
#include "settings.h"

enum {
    LOOK_US = 50000,
    CLOSE_TIMEOUT_MS = 5000,
    FINISH_MS = 30000,
    RETRY_US = 500000,
    OVERLAP_MS = 30
};

static volatile int stopping;

static void on_signal(int number) {
    (void)number;
    stopping = 1;
}

/* What zklock tells of queues, between the lines of the orders: by node. */
static void on_log(void *arg, const zkl_log_record *record) {
    (void)arg;
    if (record->event == ZKL_LOG_QUEUED) {
        journal("queued", "node", record->node, "behind", record->behind, NULL);
    } else if (record->event == ZKL_LOG_RELEASED) {
        journal("released", "node", record->node, "held_ms", journal_number(record->held_ms), NULL);
    } else if (record->level <= ZKL_LOG_WARN || record->event == ZKL_LOG_CONNECTED) {
        journal(zkl_log_event_name((int)record->event), "node", record->node, "what",
                record->message, NULL);
    }
}

/* The ensemble may start after us: until it is there every order is turned away. */
static void connect_to_ensemble(const settings *given, shop *to) {
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    zkl_client *client = NULL;
    options.session_timeout_ms = settings_number(given->session_timeout_ms);
    options.label = given->instance;
    options.metrics = 1;
    options.log_callback = on_log;
    options.log_level = ZKL_LOG_DEBUG;
    while (stopping == 0 && client == NULL) {
        if (zkl_client_open(given->hosts, &options, &client) != ZKL_OK) {
            journal("ensemble_not_reached", "why", zkl_error_message(), NULL);
            (void)usleep(RETRY_US);
        }
    }
    to->client = client;
}

static void serve(const settings *given, api *all) {
    char port[16];
    char at_port[32];
    (void)snprintf(port, sizeof(port), "%d", (int)http_port(all->http));
    (void)snprintf(at_port, sizeof(at_port), ":%s", port);
    feed *live = feed_start(all->shop, all->http, given->database,
                            strcmp(given->url, ":") == 0 ? at_port : given->url);
    journal("ready", "port", port, "database", given->database, NULL);
    while (stopping == 0) {
        (void)usleep(LOOK_US);
    }
    journal("stopping", NULL);
    http_quiesce(all->http);
    for (int waited_ms = 0; all->waiting > 0 && waited_ms < FINISH_MS;
         waited_ms += LOOK_US / 1000) {
        (void)usleep(LOOK_US);
    }
    feed_stop(live);
}

static int run(const settings *given) {
    shop its = { .instance = given->instance,
                 .patience_ms = settings_number(given->patience_ms),
                 .demonstration = settings_number(given->demonstration) != 0,
                 .overlap_ms = OVERLAP_MS };
    api all = { .shop = &its,
                .waiting_max = settings_number(given->waiting),
                .stopping = &stopping };
    its.workers = workers_start(given->database, settings_number(given->workers), &stopping);
    if (its.workers == NULL) {
        return stopping != 0 ? 0 : 1;
    }
    all.http = http_start(given->address, (uint16_t)settings_number(given->port), api_handle, &all);
    if (all.http == NULL) {
        workers_stop(its.workers);
        return 1;
    }
    if (its.demonstration) {
        http_open_to_all_origins(all.http);
    }
    connect_to_ensemble(given, &its);
    serve(given, &all);
    if (its.client != NULL) {
        (void)zkl_client_close(its.client, CLOSE_TIMEOUT_MS);
    }
    workers_stop(its.workers);
    http_stop(all.http);
    journal("stopped", NULL);
    return 0;
}

int main(int argc, char **argv) {
    settings given;
    if (argc > 2 || (argc == 2 && argv[1][0] == '-')) {
        (void)fprintf(stderr, "usage: inventory-service [FILE OF SETTINGS]\n");
        return 2;
    }
    if (!settings_read(&given, argc == 2 ? argv[1] : NULL)) {
        return 2;
    }
    const struct sigaction action = { .sa_handler = on_signal };
    (void)sigaction(SIGTERM, &action, NULL);
    (void)sigaction(SIGINT, &action, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGCHLD, SIG_IGN); /* of pauses that were asked for */
    journal_begin(given.instance);
    return run(&given);
}
