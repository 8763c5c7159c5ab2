#include "server.h"

#include <pthread.h>
#include <stdio.h>

#include "clock.h"
#include "contender.h"
#include "service.h"

enum { THREADS_MAX = 16, CONNECT_TIMEOUT_MS = 20000 };

enum role { WORKER, READER };

struct server_thread {
    struct server *server;
    enum role role;
    int number; /* a worker's, among those of all servers */
    pthread_t thread;
};

static bool uses_lock(const struct server *server) {
    return server->plan->guard != GUARD_NONE;
}

static bool is_sale_over(const struct run_plan *plan) {
    return gate_count(&plan->board->finished) >= (uint32_t)plan->scenario->requests;
}

/* ---- Threads ----------------------------------------------------------- */

static void work(struct contender *contender, int number) {
    const struct run_plan *plan = contender->server->plan;
    int workers = scenario_workers(plan->scenario);
    for (int i = number; i < plan->scenario->requests; i += workers) {
        bool served = uses_lock(contender->server) ? serve_under_lock(contender, i)
                                                   : serve_without_lock(contender, i);
        if (!served) {
            return;
        }
        plan->board->requests[i].finished_ns = clock_now_ns();
        gate_raise(&plan->board->finished);
    }
}

static void read_along(struct contender *contender) {
    const struct run_plan *plan = contender->server->plan;
    while (!is_sale_over(plan) && plan->board->failures == 0) {
        bool read = uses_lock(contender->server) ? query_under_lock(contender)
                                                 : query_without_lock(contender);
        if (!read) {
            return;
        }
    }
}

static void *thread_main(void *arg) {
    const struct server_thread *self = arg;
    struct board *board = self->server->plan->board;
    struct contender contender;
    if (contender_open(&contender, self->server)) {
        gate_raise(&board->ready);
        if (contender_await(&contender, &board->start, 1, "the sale to begin")) {
            if (self->role == WORKER) {
                work(&contender, self->number);
            } else {
                read_along(&contender);
            }
        }
    }
    contender_close(&contender);
    return NULL;
}

static void run_threads(struct server *server) {
    const struct scenario *scenario = server->plan->scenario;
    struct server_thread threads[THREADS_MAX];
    int wanted = scenario->workers_per_server + scenario->readers_per_server;
    int started = 0;
    for (; started < wanted && started < THREADS_MAX; started++) {
        struct server_thread *thread = &threads[started];
        thread->server = server;
        thread->role = started < scenario->workers_per_server ? WORKER : READER;
        thread->number = server->index + started * scenario->servers;
        int error = pthread_create(&thread->thread, NULL, thread_main, thread);
        if (error != 0) {
            board_fail(server->plan->board, "server %d: start a thread: error %d",
                       server->index + 1, error);
            break;
        }
    }
    for (int i = 0; i < started; i++) {
        pthread_join(threads[i].thread, NULL);
    }
}

/* ---- The session ------------------------------------------------------- */

/* Tells the board that our request stands in the queue. A server has one worker in such runs. */
static void note_queued(void *arg, const zkl_log_record *record) {
    struct server *server = arg;
    if (record->event == ZKL_LOG_QUEUED) {
        gate_raise_to(&server->plan->board->queued, (uint32_t)server->current + 1);
    }
}

static bool fail_client(const struct run_plan *plan, const char *what, int status) {
    const char *detail = zkl_error_message();
    board_fail(plan->board, "%s %s: %s%s%s", what, plan->hosts, zkl_strerror(status),
               detail[0] == '\0' ? "" : ": ", detail);
    return false;
}

static bool open_client(struct server *server) {
    const struct run_plan *plan = server->plan;
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    options.session_timeout_ms = plan->scenario->session_timeout_ms;
    options.connect_timeout_ms = CONNECT_TIMEOUT_MS;
    options.label = "inventory";
    if (plan->scenario->in_order) {
        options.log_callback = note_queued;
        options.log_arg = server;
        options.log_level = ZKL_LOG_DEBUG;
    }
    int status = zkl_client_open(plan->hosts, &options, &server->client);
    return status == ZKL_OK || fail_client(plan, "connect to", status);
}

static void note_session_timeout(const struct server *server) {
    zkl_client_information information = ZKL_CLIENT_INFORMATION_INIT;
    if (server->index == 0 && zkl_client_info(server->client, &information) == ZKL_OK) {
        server->plan->board->session_timeout_ms = information.session_timeout_ms;
    }
}

static void close_client(struct server *server) {
    int status = zkl_client_close(server->client, CLOSE_TIMEOUT_MS);
    if (status != ZKL_OK) {
        (void)fail_client(server->plan, "disconnect from", status);
    }
}

int server_run(const struct run_plan *plan, int index) {
    struct server server = { .plan = plan, .index = index };
    if (uses_lock(&server)) {
        if (!open_client(&server)) {
            return 1;
        }
        note_session_timeout(&server);
    }
    run_threads(&server);
    if (uses_lock(&server)) {
        close_client(&server);
    }
    return plan->board->failures == 0 ? 0 : 1;
}

/* A lock that is granted shorter than any session lasts has nobody before it in its queue. */
static bool queue_is_empty(struct server *server) {
    enum { SHORT_MS = 900 };
    ZKL_CLOSE_AT_SCOPE_END zkl_lock *lock = NULL;
    int status = zkl_lock_open(server->client, server->plan->resource, NULL, &lock);
    if (status == ZKL_OK) {
        status = zkl_lock_acquire(lock, ZKL_WRITE, SHORT_MS, NULL);
    }
    return status == ZKL_OK || fail_client(server->plan, "a lock node is left behind at", status);
}

int server_audit_queue(const struct run_plan *plan) {
    struct server server = { .plan = plan };
    if (!open_client(&server)) {
        return 1;
    }
    bool empty = queue_is_empty(&server);
    close_client(&server);
    return empty && plan->board->failures == 0 ? 0 : 1;
}

int server_check_hosts(const char *hosts) {
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    options.connect_timeout_ms = CONNECT_TIMEOUT_MS;
    zkl_client *client = NULL;
    int status = zkl_client_open(hosts, &options, &client);
    if (status == ZKL_OK) {
        (void)zkl_client_close(client, CLOSE_TIMEOUT_MS);
        return 0;
    }
    const char *detail = zkl_error_message();
    (void)fprintf(stderr, "inventory: --hosts %s: %s\n", hosts,
                  detail[0] == '\0' ? zkl_strerror(status) : detail);
    return status == ZKL_INVALID_ARGUMENT ? 2 : 1;
}
