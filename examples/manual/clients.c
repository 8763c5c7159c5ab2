/* Parts of programs about clients, which the manual's pages show: clients HOSTS [RECORD] */
#include <inttypes.h>
#include <string.h>

#include "../example.h"

enum { PATIENCE_MS = 5000 };

static void describe_client(zkl_client *client) {
    zkl_client_information now = ZKL_CLIENT_INFORMATION_INIT;
    if (zkl_client_info(client, &now) == ZKL_OK) {
        printf("session 0x%" PRIx64 " of %d ms, %s\n", now.session_id, now.session_timeout_ms,
               now.connected ? "connected" : "cut off");
    }
}

static void describe_lock(const zkl_lock *lock) {
    zkl_lock_information now = ZKL_LOCK_INFORMATION_INIT;
    if (zkl_lock_info(lock, &now) != ZKL_OK) {
        return;
    }
    printf("%s", zkl_lock_state_name((int)now.state));
    if (now.state == ZKL_STATE_HELD || now.state == ZKL_STATE_SUSPECT) {
        printf(" (%s) for %" PRId64 " ms, token %" PRId64, zkl_lock_mode_name((int)now.mode),
               now.held_ms, now.token);
    } else if (now.state == ZKL_STATE_LOST) {
        printf(": %s", zkl_strerror(now.lost_reason));
    } else if (now.state == ZKL_STATE_ACQUIRING && now.position >= 0) {
        printf(", behind %" PRId64, now.position);
    }
    printf("\n");
}

/* Leaves servers before they are taken out of the ensemble: nobody connects to them after this. */
static int leave_old_servers(zkl_client *client, const char *new_hosts) {
    int status = zkl_client_set_hosts(client, new_hosts);
    if (status != ZKL_OK) {
        fprintf(stderr, "still with the old servers: %s\n", zkl_error_message());
    }
    return status;
}

/* Keeps, for a bug report, what this client was told, and what it made of it. */
static void keep_evidence(zkl_client *client, const char *path) {
    if (zkl_client_write_record(client, path) != ZKL_OK) {
        fprintf(stderr, "no record: %s\n", zkl_error_message());
    }
}

/* Runs on a thread of its own, so it may be slow. */
static void on_log_record(void *arg, const zkl_log_record *record) {
    static const char *const levels[] = { "", "error", "warning", "info", "debug" };
    fprintf(arg, "%s %s resource=%s node=%s %s\n", levels[record->level],
            zkl_log_event_name((int)record->event), record->resource, record->node,
            record->message);
}

/* Opens a client that keeps a lease, and logs. */
static int open_with_lease(const char *hosts, zkl_client **client) {
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    options.session_timeout_ms = 20000;
    options.lease_tick_ms = 2000; /* tickTime of the servers */
    options.label = "billing";
    options.log_callback = on_log_record;
    options.log_arg = stderr;
    options.log_level = ZKL_LOG_WARN;
    return zkl_client_open(hosts, &options, client);
}

/* Opens what Python services lock with kazoo, unchanged. */
static int open_for_kazoo(zkl_client *client, zkl_lock **lock) {
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    options.naming = ZKL_NAMING_KAZOO; /* its Lock, ReadLock and WriteLock see ours */
    return zkl_lock_open(client, "report", &options, lock);
}

/* Opens it for many threads that sell the same: the lock passes among them without a request. */
static int open_lent(zkl_client *client, zkl_lock **lock) {
    zkl_lending lending = ZKL_LENDING_INIT;
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    lending.hand_offs = 20; /* so often, once somebody of another client waits */
    options.lending = &lending;
    return zkl_lock_open(client, "stock", &options, lock);
}

static int read_under_lock(zkl_lock *lock) {
    int status = zkl_lock_acquire(lock, ZKL_READ, PATIENCE_MS, NULL);
    if (status != ZKL_OK) {
        return status;
    }
    ZKL_RELEASE_AT_SCOPE_END zkl_lock *held = lock; /* wherever this function returns */
    describe_lock(held);
    return zkl_lock_check(held, NULL);
}

static void say_version(void) {
    printf("zklock %s\n", zkl_version());
}

static void log_status(int status) {
    fprintf(stderr, "status=%s text=\"%s\" detail=\"%s\"\n", zkl_status_name(status),
            zkl_strerror(status), zkl_error_message());
}

static int read_report(zkl_client *client) {
    ZKL_CLOSE_AT_SCOPE_END zkl_lock *report = NULL;
    int status = open_for_kazoo(client, &report);
    return status == ZKL_OK ? read_under_lock(report) : status;
}

/* Tries: somebody else may do it. */
static int do_unless_busy(zkl_client *client) {
    ZKL_CLOSE_AT_SCOPE_END zkl_lock *lock = NULL; /* wherever this function returns */
    int status = open_lent(client, &lock);
    if (status == ZKL_OK) {
        status = zkl_lock_acquire(lock, ZKL_EXCLUSIVE, 0, NULL);
    }
    if (status == ZKL_OK) {
        printf("doing it\n");
    }
    return status == ZKL_BUSY ? ZKL_OK : status;
}

static int clients_run(zkl_client *client, int argc, char **argv) {
    const char *hosts = argc > 1 ? argv[1] : "127.0.0.1:2181";
    zkl_client *other = NULL;
    say_version();
    describe_client(client);
    int status = read_report(client);
    if (status == ZKL_OK) {
        status = do_unless_busy(client);
    }
    if (status == ZKL_OK) {
        status = leave_old_servers(client, hosts);
    }
    if (status == ZKL_OK) {
        status = open_with_lease(hosts, &other);
    }
    if (argc > 2) {
        keep_evidence(client, argv[2]);
    }
    log_status(status);
    (void)zkl_client_close(other, PATIENCE_MS);
    return status;
}

int main(int argc, char **argv) {
    return run_example(argc, argv, NULL, clients_run);
}
