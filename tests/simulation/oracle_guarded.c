/* Writes that the node of a lock guards: carried out only while it lives, and told as they were. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle_records.h"
#include "testing/memory.h"

typedef struct attempt {
    unsigned contender;
    bool applied;
    bool refused; /* told as not applied */
} attempt;

static struct {
    attempt *all;
    size_t count;
} attempts;

void oracle_guarded_end(void) {
    zkl_testing_free(attempts.all);
    attempts.all = NULL;
    attempts.count = 0;
}

/* ---- Verify ---------------------------------------------------------------------- */

bool oracle_guard_lives(unsigned contender) {
    const node_record *node = oracle.records[contender].node;
    return node == NULL || node->alive;
}

static bool is_allowed(unsigned contender, int status) {
    switch (status) {
    case ZKL_OK:
    case ZKL_LOST:
    case ZKL_SERVER_REFUSED:
        return true;
    case ZKL_NO_PERMISSION:
        return oracle_went_wrong_meanwhile(&oracle.records[contender], 1U << PLAN_REFUSE);
    case ZKL_NO_MEMORY:
        return oracle_memory_runs_short();
    case ZKL_CLOSED:
        return oracle.clients[oracle_plan_of(contender)->client].closes;
    default:
        return false;
    }
}

static void judge_loss(unsigned contender, const char *call) {
    const record *one = &oracle.records[contender];
    if (oracle_guard_lives(contender) && zkl_lock_check(one->lock, NULL) == ZKL_OK) {
        oracle_violated("contender %u holds, and %s says that it is lost", contender, call);
    }
}

/* A downgrade that nobody had confirmed yet has since put a reader's node in the place of the copy
 * of a writer's: see oracle_reader_after. */
static bool has_got_a_node(unsigned contender) {
    return oracle.records[contender].downgraded && oracle_guard_lives(contender);
}

void oracle_verified(unsigned contender, bool lived_before, int status) {
    if (!is_allowed(contender, status) && status != ZKL_SUSPECT) {
        oracle_violated("contender %u verifies, and is told: %s", contender, zkl_strerror(status));
    }
    if (status == ZKL_OK && !lived_before && !has_got_a_node(contender)) {
        oracle_violated("contender %u was told that it holds, when its node was gone", contender);
    }
    if (status == ZKL_LOST) {
        judge_loss(contender, "verify");
    }
}

/* ---- Guarded writes ---------------------------------------------------------------- */

void oracle_guarded_begins(unsigned contender, char text[ORACLE_GUARDED_TEXT_SIZE]) {
    const node_record *node = oracle.records[contender].node;
    attempts.all =
        zkl_testing_reallocate(attempts.all, (attempts.count + 1) * sizeof(*attempts.all));
    attempts.all[attempts.count] = (attempt){ .contender = contender };
    snprintf(text, ORACLE_GUARDED_TEXT_SIZE, "%zu %s", attempts.count++,
             node != NULL ? node->path : "");
}

void oracle_guarded_told(const char *text, int status) {
    attempt *one = &attempts.all[strtoul(text, NULL, 10)];
    if (!is_allowed(one->contender, status) && status != ZKL_TIMEOUT && status != ZKL_UNKNOWN) {
        oracle_violated("contender %u commits, and is told: %s", one->contender,
                        zkl_strerror(status));
    }
    if (status == ZKL_LOST) {
        judge_loss(one->contender, "commit");
    }
    one->refused = status != ZKL_OK && status != ZKL_UNKNOWN;
    if (one->refused && one->applied) {
        oracle_violated("contender %u was told: %s, and its write was applied", one->contender,
                        zkl_strerror(status));
    }
    if (status == ZKL_OK && !one->applied) {
        oracle_violated("contender %u was told that its write is applied, and it is not",
                        one->contender);
    }
}

/* It, or what has taken its place. (One of its name is as good for the servers.) */
static bool lives(const node_record *guard) {
    const node_record *reader = guard->alive ? guard : oracle_reader_after(guard);
    return (reader != NULL && reader->alive) || nodes_find_latest(guard->path)->alive;
}

void oracle_guarded_applied(const char *text) {
    char *path = NULL;
    attempt *one = &attempts.all[strtoul(text, &path, 10)];
    const node_record *guard = nodes_find(path + 1);
    if (guard != NULL && !lives(guard)) {
        oracle_violated("contender %u has written behind the end of its node %s", one->contender,
                        guard->name);
    }
    if (one->refused) {
        oracle_violated("contender %u has written what it was told is not applied", one->contender);
    }
    one->applied = true;
}
