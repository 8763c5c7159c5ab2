#include "support/contender.h"

#include "support/basics.h"
#include "support/contender_commands.h"
#include "support/ledger.h"
#include "support/records.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <zookeeper/zookeeper.h>

static int open_handle(char **argv, zkl_client **client, zkl_lock **lock) {
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    options.session_timeout_ms = atoi(argv[2]);
    options.connect_timeout_ms = PATIENCE_MS;
    options.lease_tick_ms = atoi(argv[5]);
    zkl_lock_options lock_options = ZKL_LOCK_OPTIONS_INIT;
    lock_options.fail_on_session_expiry = atoi(argv[4]);
    lock_options.permits = atoi(argv[6]);
    int status = zkl_client_open(argv[1], &options, client);
    return status != ZKL_OK ? status : zkl_lock_open(*client, argv[3], &lock_options, lock);
}

static void introduce(int status, zkl_client *client) {
    zkl_client_information information = { .struct_size = sizeof information };
    if (status == ZKL_OK) {
        status = zkl_client_info(client, &information);
    }
    printf("%d %" PRId64 " %" PRId32 "\n", status, information.session_id,
           information.session_timeout_ms);
}

/* How many permits the handle's semaphore has; 0: it is a lock. */
static int permits;

static int use_ledger(zkl_mode mode, const char *ledger) {
    if (strcmp(ledger, CONTENDER_NO_LEDGER) == 0) {
        return ZKL_OK;
    }
    if (permits > 0) {
        int64_t inside = ledger_enter(ledger);
        nap();
        ledger_leave(ledger);
        return inside <= permits ? ZKL_OK : CONTENDER_OVERLAPPED;
    }
    int64_t number;
    bool alone = mode == ZKL_READ ? ledger_look(ledger, &number) : ledger_add_one(ledger);
    return alone ? ZKL_OK : CONTENDER_OVERLAPPED;
}

static int count(zkl_lock *lock, zkl_mode mode, int rounds, const char *ledger) {
    int status = ZKL_OK;
    for (int i = 0; i < rounds && status == ZKL_OK; i++) {
        status = zkl_lock_acquire(lock, mode, 2 * PATIENCE_MS, NULL);
        if (status == ZKL_OK) {
            int used = use_ledger(mode, ledger);
            status = zkl_lock_release(lock, PATIENCE_MS);
            status = used != ZKL_OK ? used : status;
        }
    }
    return status;
}

/* ---- Both resources at once ---------------------------------------------- */

static int open_both(struct contender *self, const char *other) {
    zkl_lock_member members[] = { ZKL_LOCK_MEMBER_INIT, ZKL_LOCK_MEMBER_INIT };
    members[0].resource = self->resource;
    members[1].resource = other;
    zkl_lock_close(self->both);
    return zkl_lock_open_set(self->client, members, 2, NULL, &self->both);
}

static int count_both(zkl_lock *both, int rounds, const char *ledger) {
    int status = ZKL_OK;
    for (int i = 0; i < rounds && status == ZKL_OK; i++) {
        status = zkl_lock_acquire(both, ZKL_AS_OPENED, 2 * PATIENCE_MS, NULL);
        if (status == ZKL_OK) {
            int used = use_ledger(ZKL_EXCLUSIVE, ledger);
            status = zkl_lock_release(both, PATIENCE_MS);
            status = used != ZKL_OK ? used : status;
        }
    }
    return status;
}

/* False: it is no such command. */
static bool obey_about_both(const char *command, struct contender *self) {
    char other[128];
    char ledger[64];
    int rounds;
    if (sscanf(command, "count_both %127s %d %63s", other, &rounds, ledger) == 3) {
        int status = open_both(self, other);
        printf("%d\n", status == ZKL_OK ? count_both(self->both, rounds, ledger) : status);
    } else if (sscanf(command, "hold_both %127s", other) == 1) {
        zkl_grant grant = ZKL_GRANT_INIT;
        int status = open_both(self, other);
        if (status == ZKL_OK) {
            status = zkl_lock_acquire(self->both, ZKL_AS_OPENED, 2 * PATIENCE_MS, &grant);
        }
        printf("%d %" PRId64 "\n", status, grant.token);
    } else {
        return false;
    }
    return true;
}

/* ---- Another resource, one after the other -------------------------------- */

static int acquire_also(struct contender *self, const char *other, int64_t timeout_ms,
                        zkl_grant *grant) {
    zkl_lock_close(self->also);
    int status = zkl_lock_open(self->client, other, NULL, &self->also);
    return status != ZKL_OK ? status
                            : zkl_lock_acquire(self->also, ZKL_EXCLUSIVE, timeout_ms, grant);
}

/* False: it is no such command. */
static bool obey_about_another(const char *command, struct contender *self) {
    char other[128];
    int64_t timeout_ms;
    if (sscanf(command, "also %127s %" SCNd64, other, &timeout_ms) != 2) {
        return false;
    }
    zkl_grant grant = ZKL_GRANT_INIT;
    int status = acquire_also(self, other, timeout_ms, &grant);
    printf("%d %" PRId64 " %s\n", status, grant.token, grant.node);
    return true;
}

/* ---- Commands ------------------------------------------------------------ */

static void obey(const char *command, struct contender *self) {
    zkl_lock *lock = self->lock;
    int mode;
    int rounds;
    int64_t timeout_ms;
    char ledger[64];
    if (sscanf(command, "acquire %d %" SCNd64, &mode, &timeout_ms) == 2) {
        zkl_grant grant = ZKL_GRANT_INIT;
        int status = zkl_lock_acquire(lock, (zkl_mode)mode, timeout_ms, &grant);
        printf("%d %" PRId64 " %s\n", status, grant.token, grant.node);
    } else if (sscanf(command, "count %d %d %63s", &mode, &rounds, ledger) == 3) {
        printf("%d\n", count(lock, (zkl_mode)mode, rounds, ledger));
    } else if (strcmp(command, "release\n") == 0) {
        printf("%d\n", zkl_lock_release(lock, PATIENCE_MS));
    } else if (strcmp(command, "check\n") == 0) {
        int64_t lease_left_ms;
        int status = zkl_lock_check(lock, &lease_left_ms);
        printf("%d %" PRId64 "\n", status, lease_left_ms);
    } else if (!obey_about_both(command, self) && !obey_about_another(command, self) &&
               !contender_obey_about_writes(command, self) &&
               !contender_obey_about_leading(command, self)) {
        give_up("contender: no such command: %s", command);
    }
}

int main(int argc, char **argv) {
    if (argc != 7) {
        give_up("contender: not meant to be started by hand; see contender.h");
    }
    /* Whatever becomes of the test, a contender that waits, or is stopped, goes. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setvbuf(stdout, NULL, _IOLBF, 0);
    zoo_set_debug_level((ZooLogLevel)0);
    records_join();
    struct contender self = { .resource = argv[3] };
    permits = atoi(argv[6]);
    int status = open_handle(argv, &self.client, &self.lock);
    introduce(status, self.client);
    char command[256];
    while (fgets(command, sizeof command, stdin) != NULL) {
        obey(command, &self);
    }
    contender_end_writes(&self);
    contender_end_leading(&self);
    zkl_lock_close(self.both);
    zkl_lock_close(self.also);
    zkl_lock_close(self.lock);
    return zkl_client_close(self.client, PATIENCE_MS) == ZKL_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
