#include "demonstration.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "journal.h"

/* How long an order without a lock waits between its read and its write if it does not say: without
 * that, orders overlap only now and then, as such bugs do. */
enum { OVERLAP_MS = 30 };

/* A server that there is not, at an address of its own: zklock tells servers apart by that. */
#define NOWHERE "127.255.255.254:1"
enum { NOWHERE_SIZE = 1024 };

static const char *const names[] = { [HARM_STOP] = "stop",
                                     [HARM_KILL] = "kill",
                                     [HARM_CUT_ZOOKEEPER] = "cut_zookeeper",
                                     [HARM_CUT_DATABASE] = "cut_database" };

bool harm_find(const char *name, harm *found) {
    for (int i = HARM_STOP; i <= HARM_CUT_DATABASE; i++) {
        if (name != NULL && strcmp(name, names[i]) == 0) {
            *found = (harm)i;
            return true;
        }
    }
    return false;
}

static void wait_for(int64_t ms) {
    const struct timespec pause = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };
    (void)nanosleep(&pause, NULL);
}

/* ---- What happens to the instance ------------------------------------------------------------ */

/* Stops the whole process for some time, as swapping or the move of a virtual machine does. */
static void stop_process(int64_t ms) {
    pid_t process = getpid();
    pid_t waker = fork();
    if (waker == 0) { /* only what is safe after a fork of many threads; it keeps no port open */
        (void)close_range(0, ~0U, 0);
        wait_for(ms);
        (void)kill(process, SIGCONT);
        _exit(0);
    }
    if (waker > 0) {
        (void)raise(
            SIGSTOP); /* raised by this thread, which after kill() could run on for a while */
        (void)kill(waker, SIGKILL); /* somebody else may have woken us: it must end no later stop */
    }
}

/* Gives the client the address of no server. It keeps the chroot, which a list may not change. */
static void cut_off_from_zookeeper(const trial *self) {
    char nowhere[NOWHERE_SIZE];
    const char *chroot = strchr(self->hosts, '/');
    (void)snprintf(nowhere, sizeof(nowhere), NOWHERE "%s", chroot != NULL ? chroot : "");
    (void)!zkl_client_set_hosts(self->order.shop->client, nowhere);
}

static void begin_harm(trial *self) {
    journal("harmed", "order", self->order.record.key, "by", names[self->harm], "token",
            journal_number(self->order.record.token));
    switch (self->harm) {
    case HARM_STOP:
        stop_process(self->harm_ms);
        break;
    case HARM_KILL:
        (void)raise(SIGKILL);
        break;
    case HARM_CUT_ZOOKEEPER:
        cut_off_from_zookeeper(self);
        wait_for(self->harm_ms);
        break;
    default:
        database_cut(true);
        wait_for(self->harm_ms);
        break;
    }
}

/* ---- The steps ------------------------------------------------------------------------------- */

/* Sells as the shop does, and lets happen between the read and the write what is to happen. The way
 * back comes after the write, when the order may be gone. */
static void trial_sell(job *work, database *connection) {
    trial *self = (trial *)work;
    if (!shop_claim(&self->order, connection) || !shop_decide(&self->order, connection)) {
        return;
    }
    zkl_client *client = self->order.shop->client;
    const char *hosts = self->hosts;
    harm done = self->harm;
    if (done != HARM_NONE) {
        begin_harm(self);
        self->harm = HARM_NONE;
    }
    wait_for(self->think_ms);
    shop_write(&self->order, connection);
    if (done == HARM_CUT_ZOOKEEPER) {
        (void)!zkl_client_set_hosts(client, hosts);
    }
    if (done == HARM_CUT_DATABASE) {
        database_cut(false);
    }
}

static store_status read_parts(order *one, database *connection) {
    store_status status = STORE_OK;
    for (size_t i = 0; i < one->part_count && status == STORE_OK; i++) {
        int64_t left[SEGMENTS_MAX];
        status = store_look_at_segments(connection, one->parts[i].sku, left);
        one->parts[i].quantity = left[one->parts[i].segment];
    }
    return status;
}

/* Reads, decides and writes with nothing that keeps others out. Its token is 0, which the fence of
 * a product lets pass as long as nobody has sold it under a lock. Where it does not, the order asks
 * for the lock as others do. */
static void sell_without_lock(job *work, database *connection) {
    trial *self = (trial *)work;
    if (self->order.fenced_off > 0) {
        shop_ask(work, connection);
    } else if (read_parts(&self->order, connection) != STORE_OK) {
        shop_fail(&self->order, "read", connection);
    } else if (shop_decide(&self->order, connection)) {
        wait_for(self->think_ms > 0 ? self->think_ms : OVERLAP_MS);
        shop_write(&self->order, connection);
    }
}

void trial_prepare(trial *self) {
    self->order.ask = self->without_lock ? sell_without_lock : NULL;
    self->order.sell = self->harm != HARM_NONE || self->think_ms > 0 ? trial_sell : NULL;
}
