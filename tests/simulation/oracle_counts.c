#include "oracle_counts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "faults.h"
#include "handle/lock_events.h"
#include "oracle_records.h"

/* What the application was told about one resource, through the handles of one client. */
typedef struct told_counts {
    uint64_t results[ZKL_RESULT_COUNT]; /* of acquires, one for each that came back */
    uint64_t taken_back;                /* acquires that may have been granted, and then not */
    uint64_t unclear;                   /* upgrades of what was lost: begun or not, and then? */
    uint64_t losses[ZKL_LOSS_COUNT];
} told_counts;

static told_counts told_by[PLAN_CLIENTS_MAX][PLAN_RESOURCES_MAX];

/* NULL: of a client that is closed, or about to be; or of a resource of no class. */
static told_counts *counts_of(const zkl_lock *lock) {
    if (strncmp(lock->members[0].resource, "resource-", strlen("resource-")) != 0) {
        return NULL;
    }
    unsigned resource = (unsigned)strtoul(strrchr(lock->members[0].resource, '-') + 1, NULL, 10);
    for (size_t i = 0; i < oracle.plan->client_count; i++) {
        if (oracle.clients[i].client == lock->client) {
            return &told_by[i][resource];
        }
    }
    return NULL;
}

/* ---- What they are told ------------------------------------------------------------- */

static void on_event(const zkl_lock *lock, zkl_lock_state state, int reason) {
    told_counts *counts = counts_of(lock);
    if (counts == NULL || state != ZKL_STATE_LOST) {
        return;
    }
    switch (reason) {
    case ZKL_SESSION_EXPIRED:
        counts->losses[ZKL_LOSS_SESSION_EXPIRED]++;
        break;
    case ZKL_LEASE_ENDED:
        counts->losses[ZKL_LOSS_LEASE_ENDED]++;
        break;
    case ZKL_HOLD_LIMIT:
        counts->losses[ZKL_LOSS_HOLD_LIMIT]++;
        break;
    case ZKL_NODE_DELETED:
        counts->losses[ZKL_LOSS_NODE_DELETED]++;
        break;
    default:
        counts->losses[ZKL_LOSS_OTHER]++;
        break;
    }
}

/* A grant is taken back when it is lost, or its handle closed, before the call returns. */
static void count_result(told_counts *counts, int status) {
    switch (status) {
    case ZKL_OK:
        counts->results[ZKL_RESULT_GRANTED]++;
        break;
    case ZKL_BUSY:
    case ZKL_QUEUE_FULL:
        counts->results[ZKL_RESULT_BUSY]++;
        break;
    case ZKL_TIMEOUT:
        counts->results[ZKL_RESULT_TIMEOUT]++;
        break;
    case ZKL_CANCELLED:
        counts->results[ZKL_RESULT_CANCELLED]++;
        counts->taken_back++;
        break;
    case ZKL_SESSION_EXPIRED:
        counts->results[ZKL_RESULT_EXPIRED]++;
        counts->taken_back++;
        break;
    default:
        counts->results[ZKL_RESULT_FAILED]++;
        counts->taken_back +=
            status == ZKL_LEASE_ENDED || status == ZKL_HOLD_LIMIT || status == ZKL_NODE_DELETED;
        break;
    }
}

/* Calls on a handle that holds already, or that another thread uses, ask for nothing. */
static bool is_an_acquire(const zkl_lock *lock, int status) {
    return status != ZKL_ALREADY_HELD && status != ZKL_HANDLE_IN_USE && status != ZKL_LOST &&
           status != ZKL_INVALID_ARGUMENT && !(status == ZKL_OK && lock->grant.holds > 1);
}

/* Its request is an acquire of its own. */
static void count_upgrade(told_counts *counts, int status) {
    if (status == ZKL_LOST || status == ZKL_CLOSED) {
        counts->unclear++;
        counts->taken_back++;
    } else {
        count_result(counts, status);
    }
}

static void on_returned(const zkl_lock *lock, const char *function, int status) {
    told_counts *counts = counts_of(lock);
    bool upgrades = strcmp(function, "zkl_lock_try_upgrade") == 0 ||
                    strcmp(function, "zkl_lock_try_upgrade_async") == 0;
    if (counts != NULL && upgrades) {
        count_upgrade(counts, status);
    }
    bool acquires = strcmp(function, "zkl_lock_acquire") == 0 ||
                    strcmp(function, "zkl_lock_acquire_async") == 0;
    if (counts != NULL && acquires && is_an_acquire(lock, status)) {
        count_result(counts, status);
    }
}

void oracle_counts_begin(void) {
    static const zkl_lock_listener listener = { .on_event = on_event, .on_returned = on_returned };
    memset(told_by, 0, sizeof(told_by));
    zkl_lock_listen(&listener);
}

void oracle_counts_end(void) {
    zkl_lock_listen(NULL);
}

/* ---- What they have counted ------------------------------------------------------------ */

static uint64_t sum(const uint64_t *numbers, size_t count) {
    uint64_t result = 0;
    for (size_t i = 0; i < count; i++) {
        result += numbers[i];
    }
    return result;
}

static void judge(unsigned client, unsigned resource, const char *what, uint64_t counted,
                  uint64_t least, uint64_t most) {
    if (counted < least || counted > most) {
        oracle_violated("client %u has counted %" PRIu64 " %s on resource %u, and its "
                        "application was told of %" PRIu64 " to %" PRIu64,
                        client, counted, what, resource, least, most);
    }
}

static void judge_resource(unsigned client, unsigned resource, const zkl_class_metrics *class) {
    const told_counts *told = &told_by[client][resource];
    uint64_t granted = class->acquires[ZKL_RESULT_GRANTED];
    uint64_t told_granted = told->results[ZKL_RESULT_GRANTED];
    uint64_t asked = sum(told->results, ZKL_RESULT_COUNT);
    judge(client, resource, "acquires", sum(class->acquires, ZKL_RESULT_COUNT), asked,
          asked + told->unclear);
    judge(client, resource, "acquires that were busy", class->acquires[ZKL_RESULT_BUSY],
          told->results[ZKL_RESULT_BUSY], told->results[ZKL_RESULT_BUSY] + told->unclear);
    judge(client, resource, "timeouts", class->acquires[ZKL_RESULT_TIMEOUT],
          told->results[ZKL_RESULT_TIMEOUT], told->results[ZKL_RESULT_TIMEOUT]);
    judge(client, resource, "grants", granted, told_granted, told_granted + told->taken_back);
    uint64_t taken_back = granted - told_granted;
    for (int i = 0; i < ZKL_LOSS_COUNT; i++) {
        judge(client, resource, "losses for one reason", class->losses[i], told->losses[i],
              told->losses[i] + taken_back);
    }
    uint64_t ended = class->releases + sum(class->losses, ZKL_LOSS_COUNT);
    judge(client, resource, "releases and losses", ended, granted, granted);
    judge(client, resource, "waits", sum(class->waits.counts, ZKL_BUCKET_COUNT + 1), granted,
          granted);
    judge(client, resource, "holds", sum(class->holds.counts, ZKL_BUCKET_COUNT + 1), granted,
          granted);
}

static void judge_client(unsigned number) {
    const zkl_client *client = oracle.clients[number].client;
    uint64_t expired = 0;
    for (const zkl_client_session *one = client->sessions; one != NULL; one = one->next) {
        expired += one->session.expired_count;
    }
    if (client->metrics->sessions_expired != expired) {
        oracle_violated("client %u has counted %" PRIu64 " sessions that expired, and had %" PRIu64,
                        number, client->metrics->sessions_expired, expired);
    }
    for (size_t i = 0; i < client->metrics->class_count; i++) {
        const zkl_class_metrics *class = &client->metrics->classes[i];
        if (class->name[0] != '\0') {
            judge_resource(number, (unsigned)strtoul(strrchr(class->name, '-') + 1, NULL, 10),
                           class);
        }
    }
}

void oracle_counts_judge(void) {
    for (unsigned i = 0; i < oracle.plan->client_count; i++) {
        if (oracle.clients[i].client != NULL && !faults_has_died(i)) {
            judge_client(i);
        }
    }
}
