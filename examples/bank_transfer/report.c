#include "report.h"

#include <inttypes.h>
#include <stdio.h>

#include "store.h"
#include "zklock/zklock.h"

enum { EMPTY_WITHIN_MS = 20000 };

struct counts {
    int of[OUTCOME_KILLED + 1];
    int killed_but_written;
    int contradictions; /* finished transfers that are not in the database, and timed-out ones that
                           are */
    struct audit audit;
};

static bool count_one(struct store *store, int number, enum outcome outcome,
                      struct counts *counts) {
    bool written = false;
    if (store_has(store, number, &written) != STORE_OK) {
        return false;
    }
    counts->of[outcome]++;
    if (outcome == OUTCOME_KILLED) {
        counts->killed_but_written += written ? 1 : 0;
    } else {
        counts->contradictions += written == (outcome == OUTCOME_FINISHED) ? 0 : 1;
    }
    return true;
}

static bool count_all(const struct bank *bank, struct board *board, struct store *store,
                      struct counts *counts) {
    bool counted = store_audit(store, FIRST_BALANCE, &counts->audit) == STORE_OK;
    for (int i = 0; counted && i < bank_transfers(bank); i++) {
        counted = count_one(store, i, (enum outcome)atomic_load(&board->outcomes[i]), counts);
    }
    return counted;
}

static void count(const struct bank *bank, struct board *board, struct counts *counts) {
    struct store *store = NULL;
    if (store_open(bank->database, &store) != STORE_OK || !count_all(bank, board, store, counts)) {
        board_fail(board, "read the database: %s", store_error(store));
    }
    store_close(store);
}

/* Locks all accounts: a set that is granted has found no other node before its own. */
static int lock_all(const struct bank *bank, zkl_client *client) {
    zkl_lock_member members[ACCOUNTS];
    for (int i = 0; i < ACCOUNTS; i++) {
        members[i] = (zkl_lock_member)ZKL_LOCK_MEMBER_INIT;
        members[i].resource = bank->resources[i];
    }
    zkl_lock *all = NULL;
    int status = zkl_lock_open_set(client, members, ACCOUNTS, NULL, &all);
    if (status == ZKL_OK) {
        status = zkl_lock_acquire(all, ZKL_AS_OPENED, EMPTY_WITHIN_MS, NULL);
    }
    zkl_lock_close(all);
    return status;
}

static void expect_empty_queues(const struct bank *bank, struct board *board) {
    zkl_client *client = NULL;
    int status = zkl_client_open(bank->hosts, NULL, &client);
    if (status == ZKL_OK) {
        status = lock_all(bank, client);
        (void)zkl_client_close(client, EMPTY_WITHIN_MS);
    }
    if (status != ZKL_OK) {
        board_fail(board, "lock all accounts in the end: %s", zkl_strerror(status));
    }
}

static void judge(const struct bank *bank, struct board *board, const struct course *course,
                  const struct counts *counts) {
    const struct audit *audit = &counts->audit;
    if (audit->total != (int64_t)ACCOUNTS * FIRST_BALANCE || audit->wrong != 0) {
        board_fail(board, "money was lost or made");
    }
    if (counts->of[OUTCOME_NONE] + counts->of[OUTCOME_UNDERWAY] + counts->contradictions != 0) {
        board_fail(board, "transfers are not accounted for");
    }
    if (course->kills < bank->kills) {
        board_fail(board, "only %d of %d kills happened", course->kills, bank->kills);
    }
    int waited_in_vain = atomic_load(&board->patient_timed_out);
    if (waited_in_vain > 0 && !bank->one_after_the_other) {
        board_fail(board, "%d transfers with plenty of time timed out", waited_in_vain);
    }
    if (waited_in_vain == 0 && bank->one_after_the_other) {
        board_fail(board, "no deadlock happened, though one lock was taken after the other");
    }
}

bool report(const struct bank *bank, struct board *board, const struct course *course) {
    struct counts counts = { .killed_but_written = 0 };
    count(bank, board, &counts);
    judge(bank, board, course, &counts);
    expect_empty_queues(bank, board);
    (void)printf("%d transfers between %d accounts, %d processes of %d threads, %s\n",
                 bank_transfers(bank), ACCOUNTS, bank->processes, bank->threads,
                 bank->one_after_the_other ? "two locks one after the other" : "a set");
    (void)printf("  finished    %6d\n", counts.of[OUTCOME_FINISHED]);
    (void)printf("  timed out   %6d   %d of them with plenty of time: deadlocks\n",
                 counts.of[OUTCOME_TIMED_OUT], atomic_load(&board->patient_timed_out));
    (void)printf("  killed      %6d   in %d kills; %d had been written\n",
                 counts.of[OUTCOME_KILLED], course->kills, counts.killed_but_written);
    (void)printf("  fenced off  %6d   and done again\n", atomic_load(&board->fenced_off));
    (void)printf("  unfinished  %6d\n", counts.of[OUTCOME_NONE] + counts.of[OUTCOME_UNDERWAY]);
    (void)printf("  total       %" PRId64 " of %" PRId64 "\n", counts.audit.total,
                 (int64_t)ACCOUNTS * FIRST_BALANCE);
    (void)printf("  took        %6.1f s\n", (double)course->took_ms / 1000);
    bool right = atomic_load(&board->failures) == 0;
    (void)printf("%s\n", right ? "right" : "WRONG");
    return right;
}
