/* One candidate of an election. */
#include "support/contender_commands.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void on_elected(void *arg, int64_t term) {
    struct contender *self = arg;
    (void)term;
    atomic_fetch_add(&self->elected, 1);
}

static void on_lost(void *arg, int64_t term, int reason) {
    struct contender *self = arg;
    (void)term;
    (void)reason;
    atomic_fetch_add(&self->lost, 1);
}

static int open_candidate(struct contender *self, const char *text) {
    zkl_election_options options = ZKL_ELECTION_OPTIONS_INIT;
    options.candidate = text;
    options.elected = on_elected;
    options.lost = on_lost;
    options.arg = self;
    return self->election != NULL
               ? ZKL_OK
               : zkl_election_open(self->client, self->resource, &options, &self->election);
}

static int campaign(struct contender *self, int64_t timeout_ms, const char *text, int64_t *term) {
    int status = open_candidate(self, text);
    return status != ZKL_OK ? status : zkl_election_campaign(self->election, timeout_ms, term);
}

bool contender_obey_about_leading(const char *command, struct contender *self) {
    char text[64];
    int64_t timeout_ms;
    int64_t term = 0;
    if (sscanf(command, "campaign %" SCNd64 " %63s", &timeout_ms, text) == 2) {
        int status = campaign(self, timeout_ms, text, &term);
        printf("%d %" PRId64 "\n", status, term);
    } else if (strcmp(command, "leads\n") == 0) {
        zkl_lock_information now = ZKL_LOCK_INFORMATION_INIT;
        (void)zkl_lock_info(zkl_election_lock(self->election), &now);
        int status = zkl_lock_check(zkl_election_lock(self->election), NULL);
        printf("%d %" PRId64 "\n", status, now.token);
    } else if (strcmp(command, "resign\n") == 0) {
        printf("%d\n", zkl_election_resign(self->election, ZKL_FOREVER));
    } else if (strcmp(command, "told elected\n") == 0) {
        printf("%d %d\n", ZKL_OK, atomic_load(&self->elected));
    } else if (strcmp(command, "told lost\n") == 0) {
        printf("%d %d\n", ZKL_OK, atomic_load(&self->lost));
    } else {
        return false;
    }
    return true;
}

void contender_end_leading(struct contender *self) {
    zkl_election_close(self->election);
}
