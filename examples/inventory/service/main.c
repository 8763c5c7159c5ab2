/* The inventory service: inventory-service [FILE OF SETTINGS]; see ../README.md. */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "api.h"
#include "feed.h"
#include "journal.h"
#include "settings.h"

enum { LOOK_MS = 50, CONNECT_TIMEOUT_MS = 5000, CLOSE_TIMEOUT_MS = 5000, RETRY_MS = 500 };

enum { EXIT_FAILED = 1, EXIT_USAGE = 2 };

static atomic_bool stopping;

static void on_signal(int number) {
    (void)number;
    stopping = true;
}

static void pause_for(int ms) {
    (void)usleep((useconds_t)ms * 1000);
}

/* Logs what zklock reports about queues, between the lines of the orders. */
static void on_log(void *arg, const zkl_log_record *record) {
    (void)arg;
    if (record->event == ZKL_LOG_QUEUED) {
        journal("queued", "order", record->lock_owner, "node", record->node, "behind",
                record->behind);
    } else if (record->event == ZKL_LOG_RELEASED || record->event == ZKL_LOG_LOST) {
        journal(zkl_log_event_name((int)record->event), "order", record->lock_owner, "token",
                journal_number(record->token), "node", record->node, "held_ms",
                journal_number(record->held_ms));
    } else if (record->level <= ZKL_LOG_WARN || record->event == ZKL_LOG_CONNECTED) {
        journal(zkl_log_event_name((int)record->event), "node", record->node, "what",
                record->message);
    }
}

/* Connects to the ensemble, which may start after us: until then every order is turned away.
 * Returns a status of zklock; ZKL_DISCONNECTED only when we are to stop. After any other failure
 * waiting is of no use. */
static int connect_to_ensemble(const settings *given, shop *to) {
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    zkl_client *client = NULL;
    int status = ZKL_DISCONNECTED;
    options.session_timeout_ms = settings_number(given->session_timeout_ms);
    options.connect_timeout_ms = CONNECT_TIMEOUT_MS;
    options.label = given->instance;
    options.metrics = 1;
    options.log_callback = on_log;
    options.log_level = ZKL_LOG_DEBUG;
    while (!stopping && status == ZKL_DISCONNECTED) {
        status = zkl_client_open(given->hosts, &options, &client);
        if (status != ZKL_OK) {
            journal("ensemble_not_reached", "why", zkl_error_message());
            pause_for(RETRY_MS);
        }
    }
    to->client = client;
    return status;
}

static void tell_changes(shop *its, const char **health) {
    const char *now = shop_health(its);
    if (*health == NULL || strcmp(now, *health) != 0) {
        journal("locks", "are", now);
        *health = now;
    }
}

static void serve(api *all) {
    const char *health = NULL;
    while (!stopping && !workers_are_ready(all->shop->workers)) {
        pause_for(LOOK_MS);
    }
    while (!stopping && !shop_can_write(all->shop)) {
        shop_look_at_database(all->shop);
        pause_for(LOOK_MS);
    }
    if (!stopping) {
        journal("ready", "port", journal_number(http_port(all->http)));
    }
    while (!stopping) {
        tell_changes(all->shop, &health);
        shop_look_at_database(all->shop);
        pause_for(LOOK_MS);
    }
}

/* Answers all requests, and ends: first orders end by themselves, then those that wait for a
 * worker, then those that wait for a lock. Each part is freed when nothing uses it any more. */
static void service_leave(api *all, feed *live, int finish_ms) {
    zkl_client *client = all->shop->client;
    journal("stopping");
    http_refuse(all->http);
    for (int waited_ms = 0; (all->waiting > 0 || all->shop->is_pulsing) && waited_ms < finish_ms;
         waited_ms += LOOK_MS) {
        pause_for(LOOK_MS);
    }
    workers_stop(all->shop->workers);
    feed_stop(live);
    if (client != NULL) {
        (void)zkl_client_close(client, CLOSE_TIMEOUT_MS);
    }
    http_stop(all->http);
    workers_free(all->shop->workers);
    journal("stopped");
}

static int service_run(const settings *given) {
    shop its = { .instance = given->instance,
                 .patience_ms = settings_number(given->patience_ms),
                 .has_plain_locks = settings_number(given->plain_locks) != 0 };
    api all = { .shop = &its,
                .waiting_max = settings_number(given->waiting),
                .has_page = settings_number(given->page) != 0,
                .demonstration = settings_number(given->demonstration) != 0,
                .hosts = given->hosts };
    its.workers = workers_start(given->database, settings_number(given->workers));
    if (its.workers == NULL) {
        return EXIT_FAILED;
    }
    all.http = http_start(given->address, (uint16_t)settings_number(given->port), api_handle, &all);
    if (all.http == NULL) {
        workers_stop(its.workers);
        workers_free(its.workers);
        return EXIT_FAILED;
    }
    if (all.demonstration) {
        http_open_to_all_origins(all.http);
    }
    char at_port[32];
    (void)snprintf(at_port, sizeof(at_port), ":%d", (int)http_port(all.http));
    its.url = strcmp(given->url, ":") == 0 ? at_port : given->url;
    feed *live = feed_start(&its, all.http, given->database, all.demonstration);
    int status = connect_to_ensemble(given, &its);
    if (status == ZKL_OK) {
        serve(&all);
    }
    service_leave(&all, live, settings_number(given->finish_ms));
    return status == ZKL_OK || status == ZKL_DISCONNECTED ? EXIT_SUCCESS
           : status == ZKL_INVALID_ARGUMENT               ? EXIT_USAGE
                                                          : EXIT_FAILED;
}

/* Raises the limit of descriptors, of which each connection takes one. The default of 1024 is for
 * programs that use select. */
static void allow_descriptors(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

int main(int argc, char **argv) {
    settings given;
    if (argc > 2 || (argc == 2 && argv[1][0] == '-')) {
        (void)fprintf(stderr, "usage: inventory-service [FILE OF SETTINGS]\n");
        return EXIT_USAGE;
    }
    if (!settings_read(&given, argc == 2 ? argv[1] : NULL)) {
        return EXIT_USAGE;
    }
    /* A second signal ends the process at once. Orders that are not written then were not placed.
     */
    const struct sigaction action = { .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND };
    (void)sigaction(SIGTERM, &action, NULL);
    (void)sigaction(SIGINT, &action, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGCHLD, SIG_IGN); /* the wakers of pauses that were asked for */
    (void)signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error of the database */
    allow_descriptors();
    journal_begin(given.instance);
    return service_run(&given);
}
