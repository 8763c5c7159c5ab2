#include "teller.h"

#include <pthread.h>

#include "clock.h"
#include "guard.h"
#include "store.h"

enum {
    SESSION_TIMEOUT_MS = 2000, /* the locks of a process that is killed are gone soon after it */
    CONNECT_TIMEOUT_MS = 20000,
    CLOSE_TIMEOUT_MS = 10000,
    WORK_MS = 3,      /* how long both accounts are held; some processes are killed then */
    HURRY_ONE_IN = 8, /* one transfer in eight has a deadline that may pass */
    HURRIED_MS = 60,
    PATIENT_MS = 40000,
    DEADLOCK_MS = 1500, /* a deadlock lasts until this deadline */
    AMOUNT_MAX = 100
};

struct teller {
    const struct bank *bank;
    struct board *board;
    int index;
    zkl_client *client;
};

struct teller_thread {
    struct teller *teller;
    int number; /* its number among the threads of all processes */
    pthread_t thread;
    struct store *store;
};

/* ---- One transfer ----------------------------------------------------------------------- */

/* Draws from the transfer's number (splitmix64), so that a process that was started again draws the
 * same. */
static uint64_t draw(uint64_t number) {
    uint64_t z = (number + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static struct transfer draw_transfer(int number) {
    uint64_t random = draw((uint64_t)number);
    int from = (int)(random % ACCOUNTS);
    int distance = 1 + (int)(random / ACCOUNTS % (ACCOUNTS - 1));
    return (struct transfer){ .number = number,
                              .amount = 1 + (int64_t)(random >> 32) % AMOUNT_MAX,
                              .from = { .account = from },
                              .to = { .account = (from + distance) % ACCOUNTS } };
}

static bool is_hurried(const struct bank *bank, int number) {
    return !bank->one_after_the_other && number % HURRY_ONE_IN == 0;
}

static int64_t timeout_of(const struct bank *bank, int number) {
    if (bank->one_after_the_other) {
        return DEADLOCK_MS;
    }
    return is_hurried(bank, number) ? HURRIED_MS : PATIENT_MS;
}

static void teller_decide(struct board *board, int number, enum outcome outcome) {
    atomic_store(&board->outcomes[number], (int)outcome);
    atomic_fetch_add(&board->decided, 1);
}

/* Moves the money. Both accounts are held. */
static enum store_status move_money(struct teller_thread *self, struct transfer *transfer) {
    atomic_int *holders = &self->teller->board->holders[self->teller->index];
    atomic_fetch_add(holders, 1);
    enum store_status status = store_claim_and_read(self->store, transfer);
    clock_pause_ms(WORK_MS);
    if (status == STORE_OK) {
        status = store_write(self->store, transfer);
    }
    atomic_fetch_sub(holders, 1);
    return status;
}

static void fail_acquire(struct board *board, int status) {
    const char *detail = zkl_error_message();
    board_fail(board, "acquire: %s%s%s", zkl_strerror(status), detail[0] == '\0' ? "" : ": ",
               detail);
}

/* Tries a transfer. False: it was fenced off, because its session had ended, and must be done
 * again. */
static bool attempt(struct teller_thread *self, struct transfer *transfer) {
    const struct bank *bank = self->teller->bank;
    struct board *board = self->teller->board;
    struct guard guard = { .bank = bank };
    int acquired =
        guard_acquire(&guard, self->teller->client, transfer, timeout_of(bank, transfer->number));
    enum store_status moved = acquired == ZKL_OK ? move_money(self, transfer) : STORE_OK;
    guard_end(&guard);
    if (acquired == ZKL_TIMEOUT || acquired == ZKL_DISCONNECTED) {
        teller_decide(board, transfer->number, OUTCOME_TIMED_OUT);
        atomic_fetch_add(&board->patient_timed_out, is_hurried(bank, transfer->number) ? 0 : 1);
    } else if (acquired != ZKL_OK) {
        fail_acquire(board, acquired);
    } else if (moved == STORE_OK) {
        teller_decide(board, transfer->number, OUTCOME_FINISHED);
    } else if (moved == STORE_ERROR) {
        board_fail(board, "store: %s", store_error(self->store));
    } else {
        atomic_fetch_add(&board->fenced_off, 1);
        return false;
    }
    return true;
}

/* Does a transfer, unless it was under way: then this process began it before it was killed. */
static void transfer_one(struct teller_thread *self, int number) {
    struct board *board = self->teller->board;
    int outcome = atomic_load(&board->outcomes[number]);
    if (outcome == OUTCOME_UNDERWAY) {
        teller_decide(board, number, OUTCOME_KILLED);
    } else if (outcome == OUTCOME_NONE) {
        atomic_store(&board->outcomes[number], OUTCOME_UNDERWAY);
        struct transfer transfer = draw_transfer(number);
        bool done = false;
        while (!done) {
            done = attempt(self, &transfer);
        }
    }
}

/* ---- Threads -------------------------------------------------------------------------------- */

static void *thread_main(void *arg) {
    struct teller_thread *self = arg;
    const struct bank *bank = self->teller->bank;
    struct board *board = self->teller->board;
    if (store_open(bank->database, &self->store) == STORE_OK) {
        for (int i = 0; i < bank->transfers && atomic_load(&board->failures) == 0; i++) {
            transfer_one(self, self->number * bank->transfers + i);
        }
    } else {
        board_fail(board, "open the database: %s", store_error(self->store));
    }
    store_close(self->store);
    return NULL;
}

static void run_threads(struct teller *teller) {
    struct teller_thread threads[THREADS_MAX];
    int started = 0;
    for (; started < teller->bank->threads; started++) {
        threads[started] =
            (struct teller_thread){ .teller = teller,
                                    .number = teller->index * teller->bank->threads + started };
        int error = pthread_create(&threads[started].thread, NULL, thread_main, &threads[started]);
        if (error != 0) {
            board_fail(teller->board, "start a thread: error %d", error);
            break;
        }
    }
    for (int i = 0; i < started; i++) {
        pthread_join(threads[i].thread, NULL);
    }
}

int teller_run(const struct bank *bank, struct board *board, int index) {
    struct teller teller = { .bank = bank, .board = board, .index = index };
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    options.session_timeout_ms = SESSION_TIMEOUT_MS;
    options.connect_timeout_ms = CONNECT_TIMEOUT_MS;
    options.label = "bank";
    int status = zkl_client_open(bank->hosts, &options, &teller.client);
    if (status != ZKL_OK) {
        board_fail(board, "connect to %s: %s %s", bank->hosts, zkl_strerror(status),
                   zkl_error_message());
        return 1;
    }
    run_threads(&teller);
    status = zkl_client_close(teller.client, CLOSE_TIMEOUT_MS);
    if (status != ZKL_OK) {
        board_fail(board, "close: %s", zkl_strerror(status));
    }
    return atomic_load(&board->failures) == 0 ? 0 : 1;
}
