#include "retries.h"

#include <stdlib.h>
#include <string.h>

#include "client/client.h"
#include "plan.h"
#include "session/request_runner.h"

enum {
    US_PER_MS = 1000,
    PAUSING_MAX = 64,
    LENGTHS = 16,    /* pauses are compared with others after as many failures */
    PAUSES_MIN = 200 /* before they are judged */
};

typedef struct pausing {
    const void *who; /* a request, or a group: its members pause together */
    int64_t until_ms;
} pausing;

static struct {
    int64_t looked_ms[PLAN_CLIENTS_MAX]; /* each on its own clock */
    pausing seen[PAUSING_MAX];
    size_t seen_next;
    int64_t last_ms[LENGTHS]; /* 0: none yet */
    uint64_t pauses;
    uint64_t equal;
} retries;

void retries_begin(void) {
    memset(&retries, 0, sizeof(retries));
}

static bool is_new(const zkl_request_runner *runner) {
    const void *who =
        runner->sender.options.group != NULL ? (const void *)runner->sender.options.group : runner;
    for (size_t i = 0; i < PAUSING_MAX; i++) {
        if (retries.seen[i].who == who && retries.seen[i].until_ms == runner->pause_ends_ms) {
            return false;
        }
    }
    retries.seen[retries.seen_next++ % PAUSING_MAX] = (pausing){ who, runner->pause_ends_ms };
    return true;
}

static void note(const zkl_request_runner *runner, int64_t began_ms) {
    int64_t pause_ms = runner->pause_ends_ms - began_ms;
    int64_t *last_ms = &retries.last_ms[runner->back_offs % LENGTHS];
    if (*last_ms != 0) {
        retries.pauses++;
        retries.equal += llabs(pause_ms - *last_ms) <= 1;
    }
    *last_ms = pause_ms;
}

void retries_look(unsigned number, const zkl_client *client, const zkl_process *process) {
    for (const zkl_client_session *its = client->sessions; its != NULL; its = its->next) {
        for (const zkl_request_runner *one = its->session.runners; one != NULL; one = one->next) {
            bool retries_later = one->pause_ends_ms != INT64_MAX && !one->request.lost.lingers;
            if (retries_later && is_new(one)) {
                note(one, retries.looked_ms[number]);
            }
        }
    }
    retries.looked_ms[number] = zkl_process_now_us(process) / US_PER_MS;
}

void retries_count(simulation_counts *counts) {
    counts->pauses += retries.pauses;
    counts->equal_pauses += retries.equal;
}

const char *retries_judge(const simulation_counts *counts) {
    if (counts->pauses >= PAUSES_MIN && counts->equal_pauses > counts->pauses / 2) {
        return "most pauses before retries are as long as the ones before: they are not jittered";
    }
    return NULL;
}
